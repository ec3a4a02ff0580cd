//! Names that nobody registered, however long and strange; look-ups at odd moments.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opgrid_core::{DispatchKey, Dispatcher, ErrorKind, Kernel, OperatorHandle, quiesce};

#[test]
fn names_that_nobody_registered_are_errors_and_take_no_time() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("b");
    for place in 0..2_000 {
        library.define(&*format!("function_number_{place}(int x) -> int"));
    }
    let _registration = library.finish().unwrap();
    let long = ["é", "x"].map(|letter| format!("b::{}", letter.repeat(20_000)));
    let start = Instant::now();
    let texts = [
        "",
        ".",
        "::",
        "a::",
        "::a",
        "a::b::c",
        "a::b.",
        "\0",
        "a::b c",
        "é::é",
        "a::b\n",
        "b::function_numbe",
        &long[0],
        &long[1],
    ];
    for text in texts {
        let error = dispatcher.find(text).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Schema | ErrorKind::Unknown), "{text:.40?}: {error:.200}");
        assert!(!error.to_string().is_empty());
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let error = dispatcher.find("b::function_numbe").unwrap_err().to_string();
    assert!(error.contains("did you mean b::function_number_"), "{error}");
}

/// Looks a name up when it is dropped, and keeps what it found.
struct Looks(Dispatcher, Arc<Mutex<Vec<Option<OperatorHandle>>>>);

impl Drop for Looks {
    fn drop(&mut self) {
        let found = self.0.find("names::late").ok();
        self.1.lock().unwrap().push(found);
    }
}

thread_local! {
    static LAST: RefCell<Option<Looks>> = const { RefCell::new(None) };
}

#[test]
fn names_are_looked_up_in_kernels_and_destructors_and_by_threads_that_end() {
    let (dispatcher, found) = (Dispatcher::new(), Arc::new(Mutex::new(Vec::new())));
    for round in 0..50 {
        let looks = || Looks(dispatcher.clone(), found.clone());
        let (state, inside) = (looks(), looks());
        let mut library = dispatcher.fragment("names");
        library.define("late() -> ()").add(
            Kernel::closure::<fn() -> ()>(move |()| {
                let _owned = &state;
                drop(Looks(inside.0.clone(), inside.1.clone()));
                Ok(())
            })
            .at(DispatchKey::CompositeExplicitAutograd),
        );
        let registration = library.finish().unwrap();
        let operator = dispatcher.find("names::late").unwrap();
        operator.call_values(Vec::new()).unwrap();
        let last = looks();
        let ending = std::thread::spawn(move || {
            let _ = last.0.find("names::late");
            LAST.with_borrow_mut(|place| *place = Some(last));
        });
        if round % 2 == 0 {
            ending.join().unwrap();
            drop(registration);
        } else {
            // The destructors of the kernel's state run here, and the thread may look at the same moment.
            drop(registration);
            ending.join().unwrap();
        }
        assert!(operator.schema().is_err() && dispatcher.find("names::late").is_err());
        quiesce().unwrap();
    }
    let found = found.lock().unwrap();
    // In each round the kernel, the thread, and the two parts of the kernel's state.
    assert_eq!(found.len(), 4 * 50);
    assert!(found.iter().flatten().all(|operator| operator.name().name == "names::late"));
    assert!(found.iter().flatten().all(|operator| operator.schema().is_err()), "all are stale by now");
}
