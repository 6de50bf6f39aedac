//! The reference engine and waves that it hands over.
