//! An operator whose kernels answer with their label, for tests of which kernel a call reaches.

#![allow(dead_code)]

use opgrid_core::{
    AnyTensor, DispatchKey, DispatchKeySet, Dispatcher, ErrorKind, Kernel, Result, Value, tensor_key_set,
};

use crate::common::tensor;

/// The operator that [`ask`] calls.
pub const SCHEMA: &str = "op(Tensor x) -> str";

/// The signature of its kernels.
pub type Answering = fn(AnyTensor) -> String;

/// A typed kernel that answers with `label`.
pub fn answer(label: &'static str) -> Kernel {
    Kernel::closure::<Answering>(move |_| Ok(label.to_owned())).describe(label)
}

/// A boxed kernel that answers with `label`, whatever the arguments.
pub fn answer_boxed(label: &'static str) -> Kernel {
    let kernel = Kernel::boxed(move |call| {
        call.push(label);
        Ok(())
    });
    kernel.describe(label)
}

/// What `test::op` answers to a tensor of these keys, called typed and boxed alike.
pub fn ask(dispatcher: &Dispatcher, keys: impl Into<DispatchKeySet>) -> Result<String> {
    let operator = dispatcher.find("test::op")?;
    let argument = tensor(keys);
    let typed = operator.typed::<Answering>()?.call((&argument,));
    let boxed = operator.call_values(vec![Value::from(argument)]);
    match (typed, boxed) {
        (Ok(typed), Ok(boxed)) => {
            assert_eq!(boxed, [Value::from(typed.as_str())]);
            Ok(typed)
        }
        (Err(typed), Err(boxed)) => {
            assert_eq!(typed.to_string(), boxed.to_string());
            Err(typed)
        }
        (typed, boxed) => panic!("a typed call gives {typed:?}, a boxed one {boxed:?}"),
    }
}

/// What a call of `test::op` is expected to come to.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// The label of the kernel that runs.
    Answer(&'static str),
    /// There is no kernel.
    Missing,
    /// No rule chooses between kernels.
    Ambiguous,
}

/// Checks what `test::op` answers to a tensor of these keys.
#[track_caller]
pub fn expect(dispatcher: &Dispatcher, keys: impl Into<DispatchKeySet>, expected: Expected) {
    let keys = keys.into();
    match (ask(dispatcher, keys), expected) {
        (Ok(answer), Expected::Answer(label)) => assert_eq!(answer, label, "{keys}"),
        (Err(error), Expected::Missing) => assert_eq!(error.kind(), ErrorKind::MissingKernel, "{keys}"),
        (Err(error), Expected::Ambiguous) => assert_eq!(error.kind(), ErrorKind::AmbiguousKernel, "{keys}"),
        (result, expected) => panic!("{keys}: expected {expected:?} but got {result:?}"),
    }
}

/// The keys of a tensor of that backend; `grad` says whether it carries autograd.
pub fn keys_of(backend: DispatchKey, grad: bool) -> DispatchKeySet {
    if grad { tensor_key_set(backend) } else { backend.into() }
}

/// A dispatcher of each sort: as opgrid ships it, and with torch's fallbacks.
pub fn dispatchers() -> [Dispatcher; 2] {
    [Dispatcher::new(), Dispatcher::with_reference_fallbacks()]
}

/// Everything that can be seen of the operators of a dispatcher.
pub fn state(dispatcher: &Dispatcher) -> String {
    let operators = dispatcher.registrations_for(None);
    let texts = operators.iter().map(|operator| {
        let (state, table) = (operator.dump_state().unwrap(), operator.dump_computed_table().unwrap());
        format!("{state}\n{table}")
    });
    texts.collect()
}

/// Checks that `attempt` fails with this kind and these words, and that the dispatcher is as it was.
#[track_caller]
pub fn refused<X>(
    dispatcher: &Dispatcher,
    kind: ErrorKind,
    words: &[&str],
    attempt: impl FnOnce() -> Result<X>,
) -> String {
    let before = state(dispatcher);
    let Err(error) = attempt() else { panic!("expected {kind:?} with {words:?}") };
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
    assert_eq!(state(dispatcher), before);
    dispatcher.check_invariants().unwrap();
    message
}
