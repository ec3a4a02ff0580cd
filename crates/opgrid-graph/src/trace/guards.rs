//! Comparisons of sizes: what code does after one holds only for sizes that compare alike, so that the program has to expect it.
//!
//! In Rust the sizes of a traced tensor are numbers. Code that goes one way or another because of a size says so, by [`record_comparison`]; Python's sizes say it
//! themselves. A comparison of one size that varies with a number becomes a bound of its range, any other one an assertion.

use std::collections::BTreeMap;

use opgrid_core::Result;
use opgrid_tensor::Tensor;

use super::record::{Session, TracedTensor};
use super::{Symbol, untraceable};
use crate::graph::expression::{Expression, floor_div};
use crate::graph::types::{Range, Size};
use crate::graph::{Graph, Source};

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there are no others")]
pub enum Comparison {
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether two numbers compare so.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }

    /// The one that holds where this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The one that is written so between two numbers, as in Python.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        [Self::Equal, Self::NotEqual, Self::Less, Self::LessOrEqual, Self::Greater, Self::GreaterOrEqual]
            .into_iter()
            .find(|comparison| comparison.names().0 == symbol)
    }

    /// How it is written between two numbers, and what computes it in a program.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Equal => ("==", "_operator.eq"),
            Self::NotEqual => ("!=", "_operator.ne"),
            Self::Less => ("<", "_operator.lt"),
            Self::LessOrEqual => ("<=", "_operator.le"),
            Self::Greater => (">", "_operator.gt"),
            Self::GreaterOrEqual => (">=", "_operator.ge"),
        }
    }
}

/// A comparison that held while code was traced.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) left: Expression,
    pub(super) comparison: Comparison,
    pub(super) right: Expression,
    /// How many nodes there were.
    pub(super) nodes: usize,
    pub(super) source: Source,
}

/// The size of a dimension, for [`record_comparison`]; `None` where it is no size of a tensor that is traced, or all sizes of the trace are known.
pub fn size_symbol(tensor: &Tensor, dimension: usize) -> Option<Expression> {
    let traced = tensor.wrapper::<TracedTensor>()?;
    let session = traced.session();
    if !session.wants_guards() || dimension >= tensor.dim() {
        return None;
    }
    // The names of values are identifiers, so that what stands before them can be told from them.
    Some(Expression::Symbol(format!("d{dimension}_{}_{}", session.number(), traced.name())))
}

/// The session, the value and the dimension that a symbol of [`size_symbol`] is the size of.
fn place(symbol: &str) -> Option<(u64, &str, usize)> {
    let (dimension, rest) = symbol.strip_prefix('d')?.split_once('_')?;
    let (session, value) = rest.split_once('_')?;
    Some((session.parse().ok()?, value, dimension.parse().ok()?))
}

/// Says that code goes on because numbers compare so, which were computed from [sizes](size_symbol) of traced tensors.
///
/// # Errors
///
/// Sizes of tensors of several traces.
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
/// use opgrid_graph::{Comparison, Expression, Trace, record_comparison, size_symbol};
///
/// let x = Tensor::ones((4, 2), DType::F32, Device::CPU)?;
/// let trace = Trace::new().input("x").vary(0, 0, "n", 2..=i64::MAX);
/// let program = trace.run(&[&x], |inputs| {
///     let x = &inputs[0];
///     if x.sizes()[0] < 8 {
///         if let Some(size) = size_symbol(x, 0) {
///             record_comparison(&size, Comparison::Less, &Expression::Integer(8))?;
///         }
///         return Ok(vec![x.exp()?]);
///     }
///     Ok(vec![x.relu()?])
/// })?;
/// assert_eq!(program.graph().symbols["n"].to_string(), "2..7");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn record_comparison(left: &Expression, comparison: Comparison, right: &Expression) -> Result<()> {
    let mut symbols = Vec::new();
    left.symbols(&mut symbols);
    right.symbols(&mut symbols);
    let mut sessions = symbols.iter().filter_map(|symbol| place(symbol)).map(|(session, ..)| session);
    // Numbers without sizes compare as they do.
    let Some(number) = sessions.next() else { return Ok(()) };
    if sessions.any(|other| other != number) {
        return Err(untraceable("it compares sizes of tensors of several traces, expected those of one"));
    }
    // What is compared after a trace is not part of it.
    if let Some(session) = Session::find_running(number) {
        session.add_guard(left.clone(), comparison, right.clone());
    }
    Ok(())
}

/// A comparison with what is known of the sizes in it put in their place.
pub(super) struct Condition {
    /// One side less the other, which compares with 0, where that is a symbol times a number plus a number.
    linear: Option<(String, i64, i64)>,
    pub(super) left: Expression,
    pub(super) comparison: Comparison,
    pub(super) right: Expression,
}

impl Guard {
    /// The comparison with `size` in the place of sizes of values; `None` if there is one that is not known.
    pub(super) fn resolve(&self, size: &dyn Fn(&str, usize) -> Option<Size>) -> Option<Condition> {
        let put = |side: &Expression| {
            side.substitute(&|symbol| {
                let (_, value, dimension) = place(symbol)?;
                Some(match size(value, dimension)? {
                    Size::Known(known) => Expression::Integer(known),
                    Size::Varying(expression) => expression,
                })
            })
        };
        let (left, right) = (put(&self.left)?, put(&self.right)?);
        let linear = left.linear_difference(&right);
        Some(Condition { linear, left, comparison: self.comparison, right })
    }
}

impl Condition {
    /// Whether it says nothing about sizes that vary.
    pub(super) fn is_constant(&self) -> bool {
        let mut symbols = Vec::new();
        self.left.symbols(&mut symbols);
        self.right.symbols(&mut symbols);
        symbols.is_empty() || matches!(self.linear, Some((_, 0, _)))
    }

    /// The symbol that it bounds, and the range that it leaves of `range`; `None` if that is no range.
    pub(super) fn narrowed(&self, range: impl Fn(&str) -> Option<Range>) -> Option<(String, Range)> {
        let (symbol, factor, offset) = self.linear.as_ref()?;
        let mut range = range(symbol)?;
        // factor * symbol + offset compares with 0: symbol with this number, rounded to both sides.
        let below = floor_div(offset.checked_neg()?, *factor)?;
        let is_whole = offset % factor == 0;
        let above = if is_whole { below } else { below.checked_add(1)? };
        let comparison = if *factor < 0 { mirrored(self.comparison) } else { self.comparison };
        let (mut least, mut most) = (None, None);
        match comparison {
            Comparison::Less => most = Some(if is_whole { below.checked_sub(1)? } else { below }),
            Comparison::LessOrEqual => most = Some(below),
            Comparison::Greater => least = Some(if is_whole { above.checked_add(1)? } else { above }),
            Comparison::GreaterOrEqual => least = Some(above),
            Comparison::Equal => (least, most) = (Some(above), Some(below)),
            Comparison::NotEqual if !is_whole || !range.contains(below) => {}
            Comparison::NotEqual if range.min == Some(below) => least = below.checked_add(1),
            Comparison::NotEqual if range.max == Some(below) => most = below.checked_sub(1),
            Comparison::NotEqual => return None,
        }
        range.min = range.min.max(least);
        range.max = [range.max, most].into_iter().flatten().min();
        Some((symbol.clone(), range))
    }

    /// Whether it holds where symbols have these values; where one has none, too.
    pub(super) fn holds(&self, symbols: &BTreeMap<String, i64>) -> bool {
        let (Some(left), Some(right)) = (self.left.evaluate(symbols), self.right.evaluate(symbols)) else {
            return true;
        };
        self.comparison.holds(left, right)
    }

    /// # Errors
    ///
    /// Sizes are required to be equal to what others say, so that they do not vary apart.
    fn check_independent(&self, source: &Source) -> Result<()> {
        if self.comparison != Comparison::Equal || !self.has_several_symbols() {
            return Ok(());
        }
        Err(untraceable(format_args!(
            "the code{} requires {}, so these sizes cannot vary independently; give equal sizes one name, or leave one out of those that vary",
            place_of(source),
            self.text()
        )))
    }

    fn has_several_symbols(&self) -> bool {
        let mut symbols = Vec::new();
        self.left.symbols(&mut symbols);
        self.right.symbols(&mut symbols);
        symbols.iter().any(|symbol| *symbol != symbols[0])
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        format!("{} {} {}", self.left, self.comparison.names().0, self.right)
    }
}

/// Where the code stands, as in ` at model.py:3`; nothing where that is not known.
pub(super) fn place_of(source: &Source) -> String {
    if source.place.is_empty() { String::new() } else { format!(" at {}", source.place) }
}

/// How `-a` and `-b` compare where `a` and `b` compare so.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Narrows the ranges of sizes of inputs by what the code compared them with, and gives the conditions that are no ranges: other sizes that it is run
/// with compare alike.
///
/// # Errors
///
/// A comparison leaves less than what was said that the range is, or no size that varies.
pub(super) fn narrow_ranges(
    guards: &[Guard],
    graph: &Graph,
    symbols: &mut [Symbol],
) -> Result<Vec<Condition>> {
    let mut conditions = Vec::new();
    let inputs: Vec<&str> = graph.user_inputs().map(|variable| variable.name.as_str()).collect();
    for guard in guards {
        let of_input = |value: &str, dimension: usize| {
            let input = inputs.iter().position(|name| *name == value)?;
            let symbol = symbols.iter().find(|symbol| symbol.places.contains(&(input, dimension)));
            match symbol {
                Some(symbol) => Some(Size::Varying(Expression::Symbol(symbol.name.clone()))),
                None => {
                    graph.block.parameters.iter().find(|it| it.name == value)?.kind.size(dimension).cloned()
                }
            }
        };
        let Some(condition) = guard.resolve(&of_input).filter(|condition| !condition.is_constant()) else {
            continue;
        };
        let range = |name: &str| symbols.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.range);
        let Some((name, range)) = condition.narrowed(range) else {
            condition.check_independent(&guard.source)?;
            conditions.push(condition);
            continue;
        };
        if let Some(symbol) = symbols.iter_mut().find(|symbol| symbol.name == name) {
            symbol.set_range(range, &condition, &guard.source)?;
        }
    }
    Ok(conditions)
}

impl Symbol {
    /// Takes a narrower range, which code expects.
    ///
    /// # Errors
    ///
    /// Bounds that were given are wider; only one size is left.
    pub(super) fn set_range(&mut self, range: Range, guard: &Condition, source: &Source) -> Result<()> {
        let place = place_of(source);
        let (name, text) = (&self.name, guard.text());
        if range.min.is_some() && range.min == range.max {
            return Err(untraceable(format_args!(
                "the code{place} requires {text}, so size `{name}` cannot vary; leave it out of the sizes that vary"
            )));
        }
        let raises = range.min != self.given.min && self.given.min.is_some_and(|min| min > 1);
        let lowers = range.max != self.given.max && self.given.max.is_some();
        if raises || lowers {
            return Err(untraceable(format_args!(
                "the code{place} requires {text}, but the range given for size `{name}` is {}; give it the range {range}, or leave that \
                 bound out",
                self.given
            )));
        }
        self.range = range;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str) -> Expression {
        Expression::Symbol(name.to_owned())
    }

    /// The range that is left of `0..` where `factor * n + offset` compares so with `number`.
    fn left(factor: i64, offset: i64, comparison: Comparison, number: i64) -> Option<String> {
        let product = Expression::Product(vec![Expression::Integer(factor), symbol("d0_7_x")]);
        let guard = Guard {
            left: Expression::Sum(vec![product, Expression::Integer(offset)]),
            comparison,
            right: Expression::Integer(number),
            nodes: 0,
            source: Source::default(),
        };
        let condition = guard.resolve(&|_, _| Some(Size::Varying(symbol("n"))))?;
        let (_, range) = condition.narrowed(|_| Some(Range { min: Some(0), max: None }))?;
        Some(range.to_string())
    }

    #[test]
    fn bounds_hold_exactly_the_sizes_that_compare_so() {
        let all = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        for (factor, offset, number) in [-3, -2, -1, 1, 2, 5]
            .into_iter()
            .flat_map(|f| (-4..4).flat_map(move |o| (-20..20).map(move |n| (f, o, n))))
        {
            for comparison in all {
                let holds = |n: i64| comparison.holds(factor * n + offset, number);
                let Some(range) = left(factor, offset, comparison, number) else {
                    // Two ranges are none.
                    assert_eq!(comparison, Comparison::NotEqual);
                    continue;
                };
                let (min, max) = range.split_once("..").unwrap();
                let range = Range { min: min.parse().ok(), max: max.parse().ok() };
                for n in 0..40 {
                    assert_eq!(
                        range.contains(n),
                        holds(n),
                        "{factor}*{n} + {offset} {comparison:?} {number}: {range}"
                    );
                }
            }
        }
    }
}
