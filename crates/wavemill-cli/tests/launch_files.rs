//! Launch files with several launches, from the file to the results.

use crate::common::{Folder, err, expect, out, repository};

const TARGETS: [&str; 4] = ["gfx906", "gfx90a", "gfx942", "gfx950"];

/// A folder with `vector_add.co` and `reduction_two_pass.co` for gfx942.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for object in ["vector_add", "reduction_two_pass"] {
        folder.object("gfx942", object);
    }
    folder
}

/// The start of every launch of `vector_add` in these files.
const ADD: &str = "object = 'vector_add.co'\ngrid = 1\nblock = 64\n";

#[test]
fn the_example_runs_on_every_target() {
    let folder = Folder::new("prefix_sum");
    let text = std::fs::read_to_string(repository().join("examples/prefix_sum.toml")).unwrap();
    let kernels = repository().join("kernels").canonicalize().unwrap();
    folder.file("prefix_sum.toml", text.replace("../kernels", kernels.to_str().unwrap()));
    for target in TARGETS {
        let output = expect(&folder, 0, &["run", "prefix_sum.toml", "--target", target]);
        assert_eq!(
            err(&output),
            "launch 1 (`scan_groups`): 977x1x1 workgroups x 256 = 250,112 work-items\n\
             launch 2 (`scan_groups`): 1x1x1 workgroups x 256 = 256 work-items\n\
             launch 3 (`scan_add`): 977x1x1 workgroups x 256 = 250,112 work-items\n"
        );
        let wanted = "y[1023]: 1 element as expected\ntotals[:2]: 2 elements as expected\nsums[:2]: 2 elements as expected\n\
                      total: 1 element as expected\ny[:4] = [1, 4, 9, 16]\ny[-1] = 3567587328\n\
                      y[999]: 1 element as expected\ny[65534]: 1 element as expected\ny[-1]: 1 element as expected\n";
        assert_eq!(out(&output), wanted);
    }
    // The command line changes what is above the launches, and what comes at the end.
    let line = ["run", "prefix_sum.toml", "x:u32[1000000]=ones", "--print", "y[-1]"];
    let output = expect(&folder, 1, &line);
    assert!(out(&output).ends_with("y[-1] = 1000000\ny[-1] = 1000000\n"), "{}", out(&output));
    let message = err(&output);
    let failed = "error: launch 1 (`scan_groups`): y[1023]: 1 of 1 element is wrong\n  \
                  y[1023]: expected 1048576, found 1024\nlaunch 1 (`scan_groups`): totals[:2]: 2 of 2 elements are wrong\n";
    assert!(message.contains(failed), "{message}");
    // Every failed expectation is reported; the ones at the end name no launch.
    assert!(message.contains("\nlaunch 2 (`scan_groups`): total: 1 of 1 element is wrong\n"), "{message}");
    assert!(
        message.contains("\ny[999]: 1 of 1 element is wrong\n  y[999]: expected 1000000, found 1000\n"),
        "{message}"
    );
}

#[test]
fn launches_of_several_code_objects_share_buffers() {
    let folder = folder("shared");
    folder.file(
        "k.toml",
        "args = ['x:f32[2,256]=ones']\n\
         print = ['norm']\n\
         [[launch]]\n\
         object = 'vector_add.co'\n\
         grid = 8\n\
         block = 64\n\
         args = ['a=&x', 'b=&x', 'c=&x', 'n=512']\n\
         [[launch]]\n\
         object = 'reduction_two_pass.co'\n\
         kernel = 'norm_first_pass'\n\
         grid = [2, 2]\n\
         args = ['partial[2,2]', 'columns=256']\n\
         expect = ['partial=512']\n\
         [[launch]]\n\
         object = 'reduction_two_pass.co'\n\
         kernel = 'norm_second_pass'\n\
         grid = 2\n\
         args = ['norm[2]', 'chunks=2']\n\
         expect = ['norm=32']\n",
    );
    let output = expect(&folder, 0, &["run", "k.toml", "--stats"]);
    assert_eq!(
        out(&output),
        "partial: 4 elements as expected\nnorm: 2 elements as expected\nnorm = [32.0, 32.0]\n"
    );
    let message = err(&output);
    assert_eq!(message.matches("instructions  ").count(), 3, "{message}");
    let order =
        ["launch 1 (`vector_add`)", "time ", "launch 2 (`norm_first_pass`)", "time ", "launch 3 ", "time "];
    let mut rest = message.as_str();
    for part in order {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part} in order in\n{message}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn a_launch_is_repeated_on_the_same_buffers() {
    let folder = folder("repeated");
    // b is added five times, and then once more.
    folder.file(
        "k.toml",
        format!(
            "{ADD}args = ['b[64]=iota', 'n=64', 'sum:f32[64]']\n\
             [[launch]]\nrepeat = 5\nargs = ['a=&sum', 'c=&sum']\nexpect = ['sum=iota(0,5)']\n\
             [[launch]]\nargs = ['a=&sum', 'c=&sum']\nexpect = ['sum=iota(0,6)']\n"
        ),
    );
    let output = expect(&folder, 0, &["run", "k.toml", "--stats"]);
    let message = err(&output);
    assert!(message.contains("= 64 work-items, 5 times\n"), "{message}");
    assert!(message.contains(" ms, the last of 5; median "), "{message}");
    // The command line adds an argument that no launch has, and changes one that a launch has;
    // borrowed buffers stay borrowed.
    let text = std::fs::read_to_string(folder.0.join("k.toml")).unwrap();
    let less = text.replace("'n=64', ", "").replace("'b[64]=iota', ", "");
    folder.file("l.toml", less.replace("repeat = 5\nargs = [", "args = ['b[64]=iota', "));
    let message = err(&expect(&folder, 2, &["run", "l.toml"]));
    assert!(
        message.contains("launch 1 (`vector_add`): `vector_add` has 4 parameters; missing: `n`\n"),
        "{message}"
    );
    for (more, wanted) in [(&["n=0"][..], "sum[3] = 0.0\n"), (&["n=64", "b[64]=ones"], "sum[3] = 2.0\n")] {
        let output = expect(&folder, 1, &[&["run", "l.toml", "--print", "sum[3]"], more].concat());
        assert!(out(&output).ends_with(wanted), "{}{}", out(&output), err(&output));
    }
    // The same from the command line.
    let line =
        ["run", "vector_add.co", "--grid", "1", "--block", "64", "--repeat", "5", "--expect", "a=iota(0,5)"];
    expect(&folder, 0, &[&line[..], &["a[64]", "b[64]=iota", "c=&a", "n=64"]].concat());
}

#[test]
fn a_fault_says_in_which_launch_and_what_failed_before() {
    let folder = folder("fault_in_a_launch");
    folder.file(
        "k.toml",
        format!(
            "{ADD}args = ['a[64]=iota', 'b[64]=ones', 'c[64]']\n\
             [[launch]]\nargs = ['n=64']\nexpect = ['c=zeros']\nprint = ['c[0]']\n\
             [[launch]]\ngrid = 2\nargs = ['n=128']\n\
             [[launch]]\nargs = ['n=64']\n"
        ),
    );
    let output = expect(&folder, 4, &["run", "k.toml"]);
    assert_eq!(out(&output), "c[0] = 1.0\n");
    let message = err(&output);
    assert!(message.contains("\nerror: launch 2 (`vector_add`): illegal load of 4 bytes at "), "{message}");
    assert!(
        message.contains("\n\nbefore that:\nlaunch 1 (`vector_add`): c: 64 of 64 elements are wrong\n"),
        "{message}"
    );
    assert!(!message.contains("launch 3"), "{message}");
}

#[test]
fn one_of_the_launches_is_traced() {
    let folder = folder("trace_of_launches");
    folder.file(
        "k.toml",
        format!(
            "{ADD}args = ['a[256]=iota', 'b[256]=ones', 'c[256]', 'n=256']\n[[launch]]\n[[launch]]\ngrid = 3\n"
        ),
    );
    let output = expect(&folder, 0, &["run", "k.toml", "--trace", "--trace-workgroup", "2"]);
    let message = err(&output);
    let (first, second) = message.split_once("launch 2 (").unwrap();
    assert_eq!(first.lines().count(), 1, "{first}");
    assert!(second.lines().skip(1).all(|line| line.starts_with("(2,0,0) wave 0  vector_add+")), "{second}");
    assert!(second.lines().count() > 10, "{second}");
    let file =
        ["run", "k.toml", "--trace", "--trace-workgroup", "0", "--trace-file", "t.txt", "--repeat", "2"];
    let message = err(&expect(&folder, 2, &file));
    assert!(message.contains("--repeat"), "{message}");
    expect(&folder, 0, &file[..7]);
    let text = std::fs::read_to_string(folder.0.join("t.txt")).unwrap();
    let names: Vec<&str> = text.lines().filter(|line| !line.starts_with('(')).collect();
    assert_eq!(names, ["launch 1 (`vector_add`)", "launch 2 (`vector_add`)"]);
    let message = err(&expect(&folder, 2, &["run", "k.toml", "--trace", "--trace-workgroup", "3"]));
    assert!(message.contains("there is no workgroup (3, 0, 0)"), "{message}");
}

/// Errors in any launch are reported before the first one runs.
#[test]
fn wrong_launch_files() {
    let folder = folder("wrong_launch_files");
    folder.object("gfx906", "xorshift");
    let good = "[[launch]]\nargs = ['a[64]', 'b[64]', 'c[64]', 'n=64']\n";
    let after = |text: &str| format!("{ADD}{good}{text}");
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("no_launches", format!("{ADD}launch = []\n"), vec![]),
        ("unknown_key", after("[[launch]]\nthreads = 2\n"), vec![]),
        ("no_object", format!("grid = 1\n{good}"), vec![]),
        ("missing_object", after("[[launch]]\nobject = 'none.co'\n"), vec![]),
        ("repeat_above", format!("repeat = 2\n{ADD}{good}"), vec![]),
        ("repeat_of_zero", after("[[launch]]\nrepeat = 0\n"), vec![]),
        ("bad_argument", after("[[launch]]\nargs = ['a:f33[4]']\n"), vec![]),
        ("bad_size", after("[[launch]]\ngrid = 0\n"), vec![]),
        ("unknown_kernel", after("[[launch]]\nkernel = 'vector_ad'\n"), vec![]),
        ("which_kernel", after("[[launch]]\nobject = 'reduction_two_pass.co'\n"), vec![]),
        ("other_target", after("[[launch]]\nobject = 'xorshift.co'\n"), vec![]),
        (
            "missing_argument",
            after("[[launch]]\nobject = 'reduction_two_pass.co'\nkernel = 'norm_first_pass'\n"),
            vec![],
        ),
        (
            "no_grid",
            "object = 'vector_add.co'\nblock = 64\n[[launch]]\nargs = ['a[64]', 'b[64]', 'c[64]', 'n=64']\n"
                .to_owned(),
            vec![],
        ),
        (
            "no_block",
            "object = 'vector_add.co'\ngrid = 64\n[[launch]]\nargs = ['a[64]', 'b[64]', 'c[64]', 'n=64']\n"
                .to_owned(),
            vec![],
        ),
        ("unknown_parameter", after("[[launch]]\nargs = ['d[64]']\n"), vec![]),
        ("no_such_buffer", after("[[launch]]\nargs = ['a=&d', 'n=1']\n"), vec![]),
        ("buffer_again", after("[[launch]]\nargs = ['a[64]=ones', 'n=1']\n"), vec![]),
        (
            "buffer_of_a_later_launch",
            format!("{ADD}[[launch]]\nargs = ['a=&c', 'b=&c', 'n=1']\n{good}"),
            vec![],
        ),
        (
            "print_of_a_later_buffer",
            format!(
                "{ADD}args = ['spare:f32[4]']\n[[launch]]\nargs = ['a[64]', 'b=&a', 'c=&a', 'n=1']\nprint = ['spare']\n[[launch]]\nargs = ['a=&spare', 'b=&a', 'c=&spare', 'n=1']\n"
            ),
            vec![],
        ),
        ("bad_expectation", after("[[launch]]\nargs = ['n=1']\nexpect = ['c=[1,2]']\n"), vec![]),
        ("nobody_takes_it", format!("{ADD}args = ['nn=1']\n{good}"), vec![]),
        ("too_much_lds", after("[[launch]]\nargs = ['n=1']\ndynamic-lds = 70000\n"), vec![]),
        (
            "too_many_for_a_cooperative_launch",
            after("[[launch]]\nargs = ['n=1']\ngrid = 100000\ncooperative = true\n"),
            vec![],
        ),
        ("time_of_nothing", format!("timeout = 0\n{ADD}{good}"), vec![]),
        ("target_that_is_none", format!("target = 'mi2100'\n{ADD}{good}"), vec![]),
        ("grid_on_the_command_line", after("[[launch]]\nargs = ['n=1']\n"), vec!["--grid", "2"]),
        ("init_of_several", format!("{ADD}{good}"), vec!["--init"]),
        ("argument_of_two_launches", after("[[launch]]\nargs = ['n=1']\n"), vec!["n=2"]),
        ("argument_without_a_name", format!("{ADD}{good}"), vec!["5"]),
    ];
    let mut all = String::new();
    for (name, text, args) in cases {
        folder.file("k.toml", &text);
        let output = folder.run(&[&["run", "k.toml"][..], &args].concat());
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{name}: {output:?}");
        // Nothing has run.
        assert_eq!(out(&output), "", "{name}");
        assert!(!err(&output).contains("work-items\n"), "{name}: {}", err(&output));
        let more: Vec<&str> =
            text.lines().filter(|line| !ADD.contains(line) && !good.contains(line)).collect();
        all += &format!(
            "# {name}\n{}\n$ {}\n",
            more.join("\n"),
            [&["wavemill run k.toml"], &args[..]].concat().join(" ")
        );
        all += &format!("{}[exit code {}]\n\n", err(&output), code.unwrap_or(-1));
    }
    insta::assert_snapshot!("wrong_launch_files", all);
}

#[test]
fn files_are_checked_without_running_them() {
    let check = |text: &str| {
        let path = repository().join("examples/checked.toml");
        wavemill_cli::check_launch_file(text.as_bytes(), &path).map_err(|failure| failure.message)
    };
    for example in ["mandelbrot", "prefix_sum", "vector_add"] {
        let text = std::fs::read_to_string(repository().join(format!("examples/{example}.toml"))).unwrap();
        assert_eq!(check(&text), Ok(()), "{example}");
    }
    let add = |args: &str, rest: &str| {
        let object = repository().join("kernels/bin/gfx942/vector_add.co");
        check(&format!("object = '{}'\ngrid = 1\nblock = 64\nargs = {args}\n{rest}", object.display()))
    };
    // No host has this memory, and none is allocated: neither for contents, nor for printing and
    // comparing.
    let large = "['a:f32[1000000000000]=iota', 'b:f32[4000000000]=random(7)', 'c[1000000,1000000]', 'n=7']";
    assert_eq!(add(large, "print = ['a', 'c[:,7]']\nexpect = ['c=ones', 'b[::3]=0.5']"), Ok(()));
    for (args, rest, wanted) in [
        ("['a:f32[5000000000000000000]', 'b[4]', 'c[4]', 'n=7']", "", "do not fit into memory"),
        ("['a:f32[4294967296,4294967296]', 'b[4]', 'c[4]', 'n=7']", "", "do not fit into memory"),
        ("['a[4]', 'b[4]', 'c[4]', 'n=--170141183460469231731687303715884105728']", "", "out of range"),
        ("['a[4]', 'b[4]', 'c[4]', 'n=7']", "print = ['d']", "there is no buffer `d`"),
        ("['a[4]', 'b[4]', 'c[4]', 'n=7']", "dynamic-lds = 70000", "of LDS"),
    ] {
        let message = add(args, rest).unwrap_err();
        assert!(message.contains(wanted), "{args} {rest}: {message}");
    }
}

#[test]
fn launch_files_are_not_endless() {
    let folder = folder("large_launch_file");
    folder.file("large.toml", "#".repeat((16 << 20) + 1));
    let message = err(&expect(&folder, 3, &["run", "large.toml"]));
    let wanted = "error: `large.toml` has 16777217 bytes: a launch file has 16777216 at most\n";
    assert!(message.starts_with(wanted), "{message}");
}
