# SPDX-License-Identifier: Apache-2.0
"""weir-bench of a build directory, linked anew with its object files in another order.

The place of a function in memory changes what a packet costs by a few per cent. The command that
links weir-bench stays as it is, with a linker script that inserts one section more: the code of
each object file, in an order drawn by the number of the layout. The order goes by names, so the
objects that two builds share come in the same order in both. Each object begins at a multiple of
64, plus a pad drawn by its name: so its place in a cache line is the same in both builds as well.
"""
import hashlib
import os
import re
import shlex

from tools import Failed, run

TARGET = "tests/perf/weir-bench"
LINE = 64
STEP = 16  # the compiler aligns functions by so much
OBJECT = re.compile(r" -o (\S+\.o)(?= |$)")


def drawn(number, name):
    return hashlib.sha256(f"{number} {name}".encode()).digest()


def script(objects, number):
    """The linker script of a layout. objects: paths of object files."""
    names = sorted({os.path.basename(o) for o in objects}, key=lambda n: drawn(number, n))
    lines = [f"\t\t. = ALIGN({LINE}) + {drawn(number, n)[-1] * STEP % LINE}; *{n}(.text)\n"
             for n in names]
    return "SECTIONS {\n\t.text.order : {\n" + "".join(lines) + "\t}\n} INSERT BEFORE .text;\n"


class Layouts:
    """The layouts of one build directory. All files go into `folder`."""

    def __init__(self, name, build, folder):
        self.name, self.build, self.folder = name, build, folder
        os.makedirs(folder)
        done = run("ninja", "-C", build, "-t", "commands", TARGET, check=False)
        lines = done.stdout.splitlines()
        if done.returncode != 0 or TARGET not in lines[-1].split():
            self.refuse(f"ninja knows no command that links {TARGET}")
        self.objects = [o for line in lines for o in OBJECT.findall(line)]
        self.command = [*shlex.split(lines[-1]), "-s"] # symbols are most of the file
        if any(word.startswith("-flto") for word in self.command):
            self.refuse("it is built with link-time optimisation, which leaves no object files")

    def refuse(self, why):
        raise Failed(f"weir-bench of {self.name} cannot be linked anew: {why}")

    def path(self, number):
        """The program in that layout, linked when it is asked for first."""
        program = os.path.join(self.folder, str(number))
        if not os.path.exists(program):
            with open(f"{program}.ld", "w") as f:
                f.write(script(self.objects, number))
            words = [program if word == TARGET else word for word in self.command]
            done = run(*words, f"-Wl,-T,{program}.ld", cwd=self.build, check=False)
            if done.returncode != 0:
                self.refuse(done.stderr.strip())
        return program
