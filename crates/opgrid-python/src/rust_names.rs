//! Names of Rust functions that errors advise, as Python users know them.
//!
//! Most errors name operators, arguments and keys, which are called the same here. Some name a function of the Rust
//! interface; each of those has a row here, as `python/tests/test_messages.py` checks.

use std::borrow::Cow;

/// What errors of the crates below say, and what Python calls it. What begins like another one comes first.
const NAMES: [(&str, &str); 12] = [
    ("`Dispatcher::implementations(\"_\", None)`", "`og.library.Library(\"_\", \"IMPL\")`"),
    ("`Dispatcher::implementations`", "`og.library.Library(namespace, \"IMPL\")`"),
    ("`Dispatcher::operators`", "`og.registrations_for()`"),
    ("`Dispatcher::fragment`", "`og.library.Library(namespace, \"FRAGMENT\")`"),
    ("`Dispatcher::library`", "`og.library.Library(namespace, \"DEF\")`"),
    ("`kernels::random::generator`", "`og.Generator`"),
    ("register one by `devices::register`", "load a plugin that has one with `og.ops.load_library`"),
    ("call `modes::install` first", "use the dispatcher of the process"),
    ("call `autocast::install_for` first", "use the dispatcher of the process"),
    ("call `fake::install` first", "use the dispatcher of the process"),
    ("`Event::synchronize`", "`synchronize`"),
    ("make both by `Event::timed`", "make both with times"),
];

/// The message with Python's names.
#[cold]
pub(crate) fn in_python(message: &str) -> Cow<'_, str> {
    if !message.contains("::") {
        return message.into();
    }
    NAMES.iter().fold(message.into(), |message: Cow<'_, str>, (rust, python)| {
        if message.contains(rust) { message.replace(rust, python).into() } else { message }
    })
}
