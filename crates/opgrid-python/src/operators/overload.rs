//! One overload with what calls from Python need to know of it.

use opgrid::dispatch::Binder;
use opgrid::dispatch::schema::{Argument, FunctionSchema, Type};
use opgrid::families::{NumbersForTensors, VariadicTensors};
use opgrid::{Device, Dispatcher, OperatorHandle, Result};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use smallvec::SmallVec;

use super::arguments::{Arguments, Source};
use super::plain::Plain;
use crate::once::OncePlace;
use crate::values::default_device;
use crate::values::read::Rules;

/// Whether it is a list of tensors.
fn is_list(argument: &Argument) -> bool {
    matches!(&argument.real_type, Type::List(element) if **element == Type::Tensor)
}

/// How a call is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `og.add(x, y)`, with the rules of torch's functions.
    Function,
    /// `x.add(y)`.
    Method,
    /// `og.ops.aten.add(x, y)`, with the rules of `torch.ops`.
    Packet,
}

impl Style {
    /// Whether the rules are those of functions and methods.
    pub(crate) fn is_function(self) -> bool {
        self != Self::Packet
    }
}

/// How functions and methods give results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultForm {
    /// As the operator returns them.
    AsReturned,
    /// Several, each with a name.
    Named,
    /// One list of tensors.
    Tuple,
    /// None, but a list of tensors is written that is the first argument.
    FirstArgument,
}

/// An overload, made for many calls.
pub(crate) struct Overload {
    pub(crate) handle: OperatorHandle,
    pub(crate) binder: Binder,
    pub(crate) takes_numbers: bool,
    /// The parameter that takes any number of integers or tensors by position, where functions may be called so.
    spread_in_functions: Option<usize>,
    spread_in_methods: Option<usize>,
    /// Bit `i`: parameter `i` takes a tensor.
    tensors: u64,
    /// Bit `i`: parameter `i` takes a list of integers.
    integers: u64,
    /// Whether it is a factory, which functions let know of gradients.
    pub(crate) is_factory: bool,
    /// The parameter for the device of a factory that no tensor gives its own.
    device: Option<usize>,
    /// What functions and methods make of the results.
    form: ResultForm,
    /// The class of such results, made with the first call.
    results: OncePlace<Py<PyAny>>,
    /// What is known of plain arguments.
    pub(super) plain: Option<Plain>,
}

/// Other names of parameters in functions: torch's for `self`, numpy's for the others.
const SYNONYMS: [(&str, &str); 9] = [
    ("input", "self"),
    ("x", "self"),
    ("a", "self"),
    ("x1", "self"),
    ("axis", "dim"),
    ("keepdims", "keepdim"),
    ("x2", "other"),
    ("dim", "dims"),
    ("axis", "dims"),
];

impl Overload {
    /// # Errors
    ///
    /// The operator is gone.
    pub(crate) fn from_handle(dispatcher: &Dispatcher, handle: OperatorHandle) -> Result<Self> {
        let binder = handle.binder()?;
        let takes_numbers = NumbersForTensors::taken_by(dispatcher, &handle)?;
        let arguments = &binder.schema().arguments;
        let is_int_list = |argument: &Argument| matches!(&argument.real_type, Type::List(element) if matches!(**element, Type::Int | Type::SymInt));
        let is_written_list =
            |argument: &Argument| argument.is_write() && !argument.is_out() && is_list(argument);
        let spread = |from: usize| {
            let positional = arguments.get(from..binder.positions())?;
            // In methods, other parameters of the schema come by name where they have defaults.
            matches!(positional, [only] if is_int_list(only)).then_some(from)
        };
        let is_variadic = handle.column::<VariadicTensors>()?.is_some();
        let last = binder.positions().checked_sub(1);
        let spread_tensors = last.filter(|last| is_variadic && is_list(&arguments[*last]));
        let which = |admit: &dyn Fn(&Argument) -> bool| {
            let bits =
                arguments.iter().enumerate().map(|(index, argument)| u64::from(admit(argument)) << index);
            bits.fold(0, |all, bit| all | bit)
        };
        let tensors = which(&|argument| *argument.real_type.without_optional() == Type::Tensor);
        let integers = which(&|argument| is_int_list(argument));
        let returns = &binder.schema().returns;
        let form = match returns.as_slice() {
            [only] if is_list(only) => ResultForm::Tuple,
            [] if arguments.first().is_some_and(is_written_list) => ResultForm::FirstArgument,
            [_, _, ..] if returns.iter().all(|result| !result.name.is_empty()) => ResultForm::Named,
            _ => ResultForm::AsReturned,
        };
        let is_factory = arguments.iter().any(|argument| argument.name == "pin_memory");
        let device = arguments.iter().position(|argument| argument.name == "device");
        let device = device.filter(|_| is_factory && tensors == 0);
        let (spread_in_functions, spread_in_methods) = (spread(0).or(spread_tensors), spread(1));
        Ok(Self {
            handle,
            takes_numbers,
            spread_in_functions,
            spread_in_methods,
            tensors,
            integers,
            is_factory,
            device,
            form,
            results: OncePlace::new(),
            plain: Plain::new(&binder),
            binder,
        })
    }

    pub(crate) fn schema(&self) -> &FunctionSchema {
        self.binder.schema()
    }

    /// What `help` shows: the schema, what the operator does, and where it is defined.
    pub(crate) fn documentation(&self) -> String {
        let mut text = format!("{}\n", self.schema());
        let (documentation, place) = (self.handle.documentation(), self.handle.defined_at());
        for line in documentation.lines().chain(place.as_deref()) {
            text += &format!("    {line}\n");
        }
        text
    }

    /// Whether a parameter is a tensor to write results to.
    pub(crate) fn writes_outputs(&self) -> bool {
        self.schema().arguments.iter().any(Argument::is_out)
    }

    /// What functions and methods give: several results with names are an object of a class that has these names, and a list of
    /// tensors is a tuple; a list that was written is given back. Overloads give what the schema says.
    ///
    /// # Errors
    ///
    /// The class cannot be made.
    #[inline]
    pub(crate) fn formed(
        &self,
        py: Python<'_>,
        style: Style,
        arguments: &Arguments<'_, '_>,
        result: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        match self.form {
            ResultForm::Named if style.is_function() => self.class_of_results(py)?.call1(py, (result,)),
            ResultForm::Tuple if style.is_function() => match result.bind(py).cast_exact::<PyList>() {
                Ok(list) => Ok(list.to_tuple().into_any().unbind()),
                Err(_) => Ok(result),
            },
            ResultForm::FirstArgument if style.is_function() => {
                let is_first =
                    |name: &str| Some(name) == self.schema().arguments.first().map(|first| &*first.name);
                let mut named = arguments.keyword.iter();
                let named = named
                    .find(|(name, _)| name.to_str().is_ok_and(|name| is_first(self.parameter(name, style))));
                let written = arguments.positional.first().or(named.map(|(_, value)| value));
                Ok(written.map_or(result, |written| (**written).clone().unbind()))
            }
            _ => Ok(result),
        }
    }

    fn class_of_results(&self, py: Python<'_>) -> PyResult<&Py<PyAny>> {
        self.results.get_or_make(py, || {
            let schema = self.schema();
            let fields = PyTuple::new(py, schema.returns.iter().map(|result| result.name.as_str()))?;
            let of = py.import("opgrid.return_types")?.getattr("of")?;
            of.call1((schema.name.base(), fields)).map(Bound::unbind)
        })
    }

    /// Whether parameter number `index` takes a tensor.
    #[inline]
    pub(crate) fn takes_tensor(&self, index: usize) -> bool {
        self.tensors >> index & 1 != 0
    }

    /// Whether parameter number `index` takes a list of integers.
    #[inline]
    pub(crate) fn takes_integers(&self, index: usize) -> bool {
        self.integers >> index & 1 != 0
    }

    pub(crate) fn rules(&self, style: Style) -> Rules {
        Rules { numbers_for_tensors: self.takes_numbers, as_functions: style.is_function() }
    }

    /// The device that parameter number `index` gets where a function is not given one: that of new tensors, for factories that no
    /// tensor gives theirs.
    #[inline]
    pub(crate) fn default_device(&self, index: usize, style: Style) -> Option<Device> {
        let is_asked = self.device == Some(index) && style == Style::Function;
        if is_asked { default_device::chosen() } else { None }
    }

    /// The schema's name of a parameter that a caller names so.
    pub(crate) fn parameter<'n>(&self, name: &'n str, style: Style) -> &'n str {
        if !style.is_function() || self.schema().argument_index(name).is_some() {
            return name;
        }
        let meant = SYNONYMS.iter().filter(|(synonym, _)| *synonym == name).map(|(_, meant)| *meant);
        meant.into_iter().find(|meant| self.schema().argument_index(meant).is_some()).unwrap_or(name)
    }

    /// Which parameter takes tensors that functions may be given one by one.
    pub(crate) fn variadic(&self, style: Style) -> Option<usize> {
        let place = self.spread_in_functions.filter(|_| style == Style::Function)?;
        is_list(&self.schema().arguments[place]).then_some(place)
    }

    /// Which parameter takes the integers or tensors that may be given one by one.
    #[inline]
    pub(super) fn spread_from(&self, style: Style) -> Option<usize> {
        match style {
            Style::Function => self.spread_in_functions,
            Style::Method => self.spread_in_methods,
            Style::Packet => None,
        }
    }

    /// Which parameter takes the integers or tensors that are given one by one, if they are.
    pub(crate) fn spread(&self, arguments: &Arguments<'_, '_>, style: Style) -> Option<usize> {
        let from = self.spread_from(style)?;
        let rest = arguments.positional.get(from..)?;
        let first = rest.first()?;
        // One list by position is the list itself.
        (rest.len() > 1 || crate::values::read::items(first).is_none()).then_some(from)
    }

    /// The arguments by parameter, as far as they have places there.
    ///
    /// # Errors
    ///
    /// As [`Binder::place`].
    pub(crate) fn place<'s, 'a, 'py>(
        &self,
        arguments: &'s Arguments<'a, 'py>,
        style: Style,
        sources: &mut [Option<Source<'s, 'a, 'py>>],
    ) -> std::result::Result<(), opgrid::dispatch::Misplaced> {
        let keyword = arguments.keyword.iter().filter(|(name, value)| !self.ignores(name, value, style));
        let keyword = keyword.map(|(name, value)| {
            let name = (**name).to_str().unwrap_or_default();
            (self.parameter(name, style), Source::One(*value))
        });
        match self.spread(arguments, style) {
            None => self.binder.place(
                arguments.positional.iter().map(|object| Source::One(*object)),
                keyword,
                sources,
            ),
            Some(from) => {
                let (before, rest) = arguments.positional.split_at(from);
                let mut positional: SmallVec<[_; 2]> =
                    before.iter().map(|object| Source::One(*object)).collect();
                positional.push(Source::Rest(rest));
                self.binder.place(positional.into_iter(), keyword, sources)
            }
        }
    }

    /// The arguments by parameter, where those by position stand in this order; whether all that it names are given.
    pub(crate) fn place_in_order<'s, 'a, 'py>(
        &self,
        order: &[&'static str],
        arguments: &'s Arguments<'a, 'py>,
        style: Style,
        sources: &mut [Option<Source<'s, 'a, 'py>>],
    ) -> bool {
        let names: SmallVec<[_; 6]> = in_order(order, style).collect();
        let positional = names.iter().zip(&arguments.positional);
        let positional = positional.map(|(name, object)| (*name, Source::One(*object)));
        let keyword = arguments.keyword.iter().map(|(name, object)| {
            (self.parameter((**name).to_str().unwrap_or_default(), style), Source::One(*object))
        });
        if arguments.positional.len() > names.len()
            || self.binder.place(std::iter::empty(), positional.chain(keyword), sources).is_err()
        {
            return false;
        }
        let is_given =
            |name: &&str| self.schema().argument_index(name).is_some_and(|place| sources[place].is_some());
        names.iter().all(is_given)
    }

    /// Whether a keyword is not the operator's: gradients by the result, and no `out`.
    fn ignores(
        &self,
        name: &Borrowed<'_, '_, pyo3::types::PyString>,
        value: &super::arguments::Object<'_, '_>,
        style: Style,
    ) -> bool {
        if !style.is_function() {
            return false;
        }
        let Ok(name) = name.to_str() else { return false };
        match name {
            // The function sees to it once the tensor is there.
            "requires_grad" => self.is_factory && value.extract::<bool>().is_ok(),
            "out" => value.is_none() && self.schema().argument_index("out").is_none(),
            _ => false,
        }
    }
}

/// The parameters in an order as a style gives them: methods have their tensor first.
pub(super) fn in_order(order: &[&'static str], style: Style) -> impl Iterator<Item = &'static str> {
    let is_method = style == Style::Method;
    let own = is_method.then_some("self");
    own.into_iter().chain(order.iter().copied().filter(move |name| !is_method || *name != "self"))
}
