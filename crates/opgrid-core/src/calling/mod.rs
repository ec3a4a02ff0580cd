//! A call, from the thread's keys and the operator's table to a kernel, and everything that watches on the way.

pub(crate) mod boxing;
pub mod call;
pub mod held;
pub(crate) mod inferred;
pub mod kernel;
pub mod ledger;
pub mod observe;
pub mod operator;
pub mod retirement;
pub(crate) mod shard;
pub mod strict;
pub(crate) mod table;
pub mod thread;
