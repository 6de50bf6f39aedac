//! Machine code in the making: instructions, labels, and a pool of constants behind the code.

use std::collections::HashMap;

use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, Register};

use super::registers::{FILE, POOL};

/// A place in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

/// Collects machine code. The first error is kept until the end, so that emitting code needs no handling of errors.
pub(crate) struct Assembler {
    encoder: Encoder,
    bytes: Vec<u8>,
    /// Offset of each label, once it is known.
    labels: Vec<Option<usize>>,
    /// Offsets of 32-bit distances to labels. They are the last bytes of their instructions.
    distances: Vec<(usize, Label)>,
    /// Constants with their numbers.
    constants: HashMap<u32, usize>,
    /// Constants of 64 bits with the numbers of their first halves.
    pairs: HashMap<u64, usize>,
    pool: Vec<u32>,
    /// Vectors of constants, and their numbers. They come before the others.
    vectors: Vec<[u32; 16]>,
    vector_numbers: HashMap<[u32; 16], usize>,
    /// Offset of the distance from the code to the pool.
    pool_distance: Option<usize>,
    error: Option<IcedError>,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Assembler {
            encoder: Encoder::new(64),
            bytes: Vec::new(),
            labels: Vec::new(),
            distances: Vec::new(),
            constants: HashMap::new(),
            pairs: HashMap::new(),
            pool: Vec::new(),
            vectors: Vec::new(),
            vector_numbers: HashMap::new(),
            pool_distance: None,
            error: None,
        }
    }

    /// Appends an instruction. Registers that do not fit it are an error at the end.
    pub(crate) fn put(&mut self, instruction: Result<Instruction, IcedError>) {
        let at = self.bytes.len() as u64;
        match instruction.and_then(|instruction| self.encoder.encode(&instruction, at)) {
            Ok(_) => {
                let mut buffer = self.encoder.take_buffer();
                self.bytes.extend_from_slice(&buffer);
                buffer.clear();
                self.encoder.set_buffer(buffer);
            }
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label stands for the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.bytes.len());
    }

    /// The same, and a jump there as the last instruction is not needed.
    pub(crate) fn bind_after_jump(&mut self, label: Label) {
        const JUMP: u8 = 0xe9;
        let end = self.bytes.len();
        if self.distances.last() == Some(&(end.wrapping_sub(4), label))
            && self.bytes[end - 5] == JUMP
            && !self.labels.contains(&Some(end))
        {
            self.distances.pop();
            self.bytes.truncate(end - 5);
        }
        self.bind(label);
    }

    /// A jump, conditional or not, with a 32-bit distance.
    pub(crate) fn jump(&mut self, code: Code, to: Label) {
        let next = self.bytes.len() as u64;
        self.put(Instruction::with_branch(code, next));
        self.distances.push((self.bytes.len() - 4, to));
    }

    /// Loads the address of the pool.
    pub(crate) fn load_pool(&mut self) {
        let next = self.bytes.len() as i64;
        let operand = MemoryOperand::with_base_displ(Register::RIP, next);
        self.put(Instruction::with2(Code::Lea_r64_m, POOL, operand));
        self.pool_distance = Some(self.bytes.len() - 4);
    }

    /// Memory with a 32-bit constant.
    pub(crate) fn constant(&mut self, value: u32, broadcast: bool) -> MemoryOperand {
        let pool = &mut self.pool;
        let number = *self.constants.entry(value).or_insert_with(|| {
            pool.push(value);
            pool.len() - 1
        });
        // Vectors have the addresses below the register, the others those above.
        memory(POOL, 4 * number as i64, broadcast)
    }

    /// Memory with a 64-bit constant.
    pub(crate) fn constant_pair(&mut self, value: u64, broadcast: bool) -> MemoryOperand {
        let pool = &mut self.pool;
        let number = *self.pairs.entry(value).or_insert_with(|| {
            pool.extend([value as u32, (value >> 32) as u32]);
            pool.len() - 2
        });
        memory(POOL, 4 * number as i64, broadcast)
    }

    /// Memory with a vector of constants.
    pub(crate) fn vector(&mut self, value: [u32; 16]) -> MemoryOperand {
        let vectors = &mut self.vectors;
        let number = *self.vector_numbers.entry(value).or_insert_with(|| {
            vectors.push(value);
            vectors.len() - 1
        });
        memory(POOL, -64 * (number as i64 + 1), false)
    }

    /// The code with its pool.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, IcedError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0xcc);
        let vectors = self.vectors.iter().rev().flatten().copied();
        self.bytes.extend(vectors.flat_map(u32::to_le_bytes));
        let pool = self.bytes.len();
        for word in &self.pool {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        let distances = self.distances.iter().map(|(at, label)| (*at, self.labels[label.0].unwrap_or(0)));
        let pool = self.pool_distance.map(|at| (at, pool));
        for (at, target) in distances.chain(pool).collect::<Vec<_>>() {
            let distance = target as i64 - (at as i64 + 4);
            self.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        Ok(self.bytes)
    }
}

/// Memory at an offset from a register.
pub(crate) fn memory(base: Register, offset: i64, broadcast: bool) -> MemoryOperand {
    MemoryOperand::new(base, Register::None, 1, offset, 1, broadcast, Register::None)
}

/// Memory in the register file.
pub(crate) fn in_file(offset: u32) -> MemoryOperand {
    memory(FILE, i64::from(offset), false)
}
