//! Steps of optimizers for many parameters in one call, and operators for lists.

use std::slice;

use opgrid_core::{DType, Device, Result, Scalar};
use opgrid_tensor::Tensor;
use opgrid_tensor::ops::{
    AmpForeachNonFiniteCheckAndUnscaleInplace, AmpUpdateScaleInplace, ForeachAddInplaceList,
    ForeachAddInplaceScalar, ForeachMulInplaceTensor, ForeachNormScalar, ForeachZeroInplace,
    FusedAdamInplace, FusedAdamwInplace, FusedSgdInplace,
};

fn tensor(elements: &[f64]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

fn close(found: &[f64], expected: &[f64]) {
    let is_close =
        |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_close),
        "found {found:?}, expected {expected:?}"
    );
}

/// The arguments of a step of gradient descent.
#[derive(Clone, Copy)]
struct Sgd {
    decay: f64,
    momentum: f64,
    dampening: f64,
    nesterov: bool,
    maximize: bool,
    is_first: bool,
}

const SGD: Sgd =
    Sgd { decay: 0.0, momentum: 0.0, dampening: 0.0, nesterov: false, maximize: false, is_first: false };

fn sgd(parameters: &[Tensor], grads: &[Tensor], buffers: &[Tensor], step: Sgd) -> Result<()> {
    let Sgd { decay, momentum, dampening, nesterov, maximize, is_first } = step;
    FusedSgdInplace.call(
        parameters, grads, buffers, decay, momentum, 0.1, dampening, nesterov, maximize, is_first, None, None,
    )
}

#[test]
fn gradient_descent_follows_its_formula() {
    let grads = [tensor(&[1.0, -2.0]), tensor(&[0.5])];
    let parameters = || [tensor(&[1.0, 2.0]), tensor(&[3.0])];
    let plain = parameters();
    sgd(&plain, &grads, &[], SGD).unwrap();
    close(&values(&plain[0]), &[0.9, 2.2]);
    close(&values(&plain[1]), &[2.95]);

    let upwards = parameters();
    sgd(&upwards, &grads, &[], Sgd { decay: 0.5, maximize: true, ..SGD }).unwrap();
    close(&values(&upwards[0]), &[1.0 - 0.1 * (-1.0 + 0.5), 2.0 - 0.1 * (2.0 + 1.0)]);

    // The buffer of a first step counts for nothing, were it NaN.
    let (fast, buffers) = (parameters(), [tensor(&[f64::NAN, f64::NAN]), tensor(&[f64::NAN])]);
    let step = Sgd { momentum: 0.9, dampening: 0.5, ..SGD };
    sgd(&fast, &grads, &buffers, Sgd { is_first: true, ..step }).unwrap();
    close(&values(&buffers[0]), &[1.0, -2.0]);
    sgd(&fast, &grads, &buffers, Sgd { nesterov: true, ..step }).unwrap();
    close(&values(&buffers[0]), &[0.9 + 0.5, -1.8 - 1.0]);
    close(&values(&fast[0]), &[0.9 - 0.1 * (1.0 + 0.9 * 1.4), 2.2 - 0.1 * (-2.0 - 0.9 * 2.8)]);
}

#[test]
fn adam_follows_its_formula() {
    for (is_decoupled, amsgrad) in [(false, false), (true, false), (false, true), (true, true)] {
        let (lr, beta1, beta2, decay, eps) = (0.01, 0.9, 0.99, 0.1, 1e-8);
        let (parameter, grad) = (tensor(&[1.0, -2.0, 0.0]), tensor(&[0.5, 3.0, 0.0]));
        let [mean, squares, largest] = [(); 3].map(|()| tensor(&[0.0; 3]));
        let mut expected: Vec<[f64; 4]> = values(&parameter).iter().map(|p| [*p, 0.0, 0.0, 0.0]).collect();
        for step in 1..=3 {
            let lists = [&parameter, &grad, &mean, &squares, &largest].map(|tensor| [tensor.clone()]);
            let steps = [tensor(&[f64::from(step)])];
            let [parameters, grads, means, all_squares, all_largest] = &lists;
            let arguments = (parameters, grads, means, all_squares, all_largest);
            let (a, b, c, d, e) = arguments;
            let done = if is_decoupled {
                FusedAdamwInplace
                    .call(a, b, c, d, e, &steps, lr, beta1, beta2, decay, eps, amsgrad, false, None, None)
            } else {
                FusedAdamInplace
                    .call(a, b, c, d, e, &steps, lr, beta1, beta2, decay, eps, amsgrad, false, None, None)
            };
            done.unwrap();
            for ([p, m, v, most], g) in expected.iter_mut().zip(values(&grad)) {
                let g = if is_decoupled { g } else { g + decay * *p };
                *m = beta1 * *m + (1.0 - beta1) * g;
                *v = beta2 * *v + (1.0 - beta2) * g * g;
                *most = most.max(*v);
                let v = if amsgrad { *most } else { *v };
                let corrected = (v / (1.0 - beta2.powi(step))).sqrt() + eps;
                let shrunk = if is_decoupled { *p * (1.0 - lr * decay) } else { *p };
                *p = shrunk - lr * *m / (1.0 - beta1.powi(step)) / corrected;
            }
            close(&values(&parameter), &expected.iter().map(|of| of[0]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn scaled_gradients_are_divided_and_infinite_ones_leave_the_step_out() {
    let (parameter, grad) = (tensor(&[1.0]), tensor(&[8.0]));
    let (scale, [yes, no]) = (tensor(&[4.0]), [1.0, 0.0].map(|found| tensor(&[found])));
    let step = |found: &Tensor| {
        let (parameters, grads) = ([parameter.clone()], [grad.clone()]);
        let (scale, found) = (Some(&scale), Some(found));
        FusedSgdInplace
            .call(&parameters, &grads, &[], 0.0, 0.0, 0.5, 0.0, false, false, false, scale, found)
            .unwrap();
    };
    step(&yes);
    assert_eq!((values(&parameter), values(&grad)), (vec![1.0], vec![8.0]));
    step(&no);
    assert_eq!((values(&parameter), values(&grad)), (vec![0.0], vec![2.0]));
}

#[test]
fn a_step_that_does_not_fit_changes_nothing() {
    let parameters = [tensor(&[1.0]), tensor(&[2.0, 3.0])];
    let whole = Tensor::from_slice(&[1i64], &[1]).unwrap();
    let cases: [(&[Tensor], &[Tensor], &str); 4] = [
        (&parameters, &[tensor(&[1.0])], "argument `grads` has 1 tensors, expected 2"),
        (&parameters, &[tensor(&[1.0]), tensor(&[1.0])], "tensor 1 has sizes [1]"),
        (&parameters, &[tensor(&[1.0]), tensor(&[1.0, 2.0]).to_dtype(DType::F32).unwrap()], "dtype float32"),
        (slice::from_ref(&whole), slice::from_ref(&whole), "expected floating-point ones"),
    ];
    for (parameters, grads, part) in cases {
        let error = sgd(parameters, grads, &[], SGD).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("_fused_sgd_"), "{error}");
    }
    let error = sgd(&parameters, &[tensor(&[1.0]), tensor(&[1.0, 1.0])], &[], Sgd { momentum: 0.9, ..SGD })
        .unwrap_err();
    assert!(error.to_string().contains("`momentum_buffer_list` has 0 tensors"), "{error}");
    assert_eq!((values(&parameters[0]), values(&parameters[1])), (vec![1.0], vec![2.0, 3.0]));
    let meta = [Tensor::empty(&[2], DType::F32, Device::META).unwrap()];
    sgd(&meta, &meta, &[], SGD).unwrap();
}

#[test]
fn lists_are_written_tensor_by_tensor() {
    let tensors = [tensor(&[1.0, 2.0]), tensor(&[3.0])];
    ForeachAddInplaceScalar.call(&tensors, Scalar::Int(1)).unwrap();
    ForeachAddInplaceList.call(&tensors, &[tensor(&[1.0, 1.0]), tensor(&[2.0])], Scalar::Int(2)).unwrap();
    assert_eq!((values(&tensors[0]), values(&tensors[1])), (vec![4.0, 5.0], vec![8.0]));
    let half = Tensor::from_slice(&[0.5f64], ()).unwrap();
    ForeachMulInplaceTensor.call(&tensors, &half).unwrap();
    assert_eq!(values(&tensors[1]), [4.0]);
    let norms = ForeachNormScalar.call(&tensors, Scalar::Int(1), None).unwrap();
    assert_eq!(norms.iter().map(values).collect::<Vec<_>>(), [vec![4.5], vec![4.0]]);
    ForeachZeroInplace.call(&tensors).unwrap();
    assert_eq!(values(&tensors[0]), [0.0, 0.0]);
    assert!(ForeachZeroInplace.call(&[]).unwrap_err().to_string().contains("empty list"));
    let error = ForeachAddInplaceList.call(&tensors, &[], Scalar::Int(1)).unwrap_err();
    assert!(error.to_string().contains("`other` has 0 tensors, expected 2"), "{error}");
}

#[test]
fn steps_of_lists_are_recorded_as_those_of_single_tensors() {
    let x = tensor(&[1.0, 2.0]);
    x.requires_grad_(true).unwrap();
    let y = x.mul(&x).unwrap();
    ForeachAddInplaceList.call(slice::from_ref(&y), slice::from_ref(&x), Scalar::Int(3)).unwrap();
    y.sum().unwrap().backward().unwrap();
    assert_eq!(values(&x.grad().unwrap()), [5.0, 7.0]);
}

#[test]
fn gradients_of_a_scaled_loss_are_unscaled_and_looked_at() {
    let number = |value: f64| tensor(&[value]).to_dtype(DType::F32).unwrap();
    for (element, expected) in [(8.0, 0.0), (f64::INFINITY, 1.0), (f64::NAN, 1.0)] {
        let half = tensor(&[16.0]).to_dtype(DType::F16).unwrap();
        let (grads, found) = ([tensor(&[4.0, element]), half, tensor(&[])], number(0.0));
        AmpForeachNonFiniteCheckAndUnscaleInplace.call(&grads, &found, &number(0.25)).unwrap();
        assert_eq!(values(&grads[0])[0], 1.0);
        assert_eq!(grads[1].item().unwrap().to_f64().unwrap(), 4.0);
        assert_eq!(found.item().unwrap().to_f64().unwrap(), expected, "{element}");
    }
    let found = number(1.0);
    AmpForeachNonFiniteCheckAndUnscaleInplace.call(&[tensor(&[1.0])], &found, &number(1.0)).unwrap();
    assert_eq!(found.item().unwrap().to_f64().unwrap(), 1.0, "what was found before stays");
    let error = AmpForeachNonFiniteCheckAndUnscaleInplace
        .call(&[tensor(&[1.0])], &tensor(&[0.0]), &number(1.0))
        .unwrap_err();
    assert!(error.to_string().contains("`found_inf` has sizes [1] and dtype float64"), "{error}");
}

#[test]
fn the_scale_of_a_loss_grows_and_backs_off() {
    let number = |value: f64| tensor(&[value]).to_dtype(DType::F32).unwrap();
    let scale = number(8.0);
    let tracker = Tensor::from_slice(&[0i32], &[1]).unwrap();
    let mut seen = Vec::new();
    for found in [0.0, 0.0, 0.0, 1.0, 0.0] {
        AmpUpdateScaleInplace.call(&scale, &tracker, &number(found), 2.0, 0.5, 2).unwrap();
        seen.push((scale.item().unwrap().to_f64().unwrap(), tracker.item().unwrap().to_i64().unwrap()));
    }
    assert_eq!(seen, [(8.0, 1), (16.0, 0), (16.0, 1), (8.0, 0), (8.0, 1)]);
    let large = number(3e38);
    AmpUpdateScaleInplace.call(&large, &tracker, &number(0.0), 2.0, 0.5, 2).unwrap();
    assert_eq!((values(&large.to_dtype(DType::F64).unwrap())[0] / 3e38).round(), 1.0, "it stays finite");
}
