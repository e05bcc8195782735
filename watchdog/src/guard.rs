//! The guard: the second role of the binary.
