//! Dumps of Mesa's driver.

use wavemill_asm::cayman::{Listing, disassemble, is_dump, read_dump};
use wavemill_isa::cayman::Stage;
use wavemill_oracle::Failed;

/// In the format of `r600_bytecode_disasm`: clauses follow the word that calls them, dwords have
/// numbers, and the padding dword of a fetch is not there.
const DUMP: &str = "\
some line of the loader
bytecode 24 dw -- 2 gprs -- 1 nstack -------------
shader 3 -- C
0000 00000004 A0080000  ALU 3 @8 
 0008 801FA000 60000B90     1 w:    LSHL_INT                             R0.w,  R0.x, [0x2 2.8026e-45].x
 0010 00000002                                              0.000000 (2)
 0012 800000F9 00200C90     2 x:    MOV                                  R1.x,  1.0
0002 00000008 80400000  TEX 1 @16 
 0016 00010140 135FF001 00000000   VFETCH                           R1.x___, R1.x,  RID:1  UCF:0 FMT(DTA:13 NUM:1 COMP:0 MODE:0)
0004 00000000 88000000  CF_END @0 
--------------------------------------
";

pub(crate) fn are_read() -> Result<(), Failed> {
    assert!(is_dump(DUMP));
    let shaders = read_dump(DUMP).map_err(|(line, error)| format!("line {line}: {error}"))?;
    let [shader] = &shaders[..] else { return Err("expected one shader".into()) };
    assert_eq!((shader.gprs, shader.stack, shader.bytes.len()), (Some(2), Some(1), 96));
    let text = disassemble(&shader.bytes, &Listing { addresses: false });
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "        alu alu4",
            "        tc tc8",
            "        end",
            "        .quad 0x0000000000000000",
            "alu4:   w: lshl_int r0.w, r0.x, 0x2 ;;",
            "        x: mov r1.x, 1.0 ;;",
            "tc8:    vfetch r1.x___, r1.x, buf:1 fmt:32 int index:none",
            "        .quad 0x0000000000000000",
            "        .quad 0x0000000000000000",
        ]
    );
    // The form of the other disassembler of the driver.
    let other = "===== SHADER #3 ===== CS/CAYMAN =====\n===== 2 dw ===== 1 gprs ===== 0 stack =====\n0000  00000000 88000000  CF_END\n";
    let shaders = read_dump(other).map_err(|(line, error)| format!("line {line}: {error}"))?;
    assert_eq!(shaders[0].bytes, [0, 0, 0, 0, 0, 0, 0, 0x88]);
    assert_eq!((shaders[0].gprs, shaders[0].stack, shaders[0].stage), (Some(1), Some(0), None));
    let stages = |text: &str| -> Result<Vec<Option<Stage>>, String> {
        let shaders = read_dump(text).map_err(|(line, error)| format!("line {line}: {error}"))?;
        Ok(shaders.iter().map(|shader| shader.stage).collect())
    };
    assert_eq!(stages(&other.replace("CS/", "PS/"))?, [Some(Stage::Ps)]);
    let fragment = format!("shader: MESA_SHADER_VERTEX\n{DUMP}shader: MESA_SHADER_FRAGMENT\n{DUMP}{DUMP}");
    assert_eq!(stages(&fragment)?, [Some(Stage::Vs), Some(Stage::Ps), None]);
    for (text, line) in [
        ("0000 00000000 88000000 CF_END\n", 1),
        ("bytecode 2 dw -- 1 gprs -- 0 nstack\n0002 00000000 88000000 CF_END\n", 2),
        ("bytecode 4294967295 dw -- 1 gprs -- 0 nstack\n", 1),
    ] {
        let (found, error) = read_dump(text).err().ok_or(text)?;
        assert_eq!(found, line, "{error}");
    }
    Ok(())
}
