//! Many calls on several threads while one thread registers, overrides and drops; and what may happen beside that.
//!
//! `cargo xtask stress` runs this at full size. As an ordinary test it makes a million calls.

mod history;
mod load;
mod scenarios;
mod verdict;

use std::fmt::Debug;
use std::str::FromStr;

use verdict::Verdict;

/// How large a run is. The environment says so, because a test has no arguments of its own.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// How many calls are made by all threads together.
    pub calls: u64,
    /// How many threads call.
    pub threads: u64,
    /// How long the kernel that blocks does so, in milliseconds.
    pub block: u64,
}

impl Scale {
    fn from_environment() -> Self {
        Self {
            calls: setting("OPGRID_STRESS_CALLS", 1_000_000),
            threads: setting("OPGRID_STRESS_THREADS", 6).max(1),
            block: setting("OPGRID_STRESS_BLOCK_MS", 100),
        }
    }

    /// By how much resident memory may grow after the first part, in bytes. Short runs end while the allocator still
    /// finds out how much waits at worst.
    fn growth(&self) -> i64 {
        // Under a sanitizer that keeps what is freed, memory says nothing.
        let is_checked = std::env::var_os("OPGRID_STRESS_MEMORY").is_none_or(|text| text != "unchecked");
        match self.calls {
            _ if !is_checked => i64::MAX,
            ..10_000_000 => 4 << 20,
            _ => (1 << 20) - 1,
        }
    }
}

fn setting<T: FromStr<Err: Debug>>(name: &str, default: T) -> T {
    std::env::var(name).map_or(default, |text| text.parse().expect("the setting is a number"))
}

#[test]
fn calls_stay_right_while_everything_changes() {
    let scale = Scale::from_environment();
    let mut verdict = Verdict::default();
    load::run(scale, &mut verdict);
    scenarios::run(scale, &mut verdict);
    println!("\n{verdict}");
    assert!(verdict.is_clean(), "{}", verdict.violations());
}
