//! Tensors as text, by random options.

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::tensor::{PrintOptions, set_default_dtype, with_print_options};
use opgrid_tensor::{Array, Geometry, TensorSpec};
use serde_json::json;

use super::case::{Block, View};
use super::elements::{self, DTYPES, Style};
use super::layouts::{self, Kind};
use super::ours::filled;
use crate::random::Random;

/// A tensor to be printed.
#[derive(Clone, Debug)]
pub struct Printed {
    block: Block,
    view: View,
    options: PrintOptions,
    default: DType,
}

impl Printed {
    /// The tensor of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let sizes = sizes(&mut random);
        let kind = if random.chance(70) { Kind::Rows } else { Kind::Apart };
        let strided = layouts::strided(&mut random, &sizes, kind);
        let dtype = *random.pick(&DTYPES);
        let style = style(&mut random);
        let bytes = elements::bytes(&mut random, dtype, strided.count, style);
        let view = View { block: 0, sizes, strides: strided.strides, offset: strided.offset };
        let default = if random.chance(85) { DType::F32 } else { *random.pick(&[DType::F64, DType::BF16]) };
        Self { block: Block { dtype, bytes }, view, options: options(&mut random), default }
    }

    /// The line that the other side reads.
    pub fn line(&self) -> String {
        let options = json!({
            "precision": self.options.precision,
            "threshold": self.options.threshold,
            "edgeitems": self.options.edgeitems,
            "linewidth": self.options.linewidth,
            "sci_mode": self.options.sci_mode,
        });
        let (blocks, view) = ([self.block.json()], self.view.json());
        let default = self.default.name();
        json!({ "print": view, "options": options, "blocks": blocks, "default": default }).to_string()
    }

    /// The text on our side.
    ///
    /// # Errors
    ///
    /// The tensor does not lie on its block.
    pub fn text(&self) -> Result<String> {
        set_default_dtype(self.default)?;
        let geometry = Geometry::strided(&self.view.sizes, &self.view.strides, self.view.offset)?;
        let array =
            Array::new(TensorSpec::new(geometry, self.block.dtype, Device::CPU), filled(&self.block.bytes)?)?;
        Ok(with_print_options(self.options, || array.to_string()))
    }
}

/// A shape of few elements, or of more than are shown.
fn sizes(random: &mut Random) -> Vec<i64> {
    match random.below(20) {
        0 => vec![random.below(400) as i64 + 900],
        1 => vec![random.below(30) as i64 + 20, random.below(30) as i64 + 20],
        2 => vec![2, 3, random.below(200) as i64 + 100],
        _ => layouts::shape(random),
    }
}

/// Numbers of one magnitude, of several, or the others that arithmetic is tried with.
fn style(random: &mut Random) -> Style {
    if random.chance(40) {
        return Style::any(random);
    }
    let low = random.below(16) as i32 - 8;
    Style::Magnitudes(low, low + *random.pick(&[0, 0, 1, 2, 3, 4, 8]))
}

fn options(random: &mut Random) -> PrintOptions {
    if random.chance(40) {
        return PrintOptions::DEFAULT;
    }
    PrintOptions {
        precision: *random.pick(&[0, 1, 2, 4, 4, 6, 10]),
        threshold: *random.pick(&[0, 5, 20, 100, 1000, 1000, 100_000]),
        edgeitems: *random.pick(&[0, 1, 2, 3, 3, 5]),
        linewidth: *random.pick(&[10, 40, 80, 80, 80, 120, 200]),
        sci_mode: *random.pick(&[None, None, Some(true), Some(false)]),
    }
}
