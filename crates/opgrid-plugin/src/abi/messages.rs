//! What plugins tell people, and who hears it.
#![allow(unsafe_code)]

use std::fmt;
use std::io::Write;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use opgrid_abi::{OPGRID_LOG_NOTE, OpgridLibrary, OpgridText};
use opgrid_core::deferred_drop::Flat;

use super::errors::quietly;
use super::libraries::{self, State};
use super::slice;

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Something that may be good to know.
    Note,
    /// Something that is probably not meant so.
    Warning,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
        })
    }
}

/// What a plugin tells people.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// How much it matters.
    pub level: Level,
    /// The plugin's name; none of one that is no longer loaded.
    pub plugin: Option<String>,
    /// What it says.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plugin {
            Some(plugin) => write!(f, "plugin `{plugin}`: {}", self.text),
            None => write!(f, "a plugin that is no longer loaded: {}", self.text),
        }
    }
}

/// Who hears of messages.
type Handler = Flat<Arc<dyn Fn(&Message) + Send + Sync>>;

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// What is held while the process forks.
pub(super) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&HANDLER);
}

/// Gives what plugins tell people to `handler` instead of the standard error. It is called on the thread of the plugin's code that
/// says something: in a kernel, on a thread of the pool, while a plugin is loaded.
///
/// # Examples
///
/// ```
/// opgrid_plugin::on_message(|message| eprintln!("{}: {message}", message.level));
/// ```
pub fn on_message(handler: impl Fn(&Message) + Send + Sync + 'static) {
    let handler: Handler = Flat::new(Arc::new(handler));
    let before = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).replace(handler);
    // The handler before may own anything, so it goes without the lock.
    drop(before);
}

fn tell(message: &Message) {
    let handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match handler {
        Some(handler) => handler(message),
        None => {
            // Without a standard error there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "{}: {message}", message.level);
        }
    }
}

pub(super) unsafe extern "C" fn log(library: *mut OpgridLibrary, level: u32, message: OpgridText) {
    quietly((), || {
        // SAFETY: the plugin guarantees that the text has the bytes that it says.
        let bytes = unsafe { slice(message.data.cast::<u8>(), message.size, "a message") };
        let text = match &bytes {
            Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Err(error) => error.to_string(),
        };
        // What is of no level that is known here is of the one that is heard everywhere.
        let level = if level == OPGRID_LOG_NOTE { Level::Note } else { Level::Warning };
        // A plugin need not know its library where one of its kernels runs.
        let library =
            if library.is_null() { ptr::without_provenance_mut(libraries::current()) } else { library };
        let plugin = State::from_handle(library).ok().map(|state| state.name.clone());
        tell(&Message { level, plugin, text });
    });
}
