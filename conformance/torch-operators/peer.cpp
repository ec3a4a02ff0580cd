// Operators of torch written as its manual says: what calls of ours are compared with.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

at::Tensor square(const at::Tensor& x) {
  return at::mul(x, x);
}

at::Tensor mul(const at::Tensor& x, const at::Tensor& y) {
  return at::mul(x, y);
}

} // namespace

// One without a derivative, and one that gets it in Python.
TORCH_LIBRARY(peer, m) {
  m.def("square(Tensor x) -> Tensor");
  m.def("mul(Tensor x, Tensor y) -> Tensor");
}

TORCH_LIBRARY(graded, m) {
  m.def("square(Tensor x) -> Tensor");
  m.def("mul(Tensor x, Tensor y) -> Tensor");
}

TORCH_LIBRARY_IMPL(peer, CPU, m) {
  m.impl("square", &square);
  m.impl("mul", &mul);
}

TORCH_LIBRARY_IMPL(graded, CPU, m) {
  m.impl("square", &square);
  m.impl("mul", &mul);
}
