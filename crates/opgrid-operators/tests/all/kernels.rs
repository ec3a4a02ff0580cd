//! Checks the loops against naive models: broadcasting, strides, overlap, conversions, sums, products.

use opgrid_core::{DType, Device, Result};
use opgrid_kernels::{InPlace, copy, elementwise, products, reduce};
use opgrid_tensor::tensor::broadcast;
use opgrid_tensor::{Array, Bool, Element, TensorSpec};
use proptest::prelude::*;

fn array<T: Element>(elements: &[T], sizes: &[i64]) -> Array {
    Array::from_slice(elements, sizes).unwrap()
}

fn count(sizes: &[i64]) -> Array {
    let numel = sizes.iter().product::<i64>();
    array(&(0..numel).map(|i| i as f32).collect::<Vec<_>>(), sizes)
}

fn empty(sizes: &[i64], dtype: DType) -> Array {
    Array::empty(TensorSpec::contiguous(sizes, dtype, Device::CPU).unwrap()).unwrap()
}

fn transposed(array: &Array) -> Array {
    array.view(array.geometry().transpose(0, 1).unwrap()).unwrap()
}

fn sliced(array: &Array, dim: i64, start: i64, end: i64, step: i64) -> Array {
    array.view(array.geometry().slice(dim, start, end, step).unwrap()).unwrap()
}

/// All elements of `array`, stretched to `sizes`, in row-major order.
fn stretched(array: &Array, sizes: &[i64]) -> Vec<f32> {
    array.view(array.geometry().expand(sizes).unwrap()).unwrap().to_vec().unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn check_binary(a: &Array, b: &Array, out: Option<Array>) {
    let sizes = broadcast(&[a.sizes(), b.sizes()]).unwrap();
    let expected: Vec<f32> =
        stretched(a, &sizes).into_iter().zip(stretched(b, &sizes)).map(|(a, b)| a - 2.0 * b).collect();
    let out = out.unwrap_or_else(|| empty(&sizes, DType::F32));
    elementwise::binary::<f32, f32, f32>(&out, a, b, |a, b| a - 2.0 * b).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), expected, "{:?} and {:?}", a.geometry(), b.geometry());
}

#[test]
fn binary_loops_broadcast_and_stride() {
    let square = count(&[40, 40]);
    for b in [count(&[40, 40]), transposed(&count(&[40, 40])), count(&[40]), count(&[40, 1]), count(&[])] {
        check_binary(&square, &b, None);
        check_binary(&b, &square, None);
        check_binary(&transposed(&square), &b, Some(transposed(&empty(&[40, 40], DType::F32))));
        let gaps = sliced(&empty(&[40, 80], DType::F32), 1, 1, i64::MAX, 2);
        check_binary(&square, &b, Some(gaps));
    }
    check_binary(&count(&[0, 3]), &count(&[3]), None);
    check_binary(&count(&[2, 1, 3]), &count(&[4, 1]), None);
}

#[test]
fn in_place_and_self_aliases() {
    let x = count(&[3, 4]);
    elementwise::binary::<f32, f32, f32>(&x, &x, &x, |a, b| a * b).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap()[..4], [0.0, 1.0, 4.0, 9.0]);
    elementwise::binary::<f32, f32, f32>(&x, &count(&[4]), &x, |a, b| b - a).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap()[..4], [0.0, 0.0, 2.0, 6.0]);
    let t = transposed(&x);
    elementwise::unary::<f32, f32>(&t, &t, |a| a + 1.0).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap()[..4], [1.0, 1.0, 3.0, 7.0]);
}

/// `a - 2 b` over `a`, as operators do that have code for it.
fn check_in_place(a: &Array, b: &Array) {
    let expected: Vec<f32> =
        stretched(a, a.sizes()).into_iter().zip(stretched(b, a.sizes())).map(|(a, b)| a - 2.0 * b).collect();
    elementwise::binary_by::<f32, f32, f32>(a, a, b, InPlace(|a: f32, b: f32| a - 2.0 * b)).unwrap();
    assert_eq!(a.to_vec::<f32>().unwrap(), expected, "{:?} and {:?}", a.geometry(), b.geometry());
}

#[test]
fn results_take_the_place_of_the_first_input() {
    for columns in [5, 40, 100, 1500] {
        for b in [[7, columns], [1, columns], [7, 1], [1, 1]] {
            check_in_place(&count(&[7, columns]), &count(&b));
            check_in_place(&sliced(&count(&[7, columns + 3]), 1, 2, columns + 2, 1), &count(&b));
            check_in_place(&sliced(&count(&[7, 2 * columns]), 1, 0, i64::MAX, 2), &count(&b));
        }
        check_in_place(&count(&[7, columns]), &transposed(&count(&[columns, 7])));
        check_in_place(&transposed(&count(&[columns, 7])), &count(&[7, columns]));
        let both = count(&[7, columns]);
        check_in_place(&both, &both);
        let halves = count(&[14, columns]);
        check_in_place(&sliced(&halves, 0, 0, 7, 1), &sliced(&halves, 0, 7, 14, 1));
        check_in_place(&sliced(&halves, 0, 0, 14, 2), &sliced(&halves, 0, 1, 14, 2));
    }
}

#[test]
fn interleaved_halves_of_one_storage() {
    let x = count(&[8, 4]);
    let (left, right) = (sliced(&x, 1, 0, 2, 1), sliced(&x, 1, 2, 4, 1));
    elementwise::binary::<f32, f32, f32>(&left, &left, &right, |a, b| a + b).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap()[..8], [2.0, 4.0, 2.0, 3.0, 10.0, 12.0, 6.0, 7.0]);
    let (top, bottom) = (sliced(&x, 0, 0, 2, 1), sliced(&x, 0, 2, 4, 1));
    products::multiply(&sliced(&top, 1, 0, 2, 1), &top, &transposed(&sliced(&bottom, 0, 0, 2, 1)))
        .unwrap_err();
    reduce::sum(&sliced(&top, 0, 0, 1, 1), &bottom, &[0], DType::F32).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap()[..4], [18.0 + 26.0, 20.0 + 28.0, 10.0 + 14.0, 11.0 + 15.0]);
}

#[test]
fn overlaps_are_refused_as_in_torch() {
    let x = count(&[5]);
    let (head, tail) = (sliced(&x, 0, 0, 4, 1), sliced(&x, 0, 1, 5, 1));
    let partial = message(elementwise::unary::<f32, f32>(&tail, &head, |a| a));
    assert_eq!(
        partial,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please clone() the tensor before performing the operation"
    );
    let first = x.view(x.geometry().select(0, 0).unwrap()).unwrap();
    assert!(message(elementwise::binary::<f32, f32, f32>(&x, &x, &first, |a, b| a + b)).contains("clone()"));
    let wide = first.view(first.geometry().expand(&[3]).unwrap()).unwrap();
    let repeated = message(elementwise::fill(&wide, 0.0f32));
    assert!(repeated.contains("more than one element of the written-to tensor"), "{repeated}");
    assert!(message(reduce::sum(&first, &x, &[], DType::F32)).contains("clone()"));
    let square = count(&[2, 2]);
    assert!(message(products::multiply(&square, &square, &count(&[2, 2]))).contains("clone()"));
    assert_eq!(x.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0], "nothing was written");
}

#[test]
fn broken_calls_are_errors() {
    let x = count(&[2, 3]);
    assert!(message(elementwise::unary::<f32, f32>(&x, &count(&[4]), |a| a)).contains("[4]"));
    let meta = Array::empty(TensorSpec::contiguous(&[2, 3], DType::F32, Device::META).unwrap()).unwrap();
    assert!(message(elementwise::unary::<f32, f32>(&x, &meta, |a| a)).contains("meta"));
    let reader = x.storage().read().unwrap();
    assert!(message(elementwise::fill(&x, 1.0f32)).contains("has a reader"));
    drop(reader);
    assert!(message(products::multiply(&x, &x, &x)).contains("(2x3 and 2x3)"));
    assert!(message(products::multiply(&x, &x, &count(&[3]))).contains("two matrices"));
    assert!(
        message(products::multiply(&x, &x, &count(&[3, 3]).view(count(&[3, 2]).geometry().clone()).unwrap()))
            .contains("expected [2, 2]")
    );
    let flags = array(&[Bool::from(true); 4], &[2, 2]);
    assert!(
        message(products::multiply(&empty(&[2, 2], DType::Bool), &flags, &flags))
            .contains("not implemented for 'Bool' (bool), expected a numeric dtype")
    );
    assert!(message(reduce::sum(&x, &x, &[0], DType::F32)).contains("expected [3]"));
    assert!(message(reduce::sum(&x, &x, &[0, -2], DType::F32)).contains("multiple times"));
}

#[test]
fn an_expanded_array_of_many_elements_is_no_panic() {
    let one = count(&[1]);
    let wide = one.view(one.geometry().expand(&[i64::MAX / 2]).unwrap()).unwrap();
    assert!(message(wide.to_vec::<f32>()).contains("no memory for a list"));
    assert!(message(copy::contiguous(&wide)).contains("bytes"));
    assert!(message(elementwise::fill(&wide, 1.0f32)).contains("clone()"));
    assert_eq!(wide.to_string(), "tensor([0., 0., 0.,  ..., 0., 0., 0.])");
}

#[test]
fn a_panic_in_the_closure_leaves_the_memory_usable() {
    let out = empty(&[4], DType::F32);
    let x = count(&[4]);
    let run = std::panic::AssertUnwindSafe(|| {
        elementwise::unary::<f32, f32>(&out, &x, |a| if a > 2.0 { panic!("closure") } else { a + 1.0 })
    });
    assert!(std::panic::catch_unwind(run).is_err());
    // The loop did not finish, so never-written memory was not declared written: it reads as zero.
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0; 4]);
}

#[test]
fn copies_convert() {
    let x = array(&[1.9f32, -1.9, 0.0, f32::NAN], &[2, 2]);
    let ints = empty(&[2, 2], DType::I64);
    copy::copy(&ints, &transposed(&x)).unwrap();
    assert_eq!(ints.to_vec::<i64>().unwrap(), [1, 0, -1, 0]);
    let flags = empty(&[2, 2], DType::Bool);
    copy::copy(&flags, &x).unwrap();
    assert_eq!(flags.to_vec::<Bool>().unwrap().map_to_bool(), [true, true, false, true]);
    let doubles = empty(&[3, 2, 2], DType::F64);
    copy::copy(&doubles, &flags).unwrap();
    assert_eq!(doubles.to_vec::<f64>().unwrap()[8..], [1.0, 1.0, 0.0, 1.0]);
    let row_major = copy::contiguous(&transposed(&x)).unwrap();
    assert_eq!(row_major.to_vec::<f32>().unwrap()[..3], [1.9, 0.0, -1.9]);
    assert!(row_major.geometry().is_contiguous());
}

trait ToBool {
    fn map_to_bool(self) -> Vec<bool>;
}

impl ToBool for Vec<Bool> {
    fn map_to_bool(self) -> Vec<bool> {
        self.into_iter().map(bool::from).collect()
    }
}

fn copied(x: &Array, dtype: DType) -> Array {
    let out = empty(x.sizes(), dtype);
    copy::copy(&out, x).unwrap();
    out
}

fn summed(x: &Array, dims: &[i64], keepdim: bool, dtype: DType) -> Array {
    let out = empty(&reduce::sizes(x.sizes(), dims, keepdim).unwrap(), dtype);
    reduce::sum(&out, x, dims, dtype).unwrap();
    out
}

#[test]
fn sums_over_every_set_of_dimensions() {
    let base = count(&[3, 70, 2, 5]);
    let permuted = base.view(base.geometry().permute(&[2, 0, 3, 1]).unwrap()).unwrap();
    let gaps = sliced(&sliced(&base, 1, 3, 70, 3), 3, 1, 5, 2);
    for x in [base, permuted, gaps] {
        for mask in 0..16 {
            let dims: Vec<i64> = (0..4).filter(|dim| mask & (1 << dim) != 0).collect();
            let reduced = reduce::normalise_dims(&dims, 4).unwrap();
            let kept = reduce::sizes(x.sizes(), &dims, true).unwrap();
            let mut expected = vec![0.0f64; kept.iter().product::<i64>() as usize];
            for (i, value) in x.to_vec::<f32>().unwrap().into_iter().enumerate() {
                let (mut rest, mut at, mut scale) = (i as i64, 0, 1);
                for dim in (0..4).rev() {
                    let index = rest % x.sizes()[dim];
                    rest /= x.sizes()[dim];
                    at += if reduced.contains(&dim) { 0 } else { index * scale };
                    scale *= kept[dim];
                }
                expected[at as usize] += f64::from(value);
            }
            for keepdim in [false, true] {
                let sum = summed(&x, &dims, keepdim, DType::F64);
                assert_eq!(sum.to_vec::<f64>().unwrap(), expected, "{dims:?} of {:?}", x.geometry());
            }
        }
    }
}

#[test]
fn sums_of_rows_and_columns_of_every_width() {
    for width in (1i64..40).chain([63, 64, 65, 67, 80, 100, 127, 128, 129, 200]) {
        for rows in [1, 7, 8, 9, 130, 300] {
            let numbers: Vec<i32> = (0..rows * width).map(|i| (i * i % 1009) as i32).collect();
            let whole = |at: usize| i64::from(numbers[at]);
            let (rows, width) = (rows as usize, width as usize);
            let columns: Vec<i64> =
                (0..width).map(|column| (0..rows).map(|row| whole(row * width + column)).sum()).collect();
            let lines: Vec<i64> =
                (0..rows).map(|row| (row * width..(row + 1) * width).map(whole).sum()).collect();
            let sizes = [rows as i64, width as i64];
            let floats: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
            for x in [array(&numbers, &sizes), array(&floats, &sizes)] {
                for dtype in [DType::I64, DType::F32] {
                    let sums = |dim: i64| {
                        let sums = summed(&x, &[dim], false, dtype);
                        copied(&sums, DType::I64).to_vec::<i64>().unwrap()
                    };
                    assert_eq!((sums(0), sums(1)), (columns.clone(), lines.clone()), "{sizes:?} {dtype}");
                }
            }
        }
    }
    // Rows apart, and planes whose rows are not one loop.
    let cube = count(&[3, 20, 90]);
    let part = sliced(&sliced(&cube, 2, 5, 82, 1), 1, 0, 19, 1);
    let naive =
        |dims: &[i64]| summed(&copied(&part, DType::F64), dims, false, DType::F64).to_vec::<f64>().unwrap();
    for dims in [&[0i64, 1][..], &[0], &[1], &[2], &[0, 2], &[1, 2]] {
        let sums = copied(&summed(&part, dims, false, DType::F32), DType::F64).to_vec::<f64>().unwrap();
        assert_eq!(sums, naive(dims), "{dims:?}");
    }
}

#[test]
fn sums_of_other_dtypes_and_of_nothing() {
    let flags = array(&[Bool::from(true), Bool::from(false), Bool::from(true)], &[3]);
    assert_eq!(summed(&flags, &[], false, DType::I64).to_vec::<i64>().unwrap(), [2]);
    let wrapped = summed(&array(&[i64::MAX, 1], &[2]), &[0], false, DType::I64);
    assert_eq!(wrapped.to_vec::<i64>().unwrap(), [i64::MIN]);
    assert_eq!(summed(&count(&[0, 3]), &[0], false, DType::F32).to_vec::<f32>().unwrap(), [0.0; 3]);
    assert_eq!(summed(&count(&[]), &[-1], false, DType::F32).to_vec::<f32>().unwrap(), [0.0]);
    assert_eq!(summed(&count(&[3, 0]), &[0], false, DType::F32).to_vec::<f32>().unwrap(), [0.0f32; 0]);
}

#[test]
fn long_sums_stay_accurate() {
    let tenth = array(&vec![0.1f32; 1_000_003], &[1_000_003]);
    let exact = f64::from(0.1f32) * 1_000_003.0;
    let sum = summed(&tenth, &[], false, DType::F32).to_vec::<f32>().unwrap()[0];
    assert!((f64::from(sum) - exact).abs() / exact < 1e-7, "{sum} for {exact}");
    let rows = tenth
        .view(tenth.geometry().slice(0, 0, 1_000_000, 1).unwrap().view(&[100_000, 10]).unwrap())
        .unwrap();
    for sum in summed(&rows, &[0], false, DType::F32).to_vec::<f32>().unwrap() {
        assert!((f64::from(sum) / (f64::from(0.1f32) * 100_000.0) - 1.0).abs() < 1e-7, "{sum}");
    }
}

#[test]
fn readers_on_two_threads_and_a_writer_in_between() {
    let x = count(&[1000]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                (0..1000).for_each(|_| {
                    assert_eq!(summed(&x, &[], false, DType::F32).to_vec::<f32>().unwrap(), [499_500.0])
                })
            });
        }
    });
    elementwise::fill(&x, 1.0f32).unwrap();
    assert_eq!(summed(&x, &[], false, DType::F32).to_vec::<f32>().unwrap(), [1000.0]);
}

#[test]
fn threads_that_read_never_written_memory_all_see_zeros() {
    for _ in 0..200 {
        let x = empty(&[4096], DType::I64);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert!(x.to_vec::<i64>().unwrap().iter().all(|value| *value == 0)));
            }
        });
    }
}

proptest! {
    #[test]
    fn random_views_agree_with_the_model(
        sizes in proptest::collection::vec(1i64..7, 1..4),
        turn in 0i64..3,
        cut in 1i64..3,
        stretch in any::<[bool; 3]>(),
    ) {
        let whole = count(&sizes);
        let dims = sizes.len() as i64;
        let turned = whole.geometry().transpose(0, turn % dims).unwrap();
        let view = whole.view(turned.slice(turn % dims, 0, i64::MAX, cut).unwrap()).unwrap();
        let mut other: Vec<i64> = view.sizes().to_vec();
        other.iter_mut().zip(stretch).filter(|(_, stretch)| *stretch).for_each(|(size, _)| *size = 1);
        check_binary(&view, &count(&other), None);
        check_binary(&count(&other), &view, None);
    }
}
