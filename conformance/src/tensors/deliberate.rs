//! The differences between our tensors and torch's that were decided: read from the operators' samples and from what
//! operators share, where each is decided.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::Scalar;
use opgrid_samples::departures;
use opgrid_samples::differences::{Argument, Operand, Seen};
use opgrid_tensor::Geometry;

pub use opgrid_samples::Difference as Decided;

use super::answer::Answer;
use super::case::{Arg, Call, Case, family};
use super::compare::Difference;
use super::elements;
use super::hex;
use super::ours::Ours;

/// The difference that concerns promotion itself.
pub const NARROW_COMPLEX: &str = "complex-of-16-bit-floats";

/// All differences that were decided.
#[derive(Clone, Debug)]
pub struct Differences {
    /// Decided differences of operators, by their families.
    own: Vec<(String, Decided)>,
    general: Vec<&'static Decided>,
}

impl Differences {
    /// Reads them.
    pub fn new() -> Self {
        let samples = opgrid_operators::samples();
        let own =
            samples.differences().map(|(family, difference)| (family.to_owned(), *difference)).collect();
        Self { own, general: departures::general() }
    }

    /// Each with the families that it belongs to, none where it belongs to all; in the order of their names.
    pub fn all(&self) -> Vec<(&Decided, BTreeSet<&str>)> {
        let mut found: BTreeMap<&str, (&Decided, BTreeSet<&str>)> = BTreeMap::new();
        for (family, difference) in &self.own {
            found.entry(difference.id).or_insert((difference, BTreeSet::new())).1.insert(family);
        }
        found.extend(self.general.iter().map(|difference| (difference.id, (*difference, BTreeSet::new()))));
        found.into_values().collect()
    }

    /// The one that explains a difference between answers: the operator's own first.
    /// `answers` are ours.
    pub fn explaining(
        &self,
        ours: &Ours,
        case: &Case,
        answers: &[Answer],
        difference: &Difference,
    ) -> Option<&Decided> {
        let call = &case.calls[difference.call];
        let arguments = arguments(ours, (case, answers), call);
        let kind = ours.kind(&call.operator);
        let seen = Seen {
            operator: &call.operator,
            default: case.default,
            arguments: &arguments,
            outputs: &ours.outputs(call),
            kind: kind.as_ref(),
            sizes: &difference.sizes,
            part: difference.part,
            ours: &difference.ours,
            torch: &difference.torch,
            elements: &difference.elements,
        };
        let own = self.own.iter().filter(|(known, _)| known == family(&call.operator));
        let mut all = own.map(|(_, difference)| difference).chain(self.general.iter().copied());
        all.find(|decided| decided.explains(&seen))
    }
}

impl Default for Differences {
    fn default() -> Self {
        Self::new()
    }
}

/// A case with our answers to its calls.
type Run<'a> = (&'a Case, &'a [Answer]);

/// The arguments of a call by their names in the schema.
fn arguments(ours: &Ours, case: Run<'_>, call: &Call) -> Vec<(String, Argument)> {
    let schema = ours.dispatcher().find(&call.operator).and_then(|operator| operator.schema());
    let name = |at: usize| {
        let argument = schema.as_ref().ok().and_then(|schema| schema.arguments.get(at));
        argument.map_or_else(|| at.to_string(), |argument| argument.name.clone())
    };
    let positional = call.positional.iter().enumerate().map(|(at, arg)| (name(at), argument(case, arg)));
    let keyword = call.keyword.iter().map(|(name, arg)| (name.clone(), argument(case, arg)));
    positional.chain(keyword).collect()
}

fn argument(case: Run<'_>, arg: &Arg) -> Argument {
    match arg {
        Arg::Tensor(at) => operand(case, *at).map_or(Argument::Other, Argument::Tensor),
        Arg::Tensors(list) => {
            Argument::Tensors(list.iter().map(|entry| entry.and_then(|at| operand(case, at))).collect())
        }
        Arg::Int(value) => Argument::Number(Scalar::Int(*value)),
        Arg::Float(value) => Argument::Number(Scalar::Float(*value)),
        Arg::Complex(value) => Argument::Number(Scalar::Complex(*value)),
        Arg::Bool(value) => Argument::Number(Scalar::Bool(*value)),
        Arg::None => Argument::None,
        Arg::DType(dtype) => Argument::DType(*dtype),
        Arg::Ints(list) => Argument::Ints(list.clone()),
        Arg::Floats(list) => Argument::Floats(list.clone()),
        Arg::Str(text) => Argument::Text(text.clone().into_owned()),
        _ => Argument::Other,
    }
}

/// A tensor that the case begins with, or the first one that a call gave.
fn operand((case, answers): Run<'_>, at: usize) -> Option<Operand> {
    let Some(view) = case.tensors.get(at) else { return result(case, &answers[..=at - case.tensors.len()]) };
    let block = &case.blocks[view.block];
    let geometry = Geometry::strided(&view.sizes, &view.strides, view.offset).ok()?;
    let all = hex::numbers(block.dtype, &block.bytes);
    let elements = elements::places(view).into_iter().filter_map(|at| all.get(at).copied()).collect();
    Some(Operand { memory: view.block, geometry, dtype: block.dtype, elements })
}

/// The first tensor that the last of these calls gave; that of a call before, where one gave none.
fn result(case: &Case, answers: &[Answer]) -> Option<Operand> {
    let Some((last, before)) = answers.split_last() else {
        return operand((case, &[]), case.tensors.len().checked_sub(1)?);
    };
    let Some(tensor) = last.tensors().first().copied() else { return result(case, before) };
    let geometry = Geometry::strided(&tensor.sizes, &tensor.strides, tensor.offset).ok()?;
    // New memory has a number of its own.
    let memory = tensor.block.unwrap_or(case.blocks.len() + before.len());
    Some(Operand {
        memory,
        geometry,
        dtype: tensor.dtype,
        elements: hex::numbers(tensor.dtype, &tensor.bytes),
    })
}
