//! The handle of a tensor: a key set that the dispatcher reads, in front of data that it never looks into.
//!
//! ```text
//! handle ──► layers: u64 │ backends: u32 │ count │ vtable │ data of the tensor library …
//! ```
//!
//! The keys come first because every call of every operator reads them. A tensor library wraps [`AnyTensor`] in a
//! type of its own ([`TensorType`]) and gives it methods; the dispatcher, boxed kernels and layers work on
//! [`AnyTensor`].
#![allow(unsafe_code)]

use std::any::TypeId;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use crate::keys::set::DispatchKeySet;

mod recycle;
pub(crate) mod weak;

pub use weak::WeakTensor;

/// What a tensor library keeps in a record.
pub trait TensorData: Send + Sync + 'static {
    /// Writes the tensor for a person, as in printed values and in errors.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// What one handle counts for.
const HANDLE: usize = 2;

/// The part of a record that is the same for every tensor library.
#[repr(C)]
struct Head {
    /// Layers can change under a shared handle (a tensor starts to require a gradient), backends cannot.
    layers: AtomicU64,
    backends: u32,
    /// Twice the number of handles, and a bit for weak ones ([`weak::MARK`]).
    count: AtomicUsize,
    vtable: &'static Vtable,
}

struct Vtable {
    data: TypeId,
    describe: unsafe fn(NonNull<Head>, &mut fmt::Formatter<'_>) -> fmt::Result,
    free: unsafe fn(NonNull<Head>),
}

#[repr(C)]
struct Record<D> {
    head: Head,
    data: D,
}

impl<D: TensorData> Record<D> {
    const VTABLE: Vtable = Vtable {
        data: TypeId::of::<D>(),
        describe: |head, f| {
            // SAFETY: only `AnyTensor::new` puts a table into a record, that of `Record<D>` into a `Record<D>`; the handle that
            // calls keeps it alive.
            unsafe { head.cast::<Self>().as_ref() }.data.describe(f)
        },
        free: |head| {
            // SAFETY:
            // - `AnyTensor::new` made this record and put this table into it.
            // - Only `AnyTensor`'s `drop` calls this, for the last handle.
            unsafe { Self::free(head.cast()) }
        },
    };
}

impl<D> Record<D> {
    /// # Safety
    ///
    /// [`AnyTensor::new`] made the record, and nobody uses it.
    #[inline]
    unsafe fn free(record: NonNull<Self>) {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { std::ptr::drop_in_place(record.as_ptr()) };
        // SAFETY: its memory came from there, for this type, and what was in it is gone.
        unsafe { recycle::release(record) };
    }
}

/// A counted handle of any tensor, one pointer wide.
///
/// # Examples
///
/// ```
/// use opgrid_core::{AnyTensor, DispatchKey, DispatchKeySet, TensorData};
///
/// struct Number(f32);
/// impl TensorData for Number {
///     fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         write!(f, "number {}", self.0)
///     }
/// }
///
/// let x = AnyTensor::new(DispatchKeySet::from_key(DispatchKey::Cpu), Number(2.0));
/// assert_eq!(x.data::<Number>().unwrap().0, 2.0);
/// assert_eq!(x.to_string(), "number 2");
/// assert!(x.is_same(&x.clone()));
/// ```
#[repr(transparent)]
pub struct AnyTensor(NonNull<Head>);

// SAFETY: a handle gives shared access to atomics and to data that is `Send + Sync`; the last handle drops the
// data on whatever thread it is, which `Send` allows.
unsafe impl Send for AnyTensor {}
// SAFETY: a handle gives shared access to atomics and to data that is `Sync`.
unsafe impl Sync for AnyTensor {}

impl AnyTensor {
    /// A new record with these keys and this data.
    #[inline]
    pub fn new<D: TensorData>(keys: DispatchKeySet, data: D) -> Self {
        Self::with(keys, || data)
    }

    /// As [`new`](Self::new), with data that is made where it stays: what was just written in parts would be read as a whole
    /// to be moved, for which the processor waits.
    #[inline]
    pub fn with<D: TensorData>(keys: DispatchKeySet, data: impl FnOnce() -> D) -> Self {
        let head = Head {
            layers: AtomicU64::new(keys.layers()),
            backends: keys.backends(),
            count: AtomicUsize::new(HANDLE),
            vtable: &Record::<D>::VTABLE,
        };
        let room = recycle::Room::<Record<D>>::new();
        let memory = room.memory().as_ptr();
        // SAFETY: the memory is new, and was allocated for such a record.
        unsafe { (&raw mut (*memory).data).write(data()) };
        // SAFETY: the memory is new, and was allocated for such a record.
        unsafe { (&raw mut (*memory).head).write(head) };
        Self(room.filled().cast())
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: a handle is counted, so its record is there; a record is `repr(C)` and begins with its head.
        unsafe { self.0.as_ref() }
    }

    /// The keys that this tensor brings into a call.
    #[inline]
    pub fn keys(&self) -> DispatchKeySet {
        let head = self.head();
        DispatchKeySet::from_parts(head.layers.load(Ordering::Relaxed), head.backends)
    }

    /// Replaces the layers' half of the keys, for every handle of this tensor; the backends stay.
    pub fn set_layers(&self, keys: DispatchKeySet) {
        self.head().layers.store(keys.layers(), Ordering::Relaxed);
    }

    /// The data, if it is of type `D`.
    #[inline]
    pub fn data<D: TensorData>(&self) -> Option<&D> {
        if self.head().vtable.data != TypeId::of::<D>() {
            return None;
        }
        // SAFETY: the table says that this record is a `Record<D>`, and `self` keeps it alive.
        Some(&unsafe { self.0.cast::<Record<D>>().as_ref() }.data)
    }

    /// The data of a tensor that is known to have such: without a question, but where debug assertions are on.
    ///
    /// # Safety
    ///
    /// [`data`](Self::data) would find it.
    #[inline]
    pub unsafe fn data_unchecked<D: TensorData>(&self) -> &D {
        debug_assert!(self.data::<D>().is_some());
        // SAFETY: guaranteed by the caller, see `# Safety`; `self` keeps the record alive.
        &unsafe { self.0.cast::<Record<D>>().as_ref() }.data
    }

    /// The data for changing, if it is of type `D` and this is the only handle; one that weak handles lead to, or once
    /// led to, is not.
    pub fn data_mut<D: TensorData>(&mut self) -> Option<&mut D> {
        // One handle, and no weak ones, which could become others meanwhile.
        if self.head().count.load(Ordering::Relaxed) != HANDLE || self.head().vtable.data != TypeId::of::<D>()
        {
            return None;
        }
        fence(Ordering::Acquire);
        // SAFETY: the table names the type; the only handle is borrowed mutably, so nothing else can reach the data.
        Some(&mut unsafe { self.0.cast::<Record<D>>().as_mut() }.data)
    }

    /// The handle as a pointer, for code of other languages. It counts on: [`from_raw`](Self::from_raw) takes it back.
    ///
    /// A handle is nothing but this pointer, so that a list of handles is a list of such pointers, and one with gaps has null
    /// pointers in their places.
    #[inline]
    pub fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).0.cast()
    }

    /// The pointer of [`into_raw`](Self::into_raw), while the handle stays here.
    #[inline]
    pub fn as_raw(&self) -> NonNull<()> {
        self.0.cast()
    }

    /// Takes a handle back.
    ///
    /// # Safety
    ///
    /// The pointer comes from [`into_raw`](Self::into_raw), and is taken back once.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }

    /// Whether both handles lead to one tensor.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// How many handles lead to this tensor, at the moment of asking.
    pub fn handle_count(&self) -> usize {
        self.head().count.load(Ordering::Relaxed) / HANDLE
    }
}

impl Clone for AnyTensor {
    #[inline]
    fn clone(&self) -> Self {
        let before = self.head().count.fetch_add(HANDLE, Ordering::Relaxed);
        if before > usize::MAX / 2 {
            // Only a loop of `mem::forget` gets here; going on would free a record in use.
            std::process::abort();
        }
        Self(self.0)
    }
}

impl Drop for AnyTensor {
    #[inline]
    fn drop(&mut self) {
        let head = self.head();
        // The only handle needs no read-modify-write: there is none left that could be cloned.
        if head.count.load(Ordering::Acquire) != HANDLE {
            let before = head.count.fetch_sub(HANDLE, Ordering::Release);
            if before > HANDLE | weak::MARK {
                return;
            }
            fence(Ordering::Acquire);
            if before & weak::MARK != 0 {
                weak::forget(self.0);
            }
        }
        let free = head.vtable.free;
        // SAFETY: the count says that this was the last handle; `AnyTensor::new` put the table of its record there.
        unsafe { free(self.0) }
    }
}

impl fmt::Display for AnyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let describe = self.head().vtable.describe;
        // SAFETY: `AnyTensor::new` put the table of its record there; `self` keeps the record alive.
        unsafe { describe(self.0, f) }
    }
}

impl fmt::Debug for AnyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A library's own tensor type: [`AnyTensor`] with methods. [`tensor_type!`](crate::tensor_type) makes one without unsafe
/// code.
///
/// The type can then stand in signatures: kernels take `&Self` and return `Self`, and the dispatcher converts at
/// the borders between typed and boxed code.
///
/// # Safety
///
/// - `Self` is `#[repr(transparent)]` over [`AnyTensor`]. That it has the same size and alignment is asserted where the
///   type is first used:
///
///   ```compile_fail,E0080
///   use opgrid_core::{AnyTensor, Dispatcher, TensorType};
///
///   #[derive(Clone)]
///   struct Named(AnyTensor, u64);
///
///   unsafe impl TensorType for Named {
///       fn accepts(_: &AnyTensor) -> bool {
///           true
///       }
///   }
///
///   fn call(named: Named) -> opgrid_core::Result<()> {
///       Dispatcher::global().find("a::b")?.typed::<fn(Named) -> ()>()?.call((&named,))
///   }
///
///   fn main() {
///       let _: fn(Named) -> opgrid_core::Result<()> = call;
///   }
///   ```
/// - Whatever safe code may do with a `Self` is sound for every handle that [`accepts`](Self::accepts) lets in.
/// - The methods with a body stay as they are here.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a tensor nor another type that operators know",
    note = "arguments and results are tensors, i64, f64, bool, String, Scalar, Complex64, SymInt, DType, Layout, \
            MemoryFormat, Device, Generator, Value, objects in an `Arc`, and `Option`, `Vec`, arrays, `Dict` and \
            tuples of them"
)]
pub unsafe trait TensorType: Clone + Send + Sync + 'static {
    /// Whether this handle may become a `Self`.
    fn accepts(tensor: &AnyTensor) -> bool;

    /// The handle of any tensor seen as one of this type.
    #[inline]
    fn from_any_ref(tensor: &AnyTensor) -> Option<&Self> {
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is transparent
        // over `AnyTensor`. `accepts` is asked here.
        Self::accepts(tensor).then(|| unsafe { &*std::ptr::from_ref(tensor).cast::<Self>() })
    }

    /// The handle of any tensor turned into one of this type, or given back.
    ///
    /// # Errors
    ///
    /// The handle itself, where [`accepts`](Self::accepts) refuses it.
    #[inline]
    fn from_any(tensor: AnyTensor) -> Result<Self, AnyTensor> {
        if !Self::accepts(&tensor) {
            return Err(tensor);
        }
        let tensor = ManuallyDrop::new(tensor);
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`. `accepts` was asked above; the original is in a `ManuallyDrop`, so the count
        // stays right.
        Ok(unsafe { std::mem::transmute_copy::<AnyTensor, Self>(&tensor) })
    }

    /// The untyped handle behind a reference.
    #[inline]
    fn as_any(&self) -> &AnyTensor {
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`.
        unsafe { &*std::ptr::from_ref(self).cast::<AnyTensor>() }
    }

    /// The untyped handle.
    #[inline]
    fn into_any(self) -> AnyTensor {
        const { assert_transparent::<Self>() };
        let this = ManuallyDrop::new(self);
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`. The original is in a `ManuallyDrop`, so the count stays right.
        unsafe { std::mem::transmute_copy::<Self, AnyTensor>(&this) }
    }

    /// A slice of untyped handles seen as handles of this type, if every one is.
    #[inline]
    fn from_any_slice(tensors: &[AnyTensor]) -> Option<&[Self]> {
        let all = tensors.iter().all(Self::accepts);
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`, so the slices have one layout. Every element was asked for above.
        all.then(|| unsafe { std::slice::from_raw_parts(tensors.as_ptr().cast::<Self>(), tensors.len()) })
    }

    /// A slice of handles of this type seen as untyped ones.
    #[inline]
    fn as_any_slice(tensors: &[Self]) -> &[AnyTensor] {
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`, so the slices have one layout.
        unsafe { std::slice::from_raw_parts(tensors.as_ptr().cast::<AnyTensor>(), tensors.len()) }
    }

    /// As [`from_any_slice`](Self::from_any_slice) for lists with gaps.
    #[inline]
    fn from_any_optional_slice(tensors: &[Option<AnyTensor>]) -> Option<&[Option<Self>]> {
        let all = tensors.iter().flatten().all(Self::accepts);
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`, which is a `NonNull`, so that null stands for `None` in both. Every element
        // was asked for above.
        all.then(|| unsafe {
            std::slice::from_raw_parts(tensors.as_ptr().cast::<Option<Self>>(), tensors.len())
        })
    }

    /// As [`as_any_slice`](Self::as_any_slice) for lists with gaps.
    #[inline]
    fn as_any_optional_slice(tensors: &[Option<Self>]) -> &[Option<AnyTensor>] {
        const { assert_transparent::<Self>() };
        // SAFETY: promised by who implements the trait, see `# Safety`, and its size asserted above: `Self` is
        // transparent over `AnyTensor`, which is a `NonNull`, so that null stands for `None` in both.
        unsafe { std::slice::from_raw_parts(tensors.as_ptr().cast::<Option<AnyTensor>>(), tensors.len()) }
    }
}

/// Fails to compile where `T` cannot be transparent over [`AnyTensor`].
const fn assert_transparent<T>() {
    assert!(
        size_of::<T>() == size_of::<AnyTensor>()
            && align_of::<T>() == align_of::<AnyTensor>()
            && size_of::<Option<T>>() == size_of::<Option<AnyTensor>>(),
        "a tensor type has to be `#[repr(transparent)]` over `AnyTensor`; `tensor_type!` makes one"
    );
}

// SAFETY: `AnyTensor` is itself, and every handle is one.
unsafe impl TensorType for AnyTensor {
    #[inline]
    fn accepts(_: &AnyTensor) -> bool {
        true
    }
}

/// Declares a tensor type of a library's own: a handle whose data is of one type, in front of which the library puts
/// methods. No unsafe code is written for it.
///
/// `tensor_type! { pub struct Name(Data); }` becomes
///
/// ```text
/// #[derive(Clone)]
/// #[repr(transparent)]
/// pub struct Name(AnyTensor);
///
/// // SAFETY: it is transparent, and what it may do with its handle any safe code may do with any handle.
/// unsafe impl TensorType for Name {
///     fn accepts(tensor: &AnyTensor) -> bool {
///         tensor.data::<Data>().is_some()
///     }
/// }
///
/// impl Name {
///     /// A new tensor with these keys and this data.
///     fn from_data(keys: DispatchKeySet, data: Data) -> Self;
///
///     /// The data. Panics in a `Name` that this module has put around a handle of other data.
///     fn data(&self) -> &Data;
/// }
/// ```
///
/// with the attributes and the visibility that stand there. The handle is the private field `0`.
///
/// # Examples
///
/// ```
/// #![forbid(unsafe_code)]
/// use opgrid_core::{DispatchKey, TensorData, TensorType, tensor_key_set, tensor_type};
///
/// /// What a record of this library holds.
/// struct Words(Vec<String>);
///
/// impl TensorData for Words {
///     fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         write!(f, "{:?}", self.0)
///     }
/// }
///
/// tensor_type! {
///     /// A list of words. Clones are the same list.
///     pub struct Text(Words);
/// }
///
/// impl Text {
///     pub fn new(words: &[&str]) -> Self {
///         let words = words.iter().map(|word| word.to_string()).collect();
///         Self::from_data(tensor_key_set(DispatchKey::Cpu), Words(words))
///     }
///
///     pub fn words(&self) -> &[String] {
///         &self.data().0
///     }
/// }
///
/// let text = Text::new(&["a", "b"]);
/// assert_eq!(text.words(), ["a", "b"]);
/// assert!(Text::from_any_ref(text.as_any()).is_some());
/// ```
#[macro_export]
macro_rules! tensor_type {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident($data:ty);) => {
        $(#[$attribute])*
        #[derive(Clone)]
        #[repr(transparent)]
        $visibility struct $name($crate::AnyTensor);

        // SAFETY:
        // - The line above the type makes it transparent over `AnyTensor`.
        // - The methods below ask the handle for its data with a check; other code of the module has safe methods alone,
        //   or its own promises to keep.
        unsafe impl $crate::TensorType for $name {
            #[inline]
            fn accepts(tensor: &$crate::AnyTensor) -> bool {
                tensor.data::<$data>().is_some()
            }
        }

        #[allow(dead_code)]
        impl $name {
            /// A new tensor with these keys and this data.
            fn from_data(keys: $crate::DispatchKeySet, data: $data) -> Self {
                Self($crate::AnyTensor::new(keys, data))
            }

            /// The data.
            #[inline]
            fn data(&self) -> &$data {
                self.0.data::<$data>().expect("`accepts` let the handle in")
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::key::DispatchKey;
    use std::sync::Arc;

    struct Counted(Arc<()>);
    impl TensorData for Counted {
        fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("counted")
        }
    }
    struct Other;
    impl TensorData for Other {
        fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("other")
        }
    }

    #[test]
    fn the_data_lives_as_long_as_the_last_handle() {
        let life = Arc::new(());
        let mut first = AnyTensor::new(DispatchKey::Cpu.key_set(), Counted(life.clone()));
        assert!(first.data_mut::<Counted>().is_some());
        let second = first.clone();
        assert!(first.data_mut::<Counted>().is_none());
        assert!(first.data::<Other>().is_none());
        drop(first);
        assert_eq!(Arc::strong_count(&second.data::<Counted>().unwrap().0), 2);
        std::thread::spawn(move || drop(second)).join().unwrap();
        assert_eq!(Arc::strong_count(&life), 1);
    }

    /// The memory of a record whose data panics while it is made comes back, and nobody looks at it.
    #[test]
    fn data_that_panics_leaves_no_record() {
        let life = Arc::new(());
        let made = std::panic::catch_unwind(|| {
            let held = life.clone();
            AnyTensor::with::<Counted>(DispatchKey::Cpu.key_set(), || panic!("made by {held:?}"))
        });
        assert!(made.is_err());
        assert_eq!(Arc::strong_count(&life), 1);
        let x = AnyTensor::new(DispatchKey::Cpu.key_set(), Counted(life.clone()));
        assert_eq!(Arc::strong_count(&x.data::<Counted>().unwrap().0), 2);
    }

    #[test]
    fn layers_change_for_every_handle_and_backends_stay() {
        let x = AnyTensor::new(DispatchKey::Cpu.key_set(), Other);
        let y = x.clone();
        x.set_layers(DispatchKey::AutogradCuda.key_set());
        assert_eq!(y.keys(), DispatchKey::AutogradCpu.key_set());
    }

    #[test]
    fn a_handle_and_its_result_are_small() {
        assert_eq!(size_of::<AnyTensor>(), 8);
        assert_eq!(size_of::<Option<AnyTensor>>(), 8);
        assert_eq!(size_of::<crate::Result<AnyTensor>>(), 16);
    }
}
