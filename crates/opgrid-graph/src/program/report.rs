//! What is fused in a program, what is not, and how often groups ran.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Program;
use super::fused::{Counts, Fused, Kernel};
use super::plan::{Action, Plan};

/// A node that is in no group, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfused {
    /// What the node is called in errors.
    pub node: String,
    /// The operator.
    pub target: String,
    /// Why it is in no group.
    pub reason: String,
}

/// What a compiled program has besides its plan.
#[derive(Debug, Default)]
pub(crate) struct Compilation {
    pub(crate) unfused: Vec<Unfused>,
    pub(crate) compile_time: Duration,
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
    /// What is fused in the program: nothing unless it was [compiled](Self::compiled).
    pub fn report(&self) -> Report {
        let mut groups = Vec::new();
        collect(&self.plan, &mut groups);
        let Compilation { unfused, compile_time } = &self.compilation;
        Report { groups, unfused: unfused.clone(), compile_time: *compile_time }
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
            "groups: {}, operators in them: {operators}, operators outside: {}, compiled in {:.3?}",
            self.groups.len(),
            self.unfused.len(),
            self.compile_time
        )?;
        for group in &self.groups {
            writeln!(f, "{}: {}", group.node, group.operators.join(" "))?;
            match &group.level {
                Ok(level) => writeln!(
                    f,
                    "  {level}, bytes of code: {}, compiled in {:.3?}; runs fused: {}, interpreted: {}, bytes saved: {}",
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
