//! The calls that are measured: through a static overload, by values, and through layers.
//!
//! Every case makes its calls in a loop of its own, so that nothing but the loop's counter comes on top. The kernels
//! are never inlined: a dispatcher is called with kernels that it does not know.

use std::hint::black_box;

use opgrid::Registration;
use opgrid::dispatch::{ExcludeGuard, IncludeGuard, Returns, TensorType, ValueRef};
use opgrid::prelude::*;

use opgrid_bench::clock::{self, Effort};
use opgrid_bench::{Case, Measured, find, times};

operator! {
    pub Nothing1 = "bench::nothing1(Tensor a) -> ()";
    pub Nothing2 = "bench::nothing2(Tensor a, Tensor b) -> ()";
    pub Nothing4 = "bench::nothing4(Tensor a, Tensor b, Tensor c, Tensor d) -> ()";
    pub Same1 = "bench::same1(Tensor a) -> Tensor";
    pub Same2 = "bench::same2(Tensor a, Tensor b) -> Tensor";
    pub Same4 = "bench::same4(Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor";
    pub CpuOnly = "bench::cpu_only(Tensor a, Tensor b) -> ()";
    pub CpuOnlyHandle = "bench::cpu_only_handle(Tensor a, Tensor b) -> Tensor";
    pub Layered = "bench::layered(Tensor a, Tensor b) -> Tensor";
}

#[inline(never)]
fn nothing1(_: &Tensor) -> Result<()> {
    Ok(())
}

#[inline(never)]
fn nothing2(_: &Tensor, _: &Tensor) -> Result<()> {
    Ok(())
}

#[inline(never)]
fn nothing4(_: &Tensor, _: &Tensor, _: &Tensor, _: &Tensor) -> Result<()> {
    Ok(())
}

#[inline(never)]
fn same1(a: &Tensor) -> Result<Tensor> {
    Ok(a.clone())
}

#[inline(never)]
fn same2(a: &Tensor, _: &Tensor) -> Result<Tensor> {
    Ok(a.clone())
}

#[inline(never)]
fn same4(a: &Tensor, _: &Tensor, _: &Tensor, _: &Tensor) -> Result<Tensor> {
    Ok(a.clone())
}

/// A layer that calls the whole operator again, under a guard against itself.
fn layer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let _guard = ExcludeGuard::below_adinplace_or_view();
    Layered.call(a, b)
}

/// The layer of the boxed hook: a key that no operator has kernels for.
const HOOK: DispatchKey = DispatchKey::TestingOnlyGenericMode;

fn register() -> Result<Registration> {
    let mut library = opgrid::dispatcher()?.library("bench");
    let (cpu, autograd) = (DispatchKey::Cpu, DispatchKey::Autograd);
    library.define(Nothing1).kernel(cpu, nothing1).fallthrough(autograd);
    library.define(Nothing2).kernel(cpu, nothing2).fallthrough(autograd);
    library.define(Nothing4).kernel(cpu, nothing4).fallthrough(autograd);
    library.define(Same1).kernel(cpu, same1).fallthrough(autograd);
    library.define(Same2).kernel(cpu, same2).fallthrough(autograd);
    library.define(Same4).kernel(cpu, same4).fallthrough(autograd);
    library.define(CpuOnly).kernel(cpu, nothing2);
    library.define(CpuOnlyHandle).kernel(cpu, same2);
    library.define(Layered).kernel(cpu, same2).kernel(autograd, layer);
    let mut registration = library.finish()?;
    let mut hooks = Dispatcher::global().implementations("_", None);
    hooks.fallback(Kernel::boxed(|call| call.below()).at(HOOK));
    registration.join(hooks.finish()?);
    registration.join(others()?);
    Ok(registration)
}

/// As many operators as libtorch has, so that names are looked up among equally many.
fn others() -> Result<Registration> {
    let mut library = Dispatcher::global().library("others");
    for number in 0..3_485 {
        library.define(format!("operator_{number}(Tensor a) -> Tensor").as_str());
    }
    library.finish()
}

/// What the cases work on.
pub struct Subject {
    a: Tensor,
    b: Tensor,
    same1: OperatorHandle,
    same2: OperatorHandle,
    same4: OperatorHandle,
    _registration: Registration,
}

impl Subject {
    fn new() -> Result<Self> {
        let registration = register()?;
        let dispatcher = Dispatcher::global();
        let tensor = || Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3]);
        Ok(Self {
            a: tensor()?,
            b: tensor()?,
            same1: dispatcher.find("bench::same1")?,
            same2: dispatcher.find("bench::same2")?,
            same4: dispatcher.find("bench::same4")?,
            _registration: registration,
        })
    }
}

const CASES: [Case<Subject>; 13] = [
    ("direct_call_2", |subject, count| {
        let kernel: fn(&Tensor, &Tensor) -> Result<()> = black_box(nothing2);
        times(count, || kernel(&subject.a, &subject.b))
    }),
    ("typed_call_1", |subject, count| times(count, || Nothing1.call(&subject.a))),
    ("typed_call_2", |subject, count| times(count, || Nothing2.call(&subject.a, &subject.b))),
    ("typed_call_4", |subject, count| {
        let Subject { a, b, .. } = subject;
        times(count, || Nothing4.call(a, b, a, b))
    }),
    ("cpu_only_call", |subject, count| times(count, || CpuOnly.call(&subject.a, &subject.b))),
    ("cpu_only_call_handle", |subject, count| times(count, || CpuOnlyHandle.call(&subject.a, &subject.b))),
    ("layer_redispatch", |subject, count| times(count, || Layered.call(&subject.a, &subject.b))),
    ("boxed_call_1", |subject, count| {
        times(count, || boxed(&subject.same1, &[ValueRef::from(subject.a.as_any())]))
    }),
    ("boxed_call_2", |subject, count| {
        let (a, b) = (subject.a.as_any(), subject.b.as_any());
        times(count, || boxed(&subject.same2, &[ValueRef::from(a), ValueRef::from(b)]))
    }),
    ("boxed_call_4", |subject, count| {
        let (a, b) = (subject.a.as_any(), subject.b.as_any());
        let args = || [ValueRef::from(a), ValueRef::from(b), ValueRef::from(a), ValueRef::from(b)];
        times(count, || boxed(&subject.same4, &args()))
    }),
    ("boxed_hook", |subject, count| {
        let _hooked = IncludeGuard::new(HOOK);
        times(count, || Same2.call(&subject.a, &subject.b))
    }),
    ("guard", |_, count| {
        times(count, || {
            let _guard = ExcludeGuard::below_autograd();
            black_box(());
            Ok(())
        })
    }),
    ("find_operator", |_, count| {
        let dispatcher = Dispatcher::global();
        times(count, || dispatcher.find(black_box("aten::add.Tensor")))
    }),
];

#[inline(always)]
fn boxed(operator: &OperatorHandle, args: &[ValueRef<'_>]) -> Result<()> {
    let mut returns = Returns::new();
    operator.call_boxed(args, &mut returns)?;
    black_box(&returns);
    Ok(())
}

/// The best time of each call. The direct call is there to be counted only.
///
/// # Errors
///
/// That of a call, or of the registration.
pub fn measure(effort: Effort) -> Result<Vec<Measured>> {
    let subject = Subject::new()?;
    let timed = CASES.iter().filter(|(name, _)| *name != "direct_call_2");
    timed
        .map(|(name, case)| Ok(((*name).into(), clock::best(effort, |count| case(&subject, count))?)))
        .collect()
}

/// Runs one case `count` times.
///
/// # Errors
///
/// There is no such case; else that of the call.
pub fn repeat(name: &str, count: u32) -> Result<()> {
    let (_, case) = find(name, CASES.iter())?;
    case(&Subject::new()?, count)
}
