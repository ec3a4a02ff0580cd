//! Fine-tunes an exported classifier and writes it back.
//!
//! ```console
//! $ cargo run --release -p fine-tune                                 # examples/fine-tune/classifier.pt2 to tuned.pt2
//! $ cargo run --release -p fine-tune -- classifier.pt2 tuned.pt2
//! $ python examples/fine-tune/classifier.py accuracy tuned.pt2       # the same program in torch
//! ```

use std::path::Path;

use fine_tune::{Digits, accuracy, train};
use opgrid::prelude::*;
use opgrid_graph::Program;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = arguments.next().map_or_else(|| here.join("classifier.pt2"), Into::into);
    let tuned = arguments.next().unwrap_or_else(|| "tuned.pt2".to_owned());
    let [training, test] = Digits::load(&here.join("../data/digits.npz"))?;
    let program = Program::load(model)?;
    println!("before: {:.2} % of {} images", 100.0 * accuracy(&program, &test)?, test.labels.numel());
    train(&program, &training, 15)?;
    println!("after:  {:.2} %", 100.0 * accuracy(&program, &test)?);
    program.save(tuned)
}
