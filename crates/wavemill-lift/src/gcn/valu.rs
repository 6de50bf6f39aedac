//! What the vector ALU formats share: modifiers, SDWA and DPP become attributes.
