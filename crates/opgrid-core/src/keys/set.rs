//! Sets of dispatch keys: what a tensor carries, what a thread includes and excludes, what a call looks at.
//!
//! A set is two words, one bit per functionality and one bit per backend:
//!
//! ```text
//! layers    u64   bit 61 PythonDispatcher .. bit 26 AutogradFunctionality .. bit 1 Dense   bit 0 Undefined
//! backends  u32   bit 31 Meta .. bit 1 CUDA   bit 0 CPU
//! ```
//!
//! It is a product, not a list: `{CPU, AutogradCUDA}` holds `Dense`, `AutogradFunctionality`, `CPU` and `CUDA`,
//! and therefore the keys `CUDA` and `AutogradCPU` too. In exchange the key that a call goes to is one count of
//! leading zeros away, and union and intersection are one instruction per word.
//!
//! Invariant: bit 0 of the layers is in no set made here. Whoever wants a word that is never zero sets it with
//! [`DispatchKeySet::from_parts`]; nothing here reads, prints or iterates it.
//!
//! Positions that no key holds yet are kept by the algebra, so that masks made today let through the layers and
//! backends that are allocated tomorrow. Iteration, printing and the 64-bit view of torch leave them out.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, Sub, SubAssign};

use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::{DispatchKey, first_column};
use crate::keys::parts::{BUILT_IN_BACKENDS, BUILT_IN_LAYERS, BackendComponent, Functionality, PER_BACKEND};
use crate::keys::user_keys::{existing_backends, existing_layers};

/// A set of dispatch keys.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, DispatchKeySet};
///
/// let keys = DispatchKeySet::from_keys(&[DispatchKey::Cpu, DispatchKey::AutogradCpu]);
/// assert_eq!(keys.highest_priority_key(), DispatchKey::AutogradCpu);
///
/// let below = keys & DispatchKeySet::full_after(DispatchKey::AutogradCpu);
/// assert_eq!(below.to_string(), "DispatchKeySet(CPU)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DispatchKeySet {
    layers: u64,
    backends: u32,
}

/// How many of the low bits of torch's sets are backends.
const TORCH_BACKEND_BITS: u32 = BUILT_IN_BACKENDS.count_ones();
/// How many bits torch's sets have.
const TORCH_BITS: u32 = TORCH_BACKEND_BITS + BUILT_IN_LAYERS.count_ones();

impl DispatchKeySet {
    /// The set without keys.
    pub const EMPTY: Self = Self { layers: 0, backends: 0 };

    /// Every key of torch, and no position beyond them. It prints and iterates as torch's; as a mask it would
    /// drop the keys of users, for which [`ALL`](Self::ALL) is meant.
    pub const FULL: Self = Self { layers: BUILT_IN_LAYERS, backends: BUILT_IN_BACKENDS };

    /// Every position, those included that only layers and backends of users will take: the mask that lets
    /// everything through.
    pub const ALL: Self = Self { layers: !1, backends: u32::MAX };

    /// Every backend position and no functionality.
    pub const ALL_BACKENDS: Self = Self { layers: 0, backends: u32::MAX };

    /// The set of the keys in a slice.
    pub const fn from_keys(keys: &[DispatchKey]) -> Self {
        let mut set = Self::EMPTY;
        let mut i = 0;
        while i < keys.len() {
            set = set.add(keys[i]);
            i += 1;
        }
        set
    }

    /// The set of one key. Empty for `Undefined` and for aliases; a functionality without its backends for
    /// building blocks and placeholders.
    #[inline]
    pub const fn from_key(key: DispatchKey) -> Self {
        let backends = match key.backend() {
            Some(backend) => 1 << backend.position(),
            None => 0,
        };
        Self { layers: 1 << key.functionality().position() & !1, backends }
    }

    /// The set of one backend without a functionality.
    #[inline]
    pub const fn from_backend(backend: BackendComponent) -> Self {
        Self { layers: 0, backends: 1 << backend.position() }
    }

    /// What remains below a key: every layer position of lower priority than the key's functionality, free ones
    /// included, `PythonDispatcher`, and every backend.
    #[inline]
    pub const fn full_after(key: DispatchKey) -> Self {
        let below = (1 << key.functionality().position()) - 1;
        Self { layers: below & !1 | 1 << Functionality::PythonDispatcher.position(), backends: u32::MAX }
    }

    /// The set of these two words, taken as they are.
    #[inline]
    pub const fn from_parts(layers: u64, backends: u32) -> Self {
        Self { layers, backends }
    }

    /// The word of functionalities.
    #[inline]
    pub const fn layers(self) -> u64 {
        self.layers
    }

    /// The word of backends.
    #[inline]
    pub const fn backends(self) -> u32 {
        self.backends
    }

    /// What is in either set.
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self { layers: self.layers | other.layers, backends: self.backends | other.backends }
    }

    /// What is in both sets.
    #[inline]
    pub const fn intersection(self, other: Self) -> Self {
        Self { layers: self.layers & other.layers, backends: self.backends & other.backends }
    }

    /// This set without the functionalities of `other`. **Backends stay**: `{CPU, CUDA, AutogradCUDA} - {CUDA}`
    /// is `{AutogradCPU, AutogradCUDA}`. To drop a backend there is [`remove_backend`](Self::remove_backend).
    #[inline]
    pub const fn minus(self, other: Self) -> Self {
        Self { layers: self.layers & !other.layers, backends: self.backends }
    }

    /// This set and the key.
    #[inline]
    pub const fn add(self, key: DispatchKey) -> Self {
        self.union(Self::from_key(key))
    }

    /// This set without the key's functionality, which goes for all backends.
    #[inline]
    pub const fn remove(self, key: DispatchKey) -> Self {
        self.minus(Self::from_key(key))
    }

    /// This set without the backend.
    #[inline]
    pub const fn remove_backend(self, backend: BackendComponent) -> Self {
        Self { layers: self.layers, backends: self.backends & !(1 << backend.position()) }
    }

    /// Whether the key is in the set. Vacuously true for `Undefined` and for aliases, whose sets are empty.
    #[inline]
    pub const fn contains(self, key: DispatchKey) -> bool {
        self.has_all(Self::from_key(key))
    }

    /// Whether everything in `other` is in this set.
    #[inline]
    pub const fn has_all(self, other: Self) -> bool {
        other.layers & !self.layers == 0 && other.backends & !self.backends == 0
    }

    /// Whether the sets share a functionality or a backend. Meaningful where `other` has only backends or only
    /// functionalities: `{AutogradCPU}` and `{CPU}` share the backend.
    #[inline]
    pub const fn has_any(self, other: Self) -> bool {
        self.layers & other.layers != 0 || self.backends & other.backends != 0
    }

    /// Whether the backend is in the set.
    #[inline]
    pub const fn has_backend(self, backend: BackendComponent) -> bool {
        self.backends >> backend.position() & 1 != 0
    }

    /// Whether both words are zero. A set of backends alone is not empty, although it iterates no key.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.layers == 0 && self.backends == 0
    }

    /// The functionality of the highest priority; `Undefined` if there is none.
    #[inline]
    pub const fn highest_functionality(self) -> Functionality {
        match Functionality::at(63 - (self.layers | 1).leading_zeros()) {
            Some(functionality) => functionality,
            None => Functionality::Undefined,
        }
    }

    /// The backend of the highest priority.
    #[inline]
    pub const fn highest_backend(self) -> Option<BackendComponent> {
        match self.backends.checked_ilog2() {
            Some(position) => BackendComponent::at(position),
            None => None,
        }
    }

    /// The position of the highest backend, and 0, which is `CPU`, where there is none.
    #[inline]
    pub const fn backend_index(self) -> usize {
        (self.backends | 1).ilog2() as usize
    }

    /// The key that a call with this set goes to: the highest functionality, on the highest backend if it has an
    /// instance there. Without any backend that is the functionality's placeholder, which is not `Undefined`.
    #[inline]
    pub const fn highest_priority_key(self) -> DispatchKey {
        let functionality = self.highest_functionality();
        match self.highest_backend() {
            Some(backend) if functionality.has_instance_on(backend) => {
                DispatchKey::instance(functionality, Some(backend))
            }
            None if functionality.is_per_backend() => DispatchKey::instance(functionality, None),
            _ => DispatchKey::of_functionality(functionality),
        }
    }

    /// The key of the highest backend that computes on data of its own, layers left aside.
    pub const fn highest_backend_type(self) -> DispatchKey {
        self.intersection(Self::BACKEND_FUNCTIONALITY).highest_priority_key()
    }

    /// The key that tells what a tensor is made of, once the layers are left aside that only accompany it.
    pub const fn legacy_extract(self) -> DispatchKey {
        self.minus(Self::ACCOMPANYING).highest_priority_key()
    }

    /// The keys, functionalities by rising priority and for each of them its backends by rising priority. Of the
    /// position that backends of users subdivide these are their instances, and `AutocastPrivateUse1` where the highest
    /// backend is none of theirs.
    pub fn iter(self) -> Iter {
        let existing = Self { layers: existing_layers(), backends: existing_backends() };
        Iter { rest: self & existing, layer: Functionality::Undefined, columns: 0 }
    }

    /// The keys at all positions of the set, those included that no key holds yet.
    pub(crate) fn positions(self) -> Iter {
        Iter { rest: self, layer: Functionality::Undefined, columns: 0 }
    }

    /// How many keys the set iterates.
    pub fn len(self) -> usize {
        let backends = (self.backends & existing_backends()).count_ones() as usize;
        let layers = self.layers & existing_layers();
        let instances = (layers & PER_BACKEND).count_ones() as usize * backends;
        instances + Self { layers: layers & !PER_BACKEND, ..self }.iter().count()
    }

    /// torch's form of the set: backends in bits 0 to 15, functionalities in bits 16 to 61. Positions of users and
    /// free ones have no bit there and are left out, so that the autocast key of a user's backend becomes
    /// `AutocastPrivateUse1`.
    pub const fn to_torch_bits(self) -> u64 {
        gather(self.backends as u64, BUILT_IN_BACKENDS as u64)
            | gather(self.layers, BUILT_IN_LAYERS) << TORCH_BACKEND_BITS
    }

    /// The set of torch's form.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unknown`] where a bit is set that torch gives to no key.
    pub fn from_torch_bits(bits: u64) -> Result<Self> {
        if bits >> TORCH_BITS != 0 {
            let last = TORCH_BITS - 1;
            let message =
                format!("key set {bits:#x} has bits that are not dispatch keys, expected bits 0 to {last}");
            return Err(Error::new(ErrorKind::Unknown, message));
        }
        let backends = scatter(bits, BUILT_IN_BACKENDS as u64) as u32;
        Ok(Self { layers: scatter(bits >> TORCH_BACKEND_BITS, BUILT_IN_LAYERS), backends })
    }

    /// torch's number of the highest backend: 0 for none and for `CPU`, 15 for `Meta`. Backends of users are
    /// left out.
    pub fn torch_backend_index(self) -> usize {
        let highest = Self { backends: self.backends & BUILT_IN_BACKENDS, ..self }.highest_backend();
        usize::from(highest.and_then(BackendComponent::torch_index).unwrap_or(0))
    }

    /// The column of torch's tables that a call with this set picks. Keys of users are left out.
    pub fn torch_column(self) -> usize {
        let built_in = self & Self::FULL;
        let functionality = built_in.highest_functionality();
        let within = if functionality.is_per_backend() { built_in.torch_backend_index() } else { 0 };
        first_column(functionality).expect("torch's functionalities have columns") + within
    }
}

/// The bits of `word` at the positions in `mask`, moved together at the low end.
const fn gather(word: u64, mut mask: u64) -> u64 {
    let (mut bits, mut place) = (0, 0);
    while mask != 0 {
        bits |= (word >> mask.trailing_zeros() & 1) << place;
        mask &= mask - 1;
        place += 1;
    }
    bits
}

/// The low bits of `bits`, spread over the positions in `mask`: the inverse of [`gather`].
const fn scatter(bits: u64, mut mask: u64) -> u64 {
    let (mut word, mut place) = (0, 0);
    while mask != 0 {
        word |= (bits >> place & 1) << mask.trailing_zeros();
        mask &= mask - 1;
        place += 1;
    }
    word
}

/// The keys of a set, by rising priority.
#[derive(Clone, Debug)]
pub struct Iter {
    /// The layers to come, and the backends of the set.
    rest: DispatchKeySet,
    /// The layer whose instances are being given.
    layer: Functionality,
    /// The backends of the keys to come.
    columns: u32,
}

impl Iter {
    /// The backends on which the layer has keys of its own: those of its instances and, where there are some, the
    /// highest one, which may have none.
    fn own_columns(&self) -> u32 {
        let instances = self.rest.backends & self.layer.instance_backends();
        if instances == 0 { 0 } else { instances | 1 << self.rest.backends.ilog2() }
    }
}

impl Iterator for Iter {
    type Item = DispatchKey;

    fn next(&mut self) -> Option<DispatchKey> {
        while self.columns == 0 {
            self.layer = Functionality::at(self.rest.layers.trailing_zeros())?;
            self.rest.layers &= self.rest.layers - 1;
            self.columns = self.own_columns();
            if !self.layer.is_per_backend() && self.columns == 0 {
                return Some(DispatchKey::of_functionality(self.layer));
            }
        }
        let backend = BackendComponent::at(self.columns.trailing_zeros())?;
        self.columns &= self.columns - 1;
        Some(DispatchKey::on(self.layer, backend))
    }
}

impl std::iter::FusedIterator for Iter {}

impl IntoIterator for DispatchKeySet {
    type Item = DispatchKey;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}

impl From<DispatchKey> for DispatchKeySet {
    #[inline]
    fn from(key: DispatchKey) -> Self {
        Self::from_key(key)
    }
}

impl From<BackendComponent> for DispatchKeySet {
    fn from(backend: BackendComponent) -> Self {
        Self::from_backend(backend)
    }
}

impl FromIterator<DispatchKey> for DispatchKeySet {
    fn from_iter<I: IntoIterator<Item = DispatchKey>>(keys: I) -> Self {
        keys.into_iter().fold(Self::EMPTY, Self::add)
    }
}

impl BitOr for DispatchKeySet {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for DispatchKeySet {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        *self = self.union(other);
    }
}

impl BitAnd for DispatchKeySet {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.intersection(other)
    }
}

impl BitAndAssign for DispatchKeySet {
    #[inline]
    fn bitand_assign(&mut self, other: Self) {
        *self = self.intersection(other);
    }
}

impl BitXor for DispatchKeySet {
    type Output = Self;

    #[inline]
    fn bitxor(self, other: Self) -> Self {
        Self { layers: self.layers ^ other.layers, backends: self.backends ^ other.backends }
    }
}

impl Sub for DispatchKeySet {
    type Output = Self;

    /// [`minus`](DispatchKeySet::minus): backends stay.
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.minus(other)
    }
}

impl SubAssign for DispatchKeySet {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = self.minus(other);
    }
}

impl fmt::Display for DispatchKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DispatchKeySet(")?;
        for (i, key) in self.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            write!(f, "{key}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for DispatchKeySet {
    /// Writes the words too, because sets of different words may iterate the same keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} [{:#x}, {:#x}]", self.layers, self.backends)
    }
}
