//! A copy of the tree that builds are measured in: edits an operator or a loop, and adds families of operators.

use crate::failure::Failure;
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::Command;

/// The group that families are added to: its folder, the list of its crate, and its declarations.
const GROUP: &str = "crates/opgrid-operators-pointwise/src/pointwise";
const LIST: &str = "crates/opgrid-operators-pointwise/src/lib.rs";
const DECLARATIONS: &str = "crates/opgrid-tensor/src/ops/pointwise.rs";
/// The beginning of the group, in both.
const BEGINNING: &str = "\n    pointwise {\n";

/// What edits put behind an operand, once more each time: code that is new to the compiler, but computes the same, so that tests
/// of an edited operator pass.
const MORE: &str = ".minus(Math::<T>::ZERO)";
/// How often at most; then edits begin anew.
const MOST: usize = 4;

/// A place that is edited.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    file: &'static str,
    original: &'static str,
    /// The original in pieces, between which [`MORE`] stands.
    pieces: [&'static str; 2],
}

/// What one operator computes.
pub const OPERATOR: Place = Place {
    file: "crates/opgrid-operators-pointwise/src/pointwise/exp.rs",
    original: "unary_by::<T, T>(out, input, math::Exponential)",
    pieces: ["unary::<T, T>(out, input, |x| Inexact::exp(x", "))"],
};

/// A loop over arrays.
pub const LOOP: Place = Place {
    file: "crates/opgrid-kernels/src/softmax.rs",
    original: "weight.over(sum)",
    pieces: ["weight", ".over(sum)"],
};

impl Place {
    /// What stands there after edit number `edit`.
    fn after(&self, edit: usize) -> String {
        let [before, behind] = self.pieces;
        format!("{before}{}{behind}", MORE.repeat(edit % MOST + 1))
    }

    fn edited(&self, text: &str, edit: usize) -> Result<String, Failure> {
        replaced(&self.unedited(text), self.file, self.original, &self.after(edit))
    }

    fn unedited(&self, text: &str) -> String {
        (0..MOST).fold(text.to_owned(), |text, edit| text.replace(&self.after(edit), self.original))
    }
}

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
    file: OPERATOR.file,
    overload: "Exp",
    shared: OPERATOR.original,
    own: "unary::<T, T>(out, input, |x| Inexact::exp(x))",
};

const BINARY: Model = Model {
    file: "crates/opgrid-operators-pointwise/src/pointwise/maximum.rs",
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
    pub fn create(workspace: &Workspace) -> Result<Self, Failure> {
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

    /// Lets a place say something else than before.
    ///
    /// # Errors
    /// The file is another one than this expects.
    pub fn edit(&mut self, place: Place) -> Result<(), Failure> {
        let edited = place.edited(&self.read(place.file)?, self.edits)?;
        self.edits += 1;
        self.write(place.file, &edited)
    }

    /// Adds as many families, two unary ones for each binary one.
    ///
    /// # Errors
    /// The operators that they are made after are others than this expects.
    pub fn add_families(&self, count: usize) -> Result<(), Failure> {
        let texts = [OPERATOR.unedited(&self.read(UNARY.file)?), self.read(BINARY.file)?];
        for number in 0..count {
            let text = family(model(number), &texts[usize::from(is_binary(number))], number)?;
            self.write(&format!("{GROUP}/{}.rs", name_of(number)), &text)?;
        }
        self.write(LIST, &listed(&self.read(LIST)?, count)?)?;
        self.write(DECLARATIONS, &declared(&self.read(DECLARATIONS)?, count)?)
    }

    /// Makes edited files what they were.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn take_edits_back(&self) -> Result<(), Failure> {
        [OPERATOR, LOOP].iter().try_for_each(|place| {
            let text = self.read(place.file)?;
            self.write(place.file, &place.unedited(&text))
        })
    }

    /// Takes the families away again.
    ///
    /// # Errors
    /// A list cannot be written, or a file not be removed.
    pub fn remove_families(&self, count: usize) -> Result<(), Failure> {
        for number in 0..count {
            let path = format!("{GROUP}/{}.rs", name_of(number));
            std::fs::remove_file(self.tree().join(&path))
                .map_err(|error| Failure::new(format!("cannot remove {path}: {error}")))?;
        }
        self.write(LIST, &self.read(LIST)?.replace(&lines(count), ""))?;
        let text = self.read(DECLARATIONS)?;
        self.write(DECLARATIONS, &text.replace(&declarations(&text, count)?, ""))
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
    if text.contains(from) { Ok(text.replace(from, to)) } else { Err(changed(file, from)) }
}

/// The file is no longer what edits and families are made of.
fn changed(file: &str, expected: &str) -> Failure {
    Failure::new(format!(
        "{file} has no `{}`, which the figures of builds replace; change xtask/src/bench/build",
        expected.trim()
    ))
}

/// The module and operator of family number `number`.
fn name_of(number: usize) -> String {
    format!("measured_{number}")
}

fn is_binary(number: usize) -> bool {
    number % 3 == 2
}

/// What family number `number` is made after.
fn model(number: usize) -> &'static Model {
    if is_binary(number) { &BINARY } else { &UNARY }
}

/// The file of family number `number`, made after a model's text.
fn family(model: &Model, text: &str, number: usize) -> Result<String, Failure> {
    let Model { file, overload, shared, own } = model;
    let (lower, upper, name) = (overload.to_lowercase(), overload.to_uppercase(), name_of(number));
    let text = replaced(text, file, shared, own)?;
    let text = replaced(&text, file, &format!("pointwise::{lower}::"), &format!("pointwise::{name}::"))?;
    let text = replaced(&text, file, &format!("aten::{lower}"), &format!("aten::{name}"))?;
    let text = replaced(&text, file, overload, &format!("Measured{number}"))?;
    replaced(&text, file, &upper, &name.to_uppercase())
}

/// The declaration of family number `number`, made after its model's.
fn declaration(text: &str, number: usize) -> Result<String, Failure> {
    let Model { overload, .. } = model(number);
    let (lower, name) = (overload.to_lowercase(), name_of(number));
    let start = format!("        {lower} {{\n");
    let found = text.split_once(&start).and_then(|(_, behind)| behind.split_once("\n        }\n"));
    let (body, _) = found.ok_or_else(|| changed(DECLARATIONS, &start))?;
    let body = replaced(body, DECLARATIONS, &format!("aten::{lower}"), &format!("aten::{name}"))?;
    let body = replaced(&body, DECLARATIONS, &format!("pub {overload}"), &format!("pub Measured{number}"))?;
    Ok(format!("        {name} {{\n{body}\n        }}\n"))
}

/// The lines of `count` families in the list of their crate.
fn lines(count: usize) -> String {
    (0..count).map(|number| format!("        {},\n", name_of(number))).collect()
}

/// The declarations of `count` families.
fn declarations(text: &str, count: usize) -> Result<String, Failure> {
    (0..count).map(|number| declaration(text, number)).collect()
}

/// The list with `count` families at the beginning of the group.
fn listed(list: &str, count: usize) -> Result<String, Failure> {
    replaced(list, LIST, BEGINNING, &format!("{BEGINNING}{}", lines(count)))
}

/// The declarations with those of `count` families at the beginning.
fn declared(text: &str, count: usize) -> Result<String, Failure> {
    replaced(text, DECLARATIONS, BEGINNING, &format!("{BEGINNING}{}", declarations(text, count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXP: &str = include_str!("../../../../crates/opgrid-operators-pointwise/src/pointwise/exp.rs");
    const MAXIMUM: &str =
        include_str!("../../../../crates/opgrid-operators-pointwise/src/pointwise/maximum.rs");
    const SOFTMAX: &str = include_str!("../../../../crates/opgrid-kernels/src/softmax.rs");
    const LIB: &str = include_str!("../../../../crates/opgrid-operators-pointwise/src/lib.rs");
    const DECLARED: &str = include_str!("../../../../crates/opgrid-tensor/src/ops/pointwise.rs");

    #[test]
    fn every_edit_differs_from_the_one_before_and_can_be_taken_back() {
        for (place, text) in [(OPERATOR, EXP), (LOOP, SOFTMAX)] {
            let mut before = text.to_owned();
            for edit in 0..9 {
                let after = place.edited(&before, edit).unwrap();
                assert_ne!(after, before);
                assert_eq!(place.unedited(&after), text);
                before = after;
            }
        }
    }

    #[test]
    fn a_family_has_names_and_a_loop_of_its_own() {
        for (text, number) in [(EXP, 7), (MAXIMUM, 8)] {
            let model = model(number);
            let family = family(model, text, number).unwrap();
            let left = [model.overload.to_owned(), model.overload.to_uppercase(), model.shared.to_owned()];
            assert!(left.iter().all(|left| !family.contains(left.as_str())), "{family}");
            for part in ["<Measured", "`aten::measured_", "ops::pointwise::measured_", "MEASURED_"] {
                assert!(family.contains(&format!("{part}{number}")), "{part}: {family}");
            }
        }
    }

    #[test]
    fn a_declaration_is_that_of_the_model_under_another_name() {
        let text = declaration(DECLARED, 8).unwrap();
        assert!(
            text.starts_with("        measured_8 {\n            /// ") && text.ends_with("\n        }\n")
        );
        assert!(text.contains("pub Measured8 = \"aten::measured_8(Tensor self, Tensor other)"), "{text}");
        assert_eq!(text.matches("pub ").count(), 1, "{text}");
    }

    #[test]
    fn lists_and_declarations_name_the_families_once() {
        let list = listed(LIB, 2).unwrap();
        assert_eq!(list.matches("measured_").count(), 2);
        assert!(list.contains("    pointwise {\n        measured_0,\n        measured_1,\n        abs,"));
        assert_eq!(list.replace(&lines(2), ""), LIB);
        let declared = declared(DECLARED, 2).unwrap();
        assert_eq!(declared.matches(" = \"aten::measured_").count(), 2);
        assert_eq!(declared.replace(&declarations(&declared, 2).unwrap(), ""), DECLARED);
    }

    #[test]
    fn an_operator_that_has_changed_is_named() {
        let failure = OPERATOR.edited("fn cpu() {}", 0).unwrap_err().to_string();
        assert!(failure.contains("pointwise/exp.rs") && failure.contains("math::Exponential"), "{failure}");
        assert!(declaration("", 0).unwrap_err().to_string().contains("ops/pointwise.rs"));
    }
}
