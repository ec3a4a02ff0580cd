//! What plugins register, while they say it and afterwards, known by numbers that look like pointers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid_abi::{OpgridBlock, OpgridLibrary};
use opgrid_core::{Dispatcher, Error, ErrorKind, Library, Place, Registration, Result};

use crate::search::shown;

/// The low bits of a block's number are its place among those of its library, counted from 1.
const BLOCK_BITS: u32 = 16;

thread_local! {
    /// The library by which the kernel was registered that this thread runs; 0 outside of plugins' kernels.
    static RUNNING: Cell<usize> = const { Cell::new(0) };
}

/// The number of the library that a block belongs to.
pub(super) fn library_of(block: *const OpgridBlock) -> usize {
    block.addr() >> BLOCK_BITS
}

/// The number of the library by which the kernel was registered that this thread runs.
pub(super) fn current() -> usize {
    RUNNING.get()
}

/// Runs a kernel that was registered by that library. It is code of a plugin, which no panic leaves.
#[inline]
pub(super) fn running<X>(library: usize, kernel: impl FnOnce() -> X) -> X {
    let before = RUNNING.replace(library);
    let result = kernel();
    RUNNING.set(before);
    result
}

/// A plugin's state.
pub(super) struct State {
    pub(super) dispatcher: Dispatcher,
    /// The plugin's, as its manifest says it.
    pub(super) name: String,
    /// The file, as places of what it registers name it where it does not say more.
    path: String,
    said: Mutex<Option<Said>>,
}

/// What a plugin's entry has said.
#[derive(Default)]
pub(crate) struct Said {
    /// A block that is being added to is not there.
    blocks: Vec<Option<Library>>,
    failure: Option<Error>,
}

struct Known {
    last: usize,
    states: BTreeMap<usize, Arc<State>>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { last: 0, states: BTreeMap::new() });

/// What is held while the process forks.
pub(super) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&KNOWN);
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a plugin's library. Dropping it ends what functions can do with it.
pub(crate) struct LibraryId(usize);

impl LibraryId {
    /// A new library of a dispatcher, which takes what a plugin's entry says.
    pub(crate) fn open(dispatcher: &Dispatcher, name: &str, path: &Path) -> Self {
        let (dispatcher, said) = (dispatcher.clone(), Mutex::new(Some(Said::default())));
        let state = Arc::new(State { dispatcher, name: name.to_owned(), path: shown(path), said });
        let mut known = known();
        known.last += 1;
        let number = known.last;
        known.states.insert(number, state);
        Self(number)
    }

    pub(crate) fn as_pointer(&self) -> *mut OpgridLibrary {
        ptr::without_provenance_mut(self.0)
    }

    /// Ends what the entry can say.
    pub(crate) fn close(&self) -> Said {
        let state = known().states.get(&self.0).cloned();
        state.and_then(|state| state.said().take()).unwrap_or_default()
    }

    /// Leaves the library as long as the process runs.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for LibraryId {
    fn drop(&mut self) {
        // The dispatcher may be dropped with it, which is not done under the lock.
        let state = known().states.remove(&self.0);
        drop(state);
    }
}

impl Said {
    /// Registers everything that the entry said, or nothing.
    pub(crate) fn register(self) -> Result<Registration> {
        let mut blocks = self.blocks.into_iter().flatten();
        if let Some(failure) = self.failure {
            blocks.for_each(Library::discard);
            return Err(failure);
        }
        let Some(mut whole) = blocks.next() else { return Ok(Registration::empty()) };
        for block in blocks {
            whole.join(block);
        }
        whole.finish()
    }

    /// Why the entry failed.
    pub(crate) fn failure(self, name: &str, status: i32) -> Error {
        self.blocks.into_iter().flatten().for_each(Library::discard);
        let subject = format!("plugin `{name}` could not register itself");
        match self.failure {
            Some(error) => error.within(subject),
            None => {
                let message = format!(
                    "{subject}: its entry returned status {status} and no error; report one with \
                     `library_fail`"
                );
                Error::new(ErrorKind::Registration, message)
            }
        }
    }
}

impl State {
    /// Where something stands of which the plugin does not say it. The names of places are kept for as long as the process
    /// runs, so that this one is made only where it is needed.
    pub(super) fn place(&self) -> Place {
        Place::new(&self.path, 0)
    }

    fn said(&self) -> MutexGuard<'_, Option<Said>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a library.
    ///
    /// # Errors
    ///
    /// The plugin is no longer loaded, or there never was such a one.
    pub(super) fn from_handle(library: *const OpgridLibrary) -> Result<Arc<Self>> {
        known().states.get(&library.addr()).cloned().ok_or_else(|| {
            let message = "the library of the plugin no longer exists: the plugin was dropped, or its \
                 entry has failed; load it again";
            Error::new(ErrorKind::Stale, message)
        })
    }

    /// The state for a plugin's functions that look something up. A file that is loaded for several dispatchers has its
    /// variables once, and knows the library that came last; in a kernel, the one counts that the kernel is of.
    ///
    /// # Errors
    ///
    /// As for [`from_handle`](Self::from_handle).
    pub(super) fn here(library: *const OpgridLibrary) -> Result<Arc<Self>> {
        let running = RUNNING.get();
        if running != 0 && running != library.addr() {
            let known = known();
            if let Some(state) = known.states.get(&running) {
                let given = known.states.get(&library.addr());
                if given.is_none_or(|given| given.path == state.path) {
                    return Ok(state.clone());
                }
            }
        }
        Self::from_handle(library)
    }

    /// Keeps why the entry fails; the first failure counts.
    pub(super) fn fail(&self, error: Error) {
        if let Some(said) = &mut *self.said() {
            said.failure.get_or_insert(error);
        }
    }

    /// Adds a block.
    ///
    /// # Errors
    ///
    /// The entry has returned; there are too many.
    pub(super) fn add(&self, library: *const OpgridLibrary, block: Library) -> Result<*mut OpgridBlock> {
        let mut said = self.said();
        let Some(said) = said.as_mut() else {
            block.discard();
            return Err(too_late());
        };
        if (said.blocks.len() + 1) >> BLOCK_BITS != 0 {
            block.discard();
            let message = "the entry of a plugin opens more than 65,535 blocks; add more to each of them";
            return Err(Error::new(ErrorKind::Registration, message));
        }
        said.blocks.push(Some(block));
        Ok(ptr::without_provenance_mut(library.addr() << BLOCK_BITS | said.blocks.len()))
    }
}

/// Adds to a block. No lock is held meanwhile: what is refused is dropped, and with it a context, whose plugin may call back.
///
/// # Errors
///
/// There is no such block, or the entry has returned; the block is being added to by somebody else.
pub(super) fn with_block<X>(
    block: *const OpgridBlock,
    body: impl FnOnce(&State, &mut Library) -> Result<X>,
) -> Result<X> {
    let (library, place) = (library_of(block), block.addr() & ((1 << BLOCK_BITS) - 1));
    let state = State::from_handle(ptr::without_provenance(library))?;
    let mut taken = Taken::new(&state, place)?;
    taken.block.as_mut().map_or_else(|| Err(in_use()), |block| body(&state, block))
}

/// A block that is being added to; it is put back, also when a panic passes.
struct Taken<'s> {
    state: &'s State,
    index: usize,
    block: Option<Library>,
}

impl<'s> Taken<'s> {
    /// Takes the block of that place, counted from 1.
    fn new(state: &'s State, place: usize) -> Result<Self> {
        let mut said = state.said();
        let blocks = &mut said.as_mut().ok_or_else(too_late)?.blocks;
        let index = place.checked_sub(1).filter(|index| *index < blocks.len()).ok_or_else(|| {
            Error::new(ErrorKind::Registration, "the block does not exist; get one from `block_open`")
        })?;
        let block = Some(blocks[index].take().ok_or_else(in_use)?);
        Ok(Self { state, index, block })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut said = self.state.said();
        let place = said.as_mut().and_then(|said| said.blocks.get_mut(self.index));
        match place {
            Some(place) => *place = self.block.take(),
            None => {
                // The entry returned meanwhile, on another thread. What is dropped may call back.
                drop(said);
                if let Some(block) = self.block.take() {
                    block.discard();
                }
            }
        }
    }
}

#[cold]
fn in_use() -> Error {
    let message = "the block is in use by another thread, or by the function that frees a context; add \
         to it one call at a time";
    Error::new(ErrorKind::Registration, message)
}

#[cold]
fn too_late() -> Error {
    let message = "the entry of the plugin has returned, and nothing more can be registered; register \
         it in the entry";
    Error::new(ErrorKind::Registration, message)
}
