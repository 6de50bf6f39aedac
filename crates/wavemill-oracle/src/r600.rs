//! Random programs in LLVM IR, for comparisons with what LLVM's r600 backend makes of them.

use std::collections::BTreeSet;

use crate::fill::SplitMix64;

/// Types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    I1,
    I32,
    I64,
    F32,
    V2I32,
    V4I32,
    V4F32,
}

impl Type {
    const fn name(self) -> &'static str {
        match self {
            Type::I1 => "i1",
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::F32 => "float",
            Type::V2I32 => "<2 x i32>",
            Type::V4I32 => "<4 x i32>",
            Type::V4F32 => "<4 x float>",
        }
    }
}

/// The stage of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Kernel,
    Pixel,
    Vertex,
}

/// A random program for `llc -mtriple=r600-- -mcpu=cayman`: one function with arithmetic on integers,
/// floats and vectors, branches and loops, accesses to global, local and private memory and to
/// tables, and atomic operations. Most are kernels; some are pixel or vertex shaders. The same seed
/// gives the same program.
pub fn random_r600_program(seed: u64) -> String {
    let mut random = SplitMix64::new(seed);
    let stage = match random.below(8) {
        0 => Stage::Pixel,
        1 => Stage::Vertex,
        _ => Stage::Kernel,
    };
    let mut writer = Writer {
        random,
        stage,
        body: String::new(),
        values: Vec::new(),
        declared: BTreeSet::new(),
        names: 0,
        block: "entry".to_owned(),
        private: 0,
    };
    writer.program()
}

struct Writer {
    random: SplitMix64,
    stage: Stage,
    body: String,
    /// Values that are there at this point, with their types.
    values: Vec<(Type, String)>,
    declared: BTreeSet<String>,
    names: u32,
    /// The block that is being written.
    block: String,
    /// Words of private memory.
    private: u64,
}

impl Writer {
    fn program(&mut self) -> String {
        let arguments = match self.stage {
            Stage::Kernel => self.kernel_start(),
            Stage::Pixel | Stage::Vertex => self.shader_start(),
        };
        let statements = 4 + self.random.below(28);
        self.statements(statements, 3);
        self.results();
        let convention = match self.stage {
            Stage::Kernel => "amdgpu_kernel",
            Stage::Pixel => "amdgpu_ps",
            Stage::Vertex => "amdgpu_vs",
        };
        let table: Vec<String> = (0..16).map(|_| format!("i32 {}", self.random.next_u64() as i32)).collect();
        let mut text = String::from("target triple = \"r600--\"\n");
        text += "@lds = internal addrspace(3) global [64 x i32] poison\n";
        text += &format!("@table = internal addrspace(4) constant [16 x i32] [{}]\n", table.join(", "));
        text +=
            &format!("define {convention} void @k({arguments}) {{\nentry:\n{}  ret void\n}}\n", self.body);
        for line in &self.declared {
            text += line;
            text += "\n";
        }
        text
    }

    /// The arguments of a kernel, and the values that it starts with.
    fn kernel_start(&mut self) -> String {
        let mut arguments = vec!["ptr addrspace(1) %in".to_owned(), "ptr addrspace(1) %out".to_owned()];
        for number in 0..1 + self.random.below(4) {
            let ty = [Type::I32, Type::F32, Type::I64, Type::V2I32, Type::V4F32, Type::V4I32]
                [self.random.below(6) as usize];
            arguments.push(format!("{} %a{number}", ty.name()));
            self.values.push((ty, format!("%a{number}")));
        }
        for small in ["i8", "i16"] {
            if self.random.below(4) == 0 {
                arguments.push(format!("{small} zeroext %{small}"));
                self.op(Type::I32, &format!("zext {small} %{small} to i32"));
            }
        }
        for register in ["tidig.x", "tgid.x", "tidig.y", "ngroups.x", "global.size.y", "local.size.x"] {
            if register == "tidig.x" || self.random.below(3) == 0 {
                self.call(Type::I32, &format!("llvm.r600.read.{register}"), &[]);
            }
        }
        if self.random.below(4) == 0 {
            self.private = 1 + self.random.below(12);
            self.body += &format!("  %own = alloca [{} x i32], align 4, addrspace(5)\n", self.private);
            for word in 0..self.private {
                let value = self.pick(Type::I32);
                let place = self.pointer("own", 5, &word.to_string());
                self.body += &format!("  store i32 {value}, ptr addrspace(5) {place}\n");
            }
        }
        for _ in 0..1 + self.random.below(3) {
            self.load();
        }
        arguments.join(", ")
    }

    fn shader_start(&mut self) -> String {
        let count = 1 + self.random.below(3);
        for number in 0..count {
            self.values.push((Type::V4F32, format!("%r{number}")));
            for channel in 0..4 {
                self.op(Type::F32, &format!("extractelement <4 x float> %r{number}, i32 {channel}"));
            }
        }
        let arguments: Vec<String> =
            (0..count).map(|number| format!("<4 x float> inreg %r{number}")).collect();
        arguments.join(", ")
    }

    /// What a program leaves behind.
    fn results(&mut self) {
        if self.stage == Stage::Kernel {
            for _ in 0..1 + self.random.below(4) {
                self.store();
            }
            return;
        }
        let kind = if self.stage == Stage::Pixel { 0 } else { 2 };
        let count = 1 + self.random.below(3);
        for number in 0..count {
            let value = self.vector_of_floats();
            self.void_call(
                "llvm.r600.store.swizzle",
                &[(Type::V4F32, value), (Type::I32, number.to_string()), (Type::I32, kind.to_string())],
            );
        }
        if self.stage == Stage::Vertex {
            let value = self.vector_of_floats();
            let position = [(Type::V4F32, value), (Type::I32, "60".into()), (Type::I32, "1".into())];
            self.void_call("llvm.r600.store.swizzle", &position);
        }
    }

    fn statements(&mut self, count: u64, depth: u32) {
        for _ in 0..count {
            match self.random.below(24) {
                0..5 => self.integer(),
                5..9 => self.float(),
                9 => self.convert(),
                10 | 11 => self.compare(),
                12 => self.wide(),
                13 => self.vector(),
                14 => self.bits(),
                15 | 16 if self.stage == Stage::Kernel => self.load(),
                17 if self.stage == Stage::Kernel => self.store(),
                18 if self.stage == Stage::Kernel => self.local(),
                19 if self.stage == Stage::Kernel && self.random.below(3) == 0 => self.atomic(),
                15..20 => self.graphics(),
                20 | 21 if depth > 0 => self.branch(depth),
                22 if depth > 1 => self.repeat(depth),
                _ => self.integer(),
            }
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    /// Writes an instruction with a result.
    fn op(&mut self, ty: Type, text: &str) -> String {
        let name = self.name();
        self.body += &format!("  {name} = {text}\n");
        self.values.push((ty, name.clone()));
        name
    }

    fn declare(&mut self, result: &str, name: &str, types: &[Type]) {
        let types: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
        self.declared.insert(format!("declare {result} @{name}({})", types.join(", ")));
    }

    fn call(&mut self, ty: Type, name: &str, arguments: &[(Type, String)]) -> String {
        let types: Vec<Type> = arguments.iter().map(|(ty, _)| *ty).collect();
        self.declare(ty.name(), name, &types);
        let list: Vec<String> =
            arguments.iter().map(|(ty, value)| format!("{} {value}", ty.name())).collect();
        self.op(ty, &format!("call {} @{name}({})", ty.name(), list.join(", ")))
    }

    fn void_call(&mut self, name: &str, arguments: &[(Type, String)]) {
        let types: Vec<Type> = arguments.iter().map(|(ty, _)| *ty).collect();
        self.declare("void", name, &types);
        let list: Vec<String> =
            arguments.iter().map(|(ty, value)| format!("{} {value}", ty.name())).collect();
        self.body += &format!("  call void @{name}({})\n", list.join(", "));
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.random.below(all.len() as u64) as usize]
    }

    /// A value of a type that is there, or a constant.
    fn pick(&mut self, ty: Type) -> String {
        let known: Vec<usize> = (0..self.values.len()).filter(|at| self.values[*at].0 == ty).collect();
        if known.is_empty() || self.random.below(6) == 0 {
            return self.constant(ty);
        }
        // Most often one of the last values.
        let last = if self.random.below(2) == 0 { known.len().min(4) } else { known.len() };
        let at = known.len() - 1 - self.random.below(last as u64) as usize;
        self.values[known[at]].1.clone()
    }

    fn constant(&mut self, ty: Type) -> String {
        let vector = |parts: Vec<String>, ty: &str| {
            let parts: Vec<String> = parts.into_iter().map(|part| format!("{ty} {part}")).collect();
            format!("<{}>", parts.join(", "))
        };
        match ty {
            Type::I1 => self.one_of(&["true", "false"]).to_owned(),
            Type::I32 => match self.random.below(3) {
                0 => (self.random.below(33) as i64 - 1).to_string(),
                1 => self.random.below(1 << 16).to_string(),
                _ => (self.random.next_u64() as i32).to_string(),
            },
            Type::I64 => (self.random.next_u64() as i64).to_string(),
            Type::F32 => {
                let simple = ["0.0", "1.0", "0.5", "-1.0", "2.0", "4.0", "3.25", "-0.0", "1024.0"];
                match self.random.below(2) {
                    0 => self.one_of(&simple).to_owned(),
                    // A double in hexadecimal that a float can hold.
                    _ => {
                        let number = f32::from_bits(0x3f00_0000 | self.random.below(1 << 24) as u32);
                        format!("0x{:016X}", f64::from(number).to_bits())
                    }
                }
            }
            Type::V2I32 => {
                let parts = (0..2).map(|_| self.constant(Type::I32)).collect();
                vector(parts, "i32")
            }
            Type::V4I32 => {
                let parts = (0..4).map(|_| self.constant(Type::I32)).collect();
                vector(parts, "i32")
            }
            Type::V4F32 => {
                let parts = (0..4).map(|_| self.constant(Type::F32)).collect();
                vector(parts, "float")
            }
        }
    }

    fn integer(&mut self) {
        let (a, b) = (self.pick(Type::I32), self.pick(Type::I32));
        match self.random.below(20) {
            0 => {
                // A divisor that is not 0.
                let divisor = self.op(Type::I32, &format!("or i32 {b}, 1"));
                let op = self.one_of(&["udiv", "urem", "sdiv", "srem"]);
                self.op(Type::I32, &format!("{op} i32 {a}, {divisor}"));
            }
            1..4 => {
                let count = self.op(Type::I32, &format!("and i32 {b}, 31"));
                let op = self.one_of(&["shl", "lshr", "ashr"]);
                self.op(Type::I32, &format!("{op} i32 {a}, {count}"));
            }
            4..6 => {
                let name = self.one_of(&["umin", "umax", "smin", "smax"]);
                let arguments = [(Type::I32, a), (Type::I32, b)];
                self.call(Type::I32, &format!("llvm.{name}.i32"), &arguments);
            }
            6 => {
                // Masked operands fit 24 bits.
                let a = self.op(Type::I32, &format!("and i32 {a}, 16777215"));
                let b = self.op(Type::I32, &format!("and i32 {b}, 16777215"));
                self.op(Type::I32, &format!("mul i32 {a}, {b}"));
            }
            _ => {
                let op = self.one_of(&["add", "sub", "mul", "and", "or", "xor", "add", "sub", "shl", "lshr"]);
                let b = if op == "shl" || op == "lshr" { self.random.below(32).to_string() } else { b };
                self.op(Type::I32, &format!("{op} i32 {a}, {b}"));
            }
        }
    }

    fn float(&mut self) {
        let (a, b, c) = (self.pick(Type::F32), self.pick(Type::F32), self.pick(Type::F32));
        match self.random.below(12) {
            0 => {
                self.op(Type::F32, &format!("fdiv float {a}, {b}"));
            }
            1 => {
                self.op(Type::F32, &format!("fneg float {a}"));
            }
            2..5 => {
                let name = self.one_of(&["sqrt", "exp2", "log2", "sin", "cos", "fabs"]);
                self.call(Type::F32, &format!("llvm.{name}.f32"), &[(Type::F32, a)]);
            }
            5 => {
                let name = self.one_of(&["floor", "ceil", "trunc", "rint"]);
                self.call(Type::F32, &format!("llvm.{name}.f32"), &[(Type::F32, a)]);
            }
            6 => {
                let name = self.one_of(&["minnum", "maxnum"]);
                self.call(Type::F32, &format!("llvm.{name}.f32"), &[(Type::F32, a), (Type::F32, b)]);
            }
            7 => {
                let arguments = [(Type::F32, a), (Type::F32, b), (Type::F32, c)];
                self.call(Type::F32, "llvm.fmuladd.f32", &arguments);
            }
            8 => {
                let name = self.one_of(&["recipsqrt.ieee", "recipsqrt.clamped"]);
                self.call(Type::F32, &format!("llvm.r600.{name}"), &[(Type::F32, a)]);
            }
            _ => {
                let op = self.one_of(&["fadd", "fsub", "fmul"]);
                self.op(Type::F32, &format!("{op} float {a}, {b}"));
            }
        }
    }

    fn convert(&mut self) {
        match self.random.below(6) {
            0 | 1 => {
                let value = self.pick(Type::I32);
                let op = self.one_of(&["sitofp", "uitofp", "bitcast"]);
                self.op(Type::F32, &format!("{op} i32 {value} to float"));
            }
            2 | 3 => {
                let value = self.pick(Type::F32);
                let op = self.one_of(&["fptosi", "fptoui", "bitcast"]);
                self.op(Type::I32, &format!("{op} float {value} to i32"));
            }
            4 => {
                let value = self.pick(Type::I32);
                let small = self.one_of(&["i8", "i16"]);
                let part = self.name();
                self.body += &format!("  {part} = trunc i32 {value} to {small}\n");
                let op = self.one_of(&["zext", "sext"]);
                self.op(Type::I32, &format!("{op} {small} {part} to i32"));
            }
            _ => {
                let value = self.pick(Type::I1);
                let op = self.one_of(&["zext", "sext"]);
                self.op(Type::I32, &format!("{op} i1 {value} to i32"));
            }
        }
    }

    fn condition(&mut self) -> String {
        if self.random.below(3) == 0 {
            let (a, b) = (self.pick(Type::F32), self.pick(Type::F32));
            let test = self.one_of(&["oeq", "ogt", "oge", "olt", "ole", "une", "ueq", "ult", "ord", "uno"]);
            return self.op(Type::I1, &format!("fcmp {test} float {a}, {b}"));
        }
        let (a, b) = (self.pick(Type::I32), self.pick(Type::I32));
        let test = self.one_of(&["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"]);
        self.op(Type::I1, &format!("icmp {test} i32 {a}, {b}"))
    }

    fn compare(&mut self) {
        let test = self.condition();
        match self.random.below(4) {
            0 => {
                let other = self.pick(Type::I1);
                let op = self.one_of(&["and", "or", "xor"]);
                self.op(Type::I1, &format!("{op} i1 {test}, {other}"));
            }
            which => {
                let ty = if which == 1 { Type::F32 } else { Type::I32 };
                let (a, b) = (self.pick(ty), self.pick(ty));
                let ty_name = ty.name();
                self.op(ty, &format!("select i1 {test}, {ty_name} {a}, {ty_name} {b}"));
            }
        }
    }

    fn wide(&mut self) {
        let (a, b) = (self.pick(Type::I64), self.pick(Type::I64));
        match self.random.below(4) {
            0 => {
                let value = self.pick(Type::I32);
                let op = self.one_of(&["zext", "sext"]);
                self.op(Type::I64, &format!("{op} i32 {value} to i64"));
            }
            1 => {
                let part = self.op(Type::I64, &format!("lshr i64 {a}, 32"));
                self.op(Type::I32, &format!("trunc i64 {part} to i32"));
            }
            2 => {
                self.op(Type::I32, &format!("trunc i64 {a} to i32"));
            }
            _ => {
                let op = self.one_of(&["add", "sub", "mul", "and", "or", "xor"]);
                self.op(Type::I64, &format!("{op} i64 {a}, {b}"));
            }
        }
    }

    fn vector_of_floats(&mut self) -> String {
        let mut vector = "poison".to_owned();
        for channel in 0..4 {
            let value = self.pick(Type::F32);
            vector = self.op(
                Type::V4F32,
                &format!("insertelement <4 x float> {vector}, float {value}, i32 {channel}"),
            );
        }
        vector
    }

    fn vector(&mut self) {
        match self.random.below(5) {
            0 => {
                self.vector_of_floats();
            }
            1 => {
                let vector = self.pick(Type::V4F32);
                let channel = self.random.below(4);
                self.op(Type::F32, &format!("extractelement <4 x float> {vector}, i32 {channel}"));
            }
            2 => {
                let (a, b) = (self.pick(Type::V4I32), self.pick(Type::V4I32));
                let op = self.one_of(&["add", "xor", "and", "sub"]);
                let sum = self.op(Type::V4I32, &format!("{op} <4 x i32> {a}, {b}"));
                let channel = self.random.below(4);
                self.op(Type::I32, &format!("extractelement <4 x i32> {sum}, i32 {channel}"));
            }
            3 => {
                let (a, b) = (self.pick(Type::V4F32), self.pick(Type::V4F32));
                self.call(Type::F32, "llvm.r600.dot4", &[(Type::V4F32, a), (Type::V4F32, b)]);
            }
            _ => {
                let (a, b) = (self.pick(Type::V4F32), self.pick(Type::V4F32));
                let op = self.one_of(&["fadd", "fmul"]);
                self.op(Type::V4F32, &format!("{op} <4 x float> {a}, {b}"));
            }
        }
    }

    fn bits(&mut self) {
        let (a, b) = (self.pick(Type::I32), self.pick(Type::I32));
        match self.random.below(6) {
            0 => {
                let name = self.one_of(&["ctpop", "bitreverse", "bswap"]);
                self.call(Type::I32, &format!("llvm.{name}.i32"), &[(Type::I32, a)]);
            }
            1 => {
                let name = self.one_of(&["ctlz", "cttz"]);
                let defined = self.one_of(&["true", "false"]).to_owned();
                self.call(Type::I32, &format!("llvm.{name}.i32"), &[(Type::I32, a), (Type::I1, defined)]);
            }
            2 | 3 => {
                let count = self.random.below(32).to_string();
                let other = if self.random.below(2) == 0 { a.clone() } else { b };
                let arguments = [(Type::I32, a), (Type::I32, other), (Type::I32, count)];
                self.call(Type::I32, "llvm.fshl.i32", &arguments);
            }
            4 => {
                // A field of bits.
                let (at, width) = (self.random.below(24), 1 + self.random.below(8));
                let part = self.op(Type::I32, &format!("lshr i32 {a}, {at}"));
                self.op(Type::I32, &format!("and i32 {part}, {}", (1 << width) - 1));
            }
            _ => {
                // A selection by bits.
                let mask = self.pick(Type::I32);
                let first = self.op(Type::I32, &format!("and i32 {mask}, {a}"));
                let rest = self.op(Type::I32, &format!("xor i32 {mask}, -1"));
                let second = self.op(Type::I32, &format!("and i32 {rest}, {b}"));
                self.op(Type::I32, &format!("or i32 {first}, {second}"));
            }
        }
    }

    /// A pointer into an array of words.
    fn pointer(&mut self, base: &str, space: u32, index: &str) -> String {
        let name = self.name();
        let text = match base {
            "lds" => format!("[64 x i32], ptr addrspace(3) @lds, i32 0, i32 {index}"),
            "table" => format!("[16 x i32], ptr addrspace(4) @table, i32 0, i32 {index}"),
            "own" => format!("[{} x i32], ptr addrspace(5) %own, i32 0, i32 {index}", self.private),
            _ => format!("i32, ptr addrspace({space}) %{base}, i32 {index}"),
        };
        self.body += &format!("  {name} = getelementptr {text}\n");
        name
    }

    /// An index below a limit.
    fn index(&mut self, limit: u64) -> String {
        if self.random.below(3) == 0 {
            return self.random.below(limit).to_string();
        }
        let value = self.pick(Type::I32);
        if limit.is_power_of_two() {
            return self.op(Type::I32, &format!("and i32 {value}, {}", limit - 1));
        }
        let most = (limit - 1).to_string();
        self.call(Type::I32, "llvm.umin.i32", &[(Type::I32, value), (Type::I32, most)])
    }

    fn load(&mut self) {
        match self.random.below(8) {
            0 => {
                let index = self.index(16);
                let place = self.pointer("table", 4, &index);
                self.op(Type::I32, &format!("load i32, ptr addrspace(4) {place}"));
            }
            1 if self.private > 0 => {
                let index = self.index(self.private);
                let place = self.pointer("own", 5, &index);
                self.op(Type::I32, &format!("load i32, ptr addrspace(5) {place}"));
            }
            2 => {
                let index = self.index(64);
                let place = self.pointer("in", 1, &index);
                let small = self.one_of(&["i8", "i16"]);
                let part = self.name();
                self.body += &format!("  {part} = load {small}, ptr addrspace(1) {place}\n");
                let op = self.one_of(&["zext", "sext"]);
                self.op(Type::I32, &format!("{op} {small} {part} to i32"));
            }
            which => {
                let ty = [Type::I32, Type::F32, Type::V4F32, Type::V2I32, Type::V4I32, Type::I64]
                    [if which < 6 { which as usize - 1 } else { 0 } % 6];
                let index = self.pick(Type::I32);
                let place = self.pointer("in", 1, &index);
                self.op(ty, &format!("load {}, ptr addrspace(1) {place}", ty.name()));
            }
        }
    }

    fn store(&mut self) {
        match self.random.below(8) {
            0 if self.private > 0 => {
                let index = self.index(self.private);
                let value = self.pick(Type::I32);
                let place = self.pointer("own", 5, &index);
                self.body += &format!("  store i32 {value}, ptr addrspace(5) {place}\n");
            }
            1 => {
                let index = self.pick(Type::I32);
                let value = self.pick(Type::I32);
                let place = self.pointer("out", 1, &index);
                let small = self.one_of(&["i8", "i16"]);
                let part = self.name();
                self.body += &format!("  {part} = trunc i32 {value} to {small}\n");
                self.body += &format!("  store {small} {part}, ptr addrspace(1) {place}\n");
            }
            which => {
                let ty = [Type::I32, Type::F32, Type::V4F32, Type::V2I32, Type::I64, Type::V4I32]
                    [which as usize % 6];
                let index = self.pick(Type::I32);
                let value = self.pick(ty);
                let place = self.pointer("out", 1, &index);
                self.body += &format!("  store {} {value}, ptr addrspace(1) {place}\n", ty.name());
            }
        }
    }

    /// Accesses to local memory, with a barrier outside of branches.
    fn local(&mut self) {
        let index = self.index(64);
        let place = self.pointer("lds", 3, &index);
        match self.random.below(6) {
            0 | 1 => {
                self.op(Type::I32, &format!("load i32, ptr addrspace(3) {place}"));
            }
            2 => {
                let value = self.pick(Type::I32);
                self.body += &format!("  store i32 {value}, ptr addrspace(3) {place}\n");
            }
            3 if self.block == "entry" => self.void_call("llvm.r600.group.barrier", &[]),
            4 => {
                let (old, new) = (self.pick(Type::I32), self.pick(Type::I32));
                let pair = self.name();
                self.body += &format!(
                    "  {pair} = cmpxchg ptr addrspace(3) {place}, i32 {old}, i32 {new} seq_cst seq_cst\n"
                );
                self.op(Type::I32, &format!("extractvalue {{ i32, i1 }} {pair}, 0"));
            }
            _ => {
                let value = self.pick(Type::I32);
                let op =
                    self.one_of(&["add", "sub", "and", "or", "xor", "min", "max", "umin", "umax", "xchg"]);
                self.op(Type::I32, &format!("atomicrmw {op} ptr addrspace(3) {place}, i32 {value} seq_cst"));
            }
        }
    }

    /// An atomic operation on global memory, whose result nobody uses, because LLVM has no other; or a
    /// store to a typed target.
    fn atomic(&mut self) {
        let index = self.pick(Type::I32);
        let value = self.pick(Type::I32);
        let place = self.pointer("out", 1, &index);
        if self.random.below(4) == 0 {
            let (texel, place) = (self.pick(Type::V4I32), self.pick(Type::V4I32));
            let target = self.random.below(8).to_string();
            let arguments = [(Type::V4I32, texel), (Type::V4I32, place), (Type::I32, target)];
            return self.void_call("llvm.r600.rat.store.typed", &arguments);
        }
        let op = self.one_of(&["add", "sub", "and", "or", "xor", "min", "max", "umin", "umax", "xchg"]);
        let name = self.name();
        self.body += &format!("  {name} = atomicrmw {op} ptr addrspace(1) {place}, i32 {value} seq_cst\n");
    }

    /// What only shaders do.
    fn graphics(&mut self) {
        if self.stage == Stage::Kernel {
            return self.vector();
        }
        match self.random.below(4) {
            0 if self.stage == Stage::Pixel => {
                let value = self.pick(Type::F32);
                self.void_call("llvm.r600.kill", &[(Type::F32, value)]);
            }
            0 => {
                let mut arguments = vec![(Type::V4F32, self.vector_of_floats())];
                for limit in [4, 4, 4] {
                    arguments.push((Type::I32, self.random.below(limit).to_string()));
                }
                self.void_call("llvm.r600.store.stream.output", &arguments);
            }
            1 => {
                let vector = self.vector_of_floats();
                self.call(Type::V4F32, "llvm.r600.cube", &[(Type::V4F32, vector)]);
            }
            _ => {
                // LLVM 22 has no patterns for the other ones.
                let name = self.one_of(&["tex", "texc"]);
                let mut arguments = vec![(Type::V4F32, self.vector_of_floats())];
                for limit in [4, 4, 4, 16, 16, 2, 2, 2, 2] {
                    arguments.push((Type::I32, self.random.below(limit).to_string()));
                }
                let texel = self.call(Type::V4F32, &format!("llvm.r600.{name}"), &arguments);
                self.op(Type::F32, &format!("extractelement <4 x float> {texel}, i32 0"));
            }
        }
    }

    fn label(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    fn start(&mut self, block: &str) {
        self.body += &format!("{block}:\n");
        block.clone_into(&mut self.block);
    }

    /// Statements whose values end with them, except for the one that is returned.
    fn inside(&mut self, ty: Type, depth: u32) -> String {
        let before = self.values.len();
        let count = 1 + self.random.below(6);
        self.statements(count, depth - 1);
        let value = self.pick(ty);
        self.values.truncate(before);
        value
    }

    fn branch(&mut self, depth: u32) {
        let test = self.condition();
        let (then, other, end) = (self.label("then"), self.label("else"), self.label("end"));
        let ty = if self.random.below(3) == 0 { Type::F32 } else { Type::I32 };
        let has_else = self.random.below(2) == 0;
        let before = self.block.clone();
        let default = self.pick(ty);
        let otherwise = if has_else { &other } else { &end };
        self.body += &format!("  br i1 {test}, label %{then}, label %{otherwise}\n");
        self.start(&then);
        let first = self.inside(ty, depth);
        let from_first = self.block.clone();
        self.body += &format!("  br label %{end}\n");
        let (second, from_second) = if has_else {
            self.start(&other);
            let value = self.inside(ty, depth);
            let from = self.block.clone();
            self.body += &format!("  br label %{end}\n");
            (value, from)
        } else {
            (default, before)
        };
        self.start(&end);
        self.op(ty, &format!("phi {} [ {first}, %{from_first} ], [ {second}, %{from_second} ]", ty.name()));
    }

    /// A loop with a count, and in some an end in the middle.
    fn repeat(&mut self, depth: u32) {
        let (top, latch, end) = (self.label("loop"), self.label("latch"), self.label("end"));
        let (before, start, bound) = (self.block.clone(), self.pick(Type::I32), self.pick(Type::I32));
        self.body += &format!("  br label %{top}\n");
        let (count, next, sum, value) = (self.name(), self.name(), self.name(), self.name());
        self.start(&top);
        self.body += &format!("  {count} = phi i32 [ 0, %{before} ], [ {next}, %{latch} ]\n");
        self.body += &format!("  {sum} = phi i32 [ {start}, %{before} ], [ {value}, %{latch} ]\n");
        let known = self.values.len();
        self.values.extend([(Type::I32, count.clone()), (Type::I32, sum.clone())]);
        let inner = self.inside(Type::I32, depth);
        let mut ends = Vec::new();
        if self.random.below(2) == 0 {
            let test = self.condition();
            ends.push(format!("[ {sum}, %{} ]", self.block));
            self.body += &format!("  br i1 {test}, label %{end}, label %{latch}\n");
        } else {
            self.body += &format!("  br label %{latch}\n");
        }
        self.start(&latch);
        self.body += &format!("  {value} = add i32 {sum}, {inner}\n");
        self.body += &format!("  {next} = add i32 {count}, 1\n");
        let test = self.name();
        self.body += &format!("  {test} = icmp ult i32 {next}, {bound}\n");
        self.body += &format!("  br i1 {test}, label %{top}, label %{end}\n");
        ends.push(format!("[ {value}, %{latch} ]"));
        self.values.truncate(known);
        self.start(&end);
        self.op(Type::I32, &format!("phi i32 {}", ends.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_program() {
        assert_eq!(random_r600_program(7), random_r600_program(7));
        assert_ne!(random_r600_program(7), random_r600_program(8));
        let all: String = (0..100).map(random_r600_program).collect();
        for part in ["amdgpu_kernel", "amdgpu_ps", "amdgpu_vs", "phi", "@table", "atomicrmw", "alloca"] {
            assert!(all.contains(part), "{part}");
        }
    }
}
