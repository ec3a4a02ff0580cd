//! Arrays in the memory of a file: elements are read from disk when they are first used, and never copied.
//!
//! The functions are unsafe, because no borrow state can see what other programs do to a file: one that writes it
//! changes elements under a reader, and one that shortens it ends this process. Files that this crate writes are
//! replaced and never changed, so that it may write a file whose old content is still mapped.
//!
//! Writing to such an array changes this process's copy of a page, never the file.
#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};
use opgrid_core::Result;

use super::whole::{self, io_error};
use super::{elements, npy, safetensors};
use crate::{Allocation, Array, Storage};

/// The array of an `.npy` file, in the order of the file. One whose elements have the other order of bytes, or lie at
/// an address that does not suit them, is read into memory instead.
///
/// # Safety
///
/// Nobody changes or shortens the file while the array, or another one on its memory, is alive. To replace the file
/// by another is fine.
///
/// # Errors
///
/// As [`npy::read`].
pub unsafe fn npy(path: &Path) -> Result<Array> {
    // SAFETY: the caller promises what `open` asks for.
    let mapping = unsafe { Mapping::open(path)? };
    let (header, data) = npy::locate(&mapping.name, mapping.bytes())?;
    let end = mapping.bytes().len();
    if !elements::is_native(header.dtype, header.big_endian) || !mapping.suits(header.dtype, data) {
        return npy::read(path);
    }
    let storage =
        mapping.into_storages(std::iter::once(data..end)).next().expect("one range gives one storage")?;
    npy::shaped(&header, storage)
}

/// All arrays of a `.safetensors` file with their names. Those at an address that does not suit their elements are
/// read into memory instead.
///
/// # Safety
///
/// As for [`npy`](fn@npy).
///
/// # Errors
///
/// As [`safetensors::read_all`].
pub unsafe fn safetensors(path: &Path) -> Result<Vec<(String, Array)>> {
    // SAFETY: the caller promises what `open` asks for.
    let mapping = unsafe { Mapping::open(path)? };
    let mut located = safetensors::locate(&mapping.name, mapping.bytes())?;
    let suits = located.iter().all(|(_, spec, place)| mapping.suits(spec.dtype(), place.start));
    if cfg!(target_endian = "big") || !suits {
        return safetensors::read_all(path);
    }
    located.sort_by_key(|(_, _, place)| (place.start, place.end));
    let places: Vec<_> = located.iter().map(|(_, _, place)| place.clone()).collect();
    let storages = mapping.into_storages(places.into_iter());
    let arrays = located.into_iter().zip(storages);
    arrays.map(|((name, spec, _), storage)| Ok((name, Array::new(spec, storage?)?))).collect()
}

/// Storages on parts of an open file, which messages about the mapping call `path`: for formats that other crates read. Ranges of bytes ascend and do not
/// overlap.
///
/// # Safety
///
/// As for [`npy`](fn@npy). The values of the bytes are checked by the caller where a dtype does not have all, as `bool`.
///
/// # Errors
///
/// A file that cannot be mapped; ranges that overlap, descend or end beyond the file.
///
/// # Examples
///
/// ```
/// use opgrid_array::files::mapped;
///
/// let path = std::env::temp_dir().join(format!("opgrid-mapped-parts-{}", std::process::id()));
/// std::fs::write(&path, b"abcdef").unwrap();
/// let file = std::fs::File::open(&path).unwrap();
/// // SAFETY: nobody else knows the file.
/// let storages = unsafe { mapped::storages(&path, &file, &[0..2, 4..6])? };
/// assert_eq!(storages[1].read()?.bytes(), b"ef");
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub unsafe fn storages(path: &Path, file: &File, ranges: &[Range<usize>]) -> Result<Vec<Storage>> {
    // SAFETY: the caller promises that the file stays as it is.
    let mapping = unsafe { Mapping::new(path, file)? };
    let mut free = 0;
    for range in ranges {
        if range.start < free || range.end < range.start || range.end > mapping.map.len() {
            let (start, end, length) = (range.start, range.end, mapping.map.len());
            let message = format!(
                "bytes {start} to {end} of {length} are out of order or beyond the end, expected ranges that ascend"
            );
            return Err(crate::error::file(message));
        }
        free = range.end;
    }
    mapping.into_storages(ranges.iter().cloned()).collect()
}

/// A file in memory. Pages that are written become this process's own.
struct Mapping {
    name: String,
    map: MmapRaw,
}

impl Mapping {
    /// # Safety
    ///
    /// Nobody changes or shortens the file while the mapping or a storage on it is alive.
    unsafe fn open(path: &Path) -> Result<Self> {
        let (file, _): (File, u64) = whole::open(path)?;
        // SAFETY: the caller promises that the file stays as it is.
        unsafe { Self::new(path, &file) }
    }

    /// # Safety
    ///
    /// Nobody changes or shortens the file while the mapping or a storage on it is alive.
    unsafe fn new(path: &Path, file: &File) -> Result<Self> {
        // SAFETY: the caller promises that the file stays as it is.
        let map = unsafe { MmapOptions::new().map_copy(file) };
        let map = map.map_err(|error| io_error(path, "cannot be mapped", error))?;
        Ok(Self { name: path.display().to_string(), map: map.into() })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY:
        // - the mapping has that many bytes from its start, which nobody writes while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr(), self.map.len()) }
    }

    /// Whether elements of that dtype may lie at that byte.
    fn suits(&self, dtype: opgrid_core::DType, at: usize) -> bool {
        (self.map.as_ptr().addr() + at).is_multiple_of(dtype.size_in_bytes())
    }

    /// A storage for each range of bytes. Ranges ascend and do not overlap.
    fn into_storages(
        self,
        ranges: impl Iterator<Item = Range<usize>>,
    ) -> impl Iterator<Item = Result<Storage>> {
        let map = Arc::new(self.map);
        let mut free = 0;
        ranges.map(move |range| {
            assert!(
                free <= range.start && range.start <= range.end && range.end <= map.len(),
                "checked by the header"
            );
            free = range.end;
            let owner = Arc::clone(&map);
            // SAFETY: the range lies within the mapping.
            let start = unsafe { map.as_mut_ptr().add(range.start) };
            let start = NonNull::new(start).expect("a mapping has an address");
            // SAFETY:
            // - `owner` keeps the mapping until the storage is released; its pages may be read and written.
            // - no other storage has these bytes, because ranges ascend; `bytes` is gone with `self`.
            let memory = unsafe { Allocation::foreign(start, range.len(), move || drop(owner)) };
            // SAFETY: the bytes of a file all have values.
            unsafe { Storage::of_written(memory) }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A file of a test's own, removed when it ends.
    struct Own(PathBuf);

    impl Own {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("opgrid-mapped-{}-{name}", std::process::id())))
        }

        fn npy(&self) -> Result<Array> {
            // SAFETY: nobody else knows the file, and the tests replace it.
            unsafe { npy(&self.0) }
        }

        fn safetensors(&self) -> Result<Vec<(String, Array)>> {
            // SAFETY: nobody else knows the file, and the tests replace it.
            unsafe { safetensors(&self.0) }
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn mapped_arrays_are_those_that_are_read() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for name in ["f4", "f4_fortran", "f4_big_endian", "zero_dim", "empty", "c16", "b1"] {
            let own = Own::new(name);
            fs::copy(data.join(format!("{name}.npy")), &own.0).unwrap();
            let (read, mapped) = (npy::read(&own.0).unwrap(), own.npy().unwrap());
            assert_eq!((mapped.sizes(), mapped.to_string()), (read.sizes(), read.to_string()), "{name}");
        }
        let own = Own::new("broken.npy");
        fs::write(&own.0, &fs::read(data.join("f4.npy")).unwrap()[..130]).unwrap();
        assert!(own.npy().unwrap_err().to_string().contains("byte 128: found 2 bytes of data"));
        fs::write(&own.0, b"").unwrap();
        assert!(own.npy().unwrap_err().to_string().contains("byte 0"));
    }

    #[test]
    fn writing_leaves_the_file_and_outlives_its_name() {
        let own = Own::new("write.npy");
        npy::write(&own.0, &Array::from_slice(&[1i32, 2, 3], &[3]).unwrap()).unwrap();
        let mapped = own.npy().unwrap();
        mapped.storage().write().unwrap().slice::<i32>().unwrap()[1] = 7;
        assert_eq!(npy::read(&own.0).unwrap().to_vec::<i32>().unwrap(), [1, 2, 3]);
        npy::write(&own.0, &mapped).unwrap();
        fs::remove_file(&own.0).unwrap();
        assert_eq!(mapped.to_vec::<i32>().unwrap(), [1, 7, 3]);
    }

    #[test]
    fn parts_that_overlap_or_end_beyond_the_file_are_refused() {
        let own = Own::new("parts");
        fs::write(&own.0, b"abcdef").unwrap();
        let file = File::open(&own.0).unwrap();
        for ranges in
            [vec![0..3, 2..4], vec![4..6, 0..2], vec![0..1, 1..7], vec![0..4, Range { start: 5, end: 4 }]]
        {
            // SAFETY: nobody else knows the file.
            let refused = unsafe { storages(&own.0, &file, &ranges) };
            assert!(refused.unwrap_err().to_string().contains("expected ranges that ascend"), "{ranges:?}");
        }
    }

    #[test]
    fn tensors_of_a_set_have_a_storage_each() {
        let own = Own::new("set.safetensors");
        let (long, flag) = (Array::from_slice(&[1i64, 2], &[2]), Array::from_slice(&[3u8], &[1]));
        let (long, flag, none) =
            (long.unwrap(), flag.unwrap(), Array::from_slice::<f32>(&[], &[0, 2]).unwrap());
        safetensors::write(&own.0, &[("flag", &flag), ("long", &long), ("none", &none)]).unwrap();
        let mapped = own.safetensors().unwrap();
        let texts: Vec<_> = mapped.iter().map(|(name, array)| format!("{name} {array}")).collect();
        let expected =
            ["long tensor([1, 2])", "none tensor([], size=(0, 2))", "flag tensor([3], dtype=torch.uint8)"];
        assert_eq!(texts, expected);
        let guard = mapped[0].1.storage().write().unwrap();
        assert!(mapped[2].1.storage().write().is_ok());
        drop(guard);
    }

    #[test]
    fn elements_that_are_not_aligned_are_copied() {
        let own = Own::new("odd.safetensors");
        let text = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I16","shape":[1],"data_offsets":[1,3]}}"#;
        let bytes = [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &[9, 1, 1]].concat();
        fs::write(&own.0, bytes).unwrap();
        let arrays = own.safetensors().unwrap();
        assert_eq!(arrays[1].1.to_vec::<i16>().unwrap(), [257]);
    }
}
