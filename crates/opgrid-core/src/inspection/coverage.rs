//! Which operators a backend has, and from where.

use std::fmt;

use super::dump::TableSlot;
use crate::calling::operator::OperatorHandle;
use crate::calling::reason::Reason;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::parts::BackendComponent;
use crate::registration::dispatcher::Dispatcher;

/// Where a backend has an operator from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A kernel of the backend's own.
    Native,
    /// A kernel for all backends, made of other operators; whether the backend has these is a question of its own.
    Composite,
    /// The backend's fallback, such as one that goes through the CPU.
    Fallback,
    /// Nowhere: a call is an error.
    Missing,
}

impl Source {
    /// All of them, the nearest first.
    pub const ALL: [Self; 4] = [Self::Native, Self::Composite, Self::Fallback, Self::Missing];

    /// The source in lower case, as in `native`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Composite => "composite",
            Self::Fallback => "fallback",
            Self::Missing => "missing",
        }
    }

    fn from_slot(slot: &TableSlot) -> Self {
        match slot.reason {
            Reason::Direct => Self::Native,
            Reason::Alias(_) => Self::Composite,
            Reason::Fallback => Self::Fallback,
            Reason::Ambiguous | Reason::SteppedOver | Reason::Missing => Self::Missing,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a backend has of all operators.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// The backend's key.
    pub key: DispatchKey,
    /// Every defined operator by name, with what fills its slot.
    pub operators: Vec<(OperatorHandle, Source, TableSlot)>,
}

impl Coverage {
    /// How many operators come from there.
    pub fn count(&self, source: Source) -> usize {
        self.from(source).count()
    }

    /// The operators that come from there, by name, with what fills their slots.
    pub fn from(&self, source: Source) -> impl Iterator<Item = (&OperatorHandle, &TableSlot)> {
        self.operators.iter().filter(move |row| row.1 == source).map(|(operator, _, slot)| (operator, slot))
    }
}

impl Dispatcher {
    /// What a backend has of all operators.
    ///
    /// # Errors
    ///
    /// A key that is no backend's, such as `AutogradCPU` or an alias.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{DispatchKey, Dispatcher, Source};
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("my");
    /// library.define("my::half(Tensor self) -> Tensor");
    /// let _registration = library.finish()?;
    /// assert_eq!(dispatcher.coverage(DispatchKey::Cpu)?.count(Source::Missing), 1);
    /// assert!(dispatcher.coverage(DispatchKey::AutogradCpu).is_err());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn coverage(&self, key: DispatchKey) -> Result<Coverage> {
        if !BackendComponent::all().any(|backend| backend.key() == key) {
            let message = format!("found key {key}, expected a backend key such as CPU or Meta");
            return Err(Error::new(ErrorKind::Argument, message));
        }
        // What is taken back meanwhile is not counted.
        let slots = self.operators().into_iter().filter_map(|operator| {
            let slot = operator.slot(key).ok()?;
            Some((operator, Source::from_slot(&slot), slot))
        });
        Ok(Coverage { key, operators: slots.collect() })
    }

    /// What every backend has that has a kernel or a fallback of its own.
    pub fn coverage_of_all(&self) -> Vec<Coverage> {
        let all = BackendComponent::all().filter_map(|backend| self.coverage(backend.key()).ok());
        all.filter(|coverage| coverage.count(Source::Native) + coverage.count(Source::Fallback) > 0).collect()
    }
}
