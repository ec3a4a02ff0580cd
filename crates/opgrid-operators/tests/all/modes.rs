//! Modes: handlers that see every operator of their thread, nested, left inside of themselves, carried to other threads.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use opgrid_core::{BoxedCall, DispatchKey, Dispatcher, Error, ErrorKind, Registration, Result, is_included};
use opgrid_kernels::parallel_for;
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::modes::{self, Mode};
use opgrid_tensor::layers::{autograd, vmap};

type Names = Arc<Mutex<Vec<String>>>;

/// Writes down its name and that of the operator, and calls on.
struct Log(&'static str, Names);

impl Mode for Log {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        self.1.lock().unwrap().push(format!("{} {}", self.0, call.operator().name().base()));
        call.call()
    }
}

fn dispatcher() -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::new();
    let registrations = vec![
        opgrid_tensor::register(&dispatcher).unwrap(),
        autograd::install(&dispatcher).unwrap(),
        opgrid_transforms::install(&dispatcher).unwrap(),
        modes::install(&dispatcher).unwrap(),
    ];
    (dispatcher, registrations)
}

fn ones() -> Tensor {
    Tensor::from_slice(&[1.0f64, 1.0], &[2]).unwrap()
}

fn log(name: &'static str) -> (Arc<dyn Mode>, Names) {
    let names = Names::default();
    (Arc::new(Log(name, names.clone())), names)
}

fn seen(names: &Names) -> Vec<String> {
    std::mem::take(&mut *names.lock().unwrap())
}

#[test]
fn modes_nest_and_are_left_inside_of_themselves() {
    let (dispatcher, _registrations) = dispatcher();
    let names = Names::default();
    let mode = |name| Arc::new(Log(name, names.clone()));
    dispatcher.within(|| {
        let _outer = modes::enter(mode("outer")).unwrap();
        let again = mode("again");
        let _inner = modes::enter(again.clone()).unwrap();
        let _same = modes::enter(again).unwrap();
        ones().neg().unwrap();
        assert_eq!(seen(&names), ["again neg", "again neg", "outer neg"]);
    });
    dispatcher.within(|| ones().neg()).unwrap();
    assert!(seen(&names).is_empty() && modes::current().is_none() && !is_included(modes::KEY));
}

#[test]
fn a_handler_may_answer_refuse_and_panic() {
    /// Doubles what is negated, refuses sums, dies of products.
    struct Odd;
    impl Mode for Odd {
        fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
            assert!(modes::current().is_none() && !is_included(modes::KEY));
            match call.operator().name().base() {
                "neg" => {
                    let doubled = ones().add(&ones())?;
                    call.push(doubled);
                    Ok(())
                }
                "add" => Err(Error::new(ErrorKind::Value, "no sums")),
                _ => panic!("no products"),
            }
        }
    }
    let (dispatcher, _registrations) = dispatcher();
    dispatcher.within(|| {
        let _entered = modes::enter(Arc::new(Odd)).unwrap();
        assert_eq!(ones().neg().unwrap().to_vec::<f64>().unwrap(), [2.0, 2.0]);
        assert_eq!(ones().add(&ones()).unwrap_err().message(), "no sums");
        let died = catch_unwind(AssertUnwindSafe(|| ones().mul(&ones())));
        assert!(died.is_err() || died.unwrap().is_err());
        assert!(modes::current().is_some() && is_included(modes::KEY), "the mode is there again");
        assert!(ones().neg().is_ok());
    });
    assert!(!is_included(modes::KEY));
}

#[test]
fn what_layers_above_leave_is_seen() {
    let (dispatcher, _registrations) = dispatcher();
    let (mode, names) = log("a");
    dispatcher.within(|| {
        let x = ones();
        x.requires_grad_(true).unwrap();
        let _entered = modes::enter(mode).unwrap();
        let y = x.mul(&x).unwrap().sum().unwrap();
        assert_eq!(seen(&names), ["a mul", "a sum"]);
        y.backward().unwrap();
        assert!(seen(&names).contains(&"a mul".to_owned()), "backward calls operators, too");
        assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [2.0, 2.0]);
        vmap::over(&[&ones()], |x| x[0].neg()).unwrap();
        assert!(seen(&names).contains(&"a neg".to_owned()), "one call for the whole batch");
    });
}

#[test]
fn work_on_other_threads_is_seen() {
    let (dispatcher, _registrations) = dispatcher();
    let (mode, names) = log("a");
    dispatcher.within(|| {
        let _entered = modes::enter(mode).unwrap();
        parallel_for(64, 1, &|range| range.for_each(|_| drop(ones().neg().unwrap())));
        assert_eq!(seen(&names).iter().filter(|name| *name == "a neg").count(), 64);
        // A thread of one's own begins without.
        std::thread::scope(|scope| scope.spawn(|| ones().neg().map(drop)).join()).unwrap().unwrap();
        assert!(seen(&names).is_empty());
        assert!(ones().neg().is_ok());
        assert_eq!(seen(&names), ["a neg"]);
    });
}

#[test]
fn entering_and_leaving_are_checked() {
    let bare = Dispatcher::new();
    let _operators = opgrid_tensor::register(&bare).unwrap();
    let refused = bare.within(|| modes::enter(log("a").0)).unwrap_err();
    assert!(refused.message().contains("modes::install"), "{refused}");
    let (dispatcher, _registrations) = dispatcher();
    assert!(modes::install(&dispatcher).is_err(), "the key has its fallback");
    dispatcher.within(|| {
        let ((outer, names), (inner, _)) = (log("outer"), log("inner"));
        let [first, second] = [&outer, &inner].map(|mode| modes::push(mode.clone()).unwrap());
        assert!(modes::end(&first).unwrap_err().message().contains("entered last"));
        modes::end(&second).unwrap();
        modes::end(&first).unwrap();
        assert!(modes::end(&first).is_err() && !is_included(modes::KEY));
        // Guards that are dropped in another order take out their own.
        let (first, second) = (modes::enter(outer).unwrap(), modes::enter(inner).unwrap());
        drop(first);
        ones().neg().unwrap();
        assert!(seen(&names).is_empty() && is_included(modes::KEY));
        drop(second);
        assert!(!is_included(modes::KEY));
    });
    // The key of somebody who included it himself stays.
    dispatcher.within(|| {
        opgrid_core::including(DispatchKey::Python, || {
            let (mode, names) = log("a");
            drop(modes::enter(mode).unwrap());
            assert!(is_included(modes::KEY));
            ones().neg().unwrap();
            assert!(seen(&names).is_empty());
        });
    });
}

thread_local! {
    static KEPT: RefCell<Option<modes::Entered>> = const { RefCell::new(None) };
}

#[test]
fn a_mode_may_end_inside_of_its_handler_and_with_its_thread() {
    /// Ends itself, and takes the layer away, in the first call that it sees.
    struct Once(Mutex<Option<Registration>>);
    impl Mode for Once {
        fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
            drop(KEPT.take());
            drop(self.0.lock().unwrap().take());
            call.call()
        }
    }
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let layer = modes::install(&dispatcher).unwrap();
    dispatcher.within(|| {
        let once = Arc::new(Once(Mutex::new(Some(layer))));
        KEPT.set(Some(modes::enter(once.clone()).unwrap()));
        assert_eq!(ones().neg().unwrap().to_vec::<f64>().unwrap(), [-1.0, -1.0]);
        assert!(modes::current().is_none() && !is_included(modes::KEY), "it has ended and stays away");
        assert!(ones().neg().is_ok() && modes::enter(once).is_err(), "the layer is gone");
    });
    // A guard that the thread's own end drops finds no modes any more.
    let (dispatcher, _registrations) = self::dispatcher();
    let kept = dispatcher.clone();
    std::thread::spawn(move || {
        kept.within(|| KEPT.set(Some(modes::enter(log("a").0).unwrap())));
    })
    .join()
    .unwrap();
}
