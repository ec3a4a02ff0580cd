//! The checks, one file each. A check judges an operator as a whole, or each of its samples.

mod batches;
mod dtypes;
mod edges;
mod functional;
mod gradients;
mod in_place;
mod leaves;
mod meta;
mod output;
mod random;
mod reference;
mod refusals;
mod strides;
mod tangents;
mod typed;
mod views;

use std::fmt;

use opgrid_core::{AnyTensor, DType, List, Result, TensorType, Value};
use opgrid_tensor::Tensor;

use crate::fault::Verdict;
use crate::subject::{Case, Subject};

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Check {
    /// The result is that of the plain reference.
    Reference,
    /// There are samples without elements and without dimensions, and their results are those of the reference.
    Edges,
    /// A call on meta tensors gives sizes, strides and dtype of the result.
    Meta,
    /// A typed call gives what a boxed one gives.
    Typed,
    /// Inputs in another order in memory, with gaps, offsets and repeated elements, give the result of the reference.
    Strides,
    /// A view shares the memory of what it is a view of.
    Views,
    /// The overload that writes its first argument writes there what the functional one gives, or refuses; also where other
    /// tensors lie beside it in one memory.
    InPlace,
    /// The overload that takes an output writes there what the functional one gives, also where inputs or other outputs lie
    /// beside it in one memory; unfit outputs are refused.
    Output,
    /// What the samples declare as an error is one, on meta tensors too, and says what is declared.
    Refusals,
    /// Dtypes that are not declared are refused.
    Dtypes,
    /// Random numbers are the same after the same seed, and others after another.
    Random,
    /// Gradients are those of small differences, where a layer records them.
    Gradients,
    /// So are gradients of gradients.
    SecondGradients,
    /// Gradients that leaves get share memory with nothing else, also where the backward pass is recorded.
    OwnGradients,
    /// Arguments of other shapes are refused by the call, or have gradients; they are not refused in the backward pass.
    Misfits,
    /// On a batch, the operator gives what it gives for each example, whichever arguments are batches.
    Batches,
    /// Tangents in forward mode are small differences.
    Tangents,
    /// Where writes become results, results and written tensors are those of the operator in place, also through views.
    Functional,
}

impl Check {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Reference,
        Self::Edges,
        Self::Meta,
        Self::Typed,
        Self::Strides,
        Self::Views,
        Self::InPlace,
        Self::Output,
        Self::Refusals,
        Self::Dtypes,
        Self::Random,
        Self::Gradients,
        Self::SecondGradients,
        Self::OwnGradients,
        Self::Misfits,
        Self::Batches,
        Self::Tangents,
        Self::Functional,
    ];

    /// The check's name, as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Edges => "edges",
            Self::Meta => "meta",
            Self::Typed => "typed",
            Self::Strides => "strides",
            Self::Views => "views",
            Self::InPlace => "in place",
            Self::Output => "output",
            Self::Refusals => "refusals",
            Self::Dtypes => "dtypes",
            Self::Random => "random",
            Self::Gradients => "gradients",
            Self::SecondGradients => "second gradients",
            Self::OwnGradients => "own gradients",
            Self::Misfits => "misfits",
            Self::Batches => "batches",
            Self::Tangents => "tangents",
            Self::Functional => "functional",
        }
    }

    /// Judges an operator as a whole: what was tried, and how it went.
    pub(crate) fn on_subject(self, subject: &Subject<'_>, dtypes: &[DType]) -> Vec<(String, Verdict)> {
        match self {
            Self::Edges => edges::on_subject(subject, dtypes),
            Self::Refusals => refusals::on_subject(subject),
            Self::Dtypes => dtypes::on_subject(subject, dtypes),
            _ => Vec::new(),
        }
    }

    /// Judges a sample.
    pub(crate) fn on_case(self, case: &Case<'_>) -> Vec<Verdict> {
        match self {
            Self::Reference => vec![reference::on_case(case)],
            Self::Edges => edges::on_case(case),
            Self::Meta => vec![meta::on_case(case)],
            Self::Typed => vec![typed::on_case(case)],
            Self::Strides => strides::on_case(case),
            Self::Views => views::on_case(case),
            Self::InPlace => in_place::on_case(case),
            Self::Output => output::on_case(case),
            Self::Random => random::on_case(case),
            Self::Gradients => gradients::on_case(case),
            Self::SecondGradients => gradients::second_on_case(case),
            Self::OwnGradients => leaves::on_case(case),
            Self::Misfits => leaves::misfits_on_case(case),
            Self::Batches => batches::on_case(case),
            Self::Tangents => tangents::on_case(case),
            Self::Functional => functional::on_case(case),
            Self::Refusals | Self::Dtypes => Vec::new(),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The argument with other tensors in place of its own, those in lists too.
fn with_tensors(argument: &Value, body: &mut dyn FnMut(Tensor) -> Result<Tensor>) -> Result<Value> {
    let mut one = |tensor: &AnyTensor| body(Tensor::try_from(tensor.clone())?).map(Tensor::into_any);
    Ok(match argument {
        Value::Tensor(tensor) => one(tensor)?.into(),
        Value::List(list) => match &**list {
            List::Tensors(list) => List::Tensors(list.iter().map(one).collect::<Result<_>>()?).into(),
            List::OptionalTensors(list) => {
                let each = list.iter().map(|tensor| tensor.as_ref().map(&mut one).transpose());
                List::OptionalTensors(each.collect::<Result<_>>()?).into()
            }
            _ => argument.clone(),
        },
        _ => argument.clone(),
    })
}
