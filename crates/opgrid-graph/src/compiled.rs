//! Compiles programs: makes them functional where that is needed, finds types and groups, and has each group be a loop.

use std::time::Instant;

use opgrid_core::{Dispatcher, Result};

use crate::archive::Archive;
use crate::passes::{self, Fusion};
use crate::program::effects::effects;
use crate::program::{Compilation, Program};

impl Program {
    /// The program with groups of pointwise nodes fused to one loop each, which gives the same bits. It shares its tensors with this one.
    ///
    /// Groups are compiled in microseconds. Where a loop does not apply (gradients are recorded, a layer or a mode sees calls, tensors
    /// are not on the CPU) the nodes are called one by one, and counted.
    ///
    /// # Errors
    ///
    /// An operator that is not there.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use opgrid::Tensor;
    /// use opgrid_graph::Program;
    ///
    /// let text = "graph(%x: float32[n, 3] = input) where n in 1..64 takes ((*,), {}) gives * {
    ///   %y: float32[n, 3] = aten::mul.Tensor(%x, %x)
    ///   %z: float32[n, 3] = aten::tanh(%y)
    ///   return %z
    /// }";
    /// let program = Program::new(text.parse()?, BTreeMap::new())?;
    /// let compiled = program.compiled()?;
    /// let x = Tensor::from_slice(&[0.5f32, -1.0, 2.0], &[1, 3])?;
    /// assert_eq!(compiled.run(&[&x])?[0].to_vec::<f32>()?, program.run(&[&x])?[0].to_vec::<f32>()?);
    /// let report = compiled.report();
    /// assert_eq!(report.groups[0].operators, ["aten::mul.Tensor", "aten::tanh"]);
    /// // The product is read twice less, and the factor once.
    /// assert_eq!((report.groups[0].fused_runs, report.groups[0].bytes_saved), (1, 3 * 3 * 4));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn compiled(&self) -> Result<Self> {
        let start = Instant::now();
        let dispatcher = Dispatcher::current();
        let own = || Archive::new(self.graph().clone(), self.tensors().clone());
        let mut writes = false;
        self.graph().block.visit(&mut |node| {
            writes |= effects(&dispatcher, node).is_ok_and(|effects| !effects.writes.is_empty());
        });
        // Where inputs or tensors of the program are written, results may be those very tensors: then groups stand around the writes.
        let keeps_outputs = |archive: &Archive| archive.graph.outputs == self.graph().outputs;
        let functional = if writes { passes::functionalize(own()).ok().filter(keeps_outputs) } else { None };
        let archive = functional.unwrap_or_else(own);
        let graph = passes::propagate_types(archive.graph.clone()).unwrap_or(archive.graph);
        let Fusion { graph, unfused } = passes::fuse(graph)?;
        let program = Self::new(graph, archive.tensors)?.with_limits(self.limits())?;
        Ok(program.with_compilation(Compilation { unfused, compile_time: start.elapsed() }))
    }
}
