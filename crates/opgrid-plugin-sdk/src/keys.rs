//! Dispatch keys, sets of them, the keys of the thread, and keys of one's own.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::{CString, c_char};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitOr, BitOrAssign, Sub};
use std::ptr;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use opgrid_abi::{OpgridApi, OpgridDevice, OpgridKeys, OpgridLayer};

use crate::error::{Result, check};
use crate::host::{self, c_text};
use crate::plain::DeviceType;

/// A dispatch key, or an alias of many: the column of the grid that a kernel is registered for.
///
/// It is known by its name. Keys that are allocated at run time come from [`str::parse`], [`DispatchKey::layer`] and
/// [`BackendComponent::register`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DispatchKey(&'static str);

/// Expands to the constants of [`DispatchKey`] and to the list of them.
macro_rules! keys {
    (
        $($constant:ident $name:literal,)*
        ; backends { $($backend:ident $autograd:ident $backend_name:literal,)* }
    ) => {
        #[allow(non_upper_case_globals)]
        impl DispatchKey {
            $(#[doc = concat!("`", $name, "`.")] pub const $constant: Self = Self($name);)*
            $(
                #[doc = concat!("`", $backend_name, "`.")]
                pub const $backend: Self = Self($backend_name);
                #[doc = concat!("`Autograd", $backend_name, "`.")]
                pub const $autograd: Self = Self(concat!("Autograd", $backend_name));
            )*

            /// Every key that has a constant here.
            pub fn constants() -> impl Iterator<Item = Self> {
                [$(Self::$constant,)* $(Self::$backend, Self::$autograd,)*].into_iter()
            }
        }
    };
}

keys! {
    Undefined "Undefined",
    Dense "Dense",
    Fpga "FPGA",
    Vulkan "Vulkan",
    Metal "Metal",
    Quantized "Quantized",
    CustomRngKeyId "CustomRNGKeyId",
    MkldnnCpu "MkldnnCPU",
    Sparse "Sparse",
    SparseCsr "SparseCsr",
    NestedTensor "NestedTensor",
    BackendSelect "BackendSelect",
    Fake "Fake",
    Python "Python",
    FuncTorchDynamicLayerBackMode "FuncTorchDynamicLayerBackMode",
    Functionalize "Functionalize",
    Conjugate "Conjugate",
    Negative "Negative",
    ZeroTensor "ZeroTensor",
    AdInplaceOrView "ADInplaceOrView",
    AutogradOther "AutogradOther",
    AutogradFunctionality "AutogradFunctionality",
    AutogradNestedTensor "AutogradNestedTensor",
    Tracer "Tracer",
    AutocastCpu "AutocastCPU",
    AutocastMtia "AutocastMTIA",
    AutocastMaia "AutocastMAIA",
    AutocastXpu "AutocastXPU",
    AutocastIpu "AutocastIPU",
    AutocastHpu "AutocastHPU",
    AutocastXla "AutocastXLA",
    AutocastMps "AutocastMPS",
    AutocastCuda "AutocastCUDA",
    AutocastPrivateUse1 "AutocastPrivateUse1",
    FuncTorchBatched "FuncTorchBatched",
    BatchedNestedTensor "BatchedNestedTensor",
    FuncTorchVmapMode "FuncTorchVmapMode",
    Batched "Batched",
    VmapMode "VmapMode",
    FuncTorchGradWrapper "FuncTorchGradWrapper",
    DeferredInit "DeferredInit",
    PythonTlsSnapshot "PythonTLSSnapshot",
    FuncTorchDynamicLayerFrontMode "FuncTorchDynamicLayerFrontMode",
    TestingOnlyGenericWrapper "TESTING_ONLY_GenericWrapper",
    TestingOnlyGenericMode "TESTING_ONLY_GenericMode",
    PreDispatch "PreDispatch",
    PythonDispatcher "PythonDispatcher",
    SparseCpu "SparseCPU",
    SparseCuda "SparseCUDA",
    QuantizedCpu "QuantizedCPU",
    QuantizedCuda "QuantizedCUDA",
    SparseCsrCpu "SparseCsrCPU",
    SparseCsrCuda "SparseCsrCUDA",
    NestedTensorCpu "NestedTensorCPU",
    NestedTensorCuda "NestedTensorCUDA",
    Autograd "Autograd",
    CompositeImplicitAutograd "CompositeImplicitAutograd",
    FuncTorchBatchedDecomposition "FuncTorchBatchedDecomposition",
    CompositeImplicitAutogradNestedTensor "CompositeImplicitAutogradNestedTensor",
    CompositeExplicitAutograd "CompositeExplicitAutograd",
    CompositeExplicitAutogradNonFunctional "CompositeExplicitAutogradNonFunctional",
    ; backends {
        Cpu AutogradCpu "CPU",
        Cuda AutogradCuda "CUDA",
        Hip AutogradHip "HIP",
        Xla AutogradXla "XLA",
        Mps AutogradMps "MPS",
        Ipu AutogradIpu "IPU",
        Xpu AutogradXpu "XPU",
        Hpu AutogradHpu "HPU",
        Ve AutogradVe "VE",
        Lazy AutogradLazy "Lazy",
        Mtia AutogradMtia "MTIA",
        Maia AutogradMaia "MAIA",
        PrivateUse1 AutogradPrivateUse1 "PrivateUse1",
        PrivateUse2 AutogradPrivateUse2 "PrivateUse2",
        PrivateUse3 AutogradPrivateUse3 "PrivateUse3",
        Meta AutogradMeta "Meta",
    }
}

impl DispatchKey {
    /// The name, as in `AutogradCPU`.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Begins a layer of one's own; [`register`](NewLayer::register) allocates it.
    pub fn layer(name: impl Into<String>) -> NewLayer {
        let excluded = DispatchKeySet::EMPTY;
        NewLayer { name: name.into(), above: Vec::new(), below: Vec::new(), excluded }
    }

    /// The key of a name that the host knows. A name is kept as long as the process runs, once.
    fn of_host(name: &str) -> Self {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        if let Some(known) = Self::constants().find(|key| key.0 == name) {
            return known;
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        match names.get(name) {
            Some(known) => Self(known),
            None => {
                let kept: &'static str = Box::leak(name.into());
                names.insert(kept);
                Self(kept)
            }
        }
    }
}

impl FromStr for DispatchKey {
    type Err = crate::Error;

    /// The key of a name such as `CPU`, or of one that was allocated at run time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`](crate::ErrorKind::Unknown) where there is none; the plugin is not loaded.
    fn from_str(name: &str) -> Result<Self> {
        keys_named(name)?;
        Ok(Self::of_host(name))
    }
}

impl fmt::Display for DispatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for DispatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// The keys of a name.
fn keys_named(name: &str) -> Result<DispatchKeySet> {
    let (api, name) = (host::api()?, c_text(name)?);
    let (mut keys, mut error) = (OpgridKeys::default(), ptr::null_mut());
    // SAFETY: every pointer is of something here.
    check(unsafe { (api.keys_named)(name.as_ptr(), &raw mut keys, &raw mut error) }, error)?;
    Ok(DispatchKeySet(keys))
}

/// A set of dispatch keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchKeySet(pub(crate) OpgridKeys);

impl DispatchKeySet {
    /// No key.
    pub const EMPTY: Self = Self(OpgridKeys { layers: 0, backends: 0, reserved: 0 });

    /// The keys of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        let (layers, backends) = (self.0.layers | other.0.layers, self.0.backends | other.0.backends);
        Self(OpgridKeys { layers, backends, reserved: 0 })
    }

    /// The keys without the layers of the other set; the backends stay.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(OpgridKeys { layers: self.0.layers & !other.0.layers, backends: self.0.backends, reserved: 0 })
    }

    /// The keys without the layers and the backends of the other set.
    const fn without(self, other: Self) -> Self {
        let (layers, backends) = (self.0.layers & !other.0.layers, self.0.backends & !other.0.backends);
        Self(OpgridKeys { layers, backends, reserved: 0 })
    }

    /// Whether it has all layers and backends of the other set.
    pub const fn has_all(self, other: Self) -> bool {
        other.0.layers & !self.0.layers == 0 && other.0.backends & !self.0.backends == 0
    }

    /// Whether it has the key, or all that an alias stands for.
    pub fn contains(self, key: DispatchKey) -> bool {
        self.has_all(key.into())
    }

    /// Whether there is no key in it.
    pub const fn is_empty(self) -> bool {
        self.0.layers == 0 && self.0.backends == 0
    }
}

impl From<DispatchKey> for DispatchKeySet {
    /// The key, or the keys of the alias; none as long as the plugin is not loaded, when there is nothing to call either.
    fn from(key: DispatchKey) -> Self {
        keys_named(key.0).unwrap_or_default()
    }
}

impl BitOr for DispatchKeySet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for DispatchKeySet {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.union(other);
    }
}

impl Sub for DispatchKeySet {
    type Output = Self;

    /// [`minus`](DispatchKeySet::minus): backends stay.
    fn sub(self, other: Self) -> Self {
        self.minus(other)
    }
}

/// A layer to be allocated.
#[derive(Clone, Debug)]
#[must_use = "a layer has no place until `register` is called"]
pub struct NewLayer {
    name: String,
    above: Vec<DispatchKey>,
    below: Vec<DispatchKey>,
    excluded: DispatchKeySet,
}

impl NewLayer {
    /// Has the layer run before the key. May be said of several keys.
    pub fn above(mut self, key: impl Into<DispatchKey>) -> Self {
        self.above.push(key.into());
        self
    }

    /// Has the layer run after the key. May be said of several keys.
    pub fn below(mut self, key: impl Into<DispatchKey>) -> Self {
        self.below.push(key.into());
        self
    }

    /// Has the layers in `keys` skipped, like the layer itself, while a kernel of the layer calls on.
    pub fn excludes_below(mut self, keys: impl Into<DispatchKeySet>) -> Self {
        self.excluded |= keys.into();
        self
    }

    /// Allocates the layer, or finds it. It belongs to the process, and stays when the plugin's entry fails.
    ///
    /// # Errors
    ///
    /// No place fits; the name is taken or no identifier; the plugin is not loaded.
    pub fn register(self) -> Result<DispatchKey> {
        let (api, name) = (host::api()?, c_text(&self.name)?);
        let names = |keys: &[DispatchKey]| keys.iter().map(|key| c_text(key.0)).collect::<Result<Vec<_>>>();
        let (above, below) = (names(&self.above)?, names(&self.below)?);
        let pointers =
            |names: &[CString]| names.iter().map(|name| name.as_ptr()).collect::<Vec<*const c_char>>();
        let (above, below) = (pointers(&above), pointers(&below));
        let description = OpgridLayer {
            struct_size: size_of::<OpgridLayer>(),
            name: name.as_ptr(),
            above: above.as_ptr(),
            above_count: above.len(),
            below: below.as_ptr(),
            below_count: below.len(),
            excludes_below: self.excluded.0,
        };
        let (mut keys, mut error) = (OpgridKeys::default(), ptr::null_mut());
        // SAFETY: every pointer is of something here.
        check(unsafe { (api.layer)(&raw const description, &raw mut keys, &raw mut error) }, error)?;
        Ok(DispatchKey::of_host(&self.name))
    }
}

/// A backend of one's own: its key, and the kind of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendComponent {
    key: DispatchKey,
    kind: DeviceType,
}

impl BackendComponent {
    /// Allocates a backend, or finds it. It belongs to the process, and stays when the plugin's entry fails.
    ///
    /// # Errors
    ///
    /// A name that cannot be; no place is free; the plugin is not loaded.
    pub fn register(name: &str) -> Result<Self> {
        let (api, text) = (host::api()?, c_text(name)?);
        let (mut keys, mut device) = (OpgridKeys::default(), OpgridDevice { kind: 0, index: -1 });
        let mut error = ptr::null_mut();
        // SAFETY: every pointer is of something here.
        let status = unsafe { (api.backend)(text.as_ptr(), &raw mut keys, &raw mut device, &raw mut error) };
        check(status, error)?;
        Ok(Self { key: DispatchKey::of_host(name), kind: DeviceType::of_host(device) })
    }

    /// The key for its kernels.
    pub const fn key(self) -> DispatchKey {
        self.key
    }

    /// The kind of its devices.
    pub const fn device_type(self) -> DeviceType {
        self.kind
    }
}

/// What the thread includes and excludes.
fn local(api: &OpgridApi) -> (DispatchKeySet, DispatchKeySet) {
    let (mut included, mut excluded) = (OpgridKeys::default(), OpgridKeys::default());
    // SAFETY: both are here.
    unsafe { (api.local_keys)(&raw mut included, &raw mut excluded) };
    (DispatchKeySet(included), DispatchKeySet(excluded))
}

fn set_local(api: &OpgridApi, (included, excluded): (DispatchKeySet, DispatchKeySet)) {
    // SAFETY: takes any sets.
    unsafe { (api.set_local_keys)(included.0, excluded.0) };
}

/// Includes keys in calls of this thread, or stops including their layers. Nothing happens as long as the plugin is not
/// loaded.
pub fn set_included(keys: impl Into<DispatchKeySet>, on: bool) {
    let Some(api) = host::known() else { return };
    let (keys, (included, excluded)) = (keys.into(), local(api));
    set_local(api, (if on { included | keys } else { included - keys }, excluded));
}

/// Includes keys on this thread until it is dropped. The keys that were included before stay so, and guards may end in
/// any order.
#[must_use = "the keys are included no longer when the guard is dropped"]
pub struct IncludeGuard {
    /// The keys that the guard added, and the host; none where the plugin is not loaded.
    added: Option<(&'static OpgridApi, DispatchKeySet)>,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

/// Excludes keys on this thread until it is dropped. The keys that were excluded before stay so, and guards may end in
/// any order.
#[must_use = "the keys are excluded no longer when the guard is dropped"]
pub struct ExcludeGuard {
    /// As in [`IncludeGuard`].
    added: Option<(&'static OpgridApi, DispatchKeySet)>,
    thread: PhantomData<*const ()>,
}

impl IncludeGuard {
    /// Includes `keys`.
    pub fn new(keys: impl Into<DispatchKeySet>) -> Self {
        let keys = keys.into();
        let added = host::known().map(|api| {
            let (included, excluded) = local(api);
            set_local(api, (included | keys, excluded));
            (api, keys.without(included))
        });
        Self { added, thread: PhantomData }
    }
}

impl Drop for IncludeGuard {
    fn drop(&mut self) {
        if let Some((api, added)) = self.added {
            let (included, excluded) = local(api);
            set_local(api, (included.without(added), excluded));
        }
    }
}

impl ExcludeGuard {
    /// Excludes `keys`.
    pub fn new(keys: impl Into<DispatchKeySet>) -> Self {
        let keys = keys.into();
        let added = host::known().map(|api| {
            let (included, excluded) = local(api);
            set_local(api, (included, excluded | keys));
            (api, keys.without(excluded))
        });
        Self { added, thread: PhantomData }
    }
}

impl Drop for ExcludeGuard {
    fn drop(&mut self) {
        if let Some((api, added)) = self.added {
            let (included, excluded) = local(api);
            set_local(api, (included, excluded.without(added)));
        }
    }
}

/// Runs `body` with keys included in its calls.
pub fn including<X>(keys: impl Into<DispatchKeySet>, body: impl FnOnce() -> X) -> X {
    let _guard = IncludeGuard::new(keys);
    body()
}

/// Runs `body` with keys excluded from its calls.
pub fn excluding<X>(keys: impl Into<DispatchKeySet>, body: impl FnOnce() -> X) -> X {
    let _guard = ExcludeGuard::new(keys);
    body()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sets() {
        let set = |layers, backends| DispatchKeySet(OpgridKeys { layers, backends, reserved: 0 });
        assert_eq!(set(6, 1) - set(2, 1), set(4, 1));
        assert_eq!(set(6, 3).without(set(2, 1)), set(4, 2));
        assert_eq!(set(4, 0) | set(2, 1), set(6, 1));
        assert!(set(6, 1).has_all(set(2, 1)) && !set(6, 0).has_all(set(2, 1)) && set(0, 0).is_empty());
    }

    #[test]
    fn names_are_kept_once() {
        let (first, second) = (DispatchKey::of_host("Meter"), DispatchKey::of_host(&["Me", "ter"].concat()));
        assert!(ptr::eq(first.name(), second.name()));
        assert_eq!((first, DispatchKey::of_host("CPU")), (second, DispatchKey::Cpu));
    }

    #[test]
    fn without_a_host_there_are_no_keys() {
        assert_eq!("CPU".parse::<DispatchKey>().unwrap_err().kind(), crate::ErrorKind::Stale);
        assert_eq!(
            including(DispatchKey::Cpu, || DispatchKeySet::from(DispatchKey::Cpu)),
            DispatchKeySet::EMPTY
        );
    }
}
