//! The JSON that commands print.

use opgrid::array::{Array, Element, with_dtype};
use opgrid::dispatch::DeviceType;
use opgrid::tensor::Number;
use opgrid::{DispatchKeySet, Result, Tensor, Value};
use serde_json::{Value as Json, json};

/// One line of JSON.
pub(crate) fn line(value: &Json) -> String {
    format!("{value}\n")
}

/// Answers about several operators as one: the only one as it is, others as a list, on one line in JSON.
pub(crate) fn joined(answers: &[String], as_json: bool) -> String {
    match answers {
        [only] => only.clone(),
        _ if as_json => {
            let answers: Vec<_> = answers.iter().map(|answer| answer.trim_end()).collect();
            format!("[{}]\n", answers.join(","))
        }
        _ => answers.join("\n"),
    }
}

/// The names of the keys of a set.
pub(crate) fn keys(set: DispatchKeySet) -> Vec<String> {
    set.iter().map(|key| key.to_string()).collect()
}

/// A value with its type; of a tensor, sizes, strides, dtype, device and elements.
///
/// # Errors
///
/// Those of reading a tensor's elements.
pub(crate) fn value(value: &Value) -> Result<Json> {
    Ok(match value {
        Value::Tensor(handle) => tensor(&Tensor::try_from(handle.clone())?)?,
        Value::None => json!({"type": "None", "value": null}),
        Value::Int(number) => json!({"type": "int", "value": number}),
        Value::Float(number) => json!({"type": "float", "value": float(*number)}),
        Value::Bool(truth) => json!({"type": "bool", "value": truth}),
        Value::List(list) => {
            json!({"type": value.value_type().to_string(), "value": values(&list.values())?})
        }
        Value::Tuple(items) => json!({"type": "tuple", "value": values(items)?}),
        other => json!({"type": other.value_type().to_string(), "value": other.to_string()}),
    })
}

fn values(items: &[Value]) -> Result<Vec<Json>> {
    items.iter().map(value).collect()
}

fn tensor(tensor: &Tensor) -> Result<Json> {
    let spec = tensor.spec()?;
    let elements = match spec.device().kind() {
        DeviceType::Meta => Json::Null,
        _ => nested(&elements(tensor.array()?)?, spec.sizes()),
    };
    Ok(json!({
        "type": "Tensor",
        "dtype": spec.dtype().name(),
        "device": spec.device().to_string(),
        "sizes": spec.sizes(),
        "strides": spec.strides(),
        "values": elements,
    }))
}

/// The elements in row-major order.
fn elements(array: &Array) -> Result<Vec<Json>> {
    with_dtype!(array.dtype(), T: Stored => {
        Ok(array.to_vec::<T>()?.into_iter().map(|element| number(element.number())).collect())
    })
}

/// A number; a complex one as real and imaginary part.
fn number(number: Number) -> Json {
    match number {
        Number::F32(value) => single(value),
        Number::F64(value) => float(value),
        Number::I64(value) => json!(value),
        Number::U64(value) => json!(value),
        Number::Bool(value) => json!(value),
        Number::Complex64(value) => json!([single(value.re), single(value.im)]),
        Number::Complex128(value) => json!([float(value.re), float(value.im)]),
    }
}

/// The shortest number that reads back to the same single-precision one.
fn single(value: f32) -> Json {
    value.to_string().parse().map_or(Json::Null, float)
}

/// JSON has no infinities and no NaN; they are strings.
fn float(value: f64) -> Json {
    match value {
        value if value.is_finite() => json!(value),
        value if value.is_nan() => json!("nan"),
        value => json!(if value > 0.0 { "inf" } else { "-inf" }),
    }
}

/// The elements in lists within lists, as the sizes say.
fn nested(elements: &[Json], sizes: &[i64]) -> Json {
    let [size, rest @ ..] = sizes else { return elements.first().cloned().unwrap_or(Json::Null) };
    let size = usize::try_from(*size).unwrap_or(0);
    let step = elements.len().checked_div(size).unwrap_or(0);
    let part = |index: usize| nested(&elements[index * step..(index + 1) * step], rest);
    Json::Array((0..size).map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use opgrid::array::Bool;
    use opgrid::dispatch::Complex64;

    fn check(array: Array, expected: Json) {
        let found = value(&Value::from(Tensor::from_array(array).unwrap())).unwrap();
        assert_eq!(found["values"], expected);
    }

    #[test]
    fn tensors_become_lists_within_lists() {
        check(Array::from_slice(&[1i64, 2, 3, 4], &[2, 2]).unwrap(), json!([[1, 2], [3, 4]]));
        check(Array::from_slice(&[0.1f32], &[]).unwrap(), json!(0.1));
        check(Array::from_slice::<f32>(&[], &[2, 0]).unwrap(), json!([[], []]));
        check(Array::from_slice::<f32>(&[], &[0, 2]).unwrap(), json!([]));
        check(Array::from_slice(&[f64::NAN, f64::NEG_INFINITY], &[2]).unwrap(), json!(["nan", "-inf"]));
        check(Array::from_slice(&[Bool::from(true)], &[1]).unwrap(), json!([true]));
        check(Array::from_slice(&[1u8, 2], &[2]).unwrap(), json!([1, 2]));
        check(Array::from_slice(&[Complex64::new(1.5, f64::NAN)], &[1]).unwrap(), json!([[1.5, "nan"]]));
    }
}
