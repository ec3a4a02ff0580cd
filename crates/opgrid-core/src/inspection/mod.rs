//! Looking at a dispatcher: explanations of calls, dumps of tables, checks of what always holds, figures.

pub mod coverage;
pub mod dump;
pub mod explain;
mod invariants;
pub mod stats;
