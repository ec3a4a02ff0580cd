//! Files that arguments name and that results are written to: which kind they are, which array of them, and the standard
//! input in place of one.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use opgrid::array::Array;
use opgrid::{Error, ErrorKind, Result, files};

use crate::grammar::Literal;
use crate::tensor_literal;

/// The argument that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// Kinds of files, told by their endings, whether those are written in capitals or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Npy,
    Npz,
    Safetensors,
}

const KINDS: [(&str, Kind); 3] =
    [(".npy", Kind::Npy), (".npz", Kind::Npz), (".safetensors", Kind::Safetensors)];

/// A file, and what stands behind the colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) names: Option<String>,
}

impl Spec {
    /// The file that a text names, if its ending is one that arrays have.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let array_of = |(ending, kind): (&str, Kind)| {
            let end = lower.find(&format!("{ending}:"))? + ending.len();
            Some(Self { path: text[..end].into(), kind, names: Some(text[end + 1..].to_owned()) })
        };
        let whole = |(ending, kind): (&str, Kind)| {
            lower.ends_with(ending).then(|| Self { path: text.into(), kind, names: None })
        };
        KINDS.into_iter().find_map(array_of).or_else(|| KINDS.into_iter().find_map(whole))
    }

    /// The array, read.
    fn array(&self) -> Result<Array> {
        let path = self.path.as_path();
        if std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0) {
            let message = format!("{}: the file is empty, expected {}", path.display(), self.kind.content());
            return Err(Error::new(ErrorKind::File, message));
        }
        match (self.kind, self.names.as_deref()) {
            (Kind::Npy, None) => files::npy::read(path),
            (Kind::Npy, Some(name)) => {
                let message =
                    format!("{}: such a file holds one array without a name; omit :{name}", path.display());
                Err(Error::new(ErrorKind::File, message))
            }
            (Kind::Npz, Some(name)) => files::npz::read(path, name),
            (Kind::Safetensors, Some(name)) => files::safetensors::read(path, name),
            (Kind::Npz, None) => Err(nameless(&path.display().to_string(), &files::npz::names(path)?)),
            (Kind::Safetensors, None) => {
                Err(nameless(&path.display().to_string(), &files::safetensors::names(path)?))
            }
        }
    }
}

impl Kind {
    fn content(self) -> &'static str {
        match self {
            Self::Npy => "an array as numpy.save writes it",
            Self::Npz => "arrays as numpy.savez writes them",
            Self::Safetensors => "a header of safetensors and tensors",
        }
    }
}

/// The array of a file or of the standard input; `None` for a text that is neither.
///
/// # Errors
///
/// Those of files.
pub(crate) fn read(text: &str) -> Result<Option<Array>> {
    if is_standard_input(text) {
        return from_standard_input(text.strip_prefix("-:")).map(Some);
    }
    Spec::read(text).map(|spec| spec.array()).transpose()
}

/// Whether an argument stands for the standard input, or for an array of it as in `-:name`.
pub(crate) fn is_standard_input(text: &str) -> bool {
    text == STANDARD_INPUT || text.starts_with("-:")
}

/// The array that stands in the standard input: a file, told by its first bytes, else a literal.
fn from_standard_input(name: Option<&str>) -> Result<Array> {
    const SUBJECT: &str = "standard input";
    let bytes = standard_input()?;
    match (name, bytes) {
        (_, []) => {
            Err(Error::new(ErrorKind::File, format!("{SUBJECT}: it is empty, expected a file or a literal")))
        }
        (None, [0x93, b'N', b'U', b'M', b'P', b'Y', ..]) => files::npy::decode(SUBJECT, bytes),
        (Some(name), [b'P', b'K', ..]) => files::npz::decode(SUBJECT, bytes, name),
        (Some(name), _) => files::safetensors::decode(SUBJECT, bytes, name),
        (None, _) => {
            let text = std::str::from_utf8(bytes).map(str::trim).map_err(|_| {
                let message = format!(
                    "{SUBJECT}: found bytes that are not UTF-8, expected a literal or the content of a \
                     .npy file; write -:NAME for one array of a .npz or .safetensors file"
                );
                Error::new(ErrorKind::File, message)
            })?;
            let read = |literal: Literal| match &literal {
                Literal::Word(word) if is_standard_input(word) => {
                    Err(Error::new(ErrorKind::Value, format!("found `{word}`, expected a literal")))
                }
                literal => tensor_literal::array(literal),
            };
            Literal::parse(text).and_then(read).map_err(|error| error.within(SUBJECT))
        }
    }
}

/// All of the standard input, read once, so that several arguments may name arrays of it.
fn standard_input() -> Result<&'static [u8]> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = BYTES.get() {
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::File, format!("standard input: {error}")))?;
    Ok(BYTES.get_or_init(|| bytes))
}

#[cold]
fn nameless(file: &str, names: &[String]) -> Error {
    let names = names.join(", ");
    let message = format!("{file}: such a file holds several arrays; write {file}:NAME with one of {names}");
    Error::new(ErrorKind::File, message)
}

/// Whether two strings name the same file.
pub(crate) fn are_the_same(a: &Path, b: &Path) -> bool {
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        path.canonicalize().unwrap_or(path)
    };
    absolute(a) == absolute(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_endings() {
        let spec = |text: &str| {
            Spec::read(text).map(|spec| (spec.path.display().to_string(), spec.kind, spec.names))
        };
        assert_eq!(spec("a/x.NPY"), Some(("a/x.NPY".into(), Kind::Npy, None)));
        assert_eq!(spec("set.Npz:w.npy"), Some(("set.Npz".into(), Kind::Npz, Some("w.npy".into()))));
        assert_eq!(spec("set.npz:w"), Some(("set.npz".into(), Kind::Npz, Some("w".into()))));
        assert_eq!(
            spec("é.safetensors:a:b"),
            Some(("é.safetensors".into(), Kind::Safetensors, Some("a:b".into())))
        );
        assert_eq!(spec("x.txt"), None);
        assert_eq!(spec("npy"), None);
    }

    #[test]
    fn one_file_has_several_names() {
        assert!(are_the_same(Path::new("x.npy"), Path::new("./x.npy")));
        assert!(!are_the_same(Path::new("x.npy"), Path::new("y.npy")));
    }
}
