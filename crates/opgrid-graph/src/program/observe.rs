//! Looking on while a program runs: each node with its results, and why its kernel ran.

use std::fmt;

use opgrid_core::{Explanation, OperatorHandle, Result, Value};

use super::plan::Step;

/// A node that has just run.
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
pub struct Ran<'r> {
    pub(super) step: &'r Step,
    pub(super) index: usize,
    pub(super) count: usize,
    pub(super) depth: usize,
    pub(super) operator: Option<&'r OperatorHandle>,
    pub(super) results: &'r [Value],
    pub(super) explanation: Option<&'r Explanation>,
}

impl<'r> Ran<'r> {
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

impl fmt::Debug for Ran<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ran")
            .field("subject", &self.subject())
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

/// What is done after each node.
pub(super) trait Observer {
    /// Whether calls are explained.
    const EXPLAINS: bool;
    /// Whether anything is done.
    const LOOKS: bool;

    fn look(&mut self, ran: Ran<'_>) -> Result<()>;
}

/// Nobody looks on.
pub(super) struct Nobody;

impl Observer for Nobody {
    const EXPLAINS: bool = false;
    const LOOKS: bool = false;

    fn look(&mut self, _: Ran<'_>) -> Result<()> {
        Ok(())
    }
}

/// A function looks on.
pub(super) struct By<F, const EXPLAINS: bool>(pub(super) F);

impl<F: FnMut(Ran<'_>) -> Result<()>, const EXPLAINS: bool> Observer for By<F, EXPLAINS> {
    const EXPLAINS: bool = EXPLAINS;
    const LOOKS: bool = true;

    fn look(&mut self, ran: Ran<'_>) -> Result<()> {
        (self.0)(ran)
    }
}
