//! Safe programs that once broke a promise of the dispatcher, by subject.
#![forbid(unsafe_code)]

mod arguments;
mod binding;
mod depth;
mod destructors;
mod fallbacks;
mod listeners;
mod registration;
mod signatures;
