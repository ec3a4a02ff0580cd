//! From a graph to a plan, and what is wrong with a graph.
//!
//! Names are looked up here and nowhere else: operators become handles, values become numbered slots, constants become what the
//! schemas want. Everything that is wrong is collected, so that a checker can say all of it.

use std::collections::{HashMap, HashSet};

use opgrid_core::schema::Type;
use opgrid_core::{Binder, Dispatcher, Error, OperatorHandle, Result, Scalar, Value};
use opgrid_tensor::Tensor;

use super::fused::{self, Fused};
use super::plan::{Action, Operand, Place, Plan, Step, last_uses};
use super::reuse;
use super::scan::Scan;
use super::target::{self, HigherOrder, Target};
use crate::error;
use crate::graph::types::ValueType;
use crate::graph::{Argument, Block, Graph, Node, Outcome, Variable};

/// How deep blocks and lists may be nested.
pub(crate) const DEEPEST: usize = 32;

/// The plan of a graph, with everything that is wrong with it. A graph with errors has no plan that may run.
pub(crate) fn compile(graph: &Graph, dispatcher: &Dispatcher) -> (Plan, Vec<Error>) {
    let mut compiler = Compiler { dispatcher, errors: Vec::new() };
    let plan = compiler.block(&graph.block, 0);
    let mut errors = compiler.errors;
    for (what, count, expected) in [
        ("inputs", graph.inputs.len(), graph.block.parameters.len()),
        ("outputs", graph.outputs.len(), graph.block.results.len()),
    ] {
        if count != expected {
            errors.push(error::value(format!(
                "the graph says what {count} {what} are, expected {expected} as its block has"
            )));
        }
    }
    (plan, errors)
}

/// Checks that a block of pointwise nodes has a loop.
///
/// # Errors
///
/// What is wrong with the block, or why there is no loop for it.
pub(crate) fn check_lowered(dispatcher: &Dispatcher, block: &Block) -> Result<()> {
    let mut compiler = Compiler { dispatcher, errors: Vec::new() };
    let plan = compiler.block(block, 0);
    match compiler.errors.into_iter().next() {
        Some(error) => Err(error),
        None => fused::check(&plan, &block.parameters),
    }
}

struct Compiler<'d> {
    dispatcher: &'d Dispatcher,
    errors: Vec<Error>,
}

/// Operators that find the largest elements and where they are, and those that do not say where.
const WITH_INDICES: [(&str, &str); 2] = [
    ("aten::max_pool2d_with_indices", "aten::max_pool2d"),
    ("aten::max_pool3d_with_indices", "aten::max_pool3d"),
];

/// The values that a block has so far.
struct Scope<'g> {
    slots: HashMap<&'g str, (usize, &'g ValueType)>,
    /// All names of the block, those that come later too.
    later: HashSet<&'g str>,
    /// The names that something refers to.
    used: HashSet<&'g str>,
}

impl<'g> Scope<'g> {
    /// Gives a variable the next slot.
    fn define(&mut self, variable: &'g Variable) -> Result<usize> {
        let slot = self.slots.len();
        // The first one stays, so that every slot has a number below their count.
        if self.slots.contains_key(variable.name.as_str()) {
            let message =
                format!("value `%{}` is defined twice, expected a name of its own for each", variable.name);
            return Err(error::value(message));
        }
        self.slots.insert(&variable.name, (slot, &variable.kind));
        Ok(slot)
    }

    /// The operator that gives the first result of a node alone, where nobody needs the other one.
    fn without_indices(&self, node: &Node) -> Option<&'static str> {
        let (_, alone) = WITH_INDICES.iter().find(|(target, _)| *target == node.target)?;
        let [_, indices] = node.results.as_slice() else { return None };
        let is_unused =
            indices.variables().iter().all(|variable| !self.used.contains(variable.name.as_str()));
        is_unused.then_some(alone)
    }

    fn find(&self, name: &str) -> Result<(usize, &'g ValueType)> {
        self.slots.get(name).copied().ok_or_else(|| {
            error::value(if self.later.contains(name) {
                format!("value `%{name}` is used before it is defined; move the node that gives it up")
            } else {
                format!("value `%{name}` is not defined in this block; blocks see only their parameters and own values")
            })
        })
    }
}

impl Compiler<'_> {
    fn block(&mut self, block: &Block, depth: usize) -> Plan {
        let later = block.nodes.iter().flat_map(Node::variables).map(|variable| variable.name.as_str());
        let arguments = block.nodes.iter().flat_map(Node::arguments).chain(&block.results);
        let used = arguments.flat_map(Argument::references).collect();
        let mut scope = Scope { slots: HashMap::new(), later: later.collect(), used };
        for parameter in &block.parameters {
            if let Err(error) = scope.define(parameter) {
                self.errors.push(error.within("parameter"));
            }
        }
        let mut steps = Vec::with_capacity(block.nodes.len());
        for (index, node) in block.nodes.iter().enumerate() {
            match self.step(node, &mut scope, depth) {
                Ok(mut step) => {
                    step.subject = node.subject(index);
                    steps.push(step);
                }
                Err(error) => {
                    self.errors.push(error.within(node.subject(index)));
                    // What it gives is there for the nodes behind it, so that one error is not many.
                    for variable in node.variables() {
                        let _ = scope.define(variable);
                    }
                }
            }
        }
        let mut results = Vec::with_capacity(block.results.len());
        for (index, result) in block.results.iter().enumerate() {
            match operand(result, None, &scope, 0) {
                Ok(result) => results.push(result),
                Err(error) => self.errors.push(error.within(format_args!("result {index}"))),
            }
        }
        let mut plan = Plan { slots: scope.slots.len(), parameters: block.parameters.len(), steps, results };
        last_uses(&mut plan);
        reuse::keep_possible(&mut plan.steps);
        plan
    }

    fn step<'g>(&mut self, node: &'g Node, scope: &mut Scope<'g>, depth: usize) -> Result<Step> {
        // A program may have been linked without it.
        let without_indices =
            scope.without_indices(node).filter(|target| self.dispatcher.find(target).is_ok());
        let (action, operands) =
            match target::resolve(self.dispatcher, without_indices.unwrap_or(&node.target))? {
                Target::Operator(operator) => {
                    let wanted =
                        if without_indices.is_some() { &node.results[..1] } else { &node.results[..] };
                    call(self.dispatcher, operator, node, wanted, scope)?
                }
                Target::Number(function) => {
                    let operands = node.arguments().map(|argument| operand(argument, None, scope, 0));
                    (Action::Number(function), operands.collect::<Result<_>>()?)
                }
                Target::Higher(_) if depth >= DEEPEST => {
                    return Err(error::value(format!(
                        "blocks are nested deeper than {DEEPEST}, expected fewer"
                    )));
                }
                Target::Higher(higher) => self.higher(higher, node, scope, depth + 1)?,
            };
        let mut results = Vec::with_capacity(node.results.len());
        for outcome in &node.results {
            results.push(match outcome {
                Outcome::Unused => Place::Nowhere,
                Outcome::One(variable) => Place::Slot(scope.define(variable)?),
                Outcome::List(variables) => Place::Slots(
                    variables.iter().map(|variable| scope.define(variable)).collect::<Result<_>>()?,
                ),
            });
        }
        if without_indices.is_some() {
            results.truncate(1);
        }
        // Blocks give their results one by one, also where they stand in a list.
        if !matches!(action, Action::Call { .. } | Action::Number(_)) {
            results = results.into_iter().flat_map(Place::flat).collect();
        }
        Ok(Step { action, operands, results, frees: Vec::new(), subject: String::new() })
    }

    /// A higher-order operator with its blocks.
    fn higher(
        &mut self,
        higher: HigherOrder,
        node: &Node,
        scope: &Scope<'_>,
        depth: usize,
    ) -> Result<(Action, Vec<Operand>)> {
        let wrong = || {
            let expected = match higher {
                HigherOrder::Cond => "(condition, block, block, [operands])",
                HigherOrder::WhileLoop => "(block, block, [carried], [constant])",
                HigherOrder::Map => "(block, [mapped], [constant])",
                HigherOrder::Scan => "(block, [carried], [scanned], [constant])",
                HigherOrder::SetGradEnabled => "(bool, block, operands…)",
                HigherOrder::Autocast => "(device, dtype, bool, bool, block, operands…)",
                HigherOrder::Fused => "(block, operands…)",
            };
            error::value(format!("{}: expected arguments {expected}", node.target))
        };
        if !node.named.is_empty() {
            return Err(wrong());
        }
        let read = |argument: &Argument| operand(argument, None, scope, 0);
        match (higher, node.positional.as_slice()) {
            (
                HigherOrder::Cond,
                [condition, Argument::Block(_, yes), Argument::Block(_, no), Argument::List(operands)],
            ) => {
                let mut read = vec![read(condition)?];
                read.extend(
                    operands.iter().map(|it| operand(it, None, scope, 0)).collect::<Result<Vec<_>>>()?,
                );
                let branches = [yes, no].map(|block| self.block_for(block, operands.len(), depth));
                let [yes, no] = branches;
                let branches = Box::new([yes?, no?]);
                self.expect_results(node, branches[0].results.len())?;
                self.expect_results(node, branches[1].results.len())?;
                Ok((Action::Cond { truth: self.dispatcher.find("aten::is_nonzero")?, branches }, read))
            }
            (
                HigherOrder::WhileLoop,
                [
                    Argument::Block(_, condition),
                    Argument::Block(_, body),
                    Argument::List(carried),
                    Argument::List(constant),
                ],
            ) => {
                let operands = carried.iter().chain(constant).map(read).collect::<Result<Vec<_>>>()?;
                let condition = self.block_for(condition, operands.len(), depth)?;
                let body = self.block_for(body, operands.len(), depth)?;
                self.expect_results(node, carried.len())?;
                if (condition.results.len(), body.results.len()) != (1, carried.len()) {
                    let message = format!(
                        "{}: its blocks give {} and {} results, expected the truth value and {} as are carried",
                        node.target,
                        condition.results.len(),
                        body.results.len(),
                        carried.len()
                    );
                    return Err(error::value(message));
                }
                let truth = self.dispatcher.find("aten::is_nonzero")?;
                Ok((
                    Action::Loop { truth, blocks: Box::new([condition, body]), carried: carried.len() },
                    operands,
                ))
            }
            (
                HigherOrder::Map,
                [Argument::Block(_, block), Argument::List(mapped), Argument::List(constant)],
            ) => self.scan(node, scope, block, [&[], mapped, constant], depth),
            (
                HigherOrder::Scan,
                [
                    Argument::Block(_, block),
                    Argument::List(carried),
                    Argument::List(scanned),
                    Argument::List(constant),
                ],
            ) => self.scan(node, scope, block, [carried, scanned, constant], depth),
            (
                HigherOrder::SetGradEnabled,
                [Argument::Number(Scalar::Bool(on)), Argument::Block(_, block), operands @ ..],
            ) => {
                let block = self.block_for(block, operands.len(), depth)?;
                self.expect_results(node, block.results.len())?;
                let operands = operands.iter().map(read).collect::<Result<_>>()?;
                Ok((Action::SetGradEnabled { on: *on, block: Box::new(block) }, operands))
            }
            (
                HigherOrder::Autocast,
                [
                    Argument::Str(device),
                    dtype @ (Argument::DType(_) | Argument::None),
                    Argument::Number(Scalar::Bool(on)),
                    Argument::Number(_) | Argument::None,
                    Argument::Block(_, block),
                    operands @ ..,
                ],
            ) => {
                let block = self.block_for(block, operands.len(), depth)?;
                self.expect_results(node, block.results.len())?;
                let operands = operands.iter().map(read).collect::<Result<_>>()?;
                let lower =
                    if let Argument::DType(dtype) = dtype { *dtype } else { opgrid_core::DType::BF16 };
                // Autocast for another device does nothing to tensors on the CPU.
                let on = (device == "cpu").then_some(*on);
                Ok((Action::Autocast { on, lower, block: Box::new(block) }, operands))
            }
            (HigherOrder::Fused, [Argument::Block(_, block), operands @ ..]) => {
                let plan = self.block_for(block, operands.len(), depth)?;
                self.expect_results(node, plan.results.len())?;
                let operands = operands.iter().map(read).collect::<Result<_>>()?;
                Ok((Action::Fused(Box::new(Fused::new(plan, &block.parameters))), operands))
            }
            _ => Err(wrong()),
        }
    }

    /// A block that runs over rows: what it carries, what it takes row by row, and what is the same for every row.
    fn scan(
        &mut self,
        node: &Node,
        scope: &Scope<'_>,
        block: &Block,
        given: [&[Argument]; 3],
        depth: usize,
    ) -> Result<(Action, Vec<Operand>)> {
        let all = given.iter().copied().flatten().map(|argument| operand(argument, None, scope, 0));
        let operands = all.collect::<Result<Vec<_>>>()?;
        let plan = self.block_for(block, operands.len(), depth)?;
        let [carried, scanned, _] = given.map(<[Argument]>::len);
        self.expect_results(node, plan.results.len())?;
        if plan.results.len() < carried || scanned == 0 {
            return Err(error::value(format!(
                "{}: its block gives {} results for {carried} values that are carried and {scanned} that have rows, expected at least as \
                 many as are carried, and one that has rows",
                node.target,
                plan.results.len()
            )));
        }
        Ok((Action::Scan(Box::new(Scan::new(self.dispatcher, plan, carried, scanned)?)), operands))
    }

    /// The plan of a block that is called with so many values.
    fn block_for(&mut self, block: &Block, count: usize, depth: usize) -> Result<Plan> {
        if block.parameters.len() != count {
            let parameters = block.parameters.len();
            return Err(error::value(format!(
                "a block of {parameters} parameters is given {count} values, expected as many"
            )));
        }
        Ok(self.block(block, depth))
    }

    fn expect_results(&self, node: &Node, count: usize) -> Result<()> {
        let found: usize = node
            .results
            .iter()
            .map(|outcome| if let Outcome::List(all) = outcome { all.len() } else { 1 })
            .sum();
        if found == count {
            return Ok(());
        }
        Err(error::value(format!(
            "{}: {found} results are named, expected {count} as its block gives",
            node.target
        )))
    }
}

/// A call of an operator: its arguments in the order of the schema. Of its results those that are wanted are named.
fn call(
    dispatcher: &Dispatcher,
    operator: OperatorHandle,
    node: &Node,
    wanted: &[Outcome],
    scope: &Scope<'_>,
) -> Result<(Action, Vec<Operand>)> {
    let binder = operator.binder()?;
    let mut sources: Vec<Option<&Argument>> = vec![None; binder.count()];
    let named = node.named.iter().map(|(name, argument)| (name, argument));
    binder
        .place(node.positional.iter(), named, &mut sources)
        .map_err(|misplaced| binder.refusal(&misplaced))?;
    let mut operands = Vec::with_capacity(sources.len());
    for (index, source) in sources.iter().copied().enumerate() {
        let argument = &binder.schema().arguments[index];
        let declared = &argument.real_type;
        let within =
            |error: Error| error.within(format_args!("{}: argument `{}`", node.target, argument.name));
        operands.push(match source {
            None => Operand::Constant(binder.default(index).clone()),
            Some(source) => match operand(source, Some(declared), scope, 0).map_err(within)? {
                Operand::Constant(value) => Operand::Constant(fit(&binder, index, value)?),
                operand => operand,
            },
        });
    }
    expect_outcomes(node, wanted, &binder)?;
    let kind = |source: &Option<&Argument>| match source {
        Some(Argument::Value(name)) => scope.find(name).ok().map(|(_, kind)| kind),
        _ => None,
    };
    let kinds: Vec<_> = sources.iter().map(kind).collect();
    let result = match wanted {
        [Outcome::One(variable)] => Some(&variable.kind),
        _ => None,
    };
    let reuse = reuse::find(dispatcher, &operator, binder.schema(), &operands, &kinds, result);
    Ok((Action::Call { operator, binder, reuse }, operands))
}

/// The results that get names are those that the schema has.
fn expect_outcomes(node: &Node, wanted: &[Outcome], binder: &Binder) -> Result<()> {
    let returns = &binder.schema().returns;
    if wanted.len() > returns.len() {
        return Err(error::value(format!(
            "{}: {} results are named, expected {}; the schema is {}",
            node.target,
            wanted.len(),
            returns.len(),
            binder.schema()
        )));
    }
    for (index, (outcome, given)) in wanted.iter().zip(returns).enumerate() {
        let is_list = matches!(given.real_type, Type::List(_));
        let is_wrong = match outcome {
            Outcome::Unused => false,
            Outcome::One(_) => is_list,
            Outcome::List(_) => !is_list,
        };
        if is_wrong {
            let found = if is_list { "one name" } else { "a list of names" };
            let message =
                format!("{}: result {index} is {}, found {found} for it", node.target, given.real_type);
            return Err(error::value(message));
        }
    }
    Ok(())
}

/// A value as an argument of an operator wants it. A number stands for a tensor, as in torch.
pub(super) fn fit(binder: &Binder, index: usize, value: Value) -> Result<Value> {
    let declared = binder.schema().arguments[index].real_type.without_optional();
    if *declared == Type::Tensor
        && let Some(number) = value.borrow().as_scalar()
    {
        return Ok(Value::from(&Tensor::number(number)));
    }
    binder.fit(index, value)
}

/// What a node is given, found or made. `declared` is what the schema wants, where there is one.
fn operand(argument: &Argument, declared: Option<&Type>, scope: &Scope<'_>, depth: usize) -> Result<Operand> {
    if depth > DEEPEST {
        return Err(error::value(format!("lists are nested deeper than {DEEPEST}, expected fewer")));
    }
    Ok(match argument {
        Argument::Value(name) => {
            let (slot, found) = scope.find(name)?;
            if let Some(declared) = declared.filter(|declared| !may_be(declared, found)) {
                return Err(error::value(format!(
                    "found `%{name}`, which is {found}, expected {}",
                    declared.python_name()
                )));
            }
            Operand::Slot(slot)
        }
        Argument::List(items) => {
            let element = match declared.map(Type::without_optional) {
                Some(Type::List(element)) => Some(&**element),
                _ => None,
            };
            let items: Vec<_> =
                items.iter().map(|item| operand(item, element, scope, depth + 1)).collect::<Result<_>>()?;
            let constants = items
                .iter()
                .map(|item| if let Operand::Constant(value) = item { Some(value.clone()) } else { None });
            match constants.collect::<Option<Vec<_>>>() {
                Some(constants) => Operand::Constant(list(element, constants)?),
                None => Operand::List(element.cloned().unwrap_or(Type::Any), items),
            }
        }
        Argument::Block(name, _) => {
            return Err(error::value(format!(
                "found the block `{name}`, expected a value; blocks go to higher-order operators only"
            )));
        }
        argument => Operand::Constant(argument.constant().unwrap_or_default()),
    })
}

/// A list of values with elements of a type; where they are others, of any type, for the binder to convert or to refuse.
pub(crate) fn list(element: Option<&Type>, values: Vec<Value>) -> Result<Value> {
    use opgrid_core::List;
    let typed = element.map(|element| List::from_values(element.without_symint(), values.clone()));
    match typed {
        Some(Ok(list)) => Ok(Value::from(list)),
        _ if values.iter().all(|value| matches!(value, Value::Int(_))) => {
            List::from_values(Type::Int, values).map(Value::from)
        }
        _ => Ok(Value::from(List::Values(Type::Any, values.into()))),
    }
}

/// Whether a value of that kind may stand where the schema wants `declared`.
fn may_be(declared: &Type, found: &ValueType) -> bool {
    let is_number = !matches!(found, ValueType::Tensor(_));
    match declared.without_optional() {
        // A number stands for a tensor, an integer for a list of some length, a truth value for a number.
        Type::Tensor | Type::Any | Type::Var(_) => true,
        Type::Int | Type::SymInt => is_number && *found != ValueType::Float,
        Type::Float | Type::Complex | Type::Scalar | Type::Bool | Type::SymBool => is_number,
        Type::List(_) => matches!(found, ValueType::Int(_) | ValueType::Unknown),
        _ => *found == ValueType::Unknown,
    }
}
