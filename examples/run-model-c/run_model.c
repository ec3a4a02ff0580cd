/* Runs an exported model of one float32 input on numbers from the standard input. The first size of the input may vary.
 *
 *     cargo build --release -p opgrid-c
 *     cc -I python/opgrid/include -o run_model examples/run-model-c/run_model.c -L target/release -lopgrid_c
 *     echo 1 2 3 4 5 6 7 8 | LD_LIBRARY_PATH=target/release ./run_model crates/opgrid-graph/tests/models/mlp.pt2
 */
#include <stdio.h>
#include <stdlib.h>

#include "opgrid.h"

static const OpgridApi *api;
static OpgridError *error;

/* Ends the program where a call has failed. */
static void check(int32_t status) {
    if (status == OPGRID_OK) return;
    const OpgridText message = api->error_message(error);
    fprintf(stderr, "run_model: %.*s\n", (int)message.size, message.data);
    exit(1);
}

int main(int count, char **arguments) {
    OpgridLibrary *library;
    OpgridProgram *program;
    OpgridProgramValue input = {.struct_size = sizeof input};
    check(opgrid_open(&api, &library, &error));
    check(api->program_load(library, count > 1 ? arguments[1] : "model.pt2", 0, &program, &error));
    check(api->program_input(program, 0, &input, &error));
    printf("%.*s: %.*s\n", (int)input.name.size, input.name.data, (int)input.type_text.size, input.type_text.data);
    if (input.dtype != OPGRID_DTYPE_FLOAT32 || input.dims < 1 || input.dims > 8) {
        fputs("run_model: expected an input of float32 with 1 to 8 dimensions\n", stderr);
        return 1;
    }

    float *numbers = NULL;
    size_t read = 0, room = 0;
    for (float number; scanf("%f", &number) == 1; numbers[read++] = number)
        if (read == room && !(numbers = realloc(numbers, (room = 2 * room + 64) * sizeof *numbers))) abort();

    int64_t sizes[8], row = 1;
    for (size_t dim = 1; dim < input.dims; ++dim) row *= sizes[dim] = input.min_sizes[dim];
    sizes[0] = row ? (int64_t)read / row : 0;
    OpgridTensor *x;
    const OpgridDevice cpu = {0, -1};
    check(api->tensor_from_memory(numbers, read * sizeof *numbers, input.dims, sizes, NULL, OPGRID_DTYPE_FLOAT32, cpu,
                                  numbers, free, &x, &error));

    OpgridValue given = {.tag = OPGRID_TENSOR, .payload.tensor = x}, results[8], text, view;
    size_t found;
    check(api->program_run(program, &given, 1, results, 8, &found, &error));
    for (size_t i = 0; i < found; ++i) {
        check(api->value_text(&results[i], &text, &error));
        check(api->value_view(&text, &view, &error));
        printf("%.*s\n", (int)view.size, view.payload.text);
        api->value_release(&text);
        api->value_release(&results[i]);
    }
    api->tensor_release(x);
    api->program_release(program);
    return 0;
}
