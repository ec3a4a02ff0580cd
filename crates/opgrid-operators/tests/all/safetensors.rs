//! Checks `.safetensors` against the other implementation of the format, and that broken files are refused.

use std::fs;
use std::path::{Path, PathBuf};

use opgrid_core::{DType, Device, ErrorKind, Result};
use opgrid_tensor::files::{self, safetensors};
use opgrid_tensor::tensor::Number;
use opgrid_tensor::{Array, Element, TensorSpec, with_dtype};
use proptest::prelude::*;

const DTYPES: [DType; 11] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::Complex64,
];

/// A folder of a test's own, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("opgrid-safetensors-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
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

/// An array of that dtype with elements 0, 1, ….
fn counting(dtype: DType, sizes: &[i64]) -> Array {
    let numbers = 0..sizes.iter().product();
    let array = with_dtype!(dtype, T => {
        let elements: Vec<T> = numbers.map(|at| T::from_number(Number::I64(at))).collect();
        Array::from_slice(&elements, sizes)
    });
    array.unwrap()
}

/// One array of each dtype, named after it.
fn one_of_each() -> Vec<(String, Array)> {
    DTYPES.iter().map(|&dtype| (dtype.name().to_owned(), counting(dtype, &[2, 3]))).collect()
}

fn write(path: &Path, arrays: &[(String, Array)], metadata: &[(&str, &str)]) {
    let arrays: Vec<_> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    safetensors::write_with_metadata(path, &arrays, metadata).unwrap();
}

/// The bytes of a file with that header in front of `data` zeros.
fn file(header: &str, data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; data]].concat()
}

#[test]
fn every_dtype_survives() {
    let folder = Folder::new("dtypes");
    let path = folder.file("set.safetensors");
    write(&path, &one_of_each(), &[("by", "me"), ("ünï", "\"quoted\"")]);
    for (name, array) in one_of_each() {
        let read = safetensors::read(&path, &name).unwrap();
        assert_eq!((read.dtype(), read.sizes()), (array.dtype(), [2, 3].as_slice()));
        assert_eq!(read.to_string(), array.to_string());
    }
    let metadata = safetensors::metadata(&path).unwrap();
    assert_eq!(metadata, [("by", "me"), ("ünï", "\"quoted\"")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(safetensors::names(&path).unwrap().len(), DTYPES.len());
    let all = safetensors::read_all(&path).unwrap();
    assert!(all.iter().all(|(name, array)| array.dtype().name() == name));
}
#[test]
fn shapes_and_views_survive() {
    let folder = Folder::new("shapes");
    let path = folder.file("set.safetensors");
    let matrix = counting(DType::F32, &[2, 3]);
    let turned = matrix.view(matrix.geometry().transpose(0, 1).unwrap()).unwrap();
    let (scalar, empty) = (counting(DType::BF16, &[]), counting(DType::I64, &[0, 7]));
    let arrays = [("turned", &turned), ("scalar", &scalar), ("empty", &empty)];
    safetensors::write(&path, &arrays).unwrap();
    let spec = |name: &str| format!("{}:{name}", path.display());
    let read = files::read(&spec("turned")).unwrap();
    assert_eq!(
        (read.sizes(), read.to_vec::<f32>().unwrap()),
        ([3, 2].as_slice(), vec![0., 3., 1., 4., 2., 5.])
    );
    assert_eq!(files::read(&spec("scalar")).unwrap().sizes(), [0i64; 0]);
    assert_eq!(files::read(&spec("empty")).unwrap().sizes(), [0, 7]);
    assert!(message(files::read(&spec("x"))).contains("no array `x`, expected one of empty, turned, scalar"));
    assert!(
        message(files::read(&path.display().to_string())).contains(":NAME with one of empty, turned, scalar")
    );
    safetensors::write(&path, &[]).unwrap();
    assert!(safetensors::read_all(&path).unwrap().is_empty());
}

/// What the other implementation writes is read here, and the other way round, with the same bytes.
#[test]
fn both_implementations_agree() {
    use ::safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
    let kinds = [
        ("bool", Dtype::BOOL),
        ("uint8", Dtype::U8),
        ("int8", Dtype::I8),
        ("int16", Dtype::I16),
        ("int32", Dtype::I32),
        ("int64", Dtype::I64),
        ("float16", Dtype::F16),
        ("bfloat16", Dtype::BF16),
        ("float32", Dtype::F32),
        ("float64", Dtype::F64),
        ("complex64", Dtype::C64),
    ];
    let folder = Folder::new("peer");
    let path = folder.file("ours.safetensors");
    write(&path, &one_of_each(), &[("by", "me")]);
    let bytes = fs::read(&path).unwrap();
    let theirs = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(theirs.len(), DTYPES.len());
    for (name, array) in one_of_each() {
        let view = theirs.tensor(&name).unwrap();
        let guard = array.storage().read().unwrap();
        assert!(kinds.contains(&(name.as_str(), view.dtype())) && view.shape() == [2, 3], "{name}");
        assert_eq!(view.data(), guard.bytes(), "{name}");
        let view = TensorView::new(view.dtype(), vec![2, 3], guard.bytes()).unwrap();
        let bytes = serialize([(name.as_str(), view)], None).unwrap();
        let read = safetensors::decode("theirs", &bytes, &name).unwrap();
        assert_eq!(read.to_string(), array.to_string());
    }
}

#[test]
fn what_the_format_does_not_have_is_refused() {
    let folder = Folder::new("refused");
    let path = folder.file("set.safetensors");
    let wide = counting(DType::Complex128, &[1]);
    let good = counting(DType::F32, &[1]);
    let error = safetensors::write(&path, &[("good", &good), ("wide", &wide)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotImplemented);
    assert!(
        error.to_string().contains("set.safetensors:wide: .safetensors files have no dtype for complex128")
    );
    assert!(
        message(safetensors::write(&path, &[("a", &good), ("a", &good)]))
            .contains("`a` is empty or occurs twice")
    );
    assert!(message(safetensors::write(&path, &[("__metadata__", &good)])).contains("taken by the format"));
    let meta = Array::empty(TensorSpec::contiguous(&[2], DType::F32, Device::META).unwrap()).unwrap();
    assert!(message(safetensors::write(&path, &[("good", &good), ("meta", &meta)])).contains("meta"));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    let foreign = r#"{"f":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]},"u":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#;
    let bytes = file(foreign, 3);
    assert_eq!(safetensors::decode("x", &bytes, "u").unwrap().sizes(), [1]);
    let error = message(safetensors::decode("x", &bytes, "f"));
    assert!(error.contains("x:f: there are no tensors of dtype F8_E8M0"), "{error}");
}

#[test]
fn broken_headers_are_placed() {
    let good = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}"#;
    assert_eq!(safetensors::decode("x", &file(good, 11), "b").unwrap().sizes(), [3]);
    for (from, to, parts) in [
        ("{\"a\"", "[\"a\"", ["byte 8", "an object of tensors"]),
        ("}}", "}", ["byte 114: found EOF", "an object of tensors"]),
        ("\"b\"", "\"a\"", ["`a` a second time", "each name once"]),
        ("\"F32\"", "\"F33\"", ["byte 22: found dtype `F33`", "expected one of BOOL, U8"]),
        ("\"F32\"", "32", ["byte 2", "a dtype in quotes"]),
        ("[2]", "[-2]", ["byte 3", "a list of sizes from 0"]),
        ("[2]", "[9223372036854775808]", ["byte 36", "a list of sizes from 0"]),
        ("[2]", "[4611686018427387904,4]", ["byte 36", "shape"]),
        ("[2]", "[4611686018427387904]", ["byte 13", "more bytes than there can be"]),
        ("[2]", "[3]", ["data_offsets [0, 8] of `a`", "expected 12 bytes as shape [3] and 32 bits"]),
        ("[0,8]", "[8,0]", ["data_offsets [8, 0]", "expected 8 bytes"]),
        ("[0,8]", "[0,8,9]", ["byte 60: found trailing characters", "two offsets in bytes"]),
        (
            "[8,11]",
            "[7,10]",
            ["data that starts at 7 for `b`", "expected 8, where the tensor before it ends"],
        ),
        ("[8,11]", "[9,12]", ["data that starts at 9 for `b`", "expected 8"]),
        ("\"shape\":[2],", "", ["byte 13: found none", "a field `shape` in the entry of `a`"]),
        ("\"dtype\":\"F32\",", "", ["found none", "a field `dtype`"]),
        (",\"data_offsets\":[0,8]", "", ["found none", "a field `data_offsets`"]),
        ("\"b\":{", "\"__metadata__\":{\"x\":1},\"b\":{", ["byte ", "an object of strings"]),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        let error = message(safetensors::decode("x.safetensors", &file(&text, 11), "b"));
        assert!(
            error.starts_with("x.safetensors: ") && parts.iter().all(|part| error.contains(part)),
            "{text}: {error}"
        );
    }
    for (data, found) in [(10, "10 bytes of data"), (12, "12 bytes of data")] {
        let error = message(safetensors::decode("x", &file(good, data), "b"));
        assert!(error.contains(found) && error.contains("expected 11"), "{error}");
    }
    let claim = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    assert!(
        message(safetensors::decode("x", &claim, "b"))
            .contains("byte 0: found a header of 18446744073709551615 bytes")
    );
    assert!(message(safetensors::decode("x", b"1234", "b")).contains("byte 0: found the end of the file"));
    let deep = file(&"[".repeat(100_000), 0);
    let error = message(safetensors::decode("x", &deep, "b"));
    assert!(error.starts_with("x: byte "), "{error}");
    let bytes = [&2u64.to_le_bytes()[..], b"{\xff"].concat();
    assert!(
        message(safetensors::decode("x", &bytes, "b")).contains("byte 9: found a byte that is not UTF-8")
    );
}

#[test]
fn every_truncation_is_refused() {
    let folder = Folder::new("truncated");
    let path = folder.file("set.safetensors");
    write(&path, &one_of_each(), &[]);
    let bytes = fs::read(&path).unwrap();
    for end in 0..bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        let error = message(safetensors::read_all(&path));
        assert!(
            error.contains("set.safetensors: byte ") && error.contains("expected"),
            "cut at {end}: {error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn flipped_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let good = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}"#;
        let mut bytes = file(good, 11);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Err(error) = safetensors::decode("flipped", &bytes, "b") {
            prop_assert!(error.to_string().contains("flipped"), "{}", error);
        }
    }

    #[test]
    fn random_headers_never_panic(
        header in "(\\{\"[a-c_]{0,3}\":)?[\\[\\]{}:,\"a-c0-9 \\\\.eE+-]{0,60}",
        length in prop::option::of(any::<u64>()),
        data in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = file(&header, 0);
        if let Some(length) = length {
            bytes[..8].copy_from_slice(&length.to_le_bytes());
        }
        bytes.extend(data);
        if let Err(error) = safetensors::decode("random", &bytes, "a") {
            prop_assert!(error.to_string().contains("random"), "{}", error);
        }
    }
}
