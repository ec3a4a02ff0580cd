//! `cargo xtask site`: the documentation as a web site, from the pages of the repository and from the Python package.
//!
//! The site lies in the folder `site` below cargo's target folder. Its tools are installed once (`site/requirements.txt`); the pages are
//! built without the network. A link that leads nowhere fails the command.

use crate::failure::Failure;
use crate::python::Package;
use crate::workspace::{Workspace, passes};

/// What the pages are built with, one package with its version in a line.
const REQUIREMENTS: &str = "site/requirements.txt";

/// Builds the site.
///
/// # Errors
/// There are arguments (a usage error); the package or the tools cannot be had; a page has a fault.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if !arguments.is_empty() {
        return Err(Failure::usage("`site` takes no arguments"));
    }
    let workspace = Workspace::current()?;
    let requirements = workspace.read(REQUIREMENTS)?;
    let requirements =
        requirements.ok_or_else(|| Failure::new(format!("there is no text in {REQUIREMENTS}")))?;
    let package = Package::beside(&workspace, "site", &packages(&requirements))?;
    let out = workspace.target()?.join("site");
    let mut build = package.command();
    passes(build.current_dir(workspace.root()).arg("site/build.py").arg("--out").arg(&out))
}

/// The packages that a list names, without its comments.
fn packages(requirements: &str) -> Vec<&str> {
    requirements.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_requirements_are_no_packages() {
        assert_eq!(packages("# why\nmkdocs==1.6.1\n\n  other==2\n"), ["mkdocs==1.6.1", "other==2"]);
    }
}
