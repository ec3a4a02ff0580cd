//! The load: threads that only call, one that only changes what is registered, and a look at memory all along.
//!
//! Every kernel answers with a number of its own. A caller notes which version of the registry was complete before the
//! call and which was begun after it; the answer has to be the one of some version between the two.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opgrid_core::{
    AnyTensor as Tensor, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Kernel, Operator,
    OperatorHandle, Registration, Result, Returns, TensorData, TypedHandle, ValueRef, including, operator,
    quiesce, retired_tables,
};

use crate::Scale;
use crate::history::{History, Judgement};
use crate::verdict::Verdict;

operator! {
    pub Hot = "stress::hot(Tensor x) -> int";
    pub Fleeting = "stress::fleeting(Tensor x) -> int";
}

type Signature = fn(Tensor) -> i64;

/// The answer where no kernel is registered.
const MISSING: u32 = 0;
/// The answer where no operator is.
const GONE: u32 = u32::MAX;
/// Every how many calls a thread calls the operator that comes and goes.
const FLEETING_EVERY: u64 = 64;
/// From how many waiting tables on the writer waits for calls to end, as one does before code is unloaded. How many
/// wait at worst depends on when the system lets threads run; capped, growth of memory means that something leaks.
const MOST_WAITING: usize = 500;
/// How many backends and layers the writer allocates while the calls go on.
const NEW_KEYS: usize = 8;
/// Every how many calls a thread says how far it is.
const REPORT_EVERY: u64 = 1_024;

pub struct Bare;

impl TensorData for Bare {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

/// A tensor whose calls pass Autograd, where a layer comes and goes.
pub fn tensor() -> Tensor {
    Tensor::new(DispatchKeySet::from_iter([DispatchKey::Cpu, DispatchKey::AutogradCpu]), Bare)
}

/// The state of one kernel, which says so when it is used after it was freed.
pub struct Answer {
    number: u32,
    usable: AtomicBool,
    alive: Arc<AtomicI64>,
}

impl Answer {
    pub fn new(number: u32, alive: &Arc<AtomicI64>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self { number, usable: AtomicBool::new(true), alive: alive.clone() }
    }

    pub fn give(&self) -> i64 {
        assert!(self.usable.load(Ordering::Relaxed), "a kernel ran after its state was freed");
        i64::from(self.number)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.usable.store(false, Ordering::Relaxed);
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One dispatcher under load: what callers need to judge their results.
struct Site {
    dispatcher: Dispatcher,
    hot: History,
    fleeting: History,
}

impl Site {
    fn new(dispatcher: Dispatcher) -> Self {
        dispatcher.on_override(|_| ());
        Self { dispatcher, hot: History::new(MISSING), fleeting: History::new(GONE) }
    }
}

/// What is registered on a site, by the writer's books.
#[derive(Default)]
struct Books {
    /// The kernels of the hot operator, the one that answers last.
    stack: Vec<(u32, Registration)>,
    fallback: Option<(u32, Registration)>,
    fleeting: Option<Registration>,
    layer: Option<Registration>,
    others: Vec<Registration>,
    /// Kernels of the hot operator for keys allocated while the calls go on.
    for_new_keys: Vec<(DispatchKey, Registration)>,
}

impl Books {
    /// What a call of the hot operator answers.
    fn hot_answer(&self) -> u32 {
        let newest = self.stack.last().or(self.fallback.as_ref());
        newest.map_or(MISSING, |(number, _)| *number)
    }

    /// How many kernels with a state are registered.
    fn kernels(&self) -> i64 {
        let single = [self.fallback.is_some(), self.fleeting.is_some(), self.layer.is_some()];
        let several = self.stack.len() + self.others.len() + self.for_new_keys.len();
        (several + single.iter().filter(|is_there| **is_there).count()) as i64
    }
}

/// The thread that changes what is registered.
struct Writer<'s> {
    sites: &'s [Site],
    books: Vec<Books>,
    /// Backends and layers that the writer allocated, in turns.
    keys: Vec<DispatchKey>,
    alive: Arc<AtomicI64>,
    random: u64,
    number: u32,
    changes: u64,
    refused: u64,
    most_waiting: usize,
}

impl<'s> Writer<'s> {
    fn new(sites: &'s [Site], alive: Arc<AtomicI64>) -> Self {
        let books = sites.iter().map(|_| Books::default()).collect();
        Self {
            sites,
            books,
            keys: Vec::new(),
            alive,
            random: 0x9e37_79b9_7f4a_7c15,
            number: 0,
            changes: 0,
            refused: 0,
            most_waiting: 0,
        }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) as usize % below
    }

    fn answer(&mut self) -> (u32, Answer) {
        self.number += 1;
        (self.number, Answer::new(self.number, &self.alive))
    }

    /// One change, picked at random.
    fn step(&mut self) {
        let place = self.random(self.sites.len());
        match self.random(100) {
            0..30 => self.push(place),
            30..60 => self.pop(place),
            60..70 => self.toggle_fleeting(place),
            70..78 => self.toggle_layer(place),
            78..82 => self.toggle_fallback(place),
            82..92 => self.toggle_other(place),
            92..96 => self.toggle_new_key(place),
            _ => self.be_refused(place),
        }
        self.changes += 1;
        let waiting = retired_tables();
        self.most_waiting = self.most_waiting.max(waiting);
        if waiting > MOST_WAITING {
            quiesce().expect("the writer runs no kernel");
        }
    }

    fn push(&mut self, place: usize) {
        if self.books[place].stack.len() >= 8 {
            return self.pop(place);
        }
        let (number, answer) = self.answer();
        let site = &self.sites[place];
        let registration = site.hot.change(number, || {
            let mut library = site.dispatcher.implementations("stress", DispatchKey::Cpu);
            library.allow_override();
            library.implement("hot").add(Kernel::closure::<Signature>(move |_| Ok(answer.give())));
            library.finish().expect("kernels of the hot operator fit")
        });
        self.books[place].stack.push((number, registration));
    }

    fn pop(&mut self, place: usize) {
        // The last kernel stays most of the time: calls that find none are slow.
        if self.books[place].stack.len() < 2 && self.random(16) != 0 {
            return self.push(place);
        }
        let count = self.books[place].stack.len();
        if count == 0 {
            return;
        }
        let which = self.random(count);
        let books = &mut self.books[place];
        let (_, registration) = books.stack.remove(which);
        self.sites[place].hot.change(books.hot_answer(), || drop(registration));
    }

    fn toggle_fallback(&mut self, place: usize) {
        let site = &self.sites[place];
        if let Some((_, registration)) = self.books[place].fallback.take() {
            return site.hot.change(self.books[place].hot_answer(), || drop(registration));
        }
        let (number, answer) = self.answer();
        let current =
            if self.books[place].stack.is_empty() { number } else { self.books[place].hot_answer() };
        let registration = site.hot.change(current, || {
            let mut library = site.dispatcher.implementations("_", DispatchKey::Cpu);
            library.fallback(Kernel::boxed(move |call| {
                call.push(answer.give());
                Ok(())
            }));
            library.finish().expect("there is no other fallback")
        });
        self.books[place].fallback = Some((number, registration));
    }

    fn toggle_fleeting(&mut self, place: usize) {
        let site = &self.sites[place];
        if let Some(registration) = self.books[place].fleeting.take() {
            return site.fleeting.change(GONE, || drop(registration));
        }
        let (number, answer) = self.answer();
        let registration = site.fleeting.change(number, || {
            let mut library = site.dispatcher.fragment("stress");
            library.define(Fleeting).closure(DispatchKey::Cpu, move |_| Ok(answer.give()));
            library.finish().expect("the operator is not defined")
        });
        self.books[place].fleeting = Some(registration);
    }

    /// A layer that only calls on, so that the call's way changes and its answer does not.
    fn toggle_layer(&mut self, place: usize) {
        if self.books[place].layer.take().is_none() {
            let (_, answer) = self.answer();
            let mut library = self.sites[place].dispatcher.implementations("stress", None);
            library.implement(Hot).layer(DispatchKey::AutogradCpu, move |next, args| {
                answer.give();
                next.call(args)
            });
            self.books[place].layer = Some(library.finish().expect("the layer's cell is empty"));
        }
    }

    /// Operators that nobody calls.
    fn toggle_other(&mut self, place: usize) {
        let count = self.books[place].others.len();
        if count == 16 || self.random(17) < count {
            let which = self.random(count);
            drop(self.books[place].others.swap_remove(which));
            return;
        }
        let (number, answer) = self.answer();
        let mut library = self.sites[place].dispatcher.fragment("stress");
        library
            .define(format!("other_{number}(Tensor x) -> int").as_str())
            .add(Kernel::closure::<Signature>(move |_| Ok(answer.give())).at(DispatchKey::Cpu));
        self.books[place].others.push(library.finish().expect("every name is used once"));
    }

    /// A kernel for a key that was allocated while the calls go on; the writer looks whether it is reached.
    fn toggle_new_key(&mut self, place: usize) {
        if self.keys.len() < NEW_KEYS && (self.keys.is_empty() || self.random(8) == 0) {
            self.allocate_key();
        }
        let which = self.random(self.keys.len());
        let key = self.keys[which];
        let known = self.books[place].for_new_keys.iter().position(|(of, _)| *of == key);
        if let Some(known) = known {
            drop(self.books[place].for_new_keys.swap_remove(known));
            return;
        }
        let (number, answer) = self.answer();
        let dispatcher = &self.sites[place].dispatcher;
        let mut library = dispatcher.implementations("stress", key);
        let is_backend = key.backend().is_some();
        let kernel = if is_backend {
            Kernel::closure::<Signature>(move |_| Ok(answer.give()))
        } else {
            Kernel::layer::<Signature>(move |next, args| {
                answer.give();
                next.call(args)
            })
        };
        library.implement("hot").add(kernel);
        let registration = library.finish().expect("the new key's cell is empty");
        self.books[place].for_new_keys.push((key, registration));
        let (found, expected) = if is_backend {
            (dispatcher.call(Hot, (&Tensor::new(key.key_set(), Bare),)), number)
        } else {
            (including(key, || dispatcher.call(Hot, (&tensor(),))), self.books[place].hot_answer())
        };
        let found = found.map_or(MISSING, |number| number as u32);
        assert_eq!(found, expected, "a call with {key}");
    }

    fn allocate_key(&mut self) {
        let number = self.keys.len();
        let key = if number.is_multiple_of(2) {
            self.sites[0].dispatcher.backend(&format!("stress_backend_{number}"))
        } else {
            DispatchKey::layer(format!("StressLayer{number}")).above(DispatchKey::Autograd).register()
        };
        self.keys.push(key.expect("there is room for a few keys"));
    }

    /// A library that fails in its last item: nothing of it stays.
    fn be_refused(&mut self, place: usize) {
        let (_, answer) = self.answer();
        let mut library = self.sites[place].dispatcher.fragment("stress");
        library.allow_override();
        library
            .implement("hot")
            .add(Kernel::closure::<Signature>(move |_| Ok(answer.give())).at(DispatchKey::Cpu));
        library.define(Hot);
        let refused = library.finish().expect_err("the hot operator is defined already");
        assert_eq!(refused.kind(), ErrorKind::Duplicate);
        self.refused += 1;
    }
}

/// How a thread calls.
enum Route {
    /// An overload known at compile time.
    Overload,
    /// A typed handle of an operator found by name.
    Handle(TypedHandle<Signature>),
    /// A boxed call of such an operator.
    Boxed(OperatorHandle),
}

impl Route {
    fn call<O: Operator<Signature = Signature>>(&self, site: &Site, operator: O, x: &Tensor) -> Result<i64> {
        match self {
            Self::Overload => site.dispatcher.call(operator, (x,)),
            Self::Handle(handle) => handle.call((x,)),
            Self::Boxed(handle) => {
                let mut returns = Returns::new();
                handle.call_boxed(&[ValueRef::from(x)], &mut returns)?;
                Ok(returns.into_single()?.borrow().as_int().unwrap_or_default())
            }
        }
    }
}

/// What all threads share.
struct Course {
    calls: AtomicU64,
    wrong: AtomicU64,
    unknown: AtomicU64,
    errors: AtomicU64,
    first: Mutex<Option<String>>,
    finished: AtomicBool,
}

impl Course {
    fn judge(&self, history: &History, start: u64, found: &Result<i64>) {
        let number = match found {
            Ok(number) => u32::try_from(*number).unwrap_or(GONE - 1),
            Err(error) => {
                self.errors.fetch_add(1, Ordering::Relaxed);
                match error.kind() {
                    ErrorKind::MissingKernel => MISSING,
                    ErrorKind::Unknown | ErrorKind::Stale => GONE,
                    _ => GONE - 1,
                }
            }
        };
        match history.judge(start, number) {
            Judgement::Right => {}
            Judgement::Unknown => {
                self.unknown.fetch_add(1, Ordering::Relaxed);
            }
            Judgement::Wrong => {
                self.wrong.fetch_add(1, Ordering::Relaxed);
                let mut first = self.first.lock().expect("nobody panics with the lock");
                first.get_or_insert_with(|| format!("a call that began at version {start} gave {found:?}"));
            }
        }
    }

    /// The work of one calling thread.
    fn call(&self, site: &Site, route: &Route, calls: u64) {
        let x = tensor();
        for count in 1..=calls {
            if count % FLEETING_EVERY == 0 {
                let start = site.fleeting.start();
                let found = Route::Overload.call(site, Fleeting, &x);
                self.judge(&site.fleeting, start, &found);
            } else {
                let start = site.hot.start();
                let found = route.call(site, Hot, &x);
                self.judge(&site.hot, start, &found);
            }
            if count % REPORT_EVERY == 0 {
                self.calls.fetch_add(REPORT_EVERY, Ordering::Relaxed);
            }
        }
        self.calls.fetch_add(calls % REPORT_EVERY, Ordering::Relaxed);
    }
}

/// The resident memory of the process, in bytes; 0 where the system does not tell.
pub fn resident() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<i64>().ok()).unwrap_or(0) * 4096
}

/// What was seen of memory while the calls went on.
#[derive(Default)]
struct Memory {
    /// The most while the first part of the calls was made.
    first_part: i64,
    /// The most from then on.
    later: i64,
}

impl Memory {
    /// Looks until the calls have ended. The first part is the first tenth, longer in short runs: there a tenth is over
    /// before every thread has begun.
    fn watch(course: &Course, total: u64) -> Self {
        let first_part = (total / 10).max(total.min(600_000));
        let mut memory = Self::default();
        let (start, mut said) = (Instant::now(), 0);
        while !course.finished.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
            let calls = course.calls.load(Ordering::Relaxed);
            let most = if calls < first_part { &mut memory.first_part } else { &mut memory.later };
            *most = (*most).max(resident());
            if calls * 10 / total > said {
                said = calls * 10 / total;
                println!(
                    "{:3} % of {total} calls, {:.1} s, {} KiB, {} tables wait, {} wrong",
                    said * 10,
                    start.elapsed().as_secs_f64(),
                    resident() >> 10,
                    retired_tables(),
                    course.wrong.load(Ordering::Relaxed),
                );
            }
        }
        memory
    }
}

fn routes(threads: u64, sites: &[Site]) -> Vec<(&Site, Route)> {
    let handle = |site: &Site| site.dispatcher.find("stress::hot").expect("the hot operator is defined");
    let route = |thread: u64| {
        let site = if thread % 6 == 4 { &sites[1] } else { &sites[0] };
        let route = match thread % 6 {
            0 | 1 | 4 => Route::Overload,
            2 | 5 => Route::Handle(handle(site).typed().expect("the signature fits")),
            _ => Route::Boxed(handle(site)),
        };
        (site, route)
    };
    (0..threads).map(route).collect()
}

pub fn run(scale: Scale, verdict: &mut Verdict) {
    let sites = [Site::new(Dispatcher::global().clone()), Site::new(Dispatcher::new())];
    let defined: Vec<_> = sites
        .iter()
        .map(|site| {
            let mut library = site.dispatcher.fragment("stress");
            library.define(Hot);
            library.finish().expect("the hot operator is new")
        })
        .collect();
    let alive = Arc::default();
    let mut writer = Writer::new(&sites, Arc::clone(&alive));
    let course = Course {
        calls: AtomicU64::new(0),
        wrong: AtomicU64::new(0),
        unknown: AtomicU64::new(0),
        errors: AtomicU64::new(0),
        first: Mutex::new(None),
        finished: AtomicBool::new(false),
    };
    let each = scale.calls.div_ceil(scale.threads);
    let start = Instant::now();
    let memory = thread::scope(|scope| {
        let watching = scope.spawn(|| Memory::watch(&course, each * scale.threads));
        let calling: Vec<_> = routes(scale.threads, &sites)
            .into_iter()
            .map(|(site, route)| {
                scope.spawn({
                    let course = &course;
                    move || course.call(site, &route, each)
                })
            })
            .collect();
        while calling.iter().any(|thread| !thread.is_finished()) {
            writer.step();
        }
        course.finished.store(true, Ordering::Relaxed);
        let outcomes: Vec<_> = calling.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let panicked = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        verdict.within("threads that panicked", panicked as i64, 0..=0);
        watching.join().expect("looking at memory does not panic")
    });
    report(verdict, scale, &course, &writer, &memory, start.elapsed());
    balance(verdict, writer, &alive, defined);
}

fn report(
    verdict: &mut Verdict,
    scale: Scale,
    course: &Course,
    writer: &Writer,
    memory: &Memory,
    elapsed: Duration,
) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as i64;
    verdict.note("calls", count(&course.calls));
    verdict.note("changes of the registry", writer.changes);
    verdict.note("  of them refused", writer.refused);
    verdict.note("seconds", format!("{:.1}", elapsed.as_secs_f64()));
    verdict.note("calls that met no kernel or no operator", count(&course.errors));
    verdict.within("answers of no version between start and end", count(&course.wrong), 0..=0);
    verdict.within("calls too long to be judged", count(&course.unknown), 0..=count(&course.calls) / 1_000);
    verdict.note("most tables waiting", writer.most_waiting);
    verdict.note("most resident memory in the first tenth (KiB)", memory.first_part >> 10);
    let growth = (memory.later - memory.first_part) >> 10;
    verdict.within("growth of it afterwards (KiB)", growth, i64::MIN..=scale.growth() >> 10);
    if let Some(first) = course.first.lock().expect("nobody panics with the lock").take() {
        verdict.detail(first);
    }
}

/// Kernels that live against kernels that are registered, before and after everything is dropped.
fn balance(verdict: &mut Verdict, writer: Writer, alive: &AtomicI64, defined: Vec<Registration>) {
    quiesce().expect("no kernel runs here");
    let registered: i64 = writer.books.iter().map(Books::kernels).sum();
    verdict.within(
        "kernels alive, as many as registered",
        alive.load(Ordering::SeqCst),
        registered..=registered,
    );
    for site in writer.sites {
        let outcome = site.dispatcher.check_invariants();
        verdict.piece("invariants", outcome.map(|()| "hold".into()).map_err(|error| error.to_string()));
    }
    drop(writer);
    drop(defined);
    quiesce().expect("no kernel runs here");
    verdict.within("kernels alive after all are dropped", alive.load(Ordering::SeqCst), 0..=0);
    verdict.within("tables waiting at the end", retired_tables() as i64, 0..=0);
}
