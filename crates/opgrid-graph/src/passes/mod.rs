//! Passes: functions from a program to one that gives the same.
//!
//! Those that leave less to do know operators by their schemas only: which arguments a call writes, whether it draws random numbers,
//! whether it checks something. Values that may share memory with one that is written are left alone; [`functionalize`] turns writes into
//! calls that give new values. [`decompose`] takes composite operators apart, [`propagate_types`] says what every value is, and
//! [`fusible_groups`] which nodes could be one loop.

mod batch_norm;
mod constants;
mod dead_code;
mod decompose;
mod functionalize;
mod fuse;
mod groups;
mod identities;
mod repeats;

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::Result;
use opgrid_tensor::Tensor;

use crate::archive::Archive;
use crate::graph::types::ValueType;
use crate::graph::{Argument, Block, InputKind, Node, Variable};

pub use batch_norm::fold_batch_norms;
pub use constants::fold_constants;
pub use dead_code::remove_dead_code;
pub use decompose::decompose;
pub use functionalize::functionalize;
pub use fuse::{Fusion, fuse, fuse_from, fusible_operators};
pub use groups::{Group, fusible_groups};
pub use identities::remove_identities;
pub use repeats::share_repeats;

pub use crate::typing::propagate_types;

/// Runs all passes, for a program whose parameters do not change any more.
///
/// # Errors
///
/// Those of the passes.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{Program, passes, read};
///
/// let archive = read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/convolutions.pt2").as_ref())?;
/// let before = archive.graph.block.nodes.len();
/// let optimized = passes::optimize(archive)?;
/// assert!(optimized.graph.block.nodes.len() < before);
/// let program = Program::new(optimized.graph, optimized.tensors)?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn optimize(mut archive: Archive) -> Result<Archive> {
    archive.graph = remove_identities(archive.graph)?;
    archive = fold_batch_norms(archive)?;
    archive = fold_constants(archive)?;
    archive.graph = share_repeats(archive.graph)?;
    archive.graph = remove_dead_code(archive.graph)?;
    Ok(remove_unused_tensors(archive))
}

/// Removes the program's tensors that nothing reads or writes, and their inputs. A program that was optimized has other tensors than the
/// state that was saved.
fn remove_unused_tensors(mut archive: Archive) -> Archive {
    let mut used = BTreeSet::new();
    each_reference(&archive.graph.block, &mut |name| {
        used.insert(name.to_owned());
    });
    let graph = &mut archive.graph;
    let kinds = std::mem::take(&mut graph.inputs);
    let variables = std::mem::take(&mut graph.block.parameters);
    for (kind, variable) in kinds.into_iter().zip(variables) {
        let is_kept =
            kind.stored_name().is_none_or(|name| used.contains(&variable.name) || graph.writes(name));
        if is_kept {
            graph.inputs.push(kind);
            graph.block.parameters.push(variable);
        }
    }
    let inputs = &archive.graph.inputs;
    archive.tensors.retain(|name, _| inputs.iter().any(|kind| kind.stored_name() == Some(name)));
    archive
}

/// The program's tensors that no call writes, by the names of their values. `maybe_written` are the values that calls may write.
fn unwritten_tensors(archive: &Archive, maybe_written: &BTreeSet<String>) -> BTreeMap<String, Tensor> {
    let inputs = archive.graph.block.parameters.iter().zip(&archive.graph.inputs);
    let unwritten = inputs.filter_map(|(variable, kind)| {
        let name = kind.stored_name()?;
        let is_written = archive.graph.writes(name) || maybe_written.contains(&variable.name);
        let tensor = archive.tensors.get(name).filter(|_| !is_written)?;
        Some((variable.name.clone(), tensor.clone()))
    });
    unwritten.collect()
}

/// Adds a constant for the value of that name, before what the caller gives.
fn add_constant(archive: &mut Archive, value: String, tensor: Tensor) {
    let mut name = format!("folded_{value}");
    while archive.tensors.contains_key(&name) {
        name.push('_');
    }
    let graph = &mut archive.graph;
    let place =
        graph.inputs.iter().position(|kind| kind.stored_name().is_none()).unwrap_or(graph.inputs.len());
    graph.block.parameters.insert(place, Variable { name: value, kind: ValueType::from_tensor(&tensor) });
    graph.inputs.insert(place, InputKind::Constant(name.clone()));
    archive.tensors.insert(name, tensor);
}

/// Shows the name of every value that something refers to, in blocks within the block too.
fn each_reference<'b>(block: &'b Block, look: &mut impl FnMut(&'b str)) {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        for argument in block.nodes.iter().flat_map(Node::arguments).chain(&block.results) {
            argument.references().into_iter().for_each(&mut *look);
            blocks.extend(argument.as_block());
        }
    }
}

/// Lets arguments refer to other values.
fn rename<'a>(arguments: impl IntoIterator<Item = &'a mut Argument>, others: &BTreeMap<String, String>) {
    let mut left: Vec<&mut Argument> = arguments.into_iter().collect();
    while let Some(argument) = left.pop() {
        match argument {
            Argument::Value(name) => {
                if let Some(other) = others.get(name) {
                    *name = other.clone();
                }
            }
            Argument::List(items) => left.extend(items),
            _ => {}
        }
    }
}
