//! The commands, one file each.

mod call;
mod completions;
mod coverage;
mod demo;
mod diff;
mod explain;
mod graph;
mod grid;
mod keys;
mod lint;
mod list;
mod man;
mod plugin;
mod record;
mod run;
mod schema;
mod table;

use opgrid::{OperatorHandle, Result};

use crate::answer::Answer;
use crate::suggest;

/// What the command line can be asked to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Call(call::Call),
    Run(run::Run),
    Graph(graph::Graph),
    List(list::List),
    Schema(schema::Schema),
    Table(table::Table),
    Explain(explain::Explain),
    Keys(keys::Keys),
    Coverage(coverage::Coverage),
    Grid(grid::Grid),
    Lint(lint::Lint),
    Record(record::Record),
    Diff(diff::Diff),
    Plugin(plugin::Plugin),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// What the command prints, as text or as one line of JSON.
    pub(crate) fn run(&self, json: bool) -> Result<Answer> {
        match self {
            Self::Call(command) => command.run(json).map(Answer::from),
            Self::Run(command) => command.run(json),
            Self::Graph(command) => command.run(json),
            Self::List(command) => command.run(json),
            Self::Schema(command) => command.run(json).map(Answer::from),
            Self::Table(command) => command.run(json).map(Answer::from),
            Self::Explain(command) => command.run(json).map(Answer::from),
            Self::Keys(command) => command.run(json).map(Answer::from),
            Self::Coverage(command) => command.run(json).map(Answer::from),
            Self::Grid(command) => command.run(json).map(Answer::from),
            Self::Lint(command) => command.run(json),
            Self::Record(command) => command.run().map(Answer::from),
            Self::Diff(command) => command.run(json),
            Self::Plugin(command) => command.run(json).map(Answer::from),
            Self::Demo(command) => command.run(json).map(Answer::from),
            Self::Completions(command) => command.run().map(Answer::from),
            Self::Man(command) => command.run().map(Answer::from),
        }
    }
}

/// The operator of that name where there is one, else all of its overloads: one at least.
fn meant(name: &str) -> Result<Vec<OperatorHandle>> {
    let dispatcher = opgrid::dispatcher()?;
    match dispatcher.find(name.trim()) {
        Ok(operator) => Ok(vec![operator]),
        Err(_) => suggest::overloads(dispatcher, name),
    }
}

/// The overloads that a name may mean.
fn overloads(name: &str) -> Result<Vec<OperatorHandle>> {
    suggest::overloads(opgrid::dispatcher()?, name)
}
