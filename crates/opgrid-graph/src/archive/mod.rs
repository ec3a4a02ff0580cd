//! Exported programs as `torch.export.save` writes them: a zip of JSON and of bare bytes.
//!
//! ```text
//! NAME/archive_format                            "pt2"
//! NAME/archive_version                           "0"
//! NAME/.data/version                             that of the zip, "6"
//! NAME/byteorder                                 "little" or "big"
//! NAME/models/model.json                         the graph
//! NAME/data/weights/model_weights_config.json    where parameters and buffers lie, and how
//! NAME/data/weights/weight_0 …                   their bytes, each storage once
//! NAME/data/constants/…                          the same for constants and buffers that are not persistent
//! NAME/data/sample_inputs/model.pt               a pickle, which nobody reads; empty where opgrid writes
//! ```
//!
//! No pickle is read, and nothing in an archive runs. What an archive says about sizes is compared with the length of the file
//! before memory is allocated; members that lie over each other count as often as they are read.

mod json;
pub(crate) mod mapped;
mod model;
mod numbers;
mod tensors;
pub(crate) mod write;
mod zipped;

use std::collections::BTreeMap;
use std::ops::Range;
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

/// What a file says instead of the version of torch that wrote it.
pub(crate) const WRITER: &str = concat!("opgrid ", env!("CARGO_PKG_VERSION"));

impl Archive {
    /// What is to be written of a graph and of its tensors by their names.
    pub fn new(graph: Graph, tensors: BTreeMap<String, Tensor>) -> Self {
        Self { graph, tensors, torch_version: WRITER.to_owned() }
    }

    /// Writes a file that `torch.export.load` and [`read`] take. A file at `path` is replaced, whole or not at all.
    ///
    /// The graph that is read again is equal, and so are the tensors, with their strides and shared storages. Names that Python cannot
    /// have become others, references to fixed inputs become their values, and written buffers and inputs stand before other results,
    /// as torch wants them. What a graph does not hold is not written: guards, sample inputs, and which parameters are frozen.
    ///
    /// # Errors
    ///
    /// What torch.export has no form for: inputs that are neither tensors nor integers, lists of mixed kinds, blocks or lists that are
    /// nested too deep, functions of sizes that it does not know; operators that do not exist, whose arguments have no names then; a
    /// tensor that is missing, has no data or is not what the graph says; those of the file system.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::{DType, Device, Tensor};
    /// use opgrid_graph::{Archive, Program, read};
    ///
    /// let graph = r#"graph(%w: float32[3] = parameter "scale", %x: float32[n, 3] = input) where n in 1..64
    ///     takes ((*,), {}) gives * {
    ///       %y: float32[n, 3] = aten::mul.Tensor(%x, %w)
    ///       return %y
    ///     }"#;
    /// let scale = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    /// let archive = Archive::new(graph.parse()?, [("scale".to_owned(), scale)].into());
    /// let path = std::env::temp_dir().join(format!("opgrid-archive-{}.pt2", std::process::id()));
    /// archive.write(&path)?;
    /// assert_eq!(read(&path)?.graph, archive.graph);
    ///
    /// let x = Tensor::ones(&[2, 3], DType::F32, Device::CPU)?;
    /// let y = Program::load(&path)?.run(&[&x])?.remove(0);
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write::write(path.as_ref(), &self.graph, &self.tensors, &self.torch_version)
    }
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
    load(&mut zipped, |_, _| Ok(BTreeMap::new())).map_err(|error| error.within(path.display()))
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

fn load(
    zipped: &mut Zipped,
    map: impl FnOnce(&mut Zipped, Vec<(String, Range<usize>)>) -> Result<tensors::Mapped>,
) -> Result<Archive> {
    let name = zipped.model()?;
    let model = model::parse(&zipped.json(&format!("models/{name}.json"))?)?;
    let tensors = tensors::load(zipped, &name, map)?;
    Ok(Archive { graph: model.graph, tensors, torch_version: model.torch_version })
}
