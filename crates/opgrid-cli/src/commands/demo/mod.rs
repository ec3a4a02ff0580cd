//! `opgrid demo`: what the dispatcher is for, on real images of handwritten digits.
//!
//! An operator of the demo's own and a nearest-centroid classifier made of it and of the operators that are there:
//! called typed and boxed, with a kernel swapped, watched, redispatched, explained and run without data. Then a network
//! that learns by gradients. Nothing that it prints is written down beforehand; where two ways have to agree, the demo
//! compares them and says so.

mod curve;
mod network;
mod progress;
mod training;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};

use opgrid::nn::Module;
use opgrid::prelude::*;
use opgrid::{ErrorKind, Returns, ops};
use serde_json::json;

use crate::digits::Digits;
use crate::json;
use network::Network;
use training::Examples;

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

operator! {
    pub Normalize = "demo::normalize(Tensor self, float scale) -> Tensor";
    pub Scores = "demo::scores(Tensor images, Tensor centroids) -> Tensor";
}

/// The digits that the classifier learns from; it is tested on the others.
const TRAINING: i64 = 1200;
/// The value of a pixel that is all ink.
const INK: f64 = 16.0;
const CLASSES: usize = 10;

impl Demo {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let digits = Digits::load()?;
        let mut report = Report::default();
        report.title(&digits);
        let _operators = register()?;
        report.calls(&digits)?;
        report.accuracy = accuracy(&digits)?;
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

/// Adds the demo's operators to the dispatcher, until the registration is dropped.
fn register() -> Result<Registration> {
    let mut library = opgrid::dispatcher()?.library("demo");
    library.define(Normalize).kernel(DispatchKey::CompositeExplicitAutograd, normalize);
    library.define(Scores).kernel(DispatchKey::CompositeImplicitAutograd, scores);
    library.finish()
}

/// `self * scale`
fn normalize(input: &Tensor, scale: f64) -> Result<Tensor> {
    input.mul(&Tensor::number(scale))
}

/// How near each image `x` is to each centroid `c`: `x·c - c·c / 2`, which is largest where `|x - c|` is smallest.
fn scores(images: &Tensor, centroids: &Tensor) -> Result<Tensor> {
    let (count, pixels) = (centroids.sizes()[0], centroids.sizes()[1]);
    let ones = Tensor::empty(&[pixels, 1], centroids.dtype(), centroids.device())?;
    ones.fill_(1)?;
    let squares = centroids.mul(centroids)?.mm(&ones)?.view(&[1, count])?;
    let transposed = centroids.as_strided(&[pixels, count], &[1, pixels], None)?;
    images.mm(&transposed)?.add(&squares, -0.5)
}

/// The part of the digits that is right after learning from the others.
fn accuracy(digits: &Digits) -> Result<f64> {
    let (training, held_out) = parts(digits)?;
    let learned = centroids(&training, &digits.labels[..TRAINING as usize])?;
    let scores = Scores.call(&held_out, &learned)?.to_vec::<f32>()?;
    let expected = &digits.labels[TRAINING as usize..];
    let right = scores.chunks(CLASSES).zip(expected).filter(|(row, label)| highest(row) == **label);
    Ok(right.count() as f64 / expected.len() as f64)
}

/// The images to learn from and those to be tested on, normalised, one per row.
fn parts(digits: &Digits) -> Result<(Tensor, Tensor)> {
    let pixels = Normalize.call(&digits.images, 1.0 / INK)?.view(&[digits.count(), -1])?;
    Ok((pixels.slice(0, 0, TRAINING, 1)?, pixels.slice(0, TRAINING, digits.count(), 1)?))
}

/// The same images as a network takes them, with their labels.
fn examples(digits: &Digits) -> Result<[Examples; 2]> {
    let (training, held_out) = parts(digits)?;
    let (first, others) = digits.labels.split_at(TRAINING as usize);
    let of = |images: Tensor, labels: &[i64]| -> Result<Examples> {
        let images = images.view(&[-1, 1, 8, 8])?;
        Ok(Examples { images, labels: Tensor::from_slice(labels, &[labels.len() as i64])? })
    };
    Ok([of(training, first)?, of(held_out, others)?])
}

/// The mean image of each digit, one per row: a product with a matrix that says who belongs to whom.
fn centroids(images: &Tensor, labels: &[i64]) -> Result<Tensor> {
    let mut shares = vec![0.0f32; CLASSES * labels.len()];
    for class in 0..CLASSES {
        let members = || labels.iter().enumerate().filter(|(_, label)| **label == class as i64);
        let share = 1.0 / members().count() as f32;
        members().for_each(|(place, _)| shares[class * labels.len() + place] = share);
    }
    Tensor::from_slice(&shares, &[CLASSES as i64, labels.len() as i64])?.mm(images)
}

fn highest(scores: &[f32]) -> i64 {
    let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(-1, |(place, _)| place as i64)
}

/// What the demo tells, as text and as JSON.
#[derive(Default)]
struct Report {
    text: String,
    json: serde_json::Value,
    accuracy: f64,
}

impl Report {
    /// Prints what there is so far where somebody waits for it; elsewhere all of it comes at the end, or nothing.
    fn show_at_terminal(&mut self) {
        if io::stdout().is_terminal() {
            print!("{}", std::mem::take(&mut self.text));
        }
    }

    fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.text, "\n{heading}");
    }

    fn line(&mut self, line: impl std::fmt::Display) {
        for line in line.to_string().lines() {
            let _ = writeln!(self.text, "  {line}");
        }
    }

    fn title(&mut self, digits: &Digits) {
        let (count, training) = (digits.count(), TRAINING);
        let _ =
            writeln!(self.text, "{count} images of handwritten digits, 8 x 8 pixels, from {}", digits.source);
        self.json = json!({"images": count, "training": training, "held_out": count - training});
    }

    fn calls(&mut self, digits: &Digits) -> Result<()> {
        self.heading("An operator of our own, called in two ways");
        self.line(Normalize::SCHEMA);
        let image = digits.images.select(0, 0)?;
        let typed = Normalize.call(&image, 1.0 / INK)?;
        self.line(format_args!("typed  Normalize.call(&image, {}), its first row:", 1.0 / INK));
        self.line(typed.select(0, 0)?);
        let arguments = vec![Value::from(&image), Value::from(1.0 / INK)];
        let results = opgrid::dispatcher()?.find("demo::normalize")?.call_with(arguments, Vec::new())?;
        let boxed = match results.as_slice() {
            [Value::Tensor(tensor)] => Tensor::try_from(tensor.clone())?,
            _ => return Err(disagreement("a boxed call gives one tensor")),
        };
        check(typed.to_vec::<f32>()? == boxed.to_vec::<f32>()?, "typed and boxed calls give the same")?;
        self.line("boxed  find(\"demo::normalize\") with a list of values: the same 64 numbers");
        Ok(())
    }

    fn learned(&mut self, digits: &Digits) {
        let held_out = digits.count() - TRAINING;
        self.heading("A classifier made of dispatched operators");
        self.line(Scores::SCHEMA);
        self.line(format_args!("centroids of the first {TRAINING} images, tested on the {held_out} others"));
        self.line(format_args!("accuracy  {}", percent(self.accuracy)));
        self.json["accuracy"] = json!(self.accuracy);
    }

    /// Puts another kernel in front of `demo::normalize` on the CPU, and takes it away.
    fn swap(&mut self, digits: &Digits) -> Result<()> {
        self.heading("Another kernel for one cell of the grid, for a while");
        let mut library = opgrid::dispatcher()?.implementations("demo", DispatchKey::Cpu);
        library
            .implement(Normalize)
            .add(Kernel::function::<<Normalize as Operator>::Signature>(ink_or_paper).named("ink_or_paper"));
        let registration = library.finish()?;
        let swapped = accuracy(digits)?;
        self.line(format_args!("CPU kernel ink_or_paper, pixels are 0 or 1: accuracy  {}", percent(swapped)));
        drop(registration);
        let restored = accuracy(digits)?;
        check(restored == self.accuracy, "dropping a registration brings the old kernel back")?;
        self.line(format_args!(
            "its registration dropped:                   accuracy  {}",
            percent(restored)
        ));
        self.json["swapped_accuracy"] = json!(swapped);
        self.json["restored_accuracy"] = json!(restored);
        Ok(())
    }

    /// Counts the calls of every operator by a fallback of a key that this thread includes.
    fn watch(&mut self, digits: &Digits) -> Result<()> {
        self.heading("A hook on TESTING_ONLY_GenericMode that counts every call and redispatches it");
        let counts = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
        let mode = DispatchKey::TestingOnlyGenericMode;
        let counter = counts.clone();
        let mut library = opgrid::dispatcher()?.implementations("_", mode);
        library.fallback(Kernel::boxed(move |call| {
            let name = call.operator().name().to_string();
            *counter.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
            // Only this call goes on below the mode: what its kernel calls is counted too.
            call.redispatch(call.keys() - mode.key_set())
        }));
        let _hook = library.finish()?;
        let watched = including(mode, || accuracy(digits))?;
        check(watched == self.accuracy, "a hook changes no result")?;
        let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, count) in counts.iter() {
            self.line(format_args!("{count:>2} x {name}"));
        }
        self.json["calls"] = json!(*counts);
        Ok(())
    }

    fn explain(&mut self, digits: &Digits) -> Result<()> {
        self.heading("Which kernels run, and why");
        let scores = opgrid::dispatcher()?.operator(Scores)?;
        let (training, held_out) = parts(digits)?;
        let learned = centroids(&training, &digits.labels[..TRAINING as usize])?;
        let arguments = [Value::from(&held_out), Value::from(&learned)];
        let borrowed: Vec<_> = arguments.iter().map(Value::borrow).collect();
        let (result, explanation) = scores.call_explained(&borrowed, &mut Returns::new())?;
        result?;
        self.line(&explanation);
        self.json["explanation"] = explanation.to_json();
        Ok(())
    }

    /// The classifier on tensors that have shapes and no data, and an operator without a kernel.
    fn without_data(&mut self, digits: &Digits) -> Result<()> {
        self.heading("The same operators without data, and on hardware that nobody has brought");
        let shapes = |sizes: &[i64]| Tensor::empty(sizes, opgrid::DType::F32, Device::META);
        let held_out = digits.count() - TRAINING;
        let scores = Scores.call(&shapes(&[held_out, 64])?, &shapes(&[CLASSES as i64, 64])?)?;
        self.line(format_args!("meta  {scores}"));
        let cuda: Device = "cuda".parse()?;
        let Err(error) = Tensor::empty(&[1], opgrid::DType::F32, cuda) else {
            return Err(disagreement("there is no kernel for cuda"));
        };
        self.line(format_args!("cuda  {}", error.message().split(". ").next().unwrap_or_default()));
        Ok(())
    }

    /// A convolutional network that learns from the images by gradients.
    fn network(&mut self, digits: &Digits, demo: &Demo) -> Result<()> {
        self.heading("A network that learns by gradients, which are a layer under every operator");
        opgrid::manual_seed(demo.seed);
        let [training, held_out] = examples(digits)?;
        let network = Network::new()?;
        let numbers: i64 = network.parameters().iter().map(Tensor::numel).sum();
        self.line(format_args!("{numbers} parameters; passes over {TRAINING} images: {}", demo.epochs));
        let losses = training::train(&network, &training, demo.epochs)?;
        for (epoch, losses) in losses.chunks(losses.len() / demo.epochs as usize).enumerate() {
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            self.line(format_args!("pass {:2}  loss {mean:.4}", epoch + 1));
        }
        let accuracy = training::accuracy(&network, &held_out)?;
        for row in curve::draw(&losses, 72, 6) {
            self.line(row);
        }
        let others = percent(self.accuracy);
        self.line(format_args!("accuracy  {} where centroids reach {others}", percent(accuracy)));
        self.json["network"] = json!({"losses": losses, "accuracy": accuracy, "parameters": numbers});
        self.explain_gradients(&network, &held_out)
    }

    /// Which kernels a call of the network runs, while gradients are recorded.
    fn explain_gradients(&mut self, network: &Network, examples: &Examples) -> Result<()> {
        self.heading("Which kernels run in its last layer, whose weight requires a gradient");
        let features = network.features(&examples.images)?;
        let linear = opgrid::dispatcher()?.operator(ops::Linear)?;
        let bias = network.head.bias.as_ref().map_or(Value::None, Value::from);
        let arguments = [Value::from(&features), Value::from(&network.head.weight), bias];
        let borrowed: Vec<_> = arguments.iter().map(Value::borrow).collect();
        let (result, explanation) = linear.call_explained(&borrowed, &mut Returns::new())?;
        result?;
        self.line(&explanation);
        self.json["network"]["explanation"] = explanation.to_json();
        Ok(())
    }
}

/// Pixels that are mostly ink are 1, the others 0, whatever the scale.
fn ink_or_paper(input: &Tensor, _scale: f64) -> Result<Tensor> {
    let ink = |value: f32| if f64::from(value) > INK / 2.0 { 1.0 } else { 0.0 };
    let pixels: Vec<f32> = input.to_vec::<f32>()?.into_iter().map(ink).collect();
    Tensor::from_slice(&pixels, input.sizes())
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn check(holds: bool, claim: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(disagreement(claim)) }
}

#[cold]
fn disagreement(claim: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("demo: the run contradicts the claim that {claim}"))
}
