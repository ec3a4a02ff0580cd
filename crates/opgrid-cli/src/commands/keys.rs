//! `opgrid keys`: every dispatch key, every alias and every named set.

use opgrid::dispatch::{BackendComponent, Functionality, KeyKind, NAMED_SETS, columns};
use opgrid::{DispatchKey, DispatchKeySet, Error, ErrorKind, Result};
use serde_json::{Value as Json, json};

use super::list::admits;
use crate::columns::aligned;
use crate::{json, style, suggest};

/// Show every dispatch key: its sort, its places in opgrid's and torch's sets and tables, what an alias stands for.
///
/// A place is a position in the word of layers or, after `b`, of backends; both are priorities. A bit is that of
/// torch's 64-bit set. Column is torch's; of a functionality, the first of its columns, and mask says which backends
/// choose among them. The instances of a functionality on all backends stand in one row; a pattern or --all shows each.
///
/// Keys of users belong to the process that allocates them. The options allocate some in this one, to show what they
/// would bring and where they would stand.
#[derive(clap::Args)]
pub(crate) struct Keys {
    /// Show only keys with this part in their names, in capitals or not; `*` stands for any letters
    pattern: Option<String>,

    /// Show every instance of every functionality
    #[arg(long)]
    all: bool,

    /// Allocate a backend first; may be given several times
    #[arg(long, value_name = "NAME")]
    backend: Vec<String>,

    /// Allocate a layer first
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,

    /// What the layer stands above: a key or an alias; may be given several times
    #[arg(long, value_name = "KEY", requires = "layer", value_parser = by_name)]
    above: Vec<DispatchKey>,

    /// What the layer stands below: a key or an alias; may be given several times
    #[arg(long, value_name = "KEY", requires = "layer", value_parser = by_name)]
    below: Vec<DispatchKey>,
}

/// A key named on the command line.
pub(super) fn by_name(name: &str) -> Result<DispatchKey> {
    name.parse().map_err(|error: Error| {
        Error::new(error.kind(), format!("{} (`opgrid keys` lists all)", error.message()))
    })
}

impl Keys {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        for name in &self.backend {
            BackendComponent::register(name)?;
        }
        if let Some(name) = &self.layer {
            let layer = self.above.iter().fold(DispatchKey::layer(name), |layer, key| layer.above(*key));
            self.below.iter().fold(layer, |layer, key| layer.below(*key)).register()?;
        }
        let rows: Vec<_> = DispatchKey::all().map(Row::from_key).collect();
        Ok(match (json, &self.pattern) {
            (true, None) => json::line(&describe(&rows)),
            (_, Some(pattern)) => self.matching(pattern, &rows, json)?,
            (false, None) => print(&rows, self.all),
        })
    }
}

impl Keys {
    /// The keys of a pattern, with what aliases stand for.
    fn matching(&self, pattern: &str, rows: &[Row], json: bool) -> Result<String> {
        let chosen: Vec<_> = rows.iter().filter(|row| admits(pattern, &row.key.to_string())).collect();
        if chosen.is_empty() {
            return Err(none_matches(pattern, rows.iter().map(|row| row.key)));
        }
        let (aliases, keys): (Vec<&Row>, Vec<&Row>) =
            chosen.into_iter().partition(|row| row.expansion.is_some());
        if json {
            let alias =
                |row: &&Row| json!({"name": row.key.to_string(), "keys": row.expansion.map(json::keys)});
            let keys: Vec<_> = keys.iter().map(|row| describe_key(row)).collect();
            let aliases: Vec<_> = aliases.iter().map(alias).collect();
            return Ok(json::line(&json!({"keys": keys, "aliases": aliases})));
        }
        let mut text =
            if keys.is_empty() { String::new() } else { table(keys.into_iter().map(|row| cells(row, 1))) };
        for row in aliases {
            text.push_str(&alias_line(row));
        }
        Ok(text)
    }
}

/// The error of a pattern that is that of none of these keys.
pub(super) fn none_matches(pattern: &str, keys: impl IntoIterator<Item = DispatchKey>) -> Error {
    let names: Vec<_> = keys.into_iter().map(|key| key.to_string()).collect();
    let near = suggest::nearest(pattern, names.iter().map(String::as_str));
    let remedy = match near.as_slice() {
        [] => "`opgrid keys` prints them".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Error::new(ErrorKind::Unknown, format!("no key matches `{pattern}`; {remedy}"))
}

/// What there is to say about one key.
struct Row {
    key: DispatchKey,
    /// The position in the word of layers; none for aliases and `Undefined`.
    layer: Option<u32>,
    /// The position in the word of backends.
    backend: Option<u32>,
    torch_bit: Option<u32>,
    column: Option<usize>,
    /// The first column and the backends that choose among them, for functionalities.
    offset_and_mask: Option<(usize, u64)>,
    expansion: Option<DispatchKeySet>,
}

impl Row {
    fn from_key(key: DispatchKey) -> Self {
        let functionality = key.functionality();
        let is_alias = key.kind() == KeyKind::Alias;
        let has_place = !is_alias && key != DispatchKey::Undefined;
        let alone = DispatchKey::of_functionality(functionality);
        let layer_bits = alone.key_set().to_torch_bits();
        Self {
            key,
            layer: has_place.then(|| functionality.position()),
            backend: key.backend().map(|backend| backend.position()),
            torch_bit: has_place.then(|| layer_bits.checked_ilog2()).flatten(),
            column: key.torch_column(),
            offset_and_mask: (key == alone && key.torch_value().is_some() && !is_alias)
                .then(|| offset_and_mask(functionality)),
            expansion: key.runtime_set().filter(|_| is_alias),
        }
    }
}

/// torch's first column of a functionality and its mask of backends: all of them, or none where it has one column.
fn offset_and_mask(functionality: Functionality) -> (usize, u64) {
    let alone = DispatchKey::of_functionality(functionality).key_set();
    let backends = DispatchKeySet::ALL_BACKENDS.to_torch_bits();
    (alone.torch_column(), if functionality.is_per_backend() { backends } else { 0 })
}

/// How many columns torch's table has, counted from the functionalities and the backends.
fn column_count() -> (usize, usize, usize) {
    let backends = DispatchKeySet::ALL_BACKENDS.to_torch_bits().count_ones() as usize;
    let built_in = || Functionality::all().filter(|functionality| functionality.torch_value().is_some());
    let per_backend = built_in().filter(|functionality| functionality.is_per_backend()).count();
    (built_in().count() - per_backend, per_backend, backends)
}

fn print(rows: &[Row], apart: bool) -> String {
    let mut alike: Vec<(&Row, usize)> = Vec::new();
    for row in rows.iter().filter(|row| row.expansion.is_none()) {
        let known = alike.iter_mut().find(|(first, _)| !apart && are_instances_of_one(first.key, row.key));
        match known {
            Some((_, count)) => *count += 1,
            None => alike.push((row, 1)),
        }
    }
    let mut text = table(alike.into_iter().map(|(row, count)| cells(row, count)));
    text.push_str(&format!("\n{}\n", style::HEADING.apply("aliases")));
    rows.iter().filter(|row| row.expansion.is_some()).for_each(|row| text.push_str(&alias_line(row)));
    text.push_str(&format!("\n{}\n", style::HEADING.apply("named sets")));
    for (name, set) in NAMED_SETS {
        text.push_str(&format!("{name}  {:#018x}  {}\n", set.to_torch_bits(), braces(set)));
    }
    let (single, per_backend, backends) = column_count();
    let total = single + per_backend * backends;
    text.push_str(&format!(
        "\n{total} columns: {single} functionalities with one, {per_backend} with one for each of {backends} backends\n"
    ));
    let of_users = columns().len() - total;
    if of_users > 0 {
        let columns = if of_users == 1 { "column" } else { "columns" };
        text.push_str(&format!("{of_users} {columns} of users' keys\n"));
    }
    text
}

/// Whether two keys are one functionality on two backends.
fn are_instances_of_one(a: DispatchKey, b: DispatchKey) -> bool {
    let is_instance = |key: DispatchKey| matches!(key.kind(), KeyKind::Instance | KeyKind::Placeholder);
    is_instance(a)
        && is_instance(b)
        && a.functionality() == b.functionality()
        && a.functionality().is_per_backend()
}

fn table(rows: impl Iterator<Item = [String; 7]>) -> String {
    let titles = ["key", "kind", "place", "torch bit", "column", "offset", "mask"];
    let rows: Vec<_> = std::iter::once(titles.map(|title| style::HEADING.apply(title))).chain(rows).collect();
    aligned(&rows)
}

/// The row of a key, which stands for `count` of its functionality.
fn cells(row: &Row, count: usize) -> [String; 7] {
    let number = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
    let place = match (row.layer, row.backend) {
        (Some(layer), Some(backend)) => format!("{layer} b{backend}"),
        (layer, _) => number(layer),
    };
    let (offset, mask) = match row.offset_and_mask {
        Some((offset, mask)) => (offset.to_string(), format!("{mask:#06x}")),
        None => Default::default(),
    };
    let column = row.column.map_or(String::new(), |column| column.to_string());
    let key = match count {
        1 => row.key.to_string(),
        count => format!("{}{}", row.key, style::QUIET.apply(format!(" and {} more", count - 1))),
    };
    [key, row.key.kind().to_string(), place, number(row.torch_bit), column, offset, mask]
}

/// An alias with the keys that it stands for.
fn alias_line(row: &Row) -> String {
    format!("{}  {}\n", row.key, braces(row.expansion.unwrap_or(DispatchKeySet::EMPTY)))
}

/// The keys of a set; where it holds halves of keys only, the functionalities and the backends.
fn braces(set: DispatchKeySet) -> String {
    let keys = json::keys(set);
    let names = if keys.is_empty() { [functionalities(set), backends(set)].concat() } else { keys };
    format!("{{{}}}", names.join(", "))
}

fn functionalities(set: DispatchKeySet) -> Vec<String> {
    let alone = |functionality: &Functionality| DispatchKey::of_functionality(*functionality).key_set();
    let present = Functionality::all().filter(|it| !alone(it).is_empty() && set.has_all(alone(it)));
    present.map(|functionality| functionality.to_string()).collect()
}

fn backends(set: DispatchKeySet) -> Vec<String> {
    let present = BackendComponent::all().filter(|backend| set.has_backend(*backend));
    present.map(|backend| backend.to_string()).collect()
}

fn describe(rows: &[Row]) -> Json {
    let (single, per_backend, of_each) = column_count();
    let keys: Vec<_> = rows.iter().filter(|row| row.expansion.is_none()).map(describe_key).collect();
    let alias = |row: &Row| Some(json!({"name": row.key.to_string(), "keys": json::keys(row.expansion?)}));
    let set = |(name, set): &(&str, DispatchKeySet)| {
        let bits = format!("{:#018x}", set.to_torch_bits());
        json!({"name": name, "torch_bits": bits, "keys": json::keys(*set), "functionalities": functionalities(*set), "backends": backends(*set)})
    };
    json!({
        "keys": keys,
        "aliases": rows.iter().filter_map(alias).collect::<Vec<_>>(),
        "named_sets": NAMED_SETS.iter().map(set).collect::<Vec<_>>(),
        "columns": single + per_backend * of_each,
        "columns_of_users": columns().len() - single - per_backend * of_each,
    })
}

fn describe_key(row: &Row) -> Json {
    json!({
        "name": row.key.to_string(),
        "kind": row.key.kind().name(),
        "position": row.layer,
        "backend": row.key.backend().and_then(|backend| backend.name()),
        "backend_position": row.backend,
        "torch_value": row.key.torch_value(),
        "torch_bit": row.torch_bit,
        "column": row.column,
        "offset": row.offset_and_mask.map(|(offset, _)| offset),
        "mask": row.offset_and_mask.map(|(_, mask)| mask),
    })
}
