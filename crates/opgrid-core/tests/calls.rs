//! Calls around the ordinary: first calls, nesting, panics, watchers, other dispatchers.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{cpu, define, implement, on_own_thread};
use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, Dispatcher, Error, ErrorKind, ExcludeGuard, Kernel, LocalKeys,
    Observer, Result, Returns, Step, Value, ValueRef, observe, operator, quiesce, record_calls,
    set_depth_limit,
};

operator! {
    pub Warm = "calls::warm(Tensor x) -> int";
    pub Late = "calls::late(Tensor x) -> int";
    pub Where = "calls::where(Tensor x) -> int";
}

fn one(_: &Tensor) -> Result<i64> {
    Ok(1)
}

#[test]
fn the_first_call_of_an_overload_is_no_deeper_than_the_second() {
    let mut library = Dispatcher::global().fragment("calls");
    library.define(Warm).kernel(DispatchKey::Cpu, one);
    library.define(Late).kernel(DispatchKey::Cpu, one);
    let _registration = library.finish().unwrap();
    on_own_thread(|| {
        assert_eq!(Warm.call(&cpu()).unwrap(), 1);
        set_depth_limit(1);
        assert_eq!(Late.call(&cpu()).unwrap(), 1);
        assert_eq!(Late.call(&cpu()).unwrap(), 1);
    });
}

#[test]
fn a_kernel_that_calls_itself_is_an_error_long_before_the_stack_ends() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "again(Tensor x) -> Tensor").unwrap();
    let again = Kernel::boxed(|call| call.call());
    let _kernel = implement(&dispatcher, "again", DispatchKey::Cpu, again).unwrap();
    let operator = dispatcher.find("test::again").unwrap();
    // 2 MiB is what the standard library gives to threads, those of tests among them.
    on_own_thread(move || {
        let error = operator.call_values(vec![cpu().into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Depth, "{error}");
        // The same with everything that watching adds.
        let (result, steps) = record_calls(|| operator.call_values(vec![cpu().into()]));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Depth);
        // The limit, or fewer where frames are large, as in a build without optimisation.
        assert!((100..=1000).contains(&steps.len()), "{}", steps.len());
        // Nothing of it is left.
        let error = operator.call_values(vec![cpu().into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Depth);
        quiesce().unwrap();
    });
}

#[test]
fn large_frames_are_an_error_before_the_stack_ends() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "large(Tensor x) -> Tensor").unwrap();
    let again = Kernel::boxed(|call| {
        let frame = std::hint::black_box([0_u8; 32 << 10]);
        let result = call.call();
        std::hint::black_box(&frame);
        result
    });
    let _kernel = implement(&dispatcher, "large", DispatchKey::Cpu, again).unwrap();
    let operator = dispatcher.find("test::large").unwrap();
    on_own_thread(move || {
        let error = operator.call_values(vec![cpu().into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Depth, "{error}");
        assert!(error.to_string().contains("stack of this thread"), "{error}");
    });
}

operator! {
    pub Down = "calls::down(Tensor x, Tensor y, Scalar s, Tensor? z, int[] n) -> (Tensor, Tensor)";
}

fn down(
    x: &Tensor,
    y: &Tensor,
    s: opgrid_core::Scalar,
    z: Option<&Tensor>,
    n: &[i64],
) -> Result<(Tensor, Tensor)> {
    Down.call(x, y, s, z, n)
}

#[test]
fn a_typed_kernel_that_calls_itself_is_an_error_on_every_dispatcher() {
    for dispatcher in [Dispatcher::global().clone(), Dispatcher::new()] {
        let mut library = dispatcher.fragment("calls");
        library.define(Down).kernel(DispatchKey::Cpu, down);
        let _registration = library.finish().unwrap();
        on_own_thread(move || {
            let args = (&cpu(), &cpu(), opgrid_core::Scalar::Int(1), None, &[1, 2][..]);
            let error = dispatcher.call(Down, args).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Depth, "{error}");
        });
    }
}

#[test]
fn a_typed_call_of_a_boxed_kernel_that_calls_itself_is_an_error() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.fragment("calls");
    library.define(Down).boxed(DispatchKey::Cpu, |call| {
        let x = call.tensor(0)?;
        let (a, b) = Down.call(x, x, opgrid_core::Scalar::Int(1), None, &[1])?;
        call.push(a);
        call.push(b);
        Ok(())
    });
    let _registration = library.finish().unwrap();
    on_own_thread(move || {
        let args = (&cpu(), &cpu(), opgrid_core::Scalar::Int(1), None, &[1, 2][..]);
        let (result, _) = record_calls(|| dispatcher.call(Down, args));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Depth);
    });
}

#[test]
fn a_panic_leaves_guards_and_nesting_as_before() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "fall(Tensor x) -> Tensor").unwrap();
    let layer = Kernel::boxed(|call| {
        let _guard = ExcludeGuard::new(DispatchKey::Tracer);
        call.below()
    });
    let _layer = implement(&dispatcher, "fall", DispatchKey::AutogradCpu, layer).unwrap();
    let fall = Kernel::boxed(|_| panic!("as asked"));
    let _kernel = implement(&dispatcher, "fall", DispatchKey::Cpu, fall).unwrap();
    let operator = dispatcher.find("test::fall").unwrap();
    on_own_thread(move || {
        let before = LocalKeys::current();
        let x = common::tensor(DispatchKey::Cpu.key_set() | DispatchKey::AutogradCpu.key_set());
        let call = || operator.call_values(vec![x.clone().into()]);
        assert!(catch_unwind(AssertUnwindSafe(|| record_calls(call))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert_eq!(LocalKeys::current(), before);
        assert_eq!(Arc::new(Dispatcher::current()).operators().len(), Dispatcher::global().operators().len());
        // Not nested any more: a limit of one lets a call in, and quiesce() is outside of kernels.
        set_depth_limit(2);
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        quiesce().unwrap();
    });
}

#[test]
fn quiesce_inside_a_kernel_is_an_error() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "wait(Tensor x) -> ()").unwrap();
    let _kernel = implement(&dispatcher, "wait", DispatchKey::Cpu, Kernel::boxed(|_| quiesce())).unwrap();
    let error = dispatcher.find("test::wait").unwrap().call_values(vec![cpu().into()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Registration);
    assert!(error.to_string().contains("inside a kernel"), "{error}");
}

#[test]
fn overloads_inside_a_kernel_go_to_the_dispatcher_that_runs_it() {
    let number = |dispatcher: &Dispatcher, number: i64| {
        let mut library = dispatcher.fragment("calls");
        library.define(Where).closure(DispatchKey::Cpu, move |_| Ok(number));
        library.define("ask(Tensor x) -> int").boxed(DispatchKey::Cpu, |call| {
            let found = Where.call(call.tensor(0)?)?;
            assert_eq!(Dispatcher::current().call(Where, (call.tensor(0)?,))?, found);
            call.push(found);
            Ok(())
        });
        library.finish().unwrap()
    };
    let other = Dispatcher::new();
    let _global = number(Dispatcher::global(), 1);
    let _other = number(&other, 2);
    let ask = |dispatcher: &Dispatcher| dispatcher.find("calls::ask").unwrap();
    assert_eq!(ask(Dispatcher::global()).call_values(vec![cpu().into()]).unwrap(), [Value::from(1)]);
    assert_eq!(ask(&other).call_values(vec![cpu().into()]).unwrap(), [Value::from(2)]);
    assert_eq!(Where.call(&cpu()).unwrap(), 1);
    // From a kernel of one dispatcher to the other and back.
    let global = ask(Dispatcher::global());
    let mut library = other.fragment("calls");
    library.define("cross(Tensor x) -> int[]").boxed(DispatchKey::Cpu, move |call| {
        let own = Where.call(call.tensor(0)?)?;
        let foreign = global.call_values(vec![call.tensor(0)?.clone().into()])?[0].borrow().as_int();
        let direct = Dispatcher::global().call(Where, (call.tensor(0)?,))?;
        let again = Where.call(call.tensor(0)?)?;
        call.push(vec![own, foreign.unwrap_or_default(), direct, again]);
        Ok(())
    });
    let _cross = library.finish().unwrap();
    let cross = other.find("calls::cross").unwrap();
    assert_eq!(cross.call_values(vec![cpu().into()]).unwrap(), [Value::from(vec![2, 1, 1, 2])]);
}

#[test]
fn a_recording_holds_the_steps_of_recordings_within() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "inner(Tensor x) -> ()").unwrap();
    let _kernel = implement(&dispatcher, "inner", DispatchKey::Cpu, common::nothing()).unwrap();
    let inner = dispatcher.find("test::inner").unwrap();
    let x = Value::from(cpu());
    let call = || inner.call_boxed(&[x.borrow()], &mut Returns::new());
    let ((result, within), all) = record_calls(|| {
        call().unwrap();
        let within = record_calls(call);
        call().unwrap();
        within
    });
    result.unwrap();
    assert_eq!((within.len(), all.len()), (1, 3));
}

#[derive(Default)]
struct Counter {
    before: AtomicUsize,
    failed: AtomicUsize,
}

impl Observer for Counter {
    fn before(&self, step: &Step) {
        if step.operator.name().name.as_str() == "test::seen" {
            self.before.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn after(&self, step: &Step, error: Option<&Error>) {
        if error.is_some() && step.operator.name().name.as_str() == "test::seen" {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn observers_see_calls_of_every_thread_those_of_ending_ones_too() {
    struct AtTheEnd(Option<Box<dyn FnOnce()>>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            if let Some(last) = self.0.take() {
                last();
            }
        }
    }
    thread_local! {
        static END: std::cell::RefCell<AtTheEnd> = const { std::cell::RefCell::new(AtTheEnd(None)) };
    }
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "seen(Tensor x) -> ()").unwrap();
    let refuse = Kernel::boxed(|_| Err(Error::new(ErrorKind::Kernel, "refused")));
    let _kernel = implement(&dispatcher, "seen", DispatchKey::Cpu, refuse).unwrap();
    let seen = dispatcher.find("test::seen").unwrap();
    let counter = Arc::new(Counter::default());
    let observation = observe(counter.clone());
    let call = move || {
        let x = cpu();
        assert!(seen.call_boxed(&[ValueRef::from(&x)], &mut Returns::new()).is_err());
    };
    let last = call.clone();
    std::thread::spawn(move || {
        // The destructor of what is used first runs last: after those of the dispatcher's own thread-locals.
        END.with_borrow_mut(|end| end.0 = Some(Box::new(last)));
        call();
    })
    .join()
    .unwrap();
    drop(observation);
    assert_eq!(counter.before.load(Ordering::Relaxed), 2);
    assert_eq!(counter.failed.load(Ordering::Relaxed), 2);
    quiesce().unwrap();
}

/// The trace is read from the environment once per process, so it is looked at in a process of its own.
#[test]
fn the_trace_prints_each_step_with_its_depth() {
    const INSIDE: &str = "OPGRID_TEST_TRACES";
    if std::env::var_os(INSIDE).is_some() {
        let dispatcher = Dispatcher::new();
        let _defined = define(&dispatcher, "traced(Tensor x) -> ()").unwrap();
        let pass = Kernel::boxed(|call| call.below());
        let _layer = implement(&dispatcher, "traced", DispatchKey::AutogradCpu, pass).unwrap();
        let _kernel = implement(&dispatcher, "traced", DispatchKey::Cpu, common::nothing()).unwrap();
        let x = common::tensor(DispatchKey::Cpu.key_set() | DispatchKey::AutogradCpu.key_set());
        dispatcher.find("test::traced").unwrap().call_values(vec![x.into()]).unwrap();
        return;
    }
    let run = |trace: Option<&str>| {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "the_trace_prints_each_step_with_its_depth", "--nocapture"]);
        process.env(INSIDE, "1").env_remove("OPGRID_SHOW_DISPATCH_TRACE");
        if let Some(trace) = trace {
            process.env("OPGRID_SHOW_DISPATCH_TRACE", trace);
        }
        let output = process.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let steps =
        "[callBoxed] op=[test::traced], key=[AutogradCPU]\n [redispatchBoxed] op=[test::traced], key=[CPU]\n";
    assert!(run(Some("1")).contains(steps));
    assert!(!run(None).contains("test::traced"));
    assert!(!run(Some("0")).contains("test::traced"));
    let other = run(Some("yes"));
    assert!(other.contains("OPGRID_SHOW_DISPATCH_TRACE is `yes`") && !other.contains("op=["), "{other}");
}

#[test]
fn a_library_that_goes_without_finish_warns() {
    const INSIDE: &str = "OPGRID_TEST_UNFINISHED";
    if let Some(how) = std::env::var_os(INSIDE) {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("unfinished");
        library.define("f() -> ()");
        match how.to_str() {
            Some("dropped") => drop(library),
            Some("discarded") => library.discard(),
            _ => drop(library.finish().unwrap()),
        }
        return;
    }
    let run = |how: &str| {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "a_library_that_goes_without_finish_warns", "--nocapture"]);
        let output = process.env(INSIDE, how).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let warning = run("dropped");
    assert!(warning.contains("warning: library `unfinished`") && warning.contains("calls.rs:"), "{warning}");
    assert!(!run("discarded").contains("warning") && !run("finished").contains("warning"));
}

#[test]
fn what_can_be_asked_of_an_operator_does_not_depend_on_the_depth() {
    let dispatcher = Dispatcher::new();
    let _defined = define(&dispatcher, "deep(Tensor x) -> ()").unwrap();
    let operator = dispatcher.find("test::deep").unwrap();
    on_own_thread(move || {
        set_depth_limit(0);
        assert!(operator.has_schema());
        assert_eq!(operator.schema().unwrap().to_string(), "test::deep(Tensor x) -> ()");
        assert_eq!(operator.call_values(vec![cpu().into()]).unwrap_err().kind(), ErrorKind::Depth);
    });
}
