//! Writes archives that `torch.export.load` takes and [`read`](crate::read()) reads again.
//!
//! Members are stored as they are, each at a multiple of 64 bytes, so that a reader can map them. What a graph does not say gets the
//! value that torch makes nothing of: sample inputs are left out, tensors are row-major, and strides of weights are their own.

mod model;
mod names;
mod sizes;
mod tensors;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use opgrid_array::files;
use opgrid_core::Result;
use opgrid_tensor::Tensor;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::error;
use crate::graph::Graph;

/// Where the bytes of a member begin: at a multiple of this, as torch's own do.
const ALIGNMENT: u16 = 64;
/// Members beyond this size need the 64-bit fields of a zip.
const LARGE: usize = 1 << 31;

/// Writes a program, whole or not at all. `version` is the one of torch that the file names.
pub(crate) fn write(
    path: &Path,
    graph: &Graph,
    tensors: &BTreeMap<String, Tensor>,
    version: &str,
) -> Result<()> {
    let within = |error: opgrid_core::Error| error.within(path.display());
    crate::operators::ensure_registered()?;
    // Everything that may be refused is found before the file is touched.
    let model = model::to_json(graph, tensors, version).map_err(within)?.to_string();
    let folders = tensors::Folders::new(graph, tensors).map_err(within)?;
    files::write_with(path, |file| {
        let mut members = Members { zip: ZipWriter::new(file), path };
        for folder in folders.all() {
            for storage in &folder.storages {
                let guard = storage.storage.read()?;
                members.add(
                    &format!("data/{}/{}", folder.name, storage.name),
                    &guard.bytes()[..storage.bytes],
                )?;
            }
            let config = format!("data/{0}/model_{0}_config.json", folder.name);
            members.add(&config, folder.config.to_string().as_bytes())?;
        }
        members.add("models/model.json", model.as_bytes())?;
        // torch asks for the member, and takes an empty one for a program without sample inputs.
        members.add("data/sample_inputs/model.pt", b"")?;
        members.add("archive_format", b"pt2")?;
        members.add("archive_version", b"0")?;
        members.add(".data/version", b"6\n")?;
        members.add("byteorder", if cfg!(target_endian = "big") { b"big" } else { b"little" })?;
        members.zip.finish().map_err(|cause| failed(path, "its directory", &cause).caused_by(cause))?;
        Ok(())
    })
}

/// The members of an archive that is being written.
struct Members<'f> {
    zip: ZipWriter<&'f mut BufWriter<File>>,
    path: &'f Path,
}

impl Members<'_> {
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .with_alignment(ALIGNMENT)
            .large_file(bytes.len() > LARGE);
        let what = format!("member `{name}`");
        self.zip
            .start_file(format!("archive/{name}"), options)
            .map_err(|cause| failed(self.path, &what, &cause).caused_by(cause))?;
        self.zip.write_all(bytes).map_err(|cause| failed(self.path, &what, &cause).caused_by(cause))
    }
}

#[cold]
fn failed(path: &Path, what: &str, cause: &dyn Display) -> opgrid_core::Error {
    error::file(format!("{}: {what} cannot be written: {cause}", path.display()))
}
