//! The network of the demo: three convolutions and a linear layer.

use opgrid::nn::{BatchNorm2d, Conv2d, Dropout, Linear, Module, Parts};
use opgrid::prelude::*;

use super::classifier::CLASSES;

/// A convolution, batch normalization and ReLU.
struct Block {
    conv: Conv2d,
    norm: BatchNorm2d,
}

impl Module for Block {
    fn parts(&self, parts: &mut Parts) {
        parts.module("conv", &self.conv).module("norm", &self.norm);
    }
}

impl Block {
    fn new(channels: i64, filters: i64) -> Result<Self> {
        Ok(Self { conv: Conv2d::new(channels, filters, 3)?.padding(1), norm: BatchNorm2d::new(filters)? })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.norm.forward(&self.conv.forward(x)?)?.relu()
    }
}

/// Images `[count, 1, 8, 8]` to a score for each digit, `[count, 10]`.
pub(super) struct Network {
    blocks: Vec<Block>,
    dropout: Dropout,
    pub(super) head: Linear,
}

impl Module for Network {
    fn parts(&self, parts: &mut Parts) {
        parts.module("blocks", &self.blocks).module("dropout", &self.dropout).module("head", &self.head);
    }
}

impl Network {
    pub(super) fn new() -> Result<Self> {
        let blocks = vec![Block::new(1, 16)?, Block::new(16, 32)?, Block::new(32, 32)?];
        Ok(Self { blocks, dropout: Dropout::new(0.5)?, head: Linear::new(32 * 4 * 4, CLASSES as i64)? })
    }

    pub(super) fn forward(&self, images: &Tensor) -> Result<Tensor> {
        self.head.forward(&self.dropout.forward(&self.features(images)?)?)
    }

    /// What the last layer sees of the images, `[count, 512]`.
    pub(super) fn features(&self, images: &Tensor) -> Result<Tensor> {
        let fine = self.blocks[1].forward(&self.blocks[0].forward(images)?)?;
        let coarse = opgrid::nn::MaxPool2d::new(2).forward(&fine)?;
        self.blocks[2].forward(&coarse)?.flatten(1, -1)
    }
}
