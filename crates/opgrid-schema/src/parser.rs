//! Reads schema text by recursive descent, with one token of look-ahead.
//!
//! ```text
//! declaration := name [ '(' arguments ')' '->' returns ]
//! argument    := '*' | '...' | type [ '[' N ']' [alias] ['?'] ] name [ '=' default ]
//! type        := core { '[' ']' [alias] | '?' }
//! alias       := '(' sets [ '!' ] [ '->' sets ] ')' | '!'
//! ```
//!
//! Each byte is looked at a bounded number of times and the nesting of types is limited, so that a hostile text
//! costs linear time and constant stack.

use std::collections::HashSet;

use crate::alias::WILDCARD;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::types::unite;
use crate::{AliasInfo, Argument, Declaration, FunctionSchema, OperatorName, ParseError, ParseErrorKind};
use crate::{ParseOptions, Type};

/// Levels that a type may be nested.
const MAX_DEPTH: usize = 64;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

pub(crate) fn parse_declaration(text: &str, options: &ParseOptions<'_>) -> Result<Declaration> {
    let mut parser = Parser::new(text, options);
    let declaration = parser.declaration()?;
    parser.end()?;
    Ok(declaration)
}

pub(crate) fn parse_schema(text: &str, options: &ParseOptions<'_>) -> Result<FunctionSchema> {
    match parse_declaration(text, options)? {
        Declaration::Schema(schema) => Ok(schema),
        Declaration::Name(_) => {
            let message = "Tried to parse a function schema but only the operator name was given";
            let end = text.trim_end().len();
            Err(ParseError::new(ParseErrorKind::WrongDeclaration, text, end..end, message.to_owned()))
        }
    }
}

pub(crate) fn parse_name(text: &str) -> Result<OperatorName> {
    let options = ParseOptions::default();
    let mut parser = Parser::new(text, &options);
    let name = parser.name()?;
    parser.end()?;
    Ok(name)
}

pub(crate) fn parse_type(text: &str, options: &ParseOptions<'_>) -> Result<Type> {
    let mut parser = Parser::new(text, options);
    let start = parser.current.start;
    let annotated = parser.annotated_type(0)?;
    if annotated.alias.is_some() {
        let message = "expected a type without alias annotations".to_owned();
        let span = start..parser.current.start;
        return Err(ParseError::new(ParseErrorKind::WrongDeclaration, text, span, message));
    }
    parser.end()?;
    Ok(annotated.real_type)
}

/// A type, its annotation and how deep it is nested.
struct Annotated {
    real_type: Type,
    alias: Option<AliasInfo>,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Argument { kwarg_only: bool },
    Return,
}

/// One element of an argument or return list.
enum Element {
    KeywordOnly,
    Dots,
    Value(Argument),
}

pub(crate) struct Parser<'s, 'o> {
    text: &'s str,
    lexer: Lexer<'s>,
    pub(crate) current: Token,
    options: &'o ParseOptions<'o>,
    /// How many sets `!` without a name has made.
    fresh_sets: usize,
}

impl<'s, 'o> Parser<'s, 'o> {
    fn new(text: &'s str, options: &'o ParseOptions<'o>) -> Self {
        let mut lexer = Lexer::new(text);
        let mut current = lexer.next();
        while current.kind == TokenKind::Newline {
            current = lexer.next();
        }
        Parser { text, lexer, current, options, fresh_sets: 0 }
    }

    pub(crate) fn text_of(&self, token: Token) -> &'s str {
        &self.text[token.start..token.end]
    }

    pub(crate) fn advance(&mut self) -> Token {
        std::mem::replace(&mut self.current, self.lexer.next())
    }

    pub(crate) fn at(&self, byte: u8) -> bool {
        self.current.is(byte)
    }

    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.at(byte);
        if found {
            self.advance();
        }
        found
    }

    fn eat_kind(&mut self, kind: TokenKind) -> bool {
        let found = self.current.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn unexpected(&self, expected: &str) -> ParseError {
        let found = self.current.kind.name().unwrap_or_else(|| self.text_of(self.current));
        let expected = if self.current.kind.is_token() { expected } else { "a valid token" };
        ParseError::unexpected(self.text, self.current.start..self.current.end, expected, found)
    }

    pub(crate) fn error(&self, kind: ParseErrorKind, token: Token, message: impl Into<String>) -> ParseError {
        ParseError::new(kind, self.text, token.start..token.end, message.into())
    }

    pub(crate) fn expect(&mut self, byte: u8) -> Result<Token> {
        match self.at(byte) {
            true => Ok(self.advance()),
            false => Err(self.unexpected(char::from(byte).encode_utf8(&mut [0; 4]))),
        }
    }

    pub(crate) fn expect_kind(&mut self, kind: TokenKind) -> Result<Token> {
        match self.current.kind == kind {
            true => Ok(self.advance()),
            false => Err(self.unexpected(kind.name().unwrap_or_default())),
        }
    }

    fn identifier(&mut self) -> Result<&'s str> {
        self.expect_kind(TokenKind::Identifier).map(|token| self.text_of(token))
    }

    /// Reads what may follow a declaration: blank lines.
    fn end(&mut self) -> Result<()> {
        while self.current.kind == TokenKind::Newline {
            self.advance();
        }
        self.expect_kind(TokenKind::End).map(|_| ())
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let name = self.name()?;
        if !self.at(b'(') {
            return Ok(Declaration::Name(name));
        }
        let (arguments, is_vararg) = self.arguments()?;
        let arrow = self.expect_kind(TokenKind::Arrow)?;
        if is_vararg && arguments.iter().any(|argument| argument.default.is_some()) {
            let message = "schemas with vararg (...) can't have default value args";
            return Err(self.error(ParseErrorKind::InvalidArguments, arrow, message));
        }
        let (returns, is_varret) = self.returns()?;
        let schema = FunctionSchema { name, arguments, returns, is_vararg, is_varret, alias_analysis: None };
        self.check_defaults_last(&schema)?;
        if self.options.strict {
            self.check_names(&schema.arguments, "argument")?;
            self.check_names(&schema.returns, "return")?;
        }
        Ok(Declaration::Schema(schema))
    }

    fn name(&mut self) -> Result<OperatorName> {
        let mut name = self.identifier()?.to_owned();
        if self.eat(b':') {
            self.expect(b':')?;
            name.push_str("::");
            name.push_str(self.identifier()?);
        }
        let mut overload = String::new();
        if self.eat(b'.') {
            let token = self.current;
            overload.push_str(self.identifier()?);
            if overload == "default" || overload.starts_with("__") {
                let message = format!("{overload} is not a legal overload name for aten operators");
                return Err(self.error(ParseErrorKind::IllegalOverloadName, token, message));
            }
        }
        Ok(OperatorName { name, overload })
    }

    fn arguments(&mut self) -> Result<(Vec<Argument>, bool)> {
        let (mut kwarg_only, mut is_vararg, mut arguments) = (false, false, Vec::new());
        self.list(|parser| {
            if is_vararg {
                return Err(parser.misplaced_dots("argument"));
            }
            match parser.element(Role::Argument { kwarg_only })? {
                Element::KeywordOnly => kwarg_only = true,
                Element::Dots => is_vararg = true,
                Element::Value(argument) => arguments.push(argument),
            }
            Ok(())
        })?;
        Ok((arguments, is_vararg))
    }

    fn returns(&mut self) -> Result<(Vec<Argument>, bool)> {
        if self.eat_kind(TokenKind::Dots) {
            return Ok((Vec::new(), true));
        }
        if !self.at(b'(') {
            return Ok((vec![self.argument(Role::Return)?], false));
        }
        let (mut is_varret, mut returns) = (false, Vec::new());
        self.list(|parser| {
            if is_varret {
                return Err(parser.misplaced_dots("return"));
            }
            match parser.element(Role::Return)? {
                Element::Value(value) => returns.push(value),
                _ => is_varret = true,
            }
            Ok(())
        })?;
        Ok((returns, is_varret))
    }

    fn misplaced_dots(&self, list: &str) -> ParseError {
        let message = format!("... must be the last element of the {list} list");
        self.error(ParseErrorKind::MisplacedDots, self.current, message)
    }

    /// Reads `( item, item )`, possibly empty.
    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'(')?;
        if !self.at(b')') {
            item(self)?;
            while self.eat(b',') {
                item(self)?;
            }
        }
        self.expect(b')').map(|_| ())
    }

    fn element(&mut self, role: Role) -> Result<Element> {
        if self.eat_kind(TokenKind::Dots) {
            return Ok(Element::Dots);
        }
        if role != Role::Return && self.eat(b'*') {
            return Ok(Element::KeywordOnly);
        }
        self.argument(role).map(Element::Value)
    }

    fn argument(&mut self, role: Role) -> Result<Argument> {
        let mut annotated = self.annotated_type(0)?;
        let size = if self.at(b'[') { Some(self.size(&mut annotated)?) } else { None };
        let Role::Argument { kwarg_only } = role else {
            let is_named = self.current.kind == TokenKind::Identifier;
            let name = if is_named { self.identifier()? } else { "" };
            return Ok(Argument { size, alias: annotated.alias, ..Argument::new(name, annotated.real_type) });
        };
        let name = self.identifier()?;
        let mut argument =
            Argument { size, kwarg_only, alias: annotated.alias, ..Argument::new(name, annotated.real_type) };
        if self.eat(b'=') {
            let default = self.default_value(&argument.real_type, size, self.options.strict)?;
            argument.default = Some(default);
        }
        Ok(argument)
    }

    /// Reads `[N]`, which makes the type a list, with the annotation and `?` that may follow.
    fn size(&mut self, annotated: &mut Annotated) -> Result<usize> {
        self.expect(b'[')?;
        let token = self.expect_kind(TokenKind::Number)?;
        let number = self.text_of(token);
        let Some(size) = number.parse::<u32>().ok().filter(|&size| size <= i32::MAX as u32) else {
            let message = format!("the size of a list is an integer from 0 to {}, not {number}", i32::MAX);
            return Err(self.error(ParseErrorKind::InvalidSize, token, message));
        };
        self.expect(b']')?;
        self.enclose(annotated)?;
        if self.at(b'?') {
            self.optional(annotated)?;
        }
        Ok(size as usize)
    }

    fn annotated_type(&mut self, depth: usize) -> Result<Annotated> {
        let mut annotated = self.core_type(depth)?;
        loop {
            if self.at(b'[') && self.lexer.peek().is(b']') {
                self.advance();
                self.advance();
                self.enclose(&mut annotated)?;
            } else if self.at(b'?') {
                self.optional(&mut annotated)?;
            } else {
                return Ok(annotated);
            }
        }
    }

    /// Gives the number of levels back if a type may have so many.
    fn checked_depth(&self, depth: usize) -> Result<usize> {
        if depth <= MAX_DEPTH {
            return Ok(depth);
        }
        let message =
            format!("this type is nested more than {MAX_DEPTH} levels deep; write a flatter type or a class");
        Err(self.error(ParseErrorKind::TooDeep, self.current, message))
    }

    fn wrap(&self, annotated: &mut Annotated, wrapper: fn(Box<Type>) -> Type) -> Result<()> {
        annotated.depth = self.checked_depth(annotated.depth + 1)?;
        let inner = std::mem::replace(&mut annotated.real_type, Type::None);
        annotated.real_type = wrapper(Box::new(inner));
        Ok(())
    }

    /// Makes the type a list after its closing bracket.
    fn enclose(&mut self, annotated: &mut Annotated) -> Result<()> {
        let list_alias = self.alias()?;
        annotated.alias = AliasInfo::enclose(annotated.alias.take(), list_alias);
        self.wrap(annotated, Type::List)
    }

    /// Makes the type optional at a `?`; a second `?` changes nothing.
    fn optional(&mut self, annotated: &mut Annotated) -> Result<()> {
        let mark = self.expect(b'?')?;
        match annotated.real_type {
            Type::Optional(_) => Ok(()),
            Type::None => {
                let message = "NoneType cannot be optional, it has no other value than None";
                Err(self.error(ParseErrorKind::UnknownType, mark, message))
            }
            _ => self.wrap(annotated, Type::Optional),
        }
    }

    fn core_type(&mut self, depth: usize) -> Result<Annotated> {
        self.checked_depth(depth)?;
        let token = self.current;
        match token.kind {
            TokenKind::Punctuation(b'(') => {
                let mut depths = 0;
                let parts = self.parts(depth, &mut depths)?;
                let depth = self.checked_depth(depths + 1)?;
                Ok(Annotated { real_type: Type::Tuple(parts), alias: None, depth })
            }
            TokenKind::None | TokenKind::NoneType => {
                self.advance();
                Ok(Annotated { real_type: Type::None, alias: self.alias()?, depth: 0 })
            }
            _ => {
                let word = self.identifier()?;
                if self.at(b'.') && word != "__torch__" {
                    return self.dotted_type(word, token);
                }
                self.named_type(word, token, depth)
            }
        }
    }

    /// Reads the rest of a type variable whose name has dots.
    fn dotted_type(&mut self, first: &str, token: Token) -> Result<Annotated> {
        let mut name = first.to_owned();
        while self.eat(b'.') {
            name.push('.');
            name.push_str(self.identifier()?);
        }
        match self.is_variable(&name) {
            true => Ok(Annotated { real_type: Type::Var(name), alias: self.alias()?, depth: 0 }),
            false => Err(self.unknown_type(token)),
        }
    }

    fn is_variable(&self, word: &str) -> bool {
        self.options.allow_type_variables && word.starts_with(|first: char| first.is_ascii_lowercase())
    }

    fn unknown_type(&self, token: Token) -> ParseError {
        let message = "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, \
                       bool, Scalar; for all of them, see the documentation of opgrid_schema::Type";
        self.error(ParseErrorKind::UnknownType, token, message)
    }

    /// Reads the rest of a type that begins with a word.
    fn named_type(&mut self, word: &str, token: Token, depth: usize) -> Result<Annotated> {
        if let Some(real_type) = Type::from_word(word) {
            return Ok(Annotated { real_type, alias: self.alias()?, depth: 0 });
        }
        let mut depths = 0;
        let (real_type, alias) = match word {
            "Future" => (Type::Future(self.single_part(depth, &mut depths)?), None),
            "Await" => (Type::Await(self.single_part(depth, &mut depths)?), None),
            "RRef" => (Type::RRef(self.single_part(depth, &mut depths)?), None),
            "Dict" => (self.dictionary(depth, &mut depths)?, self.alias()?),
            "Union" => (self.union(token, depth, &mut depths)?, self.alias()?),
            "__torch__" => (self.custom_class()?, None),
            _ if self.is_variable(word) => (Type::Var(word.to_owned()), self.alias()?),
            _ => return Err(self.unknown_type(token)),
        };
        Ok(Annotated { real_type, alias, depth: self.checked_depth(depths + 1)? })
    }

    /// Reads one type inside another one, where enumerations and `SymInt` count as `int` and annotations are
    /// read but not kept.
    fn part(&mut self, depth: usize, depths: &mut usize) -> Result<Type> {
        let part = self.annotated_type(depth + 1)?;
        *depths = (*depths).max(part.depth);
        Ok(part.real_type.fake())
    }

    fn parts(&mut self, depth: usize, depths: &mut usize) -> Result<Vec<Type>> {
        let mut parts = Vec::new();
        self.list(|parser| {
            parts.push(parser.part(depth, depths)?);
            Ok(())
        })?;
        Ok(parts)
    }

    fn single_part(&mut self, depth: usize, depths: &mut usize) -> Result<Box<Type>> {
        self.expect(b'(')?;
        let inner = self.part(depth, depths)?;
        self.expect(b')')?;
        Ok(Box::new(inner))
    }

    fn dictionary(&mut self, depth: usize, depths: &mut usize) -> Result<Type> {
        self.expect(b'(')?;
        let token = self.current;
        let key = self.part(depth, depths)?;
        self.expect(b',')?;
        let value = self.part(depth, depths)?;
        self.expect(b')')?;
        let is_hashable = matches!(
            key,
            Type::Any
                | Type::Int
                | Type::Bool
                | Type::Float
                | Type::Complex
                | Type::Tensor
                | Type::Device
                | Type::Str
        );
        if !is_hashable {
            let message = format!(
                "Cannot create dict for key type '{key}', only int, float, complex, Tensor, device and string \
                 keys are supported"
            );
            return Err(self.error(ParseErrorKind::UnknownType, token, message));
        }
        Ok(Type::Dict(Box::new(key), Box::new(value)))
    }

    fn union(&mut self, token: Token, depth: usize, depths: &mut usize) -> Result<Type> {
        if self.at(b'(') && self.lexer.peek().is(b')') {
            self.advance();
            return Err(self.unexpected("ident"));
        }
        let members = self.parts(depth, depths)?;
        unite(members).map_err(|message| self.error(ParseErrorKind::UnknownType, token, message))
    }

    /// Reads `.torch.classes.ns.Name` after `__torch__`.
    fn custom_class(&mut self) -> Result<Type> {
        for component in ["torch", "classes"] {
            self.expect(b'.')?;
            let token = self.current;
            let word = self.identifier()?;
            if word != component {
                let message = format!("Expected classes namespace but got {word}");
                return Err(self.error(ParseErrorKind::UnknownClass, token, message));
            }
        }
        self.expect(b'.')?;
        let namespace = self.identifier()?;
        self.expect(b'.')?;
        let token = self.current;
        let class = self.identifier()?;
        let qualified = format!("{namespace}.{class}");
        if self.options.custom_class.is_some_and(|is_registered| !is_registered(&qualified)) {
            let message = format!("Unknown custom class type {qualified}. Please ensure it is registered.");
            return Err(self.error(ParseErrorKind::UnknownClass, token, message));
        }
        Ok(Type::Class(format!("__torch__.torch.classes.{qualified}")))
    }

    fn alias(&mut self) -> Result<Option<AliasInfo>> {
        if self.eat(b'!') {
            let set = format!("${}", self.fresh_sets);
            self.fresh_sets += 1;
            return Ok(Some(AliasInfo { is_write: true, before: vec![set], ..AliasInfo::default() }));
        }
        if !self.eat(b'(') {
            return Ok(None);
        }
        let before = self.alias_sets()?;
        let is_write = self.eat(b'!');
        let after = match self.eat_kind(TokenKind::Arrow) {
            true => self.alias_sets()?,
            false => before.clone(),
        };
        self.expect(b')')?;
        Ok(Some(AliasInfo { is_write, before, after, contained: Vec::new() }))
    }

    /// Reads set names separated by `|`; the wildcard covers everything, so no name may follow it.
    fn alias_sets(&mut self) -> Result<Vec<String>> {
        let mut sets: Vec<String> = Vec::with_capacity(1);
        let mut has_wildcard = false;
        loop {
            if self.eat(b'*') {
                has_wildcard = true;
                sets.push(WILDCARD.to_owned());
            } else if has_wildcard {
                return Err(self.unexpected(")"));
            } else {
                sets.push(self.identifier()?.to_owned());
            }
            if !self.eat(b'|') {
                return Ok(without_repetition(sets));
            }
        }
    }

    /// Checks that no positional argument without default follows one with a default; plain lists may.
    fn check_defaults_last(&self, schema: &FunctionSchema) -> Result<()> {
        let mut positional = schema.arguments.iter().skip_while(|argument| argument.default.is_none());
        let is_wrong = |argument: &&Argument| {
            argument.default.is_none() && !argument.kwarg_only && !matches!(argument.real_type, Type::List(_))
        };
        match positional.find(is_wrong) {
            None => Ok(()),
            Some(argument) => {
                let message = format!(
                    "Non-default positional argument follows default argument. Parameter {} in {schema}",
                    argument.name
                );
                Err(self.error(ParseErrorKind::InvalidArguments, self.current, message))
            }
        }
    }

    fn check_names(&self, values: &[Argument], what: &str) -> Result<()> {
        let mut names: Vec<_> =
            values.iter().map(|value| value.name.as_str()).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => {
                let message = format!("two {what}s are named `{}`; names must differ", pair[0]);
                Err(self.error(ParseErrorKind::InvalidArguments, self.current, message))
            }
        }
    }
}

/// Keeps each set once, in the order written.
fn without_repetition(mut sets: Vec<String>) -> Vec<String> {
    if sets.len() > 1 {
        let mut seen = HashSet::new();
        let keep: Vec<_> = sets.iter().map(|set| seen.insert(set.as_str())).collect();
        let mut keep = keep.into_iter();
        sets.retain(|_| keep.next().unwrap_or(true));
    }
    sets
}
