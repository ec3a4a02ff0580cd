//! Machine code for x86-64 processors with AVX2 or AVX-512.
//!
//! A loop computes sixteen (AVX-512) or eight (AVX2) elements of every value at a time, several times over where there are registers
//! for that. Values of 32 bits and fewer take one register:
//!
//! ```text
//! float32, int32      as they are
//! bool                32 bits each, all set or none
//! bfloat16, float16   the float32 of that value
//! float64, int64      two registers: elements 0 to 7 (or 3), and the others
//! ```
//!
//! So results of conversions, comparisons and choices lie where their operands lie, and one set of rules covers all dtypes.

mod emit;
mod executable;
mod generate;
mod registers;

use opgrid_array::loops::{Isa, isa};
use opgrid_core::{DType, Error, ErrorKind, Result};

use crate::assembler::{Assemble, BlockCode, Body};
use crate::expression::{Binary, Expression, Node, Value};
use crate::level::Level;

/// The best level that the processor and the system allow.
pub(crate) fn best_level() -> Level {
    let level = match isa() {
        Isa::Any => Level::Interpreter,
        Isa::V3 => Level::Avx2,
        Isa::V4 => Level::Avx512,
    };
    if level > Level::Interpreter && executable::is_refused() { Level::Interpreter } else { level }
}

/// The generator for a level that is not above the best one.
pub(crate) fn assembler(level: Level) -> Option<Box<dyn Assemble>> {
    match level {
        Level::Interpreter => None,
        Level::Avx2 => Some(Box::new(Generator { vectors: Vectors::Avx2 })),
        Level::Avx512 => Some(Box::new(Generator { vectors: Vectors::Avx512 })),
    }
}

/// The registers and instructions that code uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vectors {
    Avx2,
    Avx512,
}

impl Vectors {
    /// Bytes of a register.
    fn bytes(self) -> usize {
        match self {
            Self::Avx2 => 32,
            Self::Avx512 => 64,
        }
    }

    /// Elements that are computed at a time.
    fn lanes(self) -> usize {
        self.bytes() / 4
    }

    /// The number of registers.
    fn registers(self) -> usize {
        match self {
            Self::Avx2 => 16,
            Self::Avx512 => 32,
        }
    }
}

struct Generator {
    vectors: Vectors,
}

impl Assemble for Generator {
    fn has_code(&self, expression: &Expression, value: Value) -> bool {
        let dtype = expression.dtype(value);
        let node = expression.node(value);
        if dtype == DType::U8 || node.operands().any(|operand| expression.dtype(operand) == DType::U8) {
            return false;
        }
        let wide = self.vectors == Vectors::Avx512;
        match node {
            Node::Call(..) => false,
            Node::Binary(Binary::Multiply, ..) => dtype != DType::I64 || wide,
            Node::Convert(a) => has_conversion(expression.dtype(*a), dtype, wide),
            _ => true,
        }
    }

    fn assemble(&self, expression: &Expression, body: &Body) -> Result<Option<Box<dyn BlockCode>>> {
        let generated = generate::generate(self.vectors, expression, body).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("machine code of a fused loop cannot be encoded: {error}"),
            )
        })?;
        let Some(code) = generated else { return Ok(None) };
        let executable = executable::Code::new(&code);
        Ok(executable.map(|code| Box::new(code) as Box<dyn BlockCode>))
    }
}

/// Whether there are instructions for a conversion. Floats become integers by the interpreter: there are no instructions for those
/// beyond the integers' range.
fn has_conversion(from: DType, to: DType, wide: bool) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I32, I64};
    match (from, to) {
        (_, Bool) | (Bool, _) => true,
        (F32 | F16 | BF16, F32 | F16 | BF16 | F64) | (F64, F32) => true,
        (I32, F32 | F64 | I64) | (I64, I32) => true,
        (I64, F32 | F64) => wide,
        _ => false,
    }
}
