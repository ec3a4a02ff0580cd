//! Compares printed tensors with what PyTorch 2.15 printed for the same elements.

use opgrid_core::{DType, Device};
use opgrid_tensor::tensor::Number;
use opgrid_tensor::tensor::print::{
    self, PrintOptions, print_options, set_print_options, with_print_options,
};
use opgrid_tensor::{Array, Bool, Element, TensorSpec, with_dtype};
use serde_json::Value;

fn number(value: &Value, dtype: DType) -> Number {
    let bits = || u64::from_str_radix(value.as_str().expect("hexadecimal digits"), 16).expect("a number");
    match dtype {
        DType::F32 => Number::F32(f32::from_bits(bits() as u32)),
        DType::F64 => Number::F64(f64::from_bits(bits())),
        DType::I64 => Number::I64(value.as_i64().expect("an integer")),
        _ => Number::Bool(value.as_i64().expect("0 or 1") != 0),
    }
}

fn numbers(case: &Value, dtype: DType, numel: i64) -> Vec<Number> {
    if let Some(values) = case["values"].as_array() {
        return values.iter().map(|value| number(value, dtype)).collect();
    }
    let [start, step] = [0, 1].map(|at| case["affine"][at].as_f64().expect("a number"));
    (0..numel)
        .map(|i| start + step * i as f64)
        .map(|value| if dtype == DType::Bool { Number::I64(value as i64 % 2) } else { Number::F64(value) })
        .collect()
}

fn check(case: &Value) {
    let dtype: DType = case["dtype"].as_str().unwrap().parse().unwrap();
    let device: Device = case["device"].as_str().unwrap().parse().unwrap();
    let sizes: Vec<i64> =
        case["sizes"].as_array().unwrap().iter().map(|size| size.as_i64().unwrap()).collect();
    let array = if device == Device::META {
        Array::empty(TensorSpec::contiguous(&sizes, dtype, device).unwrap())
    } else {
        let numbers = numbers(case, dtype, sizes.iter().product());
        with_dtype!(dtype, T => {
            let elements: Vec<T> = numbers.into_iter().map(T::from_number).collect();
            Array::from_slice(&elements, &sizes)
        })
    };
    assert_eq!(array.unwrap().to_string(), case["text"].as_str().unwrap(), "{sizes:?} {dtype}");
}

#[test]
fn every_case_prints_as_torch_does() {
    let file: Value = serde_json::from_str(include_str!("../vectors/printing.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 300);
    cases.iter().for_each(check);
}

#[test]
fn a_view_prints_the_elements_it_shows() {
    let array = Array::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let last = array.view(array.geometry().select(1, -1).unwrap()).unwrap();
    assert_eq!(last.to_string(), "tensor([3, 6])");
    let mask = Array::from_slice(&[Bool::from(true)], &[]).unwrap();
    assert_eq!(mask.to_string(), "tensor(True)");
}

#[test]
fn suffixes_follow_the_others() {
    let array = Array::from_slice(&[1.0f64], &[1]).unwrap();
    let text = print::array(&array, &["requires_grad=True"]).unwrap();
    assert_eq!(text, "tensor([1.], dtype=torch.float64, requires_grad=True)");
}

#[test]
fn memory_that_is_being_written_is_not_printed() {
    let array = Array::from_slice(&[1.0f32], &[1]).unwrap();
    let guard = array.storage().write().unwrap();
    assert!(array.to_string().contains("is being written"));
    drop(guard);
    assert_eq!(array.to_string(), "tensor([1.])");
}

/// The options of a case, as torch's `set_printoptions` makes them from its arguments.
fn options(case: &Value) -> PrintOptions {
    let mut options = PrintOptions::DEFAULT;
    for (name, value) in case["options"].as_object().into_iter().flatten() {
        match name.as_str() {
            "profile" => options = PrintOptions::profile(value.as_str().unwrap()).unwrap(),
            "sci_mode" => options.sci_mode = value.as_bool(),
            "precision" => options.precision = value.as_u64().unwrap() as u16,
            "threshold" => options.threshold = value.as_i64().unwrap(),
            "edgeitems" => options.edgeitems = value.as_u64().unwrap() as u32,
            _ => options.linewidth = value.as_u64().unwrap() as usize,
        }
    }
    options
}

fn check_options(case: &Value) {
    let dtype: DType = case["dtype"].as_str().unwrap().parse().unwrap();
    let sizes: Vec<i64> =
        case["sizes"].as_array().unwrap().iter().map(|size| size.as_i64().unwrap()).collect();
    let array = Array::empty(TensorSpec::contiguous(&sizes, dtype, Device::CPU).unwrap()).unwrap();
    let digits = case["bytes"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..digits.len() / 2).map(byte).collect();
    array.storage().write().unwrap().bytes().copy_from_slice(&bytes);
    let text = with_print_options(options(case), || array.to_string());
    assert_eq!(text, case["text"].as_str().unwrap(), "{sizes:?} {dtype} {}", case["options"]);
}

#[test]
fn every_dtype_and_option_prints_as_in_torch() {
    let file: Value = serde_json::from_str(include_str!("../vectors/printing_options.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 700);
    cases.iter().for_each(check_options);
}

#[test]
fn options_hold_for_a_scope_or_the_process() {
    let array = Array::from_slice(&[0.125f64], &[1]).unwrap();
    let text = |digits: &str| format!("tensor([{digits}], dtype=torch.float64)");
    let precise = |precision| PrintOptions { precision, ..PrintOptions::DEFAULT };
    with_print_options(precise(1), || {
        with_print_options(precise(2), || assert_eq!(array.to_string(), text("0.12")));
        assert_eq!((array.to_string(), print_options()), (text("0.1"), precise(1)));
        // Another thread is in no scope.
        let other = std::thread::scope(|scope| scope.spawn(|| array.to_string()).join().unwrap());
        assert_eq!(other, text("0.1250"));
        // What holds for the process does not reach into the scope.
        set_print_options(PrintOptions::DEFAULT);
        assert_eq!(array.to_string(), text("0.1"));
    });
    let panic = std::panic::catch_unwind(|| with_print_options(precise(1), || panic!("out of the scope")));
    assert!(panic.is_err());
    assert_eq!((array.to_string(), print_options()), (text("0.1250"), PrintOptions::DEFAULT));
    assert_eq!(PrintOptions::profile("wide"), None);
    // Longer than the widths that format strings allow.
    let long = with_print_options(precise(u16::MAX), || array.to_string());
    assert!(long.contains(&format!("[0.125{}]", "0".repeat(65532))), "{} characters", long.len());
}
