//! The way between typed and boxed calls, in both directions: the type erasure of kernels.
#![allow(unsafe_code)]

use std::mem;

use crate::calling::call::{Arguments, BoxedCall, Next, beside, is_watched, settle_typed};
use crate::calling::kernel::{Entry, KernelRecord, Role, TypedSide};
use crate::calling::slow_path::note_adapted;
use crate::calling::table::TableRef;
use crate::calling::thread::with_thread;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::set::DispatchKeySet;
use crate::signatures::signature::{Return, Signature};
use crate::signatures::stack::Returns;
use crate::values::borrowed::ValueRef;
use crate::values::borrowed::{ValueView, kind, mismatch};
use opgrid_schema::Type;

/// Calls a kernel with typed arguments.
///
/// # Safety
///
/// If the kernel is typed and its signature is symbolic just as `S` is, then it is `S`. That holds of every kernel that a
/// table leads to which was read from a cell for `S`: [`Record::publish`] publishes to cells only tables with kernels of
/// their signature, [`Record::pin`] lets one signature of each kind into an operator, and `Registry::fall_back` no typed
/// kernel into fallbacks.
///
/// [`Record::publish`]: crate::registration::record::Record::publish
/// [`Record::pin`]: crate::registration::record::Record::pin
#[inline(always)]
pub(crate) unsafe fn enter<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let (kernel, keys) = match unsafe { selects::<S>(kernel) } {
        Some(select) => {
            let keys = S::apply(select, args)?;
            (table.kernel(keys), keys)
        }
        None => (kernel, keys),
    };
    // SAFETY: guaranteed by the caller, see `# Safety`: the kernel is of the table.
    match unsafe { direct::<S>(kernel) } {
        Some(function) => S::apply(function, args),
        // The tuple is put together anew, so that the way above needs none in memory.
        // SAFETY: guaranteed by the caller, see `# Safety`: the kernel is of the table.
        None => unsafe { enter_by_address::<S>(kernel, table, keys, S::shorten(args)) },
    }
}

/// [`enter`] as a function, for what is not the way of ordinary calls.
///
/// # Safety
///
/// As [`enter`].
#[inline(never)]
pub(crate) unsafe fn enter_apart<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: passed on.
    unsafe { enter::<S>(kernel, table, keys, args) }
}

/// The function that a kernel is, if it takes nothing but the arguments.
///
/// # Safety
///
/// As [`enter`].
#[inline(always)]
unsafe fn direct<S: Signature>(kernel: &KernelRecord) -> Option<S::Returning<S::Output>> {
    let function = side::<S>(kernel).direct;
    // SAFETY: guaranteed by the caller, see `# Safety`: this side is that of a kernel of `S`, whose `direct` only
    // `Kernel::function::<S>` fills, with `S::erase`.
    (!function.is_null()).then(|| unsafe { S::restore(function) })
}

/// The side of a kernel that calls with `S` take.
#[inline(always)]
fn side<S: Signature>(kernel: &KernelRecord) -> &TypedSide {
    if S::is_symbolic() { &kernel.symbolic } else { &kernel.typed }
}

/// Calls a kernel that is no direct function. The tuple goes by its address from here on, and nobody copies it: what was just
/// written in parts is waited for where it is read as a whole.
///
/// # Safety
///
/// As [`enter`].
#[inline(always)]
unsafe fn enter_by_address<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: guaranteed by the caller, see `# Safety`; what the entry asks for, the constructors in `kernel.rs` put into the same
    // record; the operator was checked for `S`, or the kernel would not be in its table.
    unsafe {
        match entry::<S>(kernel) {
            Some(entry) => entry(kernel, table, keys, args),
            None => enter_without_side::<S>(kernel, table, keys, args),
        }
    }
}

/// The entry of a kernel with a typed side.
///
/// # Safety
///
/// As [`enter`].
#[inline(always)]
unsafe fn entry<S: Signature>(kernel: &KernelRecord) -> Option<Entry<S>> {
    let entry = side::<S>(kernel).entry;
    // SAFETY: guaranteed by the caller, see `# Safety`: this side is that of a kernel or a chain of `S`, whose `entry` the
    // constructors in `kernel.rs` fill with an `Entry<S>`.
    (!entry.is_null()).then(|| unsafe { mem::transmute::<*const (), Entry<S>>(entry) })
}

/// Calls a kernel that has no typed side for `S`, or the kernel below one that is not for the call.
///
/// # Safety
///
/// As [`enter`], for every kernel of the table.
#[inline(always)]
unsafe fn enter_without_side<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    if kernel.wants != 0 && !is_for::<S>(kernel, args) && keys.layers() > 1 {
        // SAFETY: guaranteed by the caller, see `# Safety`: the other kernel is of the same table.
        return unsafe { pass_by::<S>(table, keys, args) };
    }
    enter_boxed::<S>(kernel, table, keys, args)
}

/// Whether a kernel is for calls with such arguments on this thread.
#[inline(always)]
fn is_for<S: Signature>(kernel: &KernelRecord, args: S::Args<'_>) -> bool {
    kernel.is_for(with_thread(|thread| thread.apply(S::keys(args))))
}

/// Calls the kernel below one that is not for the call.
///
/// # Safety
///
/// As [`enter`], for every kernel of the table.
#[inline(never)]
unsafe fn pass_by<S: Signature>(
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    let keys = beside(keys);
    let kernel = table.kernel(keys);
    // SAFETY: guaranteed by the caller, see `# Safety`, as for `enter_by_address`. What has no typed side is called by a function of
    // its own: it may come here again, and where that were a loop, registers would be saved for it.
    unsafe {
        match (direct::<S>(kernel), entry::<S>(kernel)) {
            (Some(function), _) => S::apply(function, args),
            (None, Some(entry)) => entry(kernel, table, keys, args),
            (None, None) => enter_further::<S>(kernel, table, keys, args),
        }
    }
}

/// [`enter_without_side`] for the kernel below another one.
///
/// # Safety
///
/// As [`enter_without_side`].
#[inline(never)]
unsafe fn enter_further<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: passed on.
    unsafe { enter_without_side::<S>(kernel, table, keys, args) }
}

/// Calls a kernel that has no typed side for `S`: the arguments become values, and the results come back from them.
#[inline(never)]
pub(crate) fn enter_boxed<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // Both ways on are jumps, so that no register has to be saved for the count.
    if with_thread(|thread| thread.lines.get()).count_adapted(&kernel.serial) {
        lend::<S>(kernel, table, keys, args)
    } else {
        enter_noted::<S>(kernel, table, keys, args)
    }
}

/// [`enter_boxed`] of a kernel that the thread has not counted yet, or in strict mode.
#[cold]
#[inline(never)]
fn enter_noted<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    note_adapted(kernel, table, keys)?;
    lend::<S>(kernel, table, keys, args)
}

/// Lends the arguments as values, and takes the results from values.
#[inline(never)]
fn lend<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    let mut run = RunOnValues { kernel, table, keys, expected: S::Return::COUNT, returns: Returns::new() };
    lend_to::<S>(args, &mut run)?;
    match S::Return::pop(&mut run.returns, 0) {
        Ok(output) => Ok(output),
        Err(error) => Err(of_kernel(error, kernel, table)),
    }
}

/// What is done with arguments that are lent as values. Not a closure: there are few types of it, none of which is generic.
pub(crate) trait WithValues {
    /// Does it.
    ///
    /// # Errors
    ///
    /// Those of what is done.
    fn run(&mut self, values: &[ValueRef<'_>]) -> Result<()>;
}

/// Lends the arguments as values: the only place that has the code for it.
#[inline(never)]
pub(crate) fn lend_to<S: Signature>(args: S::Args<'_>, body: &mut dyn WithValues) -> Result<()> {
    S::pack(args, |values| body.run(values))
}

/// A kernel's boxed side for a typed caller, who wants `expected` results.
struct RunOnValues<'k, 't> {
    kernel: &'k KernelRecord,
    table: TableRef<'t>,
    keys: DispatchKeySet,
    expected: usize,
    returns: Returns,
}

impl WithValues for RunOnValues<'_, '_> {
    fn run(&mut self, values: &[ValueRef<'_>]) -> Result<()> {
        let Self { kernel, table, expected, .. } = *self;
        let mut call = BoxedCall::new(table, self.keys, values, &mut self.returns);
        // SAFETY: the record's own boxed side: the constructors in `kernel.rs` put it there with the state that it asks for.
        unsafe { (kernel.boxed)(kernel, &mut call)? };
        match self.returns.len() {
            found if found == expected => Ok(()),
            found => Err(wrong_results(kernel, table, expected, found)),
        }
    }
}

/// Calls a kernel with values and checks what it leaves; where it fails, it leaves nothing.
#[inline]
pub(crate) fn enter_values(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    values: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    if !returns.is_empty() {
        return enter_values_apart(kernel, table, keys, values, returns);
    }
    let mut call = BoxedCall::new(table, keys, values, returns);
    // SAFETY: the record's own boxed side, as in `lend`.
    if let Err(error) = unsafe { (kernel.boxed)(kernel, &mut call) } {
        return Err(without_results(error, returns));
    }
    if kernel.role == Role::Boxed
        && let Err(error) = check_results(kernel, table, returns)
    {
        return Err(without_results(error, returns));
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn without_results(error: Error, returns: &mut Returns) -> Error {
    returns.clear();
    error
}

/// [`enter_values`] beside results of other calls, which the kernel gets no hold of.
#[cold]
#[inline(never)]
fn enter_values_apart(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    values: &[ValueRef<'_>],
    returns: &mut Returns,
) -> Result<()> {
    let mut own = Returns::new();
    enter_values(kernel, table, keys, values, &mut own)?;
    own.into_vec().into_iter().for_each(|value| returns.push(value));
    Ok(())
}

/// Compares the results that a boxed kernel left with the operator's schema, if it has one.
fn check_results(kernel: &KernelRecord, table: TableRef<'_>, returns: &Returns) -> Result<()> {
    let Some(definition) = table.definition() else { return Ok(()) };
    let expected = &definition.schema.returns;
    if definition.schema.is_varret {
        return Ok(());
    }
    if returns.len() != expected.len() {
        return Err(wrong_results(kernel, table, expected.len(), returns.len()));
    }
    for (index, declared) in expected.iter().enumerate() {
        let value = returns.value(index).map_or(ValueRef::NONE, |value| value.borrow());
        if !fits(value, &declared.real_type) {
            let error = crate::values::borrowed::mismatch(&declared.real_type.python_name(), value);
            return Err(of_kernel(error.within(format_args!("return {}", index + 1)), kernel, table));
        }
    }
    Ok(())
}

/// The kinds of values that surely fit a schema type as arguments. The others are looked at by [`check_argument`].
pub(crate) fn kinds_of(declared: &Type) -> u32 {
    match declared {
        Type::Tensor => kind::TENSOR,
        Type::Int | Type::SymInt => kind::INT | kind::SYM_INT,
        Type::Float => kind::FLOAT,
        Type::Complex => kind::COMPLEX,
        Type::Bool | Type::SymBool => kind::BOOL,
        Type::Scalar => kind::INT | kind::UINT | kind::SYM_INT | kind::FLOAT | kind::COMPLEX | kind::BOOL,
        Type::Str => kind::STR,
        Type::ScalarType => kind::DTYPE | kind::INT,
        Type::Layout => kind::LAYOUT | kind::INT,
        Type::MemoryFormat => kind::MEMORY_FORMAT | kind::INT,
        Type::Device => kind::DEVICE,
        Type::Generator => kind::GENERATOR,
        Type::None => kind::NONE,
        Type::Optional(inner) => kind::NONE | kinds_of(inner),
        Type::List(element) => match &**element {
            Type::Int | Type::SymInt => kind::INTS,
            Type::Float => kind::FLOATS,
            Type::Bool => kind::BOOLS,
            // Lists of tensors bring keys, so they are looked at anyway.
            _ => 0,
        },
        // What is in a tuple or a dict, and of which class an object is, whoever reads it finds out.
        Type::Tuple(_) => kind::TUPLE,
        Type::Dict(..) => kind::DICT,
        Type::Class(_) => kind::OBJECT,
        // Values of these types are none of ours, or can be of any kind.
        _ => u32::MAX,
    }
}

/// Checks an argument whose kind does not settle whether it fits.
///
/// # Errors
///
/// [`ErrorKind::Value`] naming the operator and the argument.
#[cold]
#[inline(never)]
pub(crate) fn check_argument(table: TableRef<'_>, index: usize, value: &ValueRef<'_>) -> Result<()> {
    let value = *value;
    let argument = table.definition().and_then(|definition| definition.schema.arguments.get(index));
    // Those behind the last argument of a schema that ends in `...` can be anything.
    let Some(argument) = argument else { return Ok(()) };
    let declared = &argument.real_type;
    let is_list = matches!((value.view(), declared.without_optional()), (ValueView::List(..), Type::List(_)));
    if is_list || fits(value, declared) {
        return Ok(());
    }
    let error = mismatch(&declared.without_optional().python_name(), value);
    Err(error.within(format_args!("{}: argument `{}`", table.operator().name(), argument.name)))
}

/// Whether a value is of a kind that a schema type admits.
fn fits(value: ValueRef<'_>, declared: &Type) -> bool {
    match (value.view(), declared) {
        (ValueView::Tensor(_), Type::Tensor)
        | (
            ValueView::Int(_),
            Type::Int | Type::SymInt | Type::ScalarType | Type::Layout | Type::MemoryFormat,
        )
        | (ValueView::Float(_), Type::Float)
        | (ValueView::Bool(_), Type::Bool | Type::SymBool)
        | (ValueView::None, Type::Optional(_) | Type::None)
        | (ValueView::Str(_), Type::Str)
        | (_, Type::Any | Type::Var(_) | Type::Union(_)) => true,
        (_, Type::Optional(inner)) => fits(value, inner),
        (ValueView::Tensor(_) | ValueView::None, _) => false,
        (
            ValueView::Int(_)
            | ValueView::UInt(_)
            | ValueView::Float(_)
            | ValueView::Complex(_)
            | ValueView::Bool(_)
            | ValueView::SymInt(_),
            Type::Scalar,
        ) => true,
        (
            ValueView::Ints([])
            | ValueView::Floats([])
            | ValueView::Bools([])
            | ValueView::Tensors([])
            | ValueView::OptionalTensors([]),
            _,
        ) => {
            matches!(declared, Type::List(_))
        }
        (ValueView::Ints(_), Type::List(element)) => fits(ValueRef::from(0), element),
        (ValueView::Floats(_), Type::List(element)) => fits(ValueRef::from(0.0), element),
        (ValueView::Bools(_), Type::List(element)) => fits(ValueRef::from(false), element),
        (ValueView::Tensors(_), Type::List(element)) => {
            matches!(element.without_optional(), Type::Tensor | Type::Any | Type::Var(_) | Type::Union(_))
        }
        (ValueView::OptionalTensors(items), Type::List(element)) => match &**element {
            Type::Tensor => items.iter().all(Option::is_some),
            element => *element.without_optional() == Type::Tensor || fits(ValueRef::NONE, element),
        },
        (ValueView::List(_, items), Type::List(element)) => {
            items.iter().all(|item| fits(item.borrow(), element))
        }
        (_, declared) => value.value_type().is_subtype_of(declared),
    }
}

#[cold]
#[inline(never)]
fn of_kernel(error: Error, kernel: &KernelRecord, table: TableRef<'_>) -> Error {
    error.within(format_args!("{}: boxed kernel {}", table.operator().name(), kernel.debug()))
}

#[cold]
#[inline(never)]
fn wrong_results(kernel: &KernelRecord, table: TableRef<'_>, expected: usize, found: usize) -> Error {
    let message = format!(
        "{}: boxed kernel {} was expected to return {expected} values on the stack, but left {found}; \
         push one value for each return of the schema, or redispatch",
        table.operator().name(),
        kernel.debug(),
    );
    Error::new(ErrorKind::Value, message)
}

/// The error for an argument that could not be read, with the operator's and the argument's name.
#[cold]
#[inline(never)]
fn unreadable(error: Error, table: TableRef<'_>) -> Error {
    let operator = table.operator();
    match error.argument() {
        None => error.within(operator.name()),
        Some(index) => {
            let schema = table.definition().map(|definition| &definition.schema);
            let name =
                schema.and_then(|schema| schema.arguments.get(index)).map(|argument| argument.name.as_str());
            match name {
                Some(name) => error.within(format_args!("{}: argument `{name}`", operator.name())),
                None => error.within(format_args!("{}: argument {}", operator.name(), index + 1)),
            }
        }
    }
}

/// The boxed side of a function of the arguments.
///
/// # Safety
///
/// `kernel.state` was made by `S::erase`.
pub(crate) unsafe fn boxed_function<S: Signature>(
    kernel: &KernelRecord,
    call: &mut BoxedCall<'_>,
) -> Result<()> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let function = unsafe { S::restore(kernel.state) };
    let values = call.args();
    match S::unpack(values, |args| S::apply(function, args)) {
        Ok(output) => S::Return::push(output?, values, call.returns()),
        Err(error) => return Err(unreadable(error, call.table())),
    }
    Ok(())
}

/// The boxed side of everything that has an entry.
///
/// # Safety
///
/// The entry of the record's typed or symbolic side, whichever `S` is, is an `Entry<S>`, and what that asks for holds.
pub(crate) unsafe fn boxed_entry<S: Signature>(
    kernel: &KernelRecord,
    call: &mut BoxedCall<'_>,
) -> Result<()> {
    let side = if S::is_symbolic() { &kernel.symbolic } else { &kernel.typed };
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let entry = unsafe { mem::transmute::<*const (), Entry<S>>(side.entry) };
    let (values, table, keys) = (call.args(), call.table(), call.keys());
    // SAFETY: guaranteed by the caller, see `# Safety`. The record is that of the entry, which was taken out of it above.
    match S::unpack(values, |args| unsafe { entry(kernel, table, keys, args) }) {
        Ok(output) => S::Return::push(output?, values, call.returns()),
        Err(error) => return Err(unreadable(error, table)),
    }
    Ok(())
}

/// The entry of a function that takes the keys.
///
/// # Safety
///
/// `kernel.state` was made by `S::erase_with_keys`.
pub(crate) unsafe fn enter_with_keys<S: Signature>(
    kernel: &KernelRecord,
    _: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    S::apply_with_keys(unsafe { S::restore_with_keys(kernel.state) }, keys, args)
}

/// The entry of a layer.
///
/// # Safety
///
/// - `kernel.state` points to an `F` that lives as long as the record.
/// - The operator of `table` was checked for `S`.
pub(crate) unsafe fn enter_layer<S, F>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output>
where
    S: Signature,
    F: for<'n, 'a> Fn(Next<'n, S>, S::Args<'a>) -> Result<S::Output>,
{
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let layer = unsafe { &*kernel.state.cast::<F>() };
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let next = unsafe { Next::new(table, keys) };
    layer(next, args)
}

/// The entry of a kernel that chooses keys.
///
/// # Safety
///
/// - `kernel.state` points to an `S::Returning<DispatchKeySet>` that lives as long as the record.
/// - The operator of `table` was checked for `S`.
pub(crate) unsafe fn enter_selecting<S: Signature>(
    kernel: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let select = unsafe { *kernel.state.cast::<S::Returning<DispatchKeySet>>() };
    let chosen = S::apply(select, args)?;
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { Next::<S>::new(table, keys) }.redispatch(chosen, args)
}

/// The function that chooses keys which a kernel is, if it is one and nobody watches the steps of calls.
///
/// # Safety
///
/// As [`enter`].
#[inline(always)]
unsafe fn selects<S: Signature>(kernel: &KernelRecord) -> Option<S::Returning<DispatchKeySet>> {
    // Decided before there is code.
    if const { !S::NAMES_DEVICE } {
        return None;
    }
    let is_of_signature = !side::<S>(kernel).entry.is_null();
    if !kernel.selects || !is_of_signature || with_thread(is_watched) {
        return None;
    }
    // SAFETY: guaranteed by the caller, see `# Safety`: this side is that of a kernel of `S`, and `Kernel::selecting::<S>`, which
    // alone sets `selects`, has put the function into the record.
    Some(unsafe { *kernel.state.cast::<S::Returning<DispatchKeySet>>() })
}

/// The entry of a chain: asks the providers, and enters the one that accepts.
///
/// # Safety
///
/// `table` is that of the operator in whose cell the chain is, or in whose fallbacks, and the operator was checked for `S`.
pub(crate) unsafe fn enter_chain<S: Signature>(
    chain: &KernelRecord,
    table: TableRef<'_>,
    keys: DispatchKeySet,
    args: S::Args<'_>,
) -> Result<S::Output> {
    let settled = settle_typed(chain, table, keys, &Arguments::<S>(args))?;
    // SAFETY: guaranteed by the caller, see `# Safety`. `settle_chain` gives a kernel of the chain or of the table, both of the
    // operator.
    unsafe { enter_apart::<S>(settled.kernel, table, settled.keys, args) }
}

/// The boxed side of a boxed kernel.
///
/// # Safety
///
/// `kernel.state` points to an `F` that lives as long as the record.
pub(crate) unsafe fn run_boxed<F>(kernel: &KernelRecord, call: &mut BoxedCall<'_>) -> Result<()>
where
    F: Fn(&mut BoxedCall<'_>) -> Result<()>,
{
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let kernel = unsafe { &*kernel.state.cast::<F>() };
    kernel(call)
}
