//! A mode that finds the operator at which a computation goes wrong: the first whose result has a NaN, or an infinity, that none of its
//! arguments has.
//!
//! It sees every operator that a thread calls inside of `hunt`, those of backward passes too, and runs each as it is. Around
//! `grad` and other transforms it sees what they are made of, as `opgrid::layers::modes` stands below them.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opgrid::dispatch::{BoxedCall, Value, ValueRef};
use opgrid::layers::levels::each_tensor;
use opgrid::layers::modes::{self, Mode};
use opgrid::prelude::*;

/// Which elements are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// Elements that are no number.
    Nan,
    /// These, and infinite ones.
    NonFinite,
}

impl Anomaly {
    /// How many elements of a tensor are such.
    fn count(self, tensor: &Tensor) -> Result<i64> {
        // What has no elements of its own, as a fake tensor, is passed over.
        if tensor.array().is_err() || tensor.device().is_meta() || !tensor.dtype().is_floating_point() {
            return Ok(0);
        }
        let x = tensor.detach()?;
        let found = match self {
            Self::Nan => x.isnan()?,
            Self::NonFinite => x.isfinite()?.logical_not()?,
        };
        found.sum()?.item()?.to_i64()
    }

    /// How many elements of all tensors among some values are such, those of each tensor.
    fn counts(self, values: &[ValueRef<'_>]) -> Result<Vec<(i64, Tensor)>> {
        let mut tensors = Vec::new();
        each_tensor(values, &mut |tensor| tensors.push(tensor.clone()));
        tensors.into_iter().map(|tensor| Ok((self.count(&tensor)?, tensor))).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nan => "NaN",
            Self::NonFinite => "NaN or infinity",
        }
    }
}

/// Runs code, and stops at the first operator whose result has such elements, and no argument does.
///
/// # Errors
///
/// Those of the code; one that names the operator, how many calls came before it, and the shapes of its arguments; a dispatcher without
/// modes (`opgrid::layers::modes::install`).
///
/// # Examples
///
/// ```
/// use nan_hunter::{Anomaly, hunt};
/// use opgrid::prelude::*;
///
/// let _modes = opgrid::layers::modes::install(opgrid::dispatcher()?)?;
/// let x = Tensor::from_slice(&[1.0f32, -1.0], 2)?;
/// let error = hunt(Anomaly::Nan, || x.mul(2)?.sqrt()?.exp()).unwrap_err();
/// assert_eq!(
///     error.message(),
///     "aten::sqrt made NaN in 1 of 2 elements of shape [2], and no argument has one; 1 operator was called before, and the shapes of its \
///      arguments are [[2]]"
/// );
/// # Ok::<(), opgrid::Error>(())
/// ```
pub fn hunt<X>(anomaly: Anomaly, body: impl FnOnce() -> Result<X>) -> Result<X> {
    let _hunting = modes::enter(Arc::new(Hunter { anomaly, calls: AtomicU64::new(0) }))?;
    body()
}

struct Hunter {
    anomaly: Anomaly,
    /// How many operators were called.
    calls: AtomicU64,
}

impl Mode for Hunter {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        let before = self.calls.fetch_add(1, Ordering::Relaxed);
        // An operator that writes has its result among its arguments afterwards.
        let given = self.anomaly.counts(call.args())?;
        let is_known = given.iter().any(|(count, _)| *count > 0);
        let name = call.operator().name().to_string();
        call.call()?;
        // What is not filled yet may have anything in it.
        if is_known || name.contains("empty") {
            return Ok(());
        }
        let results: Vec<Value> = call.returns().iter().cloned().collect();
        let results: Vec<ValueRef<'_>> = results.iter().map(Value::borrow).collect();
        for (count, tensor) in self.anomaly.counts(&results)? {
            if count > 0 {
                let shapes: Vec<Vec<i64>> = given.iter().map(|(_, tensor)| tensor.sizes().to_vec()).collect();
                let calls = if before == 1 { "operator was" } else { "operators were" };
                return Err(Error::new(
                    ErrorKind::Kernel,
                    format!(
                        "{name} made {} in {count} of {} elements of shape {:?}, and no argument has one; {before} {calls} called before, and \
                         the shapes of its arguments are {shapes:?}",
                        self.anomaly.name(),
                        tensor.numel(),
                        tensor.sizes(),
                    ),
                ));
            }
        }
        Ok(())
    }
}
