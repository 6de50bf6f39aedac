//! Cayman (HD 6900): its programs have clauses instead of sections, so its commands differ from those
//! of the other targets.

mod asm;
mod describe;
mod dis;
mod stream;

pub(crate) use asm::{Output, asm, object_file, object_of};
pub(crate) use describe::{Described, explain, info};
pub(crate) use dis::dis;
pub(crate) use stream::answer;

use wavemill_isa::Target;
use wavemill_isa::cayman::{
    DecodeError, Group, GroupError, Inst, Stage, decode_control, decode_fetch, decode_gds, decode_group,
};
use wavemill_object::TargetId;
use wavemill_object::r600::{R600Config, R600Stage};

/// Whether a target is Cayman.
pub(crate) fn is_cayman(target: &TargetId) -> bool {
    target.processor.name() == Target::Cayman.name()
}

/// Kinds of clauses, which decide what words mean.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clause {
    /// Control flow words
    #[default]
    Cf,
    /// ALU groups
    Alu,
    /// Texture fetches
    Tex,
    /// Vertex fetches
    Vtx,
    /// Accesses to the global data share
    Gds,
}

/// The first word or group of some bytes.
enum Decoded {
    Word(Inst),
    Group(Group),
}

impl Clause {
    fn decode(self, bytes: &[u8]) -> Result<Decoded, String> {
        let word = |inst: Result<Inst, DecodeError>| match inst {
            Ok(inst) => Ok(Decoded::Word(inst)),
            Err(error) => Err(error.to_string()),
        };
        match self {
            Clause::Cf => word(decode_control(bytes)),
            // Both may stand in one clause.
            Clause::Tex | Clause::Vtx => word(decode_fetch(bytes)),
            Clause::Gds => word(decode_gds(bytes)),
            Clause::Alu => {
                decode_group(bytes).map(Decoded::Group).map_err(|error: GroupError| error.to_string())
            }
        }
    }
}

impl Decoded {
    fn size(&self) -> usize {
        match self {
            Decoded::Word(inst) => inst.size(),
            Decoded::Group(group) => group.size,
        }
    }

    /// The text, in one line.
    fn text(&self) -> String {
        match self {
            Decoded::Word(inst) => wavemill_asm::cayman::print(inst),
            Decoded::Group(group) => wavemill_asm::cayman::print_group(group, " "),
        }
    }
}

/// The stage of a program in an object file.
fn stage_of(config: &R600Config) -> Option<Stage> {
    match config.stage {
        R600Stage::Pixel => Some(Stage::Ps),
        R600Stage::Vertex => Some(Stage::Vs),
        R600Stage::Geometry => Some(Stage::Gs),
        R600Stage::Hull => Some(Stage::Hs),
        R600Stage::Compute => None,
    }
}

/// The stage of a program in an object file.
fn stage_to(stage: Option<Stage>) -> R600Stage {
    match stage {
        Some(Stage::Ps) => R600Stage::Pixel,
        Some(Stage::Vs) => R600Stage::Vertex,
        Some(Stage::Gs) => R600Stage::Geometry,
        Some(Stage::Hs) => R600Stage::Hull,
        None => R600Stage::Compute,
    }
}
