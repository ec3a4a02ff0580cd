//! `aten::cat`, `aten::concat`, `aten::concatenate`: tensors one after another.
//!
//! `out[…, j, …] = tensors[k][…, j - start of k, …]`
//!
//! - Shapes: equal apart from dimension `dim`, whose sizes add up. A tensor of shape `[0]` is left out, whatever the
//!   others are.
//! - Dtypes: promoted over all tensors.
//! - Strides: row-major; channels-last if all tensors are.
//! - Aliasing: `cat.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: `concat` and `concatenate` are `cat`.
//! - Errors: no tensors, tensors without dimensions, other shapes, several devices, overlap with `out`.
//! - Source: torch.cat, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::join;
use opgrid_tensor::families::result::{compute, compute_into};
use opgrid_tensor::tensor::Array;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::joining::cat::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Cat, &kind::JOINING)
        .on_cpu_and_meta(|tensors, dim| {
            let joined = Joined::new(tensors, dim)?;
            compute(joined.spec.clone(), |out| joined.write(out))
        })
        .derivative(|d, (tensors, dim)| {
            let out = d.result(0);
            let dim = normalise_dim(dim, out.dim())?;
            let mut start = 0;
            let place = |tensor: &Tensor| {
                // One without elements may have a single dimension whatever the others have.
                let is_left_out = tensor.sizes() == [0] && out.dim() != 1;
                let place = (start, if is_left_out { None } else { Some(tensor.sizes()[dim]) });
                start += place.1.unwrap_or(0);
                place
            };
            let places: Vec<(i64, Option<i64>)> = tensors.iter().map(place).collect();
            d.by_each(tensors, move |grad, index| match places[index] {
                (start, Some(length)) => grad.narrow(dim as i64, start, length),
                (_, None) => Tensor::zeros(&[0], grad.dtype(), grad.device()),
            })
        });
    library.implement(CatOut).on_cpu_and_meta(|tensors, dim, out| {
        let joined = Joined::new(tensors, dim)?;
        compute_into(out, &joined.spec, |out| joined.write(out))
    });
    library.define_with_forms(Concat, &kind::JOINING).implicit(|tensors, dim| Cat.call(tensors, dim));
    library.implement(ConcatOut).implicit(|tensors, dim, out| CatOut.call(tensors, dim, out));
    library.define_with_forms(Concatenate, &kind::JOINING).implicit(|tensors, dim| Cat.call(tensors, dim));
    library.implement(ConcatenateOut).implicit(|tensors, dim, out| CatOut.call(tensors, dim, out));
}

/// What there is to write, and what the result is like: both are found before an output, which may be one of the tensors,
/// gets its shape.
struct Joined<'a> {
    tensors: Vec<&'a Tensor>,
    dim: usize,
    spec: TensorSpec,
}

impl<'a> Joined<'a> {
    fn new(tensors: &'a [Tensor], dim: i64) -> Result<Self> {
        let Some(first) = tensors.first() else {
            return Err(argument("argument `tensors` is empty, expected a non-empty list of tensors"));
        };
        let device = first.spec()?.device();
        for (k, tensor) in tensors.iter().enumerate() {
            let spec = tensor.spec()?;
            if spec.sizes().is_empty() {
                let message = format!(
                    "tensor {k} of `tensors` has no dimensions and cannot be concatenated; use `stack`"
                );
                return Err(argument(message));
            }
            if spec.device() != device {
                let message = format!(
                    "tensor {k} of `tensors` is on device {}, expected {device} as the first one",
                    spec.device()
                );
                return Err(argument(message));
            }
        }
        let dtype = result_type(&tensors.iter().collect::<Vec<_>>())?;
        let kept: Vec<_> = tensors.iter().filter(|tensor| tensor.sizes() != [0]).collect();
        let (sizes, dim) = match kept.first() {
            Some(first) => sizes(first.sizes(), &kept, dim)?,
            None => (vec![0], 0),
        };
        let geometry =
            Geometry::in_format(&sizes, Geometry::common_format(tensors.iter().map(Tensor::geometry)))?;
        Ok(Self { tensors: kept, dim, spec: TensorSpec::new(geometry, dtype, device) })
    }

    fn write(&self, out: &Tensor) -> Result<()> {
        let inputs: Vec<&Array> = self.tensors.iter().map(|tensor| tensor.array()).collect::<Result<_>>()?;
        join::join(out.array()?, &inputs, self.dim)
    }
}

/// The sizes of the result, and the dimension that `dim` means.
fn sizes(first: &[i64], tensors: &[&Tensor], dim: i64) -> Result<(Vec<i64>, usize)> {
    let dim = normalise_dim(dim, first.len())?;
    let mut total = 0i64;
    for tensor in tensors {
        let sizes = tensor.sizes();
        let mut pairs = sizes.iter().zip(first).enumerate();
        if sizes.len() != first.len() || pairs.any(|(at, (size, wanted))| at != dim && size != wanted) {
            let message = format!(
                "argument `tensors` has shapes {first:?} and {sizes:?}, expected equal sizes except in dimension {dim}"
            );
            return Err(argument(message));
        }
        total = total
            .checked_add(sizes[dim])
            .ok_or_else(|| argument(format!("the size of dimension {dim} overflows 64 bits")))?;
    }
    let mut result = first.to_vec();
    result[dim] = total;
    Ok((result, dim))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::differences::DIED;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Cat, STORED, inputs, reference)
            .refuses("non-empty list", given(Vec::<Plain>::new()))
            .refuses("no dimensions", given(vec![Plain::number(DType::F32, 1)]))
            .refuses(
                "expected equal sizes",
                given(vec![x.clone(), generate::numbers(DType::F32, &[2, 4], 0)]),
            )
            .refuses("range", given(vec![x.clone(), x]).and(2));
        samples.operator(Concat, STORED, inputs, reference);
        samples.operator(Concatenate, STORED, inputs, reference);
        samples.differs(Cat, ANY_STRIDES);
        samples.differs(Concat, ANY_STRIDES);
        samples.differs(Concatenate, ANY_STRIDES);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[&[i64]], i64); 7] = [
            (&[&[2, 3], &[1, 3]], 0),
            (&[&[2, 3], &[2, 1], &[2, 2]], -1),
            (&[&[3]], 0),
            (&[&[0], &[2, 3], &[0]], 0),
            (&[&[0], &[0]], 0),
            (&[&[2, 0], &[2, 3]], 1),
            (&[&[1, 3, 2, 2], &[2, 3, 2, 2]], 0),
        ];
        let one = |(shapes, dim): (&[&[i64]], i64)| {
            let tensors = shapes.iter().zip(0..).map(|(sizes, seed)| generate::numbers(dtype, sizes, seed));
            given(tensors.collect::<Vec<_>>()).and(dim)
        };
        let mixed = given(vec![
            generate::numbers(dtype, &[2], 0),
            generate::numbers(generate::beside(dtype, DType::F32), &[3], 1),
        ]);
        cases.into_iter().map(one).chain([mixed]).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (tensors, dim) = (it.tensors("tensors")?, it.value("dim")?);
        let dtype = it.common_dtype(&["tensors"])?;
        let kept: Vec<&Plain> = tensors.iter().filter(|tensor| tensor.sizes() != [0]).collect();
        let Some(first) = kept.first() else {
            return Ok(Plain::from_elements::<i64>(dtype, &[0], &[]).into());
        };
        let dim = naive::dimension(dim, first.sizes().len());
        let mut sizes = first.sizes().to_vec();
        sizes[dim] = kept.iter().map(|tensor| tensor.sizes()[dim]).sum();
        let joined = Plain::from_fn(dtype, &sizes, |position| {
            let mut position = position.to_vec();
            let mut rest = kept.iter();
            loop {
                match rest.next() {
                    Some(tensor) if position[dim] < tensor.sizes()[dim] => return tensor.at(&position),
                    Some(tensor) => position[dim] -= tensor.sizes()[dim],
                    None => return Scalar::Int(0),
                }
            }
        });
        Ok(joined.into())
    }

    /// Differences for the strides of operators that join tensors.
    pub(crate) const ANY_STRIDES: Difference = Difference {
        id: "joined-to-outputs-of-any-strides",
        what: "torch writes joined elements to the wrong positions of an output whose dimensions of \
             size 1 have unusual strides; here every element is written at its position",
        why: "elements must not be lost",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "what_is_joined_is_written_to_outputs_of_any_strides",
        ),
        when: |seen| {
            // It may die of where it writes.
            let writes_elsewhere = !seen.elements.is_empty() || seen.torch == DIED;
            writes_elsewhere && seen.out().is_some_and(|out| out.geometry.sizes().contains(&1))
        },
        directed: Some(Directed {
            operator: "aten::stack.out",
            arguments: || {
                vec![
                    (
                        "tensors",
                        Argument::Tensors(vec![Some(Operand::rows(0, DType::F32, &[3], &[1.0, 2.0, 3.0]))]),
                    ),
                    ("dim", Scalar::Int(-1).into()),
                    ("out", Operand::strided(1, DType::F32, (&[3, 1], &[1, 6], 0), &[0.0; 3]).into()),
                ]
            },
            needs: None,
        }),
    };
}
