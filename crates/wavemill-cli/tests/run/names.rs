//! Kernels by the names that users give them, wherever a name is accepted.

use crate::common::{Folder, err, expect, out, said};

/// Symbols as clang 22 mangles them.
const SYMBOLS: [&str; 6] = [
    "_Z4addkIfEvPT_PKS0_i",      // void addk<float>(float*, float const*, int)
    "_Z4addkIdEvPT_PKS0_i",      // void addk<double>(double*, double const*, int)
    "_ZN2my10shared_sumEPKfPfj", // my::shared_sum(float const*, float*, unsigned int)
    "_Z4fillPfi",                // fill(float*, int)
    "_Z4fillPjj",                // fill(unsigned int*, unsigned int)
    "plain",
];

/// A folder with a code object of kernels that do nothing.
fn folder(name: &str) -> Folder {
    let kernel = |symbol: &str| {
        format!(
            ".text\n.globl {symbol}\n.p2align 8\n.type {symbol},@function\n{symbol}:\n  s_endpgm\n\
             .size {symbol}, .-{symbol}\n.section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel {symbol}\n\
             .amdhsa_next_free_vgpr 1\n.amdhsa_next_free_sgpr 1\n.amdhsa_accum_offset 4\n.end_amdhsa_kernel\n"
        )
    };
    let folder = Folder::new(name);
    let source = SYMBOLS.map(kernel).concat();
    folder.file("k.s", format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n{source}"));
    expect(&folder, 0, &["asm", "k.s", "-o", "k.co"]);
    folder
}

const LAUNCH: [&str; 4] = ["--grid", "1", "--block", "1"];

#[test]
fn every_command_takes_names_as_people_write_them() {
    let folder = folder("kernel_names");
    for (name, symbol) in [
        ("addk<float>", SYMBOLS[0]),
        ("void addk<double>(double *, const double *, int)", SYMBOLS[1]),
        ("shared_sum", SYMBOLS[2]),
        ("shared_sum(const float*, float*, unsigned)", SYMBOLS[2]),
        ("fill(uint *p, const uint n)", SYMBOLS[4]),
        ("_Z4fillPfi.kd", SYMBOLS[3]),
        ("plain", SYMBOLS[5]),
    ] {
        let ran = err(&expect(
            &folder,
            0,
            &[&["run", "k.co", "--kernel", name, "--message-format=json"], &LAUNCH[..]].concat(),
        ));
        assert!(ran.contains(&format!("\"kernel\":\"{symbol}\"")), "{name}: {ran}");
        folder.file("k.toml", format!("object = 'k.co'\nkernel = '{name}'\ngrid = 1\nblock = 1\n"));
        expect(&folder, 0, &["run", "k.toml"]);
        let others = SYMBOLS.iter().filter(|other| **other != symbol);
        for format in ["asm", "listing"] {
            let text = out(&expect(&folder, 0, &["dis", "k.co", "--kernel", name, "--format", format]));
            assert!(text.contains(&format!("{symbol}:")), "{name}: {text}");
            assert!(others.clone().all(|other| !text.contains(&format!("\n{other}:"))), "{name}: {text}");
        }
        let text = out(&expect(&folder, 0, &["info", "k.co", "--kernel", name]));
        assert!(text.contains(symbol), "{name}: {text}");
        let traced =
            [&["run", "k.co", "--kernel", symbol, "--trace", "--trace-pc", name], &LAUNCH[..]].concat();
        assert!(err(&expect(&folder, 0, &traced)).contains("s_endpgm"), "{name}");
    }
}

#[test]
fn an_empty_name_means_no_kernel() {
    let folder = folder("empty_name");
    for line in [
        &["run", "k.co", "--kernel", "", "--grid", "1", "--block", "1"][..],
        &["info", "k.co", "--kernel", ""],
        &["info", "k.co", "--kernel", " "],
    ] {
        let message = said(&folder, 2, line);
        for symbol in SYMBOLS {
            assert!(message.contains(symbol), "{line:?}: {message}");
        }
    }
}

#[test]
fn names_of_none_or_several_are_refused() {
    let folder = folder("wrong_names");
    let run = |name: &str| said(&folder, 2, &[&["run", "k.co", "--kernel", name], &LAUNCH[..]].concat());
    let several = "`fill` matches 2 ";
    let list = "\n  _Z4fillPfi  fill(float*, int)\n  _Z4fillPjj  fill(unsigned int*, unsigned int)\n";
    for message in [
        run("fill"),
        said(&folder, 2, &["dis", "k.co", "--kernel", "fill"]),
        said(
            &folder,
            2,
            &[&["run", "k.co", "--kernel", "plain", "--trace", "--trace-pc", "fill"], &LAUNCH[..]].concat(),
        ),
    ] {
        assert!(message.contains(several) && message.ends_with(list), "{message}");
    }
    for (name, hint) in [
        ("shared_sun", "; did you mean `my::shared_sum`?"),
        ("adk<float>", "; did you mean `addk<float>` or `addk<double>`?"),
        ("fill(double*, int)", "; did you mean `fill`?"),
        ("Plane", "; did you mean `plain`?"),
    ] {
        for message in [
            run(name),
            said(&folder, 2, &["dis", "k.co", "--kernel", name]),
            said(&folder, 2, &["info", "k.co", "--kernel", name]),
        ] {
            assert!(message.lines().next().is_some_and(|line| line.ends_with(hint)), "{name}: {message}");
        }
    }
}
