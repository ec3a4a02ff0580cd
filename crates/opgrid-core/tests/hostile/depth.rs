//! Calls without an end are errors and no overflow of the stack, on stacks of every size.

use std::thread;

use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, ErrorKind, Kernel, Provider, Result, Returns, record_calls,
    set_depth_limit,
};

use crate::child::printed_by;
use crate::common::cpu;

type Of = fn(Tensor) -> i64;

/// One way in which a kernel reaches itself again.
struct Way {
    name: &'static str,
    kernel: fn(Dispatcher) -> Kernel,
}

fn again(dispatcher: &Dispatcher, x: &Tensor) -> Result<i64> {
    dispatcher.find("s::f")?.typed::<Of>()?.call((x,))
}

const WAYS: [Way; 6] = [
    Way { name: "boxed", kernel: |_| Kernel::boxed(|call| call.call()) },
    Way { name: "typed", kernel: |dispatcher| Kernel::closure::<Of>(move |(x,)| again(&dispatcher, x)) },
    Way {
        name: "values",
        kernel: |dispatcher| {
            Kernel::boxed(move |call| {
                let values = call.args().iter().map(|value| value.to_value()).collect();
                let results = dispatcher.find("s::f")?.call_with(values, Vec::new())?;
                results.into_iter().for_each(|value| call.push(value));
                Ok(())
            })
        },
    },
    Way {
        name: "one key",
        kernel: |dispatcher| {
            Kernel::boxed(move |call| {
                let mut returns = Returns::new();
                dispatcher.find("s::f")?.call_boxed_for_key(DispatchKey::Cpu, call.args(), &mut returns)
            })
        },
    },
    Way {
        name: "condition",
        kernel: |_| {
            let provider = Provider::<Of>::function("p", |_| Ok(1));
            provider.when("it ends", |x| again(&Dispatcher::current(), x).map(|_| true)).into()
        },
    },
    Way {
        name: "recorded",
        kernel: |dispatcher| Kernel::closure::<Of>(move |(x,)| record_calls(|| again(&dispatcher, x)).0),
    },
];

fn without_end(way: &Way, dispatcher: Dispatcher, size: usize) {
    let mut library = dispatcher.library("s");
    library.define("f(Tensor x) -> int").add((way.kernel)(dispatcher.clone()).at(DispatchKey::Cpu));
    let _registration = library.finish().unwrap();
    let operator = dispatcher.find("s::f").unwrap();
    for limit in [1_000, u32::MAX] {
        let operator = operator.clone();
        let thread = thread::Builder::new().stack_size(size).spawn(move || {
            set_depth_limit(limit);
            operator.call_values(vec![cpu().into()])
        });
        let error = thread.unwrap().join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Depth, "{} on {size} bytes: {error:.300}", way.name);
        let text = error.to_string();
        assert!(text.len() < 2_000, "{} on {size} bytes: {} bytes of text", way.name, text.len());
        assert!(
            text.contains("stack of this thread is nearly exhausted") || text.contains("deeper than"),
            "{text}"
        );
    }
}

#[test]
fn calls_without_an_end_are_errors_on_small_stacks() {
    let test = "depth::calls_without_an_end_are_errors_on_small_stacks";
    printed_by(test, || {
        for way in &WAYS {
            for size in [
                16 << 10,
                20_000,
                32 << 10,
                48 << 10,
                64 << 10,
                96 << 10,
                128 << 10,
                256 << 10,
                1 << 20,
                2 << 20,
            ] {
                eprintln!("{} on {size} bytes", way.name);
                without_end(way, Dispatcher::new(), size);
                without_end(way, Dispatcher::global().clone(), size);
            }
        }
    });
}

#[test]
fn a_condition_without_an_end_is_refused_for_an_alias_too() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("t");
    let provider = Provider::<fn(i64) -> i64>::function("p", Ok).when("never", |_| Ok(false));
    library.define("g(int x) -> int").add(provider.at(DispatchKey::CompositeImplicitAutograd));
    let error = library.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Registration);
    assert!(error.to_string().contains("CompositeImplicitAutograd is an alias"), "{error}");
}
