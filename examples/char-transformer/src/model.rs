//! The model: embeddings, a transformer whose characters do not see later ones, and a score for each next character.

use opgrid::nn::{
    AttentionMasks, Embedding, LayerNorm, Linear, Module, Parts, TransformerEncoder, TransformerEncoderLayer,
};
use opgrid::prelude::*;

use crate::argument;

/// How large a model is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The numbers that stand for a character within the model.
    pub width: i64,
    /// The heads of attention; they share the width.
    pub heads: i64,
    /// The layers.
    pub layers: usize,
    /// How many characters the model sees at a time.
    pub context: i64,
}

impl Default for Shape {
    /// About 120,000 parameters, which learn spelling within a minute.
    fn default() -> Self {
        Self { width: 64, heads: 4, layers: 2, context: 64 }
    }
}

/// A transformer over characters.
pub struct Model {
    characters: Embedding,
    places: Embedding,
    encoder: TransformerEncoder,
    head: Linear,
    context: i64,
}

impl Module for Model {
    fn parts(&self, parts: &mut Parts) {
        parts.module("characters", &self.characters).module("places", &self.places);
        parts.module("encoder", &self.encoder).module("head", &self.head);
    }
}

impl Model {
    /// A model for an alphabet of that many characters.
    ///
    /// # Errors
    ///
    /// A width that the heads do not divide.
    pub fn new(alphabet: i64, shape: Shape) -> Result<Self> {
        let Shape { width, heads, layers, context } = shape;
        let layer = |_| {
            let layer = TransformerEncoderLayer::new(width, heads, 4 * width)?.dropout(0.0)?;
            Ok(layer.batch_first().norm_first().activation(|x| x.gelu_with("tanh")))
        };
        let layers = (0..layers).map(layer).collect::<Result<_>>()?;
        Ok(Self {
            characters: Embedding::new(alphabet, width)?,
            places: Embedding::new(context, width)?,
            encoder: TransformerEncoder { layers, norm: Some(LayerNorm::new(width)?) },
            head: Linear::new(width, alphabet)?,
            context,
        })
    }

    /// How many characters the model sees at a time.
    pub fn context(&self) -> i64 {
        self.context
    }

    /// Scores of each character for being the next one: `(batch, length)` to `(batch, length, alphabet)`.
    ///
    /// # Errors
    ///
    /// More characters than the model sees at a time, or numbers that are no characters.
    pub fn forward(&self, characters: &Tensor) -> Result<Tensor> {
        let length = match *characters.sizes() {
            [_, length] if (1..=self.context).contains(&length) => length,
            _ => {
                let (found, most) = (characters.sizes(), self.context);
                return Err(argument(format!(
                    "found characters of shape {found:?}, expected (batch, 1 to {most})"
                )));
            }
        };
        let places = self.places.forward(&Tensor::arange(0, length, 1)?)?;
        let x = self.characters.forward(characters)?.add(&places)?;
        self.head.forward(&self.encoder.forward(&x, &AttentionMasks::causal())?)
    }
}
