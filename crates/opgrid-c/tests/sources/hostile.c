/* Calls the functions of programs as they must not be called, and from several threads. Prints what is wrong, and `done`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opgrid.h"

static const OpgridApi *api;
static OpgridLibrary *library;
static int mistakes;

/* Expects an error of that kind whose message has that part. */
#define REFUSED(call, kind, part)                        \
    do {                                                 \
        error = NULL;                                    \
        const int32_t status = (call);                   \
        refused(__LINE__, status, kind, part, error);    \
    } while (0)
#define EXPECT(condition) ((condition) ? (void)0 : wrong(__LINE__, #condition))

static OpgridError *error;

static void wrong(int line, const char *what) {
    printf("line %d: %s\n", line, what);
    ++mistakes;
}

static void refused(int line, int32_t status, int32_t kind, const char *part, OpgridError *found) {
    char message[1024];
    const OpgridText text = api->error_message(found);
    snprintf(message, sizeof message, "%.*s", (int)text.size, text.data ? text.data : "");
    if (status != kind || !strstr(message, part)) {
        printf("line %d: status %d and `%s`, expected %d and `%s`\n", line, status, message, kind, part);
        ++mistakes;
    }
    api->error_release(found);
}

static OpgridTensor *zeros(int64_t rows, int64_t columns) {
    const int64_t sizes[] = {rows, columns};
    OpgridTensor *made = NULL;
    EXPECT(api->tensor_make(library, 2, sizes, NULL, OPGRID_DTYPE_FLOAT32, (OpgridDevice){0, -1}, &made, NULL) == 0);
    return made;
}

struct work {
    OpgridProgram *program;
    OpgridTensor *input;
    int failures;
};

static void *run_often(void *context) {
    struct work *work = context;
    const OpgridValue given = {.tag = OPGRID_TENSOR, .payload.tensor = work->input};
    for (int i = 0; i < 200; ++i) {
        OpgridValue result;
        size_t count = 0;
        if (api->program_run(work->program, &given, 1, &result, 1, &count, NULL)) {
            ++work->failures;
            continue;
        }
        OpgridTensorInfo info = {.struct_size = sizeof info};
        if (count != 1 || result.tag != OPGRID_TENSOR || api->tensor_info(result.payload.tensor, &info, NULL) ||
            info.dims != 2 || info.sizes[1] != 4)
            ++work->failures;
        api->value_release(&result);
    }
    return NULL;
}

/* Runs until the program is given back. */
static void *run_until_gone(void *context) {
    struct work *work = context;
    const OpgridValue given = {.tag = OPGRID_TENSOR, .payload.tensor = work->input};
    for (;;) {
        OpgridValue result;
        size_t count = 0;
        const int32_t status = api->program_run(work->program, &given, 1, &result, 1, &count, NULL);
        if (status) {
            work->failures = status != OPGRID_ERROR_STALE;
            return NULL;
        }
        api->value_release(&result);
    }
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) return 2;
    const char *model = arguments[1], *broken = arguments[2];

    /* Opening: nowhere to write to, and twice. */
    EXPECT(opgrid_open(NULL, &library, NULL) == OPGRID_ERROR_VALUE);
    EXPECT(opgrid_open(&api, NULL, NULL) == OPGRID_ERROR_VALUE);
    EXPECT(api->abi_major == OPGRID_ABI_MAJOR && api->struct_size >= sizeof *api);
    OpgridLibrary *other = NULL;
    EXPECT(opgrid_open(&api, &library, &error) == OPGRID_OK && opgrid_open(&api, &other, &error) == OPGRID_OK);
    OpgridBlock *block = NULL;
    REFUSED(api->block_open(library, OPGRID_BLOCK_FRAGMENT, "mine", NULL, NULL, 0, &block, &error),
            OPGRID_ERROR_REGISTRATION, "nothing more can be registered");

    /* Loading. */
    OpgridProgram *program = NULL;
    REFUSED(api->program_load(library, NULL, 0, &program, &error), OPGRID_ERROR_VALUE, "the path of a program is null");
    REFUSED(api->program_load(library, "\xff.pt2", 0, &program, &error), OPGRID_ERROR_VALUE, "not UTF-8");
    REFUSED(api->program_load(NULL, model, 0, &program, &error), OPGRID_ERROR_STALE, "no longer exists");
    REFUSED(api->program_load(library, model, 6, &program, &error), OPGRID_ERROR_VALUE, "flags of a program are 6");
    REFUSED(api->program_load(library, model, 0, NULL, &error), OPGRID_ERROR_VALUE, "the address for the result");
    REFUSED(api->program_load(library, "no/such.pt2", 0, &program, &error), OPGRID_ERROR_FILE, "no/such.pt2");
    REFUSED(api->program_load(library, broken, 0, &program, &error), OPGRID_ERROR_FILE, "expected a zip");
    REFUSED(api->program_load(library, broken, OPGRID_PROGRAM_MAP, &program, &error), OPGRID_ERROR_FILE, "expected a zip");
    EXPECT(program == NULL);
    EXPECT(api->program_load(library, broken, 0, &program, NULL) == OPGRID_ERROR_FILE);
    EXPECT(api->program_load(library, model, 0, &program, &error) == OPGRID_OK);

    /* What a program is like. */
    OpgridProgramValue about = {.struct_size = sizeof about};
    EXPECT(api->program_input_count(program) == 1 && api->program_result_count(program) == 1);
    EXPECT(api->program_input(program, 0, &about, &error) == OPGRID_OK);
    EXPECT(about.tag == OPGRID_TENSOR && about.dtype == OPGRID_DTYPE_FLOAT32 && about.dims == 2);
    EXPECT(about.min_sizes[0] == 1 && about.max_sizes[0] == 64 && about.min_sizes[1] == 8 && about.max_sizes[1] == 8);
    EXPECT(about.name.size == 5 && !memcmp(about.name.data, "input", 5));
    EXPECT(api->program_result(program, 0, &about, &error) == OPGRID_OK && about.max_sizes[1] == 4);
    REFUSED(api->program_input(program, 1, &about, &error), OPGRID_ERROR_INDEX, "has 1 inputs, found index 1");
    REFUSED(api->program_result(program, SIZE_MAX, &about, &error), OPGRID_ERROR_INDEX, "has 1 results");
    REFUSED(api->program_input(program, 0, NULL, &error), OPGRID_ERROR_VALUE, "OpgridProgramValue is");
    about.struct_size = 8;
    REFUSED(api->program_input(program, 0, &about, &error), OPGRID_ERROR_VALUE, "says that it has 8 bytes");
    EXPECT(api->program_input_count(NULL) == 0 && api->program_result_count((OpgridProgram *)999) == 0);

    /* Running. */
    OpgridTensor *x = zeros(3, 8), *wide = zeros(3, 9), *high = zeros(65, 8);
    OpgridValue given = {.tag = OPGRID_TENSOR, .payload.tensor = x}, result = {.tag = OPGRID_NONE};
    const OpgridValue two[] = {given, given};
    size_t count = 7;
    REFUSED(api->program_run(NULL, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_VALUE, "a program is null");
    REFUSED(api->program_run((OpgridProgram *)999, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_STALE, "load it again");
    REFUSED(api->program_run(program, NULL, 0, &result, 1, &count, &error), OPGRID_ERROR_ARGUMENT, "found 0 inputs, expected 1: `input`");
    REFUSED(api->program_run(program, NULL, 1, &result, 1, &count, &error), OPGRID_ERROR_VALUE, "found 1 elements at");
    REFUSED(api->program_run(program, two, 2, &result, 1, &count, &error), OPGRID_ERROR_ARGUMENT, "found 2 inputs, expected 1");
    REFUSED(api->program_run(program, &given, 1, NULL, 1, &count, &error), OPGRID_ERROR_VALUE, "pass a larger one");
    REFUSED(api->program_run(program, &given, 1, &result, 0, &count, &error), OPGRID_ERROR_VALUE, "1 results, found a buffer for 0");
    REFUSED(api->program_run(program, &given, 1, &result, 1, NULL, &error), OPGRID_ERROR_VALUE, "the address for the result");
    given.payload.tensor = NULL;
    REFUSED(api->program_run(program, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_VALUE, "a tensor is null");
    given.payload.tensor = wide;
    REFUSED(api->program_run(program, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_ARGUMENT, "dimension 1 is 9, expected 8");
    given.payload.tensor = high;
    REFUSED(api->program_run(program, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_ARGUMENT, "found 65 for the size");
    given = (OpgridValue){.tag = OPGRID_INT, .payload.int_value = 3};
    REFUSED(api->program_run(program, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_ARGUMENT, "found a value of type int");
    given.tag = 99;
    REFUSED(api->program_run(program, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_VALUE, "a value has tag 99");
    EXPECT(count == 0 && result.tag == OPGRID_NONE);

    /* Two threads and more on one program. */
    pthread_t threads[4];
    struct work work[4];
    for (int i = 0; i < 4; ++i) {
        work[i] = (struct work){program, x, 0};
        EXPECT(pthread_create(&threads[i], NULL, run_often, &work[i]) == 0);
    }
    for (int i = 0; i < 4; ++i) {
        EXPECT(pthread_join(threads[i], NULL) == 0 && work[i].failures == 0);
    }

    /* A program that is given back while others run it, and twice. */
    OpgridProgram *mapped = NULL;
    EXPECT(api->program_load(library, model, OPGRID_PROGRAM_MAP, &mapped, &error) == OPGRID_OK);
    EXPECT(mapped != program);
    for (int i = 0; i < 4; ++i) {
        work[i] = (struct work){mapped, x, 0};
        EXPECT(pthread_create(&threads[i], NULL, run_until_gone, &work[i]) == 0);
    }
    api->program_release(mapped);
    for (int i = 0; i < 4; ++i) {
        EXPECT(pthread_join(threads[i], NULL) == 0 && work[i].failures == 0);
    }
    api->program_release(mapped);
    api->program_release(NULL);
    REFUSED(api->program_input(mapped, 0, &about, &error), OPGRID_ERROR_STALE, "given back");
    given = (OpgridValue){.tag = OPGRID_TENSOR, .payload.tensor = x};
    REFUSED(api->program_run(mapped, &given, 1, &result, 1, &count, &error), OPGRID_ERROR_STALE, "load it again");
    EXPECT(api->program_run(program, &given, 1, &result, 1, &count, &error) == OPGRID_OK && count == 1);

    /* A result outlives the program that gave it. */
    api->program_release(program);
    OpgridTensorInfo info = {.struct_size = sizeof info};
    EXPECT(api->tensor_info(result.payload.tensor, &info, &error) == OPGRID_OK && info.numel == 12);
    api->value_release(&result);
    api->tensor_release(x);
    api->tensor_release(wide);
    api->tensor_release(high);
    puts("done");
    return mistakes != 0;
}
