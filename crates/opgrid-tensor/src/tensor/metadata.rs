//! What layers, backends and language bindings keep with a tensor.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

use super::handle::Tensor;

/// Values by their types, at most one of each.
#[derive(Default)]
pub(super) struct Metadata(Mutex<Vec<(TypeId, Arc<dyn Any + Send + Sync>)>>);

impl Metadata {
    fn get<M: Any + Send + Sync>(&self) -> Option<Arc<M>> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = values.iter().find(|(id, _)| *id == TypeId::of::<M>())?.1.clone();
        found.downcast().ok()
    }

    /// The value that was there before comes back, so that it is not dropped under the lock.
    fn set<M: Any + Send + Sync>(&self, value: Option<Arc<M>>) -> Option<Arc<M>> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = values.iter().position(|(id, _)| *id == TypeId::of::<M>());
        let before = place.map(|place| values.swap_remove(place).1);
        if let Some(value) = value {
            values.push((TypeId::of::<M>(), value));
        }
        drop(values);
        before.and_then(|before| before.downcast().ok())
    }
}

impl Tensor {
    /// What somebody keeps with this tensor under that type; handles of one tensor share it, views do not.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use opgrid_tensor::Tensor;
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
        self.metadata_if_any()?.get()
    }

    /// Whether somebody may keep something with this tensor.
    pub(crate) fn may_have_metadata(&self) -> bool {
        self.metadata_if_any().is_some()
    }

    /// Keeps a value with this tensor, or nothing any more; the one that was there before comes back. Types are names:
    /// a layer that does not want others to see its values keeps a type to itself.
    pub fn set_metadata<M: Any + Send + Sync>(&self, value: Option<Arc<M>>) -> Option<Arc<M>> {
        match value {
            None => self.metadata_if_any()?.set::<M>(None),
            value => self.metadata_place().set(value),
        }
    }
}
