//! Measures how much memory is in use at most while something runs.

use opgrid::{Error, Result};

/// Bytes in use at most while `body` runs, beyond those before.
///
/// # Errors
///
/// That of `body`; the system does not say how much memory is in use.
pub fn growth(body: impl FnOnce() -> Result<()>) -> Result<f64> {
    opgrid::tensor::trim();
    // From here on the highest mark counts anew.
    std::fs::write("/proc/self/clear_refs", "5").map_err(Error::from_source)?;
    let before = kibibytes("VmRSS:")?;
    body()?;
    Ok(1024.0 * (kibibytes("VmHWM:")? - before))
}

/// What the system says of this process's memory.
fn kibibytes(entry: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(Error::from_source)?;
    let line = status.lines().find_map(|line| line.strip_prefix(entry));
    let value = line.and_then(|line| line.split_whitespace().next()).and_then(|value| value.parse().ok());
    value.ok_or_else(|| Error::from_source(format!("no `{entry}` in /proc/self/status, expected kibibytes")))
}
