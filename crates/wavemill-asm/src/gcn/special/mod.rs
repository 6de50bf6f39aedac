//! Immediates with their own syntax: wait counters, hardware registers, messages, swizzles, export
//! targets.

mod parse;

use std::fmt::{self, Write};

use wavemill_isa::Target;

use super::line::Line;

pub(super) use parse::{
    number, parse_attribute, parse_buffer_format, parse_export_target, parse_hardware_register,
    parse_index_mode, parse_interpolation_slot, parse_message, parse_swizzle, parse_wait_counts,
};

/// Names for numbers.
type Names = &'static [(u16, &'static str)];

fn find(names: Names, number: u16) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Hardware registers of `s_getreg` and `s_setreg` (Vega ISA 5.8).
const HARDWARE_REGISTERS: Names = &[
    (1, "HW_REG_MODE"),
    (2, "HW_REG_STATUS"),
    (3, "HW_REG_TRAPSTS"),
    (4, "HW_REG_HW_ID"),
    (5, "HW_REG_GPR_ALLOC"),
    (6, "HW_REG_LDS_ALLOC"),
    (7, "HW_REG_IB_STS"),
    (15, "HW_REG_SH_MEM_BASES"),
    (16, "HW_REG_TBA_LO"),
    (17, "HW_REG_TBA_HI"),
    (18, "HW_REG_TMA_LO"),
    (19, "HW_REG_TMA_HI"),
];

/// Additional hardware registers of CDNA 3 (AMDGPUUsage; CDNA3 ISA 3.12).
const HARDWARE_REGISTERS_CDNA3: Names = &[
    (20, "HW_REG_XCC_ID"),
    (21, "HW_REG_SQ_PERF_SNAPSHOT_DATA"),
    (22, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"),
    (23, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"),
    (24, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"),
];

/// Messages of `s_sendmsg` (Vega ISA 12.5.1; AMDGPUUsage for 9 and 10).
const MESSAGES: Names = &[
    (1, "MSG_INTERRUPT"),
    (2, "MSG_GS"),
    (3, "MSG_GS_DONE"),
    (4, "MSG_SAVEWAVE"),
    (5, "MSG_STALL_WAVE_GEN"),
    (6, "MSG_HALT_WAVES"),
    (7, "MSG_ORDERED_PS_DONE"),
    (8, "MSG_EARLY_PRIM_DEALLOC"),
    (9, "MSG_GS_ALLOC_REQ"),
    (10, "MSG_GET_DOORBELL"),
    (15, "MSG_SYSMSG"),
];

/// Operations of the geometry shader messages.
const GS_OPERATIONS: Names = &[(0, "GS_OP_NOP"), (1, "GS_OP_CUT"), (2, "GS_OP_EMIT"), (3, "GS_OP_EMIT_CUT")];

/// Operations of the system message.
const SYSTEM_OPERATIONS: Names =
    &[(1, "SYSMSG_OP_ECC_ERR_INTERRUPT"), (2, "SYSMSG_OP_REG_RD"), (4, "SYSMSG_OP_TTRACE_PC")];

const MESSAGE_GS: u16 = 2;
const MESSAGE_GS_DONE: u16 = 3;
const MESSAGE_SYSTEM: u16 = 15;
const GS_NOP: u16 = 0;

/// Data formats of typed buffer instructions (Vega ISA 13.6.1), by number.
const DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];

/// Number formats of typed buffer instructions (Vega ISA 13.6.1), by number.
const NUMBER_FORMATS: [&str; 8] =
    ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];

/// The format of a typed buffer instruction without a format in its text: data format 8, number
/// format UNORM.
const DEFAULT_FORMAT: (u8, u8) = (1, 0);

/// The bits of `s_set_gpr_idx_mode` and `s_set_gpr_idx_on`, lowest first (Vega ISA 6.6.1).
const INDEX_MODES: [&str; 4] = ["SRC0", "SRC1", "SRC2", "DST"];

/// The counters of `s_waitcnt` and their maximum (Vega ISA 4.4).
const WAIT_COUNTERS: [(&str, u16); 3] = [("vmcnt", 63), ("expcnt", 7), ("lgkmcnt", 15)];

/// `s_waitcnt`: the counters that it waits for. A counter at its maximum is not waited for, and is
/// omitted unless all are.
pub(super) fn wait_counts(out: &mut Line<'_>, value: u16) -> fmt::Result {
    let counts = [(value & 0xf) | ((value >> 10) & 0x30), (value >> 4) & 7, (value >> 8) & 0xf];
    let all = counts == WAIT_COUNTERS.map(|(_, maximum)| maximum);
    let mut separator = "";
    for ((name, maximum), count) in WAIT_COUNTERS.into_iter().zip(counts) {
        if all || count != maximum {
            out.text(separator)?;
            out.text(name)?;
            out.text("(")?;
            out.decimal(count.into())?;
            out.text(")")?;
            separator = " ";
        }
    }
    Ok(())
}

/// `hwreg(NAME, offset, width)`: register number in bits 5:0, offset in 10:6, width minus one in 15:11.
pub(super) fn hardware_register(out: &mut impl Write, value: u16, target: Target) -> fmt::Result {
    let (number, offset, width) = (value & 0x3f, (value >> 6) & 0x1f, (value >> 11) + 1);
    out.write_str("hwreg(")?;
    let added = if target.facts().xcc_registers { HARDWARE_REGISTERS_CDNA3 } else { &[] };
    match find(HARDWARE_REGISTERS, number).or_else(|| find(added, number)) {
        Some(name) => out.write_str(name)?,
        None => write!(out, "{number}")?,
    }
    if (offset, width) != (0, 32) {
        write!(out, ", {offset}, {width}")?;
    }
    out.write_str(")")
}

/// `sendmsg(MESSAGE, operation, stream)`: message in bits 3:0, operation in 6:4, stream in 9:8.
///
/// As in LLVM, a named message is written without the bits that it does not use. A value without a
/// name is written in numbers.
pub(super) fn message(out: &mut impl Write, value: u16) -> fmt::Result {
    let (number, operation, stream) = (value & 0xf, (value >> 4) & 7, (value >> 8) & 3);
    let name = find(MESSAGES, number);
    match (name, number) {
        (Some(name), MESSAGE_GS | MESSAGE_GS_DONE) => {
            let nop = operation == GS_NOP;
            // MSG_GS has no NOP. A NOP has no stream; neither has any message except the geometry
            // messages.
            if let Some(operation) = find(GS_OPERATIONS, operation)
                && !(nop && (number == MESSAGE_GS || stream != 0))
            {
                write!(out, "sendmsg({name}, {operation}")?;
                if !nop {
                    write!(out, ", {stream}")?;
                }
                return out.write_str(")");
            }
        }
        (Some(name), MESSAGE_SYSTEM) => {
            if let Some(operation) = find(SYSTEM_OPERATIONS, operation)
                && stream == 0
            {
                return write!(out, "sendmsg({name}, {operation})");
            }
        }
        (Some(name), _) if operation == 0 && stream == 0 => return write!(out, "sendmsg({name})"),
        _ => {}
    }
    match value & !0x37f {
        0 => write!(out, "sendmsg({number}, {operation}, {stream})"),
        _ => write!(out, "{value}"),
    }
}

/// `gpr_idx(SRC0,DST)`, or the number if it has bits without a name.
pub(super) fn index_mode(out: &mut impl Write, value: u32) -> fmt::Result {
    if value >> INDEX_MODES.len() != 0 {
        return write!(out, "{value:#x}");
    }
    out.write_str("gpr_idx(")?;
    let mut separator = "";
    for (bit, name) in INDEX_MODES.iter().enumerate() {
        if value >> bit & 1 != 0 {
            write!(out, "{separator}{name}")?;
            separator = ",";
        }
    }
    out.write_str(")")
}

/// ` offset:swizzle(...)`, the lane pattern of `ds_swizzle_b32` (Vega ISA 12.13.1); empty for 0.
pub(super) fn swizzle(out: &mut impl Write, value: u16) -> fmt::Result {
    if value == 0 {
        return Ok(());
    }
    out.write_str(" offset:")?;
    if value & 0xff00 == 0x8000 {
        let lane = |index: u16| value >> (2 * index) & 3;
        return write!(out, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if value & 0xe000 == 0xe000 {
        return write!(out, "swizzle(FFT,{})", value & 0x1f);
    }
    if value & 0xe000 == 0xc000 {
        return write!(out, "swizzle(ROTATE,{},{})", value >> 10 & 1, value >> 5 & 0x1f);
    }
    if value & 0x8000 != 0 {
        return write!(out, "{value}");
    }
    let (and, or, xor) = (value & 0x1f, value >> 5 & 0x1f, value >> 10 & 0x1f);
    let group = 0x20 - and;
    if and == 0x1f && or == 0 && xor.is_power_of_two() {
        write!(out, "swizzle(SWAP,{xor})")
    } else if and == 0x1f && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        write!(out, "swizzle(REVERSE,{})", xor + 1)
    } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        write!(out, "swizzle(BROADCAST,{group},{or})")
    } else {
        // For each bit of the lane number: the results for 0 and 1.
        out.write_str("swizzle(BITMASK_PERM,\"")?;
        for bit in (0..5).rev() {
            let zero = (or ^ xor) >> bit & 1;
            let one = ((and | or) ^ xor) >> bit & 1;
            out.write_char(match (zero, one) {
                (0, 0) => '0',
                (1, 1) => '1',
                (0, _) => 'p',
                _ => 'i',
            })?;
        }
        out.write_str("\")")
    }
}

/// ` format:[BUF_DATA_FORMAT_...,BUF_NUM_FORMAT_...]`; default parts are omitted.
pub(super) fn buffer_format(out: &mut impl Write, data: u8, number: u8) -> fmt::Result {
    let (data, number) = (data & 0xf, number & 7);
    if (data, number) == DEFAULT_FORMAT {
        return Ok(());
    }
    out.write_str(" format:[")?;
    if data != DEFAULT_FORMAT.0 {
        write!(out, "BUF_DATA_FORMAT_{}", DATA_FORMATS[usize::from(data)])?;
        if number != DEFAULT_FORMAT.1 {
            out.write_str(",")?;
        }
    }
    if number != DEFAULT_FORMAT.1 {
        write!(out, "BUF_NUM_FORMAT_{}", NUMBER_FORMATS[usize::from(number)])?;
    }
    out.write_str("]")
}

/// An export target (Vega ISA 13.9.1).
pub(super) fn export_target(out: &mut impl Write, value: u32) -> fmt::Result {
    match value {
        0..=7 => write!(out, "mrt{value}"),
        8 => out.write_str("mrtz"),
        9 => out.write_str("null"),
        12..=15 => write!(out, "pos{}", value - 12),
        32..=63 => write!(out, "param{}", value - 32),
        _ => write!(out, "invalid_target_{value}"),
    }
}

/// The lane pattern of a DPP instruction (Vega ISA 13.3.9; CDNA3 ISA 13.3.9 for the broadcast).
///
/// The decoder rejects all others, except where there are no operands to move: there LLVM writes a
/// note.
pub(super) fn dpp_control(out: &mut impl Write, value: u16, target: Target) -> fmt::Result {
    let count = value & 0xf;
    match value {
        0..=0xff => {
            let lane = |index: u16| value >> (2 * index) & 3;
            write!(out, "quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))
        }
        0x101..=0x10f => write!(out, "row_shl:{count}"),
        0x111..=0x11f => write!(out, "row_shr:{count}"),
        0x121..=0x12f => write!(out, "row_ror:{count}"),
        0x130 => out.write_str("wave_shl:1"),
        0x134 => out.write_str("wave_rol:1"),
        0x138 => out.write_str("wave_shr:1"),
        0x13c => out.write_str("wave_ror:1"),
        0x140 => out.write_str("row_mirror"),
        0x141 => out.write_str("row_half_mirror"),
        0x142 => out.write_str("row_bcast:15"),
        0x143 => out.write_str("row_bcast:31"),
        0x150..=0x15f if target.facts().row_newbcast => write!(out, "row_newbcast:{count}"),
        0x150..=0x15f => {
            out.write_str(" /* row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10 */")
        }
        _ => out.write_str("/* Invalid dpp_ctrl value */"),
    }
}

/// Which parameter an interpolation moves (Vega ISA 12.11).
pub(super) fn interpolation_slot(out: &mut impl Write, value: u32) -> fmt::Result {
    match value {
        0 => out.write_str("p10"),
        1 => out.write_str("p20"),
        2 => out.write_str("p0"),
        _ => write!(out, "invalid_param_{value}"),
    }
}
