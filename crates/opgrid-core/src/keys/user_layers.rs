//! Layers of users: a name, what it has to stand above and below, and the free position that fits.
//!
//! A position is a priority, cannot move while tensors live, and there are seventeen free ones, spread over the gaps
//! between torch's layers. Of the positions that the constraints allow, a layer gets one in the gap nearest to what it
//! is to stand above, so that it sees as few other layers below it as its user said; with no `above`, in the gap
//! nearest to what it is to stand below. Within a gap it is the middle one: later layers find places on both sides.

use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::parts::{BUILT_IN_LAYERS, Functionality};
use crate::keys::set::DispatchKeySet;
use crate::keys::user_keys::{
    Allocation, check_identifier, check_new, excluded_below, existing_layers, place_of, refused,
};
use crate::place::Place;

/// A layer to be: where it has to stand, and what its kernels skip when they call on.
///
/// [`register`](Self::register) allocates it.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Functionality, Kernel, including};
///
/// let profile = DispatchKey::layer("Profile")
///     .above(DispatchKey::Autograd)
///     .below(DispatchKey::Tracer)
///     .register()?;
/// assert_eq!(profile.to_string(), "Profile");
/// assert!(Functionality::AutogradFunctionality < profile.functionality());
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.implementations("_", profile);
/// library.fallback(Kernel::boxed(|call| {
///     eprintln!("{} runs", call.operator().name());
///     call.below()
/// }));
/// let _registration = library.finish()?;
/// including(profile, || { /* calls here go through the layer */ });
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer has no place until `register` is called"]
pub struct NewLayer {
    name: String,
    above: Vec<DispatchKey>,
    below: Vec<DispatchKey>,
    excludes_below: Option<DispatchKeySet>,
}

impl DispatchKey {
    /// Begins a layer of a user; [`register`](NewLayer::register) allocates it.
    pub fn layer(name: impl Into<String>) -> NewLayer {
        NewLayer { name: name.into(), above: Vec::new(), below: Vec::new(), excludes_below: None }
    }
}

impl NewLayer {
    /// Has the layer run before the key: its position is above that of the key's functionality, or above all that an
    /// alias stands for. May be said of several keys.
    pub fn above(mut self, key: impl Into<DispatchKey>) -> Self {
        self.above.push(key.into());
        self
    }

    /// Has the layer run after the key: its position is below that of the key's functionality, or below all that an
    /// alias stands for. May be said of several keys.
    pub fn below(mut self, key: impl Into<DispatchKey>) -> Self {
        self.below.push(key.into());
        self
    }

    /// Has the layers in `keys` skipped, like the layer itself, while a kernel of the layer calls on
    /// ([`Next::call`](crate::Next::call), [`BoxedCall::below`](crate::BoxedCall::below)): the call steps over them, and
    /// they are excluded on the thread until it returns. [`DispatchKeySet::AUTOGRAD`] keeps what runs
    /// below from being recorded. Backends in `keys` do not count.
    pub fn excludes_below(mut self, keys: impl Into<DispatchKeySet>) -> Self {
        let before = self.excludes_below.unwrap_or(DispatchKeySet::EMPTY);
        self.excludes_below = Some(before | keys.into());
        self
    }

    /// Allocates the layer, or finds it where it has been allocated with constraints that its place fulfils.
    ///
    /// Calls step over the layer until it has a fallback or the operator a kernel for it. It belongs to the process and
    /// cannot be given back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] where the name is no identifier, the constraints are missing, contradict each other
    /// or leave no free place, or where `excludes_below` names no layer or data; [`ErrorKind::Duplicate`] where another
    /// key has the name, or the layer was allocated with something else in mind.
    #[track_caller]
    pub fn register(self) -> Result<DispatchKey> {
        let place = Place::here();
        let allocation = Allocation::begin();
        let excluded = self.excluded_layers()?;
        let bounds = self.bounds()?;
        let known = Functionality::named(&self.name).filter(|known| known.is_run_time());
        if let Some(known) = known {
            self.check_known(known, bounds, excluded)?;
            return Ok(known.into());
        }
        check_identifier("layer", &self.name)?;
        check_new(&self.to_string(), std::slice::from_ref(&self.name))?;
        if self.above.is_empty() && self.below.is_empty() {
            let message = "has no position; say with `above` and `below` between which keys it runs";
            return Err(refused(format!("{self}: {message}")));
        }
        let free = bounds.between() & !existing_layers();
        if free == 0 {
            return Err(self.no_place(bounds));
        }
        let position = chosen(free, !self.above.is_empty());
        allocation.add_layer(position, &self.name, excluded.unwrap_or(0), place);
        Ok(Functionality::named(&self.name).expect("the name was just given to a free position").into())
    }

    /// The layers that `excludes_below` says, if anything.
    fn excluded_layers(&self) -> Result<Option<u64>> {
        let Some(keys) = self.excludes_below else { return Ok(None) };
        let layers = keys.layers() & !1;
        if layers == 0 {
            let found = format!("{self}: `excludes_below` names no layer");
            let remedy = "an alias key such as Autograd is not part of a key set; use a set such as \
                 DispatchKeySet::AUTOGRAD";
            return Err(refused(format!("{found}; {remedy}")));
        }
        let data = DispatchKeySet::BACKEND_KEYS.add(DispatchKey::NestedTensor).layers();
        if layers & data != 0 {
            let kinds = DispatchKeySet::from_parts(layers & data, 0);
            let names: Vec<_> = functionalities(kinds.layers()).map(|it| it.to_string()).collect();
            let found = format!("{self}: `excludes_below` names {}", names.join(", "));
            return Err(refused(format!("{found}, whose kernels compute; expected layers above the data")));
        }
        Ok(Some(layers))
    }

    /// The positions between which the layer has to stand.
    fn bounds(&self) -> Result<Bounds> {
        let mut bounds = Bounds { low: 0, above: None, high: Functionality::COUNT as u32, below: None };
        for &key in &self.above {
            let highest = self.layers_of(key)?.ilog2();
            if bounds.above.is_none() || highest > bounds.low {
                (bounds.low, bounds.above) = (highest, Some(key));
            }
        }
        for &key in &self.below {
            let lowest = self.layers_of(key)?.trailing_zeros();
            if bounds.below.is_none() || lowest < bounds.high {
                (bounds.high, bounds.below) = (lowest, Some(key));
            }
        }
        match (bounds.above, bounds.below) {
            (Some(above), Some(below)) if bounds.low >= bounds.high => Err(refused(format!(
                "{self}: above {above} and below {below} contradict each other, as {below} does not \
                 rank above {above}; remove one of them"
            ))),
            _ => Ok(bounds),
        }
    }

    /// The positions that a constraint speaks of; `Undefined` is position 0.
    fn layers_of(&self, key: DispatchKey) -> Result<u64> {
        if !key.exists() {
            let message = "is constrained by an unallocated key; allocate it first, or name another";
            return Err(refused(format!("{self}: {message}")));
        }
        Ok(key.runtime_set().map_or(1, DispatchKeySet::layers))
    }

    /// Checks that what is said now is true of the layer as it was allocated.
    fn check_known(&self, known: Functionality, bounds: Bounds, excluded: Option<u64>) -> Result<()> {
        let position = known.position();
        let found = || {
            let place = place_of(known.into()).map_or(String::new(), |place| format!(" at {place}"));
            format!("{self} has been allocated{place}")
        };
        let wrong = if position <= bounds.low && bounds.above.is_some() {
            bounds.above.map(|key| format!("below {key}, and cannot move above it"))
        } else if position >= bounds.high {
            bounds.below.map(|key| format!("above {key}, and cannot move below it"))
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let message = format!("{} {wrong}; drop the constraint, or choose another name", found());
            return Err(Error::new(ErrorKind::Duplicate, message));
        }
        let own = 1 << position;
        if excluded.is_some_and(|layers| layers & !own != excluded_below(position) & !own) {
            let message = format!(
                "{} with another `excludes_below`, which cannot change; pass the same one or none, or \
                 choose another name",
                found()
            );
            return Err(Error::new(ErrorKind::Duplicate, message));
        }
        Ok(())
    }

    /// The constraints leave no free place: what stands there, and where there would be one.
    #[cold]
    fn no_place(&self, bounds: Bounds) -> Error {
        let constraints: Vec<_> = [("above", bounds.above), ("below", bounds.below)]
            .into_iter()
            .filter_map(|(side, key)| Some(format!("{side} {}", key?)))
            .collect();
        let held: Vec<_> = functionalities(bounds.between() & existing_layers())
            .map(|layer| match place_of(layer.into()) {
                Some(place) => format!("{layer} (allocated at {place})"),
                None => layer.to_string(),
            })
            .collect();
        let held = if held.is_empty() { "nothing fits between".into() } else { held.join(", ") };
        let free = !existing_layers() & !1;
        let lower = free & ((1 << bounds.low) - 1);
        let higher = free.checked_shr(bounds.high).map_or(0, |bits| bits << bounds.high);
        let just_above = |position: u32| {
            let under = (existing_layers() | 1) & ((1 << position) - 1);
            Functionality::at(under.ilog2()).map(|layer| format!("above {layer}"))
        };
        let nearest: Vec<_> = [lower.checked_ilog2(), (higher != 0).then(|| higher.trailing_zeros())]
            .into_iter()
            .flatten()
            .filter_map(just_above)
            .collect();
        let remedy = if nearest.is_empty() {
            "all positions of the process are taken".into()
        } else {
            format!("the nearest free positions are {}", nearest.join(" and "))
        };
        refused(format!("{self}: no position is free {}: {held}; {remedy}", constraints.join(" and ")))
    }
}

impl std::fmt::Display for NewLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "layer `{}`", self.name)
    }
}

/// Between which positions a layer has to stand, and the keys that say so.
#[derive(Clone, Copy)]
struct Bounds {
    low: u32,
    above: Option<DispatchKey>,
    high: u32,
    below: Option<DispatchKey>,
}

impl Bounds {
    /// The positions strictly between.
    fn between(self) -> u64 {
        let under = if self.high == u64::BITS { u64::MAX } else { (1 << self.high) - 1 };
        under & !(2u64 << self.low).wrapping_sub(1)
    }
}

/// The place that a layer gets: the middle one of the gap between torch's layers that is nearest to the lower bound
/// (`upwards`) or the upper one.
fn chosen(free: u64, upwards: bool) -> u32 {
    let first = if upwards { free.trailing_zeros() } else { free.ilog2() };
    let over = BUILT_IN_LAYERS & !((1 << first) - 1);
    let under = BUILT_IN_LAYERS & ((1 << first) - 1) | 1;
    let high = if over == 0 { u64::BITS } else { over.trailing_zeros() };
    let gap = Bounds { low: under.ilog2(), above: None, high, below: None };
    let mut places = free & gap.between();
    for _ in 0..(places.count_ones() - 1) / 2 {
        places &= places - 1;
    }
    places.trailing_zeros()
}

/// The functionalities at the positions of a word.
fn functionalities(layers: u64) -> impl Iterator<Item = Functionality> {
    (0..u64::BITS).filter(move |position| layers >> position & 1 != 0).filter_map(Functionality::at)
}
