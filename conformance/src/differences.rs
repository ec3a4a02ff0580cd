//! The page of all differences from PyTorch, printed from where each is decided.

use std::fmt::Write;

use crate::dispatcher::deliberate;
use crate::tensors::deliberate::Differences;

/// The page as it is in the repository, below the root.
pub const PAGE: &str = "docs/reference/differences.md";

/// A difference as the page shows it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its short name; that of the rule for the dispatcher's.
    pub id: String,
    /// The operators that it is about, or nothing where it is about all.
    pub operators: String,
    /// What is different.
    pub what: String,
    /// Why.
    pub why: String,
    /// The test that shows it: file below `crates`, and function.
    pub test: (&'static str, &'static str),
}

/// The dispatcher's.
pub fn of_the_dispatcher() -> Vec<Row> {
    let row = |difference: deliberate::Decided| Row {
        id: difference.id.to_owned(),
        operators: String::new(),
        what: difference.what.to_owned(),
        why: String::new(),
        test: difference.test,
    };
    deliberate::differences().map(row).collect()
}

/// Returns the differences of tensors and operators.
pub fn of_tensors() -> Vec<Row> {
    let differences = Differences::new();
    let all = differences.all();
    let row = |(difference, families): &(&_, std::collections::BTreeSet<&str>)| {
        let difference: &crate::tensors::deliberate::Decided = difference;
        let operators: Vec<String> = families.iter().map(|family| format!("`{family}`")).collect();
        Row {
            id: difference.id.to_owned(),
            operators: operators.join(" "),
            what: difference.what.to_owned(),
            why: difference.why.to_owned(),
            test: difference.test,
        }
    };
    all.iter().map(row).collect()
}

/// The whole page.
pub fn page() -> String {
    let mut page = String::from(
        "# Differences from PyTorch\n\nWhere opgrid deliberately differs from PyTorch 2.15, and the test that shows \
         it. `cargo xtask conformance differences` generates this page from the places in the code where each \
         difference is decided; the comparison with PyTorch accepts no others.\n",
    );
    for (title, rows) in [("Dispatcher", of_the_dispatcher()), ("Tensors and operators", of_tensors())] {
        let _ = write!(page, "\n## {title}\n\n| difference | operators | test |\n|---|---|---|\n");
        for row in rows {
            let name = format!("**{}**: ", row.id);
            let why = if row.why.is_empty() { String::new() } else { format!(" Reason: {}.", row.why) };
            let operators = if row.operators.is_empty() { "all" } else { &row.operators };
            let what = format!("{name}{}.{why}", row.what).replace('|', "\\|");
            let (file, function) = row.test;
            let _ = writeln!(page, "| {what} | {operators} | `{file}` `{function}` |");
        }
    }
    page
}
