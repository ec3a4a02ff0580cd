//! Statements F1 to F6: fallbacks of a mode, which a thread is in, and of a wrapper, which a tensor carries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{implement, tensor};
use opgrid_core::{
    AnyTensor, BoxedCall, DispatchKey as Key, Dispatcher, ErrorKind, IncludeGuard, Kernel, Registration,
    Result, Returns, Stack, TensorData, Value, ValueRef, excluding,
};

const MODE: Key = Key::TestingOnlyGenericMode;
const WRAPPER: Key = Key::TestingOnlyGenericWrapper;

/// How often something ran.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The count so far; counting begins anew.
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A factory, a product with a kernel for CPU, and a composite norm that calls two operators.
fn operators(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("test");
    library.define("ones() -> Tensor").boxed(Key::CompositeExplicitAutograd, |call| {
        call.push(Value::Tensor(tensor(Key::Cpu)));
        Ok(())
    });
    library.define("mul(Tensor x, Tensor y) -> Tensor").boxed(Key::Cpu, |call| {
        let (x, y) = (call.tensor(0)?, call.tensor(1)?);
        call.push(Value::Tensor(tensor(x.keys() | y.keys())));
        Ok(())
    });
    library.define("pair(Tensor x, int n) -> (int, Tensor)").boxed(Key::Cpu, |call| {
        call.push(call.args()[1].to_value());
        call.push(call.args()[0].to_value());
        Ok(())
    });
    library.define("norm(Tensor x) -> Tensor").boxed(Key::CompositeImplicitAutograd, |call| {
        let x = call.args()[0];
        let squared = call_on("mul", &[x, x])?.into_single()?;
        *call.returns() = call_on("mul", &[squared.borrow(), x])?;
        Ok(())
    });
    library.finish()
}

fn call_on(name: &str, args: &[ValueRef<'_>]) -> Result<Returns> {
    let mut returns = Returns::new();
    Dispatcher::current().find(&format!("test::{name}"))?.call_boxed(args, &mut returns)?;
    Ok(returns)
}

/// Calls an operator from outside of kernels.
fn call(dispatcher: &Dispatcher, name: &str, args: &[ValueRef<'_>]) -> Result<Vec<Value>> {
    let mut returns = Returns::new();
    dispatcher.find(&format!("test::{name}"))?.call_boxed(args, &mut returns)?;
    Ok(returns.into_vec())
}

/// Calls `ones`, then `name` with that as every argument, with the mode on.
fn ones_then(dispatcher: &Dispatcher, name: &str, count: usize) -> Result<Vec<Value>> {
    let _mode = IncludeGuard::new(MODE);
    let ones = call(dispatcher, "ones", &[])?;
    call(dispatcher, name, &vec![ones[0].borrow(); count])
}

fn fallback(dispatcher: &Dispatcher, key: Key, kernel: Kernel) -> Registration {
    let mut library = dispatcher.implementations("_", key);
    library.fallback(kernel);
    library.finish().unwrap()
}

/// How a fallback goes on.
type Onward = fn(&mut BoxedCall<'_>) -> Result<()>;

/// The ways in which a mode's fallback can go on without coming back to itself.
fn ways_on() -> [(&'static str, Onward); 3] {
    [
        ("anew", |call| excluding(MODE, || call.call())),
        ("below", |call| call.below()),
        ("redispatch", |call| {
            let keys = call.keys().remove(MODE);
            excluding(MODE, || call.redispatch(keys))
        }),
    ]
}

/// F1, F2: the fallback of a mode runs once for each operator that is called with the mode on, not for those that
/// these call; it excludes its own key and calls on, and so does not come back to itself.
#[test]
fn f1_f2_a_mode_is_asked_once_per_call() {
    for (way, go_on) in ways_on() {
        let (dispatcher, counter) = (Dispatcher::new(), Counter::default());
        let _operators = operators(&dispatcher).unwrap();
        let counted = counter.clone();
        let _fallback = fallback(
            &dispatcher,
            MODE,
            Kernel::boxed(move |call| {
                counted.add();
                go_on(call)
            }),
        );
        for (name, count) in [("mul", 2), ("norm", 1)] {
            let results = ones_then(&dispatcher, name, count).unwrap();
            assert_eq!(results.len(), 1, "{way} {name}");
            assert_eq!(counter.take(), 2, "{way} {name}");
        }
        let x = tensor(Key::Cpu);
        call(&dispatcher, "norm", &[ValueRef::from(&x)]).unwrap();
        assert_eq!(counter.take(), 0, "{way}: the mode is off");
    }
}

/// F2: a fallback that forgets to exclude its key comes back to itself until the depth limit ends that.
#[test]
fn f2_a_fallback_that_does_not_exclude_itself_ends_in_an_error() {
    let dispatcher = Dispatcher::new();
    let _operators = operators(&dispatcher).unwrap();
    let _fallback = fallback(&dispatcher, MODE, Kernel::boxed(|call| call.call()));
    let before = opgrid_core::set_depth_limit(50);
    assert_eq!(ones_then(&dispatcher, "mul", 2).unwrap_err().kind(), ErrorKind::Depth);
    opgrid_core::set_depth_limit(before);
}

/// A tensor that wraps another.
struct Wrapped(AnyTensor);

impl TensorData for Wrapped {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "wrapped({})", self.0)
    }
}

fn wrap(inner: AnyTensor) -> AnyTensor {
    AnyTensor::new(WRAPPER.key_set(), Wrapped(inner))
}

/// Calls on with what the tensors wrap, and wraps what comes back.
fn unwrap_and_rewrap(call: &mut BoxedCall<'_>) -> Result<()> {
    let inner = |value: &ValueRef<'_>| match value.as_tensor().and_then(|tensor| tensor.data::<Wrapped>()) {
        Some(wrapped) => Value::Tensor(wrapped.0.clone()),
        None => value.to_value(),
    };
    let args: Vec<Value> = call.args().iter().map(inner).collect();
    let borrowed: Vec<_> = args.iter().map(Value::borrow).collect();
    call.call_with(&borrowed)?;
    let results = std::mem::take(call.returns()).into_vec();
    for result in results {
        call.push(match result {
            Value::Tensor(tensor) => Value::Tensor(wrap(tensor)),
            other => other,
        });
    }
    Ok(())
}

fn with_wrapper_fallback() -> (Dispatcher, Counter, Vec<Registration>) {
    let (dispatcher, counter) = (Dispatcher::new(), Counter::default());
    let counted = counter.clone();
    let kernel = Kernel::boxed(move |call| {
        counted.add();
        unwrap_and_rewrap(call)
    });
    let registrations = vec![operators(&dispatcher).unwrap(), fallback(&dispatcher, WRAPPER, kernel)];
    (dispatcher, counter, registrations)
}

/// F3: a wrapper is unwrapped, the operator called on what was inside, and the result wrapped; that happens once,
/// for boxed and for typed callers.
#[test]
fn f3_a_wrapper_is_unwrapped_and_results_are_wrapped() {
    let (dispatcher, counter, _registrations) = with_wrapper_fallback();
    let x = wrap(tensor(Key::Cpu));
    let check = |product: &AnyTensor| {
        assert_eq!(product.keys(), WRAPPER.key_set());
        assert_eq!(product.data::<Wrapped>().unwrap().0.keys(), Key::Cpu.key_set());
        assert_eq!(counter.take(), 1);
    };
    let results = call(&dispatcher, "mul", &[ValueRef::from(&x), ValueRef::from(&x)]).unwrap();
    check(results[0].borrow().as_tensor().unwrap());
    let typed =
        dispatcher.find("test::mul").unwrap().typed::<fn(AnyTensor, AnyTensor) -> AnyTensor>().unwrap();
    check(&typed.call((&x, &x)).unwrap());
    // One wrapper among the arguments is enough.
    check(&typed.call((&tensor(Key::Cpu), &x)).unwrap());
}

/// F4: a fallback takes all arguments and leaves all results in the order of the schema; what lies below them on a
/// caller's stack stays where it is.
///
/// DIFFERENCE: leaving too few or too many results is an error in every build, and the caller's stack stays whole.
#[test]
fn f4_a_fallback_takes_all_arguments_and_leaves_all_results() {
    let (dispatcher, counter, _registrations) = with_wrapper_fallback();
    let mut stack = Stack::new();
    stack.push_all(["below".into(), Value::Tensor(wrap(tensor(Key::Cpu))), Value::Int(7)]);
    let pair = dispatcher.find("test::pair").unwrap();
    pair.call_stack(&mut stack).unwrap();
    let [below, number, result] = stack.values() else { panic!("{stack:?}") };
    assert_eq!((below, number), (&Value::from("below"), &Value::Int(7)));
    assert_eq!(result.borrow().as_tensor().unwrap().keys(), WRAPPER.key_set());
    assert_eq!(counter.take(), 1);

    for left in [0, 1, 3] {
        let dispatcher = Dispatcher::new();
        let _operators = operators(&dispatcher).unwrap();
        let _fallback = fallback(
            &dispatcher,
            MODE,
            Kernel::boxed(move |call| {
                (0..left).for_each(|number| call.push(number));
                Ok(())
            }),
        );
        let mut stack = Stack::new();
        stack.push_all(["below".into(), Value::Tensor(tensor(Key::Cpu)), Value::Int(7)]);
        let before = stack.clone();
        let _mode = IncludeGuard::new(MODE);
        let error = dispatcher.find("test::pair").unwrap().call_stack(&mut stack).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        let essential = format!("test::pair: boxed kernel registered at {}", file!());
        assert!(error.message().contains(&essential), "{error}");
        assert!(
            error.message().contains(&format!("expected to return 2 values on the stack, but left {left}"))
        );
        assert_eq!(stack, before);
    }
}

/// F5, F6: where the mode falls through, nothing is counted for a factory (F5); a kernel that one operator has for
/// the mode is run for that operator alone (F6).
#[test]
fn f5_f6_a_kernel_for_the_mode_beats_a_fallthrough_fallback() {
    let (dispatcher, counter) = (Dispatcher::new(), Counter::default());
    let _operators = operators(&dispatcher).unwrap();
    let _fallback = fallback(&dispatcher, MODE, Kernel::fallthrough());
    ones_then(&dispatcher, "mul", 2).unwrap();
    assert_eq!(counter.take(), 0);

    let counted = counter.clone();
    let kernel = Kernel::boxed(move |call| {
        counted.add();
        call.below()
    });
    let registration = implement(&dispatcher, "mul", MODE, kernel).unwrap();
    ones_then(&dispatcher, "mul", 2).unwrap();
    assert_eq!(counter.take(), 1);
    ones_then(&dispatcher, "pair", 1).unwrap_err();
    assert_eq!(counter.take(), 0);
    drop(registration);
    ones_then(&dispatcher, "mul", 2).unwrap();
    assert_eq!(counter.take(), 0);
}
