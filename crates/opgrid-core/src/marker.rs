//! The symbol by which a loader recognises a library that carries a dispatcher of its own.
#![allow(unsafe_code)]

/// Every program and library that links this crate has the symbol. A process has one dispatcher whose operators all share;
/// a plugin with a second one would register its operators where nobody looks for them, so loaders refuse it.
// SAFETY: no other crate gives a symbol this name, and nobody reads what is there.
#[unsafe(no_mangle)]
#[used]
pub static OPGRID_CORE_MARKER: [u8; 12] = *b"opgrid-core\0";
