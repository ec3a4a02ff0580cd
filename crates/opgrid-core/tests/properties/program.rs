//! Random programs of registrations, run on a dispatcher and on the naive model side by side.

use opgrid_core::{
    AnyTensor, DispatchKey as Key, DispatchKeySet, Dispatcher, ErrorKind, Kernel as Code, LocalKeys,
    OperatorHandle, Reason, Registration, Returns, Value, ValueRef, torch_columns,
};

use crate::bare::Bare;
use crate::input::Input;
use crate::model::{Change, Item, Kernel, Model, Sort};

type IntOperator = fn(AnyTensor) -> i64;
type FloatOperator = fn(AnyTensor) -> f64;

const OPERATORS: usize = 3;

fn name(operator: usize) -> String {
    format!("fuzz::op{operator}")
}

/// A kernel that answers with its number, and bears it in its description.
fn code(kernel: Kernel) -> Code {
    let number = kernel.number;
    let code = match kernel.sort {
        Sort::Boxed => Code::boxed(move |call| {
            call.push(i64::from(number));
            Ok(())
        }),
        Sort::Fallthrough => Code::fallthrough(),
        Sort::Int => Code::closure::<IntOperator>(move |_| Ok(i64::from(number))),
        Sort::Float => Code::closure::<FloatOperator>(move |_| Ok(f64::from(number))),
    };
    let code = code.describe(&number.to_string());
    if let Some(name) = kernel.name { code.named(name) } else { code }
}

/// Keys that rules speak of, more often than the rest.
const FAVOURITES: &[Key] = &[
    Key::Cpu,
    Key::Cuda,
    Key::Meta,
    Key::AutogradCpu,
    Key::Autograd,
    Key::AutogradOther,
    Key::AutogradNestedTensor,
    Key::SparseCpu,
    Key::QuantizedCpu,
    Key::NestedTensorCpu,
    Key::Fpga,
    Key::Tracer,
    Key::BackendSelect,
    Key::CompositeImplicitAutograd,
    Key::CompositeExplicitAutograd,
    Key::CompositeExplicitAutogradNonFunctional,
    Key::CompositeImplicitAutogradNestedTensor,
    Key::FuncTorchBatchedDecomposition,
];

/// The state of one run.
struct Run {
    dispatcher: Dispatcher,
    model: Model,
    registrations: Vec<(Registration, Vec<Change>)>,
    /// Handles with the operator's place and incarnation, some of them stale.
    handles: Vec<(OperatorHandle, usize, u32)>,
    kernels: u32,
    keys: Vec<Key>,
    columns: Vec<Key>,
}

/// Runs the program that the bytes stand for. Panics where dispatcher and model differ.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let dispatcher = if input.once_in(2) { Dispatcher::bare() } else { Dispatcher::new() };
    dispatcher.on_override(|_| ());
    let mut run = Run {
        model: Model::new(base(&dispatcher)),
        dispatcher,
        registrations: Vec::new(),
        handles: Vec::new(),
        kernels: 0,
        keys: Key::all().collect(),
        columns: torch_columns(),
    };
    while !input.is_empty() {
        run.step(&mut input);
    }
    (0..OPERATORS).for_each(|operator| run.compare(operator));
    if input.once_in(2) {
        drop(run.dispatcher);
        run.handles.iter().for_each(|(handle, ..)| assert_eq!(stale(handle), Some(ErrorKind::Stale)));
    }
}

/// What fills the columns of an operator without kernels.
fn base(dispatcher: &Dispatcher) -> std::collections::BTreeMap<Key, Reason> {
    let mut library = dispatcher.fragment("fuzz");
    library.define("base(Tensor x) -> int");
    let _defined = library.finish().expect("the dispatcher is new");
    let base = dispatcher.find("fuzz::base").expect("the operator is defined");
    base.table().expect("it is there").into_iter().map(|column| (column.key, column.reason)).collect()
}

fn stale(handle: &OperatorHandle) -> Option<ErrorKind> {
    handle.table().err().map(|error| error.kind())
}

impl Run {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(8) {
            0..4 => self.register(input),
            4..6 => self.drop_one(input),
            6 => self.take_typed_handle(input),
            _ => self.call(input),
        }
        // Looking at a whole table takes longer than changing it.
        if input.once_in(4) {
            let operator = input.below(OPERATORS);
            self.compare(operator);
        }
    }

    fn key(&mut self, input: &mut Input<'_>) -> Option<Key> {
        match input.below(8) {
            0 => None,
            // Undefined is the same as no key.
            1 | 2 => {
                Some(self.keys[input.below(self.keys.len().min(256))]).filter(|key| *key != Key::Undefined)
            }
            _ => Some(input.pick(FAVOURITES)),
        }
    }

    fn kernel(&mut self, input: &mut Input<'_>) -> Kernel {
        self.kernels += 1;
        Kernel {
            number: self.kernels,
            name: input.pick(&[None, None, None, Some("one"), Some("two")]),
            sort: input.pick(&[
                Sort::Boxed,
                Sort::Int,
                Sort::Int,
                Sort::Fallthrough,
                Sort::Boxed,
                Sort::Int,
                Sort::Float,
            ]),
        }
    }

    /// One library of up to three items.
    fn register(&mut self, input: &mut Input<'_>) {
        let may_replace = input.once_in(2);
        // A block of fallbacks defines nothing, and one that defines holds no fallbacks.
        let items: Vec<_> = if input.once_in(5) {
            let mut fallback = || {
                let kernel = self.kernel(input);
                // A typed fallback would have to fit every operator.
                let sort = if kernel.sort == Sort::Fallthrough { Sort::Fallthrough } else { Sort::Boxed };
                Item::Fallback(self.key(input), Kernel { sort, ..kernel })
            };
            vec![fallback()]
        } else {
            let count = 1 + input.below(3);
            let claim = input.once_in(12).then_some(Item::Claim);
            let rest = (0..count).map(|_| {
                let operator = input.below(OPERATORS);
                if input.once_in(3) {
                    Item::Define(operator)
                } else {
                    let kernel = self.kernel(input);
                    Item::Implement(operator, self.key(input), kernel)
                }
            });
            claim.into_iter().chain(rest.collect::<Vec<_>>()).collect()
        };
        let found = self.apply(&items, may_replace);
        let expected = self.model.apply(&items, may_replace);
        match (found, expected) {
            (Ok(registration), Ok(changes)) => self.registrations.push((registration, changes)),
            (Err(found), Err(expected)) => assert_eq!(found.kind(), expected, "{items:?}: {found}"),
            (found, expected) => panic!("{items:?}: found {found:?}, expected {expected:?}"),
        }
        self.remember_handles();
    }

    fn apply(&self, items: &[Item], may_replace: bool) -> opgrid_core::Result<Registration> {
        let mut library = match items[0] {
            Item::Claim => self.dispatcher.library("fuzz"),
            Item::Fallback(..) => self.dispatcher.implementations("_", None),
            _ => self.dispatcher.fragment("fuzz"),
        };
        if may_replace {
            library.allow_override();
        }
        let at = |key: Option<Key>, kernel| match key {
            Some(key) => code(kernel).at(key),
            None => code(kernel),
        };
        for item in items {
            match *item {
                Item::Claim => {}
                Item::Define(operator) => {
                    library.define(format!("{}(Tensor x) -> int", name(operator)).as_str());
                }
                Item::Implement(operator, key, kernel) => {
                    library.implement(name(operator).as_str()).add(at(key, kernel));
                }
                Item::Fallback(key, kernel) => {
                    library.fallback(at(key, kernel));
                }
            }
        }
        library.finish()
    }

    fn remember_handles(&mut self) {
        for (place, operator) in &self.model.operators {
            if !self.handles.iter().any(|(_, _, known)| *known == operator.incarnation) {
                let handle = self.dispatcher.find_with_or_without_schema(&name(*place));
                self.handles.push((handle.expect("the model has it"), *place, operator.incarnation));
            }
        }
    }

    fn drop_one(&mut self, input: &mut Input<'_>) {
        if !self.registrations.is_empty() {
            let which = input.below(self.registrations.len());
            let (registration, changes) = self.registrations.remove(which);
            drop(registration);
            self.model.undo(changes);
        }
    }

    fn take_typed_handle(&mut self, input: &mut Input<'_>) {
        let operator = input.below(OPERATORS);
        let sort = input.pick(&[Sort::Int, Sort::Int, Sort::Float]);
        if !self.model.operators.contains_key(&operator) {
            return;
        }
        let handle = self.dispatcher.find_with_or_without_schema(&name(operator)).expect("the model has it");
        let found = match sort {
            Sort::Float => handle.typed::<FloatOperator>().map(drop),
            _ => handle.typed::<IntOperator>().map(drop),
        };
        assert_eq!(found.map_err(|error| error.kind()), self.model.may_call(operator, sort), "{sort:?}");
    }

    /// Calls with exactly the keys of one column, and looks at the keys that a whole call would have.
    fn call(&mut self, input: &mut Input<'_>) {
        let place = input.below(OPERATORS);
        let column = self.columns[input.below(self.columns.len())];
        let keys: DispatchKeySet =
            (0..1 + input.below(3)).map(|_| self.columns[input.below(self.columns.len())]).collect();
        let Some(operator) = self.model.operators.get(&place) else {
            assert!(self.dispatcher.find_with_or_without_schema(&name(place)).is_err());
            return;
        };
        let handle = self.dispatcher.find_with_or_without_schema(&name(place)).expect("the model has it");
        let effective = handle.effective_keys(keys).expect("the operator is there");
        let all = LocalKeys::current().apply(keys);
        assert_eq!(effective, self.model.effective(operator, all), "{all:?}");

        let mut returns = Returns::new();
        let x = AnyTensor::new(column.key_set(), Bare);
        let found = handle.redispatch_boxed(column.key_set(), &[ValueRef::from(&x)], &mut returns);
        let found = found.map(|()| returns.into_vec()).map_err(|error| error.kind());
        let expected = match self.model.resolve(operator, column) {
            (_, Some(Kernel { sort: Sort::Fallthrough, .. })) | (Reason::SteppedOver, _) => {
                Err(ErrorKind::Internal)
            }
            (_, Some(Kernel { sort: Sort::Float, number, .. })) => Ok(vec![Value::from(f64::from(number))]),
            (_, Some(kernel)) => Ok(vec![Value::from(i64::from(kernel.number))]),
            (Reason::Ambiguous, None) => Err(ErrorKind::AmbiguousKernel),
            (_, None) => Err(ErrorKind::MissingKernel),
        };
        assert_eq!(found, expected, "{column}");
    }

    /// Everything that can be seen of an operator, and every handle of it.
    fn compare(&mut self, place: usize) {
        let known = self.model.operators.get(&place);
        let stale_handles = self.handles.iter().filter(|(_, of, _)| *of == place);
        for (handle, _, incarnation) in stale_handles {
            let is_there = known.is_some_and(|operator| operator.incarnation == *incarnation);
            assert_eq!(stale(handle), (!is_there).then_some(ErrorKind::Stale));
        }
        let found = self.dispatcher.find_with_or_without_schema(&name(place));
        let Some(operator) = known else {
            assert_eq!(found.err().map(|error| error.kind()), Some(ErrorKind::Unknown));
            return;
        };
        let found = found.expect("the model has it");
        assert_eq!(found.has_schema(), operator.is_defined);
        found.check_invariants().expect("invariants hold");
        for column in found.table().expect("the operator is there") {
            let (reason, kernel) = self.model.resolve(operator, column.key);
            assert_eq!(column.reason, reason, "{} of {operator:?}", column.key);
            if let Some(kernel) = kernel {
                let number = column.kernel.and_then(|kernel| kernel.description);
                assert_eq!(number, Some(kernel.number.to_string()), "{} of {operator:?}", column.key);
                assert_eq!(column.fallthrough, kernel.sort == Sort::Fallthrough);
            }
        }
    }
}
