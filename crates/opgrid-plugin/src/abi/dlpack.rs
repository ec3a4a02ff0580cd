//! DLPack 1: memory that plugins and tensors lend each other.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::NonNull;

use opgrid_abi::{OpgridError, OpgridTensor};
use opgrid_tensor::dlpack::{Loan, Versioned};

use super::errors::answer;
use super::tensors::{give, hand_over, tensor};
use super::{refused, write};

pub(super) unsafe extern "C" fn tensor_to_dlpack(
    held: *const OpgridTensor,
    out: *mut *mut c_void,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let loan = Loan::<Versioned>::from_tensor(unsafe { tensor(&held) }?, false)?;
        let managed = loan.into_raw();
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, managed.as_ptr().cast()) }.inspect_err(|_| {
            // SAFETY: `Loan::from_tensor` made it; the plugin did not get it.
            drop(unsafe { Loan::from_raw(managed) });
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn tensor_from_dlpack(
    managed: *mut c_void,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        let managed = NonNull::new(managed.cast::<Versioned>()).filter(|managed| managed.is_aligned());
        let managed = managed.ok_or_else(|| refused("the DLPack structure is null, expected one"))?;
        // SAFETY: the plugin guarantees a structure of DLPack 1, which it gives away.
        let made = unsafe { Loan::from_raw(managed) }?.into_tensor()?;
        // SAFETY: the plugin guarantees that the address is null or can be written.
        unsafe { hand_over(out, give(made)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}
