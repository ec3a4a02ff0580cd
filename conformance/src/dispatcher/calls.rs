//! Calls on our side: what a call reaches, and the calls that kernels make in turn.
//!
//! A kernel may be given an operator of its program, which it calls with the tensors of the call around. So programs
//! see what a layer or a fallback leaves behind on the thread for those who are called below it.

use std::cell::RefCell;

use opgrid_core::{
    AnyTensor, DispatchKey, DispatchKeySet, Dispatcher, Error, List, OperatorHandle, Returns, Value,
};
use opgrid_schema::Type;

use super::kernels::Bare;
use super::program::Name;

/// How deep kernels call.
const DEEPEST: usize = 3;

/// The calls that are running on this thread.
#[derive(Default)]
struct Running {
    /// What the innermost one has reached.
    ran: Option<(usize, DispatchKeySet)>,
    /// The calls that kernels made, in the order in which they began.
    inner: Vec<String>,
    depth: usize,
    /// The tensors of the outermost call.
    tensors: Option<Vec<Option<DispatchKeySet>>>,
}

thread_local! {
    static RUNNING: RefCell<Running> = RefCell::default();
}

/// Notes that a kernel was reached, and calls the operator that it was given.
pub(crate) fn note(number: usize, keys: DispatchKeySet, callee: Option<&Name>) {
    let inside = RUNNING.with_borrow_mut(|running| {
        running.ran = Some((number, keys));
        let tensors = running.tensors.clone().filter(|_| running.depth < DEEPEST)?;
        let callee = callee?;
        running.depth += 1;
        running.inner.push(String::new());
        Some((callee, tensors, running.depth, running.inner.len() - 1))
    });
    let Some((callee, tensors, depth, place)) = inside else { return };
    let text = call_inside(callee, &tensors, depth);
    RUNNING.with_borrow_mut(|running| {
        running.depth -= 1;
        running.inner[place] = text;
    });
}

/// Makes a call with these tensors and returns the first kernel that it reached, and the calls that kernels made.
pub(crate) fn outermost<X>(
    tensors: &[Option<DispatchKeySet>],
    call: impl FnOnce() -> X,
) -> (X, Option<(usize, DispatchKeySet)>, Vec<String>) {
    RUNNING.set(Running { tensors: Some(tensors.to_vec()), ..Running::default() });
    let result = call();
    let running = RUNNING.take();
    (result, running.ran, running.inner)
}

/// Three lines about a call that a kernel makes: depth, name, keys and column; what the rules give; what was reached.
fn call_inside((name, overload): &Name, tensors: &[Option<DispatchKeySet>], depth: usize) -> String {
    let start = format!("{depth} {name}.{overload}");
    let none = || format!("{start}\n\nnone");
    let Some(operator) = find(&Dispatcher::current(), name, overload) else { return none() };
    let Ok(args) = arguments_of(&operator, &mut Tensors::new(tensors)) else { return none() };
    let args: Vec<_> = args.iter().map(Value::borrow).collect();
    let around = RUNNING.with_borrow_mut(|running| running.ran.take());
    let seen = keys_of(&operator, &args).and_then(|keys| {
        let way = Way::for_operator(&operator, keys)?;
        let otherwise = if way.is_left_alone {
            "fallback"
        } else if operator.call_boxed(&args, &mut Returns::new()).is_ok() {
            "nothing"
        } else {
            "error"
        };
        Ok((keys, way.lines, otherwise))
    });
    let ran = RUNNING.with_borrow_mut(|running| std::mem::replace(&mut running.ran, around));
    let Ok((keys, lines, otherwise)) = seen else { return none() };
    let reached = match ran {
        Some((number, keys)) => format!("ran {number} {}", hex(keys)),
        None => otherwise.to_owned(),
    };
    format!("{start} {} {}\n{lines}\n{reached}", hex(keys), keys.torch_column())
}

pub(crate) fn find(dispatcher: &Dispatcher, name: &str, overload: &str) -> Option<OperatorHandle> {
    let name = if overload.is_empty() { name.to_owned() } else { format!("{name}.{overload}") };
    dispatcher.find_with_or_without_schema(&name).ok()
}

/// The keys that a plain call reaches its kernel with.
pub(crate) fn keys_of(
    operator: &OperatorHandle,
    args: &[opgrid_core::ValueRef<'_>],
) -> Result<DispatchKeySet, Error> {
    let named = operator.explain(args)?.arguments;
    let all = named.iter().fold(DispatchKeySet::EMPTY, |all, (_, keys)| all | *keys);
    operator.effective_keys(all)
}

/// What the rules give for the keys of a call, and for those that the fallbacks of autograd pass on to.
pub(crate) struct Way {
    pub(crate) lines: String,
    /// Whether the call comes to a fallback that was there before the program and does more than to pass on: such
    /// calls are not made.
    pub(crate) is_left_alone: bool,
}

impl Way {
    pub(crate) fn for_operator(operator: &OperatorHandle, mut keys: DispatchKeySet) -> Result<Self, Error> {
        let (dump, table) = (operator.dump_computed_table()?, operator.table()?);
        let mut lines = Vec::new();
        let mut is_shown = true;
        loop {
            let key = keys.highest_priority_key();
            let start = format!("{key}: ");
            let line = dump.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
            if is_shown {
                lines.push(line);
            }
            // Dumps have no line for a layer without a backend, whose column is that of some backend.
            is_shown &= line.ends_with("[backend fallback]");
            let column = &table[keys.torch_column()];
            let is_of_torch = column.kernel.as_ref().is_some_and(|kernel| {
                kernel.description.is_none() && kernel.place.contains("opgrid-core/src/")
            });
            let is_fallback = is_of_torch && !column.fallthrough;
            if !is_fallback || !passes_on(key) {
                return Ok(Self { lines: lines.join("; "), is_left_alone: is_fallback });
            }
            keys &= DispatchKeySet::AFTER_AUTOGRAD;
        }
    }
}

/// Whether torch's fallback of the key looks for tensors that require a gradient, finds none here, and passes on.
fn passes_on(key: DispatchKey) -> bool {
    DispatchKeySet::AUTOGRAD.layers() >> key.functionality().position() & 1 != 0
}

/// The sets that a program gives to tensors, in turn.
pub(crate) struct Tensors<'p> {
    words: &'p [Option<DispatchKeySet>],
    next: usize,
}

impl<'p> Tensors<'p> {
    pub(crate) fn new(words: &'p [Option<DispatchKeySet>]) -> Self {
        Self { words, next: 0 }
    }

    fn next(&mut self) -> Option<AnyTensor> {
        let keys = self.words[self.next % self.words.len()];
        self.next += 1;
        keys.map(|keys| AnyTensor::new(keys, Bare))
    }

    pub(crate) fn needed(&mut self) -> AnyTensor {
        self.next().unwrap_or_else(|| AnyTensor::new(DispatchKeySet::EMPTY, Bare))
    }
}

/// Values for the operator's arguments.
///
/// # Errors
///
/// The operator has no schema.
pub(crate) fn arguments_of(
    operator: &OperatorHandle,
    tensors: &mut Tensors<'_>,
) -> Result<Vec<Value>, Error> {
    let schema = operator.schema()?;
    Ok(schema.arguments.iter().map(|argument| value_of(&argument.real_type, tensors)).collect())
}

fn value_of(of: &Type, tensors: &mut Tensors<'_>) -> Value {
    match of {
        Type::Tensor => tensors.needed().into(),
        Type::Optional(inner) if **inner == Type::Tensor => tensors.next().map_or(Value::None, Value::from),
        Type::Optional(_) => Value::None,
        Type::List(inner) => match &**inner {
            Type::Tensor => vec![tensors.needed(), tensors.needed()].into(),
            Type::Optional(_) => List::OptionalTensors(vec![tensors.next(), tensors.next()]).into(),
            _ => vec![1, 2].into(),
        },
        Type::Float => 0.5.into(),
        Type::Bool => true.into(),
        Type::Str => "text".into(),
        _ => 1.into(),
    }
}

pub(crate) fn hex(keys: DispatchKeySet) -> String {
    format!("{:x}", keys.to_torch_bits())
}
