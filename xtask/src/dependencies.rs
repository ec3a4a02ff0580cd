//! Which packages a crate is built from, as manifests and `Cargo.lock` say: the same on every machine.

use crate::failure::Failure;
use crate::workspace::Workspace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The packages of the workspace and those from elsewhere, each with what it needs to be built.
#[derive(Debug)]
pub struct Dependencies {
    /// By name and version, as packages may occur in several.
    packages: BTreeMap<String, Package>,
}

#[derive(Debug, Default)]
struct Package {
    name: String,
    is_ours: bool,
    /// Names of packages, with their versions where there are several.
    needs: Vec<String>,
}

impl Dependencies {
    /// Reads the dependencies of the workspace.
    ///
    /// # Errors
    /// `Cargo.lock` or a manifest cannot be read.
    pub fn from_workspace(workspace: &Workspace) -> Result<Self, Failure> {
        let lock = workspace.read("Cargo.lock")?.unwrap_or_default();
        Ok(Self::parse(&lock, &workspace.packages()?))
    }

    /// Parses a lock file. It does not separate the dependencies of our crates from those of their tests, which
    /// cargo's description of them does.
    fn parse(lock: &str, ours: &[Value]) -> Self {
        let mut packages = BTreeMap::new();
        for block in lock.split("[[package]]\n").skip(1) {
            let value = |key: &str| {
                let start = format!("{key} = \"");
                block.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
            };
            let needed = block.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
            let mut package = Package {
                name: value("name").unwrap_or_default().to_owned(),
                is_ours: value("source").is_none(),
                needs: needed.map(String::from).collect(),
            };
            if let Some(described) = ours.iter().find(|ours| ours["name"] == package.name.as_str()) {
                let built = built_with(described);
                package.needs.retain(|needed| built.contains(name_in(needed)));
            }
            packages.insert(format!("{} {}", package.name, value("version").unwrap_or_default()), package);
        }
        Self { packages }
    }

    /// How many packages come from elsewhere.
    pub fn foreign(&self) -> usize {
        self.packages.values().filter(|package| !package.is_ours).count()
    }

    /// How many other packages a crate of ours is built from, with all features and on any system.
    pub fn count(&self, name: &str) -> usize {
        self.all_in(name).len().saturating_sub(1)
    }

    /// The crates of ours that one of them is built from, with it.
    pub fn ours_in(&self, name: &str) -> impl Iterator<Item = &str> {
        let ours = self.all_in(name).into_iter().filter_map(|id| self.packages.get(id));
        ours.filter(|package| package.is_ours).map(|package| package.name.as_str())
    }

    /// The packages that one is built from, with it.
    fn all_in(&self, name: &str) -> BTreeSet<&str> {
        let (mut found, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(next) = open.pop() {
            // A name without a version is that of one package.
            let is_meant = |(id, package): &(&String, &Package)| **id == next || package.name == next;
            let Some((id, package)) = self.packages.iter().find(is_meant) else { continue };
            if found.insert(id.as_str()) {
                open.extend(package.needs.iter().map(|needed| needed.as_str()));
            }
        }
        found
    }
}

/// The name in an entry of a lock file, which may have a version and a source behind it.
fn name_in(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or(entry)
}

/// The names of packages that one is built with, not only its tests.
fn built_with(package: &Value) -> BTreeSet<&str> {
    let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let built = all.iter().filter(|dependency| dependency["kind"] != "dev");
    built.filter_map(|dependency| dependency["name"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LOCK: &str = "\
version = 4

[[package]]
name = \"a\"
version = \"0.1.0\"
dependencies = [
 \"b\",
 \"only-in-tests\",
 \"twice 2.0.0\",
]

[[package]]
name = \"b\"
version = \"0.1.0\"
dependencies = [
 \"twice 1.0.0\",
]

[[package]]
name = \"only-in-tests\"
version = \"1.0.0\"
source = \"registry\"

[[package]]
name = \"twice\"
version = \"1.0.0\"
source = \"registry\"

[[package]]
name = \"twice\"
version = \"2.0.0\"
source = \"registry\"
";

    #[test]
    fn what_only_tests_need_does_not_count_and_versions_are_told_apart() {
        let ours = [
            json!({"name": "a", "dependencies": [
                {"name": "b", "kind": null}, {"name": "only-in-tests", "kind": "dev"}, {"name": "twice", "kind": "build"},
            ]}),
            json!({"name": "b", "dependencies": [{"name": "twice", "kind": null}]}),
        ];
        let dependencies = Dependencies::parse(LOCK, &ours);
        assert_eq!(dependencies.foreign(), 3);
        assert_eq!((dependencies.count("a"), dependencies.count("b"), dependencies.count("c")), (3, 1, 0));
        assert_eq!(dependencies.ours_in("a").collect::<Vec<_>>(), ["a", "b"]);
    }
}
