//! What a plugin says of itself: a text in the file that is read without running anything.
//!
//! ```text
//! opgrid plugin
//! abi 1.0
//! name my_test
//! version 0.1.0
//! namespaces aten
//! keys CPU TESTING_ONLY_GenericMode
//! ```
//!
//! The first line is fixed. Each other one is a word, a space and what it says; lines with other words are for readers to
//! come and passed over. A zero byte or the end of the symbol ends the text.

use std::fmt;

use opgrid_abi::{MANIFEST_MAGIC, OPGRID_ABI_MAJOR, OPGRID_ABI_MINOR};
use opgrid_core::{Error, ErrorKind, Result};

/// The longest text that is read, in bytes.
pub(crate) const LONGEST: usize = 1 << 16;

/// What a plugin says of itself.
///
/// # Examples
///
/// ```
/// use opgrid_plugin::Manifest;
///
/// let manifest = Manifest::parse("opgrid plugin\nabi 1.0\nname demo\nversion 0.1.0\nnamespaces demo\nkeys CPU\n")?;
/// assert_eq!((manifest.name.as_str(), manifest.abi), ("demo", (1, 0)));
/// assert_eq!(manifest.namespaces, ["demo"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// The plugin's name.
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// The version of the interface that it was built for.
    pub abi: (u32, u32),
    /// The namespaces to which it adds something.
    pub namespaces: Vec<String>,
    /// The dispatch keys for which it has kernels.
    pub keys: Vec<String>,
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, message)
}

impl Manifest {
    /// Reads the text of a manifest.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`]: the first line is another; a line that everybody needs is missing or there twice.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        if lines.next() != Some(MANIFEST_MAGIC) {
            return Err(refused(format!("the manifest does not begin with the line `{MANIFEST_MAGIC}`")));
        }
        let lines: Vec<(&str, &str)> = lines
            .map(|line| line.split_once(' ').unwrap_or((line, "")))
            .map(|(word, rest)| (word, rest.trim()))
            .collect();
        let say = |word: &str| {
            let mut said = lines.iter().filter(|(known, _)| *known == word);
            let first = said.next().map(|(_, rest)| *rest);
            match said.next() {
                None => Ok(first),
                Some(_) => Err(refused(format!("the manifest has `{word}` twice, expected it once"))),
            }
        };
        let needed = |word: &str| {
            say(word)?.filter(|rest| !rest.is_empty()).ok_or_else(|| {
                refused(format!("the manifest has no `{word}`, expected a line such as `{word} …`"))
            })
        };
        let words = |rest: Option<&str>| rest.unwrap_or("").split_whitespace().map(str::to_owned).collect();
        Ok(Self {
            abi: version(needed("abi")?)?,
            name: needed("name")?.to_owned(),
            version: needed("version")?.to_owned(),
            namespaces: words(say("namespaces")?),
            keys: words(say("keys")?),
        })
    }

    /// Checks that this host understands the plugin.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`] where it was built for another major version or a later minor one.
    pub fn check_version(&self) -> Result<()> {
        let (major, minor) = self.abi;
        let is_later = (major, minor) > (OPGRID_ABI_MAJOR, OPGRID_ABI_MINOR);
        if major == OPGRID_ABI_MAJOR && !is_later {
            return Ok(());
        }
        let remedy = if is_later {
            "install a newer opgrid, or build the plugin with this one's header"
        } else {
            "build the plugin with this opgrid's header"
        };
        Err(refused(format!(
            "plugin `{}` was built for version {major}.{minor} of the plugin interface, found {OPGRID_ABI_MAJOR}.\
             {OPGRID_ABI_MINOR} here; {remedy}",
            self.name
        )))
    }
}

fn version(text: &str) -> Result<(u32, u32)> {
    let parts =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parts.ok_or_else(|| {
        refused(format!("the manifest has `abi {text}`, expected two numbers as in `abi 1.0`"))
    })
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |words: &[String]| if words.is_empty() { "(none)".to_owned() } else { words.join(", ") };
        writeln!(f, "name        {}", self.name)?;
        writeln!(f, "version     {}", self.version)?;
        writeln!(f, "abi         {}.{}", self.abi.0, self.abi.1)?;
        writeln!(f, "namespaces  {}", list(&self.namespaces))?;
        writeln!(f, "keys        {}", list(&self.keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "opgrid plugin\nabi 1.0\nname a\nversion 2\nnamespaces x y\nkeys\nlater thing\n";

    #[test]
    fn a_whole_text_is_read() {
        let manifest = Manifest::parse(WHOLE).unwrap();
        assert_eq!((manifest.name.as_str(), manifest.version.as_str(), manifest.abi), ("a", "2", (1, 0)));
        assert_eq!((manifest.namespaces.len(), manifest.keys.len()), (2, 0));
        assert!(manifest.to_string().contains("namespaces  x, y\nkeys        (none)"));
        manifest.check_version().unwrap();
    }

    #[test]
    fn mistakes_are_named() {
        let check = |from: &str, to: &str, expected: &str| {
            let error = Manifest::parse(&WHOLE.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::File);
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("opgrid plugin", "another", "does not begin with");
        check("name a\n", "", "has no `name`");
        check("name a\n", "name\n", "has no `name`");
        check("abi 1.0", "abi one", "expected two numbers");
        check("version 2", "name b\nversion 2", "has `name` twice");
    }

    #[test]
    fn versions_that_do_not_fit_are_refused() {
        for (abi, remedy) in
            [("2.0", "install a newer opgrid"), ("1.99", "install a newer"), ("0.1", "build the plugin")]
        {
            let manifest = Manifest::parse(&WHOLE.replace("1.0", abi)).unwrap();
            let error = manifest.check_version().unwrap_err().to_string();
            assert!(error.contains(remedy) && error.contains("found 1.3 here"), "{error}");
        }
    }
}
