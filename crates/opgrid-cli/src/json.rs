//! The JSON that commands print.

use opgrid::DispatchKeySet;
use serde_json::Value as Json;

/// One line of JSON.
pub(crate) fn line(value: &Json) -> String {
    format!("{value}\n")
}

/// The names of the keys of a set.
pub(crate) fn keys(set: DispatchKeySet) -> Vec<String> {
    set.iter().map(|key| key.to_string()).collect()
}
