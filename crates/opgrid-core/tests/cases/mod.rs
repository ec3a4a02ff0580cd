//! Cases of registration: the steps of a case are applied and dropped in every order, and what the operator looks
//! like may depend on nothing but which steps are live.

#![allow(dead_code)]

use std::collections::HashMap;

use opgrid_core::schema::{AliasAnalysis, FunctionSchema};
use opgrid_core::{
    AnyTensor, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Kernel, LegacyOptions,
    Registration, Result, Returns, SymInt, TensorData, ValueRef,
};

/// What one step registers, always for `test::foo`.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A definition by schema, in a fragment.
    Define(&'static str),
    /// A definition by a schema whose kind of alias analysis is given.
    DefineAs(&'static str, AliasAnalysis),
    /// A definition by name; the schema is that of a kernel of one tensor, which serves every key.
    Infer,
    /// A legacy registration of a schema without kernels; its text in dumps is always the same.
    Legacy(&'static str),
    /// A kernel of one tensor.
    Kernel(DispatchKey),
    /// A kernel of two tensors.
    Binary(DispatchKey),
    /// A kernel of a tensor and a symbolic integer.
    Symbolic(DispatchKey),
    /// A boxed fallback.
    Fallback(DispatchKey),
}

/// A step and its text in dumps and errors. Kernels fail with that text, so that one sees which of them ran.
pub type Step = (&'static str, What);

/// A kernel of one tensor that fails with its label.
fn unary(label: &'static str) -> Kernel {
    let run = move |_: (&AnyTensor,)| Err(Error::new(ErrorKind::Kernel, label));
    Kernel::closure::<fn(AnyTensor) -> AnyTensor>(run).describe(label)
}

/// Registers one step.
pub fn apply(dispatcher: &Dispatcher, (label, what): Step) -> Result<Registration> {
    let implement = |kernel: Kernel, key| {
        let mut library = dispatcher.implementations("test", None);
        library.implement("foo").add(kernel.describe(label).at(key));
        library.finish()
    };
    let fragment = || dispatcher.fragment("test");
    match what {
        What::Define(schema) => {
            let mut library = fragment();
            library.define(schema).describe(label);
            library.finish()
        }
        What::DefineAs(schema, kind) => {
            let mut library = fragment();
            let schema = FunctionSchema::parse(schema).expect("the schemas of the cases are good");
            library.define_schema(schema).describe(label).alias_analysis(Some(kind));
            library.finish()
        }
        What::Infer => {
            let mut library = fragment();
            library.define_inferred("foo", unary(label)).describe(label);
            library.finish()
        }
        What::Legacy(schema) => dispatcher.register(schema, LegacyOptions::new()),
        What::Kernel(key) => implement(unary(label), key),
        What::Binary(key) => {
            let run = move |_: (&AnyTensor, &AnyTensor)| Err(Error::new(ErrorKind::Kernel, label));
            implement(Kernel::closure::<fn(AnyTensor, AnyTensor) -> AnyTensor>(run), key)
        }
        What::Symbolic(key) => {
            let run = move |_: (&AnyTensor, &SymInt)| Err(Error::new(ErrorKind::Kernel, label));
            implement(Kernel::closure::<fn(AnyTensor, SymInt) -> AnyTensor>(run), key)
        }
        What::Fallback(key) => {
            let mut library = dispatcher.implementations("_", key);
            library
                .fallback(Kernel::boxed(move |_| Err(Error::new(ErrorKind::Kernel, label))).describe(label));
            library.finish()
        }
    }
}

/// A registration that was refused.
pub struct Refusal {
    /// The labels of the steps that were live, in the order of the case.
    pub live: Vec<&'static str>,
    /// The label of the refused step.
    pub step: &'static str,
    /// Why.
    pub error: Error,
}

/// The registrations of a case on a dispatcher of its own, and every state that was seen for a set of live steps.
struct Walk<'s> {
    steps: &'s [Step],
    dispatcher: Dispatcher,
    live: Vec<Option<Registration>>,
}

/// What the operator looks like for each set of live steps.
type Seen = HashMap<u64, String>;

impl<'s> Walk<'s> {
    fn new(steps: &'s [Step]) -> Self {
        let live = steps.iter().map(|_| None).collect();
        Self { steps, dispatcher: Dispatcher::with_reference_fallbacks(), live }
    }

    fn mask(&self) -> u64 {
        let bit = |(place, live): (usize, &Option<Registration>)| u64::from(live.is_some()) << place;
        self.live.iter().enumerate().map(bit).sum()
    }

    fn labels(&self) -> Vec<&'static str> {
        let label = |(step, live): (&Step, &Option<Registration>)| live.as_ref().map(|_| step.0);
        self.steps.iter().zip(&self.live).filter_map(label).collect()
    }

    /// Everything that can be seen of the operator: nothing where it is gone.
    fn state(&self) -> String {
        let counts = format!(
            "{} defined, {} dangling\n",
            self.dispatcher.operators().len(),
            self.dispatcher.dangling_implementations().len()
        );
        self.dispatcher.check_invariants().expect("the invariants hold after every step");
        let Ok(operator) = self.dispatcher.find_with_or_without_schema("test::foo") else { return counts };
        [operator.dump_state(), operator.dump_computed_table(), operator.dump_extractor()]
            .into_iter()
            .fold(counts, |text, part| text + &part.expect("an operator that was found can be dumped"))
    }

    fn compare(&self, seen: &mut Seen) {
        let state = self.state();
        let known = seen.entry(self.mask()).or_insert_with(|| state.clone());
        assert_eq!(*known, state, "the state depends on more than the live steps {:?}", self.labels());
    }

    /// Applies a step; where it is refused, nothing may have changed.
    fn add(&mut self, place: usize, seen: &mut Seen) -> Option<Refusal> {
        let before = self.state();
        match apply(&self.dispatcher, self.steps[place]) {
            Ok(registration) => {
                self.live[place] = Some(registration);
                self.compare(seen);
                None
            }
            Err(error) => {
                assert_eq!(self.state(), before, "a refused registration left a trace: {error}");
                Some(Refusal { live: self.labels(), step: self.steps[place].0, error })
            }
        }
    }

    fn drop(&mut self, place: usize, seen: &mut Seen) {
        self.live[place] = None;
        self.compare(seen);
    }
}

fn orders(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |orders, item| {
        let with_item = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, item);
                longer
            })
        };
        orders.iter().flat_map(with_item).collect()
    })
}

/// How many orders of dropping are tried for each order of registration: all for up to four steps.
fn orders_of_dropping(steps: usize) -> usize {
    if steps > 4 { 6 } else { 24 }
}

/// Applies the steps in every order, drops them in many orders, and then lets them come and go at random. Returns the
/// refusals of each order of registration.
pub fn walk(steps: &[Step]) -> Vec<Vec<Refusal>> {
    let mut seen = Seen::new();
    let orders = orders(steps.len());
    let mut refusals = Vec::new();
    let stride = orders.len().div_ceil(orders_of_dropping(steps.len()));
    for (turn, registering) in orders.iter().enumerate() {
        for (number, dropping) in orders.iter().skip(turn % stride).step_by(stride).enumerate() {
            let mut walk = Walk::new(steps);
            walk.compare(&mut seen);
            let refused: Vec<_> =
                registering.iter().filter_map(|&place| walk.add(place, &mut seen)).collect();
            dropping.iter().for_each(|&place| walk.drop(place, &mut seen));
            assert_eq!(walk.mask(), 0);
            if number == 0 {
                refusals.push(refused);
            }
        }
    }
    at_random(steps, &mut seen);
    refusals
}

/// Lets steps come and go in a fixed order that looks random.
fn at_random(steps: &[Step], seen: &mut Seen) {
    let mut walk = Walk::new(steps);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = (random >> 33) as usize % steps.len();
        match &walk.live[place] {
            Some(_) => walk.drop(place, seen),
            None => drop(walk.add(place, seen)),
        }
    }
}

/// Every step applied on one dispatcher; none may be refused.
pub fn all(steps: &[Step]) -> (Dispatcher, Vec<Registration>) {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let apply = |step: &Step| apply(&dispatcher, *step).expect("the steps of this case go together");
    let registrations = steps.iter().map(apply).collect();
    (dispatcher, registrations)
}

/// Checks that no step is refused in any order.
pub fn check_accepted(steps: &[Step]) {
    let refusals = walk(steps);
    let text = |refused: &Refusal| format!("{} beside {:?}: {}", refused.step, refused.live, refused.error);
    let refused: Vec<_> = refusals.iter().flatten().map(text).collect();
    assert!(refused.is_empty(), "refused: {refused:#?}");
}

/// Checks that no step is refused in any order, and what is registered in the end.
pub fn check_state(steps: &[Step], expected: &str) {
    check_accepted(steps);
    let (dispatcher, _registrations) = all(steps);
    let operator = dispatcher.find_with_or_without_schema("test::foo").unwrap();
    assert_eq!(operator.dump_state().unwrap(), expected);
}

/// The lines that `keys` have in the computed table; the text of a fallback is that of the dispatcher, and left out.
pub fn columns(dispatcher: &Dispatcher, keys: &str) -> String {
    let operator = dispatcher.find_with_or_without_schema("test::foo").unwrap();
    let dump = operator.dump_computed_table().unwrap();
    let line = |key: &str| {
        let start = format!("{key}: ");
        let line = dump.lines().find(|line| line.starts_with(&start))?;
        let fallback = line.ends_with("[backend fallback]");
        Some(if fallback { format!("{start}[backend fallback]\n") } else { format!("{line}\n") })
    };
    keys.split_whitespace().filter_map(line).collect()
}

/// Checks that no step is refused in any order, how the computed table fills `keys`, and that calls with exactly such
/// a key run what the table says.
pub fn check_table(steps: &[Step], keys: &str, expected: &str) {
    check_accepted(steps);
    for order in orders(steps.len()) {
        let ordered: Vec<_> = order.iter().map(|&place| steps[place]).collect();
        let (dispatcher, _registrations) = all(&ordered);
        assert_eq!(columns(&dispatcher, keys), expected, "{order:?}");
        keys.split_whitespace().for_each(|key| check_reached(&dispatcher, key, expected));
    }
}

/// Checks that a call with exactly this key ends in the kernel that `expected` names for it.
fn check_reached(dispatcher: &Dispatcher, key: &str, expected: &str) {
    let operator = dispatcher.find_with_or_without_schema("test::foo").unwrap();
    let parsed: DispatchKey = key.parse().unwrap();
    let keys = if parsed == DispatchKey::Undefined { DispatchKeySet::EMPTY } else { parsed.key_set() };
    let tensor = AnyTensor::new(keys, Nothing);
    let error = operator.redispatch_boxed(keys, &[ValueRef::from(&tensor)], &mut Returns::new()).unwrap_err();
    let line = expected.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    match line.and_then(|line| line.split_once(" [")) {
        None if line.is_some() => {} // The fallback calls on, wherever that leads.
        None => assert_eq!(error.kind(), ErrorKind::MissingKernel, "{key}"),
        Some(("ambiguous_autogradother", _)) => assert_eq!(error.kind(), ErrorKind::AmbiguousKernel, "{key}"),
        Some((label, _)) => assert_eq!(error.message(), label, "{key}"),
    }
}

/// No data.
pub struct Nothing;

impl TensorData for Nothing {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

/// Checks that in every order exactly one step is refused, always with this kind and all of these essentials.
pub fn check_refused(steps: &[Step], kind: ErrorKind, essentials: &[&str]) {
    for refusals in walk(steps) {
        let [refused] = refusals.as_slice() else {
            panic!("{} steps were refused, expected 1", refusals.len())
        };
        check_error(&refused.error, kind, essentials);
    }
}

/// Checks the kind of an error and the essentials of its message.
pub fn check_error(error: &Error, kind: ErrorKind, essentials: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for essential in essentials {
        assert!(error.message().contains(essential), "`{essential}` is missing in: {error}");
    }
}
