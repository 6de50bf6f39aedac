//! `wavemill run` from the command line to the results.

mod arguments;
mod cayman;
mod cayman_messages;
mod exports;
pub(crate) mod images;
mod names;
mod samplers;
mod several;
mod synchronization;

use std::process::Output;

use crate::common::{Folder, err, expect, out, repository};

const TARGETS: [&str; 4] = ["gfx906", "gfx90a", "gfx942", "gfx950"];

#[test]
fn adds_vectors_on_every_target() {
    for target in TARGETS {
        let folder = Folder::new(&format!("add_{target}"));
        folder.object(target, "vector_add");
        let line = [
            "run",
            "vector_add.co",
            "--grid",
            "4",
            "--block",
            "256",
            "a:f32[1000]=iota",
            "b:f32[1000]=iota(0.5,2)",
            "c:f32[1000]=zeros",
            "n:i32=1000",
            "--print",
            "c[:4]",
            "--print",
            "c[998:]:x",
            "--expect",
            "c=iota(0.5,3)",
            "--stats",
        ];
        let output = expect(&folder, 0, &line);
        let wanted = "c[:4] = [0.5, 3.5, 6.5, 9.5]\nc[998:] = [0x453b2800, 0x453b5800]\nc: 1,000 elements as expected\n";
        assert_eq!(out(&output), wanted);
        assert!(err(&output).starts_with("4x1x1 workgroups x 256 = 1,024 work-items\n"), "{}", err(&output));
        assert!(err(&output).contains("1,024 work-items\n"), "{}", err(&output));
        // All is exact, except which NaN an addition gives. Which exceptions it raises is open too, but nothing reads them.
        // Newer targets compute addresses with `v_lshl_add_u64`, whose large shifts are open, but these shifts are small
        // constants.
        let text = err(&output);
        let fidelity = text.split_once("\nfidelity ").map_or("", |(_, rest)| rest);
        let wanted = "     100.0% exact\n              facets: nan_choice 16\noperations    ";
        assert!(fidelity.starts_with(wanted), "{fidelity}");
        // No operation of the kernel runs lane by lane.
        assert!(err(&output).contains(" 0.0% run lane by lane in scalar code\n"), "{}", err(&output));
    }
}

/// Softmax has exact and rounded instructions, and facets of both.
#[test]
fn fidelity_has_levels_and_facets_with_their_texts() {
    let folder = Folder::new("fidelity");
    folder.object("gfx942", "softmax");
    let line =
        ["run", "softmax.co", "--grid", "1", "x[256]=random(1)", "y[256]", "columns=256", "--fidelity"];
    let text = err(&expect(&folder, 0, &line));
    let (_, fidelity) = text.split_once('\n').expect("the line about the launch");
    insta::assert_snapshot!(fidelity);
    // With --stats, it replaces the short form.
    let text = err(&expect(&folder, 0, &[&line[..], &["--stats"]].concat()));
    assert!(text.contains("\nmix\n") && text.contains(fidelity), "{text}");
    assert!(!text.contains("% exact\n"), "{text}");
}

/// Facets that the rows have, but that cannot matter to these instances: an `s_rfe` in the trap
/// handler, a store with a constant offset, a shift by a constant of 2, and exceptions that nothing
/// reads.
#[test]
fn fidelity_leaves_out_facets_that_cannot_matter() {
    for (file, name, absent) in [
        ("examples/traps.toml", "s_rfe_b64", "outside_handler"),
        ("examples/traps.toml", "s_store_dword", "scalar_offset"),
        ("examples/vector_add.toml", "v_lshl_add_u64", "wide_shift"),
        ("examples/vector_add.toml", "v_add_f32", "exceptions"),
    ] {
        let text = err(&repository_run(&[file, "--fidelity", "--message-format", "json"]));
        let mut messages = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let report = messages.find(|message| message["fidelity"].is_object()).unwrap();
        let names = |list: &serde_json::Value, key: &str| {
            let list = list.as_array().unwrap();
            list.iter().map(|one| one[key].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert!(names(&report["rows"], "name").iter().any(|row| row == name), "{file} runs no {name}");
        assert!(!names(&report["fidelity"]["facets"], "name").iter().any(|facet| facet == absent), "{text}");
    }
}

/// Fast sums are a facet of their own, and no result with it counts as exact.
#[test]
fn fidelity_reports_fast_sums() {
    let fidelity = |rule: &str| {
        let line = ["examples/sparse.toml", "--mfma", rule, "--fidelity", "--message-format", "json"];
        let text = err(&repository_run(&line));
        let messages = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut reports: Vec<_> = messages.filter(|message| message["fidelity"].is_object()).collect();
        assert_eq!(reports.len(), 1, "{text}");
        let fidelity = reports.pop().unwrap()["fidelity"].take();
        let facets = fidelity["facets"].as_array().unwrap();
        facets.iter().find(|facet| facet["name"] == "fast_sums").cloned()
    };
    assert_eq!(fidelity("exact"), None);
    let facet = fidelity("fast").expect("a facet of fast sums");
    assert_eq!((&facet["kind"], &facet["count"]), (&"order".into(), &1.into()), "{facet}");
}

#[test]
fn arguments_go_by_name_or_position() {
    let folder = Folder::new("positions");
    folder.object("gfx942", "vector_add");
    let run = |args: &[&str]| {
        let line = ["run", "vector_add.co", "--global-size", "60", "--block", "64", "--print", "c[-2:]"];
        out(&expect(&folder, 0, &[&line[..], args].concat()))
    };
    for args in [
        &["a[64]=iota", "b[64]=ones", "c[64]", "n=60"][..],
        &["n=60", "c[64]", "b[64]=1", "a[64]=iota"],
        &["f32[64]=iota", "f32[64]=ones", "f32[64]", "60"],
        &["c[64]", "f32[64]=iota", "f32[64]=ones", "u32=0x3c"],
        &["a[64]=iota", "b:f32*[64]=ones", "c=&a", "n=60", "--print", "a[-2:]"],
    ] {
        let text = match args.iter().any(|arg| arg.contains('&')) {
            // The buffer has two names, and the first one counts.
            true => {
                let line = ["run", "vector_add.co", "--global-size", "60", "--block", "64"];
                let output = expect(&folder, 0, &[&line[..], args].concat());
                assert_eq!(out(&output), "a[-2:] = [62.0, 63.0]\n");
                assert!(err(&output).starts_with("1x1x1 workgroups x 64 = 60 work-items (the last"));
                continue;
            }
            false => run(args),
        };
        assert_eq!(text, "c[-2:] = [0.0, 0.0]\n", "{args:?}");
    }
}

#[test]
fn files_go_in_and_out() {
    let folder = Folder::new("files");
    folder.object("gfx942", "vector_add");
    let floats = |values: [f32; 4]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    folder.file("a.bin", floats([1.0, 2.0, 3.0, 4.0]));
    let line = ["run", "vector_add.co", "--grid", "1", "--block", "4", "a=@a.bin", "n=4"];
    let first = [
        &line[..],
        &["b[2,2]=1", "c[2,2]", "--out", "c=c.npy", "--out", "c=c.bin", "--out", "c=c.png,range=0:5"],
    ];
    let output = expect(&folder, 0, &first.concat());
    assert_eq!(
        err(&output).lines().skip(1).collect::<Vec<_>>(),
        ["wrote c.npy", "wrote c.bin", "wrote c.png"]
    );
    assert_eq!(std::fs::read(folder.0.join("c.bin")).unwrap(), floats([2.0, 3.0, 4.0, 5.0]));
    // The written file is read back, with its type and shape.
    let second = [
        &line[..],
        &[
            "b=@c.npy",
            "c[4]",
            "--print",
            "b",
            "--print",
            "b[1,0]",
            "--expect",
            "c=[3,5,7,9]",
            "--expect",
            "b=c.npy",
        ],
    ];
    let output = expect(&folder, 0, &second.concat());
    assert_eq!(
        out(&output),
        "b =\n  [0,0]  2.0  3.0\n  [1,0]  4.0  5.0\nb[1,0] = 4.0\nc: 4 elements as expected\nb: 4 elements as expected\n"
    );
    let mut reader =
        png::Decoder::new(std::io::BufReader::new(std::fs::File::open(folder.0.join("c.png")).unwrap()))
            .read_info()
            .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (2, 2));
    assert_eq!(pixels, [102, 102, 102, 153, 153, 153, 204, 204, 204, 255, 255, 255]);
}

#[test]
fn failed_expectations_exit_with_1() {
    let folder = Folder::new("expectations");
    folder.object("gfx942", "vector_add");
    let line =
        ["run", "vector_add.co", "--grid", "1", "--block", "64", "a[64]=iota", "b[64]=0.25", "c[64]", "n=64"];
    let output = expect(
        &folder,
        1,
        &[&line[..], &["--expect", "c=iota(0.25)", "--expect", "c[:3]=[0.25,1,2.5]"]].concat(),
    );
    assert_eq!(out(&output), "c: 64 elements as expected\n");
    let message = err(&output);
    assert!(
        message.contains("error: c[:3]: 2 of 3 elements are wrong\n  c[1]: expected 1.0, found 1.25 (abs 2.50e-1, rel 2.50e-1 off)\n"),
        "{message}"
    );
    expect(&folder, 0, &[&line[..], &["--expect", "c=iota", "--tolerance", "abs=0.25"]].concat());
    expect(
        &folder,
        1,
        &[&line[..], &["--expect", "c=iota", "--tolerance", "abs=0.2,rel=0.1,ulp=9"]].concat(),
    );
}

#[test]
fn buffers_may_be_empty() {
    let folder = Folder::new("empty");
    folder.object("gfx906", "vector_add");
    let line =
        ["run", "vector_add.co", "--grid", "1", "--block", "64", "a:f32[0]=iota", "b[0]=ones", "c[0]", "n=0"];
    expect(&folder, 0, &line);
}

#[test]
fn faults_exit_with_4() {
    let folder = Folder::new("faults");
    folder.object("gfx90a", "vector_add");
    let line =
        ["run", "vector_add.co", "--grid", "4", "--block", "256", "a[1024]", "b[1024]", "c[1000]", "n=1024"];
    let output = expect(&folder, 4, &line);
    let message = err(&output);
    assert!(message.contains("error: illegal store of 4 bytes at "), "{message}");
    assert!(message.contains("`c`"), "{message}");
    assert!(message.contains("kernel       vector_add"), "{message}");
    assert!(message.contains("global_store_dword"), "{message}");
    // There is no other buffer, and no memory of the runtime, far after a buffer.
    let far =
        ["--grid", "1", "--block", "64", "--offset", "100000", "a[64]", "b[64]", "c[64]", "n=0x7fffffff"];
    let message = err(&expect(&folder, 4, &[&line[..2], &far].concat()));
    assert!(message.contains(": 399744 bytes past the end of `a`\n"), "{message}");
}

#[test]
fn endless_runs_exit_with_124() {
    let folder = Folder::new("limit");
    folder.object("gfx942", "mandelbrot");
    let line = [
        "run",
        "mandelbrot.co",
        "--grid",
        "1",
        "--block",
        "64",
        "steps:u32[64]",
        "width=64",
        "height=1",
        "left=0",
        "top=0",
        "step=0",
        "limit=0xffffffff",
        "--max-instructions",
        "1000000",
    ];
    let output = expect(&folder, 124, &line);
    let message = err(&output);
    assert!(
        message.contains("the limit is 1000000; 1 wave still running, 0 workgroups not started"),
        "{message}"
    );
    let few = ["limit=1", "--threads", "1", "--max-instructions", "10"];
    let few = [&line[..3], &["100"], &line[4..12], &few].concat();
    let message = err(&expect(&folder, 124, &few));
    assert!(message.contains(" workgroups not started"), "{message}");
    assert!(message.contains("workgroup (0, 0, 0), wave 0: runs\n        mandelbrot + 0x"), "{message}");
}

#[test]
fn unsupported_instructions_exit_with_5() {
    let folder = Folder::new("unsupported");
    folder.file("indexed.s", include_str!("schemas/unsupported.s"));
    let message = err(&expect(&folder, 5, &["run", "indexed.s", "--grid", "1", "--block", "64"]));
    assert!(message.contains("unsupported instruction"), "{message}");
    assert!(message.contains("v_mfma_f32_4x4x1f32 v[4:7], v0, v1, v[4:7]"), "{message}");
}

#[test]
fn written_launch_files_run() {
    let folder = Folder::new("init");
    folder.object("gfx942", "vector_add");
    let shown = out(&expect(&folder, 0, &["run", "vector_add.co", "--init"]));
    let output = expect(&folder, 0, &["run", "vector_add.co", "b:f32[1024]=iota", "--init=add.toml"]);
    assert_eq!(err(&output), "wrote `add.toml`\n");
    let written = std::fs::read_to_string(folder.0.join("add.toml")).unwrap();
    assert_eq!(written, shown.replace("b:f32[1024]=zeros", "b:f32[1024]=iota"));
    insta::assert_snapshot!("launch_file", written);
    // It is complete, the command line overrides parts of it, and its paths are relative to it.
    let output = repository_run(&[folder.0.join("add.toml").to_str().unwrap(), "n=4", "--print", "c[:6]"]);
    assert_eq!(out(&output), "c[:4] = [0.0, 1.0, 2.0, 3.0]\nc[:6] = [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]\n");
    // It contains the options of the command line.
    let line = "vector_add.co b:f32[1024]=iota n=700 --global-size 700 --block 64 --print c[3] --out c=c.npy --expect c[0]=0 \
                --tolerance ulp=1 --threads 2 --poison --stats --max-instructions 9000 --init";
    let args: Vec<&str> = std::iter::once("run").chain(line.split_whitespace()).collect();
    let shown = out(&expect(&folder, 0, &args));
    insta::assert_snapshot!("launch_file_with_options", shown);
    std::fs::write(folder.0.join("options.toml"), &shown).unwrap();
    let output = expect(&folder, 0, &["run", "options.toml"]);
    assert_eq!(out(&output), "c[3] = 3.0\nc[0]: 1 element as expected\n");
    let again = expect(&folder, 2, &["run", "vector_add.co", "--init=add.toml"]);
    assert!(err(&again).contains("already exists"), "{}", err(&again));
}

/// Runs `wavemill run` from the root of the repository.
fn repository_run(args: &[&str]) -> Output {
    let output = Folder(repository()).run(&[&["run"][..], args].concat());
    assert!(output.status.success(), "{args:?}\n{}{}", out(&output), err(&output));
    output
}

#[test]
fn examples_run_on_every_target() {
    // Copies, so that the picture is not written into the repository.
    let folder = Folder::new("examples");
    for example in ["vector_add", "mandelbrot"] {
        let text = std::fs::read_to_string(repository().join(format!("examples/{example}.toml"))).unwrap();
        let kernels = repository().join("kernels").canonicalize().unwrap();
        folder.file(&format!("{example}.toml"), text.replace("../kernels", kernels.to_str().unwrap()));
    }
    let mut pictures = Vec::new();
    for target in TARGETS {
        let output = expect(&folder, 0, &["run", "vector_add.toml", "--target", target]);
        assert!(out(&output).contains("c: 1,000 elements as expected"));
        let output = expect(&folder, 0, &["run", "mandelbrot.toml", "--target", target]);
        assert!(err(&output).contains("= 786,432 work-items\nwrote mandelbrot.png\n"), "{}", err(&output));
        pictures.push(std::fs::read(folder.0.join("mandelbrot.png")).unwrap());
    }
    assert!(pictures.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(pictures[0].len() > 10_000);
}

/// The example with typed buffers. Its file checks some pixels; the others are computed here.
#[test]
fn pixels_become_floats_and_bytes_again() {
    let folder = Folder::new("texels");
    let file = |name: &str| format!("{name}={}", folder.0.join(name).with_extension("bin").display());
    let out = |name: &str| ["--out".to_owned(), file(name)];
    let args =
        [vec!["examples/texels.toml".to_owned()], [out("colours"), out("negatives")].concat()].concat();
    repository_run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let found = |name: &str| std::fs::read(folder.0.join(name).with_extension("bin")).unwrap();
    // 60 of 64 pixels are in range. Byte n of the pixels is n.
    let colours = (0..256u16).map(|n| if n < 240 { f32::from(n) / 255.0 } else { 0.0 });
    assert_eq!(found("colours"), colours.flat_map(f32::to_le_bytes).collect::<Vec<u8>>());
    let negatives = (0..=255u8).map(|n| match n {
        240.. => 0,
        n if n % 4 == 3 => n,
        n => 255 - n,
    });
    assert_eq!(found("negatives"), negatives.collect::<Vec<u8>>());
}

#[test]
fn a_trace_shows_what_each_instruction_changes() {
    let folder = Folder::new("trace");
    folder.object("gfx906", "vector_add");
    let line = [
        "run",
        "vector_add.co",
        "--grid",
        "3",
        "--block",
        "128",
        "a[384]=iota",
        "b[384]=1",
        "c[384]",
        "n=384",
        "--print",
        "c[254:258]",
        "--trace",
    ];
    let all = err(&expect(&folder, 0, &line));
    let output = expect(&folder, 0, &[&line[..], &["--trace-workgroup", "1", "--trace-wave", "1"]].concat());
    assert_eq!(out(&output), "c[254:258] = [255.0, 256.0, 257.0, 258.0]\n");
    let text = err(&output);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    // Every wave runs the same instructions.
    assert_eq!(all.lines().count() - 1, 6 * lines.len());
    assert!(lines.len() > 20, "{text}");
    assert!(lines.iter().all(|line| line.starts_with("(1,0,0) wave 1  vector_add+0x")), "{text}");
    let add = lines.iter().find(|line| line.contains("v_add_f32_e32")).expect("it adds floats");
    // 192 + 1 in lane 0, and so on.
    assert!(
        add.contains("={0: 0x43410000, 1: 0x43420000, 2: 0x43430000, 3: 0x43440000, ... 64 lanes}"),
        "{add}"
    );
    assert!(lines[lines.len() - 1].ends_with("s_endpgm"), "{text}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    let object = repository().join("kernels/bin/gfx906/sgemm.co");
    let mut child = Command::new(env!("CARGO_BIN_EXE_wavemill"))
        .arg("dis")
        .arg(object)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 8];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(err(&output), "");
    assert!(output.status.success());
}

/// A litmus test whose workgroups wait for one another, in teams of two.
fn litmus<'a>(grid: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let line = [
        "run",
        "litmus.co",
        "--kernel",
        "litmus_message_passing",
        "--grid",
        grid,
        "data:u32[4096]",
        "flag:u32[4096]",
        "seen:u32[512]",
        "gate:u32[4]",
        "rounds=1",
        "stride=16",
    ];
    [&line[..], more].concat()
}

#[test]
fn grids_that_can_never_finish_exit_with_4() {
    for target in TARGETS {
        let folder = Folder::new(&format!("stalled_{target}"));
        folder.object(target, "litmus");
        for threads in ["1", "2"] {
            let whole = expect(&folder, 0, &litmus("2", &["--threads", threads, "--print", "gate[0]"]));
            assert_eq!(out(&whole), "gate[0] = 2\n");
            // The partner of the third workgroup does not exist, and will never come.
            let message = err(&expect(&folder, 4, &litmus("3", &["--threads", threads])));
            assert!(message.contains("error: the grid can never finish"), "{message}");
            assert!(message.contains("kernel       litmus_message_passing\n  waves        1\n"), "{message}");
            let (_, wave) = message
                .split_once("workgroup (2, 0, 0), wave 0: spins in a loop of ")
                .unwrap_or_else(|| panic!("{message}"));
            assert!(wave.contains("\n        litmus_message_passing + 0x"), "{message}");
            assert!(
                ["global_load_dword", "flat_load_dword"].iter().any(|load| wave.contains(load)),
                "{message}"
            );
        }
    }
}

#[test]
fn cooperative_launches_must_fit() {
    let folder = Folder::new("cooperative");
    folder.object("gfx906", "vector_add");
    let run = |code, grid, more: &[&str]| {
        let line =
            ["run", "vector_add.co", "--block", "256", "a[64]", "b[64]", "c[64]", "n=64", "--grid", grid];
        err(&expect(&folder, code, &[&line[..], more].concat()))
    };
    // 60 compute units with 40 waves each, and 4 waves in a workgroup.
    run(0, "600", &["--cooperative"]);
    run(0, "601", &[]);
    let message = run(2, "601", &["--cooperative"]);
    let wanted = "a cooperative launch of 601 workgroups, but gfx906 holds 600 of them at once";
    assert!(message.contains(wanted), "{message}");
    folder.file(
        "k.toml",
        "object = 'vector_add.co'\ngrid = 601\nblock = 256\ncooperative = true\nargs = ['a[64]', 'b[64]', 'c[64]', 'n=64']\n",
    );
    assert!(err(&expect(&folder, 2, &["run", "k.toml"])).contains(wanted));
}

#[test]
fn poison_shows_what_nobody_wrote() {
    let folder = Folder::new("poison");
    folder.object("gfx942", "vector_add");
    let line =
        ["run", "vector_add.co", "--grid", "1", "--block", "64", "--print", "c[:3]:x", "--print", "b[0]:x"];
    let run = |more: &[&str]| out(&expect(&folder, 0, &[&line[..], more].concat()));
    // Two elements are computed, the third one stays unchanged; explicit zeros stay zero.
    let arguments = ["a[64]=ones", "b[64]=zeros", "c[64]", "n=2"];
    let with = |more: &[&'static str]| run(&[&arguments[..], more].concat());
    let one = "0x3f800000";
    assert_eq!(with(&[]), format!("c[:3] = [{one}, {one}, 0x00000000]\nb[0] = 0x00000000\n"));
    assert_eq!(with(&["--poison"]), format!("c[:3] = [{one}, {one}, 0xfffafffa]\nb[0] = 0x00000000\n"));
    assert_eq!(with(&["--poison=0x7"]), format!("c[:3] = [{one}, {one}, 0x00000007]\nb[0] = 0x00000000\n"));
    // An input without contents shows in the result.
    let forgotten = run(&["a[64]", "b[64]=ones", "c[64]", "n=64", "--poison"]);
    assert_eq!(forgotten, "c[:3] = [0xfffafffa, 0xfffafffa, 0xfffafffa]\nb[0] = 0x3f800000\n");
    let message = err(&expect(&folder, 2, &[&line[..], &arguments, &["--poison=x"]].concat()));
    assert!(message.contains("--poison: `x` is not a 32-bit word"), "{message}");
    folder.file(
        "k.toml",
        "object = 'vector_add.co'\ngrid = 1\nblock = 64\npoison = true\nargs = ['a[64]=1', 'b[64]=0', 'c[64]', 'n=2']\n",
    );
    let output = expect(&folder, 0, &["run", "k.toml", "--print", "c[2]:x"]);
    assert_eq!(out(&output), "c[2] = 0xfffafffa\n");
}

#[test]
fn statistics_count_instructions_by_kind() {
    let folder = Folder::new("mix");
    folder.object("gfx906", "vector_add");
    let line = [
        "run",
        "vector_add.co",
        "--grid",
        "2",
        "--block",
        "128",
        "a[256]",
        "b[256]",
        "c[256]",
        "n=256",
        "--stats",
    ];
    // Tracing a run does not change the numbers.
    for more in [&[][..], &["--trace"], &["--deterministic"]] {
        let text = err(&expect(&folder, 0, &[&line[..], more].concat()));
        let number = |name: &str| {
            let line = text.lines().rev().find(|line| line.trim_start().starts_with(name));
            let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
            let word = line.trim_start()[name.len()..].split_whitespace().next().unwrap_or_default();
            word.replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("{line}"))
        };
        let kinds = ["vector ALU", "scalar ALU", "scalar memory", "vector memory", "control"].map(number);
        assert_eq!(kinds.iter().sum::<u64>(), number("instructions"), "{text}");
        // Two loads and a store for each of four waves.
        assert_eq!(number("vector memory"), 12, "{text}");
        assert!(!text.contains("  LDS "), "{text}");
        assert_eq!(number("resident"), 2, "{text}");
    }
}

/// The engine changes nothing except its name in messages.
#[test]
fn engines_give_the_same() {
    let folder = Folder::new("engines");
    folder.object("gfx942", "histogram");
    let common = "object = 'histogram.co'\nkernel = 'histogram_local'\ngrid = 4\nblock = 256\n\
                  args = ['data:u32[4096]=random(1)', 'bins:u32[256]', 'words=4096']\nprint = ['bins']\n";
    let run = |head: &str, more: &[&str]| {
        folder.file("engine.toml", format!("{head}{common}"));
        expect(&folder, 0, &[&["run", "engine.toml", "--stats", "--message-format", "json"], more].concat())
    };
    let name = |output: &std::process::Output| {
        let message = err(output);
        let line = message.lines().find(|line| line.contains("\"stats\"")).expect("statistics");
        let stats: serde_json::Value = serde_json::from_str(line).unwrap();
        (stats["engine"].as_str().unwrap().to_owned(), stats["instructions"].as_u64().unwrap())
    };
    let interpreted = run("", &[]);
    for (head, more) in [("", &["--engine", "reference"][..]), ("engine = 'reference'\n", &[])] {
        let found = run(head, more);
        assert_eq!(out(&found), out(&interpreted));
        assert_eq!(name(&found), ("reference".to_owned(), name(&interpreted).1));
    }
    // The command line wins, and traced waves run in the interpreter.
    assert_eq!(name(&run("engine = 'reference'\n", &["--engine", "interpreter"])).0, "interpreter");
    let traced = expect(&folder, 0, &["run", "engine.toml", "--engine", "reference", "--trace"]);
    assert_eq!(out(&traced), out(&interpreted));
    assert!(err(&traced).contains("s_endpgm"), "{}", err(&traced));
}

/// If the reader of the output goes away, files are still written, and errors reported.
#[test]
fn a_closed_output_hides_nothing() {
    let folder = Folder::new("closed_output");
    folder.object("gfx942", "vector_add");
    let line = "run vector_add.co --grid 1 --block 64 a[64]=iota b[64]=ones c[64] n=64 --stats --print c --out c=c.bin";
    for (expected, code) in [("c=iota(1)", 0), ("c=zeros", 1)] {
        let _ = std::fs::remove_file(folder.0.join("c.bin"));
        let mut command = folder.command();
        command.args(line.split(' ')).args(["--expect", expected]);
        for closed in ["stdout", "stderr"] {
            // The reading end of the pipe is closed before anything is written.
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            match closed {
                "stdout" => command.stdout(writer).stderr(std::process::Stdio::null()),
                _ => command.stderr(writer).stdout(std::process::Stdio::null()),
            };
            assert_eq!(command.status().unwrap().code(), Some(code), "{closed} closed, {expected}");
            assert_eq!(std::fs::read(folder.0.join("c.bin")).unwrap().len(), 256);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new("no_sense");
    folder.object("gfx942", "vector_add");
    let line = ["run", "vector_add.co", "--grid", "1", "--block", "64", "a[64]=iota", "b[64]=ones", "n=64"];
    for (extra, code, wanted) in [
        (&["c=[1,,2]"][..], 2, "number 1 is missing between the commas"),
        (&["c[2]=,1,2"], 2, "number 0 is missing between the commas"),
        (&["c[64]", "=5"], 2, "there is nothing before the `=`"),
        (&["c:f32[10]=@/dev/zero"], 3, "`/dev/zero` is a device, not a file"),
        (&["c[64]", "--out", "c=x.bin", "--out", "a=x.bin"], 2, "--out: `x.bin` is written more than once"),
        (&["c[64]", "--deterministic", "--threads", "2"], 2, "--deterministic runs on one thread"),
        (&["c[64]", "--engine", "reference", "--tier", "portable"], 2, "omit --tier"),
        (&["c[64]", "--expect", "c=[1,2]"], 2, "--expect c=[1,2]: 2 numbers given for 64 elements"),
    ] {
        if extra[0].contains("dev") && !cfg!(unix) {
            continue;
        }
        let output = expect(&folder, code, &[&line, extra].concat());
        assert!(err(&output).contains(wanted), "{extra:?}: {}", err(&output));
    }
    let empty = ["c[0,9223372036854775807]", "--print", "c"];
    expect(&folder, 0, &[&line[..8], &["n=0"], &empty].concat());
    folder.object("gfx942", "histogram");
    let output = expect(&folder, 2, &["run", "histogram.co", "--kernel", "histogram_global"]);
    assert!(!err(&output).contains("TYPE"), "the line to copy is complete: {}", err(&output));
}

/// Traces, coverage, logs and buffers do not replace what a run reads, nor each other.
#[test]
fn what_is_written_is_not_what_is_read() {
    let folder = Folder::new("written_and_read");
    folder.object("gfx942", "vector_add");
    let object = std::fs::read(folder.0.join("vector_add.co")).unwrap();
    folder.file("a.bin", [0; 16]);
    let line = ["run", "vector_add.co", "--grid", "1", "--block", "64"];
    let args = ["a:f32[4]=@a.bin", "b:f32[4]", "c:f32[4]", "n:i32=4"];
    let trace = |file: &'static str| ["--trace", "--trace-file", file];
    let cases: [(&[&str], &str); 6] = [
        (&trace("./vector_add.co"), "--trace-file: `./vector_add.co` is also the file to run"),
        (&trace("a.bin"), "--trace-file: `a.bin` is also a file with the contents of an argument"),
        (&["--isa-coverage", "vector_add.co"], "--isa-coverage: `vector_add.co` is also the file to run"),
        (&["--isa-coverage", "c.npy", "--out", "c=c.npy"], "--isa-coverage: `c.npy` is also --out"),
        (
            &["--log-file", "vector_add.co"],
            "--log-file: `vector_add.co` already exists and is not a log, so it is not overwritten",
        ),
        (&["--isa-coverage", "l", "--log-file", "./l"], "--log-file: `./l` is also --isa-coverage"),
    ];
    for (options, message) in cases {
        let output = expect(&folder, 2, &[&line[..], &args, options].concat());
        assert!(err(&output).starts_with(&format!("error: {message}\n")), "{options:?}\n{}", err(&output));
        assert_eq!(std::fs::read(folder.0.join("vector_add.co")).unwrap(), object);
        assert_eq!(std::fs::read(folder.0.join("a.bin")).unwrap(), [0; 16]);
        assert!(!folder.0.join("l").exists() && !folder.0.join("c.npy").exists());
    }
    #[cfg(unix)]
    {
        // A link to a file that does not exist yet.
        std::os::unix::fs::symlink("c.npy", folder.0.join("link")).unwrap();
        let both = ["--isa-coverage", "link", "--out", "c=c.npy"];
        let output = expect(&folder, 2, &[&line[..], &args, &both].concat());
        assert!(
            err(&output).starts_with("error: --isa-coverage: `link` is also --out\n"),
            "{}",
            err(&output)
        );
    }
    // A buffer may replace the file that it was filled from.
    expect(&folder, 0, &[&line[..], &args, &["--out", "a=a.bin"]].concat());
}
