//! `opgrid man`: the manual pages.

use std::path::PathBuf;

use clap_mangen::Man as Page;
use opgrid::{Error, ErrorKind, Result, files};

/// Print the manual page, or write the pages of all commands to a folder.
///
/// `opgrid man | man -l -` shows it.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Write opgrid.1 and a page for each command to this folder, which is made if it is not there.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<String> {
        // Commands know their full names once the definition is built.
        let mut command = crate::command();
        command.build();
        let Some(folder) = &self.out else { return page(&command) };
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("--out: the folder {} cannot be created: {error}", folder.display());
            Error::new(ErrorKind::File, message)
        })?;
        let mut written = String::new();
        let pages = command.get_subcommands().filter(|it| it.get_name() != "help");
        for command in std::iter::once(&command).chain(pages) {
            let name = command.get_display_name().unwrap_or(command.get_name()).replace(' ', "-");
            let path = folder.join(format!("{name}.1"));
            files::write_text(&path, &page(command)?)?;
            written.push_str(&format!("{}\n", path.display()));
        }
        Ok(written)
    }
}

/// The page of a command.
fn page(command: &clap::Command) -> Result<String> {
    let mut text = Vec::new();
    let failed =
        |error: &dyn std::fmt::Display| Error::new(ErrorKind::Internal, format!("manual page: {error}"));
    Page::new(command.clone()).render(&mut text).map_err(|error| failed(&error))?;
    String::from_utf8(text).map_err(|error| failed(&error))
}
