//! Autocast: products in lower precision, sums and exponentials in float32, while it is on.
//!
//! Kinds give the policy: products are cast to the lower precision, reductions to float32, joined tensors to the widest
//! of them. Other operators compute in what they get. An operator states its exception in its file.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{DType, Device, Dispatcher};
//! use opgrid::{Tensor, layers::autocast};
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid::ops::register(&dispatcher)?;
//! let _layer = autocast::install(&dispatcher)?;
//! let x = Tensor::ones(&[2, 2], DType::F32, Device::CPU)?;
//! let (product, sum) = dispatcher.within(|| {
//!     autocast::within(DType::BF16, || -> opgrid_core::Result<_> { Ok((x.mm(&x)?, x.mm(&x)?.sum()?)) })
//! })?;
//! assert_eq!((product.dtype(), sum.dtype()), (DType::BF16, DType::F32));
//! # Ok::<(), opgrid_core::Error>(())
//! ```

pub mod rule;

use std::any::Any;
use std::cell::Cell;

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{
    BoxedCall, ChangeGuard, ContextPart, DType, DispatchKey, Dispatcher, Kernel, List, LocalKeys,
    Registration, Result, TensorType, Value, ValueRef, ValueView, register_context_part,
};

pub use rule::{CastPolicy, DefineCastPolicy};

use crate::families::kind;
use crate::ops::ToCopy;
use crate::tensor::{Tensor, promote_types};

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for autocast on the CPU already, or policies for kinds.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    register_context_part(&Precision);
    let mut everything = dispatcher.implementations("_", DispatchKey::AutocastCpu);
    everything.fallback(Kernel::engine(cast));
    everything.kind_column(&kind::PRODUCT, CastPolicy::Lower);
    everything.kind_column(&kind::CONVOLUTION, CastPolicy::Lower);
    everything.kind_column(&kind::REDUCTION, CastPolicy::Full);
    everything.kind_column(&kind::JOINING, CastPolicy::Widest);
    everything.finish()
}

/// The lower precision goes along where work goes to other threads.
struct Precision;

impl ContextPart for Precision {
    fn capture(&self) -> Option<Box<dyn Any + Send + Sync>> {
        Some(Box::new(LOWER.get()))
    }

    fn within(&self, state: &(dyn Any + Send + Sync), body: &mut dyn FnMut()) {
        let _before = Before(LOWER.replace(state.downcast_ref().copied().unwrap_or(LOWER.get())));
        body();
    }
}

/// Puts back the precision of the scope around.
struct Before(DType);

impl Drop for Before {
    fn drop(&mut self) {
        LOWER.set(self.0);
    }
}

thread_local! {
    static LOWER: Cell<DType> = const { Cell::new(DType::BF16) };
}

/// Runs `body` with autocast on, with this dtype as the lower precision.
pub fn within<X>(lower: DType, body: impl FnOnce() -> X) -> X {
    let _before = Before(LOWER.replace(lower));
    let keys = LocalKeys::current();
    let _guard = ChangeGuard::new(LocalKeys {
        included: keys.included,
        excluded: keys.excluded.remove(DispatchKey::AutocastCpu),
    });
    body()
}

/// The layer's kernel for every operator.
fn cast(call: &mut BoxedCall<'_>) -> Result<()> {
    let policy = call.column::<CastPolicy>().copied().unwrap_or(CastPolicy::Keep);
    // What is written is the caller's tensor; what was written to a cast of it would be lost.
    let is_write = |schema: &FunctionSchema| schema.arguments.iter().any(Argument::is_write);
    if policy != CastPolicy::Keep && call.schema().is_some_and(is_write) {
        return call.below();
    }
    let Some(target) = target(policy, call.args())? else { return call.below() };
    let values = call.args().iter().map(|value| casted(*value, target)).collect::<Result<Vec<_>>>()?;
    call.below_with(&values.iter().map(Value::borrow).collect::<Vec<_>>())
}

/// The dtype that floating-point arguments are cast to, if any.
fn target(policy: CastPolicy, args: &[ValueRef<'_>]) -> Result<Option<DType>> {
    Ok(match policy {
        CastPolicy::Keep => None,
        CastPolicy::Lower => Some(LOWER.get()),
        CastPolicy::Full => Some(DType::F32),
        CastPolicy::Widest => {
            let dtypes = tensors(args).map(Tensor::dtype).filter(is_castable);
            dtypes.map(Ok).reduce(|a, b| promote_types(a?, b?)).transpose()?
        }
    })
}

/// Whether autocast changes such tensors: floats of at most 32 bits.
fn is_castable(dtype: &DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32)
}

fn tensors<'a>(args: &'a [ValueRef<'a>]) -> impl Iterator<Item = &'a Tensor> {
    args.iter().flat_map(|value| match value.view() {
        ValueView::Tensors(list) => list.iter().filter_map(Tensor::from_any_ref).collect(),
        _ => value.as_tensor().and_then(Tensor::from_any_ref).into_iter().collect::<Vec<_>>(),
    })
}

/// The value with its tensors cast.
fn casted(value: ValueRef<'_>, target: DType) -> Result<Value> {
    if let ValueView::Tensors(list) = value.view() {
        let one = |tensor: &opgrid_core::AnyTensor| match Tensor::from_any_ref(tensor) {
            Some(tensor) => Ok(of_dtype(tensor, target)?.into_any()),
            None => Ok(tensor.clone()),
        };
        return Ok(List::Tensors(list.iter().map(one).collect::<Result<_>>()?).into());
    }
    match value.as_tensor().and_then(Tensor::from_any_ref) {
        Some(tensor) => Ok(of_dtype(tensor, target)?.into()),
        None => Ok(value.to_value()),
    }
}

/// The tensor in that dtype; one that autocast leaves alone is itself.
fn of_dtype(tensor: &Tensor, target: DType) -> Result<Tensor> {
    if !is_castable(&tensor.dtype()) || tensor.dtype() == target || tensor.is_number() {
        return Ok(tensor.clone());
    }
    ToCopy.call(tensor, Some(target), None, None, None, false, None)
}
