//! Endings of launches and errors of searches as JSON.

#![cfg(feature = "serde")]

use serde_json::{Value, json, to_value};
use wavemill::find::Finder;
use wavemill::launch::RunOptions;
use wavemill::{Arg, Device, Launch, Module, TargetId};
use wavemill_kernels::{Target, fixture};

#[test]
fn an_outcome_says_how_it_ended_and_has_its_report() {
    let object = fixture(Target::Gfx942, "vector_add").unwrap();
    let device = Device::for_object(object).unwrap();
    let module = Module::load(&device, object).unwrap();
    let kernel = module.kernel("vector_add").unwrap();
    let buffer = device.buffer("x", 4 * 64).unwrap();
    let run = |launch: Launch<'_>, most: Option<u64>| -> Value {
        let options = RunOptions { max_instructions: most, ..RunOptions::default() };
        to_value(launch.workgroup_size([64, 1, 1]).options(options).outcome().unwrap()).unwrap()
    };
    let all = || [Arg::from(&buffer), Arg::from(&buffer), Arg::from(&buffer), Arg::from(64u32)];
    let finished = run(Launch::new(&kernel).args(all()), None);
    assert_eq!(finished["outcome"], "finished");
    assert!(finished["report"].is_object(), "{finished}");
    let limited = run(Launch::new(&kernel).args(all()), Some(1));
    assert_eq!(limited["outcome"], "instruction_limit");
    assert_eq!(limited["report"]["kernel"], "vector_add");
    // The last pointer is invalid.
    let nowhere = [Arg::from(&buffer), Arg::from(&buffer), Arg::from(0x10u64), Arg::from(64u32)];
    let fault = run(Launch::new(&kernel).args(nowhere), None);
    assert_eq!((&fault["outcome"], &fault["report"]["unsupported"]), (&json!("fault"), &json!(false)));
    assert_eq!(fault["report"]["lanes"][0]["address"], "0x10");
}

#[test]
fn a_failed_search_says_what_is_wrong() {
    let object = fixture(Target::Gfx942, "vector_add").unwrap();
    let search = |finder: Finder<'_>| to_value(finder.find().unwrap_err()).unwrap();
    let unknown = search(Finder::new(object).kernel("vector_ad"));
    assert_eq!(unknown["error"], "unknown_kernel");
    assert_eq!(unknown["what"], "there is no kernel `vector_ad`");
    assert_eq!((&unknown["name"], &unknown["near"]), (&json!("vector_ad"), &json!(["vector_add"])));
    let other = search(Finder::new(object).target(TargetId::parse("gfx906").unwrap()));
    let fields = (&other["error"], &other["code"], &other["target"]);
    assert_eq!(fields, (&json!("other_target"), &json!("gfx942"), &json!("gfx906")));
    assert_eq!(search(Finder::new(b"no code"))["error"], "object");
}
