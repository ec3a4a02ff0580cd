//! Checks the engine of loops against naive models: dtypes converted on the way, in place, threads, reductions with
//! indices.

use opgrid_core::{DType, Device};
use opgrid_kernels::reduce::{self, Reduction};
use opgrid_kernels::{copy, elementwise};
use opgrid_tensor::tensor::broadcast;
use opgrid_tensor::{Array, Bool, Element, TensorSpec, f16};
use proptest::prelude::*;

fn empty(sizes: &[i64], dtype: DType) -> Array {
    Array::empty(TensorSpec::contiguous(sizes, dtype, Device::CPU).unwrap()).unwrap()
}

/// Numbers from -50 to 50, which every signed dtype holds.
fn numbered<T: Element>(sizes: &[i64]) -> Array {
    let count = sizes.iter().product::<i64>();
    let elements: Vec<T> = (0..count).map(|i| ((i * 37) % 101 - 50).cast::<T>()).collect();
    Array::from_slice(&elements, sizes).unwrap()
}

/// All elements, stretched, in row-major order.
fn stretched(array: &Array, sizes: &[i64]) -> Vec<f64> {
    let wide = array.view(array.geometry().expand(sizes).unwrap()).unwrap();
    let doubles = empty(sizes, DType::F64);
    copy::copy(&doubles, &copy::contiguous(&wide).unwrap()).unwrap();
    doubles.to_vec::<f64>().unwrap()
}

/// `out = a + 2 b - c` where `a` is read as float32, `b` as int64 and `c` as float64.
fn check(out: &Array, a: &Array, b: &Array, c: &Array) {
    let sizes = broadcast(&[a.sizes(), b.sizes(), c.sizes()]).unwrap();
    let [left, middle, right] = [a, b, c].map(|array| stretched(array, &sizes));
    let expected: Vec<f64> =
        left.iter().zip(&middle).zip(&right).map(|((a, b), c)| a + 2.0 * b - c).collect();
    elementwise::ternary::<f64, f32, i64, f64>(out, a, b, c, |a, b, c| f64::from(a) + 2.0 * b as f64 - c)
        .unwrap();
    assert_eq!(stretched(out, &sizes), expected, "{out:?} from {a:?}, {b:?}, {c:?}");
}

fn turned(array: &Array) -> Array {
    array.view(array.geometry().transpose(0, 1).unwrap()).unwrap()
}

#[test]
fn operands_of_all_dtypes_and_strides() {
    // Below and above the sizes of blocks, tiles and pieces of threads.
    for (rows, columns) in [(2, 3), (33, 17), (40, 40), (3, 700), (700, 3), (400, 501)] {
        let inputs = |flip: bool| {
            let sizes = if flip { [columns, rows] } else { [rows, columns] };
            let list = [
                numbered::<f32>(&sizes),
                numbered::<f16>(&sizes),
                numbered::<i16>(&sizes),
                numbered::<f64>(&sizes),
                numbered::<i64>(&sizes),
            ];
            list.map(|array| if flip { turned(&array) } else { array })
        };
        let row = numbered::<i8>(&[columns]);
        let column = numbered::<f64>(&[rows, 1]);
        let one = numbered::<i32>(&[]);
        for a in inputs(false).iter().chain(&inputs(true)) {
            for b in [&row, &column, &one, a] {
                check(&empty(&[rows, columns], DType::F64), a, b, &inputs(true)[1]);
                check(&turned(&empty(&[columns, rows], DType::F32)), a, b, &column);
            }
        }
    }
}

#[test]
fn loops_in_place() {
    for sizes in [[2, 3], [50, 60], [400, 501]] {
        let x = numbered::<f64>(&sizes);
        let before = stretched(&x, &sizes);
        elementwise::binary::<f64, f64, f64>(&x, &x, &x, |a, b| a * b + 1.0).unwrap();
        let expected: Vec<f64> = before.iter().map(|x| x * x + 1.0).collect();
        assert_eq!(stretched(&x, &sizes), expected);
        // Read as another type than it is stored.
        elementwise::unary::<f32, i64>(&x, &x, |a| a as f32 / 2.0).unwrap();
        let expected: Vec<f64> = expected.iter().map(|x| x / 2.0).collect();
        assert_eq!(stretched(&x, &sizes), expected);
        // A column of itself with gaps in between.
        let (even, odd) = (
            x.view(x.geometry().slice(1, 0, i64::MAX, 2).unwrap()).unwrap(),
            x.view(x.geometry().slice(1, 1, i64::MAX, 2).unwrap()).unwrap(),
        );
        let even = even.view(even.geometry().slice(1, 0, odd.sizes()[1], 1).unwrap()).unwrap();
        let odd_before = stretched(&odd, odd.sizes());
        elementwise::unary::<f64, f64>(&even, &odd, |a| a + 1.0).unwrap();
        let expected: Vec<f64> = odd_before.iter().map(|x| x + 1.0).collect();
        assert_eq!(stretched(&even, even.sizes()), expected);
    }
}

#[test]
fn sixteen_bit_floats_are_rounded_once() {
    let x = Array::from_slice(&[f16::from_f32(1.0), f16::from_f32(1000.0)], &[2]).unwrap();
    let out = empty(&[2], DType::F16);
    // 2048 + 1 is no float16, but the computation is in float32.
    elementwise::unary::<f16, f16>(&out, &x, |a| a + 2048.0 - 2047.0).unwrap();
    assert_eq!(stretched(&out, &[2]), [2.0, 1001.0]);
}

/// The largest element with the first index that has it.
struct First;

impl Reduction for First {
    type In = f32;
    type Out = i64;
    type State = (f32, usize);

    fn start(&self) -> Self::State {
        (f32::NEG_INFINITY, usize::MAX)
    }

    fn step(&self, state: Self::State, value: f32, index: usize) -> Self::State {
        self.join(state, (value, index))
    }

    fn join(&self, one: Self::State, other: Self::State) -> Self::State {
        let wins = other.0 > one.0 || (other.0 == one.0 && other.1 < one.1);
        if wins { other } else { one }
    }

    fn finish(&self, (_, index): Self::State, count: usize) -> i64 {
        assert!(index < count);
        index as i64
    }
}

fn check_first(x: &Array, dims: &[i64]) {
    let out = empty(&reduce::sizes(x.sizes(), dims, false).unwrap(), DType::I64);
    reduce::fold(&out, x, dims, &First).unwrap();
    // The naive model: reduced dimensions last, in row-major order.
    let reduced = reduce::normalise_dims(dims, x.sizes().len()).unwrap();
    let kept = (0..x.sizes().len()).filter(|dim| !reduced.contains(dim));
    let order: Vec<i64> = kept.chain(reduced.iter().copied()).map(|dim| dim as i64).collect();
    let count: i64 = reduced.iter().map(|dim| x.sizes()[*dim]).product();
    let last = copy::contiguous(&x.view(x.geometry().permute(&order).unwrap()).unwrap()).unwrap();
    let doubles = stretched(&last, last.sizes());
    let expected: Vec<i64> = doubles
        .chunks(count as usize)
        .map(|part| (0..part.len()).rev().max_by(|a, b| part[*a].total_cmp(&part[*b])).unwrap() as i64)
        .collect();
    assert_eq!(out.to_vec::<i64>().unwrap(), expected, "{dims:?} of {:?}", x.geometry());
}

#[test]
fn indices_of_reductions_are_those_of_the_input() {
    for base in [numbered::<f32>(&[3, 70, 2, 5]), numbered::<i16>(&[3, 70, 2, 5])] {
        let permuted = base.view(base.geometry().permute(&[2, 0, 3, 1]).unwrap()).unwrap();
        for x in [base, permuted] {
            for mask in 1..16 {
                check_first(&x, &(0..4).filter(|dim| mask & (1 << dim) != 0).collect::<Vec<i64>>());
            }
        }
    }
}

#[test]
fn large_reductions_on_threads() {
    let x = numbered::<f32>(&[500, 1003]);
    for x in [&x, &turned(&x)] {
        for dims in [&[][..], &[0], &[1]] {
            check_first(x, dims);
            let out = empty(&reduce::sizes(x.sizes(), dims, true).unwrap(), DType::F64);
            reduce::sum(&out, x, dims, DType::F64).unwrap();
            let doubles = stretched(x, x.sizes());
            let [rows, columns] = [0, 1].map(|dim| x.sizes()[dim] as usize);
            let mut expected = vec![0.0; out.sizes().iter().product::<i64>() as usize];
            for (at, value) in doubles.iter().enumerate() {
                let place = match dims {
                    [0] => at % columns,
                    [1] => at / columns,
                    _ => 0,
                };
                expected[place] += value;
            }
            assert_eq!(doubles.len(), rows * columns);
            assert_eq!(out.to_vec::<f64>().unwrap(), expected);
        }
    }
}

#[test]
fn sums_of_every_dtype() {
    let x = numbered::<i8>(&[100, 7]);
    let exact: f64 = stretched(&x, &[100, 7]).iter().sum();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::I32, DType::Complex64, DType::Complex128] {
        let typed = empty(&[100, 7], dtype);
        copy::copy(&typed, &x).unwrap();
        let out = empty(&[], dtype);
        reduce::sum(&out, &typed, &[], dtype).unwrap();
        let rounded =
            if dtype == DType::BF16 { f64::from(exact.cast::<opgrid_tensor::bf16>()) } else { exact };
        assert_eq!(stretched(&out, &[]), [rounded], "{dtype}");
    }
    let flags = empty(&[], DType::Bool);
    reduce::sum(&flags, &x, &[], DType::Bool).unwrap();
    assert_eq!(flags.to_vec::<Bool>().unwrap(), [Bool::TRUE]);
}

proptest! {
    #[test]
    fn random_views_of_three_inputs(
        sizes in proptest::collection::vec(1i64..40, 1..4),
        turn in 0i64..3,
        cut in 1i64..3,
        stretch in any::<[bool; 3]>(),
    ) {
        let dims = sizes.len() as i64;
        let whole = numbered::<i16>(&sizes);
        let view = whole.geometry().transpose(0, turn % dims).unwrap();
        let view = whole.view(view.slice(turn % dims, 0, i64::MAX, cut).unwrap()).unwrap();
        let mut other: Vec<i64> = view.sizes().to_vec();
        other.iter_mut().zip(stretch).filter(|(_, stretch)| *stretch).for_each(|(size, _)| *size = 1);
        let narrow = numbered::<f32>(&other);
        let last = numbered::<f64>(&view.sizes()[view.sizes().len() - 1..]);
        let out = empty(view.sizes(), DType::F32);
        check(&out, &view, &narrow, &last);
        check(&out, &narrow, &view, &last);
        check(&out, &last, &narrow, &view);
    }
}
