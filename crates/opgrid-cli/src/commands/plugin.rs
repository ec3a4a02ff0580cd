//! `opgrid plugin`: what a plugin says of itself, without running it.

use std::path::PathBuf;

use opgrid::Result;
use opgrid::plugin::Manifest;
use serde_json::json;

/// Look at plugins. Every command loads them with --plugin FILE.
#[derive(clap::Args)]
pub(crate) struct Plugin {
    #[command(subcommand)]
    question: Question,
}

#[derive(clap::Subcommand)]
enum Question {
    /// Show name, version, namespaces and keys of a plugin, read from its file. Nothing of it is run.
    Info {
        /// The file, or the name of a plugin in a folder of OPGRID_PLUGIN_PATH.
        file: PathBuf,
    },
}

impl Plugin {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let Question::Info { file } = &self.question;
        let manifest = Manifest::read(file)?;
        if !json {
            return Ok(manifest.to_string());
        }
        let (major, minor) = manifest.abi;
        let value = json!({
            "name": manifest.name,
            "version": manifest.version,
            "abi": format!("{major}.{minor}"),
            "namespaces": manifest.namespaces,
            "keys": manifest.keys,
        });
        Ok(format!("{value}\n"))
    }
}
