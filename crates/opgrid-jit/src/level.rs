//! How programs compute.

use std::fmt;

/// How a program computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// By loops over blocks, one for each operation. Every processor can.
    Interpreter,
    /// By machine code with the vectors of AVX2.
    Avx2,
    /// By machine code with the vectors of AVX-512.
    Avx512,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interpreter => "interpreter",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}
