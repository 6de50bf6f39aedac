//! The meaning of every AMD GPU instruction, as Wavemill wave IR.
