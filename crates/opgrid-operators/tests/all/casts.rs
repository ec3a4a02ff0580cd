//! Conversions between all dtypes, against those of PyTorch 2.15.

use opgrid_core::{DType, Device};
use opgrid_kernels::copy;
use opgrid_tensor::tensor::{Number, iinfo};
use opgrid_tensor::{Array, Complex, Element, TensorSpec, with_dtype};
use serde_json::Value as Json;

/// The number that a list of JSON holds; floats are strings, so that they are read to the last bit.
fn number(json: &Json) -> Number {
    match json {
        Json::Bool(value) => Number::Bool(*value),
        Json::Number(value) => {
            value.as_i64().map_or_else(|| Number::U64(value.as_u64().unwrap()), Number::I64)
        }
        Json::String(text) => Number::F64(text.parse().unwrap()),
        parts => {
            let [re, im] = [0, 1].map(|at| number(&parts[at]));
            Number::Complex128(Complex::new(f64::from_number(re), f64::from_number(im)))
        }
    }
}

fn array(dtype: DType, numbers: &[Json]) -> Array {
    let array = with_dtype!(dtype, T: Stored => {
        let elements: Vec<T> = numbers.iter().map(|json| T::from_number(number(json))).collect();
        Array::from_slice(&elements, &[elements.len() as i64])
    });
    array.unwrap()
}

/// Every element as bits that tell them apart.
fn elements(array: &Array) -> Vec<String> {
    let texts = with_dtype!(array.dtype(), T: Stored => {
        array.to_vec::<T>().map(|elements| elements.iter().map(|element| format!("{element:?}")).collect())
    });
    texts.unwrap()
}

/// The nearest integers of a dtype, without fractions; 0 for NaN.
///
/// DIFFERENCE: torch leaves floats beyond the range to the processor, and uint8 counts them modulo 256.
fn nearest(dtype: DType, input: &Array) -> Array {
    let limits = iinfo(dtype).unwrap();
    let numbers: Vec<f64> = with_dtype!(input.dtype(), T: Stored => {
        input.to_vec::<T>().map(|elements| elements.into_iter().map(Element::cast).collect())
    })
    .unwrap();
    let whole = numbers.into_iter().map(|number| match number {
        _ if number.is_nan() => Number::I64(0),
        _ if number <= limits.min as f64 => Number::I64(limits.min),
        _ if number >= limits.max as f64 => Number::U64(limits.max),
        _ => Number::I64(number.trunc() as i64),
    });
    let whole: Vec<Number> = whole.collect();
    with_dtype!(dtype, T: Stored => {
        let elements: Vec<T> = whole.iter().map(|number| T::from_number(*number)).collect();
        Array::from_slice(&elements, &[elements.len() as i64])
    })
    .unwrap()
}

#[test]
fn every_pair_of_dtypes() {
    let file: Json = serde_json::from_str(include_str!("../vectors/casts.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 17 * 17);
    for case in cases {
        let [from, to] = [0, 1].map(|at| case[at].as_str().unwrap().parse::<DType>().unwrap());
        let numbers = |at: usize| case[at].as_array().unwrap().as_slice();
        let input = array(from, numbers(2));
        let out = Array::empty(TensorSpec::contiguous(input.sizes(), to, Device::CPU).unwrap()).unwrap();
        copy::copy(&out, &input).unwrap();
        let expected = if to.is_integral() && !from.is_integral() {
            elements(&nearest(to, &input))
        } else {
            elements(&array(to, numbers(3)))
        };
        assert_eq!(elements(&out), expected, "{from} to {to}");
    }
}
