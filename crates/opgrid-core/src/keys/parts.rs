//! The two halves of a dispatch key: what it does ([`Functionality`]) and for which hardware ([`BackendComponent`]).
//!
//! Both are positions in the words of a [`DispatchKeySet`](crate::DispatchKeySet), and a position is a priority:
//! the highest one present in a set decides which kernel runs. A position cannot move while a tensor lives, so
//! the free ones, which layers and backends of users take at run time, are spread over the gaps from the
//! start.
//!
//! ```text
//! layers    61 .. 47   transforms, modes; 48 and 49 are free, as are 62 and 63 on top
//!           44 .. 35   autocast; 45 and 46 are free
//!           32         Tracer; 33 and 34 are free
//!           27 .. 25   autograd; 28 to 31 are free
//!           23 .. 20   views; 24 is free
//!           18, 17     Functionalize and the back of functorch's stack; 19 is free
//!           15, 14     Python, Fake; 16 is free
//!           12         BackendSelect; 13 is free
//!           10 .. 1    what a tensor's data is; 11 is free
//!           0          Undefined
//! backends  31         Meta
//!           30 .. 15   free
//!           14 .. 0    PrivateUse3 .. CPU
//! ```
//!
//! The two lists in this file are the only ones of built-in keys: names, masks, torch's values and torch's columns
//! are computed from them. What users allocate stands in the slots of [`user_keys`](crate::user_keys).
//!
//! There is no position for an autocast layer of each backend of users, so they subdivide one: on a backend of a
//! user `AutocastPrivateUse1` has an instance, on torch's backends it is one key, as in torch.

use std::fmt;

use crate::keys::key::DispatchKey;
use crate::keys::user_keys;

/// What a dispatch key does: a layer such as `Tracer`, a family of backends such as `Sparse`, or a backend that
/// is not subdivided such as `FPGA`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Functionality(u8);

/// The hardware that a dispatch key is for.
///
/// # Examples
///
/// ```
/// use opgrid_core::{BackendComponent, DispatchKey, Functionality};
///
/// let abacus = BackendComponent::register("Abacus")?;
/// assert_eq!(abacus.key().to_string(), "Abacus");
/// let autograd = DispatchKey::runtime(Functionality::AutogradFunctionality, abacus);
/// assert_eq!(autograd.to_string(), "AutogradAbacus");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendComponent(u8);

/// What the list of functionalities, or who allocated one, says of a position.
#[derive(Clone, Copy)]
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// What the names of its instances begin with, if it has an instance for each backend.
    pub(crate) prefix: Option<&'static str>,
}

/// What the list of backends, or who allocated one, says of a position.
#[derive(Clone, Copy)]
pub(crate) struct Backend {
    pub(crate) name: &'static str,
    /// The name that torch prints for the component itself, which is not always the name with `Bit` behind it.
    pub(crate) bit_name: &'static str,
}

/// Expands `position Constant "Name"` or `position Constant "Name" * "Prefix"` (an instance for each backend)
/// to a constant of [`Functionality`], one of [`DispatchKey`] and an entry of `LAYERS`.
macro_rules! functionalities {
    ($($position:literal $constant:ident $name:literal $(* $prefix:literal)?,)*) => {
        #[allow(non_upper_case_globals)]
        impl Functionality {
            $(#[doc = concat!("`", $name, "`.")] pub const $constant: Self = Self($position);)*
        }

        #[allow(non_upper_case_globals)]
        impl DispatchKey {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self = Self::of_functionality(Functionality::$constant);
            )*
        }

        const LAYERS: [Option<Layer>; Functionality::COUNT] = {
            let mut layers = [None; Functionality::COUNT];
            $(
                let prefix: &[&str] = &[$($prefix)?];
                layers[$position] = Some(Layer { name: $name, prefix: prefix.first().copied() });
            )*
            layers
        };
    };
}

/// Expands `position Constant AutogradConstant "Name" "BitName"` to a constant of [`BackendComponent`], the
/// dense and the autograd key of [`DispatchKey`] and an entry of `BACKENDS`.
macro_rules! backends {
    ($($position:literal $constant:ident $autograd:ident $name:literal $bit_name:literal,)*) => {
        #[allow(non_upper_case_globals)]
        impl BackendComponent {
            $(#[doc = concat!("`", $name, "`.")] pub const $constant: Self = Self($position);)*
        }

        #[allow(non_upper_case_globals)]
        impl DispatchKey {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self =
                    Self::runtime(Functionality::Dense, BackendComponent::$constant);
                #[doc = concat!("`Autograd", $name, "`.")]
                pub const $autograd: Self =
                    Self::runtime(Functionality::AutogradFunctionality, BackendComponent::$constant);
            )*
        }

        const BACKENDS: [Option<Backend>; BackendComponent::COUNT] = {
            let mut backends = [None; BackendComponent::COUNT];
            $(backends[$position] = Some(Backend { name: $name, bit_name: $bit_name });)*
            backends
        };
    };
}

functionalities! {
    0 Undefined "Undefined",
    1 Dense "Dense" * "",
    2 Fpga "FPGA",
    3 Vulkan "Vulkan",
    4 Metal "Metal",
    5 Quantized "Quantized" * "Quantized",
    6 CustomRngKeyId "CustomRNGKeyId",
    7 MkldnnCpu "MkldnnCPU",
    8 Sparse "Sparse" * "Sparse",
    9 SparseCsr "SparseCsr" * "SparseCsr",
    10 NestedTensor "NestedTensor" * "NestedTensor",
    12 BackendSelect "BackendSelect",
    14 Fake "Fake",
    15 Python "Python",
    17 FuncTorchDynamicLayerBackMode "FuncTorchDynamicLayerBackMode",
    18 Functionalize "Functionalize",
    20 Conjugate "Conjugate",
    21 Negative "Negative",
    22 ZeroTensor "ZeroTensor",
    23 AdInplaceOrView "ADInplaceOrView",
    25 AutogradOther "AutogradOther",
    26 AutogradFunctionality "AutogradFunctionality" * "Autograd",
    27 AutogradNestedTensor "AutogradNestedTensor",
    32 Tracer "Tracer",
    35 AutocastCpu "AutocastCPU",
    36 AutocastMtia "AutocastMTIA",
    37 AutocastMaia "AutocastMAIA",
    38 AutocastXpu "AutocastXPU",
    39 AutocastIpu "AutocastIPU",
    40 AutocastHpu "AutocastHPU",
    41 AutocastXla "AutocastXLA",
    42 AutocastMps "AutocastMPS",
    43 AutocastCuda "AutocastCUDA",
    44 AutocastPrivateUse1 "AutocastPrivateUse1",
    47 FuncTorchBatched "FuncTorchBatched",
    50 BatchedNestedTensor "BatchedNestedTensor",
    51 FuncTorchVmapMode "FuncTorchVmapMode",
    52 Batched "Batched",
    53 VmapMode "VmapMode",
    54 FuncTorchGradWrapper "FuncTorchGradWrapper",
    55 DeferredInit "DeferredInit",
    56 PythonTlsSnapshot "PythonTLSSnapshot",
    57 FuncTorchDynamicLayerFrontMode "FuncTorchDynamicLayerFrontMode",
    58 TestingOnlyGenericWrapper "TESTING_ONLY_GenericWrapper",
    59 TestingOnlyGenericMode "TESTING_ONLY_GenericMode",
    60 PreDispatch "PreDispatch",
    61 PythonDispatcher "PythonDispatcher",
}

backends! {
    0 Cpu AutogradCpu "CPU" "CPUBit",
    1 Cuda AutogradCuda "CUDA" "CUDABit",
    2 Hip AutogradHip "HIP" "HIPBit",
    3 Xla AutogradXla "XLA" "XLABit",
    4 Mps AutogradMps "MPS" "MPSBit",
    5 Ipu AutogradIpu "IPU" "IPUBit",
    6 Xpu AutogradXpu "XPU" "XPUBit",
    7 Hpu AutogradHpu "HPU" "HPUBit",
    8 Ve AutogradVe "VE" "VEBit",
    9 Lazy AutogradLazy "Lazy" "LazyBit",
    10 Mtia AutogradMtia "MTIA" "MTIA",
    11 Maia AutogradMaia "MAIA" "MAIA",
    12 PrivateUse1 AutogradPrivateUse1 "PrivateUse1" "PrivateUse1Bit",
    13 PrivateUse2 AutogradPrivateUse2 "PrivateUse2" "PrivateUse2Bit",
    14 PrivateUse3 AutogradPrivateUse3 "PrivateUse3" "PrivateUse3Bit",
    31 Meta AutogradMeta "Meta" "MetaBit",
}

/// The positions of the functionalities that have an instance for each backend.
pub(crate) const PER_BACKEND: u64 = {
    let (mut mask, mut position) = (0, 0);
    while position < LAYERS.len() {
        if let Some(Layer { prefix: Some(_), .. }) = LAYERS[position] {
            mask |= 1 << position;
        }
        position += 1;
    }
    mask
};

/// The positions of torch's functionalities, without `Undefined`, which is in no set.
pub(crate) const BUILT_IN_LAYERS: u64 = {
    let (mut mask, mut position) = (0, 1);
    while position < LAYERS.len() {
        if LAYERS[position].is_some() {
            mask |= 1 << position;
        }
        position += 1;
    }
    mask
};

/// The positions of torch's backends.
pub(crate) const BUILT_IN_BACKENDS: u32 = {
    let (mut mask, mut position) = (0, 0);
    while position < BACKENDS.len() {
        if BACKENDS[position].is_some() {
            mask |= 1 << position;
        }
        position += 1;
    }
    mask
};

/// The functionality that the backends of users subdivide, each with an instance of its own.
const SUBDIVIDED: Functionality = Functionality::AutocastPrivateUse1;
/// What the names of the subdivided functionality's instances begin with.
const SUBDIVIDED_PREFIX: &str = "Autocast";

impl Functionality {
    /// How many positions there are, taken or free.
    pub const COUNT: usize = 64;

    /// The functionality at a position, whether taken or free; none from [`COUNT`](Self::COUNT) on.
    #[inline]
    pub const fn at(position: u32) -> Option<Self> {
        if position < Self::COUNT as u32 { Some(Self(position as u8)) } else { None }
    }

    /// The position in the layers word of a set, which is also the priority.
    #[inline]
    pub const fn position(self) -> u32 {
        self.0 as u32
    }

    /// Whether it has an instance for each backend, as `Dense` has `CPU` and `CUDA`.
    #[inline]
    pub const fn is_per_backend(self) -> bool {
        PER_BACKEND >> self.0 & 1 != 0
    }

    /// The backends on which it has instances, a bit per position, free ones included: all for `Dense` and its like,
    /// those of users for `AutocastPrivateUse1`, none for every other.
    #[inline]
    pub const fn instance_backends(self) -> u32 {
        if self.is_per_backend() {
            u32::MAX
        } else if self.0 == SUBDIVIDED.0 {
            !BUILT_IN_BACKENDS
        } else {
            0
        }
    }

    /// Whether it has an instance on `backend`.
    #[inline]
    pub const fn has_instance_on(self, backend: BackendComponent) -> bool {
        self.instance_backends() >> backend.0 & 1 != 0
    }

    /// Whether a user allocated it at run time, or may still do so.
    #[inline]
    pub const fn is_run_time(self) -> bool {
        (BUILT_IN_LAYERS | 1) >> self.0 & 1 == 0
    }

    /// Every functionality that exists, `Undefined` first, by rising priority.
    pub fn all() -> impl Iterator<Item = Self> {
        let existing = user_keys::existing_layers() | 1;
        (0..Self::COUNT as u8).map(Self).filter(move |it| existing >> it.0 & 1 != 0)
    }

    fn entry(self) -> Option<Layer> {
        LAYERS[usize::from(self.0)].or_else(|| user_keys::layer(self))
    }

    /// The name, as torch or the layer's user writes it; none at a free position.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|layer| layer.name)
    }

    /// The functionality of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|it| it.name() == Some(name))
    }

    /// What the names of the instances begin with; none where there are no instances.
    pub fn instance_prefix(self) -> Option<&'static str> {
        if self == SUBDIVIDED {
            return Some(SUBDIVIDED_PREFIX);
        }
        self.entry().and_then(|layer| layer.prefix)
    }

    /// torch's number: how many of torch's functionalities have a lower priority; none for a user's.
    pub const fn torch_value(self) -> Option<u16> {
        if self.0 == 0 {
            return Some(0);
        }
        if BUILT_IN_LAYERS >> self.0 & 1 == 0 {
            return None;
        }
        Some((BUILT_IN_LAYERS & ((1 << self.0) - 1)).count_ones() as u16 + 1)
    }
}

impl BackendComponent {
    /// How many positions there are, taken or free.
    pub const COUNT: usize = 32;

    /// The backend at a position, whether taken or free; none from [`COUNT`](Self::COUNT) on.
    #[inline]
    pub const fn at(position: u32) -> Option<Self> {
        if position < Self::COUNT as u32 { Some(Self(position as u8)) } else { None }
    }

    /// The position in the backends word of a set, which is also the priority.
    #[inline]
    pub const fn position(self) -> u32 {
        self.0 as u32
    }

    /// Every backend that exists, by rising priority.
    pub fn all() -> impl Iterator<Item = Self> {
        let existing = user_keys::existing_backends();
        (0..Self::COUNT as u8).map(Self).filter(move |it| existing >> it.0 & 1 != 0)
    }

    fn entry(self) -> Option<Backend> {
        BACKENDS[usize::from(self.0)].or_else(|| user_keys::backend(self))
    }

    /// The name, as it occurs in the names of keys (`CPU`); none at a free position.
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|backend| backend.name)
    }

    /// The key of its dense data: `CPU` of the backend `CPU`.
    #[inline]
    pub const fn key(self) -> DispatchKey {
        DispatchKey::runtime(Functionality::Dense, self)
    }

    /// The backend of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|it| it.name() == Some(name))
    }

    /// Whether users allocated it at run time, or may still do so.
    #[inline]
    pub const fn is_run_time(self) -> bool {
        BUILT_IN_BACKENDS >> self.0 & 1 == 0
    }

    /// torch's index, counted from `CPU` = 0 to `Meta` = 15; none for a user's.
    pub const fn torch_index(self) -> Option<u16> {
        if self.is_run_time() {
            return None;
        }
        Some((BUILT_IN_BACKENDS & ((1 << self.0) - 1)).count_ones() as u16)
    }
}

impl fmt::Display for Functionality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name().unwrap_or("Unknown"))
    }
}

impl fmt::Debug for Functionality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BackendComponent {
    /// Writes torch's name of the component itself (`CPUBit`, but `MTIA`); a user's has `Bit` behind its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.entry().map_or("UnknownBit", |backend| backend.bit_name))
    }
}

impl fmt::Debug for BackendComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
