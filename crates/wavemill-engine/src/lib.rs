//! Executes Wavemill wave IR: wave state, guest memory, scheduler, interpreter.
