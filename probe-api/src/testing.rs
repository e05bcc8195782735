//! A scripted context for the tests of probes.
