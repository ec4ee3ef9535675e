/* A client that knows nothing of GPUs: opens the library with dlopen, asks for a device, multiplies, and
 * checks what it got.
 *
 *   probe LIBRARY backend=hip|auto|cpu expect=STATUS_NAME [variant=PREFIX] [fork]
 *
 * Exit status 0 when creating the context gave the expected status and, where that is CK_OK, the product was
 * right. */
#include <ckitchen.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static __typeof__(&ck_version) p_ck_version;
static __typeof__(&ck_status_string) p_ck_status_string;
static __typeof__(&ck_last_error) p_ck_last_error;
static __typeof__(&ck_context_create) p_ck_context_create;
static __typeof__(&ck_context_destroy) p_ck_context_destroy;
static __typeof__(&ck_context_info) p_ck_context_info;
static __typeof__(&ck_malloc) p_ck_malloc;
static __typeof__(&ck_free) p_ck_free;
static __typeof__(&ck_copy) p_ck_copy;
static __typeof__(&ck_synchronize) p_ck_synchronize;
static __typeof__(&ck_int8_gemm) p_ck_int8_gemm;
static __typeof__(&ck_int8_gemm_supported) p_ck_int8_gemm_supported;
static __typeof__(&ck_last_variant) p_ck_last_variant;
static __typeof__(&ck_prepare) p_ck_prepare;

static int load_function(void* library, const char* name, void* pointer) {
    void* symbol = dlsym(library, name);
    if (!symbol) fprintf(stderr, "the library has no %s\n", name);
    memcpy(pointer, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static int load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    return load_function(library, "ck_version", &p_ck_version) &&
           load_function(library, "ck_status_string", &p_ck_status_string) &&
           load_function(library, "ck_last_error", &p_ck_last_error) &&
           load_function(library, "ck_context_create", &p_ck_context_create) &&
           load_function(library, "ck_context_destroy", &p_ck_context_destroy) &&
           load_function(library, "ck_context_info", &p_ck_context_info) &&
           load_function(library, "ck_malloc", &p_ck_malloc) &&
           load_function(library, "ck_free", &p_ck_free) && load_function(library, "ck_copy", &p_ck_copy) &&
           load_function(library, "ck_synchronize", &p_ck_synchronize) &&
           load_function(library, "ck_int8_gemm", &p_ck_int8_gemm) &&
           load_function(library, "ck_int8_gemm_supported", &p_ck_int8_gemm_supported) &&
           load_function(library, "ck_last_variant", &p_ck_last_variant) &&
           load_function(library, "ck_prepare", &p_ck_prepare);
}

enum { M = 37, N = 29, K = 83 };

static int check(ck_status status, const char* what) {
    if (status == CK_OK) return 1;
    fprintf(stderr, "%s: %s: %s\n", what, p_ck_status_string(status), p_ck_last_error());
    return 0;
}

static int multiply(ck_context* context, const char* variant) {
    static int8_t a[M * K], b[N * K];
    static int32_t c[M * N];
    void* device[3] = {NULL, NULL, NULL};
    int i, j, k;
    for (i = 0; i < M * K; ++i) a[i] = (int8_t)(i * 37 + 11);
    for (i = 0; i < N * K; ++i) b[i] = (int8_t)(i * 91 + 5);
    if (!check(p_ck_malloc(context, sizeof(a), &device[0]), "ck_malloc") ||
        !check(p_ck_malloc(context, sizeof(b), &device[1]), "ck_malloc") ||
        !check(p_ck_malloc(context, sizeof(c), &device[2]), "ck_malloc") ||
        !check(p_ck_copy(context, device[0], a, sizeof(a), CK_COPY_HOST_TO_DEVICE, NULL), "ck_copy") ||
        !check(p_ck_copy(context, device[1], b, sizeof(b), CK_COPY_HOST_TO_DEVICE, NULL), "ck_copy"))
        return 0;
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_I32;
    args.m = M;
    args.n = N;
    args.k = K;
    args.a = device[0];
    args.b = device[1];
    args.c = device[2];
    ck_problem problem = CK_INIT(ck_problem);
    problem.op = CK_OP_INT8_GEMM;
    problem.args = &args;
    ck_support_info info = CK_INIT(ck_support_info);
    if (!check(p_ck_prepare(context, &problem, 1), "ck_prepare") ||
        !check(p_ck_int8_gemm_supported(context, &args, &info), "ck_int8_gemm_supported") ||
        !check(p_ck_int8_gemm(context, &args, NULL), "ck_int8_gemm") ||
        !check(p_ck_synchronize(context, NULL), "ck_synchronize") ||
        !check(p_ck_copy(context, c, device[2], sizeof(c), CK_COPY_DEVICE_TO_HOST, NULL), "ck_copy"))
        return 0;
    for (i = 0; i < M; ++i)
        for (j = 0; j < N; ++j) {
            int32_t sum = 0;
            for (k = 0; k < K; ++k) sum += a[i * K + k] * b[j * K + k];
            if (c[i * N + j] != sum) {
                fprintf(stderr, "c[%d][%d] is %d, must be %d\n", i, j, c[i * N + j], sum);
                return 0;
            }
        }
    if (strcmp(p_ck_last_variant(), info.variant) != 0 ||
        strncmp(info.variant, variant, strlen(variant)) != 0) {
        fprintf(stderr, "ran %s, announced %s, expected %s...\n", p_ck_last_variant(), info.variant, variant);
        return 0;
    }
    for (i = 0; i < 3; ++i)
        if (!check(p_ck_free(context, device[i]), "ck_free")) return 0;
    return 1;
}

/* A forked child gets a clean refusal, and the parent goes on. */
static int survives_fork(ck_context* context) {
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        void* pointer = NULL;
        _exit(p_ck_malloc(context, 16, &pointer) == CK_ERROR_FORKED &&
                      p_ck_synchronize(context, NULL) == CK_ERROR_FORKED
                  ? 0
                  : 1);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "the forked child was not refused\n");
        return 0;
    }
    return 1;
}

int main(int argc, char** argv) {
    const char* expect = "CK_OK";
    const char* variant = "";
    int with_fork = 0;
    int i;
    ck_context* context = NULL;
    ck_context_options options = CK_INIT(ck_context_options);
    if (argc < 2 || !load(argv[1])) return 2;
    for (i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "backend=hip") == 0)
            options.backend = CK_BACKEND_HIP;
        else if (strcmp(argv[i], "backend=cpu") == 0)
            options.backend = CK_BACKEND_CPU;
        else if (strncmp(argv[i], "expect=", 7) == 0)
            expect = argv[i] + 7;
        else if (strncmp(argv[i], "variant=", 8) == 0)
            variant = argv[i] + 8;
        else if (strncmp(argv[i], "ordinal=", 8) == 0)
            options.ordinal = atoi(argv[i] + 8);
        else if (strcmp(argv[i], "fork") == 0)
            with_fork = 1;
        else if (strcmp(argv[i], "backend=auto") != 0)
            return 2;
    }
    if (p_ck_version() != CK_VERSION) return 2;
    const ck_status status = p_ck_context_create(&options, &context);
    printf("%s: %s\n", p_ck_status_string(status), status == CK_OK ? "" : p_ck_last_error());
    if (strcmp(p_ck_status_string(status), expect) != 0) {
        fprintf(stderr, "expected %s\n", expect);
        return 1;
    }
    if (status != CK_OK) return context != NULL || strlen(p_ck_last_error()) < 20;
    ck_device_properties properties = CK_INIT(ck_device_properties);
    if (!check(p_ck_context_info(context, &properties), "ck_context_info")) return 1;
    printf("%s (%s)\n", properties.name, properties.arch);
    if (!multiply(context, variant)) return 1;
    if (with_fork && (!survives_fork(context) || !multiply(context, variant))) return 1;
    p_ck_context_destroy(context);
    printf("right, by %s\n", p_ck_last_variant());
    return 0;
}
