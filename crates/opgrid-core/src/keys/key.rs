//! Dispatch keys: the columns of the grid whose rows are operators.
//!
//! A kernel is registered for a key and a call runs the kernel of one key. There are three sorts. *Functionality*
//! keys are a [`Functionality`] alone (`Tracer`, `FPGA`); those of functionalities that have an instance for each
//! backend (`Dense`) are building blocks without a column. *Instances* combine such a functionality with a
//! [`BackendComponent`] (`CPU`, `AutogradCUDA`). *Aliases* stand for many keys at registration
//! (`CompositeImplicitAutograd`) and are never in a set.
//!
//! Backends and layers of users are allocated at run time ([`BackendComponent::register`], [`DispatchKey::layer`]);
//! their keys are of the same sorts.
//!
//! ```text
//! bit   15 14  13 12  11 .. 6        5 .. 0
//!        0  0   0  0  functionality  0            functionality key
//!        0  1   0  0  functionality  backend + 1  instance; 0 for "no backend", a placeholder
//!        1  0   0  0  0              index        alias
//! ```
//!
//! Compared as numbers, keys are in the order of torch's enumeration.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::keys::parts::{BUILT_IN_BACKENDS, BUILT_IN_LAYERS, BackendComponent, Functionality, PER_BACKEND};
use crate::keys::set::DispatchKeySet;
use crate::spelling::nearest;

/// A dispatch key.
///
/// # Examples
///
/// ```
/// use opgrid_core::{BackendComponent, DispatchKey, Functionality};
///
/// let key: DispatchKey = "AutogradCUDA".parse()?;
/// assert_eq!(key, DispatchKey::AutogradCuda);
/// assert_eq!(key.functionality(), Functionality::AutogradFunctionality);
/// assert_eq!(key.backend(), Some(BackendComponent::Cuda));
/// assert!(key.is_included_in(DispatchKey::Autograd));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DispatchKey(u16);

/// The remedy for a registration for a position that no key holds yet.
pub(crate) const NOT_ALLOCATED: &str = "a kernel for an unallocated key would never run; allocate a \
     backend with BackendComponent::register, or a layer with DispatchKey::layer";

const INSTANCE: u16 = 0x4000;
const ALIAS: u16 = 0x8000;
const FUNCTIONALITY_SHIFT: u32 = 6;
const LOW_MASK: u16 = (1 << FUNCTIONALITY_SHIFT) - 1;

/// The aliases in torch's order: name and the keys that each stands for.
const ALIASES: [(&str, DispatchKeySet); 6] = [
    ("Autograd", DispatchKeySet::AUTOGRAD.union(DispatchKeySet::ALL_BACKENDS)),
    ("CompositeImplicitAutograd", DispatchKeySet::MATH),
    ("FuncTorchBatchedDecomposition", DispatchKeySet::FUNCTORCH_BATCHED),
    ("CompositeImplicitAutogradNestedTensor", DispatchKeySet::NESTED_MATH),
    ("CompositeExplicitAutograd", DispatchKeySet::BACKEND_KEYS),
    ("CompositeExplicitAutogradNonFunctional", DispatchKeySet::NON_FUNCTIONAL_BACKEND_KEYS),
];

/// Instances other than the dense and the autograd ones, and the aliases.
#[allow(non_upper_case_globals)]
impl DispatchKey {
    /// Another name of `Undefined`, from the time when kernels for every key were registered there.
    pub const CatchAll: Self = Self::Undefined;
    /// `SparseCPU`.
    pub const SparseCpu: Self = Self::runtime(Functionality::Sparse, BackendComponent::Cpu);
    /// `SparseCUDA`.
    pub const SparseCuda: Self = Self::runtime(Functionality::Sparse, BackendComponent::Cuda);
    /// `QuantizedCPU`.
    pub const QuantizedCpu: Self = Self::runtime(Functionality::Quantized, BackendComponent::Cpu);
    /// `QuantizedCUDA`.
    pub const QuantizedCuda: Self = Self::runtime(Functionality::Quantized, BackendComponent::Cuda);
    /// `SparseCsrCPU`.
    pub const SparseCsrCpu: Self = Self::runtime(Functionality::SparseCsr, BackendComponent::Cpu);
    /// `SparseCsrCUDA`.
    pub const SparseCsrCuda: Self = Self::runtime(Functionality::SparseCsr, BackendComponent::Cuda);
    /// `NestedTensorCPU`.
    pub const NestedTensorCpu: Self = Self::runtime(Functionality::NestedTensor, BackendComponent::Cpu);
    /// `NestedTensorCUDA`.
    pub const NestedTensorCuda: Self = Self::runtime(Functionality::NestedTensor, BackendComponent::Cuda);

    /// Alias of every autograd key.
    pub const Autograd: Self = Self(ALIAS);
    /// Alias of every backend and autograd key, for kernels made of differentiable operators.
    pub const CompositeImplicitAutograd: Self = Self(ALIAS | 1);
    /// Alias of `FuncTorchBatched`, for kernels made of operators that have batching rules.
    pub const FuncTorchBatchedDecomposition: Self = Self(ALIAS | 2);
    /// Alias of the nested-tensor keys and their autograd key.
    pub const CompositeImplicitAutogradNestedTensor: Self = Self(ALIAS | 3);
    /// Alias of every backend key, for kernels that run anywhere and bring their own derivative.
    pub const CompositeExplicitAutograd: Self = Self(ALIAS | 4);
    /// As `CompositeExplicitAutograd`, but not for backends that can only run functional kernels.
    pub const CompositeExplicitAutogradNonFunctional: Self = Self(ALIAS | 5);
}

/// The sorts of keys, as listings show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KeyKind {
    /// `Undefined`: no tensor decides.
    Undefined,
    /// A functionality that has an instance for each backend, such as `Dense`; it has no column.
    BuildingBlock,
    /// A backend that is not subdivided, such as `FPGA`.
    Backend,
    /// A layer over all backends, such as `Tracer`.
    Layer,
    /// A functionality on one backend, such as `AutogradCPU`.
    Instance,
    /// An instance without a backend, which a set with a building block but no backend has as its highest key.
    Placeholder,
    /// A name for many keys, such as `Autograd`.
    Alias,
}

impl KeyKind {
    /// The name that listings show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::BuildingBlock => "building block",
            Self::Backend => "backend",
            Self::Layer => "layer",
            Self::Instance => "instance",
            Self::Placeholder => "placeholder",
            Self::Alias => "alias",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl DispatchKey {
    /// The key that is a functionality alone: a building block where it has an instance for each backend.
    #[inline]
    pub const fn of_functionality(functionality: Functionality) -> Self {
        Self((functionality.position() as u16) << FUNCTIONALITY_SHIFT)
    }

    /// The instance of `functionality` on `backend`; `Undefined` where there are no instances.
    #[inline]
    pub const fn runtime(functionality: Functionality, backend: BackendComponent) -> Self {
        if functionality.has_instance_on(backend) {
            Self::instance(functionality, Some(backend))
        } else {
            Self::Undefined
        }
    }

    /// The instance of a functionality that has them; the placeholder where there is no backend.
    #[inline]
    pub(crate) const fn instance(functionality: Functionality, backend: Option<BackendComponent>) -> Self {
        let low = match backend {
            Some(backend) => backend.position() as u16 + 1,
            None => 0,
        };
        Self(INSTANCE | (functionality.position() as u16) << FUNCTIONALITY_SHIFT | low)
    }

    /// The key of the column of a layer and a backend: the instance, or the functionality alone where it has none.
    #[inline]
    pub(crate) const fn on(functionality: Functionality, backend: BackendComponent) -> Self {
        if functionality.has_instance_on(backend) {
            Self::instance(functionality, Some(backend))
        } else {
            Self::of_functionality(functionality)
        }
    }

    /// What the key does; `Undefined` for an alias.
    #[inline]
    pub const fn functionality(self) -> Functionality {
        if self.is_alias() {
            return Functionality::Undefined;
        }
        match Functionality::at((self.0 >> FUNCTIONALITY_SHIFT & LOW_MASK) as u32) {
            Some(functionality) => functionality,
            None => Functionality::Undefined,
        }
    }

    /// The backend of an instance; none for every other key, `FPGA` included.
    #[inline]
    pub const fn backend(self) -> Option<BackendComponent> {
        if self.0 & INSTANCE == 0 {
            return None;
        }
        match (self.0 & LOW_MASK).checked_sub(1) {
            Some(position) => BackendComponent::at(position as u32),
            None => None,
        }
    }

    /// The backends whose columns in the functionality's row are the key's, a bit per position, free ones included.
    #[inline]
    pub(crate) const fn columns(self) -> u32 {
        match self.backend() {
            Some(backend) => 1 << backend.position(),
            None => !self.functionality().instance_backends(),
        }
    }

    /// Whether the key has a name: it is built in, or a user allocated what it is made of.
    pub fn exists(self) -> bool {
        let named = |backend: BackendComponent| backend.name().is_some();
        self.is_alias() || self.functionality().name().is_some() && self.backend().is_none_or(named)
    }

    /// Whether the key stands for others at registration.
    #[inline]
    pub const fn is_alias(self) -> bool {
        self.0 & ALIAS != 0
    }

    /// Whether calls can end at the key: it has a column in every table.
    #[inline]
    pub const fn is_runtime(self) -> bool {
        !self.is_alias() && !self.is_building_block() && !self.is_placeholder()
    }

    /// Whether the key is a functionality that has an instance for each backend.
    #[inline]
    pub const fn is_building_block(self) -> bool {
        self.0 & (INSTANCE | ALIAS) == 0 && self.functionality().is_per_backend()
    }

    /// Whether the key is an instance without a backend.
    #[inline]
    pub const fn is_placeholder(self) -> bool {
        self.0 & (INSTANCE | LOW_MASK) == INSTANCE
    }

    /// Whether kernels of the key compute on data, so that composite explicit kernels serve it.
    pub const fn is_backend_key(self) -> bool {
        self.is_included_in(Self::CompositeExplicitAutograd)
    }

    /// The sort of the key.
    pub const fn kind(self) -> KeyKind {
        if self.is_alias() {
            KeyKind::Alias
        } else if self.is_placeholder() {
            KeyKind::Placeholder
        } else if self.0 & INSTANCE != 0 {
            KeyKind::Instance
        } else if self.0 == Self::Undefined.0 {
            KeyKind::Undefined
        } else if self.is_building_block() {
            KeyKind::BuildingBlock
        } else if self.is_backend_key() {
            KeyKind::Backend
        } else {
            KeyKind::Layer
        }
    }

    /// The set of this key alone. Empty for `Undefined` and for aliases.
    #[inline]
    pub const fn key_set(self) -> DispatchKeySet {
        DispatchKeySet::from_key(self)
    }

    /// The keys that a registration for this key reaches: what an alias stands for, or the key itself.
    ///
    /// The set of an alias holds every backend position, so that backends allocated later are in it. There is
    /// none for `Undefined`, which no set can hold.
    pub const fn runtime_set(self) -> Option<DispatchKeySet> {
        if self.is_alias() {
            Some(ALIASES[(self.0 & LOW_MASK) as usize].1)
        } else if self.0 == Self::Undefined.0 {
            None
        } else {
            Some(self.key_set())
        }
    }

    /// The runtime keys that a fallback for this key is for. Of an alias they include the keys of backends that are
    /// not allocated yet, so that a fallback serves those that come later.
    pub(crate) fn fallback_columns(self) -> Vec<Self> {
        if !self.is_alias() {
            let runs = self.is_runtime() && self != Self::Undefined;
            return if runs { vec![self] } else { Vec::new() };
        }
        let every = DispatchKeySet::ALL.positions();
        every.filter(|key| key.is_included_in(self)).collect()
    }

    /// Whether a registration for `alias` reaches this key. `Undefined` and aliases are in no alias.
    pub const fn is_included_in(self, alias: Self) -> bool {
        if self.0 == Self::Undefined.0 || self.is_alias() {
            return false;
        }
        match alias.runtime_set() {
            Some(set) => set.contains(self),
            None => false,
        }
    }

    /// The keys whose kernels an autograd key leads to; empty for every other key.
    ///
    /// As in torch it is empty for `AutogradHIP`, `AutogradVE` and `AutogradMTIA` too, so that a kernel of these
    /// backends does not keep a composite implicit kernel from filling their autograd column.
    pub const fn backends_of_autograd(self) -> DispatchKeySet {
        match (self.functionality(), self.backend()) {
            (_, Some(BackendComponent::Hip | BackendComponent::Ve | BackendComponent::Mtia)) => {
                DispatchKeySet::EMPTY
            }
            (Functionality::AutogradFunctionality, Some(backend)) => {
                Self::runtime(Functionality::Dense, backend).key_set()
            }
            (Functionality::AutogradOther, _) => DispatchKeySet::AUTOGRAD_OTHER_BACKENDS,
            (Functionality::AutogradNestedTensor, _) => {
                Self::NestedTensor.key_set().union(DispatchKeySet::ALL_BACKENDS)
            }
            _ => DispatchKeySet::EMPTY,
        }
    }

    /// torch's number of the key; none for keys of users.
    pub fn torch_value(self) -> Option<u16> {
        let group = |functionality: Functionality| {
            let below = PER_BACKEND & ((1 << functionality.position()) - 1);
            FIRST_GROUP + GROUP * below.count_ones() as u16
        };
        if self.is_alias() {
            Some(FIRST_GROUP + GROUP * PER_BACKEND.count_ones() as u16 + (self.0 & LOW_MASK))
        } else if self.0 & INSTANCE == 0 {
            self.functionality().torch_value()
        } else if let Some(backend) = self.backend() {
            Some(group(self.functionality()) + 1 + backend.torch_index()?)
        } else {
            Some(group(self.functionality()))
        }
    }

    /// The number of the key's column in torch's tables; none for keys without a column and for keys of users.
    pub fn torch_column(self) -> Option<usize> {
        if !self.is_runtime() {
            return None;
        }
        let within = match self.backend() {
            Some(backend) => backend.torch_index()?,
            None => 0,
        };
        let first = first_column(self.functionality())?;
        Some(first + usize::from(within))
    }

    /// Every key that exists, in torch's order: functionalities, instances, aliases.
    pub fn all() -> impl Iterator<Item = Self> {
        let instances = Functionality::all().flat_map(|functionality| {
            let backends = BackendComponent::all().filter(move |it| functionality.has_instance_on(*it));
            backends.map(move |backend| Self::runtime(functionality, backend))
        });
        Functionality::all().map(Self::of_functionality).chain(instances).chain(Self::aliases())
    }

    /// Every alias, in torch's order.
    pub fn aliases() -> impl Iterator<Item = Self> {
        (0..ALIASES.len() as u16).map(|index| Self(ALIAS | index))
    }

    /// The name, for keys of a functionality on a backend parted between both.
    fn name_in_parts(self) -> (&'static str, &'static str) {
        if self.is_alias() {
            return ("", ALIASES[usize::from(self.0 & LOW_MASK)].0);
        }
        let functionality = self.functionality();
        if self.0 & INSTANCE == 0 {
            return ("", functionality.name().unwrap_or("UnknownUnknown"));
        }
        let backend = self.backend().map_or("Undefined", |backend| backend.name().unwrap_or("Unknown"));
        (functionality.instance_prefix().unwrap_or("Unknown"), backend)
    }

    /// Whether that is the name, in any case.
    pub(crate) fn is_called(self, name: &str) -> bool {
        let (prefix, rest) = self.name_in_parts();
        let parts = name.split_at_checked(prefix.len());
        parts.is_some_and(|(first, last)| {
            first.eq_ignore_ascii_case(prefix) && last.eq_ignore_ascii_case(rest)
        })
    }

    /// The key of that name.
    fn named(name: &str) -> Option<Self> {
        let instance = || {
            Functionality::all().find_map(|functionality| {
                let backend = BackendComponent::named(name.strip_prefix(functionality.instance_prefix()?)?)?;
                functionality.has_instance_on(backend).then(|| Self::runtime(functionality, backend))
            })
        };
        let alias = || ALIASES.iter().position(|alias| alias.0 == name).map(|it| Self(ALIAS | it as u16));
        Functionality::named(name).map(Self::of_functionality).or_else(alias).or_else(instance)
    }
}

/// How many of torch's backends there are.
const TORCH_BACKENDS: u16 = BUILT_IN_BACKENDS.count_ones() as u16;
/// How many numbers a functionality's instances take in torch's enumeration: a placeholder and the backends.
const GROUP: u16 = TORCH_BACKENDS + 1;
/// torch's number of the first group's placeholder. `Undefined` and the mark behind the functionalities precede.
const FIRST_GROUP: u16 = BUILT_IN_LAYERS.count_ones() as u16 + 2;

/// torch's column of a functionality or of its first instance; none for a user's.
pub(crate) fn first_column(functionality: Functionality) -> Option<usize> {
    let below = PER_BACKEND & ((1 << functionality.position()) - 1);
    let extra = below.count_ones() as usize * usize::from(TORCH_BACKENDS - 1);
    Some(usize::from(functionality.torch_value()?) + extra)
}

/// The keys of torch's table columns, in order; `Undefined` is column 0.
pub fn torch_columns() -> Vec<DispatchKey> {
    std::iter::once(DispatchKey::Undefined).chain(DispatchKeySet::FULL).collect()
}

/// The keys of all table columns: torch's in torch's order, then those of users by rising priority.
pub fn columns() -> Vec<DispatchKey> {
    let of_user = |key: &DispatchKey| key.torch_column().is_none();
    torch_columns().into_iter().chain(DispatchKeySet::ALL.iter().filter(of_user)).collect()
}

/// The backends on which a registration of `functionality` for `alias` is reached: a bit per position, free ones
/// included. For a functionality without instances it is all or nothing.
pub fn alias_backends(alias: DispatchKey, functionality: Functionality) -> u32 {
    let set = alias.runtime_set().unwrap_or(DispatchKeySet::EMPTY);
    if set.layers() >> functionality.position() & 1 == 0 {
        0
    } else if functionality.is_per_backend() {
        set.backends()
    } else {
        u32::MAX
    }
}

impl From<Functionality> for DispatchKey {
    fn from(functionality: Functionality) -> Self {
        Self::of_functionality(functionality)
    }
}

impl fmt::Display for DispatchKey {
    /// Writes torch's name. A placeholder has its functionality's prefix and `Undefined`; what does not exist
    /// is `Unknown`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name_in_parts() {
            ("", name) => f.pad(name),
            (prefix, backend) => f.pad(&format!("{prefix}{backend}")),
        }
    }
}

impl fmt::Debug for DispatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DispatchKey {
    type Err = Error;

    /// Reads the name of any key that exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] where no key has that name.
    fn from_str(text: &str) -> Result<Self> {
        Self::named(text).ok_or_else(|| {
            let remedy = match nearest(text, Self::all().map(|key| key.to_string())) {
                Some(name) => format!(", did you mean `{name}`?"),
                None => String::new(),
            };
            Error::new(ErrorKind::Unknown, format!("could not parse dispatch key: {text}{remedy}"))
        })
    }
}
