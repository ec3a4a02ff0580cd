//! The tests that need no process of their own, as one program, so that there is one to link.

mod alias;
mod binding;
mod compatibility;
mod defaults;
mod forms;
mod grammar;
mod hostile;
mod properties;
mod types;
mod vectors;
