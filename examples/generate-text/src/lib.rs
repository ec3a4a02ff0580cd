//! Continues a text with a language model that torch exported with a static cache.
//!
//! The program takes one symbol and its position. What it has read before is in its buffers, which each run writes: one program tells
//! one text at a time.

use opgrid::ops::Multinomial;
use opgrid::prelude::*;
use opgrid_graph::Program;

/// A language model and what it has read.
pub struct Writer {
    program: Program,
    /// How many symbols it can keep.
    capacity: i64,
    position: i64,
}

impl Writer {
    /// Takes a program with the inputs `input_ids`, `[1, 1]`, and `cache_position`, `[1]`.
    ///
    /// # Errors
    ///
    /// The program has no cache, or other inputs.
    pub fn new(program: Program) -> Result<Self> {
        let names = program.input_names();
        if names != ["input_ids", "cache_position"] {
            return Err(value(format!("found inputs {names:?}, expected input_ids and cache_position")));
        }
        let cache = program.buffers().into_iter().find(|(name, _)| name.contains("key_cache"));
        let Some((_, keys)) = cache else {
            return Err(value(
                "the program has no buffer `key_cache_0`, expected one exported with a static cache",
            ));
        };
        let capacity = keys.sizes()[2];
        Ok(Self { program, capacity, position: 0 })
    }

    /// How many symbols can still be read.
    pub fn room(&self) -> i64 {
        self.capacity - self.position
    }

    /// Reads a symbol and gives the score of each that may follow.
    ///
    /// # Errors
    ///
    /// The cache is full; those of the program's operators.
    pub fn read(&mut self, symbol: i64) -> Result<Tensor> {
        if self.room() == 0 {
            return Err(value(format!("the cache is full, expected at most {} symbols", self.capacity)));
        }
        let symbol = Tensor::from_slice(&[symbol], &[1, 1])?;
        let position = Tensor::from_slice(&[self.position], &[1])?;
        self.position += 1;
        self.program.run(&[&symbol, &position])?[0].reshape(&[-1])
    }
}

/// Printable ASCII from 0 on, everything else as a line break.
pub fn encode(letter: char) -> i64 {
    if (' '..='~').contains(&letter) { i64::from(u32::from(letter)) - 32 } else { 95 }
}

/// The letter of a symbol.
pub fn decode(symbol: i64) -> char {
    u8::try_from(symbol + 32).ok().filter(|_| symbol < 95).map_or('\n', char::from)
}

/// Continues a prompt as far as the cache goes. `choose` takes the scores and gives the next symbol; `show` sees each letter.
///
/// # Errors
///
/// An empty prompt, or one that is too long; those of [`Writer::read`] and `choose`.
pub fn continue_text(
    writer: &mut Writer,
    prompt: &str,
    mut choose: impl FnMut(&Tensor) -> Result<i64>,
    mut show: impl FnMut(char),
) -> Result<()> {
    let mut scores = None;
    for letter in prompt.chars() {
        scores = Some(writer.read(encode(letter))?);
        show(letter);
    }
    let mut scores = scores.ok_or_else(|| value("the prompt is empty, expected at least one letter"))?;
    loop {
        let symbol = choose(&scores)?;
        show(decode(symbol));
        if writer.room() <= 1 {
            return Ok(());
        }
        scores = writer.read(symbol)?;
    }
}

/// Draws a symbol: the likelier the higher its score is, and the more so the lower the temperature.
///
/// # Errors
///
/// Those of the operators; a temperature that is zero.
pub fn draw(scores: &Tensor, temperature: f64) -> Result<i64> {
    let likelihoods = scores.div(temperature)?.softmax(0)?;
    Multinomial.call(&likelihoods, 1, false, None)?.item()?.to_i64()
}

fn value(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, message)
}
