//! Linear algebra where results are not unique: what they multiply to, gradients of functions that do not depend on the choice, errors.

use num_complex::Complex;
use opgrid_core::{DType, Device, ErrorKind, Result};
use opgrid_tensor::layers::autograd::{CheckOptions, gradcheck, gradgradcheck};
use opgrid_tensor::ops::{
    Adjoint, DiagEmbed, LinalgCholesky, LinalgCholeskyEx, LinalgEig, LinalgEigh, LinalgEigvals,
    LinalgEigvalsh, LinalgInv, LinalgInvEx, LinalgLstsq, LinalgMatrixExp, LinalgMatrixPower,
    LinalgMatrixSqrth, LinalgQr, LinalgSolve, LinalgSvd, LinalgSvdvals,
};
use opgrid_tensor::{Tensor, ops};

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::Complex64, DType::Complex128];

/// Numbers between -1 and 1, the same in each run.
fn random(dtype: DType, sizes: &[i64], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let count = sizes.iter().product::<i64>() as usize;
    let elements: Vec<Complex<f64>> = (0..count).map(|_| Complex::new(next(), next())).collect();
    let x = if dtype.is_complex() {
        Tensor::from_slice(&elements, sizes)
    } else {
        Tensor::from_slice(&elements.iter().map(|x| x.re).collect::<Vec<_>>(), sizes)
    };
    x.unwrap().to_dtype(dtype).unwrap()
}

fn adjoint(x: &Tensor) -> Tensor {
    Adjoint.call(x).unwrap()
}

fn eps(dtype: DType) -> f64 {
    if matches!(dtype, DType::F32 | DType::Complex64) { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

#[track_caller]
fn assert_near(found: &Tensor, expected: &Tensor) {
    let apart = found.sub(expected).unwrap().abs().unwrap().to_dtype(DType::F64).unwrap();
    let most = apart.to_vec::<f64>().unwrap().into_iter().fold(0.0, f64::max);
    assert!(most <= 256.0 * eps(found.dtype()), "they are {most} apart");
}

fn diagonal(values: &Tensor, dtype: DType) -> Tensor {
    DiagEmbed.call(&values.to_dtype(dtype).unwrap(), 0, -2, -1).unwrap()
}

#[test]
fn vectors_and_values_multiply_to_the_matrix() {
    for dtype in DTYPES {
        for sizes in [&[4, 4][..], &[3, 2, 2], &[2, 5, 3], &[3, 5], &[20, 20]] {
            let a = random(dtype, sizes, 3);
            for is_full in [false, true] {
                let (u, s, vh) = LinalgSvd.call(&a, is_full, None).unwrap();
                let k = *s.sizes().last().unwrap();
                let (u, vh) = (u.narrow(-1, 0, k).unwrap(), vh.narrow(-2, 0, k).unwrap());
                let product = u.matmul(&diagonal(&s, dtype)).unwrap().matmul(&vh).unwrap();
                assert_near(&product, &a);
                assert_near(&LinalgSvdvals.call(&a, None).unwrap(), &s);
            }
            if sizes[sizes.len() - 1] != sizes[sizes.len() - 2] {
                continue;
            }
            let hermitian = a.add(&adjoint(&a)).unwrap();
            for uplo in ["L", "U"] {
                // The other triangle is not read.
                let half = if uplo == "L" { hermitian.tril(0) } else { hermitian.triu(0) }.unwrap();
                let (values, v) = LinalgEigh.call(&half, uplo).unwrap();
                let product = v.matmul(&diagonal(&values, dtype)).unwrap().matmul(&adjoint(&v)).unwrap();
                assert_near(&product, &hermitian);
                assert_near(&LinalgEigvalsh.call(&half, uplo).unwrap(), &values);
            }
            let (values, v) = LinalgEig.call(&a).unwrap();
            let (product, longer) =
                (a.to_dtype(v.dtype()).unwrap().matmul(&v), v.matmul(&diagonal(&values, v.dtype())));
            assert_near(&product.unwrap(), &longer.unwrap());
            let alone = LinalgEigvals.call(&a).unwrap();
            assert_near(&alone.sum_dim(-1, false).unwrap(), &values.sum_dim(-1, false).unwrap());
        }
    }
}

/// Checks derivatives, and those of derivatives, of a function of a matrix.
#[track_caller]
fn check(sizes: &[i64], function: impl Fn(&Tensor) -> Result<Vec<Tensor>>) {
    for dtype in [DType::F64, DType::Complex128] {
        let x = random(dtype, sizes, 11);
        x.requires_grad_(true).unwrap();
        let function = |inputs: &[Tensor]| function(&inputs[0]);
        gradcheck(function, std::slice::from_ref(&x), CheckOptions::default()).unwrap();
        gradgradcheck(function, &[x], CheckOptions { atol: 1e-4, ..CheckOptions::default() }).unwrap();
    }
}

#[test]
fn gradients_of_hermitian_matrices_are_those_of_differences() {
    for is_upper in [false, true] {
        check(&[3, 3], |x| {
            let unit = ops::Eye.call(3, Some(x.dtype()), None, None, None)?;
            let definite = x.matmul(&Adjoint.call(x)?)?.add(&unit)?;
            Ok(vec![LinalgCholesky.call(&definite, is_upper)?])
        });
        let uplo = if is_upper { "U" } else { "L" };
        check(&[3, 3], |x| {
            let (values, vectors) = LinalgEigh.call(&x.add(&Adjoint.call(x)?)?, uplo)?;
            Ok(vec![values, vectors.abs()?])
        });
    }
}

#[test]
fn gradients_of_vectors_are_those_of_differences() {
    for sizes in [&[3, 3][..], &[4, 2], &[2, 4], &[2, 2, 2]] {
        check(sizes, |x| {
            let (u, s, vh) = LinalgSvd.call(x, false, None)?;
            Ok(vec![u.abs()?, s, vh.abs()?, u.matmul(&vh)?])
        });
    }
    // Vectors beyond the singular values have no part in it.
    for sizes in [&[4, 2][..], &[2, 4]] {
        check(sizes, |x| {
            let (u, s, vh) = LinalgSvd.call(x, true, None)?;
            let (u, vh) = (u.narrow(-1, 0, 2)?, vh.narrow(-2, 0, 2)?);
            Ok(vec![u.abs()?, s, vh.abs()?, u.matmul(&vh)?])
        });
    }
    check(&[3, 3], |x| {
        let (values, vectors) = LinalgEig.call(x)?;
        Ok(vec![values, vectors.abs()?])
    });
    for mode in ["reduced", "complete"] {
        check(&[3, 4], |x| {
            let (q, r) = LinalgQr.call(x, mode)?;
            Ok(vec![q, r])
        });
    }
}

#[test]
fn determinants_of_singular_matrices_have_the_gradients_of_differences() {
    let columns = Tensor::from_slice(&[1.0, 0.0, 1.0], &[3]).unwrap();
    for dtype in [DType::F64, DType::Complex128] {
        let regular = random(dtype, &[3, 3], 7);
        let singular = regular.mul(&columns).unwrap();
        let x = Tensor::stack(&[singular, regular], 0).unwrap();
        x.requires_grad_(true).unwrap();
        let function = |inputs: &[Tensor]| Ok(vec![ops::LinalgDet.call(&inputs[0])?]);
        gradcheck(function, std::slice::from_ref(&x), CheckOptions::default()).unwrap();
        // Complex vectors of a singular value of zero have no derivative, here as in torch.
        if dtype == DType::F64 {
            gradgradcheck(function, &[x], CheckOptions { atol: 1e-4, ..CheckOptions::default() }).unwrap();
        }
    }
}

#[test]
fn gradients_of_roots_are_those_of_differences() {
    check(&[3, 3], |a| {
        let hermitian = a
            .matmul(&adjoint(a))?
            .add(&diagonal(&Tensor::ones(&[3], DType::F64, Device::CPU)?, a.dtype()))?;
        Ok(vec![LinalgMatrixSqrth.call(&hermitian)?])
    });
}

#[test]
fn residuals_are_there_where_every_matrix_has_full_rank() -> Result<()> {
    for dtype in DTYPES {
        for driver in ["gels", "gelsd", "gelss"] {
            let (a, b) = (random(dtype, &[2, 5, 3], 3), random(dtype, &[2, 5, 2], 4));
            let (x, residuals, rank, values) = LinalgLstsq.call(&a, &b, None, Some(driver))?;
            let left = b.sub(&a.matmul(&x)?)?.abs()?;
            assert_near(&residuals, &left.mul(&left)?.sum_dim([-2], false)?);
            // What is left over is orthogonal to the columns.
            assert_near(&adjoint(&a).matmul(&b.sub(&a.matmul(&x)?)?)?, &x.mul(0)?);
            if driver == "gels" {
                assert_eq!((rank.sizes(), values.sizes()), (&[0][..], &[0][..]));
                continue;
            }
            assert_eq!(rank.to_vec::<i64>()?, [3, 3]);
            assert_near(&values, &LinalgSvdvals.call(&a, None)?);
            let twice = ops::Cat.call(&[a.narrow(-1, 0, 2)?, a.narrow(-1, 0, 1)?], -1)?;
            let (least, residuals, rank, _) = LinalgLstsq.call(&twice, &b, None, Some(driver))?;
            assert_eq!((residuals.sizes(), rank.to_vec::<i64>()?), (&[0][..], vec![2, 2]));
            // Of all solutions the shortest one divides what two equal columns have.
            assert_near(&least.narrow(-2, 0, 1)?, &least.narrow(-2, 2, 1)?);
        }
    }
    Ok(())
}

#[test]
fn gradients_of_least_squares_are_those_of_differences() {
    let b = |a: &Tensor| random(a.dtype(), &[4, 2], 4);
    check(&[4, 2], |a| {
        let (x, residuals, ..) = LinalgLstsq.call(a, &b(a), None, Some("gelsd"))?;
        Ok(vec![x, residuals])
    });
}

#[test]
fn a_pseudo_inverse_without_small_values_has_the_gradient_of_differences() {
    // Of these values the second one counts as zero.
    for dtype in [DType::F64, DType::Complex128] {
        let (u, _) = LinalgQr.call(&random(dtype, &[4, 2], 5), "reduced").unwrap();
        let (v, _) = LinalgQr.call(&random(dtype, &[3, 2], 6), "reduced").unwrap();
        let values = Tensor::from_slice(&[2.0f64, 0.5], &[2]).unwrap();
        let a = u.matmul(&diagonal(&values, dtype)).unwrap().matmul(&adjoint(&v)).unwrap();
        let a = a.detach().unwrap();
        a.requires_grad_(true).unwrap();
        gradcheck(
            |inputs| Ok(vec![ops::LinalgPinvAtolRtolFloat.call(&inputs[0], Some(1.0), None, false)?]),
            &[a],
            CheckOptions::default(),
        )
        .unwrap();
    }
}

#[test]
fn exponentials_of_matrices_have_no_16_bit_floats() {
    for dtype in [DType::F16, DType::BF16] {
        let error = LinalgMatrixExp.call(&random(dtype, &[2, 2], 3)).unwrap_err();
        assert!(error.message().contains("expected float32"), "{error}");
    }
}

#[test]
fn matrices_that_cannot_be_factored_are_told() {
    let singular = Tensor::from_slice(&[1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0], &[2, 2, 2]).unwrap();
    let error = LinalgInv.call(&singular).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LinearAlgebra);
    assert!(
        error.to_string().contains("linalg.inv: (Batch element 1): The diagonal element 2 is zero"),
        "{error}"
    );
    let (_, info) = LinalgInvEx.call(&singular, false).unwrap();
    assert_eq!(info.to_vec::<i32>().unwrap(), [0, 2]);
    let error = LinalgSolve.call(&singular, &singular, true).unwrap_err();
    assert!(error.to_string().contains("(Batch element 1): The solver failed"), "{error}");
    let indefinite = Tensor::from_slice(&[1.0, 2.0, 2.0, 1.0], &[2, 2]).unwrap();
    let error = LinalgCholesky.call(&indefinite, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LinearAlgebra);
    assert!(error.to_string().contains("the leading minor of order 2 is not positive-definite"), "{error}");
    let (_, info) = LinalgCholeskyEx.call(&indefinite, false, false).unwrap();
    assert_eq!(info.to_vec::<i32>().unwrap(), [2]);
    let strange = Tensor::from_slice(&[1.0, f64::INFINITY, 2.0, 1.0], &[2, 2]).unwrap();
    for error in [
        LinalgSvdvals.call(&strange, None).unwrap_err(),
        LinalgEigvalsh.call(&strange, "U").unwrap_err(),
        LinalgEigvals.call(&strange).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::LinearAlgebra, "{error}");
    }
}

#[test]
fn negative_powers_are_those_of_the_inverse() {
    for dtype in DTYPES {
        let unit = ops::Eye.call(3, Some(dtype), None, None, None).unwrap();
        let a = random(dtype, &[2, 3, 3], 5).add(&unit.mul(3.0).unwrap()).unwrap();
        let inverse = LinalgInv.call(&a).unwrap();
        assert_near(&LinalgMatrixPower.call(&a, -1).unwrap(), &inverse);
        assert_near(&LinalgMatrixPower.call(&a, -2).unwrap(), &inverse.matmul(&inverse).unwrap());
    }
    let integers = Tensor::from_slice(&[1_i64, 0, 0, 1], &[2, 2]).unwrap();
    let error = LinalgMatrixPower.call(&integers, -1).unwrap_err();
    assert!(error.to_string().contains("expected float32"), "{error}");
}
