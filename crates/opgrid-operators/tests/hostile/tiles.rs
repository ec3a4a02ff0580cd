//! Products of bfloat16 that are large enough for tiles of AMX, where the processor has them: whatever their factors' places
//! are, results are those of single precision, and nothing beside the factors is read or written.

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::ops::{Bmm, Convolution, Mm, MmOut};
use opgrid_tensor::{Geometry, Tensor};

use super::{MAX, Refused, Sizes, check, converted};

/// Whole numbers from -3 to 3, whose sums of a thousand products are exact in single precision.
fn whole(sizes: &[i64], dtype: DType) -> Tensor {
    let count = sizes.iter().product::<i64>();
    let numbers: Vec<f32> = (0..count).map(|at| (at * 5 % 7 - 3) as f32).collect();
    converted(&Tensor::from_slice(&numbers, sizes).unwrap(), dtype)
}

/// A matrix of another geometry in a block of numbers that ends with its last element.
fn placed(sizes: &[i64], strides: &[i64]) -> Tensor {
    let last: i64 = std::iter::zip(sizes, strides).map(|(size, stride)| (size - 1) * stride).sum();
    let block = whole(&[last + 1], DType::BF16);
    block.view_as(Geometry::strided(sizes, strides, 0).unwrap()).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f32> {
    converted(tensor, DType::F32).to_vec().unwrap()
}

/// The product in single precision, rounded once.
fn expected(a: &Tensor, b: &Tensor) -> Result<Vec<f32>> {
    let product = Mm.call(&converted(a, DType::F32), &converted(b, DType::F32))?;
    Ok(elements(&converted(&product, DType::BF16)))
}

#[test]
fn factors_at_the_ends_of_their_blocks() -> Result<()> {
    let (m, k, n) = (37, 71, 45);
    for a in [[k, 1], [1, m], [0, 1], [1, 0], [0, 0], [k + 3, 1], [2 * k, 2], [1, m + 5], [4096, 1]] {
        for b in [[n, 1], [1, k], [0, 1], [1, 0], [n + 7, 1], [3, 3 * k]] {
            let (left, right) = (placed(&[m, k], &a), placed(&[k, n], &b));
            let product = Mm.call(&left, &right)?;
            assert_eq!(elements(&product), expected(&left, &right)?, "strides {a:?} and {b:?}");
        }
    }
    Ok(())
}

#[test]
fn outputs_among_other_elements() -> Result<()> {
    let (a, b) = (whole(&[40, 64], DType::BF16), whole(&[64, 33], DType::BF16));
    for strides in [[50, 1], [1, 44], [70, 2]] {
        let last = 39 * strides[0] + 32 * strides[1];
        let block = converted(&Tensor::full(&[last + 30], 9.0, None, Device::CPU)?, DType::BF16);
        let out = block.view_as(Geometry::strided(&[40, 33], &strides, 10)?)?;
        MmOut.call(&a, &b, &out)?;
        assert_eq!(elements(&out), expected(&a, &b)?, "strides {strides:?}");
        out.fill_(9.0)?;
        assert!(elements(&block).iter().all(|element| *element == 9.0), "strides {strides:?}");
    }
    let twice = block_of_one(&[40, 33]);
    check(
        "one place for all",
        MmOut.call(&a, &b, &twice).map(|()| twice.clone()),
        Refused("single memory location"),
    );
    let square = whole(&[64, 64], DType::BF16);
    let product = expected(&square, &square)?;
    // Refused, or read before it is written.
    if MmOut.call(&square, &square, &square).is_ok() {
        assert_eq!(elements(&square), product);
    } else {
        assert_eq!(elements(&square), elements(&whole(&[64, 64], DType::BF16)));
    }
    Ok(())
}

/// All elements in one place.
fn block_of_one(sizes: &[i64]) -> Tensor {
    let one = whole(&[1], DType::BF16);
    one.view_as(Geometry::strided(sizes, &vec![0; sizes.len()], 0).unwrap()).unwrap()
}

#[test]
fn nothing_far_away() -> Result<()> {
    let nothing = |sizes: &[i64], strides: &[i64]| -> Result<Tensor> {
        whole(&[64], DType::BF16).view_as(Geometry::strided(sizes, strides, MAX / 4)?)
    };
    let full = whole(&[64, 64], DType::BF16);
    check("no rows", Mm.call(&nothing(&[0, 64], &[MAX, MAX])?, &full), Sizes(&[0, 64]));
    check("no columns", Mm.call(&full, &nothing(&[64, 0], &[MAX, MAX])?), Sizes(&[64, 0]));
    let sums = Mm.call(&nothing(&[64, 0], &[MAX, MAX])?, &nothing(&[0, 64], &[MAX, MAX])?)?;
    assert_eq!(elements(&sums), vec![0.0; 64 * 64]);
    // The stride of an only matrix is never used.
    let stack = full.view_as(Geometry::strided(&[1, 64, 64], &[MAX, 64, 1], 0)?)?;
    assert_eq!(elements(&Bmm.call(&stack, &stack)?), expected(&full, &full)?);
    Ok(())
}

#[test]
fn convolutions_at_places_that_cannot_be_counted() -> Result<()> {
    let convolved = |image: &Tensor, filters: &Tensor, padding: i64| {
        Convolution.call(image, filters, None, &[1; 2], &[padding; 2], &[1; 2], false, &[0; 2], 1)
    };
    // So many places that their number is beyond 64 bits, of no filter and of some.
    let many = block_of_one(&[1 << 40, 8, 1, 1]);
    let none = block_of_one(&[1]).view_as(Geometry::strided(&[0, 8, 2, 2], &[1, 1, 1, 1], 0)?)?;
    check("no filters", convolved(&many, &none, 1 << 20), Refused("a multiple of the 1 groups"));
    check("some filters", convolved(&many, &block_of_one(&[4, 8, 2, 2]), 1 << 20), Refused("overflows"));
    let few = convolved(&block_of_one(&[4, 8, 9, 9]), &block_of_one(&[8, 8, 3, 3]), 0)?;
    assert_eq!(elements(&few), vec![72.0 * 9.0; 4 * 8 * 7 * 7], "each is -3");
    Ok(())
}
