//! Programs in the hands of plugins, and of programs in C: numbers that look like pointers, so that one that was given back is noticed,
//! also while another thread runs it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid_abi::{
    OPGRID_PROGRAM_MAP, OpgridError, OpgridLibrary, OpgridProgram, OpgridProgramValue, OpgridValue,
};
use opgrid_core::{DType, Error, ErrorKind, Result, Value};

use super::errors::{answer, quietly};
use super::libraries::State;
#[cfg(feature = "programs")]
use super::loaded_program::load;
#[cfg(not(feature = "programs"))]
use super::no_program::load;
use super::values::{give, with_read};
use super::{describe, refused, text, text_to, write};

/// Where the weights of a program are.
#[derive(Clone, Copy)]
pub(super) enum Weights {
    Copied,
    /// In the memory of the file.
    Mapped,
}

/// What is said of an input or a result.
#[derive(Default)]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) type_text: String,
    pub(super) tag: u32,
    /// The dtype of a tensor; the sizes, too, are of tensors only.
    pub(super) dtype: Option<DType>,
    pub(super) min_sizes: Vec<i64>,
    pub(super) max_sizes: Vec<i64>,
}

/// A program that was read, which any number of threads run.
pub(super) trait LoadedProgram: Send + Sync {
    /// What each input is like.
    fn inputs(&self) -> &[Description];

    /// What each result is like.
    fn results(&self) -> &[Description];

    /// # Errors
    ///
    /// The inputs do not fit; a call in it fails.
    fn run(&self, inputs: Vec<Value>) -> Result<Vec<Value>>;
}

/// The programs that are held.
struct Held {
    last: usize,
    programs: BTreeMap<usize, Arc<dyn LoadedProgram>>,
}

static HELD: Mutex<Held> = Mutex::new(Held { last: 0, programs: BTreeMap::new() });

/// What is held while the process forks.
pub(super) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&HELD);
}

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program of a handle. It lives as long as what is returned, also if it is given back meanwhile.
///
/// # Errors
///
/// There is none: the handle is null, was given back, or never was one.
fn find(program: *const OpgridProgram) -> Result<Arc<dyn LoadedProgram>> {
    held().programs.get(&program.addr()).cloned().ok_or_else(|| {
        if program.is_null() {
            return refused("a program is null, expected one of `program_load`");
        }
        let message = "the program no longer exists: it was given back by `program_release`; load it again";
        Error::new(ErrorKind::Stale, message)
    })
}

pub(super) unsafe extern "C" fn program_load(
    library: *mut OpgridLibrary,
    path: *const c_char,
    flags: u32,
    out: *mut *mut OpgridProgram,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the caller guarantees that its pointers are null or what their types say.
        let path = unsafe { text(path, "the path of a program") }?;
        let weights = match flags {
            0 => Weights::Copied,
            OPGRID_PROGRAM_MAP => Weights::Mapped,
            found => {
                return Err(refused(format!(
                    "the flags of a program are {found}, expected 0 or OPGRID_PROGRAM_MAP ({OPGRID_PROGRAM_MAP})"
                )));
            }
        };
        let dispatcher = State::here(library)?.dispatcher.clone();
        // Before the work, which is lost where there is no place for what comes out.
        // SAFETY: the caller guarantees that the address of the result is null or can be written.
        unsafe { write(out, ptr::null_mut()) }?;
        let program = load(&dispatcher, Path::new(path), weights)?;
        let mut held = held();
        held.last += 1;
        let number = held.last;
        held.programs.insert(number, program);
        drop(held);
        // SAFETY: the caller guarantees that the address of the result is null or can be written.
        unsafe { write(out, ptr::without_provenance_mut(number)) }
    };
    // SAFETY: the caller guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn program_release(program: *mut OpgridProgram) {
    quietly((), || {
        // What a program holds may call back when it is freed, which is not done under the lock.
        let freed = held().programs.remove(&program.addr());
        drop(freed);
    });
}

pub(super) unsafe extern "C" fn program_input_count(program: *const OpgridProgram) -> usize {
    quietly(0, || find(program).map_or(0, |program| program.inputs().len()))
}

pub(super) unsafe extern "C" fn program_result_count(program: *const OpgridProgram) -> usize {
    quietly(0, || find(program).map_or(0, |program| program.results().len()))
}

/// Fills a description of one of `all`.
///
/// # Errors
///
/// There are not as many; those of [`describe`].
///
/// # Safety
///
/// As of [`describe`].
unsafe fn describe_one(
    all: &[Description],
    what: &str,
    index: usize,
    out: *mut OpgridProgramValue,
) -> Result<()> {
    let Some(one) = all.get(index) else {
        let message = format!("the program has {} {what}s, found index {index}; ask for fewer", all.len());
        return Err(Error::new(ErrorKind::Index, message));
    };
    let fill = |struct_size| OpgridProgramValue {
        struct_size,
        name: text_to(&one.name),
        type_text: text_to(&one.type_text),
        tag: one.tag,
        dtype: one.dtype.map_or(-1, |dtype| dtype.number() as i32),
        dims: one.min_sizes.len(),
        min_sizes: one.min_sizes.as_ptr(),
        max_sizes: one.max_sizes.as_ptr(),
    };
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { describe(out, "OpgridProgramValue", fill) }
}

pub(super) unsafe extern "C" fn program_input(
    program: *const OpgridProgram,
    index: usize,
    out: *mut OpgridProgramValue,
    error: *mut *mut OpgridError,
) -> i32 {
    // SAFETY: the caller guarantees that the description is null or as large as it says, and can be written.
    let body = || unsafe { describe_one(find(program)?.inputs(), "input", index, out) };
    // SAFETY: the caller guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn program_result(
    program: *const OpgridProgram,
    index: usize,
    out: *mut OpgridProgramValue,
    error: *mut *mut OpgridError,
) -> i32 {
    // SAFETY: the caller guarantees that the description is null or as large as it says, and can be written.
    let body = || unsafe { describe_one(find(program)?.results(), "result", index, out) };
    // SAFETY: the caller guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn program_run(
    program: *const OpgridProgram,
    inputs: *const OpgridValue,
    count: usize,
    results: *mut OpgridValue,
    capacity: usize,
    result_count: *mut usize,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        let program = find(program)?;
        let expected = program.results().len();
        // Before it runs, because a run may write buffers and inputs.
        if expected > capacity || (expected > 0 && (results.is_null() || !results.is_aligned())) {
            return Err(refused(format!(
                "the program has {expected} results, found a buffer for {capacity} at {results:?}; pass a larger one"
            )));
        }
        // SAFETY: the caller guarantees that the address of the number is null or can be written.
        unsafe { write(result_count, 0) }?;
        // SAFETY: the caller guarantees that the inputs are null or as many values as it says, and payloads what their tags say.
        let given: Vec<Value> = unsafe {
            with_read(inputs, count, |values| Ok(values.iter().map(|value| value.to_value()).collect()))
        }?;
        let found = program.run(given)?;
        if found.len() != expected {
            let message = format!("the run gave {} results, expected {expected}", found.len());
            return Err(Error::new(ErrorKind::Internal, message));
        }
        for (index, value) in found.into_iter().enumerate() {
            // SAFETY: the caller guarantees that there are `capacity` places, of which no more than that are written, as was tested
            // above.
            unsafe { results.add(index).write(give(value)) };
        }
        // SAFETY: the caller guarantees that the address of the number is null or can be written.
        unsafe { write(result_count, expected) }
    };
    // SAFETY: the caller guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}
