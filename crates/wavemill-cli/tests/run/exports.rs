//! What kernels export to the graphics pipeline.

use crate::common::{Folder, err, expect, out, repository};

/// The parameters of `examples/triangle.toml`: for each triangle P0, P10 and P20, with four channels.
const TRIANGLES: [[[f32; 4]; 3]; 2] = [
    [[0.0, 0.25, 1.0, 1.0], [1.0, 0.0, -0.5, 0.0], [0.0, 0.5, 0.25, 0.0]],
    [[0.5, 1.0, 0.0, 0.5], [-0.5, 0.0, 1.0, 0.0], [0.25, -1.0, 0.0, 0.0]],
];

/// A channel of a pixel. All numbers are short, so every sum is exact.
fn colour(lane: usize, channel: usize) -> f32 {
    let [p0, p10, p20] = TRIANGLES[lane / 32].map(|part| part[channel]);
    let (i, j) = ((lane % 8) as f32 / 8.0, (lane / 8) as f32 / 8.0);
    if channel == 3 { p0 } else { p0 + p10 * i + p20 * j }
}

/// The numbers of a component: rows that begin with the index of their first number.
fn numbers(text: &str, component: &str) -> Vec<f32> {
    let title = format!("  {component} =");
    let lines = text.lines().skip_while(|line| *line != title).skip(1);
    let rows = lines.map_while(|line| line.trim_start().strip_prefix('[')?.split_once(']'));
    rows.flat_map(|(_, row)| row.split_whitespace()).map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn exports_are_printed() {
    let folder = Folder::new("exports");
    let file = repository().join("examples/triangle.toml");
    let file = file.to_str().expect("a readable path");
    for engine in ["interpreter", "reference"] {
        let text = out(&expect(&folder, 0, &["run", file, "--engine", engine]));
        let (first, rest) = text.split_once("workgroup (0, 0, 0), wave 0: colour1 ").expect("two exports");
        let lanes = "of lanes 0xffffffffffffffff";
        assert!(
            first.starts_with(&format!("workgroup (0, 0, 0), wave 0: colour0 {lanes}, valid\n")),
            "{first}"
        );
        assert!(rest.starts_with(&format!("{lanes}, last, valid\n")), "{rest}");
        for (part, name) in [(first, "colour0"), (rest, "colour1")] {
            for (channel, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
                let wanted: Vec<f32> = (0..64).map(|lane| colour(lane, channel)).collect();
                assert_eq!(numbers(part, component), wanted, "{engine} {name}.{component}\n{part}");
            }
        }
        let hex = out(&expect(&folder, 0, &["run", file, "--engine", engine, "--print", "exports:x"]));
        assert!(hex.contains("0x3f80"), "{hex}");
    }
}

#[test]
fn a_kernel_without_exports() {
    let folder = Folder::new("no_exports");
    folder.object("gfx906", "vector_add");
    let line = ["run", "vector_add.co", "--grid", "1", "--block", "64", "a[64]", "b[64]", "c[64]", "n=64"];
    let run = |view| expect(&folder, 0, &[&line[..], &["--print", view]].concat());
    assert_eq!(out(&run("exports")), "exports: none\n");
    for wrong in [["--print", "exports[0]"], ["--out", "exports=e.npy"], ["--expect", "exports=1"]] {
        let wrong = expect(&folder, 2, &[&line[..], &wrong].concat());
        assert!(err(&wrong).contains("there is only --print exports"), "{}", err(&wrong));
    }
}
