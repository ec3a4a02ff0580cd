//! A copy of the tree that builds are measured in: edits one operator's loop, and adds families of operators.

use crate::failure::Failure;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// Where the group lies that families are added to, and the list of all.
const GROUP: &str = "crates/opgrid-tensor/src/ops/pointwise";
const LIST: &str = "crates/opgrid-tensor/src/ops/mod.rs";
/// The beginning of the group in the list.
const BEGINNING: &str = "\n    pointwise {\n";

/// The operator that is edited, and its loop as it stands there.
const EDITED: &str = "crates/opgrid-tensor/src/ops/pointwise/exp.rs";
const LOOP: &str = "unary_by::<T, T>(out, input, math::Exponential)";
/// What edits compute before it, one after the other; so that no edit gives what the one before it gave.
const BEFORE: [&str; 4] = ["sqrt", "log", "tanh", "exp"];

/// A family that others are made after. Everything that names the operator is replaced.
struct Model {
    file: &'static str,
    /// The overload's type; in other spellings its constant and its name, which its method has, too.
    overload: &'static str,
    /// A loop that two families share would be compiled once: each gets a closure of its own.
    shared: &'static str,
    own: &'static str,
}

const UNARY: Model = Model {
    file: "crates/opgrid-tensor/src/ops/pointwise/exp.rs",
    overload: "Exp",
    shared: LOOP,
    own: "unary::<T, T>(out, input, |x| Inexact::exp(x))",
};

const BINARY: Model = Model {
    file: "crates/opgrid-tensor/src/ops/pointwise/maximum.rs",
    overload: "Maximum",
    shared: "Math::<T>::larger)",
    own: "|a, b| Math::<T>::larger(a, b))",
};

/// A folder with the tree's files and a target folder, removed at the end.
pub struct Copy {
    folder: PathBuf,
    cargo: PathBuf,
    edits: usize,
}

impl Copy {
    /// A copy of all files of the workspace.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn of(workspace: &Workspace) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("opgrid-bench-build-{}", std::process::id()));
        let cargo = workspace.cargo().get_program().into();
        let copy = Self { folder, cargo, edits: 0 };
        for path in workspace.files()? {
            let (from, to) = (workspace.root().join(&path), copy.tree().join(&path));
            let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| std::fs::copy(from, to))
                .map_err(|error| Failure::new(format!("cannot copy {path}: {error}")))?;
        }
        Ok(copy)
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// The folder that the copy is built in.
    pub fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// A cargo command that builds the copy.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(self.tree()).env("CARGO_TARGET_DIR", self.target());
        command
    }

    /// Removes all that was built.
    ///
    /// # Errors
    /// The folder cannot be removed.
    pub fn empty_target(&self) -> Result<(), Failure> {
        let removed = std::fs::remove_dir_all(self.target());
        removed.map_err(|error| Failure::new(format!("cannot empty the target folder: {error}")))
    }

    /// Lets the loop of one operator compute something else than before.
    ///
    /// # Errors
    /// The operator's file is another one than this expects.
    pub fn edit(&mut self) -> Result<(), Failure> {
        let original = self.read(EDITED)?;
        let edited = edited(&original, self.edits)?;
        self.edits += 1;
        self.write(EDITED, &edited)
    }

    /// Adds as many families, two unary ones for each binary one.
    ///
    /// # Errors
    /// The operators that they are made after are others than this expects.
    pub fn add_families(&self, count: usize) -> Result<(), Failure> {
        let unary = self.original(&UNARY)?;
        let binary = self.original(&BINARY)?;
        for number in 0..count {
            let (model, text) = if number % 3 == 2 { (&BINARY, &binary) } else { (&UNARY, &unary) };
            self.write(&format!("{GROUP}/{}.rs", name_of(number)), &family(model, text, number)?)?;
        }
        let list = self.read(LIST)?;
        self.write(LIST, &listed(&list, count)?)
    }

    /// Takes the families back out of the list.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn remove_families(&self) -> Result<(), Failure> {
        let list = self.read(LIST)?;
        let kept = list.lines().filter(|line| !line.starts_with("        measured_"));
        self.write(LIST, &(kept.collect::<Vec<_>>().join("\n") + "\n"))
    }

    /// The text of a model as it was before edits.
    fn original(&self, model: &Model) -> Result<String, Failure> {
        let text = self.read(model.file)?;
        Ok(if model.file == EDITED { unedited(&text) } else { text })
    }

    fn read(&self, path: &str) -> Result<String, Failure> {
        let text = std::fs::read_to_string(self.tree().join(path));
        text.map_err(|error| Failure::new(format!("cannot read {path}: {error}")))
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let written = std::fs::write(self.tree().join(path), text);
        written.map_err(|error| Failure::new(format!("cannot write {path} in a copy of the tree: {error}")))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // Whoever stops the program has to remove the folder anyway.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The text with `from` replaced, which has to be there.
fn replaced(text: &str, file: &str, from: &str, to: &str) -> Result<String, Failure> {
    if !text.contains(from) {
        let message = format!(
            "{file} has no `{from}`, which the figures of builds replace; change xtask/src/bench/build"
        );
        return Err(Failure::new(message));
    }
    Ok(text.replace(from, to))
}

/// The loop of edit number `edit`.
fn loop_of(edit: usize) -> String {
    format!("unary::<T, T>(out, input, |x| Inexact::exp(Inexact::{}(x)))", BEFORE[edit % BEFORE.len()])
}

fn edited(text: &str, edit: usize) -> Result<String, Failure> {
    replaced(&unedited(text), EDITED, LOOP, &loop_of(edit))
}

fn unedited(text: &str) -> String {
    (0..BEFORE.len()).fold(text.to_owned(), |text, edit| text.replace(&loop_of(edit), LOOP))
}

/// The module and operator of family number `number`.
fn name_of(number: usize) -> String {
    format!("measured_{number}")
}

/// The file of family number `number`, made after a model's text.
fn family(model: &Model, text: &str, number: usize) -> Result<String, Failure> {
    let Model { file, overload, shared, own } = model;
    let (lower, upper, name) = (overload.to_lowercase(), overload.to_uppercase(), name_of(number));
    let text = replaced(text, file, shared, own)?;
    let text = replaced(&text, file, &format!("aten::{lower}"), &format!("aten::{name}"))?;
    let text = replaced(&text, file, overload, &format!("Measured{number}"))?;
    replaced(&text, file, &upper, &name.to_uppercase())
}

/// The list with `count` families at its beginning.
fn listed(list: &str, count: usize) -> Result<String, Failure> {
    let names: String = (0..count).map(|number| format!("        {},\n", name_of(number))).collect();
    replaced(list, LIST, BEGINNING, &format!("{BEGINNING}{names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXP: &str = include_str!("../../../../crates/opgrid-tensor/src/ops/pointwise/exp.rs");
    const MAXIMUM: &str = include_str!("../../../../crates/opgrid-tensor/src/ops/pointwise/maximum.rs");
    const MOD: &str = include_str!("../../../../crates/opgrid-tensor/src/ops/mod.rs");

    #[test]
    fn every_edit_differs_from_the_one_before_and_can_be_taken_back() {
        let mut before = EXP.to_owned();
        for edit in 0..9 {
            let after = edited(&before, edit).unwrap();
            assert_ne!(after, before);
            assert_eq!(unedited(&after), EXP);
            before = after;
        }
    }

    #[test]
    fn a_family_has_names_and_a_loop_of_its_own() {
        for (model, text, number) in [(&UNARY, EXP, 7), (&BINARY, MAXIMUM, 8)] {
            let family = family(model, text, number).unwrap();
            let left = [model.overload.to_owned(), model.overload.to_uppercase(), model.shared.to_owned()];
            assert!(left.iter().all(|left| !family.contains(left.as_str())), "{family}");
            for part in ["pub Measured", "\"aten::measured_", "MEASURED_"] {
                assert!(family.contains(&format!("{part}{number}")), "{part}: {family}");
            }
        }
    }

    #[test]
    fn the_list_names_the_families_once() {
        let list = listed(MOD, 2).unwrap();
        assert_eq!(list.matches("measured_").count(), 2);
        assert!(list.contains("    pointwise {\n        measured_0,\n        measured_1,\n        abs,"));
    }

    #[test]
    fn an_operator_that_has_changed_is_named() {
        let failure = edited("fn cpu() {}", 0).unwrap_err().to_string();
        assert!(
            failure.contains("ops/pointwise/exp.rs") && failure.contains("math::Exponential"),
            "{failure}"
        );
    }
}
