//! Turns closures over elements into kernels over blocks: the only code that is compiled for each operator and dtype.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

use super::places;
use super::walk::Block;
use crate::kernels::function::Function;
use crate::kernels::simd::VectorLoop;
use crate::tensor::Element;

/// Elements that are widened, computed and narrowed in a loop each, where that are three types.
const PART: usize = 64;

/// Elements that are looked at before it is decided how they are computed.
const PIECE: usize = 512;

/// A kernel: what is computed, and for elements of which types, the output's first.
///
/// It is a pair rather than a struct, so that its loop is compiled with the operator that has the closure: see `simd`.
pub(super) type Kernel<F, T> = (F, PhantomData<fn() -> T>);

/// The kernel of a function.
#[inline]
pub(super) fn kernel<F, T>(f: F) -> Kernel<F, T> {
    (f, PhantomData)
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
            unsafe fn run(&self, out: *mut u8, inputs: [*const u8; 3], n: usize) {
                // SAFETY: the caller's promise: `n` places of the output's dtype.
                let out = unsafe { places(out.cast::<Out>(), n) };
                $(
                    // SAFETY: as above, for `n` elements of the input's dtype; the output is apart.
                    let $input = unsafe { slice::from_raw_parts(inputs[$k].cast::<$type>(), n) };
                )*
                (self.0, out, $($input),*).vectorised();
            }
        }

        $(#[$doc])*
        impl<F, Out: Element, $($type: Element),*> VectorLoop for (F, &mut [MaybeUninit<Out>], $(&[$type]),*)
        where
            F: Function<($($type::Math,)*), Output = Out::Math>,
        {
            type Output = ();
            const IS_LONG: bool = F::IS_LONG;

            #[inline(always)]
            fn run(self) {
                let (f, out, $($input),*) = self;
                let n = out.len();
                let mut whole = 0;
                // Decided before there is code, so that only types whose results are narrowed have these loops.
                if const { size_of::<Out>() != size_of::<Out::Math>() } {
                    let (parts, _) = out.as_chunks_mut::<PART>();
                    $(let ($input, _) = $input.as_chunks::<PART>();)*
                    for (part, out) in parts.iter_mut().enumerate() {
                        $(let narrow = &$input[part];
                        let mut $input = [<$type::Math>::default(); PART];
                        for i in 0..PART {
                            $input[i] = narrow[i].widen();
                        })*
                        let mut results = [<Out::Math>::default(); PART];
                        if const { F::IS_PARTIAL } && !(0..PART).fold(true, |all, i| all & f.covers(($($input[i],)*))) {
                            for i in 0..PART {
                                results[i] = f.call_any(($($input[i],)*));
                            }
                        } else {
                            for i in 0..PART {
                                results[i] = f.call(($($input[i],)*));
                            }
                        }
                        for i in 0..PART {
                            out[i].write(Out::narrow(results[i]));
                        }
                    }
                    whole = n - n % PART;
                }
                // Decided before there is code, as above.
                if const { F::IS_PARTIAL } {
                    while whole < n {
                        let end = n.min(whole + PIECE);
                        let covered = (whole..end).fold(true, |all, i| all & f.covers(($($input[i].widen(),)*)));
                        if covered {
                            for i in whole..end {
                                out[i].write(Out::narrow(f.call(($($input[i].widen(),)*))));
                            }
                        } else {
                            for i in whole..end {
                                out[i].write(Out::narrow(f.call_any(($($input[i].widen(),)*))));
                            }
                        }
                        whole = end;
                    }
                }
                for i in whole..n {
                    out[i].write(Out::narrow(f.call(($($input[i].widen(),)*))));
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
