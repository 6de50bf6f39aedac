//! Traces, statistics and coverage of `wavemill run`.

mod hardware_registers;
mod out_of_range;

use std::process::Output;

use crate::common::{Folder, expect};
use serde_json::Value;

/// Runs the command, which must end with that code.
fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The lines of a text, each a JSON object.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// Three workgroups of two waves: c = a + b.
const ADD: [&str; 10] =
    ["run", "vector_add.co", "--grid", "3", "--block", "128", "a[384]=iota", "b[384]=1", "c[384]", "n=384"];

fn add_folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.object("gfx906", "vector_add");
    folder
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ADD[..], more].concat()
}

#[test]
fn traces_say_which_round_a_line_is_of() {
    let folder = add_folder("trace_rounds");
    let one = ["--trace", "--trace-workgroup", "1", "--trace-wave", "1", "--repeat", "2", "--trace-format"];
    let output = expect(&folder, 0, &with(&[&one[..], &["json"]].concat()));
    let rounds: Vec<Value> = objects(&err(&output).lines().skip(1).collect::<Vec<_>>().join("\n"))
        .into_iter()
        .map(|step| step["round"].clone())
        .collect();
    let steps = rounds.len() / 2;
    assert!(steps > 20);
    assert_eq!(rounds, [vec![1.into(); steps], vec![2.into(); steps]].concat() as Vec<Value>);
    let output = expect(&folder, 0, &with(&[&one[..], &["text"]].concat()));
    let text = err(&output);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!((lines[0], lines[steps + 1]), ("round 1 of 2", "round 2 of 2"));
    assert_eq!(lines.len(), 2 * (steps + 1));
}

#[test]
fn a_trace_as_json_is_complete() {
    let folder = add_folder("trace_json");
    let one = ["--trace", "--trace-workgroup", "1", "--trace-wave", "1"];
    let output = expect(
        &folder,
        0,
        &with(&[&one[..], &["--trace-format", "json", "--trace-file", "t.jsonl"]].concat()),
    );
    assert_eq!(err(&output).lines().count(), 1, "the trace goes to the file: {}", err(&output));
    let steps = objects(&std::fs::read_to_string(folder.0.join("t.jsonl")).unwrap());
    assert!(steps.len() > 20);
    for step in &steps {
        assert_eq!((&step["schema"], &step["kind"], &step["launch"]), (&1.into(), &"step".into(), &1.into()));
        assert_eq!((&step["workgroup"], &step["wave"]), (&serde_json::json!([1, 0, 0]), &1.into()));
        assert_eq!(step["function"]["name"], "vector_add");
        assert_eq!(step["exec"], "0xffffffffffffffff");
    }
    let of = |start: &str| {
        let is = |step: &&Value| step["instruction"].as_str().unwrap().starts_with(start);
        steps.iter().find(is).unwrap_or_else(|| panic!("no {start}"))
    };
    // 192 + 1 in lane 0, and so on.
    let sum = of("v_add_f32_e32")["registers"].as_object().unwrap().values().next().unwrap();
    assert_eq!(sum["lanes"], "0xffffffffffffffff");
    let values: Vec<f32> = sum["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| f32::from_bits(v.as_u64().unwrap() as u32))
        .collect();
    assert_eq!(values, (193..257).map(|n| n as f32).collect::<Vec<_>>());
    // Lane 5 stores 20 bytes after lane 0.
    let stores = of("global_store_dword")["memory"].as_array().unwrap();
    let [store] = &stores[..] else { panic!("{stores:?}") };
    assert_eq!(
        (&store["kind"], &store["access"], &store["bytes"]),
        (&"global".into(), &"store".into(), &4.into())
    );
    assert_eq!(store["pieces"].as_array().unwrap().len(), 64);
    let address = |lane: usize| {
        let piece = &store["pieces"][lane];
        assert_eq!(
            (&piece["lane"], &piece["space"], &piece["bytes"]),
            (&lane.into(), &"global".into(), &4.into())
        );
        u64::from_str_radix(piece["address"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    };
    assert_eq!(address(5), address(0) + 20);
    assert_eq!(of("s_load_dword")["memory"][0]["kind"], "scalar");

    // With JSON messages, every line is JSON; text is available on request.
    let json = [&one[..], &["--message-format", "json", "--stats"]].concat();
    let mixed = objects(&err(&expect(&folder, 0, &with(&json))));
    let kinds: Vec<&str> = mixed.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("launch", "stats"));
    assert_eq!(mixed[1..mixed.len() - 1], steps);
    let text = err(&expect(
        &folder,
        0,
        &with(&[&one[..], &["--message-format", "json", "--trace-format", "text"]].concat()),
    ));
    assert_eq!(
        text.lines().filter(|line| line.starts_with("(1,0,0) wave 1  vector_add+0x")).count(),
        steps.len()
    );
    let store = text.lines().find(|line| line.contains("global_store_dword")).unwrap();
    assert!(store.contains("store 4 bytes global 0x") && store.ends_with(" (64 lanes)"), "{store}");
}

#[test]
fn ranges_of_instructions_are_traced() {
    let folder = add_folder("trace_pc");
    let one = ["--trace", "--trace-workgroup", "0", "--trace-wave", "0"];
    let lines = |more: &[&str]| {
        let text = err(&expect(&folder, 0, &with(&[&one[..], more].concat())));
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines(&[]);
    assert_eq!(lines(&["--trace-pc", "vector_add"]), all);
    assert_eq!(lines(&["--trace-pc", "vector_add+0"]), all[..1]);
    // One address of an instruction is enough; ranges add up.
    let offset =
        |line: &String| line.split("vector_add+").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let (third, fifth) = (offset(&all[2]), offset(&all[4]));
    let range = format!("vector_add+{third}..{fifth}");
    assert_eq!(lines(&["--trace-pc", &range]), all[2..4]);
    let last = format!("vector_add+{}", offset(&all[all.len() - 1]));
    assert_eq!(lines(&["--trace-pc", &range, "--trace-pc", &last]).len(), 3);
    // By address, which the JSON trace shows.
    let json = lines(&["--trace-format", "json", "--trace-pc", &range]);
    let pc = objects(&json.join("\n"))[1]["pc"].as_str().unwrap().to_owned();
    assert_eq!(lines(&["--trace-pc", &pc]), all[3..4]);

    let wrong = |range: &str| {
        let message = err(&expect(&folder, 2, &with(&["--trace", "--trace-pc", range])));
        message.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        wrong("vector_sub"),
        "error: --trace-pc: there is no function `vector_sub`; did you mean `vector_add`?"
    );
    assert_eq!(wrong("other+0x10"), "error: --trace-pc: there is no function `other`");
    assert!(wrong("vector_add+0x10000").ends_with("so there is nothing at +0x10000"));
    assert!(
        wrong("0x40..0x10")
            .starts_with("error: --trace-pc: `0x40..0x10` is not a range of instructions: its end, ")
    );
    let output = expect(&folder, 3, &with(&["--trace", "--trace-file", "no/such/folder"]));
    assert!(err(&output).starts_with("error: cannot write `no/such/folder`: "), "{}", err(&output));
}

/// Accesses of six waves of `c[i] = a[i] + b[i]`.
#[test]
fn statistics_count_what_the_kernel_does() {
    let folder = add_folder("stats_full");
    let text = err(&expect(&folder, 0, &with(&["--stats=full"])));
    for line in [
        "  global load   3,072 bytes, 12 accesses of 64.0 lanes, 4.00 lines of 64 bytes each",
        "  global store  1,536 bytes, 6 accesses of 64.0 lanes, 4.00 lines of 64 bytes each",
        "lanes         64.0 of 64 active in a vector instruction on average",
    ] {
        assert!(text.lines().any(|own| own == line), "no `{line}` in\n{text}");
    }
    assert!(text.contains(", with accesses to memory counted\n"), "{text}");

    let all = objects(&err(&expect(&folder, 0, &with(&["--stats=full", "--message-format", "json"]))));
    let stats = all.iter().find(|line| line["kind"] == "stats").unwrap();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}"));
    let sum =
        |list: &str| stats[list].as_array().unwrap().iter().map(|one| number(&one["count"])).sum::<u64>();
    assert_eq!(sum("rows"), number(&stats["instructions"]));
    assert_eq!(sum("formats"), number(&stats["instructions"]));
    let mix = stats["mix"].as_object().unwrap();
    assert_eq!(mix.values().map(number).sum::<u64>(), number(&stats["instructions"]));
    let row = |name: &str| stats["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    assert_eq!((number(&row("v_add_f32")["count"]), &row("v_add_f32")["mean_lanes"]), (6, &64.0.into()));
    assert_eq!((number(&row("s_endpgm")["count"]), &row("s_endpgm")["mean_lanes"]), (6, &Value::Null));
    let memory = stats["memory"].as_array().unwrap();
    let of = |kind: &str, access: &str| {
        let found = memory.iter().find(|one| one["kind"] == kind && one["access"] == access).unwrap();
        ["accesses", "lanes", "bytes", "lines"].map(|field| number(&found[field]))
    };
    assert_eq!(of("global", "load"), [12, 768, 3072, 48]);
    assert_eq!(of("global", "store"), [6, 384, 1536, 24]);
    assert_eq!(number(&stats["lds"]["accesses"]), 0);
    assert!(stats["operations"]["ir_per_guest"].as_f64().unwrap() > 0.9);

    // 40 of 64 work-items: the second half of the last wave has nothing to do.
    let part = ["run", "vector_add.co", "--grid", "1", "--block", "64", "a[40]", "b[40]", "c[40]", "n=40"];
    let all =
        objects(&err(&expect(&folder, 0, &[&part[..], &["--stats", "--message-format", "json"]].concat())));
    let stats = all.iter().find(|line| line["kind"] == "stats").unwrap();
    let add = stats["rows"].as_array().unwrap().iter().find(|row| row["name"] == "v_add_f32").unwrap();
    assert_eq!(add["mean_lanes"], 40.0);
    assert_eq!(stats["memory"], Value::Null, "accesses are counted where that is asked for");

    folder.file("k.toml", "object = \"vector_add.co\"\ngrid = 1\nblock = 64\nargs = [\"a[64]\", \"b[64]\", \"c[64]\", \"n=64\"]\nstats = \"full\"\n");
    let text = err(&expect(&folder, 0, &["run", "k.toml"]));
    assert!(text.contains("\n  global load   512 bytes, 2 accesses of 64.0 lanes"), "{text}");
    let message = err(&expect(&folder, 2, &with(&["--stats=most"])));
    assert!(message.contains("invalid value 'most' for '--stats[=<LEVEL>]'"), "{message}");
}

#[test]
fn coverage_grows_from_run_to_run() {
    let folder = add_folder("coverage");
    folder.object("gfx942", "transpose");
    let read =
        || objects(&std::fs::read_to_string(folder.0.join("c.json")).unwrap().replace('\n', " "))[0].clone();
    for old in [&["--coverage", "c.json"][..], &["--coverage=c.json"], &["--coverage"]] {
        let refused = err(&expect(&folder, 2, &with(old)));
        assert!(refused.starts_with("error: --coverage is now called --isa-coverage\n"), "{refused}");
    }
    let first = err(&expect(&folder, 0, &with(&["--isa-coverage", "c.json"])));
    assert!(first.lines().last().unwrap().starts_with("wrote c.json: executed "), "{first}");
    assert!(first.contains(" rows of gfx906 ("), "{first}");
    let one = read();
    assert_eq!(one["targets"]["gfx906"]["s_endpgm"], 6);
    expect(&folder, 0, &with(&["--isa-coverage", "c.json", "--repeat", "2"]));
    assert_eq!(read()["targets"]["gfx906"]["s_endpgm"], 18);
    let other =
        ["run", "transpose.co", "--grid", "1", "in:f32[16,16]", "out:f32[16,16]", "width=16", "height=16"];
    let last = err(&expect(&folder, 0, &[&other[..], &["--isa-coverage", "c.json"]].concat()));
    assert!(last.contains(" rows of gfx906 (") && last.contains(" rows of gfx942 ("), "{last}");
    let both = read();
    assert!(both["targets"]["gfx942"]["ds_write_b32"].as_u64().unwrap() > 0, "{both}");
    assert_eq!(both["targets"]["gfx906"]["s_endpgm"], 18);

    // A fault counts nothing, and leaves the file unchanged. A file of another kind is left alone,
    // before anything runs.
    let mut fault = with(&["--isa-coverage", "c.json"]);
    fault[9] = "n=100000";
    fault[3] = "400";
    expect(&folder, 4, &fault);
    assert_eq!(read(), both);
    folder.file("d.json", "{}");
    let refused = err(&expect(&folder, 3, &with(&["--isa-coverage", "d.json"])));
    assert!(refused.starts_with("error: --isa-coverage d.json: it is not a coverage file\n"), "{refused}");
    assert_eq!(std::fs::read(folder.0.join("d.json")).unwrap(), b"{}");
}

#[test]
fn runs_at_the_same_time_add_to_one_file() {
    let folder = add_folder("coverage_shared");
    let all = with(&["--isa-coverage", "c.json"]);
    let start = |_| folder.command().args(&all).stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut running: Vec<_> = (0..6).map(start).collect();
    for one in &mut running {
        assert!(one.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(folder.0.join("c.json")).unwrap();
    assert_eq!(objects(&text.replace('\n', " "))[0]["targets"]["gfx906"]["s_endpgm"], 36);
    let mut left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["c.json", "vector_add.co"]);
}

/// Files that cannot be written are rejected before anything runs.
#[test]
fn coverage_is_refused_where_it_cannot_be_written() {
    let folder = add_folder("coverage_refused");
    folder.file("plain", "");
    std::fs::create_dir(folder.0.join("inner")).unwrap();
    for (file, why) in [
        ("none/c.json", if cfg!(unix) { "No such file or directory" } else { "" }),
        ("plain/c.json", if cfg!(unix) { "Not a directory" } else { "" }),
        ("inner", "is a directory"),
    ] {
        let output = expect(&folder, 3, &with(&["--isa-coverage", file, "--out", "c=c.npy"]));
        let text = err(&output);
        assert!(text.starts_with(&format!("error: --isa-coverage {file}: {why}")), "{text}");
        assert!(!text.contains("workgroup"), "a launch was announced: {text}");
        assert!(!folder.0.join("c.npy").exists());
    }
}
