//! Sources that would never end, or fill the memory, are rejected with a reason. Also tests
//! messages that are not errors.

use wavemill_asm::{Event, IncludedFile, Inclusion, Options, assemble, assemble_with};

/// The first message about a source for gfx90a.
fn refused(source: &str) -> String {
    let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n{source}");
    match assemble(&source, &Options::default()) {
        Ok(_) => panic!("accepted: {source:.200}"),
        Err(reports) => reports[0].diagnostic.to_string(),
    }
}

#[test]
fn repetitions_and_macros_end() {
    let message = "macros and repetitions expand to more than 1000000 lines or 134217728 bytes";
    assert_eq!(refused(".rept 100000000\n.endr"), message);
    assert_eq!(refused(".rept 3000\n.rept 3000\n.set a, 1\n.endr\n.endr"), message);
    // Each call makes a text ten times as long: in one line, or in several.
    let bomb = ".macro more x:vararg\nmore \\x \\x \\x \\x \\x \\x \\x \\x \\x \\x\n.endm\nmore 12345678";
    assert_eq!(refused(bomb), "this expands to a line of more than 1048576 bytes");
    let quoted = ".macro more x\nmore \"\\x\\x\\x\"\n.endm\nmore 12345678";
    assert_eq!(refused(quoted), "this expands to a line of more than 1048576 bytes");
    let longest = "x".repeat(1 << 19);
    let lines = ".set a, \\x\n".repeat(300);
    assert_eq!(refused(&format!(".macro more x\n{lines}.endm\nmore {longest}")), message);
    assert_eq!(refused(".macro again\nagain\n.endm\nagain"), "macros and repetitions nest at most 20 deep");
}

#[test]
fn sections_have_room_for_so_much() {
    let message = "the sections would grow beyond 1 GiB together";
    assert_eq!(refused(".zero 1<<40"), message);
    assert_eq!(refused(".fill 1<<28, 8, 1"), message);
    assert_eq!(refused(".org 1<<31"), message);
    assert_eq!(refused(&".data\n.byte 1\n.balign 1<<24\n".repeat(65)), message);
    assert_eq!(refused(&"s_nop 0\n.p2align 24\n".repeat(65)), message);
    assert_eq!(refused(&"s_nop 0\n.p2alignw 24, 1\n".repeat(65)), message);
    assert_eq!(refused(".fill 1<<60, 8"), "the section would grow beyond 4 GiB");
    assert_eq!(refused(".bss\n.zero 1<<33"), "section `.bss` would grow beyond 4 GiB");
}

/// Lines may be long, but only a part of them is kept and shown.
#[test]
fn long_lines_are_quoted_in_part() {
    let count = 100_000;
    let source =
        format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.byte {}0", "outside, ".repeat(count));
    let reports = assemble(&source, &Options::default()).expect_err("bytes cannot be relocated");
    assert_eq!(reports.len(), 1000);
    for (at, report) in reports.iter().enumerate() {
        assert!(report.text.len() < 1000, "{}", report.text.len());
        assert_eq!(report.text.get(report.diagnostic.span.clone()), Some("outside"));
        assert_eq!(report.column(), 7 + 9 * at);
    }
}

#[test]
fn local_memory_is_that_of_the_target() {
    for (target, most) in [("gfx906", 65536), ("gfx950", 163_840), ("gfx9-4-generic", 65536)] {
        let options = Options { target: target.parse().ok(), ..Options::default() };
        assert!(assemble(&format!(".amdgpu_lds x, {most}"), &options).is_ok());
        let reports = assemble(&format!(".amdgpu_lds x, {}", most + 1), &options).expect_err(target);
        let message = format!("expected at most {most} bytes, found {}", most + 1);
        assert_eq!(reports[0].diagnostic.message, message);
    }
}

#[test]
fn expressions_end() {
    // Each symbol needs the one before it three times.
    let mut source = String::from("outside:\na0 = outside\n");
    for number in 1..60 {
        source += &format!("a{number} = a{0} + (a{0} - a{0})\n", number - 1);
    }
    let message = refused(&format!("{source}.quad a59"));
    assert!(message.contains("steps") || message.contains("too deep"), "{message}");
    let long = format!(".quad outside{}", "+inside".repeat(100_000));
    assert_eq!(refused(&long), "expressions have at most 200 operators between symbols");
    let deep = format!(".quad {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(refused(&deep), "expressions nest at most 100 deep");
    let message = refused("a = b\nb = a\n.quad a");
    assert_eq!(message, "the expression is too deep, or its symbols refer to one another in a cycle");
}

#[test]
fn many_blocks_are_read_once() {
    let source = format!("{}{}", ".if 1\n".repeat(200_000), ".endif\n".repeat(200_000));
    let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n{source}");
    assert!(assemble(&source, &Options::default()).is_ok());
}

#[test]
fn warnings_are_reported() {
    let source = "
        .amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
        .warning \"old\"
        .print \"here\\n\\\"\"
        .warning
        .file 1 \"a.cl\" md5 0x12
        s_endpgm
    ";
    let mut printed = Vec::new();
    let assembled = assemble_with(source, &Options::default(), &mut |event| {
        if let Event::Print { line, text, .. } = event {
            printed.push((line, String::from_utf8_lossy(text).into_owned()));
        }
    });
    assert!(assembled.reports.is_empty());
    // Escapes stay as written, and the text is not a warning.
    assert_eq!(printed, [(4, "here\\n\\\"".to_owned())]);
    let reported: Vec<_> =
        assembled.warnings.iter().map(|report| (report.line, report.diagnostic.message.as_str())).collect();
    assert_eq!(
        reported,
        [
            (0, "MD5 sums and source texts are omitted: only line tables with a file 0 can hold them"),
            (3, "old"),
            (5, "the source reports a warning here"),
        ]
    );
}

/// Events of a source whose numbers need several readings are reported once, with the final
/// offsets.
#[test]
fn numbers_of_unknown_size_are_placed_before_anything_is_reported() {
    let source = "
        .amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
        s_nop 0
        .uleb128 .Lend-.Lstart, .Lend-.Lstart
        .p2align 2
    .Lstart:
        s_nop 1
        .fill 127
    .Lend:
        .p2align 2
        s_endpgm
    ";
    let mut reported = Vec::new();
    let assembled = assemble_with(source, &Options::default(), &mut |event| match event {
        Event::Instruction { line, offset, .. } => reported.push((line, offset)),
        Event::Label { line, name, .. } => reported.push((line, name.len() as u64 + 1000)),
        Event::Other { line, text, .. } => reported.push((line, text.len() as u64 + 1000)),
        _ => {}
    });
    assert_eq!(assembled.reports, []);
    let instructions: Vec<_> = reported.iter().filter(|(_, offset)| *offset < 1000).copied().collect();
    assert_eq!(instructions, [(3, 0), (7, 8), (11, 140)]);
    let lines: Vec<usize> = reported.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, (1..=12).collect::<Vec<_>>());
    for (wrong, message) in [
        (".uleb128 nowhere", "expected a number, or the distance between two addresses of one section"),
        (
            ".sleb128 .Lone-.Ltwo\n.Lone:\n.data\n.Ltwo:",
            "expected a number, or the distance between two addresses",
        ),
        (".bss\n.uleb128 .Lb-.La\n.La:\n.zero 4\n.Lb:", "the section accepts only zeros, found 4"),
        (".bss\n.long nowhere", "the section accepts only zeros"),
    ] {
        let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n{wrong}\n");
        let reports = assemble(&source, &Options::default()).expect_err(wrong);
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert!(reports[0].diagnostic.message.starts_with(message), "{reports:?}");
    }
    // Each number grows only after the next one has grown.
    for count in [40, 300] {
        let mut source = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.data\n".to_owned();
        for number in 0..count {
            let next = number + 1;
            source += &format!(".La{number}:\n.uleb128 .Lb{next}-.La{next}\n.fill 126\n.Lb{number}:\n");
        }
        source += &format!(".La{count}:\n.fill 128\n.Lb{count}:\n");
        let module = assemble(&source, &Options::default()).expect("all settle");
        let data = module.section_named(".data").map(|id| module.sections[id.0].contents.size());
        assert_eq!(data, Some(128 * count + 128));
    }
    // A size that depends on itself never settles. The source is read as often as any source, or
    // twice for each such statement.
    for (count, readings) in [(10, 50), (100, 201)] {
        let line = |n| format!("a{n}: .zero 16-(b{n}-a{n})\nb{n}:\n");
        let source: String = (0..count).map(line).collect();
        let reports = assemble(&source, &Options::default()).expect_err("it has no end");
        let message = format!(
            "the number still changes after {readings} readings of the source: each one moves the addresses that it depends on"
        );
        assert!(reports.iter().any(|report| report.diagnostic.message == message), "{reports:?}");
    }
}

#[test]
fn files_are_included_as_they_are() {
    let include = |name: &str| {
        let bytes: &[u8] = match name {
            "bytes" => &[0xFF, 1, 2, 3, 4],
            "text" => b".byte 9\n",
            "outer" => b"\n\n.include \"bytes\"\n",
            _ => return Err("there is none".to_owned()),
        };
        Ok(IncludedFile { path: format!("folder/{name}"), bytes: bytes.to_vec() })
    };
    let options = Options { include: &include, ..Options::default() };
    let source = "
        .amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
        .data
        .incbin \"bytes\"
        .incbin \"bytes\", 3
        .incbin \"bytes\", 1, 2
        .incbin \"bytes\", 4, 100
        .incbin \"bytes\", 7
        .include \"text\"
    ";
    let module = assemble(source, &options).expect("nothing is wrong with it");
    let data = module.section_named(".data").map(|id| &module.sections[id.0].contents);
    let expected = vec![0xFF, 1, 2, 3, 4, 3, 4, 1, 2, 4, 9];
    assert_eq!(data, Some(&wavemill_object::write::Contents::Bytes(expected)));
    // The error is in the included file, and its line is between the lines of the source.
    let wrong = source.replace("\"text\"", "\"outer\"") + ".byte wrong-\n";
    let wrong = assemble(&wrong, &options).expect_err("no text");
    assert_eq!(
        wrong[0].diagnostic.message,
        "expected UTF-8 outside of strings and comments, found the byte 0xff"
    );
    let chain = |at: usize| {
        let inclusion = wrong[at].inclusion.as_deref();
        inclusion.into_iter().flat_map(Inclusion::chain).map(|one| (one.path.as_str(), one.line)).collect()
    };
    assert_eq!((wrong[0].line, wrong[0].diagnostic.span.clone()), (1, 0..3));
    let expected: Vec<(&str, usize)> = vec![("folder/bytes", 3), ("folder/outer", 9)];
    assert_eq!(expected, chain(0));
    assert_eq!((wrong.len(), wrong[1].line, chain(1)), (2, 10, Vec::new()));
}

/// Files end names at zero bytes.
#[test]
fn names_have_no_zero_bytes() {
    for line in ["\"a\0b\": s_nop 0", ".globl \"a\0b\"", "s_branch \"a\0b\"", ".long \"a\0b\""] {
        assert!(refused(line).starts_with("expected a name without zero bytes"), "{line:?}");
    }
}

/// Bytes that are not UTF-8 are kept in strings; two names never become one.
#[test]
fn sources_may_have_any_bytes_in_strings() {
    let target = b".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.data\n";
    let source = |line: &[u8]| [target, line].concat();
    let accepted = source(b".ascii \"\xff\xef\x9c\x80\xc3\xa9\" // \xfe\n.if 0\n\xff\n.endif\n");
    let module = assemble(&accepted, &Options::default()).expect("nothing is wrong with it");
    let data = module.section_named(".data").map(|id| &module.sections[id.0].contents);
    let expected = b"\xff\xef\x9c\x80\xc3\xa9".to_vec();
    assert_eq!(data, Some(&wavemill_object::write::Contents::Bytes(expected)));
    for line in [
        &b"x\xff: .byte 1"[..],
        b".byte '\xff'",
        b"\"x\xff\": .byte 1",
        b".globl \"\xff\"",
        b".long \"\xff\"",
        b".include \"\xff\"",
        b".section \"\xff\"",
        b".amdgpu_metadata\nx: \"\xff\"\n.end_amdgpu_metadata",
        b"\xef\x9c\x80 = 3",
    ] {
        let reports = assemble(&source(line), &Options::default()).expect_err("bytes that are no text");
        let message = &reports[0].diagnostic.message;
        assert!(message.contains("in UTF-8") || message.contains("expected UTF-8"), "{line:?}: {message}");
        assert!(reports[0].line > 2, "{line:?}");
    }
}
