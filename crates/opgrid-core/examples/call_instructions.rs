//! The program that `cargo xtask instructions` runs: each case makes the same call `n` times and nothing else.
//!
//! Counts include the loop around the call, the kernel (one to three instructions) and the way back. The case `kernel`
//! is the same loop around the kernel alone, so that the difference is what dispatching costs.

use std::hint::black_box;
use std::process::ExitCode;

use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, DispatchKeySet, Dispatcher, ExcludeGuard, Kernel, OperatorHandle,
    Registration, Result, Returns, TensorData, ValueRef, operator,
};

operator! {
    pub Nothing1 = "count::nothing1(Tensor a) -> ()";
    pub Nothing2 = "count::nothing2(Tensor a, Tensor b) -> ()";
    pub Nothing4 = "count::nothing4(Tensor a, Tensor b, Tensor c, Tensor d) -> ()";
    pub Same2 = "count::same2(Tensor a, Tensor b) -> Tensor";
    pub Layered2 = "count::layered2(Tensor a, Tensor b) -> ()";
    pub Hooked2 = "count::hooked2(Tensor a, Tensor b) -> ()";
}

struct Bare;

impl TensorData for Bare {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
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

fn same2(a: &Tensor, _: &Tensor) -> Result<Tensor> {
    Ok(a.clone())
}

fn register() -> Result<Registration> {
    let mut library = Dispatcher::global().library("count");
    library.define(Nothing1).kernel(DispatchKey::Cpu, nothing1);
    library.define(Nothing2).kernel(DispatchKey::Cpu, nothing2);
    library.define(Nothing4).kernel(DispatchKey::Cpu, nothing4);
    library.define(Same2).kernel(DispatchKey::Cpu, same2);
    library
        .define(Layered2)
        .kernel(DispatchKey::Cpu, nothing2)
        .layer(DispatchKey::Autograd, |next, args| next.call(args));
    library
        .define(Hooked2)
        .kernel(DispatchKey::Cpu, nothing2)
        .add(Kernel::boxed(|call| call.below()).at(DispatchKey::Autograd));
    library.finish()
}

/// What the cases work on.
struct Subject {
    tensors: [Tensor; 4],
    nothing2: OperatorHandle,
    same2: OperatorHandle,
}

type Case = (&'static str, Option<u32>, fn(&Subject) -> Result<()>);

/// The cases with their budgets. The loop with the kernel alone takes 20 instructions, so 75 leave 55 for the dispatch.
const CASES: [Case; 10] = [
    ("kernel", None, |subject| {
        let [a, b, ..] = &subject.tensors;
        let kernel: fn(&Tensor, &Tensor) -> Result<()> = black_box(nothing2);
        kernel(a, b)
    }),
    ("typed_call_1", None, |subject| Nothing1.call(&subject.tensors[0])),
    ("typed_call_2", Some(75), |subject| Nothing2.call(&subject.tensors[0], &subject.tensors[1])),
    ("typed_call_4", None, |subject| {
        let [a, b, c, d] = &subject.tensors;
        Nothing4.call(a, b, c, d)
    }),
    ("typed_call_handle", None, |subject| Same2.call(&subject.tensors[0], &subject.tensors[1]).map(drop)),
    ("layer_redispatch", None, |subject| Layered2.call(&subject.tensors[0], &subject.tensors[1])),
    ("boxed_hook", None, |subject| Hooked2.call(&subject.tensors[0], &subject.tensors[1])),
    ("boxed_call_2", None, |subject| {
        let args = [ValueRef::from(&subject.tensors[0]), ValueRef::from(&subject.tensors[1])];
        subject.nothing2.call_boxed(&args, &mut Returns::new())
    }),
    ("boxed_call_handle", None, |subject| {
        let args = [ValueRef::from(&subject.tensors[0]), ValueRef::from(&subject.tensors[1])];
        let mut returns = Returns::new();
        subject.same2.call_boxed(&args, &mut returns)?;
        drop(black_box(returns));
        Ok(())
    }),
    ("guard", None, |_| {
        let _guard = ExcludeGuard::below_autograd();
        Ok(())
    }),
];

fn run(case: fn(&Subject) -> Result<()>, count: u64) -> Result<()> {
    let _registration = register()?;
    let keys = DispatchKeySet::from_keys(&[
        DispatchKey::Cpu,
        DispatchKey::AutogradCpu,
        DispatchKey::AdInplaceOrView,
    ]);
    let tensors = [(); 4].map(|()| Tensor::new(keys, Bare));
    let dispatcher = Dispatcher::global();
    let subject = Subject {
        tensors,
        nothing2: dispatcher.find("count::nothing2")?,
        same2: dispatcher.find("count::same2")?,
    };
    for _ in 0..count {
        case(black_box(&subject))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments == ["--list"] {
        for (name, budget, _) in CASES {
            println!("{name} {}", budget.map_or("-".into(), |budget| budget.to_string()));
        }
        return ExitCode::SUCCESS;
    }
    let found = match arguments.as_slice() {
        [name, count] => CASES.iter().find(|case| case.0 == name).zip(count.parse().ok()),
        _ => None,
    };
    let Some(((_, _, case), count)) = found else {
        eprintln!("error: expected `--list`, or the name of a case and how often to run it");
        return ExitCode::from(2);
    };
    match run(*case, count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
