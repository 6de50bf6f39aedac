//! Trap handlers and enabled exceptions.

use crate::common::{Folder, expect, out, repository, said};

const RUN: [&str; 7] = ["run", "reciprocal.s", "--grid", "1", "--block", "4", "x:f32[4]=1,0,2,0"];

/// A folder with the sources of the handbook's example.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for source in ["reciprocal.s", "count_traps.s"] {
        folder.file(source, std::fs::read(repository().join("examples/assembly").join(source)).unwrap());
    }
    folder
}

fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], &["y:f32[4]"], more].concat()
}

#[test]
fn an_enabled_exception_is_reported_at_its_instruction() {
    let folder = folder("exceptions");
    insta::assert_snapshot!(said(&folder, 4, &args(&["--exceptions", "div0"])));
    expect(&folder, 0, &args(&["--exceptions", "invalid,overflow,int-div0"]));
    let file = "object = 'reciprocal.s'\ngrid = 1\nblock = 4\nargs = ['x:f32[4]=1,0,2,0', 'y:f32[4]']\n";
    folder.file("k.toml", format!("exceptions = 'invalid, div0'\n{file}"));
    assert!(said(&folder, 4, &["run", "k.toml"]).contains("floating-point exception: division by zero\n"));
    folder.file("k.toml", format!("exceptions = 'nan'\n{file}"));
    for message in [said(&folder, 2, &["run", "k.toml"]), said(&folder, 2, &args(&["--exceptions", "nan"]))] {
        let wanted = "there is no exception `nan`; expected any of invalid, denormal, div0,";
        assert!(message.contains(wanted), "{message}");
    }
    let report = said(&folder, 4, &args(&["--exceptions", "div0", "--message-format", "json"]));
    let lanes = r#"[{"exceptions":["div0"],"lane":1},{"exceptions":["div0"],"lane":3}]"#;
    assert!(report.replace(' ', "").contains(&format!("\"lanes\":{lanes}")), "{report}");
}

#[test]
fn a_handler_counts_traps_in_its_memory() {
    let folder = folder("handlers");
    let handled = |handler: &'static str| {
        args(&[
            "--exceptions",
            "div0",
            "--trap-handler",
            handler,
            "--trap-memory",
            "log:u32[4]",
            "--print",
            "log[0]",
        ])
    };
    for handler in ["count_traps.s", "count_traps.s:count", "./count_traps.s"] {
        assert_eq!(out(&expect(&folder, 0, &handled(handler))), "log[0] = 1\n", "{handler}");
    }
    // The memory is a buffer of the kernel.
    let shared = args(&[
        "--exceptions",
        "div0",
        "--trap-handler",
        "count_traps.s",
        "--trap-memory",
        "log=&x",
        "--print",
        "x[0]",
    ]);
    assert_eq!(out(&expect(&folder, 0, &shared)), "x[0] = 1.0000001\n");
    // Both names mean the buffer.
    let shared = [&shared[..shared.len() - 1], &["log[0]"]].concat();
    assert_eq!(out(&expect(&folder, 0, &shared)), "log[0] = 1.0000001\n");
    for (more, wanted) in [
        (
            &["--trap-handler", "count_traps.s:cuont"][..],
            "it has no function `cuont` for a trap handler; expected one of count; did you mean `count`?",
        ),
        (
            &["--exceptions", "div0", "--trap-handler", "count_traps.s"],
            "The trap handler has no memory (TMA is 0). Pass a buffer with --trap-memory",
        ),
        (
            &["--trap-memory", "log:u32[4]"],
            "there is memory for a trap handler (trap-memory), but no trap handler",
        ),
        (
            &["--trap-handler", "count_traps.s", "--trap-memory", "log:u32=4"],
            "the memory of a trap handler is a buffer, not `log:u32=4`",
        ),
        (
            &["--trap-handler", "count_traps.s", "--trap-memory", "x:u32[4]=[7,7,7,7]"],
            "there is already a buffer `x`",
        ),
    ] {
        let output = folder.run(&args(more));
        let message = crate::common::err(&output);
        assert!(message.contains(wanted), "{message}");
        assert_ne!(output.status.code(), Some(0));
    }
    // The code of a handler is for the device of the kernel.
    let source = std::fs::read_to_string(repository().join("examples/assembly/count_traps.s")).unwrap();
    folder.file("other.s", source.replace("--gfx906", "--gfx900"));
    expect(&folder, 0, &["asm", "other.s", "-o", "other.co"]);
    let message = said(&folder, 3, &args(&["--trap-handler", "other.co"]));
    assert!(
        message.contains("other.co: the code object is for gfx900, but the device is gfx906"),
        "{message}"
    );
}
