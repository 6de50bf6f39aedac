//! Rows, formats, decoder and encoder of the AMD GPU instruction sets that Wavemill implements.
