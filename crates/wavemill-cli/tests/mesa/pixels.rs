//! Pixel shaders. A lane is a pixel; parameters are in LDS, as X, Y, Z and W of P0, P10 and P20.

use super::{Run, floats, near, numbers};

/// The barycentric coordinates of 64 pixels, in r0.x and r0.y.
fn coordinates(run: &mut Run) -> [Vec<f32>; 2] {
    let (i, j) = (floats(1, 64, 0.0, 1.0), floats(2, 64, 0.0, 1.0));
    run.floats("i", &i, &["r0.x"]).floats("j", &j, &["r0.y"]);
    [i, j]
}

/// Binds a parameter, and what follows on it in LDS. Gives its value at each pixel.
fn parameter(run: &mut Run, planes: [[f32; 4]; 3], behind: &[u32], [i, j]: &[Vec<f32>; 2]) -> Vec<[f64; 4]> {
    let words: Vec<u32> =
        planes.concat().into_iter().map(f32::to_bits).chain(behind.iter().copied()).collect();
    run.dwords("parameters", &words, &["lds"]).add("--dynamic-lds 512");
    let value = |(i, j): (&f32, &f32)| {
        std::array::from_fn(|c| {
            let [p0, p10, p20] = planes.map(|plane| f64::from(plane[c]));
            p0 + p10 * f64::from(*i) + p20 * f64::from(*j)
        })
    };
    i.iter().zip(j).map(value).collect()
}

#[test]
fn mandelbrot_counts_iterations() {
    let most = 14;
    let mut run = Run::new("mandelbrot");
    let at = coordinates(&mut run);
    let value =
        parameter(&mut run, [[-2.0, -1.2, 0.0, 0.0], [2.5, 0.0, 0.0, 0.0], [0.25, 2.4, 0.0, 0.0]], &[], &at);
    run.dwords("most", &[most, 0, 0, 0], &["cb0"]).dwords("colour", &[0; 256], &["pix0"]).out("colour");
    run.add("--grid 1 --block 64");
    let mut inside = 0;
    let mut expected = Vec::new();
    for v in value {
        let (mut z, mut steps) = ([0.0f64; 2], 0);
        while steps < most && z[0] * z[0] + z[1] * z[1] < 4.0 {
            z = [z[0] * z[0] - z[1] * z[1] + v[0], 2.0 * z[0] * z[1] + v[1]];
            steps += 1;
        }
        inside += usize::from(steps == most);
        let shade =
            |phase: f64| if steps == most { 0.0 } else { 0.5 + 0.5 * (0.2 * f64::from(steps) + phase).cos() };
        expected.extend([shade(0.0), shade(2.0), shade(4.0), 1.0]);
    }
    assert!((8..56).contains(&inside), "{inside}");
    near("colour", &run.run()[0], &expected, 1e-5);
}

/// Killed pixels export nothing.
#[test]
fn discard_leaves_colours() {
    let mut run = Run::new("discard");
    let at = coordinates(&mut run);
    let (whole_x, whole_y) = (9, 4);
    let planes = [[0.1, 0.2, 1.0, 0.5], [0.8, 0.3, 3.0, 0.0], [0.1, 0.5, 2.0, 0.25]];
    let value = parameter(&mut run, planes, &[whole_x, whole_y, 0, 0], &at);
    run.floats("colour", &[-1.0; 256], &["pix0"]).out("colour").add("--grid 1 --block 64");
    let mut expected = Vec::new();
    let mut ends = [0; 3];
    for v in value {
        let mut sum = 0.0;
        let mut killed = v[0] > 0.75;
        ends[0] += usize::from(killed);
        for i in 0..whole_x {
            if killed {
                break;
            }
            sum += v[1] * f64::from(i);
            if sum > v[2] {
                killed = whole_y == i;
                ends[1 + usize::from(!killed)] += 1;
                break;
            }
        }
        expected.extend(if killed { [-1.0; 4] } else { [sum, v[1], v[2], v[3]] });
    }
    assert!(ends.iter().all(|count| *count > 3), "{ends:?}");
    near("colour", &run.run()[0], &expected, 1e-5);
}

/// The atomic operation returns how many pixels before had the same coordinate.
#[test]
fn targets_are_several() {
    let mut run = Run::new("targets");
    let at = coordinates(&mut run);
    let value =
        parameter(&mut run, [[0.5, 1.0, -2.0, 0.25], [1.0, 2.0, 0.5, 3.0], [0.0, -1.0, 1.5, 0.5]], &[], &at);
    let columns: Vec<f32> = numbers(3, 64).into_iter().map(|n| (n % 20) as f32 + 0.5).collect();
    let covered: Vec<u32> = (0..64).map(|n| n & 1).collect();
    run.floats("column", &columns, &["r1.x"]).dwords("covered", &covered, &["r2.z"]);
    run.dwords("counts", &[0; 32], &["rat2"]).dwords("old", &[0; 1 << 16], &["returns", "buf160"]);
    for (name, location) in [("first", "pix0"), ("second", "pix1"), ("depth", "pix61")] {
        run.dwords(name, &[0; 256], &[location]).out(name);
    }
    run.out("counts").add("--grid 1 --block 64").add("--bind r3.w=0");
    let mut counts = [0u32; 32];
    let (mut first, mut second, mut depth) = (Vec::new(), Vec::new(), Vec::new());
    for (lane, v) in value.into_iter().enumerate() {
        let count = &mut counts[columns[lane] as usize];
        let before = f64::from(*count);
        *count += 1;
        first.extend(v.map(|n| n * before));
        second.extend([v[3], v[2], v[1], f64::from(covered[lane])]);
        depth.extend([v[0] * 0.5 + 0.25, 0.0, 0.0, 0.0]);
    }
    let found = run.run();
    near("first", &found[0], &first, 1e-6);
    near("second", &found[1], &second, 1e-6);
    near("depth", &found[2], &depth, 1e-6);
    assert_eq!(found[3], counts);
}

/// A picture of bytes that look random, and its argument at a location.
fn picture(run: &mut Run, name: &str, kind: &str, seed: u32, size: [usize; 3], location: &str) -> Vec<u8> {
    let [width, height, layers] = size;
    let bytes: Vec<u8> =
        numbers(seed, width * height * layers).into_iter().flat_map(u32::to_le_bytes).collect();
    run.folder.file(&format!("{name}.bin"), &bytes);
    run.add(&format!("{name}:{kind}=@{name}.bin")).bind(name, &[location]);
    bytes
}

/// The sphere's texture is read with a filter, and its functions are approximations.
#[test]
fn sphere_is_lit_and_textured() {
    const SIZE: usize = 16;
    let mut run = Run::new("sphere");
    let at = coordinates(&mut run);
    let value =
        parameter(&mut run, [[0.05, 0.02, 0.0, 0.0], [0.9, 0.0, 0.0, 0.0], [0.0, 0.95, 0.0, 0.0]], &[], &at);
    // A plane, so that the filter gives the plane again between the centres of texels.
    let plane =
        |x: f64, y: f64| [40.0 + 160.0 * x, 220.0 - 180.0 * y, 100.0 + 60.0 * (x - y)].map(|n| n / 255.0);
    let centre = |n: usize| (n as f64 + 0.5) / SIZE as f64;
    let texels = (0..SIZE * SIZE).flat_map(|n| {
        let [r, g, b] = plane(centre(n % SIZE), centre(n / SIZE)).map(|n| (255.0 * n).round() as u8);
        [r, g, b, 255]
    });
    run.folder.file("skin.bin", texels.collect::<Vec<u8>>());
    run.add(&format!("skin:image2d[rgba8,{SIZE}x{SIZE}]=@skin.bin")).bind("skin", &["tex18"]);
    run.add("smooth:sampler[linear,clamp_to_edge,normalized]").bind("smooth", &["smp0"]);
    let light = [0.5f32, 0.7, 1.5, 0.0];
    run.floats("light", &light, &["cb0"]).floats("colour", &[-1.0; 256], &["pix0"]).out("colour");
    run.add("--grid 1 --block 64");
    let unit = |v: [f64; 3]| {
        let length = v.iter().map(|n| n * n).sum::<f64>().sqrt();
        v.map(|n| n / length)
    };
    let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let found = run.run();
    let mut inside = 0;
    for (lane, v) in value.into_iter().enumerate() {
        let colour: [f64; 4] = std::array::from_fn(|c| f64::from(f32::from_bits(found[0][4 * lane + c])));
        let p = [v[0] * 2.0 - 1.0, v[1] * 2.0 - 1.0];
        let z2 = 1.0 - p[0] * p[0] - p[1] * p[1];
        if z2 < 0.0 {
            assert_eq!(colour, [-1.0; 4], "pixel {lane} is killed");
            continue;
        }
        inside += 1;
        let n = [p[0], p[1], z2.sqrt()];
        let (turn, half) = (std::f64::consts::TAU, std::f64::consts::PI);
        let clamped = |u: f64| u.clamp(centre(0), centre(SIZE - 1));
        let skin = plane(clamped(n[0].atan2(n[2]) / turn + 0.5), clamped(n[1].acos() / half));
        let l = unit([0, 1, 2].map(|c| f64::from(light[c])));
        let h = unit([l[0], l[1], l[2] + 1.0]);
        let (bright, shine) = (dot(n, l).max(0.0), dot(n, h).max(0.0).powi(32));
        for c in 0..3 {
            let expected = skin[c] * (0.1 + 0.9 * bright) + shine;
            assert!((colour[c] - expected).abs() < 0.01, "pixel {lane}: {colour:?}, expected {expected}");
        }
        assert_eq!(colour[3], 1.0);
    }
    assert!((20..60).contains(&inside), "{inside}");
}

/// Gathers of the four texels around a point, in the order of OpenGL.
#[test]
fn gathers_have_four_texels() {
    let mut run = Run::new("gather");
    // No point is near a border between texels.
    let points = |seed| -> Vec<f32> {
        numbers(seed, 64).into_iter().map(|n| (n % 64) as f32 / 64.0 + 1.0 / 128.0).collect()
    };
    let at = [points(5), points(6)];
    run.floats("i", &at[0], &["r0.x"]).floats("j", &at[1], &["r0.y"]);
    // Mesa moves layers as it moves coordinates: this one is the same for both readings.
    let axes = [[0.0, 0.0, 0.7, 0.0], [1.0, 0.0, 0.28, 0.0], [0.0, 1.0, 0.0, 1.0]];
    let value = parameter(&mut run, axes, &[], &at);
    let texels = picture(&mut run, "picture", "image2d[rgba8,16x16]", 7, [16, 16, 1], "tex18");
    let layers = picture(&mut run, "layers", "image2d_array[rgba8ui,8x8x3]", 8, [8, 8, 3], "tex20");
    // Between 0.7 and 1, as the references are.
    let depths: Vec<f32> =
        numbers(9, 256).into_iter().map(|n| 0.7 + 0.3 * (n % 1000) as f32 / 1000.0).collect();
    let bytes: Vec<u8> = depths.iter().flat_map(|depth| depth.to_le_bytes()).collect();
    run.folder.file("depths.bin", &bytes);
    run.add("depths:image2d[depth32f,16x16]=@depths.bin").bind("depths", &["tex19"]);
    run.add("nearest:sampler[nearest,clamp_to_edge,normalized]").bind("nearest", &["smp0", "smp2"]);
    run.add("shadow:sampler[nearest,clamp_to_edge,normalized,compare_less_equal]").bind("shadow", &["smp1"]);
    let shift = [2i32, -4];
    run.dwords("shift", &[shift[0] as u32, shift[1] as u32, 0, 0], &["cb0"]);
    run.dwords("colour", &[0; 256], &["pix0"]).out("colour").add("--grid 1 --block 64");
    // The numbers of the texels left of and above a point, moved.
    let corner = |u: f64, size: usize, moved: i32| (u * size as f64 - 0.5).floor() as i32 + moved;
    let gather = |bytes: &[u8],
                  size: usize,
                  layer: usize,
                  channel: usize,
                  [u, v]: [f64; 2],
                  [dx, dy]: [i32; 2]|
     -> [f64; 4] {
        let (x, y) = (corner(u, size, dx), corner(v, size, dy));
        let inside = |n: i32| n.clamp(0, size as i32 - 1) as usize;
        [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(right, down)| {
            bytes[4 * ((layer * size + inside(y + down)) * size + inside(x + right)) + channel].into()
        })
    };
    let mut passing = 0;
    let mut compared = |[u, v]: [f64; 2], reference: f64| -> [f64; 4] {
        let (x, y) = (corner(u, 16, 0), corner(v, 16, 0));
        let inside = |n: i32| n.clamp(0, 15) as usize;
        [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(right, down)| {
            let depth = f64::from(depths[16 * inside(y + down) + inside(x + right)]);
            assert!((depth - reference).abs() > 1e-6, "the rounding of the reference does not count");
            let passes = reference <= depth;
            passing += usize::from(passes);
            f64::from(u8::from(passes))
        })
    };
    let mut expected = Vec::new();
    for v in value {
        let (xy, zw) = ([v[0], v[1]], [v[2], v[3]]);
        let of_depths = compared(xy, v[2]);
        let of_picture = [
            gather(&texels, 16, 0, 0, xy, [0, 0]),
            gather(&texels, 16, 0, 3, xy, [0, 0]),
            gather(&texels, 16, 0, 1, zw, [-3, 5]),
            gather(&texels, 16, 0, 2, zw, shift),
        ];
        let of_layers = gather(&layers, 8, 1, 1, xy, [0, 0]);
        expected.extend(
            (0..4)
                .map(|n| of_picture.iter().map(|four| four[n] / 255.0).sum::<f64>() + of_layers[n])
                .zip(of_depths)
                .map(|(sum, passes)| sum + passes),
        );
    }
    assert!((32..224).contains(&passing), "{passing} of 256 texels pass");
    near("colour", &run.run()[0], &expected, 1e-5);
}
