//! A registry as rows of operators and columns of keys.

use std::collections::HashMap;

use opgrid_core::{DispatchKey, Dispatcher, KernelInfo, OperatorHandle, Reason, TableSlot};
use serde_json::{Value as Json, json};

/// The registry as rows of operators and columns of keys.
///
/// Keys at which nothing is registered are left out, and keys that say the same for every operator are one column, so that
/// a grid of ordinary operators has about ten columns and not a hundred and forty.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Kernel};
/// use opgrid_inspect::Grid;
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("my");
/// library.define("my::twice(Tensor self) -> Tensor").add(Kernel::boxed(|_| Ok(())).at(DispatchKey::Cpu));
/// let _registration = library.finish()?;
/// let grid = Grid::from_dispatcher(&dispatcher, |_| true);
/// assert_eq!((grid.columns[0].key.as_str(), grid.columns.len()), ("CPU", 1));
/// assert_eq!(grid.rows[0].cells[0].reason, "direct");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Grid {
    /// The columns: first those of keys for which kernels are registered, then those that other rules fill, both in the order of
    /// torch's tables.
    pub columns: Vec<KeyColumn>,
    /// The operators by name.
    pub rows: Vec<Row>,
    /// The kernels of all cells, each once.
    pub kernels: Vec<GridKernel>,
}

/// Keys that say the same for every operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyColumn {
    /// The first of the keys that is not `Undefined`.
    pub key: String,
    /// Its sort, as in `layer`.
    pub kind: &'static str,
    /// The others.
    pub also: Vec<String>,
}

/// An operator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its schema.
    pub schema: String,
    /// Where it was defined.
    pub place: Option<String>,
    /// Columns of other sorts that it fills, such as `derivative`, with what each says.
    pub traits: Vec<(String, String)>,
    /// The kernels as they were registered, by key, as numbers of [`Grid::kernels`].
    pub registered: Vec<(String, Vec<usize>)>,
    /// A cell for each column.
    pub cells: Vec<Cell>,
}

/// Where an operator and a column meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Cell {
    /// The rule that filled the cell.
    pub reason: String,
    /// Whether calls step over it.
    pub fallthrough: bool,
    /// The kernel, as a number of [`Grid::kernels`].
    pub kernel: Option<usize>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GridKernel {
    /// Its name, else its author's text, else its sort.
    pub title: String,
    /// What has to hold of the arguments for it to run.
    pub condition: Option<String>,
    /// Whether it is a function of typed arguments.
    pub typed: bool,
    /// File and line of the registration.
    pub place: String,
}

/// Numbers for kernels, in the order in which they are met.
#[derive(Default)]
struct Numbers(HashMap<GridKernel, usize>);

impl Numbers {
    fn number_for(&mut self, kernel: &KernelInfo) -> usize {
        let kernel = GridKernel {
            title: kernel.title().to_owned(),
            condition: kernel.condition.clone(),
            typed: kernel.typed,
            place: kernel.place.clone(),
        };
        let next = self.0.len();
        *self.0.entry(kernel).or_insert(next)
    }

    fn into_list(self) -> Vec<GridKernel> {
        let mut list: Vec<_> = self.0.into_iter().collect();
        list.sort_by_key(|(_, number)| *number);
        list.into_iter().map(|(kernel, _)| kernel).collect()
    }
}

/// A cell while cells are compared: rules are compared by value, and as strings only in the end.
type Raw = (Reason, bool, Option<usize>);

impl Grid {
    /// The grid of the operators whose names `admit` admits.
    pub fn from_dispatcher(dispatcher: &Dispatcher, admit: impl Fn(&str) -> bool) -> Self {
        let mut numbers = Numbers::default();
        let mut rows = Vec::new();
        let mut cells: Vec<Vec<Raw>> = Vec::new();
        let mut keys = Vec::new();
        for operator in dispatcher.operators() {
            let name = operator.name().to_string();
            // What is taken back meanwhile is left out.
            let Some((row, table)) = admit(&name).then(|| row(name, &operator, &mut numbers)).flatten()
            else {
                continue;
            };
            keys = table.iter().map(|slot| slot.key).collect();
            let raw = |slot: &TableSlot| {
                (slot.reason, slot.fallthrough, slot.kernel.as_ref().map(|kernel| numbers.number_for(kernel)))
            };
            cells.push(table.iter().map(raw).collect());
            rows.push(row);
        }
        let mut groups = equal_columns(&cells, keys.len());
        let is_registered = |group: &Vec<usize>| {
            cells.iter().any(|row| matches!(row[group[0]], (Reason::Direct, false, Some(_))))
        };
        groups.sort_by_cached_key(|group| !is_registered(group));
        for (row, cells) in rows.iter_mut().zip(&cells) {
            row.cells = groups.iter().map(|group| cell(cells[group[0]])).collect();
        }
        let column = |group: &Vec<usize>| {
            // `Undefined` stands first in tables and says least.
            let named = group.iter().map(|place| keys[*place]).find(|key| *key != DispatchKey::Undefined);
            let first = named.unwrap_or(DispatchKey::Undefined);
            let others = group.iter().map(|place| keys[*place]).filter(|key| *key != first);
            KeyColumn {
                key: first.to_string(),
                kind: first.kind().name(),
                also: others.map(|key| key.to_string()).collect(),
            }
        };
        Self { columns: groups.iter().map(column).collect(), rows, kernels: numbers.into_list() }
    }

    /// The grid as JSON. Cells are `[reason, kernel]`: a number of `reasons`, negative (`-1 - reason`) where calls step
    /// over the cell, and a number of `kernels` or null.
    pub fn to_json(&self) -> Json {
        let mut reasons: Vec<&str> = Vec::new();
        let mut rows = Vec::new();
        for row in &self.rows {
            let mut cells = Vec::with_capacity(row.cells.len());
            for cell in &row.cells {
                let known = reasons.iter().position(|reason| *reason == cell.reason);
                let reason = known.unwrap_or_else(|| {
                    reasons.push(&cell.reason);
                    reasons.len() - 1
                }) as i64;
                cells.push(json!([if cell.fallthrough { -1 - reason } else { reason }, cell.kernel]));
            }
            rows.push(json!({
                "name": row.name,
                "schema": row.schema,
                "place": row.place,
                "traits": row.traits,
                "registered": row.registered,
                "cells": cells,
            }));
        }
        let column =
            |column: &KeyColumn| json!({"key": column.key, "kind": column.kind, "also": column.also});
        let kernel = |kernel: &GridKernel| {
            json!({
                "title": kernel.title,
                "condition": kernel.condition,
                "typed": kernel.typed,
                "place": kernel.place,
            })
        };
        json!({
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
            "reasons": reasons,
            "kernels": self.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "rows": rows,
        })
    }
}

/// An operator without its cells, and its table.
fn row(name: String, operator: &OperatorHandle, numbers: &mut Numbers) -> Option<(Row, Vec<TableSlot>)> {
    let registered = operator.registered_kernels().ok()?;
    let registered = registered.iter().map(|(key, kernels)| {
        (key.to_string(), kernels.iter().map(|kernel| numbers.number_for(kernel)).collect())
    });
    let traits = operator.columns().ok()?.into_iter().map(|column| (column.name.to_owned(), column.text));
    let row = Row {
        name,
        schema: operator.schema().ok()?.to_string(),
        place: crate::types::place_of(operator),
        traits: traits.collect(),
        registered: registered.collect(),
        cells: Vec::new(),
    };
    Some((row, operator.table().ok()?))
}

/// The columns in which anything is registered, those that are equal in every row together.
fn equal_columns(cells: &[Vec<Raw>], count: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<Vec<Raw>, usize> = HashMap::new();
    for place in 0..count {
        let column: Vec<Raw> = cells.iter().map(|row| row[place]).collect();
        if column.iter().all(|(_, _, kernel)| kernel.is_none()) {
            continue;
        }
        let next = groups.len();
        match *known.entry(column).or_insert(next) {
            group if group == next => groups.push(vec![place]),
            group => groups[group].push(place),
        }
    }
    groups
}

fn cell((reason, fallthrough, kernel): Raw) -> Cell {
    Cell { reason: reason.to_string(), fallthrough, kernel }
}
