//! Compares opgrid's tensors and operators with torch's, by random cases that both run.
//!
//! [`build`] makes a case of a seed with what [`families`] says about the arguments of each operator, [`variations`] one that
//! varies a sample of it; [`torch`] sends
//! it to a Python program, [`ours`] runs it here, [`compare`] looks for differences and [`deliberate`] knows
//! those that were decided.

pub mod answer;
pub mod build;
pub mod case;
pub mod chains;
pub mod compare;
pub mod deliberate;
pub mod directed;
pub mod elements;
pub mod families;
pub mod hex;
pub mod images;
pub mod layouts;
pub mod mistakes;
pub mod ours;
pub mod printing;
pub mod promotion;
pub mod record;
pub mod report;
pub mod run;
pub mod tolerance;
pub mod torch;
pub mod variations;
