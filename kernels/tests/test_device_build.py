#!/usr/bin/env python3
"""Tests of device_build.py: linking several operators, the cache, what it refuses, the data files."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools")
sys.path.insert(0, TOOLS)
from device_build import compile_flags, flatten, kernel_rows, load_arch, occupancy, operator_of  # noqa: E402
from elf import CodeObject  # noqa: E402

KERNEL = """
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void ckitchen_{op}_{row}(int* p) {{
    {body}
}}
"""
PLAIN = "p[__builtin_amdgcn_workitem_id_x()] = 7;"
SPILLING = """
    int values[512];
    for (int i = 0; i < 512; ++i) values[i] = p[i];
    for (int i = 0; i < 512; ++i) p[i] = values[p[i] & 511];
"""


class DeviceBuild(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def path(self, *names):
        return os.path.join(self.work.name, *names)

    def tool(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(TOOLS, "device_build.py"), "--arch", OPTIONS.arch, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)

    def add_op(self, op, rows, body=PLAIN):
        os.makedirs(self.path(op), exist_ok=True)
        with open(self.path(op, op + ".inc"), "w", encoding="utf-8") as file:
            file.writelines(f"CK_TEST_ROW({row}, dot4, 1)\n" for row in rows)
        with open(self.path(op, op + ".hip"), "w", encoding="utf-8") as file:
            file.writelines(KERNEL.format(op=op, row=row, body=body) for row in rows)

    def compile(self, op, target="gfx1100"):
        return self.tool("compile", "--clang", OPTIONS.clang, "--target", target, "--source", self.path(op, op + ".hip"),
                         "--output", self.path(op + ".s"), "--depfile", self.path(op + ".d"), "--cache", self.path("cache"))

    def link(self, ops, target="gfx1100"):
        for op in ops:
            result = self.compile(op, target)
            self.assertEqual(result.returncode, 0, result.stdout)
        return self.tool("link", "--clang", OPTIONS.clang, "--lld", OPTIONS.lld, "--kernels", self.work.name, "--target",
                         target, "--output", self.path("all.elf"), "--resources", self.path("resources.json"), "--ops",
                         *ops, "--inputs", *(self.path(op + ".s") for op in ops))

    def test_one_note_lists_the_kernels_of_all_operators(self):
        self.add_op("first", ["a", "b"])
        self.add_op("second", ["c"])
        result = self.link(["first", "second"])
        self.assertEqual(result.returncode, 0, result.stdout)
        notes = CodeObject(self.path("all.elf")).metadata()
        self.assertEqual(len(notes), 1)
        self.assertEqual([kernel[".name"] for kernel in notes[0]["amdhsa.kernels"]],
                         ["ckitchen_first_a", "ckitchen_first_b", "ckitchen_second_c"])

    def test_scratch_fails_the_build(self):
        self.add_op("first", ["a"], SPILLING)
        result = self.link(["first"])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ckitchen_first_a: scratch is", result.stdout)
        self.assertFalse(os.path.exists(self.path("all.elf")))

    def test_a_row_without_kernel_fails_the_build(self):
        self.add_op("first", ["a"])
        with open(self.path("first", "first.inc"), "a", encoding="utf-8") as file:
            file.write("CK_TEST_ROW(b, dot4, 1)\n")
        result = self.link(["first"])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("kernel ckitchen_first_b is missing", result.stdout)

    def test_the_cache_follows_content(self):
        def entries():
            return sum(len(files) for _, _, files in os.walk(self.path("cache")))

        self.add_op("first", ["a"])
        self.compile("first")
        self.assertEqual(entries(), 1)
        self.compile("first")
        self.assertEqual(entries(), 1)
        self.compile("first", "gfx1030")
        self.assertEqual(entries(), 2)
        with open(self.path("first", "first.hip"), "a", encoding="utf-8") as file:
            file.write('#include "more.h"\n')
        with open(self.path("first", "more.h"), "w", encoding="utf-8") as file:
            file.write("constexpr int kOne = 1;\n")
        self.compile("first")
        self.assertEqual(entries(), 3)
        with open(self.path("first.d"), encoding="utf-8") as file:
            self.assertIn(os.path.realpath(self.path("first", "more.h")), file.read())
        with open(self.path("first", "more.h"), "w", encoding="utf-8") as file:
            file.write("constexpr int kOne = 2;\n")
        self.compile("first")
        self.assertEqual(entries(), 4)

    def test_a_compile_error_is_an_error(self):
        self.add_op("first", ["a"], "not C++;")
        result = self.compile("first")
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse(os.path.exists(self.path("first.s")))

    def test_an_unknown_target_is_named(self):
        self.add_op("first", ["a"])
        result = self.compile("first", "gfx1")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("has no target gfx1", result.stdout)

    def preprocessed(self, source, target):
        flags = compile_flags(load_arch(OPTIONS.arch)[1][target], None)
        result = subprocess.run([OPTIONS.clang, *flags, "-E", "-P", source], stdout=subprocess.PIPE, check=True,
                                universal_newlines=True)
        return result.stdout.split()

    def test_a_source_in_one_file_is_the_source(self):
        flat = self.path("flat.hip")
        for op in sorted(os.listdir(OPTIONS.kernels)):
            source = os.path.join(OPTIONS.kernels, op, op + ".hip")
            if not os.path.exists(source):
                continue
            result = self.tool("flatten", "--source", source, "--output", flat, "--depfile", flat + ".d")
            self.assertEqual(result.returncode, 0, result.stdout)
            with open(flat, encoding="utf-8") as file:
                self.assertNotIn('#include "', file.read())
            for target in ("gfx1030", "gfx1201"):
                self.assertEqual(self.preprocessed(flat, target), self.preprocessed(source, target), f"{op} {target}")

    def test_an_include_under_a_condition_is_not_the_last_one(self):
        self.add_op("first", [])
        lists = '#include "list.inc"\n' * 2
        for name, text in (("first/first.hip", '#if 0\n#include "a.h"\n#endif\n' + '#include "a.h"\n' * 2 + lists),
                           ("first/a.h", "#pragma once\nint a;\n"), ("first/list.inc", "int b;\n")):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        text, files = flatten(self.path("first", "first.hip"))
        self.assertEqual([os.path.basename(name) for name in files].count("a.h"), 1)
        self.assertEqual(len(files), 4)  # and what older compilers need
        self.assertEqual(text.count("int a;"), 2)
        with open(self.path("flat.hip"), "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(self.preprocessed(self.path("flat.hip"), "gfx1030"), ["int", "a;", "int", "b;", "int", "b;"])

    def test_kernels_belong_to_the_longest_operator_name(self):
        ops = ["gemm", "gemm_sum"]
        self.assertEqual(operator_of("ckitchen_gemm_64", ops), "gemm")
        self.assertEqual(operator_of("ckitchen_gemm_sum_64", ops), "gemm_sum")
        self.assertIsNone(operator_of("ckitchen_other_64", ops))

    def test_occupancy(self):
        # A file of 1536 registers by steps of 24, one of 1024 by steps of 16.
        for vgprs, large, small in ((1, 16, 16), (64, 16, 16), (65, 16, 12), (96, 16, 10), (97, 12, 9), (128, 10, 8),
                                    (192, 8, 5), (216, 7, 4), (217, 6, 4), (256, 5, 4)):
            self.assertEqual(occupancy({"vgprs_per_simd": 1536}, vgprs, 0, 256), large, vgprs)
            self.assertEqual(occupancy({"vgprs_per_simd": 1024}, vgprs, 0, 256), small, vgprs)
        # Eight waves a workgroup: three workgroups share 128 KiB when each takes 40 KiB.
        self.assertEqual(occupancy({"vgprs_per_simd": 1536}, 64, 40960, 256), 6)
        # Workgroups of one wave: 32 of them on four SIMDs.
        self.assertEqual(occupancy({"vgprs_per_simd": 1536}, 64, 0, 32), 8)

    def test_tuning_names_rows_and_targets_that_exist(self):
        with open(OPTIONS.tuning, encoding="utf-8") as file:
            tuning = json.load(file)
        targets = load_arch(OPTIONS.arch)[1]
        # A CUDA device goes by its compute capability.
        targets.update({f"sm_{target['min_compute_capability']}": target for target in list(targets.values())
                        if target["kind"] == "ptx"})
        for op, by_target in tuning.items():
            if op == "format":
                continue
            rows = dict(kernel_rows(OPTIONS.kernels, op))
            if op == "int8_gemm":  # whose preferences hold for the linears, which have further rows
                rows.update(("tiled_" + name, feature)
                            for name, feature in kernel_rows(OPTIONS.kernels, "int8_gemm_tiled"))
                rows.update(kernel_rows(OPTIONS.kernels, "w4a8_gemv"))
            for target, rules in by_target.items():
                self.assertTrue(target == "*" or target in targets, target)
                for rule in rules:
                    self.assertTrue(rule["rows"])
                    for row in rule["rows"]:
                        self.assertIn(row, rows)
                        if target != "*":
                            self.assertIn(rows[row], targets[target]["features"], f"{target} {row}")
                    for key in set(rule) - {"rows"}:
                        self.assertIn(key, ("m", "n", "k", "outputs", "columns"))
                        low, high = rule[key]
                        self.assertLessEqual(low, high)

    def test_code_classes(self):
        # One class is one feature set, and machine numbers are unique.
        machines = set()
        features = {}
        for target in load_arch(OPTIONS.arch)[1].values():
            if target["kind"] != "elf":
                continue
            self.assertNotIn(target["elf_mach"], machines)
            machines.add(target["elf_mach"])
            self.assertEqual(features.setdefault(target["code_class"], target["features"]), target["features"])


if __name__ == "__main__":
    PARSER = argparse.ArgumentParser()
    for NAME in ("arch", "kernels", "tuning", "clang", "lld"):
        PARSER.add_argument("--" + NAME, required=True)
    OPTIONS, REST = PARSER.parse_known_args()
    unittest.main(argv=[sys.argv[0], *REST])
