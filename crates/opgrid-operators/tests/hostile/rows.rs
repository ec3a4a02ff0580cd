//! Loops over rows and over their own input: short rows, repeated rows and columns, outputs that are inputs in part.

use opgrid_core::{Complex64, DType, Device};
use opgrid_kernels::elementwise;
use opgrid_tensor::ops::{AddInplaceTensor, MulInplaceTensor, SumDim};
use opgrid_tensor::{Geometry, Tensor};

use super::{MAX, base, converted, view};

fn count(sizes: &[i64], dtype: DType) -> Tensor {
    let numel = sizes.iter().product::<i64>();
    converted(&Tensor::arange(0, numel, 1).unwrap().reshape(sizes).unwrap(), dtype)
}

/// Elements of 16 bytes, of which the fewest fit a block, repeated along rows of every length up to beyond one.
#[test]
fn repeated_elements_stay_in_their_block() {
    for width in (1..40).chain([63, 64, 127, 128, 200, 254, 255, 256, 257, 300, 511, 512, 600]) {
        for rows in [1, 2, 17] {
            let matrix = count(&[rows, width], DType::Complex128);
            let column = count(&[rows, 1], DType::Complex128);
            let sum = (&matrix + &column).unwrap().to_vec::<Complex64>().unwrap();
            let expected = (0..rows * width).map(|at| Complex64::new((at + at / width) as f64, 0.0));
            assert!(sum.into_iter().eq(expected), "{rows} x {width}");
            matrix.add_(&column).unwrap();
            assert_eq!(matrix.to_vec::<Complex64>().unwrap()[0], Complex64::new(0.0, 0.0));
        }
    }
}

#[test]
fn an_output_that_is_its_second_input_or_both() {
    for dtype in [DType::F32, DType::F64, DType::I64, DType::BF16] {
        let x = count(&[3, 7], dtype);
        AddInplaceTensor.call(&x, &x, 1.into()).unwrap();
        let twice = converted(&x, DType::I64).to_vec::<i64>().unwrap();
        assert!(twice.into_iter().eq((0..21).map(|at| 2 * at)), "{dtype}");
        // One element beside it: refused, and nothing is written.
        let line = count(&[9], dtype);
        let (front, back) = (line.narrow(0, 0, 8).unwrap(), line.narrow(0, 1, 8).unwrap());
        assert!(MulInplaceTensor.call(&front, &back).is_err());
        let kept = converted(&line, DType::I64).to_vec::<i64>().unwrap();
        assert!(kept.into_iter().eq(0..9), "{dtype}");
        // An input that repeats an element of the output's own memory.
        assert!(AddInplaceTensor.call(&front, &line.narrow(0, 3, 1).unwrap(), 1.into()).is_err());
    }
}

#[test]
fn rows_without_elements_far_from_their_memory() {
    let x = count(&[4], DType::F32);
    for sizes in [[0, 3], [3, 0]] {
        let far = x.view_as(Geometry::strided(&sizes, &[1 << 40, 1 << 50], 1 << 45).unwrap()).unwrap();
        for dim in [0, 1] {
            let sum = SumDim.call(&far, Some(&[dim]), false, None).unwrap();
            assert!(sum.to_vec::<f32>().unwrap().iter().all(|sum| *sum == 0.0));
        }
        AddInplaceTensor.call(&far, &far, 1.into()).unwrap();
    }
    assert_eq!(x.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0]);
}

/// Roots are computed sixteen at a time, by code that writes to memory by itself.
#[test]
fn square_roots_write_their_row_and_nothing_beside_it() {
    for n in 0..40 {
        for (step, offset) in [(1, 0), (1, 3), (2, 1), (3, 0)] {
            let memory = Tensor::full(&[128], 7.5, None, Device::CPU).unwrap();
            let out = memory.as_strided(&[n], &[step], Some(offset)).unwrap();
            let input = view(&[n], &[1], 2);
            elementwise::square_root::<f32>(&out, &input).unwrap();
            let mut expected = [7.5f32; 128];
            for i in 0..n {
                expected[(offset + i * step) as usize] = ((i + 3) as f32).sqrt();
            }
            assert_eq!(memory.to_vec::<f32>().unwrap(), expected, "{n} roots, {step} apart, from {offset}");
        }
    }
    // Over its own input, beside it in one memory, without elements anywhere, of numbers that repeat, and of another dtype.
    let own = base();
    elementwise::square_root::<f32>(&own, &own).unwrap();
    let roots: Vec<f32> = (1..=64u8).map(|i| f32::from(i).sqrt()).collect();
    assert_eq!(own.to_vec::<f32>().unwrap(), roots);
    let memory = base();
    let at = |offset| memory.as_strided(&[40], &[1], Some(offset)).unwrap();
    assert!(elementwise::square_root::<f32>(&at(1), &at(0)).is_err());
    let repeated = memory.as_strided(&[40], &[0], Some(0)).unwrap();
    assert!(elementwise::square_root::<f32>(&repeated, &at(0)).is_err());
    assert_eq!(memory.to_vec::<f32>().unwrap(), base().to_vec::<f32>().unwrap());
    let nothing = view(&[0, 40], &[1, 1], MAX);
    elementwise::square_root::<f32>(&nothing, &nothing).unwrap();
    let whole = converted(&view(&[3, 20], &[0, 1], 0), DType::I64);
    let out = Tensor::empty(&[3, 20], DType::F64, Device::CPU).unwrap();
    elementwise::square_root::<f32>(&out, &whole).unwrap();
    assert_eq!(out.to_vec::<f64>().unwrap()[21], f64::from(2f32.sqrt()));
}
