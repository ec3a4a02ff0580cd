//! A table as text: the columns that have kernels, and what fills them.

use std::fmt::Write;

use crate::calling::table::TableRef;
use crate::keys::key::{DispatchKey, columns};

/// One line per column that has a kernel, in torch's format.
pub(crate) fn dump_table(table: TableRef<'_>) -> String {
    let mut text = String::new();
    for key in columns() {
        let slot = table.slot_of(key);
        if slot.reason.is_registered() {
            let skip = if slot.kernel.is_fallthrough() { "fallthrough " } else { "" };
            let _ = writeln!(text, "{key}: {skip}{} [{}]", slot.kernel.debug(), slot.reason.provenance());
        }
    }
    text
}

/// The columns that have a kernel, as `[K1, K2]`.
pub(crate) fn list_columns(table: TableRef<'_>) -> String {
    let filled =
        |key: &DispatchKey| *key != DispatchKey::Undefined && table.slot_of(*key).reason.is_registered();
    let names: Vec<_> = columns().into_iter().filter(filled).map(|key| key.to_string()).collect();
    format!("[{}]", names.join(", "))
}
