//! Sizes as sympy's `srepr` writes them, and the ranges of their symbols.

use std::collections::{BTreeMap, BTreeSet};

use opgrid_core::Result;
use serde_json::{Value as Json, json};

use crate::error;
use crate::graph::expression::Expression;
use crate::graph::types::{Range, Size, ValueType};
use crate::graph::{Argument, Block, Graph};

/// Functions of sizes that sympy and torch have. Other names are refused, because torch evaluates what it reads.
const FUNCTIONS: [&str; 28] = [
    "Abs",
    "Add",
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "FloatPow",
    "FloatTrueDiv",
    "FloorDiv",
    "FloorToInt",
    "Identity",
    "IntTrueDiv",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "Max",
    "Min",
    "Mod",
    "ModularIndexing",
    "Mul",
    "Pow",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "RoundDecimal",
    "RoundToInt",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Where",
];

/// The symbols of a graph.
pub(super) struct Symbols {
    ranges: BTreeMap<String, Range>,
    /// Symbols that are sizes of the caller's inputs.
    positive: BTreeSet<String>,
    used: BTreeSet<String>,
    /// The number of the next symbol that is made up.
    next: u64,
}

impl Symbols {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut positive = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        for input in graph.user_inputs() {
            match &input.kind {
                ValueType::Tensor(tensor) => {
                    tensor.sizes.iter().for_each(|size| symbols_of(size, &mut positive));
                }
                ValueType::Int(Some(size)) => symbols_of(size, &mut numbers),
                _ => {}
            }
        }
        positive.retain(|name| !numbers.contains(name));
        let mut used: BTreeSet<String> = graph.symbols.keys().cloned().collect();
        used.extend(positive.iter().chain(&numbers).cloned());
        collect(&graph.block, &mut used);
        Self { ranges: graph.symbols.clone(), positive, used, next: 0 }
    }

    /// A symbol that no size of the graph has, for an integer of which nothing is known: one that torch learns from the caller, or
    /// one that depends on data.
    pub(super) fn fresh(&mut self, is_given: bool) -> Size {
        let prefix = if is_given { 's' } else { 'u' };
        loop {
            let name = format!("{prefix}{}", self.next);
            self.next += 1;
            if self.used.insert(name.clone()) {
                return Size::Varying(Expression::Symbol(name));
            }
        }
    }

    /// `range_constraints`.
    pub(super) fn ranges(&self) -> Json {
        let entry = |(name, range): (&String, &Range)| {
            (name.clone(), json!({"min_val": range.min, "max_val": range.max}))
        };
        Json::Object(self.ranges.iter().map(entry).collect())
    }

    /// A size as the union `SymInt` of torch.export's schema.
    pub(super) fn size(&self, size: &Size) -> Result<Json> {
        Ok(match size {
            Size::Known(value) => json!({"as_int": value}),
            Size::Varying(expression) => {
                json!({"as_expr": {"expr_str": self.sympy(expression)?, "hint": null}})
            }
        })
    }

    fn sympy(&self, expression: &Expression) -> Result<String> {
        let call = |name: &str, arguments: &[Expression]| -> Result<String> {
            let arguments =
                arguments.iter().map(|argument| self.sympy(argument)).collect::<Result<Vec<_>>>()?;
            Ok(format!("{name}({})", arguments.join(", ")))
        };
        match expression {
            Expression::Integer(value) => Ok(format!("Integer({value})")),
            Expression::Symbol(name) if self.positive.contains(name) => {
                Ok(format!("Symbol('{name}', positive=True, integer=True)"))
            }
            Expression::Symbol(name) => Ok(format!("Symbol('{name}', integer=True)")),
            Expression::Sum(terms) => call("Add", terms),
            Expression::Product(factors) => call("Mul", factors),
            Expression::Function(name, arguments) if FUNCTIONS.contains(&name.as_str()) => {
                call(name, arguments)
            }
            Expression::Function(name, _) => Err(error::unsupported(format!(
                "size `{expression}`: torch has no function `{name}` of sizes, expected one of {}",
                error::quoted(FUNCTIONS)
            ))),
        }
    }

    /// The strides of a row-major tensor.
    pub(super) fn row_major(sizes: &[Size]) -> Vec<Size> {
        let (mut known, mut varying) = (1i64, Vec::new());
        let mut strides: Vec<Size> = Vec::with_capacity(sizes.len());
        for size in sizes.iter().rev() {
            strides.push(match varying.as_slice() {
                [] => Size::Known(known),
                [only] if known == 1 => Size::Varying(Expression::clone(only)),
                several => {
                    let number = (known != 1).then_some(Expression::Integer(known));
                    Size::Varying(Expression::Product(
                        number.into_iter().chain(several.iter().cloned()).collect(),
                    ))
                }
            });
            match size {
                Size::Known(value) => known = known.saturating_mul((*value).max(1)),
                Size::Varying(expression) => varying.push(expression.clone()),
            }
        }
        strides.reverse();
        strides
    }
}

fn symbols_of(size: &Size, found: &mut BTreeSet<String>) {
    let Size::Varying(expression) = size else { return };
    let mut left = vec![expression];
    while let Some(expression) = left.pop() {
        match expression {
            Expression::Integer(_) => {}
            Expression::Symbol(name) => drop(found.insert(name.clone())),
            Expression::Sum(parts) | Expression::Product(parts) | Expression::Function(_, parts) => {
                left.extend(parts)
            }
        }
    }
}

/// The symbols of all variables of a block, and of the blocks in it.
fn collect(block: &Block, found: &mut BTreeSet<String>) {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        let results = block.nodes.iter().flat_map(|node| node.variables());
        for variable in block.parameters.iter().chain(results) {
            match &variable.kind {
                ValueType::Tensor(tensor) => tensor.sizes.iter().for_each(|size| symbols_of(size, found)),
                ValueType::Int(Some(size)) => symbols_of(size, found),
                _ => {}
            }
        }
        blocks.extend(block.nodes.iter().flat_map(|node| node.arguments()).filter_map(Argument::as_block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_products_of_the_sizes_behind() {
        let size = |text: &str| match text.parse() {
            Ok(value) => Size::Known(value),
            Err(_) => Size::Varying(Expression::Symbol(text.to_owned())),
        };
        let strides = |sizes: &[&str]| {
            let sizes: Vec<_> = sizes.iter().copied().map(size).collect();
            Symbols::row_major(&sizes).iter().map(Size::to_string).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(strides(&["2", "3", "4"]), "12, 4, 1");
        assert_eq!(strides(&["a", "b", "4"]), "4*b, 4, 1");
        assert_eq!(strides(&["2", "a", "b"]), "b*a, b, 1");
        assert_eq!(strides(&["2", "0"]), "1, 1");
        assert_eq!(strides(&[]), "");
    }

    #[test]
    fn sizes_are_read_back_and_unknown_functions_refused() {
        let graph: Graph = "graph(%x: float32[s0, 2*s0 + 1] = input, %n: int(s1) = input) where s0 in 2..9 {
            %y: float32[FloorDiv(s0, 2)*s1] = aten::y(%x) return %y }"
            .parse()
            .unwrap();
        let symbols = Symbols::new(&graph);
        for variable in graph.block.parameters.iter().chain(graph.block.nodes[0].variables()) {
            let ValueType::Tensor(tensor) = &variable.kind else { continue };
            for size in &tensor.sizes {
                let Size::Varying(expression) = size else { continue };
                let text = symbols.sympy(expression).unwrap();
                assert_eq!(Expression::from_sympy(&text).unwrap(), *expression, "{text}");
            }
        }
        assert_eq!(
            symbols.sympy(&Expression::Symbol("s0".into())).unwrap(),
            "Symbol('s0', positive=True, integer=True)"
        );
        assert_eq!(symbols.sympy(&Expression::Symbol("s1".into())).unwrap(), "Symbol('s1', integer=True)");
        let error = symbols.sympy(&Expression::Function("exit".into(), Vec::new())).unwrap_err();
        assert!(error.message().contains("no function `exit`"), "{error}");
    }
}
