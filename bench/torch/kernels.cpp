// Measures torch's operators for `cargo xtask bench`: the same calls, tensors and command lines as `bench/ours`.
//
// - `kernels measure [BEGINNING]` prints a line `NAME VALUE` for each figure whose name begins so, in nanoseconds; without
//   it for those that are measured by default;
// - `kernels CASE N` makes one call N times and nothing else.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "clock.h"

namespace {

using at::Tensor;
using Pair = std::array<Tensor, 2>;
using Places = c10::List<std::optional<Tensor>>;

constexpr int64_t kLarge = 10'000'000;

Tensor numbers(at::IntArrayRef size, int64_t end) {
  return at::rand(size).mul(end).to(at::kLong);
}

template <class Make>
Pair two(Make make) {
  Tensor first = make();
  return {first, make()};
}

Pair square(int64_t size) {
  return two([&] { return at::rand({size, size}); });
}

// A small network and one step of its training, from operators alone: 64 inputs, 128 hidden values, 10 classes, a batch of 32.
struct Mlp {
  Tensor inputs = at::rand({32, 64});
  Tensor labels = at::arange(32).remainder(10);
  std::array<Tensor, 4> parameters = {weight({128, 64}), weight({128}), weight({10, 128}), weight({10})};

  static Tensor weight(at::IntArrayRef sizes) {
    return at::rand(sizes).sub(0.5).mul(0.1).requires_grad_(true);
  }

  void step() const {
    const Tensor hidden = at::linear(inputs, parameters[0], parameters[1]).relu();
    const Tensor scores = at::linear(hidden, parameters[2], parameters[3]);
    at::cross_entropy_loss(scores, labels).backward();
    at::NoGradGuard off;
    for (const Tensor& parameter : parameters) {
      Tensor(parameter).add_(parameter.grad(), -0.01);
      parameter.mutable_grad().reset();
    }
  }
};

// Rows of numbers, as many more, and numbers of half of the rows.
struct Rows {
  Tensor x;
  Tensor y;
  Tensor chosen;

  Rows(int64_t rows, int64_t columns)
      : x(at::rand({rows, columns})), y(at::rand({rows, columns})), chosen(numbers({std::max<int64_t>(rows / 2, 1)}, rows)) {}
  Rows(const Rows& rows, at::ScalarType dtype)
      : x(rows.x.mul(100).to(dtype)), y(rows.y.mul(100).to(dtype)), chosen(rows.chosen) {}
};

// A batch of images, and filters.
struct Images {
  Tensor input;
  Tensor filters;

  Images() : input(at::rand({8, 16, 32, 32})), filters(at::rand({32, 16, 3, 3})) {}
  Images(const Images& images, at::ScalarType dtype) : input(images.input.to(dtype)), filters(images.filters.to(dtype)) {}
};

// Queries, keys and values.
struct Words {
  Tensor query;
  Tensor key;
  Tensor value;

  Words() : query(at::rand({2, 4, 128, 64})), key(at::rand({2, 4, 128, 64})), value(at::rand({2, 4, 128, 64})) {}
  Words(const Words& words, at::ScalarType dtype)
      : query(words.query.to(dtype)), key(words.key.to(dtype)), value(words.value.to(dtype)) {}
};

Pair as(const Pair& pair, at::ScalarType dtype) {
  return {pair[0].to(dtype), pair[1].to(dtype)};
}

// Ten calls.
Tensor chain(const Tensor& x, const Tensor& y) {
  Tensor result = x;
  for (int i = 0; i < 5; ++i) {
    result = result.add(y).mul(y);
  }
  return result;
}

// What the cases work on: the same numbers in the same order as in the other program.
struct Subject {
  Tensor a = at::rand({100'000});
  Tensor b = at::rand({100'000});
  Tensor matrix = a.reshape({1000, 100});
  Tensor signed_ = a.sub(0.5);
  Pair bools = {a.lt(b), signed_.lt(0.0)};
  Pair i64 = {numbers({100'000}, 100), numbers({100'000}, 100).add(1)};
  Tensor places = numbers({100'000}, 100'000);
  Tensor rows = numbers({500}, 1000);
  Rows typed = Rows(1000, 100);
  Pair batches = two([] { return at::rand({16, 64, 64}); });
  Images images;
  Words words;
  Pair three = two([] { return at::rand({3}); });
  Pair three_marked = two([] { return at::rand({3}).requires_grad_(true); });
  Mlp mlp;
  Tensor copy = a.clone();
  Tensor out = a.clone();
  Tensor all_true = a.eq(a);
  Tensor all_false = a.ne(a);
  Pair f64 = {a.to(at::kDouble), b.to(at::kDouble)};
  Pair bf16 = {a.to(at::kBFloat16), b.to(at::kBFloat16)};
  Tensor sliced = at::rand({200'000}).slice(0, std::nullopt, std::nullopt, 2);
  Tensor row = at::rand({100});
  Tensor column = at::rand({1000, 1});
  std::vector<Tensor> quarters = a.chunk(4);
  std::vector<Tensor> halves = {at::rand({1000, 50}), at::rand({1000, 50})};
  Tensor columns = numbers({50}, 100);
  Tensor row_of_each = numbers({1000, 100}, 1000);
  Tensor column_of_each = numbers({1000, 100}, 100);
  Places by_places = Places({places});
  Places by_rows = Places({rows});
  Places by_mask = Places({bools[0]});
  Pair square_ = square(1024);
  std::array<Pair, 4> factors = {square(64), square(256), square(1024), square(2048)};
  Tensor vector = at::rand({1024});
  Pair factors_f64 = two([] { return at::rand({256, 256}).to(at::kDouble); });
  Pair factors_bf16 = two([] { return at::rand({256, 256}).to(at::kBFloat16); });
  Pair factors_i64 = two([] { return numbers({128, 128}, 100); });
  Tensor large_a = at::ones({kLarge});
  Tensor large_b = at::ones({kLarge});
  std::array<Rows, 3> rows_of = {Rows(1, 64), Rows(100, 100), Rows(1000, 1000)};
  std::array<Rows, 4> typed_rows = {Rows(typed, at::kDouble), Rows(typed, at::kBFloat16), Rows(typed, at::kHalf), Rows(typed, at::kLong)};
  std::array<Pair, 4> typed_batches = {as(batches, at::kDouble), as(batches, at::kBFloat16), as(batches, at::kHalf), as(batches, at::kLong)};
  std::array<Images, 2> typed_images = {Images(images, at::kDouble), Images(images, at::kBFloat16)};
  std::array<Words, 2> typed_words = {Words(words, at::kDouble), Words(words, at::kBFloat16)};
};

struct Case {
  const char* name;
  void (*run)(const Subject&, uint32_t);
};

// A case that makes a call again and again. The call may contain commas.
#define CALL(name, ...) \
  Case {                \
    name, [](const Subject& s, uint32_t n) { times(n, [&] { return __VA_ARGS__; }); } \
  }

// Figures on one thread.
const Case kOneThread[] = {
    CALL("empty3", at::empty({3})),
    CALL("add3", at::add(s.three[0], s.three[1])),
    CALL("add_scalar3", at::add(s.three[0], 1)),
    CALL("chain64", chain(s.rows_of[0].x, s.rows_of[0].y)),
    CALL("add3_grad", at::add(s.three_marked[0], s.three_marked[1])),
    {"add3_no_grad",
     [](const Subject& s, uint32_t n) {
       at::NoGradGuard off;
       times(n, [&] { return at::add(s.three_marked[0], s.three_marked[1]); });
     }},
    CALL("mlp_step", s.mlp.step()),
    CALL("add", at::add(s.a, s.b)),
    CALL("add_in_place", s.out.add_(s.b)),
    CALL("add_number", at::add(s.a, 1)),
    CALL("add_row", at::add(s.matrix, s.row)),
    CALL("add_column", at::add(s.matrix, s.column)),
    CALL("add_sliced", at::add(s.a, s.sliced)),
    {"add_transposed",
     [](const Subject& s, uint32_t n) {
       const Tensor transposed = s.square_[1].t();
       times(n, [&] { return at::add(s.square_[0], transposed); });
     }},
    CALL("add_mixed", at::add(s.a, s.f64[1])),
    CALL("add_f64", at::add(s.f64[0], s.f64[1])),
    CALL("add_bf16", at::add(s.bf16[0], s.bf16[1])),
    CALL("add_i64", at::add(s.i64[0], s.i64[1])),
    CALL("sub", at::sub(s.a, s.b)),
    CALL("rsub", at::rsub(s.a, 1)),
    CALL("mul", at::mul(s.a, s.b)),
    CALL("mul_bf16", at::mul(s.bf16[0], s.bf16[1])),
    CALL("mul_i64", at::mul(s.i64[0], s.i64[1])),
    CALL("div", at::div(s.a, s.b)),
    CALL("div_i64", at::div(s.i64[0], s.i64[1])),
    CALL("div_trunc", at::div(s.a, s.b, "trunc")),
    CALL("div_floor", at::div(s.a, s.b, "floor")),
    CALL("div_floor_i64", at::div(s.i64[0], s.i64[1], "floor")),
    CALL("neg", at::neg(s.a)),
    CALL("abs", at::abs(s.signed_)),
    CALL("abs_i64", at::abs(s.i64[0])),
    CALL("reciprocal", at::reciprocal(s.a)),
    CALL("pow_2", at::pow(s.a, 2)),
    CALL("pow_3", at::pow(s.a, 3)),
    CALL("pow_half", at::pow(s.a, 0.5)),
    CALL("pow_number", at::pow(s.a, 2.7)),
    CALL("pow", at::pow(s.a, s.b)),
    CALL("pow_i64", at::pow(s.i64[0], 3)),
    CALL("sqrt", at::sqrt(s.a)),
    CALL("exp", at::exp(s.a)),
    CALL("exp_f64", at::exp(s.f64[0])),
    CALL("exp_bf16", at::exp(s.bf16[0])),
    CALL("log", at::log(s.a)),
    CALL("log_f64", at::log(s.f64[0])),
    CALL("tanh", at::tanh(s.signed_)),
    CALL("tanh_f64", at::tanh(s.f64[0])),
    CALL("sigmoid", at::sigmoid(s.signed_)),
    CALL("sigmoid_bf16", at::sigmoid(s.bf16[0])),
    CALL("gelu", at::gelu(s.signed_)),
    CALL("erf", at::erf(s.signed_)),
    CALL("sin", at::sin(s.signed_)),
    CALL("relu", at::relu(s.signed_)),
    CALL("maximum", at::maximum(s.a, s.b)),
    CALL("maximum_i64", at::maximum(s.i64[0], s.i64[1])),
    CALL("eq", at::eq(s.a, s.b)),
    CALL("eq_i64", at::eq(s.i64[0], s.i64[1])),
    CALL("lt", at::lt(s.a, s.b)),
    CALL("lt_number", at::lt(s.a, 0.5)),
    CALL("logical_and", at::logical_and(s.bools[0], s.bools[1])),
    CALL("logical_not", at::logical_not(s.bools[0])),
    CALL("where", at::where(s.bools[0], s.a, s.b)),
    CALL("isnan", at::isnan(s.a)),
    CALL("isfinite", at::isfinite(s.a)),
    CALL("masked_fill", at::masked_fill(s.a, s.bools[0], 0)),
    CALL("fill", s.out.fill_(1)),
    CALL("copy", s.out.copy_(s.a)),
    CALL("clone", at::clone(s.a)),
    CALL("clone_1e7", at::clone(s.large_a)),
    {"contiguous",
     [](const Subject& s, uint32_t n) {
       const Tensor transposed = s.matrix.t();
       times(n, [&] { return transposed.contiguous(); });
     }},
    CALL("contiguous_sliced", s.sliced.contiguous()),
    CALL("f32_to_f64", s.a.to(at::kDouble)),
    CALL("f64_to_f32", s.f64[0].to(at::kFloat)),
    CALL("f32_to_bf16", s.a.to(at::kBFloat16)),
    CALL("bf16_to_f32", s.bf16[0].to(at::kFloat)),
    CALL("f32_to_f16", s.a.to(at::kHalf)),
    CALL("i64_to_f32", s.i64[0].to(at::kFloat)),
    CALL("f32_to_i64", s.a.to(at::kLong)),
    CALL("f32_to_bool", s.a.to(at::kBool)),
    CALL("bool_to_f32", s.bools[0].to(at::kFloat)),
    CALL("zeros", at::zeros(s.a.sizes())),
    CALL("full", at::full(s.a.sizes(), 2.5)),
    CALL("arange", at::arange(0, s.a.numel(), 1)),
    CALL("arange_f32", at::arange(0.0, static_cast<double>(s.a.numel()), 1)),
    CALL("linspace", at::linspace(0, 1, s.a.numel())),
    CALL("eye", at::eye(1024, 1024)),
    CALL("rand", at::rand(s.a.sizes())),
    CALL("randn", at::randn(s.a.sizes())),
    CALL("sum_1e5", at::sum(s.a)),
    CALL("sum_f64", at::sum(s.f64[0])),
    CALL("sum_bf16", at::sum(s.bf16[0])),
    CALL("sum_i64", at::sum(s.i64[0])),
    CALL("sum_bool", at::sum(s.bools[0])),
    CALL("sum_inner", at::sum(s.matrix, {1})),
    CALL("sum_outer", at::sum(s.matrix, {0})),
    CALL("mean", at::mean(s.a)),
    CALL("mean_inner", at::mean(s.matrix, {1})),
    CALL("mean_outer", at::mean(s.matrix, {0})),
    CALL("amax", at::amax(s.a)),
    CALL("amax_i64", at::amax(s.i64[0])),
    CALL("amax_inner", at::amax(s.matrix, {1})),
    CALL("amax_outer", at::amax(s.matrix, {0})),
    CALL("argmax", at::argmax(s.a)),
    CALL("argmax_inner", at::argmax(s.matrix, 1)),
    CALL("argmax_outer", at::argmax(s.matrix, 0)),
    CALL("any", at::any(s.all_false)),
    CALL("all", at::all(s.all_true)),
    CALL("equal", at::equal(s.a, s.copy)),
    CALL("allclose", at::allclose(s.a, s.copy)),
    // As a user composes them.
    CALL("own_elementwise", at::div(s.signed_, at::add(at::abs(s.signed_), 1))),
    CALL("own_reduction", at::sum(at::mul(s.a, s.a))),
    CALL("softmax", at::softmax(s.matrix, -1)),
    CALL("layer_norm", at::layer_norm(s.matrix, {100})),
    CALL("cumsum", at::cumsum(s.matrix, -1)),
    CALL("sort", at::sort(s.matrix, -1)),
    CALL("topk", at::topk(s.matrix, 10, -1)),
    CALL("embedding", at::embedding(s.matrix, s.rows)),
    CALL("cat", at::cat(s.quarters, 0)),
    CALL("cat_inner", at::cat(s.halves, 1)),
    CALL("stack", at::stack(s.quarters, 0)),
    CALL("index_select", at::index_select(s.matrix, 0, s.rows)),
    CALL("index_select_inner", at::index_select(s.matrix, 1, s.columns)),
    CALL("gather", at::gather(s.matrix, 1, s.column_of_each)),
    CALL("gather_outer", at::gather(s.matrix, 0, s.row_of_each)),
    CALL("index", at::index(s.a, s.by_places)),
    CALL("index_rows", at::index(s.matrix, s.by_rows)),
    CALL("index_mask", at::index(s.a, s.by_mask)),
    CALL("index_put", Tensor(s.out).index_put_(s.by_places, s.b)),
    CALL("index_put_accumulate", Tensor(s.out).index_put_(s.by_places, s.b, true)),
    CALL("matmul_64", at::mm(s.factors[0][0], s.factors[0][1])),
    CALL("matmul_256", at::mm(s.factors[1][0], s.factors[1][1])),
    CALL("matmul_1024", at::mm(s.factors[2][0], s.factors[2][1])),
    CALL("matmul_2048", at::mm(s.factors[3][0], s.factors[3][1])),
    CALL("matmul_vector", at::matmul(s.square_[0], s.vector)),
    CALL("bmm", at::bmm(s.batches[0], s.batches[1])),
    CALL("addmm", at::addmm(s.factors[1][0], s.factors[1][0], s.factors[1][1])),
    CALL("mm_f64", at::mm(s.factors_f64[0], s.factors_f64[1])),
    CALL("mm_bf16", at::mm(s.factors_bf16[0], s.factors_bf16[1])),
    CALL("mm_i64", at::mm(s.factors_i64[0], s.factors_i64[1])),
    CALL("conv2d", at::conv2d(s.images.input, s.images.filters, {}, 1, 1)),
    CALL("attention", at::scaled_dot_product_attention(s.words.query, s.words.key, s.words.value)),
};

// Figures on as many threads as torch takes by itself.
const Case kAllThreads[] = {
    CALL("add_threads", at::add(s.a, s.b)),
    CALL("exp_threads", at::exp(s.a)),
    CALL("sum_1e5_threads", at::sum(s.a)),
    CALL("sum_1e7_threads", at::sum(s.large_a)),
    {"add_transposed_threads",
     [](const Subject& s, uint32_t n) {
       const Tensor transposed = s.square_[1].t();
       times(n, [&] { return at::add(s.square_[0], transposed); });
     }},
    CALL("index_threads", at::index(s.a, s.by_places)),
    CALL("matmul_1024_threads", at::mm(s.factors[2][0], s.factors[2][1])),
};

// Calls on rows of each size on one thread, and the largest ones on all.
#define ROWS(name, at_, ...) \
  Case { \
    name, [](const Subject& s, uint32_t n) { \
      const Rows& r = s.rows_of[at_]; \
      times(n, [&] { return __VA_ARGS__; }); \
    } \
  }
#define SIZES(name, ...) \
  ROWS(name "_64", 0, __VA_ARGS__), ROWS(name "_1e4", 1, __VA_ARGS__), ROWS(name "_1e6", 2, __VA_ARGS__)

const Case kSizes[] = {
    SIZES("add", at::add(r.x, r.y)),
    SIZES("mul", at::mul(r.x, r.y)),
    SIZES("relu", at::relu(r.x)),
    SIZES("sqrt", at::sqrt(r.x)),
    SIZES("exp", at::exp(r.x)),
    SIZES("log", at::log(r.x)),
    SIZES("tanh", at::tanh(r.x)),
    SIZES("sigmoid", at::sigmoid(r.x)),
    SIZES("gelu", at::gelu(r.x)),
    SIZES("erf", at::erf(r.x)),
    SIZES("sin", at::sin(r.x)),
    SIZES("sum", at::sum(r.x)),
    SIZES("sum_inner", at::sum(r.x, {1})),
    SIZES("amax", at::amax(r.x)),
    SIZES("softmax", at::softmax(r.x, -1)),
    SIZES("layer_norm", at::layer_norm(r.x, {r.x.size(1)})),
    SIZES("cumsum", at::cumsum(r.x, -1)),
    SIZES("sort", at::sort(r.x, -1)),
    SIZES("topk", at::topk(r.x, 4, -1)),
    SIZES("index_select", at::index_select(r.x, 0, r.chosen)),
    SIZES("embedding", at::embedding(r.x, r.chosen)),
};

const Case kSizesAllThreads[] = {
    ROWS("add_1e6_threads", 2, at::add(r.x, r.y)),
    ROWS("mul_1e6_threads", 2, at::mul(r.x, r.y)),
    ROWS("relu_1e6_threads", 2, at::relu(r.x)),
    ROWS("sqrt_1e6_threads", 2, at::sqrt(r.x)),
    ROWS("exp_1e6_threads", 2, at::exp(r.x)),
    ROWS("log_1e6_threads", 2, at::log(r.x)),
    ROWS("tanh_1e6_threads", 2, at::tanh(r.x)),
    ROWS("sigmoid_1e6_threads", 2, at::sigmoid(r.x)),
    ROWS("gelu_1e6_threads", 2, at::gelu(r.x)),
    ROWS("erf_1e6_threads", 2, at::erf(r.x)),
    ROWS("sin_1e6_threads", 2, at::sin(r.x)),
    ROWS("sum_1e6_threads", 2, at::sum(r.x)),
    ROWS("sum_inner_1e6_threads", 2, at::sum(r.x, {1})),
    ROWS("amax_1e6_threads", 2, at::amax(r.x)),
    ROWS("softmax_1e6_threads", 2, at::softmax(r.x, -1)),
    ROWS("layer_norm_1e6_threads", 2, at::layer_norm(r.x, {r.x.size(1)})),
    ROWS("cumsum_1e6_threads", 2, at::cumsum(r.x, -1)),
    ROWS("sort_1e6_threads", 2, at::sort(r.x, -1)),
    ROWS("topk_1e6_threads", 2, at::topk(r.x, 4, -1)),
    ROWS("index_select_1e6_threads", 2, at::index_select(r.x, 0, r.chosen)),
    ROWS("embedding_1e6_threads", 2, at::embedding(r.x, r.chosen)),
};

#undef SIZES
#undef ROWS

// Calls on other dtypes.
#define TYPED(name, field, at_, ...) \
  Case { \
    name, [](const Subject& s, uint32_t n) { \
      const auto& r = s.field[at_]; \
      times(n, [&] { return __VA_ARGS__; }); \
    } \
  }

const Case kOtherDtypes[] = {
    TYPED("gelu_f64", typed_rows, 0, at::gelu(r.x)),
    TYPED("gelu_bf16", typed_rows, 1, at::gelu(r.x)),
    TYPED("gelu_f16", typed_rows, 2, at::gelu(r.x)),
    TYPED("erf_f64", typed_rows, 0, at::erf(r.x)),
    TYPED("erf_bf16", typed_rows, 1, at::erf(r.x)),
    TYPED("erf_f16", typed_rows, 2, at::erf(r.x)),
    TYPED("sin_f64", typed_rows, 0, at::sin(r.x)),
    TYPED("sin_bf16", typed_rows, 1, at::sin(r.x)),
    TYPED("sin_f16", typed_rows, 2, at::sin(r.x)),
    TYPED("softmax_f64", typed_rows, 0, at::softmax(r.x, -1)),
    TYPED("softmax_bf16", typed_rows, 1, at::softmax(r.x, -1)),
    TYPED("softmax_f16", typed_rows, 2, at::softmax(r.x, -1)),
    TYPED("layer_norm_f64", typed_rows, 0, at::layer_norm(r.x, {r.x.size(1)})),
    TYPED("layer_norm_bf16", typed_rows, 1, at::layer_norm(r.x, {r.x.size(1)})),
    TYPED("layer_norm_f16", typed_rows, 2, at::layer_norm(r.x, {r.x.size(1)})),
    TYPED("cumsum_f64", typed_rows, 0, at::cumsum(r.x, -1)),
    TYPED("cumsum_bf16", typed_rows, 1, at::cumsum(r.x, -1)),
    TYPED("cumsum_f16", typed_rows, 2, at::cumsum(r.x, -1)),
    TYPED("cumsum_i64", typed_rows, 3, at::cumsum(r.x, -1)),
    TYPED("sort_f64", typed_rows, 0, at::sort(r.x, -1)),
    TYPED("sort_bf16", typed_rows, 1, at::sort(r.x, -1)),
    TYPED("sort_f16", typed_rows, 2, at::sort(r.x, -1)),
    TYPED("sort_i64", typed_rows, 3, at::sort(r.x, -1)),
    TYPED("topk_f64", typed_rows, 0, at::topk(r.x, 4, -1)),
    TYPED("topk_bf16", typed_rows, 1, at::topk(r.x, 4, -1)),
    TYPED("topk_f16", typed_rows, 2, at::topk(r.x, 4, -1)),
    TYPED("topk_i64", typed_rows, 3, at::topk(r.x, 4, -1)),
    TYPED("index_select_f64", typed_rows, 0, at::index_select(r.x, 0, r.chosen)),
    TYPED("index_select_bf16", typed_rows, 1, at::index_select(r.x, 0, r.chosen)),
    TYPED("index_select_i64", typed_rows, 3, at::index_select(r.x, 0, r.chosen)),
    TYPED("embedding_f64", typed_rows, 0, at::embedding(r.x, r.chosen)),
    TYPED("embedding_bf16", typed_rows, 1, at::embedding(r.x, r.chosen)),
    TYPED("bmm_f64", typed_batches, 0, at::bmm(r[0], r[1])),
    TYPED("bmm_bf16", typed_batches, 1, at::bmm(r[0], r[1])),
    TYPED("bmm_f16", typed_batches, 2, at::bmm(r[0], r[1])),
    TYPED("bmm_i64", typed_batches, 3, at::bmm(r[0], r[1])),
    TYPED("conv2d_f64", typed_images, 0, at::conv2d(r.input, r.filters, {}, 1, 1)),
    TYPED("conv2d_bf16", typed_images, 1, at::conv2d(r.input, r.filters, {}, 1, 1)),
    TYPED("attention_f64", typed_words, 0, at::scaled_dot_product_attention(r.query, r.key, r.value)),
    TYPED("attention_bf16", typed_words, 1, at::scaled_dot_product_attention(r.query, r.key, r.value)),
};

#undef TYPED

// Those that only memory limits, measured beside copies: on one thread, and on all.
const Case kMemoryOneThread[] = {
    CALL("add_1e7", at::add(s.large_a, s.large_b)),
    CALL("mul_1e7", at::mul(s.large_a, s.large_b)),
};
const Case kMemoryAllThreads[] = {
    CALL("add_1e7_threads", at::add(s.large_a, s.large_b)),
    CALL("mul_1e7_threads", at::mul(s.large_a, s.large_b)),
};

#undef CALL

double best_of_case(const Case& entry, const Subject& subject) {
  return best_of_any_length([&](uint32_t calls) { entry.run(subject, calls); });
}

// The time of a copy for each byte as `name.one`, that of the case as `name.two`.
void measure_beside_copies(const Case& entry, const Subject& subject) {
  const std::vector<float> from(kLarge, 1);
  std::vector<float> to(kLarge, 0);
  const double bytes = kLarge * sizeof(float);
  double one = std::numeric_limits<double>::infinity();
  double two = one;
  // In turn, so that both see the machine in the same states.
  for (int round = 0; round < 5; ++round) {
    const double copied = timed([&] {
      at::parallel_for(0, kLarge, kLarge / at::get_num_threads(), [&](int64_t start, int64_t end) {
        std::memcpy(to.data() + start, from.data() + start, (end - start) * sizeof(float));
      });
      keep(to);
    });
    one = std::min(one, copied / (2 * bytes));
    two = std::min(two, best_of_case(entry, subject) / (3 * bytes));
  }
  const std::string name = entry.name;
  report((name + ".one").c_str(), one);
  report((name + ".two").c_str(), two);
}

using Cases = std::span<const Case>;

void measure(int threads, std::initializer_list<Cases> lists, Cases memory_cases, const Subject& subject, const std::string& chosen) {
  at::set_num_threads(threads);
  const auto is_chosen = [&](const Case& entry) { return std::string(entry.name).starts_with(chosen); };
  for (const Cases& cases : lists) {
    for (const Case& entry : cases) {
      if (is_chosen(entry)) {
        report(entry.name, best_of_case(entry, subject));
      }
    }
  }
  for (const Case& entry : memory_cases) {
    if (is_chosen(entry)) {
      measure_beside_copies(entry, subject);
    }
  }
}

bool repeat(int threads, Cases cases, const std::string& name, uint32_t count) {
  for (const Case& entry : cases) {
    if (entry.name == name) {
      at::set_num_threads(threads);
      entry.run(Subject(), count);
      return true;
    }
  }
  return false;
}

void run(const std::vector<std::string>& arguments) {
  const int threads = at::get_num_threads();
  at::manual_seed(0);
  if (!arguments.empty() && arguments.size() <= 2 && arguments[0] == "measure") {
    const Subject subject;
    if (arguments.size() == 1) {
      measure(1, {kOneThread}, kMemoryOneThread, subject, "");
      measure(threads, {kAllThreads}, kMemoryAllThreads, subject, "");
      return;
    }
    measure(1, {kOneThread, kSizes, kOtherDtypes}, kMemoryOneThread, subject, arguments[1]);
    measure(threads, {kAllThreads, kSizesAllThreads}, kMemoryAllThreads, subject, arguments[1]);
    return;
  }
  if (arguments.size() == 2) {
    const auto count = static_cast<uint32_t>(std::stoul(arguments[1]));
    if (repeat(1, kOneThread, arguments[0], count) || repeat(1, kMemoryOneThread, arguments[0], count) ||
        repeat(1, kSizes, arguments[0], count) || repeat(1, kOtherDtypes, arguments[0], count) ||
        repeat(threads, kAllThreads, arguments[0], count) || repeat(threads, kSizesAllThreads, arguments[0], count) || repeat(threads, kMemoryAllThreads, arguments[0], count)) {
      return;
    }
    throw std::runtime_error("unknown case `" + arguments[0] + "`");
  }
  throw std::runtime_error("expected `measure [BEGINNING]`, or the name of a case and how often to run it");
}

} // namespace

int main(int count, char** words) {
  try {
    run(std::vector<std::string>(words + 1, words + count));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
