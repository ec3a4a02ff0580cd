//! Ranges, indices and integers at the ends of their ranges.

use opgrid_core::{DType, Device, Scalar};
use opgrid_tensor::ops::{Clamp, ClampOut, Cumprod, Cumsum};
use opgrid_tensor::{Geometry, Tensor};

use super::{Fine, MAX, Refused, Sizes, base, check};

const MIN: i64 = i64::MIN;

fn ints(elements: &[i64]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

/// A bound that is NaN needs no element, but tensors are checked as with any other.
#[test]
fn bounds_that_are_no_numbers() {
    let nan = Some(Scalar::Float(f64::NAN));
    let part = |memory: &Tensor, sizes: &[i64], stride: i64, offset: i64| {
        memory.view_as(Geometry::strided(sizes, &[stride], offset).unwrap()).unwrap()
    };
    for bounds in [[nan, None], [None, nan], [nan, Some(Scalar::Int(1))], [Some(Scalar::Int(1)), nan]] {
        let clamp =
            |input: &Tensor, out: Tensor| ClampOut.call(input, bounds[0], bounds[1], &out).map(|()| out);
        for (stride, offset) in [(1, 1), (0, 3), (2, 0)] {
            let (memory, other) = (base(), base());
            let found = clamp(&part(&memory, &[8], 1, 0), part(&memory, &[8], stride, offset));
            let usual = part(&other, &[8], stride, offset);
            let usual = ClampOut.call(&part(&other, &[8], 1, 0), Some(1.into()), None, &usual);
            let refusals = [found.map(drop), usual].map(|of| of.err().map(|error| error.to_string()));
            assert_eq!(refusals[0], refusals[1], "stride {stride} from {offset}");
            let is_as_before = memory.to_vec::<f32>().unwrap() == base().to_vec::<f32>().unwrap();
            assert_eq!(is_as_before, refusals[0].is_some(), "stride {stride} from {offset}");
        }
        let memory = base();
        let nothing = clamp(&part(&memory, &[0], MAX, MAX / 8), part(&memory, &[0], MAX, 9));
        check("nothing far away", nothing, Sizes(&[0]));
        check("whole numbers", Clamp.call(&ints(&[1, 2]), bounds[0], bounds[1]), Sizes(&[2]));
        check("itself", clamp(&part(&memory, &[8], 1, 0), part(&memory, &[8], 1, 0)), Sizes(&[8]));
        let found = memory.to_vec::<f32>().unwrap();
        assert!(found[..8].iter().all(|x| x.is_nan()) && found[8..] == base().to_vec::<f32>().unwrap()[8..]);
    }
}

/// Outputs are handed out in lines, whose length says nothing about memory where there is none.
#[test]
fn lines_that_are_not_there() {
    const EMPTY: [&[i64]; 3] = [&[0, MAX], &[0, MAX / 8], &[MAX, 0]];
    for sizes in EMPTY {
        let memory = base();
        let nothing = memory.view_as(Geometry::strided(sizes, &[1, 1], MAX / 8).unwrap()).unwrap();
        for dim in [0, 1] {
            check("sums of nothing", Cumsum.call(&nothing, dim, None), Sizes(sizes));
            check("products of nothing", Cumprod.call(&nothing, dim, None), Sizes(sizes));
        }
    }
}

#[test]
fn ranges() {
    let f32 = DType::F32;
    let cases = [
        ("to the largest", Tensor::arange(0, MAX, 1), Refused("storage size overflows")),
        ("from the smallest", Tensor::arange(MIN, MAX, 1), Refused("choose a larger step")),
        ("by the smallest", Tensor::arange(MAX, MIN, MIN), Sizes(&[2])),
        ("to a NaN", Tensor::arange(f64::NAN, 1.0, 1.0), Refused("expected finite bounds")),
        ("to infinity", Tensor::arange(0.0, f64::INFINITY, 1e-300), Refused("expected finite bounds")),
        ("by next to nothing", Tensor::arange(0.0, 1.0, 1e-300), Refused("choose a larger step")),
        ("two of the largest", Tensor::arange(MAX - 2, MAX, 1), Sizes(&[2])),
        ("as many steps as numbers", Tensor::linspace(MIN, MAX, MAX), Refused("storage size overflows")),
        ("three steps", Tensor::linspace(MIN, MAX, 3), Sizes(&[3])),
        ("no steps", Tensor::linspace(0, 1, 0), Sizes(&[0])),
        ("one step less", Tensor::linspace(0, 1, -1), Refused("must be non-negative, found -1")),
        ("a large unit", Tensor::eye(MAX, MAX, f32, Device::CPU), Refused("overflows 64 bits")),
        (
            "a large unit without data",
            Tensor::eye(MAX, 1, f32, Device::META),
            Refused("storage size overflows"),
        ),
        ("a negative unit", Tensor::eye(MIN, 1, f32, Device::CPU), Refused("-9223372036854775808")),
        ("random ones", Tensor::randn(&[MAX], f32, Device::CPU), Refused("storage size overflows")),
        ("quantized ones", Tensor::zeros(&[2], DType::QInt8, Device::CPU), Refused("no kernel")),
    ];
    for (name, found, expected) in cases {
        check(name, found, expected);
    }
    assert_eq!(Tensor::arange(MAX - 2, MAX, 1).unwrap().to_vec::<i64>().unwrap(), [MAX - 2, MAX - 1]);
    assert_eq!(Tensor::arange(MAX, MIN, MIN).unwrap().to_vec::<i64>().unwrap(), [MAX, -1]);
}

#[test]
fn indices() {
    let x = || base().reshape(&[8, 8]).unwrap();
    let cases = [
        (
            "gather",
            x().gather(0, &ints(&[MIN; 4]).reshape(&[1, 4]).unwrap()),
            Refused("index -9223372036854775808 is out"),
        ),
        (
            "gather beyond",
            x().gather(1, &ints(&[MAX]).reshape(&[1, 1]).unwrap()),
            Refused("index 9223372036854775807 is out"),
        ),
        ("index", x().index(&[Some(ints(&[MIN]))]), Refused("index -9223372036854775808 is out")),
        ("index beyond", x().index(&[Some(ints(&[MAX]))]), Refused("index 9223372036854775807 is out")),
        ("index_select", x().index_select(0, &ints(&[MIN, MAX])), Refused("is out of bounds")),
        ("too many", x().index(&[None, None, None]), Refused("too many indices")),
        ("undefined", x().index(&[Some(Tensor::undefined())]), Sizes(&[8, 8])),
        ("none joined", Tensor::cat([] as [Tensor; 0], 0), Refused("no tensor arguments")),
        ("none stacked", Tensor::stack([] as [Tensor; 0], 0), Refused("is empty")),
        ("undefined joined", Tensor::cat(&[Tensor::undefined(), x()], 0), Refused("undefined tensor")),
        ("undefined added", Tensor::undefined().add(&x()), Refused("undefined tensor")),
        (
            "alpha",
            Tensor::from_slice(&[1u8], &[1])
                .unwrap()
                .add_with(&Tensor::from_slice(&[1u8], &[1]).unwrap(), MIN),
            Refused("-9223372036854775808 cannot be"),
        ),
    ];
    for (name, found, expected) in cases {
        check(name, found, expected);
    }
    let out = x();
    let put = out.index_put_(&[Some(ints(&[MIN]))], &base().select(0, 0).unwrap(), false);
    check("index_put_", put.cloned(), Refused("index -9223372036854775808 is out"));
}

#[test]
fn integers_wrap_around() {
    let one = |number: i64| ints(&[number]);
    let minus = Tensor::number(Scalar::Int(-1));
    let cases = [
        ("div floor", one(MIN).div_rounded(&minus, "floor"), MIN),
        ("div trunc", one(MIN).div_rounded(&one(-1), "trunc"), MIN),
        ("abs", one(MIN).abs(), MIN),
        ("neg", one(MIN).neg(), MIN),
        ("sum", ints(&[MIN, MIN, -1]).sum(), -1),
        ("pow", one(MIN).pow(&one(MAX)), 0),
        ("mul", one(MAX).mul(&one(MAX)), 1),
    ];
    for (name, found, expected) in cases {
        assert_eq!(found.unwrap().to_vec::<i64>().unwrap(), [expected], "{name}");
    }
    let byte = Tensor::from_slice(&[i8::MIN], &[1]).unwrap();
    let quotient = byte.div_rounded(&Tensor::from_slice(&[-1i8], &[1]).unwrap(), "trunc").unwrap();
    assert_eq!(quotient.to_vec::<i8>().unwrap(), [i8::MIN]);
    check("by zero", one(1).div_rounded(&one(0), "floor"), Refused("has a zero"));
    check("to a negative power", ints(&[2, 0]).pow(&ints(&[-1, -1])), Fine);
}
