//! Trap handlers in assembly, and reports of enabled exceptions without one.

use wavemill::fault::{FaultCause, FaultReport, RaisedLane};
use wavemill::launch::{Engine, Exceptions, Tier, TrapHandler};
use wavemill::{Arg, Buffer, Error, Launch, Module, RunOptions};
use wavemill_kernels::Target;

use crate::assembled::Source;

/// A handler that logs why it was entered, and returns behind the instruction that trapped: after
/// `s_trap` and illegal instructions of 4 bytes, and accesses of 8. Memory at TMA: the number of
/// entries in dword 0; from byte 16 on, for each entry PC, the other fields of the saved PC, TRAPSTS and
/// STATUS. It clears TRAPSTS, and uses v30 and v31.
const HANDLER: &str = "
    .globl handler
    .type handler,@function
handler:
    s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
    s_getreg_b32 ttmp14, hwreg(18)
    s_getreg_b32 ttmp15, hwreg(19)
    s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
    s_mov_b64 ttmp[8:9], exec
    s_mov_b64 exec, 1
    v_mov_b32 v30, 0
    v_mov_b32 v31, 1
    global_atomic_add v31, v30, v31, ttmp[14:15] RETURN
    s_waitcnt vmcnt(0)
    v_lshlrev_b32 v30, 4, v31
    v_mov_b32 v31, ttmp0
    global_store_dword v30, v31, ttmp[14:15] offset:16
    v_mov_b32 v31, ttmp1
    global_store_dword v30, v31, ttmp[14:15] offset:20
    v_mov_b32 v31, ttmp2
    global_store_dword v30, v31, ttmp[14:15] offset:24
    v_mov_b32 v31, ttmp12
    global_store_dword v30, v31, ttmp[14:15] offset:28
    s_mov_b64 exec, ttmp[8:9]
    s_bfe_u32 ttmp4, ttmp1, 0x80010
    s_cbranch_scc1 skip_one
    s_bitcmp1_b32 ttmp2, 11
    s_cbranch_scc1 skip_one
    s_bitcmp1_b32 ttmp2, 8
    s_cbranch_scc0 done
    s_add_u32 ttmp0, ttmp0, 4
    s_addc_u32 ttmp1, ttmp1, 0
skip_one:
    s_add_u32 ttmp0, ttmp0, 4
    s_addc_u32 ttmp1, ttmp1, 0
done:
    s_mov_b32 ttmp5, 0
    s_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp5
    s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
    s_rfe_b64 ttmp[0:1]
    .size handler, .-handler
";

/// An entry of the handler's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Offset of the saved PC from the start of the kernel.
    pc: u64,
    id: u32,
    rewind: u32,
    trapsts: u32,
    status: u32,
}

struct Program {
    module: Module,
    engine: Engine,
    out: Buffer,
    memory: Buffer,
    handled: bool,
    exceptions: Exceptions,
}

/// Every engine, and every tier of the interpreter that the host has.
fn engines() -> impl Iterator<Item = Engine> {
    let tiers = Tier::ALL.into_iter().filter(|tier| tier.is_available());
    tiers.map(|tier| Engine::Interpreter(Some(tier))).chain([Engine::Reference])
}

impl Program {
    /// A kernel with this body, for which `s[2:3]` is the address of `out`, and the handler.
    fn new(target: Target, engine: Engine, body: &str, directives: &str) -> Program {
        let returned = if matches!(target, Target::Gfx942 | Target::Gfx950) { "sc0" } else { "glc" };
        let (device, module) = Source {
            body: &format!("s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n{body}"),
            directives: &format!(".amdhsa_float_denorm_mode_32 3\n{directives}"),
            functions: &HANDLER.replace("RETURN", returned),
        }
        .load(target);
        let out = device.buffer("out", 4096).unwrap();
        let memory = device.buffer("memory", 1 << 16).unwrap();
        let exceptions = Exceptions::NONE;
        Program { module, engine, out, memory, handled: true, exceptions }
    }

    fn run(&self) -> Result<(), Error> {
        let kernel = self.module.kernel("kernel").unwrap();
        let launch = Launch::new(&kernel)
            .workgroup_size([64, 1, 1])
            .arg(Arg::from(&self.out))
            .engine(self.engine)
            .exceptions(self.exceptions)
            .options(RunOptions { max_instructions: Some(100_000), ..RunOptions::default() });
        let launch = match self.handled {
            true => launch.trap_handler(TrapHandler {
                entry: self.module.function("handler").unwrap(),
                memory: self.memory.address(),
            }),
            false => launch,
        };
        launch.run().map(|_| ())
    }

    fn fault(&self) -> Box<FaultReport> {
        match self.run() {
            Err(Error::Fault(report)) => report,
            other => panic!("expected a fault, got {other:?}"),
        }
    }

    /// The entries of the handler's log, after a run that must succeed.
    fn entries(&self) -> Vec<Entry> {
        if let Err(error) = self.run() {
            panic!("{:?}: {error}", self.engine);
        }
        let log = self.memory.to_vec::<u32>().unwrap();
        let start = self.module.kernel("kernel").unwrap().entry();
        let entry = |words: &[u32]| Entry {
            pc: (u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32).wrapping_sub(start),
            id: words[1] >> 16 & 0xff,
            rewind: words[1] >> 25 & 0xf,
            trapsts: words[2],
            status: words[3],
        };
        log[4..].chunks(4).take(log[0] as usize).map(entry).collect()
    }

    fn out(&self) -> Vec<u32> {
        self.out.to_vec::<u32>().unwrap()
    }
}

/// Bytes of the two instructions before the body.
const BODY: u64 = 12;
/// STATUS in the handler: VALID, TRAP_EN, PRIV; VCC is zero.
const STATUS: u32 = 1 << 16 | 1 << 10 | 1 << 6 | 1 << 5;

#[test]
fn every_trap_enters_the_handler_and_returns() {
    let body = "
    s_cmp_eq_u32 s2, s2
    s_trap 1
    s_cselect_b32 s8, 7, 9
    s_trap 3
    s_trap 255
    s_nop 0
    v_mov_b32 v0, 0
    v_mov_b32 v1, s8
    global_store_dword v0, v1, s[2:3]";
    for target in [Target::Gfx906, Target::Gfx90a, Target::Gfx942, Target::Gfx950] {
        for engine in engines() {
            let program = Program::new(target, engine, body, "");
            let entry =
                |pc, id, scc| Entry { pc: BODY + pc, id, rewind: 0, trapsts: 0, status: STATUS | scc };
            assert_eq!(program.entries(), [entry(4, 1, 1), entry(12, 3, 1), entry(16, 255, 1)], "{engine}");
            assert_eq!(program.out()[0], 7, "the handler restores SCC");
        }
    }
}

/// 1 / 0 in lane 5 and 0 / 0 in lane 9, as `v_div_fixup_f32` sees them; `s[8:9]` selects the lanes.
const DIVISIONS: &str = "
    v_mov_b32 v1, 1.0
    v_mov_b32 v2, 1.0
    v_mov_b32 v3, 1.0
    s_mov_b64 exec, 0x220
    v_mov_b32 v2, 0
    s_mov_b64 exec, 0x200
    v_mov_b32 v3, 0
    s_mov_b64 exec, -1
    v_div_fixup_f32 v1, v1, v2, v3
    v_mov_b32 v0, 0
    v_mbcnt_lo_u32_b32 v0, -1, 0
    v_mbcnt_hi_u32_b32 v0, -1, v0
    v_lshlrev_b32 v0, 2, v0
    global_store_dword v0, v1, s[2:3]";

#[test]
fn exceptions_are_delivered_after_the_instruction() {
    for target in [Target::Gfx906, Target::Gfx942] {
        for engine in engines() {
            let mut program = Program::new(target, engine, DIVISIONS, "");
            program.exceptions = "div0".parse().unwrap();
            let entries = program.entries();
            // Six instructions of 4 bytes and two of 8 precede the division.
            let next = BODY + 40 + 8;
            let one = Entry { pc: next, id: 0, rewind: 2, trapsts: 0b101, status: STATUS };
            assert_eq!(entries, [one], "{engine}");
            let out = program.out();
            assert_eq!([out[0], out[5]], [0x3f80_0000, 0x7f80_0000], "{engine}");
            assert_eq!(out[9] & 0x7fc0_0000, 0x7fc0_0000, "{engine}");
        }
    }
}

#[test]
fn without_a_handler_an_enabled_exception_is_a_fault_before_the_instruction() {
    for target in [Target::Gfx906, Target::Gfx942] {
        for engine in engines() {
            for (names, lanes) in
                [("div0", &[(5, 4)][..]), ("invalid", &[(9, 1)]), ("invalid,div0", &[(5, 4), (9, 1)])]
            {
                let mut program = Program::new(target, engine, DIVISIONS, "");
                program.handled = false;
                program.exceptions = names.parse().unwrap();
                let report = program.fault();
                let lanes: Vec<_> =
                    lanes.iter().map(|(lane, raised)| RaisedLane { lane: *lane, raised: *raised }).collect();
                let enabled = program.exceptions.bits();
                assert_eq!(report.fault.cause, FaultCause::Exceptions { enabled, lanes }, "{engine}");
                assert_eq!(report.instruction.as_deref(), Some("v_div_fixup_f32 v1, v1, v2, v3"));
                assert_eq!(report.fault.snapshot.rows[0][1][5], 0x3f80_0000, "v1 is what it was");
            }
        }
    }
    let mut program = Program::new(Target::Gfx942, Engine::default(), DIVISIONS, "");
    (program.handled, program.exceptions) = (false, "invalid,div0".parse().unwrap());
    insta::assert_snapshot!(program.fault());
}

/// EXCP_CYCLE[1:0] is the phase of the first lane that raises an enabled exception: a phase is 16
/// lanes (Vega ISA 3.10). Lanes with other exceptions do not count.
#[test]
fn the_phase_of_an_exception_is_in_trapsts() {
    for (exec, phase) in
        [(1u64 << 3, 0), (1 << 15, 0), (1 << 16, 1), (1 << 40, 2), (3 << 47, 2), (1 << 63, 3)]
    {
        // The largest number doubled in these lanes; a signalling NaN in lane 0.
        let body = format!(
            "v_mov_b32 v1, 1.0
            s_mov_b64 exec, 1
            v_mov_b32 v1, 0x7f800001
            s_mov_b32 exec_lo, {:#x}
            s_mov_b32 exec_hi, {:#x}
            v_mov_b32 v1, 0x7f7fffff
            s_mov_b64 exec, -1
            v_add_f32 v1, v1, v1",
            exec as u32,
            exec >> 32
        );
        for engine in engines() {
            let mut program = Program::new(Target::Gfx906, engine, &body, "");
            program.exceptions = "overflow".parse().unwrap();
            let raised = 0x28 | phase << 16;
            let found: Vec<u32> = program.entries().iter().map(|entry| entry.trapsts).collect();
            assert_eq!(found, [raised | 1], "{exec:#x}, {engine}");
            program.handled = false;
            let report = program.fault();
            let text = format!("trapsts  {raised:08x}  excp overflow inexact\n");
            assert!(report.full().to_string().contains(&text), "{}", report.full());
        }
    }
}

/// Reports say that TRAPSTS lacks exceptions if no code reads them.
#[test]
fn reports_say_whether_exceptions_were_collected() {
    let infinite = "v_mov_b32 v1, 0x7f7fffff\nv_add_f32 v1, v1, v1\nv_mov_b32 v1, 0\nv_rcp_f32 v1, v1\n";
    let read = "s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS)\n";
    for (body, enabled, wanted) in [
        (format!("{infinite}s_trap 2"), "invalid", "trapsts  00000000  excp not collected\n"),
        (infinite.to_owned(), "div0", "trapsts  00000004  excp float_div0, others not collected\n"),
        (
            format!("{infinite}{read}s_trap 2"),
            "invalid",
            "trapsts  0000002c  excp float_div0 overflow inexact\n",
        ),
        (format!("{read}s_trap 2"), "invalid", "trapsts  00000000  excp none\n"),
    ] {
        let (device, module) = Source { body: &body, directives: "", functions: "" }.load(Target::Gfx906);
        let kernel = module.kernel("kernel").unwrap();
        let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]).exceptions(enabled.parse().unwrap());
        let error = launch.arg(&device.buffer("out", 4).unwrap()).run().unwrap_err();
        let Error::Fault(report) = error else { panic!("expected a fault, found {error}") };
        assert!(report.full().to_string().contains(wanted), "expected `{wanted}`, found\n{}", report.full());
    }
}

/// A kernel whose descriptor enables exceptions, or that enables them itself, traps as one whose
/// launch enables them.
#[test]
fn kernels_enable_exceptions() {
    let enable = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 4";
    for engine in engines() {
        for (first, directive) in [("", ".amdhsa_exception_fp_ieee_div_zero 1"), (enable, "")] {
            let body = format!("{first}\n{DIVISIONS}");
            let mut program = Program::new(Target::Gfx90a, engine, &body, directive);
            assert_eq!(program.entries().len(), 1, "{engine} {first}");
            program.handled = false;
            let lanes = vec![RaisedLane { lane: 5, raised: 4 }];
            assert_eq!(program.fault().fault.cause, FaultCause::Exceptions { enabled: 4, lanes }, "{engine}");
        }
    }
}

/// An instruction on values in lane 3, and the exceptions that it raises there. Other lanes have
/// ones, which raise none of them. `v[2:3]`, `v[4:5]` and `v[6:7]` are the sources.
const RAISING: &[(&str, [u64; 3], u32)] = &[
    ("v_add_f32 v8, v2, v4", [0x7f80_0000, 0xff80_0000, 0], 1),
    ("v_add_f32 v8, v2, v4", [1, 0x3f80_0000, 0], 2 | 32),
    ("v_rcp_f32 v8, v2", [0, 0, 0], 4),
    ("v_mul_f32 v8, v2, v4", [0x7f7f_ffff, 0x7f7f_ffff, 0], 8 | 32),
    ("v_mul_f32 v8, v2, v4", [0x0080_0001, 0x3f00_0000, 0], 16 | 32),
    ("v_add_f32 v8, v2, v4", [0x3f80_0000, 0x3080_0000, 0], 32),
    ("v_rcp_iflag_f32 v8, v2", [0, 0, 0], 64),
    ("v_mul_f16 v8, v2, v4", [0x7c00, 0, 0], 1),
    ("v_rcp_f16 v8, v2", [0, 0, 0], 4),
    ("v_mul_f16 v8, v2, v4", [0x7bff, 0x7bff, 0], 8 | 32),
    ("v_pk_mul_f16 v8, v2, v4", [0x7c00_3c00, 0x3c00, 0], 1),
    ("v_mul_f64 v[8:9], v[2:3], v[4:5]", [0x7ff0_0000_0000_0000, 0, 0], 1),
    ("v_rcp_f64 v[8:9], v[2:3]", [0, 0, 0], 4),
    ("v_mul_f64 v[8:9], v[2:3], v[4:5]", [0x7fef_ffff_ffff_ffff, 0x7fef_ffff_ffff_ffff, 0], 8 | 32),
    ("v_cmp_lt_f32_e64 vcc, v2, v4 clamp", [0x7f80_0001, 0, 0], 1),
    ("v_cvt_f16_f32 v8, v2", [0x4780_0000, 0, 0], 8 | 32),
    ("v_div_fixup_f64 v[8:9], v[2:3], v[4:5], v[6:7]", [0, 0, 0x3ff0_0000_0000_0000], 4),
    // The sources are also the result.
    ("v_add_f32 v2, v2, v4", [0x7f80_0000, 0xff80_0000, 0], 1),
    ("v_mac_f32 v2, v4, v6", [0x7f80_0000, 0xff80_0000, 0x3f80_0000], 1),
];

/// Sources for an instruction: ones in all lanes, these values in lane 3.
fn sources(values: [u64; 3], wide: bool) -> String {
    let one: u64 = if wide { 0x3ff0_0000_0000_0000 } else { 0x3f80_0000 };
    let mut text = String::new();
    let mut set = |n: usize, value: u64| {
        for dword in 0..2 {
            let word = (value >> (32 * dword)) as u32;
            text += &format!("    v_mov_b32 v{}, {word:#x}\n", 2 + 2 * n + dword);
        }
    };
    (0..3).for_each(|n| set(n, one));
    set(0, one);
    text += "    s_mov_b64 exec, 8\n";
    let mut set = |n: usize, value: u64| {
        for dword in 0..2 {
            let word = (value >> (32 * dword)) as u32;
            text += &format!("    v_mov_b32 v{}, {word:#x}\n", 2 + 2 * n + dword);
        }
    };
    values.into_iter().enumerate().for_each(|(n, value)| set(n, value));
    text += "    s_mov_b64 exec, -1\n";
    text
}

#[test]
fn every_exception_of_every_width_stops_the_wave() {
    for (instruction, values, raised) in RAISING {
        // As f16, the low half of 1.0f is 0.
        let half = instruction.contains("f16 v8");
        let body = sources(*values, instruction.contains("f64"));
        let body = if half { body.replace("0x3f800000", "0x3c003c00") } else { body };
        let body = format!("{body}    {instruction}\n");
        for engine in engines() {
            for bit in (0..7).filter(|bit| raised >> bit & 1 != 0) {
                let mut program =
                    Program::new(Target::Gfx906, engine, &body, ".amdhsa_float_denorm_mode_16_64 3");
                program.exceptions = Exceptions::from_bits(1 << bit);
                program.handled = false;
                let lanes = vec![RaisedLane { lane: 3, raised: *raised }];
                let cause = FaultCause::Exceptions { enabled: 1 << bit, lanes };
                assert_eq!(program.fault().fault.cause, cause, "{instruction}, {engine}");
                program.handled = true;
                let entries = program.entries();
                assert_eq!(entries.len(), 1, "{instruction}, {engine}");
                assert_eq!(entries[0].trapsts, *raised, "{instruction}, {engine}");
            }
            let mut program =
                Program::new(Target::Gfx906, engine, &body, ".amdhsa_float_denorm_mode_16_64 3");
            program.exceptions = Exceptions::from_bits(!raised);
            assert_eq!(program.entries(), [], "{instruction}, {engine}");
        }
    }
}

/// Two operations of one instruction: the first must not write its result before the second traps.
#[test]
fn packed_singles_stop_before_either_half_is_written() {
    // The halves: 1 + 2^-30, which is inexact, and infinity minus infinity.
    let body = "
    v_mov_b32 v2, 1.0
    v_mov_b32 v3, 0x7f800000
    v_mov_b32 v4, 0x30800000
    v_mov_b32 v5, 0xff800000
    v_pk_add_f32 v[2:3], v[2:3], v[4:5]
    v_mov_b32 v0, 0
    global_store_dwordx2 v0, v[2:3], s[2:3]";
    for engine in engines() {
        let mut program = Program::new(Target::Gfx90a, engine, body, "");
        program.exceptions = "invalid".parse().unwrap();
        assert_eq!(program.entries().len(), 1, "{engine}");
        let [low, high] = [program.out()[0], program.out()[1]];
        assert_eq!((low, high & 0x7fc0_0000), (0x3f80_0000, 0x7fc0_0000), "{engine}");
        program.handled = false;
        let fault = program.fault();
        let v = |n: usize| fault.fault.snapshot.rows[0][n][7];
        assert_eq!([v(2), v(3)], [0x3f80_0000, 0x7f80_0000], "{engine}");
        let FaultCause::Exceptions { lanes, .. } = &fault.fault.cause else { panic!("{fault}") };
        // Both halves count, although only one traps.
        assert_eq!(lanes.len(), 64);
        assert!(lanes.iter().all(|lane| lane.raised == 1 | 32), "{engine}: {lanes:?}");
    }
}

/// Infinity times zero in row 3 and column 5 of a product of doubles, whose result is in lane 53: its
/// first two VGPRs hold rows 0 to 3, 16 columns each.
#[test]
fn products_of_doubles_stop_before_the_result_is_written() {
    for (target, name) in [
        (Target::Gfx90a, "v_mfma_f64_16x16x4f64"),
        (Target::Gfx942, "v_mfma_f64_16x16x4_f64"),
        (Target::Gfx950, "v_mfma_f64_16x16x4_f64"),
    ] {
        let body = format!(
            "
    v_mov_b32 v8, 0
    v_mov_b32 v9, 0x3ff00000
    v_mov_b32 v10, 0
    v_mov_b32 v11, 0x3ff00000
    v_mov_b32 v16, 7
    s_mov_b64 exec, 8
    v_mov_b32 v9, 0x7ff00000
    s_mov_b64 exec, 32
    v_mov_b32 v11, 0
    s_mov_b64 exec, -1
    {name} v[16:23], v[8:9], v[10:11], 0
    v_mov_b32 v0, 0
    global_store_dword v0, v16, s[2:3]"
        );
        for engine in engines() {
            let mut program = Program::new(target, engine, &body, "");
            program.exceptions = "invalid".parse().unwrap();
            let entries = program.entries();
            assert_eq!(entries.len(), 1, "{engine}");
            // Invalid, of lane 53: that is in the last of four phases.
            assert_eq!((entries[0].trapsts, entries[0].rewind), (3 << 16 | 1, 2), "{engine}");
            assert_eq!(program.out()[0], 0, "the product completes before the handler, {engine}");
            program.handled = false;
            let fault = program.fault();
            let lanes = vec![RaisedLane { lane: 53, raised: 1 }];
            assert_eq!(fault.fault.cause, FaultCause::Exceptions { enabled: 1, lanes }, "{engine}");
            assert_eq!(fault.fault.snapshot.rows[0][16], [7; 64], "{engine}");
            program.exceptions = "denormal,div0,overflow,underflow,inexact".parse().unwrap();
            program.run().unwrap_or_else(|error| panic!("{engine}: {error}"));
        }
    }
}

#[test]
fn single_steps_enter_the_handler_after_each_instruction() {
    // DEBUG is bit 11 of MODE. The handler is not stepped, and a branch is one instruction.
    let body = "
    s_mov_b32 s8, 3
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 1
again:
    s_sub_u32 s8, s8, 1
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 again
    s_barrier
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 0
    s_nop 0
    v_mov_b32 v0, 0
    v_mov_b32 v1, s8
    global_store_dword v0, v1, s[2:3]";
    for engine in engines() {
        let program = Program::new(Target::Gfx906, engine, body, "");
        let entries = program.entries();
        let pcs: Vec<u64> = entries.iter().map(|entry| entry.pc - BODY).collect();
        let round = [16, 20];
        let expected: Vec<u64> = [&round[..], &[12], &round, &[12], &round, &[24, 28, 36]].concat();
        assert_eq!(pcs, expected, "{engine}");
        assert!(entries.iter().all(|entry| (entry.id, entry.rewind, entry.trapsts) == (0, 0, 0)), "{engine}");
    }
    // Without a handler, the bit has no effect.
    let mut program = Program::new(Target::Gfx906, Engine::default(), body, "");
    program.handled = false;
    program.run().unwrap();
}

#[test]
fn accesses_and_instructions_that_would_be_faults_enter_the_handler() {
    for target in [Target::Gfx906, Target::Gfx950] {
        for engine in engines() {
            // Beyond the buffer; a misaligned atomic; an illegal instruction.
            let body = "
    v_mov_b32 v0, 0x100000
    v_mov_b32 v1, 5
    global_store_dword v0, v1, s[2:3]
    v_mov_b32 v0, 2
    global_atomic_add v0, v1, s[2:3]
    .long 0xffffffff
    v_mov_b32 v0, 0
    global_store_dword v0, v1, s[2:3]";
            let mut program = Program::new(target, engine, body, "");
            let entries = program.entries();
            let seen: Vec<_> = entries.iter().map(|entry| (entry.pc - BODY, entry.trapsts)).collect();
            assert_eq!(seen, [(12, 1 << 28 | 1 << 8), (24, 1 << 8), (32, 1 << 11)], "{engine}");
            assert_eq!(program.out()[0], 5, "{engine}");
            program.handled = false;
            assert!(matches!(program.fault().fault.cause, FaultCause::Memory { .. }), "{engine}");
        }
    }
}

/// A second handler: what it does is in the body of the kernel's module.
fn with_handler(target: Target, engine: Engine, kernel: &str, handler: &str) -> Program {
    let body = format!(
        "{kernel}
    s_endpgm
    .size kernel, .-kernel
    .globl other
    .type other,@function
other:
{handler}
    .size other, .-other
unused:"
    );
    // The size of the kernel is set twice; the text after it belongs to no function.
    Program::new(target, engine, &body, "")
}

impl Program {
    fn other(&self) -> Result<(), Error> {
        let kernel = self.module.kernel("kernel").unwrap();
        let entry = self.module.function("other").unwrap();
        Launch::new(&kernel)
            .workgroup_size([64, 1, 1])
            .arg(Arg::from(&self.out))
            .engine(self.engine)
            .trap_handler(TrapHandler { entry, memory: self.memory.address() })
            .options(RunOptions { max_instructions: Some(100_000), ..RunOptions::default() })
            .run()
            .map(|_| ())
    }
}

#[test]
fn a_handler_writes_privileged_state() {
    // The handler sets the conditions of debuggers, TMA and TTMPs, and returns by the older
    // instruction. The kernel cannot write any of these.
    let kernel = "
    s_mov_b32 ttmp3, 1
    s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 20, 2), 3
    s_cbranch_cdbgsys_or_user skipped
    s_trap 7
    s_cbranch_cdbguser skipped
    s_cbranch_cdbgsys_and_user skipped
    s_cbranch_cdbgsys taken
skipped:
    s_trap 9
taken:
    s_mov_b32 ttmp3, 2
    s_trap 8
    v_mov_b32 v0, 0
    v_mov_b32 v2, s8
    v_mov_b32 v3, s9
    global_store_dwordx2 v0, v[2:3], s[2:3]";
    let handler = "
    s_bfe_u32 ttmp2, ttmp1, 0x80010
    s_cmp_eq_u32 ttmp2, 7
    s_cbranch_scc0 second
    s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 20, 2), 2
    s_mov_b32 ttmp3, 0x123
    s_setreg_b32 hwreg(18), ttmp3
    s_branch leave
second:
    s_getreg_b32 s9, hwreg(18)
    s_mov_b32 s8, ttmp3
leave:
    s_add_u32 ttmp0, ttmp0, 4
    s_rfe_restore_b64 ttmp[0:1], s0";
    for target in [Target::Gfx906, Target::Gfx950] {
        for engine in engines() {
            let program = with_handler(target, engine, kernel, handler);
            program.other().unwrap_or_else(|error| panic!("{engine}: {error}"));
            assert_eq!(program.out()[..2], [0x123, 0x123], "{engine}");
        }
    }
}

#[test]
fn a_trap_in_the_handler_enters_it_again_and_a_fault_there_is_a_fault() {
    let nested = "
    s_bfe_u32 ttmp2, ttmp1, 0x80010
    s_cmp_eq_u32 ttmp2, 5
    s_cbranch_scc1 inner
    s_mov_b64 ttmp[4:5], ttmp[0:1]
    s_trap 5
    s_add_u32 ttmp0, ttmp4, 4
    s_addc_u32 ttmp1, ttmp5, 0
    s_rfe_b64 ttmp[0:1]
inner:
    s_add_u32 s8, s8, 1
    s_add_u32 ttmp0, ttmp0, 4
    s_and_b32 ttmp1, ttmp1, 0xffff
    s_setpc_b64 ttmp[0:1]";
    let kernel = "
    s_mov_b32 s8, 40
    s_trap 1
    v_mov_b32 v0, 0
    v_mov_b32 v1, s8
    global_store_dword v0, v1, s[2:3]";
    let faulty = "
    v_mov_b32 v0, 0
    global_load_dword v1, v0, s[4:5]
    s_rfe_b64 ttmp[0:1]";
    let halts = "
    s_add_u32 ttmp0, ttmp0, 4
    s_sethalt 1
    s_sethalt 0
    s_sethalt 1
    s_rfe_b64 ttmp[0:1]";
    let fault = |program: &Program| match program.other() {
        Err(Error::Fault(report)) => report.fault,
        other => panic!("expected a fault, got {other:?}"),
    };
    for engine in engines() {
        let program = with_handler(Target::Gfx942, engine, kernel, nested);
        program.other().unwrap_or_else(|error| panic!("{engine}: {error}"));
        assert_eq!(program.out()[0], 41, "{engine}");

        let program = with_handler(Target::Gfx942, engine, kernel, faulty);
        let report = fault(&program);
        assert!(matches!(report.cause, FaultCause::Memory { .. }), "{engine}");
        assert_eq!(report.pc, program.module.function("other").unwrap() + 4, "{engine}");

        let program = with_handler(Target::Gfx942, engine, kernel, halts);
        let report = fault(&program);
        assert_eq!(report.cause, FaultCause::Instruction(wavemill::ir::FaultKind::Halted), "{engine}");
        assert_eq!(
            program.other().unwrap_err().to_string().lines().next(),
            Some("the trap handler halts the wave, and no debugger can resume it")
        );
        let behind = program.module.kernel("kernel").unwrap().entry() + BODY + 8;
        assert_eq!(report.pc, behind, "{engine}: the wave halts after the handler");
    }
}

/// Traps with all numbers, without a handler: a fault with the number, but the debugger's is
/// nothing.
#[test]
fn without_a_handler_a_trap_is_a_fault() {
    for id in 1..=255u8 {
        let mut program = Program::new(Target::Gfx942, Engine::default(), &format!("    s_trap {id}"), "");
        program.handled = false;
        match id {
            3 => program.run().unwrap(),
            _ => assert_eq!(program.fault().fault.cause, FaultCause::Trap(id)),
        }
    }
}
