//! The tensors of an archive that is written: each storage once, and how each tensor lies in one.

use std::collections::BTreeMap;

use opgrid_array::Storage;
use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;
use serde_json::{Map, Value as Json, json};

use super::super::numbers;
use super::model;
use crate::error;
use crate::graph::{Graph, InputKind};

/// Weights and constants.
pub(super) struct Folders([Folder; 2]);

/// One folder of `data`.
pub(super) struct Folder {
    pub(super) name: &'static str,
    pub(super) config: Json,
    pub(super) storages: Vec<Member>,
}

/// A storage and the member that its bytes become.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) storage: Storage,
    /// How many bytes of it tensors reach.
    pub(super) bytes: usize,
}

impl Folders {
    pub(super) fn all(&self) -> &[Folder] {
        &self.0
    }

    /// Sorts the tensors of a graph into storages.
    ///
    /// # Errors
    ///
    /// A tensor that the graph needs is missing or is not what the graph says; tensors without data.
    pub(super) fn new(graph: &Graph, tensors: &BTreeMap<String, Tensor>) -> Result<Self> {
        expect_all(graph, tensors)?;
        // In torch, parameters and saved buffers are in the state dict, and everything else is a constant.
        let constants = |kind: &InputKind| {
            matches!(kind, InputKind::Constant(_) | InputKind::Buffer { persistent: false, .. })
        };
        let parameters = |kind: &InputKind| matches!(kind, InputKind::Parameter(_));
        let of = |name: &str, is_meant: fn(&InputKind) -> bool| {
            graph.inputs.iter().any(|kind| kind.stored_name() == Some(name) && is_meant(kind))
        };
        let mut names: Vec<&str> = graph.inputs.iter().filter_map(InputKind::stored_name).collect();
        // Those that no input is, such as weights that the program does not use, follow.
        names.extend(tensors.keys().map(String::as_str));
        let mut folders = [("weights", "weight"), ("constants", "tensor")].map(|(name, prefix)| Open {
            name,
            prefix,
            config: Map::new(),
            storages: Vec::new(),
        });
        for name in names {
            let Some(tensor) = tensors.get(name) else { continue };
            let folder = &mut folders[usize::from(of(name, constants))];
            if !folder.config.contains_key(name) {
                folder
                    .add(name, tensor, of(name, parameters))
                    .map_err(|error| error.within(format_args!("tensor `{name}`")))?;
            }
        }
        Ok(Self(folders.map(Open::close)))
    }
}

/// Finds the tensors that the graph needs, of the dtypes and sizes that it says.
fn expect_all(graph: &Graph, tensors: &BTreeMap<String, Tensor>) -> Result<()> {
    let mut inputs = graph.block.parameters.iter().zip(&graph.inputs);
    inputs.try_for_each(|(variable, kind)| kind.tensor(variable, tensors).map(drop))
}

/// A folder that is being filled.
struct Open {
    name: &'static str,
    prefix: &'static str,
    config: Map<String, Json>,
    /// torch reads a storage as elements of one dtype, so one that has tensors of two is written for each.
    storages: Vec<(usize, DType, Member)>,
}

impl Open {
    fn add(&mut self, name: &str, tensor: &Tensor, is_parameter: bool) -> Result<()> {
        let array = tensor.array()?;
        let (geometry, dtype) = (array.geometry(), array.dtype());
        let storage = array.storage();
        if !storage.has_data() && geometry.numel() > 0 {
            return Err(error::value("it has no data, expected a tensor with memory"));
        }
        let bytes = array.spec().bytes()?;
        let known = self
            .storages
            .iter()
            .position(|(identity, of, _)| *identity == storage.identity() && *of == dtype);
        let index = match known {
            Some(index) => index,
            None => {
                let member = Member {
                    name: format!("{}_{}", self.prefix, self.storages.len()),
                    storage: if storage.has_data() { storage.on_cpu()? } else { Storage::cpu(0)? },
                    bytes: 0,
                };
                self.storages.push((storage.identity(), dtype, member));
                self.storages.len() - 1
            }
        };
        let member = &mut self.storages[index].2;
        member.bytes = member.bytes.max(bytes);
        let number = |value: &i64| json!({"as_int": value});
        let meta = json!({
            "dtype": numbers::of_dtype(dtype)?,
            "sizes": geometry.sizes().iter().map(number).collect::<Vec<_>>(),
            "requires_grad": is_parameter && model::is_trained(dtype),
            "device": model::device(Device::CPU),
            "strides": geometry.strides().iter().map(number).collect::<Vec<_>>(),
            "storage_offset": number(&geometry.offset()),
            "layout": model::STRIDED,
        });
        let entry = json!({"path_name": member.name, "is_param": is_parameter, "use_pickle": false, "tensor_meta": meta});
        self.config.insert(name.to_owned(), entry);
        Ok(())
    }

    fn close(self) -> Folder {
        Folder {
            name: self.name,
            config: json!({"config": self.config}),
            storages: self.storages.into_iter().map(|(_, _, member)| member).collect(),
        }
    }
}
