//! `aten::convolution_backward`: the gradients of a convolution by its input, its weights and its bias.
//!
//! Each product `input * weight` that is added to a result hands the result's gradient, times `weight`, to the input's, and
//! times `input` to the weight's; the bias gets the sum of its filter's gradients.
//!
//! - Shapes: `grad_output` that of the convolution's result; the gradients those of `input`, `weight` and the filters.
//!   `output_mask` says which of the three are computed; the others are undefined. `bias_sizes` is not looked at.
//! - Dtypes: one floating-point dtype for all.
//! - Strides: as [`Convolution`](opgrid_tensor::ops::Convolution)'s result, the bias in a row.
//! - Aliasing: `convolution_backward.out` writes the outputs that `output_mask` names.
//! - Errors: those of `convolution`; a `grad_output` of another shape, a mask without three entries.
//! - Source: torch.ops.aten.convolution_backward, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::products::{correlate, spread, weigh};
use opgrid_kinds::convolutions::{self, Moved, Movement, Plan};
use opgrid_kinds::images::check_float;
use opgrid_tensor::families::result::{compute, compute_all_into};

pub use opgrid_tensor::ops::convolutions::convolution_backward::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(ConvolutionBackward, &kind::CONVOLUTION)
        .on_cpu_and_meta(
            |grad, x, w, _, stride, padding, dilation, transposed, output_padding, groups, mask| {
                let movement = Movement { stride, padding, dilation, transposed, output_padding, groups };
                let gradients = Gradients::new(grad, x, w, movement, mask)?;
                let one = |part: Option<Part>| match part {
                    Some(part) => compute(part.spec.clone(), |out| gradients.write(&part, out)),
                    None => Ok(Tensor::undefined()),
                };
                let [by_input, by_weight, by_bias] = gradients.parts()?.map(one);
                Ok((by_input?, by_weight?, by_bias?))
            },
        )
        .derivative(
            |d, (grad, x, w, _, stride, padding, dilation, transposed, output_padding, groups, _)| {
                // The gradients are products of `grad` with the input or the weights: theirs are convolutions and gradients again.
                let movement = Movement { stride, padding, dilation, transposed, output_padding, groups };
                let (moved, sizes) = (Moved::by(movement), grad.sizes().to_vec());
                d.by_all(grad, [x, w], move |grads, [x, w]| {
                    let by_input = grads.for_result(0).map(|grad| moved.convolved(grad, w)).transpose()?;
                    let by_weight = grads.for_result(1).map(|grad| moved.convolved(x, grad)).transpose()?;
                    let mut along = vec![1; sizes.len()];
                    along[1] = -1;
                    let by_bias =
                        grads.for_result(2).map(|grad| grad.reshape(&along)?.expand(&sizes)).transpose()?;
                    derivatives::sum_gradients([by_input, by_weight, by_bias])
                })?;
                let moved = Moved::by(movement);
                d.by_all(x, [grad, x], move |grads, [grad, x]| match grads.for_result(1) {
                    Some(weight) => {
                        moved.gradients(grad, x, weight, [true, false, false]).map(|[by_input, ..]| by_input)
                    }
                    None => Ok(None),
                })?;
                let moved = Moved::by(movement);
                d.by_all(w, [grad, w], move |grads, [grad, w]| match grads.for_result(0) {
                    Some(input) => moved
                        .gradients(grad, input, w, [false, true, false])
                        .map(|[_, by_weight, _]| by_weight),
                    None => Ok(None),
                })
            },
        );
    library.implement(ConvolutionBackwardOut).on_cpu_and_meta(
        |grad,
         x,
         w,
         _,
         stride,
         padding,
         dilation,
         transposed,
         output_padding,
         groups,
         mask,
         out0,
         out1,
         out2| {
            let movement = Movement { stride, padding, dilation, transposed, output_padding, groups };
            let gradients = Gradients::new(grad, x, w, movement, mask)?;
            let parts = gradients.parts()?;
            let outs = [out0, out1, out2].into_iter().zip(&parts);
            let (wanted, parts): (Vec<_>, Vec<_>) =
                outs.filter_map(|(out, part)| part.as_ref().map(|part| ((out, &part.spec), part))).unzip();
            compute_all_into(&wanted, |outs| {
                outs.iter().zip(parts).try_for_each(|(out, part)| gradients.write(part, out))
            })
        },
    );
}

/// The arguments, checked.
struct Gradients<'a> {
    grad: &'a Tensor,
    input: &'a Tensor,
    weight: &'a Tensor,
    transposed: bool,
    plan: Plan,
    mask: [bool; 3],
}

/// What a gradient is by.
#[derive(Clone, Copy)]
enum By {
    Input,
    Weight,
    Bias,
}

/// One of the gradients.
struct Part {
    by: By,
    spec: TensorSpec,
}

impl<'a> Gradients<'a> {
    fn new(
        grad: &'a Tensor,
        input: &'a Tensor,
        weight: &'a Tensor,
        movement: Movement<'_>,
        mask: &[bool],
    ) -> Result<Self> {
        let (g, x, w) = (grad.spec()?, input.spec()?, weight.spec()?);
        products::check_factors(&[("input", x), ("weight", w), ("grad_output", g)])?;
        check_float(x.dtype())?;
        let plan = Plan::new(x.sizes(), w.sizes(), movement)?;
        if g.sizes() != plan.sizes.as_slice() {
            let (found, expected) = (g.sizes(), plan.sizes.as_slice());
            return Err(argument(format!(
                "argument `grad_output` has shape {found:?}, expected {expected:?}"
            )));
        }
        let &[by_input, by_weight, by_bias] = mask else {
            return Err(argument(format!("argument `output_mask` is {mask:?}, expected three entries")));
        };
        let (transposed, mask) = (movement.transposed, [by_input, by_weight, by_bias]);
        Ok(Self { grad, input, weight, transposed, plan, mask })
    }

    /// The gradients that are asked for.
    fn parts(&self) -> Result<[Option<Part>; 3]> {
        let (dtype, device) = (self.input.dtype(), self.input.device());
        let format = convolutions::format_of(dtype, [self.input.geometry(), self.weight.geometry()])?;
        let like = |tensor: &Tensor| Geometry::in_format(tensor.sizes(), format);
        let part = |by, geometry| Part { by, spec: TensorSpec::new(geometry, dtype, device) };
        let [by_input, by_weight, by_bias] = self.mask;
        Ok([
            by_input.then(|| like(self.input)).transpose()?.map(|geometry| part(By::Input, geometry)),
            by_weight.then(|| like(self.weight)).transpose()?.map(|geometry| part(By::Weight, geometry)),
            by_bias
                .then(|| Geometry::contiguous(&self.plan.sizes[1..2]))
                .transpose()?
                .map(|geometry| part(By::Bias, geometry)),
        ])
    }

    fn write(&self, part: &Part, out: &Tensor) -> Result<()> {
        let windows = &self.plan.windows;
        let (grad, input, weight) = (self.grad.array()?, self.input.array()?, self.weight.array()?);
        match part.by {
            By::Input if self.transposed => correlate(windows, out.array()?, grad, weight, None),
            By::Input => spread(windows, out.array()?, grad, weight, None),
            By::Weight if self.transposed => weigh(windows, out.array()?, input, grad),
            By::Weight => weigh(windows, out.array()?, grad, input),
            By::Bias => {
                let others: Vec<i64> = (0..self.grad.dim() as i64).filter(|dim| *dim != 1).collect();
                reduce::sum(out, self.grad, &others, out.dtype())
            }
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::images::FLOATS;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 2, 5], 0);
        let wrong = |grad: &[i64], mask: usize| {
            given(generate::numbers(DType::F32, grad, 0))
                .and(x.clone())
                .and(generate::numbers(DType::F32, &[3, 2, 3], 1))
                .and(Value::None)
                .and(vec![1])
                .and(vec![0])
                .and(vec![1])
                .and(false)
                .and(vec![0])
                .and(1)
                .and(vec![true; mask])
        };
        samples
            .operator(ConvolutionBackward, FLOATS, inputs, reference)
            .tolerance(256.0)
            .refuses("argument `grad_output` has shape", wrong(&[1, 3, 4], 3))
            .refuses("expected three entries", wrong(&[1, 3, 3], 2));
        samples.differs_as(ConvolutionBackward, convolutions::samples::DIFFERENCES);
        samples.differs_as(
            ConvolutionBackward,
            &[
                convolutions::samples::WITHOUT_IMAGES,
                convolutions::samples::OUTPUT_PADDING,
                convolutions::samples::GRADIENTS_ARE_CHECKED,
            ],
        );
        samples.rounds(ConvolutionBackward, Roundings::all(Rounding::Sum(2)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let small = |sizes: &[i64], seed| {
            let all = generate::numbers(dtype, sizes, seed);
            // Sums of few bits, which 16-bit floats hold.
            let few: Vec<Scalar> = all
                .elements()
                .iter()
                .map(|x| Scalar::Float((x.to_complex().re * 2.0).round() / 2.0))
                .collect();
            Plain::from_elements(dtype, sizes, &few)
        };
        convolutions::samples::CASES
            .into_iter()
            .filter_map(|case| {
                let plan = Plan::new(case.image, case.weight, case.movement()).ok()?;
                Some(
                    given(small(&plan.sizes, 1))
                        .and(small(case.image, 2))
                        .and(small(case.weight, 3))
                        .and(vec![plan.sizes[1]])
                        .and(case.stride.to_vec())
                        .and(case.padding.to_vec())
                        .and(case.dilation.to_vec())
                        .and(case.transposed)
                        .and(case.output_padding.to_vec())
                        .and(case.groups)
                        .and(vec![true; 3]),
                )
            })
            .collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let lists =
            ["stride", "padding", "dilation", "output_padding"].map(|name| it.value::<Vec<i64>>(name));
        let [stride, padding, dilation, output_padding] = lists;
        let movement = Movement {
            stride: &stride?,
            padding: &padding?,
            dilation: &dilation?,
            transposed: it.value("transposed")?,
            output_padding: &output_padding?,
            groups: it.value("groups")?,
        };
        let (grad, x, w) = (it.tensor("grad_output")?, it.tensor("input")?, it.tensor("weight")?);
        let wide = |tensor: &Plain| Plain::from_elements::<i64>(DType::F64, tensor.sizes(), &[]);
        let (mut by_input, mut by_weight) = (wide(x), wide(w));
        let add = |sum: &mut Plain, at: &[i64], x: Scalar, y: Scalar| {
            sum.set(at, number::plus(sum.at(at), number::times(x, y)));
        };
        convolutions::samples::for_each_product(
            x.sizes(),
            w.sizes(),
            movement,
            |result, element, filter| {
                let grad = grad.at(result);
                add(&mut by_input, element, grad, w.at(filter));
                add(&mut by_weight, filter, grad, x.at(element));
            },
        )?;
        let zero = Scalar::Float(0.0);
        let all: Vec<i64> = (0..grad.sizes().len() as i64).filter(|dim| *dim != 1).collect();
        let by_bias = grad.to(DType::F64).reduced(Some(&all), false, DType::F64, |all| {
            all.iter().fold(zero, |sum, grad| number::plus(sum, *grad))
        });
        Ok([by_input, by_weight, by_bias].map(|wide| wide.to(x.dtype())).into())
    }
}
