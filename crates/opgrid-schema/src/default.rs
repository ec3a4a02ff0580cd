//! Reads default values, guided by the type of the argument they belong to.
//!
//! The type decides which form is read (a list, a device, one constant), not whether the constant fits:
//! `int x='a'` is accepted, as PyTorch does, unless the options ask for strictness. The elements of lists are
//! always checked.

use crate::constant::{NAMED_NUMBERS, read_float, unquote};
use crate::lexer::{Token, TokenKind};
use crate::parser::{Parser, Result};
use crate::{Constant, ParseErrorKind, Type};

/// Elements that a single constant may be repeated to: `int[2] x=1` is `[1, 1]`.
const MAX_REPEATED: usize = 1 << 16;

impl Parser<'_, '_> {
    /// Reads the default value of an argument, after the `=`.
    pub(crate) fn default_value(
        &mut self,
        real_type: &Type,
        size: Option<usize>,
        strict: bool,
    ) -> Result<Constant> {
        let start = self.current;
        let constant = match real_type {
            Type::Tensor | Type::Generator | Type::Quantizer => self.none()?,
            Type::Str
            | Type::Int
            | Type::SymInt
            | Type::Bool
            | Type::Float
            | Type::Complex
            | Type::Scalar
            | Type::ScalarType
            | Type::Layout
            | Type::MemoryFormat => self.constant(real_type)?,
            // A list in brackets; one constant stays one, because the size of an optional list is not known to it.
            Type::Optional(inner) => match &**inner {
                Type::List(element) if self.at(b'[') => self.list_default(element, None)?,
                _ => self.constant(real_type)?,
            },
            Type::Device => self.device()?,
            Type::List(element) => self.list_default(element, size)?,
            _ => {
                let message = format!(
                    "unexpected type, file a bug report: {real_type} cannot have a default; make it optional \
                     to allow None"
                );
                return Err(self.error(ParseErrorKind::InvalidDefault, start, message));
            }
        };
        if strict && !fits(&constant, real_type) {
            let (kind, name) = (constant.kind_name(), real_type.python_name());
            let message = format!("the default is a value of type {kind}, which is not a {name}");
            return Err(self.error(ParseErrorKind::InvalidDefault, start, message));
        }
        Ok(constant)
    }

    fn none(&mut self) -> Result<Constant> {
        match self.current.kind {
            TokenKind::None => {
                self.advance();
                Ok(Constant::None)
            }
            _ => Err(self.unexpected("None")),
        }
    }

    fn device(&mut self) -> Result<Constant> {
        let token = self.expect_kind(TokenKind::StringLiteral)?;
        let text = self.string(token)?;
        match check_device(&text) {
            Ok(()) => Ok(Constant::Device(text)),
            Err(message) => Err(self.error(ParseErrorKind::InvalidDefault, token, message)),
        }
    }

    fn string(&self, token: Token) -> Result<String> {
        unquote(self.text_of(token))
            .map_err(|message| self.error(ParseErrorKind::InvalidString, token, message))
    }

    /// Reads a list, or for a sized list one constant to repeat.
    fn list_default(&mut self, element: &Type, size: Option<usize>) -> Result<Constant> {
        let start = self.current;
        let is_float =
            || matches!(self.named(start, element), Some(Constant::Float(_) | Constant::Complex(..)));
        if start.kind == TokenKind::Identifier && !is_float() {
            return Err(self.unexpected("None"));
        }
        let items = match size {
            Some(size) if !self.at(b'[') => {
                let item = self.constant(element)?;
                if size > MAX_REPEATED {
                    let message = format!(
                        "a single default is repeated at most {MAX_REPEATED} times, not {size}; use no default"
                    );
                    return Err(self.error(ParseErrorKind::InvalidDefault, start, message));
                }
                vec![item; size]
            }
            _ => self.items(element)?,
        };
        self.check_items(element, &items, start)?;
        Ok(Constant::List(items))
    }

    fn items(&mut self, element: &Type) -> Result<Vec<Constant>> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        if !self.at(b']') {
            items.push(self.constant(element)?);
            while self.eat(b',') {
                items.push(self.constant(element)?);
            }
        }
        self.expect(b']')?;
        Ok(items)
    }

    fn check_items(&self, element: &Type, items: &[Constant], start: Token) -> Result<()> {
        let has_lists = matches!(
            element.fake(),
            Type::Int | Type::Float | Type::Complex | Type::Bool | Type::Str | Type::Scalar
        );
        // A list without elements is one of any type.
        if !has_lists && !items.is_empty() {
            let message = "lists are only supported for float, int and complex types";
            return Err(self.error(ParseErrorKind::InvalidDefault, start, message));
        }
        match items.iter().find(|item| !fits(item, element)) {
            None => Ok(()),
            Some(item) => {
                let (kind, name) = (item.kind_name(), element.python_name());
                let message = format!("expected {name} but found {kind} in the list");
                Err(self.error(ParseErrorKind::InvalidDefault, start, message))
            }
        }
    }

    /// Reads one constant that is no list.
    fn constant(&mut self, real_type: &Type) -> Result<Constant> {
        let token = self.current;
        let constant = match token.kind {
            TokenKind::True => Constant::Bool(true),
            TokenKind::False => Constant::Bool(false),
            TokenKind::None => Constant::None,
            TokenKind::StringLiteral => Constant::Str(self.string(token)?),
            TokenKind::Identifier => match self.named(token, real_type) {
                Some(constant) => constant,
                None => {
                    let message = "invalid numeric default value";
                    return Err(self.error(ParseErrorKind::InvalidDefault, token, message));
                }
            },
            _ => {
                let is_negative = self.eat(b'-');
                if is_negative && let Some(infinity) = self.negative_infinity(real_type) {
                    self.advance();
                    return Ok(infinity);
                }
                let token = self.expect_kind(TokenKind::Number)?;
                return self.number(token, is_negative, real_type);
            }
        };
        self.advance();
        Ok(constant)
    }

    /// The constant that a word stands for.
    fn named(&self, token: Token, real_type: &Type) -> Option<Constant> {
        let word = self.text_of(token);
        let float = match word {
            "inf" => float_constant(f64::INFINITY, real_type),
            "nan" => float_constant(f64::NAN, real_type),
            _ => None,
        };
        float.or_else(|| named_number(word, real_type).map(Constant::Int))
    }

    /// What `-inf` stands for, if the word after the sign is `inf`.
    fn negative_infinity(&self, real_type: &Type) -> Option<Constant> {
        let token = self.current;
        let is_infinity = token.kind == TokenKind::Identifier && self.text_of(token) == "inf";
        if is_infinity { float_constant(f64::NEG_INFINITY, real_type) } else { None }
    }

    fn number(&self, token: Token, is_negative: bool, real_type: &Type) -> Result<Constant> {
        let text = self.text_of(token);
        let out_of_range = || {
            let message = format!("the number {text} is too large or too close to zero for 64 bits");
            self.error(ParseErrorKind::InvalidDefault, token, message)
        };
        let float = |text: &str| match read_float(text) {
            Some(value) if is_negative => Ok(-value),
            Some(value) => Ok(value),
            None => Err(out_of_range()),
        };
        if let Some(imaginary) = text.strip_suffix('j') {
            return Ok(Constant::Complex(0.0, float(imaginary)?));
        }
        match real_type {
            Type::Complex => return Ok(Constant::Complex(float(text)?, 0.0)),
            Type::Float => return Ok(Constant::Float(float(text)?)),
            _ => {}
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            if text.contains(['.', 'e']) {
                return Ok(Constant::Float(float(text)?));
            }
            let message = format!("{text} is not a decimal integer; write it with digits only, or as 1e5");
            return Err(self.error(ParseErrorKind::InvalidDefault, token, message));
        }
        let sign = if is_negative { "-" } else { "" };
        format!("{sign}{text}").parse().map(Constant::Int).map_err(|_| out_of_range())
    }
}

/// A floating-point number as a constant of a type that has such.
fn float_constant(value: f64, real_type: &Type) -> Option<Constant> {
    let mut declared = real_type.without_optional();
    // An optional list takes one constant for all of its elements.
    if let Type::List(element) = declared {
        declared = element;
    }
    match declared {
        Type::Float | Type::Scalar => Some(Constant::Float(value)),
        Type::Complex => Some(Constant::Complex(value, 0.0)),
        _ => None,
    }
}

/// Whether a constant is a value of the type.
fn fits(constant: &Constant, real_type: &Type) -> bool {
    match (constant, real_type) {
        (Constant::None, Type::Optional(_) | Type::Tensor | Type::Generator | Type::Quantizer) => true,
        // The value of an optional is read as a plain constant, so `float? x=1` holds an integer.
        (Constant::Int(_), Type::Optional(inner)) if **inner == Type::Float => true,
        // The value of an optional list is read as a plain constant for every element.
        (_, Type::Optional(inner)) => match (&**inner, constant) {
            (Type::List(element), constant) if !matches!(constant, Constant::List(_)) => {
                fits(constant, element)
            }
            (inner, constant) => fits(constant, inner),
        },
        (Constant::Bool(_), Type::Bool | Type::Scalar) => true,
        (Constant::Int(_), number) => matches!(number.fake(), Type::Int | Type::Scalar),
        (Constant::Float(_), Type::Float | Type::Scalar) => true,
        (Constant::Complex(..), Type::Complex | Type::Scalar) => true,
        (Constant::Str(_), Type::Str) => true,
        (Constant::Str(text), Type::Device) => check_device(text).is_ok(),
        (Constant::Device(_), Type::Device) => true,
        (Constant::List(items), Type::List(element)) => items.iter().all(|item| fits(item, element)),
        _ => false,
    }
}

/// The number that a word stands for.
fn named_number(word: &str, real_type: &Type) -> Option<i64> {
    match NAMED_NUMBERS.iter().find(|(name, _)| *name == word) {
        Some((_, number)) => Some(*number),
        None if *real_type.without_optional() == Type::ScalarType => dtype_number(word),
        None => None,
    }
}

/// The names of dtypes by number; a second name follows the first one after a blank.
const DTYPES: [&str; 46] = [
    "uint8",
    "int8",
    "int16 short",
    "int32 int",
    "int64 long",
    "float16 half",
    "float32 float",
    "float64 double",
    "complex32 chalf",
    "complex64 cfloat",
    "complex128 cdouble",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "quint4x2",
    "quint2x4",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "uint16",
    "uint32",
    "uint64",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
];

fn dtype_number(word: &str) -> Option<i64> {
    let number = DTYPES.iter().position(|names| names.split(' ').any(|name| name == word))?;
    Some(number as i64)
}

/// The device types that a device text can begin with.
const DEVICE_TYPES: [&str; 20] = [
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
];

/// Checks `type` or `type:index`, the index from 0 to 127 without leading zeros.
fn check_device(text: &str) -> std::result::Result<(), String> {
    if text.is_empty() {
        return Err("Device string must not be empty".to_owned());
    }
    let (name, index) = match text.split_once(':') {
        Some((name, index)) => (name, Some(index)),
        None => (text, None),
    };
    if !DEVICE_TYPES.contains(&name) {
        return Err(format!(
            "Expected one of {} device type at start of device string: {text}",
            DEVICE_TYPES.join(", ")
        ));
    }
    let is_index = |index: &str| {
        index.bytes().all(|byte| byte.is_ascii_digit())
            && (index == "0" || !index.starts_with('0'))
            && index.parse::<i8>().is_ok()
    };
    match index {
        Some(index) if !is_index(index) => Err(format!("Invalid device string: '{text}'")),
        _ => Ok(()),
    }
}
