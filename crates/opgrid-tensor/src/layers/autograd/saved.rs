//! Tensors that a graph keeps for the way back, as they were.

use opgrid_core::{Error, MemoryFormat, Result};

use super::mode::no_grad;
use super::node::{Edge, Node};
use super::variable::{Variable, detached, edge_of};
use crate::error::argument;
use crate::ops::Clone as CloneOperator;
use crate::tensor::Tensor;

/// A tensor that a formula needs.
///
/// It is another handle of the memory: the tensor's own may come to lead to a later part of the graph, and the graph leads here.
pub(super) struct Saved {
    tensor: Tensor,
    version: u64,
    origin: Origin,
    /// Which argument it was, for errors.
    argument: u32,
}

/// Where gradients of a saved tensor lead.
enum Origin {
    /// Nowhere: it is constant.
    Constant,
    Edge(Edge),
    /// A result of the node that keeps it, which must not keep itself.
    Result(u32),
}

impl Origin {
    fn of(tensor: &Tensor) -> Self {
        edge_of(tensor).map_or(Self::Constant, Self::Edge)
    }
}

impl Saved {
    pub(super) fn argument(tensor: &Tensor, argument: usize) -> Self {
        let argument = argument as u32;
        Self { tensor: detached(tensor), version: tensor.version(), origin: Origin::of(tensor), argument }
    }

    /// A copy of an argument that is about to be written.
    ///
    /// # Errors
    ///
    /// No memory.
    pub(super) fn copied(tensor: &Tensor) -> Result<Self> {
        let copy = no_grad(|| CloneOperator.call(tensor, Some(MemoryFormat::Preserve)))?;
        Ok(Self { version: copy.version(), tensor: copy, origin: Origin::of(tensor), argument: 0 })
    }

    pub(super) fn result(tensor: &Tensor, output: usize) -> Self {
        Self {
            tensor: detached(tensor),
            version: tensor.version(),
            origin: Origin::Result(output as u32),
            argument: u32::MAX,
        }
    }

    /// Takes note that the operator has run: what it wrote by then is as it should be.
    pub(super) fn is_written_now(&mut self) {
        if let Origin::Result(_) = self.origin {
            self.version = self.tensor.version();
        }
    }

    /// The tensor; with `differentiable` one that leads on into the graph, of a result by the edge that `result` gives.
    ///
    /// # Errors
    ///
    /// It was written since.
    pub(super) fn get(
        &self,
        node: &Node,
        differentiable: bool,
        result: &dyn Fn(usize) -> Result<Edge>,
    ) -> Result<Tensor> {
        let tensor = &self.tensor;
        if self.version != tensor.version() {
            return Err(self.written(node, tensor));
        }
        let edge = match &self.origin {
            _ if !differentiable => return Ok(tensor.clone()),
            Origin::Constant => return Ok(tensor.clone()),
            Origin::Edge(edge) => edge.clone(),
            Origin::Result(output) => result(*output as usize)?,
        };
        // A handle of its own: what is put behind it is for this way back only.
        let tensor = detached(tensor);
        Variable::lead(&tensor, edge)?;
        Ok(tensor)
    }

    #[cold]
    fn written(&self, node: &Node, tensor: &Tensor) -> Error {
        let subject = match (&self.origin, node.argument_name(self.argument as usize)) {
            (Origin::Result(_), _) => "the result".to_owned(),
            (_, Some(name)) => format!("argument `{name}`"),
            (_, None) => "a tensor".to_owned(),
        };
        argument(format!(
            "{}: {subject} of shape {:?}, which the gradient needs, was written in place after the call: found version {}, expected \
             version {}; use the operator that makes a new tensor there, or clone it first",
            node.name(),
            tensor.sizes(),
            tensor.version(),
            self.version,
        ))
    }

    /// Where gradients of the tensor lead.
    pub(super) fn edge(&self) -> Option<&Edge> {
        match &self.origin {
            Origin::Edge(edge) => Some(edge),
            Origin::Constant | Origin::Result(_) => None,
        }
    }

    /// The same, without the tensor.
    pub(super) fn into_edge(self) -> Option<Edge> {
        match self.origin {
            Origin::Edge(edge) => Some(edge),
            Origin::Constant | Origin::Result(_) => None,
        }
    }
}
