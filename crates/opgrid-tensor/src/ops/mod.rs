//! The operators, in groups, one file for each family; to add one, write its file and its line in the list below.
//!
//! A file declares overloads with [`operator!`](macro@opgrid_core::operator), registers their kernels and gives [samples](crate::samples) of
//! them. Its header gives the formula, shapes, dtypes, aliasing, errors and source. What the operators of a kind share
//! stands in `kinds/`.

mod kinds;
mod prelude;

use opgrid_core::{Dispatcher, Library, Registration, Result};

use crate::samples::Samples;

/// Declares the modules, re-exports their overloads and lists their registrations.
///
/// `operators! { pointwise { add, mul } }` expands to `pub mod pointwise { pub mod add; pub mod mul; }`, whose files are
/// `pointwise/add.rs` and `pointwise/mul.rs`, to `pub use pointwise::add::*;` and the same for `mul`, and to a function
/// `define_all` that calls `register` of each file, and another, `sample_all`, that does so with `samples`.
macro_rules! operators {
    ($($(#[$about:meta])* $group:ident { $($name:ident),* $(,)? })*) => {
        $(
            $(#[$about])*
            pub mod $group {
                $(pub mod $name;)*

                pub(super) fn register(library: &mut opgrid_core::Library) {
                    $($name::register(library);)*
                }

                pub(super) fn samples(samples: &mut crate::samples::Samples) {
                    $($name::samples(samples);)*
                }
            }
            $(pub use $group::$name::*;)*
        )*

        fn define_all(library: &mut Library) {
            $($group::register(library);)*
        }

        fn sample_all(samples: &mut Samples) {
            $($group::samples(samples);)*
        }
    };
}

operators! {
    /// Computes each element from the elements at its place.
    pointwise {
        abs,
        add,
        div,
        exp,
        isfinite,
        isnan,
        log,
        logical_and,
        logical_not,
        logical_or,
        maximum,
        minimum,
        mul,
        neg,
        pow,
        reciprocal,
        relu,
        rsub,
        sigmoid,
        sqrt,
        sub,
        tanh,
        where_self,
    }

    /// Compares elements, or whole tensors.
    comparisons {
        allclose,
        eq,
        equal,
        ge,
        gt,
        isclose,
        le,
        lt,
        ne,
    }

    /// Makes one element of many.
    reductions {
        all,
        amax,
        amin,
        any,
        argmax,
        mean,
        sum,
    }

    /// Multiplies matrices.
    products {
        addmm,
        bmm,
        matmul,
        mm,
    }

    /// Gives other sizes and strides to the same memory.
    views {
        as_strided,
        expand,
        flatten,
        permute,
        reshape,
        select,
        slice,
        squeeze,
        transpose,
        unsqueeze,
        view,
    }

    /// Makes tensors from sizes and options.
    factories {
        arange,
        empty,
        empty_like,
        empty_strided,
        eye,
        full,
        linspace,
        ones,
        scalar_tensor,
        zeros,
    }

    /// Draws random numbers.
    random {
        normal,
        rand,
        randn,
        uniform,
    }

    /// Copies elements, between tensors or from and to numbers.
    copies {
        clone,
        contiguous,
        copy,
        fill,
        local_scalar_dense,
        to_copy,
    }

    /// Reads or writes the elements that indices or masks choose.
    indexing {
        gather,
        index,
        index_put,
        index_select,
        masked_fill,
    }

    /// Puts tensors together.
    joining {
        cat,
        stack,
    }
}

/// The differences from torch that come of what operators share.
pub(crate) const DIFFERENCES: [&[crate::samples::Difference]; 3] =
    [crate::families::result::DIFFERENCES, kinds::pointwise::DIFFERENCES, kinds::factory::DIFFERENCES];

/// Gives a dispatcher the operators of this crate, the namespace `aten`; dropping the registration takes them back.
///
/// # Errors
///
/// The namespace is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("aten");
    define_all(&mut library);
    library.finish()
}

/// The samples of the operators of this crate, for the suite of `opgrid-testing`.
pub fn samples() -> Samples {
    let mut samples = Samples::new();
    sample_all(&mut samples);
    samples
}

/// Gives the global dispatcher the operators, unless it has them.
///
/// Typed overloads of this crate do so on their first call. It takes no lock while listeners run: they may call
/// operators.
///
/// # Errors
///
/// Somebody else has taken the namespace `aten`.
pub fn home() -> Result<()> {
    let global = Dispatcher::global();
    let present = || global.find("aten::empty.memory_format").is_ok();
    if present() {
        return Ok(());
    }
    match register(global) {
        Ok(registration) => {
            registration.keep();
            Ok(())
        }
        // Another thread was faster.
        Err(_) if present() => Ok(()),
        Err(error) => Err(error),
    }
}
