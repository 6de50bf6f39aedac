//! Code objects that request more than any chip has.

use crate::faults::TARGETS;
use crate::faults::case::folder;

#[test]
fn descriptors_and_metadata() {
    let grid = ["--grid", "1", "--block", "64"];
    for target in TARGETS {
        let folder = folder("absurd", target);
        let mut all = String::new();
        for (kernel, exit, more) in [
            ("normal", 0, &[][..]),
            ("lds_4gib", 3, &[]),
            ("private_4gib", 3, &[]),
            ("private_most", 0, &[]),
            ("private_more", 3, &[]),
            ("kernarg_4gib", 3, &[]),
            ("all_vgprs", 0, &[]),
            ("offset_beyond", 0, &[]),
            ("user_sgprs", 3, &[]),
            ("entry_beyond", 3, &[]),
            ("entry_before", 3, &[]),
            ("entry_constants", 3, &[]),
            ("argument_beyond", 3, &["n:u64=1"]),
            ("argument_4gib", 3, &["n:u64=1"]),
            ("no_items", 3, &[]),
            ("too_many_items", 3, &[]),
            ("no_workgroup", 3, &[]),
            ("kernarg_of_metadata", 3, &[]),
            // An excessive request by the user is the user's error.
            ("normal", 2, &["--dynamic-lds", "4294967295"]),
            ("lds_4gib", 3, &["--dynamic-lds", "1"]),
        ] {
            let line = [&["run", "absurd.co", "--kernel", kernel], &grid[..], more].concat();
            let output = folder.run(&line);
            let said = String::from_utf8_lossy(&output.stderr);
            all += &format!("$ wavemill {}\n{said}", line.join(" "));
            all += &format!("[exit code {}]\n\n", output.status.code().unwrap_or(-1));
            assert_eq!(output.status.code(), Some(exit), "{kernel} on {target}\n{said}");
        }
        insta::assert_snapshot!(format!("absurd_{target}"), all);
    }
}
