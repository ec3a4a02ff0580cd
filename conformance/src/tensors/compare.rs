//! Compares what both sides answer.

use opgrid_core::{Complex64, DType, Kind, Scalar};
use opgrid_tensor::families::kind;

use super::answer::{Answer, Returned, TensorAnswer};
use super::case::{Block, Call, Case};
use super::hex;
use super::ours::Ours;
use super::tolerance::{self, Rounding};

pub use opgrid_samples::Part;

/// Something that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of the call.
    pub call: usize,
    /// What it is.
    pub part: Part,
    /// What we say.
    pub ours: String,
    /// What torch says.
    pub torch: String,
    /// The elements that differ: their number and dtype, ours and torch's.
    pub elements: Vec<(DType, Complex64, Complex64)>,
    /// The sizes of the result, where its strides differ.
    pub sizes: Vec<i64>,
}

/// Where a call of a case stands while it is compared.
struct Compared<'a> {
    side: &'a Ours,
    case: &'a Case,
    at: usize,
    found: Vec<Difference>,
    /// Whether a call before had no answer on meta tensors.
    lacks_meta: bool,
}

/// All differences between what we answered, with and without data, and torch; `side` knows our operators. The comparison
/// of a case ends at the first call with a difference, wanted or not: the calls after it have other arguments.
pub fn compare(
    side: &Ours,
    case: &Case,
    ours: &[Answer],
    meta: &[Answer],
    torch: &[Answer],
) -> Vec<Difference> {
    let mut compared = Compared { side, case, at: 0, found: Vec::new(), lacks_meta: false };
    for (at, (ours, torch)) in ours.iter().zip(torch).enumerate() {
        compared.at = at;
        compared.meta(ours, meta.get(at));
        match (&ours.outcome, &torch.outcome) {
            (Ok(one), Ok(other)) => compared.results(one, other),
            // What a call that both refuse has written before is left open.
            (Err(_), Err(_)) => continue,
            _ => compared.add(Part::Outcome, said(ours), said(torch)),
        }
        if ours.outcome.is_ok() && torch.outcome.is_ok() {
            compared.written(&ours.written, &torch.written);
        }
        if !compared.found.is_empty() {
            break;
        }
    }
    compared.found
}

fn said(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        Err(error) => error.clone(),
    }
}

/// A result as text.
pub fn text(value: &Returned) -> String {
    match value {
        Returned::Tensor(tensor) => format!(
            "{} {:?} strides {:?} offset {} {}: {}",
            tensor.dtype,
            tensor.sizes,
            tensor.strides,
            tensor.offset,
            match (tensor.same, tensor.block) {
                (Some(same), _) => format!("tensor {same}"),
                (None, Some(block)) => format!("of block {block}"),
                (None, None) => "new".to_owned(),
            },
            hex::elements(tensor.dtype, &tensor.bytes)
        ),
        Returned::Number(number) => format!("{number:?}"),
        Returned::Foreign(dtype) => format!("a tensor of {dtype}"),
        Returned::List(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(", ")),
        Returned::None => "nothing".to_owned(),
    }
}

impl Compared<'_> {
    fn call(&self) -> &Call {
        &self.case.calls[self.at]
    }

    fn add(&mut self, part: Part, ours: impl ToString, torch: impl ToString) {
        let (ours, torch) = (ours.to_string(), torch.to_string());
        self.found.push(Difference {
            call: self.at,
            part,
            ours,
            torch,
            elements: Vec::new(),
            sizes: Vec::new(),
        });
    }

    fn check<T: PartialEq + std::fmt::Debug>(&mut self, part: Part, ours: &T, torch: &T) {
        if ours != torch {
            self.add(part, format!("{ours:?}"), format!("{torch:?}"));
        }
    }

    fn results(&mut self, ours: &[Returned], torch: &[Returned]) {
        if ours.len() != torch.len() {
            self.add(Part::Kind, format!("{} results", ours.len()), format!("{} results", torch.len()));
            return;
        }
        for (one, other) in ours.iter().zip(torch) {
            match (one, other) {
                (Returned::Tensor(one), Returned::Tensor(other)) => self.tensors(one, other),
                (Returned::Number(one), Returned::Number(other)) if is_same_number(*one, *other) => {}
                (Returned::List(one), Returned::List(other)) => self.results(one, other),
                (Returned::None, Returned::None) => {}
                _ => self.add(Part::Kind, text(one), text(other)),
            }
        }
    }

    fn tensors(&mut self, one: &TensorAnswer, other: &TensorAnswer) {
        self.check(Part::DType, &one.dtype, &other.dtype);
        self.check(Part::Sizes, &one.sizes, &other.sizes);
        let found = self.found.len();
        self.check(Part::Strides, &one.strides, &other.strides);
        for difference in &mut self.found[found..] {
            difference.sizes.clone_from(&one.sizes);
        }
        self.check(Part::Offset, &one.offset, &other.offset);
        // An output without elements got memory for its elements; whether that is the old block grown is not seen.
        let block = |tensor: &TensorAnswer| tensor.block.filter(|_| tensor.same.is_none());
        self.check(Part::Identity, &(one.same, block(one)), &(other.same, block(other)));
        if (one.dtype, &one.sizes) == (other.dtype, &other.sizes) {
            // What is written to a tensor of the case is compared where it lies, with all that lies beside it.
            let of_case = one.block.is_some() && one.block == other.block;
            if !of_case || one.bytes.len() != other.bytes.len() || one.same.is_some() {
                self.elements(Part::Values, one.dtype, &one.bytes, &other.bytes);
            }
        }
    }

    fn written(&mut self, ours: &[(usize, Block)], torch: &[(usize, Block)]) {
        let empty = |block: &Block| block.bytes.is_empty();
        for at in 0..self.case.blocks.len() {
            let of = |written: &[(usize, Block)]| {
                written.iter().find(|(block, _)| *block == at).map(|(_, block)| block.clone())
            };
            let before = &self.case.blocks[at];
            let (one, other) = match (of(ours), of(torch)) {
                (None, None) => continue,
                // What was written before is not kept here; a chain of calls writes nothing.
                (one, other) => {
                    (one.unwrap_or_else(|| before.clone()), other.unwrap_or_else(|| before.clone()))
                }
            };
            // Memory that grew under a tensor without elements is seen through that tensor.
            if empty(before) || (empty(&one) && empty(&other)) {
                continue;
            }
            self.elements(Part::Written, before.dtype, &one.bytes, &other.bytes);
        }
    }

    /// Compares elements by the rounding of the call.
    fn elements(&mut self, part: Part, dtype: DType, ours: &[u8], torch: &[u8]) {
        let inexact = dtype.is_floating_point() || dtype.is_complex();
        let rounding =
            tolerance::for_call(self.side, self.call(), dtype.is_complex() || self.computes_complex());
        if ours == torch || rounding == Rounding::Unset {
            return;
        }
        let (one, other) = (hex::numbers(dtype, ours), hex::numbers(dtype, torch));
        if one.len() != other.len() {
            self.add(part, format!("{} elements", one.len()), format!("{} elements", other.len()));
            return;
        }
        let smallest = tolerance::smallest_step(self.case, self.call(), dtype);
        let (width, precision) = (dtype.size_in_bytes(), tolerance::precision(self.case, self.call(), dtype));
        // What one unit of a rounding is: of the result, or of all results alike.
        let units = match rounding {
            Rounding::Result(units) | Rounding::Near(units) => f64::from(units),
            Rounding::Power(units) => f64::from(units),
            Rounding::Sum(units) | Rounding::Products(units) => f64::from(units),
            _ => 0.0,
        };
        let is_sum = matches!(rounding, Rounding::Sum(_) | Rounding::Products(_));
        let largest_sum = match rounding {
            Rounding::Sum(_) => self.largest_sum(one.len()),
            Rounding::Products(_) => self.largest_sum(one.len()) * tolerance::largest(self.case, self.call()),
            _ => 0.0,
        };
        let largest = tolerance::largest_number(self.case, self.call(), dtype);
        let is_equal = |at: usize| {
            let bits = at * width..(at + 1) * width;
            if ours[bits.clone()] == torch[bits] {
                return true;
            }
            // A view of another dtype as bools may have any byte, of which all but zero are true.
            if dtype == DType::Bool && self.case.calls.len() > 1 && ours[at] != 0 && torch[at] != 0 {
                return true;
            }
            let (one, other) = match rounding {
                Rounding::Exact | Rounding::Sum(_) | Rounding::Products(_) => (one[at], other[at]),
                _ => tolerance::beside_infinity(one[at], other[at], largest),
            };
            // Of a number whose parts are near the end of the range the norm is beyond it.
            let norm = other.norm().min(if other.is_finite() { f64::MAX } else { f64::INFINITY });
            let distance = match rounding {
                Rounding::Exact => return inexact && is_nan_on_both(one, other, dtype),
                // Powers, roots and exponentials of sums may be larger than the sums.
                Rounding::Sum(_) | Rounding::Products(_) => units * precision * largest_sum.max(norm),
                Rounding::Near(_) => units * precision * norm.max(1.0),
                Rounding::Power(_) => {
                    let growth = tolerance::growth(self.case, self.call(), other);
                    units * growth * precision * norm
                }
                _ => units * precision * norm,
            };
            if is_sum && units * largest_sum > largest && !(one.is_finite() && other.is_finite()) {
                // The sum leaves the range in one order of the terms, and may not in the other.
                return true;
            }
            // Below the smallest normal number precision does not grow any more.
            let steps = match rounding {
                Rounding::Exact | Rounding::Unset => 0.0,
                Rounding::Power(_) => 64.0,
                // Each operation of a chain loses a part of a step.
                Rounding::Result(units) if units > 64 => 8.0,
                _ => 1.0,
            };
            let distance = distance.max(steps * smallest);
            inexact && tolerance::agree(one, other, if distance.is_nan() { 0.0 } else { distance })
        };
        let differing: Vec<usize> = (0..one.len()).filter(|at| !is_equal(*at)).collect();
        let Some(first) = differing.first() else { return };
        let show = |bytes: &[u8]| {
            let element = &bytes[first * width..(first + 1) * width];
            format!(
                "{} of {} elements differ, element {first} is {}",
                differing.len(),
                one.len(),
                hex::elements(dtype, element)
            )
        };
        let elements = differing.iter().map(|at| (dtype, one[*at], other[*at])).collect();
        let (ours, torch) = (show(ours), show(torch));
        self.found.push(Difference { call: self.at, part, ours, torch, elements, sizes: Vec::new() });
    }

    /// Whether an argument is complex.
    fn computes_complex(&self) -> bool {
        let call = self.call();
        let numbers = call.args().any(|arg| matches!(arg, super::case::Arg::Complex(_)));
        let is_complex = |at| self.case.dtype(at).is_some_and(DType::is_complex);
        numbers || call.tensors().into_iter().any(is_complex)
    }

    /// A number that no sum which the call may give exceeds.
    fn largest_sum(&self, results: usize) -> f64 {
        tolerance::largest_sum(self.side, self.case, self.call(), self.terms(results))
    }

    /// How many terms a sum has at most.
    fn terms(&self, results: usize) -> f64 {
        let numel = |at: usize| {
            let sizes = self.case.tensors.get(at).map(|view| view.sizes.iter().product::<i64>());
            sizes.unwrap_or(1) as f64
        };
        let most = self.call().tensors().into_iter().map(numel).fold(1.0, f64::max);
        if self.is_of_kind(&kind::REDUCTION) {
            return most / results.max(1) as f64;
        }
        if self.is_of_kind(&kind::INDEXING) {
            // Some elements may get more values than others.
            return 8.0 * most / results.max(1) as f64;
        }
        if self.is_of_kind(&kind::CONVOLUTION) {
            // Each place sums over a window in all channels of its group; gradients of filters over all places.
            return most;
        }
        if self.is_of_kind(&kind::PRODUCT) {
            let inner = |at: usize| self.case.tensors.get(at).and_then(|view| view.sizes.iter().max());
            let longest = self.call().tensors().into_iter().filter_map(inner).max();
            return longest.copied().unwrap_or(1) as f64 + 1.0;
        }
        1.0
    }

    /// Our meta tensors against our CPU tensors.
    fn meta(&mut self, ours: &Answer, meta: Option<&Answer>) {
        let Some(meta) = meta.filter(|_| !self.lacks_meta) else { return };
        // Numbers are on the CPU; an output elsewhere is another call.
        let outputs = self.side.outputs(self.call()).len();
        let has_device = self.call().positional.iter().any(|arg| is_number(arg) || is_empty_list(arg));
        if outputs > 0 && outputs == self.call().tensors().len() && has_device {
            return;
        }
        match (&ours.outcome, &meta.outcome) {
            (Ok(_), Ok(_)) => {
                let spec = |answer: &Answer| {
                    let each = answer.tensors().into_iter().map(|tensor| {
                        (tensor.dtype, tensor.sizes.clone(), tensor.strides.clone(), tensor.offset)
                    });
                    each.collect::<Vec<_>>()
                };
                let (cpu, meta) = (spec(ours), spec(meta));
                if cpu != meta {
                    self.add(Part::Meta, format!("meta {meta:?}"), format!("CPU {cpu:?}"));
                }
            }
            (Ok(_), Err(error)) if !self.reads_data() && !self.reads_number(error) => {
                self.add(Part::Meta, format!("meta {error}"), said(ours));
            }
            // The calls after it have other arguments.
            (Ok(_), Err(_)) => self.lacks_meta = true,
            _ => {}
        }
    }

    /// Whether what a call gives depends on elements, which meta tensors have not.
    fn reads_data(&self) -> bool {
        let call = self.call();
        let is_mask = |at| matches!(self.case.dtype(at), Some(DType::Bool | DType::U8));
        // What lists of masks name is as large as there are true elements; what is written there is not.
        let is_read =
            call.positional.len() == 2 && matches!(call.positional[1], super::case::Arg::Tensors(_));
        self.is_of_kind(&kind::QUESTION)
            || self.side.depends_on_elements(&call.operator)
            || is_read && call.tensors().into_iter().skip(1).any(is_mask)
    }

    /// Whether a call is refused because a tensor without dimensions stands for a number, and has none on the meta device.
    fn reads_number(&self, error: &str) -> bool {
        let has_no_dims = |at: usize| self.case.tensors.get(at).is_some_and(|view| view.sizes.is_empty());
        error.contains("aten::item") && self.call().tensors().into_iter().any(has_no_dims)
    }

    /// Whether the operator that is called is of a kind.
    fn is_of_kind(&self, kind: &Kind) -> bool {
        self.side.is_of_kind(&self.call().operator, kind)
    }
}

fn is_number(arg: &super::case::Arg) -> bool {
    use super::case::Arg;
    matches!(arg, Arg::Int(_) | Arg::Float(_) | Arg::Complex(_) | Arg::Bool(_))
}

fn is_empty_list(arg: &super::case::Arg) -> bool {
    matches!(arg, super::case::Arg::Tensors(list) if list.is_empty())
}

fn is_nan_on_both(one: Complex64, other: Complex64, dtype: DType) -> bool {
    let parts = [(one.re, other.re), (one.im, other.im)];
    let mut parts = parts.into_iter().take(if dtype.is_complex() { 2 } else { 1 });
    parts.all(|(one, other)| (one.is_nan() && other.is_nan()) || one.to_bits() == other.to_bits())
}

fn is_same_number(one: Scalar, other: Scalar) -> bool {
    match (one, other) {
        (Scalar::Float(one), Scalar::Float(other)) => one == other || (one.is_nan() && other.is_nan()),
        (Scalar::Complex(one), Scalar::Complex(other)) => tolerance::agree(one, other, 0.0),
        _ => one == other,
    }
}
