//! Mistakes that are made in our answers, to see that the comparison notices them.

use std::collections::BTreeMap;
use std::fmt;

use opgrid_core::{DType, Scalar};

use super::answer::{Answer, Returned, TensorAnswer};

/// A mistake: what it is called, and what it makes of an answer; false where it has nothing to change.
pub type Mistake = (&'static str, fn(&mut Answer) -> bool);

/// A call is refused.
pub const REFUSAL: &str = "outcome";

/// What is wrong with elements.
pub const ON_ELEMENTS: [&str; 2] = ["element", "last result"];

/// All of them.
pub const MISTAKES: [Mistake; 9] = [
    (REFUSAL, refuse),
    ("dtype", |answer| first(answer, dtype)),
    ("sizes", |answer| first(answer, |tensor| add(&mut tensor.sizes))),
    ("strides", |answer| first(answer, stride)),
    ("offset", |answer| first(answer, offset)),
    ("identity", |answer| first(answer, identity)),
    ("element", |answer| first(answer, element)),
    ("last result", last),
    ("number", number),
];

/// How many of a hundred mistakes of a kind have to be noticed: a sign of zero is none, nor is one of NaN, and what a call
/// answers differently on purpose stays so.
const NOTICED: usize = 80;

/// After how many mistakes in the answers of an operator one has to be noticed.
const ENOUGH: usize = 10;

/// How many mistakes were made and noticed.
#[derive(Debug, Default)]
pub struct Noticed {
    operators: BTreeMap<(&'static str, String), [usize; 2]>,
}

impl Noticed {
    /// A mistake was made in an answer of an operator.
    pub fn record(&mut self, mistake: &'static str, operator: &str, is_noticed: bool) {
        let [made, noticed] = self.operators.entry((mistake, operator.to_owned())).or_default();
        *made += 1;
        *noticed += usize::from(is_noticed);
    }

    /// How often each mistake was made and noticed, by operators.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, &str, [usize; 2])> {
        self.operators.iter().map(|((mistake, operator), counts)| (*mistake, operator.as_str(), *counts))
    }

    fn total_of(&self, mistake: &str) -> [usize; 2] {
        let own = self.operators.iter().filter(|((kind, _), _)| *kind == mistake);
        own.fold([0, 0], |[made, noticed], (_, counts)| [made + counts[0], noticed + counts[1]])
    }

    /// What is not noticed as it should be.
    pub fn failures(&self) -> Vec<String> {
        let kinds = MISTAKES.iter().filter_map(|(mistake, _)| {
            let [made, noticed] = self.total_of(mistake);
            (noticed * 100 < made * NOTICED || made == 0)
                .then(|| format!("{mistake}: {noticed} of {made} noticed, expected {NOTICED} of 100"))
        });
        let operators = self.operators.iter().filter(|(_, [made, noticed])| *made >= ENOUGH && *noticed == 0);
        let operators = operators
            .map(|((mistake, name), [made, _])| format!("{mistake}: none of {made} noticed in {name}"));
        kinds.chain(operators).collect()
    }
}

impl fmt::Display for Noticed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "     made   noticed  mistake")?;
        for (mistake, _) in MISTAKES {
            let [made, noticed] = self.total_of(mistake);
            writeln!(f, "{made:9} {noticed:9}  {mistake}")?;
        }
        Ok(())
    }
}

fn refuse(answer: &mut Answer) -> bool {
    let is_ok = answer.outcome.is_ok();
    answer.outcome = Err("aten::mistake: refused".to_owned());
    is_ok
}

fn tensors(values: &mut [Returned]) -> Vec<&mut TensorAnswer> {
    fn tensor_answers(value: &mut Returned) -> Vec<&mut TensorAnswer> {
        match value {
            Returned::Tensor(tensor) => vec![tensor],
            Returned::List(list) => tensors(list),
            _ => Vec::new(),
        }
    }
    values.iter_mut().flat_map(tensor_answers).collect()
}

/// Changes the first tensor.
fn first(answer: &mut Answer, mistake: fn(&mut TensorAnswer) -> bool) -> bool {
    let Ok(values) = &mut answer.outcome else { return false };
    tensors(values).first_mut().is_some_and(|tensor| mistake(tensor))
}

/// Changes an element of the last of several results.
fn last(answer: &mut Answer) -> bool {
    let Ok(values) = &mut answer.outcome else { return false };
    let mut all = tensors(values);
    all.len() > 1 && all.last_mut().is_some_and(|tensor| element(tensor))
}

fn dtype(tensor: &mut TensorAnswer) -> bool {
    tensor.dtype = if tensor.dtype == DType::F32 { DType::F64 } else { DType::F32 };
    true
}

fn offset(tensor: &mut TensorAnswer) -> bool {
    tensor.offset += 1;
    true
}

fn add(sizes: &mut Vec<i64>) -> bool {
    sizes.push(1);
    true
}

/// Moves the elements of a dimension that has several.
fn stride(tensor: &mut TensorAnswer) -> bool {
    if tensor.sizes.contains(&0) {
        return false;
    }
    let reached = tensor.sizes.iter().zip(&mut tensor.strides).find(|(size, _)| **size > 1);
    reached.map(|(_, stride)| *stride += 1).is_some()
}

/// An argument becomes a new tensor, and a new tensor the first argument.
fn identity(tensor: &mut TensorAnswer) -> bool {
    tensor.same = if tensor.same.is_none() { Some(0) } else { None };
    true
}

/// Turns the highest bit of an element that is not zero; of a new tensor, for others are compared where they lie.
fn element(tensor: &mut TensorAnswer) -> bool {
    let width = tensor.dtype.size_in_bytes();
    let is_compared = tensor.block.is_none() || tensor.same.is_some();
    let mut elements = tensor.bytes.chunks_mut(width).filter(|element| element.iter().any(|byte| *byte != 0));
    let Some(element) = elements.next_back().filter(|_| is_compared) else { return false };
    let mask = if tensor.dtype == DType::Bool { 1 } else { 0x80 };
    element[width - 1] ^= mask;
    true
}

fn number(answer: &mut Answer) -> bool {
    let Ok([Returned::Number(number)]) = answer.outcome.as_deref_mut() else { return false };
    let other = match *number {
        Scalar::Bool(value) => Scalar::Bool(!value),
        Scalar::Int(value) => Scalar::Int(value.wrapping_add(1)),
        Scalar::UInt(value) => Scalar::from(value.wrapping_add(1)),
        Scalar::Float(value) => Scalar::Float(if value.is_nan() { 0.0 } else { value + 1.0 + value.abs() }),
        Scalar::Complex(_) => Scalar::Bool(true),
    };
    *number = other;
    true
}
