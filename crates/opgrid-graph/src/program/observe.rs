//! Callbacks while a program runs: each node with its results, and which kernels ran.

use std::fmt;

use opgrid_core::{Explanation, OperatorHandle, Result, Value};

use super::plan::Step;

/// A node that has just been executed, as callbacks of a run see it.
///
/// # Examples
///
/// ```
/// use opgrid::{Tensor, Value};
/// use opgrid_graph::Program;
///
/// let program = Program::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/mlp.pt2"))?;
/// let x = Tensor::zeros(&[2, 8], opgrid::DType::F32, opgrid::Device::CPU)?;
/// let mut shapes = Vec::new();
/// program.observe(vec![Value::from(&x)], |ran| {
///     for result in ran.results() {
///         let result = Tensor::try_from(result.clone())?;
///         shapes.push(format!("{} {:?}", ran.operator().unwrap().name(), result.sizes()));
///     }
///     Ok(())
/// })?;
/// assert_eq!(shapes[..3], ["aten::linear [2, 16]", "aten::relu_ [2, 16]", "aten::linear [2, 4]"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ExecutedNode<'r> {
    pub(super) step: &'r Step,
    pub(super) index: usize,
    pub(super) count: usize,
    pub(super) depth: usize,
    pub(super) operator: Option<&'r OperatorHandle>,
    pub(super) results: &'r [Value],
    pub(super) explanation: Option<&'r Explanation>,
}

impl<'r> ExecutedNode<'r> {
    /// The node's number, the name of its first result, and the line it comes from, as errors call it.
    pub fn subject(&self) -> &'r str {
        &self.step.subject
    }

    /// The place of the node in its block, and how many nodes the block has.
    pub fn position(&self) -> (usize, usize) {
        (self.index, self.count)
    }

    /// How many blocks the node is in, such as the body of a loop; 0 for the nodes of the program.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The operator that was called: the in-place form where the result took the memory of an argument. `None` for arithmetic
    /// on sizes and for nodes with blocks.
    pub fn operator(&self) -> Option<&'r OperatorHandle> {
        self.operator
    }

    /// The results of an operator, in the order of its schema. Who keeps one keeps its memory.
    pub fn results(&self) -> &'r [Value] {
        self.results
    }

    /// Which kernels ran and why, where [`explain`](super::Program::explain) asks.
    pub fn explanation(&self) -> Option<&'r Explanation> {
        self.explanation
    }
}

impl fmt::Debug for ExecutedNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutedNode")
            .field("subject", &self.subject())
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

/// What a run calls after each node.
pub(super) trait Observer {
    /// Whether calls are explained.
    const EXPLAINS: bool;
    /// Whether it is called at all.
    const IS_ACTIVE: bool;

    fn executed(&mut self, ran: ExecutedNode<'_>) -> Result<()>;
}

/// No callback: nothing is built for one.
pub(super) struct NoObserver;

impl Observer for NoObserver {
    const EXPLAINS: bool = false;
    const IS_ACTIVE: bool = false;

    fn executed(&mut self, _: ExecutedNode<'_>) -> Result<()> {
        Ok(())
    }
}

/// A function that is called after each node.
pub(super) struct Callback<F, const EXPLAINS: bool>(pub(super) F);

impl<F: FnMut(ExecutedNode<'_>) -> Result<()>, const EXPLAINS: bool> Observer for Callback<F, EXPLAINS> {
    const EXPLAINS: bool = EXPLAINS;
    const IS_ACTIVE: bool = true;

    fn executed(&mut self, ran: ExecutedNode<'_>) -> Result<()> {
        (self.0)(ran)
    }
}
