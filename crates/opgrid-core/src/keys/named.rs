//! The sets that have names, and the keys that go with a backend.
//!
//! Where torch uses the mask of all its backends, these sets hold every backend position, so that backends
//! allocated at run time belong to them; [`DispatchKeySet::to_torch_bits`] gives torch's value.

use crate::keys::key::DispatchKey;
use crate::keys::parts::{BackendComponent, Functionality};
use crate::keys::set::DispatchKeySet;

/// The named sets.
impl DispatchKeySet {
    /// The autograd functionalities, without backends: subtracting it removes autograd for all of them.
    pub const AUTOGRAD: Self = Self::from_keys(&[
        DispatchKey::AutogradFunctionality,
        DispatchKey::AutogradOther,
        DispatchKey::AutogradNestedTensor,
    ]);

    /// [`AUTOGRAD`](Self::AUTOGRAD) and `ADInplaceOrView`.
    pub const AUTOGRAD_WITH_INPLACE: Self = Self::AUTOGRAD.add(DispatchKey::AdInplaceOrView);

    /// The autocast keys.
    pub const AUTOCAST: Self = Self::from_keys(&[
        DispatchKey::AutocastCpu,
        DispatchKey::AutocastMtia,
        DispatchKey::AutocastMaia,
        DispatchKey::AutocastXpu,
        DispatchKey::AutocastIpu,
        DispatchKey::AutocastHpu,
        DispatchKey::AutocastXla,
        DispatchKey::AutocastMps,
        DispatchKey::AutocastCuda,
        DispatchKey::AutocastPrivateUse1,
    ]);

    /// What a thread includes from the start.
    pub const DEFAULT_INCLUDED: Self =
        Self::from_keys(&[DispatchKey::BackendSelect, DispatchKey::AdInplaceOrView]);

    /// What a thread excludes from the start.
    pub const DEFAULT_EXCLUDED: Self = Self::AUTOCAST;

    /// What a tensor of a Python subclass carries.
    pub const PYTHON: Self = Self::from_keys(&[DispatchKey::Python, DispatchKey::PythonTlsSnapshot]);

    /// The `Sparse` functionality.
    pub const SPARSE: Self = Self::from_keys(&[DispatchKey::Sparse]);

    /// The `SparseCsr` functionality.
    pub const SPARSE_CSR: Self = Self::from_keys(&[DispatchKey::SparseCsr]);

    /// `MkldnnCPU`.
    pub const MKLDNN: Self = Self::from_keys(&[DispatchKey::MkldnnCpu]);

    /// What `AutogradOther` leads to: every backend key but the dense ones.
    pub const AUTOGRAD_OTHER_BACKENDS: Self = Self::from_keys(&[
        DispatchKey::Fpga,
        DispatchKey::Vulkan,
        DispatchKey::Metal,
        DispatchKey::CustomRngKeyId,
        DispatchKey::MkldnnCpu,
        DispatchKey::Sparse,
        DispatchKey::SparseCsr,
        DispatchKey::Quantized,
    ])
    .union(Self::ALL_BACKENDS);

    /// Every key whose kernels compute on data. Nested tensors are not among them, on purpose.
    pub const BACKEND_KEYS: Self = Self::AUTOGRAD_OTHER_BACKENDS.add(DispatchKey::Dense);

    /// The backend keys that `CompositeExplicitAutogradNonFunctional` stands for: without `Sparse`, XLA and Lazy.
    pub const NON_FUNCTIONAL_BACKEND_KEYS: Self = Self::BACKEND_KEYS
        .remove(DispatchKey::Sparse)
        .remove_backend(BackendComponent::Xla)
        .remove_backend(BackendComponent::Lazy);

    /// What `CompositeImplicitAutograd` stands for: backend keys, nested tensors and autograd.
    pub const MATH: Self = Self::BACKEND_KEYS.add(DispatchKey::NestedTensor).union(Self::AUTOGRAD);

    /// What `CompositeImplicitAutogradNestedTensor` stands for.
    pub const NESTED_MATH: Self =
        Self::from_keys(&[DispatchKey::NestedTensor, DispatchKey::AutogradNestedTensor])
            .union(Self::ALL_BACKENDS);

    /// What remains below every autograd key.
    pub const AFTER_AUTOGRAD: Self = Self::full_after(DispatchKey::AutogradOther);

    /// What remains below `ADInplaceOrView`.
    pub const AFTER_AD_INPLACE_OR_VIEW: Self = Self::full_after(DispatchKey::AdInplaceOrView);

    /// What remains below `Functionalize`.
    pub const AFTER_FUNC: Self =
        Self::full_after(DispatchKey::Functionalize).remove(DispatchKey::AdInplaceOrView);

    /// The functionalities by which a tensor's data is told apart, on every backend.
    pub const BACKEND_FUNCTIONALITY: Self = Self::from_keys(&[
        DispatchKey::Dense,
        DispatchKey::Quantized,
        DispatchKey::Sparse,
        DispatchKey::SparseCsr,
    ])
    .union(Self::ALL_BACKENDS);

    /// The keys of functorch's transforms.
    pub const FUNCTORCH_TRANSFORMS: Self = Self::from_keys(&[
        DispatchKey::FuncTorchBatched,
        DispatchKey::FuncTorchVmapMode,
        DispatchKey::Batched,
        DispatchKey::VmapMode,
        DispatchKey::FuncTorchGradWrapper,
    ]);

    /// `FuncTorchBatched`.
    pub const FUNCTORCH_BATCHED: Self = Self::from_keys(&[DispatchKey::FuncTorchBatched]);

    /// The layers that accompany a tensor without saying what it is made of.
    pub(crate) const ACCOMPANYING: Self = Self::from_keys(&[
        DispatchKey::Functionalize,
        DispatchKey::PythonTlsSnapshot,
        DispatchKey::FuncTorchGradWrapper,
        DispatchKey::FuncTorchVmapMode,
        DispatchKey::FuncTorchBatched,
        DispatchKey::Python,
    ])
    .union(Self::AUTOGRAD_WITH_INPLACE)
    .union(Self::AUTOCAST);
}

/// The named sets under torch's names, for listings.
pub const NAMED_SETS: [(&str, DispatchKeySet); 17] = [
    ("autograd_dispatch_keyset", DispatchKeySet::AUTOGRAD),
    ("autocast_dispatch_keyset", DispatchKeySet::AUTOCAST),
    ("default_included_set", DispatchKeySet::DEFAULT_INCLUDED),
    ("default_excluded_set", DispatchKeySet::DEFAULT_EXCLUDED),
    ("autograd_dispatch_keyset_with_ADInplaceOrView", DispatchKeySet::AUTOGRAD_WITH_INPLACE),
    ("python_ks", DispatchKeySet::PYTHON),
    ("sparse_ks", DispatchKeySet::SPARSE),
    ("sparse_csr_ks", DispatchKeySet::SPARSE_CSR),
    ("mkldnn_ks", DispatchKeySet::MKLDNN),
    ("autogradother_backends", DispatchKeySet::AUTOGRAD_OTHER_BACKENDS),
    ("after_autograd_keyset", DispatchKeySet::AFTER_AUTOGRAD),
    ("after_ADInplaceOrView_keyset", DispatchKeySet::AFTER_AD_INPLACE_OR_VIEW),
    ("after_func_keyset", DispatchKeySet::AFTER_FUNC),
    ("backend_bitset_mask", DispatchKeySet::ALL_BACKENDS),
    ("functorch_transforms_ks", DispatchKeySet::FUNCTORCH_TRANSFORMS),
    ("functorch_batched_ks", DispatchKeySet::FUNCTORCH_BATCHED),
    ("backend_functionality_keys", DispatchKeySet::BACKEND_FUNCTIONALITY),
];

/// The autograd key that tensors of a backend carry.
///
/// As in torch, HIP, VE and keys without a backend component such as `FPGA` share `AutogradOther`, although
/// columns `AutogradHIP` and `AutogradVE` exist. A backend allocated at run time has its own.
pub fn autograd_key(backend: impl Into<Option<BackendComponent>>) -> DispatchKey {
    match backend.into() {
        None | Some(BackendComponent::Hip | BackendComponent::Ve) => DispatchKey::AutogradOther,
        Some(backend) => DispatchKey::runtime(Functionality::AutogradFunctionality, backend),
    }
}

/// What autograd adds to the tensors of a backend: `ADInplaceOrView` and the [`autograd_key`].
pub fn autograd_related(backend: impl Into<Option<BackendComponent>>) -> DispatchKeySet {
    DispatchKeySet::from_keys(&[DispatchKey::AdInplaceOrView, autograd_key(backend)])
}

/// The autocast key that tensors of a backend carry; torch has none for HIP, VE, Lazy, `PrivateUse2`, `PrivateUse3`
/// and Meta.
///
/// A backend allocated at run time has an instance of `AutocastPrivateUse1`, there being no position for a layer of
/// each. What a thread excludes or includes is the layer, for all these backends together.
pub fn autocast_key(backend: BackendComponent) -> Option<DispatchKey> {
    Some(match backend {
        BackendComponent::Cpu => DispatchKey::AutocastCpu,
        BackendComponent::Cuda => DispatchKey::AutocastCuda,
        BackendComponent::Xla => DispatchKey::AutocastXla,
        BackendComponent::Mps => DispatchKey::AutocastMps,
        BackendComponent::Ipu => DispatchKey::AutocastIpu,
        BackendComponent::Xpu => DispatchKey::AutocastXpu,
        BackendComponent::Hpu => DispatchKey::AutocastHpu,
        BackendComponent::Mtia => DispatchKey::AutocastMtia,
        BackendComponent::Maia => DispatchKey::AutocastMaia,
        BackendComponent::PrivateUse1 => DispatchKey::AutocastPrivateUse1,
        run_time if run_time.is_run_time() => {
            DispatchKey::runtime(Functionality::AutocastPrivateUse1, run_time)
        }
        _ => return None,
    })
}

/// What autocast adds to the tensors of a backend: its [`autocast_key`], if it has one.
pub fn autocast_related(backend: impl Into<Option<BackendComponent>>) -> DispatchKeySet {
    backend.into().and_then(autocast_key).map_or(DispatchKeySet::EMPTY, DispatchKey::key_set)
}
