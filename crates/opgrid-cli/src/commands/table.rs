//! `opgrid table`: the dispatch table of an operator, with the rule that filled each column.

use opgrid::{Result, TableSlot};
use serde_json::{Value as Json, json};

use super::operator;
use crate::columns::aligned;
use crate::json;

/// Show which kernel an operator has for each key, by which rule, and where it was registered.
#[derive(clap::Args)]
pub(crate) struct Table {
    /// The operator, as in aten::add.Tensor.
    operator: String,
    /// Show the columns without a kernel too.
    #[arg(long)]
    all: bool,
    /// Print the table as torch dumps it.
    #[arg(long, conflicts_with = "all")]
    raw: bool,
}

impl Table {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let operator = operator(&self.operator)?;
        let name = operator.name().to_string();
        if self.raw {
            let dump = operator.dump_computed_table()?;
            return Ok(if json { json::line(&json!({"operator": name, "dump": dump})) } else { dump });
        }
        let mut columns = operator.table()?;
        columns.retain(|column| self.all || column.kernel.is_some());
        if json {
            let columns: Vec<_> = columns.iter().map(describe).collect();
            return Ok(json::line(&json!({"operator": name, "columns": columns})));
        }
        let mut rows = vec![["key", "kernel", "reason", "place"].map(str::to_owned)];
        rows.extend(columns.iter().map(row));
        Ok(format!("{}\n{}", operator.schema()?, aligned(&rows)))
    }
}

fn row(column: &TableSlot) -> [String; 4] {
    let (title, place) = match &column.kernel {
        Some(kernel) if column.fallthrough => {
            ("fallthrough", kernel.description.as_deref().unwrap_or(&kernel.place))
        }
        Some(kernel) => (kernel.title(), kernel.place.as_str()),
        None => ("-", ""),
    };
    [column.key.to_string(), title.to_owned(), column.reason.to_string(), place.to_owned()]
}

fn describe(column: &TableSlot) -> Json {
    json!({
        "key": column.key.to_string(),
        "column": column.key.torch_column(),
        "fallthrough": column.fallthrough,
        "kernel": column.kernel.as_ref().map(opgrid::KernelInfo::to_json),
        "reason": column.reason.to_string(),
        "provenance": column.reason.provenance(),
    })
}
