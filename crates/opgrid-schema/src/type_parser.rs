//! Reads types with their alias annotations.
//!
//! The nesting of types is limited, so that neither reading nor dropping one needs a deep stack. Inside tuples,
//! dictionaries, futures and unions, enumerations and `SymInt` count as `int` and annotations are read but not
//! kept, as in PyTorch.

use std::collections::HashSet;

use crate::alias::WILDCARD;
use crate::lexer::{Token, TokenKind};
use crate::parser::{Parser, Result};
use crate::types::unite;
use crate::{AliasInfo, ParseError, ParseErrorKind, Type};

/// Levels that a type may be nested.
const MAX_DEPTH: usize = 64;

/// A type, its annotation and how deep it is nested.
pub(crate) struct Annotated {
    pub(crate) real_type: Type,
    pub(crate) alias: Option<AliasInfo>,
    depth: usize,
}

impl Parser<'_, '_> {
    /// Reads `[N]`, which makes the type a list, with the annotation and `?` that may follow.
    pub(crate) fn size(&mut self, annotated: &mut Annotated) -> Result<usize> {
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

    pub(crate) fn annotated_type(&mut self, depth: usize) -> Result<Annotated> {
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
                Err(self.error(ParseErrorKind::InvalidType, mark, message))
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
        if self.is_variable(&name) {
            Ok(Annotated { real_type: Type::Var(name), alias: self.alias()?, depth: 0 })
        } else {
            Err(self.unknown_type(token))
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
        let fresh_sets = self.fresh_sets;
        let part = self.annotated_type(depth + 1)?;
        // Only sets that are kept are numbered, so that the written schema reads back to an equal one.
        self.fresh_sets = fresh_sets;
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
            return Err(self.error(ParseErrorKind::InvalidType, token, message));
        }
        Ok(Type::Dict(Box::new(key), Box::new(value)))
    }

    fn union(&mut self, token: Token, depth: usize, depths: &mut usize) -> Result<Type> {
        if self.at(b'(') && self.lexer.peek().is(b')') {
            self.advance();
            return Err(self.unexpected("ident"));
        }
        let members = self.parts(depth, depths)?;
        unite(members).map_err(|message| self.error(ParseErrorKind::InvalidType, token, message))
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
        let after = if self.eat_kind(TokenKind::Arrow) { self.alias_sets()? } else { before.clone() };
        self.expect(b')')?;
        Ok(Some(AliasInfo { is_write, before, after, contained: Vec::new() }))
    }

    /// Reads set names separated by `|`; after the wildcard, which covers everything, none is read any more.
    fn alias_sets(&mut self) -> Result<Vec<String>> {
        let mut sets: Vec<String> = Vec::with_capacity(1);
        let mut has_wildcard = false;
        loop {
            if self.eat(b'*') {
                has_wildcard = true;
                sets.push(WILDCARD.to_owned());
            } else if !has_wildcard {
                sets.push(self.identifier()?.to_owned());
            }
            if !self.eat(b'|') {
                return Ok(without_repetition(sets));
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
