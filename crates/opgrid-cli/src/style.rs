//! The colours, one for each thing that is said. They are taken away where nobody sees them, when a text is printed.

use anstyle::{AnsiColor, Effects, Style};
use clap::builder::Styles;

/// A colour for strings.
#[derive(Clone, Copy)]
pub(crate) struct Paint(Style);

impl Paint {
    /// The text in the colour.
    pub(crate) fn apply(self, text: impl std::fmt::Display) -> String {
        let style = self.0;
        format!("{style}{text}{style:#}")
    }
}

const fn colored(color: AnsiColor) -> Paint {
    Paint(color.on_default())
}

pub(crate) const HEADING: Paint = Paint(Style::new().effects(Effects::BOLD));
pub(crate) const QUIET: Paint = Paint(Style::new().effects(Effects::DIMMED));
pub(crate) const ERROR: Paint = Paint(AnsiColor::Red.on_default().effects(Effects::BOLD));
pub(crate) const WARNING: Paint = Paint(AnsiColor::Yellow.on_default().effects(Effects::BOLD));
pub(crate) const NOTE: Paint = Paint(AnsiColor::Cyan.on_default().effects(Effects::BOLD));
pub(crate) const ADDED: Paint = colored(AnsiColor::Green);
pub(crate) const CHANGED: Paint = colored(AnsiColor::Yellow);
pub(crate) const REMOVED: Paint = colored(AnsiColor::Red);

/// The colours of help.
pub(crate) const HELP: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default());

/// The rule that filled a slot, in its colour: kernels of the key itself, of aliases, of fallbacks, none.
pub(crate) fn reason(reason: &str) -> String {
    let paint = match reason.split(' ').next() {
        Some("direct") => colored(AnsiColor::Green),
        Some("alias") => colored(AnsiColor::Blue),
        Some("fallback") => colored(AnsiColor::Yellow),
        Some("missing" | "ambiguous") => colored(AnsiColor::Red),
        _ => QUIET,
    };
    paint.apply(reason)
}
