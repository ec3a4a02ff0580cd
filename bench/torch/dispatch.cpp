// Measures torch's dispatcher for `cargo xtask bench`: the same calls, kernels and command lines as `bench/ours`.
//
// - `dispatch export FILE` writes every schema that torch has registered, one in each line;
// - `dispatch measure [SCHEMAS]` prints a line `NAME VALUE` for each figure, in nanoseconds or bytes;
// - `dispatch CASE N` makes one call N times and nothing else.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/infer_schema.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/library.h>

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"

namespace {

using at::Tensor;
using Stack = torch::jit::Stack;

// As much as the other program does.
constexpr int kBatches = 300;
constexpr uint32_t kCalls = 5'000;
constexpr size_t kOperators = 3'000;
constexpr int kRegistrations = 3;

// Makes the compiler believe that the value comes from elsewhere.
template <class T>
inline T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The kernels.

[[gnu::noinline]] void nothing1(const Tensor&) {
  asm volatile("");
}

[[gnu::noinline]] void nothing2(const Tensor&, const Tensor&) {
  asm volatile("");
}

[[gnu::noinline]] void nothing4(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  asm volatile("");
}

[[gnu::noinline]] Tensor same1(const Tensor& a) {
  return a;
}

[[gnu::noinline]] Tensor same2(const Tensor& a, const Tensor&) {
  return a;
}

[[gnu::noinline]] Tensor same4(const Tensor& a, const Tensor&, const Tensor&, const Tensor&) {
  return a;
}

using One = void(const Tensor&);
using Two = void(const Tensor&, const Tensor&);
using Four = void(const Tensor&, const Tensor&, const Tensor&, const Tensor&);
using OneHandle = Tensor(const Tensor&);
using TwoHandle = Tensor(const Tensor&, const Tensor&);
using FourHandle = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&);

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

// A layer that calls the whole operator again, under a guard against itself.
Tensor layer(const Tensor& a, const Tensor& b) {
  static const auto layered = find<TwoHandle>("bench::layered");
  at::AutoDispatchBelowADInplaceOrView guard;
  return layered.call(a, b);
}

// The layer of the boxed hook: a key that no operator has kernels for.
constexpr c10::DispatchKey kHook = c10::DispatchKey::TESTING_ONLY_GenericMode;

void hook(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard guard(kHook);
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kHook), stack);
}

TORCH_LIBRARY(bench, m) {
  m.def("nothing1(Tensor a) -> ()");
  m.def("nothing2(Tensor a, Tensor b) -> ()");
  m.def("nothing4(Tensor a, Tensor b, Tensor c, Tensor d) -> ()");
  m.def("same1(Tensor a) -> Tensor");
  m.def("same2(Tensor a, Tensor b) -> Tensor");
  m.def("same4(Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor");
  m.def("cpu_only(Tensor a, Tensor b) -> ()");
  m.def("cpu_only_handle(Tensor a, Tensor b) -> Tensor");
  m.def("layered(Tensor a, Tensor b) -> Tensor");
}

TORCH_LIBRARY_IMPL(bench, CPU, m) {
  m.impl("nothing1", TORCH_FN(nothing1));
  m.impl("nothing2", TORCH_FN(nothing2));
  m.impl("nothing4", TORCH_FN(nothing4));
  m.impl("same1", TORCH_FN(same1));
  m.impl("same2", TORCH_FN(same2));
  m.impl("same4", TORCH_FN(same4));
  m.impl("cpu_only", TORCH_FN(nothing2));
  m.impl("cpu_only_handle", TORCH_FN(same2));
  m.impl("layered", TORCH_FN(same2));
}

TORCH_LIBRARY_IMPL(bench, Autograd, m) {
  for (const char* name : {"nothing1", "nothing2", "nothing4", "same1", "same2", "same4"}) {
    m.impl(name, torch::CppFunction::makeFallthrough());
  }
  m.impl("layered", TORCH_FN(layer));
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&hook>());
}

// What the cases work on.
struct Subject {
  Tensor a = at::ones({3});
  Tensor b = at::ones({3});
};

// A call by values on a stack that keeps its memory from call to call.
template <class... Args>
inline void boxed(const c10::OperatorHandle& op, Stack& stack, const Args&... args) {
  torch::jit::push(stack, args...);
  op.callBoxed(stack);
  keep(stack);
  stack.clear();
}

struct Case {
  const char* name;
  void (*run)(const Subject&, uint32_t);
};

const Case kCases[] = {
    {"direct_call_2",
     [](const Subject& s, uint32_t n) {
       Two* kernel = opaque(&nothing2);
       times(n, [&] { kernel(s.a, s.b); });
     }},
    {"typed_call_1",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<One>("bench::nothing1");
       times(n, [&] { op.call(s.a); });
     }},
    {"typed_call_2",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<Two>("bench::nothing2");
       times(n, [&] { op.call(s.a, s.b); });
     }},
    {"typed_call_4",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<Four>("bench::nothing4");
       times(n, [&] { op.call(s.a, s.b, s.a, s.b); });
     }},
    {"cpu_only_call",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<Two>("bench::cpu_only");
       times(n, [&] { op.call(s.a, s.b); });
     }},
    {"cpu_only_call_handle",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<TwoHandle>("bench::cpu_only_handle");
       times(n, [&] { return op.call(s.a, s.b); });
     }},
    {"layer_redispatch",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<TwoHandle>("bench::layered");
       times(n, [&] { return op.call(s.a, s.b); });
     }},
    {"boxed_call_1",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<OneHandle>("bench::same1");
       Stack stack;
       times(n, [&] { boxed(op, stack, s.a); });
     }},
    {"boxed_call_2",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<TwoHandle>("bench::same2");
       Stack stack;
       times(n, [&] { boxed(op, stack, s.a, s.b); });
     }},
    {"boxed_call_4",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<FourHandle>("bench::same4");
       Stack stack;
       times(n, [&] { boxed(op, stack, s.a, s.b, s.a, s.b); });
     }},
    {"boxed_hook",
     [](const Subject& s, uint32_t n) {
       static const auto op = find<TwoHandle>("bench::same2");
       c10::impl::IncludeDispatchKeyGuard hooked(kHook);
       times(n, [&] { return op.call(s.a, s.b); });
     }},
    {"guard",
     [](const Subject&, uint32_t n) {
       times(n, [] {
         at::AutoDispatchBelowAutograd guard;
         asm volatile("" : : : "memory");
       });
     }},
    {"find_operator",
     [](const Subject&, uint32_t n) {
       const auto& dispatcher = c10::Dispatcher::singleton();
       times(n, [&] {
         return const_cast<c10::Dispatcher&>(dispatcher).findSchemaOrThrow(opaque("aten::add"), opaque("Tensor"));
       });
     }},
};

void measure_calls() {
  const Subject subject;
  for (const Case& entry : kCases) {
    if (std::string(entry.name) == "direct_call_2") {
      continue;
    }
    report(entry.name, best_of(kBatches, kCalls, [&](uint32_t calls) { entry.run(subject, calls); }));
  }
}

// Two threads that call one operator on one tensor.

double batch(const c10::TypedOperatorHandle<Two>& op, const Tensor& tensor, uint32_t calls) {
  const auto start = Clock::now();
  for (uint32_t i = 0; i < calls; ++i) {
    op.call(tensor, tensor);
  }
  return nanoseconds(Clock::now() - start) / calls;
}

// The slower of two threads that begin together. They wait without sleeping, so that neither has to be woken.
double both(const c10::TypedOperatorHandle<Two>& op, const Tensor& tensor, uint32_t calls) {
  std::atomic<int> ready{0};
  const auto round = [&] {
    op.call(tensor, tensor);
    ready.fetch_add(1);
    while (ready.load() < 2) {
      __builtin_ia32_pause();
    }
    return batch(op, tensor, calls);
  };
  double there = 0;
  std::thread other([&] { there = round(); });
  const double here = round();
  other.join();
  return std::max(here, there);
}

void measure_threads() {
  const auto op = find<Two>("bench::nothing2");
  const Tensor tensor = at::ones({3});
  double one = std::numeric_limits<double>::infinity();
  double two = one;
  for (int round = 0; round < kBatches; ++round) {
    one = std::min(one, batch(op, tensor, kCalls * 10));
    two = std::min(two, both(op, tensor, kCalls * 10));
  }
  report("two_threads.one", one);
  report("two_threads.two", two);
}

// What operators cost before they are called.

Tensor kernel(const Tensor& a, const Tensor&, const at::Scalar&) {
  return a;
}

using Kernel = Tensor(const Tensor&, const Tensor&, const at::Scalar&);
using Registrations = std::vector<c10::RegistrationHandleRAII>;

double bytes_in_use() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

struct Costs {
  double define_parsed = std::numeric_limits<double>::infinity();
  double define_text = define_parsed;
  double implement = define_parsed;
  double drop = define_parsed;
  double bytes = define_parsed;

  void take(const Costs& other) {
    define_parsed = std::min(define_parsed, other.define_parsed);
    define_text = std::min(define_text, other.define_text);
    implement = std::min(implement, other.implement);
    drop = std::min(drop, other.drop);
    bytes = std::min(bytes, other.bytes);
  }
};

Costs costs_of(const std::string& space) {
  auto& dispatcher = c10::Dispatcher::singleton();
  std::vector<std::string> texts;
  std::vector<c10::OperatorName> names;
  for (size_t i = 0; i < kOperators; ++i) {
    const auto name = space + "::operator_" + std::to_string(i);
    texts.push_back(name + "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
    names.emplace_back(name, "");
  }
  Costs costs;
  {
    Registrations defined;
    defined.reserve(kOperators);
    costs.define_text = timed([&] {
      for (const auto& text : texts) {
        defined.push_back(dispatcher.registerDef(torch::jit::parseSchema(text, false), "bench"));
      }
    });
  }
  std::vector<c10::FunctionSchema> schemas;
  for (const auto& text : texts) {
    schemas.push_back(torch::jit::parseSchema(text, false));
  }
  Registrations defined, implemented;
  defined.reserve(kOperators);
  implemented.reserve(kOperators);
  const double before = bytes_in_use();
  costs.define_parsed = timed([&] {
    for (auto& schema : schemas) {
      defined.push_back(dispatcher.registerDef(std::move(schema), "bench"));
    }
  });
  costs.implement = timed([&] {
    for (const auto& name : names) {
      implemented.push_back(dispatcher.registerImpl(
          name,
          c10::DispatchKey::CPU,
          c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(kernel)),
          c10::impl::CppSignature::make<Kernel>(),
          c10::detail::inferFunctionSchemaFromFunctor<Kernel*>(),
          "bench"));
    }
  });
  costs.bytes = bytes_in_use() - before;
  costs.drop = timed([&] {
    implemented.clear();
    defined.clear();
  });
  return costs;
}

void measure_registration() {
  Costs best;
  for (int round = 0; round < kRegistrations; ++round) {
    best.take(costs_of("bench" + std::to_string(round)));
  }
  report("define_parsed", best.define_parsed / kOperators);
  report("define_text", best.define_text / kOperators);
  report("implement", best.implement / kOperators);
  report("drop", best.drop / kOperators);
  report("entry_bytes", best.bytes / kOperators);
}

// Schemas as text.

void export_schemas(const std::string& file) {
  std::set<std::string> texts;
  for (const auto& op : torch::jit::getAllOperators()) {
    const auto& schema = op->schema();
    if (!c10::string_view(schema.name()).starts_with("bench::")) {
      texts.insert(c10::str(schema));
    }
  }
  std::ofstream out(file);
  for (const auto& text : texts) {
    out << text << "\n";
  }
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + file);
  }
}

void measure_parsing(const std::string& file) {
  std::ifstream in(file);
  if (!in) {
    throw std::runtime_error("cannot read " + file);
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kBatches / 20; ++round) {
    best = std::min(best, timed([&] {
      for (const auto& line : lines) {
        keep(torch::jit::parseSchema(line));
      }
    }));
  }
  report("parse_schemas", best);
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "export") {
    return export_schemas(arguments[1]);
  }
  if (!arguments.empty() && arguments.size() <= 2 && arguments[0] == "measure") {
    measure_calls();
    measure_threads();
    measure_registration();
    if (arguments.size() == 2) {
      measure_parsing(arguments[1]);
    }
    return;
  }
  if (arguments.size() == 2) {
    for (const Case& entry : kCases) {
      if (arguments[0] == entry.name) {
        return entry.run(Subject(), static_cast<uint32_t>(std::stoul(arguments[1])));
      }
    }
    throw std::runtime_error("unknown case `" + arguments[0] + "`");
  }
  throw std::runtime_error("expected `export FILE`, `measure [SCHEMAS]`, or the name of a case and how often to run it");
}

} // namespace

int main(int count, char** words) {
  try {
    at::set_num_threads(1);
    run(std::vector<std::string>(words + 1, words + count));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
