//! Loops over rows and over their own input: short rows, repeated rows and columns, outputs that are inputs in part.

use opgrid_core::{Complex64, DType};
use opgrid_tensor::ops::{AddInplaceTensor, MulInplaceTensor, SumDim};
use opgrid_tensor::{Geometry, Tensor};

use super::converted;

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
            matrix.add_(&column, 1).unwrap();
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
