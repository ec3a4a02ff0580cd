/* The C interface of opgrid, version 1: for plugins, and for programs that embed opgrid (`opgrid_open`).
 *
 * A plugin is a shared library with a manifest (OPGRID_PLUGIN) and an entry:
 *
 *     OPGRID_EXPORT int32_t opgrid_plugin_init(const OpgridApi *api, OpgridLibrary *library);
 *
 * Everything is reached through the table that the entry gets; a plugin links nothing of opgrid. The documentation of the
 * crate opgrid-abi says who owns what. No exception may leave a kernel.
 *
 * Written by `cargo xtask header`; do not edit. Fingerprint of the sources: 97f49ed04bd094c0 */

#ifndef OPGRID_H
#define OPGRID_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// No value: an optional that is absent.
#define OPGRID_NONE 0

// `tensor`: a tensor.
#define OPGRID_TENSOR 1

// `int_value`: an integer.
#define OPGRID_INT 2

// `float_value`: a floating-point number.
#define OPGRID_FLOAT 3

// `floats`: a complex number, its real and its imaginary part.
#define OPGRID_COMPLEX 4

// `int_value`: 0 or 1.
#define OPGRID_BOOL 5

// `text` of `size` bytes of UTF-8, which need not end in a zero byte.
#define OPGRID_STR 6

// `int_value`: torch's number of a dtype, such as `OPGRID_DTYPE_FLOAT32`.
#define OPGRID_DTYPE 7

// `int_value`: torch's number of a layout.
#define OPGRID_LAYOUT 8

// `int_value`: torch's number of a memory format.
#define OPGRID_MEMORY_FORMAT 9

// `device`: a device.
#define OPGRID_DEVICE 10

// `ints`: a list of `size` integers.
#define OPGRID_INTS 11

// `floats`: a list of `size` floating-point numbers.
#define OPGRID_FLOATS 12

// `bools`: a list of `size` bytes, each 0 or 1.
#define OPGRID_BOOLS 13

// `tensors`: a list of `size` tensors.
#define OPGRID_TENSORS 14

// `tensors`: a list of `size` tensors, null where one is absent.
#define OPGRID_OPTIONAL_TENSORS 15

// `other`: a lent value of another kind (a tuple, a dict, an object, a list of lists), to be handed on. Its elements, if it
// has any, are read by `value_element`.
#define OPGRID_OTHER 16

// `other`: a value that belongs to its holder, as `call` and others write it. `value_view` opens it.
#define OPGRID_OWNED 17

// The dtype uint8.
#define OPGRID_DTYPE_UINT8 0

// The dtype int8.
#define OPGRID_DTYPE_INT8 1

// The dtype int16.
#define OPGRID_DTYPE_INT16 2

// The dtype int32.
#define OPGRID_DTYPE_INT32 3

// The dtype int64.
#define OPGRID_DTYPE_INT64 4

// The dtype float16.
#define OPGRID_DTYPE_FLOAT16 5

// The dtype float32.
#define OPGRID_DTYPE_FLOAT32 6

// The dtype float64.
#define OPGRID_DTYPE_FLOAT64 7

// The dtype complex64.
#define OPGRID_DTYPE_COMPLEX64 9

// The dtype complex128.
#define OPGRID_DTYPE_COMPLEX128 10

// The dtype bool.
#define OPGRID_DTYPE_BOOL 11

// The dtype qint8.
#define OPGRID_DTYPE_QINT8 12

// The dtype quint8.
#define OPGRID_DTYPE_QUINT8 13

// The dtype qint32.
#define OPGRID_DTYPE_QINT32 14

// The dtype bfloat16.
#define OPGRID_DTYPE_BFLOAT16 15

// The dtype float8_e5m2.
#define OPGRID_DTYPE_FLOAT8_E5M2 23

// The dtype float8_e4m3fn.
#define OPGRID_DTYPE_FLOAT8_E4M3FN 24

// The dtype uint16.
#define OPGRID_DTYPE_UINT16 27

// The dtype uint32.
#define OPGRID_DTYPE_UINT32 28

// The dtype uint64.
#define OPGRID_DTYPE_UINT64 29

// For `tensor_data`: memory is read.
#define OPGRID_READ 1

// For `tensor_data`: memory is written, and may be read.
#define OPGRID_WRITE 2

// For `program_load`: the weights are not copied but are the memory of the file, which nobody may change or shorten from then on. To
// replace it by another file is fine.
#define OPGRID_PROGRAM_MAP 1

// A block that owns its namespace.
#define OPGRID_BLOCK_LIBRARY 0

// A block that adds operators to a namespace of somebody else.
#define OPGRID_BLOCK_FRAGMENT 1

// A block that adds kernels to a namespace, or fallbacks in the namespace `_`.
#define OPGRID_BLOCK_IMPLEMENTATIONS 2

// Autocast casts floating-point arguments to the lower precision.
#define OPGRID_CAST_LOWER 0

// Autocast casts floating-point arguments to float32.
#define OPGRID_CAST_FULL 1

// Autocast casts floating-point arguments to the widest dtype among them.
#define OPGRID_CAST_WIDEST 2

// Autocast casts floating-point arguments to a dtype, whatever the lower precision is.
#define OPGRID_CAST_TO 3

// A flag of a kernel: there is no function, calls step over the key.
#define OPGRID_KERNEL_FALLTHROUGH 1

// A flag of a fallback: it serves every operator on purpose, and is not counted as a slow path.
#define OPGRID_KERNEL_ENGINE 2

// Differs between versions that do not understand each other.
#define OPGRID_ABI_MAJOR 1

// Grows with every function that is added at the end of the table, and every field at the end of a structure.
#define OPGRID_ABI_MINOR 3

// The status of what succeeded. Every other one is the kind of an error.
#define OPGRID_OK 0

// Anything that a kernel reports in words of its own.
#define OPGRID_ERROR_KERNEL 1

// A schema text could not be read.
#define OPGRID_ERROR_SCHEMA 2

// An operator, a library or a kernel is there already.
#define OPGRID_ERROR_DUPLICATE 3

// A registration that no rule allows.
#define OPGRID_ERROR_REGISTRATION 4

// No operator, key, device or dtype of that name.
#define OPGRID_ERROR_UNKNOWN 5

// The operator has no kernel for the key that the call reached.
#define OPGRID_ERROR_MISSING_KERNEL 6

// A value is not what the schema or the kernel asks for.
#define OPGRID_ERROR_VALUE 7

// An argument has a shape, dtype, device or value that the operator refuses.
#define OPGRID_ERROR_ARGUMENT 8

// An index or a dimension beyond its range.
#define OPGRID_ERROR_INDEX 9

// A slow path, in strict mode.
#define OPGRID_ERROR_SLOW_PATH 10

// Calls are nested deeper than the thread's limit.
#define OPGRID_ERROR_DEPTH 11

// The operator or the plugin is no longer there.
#define OPGRID_ERROR_STALE 12

// The feature exists by name only.
#define OPGRID_ERROR_NOT_IMPLEMENTED 13

// A file could not be read or written.
#define OPGRID_ERROR_FILE 14

// An invariant does not hold.
#define OPGRID_ERROR_INTERNAL 15

// A level of `log`: something that may be good to know.
#define OPGRID_LOG_NOTE 1

// A level of `log`: something that is probably not meant so.
#define OPGRID_LOG_WARNING 2

// A group of registrations in one namespace. It lives until the plugin's entry returns.
typedef struct OpgridBlock OpgridBlock;

// An error. Errors belong to the host: one that was given back twice does no harm.
typedef struct OpgridError OpgridError;

// What keeps others away from a tensor's memory. It is given back once.
typedef struct OpgridGuard OpgridGuard;

// All that one plugin registers: at once when its entry has returned `OPGRID_OK`, or not at all. The handle stays what it
// is when the plugin is dropped; then functions that take it fail.
typedef struct OpgridLibrary OpgridLibrary;

// An operator of a dispatcher.
typedef struct OpgridOperator OpgridOperator;

// A value that only the host knows the inside of.
typedef struct OpgridOther OpgridOther;

// A program. A handle that was given back stays known as such: functions that take it fail.
typedef struct OpgridProgram OpgridProgram;

// The place of a call's results, and of the call. It lives until the kernel returns.
typedef struct OpgridResults OpgridResults;

// A tensor. A pointer to one is a counted handle.
typedef struct OpgridTensor OpgridTensor;

// A text of `size` bytes of UTF-8. Strings that the host gives are lent.
typedef struct OpgridText {
    // The first byte.
    const char *data;
    // The number of bytes.
    size_t size;
} OpgridText;

// An operator to be defined.
typedef struct OpgridDefinition {
    // The bytes of this structure.
    size_t struct_size;
    // As in `add_1(Tensor self) -> Tensor`.
    const char *schema;
    // `tag_count` strings, or null.
    const char *const *tags;
    // How many tags there are.
    size_t tag_count;
    // A kind of operators that the dispatcher knows, such as `pointwise unary`, whose defaults serve the operator; or null.
    const char *kind;
    // The source file that says so, or null.
    const char *file;
    // The line, counted from 1.
    uint32_t line;
    // What the operator does, in words for people; or null. Since version 1.1.
    const char *documentation;
} OpgridDefinition;

// A set of dispatch keys. Sets are united, intersected and reduced bit by bit; backends do not count in differences.
typedef struct OpgridKeys {
    // A bit for each layer.
    uint64_t layers;
    // A bit for each backend.
    uint32_t backends;
    // Zero.
    uint32_t reserved;
} OpgridKeys;

// A device: torch's number of its kind, or that which `backend` gave, and which one of the kind.
typedef struct OpgridDevice {
    // 0 is the CPU, 14 is meta.
    uint32_t kind;
    // −1 is "the current one".
    int32_t index;
} OpgridDevice;

// What a value's tag says that it is.
typedef union OpgridPayload {
    // The payload of `OPGRID_INT`, `OPGRID_BOOL`, `OPGRID_DTYPE`, `OPGRID_LAYOUT` and `OPGRID_MEMORY_FORMAT`.
    int64_t int_value;
    // The payload of `OPGRID_FLOAT`.
    double float_value;
    // The payload of `OPGRID_TENSOR`.
    struct OpgridTensor *tensor;
    // The payload of `OPGRID_STR`.
    const char *text;
    // The payload of `OPGRID_DEVICE`.
    struct OpgridDevice device;
    // The payload of `OPGRID_INTS`.
    const int64_t *ints;
    // The payload of `OPGRID_FLOATS`, and the two parts of `OPGRID_COMPLEX`.
    const double *floats;
    // The payload of `OPGRID_BOOLS`.
    const uint8_t *bools;
    // The payload of `OPGRID_TENSORS` and `OPGRID_OPTIONAL_TENSORS`.
    struct OpgridTensor *const *tensors;
    // The payload of `OPGRID_OTHER` and `OPGRID_OWNED`.
    const struct OpgridOther *other;
} OpgridPayload;

// A value of any kind that a schema can name.
typedef struct OpgridValue {
    // One of `OPGRID_NONE` to `OPGRID_OWNED`.
    uint32_t tag;
    // The number of elements or bytes of a list or a text, else 0.
    uint32_t size;
    // What the tag says.
    union OpgridPayload payload;
} OpgridValue;

// A kernel, or null: it leaves one result for each that the schema declares, by `push` or `push_tensor`, and returns `OPGRID_OK`; or
// it leaves an error and returns another status. No exception may leave it.
typedef int32_t (*OpgridKernelFn)(void *context,
                                  const struct OpgridOperator *op,
                                  struct OpgridKeys keys,
                                  const struct OpgridValue *arguments,
                                  size_t count,
                                  struct OpgridResults *results,
                                  struct OpgridError **error);

// Frees a context; or null.
typedef void (*OpgridReleaseFn)(void *context);

// Whether a kernel is for a call, or null: it writes 0 or 1 to `holds`. No exception may leave it.
typedef int32_t (*OpgridConditionFn)(void *context,
                                     const struct OpgridValue *arguments,
                                     size_t count,
                                     int32_t *holds,
                                     struct OpgridError **error);

// A kernel to be registered.
typedef struct OpgridKernel {
    // The bytes of this structure.
    size_t struct_size;
    // The name of a dispatch key or an alias; null for the block's key, else `CompositeImplicitAutograd`.
    const char *key;
    // The function; null for a fallthrough.
    OpgridKernelFn kernel;
    // What the function gets first. It is used on any thread.
    void *context;
    // Called once, on any thread, when the context is no longer used, also if registering fails; or null.
    OpgridReleaseFn release;
    // `OPGRID_KERNEL_…`.
    uint32_t flags;
    // The line, counted from 1.
    uint32_t line;
    // The source file that says so, or null.
    const char *file;
    // The name by which the kernel joins others of its cell, or null.
    const char *provider;
    // Which calls the kernel is for, or null. It gets the same context.
    OpgridConditionFn condition;
    // Completes "runs when …", or null.
    const char *condition_text;
    // What listings and errors say instead of the file and line, or null.
    const char *description;
} OpgridKernel;

// A layer to be allocated.
typedef struct OpgridLayer {
    // The bytes of this structure.
    size_t struct_size;
    // Its name, an identifier.
    const char *name;
    // The `above_count` keys before which it runs.
    const char *const *above;
    // How many there are.
    size_t above_count;
    // The `below_count` keys after which it runs.
    const char *const *below;
    // How many there are.
    size_t below_count;
    // What is skipped, beside the layer itself, while one of its kernels calls on; no keys for nothing.
    struct OpgridKeys excludes_below;
} OpgridLayer;

// What a tensor is like. The pointers are good as long as the tensor is held and not resized.
typedef struct OpgridTensorInfo {
    // The bytes of this structure that the caller knows; set it before asking.
    size_t struct_size;
    // The number of dimensions.
    size_t dims;
    // The size of each dimension.
    const int64_t *sizes;
    // The distance between neighbours in each dimension, in elements.
    const int64_t *strides;
    // The first element's place in the storage, in elements.
    int64_t offset;
    // The number of elements.
    int64_t numel;
    // The dtype, `OPGRID_DTYPE_…`.
    int32_t dtype;
    // The bytes of one element.
    uint32_t item_size;
    // Where the elements are.
    struct OpgridDevice device;
    // 1 if the elements lie one after another in row-major order, else 0.
    uint32_t is_contiguous;
    // Zero.
    uint32_t reserved;
    // The bytes of the storage.
    size_t storage_bytes;
    // The keys that the tensor brings into calls.
    struct OpgridKeys keys;
} OpgridTensorInfo;

// Memory that the CPU cannot address.
typedef struct OpgridDeviceMemory {
    // The bytes of this structure.
    size_t struct_size;
    // What the functions get first, and what `tensor_memory` gives back. It is used on any thread.
    void *context;
    // How many bytes there are.
    size_t bytes;
    // Copies `count` bytes from byte `start` on to `to`. The host checks that they lie inside.
    int32_t (*read)(void *context, size_t start, uint8_t *to, size_t count, struct OpgridError **error);
    // Copies `count` bytes from `from` to byte `start` and those behind. The host checks that they lie inside.
    int32_t (*write)(void *context,
                     size_t start,
                     const uint8_t *from,
                     size_t count,
                     struct OpgridError **error);
    // Called once when nobody uses the memory any more, also if no tensor could be made of it; or null.
    OpgridReleaseFn release;
} OpgridDeviceMemory;

// Works on the numbers from `start` on that are below `end`, or null. It may run on several threads at a time. No exception may
// leave it.
typedef int32_t (*OpgridRangeFn)(void *context, size_t start, size_t end, struct OpgridError **error);

// What an input or a result of a program is. The pointers are good as long as the program is held.
typedef struct OpgridProgramValue {
    // The bytes of this structure that the caller knows; set it before asking.
    size_t struct_size;
    // The name; empty for a result that is a constant.
    struct OpgridText name;
    // The type as people read it, as in `float32[batch, 8]`.
    struct OpgridText type_text;
    // `OPGRID_TENSOR`, `OPGRID_INT`, `OPGRID_FLOAT` or `OPGRID_BOOL`; `OPGRID_OTHER` where the program does not say.
    uint32_t tag;
    // The dtype of a tensor, `OPGRID_DTYPE_…`; −1 for other values.
    int32_t dtype;
    // The number of dimensions of a tensor.
    size_t dims;
    // The smallest size of each dimension.
    const int64_t *min_sizes;
    // The largest size of each dimension: the smallest one where it does not vary, `INT64_MAX` where there is none.
    const int64_t *max_sizes;
} OpgridProgramValue;

// The functions of the host. A plugin looks at `struct_size` before it calls one that came after version 1.0.
//
// Functions that return a status write an error to `error` if they fail and it is not null.
typedef struct OpgridApi {
    // The bytes of this table.
    size_t struct_size;
    // `OPGRID_ABI_MAJOR` of the host.
    uint32_t abi_major;
    // `OPGRID_ABI_MINOR` of the host.
    uint32_t abi_minor;
    // A new error of a kind, `OPGRID_ERROR_…`.
    struct OpgridError *(*error_new)(int32_t kind, struct OpgridText message);
    // The kind of an error; 0 for one that is not there.
    int32_t (*error_kind)(const struct OpgridError *error);
    // The message of an error, which lives as long as the error does; empty for one that is not there.
    struct OpgridText (*error_message)(const struct OpgridError *error);
    // Gives an error back.
    void (*error_release)(struct OpgridError *error);
    // Says why the entry fails. Takes the error.
    void (*library_fail)(struct OpgridLibrary *library, struct OpgridError *error);
    // Begins a block of registrations, `OPGRID_BLOCK_…`, with a key for kernels that name none, or null.
    int32_t (*block_open)(struct OpgridLibrary *library,
                          uint32_t kind,
                          const char *namespace_,
                          const char *key,
                          const char *file,
                          uint32_t line,
                          struct OpgridBlock **out,
                          struct OpgridError **error);
    // Lets kernels of the block replace those that are there.
    int32_t (*block_allow_override)(struct OpgridBlock *block, struct OpgridError **error);
    // Defines an operator. Mistakes in the schema are reported when the plugin is loaded.
    int32_t (*define)(struct OpgridBlock *block,
                      const struct OpgridDefinition *definition,
                      struct OpgridError **error);
    // Gives an operator a kernel.
    int32_t (*implement)(struct OpgridBlock *block,
                         const char *name,
                         const struct OpgridKernel *kernel,
                         struct OpgridError **error);
    // Gives all operators without a kernel for a key this one.
    int32_t (*fallback)(struct OpgridBlock *block,
                        const struct OpgridKernel *kernel,
                        struct OpgridError **error);
    // Puts the providers `names` of an operator's cell first; null for `key` means every cell.
    int32_t (*order)(struct OpgridBlock *block,
                     const char *name,
                     const char *key,
                     const char *const *names,
                     size_t count,
                     struct OpgridError **error);
    // Allocates a layer, or finds it; `out` is its key. It belongs to the process.
    int32_t (*layer)(const struct OpgridLayer *layer, struct OpgridKeys *out, struct OpgridError **error);
    // Allocates a backend, or finds it; `out` is its key, `device` its current device. It belongs to the process.
    int32_t (*backend)(const char *name,
                       struct OpgridKeys *out,
                       struct OpgridDevice *device,
                       struct OpgridError **error);
    // The key, or the keys of the alias, of a name.
    int32_t (*keys_named)(const char *name, struct OpgridKeys *out, struct OpgridError **error);
    // What the thread adds to the keys of its calls, and what it takes away.
    void (*local_keys)(struct OpgridKeys *included, struct OpgridKeys *excluded);
    // Replaces both. Who does it for a scope puts back what was there before.
    void (*set_local_keys)(struct OpgridKeys included, struct OpgridKeys excluded);
    // The operator of a name, as in `aten::add.Tensor`, of the plugin's dispatcher. `operator_release` gives it back.
    int32_t (*operator_find)(struct OpgridLibrary *library,
                             const char *name,
                             struct OpgridOperator **out,
                             struct OpgridError **error);
    // Gives an operator back that `operator_find` wrote.
    void (*operator_release)(struct OpgridOperator *op);
    // The name without the overload, as in `aten::add`.
    struct OpgridText (*operator_name)(const struct OpgridOperator *op);
    // The name of the overload, as in `Tensor`; it may be empty.
    struct OpgridText (*operator_overload)(const struct OpgridOperator *op);
    // The schema as a text, a value that belongs to the caller.
    int32_t (*operator_schema)(const struct OpgridOperator *op,
                               struct OpgridValue *out,
                               struct OpgridError **error);
    // Calls an operator. It writes the results, at most `capacity`, which belong to the caller, and their number. Where
    // there are more it fails.
    int32_t (*call)(const struct OpgridOperator *op,
                    const struct OpgridValue *arguments,
                    size_t count,
                    struct OpgridValue *results,
                    size_t capacity,
                    size_t *result_count,
                    struct OpgridError **error);
    // Calls an operator with exactly these dispatch keys.
    int32_t (*redispatch)(const struct OpgridOperator *op,
                          struct OpgridKeys keys,
                          const struct OpgridValue *arguments,
                          size_t count,
                          struct OpgridValue *results,
                          size_t capacity,
                          size_t *result_count,
                          struct OpgridError **error);
    // Leaves one more result, a copy of the value.
    int32_t (*push)(struct OpgridResults *results, const struct OpgridValue *value, struct OpgridError **error);
    // Leaves a tensor as one more result. Takes the handle.
    void (*push_tensor)(struct OpgridResults *results, struct OpgridTensor *tensor);
    // Continues the kernel's call with the keys below the one that it was reached by, which stay excluded on the thread
    // until it returns. Results are left. Null for `arguments` stands for those of the call.
    int32_t (*below)(struct OpgridResults *results,
                     const struct OpgridValue *arguments,
                     size_t count,
                     struct OpgridError **error);
    // Continues the kernel's call with exactly these keys. Results are left. Null for `arguments` stands for those of the
    // call.
    int32_t (*redispatch_below)(struct OpgridResults *results,
                                struct OpgridKeys keys,
                                const struct OpgridValue *arguments,
                                size_t count,
                                struct OpgridError **error);
    // Continues the kernel's call on the CPU, with copies of everything that lies in a device's memory, writes back what
    // was written, and leaves the results on the device. It counts as a copy through the CPU.
    int32_t (*through_cpu)(struct OpgridResults *results, struct OpgridError **error);
    // How many results there are.
    size_t (*result_count)(struct OpgridResults *results);
    // Looks at a result, which stays where it is.
    int32_t (*result)(struct OpgridResults *results,
                      size_t index,
                      struct OpgridValue *out,
                      struct OpgridError **error);
    // Drops all results.
    void (*clear_results)(struct OpgridResults *results);
    // Opens a value that belongs to its holder: `out` is lent, and good as long as `value` is. Other values are copied.
    int32_t (*value_view)(const struct OpgridValue *value, struct OpgridValue *out, struct OpgridError **error);
    // Gives a value back that belongs to its holder, and makes it `OPGRID_NONE`.
    void (*value_release)(struct OpgridValue *value);
    // Element `index` of a list or a tuple, which belongs to the caller.
    int32_t (*value_element)(const struct OpgridValue *value,
                             size_t index,
                             struct OpgridValue *out,
                             struct OpgridError **error);
    // The value as people read it, a text that belongs to the caller.
    int32_t (*value_text)(const struct OpgridValue *value, struct OpgridValue *out, struct OpgridError **error);
    // Counts one more handle.
    void (*tensor_retain)(struct OpgridTensor *tensor);
    // Gives a handle back.
    void (*tensor_release)(struct OpgridTensor *tensor);
    // What a tensor is like. Set `struct_size` of `out` before.
    int32_t (*tensor_info)(const struct OpgridTensor *tensor,
                           struct OpgridTensorInfo *out,
                           struct OpgridError **error);
    // The address of the first element, for `OPGRID_READ` or `OPGRID_WRITE`. It fails while somebody is in the way, and
    // where the CPU cannot address the memory. Nothing keeps others away afterwards: `tensor_guard` does.
    int32_t (*tensor_data)(const struct OpgridTensor *tensor,
                           uint32_t access,
                           void **out,
                           struct OpgridError **error);
    // A new tensor, which reads as zero until it is written; row-major where `strides` is null. On other devices than CPU
    // and meta, `aten::empty_strided` makes it.
    int32_t (*tensor_make)(struct OpgridLibrary *library,
                           size_t dims,
                           const int64_t *sizes,
                           const int64_t *strides,
                           int32_t dtype,
                           struct OpgridDevice device,
                           struct OpgridTensor **out,
                           struct OpgridError **error);
    // A view of a tensor's memory with these sizes and strides from that element of the storage on.
    int32_t (*tensor_view)(const struct OpgridTensor *tensor,
                           size_t dims,
                           const int64_t *sizes,
                           const int64_t *strides,
                           int64_t offset,
                           struct OpgridTensor **out,
                           struct OpgridError **error);
    // A tensor on memory of the plugin that the CPU can address, all of it initialised; `release` is called when nobody
    // uses it any more, also if no tensor could be made of it.
    int32_t (*tensor_from_memory)(void *data,
                                  size_t bytes,
                                  size_t dims,
                                  const int64_t *sizes,
                                  const int64_t *strides,
                                  int32_t dtype,
                                  struct OpgridDevice device,
                                  void *context,
                                  OpgridReleaseFn release,
                                  struct OpgridTensor **out,
                                  struct OpgridError **error);
    // A tensor on memory that the CPU cannot address.
    int32_t (*tensor_on_device)(const struct OpgridDeviceMemory *memory,
                                size_t dims,
                                const int64_t *sizes,
                                const int64_t *strides,
                                int32_t dtype,
                                struct OpgridDevice device,
                                struct OpgridTensor **out,
                                struct OpgridError **error);
    // The context of a tensor's device memory, if its maker gave this `release`, by which a plugin knows its own; else null.
    void *(*tensor_memory)(const struct OpgridTensor *tensor, OpgridReleaseFn release);
    // Returns a tensor with these elements that the CPU can address: the tensor itself, or one with the same sizes
    // and strides on a copy of its whole storage.
    int32_t (*tensor_on_cpu)(const struct OpgridTensor *tensor,
                             struct OpgridTensor **out,
                             struct OpgridError **error);
    // Overwrites the device memory of a tensor with the storage of what `tensor_on_cpu` gave for it; nothing happens to a
    // tensor on the CPU.
    int32_t (*tensor_write_back)(const struct OpgridTensor *tensor,
                                 const struct OpgridTensor *copy,
                                 struct OpgridError **error);
    // Lends a tensor's memory as a `DLManagedTensorVersioned` of DLPack 1, whose deleter gives it back.
    int32_t (*tensor_to_dlpack)(const struct OpgridTensor *tensor, void **out, struct OpgridError **error);
    // A tensor on memory that a `DLManagedTensorVersioned` lends. Takes it: its deleter is called when nobody uses the
    // memory any more, also if no tensor could be made of it.
    int32_t (*tensor_from_dlpack)(void *managed, struct OpgridTensor **out, struct OpgridError **error);
    // Calls a function for ranges that together are the numbers below `n`, each of `grain` numbers but for the last one, on the host's
    // threads where there are some, with the keys of this thread. Returns when nothing of it runs any more. Once it has failed
    // for a range no further one is begun, and the error that came first is the one of the call.
    int32_t (*parallel_for)(size_t n,
                            size_t grain,
                            OpgridRangeFn work,
                            void *context,
                            struct OpgridError **error);
    // On how many threads `parallel_for` works at most.
    size_t (*num_threads)(void);
    // Tells people something, `OPGRID_LOG_…`, with the name of the plugin: where the host tells its own warnings. On any thread, at
    // any time. Since version 1.1, as what follows.
    void (*log)(struct OpgridLibrary *library, uint32_t level, struct OpgridText message);
    // The address of the first element, as `tensor_data` gives it, what the tensor is like, of which `struct_size` is set before, and
    // a guard. Until `guard_release` has got that, on any thread, the memory stays, and whoever would write it, or with
    // `OPGRID_WRITE` read it, gets an error. A tensor that is resized meanwhile has other memory from then on.
    int32_t (*tensor_guard)(const struct OpgridTensor *tensor,
                            uint32_t access,
                            void **out,
                            struct OpgridTensorInfo *info,
                            struct OpgridGuard **guard,
                            struct OpgridError **error);
    // Gives a guard back.
    void (*guard_release)(struct OpgridGuard *guard);
    // Reads a program from a file that `torch.export.save` wrote, for the operators of the library's dispatcher. `flags` is 0 or
    // `OPGRID_PROGRAM_MAP`. `program_release` gives it back. Since version 1.2, as what follows.
    int32_t (*program_load)(struct OpgridLibrary *library,
                            const char *path,
                            uint32_t flags,
                            struct OpgridProgram **out,
                            struct OpgridError **error);
    // Gives a program back. Runs that have begun go on.
    void (*program_release)(struct OpgridProgram *program);
    // How many values the program takes; 0 for one that is not there.
    size_t (*program_input_count)(const struct OpgridProgram *program);
    // How many values a run gives; 0 for a program that is not there.
    size_t (*program_result_count)(const struct OpgridProgram *program);
    // What an input is like. Set `struct_size` of `out` before.
    int32_t (*program_input)(const struct OpgridProgram *program,
                             size_t index,
                             struct OpgridProgramValue *out,
                             struct OpgridError **error);
    // What a result is like. Set `struct_size` of `out` before.
    int32_t (*program_result)(const struct OpgridProgram *program,
                              size_t index,
                              struct OpgridProgramValue *out,
                              struct OpgridError **error);
    // Runs a program on its inputs in their order, on any number of threads at a time. It writes the results, at most `capacity`,
    // which belong to the caller, and their number. Where there are more it fails before it runs.
    int32_t (*program_run)(const struct OpgridProgram *program,
                           const struct OpgridValue *inputs,
                           size_t count,
                           struct OpgridValue *results,
                           size_t capacity,
                           size_t *result_count,
                           struct OpgridError **error);
    // Says what autocast does with an operator's floating-point arguments on a type of device, such as `cpu`: `OPGRID_CAST_…`, and the
    // dtype of `OPGRID_CAST_TO`, which others leave 0.
    int32_t (*cast_policy)(struct OpgridBlock *block,
                           const char *name,
                           const char *device,
                           uint32_t policy,
                           int32_t dtype,
                           struct OpgridError **error);
    // Says which operator runs batches of another one under vmap. It takes the same arguments, in which batched tensors have the examples
    // along dimension 0, and an `int[]` behind them, with 0 for each batched tensor and -1 for each other one; its results are those of the batch.
    int32_t (*batched_by)(struct OpgridBlock *block,
                          const char *name,
                          const char *batched,
                          struct OpgridError **error);
} OpgridApi;

// The entry of a plugin, `opgrid_plugin_init`. It keeps both pointers, says what there is to register, and returns
// `OPGRID_OK`; then everything is registered at once. With another status nothing is; what went wrong it leaves by
// `library_fail`.
typedef int32_t (*OpgridInitFn)(const struct OpgridApi *api, struct OpgridLibrary *library);


/* What a plugin exports. */
#define OPGRID_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
#define OPGRID_EXTERN_C extern "C"
#else
#define OPGRID_EXTERN_C extern
#endif

#define OPGRID_TEXT_OF_(number) #number
#define OPGRID_TEXT_OF(number) OPGRID_TEXT_OF_(number)

/* The manifest, which hosts read without running anything: texts with the name and the version of the plugin, the
 * namespaces to which it adds something and the dispatch keys for which it has kernels, each separated by spaces. Once, at
 * the top level of a file. */
#define OPGRID_PLUGIN(name, version, namespaces, keys)                                                       \
    OPGRID_EXTERN_C OPGRID_EXPORT const char opgrid_plugin_manifest[];                                       \
    const char opgrid_plugin_manifest[] =                                                                    \
        "opgrid plugin\nabi " OPGRID_TEXT_OF(OPGRID_ABI_MAJOR) "." OPGRID_TEXT_OF(OPGRID_ABI_MINOR)          \
        "\nname " name "\nversion " version "\nnamespaces " namespaces "\nkeys " keys "\n"

#ifdef __cplusplus
extern "C" {
#endif

/* The entry of a plugin, which the plugin defines. */
OPGRID_EXPORT int32_t opgrid_plugin_init(const OpgridApi *api, OpgridLibrary *library);

/* What a program that is no plugin begins with: the table, and a library by which its functions find the operators of the
 * process. It is the one function of libopgrid_c, which plugins do not link. The table is written even where it fails. */
int32_t opgrid_open(const OpgridApi **api, OpgridLibrary **library, OpgridError **error);

#ifdef __cplusplus
}
#endif

#endif
