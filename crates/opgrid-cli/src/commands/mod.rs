//! The commands, one file each.

mod call;
mod coverage;
mod demo;
mod explain;
mod keys;
mod list;
mod plugin;
mod schema;
mod table;

use opgrid::{OperatorHandle, Result};

/// What the command line can be asked to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Call(call::Call),
    Coverage(coverage::Coverage),
    Demo(demo::Demo),
    List(list::List),
    Schema(schema::Schema),
    Table(table::Table),
    Explain(explain::Explain),
    Keys(keys::Keys),
    Plugin(plugin::Plugin),
}

impl Command {
    /// What the command prints, as text or as one line of JSON.
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        match self {
            Self::Call(command) => command.run(json),
            Self::Coverage(command) => command.run(json),
            Self::Demo(command) => command.run(json),
            Self::List(command) => command.run(json),
            Self::Schema(command) => command.run(json),
            Self::Table(command) => command.run(json),
            Self::Explain(command) => command.run(json),
            Self::Keys(command) => command.run(json),
            Self::Plugin(command) => command.run(json),
        }
    }
}

/// The operator of that name.
fn operator(name: &str) -> Result<OperatorHandle> {
    opgrid::dispatcher()?.find(name)
}
