//! A wrong kernel is found by the check that is there for it, and by no other that it passes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};

use opgrid_core::{DType, DispatchKey, Dispatcher, Error, ErrorKind, Registration, Result, Scalar, operator};
use opgrid_samples::{DTypeRule, Distribution, Expected, REAL, Sample, Samples, generate, given, number};
use opgrid_tensor::families::{DefineFamily, kind};
use opgrid_tensor::{Geometry, Tensor, ops};
use opgrid_testing::{Check, Suite};

operator! {
    pub Double = "flaws::double(Tensor self) -> Tensor", in_place, out;
    pub Same = "flaws::same(Tensor(a) self) -> Tensor(a)";
    pub Noise = "flaws::noise(int n) -> Tensor";
}

/// The kernels of one dispatcher; the default ones are right.
#[derive(Clone, Copy)]
struct Kernels {
    cpu: fn(&Tensor) -> Result<Tensor>,
    meta: fn(&Tensor) -> Result<Tensor>,
    in_place: fn(&Tensor) -> Result<()>,
    output: fn(&Tensor, &Tensor) -> Result<()>,
    same: fn(&Tensor) -> Result<Tensor>,
    noise: fn(i64) -> Result<Tensor>,
}

impl Default for Kernels {
    fn default() -> Self {
        Self { cpu: double, meta: double, in_place, output, same, noise }
    }
}

fn refuse(input: &Tensor) -> Result<()> {
    let message = match (REAL.contains(&input.dtype()), input.dim()) {
        (false, _) => "only integers and floats can be doubled",
        (_, 5..) => "five dimensions are too many",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::Argument, message))
}

fn double(input: &Tensor) -> Result<Tensor> {
    refuse(input)?;
    input.add(input)
}

fn in_place(input: &Tensor) -> Result<()> {
    refuse(input)?;
    ops::AddInplaceTensor.call(input, input, Scalar::Int(1))
}

fn output(input: &Tensor, out: &Tensor) -> Result<()> {
    refuse(input)?;
    ops::AddOut.call(input, input, Scalar::Int(1), out)
}

fn same(input: &Tensor) -> Result<Tensor> {
    Ok(input.clone())
}

fn noise(n: i64) -> Result<Tensor> {
    Tensor::rand(&[n], DType::F64, opgrid_core::Device::CPU)
}

fn register(dispatcher: &Dispatcher, kernels: Kernels) -> Result<Registration> {
    let mut library = dispatcher.library("flaws");
    library
        .define_with_forms(Double, &kind::POINTWISE_UNARY)
        .kernel(DispatchKey::Cpu, kernels.cpu)
        .kernel(DispatchKey::Meta, kernels.meta);
    let explicit = DispatchKey::CompositeExplicitAutograd;
    library.implement(DoubleInplace).kernel(explicit, kernels.in_place);
    library.implement(DoubleOut).kernel(explicit, kernels.output);
    library.define(Same).kernel(explicit, kernels.same);
    library.define(Noise).kernel(explicit, kernels.noise);
    library.finish()
}

fn samples() -> Samples {
    let mut samples = Samples::new();
    samples
        .operator(Double, REAL, generate::unary, |it| it.unary(DTypeRule::Promoted, |x| number::plus(x, x)))
        .refuses("five dimensions", given(generate::numbers(DType::F32, &[1, 1, 1, 1, 1], 0)));
    samples.operator(Same, REAL, only_real, |it| Ok(it.tensor("self")?.clone().into())).view();
    let drawn = |dtype| if dtype == DType::F64 { vec![given(2000), given(3)] } else { Vec::new() };
    samples.operator(Noise, &[DType::F64], drawn, |it| {
        Ok(Expected::Random(vec![it.value("n")?], DType::F64, Distribution::uniform(0.0, 1.0)))
    });
    samples
}

/// Undeclared dtypes have no samples, for `same` refuses none.
fn only_real(dtype: DType) -> Vec<Sample> {
    if REAL.contains(&dtype) { generate::unary(dtype) } else { Vec::new() }
}

/// Checks which checks these kernels fail.
fn check(name: &str, kernels: Kernels, expected: &[Check]) {
    check_some(name, kernels, Check::ALL, expected);
}

fn check_some(name: &str, kernels: Kernels, checks: &[Check], expected: &[Check]) {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let _flaws = register(&dispatcher, kernels).unwrap();
    let report = Suite::new(samples()).checks(checks).run(&dispatcher);
    let failed: BTreeSet<Check> = report.failures().iter().map(|failure| failure.check).collect();
    assert_eq!(failed, expected.iter().copied().collect(), "{name}\n{report}");
    assert_eq!(report.passed(), expected.is_empty(), "{name}");
}

#[test]
fn right_kernels_pass() {
    check("right", Kernels::default(), &[]);
}

#[test]
fn wrong_elements_are_found() {
    let wrong = |input: &Tensor| double(input)?.add(&Tensor::number(1));
    check(
        "one more",
        Kernels { cpu: wrong, ..Kernels::default() },
        &[Check::Reference, Check::Edges, Check::Strides],
    );
}

#[test]
fn another_shape_or_dtype_on_meta_is_found() {
    let flat = |input: &Tensor| ops::Unsqueeze.call(&double(input)?, 0);
    check("a dimension more", Kernels { meta: flat, ..Kernels::default() }, &[Check::Meta]);
    let floats = |input: &Tensor| {
        double(input)?;
        ops::EmptyLike.call(input, Some(DType::F32), None, None, None, None)
    };
    check("always floats", Kernels { meta: floats, ..Kernels::default() }, &[Check::Meta]);
}

#[test]
fn strides_that_are_not_looked_at_are_found() {
    let in_order = |input: &Tensor| {
        let rows = Geometry::contiguous(input.sizes())?.at_offset(input.geometry().offset())?;
        double(&input.view_as(rows)?)
    };
    check("rows", Kernels { cpu: in_order, ..Kernels::default() }, &[Check::Meta, Check::Strides]);
    let from_start = |input: &Tensor| double(&input.view_as(input.geometry().at_offset(0)?)?);
    check("no offset", Kernels { cpu: from_start, ..Kernels::default() }, &[Check::Strides]);
}

#[test]
fn another_result_in_place_is_found() {
    let thrice = |input: &Tensor| ops::AddInplaceTensor.call(input, input, Scalar::Int(2));
    check("thrice", Kernels { in_place: thrice, ..Kernels::default() }, &[Check::InPlace, Check::Dtypes]);
    let nothing = |input: &Tensor| refuse(input);
    check("nothing", Kernels { in_place: nothing, ..Kernels::default() }, &[Check::InPlace]);
}

#[test]
fn another_result_in_an_output_is_found() {
    let thrice = |input: &Tensor, out: &Tensor| ops::AddOut.call(input, input, Scalar::Int(2), out);
    check("thrice", Kernels { output: thrice, ..Kernels::default() }, &[Check::Output]);
    let converted = |input: &Tensor, out: &Tensor| ops::CopyInplace.call(out, &double(input)?, false);
    check("any dtype", Kernels { output: converted, ..Kernels::default() }, &[Check::Output]);
    let spilt = |input: &Tensor, out: &Tensor| {
        let offset = out.geometry().offset();
        if offset > 1 {
            let before = out.view_as(Geometry::strided(&[], &[], offset - 1)?)?;
            ops::FillInplaceScalar.call(&before, Scalar::Int(0))?;
        }
        output(input, out)
    };
    check("spilt", Kernels { output: spilt, ..Kernels::default() }, &[Check::Output]);
}

#[test]
fn an_error_that_does_not_come_is_found() {
    let careless =
        |input: &Tensor| if REAL.contains(&input.dtype()) { input.add(input) } else { double(input) };
    let kernels = Kernels { cpu: careless, meta: careless, ..Kernels::default() };
    check("five dimensions", kernels, &[Check::Refusals]);
    check("on meta only", Kernels { meta: careless, ..Kernels::default() }, &[Check::Refusals]);
}

#[test]
fn a_dtype_that_is_taken_and_not_declared_is_found() {
    let greedy = |input: &Tensor| match input.dim() {
        5.. => double(input),
        _ => input.add(input),
    };
    check("others", Kernels { cpu: greedy, ..Kernels::default() }, &[Check::Dtypes]);
}

#[test]
fn a_copy_in_place_of_a_view_is_found() {
    let copied = |input: &Tensor| ops::CloneTensor.call(input, None);
    check("a copy", Kernels { same: copied, ..Kernels::default() }, &[Check::Views]);
}

#[test]
fn typed_and_boxed_calls_that_differ_are_found() {
    static CALLS: AtomicI64 = AtomicI64::new(0);
    let counted = |input: &Tensor| {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        double(input)?.add(&Tensor::number(calls % 2))
    };
    check_some(
        "every second call",
        Kernels { cpu: counted, ..Kernels::default() },
        &[Check::Typed],
        &[Check::Typed],
    );
}

#[test]
fn random_numbers_without_a_seed_or_a_distribution_are_found() {
    static CALLS: AtomicI64 = AtomicI64::new(0);
    let unseeded = |n: i64| {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed);
        noise(n)?.mul(&Tensor::number(1.0 - calls as f64 * 1e-9))
    };
    check("unseeded", Kernels { noise: unseeded, ..Kernels::default() }, &[Check::Random]);
    let half = |n: i64| noise(n)?.mul(&Tensor::number(0.5));
    check("half of the range", Kernels { noise: half, ..Kernels::default() }, &[Check::Reference]);
    let far = |n: i64| noise(n)?.add(&Tensor::number(0.5));
    check("beyond the range", Kernels { noise: far, ..Kernels::default() }, &[Check::Reference]);
}

#[test]
fn a_panic_is_a_failure_that_names_it() {
    let delicate = |input: &Tensor| {
        assert!(input.numel() > 0, "there is nothing to double");
        double(input)
    };
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let _flaws = register(&dispatcher, Kernels { cpu: delicate, ..Kernels::default() }).unwrap();
    let report = Suite::new(samples()).checks(&[Check::Edges]).run(&dispatcher);
    let [first, ..] = report.failures() else { unreachable!("the panic was not found") };
    assert!(first.found.contains("the call panicked: there is nothing to double"), "{first}");
    assert_eq!((first.operator.as_str(), first.check), ("flaws::double", Check::Edges));
}

#[test]
fn a_report_names_failures_counts_and_what_was_left_out() {
    let wrong = |input: &Tensor| double(input)?.add(&Tensor::number(1));
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let _flaws = register(&dispatcher, Kernels { cpu: wrong, ..Kernels::default() }).unwrap();
    let suite = Suite::new(samples().only(|name| name == "flaws::double")).dtypes(&[DType::I64]);
    let report = suite.run(&dispatcher);
    let text = report.to_string();
    for part in [
        "flaws::double fails the check `reference`",
        "sample    (int64 [2, 3] (-9, -2, 5, 12, 19, -15))",
        "found     -17 at position 0 of int64 [2, 3] (-17,",
        "expected  -18 at position 0 of int64 [2, 3] (-18,",
        "flaws::double fails the check `reference` 5 times more",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(report.count("flaws::double", Check::Typed) > 0);
    let none = Suite::new(Samples::new()).run(&dispatcher);
    assert!(!none.passed(), "nothing checked is nothing passed");
}

#[test]
fn an_operator_that_is_not_there_is_a_failure() {
    let report = Suite::new(samples()).run(&Dispatcher::new());
    assert_eq!(report.failures().len(), 3, "{report}");
}
