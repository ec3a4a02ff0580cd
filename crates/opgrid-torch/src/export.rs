//! Operators of ours that torch gets.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use opgrid::dispatch::Kind;
use opgrid::dispatch::schema::{Argument, FunctionSchema, OperatorName, Type};
use opgrid::families::kind;
use opgrid::layers::autograd::Derivative;
use opgrid::{Error, ErrorKind, OperatorHandle, Result};

use crate::abi::{Torch, TorchLibrary, torch};
use crate::exported::{Exported, What, has_tensor};
use crate::pool::Slot;

/// What was exported: for each name in torch the schema, the operator, and its places in the pool.
static EXPORTED: Mutex<Option<HashMap<String, Entry>>> = Mutex::new(None);

struct Entry {
    operator: OperatorHandle,
    schema: String,
    slot: Slot,
    derivative: Option<(String, Slot)>,
}

/// An operator that is about to be exported.
///
/// # Examples
///
/// ```
/// use opgrid_torch::Export;
///
/// let sum = opgrid::dispatcher()?.find("aten::square")?;
/// // This process has no torch.
/// let error = Export::new(&sum).named("mine::square")?.register().unwrap_err();
/// assert!(error.to_string().contains("import torch"));
/// # Ok::<(), opgrid::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Export {
    operator: OperatorHandle,
    name: OperatorName,
    meta: bool,
    differentiable: bool,
}

/// An operator that torch has got.
#[derive(Clone, Debug, PartialEq)]
pub struct InTorch {
    /// The operator's name there, with its overload.
    pub name: String,
    /// Its schema there.
    pub schema: String,
    /// The name of the operator that computes gradients of its arguments, if it has a derivative:
    /// `(Tensor?[] gradients, bool[] needs, …the arguments…) -> Tensor[]`, with a result for each tensor that needs one.
    pub derivative: Option<String>,
    /// Whether each element of the result comes from the elements at its place, so that the sizes of results are those of
    /// arguments, broadcast.
    pub pointwise: bool,
}

impl Export {
    /// An operator under its own name.
    pub fn new(operator: &OperatorHandle) -> Self {
        Self { operator: operator.clone(), name: operator.name().clone(), meta: true, differentiable: true }
    }

    /// The operator under another name, such as `mine::gelu`; the overload stays.
    ///
    /// # Errors
    ///
    /// A name without a namespace, or with an overload.
    pub fn named(mut self, name: &str) -> Result<Self> {
        let parsed = OperatorName::parse(name).map_err(|error| {
            Error::new(ErrorKind::Schema, format!("`{name}` is not an operator name: {error}"))
        })?;
        if parsed.namespace().is_none() || !parsed.overload.is_empty() {
            let message = format!("expected a name such as `mine::gelu`, found `{name}`");
            return Err(Error::new(ErrorKind::Schema, message));
        }
        self.name = OperatorName::new(parsed.name, self.name.overload);
        Ok(self)
    }

    /// Without a kernel for meta tensors, for who registers another one: a Python function that knows symbolic sizes.
    #[must_use]
    pub fn without_meta(mut self) -> Self {
        self.meta = false;
        self
    }

    /// Without the operator that computes gradients.
    #[must_use]
    pub fn without_derivative(mut self) -> Self {
        self.differentiable = false;
        self
    }

    /// Defines the operator in torch and gives it kernels: for CPU and meta tensors, or for all where it takes no tensors. It
    /// stays there for as long as the process. Where our operator is dropped, its calls in torch are errors, until one
    /// of the same name and schema is exported again.
    ///
    /// # Errors
    ///
    /// torch is not loaded or too old; the name is taken there; a type of the schema cannot cross; the pool of kernels is used
    /// up. Then nothing is registered.
    pub fn register(self) -> Result<InTorch> {
        if cfg!(not(panic = "unwind")) {
            let message = "operators inside torch report errors by unwinding; build with panic = \"unwind\"";
            return Err(Error::new(ErrorKind::NotImplemented, message));
        }
        let torch = torch()?;
        let schema = (*self.operator.schema()?).clone().with_name(self.name.clone());
        if schema.is_vararg || schema.is_varret {
            let message = format!(
                "{}: operators with any number of arguments or results cannot be exported",
                schema.name
            );
            return Err(Error::new(ErrorKind::NotImplemented, message));
        }
        let (name, text) = (schema.name.to_string(), schema.to_string());
        let derivative = self.derivative(&schema)?;
        let pointwise = self.operator.column::<Kind>()?.is_some_and(|it| it.is(&kind::POINTWISE));
        let exported = Exported::new(torch, &self.operator, &schema, What::Operator)?;
        let of_derivative = match &derivative {
            Some(schema) => Some(Exported::new(torch, &self.operator, schema, What::Derivative)?),
            None => None,
        };
        let mut all = EXPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if let Some(entry) = all.get_mut(&name) {
            if entry.operator.has_schema() {
                let message = format!("{name}: the operator was exported to torch before; once is enough");
                return Err(Error::new(ErrorKind::Duplicate, message));
            }
            if entry.schema != text || entry.derivative.is_some() != derivative.is_some() {
                let message = format!(
                    "{name}: torch knows the operator by the schema {}, found {text}; export it under another name",
                    entry.schema
                );
                return Err(Error::new(ErrorKind::Duplicate, message));
            }
            entry.slot.stand_for(exported);
            if let (Some((_, slot)), Some(exported)) = (&entry.derivative, of_derivative) {
                slot.stand_for(exported);
            }
            entry.operator = self.operator;
            let derivative = entry.derivative.as_ref().map(|(name, _)| name.clone());
            return Ok(InTorch { name, schema: text, derivative, pointwise });
        }
        // Names first: most that can go wrong does so there, and takes no kernel from the pool.
        let mut libraries = vec![declare(torch, &schema)?];
        if let Some(schema) = &derivative {
            libraries.push(declare(torch, schema)?);
        }
        let slot = Slot::take()?;
        slot.stand_for(exported);
        self.implement(torch, &schema, slot, &mut libraries)?;
        let of_derivative = match (derivative, of_derivative) {
            (Some(schema), Some(exported)) => {
                let slot = Slot::take()?;
                slot.stand_for(exported);
                self.implement(torch, &schema, slot, &mut libraries)?;
                Some((schema.name.to_string(), slot))
            }
            _ => None,
        };
        libraries.into_iter().for_each(TorchLibrary::keep);
        let derivative = of_derivative.as_ref().map(|(name, _)| name.clone());
        all.insert(
            name.clone(),
            Entry { operator: self.operator, schema: text.clone(), slot, derivative: of_derivative },
        );
        Ok(InTorch { name, schema: text, derivative, pointwise })
    }

    /// Gives torch the kernels of one operator.
    fn implement(
        &self,
        torch: &'static Torch,
        schema: &FunctionSchema,
        slot: Slot,
        libraries: &mut Vec<TorchLibrary>,
    ) -> Result<()> {
        let (namespace, short) = parts(&schema.name)?;
        let name = text_of(&short.to_string())?;
        let mut add =
            |key| torch.implement(&namespace, key, &name, slot.kernel()).map(|it| libraries.push(it));
        if !schema.arguments.iter().any(|argument| has_tensor(&argument.real_type)) {
            // Nothing says for which device such a call is.
            return add(c"CompositeExplicitAutograd");
        }
        add(c"CPU")?;
        if self.meta { add(c"Meta") } else { Ok(()) }
    }

    /// The schema of the operator that computes gradients, if there are any: of an operator that writes nothing, takes and gives
    /// tensors, and gives the same again when it runs again.
    fn derivative(&self, schema: &FunctionSchema) -> Result<Option<FunctionSchema>> {
        let is_plain = |item: &Argument| item.alias.is_none();
        let differentiable = self.differentiable
            && schema.arguments.iter().chain(&schema.returns).all(is_plain)
            && schema.arguments.iter().any(|item| has_tensor(&item.real_type))
            && schema.returns.iter().all(|item| matches!(&item.real_type, Type::Tensor))
            && !self.is_random(schema);
        if !differentiable || self.operator.column::<Derivative>()?.is_some_and(|it| it.is_constant()) {
            return Ok(None);
        }
        let unused = |name: &str| {
            let mut name = name.to_owned();
            while schema.argument_index(&name).is_some() {
                name.push('_');
            }
            name
        };
        let gradient = Type::List(Box::new(Type::Optional(Box::new(Type::Tensor))));
        let mut arguments = vec![
            Argument::new(unused("gradients"), gradient),
            Argument::new(unused("needs"), Type::List(Box::new(Type::Bool))),
        ];
        arguments.extend(schema.arguments.iter().cloned().map(|mut argument| {
            (argument.kwarg_only, argument.default) = (false, None);
            argument
        }));
        let namespace = schema.name.namespace().unwrap_or_default();
        let name = OperatorName::new(
            format!("{namespace}::_{}_backward", schema.name.base()),
            schema.name.overload.clone(),
        );
        let returns = vec![Argument::new("", Type::List(Box::new(Type::Tensor)))];
        Ok(Some(FunctionSchema::new(name, arguments, returns)))
    }

    /// Whether another run may give something else.
    fn is_random(&self, schema: &FunctionSchema) -> bool {
        self.operator.tags().iter().any(|tag| tag == "nondeterministic_seeded")
            || schema.arguments.iter().any(|item| *item.real_type.without_optional() == Type::Generator)
    }
}

/// Tells torch of an operator.
fn declare(torch: &'static Torch, schema: &FunctionSchema) -> Result<TorchLibrary> {
    let (namespace, short) = parts(&schema.name)?;
    torch.define(&namespace, &text_of(&schema.clone().with_name(short).to_string())?)
}

/// The namespace, and the name without it: torch's libraries have the namespace themselves.
fn parts(name: &OperatorName) -> Result<(CString, OperatorName)> {
    let namespace = text_of(name.namespace().unwrap_or_default())?;
    Ok((namespace, OperatorName::new(name.base(), name.overload.clone())))
}

/// A text as C has it.
pub(crate) fn text_of(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::new(ErrorKind::Schema, format!("found a zero byte in `{text}`")))
}
