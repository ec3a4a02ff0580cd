//! Blocks that write what they are given: their new values are results of the block, and are written where it stands.

use opgrid_core::{Result, Value};

use super::{Functionalizer, Origin, Place, Step};
use crate::error;
use crate::graph::types::ValueType;
use crate::graph::{Argument, Block, Node, Outcome, Variable};
use crate::meta::{Meta, shares_memory};
use crate::program::target::HigherOrder;

/// A block without writes.
struct Pure {
    block: Block,
    /// Which parameters it wrote, with the names of their new values.
    written: Vec<(usize, String)>,
    /// What the results are to the parameters.
    results: Vec<Given>,
    /// The values of the results in the program as it is.
    originals: Vec<Option<Value>>,
    /// The values of the block.
    pure: Meta,
    /// Whether it wrote anything, of its own too.
    has_writes: bool,
}

/// What a result of a block is to its parameters.
#[derive(Clone, Copy, PartialEq)]
enum Given {
    /// A value of its own.
    Own,
    /// The parameter itself.
    Parameter(usize),
    /// Something in the memory of the parameter.
    Shared(usize),
}

impl Functionalizer {
    /// A node that runs blocks.
    pub(super) fn higher(&mut self, higher: HigherOrder, node: Node) -> Result<()> {
        let operands: Vec<Argument> = match (higher, node.positional.as_slice()) {
            (HigherOrder::Cond, [_, _, _, Argument::List(operands)]) => operands.clone(),
            (HigherOrder::WhileLoop, [_, _, Argument::List(carried), Argument::List(constant)]) => {
                carried.iter().chain(constant).cloned().collect()
            }
            (
                HigherOrder::Scan,
                [_, Argument::List(carried), Argument::List(scanned), Argument::List(constant)],
            ) => carried.iter().chain(&rows(scanned)).chain(constant).cloned().collect(),
            (HigherOrder::Map, [_, Argument::List(mapped), Argument::List(constant)]) => {
                rows(mapped).iter().chain(constant).cloned().collect()
            }
            (_, arguments) => {
                let behind = arguments.iter().position(|argument| argument.as_block().is_some());
                arguments.iter().skip(behind.map_or(arguments.len(), |place| place + 1)).cloned().collect()
            }
        };
        let mut blocks = Vec::new();
        for argument in &node.positional {
            if let Argument::Block(_, block) = argument {
                blocks.push(self.block(block, &operands)?);
            }
        }
        let mut written: Vec<usize> =
            blocks.iter().flat_map(|block| block.written.iter().map(|(place, _)| *place)).collect();
        written.sort_unstable();
        written.dedup();
        let carried = match (higher, node.positional.as_slice()) {
            (HigherOrder::WhileLoop, [_, _, Argument::List(carried), ..])
            | (HigherOrder::Scan, [_, Argument::List(carried), ..]) => carried.len(),
            _ => 0,
        };
        let is_loop = matches!(higher, HigherOrder::WhileLoop | HigherOrder::Map | HigherOrder::Scan);
        if let (true, Some(place)) = (is_loop, written.first()) {
            return Err(error::unsupported(format!(
                "{}: its blocks write the value {place} that they are given, expected blocks that give new values",
                node.target
            )));
        }
        // What a call gives under autocast is not known here.
        let is_cast = higher == HigherOrder::Autocast;
        if is_cast && blocks.iter().any(|block| block.has_writes) {
            return Err(error::unsupported(format!(
                "{}: its block writes, expected one that gives new values; autocast outside of the block, or decompose the program first",
                node.target
            )));
        }
        let entries = self.operands(&operands, &written)?;
        // Every block gives what any of them wrote.
        for block in &mut blocks {
            for place in &written {
                let new =
                    block.written.iter().find(|(other, _)| other == place).map(|(_, name)| name.clone());
                let value = new.unwrap_or_else(|| block.block.parameters[*place].name.clone());
                block.block.results.push(Argument::Value(value));
            }
        }
        let mut pure = node.clone();
        let mut new = blocks.iter().filter(|_| !is_cast).map(|block| block.block.clone());
        for argument in pure.arguments_mut() {
            match argument {
                Argument::Block(_, block) => {
                    if let Some(new) = new.next() {
                        **block = new;
                    }
                }
                argument => self.rewrite(argument)?,
            }
        }
        let mut variables = Vec::with_capacity(entries.len());
        for entry in &entries {
            let (wanted, kind) = (self.entries[*entry].name.clone(), self.entries[*entry].kind.clone());
            variables.push(Variable { name: self.unique(&wanted), kind });
        }
        // Blocks give their results one by one, also where they stand in a list.
        pure.results.extend(variables.iter().cloned().map(Outcome::One));
        self.original.run(&node);
        self.push(pure.clone());
        if let ([only], false) = (blocks.as_slice(), is_loop || is_cast) {
            self.bind_results(&node, &pure, only);
        }
        let named = node.results.iter().flat_map(|outcome| match outcome {
            Outcome::Unused => vec![None],
            outcome => outcome.variables().iter().map(Some).collect(),
        });
        let mut given_by_block = Vec::new();
        for (index, variable) in named.enumerate() {
            let Some(variable) = variable else { continue };
            let is_tensor = matches!(variable.kind, ValueType::Tensor(_))
                || self.original.tensor(&variable.name).is_some();
            if !is_tensor {
                continue;
            }
            let given: Vec<Given> =
                blocks.iter().filter_map(|block| block.results.get(index).copied()).collect();
            let origin = match given.as_slice() {
                _ if is_loop && index < carried => self.of_loop(&operands, index),
                _ if is_loop => Origin::Own,
                [first, rest @ ..] if rest.iter().all(|other| other == first) => {
                    self.origin(*first, &operands)
                }
                several => {
                    let shared = several.iter().find(|given| **given != Given::Own).copied();
                    match shared {
                        Some(Given::Parameter(place) | Given::Shared(place)) => {
                            self.origin(Given::Shared(place), &operands)
                        }
                        _ => Origin::Own,
                    }
                }
            };
            given_by_block.push(self.define(variable, origin));
        }
        for (entry, variable) in entries.into_iter().zip(variables) {
            let before = self.current(entry)?;
            let value = self.as_before(entry, &before, variable.name);
            self.write(entry, value)?;
        }
        // What the block gives it gave after it wrote.
        for entry in given_by_block {
            if let Origin::Shared { of } = self.entries[entry].origin {
                self.entries[entry].version = self.version(of);
            }
        }
        Ok(())
    }

    /// The entries of the operands that are written. Nothing else that is given shares their memory.
    fn operands(&self, operands: &[Argument], written: &[usize]) -> Result<Vec<usize>> {
        let entry = |argument: &Argument| match argument {
            Argument::Value(name) => self.known.get(name.as_str()).copied(),
            _ => None,
        };
        let mut entries = Vec::with_capacity(written.len());
        for place in written {
            let own = operands.get(*place).and_then(entry).ok_or_else(|| {
                error::value(format!(
                    "a block writes the value {place} that it is given, expected a tensor for it"
                ))
            })?;
            let others = operands.iter().enumerate().filter(|(other, _)| other != place);
            let is_shared = |other: usize| self.root(other) == self.root(own);
            if others.filter_map(|(_, other)| entry(other)).any(is_shared) {
                return Err(error::unsupported(format!(
                    "a block writes the value {place} that it is given, whose memory is that of another one that it is given; expected \
                     it once"
                )));
            }
            entries.push(own);
        }
        Ok(entries)
    }

    /// What a result of a block is where the block stands.
    fn origin(&self, given: Given, operands: &[Argument]) -> Origin {
        let entry = |place: usize| match operands.get(place) {
            Some(Argument::Value(name)) => self.known.get(name.as_str()).copied(),
            _ => None,
        };
        match given {
            Given::Own => Origin::Own,
            Given::Parameter(place) => entry(place).map_or(Origin::Own, |of| {
                let place = Place { name: None, index: 0, item: None };
                let step = Step { node: Node::default(), place, result: (0, None), is_whole: true };
                Origin::View { of, step: Box::new(step) }
            }),
            Given::Shared(place) => entry(place).map_or(Origin::Own, |of| Origin::Shared { of }),
        }
    }

    /// What a loop carries may be what it is given, where it does not run once.
    fn of_loop(&self, operands: &[Argument], index: usize) -> Origin {
        match operands.get(index) {
            Some(Argument::Value(name)) => {
                self.known.get(name.as_str()).map_or(Origin::Own, |of| Origin::Shared { of: *of })
            }
            _ => Origin::Own,
        }
    }

    /// Gives the results of the only block of a node their values.
    fn bind_results(&mut self, node: &Node, pure: &Node, block: &Pure) {
        let names = |node: &Node| -> Vec<Option<String>> {
            let each = node.results.iter().flat_map(|outcome| match outcome {
                Outcome::Unused => vec![None],
                outcome => outcome.variables().iter().map(|variable| Some(variable.name.clone())).collect(),
            });
            each.collect()
        };
        for (name, result) in names(node).into_iter().zip(&block.originals) {
            if let (Some(name), Some(value)) = (name, result) {
                self.original.bind(&name, value.clone());
            }
        }
        for (name, result) in names(pure).into_iter().zip(&block.block.results) {
            if let (Some(name), Some(value)) = (name, block.pure.value(result)) {
                self.pure.bind(&name, value);
            }
        }
    }

    /// A block without writes, for these operands.
    fn block(&self, block: &Block, operands: &[Argument]) -> Result<Pure> {
        let (mut original, mut pure) = (self.original.within(), self.pure.within());
        for (parameter, operand) in block.parameters.iter().zip(operands) {
            for (inner, outer) in [(&mut original, &self.original), (&mut pure, &self.pure)] {
                match outer.value(operand) {
                    Some(value) => inner.bind(&parameter.name, value),
                    None => inner.declare(parameter),
                }
            }
        }
        let mut pass = Self::new(&self.dispatcher, original, block)?;
        pass.pure = pure;
        for node in &block.nodes {
            pass.node(node.clone())?;
        }
        let results = block.results.iter().map(|result| pass.given(result, block)).collect();
        let mut new =
            Block { parameters: block.parameters.clone(), nodes: Vec::new(), results: block.results.clone() };
        for result in &mut new.results {
            pass.rewrite(result)?;
        }
        let written = pass.written_parameters();
        new.nodes = std::mem::take(&mut pass.nodes);
        let originals = block.results.iter().map(|result| pass.original.value(result)).collect();
        let has_writes = pass.entries.iter().any(|entry| entry.version > 0);
        Ok(Pure { block: new, written, results, originals, pure: pass.pure, has_writes })
    }

    /// What a result is to the parameters of the block.
    fn given(&self, result: &Argument, block: &Block) -> Given {
        let Argument::Value(name) = result else { return Given::Own };
        let Some(entry) = self.known.get(name.as_str()).copied() else { return Given::Own };
        let parameter = |entry: usize| self.parameters.iter().position(|other| *other == Some(entry));
        let mut at = entry;
        loop {
            match &self.entries[at].origin {
                Origin::View { of, step } if step.is_whole => at = *of,
                _ => break,
            }
        }
        if let Some(place) = parameter(at) {
            return Given::Parameter(place);
        }
        if let Some(place) = parameter(self.root(entry)) {
            return Given::Shared(place);
        }
        // Two parameters may have one memory.
        let own = self.original.tensor(name);
        let shared = block.parameters.iter().position(|parameter| {
            self.original.tensor(&parameter.name).zip(own).is_some_and(|(a, b)| shares_memory(a, b))
        });
        shared.map_or(Given::Own, Given::Shared)
    }
}

/// What a block is given of tensors row by row: values that nobody has.
fn rows(tensors: &[Argument]) -> Vec<Argument> {
    vec![Argument::Value(String::new()); tensors.len()]
}
