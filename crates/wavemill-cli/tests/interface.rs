//! Features of all commands: colours, the log, JSON messages, targets, completions, man pages; and
//! how runs are stopped.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, ends, err, out, repository};
use serde_json::{Value, json};

/// The command in a folder, without variables of the environment.
fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavemill"));
    command.args(args).current_dir(&folder.0);
    for variable in ["WAVEMILL_LOG", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    command
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for object in ["vector_add", "mandelbrot", "litmus"] {
        folder.object("gfx942", object);
    }
    folder
}

const ADD: [&str; 10] =
    ["run", "vector_add.co", "--grid", "1", "--block", "64", "a[64]=iota", "b[64]", "c[64]", "n=64"];

/// An orbit that never leaves: the kernel counts for hours.
const ENDLESS: [&str; 13] = [
    "run",
    "mandelbrot.co",
    "--grid",
    "30",
    "--block",
    "64",
    "steps:u32[1920]",
    "width=1920",
    "height=1",
    "left=0",
    "top=0",
    "step=0",
    "limit=0xffffffff",
];

/// The messages of a run with `--message-format json`.
fn messages(text: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let all: Vec<Value> = text.lines().map(read).collect();
    assert!(
        all.iter().all(|message: &Value| message["schema"] == 1 && message["kind"].is_string()),
        "{text}"
    );
    all
}

#[test]
fn colours_are_as_asked_for() {
    let folder = folder("colours");
    let red = "\x1b[1m\x1b[31merror:\x1b[0m there is no file";
    for (args, no_color, coloured) in [
        (&[][..], false, false),
        (&["--color", "always"], false, true),
        (&["--color=always"], true, true),
        (&["--color", "auto"], false, false),
        (&["--color", "never"], false, false),
    ] {
        let mut command = command(&folder, &[&["run", "none.co"], args].concat());
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let message = err(&ends(3, &mut command));
        assert_eq!(message.starts_with(red), coloured, "{args:?}: {message:?}");
        assert_eq!(message.contains('\x1b'), coloured, "{args:?}: {message:?}");
    }
    // Names from files never bring their own colours.
    let name = err(&ends(3, &mut command(&folder, &["run", "a\x1b[31mb.co"])));
    assert!(!name.contains('\x1b'), "{name:?}");
    // Errors in the command line, and help, obey too.
    for (args, code) in [(["--color=always", "--nothing"], 2), (["--color=always", "--help"], 0)] {
        let output = ends(code, &mut command(&folder, &args));
        assert!((out(&output) + &err(&output)).contains('\x1b'), "{args:?}");
    }
    let message = err(&ends(2, &mut command(&folder, &["targets", "--color", "pink"])));
    assert!(message.contains("invalid value 'pink' for '--color <WHEN>'"), "{message}");
}

#[test]
fn messages_are_json_when_asked_for() {
    let folder = folder("json");
    let json = |code, args: &[&str]| {
        let output = ends(code, command(&folder, args).args(["--message-format", "json"]));
        (messages(&err(&output)), out(&output))
    };
    let (all, results) = json(0, &[&ADD[..], &["--out", "c=c.npy", "--print", "c[:2]", "--stats"]].concat());
    let kinds: Vec<&str> = all.iter().map(|message| message["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["launch", "stats", "output"]);
    assert_eq!(results, "c[:2] = [0.0, 1.0]\n");
    assert_eq!((&all[0]["kernel"], &all[0]["workgroups"]), (&"vector_add".into(), &vec![1, 1, 1].into()));
    assert_eq!((&all[1]["waves"], &all[1]["work_items"]), (&1.into(), &64.into()));
    assert!(all[1]["instructions"].as_u64().unwrap() > 10);
    assert_eq!(all[2]["message"], "wrote c.npy");
    // Errors of every kind.
    let error = |code: i32, args: &[&str]| {
        let (mut all, _) = json(code, args);
        let last = all.pop().unwrap();
        assert_eq!((&last["kind"], &last["exit_code"]), (&"error".into(), &code.into()));
        last
    };
    let last = error(1, &[&ADD[..], &["--expect", "c[:3]=[0,0.5,inf]"]].concat());
    let parts = &last["expectations"][0];
    assert_eq!(
        (&parts["buffer"], &parts["slice"], &parts["type"]),
        (&"c".into(), &":3".into(), &"f32".into())
    );
    assert_eq!((&parts["elements"], &parts["wrong"], &parts["launch"]), (&3.into(), &2.into(), &1.into()));
    // 1.0 is 2^23 steps from 0.5.
    let half = json!({ "index": [1], "expected": 0.5, "found": 1.0, "ulps": 1 << 23 });
    assert_eq!(parts["first"][0], half);
    assert_eq!((&parts["first"][1]["expected"], &parts["first"][1]["found"]), (&"inf".into(), &json!(2.0)));
    assert_eq!(parts["largest"], json!({ "difference": 0.5, "index": [1], "ulps": 1 << 23 }));
    let last = error(1, &[&ADD[..], &["--expect", "c=zeros"]].concat());
    assert_eq!(last["expectations"][0]["largest"]["index"], json!([63]));
    assert!(last["message"].as_str().unwrap().starts_with("c: 63 of 64 elements are wrong\n"), "{last}");
    assert_eq!(error(3, &["info", "none.co"])["message"], "there is no file `none.co`");
    let last = error(2, &["run", "vector_add.co", "--grid", "1", "--block", "64"]);
    assert!(last["help"].as_str().unwrap().contains("Parameters of vector_add"), "{last}");
    let last = error(2, &["run"]);
    assert!(last["message"].as_str().unwrap().starts_with("the following required arguments"), "{last}");
    let mut far = ADD;
    (far[8], far[9]) = ("c[60]", "n=64");
    let last = error(4, &far);
    let fault = &last["fault"];
    assert_eq!(fault["what"], last["message"].as_str().unwrap().lines().next().unwrap());
    assert_eq!(
        (&fault["kernel"], &fault["access"], &fault["bytes"]),
        (&"vector_add".into(), &"store".into(), &4.into())
    );
    assert_eq!((&fault["workgroup"], &fault["wave"]), (&vec![0, 0, 0].into(), &0.into()));
    assert!(fault["instruction"].as_str().unwrap().starts_with("global_store_dword"), "{last}");
    // The handbook has all fields, and no field needs an option.
    let page = std::fs::read_to_string(repository().join("docs/json.md")).unwrap();
    for object in [fault, &fault["registers"], &fault["memory"], &fault["lanes"][0], &fault["code"][0]] {
        for key in object.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "{key}");
        }
    }
    assert!(!last["help"].to_string().contains("--registers"), "{last}");
    let lanes: Vec<u64> =
        fault["lanes"].as_array().unwrap().iter().map(|l| l["lane"].as_u64().unwrap()).collect();
    assert_eq!(lanes, [60, 61, 62, 63]);
    let offset = fault["function"]["offset"].as_u64().unwrap();
    assert!(fault["pc"].as_str().unwrap().starts_with("0x") && offset > 0, "{last}");
    let last = error(124, &[&ENDLESS[..], &["--max-instructions", "100000", "--threads", "1"]].concat());
    assert_eq!((&last["waves"][0]["state"], &last["waves"][0]["wave"]), (&"runs".into(), &0.into()));
    // Only results are on the standard output, with several launch files too.
    for name in ["one.toml", "two.toml"] {
        folder.file(name, "object = 'vector_add.co'\ngrid = 1\nblock = 64\nargs = ['a[64]', 'b[64]', 'c[64]', 'n=64']\nprint = ['c[:1]']\n");
    }
    let (all, results) = json(0, &["run", "one.toml", "two.toml"]);
    assert_eq!(results, "c[:1] = [0.0]\nc[:1] = [0.0]\n");
    assert_eq!(all[1]["launch_file"], "two.toml");
    // Help and results are not messages.
    let (all, help) = json(0, &["--help"]);
    assert!(all.is_empty() && help.contains("Usage: wavemill"));
    let message = err(&ends(2, &mut command(&folder, &["targets", "--message-format", "xml"])));
    assert!(message.contains("invalid value 'xml' for '--message-format <FORMAT>'"), "{message}");
}

#[test]
fn reports_of_files_are_json_when_asked_for() {
    let folder = folder("info_json");
    let report = out(&ends(0, &mut command(&folder, &["info", "--json", "vector_add.co"])));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["schema"], &report["kind"]), (&1.into(), &"info".into()));
    let object = &report["bundles"][0]["entries"][0]["object"];
    assert_eq!((&object["target"], &object["kernel_count"]), (&"gfx942".into(), &1.into()));
    let kernel = &object["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["wavefront_size"]), (&"vector_add".into(), &64.into()));
    let argument = |at: usize| {
        let argument = &kernel["arguments"][at];
        (argument["name"].clone(), argument["type_name"].clone(), argument["offset"].clone())
    };
    assert_eq!(argument(0), (json!("a"), json!("float*"), json!(0)));
    assert_eq!(argument(3), (json!("n"), json!("uint"), json!(24)));
    let message =
        err(&ends(2, &mut command(&folder, &["info", "--json", "vector_add.co", "--kernel", "none"])));
    assert!(message.contains("no kernel's name contains `none`"), "{message}");
}

#[test]
fn the_log_tells_what_is_done() {
    let folder = folder("log");
    let lines = [
        "target gfx942, modelled as Instinct MI300X: 304 compute units",
        "loaded 1 kernel (",
        "buffer `a`: 64 elements of f32, 256 bytes at 0x",
        "launch 1 of `vector_add`, round 1",
        " instructions in ",
    ];
    let all_in = |text: &str| lines.iter().all(|line| text.contains(line));
    assert_eq!(err(&ends(0, &mut command(&folder, &ADD))).lines().count(), 1);
    let logged = err(&ends(0, command(&folder, &ADD).env("WAVEMILL_LOG", "info")));
    assert!(all_in(&logged) && !logged.contains("DEBUG"), "{logged}");
    assert!(
        err(&ends(0, command(&folder, &ADD).env("WAVEMILL_LOG", "debug")))
            .contains(" DEBUG] kernel vector_add")
    );
    let with_file = [&ADD[..], &["--log-file", "run.log"]].concat();
    assert_eq!(err(&ends(0, &mut command(&folder, &with_file))).lines().count(), 1);
    let logged = std::fs::read_to_string(folder.0.join("run.log")).unwrap();
    assert!(all_in(&logged), "{logged}");
    ends(0, command(&folder, &with_file).env("WAVEMILL_LOG", "warn"));
    let title = format!("# log of wavemill {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(std::fs::read_to_string(folder.0.join("run.log")).unwrap(), title);
    let json = [&ADD[..], &["--message-format", "json"]].concat();
    let all = messages(&err(&ends(0, command(&folder, &json).env("WAVEMILL_LOG", "info"))));
    assert!(all.iter().any(|message| message["kind"] == "log" && message["level"] == "info"));
    let message = err(&ends(2, command(&folder, &ADD).env("WAVEMILL_LOG", "loud")));
    assert_eq!(
        message,
        "error: WAVEMILL_LOG: there is no level `loud`; expected off, error, warn, info, debug or trace\n"
    );
    let nowhere = [&ADD[..], &["--log-file", "nowhere/run.log"]].concat();
    let message = err(&ends(3, &mut command(&folder, &nowhere)));
    assert!(message.starts_with("error: --log-file: cannot write `nowhere/run.log`: "), "{message}");
}

#[test]
fn products_are_targets() {
    let folder = folder("products");
    let run = |code, target, grid, more: &[&str]| {
        let mut line = ADD;
        line[3] = grid;
        let output = ends(code, &mut command(&folder, &[&line[..], &["--target", target], more].concat()));
        err(&output)
    };
    for target in [
        "gfx942",
        "gfx942:sramecc+:xnack-",
        "amdgcn-amd-amdhsa--gfx942",
        "amdgpu9.42-amd-amdhsa--gfx942:xnack-",
        "mi300a",
        "MI300X",
        "instinct mi325x",
        "mi300x:xnack+",
    ] {
        run(0, target, "1", &[]);
    }
    // The number of resident workgroups depends on the product.
    let holds = |target| {
        let message = run(2, target, "100000", &["--cooperative"]);
        let held = message.split_once("gfx942 holds ").map_or("", |(_, rest)| rest);
        held.split(' ').next().unwrap_or_default().parse::<u64>().unwrap_or_else(|_| panic!("{message}"))
    };
    assert_eq!(holds("gfx942"), holds("mi300x"));
    assert_eq!(holds("mi300a") * 304, holds("mi300x") * 228);
    let message = run(3, "mi210", "1", &[]);
    assert!(message.contains("the code object is for gfx942, which does not run on gfx90a"), "{message}");
    assert!(message.contains("It runs on gfx942 (mi300x, mi300a, mi325x)."), "{message}");
    for (wrong, hint) in [
        ("mi3000x", "did you mean `mi300x`?"),
        ("mi300", "did you mean `mi300x` or `mi300a`?"),
        ("MI 300", "did you mean `mi300x` or `mi300a`?"),
        ("mi35", "did you mean `mi355x` or `mi350x`?"),
        ("mi200", "did you mean `mi100`, `mi210` or `mi250`?"),
        ("gfx94", "did you mean `gfx942`?"),
        ("vega", "did you mean `vega64` or `vega56`?"),
    ] {
        let message = run(2, wrong, "1", &[]);
        assert!(message.contains(hint), "{wrong}: {message}");
    }
    assert!(run(2, "gfx942:tea+", "1", &[]).contains("`:tea+` is not a setting of target features"));
    assert!(run(2, "", "1", &[]).contains("expected a target such as gfx942"));
    let listed = out(&ends(0, &mut command(&folder, &["targets"])));
    insta::assert_snapshot!("targets", listed);
    let listed = out(&ends(0, &mut command(&folder, &["targets", "--json"])));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["schema"], &listed["kind"]), (&1.into(), &"targets".into()));
    assert!(listed["assembled_only"].as_array().unwrap().contains(&json!("gfx9-generic")), "{listed}");
    let target =
        listed["targets"].as_array().unwrap().iter().find(|target| target["name"] == "gfx942").unwrap();
    assert_eq!(target["features"], json!(["sramecc", "xnack"]));
    let first =
        json!({ "name": "mi300x", "title": "Instinct MI300X", "compute_units": 304, "lds_bytes": 65_536 });
    assert_eq!(target["products"][0], first);
    // A launch file keeps the product.
    let line = [&ADD[..2], &["--target", "mi300a:xnack-", "--init"]].concat();
    let written = out(&ends(0, &mut command(&folder, &line)));
    assert!(written.contains("target = \"mi300a:xnack-\"\n"), "{written}");
}

#[test]
fn time_is_limited() {
    let folder = folder("timeout");
    let start = Instant::now();
    let line = [&ENDLESS[..], &["--threads", "1", "--timeout", "2"]].concat();
    let message = err(&ends(124, &mut command(&folder, &line)));
    // The kernel would take hours.
    assert!(start.elapsed() < Duration::from_secs(60));
    let wanted = "error: --timeout: 2 s have passed: `mandelbrot` was stopped after ";
    assert!(message.contains(wanted), "{message}");
    let first =
        message.split_once("workgroup (0, 0, 0), wave 0").map(|(_, wave)| wave.lines().take(2).collect());
    let first: Vec<&str> = first.unwrap_or_default();
    let is_named = first.get(1).is_some_and(|line| line.starts_with("        mandelbrot + 0x"));
    assert!(first.first().is_some_and(|state| state.ends_with("runs")) && is_named, "{message}");
    // Runs that end in time end as usual; the time of a launch file counts for all launches.
    ends(0, &mut command(&folder, &[&ADD[..], &["--timeout", "1e6"]].concat()));
    folder.file(
        "k.toml",
        "timeout = 2\nobject = 'mandelbrot.co'\ngrid = 1\nblock = 64\n\
         args = ['steps:u32[64]', 'width=64', 'height=1', 'left=0', 'top=0', 'step=0']\n\
         [[launch]]\nargs = ['limit=1']\n[[launch]]\nrepeat = 2\nargs = ['limit=0xffffffff']\n",
    );
    let message = err(&ends(124, &mut command(&folder, &["run", "k.toml"])));
    let wanted = "error: launch 2 (`mandelbrot`): --timeout: 2 s have passed, in round 1 of 2: ";
    assert!(message.contains(wanted), "{message}");
    // Rounds that end at once are limited too.
    let line = [&ADD[..], &["--repeat", "4000000000", "--timeout", "1"]].concat();
    let message = err(&ends(124, &mut command(&folder, &line)));
    // The time runs out within a round or, most often, between two.
    let wanted = ["error: --timeout: 1 s have passed", " round ", " of 4000000000"];
    assert!(wanted.iter().all(|part| message.contains(part)), "{message}");
    for (text, why) in [
        ("0", "0 seconds is not a valid time"),
        ("-1", "-1 seconds is not a valid time"),
        ("nan", "NaN seconds is not a valid time"),
        ("inf", "inf seconds is not a valid time"),
        ("1e-12", "1e-12 seconds is not a valid time"),
        ("soon", "expected a number of seconds"),
    ] {
        let message =
            err(&ends(2, &mut command(&folder, &[&ADD[..], &[&format!("--timeout={text}")]].concat())));
        assert!(message.contains(why), "{text}: {message}");
    }
    let message = err(&ends(2, &mut command(&folder, &[&ADD[..], &["--repeat", "0"]].concat())));
    assert!(message.contains("expected a 32-bit number, 1 or more"), "{message}");
}

/// Long work before the first launch is limited too.
const FILLING: [&str; 10] = [
    "run",
    "vector_add.co",
    "--grid",
    "1",
    "--block",
    "64",
    "a:f32[200000000]=random(1)",
    "b[64]",
    "c[64]",
    "n=64",
];

#[test]
fn time_is_limited_while_buffers_are_filled() {
    let folder = folder("timeout_filling");
    for (more, why) in [
        (&["--timeout", "0.3"][..], "filled buffer `a`, before the first launch"),
        (&["--timeout", "1e-9"], "loaded `vector_add.co`"),
    ] {
        let message = err(&ends(124, &mut command(&folder, &[&FILLING[..], more].concat())));
        assert!(message.starts_with("error: --timeout: "), "{message}");
        assert!(
            message.ends_with(&format!(" s have passed: the run was stopped while it {why}\n")),
            "{message}"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_backslash_ends_filling() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let folder = folder("quit_filling");
    let mut command = command(&folder, &FILLING);
    command.env("WAVEMILL_LOG", "info").stderr(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("loaded 1 kernel") {
        line.clear();
        assert!(messages.read_line(&mut line).unwrap() > 0, "nothing was loaded");
    }
    let killed = Command::new("sh").args(["-c", &format!("kill -QUIT {}", child.id())]).status().unwrap();
    assert!(killed.success());
    let mut rest = String::new();
    messages.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(124), "{rest}");
    let wanted = "error: Ctrl-\\: the run was stopped while it filled buffer `a`, before the first launch\n";
    assert!(rest.ends_with(wanted), "{rest}");
}

#[cfg(unix)]
#[test]
fn ctrl_backslash_reports_where_the_waves_are() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let folder = folder("quit");
    let mut child = command(&folder, &ENDLESS).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // It handles signals before it prints what it runs.
    messages.read_line(&mut line).unwrap();
    assert!(line.contains("work-items"), "{line}");
    // Every shell has it built in.
    let kill = format!("kill -QUIT {}", child.id());
    let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(killed.success());
    let mut rest = String::new();
    messages.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(124), "{rest}");
    assert!(rest.starts_with("error: Ctrl-\\: `mandelbrot` was stopped after "), "{rest}");
    // All waves do the same; not all may have started.
    let first =
        rest.split_once("workgroup (0, 0, 0), wave 0").map(|(_, wave)| wave.lines().take(2).collect());
    let first: Vec<&str> = first.unwrap_or_default();
    let is_named = first.get(1).is_some_and(|line| line.starts_with("        mandelbrot + 0x"));
    assert!(first.first().is_some_and(|state| state.ends_with("runs")) && is_named, "{rest}");
}

#[test]
fn waves_that_wait_are_told_from_those_that_run() {
    let folder = folder("waiting");
    // The partner of the third workgroup never comes; proving this would take longer.
    let line = [
        "run",
        "litmus.co",
        "--kernel",
        "litmus_message_passing",
        "--grid",
        "3",
        "--threads",
        "1",
        "--max-instructions",
        "2000000",
        "data:u32[4096]",
        "flag:u32[4096]",
        "seen:u32[512]",
        "gate:u32[4]",
        "rounds=1",
        "stride=16",
    ];
    let message = err(&ends(124, &mut command(&folder, &line)));
    let wave = message.split_once("workgroup (2, 0, 0), wave 0: spins in a loop of ");
    let lines: Vec<&str> = wave.map(|(_, wave)| wave.lines().take(2).collect()).unwrap_or_default();
    assert!(
        matches!(lines[..], [state, at] if state.contains("(byte 4 of `gate`)") && at.contains("_load_dword")),
        "{message}"
    );
}

#[test]
fn shells_learn_the_options() {
    let folder = folder("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = out(&ends(0, &mut command(&folder, &["completions", shell])));
        for word in ["message-format", "max-instructions", "completions"] {
            assert!(text.contains(word), "{shell}: no {word}");
        }
        // Also the values of options, if the generator supports them.
        assert_eq!(text.contains("objdump"), ["bash", "zsh", "fish"].contains(&shell), "{shell}");
    }
    let message = err(&ends(2, &mut command(&folder, &["completions", "tcsh"])));
    assert!(message.contains("invalid value 'tcsh' for '<SHELL>'"), "{message}");
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let folder = folder("man");
    let main = out(&ends(0, &mut command(&folder, &["man"])));
    assert!(main.contains(".TH wavemill 1 ") && main.contains("wavemill\\-run(1)"), "{main}");
    let page = out(&ends(0, &mut command(&folder, &["man", "run"])));
    assert!(page.contains(".TH wavemill-run 1 ") && page.contains("\\-\\-max\\-instructions"), "{page}");
    ends(0, &mut command(&folder, &["man", "--out", "share/man1"]));
    let mut names: Vec<String> = std::fs::read_dir(folder.0.join("share/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut wanted = [
        "",
        "-asm",
        "-bench",
        "-completions",
        "-dis",
        "-explain",
        "-info",
        "-isa",
        "-man",
        "-mc",
        "-run",
        "-targets",
    ]
    .map(|name| format!("wavemill{name}.1"));
    wanted.sort();
    assert_eq!(names, wanted);
    assert_eq!(std::fs::read_to_string(folder.0.join("share/man1/wavemill-run.1")).unwrap(), page);
    let message = err(&ends(2, &mut command(&folder, &["man", "rum"])));
    assert!(message.starts_with("error: there is no subcommand `rum`; did you mean `run`?\n"), "{message}");
    folder.file("file", "");
    assert!(err(&ends(3, &mut command(&folder, &["man", "--out", "file"]))).contains("cannot write `file`"));
    // The pages refer to the repository's examples.
    assert!(repository().join("examples/mandelbrot.toml").is_file());
}

/// A target without instructions is an error of the command line, whatever the file is.
#[test]
fn a_target_that_is_not_known_is_wrong_usage() {
    let folder = folder("unknown_targets");
    folder.file("empty.s", "");
    let commands: [&[&str]; 8] = [
        &["asm", "empty.s"],
        &["asm", "--json", "empty.s"],
        &["dis", "vector_add.co"],
        &["dis", "--json", "empty.s"],
        &["run", "vector_add.co"],
        &["explain", "v_add_f32"],
        &["isa", "--out", "reference"],
        &["bench"],
    ];
    for args in commands {
        for target in ["gfx1030", "gfx999", "gfx90a:xnac+"] {
            let output = command(&folder, &[args, &["--target", target]].concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?} {target}: {output:?}");
            assert!(output.stdout.is_empty(), "{args:?} {target}: {output:?}");
        }
    }
}
