//! The types a schema can name, their strings, and which type may stand in for which.
//!
//! A type is written in the schema language (`Tensor?[]`, `Dict(str, int)`) and, in messages to people, in
//! Python's notation (`List[Optional[Tensor]]`, `Dict[str, int]`). `SymInt` and the three enumerations
//! `ScalarType`, `Layout` and `MemoryFormat` are integers when values are matched: [`Type::fake`].

use std::fmt;
use std::str::FromStr;

use crate::ParseError;

/// A type of the schema language.
///
/// # Examples
///
/// ```
/// use opgrid_schema::Type;
///
/// let list = Type::parse("Tensor?[]")?;
/// assert_eq!(list, Type::List(Box::new(Type::Optional(Box::new(Type::Tensor)))));
/// assert_eq!(list.to_string(), "Tensor?[]");
/// assert_eq!(list.python_name(), "List[Optional[Tensor]]");
/// assert!(Type::Int.is_subtype_of(&Type::Scalar));
/// # Ok::<(), opgrid_schema::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A tensor.
    Tensor,
    /// A 64-bit integer; `DeviceIndex` and `ConstQuantizerPtr` read as this too.
    Int,
    /// An integer that may be symbolic.
    SymInt,
    /// A truth value that may be symbolic.
    SymBool,
    /// A 64-bit floating-point number.
    Float,
    /// A complex number of two 64-bit floating-point numbers.
    Complex,
    /// A truth value.
    Bool,
    /// A string.
    Str,
    /// Any number: integer, float or complex.
    Scalar,
    /// A dtype.
    ScalarType,
    /// A memory layout such as strided.
    Layout,
    /// A memory format such as channels last.
    MemoryFormat,
    /// A device.
    Device,
    /// A random number generator.
    Generator,
    /// A tensor's storage.
    Storage,
    /// A device stream.
    Stream,
    /// A quantization scheme.
    QScheme,
    /// A quantizer.
    Quantizer,
    /// An opaque pointer.
    Capsule,
    /// Any value.
    Any,
    /// A value of any custom class.
    AnyClass,
    /// A value of any enumeration.
    AnyEnum,
    /// The type of `None`.
    None,
    /// `T[]`.
    List(Box<Type>),
    /// `T?`.
    Optional(Box<Type>),
    /// `(A, B)`.
    Tuple(Vec<Type>),
    /// `Dict(K, V)`.
    Dict(Box<Type>, Box<Type>),
    /// `Future(T)`.
    Future(Box<Type>),
    /// `Await(T)`.
    Await(Box<Type>),
    /// `RRef(T)`.
    RRef(Box<Type>),
    /// `Union(A, B)`, in the order written.
    Union(Vec<Type>),
    /// A custom class by its full name, `__torch__.torch.classes.ns.Name`.
    Class(String),
    /// A type variable.
    Var(String),
}

impl Type {
    /// The word of a type that is written as one word; the enclosing types and names give `None`.
    fn word(&self) -> Option<&'static str> {
        Some(match self {
            Type::Tensor => "Tensor",
            Type::Int => "int",
            Type::SymInt => "SymInt",
            Type::SymBool => "SymBool",
            Type::Float => "float",
            Type::Complex => "complex",
            Type::Bool => "bool",
            Type::Str => "str",
            Type::Scalar => "Scalar",
            Type::ScalarType => "ScalarType",
            Type::Layout => "Layout",
            Type::MemoryFormat => "MemoryFormat",
            Type::Device => "Device",
            Type::Generator => "Generator",
            Type::Storage => "Storage",
            Type::Stream => "Stream",
            Type::QScheme => "QScheme",
            Type::Quantizer => "Quantizer",
            Type::Capsule => "Capsule",
            Type::Any => "Any",
            Type::AnyClass => "AnyClassType",
            Type::AnyEnum => "AnyEnumType",
            Type::None => "NoneType",
            _ => return None,
        })
    }

    /// Finds the type that a single word names.
    pub(crate) fn from_word(word: &str) -> Option<Type> {
        Some(match word {
            "Tensor" => Type::Tensor,
            "int" | "DeviceIndex" | "ConstQuantizerPtr" => Type::Int,
            "SymInt" => Type::SymInt,
            "bool" => Type::Bool,
            "Scalar" => Type::Scalar,
            "float" => Type::Float,
            "str" => Type::Str,
            "ScalarType" => Type::ScalarType,
            "Layout" => Type::Layout,
            "Device" => Type::Device,
            "MemoryFormat" => Type::MemoryFormat,
            "Generator" => Type::Generator,
            "SymBool" => Type::SymBool,
            "complex" => Type::Complex,
            "Storage" => Type::Storage,
            "Stream" => Type::Stream,
            "QScheme" => Type::QScheme,
            "Quantizer" => Type::Quantizer,
            "Capsule" => Type::Capsule,
            "Any" => Type::Any,
            "AnyClassType" => Type::AnyClass,
            "AnyEnumType" => Type::AnyEnum,
            "NoneType" | "None" => Type::None,
            _ => return None,
        })
    }

    /// The type with `change` applied to every part that encloses nothing.
    fn map(&self, change: &impl Fn(&Type) -> Type) -> Type {
        let boxed = |inner: &Type| Box::new(inner.map(change));
        let all = |inner: &[Type]| inner.iter().map(|part| part.map(change)).collect();
        match self {
            Type::List(element) => Type::List(boxed(element)),
            Type::Optional(inner) => Type::Optional(boxed(inner)),
            Type::Tuple(parts) => Type::Tuple(all(parts)),
            Type::Dict(key, value) => Type::Dict(boxed(key), boxed(value)),
            Type::Future(inner) => Type::Future(boxed(inner)),
            Type::Await(inner) => Type::Await(boxed(inner)),
            Type::RRef(inner) => Type::RRef(boxed(inner)),
            Type::Union(parts) => Type::Union(all(parts)),
            leaf => change(leaf),
        }
    }

    /// The type used for matching values: `SymInt` and the enumerations become `int`, also inside other types.
    pub fn fake(&self) -> Type {
        self.map(&|leaf| match leaf {
            Type::SymInt | Type::ScalarType | Type::Layout | Type::MemoryFormat => Type::Int,
            other => other.clone(),
        })
    }

    /// The type with every `SymInt` replaced by `int`.
    pub fn without_symint(&self) -> Type {
        self.map(&|leaf| if *leaf == Type::SymInt { Type::Int } else { leaf.clone() })
    }

    /// The type under one `?`, or the type itself.
    pub fn without_optional(&self) -> &Type {
        match self {
            Type::Optional(inner) => inner,
            other => other,
        }
    }

    /// The types that this one directly encloses.
    pub fn contained(&self) -> Vec<&Type> {
        match self {
            Type::List(inner)
            | Type::Optional(inner)
            | Type::Future(inner)
            | Type::Await(inner)
            | Type::RRef(inner) => vec![inner],
            Type::Dict(key, value) => vec![key, value],
            Type::Tuple(parts) | Type::Union(parts) => parts.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a value of this type can be used where `other` is asked for.
    ///
    /// Every type fits itself, `Any` and its own optional; `None` fits every optional. Integers, floats and
    /// complex numbers are `Scalar`s, truth values are not. `SymInt` and `int` fit each other. Lists and
    /// dictionaries can be written to, so what they hold must be the same; tuples, futures, awaits and remote
    /// references are compared part by part.
    pub fn is_subtype_of(&self, other: &Type) -> bool {
        let all = |from: &[Type], fits: &dyn Fn(&Type) -> bool| from.iter().all(fits);
        match (self, other) {
            (_, Type::Any) => true,
            (Type::Union(parts), _) => self == other || all(parts, &|part| part.is_subtype_of(other)),
            (Type::Optional(a), Type::Optional(b)) => a.is_subtype_of(b),
            (Type::Optional(a), Type::Union(_)) => a.is_subtype_of(other) && Type::None.is_subtype_of(other),
            (Type::None, Type::Optional(_)) => true,
            (_, Type::Optional(inner)) => self.is_subtype_of(inner),
            (_, Type::Union(parts)) => parts.iter().any(|part| self.is_subtype_of(part)),
            (Type::Int | Type::SymInt, Type::Int | Type::SymInt | Type::Scalar) => true,
            (Type::Float | Type::Complex, Type::Scalar) => true,
            (Type::Class(_), Type::AnyClass) => true,
            (Type::List(a), Type::List(b)) => a.is_equivalent_to(b),
            (Type::Dict(a, x), Type::Dict(b, y)) => a.is_equivalent_to(b) && x.is_equivalent_to(y),
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_subtype_of(b))
            }
            (Type::Future(a), Type::Future(b))
            | (Type::Await(a), Type::Await(b))
            | (Type::RRef(a), Type::RRef(b)) => a.is_subtype_of(b),
            _ => self == other,
        }
    }

    /// Whether the types are the same up to `SymInt` being `int`.
    fn is_equivalent_to(&self, other: &Type) -> bool {
        self.without_symint() == other.without_symint()
    }

    /// The name in Python's notation, as messages about values use it.
    ///
    /// ```
    /// # use opgrid_schema::Type;
    /// assert_eq!(Type::parse("(SymInt?, Scalar[])")?.python_name(), "Tuple[Optional[int], List[number]]");
    /// # Ok::<(), opgrid_schema::ParseError>(())
    /// ```
    pub fn python_name(&self) -> String {
        let joined = |parts: &[Type]| {
            let names: Vec<_> = parts.iter().map(Type::python_name).collect();
            names.join(", ")
        };
        match self {
            Type::Scalar => "number".to_owned(),
            Type::SymInt => "int".to_owned(),
            Type::SymBool => "bool".to_owned(),
            Type::List(element) => format!("List[{}]", element.python_name()),
            Type::Optional(inner) => format!("Optional[{}]", inner.python_name()),
            Type::Tuple(parts) if parts.is_empty() => "Tuple[()]".to_owned(),
            Type::Tuple(parts) => format!("Tuple[{}]", joined(parts)),
            Type::Dict(key, value) => format!("Dict[{}, {}]", key.python_name(), value.python_name()),
            Type::Future(inner) => format!("Future[{}]", inner.python_name()),
            Type::Await(inner) => format!("Await[{}]", inner.python_name()),
            Type::RRef(inner) => format!("RRef[{}]", inner.python_name()),
            Type::Union(parts) => format!("Union[{}]", joined(parts)),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::List(element) => write!(f, "{element}[]"),
            Type::Optional(inner) => write!(f, "{inner}?"),
            Type::Tuple(parts) => write_parts(f, "", parts),
            Type::Dict(key, value) => write!(f, "Dict({key}, {value})"),
            Type::Future(inner) => write!(f, "Future({inner})"),
            Type::Await(inner) => write!(f, "Await({inner})"),
            Type::RRef(inner) => write!(f, "RRef({inner})"),
            Type::Union(parts) => write_parts(f, "Union", parts),
            Type::Class(name) | Type::Var(name) => f.write_str(name),
            single => f.write_str(single.word().unwrap_or_default()),
        }
    }
}

fn write_parts(f: &mut fmt::Formatter<'_>, head: &str, parts: &[Type]) -> fmt::Result {
    write!(f, "{head}(")?;
    for (index, part) in parts.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(f, "{comma}{part}")?;
    }
    f.write_str(")")
}

impl FromStr for Type {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Type, ParseError> {
        Type::parse(text)
    }
}

/// Members that a union may have; comparing each with each stays cheap.
const MAX_MEMBERS: usize = 256;

/// Joins the members of a union as written: nested unions and optionals are opened, and a member that another
/// one covers is dropped.
///
/// # Errors
///
/// A message when there are too many members, or only one remains.
pub(crate) fn unite(members: Vec<Type>) -> Result<Type, String> {
    let mut flat = Vec::new();
    members.into_iter().for_each(|member| open(member, &mut flat));
    if flat.len() > MAX_MEMBERS {
        let count = flat.len();
        return Err(format!("this union has {count} members, more than {MAX_MEMBERS}; write Any instead"));
    }
    if [Type::Int, Type::Float, Type::Complex].iter().all(|number| flat.contains(number)) {
        flat.push(Type::Scalar);
    }
    let mut kept: Vec<Type> = Vec::new();
    for (index, member) in flat.iter().enumerate() {
        let covers = |at: usize, other: &Type| {
            at != index && member.is_subtype_of(other) && (at < index || !other.is_subtype_of(member))
        };
        if !flat.iter().enumerate().any(|(at, other)| covers(at, other)) {
            kept.push(member.clone());
        }
    }
    match kept.as_slice() {
        [Type::Scalar] => Ok(Type::Union(kept)),
        [only] => Err(format!("this union has the single type {only}; write {only} instead of the union")),
        [inner, Type::None] | [Type::None, inner] => Ok(Type::Optional(Box::new(inner.clone()))),
        _ => Ok(Type::Union(kept)),
    }
}

fn open(member: Type, flat: &mut Vec<Type>) {
    match member {
        Type::Union(parts) => parts.into_iter().for_each(|part| open(part, flat)),
        Type::Optional(inner) => {
            open(*inner, flat);
            flat.push(Type::None);
        }
        other => flat.push(other),
    }
}
