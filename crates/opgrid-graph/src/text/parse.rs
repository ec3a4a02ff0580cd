//! Graphs from text: what [`print`](super::print) writes, and what people write in the same grammar.

use std::str::FromStr;

use opgrid_core::{Complex64, DType, Device, Error, Layout, MemoryFormat, Result, Scalar};

use super::cursor::Cursor;
use super::print::is_target_byte;
use crate::graph::expression::Expression;
use crate::graph::tree::Tree;
use crate::graph::types::{Range, Size, TensorType, ValueType};
use crate::graph::{Argument, Block, Graph, InputKind, Node, Outcome, OutputKind, Source, Variable};

/// How deep anything may be nested.
const DEEPEST: usize = 128;

impl FromStr for Graph {
    type Err = Error;

    /// Reads the text form, whose grammar stands in the documentation of the [crate](crate).
    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { cursor: Cursor::new(text), depth: 0 };
        let graph = parser.graph()?;
        if parser.cursor.rest().is_empty() {
            Ok(graph)
        } else {
            Err(parser.cursor.unexpected("the end of the graph"))
        }
    }
}

/// Reads a type, as in `float32[2, n]`.
pub(crate) fn parse_type(text: &str) -> Result<ValueType> {
    whole(text, |parser| parser.value_type())
}

/// Reads how values are nested, as in `((*,), {})`.
pub(crate) fn parse_tree(text: &str) -> Result<Tree> {
    whole(text, |parser| parser.tree())
}

/// Reads all of a text.
fn whole<X>(text: &str, read: fn(&mut Parser<'_>) -> Result<X>) -> Result<X> {
    let mut parser = Parser { cursor: Cursor::new(text), depth: 0 };
    let value = read(&mut parser)?;
    if parser.cursor.rest().is_empty() { Ok(value) } else { Err(parser.cursor.unexpected("the end")) }
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    depth: usize,
}

impl Parser<'_> {
    fn graph(&mut self) -> Result<Graph> {
        let mut graph = Graph::default();
        self.word("graph")?;
        self.cursor.expect("(")?;
        for (variable, kind) in self.separated(")", |parser| {
            let variable = parser.variable()?;
            parser.cursor.expect("=")?;
            Ok((variable, parser.input_kind()?))
        })? {
            graph.block.parameters.push(variable);
            graph.inputs.push(kind);
        }
        if self.cursor.takes_word("where") {
            loop {
                let symbol = self.cursor.identifier("the name of a size")?.to_owned();
                self.word("in")?;
                let range = self.range()?;
                graph.symbols.insert(symbol, range);
                if !self.cursor.takes(",") {
                    break;
                }
            }
        }
        if self.cursor.takes_word("takes") {
            graph.input_tree = self.tree()?;
        }
        if self.cursor.takes_word("gives") {
            graph.output_tree = self.tree()?;
        }
        self.cursor.expect("{")?;
        graph.block.nodes = self.nodes()?;
        if !self.cursor.takes("}") {
            loop {
                graph.outputs.push(self.output_kind()?);
                graph.block.results.push(self.argument()?);
                if !self.cursor.takes(",") {
                    break;
                }
            }
            self.cursor.expect("}")?;
        }
        Ok(graph)
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.cursor.takes_word(word) { Ok(()) } else { Err(self.cursor.unexpected(&format!("`{word}`"))) }
    }

    /// Runs `body` one level deeper.
    fn nested<X>(&mut self, body: impl FnOnce(&mut Self) -> Result<X>) -> Result<X> {
        if self.depth == DEEPEST {
            return Err(self.cursor.unexpected(&format!("at most {DEEPEST} levels of nesting")));
        }
        self.depth += 1;
        let result = body(self);
        self.depth -= 1;
        result
    }

    /// Things with commas between them, up to the sign that ends them; a comma may stand before it.
    fn separated<X>(&mut self, end: &str, mut one: impl FnMut(&mut Self) -> Result<X>) -> Result<Vec<X>> {
        self.nested(|parser| {
            let mut all = Vec::new();
            while !parser.cursor.takes(end) {
                all.push(one(parser)?);
                if !parser.cursor.takes(",") {
                    parser.cursor.expect(end)?;
                    break;
                }
            }
            Ok(all)
        })
    }

    fn variable(&mut self) -> Result<Variable> {
        self.cursor.expect("%")?;
        let name = self.cursor.name("the name of a value")?;
        self.cursor.expect(":")?;
        Ok(Variable { name, kind: self.value_type()? })
    }

    fn value_type(&mut self) -> Result<ValueType> {
        let expected = "a type: a dtype with sizes such as float32[2, n], int, float, bool or any";
        let name = self.cursor.identifier(expected)?;
        Ok(match name {
            "int" => ValueType::Int(if self.cursor.takes("(") {
                let size = self.size()?;
                self.cursor.expect(")")?;
                Some(size)
            } else {
                None
            }),
            "float" => ValueType::Float,
            "bool" if !self.cursor.rest().starts_with('[') => ValueType::Bool,
            "any" => ValueType::Unknown,
            name => {
                let dtype = name
                    .parse::<DType>()
                    .map_err(|_| self.cursor.unexpected(&format!("{expected}, not {name}")))?;
                self.cursor.expect("[")?;
                ValueType::Tensor(TensorType { dtype, sizes: self.separated("]", Self::size)? })
            }
        })
    }

    fn size(&mut self) -> Result<Size> {
        self.sum().map(Size::from)
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut terms = vec![self.product()?];
        while self.cursor.takes("+") {
            terms.push(self.product()?);
        }
        Ok(if terms.len() == 1 { terms.remove(0) } else { Expression::Sum(terms) })
    }

    fn product(&mut self) -> Result<Expression> {
        let mut factors = vec![self.factor()?];
        while self.cursor.takes("*") {
            factors.push(self.factor()?);
        }
        Ok(if factors.len() == 1 { factors.remove(0) } else { Expression::Product(factors) })
    }

    fn factor(&mut self) -> Result<Expression> {
        if self.cursor.takes("(") {
            return self.nested(|parser| {
                let inner = parser.sum()?;
                parser.cursor.expect(")")?;
                Ok(inner)
            });
        }
        if self.cursor.rest().starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return self.integer().map(Expression::Integer);
        }
        let name = self.cursor.identifier("a size: a number, a symbol or an expression of such")?.to_owned();
        if self.cursor.takes("(") {
            return Ok(Expression::Function(name, self.separated(")", Self::sum)?));
        }
        Ok(Expression::Symbol(name))
    }

    fn integer(&mut self) -> Result<i64> {
        let sign = if self.cursor.takes("-") { "-" } else { "" };
        let digits = self.cursor.piece(|byte| byte.is_ascii_digit());
        format!("{sign}{digits}")
            .parse()
            .map_err(|_| self.cursor.unexpected("an integer of 64 bits in front of this"))
    }

    fn range(&mut self) -> Result<Range> {
        let min = if self.cursor.rest().starts_with("..") { None } else { Some(self.integer()?) };
        self.cursor.expect("..")?;
        let has_max = self.cursor.rest().starts_with(|first: char| first.is_ascii_digit() || first == '-');
        Ok(Range { min, max: if has_max { Some(self.integer()?) } else { None } })
    }

    fn input_kind(&mut self) -> Result<InputKind> {
        if self.cursor.takes_word("parameter") {
            return self.cursor.quoted("the parameter's name").map(InputKind::Parameter);
        }
        if self.cursor.takes_word("buffer") {
            let name = self.cursor.quoted("the buffer's name")?;
            return Ok(InputKind::Buffer { name, persistent: !self.cursor.takes_word("unsaved") });
        }
        if self.cursor.takes_word("constant") {
            return self.cursor.quoted("the constant's name").map(InputKind::Constant);
        }
        if self.cursor.takes_word("input") {
            return Ok(InputKind::User);
        }
        if self.cursor.takes_word("fixed") {
            return self.argument().map(InputKind::Fixed);
        }
        Err(self.cursor.unexpected("what the input is: parameter, buffer, constant, input or fixed"))
    }

    fn output_kind(&mut self) -> Result<OutputKind> {
        if self.cursor.takes_word("loss") {
            return Ok(OutputKind::Loss);
        }
        let is_gradient = self.cursor.takes_word("gradient");
        let kind: fn(String) -> OutputKind = if self.cursor.takes_word("parameter") {
            if is_gradient { OutputKind::ParameterGradient } else { OutputKind::ParameterMutation }
        } else if self.cursor.takes_word("input") {
            if is_gradient { OutputKind::InputGradient } else { OutputKind::InputMutation }
        } else if !is_gradient && self.cursor.takes_word("buffer") {
            OutputKind::BufferMutation
        } else if is_gradient {
            return Err(self.cursor.unexpected("`parameter` or `input`, to which the gradient belongs"));
        } else {
            return Ok(OutputKind::User);
        };
        let name = self.cursor.quoted("the name of what is written")?;
        self.cursor.expect("=")?;
        Ok(kind(name))
    }

    /// Nodes up to and with the word `return`.
    fn nodes(&mut self) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        while !self.cursor.takes_word("return") {
            nodes.push(self.node()?);
        }
        Ok(nodes)
    }

    fn node(&mut self) -> Result<Node> {
        let mut results = Vec::new();
        while self.cursor.rest().starts_with(['%', '[']) || self.cursor.sees_word("_") {
            results.push(if self.cursor.takes("[") {
                Outcome::List(self.separated("]", Self::variable)?)
            } else if self.cursor.takes_word("_") {
                Outcome::Unused
            } else {
                Outcome::One(self.variable()?)
            });
            if !self.cursor.takes(",") {
                self.cursor.expect("=")?;
                break;
            }
        }
        let target = if self.cursor.rest().starts_with('"') {
            self.cursor.quoted("a target")?
        } else {
            self.cursor.piece(is_target_byte).to_owned()
        };
        if target.is_empty() {
            return Err(self
                .cursor
                .unexpected("a node such as `%y: float32[2] = aten::neg(%x)`, or `return`"));
        }
        self.cursor.expect("(")?;
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for (name, value) in self.separated(")", Self::maybe_named)? {
            match name {
                Some(name) => named.push((name, value)),
                None if named.is_empty() => positional.push(value),
                None => {
                    return Err(self
                        .cursor
                        .unexpected("no argument by position behind one by name in front of this"));
                }
            }
        }
        let mut source = Source::default();
        if self.cursor.takes_word("from") {
            source.module = self.cursor.quoted("a module")?;
            source.place = self.cursor.quoted("a line")?;
        }
        Ok(Node { target, positional, named, results, source })
    }

    /// An argument, with its name if it has one: `name=value` or `"name"=value`.
    fn maybe_named(&mut self) -> Result<(Option<String>, Argument)> {
        let rest = self.cursor.rest();
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_named = rest.trim_start_matches(is_part).trim_start().starts_with('=');
        let name =
            if is_named { Some(self.cursor.identifier("the name of an argument")?.to_owned()) } else { None };
        if is_named {
            self.cursor.expect("=")?;
            return Ok((name, self.argument()?));
        }
        match self.argument()? {
            Argument::Str(name) if self.cursor.takes("=") => Ok((Some(name), self.argument()?)),
            value => Ok((None, value)),
        }
    }

    fn argument(&mut self) -> Result<Argument> {
        if self.cursor.takes("%") {
            return self.cursor.name("the name of a value").map(Argument::Value);
        }
        if self.cursor.takes("[") {
            return self.separated("]", Self::argument).map(Argument::List);
        }
        if self.cursor.rest().starts_with('"') {
            return self.cursor.quoted("a text").map(Argument::Str);
        }
        for (word, value) in [
            ("none", Argument::None),
            ("true", Argument::Number(Scalar::Bool(true))),
            ("false", Argument::Number(Scalar::Bool(false))),
        ] {
            if self.cursor.takes_word(word) {
                return Ok(value);
            }
        }
        if self.cursor.takes_word("device") {
            let name = self.cursor.quoted("the name of a device")?;
            return name.parse::<Device>().map(Argument::Device);
        }
        if self.cursor.takes_word("block") {
            return self.block();
        }
        if self.cursor.takes_word("complex") {
            self.cursor.expect("(")?;
            let re = self.number()?;
            self.cursor.expect(",")?;
            let im = self.number()?;
            self.cursor.expect(")")?;
            let (re, im) = (Scalar::to_f64(re)?, Scalar::to_f64(im)?);
            return Ok(Argument::Number(Scalar::Complex(Complex64::new(re, im))));
        }
        if self.cursor.takes("torch.") {
            let name = self.cursor.identifier("the name of a dtype, a layout or a memory format")?;
            let dtype = name.parse::<DType>().map(Argument::DType);
            let layout = || name.parse::<Layout>().map(Argument::Layout);
            let format = || name.parse::<MemoryFormat>().map(Argument::MemoryFormat);
            let found = dtype.or_else(|_| layout()).or_else(|_| format());
            return found.map_err(|_| {
                self.cursor.unexpected(&format!(
                    "a dtype, a layout or a memory format in front of this, not torch.{name}"
                ))
            });
        }
        self.number().map(Argument::Number)
    }

    fn number(&mut self) -> Result<Scalar> {
        const EXPECTED: &str =
            "a value: %name, a number, true, false, none, a text, a list, torch.name, device or block";
        let mut start = self.cursor.clone();
        let text =
            self.cursor.piece(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'));
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Scalar::Int(value));
        }
        if let Ok(value) = text.parse::<u64>() {
            return Ok(value.into());
        }
        let is_float = matches!(text, "inf" | "-inf" | "nan")
            || text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        let is_integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match text.parse::<f64>() {
            Ok(value) if is_float && !is_integer => Ok(Scalar::Float(value)),
            _ if is_integer && !text.is_empty() => Err(start.unexpected("an integer of 64 bits")),
            _ => Err(start.unexpected(EXPECTED)),
        }
    }

    fn block(&mut self) -> Result<Argument> {
        let name = self.cursor.name("the name of the block")?;
        self.nested(|parser| {
            parser.cursor.expect("(")?;
            let parameters = parser.separated(")", Self::variable)?;
            parser.cursor.expect("{")?;
            let nodes = parser.nodes()?;
            let results = parser.separated("}", Self::argument)?;
            Ok(Argument::Block(name, Box::new(Block { parameters, nodes, results })))
        })
    }

    fn tree(&mut self) -> Result<Tree> {
        if self.cursor.takes("*") {
            return Ok(Tree::Leaf);
        }
        if self.cursor.takes_word("None") {
            return Ok(Tree::None);
        }
        if self.cursor.takes("(") {
            return self.separated(")", Self::tree).map(Tree::Tuple);
        }
        if self.cursor.takes("[") {
            return self.separated("]", Self::tree).map(Tree::List);
        }
        for word in ["named", "namedtuple", "dataclass"] {
            if self.cursor.takes_word(word) {
                let name = self.cursor.quoted("the name of a type")?;
                self.cursor.expect("{")?;
                let entries = self.separated("}", Self::entry)?;
                return Ok(match word {
                    "named" => Tree::Named(name, entries),
                    "namedtuple" => Tree::NamedTuple(name, entries),
                    _ => Tree::Dataclass(name, entries),
                });
            }
        }
        if self.cursor.takes("{") {
            return self.separated("}", Self::entry).map(Tree::Dict);
        }
        Err(self
            .cursor
            .unexpected("how values are nested: *, None, (…), […], {\"name\": …} or named \"type\" {…}"))
    }

    fn entry(&mut self) -> Result<(String, Tree)> {
        let name = self.cursor.quoted("a key")?;
        self.cursor.expect(":")?;
        Ok((name, self.tree()?))
    }
}
