//! Reads the macro's input: the path of the core crate, perhaps `register_with = path;` or `register_with = path(register);`, then
//! `ATTRIBUTES VISIBILITY Name = "schema", in_place, out("overload", output), method(name), alias("name", in_place);` repeated, where
//! all behind the schema may be left out.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::literal::string_value;

/// A mistake in the input, shown at a place of it.
#[derive(Debug)]
pub(crate) struct Error {
    span: Span,
    message: String,
}

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Error { span, message: message.into() }
    }

    /// The mistake as an item that makes the compiler report it.
    pub(crate) fn into_compile_error(self) -> TokenStream {
        let message = self.message;
        quote_spanned!(self.span=> ::core::compile_error! { #message })
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The whole input.
pub(crate) struct Input {
    /// The path of the core crate.
    pub(crate) core: TokenStream,
    pub(crate) register_with: Option<RegisterWith>,
    pub(crate) items: Vec<Item>,
}

/// Where overloads are registered.
pub(crate) struct RegisterWith {
    /// The path of the function that registers the overloads' library.
    pub(crate) path: TokenStream,
    /// What registers the overloads alone, as a group, which the function is then given.
    pub(crate) register: Option<Register>,
}

/// What registers a group.
pub(crate) struct Register {
    /// The path of a function.
    pub(crate) path: TokenStream,
    /// The names of operators that it defines by their schema strings.
    pub(crate) others: Vec<Literal>,
}

/// One line: an overload to declare.
pub(crate) struct Item {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: TokenStream,
    pub(crate) name: Ident,
    pub(crate) schema: Literal,
    pub(crate) forms: Vec<Form>,
    pub(crate) method: Option<Method>,
    pub(crate) aliases: Vec<Alias>,
    /// The operator that this is another name of, without namespace.
    pub(crate) alias_of: Option<String>,
}

/// Another name of the operator.
pub(crate) struct Alias {
    /// The name, as a string.
    pub(crate) name: Literal,
    /// The clauses that hold for that name, too, if not all of them do.
    pub(crate) clauses: Option<Vec<Ident>>,
}

/// A method of `Tensor` for the overload, perhaps with another name than the operator's.
#[derive(Clone)]
pub(crate) struct Method {
    pub(crate) name: Option<Ident>,
    pub(crate) span: Span,
    /// The arguments that it takes, if not all that are positional or required.
    pub(crate) arguments: Option<Vec<Ident>>,
    /// The overload that is called if the last tensor is a number.
    pub(crate) for_number: Option<ForNumber>,
}

/// The overload that takes a number where another one takes its last tensor.
#[derive(Clone)]
pub(crate) struct ForNumber {
    pub(crate) overload: Ident,
    /// The one that writes `self`, unless it is named as usual.
    pub(crate) in_place: Option<Ident>,
}

/// A form that writes the result, to be declared beside the functional overload.
#[derive(Clone)]
pub(crate) struct Form {
    pub(crate) kind: FormKind,
    pub(crate) span: Span,
}

/// Where the result is written.
#[derive(Clone)]
pub(crate) enum FormKind {
    /// Each with the name of the overload, unless it is as usual.
    InPlace(Option<Literal>),
    /// Also with the names of the outputs.
    Out(Option<Literal>, Vec<Ident>),
}

impl Form {
    /// The word of its clause.
    pub(crate) fn word(&self) -> &'static str {
        match self.kind {
            FormKind::InPlace(_) => "in_place",
            FormKind::Out(..) => "out",
        }
    }
}

impl Item {
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        !self.attributes_named(&[name]).is_empty()
    }

    /// The lines of the doc comment, as far as they are strings.
    pub(crate) fn documentation(&self) -> String {
        let lines = self.attributes.iter().filter(|attribute| attribute.is("doc"));
        let lines: Vec<_> = lines.filter_map(Attribute::text).collect();
        lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// The attributes that begin with one of the words.
    pub(crate) fn attributes_named(&self, names: &[&str]) -> Vec<TokenStream> {
        let is_named =
            |attribute: &&Attribute| attribute.name().is_some_and(|name| names.contains(&name.as_str()));
        self.attributes.iter().filter(is_named).map(Attribute::tokens).collect()
    }
}

/// One `#[…]`.
#[derive(Clone)]
pub(crate) struct Attribute {
    content: Group,
}

impl Attribute {
    /// A line of documentation.
    pub(crate) fn documentation(text: &str) -> Self {
        Attribute { content: Group::new(Delimiter::Bracket, quote!(doc = #text)) }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name().is_some_and(|own| own == name)
    }

    /// The word the attribute begins with.
    fn name(&self) -> Option<String> {
        match self.content.stream().into_iter().next() {
            Some(TokenTree::Ident(name)) => Some(name.to_string()),
            _ => None,
        }
    }

    /// The text of `#[name = "text"]`.
    fn text(&self) -> Option<String> {
        match self.content.stream().into_iter().nth(2) {
            Some(TokenTree::Literal(text)) => string_value(&text),
            _ => None,
        }
    }

    pub(crate) fn tokens(&self) -> TokenStream {
        let content = &self.content;
        quote!(# #content)
    }
}

/// The input of [`operator_methods!`](crate::operator_methods): attributes of the block, then items.
pub(crate) struct Block {
    pub(crate) core: TokenStream,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) items: Vec<Item>,
}

impl Block {
    pub(crate) fn parse(input: TokenStream) -> Result<Self> {
        let mut cursor = Cursor::new(input);
        let core = cursor.core()?;
        let attributes = cursor.attributes()?;
        for word in ["impl", "Tensor"] {
            match cursor.next("`impl Tensor;`")? {
                TokenTree::Ident(found) if found == word => {}
                other => return Err(unexpected(&other, "`impl Tensor;`")),
            }
        }
        cursor.punctuation(';')?;
        Ok(Block { core, attributes, items: cursor.items()? })
    }
}

impl Input {
    pub(crate) fn parse(input: TokenStream) -> Result<Self> {
        let mut cursor = Cursor::new(input);
        let core = cursor.core()?;
        let register_with = cursor.register_with()?;
        Ok(Input { core, register_with, items: cursor.items()? })
    }
}

struct Cursor {
    tokens: Peekable<IntoIter>,
    /// Where the last token was, for errors at the end.
    last: Span,
}

impl Cursor {
    fn new(input: TokenStream) -> Self {
        Cursor { tokens: input.into_iter().peekable(), last: Span::call_site() }
    }

    fn next(&mut self, expected: &str) -> Result<TokenTree> {
        match self.tokens.next() {
            Some(token) => {
                self.last = token.span();
                Ok(token)
            }
            None => Err(Error::new(self.last, format!("expected {expected} but the input ends here"))),
        }
    }

    /// Reads the path of the core crate in parentheses.
    fn core(&mut self) -> Result<TokenStream> {
        let expected = "the path of the core crate in parentheses";
        match self.next(expected)? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Ok(group.stream()),
            other => Err(unexpected(&other, expected)),
        }
    }

    /// Reads what is left as items.
    fn items(&mut self) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        while self.tokens.peek().is_some() {
            items.push(self.item()?);
        }
        Ok(items)
    }

    /// Reads `register_with = path;` or `register_with = path(register);`, if the input begins with it. A string after `register_with =` makes it an overload
    /// of that name.
    fn register_with(&mut self) -> Result<Option<RegisterWith>> {
        let mut ahead = self.tokens.clone();
        let is_register_with = matches!(ahead.next(), Some(TokenTree::Ident(word)) if word == "register_with")
            && matches!(ahead.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == '=')
            && matches!(ahead.next(), Some(TokenTree::Ident(_) | TokenTree::Punct(_)));
        if !is_register_with {
            return Ok(None);
        }
        self.next("`register_with`")?;
        self.punctuation('=')?;
        let expected = "the path of a function and `;`";
        let mut path = TokenStream::new();
        loop {
            match self.next(expected)? {
                TokenTree::Punct(mark) if mark.as_char() == ';' => {
                    return Ok(Some(RegisterWith { path, register: None }));
                }
                token @ (TokenTree::Ident(_) | TokenTree::Punct(_)) => path.extend([token]),
                TokenTree::Group(group)
                    if group.delimiter() == Delimiter::Parenthesis && !group.stream().is_empty() =>
                {
                    let register = Some(register(group.stream())?);
                    self.punctuation(';')?;
                    return Ok(Some(RegisterWith { path, register }));
                }
                other => return Err(unexpected(&other, expected)),
            }
        }
    }

    fn item(&mut self) -> Result<Item> {
        let attributes = self.attributes()?;
        let visibility = self.visibility();
        let name = match self.next("the name of the type")? {
            TokenTree::Ident(name) => name,
            other => return Err(unexpected(&other, "the name of the type")),
        };
        self.punctuation('=')?;
        let schema = match self.next("the schema as a string")? {
            TokenTree::Literal(literal) => literal,
            TokenTree::Group(group) => captured_literal(&group)?,
            other => return Err(unexpected(&other, "the schema as a string")),
        };
        let mut item = Item {
            attributes,
            visibility,
            name,
            schema,
            forms: Vec::new(),
            method: None,
            aliases: Vec::new(),
            alias_of: None,
        };
        self.clauses(&mut item)?;
        if self.tokens.peek().is_some() {
            self.punctuation(';')?;
        }
        Ok(item)
    }

    /// Reads `, in_place` and `, out`, perhaps with `("overload")` or `("overload", output, …)`, and `, method`, perhaps with `(name)`;
    /// each once. Behind `method`, `, arguments(name, …)` and `, or_number(Overload)` say more about it. `, alias("name")` may be there for
    /// several names.
    fn clauses(&mut self, item: &mut Item) -> Result<()> {
        let expected = "`in_place`, `out`, `method`, `arguments`, `or_number` or `alias`";
        let twice = |word: &TokenTree| Error::new(word.span(), format!("`{word}` occurs twice here"));
        while matches!(self.tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == ',') {
            self.punctuation(',')?;
            let word = self.next(expected)?;
            let span = word.span();
            let kind = match word.to_string().as_str() {
                "in_place" => FormKind::InPlace(self.overload()?),
                "out" => self.out()?,
                "method" => {
                    let name = self.method_name()?;
                    let method = Method { name, span, arguments: None, for_number: None };
                    if item.method.replace(method).is_some() {
                        return Err(twice(&word));
                    }
                    continue;
                }
                "arguments" => {
                    let expected = "the names of the method's arguments in parentheses";
                    let arguments = self.names(&word, expected)?;
                    if method_of(item, &word)?.arguments.replace(arguments).is_some() {
                        return Err(twice(&word));
                    }
                    continue;
                }
                "or_number" => {
                    let expected =
                        "the overload that takes a number, optionally followed by the one that writes `self`";
                    let mut names = self.names(&word, expected)?.into_iter();
                    let (Some(overload), in_place, None) = (names.next(), names.next(), names.next()) else {
                        return Err(unexpected(&word, expected));
                    };
                    let for_number = ForNumber { overload, in_place };
                    if method_of(item, &word)?.for_number.replace(for_number).is_some() {
                        return Err(twice(&word));
                    }
                    continue;
                }
                "alias" => {
                    item.aliases.push(self.alias(word)?);
                    continue;
                }
                _ => return Err(unexpected(&word, expected)),
            };
            let is_same = |known: &Form| std::mem::discriminant(&known.kind) == std::mem::discriminant(&kind);
            if item.forms.iter().any(is_same) {
                return Err(twice(&word));
            }
            item.forms.push(Form { kind, span });
        }
        Ok(())
    }

    /// Reads `(name, …)`.
    fn names(&mut self, word: &TokenTree, expected: &str) -> Result<Vec<Ident>> {
        let group = self.parentheses().ok_or_else(|| unexpected(word, expected))?;
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let mut names = Vec::new();
        for one in tokens.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',')) {
            match one {
                [TokenTree::Ident(name)] => names.push(name.clone()),
                [] => {}
                _ => return Err(unexpected(&TokenTree::Group(group), expected)),
            }
        }
        Ok(names)
    }

    /// Reads `("name")` or `("name", clause, …)`.
    fn alias(&mut self, word: TokenTree) -> Result<Alias> {
        let expected = "the operator's other name as a string in parentheses, optionally followed by \
             `in_place`, `out` and `method`";
        let Some(group) = self.parentheses() else { return Err(unexpected(&word, expected)) };
        let (name, clauses) = string_and_names(group, expected)?;
        Ok(Alias { name, clauses: (!clauses.is_empty()).then_some(clauses) })
    }

    /// Reads `("overload")`, or nothing.
    fn overload(&mut self) -> Result<Option<Literal>> {
        let expected = "the overload's name as a string in parentheses";
        match self.in_parentheses(expected)? {
            None => Ok(None),
            Some(TokenTree::Literal(literal)) => Ok(Some(literal)),
            Some(other) => Err(unexpected(&other, expected)),
        }
    }

    /// Reads `("overload")`, `("overload", output, …)`, or nothing.
    fn out(&mut self) -> Result<FormKind> {
        let expected = "the overload's name as a string in parentheses, optionally followed by the names of the \
             outputs";
        let Some(group) = self.parentheses() else { return Ok(FormKind::Out(None, Vec::new())) };
        let (overload, outputs) = string_and_names(group, expected)?;
        Ok(FormKind::Out(Some(overload), outputs))
    }

    /// Reads `(name)`, or nothing.
    fn method_name(&mut self) -> Result<Option<Ident>> {
        let expected = "the method's name in parentheses";
        match self.in_parentheses(expected)? {
            None => Ok(None),
            Some(TokenTree::Ident(name)) => Ok(Some(name)),
            Some(other) => Err(unexpected(&other, expected)),
        }
    }

    /// Reads the only token in parentheses, or nothing.
    fn in_parentheses(&mut self, expected: &str) -> Result<Option<TokenTree>> {
        let Some(group) = self.parentheses() else { return Ok(None) };
        let mut inside = group.stream().into_iter();
        match (inside.next(), inside.next()) {
            (Some(token), None) => Ok(Some(token)),
            _ => Err(unexpected(&TokenTree::Group(group), expected)),
        }
    }

    /// Reads parentheses with what stands in them, or nothing.
    fn parentheses(&mut self) -> Option<Group> {
        let is_group = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        match self.tokens.next_if(is_group) {
            Some(TokenTree::Group(group)) => Some(group),
            _ => None,
        }
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut attributes = Vec::new();
        while matches!(self.tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == '#') {
            self.punctuation('#')?;
            match self.next("an attribute in brackets")? {
                TokenTree::Group(content) if content.delimiter() == Delimiter::Bracket => {
                    attributes.push(Attribute { content });
                }
                other => return Err(unexpected(&other, "an attribute in brackets")),
            }
        }
        Ok(attributes)
    }

    /// Reads `pub`, `pub(…)`, what a `$vis` captured, or nothing.
    fn visibility(&mut self) -> TokenStream {
        let is_captured = |group: &Group| group.delimiter() == Delimiter::None;
        if let Some(TokenTree::Group(group)) =
            self.tokens.next_if(|token| matches!(token, TokenTree::Group(group) if is_captured(group)))
        {
            return group.stream();
        }
        let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "pub");
        let Some(word) = self.tokens.next_if(is_pub) else { return TokenStream::new() };
        let is_scope = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis);
        let scope = self.tokens.next_if(is_scope);
        quote!(#word #scope)
    }

    fn punctuation(&mut self, character: char) -> Result<()> {
        let expected = format!("`{character}`");
        match self.next(&expected)? {
            TokenTree::Punct(mark) if mark.as_char() == character => Ok(()),
            other => Err(unexpected(&other, &expected)),
        }
    }
}

/// The method of an item, about which a clause says more.
fn method_of<'i>(item: &'i mut Item, word: &TokenTree) -> Result<&'i mut Method> {
    let message = || format!("`{word}` says more about a method; write `method` before it");
    item.method.as_mut().ok_or_else(|| Error::new(word.span(), message()))
}

/// Reads `path, "name", …`.
fn register(tokens: TokenStream) -> Result<Register> {
    let expected =
        "the path of a function that registers the operators, optionally followed by the names of others";
    let mut tokens = tokens.into_iter();
    let (mut path, mut others) = (TokenStream::new(), Vec::new());
    for token in tokens.by_ref() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == ',' => break,
            token @ (TokenTree::Ident(_) | TokenTree::Punct(_)) => path.extend([token]),
            other => return Err(unexpected(&other, expected)),
        }
    }
    while let Some(token) = tokens.next() {
        match (token, tokens.next()) {
            (TokenTree::Literal(name), None) => others.push(name),
            (TokenTree::Literal(name), Some(TokenTree::Punct(mark))) if mark.as_char() == ',' => {
                others.push(name)
            }
            (other, _) => return Err(unexpected(&other, expected)),
        }
    }
    Ok(Register { path, others })
}

/// Reads `"string", name, …`, all that stands in parentheses.
fn string_and_names(group: Group, expected: &str) -> Result<(Literal, Vec<Ident>)> {
    let mut inside = group.stream().into_iter();
    let string = match inside.next() {
        Some(TokenTree::Literal(literal)) => literal,
        other => return Err(unexpected(&other.unwrap_or(TokenTree::Group(group)), expected)),
    };
    let mut names = Vec::new();
    while let Some(token) = inside.next() {
        match (&token, inside.next()) {
            (TokenTree::Punct(mark), Some(TokenTree::Ident(name))) if mark.as_char() == ',' => {
                names.push(name)
            }
            _ => return Err(unexpected(&token, expected)),
        }
    }
    Ok((string, names))
}

/// Takes the literal out of what a `$literal` captured.
fn captured_literal(group: &Group) -> Result<Literal> {
    let mut tokens = group.stream().into_iter();
    match (group.delimiter(), tokens.next(), tokens.next()) {
        (Delimiter::None, Some(TokenTree::Literal(literal)), None) => Ok(literal),
        _ => Err(unexpected(&TokenTree::Group(group.clone()), "the schema as a string")),
    }
}

fn unexpected(found: &TokenTree, expected: &str) -> Error {
    let message = format!(
        "expected {expected} but found `{found}`; an operator is written `pub Name = \"ns::name(…) -> …\";`, with `, in_place, out` before the semicolon for its forms, `, method` for a method of tensors and `, alias(\"other\")` for another name"
    );
    Error::new(found.span(), message)
}
