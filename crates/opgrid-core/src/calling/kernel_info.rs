//! A kernel as people see it: in steps that observers are notified of, in explanations and in listings.

use serde_json::{Value as Json, json};

use crate::calling::kernel::{KernelRecord, Role};

/// A kernel, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name by which it joined its chain.
    pub name: Option<String>,
    /// The author's text.
    pub description: Option<String>,
    /// What has to hold of the arguments for it to run.
    pub condition: Option<String>,
    /// File and line of the registration.
    pub place: String,
    /// Whether it is a function of typed arguments.
    pub typed: bool,
    /// Whether it is no code: calls step over the keys that it stands at.
    pub fallthrough: bool,
}

impl KernelInfo {
    pub(crate) fn from_record(kernel: &KernelRecord) -> Self {
        Self {
            name: kernel.name.as_deref().map(str::to_owned).or_else(|| names_of_chain(kernel)),
            description: kernel.origin.description.as_deref().map(str::to_owned),
            place: kernel.origin.place.to_string(),
            condition: kernel.condition.as_ref().map(|condition| condition.text.to_string()),
            typed: kernel.role == Role::Typed || !kernel.typed.entry.is_null(),
            fallthrough: kernel.is_fallthrough(),
        }
    }

    /// What a listing calls the kernel: its name, else its author's text, else its sort.
    pub fn title(&self) -> &str {
        let plain = match self {
            Self { fallthrough: true, .. } => "fallthrough",
            Self { typed: true, .. } => "typed kernel",
            _ => "boxed kernel",
        };
        self.name.as_deref().or(self.description.as_deref()).unwrap_or(plain)
    }

    /// The kernel as JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "name": self.name,
            "description": self.description,
            "condition": self.condition,
            "typed": self.typed,
            "fallthrough": self.fallthrough,
            "place": self.place,
        })
    }
}

/// The providers of a chain, in their order.
fn names_of_chain(kernel: &KernelRecord) -> Option<String> {
    let links = kernel.links.as_ref()?;
    let names = links.providers.iter().map(|provider| provider.name.as_deref().unwrap_or("(unnamed)"));
    Some(names.collect::<Vec<_>>().join(", "))
}
