//! What another library lends by DLPack, as it is and with something wrong in it.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::Result;
use opgrid_tensor::Tensor;
use opgrid_tensor::dlpack::{Loan, Unversioned, Versioned};

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
    let loan = Loan::of(&x, false).unwrap();
    (x, loan)
}

/// What another library would get to see, with one thing changed.
fn changed(change: impl FnOnce(&mut ManagedVersioned)) -> Result<Tensor> {
    let (x, loan) = lent();
    let lender = x.downgrade();
    drop(x);
    let managed = loan.into_raw();
    // SAFETY: made by `Loan::of`, with the fields of DLPack's header; nobody else has the pointer.
    change(unsafe { &mut *managed.as_ptr().cast() });
    // SAFETY: as above. What was changed is refused before it is followed.
    let taken = unsafe { Loan::from_raw(managed) }.and_then(Loan::into_tensor);
    assert_eq!(Tensor::upgrade(&lender).is_some(), taken.is_ok(), "what is refused is given back");
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
        // SAFETY: `Loan::of` made two strides.
        unsafe { it.tensor.strides.write(-2) }
    };
    assert!(changed(negative).unwrap_err().message().contains("negative strides"));
    assert_eq!(changed(|_| ()).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn read_only_memory_is_copied() {
    let (x, loan) = lent();
    let managed = loan.into_raw();
    // SAFETY: made by `Loan::of`, with the fields of DLPack's header; nobody else has the pointer.
    unsafe { (*managed.as_ptr().cast::<ManagedVersioned>()).flags |= READ_ONLY };
    // SAFETY: as above.
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
    let loan = Loan::<Versioned>::of(&x, false).unwrap();
    assert!(!loan.is_misaligned());
    let managed = loan.into_raw();
    let change: *mut ManagedVersioned = managed.as_ptr().cast();
    // SAFETY: made by `Loan::of`, with the fields of DLPack's header, one size and one stride; nobody else has the pointer. Two
    // elements at a distance of two lie in the memory from there on.
    unsafe {
        (*change).tensor.byte_offset = 2;
        (*change).tensor.sizes.write(2);
        (*change).tensor.strides.write(2);
    }
    // SAFETY: as above.
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
    let managed = Loan::<Unversioned>::of(&x, false).unwrap().into_raw();
    // SAFETY: made by `Loan::of`, with the fields of DLPack's header; nobody else has the pointer.
    let deleter = unsafe { &mut (*managed.as_ptr().cast::<Managed>()).deleter };
    OWN.set(deleter.replace(count).unwrap()).unwrap();
    // SAFETY: as above.
    let shared = unsafe { Loan::from_raw(managed) }.unwrap().into_tensor().unwrap();
    let view = shared.slice(0, Some(1), None, 1).unwrap();
    drop(shared);
    assert_eq!((view.to_vec::<i64>().unwrap(), DELETED.load(Ordering::Relaxed)), (vec![2, 3], 0));
    drop(view);
    assert_eq!(DELETED.load(Ordering::Relaxed), 1);
}
