//! What the dispatcher counts while it works: slow paths that calls took, and what is alive.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value as Json, json};

use crate::calling::kernel::kernels_alive;
use crate::calling::operator::OperatorHandle;
use crate::calling::retirement::retired_tables;
use crate::calling::slow_path::SlowPath;
use crate::calling::slow_path_counts::{self, Subject};
use crate::keys::key::DispatchKey;
use crate::registration::dispatcher::Dispatcher;

/// How often calls of an operator took a slow path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowPathCount {
    /// The kind.
    pub path: SlowPath,
    /// The operator.
    pub operator: String,
    /// The key of the fallback, or of the kernel that noted the slow path. Boxed adaptations of all keys are counted
    /// together.
    pub key: Option<DispatchKey>,
    /// How often.
    pub count: u64,
}

/// What the dispatcher counts while it works: slow paths since the last [`reset_stats`], and what is alive now.
///
/// Prints itself as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Slow paths, those taken most often first.
    pub slow_paths: Vec<SlowPathCount>,
    /// How many replaced tables wait until calls that may read them have ended.
    pub retired_tables: usize,
    /// How many kernels there are: those of every dispatcher, and those that wait with their tables.
    pub kernels: u64,
}

/// What every thread and every dispatcher of the process has counted.
///
/// # Examples
///
/// ```
/// use opgrid_core::{SlowPath, stats};
///
/// let stats = stats();
/// assert_eq!(stats.total(SlowPath::CPU_COPY), 0);
/// println!("{stats}");
/// ```
pub fn stats() -> Stats {
    stats_where(|_| true)
}

/// Begins to count slow paths anew, on every thread.
pub fn reset_stats() {
    slow_path_counts::reset();
}

fn stats_where(admit: impl Fn(&OperatorHandle) -> bool) -> Stats {
    let mut counts = BTreeMap::<_, u64>::new();
    for (subject, count) in slow_path_counts::sums() {
        if admit(&subject.operator) {
            let Subject { path, operator, key } = subject;
            *counts.entry((path.name(), operator.name().to_string(), key, path.remedy())).or_default() +=
                count;
        }
    }
    let count = |((name, operator, key, remedy), count)| {
        let path = SlowPath::new(name, remedy);
        SlowPathCount { path, operator, key, count }
    };
    let mut slow_paths: Vec<_> = counts.into_iter().map(count).collect();
    slow_paths.sort_by_key(|counted| std::cmp::Reverse(counted.count));
    Stats { slow_paths, retired_tables: retired_tables(), kernels: kernels_alive() }
}

impl Dispatcher {
    /// As [`stats`], of this dispatcher's operators alone; what is alive is the process's.
    pub fn stats(&self) -> Stats {
        stats_where(|operator| operator.belongs_to(self))
    }
}

impl Stats {
    /// How often slow paths of this kind were taken.
    pub fn total(&self, path: SlowPath) -> u64 {
        self.slow_paths.iter().filter(|counted| counted.path == path).map(|counted| counted.count).sum()
    }

    /// How often the operator's calls took slow paths of this kind.
    pub fn count(&self, path: SlowPath, operator: &str) -> u64 {
        let of_both = |counted: &&SlowPathCount| counted.path == path && counted.operator == operator;
        self.slow_paths.iter().filter(of_both).map(|counted| counted.count).sum()
    }

    /// The kinds of slow paths that were taken, each with how often.
    pub fn totals(&self) -> Vec<(SlowPath, u64)> {
        let mut paths: Vec<SlowPath> = Vec::new();
        for counted in &self.slow_paths {
            if !paths.contains(&counted.path) {
                paths.push(counted.path);
            }
        }
        paths.into_iter().map(|path| (path, self.total(path))).collect()
    }

    /// The figures as JSON.
    pub fn to_json(&self) -> Json {
        let totals: serde_json::Map<_, _> =
            self.totals().into_iter().map(|(path, count)| (path.name().to_owned(), count.into())).collect();
        let counted = |counted: &SlowPathCount| {
            json!({
                "path": counted.path.name(),
                "operator": counted.operator,
                "key": counted.key.map(|key| key.to_string()),
                "count": counted.count,
            })
        };
        json!({
            "totals": totals,
            "slow_paths": self.slow_paths.iter().map(counted).collect::<Vec<_>>(),
            "retired_tables": self.retired_tables,
            "kernels": self.kernels,
        })
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |counted: &SlowPathCount| {
            let key = counted.key.map_or_else(|| "any".to_owned(), |key| key.to_string());
            [counted.count.to_string(), counted.path.to_string(), counted.operator.clone(), key]
        };
        let mut rows = vec![["count", "slow path", "operator", "key"].map(str::to_owned)];
        rows.extend(self.slow_paths.iter().map(row));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let [counts, paths, operators] = [0, 1, 2].map(width);
        if self.slow_paths.is_empty() {
            writeln!(f, "no slow paths")?;
        } else {
            for [count, path, operator, key] in &rows {
                writeln!(f, "{count:>counts$}  {path:paths$}  {operator:operators$}  {key}")?;
            }
            let totals: Vec<_> =
                self.totals().iter().map(|(path, count)| format!("{path} {count}")).collect();
            writeln!(f, "total: {}", totals.join(", "))?;
        }
        writeln!(f, "alive: kernels {}, replaced tables {}", self.kernels, self.retired_tables)
    }
}
