//! Operators of torch that we get.
#![allow(unsafe_code)]

use std::ffi::CString;

use opgrid::array::Storage;
use opgrid::dispatch::schema::{Argument, FunctionSchema, OperatorName};
use opgrid::dispatch::{BoxedCall, SlowPath, TensorType, ValueRef, ValueView};
use opgrid::{DispatchKey, Dispatcher, Error, ErrorKind, Kernel, Registration, Result, Tensor, Value};
use smallvec::SmallVec;

use crate::abi::{Torch, TorchTensor, torch};
use crate::encoding::{Kind, Kinds, Words};
use crate::export::text_of;
use crate::exported::{has_tensor, kinds_of};
use crate::tensors::{Given, Inputs};

/// What a call of an imported operator counts as.
pub const IN_TORCH: SlowPath = SlowPath::new("call of torch", "register a kernel of opgrid");

/// Defines an operator of ours that torch computes, for CPU and meta tensors, until the registration is dropped.
///
/// `schema` is torch's, as `str(torch.ops.aten.gelu.default._schema)` gives it; `name` is the name here, such as
/// `torch::gelu`, and the overload stays. Each call counts as [`IN_TORCH`].
///
/// # Errors
///
/// torch is not loaded or too old; a schema that is none, with types that cannot cross, or whose results are views; a
/// name that is taken.
pub fn import(dispatcher: &Dispatcher, schema: &str, name: &str) -> Result<Registration> {
    let torch = torch()?;
    let theirs = FunctionSchema::parse(schema)
        .map_err(|error| Error::new(ErrorKind::Schema, format!("`{schema}` is not a schema: {error}")))?;
    let name = OperatorName::parse(name).map_err(|error| {
        Error::new(ErrorKind::Schema, format!("`{name}` is not an operator name: {error}"))
    })?;
    let Some(namespace) = name.namespace().map(str::to_owned) else {
        let message = format!("expected a name such as `torch::gelu`, found `{name}`");
        return Err(Error::new(ErrorKind::Schema, message));
    };
    let imported = Imported::new(torch, &theirs)?;
    let takes_tensors = theirs.arguments.iter().any(|argument| has_tensor(&argument.real_type));
    let schema = theirs.with_name(OperatorName::new(name.name, imported.overload_text.clone()));
    let imported = std::sync::Arc::new(imported);
    let kernel = |key: DispatchKey| {
        let imported = imported.clone();
        Kernel::boxed(move |call| imported.run(call)).describe("torch's").at(key)
    };
    let mut library = dispatcher.fragment(&namespace);
    let defined = library.define_schema(schema);
    if takes_tensors {
        defined.add(kernel(DispatchKey::Cpu)).add(kernel(DispatchKey::Meta))
    } else {
        defined.add(kernel(DispatchKey::CompositeExplicitAutograd))
    };
    library.finish()
}

/// An operator of torch, made for many calls.
struct Imported {
    torch: &'static Torch,
    name: CString,
    overload: CString,
    overload_text: String,
    arguments: Box<[Kind]>,
    results: Box<[Kind]>,
    /// Which arguments are written.
    written: Box<[bool]>,
    /// For each result the argument that it is, if it is one.
    is_argument: Box<[Option<usize>]>,
}

impl Imported {
    fn new(torch: &'static Torch, schema: &FunctionSchema) -> Result<Self> {
        let is_argument = |result: &Argument| -> Result<Option<usize>> {
            let Some(alias) = &result.alias else { return Ok(None) };
            let place = schema.arguments.iter().position(|argument| argument.alias.as_ref() == Some(alias));
            match place.filter(|_| alias.is_write) {
                Some(place) => Ok(Some(place)),
                None => {
                    let message = format!(
                        "{}: results that are views of arguments do not cross from torch; use opgrid's own view",
                        schema.name
                    );
                    Err(Error::new(ErrorKind::NotImplemented, message))
                }
            }
        };
        Ok(Self {
            torch,
            name: text_of(&schema.name.name)?,
            overload: text_of(&schema.name.overload)?,
            overload_text: schema.name.overload.clone(),
            arguments: kinds_of(schema, "argument", &schema.arguments)?,
            results: kinds_of(schema, "result", &schema.returns)?,
            written: schema.arguments.iter().map(Argument::is_write).collect(),
            is_argument: schema.returns.iter().map(is_argument).collect::<Result<_>>()?,
        })
    }

    fn run(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        call.note_slow_path(crate::IN_TORCH)?;
        let args = call.args();
        let results = self.call(args).map_err(|error| error.within(call.operator().name()))?;
        results.into_iter().for_each(|result| call.push(result));
        Ok(())
    }

    fn call(&self, args: &[ValueRef<'_>]) -> Result<Vec<Value>> {
        let memory: SmallVec<[(Storage, bool); 4]> = storages(args, &self.written)?;
        let mut inputs = Inputs::new(self.torch, false);
        let mut words = {
            let mut given = Given::lending(&inputs);
            let mut words = Words::none(self.torch, Kinds::Each(&self.arguments));
            for (place, value) in args.iter().enumerate() {
                let pushed = words.push(value.view(), false, &mut given);
                pushed.map_err(|error| error.within(format_args!("argument {place}")))?;
            }
            words.give()
        };
        // The handles of what is written, to see afterwards whether torch has changed sizes.
        let written: SmallVec<[(usize, TorchTensor); 1]> = self.shared_handles(&words)?;
        words.resize(words.len().max(self.results.len()), 0);
        {
            let _guards = guards(&memory)?;
            // SAFETY: the words were encoded for the schema that torch has for this name, as whoever imported it has told, and have
            // room for its results.
            unsafe { self.torch.call(&self.name, &self.overload, &mut words) }?;
        }
        for (place, handle) in written {
            let sizes = handle.describe(self.torch)?.sizes.to_vec();
            let ours = args[place].as_tensor().and_then(Tensor::from_any_ref).map(Tensor::sizes);
            if ours.is_some_and(|ours| ours != sizes) {
                let message = format!(
                    "argument {place}: torch has changed its sizes to {sizes:?}, which does not cross; pass one of these sizes"
                );
                return Err(Error::new(ErrorKind::NotImplemented, message));
            }
        }
        let words = words.get(..self.results.len()).unwrap_or_default();
        // SAFETY: torch has replaced the arguments by the results of the schema, which are ours.
        let mut words = unsafe { Words::from_raw(self.torch, Kinds::Each(&self.results), words) };
        let mut results = Vec::new();
        while let Some(value) = words.next(&mut inputs)? {
            // A result that is an argument is that argument, not another tensor on its memory.
            let argument = self.is_argument[results.len()].and_then(|place| args.get(place));
            results.push(argument.map_or(value, |argument| argument.to_value()));
        }
        Ok(results)
    }

    /// Second handles of the tensors that the call writes.
    fn shared_handles(&self, words: &[u64]) -> Result<SmallVec<[(usize, TorchTensor); 1]>> {
        let mut handles = SmallVec::new();
        for (place, written) in self.written.iter().enumerate() {
            if *written && self.arguments[place] == Kind::Tensor {
                // SAFETY: the word is the handle of a tensor, which stays in the words: this is given back before it is dropped.
                let handle = std::mem::ManuallyDrop::new(unsafe { TorchTensor::of_word(words[place]) }?);
                handles.push((place, handle.share(self.torch)?));
            }
        }
        Ok(handles)
    }
}

/// The storages of all tensors, and whether they are written.
fn storages(args: &[ValueRef<'_>], written: &[bool]) -> Result<SmallVec<[(Storage, bool); 4]>> {
    let mut storages: SmallVec<[(Storage, bool); 4]> = SmallVec::new();
    let mut add = |tensor: Option<&Tensor>, written: bool| -> Result<()> {
        let Some(tensor) = tensor.filter(|tensor| tensor.is_defined()) else { return Ok(()) };
        let storage = tensor.array()?.storage();
        match storages.iter_mut().find(|(other, _)| other.is_same(storage)) {
            Some((_, is_written)) => *is_written |= written,
            None if storage.has_data() => storages.push((storage.clone(), written)),
            None => {}
        }
        Ok(())
    };
    for (value, written) in args.iter().zip(written) {
        match value.view() {
            ValueView::Tensor(tensor) => add(Tensor::from_any_ref(tensor), *written)?,
            ValueView::Tensors(list) => {
                list.iter().try_for_each(|tensor| add(Tensor::from_any_ref(tensor), *written))?;
            }
            ValueView::OptionalTensors(list) => {
                let mut tensors = list.iter().flatten();
                tensors.try_for_each(|tensor| add(Tensor::from_any_ref(tensor), *written))?;
            }
            _ => {}
        }
    }
    Ok(storages)
}

/// Keeps others away from the memory while torch uses it.
enum Guard<'s> {
    Reads { _guard: opgrid::tensor::ReadGuard<'s> },
    Writes { _guard: opgrid::tensor::WriteGuard<'s> },
}

fn guards(memory: &[(Storage, bool)]) -> Result<SmallVec<[Guard<'_>; 4]>> {
    let mut guards = SmallVec::new();
    for (storage, written) in memory {
        guards.push(if *written {
            Guard::Writes { _guard: storage.write()? }
        } else {
            Guard::Reads { _guard: storage.read()? }
        });
    }
    Ok(guards)
}
