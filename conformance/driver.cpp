// Runs the commands of the conformance programs on PyTorch's dispatcher and prints what it shows.
//
// One command per line on standard input, one answer per line on standard output. Fields are separated by tabs; in a
// field, backslash, tab and newline are written as \\, \t and \n. The first field of an answer is `ok` or `err`; an
// `err` is followed by the message. Sets of keys are hexadecimal numbers, keys decimal ones, `-` is no key.
// Each function below whose name begins with `run_` is a command; its fields are named where it reads them.

#include <ATen/core/op_registration/op_registration.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::Dispatcher;
using c10::IValue;
using c10::OperatorHandle;
using torch::CppFunction;

namespace {

// Lines and fields.

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      fields.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char c = line[++i];
      fields.back() += c == 't' ? '\t' : c == 'n' ? '\n' : c;
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

// The fields of a command, taken one after the other.
class Fields {
 public:
  explicit Fields(const std::string& line) : fields_(split(line)) {}
  const std::string& text() {
    if (next_ == fields_.size()) throw std::runtime_error("the command ends too early");
    return fields_[next_++];
  }
  size_t number() { return std::stoull(text()); }
  DispatchKeySet keys() { return DispatchKeySet(DispatchKeySet::RAW, std::stoull(text(), nullptr, 16)); }
  std::optional<DispatchKey> key() {
    const std::string& field = text();
    if (field == "-") return std::nullopt;
    return static_cast<DispatchKey>(std::stoul(field));
  }

 private:
  std::vector<std::string> fields_;
  size_t next_ = 0;
};

class Answer {
 public:
  explicit Answer(const char* first) { add(std::string_view(first)); }
  Answer& add(std::string_view field) {
    if (!text_.empty()) text_ += '\t';
    for (char c : field) {
      switch (c) {
        case '\\': text_ += "\\\\"; break;
        case '\t': text_ += "\\t"; break;
        case '\n': text_ += "\\n"; break;
        default: text_ += c;
      }
    }
    return *this;
  }
  Answer& number(size_t number) { return add(std::to_string(number)); }
  Answer& flag(bool flag) { return add(flag ? "1" : "0"); }
  Answer& keys(DispatchKeySet keys) {
    char hex[20];
    snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(keys.raw_repr()));
    return add(hex);
  }
  Answer& key(DispatchKey key) { return number(static_cast<size_t>(key)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Without the stack trace, which would cost milliseconds.
std::string message_of(const std::exception& error) {
  if (auto* torch = dynamic_cast<const c10::Error*>(&error)) return torch->what_without_backtrace();
  return error.what();
}

Answer refused(const std::exception& error) {
  Answer answer("err");
  answer.add(message_of(error));
  return answer;
}

// Warnings, of which only those about replaced kernels are asked for.

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

Warnings warnings;

void add_warnings(Answer& answer) {
  for (const std::string& text : warnings.texts) answer.add(text);
  warnings.texts.clear();
}

// Kernels: each notes its number and the keys that it was called with, and calls the operator that it was given.

struct Ran {
  bool is_known = false;
  size_t number = 0;
  DispatchKeySet keys;
};

// The kernel that the innermost running call has reached.
Ran ran;

// Defined among the calls below.
void note(size_t number, DispatchKeySet keys);

template <class Signature>
struct TypedKernel;

template <class Result, class... Args>
struct TypedKernel<Result(Args...)> {
  size_t number;
  Result operator()(DispatchKeySet keys, Args... /*unused*/) const {
    note(number, keys);
    return Result();
  }
};

// The same for legacy registration, which wants a class of its own kind.
template <class Signature>
struct LegacyKernel;

template <class Result, class... Args>
struct LegacyKernel<Result(Args...)> : c10::OperatorKernel {
  explicit LegacyKernel(size_t number) : number(number) {}
  size_t number;
  Result operator()(Args... /*unused*/) const {
    note(number, DispatchKeySet());
    return Result();
  }
};

struct BoxedKernel : c10::OperatorKernel {
  explicit BoxedKernel(size_t number) : number(number) {}
  size_t number;
  void operator()(const OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
    note(number, keys);
    torch::jit::drop(*stack, op.schema().arguments().size());
    for (size_t i = 0; i < op.schema().returns().size(); ++i) stack->emplace_back();
  }
};

void boxed_legacy_kernel(const OperatorHandle& op, torch::jit::Stack* stack) {
  note(0, DispatchKeySet());
  torch::jit::drop(*stack, op.schema().arguments().size());
  for (size_t i = 0; i < op.schema().returns().size(); ++i) stack->emplace_back();
}

using Options = c10::RegisterOperators::Options;

template <class Signature>
CppFunction make_typed(size_t number) {
  return CppFunction(TypedKernel<Signature>{number});
}

template <class Signature>
void add_typed(Options& options, std::optional<DispatchKey> key, size_t number) {
  using Kernel = LegacyKernel<Signature>;
  if (key) {
    std::move(options).kernel<Kernel>(*key, number);
  } else {
    std::move(options).catchAllKernel<Kernel>(number);
  }
}

struct Signature {
  CppFunction (*make)(size_t);
  void (*add)(Options&, std::optional<DispatchKey>, size_t);
};

template <class F>
constexpr Signature signature() {
  return {&make_typed<F>, &add_typed<F>};
}

// In the order of `SIGNATURES` in `src/kernels.rs`.
const Signature kSignatures[] = {
    signature<Tensor(const Tensor&)>(),
    signature<Tensor(const Tensor&, const Tensor&)>(),
    signature<Tensor(const Tensor&, int64_t)>(),
    signature<Tensor(const Tensor&, c10::SymInt)>(),
    signature<void(const Tensor&)>(),
    signature<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&)>(),
    signature<Tensor(const std::optional<Tensor>&, const Tensor&)>(),
    signature<Tensor(at::TensorList)>(),
    signature<int64_t(const Tensor&)>(),
    signature<Tensor(const Tensor&, at::IntArrayRef)>(),
    signature<Tensor(const Tensor&, c10::SymIntArrayRef)>(),
    signature<Tensor(const Tensor&, double, bool, std::string_view)>(),
    signature<void()>(),
    signature<Tensor(const Tensor&, const at::Scalar&)>(),
    signature<Tensor(const Tensor&, std::optional<at::ScalarType>, std::optional<at::Layout>,
                     std::optional<at::Device>, std::optional<bool>)>(),
    signature<Tensor(const Tensor&, const c10::List<std::optional<Tensor>>&)>(),
    signature<std::vector<Tensor>(at::TensorList, int64_t)>(),
    signature<Tensor(std::optional<at::Generator>, const Tensor&)>(),
};

// `boxed`, `fallthrough`, or the number of a signature; `-` leaves the place of the block as its debug text.
CppFunction make_kernel(
    const std::string& kind, size_t number, std::optional<DispatchKey> key, const std::string& debug) {
  auto bare = [&] {
    if (kind == "fallthrough") return CppFunction::makeFallthrough();
    if (kind == "boxed") return CppFunction::makeFromBoxedFunctor(std::make_unique<BoxedKernel>(number));
    return kSignatures[std::stoul(kind)].make(number);
  };
  CppFunction kernel = key ? torch::dispatch(*key, bare()) : bare();
  if (debug == "-") return kernel;
  return std::move(kernel).debug(debug);
}

// The operators that kernels call, by the kernels' numbers.
std::unordered_map<size_t, c10::OperatorName> callees;

// A name and an overload, or `-` and nothing for a kernel that calls nobody.
void read_callee(Fields& fields, size_t kernel) {
  const std::string name = fields.text();
  const std::string overload = fields.text();
  callees.erase(kernel);
  if (name != "-") callees.emplace(kernel, c10::OperatorName(name, overload));
}

// What is registered, by the number that the program gave it.

std::unordered_map<size_t, std::unique_ptr<torch::Library>> libraries;
std::unordered_map<size_t, std::unique_ptr<c10::RegisterOperators>> legacy;

// Libraries keep pointers to the names of files.
const char* interned(const std::string& text) {
  static std::unordered_set<std::string> known;
  return known.insert(text).first->c_str();
}

// One item of a block: what, text, kernel, its number, its key, its debug text, what it calls, the alias analysis kind.
void run_item(torch::Library& library, Fields& fields) {
  const std::string what = fields.text();
  const std::string text = fields.text();
  const std::string kind = fields.text();
  const size_t number = fields.number();
  const std::optional<DispatchKey> key = fields.key();
  const std::string debug = fields.text();
  read_callee(fields, number);
  const std::string alias = fields.text();
  auto kernel = [&] { return make_kernel(kind, number, key, debug); };
  auto schema = [&] { return torch::schema(text.c_str(), static_cast<c10::AliasAnalysisKind>(std::stoul(alias))); };
  if (what == "fallback") {
    library.fallback(kernel());
  } else if (what == "impl") {
    library.impl(text.c_str(), kernel());
  } else if (alias == "-") {
    if (kind == "-") library.def(text.c_str());
    else library.def(text.c_str(), kernel());
  } else {
    if (kind == "-") library.def(schema());
    else library.def(schema(), kernel());
  }
}

// number, kind of library, namespace, key, file, line, whether it goes again at once, how many items.
Answer run_block(Fields& fields) {
  const size_t number = fields.number();
  const std::string kind_name = fields.text();
  const auto kind = kind_name == "D" ? torch::Library::DEF
      : kind_name == "F"             ? torch::Library::FRAGMENT
                                     : torch::Library::IMPL;
  const std::string ns = fields.text();
  const std::optional<DispatchKey> key = fields.key();
  const char* file = interned(fields.text());
  const auto line = static_cast<uint32_t>(fields.number());
  const bool transient = fields.number() != 0;
  const size_t items = fields.number();
  warnings.texts.clear();
  auto library = std::make_unique<torch::Library>(kind, ns, key, file, line);
  for (size_t i = 0; i < items; ++i) run_item(*library, fields);
  if (!transient) libraries[number] = std::move(library);
  Answer answer("ok");
  add_warnings(answer);
  return answer;
}

// number, text given to `op`, text given to the options, alias analysis kind, how many kernels;
// of each kernel its kind, its number, its key and what it calls.
Answer run_legacy(Fields& fields) {
  const size_t number = fields.number();
  const std::string text = fields.text();
  const std::string schema = fields.text();
  const std::string alias = fields.text();
  const size_t kernels = fields.number();
  warnings.texts.clear();
  // The methods change the options in place; what they return is no copy.
  Options options = c10::RegisterOperators::options();
  if (schema != "-") std::move(options).schema(schema);
  if (alias != "-") {
    std::move(options).aliasAnalysis(static_cast<c10::AliasAnalysisKind>(std::stoul(alias)));
  }
  for (size_t i = 0; i < kernels; ++i) {
    const std::string kind = fields.text();
    const size_t kernel = fields.number();
    const std::optional<DispatchKey> key = fields.key();
    read_callee(fields, kernel);
    if (kind != "boxed") {
      kSignatures[std::stoul(kind)].add(options, key, kernel);
    } else if (key) {
      std::move(options).kernel<&boxed_legacy_kernel>(*key);
    } else {
      std::move(options).catchAllKernel<&boxed_legacy_kernel>();
    }
  }
  auto registrar = std::make_unique<c10::RegisterOperators>();
  if (text == "-") {
    registrar->op(std::move(options));
  } else {
    std::move(*registrar).op(text, std::move(options));
  }
  legacy[number] = std::move(registrar);
  Answer answer("ok");
  add_warnings(answer);
  return answer;
}

// number of a block or a legacy registration.
Answer run_drop(Fields& fields) {
  const size_t number = fields.number();
  libraries.erase(number);
  legacy.erase(number);
  return Answer("ok");
}

Answer run_clear(Fields& /*fields*/) {
  libraries.clear();
  legacy.clear();
  callees.clear();
  return Answer("ok");
}

std::optional<OperatorHandle> find(Fields& fields) {
  const std::string name = fields.text();
  const std::string overload = fields.text();
  return Dispatcher::singleton().findOp({name, overload});
}

bool keeps_invariants(const OperatorHandle& op) {
  try {
    op.checkInvariants();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// A tensor that is nothing but its keys.
struct BareTensor : c10::TensorImpl {
  explicit BareTensor(DispatchKeySet keys)
      : TensorImpl(DispatchKeySet(DispatchKey::CPU), caffe2::TypeMeta::Make<float>(), c10::Device(c10::kCPU)) {
    key_set_ = keys;
  }
};

Tensor bare_tensor(DispatchKeySet keys) { return at::detail::make_tensor<BareTensor>(keys); }

// The keys that an operator does not fall through, for each backend.
void add_masks(Answer& answer, const OperatorHandle& op) {
  const uint64_t layers = DispatchKeySet(DispatchKeySet::FULL).raw_repr() & ~c10::full_backend_mask;
  c10::impl::ForceDispatchKeyGuard guard{DispatchKeySet(), DispatchKeySet()};
  std::string masks;
  for (uint64_t backend = 1; backend <= (1 << 15); backend <<= 1) {
    const Tensor tensor = bare_tensor(DispatchKeySet(DispatchKeySet::RAW, layers | backend));
    const DispatchKeySet kept = op.dispatchKeyExtractor().getDispatchKeySetUnboxed<const Tensor&>(tensor);
    char hex[20];
    snprintf(hex, sizeof hex, "%llx ", static_cast<unsigned long long>(kept.raw_repr()));
    masks += hex;
  }
  answer.add(masks);
}

// name, overload. Whether it is there; whether it has a schema, whether the stored table is what would be computed
// now, three dumps, and the keys that are not fallen through.
Answer run_look(Fields& fields) {
  const auto op = find(fields);
  Answer answer("ok");
  answer.flag(op.has_value());
  if (!op) return answer;
  answer.flag(op->hasSchema()).flag(keeps_invariants(*op)).add(op->dumpState()).add(op->dumpComputedTable());
  answer.add(op->dispatchKeyExtractor().dumpState());
  add_masks(answer, *op);
  return answer;
}

// Calls.

// The sets that the program gives to tensors, in turn; `n` is no tensor.
class Tensors {
 public:
  explicit Tensors(const std::vector<std::string>& words) : words_(words) {}
  std::optional<Tensor> next() {
    const std::string& word = words_[next_++ % words_.size()];
    if (word == "n") return std::nullopt;
    return plain(word);
  }
  // Where there has to be a tensor, `n` is one without keys.
  Tensor needed() { return next().value_or(plain("0")); }

 private:
  static Tensor plain(const std::string& word) {
    const DispatchKeySet keys(DispatchKeySet::RAW, std::stoull(word, nullptr, 16));
    return bare_tensor(keys);
  }
  const std::vector<std::string>& words_;
  size_t next_ = 0;
};

IValue value_of(const c10::Type& type, Tensors& tensors) {
  if (type.kind() == c10::TypeKind::TensorType) return tensors.needed();
  if (auto* optional = type.castRaw<c10::OptionalType>()) {
    if (optional->getElementType()->kind() != c10::TypeKind::TensorType) return IValue();
    return IValue(tensors.next());
  }
  if (auto* list = type.castRaw<c10::ListType>()) {
    const c10::TypePtr& element = list->getElementType();
    if (element->kind() == c10::TypeKind::TensorType) {
      c10::List<Tensor> values;
      values.push_back(tensors.needed());
      values.push_back(tensors.needed());
      return values;
    }
    if (element->kind() == c10::TypeKind::OptionalType) {
      c10::List<std::optional<Tensor>> values;
      values.push_back(tensors.next());
      values.push_back(tensors.next());
      return values;
    }
    return c10::List<int64_t>({1, 2});
  }
  switch (type.kind()) {
    case c10::TypeKind::FloatType: return 0.5;
    case c10::TypeKind::BoolType: return true;
    case c10::TypeKind::StringType: return "text";
    default: return int64_t{1};
  }
}

// How many guards; of each `i`, `e` or `f` with its sets. They end in the order opposite to their start.
using Body = std::function<Answer()>;
Answer under_guards(Fields& fields, size_t count, const Body& body) {
  if (count == 0) return body();
  const std::string kind = fields.text();
  const DispatchKeySet keys = fields.keys();
  if (kind == "i") {
    c10::impl::IncludeDispatchKeyGuard guard(keys);
    return under_guards(fields, count - 1, body);
  }
  if (kind == "e") {
    c10::impl::ExcludeDispatchKeyGuard guard(keys);
    return under_guards(fields, count - 1, body);
  }
  const DispatchKeySet excluded = fields.keys();
  c10::impl::ForceDispatchKeyGuard guard(keys, excluded);
  return under_guards(fields, count - 1, body);
}

// PyTorch's own fallbacks by their columns.
std::unordered_map<int, c10::KernelFunction> own_fallbacks;

// Reads them off an operator without kernels.
void find_own_fallbacks() {
  torch::Library library(torch::Library::FRAGMENT, "conformance_probe", std::nullopt, "driver", 0);
  library.def("probe() -> ()");
  const auto op = Dispatcher::singleton().findOp({"conformance_probe::probe", ""});
  for (DispatchKey key : DispatchKeySet(DispatchKeySet::FULL)) {
    if (!op->hasComputedKernelForDispatchKey(key)) continue;
    const DispatchKeySet keys(key);
    own_fallbacks.emplace(keys.getDispatchTableIndexForDispatchKeySet(), op->lookup(keys));
  }
}

// What the rules give for a column now, which need not be what is stored for it.
std::string line_of(const OperatorHandle& op, DispatchKeySet keys) {
  const std::string start = std::string(c10::toString(keys.highestPriorityTypeId())) + ": ";
  std::istringstream dump(op.dumpComputedTable());
  for (std::string line; std::getline(dump, line);) {
    if (line.compare(0, start.size(), start) == 0) return line;
  }
  return "";
}

// The fallbacks of autograd look for tensors that require a gradient, find none here, and pass on.
bool passes_on(DispatchKey key) { return c10::autograd_dispatch_keyset.has(c10::toFunctionalityKey(key)); }

// What the rules give for the column of these keys, and for those that the fallbacks of autograd pass on to.
std::string lines_of(const OperatorHandle& op, DispatchKeySet keys) {
  const std::string by_fallback = "[backend fallback]";
  std::string lines;
  for (;;) {
    const std::string line = line_of(op, keys);
    lines += (lines.empty() ? "" : "; ") + line;
    const bool is_own = own_fallbacks.count(keys.getDispatchTableIndexForDispatchKeySet()) != 0;
    const bool ends = line.size() >= by_fallback.size() &&
        line.compare(line.size() - by_fallback.size(), by_fallback.size(), by_fallback) == 0;
    if (!is_own || !ends || !passes_on(keys.highestPriorityTypeId())) return lines;
    keys = keys & c10::after_autograd_keyset;
  }
}

// Whether a call with these keys comes to one of PyTorch's own kernels that do more than to pass on.
bool is_left_alone(const OperatorHandle& op, DispatchKeySet keys) {
  for (;;) {
    const auto own = own_fallbacks.find(keys.getDispatchTableIndexForDispatchKeySet());
    if (own == own_fallbacks.end()) return false;
    const c10::KernelFunction& kernel = op.lookup(keys);
    if (kernel.isFallthrough() || !kernel._equalsBoxedAndUnboxed(own->second)) return false;
    if (!passes_on(keys.highestPriorityTypeId())) return true;
    keys = keys & c10::after_autograd_keyset;
  }
}

// Calls that kernels make.

constexpr size_t kDeepest = 3;

// One field for each, in the order in which they begin.
struct Inner {
  std::vector<std::string> calls;
  size_t depth = 0;
  bool is_stale = false;
  // The tensors of the call around.
  const std::vector<std::string>* words = nullptr;
};

Inner inner;

torch::jit::Stack arguments_of(const OperatorHandle& op, Tensors& tensors) {
  torch::jit::Stack stack;
  for (const auto& argument : op.schema().arguments()) stack.push_back(value_of(*argument.type(), tensors));
  return stack;
}

// Calls an operator with the tensors of the call around. Three lines tell of it: depth, name, keys and column; what the
// rules give; what was reached.
std::string call_inside(const c10::OperatorName& name) {
  std::ostringstream text;
  text << inner.depth << ' ' << name.name << '.' << name.overload_name;
  const auto op = Dispatcher::singleton().findOp(name);
  if (!op || !op->hasSchema()) {
    text << "\n\nnone";
    return text.str();
  }
  inner.is_stale |= !keeps_invariants(*op);
  Tensors tensors(*inner.words);
  torch::jit::Stack stack = arguments_of(*op, tensors);
  const DispatchKeySet keys = op->dispatchKeyExtractor().getDispatchKeySetBoxed(&stack);
  text << ' ' << std::hex << keys.raw_repr() << std::dec << ' ' << keys.getDispatchTableIndexForDispatchKeySet();
  text << '\n' << lines_of(*op, keys) << '\n';
  const Ran around = ran;
  ran = {};
  const char* otherwise = "nothing";
  try {
    if (is_left_alone(*op, keys)) {
      otherwise = "fallback";
    } else {
      op->callBoxed(stack);
    }
  } catch (const std::exception&) {
    otherwise = "error";
  }
  if (ran.is_known) {
    text << "ran " << ran.number << ' ' << std::hex << ran.keys.raw_repr();
  } else {
    text << otherwise;
  }
  ran = around;
  return text.str();
}

void note(size_t number, DispatchKeySet keys) {
  ran = {true, number, keys};
  const auto callee = callees.find(number);
  if (callee == callees.end() || inner.depth == kDeepest || inner.words == nullptr) return;
  const size_t place = inner.calls.size();
  inner.calls.emplace_back();
  ++inner.depth;
  std::string text = call_inside(callee->second);
  --inner.depth;
  inner.calls[place] = std::move(text);
}

// What a call with these keys reaches: the column, what the rules give for it, and the kernel that ran with its keys;
// then whether the table of an operator that a kernel called is stale, and those calls. Or `fallback` for one of
// PyTorch's own kernels, which is left alone, or `error` and the message.
void add_reached(Answer& answer, const OperatorHandle& op, DispatchKeySet keys, const std::function<void()>& call) {
  answer.keys(keys).number(keys.getDispatchTableIndexForDispatchKeySet());
  answer.add(c10::toString(keys.highestPriorityTypeId())).add(lines_of(op, keys));
  try {
    if (is_left_alone(op, keys)) {
      answer.add("fallback");
      return;
    }
    ran = {};
    call();
    answer.add("ran").number(ran.number).keys(ran.keys).add(inner.is_stale ? "stale" : "fresh");
    for (const std::string& field : inner.calls) answer.add(field);
  } catch (const std::exception& error) {
    answer.add("error").add(message_of(error));
  }
}

// name, overload, how the operator is called (`call` or `redispatch`), tensors, guards. First whether the operator's
// table is stale, then what is reached; `none` where there is no operator or no schema to make arguments for.
Answer run_call(Fields& fields) {
  const auto op = find(fields);
  const bool plain = fields.text() == "call";
  std::vector<std::string> words(fields.number());
  for (std::string& word : words) word = fields.text();
  Tensors tensors(words);
  const size_t guards = fields.number();
  if (!op || !op->hasSchema()) return Answer("ok").add("fresh").add("none");
  const char* state = keeps_invariants(*op) ? "fresh" : "stale";
  torch::jit::Stack stack = arguments_of(*op, tensors);
  inner = {};
  inner.words = &words;
  return under_guards(fields, guards, [&] {
    Answer answer("ok");
    answer.add(state);
    if (plain) {
      const DispatchKeySet keys = op->dispatchKeyExtractor().getDispatchKeySetBoxed(&stack);
      add_reached(answer, *op, keys, [&] { op->callBoxed(stack); });
    } else {
      const Tensor first = tensors.needed();
      const DispatchKeySet keys = first.key_set();
      add_reached(answer, *op, keys, [&] { op->redispatchBoxed(keys, &stack); });
    }
    inner = {};
    return answer;
  });
}

// Keys, sets and schemas.

// Two sets and a key.
Answer run_set(Fields& fields) {
  const DispatchKeySet a = fields.keys();
  const DispatchKeySet b = fields.keys();
  const DispatchKey key = *fields.key();
  Answer answer("ok");
  answer.keys(a | b).keys(a & b).keys(a ^ b).keys(a - b).keys(a.add(key)).keys(a.remove(key));
  answer.flag(a.has_all(b)).flag(a.has_any(b)).flag(a.has(key)).flag(a.isSupersetOf(b)).flag(a == b).flag(a.empty());
  answer.add(c10::toString(a.highestPriorityTypeId())).number(static_cast<size_t>(a.highestBackendKey()));
  answer.number(a.getBackendIndex()).number(a.getDispatchTableIndexForDispatchKeySet()).add(c10::toString(a));
  return answer;
}

// One key.
Answer run_key(Fields& fields) {
  const DispatchKey key = *fields.key();
  Answer answer("ok");
  answer.add(c10::toString(key)).keys(DispatchKeySet(key)).key(c10::toFunctionalityKey(key));
  answer.number(static_cast<size_t>(c10::toBackendComponent(key))).flag(c10::isAliasDispatchKey(key));
  answer.keys(c10::getBackendKeySetFromAutograd(key));
  answer.keys(key == DispatchKey::Undefined ? DispatchKeySet() : c10::getRuntimeDispatchKeySet(key));
  answer.keys(DispatchKeySet(DispatchKeySet::FULL_AFTER, key));
  return answer;
}

// The name of a key.
Answer run_keyname(Fields& fields) {
  return Answer("ok").key(c10::parseDispatchKey(fields.text()));
}

// A schema or a name.
Answer run_parse(Fields& fields) {
  std::ostringstream out;
  const auto parsed = torch::jit::parseSchemaOrName(fields.text());
  std::visit([&](const auto& declaration) { out << declaration; }, parsed);
  return Answer("ok").add(out.str());
}

const std::unordered_map<std::string, Answer (*)(Fields&)> kCommands = {
    {"block", run_block}, {"legacy", run_legacy}, {"drop", run_drop}, {"clear", run_clear},     {"look", run_look},
    {"call", run_call},   {"set", run_set},       {"key", run_key},   {"keyname", run_keyname}, {"parse", run_parse},
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  c10::WarningUtils::set_warning_handler(&warnings);
  c10::WarningUtils::set_warnAlways(true);
  find_own_fallbacks();
  std::string line;
  while (std::getline(std::cin, line)) {
    Answer answer("err");
    try {
      Fields fields(line);
      answer = kCommands.at(fields.text())(fields);
    } catch (const std::exception& error) {
      answer = refused(error);
    }
    std::cout << answer.text() << '\n';
    if (std::cin.rdbuf()->in_avail() <= 0) std::cout.flush();
  }
  // What PyTorch tears down at exit does not matter, and takes a second.
  std::cout.flush();
  std::_Exit(0);
}
