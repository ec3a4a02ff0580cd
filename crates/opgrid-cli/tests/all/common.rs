//! Runs the real binary at the root of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a run left behind.
pub struct Run {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    pub fn from_output(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("opgrid prints UTF-8");
        Self { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The root of the repository, where the examples of the README are typed.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `opgrid` with these arguments in a directory.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn opgrid_in(directory: &Path, args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_opgrid")).args(args).current_dir(directory).output();
    Run::from_output(output.expect("the binary runs"))
}

/// What `opgrid` prints for these arguments; it has to succeed and to say nothing on standard error.
#[allow(dead_code, reason = "not every test file needs it")]
pub fn prints(args: &[&str]) -> String {
    let run = opgrid_in(&root(), args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{args:?}");
    run.out
}

/// The JSON that `opgrid` prints for these arguments.
#[allow(dead_code, reason = "not every test file looks at JSON")]
pub fn json(args: &[&str]) -> serde_json::Value {
    let text = prints(&[args, &["--json"]].concat());
    assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
    serde_json::from_str(&text).expect("--json prints JSON")
}

/// Checks that `opgrid` fails with one message that contains every part: status 2, and nothing on standard output.
#[allow(dead_code, reason = "not every test file makes mistakes")]
pub fn fails(args: &[&str], parts: &[&str]) {
    let run = opgrid_in(&root(), args);
    assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
    assert_eq!(run.err.matches("error: ").count(), 1, "{args:?}: {}", run.err);
    assert!(run.err.starts_with("error: ") && run.err.ends_with('\n'), "{args:?}: {}", run.err);
    for part in parts {
        assert!(run.err.contains(part), "{args:?}: `{part}` is not in: {}", run.err);
    }
}

/// A new folder that disappears with its content.
#[allow(dead_code, reason = "not every test file writes files")]
pub struct Folder(PathBuf);

#[allow(dead_code, reason = "not every test file writes files")]
impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("opgrid-{process}-{number}"));
        std::fs::create_dir_all(&path).expect("the folder for tests can be written");
        Self(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// How many files lie in it.
    pub fn count(&self) -> usize {
        std::fs::read_dir(&self.0).expect("the folder is there").count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
