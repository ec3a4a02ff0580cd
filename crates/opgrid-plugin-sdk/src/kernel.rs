//! Kernels: functions and closures as the host calls them.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::panic::Location;
use std::ptr;

use opgrid_abi::{
    OPGRID_KERNEL_ENGINE, OPGRID_KERNEL_FALLTHROUGH, OpgridBlock, OpgridError, OpgridKernel, OpgridKeys,
    OpgridLibrary, OpgridOperator, OpgridResults, OpgridValue,
};

use crate::call::{BoxedCall, Next};
use crate::error::{Error, Result, check};
use crate::host::{self, c_text, freeing, guarded, running};
use crate::keys::DispatchKey;
use crate::signature::{Return, Signature};
use crate::value::ValueRef;

/// A kernel with a call as its argument.
type Function = Box<dyn Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync>;
/// Which calls a kernel is for.
type Condition = Box<dyn Fn(&[ValueRef<'_>]) -> Result<bool> + Send + Sync>;

/// A kernel to be registered.
///
/// # Examples
///
/// ```
/// use opgrid_plugin_sdk::{DispatchKey, Kernel, Library};
///
/// fn half(library: &mut Library) {
///     let kernel = Kernel::function::<fn(i64) -> i64>(|x| Ok(x / 2));
///     library.define("half(int x) -> int").add(kernel.at(DispatchKey::CompositeExplicitAutograd));
/// }
/// ```
#[must_use = "a kernel does nothing until a library adds it"]
pub struct Kernel {
    /// `None` for a fallthrough.
    function: Option<Function>,
    condition: Option<(String, Condition)>,
    flags: u32,
    key: Option<DispatchKey>,
    name: Option<String>,
    description: Option<String>,
    /// The schema of a name, where the kernel's types say it.
    schema: Option<fn(&str) -> String>,
    place: &'static Location<'static>,
}

impl Kernel {
    #[track_caller]
    fn new(function: Option<Function>, flags: u32, schema: Option<fn(&str) -> String>) -> Self {
        let place = Location::caller();
        Self { function, condition: None, flags, key: None, name: None, description: None, schema, place }
    }

    /// A typed kernel of what reads the arguments that its call has.
    #[track_caller]
    fn typed<S: Signature>(
        body: impl for<'a> Fn(&mut BoxedCall<'_>, S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        let run = move |call: &mut BoxedCall<'_>| {
            let values = call.args();
            let read = S::unpack(values, |args| body(call, args));
            // What does not fit is a mistake about this operator; what the kernel says it says by itself.
            let output = read.map_err(|error: Error| error.within(&call.operator().name().to_string()))??;
            S::Return::push(output, call)
        };
        Self::new(Some(Box::new(run)), 0, Some(S::schema))
    }

    /// A function of the arguments.
    #[track_caller]
    pub fn function<S: Signature>(function: S::Returning<S::Output>) -> Self {
        Self::typed::<S>(move |_, args| S::apply(function, args))
    }

    /// A function of the call's keys and the arguments.
    #[track_caller]
    pub fn function_with_keys<S: Signature>(function: S::ReturningWithKeys<S::Output>) -> Self {
        Self::typed::<S>(move |call, args| S::apply_with_keys(function, call.keys(), args))
    }

    /// A closure over the arguments as a tuple.
    #[track_caller]
    pub fn closure<S: Signature>(
        closure: impl for<'a> Fn(S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        Self::typed::<S>(move |_, args| closure(args))
    }

    /// A closure that can call on to the keys below.
    #[track_caller]
    pub fn layer<S: Signature>(
        layer: impl for<'n, 'a> Fn(Next<'n, S>, S::Args<'a>) -> Result<S::Output> + Send + Sync + 'static,
    ) -> Self {
        Self::typed::<S>(move |call, args| layer(Next::from_call(call), args))
    }

    /// A function or closure of a call, for every signature.
    #[track_caller]
    pub fn boxed(kernel: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        Self::new(Some(Box::new(kernel)), 0, None)
    }

    /// A boxed kernel that is meant to serve every operator, and as a fallback is not counted as a slow path.
    #[track_caller]
    pub fn engine(kernel: impl Fn(&mut BoxedCall<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        Self::new(Some(Box::new(kernel)), OPGRID_KERNEL_ENGINE, None)
    }

    /// Lets calls step over a key.
    #[track_caller]
    pub fn fallthrough() -> Self {
        Self::new(None, OPGRID_KERNEL_FALLTHROUGH, None)
    }

    /// Has the kernel join others of its cell, by a name.
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Lets the kernel run only where the condition holds. `text` completes "runs when …".
    pub fn when(
        mut self,
        text: &str,
        holds: impl Fn(&[ValueRef<'_>]) -> Result<bool> + Send + Sync + 'static,
    ) -> Self {
        self.condition = Some((text.into(), Box::new(holds)));
        self
    }

    /// Gives the kernel another text for listings and errors than where it stands.
    pub fn describe(mut self, text: &str) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Registers the kernel for a key.
    pub fn at(mut self, key: DispatchKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Says where the kernel was added.
    pub(crate) fn placed(mut self, place: &'static Location<'static>) -> Self {
        self.place = place;
        self
    }

    /// The schema of that name with the kernel's types.
    pub(crate) fn schema(&self, name: &str) -> Option<String> {
        self.schema.map(|schema| schema(name))
    }

    /// Tells the host of the kernel: of an operator, or for all of them.
    pub(crate) fn say_to(
        self,
        block: *mut OpgridBlock,
        operator: Option<&str>,
        library: *mut OpgridLibrary,
    ) -> Result<()> {
        let (api, file) = (host::api()?, c_text(self.place.file())?);
        let text = |text: Option<&str>| text.map(c_text).transpose();
        let (operator, key) = (text(operator)?, text(self.key.map(DispatchKey::name))?);
        let (name, description) = (text(self.name.as_deref())?, text(self.description.as_deref())?);
        let (when, condition) = self.condition.unzip();
        let when = text(when.as_deref())?;
        let (has_function, has_condition) = (self.function.is_some(), condition.is_some());
        let context = self.function.map(|function| Box::new(Context { library, function, condition }));
        let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let kernel = OpgridKernel {
            struct_size: size_of::<OpgridKernel>(),
            key: pointer(&key),
            kernel: if has_function { Some(run) } else { None },
            context: context.map_or(ptr::null_mut(), |context| Box::into_raw(context).cast()),
            release: if has_function { Some(release) } else { None },
            flags: self.flags,
            line: self.place.line(),
            file: file.as_ptr(),
            provider: pointer(&name),
            condition: if has_condition { Some(holds) } else { None },
            condition_text: pointer(&when),
            description: pointer(&description),
        };
        let mut error = ptr::null_mut();
        // SAFETY: every pointer is of something here, or null; the host takes the context.
        let status = unsafe {
            match &operator {
                Some(operator) => {
                    (api.implement)(block, operator.as_ptr(), &raw const kernel, &raw mut error)
                }
                None => (api.fallback)(block, &raw const kernel, &raw mut error),
            }
        };
        check(status, error)
    }
}

/// What a kernel's context points to.
struct Context {
    /// The library that registered it.
    library: *mut OpgridLibrary,
    function: Function,
    condition: Option<Condition>,
}

unsafe extern "C" fn run(
    context: *mut c_void,
    operator: *const OpgridOperator,
    keys: OpgridKeys,
    arguments: *const OpgridValue,
    count: usize,
    results: *mut OpgridResults,
    error: *mut *mut OpgridError,
) -> i32 {
    guarded(error, || {
        // SAFETY: the host gives the context of the registration, and what a kernel gets.
        let (context, mut call) = unsafe {
            (&*context.cast::<Context>(), BoxedCall::new(operator, keys, arguments, count, results))
        };
        running(context.library, || (context.function)(&mut call))
    })
}

unsafe extern "C" fn holds(
    context: *mut c_void,
    arguments: *const OpgridValue,
    count: usize,
    out: *mut i32,
    error: *mut *mut OpgridError,
) -> i32 {
    guarded(error, || {
        // SAFETY: the host gives the context of the registration, and what a condition gets.
        let (context, args) = unsafe { (&*context.cast::<Context>(), ValueRef::slice(arguments, count)) };
        let asks = |condition: &Condition| running(context.library, || condition(args));
        let holds = context.condition.as_ref().map_or(Ok(true), asks)?;
        // SAFETY: the host gives an address that may be written, as the interface says of a condition.
        unsafe { out.write(i32::from(holds)) };
        Ok(())
    })
}

unsafe extern "C" fn release(context: *mut c_void) {
    // SAFETY: the host gives the context of the registration back once.
    freeing(|| drop(unsafe { Box::from_raw(context.cast::<Context>()) }));
}
