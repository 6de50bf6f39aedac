//! Programs of Cayman run, and their faults name the control flow word, the clause, the group and
//! the slot.

use serde_json::{Value, json};

use crate::common::{Folder, err, expect, out, repository, said};

/// The sources, by name.
const SOURCES: [(&str, &str); 8] = [
    ("atomic.s", include_str!("cayman/atomic.s")),
    ("endless.s", include_str!("cayman/endless.s")),
    ("far.s", include_str!("cayman/far.s")),
    ("illegal.s", include_str!("cayman/illegal.s")),
    ("kcache.s", include_str!("cayman/kcache.s")),
    ("lds.s", include_str!("cayman/lds.s")),
    ("lines.s", include_str!("cayman/lines.s")),
    ("stack.s", include_str!("cayman/stack.s")),
];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (name, source) in SOURCES {
        folder.file(name, source);
    }
    folder
}

#[test]
fn the_example_gives_its_numbers() {
    let path = repository().join("examples/cayman/saxpy.toml");
    let folder = Folder::new("cayman_run_example");
    for more in [&[][..], &["--engine", "reference"], &["--tier", "portable"], &["--block", "100"]] {
        let line = [&["run", path.to_str().unwrap()], more].concat();
        assert_eq!(out(&expect(&folder, 0, &line)), "y: 200 elements as expected\n", "{more:?}");
    }
    // The object file does the same as its source.
    let source = repository().join("examples/cayman/saxpy.s");
    expect(&folder, 0, &["asm", source.to_str().unwrap(), "--target", "cayman", "-o", "saxpy.o"]);
    let line = ["run", "saxpy.o", "--global-size", "70", "--block", "64"];
    let arguments = ["x:f32[70]=iota", "y:f32[70]=1", "a:f32=2", "n:u32=69", "--print", "y[67:]"];
    let text = out(&expect(&folder, 0, &[&line[..], &arguments].concat()));
    assert_eq!(text, "y[67:] = [135.0, 137.0, 1.0]\n");
}

/// Atomic operations add up, and pointers have 32 bits.
#[test]
fn pointers_have_32_bits() {
    let folder = folder("cayman_run_pointers");
    let line = ["run", "atomic.s", "--target", "hd6950", "--global-size", "301", "--block", "128"];
    let text = out(&expect(&folder, 0, &[&line[..], &["counts:u32[2]", "--print", "counts"]].concat()));
    // Workgroups of 128, 128 and 45 work-items: the last has 23 even ids.
    assert_eq!(text, "counts = [151, 150]\n");
    let message = said(&folder, 2, &[&line[..], &["counts:u32[2]", "--address-mode", "identity"]].concat());
    assert!(message.contains("pointers of cayman have 32 bits"), "{message}");
}

#[test]
fn faults_name_clause_group_and_slot() {
    let folder = folder("cayman_run_faults");
    let mut all = String::new();
    for (source, code) in
        [("far.s", 4), ("illegal.s", 4), ("kcache.s", 4), ("lds.s", 4), ("lines.s", 4), ("stack.s", 4)]
    {
        let line = [
            "run",
            source,
            "--target",
            "cayman",
            "--grid",
            "1",
            "--block",
            "64",
            "--strict",
            "counts:u32[2]",
        ];
        let message = err(&expect(&folder, code, &line));
        all += &format!("{source}\n{message}\n");
    }
    let line = ["run", "endless.s", "--target", "cayman", "--grid", "1", "--block", "64"];
    all += &err(&expect(&folder, 124, &[&line[..], &["--max-instructions", "1000"]].concat()));
    let line =
        ["run", "lds.s", "--target", "cayman", "--grid", "1", "--block", "64", "--strict", "--registers"];
    all += &err(&expect(&folder, 4, &line));
    insta::assert_snapshot!(all);
}

#[test]
fn faults_as_json() {
    let folder = folder("cayman_run_json");
    let line = ["run", "lds.s", "--target", "cayman", "--grid", "1", "--block", "64", "--strict"];
    let text = err(&expect(&folder, 4, &[&line[..], &["--message-format", "json"]].concat()));
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let clause = &last["fault"]["clause"];
    assert_eq!(
        *clause,
        json!({
            "control": 0, "control_text": "alu @2 count:3", "kind": "alu", "address": 2, "number": 2,
            "slot": "x", "constants": null,
        })
    );
    assert_eq!(last["fault"]["registers"]["gprs"], json!(3));
    assert_eq!(last["fault"]["registers"]["active"], json!("0xffffffffffffffff"));
}

#[test]
fn traces_and_statistics_have_the_names_of_cayman() {
    let folder = folder("cayman_run_trace");
    let line = ["run", "atomic.s", "--target", "cayman", "--grid", "1", "--block", "64", "counts:u32[2]"];
    let text = err(&expect(&folder, 0, &[&line[..], &["--trace"]].concat()));
    assert!(text.contains("r1.x={") && text.contains(" atomic 4 bytes buffer "), "{text}");
    let text = err(&expect(&folder, 0, &[&line[..], &["--stats"]].concat()));
    assert!(text.contains("\n  rat ") && text.contains("mem_rat add 1"), "{text}");
    let text = err(&expect(&folder, 0, &[&line[..], &["--isa-coverage", "rows.json"]].concat()));
    assert!(text.contains("cayman"), "{text}");
}

/// Runs a program with bindings, and gives the dwords of a part of a buffer.
fn numbers(name: &str, program: &str, line: &[&str], part: &str) -> Vec<u32> {
    let folder = Folder::new(name);
    std::fs::write(folder.0.join("program.s"), program).expect("a file");
    let out = format!("{part}=part.bin");
    let whole = [&["run", "program.s", "--target", "cayman", "--out", &out], line].concat();
    expect(&folder, 0, &whole);
    let bytes = std::fs::read(folder.0.join("part.bin")).expect("the part");
    bytes.as_chunks::<4>().0.iter().map(|dword| u32::from_le_bytes(*dword)).collect()
}

/// The highest registers are a clause's own, although they are none of the program's.
#[test]
fn clause_temporaries_exist() {
    let program = "    .program p
    alu c
    export_done param0, r5.xyzw
    end
c:  x: mov r125.x, 0x5
    y: mov r5.y, r0.x ;;
    x: add_int r5.x, r125.x, 0x10 ;;
";
    let line = ["--grid", "1", "--block", "4", "o:u32[4,4]", "--bind", "param0=o"];
    assert_eq!(numbers("cayman_run_temporaries", program, &line, "o[:,0]"), [21; 4]);
}

/// Work-items have numbers without gaps, also where workgroups at the edge are smaller.
#[test]
fn work_items_have_numbers_in_two_dimensions() {
    let program = "    .program p
    .gprs 6
    alu c
    export_done param0, r5.xyzw
    end
c:  x: mov r5.x, r2.x
    y: mov r5.y, r0.x ;;
    z: mov r5.z, r0.y
    w: mov r5.w, r1.x ;;
";
    let line = ["--global-size", "5x3", "--block", "4x2", "--bind", "r2.x=i", "--bind", "param0=o"];
    let line = [&line[..], &["o:u32[15,4]=77"]].concat();
    let whole = [&line[..], &["i:u32[15]=iota(1)"]].concat();
    let found = numbers("cayman_run_two_dimensions", program, &whole, "o[:,0]");
    assert_eq!(found, (1..16).collect::<Vec<u32>>());
    // Workgroups follow each other: (0, 0) has 8 items, (1, 0) has 2, (0, 1) has 4, (1, 1) has 1.
    let found = numbers("cayman_run_two_dimensions", program, &whole, "o[:,1]");
    assert_eq!(found, [0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0, 1, 2, 3, 0]);
    let folder = Folder::new("cayman_run_two_dimensions");
    std::fs::write(folder.0.join("program.s"), program).expect("a file");
    let short = ["i:u32[14]"];
    let all = [&["run", "program.s", "--target", "cayman"], &line[..], &short].concat();
    let text = err(&expect(&folder, 2, &all));
    assert!(
        text.contains("r2.x is a buffer of 56 bytes; expected 4 bytes for each of 15 work-items"),
        "{text}"
    );
}

/// An index register leads from the first buffers to the others, and behind the last there is none.
#[test]
fn indices_reach_all_buffers() {
    let program = "    .program p
    .gprs 10
    alu a
    tc f
    export_done param0, r8.xyzw
    end
a:  x: mova_int cf_idx1, r2.x ;;
f:  vfetch r8.x___, r0.x, buf:5+idx1 fmt:32 int
    vfetch r8._x__, r0.x, buf:20 fmt:32 int
";
    let common =
        ["--grid", "1", "--block", "2", "a:u32[2]=1000", "b:u32[2]=2000", "c:u32[2]=3000", "o:u32[2,4]"];
    let bind = ["--bind", "buf0=a", "--bind", "buf20=b", "--bind", "buf7=c", "--bind", "param0=o"];
    for (index, wanted) in [("15", 2000), ("2", 3000), ("11", 0), ("200", 0)] {
        let own = format!("r2.x={index}");
        let line = [&common[..], &bind, &["--bind", &own]].concat();
        assert_eq!(numbers("cayman_run_indices", program, &line, "o[0,:2]"), [wanted, 2000], "{index}");
    }
}

/// The message of a launch that is refused.
fn refused(name: &str, program: &str, line: &[&str]) -> String {
    let folder = Folder::new(name);
    std::fs::write(folder.0.join("program.s"), program).expect("a file");
    err(&expect(&folder, 2, &[&["run", "program.s", "--target", "cayman"], line].concat()))
}

/// The launch says which register a semantic is.
#[test]
fn semantics_are_registers() {
    let program = "    .program p
    .stage vs
    .gprs 8
    tc f
    export_done param0, r7.xyzw
    export_done param1, r0.xyzw
    end
f:  semantic sem5.xyzw, r2.x, buf:1 fmt:32_32_32_32 int
";
    let line = ["--grid", "1", "--block", "4", "d:u32[16]=iota(100)", "i:u32[4]=[3,1,2,0]", "o:u32[4,4]"];
    let bind = ["--bind", "buf1=d[stride:16]", "--bind", "r2.x=i"];
    let line = [&line[..], &bind].concat();
    let text = refused("cayman_run_semantics", program, &[&line[..], &["--bind", "param0=o"]].concat());
    assert!(text.contains("it fetches semantic 5; bind the register that receives it, such as semantic5=1"));
    let run = |target| {
        let more = ["--bind", "semantic5=7", "--bind", target];
        numbers("cayman_run_semantics", program, &[&line[..], &more].concat(), "o")
    };
    let wanted: Vec<u32> =
        [3, 1, 2, 0].into_iter().flat_map(|n| (0..4).map(move |c| 100 + 4 * n + c)).collect();
    assert_eq!(run("param0=o"), wanted);
    let ids: Vec<u32> = (0..4).flat_map(|n| [n, 0, 0, 0]).collect();
    assert_eq!(run("param1=o"), ids, "the ids stay");
}

/// Waves meet at a barrier in the number that it says.
#[test]
fn waves_meet_at_a_global_barrier() {
    for (waves, value) in [(1, 1), (2, 2), (6, 3)] {
        let program = format!(
            "    .program p
    .gprs 4
    alu c
    global_wave_sync barrier value:{value} resource:2
    export_done param0, r3.xyzw
    end
c:  x: mov r3.x, 0x7 ;;
"
        );
        let (grid, out) = (waves.to_string(), format!("o:u32[{},4]", 64 * waves));
        let line = ["--grid", &grid, "--block", "64", &out, "--bind", "param0=o"];
        assert_eq!(numbers("cayman_run_barrier", &program, &line, "o[:,0]"), vec![7; 64 * waves]);
    }
}

/// Ordered allocation goes by the order of launch, in grids with smaller waves at their edges, too.
#[test]
fn ordered_allocation_follows_the_order_of_launch() {
    let program = "    .program p
    .gprs 6
    alu i
    gds g
    export_done param0, r5.xyzw
    end
i:  x: mov r4.x, 3 ;;
g:  gds_atomic_ordered_alloc_ret r5.x___, r4.xxx bcast_first_req
";
    for (grid, block, waves) in [
        ("192", "64", vec![64; 3]),
        // Workgroups of 8 x 16, 2 x 16, 8 x 4 and 2 x 4: two waves, one, one, one.
        ("10x20", "8x16", vec![64, 64, 32, 32, 8]),
    ] {
        let items: usize = waves.iter().sum();
        let out = format!("o:u32[{items},4]");
        let line = ["--global-size", grid, "--block", block, &out, "--bind", "param0=o"];
        let wanted: Vec<u32> =
            waves.iter().enumerate().flat_map(|(n, size)| vec![3 * n as u32; *size]).collect();
        assert_eq!(numbers("cayman_run_ordered", program, &line, "o[:,0]"), wanted, "{grid}");
    }
}

/// Only programs of pixels kill (HD 6900 ISA 8.2).
#[test]
fn other_stages_ignore_kills() {
    let program = |stage: &str| {
        format!(
            "    .program p
    {stage}
    .gprs 6
    alu c
    export_done param0, r5.xyzw
    end
c:  x: mov r5.x, 0x7 ;;
    y: killgt_int r5.y, r0.x, 1 ;;
"
        )
    };
    let line = ["--grid", "1", "--block", "4", "o:u32[4,4]=9", "--bind", "param0=o"];
    for (stage, wanted) in [(".stage ps", [7, 7, 9, 9]), (".stage vs", [7; 4]), ("", [7; 4])] {
        assert_eq!(numbers("cayman_run_kills", &program(stage), &line, "o[:,0]"), wanted, "{stage}");
    }
}

/// The constants of jump tables are the launch's.
#[test]
fn jump_tables_have_constants() {
    let program = "    .program p
    .gprs 4
    jumptable @out jumptable_sel:1 const:3
    jump @a cond:false
    jump @b cond:false
out: alu c
    export_done param0, r3.xyzw
    end
a:  alu d
    export_done param0, r3.xyzw
    end
b:  alu e
    export_done param0, r3.xyzw
    end
c:  x: mov r3.x, 0x7 ;;
d:  x: mov r3.x, 0x8 ;;
e:  x: mov r3.x, 0x9 ;;
";
    let line = ["--grid", "1", "--block", "2", "o:u32[2,4]", "--bind", "param0=o"];
    let text = refused("cayman_run_jumptable", program, &line);
    assert!(text.contains("a jump table depends on constant 3; bind it, such as jumptable3=0"), "{text}");
    for (constant, wanted) in [("0xff00ff", 8), ("0x01ff", 9), ("0x200", 7), ("0xff00", 7)] {
        let own = format!("jumptable3={constant}");
        let found =
            numbers("cayman_run_jumptable", program, &[&line[..], &["--bind", &own]].concat(), "o[:,0]");
        assert_eq!(found, [wanted; 2], "{constant}");
    }
}

/// A binding that would have no effect is an error.
#[test]
fn bindings_without_an_effect_are_refused() {
    let program = "    .program p
    .gprs 6
    alu c
    export_done param0, r5.xyzw
    end
c:  x: mov r5.x, 0x7 ;;
";
    let line = ["--grid", "1", "--block", "4", "o:u32[4,4]", "--bind", "param0=o"];
    for (more, wanted) in [
        (&["--bind", "r50.x=7"][..], "r50.x is none of its 6 registers"),
        (&["--bind", "modes=0x1cc"], "modes is 0x1cc; expected two fields of four bits"),
        (
            &["l:u32[100]", "--bind", "lds=l", "--dynamic-lds", "16"],
            "lds is a buffer of 400 bytes, but a workgroup has 16 bytes of LDS; request more dynamic LDS",
        ),
        (&["--bind", "r2.x=1e400"], "expected the name of an argument or a number of 32 bits, found `1e400`"),
        (&["--offset", "500"], "a launch with bindings has no global offset"),
        (&["--bind", "semantic300=1"], "there is no location semantic300; the largest number is 255"),
        (&["--bind", "semantic3=6"], "semantic3=6: r6 is none of its 6 registers"),
        // A clause temporary, and no register at all.
        (&["--bind", "semantic3=126"], "semantic3=126: r126 is none of its 6 registers"),
        (&["--bind", "semantic3=128"], "semantic3=128: r128 is none of its 6 registers"),
        // Descriptors of buffers have no code for these.
        (
            &["r:u32[4]", "--bind", "rat1=r[format:srgba8]"],
            "rat1 has the format srgba8, and buffers have no texels of it",
        ),
        (&["r:u32[4]", "--bind", "rat1=r[format:rgb565]"], "rat1 has the format rgb565, and buffers have"),
        (
            &["r:image2d[r32f,2x2]", "--bind", "rat1=r[format:r32f]"],
            "rat1 is an image, which has a format; leave out `format` and `unit`",
        ),
    ] {
        let text = refused("cayman_run_refused", program, &[&line[..], more].concat());
        assert!(text.contains(wanted), "{text}");
    }
}

/// Each work-item has an element of its own in streams and rings, by its number.
#[test]
fn streams_and_rings_have_an_element_for_each_item() {
    let folder = Folder::new("cayman_run_streams");
    std::fs::write(
        folder.0.join("stream.s"),
        "    .program p
    .stage vs
    alu c
    mem_stream1_buf2 r2.xy base:1 size:63 type:write
    mem_ring1 r2.x base:0 size:63 type:write
    end
c:  x: mov r2.x, r0.x
    y: add_int r2.y, r1.x, 7 ;;
",
    )
    .expect("a file");
    let line = ["run", "stream.s", "--target", "cayman", "--grid", "3", "--block", "4"];
    let bind = ["--bind", "stream1.2=s[stride:16]", "--bind", "ring1=g[stride:8]"];
    let more = ["s:u32[12,4]=99", "g:u32[12,2]=99", "--print", "s", "--print", "g"];
    let text = out(&expect(&folder, 0, &[&line[..], &bind, &more].concat()));
    let found: Vec<u32> = text
        .lines()
        .filter(|line| line.contains(']'))
        .flat_map(|line| line.split(']').next_back().unwrap_or_default().split_whitespace())
        .map(|number| number.parse().expect(number))
        .collect();
    let streams = (0..12).flat_map(|n| [99, n % 4, 7 + n / 4, 99]);
    let rings = (0..12).flat_map(|n| [n % 4, 99]);
    assert_eq!(found, streams.chain(rings).collect::<Vec<u32>>(), "{text}");
}

/// LLVM's objects do not say whether 64 bytes are a vector or a structure, which is at another offset.
#[test]
fn structures_need_an_alignment() {
    let object = repository().join("kernels/bin/cayman/preload.o");
    let folder = Folder::new("cayman_run_alignment");
    let line = ["run", object.to_str().unwrap(), "--target", "cayman", "--grid", "1", "--block", "64"];
    let others = ["y:u32[64]", "x:u32[64]", "n:u32=64", "a:u32=1", "b:u64=0"];
    let far = format!("far=bytes:{}", "2a000000".repeat(16));
    let run = |exit, far: &str| err(&expect(&folder, exit, &[&line[..], &others, &[far]].concat()));
    let text = run(2, &far);
    assert!(
        text.contains("argument 5 has 64 bytes and no alignment") && text.contains("[align:4]"),
        "{text}"
    );
    let text = run(2, &format!("{far}[align:256]"));
    assert!(text.contains("the alignment of argument 5 is 256"), "{text}");
    // LLVM loads from the address that the first dword is, in the structure's own location only.
    let text = run(4, &format!("{far}[align:4]"));
    assert!(text.contains("illegal load of 4 bytes at 0x2a"), "{text}");
}

/// Resources at locations: a fetch with a stride, a register for each work-item, a number.
#[test]
fn bindings_put_arguments_at_locations() {
    let path = repository().join("examples/cayman/lookup.toml");
    let folder = Folder::new("cayman_run_bind");
    let line = ["run", path.to_str().unwrap()];
    for more in [&[][..], &["--engine", "reference"], &["--tier", "portable"]] {
        let text = out(&expect(&folder, 0, &[&line[..], more].concat()));
        assert_eq!(text, "found: 100 elements as expected\n", "{more:?}");
    }
    // Workgroups of another size: the number of work-items follows the order of workgroups.
    let text =
        out(&expect(&folder, 0, &[&line[..], &["--block", "20", "--bind", "r6.x=20"], &MORE].concat()));
    assert_eq!(text, "found: 100 elements as expected\n");
    // The command line replaces the bindings of the file.
    for (bindings, wanted) in [
        (&["cb0=table"][..], "argument `index` has no location"),
        (&["cb0=tabel"], "no argument is called `tabel`; did you mean `table`?"),
        (&["cb16=table", "r3.x=index", "rat1=found"], "there is no location cb16; the largest number is 15"),
        (&["tex0=table", "r3.x=index", "rat1=found"], "expected an image"),
        (&["cb0=table", "cb0=index", "rat1=found"], "cb0 is bound more than once"),
        (&["buf3=table", "buf3=index", "rat1=found"], "buf3 is bound more than once"),
    ] {
        let given: Vec<&str> = bindings.iter().flat_map(|binding| ["--bind", binding]).collect();
        let output = folder.run(&[&line[..], &given].concat());
        let message = err(&output);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{:?} {message}", output.status);
        assert!(message.contains(wanted), "{message}");
    }
    // Only programs of Cayman have locations.
    folder.object("gfx942", "vector_add");
    let message = err(&folder.run(&[
        "run",
        "vector_add.co",
        "--grid",
        "1",
        "--block",
        "64",
        "a[64]",
        "b[64]",
        "c[64]",
        "n=64",
        "--bind",
        "cb0=a",
        "--bind",
        "cb1=b",
        "--bind",
        "cb2=c",
        "--bind",
        "r0.x=n",
    ]));
    assert!(message.contains("only programs of Cayman have resources at locations"), "{message}");
}

/// The bindings of the example besides the one that changes.
const MORE: [&str; 6] = ["--bind", "buf2=table[stride:16]", "--bind", "r3.x=index", "--bind", "rat1=found"];

/// The colour of a pixel of the sphere, by ordinary arithmetic; `None` outside. `texels` are those
/// of 8 x 8, sampled with repetition and weights.
fn sphere(texels: &[u8], column: usize, row: usize) -> Option<[f64; 4]> {
    let place = |n: usize| -1.15 + 2.3 * (n as f64 + 0.5) / 256.0;
    let (x, y) = (place(column), -place(row));
    let rest = 1.0 - x * x - y * y;
    if rest < 0.0 {
        return None;
    }
    let z = rest.sqrt();
    let coordinate = |p: f64| (0.5 + 0.5 * p / (1.0 + z)) * 8.0 - 0.5;
    let (u, v) = (coordinate(x), coordinate(-y));
    let texel = |u: f64, v: f64, channel: usize| {
        let (u, v) = (u.rem_euclid(8.0) as usize, v.rem_euclid(8.0) as usize);
        f64::from(texels[4 * (8 * v + u) + channel]) / 255.0
    };
    let sampled = |channel: usize| {
        let (left, up) = (u.floor(), v.floor());
        let blend =
            |v: f64| texel(left, v, channel) * (1.0 - u + left) + texel(left + 1.0, v, channel) * (u - left);
        blend(up) * (1.0 - v + up) + blend(up + 1.0) * (v - up)
    };
    let towards = |light: [f64; 3]| (light[0] * x + light[1] * y + light[2] * z).max(0.0);
    let diffuse = 0.15 + 0.85 * towards([-0.48, 0.64, 0.6]);
    let highlight = 0.4 * towards([-0.26833, 0.35777, 0.89443]).powi(32);
    let colour = |channel| (sampled(channel) * diffuse + highlight).clamp(0.0, 1.0) * 255.0;
    Some([colour(0), colour(1), colour(2), 255.0])
}

/// A pixel shader: interpolation, kill, a texture, a typed store.
#[test]
fn the_sphere_is_lit() {
    let folder = Folder::new("cayman_run_sphere");
    let path = repository().join("examples/cayman/sphere.toml");
    let line = ["run", path.to_str().unwrap(), "hills:image2d[rgba8,8x8]=random(5)"];
    let out_files = ["--out", "picture=picture.bin", "--out", "hills=hills.bin"];
    for more in [&[][..], &["--tier", "portable"]] {
        expect(&folder, 0, &[&line[..], &out_files, more].concat());
        let [picture, texels] =
            ["picture.bin", "hills.bin"].map(|name| std::fs::read(folder.0.join(name)).unwrap());
        assert_eq!((picture.len(), texels.len()), (4 << 16, 256));
        let (mut inside, mut largest) = (0, 0f64);
        for (number, pixel) in picture.chunks_exact(4).enumerate() {
            let Some(wanted) = sphere(&texels, number % 256, number / 256) else {
                assert_eq!(pixel, [0; 4], "pixel {number} is not on the sphere");
                continue;
            };
            inside += 1;
            for (found, wanted) in pixel.iter().zip(wanted) {
                largest = largest.max((f64::from(*found) - wanted).abs());
            }
        }
        // A circle of 256 / 2.3 pixels. Weights of texels are multiples of 1/256.
        assert!((38_700..39_150).contains(&inside), "{inside}");
        assert!(largest < 2.5, "{largest}");
    }
    // Waves export the pixels on the sphere, and no others.
    let text = out(&expect(&folder, 0, &[&line[..], &["--print", "exports"]].concat()));
    let lanes = text.lines().filter_map(|line| line.split_once("colour0 of lanes 0x")?.1.split_once(','));
    let exported: u32 = lanes.map(|(mask, _)| u64::from_str_radix(mask, 16).unwrap().count_ones()).sum();
    let inside = (0..1 << 16).filter(|n| sphere(&[0; 256], n % 256, n / 256).is_some()).count();
    assert_eq!(exported as usize, inside);
}

/// Scratch memory: the launch says how much each work-item has.
#[test]
fn scratch_memory_belongs_to_lanes() {
    let folder = folder("cayman_run_scratch");
    folder.file("scratch.s", include_str!("cayman/scratch.s"));
    let line = ["run", "scratch.s", "--target", "cayman", "--grid", "1", "--block", "64"];
    let more = ["squares:u32[64]", "--bind", "rat0=squares", "--print", "squares[60:]"];
    for engine in ["interpreter", "reference"] {
        let text =
            out(&expect(&folder, 0, &[&line[..], &more, &["--stack", "64", "--engine", engine]].concat()));
        assert_eq!(text, "squares[60:] = [3600, 3721, 3844, 3969]\n");
    }
    // Without it, the first store is outside.
    let message = said(&folder, 4, &[&line[..], &more].concat());
    assert!(message.contains("illegal store of 16 bytes at byte 0 of private memory"), "{message}");
}

/// A launch makes the fetch program of a vertex shader from attributes.
#[test]
fn launches_make_fetch_programs() {
    let program = "    .program p
    .stage vs
    .gprs 4
    call_fs
    export param0, r1.xyzw
    export param1, r3.xyzw
    export_done param2, r0.xyzw
    end
";
    let line = ["--global-size", "6", "--block", "4", "o:u32[6,4]", "v:f32[18]=iota", "w:u8[24]=iota(1)"];
    let attributes = ["--bind", "attrib0=v[format:rgb32f]", "--bind", "attrib2=w[format:rgba8ui]"];
    let run = |name: &str, more: &[&str]| {
        let name = format!("cayman_run_fetch_{name}");
        numbers(&name, program, &[&line[..], &attributes, more].concat(), "o[:,:]")
    };
    // A vertex has three floats; w is 1. Its number counts through the workgroups.
    let floats = |vertex: u32| [0, 1, 2].map(|n| ((3 * vertex + n) as f32).to_bits());
    let expected: Vec<u32> = (0..6).flat_map(|n| [&floats(n)[..], &[1.0f32.to_bits()]].concat()).collect();
    assert_eq!(run("floats", &["--bind", "param0=o"]), expected);
    // Attribute 2 is in r3.
    let expected: Vec<u32> = (1..25).collect();
    assert_eq!(run("bytes", &["--bind", "param1=o"]), expected);
    // An index per vertex, also one without an element: that is zeros.
    let indices = ["i:u32[6]=[5,0,3,3,1,99]", "--bind", "r0.x=i"];
    let found = run("indices", &[&indices[..], &["--bind", "param1=o"]].concat());
    let element = |n: u32| if n < 6 { [1, 2, 3, 4].map(|byte| 4 * n + byte) } else { [0; 4] };
    assert_eq!(found, [5, 0, 3, 3, 1, 99].map(element).concat());
    // Wider steps from one vertex to the next.
    let wide = ["--bind", "attrib0=v[format:r32f,stride:8]", "--bind", "param0=o"];
    let found = numbers(
        "cayman_run_fetch_wide",
        program,
        &[&line[..5], &["v:f32[18]=iota"], &wide].concat(),
        "o[:,0]",
    );
    assert_eq!(found, [0.0f32, 2.0, 4.0, 6.0, 8.0, 10.0].map(f32::to_bits));

    let refuse = |name: &str, program: &str, more: &[&str]| {
        refused(&format!("cayman_run_fetch_{name}"), program, &[&line[..5], more].concat())
    };
    let text = refuse("nothing", program, &["--bind", "param0=o"]);
    assert!(text.contains("`call_fs` calls a fetch program") && text.contains("such as attrib0="), "{text}");
    let text = refuse("high", program, &["--bind", "attrib3=o", "--bind", "param0=o"]);
    assert!(text.contains("attrib3 goes to r4, which is none of its 4 registers"), "{text}");
    let text = refuse("none", &program.replace("call_fs", "nop"), &["--bind", "attrib0=o"]);
    assert!(text.contains("attrib0 is an attribute, and the program calls no fetch program"), "{text}");
    let text = refuse("packed", program, &["--bind", "attrib1=o[format:rgb555]"]);
    assert!(text.contains("attrib1 has the format rgb555, and buffers have no texels of it"), "{text}");
    let text = refuse("twice", program, &["--bind", "attrib1=o", "--bind", "buf161=o"]);
    assert!(text.contains("attribute n is number 160 + n"), "{text}");
    let text = refuse("many", program, &["--bind", "attrib16=o"]);
    assert!(text.contains("there is no location attrib16; the largest number is 15"), "{text}");
}

/// Images as random access targets: typed stores and atomic operations of texels, by coordinates.
#[test]
fn images_are_random_access_targets() {
    // (x, y, z) is (lane % 4, lane / 4 % 4, lane / 16). An array of 2 slices with 3 x 3 texels each.
    let program = "    .program p
    .gprs 6
    alu c
    mem_rat store_typed rat2, r3.xyzw, [r2.x] type:write_ind
    mem_rat add_rtn rat5, r4.xyzw, [r2.x] type:write_ind_ack mark
    wait_ack 0
    end
c:  x: and_int r2.x, r0.x, 0x3
    y: bfe_uint r2.y, r0.x, 0x2, 0x2
    z: lshr_int r2.z, r0.x, 0x4
    w: add_int r5.w, r0.x, 0x40 ;;
    x: uint_to_flt r3.x, pv.w
    y: mov r3.y, 1.0
    z: mov r3.z, 0
    w: mov r3.w, 0.5 ;;
    x: mul_ieee r3.x, r3.x, 0.0078125
    y: mov r4.y, r0.x ;;
    x: mov r4.x, r0.x ;;
";
    let line = ["--grid", "1", "--block", "32"];
    let arguments = ["a:image2d_array[rg16s,3x3x2]", "b:image2d_array[r32ui,3x3x2]=100", "old:u32[64]=7"];
    let bind = ["--bind", "rat2=a", "--bind", "rat5=b", "--bind", "returns=old"];
    let run = |name: &str, what: &str| numbers(name, program, &[&line[..], &arguments, &bind].concat(), what);
    let inside = |lane: u32| lane % 4 < 3 && lane / 4 % 4 < 3;
    let lanes = || (0..32u32).filter(|lane| inside(*lane));
    assert_eq!(run("cayman_run_targets_added", "b"), lanes().map(|lane| 100 + lane).collect::<Vec<u32>>());
    // Lanes outside get 0.
    let mut old: Vec<u32> = (0..32).map(|lane| if inside(lane) { 100 } else { 0 }).collect();
    old.extend([7; 32]);
    assert_eq!(run("cayman_run_targets_old", "old"), old);
    // (64 + lane) / 128 of 32767, to the nearest even; and 1.0.
    let first = |lane: u32| (f64::from(64 + lane) / 128.0 * 32767.0).round_ties_even() as u32;
    let texels: Vec<u32> = lanes().map(|lane| first(lane) | 32767 << 16).collect();
    assert_eq!(run("cayman_run_targets_stored", "a"), texels);
    let raw = program.replace("store_typed rat2, r3.xyzw", "store_dword rat2, r3.x");
    let text = refused("cayman_run_targets_raw", &raw, &[&line[..], &arguments, &bind].concat());
    assert!(
        text.contains("rat2 is an image, and `mem_rat store_dword` accesses rat2: only typed stores"),
        "{text}"
    );
    let indexed = program.replace("rat2, r3", "rat1+idx0, r3");
    let text = refused("cayman_run_targets_indexed", &indexed, &[&line[..], &arguments, &bind].concat());
    assert!(text.contains("rat2 is an image, and `mem_rat store_typed` accesses rat1:"), "{text}");
}

/// An instruction says which coordinates are normalised, so no word of the sampler is missing.
#[test]
fn samplers_that_repeat_need_no_normalized() {
    let program = "    .program p
    .gprs 6
    tc f
    export_done param0, r5.xyzw
    end
f:  sample_lz r5.xyzw, r2.x000, res:0 smp:0 ct:nnnn
";
    let folder = Folder::new("cayman_run_repeat");
    folder.file("program.s", program);
    let line =
        ["run", "program.s", "--target", "cayman", "--grid", "1", "--block", "1", "--bind", "r2.x=1.75"];
    let more = ["i:image1d[r32f,2]=[5,6]", "s:sampler[repeat]", "o:f32[1,4]", "--print", "o"];
    let bind = ["--bind", "tex0=i", "--bind", "smp0=s", "--bind", "param0=o"];
    let output = expect(&folder, 0, &[&line[..], &more, &bind].concat());
    assert!(out(&output).contains("6.0"), "{}", out(&output));
    assert!(!err(&output).contains("note"), "{}", err(&output));
}
