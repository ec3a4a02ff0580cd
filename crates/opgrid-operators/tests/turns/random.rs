//! Random numbers against the streams that torch gave, and answers of operators that give no tensor.

use opgrid_core::{DType, Device, Generator, Result};
use opgrid_kernels::random::{generator, initial_seed, philox_generator, seed, set_state, state};
use opgrid_kernels::{num_threads, set_num_threads};
use opgrid_tensor::ops::{
    Bernoulli, BernoulliInplaceFloat, Binomial, CauchyInplace, Dropout, ExponentialInplace, GeometricInplace,
    LogNormalInplace, Multinomial, NativeDropout, Poisson, RandGenerator, RandintGenerator,
    RandintLowGenerator, RandnGenerator, RandomInplace, RandomInplaceFrom, RandpermGenerator,
    SampleDirichlet, ScaledDotProductAttention, StandardGamma,
};
use opgrid_tensor::{Tensor, manual_seed};

use crate::alone;

/// torch.rand after torch.manual_seed(0), in this order of dtypes; PyTorch 2.15.0.
const UNIFORM: [f32; 3] = [0.4962566, 0.7682218, 0.08847743];
const UNIFORM_DOUBLE: [f64; 2] = [0.0562441839043476, 0.07262971157225484];
/// torch.randn of doubles after torch.manual_seed(2) and (1).
const NORMAL: [f64; 20] = [
    -0.7860438449599233,
    -0.4388945769312437,
    1.366371567034203,
    -0.5094422054806915,
    0.6354552054724681,
    -1.4711947512059713,
    1.750044398740185,
    0.7416545467936133,
    -0.9921359914959428,
    -0.24995242917428942,
    -0.32011125949334185,
    -0.13852694221735581,
    1.5235730700890506,
    0.5376904253604189,
    0.3198383473926968,
    1.3516594875327341,
    -0.3430023542883952,
    0.4755711966122096,
    -2.004520340744039,
    0.1759511928639901,
];
const NORMAL_FEW: [f64; 2] = [0.6613521715704522, 0.2669240982925188];

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }
}

#[test]
fn uniform_numbers_are_those_of_torch() {
    let _alone = alone();
    manual_seed(0);
    let single = Tensor::rand(&[3], DType::F32, Device::CPU).unwrap();
    assert_eq!(single.to_vec::<f32>().unwrap(), UNIFORM);
    let double = Tensor::rand(&[2], DType::F64, Device::CPU).unwrap();
    assert_eq!(double.to_vec::<f64>().unwrap(), UNIFORM_DOUBLE);
}

#[test]
fn normal_numbers_are_those_of_torch() {
    let _alone = alone();
    let own = generator(1);
    let few = RandnGenerator.call(&[2], Some(&own), Some(DType::F64), None, None, None).unwrap();
    let (one, other) = (generator(2), generator(2));
    let many = RandnGenerator.call(&[20], Some(&one), Some(DType::F64), None, None, None).unwrap();
    near(&many.to_vec::<f64>().unwrap(), &NORMAL);
    let again = RandnGenerator.call(&[4, 5], Some(&other), Some(DType::F64), None, None, None).unwrap();
    assert_eq!(again.to_vec::<f64>().unwrap(), many.to_vec::<f64>().unwrap());
    near(&few.to_vec::<f64>().unwrap(), &NORMAL_FEW);
}

/// Each distribution after `torch.manual_seed(3)`, and a uniform number after it, which tells how far the stream was drawn.
#[test]
fn numbers_of_distributions_are_those_of_torch() {
    let _alone = alone();
    type Draw = fn(&Tensor, &Generator) -> Result<Tensor>;
    let shapes = [0.1, 0.5, 1.0, 2.0, 30.0];
    let cases: [(&[f64], Draw, &[f64], f64); 4] = [
        (
            &[0.5, 3.0, 9.99, 10.0, 50.0, 1e6, 0.0],
            |rates, generator| Poisson.call(rates, Some(generator)),
            &[0.0, 2.0, 11.0, 5.0, 66.0, 1_000_462.0, 0.0],
            0.04922403093343142,
        ),
        (
            &shapes,
            |shapes, generator| StandardGamma.call(shapes, Some(generator)),
            &[
                0.3327957886633789,
                0.2438764614338514,
                0.9819416461186368,
                3.3424528316125843,
                32.60193493317376,
            ],
            0.3419577378774037,
        ),
        (
            &shapes,
            |shapes, generator| SampleDirichlet.call(shapes, Some(generator)),
            &[
                0.008873844063779014,
                0.006502851788726242,
                0.02618301476224813,
                0.0891249415666976,
                0.8693153478185492,
            ],
            0.3419577378774037,
        ),
        (
            &[5.0, 100.0, 100.0, 100.0, 1e6],
            |counts, generator| {
                let probabilities = Tensor::from_slice(&[0.3, 0.02, 0.4, 0.9, 0.7], &[5])?;
                Binomial.call(counts, &probabilities, Some(generator))
            },
            &[0.0, 2.0, 44.0, 91.0, 700_639.0],
            0.9490077029994213,
        ),
    ];
    for (parameters, draw, expected, after) in cases {
        let generator = generator(3);
        let parameters = Tensor::from_slice(parameters, &[parameters.len() as i64]).unwrap();
        near(&draw(&parameters, &generator).unwrap().to_vec::<f64>().unwrap(), expected);
        let next = RandGenerator.call(&[1], Some(&generator), Some(DType::F64), None, None, None).unwrap();
        near(&next.to_vec::<f64>().unwrap(), &[after]);
    }
}

/// Numbers that no distribution has are refused, or have a value: nothing draws without end.
#[test]
fn distributions_of_strange_parameters_end() {
    let _alone = alone();
    let of = |number: f64| Tensor::from_slice(&[number], &[1]).unwrap();
    for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 5e-324, f64::MAX] {
        let _ = Poisson.call(&of(strange), None);
        StandardGamma.call(&of(strange), None).unwrap();
        SampleDirichlet.call(&of(strange), None).unwrap();
        for other in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.5, 1e-300, 1.0, 2.0] {
            Binomial.call(&of(strange), &of(other), None).unwrap();
        }
    }
    let certain = |p: f64| Binomial.call(&of(5.0), &of(p), None).unwrap().to_vec::<f64>().unwrap();
    assert_eq!([certain(0.0), certain(1.0)], [[0.0], [5.0]]);
}

#[test]
fn meta_tensors_draw_nothing_and_integers_are_refused() {
    let _alone = alone();
    let own = generator(3);
    let meta = RandGenerator.call(&[2], Some(&own), None, None, Some(Device::META), None).unwrap();
    assert_eq!((meta.sizes(), meta.dtype()), (&[2][..], DType::F32));
    let error = Tensor::rand(&[2], DType::I64, Device::CPU).unwrap_err().to_string();
    assert!(error.starts_with("aten::rand") && error.contains("int64"), "{error}");
}

#[test]
fn tensors_are_equal_or_as_good_as() {
    let _alone = alone();
    let x = Tensor::from_slice(&[1.0f32, f32::NAN], &[2]).unwrap();
    let y = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let near = y.add(1e-6).unwrap();
    assert!(y.equal(&y).unwrap() && !x.equal(&x).unwrap() && !y.equal(&near).unwrap());
    assert!(!y.equal(&y.view(&[2, 1]).unwrap()).unwrap());
    assert!(y.allclose(&near, 1e-5, 1e-8).unwrap() && !x.allclose(&x, 1e-5, 1e-8).unwrap());
    assert!(y.equal(&Tensor::from_slice(&[1i64, 2], &[2]).unwrap()).unwrap(), "dtypes are promoted");
    let empty = Tensor::empty(&[0], DType::F32, Device::CPU).unwrap();
    assert!(empty.equal(&empty).unwrap());
}

/// Elements that an in-place operator draws after torch.manual_seed(0).
fn filled(n: i64, dtype: DType, fill: impl Fn(&Tensor, &Generator) -> Result<()>) -> Vec<f64> {
    let out = Tensor::empty(&[n], dtype, Device::CPU).unwrap();
    fill(&out, &generator(0)).unwrap();
    out.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

/// torch.randperm, torch.randint and random_ after torch.manual_seed(0); PyTorch 2.15.0.
#[test]
fn integers_are_those_of_torch() {
    let _alone = alone();
    let permuted = RandpermGenerator.call(10, Some(&generator(0)), None, None, None, None).unwrap();
    assert_eq!(permuted.to_vec::<i64>().unwrap(), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
    let drawn = RandintGenerator.call(10, &[8], Some(&generator(0)), None, None, None, None).unwrap();
    assert_eq!(drawn.to_vec::<i64>().unwrap(), [4, 9, 3, 0, 3, 9, 7, 3]);
    let large =
        RandintLowGenerator.call(5, 1 << 40, &[3], Some(&generator(0)), None, None, None, None).unwrap();
    assert_eq!(large.to_vec::<i64>().unwrap(), [741_326_660_966, 506_197_261_827, 291_498_220_671]);
    let whole = |dtype| filled(4, dtype, |out, generator| RandomInplace.call(out, Some(generator)));
    let cases: [(DType, [f64; 4]); 8] = [
        (DType::Bool, [0.0, 1.0, 1.0, 0.0]),
        (DType::U8, [172.0, 47.0, 117.0, 192.0]),
        (DType::I16, [2732.0, 10799.0, 9845.0, 19648.0]),
        (DType::I32, [209_652_396.0, 398_764_591.0, 924_231_285.0, 1_478_610_112.0]),
        (DType::F16, [1277.0, 1017.0, 1661.0, 999.0]),
        (DType::BF16, [149.0, 179.0, 47.0, 62.0]),
        (DType::F32, [8_325_664.0, 12_888_472.0, 1_484_222.0, 2_214_888.0]),
        (
            DType::F64,
            [
                8_737_460_674_930_124.0,
                6_375_474_555_111_176.0,
                4_137_753_702_977_065.0,
                8_293_357_854_226_700.0,
            ],
        ),
    ];
    for (dtype, expected) in cases {
        assert_eq!(whole(dtype), expected, "{dtype}");
    }
    let from = |dtype, from, to| {
        filled(4, dtype, |out, generator| RandomInplaceFrom.call(out, from, to, Some(generator)))
    };
    assert_eq!(from(DType::I64, -5, Some(7)), [3.0, -2.0, 0.0, -5.0]);
    assert_eq!(from(DType::I32, 5, None), [347_804_968.0, 2_130_988_450.0, 1_656_050_655.0, 1_271_669_062.0]);
    assert_eq!(from(DType::F32, 5, None), [8_326_369.0, 12_889_232.0, 1_485_142.0, 2_215_973.0]);
}

/// After torch.manual_seed(0); PyTorch 2.15.0.
#[test]
fn other_distributions_are_those_of_torch() {
    let _alone = alone();
    let ones =
        |dtype| filled(8, dtype, |out, generator| BernoulliInplaceFloat.call(out, 0.5, Some(generator)));
    assert_eq!(ones(DType::F32), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(ones(DType::I64), ones(DType::F32));
    let halves = Tensor::from_slice(&[0.5f32; 8], &[8]).unwrap();
    let by_elements = Bernoulli.call(&halves, Some(&generator(0))).unwrap();
    assert_eq!(by_elements.to_vec::<f32>().unwrap(), [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
    near(
        &filled(3, DType::F64, |out, generator| ExponentialInplace.call(out, 2.0, Some(generator))),
        &[1.754163093353821, 0.6151923820898384, 0.30752204694700574],
    );
    let trials = filled(5, DType::I64, |out, generator| GeometricInplace.call(out, 0.3, Some(generator)));
    assert_eq!(trials, [1.0, 1.0, 3.0, 1.0, 2.0]);
    near(
        &filled(3, DType::F64, |out, generator| LogNormalInplace.call(out, 1.0, 2.0, Some(generator))),
        &[59.26341788010752, 1.5115599370617072, 0.03481946309690494],
    );
    near(
        &filled(3, DType::F64, |out, generator| CauchyInplace.call(out, 0.0, 1.0, Some(generator))),
        &[10.597729326682297, 0.7647672596059, -0.12829934208317406],
    );
    let weights = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4]).unwrap();
    let drawn = |count, replacement| {
        Multinomial.call(&weights, count, replacement, Some(&generator(0))).unwrap().to_vec::<i64>().unwrap()
    };
    assert_eq!(drawn(10, true), [3, 3, 2, 3, 3, 3, 1, 2, 2, 1]);
    assert_eq!(drawn(3, false), [2, 1, 3]);
    assert_eq!(drawn(1, true), drawn(1, false), "of one drawn number nothing is put back");
    // torch.multinomial((torch.arange(16.).reshape(4, 4) + 1).t(), 1, True), and of their copy in rows.
    let columns =
        Tensor::from_slice(&std::array::from_fn::<f32, 16, _>(|at| 1.0 + at as f32), &[4, 4]).unwrap();
    let columns = columns.t().unwrap();
    let one_of = |weights: &Tensor| {
        Multinomial.call(weights, 1, true, Some(&generator(0))).unwrap().to_vec::<i64>().unwrap()
    };
    assert_eq!(one_of(&columns), [3, 2, 1, 2]);
    assert_eq!(one_of(&columns.contiguous().unwrap()), [2, 2, 3, 3]);
}

#[test]
fn a_stream_is_put_back_where_it_was() {
    let _alone = alone();
    let own = generator(5);
    let draw =
        || RandGenerator.call(&[3], Some(&own), None, None, None, None).unwrap().to_vec::<f32>().unwrap();
    let first = draw();
    let before = state(Some(&own)).unwrap();
    let second = draw();
    assert_ne!(first, second);
    set_state(Some(&own), before).unwrap();
    assert_eq!(draw(), second);
    assert_eq!(initial_seed(Some(&own)).unwrap(), 5);
    let drawn = seed(Some(&own)).unwrap();
    assert_eq!(initial_seed(Some(&own)).unwrap(), drawn);
    let expected = RandGenerator.call(&[3], Some(&generator(drawn)), None, None, None, None).unwrap();
    assert_eq!(draw(), expected.to_vec::<f32>().unwrap());
}

#[test]
fn philox_does_not_depend_on_how_a_tensor_is_filled() {
    let _alone = alone();
    let draw = |stream, n| {
        let own = philox_generator(11, stream);
        RandGenerator.call(&[n], Some(&own), None, None, None, None).unwrap().to_vec::<f32>().unwrap()
    };
    let threads = num_threads();
    let many = draw(0, 200_001);
    set_num_threads(1);
    assert_eq!(draw(0, 200_001), many);
    set_num_threads(threads);
    assert_eq!(draw(0, 1000), many[..1000]);
    assert_ne!(draw(1, 1000), many[..1000]);
    let average = many.iter().sum::<f32>() / many.len() as f32;
    assert!((average - 0.5).abs() < 0.01, "{average}");
}

/// After torch.manual_seed(0); PyTorch 2.15.0.
#[test]
fn dropout_drops_what_torch_drops() {
    let _alone = alone();
    let stays = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
    let ones = Tensor::ones(&[12], DType::F64, Device::CPU).unwrap();
    manual_seed(0);
    let dropped = Dropout.call(&ones, 0.5, true).unwrap();
    assert_eq!(dropped.to_vec::<f64>().unwrap(), stays.map(|one| 2.0 * one));
    manual_seed(0);
    let (_, mask) = NativeDropout.call(&ones, 0.5, Some(true)).unwrap();
    let mask = mask.to_dtype(DType::F64).unwrap();
    assert_eq!(mask.to_vec::<f64>().unwrap(), stays);
    // Attention gives the weights of the values that stay, of which each query sees five alike.
    let zeros = |sizes: &[i64]| Tensor::zeros(sizes, DType::F64, Device::CPU).unwrap();
    let values = Tensor::eye(5, 5, DType::F64, Device::CPU).unwrap().unsqueeze(0).unwrap();
    manual_seed(0);
    let (query, key) = (zeros(&[1, 2, 4]), zeros(&[1, 5, 4]));
    let attended =
        ScaledDotProductAttention.call(&query, &key, &values, None, 0.6, false, None, false).unwrap();
    let halves = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.5];
    near(&attended.to_vec::<f64>().unwrap(), &halves);
}
