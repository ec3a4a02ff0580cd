//! Shared libraries as files: which symbols one defines, and the bytes of one. Nothing of it is run.
//!
//! Reads the table of dynamic symbols of ELF files for x86-64, as hosts of plugins are. Its place and length come from the
//! section headers, which `strip` leaves; a library without them is refused. A file is bytes from somebody else: every
//! number in it is checked before it is used.

use std::ops::Range;
use std::path::Path;

use opgrid_abi::{CORE_MARKER_SYMBOL, INIT_SYMBOL, MANIFEST_SYMBOL};
use opgrid_core::{Error, ErrorKind, Result};

use crate::manifest::{LONGEST, Manifest};
use crate::search;

/// The kinds of sections that matter here.
const DYNAMIC_SYMBOLS: u32 = 11;
/// A section that takes no room in the file.
const NO_BITS: u32 = 8;
/// The bytes of a section header and of a symbol.
const HEADER: usize = 64;
const SYMBOL: usize = 24;

impl Manifest {
    /// Reads the manifest of a plugin, found as [`find`](crate::find) does, without running anything of it.
    ///
    /// # Errors
    ///
    /// There is no such file; it is no plugin.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = search::find(path.as_ref())?;
        let bytes = search::bytes_of(&path)?;
        Image::new(&bytes).and_then(|image| image.plugin()).map_err(|error| error.within(path.display()))
    }
}

/// A shared library's bytes.
pub(crate) struct Image<'a> {
    bytes: &'a [u8],
    sections: Vec<Section>,
}

/// A section, with what of its header matters.
struct Section {
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    /// The section with the names, for symbols.
    link: u32,
}

impl Section {
    /// The bytes of the file that it takes.
    fn range(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        Some(start..start.checked_add(usize::try_from(self.size).ok()?)?)
    }
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, message)
}

impl<'a> Image<'a> {
    /// Looks at the bytes of a file.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        let is_library = bytes.starts_with(b"\x7fELF\x02\x01")
            && half(bytes, 16) == Some(3)
            && half(bytes, 18) == Some(62);
        if !is_library {
            return Err(refused("found a file of another kind, expected a shared library (ELF, x86-64)"));
        }
        let sections = Self::sections(bytes).ok_or_else(|| {
            refused(
                "the file is damaged: its section headers are outside of it, or it has none; \
                 rebuild the library",
            )
        })?;
        Ok(Self { bytes, sections })
    }

    fn sections(bytes: &[u8]) -> Option<Vec<Section>> {
        let start = usize::try_from(long(bytes, 40)?).ok()?;
        let (size, count) = (half(bytes, 58)?, half(bytes, 60)?);
        if usize::from(size) != HEADER || count == 0 {
            return None;
        }
        (0..usize::from(count))
            .map(|index| {
                let at = start.checked_add(index * HEADER)?;
                Some(Section {
                    kind: word(bytes, at.checked_add(4)?)?,
                    address: long(bytes, at.checked_add(16)?)?,
                    offset: long(bytes, at.checked_add(24)?)?,
                    size: long(bytes, at.checked_add(32)?)?,
                    link: word(bytes, at.checked_add(40)?)?,
                })
            })
            .collect()
    }

    /// The address and the size of a symbol that the library defines.
    fn symbol(&self, name: &str) -> Option<(u64, u64)> {
        self.sections.iter().filter(|section| section.kind == DYNAMIC_SYMBOLS).find_map(|section| {
            let symbols = self.bytes.get(section.range()?)?;
            let names = self.bytes.get(self.sections.get(section.link as usize)?.range()?)?;
            symbols.chunks_exact(SYMBOL).find_map(|symbol| {
                let is_defined = half(symbol, 6)? != 0;
                let known = names.get(usize::try_from(word(symbol, 0)?).ok()?..)?;
                let is_it = known.strip_prefix(name.as_bytes())?.first() == Some(&0);
                (is_defined && is_it).then_some((long(symbol, 8)?, long(symbol, 16)?))
            })
        })
    }

    /// The bytes that lie at an address of the library.
    fn at(&self, address: u64, size: u64) -> Option<&'a [u8]> {
        self.sections.iter().filter(|section| section.kind != NO_BITS && section.address != 0).find_map(
            |section| {
                let inside = address.checked_sub(section.address)?;
                let left = section.size.checked_sub(inside)?;
                let start = usize::try_from(section.offset.checked_add(inside)?).ok()?;
                let length = usize::try_from(size.min(left)).ok()?.min(LONGEST);
                (left > 0).then(|| self.bytes.get(start..start.checked_add(length)?)).flatten()
            },
        )
    }

    /// The manifest, if this is a plugin: it has one, an entry, and no dispatcher of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`] that says what is wrong.
    pub(crate) fn plugin(&self) -> Result<Manifest> {
        let (address, size) = self.symbol(MANIFEST_SYMBOL).ok_or_else(|| {
            refused(format!(
                "the library is not a plugin: it does not define `{MANIFEST_SYMBOL}`; state one with \
                 OPGRID_PLUGIN in C and C++ or `plugin!` in Rust"
            ))
        })?;
        let bytes = self.at(address, size).ok_or_else(|| {
            refused(format!("the file is damaged: `{MANIFEST_SYMBOL}` is outside of it; rebuild the library"))
        })?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(text)
            .map_err(|error| refused(format!("the manifest is not UTF-8: {error}; write it in UTF-8")))?;
        let manifest = Manifest::parse(text)?;
        if self.symbol(INIT_SYMBOL).is_none() {
            let message = format!(
                "plugin `{}` has no entry: it does not define `{INIT_SYMBOL}`; export a function of that name",
                manifest.name
            );
            return Err(refused(message));
        }
        if self.symbol(CORE_MARKER_SYMBOL).is_some() {
            return Err(has_core(&manifest.name));
        }
        Ok(manifest)
    }
}

/// The error of a plugin with a dispatcher of its own.
pub(crate) fn has_core(name: &str) -> Error {
    refused(format!(
        "plugin `{name}` contains a dispatcher of its own (it defines `{CORE_MARKER_SYMBOL}`), whose \
         operators this process would not see; make it depend on `opgrid-plugin-sdk` or the C header \
         alone, not on `opgrid`"
    ))
}

/// Reads little-endian numbers out of bytes, where they are.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}
