//! From libraries to tables: what is registered, which kernel follows from it for each key, and how it is undone.

pub(crate) mod chain;
pub mod dispatcher;
pub(crate) mod dispatcher_state;
pub(crate) mod forking;
pub mod legacy;
pub mod library;
pub mod listener;
pub mod on_demand;
pub mod operator_builder;
pub mod overload;
pub mod provider;
pub(crate) mod record;
pub(crate) mod records;
pub(crate) mod registry;
pub mod resolve;
pub(crate) mod suggestions;
pub(crate) mod transaction;
