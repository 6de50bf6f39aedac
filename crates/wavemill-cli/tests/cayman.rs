//! Cayman is not usable from the command yet: every command that accepts a target reports this.

use crate::common::{Folder, err, out};

#[test]
fn no_command_takes_cayman() {
    let folder = Folder::new("cayman");
    folder.object("gfx942", "vector_add");
    folder.file("words.s", "\tCF_END\n");
    folder.file("named.s", ".amdgcn_target \"r600-unknown-unknown-unknown-cayman\"\n\tCF_END\n");
    for args in [
        &["run", "vector_add.co", "--target", "cayman"][..],
        &["asm", "words.s", "--target", "cayman", "-o", "words.co"],
        &["asm", "named.s", "-o", "words.co"],
        &["dis", "--target", "cayman", "words.s"],
        &["explain", "--target", "cayman", "MOV T0.X, T1.X"],
        &["explain", "--target", "cayman", "0x0000000088000000"],
        &["mc", "-mcpu=cayman", "words.s"],
        &["bench", "--target", "cayman"],
    ] {
        let output = folder.run(args);
        let message = err(&output);
        assert!(matches!(output.status.code(), Some(1..=64)), "{args:?}: {:?} {message}", output.status);
        assert!(message.contains("cayman"), "{args:?}: {message}");
        assert!(!message.contains("panicked"), "{args:?}: {message}");
        assert_eq!(out(&output), "", "{args:?}");
    }
    let listed = folder.run(&["targets"]);
    assert!(!out(&listed).contains("cayman"));
}
