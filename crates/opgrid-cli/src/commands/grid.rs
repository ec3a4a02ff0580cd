//! `opgrid grid`: operators and keys as one page.

use std::path::PathBuf;

use opgrid::{Error, ErrorKind, Result, files};
use opgrid_inspect::Grid as Data;

use super::lint::no_namespace;
use super::list::admits;
use crate::{html, json};

/// Write a page that shows operators and dispatch keys as a grid, for a browser.
///
/// The page is one file and loads nothing. Its colours say which rule filled a cell; a click on one explains it. Keys at
/// which nothing is registered are left out, and keys that say the same for every operator are one column. With --json
/// the data is printed.
#[derive(clap::Args)]
pub(crate) struct Grid {
    /// The file to write, as in grid.html.
    #[arg(long, value_name = "FILE", required_unless_present = "json")]
    out: Option<PathBuf>,
    /// Show the operators of this namespace only; may be given several times.
    #[arg(long, value_name = "NS")]
    namespace: Vec<String>,
    /// Show only operators with this part in their names; `*` stands for any letters.
    pattern: Option<String>,
}

impl Grid {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let admit = |name: &str| {
            let namespace = name.split("::").next().unwrap_or_default();
            let of_namespace =
                self.namespace.is_empty() || self.namespace.iter().any(|known| known == namespace);
            of_namespace && self.pattern.as_deref().is_none_or(|pattern| admits(pattern, name))
        };
        let grid = Data::from_dispatcher(opgrid::dispatcher()?, admit);
        if grid.rows.is_empty() {
            return Err(match &self.pattern {
                Some(pattern) => Error::new(
                    ErrorKind::Unknown,
                    format!("no operator matches `{pattern}`; `opgrid list` prints them"),
                ),
                None => no_namespace(&self.namespace),
            });
        }
        let data = grid.to_json();
        if let Some(path) = &self.out {
            files::write_text(path, &html::grid(&data))?;
        }
        Ok(match (json, &self.out) {
            (true, _) => json::line(&data),
            (false, Some(path)) => {
                format!("{}: {} operators, {} columns\n", path.display(), grid.rows.len(), grid.columns.len())
            }
            (false, None) => String::new(),
        })
    }
}
