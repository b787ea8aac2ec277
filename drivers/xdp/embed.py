#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a file into a C array, so that the BPF object travels inside the binary.

usage: embed.py INPUT OUTPUT NAME
"""
import sys


def main():
    source, target, name = sys.argv[1:4]
    data = open(source, "rb").read()
    rows = [", ".join(f"0x{b:02x}" for b in data[i:i + 16]) for i in range(0, len(data), 16)]
    with open(target, "w", encoding="ascii") as out:
        out.write(f"_Alignas(8) static const unsigned char {name}[{len(data)}] = {{\n\t")
        out.write(",\n\t".join(rows))
        out.write(",\n};\n")


main()
