//! Looking at a dispatcher: explanations of calls, dumps of tables, checks of what always holds, figures.

pub mod explain;
