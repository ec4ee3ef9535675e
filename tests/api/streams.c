/* Streams, page-locked memory and copies that return at once, on the backend that the argument names: two
 * streams work side by side on their own memory, several rounds of copy in, compute, copy out each. */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "ckitchen.h"

enum { STREAMS = 2, ROUNDS = 3, ROWS = 5, COLUMNS = 64, COUNT = ROWS * COLUMNS };

typedef struct {
    void* stream;
    float* in;
    float* out;
    void* x;
    void* y;
} lane;

static void open_lane(ck_context* context, lane* l) {
    void* host = NULL;
    CHECK_STATUS(ck_stream_create(context, &l->stream), CK_OK, "", "ck_stream_create");
    CHECK_STATUS(ck_host_malloc(context, COUNT * sizeof(float), &host), CK_OK, "", "ck_host_malloc");
    CHECK(host != NULL && (uintptr_t)host % 256 == 0);
    l->in = host;
    CHECK_STATUS(ck_host_malloc(context, COUNT * sizeof(float), &host), CK_OK, "", "ck_host_malloc");
    l->out = host;
    CHECK_STATUS(ck_malloc(context, COUNT * sizeof(float), &l->x), CK_OK, "", "ck_malloc");
    CHECK_STATUS(ck_malloc(context, COUNT * sizeof(float), &l->y), CK_OK, "", "ck_malloc");
}

static void close_lane(ck_context* context, lane* l) {
    CHECK_STATUS(ck_stream_destroy(context, l->stream), CK_OK, "", "ck_stream_destroy");
    CHECK_STATUS(ck_host_free(context, l->in), CK_OK, "", "ck_host_free");
    CHECK_STATUS(ck_host_free(context, l->out), CK_OK, "", "ck_host_free");
    CHECK_STATUS(ck_free(context, l->x), CK_OK, "", "ck_free");
    CHECK_STATUS(ck_free(context, l->y), CK_OK, "", "ck_free");
}

/* Small whole numbers, whose rotation by groups of 4 is exact. */
static float value(int index, int round, int i) {
    return (float)((i * 7 + index * 3 + round * 5) % 32 - 16);
}

static void submit(ck_context* context, lane* l, int index, int round) {
    ck_rotate_args rotate = CK_INIT(ck_rotate_args);
    int i;
    for (i = 0; i < COUNT; ++i) {
        l->in[i] = value(index, round, i);
        l->out[i] = -1;
    }
    CHECK_STATUS(
        ck_copy_async(context, l->x, l->in, COUNT * sizeof(float), CK_COPY_HOST_TO_DEVICE, l->stream), CK_OK,
        "", "in");
    rotate.dtype = CK_F32;
    rotate.rows = ROWS;
    rotate.k = COLUMNS;
    rotate.group = 4;
    rotate.x = l->x;
    rotate.y = l->y;
    CHECK_STATUS(ck_rotate(context, &rotate, l->stream), CK_OK, "", "ck_rotate");
    CHECK_STATUS(
        ck_copy_async(context, l->x, l->y, COUNT * sizeof(float), CK_COPY_DEVICE_TO_DEVICE, l->stream), CK_OK,
        "", "across");
    CHECK_STATUS(
        ck_copy_async(context, l->out, l->x, COUNT * sizeof(float), CK_COPY_DEVICE_TO_HOST, l->stream), CK_OK,
        "", "out");
}

static void check_lane(const lane* l, int index, int round) {
    int i;
    int wrong = 0;
    for (i = 0; i < COUNT; i += 4) {
        const float a = value(index, round, i);
        const float b = value(index, round, i + 1);
        const float c = value(index, round, i + 2);
        const float e = value(index, round, i + 3);
        wrong += l->out[i] != (a + b + c - e) / 2 || l->out[i + 1] != (a + b - c + e) / 2 ||
                 l->out[i + 2] != (a - b + c + e) / 2 || l->out[i + 3] != (b - a + c + e) / 2;
    }
    CHECK(wrong == 0);
}

static void check_misuse(ck_context* context) {
    char bytes[16] = {0};
    void* pointer = &pointer;
    CHECK_STATUS(ck_host_malloc(context, 0, &pointer), CK_OK, "", "0 bytes");
    CHECK(pointer == NULL);
    CHECK_STATUS(ck_host_free(context, NULL), CK_OK, "", "NULL");
    CHECK_STATUS(ck_stream_destroy(context, NULL), CK_OK, "", "NULL");
    CHECK_STATUS(ck_host_malloc(NULL, 1, &pointer), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_host_malloc(context, 1, NULL), CK_ERROR_INVALID_ARGUMENT, "pointer", "NULL");
    CHECK_STATUS(ck_host_free(NULL, NULL), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_stream_create(NULL, &pointer), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_stream_create(context, NULL), CK_ERROR_INVALID_ARGUMENT, "stream", "NULL");
    CHECK_STATUS(ck_stream_destroy(NULL, NULL), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    pointer = &pointer;
    CHECK_STATUS(ck_host_malloc(context, UINT64_MAX / 2, &pointer), CK_ERROR_OUT_OF_MEMORY, "", "2^63-1");
    CHECK(pointer == NULL);
    CHECK_STATUS(ck_copy_async(NULL, bytes, bytes, 1, CK_COPY_HOST_TO_DEVICE, NULL),
                 CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_copy_async(context, NULL, bytes, 1, CK_COPY_HOST_TO_DEVICE, NULL),
                 CK_ERROR_INVALID_ARGUMENT, "destination", "NULL");
    CHECK_STATUS(ck_copy_async(context, bytes, NULL, 1, CK_COPY_DEVICE_TO_HOST, NULL),
                 CK_ERROR_INVALID_ARGUMENT, "source", "NULL");
    CHECK_STATUS(ck_copy_async(context, bytes, bytes + 8, 9, CK_COPY_DEVICE_TO_DEVICE, NULL),
                 CK_ERROR_INVALID_ARGUMENT, "overlap", "overlap");
    CHECK_STATUS(ck_copy_async(context, bytes, bytes + 8, 8, 0, NULL), CK_ERROR_INVALID_ARGUMENT, "kind is 0",
                 "kind");
    CHECK_STATUS(ck_copy_async(context, NULL, NULL, 0, CK_COPY_HOST_TO_DEVICE, NULL), CK_OK, "", "0 bytes");
}

int main(int argc, char** argv) {
    ck_context_options options = CK_INIT(ck_context_options);
    ck_context* context = NULL;
    lane lanes[STREAMS];
    int i;
    int round;
    if (argc != 2) {
        fprintf(stderr, "usage: %s cpu|hip|cuda\n", argv[0]);
        return 2;
    }
    options.backend = strcmp(argv[1], "hip") == 0    ? CK_BACKEND_HIP
                      : strcmp(argv[1], "cuda") == 0 ? CK_BACKEND_CUDA
                                                     : CK_BACKEND_CPU;
    CHECK_STATUS(ck_context_create(&options, &context), CK_OK, "", argv[1]);
    if (!context) return check_result("streams");
    check_misuse(context);
    for (i = 0; i < STREAMS; ++i) open_lane(context, &lanes[i]);
    CHECK(options.backend == CK_BACKEND_CPU ? lanes[0].stream == NULL && lanes[1].stream == NULL
                                            : lanes[0].stream != lanes[1].stream && lanes[0].stream);
    for (round = 0; round < ROUNDS; ++round) {
        for (i = 0; i < STREAMS; ++i) submit(context, &lanes[i], i, round);
        for (i = 0; i < STREAMS; ++i) {
            CHECK_STATUS(ck_synchronize(context, lanes[i].stream), CK_OK, "", "ck_synchronize");
            check_lane(&lanes[i], i, round);
        }
    }
    for (i = 0; i < STREAMS; ++i) close_lane(context, &lanes[i]);
    ck_context_destroy(context);
    return check_result("streams");
}
