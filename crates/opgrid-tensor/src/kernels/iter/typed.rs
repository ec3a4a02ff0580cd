//! Turns closures over elements into kernels over blocks: the only code that is compiled for each operator and dtype.
#![allow(unsafe_code)]

use std::slice;

use super::places;
use crate::kernels::simd::vectorised;
use crate::tensor::Element;

/// Defines a function that makes a kernel of a closure: for pointers to `n` elements of its dtypes, the output's
/// apart from the others. It widens elements to what is computed in, and narrows results.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($input:ident: $type:ident at $k:literal),*)) => {
        $(#[$doc])*
        pub(super) fn $name<Out: Element, $($type: Element),*>(
            f: impl Fn($($type::Math),*) -> Out::Math + Sync,
        ) -> impl Fn(*mut u8, [*const u8; 3], usize) + Sync {
            move |out, inputs, n| {
                // SAFETY: the kernel's callers hand over `n` elements for each pointer.
                let out = unsafe { places(out.cast::<Out>(), n) };
                $(
                    // SAFETY: as above; the output is apart.
                    let $input = unsafe { slice::from_raw_parts(inputs[$k].cast::<$type>(), n) };
                )*
                vectorised(|| {
                    for i in 0..n {
                        out[i].write(Out::narrow(f($($input[i].widen()),*)));
                    }
                });
            }
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
