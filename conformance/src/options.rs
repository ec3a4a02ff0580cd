//! The command lines of the programs that compare: pairs of an option and its value.

use std::path::PathBuf;
use std::process::ExitCode;

/// What a command line says.
#[derive(Debug)]
pub struct Options {
    usage: &'static str,
    given: Vec<(String, String)>,
}

impl Options {
    /// Reads a command line. The known options are those that stand in `usage`.
    ///
    /// # Errors
    ///
    /// An option that is not known, or that has no value.
    pub fn parse(usage: &'static str, mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut given = Vec::new();
        while let Some(word) = words.next() {
            let mut known = usage.split(|c: char| c.is_whitespace() || c == '[' || c == ']');
            if !word.starts_with("--") || !known.any(|known| known == word) {
                return Err(format!("unknown option `{word}`; usage: {usage}"));
            }
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value; usage: {usage}"))?;
            given.push((word, value));
        }
        Ok(Self { usage, given })
    }

    /// The value of an option; the last one that was given counts.
    pub fn text(&self, option: &str) -> Option<&str> {
        self.given.iter().rev().find(|(known, _)| known == option).map(|(_, value)| value.as_str())
    }

    /// The value of an option that has to be given.
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn path(&self, option: &str) -> Result<PathBuf, String> {
        let value =
            self.text(option).ok_or_else(|| format!("`{option}` is missing; usage: {}", self.usage))?;
        Ok(value.into())
    }

    /// The number that an option has.
    ///
    /// # Errors
    ///
    /// Its value is no number.
    pub fn number(&self, option: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.text(option) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| format!("`{option}` needs a number, found `{value}`"))
    }
}

/// Runs a program: status 2 where its command line is wrong, 1 where `run` fails.
pub fn main<A>(
    usage: &'static str,
    arguments: impl FnOnce(&Options) -> Result<A, String>,
    run: impl FnOnce(&A) -> Result<(), String>,
) -> ExitCode {
    let words = std::env::args().skip(1);
    let (message, code) = match Options::parse(usage, words).and_then(|options| arguments(&options)) {
        Err(message) => (message, ExitCode::from(2)),
        Ok(arguments) => match run(&arguments) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(message) => (message, ExitCode::FAILURE),
        },
    };
    eprintln!("error: {message}");
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: &str = "program --driver PROGRAM [--seeds N]";

    fn parse(text: &str) -> Result<Options, String> {
        Options::parse(USAGE, text.split_whitespace().map(String::from))
    }

    #[test]
    fn options_have_values() {
        let options = parse("--driver a --seeds 3 --seeds 4").unwrap();
        assert_eq!((options.path("--driver").unwrap(), options.number("--seeds")), ("a".into(), Ok(Some(4))));
        assert_eq!((options.text("--show"), options.number("--show")), (None, Ok(None)));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("--seed 3", "unknown option `--seed`; usage: program --driver"),
            ("PROGRAM 3", "unknown option `PROGRAM`"),
            ("--seeds", "`--seeds` needs a value"),
        ] {
            assert!(parse(text).unwrap_err().contains(expected), "{text}");
        }
        assert!(parse("--seeds x").unwrap().number("--seeds").unwrap_err().contains("found `x`"));
        assert!(parse("").unwrap().path("--driver").unwrap_err().contains("`--driver` is missing"));
    }
}
