//! Tests of programs through the public interface.

mod functions;
mod graphs;
mod guarded;
mod programs;
mod random;
mod values;
