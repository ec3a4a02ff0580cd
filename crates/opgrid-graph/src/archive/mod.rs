//! Exported programs as `torch.export.save` writes them: a zip of JSON and of bare bytes.
//!
//! ```text
//! NAME/archive_format                            "pt2"
//! NAME/byteorder                                 "little" or "big"
//! NAME/models/model.json                         the graph
//! NAME/data/weights/model_weights_config.json    where parameters and buffers lie, and how
//! NAME/data/weights/weight_0 …                   their bytes, each storage once
//! NAME/data/constants/…                          the same for constants and buffers that are not persistent
//! NAME/data/sample_inputs/model.pt               a pickle, which nobody reads
//! ```
//!
//! No pickle is read, and nothing in an archive runs. What an archive says about sizes is compared with the length of the file
//! before memory is allocated; members that lie over each other count as often as they are read.

mod json;
mod model;
mod tensors;
mod zipped;

use std::collections::BTreeMap;
use std::path::Path;

use opgrid_core::Result;
use opgrid_tensor::Tensor;

use crate::graph::Graph;
use zipped::Zipped;

/// What an archive holds: the graph, and the tensors that belong to it by their names.
#[derive(Debug)]
pub struct Archive {
    /// The program.
    pub graph: Graph,
    /// Parameters, buffers and constants. Those that shared memory when they were saved share it here.
    pub tensors: BTreeMap<String, Tensor>,
    /// The version of torch that wrote the archive, as it says itself.
    pub torch_version: String,
}

/// Reads a file that `torch.export.save` wrote, as torch 2.8 and later do.
///
/// # Errors
///
/// [`ErrorKind::File`](opgrid_core::ErrorKind::File) for a file that cannot be read or is broken,
/// [`ErrorKind::NotImplemented`](opgrid_core::ErrorKind::NotImplemented) for what is sound and not supported: TorchScript,
/// AOTInductor, another major version of the schema, pickled weights, objects of custom classes.
///
/// # Examples
///
/// ```
/// let archive = opgrid_graph::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2").as_ref())?;
/// assert_eq!(archive.tensors["0.weight"].sizes(), [16, 8]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn read(path: &Path) -> Result<Archive> {
    let mut zipped = Zipped::open(path)?;
    load(&mut zipped).map_err(|error| error.within(path.display()))
}

/// Reads only the graph: what the program does, without the memory of its weights.
///
/// # Errors
///
/// As [`read`].
pub fn read_graph(path: &Path) -> Result<Graph> {
    let mut zipped = Zipped::open(path)?;
    let graph = |zipped: &mut Zipped| {
        let name = zipped.model()?;
        model::parse(&zipped.json(&format!("models/{name}.json"))?).map(|model| model.graph)
    };
    graph(&mut zipped).map_err(|error| error.within(path.display()))
}

fn load(zipped: &mut Zipped) -> Result<Archive> {
    let name = zipped.model()?;
    let model = model::parse(&zipped.json(&format!("models/{name}.json"))?)?;
    let tensors = tensors::load(zipped, &name)?;
    Ok(Archive { graph: model.graph, tensors, torch_version: model.torch_version })
}
