//! Shows what opgrid's tensors do where they differ from torch's on purpose; the comparison with torch names these tests.

mod computed;
mod layouts;
mod refused;

use opgrid_core::{Complex64, DType, Device, MemoryFormat, Result, Scalar};
use opgrid_tensor::kernels::random::generator;
use opgrid_tensor::ops::{
    AbsOut, AdaptiveAvgPool2dBackward, AdaptiveAvgPool2dOut, AdaptiveAvgPool3dDirect, AdaptiveAvgPool3dOut,
    AddbmmInplace, AffineGridGenerator, AllAllOut, AllDimsOut, AsStridedScatter, AvgPool3d,
    AvgPool3dBackward, BernoulliOut, BernoulliP, Bincount, BucketizeScalar, BucketizeTensor, CatOut, Cdist,
    ChannelShuffle, Clone as OpClone, ConjKernel, Contiguous, Conv3d, ConvTranspose2dInput,
    ConvTranspose3dInput, Corrcoef, Cov, CumprodInplace, CumsumInplace, DiffOut, DivTensorMode, EluBackward,
    EmbeddingBag, Erf, ExpOut, FftC2cOut, FftFftOut, FftIhfft2Out, FftRfftfreq, FillInplaceScalar, GatherOut,
    GeluOut, Histc, Im2col, Im2colOut, IndexAdd, IsConj, IsinScalarTensor, IsinTensorTensor, IsnanOut, Kron,
    Kthvalue, LerpTensor, Linear, LinearOut, LocalScalarDense, LogSoftmaxBackwardData, LogSoftmaxOut,
    LogicalNotOut, Logspace, Logsumexp, LogsumexpOut, MatmulOut, MatrixPower, MaxDimMax, MaxPool3d,
    MaxPool3dWithIndices, MaxUnaryOut, MeanOut, MedianDimValues, MmOut, Mode, MseLossOut, MulOut,
    MulScalarOut, Nanmean, Nansum, NansumOut, NativeDropout, NormScalar, NormalInplace, NormalTensorFloatOut,
    PadCircular, PdistForward, PixelUnshuffle, Polar, PowScalar, PowScalarOut, Prod, Put, PutInplace,
    Randint, RandintLikeTensor, ReflectionPad2d, ReflectionPad2dOut, ReluOut, RepeatInterleaveSelfTensor,
    ResizeInplace, ScaledDotProductFlashAttentionForCpu, ScatterSrcOut, SetInplaceSourceTensorStorageOffset,
    SliceScatter, SoftMarginLossOut, SoftmaxBackwardData, StackOut, TensorSplitIndices, ToCopy,
    ToDtypeLayout, UniformOut, UniqueConsecutiveOut, UnsafeIndexTensor, UpsampleBilinear2dAa, VarCorrection,
    VarCorrectionOut, VarMeanCorrection, ViewAsComplex, ViewDtype,
};
use opgrid_tensor::{Bool, Complex, Tensor, f16};

fn count(sizes: &[i64]) -> Tensor {
    Tensor::arange(0, sizes.iter().product::<i64>(), 1).unwrap().reshape(sizes).unwrap()
}

fn floats(sizes: &[i64]) -> Tensor {
    to(&count(sizes), DType::F32)
}

fn to(tensor: &Tensor, dtype: DType) -> Tensor {
    ToCopy.call(tensor, Some(dtype), None, None, None, false, None).unwrap()
}

fn empty(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::empty(sizes, dtype, Device::CPU).unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn an_output_that_gets_a_shape_gets_memory() {
    let block = empty(&[6], DType::F32);
    let out = block.slice(0, 4, 4, 1).unwrap();
    ExpOut.call(&floats(&[2, 3]), &out).unwrap();
    assert_eq!((out.sizes(), out.geometry().offset()), (&[2, 3][..], 0));
    assert!(!out.array().unwrap().storage().is_same(block.array().unwrap().storage()));
    // It has the order of the input.
    let column = floats(&[2, 3]).t().unwrap();
    let (relu, nan) = (empty(&[0], DType::F32), empty(&[0], DType::Bool));
    ReluOut.call(&column, &relu).unwrap();
    IsnanOut.call(&column, &nan).unwrap();
    assert_eq!((relu.strides(), nan.strides()), (&[1, 3][..], &[1, 3][..]));
}

#[test]
fn a_tensor_that_grows_gets_memory() {
    let block = count(&[4]);
    let view = block.slice(0, 1, 3, 1).unwrap();
    ResizeInplace.call(&view, &[3, 2], None).unwrap();
    assert!(!view.array().unwrap().storage().is_same(block.array().unwrap().storage()));
    assert_eq!(view.to_vec::<i64>().unwrap(), [1, 2, 3, 0, 0, 0]);
    assert_eq!((block.sizes(), block.to_vec::<i64>().unwrap()), (&[4][..], vec![0, 1, 2, 3]));
    // Less needs no other memory, and what had been there comes back.
    let before = view.array().unwrap().storage().clone();
    for size in [[2, 1], [3, 2]] {
        ResizeInplace.call(&view, &size, None).unwrap();
        assert!(view.array().unwrap().storage().is_same(&before));
    }
    assert_eq!(view.to_vec::<i64>().unwrap(), [1, 2, 3, 0, 0, 0]);
}

#[test]
fn converted_inputs_decide_on_the_order_as_they_lie() {
    let every_other = count(&[3, 4]).slice(1, 0, 4, 2).unwrap().t().unwrap();
    assert_eq!(to(&every_other, DType::I32).add(&count(&[2, 3]), 1).unwrap().strides(), [1, 2]);
    assert_eq!(every_other.mul(&floats(&[2, 3])).unwrap().strides(), [1, 2]);
    let narrow = to(&count(&[2, 2]), DType::I32).t().unwrap();
    assert_eq!(count(&[4]).index(&[Some(narrow)]).unwrap().strides(), [1, 2]);
}

#[test]
fn powers_of_a_number_lie_as_the_exponents() {
    let exponents = count(&[2, 3]).t().unwrap();
    assert_eq!(PowScalar.call(Scalar::Int(2), &exponents).unwrap().strides(), [1, 3]);
}

#[test]
fn powers_of_one_are_checked_as_all_others() {
    let refused = PowScalarOut.call(Scalar::Int(1), &count(&[2]), &empty(&[2], DType::Bool));
    assert!(message(refused).contains("can't be cast to the desired output type bool"));
}

#[test]
fn floats_beyond_the_integers() {
    let far = Tensor::from_slice(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30], &[4]).unwrap();
    assert_eq!(to(&far, DType::I64).to_vec::<i64>().unwrap(), [0, i64::MAX, i64::MIN, i64::MAX]);
    assert_eq!(to(&far, DType::I8).to_vec::<i8>().unwrap(), [0, i8::MAX, i8::MIN, i8::MAX]);
    let near = Tensor::from_slice(&[-1.0f32, 300.0, -0.5, 255.9], &[4]).unwrap();
    assert_eq!(to(&near, DType::U8).to_vec::<u8>().unwrap(), [0, 255, 0, 255]);
}

#[test]
fn outputs_that_repeat_or_share_elements_are_refused() {
    let repeated = empty(&[1], DType::F32).expand(&[3]).unwrap();
    for refused in
        [message(FillInplaceScalar.call(&repeated, Scalar::Int(1))), message(repeated.add_(&floats(&[3]), 1))]
    {
        assert!(refused.contains("more than one element of the written-to tensor"), "{refused}");
    }
    let flags = Tensor::from_slice(&[Bool::TRUE], &[]).unwrap();
    let shifted = floats(&[4]);
    let (low, high) = (shifted.slice(0, 0, 3, 1).unwrap(), shifted.slice(0, 1, 4, 1).unwrap());
    for refused in [message(AllAllOut.call(&flags, &flags)), message(ReluOut.call(&low, &high))] {
        assert!(refused.contains("some elements of the input tensor and the written-to tensor"), "{refused}");
    }
    // Also where no value comes to a place.
    let nowhere = empty(&[0], DType::I64);
    let refused = message(ScatterSrcOut.call(&floats(&[3]), 0, &nowhere, &low, &high));
    assert!(refused.contains("some elements of the input tensor and the written-to tensor"), "{refused}");
    let (values, places) = (empty(&[4], DType::F32), empty(&[0], DType::I64));
    let refused = message(UniqueConsecutiveOut.call(&shifted, true, true, None, &values, &places, &places));
    assert!(refused.contains("two outputs refer to the same memory"), "{refused}");
}

#[test]
fn outputs_between_the_elements_of_an_input() {
    let block = floats(&[6]);
    let (even, odd) = (block.slice(0, 0, 6, 2).unwrap(), block.slice(0, 1, 6, 2).unwrap());
    MulOut.call(&even, &even, &odd).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [0.0, 0.0, 2.0, 4.0, 4.0, 16.0]);
    // Rows that interleave with rows: whether they meet is not found out, and an element may be read after it was
    // written.
    let rows = floats(&[2, 8]).slice(1, 0, 4, 1).unwrap();
    let shifted = rows.as_strided(&[2, 4], &[8, 1], Some(1)).unwrap();
    LogicalNotOut.call(&rows, &shifted).unwrap();
}

#[test]
fn values_that_lie_beside_what_is_written() {
    let block = floats(&[6]);
    let (first, last) = (block.slice(0, 0, 3, 1).unwrap(), block.slice(0, 3, 6, 1).unwrap());
    let index = Tensor::from_slice(&[2i64, 0, 1], &[3]).unwrap();
    first.index_put_(&[Some(index.clone())], &last, false).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [4.0, 5.0, 3.0, 3.0, 4.0, 5.0]);
    PutInplace.call(&first, &index, &last, true).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [8.0, 10.0, 6.0, 3.0, 4.0, 5.0]);
    last.index_put_(&[Some(index.clone())], &first, true).unwrap();
    assert_eq!(block.to_vec::<f32>().unwrap(), [8.0, 10.0, 6.0, 13.0, 10.0, 13.0]);
    // And indices.
    let block = Tensor::from_slice(&[0i64, 0, 0, 2, 0, 1], &[6]).unwrap();
    let (first, last) = (block.slice(0, 0, 3, 1).unwrap(), block.slice(0, 3, 6, 1).unwrap());
    GatherOut.call(&index, 0, &last, false, &first).unwrap();
    assert_eq!(first.to_vec::<i64>().unwrap(), [1, 2, 0]);
    let (largest, place) = (block.slice(0, 3, 4, 1).unwrap(), block.slice(0, 4, 5, 1).unwrap());
    MaxDimMax.call(&index, 0, true, &largest, &place).unwrap();
    assert_eq!(block.to_vec::<i64>().unwrap(), [1, 2, 0, 2, 0, 1]);
}

#[test]
fn what_has_no_elements_shares_none() {
    let nothing = empty(&[0], DType::F32);
    CatOut.call(&[nothing.clone(), floats(&[2])], 0, &nothing).unwrap();
    assert_eq!(nothing.to_vec::<f32>().unwrap(), [0.0, 1.0]);
}

#[test]
fn what_is_refused_with_elements_is_refused_without() {
    let (whole, flags) = (empty(&[0], DType::I64), empty(&[2, 0], DType::Bool));
    assert!(message(NormalInplace.call(&whole, 0.0, 1.0, None)).contains("not implemented for 'Long'"));
    let select = count(&[2]).index_select(0, &empty(&[0], DType::F32));
    assert!(message(select).contains("expected int32 or int64"));
    assert!(message(flags.mm(&flags.t().unwrap())).contains("not implemented for 'Bool'"));
    assert!(
        message(empty(&[2, 0], DType::F32).mm(&empty(&[0, 2], DType::F64))).contains("convert one of them")
    );
    let (left, right) = (empty(&[2, 0], DType::I32), empty(&[0, 2], DType::I32));
    let far = empty(&[2, 2], DType::I32).addmm(&left, &right, 1, f64::NAN);
    assert!(message(far).contains("cannot be converted to Int"));
    let sum = NansumOut.call(&empty(&[0], DType::F32), None, false, None, &empty(&[], DType::I8));
    assert!(message(sum).contains("expected a floating-point one as `self`"));
    let sum = Nansum.call(&empty(&[0], DType::F32), None, false, Some(DType::Complex64));
    assert!(message(sum).contains("expected one that is not complex"));
    let average = Nanmean.call(&empty(&[0], DType::F32), None, false, Some(DType::Complex64));
    assert!(message(average).contains("not implemented for 'ComplexFloat'"));
    let distances = Cdist.call(&empty(&[2, 0], DType::F32), &empty(&[4, 0], DType::F64), 2.0, None);
    assert!(message(distances).contains("convert one of them"));
}

#[test]
fn signs_of_zeros() {
    let zeros = Tensor::from_slice(&[Complex64::new(0.0, 0.0); 5], &[5]).unwrap();
    let negative = zeros.neg().unwrap().to_vec::<Complex64>().unwrap();
    // In each element alike.
    assert!(negative.iter().all(|zero| zero.re.is_sign_negative() && zero.im.is_sign_negative()));
    let signed = Tensor::from_slice(&[0.0f32, -0.0], &[2]).unwrap();
    let flipped = signed.neg().unwrap();
    assert_eq!(signed.minimum(&flipped).unwrap().to_vec::<f32>().unwrap(), [0.0, 0.0]);
}

#[test]
fn an_index_list_without_indices_gives_everything() {
    let x = count(&[2, 3]);
    for list in [vec![], vec![None], vec![None, None]] {
        assert_eq!(x.index(&list).unwrap().to_vec::<i64>().unwrap(), x.to_vec::<i64>().unwrap());
    }
    x.index_put_(&[None], &Tensor::from_slice(&[7i64], &[]).unwrap(), true).unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap(), [7, 8, 9, 10, 11, 12]);
}

#[test]
fn a_number_is_read_out_of_one_element_only() {
    assert!(
        message(LocalScalarDense.call(&count(&[2]))).contains("2 elements cannot be converted to a number")
    );
}

#[test]
fn pinned_memory_is_refused() {
    let refused = ToCopy.call(&count(&[2]), None, None, None, Some(true), false, None);
    assert!(message(refused).contains("asks for pinned memory"));
}

#[test]
fn the_smallest_integer_divided_by_minus_one_wraps() {
    let smallest = Tensor::from_slice(&[i64::MIN], &[1]).unwrap();
    for mode in ["floor", "trunc"] {
        let quotient = smallest.div_rounded(&Tensor::from_slice(&[-1i64], &[1]).unwrap(), mode).unwrap();
        assert_eq!(quotient.to_vec::<i64>().unwrap(), [i64::MIN]);
    }
}

#[test]
fn steps_of_slices_may_exceed_every_size() {
    let first = count(&[4, 2]).slice(0, 1, i64::MAX, i64::MAX).unwrap();
    assert_eq!(first.to_vec::<i64>().unwrap(), [2, 3]);
}

#[test]
fn results_that_are_not_finite() {
    let far = Tensor::from_slice(&[Complex64::new(f64::MAX, f64::INFINITY)], &[1]).unwrap();
    assert!(!far.mul(&far).unwrap().to_vec::<Complex64>().unwrap()[0].is_finite());
    // One observation varies with nothing, and is divided by zero.
    let one = Tensor::from_slice(&[Complex64::new(1.0, 2.0)], &[1]).unwrap();
    assert!(Cov.call(&one, 1, None, None).unwrap().to_vec::<Complex64>().unwrap()[0].im.is_nan());
    // The average of no losses is real.
    let (nothing, out) = (empty(&[0], DType::F32), empty(&[], DType::Complex128));
    MseLossOut.call(&nothing, &nothing, 1, &out).unwrap();
    let average = out.to_vec::<Complex64>().unwrap()[0];
    assert!(average.re.is_nan() && average.im == 0.0, "{average}");
    let infinite = Tensor::from_slice(&[f64::INFINITY], &[1]).unwrap();
    // The exponential vanishes, and the number that it is multiplied by does not let the product vanish.
    let left = Tensor::from_slice(&[Complex::new(-93.87792f32, f32::MAX)], &[1]).unwrap();
    let product = left.silu().unwrap().to_vec::<Complex<f32>>().unwrap()[0].norm();
    assert!((5.7e-3..5.9e-3).contains(&product), "{product}");
    assert_eq!(infinite.gelu("none").unwrap().to_vec::<f64>().unwrap(), [f64::INFINITY]);
    // No product leaves the range before the zero comes.
    let zero_first = Tensor::from_slice(&[0.0, 1e300, 1e300], &[3]).unwrap();
    assert_eq!(Prod.call(&zero_first, None).unwrap().to_vec::<f64>().unwrap(), [0.0]);
    // Products of 16-bit floats are rounded once.
    let halves = Tensor::from_slice(&[256.0, 256.0, 0.00390625].map(f16::from_f64), &[3]).unwrap();
    assert_eq!(Prod.call(&halves, None).unwrap().to_vec::<f16>().unwrap(), [f16::from_f64(256.0)]);
}

#[test]
fn averages_of_16_bit_volumes() {
    // The sum of so many ones is no number of eight bits.
    let ones = Tensor::full(&[1, 1, 300, 1], 1, Some(DType::BF16), Device::CPU).unwrap();
    assert_eq!(elements(&AdaptiveAvgPool3dDirect.call(&ones, &[1, 1, 1]).unwrap()), [1.0]);
}

#[test]
fn bins_of_16_bit_floats() {
    let wide = (&floats(&[2, 40]) * 0.37).unwrap();
    for narrow in [DType::F16, DType::BF16] {
        let narrow = to(&wide, narrow);
        let bins = |x: &Tensor| elements(&Histc.call(x, 100, 0.into(), 0.into()).unwrap());
        assert_eq!(bins(&narrow), bins(&to(&narrow, DType::F32)));
    }
    let beyond = Histc.call(&to(&wide, DType::F32), 1, Scalar::Float(-1e300), Scalar::Float(1e300));
    assert_eq!(elements(&beyond.unwrap()), [80.0]);
}

#[test]
fn conjugates_are_computed() {
    let x = Tensor::from_slice(&[Complex64::new(1.0, 2.0)], &[1]).unwrap();
    let conjugate = x.conj().unwrap();
    FillInplaceScalar.call(&x, Scalar::Int(0)).unwrap();
    assert_eq!(conjugate.to_vec::<Complex64>().unwrap(), [Complex64::new(1.0, -2.0)]);
    assert!(!IsConj.call(&conjugate).unwrap());
}

#[test]
fn no_complex_numbers_have_parts_of_16_bits() {
    let pair = Tensor::from_slice(&[f16::from_f32(1.0), f16::from_f32(2.0)], &[2]).unwrap();
    let error = message(pair.view_as_complex());
    assert!(error.contains("expected float32 or float64"), "{error}");
}

#[test]
fn any_and_all_look_at_elements_as_they_are() {
    let (halves, out) = (Tensor::from_slice(&[0.5f32, 0.25], &[2]).unwrap(), empty(&[], DType::U8));
    AllAllOut.call(&halves, &out).unwrap();
    assert_eq!(out.to_vec::<u8>().unwrap(), [1]);
}

#[test]
fn truth_is_that_of_the_whole_integer() {
    // Beside a uint8 tensor with dimensions this one is promoted to uint8, where it would be zero.
    let whole = Tensor::from_slice(&[256i16], &[]).unwrap();
    let bytes = Tensor::from_slice(&[255u8], &[1]).unwrap();
    assert_eq!(bytes.logical_and(&whole).unwrap().to_vec::<Bool>().unwrap(), [Bool::TRUE]);
}

#[test]
fn quotients_are_cut_before_they_are_rounded() {
    let (a, b) = (f16::from_f32(-71.375), f16::from_f32(0.250_488_28));
    let [a, b] = [a, b].map(|element| Tensor::from_slice(&[element], &[]).unwrap());
    let quotient = DivTensorMode.call(&a, &b, Some("trunc")).unwrap();
    assert_eq!(quotient.to_vec::<f16>().unwrap(), [f16::from_f32(-284.0)]);
}

#[test]
fn averages_of_complex_numbers_are_complex() {
    let numbers = to(&count(&[2]), DType::Complex64);
    let refused = message(MeanOut.call(&numbers, None, false, None, &empty(&[], DType::F64)));
    assert!(refused.contains("can't be cast to the desired output type float64"), "{refused}");
}

#[test]
fn integers_between_two_others() {
    let steps = to(&Tensor::linspace(-3.0, 1.0, 7).unwrap(), DType::I32);
    assert_eq!(steps.to_vec::<i32>().unwrap(), [-3, -2, -1, -1, 0, 0, 1]);
}

#[test]
fn distances_of_complex_numbers_lie_in_rows() {
    let numbers = to(&count(&[1, 2, 3]), DType::Complex64).as_strided(&[1, 2, 3], &[1, 3, 1], None).unwrap();
    assert_eq!(numbers.abs().unwrap().strides(), [6, 3, 1]);
    let out = empty(&[0], DType::F32);
    AbsOut.call(&numbers, &out).unwrap();
    assert_eq!(out.strides(), [6, 3, 1]);
}

#[test]
fn what_is_joined_is_written_to_outputs_of_any_strides() {
    let out = empty(&[6], DType::F32).as_strided(&[3, 1], &[1, 6], None).unwrap();
    StackOut.call(&[floats(&[3])], -1, &out).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0]);
}

#[test]
fn products_into_their_own_factors() {
    let x = floats(&[2, 2]);
    let refused = message(MmOut.call(&x, &x, &x));
    assert!(refused.contains("some elements of the input tensor and the written-to tensor"), "{refused}");
    // An output that has the shape keeps its strides.
    let out = empty(&[6], DType::F32).as_strided(&[1], &[6], None).unwrap();
    MatmulOut.call(&floats(&[2]), &floats(&[2, 1]), &out).unwrap();
    assert_eq!((out.to_vec::<f32>().unwrap(), out.strides()), (vec![1.0], &[6][..]));
    let out = empty(&[8], DType::F32).as_strided(&[2, 1, 4], &[1, 2, 2], None).unwrap();
    MatmulOut.call(&floats(&[2, 1, 3]), &floats(&[3, 4]), &out).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [20.0, 23.0, 26.0, 29.0, 56.0, 68.0, 80.0, 92.0]);
    let out = empty(&[4], DType::F32).as_strided(&[2], &[2], None).unwrap();
    LinearOut.call(&floats(&[2]), &floats(&[2, 2]), None, &out).unwrap();
    assert_eq!((out.to_vec::<f32>().unwrap(), out.strides()), (vec![1.0, 3.0], &[2][..]));
    let none = empty(&[1], DType::F32).as_strided(&[0], &[2], None).unwrap();
    MatmulOut.call(&floats(&[2]), &floats(&[2, 0]), &none).unwrap();
    assert_eq!(none.strides(), [2]);
    let flags = Tensor::from_slice(&[Bool::TRUE, Bool::FALSE], &[2]).unwrap();
    AllDimsOut.call(&flags, Some(&[]), false, &flags).unwrap();
    assert_eq!(flags.to_vec::<Bool>().unwrap(), [Bool::TRUE, Bool::FALSE]);
}

#[test]
fn sums_of_products_in_place_keep_their_shape() {
    let (x, pairs) = (floats(&[1]), floats(&[2, 3, 3]));
    let refused = message(AddbmmInplace.call(&x, &pairs, &pairs, 1.into(), 1.into()));
    assert!(refused.contains("argument `self` has shape [1]"), "{refused}");
    assert_eq!(x.sizes(), [1]);
}

#[test]
fn the_last_offset_ends_a_bag() {
    let (table, indices) = (floats(&[4, 1]), Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap());
    let offsets = Tensor::from_slice(&[0i64, 1, 1], &[3]).unwrap();
    for mode in 0..3 {
        let bags = EmbeddingBag.call(&table, &indices, &offsets, false, mode, false, None, true).unwrap();
        assert_eq!(bags.0.to_vec::<f32>().unwrap(), [1.0, 0.0]);
    }
}

#[test]
fn numbers_that_are_written_fit_the_dtype() {
    let x = empty(&[], DType::F16);
    assert!(message(x.fill_(-1e300)).contains("cannot be converted to Half (float16) without overflow"));
    let one =
        opgrid_tensor::ops::Linspace.call(4.into(), (-2.0).into(), 1, Some(DType::U8), None, None, None);
    assert!(message(one).contains("cannot be converted to Byte (uint8) without overflow"));
    assert_eq!(x.contiguous().unwrap().strides(), [0i64; 0]);
    assert!(Contiguous.call(&count(&[2, 3]).t().unwrap(), MemoryFormat::Preserve).is_err());
}

#[test]
fn equal_elements_keep_their_order() {
    let nan = f32::NAN;
    let x = Tensor::from_slice(&[2.0, 1.0, 2.0, nan, 1.0, nan], &[6]).unwrap();
    let places = |(_, indices): (Tensor, Tensor)| indices.to_vec::<i64>().unwrap();
    assert_eq!(places(x.sort(-1, false).unwrap()), [1, 4, 0, 2, 3, 5]);
    assert_eq!(places(x.sort(-1, true).unwrap()), [3, 5, 0, 2, 1, 4]);
    assert_eq!(places(x.topk(3, -1, true, true).unwrap()), [3, 5, 0]);
    assert_eq!(places(x.kthvalue(4, -1, false).unwrap()), [2]);
    assert_eq!(places(x.nanmedian_dim(0, false).unwrap()), [4]);
    assert_eq!(
        places(x.mode(-1, false).unwrap()),
        [4],
        "the smallest of those that are there as often, at its last place"
    );
}

#[test]
fn few_of_a_long_line_are_the_first_in_order() {
    let numbers = |at: i64| (at * 7919 % 1009) as f32 - 500.0;
    let with_nan = |at: i64| if at % 300 == 7 { f32::NAN } else { numbers(at) };
    let zeros = |at: i64| if at % 2 == 0 { 0.0 } else { -0.0 };
    let lines: [&dyn Fn(i64) -> f32; 7] =
        [&numbers, &with_nan, &zeros, &|at| at as f32, &|at| -at as f32, &|_| f32::NAN, &|at| {
            (at % 5) as f32
        }];
    for line in lines {
        let line = Tensor::from_slice(&(0..1030).map(line).collect::<Vec<_>>(), &[1030]).unwrap();
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::I64, DType::U8] {
            let line = to(&line, dtype);
            for (count, largest) in
                [1, 3, 16, 17].into_iter().flat_map(|count| [(count, true), (count, false)])
            {
                let (_, first) = line.topk(count, -1, largest, true).unwrap();
                let (_, all) = line.sort(-1, largest).unwrap();
                let of_all = all.slice(0, 0, count, 1).unwrap();
                assert_eq!(elements(&first), elements(&of_all), "{count} of {dtype}, largest {largest}");
            }
        }
    }
}

#[test]
fn norms_of_many_elements() {
    let x = Tensor::full(&[1000], 0.1, Some(DType::F64), Device::CPU).unwrap();
    for (order, expected) in [(0.25, 1e11), (0.5, 1e5), (1.0, 100.0)] {
        let found = elements(&NormScalar.call(&x, Scalar::Float(order)).unwrap())[0];
        assert!((found / expected - 1.0).abs() < 16.0 * f64::EPSILON, "order {order}: {found}");
    }
    let z = Tensor::from_slice(&[Complex64::new(0.1, 0.0); 1000], &[1000]).unwrap();
    let found = elements(&NormScalar.call(&z, Scalar::Int(1)).unwrap())[0];
    assert!((found / 100.0 - 1.0).abs() < 16.0 * f64::EPSILON, "{found}");
}

#[test]
fn logarithms_of_complex_sums_are_complex() {
    let x = Tensor::from_slice(&[Complex64::new(1.0, 2.0), Complex64::new(0.5, -1.0)], &[2]).unwrap();
    let refused = message(LogsumexpOut.call(&x, &[0], false, &empty(&[], DType::F64)));
    assert!(refused.contains("can't be cast"), "{refused}");
}

#[test]
fn spreads_of_halves_are_written_to_wider_outputs() {
    let x = floats(&[4]).to_dtype(DType::F16).unwrap();
    let out = empty(&[], DType::F64);
    VarCorrectionOut.call(&x, None, None, false, &out).unwrap();
    assert!(out.to_vec::<f64>().unwrap()[0] > 0.0);
}

/// A tensor with the elements of another one, every second element of its memory.
fn with_gaps(tensor: &Tensor) -> Tensor {
    let sizes: Vec<i64> = tensor.sizes().iter().map(|size| size * 2).collect();
    let mut gaps = empty(&sizes, tensor.dtype());
    for dim in 0..sizes.len() as i64 {
        gaps = gaps.slice(dim, None, None, 2).unwrap();
    }
    gaps.copy_(tensor).unwrap();
    assert!(!gaps.is_contiguous());
    gaps
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    to(tensor, DType::F64).to_vec().unwrap()
}

#[test]
fn outputs_take_what_converts_to_them() {
    let out = empty(&[3], DType::F64);
    MulScalarOut.call(&floats(&[3]), Scalar::Int(2), &out).unwrap();
    assert_eq!(out.to_vec::<f64>().unwrap(), [0.0, 2.0, 4.0]);
    let out = empty(&[4], DType::Complex128);
    FftFftOut.call(&floats(&[4]), None, -1, None, &out).unwrap();
    assert_eq!(out.to_vec::<Complex64>().unwrap()[0], Complex64::new(6.0, 0.0));
    let out = empty(&[1], DType::F64);
    SoftMarginLossOut.call(&floats(&[1]), &floats(&[1]), 0, &out).unwrap();
    assert!((out.to_vec::<f64>().unwrap()[0] - std::f64::consts::LN_2).abs() < 1e-7);
}

#[test]
fn outputs_of_any_strides_are_written() {
    let x = floats(&[1, 1, 2, 4, 4]);
    let rows = empty(&[1, 1, 2, 2, 2], DType::F32);
    let gaps = with_gaps(&rows);
    AdaptiveAvgPool3dOut.call(&x, &[2, 2, 2], &rows).unwrap();
    AdaptiveAvgPool3dOut.call(&x, &[2, 2, 2], &gaps).unwrap();
    assert_eq!(elements(&gaps), elements(&rows));

    let image = floats(&[1, 2, 3, 3]);
    let columns = Im2col.call(&image, &[2, 2], &[1, 1], &[0, 0], &[1, 1]).unwrap();
    let gaps = with_gaps(&empty(columns.sizes(), DType::F32));
    Im2colOut.call(&image, &[2, 2], &[1, 1], &[0, 0], &[1, 1], &gaps).unwrap();
    assert_eq!(elements(&gaps), elements(&columns));

    let padded = ReflectionPad2d.call(&image, &[1, 1, 1, 1]).unwrap();
    let gaps = with_gaps(&padded);
    ReflectionPad2dOut.call(&image, &[1, 1, 1, 1], &gaps).unwrap();
    assert!(!gaps.is_contiguous(), "an output got other strides");
    assert_eq!(elements(&gaps), elements(&padded));

    let rows = empty(&[2, 3], DType::F32);
    let gaps = with_gaps(&rows);
    LogSoftmaxOut.call(&floats(&[2, 3]), 1, false, &rows).unwrap();
    LogSoftmaxOut.call(&floats(&[2, 3]), 1, false, &gaps).unwrap();
    assert_eq!(elements(&gaps), elements(&rows));

    let out = empty(&[0], DType::Complex64);
    FftIhfft2Out.call(&floats(&[2, 2]), None, &[-2, -1], None, &out).unwrap();
    assert_eq!(out.sizes(), [2, 2]);
    let out = empty(&[0], DType::F32);
    NormalTensorFloatOut.call(&floats(&[]), 1.0, Some(&generator(1)), &out).unwrap();
    assert_eq!(out.sizes(), [0i64; 0]);
    let out = empty(&[0], DType::F32);
    NormalTensorFloatOut.call(&floats(&[2]), 1.0, Some(&generator(1)), &out).unwrap();
    assert_eq!(out.sizes(), [2]);
    let (stack, weight, bias) =
        (floats(&[2, 2, 3]).permute(&[1, 0, 2]).unwrap(), floats(&[2, 3]), floats(&[2]));
    let out = empty(&[2, 2, 2], DType::F32);
    LinearOut.call(&stack, &weight, Some(&bias), &out).unwrap();
    assert_eq!(elements(&out), elements(&Linear.call(&stack, &weight, Some(&bias)).unwrap()));
}

#[test]
fn strides_of_single_places() {
    let block = floats(&[8]);
    let column = block.as_strided(&[3, 1], &[2, 7], None).unwrap();
    let (values, _) = column.sort(0, false).unwrap();
    assert_eq!((values.strides(), values.to_vec::<f32>().unwrap()), (&[1, 3][..], vec![0.0, 2.0, 4.0]));
}

#[test]
fn floats_of_16_bits_are_taken_everywhere() {
    for dtype in [DType::F16, DType::BF16] {
        let x = to(&count(&[1, 1, 2, 2, 2]), dtype);
        let averages = AvgPool3d.call(&x, &[2, 2, 2], &[], &[0], false, true, None).unwrap();
        assert_eq!((averages.dtype(), elements(&averages)), (dtype, vec![3.5]));
        let smooth = UpsampleBilinear2dAa.call(&to(&count(&[1, 1, 2, 2]), dtype), &[1, 1], false, None, None);
        assert_eq!(elements(&smooth.unwrap()), [1.5]);
    }
}

#[test]
fn what_torch_does_not_check_is_refused() {
    let line = floats(&[3]);
    let backwards = SetInplaceSourceTensorStorageOffset.call(&floats(&[1]), &line, 2, &[1], &[-1]);
    assert!(message(backwards).contains("negative strides are not supported"));
    let number = Kthvalue.call(&empty(&[], DType::Complex64), 1, 0, false);
    assert!(message(number).contains("expected an integer or floating-point dtype"));
    let x = floats(&[2, 2]);
    let complex = empty(&[2, 2], DType::Complex64);
    let cast = "can't be cast to the desired output type";
    assert!(message(FftC2cOut.call(&complex, &[0], 0, true, &x)).contains(cast));
    let softmax = SoftmaxBackwardData.call(&x, &x, 0, DType::F64);
    assert!(message(softmax).contains("argument `input_dtype` has dtype float64"));
    let softmax = LogSoftmaxBackwardData.call(&x, &floats(&[2, 3]), 0, DType::F32);
    assert!(message(softmax).contains("argument `output` has shape [2, 3], expected that of `grad_output`"));
    let averages = AdaptiveAvgPool2dBackward.call(&floats(&[2, 1, 1, 1]), &floats(&[1, 1, 2, 2]));
    assert!(message(averages).contains("argument `grad_output` has shape"));
    let (volumes, less) = (floats(&[3, 1, 2, 2, 2]), floats(&[1, 1, 2, 2, 2]));
    let averages = AvgPool3dBackward.call(&less, &volumes, &[1; 3], &[1; 3], &[0; 3], false, true, None);
    assert!(message(averages).contains("argument `grad_output` has shape"));
    assert!(message(FftRfftfreq.call(-1, 1.0, None, None, None, None)).contains("argument `n` is -1"));
    assert!(message(Mode.call(&empty(&[], DType::Complex64), -1, false)).contains("a dtype with an order"));
    let flag = empty(&[], DType::Bool);
    assert!(message(CumsumInplace.call(&flag, 0, None)).contains("expected a dtype of numbers"));
    assert!(message(CumprodInplace.call(&flag, 0, None)).contains("expected a dtype of numbers"));
    let slope = EluBackward.call(&x, f64::NAN.into(), 1.into(), 1.into(), true, &x);
    assert!(slope.is_err(), "a result of a slope that is no number");
    assert!(message(PdistForward.call(&x, -1.0)).contains("argument `p` is -1"));
    assert!(message(MatrixPower.call(&x, -1)).contains("negative powers need the inverse"));
    let bytes = to(&count(&[1, 1, 2, 2]), DType::U8);
    let smooth = UpsampleBilinear2dAa.call(&bytes, &[1, 1], false, None, None);
    assert!(message(smooth).contains("expected a floating-point dtype"));
    let grid = AffineGridGenerator.call(&to(&count(&[1, 2, 3]), DType::I8), &[1, 1, 2, 2], true);
    assert!(message(grid).contains("expected a floating-point dtype"));
    let bools = to(&count(&[2]), DType::Bool);
    assert!(message(BucketizeScalar.call(3.into(), &bools, false, false)).contains("'Bool'"));
    assert!(message(to(&count(&[0]), DType::I64).nanmedian()).contains("has no elements"));
    let largest = MaxUnaryOut.call(&floats(&[0]), &empty(&[], DType::F32));
    assert!(message(largest).contains("has no elements to choose from"));
    let weight = to(&count(&[]), DType::F64);
    assert!(message(LerpTensor.call(&x, &x, &weight)).contains("has dtype float64"));
    let halves = to(&x, DType::F16);
    assert!(message(ViewAsComplex.call(&halves)).contains("which complex dtypes have as parts"));
    let (angle, length) = (halves.select(0, 0).unwrap(), halves.select(0, 1).unwrap());
    assert_eq!(Polar.call(&length, &angle).unwrap().dtype(), DType::Complex64);
    let refused = message(SetInplaceSourceTensorStorageOffset.call(&floats(&[1]), &x, 2, &[9], &[1]));
    assert!(refused.contains("out of bounds for storage"), "{refused}");
    assert!(
        message(RandintLikeTensor.call(
            &x,
            &to(&count(&[]), DType::F32).add_scalar(2.5, 1).unwrap(),
            None,
            None,
            None,
            None,
            None
        ))
        .contains("without loss")
    );
    let vector = Tensor::from_slice(&[0i64], &[1]).unwrap();
    let sum =
        IndexAdd.call(&to(&count(&[1]), DType::U8), 0, &vector, &to(&count(&[1]), DType::U8), true.into());
    assert!(message(sum).contains("argument `alpha` is a bool"));
    let spread = VarCorrection.call(&x, None, Some(Complex64::new(1.0, 0.0).into()), false);
    assert!(message(spread).contains("argument `correction`"));
    let (image, filter) = (floats(&[1, 1, 2, 2, 2]), floats(&[1, 1, 1, 1, 1]));
    let bias = to(&count(&[1]), DType::I32);
    let convolved = Conv3d.call(&image, &filter, Some(&bias), &[1], &[0], &[1], 1);
    assert!(message(convolved).contains("argument `bias`"));
    let circular = PadCircular.call(&floats(&[1, 2, 2]), &[-1, 2]);
    assert!(message(circular).contains("expected at most 1 on each side"));
    let rest = floats(&[4]).slice(0, 2, None, 1).unwrap();
    let before = AsStridedScatter.call(&rest, &floats(&[1]), &[1], &[1], Some(1));
    assert!(message(before).contains("before the first element of `self`; expected 2 or more"));
}

#[test]
fn gradients_of_what_is_no_softmax() {
    let numbers = |seed: i64, factor: f64| {
        let numbers: Vec<f64> = (0..75i64).map(|k| ((k * seed) % 97 * 2 - 96) as f64 * factor).collect();
        Tensor::from_slice(&numbers, &[5, 5, 3]).unwrap().to_dtype(DType::F32).unwrap()
    };
    let check = |narrow: Tensor, exact: Tensor, largest: f64| {
        // A step of the largest sum, times the largest softmax.
        let distance = f64::from(f32::EPSILON) * 5.0 * 90.0 * largest;
        let (narrow, exact) = (elements(&narrow), elements(&exact));
        let is_near = |(one, other): (&f64, &f64)| (one - other).abs() <= distance;
        assert!(narrow.iter().zip(&exact).all(is_near), "{narrow:?} {exact:?}");
    };
    let wide = |of: &Tensor| to(of, DType::F64);
    let (grad, output) = (numbers(31, 0.9371), numbers(57, 0.9371));
    let exact = SoftmaxBackwardData.call(&wide(&grad), &wide(&output), 0, DType::F64).unwrap();
    check(SoftmaxBackwardData.call(&grad, &output, 0, DType::F32).unwrap(), exact, 90.0 * 90.0);
    let output = numbers(57, 0.03);
    let exact = LogSoftmaxBackwardData.call(&wide(&grad), &wide(&output), 0, DType::F64).unwrap();
    check(LogSoftmaxBackwardData.call(&grad, &output, 0, DType::F32).unwrap(), exact, 3f64.exp());
}

#[test]
fn what_torch_refuses_by_accident_is_computed() {
    let x = floats(&[2, 3]);
    let (bytes, extremum) = (Tensor::from_slice(&[1u8, 253], &[2]).unwrap(), empty(&[], DType::I8));
    MaxUnaryOut.call(&bytes, &extremum).unwrap();
    assert_eq!(extremum.to_vec::<i8>().unwrap(), [-3]);
    let twice = RepeatInterleaveSelfTensor.call(
        &count(&[]),
        &Tensor::from_slice(&[2i64], &[1]).unwrap(),
        Some(0),
        None,
    );
    assert_eq!(elements(&twice.unwrap()), [0.0, 0.0]);
    let (image, average) =
        (to(&count(&[1, 1, 2]), DType::Complex64), Tensor::zeros(&[1, 1, 1], DType::Complex64, Device::CPU));
    AdaptiveAvgPool2dOut.call(&image, &[1, 1], average.as_ref().unwrap()).unwrap();
    assert_eq!(average.unwrap().item().unwrap(), Scalar::Complex(Complex64::new(0.5, 0.0)));
    let none = empty(&[0], DType::F32);
    DiffOut.call(&empty(&[0, 2], DType::F32), 1, 0, None, None, &none).unwrap();
    assert_eq!(none.sizes(), [0, 2]);
    let logarithm = elements(&Logsumexp.call(&x, &[], false).unwrap());
    assert!((logarithm[0] - 5.456_193).abs() < 1e-5, "{logarithm:?}");
    let volumes = floats(&[2, 2, 2, 2]);
    let swapped = Contiguous.call(&volumes, MemoryFormat::ChannelsLast).unwrap();
    let pooled = |x: &Tensor| elements(&MaxPool3d.call(x, &[2, 2, 2], &[], &[0], &[1], false).unwrap());
    assert_eq!(pooled(&swapped), pooled(&volumes));
    let (one, other) = (with_gaps(&x), x.t().unwrap());
    assert_eq!(
        elements(&Kron.call(&one, &other).unwrap()),
        elements(&Kron.call(&x, &other.contiguous().unwrap()).unwrap())
    );
    let is_in = IsinTensorTensor.call(&one, &other, false, false).unwrap();
    assert_eq!(elements(&is_in), [1.0; 6]);
    let parts = TensorSplitIndices.call(&x, &[i64::MIN], 0).unwrap();
    assert_eq!(parts.iter().map(|part| part.sizes()[0]).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(elements(&ConjKernel.call(&x).unwrap()), elements(&x));
    assert_eq!(elements(&UnsafeIndexTensor.call(&x, &[None, None]).unwrap()), elements(&x));
}

#[test]
fn results_do_not_depend_on_the_layout() {
    let (x, turned) = (floats(&[2, 3]), empty(&[3, 2], DType::F32).t().unwrap());
    GeluOut.call(&x, "none", &turned).unwrap();
    assert_eq!(elements(&turned), elements(&x.gelu("none").unwrap()));
    // The largest of the smallest numbers is the first one, also where channels come last.
    let volume = Tensor::zeros(&[1, 3, 2, 2, 2], DType::U8, Device::CPU).unwrap();
    let places = |volume: &Tensor| {
        let pooled = MaxPool3dWithIndices.call(volume, &[2, 2, 2], &[1, 1, 1], &[0], &[1], false);
        elements(&pooled.unwrap().1)
    };
    let [rows, channels_last] = [
        volume.permute(&[0, 4, 1, 2, 3]).unwrap().contiguous().unwrap(),
        volume.permute(&[0, 4, 1, 2, 3]).unwrap(),
    ];
    assert_eq!(places(&rows), [0.0, 4.0, 0.0, 4.0]);
    assert_eq!(places(&channels_last), places(&rows));
    // Of several elements for one place the last one of the list stays, however they lie.
    let places = Tensor::from_slice(&[0i64, 1, 0, 1], &[2, 2]).unwrap();
    let source = Tensor::from_slice(&[1i64, 3, 2, 4], &[2, 2]).unwrap();
    for source in [
        source.clone(),
        Contiguous.call(&source.t().unwrap(), MemoryFormat::Contiguous).unwrap().t().unwrap(),
    ] {
        let put = Put.call(&count(&[2]), &places, &source, false).unwrap();
        assert_eq!(put.to_vec::<i64>().unwrap(), [2, 4]);
    }
    // Copies of bools have their bytes.
    let bools = ViewDtype.call(&Tensor::from_slice(&[0u8, 2], &[2]).unwrap(), DType::Bool).unwrap();
    let copy = ViewDtype.call(&OpClone.call(&bools, None).unwrap(), DType::U8).unwrap();
    assert_eq!(copy.to_vec::<u8>().unwrap(), [0, 2]);
    let set = Tensor::from_slice(&[3i64, 3, 1], &[3]).unwrap();
    let elements_of = Tensor::from_slice(&[1i64, 3, 2, 3], &[4]).unwrap();
    let told = IsinTensorTensor.call(&elements_of, &set, true, false).unwrap();
    assert_eq!(elements(&told), [1.0, 1.0, 0.0, 1.0]);
    let bytes = |count: i64| Tensor::arange(0, count, 1).unwrap().to_dtype(DType::U8).unwrap();
    for count in [4, 40] {
        let is_in = IsinScalarTensor.call(259.into(), &bytes(count), false, false).unwrap();
        assert_eq!(elements(&is_in), [1.0], "259 is 3 modulo 256, among {count}");
    }
    let every_other = floats(&[2, 6]).slice(1, 1, 6, 2).unwrap();
    let replaced = SliceScatter.call(&every_other, &floats(&[2, 3]), 1, None, None, 1).unwrap();
    assert_eq!((replaced.strides(), replaced.geometry().offset()), (&[3, 1][..], 0));
    let image = floats(&[1, 2, 4, 4]);
    let smooth = |x: &Tensor| elements(&UpsampleBilinear2dAa.call(x, &[2, 2], false, None, None).unwrap());
    assert_eq!(smooth(&Contiguous.call(&image, MemoryFormat::ChannelsLast).unwrap()), smooth(&image));
    let tiny = Tensor::from_slice(&[1.2e-38f32; 20], &[20]).unwrap();
    assert!(
        elements(&Erf.call(&tiny).unwrap()).iter().all(|element| (*element / 1.354e-38 - 1.0).abs() < 1e-3)
    );
    let (volume, filter) =
        (to(&count(&[1, 2, 3, 3, 3]), DType::BF16), to(&count(&[2, 2, 1, 1, 1]), DType::BF16));
    let last = Contiguous.call(&volume, MemoryFormat::ChannelsLast3d).unwrap();
    let result = Conv3d.call(&last, &filter, None, &[1], &[0], &[1], 1).unwrap();
    assert_eq!(result.strides(), last.strides());
    let transposed = |volume: &Tensor, filter: &Tensor| {
        let each = [&[1, 1, 1][..], &[0, 0, 0], &[0, 0, 0]];
        let result =
            ConvTranspose3dInput.call(volume, filter, None, each[0], each[1], each[2], 2, &[1, 1, 1]);
        elements(&result.unwrap())
    };
    let (volume, filter) = (floats(&[2, 4, 1, 3, 2]), floats(&[4, 2, 1, 3, 3]));
    let last = |x: &Tensor| Contiguous.call(x, MemoryFormat::ChannelsLast3d).unwrap();
    assert_eq!(transposed(&last(&volume), &last(&filter)), transposed(&volume, &filter));
    let transposed = |image: &Tensor, filter: &Tensor| {
        let pair = [&[2, 2][..], &[0, 0]];
        let result = ConvTranspose2dInput.call(image, filter, None, pair[0], pair[1], pair[1], 2, &[1, 1]);
        elements(&result.unwrap())
    };
    let (image, filter) = (floats(&[1, 4, 6, 3]), floats(&[4, 2, 2, 1]));
    let last = |x: &Tensor| Contiguous.call(x, MemoryFormat::ChannelsLast).unwrap();
    assert_eq!(transposed(&last(&image), &last(&filter)), transposed(&image, &filter));
    let set = count(&[4]).slice(0, 0, 4, 2).unwrap();
    SetInplaceSourceTensorStorageOffset.call(&set, &count(&[3]), 1, &[2], &[]).unwrap();
    assert_eq!((elements(&set), set.strides()), (vec![1.0, 2.0], &[1][..]));
    let column = floats(&[2, 3]).t().unwrap();
    let rows =
        ToDtypeLayout.call(&column, None, None, None, None, false, false, Some(MemoryFormat::Contiguous));
    assert_eq!(rows.unwrap().strides(), [2, 1]);
}

#[test]
fn boundaries_in_disorder_give_some_place() {
    let boundaries = Tensor::from_slice(&[3i64, 1, 2], &[3]).unwrap();
    let places = BucketizeTensor.call(&Tensor::arange(0, 5, 1).unwrap(), &boundaries, false, false).unwrap();
    assert!(elements(&places).iter().all(|place| (0.0..=3.0).contains(place)));
}

#[test]
fn remainders_of_large_quotients() {
    let x = Tensor::from_slice(&[3.0f32; 20], &[20]).unwrap();
    let tiny = Tensor::from_slice(&[f32::from_bits(1); 20], &[20]).unwrap();
    for remainder in [x.fmod(&tiny).unwrap(), x.remainder(&tiny).unwrap()] {
        assert_eq!(elements(&remainder), [0.0; 20]);
    }
}

#[test]
fn random_numbers_follow_the_memory() {
    let x = floats(&[2, 3]);
    let (rows, columns) = (empty(&[2, 3], DType::F32), empty(&[3, 2], DType::F32).t().unwrap());
    for out in [&rows, &columns] {
        UniformOut.call(&x, 0.0, 1.0, Some(&generator(1)), out).unwrap();
    }
    assert_eq!(
        elements(&columns.t().unwrap().reshape(&[6]).unwrap()),
        elements(&rows.reshape(&[6]).unwrap())
    );
    let drawn = |x: &Tensor| BernoulliP.call(x, 0.5, Some(&generator(1))).unwrap();
    let (rows, columns) = (drawn(&floats(&[2, 30])), drawn(&floats(&[30, 2]).t().unwrap()));
    assert_eq!(
        elements(&columns.t().unwrap().reshape(&[60]).unwrap()),
        elements(&rows.reshape(&[60]).unwrap())
    );
}

#[test]
fn random_integers_without_a_dtype() {
    assert_eq!(Randint.call(5, &[2], None, None, None, None).unwrap().dtype(), DType::I64);
}

#[test]
fn random_bits_of_complex_numbers() {
    let drawn = BernoulliP.call(&empty(&[20], DType::Complex64), 0.5, Some(&generator(1))).unwrap();
    let is_bit = |bit: &Complex64| bit.im == 0.0 && (bit.re == 0.0 || bit.re == 1.0);
    assert!(to(&drawn, DType::Complex128).to_vec::<Complex64>().unwrap().iter().all(is_bit));
}

#[test]
fn masks_of_nothing() {
    let nothing = floats(&[0]);
    let (result, mask) = NativeDropout.call(&nothing, 0.5, Some(true)).unwrap();
    assert!(!result.is_same(&nothing));
    assert_eq!((mask.dtype(), mask.sizes()), (DType::Bool, &[0][..]));
}

#[test]
fn exponents_of_integers() {
    let powers = Logspace.call(3.5.into(), 3.5.into(), 1, 2.0, Some(DType::I64), None, None, None);
    assert_eq!(elements(&powers.unwrap()), [11.0]);
    let powers = Logspace.call((-1).into(), 3.into(), 2, 2.0, Some(DType::U8), None, None, None);
    assert_eq!(elements(&powers.unwrap()), [0.0, 8.0]);
}

#[test]
fn powers_of_zero_go_through_one() {
    let powers = Logspace.call(1.5.into(), (-2).into(), 36, 0.0, Some(DType::F64), None, None, None).unwrap();
    let powers = elements(&powers);
    assert_eq!((powers[14], powers[15], powers[16]), (0.0, 1.0, f64::INFINITY));
}

#[test]
fn averages_beside_spreads_are_those_of_mean() {
    let far = Tensor::from_slice(&[f64::MAX, f64::MAX, 0.0, 0.0], &[4]).unwrap();
    let (variance, average) = VarMeanCorrection.call(&far, None, Some(0.into()), false).unwrap();
    assert_eq!((elements(&variance), elements(&average)), (vec![f64::INFINITY], vec![f64::INFINITY]));
    assert_eq!(elements(&far.mean().unwrap()), [f64::INFINITY]);
}

#[test]
fn images_of_nothing() {
    let nothing = empty(&[0, 1, 4, 6], DType::F32);
    assert_eq!(PixelUnshuffle.call(&nothing, 2).unwrap().sizes(), [0, 4, 2, 3]);
    let image = floats(&[1, 3, 1, 1]);
    let shuffled = ChannelShuffle.call(&image, 3).unwrap();
    assert!(!shuffled.array().unwrap().storage().is_same(image.array().unwrap().storage()));
}

#[test]
fn calls_that_end_the_process_elsewhere() {
    let x = to(&count(&[1, 1, 1, 1, 1]), DType::BF16);
    let windows =
        AvgPool3d.call(&floats(&[1, 1, 3, 1, 1]), &[3, 1, 1], &[2], &[0], true, false, None).unwrap();
    assert_eq!(elements(&windows), [1.0]);
    let out = empty(&[1, 1, 2, 2, 2], DType::BF16);
    AdaptiveAvgPool3dOut.call(&x, &[2, 2, 2], &out).unwrap();
    assert_eq!(elements(&out), [0.0; 8]);
    let (nothing, places) = (empty(&[4, 1, 0], DType::BF16), empty(&[4, 0], DType::I64));
    MedianDimValues.call(&nothing, 1, false, &nothing, &places).unwrap();
    assert_eq!((nothing.sizes(), places.sizes()), (&[4, 0][..], &[4, 0][..]));
    let none = floats(&[0, 0, 2, 2]);
    let (attended, _) =
        ScaledDotProductFlashAttentionForCpu.call(&none, &none, &none, 0.0, true, None, None).unwrap();
    assert_eq!(attended.sizes(), none.sizes());
}

#[test]
fn coefficients_of_what_does_not_vary() {
    let (alike, varying) =
        (Tensor::from_slice(&[0.3; 4], &[4]).unwrap(), floats(&[4]).to_dtype(DType::F64).unwrap());
    let both = Tensor::stack(&[alike, varying], 0).unwrap();
    let found = elements(&Corrcoef.call(&both).unwrap());
    assert_eq!(found.iter().map(|element| element.is_nan()).collect::<Vec<_>>(), [true, true, true, false]);
    assert!((found[3] - 1.0).abs() < 1e-15);
    // The rounded sum of three or more is not always so many times the number; nor is a sum always in range.
    for count in [1, 3, 7, 11, 97, 1000] {
        for number in [0.1, 0.3, -7.7, 1.7e308] {
            let alike = Tensor::full(&[count], number, Some(DType::F64), Device::CPU).unwrap();
            let of_all = alike.var(&[], 0, false).unwrap();
            assert_eq!(elements(&of_all), [0.0], "{count} times {number}");
        }
    }
    let largest = Tensor::full(&[5], f32::MAX, Some(DType::F32), Device::CPU).unwrap();
    assert_eq!(elements(&largest.std(&[], 0, false).unwrap()), [0.0]);
}

#[test]
fn sums_of_no_weights_are_sums_of_weights() {
    let (nothing, weights) = (empty(&[0], DType::I64), empty(&[0], DType::F32));
    assert_eq!(Bincount.call(&nothing, Some(&weights), 0).unwrap().dtype(), DType::F32);
    assert_eq!(Bincount.call(&nothing, None, 0).unwrap().dtype(), DType::I64);
}

#[test]
fn results_are_computed_before_they_are_written() {
    let bits = Tensor::from_slice(&[1.0f32, 0.0, 1.0, 0.0], &[4]).unwrap();
    let (low, high) = (bits.slice(0, 0, 3, 1).unwrap(), bits.slice(0, 1, 4, 1).unwrap());
    BernoulliOut.call(&low, Some(&generator(1)), &high).unwrap();
    assert_eq!(elements(&bits), [1.0, 1.0, 0.0, 1.0]);
    let numbers = floats(&[4]);
    let (low, high) = (numbers.slice(0, 0, 3, 1).unwrap(), numbers.slice(0, 1, 4, 1).unwrap());
    MseLossOut.call(&low, &floats(&[3]).mul_scalar(2).unwrap(), 0, &high).unwrap();
    assert_eq!(elements(&numbers), [0.0, 0.0, 1.0, 4.0]);
}
