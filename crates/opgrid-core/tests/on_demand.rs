//! Operators that are registered when one of them is needed: nobody sees a difference from those that are there.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{
    DispatchKey, Dispatcher, ErrorKind, Kernel, Library, Listener, OnDemand, OperatorHandle, Value, operator,
};

operator! {
    register_with = crate::register_group(crate::register_half);
    /// Half of a number.
    Half = "lazy::half(int x) -> int";
    HalfFloat = "lazy::half.float(float x) -> float";
}

operator! {
    Twice = "lazy::twice(int x) -> int";
    Thrice = "lazy::thrice(int x) -> int";
}

const EVERYWHERE: DispatchKey = DispatchKey::CompositeExplicitAutograd;

thread_local! {
    /// How often the groups were registered on this thread: tests run on threads of their own.
    static HALVES: Cell<u32> = const { Cell::new(0) };
    static PRODUCTS: Cell<u32> = const { Cell::new(0) };
}

fn register_group(group: &'static OnDemand) -> opgrid_core::Result<()> {
    Dispatcher::global().demand(group)
}

fn register_half(library: &mut Library) {
    HALVES.set(HALVES.get() + 1);
    library.define(Half).kernel(EVERYWHERE, |x| Ok(x / 2));
    library.define(HalfFloat).kernel(EVERYWHERE, |x| Ok(x / 2.0));
}

fn register_products(library: &mut Library) {
    PRODUCTS.set(PRODUCTS.get() + 1);
    library.define(Twice).kernel(EVERYWHERE, |x| Ok(2 * x));
    library.define(Thrice).kernel(EVERYWHERE, |x| Ok(3 * x));
}

static PRODUCTS_OF_NUMBERS: OnDemand = OnDemand::new(&["lazy::twice", "lazy::thrice"], register_products);
static GROUPS: &[&OnDemand] = &[&OPERATORS, &PRODUCTS_OF_NUMBERS];

/// A dispatcher with the groups, and what was registered of them so far on this thread.
fn subject() -> (Dispatcher, opgrid_core::Registration) {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let registration = library.finish().unwrap();
    HALVES.set(0);
    PRODUCTS.set(0);
    (dispatcher, registration)
}

fn registered() -> (u32, u32) {
    (HALVES.get(), PRODUCTS.get())
}

fn texts(names: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    names.into_iter().map(|name| name.to_string()).collect()
}

fn names_of(operators: &[OperatorHandle]) -> Vec<String> {
    texts(operators.iter().map(|operator| operator.name()))
}

const ALL: [&str; 4] = ["lazy::half", "lazy::half.float", "lazy::thrice", "lazy::twice"];

#[test]
fn names_are_known_before_anything_is_registered() {
    let (dispatcher, _registration) = subject();
    assert_eq!(texts(dispatcher.names()), ALL);
    let error = dispatcher.find("lazy::thrise").unwrap_err().to_string();
    assert!(error.contains("did you mean lazy::thrice?"), "{error}");
    let error = dispatcher.find("lazy::half.int").unwrap_err().to_string();
    assert!(error.contains("its overloads are lazy::half, lazy::half.float"), "{error}");
    assert_eq!(registered(), (0, 0));
}

#[test]
fn one_that_is_needed_brings_its_group_once() {
    let (dispatcher, _registration) = subject();
    let twice = dispatcher.find("lazy::twice").unwrap();
    assert_eq!(twice.call_values(vec![Value::from(4)]).unwrap(), [Value::from(8)]);
    assert_eq!(dispatcher.call(Thrice, (4,)).unwrap(), 12);
    assert!(dispatcher.find_with_or_without_schema("lazy::thrice").unwrap().has_schema());
    assert_eq!(registered(), (0, 1));
    assert_eq!(dispatcher.operator(Half).unwrap().documentation(), "Half of a number.");
    assert_eq!(registered(), (1, 1));
    assert_eq!((dispatcher.names().len(), dispatcher.operators().len()), (4, 4));
    assert_eq!(registered(), (1, 1));
}

#[test]
fn who_lists_sees_all() {
    let listing: [fn(&Dispatcher) -> usize; 4] = [
        |dispatcher| dispatcher.operators().len(),
        |dispatcher| dispatcher.registrations_for(Some(EVERYWHERE)).len(),
        |dispatcher| dispatcher.registrations_for(None).len(),
        |dispatcher| format!("{dispatcher:?}").matches("4 operators").count() * 4,
    ];
    for list in listing {
        let (dispatcher, _registration) = subject();
        assert_eq!(list(&dispatcher), 4);
        assert_eq!(registered(), (1, 1));
    }
    let (dispatcher, _registration) = subject();
    assert_eq!(names_of(&dispatcher.operators()), ALL);
    assert_eq!(names_of(&dispatcher.overloads("lazy::half")), ["lazy::half", "lazy::half.float"]);
    assert!(dispatcher.dangling_implementations().is_empty());
}

/// Writes down what it is told.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Listener for Heard {
    fn defined(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        self.0.lock().unwrap().push(format!("+{}", operator.name()));
    }

    fn dropped(&self, operator: &OperatorHandle, _: &FunctionSchema) {
        self.0.lock().unwrap().push(format!("-{}", operator.name()));
    }
}

#[test]
fn who_listens_is_told_of_all() {
    let order = ["+lazy::half", "+lazy::half.float", "+lazy::twice", "+lazy::thrice"];
    let (dispatcher, registration) = subject();
    let heard = Arc::new(Heard::default());
    let listening = dispatcher.listen(heard.clone());
    assert_eq!(*heard.0.lock().unwrap(), order);
    drop(registration);
    assert_eq!(heard.0.lock().unwrap().len(), 8);
    // Who listened before them is told with the library.
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let _registration = library.finish().unwrap();
    assert_eq!(heard.0.lock().unwrap()[8..], order);
    drop(listening);
}

#[test]
fn changes_count_what_is_stated_and_not_what_is_needed() {
    let dispatcher = Dispatcher::new();
    let before = dispatcher.changes();
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let registration = library.finish().unwrap();
    let stated = dispatcher.changes();
    assert!(stated > before);
    dispatcher.operators();
    assert_eq!(dispatcher.changes(), stated);
    drop(registration);
    assert!(dispatcher.changes() > stated);
    // Also where nothing was needed.
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let registration = library.finish().unwrap();
    let stated = dispatcher.changes();
    drop(registration);
    assert!(dispatcher.changes() > stated);
    // A group that no library states is new when it is demanded, and once.
    let alone = dispatcher.changes();
    dispatcher.demand(&PRODUCTS_OF_NUMBERS).unwrap();
    let demanded = dispatcher.changes();
    assert!(demanded > alone);
    dispatcher.demand(&PRODUCTS_OF_NUMBERS).unwrap();
    assert_eq!(dispatcher.changes(), demanded);
}

#[test]
fn overloads_stand_in_the_order_in_which_they_were_stated() {
    fn register_int(library: &mut Library) {
        let _ = library.define("order::f.int(int x) -> int");
    }
    fn register_rest(library: &mut Library) {
        let _ = library.define("order::f(Tensor x) -> int");
        let _ = library.define("order::f.float(float x) -> int");
    }
    static INT: OnDemand = OnDemand::new(&["order::f.int"], register_int);
    static REST: OnDemand = OnDemand::new(&["order::f.float", "order::f"], register_rest);
    for first in ["order::f", "order::f.int"] {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("order");
        library.on_demand(&[&INT, &REST]);
        let _registration = library.finish().unwrap();
        let mut fragment = dispatcher.fragment("order");
        let _ = fragment.define("f.str(str x) -> int");
        let _fragment = fragment.finish().unwrap();
        dispatcher.find(first).unwrap();
        let found = names_of(&dispatcher.overloads("order::f"));
        assert_eq!(found, ["order::f.int", "order::f.float", "order::f", "order::f.str"]);
    }
}

#[test]
fn libraries_add_to_what_is_there() {
    let (dispatcher, _registration) = subject();
    let kernel = || Kernel::function::<fn(i64) -> i64>(|x| Ok(100 * x)).at(EVERYWHERE);
    let mut library = dispatcher.implementations("lazy", None);
    let _ = library.implement("twice").add(kernel());
    let error = library.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    assert_eq!(error.to_string().matches("on_demand.rs").count(), 2, "{error}");

    let replaced = Arc::new(Mutex::new(Vec::new()));
    let seen = replaced.clone();
    dispatcher.on_override(move |warning| seen.lock().unwrap().push(warning.operator.clone()));
    let mut library = dispatcher.implementations("lazy", None);
    library.allow_override();
    let _ = library.implement("half").add(kernel());
    let above = library.finish().unwrap();
    assert_eq!(*replaced.lock().unwrap(), ["lazy::half(int x) -> int"]);
    assert_eq!(dispatcher.call(Half, (4,)).unwrap(), 400);
    drop(above);
    assert_eq!(dispatcher.call(Half, (4,)).unwrap(), 2);

    let mut library = dispatcher.fragment("lazy");
    let _ = library.define("thrice(int x) -> int");
    assert_eq!(library.finish().unwrap_err().kind(), ErrorKind::Duplicate);
}

#[test]
fn all_of_it_goes_and_comes_again() {
    let (dispatcher, registration) = subject();
    let half = dispatcher.find("lazy::half").unwrap();
    drop(registration);
    assert_eq!(half.call_values(vec![Value::from(4)]).unwrap_err().kind(), ErrorKind::Stale);
    assert!(dispatcher.names().is_empty() && dispatcher.operators().is_empty());
    for name in ALL {
        assert_eq!(dispatcher.find(name).unwrap_err().kind(), ErrorKind::Unknown);
    }
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    library.finish().unwrap().keep();
    assert_eq!(dispatcher.call(Half, (6,)).unwrap(), 3);
    assert_eq!(dispatcher.call(Twice, (6,)).unwrap(), 12);
}

#[test]
fn a_library_that_fails_states_nothing() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let kernel = || Kernel::function::<fn(i64) -> i64>(Ok).at(EVERYWHERE);
    let _ = library.define("same(int x) -> int").add(kernel()).add(kernel());
    assert_eq!(library.finish().unwrap_err().kind(), ErrorKind::Duplicate);
    assert!(dispatcher.names().is_empty());
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let _registration = library.finish().unwrap();
    assert_eq!(dispatcher.names().len(), 4);
}

#[test]
fn groups_are_of_one_library() {
    let (dispatcher, registration) = subject();
    let mut library = dispatcher.fragment("lazy");
    library.on_demand(&[&PRODUCTS_OF_NUMBERS]);
    let error = library.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    assert!(error.to_string().contains("lazy::twice: the on-demand group of this operator"), "{error}");
    drop(registration);
    let mut library = dispatcher.library("lazy");
    library.on_demand(&[&PRODUCTS_OF_NUMBERS, &PRODUCTS_OF_NUMBERS]);
    assert_eq!(library.finish().unwrap_err().kind(), ErrorKind::Duplicate);
    assert!(dispatcher.names().is_empty());

    let refused = |prepare: &dyn Fn(&mut Library), mut library: Library| {
        prepare(&mut library);
        library.finish().unwrap_err().to_string()
    };
    static EMPTY: OnDemand = OnDemand::new(&[], register_products);
    let error = refused(&|library| _ = library.on_demand(&[&EMPTY]), dispatcher.library("lazy"));
    assert!(error.contains("found a group without operators"), "{error}");
    let error = refused(&|library| _ = library.on_demand(GROUPS), dispatcher.library("laz"));
    assert!(error.contains("of namespace laz, found `lazy::half`"), "{error}");
    let error = refused(&|library| _ = library.on_demand(GROUPS), dispatcher.implementations("lazy", None));
    assert!(error.contains("a block that defines none"), "{error}");
}

#[test]
fn each_library_takes_its_own_groups_back() {
    let dispatcher = Dispatcher::new();
    let stated = |mut library: Library, group: &'static OnDemand| {
        library.on_demand(&[group]);
        library.finish().unwrap()
    };
    let halves = stated(dispatcher.library("lazy"), &OPERATORS);
    let products = stated(dispatcher.fragment("lazy"), &PRODUCTS_OF_NUMBERS);
    assert_eq!(names_of(&dispatcher.operators()), ALL);
    drop(products);
    assert_eq!(names_of(&dispatcher.operators()), ALL[..2]);
    let products = stated(dispatcher.fragment("lazy"), &PRODUCTS_OF_NUMBERS);
    drop(halves);
    assert_eq!(names_of(&dispatcher.operators()), ALL[2..]);
    products.keep();
    assert_eq!(dispatcher.call(Twice, (3,)).unwrap(), 6);
}

#[test]
fn a_group_defines_what_it_names() {
    fn define_f(library: &mut Library) {
        let _ = library.define("wrong::f(int x) -> int");
    }
    fn define_both(library: &mut Library) {
        define_f(library);
        let _ = library.define("wrong::g(int x) -> int");
    }
    fn define_badly(library: &mut Library) {
        let _ = library.define("wrong::h(int");
    }
    static MORE: OnDemand = OnDemand::new(&["wrong::f", "wrong::g", "wrong::missing"], define_both);
    static LESS: OnDemand = OnDemand::new(&["wrong::f"], define_both);
    static BROKEN: OnDemand = OnDemand::new(&["wrong::h"], define_badly);
    static GOOD: OnDemand = OnDemand::new(&["wrong::f"], define_f);
    let cases: [(&[&'static OnDemand], &str, &str); 3] = [
        (&[&MORE], "wrong::f", "wrong::missing: an on-demand group lists it but does not define it"),
        (&[&LESS], "wrong::f", "wrong::g: it is defined by an on-demand group that does not list it"),
        (&[&GOOD, &BROKEN], "wrong::h", "error occurred while processing"),
    ];
    for (groups, name, expected) in cases {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("wrong");
        library.on_demand(groups);
        let _registration = library.finish().unwrap();
        // Those that can be registered are.
        assert_eq!(dispatcher.operators().len(), groups.len() - 1, "{expected}");
        let error = dispatcher.find(name).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(dispatcher.find(name).unwrap_err().to_string(), error);
    }
}

#[test]
fn what_was_registered_before_and_does_not_fit_is_the_groups_error() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.implementations("lazy", None);
    let wrong = Kernel::function::<fn(f64) -> f64>(Ok).at(DispatchKey::Cpu);
    let _ = library.implement("twice").add(wrong);
    let before = library.finish().unwrap();
    let mut library = dispatcher.library("lazy");
    library.on_demand(GROUPS);
    let _registration = library.finish().unwrap();
    let error = dispatcher.find("lazy::thrice").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Signature, "{error}");
    assert_eq!(names_of(&dispatcher.operators()), ["lazy::half", "lazy::half.float"]);
    assert_eq!(names_of(&dispatcher.dangling_implementations()), ["lazy::twice"]);
    drop(before);
    assert!(dispatcher.find("lazy::thrice").unwrap().has_schema());
    assert_eq!(names_of(&dispatcher.operators()), ALL);
}

#[test]
fn a_registration_may_ask_for_itself_and_for_others() {
    static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    fn register(library: &mut Library) {
        let dispatcher = library.dispatcher().clone();
        let mut asked = ASKED.lock().unwrap();
        for name in ["asking::f", "asking::g"] {
            asked.push(
                dispatcher
                    .find(name)
                    .map_or_else(|error| format!("{:?}", error.kind()), |it| it.name().to_string()),
            );
        }
        asked.push(dispatcher.operators().len().to_string());
        let _ = library.define("asking::f(int x) -> int");
    }
    fn register_other(library: &mut Library) {
        let _ = library.define("asking::g(int x) -> int");
    }
    static FIRST: OnDemand = OnDemand::new(&["asking::f"], register);
    static OTHER: OnDemand = OnDemand::new(&["asking::g"], register_other);
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("asking");
    library.on_demand(&[&FIRST, &OTHER]);
    let _registration = library.finish().unwrap();
    dispatcher.find("asking::f").unwrap();
    let asked = ASKED.lock().unwrap();
    assert_eq!(asked[1..], ["asking::g", "1"]);
    assert!(!asked[0].contains("asking"), "{asked:?}");
}

#[test]
fn a_registration_may_use_another_dispatcher_with_the_same_group() {
    static DEPTH: AtomicU32 = AtomicU32::new(0);
    fn register(library: &mut Library) {
        let _ = library.define("nested::f(int x) -> int");
        if DEPTH.fetch_add(1, Ordering::Relaxed) == 0 {
            let (other, _registration) = stating();
            assert!(other.find("nested::f").unwrap().has_schema());
        }
    }
    fn stating() -> (Dispatcher, opgrid_core::Registration) {
        let dispatcher = Dispatcher::new();
        let mut library = dispatcher.library("nested");
        library.on_demand(&[&GROUP]);
        let registration = library.finish().unwrap();
        (dispatcher, registration)
    }
    static GROUP: OnDemand = OnDemand::new(&["nested::f"], register);
    let (dispatcher, _registration) = stating();
    assert!(dispatcher.find("nested::f").unwrap().has_schema());
    assert_eq!(DEPTH.load(Ordering::Relaxed), 2);
}

#[test]
fn groups_are_registered_while_a_thread_ends() {
    /// Looks operators up when its thread ends.
    struct Late(Dispatcher, std::sync::mpsc::Sender<i64>);
    impl Drop for Late {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.call(Twice, (3,)).unwrap());
        }
    }
    thread_local! {
        static LATE: Cell<Option<Late>> = const { Cell::new(None) };
    }
    let (dispatcher, _registration) = subject();
    let (sender, receiver) = std::sync::mpsc::channel();
    let inside = dispatcher.clone();
    std::thread::spawn(move || {
        // Dropped after the thread-locals that are first used later.
        LATE.set(Some(Late(inside.clone(), sender)));
        assert_eq!(inside.call(Half, (8,)).unwrap(), 4);
    })
    .join()
    .unwrap();
    assert_eq!(receiver.recv().unwrap(), 6);
}

#[test]
fn a_registration_that_panics_leaves_nothing() {
    static PANICS: AtomicU32 = AtomicU32::new(1);
    fn register(library: &mut Library) {
        let _ = library.define("panics::f(int x) -> int");
        assert!(PANICS.swap(0, Ordering::Relaxed) == 0, "the first time");
    }
    static GROUP: OnDemand = OnDemand::new(&["panics::f"], register);
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("panics");
    library.on_demand(&[&GROUP]);
    let _registration = library.finish().unwrap();
    catch_unwind(AssertUnwindSafe(|| dispatcher.find("panics::f"))).unwrap_err();
    assert!(dispatcher.find("panics::f").unwrap().has_schema());
}

#[test]
fn threads_that_need_one_group_get_one_operator() {
    for _ in 0..200 {
        let (dispatcher, registration) = subject();
        let (barrier, dispatcher) = (Barrier::new(4), &dispatcher);
        std::thread::scope(|scope| {
            for number in 0..3 {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    match number {
                        0 => assert_eq!(dispatcher.call(Twice, (2,)).unwrap(), 4),
                        1 => assert_eq!(dispatcher.find("lazy::thrice").unwrap().name().base(), "thrice"),
                        _ => assert_eq!(dispatcher.operators().len(), 4),
                    }
                });
            }
            barrier.wait();
        });
        assert_eq!(dispatcher.operators().len(), 4);
        drop(registration);
        assert!(dispatcher.operators().is_empty());
    }
}

#[test]
fn groups_that_are_needed_while_they_go_leave_nothing() {
    for _ in 0..200 {
        let (dispatcher, registration) = subject();
        let (barrier, dispatcher) = (Barrier::new(2), &dispatcher);
        std::thread::scope(|scope| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let _ = dispatcher.call(Twice, (2,));
                let _ = dispatcher.find("lazy::half");
            });
            barrier.wait();
            drop(registration);
        });
        assert!(dispatcher.operators().is_empty() && dispatcher.names().is_empty());
        assert!(dispatcher.registrations_for(None).is_empty());
    }
}

#[test]
fn overloads_bring_their_group_to_the_global_dispatcher() {
    // No library has stated the group, so that it is there for good from the first call on.
    assert_eq!(Half.call(8).unwrap(), 4);
    assert_eq!(HalfFloat.call(3.0).unwrap(), 1.5);
    assert_eq!(HALVES.get(), 1);
    let global = Dispatcher::global();
    assert_eq!(names_of(&global.overloads("lazy::half")), ["lazy::half", "lazy::half.float"]);
    // A library that states it finds it there.
    let mut library = global.library("lazy");
    library.on_demand(GROUPS);
    let registration = library.finish().unwrap();
    assert_eq!(texts(global.names().iter().filter(|name| name.namespace() == Some("lazy"))), ALL);
    assert_eq!(global.call(Twice, (8,)).unwrap(), 16);
    assert_eq!(HALVES.get(), 1);
    // What was there without the library stays without it.
    drop(registration);
    assert_eq!(names_of(&global.overloads("lazy::half")), ["lazy::half", "lazy::half.float"]);
    assert!(global.find("lazy::twice").is_err());
    global.demand(&OPERATORS).unwrap();
    assert_eq!((Half.call(8).unwrap(), HALVES.get()), (4, 1));
}
