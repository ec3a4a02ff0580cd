//! Loops over arrays, called from outside of their crates with what no operator would give them.

use half::{bf16, f16};
use opgrid_array::loops::access::{Access, Aliasing, Distinct};
use opgrid_array::loops::iter::fold::Typed;
use opgrid_array::loops::iter::parts::{produce, produce_two};
use opgrid_array::loops::iter::produce::Indices;
use opgrid_array::loops::iter::reduction::Reduction;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{self, Output, Target};
use opgrid_array::loops::{Function, elementwise};
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

/// `x³`, which panics at [`PANICS_AT`].
#[derive(Clone, Copy)]
struct Cube;

/// An element that [`Cube`] panics at.
const PANICS_AT: f32 = 1000.0;

impl Function<(f32,)> for Cube {
    type Output = f32;
    const IS_LONG: bool = true;

    fn call(self, (x,): (f32,)) -> f32 {
        assert!(x != PANICS_AT, "the function panics");
        x * x * x
    }
}

/// `x / 64 + 0.3`, as a function that is long.
#[derive(Clone, Copy)]
struct Scale;

impl Function<(f32,)> for Scale {
    type Output = f32;
    const IS_LONG: bool = true;

    fn call(self, (x,): (f32,)) -> f32 {
        x / 64.0 + 0.3
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
    assert!(
        Output::<i64>::from_target(Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart))
            .is_err()
    );
    assert!(
        Output::<f64>::of_size(Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart)).is_err()
    );
    for size in [0, 4, usize::MAX] {
        let target = Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart);
        let filled = produce(Output::<f32>::from_target(target).unwrap(), size, 1, |_, part| part.fill(2.0));
        assert!(filled.is_err(), "parts of {size}");
    }
    let y = floats(&[4]);
    let mut other = y.storage().write().unwrap();
    let outputs = (
        Output::<f32>::from_target(Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart))
            .unwrap(),
        Output::<f32>::from_target(Target::new(&mut other, Distinct::new(&y).unwrap(), Overlap::Apart))
            .unwrap(),
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

#[test]
fn long_functions_of_16_bit_floats_round_once_and_refuse_overlap() {
    for count in [0usize, 1, 63, 64, 65, 511, 513, 5000] {
        let halves: Vec<f16> = (0..count).map(|i| f16::from_f32((i % 37) as f32 * 0.37 - 6.0)).collect();
        let expected: Vec<f16> =
            halves.iter().map(|x| f16::from_f32(x.to_f32() * x.to_f32() * x.to_f32())).collect();
        let x = Array::from_slice(&halves, &[count as i64]).unwrap();
        let brain_floats = Array::from_slice(&vec![bf16::ZERO; count], &[count as i64]).unwrap();
        elementwise::unary_by::<bf16, f16>(&brain_floats, &x, Cube).unwrap();
        elementwise::unary_by::<f16, f16>(&x, &x, Cube).unwrap();
        assert_eq!(x.to_vec::<f16>().unwrap(), expected, "{count} in place");
        let expected: Vec<bf16> =
            halves.iter().map(|x| bf16::from_f32(x.to_f32() * x.to_f32() * x.to_f32())).collect();
        assert_eq!(brain_floats.to_vec::<bf16>().unwrap(), expected, "{count} to another dtype");
    }
    let halves: Vec<f16> = (0..600).map(|i| f16::from_f32(i as f32 / 100.0)).collect();
    let x = Array::from_slice(&halves, &[600]).unwrap();
    let part = |size, stride, offset| x.view(Geometry::strided(&[size], &[stride], offset).unwrap()).unwrap();
    let overlap = elementwise::unary_by::<f16, f16>(&part(500, 1, 0), &part(500, 1, 1), Cube).unwrap_err();
    assert!(overlap.to_string().contains("single memory location"), "{overlap}");
    let repeated = elementwise::unary_by::<f16, f16>(&part(4, 0, 0), &part(4, 1, 8), Cube).unwrap_err();
    assert!(repeated.to_string().contains("single memory location"), "{repeated}");
    // Every second element, from the one between them.
    elementwise::unary_by::<f16, f16>(&part(300, 2, 0), &part(300, 2, 1), Cube).unwrap();
    let after = x.to_vec::<f16>().unwrap();
    for i in 0..300 {
        let from = halves[2 * i + 1].to_f32();
        assert_eq!((after[2 * i], after[2 * i + 1]), (f16::from_f32(from * from * from), halves[2 * i + 1]));
    }
    let far = x.view(Geometry::strided(&[0], &[i64::MAX], 1 << 62).unwrap()).unwrap();
    elementwise::unary_by::<f16, f16>(&far, &far, Cube).unwrap();
}

#[test]
fn operands_of_other_dtypes_are_rounded_to_16_bits_first() {
    // 2049 is halfway between two neighbors of float16, 2048 and 2050.
    let (wide, rounded) = (2049i32, f16::from_f32(2048.0));
    for count in [1usize, 3, 64, 65, 1000] {
        let sizes = [count as i64];
        let ints = Array::from_slice(&vec![wide; count], &sizes).unwrap();
        let out = Array::from_slice(&vec![f16::ZERO; count], &sizes).unwrap();
        let scaled = |x: f16| f16::from_f32(x.to_f32() / 64.0 + 0.3);
        elementwise::unary_by::<f16, f16>(&out, &ints, Scale).unwrap();
        assert_eq!(out.to_vec::<f16>().unwrap(), vec![scaled(rounded); count], "{count} integers");
        // A result has the dtype of the function before it has that of the output.
        let floats = Array::from_slice(&vec![0.0f32; count], &sizes).unwrap();
        let thirds = Array::from_slice(&vec![f16::from_f32(0.1); count], &sizes).unwrap();
        elementwise::unary_by::<f16, f16>(&floats, &thirds, Scale).unwrap();
        let expected = scaled(f16::from_f32(0.1)).to_f32();
        assert_eq!(floats.to_vec::<f32>().unwrap(), vec![expected; count], "{count} results");
    }
}

#[test]
fn a_panic_in_a_function_of_16_bit_floats_gives_the_memory_back() {
    let x = Array::from_slice(&[f16::from_f32(2.0), f16::from_f32(PANICS_AT)], &[2]).unwrap();
    let out = Array::from_slice(&[f16::ONE; 2], &[2]).unwrap();
    let call = || elementwise::unary_by::<f16, f16>(&out, &x, Cube);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    drop(out.storage().write().unwrap());
    let after = out.to_vec::<f16>().unwrap();
    assert!([f16::ONE, f16::from_f32(8.0)].contains(&after[0]), "as it was, or the result: {after:?}");
    assert_eq!(after[1], f16::ONE, "there is no result for it");
}
