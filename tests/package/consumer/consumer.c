/* The smallest client: one row quantized on the CPU. */
#include <ckitchen.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const float x[4] = {1.0f, -2.0f, 0.5f, 0.0f};
    const signed char expected[4] = {64, -127, 32, 0};
    signed char q[4];
    float scale;
    ck_context* context = NULL;
    ck_context_options options = CK_INIT(ck_context_options);
    ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
    if (ck_version() != CK_VERSION) return 1;
    options.backend = CK_BACKEND_CPU;
    if (ck_context_create(&options, &context) != CK_OK) {
        fprintf(stderr, "%s\n", ck_last_error());
        return 1;
    }
    args.dtype = CK_F32;
    args.rows = 1;
    args.k = 4;
    args.x = x;
    args.q = q;
    args.scale = &scale;
    if (ck_int8_quantize(context, &args, NULL) != CK_OK) {
        fprintf(stderr, "%s\n", ck_last_error());
        return 1;
    }
    ck_context_destroy(context);
    return memcmp(q, expected, sizeof(q)) != 0;
}
