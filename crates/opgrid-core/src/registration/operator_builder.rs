//! What is said of one operator in a library: how it is defined, and its kernels.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use opgrid_schema::AliasAnalysis;

use crate::calling::call::{BoxedCall, Next};
use crate::calling::columns::Column;
use crate::calling::conditions::Condition;
use crate::calling::kernel::Kernel;
use crate::error::Result;
use crate::keys::key::DispatchKey;
use crate::keys::set::DispatchKeySet;
use crate::place::Place;
use crate::registration::library::{Begun, Library};
use crate::registration::overload::{ArgsOf, KernelOf, KernelWithKeysOf, Operator, OutputOf, ReturningOf};

/// The kernels of one operator in a library.
///
/// Methods that take plain functions are there for overloads known at compile time, where the compiler checks each
/// against the schema; [`add`](Self::add) takes any [`Kernel`].
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, operator};
///
/// operator! {
///     Scale = "docs::scale(int x, int by=2) -> int";
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library.define(Scale).tag("pointwise").kernel(DispatchKey::CompositeExplicitAutograd, |x, by| Ok(x * by));
/// let _registration = library.finish()?;
/// assert_eq!(dispatcher.call(Scale, (3, 4))?, 12);
/// assert!(dispatcher.find("docs::scale")?.schema()?.to_string().ends_with("int by=2) -> int"));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct OperatorBuilder<'l, T> {
    library: &'l mut Library,
    operator: Begun,
    /// Invariant, as everything that a signature belongs to.
    target: PhantomData<fn(T) -> T>,
}

impl<'l, T> OperatorBuilder<'l, T> {
    pub(super) fn new(library: &'l mut Library, operator: Begun) -> Self {
        Self { library, operator, target: PhantomData }
    }

    /// Tags the definition. Of an operator that is only implemented here, this is an error of the library.
    pub fn tag(self, tag: &str) -> Self {
        if let Some(definition) = self.library.definition(&self.operator, "a tag") {
            definition.tags.push(tag.to_owned());
        }
        self
    }

    /// Gives the definition another text for dumps and errors than where it stands. Of an operator that is only
    /// implemented here, this is an error of the library; kernels have [`Kernel::describe`].
    pub fn describe(self, text: &str) -> Self {
        if let Some(definition) = self.library.definition(&self.operator, "a description") {
            definition.origin.description = Some(text.into());
        }
        self
    }

    /// Says what the operator does, in words for people: instead of the doc comment of `operator!`, or for a schema text.
    /// Of an operator that is only implemented here, this is an error of the library.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{Dispatcher, operator};
    ///
    /// operator! {
    ///     /// Half of a number, rounded down.
    ///     Half = "docs::half(int x) -> int";
    /// }
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("docs");
    /// let _ = library.define(Half);
    /// let _ = library.define("twice(int x) -> int").document("Double a number.");
    /// let _registration = library.finish()?;
    /// assert_eq!(dispatcher.find("docs::half")?.documentation(), "Half of a number, rounded down.");
    /// assert_eq!(dispatcher.find("docs::twice")?.documentation(), "Double a number.");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn document(self, text: impl Into<Cow<'static, str>>) -> Self {
        if self.library.definition(&self.operator, "documentation").is_some() {
            self.library.document(&self.operator, text.into());
        }
        self
    }

    /// Says how compilers may treat aliases of the operator. Of an operator that is only implemented here, this is an
    /// error of the library.
    pub fn alias_analysis(self, kind: Option<AliasAnalysis>) -> Self {
        if let Some(definition) = self.library.definition(&self.operator, "an alias analysis") {
            Arc::make_mut(&mut definition.schema).alias_analysis = kind;
        }
        self
    }

    /// Leaves the operator out of what profilers see: it only looks something up. Of an operator that is only
    /// implemented here, this is an error of the library.
    pub fn unobserved(self) -> Self {
        if let Some(definition) = self.library.definition(&self.operator, "being unobserved") {
            definition.unobserved = true;
        }
        self
    }

    /// Adds a kernel: for its own key ([`Kernel::at`]), else for the library's, else as a composite
    /// (`CompositeImplicitAutograd`).
    #[allow(clippy::should_implement_trait, reason = "libraries are no numbers")]
    #[track_caller]
    pub fn add(self, kernel: impl Into<Kernel>) -> Self {
        self.library.add_kernel(&self.operator, kernel.into(), Place::here());
        self
    }

    /// Gives the operator a value of a column, which goes when the registration does. One that is defined elsewhere may
    /// get it too.
    #[track_caller]
    pub fn column<C: Column>(self, value: C) -> Self {
        self.library.add_column(&self.operator, value, Place::here());
        self
    }

    /// Puts providers into an order: those named come first, then the others as they were registered. With a key for
    /// that cell, without one for every cell of the operator that has no order of its own; the newest order counts.
    pub fn order(self, key: impl Into<Option<DispatchKey>>, names: &[&str]) -> Self {
        self.library.add_order(&self.operator, key.into(), names);
        self
    }

    /// Skips `key` for this operator.
    #[track_caller]
    pub fn fallthrough(self, key: DispatchKey) -> Self {
        self.add(Kernel::fallthrough().at(key))
    }

    /// Adds a boxed kernel for `key`.
    #[track_caller]
    pub fn boxed(
        self,
        key: DispatchKey,
        kernel: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.add(Kernel::boxed(kernel).at(key))
    }
}

impl<O: Operator> OperatorBuilder<'_, O> {
    /// Adds a function as the kernel for `key`.
    #[track_caller]
    pub fn kernel(self, key: DispatchKey, kernel: KernelOf<O>) -> Self {
        self.add(Kernel::function::<O::Signature>(kernel).at(key))
    }

    /// Adds a function that takes the keys of the call in front of the arguments.
    #[track_caller]
    pub fn kernel_with_keys(self, key: DispatchKey, kernel: KernelWithKeysOf<O>) -> Self {
        self.add(Kernel::function_with_keys::<O::Signature>(kernel).at(key))
    }

    /// Adds a function as the provider `name` for `key`: cells hold as many providers as have names of their own, and
    /// the first whose condition holds runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{AnyTensor as Tensor, DispatchKey, Dispatcher, Result, operator};
    ///
    /// operator! {
    ///     pub Scale = "myops::scale(Tensor self, int factor) -> Tensor";
    /// }
    ///
    /// fn shifted(input: &Tensor, _factor: i64) -> Result<Tensor> {
    ///     Ok(input.clone())
    /// }
    ///
    /// fn multiplied(input: &Tensor, _factor: i64) -> Result<Tensor> {
    ///     Ok(input.clone())
    /// }
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library
    ///     .define(Scale)
    ///     .provider(DispatchKey::Cpu, "shift", shifted)
    ///     .when("factor is a power of two", |_, factor| Ok(factor.count_ones() == 1))
    ///     .provider(DispatchKey::Cpu, "multiply", multiplied);
    /// let _registration = library.finish()?;
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[track_caller]
    pub fn provider(self, key: DispatchKey, name: &str, kernel: KernelOf<O>) -> Self {
        self.add(Kernel::function::<O::Signature>(kernel).named(name).at(key))
    }

    /// Lets the kernel that was added last run only where the condition holds. `text` completes "runs when …".
    ///
    /// The condition looks before anything is moved or written; its errors are errors of the call.
    pub fn when(self, text: &str, holds: ReturningOf<O, bool>) -> Self {
        self.library.add_condition(&self.operator, Condition::typed::<O::Signature>(text, holds));
        self
    }

    /// Adds a closure over the arguments as a tuple.
    #[track_caller]
    pub fn closure(
        self,
        key: DispatchKey,
        kernel: impl for<'a> Fn(ArgsOf<'a, O>) -> Result<OutputOf<O>> + Send + Sync + 'static,
    ) -> Self {
        self.add(Kernel::closure::<O::Signature>(kernel).at(key))
    }

    /// Adds a function that chooses the keys with which calls go on from `key`: see [`Kernel::selecting`].
    #[track_caller]
    pub fn selecting(self, key: DispatchKey, select: ReturningOf<O, DispatchKeySet>) -> Self {
        self.add(Kernel::selecting::<O::Signature>(select).at(key))
    }

    /// Adds a closure that can call on to the keys below `key`.
    #[track_caller]
    pub fn layer(
        self,
        key: DispatchKey,
        kernel: impl for<'n, 'a> Fn(Next<'n, O::Signature>, ArgsOf<'a, O>) -> Result<OutputOf<O>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.add(Kernel::layer::<O::Signature>(kernel).at(key))
    }
}
