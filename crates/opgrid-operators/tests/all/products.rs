//! Tests products of matrices of every dtype, shape and stride against three plain loops.

use num_complex::Complex;
use opgrid_core::{DType, Device, Scalar};
use opgrid_kernels::copy;
use opgrid_kernels::products::{Addend, Windows, correlate, multiply, multiply_add, spread, weigh};
use opgrid_tensor::{Array, Geometry, Tensor, TensorSpec};
use proptest::prelude::*;

const DTYPES: [DType; 11] = [
    DType::U8,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::Complex64,
    DType::Complex128,
];

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    Rows,
    Columns,
    /// Every third element of rows that are longer than needed.
    Gaps,
    /// One row, stretched.
    Repeated,
}

const LIES: [Lie; 4] = [Lie::Rows, Lie::Columns, Lie::Gaps, Lie::Repeated];

type Number = Complex<f64>;

fn empty(sizes: &[i64], dtype: DType) -> Array {
    Array::empty(TensorSpec::contiguous(sizes, dtype, Device::CPU).unwrap()).unwrap()
}

/// `numbers` as another dtype: wrapped around or rounded once.
fn typed(numbers: &[Number], sizes: &[i64], dtype: DType) -> Array {
    let out = empty(sizes, dtype);
    let real = || numbers.iter().map(|number| number.re);
    let exact = if dtype.is_integral() {
        // Integers wrap around among each other only; a float beyond their range becomes the nearest end of it.
        Array::from_slice(&real().map(|number| number as i64).collect::<Vec<_>>(), sizes).unwrap()
    } else if numbers.iter().any(|number| number.im != 0.0) {
        Array::from_slice(numbers, sizes).unwrap()
    } else {
        Array::from_slice(&real().collect::<Vec<_>>(), sizes).unwrap()
    };
    copy::copy(&out, &exact).unwrap();
    out
}

fn numbers(array: &Array) -> Vec<Number> {
    let wide = empty(array.sizes(), DType::Complex128);
    copy::copy(&wide, array).unwrap();
    wide.to_vec().unwrap()
}

/// A stack of matrices that lie in memory as asked for, with small whole numbers in them.
fn stack(sizes: [i64; 3], lie: Lie, dtype: DType, seed: i64) -> Array {
    let [count, rows, columns] = sizes;
    let (stored, strides) = match lie {
        Lie::Rows => (count * rows * columns, [rows * columns, columns, 1]),
        Lie::Columns => (count * rows * columns, [rows * columns, 1, rows]),
        Lie::Gaps => {
            let row = 3 * columns + 2;
            (count * rows * row, [rows * row, row, 3])
        }
        Lie::Repeated => (count * columns, [columns, 0, 1]),
    };
    let part = |i: i64, step: i64| ((i * step + seed) % 13 - 4) as f64;
    let element = |i| Complex::new(part(i, 7), if dtype.is_complex() { part(i, 5) } else { 0.0 });
    let values: Vec<Number> = (0..stored).map(element).collect();
    let array = typed(&values, &[stored], dtype);
    array.view(Geometry::strided(&sizes, &strides, 0).unwrap()).unwrap()
}

fn out_stack(sizes: [i64; 3], lie: Lie, dtype: DType) -> Array {
    // An output may not repeat elements.
    let lie = if lie == Lie::Repeated { Lie::Gaps } else { lie };
    stack(sizes, lie, dtype, 3)
}

/// The products of two stacks, exactly.
fn exact(a: &Array, b: &Array) -> Vec<Number> {
    let [count, m, k] = *a.sizes() else { panic!("a stack has three dimensions") };
    let n = b.sizes()[2];
    let (a, b) = (numbers(a), numbers(b));
    let at =
        |numbers: &[Number], row: i64, columns: i64, column: i64| numbers[(row * columns + column) as usize];
    let mut sums = Vec::new();
    for matrix in 0..count {
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let terms = (0..k)
                .map(|inner| at(&a, matrix * m + row, k, inner) * at(&b, matrix * k + inner, n, column));
            sums.push(terms.sum());
        }
    }
    sums
}

fn check([count, m, k, n]: [i64; 4], dtype: DType, [a, b, out]: [Lie; 3]) {
    let label = format!("{count} x {m} x {k} x {n} {dtype} {a:?} {b:?} {out:?}");
    let (a, b) = (stack([count, m, k], a, dtype, 1), stack([count, k, n], b, dtype, 2));
    let out = out_stack([count, m, n], out, dtype);
    multiply(&out, &a, &b).unwrap();
    let expected = typed(&exact(&a, &b), &[count, m, n], dtype);
    assert_eq!(numbers(&out), numbers(&expected), "{label}");
}

#[test]
fn every_dtype_and_stride() {
    for dtype in DTYPES {
        for case in 0..64 {
            let lies = [case % 4, case / 4 % 4, case / 16].map(|number| LIES[number]);
            check([2, 5, 37, 9], dtype, lies);
        }
    }
}

#[test]
fn sizes_around_those_of_tiles_and_blocks() {
    let sizes = [
        [1, 1, 1, 1],
        [1, 12, 64, 32],
        [1, 13, 65, 33],
        [1, 24, 63, 64],
        [3, 8, 100, 16],
        [1, 1, 200, 70],
        [1, 70, 200, 1],
        [1, 3, 1100, 5],
        [1, 5, 1100, 3],
        [1, 4, 7, 40],
        [1, 40, 7, 2],
        [1, 30, 700, 20],
        [1, 7, 40, 600],
        [40, 3, 3, 3],
    ];
    for (number, sizes) in sizes.into_iter().enumerate() {
        for dtype in DTYPES {
            for case in 0..3 {
                let lies = [case + number, case / 2, number].map(|number| LIES[number % 3]);
                check(sizes, dtype, lies);
            }
        }
    }
}

/// Sizes around those of the tiles of AMX, which take bfloat16 where there is much to sum, and of its steps.
#[test]
fn sums_of_bfloat16_by_larger_tiles() {
    let sizes = [
        [1, 5, 1500, 5],
        [1, 8, 128, 33],
        [1, 9, 129, 31],
        [1, 16, 64, 64],
        [1, 17, 97, 63],
        [1, 24, 33, 70],
        [1, 25, 31, 50],
        [1, 31, 16, 90],
        [1, 32, 32, 32],
        [1, 33, 65, 40],
        [1, 64, 640, 96],
        [1, 65, 1313, 17],
        [1, 100, 700, 130],
        [1, 257, 48, 161],
        [3, 40, 47, 35],
        [1, 40, 15, 64],
        [1, 64, 0, 64],
        [0, 64, 64, 64],
        [1, 64, 64, 0],
    ];
    for sizes in sizes {
        for a in LIES {
            for b in LIES {
                for out in [Lie::Rows, Lie::Columns, Lie::Gaps] {
                    check(sizes, DType::BF16, [a, b, out]);
                }
            }
        }
    }
}

/// Numbers whose products are rounded many times: sums have single precision, whatever sums them, and are rounded once.
#[test]
fn sums_of_bfloat16_are_as_accurate_as_single_precision() {
    let waves = |count: i64, step: f64| {
        (0..count).map(|i| Complex::new((i as f64 * step).sin(), 0.0)).collect::<Vec<_>>()
    };
    for [m, k, n] in [[20, 5000, 40], [65, 300, 70], [3, 400, 40]] {
        let a = typed(&waves(m * k, 0.7), &[1, m, k], DType::BF16);
        let b = typed(&waves(k * n, 0.3), &[1, k, n], DType::BF16);
        let out = empty(&[1, m, n], DType::BF16);
        multiply(&out, &a, &b).unwrap();
        let limit = f64::from(f32::EPSILON) * k as f64;
        for (found, expected) in numbers(&out).into_iter().zip(exact(&a, &b)) {
            let rounding = expected.norm() / 256.0;
            assert!((found - expected).norm() < rounding + limit, "{found} for {expected}, {m} {k} {n}");
        }
    }
}

/// Panels are filled up with zeros: nothing beyond the factors gets into a sum, not even what is no number.
#[test]
fn infinities_stay_in_their_rows_and_columns() {
    let [m, k, n] = [37, 70, 45];
    for lies in [[Lie::Rows; 2], [Lie::Columns; 2], [Lie::Gaps; 2]] {
        let [a, b] = [(m, k, lies[0]), (k, n, lies[1])]
            .map(|(rows, columns, lie)| matrix(&stack([1, rows, columns], lie, DType::BF16, 1)));
        let nan = typed(&[Complex::new(f64::NAN, 0.0)], &[1, 1], DType::BF16);
        let corner = |array: &Array, row, column| {
            let geometry = array.geometry().slice(0, row, row + 1, 1).unwrap();
            array.view(geometry.slice(1, column, column + 1, 1).unwrap()).unwrap()
        };
        copy::copy(&corner(&a, m - 1, k - 1), &nan).unwrap();
        copy::copy(&corner(&b, k - 1, n - 1), &nan).unwrap();
        let out = empty(&[m, n], DType::BF16);
        multiply(&out, &a, &b).unwrap();
        for (place, found) in numbers(&out).into_iter().enumerate() {
            let (row, column) = (place as i64 / n, place as i64 % n);
            assert_eq!(found.re.is_nan(), row == m - 1 || column == n - 1, "{row} {column} {lies:?}");
        }
    }
}

/// Convolutions of small whole numbers, whose sums are exact: those of bfloat16 are those of single precision, rounded.
#[test]
fn convolutions_of_bfloat16_by_larger_tiles() {
    type Computed = fn(&Windows, &Array, [&Array; 3]) -> opgrid_core::Result<()>;
    let computed: [(usize, Computed); 3] = [
        (2, |windows, out, [image, weight, _]| correlate(windows, out, image, weight, None)),
        (0, |windows, out, [_, weight, places]| spread(windows, out, places, weight, None)),
        (1, |windows, out, [image, _, places]| weigh(windows, out, places, image)),
    ];
    for (batch, channels, filters, side, step, padding) in [(1, 7, 9, 13, 1, 1), (3, 16, 33, 9, 2, 0)] {
        let places = (side + 2 * padding - 3) / step + 1;
        let windows = Windows {
            batch,
            groups: 1,
            channels,
            filters,
            image: [1, side, side],
            window: [1, 3, 3],
            places: [1, places, places],
            step: [1, step, step],
            dilation: [1; 3],
            padding: [0, padding, padding],
        };
        let sizes =
            [[batch, channels, side, side], [filters, channels, 3, 3], [batch, filters, places, places]]
                .map(|sizes| sizes.map(|size| size as i64));
        for (number, (output, compute)) in computed.into_iter().enumerate() {
            let of = |dtype| {
                let [image, weight, places] = [0, 1, 2].map(|array| {
                    let count: i64 = sizes[array].iter().product();
                    stack([1, 1, count], Lie::Rows, dtype, array as i64)
                });
                let [image, weight, places] =
                    [(image, 0), (weight, 1), (places, 2)].map(|(array, number)| {
                        array.view(Geometry::contiguous(&sizes[number]).unwrap()).unwrap()
                    });
                let out = empty(&sizes[output], dtype);
                compute(&windows, &out, [&image, &weight, &places]).unwrap();
                out
            };
            let expected = typed(&numbers(&of(DType::F32)), &sizes[output], DType::BF16);
            assert_eq!(numbers(&of(DType::BF16)), numbers(&expected), "{number} {windows:?}");
        }
    }
}

#[test]
fn products_for_several_threads() {
    for dtype in [DType::F32, DType::BF16, DType::Complex64, DType::I16] {
        check([1, 150, 330, 200], dtype, [Lie::Rows; 3]);
        check([1, 150, 330, 200], dtype, [Lie::Columns, Lie::Gaps, Lie::Columns]);
        check([1, 2, 1500, 800], dtype, [Lie::Rows, Lie::Columns, Lie::Rows]);
        check([1, 2, 1500, 800], dtype, [Lie::Rows; 3]);
        check([50, 33, 34, 35], dtype, [Lie::Rows; 3]);
    }
}

#[test]
fn nothing_times_nothing() {
    for dtype in DTYPES {
        for sizes in [[1, 0, 3, 4], [1, 3, 0, 4], [1, 3, 4, 0], [0, 3, 4, 5], [2, 1, 0, 1], [1, 20, 0, 40]] {
            check(sizes, dtype, [Lie::Rows; 3]);
            check(sizes, dtype, [Lie::Columns; 3]);
        }
    }
}

#[test]
fn memory_that_was_never_written_is_overwritten() {
    let (a, b) = (stack([1, 3, 0], Lie::Rows, DType::F32, 1), stack([1, 0, 50], Lie::Rows, DType::F32, 1));
    let out = empty(&[1, 3, 50], DType::F32);
    multiply(&out, &a, &b).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0; 150]);
}

fn matrix(array: &Array) -> Array {
    array.view(array.geometry().select(0, 0).unwrap()).unwrap()
}

/// The geometry of a matrix.
fn factors([m, k, n]: [i64; 3], dtype: DType) -> (Array, Array) {
    (matrix(&stack([1, m, k], Lie::Rows, dtype, 1)), matrix(&stack([1, k, n], Lie::Columns, dtype, 2)))
}

#[test]
fn sums_with_products() {
    let (beta, alpha) = (Scalar::Int(3), Scalar::Int(2));
    for dtype in DTYPES {
        for [m, k, n] in [[5, 40, 7], [14, 6, 35], [1, 300, 3], [4, 0, 2], [37, 45, 70]] {
            let (a, b) = factors([m, k, n], dtype);
            let input = matrix(&stack([1, m, n], Lie::Repeated, dtype, 5));
            let products = exact(
                &a.view(a.geometry().unsqueeze(0).unwrap()).unwrap(),
                &b.view(b.geometry().unsqueeze(0).unwrap()).unwrap(),
            );
            let sums =
                numbers(&input).into_iter().zip(products).map(|(added, product)| added * 3.0 + product * 2.0);
            let expected = typed(&sums.collect::<Vec<_>>(), &[m, n], dtype);
            let out = empty(&[m, n], dtype);
            multiply_add(&out, Addend { input: &input, beta, alpha }, &a, &b).unwrap();
            assert_eq!(numbers(&out), numbers(&expected), "{dtype} {m} {k} {n}");
            copy::copy(&out, &input).unwrap();
            multiply_add(&out, Addend { input: &out, beta, alpha }, &a, &b).unwrap();
            assert_eq!(numbers(&out), numbers(&expected), "{dtype} {m} {k} {n} in place");
        }
    }
}

#[test]
fn an_addend_without_weight_does_not_count() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::Complex64] {
        let (a, b) = factors([3, 4, 5], dtype);
        let input = typed(&[Complex::new(f64::NAN, 0.0); 15], &[3, 5], dtype);
        let (plain, weighed) = (empty(&[3, 5], dtype), empty(&[3, 5], dtype));
        multiply(&plain, &a, &b).unwrap();
        let addend = |beta| Addend { input: &input, beta: Scalar::Float(beta), alpha: Scalar::Int(1) };
        multiply_add(&weighed, addend(0.0), &a, &b).unwrap();
        assert_eq!(numbers(&weighed), numbers(&plain), "{dtype}");
        multiply_add(&weighed, addend(1.0), &a, &b).unwrap();
        assert!(numbers(&weighed).iter().all(|number| number.re.is_nan()), "{dtype}");
    }
}

#[test]
fn sixteen_bits_are_rounded_once() {
    // 256 + 1 and 256 + 1 + 1: after the product alone would be rounded to 256, one more would be lost again.
    let one = |number: f32| typed(&[Complex::new(f64::from(number), 0.0)], &[1, 1], DType::BF16);
    let row = typed(&[Complex::new(256.0, 0.0), Complex::new(1.0, 0.0)], &[1, 2], DType::BF16);
    let column = typed(&[Complex::new(1.0, 0.0); 2], &[2, 1], DType::BF16);
    let out = empty(&[1, 1], DType::BF16);
    let input = one(1.0);
    let addend = Addend { input: &input, beta: Scalar::Int(1), alpha: Scalar::Int(1) };
    multiply_add(&out, addend, &row, &column).unwrap();
    assert_eq!(numbers(&out), [Complex::new(258.0, 0.0)]);
}

#[test]
fn sums_are_as_accurate_as_their_type() {
    let [m, k, n] = [20, 5000, 40];
    let waves = |count: i64, step: f64| {
        (0..count).map(|i| Complex::new((i as f64 * step).sin(), 0.0)).collect::<Vec<_>>()
    };
    for dtype in [DType::F32, DType::F64] {
        let (a, b) =
            (typed(&waves(m * k, 0.7), &[1, m, k], dtype), typed(&waves(k * n, 0.3), &[1, k, n], dtype));
        let out = empty(&[1, m, n], dtype);
        multiply(&out, &a, &b).unwrap();
        let limit = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { 1e-12 };
        // The terms' magnitudes add up to about 2000; the error of a plain sum would grow with their number, too.
        for (found, expected) in numbers(&out).into_iter().zip(exact(&a, &b)) {
            assert!((found - expected).norm() < 300.0 * limit, "{found} for {expected}, {dtype}");
        }
    }
}

#[test]
fn infinities_stay_infinite() {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::Complex64] {
        let a = typed(&[Complex::new(f64::INFINITY, 0.0), Complex::new(1.0, 0.0)], &[1, 2], dtype);
        let b = typed(&[Complex::new(2.0, 0.0); 2], &[2, 1], dtype);
        let out = empty(&[1, 1], dtype);
        multiply(&out, &a, &b).unwrap();
        assert_eq!(numbers(&out)[0].re, f64::INFINITY, "{dtype}");
    }
}

#[test]
fn a_product_is_the_same_every_time() {
    for dtype in [DType::F32, DType::BF16] {
        let (a, b) = factors([300, 400, 300], dtype);
        let products: Vec<Vec<Number>> = (0..5)
            .map(|_| {
                let out = empty(&[300, 300], dtype);
                multiply(&out, &a, &b).unwrap();
                numbers(&out)
            })
            .collect();
        assert!(products.windows(2).all(|pair| pair[0] == pair[1]), "{dtype}");
    }
}

#[test]
fn stacks_that_do_not_fit_are_refused() {
    let stack = |sizes| stack(sizes, Lie::Rows, DType::F32, 1);
    let out = empty(&[2, 3, 5], DType::F32);
    let message = |a: Array, b: Array| multiply(&out, &a, &b).unwrap_err().to_string();
    assert!(message(stack([2, 3, 4]), stack([3, 4, 5])).contains("[2, 3, 4] and [3, 4, 5]"));
    assert!(message(stack([2, 3, 4]), stack([2, 3, 5])).contains("(3x4 and 3x5)"));
    assert!(message(stack([2, 4, 4]), stack([2, 4, 5])).contains("expected [2, 4, 5]"));
    multiply(&out, &stack([2, 3, 4]), &stack([2, 4, 5])).unwrap();
}

fn tensor(sizes: &[i64], dtype: DType) -> Tensor {
    Tensor::ones(sizes, dtype, Device::CPU).unwrap()
}

/// DIFFERENCE: torch takes bools, two dtypes in `bmm`, and numbers beyond the dtype where nothing is multiplied.
#[test]
fn products_without_factors_are_checked_as_others_are() {
    let refused = |product: opgrid_core::Result<Tensor>| product.unwrap_err().to_string();
    let bools = [[2, 0], [2, 3]].map(|sizes| tensor(&sizes, DType::Bool));
    assert!(bools.iter().all(|left| refused(left.mm(&left.t().unwrap())).contains("Bool")));
    let mixed = tensor(&[1, 2, 0], DType::F32).bmm(&tensor(&[1, 0, 2], DType::F64));
    assert!(refused(mixed).contains("convert one of them"));
    assert!(tensor(&[0, 3], DType::F32).mm(&tensor(&[3, 2], DType::F64)).is_err());

    let bytes = tensor(&[2], DType::U8);
    let (left, right) = (tensor(&[2, 0], DType::U8), tensor(&[0, 2], DType::U8));
    let sum = |beta, alpha| bytes.addmm_with(&left, &right, beta, alpha);
    assert!(refused(sum(Scalar::Int(300), Scalar::Int(1))).contains("cannot be converted"));
    assert_eq!(sum(Scalar::Int(7), Scalar::Int(1)).unwrap().to_vec::<u8>().unwrap(), [7; 4]);
    assert_eq!(sum(Scalar::Int(0), Scalar::Int(1)).unwrap().to_vec::<u8>().unwrap(), [0; 4]);
    assert!(sum(Scalar::Float(0.5), Scalar::Int(1)).unwrap_err().to_string().contains("can't be cast"));
    let full = bytes.addmm_with(&tensor(&[2, 1], DType::U8), &tensor(&[1, 2], DType::U8), 0.5, 1);
    assert_eq!(full.unwrap().to_vec::<u8>().unwrap(), [1; 4]);
}

#[test]
fn factors_without_weight_do_not_count() {
    let nan = Tensor::full(&[2, 3], f64::NAN, Some(DType::F32), Device::CPU).unwrap();
    let (one, other) = (tensor(&[2], DType::F32), tensor(&[3, 2], DType::F32));
    assert_eq!(one.addmm_with(&nan, &other, 2, 0).unwrap().to_vec::<f32>().unwrap(), [2.0; 4]);
    assert_eq!(one.addmm_with(&nan, &other, 0, 0).unwrap().to_vec::<f32>().unwrap(), [0.0; 4]);
    // Also where there is nothing to add to, whatever kind of number it is.
    let (tall, wide) = (tensor(&[2, 0], DType::F32), tensor(&[0, 3], DType::F32));
    for zero in [Scalar::Int(0), Scalar::Float(-0.0), Scalar::Bool(false)] {
        let sum = nan.addmm_with(&tall, &wide, zero, 1).unwrap();
        assert!(sum.to_vec::<f32>().unwrap().iter().all(|x| *x == 0.0), "{zero}");
    }
}

#[test]
fn stacks_are_multiplied_without_copies() {
    // The stack's rows do not follow each other, so it is not seen as one matrix.
    let stack = tensor(&[4, 3, 5], DType::F64).permute(&[1, 0, 2]).unwrap();
    let product = stack.matmul(&tensor(&[5, 2], DType::F64)).unwrap();
    assert_eq!((product.sizes(), product.strides()), (&[3i64, 4, 2][..], &[8i64, 2, 1][..]));
    assert_eq!(product.to_vec::<f64>().unwrap(), [5.0; 24]);
    let one = tensor(&[2, 3, 5], DType::F64).matmul(&tensor(&[5], DType::F64)).unwrap();
    assert_eq!(one.to_vec::<f64>().unwrap(), [5.0; 6]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_products_agree_with_three_loops(
        sizes in [1i64..4, 1i64..50, 0i64..90, 1i64..80],
        dtype in 0usize..11,
        lies in [0usize..4, 0usize..4, 0usize..4],
    ) {
        check(sizes, DTYPES[dtype], lies.map(|number| LIES[number]));
    }
}
