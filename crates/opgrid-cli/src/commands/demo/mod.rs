//! `opgrid demo`: what the dispatcher is for, on real images of handwritten digits.
//!
//! An operator of the demo's own and a nearest-centroid classifier made of it and of the operators that are there:
//! called typed and boxed, with a kernel swapped, watched, redispatched, explained and run without data. Then a network
//! that learns by gradients. Nothing that it prints is written down beforehand; where two ways have to agree, the demo
//! compares them and says so.

mod classifier;
mod curve;
mod dispatching;
mod learning;
mod network;
mod report;
mod training;

use std::fmt::Write;

use opgrid::prelude::*;
use serde_json::json;

use crate::digits::Digits;
use crate::json;
use classifier::TRAINING;
use report::Report;

/// Classify handwritten digits with dispatched operators: define, call, swap, watch, redispatch, explain and train.
#[derive(clap::Args)]
pub(crate) struct Demo {
    /// How often the network sees each image; 0 leaves the network out.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1000))]
    epochs: u64,
    /// The seed of the network's random numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Demo {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let digits = Digits::load()?;
        let mut report = Report::default();
        report.title(&digits);
        let _operators = classifier::register()?;
        report.calls(&digits)?;
        report.accuracy = classifier::accuracy(&digits)?;
        report.learned(&digits);
        report.swap(&digits)?;
        report.watch(&digits)?;
        report.explain(&digits)?;
        report.without_data(&digits)?;
        if !json {
            report.show_at_terminal();
        }
        if self.epochs > 0 {
            report.network(&digits, self)?;
        }
        Ok(if json { json::line(&report.json) } else { report.text })
    }
}

impl Report {
    fn title(&mut self, digits: &Digits) {
        let (count, training) = (digits.count(), TRAINING);
        let _ =
            writeln!(self.text, "{count} images of handwritten digits, 8 x 8 pixels, from {}", digits.source);
        self.json = json!({"images": count, "training": training, "held_out": count - training});
    }
}
