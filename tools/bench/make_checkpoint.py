#!/usr/bin/env python3
"""Writes a safetensors checkpoint with the shapes of a video diffusion transformer and random bf16 weights. Standard library only.

    make_checkpoint.py model.safetensors [--gigabytes 8] [--hidden 5120] [--ffn 13824]

For measuring conversions: as many blocks (eight attention projections and two of the feed-forward network, with biases and norms)
as come closest to the size. Values are Gaussian, from one million numbers that are repeated out of step with every row.
"""

import argparse
import array
import json
import random
import struct

VALUES = 1048573  # a prime: no row length divides it


def random_bf16(count, sigma=0.03):
    generator = random.Random(1)
    bits = array.array("I", array.array("f", (generator.gauss(0, sigma) for _ in range(count))).tobytes())
    return array.array("H", ((b + 0x7FFF + ((b >> 16) & 1)) >> 16 for b in bits)).tobytes()


def block_tensors(number, hidden, ffn):
    name = "blocks.%d." % number
    for part in ("self_attn", "cross_attn"):
        for layer in ("q", "k", "v", "o"):
            yield "%s%s.%s.weight" % (name, part, layer), [hidden, hidden]
            yield "%s%s.%s.bias" % (name, part, layer), [hidden]
        yield "%s%s.norm_q.weight" % (name, part), [hidden]
    yield name + "ffn.0.weight", [ffn, hidden]
    yield name + "ffn.0.bias", [ffn]
    yield name + "ffn.2.weight", [hidden, ffn]
    yield name + "ffn.2.bias", [hidden]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--hidden", type=int, default=5120)
    parser.add_argument("--ffn", type=int, default=13824)
    options = parser.parse_args()

    block_bytes = 2 * (8 * options.hidden**2 + 2 * options.ffn * options.hidden)
    blocks = max(1, round(options.gigabytes * 1e9 / block_bytes))
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for number in range(blocks):
        for name, shape in block_tensors(number, options.hidden, options.ffn):
            begin, end = end, end + 2 * shape[0] * (shape[1] if len(shape) == 2 else 1)
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    piece = random_bf16(VALUES)
    with open(options.output, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _ in range(end // len(piece)):
            file.write(piece)
        file.write(piece[: end % len(piece)])
    print("%s: %d blocks, %d tensors, %.2f GB" % (options.output, blocks, len(header) - 1, (8 + len(text) + end) / 1e9))


if __name__ == "__main__":
    main()
