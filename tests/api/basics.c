/* Everything of the API that is not an operator: versions, statuses, devices, contexts, memory, queries, the
 * log, threads. */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "ckitchen.h"

static ck_context* make_context(void) {
    ck_context_options options = CK_INIT(ck_context_options);
    ck_context* context = NULL;
    options.backend = CK_BACKEND_CPU;
    CHECK_STATUS(ck_context_create(&options, &context), CK_OK, "", "ck_context_create");
    return context;
}

/* c [2,2] = a [2,4] * b [2,4]^T as int32. */
static const int8_t gemm_a[8] = {1, 2, 3, 4, -1, -2, -3, -128};
static const int8_t gemm_b[8] = {1, 1, 1, 1, 127, 0, 0, -128};
static const int32_t gemm_c[4] = {10, -385, -134, 16257};

static ck_int8_gemm_args gemm_args(int32_t* c) {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_I32;
    args.m = args.n = 2;
    args.k = 4;
    args.a = gemm_a;
    args.b = gemm_b;
    args.c = c;
    return args;
}

static void check_texts(void) {
    static const struct {
        ck_status status;
        const char* name;
    } names[] = {{CK_OK, "CK_OK"},
                 {CK_ERROR_INVALID_ARGUMENT, "CK_ERROR_INVALID_ARGUMENT"},
                 {CK_ERROR_VERSION_MISMATCH, "CK_ERROR_VERSION_MISMATCH"},
                 {CK_ERROR_UNSUPPORTED_PROBLEM, "CK_ERROR_UNSUPPORTED_PROBLEM"},
                 {CK_ERROR_WORKSPACE_TOO_SMALL, "CK_ERROR_WORKSPACE_TOO_SMALL"},
                 {CK_ERROR_INVALID_CONFIGURATION, "CK_ERROR_INVALID_CONFIGURATION"},
                 {CK_ERROR_OP_DISABLED, "CK_ERROR_OP_DISABLED"},
                 {CK_ERROR_NO_RUNTIME, "CK_ERROR_NO_RUNTIME"},
                 {CK_ERROR_NO_DEVICE, "CK_ERROR_NO_DEVICE"},
                 {CK_ERROR_UNSUPPORTED_ARCH, "CK_ERROR_UNSUPPORTED_ARCH"},
                 {CK_ERROR_OUT_OF_MEMORY, "CK_ERROR_OUT_OF_MEMORY"},
                 {CK_ERROR_DRIVER, "CK_ERROR_DRIVER"},
                 {CK_ERROR_DEVICE_LOST, "CK_ERROR_DEVICE_LOST"},
                 {CK_ERROR_NOT_PREPARED, "CK_ERROR_NOT_PREPARED"},
                 {CK_ERROR_FORKED, "CK_ERROR_FORKED"},
                 {CK_ERROR_INTERNAL, "CK_ERROR_INTERNAL"},
                 {1, "CK_ERROR_UNKNOWN"},
                 {-1, "CK_ERROR_UNKNOWN"},
                 {INT_MAX, "CK_ERROR_UNKNOWN"}};
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        CHECK_FOR(strcmp(ck_status_string(names[i].status), names[i].name) == 0, names[i].name);
    CHECK(ck_version() == CK_VERSION);
    CHECK(strcmp(ck_last_error(), "") == 0);
    CHECK(strcmp(ck_last_variant(), "") == 0);
    CHECK(ck_builtin_targets() != NULL);
    CHECK(ck_w4a8_default_codebook() != NULL);
    for (i = 1; i < 16; ++i) CHECK(ck_w4a8_default_codebook()[i - 1] < ck_w4a8_default_codebook()[i]);
    CHECK(ck_w4a8_default_codebook()[0] == -0.980602f && ck_w4a8_default_codebook()[15] == 0.980671f);
}

static void check_devices(void) {
    static const ck_backend backends[] = {CK_BACKEND_AUTO, CK_BACKEND_CPU, CK_BACKEND_HIP, CK_BACKEND_CUDA};
    int32_t counts[4] = {-1, -1, -1, -1};
    ck_device_properties info = CK_INIT(ck_device_properties);
    int i;
    for (i = 0; i < 4; ++i) {
        int32_t ordinal;
        CHECK_STATUS(ck_device_count(backends[i], &counts[i]), CK_OK, "", "ck_device_count");
        CHECK(counts[i] >= 0);
        for (ordinal = 0; ordinal < counts[i]; ++ordinal) {
            CHECK_STATUS(ck_device_info(backends[i], ordinal, &info), CK_OK, "", "ck_device_info");
            CHECK(info.struct_size == sizeof(info));
            CHECK(backends[i] == CK_BACKEND_AUTO || info.backend == backends[i]);
            CHECK((info.usable == CK_OK) == (info.unusable_reason[0] == 0));
        }
        CHECK_STATUS(ck_device_info(backends[i], counts[i], &info), CK_ERROR_NO_DEVICE, "ordinal",
                     "one too far");
        CHECK_STATUS(ck_device_info(backends[i], -1, &info), CK_ERROR_INVALID_ARGUMENT, "ordinal", "-1");
        CHECK_STATUS(ck_device_info(backends[i], 0, NULL), CK_ERROR_INVALID_ARGUMENT, "info", "NULL");
    }
    CHECK(counts[1] == 1);
    CHECK(counts[0] == counts[1] + counts[2] + counts[3]);
    CHECK_STATUS(ck_device_count(-1, &counts[0]), CK_ERROR_INVALID_ARGUMENT, "backend", "-1");
    CHECK_STATUS(ck_device_count(4, &counts[0]), CK_ERROR_INVALID_ARGUMENT, "backend is 4", "4");
    CHECK_STATUS(ck_device_count(CK_BACKEND_CPU, NULL), CK_ERROR_INVALID_ARGUMENT, "count", "NULL");
    CHECK_STATUS(ck_device_info(99, 0, &info), CK_ERROR_INVALID_ARGUMENT, "backend", "99");

    CHECK_STATUS(ck_device_info(CK_BACKEND_CPU, 0, &info), CK_OK, "", "cpu");
    CHECK(info.usable == CK_OK && info.compute_units >= 1 && info.name[0] != 0 && info.arch[0] != 0);
    CHECK(info.shared_memory_bytes == 0 && info.memory_bytes > 0 && info.ordinal == 0);

    /* An output struct of another version: its size is kept, what is unknown is zeroed, nothing behind it is
     * touched. */
    {
        unsigned char larger[sizeof(info) + 64];
        ck_device_properties* view = (ck_device_properties*)(void*)larger;
        size_t at;
        memset(larger, 0xa5, sizeof(larger));
        view->struct_size = sizeof(info) + 32;
        CHECK_STATUS(ck_device_info(CK_BACKEND_CPU, 0, view), CK_OK, "", "a larger struct");
        CHECK(view->struct_size == sizeof(info) + 32);
        for (at = sizeof(info); at < sizeof(larger); ++at)
            CHECK(larger[at] == (at < sizeof(info) + 32 ? 0 : 0xa5));
        memset(larger, 0xa5, sizeof(larger));
        view->struct_size = 16;
        CHECK_STATUS(ck_device_info(CK_BACKEND_CPU, 0, view), CK_ERROR_VERSION_MISMATCH, "struct_size",
                     "too small");
        for (at = 4; at < sizeof(larger); ++at) CHECK(larger[at] == 0xa5);
    }
}

static void check_context_options(void) {
    ck_context* context = (ck_context*)&context;
    ck_context_options options = CK_INIT(ck_context_options);
    ck_device_properties info = CK_INIT(ck_device_properties);
    unsigned char larger[sizeof(options) + 16];

    CHECK_STATUS(ck_context_create(&options, NULL), CK_ERROR_INVALID_ARGUMENT, "context", "context NULL");

#define REFUSED(field, value, status, text)                                      \
    do {                                                                         \
        ck_context_options wrong = CK_INIT(ck_context_options);                  \
        wrong.backend = CK_BACKEND_CPU;                                          \
        wrong.field = (value);                                                   \
        context = (ck_context*)&context;                                         \
        CHECK_STATUS(ck_context_create(&wrong, &context), status, text, #field); \
        CHECK_FOR(context == NULL, #field);                                      \
    } while (0)
    REFUSED(backend, -1, CK_ERROR_INVALID_ARGUMENT, "backend is -1");
    REFUSED(backend, 4, CK_ERROR_INVALID_ARGUMENT, "backend is 4");
    REFUSED(ordinal, -1, CK_ERROR_INVALID_ARGUMENT, "ordinal is -1");
    REFUSED(ordinal, 1, CK_ERROR_NO_DEVICE, "ordinal is 1");
    REFUSED(threads, -1, CK_ERROR_INVALID_ARGUMENT, "threads is -1");
    REFUSED(threads, 1025, CK_ERROR_INVALID_ARGUMENT, "1024");
    REFUSED(flags, 2, CK_ERROR_INVALID_ARGUMENT, "flags");
    REFUSED(reserved0, 1, CK_ERROR_INVALID_ARGUMENT, "reserved0");
    REFUSED(disable, "int8_gemm,fish", CK_ERROR_INVALID_CONFIGURATION, "fish");
    REFUSED(struct_size, 0, CK_ERROR_VERSION_MISMATCH, "struct_size");
    REFUSED(struct_size, 8, CK_ERROR_VERSION_MISMATCH, "struct_size is 8");
    options.ordinal = 1; /* backend auto */
    CHECK_STATUS(ck_context_create(&options, &context), CK_ERROR_INVALID_ARGUMENT, "ordinal",
                 "auto, ordinal 1");

    memset(larger, 0, sizeof(larger));
    options = (ck_context_options)CK_INIT(ck_context_options);
    options.backend = CK_BACKEND_CPU;
    memcpy(larger, &options, sizeof(options));
    ((ck_context_options*)(void*)larger)->struct_size = sizeof(larger);
    CHECK_STATUS(ck_context_create((ck_context_options*)(void*)larger, &context), CK_OK, "",
                 "a larger struct");
    ck_context_destroy(context);
    larger[sizeof(larger) - 1] = 1;
    CHECK_STATUS(ck_context_create((ck_context_options*)(void*)larger, &context), CK_ERROR_VERSION_MISMATCH,
                 "options", "a nonzero byte beyond the known struct");

    ck_context_destroy(NULL);
    context = make_context();
    CHECK_STATUS(ck_context_info(context, &info), CK_OK, "", "ck_context_info");
    CHECK(info.backend == CK_BACKEND_CPU && info.ordinal == 0);
    CHECK_STATUS(ck_context_info(NULL, &info), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_context_info(context, NULL), CK_ERROR_INVALID_ARGUMENT, "info", "NULL");
    ck_context_destroy(context);

    /* One operator switched off; the others work. The texts are copied. */
    {
        char names[] = "rotate,na3d";
        int32_t c[4];
        float x[4] = {1, 2, 3, 4};
        float y[4] = {9, 9, 9, 9};
        ck_rotate_args rotate = CK_INIT(ck_rotate_args);
        ck_support_info support = CK_INIT(ck_support_info);
        ck_int8_gemm_args gemm = gemm_args(c);
        options.disable = names;
        CHECK_STATUS(ck_context_create(&options, &context), CK_OK, "", "disable");
        memset(names, 'x', sizeof(names) - 1);
        rotate.dtype = CK_F32;
        rotate.rows = 1;
        rotate.k = rotate.group = 4;
        rotate.x = x;
        rotate.y = y;
        CHECK_STATUS(ck_rotate(context, &rotate, NULL), CK_ERROR_OP_DISABLED, "rotate", "disabled");
        CHECK(y[0] == 9 && y[3] == 9);
        CHECK_STATUS(ck_rotate_supported(context, &rotate, &support), CK_OK, "", "disabled, asked");
        CHECK(support.status == CK_ERROR_OP_DISABLED && support.reason[0] != 0 && support.variant[0] == 0);
        CHECK_STATUS(ck_int8_gemm(context, &gemm, NULL), CK_OK, "", "not disabled");
        CHECK(memcmp(c, gemm_c, sizeof(c)) == 0);
        ck_context_destroy(context);
    }
    /* What is switched off is refused to clients, not to the operators that are made of it. */
    {
        static const int8_t w[4] = {1, 0, 0, 1};
        static const float scale[1] = {1};
        float x[4] = {127, 1, 2, 127};
        float y[2] = {0};
        int8_t q[4];
        float row_scale[1];
        char workspace[4096];
        ck_int8_linear_args linear = CK_INIT(ck_int8_linear_args);
        ck_int8_quantize_args quantize = CK_INIT(ck_int8_quantize_args);
        options.disable = "int8_quantize,int8_gemm";
        CHECK_STATUS(ck_context_create(&options, &context), CK_OK, "", "disable");
        quantize.dtype = CK_F32;
        quantize.rows = 1;
        quantize.k = 4;
        quantize.x = x;
        quantize.q = q;
        quantize.scale = row_scale;
        CHECK_STATUS(ck_int8_quantize(context, &quantize, NULL), CK_ERROR_OP_DISABLED, "int8_quantize",
                     "disabled");
        linear.x_dtype = linear.out_dtype = CK_F32;
        linear.m = linear.n = 1;
        linear.k = 4;
        linear.x = x;
        linear.w = w;
        linear.w_scale = scale;
        linear.y = y;
        linear.workspace = workspace;
        linear.workspace_size = sizeof(workspace);
        CHECK_STATUS(ck_int8_linear(context, &linear, NULL), CK_OK, "", "made of disabled operators");
        CHECK(y[0] == 254);
        ck_context_destroy(context);
    }
    /* Options NULL means all defaults. */
    CHECK_STATUS(ck_context_create(NULL, &context), CK_OK, "", "options NULL");
    ck_context_destroy(context);
}

static void check_memory(ck_context* context) {
    unsigned char bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    unsigned char back[16] = {0};
    void* pointer = &pointer;
    void* other = NULL;
    int i;
    CHECK_STATUS(ck_malloc(context, 0, &pointer), CK_OK, "", "0 bytes");
    CHECK(pointer == NULL);
    CHECK_STATUS(ck_free(context, NULL), CK_OK, "", "ck_free NULL");
    for (i = 1; i <= 4096; i *= 8) {
        CHECK_STATUS(ck_malloc(context, (uint64_t)i, &pointer), CK_OK, "", "ck_malloc");
        CHECK(pointer != NULL && (uintptr_t)pointer % 256 == 0);
        CHECK_STATUS(ck_free(context, pointer), CK_OK, "", "ck_free");
    }
    pointer = &pointer;
    CHECK_STATUS(ck_malloc(context, UINT64_MAX, &pointer), CK_ERROR_OUT_OF_MEMORY, "18446744073709551615",
                 "2^64-1");
    CHECK(pointer == NULL);
    CHECK_STATUS(ck_malloc(context, UINT64_MAX / 2, &pointer), CK_ERROR_OUT_OF_MEMORY, "bytes", "2^63-1");
    CHECK_STATUS(ck_malloc(NULL, 16, &pointer), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_malloc(context, 16, NULL), CK_ERROR_INVALID_ARGUMENT, "pointer", "NULL");
    CHECK_STATUS(ck_free(NULL, NULL), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");

    CHECK_STATUS(ck_malloc(context, 64, &pointer), CK_OK, "", "ck_malloc");
    CHECK_STATUS(ck_malloc(context, 64, &other), CK_OK, "", "ck_malloc");
    CHECK_STATUS(ck_copy(context, (char*)pointer + 1, bytes, 16, CK_COPY_HOST_TO_DEVICE, NULL), CK_OK, "",
                 "in");
    CHECK_STATUS(ck_copy(context, (char*)other + 3, (char*)pointer + 1, 16, CK_COPY_DEVICE_TO_DEVICE, NULL),
                 CK_OK, "", "across");
    CHECK_STATUS(ck_copy(context, back, (char*)other + 3, 16, CK_COPY_DEVICE_TO_HOST, NULL), CK_OK, "",
                 "out");
    CHECK(memcmp(bytes, back, 16) == 0);
    CHECK_STATUS(ck_copy(NULL, pointer, bytes, 16, CK_COPY_HOST_TO_DEVICE, NULL), CK_ERROR_INVALID_ARGUMENT,
                 "context", "NULL");
    CHECK_STATUS(ck_copy(context, NULL, bytes, 16, CK_COPY_HOST_TO_DEVICE, NULL), CK_ERROR_INVALID_ARGUMENT,
                 "destination", "NULL");
    CHECK_STATUS(ck_copy(context, pointer, NULL, 16, CK_COPY_HOST_TO_DEVICE, NULL), CK_ERROR_INVALID_ARGUMENT,
                 "source", "NULL");
    CHECK_STATUS(ck_copy(context, NULL, NULL, 0, CK_COPY_HOST_TO_DEVICE, NULL), CK_OK, "", "0 bytes");
    CHECK_STATUS(ck_copy(context, pointer, bytes, 16, 0, NULL), CK_ERROR_INVALID_ARGUMENT, "kind is 0",
                 "kind 0");
    CHECK_STATUS(ck_copy(context, pointer, bytes, 16, 4, NULL), CK_ERROR_INVALID_ARGUMENT, "kind is 4",
                 "kind 4");
    CHECK_STATUS(ck_copy(context, pointer, (char*)pointer + 15, 16, CK_COPY_DEVICE_TO_DEVICE, NULL),
                 CK_ERROR_INVALID_ARGUMENT, "overlap", "overlap");
    CHECK_STATUS(ck_synchronize(context, NULL), CK_OK, "", "ck_synchronize");
    CHECK_STATUS(ck_synchronize(NULL, NULL), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_free(context, pointer), CK_OK, "", "ck_free");
    CHECK_STATUS(ck_free(context, other), CK_OK, "", "ck_free");
}

static uint64_t calls_of(ck_context* context, const char* name, ck_op op) {
    uint64_t count = 0;
    uint64_t i;
    CHECK_STATUS(ck_variant_count(context, &count), CK_OK, "", "ck_variant_count");
    for (i = 0; i < count; ++i) {
        ck_variant_info info = CK_INIT(ck_variant_info);
        CHECK_STATUS(ck_get_variant_info(context, i, &info), CK_OK, "", "ck_get_variant_info");
        CHECK(info.op >= CK_OP_INT8_GEMM && info.op <= CK_OP_INT8_ERROR && info.name[0] != 0);
        if (info.op == op && strcmp(info.name, name) == 0) return info.calls;
    }
    CHECK_FOR(0, name);
    return 0;
}

static void check_queries(ck_context* context) {
    int32_t c[4] = {0};
    ck_int8_gemm_args gemm = gemm_args(c);
    ck_rotate_args rotate = CK_INIT(ck_rotate_args);
    ck_support_info support = CK_INIT(ck_support_info);
    ck_variant_info info = CK_INIT(ck_variant_info);
    ck_problem problems[2] = {CK_INIT(ck_problem), CK_INIT(ck_problem)};
    uint64_t count = 0;
    uint64_t before;

    CHECK_STATUS(ck_int8_gemm_supported(context, &gemm, &support), CK_OK, "", "supported");
    before = calls_of(context, support.variant, CK_OP_INT8_GEMM);
    CHECK_STATUS(ck_int8_gemm(context, &gemm, NULL), CK_OK, "", "gemm");
    CHECK(memcmp(c, gemm_c, sizeof(c)) == 0);
    CHECK(calls_of(context, support.variant, CK_OP_INT8_GEMM) == before + 1);
    CHECK(strcmp(ck_last_variant(), support.variant) == 0);
    /* A failing call is not counted and leaves the last variant. */
    gemm.lda = 1;
    CHECK_STATUS(ck_int8_gemm(context, &gemm, NULL), CK_ERROR_INVALID_ARGUMENT, "lda", "lda");
    CHECK(calls_of(context, support.variant, CK_OP_INT8_GEMM) == before + 1);
    CHECK(strcmp(ck_last_variant(), support.variant) == 0);
    gemm.lda = 0;

    CHECK_STATUS(ck_variant_count(context, &count), CK_OK, "", "count");
    CHECK(count >= 9);
    CHECK_STATUS(ck_variant_count(NULL, &count), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_variant_count(context, NULL), CK_ERROR_INVALID_ARGUMENT, "count", "NULL");
    CHECK_STATUS(ck_get_variant_info(context, count, &info), CK_ERROR_INVALID_ARGUMENT, "index",
                 "one too far");
    CHECK_STATUS(ck_get_variant_info(NULL, 0, &info), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_get_variant_info(context, 0, NULL), CK_ERROR_INVALID_ARGUMENT, "info", "NULL");
    info.struct_size = 4;
    CHECK_STATUS(ck_get_variant_info(context, 0, &info), CK_ERROR_VERSION_MISMATCH, "struct_size", "4");

    rotate.dtype = CK_F16;
    rotate.rows = 7;
    rotate.k = rotate.group = 16;
    problems[0].op = CK_OP_INT8_GEMM;
    problems[0].args = &gemm;
    problems[1].op = CK_OP_ROTATE;
    problems[1].args = &rotate; /* data pointers NULL */
    CHECK_STATUS(ck_prepare(context, problems, 2), CK_OK, "", "ck_prepare");
    CHECK_STATUS(ck_prepare(context, NULL, 0), CK_OK, "", "no problem");
    CHECK_STATUS(ck_prepare(NULL, problems, 2), CK_ERROR_INVALID_ARGUMENT, "context", "NULL");
    CHECK_STATUS(ck_prepare(context, NULL, 1), CK_ERROR_INVALID_ARGUMENT, "problems", "NULL");
    rotate.group = 5;
    CHECK_STATUS(ck_prepare(context, problems, 2), CK_ERROR_INVALID_ARGUMENT, "problems[1]", "group 5");
    CHECK(strstr(ck_last_error(), "group") != NULL);
    problems[1].op = 11;
    CHECK_STATUS(ck_prepare(context, problems, 2), CK_ERROR_INVALID_ARGUMENT, "op is 11", "op 11");
    problems[1].op = 0;
    CHECK_STATUS(ck_prepare(context, problems, 2), CK_ERROR_INVALID_ARGUMENT, "op is 0", "op 0");
    problems[0].args = NULL;
    CHECK_STATUS(ck_prepare(context, problems, 1), CK_ERROR_INVALID_ARGUMENT, "args", "args NULL");
    problems[0].struct_size = 0;
    CHECK_STATUS(ck_prepare(context, problems, 1), CK_ERROR_VERSION_MISMATCH, "struct_size", "struct_size 0");
}

static int log_lines;
static int log_bad;
static char log_last[1024];
static void on_log(void* user, int32_t level, const char* message) {
    ++log_lines;
    if (user != &log_lines || level < CK_LOG_ERROR || level > CK_LOG_TRACE || !message ||
        strchr(message, '\n'))
        ++log_bad;
    else
        snprintf(log_last, sizeof(log_last), "%s", message);
}

static void check_log(ck_context* context) {
    int32_t c[4];
    ck_int8_gemm_args gemm = gemm_args(c);
    CHECK_STATUS(ck_set_log_callback(on_log, &log_lines, -1), CK_ERROR_INVALID_ARGUMENT, "level is -1",
                 "level");
    CHECK_STATUS(ck_set_log_callback(on_log, &log_lines, CK_LOG_TRACE + 1), CK_ERROR_INVALID_ARGUMENT,
                 "level", "7");
    CHECK_STATUS(ck_set_log_callback(on_log, &log_lines, CK_LOG_DISPATCH), CK_OK, "", "dispatch");
    CHECK_STATUS(ck_int8_gemm(context, &gemm, NULL), CK_OK, "", "gemm");
    CHECK(log_lines == 1 && log_bad == 0);
    CHECK(strstr(log_last, "op=int8_gemm") != NULL && strstr(log_last, "k=4") != NULL);
    CHECK(strstr(log_last, ck_last_variant()) != NULL);
    CHECK_STATUS(ck_set_log_callback(on_log, &log_lines, CK_LOG_OFF), CK_OK, "", "off");
    CHECK_STATUS(ck_int8_gemm(context, &gemm, NULL), CK_OK, "", "gemm");
    CHECK(log_lines == 1);
    CHECK_STATUS(ck_set_log_callback(NULL, NULL, CK_LOG_OFF), CK_OK, "", "back to stderr");
}

/* One context from many threads at once; errors and the last variant belong to the thread. */
enum { THREADS = 8, ROUNDS = 200 };
typedef struct {
    ck_context* context;
    int index;
    int failures;
} worker;

static void* work(void* user) {
    worker* w = user;
    char expected[64];
    int round;
    if (strcmp(ck_last_error(), "") != 0 || strcmp(ck_last_variant(), "") != 0) ++w->failures;
    snprintf(expected, sizeof(expected), "lda is %d", -100 - w->index);
    for (round = 0; round < ROUNDS; ++round) {
        int32_t c[4] = {0};
        ck_int8_gemm_args args = gemm_args(c);
        void* memory = NULL;
        if (ck_int8_gemm(w->context, &args, NULL) != CK_OK || memcmp(c, gemm_c, sizeof(c)) != 0)
            ++w->failures;
        args.lda = -100 - w->index;
        if (ck_int8_gemm(w->context, &args, NULL) != CK_ERROR_INVALID_ARGUMENT) ++w->failures;
        if (!strstr(ck_last_error(), expected)) ++w->failures;
        if (ck_malloc(w->context, 1000, &memory) != CK_OK || ck_free(w->context, memory) != CK_OK)
            ++w->failures;
        if (ck_last_variant()[0] == 0) ++w->failures;
    }
    return NULL;
}

static void check_threads(ck_context* context) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    ck_support_info support = CK_INIT(ck_support_info);
    int32_t c[4];
    ck_int8_gemm_args args = gemm_args(c);
    uint64_t before;
    int i;
    CHECK_STATUS(ck_int8_gemm_supported(context, &args, &support), CK_OK, "", "supported");
    before = calls_of(context, support.variant, CK_OP_INT8_GEMM);
    for (i = 0; i < THREADS; ++i) {
        workers[i].context = context;
        workers[i].index = i;
        workers[i].failures = 0;
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (i = 0; i < THREADS; ++i) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(workers[i].failures == 0);
    }
    CHECK(calls_of(context, support.variant, CK_OP_INT8_GEMM) == before + THREADS * ROUNDS);
}

/* Contexts come and go on many threads. */
static void* come_and_go(void* user) {
    int* failures = user;
    int round;
    for (round = 0; round < 20; ++round) {
        ck_context_options options = CK_INIT(ck_context_options);
        ck_context* context = NULL;
        int32_t c[4] = {0};
        ck_int8_gemm_args args = gemm_args(c);
        options.backend = CK_BACKEND_CPU;
        options.threads = 1 + round % 3;
        if (ck_context_create(&options, &context) != CK_OK) {
            ++*failures;
            continue;
        }
        if (ck_int8_gemm(context, &args, NULL) != CK_OK || memcmp(c, gemm_c, sizeof(c)) != 0) ++*failures;
        ck_context_destroy(context);
    }
    return NULL;
}

static void check_many_contexts(void) {
    pthread_t threads[THREADS];
    int failures[THREADS] = {0};
    int i;
    for (i = 0; i < THREADS; ++i) CHECK(pthread_create(&threads[i], NULL, come_and_go, &failures[i]) == 0);
    for (i = 0; i < THREADS; ++i) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(failures[i] == 0);
    }
}

int main(void) {
    ck_context* context;
    check_texts(); /* first: it looks at the state before any failure */
    check_devices();
    check_context_options();
    context = make_context();
    if (!context) return check_result("basics");
    check_memory(context);
    check_queries(context);
    check_log(context);
    check_threads(context);
    ck_context_destroy(context);
    check_many_contexts();
    return check_result("basics");
}
