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

use crate::lexer::{Lexer, Token, TokenKind, is_identifier};
use crate::{Argument, Declaration, FunctionSchema, OperatorName, ParseError, ParseErrorKind};
use crate::{ParseOptions, Type};

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

impl Type {
    /// Reads a type from schema text; type variables and any well-formed custom class are accepted.
    ///
    /// # Errors
    ///
    /// When the text is not exactly one type without alias annotations.
    pub fn parse(text: &str) -> Result<Type> {
        parse_type(text, &ParseOptions::default())
    }
}

impl OperatorName {
    /// Reads `ns::name.overload`, where namespace and overload may be missing.
    ///
    /// # Errors
    ///
    /// When the text is no name, has more after it, or the overload is one that operators may not have.
    pub fn parse(text: &str) -> Result<Self> {
        parse_name(text)
    }
}

impl FunctionSchema {
    /// Reads a whole schema, with type variables and any custom class allowed.
    ///
    /// # Errors
    ///
    /// When the text is not exactly one schema.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &ParseOptions::default())
    }

    /// Reads a whole schema.
    ///
    /// # Errors
    ///
    /// When the text is not exactly one schema, or the options refuse it.
    pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Result<Self> {
        parse_schema(text, options)
    }
}

impl Declaration {
    /// Reads a name or a whole schema, with type variables and any custom class allowed.
    ///
    /// # Errors
    ///
    /// When the text is neither.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &ParseOptions::default())
    }

    /// Reads a name or a whole schema.
    ///
    /// # Errors
    ///
    /// When the text is neither, or the options refuse it.
    pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Result<Self> {
        parse_declaration(text, options)
    }
}

fn parse_declaration(text: &str, options: &ParseOptions<'_>) -> Result<Declaration> {
    let mut parser = Parser::new(text, options);
    let declaration = parser.declaration()?;
    parser.end()?;
    Ok(declaration)
}

fn parse_schema(text: &str, options: &ParseOptions<'_>) -> Result<FunctionSchema> {
    match parse_declaration(text, options)? {
        Declaration::Schema(schema) => Ok(schema),
        Declaration::Name(_) => {
            let message = "Tried to parse a function schema but only the operator name was given";
            let end = text.trim_end().len();
            Err(ParseError::new(ParseErrorKind::WrongDeclaration, text, end..end, message.to_owned()))
        }
    }
}

fn parse_name(text: &str) -> Result<OperatorName> {
    if let Some(name) = plain_name(text) {
        return Ok(name);
    }
    let options = ParseOptions::default();
    let mut parser = Parser::new(text, &options);
    let name = parser.name()?;
    parser.end()?;
    Ok(name)
}

/// A name as it is nearly always written, with its namespace and without blanks. `None` may be a name, too.
fn plain_name(text: &str) -> Option<OperatorName> {
    let (name, overload) = text.split_once('.').unwrap_or((text, ""));
    let (namespace, base) = name.split_once("::")?;
    let is_legal = overload != "default" && !overload.starts_with("__");
    let is_plain = is_legal
        && is_identifier(namespace)
        && is_identifier(base)
        && (is_identifier(overload) || overload.is_empty() && name.len() == text.len());
    is_plain.then(|| OperatorName::new(name, overload))
}

fn parse_type(text: &str, options: &ParseOptions<'_>) -> Result<Type> {
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
    pub(crate) lexer: Lexer<'s>,
    pub(crate) current: Token,
    pub(crate) options: &'o ParseOptions<'o>,
    /// How many sets `!` without a name has made.
    pub(crate) fresh_sets: usize,
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

    pub(crate) fn eat_kind(&mut self, kind: TokenKind) -> bool {
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
        if self.at(byte) {
            Ok(self.advance())
        } else {
            Err(self.unexpected(char::from(byte).encode_utf8(&mut [0; 4])))
        }
    }

    pub(crate) fn expect_kind(&mut self, kind: TokenKind) -> Result<Token> {
        if self.current.kind == kind {
            Ok(self.advance())
        } else {
            Err(self.unexpected(kind.name().unwrap_or_default()))
        }
    }

    pub(crate) fn identifier(&mut self) -> Result<&'s str> {
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
        // An argument is large, and schemas are kept.
        arguments.shrink_to_fit();
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
        returns.shrink_to_fit();
        Ok((returns, is_varret))
    }

    fn misplaced_dots(&self, list: &str) -> ParseError {
        let message = format!("... must be the last element of the {list} list");
        self.error(ParseErrorKind::MisplacedDots, self.current, message)
    }

    /// Reads `( item, item )`, possibly empty.
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
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
