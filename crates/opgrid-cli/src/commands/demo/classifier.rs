//! The nearest-centroid classifier of the demo, made of two operators of its own and of those that are there.

use opgrid::prelude::*;

use crate::digits::Digits;

operator! {
    pub Normalize = "demo::normalize(Tensor self, float scale) -> Tensor";
    pub Scores = "demo::scores(Tensor images, Tensor centroids) -> Tensor";
}

/// The digits that the classifier learns from; it is tested on the others.
pub(super) const TRAINING: i64 = 1200;
/// The value of a pixel that is all ink.
pub(super) const INK: f64 = 16.0;
pub(super) const CLASSES: usize = 10;

/// Adds the demo's operators to the dispatcher, until the registration is dropped.
pub(super) fn register() -> Result<Registration> {
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
    images.mm(&transposed)?.add_with(&squares, -0.5)
}

/// The part of the digits that is right after learning from the others.
pub(super) fn accuracy(digits: &Digits) -> Result<f64> {
    let (training, held_out) = parts(digits)?;
    let learned = centroids(&training, &digits.labels[..TRAINING as usize])?;
    let scores = Scores.call(&held_out, &learned)?.to_vec::<f32>()?;
    let expected = &digits.labels[TRAINING as usize..];
    let right = scores.chunks(CLASSES).zip(expected).filter(|(row, label)| highest(row) == **label);
    Ok(right.count() as f64 / expected.len() as f64)
}

/// The images to learn from and those to be tested on, normalised, one per row.
pub(super) fn parts(digits: &Digits) -> Result<(Tensor, Tensor)> {
    let pixels = Normalize.call(&digits.images, 1.0 / INK)?.view(&[digits.count(), -1])?;
    Ok((pixels.slice(0, 0, TRAINING, 1)?, pixels.slice(0, TRAINING, digits.count(), 1)?))
}

/// The mean image of each digit, one per row: a product with a matrix that says who belongs to whom.
pub(super) fn centroids(images: &Tensor, labels: &[i64]) -> Result<Tensor> {
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

/// Pixels that are mostly ink are 1, the others 0, whatever the scale.
pub(super) fn ink_or_paper(input: &Tensor, _scale: f64) -> Result<Tensor> {
    let ink = |value: f32| if f64::from(value) > INK / 2.0 { 1.0 } else { 0.0 };
    let pixels: Vec<f32> = input.to_vec::<f32>()?.into_iter().map(ink).collect();
    Tensor::from_slice(&pixels, input.sizes())
}
