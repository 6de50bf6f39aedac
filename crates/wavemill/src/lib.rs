//! Run AMD GPU code objects on the CPU.
