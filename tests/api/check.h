/* Checks for the C tests: print what failed and go on; the program ends with status 1 when anything did. */
#ifndef CK_TEST_CHECK_H
#define CK_TEST_CHECK_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int check_count = 0;
static int check_failures = 0;

static void check_report(int passed, const char* file, int line, const char* format, ...) {
    va_list arguments;
    ++check_count;
    if (passed) return;
    ++check_failures;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

#define CHECK(condition) check_report((condition) ? 1 : 0, __FILE__, __LINE__, "%s", #condition)
/* With a text for the case at hand. */
#define CHECK_FOR(condition, what) \
    check_report((condition) ? 1 : 0, __FILE__, __LINE__, "%s: %s", (what), #condition)
/* A status, and what ck_last_error() must contain when it is a failure. */
#define CHECK_STATUS(expression, expected, text, what)                                                     \
    do {                                                                                                   \
        const ck_status got_ = (expression);                                                               \
        check_report(got_ == (expected), __FILE__, __LINE__, "%s: got %s (%s), must be %s", (what),        \
                     ck_status_string(got_), got_ == CK_OK ? "" : ck_last_error(),                         \
                     ck_status_string(expected));                                                          \
        if (got_ == (expected) && got_ != CK_OK)                                                           \
            check_report(strstr(ck_last_error(), (text)) != NULL && strchr(ck_last_error(), '\n') == NULL, \
                         __FILE__, __LINE__, "%s: the text '%s' does not contain '%s'", (what),            \
                         ck_last_error(), (text));                                                         \
    } while (0)

static int check_result(const char* name) {
    printf("%s: %d checks, %d failed\n", name, check_count, check_failures);
    return check_failures == 0 && check_count > 0 ? 0 : 1;
}

#endif
