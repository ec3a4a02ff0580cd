//! Turns closures over elements into kernels over blocks: the only code that is compiled for each operator and dtype.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

use opgrid_core::DType;

use super::narrow::{self, is_narrow, is_widened};
use super::places;
use super::walk::{Block, Rows};
use crate::Element;
use crate::loops::function::Function;
use crate::loops::simd::VectorLoop;

/// Elements that are computed again where one of them is not covered.
const PIECE: usize = 512;

/// The larger one, as what becomes one instruction.
#[inline(always)]
fn larger(one: u32, other: u32) -> u32 {
    if one > other { one } else { other }
}

/// The result of a function, where products and sums are fused or not. A function, because the compiler inlines all calls
/// of those that say so, but of closures only short ones.
#[inline(always)]
fn call<F: Function<Args>, Args, const FUSED: bool>(f: F, args: Args) -> F::Output {
    if FUSED { f.call(args) } else { f.call_unfused(args) }
}

/// Calls a function on arguments of any element type.
#[inline(always)]
fn call_any<F: Function<Args>, Args, const FUSED: bool>(f: F, args: Args) -> F::Output {
    if FUSED { f.call_any(args) } else { f.call_any_unfused(args) }
}

/// A kernel: what is computed, and for elements of which types, the output's first.
///
/// It is a pair rather than a struct, so that its loop is compiled with the operator that has the closure: see `simd`.
pub(super) type Kernel<F, T> = (F, PhantomData<fn() -> T>);

/// The kernel of a function.
#[inline]
pub(super) fn kernel<F, T>(f: F) -> Kernel<F, T> {
    (f, PhantomData)
}

/// Rows of elements of types `T`, the output's first.
///
/// Invariant: they are as [`Block::run`] asks.
pub(super) struct Lines<'a, T> {
    rows: &'a Rows,
    elements: PhantomData<fn() -> T>,
}

/// Whether a kernel of such a function has code for an output that is the first input: elements of one type, which
/// are computed as they are.
const fn writes_over<Out: Element, A: Element>(asked: bool) -> bool {
    let same = matches!(
        (Out::DTYPE, A::DTYPE),
        (DType::F32, DType::F32) | (DType::F64, DType::F64) | (DType::I64, DType::I64)
    );
    asked && same
}

/// Defines the loop of functions with so many arguments. It widens elements to what is computed in, and narrows results.
///
/// The function is copied into the loop: what it has captured by value stays in registers, what it refers to does not,
/// because for all that the compiler knows it may lie in the output.
macro_rules! kernels {
    ($(#[$doc:meta])* $($input:ident: $type:ident at $k:literal),*) => {
        impl<F, Out: Element, $($type: Element),*> Block for Kernel<F, (Out, $($type,)*)>
        where
            F: Function<($($type::Math,)*), Output = Out::Math>,
        {
            fn writes_over(&self) -> bool {
                const { writes_over::<Out, A>(F::WRITES_OVER) }
            }

            fn is_long(&self) -> bool {
                F::IS_LONG
            }

            unsafe fn run(&self, rows: &Rows) {
                // Decided before there is code. What is short is faster in one loop.
                if const {
                    is_narrow::<Out>() && (F::IS_LONG || F::IS_PARTIAL) $(&& is_widened::<$type>())*
                } {
                    let kernel = kernel::<F, (Out::Math, $($type::Math,)*)>(self.0);
                    // SAFETY: passed on; the kernel is that for the dtypes that narrow ones are widened to.
                    unsafe { narrow::run(&kernel, const { &[Out::DTYPE, $($type::DTYPE),*] }, rows) };
                    return;
                }
                (self.0, Lines::<(Out, $($type,)*)> { rows, elements: PhantomData }).vectorised();
            }
        }

        $(#[$doc])*
        impl<F, Out: Element, $($type: Element),*> VectorLoop for (F, Lines<'_, (Out, $($type,)*)>)
        where
            F: Function<($($type::Math,)*), Output = Out::Math>,
        {
            type Output = ();
            const IS_WIDE: bool = F::IS_WIDE;

            #[inline(always)]
            fn run(self) {
                Lines::<(Out, $($type,)*)>::run::<F, true>(self);
            }

            #[inline(always)]
            fn run_unfused(self) {
                Lines::<(Out, $($type,)*)>::run::<F, { cfg!(not(target_arch = "x86_64")) }>(self);
            }
        }

        impl<Out: Element, $($type: Element),*> Lines<'_, (Out, $($type,)*)> {
            /// The loop, with products and sums at once where `FUSED`.
            #[inline(always)]
            fn run<F, const FUSED: bool>((f, Self { rows, .. }): (F, Self))
            where
                F: Function<($($type::Math,)*), Output = Out::Math>,
            {
                let Rows { out, inputs, down: [out_down, down @ ..], n, count } = *rows;
                // Decided before there is code.
                if const { writes_over::<Out, A>(F::WRITES_OVER) } && out.cast_const() == inputs[0] {
                    for row in 0..count {
                        // The output and the first input by one pointer, so that the compiler knows how they lie.
                        let out = out.wrapping_add(row * out_down);
                        let mut starts = inputs;
                        for k in 1..starts.len() {
                            starts[k] = inputs[k].wrapping_add(row * down[k]);
                        }
                        starts[0] = out;
                        for i in 0..n {
                            $(
                                // SAFETY: the rows are as `Block::run` asks; the element is initialised and aligned.
                                let $input = unsafe { starts[$k].cast::<$type>().add(i).read() };
                            )*
                            let result = Out::narrow(call::<F, _, FUSED>(f, ($($input.widen(),)*)));
                            // SAFETY: the rows are as `Block::run` asks; this is an aligned place of the output.
                            unsafe { out.cast::<Out>().add(i).write(result) };
                        }
                    }
                    return;
                }
                for row in 0..count {
                    // SAFETY: the rows are as `Block::run` asks: `n` places of the output's dtype.
                    let out = unsafe { places(out.wrapping_add(row * out_down).cast::<Out>(), n) };
                    $(
                        let start = inputs[$k].wrapping_add(row * down[$k]).cast::<$type>();
                        // SAFETY: the rows are as `Block::run` asks: `n` initialised elements of the
                        // input's dtype; the output is apart.
                        let $input = unsafe { slice::from_raw_parts(start, n) };
                    )*
                    Self::row::<F, FUSED>(f, out, $($input),*);
                }
            }

            /// One row.
            ///
            /// Elements are taken from the slices themselves, by their numbers. Then the compiler knows that none of them
            /// is a place of the output, and neither compares addresses nor has a second loop for where one is. Of a part of
            /// a slice, or of what a method gives, it does not know that in builds that compile parts of a crate anew.
            #[inline(always)]
            fn row<F, const FUSED: bool>(f: F, out: &mut [MaybeUninit<Out>], $($input: &[$type]),*)
            where
                F: Function<($($type::Math,)*), Output = Out::Math>,
            {
                let n = out.len();
                // Of one length, so that nothing is checked in the loops.
                $(assert!($input.len() == n);)*
                let mut whole = 0;
                // Decided before there is code.
                if const { F::IS_PARTIAL } {
                    while whole < n {
                        let end = n.min(whole + PIECE);
                        let mut distance = 0;
                        for i in whole..end {
                            distance = larger(distance, f.distance(($($input[i].widen(),)*)));
                            let result = call::<F, _, FUSED>(f, ($($input[i].widen(),)*));
                            out[i] = MaybeUninit::new(Out::narrow(result));
                        }
                        if distance > F::REACH {
                            for i in whole..end {
                                let result = call_any::<F, _, FUSED>(f, ($($input[i].widen(),)*));
                                out[i] = MaybeUninit::new(Out::narrow(result));
                            }
                        }
                        whole = end;
                    }
                }
                for i in whole..n {
                    let result = call::<F, _, FUSED>(f, ($($input[i].widen(),)*));
                    out[i] = MaybeUninit::new(Out::narrow(result));
                }
            }
        }
    };
}

kernels! {
    /// `out[i] = f(a[i])`.
    a: A at 0
}

kernels! {
    /// `out[i] = f(a[i], b[i])`.
    a: A at 0, b: B at 1
}

kernels! {
    /// `out[i] = f(a[i], b[i], c[i])`.
    a: A at 0, b: B at 1, c: C at 2
}
