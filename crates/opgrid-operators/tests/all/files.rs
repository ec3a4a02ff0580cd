//! Checks `.npy` and `.npz` against files that numpy 2.4 wrote, and that broken files are refused with a place.

use std::fs;
use std::path::{Path, PathBuf};

use opgrid_core::{DType, Device, ErrorKind, Result};
use opgrid_kernels::elementwise;
use opgrid_tensor::files::{self, npy, npz};
use opgrid_tensor::{Array, Bool, Complex, Element, Tensor, TensorSpec, bf16, f16};
use proptest::prelude::*;

const MATRIX: [f32; 6] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../opgrid-array/tests/data").join(name)
}

/// A folder of a test's own, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("opgrid-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn numpy_matrices_of_every_version_and_order() {
    for name in ["f4", "f4_fortran", "f4_big_endian", "f4_v2", "f4_v3"] {
        let array = npy::read(&data(&format!("{name}.npy"))).unwrap();
        assert_eq!((array.sizes(), array.dtype()), ([2, 3].as_slice(), DType::F32), "{name}");
        assert_eq!(array.to_vec::<f32>().unwrap(), MATRIX, "{name}");
        assert!(array.geometry().is_contiguous());
    }
    let cube = npy::read(&data("f8_big_endian_fortran.npy")).unwrap();
    assert_eq!(cube.sizes(), [2, 3, 4]);
    assert_eq!(cube.to_vec::<f64>().unwrap(), (0..24).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn numpy_values_of_every_dtype() {
    let doubles = npy::read(&data("f8.npy")).unwrap().to_vec::<f64>().unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&doubles), bits(&[1.5, -0.0, f64::NAN, f64::INFINITY, -f64::INFINITY, 5e-324]));
    let ints = npy::read(&data("i8.npy")).unwrap();
    assert_eq!(ints.to_vec::<i64>().unwrap(), [i64::MIN, i64::MAX, 0, -1]);
    let flags = npy::read(&data("b1.npy")).unwrap().to_vec::<Bool>().unwrap();
    assert_eq!(flags, [true, false, true].map(Bool::from));
    let scalar = npy::read(&data("zero_dim.npy")).unwrap();
    assert_eq!((scalar.sizes(), scalar.to_vec::<f64>().unwrap()), ([].as_slice(), vec![2.5]));
    let empty = npy::read(&data("empty.npy")).unwrap();
    assert_eq!((empty.sizes(), empty.to_vec::<f32>().unwrap().len()), ([0, 3].as_slice(), 0));
}

#[test]
fn every_dtype_of_numpy_is_read() {
    fn check<T: Element>(name: &str, sizes: &[i64], expected: &[T]) {
        let array = npy::read(&data(&format!("{name}.npy"))).unwrap();
        assert_eq!((array.dtype(), array.sizes()), (T::DTYPE, sizes), "{name}");
        // As strings, so that NaN and the sign of zero count.
        assert_eq!(format!("{:?}", array.to_vec::<T>().unwrap()), format!("{expected:?}"), "{name}");
    }
    check("u1", &[3], &[0u8, 1, 255]);
    check("i1", &[3], &[-128i8, 0, 127]);
    check("i2", &[3], &[i16::MIN, 0, i16::MAX]);
    check("i2_big_endian", &[3], &[1i16, -2, 300]);
    check("i4", &[3], &[i32::MIN, 0, i32::MAX]);
    let halves = [0.5, -0.0, f32::INFINITY, 6e-8, 65504.0, f32::NAN].map(f16::from_f32);
    check("f2", &[2, 3], &halves);
    check("c8", &[2], &[Complex::new(1.5f32, -2.0), Complex::new(f32::INFINITY, 0.0)]);
    check("c16", &[2, 1], &[Complex::new(1.5, -2.0), Complex::new(0.1, 5e-324)]);
    let steps: Vec<_> = (0..6).map(|at| Complex::new(f64::from(at), 2.0 * f64::from(at))).collect();
    check("c16_big_endian_fortran", &[2, 3], &steps);
}

#[test]
fn other_dtypes_are_named() {
    for (name, dtype) in
        [("text", "`<U2`"), ("V2", "may have been bfloat16"), ("object", "`|O`"), ("struct", "structured")]
    {
        let error = npy::read(&data(&format!("{name}.npy"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotImplemented);
        let text = error.to_string();
        assert!(text.contains(dtype) && text.contains("not supported, expected one of b1, u1"), "{text}");
        assert!(text.contains(&format!("{name}.npy")), "{text}");
    }
    assert_eq!(npy::read(&data("u2.npy")).unwrap().dtype(), DType::U16);
    let folder = Folder::new("bf16");
    let array = Array::from_slice(&[bf16::from_f32(1.0)], &[1]).unwrap();
    let error = message(npy::write(&folder.file("x.npy"), &array));
    assert!(error.contains("numpy has no dtype for bfloat16") && error.contains(".safetensors"), "{error}");
    assert!(folder.names().is_empty());
}

#[test]
fn numpy_archives() {
    let stored = npz::read_all(&data("stored.npz")).unwrap();
    let names: Vec<_> = stored.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["w", "b", "flag"]);
    assert_eq!(stored[0].1.to_vec::<f32>().unwrap(), MATRIX);
    assert_eq!(stored[1].1.to_vec::<i64>().unwrap(), [1, 2, 3]);
    assert!(stored[2].1.sizes().is_empty());
    let bytes = fs::read(data("deflated.npz")).unwrap();
    let in_memory = npz::decode("memory", &bytes, "w").unwrap();
    let missing = message(npz::decode("memory", &bytes, "none"));
    assert!(missing.starts_with("memory: no array `none`"), "{missing}");
    assert!(message(npz::decode("memory", &bytes[..100], "w")).starts_with("memory: the zip directory"));
    let packed = npz::read(&data("deflated.npz"), "w").unwrap();
    assert_eq!(in_memory.to_string(), packed.to_string());
    assert_eq!(packed.sizes(), [100, 3]);
    assert_eq!(packed.to_vec::<f32>().unwrap()[294..], MATRIX);
    let columns = npz::read(&data("deflated.npz"), "f").unwrap();
    assert_eq!(columns.to_vec::<f64>().unwrap()[..5], [0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn files_are_found_by_their_spec() {
    let spec = |name: &str| data(name).display().to_string();
    assert_eq!(files::read(&spec("f4.npy")).unwrap().to_vec::<f32>().unwrap(), MATRIX);
    assert_eq!(files::read(&spec("stored.npz:b")).unwrap().sizes(), [3]);
    assert!(message(files::read(&spec("stored.npz:x"))).contains("no array `x`, expected one of w, b, flag"));
    assert!(message(files::read(&spec("stored.npz"))).contains("with one of w, b, flag"));
    assert!(message(files::read("x.txt")).contains("x.txt: unknown kind of file"));
    let missing = message(files::read(&spec("none.npy")));
    assert!(missing.contains("none.npy: cannot be read: there is no such file"), "{missing}");
    let missing = message(files::read("none.npy"));
    assert!(missing.contains("; the path is looked up from"), "{missing}");
    assert!(message(files::read(&spec("none.npz:w"))).contains("none.npz: cannot be read"));
    assert!(
        message(npy::read(&data(""))).contains("cannot be read")
            || message(npy::read(&data(""))).contains("expected a file")
    );
    assert_eq!(npz::read(&data("mixed.npz"), "good").unwrap().sizes(), [2, 3]);
    let mixed = npz::contents(&data("mixed.npz")).unwrap();
    assert_eq!(mixed.arrays.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["good"]);
    let (name, error) = &mixed.left_out[0];
    let error = error.to_string();
    assert!(name == "text" && error.contains("mixed.npz:text") && error.contains("`<U1`"), "{error}");
    assert_eq!(message(npz::read(&data("mixed.npz"), "text")), error);
}

#[test]
fn archives_may_hold_other_things() {
    let folder = Folder::new("members");
    let archive = |name: &str, members: &[(&str, &[u8])]| {
        let mut zip = zip::ZipWriter::new(fs::File::create(folder.file(name)).unwrap());
        for (member, bytes) in members {
            let options = zip::write::SimpleFileOptions::default();
            match member.strip_suffix('/') {
                Some(member) => zip.add_directory(member, options).unwrap(),
                None => {
                    zip.start_file(*member, options).unwrap();
                    std::io::Write::write_all(&mut zip, bytes).unwrap();
                }
            }
        }
        zip.finish().unwrap();
        folder.file(name)
    };
    let array = fs::read(data("f4.npy")).unwrap();
    let named = |found: &[(String, Array)]| found.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    let members: [(&str, &[u8]); 6] = [
        ("sub/", b""),
        ("README.txt", b"hello"),
        ("empty", b""),
        ("sub/w.npy", &array),
        ("unnamed", &array),
        ("w.npy", &array),
    ];
    let mixed = archive("mixed.npz", &members);
    let contents = npz::contents(&mixed).unwrap();
    assert_eq!(named(&contents.arrays), ["sub/w", "unnamed", "w"]);
    assert_eq!(npz::names(&mixed).unwrap(), ["sub/w", "unnamed", "w"]);
    assert_eq!(contents.left_out.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(), ["README.txt", "empty"]);
    assert_eq!(npz::read(&mixed, "sub/w").unwrap().to_vec::<f32>().unwrap(), MATRIX);
    let refused = message(npz::read(&mixed, "README.txt"));
    assert!(refused.contains("mixed.npz: member `README.txt` is no array"), "{refused}");
    let unknown = message(npz::read(&mixed, "x"));
    assert!(unknown.contains("no array `x`, expected one of sub/w, unnamed, w"), "{unknown}");

    let others = archive("others.npz", &members[..2]);
    assert!(message(npz::read_all(&others)).contains("`README.txt` is no array"));
    assert!(message(npz::read(&others, "w")).contains("expected an archive that holds arrays"));
    assert!(npz::read_all(&archive("empty.npz", &[])).unwrap().is_empty());
    let broken = archive("broken.npz", &[("w.npy", &array), ("b.npy", &array[..9])]);
    assert!(message(npz::read_all(&broken)).contains("broken.npz:b"), "what is broken is not passed over");
}

/// What a reader is called, and what it says of a file that is not there.
type Reader<'f> = (&'static str, Box<dyn Fn() -> String + 'f>);

#[test]
fn every_reader_says_that_a_file_is_not_there() {
    let folder = Folder::new("missing");
    let at = |name: &str| folder.file(name).display().to_string();
    let file = |name: &str| folder.file(name);
    let read: [Reader<'_>; 9] = [
        ("npy::read", Box::new(|| message(npy::read(&file("x.npy"))))),
        ("npz::read", Box::new(|| message(npz::read(&file("x.npz"), "w")))),
        ("npz::names", Box::new(|| message(npz::names(&file("x.npz"))))),
        ("npz::contents", Box::new(|| message(npz::contents(&file("x.npz"))))),
        ("safetensors::read", Box::new(|| message(files::safetensors::read(&file("x.safetensors"), "w")))),
        ("safetensors::names", Box::new(|| message(files::safetensors::names(&file("x.safetensors"))))),
        ("safetensors::read_all", Box::new(|| message(files::safetensors::read_all(&file("x.safetensors"))))),
        ("files::read", Box::new(|| message(files::read(&at("x.npz"))))),
        ("Tensor::load", Box::new(|| message(opgrid_tensor::Tensor::load(&at("x.safetensors:w"))))),
    ];
    for (reader, refused) in read {
        let refused = refused();
        assert!(refused.contains("cannot be read: there is no such file"), "{reader}: {refused}");
    }
    let one = Array::from_slice(&[1.0f32], &[1]).unwrap();
    for name in ["none/x.npy", "none/x.npz:w", "none/x.safetensors:w"] {
        let refused = message(files::write(&at(name), &one));
        assert!(refused.contains("make its folder first: there is no folder"), "{name}: {refused}");
    }
}

#[test]
fn written_files_are_numpy_s_byte_for_byte() {
    let folder = Folder::new("bytes");
    for name in ["f4", "f8", "i8", "b1", "zero_dim", "empty", "u1", "i1", "i2", "i4", "f2", "c8", "c16"] {
        let original = data(&format!("{name}.npy"));
        let copy = folder.file("copy.npy");
        npy::write(&copy, &npy::read(&original).unwrap()).unwrap();
        assert_eq!(fs::read(&copy).unwrap(), fs::read(&original).unwrap(), "{name}");
    }
    assert_eq!(folder.names(), ["copy.npy"]);
}

#[test]
fn views_are_written_in_row_major_order() {
    let folder = Folder::new("views");
    let array = npy::read(&data("f4.npy")).unwrap();
    let turned = array.view(array.geometry().transpose(0, 1).unwrap()).unwrap();
    let row = array.view(array.geometry().select(0, 1).unwrap()).unwrap();
    npz::write(&folder.file("set.npz"), &[("turned", &turned), ("row", &row)]).unwrap();
    let set = npz::read_all(&folder.file("set.npz")).unwrap();
    assert_eq!(set[0].1.to_vec::<f32>().unwrap(), [0.0, 1.5, 0.5, 2.0, 1.0, 2.5]);
    assert_eq!(set[1].1.to_vec::<f32>().unwrap(), [1.5, 2.0, 2.5]);
    assert_eq!(folder.names(), ["set.npz"]);
}

#[test]
fn nothing_is_left_of_a_write_that_fails() {
    let folder = Folder::new("whole");
    let good = npy::read(&data("f4.npy")).unwrap();
    let target = folder.file("set.npz");
    npz::write(&target, &[("good", &good)]).unwrap();
    let before = fs::read(&target).unwrap();
    let meta = Array::empty(TensorSpec::contiguous(&[2], DType::F32, Device::META).unwrap()).unwrap();
    assert!(message(npz::write(&target, &[("good", &good), ("bad", &meta)])).contains("set.npz:bad"));
    assert!(message(npz::write(&target, &[("a", &good), ("a", &good)])).contains("`a`"));
    assert!(message(npz::write(&target, &[("", &good)])).contains("empty"));
    let guard = good.storage().write().unwrap();
    assert!(message(npy::write(&folder.file("x.npy"), &good)).contains("is being written"));
    drop(guard);
    assert_eq!(fs::read(&target).unwrap(), before);
    assert_eq!(folder.names(), ["set.npz"]);
    assert!(message(npy::write(&folder.file("none/x.npy"), &good)).contains("x.npy: cannot be written"));
    fs::create_dir(folder.file("taken.npy")).unwrap();
    assert!(message(npy::write(&folder.file("taken.npy"), &good)).contains("cannot be written"));
    assert_eq!(folder.names(), ["set.npz", "taken.npy"]);
}

#[test]
fn a_result_replaces_an_older_file() {
    let folder = Folder::new("replace");
    let path = folder.file("x.npy");
    let x = Array::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    npy::write(&path, &x).unwrap();
    elementwise::unary::<f32, f32>(&x, &x, |x| x * 10.0).unwrap();
    npy::write(&path, &x).unwrap();
    assert_eq!(npy::read(&path).unwrap().to_vec::<f32>().unwrap(), [10.0, 20.0]);
}

/// Writes `bytes` to a file of its own and reads that.
fn read_bytes(folder: &Folder, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.file(name);
    fs::write(&path, bytes).unwrap();
    if name.ends_with(".npz") { npz::read_all(&path).map(drop) } else { npy::read(&path).map(drop) }
}

#[test]
fn every_truncation_is_refused() {
    let folder = Folder::new("truncated");
    for source in ["f4.npy", "f4_fortran.npy", "f4_v2.npy", "i8.npy", "stored.npz", "deflated.npz"] {
        let bytes = fs::read(data(source)).unwrap();
        for end in 0..bytes.len() {
            let error = message(read_bytes(&folder, source, &bytes[..end]));
            assert!(error.contains(source), "{source} cut at {end}: {error}");
            if source.ends_with(".npy") {
                assert!(
                    error.contains(": byte ") && error.contains("expected"),
                    "{source} cut at {end}: {error}"
                );
            }
        }
        read_bytes(&folder, source, &bytes).unwrap();
        let mut longer = bytes;
        longer.push(0);
        if source.ends_with(".npy") {
            assert!(message(read_bytes(&folder, source, &longer)).contains("bytes of data"));
        }
    }
}

#[test]
fn claims_beyond_the_file_allocate_nothing() {
    let folder = Folder::new("claims");
    let good = String::from_utf8_lossy(&fs::read(data("f4.npy")).unwrap()[10..128]).into_owned();
    for shape in ["(9000000000, 100000000)", "(4611686018427387904, 1)", "(9223372036854775807, 2, 0)"] {
        let text = good.replacen("(2, 3)", shape, 1);
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.bytes());
        let error = message(read_bytes(&folder, "claim.npy", &bytes));
        assert!(error.contains("claim.npy") && error.contains("shape"), "{error}");
    }
    let long = [b"\x93NUMPY\x02\x00".as_slice(), &u32::MAX.to_le_bytes(), b"{}"].concat();
    assert!(
        message(read_bytes(&folder, "claim.npy", &long))
            .contains("byte 8: found a header of 4294967295 bytes")
    );
    let version = [b"\x93NUMPY\x09\x00".as_slice(), &[0; 20]].concat();
    assert!(message(read_bytes(&folder, "claim.npy", &version)).contains("byte 6: found format version 9.0"));
    assert!(message(read_bytes(&folder, "claim.npy", b"PK34567890")).contains("byte 0: found `PK3456`"));
}

#[test]
fn a_damaged_archive_member_is_noticed() {
    let folder = Folder::new("damaged");
    let mut bytes = fs::read(data("stored.npz")).unwrap();
    // The last byte of the first array's data, found by its value: 2.5 as f32.
    let at = bytes.windows(4).position(|window| window == 2.5f32.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    let error = message(read_bytes(&folder, "stored.npz", &bytes));
    assert!(error.contains("stored.npz:w") && error.contains("intact data"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn flipped_bytes_never_panic(
        source in prop::sample::select(vec!["f4.npy", "c16_big_endian_fortran.npy", "b1.npy", "stored.npz", "deflated.npz"]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let folder = Folder::new("flips");
        let mut bytes = fs::read(data(source)).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Err(error) = read_bytes(&folder, source, &bytes) {
            prop_assert!(error.to_string().contains(source), "{}", error);
        }
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::sample::select(vec![
            b"".as_slice(),
            b"\x93NUMPY\x01\x00\x40\x00",
            b"\x93NUMPY\x01\x00\x40\x00{'descr': '<f4', 'fortran_order': False, 'shape': (",
            b"PK\x03\x04",
            b"PK\x05\x06",
        ]),
    ) {
        let bytes = [start, &bytes].concat();
        let results = [npy::decode("random", &bytes), npz::decode("random", &bytes, "x")];
        for error in results.into_iter().filter_map(Result::err) {
            prop_assert!(error.to_string().contains("random"), "{}", error);
        }
    }
}

#[test]
fn tensors_are_saved_and_loaded_by_one_name() {
    let folder = Folder::new("one-name");
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let turned = x.view_as(x.geometry().transpose(0, 1).unwrap()).unwrap();
    for name in ["x.npy", "x.npz:w", "x.safetensors:w"] {
        let spec = folder.0.join(name).display().to_string();
        turned.save(&spec).unwrap();
        assert_eq!(Tensor::load(&spec).unwrap().to_vec::<f32>().unwrap(), [1.0, 3.0, 2.0, 4.0], "{name}");
    }
    let meta = Tensor::empty(&[2], DType::F32, Device::META).unwrap();
    let at = |name: &str| folder.0.join(name).display().to_string();
    assert!(meta.save(&at("meta.npy")).is_err() && !folder.0.join("meta.npy").exists());
    for (spec, text) in
        [("x.txt", "unknown kind of file"), ("x.npz", "unknown kind of file"), ("x.npz:", "empty")]
    {
        let error = x.save(&at(spec)).unwrap_err();
        assert!(error.message().contains(text), "{spec}: {error}");
    }
    assert_eq!(Tensor::load(&at("x.npz:w")).unwrap().numel(), 4, "what was there is whole");
}
