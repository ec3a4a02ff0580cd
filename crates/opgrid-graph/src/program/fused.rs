//! Groups of pointwise nodes that run as one loop.
//!
//! A group is a block, so that it can always be interpreted. A kernel computes it in one loop where that gives the same: on ordinary
//! tensors on the CPU with the dtypes that it was made for, while no layer of the thread has to see the calls and nothing is recorded
//! for gradients. Sizes and strides of the results are those that the nodes give for tensors without memory; they are kept for the
//! geometries of the last runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opgrid_array::{Array, Geometry, TensorSpec};
use opgrid_core::{DType, Device, DispatchKeySet, LocalKeys, Result, TensorType as _, Value};
use opgrid_jit::Level;
use opgrid_tensor::Tensor;
use smallvec::SmallVec;

use super::limits::StepsLeft;
use super::lowering::{self, InputType, Lowered};
use super::observe::NoObserver;
use super::plan::{Operand, Plan};
use super::run;
use crate::graph::Variable;
use crate::graph::types::ValueType;

/// For how many geometries of the inputs the results' are kept.
const KEPT_GEOMETRIES: usize = 8;

/// A block of pointwise nodes, with the loop that computes them.
#[derive(Debug)]
pub(super) struct Fused {
    pub(super) block: Plan,
    /// The loop, or why there is none.
    pub(super) kernel: std::result::Result<Kernel, String>,
}

/// A loop for a block.
#[derive(Debug)]
pub(super) struct Kernel {
    program: opgrid_jit::Program,
    inputs: Vec<InputType>,
    /// The keys of a call that concerns nobody but the CPU's kernels.
    plain: DispatchKeySet,
    geometries: Mutex<Vec<Geometries>>,
    pub(super) compile_time: Duration,
    /// Bytes that eager code moves more than the loop does, for each element.
    bytes_per_element: u64,
    pub(super) counts: Counts,
}

/// How often a kernel ran.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) fused: AtomicU64,
    pub(super) interpreted: AtomicU64,
    pub(super) bytes_saved: AtomicU64,
}

/// What a block gives for inputs that lie in a certain way; `None` if the loop cannot give that.
#[derive(Debug)]
struct Geometries {
    inputs: Vec<Geometry>,
    outputs: Option<Vec<TensorSpec>>,
}

/// Checks that a block has a loop.
///
/// # Errors
///
/// Why it has none.
pub(super) fn check(block: &Plan, parameters: &[Variable]) -> Result<()> {
    let inputs = parameters.iter().map(input_type).collect::<Result<Vec<_>>>()?;
    lowering::lower(block, &inputs).map(drop)
}

impl Fused {
    /// A block, and the loop for it if there can be one.
    pub(super) fn new(block: Plan, parameters: &[Variable]) -> Self {
        let kernel = Kernel::new(&block, parameters).map_err(|error| error.message().to_owned());
        Self { block, kernel }
    }

    /// The results of the loop; `None` where the block is to be interpreted.
    pub(super) fn run(&self, operands: &[Operand], slots: &[Value]) -> Result<Option<Vec<Value>>> {
        let Ok(kernel) = &self.kernel else { return Ok(None) };
        let results = kernel.run(&self.block, operands, slots)?;
        let count = if results.is_some() { &kernel.counts.fused } else { &kernel.counts.interpreted };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(results)
    }
}

impl Kernel {
    fn new(block: &Plan, parameters: &[Variable]) -> Result<Self> {
        let start = Instant::now();
        let inputs = parameters.iter().map(input_type).collect::<Result<Vec<_>>>()?;
        let Lowered { expression, eager_bytes } = lowering::lower(block, &inputs)?;
        let program = opgrid_jit::Program::new(expression, Level::best())?;
        let read = inputs.iter().filter(|input| !input.is_scalar).map(|input| input.dtype.size_in_bytes());
        let moved = read.chain(program.output_dtypes().map(DType::size_in_bytes)).sum();
        let plain =
            LocalKeys::DEFAULT.apply(Tensor::allocate_contiguous(&[], DType::F32, Device::CPU)?.keys());
        Ok(Self {
            program,
            inputs,
            plain,
            geometries: Mutex::default(),
            compile_time: start.elapsed(),
            bytes_per_element: eager_bytes.saturating_sub(moved) as u64,
            counts: Counts::default(),
        })
    }

    /// How the loop computes.
    pub(super) fn level(&self) -> Level {
        self.program.level()
    }

    /// Bytes of machine code.
    pub(super) fn code_bytes(&self) -> usize {
        self.program.code_bytes()
    }

    fn run(&self, block: &Plan, operands: &[Operand], slots: &[Value]) -> Result<Option<Vec<Value>>> {
        let local = LocalKeys::current();
        let mut tensors: SmallVec<[&Tensor; 8]> = SmallVec::new();
        let mut keys = DispatchKeySet::EMPTY;
        for (operand, expected) in operands.iter().zip(&self.inputs) {
            let value = match operand {
                Operand::Slot(slot) => &slots[*slot],
                Operand::Constant(value) => value,
                Operand::List(..) => return Ok(None),
            };
            let Value::Tensor(handle) = value else { return Ok(None) };
            let Some(tensor) = Tensor::from_any_ref(handle) else { return Ok(None) };
            let Some(spec) = tensor.array_spec() else { return Ok(None) };
            let is_expected = spec.dtype() == expected.dtype
                && spec.sizes().is_empty() == expected.is_scalar
                && spec.device() == Device::CPU;
            if !is_expected {
                return Ok(None);
            }
            keys |= tensor.keys();
            tensors.push(tensor);
        }
        if tensors.len() != self.inputs.len() || !self.plain.has_all(local.apply(keys)) {
            return Ok(None);
        }
        let Some(outputs) = self.allocate(block, &tensors)? else { return Ok(None) };
        self.compute(&outputs, &tensors)?;
        let numel = outputs.first().map_or(0, |output| output.numel().unsigned_abs());
        self.counts.bytes_saved.fetch_add(numel * self.bytes_per_element, Ordering::Relaxed);
        Ok(Some(outputs.into_iter().map(Value::from).collect()))
    }

    fn compute(&self, outputs: &[Tensor], inputs: &[&Tensor]) -> Result<()> {
        let inputs = inputs.iter().map(|input| input.array()).collect::<Result<SmallVec<[&Array; 8]>>>()?;
        let targets = outputs.iter().map(Tensor::array).collect::<Result<SmallVec<[&Array; 4]>>>()?;
        self.program.run(&targets, &inputs)
    }

    /// Tensors for the results; `None` where the loop cannot give what the nodes give.
    fn allocate(&self, block: &Plan, inputs: &[&Tensor]) -> Result<Option<Vec<Tensor>>> {
        // Who cannot have the list, as after a fork from another thread, works without it.
        let Ok(mut known) = self.geometries.try_lock() else {
            return allocated(self.outputs(block, inputs).as_deref());
        };
        let is_alike =
            |known: &&Geometries| {
                known.inputs.iter().zip(inputs).all(|(known, input)| {
                    known.sizes() == input.sizes() && known.strides() == input.strides()
                })
            };
        if let Some(found) = known.iter().find(is_alike) {
            return allocated(found.outputs.as_deref());
        }
        let outputs = self.outputs(block, inputs);
        let result = allocated(outputs.as_deref());
        if known.len() == KEPT_GEOMETRIES {
            known.remove(0);
        }
        let inputs = inputs.iter().map(|input| input.geometry().at_start()).collect();
        known.push(Geometries { inputs, outputs });
        result
    }

    /// What the nodes give for tensors that lie so, without memory.
    fn outputs(&self, block: &Plan, inputs: &[&Tensor]) -> Option<Vec<TensorSpec>> {
        let without_memory = |input: &&Tensor| {
            let spec = TensorSpec::new(input.geometry().at_start(), input.dtype(), Device::META);
            Tensor::allocate(spec).map(|tensor| Value::from(&tensor))
        };
        let inputs = inputs.iter().map(without_memory).collect::<Result<Vec<_>>>().ok()?;
        // They are held, so that no result takes the place of one, with its strides.
        let held = inputs.clone();
        let results = run::run(block, inputs, None, &mut NoObserver, &mut StepsLeft::unlimited(), 0).ok()?;
        drop(held);
        let mut specs: Vec<TensorSpec> = Vec::with_capacity(results.len());
        for (result, dtype) in results.into_iter().zip(self.program.output_dtypes()) {
            let Value::Tensor(result) = result else { return None };
            let result = Tensor::try_from(result).ok()?;
            let is_expected =
                result.dtype() == dtype && specs.first().is_none_or(|first| first.sizes() == result.sizes());
            if !is_expected {
                return None;
            }
            specs.push(TensorSpec::new(result.geometry().at_start(), dtype, Device::CPU));
        }
        Some(specs)
    }
}

fn allocated(specs: Option<&[TensorSpec]>) -> Result<Option<Vec<Tensor>>> {
    specs.map(|specs| specs.iter().map(Tensor::allocate_like).collect()).transpose()
}

fn input_type(parameter: &Variable) -> Result<InputType> {
    match &parameter.kind {
        ValueType::Tensor(kind) if opgrid_jit::is_supported(kind.dtype) => {
            Ok(InputType { dtype: kind.dtype, is_scalar: kind.sizes.is_empty() })
        }
        kind => Err(crate::error::unsupported(format!(
            "`%{}` is {kind}, expected a tensor of a dtype that is fused",
            parameter.name
        ))),
    }
}
