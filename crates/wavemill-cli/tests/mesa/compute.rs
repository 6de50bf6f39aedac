//! Compute shaders. Mesa's buffers for storage are buffers 168 and up for loads, and random access
//! targets for stores; uniform buffers are buffers and constants with the same numbers. Old values of
//! atomic operations come back in buffers 160 and up, one for each target.

use super::{Run, floats, near, numbers, same};

/// The global ids of a launch in one dimension.
fn ids(count: u32) -> impl Iterator<Item = usize> {
    (0..count).map(|n| n as usize)
}

#[test]
fn add_has_a_bound() {
    let (a, b) = (floats(1, 192, -9.0, 9.0), floats(2, 192, -9.0, 9.0));
    let mut run = Run::new("add");
    run.floats("a", &a, &["buf169"]).floats("b", &b, &["buf170"]).dwords("c", &[7; 192], &["rat0"]);
    run.dwords("n", &[150, 0, 0, 0], &["cb0"]).out("c").add("--grid 3 --block 64");
    let expected: Vec<u32> = ids(192).map(|i| if i < 150 { (a[i] + b[i]).to_bits() } else { 7 }).collect();
    same("c", &run.run()[0], &expected);
}

/// The old values of ten atomic operations of each lane of a wave: add, min, max, and, or, xor,
/// exchange and compare-exchange of cells, min and max of signed cells. Each operation is done for all
/// lanes, in ascending order, before the next one. `other` gives the value that is added, the new value
/// of the exchange, and the value that the comparison expects.
fn old_values(
    cell: &mut [u32; 8],
    signed: &mut [i32; 2],
    values: &[u32],
    other: impl Fn(u32) -> [u32; 3],
) -> Vec<[u32; 10]> {
    let mut old = vec![[0u32; 10]; values.len()];
    for op in 0..10 {
        for (lane, &v) in values.iter().enumerate() {
            let [added, exchanged, compared] = other(lane as u32);
            let before = if op < 8 { cell[op] } else { signed[op - 8] as u32 };
            old[lane][op] = before;
            match op {
                0 => cell[0] = before.wrapping_add(added),
                1 => cell[1] = before.min(v),
                2 => cell[2] = before.max(v),
                3 => cell[3] = before & v,
                4 => cell[4] = before | v,
                5 => cell[5] = before ^ v,
                6 => cell[6] = exchanged,
                7 => cell[7] = if before == compared { v } else { before },
                8 => signed[0] = signed[0].min(v as i32),
                _ => signed[1] = signed[1].max(v as i32),
            }
        }
    }
    old
}

#[test]
fn atomics_return_old_values() {
    let start = [5u32, 900, 3, u32::MAX, 0x10, 0x55, 1, 17];
    let signed = [-7i32, 7];
    let mut run = Run::new("atomics");
    run.dwords("cell", &start, &["rat2"]).dwords("signed", &signed.map(|n| n as u32), &["rat0"]);
    run.dwords("result", &[0; 64], &["rat1"]);
    run.dwords("old", &[0; 1 << 16], &["returns", "buf160", "buf162"]);
    run.out("cell").out("signed").out("result").add("--grid 1 --block 64");
    let v: Vec<u32> = (0..64).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
    let (mut cell, mut signed, mut sums) = (start, signed, Vec::new());
    let old = old_values(&mut cell, &mut signed, &v, |lane| [1, lane, lane]);
    for old in old {
        let [add, min, max, and, or, xor, exchange, compare, less, greater] = old;
        let all = [add, min.wrapping_mul(3), max.wrapping_mul(5)].into_iter().fold(0, u32::wrapping_add);
        let bits = [and, or, xor].into_iter().fold(0, u32::wrapping_add);
        sums.push([exchange, compare, less, greater].into_iter().fold(all ^ bits, u32::wrapping_add));
    }
    let found = run.run();
    same("cell", &found[0], &cell);
    same("signed_cell", &found[1], &signed.map(|n| n as u32));
    same("result", &found[2], &sums);
}

/// Counters are dwords of the global data share. Lanes of a wave act in ascending order.
#[test]
fn counters_count_lanes() {
    let mut run = Run::new("counters");
    run.dwords("result", &[0; 64], &["rat0"]).out("result");
    run.folder.file("counters.bin", [10u32, 100].map(u32::to_le_bytes).concat());
    run.add("--gds counters:u32[2]=@counters.bin").out("counters").add("--grid 1 --block 64");
    // Places 10 to 73: every fourth of them counts down.
    let (up, down) = (10u32, 100 - 16);
    let expected: Vec<u32> =
        (0..64).map(|place: u32| if place < up { 0 } else { place - up + down }).collect();
    let found = run.run();
    same("result", &found[0], &expected);
    same("counters", &found[1], &[up + 64, down]);
}

/// SQRT_64 and RECIP_64 give high dwords alone, with 20 bits of the fraction (HD 6900 ISA 8.2), and
/// Mesa does not improve them. It takes the absolute value of the low dword of a root's source, so
/// roots of negative numbers are NaN (docs/cayman.md): here they are positive.
#[test]
fn doubles_are_near() {
    let values = |seed, low| -> Vec<f64> {
        floats(seed, 128, low, 50.0).into_iter().map(|x| f64::from(x) * 1.000_000_1).collect()
    };
    let (x, y) = (values(3, 0.0), values(4, -50.0));
    let input: Vec<u32> = x
        .iter()
        .zip(&y)
        .flat_map(|(x, y)| [x, y])
        .flat_map(|n| {
            let bits = n.to_bits();
            [bits as u32, (bits >> 32) as u32]
        })
        .collect();
    let mut run = Run::new("doubles");
    run.dwords("a", &input, &["buf168"])
        .dwords("b", &[0; 256], &["rat1"])
        .out("b")
        .add("--grid 2 --block 64");
    let found = run.run();
    for i in 0..128 {
        let (x, y) = (x[i], y[i]);
        let (sum, product) = (x + y, x * y);
        let fused = x.mul_add(y, sum);
        let (least, whole) = (x.min(y.abs()), x.floor());
        let (rest, root) = (y - y.floor(), x.abs().sqrt());
        let mut z = if x < y {
            sum
        } else if x >= 2.0 * y {
            product
        } else {
            fused
        };
        let quotient = root / (1.0 + least.abs());
        z += quotient + f64::from(rest as f32) + whole;
        let expected = z + i as f64;
        let dword = |n: usize| u64::from(found[0][2 * i + n]);
        let found = f64::from_bits(dword(0) | dword(1) << 32);
        let bound = quotient.abs() / f64::from(1 << 19) + 1e-12 * expected.abs().max(1.0);
        assert!((found - expected).abs() <= bound, "{i}: found {found}, expected {expected}");
    }
}

/// Images are random access targets: loads come back through the return buffer in the format of the
/// image. Pixels (x, y) of a workgroup are lanes 8 y + x, and each operation is done for all of them.
#[test]
fn images_are_targets() {
    let source: Vec<u8> = numbers(21, 8 * 7).iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut run = Run::new("images");
    run.folder.file("source.bin", &source);
    // The last row of lanes is outside of the source, and the last column of the target.
    run.add("source:image2d[rgba8,8x7]=@source.bin").bind("source", &["rat0", "tex168"]);
    run.add("target:image2d[rgba32f,7x8]").bind("target", &["rat1"]).out("target");
    run.add("counts:image2d[r32ui,2x2]=[5,6,7,8]").bind("counts", &["rat2"]).out("counts");
    run.add("list:image1d_buffer[r32i,8]=[1,0,1,9,1,1,0,2]").bind("list", &["rat3"]).out("list");
    run.dwords("old", &[0; 1 << 16], &["returns", "buf160", "buf162", "buf163"]);
    run.add("--grid 1 --block 8x8");
    let lanes = || (0..64).map(|lane| (lane % 8, lane / 8));
    let (mut counts, mut list) = ([5u32, 6, 7, 8], [1i32, 0, 1, 9, 1, 1, 0, 2]);
    let (mut before, mut old) = ([0u32; 64], [0i32; 64]);
    for before in &mut before {
        *before += counts[0];
        counts[0] += 1;
    }
    for (n, (x, y)) in lanes().enumerate() {
        let cell = &mut counts[2 * (y / 4) + x / 4];
        before[n] += *cell;
        *cell = (*cell).max(x as u32);
    }
    for (n, (x, y)) in lanes().enumerate() {
        old[n] += list[x];
        list[x] = y as i32;
    }
    for (n, (_, y)) in lanes().enumerate() {
        old[n] += list[y];
        if list[y] == 1 {
            list[y] = 2;
        }
    }
    let texel = |x: usize, y: usize, channel: usize| match (x, y) {
        (0..8, 0..7) => f32::from(source[4 * (8 * y + x) + channel]) / 255.0,
        _ => 0.0,
    };
    let mut target = Vec::new();
    for (n, (x, y)) in lanes().enumerate().filter(|(_, (x, _))| *x < 7) {
        for (channel, more) in [old[n] as f32, 8.0, 7.0, 0.0].into_iter().enumerate() {
            let colour = texel(x, y, channel) + texel(x + 1, y, channel);
            target.push(f64::from(colour) * f64::from(before[n]) + f64::from(more));
        }
    }
    let found = run.run();
    near("target", &found[0], &target, 1e-6);
    same("counts", &found[1], &counts);
    same("list", &found[2], &list.map(|n| n as u32));
}

#[test]
fn integers_are_exact() {
    let a = numbers(5, 4 * 128);
    let mut run = Run::new("integers");
    run.dwords("a", &a, &["buf168[stride:4]"])
        .dwords("b", &[0; 512], &["rat1"])
        .out("b")
        .add("--grid 2 --block 64");
    let mut expected = Vec::new();
    let msb = |n: u32| 31i32 - n.leading_zeros() as i32;
    for v in a.chunks_exact(4) {
        let [x, y, z, w] = [v[0], v[1], v[2], v[3]];
        let s = [x, y, z, w].map(|n| n as i32);
        let wide = u64::from(x) * u64::from(y);
        let (high, low) = ((wide >> 32) as u32, wide as u32);
        let (sum, carry) = z.overflowing_add(w);
        let (rest, borrow) = x.overflowing_sub(z);
        let all = [low, u32::from(carry), u32::from(borrow), x / (y | 1), z % (w | 1)];
        expected.push(high ^ all.into_iter().fold(0, u32::wrapping_add));
        let all = [x >> 3 & 0x1ff, y.reverse_bits(), z.count_ones(), msb(w) as u32];
        expected.push(all.into_iter().fold(0, u32::wrapping_add));
        // The bit that differs from the sign.
        let signed_msb = |n: i32| msb(if n < 0 { !n } else { n } as u32);
        let lsb = if y == 0 { -1 } else { y.trailing_zeros() as i32 };
        let all = [s[0] << 20 >> 25, lsb, signed_msb(s[2]), s[3].wrapping_div(s[0] | 1)];
        let all = all.into_iter().fold(0, i32::wrapping_add) as u32;
        expected.push(all.wrapping_add(x << (y & 31)));
        let inserted = x & !(0xfff << 4) | (y & 0xfff) << 4;
        let all = [
            inserted,
            (s[0] >> (z & 31)) as u32,
            s[0].max(s[1]).wrapping_sub(s[2].min(s[3])) as u32,
            sum,
            rest,
        ];
        expected.push(all.into_iter().fold(0, u32::wrapping_add));
    }
    same("b", &run.run()[0], &expected);
}

#[test]
fn loops_break_and_continue() {
    let a = numbers(6, 256);
    let mut run = Run::new("loops");
    run.dwords("a", &a, &["buf168"])
        .dwords("b", &[9; 256], &["buf169", "rat1"])
        .out("b")
        .add("--grid 4 --block 64");
    let shader = |x: u32| {
        let (mut b, mut sum) = (9u32, 0u32);
        for j in 0..32 {
            if x >> j & 1 == 0 {
                continue;
            }
            let mut k = j;
            loop {
                if k % 3 == x % 3 {
                    if k > 20 {
                        k += 1;
                        continue;
                    }
                    sum += k;
                } else if k > j + 9 {
                    b = sum;
                    break;
                }
                if sum > 1000 {
                    break;
                }
                sum ^= k << 3;
                if k > 40 {
                    return b;
                }
                k += 1;
            }
            if sum == 77 {
                break;
            }
        }
        b.wrapping_add(sum)
    };
    let expected: Vec<u32> = a.iter().map(|x| shader(*x)).collect();
    same("b", &run.run()[0], &expected);
}

#[test]
fn scratch_arrays_are_private() {
    let (a, steps) = (numbers(7, 128 + 300), 300);
    let mut run = Run::new("scratch");
    run.dwords("a", &a, &["buf168"]).dwords("b", &[0; 128], &["rat1"]).dwords(
        "steps",
        &[steps, 0, 0, 0],
        &["cb0"],
    );
    run.out("b").add("--grid 2 --block 64 --stack 3200");
    let shader = |i: usize| {
        let mut own = [0u32; 200];
        for j in 0..steps as usize {
            own[j % 200] = a[i + j] ^ j as u32;
        }
        let (mut at, mut sum) = (i % 200, 0u32);
        for _ in 0..steps {
            let next = own[at];
            own[at] = next.wrapping_mul(1_664_525).wrapping_add(sum);
            sum = sum.wrapping_add(next);
            at = next as usize % 200;
        }
        sum.wrapping_add(own[i * 7 % 200])
    };
    let expected: Vec<u32> = ids(128).map(shader).collect();
    same("b", &run.run()[0], &expected);
}

#[test]
fn shared_memory_is_summed_as_a_tree() {
    let a = floats(8, 512, -3.0, 3.0);
    let mut run = Run::new("shared");
    run.floats("a", &a, &["buf168"])
        .dwords("b", &[0; 4], &["rat1"])
        .out("b")
        .add("--grid 4 --block 128 --dynamic-lds 512");
    let tree = |group: &[f32]| {
        let mut part = group.to_vec();
        let mut half = 64;
        while half > 0 {
            for l in 0..half {
                part[l] += part[l + half];
            }
            half /= 2;
        }
        part[0].to_bits()
    };
    let expected: Vec<u32> = a.chunks_exact(128).map(tree).collect();
    same("b", &run.run()[0], &expected);
}

#[test]
fn shared_atomics_return_old_values() {
    let a = numbers(9, 192);
    let mut run = Run::new("shared_atomics");
    run.dwords("a", &a, &["buf168"])
        .dwords("b", &[0; 192], &["rat1"])
        .out("b")
        .add("--grid 3 --block 64 --dynamic-lds 40");
    let mut expected = Vec::new();
    for v in a.chunks_exact(64) {
        let mut cell: [u32; 8] = std::array::from_fn(|n| n as u32);
        let old = old_values(&mut cell, &mut [0; 2], v, |lane| [v[lane as usize], v[lane as usize], 7]);
        for (l, old) in old.iter().enumerate() {
            let all = |part: &[u32]| part.iter().fold(0u32, |sum, n| sum.wrapping_add(*n));
            let sum = (all(&old[..3]) ^ all(&old[3..6])).wrapping_add(all(&old[6..]));
            expected.push(sum.wrapping_add(cell[l & 7]));
        }
    }
    same("b", &run.run()[0], &expected);
}

#[test]
fn tables_and_uniforms_are_read_by_computed_indices() {
    let (first, mut second) = (floats(10, 256, -2.0, 2.0), floats(11, 128, -2.0, 2.0));
    let table = [0.5f32, 1.25, 3.0, -7.0, 0.1, 11.0, 2.5, 9.0];
    let which = 45u32;
    second.extend([f32::from_bits(which), 0.0, 0.0, 0.0]);
    let own: Vec<f32> = table.iter().flat_map(|n| [*n, 0.0, 0.0, 0.0]).collect();
    let mut run = Run::new("table");
    run.floats("own", &own, &["buf0[stride:16]", "cb0"]);
    run.floats("first", &first, &["buf1[stride:16]", "cb1"]);
    run.floats("second", &second, &["buf2[stride:16]", "cb2"]);
    run.dwords("b", &[0; 1024], &["rat0"]).out("b").add("--grid 4 --block 64");
    let vector = |buffer: &[f32], n: usize| -> [f64; 4] { std::array::from_fn(|c| buffer[4 * n + c].into()) };
    let mut expected = Vec::new();
    for i in ids(256) {
        let (f, s, s5) = (vector(&first, i & 63), vector(&second, (which & 31) as usize), vector(&second, 5));
        let v: [f64; 4] = std::array::from_fn(|c| f[c] * s[c] + s5[c] * f64::from(table[i & 7]));
        let (first3, second1, first17) = (vector(&first, 3), vector(&second, 1), vector(&first, 17));
        let turned = [v[3], v[2], v[1], v[0]];
        let value: [f64; 4] = match i & 3 {
            0 => std::array::from_fn(|c| v[c] + first3[c]),
            // It falls through.
            1 => std::array::from_fn(|c| turned[c] * second1[c]),
            2 => std::array::from_fn(|c| v[c] * second1[c]),
            _ => std::array::from_fn(|c| v[c].max(first17[c])),
        };
        expected.extend(value);
    }
    near("b", &run.run()[0], &expected, 1e-6);
}
