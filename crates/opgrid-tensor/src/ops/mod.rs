//! The operators, one file for each family; to add one, write its file and its line in the list below.
//!
//! A file declares overloads with [`operator!`](macro@opgrid_core::operator), registers their kernels and gives [samples](crate::samples) of
//! them. Its header gives the formula, shapes, dtypes, aliasing, errors and source.

mod comparison;
mod extremum;
mod factory;
mod indexing;
mod pointwise;
mod prelude;
mod products;
mod truth;

use opgrid_core::{Dispatcher, Library, Registration, Result};

use crate::samples::Samples;

/// Declares the modules, re-exports their overloads and lists their registrations.
///
/// `operators! { add, mul }` expands to `pub mod add; pub use add::*;`, the same for `mul`, and a function
/// `define_all` that calls `add::register` and `mul::register`, and another, `sample_all`, that does so with `samples`.
macro_rules! operators {
    ($($name:ident),* $(,)?) => {
        $(
            pub mod $name;
            pub use $name::*;
        )*

        fn define_all(library: &mut Library) {
            $($name::register(library);)*
        }

        fn sample_all(samples: &mut Samples) {
            $($name::samples(samples);)*
        }
    };
}

operators! {
    abs,
    add,
    addmm,
    all,
    allclose,
    amax,
    amin,
    any,
    arange,
    argmax,
    as_strided,
    bmm,
    cat,
    clone,
    contiguous,
    copy,
    div,
    empty,
    empty_like,
    empty_strided,
    eq,
    equal,
    exp,
    expand,
    eye,
    fill,
    flatten,
    full,
    gather,
    ge,
    gt,
    index,
    index_put,
    index_select,
    isclose,
    isfinite,
    isnan,
    le,
    linspace,
    local_scalar_dense,
    log,
    logical_and,
    logical_not,
    logical_or,
    lt,
    masked_fill,
    matmul,
    maximum,
    mean,
    minimum,
    mm,
    mul,
    ne,
    neg,
    normal,
    ones,
    permute,
    pow,
    rand,
    randn,
    reciprocal,
    relu,
    reshape,
    rsub,
    scalar_tensor,
    select,
    sigmoid,
    slice,
    sqrt,
    squeeze,
    stack,
    sub,
    sum,
    tanh,
    to_copy,
    transpose,
    uniform,
    unsqueeze,
    view,
    where_self,
    zeros,
}

/// The differences from torch that come of what operators share.
pub(crate) const DIFFERENCES: [&[crate::samples::Difference]; 3] =
    [crate::families::result::DIFFERENCES, pointwise::DIFFERENCES, factory::DIFFERENCES];

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
