"""The client in Python: ffi_test.py says what it does."""

import os
import sys

import ckitchen


def follow(context, stream, folder):
    with open(os.path.join(folder, "problem"), encoding="utf-8") as file:
        lines = [line.split() for line in file]
    operator, fields, outputs = lines[0][1], {}, {}
    for kind, name, *values in lines[1:]:
        if kind == "in":
            with open(os.path.join(folder, values[0]), "rb") as file:
                fields[name] = context.upload(file.read())
        elif kind == "out":
            fields[name] = outputs[name] = context.alloc(int(values[0]))
        elif kind == "ints":
            fields[name] = [int(value) for value in values]
        else:
            fields[name] = {"int": int, "float": float, "text": str}[kind](values[0])
    try:
        if operator == "context":
            ckitchen.Context("cpu", **fields)
            return
        size = context.workspace_size(operator, **fields)
        workspace = context.alloc(size)
        context.prepare(operator, **fields)
        getattr(context, operator)(stream=stream, workspace=workspace, workspace_size=size, **fields)
        context.synchronize(stream)
    except ckitchen.Error as error:
        with open(os.path.join(folder, "error"), "w", encoding="utf-8") as file:
            file.write(f"{error.status}\n{error}\n")
        return
    for name, buffer in outputs.items():
        with open(os.path.join(folder, name + ".out"), "wb") as file:
            file.write(buffer.read())


def main(backend, *folders):
    with ckitchen.Context(backend) as context:
        stream = context.stream()
        for folder in folders:
            follow(context, stream, folder)
        context.destroy_stream(stream)
        names = {ckitchen.CK_BACKEND_CPU: "cpu", ckitchen.CK_BACKEND_HIP: "hip", ckitchen.CK_BACKEND_CUDA: "cuda"}
        calls = sum(variant["calls"] for variant in context.variants())
        print(f"device {names[context.info()['backend']]} {context.info()['arch']}, {calls} calls")


if __name__ == "__main__":
    main(*sys.argv[1:])
