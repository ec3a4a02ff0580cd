//! Functions that a loop calls with blocks of elements.

use std::fmt;
use std::hash::{Hash, Hasher};

use opgrid_core::DType;

/// Code that computes the elements of a block from those of a block for each argument, all of one length.
pub type BlockFunction<T> = fn(&mut [T], &[&[T]]);

#[derive(Clone, Copy)]
enum Code {
    F32(BlockFunction<f32>),
    F64(BlockFunction<f64>),
}

/// An elementary function, as code for whole blocks of elements.
///
/// It is the code of an eager operator, so that a fused loop gives the same bits. Each result depends on the arguments at its
/// place only: a loop may call the function with a block of any length. Functions are told apart by their name, number of
/// arguments and dtype.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_jit::Function;
///
/// let square = Function::f32("square", 1, |out, args| {
///     for (out, x) in out.iter_mut().zip(args[0]) {
///         *out = x * x;
///     }
/// });
/// assert_eq!((square.name(), square.dtype()), ("square", DType::F32));
/// ```
#[derive(Clone, Copy)]
pub struct Function {
    name: &'static str,
    arity: usize,
    code: Code,
}

impl Function {
    /// A function of single-precision numbers.
    pub const fn f32(name: &'static str, arity: usize, code: BlockFunction<f32>) -> Self {
        Self { name, arity, code: Code::F32(code) }
    }

    /// A function of double-precision numbers.
    pub const fn f64(name: &'static str, arity: usize, code: BlockFunction<f64>) -> Self {
        Self { name, arity, code: Code::F64(code) }
    }

    /// The function's name, for reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The number of arguments.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// The dtype of arguments and results.
    pub fn dtype(&self) -> DType {
        match self.code {
            Code::F32(_) => DType::F32,
            Code::F64(_) => DType::F64,
        }
    }

    /// The code, if it is for single-precision numbers.
    pub(crate) fn as_f32(&self) -> Option<BlockFunction<f32>> {
        match self.code {
            Code::F32(code) => Some(code),
            Code::F64(_) => None,
        }
    }

    /// The code, if it is for double-precision numbers.
    pub(crate) fn as_f64(&self) -> Option<BlockFunction<f64>> {
        match self.code {
            Code::F32(_) => None,
            Code::F64(code) => Some(code),
        }
    }

    fn key(&self) -> (&'static str, usize, DType) {
        (self.name, self.arity, self.dtype())
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.dtype())
    }
}
