//! `opgrid diff`: what changed between two registries on record.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use opgrid::{Error, ErrorKind, Result};
use opgrid_inspect::{Change, Record};
use serde_json::json;

use crate::answer::Answer;
use crate::{json, style};

/// Say what changed between two registries that `opgrid record` wrote, as a gate for compatibility.
///
/// Callers are broken by an operator, an overload or a kernel that is gone, another default, a schema that old calls do not
/// fit, a key that calls newly step over. Whatever else differs is told and lets pass. Places are not compared. Status 0:
/// no caller is broken; 1: some are, or with --any anything differs; 2: it could not be compared.
#[derive(clap::Args)]
pub(crate) struct Diff {
    /// The older record.
    old: PathBuf,
    /// The newer record; this program's registry where it is left out.
    new: Option<PathBuf>,
    /// Let no difference pass.
    #[arg(long)]
    any: bool,
}

impl Diff {
    pub(crate) fn run(&self, json: bool) -> Result<Answer> {
        let old = read(&self.old)?;
        let new = match &self.new {
            Some(path) => read(path)?,
            None => Record::from_dispatcher(opgrid::dispatcher()?),
        };
        let changes = old.changes_to(&new);
        let breaking = changes.iter().filter(|change| change.breaks).count();
        let found = breaking > 0 || (self.any && !changes.is_empty());
        if json {
            let changes: Vec<_> = changes.iter().map(Change::to_json).collect();
            return Ok(Answer {
                text: json::line(&json!({"breaking": breaking, "changes": changes})),
                found,
            });
        }
        let mut text = String::new();
        for change in &changes {
            let (sign, paint) = if change.breaks { ("!", style::REMOVED) } else { (" ", style::ADDED) };
            let kind = paint.apply(format!("{sign} {}", change.kind));
            let _ = writeln!(text, "{kind}: {}: {}", style::HEADING.apply(&change.operator), change.message);
        }
        let _ = writeln!(
            text,
            "{}",
            match changes.len() {
                0 => "nothing changed".to_owned(),
                all => format!("{breaking} of {all} changes break callers"),
            }
        );
        Ok(Answer { text, found })
    }
}

fn read(path: &Path) -> Result<Record> {
    let failed = |error: &dyn std::fmt::Display| {
        let message =
            format!("{}: {error}; expected a file that `opgrid record --out FILE` wrote", path.display());
        Error::new(ErrorKind::File, message)
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    Record::from_json(&value).map_err(|error| error.within(path.display()))
}
