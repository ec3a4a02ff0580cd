//! What layers, backends and language bindings keep with a tensor.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use opgrid_core::deferred_drop::Flat;

use super::handle::Tensor;

/// Values by their types, at most one of each. They are put there once and stay, so that reading takes no lock.
#[derive(Default)]
pub(super) struct Attachments {
    value: OnceLock<Box<dyn Any + Send + Sync>>,
    more: OnceLock<Box<Attachments>>,
}

impl Attachments {
    #[inline]
    fn get<M: Any + Send + Sync>(&self) -> Option<&M> {
        let mut place = self;
        loop {
            if let Some(value) = place.value.get()?.downcast_ref() {
                return Some(value);
            }
            place = place.more.get()?;
        }
    }

    /// Puts a value there, unless one of its type is; gives the one that is there.
    fn put<M: Any + Send + Sync>(&self, value: M) -> &M {
        let mut value = Some(Box::new(value));
        let mut place = self;
        loop {
            let there =
                place.value.get_or_init(|| value.take().expect("a value that was put is the one looked for"));
            if let Some(value) = there.downcast_ref() {
                return value;
            }
            place = place.more.get_or_init(Box::default);
        }
    }
}

/// A value that is replaced. It may own another tensor with such a value.
struct Slot<M: 'static>(Mutex<Option<Flat<Arc<M>>>>);

/// # Values kept with a tensor
impl Tensor {
    /// What somebody keeps with this tensor under that type; handles of one tensor share it, views do not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use opgrid::Tensor;
    ///
    /// struct Name(&'static str);
    ///
    /// let x = Tensor::from_slice(&[1.0f32], &[1])?;
    /// x.set_metadata(Some(Arc::new(Name("bias"))));
    /// assert_eq!(x.clone().metadata::<Name>().map(|name| name.0), Some("bias"));
    /// assert!(x.view_as(x.geometry().clone())?.metadata::<Name>().is_none());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn metadata<M: Any + Send + Sync>(&self) -> Option<Arc<M>> {
        let slot = self.attached::<Slot<M>>()?.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().map(|value| Arc::clone(value))
    }

    /// Keeps a value with this tensor, or nothing any more; the one that was there before comes back. Types are names:
    /// a layer that does not want others to see its values keeps a type to itself.
    pub fn set_metadata<M: Any + Send + Sync>(&self, value: Option<Arc<M>>) -> Option<Arc<M>> {
        let slot = match (self.attached::<Slot<M>>(), &value) {
            (Some(slot), _) => slot,
            (None, None) => return None,
            (None, Some(_)) => self.attach(Slot(Mutex::new(None))),
        };
        // The value that was there comes back, so that it is not dropped under the lock.
        let value = value.map(Flat::new);
        let before = std::mem::replace(&mut *slot.0.lock().unwrap_or_else(PoisonError::into_inner), value);
        before.map(Flat::into_inner)
    }

    /// What was put there by [`attach`](Self::attach) under that type.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// struct Name(&'static str);
    ///
    /// let x = Tensor::from_slice(&[1.0f32], &[1])?;
    /// assert_eq!(x.attach(Name("bias")).0, "bias");
    /// assert_eq!(x.attach(Name("weight")).0, "bias");
    /// assert_eq!(x.clone().attached::<Name>().map(|name| name.0), Some("bias"));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[inline]
    pub fn attached<M: Any + Send + Sync>(&self) -> Option<&M> {
        self.attachments()?.get()
    }

    /// Keeps a value for as long as the tensor lives, unless there is one of its type; gives the one that is there. It is
    /// read without a lock, and never replaced: [`set_metadata`](Self::set_metadata) is for what changes.
    pub fn attach<M: Any + Send + Sync>(&self, value: M) -> &M {
        self.attachments_or_new().put(value)
    }

    /// Whether somebody may keep something with this tensor.
    pub fn may_have_metadata(&self) -> bool {
        self.attachments().is_some()
    }
}
