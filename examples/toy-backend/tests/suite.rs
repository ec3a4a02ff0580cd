//! The backend passes the suite that every backend has to pass: its own kernels, its own operator, and all that goes
//! through the CPU.

use opgrid::prelude::*;
use opgrid::samples::{Expected, Inputs, Plain, Sample, Samples, generate, number};
use opgrid_testing::Suite;
use toy_backend::{MultiplyAdd, device, register};

/// The samples of the backend's own operator, which exists for contiguous floats on its device only.
fn own() -> Samples {
    let mut samples = Samples::new();
    let misfit = generate::numbers(DType::F32, &[3], 0);
    samples
        .operator(MultiplyAdd, &[DType::F32], triples, multiply_then_add)
        .tolerance(2.0)
        .not_on_meta()
        .refuses("does not broadcast", generate::misfits().and(misfit));
    samples
}

fn triples(dtype: DType) -> Vec<Sample> {
    let sizes: [&[i64]; 4] = [&[2, 3], &[7], &[0], &[]];
    let floats = sizes.into_iter().filter(|_| dtype == DType::F32);
    floats
        .map(|sizes| {
            [1, 2, 3]
                .map(|seed| generate::numbers(dtype, sizes, seed))
                .into_iter()
                .fold(Sample::default(), Sample::and)
        })
        .collect()
}

fn multiply_then_add(it: &Inputs) -> Result<Expected> {
    let bias = it.tensor("bias")?;
    let [x, weight] = [it.tensor("self")?, it.tensor("weight")?];
    let sum = |place: &[i64]| number::plus(number::times(x.at(place), weight.at(place)), bias.at(place));
    Ok(Plain::from_fn(x.dtype(), x.sizes(), sum).into())
}

#[test]
fn the_backend_passes_the_suite() -> Result<()> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid::ops::register(&dispatcher)?;
    let _backend = register(&dispatcher)?;
    let mut report = Suite::new(opgrid::ops::samples()).device(device()?).run(&dispatcher);
    report.join(Suite::new(own()).device(device()?).run(&dispatcher));
    assert!(report.passed(), "{report}");
    Ok(())
}
