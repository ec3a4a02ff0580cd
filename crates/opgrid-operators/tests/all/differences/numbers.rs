//! Which numbers come out: at the ends of ranges, of 16 bits, in order, drawn.

use opgrid_tensor::ops::{
    AdaptiveAvgPool3dDirect, AllAllOut, BernoulliP, BucketizeTensor, Corrcoef, CosineSimilarity, Cov,
    DivTensorMode, EmbeddingBag, EmbeddingRenorm, Histc, LogSoftmaxBackwardData, Logspace, LogsumexpOut,
    MseLossOut, NormScalar, Prod, Randint, SoftmaxBackwardData, UniformOut, VarMeanCorrection,
};

use super::*;

#[test]
fn floats_beyond_the_integers() {
    let far = Tensor::from_slice(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30], &[4]).unwrap();
    assert_eq!(to(&far, DType::I64).to_vec::<i64>().unwrap(), [0, i64::MAX, i64::MIN, i64::MAX]);
    assert_eq!(to(&far, DType::I8).to_vec::<i8>().unwrap(), [0, i8::MAX, i8::MIN, i8::MAX]);
    let near = Tensor::from_slice(&[-1.0f32, 300.0, -0.5, 255.9], &[4]).unwrap();
    assert_eq!(to(&near, DType::U8).to_vec::<u8>().unwrap(), [0, 255, 0, 255]);
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
fn the_smallest_integer_divided_by_minus_one_wraps() {
    let smallest = Tensor::from_slice(&[i64::MIN], &[1]).unwrap();
    for mode in ["floor", "trunc"] {
        let quotient = smallest.div_rounded(&Tensor::from_slice(&[-1i64], &[1]).unwrap(), mode).unwrap();
        assert_eq!(quotient.to_vec::<i64>().unwrap(), [i64::MIN]);
    }
}

#[test]
fn results_that_are_not_finite() {
    let far = Tensor::from_slice(&[Complex64::new(f64::MAX, f64::INFINITY)], &[1]).unwrap();
    assert!(!far.mul(&far).unwrap().to_vec::<Complex64>().unwrap()[0].is_finite());
    // One observation varies with nothing, and is divided by zero.
    let one = Tensor::from_slice(&[Complex64::new(1.0, 2.0)], &[1]).unwrap();
    assert!(Cov.call(&one, 1, None, None).unwrap().to_vec::<Complex64>().unwrap()[0].im.is_nan());
    let observation = Tensor::from_slice(&[1.0], &[1]).unwrap();
    let weighted = Cov.call(&observation, 1, None, Some(&observation)).unwrap();
    assert!(!weighted.to_vec::<f64>().unwrap()[0].is_finite());
    // The average of no losses is real.
    let (nothing, out) = (empty(&[0], DType::F32), empty(&[], DType::Complex128));
    MseLossOut.call(&nothing, &nothing, 1, &out).unwrap();
    let average = out.to_vec::<Complex64>().unwrap()[0];
    assert!(average.re.is_nan() && average.im == 0.0, "{average}");
    // The factor that shortens to a negative length is beyond the range of 16 bits.
    let (zeros, first) = (to(&floats(&[1, 1]), DType::F16), Tensor::from_slice(&[0i64], &[1]).unwrap());
    assert_eq!(elements(&EmbeddingRenorm.call(&zeros, &first, -3.7, f64::INFINITY).unwrap()), [0.0]);
    let infinite = Tensor::from_slice(&[f64::INFINITY], &[1]).unwrap();
    // The exponential vanishes, and the number that it is multiplied by does not let the product vanish.
    let left = Tensor::from_slice(&[Complex::new(-93.87792f32, f32::MAX)], &[1]).unwrap();
    let product = left.silu().unwrap().to_vec::<Complex<f32>>().unwrap()[0].norm();
    assert!((5.7e-3..5.9e-3).contains(&product), "{product}");
    assert_eq!(infinite.gelu().unwrap().to_vec::<f64>().unwrap(), [f64::INFINITY]);
    assert_eq!(infinite.neg().unwrap().gelu().unwrap().to_vec::<f64>().unwrap(), [0.0]);
    let single = Tensor::from_slice(&[f32::INFINITY, f32::NEG_INFINITY], &[2]).unwrap();
    assert_eq!(single.gelu().unwrap().to_vec::<f32>().unwrap(), [f32::INFINITY, 0.0]);
    // No product leaves the range before the zero comes.
    let zero_first = Tensor::from_slice(&[0.0, 1e300, 1e300], &[3]).unwrap();
    assert_eq!(Prod.call(&zero_first, None).unwrap().to_vec::<f64>().unwrap(), [0.0]);
    // Rounded after each factor, the product would stay at one of the smallest numbers.
    let vanishing = Tensor::from_slice(&[0.75f32; 736], &[736]).unwrap();
    assert_eq!(Prod.call(&vanishing, None).unwrap().to_vec::<f32>().unwrap(), [0.0]);
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
fn bins_beyond_the_range() {
    let far = Tensor::from_slice(&[1.7e308, 0.5, 0.25], &[3]).unwrap();
    assert_eq!(elements(&Histc.call(&far, 3, 0.into(), 0.into()).unwrap()), [2.0, 0.0, 1.0]);
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
    let whole = Tensor::from_slice(&[256i16], ()).unwrap();
    let bytes = Tensor::from_slice(&[255u8], &[1]).unwrap();
    assert_eq!(bytes.logical_and(&whole).unwrap().to_vec::<Bool>().unwrap(), [Bool::TRUE]);
}

#[test]
fn quotients_are_cut_before_they_are_rounded() {
    let (a, b) = (f16::from_f32(-71.375), f16::from_f32(0.250_488_28));
    let [a, b] = [a, b].map(|element| Tensor::from_slice(&[element], ()).unwrap());
    let quotient = DivTensorMode.call(&a, &b, Some("trunc")).unwrap();
    assert_eq!(quotient.to_vec::<f16>().unwrap(), [f16::from_f32(-284.0)]);
}

#[test]
fn integers_between_two_others() {
    let steps = to(&Tensor::linspace(-3.0, 1.0, 7).unwrap(), DType::I32);
    assert_eq!(steps.to_vec::<i32>().unwrap(), [-3, -2, -1, -1, 0, 0, 1]);
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
fn equal_elements_keep_their_order() {
    let nan = f32::NAN;
    let x = Tensor::from_slice(&[2.0, 1.0, 2.0, nan, 1.0, nan], &[6]).unwrap();
    let places = |(_, indices): (Tensor, Tensor)| indices.to_vec::<i64>().unwrap();
    assert_eq!(places(x.sort(-1, false).unwrap()), [1, 4, 0, 2, 3, 5]);
    assert_eq!(places(x.sort(-1, true).unwrap()), [3, 5, 0, 2, 1, 4]);
    assert_eq!(places(x.topk(3).unwrap()), [3, 5, 0]);
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
                let (_, first) = line.topk_with(count, -1, largest, true).unwrap();
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
fn cosines_of_zeros_are_zero() {
    let zeros = Tensor::zeros(&[1, 2], DType::F16, Device::CPU).unwrap();
    let cosine = CosineSimilarity.call(&zeros, &to(&count(&[1, 2]), DType::F32), 1, 1e-8).unwrap();
    assert_eq!(cosine.to_vec::<f32>().unwrap(), [0.0]);
}

#[test]
fn norms_of_orders_without_a_reciprocal() {
    for (order, expected) in [(1e300, 3.0), (-1e300, 2.0), (f64::INFINITY, 3.0), (f64::NEG_INFINITY, 2.0)] {
        let x = Tensor::from_slice(&[2.0f32, -3.0], &[2]).unwrap();
        let found = elements(&NormScalar.call(&x, Scalar::Float(order)).unwrap())[0];
        assert_eq!(found, expected, "order {order}");
    }
}

#[test]
fn sums_of_many_equal_products() {
    let repeated = |value: f64, sizes: &[i64]| {
        let one = Tensor::from_slice(&[Complex64::new(value, 0.0)], &[1]).unwrap();
        one.expand(sizes).unwrap()
    };
    let product = repeated(0.1, &[1, 1000]).mv(&repeated(0.3, &[1000])).unwrap();
    let found = elements(&product)[0];
    assert!((found / 30.0 - 1.0).abs() < 16.0 * f64::EPSILON, "{found}");
}

#[test]
fn logarithms_of_complex_sums_are_complex() {
    let x = Tensor::from_slice(&[Complex64::new(1.0, 2.0), Complex64::new(0.5, -1.0)], &[2]).unwrap();
    let refused = message(LogsumexpOut.call(&x, &[0], false, &empty(&[], DType::F64)));
    assert!(refused.contains("can't be cast"), "{refused}");
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
fn variances_of_many_are_exact() {
    // The numbers 10, 10.01, ... 10.99 over and over again.
    let ramp: Vec<f64> = (0..10_000).map(|step| 10.0 + f64::from(step % 100) / 100.0).collect();
    let many = Tensor::from_slice(&ramp, &[10_000]).unwrap();
    let exact = (100.0 * 100.0 - 1.0) / 12.0 / 1e4 * 1e4 / (1e4 - 1.0);
    let found = elements(&many.var((), 1, false).unwrap())[0];
    assert!((found / exact - 1.0).abs() < 16.0 * f64::EPSILON, "{found}, expected {exact}");
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
            let of_all = alike.var((), 0, false).unwrap();
            assert_eq!(elements(&of_all), [0.0], "{count} times {number}");
        }
    }
    let largest = Tensor::full(&[5], f32::MAX, Some(DType::F32), Device::CPU).unwrap();
    assert_eq!(elements(&largest.std((), 0, false).unwrap()), [0.0]);
}
