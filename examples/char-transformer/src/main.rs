//! Trains a transformer on a text and lets it continue a prompt.
//!
//! ```console
//! $ cargo run --release -p char-transformer
//! $ cargo run --release -p char-transformer -- --steps 1000 --temperature 0.5 --seed 7 --prompt "# 0026 " README.md
//! ```
//!
//! Without a file or folder it reads the project's design documents.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use char_transformer::{Model, Shape, Text, sample, train};
use opgrid::nn::Module;
use opgrid::prelude::*;
use opgrid::{ErrorKind, manual_seed};

const USAGE: &str = "char-transformer [--steps COUNT] [--temperature NUMBER] [--seed NUMBER] [--length COUNT] \
                     [--prompt TEXT] [FILE OR FOLDER]";

/// What the command line asks for.
struct Arguments {
    steps: u64,
    temperature: f64,
    seed: u64,
    length: usize,
    prompt: String,
    text: PathBuf,
}

fn main() -> ExitCode {
    match Arguments::read(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { steps, temperature, seed, length, prompt, text } = arguments;
    let text = Text::read(text)?;
    // Before minutes of training, not after them.
    text.encode(prompt)?;
    manual_seed(*seed);
    let model = Model::new(text.alphabet_len(), Shape::default())?;
    let numbers: i64 = model.parameters().iter().map(Tensor::numel).sum();
    println!("{} characters, {} distinct; {numbers} parameters", text.len(), text.alphabet_len());
    let start = Instant::now();
    let every = (steps / 20).max(1);
    train(&model, &text, *steps, &mut |step, loss| {
        if (step + 1) % every == 0 {
            println!("step {:5}  loss {loss:.4}  {:6.1} s", step + 1, start.elapsed().as_secs_f64());
        }
    })?;
    println!("\n{}", sample(&model, &text, prompt, *length, *temperature)?);
    Ok(())
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = Self {
            steps: 500,
            temperature: 0.8,
            seed: 0,
            length: 400,
            prompt: "**Context.** ".to_owned(),
            text: "docs/design".into(),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| usage(&format!("`{word}` has no value")));
            match word.as_str() {
                "--steps" => arguments.steps = number(&word, &value()?)?,
                "--temperature" => arguments.temperature = number(&word, &value()?)?,
                "--seed" => arguments.seed = number(&word, &value()?)?,
                "--length" => arguments.length = number(&word, &value()?)?,
                "--prompt" => arguments.prompt = value()?,
                option if option.starts_with('-') => {
                    return Err(usage(&format!("unknown option `{option}`")));
                }
                path => arguments.text = path.into(),
            }
        }
        Ok(arguments)
    }
}

fn number<T: FromStr>(option: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| usage(&format!("`{option}`: found `{text}`, expected a number")))
}

fn usage(mistake: &str) -> Error {
    Error::new(ErrorKind::Argument, format!("{mistake}; usage: {USAGE}"))
}
