//! Movement between lanes.

ops! {
    /// Operations that move values between lanes, or between lanes and uniform cells.
    pub enum LaneOp {
        /// Uniform `dst` = `src0` of lane `src1` (modulo 64); whichever lanes are active.
        ReadLane = "readlane" (B32, U32) -> (U32);
        /// Uniform `dst` = `src0` of the lowest active lane, of lane 0 if none is active.
        ReadFirstLane = "readfirstlane" (B32) -> (U32);
        /// Lane `src1` (modulo 64) of `dst` = uniform `src0`; whichever lanes are active.
        WriteLane = "writelane" (U32, U32) -> (B32) updates;
        /// Lane `i` of `src1` goes to lane `(src0 + imm) / 4 mod 64`; the highest source lane wins, lanes that nobody
        /// writes read 0.
        Permute = "permute" (B32, B32) -> (B32);
        /// `dst` = `src1` of lane `(src0 + imm) / 4 mod 64`, 0 if that lane is inactive.
        BackPermute = "bpermute" (B32, B32) -> (B32);
        /// Exchanges the rows `dst[0]` and `dst[1]` in the active lanes.
        Swap = "swap" () -> (B32, B32) updates;
        /// Exchanges lanes 16..31 of each half of `dst[0]` with lanes 0..15 of `dst[1]`.
        Permlane16Swap = "permlane16_swap" () -> (B32, B32) updates;
        /// Exchanges lanes 32..63 of `dst[0]` with lanes 0..31 of `dst[1]`.
        Permlane32Swap = "permlane32_swap" () -> (B32, B32) updates;
    }
}
