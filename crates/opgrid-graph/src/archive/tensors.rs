//! The tensors of an archive: a list of where each lies and how, and the bytes of each storage.

use std::collections::BTreeMap;
use std::ops::Range;

use opgrid_array::{Array, Geometry, Storage, TensorSpec};
use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;
use serde_json::Value as Json;

use super::json;
use super::numbers;
use super::zipped::Zipped;
use crate::error;

/// Storages that are in memory already, by their members.
pub(super) type Mapped = BTreeMap<String, Storage>;

/// Reads weights and constants. Members for which `map` has a storage are not copied; it is shown the members that hold elements as
/// this machine has them, with their places in the file.
pub(super) fn load(
    zipped: &mut Zipped,
    model: &str,
    map: impl FnOnce(&mut Zipped, Vec<(String, Range<usize>)>) -> Result<Mapped>,
) -> Result<BTreeMap<String, Tensor>> {
    let is_big = is_big_endian(zipped)?;
    let mut tensors = BTreeMap::new();
    let mut folders = Vec::new();
    for folder in ["weights", "constants"] {
        let config = format!("data/{folder}/{model}_{folder}_config.json");
        if zipped.has(&config) {
            let json = zipped.json(&config)?;
            folders.push((folder, config, json));
        }
    }
    let places = if is_big == cfg!(target_endian = "big") { places(zipped, &folders) } else { Vec::new() };
    let mapped = map(zipped, places)?;
    for (folder, config, json) in folders {
        load_folder(zipped, folder, &json, is_big, &mapped, &mut tensors)
            .map_err(|error| error.within(format_args!("member `{config}`")))?;
    }
    Ok(tensors)
}

/// The members that can be mapped: those whose bytes have values of their dtype wherever they lie, at addresses that suit it. What is
/// wrong with others is found when they are read.
fn places(zipped: &mut Zipped, folders: &[(&str, String, Json)]) -> Vec<(String, Range<usize>)> {
    let mut places: BTreeMap<String, (Range<usize>, bool)> = BTreeMap::new();
    for (folder, _, json) in folders {
        let entries = json.get("config").and_then(Json::as_object).into_iter().flatten();
        for (_, entry) in entries {
            let Some(path) = entry.get("path_name").and_then(Json::as_str) else { continue };
            let dtype = entry.get("tensor_meta").and_then(|meta| meta.get("dtype"));
            let Some(Ok(dtype)) = dtype.map(numbers::dtype) else { continue };
            let member = format!("data/{folder}/{path}");
            let Ok(Some(place)) = zipped.place(&member) else { continue };
            let fits = dtype != DType::Bool
                && place.start.is_multiple_of(dtype.size_in_bytes())
                && !place.is_empty();
            places.entry(member).or_insert((place, true)).1 &= fits;
        }
    }
    let fit = places.into_iter().filter(|(_, (_, fits))| *fits).map(|(member, (place, _))| (member, place));
    let mut fit: Vec<_> = fit.collect();
    fit.sort_by_key(|(_, place)| place.start);
    // Of members that lie over each other, which no writer makes, the first is mapped.
    let mut free = 0;
    fit.retain(|(_, place)| {
        let is_free = free <= place.start;
        if is_free {
            free = place.end;
        }
        is_free
    });
    fit
}

/// Whether the bytes of elements stand in the order of large machines.
fn is_big_endian(zipped: &mut Zipped) -> Result<bool> {
    if !zipped.has("byteorder") {
        return Ok(false);
    }
    match zipped.text("byteorder")?.trim() {
        "little" => Ok(false),
        "big" => Ok(true),
        other => {
            let shown: String = other.chars().take(40).collect();
            Err(error::file(format!("member `byteorder`: found `{shown}`, expected `little` or `big`")))
        }
    }
}

fn load_folder(
    zipped: &mut Zipped,
    folder: &str,
    config: &Json,
    is_big: bool,
    mapped: &Mapped,
    tensors: &mut BTreeMap<String, Tensor>,
) -> Result<()> {
    let mut storages = BTreeMap::new();
    for (name, entry) in json::entries(json::field(config, "config")?)? {
        let tensor = one(zipped, folder, entry, is_big, mapped, &mut storages);
        let tensor = tensor.map_err(|error| error.within(format_args!("tensor `{name}`")))?;
        if tensors.insert(name.clone(), tensor).is_some() {
            return Err(error::file(format!("tensor `{name}` is there twice, expected each once")));
        }
    }
    Ok(())
}

/// One tensor. Those whose entries name one member share its storage.
fn one(
    zipped: &mut Zipped,
    folder: &str,
    entry: &Json,
    is_big: bool,
    mapped: &Mapped,
    storages: &mut BTreeMap<String, (Storage, DType)>,
) -> Result<Tensor> {
    if json::truth(json::field(entry, "use_pickle")?)? {
        let message = "it is pickled, and opgrid runs no pickles; expected a plain tensor: convert tensor subclasses and \
                       objects before the export";
        return Err(error::unsupported(message));
    }
    let Some(meta) = json::optional(entry, "tensor_meta") else {
        return Err(error::unsupported(
            "it is an object of a custom class, expected a tensor; remove it from the module",
        ));
    };
    let dtype = numbers::dtype(json::field(meta, "dtype")?)?;
    if let 1..=6 = json::integer(json::field(meta, "layout")?)? {
        return Err(error::unsupported(
            "its layout is sparse or of another library, expected strided; call to_dense()",
        ));
    }
    let numbers = |name: &str| -> Result<Vec<i64>> {
        let known = |size: &Json| match json::union(size)? {
            ("as_int", value) => json::integer(value),
            (kind, _) => Err(error::file(format!("found a size of kind `{kind}`, expected numbers"))),
        };
        json::list(meta, name)?.iter().map(known).collect()
    };
    let offset = json::integer(json::field(json::field(meta, "storage_offset")?, "as_int")?)?;
    let geometry = Geometry::strided(&numbers("sizes")?, &numbers("strides")?, offset)?;
    // The archive may come from another device; here it is one of the CPU.
    let spec = TensorSpec::new(geometry, dtype, Device::CPU);

    let path = json::text(entry, "path_name")?;
    if !storages.contains_key(path) {
        let member = format!("data/{folder}/{path}");
        let storage = match mapped.get(&member) {
            Some(storage) => storage.clone(),
            None => storage(zipped, &member, dtype, is_big)?,
        };
        storages.insert(path.to_owned(), (storage, dtype));
    }
    let (storage, read_as) = &storages[path];
    if *read_as != dtype && (is_big || dtype == DType::Bool) {
        return Err(error::unsupported(format!(
            "its storage is read as {read_as} and as {dtype}, expected one dtype for each; clone one of the two"
        )));
    }
    let available = storage.bytes();
    spec.check_storage(available)
        .map_err(|error| error.within(format_args!("member `{path}` of {available} bytes")))?;
    Tensor::from_array(Array::new(spec, storage.clone())?)
}

fn storage(zipped: &mut Zipped, member: &str, dtype: DType, is_big: bool) -> Result<Storage> {
    let length = usize::try_from(zipped.length(member)?)
        .map_err(|_| error::file(format!("member `{member}` is larger than memory can be")))?;
    zipped.expect_left(member, length as u64)?;
    let storage = Storage::cpu(length)?;
    {
        let mut guard = storage.write()?;
        let bytes = guard.bytes();
        let bytes = &mut bytes[..length];
        zipped.read_into(member, bytes)?;
        if dtype == DType::Bool {
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        } else if is_big != cfg!(target_endian = "big") {
            bytes.chunks_exact_mut(dtype.alignment()).for_each(<[u8]>::reverse);
        }
    }
    Ok(storage)
}
