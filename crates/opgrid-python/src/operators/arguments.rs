//! The arguments of a call as Python hands them over.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

/// An argument, borrowed from the caller.
pub(crate) type Object<'a, 'py> = Borrowed<'a, 'py, PyAny>;

/// Arguments by position and by name.
#[derive(Clone)]
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) positional: SmallVec<[Object<'a, 'py>; 6]>,
    pub(crate) keyword: SmallVec<[(Borrowed<'a, 'py, PyString>, Object<'a, 'py>); 4]>,
}

/// What one parameter gets.
#[derive(Clone, Copy)]
pub(crate) enum Source<'s, 'a, 'py> {
    One(Object<'a, 'py>),
    /// Integers or tensors that stand one by one where the schema has a list: `zeros(2, 3)`, `block_diag(x, y)`.
    Rest(&'s [Object<'a, 'py>]),
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// The arguments in a tuple and a dict, with `first` in front of them.
    ///
    /// # Errors
    ///
    /// A keyword that is no text.
    pub(crate) fn from_args(
        first: Option<Object<'a, 'py>>,
        args: &'a Bound<'py, PyTuple>,
        kwargs: Option<&'a Bound<'py, PyDict>>,
    ) -> PyResult<KeptArguments<'py>> {
        let keyword = kwargs.into_iter().flat_map(|kwargs| kwargs.iter());
        let keyword = keyword.map(|(name, value)| Ok((name.cast_into::<PyString>()?, value)));
        let first = first.into_iter().map(Borrowed::to_owned);
        Ok(KeptArguments {
            positional: first.chain(args.iter()).collect(),
            keyword: keyword.collect::<PyResult<_>>()?,
        })
    }
}

/// Arguments that are held, because a tuple and a dict may change while they are used.
pub(crate) struct KeptArguments<'py> {
    positional: SmallVec<[Bound<'py, PyAny>; 6]>,
    keyword: SmallVec<[(Bound<'py, PyString>, Bound<'py, PyAny>); 4]>,
}

impl<'py> KeptArguments<'py> {
    pub(crate) fn borrow(&self) -> Arguments<'_, 'py> {
        Arguments {
            positional: self.positional.iter().map(|object| object.as_borrowed()).collect(),
            keyword: self
                .keyword
                .iter()
                .map(|(name, object)| (name.as_borrowed(), object.as_borrowed()))
                .collect(),
        }
    }
}
