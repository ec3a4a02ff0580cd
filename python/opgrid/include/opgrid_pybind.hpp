// Tensors of opgrid in functions that pybind11 exports: parameters and results of type opgrid::Tensor.
#ifndef OPGRID_PYBIND_HPP
#define OPGRID_PYBIND_HPP

#include <pybind11/pybind11.h>

#include "opgrid.hpp"

namespace pybind11::detail {

// A tensor crosses in a capsule whose pointer leads to a handle.
template <>
struct type_caster<opgrid::Tensor> {
    PYBIND11_TYPE_CASTER(opgrid::Tensor, const_name("opgrid.Tensor"));

    bool load(handle object, bool) {
        const module_ host = module_::import("opgrid._opgrid");
        if (!isinstance(object, host.attr("TensorBase"))) return false;
        const capsule held = host.attr("_tensor_capsule")(object);
        value = opgrid::Tensor::borrow(*static_cast<OpgridTensor* const*>(held.get_pointer()));
        return true;
    }

    static handle cast(const opgrid::Tensor& tensor, return_value_policy, handle) {
        static_assert(sizeof(opgrid::Tensor) == sizeof(OpgridTensor*), "a tensor is its handle");
        const capsule held(new opgrid::Tensor(tensor), "opgrid_tensor",
                           [](void* pointer) { delete static_cast<opgrid::Tensor*>(pointer); });
        return module_::import("opgrid._opgrid").attr("_tensor_of_capsule")(held).release();
    }
};

// Errors of opgrid become the exceptions that opgrid itself raises.
inline void translate_opgrid_errors() {
    register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const opgrid::Error& error) {
            const object raise = module_::import("opgrid._opgrid").attr("_raise_plugin_error");
            OpgridError* held = error.take();
            try {
                if (held) raise(reinterpret_cast<uintptr_t>(held), error.kind(), error.what());
                else raise(uintptr_t{0}, error.kind(), error.what());
            } catch (error_already_set& raised) {
                raised.restore();
            }
        }
    });
}

}  // namespace pybind11::detail

#endif
