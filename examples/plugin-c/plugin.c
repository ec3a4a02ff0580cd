/* A plugin in one file of C: an operator with a CPU kernel, and a hook that prints what runs.
 *
 *     cc -shared -fPIC -I python/opgrid/include -o libplugin_c.so examples/plugin-c/plugin.c
 *     opgrid --plugin ./libplugin_c.so call demo_c::scale_add '[1,2,3]:f32' '[10,20,30]:f32' 2
 */
#include <stdio.h>
#include <string.h>

#include "opgrid.h"

OPGRID_PLUGIN("plugin_c", "0.1.0", "demo_c", "CPU TESTING_ONLY_GenericMode");

static const OpgridApi *api;

/* Leaves an error with a text of ours. */
static int32_t fail(OpgridError **error, int32_t kind, const char *message) {
    OpgridText text = {message, strlen(message)};
    *error = api->error_new(kind, text);
    return kind;
}

/* scale_add(Tensor self, Tensor other, float scale) -> Tensor: self + scale * other, for contiguous float32. */
static int32_t scale_add(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments,
                         size_t count, OpgridResults *results, OpgridError **error) {
    (void)context, (void)op, (void)keys, (void)count;
    /* The dispatcher has checked that there are three arguments of these kinds. */
    OpgridTensor *x = arguments[0].payload.tensor, *y = arguments[1].payload.tensor, *out = NULL;
    const double scale = arguments[2].payload.float_value;
    OpgridTensorInfo a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
    int32_t status;
    if ((status = api->tensor_info(x, &a, error)) || (status = api->tensor_info(y, &b, error))) return status;
    if (a.dtype != 6 || b.dtype != 6 || !a.is_contiguous || !b.is_contiguous)
        return fail(error, OPGRID_ERROR_ARGUMENT, "demo_c::scale_add: expected contiguous tensors of float32; convert them");
    if (a.dims != b.dims || memcmp(a.sizes, b.sizes, a.dims * sizeof *a.sizes))
        return fail(error, OPGRID_ERROR_ARGUMENT, "demo_c::scale_add: expected two tensors of one shape; expand one");
    if ((status = api->tensor_make(NULL, a.dims, a.sizes, NULL, a.dtype, a.device, &out, error))) return status;
    void *from, *other, *to;
    if ((status = api->tensor_data(x, OPGRID_READ, &from, error)) ||
        (status = api->tensor_data(y, OPGRID_READ, &other, error)) ||
        (status = api->tensor_data(out, OPGRID_WRITE, &to, error))) {
        api->tensor_release(out);
        return status;
    }
    for (int64_t i = 0; i < a.numel; ++i) ((float *)to)[i] = ((float *)from)[i] + (float)scale * ((float *)other)[i];
    api->push_tensor(results, out);
    return OPGRID_OK;
}

/* Says which operator runs, and continues below the key. */
static int32_t announce(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments,
                        size_t count, OpgridResults *results, OpgridError **error) {
    (void)context, (void)keys, (void)arguments;
    const OpgridText name = api->operator_name(op);
    printf("hook: %.*s with %zu arguments\n", (int)name.size, name.data, count);
    fflush(stdout);
    return api->below(results, NULL, 0, error);
}

/* Everything is said here, and registered at once if this returns OPGRID_OK. */
int32_t opgrid_plugin_init(const OpgridApi *host, OpgridLibrary *library) {
    api = host;
    OpgridError *error = NULL;
    OpgridBlock *block = NULL;
    const OpgridDefinition definition = {
        .struct_size = sizeof definition,
        .schema = "scale_add(Tensor self, Tensor other, float scale) -> Tensor",
        .file = __FILE__,
        .line = __LINE__,
        .documentation = "The sum of two tensors, the second one scaled.",
    };
    const OpgridKernel cpu = {
        .struct_size = sizeof cpu, .key = "CPU", .kernel = scale_add, .file = __FILE__, .line = __LINE__};
    const OpgridKernel hook = {
        .struct_size = sizeof hook, .kernel = announce, .file = __FILE__, .line = __LINE__};
    int32_t status;
    if ((status = api->block_open(library, OPGRID_BLOCK_LIBRARY, "demo_c", NULL, __FILE__, __LINE__, &block, &error)) ||
        (status = api->define(block, &definition, &error)) ||
        (status = api->implement(block, "scale_add", &cpu, &error)) ||
        (status = api->block_open(library, OPGRID_BLOCK_IMPLEMENTATIONS, "_", "TESTING_ONLY_GenericMode", __FILE__,
                                  __LINE__, &block, &error)) ||
        (status = api->fallback(block, &hook, &error)))
        api->library_fail(library, error);
    return status;
}
