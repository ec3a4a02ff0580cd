//! Safe programs that once broke a promise of the dispatcher, by subject.
#![forbid(unsafe_code)]

mod destructors;
mod fallbacks;
mod listeners;
mod registration;
