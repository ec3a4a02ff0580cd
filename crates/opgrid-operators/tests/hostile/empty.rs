//! Tensors without elements may have any offset and any strides; nothing is read or written there.

use opgrid_core::{DType, Device, Scalar};
use opgrid_kernels::{Input, Output, elementwise, products, reduce, sequence};
use opgrid_tensor::ops::{FftC2c, FftC2cOut, FftC2r, FftR2c};
use opgrid_tensor::{Array, Geometry, Tensor};

use super::{Fine, MAX, Refused, Sizes, base, check, converted, view};

const OFFSETS: [i64; 7] = [0, 14, 64, 1 << 20, 1 << 44, MAX / 4, MAX];

fn list(elements: &[i64]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

#[test]
fn a_reduction_of_no_elements_reads_none() {
    for offset in OFFSETS {
        for strides in [[0, 1], [1, 0], [MAX, MAX], [3, 1], [0, 0]] {
            let rows = view(&[0, 3], &strides, offset);
            let columns = view(&[3, 0], &strides, offset);
            for (tensor, dim) in [(&rows, 0), (&columns, 1)] {
                let name = format!("{:?}", tensor.geometry());
                let sum = tensor.sum_dim(&[dim], false).unwrap();
                assert_eq!(sum.to_vec::<f32>().unwrap(), [0.0; 3], "{name}");
                let mean = tensor.mean_dim(&[dim], true).unwrap().to_vec::<f32>().unwrap();
                assert!(mean.iter().all(|mean| mean.is_nan()) && mean.len() == 3, "{name}");
                assert_eq!(tensor.sum().unwrap().to_vec::<f32>().unwrap(), [0.0], "{name}");
                check(&name, tensor.amax(&[dim], false), Refused("expected at least one element"));
                check(&name, tensor.argmax(dim), Refused("expected at least one element"));
                let kept = tensor.sum_dim(&[1 - dim], false).unwrap();
                assert_eq!(kept.numel(), 0, "{name}");
            }
        }
    }
}

#[test]
fn reductions_write_every_result_of_no_elements() {
    // More results than a thread takes, in memory that was never written, over dimensions of every kind.
    let wide = view(&[300, 0, 700], &[0, 5, 0], MAX);
    let sum = wide.sum_dim(&[1], false).unwrap();
    assert_eq!((sum.sizes(), sum.to_vec::<f32>().unwrap()), ([300, 700].as_slice(), vec![0.0; 210_000]));
    let out = base().as_strided(&[4, 3], &[1, 5], Some(2)).unwrap();
    reduce::sum(&out, &view(&[4, 0, 3], &[1, 1, 1], 1 << 50), &[1], DType::F32).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0; 12]);
}

#[test]
fn operators_take_them() {
    for offset in OFFSETS {
        let none = || view(&[0], &[1], offset);
        let wide = || view(&[0, 4], &[MAX, MAX], offset);
        let mask = || none().eq(1.0).unwrap();
        let cases = [
            ("fill_", none().fill_(1.0).map(|_| none()), Sizes(&[0])),
            ("mul_scalar_", wide().mul_(2).map(|_| wide()), Sizes(&[0, 4])),
            ("add_ of one", none().add_(&base().sum().unwrap()).map(|_| none()), Sizes(&[0])),
            ("add", none().add(&none()), Sizes(&[0])),
            ("add of one row", wide().add(&view(&[1, 4], &[MAX, 1], 0)), Sizes(&[0, 4])),
            ("add_scalar", none().add(1), Sizes(&[0])),
            ("neg", none().neg(), Sizes(&[0])),
            ("rsub_scalar", wide().rsub(1), Sizes(&[0, 4])),
            ("copy_", wide().copy_(&none().unsqueeze(1).unwrap()).map(|_| wide()), Sizes(&[0, 4])),
            ("converted", Ok(converted(&wide(), DType::F64)), Sizes(&[0, 4])),
            ("contiguous", wide().contiguous(), Sizes(&[0, 4])),
            ("sum", none().sum(), Sizes(&[])),
            ("mean", none().mean(), Sizes(&[])),
            ("all", mask().all(), Sizes(&[])),
            ("amax", none().amax((), false), Refused("no elements to reduce")),
            ("mm, no rows", wide().mm(&view(&[4, 2], &[2, 1], 0)), Sizes(&[0, 2])),
            ("mm, no columns", view(&[2, 4], &[4, 1], 0).mm(&wide().t().unwrap()), Sizes(&[2, 0])),
            ("mm, nothing between", wide().t().unwrap().mm(&wide()), Sizes(&[4, 4])),
            ("bmm", wide().unsqueeze(1).unwrap().bmm(&wide().unsqueeze(2).unwrap()), Sizes(&[0, 1, 1])),
            ("matmul", wide().t().unwrap().matmul(&none()), Sizes(&[4])),
            ("cat", Tensor::cat(&[view(&[1, 4], &[MAX, 2], 0), wide()], 0), Sizes(&[1, 4])),
            ("stack", Tensor::stack(&[wide(), wide()], 1), Sizes(&[0, 2, 4])),
            ("where", Tensor::where_(&mask(), &none(), &none()), Sizes(&[0])),
            ("masked_fill_", none().masked_fill_(&mask(), 2.0).map(|_| none()), Sizes(&[0])),
            ("index by a list", wide().index(&[Some(list(&[]))]), Sizes(&[0, 4])),
            ("index by a mask", none().index(&[Some(mask())]), Sizes(&[0])),
            ("index of none", wide().index(&[Some(list(&[0]))]), Refused("size 0")),
            ("index between", wide().index(&[None, Some(list(&[3, -4]))]), Sizes(&[0, 2])),
            ("index_select", wide().index_select(1, &list(&[3, 0])), Sizes(&[0, 2])),
            ("index_select of none", wide().index_select(0, &list(&[])), Sizes(&[0, 4])),
            ("gather", wide().gather(1, &list(&[]).reshape(&[0, 1]).unwrap()), Sizes(&[0, 1])),
            ("reshape", wide().reshape(&[2, 0, 7]), Sizes(&[2, 0, 7])),
            ("flatten", wide().flatten(0, 1), Sizes(&[0])),
            ("expand", wide().expand(&[5, 0, 4]), Sizes(&[5, 0, 4])),
        ];
        for (name, found, expected) in cases {
            check(&format!("{name} at {offset}"), found, expected);
        }
        let out = wide();
        let put = out.index_put_(&[Some(list(&[]))], &Tensor::from_slice(&[1.0f32], &[1]).unwrap(), true);
        check(&format!("index_put_ at {offset}"), put.cloned(), Sizes(&[0, 4]));
        assert!(wide().to_vec::<f32>().unwrap().is_empty());
        // Views that would begin beyond all numbers are refused.
        for (name, found, sizes) in
            [("slice", wide().slice(1, 1, 3, 1), [0, 2].as_slice()), ("select", wide().select(1, 3), &[0])]
        {
            match found {
                Ok(view) => assert_eq!(view.sizes(), sizes, "{name} at {offset}"),
                found => check(name, found, Refused("the address space")),
            }
        }
    }
}

#[test]
fn offsets_stay_as_they_were_given() {
    for offset in OFFSETS {
        let none = base().as_strided(&[0, 3], &[7, 9], Some(offset)).unwrap();
        assert_eq!(
            (none.geometry().offset(), none.strides()),
            (offset, [7, 9].as_slice()),
            "as torch shows them"
        );
        assert_eq!(none.transpose(0, 1).unwrap().geometry().offset(), offset);
    }
}

#[test]
fn sizes_near_the_largest_number_stay_sizes() {
    let cases = [
        ("sum over all but none", view(&[0, MAX], &[MAX, MAX], MAX).sum_dim(&[1], false), Sizes(&[0])),
        (
            "too many results",
            view(&[MAX, 0], &[MAX, MAX], MAX).sum_dim(&[1], false),
            Refused("storage size overflows"),
        ),
        (
            "mm, too many results",
            view(&[MAX, 0], &[1, 1], MAX).mm(&view(&[0, MAX], &[1, 1], MAX)),
            Refused("overflows 64 bits"),
        ),
        (
            "mm, no rows of so many",
            view(&[0, MAX], &[1, 1], 9).mm(&view(&[MAX, 0], &[1, 1], 9)),
            Sizes(&[0, 0]),
        ),
        ("add", view(&[MAX, 0], &[1, 1], 9).add(&view(&[MAX, 0], &[0, 0], 3)), Sizes(&[MAX, 0])),
        (
            "cat along none",
            Tensor::cat(&[view(&[MAX, 0], &[1, 1], 9), view(&[MAX, 0], &[2, 7], 3)], 1),
            Sizes(&[MAX, 0]),
        ),
        (
            "index behind",
            view(&[MAX / 3, 3, 0], &[1, 1, 1], 9).index(&[None, Some(list(&[0, 2]))]),
            Sizes(&[MAX / 3, 2, 0]),
        ),
        ("index before", view(&[MAX / 3, 3, 0], &[1, 1, 1], 9).index(&[None, None, Some(list(&[]))]), Fine),
    ];
    for (name, found, expected) in cases {
        match (found, expected) {
            // Those of so many sizes are not printed by `check`, but here.
            (found, Sizes(sizes)) => assert_eq!(found.unwrap().sizes(), sizes, "{name}"),
            (found, expected) => check(name, found, expected),
        }
    }
}

#[test]
fn kernels_take_them() {
    let eight = Array::from_slice(&[1.0f32; 8], &[8]).unwrap();
    for offset in OFFSETS {
        let none = |sizes: &[i64], strides: &[i64]| {
            eight.view(Geometry::strided(sizes, strides, offset).unwrap()).unwrap()
        };
        let list = none(&[0], &[0]);
        elementwise::fill(&list, Scalar::Int(1)).unwrap();
        elementwise::copy(&list, &list).unwrap();
        elementwise::unary::<f32, f32>(
            &list,
            &eight.view(Geometry::contiguous(&[1]).unwrap()).unwrap(),
            |x| -x,
        )
        .unwrap();
        elementwise::binary::<f32, f64, i64>(&list, &list, &list, |x, _| x as f32).unwrap();
        sequence::numbered(&list, |i| i as f32).unwrap();
        let total = Array::from_slice(&[5.0f32], &[]).unwrap();
        reduce::sum(&total, &list, &[], DType::F32).unwrap();
        assert_eq!(total.to_vec::<f32>().unwrap(), [0.0]);
        let square = Array::from_slice(&[5.0f32; 4], &[2, 2]).unwrap();
        products::multiply(&square, &none(&[2, 0], &[MAX, MAX]), &none(&[0, 2], &[MAX, MAX])).unwrap();
        assert_eq!(square.to_vec::<f32>().unwrap(), [0.0; 4]);
        let geometry = Geometry::strided(&[0, 2], &[3, 1], offset).unwrap();
        assert!(Input::new(&[0i64; 0], &geometry).is_ok());
        assert!(Output::new(&mut [0i64; 0], &geometry).is_ok());
    }
    assert_eq!(eight.to_vec::<f32>().unwrap(), [1.0; 8], "nothing was written");
}

/// Lines are planned by their length, which says nothing about memory where there are none.
#[test]
fn transforms() {
    const HALF: i64 = MAX / 2 + 1;
    let nothing = |sizes| view(sizes, &[1, 1], MAX / 8);
    check("of real numbers", FftR2c.call(&nothing(&[0, MAX]), &[1], 0, true), Sizes(&[0, HALF]));
    check("to both halves", FftR2c.call(&nothing(&[0, MAX]), &[1], 0, false), Sizes(&[0, MAX]));
    let complex = converted(&view(&[0, 3], &[1, 1], MAX / 8), DType::Complex64);
    check("of complex numbers", FftC2c.call(&complex, &[1], 0, true), Sizes(&[0, 3]));
    check("to real numbers", FftC2r.call(&complex, &[1], 0, 4), Sizes(&[0, 4]));
    check(
        "to more than there are",
        FftC2r.call(&complex, &[1], 0, MAX),
        Refused("at least half as many elements"),
    );
    check("of lines without elements", FftC2c.call(&complex, &[0], 0, true), Sizes(&[0, 3]));
    check(
        "of real lines without elements",
        FftR2c.call(&nothing(&[0, 3]), &[0], 0, true),
        Refused("expected at least 1"),
    );
    check("to lines without elements", FftC2r.call(&complex, &[1], 0, 0), Refused("expected at least 1"));
    // An output in the memory of the input.
    let memory = Tensor::zeros(&[9], DType::Complex64, Device::CPU).unwrap();
    let at = |offset| memory.view_as(Geometry::strided(&[8], &[1], offset).unwrap()).unwrap();
    let beside = FftC2cOut.call(&at(0), &[0], 0, true, &at(1)).map(|()| at(1));
    check("beside itself", beside, Refused("refer to a single memory location"));
}
