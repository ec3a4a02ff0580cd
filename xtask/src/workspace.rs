//! Finds the workspace, its files and its packages.

use crate::failure::Failure;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout (or unpacked source archive) that the commands work on.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that `cargo xtask` was called in.
    ///
    /// The folder is read at run time and not compiled in: checkouts that share a target folder also share the
    /// compiled program.
    ///
    /// # Errors
    /// There is no `Cargo.toml` where one has to be.
    pub fn current() -> Result<Self, Failure> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| {
            Failure::new("CARGO_MANIFEST_DIR is not set; start this program as `cargo xtask`")
        })?;
        let root = Path::new(&manifest).parent().map(Path::to_path_buf).unwrap_or_default();
        if root.join("Cargo.toml").is_file() {
            Ok(Self { root })
        } else {
            Err(Failure::new(format!(
                "no Cargo.toml in {}; start this program as `cargo xtask`",
                root.display()
            )))
        }
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A cargo command that runs in the root, with the cargo that called this program.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// The workspace's packages as `cargo metadata` prints them; reads manifests only, never the network.
    ///
    /// # Errors
    /// Cargo cannot read the manifests.
    pub fn packages(&self) -> Result<Vec<Value>, Failure> {
        Ok(self.metadata()?["packages"].as_array().cloned().unwrap_or_default())
    }

    /// The folder that cargo builds in, where other build output belongs too.
    ///
    /// # Errors
    /// Cargo cannot read the manifests.
    pub fn target(&self) -> Result<PathBuf, Failure> {
        let metadata = self.metadata()?;
        let folder = metadata["target_directory"].as_str();
        folder.map(PathBuf::from).ok_or_else(|| Failure::new("cargo metadata names no target directory"))
    }

    fn metadata(&self) -> Result<Value, Failure> {
        let mut command = self.cargo();
        command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        serde_json::from_str(&output(&mut command)?)
            .map_err(|error| Failure::new(format!("cargo metadata printed what is not JSON: {error}")))
    }

    /// Builds a target with optimisation and says where its program lies; `chosen` chooses it for cargo, `name` is its
    /// name.
    ///
    /// # Errors
    /// The target does not build, or is no program.
    pub fn build(&self, chosen: &[&str], name: &str) -> Result<PathBuf, Failure> {
        let mut command = self.cargo();
        command.args(["build", "--release", "--message-format", "json-render-diagnostics"]).args(chosen);
        let messages = output(&mut command)?;
        let mut executables = messages.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let is_program = message["target"]["name"] == name;
            message["executable"].as_str().filter(|_| is_program).map(PathBuf::from)
        });
        let executable = executables.next_back();
        executable.ok_or_else(|| Failure::new(format!("cargo built `{name}` without an executable")))
    }

    /// The project's files relative to the root, with `/` between folders, sorted.
    ///
    /// In a git checkout these are the files git tracks or would track; elsewhere every file but build output,
    /// virtual environments and hidden folders.
    ///
    /// # Errors
    /// Git or a folder cannot be read.
    pub fn files(&self) -> Result<Vec<String>, Failure> {
        let mut files = if self.root.join(".git").exists() {
            self.files_known_to_git()?
        } else {
            let mut files = Vec::new();
            walk(&self.root, "", &mut files)?;
            files
        };
        files.sort();
        files.dedup();
        Ok(files)
    }

    fn files_known_to_git(&self) -> Result<Vec<String>, Failure> {
        let mut command = Command::new("git");
        command.current_dir(&self.root);
        command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = output(&mut command)?;
        // A file that was deleted and not yet committed is still listed.
        Ok(listed.split('\0').filter(|path| self.root.join(path).is_file()).map(String::from).collect())
    }

    /// The text of a file given relative to the root; `None` if it is not UTF-8, so not text.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, path: &str) -> Result<Option<String>, Failure> {
        let bytes = std::fs::read(self.root.join(path))
            .map_err(|error| Failure::new(format!("cannot read {path}: {error}")))?;
        Ok(String::from_utf8(bytes).ok())
    }
}

/// Collects the files below `root/folder`.
fn walk(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<(), Failure> {
    let unreadable = |error| Failure::new(format!("cannot read the folder `{folder}`: {error}"));
    for entry in std::fs::read_dir(root.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && !is_generated(&name, &entry.path()) {
            walk(root, &path, files)?;
        }
    }
    Ok(())
}

/// Whether a folder holds what tools made: cargo marks its output with `CACHEDIR.TAG`, Python a virtual environment
/// with `pyvenv.cfg`.
fn is_generated(name: &str, folder: &Path) -> bool {
    let hidden = name.starts_with('.') && ![".ci", ".cargo"].contains(&name);
    hidden
        || name == "__pycache__"
        || folder.join("CACHEDIR.TAG").exists()
        || folder.join("pyvenv.cfg").exists()
}

/// Runs a command whose output is wanted; its complaints pass through.
///
/// # Errors
/// The command is not installed, fails, or prints what is not UTF-8.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = shown(command);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| Failure::new(format!("cannot run `{shown}`: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{shown}` failed with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::new(format!("`{shown}` printed what is not UTF-8")))
}

/// Runs a command that prints for itself.
///
/// # Errors
/// The command is not installed or fails.
pub fn passes(command: &mut Command) -> Result<(), Failure> {
    let shown = shown(command);
    let status = command.status().map_err(|error| Failure::new(format!("cannot run `{shown}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{shown}` ended with {status}"))) }
}

/// The machine that the compiler builds for.
///
/// # Errors
/// The compiler cannot be run.
pub fn host() -> Result<String, Failure> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(String::from).ok_or_else(|| Failure::new("`rustc -vV` names no host"))
}

/// A command as the user would type it, without the folders of the program.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder of its own for each test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_source_archive_is_walked_without_build_output() {
        let folder = Folder::new("walk");
        for kept in ["Cargo.toml", ".ci/run", "crates/a/src/lib.rs", "crates/target/mod.rs"] {
            folder.write(kept, "");
        }
        for left_out in
            [".venv/x.py", "target/CACHEDIR.TAG", "target/debug/build.rs", "env/pyvenv.cfg", "env/x.py"]
        {
            folder.write(left_out, "");
        }
        let files = Workspace { root: folder.0.clone() }.files().unwrap();
        assert_eq!(files, [".ci/run", "Cargo.toml", "crates/a/src/lib.rs", "crates/target/mod.rs"]);
    }

    #[test]
    fn a_checkout_lists_new_files_but_neither_ignored_nor_deleted_ones() {
        let folder = Folder::new("git");
        let workspace = Workspace { root: folder.0.clone() };
        let git = |arguments: &[&str]| {
            output(Command::new("git").current_dir(workspace.root()).args(arguments)).unwrap()
        };
        git(&["init", "--quiet"]);
        for file in ["kept.rs", "deleted.rs", "ignored.log"] {
            folder.write(file, "");
        }
        folder.write(".gitignore", "*.log\n");
        git(&["add", "kept.rs", "deleted.rs", ".gitignore"]);
        std::fs::remove_file(workspace.root().join("deleted.rs")).unwrap();
        folder.write("new.rs", "");
        assert_eq!(workspace.files().unwrap(), [".gitignore", "kept.rs", "new.rs"]);
    }

    #[test]
    fn a_file_that_is_not_text_reads_as_none() {
        let folder = Folder::new("read");
        let workspace = Workspace { root: folder.0.clone() };
        std::fs::write(folder.0.join("data"), [0xff, 0xfe]).unwrap();
        folder.write("text", "words");
        assert_eq!(workspace.read("data").unwrap(), None);
        assert_eq!(workspace.read("text").unwrap().as_deref(), Some("words"));
        assert!(workspace.read("absent").unwrap_err().to_string().contains("absent"));
    }

    #[test]
    fn a_command_that_fails_is_named() {
        let failure = output(Command::new("false").arg("once")).unwrap_err();
        assert!(failure.to_string().contains("`false once` failed with exit status: 1"), "{failure}");
        let failure = output(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(failure.to_string().contains("cannot run `no-such-program-here`"), "{failure}");
    }

    #[test]
    fn a_command_that_does_not_pass_is_named() {
        assert!(passes(&mut Command::new("true")).is_ok());
        let failure = passes(&mut Command::new("false")).unwrap_err();
        assert!(failure.to_string().contains("`false` ended with exit status: 1"), "{failure}");
    }
}
