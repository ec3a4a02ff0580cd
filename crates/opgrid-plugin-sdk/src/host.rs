//! The host: its table, operators by name, dispatch keys and the keys of the thread.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::CString;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use opgrid_abi::{
    OPGRID_ABI_MAJOR, OPGRID_ERROR_REGISTRATION, OPGRID_OK, OpgridApi, OpgridError, OpgridKeys,
    OpgridLibrary, OpgridOperator, OpgridValue,
};

use crate::error::{Error, ErrorKind, Result, check, text};
use crate::registrar::Registrar;
use crate::value::{FromValue, ToValue, Value};

static API: OnceLock<&'static OpgridApi> = OnceLock::new();
static LIBRARY: AtomicPtr<OpgridLibrary> = AtomicPtr::new(ptr::null_mut());

/// The table, if the plugin is loaded.
pub(crate) fn known() -> Option<&'static OpgridApi> {
    API.get().copied()
}

/// The table.
///
/// # Errors
///
/// The plugin is not loaded.
pub(crate) fn api() -> Result<&'static OpgridApi> {
    known().ok_or_else(|| {
        Error::new(
            ErrorKind::Stale,
            "the plugin is not loaded; load the library with opgrid before it is used",
        )
    })
}

/// The plugin's library; where several dispatchers have loaded the file, the last one. In kernels the host knows better, and
/// takes the dispatcher that the kernel is registered in.
pub(crate) fn library() -> *mut OpgridLibrary {
    LIBRARY.load(Ordering::Acquire)
}

/// A text as the table takes it.
///
/// # Errors
///
/// A zero byte inside.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::new(ErrorKind::Value, format!("`{text}` has a zero byte inside; leave it out")))
}

/// The entry of the plugin.
///
/// # Safety
///
/// The host calls it, with its table and a library.
#[doc(hidden)]
pub unsafe fn initialize(
    api: *const OpgridApi,
    library: *mut OpgridLibrary,
    register: impl FnOnce(&Registrar) -> Result<()>,
) -> i32 {
    // SAFETY: guaranteed by the caller, see `# Safety`: the table lives as long as the process, and begins so in every version.
    let Some(table) = (unsafe { api.as_ref() }) else { return OPGRID_ERROR_REGISTRATION };
    if table.abi_major != OPGRID_ABI_MAJOR || table.struct_size < size_of::<OpgridApi>() {
        return OPGRID_ERROR_REGISTRATION;
    }
    API.get_or_init(|| table);
    LIBRARY.store(library, Ordering::Release);
    let mut error = ptr::null_mut();
    let status = guarded(&raw mut error, || register(&Registrar::new(library)));
    if status != OPGRID_OK {
        // SAFETY: the host gave the library; the error is handed over.
        unsafe { (table.library_fail)(library, error) };
    }
    status
}

/// Runs what may fail or panic, for the host: the status, and the error in `out`.
pub(crate) fn guarded(out: *mut *mut OpgridError, body: impl FnOnce() -> Result<()>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OPGRID_OK,
        Ok(Err(error)) => error.leave(out),
        Err(panic) => {
            let status = panicked(&*panic).leave(out);
            discard(panic);
            status
        }
    }
}

/// Frees a context for the host, who hears of no panic: that has printed its message by then.
pub(crate) fn freeing(body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        discard(panic);
    }
}

/// Drops what a panic carried. That is code of the plugin too: where it panics in turn, what that panic carries is leaked,
/// because it may do so for ever.
fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Error::new(ErrorKind::Kernel, format!("a plugin panicked: {text}"))
}

/// A set of dispatch keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys(pub(crate) OpgridKeys);

impl Keys {
    /// The key, or the keys of the alias, of a name such as `CPU` or `Autograd`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] where there is none.
    pub fn named(name: &str) -> Result<Self> {
        let (api, name) = (api()?, c_text(name)?);
        let (mut keys, mut error) = (OpgridKeys::default(), ptr::null_mut());
        // SAFETY: every pointer is of something here.
        check(unsafe { (api.keys_named)(name.as_ptr(), &raw mut keys, &raw mut error) }, error)?;
        Ok(Self(keys))
    }

    /// The keys of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let (layers, backends) = (self.0.layers | other.0.layers, self.0.backends | other.0.backends);
        Self(OpgridKeys { layers, backends, reserved: 0 })
    }

    /// The keys without the layers of the other set; the backends stay.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(OpgridKeys { layers: self.0.layers & !other.0.layers, ..self.0 })
    }

    /// Whether it has all layers and backends of the other set.
    pub fn has_all(self, other: Self) -> bool {
        other.0.layers & !self.0.layers == 0 && other.0.backends & !self.0.backends == 0
    }
}

/// What the thread includes and excludes.
fn local(api: &OpgridApi) -> (OpgridKeys, OpgridKeys) {
    let (mut included, mut excluded) = (OpgridKeys::default(), OpgridKeys::default());
    // SAFETY: both are here.
    unsafe { (api.local_keys)(&raw mut included, &raw mut excluded) };
    (included, excluded)
}

/// Includes keys on this thread, or stops including their layers.
///
/// # Errors
///
/// The plugin is not loaded.
pub fn set_included(keys: Keys, on: bool) -> Result<()> {
    let api = api()?;
    let (included, excluded) = local(api);
    let included = if on { Keys(included).union(keys) } else { Keys(included).without(keys) };
    // SAFETY: takes any sets.
    unsafe { (api.set_local_keys)(included.0, excluded) };
    Ok(())
}

/// Puts back the keys of a thread.
struct Before {
    api: &'static OpgridApi,
    keys: (OpgridKeys, OpgridKeys),
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Before {
    fn of(api: &'static OpgridApi) -> Self {
        Self { api, keys: local(api), thread: PhantomData }
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        // SAFETY: takes any sets.
        unsafe { (self.api.set_local_keys)(self.keys.0, self.keys.1) };
    }
}

/// Includes keys on this thread until it is dropped.
#[must_use = "the keys are put back when the guard is dropped"]
pub struct IncludeGuard(#[allow(dead_code, reason = "it works by being dropped")] Before);

/// Excludes keys on this thread until it is dropped.
#[must_use = "the keys are put back when the guard is dropped"]
pub struct ExcludeGuard(#[allow(dead_code, reason = "it works by being dropped")] Before);

impl IncludeGuard {
    /// Includes `keys`.
    ///
    /// # Errors
    ///
    /// The plugin is not loaded.
    pub fn new(keys: Keys) -> Result<Self> {
        let before = Before::of(api()?);
        // SAFETY: takes any sets.
        unsafe { (before.api.set_local_keys)(Keys(before.keys.0).union(keys).0, before.keys.1) };
        Ok(Self(before))
    }
}

impl ExcludeGuard {
    /// Excludes `keys`.
    ///
    /// # Errors
    ///
    /// The plugin is not loaded.
    pub fn new(keys: Keys) -> Result<Self> {
        let before = Before::of(api()?);
        // SAFETY: takes any sets.
        unsafe { (before.api.set_local_keys)(before.keys.0, Keys(before.keys.1).union(keys).0) };
        Ok(Self(before))
    }
}

/// An operator found by name.
pub struct Operator(*mut OpgridOperator);

// SAFETY: the host lets its operators be used on any thread.
unsafe impl Send for Operator {}
// SAFETY: as above.
unsafe impl Sync for Operator {}

impl Operator {
    /// The operator of a name, as in `aten::add.Tensor`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] where there is none; the plugin is not loaded.
    pub fn find(name: &str) -> Result<Self> {
        let (api, name) = (api()?, c_text(name)?);
        let (mut found, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: every pointer is of something here; the host knows its libraries.
        let status = unsafe { (api.operator_find)(library(), name.as_ptr(), &raw mut found, &raw mut error) };
        check(status, error)?;
        Ok(Self(found))
    }

    /// The name without the overload, as in `aten::add`.
    pub fn name(&self) -> String {
        // SAFETY: the operator lives, and with it the text.
        known().map_or(String::new(), |api| unsafe { text((api.operator_name)(self.0)) })
    }

    /// Calls it with values, all of those that the schema has.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn call_boxed(&self, arguments: &[&dyn ToValue]) -> Result<Vec<Value>> {
        let lent: Vec<OpgridValue> = arguments.iter().map(|argument| argument.to_value()).collect();
        let api = api()?;
        let mut results = [OpgridValue::NONE; 16];
        let (mut count, mut error) = (0, ptr::null_mut());
        // SAFETY: every pointer is of something here; the arguments are lent by what they were made of.
        let status = unsafe {
            (api.call)(
                self.0,
                lent.as_ptr(),
                lent.len(),
                results.as_mut_ptr(),
                results.len(),
                &raw mut count,
                &raw mut error,
            )
        };
        check(status, error)?;
        Ok(results.into_iter().take(count).map(Value::of_host).collect())
    }

    /// Calls it and takes its only result.
    ///
    /// # Errors
    ///
    /// Those of the call; another number or kind of results.
    pub fn call<R: FromValue>(&self, arguments: &[&dyn ToValue]) -> Result<R> {
        let results = self.call_boxed(arguments)?;
        match results.as_slice() {
            [result] => result.to(),
            results => {
                let message = format!("{}: expected one result, found {}", self.name(), results.len());
                Err(Error::new(ErrorKind::Value, message))
            }
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if let Some(api) = known() {
            // SAFETY: the operator belongs to this value, which goes.
            unsafe { (api.operator_release)(self.0) }
        }
    }
}

/// States the manifest and the entry of a plugin; once in a library.
///
/// `register` is a function of a [`Registrar`](crate::Registrar). What it says is registered at once if it returns `Ok`, and
/// not at all if it fails or panics. It becomes the two symbols `opgrid_plugin_manifest` and `opgrid_plugin_init`.
#[macro_export]
macro_rules! plugin {
    (
        name: $name:literal,
        version: $version:literal,
        namespaces: $namespaces:literal,
        keys: $keys:literal,
        register: $register:expr $(,)?
    ) => {
        #[allow(unsafe_code, non_upper_case_globals, missing_docs)]
        const _: () = {
            const TEXT: &str = ::core::concat!(
                "opgrid plugin\nabi 1.0\nname ",
                $name,
                "\nversion ",
                $version,
                "\nnamespaces ",
                $namespaces,
                "\nkeys ",
                $keys,
                "\n"
            );
            // SAFETY: a library states one plugin, so that nothing else has the name.
            #[unsafe(no_mangle)]
            #[used]
            pub static opgrid_plugin_manifest: [u8; TEXT.len() + 1] = $crate::__private::bytes(TEXT);

            // SAFETY: as above.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn opgrid_plugin_init(
                api: *const $crate::abi::OpgridApi,
                library: *mut $crate::abi::OpgridLibrary,
            ) -> i32 {
                // SAFETY: the host calls this, as the interface says.
                unsafe { $crate::__private::initialize(api, library, $register) }
            }
        };
    };
}
