// An extension as people build them for torch: an operator, its CPU kernel, a hook, and functions for Python.
#include <string>

#include <opgrid.hpp>
#include <opgrid_pybind.hpp>

namespace py = pybind11;

OPGRID_MODULE("my_test", "0.1.0", "aten", "CPU TESTING_ONLY_GenericMode")

namespace {

// The definition's own kernel, for keys that have none.
opgrid::Tensor add_1_elsewhere(const opgrid::Tensor&) {
    throw opgrid::Error("aten::add_1 has a kernel for the CPU alone; move the tensor to the CPU",
                        OPGRID_ERROR_NOT_IMPLEMENTED);
}

opgrid::Tensor add_1_cpu(const opgrid::Tensor& x) {
    if (!x.is_contiguous()) throw opgrid::Error("aten::add_1 expects a contiguous tensor", OPGRID_ERROR_ARGUMENT);
    opgrid::Tensor out = opgrid::empty_like(x);
    const float* from = x.data<float>();
    float* to = out.mutable_data<float>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) to[i] = from[i] + 1;
    return out;
}

// Python's print, so that its lines and ours keep their order.
void print(const std::string& line) {
    const py::gil_scoped_acquire interpreter;
    py::print(line);
}

void hook(const opgrid::Call& call) {
    static int64_t calls = 0;
    print("Custom hook called " + std::to_string(calls++) + " times");
    print("  Operator: " + call.name());
    const opgrid::ExcludeGuard guard(opgrid::keys("TESTING_ONLY_GenericMode"));
    call.redispatch_anew();
}

}  // namespace

OPGRID_LIBRARY_FRAGMENT(aten, m) { m.def("add_1(Tensor self) -> Tensor", add_1_elsewhere); }
OPGRID_LIBRARY_IMPL(aten, CPU, m) { m.impl("add_1", add_1_cpu); }
OPGRID_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) { m.fallback(hook); }

PYBIND11_MODULE(_C, m) {
    py::detail::translate_opgrid_errors();
    m.def("hello_world", [](int64_t n) {
        py::print("Hello World!", n);
        return std::to_string(n);
    });
    m.def("add_1", [](const opgrid::Tensor& x) {
        return opgrid::Operator("aten::add_1").call<opgrid::Tensor>(x);
    });
    m.def("enable_hook", [](bool on) { opgrid::set_included(opgrid::keys("TESTING_ONLY_GenericMode"), on); });
}
