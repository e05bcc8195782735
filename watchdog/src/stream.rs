//! Byte streams on any kind of descriptor.
