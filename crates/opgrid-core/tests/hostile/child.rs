//! Tests that run in a process of their own.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "OPGRID_HOSTILE_CHILD";

/// How long a process may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `body` in a process of its own and returns what it printed; `test` is the path of the test that calls this.
///
/// In that process this runs `body` and does not return.
pub fn printed_by(test: &str, body: impl FnOnce()) -> String {
    if std::env::var(NAME).as_deref() == Ok(test) {
        body();
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    command
        .args([test, "--exact", "--nocapture", "--test-threads=2"])
        .env(NAME, test)
        .env("RUST_BACKTRACE", "0");
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
    let outputs = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let printed = thread::spawn(move || text_of(outputs.0));
    let errors = thread::spawn(move || text_of(outputs.1));
    let end = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    };
    let (printed, errors) = (printed.join().unwrap(), errors.join().unwrap());
    assert!(status.success(), "{test}: {status}\n{printed}\n{errors}");
    printed
}

fn text_of(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("the pipe can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
