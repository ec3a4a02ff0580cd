//! Gradients: records what operators do with variables, and goes back from a result to the variables.
//!
//! A variable is a tensor with metadata that leads into a graph. [`install`] puts a fallback under every operator at the
//! autograd keys; an operator whose arguments are no variables is passed on. The graph is of first order: the way back is
//! not recorded itself, and asking for the gradient of a gradient finds no variable.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::Dispatcher;
//! use opgrid_tensor::{Tensor, layers::gradient};
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid_tensor::register(&dispatcher)?;
//! let _layer = gradient::install(&dispatcher)?;
//! let x = gradient::variable(&Tensor::from_slice(&[2.0f64, 5.0], &[2])?);
//! let grads = dispatcher.within(|| {
//!     let y = x.mul(&x)?.add(&x, 3)?.sum()?;
//!     gradient::of(&y, &[&x])
//! })?;
//! assert_eq!(grads[0].to_vec::<f64>()?, [7.0, 13.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

pub mod rule;

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opgrid_core::{
    BoxedCall, DispatchKey, Dispatcher, Error, Forms, Kernel, Registration, Result, Scalar, TensorType,
    Value, ValueView, excluding,
};

pub use rule::{DefineDerivative, Derivative, Pullback, Recording, Saved, pullback, sum_to};

use crate::error::argument;
use crate::families::kind;
use crate::ops::{AddTensor, Full};
use crate::tensor::Tensor;

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for autograd already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut everything = dispatcher.implementations("_", DispatchKey::Autograd);
    everything.fallback(Kernel::engine(record));
    everything.kind_column(&kind::VIEW, Derivative::of_values(rule::of_view));
    everything.finish()
}

/// What makes a tensor a variable.
struct Variable(Arc<Node>);

/// A place of the graph: a variable that somebody made, or what an operator gave.
struct Node {
    /// Later nodes have higher numbers.
    number: u64,
    /// What the operator's gradient leads to; nothing for a variable that somebody made.
    origin: Option<Origin>,
}

/// The operator that gave a variable.
struct Origin {
    operator: String,
    pullback: Pullback,
    /// Of each tensor among the arguments, if it is a variable.
    inputs: Vec<Option<Arc<Node>>>,
}

impl Node {
    fn new(origin: Option<Origin>) -> Arc<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self { number: NUMBER.fetch_add(1, Ordering::Relaxed), origin })
    }
}

impl Drop for Node {
    /// Without recursion: a graph may be as long as a program runs.
    fn drop(&mut self) {
        let take = |origin: &mut Option<Origin>| {
            origin.as_mut().map(|origin| std::mem::take(&mut origin.inputs)).unwrap_or_default()
        };
        let mut waiting = take(&mut self.origin);
        while let Some(input) = waiting.pop() {
            if let Some(mut node) = input.and_then(Arc::into_inner) {
                waiting.append(&mut take(&mut node.origin));
            }
        }
    }
}

/// A variable on the same memory as `tensor`: what is computed of it can be differentiated by it.
pub fn variable(tensor: &Tensor) -> Tensor {
    let variable = detach(tensor);
    variable.set_metadata(Some(Arc::new(Variable(Node::new(None)))));
    variable
}

/// The same memory apart from the graph.
pub fn detach(tensor: &Tensor) -> Tensor {
    match tensor.spec().and_then(|spec| tensor.view_as(spec.geometry().clone())) {
        Ok(detached) => detached,
        // A number, an undefined tensor or a layer's, which is no variable itself.
        Err(_) => tensor.clone(),
    }
}

/// Whether gradients lead to this tensor.
pub fn is_variable(tensor: &Tensor) -> bool {
    tensor.metadata::<Variable>().is_some()
}

fn node_of(tensor: &Tensor) -> Option<Arc<Node>> {
    tensor.metadata::<Variable>().map(|variable| variable.0.clone())
}

/// The layer's kernel for every operator.
fn record(call: &mut BoxedCall<'_>) -> Result<()> {
    let tensors: Vec<&Tensor> =
        call.args().iter().filter_map(|value| Tensor::from_any_ref(value.as_tensor()?)).collect();
    let inputs: Vec<_> = tensors.iter().map(|tensor| node_of(tensor)).collect();
    let in_lists = || {
        let mut lists = call.args().iter().filter_map(|value| match value.view() {
            ValueView::Tensors(list) => Some(list),
            _ => None,
        });
        lists.any(|list| list.iter().filter_map(Tensor::from_any_ref).any(is_variable))
    };
    let has_list = in_lists();
    if !has_list && inputs.iter().all(Option::is_none) {
        return call.below();
    }
    let operator = call.operator().clone();
    let forms = call.column::<Forms>();
    let is_form =
        |form: Option<&opgrid_core::schema::OperatorName>| form.is_some_and(|name| name == operator.name());
    let in_place = forms.is_some_and(|forms| is_form(forms.in_place.as_ref()));
    if forms.is_some_and(|forms| is_form(forms.out.as_ref())) {
        return Err(refused(
            call,
            "does not record what is written to `out`; use the form that gives a new tensor",
        ));
    }
    if in_place {
        check_in_place(call, tensors[0], inputs.first().and_then(Option::as_ref))?;
    }
    let written = in_place.then(|| tensors[0]);
    let functional = forms.filter(|_| in_place).map(|forms| forms.functional.to_string());
    call.below()?;
    let Some(result) = result_of(call) else { return Ok(()) };
    let derivative = match functional {
        None => operator.column::<Derivative>()?,
        Some(name) => Dispatcher::current().find(&name)?.column::<Derivative>()?,
    };
    let Some(derivative) = derivative.filter(|_| !has_list) else {
        return match result.dtype().is_floating_point() || result.dtype().is_complex() {
            true => Err(refused(call, "has no derivative; detach its arguments, or give it one")),
            false => Ok(()),
        };
    };
    if result.dtype().is_complex() {
        return Err(refused(call, "knows no gradients of complex tensors; detach the arguments"));
    }
    let recording = Recording { operator: &operator, written };
    let pullback = derivative.record(&recording, call.args(), &result)?;
    let node = Node::new(Some(Origin { operator: operator.name().to_string(), pullback, inputs }));
    result.set_metadata(Some(Arc::new(Variable(node))));
    Ok(())
}

/// The tensor that the operator has given, if it is one and can have a gradient.
fn result_of(call: &mut BoxedCall<'_>) -> Option<Tensor> {
    match call.returns().value(0) {
        Some(Value::Tensor(tensor)) => Tensor::from_any_ref(tensor).cloned(),
        _ => None,
    }
}

/// # Errors
///
/// Writing would change what others see without their gradients knowing of it.
fn check_in_place(call: &BoxedCall<'_>, target: &Tensor, node: Option<&Arc<Node>>) -> Result<()> {
    match node {
        None => Err(refused(
            call,
            "would make a tensor a variable by writing it; make it one first, or use the form that gives a new tensor",
        )),
        Some(node) if node.origin.is_none() => Err(refused(
            call,
            "would write a variable that gradients lead to; use the form that gives a new tensor",
        )),
        Some(_) if target.array()?.storage().owners() > 1 => Err(refused(
            call,
            "would write memory that other tensors see or that a derivative needs; use the form that gives a new tensor",
        )),
        Some(_) => Ok(()),
    }
}

#[cold]
fn refused(call: &BoxedCall<'_>, what: &str) -> Error {
    argument(format!("{}: the gradient layer {what}", call.operator().name()))
}

/// The gradients of a result of one element by some variables; zeros for one that it does not depend on.
///
/// # Errors
///
/// A result of several elements, or that depends on no variable; arguments that are no variables; a tensor that a
/// derivative needs was written; those of the operators on the way back.
pub fn of(result: &Tensor, variables: &[&Tensor]) -> Result<Vec<Tensor>> {
    let Some(root) = node_of(result) else {
        return Err(argument(
            "the result depends on no variable; make the inputs variables by `gradient::variable`",
        ));
    };
    if result.numel() != 1 {
        let message = format!(
            "gradients go out from one element, found a result of sizes {:?}; sum it",
            result.sizes()
        );
        return Err(argument(message));
    }
    let wanted = variables.iter().map(|variable| node_of(variable)).collect::<Option<Vec<_>>>();
    let wanted =
        wanted.ok_or_else(|| argument("a tensor is no variable; make it one by `gradient::variable`"))?;
    excluding(DispatchKey::Autograd, || {
        let mut grads = HashMap::from([(root.number, filled(result, 1)?)]);
        let found = go_back(root, &mut grads, &wanted)?;
        wanted
            .iter()
            .zip(variables)
            .map(|(node, variable)| match found.get(&node.number) {
                Some(grad) => Ok(grad.clone()),
                None => filled(variable, 0),
            })
            .collect()
    })
}

fn filled(like: &Tensor, value: i64) -> Result<Tensor> {
    Full.call(like.sizes(), Scalar::Int(value), Some(like.dtype()), None, Some(like.device()), None)
}

/// Visits the nodes from the latest to the earliest, so that each has all of its gradient when it is visited. The
/// gradients of those that are wanted come back.
fn go_back(
    root: Arc<Node>,
    grads: &mut HashMap<u64, Tensor>,
    wanted: &[Arc<Node>],
) -> Result<HashMap<u64, Tensor>> {
    let mut found = HashMap::new();
    let mut waiting = BinaryHeap::from([ByNumber(root)]);
    while let Some(ByNumber(node)) = waiting.pop() {
        let Some(grad) = grads.remove(&node.number) else { continue };
        if wanted.iter().any(|other| other.number == node.number) {
            found.insert(node.number, grad.clone());
        }
        let Some(origin) = &node.origin else { continue };
        let of_inputs = (origin.pullback)(&grad)
            .map_err(|error| error.within(format_args!("derivative of {}", origin.operator)))?;
        for (input, grad) in origin.inputs.iter().zip(of_inputs) {
            let (Some(input), Some(grad)) = (input, grad) else { continue };
            let sum = match grads.remove(&input.number) {
                Some(before) => AddTensor.call(&before, &grad, Scalar::Int(1))?,
                None => grad,
            };
            grads.insert(input.number, sum);
            waiting.push(ByNumber(input.clone()));
        }
    }
    Ok(found)
}

/// A node, ordered by its number.
struct ByNumber(Arc<Node>);

impl PartialEq for ByNumber {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for ByNumber {}

impl PartialOrd for ByNumber {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByNumber {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.number.cmp(&other.0.number)
    }
}
