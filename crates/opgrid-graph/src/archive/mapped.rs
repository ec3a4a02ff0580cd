//! Archives whose weights are the memory of the file.
#![allow(unsafe_code)]

use std::path::Path;

use opgrid_array::files::mapped;
use opgrid_core::Result;

use super::zipped::Zipped;
use super::{Archive, load};

/// Reads an archive as [`read`](crate::read()), and maps its weights. Those that are `bool`, of another machine's order of bytes, or at
/// an address that does not suit their dtype are copied. Sums over the bytes of mapped members are not checked.
///
/// # Safety
///
/// Nobody changes or shortens the file while a tensor of the archive, or another one on its memory, is alive. To replace the file by
/// another is fine.
///
/// # Errors
///
/// As [`read`](crate::read()).
pub(crate) unsafe fn read(path: &Path) -> Result<Archive> {
    let mut zipped = Zipped::open(path)?;
    let archive = load(&mut zipped, |zipped, places| {
        let ranges: Vec<_> = places.iter().map(|(_, place)| place.clone()).collect();
        if ranges.is_empty() {
            return Ok(Default::default());
        }
        // SAFETY: the caller promises that the file stays as it is; members of `bool` are not among the places, and every other dtype
        // has a value for all bytes.
        let storages = unsafe { mapped::storages(path, zipped.file(), &ranges)? };
        Ok(places.into_iter().map(|(member, _)| member).zip(storages).collect())
    });
    archive.map_err(|error| error.within(path.display()))
}
