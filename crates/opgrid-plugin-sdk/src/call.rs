//! A call as a boxed kernel sees it.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr;

use opgrid_abi::{OpgridError, OpgridKeys, OpgridOperator, OpgridResults, OpgridValue};

use crate::error::{Error, ErrorKind, Result, check, text};
use crate::host::{self, Keys};
use crate::value::{FromValue, ToValue, Value};

/// A call as a boxed kernel sees it: operator, keys, arguments, and the place for results.
pub struct Call<'c> {
    operator: *const OpgridOperator,
    keys: OpgridKeys,
    arguments: &'c [OpgridValue],
    results: *mut OpgridResults,
    call: PhantomData<&'c mut ()>,
}

impl<'c> Call<'c> {
    /// # Safety
    ///
    /// The host gave all of it to a kernel, which runs during `'c`; `results` may be null where nothing is left there.
    pub(crate) unsafe fn new(
        operator: *const OpgridOperator,
        keys: OpgridKeys,
        arguments: *const OpgridValue,
        count: usize,
        results: *mut OpgridResults,
    ) -> Self {
        let arguments = match count {
            0 => &[],
            // SAFETY: guaranteed by the caller, see `# Safety`.
            count => unsafe { std::slice::from_raw_parts(arguments, count) },
        };
        Self { operator, keys, arguments, results, call: PhantomData }
    }

    /// The operator's name without the overload, as in `aten::add`.
    pub fn name(&self) -> String {
        // SAFETY: the operator lives, and with it the text.
        host::known().map_or(String::new(), |api| unsafe { text((api.operator_name)(self.operator)) })
    }

    /// The overload's name, as in `Tensor`.
    pub fn overload(&self) -> String {
        // SAFETY: as above.
        host::known().map_or(String::new(), |api| unsafe { text((api.operator_overload)(self.operator)) })
    }

    /// The keys of the call.
    pub fn keys(&self) -> Keys {
        Keys(self.keys)
    }

    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Whether there is no argument.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// Argument number `index`, from 0 on.
    ///
    /// # Errors
    ///
    /// There is none, or it is of another kind.
    pub fn argument<T: FromValue>(&self, index: usize) -> Result<T> {
        let value = self.arguments.get(index).ok_or_else(|| {
            let message =
                format!("{}: argument {index} is not there, the call has {}", self.name(), self.len());
            Error::new(ErrorKind::Index, message)
        })?;
        T::from_value(value)
    }

    /// Argument number `index` of any kind, to be handed on; nothing where there is none.
    pub fn lent(&self, index: usize) -> Lent<'c> {
        Lent(self.arguments.get(index).copied().unwrap_or(OpgridValue::NONE), PhantomData)
    }

    /// Leaves one more result.
    ///
    /// # Errors
    ///
    /// Those of the host.
    pub fn push(&mut self, value: &dyn ToValue) -> Result<()> {
        let (api, value) = (host::api()?, value.to_value());
        self.ask(|results, error| {
            // SAFETY: the results are those of the call; the value is lent until the function returns.
            unsafe { (api.push)(results, &raw const value, error) }
        })
    }

    /// Continues with the keys below the kernel's, which stay excluded on the thread until it returns. Results are left.
    ///
    /// # Errors
    ///
    /// Those of the kernel below.
    pub fn below(&mut self) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call.
        self.ask(|results, error| unsafe { (api.below)(results, ptr::null(), 0, error) })
    }

    /// Continues with exactly these keys. Results are left.
    ///
    /// # Errors
    ///
    /// Those of the kernel that is reached.
    pub fn redispatch(&mut self, keys: Keys) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call.
        self.ask(|results, error| unsafe { (api.redispatch_below)(results, keys.0, ptr::null(), 0, error) })
    }

    /// Calls the operator anew, with the keys of its arguments and the thread. Results are left.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn call_anew(&mut self) -> Result<()> {
        let api = host::api()?;
        let mut results = [OpgridValue::NONE; 16];
        let (mut count, mut error) = (0, ptr::null_mut());
        // SAFETY: the operator and the arguments are those of the call; the rest is here.
        let status = unsafe {
            (api.call)(
                self.operator,
                self.arguments.as_ptr(),
                self.arguments.len(),
                results.as_mut_ptr(),
                results.len(),
                &raw mut count,
                &raw mut error,
            )
        };
        check(status, error)?;
        let results: Vec<_> = results.into_iter().take(count).map(Value::of_host).collect();
        results.iter().try_for_each(|result| self.push(result))
    }

    /// Continues on the CPU, with copies of what lies in a device's memory; writes back what was written, and leaves results
    /// on the device. It counts as a slow path.
    ///
    /// # Errors
    ///
    /// Those of the CPU's kernel; strict mode.
    pub fn through_cpu(&mut self) -> Result<()> {
        let api = host::api()?;
        // SAFETY: the results are those of the call.
        self.ask(|results, error| unsafe { (api.through_cpu)(results, error) })
    }

    fn ask(&mut self, function: impl FnOnce(*mut OpgridResults, *mut *mut OpgridError) -> i32) -> Result<()> {
        let mut error = ptr::null_mut();
        check(function(self.results, &raw mut error), error)
    }
}

/// An argument of a call that is handed on as it is.
#[derive(Clone, Copy)]
pub struct Lent<'c>(OpgridValue, PhantomData<&'c ()>);

impl ToValue for Lent<'_> {
    fn to_value(&self) -> OpgridValue {
        self.0
    }
}
