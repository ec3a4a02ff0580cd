//! Chains of what users hand over: each link owns the one before, and dropping the last one drops all, on a small stack.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::{
    BoxedCall, Class, Column, ContextPart, Device, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind,
    Generator, Kernel, Listener, OperatorHandle, Registration, Result, SymNode, ThreadContext, observe,
    quiesce, register_context_part,
};

/// Links of chains that cost an allocation each.
const LINKS: usize = 200_000;

/// Links of chains that cost a registration each.
const REGISTRATIONS: usize = 5_000;

/// Counts its drop.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A link: what it owns, and its count.
struct Link<T> {
    _before: Option<T>,
    _counted: Counted,
}

/// Makes a chain of so many links and drops it on a thread with a small stack. Each of them is dropped when that returns.
fn check<T: 'static>(name: &str, links: usize, make: fn(usize, Link<T>) -> T) {
    let dropped = Arc::<AtomicUsize>::default();
    let count = dropped.clone();
    let run = move || {
        let mut last = None;
        for number in 0..links {
            last = Some(make(number, Link { _before: last, _counted: Counted(count.clone()) }));
        }
        assert_eq!(count.load(Ordering::Relaxed), 0);
        drop(last);
        assert_eq!(count.load(Ordering::Relaxed), links);
    };
    let thread = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(run).unwrap();
    assert!(thread.join().is_ok(), "{name}");
}

fn kernel<T: Send + Sync + 'static>(link: Link<T>) -> Kernel {
    Kernel::boxed(move |call| {
        let _ = &link;
        call.push(1);
        Ok(())
    })
}

/// An error of a user.
struct Failure<T>(#[allow(dead_code, reason = "it is owned")] Link<T>);

impl<T> fmt::Debug for Failure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failure")
    }
}

impl<T> fmt::Display for Failure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failure")
    }
}

impl<T> std::error::Error for Failure<T> {}

/// A symbolic integer, an object, a column, an observer and a listener.
struct Owner<T>(#[allow(dead_code, reason = "it is owned")] Link<T>);

impl<T> fmt::Display for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("owner")
    }
}

impl<T: Send + Sync + 'static> opgrid_core::scalar::SymbolicInt for Owner<T> {
    fn guard(&self) -> Result<i64> {
        Ok(1)
    }
}

impl<T: Send + Sync + 'static> Class for Owner<T> {
    const NAME: &'static str = "hostile.Owner";
}

impl<T: Send + Sync + 'static> Column for Owner<T> {
    const NAME: &'static str = "owner";
}

impl<T: Send + Sync> observe::Observer for Owner<T> {
    fn before(&self, _: &observe::Step) {}

    fn after(&self, _: &observe::Step, _: Option<&Error>) {}
}

impl<T: Send + Sync> Listener for Owner<T> {
    fn defined(&self, _: &OperatorHandle, _: &opgrid_schema::FunctionSchema) {}

    fn dropped(&self, _: &OperatorHandle, _: &opgrid_schema::FunctionSchema) {}
}

#[test]
fn values_of_users_are_dropped_without_recursion() {
    check("causes", LINKS, |_, link: Link<Error>| {
        let error = Error::new(ErrorKind::Kernel, "outer");
        error.caused_by(Failure(link))
    });
    check("wrapped errors", LINKS, |_, link: Link<Error>| Error::from_source(Failure(link)));
    check("kernels", LINKS, |_, link: Link<Kernel>| kernel(link));
    check("conditions", LINKS, |_, link: Link<Kernel>| {
        Kernel::boxed(|_: &mut BoxedCall<'_>| Ok(())).when("it is owned", move |_| {
            let _ = &link;
            Ok(true)
        })
    });
    check("generators", LINKS, |_, link: Link<Generator>| {
        Generator::new(DispatchKeySet::EMPTY, Device::CPU, Owner(link))
    });
    check("objects", LINKS, |_, link: Link<opgrid_core::value::Object>| {
        opgrid_core::value::Object::new(Arc::new(Owner(link)))
    });
    check("symbols", LINKS, |_, link: Link<SymNode>| SymNode::new(Owner(link)));
}

#[test]
fn registrations_of_users_are_dropped_without_recursion() {
    check("registrations", REGISTRATIONS, |number, link: Link<Registration>| {
        let dispatcher = Dispatcher::global();
        let mut library = dispatcher.fragment("drops");
        let key = DispatchKey::CompositeExplicitAutograd;
        library.define(&*format!("f{number}(int x) -> int")).add(kernel(link).at(key));
        let registration = library.finish().unwrap();
        // Some have tables, and their kernels go by way of those.
        if number % 2 == 0 {
            let call = dispatcher.find(&format!("drops::f{number}")).unwrap().call_values(vec![1.into()]);
            assert!(call.is_ok());
        }
        registration
    });
    check("columns", REGISTRATIONS, |number, link: Link<Registration>| {
        let mut library = Dispatcher::global().fragment("drops");
        let _ = library.define(&*format!("g{number}(int x) -> int")).column(Owner(link));
        library.finish().unwrap()
    });
    check("dispatchers", REGISTRATIONS, |_, link: Link<Dispatcher>| {
        let dispatcher = Dispatcher::bare();
        let mut library = dispatcher.library("drops");
        library.define("f(int x) -> int").add(kernel(link).at(DispatchKey::CompositeExplicitAutograd));
        library.finish().unwrap().keep();
        dispatcher
    });
    check("handlers of overrides", REGISTRATIONS, |_, link: Link<Dispatcher>| {
        let dispatcher = Dispatcher::bare();
        dispatcher.on_override(move |_| {
            let _ = &link;
        });
        dispatcher
    });
    quiesce().unwrap();
}

#[test]
fn who_watches_is_dropped_without_recursion() {
    check("observers", REGISTRATIONS / 2, |_, link: Link<observe::Observation>| {
        observe::observe(Arc::new(Owner(link)))
    });
    check("listeners", REGISTRATIONS / 2, |_, link: Link<opgrid_core::Listening>| {
        static DISPATCHER: std::sync::LazyLock<Dispatcher> = std::sync::LazyLock::new(Dispatcher::bare);
        DISPATCHER.listen(Arc::new(Owner(link)))
    });
}

thread_local! {
    /// What the next context carries.
    static CARRIED: RefCell<Option<Link<ThreadContext>>> = const { RefCell::new(None) };
}

/// A part of contexts that owns the context before.
struct Carrying;

impl ContextPart for Carrying {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        CARRIED.take().map(|link| Box::new(link) as _)
    }

    fn within(&self, _: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        body();
    }
}

#[test]
fn contexts_are_dropped_without_recursion() {
    register_context_part(&Carrying);
    check("contexts", LINKS, |_, link: Link<ThreadContext>| {
        CARRIED.set(Some(link));
        ThreadContext::capture()
    });
}

#[test]
fn an_error_with_many_causes_prints_its_own_message() {
    let mut error = Error::new(ErrorKind::Kernel, "innermost");
    for _ in 0..LINKS {
        error = Error::new(ErrorKind::Kernel, "outer").caused_by(error);
    }
    assert_eq!((error.to_string(), format!("{error:?}")), ("outer".into(), "Kernel: outer".into()));
    let mut causes = 0;
    let mut next: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = next {
        (causes, next) = (causes + 1, error.source());
    }
    assert_eq!(causes, LINKS + 1);
}

#[test]
fn quiesce_waits_for_kernels_that_destructors_come_upon() {
    /// Drops a registration, and says that all kernels of it are gone.
    struct Last(Option<Registration>);

    impl Drop for Last {
        fn drop(&mut self) {
            std::thread::sleep(std::time::Duration::from_millis(2));
            drop(self.0.take());
            assert_eq!(quiesce().unwrap_err().kind(), ErrorKind::Registration, "it would wait for itself");
        }
    }

    let dropped = Arc::<AtomicUsize>::default();
    let dispatcher = Dispatcher::new();
    let mut last = None;
    for number in 0..30 {
        let (owned, counted) = (Last(last), Counted(dropped.clone()));
        let mut library = dispatcher.fragment("drops");
        let name = format!("h{number}(int x) -> int");
        library.define(&*name).boxed(DispatchKey::CompositeExplicitAutograd, move |call| {
            let _ = (&owned, &counted);
            call.push(1);
            Ok(())
        });
        last = Some(library.finish().unwrap());
        dispatcher.find(&format!("drops::h{number}")).unwrap().call_values(vec![1.into()]).unwrap();
    }
    let dropping = std::thread::spawn(move || drop(last));
    dropping.join().unwrap();
    quiesce().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 30);
}
