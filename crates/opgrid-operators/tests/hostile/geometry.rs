//! Strides of single rows near the largest number, many dimensions, views that nobody would make.

use opgrid_core::{DType, Device};
use opgrid_tensor::{Array, Geometry, Tensor, TensorSpec};

use super::{Fine, MAX, Refused, Sizes, base, check, converted, view};

fn list(elements: &[i64]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

/// `[[1, 3, 5, 7]]`; the stride of its only row leads beyond everything.
fn row() -> Tensor {
    view(&[1, 4], &[MAX, 2], 0)
}

#[test]
fn the_stride_of_an_only_row_is_never_used() {
    let vector = |tensor: Tensor| tensor.to_vec::<f32>().unwrap();
    assert_eq!(vector(row()), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(vector(row().add(&view(&[1, 4], &[MAX, 1], 0)).unwrap()), [2.0, 5.0, 8.0, 11.0]);
    assert_eq!(vector(row().sum_dim(&[0], true).unwrap()), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(vector(row().sum_dim(&[1], true).unwrap()), [16.0]);
    assert_eq!(vector(row().flatten(0, -1).unwrap()), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(row().argmax(1).unwrap().to_vec::<i64>().unwrap(), [3]);
    assert_eq!(vector(row().index_select(0, &list(&[0, 0])).unwrap())[4..], [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(vector(row().index(&[Some(list(&[-1, 0]))]).unwrap())[4..], [1.0, 3.0, 5.0, 7.0]);
    let picked = row().gather(0, &list(&[0; 4]).reshape(&[1, 4]).unwrap()).unwrap();
    assert_eq!(vector(picked), [1.0, 3.0, 5.0, 7.0]);
    let written = row();
    written.add_(&view(&[1, 4], &[MAX - 1, 3], 0)).unwrap();
    assert_eq!(vector(written.clone()), [2.0, 7.0, 12.0, 17.0]);
    written.masked_fill_(&written.eq(7.0).unwrap(), 0.0).unwrap();
    let one = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
    written.index_put_(&[Some(list(&[-1, 0]))], &one, true).unwrap();
    assert_eq!(vector(written), [4.0, 2.0, 14.0, 19.0]);
    let between = view(&[2, 1, 2], &[2, MAX, 1], 0);
    between.copy_(&view(&[2, 1, 2], &[1, MAX, 2], 8)).unwrap();
    assert_eq!(vector(between), [9.0, 11.0, 10.0, 12.0]);
    let out = view(&[1, 4], &[MAX, 2], 0);
    opgrid_kernels::reduce::sum(&out, &view(&[3, 4], &[4, 1], 0), &[0], DType::F32).unwrap();
    assert_eq!(vector(out), [15.0, 18.0, 21.0, 24.0]);
}

#[test]
fn products_take_it() {
    let cases = [
        ("one row by one column", view(&[1, 4], &[MAX, 1], 0), view(&[4, 1], &[1, MAX], 0), vec![30.0]),
        ("with gaps", view(&[1, 4], &[MAX, 2], 0), view(&[4, 1], &[2, MAX - 5], 0), vec![84.0]),
        ("outer", view(&[2, 1], &[1, MAX], 0), view(&[1, 2], &[MAX, 1], 2), vec![3.0, 4.0, 6.0, 8.0]),
        ("one element", view(&[1, 1], &[MAX, MAX], 3), view(&[1, 1], &[MAX, MAX], 4), vec![20.0]),
        ("a long row", view(&[1, 20], &[MAX, 1], 0), view(&[20, 1], &[1, MAX], 0), vec![2870.0]),
        ("a row by rows", view(&[1, 2], &[MAX / 3, 1], 0), view(&[2, 2], &[2, 1], 0), vec![7.0, 10.0]),
        ("nothing between", view(&[2, 0], &[MAX, MAX], MAX), view(&[0, 1], &[MAX, MAX], MAX), vec![0.0; 2]),
    ];
    for (name, a, b, expected) in cases {
        for dtype in
            [DType::F32, DType::F64, DType::I64, DType::F16, DType::BF16, DType::Complex64, DType::I8]
        {
            let (a, b) = (of_dtype(&a, dtype), of_dtype(&b, dtype));
            let product = a.mm(&b).unwrap_or_else(|error| panic!("{name} of {dtype}: {error}"));
            // What is more than a byte holds wraps around, and what 16 bits hold is rounded.
            if matches!(dtype, DType::F32 | DType::F64 | DType::I64 | DType::Complex64) {
                let found = converted(&product, DType::F64).to_vec::<f64>().unwrap();
                assert_eq!(found, expected, "{name} of {dtype}");
            }
        }
        let stacked = a.unsqueeze(0).unwrap().bmm(&b.unsqueeze(0).unwrap()).unwrap();
        let found: Vec<f64> = stacked.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect();
        assert_eq!(found, expected, "{name} in a stack");
    }
    let stack = |strides: [i64; 3], sizes: [i64; 3]| view(&sizes, &strides, 0);
    let product = stack([MAX, 4, 1], [1, 2, 4]).bmm(&stack([MAX, 2, 1], [1, 4, 2])).unwrap();
    assert_eq!(product.to_vec::<f32>().unwrap(), [50.0, 60.0, 114.0, 140.0]);
}

/// Reinterprets the elements, with the same sizes, strides and offset, as another dtype.
fn of_dtype(tensor: &Tensor, dtype: DType) -> Tensor {
    converted(&base(), dtype).view_as(tensor.geometry().clone()).unwrap()
}

#[test]
fn views_at_the_ends_of_the_ranges() {
    let x = || view(&[1, 4], &[MAX, 2], 1);
    let cases = [
        ("reshape", view(&[1, 4, 1], &[MAX, 2, MAX], 0).reshape(&[4]), Sizes(&[4])),
        ("reshape to too many", x().reshape(&[-1, 2, 1, MAX]), Refused("overflows 64 bits")),
        ("view", base().view(&[i64::MIN, -1]), Refused("invalid shape dimension -9223372036854775808")),
        ("expand to too many", x().expand(&[1, MAX, 1, 4]), Refused("overflows 64 bits")),
        ("expand of one", view(&[1], &[MAX], 0).expand(&[MAX, MAX]), Refused("overflows 64 bits")),
        ("expand to a hundred dims", x().expand(&[1; 100]), Refused("must match the existing size")),
        (
            "expand to 65 dims",
            view(&[1], &[1], 0).expand(&[1; 65]),
            Refused("found 65 dimensions, expected at most 64"),
        ),
        ("select", x().select(0, i64::MIN), Refused("index -9223372036854775808 out of range")),
        ("slice", x().slice(1, i64::MIN, MAX, MAX), Sizes(&[1, 1])),
        ("slice from the end", x().slice(1, MAX, i64::MIN, 1), Sizes(&[1, 0])),
        ("transpose", x().transpose(i64::MIN, MAX), Refused("dimension out of range")),
        ("permute", x().permute(&[i64::MIN, MAX]), Refused("dimension out of range")),
        ("unsqueeze", x().unsqueeze(MAX), Refused("dimension out of range")),
        ("unsqueeze before", x().unsqueeze(0), Sizes(&[1, 1, 4])),
        ("squeeze", x().squeeze(0), Sizes(&[4])),
        ("beyond the memory", base().as_strided(&[2], &[MAX], None), Refused("exceed the address space")),
        (
            "beyond the memory by one",
            base().as_strided(&[64], &[1], Some(1)),
            Refused("out of bounds for storage of size 256"),
        ),
        ("beyond all numbers", base().as_strided(&[1], &[1], Some(MAX)), Refused("exceed the address space")),
        (
            "bytes beyond all numbers",
            base().as_strided(&[1], &[1], Some(MAX - 1)),
            Refused("storage size overflows"),
        ),
        ("an element repeated for ever", view(&[MAX], &[0], 0).add(1), Refused("storage size overflows")),
        (
            "repeated too often for memory",
            view(&[1], &[1], 0).expand(&[1i64 << 40]).and_then(|x| x.add(&x)),
            Refused("no memory for"),
        ),
        ("as a list", view(&[MAX], &[0], 0).to_vec::<f32>().map(|_| base()), Refused("no memory for a list")),
        (
            "joined",
            Tensor::cat(
                &[view(&[MAX / 2], &[0], 0), view(&[MAX / 2], &[0], 0), view(&[MAX / 2], &[0], 0)],
                0,
            ),
            Refused("overflows 64 bits"),
        ),
        (
            "memory",
            Array::empty(TensorSpec::contiguous(&[MAX / 8], DType::F64, Device::CPU).unwrap())
                .and_then(Tensor::from_array),
            Refused("no memory for"),
        ),
    ];
    for (name, found, expected) in cases {
        check(name, found, expected);
    }
    let lists = [
        ("65 sizes", Geometry::strided(&[1; 65], &[1; 65], 0), "found 65 dimensions, expected at most 64"),
        ("a thousand", Geometry::contiguous(&[1; 1000]), "found 1000 dimensions, expected at most 64"),
        ("the smallest size", Geometry::contiguous(&[i64::MIN]), "negative dimension"),
        ("the smallest stride", Geometry::strided(&[1], &[i64::MIN], 0), "negative strides"),
        ("the smallest offset", Geometry::strided(&[1], &[1], i64::MIN), "is negative"),
    ];
    for (name, found, words) in lists {
        let error = found.unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn sixty_four_dimensions() {
    let mut sizes = vec![1; 62];
    sizes.extend([2, 4]);
    let deep = view(&[8], &[1], 0).reshape(&sizes).unwrap();
    assert_eq!(deep.add(&deep).unwrap().to_vec::<f32>().unwrap()[7], 16.0);
    assert_eq!(deep.sum_dim(&[63, -64, 5], true).unwrap().to_vec::<f32>().unwrap(), [10.0, 26.0]);
    assert_eq!(deep.matmul(&deep.transpose(-1, -2).unwrap()).unwrap().dim(), 64);
    let index = list(&[0; 4]).reshape(&[1, 1, 1, 4]).unwrap();
    check("unsqueeze", deep.unsqueeze(0), Refused("found 65 dimensions"));
    check("index", deep.index(&[Some(index)]), Refused("found 67 dimensions"));
    check("stack", Tensor::stack(&[deep.clone(), deep.clone()], 0), Refused("found 65 dimensions"));
    check("print", Ok(deep), Fine);
}
