/* A plugin that does what it should not at every place that the host can notice: it lies about sizes, keeps what it was lent, calls
 * from threads of its own after it was dropped, and registers while its contexts are freed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opgrid.h"

OPGRID_PLUGIN("attacks", "0.1.0", "attacks", "CPU");

static const OpgridApi *api;
static OpgridLibrary *library;
static OpgridBlock *block;

#define KERNEL(name)                                                                                           \
    static int32_t name(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments, \
                        size_t count, OpgridResults *results, OpgridError **error)
#define UNUSED (void)context, (void)op, (void)keys, (void)arguments, (void)count, (void)results, (void)error

static int32_t fail(OpgridError **error, const char *message) {
    *error = api->error_new(OPGRID_ERROR_KERNEL, (OpgridText){message, strlen(message)});
    return OPGRID_ERROR_KERNEL;
}

static int32_t leave(OpgridResults *results, int64_t number, OpgridError **error) {
    const OpgridValue value = {.tag = OPGRID_INT, .payload = {.int_value = number}};
    return api->push(results, &value, error);
}

/* Whether a call of the table fails; its error is given back. */
static int refuses(int32_t status, OpgridError **error) {
    api->error_release(*error);
    *error = NULL;
    return status != OPGRID_OK;
}

/* How many contexts and pieces of memory were given back. */
static _Atomic int64_t freed = 0;
/* What the host said to those that said more while they were freed: how often it took it, and how often it refused. */
static _Atomic int64_t taken = 0, refused = 0;

static void count_freed(void *context) {
    (void)context;
    ++freed;
}

static int32_t nothing(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments, size_t count,
                       OpgridResults *results, OpgridError **error) {
    UNUSED;
    return OPGRID_OK;
}

/* Frees a context, and says everything that an entry can say. */
static void say_more(void *context) {
    (void)context;
    ++freed;
    OpgridError *error = NULL;
    OpgridBlock *another = NULL;
    const OpgridDefinition definition = {.struct_size = sizeof definition, .schema = "late(Tensor self) -> Tensor"};
    const OpgridKernel kernel = {.struct_size = sizeof kernel, .key = "CPU", .kernel = nothing};
    const int32_t said[] = {
        api->block_open(library, OPGRID_BLOCK_LIBRARY, "late", NULL, NULL, 0, &another, &error),
        api->block_allow_override(block, NULL),
        api->define(block, &definition, NULL),
        api->implement(block, "late", &kernel, NULL),
        api->fallback(block, &kernel, NULL),
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; ++i) *(said[i] == OPGRID_OK ? &taken : &refused) += 1;
    api->library_fail(library, error);
}

/* Sizes that are not there, one after another; the result says how many of them the host refused. */
KERNEL(lies_about_sizes) {
    UNUSED;
    static float memory[4];
    const OpgridDevice cpu = {0, -1};
    OpgridTensor *x = arguments[0].payload.tensor, *out = NULL;
    const int64_t four[] = {4}, five[] = {5}, negative[] = {-1}, huge[] = {INT64_MAX, INT64_MAX}, back[] = {-1}, wide[] = {2};
    int64_t caught = 0;
    caught += refuses(api->tensor_from_memory(memory, 16, 1, five, NULL, 6, cpu, NULL, count_freed, &out, error), error);
    caught += refuses(api->tensor_from_memory(memory, 16, 1, four, wide, 6, cpu, NULL, count_freed, &out, error), error);
    caught += refuses(api->tensor_from_memory(memory, 16, 1, four, back, 6, cpu, NULL, count_freed, &out, error), error);
    caught += refuses(api->tensor_from_memory(memory, 16, 2, huge, NULL, 6, cpu, NULL, count_freed, &out, error), error);
    caught += refuses(api->tensor_from_memory(memory, 16, SIZE_MAX, four, NULL, 6, cpu, NULL, count_freed, &out, error), error);
    caught += refuses(api->tensor_from_memory(memory, 16, 1, four, NULL, 99, cpu, NULL, count_freed, &out, error), error);
    caught += refuses(api->tensor_make(library, 1, negative, NULL, 6, cpu, &out, error), error);
    caught += refuses(api->tensor_make(library, 2, huge, NULL, 6, cpu, &out, error), error);
    caught += refuses(api->tensor_make(library, 1, four, back, 6, cpu, &out, error), error);
    caught += refuses(api->tensor_make(library, 1, NULL, NULL, 6, cpu, &out, error), error);
    caught += refuses(api->tensor_make(library, 1, four, NULL, 6, (OpgridDevice){77, 0}, &out, error), error);
    caught += refuses(api->tensor_view(x, 1, five, NULL, 0, &out, error), error);
    caught += refuses(api->tensor_view(x, 1, four, NULL, -1, &out, error), error);
    caught += refuses(api->tensor_view(x, 1, four, NULL, INT64_MAX, &out, error), error);
    caught += refuses(api->tensor_view(x, 1, four, huge, 0, &out, error), error);
    OpgridTensorInfo small = {.struct_size = 8}, large = {.struct_size = SIZE_MAX};
    caught += refuses(api->tensor_info(x, &small, error), error);
    caught += refuses(api->tensor_info(x, &large, error), error);
    OpgridTensorInfo info = {.struct_size = sizeof info};
    OpgridGuard *guard = NULL;
    void *start = NULL;
    caught += refuses(api->tensor_guard(x, 3, &start, &info, &guard, error), error);
    caught += refuses(api->tensor_guard(x, OPGRID_READ, NULL, &info, &guard, error), error);
    caught += refuses(api->tensor_guard(x, OPGRID_READ, &start, NULL, &guard, error), error);
    caught += refuses(api->tensor_guard(x, OPGRID_WRITE, &start, &info, NULL, error), error);
    if (out || guard) return fail(error, "something was made of a lie");
    return leave(results, caught, error);
}

/* Reads and writes of device memory that say less than was asked. */
static int32_t short_read(void *context, size_t start, uint8_t *to, size_t bytes, OpgridError **error) {
    (void)context, (void)start, (void)to, (void)bytes;
    return fail(error, "the device has less memory than was said");
}

static int32_t short_write(void *context, size_t start, const uint8_t *from, size_t bytes, OpgridError **error) {
    (void)from;
    return short_read(context, start, NULL, bytes, error);
}

/* A tensor of a device that has no memory. */
KERNEL(hollow) {
    UNUSED;
    OpgridKeys key;
    OpgridDevice device;
    int32_t status = api->backend("HollowDevice", &key, &device, error);
    if (status) return status;
    const OpgridDeviceMemory memory = {
        .struct_size = sizeof memory, .bytes = 1 << 20, .read = short_read, .write = short_write, .release = count_freed};
    const int64_t sizes[] = {1 << 18};
    OpgridTensor *made = NULL;
    if ((status = api->tensor_on_device(&memory, 1, sizes, NULL, 6, device, &made, error))) return status;
    api->push_tensor(results, made);
    return OPGRID_OK;
}

/* Guards: the second one of two that do not go together, and what the host's own operators say meanwhile. */
KERNEL(guards) {
    UNUSED;
    OpgridTensor *x = arguments[0].payload.tensor;
    OpgridTensorInfo info = {.struct_size = sizeof info};
    OpgridGuard *first = NULL, *second = NULL;
    void *start = NULL;
    int32_t status = api->tensor_guard(x, OPGRID_WRITE, &start, &info, &first, error);
    if (status) return status;
    ((float *)start)[0] = 7;
    int64_t caught = refuses(api->tensor_guard(x, OPGRID_READ, &start, &info, &second, error), error);
    caught += refuses(api->tensor_data(x, OPGRID_READ, &start, error), error);
    OpgridOperator *add = NULL;
    if ((status = api->operator_find(library, "aten::add.Tensor", &add, error))) return status;
    const OpgridValue one = {.tag = OPGRID_INT, .payload = {.int_value = 1}};
    const OpgridValue given[] = {arguments[0], arguments[0], one};
    OpgridValue sum;
    size_t found = 0;
    caught += refuses(api->call(add, given, 3, &sum, 1, &found, error), error);
    api->guard_release(first);
    api->guard_release(NULL);
    caught += 10 * !refuses(api->tensor_guard(x, OPGRID_READ, &start, &info, &first, error), error);
    caught += 10 * !refuses(api->tensor_guard(x, OPGRID_READ, &start, &info, &second, error), error);
    caught += refuses(api->tensor_data(x, OPGRID_WRITE, &start, error), error);
    if ((status = api->call(add, given, 3, &sum, 1, &found, error))) return status;
    caught += 10 * (found == 1);
    api->value_release(&sum);
    api->guard_release(first);
    api->guard_release(second);
    api->operator_release(add);
    return leave(results, caught, error);
}

/* Keys of the thread that no layer and no backend has. */
KERNEL(impossible_keys) {
    UNUSED;
    OpgridKeys included, excluded;
    api->local_keys(&included, &excluded);
    const OpgridKeys all = {UINT64_MAX, UINT32_MAX, UINT32_MAX}, none = {0, 0, 0};
    OpgridOperator *size = NULL;
    int32_t status = api->operator_find(library, "attacks::freed", &size, error);
    if (status) return status;
    OpgridValue result;
    size_t found = 0;
    int64_t caught = 0;
    api->set_local_keys(all, none);
    if (!refuses(api->call(size, NULL, 0, &result, 1, &found, error), error)) api->value_release(&result);
    else ++caught;
    api->set_local_keys(none, all);
    if (!refuses(api->call(size, NULL, 0, &result, 1, &found, error), error)) api->value_release(&result);
    else ++caught;
    api->set_local_keys(included, excluded);
    if (!refuses(api->redispatch(size, all, NULL, 0, &result, 1, &found, error), error)) api->value_release(&result);
    else ++caught;
    if (!refuses(api->redispatch_below(results, all, NULL, 0, error), error)) api->clear_results(results);
    else ++caught;
    api->operator_release(size);
    return leave(results, caught, error);
}

/* A tensor that is kept beyond the call, and the operator that a thread of the plugin calls. */
static OpgridTensor *kept = NULL;
static OpgridOperator *own = NULL;
static pthread_t thread;
static _Atomic int dropped = 0;
/* What the thread found: a bit for each answer. */
static _Atomic int64_t answers = 0;

/* Waits until the plugin was dropped, then uses whatever it has kept. */
static void *late(void *unused) {
    (void)unused;
    while (!dropped) usleep(1000);
    int64_t found = 0;
    OpgridError *error = NULL;
    OpgridOperator *op = NULL;
    OpgridValue result;
    OpgridTensor *made = NULL;
    size_t count = 0;
    const int64_t sizes[] = {2};
    if (api->operator_find(library, "aten::add.Tensor", &op, &error) == OPGRID_ERROR_STALE) found |= 1;
    api->error_release(error);
    error = NULL;
    const OpgridValue argument = {.tag = OPGRID_TENSOR, .payload = {.tensor = kept}};
    if (api->call(own, &argument, 1, &result, 1, &count, &error) == OPGRID_ERROR_STALE) found |= 2;
    api->error_release(error);
    error = NULL;
    if (api->library_fail(library, api->error_new(1, (OpgridText){"late", 4})),
        api->block_open(library, OPGRID_BLOCK_LIBRARY, "late", NULL, NULL, 0, &block, &error) == OPGRID_ERROR_STALE)
        found |= 4;
    api->error_release(error);
    error = NULL;
    /* What needs no dispatcher still works. */
    OpgridTensorInfo info = {.struct_size = sizeof info};
    if (api->tensor_info(kept, &info, NULL) == OPGRID_OK && info.numel == 4) found |= 8;
    if (api->tensor_make(library, 1, sizes, NULL, 6, (OpgridDevice){0, -1}, &made, NULL) == OPGRID_OK) found |= 16;
    api->tensor_release(made);
    const char *text = "said by a plugin that was dropped";
    api->log(library, OPGRID_LOG_WARNING, (OpgridText){text, strlen(text)});
    api->tensor_release(kept);
    api->operator_release(own);
    answers = found;
    return NULL;
}

KERNEL(keeps) {
    UNUSED;
    kept = arguments[0].payload.tensor;
    api->tensor_retain(kept);
    int32_t status = api->operator_find(library, "attacks::keeps", &own, error);
    if (status) return status;
    dropped = 0;
    if (pthread_create(&thread, NULL, late, NULL)) return fail(error, "no thread");
    return leave(results, 1, error);
}

/* For the test, which finds it by its name: lets the thread go on, and waits for it. */
OPGRID_EXPORT int64_t attacks_after_drop(void) {
    dropped = 1;
    pthread_join(thread, NULL);
    return answers;
}

OPGRID_EXPORT int64_t attacks_counts(int which) {
    return which == 0 ? freed : which == 1 ? taken : refused;
}

KERNEL(freed_so_far) {
    UNUSED;
    return leave(results, freed, error);
}

KERNEL(says) {
    UNUSED;
    api->log(library, OPGRID_LOG_NOTE, (OpgridText){"a note", 6});
    api->log(NULL, OPGRID_LOG_WARNING, (OpgridText){"a warning", 9});
    api->log(library, 77, (OpgridText){"of no level", 11});
    api->log((OpgridLibrary *)8888, OPGRID_LOG_NOTE, (OpgridText){"\xff", 1});
    api->log(library, OPGRID_LOG_NOTE, (OpgridText){NULL, 4});
    return leave(results, 0, error);
}

/* The program ends: the host is asked once more, and refuses. */
__attribute__((destructor)) static void ends(void) {
    if (!api) return;
    const int64_t before = taken;
    say_more(NULL);
    if (taken != before) abort();
}

static const struct {
    const char *schema, *name;
    OpgridKernelFn kernel;
} operators[] = {
    {"lies_about_sizes(Tensor self) -> int", "lies_about_sizes", lies_about_sizes},
    {"hollow() -> Tensor", "hollow", hollow},
    {"guards(Tensor self) -> int", "guards", guards},
    {"impossible_keys() -> int", "impossible_keys", impossible_keys},
    {"keeps(Tensor self) -> int", "keeps", keeps},
    {"freed() -> int", "freed", freed_so_far},
    {"says() -> int", "says", says},
};

int32_t opgrid_plugin_init(const OpgridApi *host, OpgridLibrary *own_library) {
    api = host;
    library = own_library;
    OpgridError *error = NULL;
    int32_t status = api->block_open(library, OPGRID_BLOCK_LIBRARY, "attacks", NULL, NULL, 0, &block, &error);
    OpgridDefinition definition = {.struct_size = sizeof definition, .documentation = "Does what it should not."};
    OpgridKernel kernel = {.struct_size = sizeof kernel, .key = "CompositeExplicitAutograd", .release = say_more};
    for (size_t i = 0; i < sizeof operators / sizeof *operators && !status; ++i) {
        definition.schema = operators[i].schema;
        kernel.kernel = operators[i].kernel;
        status = api->define(block, &definition, &error);
        if (!status) status = api->implement(block, operators[i].name, &kernel, &error);
    }
    /* As a plugin of version 1.0 says it: what came later is not looked at. */
    definition.schema = "old() -> int";
    definition.struct_size = offsetof(OpgridDefinition, documentation);
    definition.documentation = (const char *)1;
    if (!status) status = api->define(block, &definition, &error);
    kernel.kernel = nothing;
#if CASE == 1
    /* A kernel that no block takes: its context is freed while the block is being added to. */
    OpgridBlock *keyed = NULL;
    if (!status) status = api->block_open(library, OPGRID_BLOCK_IMPLEMENTATIONS, "attacks", "Meta", NULL, 0, &keyed, &error);
    block = keyed;
    kernel.key = "CPU";
    if (!status) status = api->implement(keyed, "freed", &kernel, &error);
#elif CASE == 2
    if (!status) status = fail(&error, "the entry gave up");
#endif
    if (status) api->library_fail(library, error);
    return status;
}
