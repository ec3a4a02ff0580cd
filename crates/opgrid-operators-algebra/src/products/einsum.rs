//! `aten::einsum`: sums of products, with letters for dimensions.
//!
//! `einsum("ij,jk->ik", [x, y])` is the product of two matrices: dimensions of one letter go together, and those whose letter
//! is not behind the arrow are summed over
//!
//! - Equation: for each tensor as many letters `a` to `z` and `A` to `Z` as it has dimensions, separated by commas; `...`
//!   stands for dimensions without letters, which broadcast from the last on. A letter that stands twice for one tensor takes
//!   its diagonal. Without an arrow the result has `...` and then the letters that stand once, `A` to `Z` first.
//! - Shapes: dimensions of one letter have one size, or 1.
//! - Dtypes: one for all where products are summed over, no bools; otherwise as `mul`. What only one tensor has is summed over
//!   as by `sum` before, so that integers become int64, as in torch.
//! - Order: from the first tensor to the last, or by `path`: pairs of tensors, whose product comes behind the others.
//! - Dispatch: a composite of `mm`, `bmm`, `mul`, `sum` and views; a view where nothing is summed or multiplied.
//! - Errors: an equation that says something else, letters behind the arrow that are new or stand twice, sizes that do not
//!   broadcast, another number of tensors.
//! - Source: torch.einsum, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{AsStrided, Bmm, Mm, MulTensor, Permute, Reshape, SumDim};

pub use opgrid_tensor::ops::products::einsum::*;

pub(super) fn register(library: &mut Library) {
    library.define(Einsum).kind(&kind::PRODUCT).column(VariadicTensors).implicit(einsum);
}

/// What a dimension is called: a place in `...`, counted from its end, or a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Unnamed(usize),
    Letter(char),
}

/// What an equation says of some tensors.
struct Equation {
    /// The labels of each tensor's dimensions.
    inputs: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl Equation {
    fn parse(equation: &str, shapes: &[&[i64]]) -> Result<Self> {
        let text: String = equation.chars().filter(|letter| *letter != ' ').collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let parts: Vec<&str> = left.split(',').collect();
        if parts.len() != shapes.len() {
            let message = format!(
                "argument `equation` has subscripts for {} tensors, found {}",
                parts.len(),
                shapes.len()
            );
            return Err(argument(message));
        }
        let mut inputs = Vec::new();
        let mut unnamed = 0;
        for (number, (part, sizes)) in parts.iter().zip(shapes).enumerate() {
            let (before, after) = split(part)?;
            let named = before.len() + after.as_ref().map_or(0, Vec::len);
            let own = match (sizes.len().checked_sub(named), &after) {
                (Some(own), Some(_)) => own,
                (Some(0), None) => 0,
                _ => {
                    let message = format!(
                        "tensor {number} has {} dimensions, but {named} subscripts in `{part}` of the \
                         equation",
                        sizes.len()
                    );
                    return Err(argument(message));
                }
            };
            unnamed = unnamed.max(own);
            let middle = (0..own).rev().map(Label::Unnamed);
            inputs
                .push(before.into_iter().chain(middle).chain(after.unwrap_or_default()).collect::<Vec<_>>());
        }
        let output = match right {
            Some(right) => {
                let (before, after) = split(right)?;
                let middle: Vec<Label> = if after.is_some() {
                    (0..unnamed).rev().map(Label::Unnamed).collect()
                } else {
                    Vec::new()
                };
                [before, middle, after.unwrap_or_default()].concat()
            }
            None => {
                let all = inputs.concat();
                let once = |label: &&Label| all.iter().filter(|other| other == label).count() == 1;
                let mut letters: Vec<Label> = all
                    .iter()
                    .filter(|label| matches!(label, Label::Letter(_)))
                    .filter(once)
                    .copied()
                    .collect();
                letters.sort_unstable();
                (0..unnamed).rev().map(Label::Unnamed).chain(letters).collect()
            }
        };
        for (at, label) in output.iter().enumerate() {
            let Label::Letter(letter) = label else { continue };
            if output[..at].contains(label) {
                return Err(argument(format!(
                    "subscript `{letter}` occurs twice in the output of the equation"
                )));
            }
            if inputs.iter().all(|labels| !labels.contains(label)) {
                return Err(argument(format!(
                    "subscript `{letter}` occurs only in the output of the equation"
                )));
            }
        }
        Ok(Self { inputs, output })
    }
}

/// Letters before `...` and behind it, if it is there.
fn split(part: &str) -> Result<(Vec<Label>, Option<Vec<Label>>)> {
    let letters = |text: &str| -> Result<Vec<Label>> {
        let label = |letter: char| {
            if letter.is_ascii_alphabetic() {
                Ok(Label::Letter(letter))
            } else {
                Err(argument(format!(
                    "found `{letter}` in the equation, expected letters a-z and A-Z or `...`"
                )))
            }
        };
        text.chars().map(label).collect()
    };
    match part.split_once("...") {
        Some((before, after)) => Ok((letters(before)?, Some(letters(after)?))),
        None => Ok((letters(part)?, None)),
    }
}

/// A tensor with a label for each dimension, each once.
struct Operand {
    tensor: Tensor,
    labels: Vec<Label>,
}

fn einsum(equation: &str, tensors: &[Tensor], path: Option<&[i64]>) -> Result<Tensor> {
    if tensors.is_empty() {
        return Err(argument("argument `tensors` is empty, expected at least one tensor"));
    }
    tensors.iter().try_for_each(|tensor| tensor.spec().map(drop))?;
    let shapes: Vec<&[i64]> = tensors.iter().map(Tensor::sizes).collect();
    let Equation { inputs, output } = Equation::parse(equation, &shapes)?;
    let sizes = sizes(&inputs, &shapes)?;
    let operands = tensors.iter().zip(inputs).map(|(tensor, labels)| Operand::new(tensor, labels, &sizes));
    let mut operands = operands.collect::<Result<Vec<_>>>()?;
    for step in 0..tensors.len() - 1 {
        let (first, second) = pair(path, step, operands.len())?;
        // The later one first, so that the other keeps its place.
        let (b, a) = (operands.remove(first.max(second)), operands.remove(first.min(second)));
        let (a, b) = if first < second { (a, b) } else { (b, a) };
        let later = |label: &Label| {
            output.contains(label) || operands.iter().any(|operand| operand.labels.contains(label))
        };
        let product = multiplied(a, b, &later, &output)?;
        // Without a path the product is multiplied by the next tensor.
        match path {
            Some(_) => operands.push(product),
            None => operands.insert(0, product),
        }
    }
    operands.remove(0).finished(&output)
}

/// The size of each label.
fn sizes(inputs: &[Vec<Label>], shapes: &[&[i64]]) -> Result<Vec<(Label, i64)>> {
    let mut sizes: Vec<(Label, i64)> = Vec::new();
    for (labels, shape) in inputs.iter().zip(shapes) {
        for (at, (label, size)) in labels.iter().zip(*shape).enumerate() {
            let misfit = |found: i64| {
                let name = match label {
                    Label::Letter(letter) => format!("subscript `{letter}`"),
                    Label::Unnamed(_) => "a dimension of `...`".to_owned(),
                };
                argument(format!("{name} has sizes {found} and {size}, expected equal ones"))
            };
            // A diagonal does not broadcast.
            if let Some(before) = labels[..at].iter().position(|other| other == label)
                && shape[before] != *size
            {
                return Err(misfit(shape[before]));
            }
            match sizes.iter_mut().find(|(known, _)| known == label) {
                Some((_, known)) if *known == 1 => *known = *size,
                Some((_, known)) if known == size || *size == 1 => {}
                Some((_, known)) => return Err(misfit(*known)),
                None => sizes.push((*label, *size)),
            }
        }
    }
    Ok(sizes)
}

/// The numbers of the operands that are multiplied next.
fn pair(path: Option<&[i64]>, step: usize, count: usize) -> Result<(usize, usize)> {
    let Some(path) = path else { return Ok((0, 1)) };
    let named = path.get(2 * step..2 * step + 2).map(|pair| [pair[0], pair[1]]);
    match named {
        Some([first, second])
            if first != second && [first, second].iter().all(|at| (0..count as i64).contains(at)) =>
        {
            Ok((first as usize, second as usize))
        }
        found => {
            let message = format!(
                "argument `path` has the pair {found:?} in step {step}, expected two different numbers below {count}"
            );
            Err(argument(message))
        }
    }
}

impl Operand {
    /// With diagonals taken, and without dimensions of size 1 that others stretch.
    fn new(tensor: &Tensor, labels: Vec<Label>, all: &[(Label, i64)]) -> Result<Self> {
        let geometry = tensor.geometry();
        let (mut own, mut sizes, mut strides) = (Vec::new(), Vec::new(), Vec::new());
        let full = |label: &Label| all.iter().find(|(known, _)| known == label).map_or(1, |(_, size)| *size);
        for (dim, label) in labels.iter().enumerate() {
            if let Some(at) = own.iter().position(|known| known == label) {
                let stride: &mut i64 = &mut strides[at];
                *stride += geometry.strides()[dim];
            } else if geometry.sizes()[dim] != 1 || full(label) == 1 {
                own.push(*label);
                sizes.push(geometry.sizes()[dim]);
                strides.push(geometry.strides()[dim]);
            }
        }
        let tensor = if own.len() == labels.len() {
            tensor.clone()
        } else {
            AsStrided.call(tensor, &sizes, &strides, Some(geometry.offset()))?
        };
        Ok(Self { tensor, labels: own })
    }

    /// Without the dimensions of size 1 whose labels are not `kept`.
    fn squeezed(self, kept: impl Fn(&Label) -> bool) -> Result<Self> {
        let Self { mut tensor, mut labels } = self;
        for dim in (0..labels.len()).rev() {
            if tensor.sizes()[dim] == 1 && !kept(&labels[dim]) {
                tensor = tensor.select(dim as i64, 0)?;
                labels.remove(dim);
            }
        }
        Ok(Self { tensor, labels })
    }

    /// The sum over the dimensions whose labels are not `kept`.
    fn summed(self, kept: impl Fn(&Label) -> bool) -> Result<Self> {
        let dims: Vec<i64> =
            (0..self.labels.len()).filter(|dim| !kept(&self.labels[*dim])).map(|dim| dim as i64).collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let labels = self.labels.into_iter().filter(kept).collect();
        Ok(Self { tensor: SumDim.call(&self.tensor, Some(&dims), false, None)?, labels })
    }

    /// With the dimensions of these labels, some of which may be new, in this order.
    fn arranged(&self, order: &[Label]) -> Result<Tensor> {
        let own: Vec<i64> = order
            .iter()
            .filter_map(|label| self.labels.iter().position(|known| known == label))
            .map(|dim| dim as i64)
            .collect();
        let is_sorted = own.windows(2).all(|pair| pair[0] < pair[1]);
        let mut tensor = if is_sorted { self.tensor.clone() } else { Permute.call(&self.tensor, &own)? };
        for (at, label) in order.iter().enumerate() {
            if !self.labels.contains(label) {
                tensor = tensor.unsqueeze(at as i64)?;
            }
        }
        Ok(tensor)
    }

    /// A stack of matrices: the sizes of `labels` as one, for each of three lists.
    fn stack(&self, parts: [&[Label]; 3]) -> Result<Tensor> {
        let sizes = parts.map(|labels| self.count(labels));
        let [first, second, third] = sizes;
        Reshape.call(&self.arranged(&parts.concat())?, &[first?, second?, third?])
    }

    fn size(&self, label: &Label) -> i64 {
        self.labels.iter().position(|known| known == label).map_or(1, |dim| self.tensor.sizes()[dim])
    }

    fn count(&self, labels: &[Label]) -> Result<i64> {
        let count = labels.iter().try_fold(1i64, |count, label| count.checked_mul(self.size(label)));
        count.ok_or_else(|| argument(format!("the sizes {:?} overflow 64 bits", self.tensor.sizes())))
    }

    /// The result: without what is summed over, in the order of the output.
    fn finished(self, output: &[Label]) -> Result<Tensor> {
        self.summed(|label| output.contains(label))?.arranged(output)
    }
}

/// The product of two operands, summed over the labels that nobody needs `later`.
fn multiplied(a: Operand, b: Operand, later: &dyn Fn(&Label) -> bool, output: &[Label]) -> Result<Operand> {
    let has = |operand: &Operand, label: &Label| operand.labels.contains(label);
    let [inner, batch]: [Vec<Label>; 2] = [false, true].map(|is_kept| {
        a.labels.iter().filter(|label| has(&b, label) && later(label) == is_kept).copied().collect()
    });
    let common = |label: &Label| later(label) || inner.contains(label);
    let (a, b) = (a.squeezed(common)?.summed(common)?, b.squeezed(common)?.summed(common)?);
    let own = |one: &Operand, other: &Operand| -> Vec<Label> {
        one.labels.iter().filter(|label| !has(other, label)).copied().collect()
    };
    let (mut rows, mut columns) = (own(&a, &b), own(&b, &a));
    if inner.iter().all(|label| a.size(label) == 1) {
        let mut labels: Vec<Label> = [batch, rows, columns, inner.clone()].concat();
        let place = |label: &Label| output.iter().position(|own| own == label).unwrap_or(output.len());
        labels.sort_by_key(place);
        let tensor = MulTensor.call(&a.arranged(&labels)?, &b.arranged(&labels)?)?;
        return Operand { tensor, labels }.squeezed(|label| !inner.contains(label));
    }
    products::check_factors(&[("tensors", a.tensor.spec()?), ("tensors", b.tensor.spec()?)])?;
    // The result lies in the order of the output, where it can.
    let place =
        |labels: &[Label]| labels.first().and_then(|label| output.iter().position(|own| own == label));
    let (mut left, mut right) = (&a, &b);
    if place(&columns).is_some_and(|column| place(&rows).is_some_and(|row| column < row)) {
        std::mem::swap(&mut left, &mut right);
        std::mem::swap(&mut rows, &mut columns);
    }
    let sizes: Vec<i64> = batch
        .iter()
        .chain(&rows)
        .map(|label| left.size(label))
        .chain(columns.iter().map(|label| right.size(label)))
        .collect();
    let [x, y] = [left.stack([&batch, &rows, &inner])?, right.stack([&batch, &inner, &columns])?];
    let product =
        if batch.is_empty() { Mm.call(&x.select(0, 0)?, &y.select(0, 0)?)? } else { Bmm.call(&x, &y)? };
    Ok(Operand { tensor: Reshape.call(&product, &sizes)?, labels: [batch, rows, columns].concat() })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let of = |equation: &str, tensors: Vec<Plain>| given(equation).and(tensors);
        samples
            .operator(Einsum, NUMBERS, inputs, reference)
            .tolerance(512.0)
            .refuses("2 tensors", of("ij,jk", vec![x.clone()]))
            .refuses("at least one tensor", of("", vec![]))
            .refuses("has 2 dimensions", of("i", vec![x.clone()]))
            .refuses("`1`", of("i1", vec![x.clone()]))
            .refuses("subscript `k`", of("ij->k", vec![x.clone()]))
            .refuses("occurs twice", of("ij->ii", vec![x.clone()]))
            .refuses("sizes 2 and 3", of("ii", vec![x.clone()]))
            .refuses("sizes 3 and 2", of("ij,jk", vec![x.clone(), x.clone()]))
            .refuses("`path`", of("ij,ij", vec![x.clone(), x]).named("path", vec![0i64, 0]));
        samples.differs_as(Einsum, products::samples::DIFFERENCES);
        samples.differs(
            Einsum,
            Difference {
                id: "factors-of-one-dtype",
                what: "torch multiplies tensors of several dtypes if the summed dimensions are empty; \
                     here they need one dtype, as in all other products",
                why: "all products behave alike",
                test: ("opgrid-operators/tests/all/differences/refused.rs", "dtypes_that_differ"),
                when: |seen| seen.we_refuse("convert one of them"),
                directed: None,
            },
        );
        samples.rounds(Einsum, Roundings::all(Rounding::Sum(8)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&str, &[&[i64]]); 18] = [
            ("ij,jk->ik", &[&[2, 3], &[3, 4]]),
            ("ij,jk->ki", &[&[2, 3], &[3, 4]]),
            ("ij,jk", &[&[2, 3], &[3, 2]]),
            ("bij,bjk->bik", &[&[2, 2, 3], &[2, 3, 2]]),
            ("i,i", &[&[5], &[5]]),
            ("i,j->ji", &[&[2], &[3]]),
            ("...ij,...jk", &[&[2, 1, 2, 3], &[3, 3, 2]]),
            ("i...,i...->...", &[&[2, 3], &[2, 3]]),
            ("ij,j->ij", &[&[2, 3], &[1]]),
            ("ii,i->i", &[&[3, 3], &[3]]),
            ("ijj,j->ij", &[&[2, 3, 3], &[3]]),
            ("ij,ik->j", &[&[2, 3], &[2, 2]]),
            ("Ba,aC", &[&[2, 3], &[3, 2]]),
            (" i j , j -> i ", &[&[2, 3], &[3]]),
            ("ij,jk->ik", &[&[2, 0], &[0, 3]]),
            ("ij,jk,kl->il", &[&[2, 2], &[2, 3], &[3, 2]]),
            ("i,->i", &[&[3], &[]]),
            ("ij,jk->", &[&[2, 2], &[2, 2]]),
        ];
        // Integers of one digit, so that products of several keep all digits in most dtypes.
        let small = |sizes: &[i64], seed: i64| {
            let elements: Vec<i64> = (0..31).map(|at| (at * 5 + seed * 3) % 7 - 3).collect();
            Plain::from_elements(dtype, sizes, &elements)
        };
        // What is no product that bools have not, and what makes int64 of one of two factors.
        let of_bools: &[&str] = &["i,j->ji", "i,->i", "ij,j->ij", "ii,i->i", "ijj,j->ij", WIDENED];
        let sums = |shapes: &[&[i64]], equation: &str| match dtype {
            DType::Bool => {
                products::samples::is_sample(dtype, &shapes.concat()) && !of_bools.contains(&equation)
            }
            DType::I64 => true,
            dtype => equation != "ij,ik->j" || !dtype.is_integral(),
        };
        let cases = cases.into_iter().filter(|(equation, shapes)| sums(shapes, equation));
        let of = |(equation, shapes): (&str, &[&[i64]])| {
            let tensors: Vec<Plain> =
                shapes.iter().zip(1..).map(|(sizes, seed)| small(sizes, seed)).collect();
            given(equation).and(tensors)
        };
        let mut samples: Vec<Sample> = cases.map(of).collect();
        let chain = of(("ij,jk,kl->il", &[&[2, 2], &[2, 3], &[3, 2]]));
        samples.push(chain.named("path", vec![1i64, 2, 0, 1]));
        samples
    }

    /// An equation both of whose tensors are summed over before they are multiplied.
    const WIDENED: &str = "ij,jk->";

    /// By one loop over all letters.
    fn reference(it: &Inputs) -> Result<Expected> {
        let (equation, tensors): (String, _) = (it.value("equation")?, it.tensors("tensors")?);
        let shapes: Vec<&[i64]> = tensors.iter().map(Plain::sizes).collect();
        let Equation { inputs, output, .. } = Equation::parse(&equation, &shapes)?;
        let names: Vec<Label> =
            inputs.concat().into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let size = |label: &Label| {
            let own = inputs.iter().zip(&shapes).flat_map(|(labels, sizes)| labels.iter().zip(*sizes));
            own.filter(|(own, _)| *own == label).map(|(_, size)| *size).find(|size| *size != 1).unwrap_or(1)
        };
        let inner: Vec<Label> = names.into_iter().filter(|name| !output.contains(name)).collect();
        let [outer_sizes, inner_sizes] =
            [&output, &inner].map(|labels| labels.iter().map(size).collect::<Vec<_>>());
        let dtype = match tensors[0].dtype() {
            dtype if dtype.is_integral() && equation == WIDENED => DType::I64,
            dtype => dtype,
        };
        let sum = Plain::from_fn(dtype, &outer_sizes, |outer| {
            let terms = naive::positions(&inner_sizes).map(|within| {
                let index = |label: &Label| match output.iter().position(|own| own == label) {
                    Some(at) => outer[at],
                    None => inner.iter().position(|own| own == label).map_or(0, |at| within[at]),
                };
                let factors = tensors
                    .iter()
                    .zip(&inputs)
                    .map(|(tensor, labels)| tensor.at(&labels.iter().map(index).collect::<Vec<_>>()));
                factors.reduce(number::times).unwrap_or(Scalar::Int(1))
            });
            terms.reduce(number::plus).unwrap_or(Scalar::Int(0))
        });
        Ok(sum.into())
    }
}
