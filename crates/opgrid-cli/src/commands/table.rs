//! `opgrid table`: the dispatch table of an operator, with the rule that filled each column.

use opgrid::dispatch::TableSlot;
use opgrid::{OperatorHandle, Result};
use serde_json::{Value as Json, json};

use super::list::admits;
use super::{keys, meant};
use crate::columns::aligned;
use crate::{json, style};

/// Show which kernel an operator has for each key, by which rule, and where it was registered.
///
/// Keys that the same kernel fills by the same rule stand in one row.
#[derive(clap::Args)]
pub(crate) struct Table {
    /// The operator, as in aten::add.Tensor, or a name such as aten::add or add for all of its overloads.
    operator: String,
    /// Show only keys of this name, or with this part in it; may be given several times.
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Show every key in a row of its own, those without a kernel too.
    #[arg(long)]
    all: bool,
    /// Print the table as torch dumps it.
    #[arg(long, conflicts_with_all = ["all", "key"])]
    raw: bool,
}

impl Table {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let operators = meant(&self.operator)?;
        let tables =
            operators.iter().map(|operator| self.render(operator, json)).collect::<Result<Vec<_>>>()?;
        Ok(json::joined(&tables, json))
    }

    fn render(&self, operator: &OperatorHandle, json: bool) -> Result<String> {
        let name = operator.name().to_string();
        if self.raw {
            let dump = operator.dump_computed_table()?;
            return Ok(if json { json::line(&json!({"operator": name, "dump": dump})) } else { dump });
        }
        let mut columns = operator.table()?;
        let is_of_none = |key: &&String| !columns.iter().any(|column| admits(key, &column.key.to_string()));
        if let Some(key) = self.key.iter().find(is_of_none) {
            return Err(keys::none_matches(key, columns.iter().map(|column| column.key)));
        }
        columns.retain(|column| {
            let name = column.key.to_string();
            let is_asked_for = self.key.is_empty() || self.key.iter().any(|key| admits(key, &name));
            is_asked_for && (self.all || !self.key.is_empty() || column.kernel.is_some())
        });
        if json {
            let columns: Vec<_> = columns.iter().map(describe).collect();
            return Ok(json::line(&json!({"operator": name, "columns": columns})));
        }
        let mut rows = vec![["key", "kernel", "reason", "place"].map(|title| style::HEADING.apply(title))];
        rows.extend(alike(&columns, self.all).into_iter().map(|(first, count)| row(first, count)));
        Ok(format!("{}\n{}", operator.schema()?, aligned(&rows)))
    }
}

/// Neighbours that say the same, by the first of them, with how many there are.
fn alike(columns: &[TableSlot], apart: bool) -> Vec<(&TableSlot, usize)> {
    let says = |slot: &TableSlot| (slot.reason, slot.fallthrough, slot.kernel.clone());
    let mut rows: Vec<(&TableSlot, usize)> = Vec::new();
    for slot in columns {
        match rows.last_mut() {
            Some((first, count)) if !apart && says(first) == says(slot) => *count += 1,
            _ => rows.push((slot, 1)),
        }
    }
    rows
}

fn row(column: &TableSlot, count: usize) -> [String; 4] {
    let (title, place) = match &column.kernel {
        Some(kernel) if column.fallthrough => {
            ("fallthrough", kernel.description.as_deref().unwrap_or(&kernel.place))
        }
        Some(kernel) => (kernel.title(), kernel.place.as_str()),
        None => ("-", ""),
    };
    let key = match count {
        1 => column.key.to_string(),
        count => format!("{}{}", column.key, style::QUIET.apply(format!(" and {} more", count - 1))),
    };
    [key, title.to_owned(), style::reason(&column.reason.to_string()), style::QUIET.apply(place)]
}

fn describe(column: &TableSlot) -> Json {
    json!({
        "key": column.key.to_string(),
        "column": column.key.torch_column(),
        "fallthrough": column.fallthrough,
        "kernel": column.kernel.as_ref().map(opgrid::dispatch::KernelInfo::to_json),
        "reason": column.reason.to_string(),
        "provenance": column.reason.provenance(),
    })
}
