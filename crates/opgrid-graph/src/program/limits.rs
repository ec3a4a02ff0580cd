//! How far a run may go: an endless loop ends with an error.

use opgrid_core::{Error, Result};

use super::compile::DEEPEST;
use super::plan::{Action, Plan};
use crate::error;

/// What a program may do before a run of it is an error: for programs that nobody trusts, or that may be broken.
///
/// Memory is limited for the process and not for a program, by an allocator: `opgrid::tensor::LimitedAllocator`.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
///
/// use opgrid::Value;
/// use opgrid_graph::{Limits, Program};
///
/// let text = "graph(%n: int = input) gives * {
///     %m: int = higher_order::while_loop(block c(%n: int) { return true },
///         block b(%n: int) { %m: int = _operator.add(%n, 1) return %m }, [%n], [])
///     return %m
/// }";
/// let mut limits = Limits::default();
/// limits.steps = 1000;
/// let program = Program::new(text.parse()?, BTreeMap::new())?.with_limits(limits)?;
/// let error = program.run_values(vec![Value::from(0)]).unwrap_err();
/// assert!(error.message().contains("1000 steps"), "{error}");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many nodes a run executes, those in loops each time, and each round of a loop: 2²⁸ by default.
    pub steps: u64,
    /// How deep blocks are nested, such as bodies of loops: 32 by default, and at most.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 1 << 28, depth: DEEPEST }
    }
}

impl Limits {
    /// Makes sure that the blocks of a plan are not nested deeper than they may be.
    ///
    /// # Errors
    ///
    /// They are; the limit is larger than what the interpreter can do.
    pub(super) fn expect_depth(self, plan: &Plan) -> Result<()> {
        if self.depth > DEEPEST {
            return Err(error::argument(format!(
                "found {} as the limit of depth, expected at most {DEEPEST}",
                self.depth
            )));
        }
        let depth = depth(plan);
        if depth > self.depth {
            return Err(error::value(format!(
                "found blocks that are nested {depth} deep, expected at most {}, which is the limit; raise it",
                self.depth
            )));
        }
        Ok(())
    }
}

/// The steps that a run has left.
#[derive(Debug)]
pub(super) struct StepsLeft {
    limit: u64,
    left: u64,
}

impl StepsLeft {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limit: limits.steps, left: limits.steps }
    }

    /// As many as there are, for what ends by itself.
    pub(super) fn unlimited() -> Self {
        Self { limit: u64::MAX, left: u64::MAX }
    }

    /// Takes one.
    ///
    /// # Errors
    ///
    /// There is none left.
    #[inline]
    pub(super) fn take(&mut self) -> Result<()> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.none_left()),
        }
    }

    #[cold]
    fn none_left(&self) -> Error {
        error::value(format!(
            "the run took {} steps, which is the limit, expected the program to end before; a loop in it does not end, or the limit \
             is too low",
            self.limit
        ))
    }
}

/// How deep the blocks of a plan are nested; 0 without blocks. The compiler has limited it.
fn depth(plan: &Plan) -> usize {
    plan.steps.iter().flat_map(|step| step.action.blocks()).map(|block| 1 + depth(block)).max().unwrap_or(0)
}

impl Action {
    /// The blocks that it runs.
    pub(super) fn blocks(&self) -> Vec<&Plan> {
        match self {
            Self::Call { .. } | Self::Number(_) => Vec::new(),
            Self::Cond { branches: blocks, .. } | Self::Loop { blocks, .. } => blocks.iter().collect(),
            Self::Fused(fused) => vec![&fused.block],
            Self::Scan(scan) => vec![&scan.block],
            Self::SetGradEnabled { block, .. } | Self::Autocast { block, .. } => vec![&**block],
        }
    }
}
