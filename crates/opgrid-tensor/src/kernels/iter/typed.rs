//! Turns closures over elements into kernels over blocks: the only code that is compiled for each operator and dtype.
#![allow(unsafe_code)]

use std::slice;

use super::places;
use super::walk::Block;
use crate::kernels::simd::vectorised;
use crate::tensor::Element;

/// A closure over pointers, which only [`Block::run`] calls.
pub(super) struct Kernel<F>(F);

impl<F: Fn(*mut u8, [*const u8; 3], usize) + Sync> Block for Kernel<F> {
    unsafe fn run(&self, out: *mut u8, inputs: [*const u8; 3], n: usize) {
        (self.0)(out, inputs, n);
    }
}

/// Elements that are widened, computed and narrowed in a loop each, where that are three types.
const PART: usize = 64;

/// Defines a function that makes a kernel of a closure, for elements of its types in their order. It widens elements to
/// what is computed in, and narrows results.
///
/// The closure is copied into the loop: what it has captured by value stays in registers, what it refers to does not,
/// because for all that the compiler knows it may lie in the output.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($input:ident: $type:ident at $k:literal),*)) => {
        $(#[$doc])*
        pub(super) fn $name<Out: Element, $($type: Element),*>(
            f: impl Fn($($type::Math),*) -> Out::Math + Copy + Sync,
        ) -> Kernel<impl Fn(*mut u8, [*const u8; 3], usize) + Sync> {
            Kernel(move |out: *mut u8, inputs: [*const u8; 3], n| {
                // SAFETY: the field is private, and `Block::run` asks for `n` places of the output's dtype.
                let out = unsafe { places(out.cast::<Out>(), n) };
                $(
                    // SAFETY: as above, for `n` elements of the input's dtype; the output is apart.
                    let $input = unsafe { slice::from_raw_parts(inputs[$k].cast::<$type>(), n) };
                )*
                vectorised(move || {
                    let mut whole = 0;
                    // Decided before there is code, so that only types whose results are narrowed have these loops.
                    if const { size_of::<Out>() != size_of::<Out::Math>() } {
                        whole = n - n % PART;
                        for start in (0..whole).step_by(PART) {
                            let end = start + PART;
                            $(let narrow = &$input[start..end];
                            let mut $input = [<$type::Math>::default(); PART];
                            for (wide, narrow) in $input.iter_mut().zip(narrow) {
                                *wide = narrow.widen();
                            })*
                            let mut results = [<Out::Math>::default(); PART];
                            for (i, result) in results.iter_mut().enumerate() {
                                *result = f($($input[i]),*);
                            }
                            for (place, result) in out[start..end].iter_mut().zip(results) {
                                place.write(Out::narrow(result));
                            }
                        }
                    }
                    for i in whole..n {
                        out[i].write(Out::narrow(f($($input[i].widen()),*)));
                    }
                });
            })
        }
    };
}

kernel! {
    /// `out[i] = f(a[i])`.
    unary(a: A at 0)
}

kernel! {
    /// `out[i] = f(a[i], b[i])`.
    binary(a: A at 0, b: B at 1)
}

kernel! {
    /// `out[i] = f(a[i], b[i], c[i])`.
    ternary(a: A at 0, b: B at 1, c: C at 2)
}
