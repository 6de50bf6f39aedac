//! LLVM's programs: every word has a meaning, the stack that LLVM counts suffices, and groups are
//! few operations.

use std::collections::{BTreeMap, BTreeSet};

use wavemill_ir::{Terminator, verify};
use wavemill_isa::cayman::{Content, decode_program};
use wavemill_lift::Lift;
use wavemill_lift::cayman::{Cayman, Position};

use super::machine::{CODE, MODE};

/// What `llc-22 -mtriple=r600-- -mcpu=cayman -show-mc-encoding` writes for some programs.
const LLC: &str = include_str!("../../../wavemill-isa/tests/data/cayman/llc.s");

/// The machine code and the size of the stack of each kernel. Pixel shaders are left out, and so is
/// a kernel with a fetch of Evergreen, in which LLVM sets LDS_REQ.
fn kernels() -> Vec<(Vec<u8>, u16)> {
    let mut kernels = Vec::new();
    let mut is_kernel = false;
    for line in LLC.lines() {
        if line.contains("; @") {
            is_kernel = line.contains("; @k");
            if is_kernel {
                kernels.push((Vec::new(), 0));
            }
        }
        if line.contains("VTX_READ_eg") {
            kernels.pop();
            is_kernel = false;
        }
        let Some((code, stack)) = kernels.last_mut().filter(|_| is_kernel) else { continue };
        if let Some((_, size)) = line.split_once("STACK_SIZE = ") {
            *stack = size.trim().parse().expect("a number");
        } else if let Some((_, bytes)) = line.split_once("; encoding: [") {
            let bytes = bytes.trim_end_matches(']').split(',');
            code.extend(bytes.map(|byte| u8::from_str_radix(&byte[2..], 16).expect("a byte")));
        }
    }
    kernels
}

#[test]
fn kernels_of_llvm_lift() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 7);
    let (mut operations, mut slots) = (0, 0);
    for (code, stack) in kernels {
        let family = Cayman { program: CODE, gprs: 124, temporaries: 4, kills: true, stack };
        let mut fetch = |at: u64, into: &mut [u8; 16]| {
            let rest =
                at.checked_sub(CODE).and_then(|offset| code.get(offset as usize..)).unwrap_or_default();
            let count = rest.len().min(16);
            into[..count].copy_from_slice(&rest[..count]);
            count
        };
        let mut open = vec![CODE];
        let mut seen = BTreeSet::new();
        let mut of_group: BTreeMap<u64, usize> = BTreeMap::new();
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let block = family.block(at, MODE, &mut fetch);
            if let Err(error) = verify(&block) {
                panic!("{error}\n{}", block.text(family.names()));
            }
            for (number, position) in block.guest.iter().enumerate() {
                let count = block.insts.iter().filter(|inst| inst.guest as usize == number).count();
                of_group.insert(Position::instruction(*position), count);
            }
            match block.terminator {
                Terminator::Jump(to) | Terminator::Barrier(to) => open.push(to),
                Terminator::Branch { taken, next, .. } => open.extend([taken, next]),
                // A loop is left; the LOOP_END is also reached in order.
                Terminator::Indirect(_) | Terminator::End => {}
                other => panic!("{other:?}\n{}", block.text(family.names())),
            }
        }
        for item in decode_program(&code, 0).items {
            if let Content::Group(group) = item.content {
                slots += group.slots.iter().flatten().count();
            }
        }
        let groups = of_group.iter().filter(|(position, _)| {
            let position = Position::from_number(**position);
            let address = (position.control - CODE) as usize;
            // An ALU clause's word has bit 29 of its upper dword set.
            position.word.is_some() && code[address + 7] & 0x20 != 0
        });
        operations += groups.map(|(_, count)| *count).sum::<usize>();
    }
    assert!(slots > 150, "{slots}");
    assert!(10 * operations <= 12 * slots, "{operations} operations for {slots} slots");
    println!("{operations} operations for {slots} slots");
}
