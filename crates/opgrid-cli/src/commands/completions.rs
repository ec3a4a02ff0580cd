//! `opgrid completions`: scripts with which shells complete the command line.

use clap_complete::Shell;
use opgrid::{Error, ErrorKind, Result};

/// Print a script with which a shell completes this command line.
///
/// For bash: opgrid completions bash > ~/.local/share/bash-completion/completions/opgrid. For zsh: write it as _opgrid
/// to a folder of $fpath. For fish: to ~/.config/fish/completions/opgrid.fish.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell: bash, zsh, fish, elvish or powershell.
    #[arg(value_enum, hide_possible_values = true)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<String> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::command(), "opgrid", &mut script);
        String::from_utf8(script)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("the script is no text: {error}")))
    }
}
