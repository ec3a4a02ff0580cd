//! What leaves get from a backward pass is theirs alone, and a call that is recorded can be differentiated.

use opgrid_core::schema::Argument;
use opgrid_core::{DType, Device, ErrorKind, Result};
use opgrid_samples::{Given, Plain, Sample};
use opgrid_tensor::layers::autograd::{self, BackwardOptions, enable_grad};
use opgrid_tensor::{Geometry, Tensor};

use super::gradients::{call_with, has_gradients, with_leaves};
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Case;
use crate::target::{guarded, is_panic};

/// Gradients share no memory with those of other leaves, with arguments, results or the gradients given.
pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let is_fit = is_recorded(case) && !is_too_large(&case.sample);
    let of_graph = [false, true].into_iter().filter(|_| is_fit).filter_map(|create_graph| {
        let recorded = match Recorded::from_call(case, &case.sample) {
            Ok(recorded) => recorded?,
            // Whether a sample is right is for other checks.
            Err(_) => return None,
        };
        let passed = match recorded.backward(case, create_graph) {
            Ok(()) => recorded.check_own(),
            Err(error) if error.kind() == ErrorKind::NotImplemented => return None,
            Err(error) => Err(Fault::error(error)),
        };
        Some(passed.map_err(|fault| fault.about(format!("create_graph {create_graph}"))))
    });
    of_graph.collect()
}

/// Arguments of other shapes are refused by the call, or have gradients of their shapes.
pub(super) fn misfits_on_case(case: &Case<'_>) -> Vec<Verdict> {
    if !is_recorded(case) || is_too_large(&case.sample) {
        return Vec::new();
    }
    let verdict = |(about, sample): (String, Sample)| match Recorded::from_call(case, &sample) {
        Err(error) if is_panic(&error) => Some(Err(Fault::error(error).about(about))),
        Err(_) | Ok(None) => None,
        Ok(Some(recorded)) => match recorded.backward(case, false) {
            Ok(()) => Some(recorded.check_sizes().map_err(|fault| fault.about(about))),
            Err(error) if error.kind() == ErrorKind::NotImplemented => None,
            Err(error) => {
                let found =
                    format!("a call that is accepted, and the error \"{error}\" in its backward pass");
                Some(Err(Fault::wrong(found, "a call that is refused, or gradients").about(about)))
            }
        },
    };
    misfits(&case.sample).into_iter().filter_map(verdict).collect()
}

fn is_recorded(case: &Case<'_>) -> bool {
    let is_exact = matches!(case.dtype, DType::F64 | DType::Complex128);
    let writes_output = case.subject.schema.arguments.iter().any(Argument::is_out);
    is_exact && !writes_output && case.subject.target.device == Device::CPU && has_gradients(case)
}

fn is_too_large(sample: &Sample) -> bool {
    sample.arguments().flat_map(Given::tensors).map(|plain| plain.elements().len()).sum::<usize>() > 2000
}

/// A call that was recorded.
struct Recorded {
    leaves: Vec<Tensor>,
    /// Arguments that are no leaves, and results.
    others: Vec<Tensor>,
    results: Vec<Tensor>,
    seeds: Vec<Option<Tensor>>,
}

impl Recorded {
    /// Calls the operator with arguments that require gradients; nothing where no result does.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    fn from_call(case: &Case<'_>, sample: &Sample) -> Result<Option<Self>> {
        let subject = case.subject;
        let arguments = subject.arguments(&subject.target, sample, Memory::Contiguous)?;
        let inputs = with_leaves(case, &arguments)?;
        let leaves = inputs.iter().filter(|input| input.requires_grad()).cloned().collect();
        let call = || call_with(case, &arguments, &inputs);
        let all = guarded(|| subject.target.dispatcher.within(|| enable_grad(call)))?;
        let results: Vec<Tensor> = all.iter().filter(|result| result.requires_grad()).cloned().collect();
        if results.is_empty() {
            return Ok(None);
        }
        let ones = |result: &Tensor| {
            let geometry = Geometry::contiguous(result.sizes())?;
            Plain::from_elements(result.dtype(), geometry.sizes(), &[1.0]).to_tensor().map(Some)
        };
        let seeds = results.iter().map(ones).collect::<Result<_>>()?;
        Ok(Some(Self { leaves, others: [inputs, all].concat(), results, seeds }))
    }

    fn backward(&self, case: &Case<'_>, create_graph: bool) -> Result<()> {
        let results: Vec<&Tensor> = self.results.iter().collect();
        let options = BackwardOptions { create_graph, ..BackwardOptions::default() };
        let run = || autograd::backward(&results, &self.seeds, None, options);
        guarded(|| case.subject.target.dispatcher.within(run))
    }

    fn check_own(&self) -> Verdict {
        self.check_sizes()?;
        let grads: Vec<(usize, Tensor)> =
            self.leaves.iter().enumerate().filter_map(|(at, leaf)| Some((at, leaf.grad()?))).collect();
        for (at, grad) in &grads {
            if grad.numel() == 0 {
                continue;
            }
            let repeats =
                grad.sizes().iter().zip(grad.strides()).any(|(size, stride)| *size > 1 && *stride == 0);
            if repeats {
                let found = format!("a gradient of leaf {at} that repeats elements in memory");
                return Err(Fault::wrong(found, "one with memory for each element"));
            }
            let others =
                grads.iter().filter(|(other, _)| other != at).map(|(_, grad)| ("another leaf's", grad));
            let others = others
                .chain(self.others.iter().map(|tensor| ("that of an argument or a result", tensor)))
                .chain(self.seeds.iter().flatten().map(|tensor| ("that of a gradient given", tensor)));
            if let Some((whose, _)) = others.into_iter().find(|(_, other)| shares(grad, other)) {
                let found = format!("a gradient of leaf {at} in memory that is {whose}, too");
                return Err(Fault::wrong(found, "one with memory of its own"));
            }
        }
        Ok(())
    }

    fn check_sizes(&self) -> Verdict {
        for (at, leaf) in self.leaves.iter().enumerate() {
            if let Some(grad) = leaf.grad()
                && (grad.sizes() != leaf.sizes() || grad.dtype() != leaf.dtype())
            {
                let found =
                    format!("a gradient of leaf {at} of shape {:?} and {}", grad.sizes(), grad.dtype());
                return Err(Fault::wrong(found, format!("shape {:?} and {}", leaf.sizes(), leaf.dtype())));
            }
        }
        Ok(())
    }
}

fn shares(one: &Tensor, other: &Tensor) -> bool {
    match (one.array(), other.array()) {
        (Ok(one), Ok(other)) => one.storage().is_same(other.storage()),
        _ => false,
    }
}

/// The sample with another shape of one of its tensors, and what was changed.
fn misfits(sample: &Sample) -> Vec<(String, Sample)> {
    let count = sample.positional.len() + sample.keyword.len();
    let mut all = Vec::new();
    for at in 0..count {
        let given = if at < sample.positional.len() {
            &sample.positional[at]
        } else {
            &sample.keyword[at - sample.positional.len()].1
        };
        let Given::Tensor(plain) = given else { continue };
        for sizes in other_sizes(plain.sizes()) {
            let elements: &[_] = if plain.elements().is_empty() { &[] } else { plain.elements() };
            let about = format!("argument {at} of shape {sizes:?} in place of {:?}", plain.sizes());
            let changed = Given::Tensor(Plain::from_elements(plain.dtype(), &sizes, elements));
            let mut other = sample.clone();
            if at < sample.positional.len() {
                other.positional[at] = changed;
            } else {
                other.keyword[at - sample.positional.len()].1 = changed;
            }
            all.push((about, other));
        }
    }
    all
}

/// Shapes that are like one, and not the same: of fewer and more dimensions, of size 1 and one larger.
fn other_sizes(sizes: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new(), vec![1], vec![2, 2]];
    all.extend(sizes.split_first().map(|(_, rest)| rest.to_vec()));
    all.extend([1, 2].map(|front| [&[front], sizes].concat()));
    for dim in 0..sizes.len() {
        for size in [1, sizes[dim] + 1] {
            let mut changed = sizes.to_vec();
            changed[dim] = size;
            all.push(changed);
        }
    }
    all.retain(|other| other != sizes);
    all
}
