//! What users allocate at run time: backends here, layers in [`user_layers`](crate::user_layers).
//!
//! Keys belong to the process and are never taken back, because tensors and sets of keys hold their positions. A
//! position's slot is written once, before the position joins the word of those that exist; names live forever.
//! Whoever reads finds a whole slot or none and never waits. Those who allocate wait for each other.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::error::{Error, ErrorKind, Result};
use crate::fork::Held;
use crate::keys::key::DispatchKey;
use crate::keys::parts::{
    BUILT_IN_BACKENDS, BUILT_IN_LAYERS, Backend, BackendComponent, Functionality, Layer,
};
use crate::keys::set::DispatchKeySet;
use crate::place::Place;
use crate::sync::lock;

/// A backend of a user.
struct UserBackend {
    backend: Backend,
    device: &'static str,
    place: Place,
}

/// A layer of a user.
struct UserLayer {
    layer: Layer,
    place: Place,
}

static BACKENDS: [OnceLock<UserBackend>; BackendComponent::COUNT] =
    [const { OnceLock::new() }; BackendComponent::COUNT];
static LAYERS: [OnceLock<UserLayer>; Functionality::COUNT] =
    [const { OnceLock::new() }; Functionality::COUNT];
static EXISTING_BACKENDS: AtomicU32 = AtomicU32::new(BUILT_IN_BACKENDS);
static EXISTING_LAYERS: AtomicU64 = AtomicU64::new(BUILT_IN_LAYERS);

/// For each layer, the layers that are excluded while its kernels call on.
static EXCLUDED_BELOW: [AtomicU64; Functionality::COUNT] = {
    let autograd = DispatchKeySet::AUTOGRAD.layers();
    let mut words = [const { AtomicU64::new(0) }; Functionality::COUNT];
    let mut position = 0;
    while position < words.len() {
        let layer = 1 << position;
        words[position] = AtomicU64::new(if layer & autograd != 0 { autograd } else { layer });
        position += 1;
    }
    words
};

/// The positions of the functionalities that exist, without `Undefined`.
pub(crate) fn existing_layers() -> u64 {
    EXISTING_LAYERS.load(Ordering::Acquire)
}

/// The positions of the backends that exist.
pub(crate) fn existing_backends() -> u32 {
    EXISTING_BACKENDS.load(Ordering::Acquire)
}

/// What a user said of the layer at a position.
pub(crate) fn layer(functionality: Functionality) -> Option<Layer> {
    LAYERS[functionality.position() as usize].get().map(|user| user.layer)
}

/// What a user said of the backend at a position.
pub(crate) fn backend(backend: BackendComponent) -> Option<Backend> {
    BACKENDS[backend.position() as usize].get().map(|user| user.backend)
}

/// The name of the type of device of a user's backend.
pub(crate) fn device_name(backend: BackendComponent) -> Option<&'static str> {
    BACKENDS[backend.position() as usize].get().map(|user| user.device)
}

/// The layers that are excluded on the thread, and left out of the call, while a kernel of `layer` calls on: itself;
/// of an autograd layer all of autograd; of a user's layer also what its [`excludes_below`] says.
///
/// [`excludes_below`]: crate::NewLayer::excludes_below
#[inline(always)]
pub(crate) fn excluded_below(layer: u32) -> u64 {
    EXCLUDED_BELOW[layer as usize % Functionality::COUNT].load(Ordering::Relaxed)
}

/// Where a user allocated the key's layer or backend.
pub(crate) fn place_of(key: DispatchKey) -> Option<Place> {
    match key.backend() {
        Some(backend) => BACKENDS[backend.position() as usize].get().map(|user| user.place),
        None => LAYERS[key.functionality().position() as usize].get().map(|user| user.place),
    }
}

static ALLOCATING: Mutex<()> = Mutex::new(());

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.lock(&ALLOCATING);
}

/// Keeps others from allocating until it is dropped.
pub(crate) struct Allocation(#[allow(dead_code)] MutexGuard<'static, ()>);

impl Allocation {
    pub(crate) fn begin() -> Self {
        Self(lock(&ALLOCATING))
    }

    /// Gives a free position to a layer.
    pub(crate) fn add_layer(&self, position: u32, name: &str, excluded_below: u64, place: Place) {
        let layer = Layer { name: leaked(name.to_owned()), prefix: None };
        EXCLUDED_BELOW[position as usize].store(1 << position | excluded_below, Ordering::Relaxed);
        LAYERS[position as usize].get_or_init(|| UserLayer { layer, place });
        EXISTING_LAYERS.fetch_or(1 << position, Ordering::Release);
    }

    /// Gives a free position to a backend.
    pub(crate) fn add_backend(&self, position: u32, name: &str, place: Place) {
        let backend = Backend { name: leaked(name.to_owned()), bit_name: leaked(format!("{name}Bit")) };
        let device = leaked(name.to_ascii_lowercase());
        BACKENDS[position as usize].get_or_init(|| UserBackend { backend, device, place });
        EXISTING_BACKENDS.fetch_or(1 << position, Ordering::Release);
    }
}

/// A text that lives forever, as the positions that are named by it do.
fn leaked(text: String) -> &'static str {
    String::leak(text)
}

pub(crate) fn refused(message: String) -> Error {
    Error::new(ErrorKind::Registration, message)
}

/// Checks that `name` can be (part of) the name of a key; `subject` is what it is for.
pub(crate) fn check_identifier(subject: &str, name: &str) -> Result<()> {
    let starts = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if starts && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    let expected = "expected a letter followed by letters, digits and underscores, such as `Toy`";
    Err(refused(format!("{subject} `{name}`: the name is not an identifier, {expected}")))
}

/// Checks that no key has one of the names that `subject` would bring, whatever their case.
pub(crate) fn check_new(subject: &str, names: &[String]) -> Result<()> {
    for name in names {
        if let Some(known) = DispatchKey::all().find(|key| key.is_called(name)) {
            let whose = place_of(known).map_or("built in".into(), |place| format!("allocated at {place}"));
            let message =
                format!("{subject}: its key `{name}` would be confused with {known}, which is {whose}");
            return Err(Error::new(ErrorKind::Duplicate, format!("{message}; choose another name")));
        }
    }
    Ok(())
}
