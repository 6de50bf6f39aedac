//! The path through a clause: which of its words are an instruction.

use wavemill_isa::cayman::{FieldId as F, Group, Inst, Op, decode_fetch, decode_group};

use super::Position;
use super::lifter::{ILLEGAL, Lifter, Refused, Then, UNSUPPORTED};
use super::queue::Queues;

/// Bytes of the longest group: four slots and two pairs of literals.
const GROUP: usize = 48;

impl Lifter<'_, '_> {
    /// The instruction at a word of the clause that a control flow word calls.
    pub(super) fn in_clause(&mut self, control: &Inst, at: Position, word: u8) -> Result<Then, Refused> {
        // The field holds one less.
        let words = control.get(F::Count) as usize + 1;
        let start = self.program.wrapping_add(8 * u64::from(control.get(F::Addr)));
        let taken = match control.op() {
            Op::Alu => {
                let queues = match self.queues {
                    Some(queues) => queues,
                    None => self.queues_at(start, word)?,
                };
                let (group, address) = self.group(start, word.into())?;
                if usize::from(word) + group.size / 8 > words {
                    // The clause ends inside the group.
                    return Err(ILLEGAL);
                }
                self.cover(address, group.size);
                let behind = queues.behind(&group)?;
                self.alu_group(control, &group, queues)?;
                self.queues = Some(behind);
                group.size / 8
            }
            Op::Tex => {
                if usize::from(word) >= words {
                    return Err(ILLEGAL);
                }
                let address = start.wrapping_add(16 * u64::from(word));
                let mut bytes = [0; 16];
                let count = self.read(address, &mut bytes);
                let inst = decode_fetch(&bytes[..count])?;
                self.cover(address, inst.size());
                match inst.op() {
                    Op::VtxRead => self.vertex_fetch(&inst)?,
                    _ => return Err(UNSUPPORTED),
                }
                1
            }
            _ if control.row().clause().is_some() => return Err(UNSUPPORTED),
            _ => return Err(ILLEGAL),
        };
        let behind = usize::from(word) + taken;
        Ok(Then::Next(if behind < words { at.in_clause(behind as u8) } else { at.next_control() }))
    }

    /// The group at a word of a clause, and its address.
    fn group(&mut self, start: u64, word: u64) -> Result<(Group, u64), Refused> {
        let address = start.wrapping_add(8 * word);
        let mut bytes = [0; GROUP];
        let count = self.read(address, &mut bytes);
        Ok((decode_group(&bytes[..count])?, address))
    }

    /// The queues at a word of a clause, where a block begins.
    fn queues_at(&mut self, start: u64, word: u8) -> Result<Queues, Refused> {
        let mut queues = Queues::default();
        let mut at = 0;
        while at < u64::from(word) {
            let (group, _) = self.group(start, at)?;
            queues = queues.behind(&group)?;
            at += group.size as u64 / 8;
        }
        // No group begins there.
        if at == u64::from(word) { Ok(queues) } else { Err(ILLEGAL) }
    }
}
