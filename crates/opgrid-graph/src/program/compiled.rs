//! Compiled programs: what is fused in them, and what is not.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opgrid_core::{Dispatcher, Result};

use super::Program;
use super::effects::effects;
use super::fused::{Counts, Fused, Kernel};
use super::plan::{Action, Plan};
use crate::archive::Archive;
use crate::passes::{self, Fusion, Unfused};

/// What a compiled program has besides its plan.
#[derive(Debug)]
pub(super) struct Compilation {
    unfused: Vec<Unfused>,
    compile_time: Duration,
}

/// What is fused in a compiled program, and how often it ran.
///
/// Printed, it is a line or two for each group, and below them the nodes outside of groups with their reasons.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The groups, in the order in which they run.
    pub groups: Vec<Group>,
    /// The calls of operators that are in no group, and why.
    pub unfused: Vec<Unfused>,
    /// How long compiling took, with finding the groups.
    pub compile_time: Duration,
}

/// A group of pointwise nodes in a compiled program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group {
    /// The node, as errors call it.
    pub node: String,
    /// The operators, in their order.
    pub operators: Vec<String>,
    /// How the loop computes: by machine code for these instructions, or by the interpreter of blocks. The reason where there is no
    /// loop.
    pub level: std::result::Result<String, String>,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// How long it took to make the loop.
    pub compile_time: Duration,
    /// How often the loop ran.
    pub fused_runs: u64,
    /// How often the nodes were called one by one: for gradients, layers, other dtypes or devices.
    pub interpreted_runs: u64,
    /// The bytes that eager code reads and writes beyond what the loop did, in all runs so far.
    pub bytes_saved: u64,
}

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
    /// use opgrid::{DType, Device, Tensor};
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
        let own = || Archive::new(self.graph.clone(), self.tensors.clone());
        let mut writes = false;
        self.graph.block.visit(&mut |node| {
            writes |= effects(&dispatcher, node).is_ok_and(|effects| !effects.writes.is_empty());
        });
        // Where inputs or tensors of the program are written, results may be those very tensors: then groups stand around the writes.
        let keeps_outputs = |archive: &Archive| archive.graph.outputs == self.graph.outputs;
        let functional = if writes { passes::functionalize(own()).ok().filter(keeps_outputs) } else { None };
        let archive = functional.unwrap_or_else(own);
        let graph = passes::propagate_types(archive.graph.clone()).unwrap_or(archive.graph);
        let Fusion { graph, unfused } = passes::fuse(graph)?;
        let mut program = Self::new(graph, archive.tensors)?.with_limits(self.limits)?;
        program.compilation = Some(Compilation { unfused, compile_time: start.elapsed() });
        Ok(program)
    }

    /// What is fused in the program: nothing unless it was [compiled](Self::compiled).
    pub fn report(&self) -> Report {
        let mut groups = Vec::new();
        collect(&self.plan, &mut groups);
        let (unfused, compile_time) = match &self.compilation {
            Some(Compilation { unfused, compile_time }) => (unfused.clone(), *compile_time),
            None => Default::default(),
        };
        Report { groups, unfused, compile_time }
    }
}

fn collect(plan: &Plan, groups: &mut Vec<Group>) {
    for step in &plan.steps {
        match &step.action {
            Action::Fused(fused) => groups.push(described(&step.subject, fused)),
            action => action.blocks().into_iter().for_each(|block| collect(block, groups)),
        }
    }
}

fn described(node: &str, fused: &Fused) -> Group {
    let operators = fused.block.steps.iter().filter_map(|step| match &step.action {
        Action::Call { operator, .. } => Some(operator.name().to_string()),
        _ => None,
    });
    let kernel = fused.kernel.as_ref();
    let count = |read: fn(&Counts) -> &AtomicU64| {
        kernel.map_or(0, |kernel| read(&kernel.counts).load(Ordering::Relaxed))
    };
    Group {
        node: node.to_owned(),
        operators: operators.collect(),
        level: kernel.map(|kernel| kernel.level().to_string()).map_err(Clone::clone),
        code_bytes: kernel.map_or(0, Kernel::code_bytes),
        compile_time: kernel.map_or(Duration::ZERO, |kernel| kernel.compile_time),
        fused_runs: count(|counts| &counts.fused),
        interpreted_runs: count(|counts| &counts.interpreted),
        bytes_saved: count(|counts| &counts.bytes_saved),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operators: usize = self.groups.iter().map(|group| group.operators.len()).sum();
        writeln!(
            f,
            "{} groups with {operators} operators, {} operators outside; compiled in {:.3?}",
            self.groups.len(),
            self.unfused.len(),
            self.compile_time
        )?;
        for group in &self.groups {
            writeln!(f, "{}: {}", group.node, group.operators.join(" "))?;
            match &group.level {
                Ok(level) => writeln!(
                    f,
                    "  {level}, {} bytes of code, compiled in {:.3?}; {} runs fused, {} interpreted, {} bytes saved",
                    group.code_bytes,
                    group.compile_time,
                    group.fused_runs,
                    group.interpreted_runs,
                    group.bytes_saved
                )?,
                Err(reason) => writeln!(f, "  not fused: {reason}")?,
            }
        }
        for Unfused { node, target, reason } in &self.unfused {
            writeln!(f, "{node}, {target}: {reason}")?;
        }
        Ok(())
    }
}
