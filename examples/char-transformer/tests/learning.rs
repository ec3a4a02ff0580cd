//! A few steps lower the loss, and a seed repeats training and samples.
//!
//! One test: the default generator belongs to the whole process.

use std::path::Path;

use char_transformer::{Model, Shape, Text, sample, train};
use opgrid::manual_seed;
use opgrid::prelude::*;

const SMALL: Shape = Shape { width: 16, heads: 2, layers: 1, context: 16 };

/// Losses of a short run, and two continuations.
fn run(text: &Text, seed: u64) -> Result<(Vec<f64>, [String; 2])> {
    manual_seed(seed);
    let model = Model::new(text.alphabet_len(), SMALL)?;
    let mut losses = Vec::new();
    train(&model, text, 60, &mut |_, loss| losses.push(loss))?;
    Ok((losses, [sample(&model, text, "# ", 30, 0.8)?, sample(&model, text, "# ", 30, 0.0)?]))
}

fn message<T>(result: Result<T>) -> String {
    result.err().map_or("no error".to_owned(), |error| error.to_string())
}

#[test]
fn it_learns_and_repeats() -> Result<()> {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design");
    let text = Text::read(&documents)?;
    let (losses, samples) = run(&text, 1)?;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (mean(&losses[..10]), mean(&losses[50..]));
    assert!(last < 0.8 * first, "the loss went from {first} to {last}");
    assert!(samples.iter().all(|it| it.starts_with("# ") && it.chars().count() == 32), "{samples:?}");
    assert_eq!(run(&text, 1)?, (losses.clone(), samples.clone()));
    let (others, other_samples) = run(&text, 2)?;
    assert!(others != losses && other_samples[0] != samples[0]);

    // A character does not see later ones.
    let model = Model::new(3, SMALL)?;
    let start = model.forward(&tensor!([0, 1, 2])?)?.select(1, 0)?;
    assert!(start.allclose(&model.forward(&tensor!([0, 2, 1])?)?.select(1, 0)?, 1e-5, 1e-6)?);

    assert!(message(Text::new("")).contains("found a text without characters"));
    assert!(message(text.encode("\u{1}")).contains("expected a character that occurs in the text"));
    assert!(
        message(Text::new("short")?.batch(1, 16))
            .contains("found a text of 5 characters, expected more than the 16")
    );
    assert!(message(Text::read(Path::new("no such folder"))).contains("no such folder: cannot be read"));
    assert!(message(sample(&model, &text, "#", 1, -1.0)).contains("found the temperature -1"));
    assert!(message(sample(&model, &text, "", 1, 1.0)).contains("found a prompt without characters"));
    let long = Tensor::zeros(&[1, 17], DType::I64, Device::CPU)?;
    assert!(
        message(model.forward(&long))
            .contains("found characters of shape [1, 17], expected (batch, 1 to 16)")
    );
    Ok(())
}
