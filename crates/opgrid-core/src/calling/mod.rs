//! A call, from the thread's keys and the operator's table to a kernel, and everything that watches on the way.

pub mod binding;
pub(crate) mod boxing;
pub mod call;
pub mod columns;
pub(crate) mod conditions;
pub mod context;
pub mod forms;
pub mod held;
pub(crate) mod inferred;
pub mod kernel;
pub mod kernel_info;
pub mod kind;
pub(crate) mod listing;
pub(crate) mod missing;
pub(crate) mod name_index;
pub mod observe;
pub mod operator;
pub(crate) mod owner;
pub mod reason;
pub mod retirement;
pub mod slow_path;
pub(crate) mod slow_path_counts;
pub mod strict;
pub(crate) mod table;
pub mod thread;
