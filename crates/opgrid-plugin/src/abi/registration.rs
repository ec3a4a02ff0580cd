//! What a plugin's entry says: blocks, operators, kernels, fallbacks; layers and backends, which belong to the process.
#![allow(unsafe_code)]

use std::ffi::c_char;

use opgrid_abi::{
    OPGRID_BLOCK_FRAGMENT, OPGRID_BLOCK_IMPLEMENTATIONS, OPGRID_BLOCK_LIBRARY, OPGRID_CAST_FULL,
    OPGRID_CAST_LOWER, OPGRID_CAST_TO, OPGRID_CAST_WIDEST, OPGRID_KERNEL_ENGINE, OPGRID_KERNEL_FALLTHROUGH,
    OpgridBlock, OpgridDefinition, OpgridDevice, OpgridError, OpgridKernel, OpgridKeys, OpgridLayer,
    OpgridLibrary,
};
use opgrid_core::{
    BackendComponent, Device, DeviceType, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Kernel,
    Kind, Library, Place, Result, compute_dispatch_key,
};

use opgrid_tensor::layers::autocast::{self, CastPolicy};
use opgrid_tensor::layers::vmap::BatchingRule;

use super::errors::{answer, quietly, take};
use super::kernels::Function;
use super::libraries::{State, library_of, with_block};
use super::values::dtype_from;
use super::{described, keys_from, keys_to, optional_text, refused, text, texts, write};

pub(super) unsafe extern "C" fn library_fail(library: *mut OpgridLibrary, error: *mut OpgridError) {
    quietly((), || {
        if let (Ok(state), Some(error)) = (State::from_handle(library), take(error)) {
            state.fail(error);
        }
    });
}

/// Says where something stands, if the plugin does.
///
/// # Safety
///
/// `file` is null or a text.
unsafe fn stand(library: &mut Library, state: &State, file: *const c_char, line: u32) -> Result<()> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let file = unsafe { optional_text(file, "the name of a source file") }?;
    library.stands_at(file.map_or_else(|| state.place(), |file| Place::new(file, line)));
    Ok(())
}

/// A dispatch key by its name.
///
/// # Safety
///
/// `key` is null or a text.
unsafe fn key_of(key: *const c_char) -> Result<Option<DispatchKey>> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { optional_text(key, "the name of a dispatch key") }?.map(str::parse).transpose()
}

pub(super) unsafe extern "C" fn block_open(
    library: *mut OpgridLibrary,
    kind: u32,
    namespace: *const c_char,
    key: *const c_char,
    file: *const c_char,
    line: u32,
    out: *mut *mut OpgridBlock,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        let state = State::from_handle(library)?;
        // SAFETY: the plugin guarantees that strings are null or end in a zero byte.
        let (namespace, key) = unsafe { (text(namespace, "the namespace of a block")?, key_of(key)?) };
        let dispatcher: &Dispatcher = &state.dispatcher;
        let mut block = match (kind, key) {
            (OPGRID_BLOCK_LIBRARY, None) => dispatcher.library(namespace),
            (OPGRID_BLOCK_FRAGMENT, None) => dispatcher.fragment(namespace),
            (OPGRID_BLOCK_IMPLEMENTATIONS, key) => dispatcher.implementations(namespace, key),
            (OPGRID_BLOCK_LIBRARY | OPGRID_BLOCK_FRAGMENT, Some(key)) => {
                let message = format!(
                    "block `{namespace}`: only blocks of implementations have a key, found {key}; give it to each kernel"
                );
                return Err(Error::new(ErrorKind::Registration, message));
            }
            _ => {
                return Err(refused(format!(
                    "block `{namespace}`: kind {kind} is unknown, expected OPGRID_BLOCK_…"
                )));
            }
        };
        // SAFETY: the plugin guarantees that the name of a source file is null or a text.
        if let Err(error) = unsafe { stand(&mut block, &state, file, line) } {
            block.discard();
            return Err(error);
        }
        let block = state.add(library, block)?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, block) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn block_allow_override(
    block: *mut OpgridBlock,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        with_block(block, |_, library| {
            library.allow_override();
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn define(
    block: *mut OpgridBlock,
    definition: *const OpgridDefinition,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that the definition is null or what its size says.
        let definition = unsafe { described(definition, "OpgridDefinition") }?;
        // SAFETY: the plugin guarantees that strings are null or end in a zero byte, and that lists have as many as it says.
        let (schema, tags, kind, documentation) = unsafe {
            (
                text(definition.schema, "the schema of a definition")?,
                texts(definition.tags, definition.tag_count, "the tags of a definition")?,
                optional_text(definition.kind, "the kind of a definition")?,
                optional_text(definition.documentation, "the documentation of a definition")?,
            )
        };
        with_block(block, |state, library| {
            let kind = kind.map(|kind| kind_named(&state.dispatcher, kind)).transpose()?;
            // SAFETY: the plugin guarantees that the name of a source file is null or a text.
            unsafe { stand(library, state, definition.file, definition.line) }?;
            let mut operator = library.define(schema);
            for tag in tags {
                operator = operator.tag(tag);
            }
            if let Some(documentation) = documentation {
                operator = operator.document(documentation.to_owned());
            }
            if let Some(kind) = kind {
                operator.column(kind);
            }
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// The kind of that name among those that operators are of.
fn kind_named(dispatcher: &Dispatcher, name: &str) -> Result<Kind> {
    let mut known = Vec::new();
    for operator in dispatcher.operators() {
        let Ok(Some(own)) = operator.column::<Kind>() else { continue };
        let mut kind = Some(&*own);
        while let Some(found) = kind {
            if found.name() == name {
                return Ok(found.clone());
            }
            known.push(found.name().to_owned());
            kind = found.parent();
        }
    }
    known.sort();
    known.dedup();
    let message = format!("unknown kind `{name}`; the kinds are {}", known.join(", "));
    Err(Error::new(ErrorKind::Unknown, message))
}

/// The kernel of a description, with the place where it stands.
///
/// # Safety
///
/// The plugin's pointers are null or what their types say.
unsafe fn kernel_of(
    block: *const OpgridBlock,
    description: *const OpgridKernel,
    subject: &str,
) -> Result<(Kernel, OpgridKernel)> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let description = unsafe { described(description, "OpgridKernel") }?;
    // From here on the context is given back, whatever happens.
    let function = Function::new(&description, library_of(block));
    if description.flags & !(OPGRID_KERNEL_FALLTHROUGH | OPGRID_KERNEL_ENGINE) != 0 {
        let message = format!(
            "{subject}: flags {:#x} of the kernel are unknown, expected OPGRID_KERNEL_…",
            description.flags
        );
        return Err(refused(message));
    }
    let falls_through = description.flags & OPGRID_KERNEL_FALLTHROUGH != 0;
    let mut kernel = match (falls_through, function) {
        (true, None) => Kernel::fallthrough(),
        (false, Some(function)) => {
            // SAFETY: guaranteed by the caller, see `# Safety`.
            let when = unsafe { optional_text(description.condition_text, "the text of a condition") }?;
            let kernel = function.kernel(description.flags & OPGRID_KERNEL_ENGINE != 0);
            match function.condition() {
                None => kernel,
                Some(condition) => kernel.when(when.unwrap_or("its condition holds"), condition),
            }
        }
        (true, Some(_)) => {
            return Err(refused(format!(
                "{subject}: a fallthrough has no function, found one; leave it null"
            )));
        }
        (false, None) => {
            return Err(refused(format!(
                "{subject}: the function of the kernel is null; give one, or the flag of a fallthrough"
            )));
        }
    };
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let (key, provider, shown) = unsafe {
        (
            key_of(description.key)?,
            optional_text(description.provider, "the name of a provider")?,
            optional_text(description.description, "the description of a kernel")?,
        )
    };
    if let Some(provider) = provider {
        kernel = kernel.named(provider);
    }
    if let Some(shown) = shown {
        kernel = kernel.describe(shown);
    }
    if let Some(key) = key {
        kernel = kernel.at(key);
    }
    Ok((kernel, description))
}

pub(super) unsafe extern "C" fn implement(
    block: *mut OpgridBlock,
    name: *const c_char,
    kernel: *const OpgridKernel,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let name = unsafe { text(name, "the name of an operator") }?;
        // SAFETY: the plugin guarantees that the description is null or as large as it says, with pointers that are
        // null or what their types say.
        let (kernel, description) = unsafe { kernel_of(block, kernel, name) }?;
        with_block(block, |state, library| {
            // SAFETY: the plugin guarantees that the name of a source file is null or a text.
            unsafe { stand(library, state, description.file, description.line) }?;
            library.implement(name).add(kernel);
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn fallback(
    block: *mut OpgridBlock,
    kernel: *const OpgridKernel,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let (kernel, description) = unsafe { kernel_of(block, kernel, "a fallback") }?;
        with_block(block, |state, library| {
            // SAFETY: the plugin guarantees that the name of a source file is null or a text.
            unsafe { stand(library, state, description.file, description.line) }?;
            library.fallback(kernel);
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn order(
    block: *mut OpgridBlock,
    name: *const c_char,
    key: *const c_char,
    names: *const *const c_char,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let (name, key, names) = unsafe {
            (
                text(name, "the name of an operator")?,
                key_of(key)?,
                texts(names, count, "the names of providers")?,
            )
        };
        with_block(block, |_, library| {
            library.implement(name).order(key, &names);
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn cast_policy(
    block: *mut OpgridBlock,
    name: *const c_char,
    device: *const c_char,
    policy: u32,
    dtype: i32,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let (name, device) =
            unsafe { (text(name, "the name of an operator")?, text(device, "the type of a device")?) };
        let policy = match policy {
            OPGRID_CAST_LOWER => CastPolicy::Lower,
            OPGRID_CAST_FULL => CastPolicy::Full,
            OPGRID_CAST_WIDEST => CastPolicy::Widest,
            OPGRID_CAST_TO => CastPolicy::To(dtype_from(dtype.into())?),
            unknown => {
                return Err(refused(format!(
                    "`{name}`: cast policy {unknown} is unknown, expected OPGRID_CAST_…"
                )));
            }
        };
        let key = autocast::key_of(device.parse()?)?;
        with_block(block, |_, library| {
            library.implement(name).add(policy.kernel().at(key));
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn batched_by(
    block: *mut OpgridBlock,
    name: *const c_char,
    batched: *const c_char,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let (name, batched) =
            unsafe { (text(name, "the name of an operator")?, text(batched, "the name of an operator")?) };
        with_block(block, |_, library| {
            library.implement(name).column(BatchingRule::by_operator(batched));
            Ok(())
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn layer(
    layer: *const OpgridLayer,
    out: *mut OpgridKeys,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let layer = unsafe { described(layer, "OpgridLayer") }?;
        // SAFETY: the plugin guarantees that strings are null or end in a zero byte, and that lists have as many as it says.
        let (name, above, below) = unsafe {
            (
                text(layer.name, "the name of a layer")?,
                texts(layer.above, layer.above_count, "the keys below a layer")?,
                texts(layer.below, layer.below_count, "the keys above a layer")?,
            )
        };
        let mut new = DispatchKey::layer(name);
        for key in above {
            new = new.above(key.parse::<DispatchKey>()?);
        }
        for key in below {
            new = new.below(key.parse::<DispatchKey>()?);
        }
        if layer.excludes_below != OpgridKeys::default() {
            new = new.excludes_below(keys_from(layer.excludes_below));
        }
        let key = new.register()?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, keys_to(DispatchKeySet::from_key(key))) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// The current device of a backend.
pub(super) fn device_of(backend: BackendComponent) -> Option<Device> {
    let is_of = |kind: &DeviceType| {
        compute_dispatch_key(None, None, Some(Device::from_type(*kind))).is_ok_and(|key| key == backend.key())
    };
    DeviceType::all().find(is_of).map(Device::from_type)
}

pub(super) unsafe extern "C" fn backend(
    name: *const c_char,
    out: *mut OpgridKeys,
    device: *mut OpgridDevice,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let name = unsafe { text(name, "the name of a backend") }?;
        let backend = BackendComponent::register(name)?;
        let kind = device_of(backend).map_or(0, |device| u32::from(device.kind().number()));
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, keys_to(backend.key().key_set())) }?;
        // SAFETY: the plugin guarantees that the address of the device is null or can be written.
        unsafe { write(device, OpgridDevice { kind, index: -1 }) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn keys_named(
    name: *const c_char,
    out: *mut OpgridKeys,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let name = unsafe { text(name, "the name of a dispatch key") }?;
        let key: DispatchKey = name.parse()?;
        let keys = key.runtime_set().ok_or_else(|| {
            Error::new(ErrorKind::Unknown, format!("{key} is not a key of a call; name a runtime key"))
        })?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, keys_to(keys)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}
