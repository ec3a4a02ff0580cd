//! Computes nodes of an expression block by block: the reference for machine code, and what computes the nodes that have none.
//!
//! Each node is one loop over a block, by the arithmetic of [`opgrid_array::loops::arithmetic`], which eager operators use.

use opgrid_array::loops::arithmetic::{Arithmetic, Ordered};
use opgrid_array::loops::simd::vectorised;
use opgrid_array::{Bool, Element};
use opgrid_core::DType;

use crate::element::{Block, Lane, with_lane};
use crate::expression::{Binary, Comparison, Expression, Node, Unary, Value};
use crate::function::Function;

/// Evaluates an expression with the Rust type of a dtype for which there is arithmetic.
macro_rules! with_number {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $type = f32;
                $body
            }
            DType::F64 => {
                type $type = f64;
                $body
            }
            DType::I32 => {
                type $type = i32;
                $body
            }
            DType::I64 => {
                type $type = i64;
                $body
            }
            DType::U8 => {
                type $type = u8;
                $body
            }
            DType::Bool => {
                type $type = Bool;
                $body
            }
            other => unreachable!("expressions do not compute with {other}"),
        }
    };
}

/// Computes the first `n` elements of a node that is neither an input nor a number. `block_of` gives the blocks of its operands.
pub(crate) fn evaluate<'b>(
    expression: &Expression,
    value: Value,
    out: &mut Block,
    block_of: impl Fn(Value) -> &'b Block,
    n: usize,
) {
    let dtype = expression.dtype(value);
    match &expression.nodes[value.index()] {
        Node::Load(_) | Node::Constant(_) => unreachable!("inputs and numbers are brought into blocks"),
        Node::Convert(a) => {
            let block = block_of(*a);
            with_lane!(expression.dtype(*a), A => with_lane!(dtype, O => map1(out, block, n, |a: A| a.cast::<O>())));
        }
        Node::Unary(function, a) => with_number!(dtype, T => T::unary(*function, out, block_of(*a), n)),
        Node::Binary(function, a, b) => {
            with_number!(dtype, T => binary::<T>(*function, out, [block_of(*a), block_of(*b)], n));
        }
        Node::Compare(comparison, a, b) => {
            let blocks = [block_of(*a), block_of(*b)];
            with_number!(expression.dtype(*a), T => compare::<T>(*comparison, out, blocks, n));
        }
        Node::Select(condition, a, b) => {
            let condition = Bool::elements(block_of(*condition));
            let [a, b] = [block_of(*a), block_of(*b)];
            with_lane!(dtype, T => select::<T>(out, condition, [a, b], n));
        }
        Node::Call(function, args) => {
            let args: Vec<&Block> = args.iter().map(|arg| block_of(*arg)).collect();
            call(function, out, &args, n);
        }
    }
}

/// Writes `f` of each element.
fn map1<O: Lane, A: Lane>(out: &mut Block, a: &Block, n: usize, f: impl Fn(A) -> O) {
    let (out, a) = (&mut O::elements_mut(out)[..n], &A::elements(a)[..n]);
    vectorised(
        #[inline(always)]
        || {
            for (out, a) in out.iter_mut().zip(a) {
                *out = f(*a);
            }
        },
    );
}

/// Writes `f` of each pair of elements.
fn map2<O: Lane, A: Lane>(out: &mut Block, [a, b]: [&Block; 2], n: usize, f: impl Fn(A, A) -> O) {
    let (out, a, b) = (&mut O::elements_mut(out)[..n], &A::elements(a)[..n], &A::elements(b)[..n]);
    vectorised(
        #[inline(always)]
        || {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = f(*a, *b);
            }
        },
    );
}

/// A type with the functions of one value that expressions have for it.
trait Compute: Lane {
    fn unary(function: Unary, out: &mut Block, a: &Block, n: usize);

    /// A function of two values that only floats have, or that others have.
    fn special(function: Binary, out: &mut Block, blocks: [&Block; 2], n: usize);
}

/// The functions of bits and those of floats exclude each other, which `Expression` has checked.
macro_rules! floats {
    ($($type:ident),*) => {
        $(impl Compute for $type {
            fn unary(function: Unary, out: &mut Block, a: &Block, n: usize) {
                match function {
                    Unary::Negate => map1(out, a, n, |a: Self| -a),
                    Unary::Absolute => map1(out, a, n, |a: Self| a.abs()),
                    Unary::SquareRoot => map1(out, a, n, |a: Self| a.sqrt()),
                    Unary::Ceil => map1(out, a, n, |a: Self| a.ceil()),
                    Unary::Floor => map1(out, a, n, |a: Self| a.floor()),
                    Unary::Trunc => map1(out, a, n, |a: Self| a.trunc()),
                    Unary::Round => map1(out, a, n, |a: Self| a.round_ties_even()),
                    Unary::Not => unreachable!("floats have no bits to invert"),
                }
            }

            fn special(function: Binary, out: &mut Block, blocks: [&Block; 2], n: usize) {
                match function {
                    Binary::Divide => map2(out, blocks, n, |a: Self, b: Self| a / b),
                    other => unreachable!("floats have no {other:?}"),
                }
            }
        })*
    };
}

macro_rules! integers {
    ($($type:ident: |$value:ident| $absolute:expr;)*) => {
        $(impl Compute for $type {
            fn unary(function: Unary, out: &mut Block, a: &Block, n: usize) {
                match function {
                    Unary::Negate => map1(out, a, n, |a: Self| a.negated()),
                    Unary::Absolute => map1(out, a, n, |$value: Self| $absolute),
                    Unary::Not => map1(out, a, n, |a: Self| !a),
                    other => unreachable!("integers have no {other:?}"),
                }
            }

            fn special(function: Binary, out: &mut Block, blocks: [&Block; 2], n: usize) {
                match function {
                    Binary::And => map2(out, blocks, n, |a: Self, b: Self| a & b),
                    Binary::Or => map2(out, blocks, n, |a: Self, b: Self| a | b),
                    Binary::Xor => map2(out, blocks, n, |a: Self, b: Self| a ^ b),
                    other => unreachable!("integers have no {other:?}"),
                }
            }
        })*
    };
}

floats!(f32, f64);
integers! {
    i32: |value| value.wrapping_abs();
    i64: |value| value.wrapping_abs();
    u8: |value| value;
}

impl Compute for Bool {
    fn unary(function: Unary, out: &mut Block, a: &Block, n: usize) {
        match function {
            Unary::Not => map1(out, a, n, |a: Self| Self::from(!a.is_true())),
            other => unreachable!("bools have no {other:?}"),
        }
    }

    fn special(function: Binary, out: &mut Block, blocks: [&Block; 2], n: usize) {
        match function {
            Binary::And => binary::<Self>(Binary::Multiply, out, blocks, n),
            Binary::Or => binary::<Self>(Binary::Add, out, blocks, n),
            Binary::Xor => binary::<Self>(Binary::Subtract, out, blocks, n),
            other => unreachable!("bools have no {other:?}"),
        }
    }
}

fn binary<T: Compute + Arithmetic + Ordered>(
    function: Binary,
    out: &mut Block,
    blocks: [&Block; 2],
    n: usize,
) {
    match function {
        Binary::Add => map2(out, blocks, n, T::plus),
        Binary::Subtract => map2(out, blocks, n, T::minus),
        Binary::Multiply => map2(out, blocks, n, T::times),
        Binary::Larger => map2(out, blocks, n, T::larger),
        Binary::Smaller => map2(out, blocks, n, T::smaller),
        special => T::special(special, out, blocks, n),
    }
}

fn compare<T: Lane + Ordered>(comparison: Comparison, out: &mut Block, blocks: [&Block; 2], n: usize) {
    match comparison {
        Comparison::Less => map2(out, blocks, n, |a: T, b: T| Bool::from(a.is_below(b))),
        Comparison::LessEqual => map2(out, blocks, n, |a: T, b: T| Bool::from(a.is_at_most(b))),
        Comparison::Equal => map2(out, blocks, n, |a: T, b: T| Bool::from(a == b)),
        Comparison::NotEqual => map2(out, blocks, n, |a: T, b: T| Bool::from(a != b)),
    }
}

fn select<T: Lane>(out: &mut Block, condition: &[Bool], [a, b]: [&Block; 2], n: usize) {
    let (out, condition) = (&mut T::elements_mut(out)[..n], &condition[..n]);
    let (a, b) = (&T::elements(a)[..n], &T::elements(b)[..n]);
    vectorised(
        #[inline(always)]
        || {
            for i in 0..n {
                out[i] = if condition[i].is_true() { a[i] } else { b[i] };
            }
        },
    );
}

fn call(function: &Function, out: &mut Block, args: &[&Block], n: usize) {
    if let Some(code) = function.as_f32() {
        let args: Vec<&[f32]> = args.iter().map(|arg| &f32::elements(arg)[..n]).collect();
        code(&mut f32::elements_mut(out)[..n], &args);
    }
    if let Some(code) = function.as_f64() {
        let args: Vec<&[f64]> = args.iter().map(|arg| &f64::elements(arg)[..n]).collect();
        code(&mut f64::elements_mut(out)[..n], &args);
    }
}
