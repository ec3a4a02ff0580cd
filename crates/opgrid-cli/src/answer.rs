//! What a command has to say.

/// What a command prints, and whether it found what it was asked to look for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Exit status 1: a fault, a change that breaks callers, nothing at all.
    pub(crate) found: bool,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { text, found: false }
    }
}
