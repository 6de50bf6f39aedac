//! MODE, and the part of it that one operation uses.

/// A rounding mode, numbered as in MODE (Vega ISA 6.4, table 22).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// To the nearest number, ties to even.
    NearestEven,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
    /// Towards zero.
    Zero,
}

impl Round {
    /// All rounding modes in the order of their numbers.
    pub const ALL: [Round; 4] = [Round::NearestEven, Round::Up, Round::Down, Round::Zero];
}

/// One of the two sets of fields of MODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The fields of f32: rounding in MODE\[1:0\], denormals in MODE\[5:4\].
    Single,
    /// The fields of f64 and f16: rounding in MODE\[3:2\], denormals in MODE\[7:6\].
    Double,
}

/// The value of the MODE register (Vega ISA 3.4, table 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode(pub u32);

impl Mode {
    fn bit(self, n: u32) -> bool {
        self.0 >> n & 1 != 0
    }

    fn shift(field: Field) -> u32 {
        match field {
            Field::Single => 0,
            Field::Double => 2,
        }
    }

    /// The rounding mode.
    #[must_use]
    pub fn round(self, field: Field) -> Round {
        Round::ALL[(self.0 >> Self::shift(field) & 3) as usize]
    }

    /// Whether denormal sources are kept.
    #[must_use]
    pub fn keeps_inputs(self, field: Field) -> bool {
        self.bit(4 + Self::shift(field))
    }

    /// Whether denormal results are kept.
    #[must_use]
    pub fn keeps_outputs(self, field: Field) -> bool {
        self.bit(5 + Self::shift(field))
    }

    /// The environment of an operation that uses only one set of fields.
    #[must_use]
    pub fn env(self, field: Field) -> Env {
        Env {
            round: self.round(field),
            keeps_inputs: self.keeps_inputs(field),
            keeps_outputs: self.keeps_outputs(field),
            dx10_clamp: self.bit(8),
            ieee: self.bit(9),
            fp16_ovfl: self.bit(23),
        }
    }
}

/// The environment of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Env {
    /// The rounding mode of results.
    pub round: Round,
    /// Denormal sources are kept; otherwise they read as zeros with their sign.
    pub keeps_inputs: bool,
    /// Denormal results are kept; otherwise they become zeros with their sign.
    pub keeps_outputs: bool,
    /// A clamp turns a NaN into zero.
    pub dx10_clamp: bool,
    /// Minimum and maximum return a signalling NaN, quieted, and output modifiers have no effect.
    pub ieee: bool,
    /// An f16 that overflows becomes the largest finite number.
    pub fp16_ovfl: bool,
}

impl Env {
    /// Nearest even, denormals kept, IEEE and DX10_CLAMP on: the initial state of compute kernels.
    pub const DEFAULT: Env = Env {
        round: Round::NearestEven,
        keeps_inputs: true,
        keeps_outputs: true,
        dx10_clamp: true,
        ieee: true,
        fp16_ovfl: false,
    };

    /// With denormals flushed on both sides.
    #[must_use]
    pub fn flushing(self) -> Env {
        Env { keeps_inputs: false, keeps_outputs: false, ..self }
    }

    /// With denormals kept on both sides.
    #[must_use]
    pub fn keeping(self) -> Env {
        Env { keeps_inputs: true, keeps_outputs: true, ..self }
    }

    /// With another rounding mode.
    #[must_use]
    pub fn rounding(self, round: Round) -> Env {
        Env { round, ..self }
    }
}
