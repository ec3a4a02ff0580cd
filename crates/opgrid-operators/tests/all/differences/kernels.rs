//! Kernels that torch's own functions call with arguments that they have checked or made, called by themselves.

use opgrid_core::{AnyTensor, Dispatcher, Value};
use opgrid_tensor::ops::{
    AdaptiveMaxPool3dBackward, BartlettWindow, CdistBackward, CholeskyInverse, ConjCopy, Contiguous,
    CtcLossForward, CumprodBackward, DiagonalBackward, DirichletGrad, EmbeddingBagPerSampleWeightsBackward,
    ForeachAddcdivTensor, ForeachCopy, GluBackwardJvp, HardsigmoidBackward, HistogramddBinEdges,
    HistogramddFromBinCts, LinalgCholeskyEx, LinalgCond, LinalgDetWithFactors, LogSigmoidBackward,
    MaskedScatterBackward, MaskedSelectBackward, MultiMarginLoss, NativeChannelShuffle, Ormqr, PdistBackward,
    RangeStep, ReplicationPad2dBackward, SampleDirichlet, StandardGamma, StandardGammaGrad,
    SymConstrainRange, TrapezoidDx, TrapezoidX,
};

use super::*;

fn doubles(sizes: &[i64]) -> Tensor {
    to(&count(sizes), DType::F64)
}

#[test]
fn arguments_of_kernels_are_checked() {
    let x = doubles(&[2, 2]);
    let distances = CdistBackward.call(&doubles(&[1, 2]), &x, &x, 1.0, &x);
    assert!(message(distances).contains("argument `grad_output` has shape [1, 2]"));
    let distances = PdistBackward.call(&x, &x, 1.0, &doubles(&[1]));
    assert!(message(distances).contains("argument `grad_output` has shape [2, 2]"));
    assert!(
        message(DiagonalBackward.call(&doubles(&[2]), &[3, 4], 9, 0, 1)).contains("expected [0] as the view")
    );
    let frame = ReplicationPad2dBackward.call(&floats(&[1, 4, 4]), &doubles(&[1, 2, 2]), &[1, 1, 1, 1]);
    assert!(message(frame).contains("as `self`; convert"));
}

#[test]
fn kernels_take_any_strides() {
    let list = || vec![floats(&[2]), floats(&[2])];
    let ones: Vec<Tensor> = list().iter().map(|x| x.add(1).unwrap()).collect();
    let scalars = with_gaps(&floats(&[2]));
    let sums = ForeachAddcdivTensor.call(&list(), &list(), &ones, &scalars).unwrap();
    assert_eq!(sums.iter().map(elements).collect::<Vec<_>>(), [[0.0, 1.0], [0.0, 1.5]]);
}

#[test]
fn kernels_keep_to_strides() {
    let (grad, input) = (floats(&[1, 1, 1, 1, 2]), floats(&[1, 1, 1, 1, 4]));
    let indices = Tensor::from_slice(&[1i64, 3], &[1, 1, 1, 1, 2]).unwrap();
    let expected = AdaptiveMaxPool3dBackward.call(&grad, &input, &indices).unwrap();
    let found = AdaptiveMaxPool3dBackward.call(&grad, &input, &with_gaps(&indices)).unwrap();
    assert_eq!(elements(&found), elements(&expected));
    assert_eq!(elements(&found), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn gradients_lie_as_inputs_do() {
    let volumes = Contiguous.call(&floats(&[1, 2, 1, 1, 4]), MemoryFormat::ChannelsLast3d).unwrap();
    let indices = to(&count(&[1, 2, 1, 1, 1]), DType::I64);
    let gradient = AdaptiveMaxPool3dBackward.call(&floats(&[1, 2, 1, 1, 1]), &volumes, &indices).unwrap();
    assert_eq!(gradient.strides(), volumes.strides());
}

#[test]
fn gradients_of_integers_are_refused() {
    let line = count(&[1]);
    assert!(message(CumprodBackward.call(&line, &line, 0, &line)).contains("expected a floating-point"));
    let pair = count(&[2]);
    let second = GluBackwardJvp.call(&pair, &line, &pair, &line, &pair, 0);
    assert!(message(second).contains("expected a floating-point dtype"));
}

#[test]
fn saved_results_follow_from_the_inputs() {
    let (grad, x) =
        (Tensor::from_slice(&[1.0, 1.0], &[2]).unwrap(), Tensor::from_slice(&[2.0, 3.0], &[2]).unwrap());
    let strange = doubles(&[2]);
    assert_eq!(elements(&CumprodBackward.call(&grad, &x, 0, &strange).unwrap()), [4.0, 2.0]);
    let slopes = LogSigmoidBackward.call(&grad, &doubles(&[2]), &doubles(&[0])).unwrap();
    assert_eq!(elements(&slopes)[0], 0.5);
    // The gradient of one factor is new, and lies in rows.
    let one = doubles(&[3, 1]);
    let gradient = CumprodBackward.call(&one, &one, 1, &one).unwrap();
    assert!(!gradient.is_same(&one));
    assert_eq!(gradient.strides(), [1, 1]);
}

#[test]
fn saved_indices_are_checked() {
    let (x, whole) = (floats(&[2, 2]), |numbers: &[i64]| Tensor::from_slice(numbers, &[2]).unwrap());
    let (offsets, bags) = (whole(&[0, 1]), whole(&[0, 1]));
    let weights = EmbeddingBagPerSampleWeightsBackward.call(&x, &x, &whole(&[0, 7]), &offsets, &bags, 0, -1);
    assert!(message(weights).contains("out of bounds"));
    let short = to(&whole(&[0, 1]), DType::I32);
    let weights = EmbeddingBagPerSampleWeightsBackward.call(&x, &x, &short, &short, &short, 0, -1).unwrap();
    assert_eq!(elements(&weights), [1.0, 13.0]);
}

#[test]
fn windows_of_one_are_checked() {
    let window = BartlettWindow.call(1, Some(DType::Complex64), None, None, None);
    assert!(message(window).contains("expected a real floating-point one"));
}

#[test]
fn results_without_elements_are_new() {
    let nothing = floats(&[0, 6, 3]);
    assert!(!NativeChannelShuffle.call(&nothing, 3).unwrap().is_same(&nothing));
}

#[test]
fn paths_end_with_their_sequences() {
    let (rows, labels) = (doubles(&[2, 1, 2]), Tensor::from_slice(&[1i64], &[1, 1]).unwrap());
    let (_, paths) = CtcLossForward.call(&rows, &labels, &[1], &[1], 0, false).unwrap();
    assert!(elements(&paths)[3..].iter().all(|path| *path == f64::NEG_INFINITY));
}

#[test]
fn kernels_take_what_functions_take() {
    assert_eq!(elements(&ConjCopy.call(&floats(&[2])).unwrap()), [0.0, 1.0]);
    let mask = Tensor::from_slice(&[Bool::TRUE, Bool::FALSE], &[2]).unwrap();
    let gradient =
        MaskedSelectBackward.call(&Tensor::from_slice(&[5i64], &[1]).unwrap(), &floats(&[2]), &mask);
    assert_eq!(gradient.unwrap().to_vec::<i64>().unwrap(), [5, 0]);
    // No reflections leave the other matrix as it is, whatever its columns are.
    let (reflections, lengths) = (doubles(&[3, 2]), to(&count(&[2]).mul(0).unwrap(), DType::F64));
    let product = Ormqr.call(&reflections, &lengths, &doubles(&[3, 1]), true, false).unwrap();
    assert_eq!(elements(&product), [0.0, 1.0, 2.0]);
}

#[test]
fn sizes_are_integers() {
    assert!(message(SymConstrainRange.call(3.25.into(), None, None)).contains("expected an integer"));
    let mask = Tensor::from_slice(&[Bool::TRUE], &[1]).unwrap();
    assert!(message(MaskedScatterBackward.call(&floats(&[1]), &mask, &[-1])).contains("negative dimension"));
}

#[test]
fn copies_of_lists_have_no_gaps() {
    let gaps = with_gaps(&floats(&[3]));
    let copies = ForeachCopy.call(std::slice::from_ref(&gaps), &[floats(&[3])], false).unwrap();
    assert_eq!(copies[0].strides(), [1]);
}

#[test]
fn ranges_of_integers_by_fractions() {
    let range = RangeStep.call(9.75.into(), 8.75.into(), (-0.5).into(), Some(DType::I8), None, None, None);
    assert_eq!(range.unwrap().to_vec::<i8>().unwrap(), [9, 9, 9]);
}

#[test]
fn losses_of_nothing() {
    let loss = MultiMarginLoss.call(&floats(&[0, 3]), &count(&[0]), 1.into(), 1.into(), None, 1).unwrap();
    assert!(elements(&loss)[0].is_nan());
}

#[test]
fn outputs_of_gradients_have_the_dtype() {
    let (x, out) = (floats(&[2]), empty(&[2], DType::F64));
    let gradient = Dispatcher::current().find("aten::mse_loss_backward.grad_input").unwrap();
    let of = |x: &Tensor| Value::from(AnyTensor::from(x.clone()));
    let arguments = vec![of(&x), of(&x), of(&x), Value::from(0)];
    let refused = message(gradient.call_with(arguments, vec![("grad_input".to_owned(), of(&out))]));
    assert!(refused.contains("has dtype float64, expected float32"), "{refused}");
}

#[test]
fn factors_of_determinants() {
    let matrix = Tensor::from_slice(&[1.0, 2.0, 4.0, 3.0], &[2, 2]).unwrap();
    let (determinant, factors, pivots) = LinalgDetWithFactors.call(&matrix).unwrap();
    assert_eq!(elements(&determinant), [-5.0]);
    assert_eq!(elements(&factors), [4.0, 3.0, 0.25, 1.25]);
    assert_eq!(elements(&pivots), [2.0, 2.0]);
}

#[test]
fn histograms_are_of_floats() {
    let points = to(&count(&[4, 0]), DType::F32);
    assert_eq!(elements(&HistogramddFromBinCts.call(&points, &[], None, None, false).unwrap()), [4.0]);
    let bytes = to(&count(&[4, 1]), DType::U8);
    let edges = HistogramddBinEdges.call(&bytes, &[3], Some(&[0.0, 2.0][..]), None, false);
    assert!(message(edges).contains("expected float32 or float64"));
}

#[test]
fn areas_do_not_wrap() {
    let bytes = Tensor::from_slice(&[215u8, 184, 90], &[3]).unwrap();
    assert_eq!(elements(&TrapezoidDx.call(&bytes, 1.into(), -1).unwrap()), [336.5]);
    assert_eq!(elements(&TrapezoidX.call(&floats(&[3]), &bytes, -1).unwrap()), [-156.5]);
}

#[test]
fn singular_matrices() {
    let singular = Tensor::from_slice(&[1.0, 2.0, 2.0, 4.0], &[2, 2]).unwrap();
    let condition = elements(&LinalgCond.call(&singular, None).unwrap())[0];
    assert!(condition.is_nan() || condition > 1e15, "{condition}");
    let triangle = Tensor::from_slice(&[0.0, 0.0, 1.0, 1.0], &[2, 2]).unwrap();
    let inverse = elements(&CholeskyInverse.call(&triangle, false).unwrap());
    assert!(!inverse[0].is_finite(), "{inverse:?}");
    let indefinite = Tensor::from_slice(&[1.0, 2.0, 2.0, 1.0], &[2, 2]).unwrap();
    let (_, minor) = LinalgCholeskyEx.call(&indefinite, false, false).unwrap();
    assert_eq!(elements(&minor), [2.0]);
}

#[test]
fn slopes_keep_their_digits() {
    let one = Tensor::from_slice(&[1.0], &[1]).unwrap();
    assert_eq!(elements(&HardsigmoidBackward.call(&one, &one).unwrap()), [1.0 / 6.0]);
}

#[test]
fn distributions_have_positive_shapes() {
    let shapes = Tensor::from_slice(&[-1.0, 1.0], &[2]).unwrap();
    assert!(elements(&StandardGamma.call(&shapes, None).unwrap())[0].is_nan());
    assert!(elements(&SampleDirichlet.call(&shapes, None).unwrap())[0].is_nan());
    let two = Tensor::from_slice(&[2.0], &[1]).unwrap();
    let slope = elements(&StandardGammaGrad.call(&two, &two).unwrap())[0];
    // By differences of mpmath's distribution.
    assert!((slope - SLOPE).abs() < 1e-12, "{slope}");
    let outside = DirichletGrad.call(&two, &two, &two).unwrap();
    assert!(elements(&outside)[0].is_nan());
}

/// The derivative of what is drawn from the gamma distribution of shape 2, at 2.
const SLOPE: f64 = 1.086_208_576_636_328_4;
