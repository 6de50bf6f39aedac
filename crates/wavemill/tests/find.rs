//! Finding kernels in files.

use wavemill::device::{TargetChoice, targets_for};
use wavemill::find::{FindError, Finder};
use wavemill::{Device, Error, Module, TargetId};
use wavemill_kernels::{Target, fixture};

#[test]
fn a_kernel_is_found_by_its_name_or_as_the_only_one() {
    let file = fixture(Target::Gfx942, "vector_add").unwrap();
    let found = Finder::new(file).find().unwrap();
    assert_eq!((found.kernel.as_str(), found.bundle), ("vector_add", 0));
    let device = Device::new(&found.target).unwrap();
    let module = Module::load(&device, &found.object).unwrap();
    assert_eq!(module.kernel(&found.kernel).unwrap().name(), "vector_add");
    // A product stands for its target.
    let choice = TargetChoice::parse("mi300x").unwrap();
    let found = Finder::new(file).kernel("vector_add").target(&choice).find().unwrap();
    assert_eq!(&found.target, choice.target());
}

#[test]
fn what_is_wrong_is_data() {
    let file = fixture(Target::Gfx942, "reduction_two_pass").unwrap();
    let names = ["norm_first_pass", "norm_second_pass"];
    let Err(FindError::SeveralKernels { mut kernels }) = Finder::new(file).find() else { panic!("several") };
    kernels.retain(|name| names.contains(&name.as_str()));
    assert_eq!(kernels.len(), names.len());
    let unknown = Finder::new(file).kernel("norm_first_pas").find();
    let Err(FindError::UnknownKernel { name, near, kernels }) = unknown else { panic!("{unknown:?}") };
    assert_eq!((name.as_str(), near[0].as_str()), ("norm_first_pas", "norm_first_pass"));
    assert!(kernels.iter().any(|kernel| kernel == "norm_second_pass"));
    let other = TargetId::parse("gfx906").unwrap();
    let Err(FindError::OtherTarget { code, target }) = Finder::new(file).target(&other).find() else {
        panic!("it is for gfx942")
    };
    assert_eq!((code.to_string().as_str(), &target), ("gfx942", &other));
    let fitting = targets_for(&code);
    assert!(fitting.iter().any(|(target, products)| {
        target.to_string() == "gfx942" && products.iter().any(|product| product.name == "mi300x")
    }));
    assert!(fitting.iter().all(|(target, _)| target.to_string() != "gfx906"));
    let error = Error::from(Finder::new(b"no code").find().unwrap_err());
    assert!(matches!(error, Error::Object(_)), "{error}");
}
