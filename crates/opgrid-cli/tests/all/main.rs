//! The tests that need no process of their own, as one program, so that there is one to link.

#[path = "../common/mod.rs"]
mod common;

mod call;
mod commands;
mod inspect;
mod pages;
mod plugins;
