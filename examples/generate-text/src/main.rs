//! Prints how a model continues a prompt.
//!
//! ```console
//! $ cargo run --release -p generate-text -- "The operator "
//! $ cargo run --release -p generate-text -- "The operator " 0.8 model.pt2
//! ```

use std::io::Write;
use std::path::Path;

use generate_text::{Writer, continue_text, draw};
use opgrid::prelude::*;
use opgrid_graph::Program;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let prompt = arguments.next().unwrap_or_else(|| "The operator ".to_owned());
    let temperature = arguments.next().map_or(Ok(0.5), |text| text.parse()).map_err(Error::from_source)?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = arguments.next().map_or_else(|| here.join("model.pt2"), Into::into);
    let mut writer = Writer::new(Program::load(model)?)?;
    let show = |letter| {
        print!("{letter}");
        // A terminal that is gone ends the program when the next letter is printed.
        let _ = std::io::stdout().flush();
    };
    continue_text(&mut writer, &prompt, |scores| draw(scores, temperature), show)?;
    println!();
    Ok(())
}
