//! Arbitrary bytes decode to an instruction or an error, on every target; an instruction prints,
//! and encodes to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavemill_isa::Target;
use wavemill_isa::gcn::decode;

fuzz_target!(|data: &[u8]| {
    for target in Target::GCN {
        let Ok(inst) = decode(target, data) else { continue };
        let (bytes, size) = inst.encode();
        assert_eq!(size, inst.size());
        assert_eq!(bytes[..size], data[..size]);
        assert!(inst.operands().count() <= 8);
        let _ = inst.modifiers();
        let mut text = String::new();
        wavemill_asm::gcn::print(&mut text, &inst).expect("writing to a string cannot fail");
        assert!(text.starts_with(inst.mnemonic()), "{text}");
    }
});
