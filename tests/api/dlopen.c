/* A client that finds the library at run time: every function of the header is exported under its name,
 * nothing else is needed, and closing the library is harmless. Argument: the library's path. */
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"
#include "ckitchen.h"

static const char* const functions[] = {
    "ck_version",
    "ck_status_string",
    "ck_last_error",
    "ck_set_log_callback",
    "ck_device_count",
    "ck_device_info",
    "ck_builtin_targets",
    "ck_context_create",
    "ck_context_destroy",
    "ck_context_info",
    "ck_malloc",
    "ck_free",
    "ck_copy",
    "ck_host_malloc",
    "ck_host_free",
    "ck_copy_async",
    "ck_stream_create",
    "ck_stream_destroy",
    "ck_synchronize",
    "ck_prepare",
    "ck_last_variant",
    "ck_variant_count",
    "ck_get_variant_info",
    "ck_int8_gemm",
    "ck_int8_gemm_supported",
    "ck_int8_gemm_workspace_size",
    "ck_int8_quantize",
    "ck_int8_quantize_supported",
    "ck_int8_quantize_workspace_size",
    "ck_int8_linear",
    "ck_int8_linear_supported",
    "ck_int8_linear_workspace_size",
    "ck_rotate",
    "ck_rotate_supported",
    "ck_rotate_workspace_size",
    "ck_w4a8_default_codebook",
    "ck_w4a8_requant",
    "ck_w4a8_requant_supported",
    "ck_w4a8_requant_workspace_size",
    "ck_w4a8_choose_codebook",
    "ck_w4a8_choose_codebook_supported",
    "ck_w4a8_choose_codebook_workspace_size",
    "ck_w4a8_dequant",
    "ck_w4a8_dequant_supported",
    "ck_w4a8_dequant_workspace_size",
    "ck_w4a8_linear",
    "ck_w4a8_linear_supported",
    "ck_w4a8_linear_workspace_size",
    "ck_int8_error",
    "ck_int8_error_supported",
    "ck_int8_error_workspace_size",
    "ck_na3d",
    "ck_na3d_supported",
    "ck_na3d_workspace_size",
};

/* ISO C has no conversion from an object pointer to a function pointer. */
#define FIND(name)                                  \
    do {                                            \
        void* const found_ = dlsym(library, #name); \
        memcpy(&name##_, &found_, sizeof(found_));  \
        CHECK_FOR(found_ != NULL, #name);           \
    } while (0)

int main(int argc, char** argv) {
    void* library;
    size_t i;
    int round;
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
        return 2;
    }
    for (round = 0; round < 2; ++round) { /* again after it was closed */
        uint32_t (*ck_version_)(void);
        const char* (*ck_last_error_)(void);
        ck_status (*ck_context_create_)(const ck_context_options*, ck_context**);
        void (*ck_context_destroy_)(ck_context*);
        ck_status (*ck_rotate_)(ck_context*, const ck_rotate_args*, void*);
        ck_context* context = NULL;
        ck_context_options options = CK_INIT(ck_context_options);
        ck_rotate_args args = CK_INIT(ck_rotate_args);
        float x[4] = {1, 2, 3, 4};
        float y[4] = {0};

        library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        for (i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i)
            CHECK_FOR(dlsym(library, functions[i]) != NULL, functions[i]);
        FIND(ck_version);
        FIND(ck_last_error);
        FIND(ck_context_create);
        FIND(ck_context_destroy);
        FIND(ck_rotate);
        CHECK(ck_version_() == CK_VERSION);
        options.backend = CK_BACKEND_CPU;
        CHECK(ck_context_create_(&options, &context) == CK_OK);
        args.dtype = CK_F32;
        args.rows = 1;
        args.k = args.group = 4;
        args.x = x;
        args.y = y;
        CHECK(ck_rotate_(context, &args, NULL) == CK_OK);
        /* ((1+2)+3)-4, ((1+2)-3)+4, ((1-2)+3)+4, ((2-1)+3)+4, each times 1/2 */
        CHECK(y[0] == 1 && y[1] == 2 && y[2] == 3 && y[3] == 4);
        args.group = 3;
        CHECK(ck_rotate_(context, &args, NULL) == CK_ERROR_INVALID_ARGUMENT);
        CHECK(strstr(ck_last_error_(), "group is 3") != NULL);
        ck_context_destroy_(context);
        CHECK(dlclose(library) == 0);
    }
    return check_result("dlopen");
}
