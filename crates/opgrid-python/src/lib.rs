//! The module `opgrid._opgrid`: the dispatcher and its tensors for Python.
//!
//! What Python users see is `python/opgrid`, which re-exports this module and adds what is better written in Python. Nothing
//! here knows an operator but by the registry; the number protocol names those that Python's signs stand for.
#![deny(unsafe_code)]

mod autocast;
mod autograd;
mod collector;
mod command_line;
mod devices;
mod drop_attached;
mod errors;
mod exchange;
mod fake;
mod gil_cell;
mod graph;
mod guards;
mod inspection;
mod keys;
mod modes;
mod once;
mod operators;
mod programs;
mod registration;
mod rust_names;
mod settings;
mod tensor;
mod torch;
mod transforms;
mod values;
mod vmap;

use pyo3::prelude::*;

// Objects of the module rely on the interpreter's lock, so that a free-threaded interpreter has to take it.
#[pymodule(gil_used = true)]
mod _opgrid {
    use pyo3::prelude::*;

    use crate::errors::OrRaise;
    use crate::operators::candidates::dispatcher;

    #[pymodule_export]
    use crate::autocast::{
        _enter_autocast, _is_autocast_available, _leave_autocast, _register_cast, autocast_decrement_nesting,
        autocast_increment_nesting, clear_autocast_cache, get_autocast_dtype, is_autocast_cache_enabled,
        is_autocast_enabled, set_autocast_cache_enabled, set_autocast_dtype, set_autocast_enabled,
    };
    #[pymodule_export]
    use crate::autograd::{
        _backward, _checkpoint, _custom, _grad, _nodes_alive, _pop_packing, _push_packing,
        _register_derivative, _requires_grad_key, _set_anomaly_enabled, _set_grad_enabled, HookObject,
        NodeObject, is_grad_enabled,
    };
    #[pymodule_export]
    use crate::command_line::{_command_answer, _command_line};
    #[pymodule_export]
    use crate::devices::{
        _current_device, _device_count, _set_current_device, _synchronize, get_default_device,
        set_default_device,
    };
    #[pymodule_export]
    use crate::exchange::buffer::frombuffer;
    #[pymodule_export]
    use crate::exchange::dlpack::from_dlpack;
    #[pymodule_export]
    use crate::exchange::files::{read_file, write_file};
    #[pymodule_export]
    use crate::exchange::handles::{raise_plugin_error, tensor_capsule, tensor_of_capsule};
    #[pymodule_export]
    use crate::exchange::numpy::from_numpy;
    #[pymodule_export]
    use crate::exchange::pickle::{_bytes, _rebuild};
    #[pymodule_export]
    use crate::fake::{_is_fake, _memory_in_use, FakeMemoryObject};
    #[pymodule_export]
    use crate::graph::{_graph, GraphObject};
    #[pymodule_export]
    use crate::guards::{
        _inference_keys, Guard, ProviderGuard, below_adinplace_or_view, below_autograd, exclude, force,
        include, local_keys, preserve,
    };
    #[pymodule_export]
    use crate::inspection::{
        ProfileObject, check_invariants, dangling_implementations, registered_fallbacks, registered_kernels,
        registrations_for, reset_stats, stats, table,
    };
    #[pymodule_export]
    use crate::keys::{_keys_of_parts, Key, KeySet, backend, layer};
    #[pymodule_export]
    use crate::modes::{_current_mode, _enter_mode, _install_modes, EnteredMode};
    #[pymodule_export]
    use crate::operators::function_modes::{_pop_function_mode, _push_function_mode};
    #[pymodule_export]
    use crate::operators::functions::{_caller, function, function_names, method_names};
    #[pymodule_export]
    use crate::operators::overriding::{_are_classes_asked, _set_classes_asked};
    #[pymodule_export]
    use crate::operators::packet::{
        _explain_function, OpOverload, Packet, function_overloads, is_defined, operator_names,
        overload_named, packet,
    };
    #[pymodule_export]
    use crate::operators::schema::{Schema, SchemaArgument};
    #[pymodule_export]
    use crate::programs::{_record_comparison, _trace, ProgramObject};
    #[pymodule_export]
    use crate::registration::held::{KernelFunction, held_kernel};
    #[pymodule_export]
    use crate::registration::plugins::{PluginObject, load_plugin};
    #[pymodule_export]
    use crate::registration::registrations::{RegistrationObject, claim, define, fallback, implement};
    #[pymodule_export]
    use crate::settings::{get_num_threads, get_printoptions, set_num_threads, set_printoptions};
    #[pymodule_export]
    use crate::tensor::construct::{asarray, tensor};
    #[pymodule_export]
    use crate::tensor::dispatching::{_count_write, _dispatch_handler, _wrapper};
    #[pymodule_export]
    use crate::tensor::object::{TensorBase, TensorObject};
    #[pymodule_export]
    use crate::tensor::storage::{_replace_elements, StorageObject};
    #[pymodule_export]
    use crate::torch::{_export_to_torch, _import_from_torch};
    #[pymodule_export]
    use crate::transforms::{
        _enter_forward, _enter_functional, _enter_reverse, _forward_level, _register_batching, _unwrapped,
        LevelObject, VjpObject,
    };
    #[pymodule_export]
    use crate::values::dtypes::{
        FloatLimitsObject, IntegerLimitsObject, can_cast, get_default_dtype, promote_types, result_type,
        set_default_dtype,
    };
    #[pymodule_export]
    use crate::values::generator::{
        _default_generator, GeneratorObject, get_rng_state, initial_seed, manual_seed, seed, set_rng_state,
    };
    #[pymodule_export]
    use crate::values::names::{DTypeObject, DeviceObject, LayoutObject, MemoryFormatObject};
    #[pymodule_export]
    use crate::values::tree::{_broadcast, _flatten, Tree};
    #[pymodule_export]
    use crate::vmap::{_batches, _run_batch};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        crate::registration::overrides::warn_in_python().or_raise(py)?;
        // What exported detection networks call.
        opgrid_vision::register(dispatcher().or_raise(py)?).or_raise(py)?.keep();
        crate::registration::messages::tell_python();
        crate::autograd::say_places();
        crate::exchange::c_api::give_table(py)?;
        module.setattr("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::keys::give_names(py)?;
        crate::values::size::find_class(py)?;
        crate::operators::functions::give_methods(py)?;
        for (_, object) in DTypeObject::all(py)? {
            module.setattr(object.get().0.name(), object)?;
        }
        for (_, object) in LayoutObject::all(py)? {
            module.setattr(object.get().0.name(), object)?;
        }
        for (_, object) in MemoryFormatObject::all(py)? {
            module.setattr(object.get().0.name(), object)?;
        }
        Ok(())
    }
}
