//! Tensors that others implement: a layer's own thing behind the handle that every operator takes.

use std::any::Any;
use std::fmt;

use opgrid_core::{DispatchKeySet, Error};

use super::handle::Tensor;
use super::spec::TensorSpec;
use crate::error::argument;

/// What a layer keeps behind a handle instead of memory: a batch of tensors, a tensor with counters, a recipe.
///
/// Such a tensor stands wherever a [`Tensor`] does, in typed, boxed and method calls. It has sizes, strides, dtype and
/// device of its own, and brings the keys that its layer gave it; the layer's kernels see calls first and look behind
/// the handle with [`Tensor::wrapper`]. Who asks it for memory ([`Tensor::array`]) gets an error that names the layer.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device, DispatchKey};
/// use opgrid::array::TensorSpec;
/// use opgrid::{Tensor, tensor::Wrapper};
///
/// struct Twice(Tensor);
///
/// impl Wrapper for Twice {
///     fn layer(&self) -> &str {
///         "twice"
///     }
///
///     fn spec(&self) -> &TensorSpec {
///         self.0.spec().expect("it is defined")
///     }
/// }
///
/// let inner = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
/// let outer = Tensor::wrap(DispatchKey::AutogradCpu.key_set(), Twice(inner));
/// assert_eq!((outer.sizes(), outer.dtype()), (&[2][..], DType::F32));
/// assert!(outer.wrapper::<Twice>().is_some());
/// assert!(outer.array().unwrap_err().message().contains("`twice`"));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Wrapper: Any + Send + Sync {
    /// The name of the layer, for errors and printing.
    fn layer(&self) -> &str;

    /// What the tensor is like to those who look at it.
    fn spec(&self) -> &TensorSpec;

    /// How often the elements behind it were written. One that wraps another tensor asks that.
    fn version(&self) -> u64 {
        0
    }

    /// Writes the tensor for a person.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = self.spec();
        write!(f, "{}(<{} of sizes {:?}>)", self.layer(), spec.dtype(), spec.sizes())
    }
}

/// # Tensors that layers implement
impl Tensor {
    /// A tensor that is implemented by a layer. It brings these keys into calls and no others: whoever wants it seen by
    /// autograd or by a backend adds their keys, usually those of the tensor inside.
    pub fn wrap(keys: DispatchKeySet, wrapper: impl Wrapper) -> Self {
        Self::wrapping(keys, Box::new(wrapper))
    }

    /// What is behind the handle, if it is a layer's wrapper of that type.
    pub fn wrapper<W: Wrapper>(&self) -> Option<&W> {
        let wrapper: &dyn Any = self.any_wrapper()?;
        wrapper.downcast_ref()
    }

    /// What is behind the handle, if it is a layer's.
    pub fn any_wrapper(&self) -> Option<&dyn Wrapper> {
        self.wrapped()
    }
}

/// The error of somebody who wants memory where there is none.
#[cold]
pub(super) fn no_memory(wrapper: &dyn Wrapper) -> Error {
    let layer = wrapper.layer();
    argument(format!(
        "found a tensor of the layer `{layer}`, which has no memory of its own, expected a dense \
         tensor; call the operator with the layer's key, or unwrap the tensor"
    ))
}
