/* Plugins that do not keep to the rules; CASE says how. */
#include <stdlib.h>
#include <string.h>

#include "opgrid.h"

#if MANIFEST == 1
OPGRID_PLUGIN("liar", "0.1.0", "liar", "CPU");
#elif MANIFEST == 2
OPGRID_EXPORT const char opgrid_plugin_manifest[] = "opgrid plugin\nabi 0.9\nname liar\nversion 1\n";
#elif MANIFEST == 3
OPGRID_EXPORT const char opgrid_plugin_manifest[] = "opgrid plugin\nabi 1.99\nname liar\nversion 1\n";
#elif MANIFEST == 4
OPGRID_EXPORT const char opgrid_plugin_manifest[] = "opgrid plugin\nabi 1.0\n";
#endif

#ifdef SECOND_CORE
OPGRID_EXPORT const char OPGRID_CORE_MARKER[] = "opgrid-core";
#endif

#ifdef ABORTS_WHEN_OPENED
__attribute__((constructor)) static void opened(void) { abort(); }
#endif

#ifndef NO_ENTRY
static const OpgridApi *api;
static OpgridLibrary *own_library;

static OpgridError *new_error(const char *message) {
    return api->error_new(OPGRID_ERROR_KERNEL, (OpgridText){message, strlen(message)});
}

#define KERNEL(name)                                                                                           \
    static int32_t name(void *context, const OpgridOperator *op, OpgridKeys keys, const OpgridValue *arguments, \
                        size_t count, OpgridResults *results, OpgridError **error)
#define UNUSED (void)context, (void)op, (void)keys, (void)arguments, (void)count, (void)results, (void)error

KERNEL(freed_before) {
    UNUSED;
    *error = new_error("gone");
    api->error_release(*error);
    return OPGRID_ERROR_KERNEL;
}

KERNEL(freed_twice) {
    UNUSED;
    *error = new_error("gone");
    api->error_release(*error);
    api->error_release(*error);
    return OPGRID_ERROR_KERNEL;
}

KERNEL(no_error) {
    UNUSED;
    return OPGRID_ERROR_ARGUMENT;
}

KERNEL(error_and_ok) {
    UNUSED;
    *error = new_error("said on the way");
    return OPGRID_OK;
}

KERNEL(bad_tag) {
    UNUSED;
    OpgridValue value = {.tag = 999};
    return api->push(results, &value, error);
}

KERNEL(bad_text) {
    UNUSED;
    OpgridValue value = {.tag = OPGRID_STR, .size = 2, .payload = {.text = "\xff\xfe"}};
    return api->push(results, &value, error);
}

KERNEL(bad_bool) {
    UNUSED;
    OpgridValue value = {.tag = OPGRID_BOOL, .payload = {.int_value = 7}};
    return api->push(results, &value, error);
}

KERNEL(null_tensor) {
    UNUSED;
    OpgridValue value = {.tag = OPGRID_TENSOR};
    return api->push(results, &value, error);
}

static OpgridBlock *own_block;

KERNEL(late) {
    UNUSED;
    return api->block_allow_override(own_block, error);
}

static const struct {
    const char *schema, *name;
    OpgridKernelFn kernel;
} operators[] = {
    {"freed_before() -> int", "freed_before", freed_before}, {"freed_twice() -> int", "freed_twice", freed_twice},
    {"no_error() -> int", "no_error", no_error},             {"error_and_ok() -> ()", "error_and_ok", error_and_ok},
    {"bad_tag() -> int", "bad_tag", bad_tag},                {"bad_text() -> str", "bad_text", bad_text},
    {"bad_bool() -> bool", "bad_bool", bad_bool},            {"null_tensor() -> Tensor", "null_tensor", null_tensor},
    {"late() -> ()", "late", late},
};

OPGRID_EXPORT int32_t opgrid_plugin_init(const OpgridApi *host, OpgridLibrary *library) {
    api = host;
    own_library = library;
    OpgridError *error = NULL;
    OpgridBlock *block = NULL;
    int32_t status = api->block_open(library, OPGRID_BLOCK_LIBRARY, "liar", NULL, NULL, 0, &block, &error);
    own_block = block;
    OpgridDefinition definition = {.struct_size = sizeof definition, .schema = "first(Tensor self) -> Tensor"};
    OpgridKernel kernel = {.struct_size = sizeof kernel, .key = "CPU", .kernel = no_error};
    if (!status) status = api->define(block, &definition, &error);
    if (!status) status = api->implement(block, "first", &kernel, &error);
    if (status) goto failed;
    switch (CASE) {
    case 1:
        api->library_fail(library, new_error("halfway: the entry gave up"));
        return OPGRID_ERROR_KERNEL;
    case 2:
        return 7;
    case 3:
        kernel.kernel = NULL;
        status = api->implement(block, "first", &kernel, &error);
        break;
    case 4:
        kernel.struct_size = 8;
        status = api->implement(block, "first", &kernel, &error);
        break;
    case 5: /* Twice the same: the registry refuses it when everything is registered. */
        return api->define(block, &definition, &error);
    case 6:
        definition.schema = "no schema";
        return api->define(block, &definition, &error);
    case 7:
        status = api->define((OpgridBlock *)((char *)block + 5), &definition, &error);
        break;
    case 8:
        status = api->block_open(library, 9, "liar", NULL, NULL, 0, &block, &error);
        break;
    case 9:
        kernel.key = "\xff";
        status = api->implement(block, "first", &kernel, &error);
        break;
    case 10:
        kernel.key = "NoSuchKey";
        status = api->implement(block, "first", &kernel, &error);
        break;
    case 11:
        kernel.flags = OPGRID_KERNEL_FALLTHROUGH;
        status = api->implement(block, "first", &kernel, &error);
        break;
    case 20:
        kernel.key = "CompositeExplicitAutograd";
        for (size_t i = 0; i < sizeof operators / sizeof *operators && !status; ++i) {
            definition.schema = operators[i].schema;
            kernel.kernel = operators[i].kernel;
            status = api->define(block, &definition, &error);
            if (!status) status = api->implement(block, operators[i].name, &kernel, &error);
        }
        break;
    }
failed:
    if (status) api->library_fail(library, error);
    (void)own_library;
    return status;
}
#endif
