/* A kernel and a fallback that do nothing, for main.rs. */
#include "opgrid.h"

OPGRID_PLUGIN("cost", "0.1.0", "cost", "CPU TESTING_ONLY_GenericMode");

static const OpgridApi *api;

static int32_t same(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments,
                    size_t count, OpgridResults *results, OpgridError **error) {
    (void)context, (void)op, (void)keys, (void)count, (void)error;
    api->tensor_retain(arguments[0].payload.tensor);
    api->push_tensor(results, arguments[0].payload.tensor);
    return OPGRID_OK;
}

static int32_t pass(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments,
                    size_t count, OpgridResults *results, OpgridError **error) {
    (void)context, (void)op, (void)keys, (void)arguments, (void)count;
    return api->below(results, NULL, 0, error);
}

int32_t opgrid_plugin_init(const OpgridApi *host, OpgridLibrary *library) {
    api = host;
    OpgridError *error = NULL;
    OpgridBlock *block = NULL;
    const OpgridDefinition definition = {
        .struct_size = sizeof definition, .schema = "same(Tensor self, Tensor other) -> Tensor"};
    const OpgridKernel cpu = {.struct_size = sizeof cpu, .key = "CPU", .kernel = same};
    const OpgridKernel hook = {.struct_size = sizeof hook, .kernel = pass};
    int32_t status;
    if ((status = api->block_open(library, OPGRID_BLOCK_LIBRARY, "cost", NULL, NULL, 0, &block, &error)) ||
        (status = api->define(block, &definition, &error)) ||
        (status = api->implement(block, "same", &cpu, &error)) ||
        (status = api->block_open(library, OPGRID_BLOCK_IMPLEMENTATIONS, "_", "TESTING_ONLY_GenericMode", NULL, 0,
                                  &block, &error)) ||
        (status = api->fallback(block, &hook, &error)))
        api->library_fail(library, error);
    return status;
}
