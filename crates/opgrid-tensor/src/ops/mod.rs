//! The declarations of operators, in groups: schemas, doc comments and methods of [`Tensor`](crate::Tensor).
//!
//! What an operator does stands in a crate above, in the file that its declaration names: `pointwise { add { … } }` is registered by
//! `pointwise/add.rs` of `opgrid-operators-pointwise`. The linker brings both together, so that a program has the operators that
//! it names, and layers and networks depend on declarations alone (design 0033).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opgrid_core::schema::OperatorName;
use opgrid_core::{Dispatcher, ErrorKind, OnDemand, Registration, Result};

/// The linker symbol under which a crate above this one gives the registration of an operator file. It has the version, so that two
/// versions of opgrid in one program keep apart, and a crate of another version is an error of the linker.
#[doc(hidden)]
#[macro_export]
macro_rules! __registration_symbol {
    ($group:ident, $name:ident) => {
        concat!(
            "opgrid-operators-",
            env!("CARGO_PKG_VERSION"),
            "::",
            stringify!($group),
            "::",
            stringify!($name)
        )
    };
}

/// Declares the overloads of a group: a module for each operator file, whose registration is linked from the crate above.
///
/// `declarations! { pointwise { add { pub AddTensor = "…", method; } } }` expands to `pub mod add` with the overloads and their
/// group `OPERATORS`, whose `register` is the function that the list of the implementing crate, `operators! { pointwise { add } }`,
/// exports; to `overloads`, a module of all of them; to `GROUPS`; and to a block of the methods, which has the documentation of the group. What `register` defines by schema strings is named behind
/// the file, as in `sizes ("aten::sym_is_contiguous") { … }`.
macro_rules! declarations {
    ($(#[$heading:meta])* $group:ident { $($name:ident $(($($other:tt),+))? { $($operators:tt)* })* }) => {
        $(
            #[doc = concat!("The overloads of `", stringify!($group), "/", stringify!($name), ".rs`.")]
            pub mod $name {
                use opgrid_core::{Library, operator_types};

                use crate::tensor::Tensor;

                // SAFETY: `opgrid_kinds::operators!` alone exports a function under this name, with the version in it and this
                // signature.
                #[allow(unsafe_code)]
                unsafe extern "Rust" {
                    #[link_name = crate::__registration_symbol!($group, $name)]
                    safe fn register(library: &mut Library);
                }

                operator_types! {
                    register_with = crate::ops::ensure_group_registered(register $($(, $other)+)?);
                    $($operators)*
                }
            }
        )*

        /// All overloads of the group.
        pub(super) mod overloads {
            $(pub use super::$name::*;)*
        }
        #[allow(unused_imports, reason = "methods name some")]
        use overloads::*;
        #[allow(unused_imports, reason = "some groups have no methods")]
        use crate::tensor::Tensor;

        opgrid_core::operator_methods! {
            $(#[$heading])*
            impl Tensor;
            $($($operators)*)*
        }

        /// What is registered when one of its operators is needed.
        pub(super) static GROUPS: &[&opgrid_core::OnDemand] = &[$(&$name::OPERATORS),*];
    };
}

/// Declares the files of declarations and re-exports their overloads.
///
/// `groups! { /// … pointwise, }` expands to `pub mod pointwise;`, to a module `overloads` of all overloads, which is re-exported,
/// and to the list `GROUPS`.
macro_rules! groups {
    ($($(#[$about:meta])* $group:ident),* $(,)?) => {
        $($(#[$about])* pub mod $group;)*

        /// All overloads, without the modules that hold them: crates that implement operators have modules of the same names.
        pub mod overloads {
            $(pub use super::$group::overloads::*;)*
        }
        pub use overloads::*;

        /// What is registered when one of its operators is needed: a list for each group.
        static GROUPS: &[&[&OnDemand]] = &[$($group::GROUPS),*];
    };
}

groups! {
    /// Computes each element from the elements at its place.
    pointwise,
    /// Compares elements, or whole tensors.
    comparisons,
    /// Makes one element of many.
    reductions,
    /// Joins each element with all before it along a dimension.
    scans,
    /// Divides exponentials by their sum.
    softmaxes,
    /// Puts elements in order, or looks for them where they are so.
    sorting,
    /// Multiplies matrices.
    products,
    /// Factors matrices, solves equations, finds eigenvalues.
    linalg,
    /// Gives other sizes and strides to the same memory.
    views,
    /// Makes tensors from sizes and options.
    factories,
    /// Draws random numbers.
    random,
    /// Copies elements, between tensors or from and to numbers.
    copies,
    /// Reads or writes the elements that indices or masks choose.
    indexing,
    /// Puts tensors together.
    joining,
    /// Activation functions of networks, and their slopes.
    activations,
    /// Computes special functions of elements: those of Bessel, gamma, zeta and others, and orthogonal polynomials.
    special,
    /// Takes complex numbers apart and puts them together.
    complex,
    /// Says how far predictions are from what they should be.
    losses,
    /// Asks what a tensor is like.
    questions,
    /// Puts a frame around tensors.
    padding,
    /// Sums products of filters with the patches of images.
    convolutions,
    /// Measures how far points lie from each other.
    distances,
    /// Transforms numbers to frequencies, and back.
    fourier,
    /// Makes one element of those under a window that moves over images.
    pooling,
    /// Computes images of other sizes, or puts their elements elsewhere.
    resampling,
    /// Takes averages away from elements and divides by deviations.
    normalisations,
    /// Adds up values by how well queries fit keys.
    attention,
    /// Goes through sequences step by step.
    recurrent,
    /// Looks up rows of tables.
    embeddings,
    /// Updates parameters by their gradients.
    optimizers,
}

pub use copies::{Conversion, NonBlocking};

/// Gives a dispatcher the operators of this crate, the namespace `aten`; dropping the registration takes them back. Those of a
/// file are registered when one of them is needed.
///
/// # Errors
///
/// The namespace is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("aten");
    for group in GROUPS {
        library.on_demand(group);
    }
    library.finish()
}

/// Gives the global dispatcher all operators, unless it has them.
///
/// Typed overloads of this crate register their own on their first call, and with the feature `all-operators` do this. With the
/// operators comes the layer that records gradients. Threads that ask meanwhile wait; a listener that is notified of the operators may
/// call them.
///
/// # Errors
///
/// Somebody else has taken the namespace `aten`, or the fallback for autograd.
pub fn ensure_registered() -> Result<()> {
    layers()?;
    ALL.once(|| {
        let mut library = Dispatcher::global().fragment("aten");
        for group in GROUPS {
            library.on_demand(group);
        }
        match library.finish() {
            Ok(registration) => registration.keep(),
            // Somebody has given them to the global dispatcher himself.
            Err(error) if error.kind() == ErrorKind::Duplicate => {}
            Err(error) => return Err(error),
        }
        Ok(())
    })
}

/// Gives the global dispatcher the operators of one file, and what a program has with them.
///
/// # Errors
///
/// As [`ensure_registered`], and those of the file's registration.
pub(crate) fn ensure_group_registered(group: &'static OnDemand) -> Result<()> {
    // Without the feature nothing leads from here to the list of all files, so that programs link those that they name.
    if cfg!(feature = "all-operators") {
        ensure_registered()?
    } else {
        layers()?
    }
    Dispatcher::global().demand(group)
}

/// Gives the global dispatcher the namespace and the layers of gradients and of fake tensors, without operators.
///
/// # Errors
///
/// As [`ensure_registered`].
pub(crate) fn layers() -> Result<()> {
    LAYERS.once(|| {
        let global = Dispatcher::global();
        // Who registers the operators himself installs layers himself. Others may have operators of their own in the namespace.
        let is_ours = |name: &OperatorName| name.name == "aten::empty" && name.overload == "memory_format";
        if global.names().iter().any(is_ours) {
            return Ok(());
        }
        let mut registration = crate::layers::autograd::install(global)?;
        registration.join(crate::layers::fake::install(global)?);
        let mut library = global.library("aten");
        if !cfg!(feature = "all-operators") {
            library.hint(
                "a program without the feature `all-operators` holds the operators that it names in Rust, by \
                 `Dispatcher::operator(AddTensor)` or a call; `opgrid::dispatcher()` registers all",
            );
        }
        registration.join(library.finish()?);
        registration.keep();
        Ok(())
    })
}

/// The first use of the operators, and of the layer that records gradients.
static ALL: Step = Step::new();
static LAYERS: Step = Step::new();

/// What is held while the process forks. A thread that forks in a step of its own has it already.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    if !IS_MAKING.get() {
        held.lock(&ALL.alone);
        held.lock(&LAYERS.alone);
    }
}

/// Something that is done once for the process.
struct Step {
    is_done: AtomicBool,
    alone: Mutex<()>,
}

thread_local! {
    /// Whether a step is done on this thread.
    static IS_MAKING: Cell<bool> = const { Cell::new(false) };
}

impl Step {
    const fn new() -> Self {
        Self { is_done: AtomicBool::new(false), alone: Mutex::new(()) }
    }

    /// Takes the step, unless it was taken. Who comes meanwhile waits, and who comes from within goes on: a listener that calls
    /// what it is notified of.
    fn once(&self, take: impl FnOnce() -> Result<()>) -> Result<()> {
        /// Says that the thread is through, also where a listener panicked.
        struct Through;
        impl Drop for Through {
            fn drop(&mut self) {
                IS_MAKING.set(false);
            }
        }
        if self.is_done.load(Ordering::Acquire) || IS_MAKING.get() {
            return Ok(());
        }
        crate::forking::prepare();
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_done.load(Ordering::Acquire) {
            IS_MAKING.set(true);
            let _through = Through;
            take()?;
            self.is_done.store(true, Ordering::Release);
        }
        Ok(())
    }
}
