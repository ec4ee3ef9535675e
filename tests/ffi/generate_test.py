"""packaging/generate.py sees what it must: a header that changed, in each of the files it writes, and what it cannot read.

    generate_test.py GENERATOR HEADER
"""

import importlib.util
import sys


def main(generator, header):
    spec = importlib.util.spec_from_file_location("generate", generator)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    with open(header, encoding="utf-8") as file:
        text = file.read()

    def written(changed):
        model = generate.parse(changed)
        return {language.__name__: "\n".join(language(model)) for language in (generate.rust, generate.go, generate.python)}

    failures = []
    before = written(text)
    changes = {
        "a new constant": ("    CK_I32 = 11\n", "    CK_I32 = 11,\n    CK_NEW = 12 /* new */\n", "_NEW", "New"),
        "a new field": ("    int64_t lda;                /* >= k */\n", "    int64_t lda;\n    double fresh[3];\n", "fresh", "Fresh"),
        "a new function": ("CK_API ck_status ck_synchronize(", "CK_API ck_status ck_fresh(ck_context* context);\nCK_API ck_status ck_synchronize(",
                           "ck_fresh", None),
    }
    for what, (old, new, word, go_word) in changes.items():
        if text.count(old) < 1:
            failures.append(f"{what}: the header has no '{old.strip()}' any more")
            continue
        for language, after in written(text.replace(old, new, 1)).items():
            expected = go_word if language == "go" else word
            if expected and (expected not in after or expected in before[language]):
                failures.append(f"{what} does not show in {language}")
    for what, old, new in (("a type", "int64_t lda; ", "long lda; "), ("an expression", "CK_I32 = 11", "CK_I32 = 5 + 6"),
                           ("an operator without a number", "CK_OP_ROTATE = 4", "CK_OP_TURN = 4"),
                           ("a declaration", "typedef int32_t ck_op;", "typedef union { int a; } ck_op;")):
        try:
            generate.parse(text.replace(old, new, 1))
            failures.append(f"{what} that it does not know passes")
        except generate.HeaderError:
            pass
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
