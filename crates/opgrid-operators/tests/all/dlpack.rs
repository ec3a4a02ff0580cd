//! What another library lends by DLPack, as it is and with something wrong in it.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use opgrid_core::Result;
use opgrid_tensor::dlpack::{Loan, Unversioned, Versioned};
use opgrid_tensor::{Storage, Tensor};

/// `DLTensor`, as DLPack's header has it.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_kind: i32,
    device_index: i32,
    dims: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    sizes: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

const READ_ONLY: u64 = 1;

fn lent() -> (Tensor, Loan<Versioned>) {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let loan = Loan::from_tensor(&x, false).unwrap();
    (x, loan)
}

/// What another library would get to see, with one thing changed.
fn changed(change: impl FnOnce(&mut ManagedVersioned)) -> Result<Tensor> {
    let (x, loan) = lent();
    let lender = x.downgrade();
    drop(x);
    let managed = loan.into_raw();
    // SAFETY: made by `Loan::from_tensor`, with the fields of DLPack's header; nobody else has the pointer.
    change(unsafe { &mut *managed.as_ptr().cast() });
    // SAFETY: made by `Loan::from_tensor`, and nobody else has the pointer. What was changed is refused before it is followed.
    let taken = unsafe { Loan::from_raw(managed) }.and_then(Loan::into_tensor);
    assert!(Tensor::upgrade(&lender).is_none(), "it is given back, or a tensor on the same storage");
    taken
}

#[test]
fn what_is_refused_is_given_back() {
    type Change = fn(&mut ManagedVersioned);
    let refused: [(&str, Change); 6] = [
        ("version 2.0", |it| it.major = 2),
        ("-1 dimensions", |it| it.tensor.dims = -1),
        ("no sizes", |it| it.tensor.sizes = ptr::null_mut()),
        ("device 2", |it| it.tensor.device_kind = 2),
        ("(2, 32 bits, 4 lanes)", |it| it.tensor.lanes = 4),
        ("no memory", |it| it.tensor.data = ptr::null_mut()),
    ];
    for (text, change) in refused {
        let error = changed(change).unwrap_err();
        assert!(error.message().contains(text), "{error}, expected {text}");
    }
    let negative = |it: &mut ManagedVersioned| {
        // SAFETY: `Loan::from_tensor` made two strides.
        unsafe { it.tensor.strides.write(-2) }
    };
    assert!(changed(negative).unwrap_err().message().contains("negative strides"));
    assert_eq!(changed(|_| ()).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn read_only_memory_is_copied() {
    let (x, loan) = lent();
    let managed = loan.into_raw();
    // SAFETY: made by `Loan::from_tensor`, with the fields of DLPack's header; nobody else has the pointer.
    unsafe { (*managed.as_ptr().cast::<ManagedVersioned>()).flags |= READ_ONLY };
    // SAFETY: made by `Loan::from_tensor`, and nobody else has the pointer; a flag was changed.
    let loan = unsafe { Loan::from_raw(managed) }.unwrap();
    assert!(loan.is_read_only());
    let copy = loan.into_tensor().unwrap();
    copy.fill_(0).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn elements_at_odd_addresses_are_copied() {
    // Five elements, of which every other one is lent, two bytes further on.
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], &[5]).unwrap();
    let loan = Loan::<Versioned>::from_tensor(&x, false).unwrap();
    assert!(!loan.is_misaligned());
    let managed = loan.into_raw();
    let change: *mut ManagedVersioned = managed.as_ptr().cast();
    // SAFETY: made by `Loan::from_tensor`, with the fields of DLPack's header, one size and one stride; nobody else has the pointer. Two
    // elements at a distance of two lie in the memory from there on.
    unsafe {
        (*change).tensor.byte_offset = 2;
        (*change).tensor.sizes.write(2);
        (*change).tensor.strides.write(2);
    }
    // SAFETY: made by `Loan::from_tensor`, and nobody else has the pointer; the elements that it names now lie in its memory.
    let loan = unsafe { Loan::from_raw(managed) }.unwrap();
    assert!(loan.is_misaligned() && !loan.is_read_only());
    let copy = loan.into_tensor().unwrap();
    let bits = |number: f32| number.to_le_bytes();
    let joined =
        |one: f32, next: f32| f32::from_le_bytes([bits(one)[2], bits(one)[3], bits(next)[0], bits(next)[1]]);
    let found = copy.to_vec::<f32>().unwrap();
    assert_eq!(
        found.iter().map(|it| it.to_bits()).collect::<Vec<_>>(),
        [joined(1.0, 2.0).to_bits(), joined(3.0, 4.0).to_bits()]
    );
    copy.fill_(0).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_form_without_version_crosses_and_is_deleted_once() {
    static DELETED: AtomicUsize = AtomicUsize::new(0);
    static OWN: OnceLock<unsafe extern "C" fn(*mut Unversioned)> = OnceLock::new();
    unsafe extern "C" fn count(managed: *mut Unversioned) {
        DELETED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the deleter of the loan below, whose structure this is; called once, as is counted.
        unsafe { OWN.get().unwrap()(managed) };
    }
    let x = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
    let managed = Loan::<Unversioned>::from_tensor(&x, false).unwrap().into_raw();
    // SAFETY: made by `Loan::from_tensor`, with the fields of DLPack's header; nobody else has the pointer.
    let deleter = unsafe { &mut (*managed.as_ptr().cast::<Managed>()).deleter };
    OWN.set(deleter.replace(count).unwrap()).unwrap();
    // SAFETY: made by `Loan::from_tensor`, and nobody else has the pointer; its deleter ends in the one that it had.
    let shared = unsafe { Loan::from_raw(managed) }.unwrap().into_tensor().unwrap();
    drop(x);
    let view = shared.slice(0, Some(1), None, 1).unwrap();
    drop(shared);
    // A loan that comes home is a tensor on the storage that was lent, and given back at once.
    assert_eq!((view.to_vec::<i64>().unwrap(), DELETED.load(Ordering::Relaxed)), (vec![2, 3], 1));
    drop(view);
    assert_eq!(DELETED.load(Ordering::Relaxed), 1);
}

/// Memory of another library: floats, which it lends as often as it is asked.
struct Foreign {
    floats: Box<[UnsafeCell<f32>]>,
    given_back: Arc<AtomicUsize>,
}

// SAFETY: the floats are read and written through the storages of loans only, which keep threads apart.
unsafe impl Sync for Foreign {}

impl Foreign {
    fn new(count: usize) -> Arc<Self> {
        let floats = (0..count).map(|number| UnsafeCell::new(number as f32)).collect();
        Arc::new(Self { floats, given_back: Arc::default() })
    }

    /// Lends the floats of a range, in a structure of its own.
    fn lend(self: &Arc<Self>, range: Range<usize>, flags: u64) -> Loan<Versioned> {
        unsafe extern "C" fn give_back(managed: *mut Versioned) {
            // SAFETY: `lend` boxed it, and a loan calls this once.
            let managed = unsafe { Box::from_raw(managed.cast::<ManagedVersioned>()) };
            // SAFETY: the context is the count of `lend`, the sizes are its box.
            let (lender, sizes) = unsafe {
                (Arc::from_raw(managed.context.cast::<Foreign>()), Box::from_raw(managed.tensor.sizes))
            };
            lender.given_back.fetch_add(1, Ordering::Relaxed);
            drop((lender, sizes));
        }

        let tensor = DlTensor {
            data: self.floats[range.start].get().cast(),
            device_kind: 1,
            device_index: 0,
            dims: 1,
            code: 2,
            bits: 32,
            lanes: 1,
            sizes: Box::into_raw(Box::new(range.len() as i64)),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let context = Arc::into_raw(Arc::clone(self)).cast_mut().cast();
        let managed =
            ManagedVersioned { major: 1, minor: 0, context, deleter: Some(give_back), flags, tensor };
        let managed = NonNull::from(Box::leak(Box::new(managed)));
        // SAFETY: as DLPack asks; the memory may be written, because it is that of cells.
        unsafe { Loan::from_raw(managed.cast()) }.unwrap()
    }

    fn given_back(&self) -> usize {
        self.given_back.load(Ordering::Relaxed)
    }
}

fn storage(tensor: &Tensor) -> Storage {
    tensor.array().unwrap().storage().clone()
}

/// Checks that two tensors count readers, writers and versions together, and that writes through one are seen by the other.
fn check_shared(name: &str, one: &Tensor, other: &Tensor) {
    let (first, second) = (storage(one), storage(other));
    assert!(first.is_same(&second), "{name}: one storage");
    {
        let _reader = first.read().unwrap();
        assert!(second.write().is_err(), "{name}: somebody is reading");
        assert!(second.read().is_ok(), "{name}: several may read");
    }
    {
        let _writer = second.write().unwrap();
        assert!(first.read().is_err() && first.write().is_err(), "{name}: somebody is writing");
    }
    let before = one.version();
    other.add_(&Tensor::from_slice(&[1.0f32], ()).unwrap()).unwrap();
    assert_eq!((one.version(), other.version()), (before + 1, before + 1), "{name}");
    assert_eq!(one.to_string(), other.to_string(), "{name}");
}

#[test]
fn a_loan_that_comes_home_is_a_tensor_on_the_same_storage() {
    let versioned =
        |tensor: &Tensor| Loan::<Versioned>::from_tensor(tensor, false).unwrap().into_tensor().unwrap();
    let unversioned =
        |tensor: &Tensor| Loan::<Unversioned>::from_tensor(tensor, false).unwrap().into_tensor().unwrap();
    let base = Tensor::from_slice(&(0u8..24).map(f32::from).collect::<Vec<_>>(), &[4, 6]).unwrap();
    let views = [
        ("all", base.clone()),
        ("rows", base.slice(0, Some(1), Some(3), 1).unwrap()),
        ("columns", base.slice(1, Some(1), None, 2).unwrap()),
        ("transposed", base.transpose(0, 1).unwrap()),
        ("a number", base.select(0, 2).unwrap().select(0, 3).unwrap()),
        ("expanded", base.slice(0, Some(3), None, 1).unwrap().expand(&[5, 6]).unwrap()),
    ];
    for (name, view) in &views {
        for (name, shared) in [
            (format!("{name}, versioned"), versioned(view)),
            (format!("{name}, unversioned"), unversioned(view)),
            (format!("{name}, twice"), unversioned(&versioned(view))),
        ] {
            assert_eq!((shared.sizes(), shared.strides()), (view.sizes(), view.strides()), "{name}");
            assert_eq!(
                shared.array().unwrap().geometry().offset(),
                view.array().unwrap().geometry().offset()
            );
            if !name.starts_with("expanded") {
                check_shared(&name, view, &shared);
            }
        }
    }
    let empty = base.slice(0, Some(2), Some(2), 1).unwrap();
    assert_eq!(versioned(&empty).sizes(), [0, 6]);
}

#[test]
fn memory_of_another_library_has_one_storage() {
    let lender = Foreign::new(8);
    let first = lender.lend(0..8, 0).into_tensor().unwrap();
    let second = lender.lend(0..8, 0).into_tensor().unwrap();
    check_shared("lent twice", &first, &second);
    let part = lender.lend(2..5, 0).into_tensor().unwrap();
    check_shared("lent in part", &first.slice(0, Some(2), Some(5), 1).unwrap(), &part);
    assert_eq!(lender.given_back(), 2, "what is known already is given back at once");
    // Ours, on its way back by way of another library that wraps the loan in a structure of its own.
    let again = lender.lend(0..8, 0);
    assert!(again.is_known());
    drop(again);
    drop((first, second));
    assert_eq!((part.to_vec::<f32>().unwrap().len(), lender.given_back()), (3, 3));
    drop(part);
    assert_eq!(lender.given_back(), 4, "the last tensor gives the memory back");
    // Nobody knows the memory any more.
    let anew = lender.lend(0..8, 0);
    assert!(!anew.is_known());
    let anew = anew.into_tensor().unwrap();
    assert_eq!(anew.version(), 0);
    drop(anew);
    assert_eq!(lender.given_back(), 5);
}

#[test]
fn read_only_memory_of_another_library_is_copied() {
    let lender = Foreign::new(4);
    let copy = lender.lend(0..4, READ_ONLY).into_tensor().unwrap();
    assert_eq!(lender.given_back(), 1);
    let shared = lender.lend(0..4, 0).into_tensor().unwrap();
    let second = lender.lend(0..4, READ_ONLY).into_tensor().unwrap();
    assert!(!storage(&shared).is_same(&storage(&copy)) && !storage(&shared).is_same(&storage(&second)));
    shared.fill_(9).unwrap();
    assert_eq!((copy.to_vec::<f32>().unwrap()[3], second.to_vec::<f32>().unwrap()[3]), (3.0, 3.0));
}

#[test]
fn threads_that_borrow_and_drop_one_memory_share_it() {
    let lender = Foreign::new(16);
    /// Cells are shared by who keeps apart by guards.
    struct Shared(Arc<Foreign>);
    // SAFETY: the floats are only used through tensors, whose guards keep threads apart.
    unsafe impl Sync for Shared {}
    let shared = Shared(lender);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let shared = &shared;
            scope.spawn(move || {
                let lender = &shared;
                for _ in 0..2_000 {
                    let one = lender.0.lend(0..16, 0).into_tensor().unwrap();
                    let other = lender.0.lend(0..16, 0).into_tensor().unwrap();
                    assert!(storage(&one).is_same(&storage(&other)));
                }
            });
        }
    });
    assert_eq!(shared.0.given_back(), 4 * 2 * 2_000);
}
