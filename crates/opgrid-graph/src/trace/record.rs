//! The recording of a trace: sessions, their tensors, and the layer that sees calls.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid_core::schema::{FunctionSchema, Type};
use opgrid_core::{
    AnyTensor, BoxedCall, DispatchKey, Dispatcher, Error, ErrorKind, IncludeGuard, Kernel, List, Reason,
    Result, Returns, Scalar, TensorType, Value, ValueView,
};
use opgrid_tensor::layers::{autograd, modes};
use opgrid_tensor::tensor::Wrapper;
use opgrid_tensor::{Tensor, TensorSpec};

use super::elements::{self, Dependence, ElementSizes};
use super::guards::{Comparison, Guard};
use super::{SourceFn, Trace, untraceable};
use crate::graph::expression::Expression;
use crate::graph::types::{Size, ValueType};
use crate::graph::{Argument, InputKind, Node, Outcome, Source, Variable};

/// Operators whose results are elements of tensors as numbers.
const READS: [&str; 5] =
    ["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::allclose"];

/// One run of code that is traced.
#[derive(Clone)]
pub(super) struct Session(Arc<State>);

struct State {
    /// Which session it is.
    number: u64,
    recording: Mutex<Recording>,
    dispatcher: Dispatcher,
    key: DispatchKey,
    guards_reads: bool,
    /// Whether sizes that depend on elements stay what they are in the example, which the program then checks.
    keeps_sizes: bool,
    /// Whether sizes of inputs vary.
    varies: bool,
    /// Whether what code concludes from sizes is asked for.
    wants_guards: bool,
    source: Option<Arc<SourceFn>>,
}

/// What a session has recorded.
#[derive(Default)]
pub(super) struct Recording {
    pub(super) nodes: Vec<Node>,
    /// The tensors that the code has: those that have names first, then others in the order of their first use.
    pub(super) stored: Vec<(Variable, InputKind, Tensor)>,
    names: BTreeSet<String>,
    pub(super) element_sizes: ElementSizes,
    pub(super) guards: Vec<Guard>,
    /// Whether gradients are recorded.
    grad_enabled: bool,
    /// The first error of the trace. Code may have caught it.
    fault: Option<String>,
}

/// A tensor that a session knows.
pub(super) struct TracedTensor {
    inner: Tensor,
    name: String,
    session: Session,
    spec: TensorSpec,
}

impl TracedTensor {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }
}

impl Wrapper for TracedTensor {
    fn layer(&self) -> &str {
        "trace"
    }

    fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    fn version(&self) -> u64 {
        self.inner.version()
    }
}

/// What differs between the runs of one trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    /// The sizes that depend on elements, from the first on.
    pub(super) planned: Vec<i64>,
    /// Whether they are those of the example, which the program checks.
    pub(super) keeps_sizes: bool,
    /// Whether what the code concludes from sizes is asked for.
    pub(super) wants_guards: bool,
}

/// The sessions whose code runs, on any thread: it may hand tensors to others.
static RUNNING: Mutex<Vec<Session>> = Mutex::new(Vec::new());

fn running_sessions() -> MutexGuard<'static, Vec<Session>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The sessions of this thread above autograd, the innermost last.
    static SESSIONS: RefCell<Vec<Session>> = const { RefCell::new(Vec::new()) };
    /// The names of the modules that run.
    static SCOPES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A module's name on the nodes that are recorded until this is dropped.
#[derive(Debug)]
pub struct Scope(std::marker::PhantomData<*const ()>);

/// Says that a module of that name runs, below those that run already: nodes of a trace say so.
///
/// # Examples
///
/// ```
/// use opgrid::Tensor;
/// use opgrid_graph::{Trace, scope};
///
/// let x = Tensor::from_slice(&[1.0f32], &[1])?;
/// let program = Trace::new().run(&[&x], |inputs| {
///     let _outer = scope("encoder");
///     let _inner = scope("0");
///     Ok(vec![inputs[0].exp()?])
/// })?;
/// assert_eq!(program.graph().block.nodes[0].source.module, "encoder.0");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn scope(name: impl Into<String>) -> Scope {
    SCOPES.with_borrow_mut(|scopes| scopes.push(name.into()));
    Scope(std::marker::PhantomData)
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = SCOPES.try_with(|scopes| scopes.borrow_mut().pop());
    }
}

/// The names of the modules that run, from the outermost.
fn path() -> String {
    SCOPES.with_borrow(|scopes| scopes.join("."))
}

impl Session {
    /// # Errors
    ///
    /// The dispatcher has another layer at the tracer's place; a name is given twice.
    pub(super) fn new(trace: &Trace, dispatcher: &Dispatcher, way: &Way) -> Result<Self> {
        let key = if trace.is_below_autograd { modes::KEY } else { DispatchKey::Tracer };
        if trace.is_below_autograd {
            if dispatcher.default_slot(key)?.reason != Reason::Fallback {
                keep(modes::install(dispatcher))?;
            }
        } else if dispatcher.default_slot(key)?.reason != Reason::Fallback {
            let mut everything = dispatcher.implementations("_", key);
            everything.fallback(Kernel::engine(trace_call).named("trace"));
            keep(everything.finish())?;
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let state = State {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            recording: Mutex::new(Recording {
                grad_enabled: autograd::is_grad_enabled(),
                element_sizes: ElementSizes { planned: way.planned.clone(), found: Vec::new() },
                ..Recording::default()
            }),
            dispatcher: dispatcher.clone(),
            key,
            guards_reads: trace.guards_reads,
            keeps_sizes: way.keeps_sizes,
            varies: !trace.symbols.is_empty(),
            wants_guards: way.wants_guards,
            source: trace.source.clone(),
        };
        let session = Self(Arc::new(state));
        for (kind, tensor) in &trace.stored {
            let name = kind.stored_name().unwrap_or_default();
            let prefix = if matches!(kind, InputKind::Parameter(_)) { "p" } else { "b" };
            expect_no_batch(tensor)?;
            let mut recording = session.recording();
            if recording.stored.iter().any(|(_, known, _)| known.stored_name() == Some(name)) {
                return Err(crate::error::argument(format!("two tensors are named `{name}`, expected one")));
            }
            recording.store(format!("{prefix}_{}", identifier(name)), kind.clone(), tensor);
        }
        Ok(session)
    }

    /// The session of that number, while its code runs.
    pub(super) fn find_running(number: u64) -> Option<Self> {
        running_sessions().iter().find(|session| session.number() == number).cloned()
    }

    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    /// Whether there are sizes that vary, and what the code concludes from them is asked for.
    pub(super) fn wants_guards(&self) -> bool {
        self.0.wants_guards && (self.0.varies || !self.recording().element_sizes.found.is_empty())
    }

    /// Adds a comparison that holds.
    pub(super) fn add_guard(&self, left: Expression, comparison: Comparison, right: Expression) {
        let source = self.source();
        let mut recording = self.recording();
        let nodes = recording.nodes.len();
        recording.guards.push(Guard { left, comparison, right, nodes, source });
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.0.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn finish(&self) -> Recording {
        std::mem::take(&mut *self.recording())
    }

    /// A name that no value has.
    pub(super) fn unique(&self, name: &str) -> String {
        self.recording().unique(&identifier(name))
    }

    /// Runs the code with the layer seeing its calls.
    pub(super) fn within<X>(&self, body: impl FnOnce() -> Result<X>) -> Result<X> {
        let session = self.clone();
        running_sessions().push(session.clone());
        let _running = RunningGuard(session.number());
        let result = self.0.dispatcher.clone().within(move || {
            if session.0.key == modes::KEY {
                let _entered = modes::enter(Arc::new(SessionMode(session)))?;
                return body();
            }
            let _included = IncludeGuard::new(DispatchKey::Tracer);
            SESSIONS.with_borrow_mut(|sessions| sessions.push(session));
            let _left = SessionGuard;
            body()
        })?;
        // Code that caught the error went on in another way than it does without a trace.
        match self.recording().fault.take() {
            Some(fault) => Err(crate::error::argument(fault)),
            None => Ok(result),
        }
    }

    /// Where the code stands.
    fn source(&self) -> Source {
        self.0
            .source
            .as_ref()
            .map_or_else(|| Source { module: path(), place: String::new() }, |source| source())
    }

    /// A tensor that stands for the value of that name.
    pub(super) fn wrap(&self, name: String, inner: &Tensor) -> Result<Tensor> {
        let keys = inner.keys() | self.0.key.key_set();
        let spec = inner.spec()?.clone();
        Ok(Tensor::wrap(keys, TracedTensor { inner: inner.clone(), name, session: self.clone(), spec }))
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The tensor as an argument of a node.
    pub(super) fn argument(&self, tensor: &Tensor) -> Result<Argument> {
        if let Some(traced) = tensor.wrapper::<TracedTensor>() {
            if self.is(&traced.session) {
                return Ok(Argument::Value(traced.name.clone()));
            }
            return Err(untraceable("found a tensor of another trace, expected one of this trace"));
        }
        if !tensor.is_defined() {
            return Ok(Argument::None);
        }
        if let Some(number) = tensor.bare_number() {
            return Ok(Argument::Number(*number));
        }
        expect_no_batch(tensor)?;
        let mut recording = self.recording();
        if let Some((variable, ..)) = recording.stored.iter().find(|(_, _, known)| known.is_same(tensor)) {
            return Ok(Argument::Value(variable.name.clone()));
        }
        let constants = recording.stored.iter().filter(|(_, kind, _)| matches!(kind, InputKind::Constant(_)));
        let name = format!("constant_{}", constants.count());
        let name = recording.store(format!("c_{name}"), InputKind::Constant(name), tensor);
        Ok(Argument::Value(name))
    }

    /// What the call is given inside.
    fn inside(&self, value: Value) -> Value {
        let one = |tensor: AnyTensor| match self.traced(&tensor) {
            Some(traced) => traced.inner.as_any().clone(),
            None => tensor,
        };
        match value {
            Value::Tensor(tensor) => Value::Tensor(one(tensor)),
            Value::List(list) => match &*list {
                List::Tensors(tensors) => {
                    Value::from(List::Tensors(tensors.iter().cloned().map(one).collect()))
                }
                List::OptionalTensors(tensors) => Value::from(List::OptionalTensors(
                    tensors.iter().cloned().map(|tensor| tensor.map(one)).collect(),
                )),
                List::Values(element, values) => {
                    let values: Vec<_> = values.iter().cloned().map(|value| self.inside(value)).collect();
                    Value::from(List::Values(element.clone(), values.into()))
                }
                _ => Value::List(list),
            },
            value => value,
        }
    }

    fn traced<'t>(&self, tensor: &'t AnyTensor) -> Option<&'t TracedTensor> {
        let traced = Tensor::from_any_ref(tensor)?.wrapper::<TracedTensor>()?;
        self.is(&traced.session).then_some(traced)
    }

    /// A value as an argument of a node.
    fn value(&self, value: ValueView<'_>) -> Result<Argument> {
        let tensor = |tensor: &AnyTensor| match Tensor::from_any_ref(tensor) {
            Some(tensor) => self.argument(tensor),
            None => Err(untraceable("found a tensor of another library, expected one of opgrid")),
        };
        let values = |values: &[Value]| {
            values.iter().map(|value| self.value(value.borrow().view())).collect::<Result<_>>()
        };
        Ok(match value {
            ValueView::None => Argument::None,
            ValueView::Tensor(one) => tensor(one)?,
            ValueView::Int(value) => value.into(),
            ValueView::UInt(value) => Argument::Number(Scalar::UInt(value)),
            ValueView::Float(value) => Argument::Number(Scalar::Float(value)),
            ValueView::Complex(value) => Argument::Number(Scalar::Complex(value)),
            ValueView::Bool(value) => Argument::Number(Scalar::Bool(value)),
            ValueView::Str(text) => Argument::Str(text.to_owned()),
            ValueView::DType(dtype) => Argument::DType(dtype),
            ValueView::Layout(layout) => Argument::Layout(layout),
            ValueView::MemoryFormat(format) => Argument::MemoryFormat(format),
            ValueView::Device(device) => Argument::Device(device),
            ValueView::Ints(values) => Argument::List(values.iter().map(|value| (*value).into()).collect()),
            ValueView::Floats(values) => {
                Argument::List(values.iter().map(|value| Argument::Number(Scalar::Float(*value))).collect())
            }
            ValueView::Bools(values) => {
                Argument::List(values.iter().map(|value| Argument::Number(Scalar::Bool(*value))).collect())
            }
            ValueView::Tensors(tensors) => Argument::List(tensors.iter().map(tensor).collect::<Result<_>>()?),
            ValueView::OptionalTensors(tensors) => Argument::List(
                tensors
                    .iter()
                    .map(|one| one.as_ref().map_or(Ok(Argument::None), tensor))
                    .collect::<Result<_>>()?,
            ),
            ValueView::List(_, items) => Argument::List(values(items)?),
            ValueView::Generator(_) => {
                return Err(untraceable(
                    "found a generator of random numbers, which a program does not hold; use the default one",
                ));
            }
            _ => {
                let found = value_type(value);
                return Err(untraceable(format_args!(
                    "found {found} as an argument, expected tensors, numbers, texts and lists"
                )));
            }
        })
    }

    /// Runs a call on the inner tensors and records it. A call that cannot be recorded is an error, and the trace gives no program.
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        let mut is_refused = true;
        let result = self.run(call, &mut is_refused);
        if let Err(error) = &result
            && is_refused
        {
            self.recording().fault.get_or_insert_with(|| error.message().to_owned());
        }
        result
    }

    /// As [`handle`](Self::handle). `is_refused` says of an error whether it is the trace's and not the operator's.
    fn run(&self, call: &mut BoxedCall<'_>, is_refused: &mut bool) -> Result<()> {
        let Some(schema) = call.schema() else {
            let name = call.operator().name();
            return Err(untraceable(format_args!("{name} has no schema, expected an operator that has one")));
        };
        let name = call.operator().name().to_string();
        let subject = |error: Error| error.within(&name);
        let is_seen = call.args().iter().any(|value| has_tensor(value.view()));
        let returns_tensors = schema.returns.iter().any(|given| is_of_tensors(&given.real_type));
        let writes = schema.arguments.iter().any(|argument| argument.is_write());
        let is_check = schema.returns.is_empty();
        let is_read = READS.contains(&name.as_str());
        // Questions about sizes and the like have answers that the code holds as numbers.
        let is_question = !returns_tensors && !writes && !is_check && !is_read;
        let node = if is_question || (is_read && !is_seen) {
            None
        } else {
            let (positional, named) = self.arguments(schema, call).map_err(subject)?;
            Some(Node { target: name.clone(), positional, named, results: Vec::new(), source: self.source() })
        };
        if is_read && node.is_some() && !self.0.guards_reads {
            return Err(self.read_error(&name, "reads a value from a tensor"));
        }
        let args: Vec<Value> = call.args().iter().map(|value| self.inside(value.to_value())).collect();
        let borrowed: Vec<_> = args.iter().map(Value::borrow).collect();
        let mut returns = Returns::new();
        *is_refused = false;
        call.operator().call_boxed(&borrowed, &mut returns)?;
        *is_refused = true;
        let mut results = returns.into_vec();
        let Some(mut node) = node else {
            results.into_iter().for_each(|result| call.push(result));
            return Ok(());
        };
        if is_read {
            self.guard(node, &results);
            results.into_iter().for_each(|result| call.push(result));
            return Ok(());
        }
        self.expect_sizes_kept(call).map_err(subject)?;
        let dependence = elements::dependence(&node, call, &results);
        let mut new_size = None;
        match &dependence {
            Dependence::Size { places, counted } if !self.0.keeps_sizes => {
                let planned = self.recording().element_sizes.planned(counted.as_deref());
                new_size = Some(elements::resize(&mut results, places, planned).map_err(subject)?);
            }
            Dependence::None => {}
            _ if self.0.guards_reads => {}
            _ => return Err(self.read_error(&name, "gives a result whose sizes depend on elements")),
        }
        for (index, result) in results.into_iter().enumerate() {
            // What was written is an argument, and stays the tensor that the caller has.
            let written = schema.returns.get(index).and_then(|given| written_argument(schema, given));
            if let Some(written) = written {
                node.results.push(Outcome::Unused);
                call.push(call.args()[written].to_value());
                continue;
            }
            let (outcome, value) = self.result(&node.target, result).map_err(subject)?;
            node.results.push(outcome);
            call.push(value);
        }
        while node.results.last() == Some(&Outcome::Unused) {
            node.results.pop();
        }
        match (dependence, new_size) {
            (Dependence::Size { places, counted }, Some(size)) => {
                if let Some((place, dimension)) = places.first()
                    && let Some(variable) = node.variables().nth(*place)
                {
                    let value = variable.name.clone();
                    self.recording().element_sizes.add(value, *dimension, size, counted);
                }
                self.record(node);
            }
            (Dependence::None, _) => self.record(node),
            _ => {
                self.record(node.clone());
                self.guard_sizes(&node);
            }
        }
        Ok(())
    }

    /// The arguments of a node: those that are their defaults and may be left out are.
    fn arguments(&self, schema: &FunctionSchema, call: &BoxedCall<'_>) -> Result<Arguments> {
        let binder = call.operator().binder()?;
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        let mut needed = 0;
        for (index, (value, argument)) in call.args().iter().zip(&schema.arguments).enumerate() {
            let within = |error: Error| error.within(format_args!("argument `{}`", argument.name));
            let given = self.value(value.view()).map_err(within)?;
            let is_default = argument.default.is_some() && *binder.default(index) == value.to_value();
            if !argument.kwarg_only {
                positional.push(given);
                if !is_default {
                    needed = positional.len();
                }
            } else if !is_default {
                named.push((argument.name.clone(), given));
            }
        }
        positional.truncate(needed);
        Ok((positional, named))
    }

    /// What a result is called, and what the code gets for it.
    fn result(&self, target: &str, result: Value) -> Result<(Outcome, Value)> {
        let wrap = |tensor: Tensor| -> Result<(Variable, Tensor)> {
            let name = self.recording().unique(&value_name(target));
            let variable = Variable { name: name.clone(), kind: ValueType::from_tensor(&tensor) };
            Ok((variable, self.wrap(name, &tensor)?))
        };
        match result {
            Value::Tensor(tensor) => {
                let tensor = Tensor::try_from(tensor)?;
                if !tensor.is_defined() {
                    return Ok((Outcome::Unused, Value::from(&tensor)));
                }
                let (variable, wrapped) = wrap(tensor)?;
                Ok((Outcome::One(variable), Value::from(&wrapped)))
            }
            Value::List(list) => {
                let mut variables = Vec::new();
                let mut tensors = Vec::new();
                for item in list.values() {
                    let (variable, wrapped) = wrap(Tensor::try_from(item)?)?;
                    variables.push(variable);
                    tensors.push(wrapped.as_any().clone());
                }
                Ok((Outcome::List(variables), Value::from(List::Tensors(tensors))))
            }
            value => Ok((Outcome::Unused, value)),
        }
    }

    /// The error of code that depends on elements.
    #[cold]
    fn read_error(&self, name: &str, what: &str) -> Error {
        let Source { module, place } = self.source();
        let module = if module.is_empty() { module } else { format!(" in module `{module}`") };
        let place = if place.is_empty() { module } else { format!("{module} at {place}") };
        untraceable(format_args!(
            "{name}{place} {what}, which a program does not know beforehand; compute with the tensor itself, or guard reads"
        ))
    }

    /// Adds a node. Where gradients are recorded for the first time or no longer, a mark stands before it.
    fn record(&self, node: Node) {
        let grad_enabled = autograd::is_grad_enabled();
        let mut recording = self.recording();
        if self.0.key == DispatchKey::Tracer && grad_enabled != recording.grad_enabled {
            recording.grad_enabled = grad_enabled;
            let (positional, source) =
                (vec![Argument::Number(Scalar::Bool(grad_enabled))], node.source.clone());
            let target = super::grad_mode::MARK.to_owned();
            recording.nodes.push(Node { target, positional, source, ..Node::default() });
        }
        recording.nodes.push(node);
    }

    /// Records that a value is read, and an assertion that it is the same.
    fn guard(&self, mut node: Node, results: &[Value]) {
        let Some(scalar) = results.first().and_then(|value| value.borrow().as_scalar()) else { return };
        let kind = match scalar {
            Scalar::Bool(_) => ValueType::Bool,
            Scalar::Int(_) | Scalar::UInt(_) => ValueType::Int(None),
            _ => ValueType::Float,
        };
        let name = self.recording().unique(&value_name(&node.target));
        let message = format!("{} read {scalar:?} when the program was traced", node.target);
        node.results = vec![Outcome::One(Variable { name: name.clone(), kind })];
        let source = node.source.clone();
        self.record(node);
        self.expect(name, scalar, message, &source);
    }

    /// Records assertions that the results of a node have the same sizes.
    fn guard_sizes(&self, node: &Node) {
        for variable in node.variables() {
            let ValueType::Tensor(tensor) = &variable.kind else { continue };
            for (dimension, size) in tensor.sizes.iter().enumerate() {
                let Size::Known(size) = size else { continue };
                let name = self.recording().unique("size");
                let message = format!(
                    "size {dimension} of the result of {} was {size} when the program was traced",
                    node.target
                );
                self.record(Node {
                    target: "aten::sym_size.int".to_owned(),
                    positional: vec![Argument::Value(variable.name.clone()), (dimension as i64).into()],
                    results: vec![Outcome::One(Variable { name: name.clone(), kind: ValueType::Int(None) })],
                    source: node.source.clone(),
                    ..Node::default()
                });
                self.expect(name, Scalar::Int(*size), message, &node.source);
            }
        }
    }

    /// Records an assertion that a number is the same.
    fn expect(&self, name: String, scalar: Scalar, message: String, source: &Source) {
        let same = self.recording().unique("is_same");
        self.record(Node {
            target: "_operator.eq".to_owned(),
            positional: vec![Argument::Value(name), Argument::Number(scalar)],
            results: vec![Outcome::One(Variable { name: same.clone(), kind: ValueType::Bool })],
            source: source.clone(),
            ..Node::default()
        });
        self.record(Node {
            target: "aten::_assert_scalar".to_owned(),
            positional: vec![Argument::Value(same), Argument::Str(message)],
            source: source.clone(),
            ..Node::default()
        });
    }

    /// A handle shows the sizes that its tensor had when it was made.
    fn expect_sizes_kept(&self, call: &BoxedCall<'_>) -> Result<()> {
        let mut tensors = Vec::new();
        for value in call.args() {
            match value.view() {
                ValueView::Tensor(tensor) => tensors.push(tensor),
                ValueView::Tensors(list) => tensors.extend(list),
                _ => {}
            }
        }
        for traced in tensors.into_iter().filter_map(|tensor| self.traced(tensor)) {
            if *traced.inner.spec()? != traced.spec {
                return Err(untraceable(format_args!(
                    "sizes or strides of `%{}` were changed in place, expected a call that gives a new tensor",
                    traced.name
                )));
            }
        }
        Ok(())
    }
}

impl Recording {
    fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 0;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }

    /// Takes up a tensor that the code has, and gives the name of its value.
    fn store(&mut self, name: String, kind: InputKind, tensor: &Tensor) -> String {
        let name = self.unique(&name);
        let variable = Variable { name: name.clone(), kind: ValueType::from_tensor(tensor) };
        self.stored.push((variable, kind, tensor.clone()));
        name
    }
}

/// Makes sure that a program can keep a tensor.
///
/// # Errors
///
/// It stands for the examples of a batch, which end with the code that they were made for.
fn expect_no_batch(tensor: &Tensor) -> Result<()> {
    if tensor.keys().contains(DispatchKey::FuncTorchBatched) {
        return Err(untraceable(
            "found a tensor that stands for the examples of a batch, expected one that a program can keep; give it as an input, or trace \
             around `vmap`",
        ));
    }
    Ok(())
}

/// The arguments of a node, by position and by name.
type Arguments = (Vec<Argument>, Vec<(String, Argument)>);

/// A session as a mode, below autograd.
struct SessionMode(Session);

impl modes::Mode for SessionMode {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        self.0.handle(call)
    }
}

/// Takes a session from those that run.
struct RunningGuard(u64);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let mut running = running_sessions();
        let place = running.iter().position(|session| session.number() == self.0);
        let ended = place.map(|place| running.remove(place));
        // What it holds is dropped when the list is no longer locked.
        drop(running);
        drop(ended);
    }
}

/// Ends the innermost session above autograd.
struct SessionGuard;

impl Drop for SessionGuard {
    fn drop(&mut self) {
        let _ = SESSIONS.try_with(|sessions| sessions.borrow_mut().pop());
    }
}

/// Takes a session off the thread while it calls an operator itself, and puts it back.
struct SuspendGuard(Option<Session>);

impl Drop for SuspendGuard {
    fn drop(&mut self) {
        let session = self.0.take();
        let _ = SESSIONS.try_with(|sessions| sessions.borrow_mut().extend(session));
    }
}

/// The layer's kernel above autograd, for every operator.
fn trace_call(call: &mut BoxedCall<'_>) -> Result<()> {
    let session = SESSIONS.try_with(|sessions| sessions.borrow_mut().pop()).ok().flatten();
    let left = SuspendGuard(session);
    match &left.0 {
        Some(session) => session.handle(call),
        None if call.args().iter().any(|value| is_traced(value.view())) => Err(untraceable(
            "found a tensor of a trace that has ended or runs on another thread, expected one of a trace that runs here",
        )),
        None => call.below(),
    }
}

fn is_traced(value: ValueView<'_>) -> bool {
    let one = |tensor: &AnyTensor| {
        Tensor::from_any_ref(tensor).is_some_and(|tensor| tensor.wrapper::<TracedTensor>().is_some())
    };
    match value {
        ValueView::Tensor(tensor) => one(tensor),
        ValueView::Tensors(tensors) => tensors.iter().any(one),
        ValueView::OptionalTensors(tensors) => tensors.iter().flatten().any(one),
        _ => false,
    }
}

fn has_tensor(value: ValueView<'_>) -> bool {
    matches!(value, ValueView::Tensor(_) | ValueView::Tensors(_) | ValueView::OptionalTensors(_))
}

/// Keeps a registration for as long as the dispatcher lives. Where another thread was first, that one is kept.
fn keep(registration: Result<opgrid_core::Registration>) -> Result<()> {
    match registration {
        Ok(registration) => registration.keep(),
        Err(error) if error.kind() == ErrorKind::Duplicate => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The place of the argument that a result is, where it is one that was written.
fn written_argument(schema: &FunctionSchema, given: &opgrid_core::schema::Argument) -> Option<usize> {
    let alias = given.alias.as_ref().filter(|_| given.is_write())?;
    schema.arguments.iter().position(|argument| argument.alias.as_ref() == Some(alias))
}

/// How the result of an operator is called: `aten::add_.Tensor` gives `add`.
fn value_name(target: &str) -> String {
    let name = target.rsplit_once("::").map_or(target, |(_, name)| name);
    let name = name.split('.').next().unwrap_or(name).trim_matches('_');
    identifier(name)
}

/// The text with nothing but letters, digits and `_`.
fn identifier(name: &str) -> String {
    let letters = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' });
    let name: String = letters.collect();
    if name.starts_with(|letter: char| letter.is_ascii_digit()) || name.is_empty() {
        format!("_{name}")
    } else {
        name
    }
}

fn is_of_tensors(declared: &Type) -> bool {
    match declared.without_optional() {
        Type::Tensor => true,
        Type::List(element) => is_of_tensors(element),
        _ => false,
    }
}

fn value_type(value: ValueView<'_>) -> &'static str {
    match value {
        ValueView::SymInt(_) => "an integer that is not known yet",
        ValueView::Tuple(_) => "a tuple",
        ValueView::Dict(_) => "a dict",
        _ => "an object",
    }
}
