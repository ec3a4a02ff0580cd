//! Which operators take numbers where their schemas say tensors.

use opgrid_core::{Column, ErrorKind, Forms, OperatorHandle, Result};

/// The column of operators that take a number in the place of any tensor but the first: front ends pass it as a
/// [number](crate::Tensor::number), so that layers see one operator for both. The functional overload carries it; the
/// forms that are linked to it take numbers, too.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::families::NumbersForTensors;
///
/// opgrid_tensor::home()?;
/// let dispatcher = opgrid_core::Dispatcher::global();
/// assert!(NumbersForTensors::taken_by(dispatcher, &dispatcher.find("aten::add_.Tensor")?)?);
/// assert!(!NumbersForTensors::taken_by(dispatcher, &dispatcher.find("aten::maximum")?)?);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NumbersForTensors;

impl Column for NumbersForTensors {
    const NAME: &'static str = "numbers for tensors";
}

impl NumbersForTensors {
    /// Whether the operator takes numbers where its schema says tensors.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn taken_by(dispatcher: &opgrid_core::Dispatcher, operator: &OperatorHandle) -> Result<bool> {
        if operator.column::<Self>()?.is_some() {
            return Ok(true);
        }
        let Some(forms) = operator.column::<Forms>()? else { return Ok(false) };
        match dispatcher.find(&forms.functional.to_string()) {
            Ok(functional) => Ok(functional.column::<Self>()?.is_some()),
            Err(error) if error.kind() == ErrorKind::Unknown => Ok(false),
            Err(error) => Err(error),
        }
    }
}
