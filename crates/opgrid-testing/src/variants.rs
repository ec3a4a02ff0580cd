//! The overloads of an operator that write: in place, and into an output. The registry has the links to them.

use std::sync::Arc;

use opgrid_core::schema::{FunctionSchema, OperatorName};
use opgrid_core::{Dispatcher, Forms, OperatorHandle, Result};

/// An overload that does what a functional one does, and writes to an argument.
pub(crate) struct Variant {
    pub(crate) operator: OperatorHandle,
    pub(crate) schema: Arc<FunctionSchema>,
}

/// The overloads that are linked to a functional one.
#[derive(Default)]
pub(crate) struct Variants {
    pub(crate) in_place: Option<Variant>,
    pub(crate) output: Option<Variant>,
}

impl Variants {
    /// # Errors
    ///
    /// A link leads nowhere.
    pub(crate) fn for_operator(dispatcher: &Dispatcher, operator: &OperatorHandle) -> Result<Self> {
        let Some(forms) = operator.column::<Forms>()? else { return Ok(Self::default()) };
        if forms.functional.to_string() != operator.name().to_string() {
            return Ok(Self::default());
        }
        let linked = |name: &Option<OperatorName>| {
            name.as_ref().map(|name| Variant::find(dispatcher, &name.to_string())).transpose()
        };
        Ok(Self { in_place: linked(&forms.in_place)?, output: linked(&forms.out)? })
    }

    /// The overloads that there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Variant> {
        self.in_place.iter().chain(&self.output)
    }
}

impl Variant {
    fn find(dispatcher: &Dispatcher, name: &str) -> Result<Self> {
        let operator = dispatcher.find(name)?;
        Ok(Self { schema: operator.schema()?, operator })
    }
}
