//! Text form of AMD GPU instructions: printer in LLVM syntax.
