//! Sizes that vary: a program is traced for several sizes, and what differs between the traces is a function of them.
//!
//! Whatever the traces have in common is the program. An integer that differs becomes an expression that gives it at every
//! size that was tried: a symbol times a number plus a number, a product of symbols, or, after more sizes were tried, a
//! quotient that is rounded down. Anything else that differs is code that depends on a size in a way that a program does not
//! have, and an error.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::{Result, Scalar};
use opgrid_tensor::Tensor;

use super::guards::{Comparison, Condition, Guard, place_of};
use super::{Symbol, elements};
use crate::error;
use crate::graph::expression::Expression;
use crate::graph::types::{Size, TensorType, ValueType};
use crate::graph::{Argument, Graph, InputKind, Node, Outcome, Source, Variable};
use crate::rules::{self, AT_ONCE};

/// The sizes of the symbols in the example.
///
/// # Errors
///
/// A dimension that is not there, or dimensions of one name with different sizes; a size outside the range, or one of 0 or 1,
/// where operators do something else.
pub(super) fn sizes_of_example(symbols: &[Symbol], inputs: &[&Tensor]) -> Result<Vec<i64>> {
    let mut sizes = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        let name = &symbol.name;
        let mut size = None;
        for &(input, dimension) in &symbol.places {
            let found = inputs.get(input).and_then(|input| input.sizes().get(dimension)).copied();
            let Some(found) = found else {
                return Err(error::argument(format!(
                    "size `{name}`: there is no dimension {dimension} of input {input}, expected one that varies"
                )));
            };
            if size.replace(found).is_some_and(|before| before != found) {
                return Err(error::argument(format!(
                    "size `{name}`: its dimensions have different sizes in the example, expected one size"
                )));
            }
        }
        let size = size.unwrap_or_default();
        if size < 2 {
            return Err(error::argument(format!(
                "size `{name}` is {size} in the example, expected at least 2; tensors of size 0 and 1 are treated \
                 differently, so that nothing can be concluded from them"
            )));
        }
        if !symbol.range.contains(size) {
            return Err(error::argument(format!(
                "size `{name}` is {size} in the example, expected one of its range {}",
                symbol.range
            )));
        }
        sizes.push(size);
    }
    Ok(sizes)
}

/// Other sizes to trace with. First each symbol changes alone, so that what depends on one is told from what depends on
/// another, then all of them at once. `more` adds sizes that say how a quotient is rounded.
///
/// # Errors
///
/// A range with fewer than three sizes for which the `conditions` hold.
pub(super) fn other_sizes(
    symbols: &[Symbol],
    example: &[i64],
    conditions: &[Condition],
    more: bool,
) -> Result<Vec<Vec<i64>>> {
    let hold = |sizes: &[i64]| {
        let sizes = symbols.iter().map(|symbol| symbol.name.clone()).zip(sizes.iter().copied()).collect();
        conditions.iter().all(|condition| condition.holds(&sizes))
    };
    let mut columns = Vec::with_capacity(symbols.len());
    for (place, (symbol, &size)) in symbols.iter().zip(example).enumerate() {
        let alone = |other: i64| {
            let mut sizes = example.to_vec();
            sizes[place] = other;
            sizes
        };
        let near = (1..64).flat_map(|step| [size + step, size - step]);
        let near = near.filter(|other| *other >= 2 && symbol.range.contains(*other) && hold(&alone(*other)));
        let mut near: Vec<i64> = near.take(AT_ONCE + 2).collect();
        if near.len() < 2 {
            return Err(error::argument(format!(
                "size `{}` has the range {}{}, expected at least three sizes of 2 or more; leave a size that does not vary as it is",
                symbol.name,
                symbol.range,
                conditions.iter().map(|condition| format!(", {}", condition.text())).collect::<String>()
            )));
        }
        // Sizes that are all larger come first, as they are on one side of whatever the code compares with.
        near.sort_by_key(|other| (*other < size, (other - size).abs()));
        columns.push(near);
    }
    let mut sets: Vec<Vec<i64>> = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let mut set = example.to_vec();
        set[place] = column[0];
        sets.push(set);
    }
    for number in 0..if more { AT_ONCE } else { 1 } {
        let set =
            columns.iter().enumerate().map(|(place, column)| column[(1 + place + number) % column.len()]);
        let set: Vec<i64> = set.collect();
        if hold(&set) {
            sets.push(set);
        }
    }
    Ok(sets)
}

/// Inputs of other sizes. Their elements repeat those of the example, so that indices stay in bounds.
///
/// # Errors
///
/// No memory.
pub(super) fn examples(symbols: &[Symbol], inputs: &[&Tensor], sizes: &[i64]) -> Result<Vec<Tensor>> {
    let mut examples: Vec<Tensor> = inputs.iter().map(|input| (*input).clone()).collect();
    for (symbol, &size) in symbols.iter().zip(sizes) {
        for &(input, dimension) in &symbol.places {
            examples[input] = elements::of_size(&examples[input], dimension, size)?;
        }
    }
    Ok(examples)
}

/// The input and dimension that each symbol is read from.
pub(super) fn sources(graph: &Graph, symbols: &[Symbol]) -> Vec<(String, usize)> {
    let one = |symbol: &Symbol| {
        let (input, dimension) = symbol.places.first().copied()?;
        Some((graph.user_inputs().nth(input)?.name.clone(), dimension))
    };
    symbols.iter().map(|symbol| one(symbol).unwrap_or_default()).collect()
}

/// The error of code that does not run with other sizes in place of those that depend on elements.
#[cold]
pub(super) fn refused(symbols: &[Symbol], sizes: &[i64], error: &opgrid_core::Error) -> opgrid_core::Error {
    depends_error(format_args!("for {} it fails: {}", describe(symbols, sizes), error.message()))
}

/// Sizes as in `n = 3, u0 = 5`.
fn describe(symbols: &[Symbol], sizes: &[i64]) -> String {
    let each = symbols.iter().zip(sizes).map(|(symbol, size)| format!("{} = {size}", symbol.name));
    each.collect::<Vec<_>>().join(", ")
}

/// The trace for one set of sizes.
pub(super) struct Run {
    pub(super) graph: Graph,
    pub(super) tensors: BTreeMap<String, Tensor>,
    pub(super) sizes: Vec<i64>,
}

/// Why the runs are not instances of one program.
pub(super) enum Failure {
    /// An integer has no expression; more sizes may show that it is a quotient.
    NoRule(opgrid_core::Error),
    Error(opgrid_core::Error),
}

impl From<opgrid_core::Error> for Failure {
    fn from(error: opgrid_core::Error) -> Self {
        Self::Error(error)
    }
}

type Unified<T> = std::result::Result<T, Failure>;

/// The program that all runs are instances of; the first of them is that of the example.
///
/// `sources` has for each symbol a value and a dimension of that size, and `ties` values and dimensions that have the size of a symbol, too: the
/// program checks that. It checks what the `guards` say, too, unless ranges of symbols do.
pub(super) fn unify(
    runs: &[Run],
    symbols: &[Symbol],
    sources: &[(String, usize)],
    ties: &[((String, usize), usize)],
    guards: &[Guard],
) -> Unified<Graph> {
    let mut unifier = Unifier {
        runs,
        symbols: symbols.to_vec(),
        sources,
        ties,
        guards,
        types: BTreeMap::new(),
        checked: BTreeSet::new(),
        nodes: Vec::new(),
        known: BTreeMap::new(),
        free: BTreeMap::new(),
        names: names(&runs[0].graph),
    };
    unifier.graph()
}

struct Unifier<'r> {
    runs: &'r [Run],
    symbols: Vec<Symbol>,
    /// From which input and dimension each symbol is read.
    sources: &'r [(String, usize)],
    ties: &'r [((String, usize), usize)],
    guards: &'r [Guard],
    nodes: Vec<Node>,
    /// What is known of the values so far.
    types: BTreeMap<String, ValueType>,
    /// The comparisons that the program checks.
    checked: BTreeSet<String>,
    /// The values that hold an expression, by its text.
    known: BTreeMap<String, String>,
    /// Symbols for sizes of results that have no expression, and whose they are: value and dimension.
    free: BTreeMap<String, (String, usize)>,
    names: BTreeSet<String>,
}

impl Unifier<'_> {
    fn graph(&mut self) -> Unified<Graph> {
        let first = &self.runs[0].graph;
        let mut graph = first.clone();
        let counts =
            |graph: &Graph| (graph.block.nodes.len(), graph.block.parameters.len(), graph.outputs.len());
        if let Some(other) = self.runs.iter().find(|run| counts(&run.graph) != counts(first)) {
            return Err(depends(format_args!(
                "it makes {} calls for the example and {} for sizes {}",
                first.block.nodes.len(),
                other.graph.block.nodes.len(),
                describe(&self.symbols, &other.sizes)
            )));
        }
        self.expect_same_tensors()?;
        for (index, variable) in graph.block.parameters.iter_mut().enumerate() {
            let kinds: Vec<_> = self.runs.iter().map(|run| &run.graph.block.parameters[index].kind).collect();
            let is_stored = graph.inputs[index].stored_name().is_some();
            if is_stored && kinds.iter().any(|kind| *kind != kinds[0]) {
                return Err(depends(format_args!(
                    "the tensor `%{}` that it makes has other sizes",
                    variable.name
                )));
            }
            variable.kind = self.kind(&variable.name, &kinds)?;
            self.name_sizes(index, &mut variable.kind);
            self.types.insert(variable.name.clone(), variable.kind.clone());
        }
        for (index, node) in first.block.nodes.iter().enumerate() {
            self.check_guards(index)?;
            let all: Vec<&Node> = self.runs.iter().map(|run| &run.graph.block.nodes[index]).collect();
            let node = self.node(node, &all)?;
            let known = node.variables().map(|variable| (variable.name.clone(), variable.kind.clone()));
            self.types.extend(known);
            let tied = self
                .ties
                .iter()
                .filter(|((name, _), _)| node.variables().any(|variable| variable.name == *name));
            let tied: Vec<_> = tied.cloned().collect();
            let source = node.source.clone();
            self.nodes.push(node);
            for (place, symbol) in tied {
                self.expect_equal(place, symbol, &source)?;
            }
        }
        self.check_guards(first.block.nodes.len())?;
        for (index, result) in graph.block.results.iter_mut().enumerate() {
            let all: Vec<_> = self.runs.iter().map(|run| &run.graph.block.results[index]).collect();
            *result = self.argument(&all, "a result", &Source::default())?;
        }
        graph.block.nodes = std::mem::take(&mut self.nodes);
        graph.symbols = self.symbols.iter().map(|symbol| (symbol.name.clone(), symbol.range)).collect();
        let any = crate::graph::types::Range { min: Some(0), max: None };
        graph.symbols.extend(std::mem::take(&mut self.free).into_keys().map(|name| (name, any)));
        Ok(graph)
    }

    /// The dimensions of an input that were said to vary have their symbols.
    fn name_sizes(&self, parameter: usize, kind: &mut ValueType) {
        let users = self.runs[0].graph.inputs.iter().take(parameter).filter(|kind| **kind == InputKind::User);
        let input = users.count();
        let ValueType::Tensor(tensor) = kind else { return };
        if self.runs[0].graph.inputs[parameter] != InputKind::User {
            return;
        }
        for symbol in &self.symbols {
            for (_, dimension) in symbol.places.iter().filter(|place| place.0 == input) {
                tensor.sizes[*dimension] = Size::Varying(Expression::Symbol(symbol.name.clone()));
            }
        }
    }

    /// Tensors that the code makes without a call of an operator are constants, whatever the sizes are.
    fn expect_same_tensors(&self) -> Unified<()> {
        for (name, tensor) in &self.runs[0].tensors {
            for run in &self.runs[1..] {
                let other = run.tensors.get(name);
                let is_same = match other {
                    Some(other) if other.is_same(tensor) => true,
                    Some(other) => {
                        let has_elements = !tensor.device().is_meta();
                        other.sizes() == tensor.sizes()
                            && other.dtype() == tensor.dtype()
                            && other.device() == tensor.device()
                            && (!has_elements || tensor.equal(other).map_err(Failure::Error)?)
                    }
                    None => false,
                };
                if !is_same {
                    return Err(depends(format_args!("the tensor `{name}` that it makes is another one")));
                }
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, all: &[&Node]) -> Unified<Node> {
        let subject = node.target.clone();
        if let Some(other) = all.iter().find(|other| other.target != node.target) {
            return Err(depends(format_args!("it calls {} where it called {}", other.target, node.target)));
        }
        let shape = |node: &Node| {
            let names: Vec<_> = node.named.iter().map(|(name, _)| name.clone()).collect();
            (node.positional.len(), names, node.results.len())
        };
        if all.iter().any(|other| shape(other) != shape(node)) {
            return Err(depends(format_args!("it gives {subject} other arguments")));
        }
        let mut made = node.clone();
        for (index, argument) in made.positional.iter_mut().enumerate() {
            let each: Vec<_> = all.iter().map(|node| &node.positional[index]).collect();
            *argument = self.argument(&each, &subject, &node.source)?;
        }
        for (index, (_, argument)) in made.named.iter_mut().enumerate() {
            let each: Vec<_> = all.iter().map(|node| &node.named[index].1).collect();
            *argument = self.argument(&each, &subject, &node.source)?;
        }
        for (index, outcome) in made.results.iter_mut().enumerate() {
            let counts = all.iter().map(|node| node.results[index].variables().len());
            if counts.clone().any(|count| count != outcome.variables().len()) {
                return Err(depends(format_args!("{subject} gives another number of tensors")));
            }
            let variables = match outcome {
                Outcome::One(variable) => std::slice::from_mut(variable),
                Outcome::List(variables) => variables.as_mut_slice(),
                Outcome::Unused => continue,
            };
            for (place, variable) in variables.iter_mut().enumerate() {
                let kinds: Vec<_> =
                    all.iter().map(|node| &node.results[index].variables()[place].kind).collect();
                variable.kind = self.kind(&variable.name, &kinds)?;
            }
        }
        Ok(made)
    }

    fn argument(&mut self, all: &[&Argument], subject: &str, source: &Source) -> Unified<Argument> {
        let first = all[0];
        if all.iter().all(|other| *other == first) {
            return Ok(first.clone());
        }
        if let Argument::List(items) = first {
            let mut lists = Vec::with_capacity(all.len());
            for other in all {
                match other {
                    Argument::List(others) if others.len() == items.len() => lists.push(others),
                    _ => return Err(depends(format_args!("it gives {subject} a list of another length"))),
                }
            }
            let items = (0..items.len()).map(|index| {
                let each: Vec<_> = lists.iter().map(|list| &list[index]).collect();
                self.argument(&each, subject, source)
            });
            return items.collect::<Unified<_>>().map(Argument::List);
        }
        let integers = all.iter().map(|argument| match argument {
            Argument::Number(Scalar::Int(value)) => Some(*value),
            _ => None,
        });
        match integers.collect::<Option<Vec<_>>>() {
            Some(values) => {
                let Some(expression) = self.find(&values) else {
                    return Err(Failure::NoRule(depends_error(format_args!(
                        "it gives {subject} the integers {values:?}, in which no rule was found"
                    ))));
                };
                self.compute(&expression, source).map(Argument::Value)
            }
            None => Err(depends(format_args!("it gives {subject} something else: {first:?}"))),
        }
    }

    /// What is known of the value of that name.
    fn kind(&mut self, name: &str, all: &[&ValueType]) -> Unified<ValueType> {
        let first = all[0];
        if all.iter().all(|other| *other == first) {
            return Ok(first.clone());
        }
        let mut tensors = Vec::with_capacity(all.len());
        for kind in all {
            match kind {
                ValueType::Tensor(tensor) => tensors.push(tensor),
                _ => return Ok(ValueType::Unknown),
            }
        }
        let first = tensors[0];
        if tensors.iter().any(|other| other.dtype != first.dtype || other.sizes.len() != first.sizes.len()) {
            return Err(depends(format_args!("a result has another dtype or number of dimensions")));
        }
        let mut sizes = Vec::with_capacity(first.sizes.len());
        for dimension in 0..first.sizes.len() {
            let values = tensors.iter().map(|tensor| match tensor.sizes[dimension] {
                Size::Known(value) => value,
                Size::Varying(_) => -1,
            });
            let values: Vec<i64> = values.collect();
            sizes.push(match self.find(&values) {
                _ if values.iter().all(|value| *value == values[0]) => Size::Known(values[0]),
                Some(expression) => Size::from(expression),
                None => Size::Varying(Expression::Symbol(self.free_symbol((name.to_owned(), dimension)))),
            });
        }
        Ok(ValueType::Tensor(TensorType { dtype: first.dtype, sizes }))
    }

    /// A symbol for a size that has no expression.
    fn free_symbol(&mut self, place: (String, usize)) -> String {
        let is_taken = |name: &String| {
            self.symbols.iter().any(|symbol| symbol.name == *name) || self.free.contains_key(name)
        };
        let name = (0..).map(|number| format!("u{number}")).find(|name| !is_taken(name)).unwrap_or_default();
        self.free.insert(name.clone(), place);
        name
    }

    /// Has the program expect what code compared before that node: as the range of a symbol, or by nodes that check it.
    fn check_guards(&mut self, node: usize) -> Unified<()> {
        // They stand in the order in which they were recorded.
        let due = self.guards.partition_point(|guard| guard.nodes <= node);
        let (now, later) = self.guards.split_at(due);
        self.guards = later;
        for guard in now {
            let size = |value: &str, dimension: usize| self.types.get(value)?.size(dimension).cloned();
            let Some(condition) = guard.resolve(&size) else {
                return Err(depends(format_args!("a comparison of sizes does not fit 64 bits")));
            };
            if condition.is_constant() {
                continue;
            }
            // Sizes of inputs have their ranges checked before the program runs.
            let range = |name: &str| {
                let symbol = self.symbols.iter().find(|symbol| symbol.name == name);
                symbol.filter(|symbol| !symbol.places.is_empty()).map(|symbol| symbol.range)
            };
            if let Some((name, range)) = condition.narrowed(range)
                && let Some(symbol) = self.symbols.iter_mut().find(|symbol| symbol.name == name)
            {
                symbol.set_range(range, &condition, &guard.source)?;
                continue;
            }
            let text = condition.text();
            if self.checked.contains(&text) {
                continue;
            }
            let left = self.operand(&condition.left, &guard.source)?;
            let right = self.operand(&condition.right, &guard.source)?;
            let place = place_of(&guard.source);
            let message =
                format!("the program was traced for sizes with {text}, as the code requires{place}");
            self.expect(condition.comparison, [left, right], message, &guard.source);
            self.checked.insert(text);
        }
        Ok(())
    }

    /// Nodes that check that two numbers compare so.
    fn expect(&mut self, comparison: Comparison, sides: [Argument; 2], message: String, source: &Source) {
        let holds = self.unique("holds");
        let mut add = |target: &str, positional: Vec<Argument>, result: Option<Variable>| {
            self.nodes.push(Node {
                target: target.to_owned(),
                positional,
                named: Vec::new(),
                results: result.into_iter().map(Outcome::One).collect(),
                source: source.clone(),
            });
        };
        let result = Variable { name: holds.clone(), kind: ValueType::Bool };
        add(comparison.names().1, sides.to_vec(), Some(result));
        add("aten::_assert_scalar", vec![Argument::Value(holds), Argument::Str(message)], None);
    }

    /// Computes that a dimension of a value has the size of a symbol, which the program expects.
    fn expect_equal(
        &mut self,
        (name, dimension): (String, usize),
        symbol: usize,
        source: &Source,
    ) -> Unified<()> {
        let expected = Expression::Symbol(self.symbols[symbol].name.clone());
        let expected_name = self.compute(&expected, source)?;
        let message = format!(
            "size {dimension} of `{name}` and size {} of `{}` depend on elements and are expected to be equal, as when the program was traced",
            self.sources[symbol].1, self.sources[symbol].0
        );
        let size = self.unique("size");
        self.nodes.push(Node {
            target: "aten::sym_size.int".to_owned(),
            positional: vec![Argument::Value(name), (dimension as i64).into()],
            named: Vec::new(),
            results: vec![Outcome::One(Variable { name: size.clone(), kind: ValueType::Int(None) })],
            source: source.clone(),
        });
        let sides = [Argument::Value(size), Argument::Value(expected_name)];
        self.expect(Comparison::Equal, sides, message, source);
        Ok(())
    }

    /// An expression that has these values, one for each run.
    fn find(&self, values: &[i64]) -> Option<Expression> {
        let names: Vec<&str> = self.symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        let sizes: Vec<&[i64]> = self.runs.iter().map(|run| run.sizes.as_slice()).collect();
        rules::find(&names, &sizes, values)
    }

    /// The name of a value that holds the expression, computed where there is none yet.
    fn compute(&mut self, expression: &Expression, source: &Source) -> Unified<String> {
        let text = expression.to_string();
        if let Some(name) = self.known.get(&text) {
            return Ok(name.clone());
        }
        let (target, positional) = match expression {
            Expression::Symbol(name) => {
                let (value, dimension) = match self.free.get(name) {
                    Some(place) => place.clone(),
                    None => {
                        let place = self.symbols.iter().position(|symbol| symbol.name == *name);
                        self.sources[place.unwrap_or_default()].clone()
                    }
                };
                ("aten::sym_size.int", vec![Argument::Value(value), (dimension as i64).into()])
            }
            Expression::Integer(_) => return Err(depends(format_args!("an integer is no expression"))),
            Expression::Sum(terms) => ("_operator.add", self.operands(terms, Expression::Sum, source)?),
            Expression::Product(factors) => {
                ("_operator.mul", self.operands(factors, Expression::Product, source)?)
            }
            Expression::Function(name, arguments) => {
                let target = if name == "FloorDiv" { "_operator.floordiv" } else { "_operator.mod" };
                (target, self.operands(arguments, Expression::Product, source)?)
            }
        };
        let name =
            self.unique(if positional.len() == 2 && target.starts_with("aten") { "size" } else { "number" });
        let kind = ValueType::Int(Some(Size::Varying(expression.clone())));
        self.nodes.push(Node {
            target: target.to_owned(),
            positional,
            named: Vec::new(),
            results: vec![Outcome::One(Variable { name: name.clone(), kind })],
            source: source.clone(),
        });
        self.known.insert(text, name.clone());
        Ok(name)
    }

    /// Two operands: further ones are brought `together` first.
    fn operands(
        &mut self,
        all: &[Expression],
        together: fn(Vec<Expression>) -> Expression,
        source: &Source,
    ) -> Unified<Vec<Argument>> {
        let (last, rest) = match all {
            [first, second] => (second, first.clone()),
            [rest @ .., last] => (last, together(rest.to_vec())),
            [] => return Err(depends(format_args!("an expression without operands"))),
        };
        [&rest, last].into_iter().map(|operand| self.operand(operand, source)).collect()
    }

    fn operand(&mut self, operand: &Expression, source: &Source) -> Unified<Argument> {
        match operand {
            Expression::Integer(value) => Ok((*value).into()),
            operand => self.compute(operand, source).map(Argument::Value),
        }
    }

    fn unique(&mut self, wanted: &str) -> String {
        let mut number = 0;
        loop {
            let name = format!("{wanted}_{number}");
            if self.names.insert(name.clone()) {
                return name;
            }
            number += 1;
        }
    }
}

fn names(graph: &Graph) -> BTreeSet<String> {
    let inner = graph.block.nodes.iter().flat_map(Node::variables);
    graph.block.parameters.iter().chain(inner).map(|variable| variable.name.clone()).collect()
}

#[cold]
fn depends_error(what: impl std::fmt::Display) -> opgrid_core::Error {
    super::untraceable(format_args!(
        "the code depends on a size that varies: {what}; compute with tensors, or let the size not vary (one that depends on elements \
         stays the same with guarded reads)"
    ))
}

#[cold]
fn depends(what: impl std::fmt::Display) -> Failure {
    Failure::Error(depends_error(what))
}
