// The plugin interface of opgrid for C++17: a thin layer over opgrid.h for people who know TORCH_LIBRARY.
//
//     OPGRID_MODULE("myops", "0.1.0", "myops", "CPU")
//
//     OPGRID_LIBRARY(myops, m) {
//         m.def("half(Tensor self) -> Tensor");
//         m.impl("half", "CPU", [](const opgrid::Tensor& x) {
//             opgrid::Tensor out = opgrid::empty_like(x);
//             ...
//             return out;
//         });
//     }
//
// Kernels are functions and lambdas of tensors, numbers, texts and lists, or take an opgrid::Call. What they throw becomes an
// error of the call; errors of the host are thrown as opgrid::Error, and go back to it as they came.
#ifndef OPGRID_HPP
#define OPGRID_HPP

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "opgrid.h"

// Hidden: every plugin has its own table and its own blocks. Compilers would share them between all plugins of a process, as they
// do with what is inline and visible.
#define OPGRID_HIDDEN __attribute__((visibility("hidden")))

namespace opgrid OPGRID_HIDDEN {

// The table and the library of this plugin, from when it is loaded on.
inline const OpgridApi* host_api = nullptr;
inline OpgridLibrary* host_library = nullptr;

// An error of the host or of a kernel. One of the host's keeps what is behind it, such as a Python exception.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& message, int32_t kind = OPGRID_ERROR_KERNEL)
        : std::runtime_error(message), kind_(kind) {}
    Error(const std::string& message, int32_t kind, OpgridError* error)
        : std::runtime_error(message), kind_(kind), held_(std::make_shared<Held>(Held{error})) {}
    // OPGRID_ERROR_…
    int32_t kind() const noexcept { return kind_; }
    // The host's error, once; null for one of a kernel.
    OpgridError* take() const noexcept { return held_ ? std::exchange(held_->error, nullptr) : nullptr; }

private:
    struct Held {
        OpgridError* error;
        explicit Held(OpgridError* given) : error(given) {}
        Held(const Held&) = delete;
        Held(Held&& other) noexcept : error(std::exchange(other.error, nullptr)) {}
        ~Held() {
            if (error && host_api) host_api->error_release(error);
        }
    };
    int32_t kind_;
    std::shared_ptr<Held> held_;
};

inline const OpgridApi& api() {
    if (!host_api) throw Error("the plugin is not loaded; load it with opgrid first", OPGRID_ERROR_STALE);
    return *host_api;
}

// Throws what a function of the table has left.
inline void check(int32_t status, OpgridError* error) {
    if (status == OPGRID_OK) return;
    if (!error) throw Error("the host failed without an error", status);
    const OpgridText text = api().error_message(error);
    throw Error(std::string(text.data, text.size), status, error);
}

// Calls a function of the table whose last parameter takes an error.
template <typename... Parameters, typename... Arguments>
void invoke(int32_t (*function)(Parameters...), Arguments... arguments) {
    OpgridError* error = nullptr;
    const int32_t status = function(arguments..., &error);
    check(status, error);
}

// Tells people something, where the host tells its own warnings: what is probably not meant so, and what may be good to know.
inline void warn(std::string_view message) { api().log(host_library, OPGRID_LOG_WARNING, {message.data(), message.size()}); }
inline void note(std::string_view message) { api().log(host_library, OPGRID_LOG_NOTE, {message.data(), message.size()}); }

// Runs what may throw: the status, and the error for the host.
template <typename F>
int32_t guarded(OpgridError** error, F&& body) noexcept {
    const auto leave = [error](int32_t kind, const char* message) {
        if (error && host_api) *error = host_api->error_new(kind, OpgridText{message, std::strlen(message)});
        return kind;
    };
    try {
        body();
        return OPGRID_OK;
    } catch (const Error& thrown) {
        const int32_t kind = thrown.kind() ? thrown.kind() : OPGRID_ERROR_KERNEL;
        OpgridError* held = thrown.take();
        if (!held) return leave(kind, thrown.what());
        *error = held;
        return kind;
    } catch (const std::exception& thrown) {
        return leave(OPGRID_ERROR_KERNEL, thrown.what());
    } catch (...) {
        return leave(OPGRID_ERROR_KERNEL, "a kernel threw something that is no std::exception");
    }
}

// torch's numbers of dtypes.
enum class DType : int32_t {
    UInt8 = 0,
    Int8 = 1,
    Int16 = 2,
    Int32 = 3,
    Int64 = 4,
    Float16 = 5,
    Float32 = 6,
    Float64 = 7,
    Complex64 = 9,
    Complex128 = 10,
    Bool = 11,
    BFloat16 = 15,
};

template <typename T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, uint8_t>) return DType::UInt8;
    else if constexpr (std::is_same_v<T, int8_t>) return DType::Int8;
    else if constexpr (std::is_same_v<T, int16_t>) return DType::Int16;
    else if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
    else if constexpr (std::is_same_v<T, int64_t>) return DType::Int64;
    else if constexpr (std::is_same_v<T, float>) return DType::Float32;
    else if constexpr (std::is_same_v<T, double>) return DType::Float64;
    else {
        static_assert(std::is_same_v<T, bool>, "no dtype has elements of this type");
        return DType::Bool;
    }
}

// The elements of a tensor, which lie one after another. As long as it lives, others cannot write them, or, where T is not const,
// use them at all.
template <typename T>
class Elements {
public:
    Elements(OpgridGuard* guard, T* data, size_t size) : guard_(guard), data_(data), size_(size) {}
    Elements(Elements&& other) noexcept
        : guard_(std::exchange(other.guard_, nullptr)), data_(other.data_), size_(other.size_) {}
    Elements& operator=(Elements&&) = delete;
    ~Elements() {
        if (guard_ && host_api) host_api->guard_release(guard_);
    }
    T* data() const noexcept { return data_; }
    size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }
    T& operator[](size_t index) const { return data_[index]; }

private:
    OpgridGuard* guard_;
    T* data_;
    size_t size_;
};

// A handle of a tensor; copies are of the handle.
class Tensor {
public:
    Tensor() = default;
    // Takes a handle that belongs to the caller.
    static Tensor steal(OpgridTensor* handle) {
        Tensor tensor;
        tensor.handle_ = handle;
        return tensor;
    }
    // Counts one more handle.
    static Tensor borrow(OpgridTensor* handle) {
        if (handle) api().tensor_retain(handle);
        return steal(handle);
    }
    Tensor(const Tensor& other) : Tensor(borrow(other.handle_)) {}
    Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Tensor& operator=(Tensor other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Tensor() {
        if (handle_ && host_api) host_api->tensor_release(handle_);
    }
    OpgridTensor* get() const noexcept { return handle_; }
    // The handle, which belongs to the caller from now on.
    OpgridTensor* release() noexcept { return std::exchange(handle_, nullptr); }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

    OpgridTensorInfo info() const {
        OpgridTensorInfo info{};
        info.struct_size = sizeof info;
        invoke(api().tensor_info, static_cast<const OpgridTensor*>(handle_), &info);
        return info;
    }
    std::vector<int64_t> sizes() const {
        const OpgridTensorInfo found = info();
        return {found.sizes, found.sizes + found.dims};
    }
    std::vector<int64_t> strides() const {
        const OpgridTensorInfo found = info();
        return {found.strides, found.strides + found.dims};
    }
    int64_t numel() const { return info().numel; }
    DType dtype() const { return static_cast<DType>(info().dtype); }
    OpgridDevice device() const { return info().device; }
    bool is_contiguous() const { return info().is_contiguous != 0; }
    // All elements, for reading. Throws where they are of another type or do not lie one after another, and while somebody
    // writes them.
    template <typename T>
    Elements<const T> elements() const {
        return guarded_elements<const T>(OPGRID_READ);
    }
    // All elements, for writing.
    template <typename T>
    Elements<T> mutable_elements() const {
        return guarded_elements<T>(OPGRID_WRITE);
    }
    // The first element, for reading. Throws where elements are of another type. Nothing keeps others away.
    template <typename T>
    const T* data() const {
        return static_cast<const T*>(address<T>(OPGRID_READ));
    }
    // The first element, for writing.
    template <typename T>
    T* mutable_data() const {
        return static_cast<T*>(address<T>(OPGRID_WRITE));
    }

private:
    template <typename T>
    void* address(uint32_t access) const {
        if (dtype() != dtype_of<T>()) wrong_dtype<T>(info().dtype);
        void* found = nullptr;
        invoke(api().tensor_data, static_cast<const OpgridTensor*>(handle_), access, &found);
        return found;
    }
    template <typename T>
    Elements<T> guarded_elements(uint32_t access) const {
        OpgridTensorInfo found{};
        found.struct_size = sizeof found;
        OpgridGuard* guard = nullptr;
        void* start = nullptr;
        invoke(api().tensor_guard, static_cast<const OpgridTensor*>(handle_), access, &start, &found, &guard);
        Elements<T> elements(guard, static_cast<T*>(start), static_cast<size_t>(found.numel));
        if (static_cast<DType>(found.dtype) != dtype_of<std::remove_const_t<T>>()) wrong_dtype<std::remove_const_t<T>>(found.dtype);
        if (!found.is_contiguous)
            throw Error("the elements of the tensor are not contiguous in memory; make it contiguous first",
                        OPGRID_ERROR_ARGUMENT);
        return elements;
    }
    template <typename T>
    [[noreturn]] static void wrong_dtype(int32_t found) {
        throw Error("found elements of dtype " + std::to_string(found) + ", expected dtype " +
                        std::to_string(static_cast<int32_t>(dtype_of<T>())) + "; convert the tensor",
                    OPGRID_ERROR_ARGUMENT);
    }
    OpgridTensor* handle_ = nullptr;
};

// A new row-major tensor, which reads as zero until it is written.
inline Tensor empty(const std::vector<int64_t>& sizes, DType dtype, OpgridDevice device = OpgridDevice{0, -1}) {
    OpgridTensor* made = nullptr;
    invoke(api().tensor_make, host_library, sizes.size(), sizes.data(), static_cast<const int64_t*>(nullptr),
           static_cast<int32_t>(dtype), device, &made);
    return Tensor::steal(made);
}

// The same with the sizes, dtype and device of a tensor.
inline Tensor empty_like(const Tensor& like) {
    const OpgridTensorInfo info = like.info();
    return empty({info.sizes, info.sizes + info.dims}, static_cast<DType>(info.dtype), info.device);
}

// The key, or the keys of the alias, of a name.
inline OpgridKeys keys(const char* name) {
    OpgridKeys found{};
    invoke(api().keys_named, name, &found);
    return found;
}
inline OpgridKeys operator|(OpgridKeys one, OpgridKeys other) {
    return {one.layers | other.layers, one.backends | other.backends, 0};
}
inline OpgridKeys without(OpgridKeys set, OpgridKeys less) {
    return {set.layers & ~less.layers, set.backends, 0};
}

// The keys of a set that are in the other one neither as layers nor as backends.
inline OpgridKeys minus(OpgridKeys set, OpgridKeys less) {
    return {set.layers & ~less.layers, set.backends & ~less.backends, 0};
}

// Includes keys on this thread, or stops including their layers.
inline void set_included(OpgridKeys keys, bool on) {
    OpgridKeys included{}, excluded{};
    api().local_keys(&included, &excluded);
    api().set_local_keys(on ? included | keys : without(included, keys), excluded);
}

// Restores both sets of the thread's keys as a whole when it ends, whatever changed them meanwhile. It is for scopes that
// are nested strictly; a guard that is kept, and may end in any order, is an IncludeGuard or an ExcludeGuard.
class LocalGuard {
public:
    LocalGuard() { api().local_keys(&included_, &excluded_); }
    LocalGuard(const LocalGuard&) = delete;
    LocalGuard& operator=(const LocalGuard&) = delete;
    ~LocalGuard() { host_api->set_local_keys(included_, excluded_); }

private:
    OpgridKeys included_{}, excluded_{};
};

// Includes keys on this thread as long as it lives. When it ends, the keys that it added are included no longer; what
// others include or exclude stays as it is, so that guards may end in any order.
class IncludeGuard {
public:
    explicit IncludeGuard(OpgridKeys keys) {
        OpgridKeys included{}, excluded{};
        api().local_keys(&included, &excluded);
        added_ = minus(keys, included);
        api().set_local_keys(included | keys, excluded);
    }
    IncludeGuard(const IncludeGuard&) = delete;
    IncludeGuard& operator=(const IncludeGuard&) = delete;
    ~IncludeGuard() {
        OpgridKeys included{}, excluded{};
        host_api->local_keys(&included, &excluded);
        host_api->set_local_keys(minus(included, added_), excluded);
    }

private:
    OpgridKeys added_{};
};

// Excludes keys on this thread as long as it lives, as an IncludeGuard includes them.
class ExcludeGuard {
public:
    explicit ExcludeGuard(OpgridKeys keys) {
        OpgridKeys included{}, excluded{};
        api().local_keys(&included, &excluded);
        added_ = minus(keys, excluded);
        api().set_local_keys(included, excluded | keys);
    }
    ExcludeGuard(const ExcludeGuard&) = delete;
    ExcludeGuard& operator=(const ExcludeGuard&) = delete;
    ~ExcludeGuard() {
        OpgridKeys included{}, excluded{};
        host_api->local_keys(&included, &excluded);
        host_api->set_local_keys(included, minus(excluded, added_));
    }

private:
    OpgridKeys added_{};
};

// Calls `work(start, end)` for ranges that together are the numbers below `n`, each of `grain` numbers but for the last one, on the
// host's threads where there are some, with the keys of this thread. What it throws is thrown here, the first of several.
template <typename F>
void parallel_for(size_t n, size_t grain, const F& work) {
    const auto run = [](void* context, size_t start, size_t end, OpgridError** error) noexcept -> int32_t {
        return guarded(error, [&] { (*static_cast<const F*>(context))(start, end); });
    };
    invoke(api().parallel_for, n, grain, static_cast<OpgridRangeFn>(run),
           const_cast<void*>(static_cast<const void*>(&work)));
}

namespace detail OPGRID_HIDDEN {

[[noreturn]] inline void mismatch(const char* expected, const OpgridValue& found) {
    OpgridValue text{};
    invoke(api().value_text, &found, &text);
    OpgridValue view{};
    invoke(api().value_view, static_cast<const OpgridValue*>(&text), &view);
    std::string shown(view.payload.text, view.size);
    api().value_release(&text);
    throw Error(std::string("a kernel expected ") + expected + ", found " + shown +
                    "; let its parameters fit the schema",
                OPGRID_ERROR_VALUE);
}

// How many elements or bytes a value has.
inline uint32_t counted(size_t size) {
    if (size > UINT32_MAX) throw Error("a list or a text has more elements than a value can have; split it", OPGRID_ERROR_VALUE);
    return static_cast<uint32_t>(size);
}

// How a C++ type stands for a value: its schema text, reading it, writing one that the host copies.
template <typename T, typename = void>
struct Convert;

template <>
struct Convert<Tensor> {
    static std::string text() { return "Tensor"; }
    static Tensor read(const OpgridValue& value) {
        if (value.tag != OPGRID_TENSOR) mismatch("a tensor", value);
        return Tensor::borrow(value.payload.tensor);
    }
    static OpgridValue write(const Tensor& tensor) {
        OpgridValue value{};
        if (tensor) {
            value.tag = OPGRID_TENSOR;
            value.payload.tensor = tensor.get();
        }
        return value;
    }
};

template <>
struct Convert<bool> {
    static std::string text() { return "bool"; }
    static bool read(const OpgridValue& value) {
        if (value.tag != OPGRID_BOOL) mismatch("a bool", value);
        return value.payload.int_value != 0;
    }
    static OpgridValue write(bool flag) {
        OpgridValue value{};
        value.tag = OPGRID_BOOL;
        value.payload.int_value = flag;
        return value;
    }
};

template <typename T>
struct Convert<T, std::enable_if_t<std::is_integral_v<T>>> {
    static_assert(std::is_same_v<T, int64_t> || std::is_same_v<T, int> || std::is_same_v<T, long long>,
                  "an integer of a schema is an int64_t");
    static std::string text() { return "int"; }
    static T read(const OpgridValue& value) {
        if (value.tag != OPGRID_INT) mismatch("an integer", value);
        const T number = static_cast<T>(value.payload.int_value);
        if (number != value.payload.int_value) mismatch("an integer of fewer bits", value);
        return number;
    }
    static OpgridValue write(T number) {
        OpgridValue value{};
        value.tag = OPGRID_INT;
        value.payload.int_value = number;
        return value;
    }
};

template <>
struct Convert<double> {
    static std::string text() { return "float"; }
    static double read(const OpgridValue& value) {
        if (value.tag == OPGRID_INT) return static_cast<double>(value.payload.int_value);
        if (value.tag != OPGRID_FLOAT) mismatch("a number", value);
        return value.payload.float_value;
    }
    static OpgridValue write(double number) {
        OpgridValue value{};
        value.tag = OPGRID_FLOAT;
        value.payload.float_value = number;
        return value;
    }
};

template <typename T>
struct Convert<T, std::enable_if_t<std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>>> {
    static std::string text() { return "str"; }
    static T read(const OpgridValue& value) {
        if (value.tag != OPGRID_STR) mismatch("a text", value);
        return T(value.payload.text, value.size);
    }
    static OpgridValue write(const T& text) {
        OpgridValue value{};
        value.tag = OPGRID_STR;
        value.size = counted(text.size());
        value.payload.text = text.data();
        return value;
    }
};

template <typename T>
struct Convert<std::optional<T>> {
    static std::string text() { return Convert<T>::text() + "?"; }
    static std::optional<T> read(const OpgridValue& value) {
        if (value.tag == OPGRID_NONE) return std::nullopt;
        return Convert<T>::read(value);
    }
    static OpgridValue write(const std::optional<T>& value) {
        return value ? Convert<T>::write(*value) : OpgridValue{};
    }
};

template <>
struct Convert<std::vector<int64_t>> {
    static std::string text() { return "int[]"; }
    static std::vector<int64_t> read(const OpgridValue& value) {
        if (value.tag != OPGRID_INTS) mismatch("a list of integers", value);
        return {value.payload.ints, value.payload.ints + value.size};
    }
    static OpgridValue write(const std::vector<int64_t>& items) {
        OpgridValue value{};
        value.tag = OPGRID_INTS;
        value.size = counted(items.size());
        value.payload.ints = items.data();
        return value;
    }
};

template <>
struct Convert<std::vector<double>> {
    static std::string text() { return "float[]"; }
    static std::vector<double> read(const OpgridValue& value) {
        if (value.tag != OPGRID_FLOATS) mismatch("a list of floats", value);
        return {value.payload.floats, value.payload.floats + value.size};
    }
    static OpgridValue write(const std::vector<double>& items) {
        OpgridValue value{};
        value.tag = OPGRID_FLOATS;
        value.size = counted(items.size());
        value.payload.floats = items.data();
        return value;
    }
};

template <>
struct Convert<std::vector<Tensor>> {
    static_assert(sizeof(Tensor) == sizeof(OpgridTensor*), "a list of tensors is a list of handles");
    static std::string text() { return "Tensor[]"; }
    static std::vector<Tensor> read(const OpgridValue& value) {
        if (value.tag != OPGRID_TENSORS) mismatch("a list of tensors", value);
        std::vector<Tensor> found;
        for (uint32_t i = 0; i < value.size; ++i) found.push_back(Tensor::borrow(value.payload.tensors[i]));
        return found;
    }
    static OpgridValue write(const std::vector<Tensor>& items) {
        OpgridValue value{};
        value.tag = OPGRID_TENSORS;
        value.size = counted(items.size());
        value.payload.tensors = reinterpret_cast<OpgridTensor* const*>(items.data());
        return value;
    }
};

template <typename T>
using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

}  // namespace detail

// A value of any kind that the host gave, and that is given back when it goes.
class Value {
public:
    explicit Value(OpgridValue value) : value_(value) {}
    Value(const Value&) = delete;
    Value(Value&& other) noexcept : value_(std::exchange(other.value_, OpgridValue{})) {}
    ~Value() {
        if (host_api) host_api->value_release(&value_);
    }
    // The value as T: a tensor, a number, a text, a list.
    template <typename T>
    T to() const {
        OpgridValue view{};
        invoke(api().value_view, &value_, &view);
        return detail::Convert<T>::read(view);
    }

private:
    OpgridValue value_;
};

// An operator found by name.
class Operator {
public:
    // As in `aten::add.Tensor`.
    explicit Operator(const char* name) {
        OpgridOperator* found = nullptr;
        invoke(api().operator_find, host_library, name, &found);
        handle_ = std::shared_ptr<OpgridOperator>(found, [](OpgridOperator* held) { api().operator_release(held); });
    }
    // Calls it boxed. The arguments are those of the schema, all of them.
    template <typename... Arguments>
    std::vector<Value> call_boxed(const Arguments&... arguments) const {
        const OpgridValue values[sizeof...(Arguments) + 1] = {
            detail::Convert<detail::Plain<Arguments>>::write(arguments)..., OpgridValue{}};
        OpgridValue results[16];
        size_t count = 0;
        invoke(api().call, static_cast<const OpgridOperator*>(handle_.get()),
               static_cast<const OpgridValue*>(values), sizeof...(Arguments), static_cast<OpgridValue*>(results),
               size_t{16}, &count);
        std::vector<Value> found;
        for (size_t i = 0; i < count; ++i) found.emplace_back(results[i]);
        return found;
    }
    // Calls it and takes its only result.
    template <typename Result, typename... Arguments>
    Result call(const Arguments&... arguments) const {
        const std::vector<Value> results = call_boxed(arguments...);
        if (results.size() != 1) throw Error("expected one result of an operator", OPGRID_ERROR_VALUE);
        return results.front().template to<Result>();
    }

private:
    std::shared_ptr<OpgridOperator> handle_;
};

// A call as a boxed kernel sees it; good until the kernel returns.
class Call {
public:
    Call(const OpgridOperator* op, OpgridKeys keys, const OpgridValue* arguments, size_t count,
         OpgridResults* results)
        : op_(op), keys_(keys), arguments_(arguments), count_(count), results_(results) {}
    // The operator's name, as in `aten::add`.
    std::string name() const { return text(api().operator_name(op_)); }
    // The overload's name, as in `Tensor`.
    std::string overload() const { return text(api().operator_overload(op_)); }
    OpgridKeys keys() const { return keys_; }
    size_t size() const { return count_; }
    const OpgridValue& operator[](size_t index) const { return arguments_[index]; }
    // Argument `index` as T.
    template <typename T>
    T argument(size_t index) const {
        if (index >= count_) throw Error("the call has no argument " + std::to_string(index), OPGRID_ERROR_INDEX);
        return detail::Convert<T>::read(arguments_[index]);
    }
    // Continues with the keys below the kernel's, which stay excluded until it returns.
    void below() const { invoke(api().below, results_, static_cast<const OpgridValue*>(nullptr), size_t{0}); }
    // Continues with exactly these keys.
    void redispatch(OpgridKeys keys) const {
        invoke(api().redispatch_below, results_, keys, static_cast<const OpgridValue*>(nullptr), size_t{0});
    }
    // Calls the operator anew, with the keys of the arguments and the thread.
    void redispatch_anew() const {
        OpgridValue results[16];
        size_t count = 0;
        invoke(api().call, op_, arguments_, count_, static_cast<OpgridValue*>(results), size_t{16}, &count);
        for (size_t i = 0; i < count; ++i) {
            OpgridError* error = nullptr;
            const int32_t status = api().push(results_, &results[i], &error);
            api().value_release(&results[i]);
            check(status, error);
        }
    }
    // Continues on the CPU, with copies of what lies in a device's memory.
    void through_cpu() const { invoke(api().through_cpu, results_); }
    // Leaves one more result.
    template <typename T>
    void push(const T& value) const {
        const OpgridValue lent = detail::Convert<detail::Plain<T>>::write(value);
        invoke(api().push, results_, &lent);
    }
    OpgridResults* results() const { return results_; }

private:
    static std::string text(OpgridText text) { return {text.data, text.size}; }
    const OpgridOperator* op_;
    OpgridKeys keys_;
    const OpgridValue* arguments_;
    size_t count_;
    OpgridResults* results_;
};

namespace detail OPGRID_HIDDEN {

// The signature of a function or a lambda.
template <typename F>
struct Signature : Signature<decltype(&F::operator())> {};
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
    using Result = R;
    using Arguments = std::tuple<A...>;
};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

template <typename T>
void leave(const Call& call, const T& result) {
    call.push(result);
}
inline void leave(const Call& call, Tensor&& result) {
    if (!result) throw Error("a kernel returned no tensor; return one", OPGRID_ERROR_VALUE);
    api().push_tensor(call.results(), result.release());
}
template <typename... T>
void leave(const Call& call, const std::tuple<T...>& results) {
    std::apply([&](const auto&... each) { (leave(call, each), ...); }, results);
}

template <typename F>
constexpr bool is_boxed() {
    return std::is_invocable_v<F, const Call&> && !std::is_invocable_v<F, const Tensor&>;
}

template <typename F, typename... A, size_t... I>
void run(F& function, const Call& call, std::tuple<A...>*, std::index_sequence<I...>) {
    if (call.size() != sizeof...(A))
        throw Error(call.name() + ": a kernel takes " + std::to_string(sizeof...(A)) + " arguments, the schema has " +
                        std::to_string(call.size()),
                    OPGRID_ERROR_VALUE);
    using Result = typename Signature<F>::Result;
    if constexpr (std::is_void_v<Result>) function(Convert<Plain<A>>::read(call[I])...);
    else leave(call, function(Convert<Plain<A>>::read(call[I])...));
}

template <typename F>
int32_t trampoline(void* context, const OpgridOperator* op, OpgridKeys keys, const OpgridValue* arguments,
                   size_t count, OpgridResults* results, OpgridError** error) noexcept {
    return guarded(error, [&] {
        F& function = *static_cast<F*>(context);
        const Call call(op, keys, arguments, count, results);
        if constexpr (is_boxed<F>()) {
            function(call);
        } else {
            using Arguments = typename Signature<F>::Arguments;
            run(function, call, static_cast<Arguments*>(nullptr),
                std::make_index_sequence<std::tuple_size_v<Arguments>>());
        }
    });
}

// The schema of a kernel's types, with torch's names for arguments.
template <typename... A>
std::string arguments_text(std::tuple<A...>*) {
    std::string text;
    int place = 0;
    ((text += (place ? ", " : "") + Convert<Plain<A>>::text() + " _" + std::to_string(place), ++place), ...);
    return text;
}
template <typename R>
struct ResultText {
    static std::string text() { return Convert<Plain<R>>::text(); }
};
template <>
struct ResultText<void> {
    static std::string text() { return "()"; }
};
template <typename... R>
struct ResultText<std::tuple<R...>> {
    static std::string text() {
        std::string text;
        ((text += (text.empty() ? "" : ", ") + Convert<Plain<R>>::text()), ...);
        return "(" + text + ")";
    }
};

}  // namespace detail

// A fallthrough: `m.impl("op", "Autograd", opgrid::fallthrough)`, `m.fallback(opgrid::fallthrough)`.
struct Fallthrough {};
inline constexpr Fallthrough fallthrough{};

// A block of registrations, as in TORCH_LIBRARY.
class Library {
public:
    Library(uint32_t kind, const char* ns, const char* key, const char* file, uint32_t line)
        : file_(file), line_(line) {
        invoke(api().block_open, host_library, kind, ns, key, file, line, &block_);
    }
    // Lets kernels replace those that are there.
    Library& allow_override() {
        invoke(api().block_allow_override, block_);
        return *this;
    }
    // Defines an operator by its schema. `documentation` says what it does, in words for people.
    Library& def(const char* schema, const std::vector<const char*>& tags = {}, const char* kind = nullptr,
                 const char* documentation = nullptr) {
        OpgridDefinition definition{};
        definition.struct_size = sizeof definition;
        definition.schema = schema;
        definition.tags = tags.data();
        definition.tag_count = tags.size();
        definition.kind = kind;
        definition.file = file_;
        definition.line = line_;
        definition.documentation = documentation;
        invoke(api().define, block_, static_cast<const OpgridDefinition*>(&definition));
        return *this;
    }
    // Defines an operator with a kernel of its own; of a name without parentheses, the kernel's types give the schema.
    template <typename F, typename = std::enable_if_t<std::is_class_v<std::decay_t<F>> || std::is_pointer_v<std::decay_t<F>>>,
              typename = decltype(&detail::trampoline<std::decay_t<F>>)>
    Library& def(const char* schema, F&& function, const char* documentation = nullptr) {
        using Function = std::decay_t<F>;
        std::string text = schema;
        if constexpr (!detail::is_boxed<Function>()) {
            using Arguments = typename detail::Signature<Function>::Arguments;
            using Result = typename detail::Signature<Function>::Result;
            if (text.find('(') == std::string::npos)
                text += "(" + detail::arguments_text(static_cast<Arguments*>(nullptr)) + ") -> " +
                        detail::ResultText<Result>::text();
        }
        def(text.c_str(), {}, nullptr, documentation);
        return impl(text.substr(0, text.find('(')).c_str(), nullptr, std::forward<F>(function));
    }
    // Says what autocast does with an operator's floating-point arguments on a type of device, such as "cpu": OPGRID_CAST_…; with
    // OPGRID_CAST_TO, to a dtype.
    Library& cast_policy(const char* name, const char* device, uint32_t policy, int32_t dtype = 0) {
        invoke(api().cast_policy, block_, name, device, policy, dtype);
        return *this;
    }
    // Has another operator run batches of one under vmap. It takes the same arguments, in which batched tensors have the examples along
    // dimension 0, and an `int[]` behind them, with 0 for each batched tensor and -1 for each other one; its results are those of the batch.
    Library& batched_by(const char* name, const char* batched) {
        invoke(api().batched_by, block_, name, batched);
        return *this;
    }
    // Gives an operator a kernel for a key, or for the block's.
    template <typename F>
    Library& impl(const char* name, const char* key, F&& function) {
        const OpgridKernel kernel = describe(key, std::forward<F>(function));
        invoke(api().implement, block_, name, &kernel);
        return *this;
    }
    template <typename F>
    Library& impl(const char* name, F&& function) {
        return impl(name, nullptr, std::forward<F>(function));
    }
    // A kernel that joins others of its cell by a name, for calls only for whose arguments `condition` holds.
    template <typename F, typename C>
    Library& provider(const char* name, const char* key, const char* provider, F&& function, const char* when,
                      C&& condition) {
        using Function = std::decay_t<F>;
        using Condition = std::decay_t<C>;
        struct Both {
            Function function;
            Condition condition;
        };
        OpgridKernel kernel = describe(key, [](const Call&) {});
        kernel.release(kernel.context);
        kernel.context = new Both{std::forward<F>(function), std::forward<C>(condition)};
        kernel.release = [](void* context) { delete static_cast<Both*>(context); };
        kernel.kernel = [](void* context, const OpgridOperator* op, OpgridKeys keys, const OpgridValue* arguments,
                           size_t count, OpgridResults* results, OpgridError** error) {
            return detail::trampoline<Function>(&static_cast<Both*>(context)->function, op, keys, arguments, count,
                                                results, error);
        };
        kernel.condition = [](void* context, const OpgridValue* arguments, size_t count, int32_t* holds,
                              OpgridError** error) {
            return guarded(error, [&] {
                const Call call(nullptr, OpgridKeys{}, arguments, count, nullptr);
                *holds = static_cast<Both*>(context)->condition(call) ? 1 : 0;
            });
        };
        kernel.condition_text = when;
        kernel.provider = provider;
        const OpgridKernel* described = &kernel;
        invoke(api().implement, block_, name, described);
        return *this;
    }
    // Serves every operator without a kernel for the block's key: a function of opgrid::Call.
    template <typename F>
    Library& fallback(F&& function) {
        const OpgridKernel kernel = describe(nullptr, std::forward<F>(function));
        invoke(api().fallback, block_, &kernel);
        return *this;
    }

private:
    template <typename F>
    OpgridKernel describe(const char* key, F&& function) {
        using Function = std::decay_t<F>;
        OpgridKernel kernel{};
        kernel.struct_size = sizeof kernel;
        kernel.key = key;
        kernel.file = file_;
        kernel.line = line_;
        if constexpr (std::is_same_v<Function, Fallthrough>) {
            kernel.flags = OPGRID_KERNEL_FALLTHROUGH;
        } else {
            kernel.kernel = detail::trampoline<Function>;
            kernel.context = new Function(std::forward<F>(function));
            kernel.release = [](void* context) { delete static_cast<Function*>(context); };
        }
        return kernel;
    }
    OpgridBlock* block_ = nullptr;
    const char* file_;
    uint32_t line_;
};

namespace detail OPGRID_HIDDEN {

// The blocks of this plugin, in the order of its files' initialisers.
struct Block {
    uint32_t kind;
    const char* ns;
    const char* key;
    const char* file;
    uint32_t line;
    void (*body)(Library&);
};
inline std::vector<Block>& blocks() {
    static std::vector<Block> all;
    return all;
}
struct AddBlock {
    explicit AddBlock(Block block) { blocks().push_back(block); }
};

inline int32_t initialize(const OpgridApi* api, OpgridLibrary* library) noexcept {
    if (!api || api->abi_major != OPGRID_ABI_MAJOR || api->struct_size < sizeof(OpgridApi)) return OPGRID_ERROR_REGISTRATION;
    host_api = api;
    host_library = library;
    OpgridError* error = nullptr;
    const int32_t status = guarded(&error, [] {
        for (const Block& block : blocks()) {
            Library opened(block.kind, block.ns, block.key, block.file, block.line);
            block.body(opened);
        }
    });
    if (status != OPGRID_OK) api->library_fail(library, error);
    return status;
}

}  // namespace detail
}  // namespace opgrid

#define OPGRID_JOIN_(one, other) one##other
#define OPGRID_JOIN(one, other) OPGRID_JOIN_(one, other)
#define OPGRID_BLOCK_(kind, ns, key, m, id)                                                                    \
    static void OPGRID_JOIN(opgrid_block_, id)(::opgrid::Library & m);                                         \
    static const ::opgrid::detail::AddBlock OPGRID_JOIN(opgrid_add_block_, id)(                                \
        ::opgrid::detail::Block{kind, ns, key, __FILE__, __LINE__, OPGRID_JOIN(opgrid_block_, id)});           \
    static void OPGRID_JOIN(opgrid_block_, id)(::opgrid::Library & m)

// The manifest and the entry of a plugin; once.
#define OPGRID_MODULE(name, version, namespaces, keys)                                                         \
    OPGRID_PLUGIN(name, version, namespaces, keys);                                                            \
    OPGRID_EXTERN_C OPGRID_EXPORT int32_t opgrid_plugin_init(const OpgridApi* api, OpgridLibrary* library) {   \
        return ::opgrid::detail::initialize(api, library);                                                     \
    }
// The one block that owns a namespace.
#define OPGRID_LIBRARY(ns, m) OPGRID_BLOCK_(OPGRID_BLOCK_LIBRARY, #ns, nullptr, m, __COUNTER__)
// A block that adds operators to a namespace of somebody else.
#define OPGRID_LIBRARY_FRAGMENT(ns, m) OPGRID_BLOCK_(OPGRID_BLOCK_FRAGMENT, #ns, nullptr, m, __COUNTER__)
// A block that adds kernels for a key, and in the namespace `_` fallbacks.
#define OPGRID_LIBRARY_IMPL(ns, key, m) OPGRID_BLOCK_(OPGRID_BLOCK_IMPLEMENTATIONS, #ns, #key, m, __COUNTER__)

#endif
