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
