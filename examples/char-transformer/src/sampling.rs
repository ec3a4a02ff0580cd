//! Drawing a continuation, one character at a time.

use opgrid::layers::autograd::no_grad;
use opgrid::nn::Module;
use opgrid::ops;
use opgrid::prelude::*;

use crate::{Model, Text, argument};

/// Continues `prompt` by `length` characters, drawn from the default generator.
///
/// A temperature of 1 draws characters as often as the model expects them; lower ones prefer what is likely, and 0 takes
/// the likeliest each time.
///
/// # Errors
///
/// A prompt without characters or with some that the text lacks; a temperature below 0.
pub fn sample(model: &Model, text: &Text, prompt: &str, length: usize, temperature: f64) -> Result<String> {
    if !(temperature >= 0.0 && temperature.is_finite()) {
        return Err(argument(format!("found the temperature {temperature}, expected zero or more")));
    }
    let mut characters = text.encode(prompt)?.to_vec::<i64>()?;
    if characters.is_empty() {
        return Err(argument("found a prompt without characters, expected one or more to continue"));
    }
    model.eval();
    for _ in 0..length {
        let seen = &characters[characters.len().saturating_sub(model.context() as usize)..];
        let seen = Tensor::from_slice(seen, &[1, seen.len() as i64])?;
        let scores = no_grad(|| model.forward(&seen))?.select(0, 0)?.select(0, -1)?;
        let next = match temperature {
            0.0 => scores.argmax(0)?,
            _ => {
                let likely = scores.div(temperature)?.softmax(0)?;
                ops::Multinomial.call(&likely, 1, false, None)?
            }
        };
        characters.extend(next.to_vec::<i64>()?);
    }
    Ok(text.decode(&characters))
}
