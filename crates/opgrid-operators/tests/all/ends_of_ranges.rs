//! What operators answer where numbers leave the range of a dtype or have more digits than it; torch 2.15 gives the same
//! unless a comment says otherwise.

use opgrid_core::{Complex64, DType, Device, Dispatcher, MemoryFormat, Result, Scalar, TensorType};
use opgrid_tensor::ops::{
    Acosh, Asin, Asinh, Clamp, ClampMax, ClampMin, Cosh, DivScalarMode, DivTensorMode, EmptyOut, Exp, Gather,
    Hardtanh, IndexFillIntScalar, IndexPut, Isfinite, LdexpInplace, LdexpOut, LinalgVectorNorm, Linspace, MT,
    Mean, MeanDtypeOut, MeanOut, MulTensor, NansumOut, NativeDropout, PowScalar, PowTensorScalar,
    RandLikeOut, SetInplaceSourceTensorStorageOffset, Sigmoid, SigmoidBackward, Sinh, SoftplusBackward,
    StdCorrection, StdCorrectionOut, Tanh, Threshold, ThresholdBackward, ToCopy, UniformInplace,
};
use opgrid_tensor::{Bool, Element, Tensor, bf16, f16};

fn tensor<T: Element>(elements: &[T]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn meta(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::empty(sizes, dtype, Device::META).unwrap()
}

#[test]
fn norms_of_single_elements_are_their_magnitudes() {
    let far = tensor(&[-1e300]).view(&[1, 1]).unwrap();
    for order in [2.0, 3.0, -2000.0] {
        let norm = LinalgVectorNorm.call(&far, Scalar::Float(order), Some(&[0]), false, None).unwrap();
        assert_eq!(norm.to_vec::<f64>().unwrap(), [1e300]);
    }
    let count = LinalgVectorNorm.call(&far, Scalar::Float(0.0), None, false, None).unwrap();
    assert_eq!(count.to_vec::<f64>().unwrap(), [1.0]);
}

#[test]
fn running_products_keep_their_range() {
    let x = tensor(&[1e-300, 1e-300, 1e300, 1e300].map(|x: f64| bf16::from_f64(x.clamp(1e-38, 1e38))));
    let products = x.cumprod(0).unwrap().to_vec::<bf16>().unwrap();
    // The second one is too small for the dtype, and not lost.
    assert_eq!((products[1], products[3].to_f32().round()), (bf16::ZERO, 1.0));
    // The second one is beyond the range of single precision, and the third one is not.
    let high = tensor(&[3e38, 2.0, 0.25].map(bf16::from_f64));
    let products = high.cumprod(0).unwrap().to_vec::<bf16>().unwrap();
    assert_eq!(products, [3e38, f64::INFINITY, 1.5e38].map(bf16::from_f64));
}

#[test]
fn sums_of_what_is_a_number_are_computed_in_the_dtype_of_the_output() {
    let x = tensor(&[1.5f32, f32::NAN, 1e30]);
    let wide = tensor(&[] as &[f64]);
    NansumOut.call(&x, None, false, None, &wide).unwrap();
    assert_eq!(wide.to_vec::<f64>().unwrap(), [1.5 + f64::from(1e30f32)]);
    let error = message(NansumOut.call(&x, None, false, None, &tensor(&[] as &[i64])));
    assert!(error.contains("argument `out` has dtype int64, expected a floating-point one"), "{error}");
    let sum = tensor(&[] as &[f32]);
    NansumOut.call(&tensor(&[2i32, 3]), None, false, None, &sum).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [5.0]);
}

#[test]
fn powers_of_two_beside_complex_numbers_have_their_range() {
    let x = tensor(&[Complex64::new(0.5, -1.0)]);
    let product = x.ldexp(&tensor(&[200u8])).unwrap().to_vec::<Complex64>().unwrap();
    assert_eq!(product, [Complex64::new(2f64.powi(199), -2f64.powi(200))]);
}

#[test]
fn averages_of_complex_numbers_are_not_written_to_real_outputs() {
    let (x, out) = (tensor(&[Complex64::new(1.0, 2.0)]), tensor(&[0.0]));
    assert!(message(MeanDtypeOut.call(&x, Some(DType::F64), &out)).contains("can't be cast"));
}

#[test]
fn exponents_fit_the_integers_that_are_raised() {
    let far = (1i64 << 32) + 1;
    let words = "cannot be converted to Int (int32) without overflow";
    assert!(message(tensor(&[2i32, 3]).pow(far)).contains(words));
    assert!(message(PowTensorScalar.call(&meta(&[2], DType::I32), far.into())).contains(words));
    assert!(message(tensor(&[2i8]).pow(128)).contains("without overflow"));
    assert_eq!(tensor(&[2u8, 3]).pow(255).unwrap().to_vec::<u8>().unwrap(), [0, 171]);
    // A float makes the result one.
    let powers = tensor(&[2i32, 3]).pow(far as f64).unwrap();
    assert_eq!(powers.to_vec::<f32>().unwrap(), [f32::INFINITY; 2]);
}

#[test]
fn exponents_fit_16_bit_floats() {
    let bases = tensor(&[f16::from_f32(0.5), f16::from_f32(2.0)]);
    assert!(message(bases.pow(1e10)).contains("cannot be converted to Half (float16) without overflow"));
    assert_eq!(bases.pow(65504.0).unwrap().to_vec::<f16>().unwrap(), [f16::ZERO, f16::INFINITY]);
    assert_eq!(bases.pow(f64::INFINITY).unwrap().to_vec::<f16>().unwrap(), [f16::ZERO, f16::INFINITY]);
    let far = tensor(&[f16::NEG_INFINITY; 70]).pow(0.5).unwrap();
    assert_eq!(far.to_vec::<f16>().unwrap(), [f16::INFINITY; 70]);
    let bases = tensor(&[bf16::from_f32(-1.0)]);
    assert_eq!(bases.pow(257).unwrap().to_vec::<bf16>().unwrap(), [bf16::ONE]);
}

#[test]
fn exponents_of_single_precision_keep_their_digits() {
    for count in [1, 100] {
        let powers = tensor(&vec![-1.0f32; count]).pow(16_777_217).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(powers, vec![-1.0; count]);
    }
    let bases = tensor(&[0.3f32, 1.7, 1e-3, -2.0, f32::INFINITY, f32::NAN, 0.0]);
    for exponent in [0.1, -2.7, 1.0 / 3.0, 1e300, 3.000_000_001] {
        let found = bases.pow(exponent).unwrap().to_vec::<f32>().unwrap();
        for (base, found) in bases.to_vec::<f32>().unwrap().into_iter().zip(found) {
            let exact = f64::from(base).powf(exponent) as f32;
            let is_near = (found - exact).abs() <= exact.abs() * f32::EPSILON;
            assert!(is_near || found == exact || (found.is_nan() && exact.is_nan()), "{base} ^ {exponent}");
        }
    }
}

#[test]
fn divisors_that_become_zero_are_refused() {
    let bytes = tensor(&[7i8, -100]);
    for mode in ["floor", "trunc"] {
        let refused = message(DivScalarMode.call(&bytes, Scalar::Int(256), Some(mode)));
        assert!(refused.contains("has a zero as int8"), "{refused}");
        let divisor = Tensor::from_slice(&[256i64], ()).unwrap();
        assert!(message(DivTensorMode.call(&bytes, &divisor, Some(mode))).contains("has a zero as int8"));
    }
    let quotient = DivScalarMode.call(&bytes, Scalar::Int(300), Some("trunc")).unwrap();
    assert_eq!(quotient.to_vec::<i8>().unwrap(), [0, -2]);
}

#[test]
fn bounds_of_random_numbers_fit_the_dtype() {
    let of = |dtype| Tensor::empty(&[2], dtype, Device::CPU).unwrap();
    for (dtype, from, to, words) in [
        (DType::F16, 0.0, 1e5, "`to` is 100000, which is out of bounds for float16"),
        (DType::BF16, -1e300, 0.0, "out of bounds for bfloat16"),
        (DType::F32, f64::NAN, 1.0, "`from` is NaN, which is out of bounds"),
        (DType::F64, 0.0, f64::INFINITY, "out of bounds for float64"),
        (DType::Complex64, 0.0, 1e39, "out of bounds for complex64"),
        (DType::F16, -6e4, 6e4, "above `from`"),
        (DType::F64, -f64::MAX, f64::MAX, "above `from`"),
    ] {
        let refused = message(UniformInplace.call(&of(dtype), from, to, None));
        assert!(refused.contains(words), "{refused}");
    }
    UniformInplace.call(&of(DType::F16), -30_000.0, 30_000.0, None).unwrap();
}

#[test]
fn a_sequence_of_one_number_is_its_start() {
    for end in [f64::INFINITY, f64::NAN, -1e30] {
        let one = Linspace.call(4.into(), end.into(), 1, Some(DType::F32), None, None, None).unwrap();
        assert_eq!(one.to_vec::<f32>().unwrap(), [4.0]);
    }
}

fn complex(function: impl Fn(&Tensor) -> Result<Tensor>, re: f64, im: f64) -> Complex64 {
    function(&tensor(&[Complex64::new(re, im)])).unwrap().to_vec::<Complex64>().unwrap()[0]
}

#[test]
fn exponentials_of_complex_numbers_reach_the_end_of_the_range() {
    let exp = |re, im| complex(|x| Exp.call(x), re, im);
    assert_eq!(exp(1000.0, 0.0), Complex64::new(f64::INFINITY, 0.0));
    assert!(exp(1000.0, -0.0).im.is_sign_negative());
    let near = exp(709.9, 0.7);
    // By 40 digits.
    let exact = Complex64::new(1.546_053_569_983_849_5e308, 1.302_222_957_570_858_8e308);
    assert!(((near - exact) / 1e308).norm() < 4.0 * f64::EPSILON, "{near}");
    assert!(exp(800.0, 1e-320).im.is_finite() && exp(1e5, 1e-320).im.is_infinite());
    assert_eq!(exp(f64::INFINITY, 3.0), Complex64::new(f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(exp(f64::NEG_INFINITY, f64::NAN), Complex64::new(0.0, 0.0));
    let far = exp(f64::INFINITY, f64::INFINITY);
    assert!(far.re.is_infinite() && far.im.is_nan());
    let unknown = exp(f64::NAN, 0.0);
    assert!(unknown.re.is_nan() && unknown.im == 0.0);
    let single = tensor(&[num_complex::Complex::new(89.0f32, 0.7)]);
    let single = Exp.call(&single).unwrap().to_vec::<num_complex::Complex<f32>>().unwrap()[0];
    assert!(single.re.is_infinite() && (single.im / 2.892_288e38 - 1.0).abs() < 1e-5, "{single}");
    let one = PowScalar.call(Complex64::new(1.0, -0.0).into(), &tensor(&[f64::NAN])).unwrap();
    assert_eq!(one.to_vec::<Complex64>().unwrap(), [Complex64::new(1.0, 0.0)]);
    let power = complex(|x| x.pow(400), 10.0, 0.0);
    assert_eq!(power, Complex64::new(f64::INFINITY, 0.0));
    assert_eq!(complex(|x| Tanh.call(x), 1000.0, 0.0), Complex64::new(1.0, 0.0));
    assert_eq!(complex(|x| Tanh.call(x), f64::NAN, 0.0).im, 0.0);
    assert_eq!(complex(|x| Sigmoid.call(x), -1000.0, 0.0), Complex64::new(0.0, 0.0));
}

#[test]
fn averages_of_16_bits_are_rounded_once() {
    let numbers = tensor(&[257i64, 259, 257, 257]);
    let mean = Mean.call(&numbers, Some(DType::BF16)).unwrap();
    assert_eq!(mean.to_vec::<bf16>().unwrap(), [bf16::from_f32(258.0)]);
    let out = Tensor::empty((), DType::BF16, Device::CPU).unwrap();
    let floats = ToCopy.call(&numbers, Some(DType::F32), None, None, None, false, None).unwrap();
    MeanOut.call(&floats, None, false, None, &out).unwrap();
    assert_eq!(out.to_vec::<bf16>().unwrap(), [bf16::from_f32(258.0)]);
}

#[test]
fn numbers_beside_16_bit_floats_keep_their_digits() {
    for count in [1, 100] {
        let large = tensor(&vec![f16::from_f32(6e4); count]);
        let small = tensor(&vec![f16::from_f32(0.001); count]);
        let single = Tensor::from_slice(&[1e6f64], ()).unwrap();
        for quotients in [large.div(1e6), large.div(&single)] {
            assert_eq!(quotients.unwrap().to_vec::<f16>().unwrap(), vec![f16::from_f32(0.06); count]);
        }
        for products in [small.mul(1e6), small.mul(&single)] {
            assert_eq!(products.unwrap().to_vec::<f16>().unwrap(), vec![f16::from_f32(1000.5); count]);
        }
        let whole = tensor(&vec![f16::from_f32(2048.0); count]);
        for mode in ["floor", "trunc"] {
            let quotients = DivScalarMode.call(&whole, Scalar::Int(2049), Some(mode)).unwrap();
            assert_eq!(quotients.to_vec::<f16>().unwrap(), vec![f16::ZERO; count]);
        }
        // Only a second argument does, and sums round both.
        let (one, sum) = (MulTensor.call(&single, &small).unwrap(), large.add_with(&single, -1).unwrap());
        assert_eq!(one.to_vec::<f16>().unwrap(), vec![f16::INFINITY; count]);
        assert_eq!(sum.to_vec::<f16>().unwrap(), vec![f16::NEG_INFINITY; count]);
    }
    // A threshold does, too: -6.91 is below the next number of 16 bits, which is therefore above it.
    let next = tensor(&[bf16::from_f32(-6.91); 40]);
    let threshold = Threshold.call(&next, Scalar::Float(-6.9119), Scalar::Float(2.25)).unwrap();
    assert_eq!(threshold.to_vec::<bf16>().unwrap(), next.to_vec::<bf16>().unwrap());
    let slope = ThresholdBackward.call(&next, &next, Scalar::Float(-6.9119)).unwrap();
    assert_eq!(slope.to_vec::<bf16>().unwrap(), next.to_vec::<bf16>().unwrap());
    let x = tensor(&[bf16::from_f32(3.0)]);
    assert_eq!(x.mul(8.0831).unwrap().to_vec::<bf16>().unwrap(), [bf16::from_f32(3.0 * 8.0831)]);
}

#[test]
fn indices_of_which_there_are_none_may_have_any_dtype() {
    let x = Tensor::arange(0, 6, 1).unwrap().reshape(&[2, 3]).unwrap();
    for dtype in [DType::F32, DType::Bool] {
        let nothing =
            Gather.call(&x, 0, &Tensor::empty(&[0, 5], dtype, Device::CPU).unwrap(), false).unwrap();
        assert_eq!((nothing.sizes(), nothing.dtype()), (&[0, 5][..], DType::I64));
    }
}

#[test]
fn values_for_masks_are_taken_on_meta() {
    let (x, value) = (meta(&[2, 3], DType::F32), meta(&[], DType::F32));
    for sizes in [&[2, 3][..], &[2], &[]] {
        let put = IndexPut.call(&x, &[Some(meta(sizes, DType::Bool))], &value, false).unwrap();
        assert_eq!(put.sizes(), [2, 3]);
    }
    let refused = message(IndexPut.call(&x, &[Some(meta(&[3], DType::Bool))], &value, false));
    assert!(refused.contains("the mask in `indices` has shape [3]"), "{refused}");
    // One value is converted, several are not.
    IndexPut.call(&x, &[Some(meta(&[2], DType::Bool))], &meta(&[], DType::F64), false).unwrap();
    let refused =
        message(IndexPut.call(&x, &[Some(meta(&[2], DType::Bool))], &meta(&[3], DType::F64), false));
    assert!(refused.contains("convert it first"), "{refused}");
}

/// As torch's Python and NumPy read them; torch's own operator fails to read some and passes over others.
#[test]
fn masks_without_dimensions_add_one() {
    let x = Tensor::arange(0, 6, 1).unwrap().reshape(&[2, 3]).unwrap();
    let [yes, no] = [Bool::TRUE, Bool::FALSE].map(|truth| Some(Tensor::from_slice(&[truth], ()).unwrap()));
    let pair = || Some(tensor(&[1i64, 0]));
    let of = |indices: Vec<Option<Tensor>>| x.index(&indices).unwrap();
    assert_eq!(of(vec![yes.clone()]).sizes(), [1, 2, 3]);
    assert_eq!(of(vec![no.clone()]).sizes(), [0, 2, 3]);
    assert_eq!(of(vec![None, yes.clone()]).sizes(), [2, 1, 3]);
    assert_eq!(of(vec![yes.clone(), pair()]).to_vec::<i64>().unwrap(), [3, 4, 5, 0, 1, 2]);
    assert!(message(x.index(&[no.clone(), pair()])).contains("do not broadcast together"));
    let filled = |mask: &Option<Tensor>| {
        let value = Tensor::from_slice(&[9.0f32], ()).unwrap();
        IndexPut.call(&x, std::slice::from_ref(mask), &value, false).unwrap().to_vec::<i64>().unwrap()
    };
    assert_eq!((filled(&yes), filled(&no)), (vec![9; 6], vec![0, 1, 2, 3, 4, 5]));
}

#[test]
fn masks_count_their_dimensions() {
    let x = Tensor::arange(0, 6, 1).unwrap().reshape(&[2, 3]).unwrap();
    let mask = x.gt(2).unwrap();
    assert_eq!(x.index(&[Some(mask.clone())]).unwrap().to_vec::<i64>().unwrap(), [3, 4, 5]);
    assert!(message(x.index(&[Some(mask.clone()), None])).contains("too many indices"));
    let (cube, first) = (x.reshape(&[2, 3, 1]).unwrap(), tensor(&[0i64]));
    assert!(message(cube.index(&[Some(mask), None, Some(first)])).contains("too many indices"));
}

#[test]
fn parts_decide_whether_a_complex_number_is_finite() {
    let far = tensor(&[Complex64::new(f64::MAX, f64::MAX), Complex64::new(f64::MAX, f64::INFINITY)]);
    assert_eq!(Isfinite.call(&far).unwrap().to_vec::<Bool>().unwrap(), [Bool::TRUE, Bool::FALSE]);
}

#[test]
fn weights_of_products_of_16_bits_have_the_range_of_single_precision() {
    let of = |elements: &[f32]| {
        let elements: Vec<f16> = elements.iter().map(|element| f16::from_f32(*element)).collect();
        Tensor::from_slice(&elements, &[1, 1]).unwrap()
    };
    let sum = of(&[0.01]).addmm_with(&of(&[1.0]), &of(&[0.0]), 1e6, 1).unwrap();
    assert_eq!(sum.to_vec::<f16>().unwrap(), [f16::from_f32(1e6 * f32::from(f16::from_f32(0.01)))]);
    let refused = message(of(&[0.01]).addmm_with(&of(&[1.0]), &of(&[0.0]), 1e39, 1));
    assert!(refused.contains("without overflow"), "{refused}");
}

#[test]
fn bounds_beyond_the_integers_limit_nothing_or_are_refused() {
    let bytes = tensor(&[1u8, 5, 200]);
    let limited = |low: Option<i64>, high: Option<i64>| {
        Clamp
            .call(&bytes, low.map(Scalar::Int), high.map(Scalar::Int))
            .map(|limited| limited.to_vec::<u8>().unwrap())
    };
    assert_eq!(limited(Some(-1), None).unwrap(), [1, 5, 200]);
    assert_eq!(limited(Some(-3), Some(5)).unwrap(), [1, 5, 5]);
    assert_eq!(limited(None, Some(300)).unwrap(), [1, 5, 200]);
    let words = "outside of the range of uint8, from 0 to 255";
    assert!(message(limited(Some(300), None)).contains(words));
    assert!(message(limited(None, Some(-1))).contains(words));
    assert!(message(ClampMax.call(&meta(&[2], DType::U8), (-3).into())).contains("the upper bound -3"));
    assert!(message(ClampMin.call(&bytes, 300.into())).contains("the lower bound 300"));
    // The default bounds of hardtanh are -1 and 1.
    let limited = Hardtanh.call(&tensor(&[0u8, 7]), (-1.0).into(), 1.0.into()).unwrap();
    assert_eq!(limited.to_vec::<u8>().unwrap(), [0, 1]);
}

#[test]
fn inverse_functions_of_numbers_near_the_end_of_the_range_are_in_it() {
    let far = tensor(&[Complex64::new(f64::MAX, -f64::MAX)]);
    let log = f64::MAX.ln() + 1.5 * std::f64::consts::LN_2;
    let quarter = std::f64::consts::FRAC_PI_4;
    let close = |result: Result<Tensor>, re: f64, im: f64| {
        let found = result.unwrap().to_vec::<Complex64>().unwrap()[0];
        assert!((found - Complex64::new(re, im)).norm() < 1e-12, "{found}");
    };
    close(Asinh.call(&far), log, -quarter);
    close(Acosh.call(&far), log, -quarter);
    close(Asin.call(&far), quarter, -log);
    close(far.acos(), quarter, log);
}

#[test]
fn memory_of_others_counts_from_their_first_element() {
    let (memory, tensor) = (tensor(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]), tensor(&[9.0f32]));
    let rest = memory.slice(0, 3, None, 1).unwrap();
    SetInplaceSourceTensorStorageOffset.call(&tensor, &rest, 1, &[2], &[1]).unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [4.0, 5.0]);
    let gaps = memory.slice(0, None, None, 2).unwrap();
    let refused = message(SetInplaceSourceTensorStorageOffset.call(&tensor, &gaps, 0, &[1], &[1]));
    assert!(refused.contains("expected a contiguous tensor"), "{refused}");
    SetInplaceSourceTensorStorageOffset.call(&tensor, &rest, -1, &[1], &[1]).unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [2.0]);
    let refused = message(SetInplaceSourceTensorStorageOffset.call(&tensor, &rest, -4, &[1], &[1]));
    assert!(refused.contains("`storage_offset` is -4, expected -3 or more"), "{refused}");
}

#[test]
fn outputs_are_asked_for_formats_that_they_can_have() {
    let out = tensor(&[0.0f32, 0.0]);
    let refused = message(EmptyOut.call(&[2], Some(MemoryFormat::Contiguous), &out));
    assert!(refused.contains("has its own strides"), "{refused}");
    let refused = message(RandLikeOut.call(&out, Some(MemoryFormat::ChannelsLast), &out));
    assert!(refused.contains("required rank 4"), "{refused}");
}

#[test]
fn numbers_are_looked_at_where_they_count() {
    let x = tensor(&[1.0f32, 2.0]);
    let (kept, mask) = NativeDropout.call(&x, 3.25, Some(false)).unwrap();
    assert_eq!(
        (kept.to_vec::<f32>().unwrap(), mask.to_vec::<Bool>().unwrap()),
        (vec![1.0, 2.0], vec![Bool::TRUE; 2])
    );
    assert!(message(NativeDropout.call(&x, 3.25, Some(true))).contains("between 0 and 1"));
    let (flags, first) = (tensor(&[Bool::TRUE]), tensor(&[0i64]));
    let refused = message(IndexFillIntScalar.call(&flags, 0, &first, Complex64::new(1.0, 0.0).into()));
    assert!(refused.contains("argument `value` is complex"), "{refused}");
    let number = Tensor::from_slice(&[1.0f32], ()).unwrap();
    assert!(MT.call(&number).unwrap().is_same(&number));
}

#[test]
fn hyperbolic_functions_of_large_complex_numbers_stay_in_the_range() {
    let z = |re: f64, im: f64| tensor(&[Complex64::new(re, im)]).to_dtype(DType::Complex64).unwrap();
    let first = |x: Tensor| x.to_dtype(DType::Complex128).unwrap().to_vec::<Complex64>().unwrap()[0];
    let is_near = |x: Tensor, re: f64, im: f64| {
        let off = first(x) - Complex64::new(re, im);
        assert!(off.re.abs() < re.abs() * 1e-5 && off.im.abs() < im.abs() * 1e-5, "{off}");
    };
    // PyTorch 2.15; half the exponential of 89.5 is beyond the range.
    is_near(z(89.5, 0.7).sinh().unwrap(), 2.830_727e38, 2.384_288e38);
    is_near(z(-89.5, 2.0).sinh().unwrap(), 1.540_184_4e38, 3.365_364e38);
    is_near(z(-89.5, 0.7).cosh().unwrap(), 2.830_727e38, -2.384_288e38);
    let far = first(z(f64::INFINITY, 0.7).sinh().unwrap());
    assert!(far.re == f64::INFINITY && far.im == f64::INFINITY, "{far}");
    let beside_nan = first(z(0.0, f64::NAN).atanh().unwrap());
    assert!(beside_nan.re == 0.0 && beside_nan.im.is_nan(), "{beside_nan}");
}

#[test]
fn slopes_of_sigmoids_are_multiplied_from_the_left() {
    let slope =
        SigmoidBackward.call(&tensor(&[5e-324]), &tensor(&[1.7e308])).unwrap().to_vec::<f64>().unwrap()[0];
    assert!((slope / -1.4278e293 - 1.0).abs() < 1e-4, "{slope}");
}

#[test]
fn of_equally_high_exponentials_the_last_one_has_the_angle() {
    let x = [Complex64::new(1.0, 2.0), Complex64::new(1.0, -2.5)];
    let sums = tensor(&x).logcumsumexp(0).unwrap().to_vec::<Complex64>().unwrap();
    assert_eq!(sums[0], x[0]);
    assert!((sums[1] - Complex64::new(1.2282, -3.3916)).norm() < 1e-4, "{}", sums[1]);
}

#[test]
fn exponents_of_every_size() {
    let exponents = Tensor::from_slice(&[2000i64, -2000, 1 << 40, 3], &[4]).unwrap();
    let x = Tensor::from_slice(&[1e-300, 1e300, 1.0, 1.5], &[4]).unwrap();
    let scaled = x.ldexp(&exponents).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(scaled, [libm::ldexp(1e-300, 2000), libm::ldexp(1e300, -2000), f64::INFINITY, 12.0]);
    // Zero times infinity would be NaN.
    let zero = Tensor::from_slice(&[0.0f32, -0.0], &[2]).unwrap();
    let far = Tensor::from_slice(&[i64::MAX, i64::MIN], &[2]).unwrap();
    assert_eq!(zero.ldexp(&far).unwrap().to_vec::<f32>().unwrap(), [0.0, -0.0]);
    let halves = Tensor::from_slice(&[f16::from_f64(1.5)], &[1]).unwrap();
    let out = Tensor::from_slice(&[0.0f64], &[1]).unwrap();
    LdexpOut.call(&halves, &Tensor::from_slice(&[-24i32], &[1]).unwrap(), &out).unwrap();
    // The result is a 16-bit float, whose smallest steps are these.
    assert_eq!(out.to_vec::<f64>().unwrap(), [2.0 * 2f64.powi(-24)]);
    LdexpInplace.call(&halves, &Tensor::from_slice(&[Bool::TRUE], &[1]).unwrap()).unwrap();
    assert_eq!(halves.to_vec::<f16>().unwrap(), [f16::from_f64(3.0)]);
    // A power that float16 does not have.
    let wide = Tensor::from_slice(&[3.0f64, f64::INFINITY], &[2]).unwrap();
    for exponent in [Tensor::number(-68.875), Tensor::from_slice(&[-68.875f64], &[1]).unwrap()] {
        let exponent = exponent.to_dtype(DType::F16).unwrap();
        let product = wide.ldexp(&exponent).unwrap().to_vec::<f64>().unwrap();
        assert!((product[0] / (3.0 * (-68.875f64).exp2()) - 1.0).abs() < 1e-14, "{product:?}");
        assert_eq!(product[1], f64::INFINITY);
    }
}

#[test]
fn slopes_of_softplus_stay_in_range() {
    let grad = Tensor::from_slice(&[f64::MAX], &[1]).unwrap();
    let x = Tensor::from_slice(&[1.0f64], &[1]).unwrap();
    let slope = SoftplusBackward.call(&grad, &x, Scalar::Int(1), Scalar::Int(20)).unwrap();
    let expected = f64::MAX / (1.0 + (-1.0f64).exp());
    assert!((slope.to_vec::<f64>().unwrap()[0] / expected - 1.0).abs() < 1e-15);
    // Far to the right the slope is one, whatever the threshold is.
    let grads = [0.0, 2.5, f64::INFINITY];
    let far = tensor(&[1e5; 3]);
    let slopes =
        SoftplusBackward.call(&tensor(&grads), &far, Scalar::Int(1), Scalar::Float(f64::INFINITY)).unwrap();
    assert_eq!(slopes.to_vec::<f64>().unwrap(), grads);
}

#[test]
fn logits_are_bounded_by_all_digits() {
    // torch rounds the bounds to 16 bits, 0 and 1 here, and gives infinity.
    let x = tensor(&[0.25, 1.0].map(bf16::from_f64));
    let bounded = x.logit(Some(0.9995)).unwrap().to_vec::<bf16>().unwrap();
    let bound = bf16::from_f64((0.0005f64 / 0.9995).ln());
    assert_eq!(bounded, [-bound, bound]);
    let small = tensor(&[0.0, 1.0].map(bf16::from_f64)).logit(Some(1e-6)).unwrap();
    let bound = bf16::from_f64((1e-6f64).ln());
    assert_eq!(small.to_vec::<bf16>().unwrap(), [bound, -bound]);
}

#[test]
fn deviations_of_large_numbers() {
    let large = tensor(&[Complex64::new(1e30, 0.0), Complex64::new(-1e30, 0.0)]);
    let x = large.to_dtype(DType::Complex64).unwrap();
    let deviation = StdCorrection.call(&x, None, Some(Scalar::Int(0)), false).unwrap();
    assert_eq!(deviation.to_vec::<f32>().unwrap(), [1e30f32]);
    let narrow = tensor(&[0.0]).to_dtype(DType::BF16).unwrap();
    let x = tensor(&[1e30f32, -1e30]);
    StdCorrectionOut.call(&x, None, Some(Scalar::Int(0)), false, &narrow.select(0, 0).unwrap()).unwrap();
    assert!((narrow.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap()[0] / 1e30 - 1.0).abs() < 0.004);
}

#[test]
fn pairs_of_floats_have_even_strides_where_there_is_not_one_place() {
    let memory = tensor(&[0.0f32; 4]);
    let one = memory.as_strided(&[1, 2], &[3, 1], None).unwrap();
    assert_eq!(one.view_as_complex().unwrap().sizes(), [1]);
    let none = memory.as_strided(&[0, 2], &[3, 1], None).unwrap();
    assert!(message(none.view_as_complex()).contains("expected even ones"));
}

#[test]
fn halves_of_exponentials_stay_in_range() {
    // torch: infinity, because the exponential is halved when it is infinite already.
    for x in [89.0f32, -89.0] {
        let expected = f64::from(x).sinh();
        let many = tensor(&[x; 40]);
        for (found, expected) in [(Sinh.call(&many), expected), (Cosh.call(&many), expected.abs())] {
            let found = found.unwrap().to_vec::<f32>().unwrap();
            assert!(found.iter().all(|y| (f64::from(*y) / expected - 1.0).abs() < 1e-5), "{x}: {}", found[0]);
        }
    }
}

#[test]
fn nothing_is_at_a_distance_from_infinity() {
    let x = tensor(&[f32::INFINITY, f32::NAN, 1.0, 1.0]);
    for (sizes, dim) in [([4, 1], 1), ([1, 4], 0)] {
        let spread =
            StdCorrection.call(&x.reshape(&sizes).unwrap(), Some(&[dim]), Some(Scalar::Int(0)), false);
        let spread = spread.unwrap().to_vec::<f32>().unwrap();
        assert!(spread[0].is_nan() && spread[1].is_nan() && spread[2..] == [0.0, 0.0], "{spread:?}");
    }
    let columns = tensor(&[1.0, f32::INFINITY, 2.0, 1.0]).reshape(&[2, 2]).unwrap();
    let spread = StdCorrection.call(&columns, Some(&[0]), Some(Scalar::Int(0)), false).unwrap();
    assert!(spread.to_vec::<f32>().unwrap()[1].is_nan());
}

#[test]
fn legs_whose_squares_are_out_of_range_have_a_hypotenuse() {
    let legs = [
        (3e299, -4e299),
        (3e-301, 4e-301),
        (1e-160, 0.0),
        (1.2e154, 6.2e153),
        (2f64.powi(512), 0.0),
        (2f64.powi(500), 2f64.powi(499)),
        (2f64.powi(-500), -2f64.powi(-501)),
        (5e-324, 0.0),
        (3e-320, -4e-320),
        (1.16e-316, 1.1e-316),
        (f64::MIN_POSITIVE, f64::MIN_POSITIVE),
        (f64::MAX, 1.0),
        (f64::MAX, f64::MAX),
        (0.0, -0.0),
        (f64::INFINITY, 1.0),
        (f64::NAN, 1.0),
    ];
    let [one, other] = [legs.map(|(one, _)| one), legs.map(|(_, other)| other)].map(|legs| tensor(&legs));
    let lengths = one.hypot(&other).unwrap().to_vec::<f64>().unwrap();
    for (length, (one, other)) in lengths.iter().zip(legs) {
        let expected = one.hypot(other);
        let fits = (length - expected).abs() <= expected * f64::EPSILON || *length == expected;
        assert!(
            fits || length.is_nan() && expected.is_nan(),
            "{one}, {other}: {length}, expected {expected}"
        );
    }
    // As in C: beside an infinite leg it does not matter what the other one is.
    assert_eq!(
        tensor(&[f64::INFINITY]).hypot(&tensor(&[f64::NAN])).unwrap().to_vec::<f64>().unwrap(),
        [f64::INFINITY]
    );
}

/// Some functions put exponents together from bits, which those of NaN must not come through.
#[test]
fn functions_of_nan_are_the_same_for_all_of_its_bits() {
    const COUNT: usize = 1 << 11;
    // Both signs, and the lowest bits beside what makes them NaN.
    let single = |n: usize| f32::from_bits((((n % 2) << 31) + 0x7fc0_0000 + n / 2) as u32);
    let double = |n: usize| f64::from_bits(((n as u64 % 2) << 63) + 0x7ff8_0000_0000_0000 + n as u64 / 2);
    let inputs = [
        (tensor(&[f32::NAN; COUNT]), tensor(&(0..COUNT).map(single).collect::<Vec<_>>())),
        (tensor(&[f64::NAN; COUNT]), tensor(&(0..COUNT).map(double).collect::<Vec<_>>())),
    ];
    let dispatcher = Dispatcher::new();
    let _registration = opgrid_tensor::register(&dispatcher).unwrap();
    let mut compared = 0;
    for operator in dispatcher.operators() {
        let schema = operator.schema().unwrap();
        if schema.arguments.len() != 1 || schema.is_mutable() {
            continue;
        }
        for (usual, unusual) in &inputs {
            let of = |input: &Tensor| -> Option<Vec<Bool>> {
                let mut results = operator.call_values(vec![input.clone().into_any().into()]).ok()?;
                let result = Tensor::try_from(results.pop()?).ok()?;
                result.isnan().ok()?.to_vec().ok()
            };
            let (usual, unusual) = (of(usual), of(unusual));
            compared += usize::from(usual.is_some());
            assert_eq!(usual, unusual, "{}", operator.name());
        }
    }
    assert!(compared > 100, "{compared}");
}
