//! Opens a library, runs its entry, and registers what that says: everything or nothing.
//!
//! What can be known without running the library is checked before: that it is one, its version, that it has an entry and
//! no dispatcher of its own. Its code stays mapped when the plugin is dropped, because somebody may still be in it, or hold
//! what leads there.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Code, RTLD_LOCAL, RTLD_NOW};
use opgrid_abi::{
    CORE_MARKER_SYMBOL, INIT_SYMBOL, OPGRID_OK, OpgridApi, OpgridError, OpgridInitFn, OpgridLibrary,
};
use opgrid_core::{Dispatcher, Error, ErrorKind, Registration, Result, quiesce};

use crate::abi::{self, LibraryId};
use crate::image::{Image, has_core};
use crate::manifest::Manifest;
use crate::search;

/// A plugin that is loaded. Dropping it takes back what it registered.
///
/// Layers and backends that it allocated belong to the process and stay, and so does its code: calls that began before end
/// in it, and tensors whose memory it made free it there. [`unmap`](Self::unmap) is for those who know better.
#[must_use = "what the plugin registered is undone when this is dropped"]
pub struct Plugin {
    manifest: Manifest,
    path: PathBuf,
    /// In the order in which they are dropped.
    registration: Registration,
    library: LibraryId,
    code: ManuallyDrop<Code>,
}

/// Opens plugins: `dispatcher.load(path)`.
pub trait Load {
    /// Opens a plugin and registers what it has: everything at once, or nothing. The path is found as by
    /// [`find`](crate::find).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`]: no such file, no plugin, another version, a dispatcher of its own. Else what its entry or the
    /// registry refuses; then nothing has changed.
    fn load(&self, path: impl AsRef<Path>) -> Result<Plugin>;
}

impl Load for Dispatcher {
    fn load(&self, path: impl AsRef<Path>) -> Result<Plugin> {
        load(self, path.as_ref())
    }
}

/// Opens a plugin for a dispatcher, as [`Load::load`] does.
///
/// # Errors
///
/// As [`Load::load`].
pub fn load(dispatcher: &Dispatcher, path: &Path) -> Result<Plugin> {
    crate::forking::LOCKS.prepare();
    let path = search::find(path)?;
    open(dispatcher, &path).map_err(|error| error.within(path.display()))
}

fn open(dispatcher: &Dispatcher, path: &Path) -> Result<Plugin> {
    let manifest = Image::new(&search::bytes_of(path)?)?.plugin()?;
    manifest.check_version()?;
    // SAFETY: constructors of the library run here. That they keep to the rules of C is what loading a library means, and
    // said in the documentation of plugins.
    let code = unsafe { Code::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    // The code stays, whatever happens from here on: its constructors may have left pointers to it anywhere.
    let code = ManuallyDrop::new(code.map_err(|error| unopened(&error))?);
    // Those libraries count, too, that this one is linked to.
    if find::<*const ()>(&code, CORE_MARKER_SYMBOL).is_ok() {
        return Err(has_core(&manifest.name));
    }
    let init: OpgridInitFn = find(&code, INIT_SYMBOL)?;
    let library = LibraryId::open(dispatcher, &manifest.name, path);
    // SAFETY:
    // - the symbol is that of a function of this type: the manifest says that the library is a plugin of this version.
    // - the table lives as long as the process.
    let status = unsafe { init(abi::api(), library.as_pointer()) };
    let said = library.close();
    if status != OPGRID_OK {
        return Err(said.failure(&manifest.name, status));
    }
    let registration = said.register()?;
    Ok(Plugin { manifest, path: path.to_owned(), registration, library, code })
}

/// Gives a program that is no plugin the table, and a library of a dispatcher by which its functions find operators. Nothing can be
/// registered by it. The table is written in any case, so that the error can be read.
///
/// # Safety
///
/// Each address is null, or can be written.
pub unsafe fn open_table(
    dispatcher: impl FnOnce() -> Result<Dispatcher>,
    name: &str,
    table: *mut *const OpgridApi,
    library: *mut *mut OpgridLibrary,
    error: *mut *mut OpgridError,
) -> i32 {
    crate::forking::LOCKS.prepare();
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { abi::open(dispatcher, name, table, library, error) }
}

/// A symbol of a library.
fn find<T: Copy>(code: &Code, name: &str) -> Result<T> {
    let symbol = CString::new(name).map_err(Error::from_source)?;
    // SAFETY: the types that are asked for here are those of the interface, and pointers.
    let found = unsafe { code.get::<T>(symbol.as_bytes_with_nul()) };
    found.map(|symbol| *symbol).map_err(|error| {
        let message = format!("the symbol `{name}` is missing: {error}; export a function of that name");
        Error::new(ErrorKind::File, message)
    })
}

fn unopened(error: &libloading::Error) -> Error {
    let reason = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    let message = format!("the library cannot be opened: {error}{reason}; install what it is linked to");
    Error::new(ErrorKind::File, message)
}

impl Plugin {
    /// What the plugin says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps what was registered for as long as the dispatcher lives.
    pub fn keep(self) {
        let Self { registration, library, .. } = self;
        registration.keep();
        library.keep();
    }

    /// Takes back what was registered, waits for calls that began before, and gives the code back to the system.
    ///
    /// # Errors
    ///
    /// A kernel of the plugin is running on this thread; then its code stays.
    ///
    /// # Safety
    ///
    /// Nothing leads to the code any more: no tensor on memory of the plugin, no error or value of it, no thread that it
    /// started, nothing that its constructors registered elsewhere.
    pub unsafe fn unmap(self) -> Result<()> {
        let Self { registration, library, code, .. } = self;
        drop(registration);
        drop(library);
        quiesce()?;
        drop(ManuallyDrop::into_inner(code));
        Ok(())
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plugin({} {} at {})", self.manifest.name, self.manifest.version, self.path.display())
    }
}
