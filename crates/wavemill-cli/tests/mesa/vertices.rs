//! The vertex shader of `kernels/cayman/mesa/plain.vert`. The launch makes its fetch program.

use super::{Run, floats, near, numbers};

const VERTICES: usize = 70;

/// A position of three floats, of which w is 1, and a vector of four; a matrix by columns. The shader
/// exports the components that the pixel shader beside it reads.
#[test]
fn plain_vertices_are_transformed() {
    let mut run = Run::of("interpolation", 0);
    // Eight times these are exact, and so is what becomes of them as integers.
    let position: Vec<f32> =
        numbers(11, 3 * VERTICES).into_iter().map(|n| ((n % 512) as f32 - 256.0) / 64.0).collect();
    let extra = floats(12, 4 * VERTICES, -4.0, 4.0);
    let transform = floats(13, 16, -2.0, 2.0);
    run.floats("position", &position, &["attrib0[format:rgb32f]"]);
    run.floats("extra", &extra, &["attrib1"]).floats("transform", &transform, &["cb0"]);
    run.add(&format!("--global-size {VERTICES} --block 64"));
    let outputs = ["pos60", "param0", "param1", "param2", "param3", "param4"];
    for name in outputs {
        run.dwords(name, &vec![0; 4 * VERTICES], &[name]).out(name);
    }
    let found = run.run();
    let mut expected: [Vec<f64>; 6] = Default::default();
    let mut whole = Vec::new();
    for (position, extra) in position.as_chunks::<3>().0.iter().zip(extra.as_chunks::<4>().0) {
        let position = [position[0], position[1], position[2], 1.0].map(f64::from);
        let extra = extra.map(f64::from);
        let column = |c: usize, row: usize| f64::from(transform[4 * c + row]);
        let product = |v: [f64; 4], row: usize| (0..4).map(|c| column(c, row) * v[c]).sum::<f64>();
        let rotated = [extra[0], extra[1], extra[2], 0.0];
        expected[0].extend((0..4).map(|row| product(position, row)));
        expected[1].extend(extra);
        expected[2].extend([product(rotated, 0), product(rotated, 1), product(rotated, 2), 0.0]);
        whole.extend([(8.0 * position[0]) as i32 as u32, 0, 0, (8.0 * position[3]) as i32 as u32]);
        expected[4].extend([extra[1], extra[0], 0.0, 0.0]);
        expected[5].extend((0..4).map(|c| extra[c] + position[c]));
    }
    for (number, (name, found)) in outputs.iter().zip(&found).enumerate() {
        match number {
            3 => super::same(name, found, &whole),
            _ => near(name, found, &expected[number], 1e-5),
        }
    }
}
