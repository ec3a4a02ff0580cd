//! Sizes that are not known before a program runs: expressions over symbols.
//!
//! torch writes them as sympy's `srepr`: `Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1))`. In the text form of
//! graphs they read as arithmetic: `2*s0 + 1`.

use std::collections::BTreeMap;
use std::fmt;

use opgrid_core::Result;

use crate::error;

/// How deep expressions may be nested, so that reading and printing them needs a bounded stack.
const DEEPEST: usize = 64;

/// An integer, a symbol, or a function of such.
///
/// # Examples
///
/// ```
/// use opgrid_graph::Expression;
///
/// let size = Expression::from_sympy("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1))")?;
/// assert_eq!(size.to_string(), "2*s0 + 1");
/// assert_eq!(size.evaluate(&[("s0".to_owned(), 4)].into()), Some(9));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Integer(i64),
    /// A size that has a name.
    Symbol(String),
    /// The sum of two or more terms.
    Sum(Vec<Expression>),
    /// The product of two or more factors.
    Product(Vec<Expression>),
    /// Another function by its name in sympy or torch, such as `FloorDiv` or `Max`.
    Function(String, Vec<Expression>),
}

impl Expression {
    /// Reads what sympy's `srepr` writes.
    ///
    /// # Errors
    ///
    /// Another text; integers beyond 64 bits; expressions nested deeper than 64.
    pub fn from_sympy(text: &str) -> Result<Self> {
        let mut reader = Sympy { text, rest: text };
        let expression = reader.expression(0)?;
        if reader.rest.trim().is_empty() { Ok(expression) } else { Err(reader.unexpected("the end")) }
    }

    /// The value, where every symbol has one and every function is known; nothing overflows.
    pub fn evaluate(&self, symbols: &BTreeMap<String, i64>) -> Option<i64> {
        let all =
            |items: &[Self]| items.iter().map(|item| item.evaluate(symbols)).collect::<Option<Vec<_>>>();
        match self {
            Self::Integer(value) => Some(*value),
            Self::Symbol(name) => symbols.get(name).copied(),
            Self::Sum(terms) => all(terms)?.into_iter().try_fold(0i64, i64::checked_add),
            Self::Product(factors) => all(factors)?.into_iter().try_fold(1i64, i64::checked_mul),
            Self::Function(name, arguments) => apply(name, &all(arguments)?),
        }
    }

    /// Adds the names of the symbols in it.
    pub(crate) fn symbols<'e>(&'e self, names: &mut Vec<&'e str>) {
        match self {
            Self::Integer(_) => {}
            Self::Symbol(name) => names.push(name),
            Self::Sum(items) | Self::Product(items) | Self::Function(_, items) => {
                items.iter().for_each(|item| item.symbols(names));
            }
        }
    }

    /// The expression with others in the place of its symbols, simplified; `None` where there is none for a symbol, or a number does not fit.
    pub(crate) fn substitute(&self, other: &dyn Fn(&str) -> Option<Self>) -> Option<Self> {
        let all =
            |items: &[Self]| items.iter().map(|item| item.substitute(other)).collect::<Option<Vec<_>>>();
        match self {
            Self::Integer(value) => Some(Self::Integer(*value)),
            Self::Symbol(name) => other(name),
            Self::Sum(terms) => {
                let terms = all(terms)?.into_iter().flat_map(|term| match term {
                    Self::Sum(terms) => terms,
                    term => vec![term],
                });
                let (number, mut rest) = combine(terms, 0, i64::checked_add)?;
                rest.extend(number);
                Some(if rest.len() == 1 { rest.remove(0) } else { Self::Sum(rest) })
            }
            Self::Product(factors) => {
                let factors = all(factors)?.into_iter().flat_map(|factor| match factor {
                    Self::Product(factors) => factors,
                    factor => vec![factor],
                });
                let (number, rest) = combine(factors, 1, i64::checked_mul)?;
                let mut factors: Vec<Self> = number.into_iter().chain(rest).collect();
                Some(if factors.len() == 1 { factors.remove(0) } else { Self::Product(factors) })
            }
            Self::Function(name, arguments) => {
                let made = Self::Function(name.clone(), all(arguments)?);
                let value = made.evaluate(&BTreeMap::new());
                Some(value.map_or(made, Self::Integer))
            }
        }
    }

    /// The difference to another expression as a symbol, a factor and an offset, where it is such; the factor is 0 where it is a number.
    pub(crate) fn linear_difference(&self, other: &Self) -> Option<(String, i64, i64)> {
        let (mut factors, mut offset) = (BTreeMap::new(), 0);
        self.add_linear_terms(1, &mut factors, &mut offset)?;
        other.add_linear_terms(-1, &mut factors, &mut offset)?;
        factors.retain(|_, factor| *factor != 0);
        let mut factors = factors.into_iter();
        match (factors.next(), factors.next()) {
            (Some((name, factor)), None) => Some((name.to_owned(), factor, offset)),
            (None, _) => Some((String::new(), 0, offset)),
            _ => None,
        }
    }

    /// Adds the terms of the expression times a number; `None` where it has others than symbols times numbers.
    fn add_linear_terms<'e>(
        &'e self,
        times: i64,
        factors: &mut BTreeMap<&'e str, i64>,
        offset: &mut i64,
    ) -> Option<()> {
        match self {
            Self::Integer(value) => *offset = offset.checked_add(value.checked_mul(times)?)?,
            Self::Symbol(name) => {
                let factor = factors.entry(name).or_default();
                *factor = factor.checked_add(times)?;
            }
            Self::Sum(terms) => {
                for term in terms {
                    term.add_linear_terms(times, factors, offset)?;
                }
            }
            Self::Product(items) => {
                let mut times = times;
                let mut rest = None;
                for item in items {
                    match item {
                        Self::Integer(value) => times = times.checked_mul(*value)?,
                        item => {
                            if rest.replace(item).is_some() {
                                return None;
                            }
                        }
                    }
                }
                rest.unwrap_or(&Self::Integer(1)).add_linear_terms(times, factors, offset)?;
            }
            Self::Function(..) => return None,
        }
        Some(())
    }

    /// The symbol, if it is nothing but one.
    pub fn as_symbol(&self) -> Option<&str> {
        if let Self::Symbol(name) = self { Some(name) } else { None }
    }
}

/// The numbers among items as one, unless it is the neutral one and there are others, and the others; `None` where it does not fit.
fn combine(
    items: impl Iterator<Item = Expression>,
    neutral: i64,
    together: fn(i64, i64) -> Option<i64>,
) -> Option<(Option<Expression>, Vec<Expression>)> {
    let (mut number, mut rest) = (neutral, Vec::new());
    for item in items {
        match item {
            Expression::Integer(value) => number = together(number, value)?,
            item => rest.push(item),
        }
    }
    let is_needed = number != neutral || rest.is_empty();
    Some((is_needed.then_some(Expression::Integer(number)), rest))
}

/// The value of a function of torch or sympy.
fn apply(name: &str, arguments: &[i64]) -> Option<i64> {
    match (name, arguments) {
        ("FloorDiv" | "CleanDiv", &[a, b]) if b != 0 => Some(floor_div(a, b)?),
        ("CeilDiv", &[a, b]) if b != 0 => floor_div(a.checked_neg()?, b)?.checked_neg(),
        ("Mod" | "PythonMod", &[a, b]) if b != 0 => a.checked_sub(floor_div(a, b)?.checked_mul(b)?),
        ("Max", values) => values.iter().copied().max(),
        ("Min", values) => values.iter().copied().min(),
        ("Pow" | "PowByNatural", &[a, b]) => a.checked_pow(u32::try_from(b).ok()?),
        _ => None,
    }
}

/// The quotient, rounded down; `None` where it does not fit or the divisor is 0.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let is_rounded_up = a % b != 0 && (a < 0) != (b < 0);
    Some(quotient - i64::from(is_rounded_up))
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, items: &[Self], between: &str, in_product: bool| {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    f.write_str(between)?;
                }
                match item {
                    Self::Sum(_) => write!(f, "({item})")?,
                    Self::Product(_) if in_product => write!(f, "({item})")?,
                    item => write!(f, "{item}")?,
                }
            }
            Ok(())
        };
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Symbol(name) => f.write_str(name),
            Self::Sum(terms) => join(f, terms, " + ", false),
            Self::Product(factors) => join(f, factors, "*", true),
            Self::Function(name, arguments) => {
                write!(f, "{name}(")?;
                for (index, argument) in arguments.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{argument}")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// What is left to read of sympy's text.
struct Sympy<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Sympy<'t> {
    fn expression(&mut self, depth: usize) -> Result<Expression> {
        if depth > DEEPEST {
            let message = format!("expression nested deeper than {DEEPEST}, expected a simpler size");
            return Err(error::value(message));
        }
        let name = self.name()?;
        self.expect("(")?;
        let expression = match name {
            "Integer" => Expression::Integer(self.integer()?),
            "Symbol" => self.symbol()?,
            _ => {
                let mut arguments = Vec::new();
                while !self.rest.starts_with(')') {
                    if !arguments.is_empty() {
                        self.expect(",")?;
                    }
                    arguments.push(self.expression(depth + 1)?);
                }
                match name {
                    "Add" if arguments.len() > 1 => Expression::Sum(arguments),
                    "Mul" if arguments.len() > 1 => Expression::Product(arguments),
                    _ => Expression::Function(name.rsplit('.').next().unwrap_or(name).to_owned(), arguments),
                }
            }
        };
        self.expect(")")?;
        Ok(expression)
    }

    /// The name of a symbol, and what sympy assumes of it, which is passed over.
    fn symbol(&mut self) -> Result<Expression> {
        let quoted = self.rest.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        let (name, rest) = quoted.ok_or_else(|| self.unexpected("a name in quotes"))?;
        if !is_identifier(name) {
            return Err(self.unexpected("a name of letters, digits and `_`"));
        }
        let end = rest.find(')').ok_or_else(|| self.unexpected("`)`"))?;
        self.rest = &rest[end..];
        Ok(Expression::Symbol(name.to_owned()))
    }

    fn name(&mut self) -> Result<&'t str> {
        self.rest = self.rest.trim_start();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        if end == 0 || !self.rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            return Err(self.unexpected("the name of a function"));
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(name)
    }

    fn integer(&mut self) -> Result<i64> {
        let end = self.rest.find(')').unwrap_or(self.rest.len());
        let value = self.rest[..end].trim().parse();
        let value = value.map_err(|_| self.unexpected("an integer of 64 bits"))?;
        self.rest = &self.rest[end..];
        Ok(value)
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.ok_or_else(|| self.unexpected(&format!("`{token}`")))?.trim_start();
        Ok(())
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> opgrid_core::Error {
        let at = self.text.len() - self.rest.len();
        let shown: String = self.text.chars().take(80).collect();
        error::value(format!(
            "size expression `{shown}`: expected {expected} at byte {at}, as sympy's srepr writes it"
        ))
    }
}

/// Whether a text is a name: letters, digits and `_`, not beginning with a digit.
pub(crate) fn is_identifier(text: &str) -> bool {
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_torch_are_evaluated() {
        let symbols = [("s0".to_owned(), 7)].into();
        let at_seven = |text: &str| Expression::from_sympy(text).unwrap().evaluate(&symbols);
        let s0 = "Symbol('s0', positive=True, integer=True)";
        assert_eq!(at_seven(&format!("FloorDiv({s0}, Integer(2))")), Some(3));
        assert_eq!(at_seven(&format!("FloorDiv(Mul(Integer(-1), {s0}), Integer(2))")), Some(-4));
        assert_eq!(at_seven(&format!("Mod({s0}, Integer(4))")), Some(3));
        assert_eq!(at_seven(&format!("Max(Integer(9), {s0})")), Some(9));
        assert_eq!(at_seven(&format!("Pow({s0}, Integer(2))")), Some(49));
        assert_eq!(at_seven(&format!("Mul(Integer(9223372036854775807), {s0})")), None);
        assert_eq!(at_seven("Symbol('s1', integer=True)"), None);
        assert_eq!(at_seven(&format!("FloorDiv({s0}, Integer(0))")), None);
    }

    #[test]
    fn broken_expressions_are_refused() {
        for text in [
            "",
            "Integer(x)",
            "Integer(99999999999999999999)",
            "Symbol(s0)",
            "Add(Integer(1)",
            "Integer(1) 2",
            "1",
        ] {
            assert!(Expression::from_sympy(text).is_err(), "{text}");
        }
        let deep = format!("{}Integer(1){}", "f(".repeat(10_000), ")".repeat(10_000));
        assert!(Expression::from_sympy(&deep).unwrap_err().message().contains("deeper"));
    }
}
