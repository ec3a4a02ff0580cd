//! Losses: what differs from torch on purpose, and what samples cannot say.

use opgrid_core::{Complex64, DType, Device, Result, Scalar};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::gradcheck;
use opgrid_tensor::ops::{
    BinaryCrossEntropy, BinaryCrossEntropyOut, BinaryCrossEntropyWithLogits, CrossEntropyLoss,
    CtcLossForward, CtcLossIntList, HingeEmbeddingLoss, HuberLoss, HuberLossOut, KlDiv, MarginRankingLoss,
    MseLoss, NllLoss, NllLoss2d, NllLoss2dOut, NllLossForward, NllLossNd, PoissonNllLoss, SmoothL1Loss,
    SoftMarginLoss, SoftMarginLossOut, ToCopy, TripletMarginLoss,
};

const NONE: i64 = 0;
const MEAN: i64 = 1;
const SUM: i64 = 2;

fn tensor(elements: &[f64], sizes: &[i64], dtype: DType) -> Tensor {
    to(&Tensor::from_slice(elements, sizes).unwrap(), dtype)
}

fn floats(elements: &[f64], sizes: &[i64]) -> Tensor {
    tensor(elements, sizes, DType::F32)
}

fn classes(elements: &[i64], sizes: &[i64]) -> Tensor {
    Tensor::from_slice(elements, sizes).unwrap()
}

fn to(tensor: &Tensor, dtype: DType) -> Tensor {
    ToCopy.call(tensor, Some(dtype), None, None, None, false, None).unwrap()
}

fn empty(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::empty(sizes, dtype, Device::CPU).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    to(tensor, DType::F64).to_vec().unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn what_torch_does_not_check_is_refused() {
    let x = floats(&[0.5, 0.25], &[2]);
    let other = message(KlDiv.call(&x, &x, -1, false));
    assert!(other.contains("`reduction` is -1, expected 0 (none), 1 (mean) or 2 (sum)"), "{other}");
    let smoothing = |part| CrossEntropyLoss.call(&x, &classes(&[1], &[]), None, MEAN, -100, part);
    assert!(message(smoothing(-1.0)).contains("`label_smoothing` is -1"));
    assert!(message(smoothing(f64::NAN)).contains("`label_smoothing` is NaN"));
    // No probability is left out, and rows do not meet columns.
    let column = floats(&[1.0, 0.0], &[2, 1]);
    assert!(message(BinaryCrossEntropy.call(&x, &column, None, NONE)).contains("`target` has shape [2, 1]"));
    let square = floats(&[0.5; 4], &[2, 2]);
    let rows = BinaryCrossEntropy.call(&square, &floats(&[0.0, 0.5], &[2, 1]), None, NONE).unwrap();
    assert_eq!(rows.sizes(), [2, 2]);
    let row = BinaryCrossEntropy.call(&floats(&[0.25; 4], &[2, 2]), &column, None, NONE).unwrap();
    let (yes, no) = (-0.25f64.ln(), -0.75f64.ln());
    for (found, expected) in elements(&row).into_iter().zip([yes, yes, no, no]) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert!(
        message(BinaryCrossEntropy.call(&x, &floats(&[2.0, 0.0], &[2]), None, NONE)).contains("`target`")
    );
    let whole = classes(&[1, -1], &[2]);
    assert!(message(HingeEmbeddingLoss.call(&whole, &whole, 0.5, NONE)).contains("`margin` is 0.5"));
    // Dtypes are looked at where there are no elements.
    let (nothing, parts) = (empty(&[0, 3], DType::U8), empty(&[0, 3], DType::F32));
    let refused = message(CrossEntropyLoss.call(&nothing, &parts, None, SUM, -100, 0.0));
    assert!(refused.contains("expected a floating-point dtype"), "{refused}");
    let (nothing, number) = (empty(&[0, 3, 2, 2], DType::F32), empty(&[], DType::I32));
    let target = empty(&[0, 2, 2], DType::I64);
    let refused = message(NllLoss2dOut.call(&nothing, &target, None, SUM, -100, &number));
    assert!(refused.contains("can't be cast to the desired output type int32"), "{refused}");
}

#[test]
fn what_torch_refuses_by_accident_is_computed() {
    let image = floats(&[-1.0, -2.0, -3.0, -4.0], &[1, 2, 1, 2]);
    let target = classes(&[1, 0], &[1, 1, 2]);
    let losses = |target: &Tensor| NllLoss2d.call(&image, target, None, NONE, -100).unwrap();
    assert_eq!(elements(&losses(&to(&target, DType::U8))), [3.0, 2.0]);
    assert_eq!(elements(&losses(&target)), [3.0, 2.0]);
    let x = floats(&[0.5, 0.25, 1.0], &[3]);
    let smoothed =
        |sizes: &[i64]| CrossEntropyLoss.call(&x, &classes(&[1], sizes), None, NONE, -100, 0.25).unwrap();
    assert_eq!(smoothed(&[1]).sizes(), [0i64; 0]);
    assert_eq!(elements(&smoothed(&[1])), elements(&smoothed(&[])));
}

#[test]
fn outputs_get_the_result_only() {
    let x = floats(&[0.5, 0.25, 0.5], &[3]);
    let ones = floats(&[1.0; 3], &[3]);
    let block = floats(&[-7.0; 4], &[4]);
    let out = block.select(0, 1).unwrap();
    BinaryCrossEntropyOut.call(&x, &ones, None, SUM, &out).unwrap();
    let found = elements(&block);
    assert!((found[1] - 16f64.ln()).abs() < 1e-6, "{found:?}");
    HuberLossOut.call(&x, &ones, SUM, 1.0, &out).unwrap();
    assert!((elements(&block)[1] - (0.25 + 0.5625 + 0.25) / 2.0).abs() < 1e-6);
    SoftMarginLossOut.call(&x, &ones, SUM, &out).unwrap();
    let found = elements(&block);
    assert_eq!([found[0], found[2], found[3]], [-7.0; 3]);
    // The target is read before it is written.
    let target = floats(&[1.0, -1.0, 1.0], &[3]);
    let expected = SoftMarginLoss.call(&x, &target, NONE).unwrap();
    SoftMarginLossOut.call(&x, &target, NONE, &target).unwrap();
    assert_eq!(elements(&target), elements(&expected));
}

#[test]
fn losses_have_the_dtype_of_what_they_are_the_losses_of() {
    let x = |dtype| tensor(&[0.5, 0.25], &[2], dtype);
    let dtypes = [DType::F16, DType::BF16, DType::F32, DType::F64];
    for (dtype, other) in dtypes.into_iter().flat_map(|one| dtypes.map(|other| (one, other))) {
        let (own, other) = (x(dtype), x(other));
        let losses = [
            BinaryCrossEntropy.call(&own, &own, Some(&other), NONE),
            BinaryCrossEntropyWithLogits.call(&other, &own, Some(&other), Some(&other), MEAN),
            SoftMarginLoss.call(&own, &other, NONE),
        ];
        for loss in losses {
            assert_eq!(loss.unwrap().dtype(), dtype);
        }
    }
    // Stirling's formula for integers is computed in floats, which the losses may not be wider for.
    let counts = classes(&[3], &[]);
    let poisson = |full| {
        PoissonNllLoss
            .call(&tensor(&[0.5], &[], DType::F16), &counts, true, full, 1e-8, NONE)
            .unwrap()
            .dtype()
    };
    assert_eq!((poisson(false), poisson(true)), (DType::F16, DType::F16));
    let flags = floats(&[1.0, 0.0], &[2]).to_dtype(DType::Bool).unwrap();
    let refused = PoissonNllLoss.call(&x(DType::F32), &flags, true, true, 1e-8, NONE);
    assert!(message(refused).contains("`target` is a bool tensor"));
    let refused = SoftMarginLoss.call(&classes(&[1], &[1]), &floats(&[1.0], &[1]), NONE);
    assert!(message(refused).contains("can't be cast"));
}

#[test]
fn losses_of_classes_lie_in_rows() {
    let x = floats(&[0.5; 24], &[2, 3, 2, 2]);
    let target = classes(&[0, 1, 2, 0, 1, 2, 0, 1], &[2, 2, 2]).transpose(1, 2).unwrap();
    assert_eq!(NllLoss2d.call(&x, &target, None, NONE, -100).unwrap().strides(), [4, 2, 1]);
    assert_eq!(CrossEntropyLoss.call(&x, &target, None, NONE, -100, 0.25).unwrap().strides(), [4, 2, 1]);
    let line = x.reshape(&[2, 3, 4]).unwrap();
    let target = classes(&[0, 1, 2, 0, 1, 2, 0, 1], &[4, 2]).t().unwrap();
    assert_eq!(NllLossNd.call(&line, &target, None, NONE, -100).unwrap().strides(), [4, 1]);
    // Those of differences lie as what has an order, where numbers are stretched in the other.
    let stretched = tensor(&[1.0, 2.0], &[2, 1], DType::BF16).expand(&[2, 3]).unwrap();
    let column = tensor(&[0.5; 6], &[3, 2], DType::BF16).t().unwrap();
    assert_eq!(HuberLoss.call(&stretched, &column, NONE, 1.0).unwrap().strides(), [1, 2]);
    // Those of probabilities lie as these.
    let turned = floats(&[0.5; 6], &[2, 3]).t().unwrap();
    let losses = BinaryCrossEntropy.call(&turned, &floats(&[1.0; 6], &[3, 2]), None, NONE).unwrap();
    assert_eq!(losses.strides(), [1, 3]);
}

#[test]
fn targets_may_be_bools() {
    let x = floats(&[0.25, 2.0], &[2]);
    x.requires_grad_(true).unwrap();
    let flags = floats(&[1.0, 0.0], &[2]).to_dtype(DType::Bool).unwrap();
    let slopes = |loss: Tensor| {
        x.set_grad(None).unwrap();
        loss.sum().unwrap().backward().unwrap();
        (elements(&loss.detach().unwrap()), elements(&x.grad().unwrap()))
    };
    assert_eq!(slopes(MseLoss.call(&x, &flags, NONE).unwrap()), (vec![0.5625, 4.0], vec![-1.5, 4.0]));
    let huber = slopes(HuberLoss.call(&x, &flags, NONE, 1.0).unwrap());
    assert_eq!(huber, (vec![0.28125, 1.5], vec![-0.75, 1.0]));
    let smooth = |beta| slopes(SmoothL1Loss.call(&x, &flags, NONE, beta).unwrap());
    assert_eq!(smooth(1.0), (vec![0.28125, 1.5], vec![-0.75, 1.0]));
    assert_eq!(smooth(0.0), (vec![0.75, 2.0], vec![-1.0, 1.0]));
    assert!(message(MseLoss.call(&flags, &flags, NONE)).contains("'Bool'"));
    assert!(message(SmoothL1Loss.call(&classes(&[1], &[1]), &flags, NONE, 0.0)).contains("'Long'"));
}

#[test]
fn distances_of_triplets_are_norms() {
    // In the range, though powers of the differences are not.
    let half = |number: f64| tensor(&[number], &[1, 1], DType::F16);
    let far =
        TripletMarginLoss.call(&half(60.0), &half(0.0), &half(50.0), 1.0, 8.0, 0.0, true, NONE).unwrap();
    assert_eq!(elements(&far), [51.0]);
    // Those of complex numbers are real.
    let complex = tensor(&[0.0], &[1, 1], DType::Complex64).add(Scalar::Complex(Complex64::new(3.0, 4.0)));
    let zero = floats(&[0.0], &[1, 1]);
    let loss = TripletMarginLoss.call(&complex.unwrap(), &zero, &zero, 1.0, 2.0, 0.0, true, NONE).unwrap();
    assert_eq!((loss.dtype(), elements(&loss)), (DType::F32, vec![6.0]));
}

#[test]
fn a_single_class_may_have_a_dimension() {
    let x = floats(&[-1.0, -2.0, -3.0], &[3]);
    x.requires_grad_(true).unwrap();
    let loss = NllLoss.call(&x, &classes(&[1], &[1]), None, NONE, -100).unwrap();
    loss.backward().unwrap();
    assert_eq!((loss.sizes(), elements(&loss.detach().unwrap())), (&[][..], vec![2.0]));
    assert_eq!(elements(&x.grad().unwrap()), [0.0, -1.0, 0.0]);
    assert!(NllLoss.call(&x, &classes(&[1, 1], &[2]), None, NONE, -100).is_err());
}

#[test]
fn without_classes_all_targets_are_ignored() {
    let x = empty(&[2, 0], DType::F32);
    x.requires_grad_(true).unwrap();
    let weight = empty(&[0], DType::F32);
    for weight in [None, Some(&weight)] {
        let (losses, total) = NllLossForward.call(&x, &classes(&[-1, -1], &[2]), weight, NONE, -1).unwrap();
        losses.sum().unwrap().backward().unwrap();
        assert_eq!(elements(&losses.detach().unwrap()), [0.0, 0.0]);
        assert_eq!(elements(&total), [0.0]);
        assert_eq!(x.grad().unwrap().sizes(), [2, 0]);
    }
    let named = NllLoss.call(&x, &classes(&[-1, 0], &[2]), None, SUM, -1);
    assert!(message(named).contains("`target` has a class index, but `self` has no classes"));
    // Of lines and volumes as of images.
    for sizes in [&[2, 0, 4][..], &[2, 0, 2, 2], &[2, 0, 1, 2, 2]] {
        let targets: Vec<i64> = [&sizes[..1], &sizes[2..]].concat();
        let ignored = NllLossNd.call(&empty(sizes, DType::F64), &classes(&[1; 8], &targets), None, SUM, 1);
        assert_eq!(elements(&ignored.unwrap()), [0.0]);
    }
}

#[test]
fn margins_are_numbers_of_the_dtype() {
    let (x, alike) = (floats(&[1.0, 2.0], &[2]), floats(&[-1.0, 1.0], &[2]));
    assert!(HingeEmbeddingLoss.call(&x, &alike, -1e300, NONE).is_err());
    let whole = HingeEmbeddingLoss.call(&classes(&[1, 2], &[2]), &alike, 3.0, NONE).unwrap();
    assert_eq!((whole.dtype(), elements(&whole)), (DType::I64, vec![2.0, 2.0]));
    // Inputs of fewer dimensions are those of each row.
    let (rows, row) = (floats(&[1.0, 2.0, 3.0, 4.0], &[2, 2]), floats(&[2.0, 2.0], &[2]));
    let lack = MarginRankingLoss.call(&rows, &row, &floats(&[1.0], &[]), 0.5, NONE).unwrap();
    assert_eq!(elements(&lack), [1.5, 0.5, 0.0, 0.0]);
}

#[test]
fn gradients_of_alignments_are_those_of_scores() -> Result<()> {
    let labels = classes(&[1, 2, 2, 0], &[2, 2]);
    let scores: Vec<f64> = (0..24).map(|at| f64::from(at * 7 % 11) / 4.0 - 1.0).collect();
    for reduction in [NONE, MEAN, SUM] {
        let scores = tensor(&scores, &[4, 2, 3], DType::F64);
        scores.requires_grad_(true)?;
        let losses = |x: &[Tensor]| {
            let log_probs = x[0].log_softmax(-1)?;
            let blank = 0;
            Ok(vec![CtcLossIntList.call(&log_probs, &labels, &[4, 3], &[2, 1], blank, reduction, false)?])
        };
        gradcheck(losses, &[scores], Default::default())?;
    }
    Ok(())
}

#[test]
fn sequences_without_alignments_have_no_gradient_where_infinity_is_zero() -> Result<()> {
    // Three labels in two steps, and two equal ones in two, which need a blank between them.
    let labels = classes(&[1, 2, 1, 1, 1], &[5]);
    let log_probs = tensor(&[-1.0, -2.0, -3.0], &[1, 1, 3], DType::F64).expand([2, 2, 3])?.contiguous()?;
    let loss = |zero| CtcLossIntList.call(&log_probs, &labels, &[2, 2], &[3, 2], 0, NONE, zero);
    assert_eq!(elements(&loss(false)?), [f64::INFINITY; 2]);
    log_probs.requires_grad_(true)?;
    let zeros = loss(true)?;
    zeros.sum()?.backward()?;
    assert_eq!(elements(&zeros.detach()?), [0.0; 2]);
    assert_eq!(elements(&log_probs.grad().unwrap()), [0.0; 12]);
    Ok(())
}

/// torch leaves memory as it was where a sequence is shorter than others, or a state cannot be reached.
#[test]
fn states_that_no_alignment_is_in_are_impossible() -> Result<()> {
    let log_probs = tensor(&[-1.0, -2.0, -3.0], &[1, 1, 3], DType::F64).expand([3, 2, 3])?.contiguous()?;
    // Both sequences have room for five states at three steps; the second one has three, at two.
    let (_, log_alpha) =
        CtcLossForward.call(&log_probs, &classes(&[1, 2, 1], &[3]), &[3, 2], &[2, 1], 0, false)?;
    let found = elements(&log_alpha.select(0, 1)?);
    let is_reached = |step: usize, state: usize| step < 2 && state < 3 && state <= 2 * step + 1;
    for (at, alpha) in found.iter().enumerate() {
        let (step, state) = (at / 5, at % 5);
        assert_eq!(alpha.is_finite(), is_reached(step, state), "step {step}, state {state}: {alpha}");
    }
    Ok(())
}
