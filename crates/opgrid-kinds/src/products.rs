//! What products of matrices share: the checks of their arguments, sums with a product, outputs of composites.

use num_complex::Complex64;
use opgrid_core::{Result, Scalar};

use crate::pointwise;
use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_kernels::products::{Addend, multiply, multiply_add};
use opgrid_kernels::{arithmetic, elementwise};
use opgrid_tensor::families::result::check_result;
use opgrid_tensor::layers::levels::Leveled;
use opgrid_tensor::ops::{AddInplaceTensor, AddTensor, Matmul, MulScalar, TransposeInt};
use opgrid_tensor::tensor::{Array, Math, Tensor, TensorSpec};

/// Checks that the factors of a product have one dtype and device.
///
/// # Errors
///
/// Factors of different dtypes or devices, or of bools, which have no product: also where there is nothing to multiply.
pub fn check_factors(factors: &[(&str, &TensorSpec)]) -> Result<()> {
    let Some(((first, a), rest)) = factors.split_first() else { return Ok(()) };
    let differs = |b: &TensorSpec| (a.dtype(), a.device().real()) != (b.dtype(), b.device().real());
    if let Some((name, b)) = rest.iter().find(|(_, b)| differs(b)) {
        let message = format!(
            "argument `{name}` is {} on {}, expected {} on {} as `{first}`; convert one of them",
            b.dtype(),
            b.device(),
            a.dtype(),
            a.device()
        );
        return Err(argument(message));
    }
    pointwise::check_numbers(a.dtype())
}

/// A product that nobody else has, with a bias added: in place where the bias is no more than the product is.
///
/// # Errors
///
/// Those of the addition.
pub fn with_bias(product: Tensor, bias: &Tensor) -> Result<Tensor> {
    // Each example of a batch may have another bias, and a fake one cannot be added to elements.
    if bias.wrapper::<Leveled>().is_some() || bias.device() != product.device() {
        return AddTensor.call(&product, bias, 1.into());
    }
    AddInplaceTensor.call(&product, bias, 1.into())?;
    Ok(product)
}

/// The sizes of the products of as many pairs of matrices.
///
/// # Errors
///
/// Tensors that are no stacks of as many matrices; inner sizes that differ.
pub fn stack_sizes((first, a): (&str, &TensorSpec), (second, b): (&str, &TensorSpec)) -> Result<[i64; 3]> {
    let message = match (a.sizes(), b.sizes()) {
        (&[batch, m, k], &[same, inner, n]) if (batch, k) == (same, inner) => return Ok([batch, m, n]),
        (&[batch, _, k], found) => {
            format!(
                "argument `{second}` has shape {found:?}, expected [{batch}, {k}, any] to match \
                 `{first}`"
            )
        }
        (found, _) => {
            format!("argument `{first}` has shape {found:?}, expected three dimensions; use `matmul`")
        }
    };
    Err(argument(message))
}

/// The result of `beta * self + alpha * product`, for a product of `sizes`; `factors` are its own.
///
/// # Errors
///
/// As [`check_factors`]; weights that the dtype does not hold; a `self` that does not broadcast to the product.
pub fn weighed_sum(
    input: &TensorSpec,
    factors: [(&str, &TensorSpec); 2],
    sizes: &[i64],
    weights: [Scalar; 2],
) -> Result<TensorSpec> {
    let [(_, first), _] = factors;
    check_factors(&[factors[0], factors[1], ("self", input)])?;
    with_dtype!(first.dtype(), T: Number by itself => {
        // What is computed in holds them: single precision for 16-bit floats.
        weights.into_iter().try_for_each(|weight| arithmetic::element::<Math<T>>(weight).map(drop))
    })?;
    if input.geometry().expand(sizes).is_err() {
        let message = format!(
            "argument `self` has shape {:?}, which does not broadcast to the product's shape {sizes:?}",
            input.sizes()
        );
        return Err(argument(message));
    }
    TensorSpec::contiguous(sizes, first.dtype(), first.device())
}

/// Writes `beta * input + alpha * (a @ b)`, where `target` and `added` are `out` and `input` seen as the matrices that the
/// product is.
///
/// # Errors
///
/// Those of the loop.
pub fn write_weighed_sum(
    (out, target): (&Tensor, &Array),
    (input, added): (&Tensor, &Array),
    [beta, alpha]: [Scalar; 2],
    [a, b]: [&Array; 2],
) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    if a.spec().numel() == 0 {
        return weighed(input, beta, out);
    }
    multiply_add(target, Addend { input: added, beta, alpha }, a, b)
}

/// `beta * self`, for factors without an inner dimension: as torch, by the rules of `mul`.
fn weighed(input: &Tensor, beta: Scalar, out: &Tensor) -> Result<()> {
    if beta.to_complex() == Complex64::ZERO {
        return elementwise::fill(out, Scalar::Int(0));
    }
    let product = MulScalar.call(input, beta)?;
    check_result(out, product.spec()?)?;
    elementwise::copy(out, &product)
}

/// Writes `a @ b`, which is zero where there is no inner dimension.
///
/// # Errors
///
/// Those of the loop.
pub fn write_product(target: &Array, a: &Array, b: &Array) -> Result<()> {
    if a.spec().numel() == 0 || b.spec().numel() == 0 {
        elementwise::fill(target, Scalar::Int(0))
    } else {
        multiply(target, a, b)
    }
}

/// The size of the product of a matrix and a vector.
///
/// # Errors
///
/// Other shapes.
pub fn vector_size(
    (first, matrix): (&str, &TensorSpec),
    (second, vector): (&str, &TensorSpec),
) -> Result<i64> {
    let message = match (matrix.sizes(), vector.sizes()) {
        (&[rows, columns], &[size]) if columns == size => return Ok(rows),
        (&[_, columns], &[size]) => {
            format!(
                "argument `{second}` has {size} elements, expected {columns} elements as `{first}` has columns"
            )
        }
        (found, other) => {
            format!(
                "expected a matrix and a vector, found `{first}` of shape {found:?} and `{second}` of {other:?}"
            )
        }
    };
    Err(argument(message))
}

/// A vector as a matrix of one column.
///
/// # Errors
///
/// No vector.
pub fn column(vector: &Array) -> Result<Array> {
    vector.view(vector.geometry().unsqueeze(1)?)
}

/// Whether a matrix, or each of a stack, lies in memory as its transpose would.
pub fn is_transposed(factor: &Tensor) -> bool {
    match (factor.sizes(), factor.strides()) {
        ([.., rows, _], [.., 1, column]) => column == rows,
        _ => false,
    }
}

/// The gradient of the left factor of a product of matrices, or of stacks of them. That of a transposed factor is transposed,
/// so that the gradient of what it is a view of lies as that does.
///
/// # Errors
///
/// Those of the product.
pub fn left_gradient(grad: &Tensor, right: &Tensor, is_transposed: bool) -> Result<Tensor> {
    if is_transposed {
        exchanged(&Matmul.call(&right.conj()?, &exchanged(grad)?)?)
    } else {
        Matmul.call(grad, &exchanged(right)?.conj()?)
    }
}

/// The gradient of the right factor of a matrix product, or of a batch of them.
///
/// # Errors
///
/// Those of the product.
pub fn right_gradient(grad: &Tensor, left: &Tensor, is_transposed: bool) -> Result<Tensor> {
    if is_transposed {
        exchanged(&Matmul.call(&exchanged(grad)?, &left.conj()?)?)
    } else {
        Matmul.call(&exchanged(left)?.conj()?, grad)
    }
}

fn exchanged(matrices: &Tensor) -> Result<Tensor> {
    TransposeInt.call(matrices, -2, -1)
}

/// Samples of products.
#[cfg(feature = "samples")]
pub mod samples {
    use opgrid_core::DType;

    use super::*;
    use opgrid_samples::differences::Pair;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::{FloatLimits, finfo};

    /// What `beta * self + alpha * product` is, for samples.
    ///
    /// # Errors
    ///
    /// The sample has no `self` or no weights.
    pub fn expected_sum(it: &Inputs, product: &Plain) -> Result<Expected> {
        let input = it.tensor("self")?;
        let [beta, alpha]: [Scalar; 2] = [it.value("beta")?, it.value("alpha")?];
        let sum = Plain::from_fn(input.dtype(), product.sizes(), |position| {
            number::plus(number::times(beta, input.at(position)), number::times(alpha, product.at(position)))
        });
        Ok(sum.into())
    }

    /// The product of a matrix and a vector, for samples.
    ///
    /// # Errors
    ///
    /// Other shapes.
    pub fn expected_vector(matrix: &Plain, vector: &Plain) -> Result<Plain> {
        let product = matrix.product(&vector.with_sizes(&[vector.sizes()[0], 1]))?;
        Ok(product.with_sizes(&product.sizes()[..1]))
    }

    /// Samples of sums with a product: `self` and the factors by their shapes, with weights and without.
    pub fn weighed_samples<'a>(dtype: DType, shapes: impl Iterator<Item = [&'a [i64]; 3]>) -> Vec<Sample> {
        let one = |[c, a, b]: [&[i64]; 3]| {
            given(generate::numbers(dtype, c, 1))
                .and(generate::numbers(dtype, a, 2))
                .and(generate::numbers(dtype, b, 3))
        };
        let plain: Vec<Sample> = shapes.map(one).collect();
        let weight = |sample: &Sample| match dtype {
            DType::Bool => sample.clone().named("beta", true).named("alpha", false),
            _ => sample.clone().named("beta", 2).named("alpha", 3),
        };
        let weighed: Vec<Sample> = plain.iter().map(weight).collect();
        [plain, weighed].concat()
    }

    /// Whether sizes are right for a sample: bools are refused only where something is multiplied.
    pub fn is_sample(dtype: DType, sizes: &[i64]) -> bool {
        dtype != DType::Bool || !sizes.contains(&0)
    }

    /// The differences from torch that all products have.
    pub const DIFFERENCES: &[Difference] = &[
        departures::reduce::NOT_FINITE,
        CHECKED_WITHOUT_ELEMENTS,
        KEEPS_STRIDES,
        KEEPS_SHAPE,
        FACTORS,
        READ_AFTER_WRITTEN,
        ONE_SUM,
    ];

    const ONE_SUM: Difference = Difference {
        id: "sums-of-repeated-products",
        what: "torch sums products of factors with repeated elements one after another, which all round \
             to the same side; here they are summed in several partial sums",
        why: "more precise",
        test: ("opgrid-operators/tests/all/differences/numbers.rs", "sums_of_many_equal_products"),
        when: |seen| {
            let longest = |input: &&Operand| {
                let geometry = &input.geometry;
                let dims = geometry.sizes().iter().zip(geometry.strides());
                dims.filter(|(_, stride)| **stride == 0).map(|(size, _)| *size).max().unwrap_or(0)
            };
            let count = seen.inputs().iter().map(longest).max().unwrap_or(0);
            let is_near = |(dtype, ours, torch): &Pair| {
                let near =
                    |limits: FloatLimits| (ours - torch).norm() <= count as f64 * limits.eps * ours.norm();
                finfo(*dtype).is_ok_and(near)
            };
            count > 16 && seen.each(is_near)
        },
        directed: None,
    };

    const CHECKED_WITHOUT_ELEMENTS: Difference = Difference {
        id: "products-are-checked-without-elements",
        what: "torch does not check dtypes and numbers of empty products; here they are checked and \
             converted as for products with elements",
        why: "whether a call is valid must not depend on sizes or elements",
        test: (
            "opgrid-operators/tests/all/differences/refused.rs",
            "what_is_refused_with_elements_is_refused_without",
        ),
        when: |seen| {
            let words = [
                "cannot be converted",
                "convert one of them",
                "not implemented for 'Bool'",
                "argument `out` has dtype",
                "can't be cast",
            ];
            let vanishes = match seen.number("alpha") {
                Some(Scalar::Float(value)) => !value.is_finite() || value == 0.0,
                Some(Scalar::Int(value)) => value == 0,
                Some(Scalar::UInt(_)) => false,
                Some(Scalar::Bool(value)) => !value,
                Some(Scalar::Complex(value)) => !value.is_finite() || value == Complex64::ZERO,
                None => false,
            };
            let is_checked = words.iter().any(|words| seen.we_refuse(words));
            let is_empty = seen.inputs().iter().any(|input| input.is_empty());
            (is_checked && (is_empty || vanishes))
                || (vanishes && !seen.elements.is_empty())
                || (is_empty && seen.torch_refuses("can't be cast"))
        },
        directed: None,
    };

    const FACTORS: Difference = Difference {
        id: "factors-beyond-the-range",
        what: "torch rejects factors that overflow 16-bit floats in some matrix-vector products, and \
             accepts them in all others; here the result is infinite",
        why: "all products behave alike",
        test: ("opgrid-operators/tests/all/differences/computed.rs", "means_beyond_the_range"),
        when: |seen| seen.meets_dtype(&[DType::F16, DType::BF16]) && seen.torch_refuses("without overflow"),
        directed: None,
    };

    const KEEPS_SHAPE: Difference = Difference {
        id: "sums-of-products-keep-their-shape",
        what: "torch resizes a tensor that broadcasts with a product when the sum is computed in place, \
             and keeps its shape if the product is empty; here the shapes have to be equal in place, \
             and a sum has the shape of the product",
        why: "all sums behave alike",
        test: (
            "opgrid-operators/tests/all/differences/outputs.rs",
            "sums_of_products_in_place_keep_their_shape",
        ),
        when: |seen| {
            let is_empty = seen.inputs().iter().any(|input| input.is_empty());
            let is_other = |input: &Operand| seen.torch == format!("{:?}", input.geometry.sizes());
            let is_unstretched = seen.part == Part::Strides || seen.tensor("self").is_some_and(is_other);
            let is_written = matches!(seen.part, Part::Values | Part::Written) && seen.out().is_some();
            let is_such = matches!(seen.part, Part::Sizes | Part::Strides) && is_unstretched || is_written;
            seen.we_refuse("which doesn't match the result's shape")
                || seen.family() == "addmv" && is_empty && is_such
        },
        directed: None,
    };

    const KEEPS_STRIDES: Difference = Difference {
        id: "outputs-of-products-keep-their-strides",
        what: "torch writes matrix-vector products, and empty ones, in row-major order whatever the \
             strides of an output of the right shape, and changes its strides; here the output keeps \
             its strides",
        why: "other views of the memory stay valid",
        test: ("opgrid-operators/tests/all/differences/outputs.rs", "products_into_their_own_factors"),
        when: |seen| {
            let has_vector = seen.inputs().iter().any(|input| input.geometry.dims() == 1);
            let keeps = |out: &Operand| match seen.part {
                Part::Strides => format!("{:?}", out.geometry.strides()) == seen.ours,
                Part::Written => !out.geometry.is_contiguous(),
                _ => false,
            };
            seen.out().is_some_and(|out| (has_vector || out.is_empty()) && keeps(out))
        },
        directed: Some(Directed {
            operator: "aten::matmul.out",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::F32, &[2], &[1.0, 2.0]).into()),
                    ("other", Operand::rows(1, DType::F32, &[2, 0], &[]).into()),
                    ("out", Operand::strided(2, DType::F32, (&[0], &[2], 0), &[]).into()),
                ]
            },
            needs: None,
        }),
    };
}
