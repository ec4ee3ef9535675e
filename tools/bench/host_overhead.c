/* What a call costs the host over the bare launch:
 *
 *   host_overhead LIBCKITCHEN [--hip CODE_OBJECT] [calls] [rounds]
 *
 * Times, in turn, blocks of ck_int8_gemm on a small problem (one kernel with 120 bytes of arguments) and
 * blocks of bare launches, the stream drained between blocks. Prints the median of each and of their
 * difference. On an NVIDIA GPU the bare launch is that of an empty kernel with arguments of the same size;
 * with --hip, meant for a simulated runtime that executes nothing (CKITCHEN_HIP_LIBRARY, GFXSIM_EXEC=off), of
 * the same kernel from the given file. */
#include <ckitchen.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char kEmptyKernel[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry empty(.param .align 8 .b8 arguments[120]) { ret; }\n";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* values, int count) {
    qsort(values, (size_t)count, sizeof(double), by_value);
    return values[count / 2];
}

static void require(int condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "host_overhead: %s\n", what);
    exit(1);
}

#define LOAD(library, name) __typeof__(&name) p_##name = (__typeof__(&name))(uintptr_t)dlsym(library, #name)

typedef int (*launch_function)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               void*, void**, void**);

static void* symbol(void* library, const char* name) {
    void* found = dlsym(library, name);
    require(found != NULL, name);
    return found;
}

static launch_function cuda_kernel(void** kernel) {
    void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
    require(cuda != NULL, "libcuda.so.1 could not be opened");
    int (*context_retain)(void**, int) =
        (int (*)(void**, int))(uintptr_t)symbol(cuda, "cuDevicePrimaryCtxRetain");
    int (*context_set)(void*) = (int (*)(void*))(uintptr_t)symbol(cuda, "cuCtxSetCurrent");
    int (*load)(void**, const void*) =
        (int (*)(void**, const void*))(uintptr_t)symbol(cuda, "cuModuleLoadData");
    int (*function)(void**, void*, const char*) =
        (int (*)(void**, void*, const char*))(uintptr_t)symbol(cuda, "cuModuleGetFunction");
    void* primary = NULL;
    void* module = NULL;
    require(context_retain(&primary, 0) == 0 && context_set(primary) == 0, "no primary context");
    require(load(&module, kEmptyKernel) == 0 && function(kernel, module, "empty") == 0,
            "the empty kernel does not load");
    return (launch_function)(uintptr_t)symbol(cuda, "cuLaunchKernel");
}

/* The kernel of a variant; the file's contents stay, as the runtime demands. */
static launch_function hip_kernel(const char* path, const char* variant, void** kernel) {
    const char* name = getenv("CKITCHEN_HIP_LIBRARY");
    void* hip = name ? dlopen(name, RTLD_NOW) : NULL;
    require(hip != NULL, "CKITCHEN_HIP_LIBRARY could not be opened");
    int (*load)(void**, const void*) =
        (int (*)(void**, const void*))(uintptr_t)symbol(hip, "hipModuleLoadData");
    int (*function)(void**, void*, const char*) =
        (int (*)(void**, void*, const char*))(uintptr_t)symbol(hip, "hipModuleGetFunction");
    FILE* file = fopen(path, "rb");
    require(file != NULL, path);
    require(fseek(file, 0, SEEK_END) == 0, path);
    const long size = ftell(file);
    char* image = size > 0 ? malloc((size_t)size) : NULL;
    rewind(file);
    require(image != NULL && fread(image, 1, (size_t)size, file) == (size_t)size, path);
    fclose(file);
    char full[128];
    snprintf(full, sizeof(full), "ckitchen_%s", variant);
    void* module = NULL;
    require(load(&module, image) == 0 && function(kernel, module, full) == 0, "the kernel does not load");
    return (launch_function)(uintptr_t)symbol(hip, "hipModuleLaunchKernel");
}

int main(int argc, char** argv) {
    static const char kUsage[] = "usage: host_overhead LIBCKITCHEN [--hip CODE_OBJECT] [calls] [rounds]";
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        puts(kUsage);
        return 0;
    }
    const char* code = argc > 3 && strcmp(argv[2], "--hip") == 0 ? argv[3] : NULL;
    const int at = code ? 4 : 2;
    const int calls = argc > at ? atoi(argv[at]) : 200;
    const int rounds = argc > at + 1 ? atoi(argv[at + 1]) : 300;
    require(argc > 1 && calls > 0 && rounds > 0, kUsage);
    void* ck = dlopen(argv[1], RTLD_NOW);
    require(ck != NULL, "the library could not be opened");
    LOAD(ck, ck_context_create);
    LOAD(ck, ck_malloc);
    LOAD(ck, ck_int8_gemm);
    LOAD(ck, ck_synchronize);
    LOAD(ck, ck_last_error);
    LOAD(ck, ck_last_variant);

    ck_context_options options = CK_INIT(ck_context_options);
    ck_context* context = NULL;
    options.backend = code ? CK_BACKEND_HIP : CK_BACKEND_CUDA;
    require(p_ck_context_create(&options, &context) == CK_OK, p_ck_last_error());
    void* memory = NULL;
    require(p_ck_malloc(context, 1 << 20, &memory) == CK_OK, p_ck_last_error());
    char* bytes = memory;
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_BF16;
    args.m = args.n = args.k = 64;
    args.a = bytes;
    args.b = bytes + 65536;
    args.c = bytes + 131072;
    args.scale_a = (float*)(void*)(bytes + 262144);
    args.scale_b = (float*)(void*)(bytes + 524288);
    require(p_ck_int8_gemm(context, &args, NULL) == CK_OK, p_ck_last_error());
    require(p_ck_synchronize(context, NULL) == CK_OK, p_ck_last_error());

    void* kernel = NULL;
    const launch_function launch =
        code ? hip_kernel(code, p_ck_last_variant(), &kernel) : cuda_kernel(&kernel);
    char arguments[512] = {0};
    void* parameters[1];
    parameters[0] = arguments;

    double* ours = malloc(sizeof(double) * (size_t)rounds);
    double* bare = malloc(sizeof(double) * (size_t)rounds);
    double* difference = malloc(sizeof(double) * (size_t)rounds);
    require(ours && bare && difference, "out of memory");
    for (int round = 0; round < rounds; ++round) {
        int i;
        double start = now();
        for (i = 0; i < calls; ++i) p_ck_int8_gemm(context, &args, NULL);
        ours[round] = (now() - start) / calls;
        require(p_ck_synchronize(context, NULL) == CK_OK, p_ck_last_error());
        start = now();
        for (i = 0; i < calls; ++i) launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
        bare[round] = (now() - start) / calls;
        require(p_ck_synchronize(context, NULL) == CK_OK, p_ck_last_error());
        difference[round] = ours[round] - bare[round];
    }
    printf(
        "ck_int8_gemm (%s) %.3f us, bare launch %.3f us, difference %.3f us; medians of %d blocks of "
        "%d calls\n",
        p_ck_last_variant(), median(ours, rounds), median(bare, rounds), median(difference, rounds), rounds,
        calls);
    return 0;
}
