//! Tensors large enough for loops to be split between threads, in every order in memory.

use opgrid_core::{Complex64, DType, Dispatcher, Result, Scalar};
use opgrid_samples::{DTypeRule, Expected, Inputs, Sample, Samples, generate, given, number};
use opgrid_tensor::ops;
use opgrid_testing::{Check, Suite};

const SIZES: &[i64] = &[380, 390];
const DTYPES: &[DType] = &[DType::F32];

fn one(dtype: DType) -> Vec<Sample> {
    vec![given(generate::numbers(dtype, SIZES, 1))]
}

fn two(dtype: DType) -> Vec<Sample> {
    let (x, row) = (generate::numbers(dtype, SIZES, 1), generate::numbers(dtype, &SIZES[1..], 2));
    vec![given(x.clone()).and(generate::numbers(dtype, SIZES, 2)), given(x).and(row)]
}

fn over_each_dim(dtype: DType) -> Vec<Sample> {
    let x = generate::numbers(dtype, SIZES, 1);
    [vec![0], vec![1], vec![0, 1]].map(|dims: Vec<i64>| given(x.clone()).and(dims)).to_vec()
}

fn sum(it: &Inputs) -> Result<Expected> {
    let (x, dims): (_, Vec<i64>) = (it.tensor("self")?, it.value("dim")?);
    let total = |elements: &[Scalar]| elements.iter().copied().reduce(number::plus).unwrap_or(Scalar::Int(0));
    Ok(x.reduced(Some(&dims), false, x.dtype(), total).into())
}

fn samples() -> Samples {
    let mut samples = Samples::new();
    samples.operator(ops::AddTensor, DTYPES, two, |it| it.binary(DTypeRule::Promoted, number::plus));
    samples.operator(ops::MulTensor, DTYPES, two, |it| it.binary(DTypeRule::Promoted, number::times));
    samples.operator(ops::EqTensor, DTYPES, two, |it| {
        it.binary(DTypeRule::Bool, |a, b| Scalar::Bool(number::same(a, b)))
    });
    let exp = |it: &Inputs| it.inexact(f64::exp, Complex64::exp);
    samples.operator(ops::Exp, DTYPES, one, exp).tolerance(4.0);
    samples.operator(ops::CloneTensor, DTYPES, one, |it| Ok(it.tensor("self")?.clone().into()));
    samples.operator(ops::SumDim, DTYPES, over_each_dim, sum).tolerance(4.0);
    samples
}

#[test]
fn large_tensors_are_as_small_ones() {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let checks = [Check::Reference, Check::Strides, Check::InPlace, Check::Meta, Check::Typed];
    let report = Suite::new(samples()).dtypes(DTYPES).checks(&checks).run(&dispatcher);
    assert!(report.passed(), "{report}");
}
