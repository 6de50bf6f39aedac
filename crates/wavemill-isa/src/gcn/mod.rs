//! GCN as gfx9 implements it: Vega and the CDNA generations.
//!
//! Start with [`decode`]: it turns bytes into an [`Inst`]. [`Inst::operands`] and
//! [`Inst::modifiers`] describe the instance; [`Inst::row`] has every fact about the instruction.
//! [`instructions`] iterates over code, [`Inst::build`] builds an instruction, and [`CodeBuilder`]
//! builds code with branches.

mod builder;
mod code_builder;
mod codes;
mod decode;
mod effects;
mod encoding;
mod facets;
mod fields;
mod image;
mod inst;
mod instructions;
mod matrix;
mod modifiers;
mod names;
mod operand;
mod resolve;
mod row;
mod rules;
pub(crate) mod vocabulary;

pub use builder::{BuildError, InstBuilder, OperandFault};
pub use code_builder::{CodeBuilder, CodeError, Label};
pub use decode::{DecodeError, decode};
pub use effects::{RegisterFile, RegisterSet, Registers};
pub use encoding::{Encoding, Field, FieldId, SRC_DPP, SRC_LITERAL, SRC_SDWA, Space};
pub use image::{ImageAddress, LevelOfDetail};
pub use inst::Inst;
pub use instructions::{Instructions, instructions};
pub use matrix::{
    BlockBroadcast, LanePermutation, Matrix, MatrixExtent, MatrixLayout, MatrixLayoutError, MatrixLocation,
};
pub use modifiers::{Dpp, DstUnused, Export, Modifiers, Sdwa, SdwaSel};
pub use operand::{InlineFloat, Operand, Special};
pub use row::{Facet, Form, Op, OperandSpec, Row};
pub use rules::{BrokenRule, Rule};
pub use vocabulary::{
    Access, Elem, FacetKind, Fidelity, Flag, FlagSet, Format, MatrixShape, MemAccess, MemOp, MemSpace, Role,
    State, StateSet, Takes, Type, matrix_format,
};
