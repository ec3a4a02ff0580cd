//! What a plugin registers: libraries of definitions and kernels, put together as the host's own are.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char};
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;

use opgrid_abi::{
    OPGRID_BLOCK_FRAGMENT, OPGRID_BLOCK_IMPLEMENTATIONS, OPGRID_BLOCK_LIBRARY, OPGRID_CAST_FULL,
    OPGRID_CAST_LOWER, OPGRID_CAST_TO, OPGRID_CAST_WIDEST, OpgridBlock, OpgridDefinition, OpgridLibrary,
};

use crate::call::{BoxedCall, Next};
use crate::error::{Error, ErrorKind, Result, check};
use crate::host::{self, c_text};
use crate::kernel::Kernel;
use crate::keys::{BackendComponent, DispatchKey};
use crate::operator::{
    ArgsOf, KernelOf, KernelWithKeysOf, Operator, OperatorHandle, OutputOf, ReturningOf, call_on, name_in,
};
use crate::plain::DType;
use crate::signature::Signature;
use crate::value::ValueRef;

/// The host's dispatcher that the plugin was loaded by.
#[derive(Clone, Copy, Debug)]
pub struct Dispatcher {
    library: *mut OpgridLibrary,
}

impl Dispatcher {
    /// The dispatcher whose kernel runs on this thread, if it is one of this plugin; else the one that loaded the file last.
    pub fn current() -> Self {
        Self { library: host::library() }
    }

    /// The library that owns a namespace.
    #[track_caller]
    pub fn library(&self, namespace: &str) -> Library {
        Library::new(OPGRID_BLOCK_LIBRARY, namespace, None)
    }

    /// A library that adds operators to a namespace of somebody else.
    #[track_caller]
    pub fn fragment(&self, namespace: &str) -> Library {
        Library::new(OPGRID_BLOCK_FRAGMENT, namespace, None)
    }

    /// A library that adds kernels to operators of a namespace, or fallbacks where the namespace is `_`.
    #[track_caller]
    pub fn implementations(&self, namespace: &str, key: impl Into<Option<DispatchKey>>) -> Library {
        Library::new(OPGRID_BLOCK_IMPLEMENTATIONS, namespace, key.into())
    }

    /// The operator of that name, as in `aten::add.Tensor`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] where there is none; the plugin is not loaded.
    pub fn find(&self, name: &str) -> Result<OperatorHandle> {
        OperatorHandle::find(self.library, name)
    }

    /// The key of a backend of one's own, allocated if it is new.
    ///
    /// # Errors
    ///
    /// Those of [`BackendComponent::register`].
    pub fn backend(&self, name: &str) -> Result<DispatchKey> {
        BackendComponent::register(name).map(BackendComponent::key)
    }

    /// Calls an overload known at compile time.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn call<O: Operator>(&self, _operator: O, args: ArgsOf<'_, O>) -> Result<OutputOf<O>> {
        call_on::<O>(self.library, args)
    }
}

/// A group of registrations while it is put together. The first mistake is kept and reported by
/// [`finish`](Self::finish), or by the host when it registers everything.
#[must_use = "a library does nothing until `finish`"]
pub struct Library {
    kind: u32,
    namespace: String,
    key: Option<DispatchKey>,
    place: &'static Location<'static>,
    items: Vec<Item>,
    error: Option<Error>,
}

/// One thing that a library says, in the order in which it was said.
enum Item {
    AllowOverride,
    Define(Definition),
    Implement(String, Kernel),
    Fallback(Kernel),
    Order { name: String, key: Option<DispatchKey>, providers: Vec<String> },
    Cast { name: String, device: String, policy: CastPolicy },
    BatchedBy { name: String, batched: String },
}

/// What autocast does with floating-point arguments of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastPolicy {
    /// Casts them to the lower precision.
    Lower,
    /// Casts them to float32.
    Full,
    /// Casts them to the widest dtype among them.
    Widest,
    /// Casts them to a dtype, whatever the lower precision is.
    To(DType),
}

impl CastPolicy {
    /// The policy as the host knows it.
    fn to_host(self) -> (u32, i32) {
        match self {
            Self::Lower => (OPGRID_CAST_LOWER, 0),
            Self::Full => (OPGRID_CAST_FULL, 0),
            Self::Widest => (OPGRID_CAST_WIDEST, 0),
            Self::To(dtype) => (OPGRID_CAST_TO, dtype.number() as i32),
        }
    }
}

struct Definition {
    schema: String,
    tags: Vec<String>,
    kind: Option<String>,
    documentation: String,
    place: &'static Location<'static>,
}

/// What can be defined or implemented: an overload known at compile time, or a text.
pub trait Target {
    /// The schema or name as text.
    fn text(&self) -> &str;

    /// What it says of itself in words.
    fn documentation(&self) -> &str {
        ""
    }
}

impl<O: Operator> Target for O {
    fn text(&self) -> &str {
        O::SCHEMA
    }

    fn documentation(&self) -> &str {
        O::DOCUMENTATION
    }
}

impl Target for &str {
    fn text(&self) -> &str {
        self
    }
}

impl Library {
    #[track_caller]
    fn new(kind: u32, namespace: &str, key: Option<DispatchKey>) -> Self {
        let place = Location::caller();
        Self { kind, namespace: namespace.into(), key, place, items: Vec::new(), error: None }
    }

    #[cold]
    fn refuse(&mut self, message: String) {
        self.error.get_or_insert_with(|| Error::new(ErrorKind::Registration, message));
    }

    /// Lets kernels and fallbacks that follow replace those that are there.
    pub fn allow_override(&mut self) -> &mut Self {
        self.items.push(Item::AllowOverride);
        self
    }

    /// Defines an operator by a schema text or an overload known at compile time.
    #[track_caller]
    pub fn define<T: Target>(&mut self, target: T) -> OperatorBuilder<'_, T> {
        self.define_text(target.text().into(), target.documentation().into(), Location::caller())
    }

    fn define_text<T>(
        &mut self,
        schema: String,
        documentation: String,
        place: &'static Location<'static>,
    ) -> OperatorBuilder<'_, T> {
        let name = name_in(&schema).to_owned();
        let definition = Definition { schema, tags: Vec::new(), kind: None, documentation, place };
        self.items.push(Item::Define(definition));
        let defined = Some(self.items.len() - 1);
        OperatorBuilder { library: self, name, defined, target: PhantomData }
    }

    /// Defines an operator by its name and a kernel; argument and return types come from the kernel.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_plugin_sdk::{Kernel, Library, Tensor};
    ///
    /// fn first(library: &mut Library) {
    ///     // first(Tensor _0, int? _1) -> (Tensor, int)
    ///     library.define_inferred(
    ///         "first",
    ///         Kernel::function::<fn(Tensor, Option<i64>) -> (Tensor, i64)>(|x, n| Ok((x.clone(), n.unwrap_or(1)))),
    ///     );
    /// }
    /// ```
    #[track_caller]
    pub fn define_inferred(&mut self, name: &str, kernel: Kernel) -> OperatorBuilder<'_, &'static str> {
        let schema = kernel.schema(name).unwrap_or_else(|| {
            self.refuse(format!(
                "define_inferred(\"{name}\"): a boxed kernel has no types to infer the schema from; give the schema to \
                 `Library::define`"
            ));
            name.into()
        });
        self.define_text(schema, String::new(), Location::caller()).add(kernel)
    }

    /// Adds kernels to an operator, given by name or as an overload known at compile time.
    pub fn implement<T: Target>(&mut self, target: T) -> OperatorBuilder<'_, T> {
        let name = name_in(target.text()).to_owned();
        OperatorBuilder { library: self, name, defined: None, target: PhantomData }
    }

    /// Registers a kernel for a key and every operator that has none for it. Only for implementations of the namespace `_`.
    #[track_caller]
    pub fn fallback(&mut self, kernel: impl Into<Kernel>) -> &mut Self {
        self.items.push(Item::Fallback(kernel.into().placed(Location::caller())));
        self
    }

    /// What is to be registered when the plugin's entry has returned it.
    ///
    /// # Errors
    ///
    /// The first mistake in the library.
    pub fn finish(mut self) -> Result<Registration> {
        match self.error.take() {
            Some(error) => {
                self.items.clear();
                Err(error)
            }
            None => Ok(Registration { libraries: vec![self] }),
        }
    }

    /// Gives up what has been put together.
    pub fn discard(mut self) {
        self.items.clear();
    }

    /// Tells the host of everything.
    fn say_to(mut self, library: *mut OpgridLibrary) -> Result<()> {
        // From here on nothing is forgotten: what the host does not hear of has an error that says why.
        let items = std::mem::take(&mut self.items);
        let api = host::api()?;
        let (namespace, file) = (c_text(&self.namespace)?, c_text(self.place.file())?);
        let key = self.key.map(|key| c_text(key.name())).transpose()?;
        let (mut block, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: every pointer is of something here, or null.
        let status = unsafe {
            (api.block_open)(
                library,
                self.kind,
                namespace.as_ptr(),
                pointer(key.as_ref()),
                file.as_ptr(),
                self.place.line(),
                &raw mut block,
                &raw mut error,
            )
        };
        check(status, error)?;
        items.into_iter().try_for_each(|item| item.say_to(block, library))
    }
}

impl Drop for Library {
    /// Warns of what was meant to be registered and is not. While a panic goes on, nothing is said.
    fn drop(&mut self) {
        if !self.items.is_empty() && !std::thread::panicking() {
            host::warn(format_args!(
                "{} of namespace `{}` was dropped without being registered; return it from the \
                 plugin's entry, or call `discard` if that is intended",
                self.place, self.namespace
            ));
        }
    }
}

impl Item {
    fn say_to(self, block: *mut OpgridBlock, library: *mut OpgridLibrary) -> Result<()> {
        let (api, mut error) = (host::api()?, ptr::null_mut());
        match self {
            // SAFETY: the host knows its blocks.
            Self::AllowOverride => check(unsafe { (api.block_allow_override)(block, &raw mut error) }, error),
            Self::Define(definition) => definition.say_to(block),
            Self::Implement(name, kernel) => kernel.say_to(block, Some(&name), library),
            Self::Fallback(kernel) => kernel.say_to(block, None, library),
            Self::Order { name, key, providers } => {
                let (name, key) = (c_text(&name)?, key.map(|key| c_text(key.name())).transpose()?);
                let providers = texts(&providers)?;
                let pointers = pointers(&providers);
                let (names, count) = (pointers.as_ptr(), pointers.len());
                // SAFETY: every pointer is of something here, or null.
                let status = unsafe {
                    (api.order)(block, name.as_ptr(), pointer(key.as_ref()), names, count, &raw mut error)
                };
                check(status, error)
            }
            Self::Cast { name, device, policy } => {
                let ((policy, dtype), name, device) = (policy.to_host(), c_text(&name)?, c_text(&device)?);
                // SAFETY: every pointer is of something here.
                let status = unsafe {
                    (api.cast_policy)(block, name.as_ptr(), device.as_ptr(), policy, dtype, &raw mut error)
                };
                check(status, error)
            }
            Self::BatchedBy { name, batched } => {
                let (name, batched) = (c_text(&name)?, c_text(&batched)?);
                // SAFETY: every pointer is of something here.
                let status =
                    unsafe { (api.batched_by)(block, name.as_ptr(), batched.as_ptr(), &raw mut error) };
                check(status, error)
            }
        }
    }
}

impl Definition {
    fn say_to(self, block: *mut OpgridBlock) -> Result<()> {
        let (schema, file) = (c_text(&self.schema)?, c_text(self.place.file())?);
        let (tags, kind) = (texts(&self.tags)?, self.kind.as_deref().map(c_text).transpose()?);
        let documentation = c_text(&self.documentation)?;
        let pointers = pointers(&tags);
        let definition = OpgridDefinition {
            struct_size: size_of::<OpgridDefinition>(),
            schema: schema.as_ptr(),
            tags: pointers.as_ptr(),
            tag_count: pointers.len(),
            kind: pointer(kind.as_ref()),
            file: file.as_ptr(),
            line: self.place.line(),
            documentation: documentation.as_ptr(),
        };
        let mut error = ptr::null_mut();
        // SAFETY: every pointer is of something here, or null.
        check(unsafe { (host::api()?.define)(block, &raw const definition, &raw mut error) }, error)
    }
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

fn texts(texts: &[String]) -> Result<Vec<CString>> {
    texts.iter().map(|text| c_text(text)).collect()
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// The kernels of one operator in a library.
///
/// Methods that take plain functions are there for overloads known at compile time, where the compiler checks each against the
/// schema; [`add`](Self::add) takes any [`Kernel`].
pub struct OperatorBuilder<'l, T> {
    library: &'l mut Library,
    name: String,
    /// The item that defines the operator, if this library does.
    defined: Option<usize>,
    target: PhantomData<fn(T) -> T>,
}

impl<T> OperatorBuilder<'_, T> {
    /// The definition that `setting` is about.
    fn definition(&mut self, setting: &str) -> Option<&mut Definition> {
        if self.defined.is_none() {
            let name = &self.name;
            self.library.refuse(format!(
                "implement(\"{name}\"): {setting} belongs to the definition, but the operator is only \
                 implemented here; set it where the operator is defined (`Library::define`)"
            ));
        }
        match self.library.items.get_mut(self.defined?) {
            Some(Item::Define(definition)) => Some(definition),
            _ => None,
        }
    }

    /// Tags the definition.
    pub fn tag(mut self, tag: &str) -> Self {
        if let Some(definition) = self.definition("a tag") {
            definition.tags.push(tag.into());
        }
        self
    }

    /// Says of which kind the operator is, such as `pointwise unary`: then the defaults of layers for that kind serve it.
    pub fn kind(mut self, kind: &str) -> Self {
        if let Some(definition) = self.definition("a kind") {
            definition.kind = Some(kind.into());
        }
        self
    }

    /// Says what the operator does, in words for people: in place of the doc comment of [`operator!`](crate::operator!), or for a
    /// schema text.
    pub fn document(mut self, text: &str) -> Self {
        if let Some(definition) = self.definition("documentation") {
            definition.documentation = text.into();
        }
        self
    }

    /// Adds a kernel: for its own key ([`Kernel::at`]), else for the library's, else as a composite
    /// (`CompositeImplicitAutograd`).
    #[allow(clippy::should_implement_trait, reason = "libraries are no numbers")]
    #[track_caller]
    pub fn add(self, kernel: impl Into<Kernel>) -> Self {
        let kernel = kernel.into().placed(Location::caller());
        self.library.items.push(Item::Implement(self.name.clone(), kernel));
        self
    }

    /// Puts providers into an order: those named come first. With a key for that cell, without one for every cell.
    pub fn order(self, key: impl Into<Option<DispatchKey>>, names: &[&str]) -> Self {
        let providers = names.iter().map(|name| (*name).to_owned()).collect();
        self.library.items.push(Item::Order { name: self.name.clone(), key: key.into(), providers });
        self
    }

    /// Says what autocast does with the operator's floating-point arguments on a type of device, such as `cpu`. An operator that writes
    /// arguments runs on these as they are.
    pub fn cast_policy(self, device: &str, policy: CastPolicy) -> Self {
        let (name, device) = (self.name.clone(), device.to_owned());
        self.library.items.push(Item::Cast { name, device, policy });
        self
    }

    /// Has another operator run batches of this one under vmap. It takes the same arguments, in which batched tensors have the examples along
    /// dimension 0, and an `int[]` behind them, with 0 for each batched tensor and -1 for each other one; its results are those of the batch.
    pub fn batched_by(self, batched: &str) -> Self {
        let (name, batched) = (self.name.clone(), batched.to_owned());
        self.library.items.push(Item::BatchedBy { name, batched });
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

    /// Adds a function as the provider `name` for `key`: cells hold as many as have names of their own, and the first whose
    /// condition holds runs.
    #[track_caller]
    pub fn provider(self, key: DispatchKey, name: &str, kernel: KernelOf<O>) -> Self {
        self.add(Kernel::function::<O::Signature>(kernel).named(name).at(key))
    }

    /// Lets the kernel that was added last run only where the condition holds. `text` completes "runs when …".
    pub fn when(self, text: &str, holds: ReturningOf<O, bool>) -> Self {
        let asks = move |values: &[ValueRef<'_>]| {
            O::Signature::unpack(values, |args| O::Signature::apply(holds, args))?
        };
        match self.library.items.pop() {
            Some(Item::Implement(name, kernel)) if name == self.name => {
                self.library.items.push(Item::Implement(name, kernel.when(text, asks)));
            }
            other => {
                self.library.items.extend(other);
                self.library
                    .refuse(format!("when(\"{text}\"): there is no kernel before it; add the kernel first"));
            }
        }
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

/// What a plugin registers. The host does it when the plugin's entry has returned this; what is dropped before is not
/// registered.
#[must_use = "what is dropped is not registered; return it from the plugin's entry"]
pub struct Registration {
    libraries: Vec<Library>,
}

impl Registration {
    /// A registration of nothing, to be [`joined`](Self::join) by others.
    pub const fn empty() -> Self {
        Self { libraries: Vec::new() }
    }

    /// Takes over another registration: both are registered together.
    pub fn join(&mut self, mut other: Self) {
        self.libraries.append(&mut other.libraries);
    }

    /// Tells the host of everything.
    pub(crate) fn say_to(self, library: *mut OpgridLibrary) -> Result<()> {
        let mut libraries = self.libraries.into_iter();
        let said = libraries.try_for_each(|next| next.say_to(library));
        libraries.for_each(Library::discard);
        said
    }
}
