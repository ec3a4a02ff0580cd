//! Looking an operator up with types changes nothing for those who register kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use opgrid_core::{
    AnyTensor, DispatchKey, Dispatcher, ErrorKind, Kernel, Registration, Result, SlowPath, Strict,
    TensorData, operator,
};

type OfThree = fn([i64; 3]) -> i64;
type OfMany = fn(Vec<i64>) -> i64;

const KEY: DispatchKey = DispatchKey::CompositeExplicitAutograd;

operator! {
    pub Sum = "signatures::sum(int[] x) -> int";
}

fn define(dispatcher: &Dispatcher) -> Registration {
    let mut library = dispatcher.library("signatures");
    library.define("sum(int[] x) -> int");
    library.finish().unwrap()
}

fn implement<S: opgrid_core::Signature>(
    dispatcher: &Dispatcher,
    kernel: S::Returning<S::Output>,
) -> Result<Registration> {
    let mut library = dispatcher.implementations("signatures", KEY);
    library.implement("sum").add(Kernel::function::<S>(kernel));
    library.finish()
}

fn sum_of_many(x: &[i64]) -> Result<i64> {
    Ok(x.iter().sum())
}

fn first_of_three(x: &[i64; 3]) -> Result<i64> {
    Ok(x[0])
}

#[test]
fn a_readers_types_do_not_keep_the_authors_kernel_out() {
    let dispatcher = Dispatcher::new();
    let _definition = define(&dispatcher);
    let sum = dispatcher.find("signatures::sum").unwrap();
    let reader = sum.typed::<OfThree>().unwrap();
    assert_eq!(reader.call((&[1, 2, 3],)).unwrap_err().kind(), ErrorKind::MissingKernel);
    let author = implement::<OfMany>(&dispatcher, sum_of_many).unwrap();
    assert_eq!(sum.typed::<OfMany>().unwrap().call((&[1, 2, 3, 4],)).unwrap(), 10);
    // The reader's calls lend their arguments as values, which is counted and can be refused.
    assert_eq!(reader.call((&[1, 2, 3],)).unwrap(), 6);
    assert_eq!(reader.clone().redispatch(DispatchKey::Cpu.key_set(), (&[4, 5, 6],)).unwrap(), 15);
    let refused = Strict::all().run(|| reader.call((&[1, 2, 3],))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::SlowPath);
    assert!(refused.to_string().contains(SlowPath::BOXED_ADAPTATION.name()), "{refused}");
    // From now on the kernels' signature is the operator's, as ever.
    assert_eq!(sum.typed::<OfThree>().unwrap_err().kind(), ErrorKind::Signature);
    assert_eq!(implement::<OfThree>(&dispatcher, first_of_three).unwrap_err().kind(), ErrorKind::Signature);
    drop(author);
    assert_eq!(reader.call((&[1, 2, 3],)).unwrap_err().kind(), ErrorKind::MissingKernel);
    drop(_definition);
    assert_eq!(reader.call((&[1, 2, 3],)).unwrap_err().kind(), ErrorKind::Stale);
}

#[test]
fn readers_of_several_types_wait_for_one_kernel() {
    let dispatcher = Dispatcher::new();
    let _definition = define(&dispatcher);
    let sum = dispatcher.find("signatures::sum").unwrap();
    let (three, many) = (sum.typed::<OfThree>().unwrap(), sum.typed::<OfMany>().unwrap());
    let _author = implement::<OfThree>(&dispatcher, first_of_three).unwrap();
    assert_eq!(Strict::all().run(|| three.call((&[7, 2, 3],))).unwrap(), 7);
    assert_eq!(many.call((&[7, 2, 3],)).unwrap(), 7);
    assert_eq!(many.call((&[7, 2],)).unwrap_err().kind(), ErrorKind::Value);
}

/// The kernel of a library that fails leaves handles and later kernels as they were.
#[test]
fn a_library_that_fails_takes_nothing_from_a_reader() {
    let dispatcher = Dispatcher::new();
    let _definition = define(&dispatcher);
    let reader = dispatcher.find("signatures::sum").unwrap().typed::<OfThree>().unwrap();
    let mut library = dispatcher.implementations("signatures", KEY);
    library.implement("sum").add(Kernel::function::<OfMany>(sum_of_many));
    library.implement("sum").add(Kernel::function::<OfMany>(sum_of_many));
    assert_eq!(library.finish().unwrap_err().kind(), ErrorKind::Duplicate);
    let _author = implement::<OfThree>(&dispatcher, first_of_three).unwrap();
    assert_eq!(Strict::all().run(|| reader.call((&[7, 2, 3],))).unwrap(), 7);
}

/// Overloads known at compile time are readers, too, on every dispatcher.
#[test]
fn an_overload_that_was_called_does_not_keep_a_kernel_out() {
    let dispatcher = Dispatcher::new();
    let _definition = define(&dispatcher);
    assert_eq!(dispatcher.call(Sum, (&[1, 2, 3],)).unwrap_err().kind(), ErrorKind::MissingKernel);
    let _author = implement::<OfThree>(&dispatcher, first_of_three).unwrap();
    assert_eq!(dispatcher.call(Sum, (&[5, 2, 3],)).unwrap(), 5);
    assert_eq!(dispatcher.call(Sum, (&[5, 2],)).unwrap_err().kind(), ErrorKind::Value);

    let global = Dispatcher::global();
    let _definition = define(global);
    assert_eq!(Sum.call(&[1, 2, 3]).unwrap_err().kind(), ErrorKind::MissingKernel);
    let author = implement::<OfThree>(global, first_of_three).unwrap();
    assert_eq!(Sum.call(&[5, 2, 3]).unwrap(), 5);
    assert_eq!(Sum.call(&[5, 2]).unwrap_err().kind(), ErrorKind::Value);
    drop(author);
    assert_eq!(Sum.call(&[1, 2, 3]).unwrap_err().kind(), ErrorKind::MissingKernel);
}

struct Nothing;

impl TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

/// A call with a reader's types never enters a kernel of others, also while kernels come.
#[test]
fn readers_call_while_kernels_of_other_types_come() {
    type AsPair = fn(AnyTensor, [i64; 2]) -> i64;
    type Typed = fn(AnyTensor, Vec<i64>) -> i64;
    for round in 0..20 {
        let dispatcher = if round % 2 == 0 { Dispatcher::new() } else { Dispatcher::global().clone() };
        dispatcher.on_override(|_| {});
        let mut library = dispatcher.library("races");
        library.define("count(Tensor self, int[] x) -> int").boxed(DispatchKey::Cpu, |call| {
            call.push(2);
            Ok(())
        });
        let _definition = library.finish().unwrap();
        let count = dispatcher.find("races::count").unwrap();
        let reader = count.typed::<AsPair>().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let x = AnyTensor::new(DispatchKey::Cpu.key_set(), Nothing);
                while !stop.load(SeqCst) {
                    assert_eq!(reader.call((&x, &[1, 2])).unwrap(), 2);
                }
            });
            for _ in 0..20 {
                let mut library = dispatcher.implementations("races", DispatchKey::Cpu);
                library.allow_override();
                library.implement("count").add(Kernel::closure::<Typed>(|(_, x)| Ok(x.len() as i64)));
                drop(library.finish().unwrap());
            }
            stop.store(true, SeqCst);
        });
    }
}
