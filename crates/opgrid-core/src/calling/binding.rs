//! Positional and keyword values brought into the order of a schema, with its defaults filled in, as `torch.ops` does.
//!
//! Keyword-only arguments take no position; numbers become what the schema wants where nothing is lost; one number
//! stands for a sized list; a text names a device. Values that a front end reads from strings go the same way: it reads
//! each when the argument is known that it is for ([`OperatorHandle::bind_with`]).

use std::sync::Arc;

use opgrid_schema::{Argument, Constant, FunctionSchema, Type};

use num_complex::Complex64;

use crate::calling::operator::OperatorHandle;
use crate::error::{Error, ErrorKind, Result};
use crate::values::borrowed::{ValueRef, ValueView, kind};
use crate::values::device::Device;
use crate::values::dtype::DType;
use crate::values::layout::{Layout, MemoryFormat};
use crate::values::value::{DictValue, List, Value, Values};

/// A default as the argument's type says: a number for `ScalarType` is a dtype.
fn default_value(constant: &Constant, argument: &Argument) -> Value {
    of_type(constant, argument.real_type.without_optional())
}

fn of_type(constant: &Constant, declared: &Type) -> Value {
    match (constant, declared) {
        (Constant::None, _) => Value::None,
        (Constant::Bool(value), _) => Value::Bool(*value),
        (Constant::Int(number), Type::ScalarType) => {
            DType::from_number(*number).map_or(Value::Int(*number), Value::DType)
        }
        (Constant::Int(number), Type::Layout) => {
            Layout::from_number(*number).map_or(Value::Int(*number), Value::Layout)
        }
        (Constant::Int(number), Type::MemoryFormat) => {
            MemoryFormat::from_number(*number).map_or(Value::Int(*number), Value::MemoryFormat)
        }
        (Constant::Int(number), Type::Float) => Value::Float(*number as f64),
        (Constant::Int(number), _) => Value::Int(*number),
        (Constant::Float(value), _) => Value::Float(*value),
        (Constant::Complex(re, im), _) => Value::Complex(Arc::new(Complex64::new(*re, *im))),
        (Constant::Device(text), _) | (Constant::Str(text), Type::Device) => {
            text.parse::<Device>().map_or(Value::None, Value::Device)
        }
        (Constant::Str(text), _) => Value::from(text.as_str()),
        (Constant::List(items), declared) => {
            let element = if let Type::List(element) = declared { (**element).clone() } else { Type::Any };
            let element = element.without_symint();
            let values: Vec<_> = items.iter().map(|item| of_type(item, &element)).collect();
            let list =
                List::from_values(element, values.clone()).unwrap_or(List::Values(Type::Any, values.into()));
            Value::from(list)
        }
    }
}

impl OperatorHandle {
    /// The arguments of a call in the order of the schema, with defaults filled in, as `torch.ops` binds them.
    ///
    /// - Arguments behind `*` are given by name only.
    /// - An integer stands for a float or a complex number, a float for a complex one, a truth value for a number and an
    ///   integer for a truth value; the same in lists.
    /// - One number stands for a sized list: `3` for `int[2]` is `[3, 3]`. (torch.ops takes an integer for `int[2]` and a
    ///   float for `float[2]` only; its other callers take one for `SymInt[2]`, too.)
    /// - A text stands for a device, an integer for a dtype, a layout or a memory format.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where the values do not fit the schema.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::Dispatcher;
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.define("pool(Tensor? x, int[2] size, *, float scale=1, Device? device=None) -> ()");
    /// let _registration = library.finish()?;
    /// let pool = dispatcher.find("myops::pool")?;
    ///
    /// let bound = pool.bind(vec![None::<i64>.into(), 3.into()], vec![("device".into(), "cuda:1".into())])?;
    /// assert_eq!(format!("{bound:?}"), "[None, [3, 3], 1., cuda:1]");
    /// assert!(pool.bind(vec![None::<i64>.into(), 3.into(), 2.into()], vec![]).is_err());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn bind(&self, positional: Vec<Value>, keyword: Vec<(String, Value)>) -> Result<Vec<Value>> {
        self.bind_with(positional, keyword, |_, value| Ok(value))
    }

    /// As [`bind`](Self::bind), of something that is read as a value when it is known which argument it is for.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind), and those of `read`.
    pub fn bind_with<V>(
        &self,
        positional: Vec<V>,
        keyword: Vec<(String, V)>,
        mut read: impl FnMut(&Argument, V) -> Result<Value>,
    ) -> Result<Vec<Value>> {
        let binder = self.binder()?;
        let mut sources: Vec<Option<V>> = (0..binder.count()).map(|_| None).collect();
        let placed = binder.place(positional.into_iter(), keyword.into_iter(), &mut sources);
        placed.map_err(|misplaced| binder.refusal(&misplaced))?;
        let one = |(index, source): (usize, Option<V>)| match source {
            Some(source) => binder.fit(index, read(&binder.schema().arguments[index], source)?),
            None => Ok(binder.default(index).clone()),
        };
        sources.into_iter().enumerate().map(one).collect()
    }

    /// What brings values into the order of the operator's schema, as [`bind`](Self::bind) does: for front ends that call
    /// an operator many times.
    ///
    /// # Errors
    ///
    /// As [`schema`](Self::schema).
    pub fn binder(&self) -> Result<Binder> {
        self.schema().map(Binder::new)
    }
}

/// Brings values into the order of one schema; made once, used for many calls.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Binder, Value, schema::FunctionSchema};
///
/// let binder = Binder::new(FunctionSchema::parse("myops::scale(int x, *, float by=2) -> float").unwrap());
/// let mut sources = [None, None];
/// binder.place([Value::from(3)].into_iter(), [("by", Value::from(4))].into_iter(), &mut sources).unwrap();
/// let [x, by] = sources.map(Option::unwrap);
/// assert_eq!(binder.fit(0, x)?, Value::from(3));
/// assert_eq!(binder.fit(1, by)?, Value::from(4.0));
/// assert_eq!(binder.default(1), &Value::from(2.0));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Binder {
    schema: Arc<FunctionSchema>,
    /// For each argument the kinds of values that need no conversion.
    exact: Box<[u32]>,
    /// For each argument its default, [`Value::None`] where there is none.
    defaults: Box<[Value]>,
    /// How many arguments may be given by position.
    positions: usize,
}

impl Binder {
    /// For calls of operators with this schema.
    pub fn new(schema: impl Into<Arc<FunctionSchema>>) -> Self {
        let schema = schema.into();
        let exact = schema.arguments.iter().map(|argument| exact_kinds(&argument.real_type)).collect();
        let default = |argument: &Argument| {
            argument.default.as_ref().map_or(Value::None, |default| default_value(default, argument))
        };
        let defaults = schema.arguments.iter().map(default).collect();
        let positions = schema.arguments.iter().take_while(|argument| !argument.kwarg_only).count();
        Self { schema, exact, defaults, positions }
    }

    /// The schema.
    pub fn schema(&self) -> &FunctionSchema {
        &self.schema
    }

    /// The number of arguments.
    pub fn count(&self) -> usize {
        self.schema.arguments.len()
    }

    /// How many arguments may be given by position.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// What argument number `index` is where nothing is given for it.
    pub fn default(&self, index: usize) -> &Value {
        &self.defaults[index]
    }

    /// Puts what is given for each argument into its place; a place stays empty where the argument keeps its default.
    /// `sources` has a place for each argument, all of them empty.
    ///
    /// # Errors
    ///
    /// Where too much is given, something twice or under an unknown name, or too little; [`refusal`](Self::refusal) puts
    /// it into words.
    #[inline]
    pub fn place<V>(
        &self,
        positional: impl ExactSizeIterator<Item = V>,
        keyword: impl Iterator<Item = (impl AsRef<str>, V)>,
        sources: &mut [Option<V>],
    ) -> Result<(), Misplaced> {
        let given = positional.len();
        if given > self.positions {
            return Err(Misplaced::TooMany(given));
        }
        for (source, value) in sources.iter_mut().zip(positional) {
            *source = Some(value);
        }
        for (name, value) in keyword {
            let name = name.as_ref();
            let Some(index) = self.schema.argument_index(name) else {
                return Err(Misplaced::Unknown(name.to_owned()));
            };
            if sources[index].replace(value).is_some() {
                return Err(Misplaced::Twice(index));
            }
        }
        let lacks =
            |(source, argument): (&Option<V>, &Argument)| source.is_none() && argument.default.is_none();
        match sources[given..].iter().zip(&self.schema.arguments[given..]).position(lacks) {
            Some(index) => Err(Misplaced::Missing(given + index)),
            None => Ok(()),
        }
    }

    /// What is wrong with arguments that [`place`](Self::place) did not place.
    #[cold]
    pub fn refusal(&self, misplaced: &Misplaced) -> Error {
        let name = |argument: &Argument| format!("`{}`", argument.name);
        let (arguments, positions) = (&self.schema.arguments, self.positions);
        let message = match misplaced {
            Misplaced::TooMany(given) => {
                let by_name = if positions < self.count() { "; the others are keyword-only" } else { "" };
                format!("expected at most {positions} positional arguments but got {given}{by_name}")
            }
            Misplaced::Unknown(unknown) => {
                let known: Vec<_> = arguments.iter().map(name).collect();
                format!("unknown argument `{unknown}`, expected one of {}", known.join(", "))
            }
            Misplaced::Twice(index) => {
                format!("argument {} is given twice, expected once", name(&arguments[*index]))
            }
            Misplaced::Missing(index) => {
                format!("argument {} is missing and has no default", name(&arguments[*index]))
            }
        };
        Error::new(
            ErrorKind::Value,
            format!("{}: {message}; the schema is {}", self.schema.name, self.schema),
        )
    }

    /// The value as argument number `index` wants it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] where that is not possible.
    #[inline]
    pub fn fit(&self, index: usize, value: Value) -> Result<Value> {
        if value.borrow().kind() & self.exact[index] != 0 {
            return Ok(value);
        }
        fit(&self.schema, &self.schema.arguments[index], value)
    }
}

/// Why arguments have no places in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// So many are given by position, which is too many.
    TooMany(usize),
    /// No argument has this name.
    Unknown(String),
    /// Argument number so and so is given by position and by name, or by name twice.
    Twice(usize),
    /// Argument number so and so is not given and has no default.
    Missing(usize),
}

/// The kinds of values that are of a type as they are, whatever is in them.
fn exact_kinds(declared: &Type) -> u32 {
    match declared {
        Type::Tensor => kind::TENSOR,
        Type::Int | Type::SymInt => kind::INT,
        Type::Float => kind::FLOAT,
        Type::Complex => kind::COMPLEX,
        Type::Bool => kind::BOOL,
        Type::Scalar => kind::INT | kind::UINT | kind::FLOAT | kind::COMPLEX | kind::BOOL,
        Type::Str => kind::STR,
        Type::ScalarType => kind::DTYPE,
        Type::Layout => kind::LAYOUT,
        Type::MemoryFormat => kind::MEMORY_FORMAT,
        Type::Device => kind::DEVICE,
        Type::Generator => kind::GENERATOR,
        Type::None => kind::NONE,
        Type::Optional(inner) => kind::NONE | exact_kinds(inner),
        Type::List(element) => match &**element {
            Type::Int | Type::SymInt => kind::INTS,
            Type::Float => kind::FLOATS,
            Type::Bool => kind::BOOLS,
            Type::Tensor => kind::TENSORS,
            Type::Optional(inner) if **inner == Type::Tensor => kind::OPTIONAL_TENSORS,
            _ => 0,
        },
        _ => 0,
    }
}

/// The value as the argument's type wants it.
fn fit(schema: &FunctionSchema, argument: &Argument, value: Value) -> Result<Value> {
    let subject = || format!("{}: argument `{}`", schema.name, argument.name);
    converted(&value, &argument.real_type, argument.size)
        .map_err(|error| Error::new(ErrorKind::Value, format!("{}: {}", subject(), error.message())))?
        .ok_or_else(|| {
            let expected = argument.real_type.python_name();
            let error = crate::values::borrowed::mismatch(&expected, value.borrow());
            Error::new(
                error.kind(),
                format!("{}: {}, {value}; the schema is {schema}", subject(), error.message()),
            )
        })
}

/// The value as a type wants it, if that is possible.
///
/// # Errors
///
/// A text that names no device, a number that names no dtype, layout or memory format, a list without end.
fn converted(value: &Value, declared: &Type, size: Option<usize>) -> Result<Option<Value>> {
    let known = |found: Option<Value>, number: i64, what: &str| {
        let unknown =
            || Error::new(ErrorKind::Value, format!("{number} is not the number of a {what}; give its name"));
        found.map(Some).ok_or_else(unknown)
    };
    Ok(Some(match (declared, value) {
        (Type::Optional(_) | Type::None, Value::None) => Value::None,
        (Type::Optional(inner), _) => return converted(value, inner, size),
        (Type::Int | Type::SymInt, Value::Bool(truth)) => Value::Int(i64::from(*truth)),
        (Type::Float, Value::Int(number)) => Value::Float(*number as f64),
        (Type::Float, Value::UInt(number)) => Value::Float(*number as f64),
        (Type::Float, Value::Bool(truth)) => Value::Float(f64::from(u8::from(*truth))),
        (Type::Complex, Value::Int(number)) => Complex64::new(*number as f64, 0.0).into(),
        (Type::Complex, Value::UInt(number)) => Complex64::new(*number as f64, 0.0).into(),
        (Type::Complex, Value::Float(number)) => Complex64::new(*number, 0.0).into(),
        (Type::Complex, Value::Bool(truth)) => Complex64::new(f64::from(u8::from(*truth)), 0.0).into(),
        (Type::Bool | Type::SymBool, Value::Int(number)) => Value::Bool(*number != 0),
        (Type::Device, Value::Str(text)) => Value::Device(text.parse::<Device>()?),
        (Type::ScalarType, Value::Int(number)) => {
            return known(DType::from_number(*number).map(Value::DType), *number, "dtype");
        }
        (Type::Layout, Value::Int(number)) => {
            return known(Layout::from_number(*number).map(Value::Layout), *number, "layout");
        }
        (Type::MemoryFormat, Value::Int(number)) => {
            return known(
                MemoryFormat::from_number(*number).map(Value::MemoryFormat),
                *number,
                "memory format",
            );
        }
        (Type::List(element), Value::List(list)) if !is_list_of(list, element) => {
            return converted_list(&list.values(), element);
        }
        (Type::List(element), Value::Tuple(items)) => return converted_list(items, element),
        (Type::List(element), Value::Int(_) | Value::Float(_) | Value::Bool(_)) => match size {
            Some(size) if stands_for_list(value, element) => return repeated(value, element, size),
            _ => return Ok(None),
        },
        (Type::Tuple(types), Value::Tuple(items)) if types.len() == items.len() => {
            let each = items.iter().zip(types).map(|(item, declared)| converted(item, declared, None));
            let Some(items) = each.collect::<Result<Option<Values>>>()? else { return Ok(None) };
            Value::Tuple(Arc::new(items))
        }
        (Type::Dict(key_type, value_type), Value::Dict(dict)) => {
            let mut entries = Vec::with_capacity(dict.entries().len());
            for (key, value) in dict.entries() {
                let pair = converted(key, key_type, None)?.zip(converted(value, value_type, None)?);
                let Some(pair) = pair else { return Ok(None) };
                entries.push(pair);
            }
            Value::Dict(Arc::new(DictValue::new((**key_type).clone(), (**value_type).clone(), entries)))
        }
        (Type::Any | Type::Var(_), _) => value.clone(),
        _ if accepts(declared, value.borrow()) => value.clone(),
        _ => return Ok(None),
    }))
}

/// Whether the value is of the type as it is.
fn accepts(declared: &Type, value: ValueRef<'_>) -> bool {
    let found = value.value_type();
    found.is_subtype_of(declared)
        || found.is_subtype_of(&declared.fake())
        || matches!((declared, value.view()), (Type::Scalar, ValueView::Bool(_)))
}

/// Whether a list needs no conversion for elements of that type. An empty one of another type does.
fn is_list_of(list: &List, element: &Type) -> bool {
    !matches!(list, List::Values(..)) && list.element_type() == *element
}

fn converted_list(items: &[Value], element: &Type) -> Result<Option<Value>> {
    let each = items.iter().map(|item| converted(item, element, None));
    let Some(items) = each.collect::<Result<Option<Vec<_>>>>()? else { return Ok(None) };
    Ok(list_of(items, element))
}

/// A list as kernels read it; symbolic numbers that are known are numbers.
fn list_of(items: Vec<Value>, element: &Type) -> Option<Value> {
    let is_symbolic = items.iter().any(|item| matches!(item, Value::SymInt(_)));
    let element = if is_symbolic { element.clone() } else { element.without_symint() };
    List::from_values(element, items).ok().map(Value::from)
}

/// Whether one number stands for a sized list of that type.
fn stands_for_list(value: &Value, element: &Type) -> bool {
    matches!(
        (element, value),
        (Type::Int | Type::SymInt, Value::Int(_) | Value::Bool(_))
            | (Type::Float, Value::Float(_) | Value::Int(_))
    )
}

/// The longest list for which one number stands: a schema can name any size, and memory has an end.
const MOST_REPEATED: usize = 1 << 16;

fn repeated(value: &Value, element: &Type, size: usize) -> Result<Option<Value>> {
    let Some(value) = converted(value, element, None)? else { return Ok(None) };
    if size > MOST_REPEATED {
        let message = format!(
            "one number stands for a list of at most {MOST_REPEATED} elements, not of {size}; give the list itself"
        );
        return Err(Error::new(ErrorKind::Value, message));
    }
    let items = vec![value; size];
    Ok(list_of(items, element))
}
