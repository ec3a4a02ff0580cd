//! The links between the overloads of a family: functional, in place, into an output.

use std::fmt;

use opgrid_schema::OperatorName;

use crate::calling::columns::Column;

/// The overloads that compute the same: one gives a new result, others write it. Each of them carries the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms {
    /// The overload that gives new results.
    pub functional: OperatorName,
    /// The one that writes its first argument.
    pub in_place: Option<OperatorName>,
    /// The one that writes its last arguments.
    pub out: Option<OperatorName>,
}

impl Column for Forms {
    const NAME: &'static str = "forms";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "functional {}", self.functional)?;
        if let Some(in_place) = &self.in_place {
            write!(f, ", in place {in_place}")?;
        }
        match &self.out {
            Some(out) => write!(f, ", out {out}"),
            None => Ok(()),
        }
    }
}
