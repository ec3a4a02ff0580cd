//! Tensors that a graph keeps for the backward pass, as they were.

use opgrid_core::{DType, Error, MemoryFormat, Result};

use super::checkpoint::{self, How, Slot};
use super::mode::no_grad;
use super::node::{Edge, Edges, Node};
use super::packing::{self, PackedTensor};
use super::reach::Visitor;
use super::variable::{Variable, detached, edge_of};
use crate::error::argument;
use crate::ops::CloneTensor;
use crate::tensor::{Dims, Tensor};

/// A tensor that a formula needs.
///
/// It is another handle of the memory: the tensor's own may come to lead to a later part of the graph, and the graph leads here.
pub(super) struct Saved {
    content: Content,
    origin: Origin,
    /// Which argument it was, for errors.
    argument: u32,
}

/// The elements of a saved tensor.
enum Content {
    Kept {
        tensor: Tensor,
        version: u64,
    },
    /// They are computed again when they are needed.
    Recomputed(Box<Slot>),
    /// Users packed them.
    Packed(Box<PackedTensor>),
}

impl Content {
    /// # Errors
    ///
    /// Those of a function of users that packs it.
    fn from_tensor(tensor: &Tensor) -> Result<Self> {
        if packing::is_active()
            && let Some(packed) = PackedTensor::new(tensor)?
        {
            return Ok(Self::Packed(Box::new(packed)));
        }
        let (tensor, version) = if checkpoint::is_active() {
            match checkpoint::save(tensor) {
                How::Kept(handle) => (handle, tensor.version()),
                How::Recomputed(slot) => return Ok(Self::Recomputed(Box::new(slot))),
            }
        } else {
            (detached(tensor), tensor.version())
        };
        Ok(Self::Kept { tensor, version })
    }

    /// As [`from_tensor`](Self::from_tensor), of a tensor that the operator has yet to write: it is packed after that.
    ///
    /// # Errors
    ///
    /// None that is known.
    fn from_unwritten(tensor: &Tensor) -> Result<Self> {
        if packing::is_active() {
            return Ok(Self::Kept { tensor: detached(tensor), version: tensor.version() });
        }
        Self::from_tensor(tensor)
    }

    /// The tensor, and the version that it had when it was saved.
    ///
    /// # Errors
    ///
    /// Those of functions that compute it again or unpack it.
    fn tensor(&self) -> Result<(Tensor, u64)> {
        match self {
            Self::Kept { tensor, version } => Ok((tensor.clone(), *version)),
            Self::Recomputed(slot) => slot.compute(),
            Self::Packed(packed) => packed.unpack().map(|tensor| {
                let version = tensor.version();
                (tensor, version)
            }),
        }
    }
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
    fn from_tensor(tensor: &Tensor) -> Result<Self> {
        Ok(edge_of(tensor)?.map_or(Self::Constant, Self::Edge))
    }
}

impl Saved {
    /// # Errors
    ///
    /// Those of [`edge_of`]; those of a function of users that packs it.
    pub(super) fn argument(tensor: &Tensor, argument: usize) -> Result<Self> {
        Ok(Self {
            content: Content::from_tensor(tensor)?,
            origin: Origin::from_tensor(tensor)?,
            argument: argument as u32,
        })
    }

    /// A copy of an argument that is about to be written.
    ///
    /// # Errors
    ///
    /// No memory; those of a function of users that packs it.
    pub(super) fn copied(tensor: &Tensor) -> Result<Self> {
        let copy = no_grad(|| CloneTensor.call(tensor, Some(MemoryFormat::Preserve)))?;
        Ok(Self { content: Content::from_tensor(&copy)?, origin: Origin::from_tensor(tensor)?, argument: 0 })
    }

    /// # Errors
    ///
    /// Those of a function of users that packs it.
    pub(super) fn result(tensor: &Tensor, output: usize) -> Result<Self> {
        Ok(Self::of_result(Content::from_tensor(tensor)?, output))
    }

    /// A result that the operator has yet to write; [`is_written_now`](Self::is_written_now) follows.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub(super) fn unwritten_result(tensor: &Tensor, output: usize) -> Result<Self> {
        Ok(Self::of_result(Content::from_unwritten(tensor)?, output))
    }

    fn of_result(content: Content, output: usize) -> Self {
        Self { content, origin: Origin::Result(output as u32), argument: u32::MAX }
    }

    /// Takes note that the operator has run: what it wrote by then is as it should be.
    ///
    /// # Errors
    ///
    /// Those of a function of users that packs it.
    pub(super) fn is_written_now(&mut self) -> Result<()> {
        if !matches!(self.origin, Origin::Result(_)) {
            return Ok(());
        }
        match &mut self.content {
            Content::Kept { tensor, .. } if packing::is_active() => {
                if let Some(packed) = PackedTensor::new(tensor)? {
                    self.content = Content::Packed(Box::new(packed));
                }
            }
            Content::Kept { tensor, version } => {
                *version = tensor.version();
                checkpoint::is_written_now(tensor);
            }
            Content::Recomputed(slot) => slot.is_written_now(),
            Content::Packed(_) => {}
        }
        Ok(())
    }

    /// The tensor; with `differentiable` one that leads on into the graph, of a result by the edge that `result` gives.
    ///
    /// # Errors
    ///
    /// It was written since; those of a function that computes it again or unpacks it.
    pub(super) fn get(
        &self,
        node: &Node,
        differentiable: bool,
        result: &dyn Fn(usize) -> Result<Edge>,
    ) -> Result<Tensor> {
        let (tensor, expected) = self.content.tensor()?;
        if expected != tensor.version() {
            return Err(self.written(node, &tensor, expected));
        }
        let edge = match &self.origin {
            _ if !differentiable => return Ok(tensor),
            Origin::Constant => return Ok(tensor),
            Origin::Edge(edge) => edge.clone(),
            Origin::Result(output) => result(*output as usize)?,
        };
        // A handle of its own: what is put behind it is for this backward pass only.
        let tensor = detached(&tensor);
        Variable::lead(&tensor, edge)?;
        Ok(tensor)
    }

    /// The input of a checkpoint as it was given to the function, for another run.
    ///
    /// # Errors
    ///
    /// It was written since; those of an outer function that computes it again.
    pub(super) fn input(&self) -> Result<Tensor> {
        let (tensor, expected) = self.content.tensor()?;
        if expected != tensor.version() {
            return Err(argument(format!(
                "input {} of shape {:?} was written in place after it was given to the function, by \
                 the function or by others: found version {}, expected version {expected}; use the \
                 functional form there, or clone it first",
                self.argument,
                tensor.sizes(),
                tensor.version(),
            )));
        }
        let tensor = detached(&tensor);
        if let Origin::Edge(edge) = &self.origin {
            Variable::lead(&tensor, edge.clone())?;
        }
        Ok(tensor)
    }

    /// The tensor that is kept; none for one that is computed again or packed.
    pub(super) fn kept(&self) -> Option<&Tensor> {
        match &self.content {
            Content::Kept { tensor, .. } => Some(tensor),
            Content::Recomputed(_) | Content::Packed(_) => None,
        }
    }

    /// Sizes and dtype of the tensor.
    pub(super) fn described(&self) -> (Dims, DType) {
        match &self.content {
            Content::Kept { tensor, .. } => (Dims::from_slice(tensor.sizes()), tensor.dtype()),
            Content::Recomputed(slot) => slot.described(),
            Content::Packed(packed) => packed.described(),
        }
    }

    /// Where a tensor that is computed again comes from.
    pub(super) fn slot(&self) -> Option<&Slot> {
        match &self.content {
            Content::Recomputed(slot) => Some(slot),
            Content::Kept { .. } | Content::Packed(_) => None,
        }
    }

    /// Which argument of the operator it was; none for results and for tensors that are no arguments.
    pub(super) fn place(&self) -> Option<usize> {
        (self.argument < u32::MAX - 1).then_some(self.argument as usize)
    }

    /// Which result of the node it is, if it is one.
    pub(super) fn output(&self) -> Option<usize> {
        match self.origin {
            Origin::Result(output) => Some(output as usize),
            Origin::Constant | Origin::Edge(_) => None,
        }
    }

    #[cold]
    fn written(&self, node: &Node, tensor: &Tensor, expected: u64) -> Error {
        let subject = match (&self.origin, node.argument_name(self.argument as usize)) {
            (Origin::Result(_), _) => "the result".to_owned(),
            (_, Some(name)) => format!("argument `{name}`"),
            (_, None) => "a tensor".to_owned(),
        };
        argument(format!(
            "{}: {subject} of shape {:?}, which the gradient needs, was written in place after the \
             call: found version {}, expected version {expected}; use the functional form there, or \
             clone it first",
            node.name(),
            tensor.sizes(),
            tensor.version(),
        ))
    }

    /// Shows what is kept, and where its gradient leads.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        match &self.content {
            Content::Kept { tensor, .. } => visitor.tensor(tensor),
            Content::Recomputed(slot) => visitor.segment(slot.segment()),
            Content::Packed(packed) => packed.reach(visitor),
        }
        if let Origin::Edge(edge) = &self.origin {
            visitor.node(&edge.node);
        }
    }

    /// Where gradients of a tensor that is kept lead.
    pub(super) fn edge(&self) -> Option<&Edge> {
        match &self.origin {
            Origin::Edge(edge) => Some(edge),
            Origin::Constant | Origin::Result(_) => None,
        }
    }

    /// Takes the edges out: that of the tensor, and those that are only kept to compute it again.
    pub(super) fn take_edges(self, waiting: &mut Edges) {
        if let Origin::Edge(edge) = self.origin {
            waiting.push(edge);
        }
        if let Content::Recomputed(slot) = self.content {
            for input in slot.into_last_inputs() {
                input.take_edges(waiting);
            }
        }
    }
}
