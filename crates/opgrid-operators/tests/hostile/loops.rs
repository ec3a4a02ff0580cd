//! Loops over arrays, called from outside of their crates with what no operator would give them.

use opgrid_array::loops::access::{Access, Aliasing, Distinct};
use opgrid_array::loops::iter::fold::Typed;
use opgrid_array::loops::iter::parts::{produce, produce_two};
use opgrid_array::loops::iter::produce::Indices;
use opgrid_array::loops::iter::reduction::Reduction;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{self, Output, Target};
use opgrid_array::{Array, Geometry};
use opgrid_kernels::indexing::{self, Lookup};

/// The sum of floats.
struct Sum;

impl Reduction for Sum {
    type In = f32;
    type Out = f32;
    type State = f32;

    fn start(&self) -> f32 {
        0.0
    }

    fn step(&self, sum: f32, value: f32, _: usize) -> f32 {
        sum + value
    }

    fn join(&self, one: f32, other: f32) -> f32 {
        one + other
    }

    fn finish(&self, sum: f32, _: usize) -> f32 {
        sum
    }
}

fn floats(sizes: &[i64]) -> Array {
    let count = sizes.iter().product::<i64>() as usize;
    Array::from_slice(&vec![1.0f32; count], sizes).unwrap()
}

/// A view of six floats.
fn view(sizes: &[i64], strides: &[i64], offset: i64) -> Array {
    floats(&[6]).view(Geometry::strided(sizes, strides, offset).unwrap()).unwrap()
}

#[test]
fn folds_take_only_dimensions_and_outputs_that_fit() {
    let x = floats(&[2, 3]);
    let wrong: [(&[i64], &[usize]); 7] = [
        (&[2], &[7]),
        (&[2], &[1, 1]),
        (&[2], &[1, 0]),
        (&[3], &[1]),
        (&[], &[1]),
        (&[2, 3], &[0]),
        (&[2], &[usize::MAX]),
    ];
    for (sizes, dims) in wrong {
        let error = iter::fold(&floats(sizes), &x, dims, &Typed(&Sum)).unwrap_err().to_string();
        assert!(error.contains("the output has shape"), "{sizes:?} over {dims:?}: {error}");
    }
    let ints = Array::from_slice(&[0i64, 0], &[2]).unwrap();
    assert!(
        iter::fold(&ints, &x, &[1], &Typed(&Sum))
            .unwrap_err()
            .to_string()
            .contains("expected a tensor of dtype")
    );
    let repeated = view(&[2], &[0], 0);
    assert!(
        iter::fold(&repeated, &x, &[1], &Typed(&Sum))
            .unwrap_err()
            .to_string()
            .contains("single memory location")
    );
    let row = x.view(Geometry::strided(&[2], &[3], 0).unwrap()).unwrap();
    assert!(
        iter::fold(&row, &x, &[1], &Typed(&Sum)).unwrap_err().to_string().contains("single memory location")
    );
    let far = view(&[0, 3], &[i64::MAX, 1], 1 << 62);
    let out = floats(&[3]);
    iter::fold(&out, &far, &[0], &Typed(&Sum)).unwrap();
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0; 3], "sums of nothing");
    let held = x.storage().write().unwrap();
    assert!(iter::fold(&out, &x, &[0], &Typed(&Sum)).is_err(), "somebody writes the input");
    drop(held);
}

#[test]
fn outputs_are_of_their_dtype_and_parts_fill_them() {
    let x = floats(&[6]);
    let mut guard = x.storage().write().unwrap();
    assert!(Output::<i64>::of(Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart)).is_err());
    assert!(
        Output::<f64>::of_size(Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart)).is_err()
    );
    for size in [0, 4, usize::MAX] {
        let target = Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart);
        let filled = produce(Output::<f32>::of(target).unwrap(), size, 1, |_, part| part.fill(2.0));
        assert!(filled.is_err(), "parts of {size}");
    }
    let y = floats(&[4]);
    let mut other = y.storage().write().unwrap();
    let outputs = (
        Output::<f32>::of(Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart)).unwrap(),
        Output::<f32>::of(Target::new(&mut other, Distinct::new(&y).unwrap(), Overlap::Apart)).unwrap(),
    );
    assert!(produce_two(outputs, 2, 1, |_, _, _| ()).unwrap_err().to_string().contains("one shape"));
    drop((guard, other));
    let elsewhere = floats(&[6]);
    let mut guard = elsewhere.storage().write().unwrap();
    let foreign = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _target = Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart);
    }));
    assert!(foreign.is_err(), "a guard is one of its own storage");
}

#[test]
fn what_is_lent_together_does_not_overlap() {
    let x = floats(&[6]);
    let [first, second] = [0, 1].map(|at| x.view(Geometry::strided(&[4], &[1], at).unwrap()).unwrap());
    for aliasing in [Aliasing::Never, Aliasing::InPlace] {
        assert!(Access::new(&first, [(&second, aliasing)]).is_err());
    }
    let mut access = Access::new(&first, [(&first, Aliasing::InPlace)]).unwrap();
    assert!(access.lend::<i64, f32>().is_err() && access.lend::<f32, u8>().is_err());
    assert!(x.storage().read().is_err(), "it is lent");
}

#[test]
fn indices_that_nobody_checked_are_refused() {
    assert!(Indices::below(3, &[0, 1, 3]).is_none());
    assert!(Indices::below(3, &[-1]).is_none() && Indices::below(0, &[0]).is_none());
    assert!(Indices::below(usize::MAX, &[i64::MIN]).is_none(), "a negative index is below no bound");
    let x = floats(&[6]);
    for wild in [6, -1, i64::MAX, i64::MIN] {
        let read = || {
            let offsets = Array::from_slice(&[0, wild], &[2]).unwrap();
            let lookup = Lookup::new(x.geometry(), 0..1, offsets).unwrap();
            (indexing::read(&floats(&[2]), &x, &lookup), indexing::write(&x, &floats(&[2]), &lookup))
        };
        // Offsets are made of indices that were checked; others end in a panic or an error, and read nothing of others.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
        assert!(ended.is_err() || matches!(ended, Ok((Err(_), _)) | Ok((_, Err(_)))), "offset {wild}");
    }
    assert_eq!(x.to_vec::<f32>().map(|all| all.len()).ok(), Some(6), "guards ended with the panic");
}
