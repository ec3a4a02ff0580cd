//! `cargo xtask recipes`: applies the patches in `recipes/` to a copy of the tree, tests them, and counts what they touch.
//!
//! The copy and its build lie in the target folder and are used again, so that a second run compiles little. `--here` applies
//! each patch to the checkout itself and takes it back, which compiles little where the checkout is built.

use crate::failure::Failure;
use crate::workspace::{Workspace, output, passes};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the recipes.
const FOLDER: &str = "recipes";

/// The option that applies patches to the checkout itself.
const HERE: &str = "--here";

/// The file that a recipe's check becomes.
const CHECK: &str = "recipe_check.rs";

/// A recipe as its folder describes it.
#[derive(Debug, PartialEq)]
struct Recipe {
    name: String,
    about: String,
    /// The crate whose tests the check joins.
    package: String,
    /// How many files the patch may touch.
    budget: usize,
    /// How many lines it may add to files that are there.
    edited: usize,
    /// Further tests that have to pass, by the names of their programs.
    also: Vec<String>,
}

/// What a patch touches.
#[derive(Debug, Default, PartialEq)]
struct Touched {
    new: Vec<String>,
    edited: Vec<String>,
    /// Lines that are added to files that are there.
    lines: usize,
}

/// Runs all recipes, or those named.
///
/// # Errors
/// There is no such recipe (a usage error); a patch does not apply, touches too much, or its check fails.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let workspace = Workspace::current()?;
    let all = recipes(workspace.root())?;
    let (options, names): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|word| *word == HERE);
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|recipe| recipe.name != ***name)) {
        let names: Vec<&str> = all.iter().map(|recipe| recipe.name.as_str()).collect();
        let known = names.join(", ");
        let message = format!("there is no recipe `{unknown}`; recipes are {known}; the option is `{HERE}`");
        return Err(Failure::usage(message));
    }
    let chosen = all.iter().filter(|recipe| names.is_empty() || names.contains(&&recipe.name));
    let folder = workspace.target()?.join(FOLDER);
    if !options.is_empty() {
        clean(workspace.root())?;
    }
    let mut failures = Vec::new();
    for recipe in chosen {
        println!("\n==> {}: {}", recipe.name, recipe.about);
        let result = if options.is_empty() {
            in_a_copy(&workspace, &folder, recipe)
        } else {
            here(&workspace, recipe)
        };
        match result {
            Ok(touched) => println!(
                "{}: {} new and {} edited files, {} lines in these (at most {} and {})",
                recipe.name,
                touched.new.len(),
                touched.edited.len(),
                touched.lines,
                recipe.budget,
                recipe.edited
            ),
            Err(failure) => failures.push(format!("{}: {failure}", recipe.name)),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::new(failures.join("\n"))) }
}

/// Applies a recipe to the copy and runs its check.
fn in_a_copy(workspace: &Workspace, folder: &Path, recipe: &Recipe) -> Result<Touched, Failure> {
    let (patch, touched) = within_budget(workspace, recipe)?;
    let tree = folder.join("tree");
    copy(workspace, &tree)?;
    passes(apply(&tree, &patch).arg("--unsafe-paths"))?;
    check(workspace, recipe, &tree, Some(&folder.join("build")))?;
    Ok(touched)
}

/// Applies a recipe to the checkout, runs its check, and takes it back.
fn here(workspace: &Workspace, recipe: &Recipe) -> Result<Touched, Failure> {
    let (patch, touched) = within_budget(workspace, recipe)?;
    passes(&mut apply(workspace.root(), &patch))?;
    let result = check(workspace, recipe, workspace.root(), None);
    let added = tests(workspace, recipe)?.join(CHECK);
    std::fs::remove_file(workspace.root().join(&added)).map_err(|error| failed("remove", &added, &error))?;
    passes(apply(workspace.root(), &patch).arg("--reverse"))?;
    result.map(|()| touched)
}

/// A checkout that has no changes, which a recipe could not be taken back from.
fn clean(root: &Path) -> Result<(), Failure> {
    let changes = output(Command::new("git").args(["status", "--porcelain"]).current_dir(root))?;
    match changes.lines().next() {
        None => Ok(()),
        Some(first) => Err(Failure::usage(format!(
            "`{HERE}` wants a checkout without changes, found `{first}`; commit them"
        ))),
    }
}

/// The patch of a recipe, and what it touches.
fn within_budget(workspace: &Workspace, recipe: &Recipe) -> Result<(PathBuf, Touched), Failure> {
    let patch = workspace.root().join(FOLDER).join(&recipe.name).join("recipe.patch");
    let touched = touched_by(&read(&patch)?);
    let files = touched.new.len() + touched.edited.len();
    if files > recipe.budget || touched.lines > recipe.edited {
        return Err(Failure::new(format!(
            "the patch touches {files} files and adds {} lines to those that are there, expected at most {} and {}",
            touched.lines, recipe.budget, recipe.edited
        )));
    }
    Ok((patch, touched))
}

/// The folder of the tests that a recipe's check joins, below the root.
fn tests(workspace: &Workspace, recipe: &Recipe) -> Result<PathBuf, Failure> {
    workspace
        .packages()?
        .iter()
        .filter(|package| package["name"] == recipe.package.as_str())
        .filter_map(|package| Path::new(package["manifest_path"].as_str()?).parent().map(Path::to_path_buf))
        .find_map(|path| path.strip_prefix(workspace.root()).ok().map(|path| path.join("tests")))
        .ok_or_else(|| Failure::new(format!("there is no package `{}`", recipe.package)))
}

/// Adds a recipe's check to a tree to which its patch was applied, and runs it with the other tests of the recipe.
fn check(workspace: &Workspace, recipe: &Recipe, tree: &Path, target: Option<&Path>) -> Result<(), Failure> {
    let text = read(&workspace.root().join(FOLDER).join(&recipe.name).join("check.rs"))?;
    write(&tree.join(tests(workspace, recipe)?).join(CHECK), &text)?;
    let cargo = |arguments: &[&str]| {
        let mut command = workspace.cargo();
        command.current_dir(tree).envs(target.map(|target| ("CARGO_TARGET_DIR", target)));
        passes(command.args(arguments))
    };
    // Of the workspace, so that libraries have the features for which `cargo test --workspace` has built them.
    for test in [CHECK.trim_end_matches(".rs")].into_iter().chain(recipe.also.iter().map(String::as_str)) {
        cargo(&["test", "--quiet", "--workspace", "--test", test])?;
    }
    Ok(())
}

/// The command that applies a patch to a tree.
fn apply(tree: &Path, patch: &Path) -> Command {
    let mut command = Command::new("git");
    // Wherever the tree lies, it is no part of a checkout around it.
    command.arg("apply").arg(patch).current_dir(tree).env("GIT_DIR", "/dev/null");
    command
}

/// Makes `tree` what the checkout is. Files that are the same keep their times, so that cargo builds only what differs.
fn copy(workspace: &Workspace, tree: &Path) -> Result<(), Failure> {
    let files: Vec<String> =
        workspace.files()?.into_iter().filter(|file| !file.starts_with(FOLDER)).collect();
    let mut there = Vec::new();
    listed(tree, Path::new(""), &mut there)?;
    for file in there.iter().filter(|file| !files.contains(file) && *file != "Cargo.lock") {
        std::fs::remove_file(tree.join(file)).map_err(|error| failed("remove", &tree.join(file), &error))?;
    }
    for file in &files {
        let (from, to) = (workspace.root().join(file), tree.join(file));
        let Ok(text) = std::fs::read(&from) else { continue };
        if std::fs::read(&to).is_ok_and(|known| known == text) {
            continue;
        }
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).map_err(|error| failed("make", parent, &error))?;
        }
        std::fs::write(&to, text).map_err(|error| failed("write", &to, &error))?;
    }
    Ok(())
}

/// The files below a folder, relative to it.
fn listed(root: &Path, below: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
    let folder = root.join(below);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(|error| failed("read", &folder, &error))?;
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            listed(root, &path, files)?;
        } else {
            files.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

/// The recipes, by name.
fn recipes(root: &Path) -> Result<Vec<Recipe>, Failure> {
    let folder = root.join(FOLDER);
    let entries = std::fs::read_dir(&folder).map_err(|error| failed("read", &folder, &error))?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    let mut names: Vec<PathBuf> = folders.collect();
    names.sort();
    names
        .iter()
        .map(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            described(&name, &read(&path.join("recipe.txt"))?)
        })
        .collect()
}

/// A recipe by its name and the text of `recipe.txt`.
fn described(name: &str, text: &str) -> Result<Recipe, Failure> {
    let values = |key: &str| {
        let start = format!("{key}: ");
        text.lines()
            .filter_map(move |line| line.strip_prefix(&start).map(str::trim))
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let one = |key: &str| match values(key).as_slice() {
        [value] => Ok(value.clone()),
        found => Err(Failure::new(format!(
            "{FOLDER}/{name}/recipe.txt has {} lines `{key}: …`, expected one",
            found.len()
        ))),
    };
    let number = |key: &str| -> Result<usize, Failure> {
        let value = one(key)?;
        value.parse().map_err(|_| {
            Failure::new(format!("{FOLDER}/{name}/recipe.txt: `{key}` is `{value}`, expected a number"))
        })
    };
    Ok(Recipe {
        name: name.to_owned(),
        about: one("about")?,
        package: one("package")?,
        budget: number("budget")?,
        edited: number("edited")?,
        also: values("also"),
    })
}

/// What a patch in git's format touches.
fn touched_by(patch: &str) -> Touched {
    let mut touched = Touched::default();
    let mut is_new = false;
    for line in patch.lines() {
        if line.starts_with("diff --git ") {
            is_new = false;
        } else if line.starts_with("new file mode") {
            is_new = true;
        } else if let Some(file) = line.strip_prefix("+++ b/") {
            let list = if is_new { &mut touched.new } else { &mut touched.edited };
            list.push(file.to_owned());
        } else if line.starts_with('+') && !line.starts_with("+++") && !is_new {
            touched.lines += 1;
        }
    }
    touched
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_and_edited_files_are_counted_apart() {
        let patch = "diff --git a/list.rs b/list.rs\n--- a/list.rs\n+++ b/list.rs\n@@ -1,2 +1,3 @@\n a\n+b\n c\n\
                     diff --git a/b.rs b/b.rs\nnew file mode 100644\n--- /dev/null\n+++ b/b.rs\n@@ -0,0 +1,2 @@\n+x\n+y\n";
        let touched = touched_by(patch);
        assert_eq!(
            (touched.new, touched.edited, touched.lines),
            (vec!["b.rs".into()], vec!["list.rs".into()], 1)
        );
    }

    #[test]
    fn a_recipe_says_what_it_is() {
        let text = "about: a thing\npackage: p\nbudget: 2\nedited: 1\nalso: t\n";
        let recipe = described("r", text).expect("it is complete");
        assert_eq!((recipe.budget, recipe.edited, recipe.also.len()), (2, 1, 1));
        for (missing, part) in [("budget: 2\n", "budget"), ("about: a thing\n", "about")] {
            let error =
                described("r", &text.replace(missing, "")).expect_err("it is not complete").to_string();
            assert!(error.contains("recipes/r/recipe.txt") && error.contains(part), "{error}");
        }
        let error = described("r", &text.replace("edited: 1", "edited: one")).expect_err("no number");
        assert!(error.to_string().contains("expected a number"), "{error}");
    }

    #[test]
    fn every_recipe_applies_within_its_budget() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace's root");
        let all = recipes(root).expect("the folder is read");
        assert!(all.len() >= 6);
        for recipe in all {
            let folder = root.join(FOLDER).join(&recipe.name);
            let touched = touched_by(&read(&folder.join("recipe.patch")).expect("there is a patch"));
            assert!(touched.new.len() + touched.edited.len() <= recipe.budget, "{}", recipe.name);
            assert!(touched.lines <= recipe.edited && folder.join("check.rs").is_file(), "{}", recipe.name);
            let fits = passes(apply(root, &folder.join("recipe.patch")).arg("--check"));
            assert!(fits.is_ok(), "{} does not apply any more; make its patch anew", recipe.name);
        }
    }
}
