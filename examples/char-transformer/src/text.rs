//! A text as numbers: each distinct character has one.

use std::collections::BTreeSet;
use std::path::Path;

use opgrid::prelude::*;
use opgrid::{ErrorKind, ops};

use crate::argument;

/// A text, and the characters that it is made of.
pub struct Text {
    alphabet: Vec<char>,
    /// int64, one number for each character.
    tokens: Tensor,
}

impl Text {
    /// A text to learn from.
    ///
    /// # Errors
    ///
    /// A text without characters.
    pub fn new(text: &str) -> Result<Self> {
        let alphabet: Vec<char> = text.chars().collect::<BTreeSet<_>>().into_iter().collect();
        if alphabet.is_empty() {
            return Err(argument("found a text without characters, expected some to learn from"));
        }
        let mut text_of = Self { alphabet, tokens: Tensor::undefined() };
        text_of.tokens = text_of.encode(text)?;
        Ok(text_of)
    }

    /// The text of a file, or of all files of a folder in the order of their names.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or is not UTF-8.
    pub fn read(path: &Path) -> Result<Self> {
        let unreadable = |error: std::io::Error| {
            Error::new(ErrorKind::File, format!("{}: cannot be read: {error}", path.display()))
        };
        if path.is_file() {
            return Self::new(&std::fs::read_to_string(path).map_err(unreadable)?);
        }
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        let mut files = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(unreadable)?;
        files.retain(|file| file.is_file());
        files.sort();
        let texts = files.iter().map(std::fs::read_to_string).collect::<std::io::Result<Vec<_>>>();
        Self::new(&texts.map_err(unreadable)?.join("\n"))
    }

    /// How many characters there are.
    pub fn len(&self) -> i64 {
        self.tokens.numel()
    }

    /// Whether there are none, which no text of this type is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many distinct characters there are.
    pub fn alphabet_len(&self) -> i64 {
        self.alphabet.len() as i64
    }

    /// The numbers of characters.
    ///
    /// # Errors
    ///
    /// A character that does not occur in the text.
    pub fn encode(&self, text: &str) -> Result<Tensor> {
        let number = |character: char| match self.alphabet.binary_search(&character) {
            Ok(number) => Ok(number as i64),
            Err(_) => Err(argument(format!(
                "found {character:?}, expected a character that occurs in the text that was learned"
            ))),
        };
        let numbers = text.chars().map(number).collect::<Result<Vec<i64>>>()?;
        Tensor::from_slice(&numbers, &[numbers.len() as i64])
    }

    /// The characters of numbers; numbers that are none give nothing.
    pub fn decode(&self, numbers: &[i64]) -> String {
        numbers.iter().filter_map(|number| self.alphabet.get(usize::try_from(*number).ok()?)).collect()
    }

    /// Pieces from random places: `(count, length)` characters, and the one that follows each of them.
    ///
    /// # Errors
    ///
    /// A text that is not longer than `length`.
    pub fn batch(&self, count: i64, length: i64) -> Result<(Tensor, Tensor)> {
        let places = self.len() - length;
        if places <= 0 {
            return Err(argument(format!(
                "found a text of {} characters, expected more than the {length} that the model sees at a time",
                self.len()
            )));
        }
        let starts = ops::Randint.call(places, &[count, 1], Some(DType::I64), None, None, None)?;
        let inputs = starts.add(&Tensor::arange(0, length, 1)?)?;
        Ok((self.tokens.take(&inputs)?, self.tokens.take(&inputs.add(1)?)?))
    }
}
