//! Writes schemas as text, in two forms.
//!
//! `{}` is PyTorch's canonical form, down to the cases where that form does not read back to the same schema:
//!
//! | written | `{}` | reads back as |
//! |---|---|---|
//! | `int[3] x=[1, 1]` | `int[3] x=1` | three ones |
//! | `int[] x=[1, 1]` | `int[] x=1` | error |
//! | `complex x=1j` | `complex x=0.+1.j` | error |
//! | `Device d='cpu'` | `Device d=cpu` | error |
//! | `float x=-0.` | `float x=0.` | zero without its sign |
//! | `int x='a'` | `int x=a` | error |
//! | `Tensor! x` | `Tensor($0! -> ) x` | error |
//! | `Tensor(a)?[] x` | `Tensor?(a)[] x` | error |
//! | `Tensor(a)[][] x` | `Tensor[]()[] x` | error |
//!
//! `{:#}` is the same text except in these cases, where it keeps the written form, so that it reads back to an
//! equal schema. (Annotations inside tuples, dictionaries and futures are read but not kept; a bare `!` there
//! still counts when later ones are numbered, which no text can repeat.)

use std::fmt::{self, Display, Write};

use crate::alias::AliasInfo;
use crate::constant::{NAMED_NUMBERS, print_float, quote};
use crate::{Argument, Constant, Declaration, FunctionSchema, Type};

impl Display for FunctionSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        let mut comma = Comma(false);
        let mut kwarg_only = false;
        for argument in &self.arguments {
            if argument.kwarg_only && !kwarg_only {
                kwarg_only = true;
                comma.write(f)?;
                f.write_char('*')?;
            }
            comma.write(f)?;
            argument.fmt(f)?;
        }
        if self.is_vararg {
            comma.write(f)?;
            f.write_str("...")?;
        }
        f.write_str(") -> ")?;
        write_returns(f, self)
    }
}

/// Writes `, ` from the second time on.
struct Comma(bool);

impl Comma {
    fn write(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if std::mem::replace(&mut self.0, true) { f.write_str(", ") } else { Ok(()) }
    }
}

/// Writes the returns: a single one bare unless it would look like a list, all others in parentheses.
fn write_returns(f: &mut fmt::Formatter<'_>, schema: &FunctionSchema) -> fmt::Result {
    match (schema.returns.as_slice(), schema.is_varret) {
        ([], true) => return f.write_str("..."),
        ([single], false) if !begins_with_parenthesis(&single.real_type) => return single.fmt(f),
        _ => {}
    }
    f.write_char('(')?;
    let mut comma = Comma(false);
    for value in &schema.returns {
        comma.write(f)?;
        value.fmt(f)?;
    }
    if schema.is_varret {
        comma.write(f)?;
        f.write_str("...")?;
    }
    f.write_char(')')
}

fn begins_with_parenthesis(real_type: &Type) -> bool {
    match real_type {
        Type::Tuple(_) => true,
        Type::List(inner) | Type::Optional(inner) => begins_with_parenthesis(inner),
        _ => false,
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = self.alias.as_ref();
        if f.alternate() {
            write_annotated(f, &self.real_type, alias, self.size)?;
        } else {
            write_canonical_type(f, self)?;
        }
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        match &self.default {
            None => Ok(()),
            Some(default) if f.alternate() => {
                f.write_char('=')?;
                write_readable(f, &self.real_type, default)
            }
            Some(default) => write_canonical_default(f, &self.real_type, default),
        }
    }
}

/// Writes the type with its annotations where the canonical form has them: after the element type of the
/// outermost list, and at the end, before a `?`.
fn write_canonical_type(f: &mut fmt::Formatter<'_>, argument: &Argument) -> fmt::Result {
    let alias = argument.alias.as_ref();
    let inner = argument.real_type.without_optional();
    match inner {
        Type::List(element) => {
            write!(f, "{element}")?;
            if let Some(elements) = alias.and_then(|alias| alias.contained.first()) {
                write!(f, "{elements}")?;
            }
            write_brackets(f, argument.size)?;
        }
        other => write!(f, "{other}")?,
    }
    if let Some(alias) = alias.filter(|alias| !alias.before.is_empty()) {
        write!(f, "{alias}")?;
    }
    if inner != &argument.real_type { f.write_char('?') } else { Ok(()) }
}

fn write_brackets(f: &mut fmt::Formatter<'_>, size: Option<usize>) -> fmt::Result {
    match size {
        Some(size) => write!(f, "[{size}]"),
        None => f.write_str("[]"),
    }
}

/// Writes the type with each annotation where it is read.
fn write_annotated(
    f: &mut fmt::Formatter<'_>,
    real_type: &Type,
    alias: Option<&AliasInfo>,
    size: Option<usize>,
) -> fmt::Result {
    match real_type {
        Type::Optional(inner) => {
            write_annotated(f, inner, alias, size)?;
            return f.write_char('?');
        }
        Type::List(element) => {
            write_annotated(f, element, alias.and_then(|alias| alias.contained.first()), None)?;
            write_brackets(f, size)?;
        }
        other => write!(f, "{other}")?,
    }
    match alias.filter(|alias| !alias.before.is_empty()) {
        Some(alias) if alias.is_fresh() => f.write_char('!'),
        Some(alias) => write!(f, "{alias}"),
        None => Ok(()),
    }
}

fn write_canonical_default(f: &mut fmt::Formatter<'_>, real_type: &Type, default: &Constant) -> fmt::Result {
    let is_string = *real_type.without_optional() == Type::Str;
    let is_int_list = matches!(real_type, Type::List(element) if **element == Type::Int);
    match default {
        Constant::Str(text) if is_string => write!(f, "={}", quote(text)),
        Constant::List(items) if is_int_list && is_repeated(items) => write!(f, "={}", items[0]),
        Constant::List(items) if items.iter().any(|item| matches!(item, Constant::Str(_))) => {
            f.write_char('=')?;
            write_readable(f, real_type, default)
        }
        other => write!(f, "={other}"),
    }
}

/// Whether a list is one constant several times.
fn is_repeated(items: &[Constant]) -> bool {
    items.len() > 1 && items.iter().all(|item| *item == items[0])
}

fn write_readable(f: &mut fmt::Formatter<'_>, real_type: &Type, constant: &Constant) -> fmt::Result {
    match constant {
        // A number would be read as a float here; integers come from named constants.
        Constant::Int(value) if matches!(real_type, Type::Float | Type::Complex) => {
            match NAMED_NUMBERS.iter().find(|(_, number)| number == value) {
                Some((name, _)) => f.write_str(name),
                None => write!(f, "{value}"),
            }
        }
        Constant::Str(text) | Constant::Device(text) => f.write_str(&quote(text)),
        Constant::Float(value) if *value == 0.0 && value.is_sign_negative() => f.write_str("-0."),
        Constant::Complex(re, 0.0) if *re != 0.0 => f.write_str(&print_float(*re)),
        Constant::Complex(_, im) => write!(f, "{}j", print_float(*im)),
        Constant::List(items) => {
            f.write_char('[')?;
            let mut comma = Comma(false);
            for item in items {
                comma.write(f)?;
                write_readable(f, &Type::Any, item)?;
            }
            f.write_char(']')
        }
        other => write!(f, "{other}"),
    }
}

impl Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Declaration::Name(name) => name.fmt(f),
            Declaration::Schema(schema) => schema.fmt(f),
        }
    }
}
