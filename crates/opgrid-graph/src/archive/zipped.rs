//! The zip around an exported program: its members by name, read within the length of the file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::Path;

use opgrid_core::{Error, Result};
use serde_json::Value as Json;
use zip::read::{ArchiveOffset, Config};
use zip::{CompressionMethod, ZipArchive};

use crate::error;

/// An open archive.
pub(super) struct Zipped {
    zip: ZipArchive<BufReader<File>>,
    /// The open file, for callers that map parts of it.
    file: File,
    /// The names of all members.
    members: Vec<String>,
    /// The folder that all members lie in, with a slash.
    root: String,
    /// How many bytes may still be read: in all, no more than the file has.
    left: u64,
}

/// What an archive says by the names of its members that it is, and what to do instead.
const OTHERS: [(&str, &str, &str); 4] = [
    (
        "serialized_exported_program.json",
        "a program in the format of torch before 2.8",
        "load it there and save it with torch.export.save of torch 2.8 or later",
    ),
    ("constants.pkl", "TorchScript", "export the module with torch.export.export and torch.export.save"),
    (
        "data.pkl",
        "a pickle of torch.save",
        "export the module with torch.export.export and torch.export.save",
    ),
    (
        "data/aotinductor/",
        "compiled by AOTInductor",
        "save the exported program itself, with torch.export.save, instead of compiling it",
    ),
];

impl Zipped {
    /// Opens an archive and makes sure that it is one of `torch.export.save`.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed =
            |error: std::io::Error| error::file(format!("{}: {error}", path.display())).caused_by(error);
        let file = opgrid_array::files::open(path)?;
        let length = file.metadata().map_err(failed)?.len();
        let same = file.try_clone().map_err(failed)?;
        // An archive begins where the file does. Looking for where else it might begin goes wrong with directories as torch writes them,
        // which have a 64-bit end without need of one.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip = ZipArchive::with_config(config, BufReader::new(file)).map_err(|cause| {
            let message =
                format!("{}: {cause}, expected a zip as torch.export.save writes it", path.display());
            error::file(message).caused_by(cause)
        })?;
        let names: Result<Vec<String>, _> =
            zip.file_names().map(|name| name.map(|name| name.into_owned())).collect();
        let members = names.map_err(|cause: zip::result::ZipError| {
            let message = format!("{}: name of a member: {cause}, expected names in UTF-8", path.display());
            error::file(message).caused_by(cause)
        })?;
        let mut zipped = Self { zip, file: same, members, root: String::new(), left: length };
        zipped.find_root().map_err(|error| error.within(path.display()))?;
        Ok(zipped)
    }

    fn find_root(&mut self) -> Result<()> {
        let first = self.members.first();
        self.root = first
            .and_then(|first| first.split_once('/'))
            .map_or_else(String::new, |(root, _)| format!("{root}/"));
        let has_models = self.names("models/").next().is_some();
        for (sign, what, remedy) in OTHERS {
            let is_there =
                if sign.ends_with('/') { self.names(sign).next().is_some() } else { self.has(sign) };
            if is_there && !has_models {
                return Err(error::unsupported(format!("the archive is {what}; {remedy}")));
            }
        }
        if !self.has("archive_format") {
            let message = "no member `archive_format`, expected a program as torch.export.save writes it";
            return Err(error::file(message));
        }
        let format = self.text("archive_format")?;
        if format.trim() == "pt2" {
            return Ok(());
        }
        let shown: String = format.trim().chars().take(40).collect();
        Err(error::unsupported(format!(
            "the archive's format is `{shown}`, expected `pt2`; save it with torch.export.save"
        )))
    }

    /// The names of the members below a folder, without it.
    pub(super) fn names(&self, folder: &str) -> impl Iterator<Item = &str> {
        let folder = format!("{}{folder}", self.root);
        let inside = move |name: &'_ String| name.strip_prefix(folder.as_str()).map(str::len);
        let ends = self
            .members
            .iter()
            .filter_map(move |name| inside(name).map(|length| &name[name.len() - length..]));
        ends.filter(|name| !name.is_empty())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{}{name}", self.root)).is_some()
    }

    /// The name of the only model.
    pub(super) fn model(&self) -> Result<String> {
        let mut models: Vec<_> =
            self.names("models/").filter_map(|name| name.strip_suffix(".json")).collect();
        models.sort_unstable();
        match models.as_slice() {
            [only] => Ok((*only).to_owned()),
            [] => Err(error::file("no member `models/NAME.json`, expected the graph of a program there")),
            several => {
                let message = format!(
                    "the archive holds {} models, {}; expected one: save each in a file of its own",
                    several.len(),
                    error::quoted(several)
                );
                Err(error::unsupported(message))
            }
        }
    }

    /// The length of a member in bytes.
    pub(super) fn length(&mut self, name: &str) -> Result<u64> {
        self.member(name, |_, size| Ok(size))
    }

    /// The file that is read.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Where the bytes of a member lie in the file.
    pub(super) fn place(&mut self, name: &str) -> Result<Option<Range<usize>>> {
        let length = self.length(name)?;
        let full = format!("{}{name}", self.root);
        let member = self.zip.by_name(&full).map_err(|cause| broken(name, &cause).caused_by(cause))?;
        let place = member.data_start().and_then(|start| {
            Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?)
        });
        Ok(place)
    }

    /// Fills `bytes` with a member, which has exactly that length.
    pub(super) fn read_into(&mut self, name: &str, bytes: &mut [u8]) -> Result<()> {
        self.spend(name, bytes.len() as u64)?;
        self.member(name, |member, _| {
            member.read_exact(bytes)?;
            // The check of the sum over all bytes happens where the end is read.
            member.read(&mut [0]).map(drop)
        })
    }

    /// A member that is JSON.
    pub(super) fn json(&mut self, name: &str) -> Result<Json> {
        let text = self.text(name)?;
        serde_json::from_str(&text)
            .map_err(|cause| error::file(format!("member `{name}`: {cause}, expected JSON")).caused_by(cause))
    }

    /// A member that is a text.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        let length = self.length(name)?;
        self.spend(name, length)?;
        let mut bytes = Vec::new();
        self.member(name, |member, _| member.read_to_end(&mut bytes).map(drop))?;
        String::from_utf8(bytes).map_err(|cause| {
            error::file(format!("member `{name}`: {cause}, expected a text in UTF-8")).caused_by(cause)
        })
    }

    /// Makes sure that so many bytes of the file are left to read, before memory is allocated for them.
    pub(super) fn expect_left(&self, name: &str, bytes: u64) -> Result<()> {
        self.remaining(name, bytes).map(drop)
    }

    fn spend(&mut self, name: &str, bytes: u64) -> Result<()> {
        self.left = self.remaining(name, bytes)?;
        Ok(())
    }

    fn remaining(&self, name: &str, bytes: u64) -> Result<u64> {
        self.left.checked_sub(bytes).ok_or_else(|| {
            let left = self.left;
            error::file(format!(
                "member `{name}`: the directory says {bytes} bytes, but only {left} of the file's are not read yet; members lie \
                 over each other or beyond the end, expected an archive as torch.export.save writes it"
            ))
        })
    }

    /// Shows a member and its length to `body`.
    fn member<X>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut dyn Read, u64) -> std::io::Result<X>,
    ) -> Result<X> {
        let full = format!("{}{name}", self.root);
        let failed = |cause: zip::result::ZipError| match cause {
            zip::result::ZipError::FileNotFound => error::file(format!(
                "no member `{name}`, which the archive needs; it is incomplete, save it anew"
            )),
            cause => broken(name, &cause).caused_by(cause),
        };
        let mut member = self.zip.by_name(&full).map_err(failed)?;
        if member.compression() != CompressionMethod::Stored {
            return Err(error::unsupported(format!(
                "member `{name}`: found it compressed by {}, expected it stored, as torch.export.save writes it",
                member.compression()
            )));
        }
        let size = member.size();
        body(&mut member, size).map_err(|cause| broken(name, &cause).caused_by(cause))
    }
}

#[cold]
fn broken(name: &str, cause: &dyn std::fmt::Display) -> Error {
    error::file(format!("member `{name}`: {cause}; the archive is damaged, copy or save it anew"))
}
