# SPDX-License-Identifier: Apache-2.0
"""Which tests of the suite `long` a change needs: tests/choice.toml, read and asked.

A test is known by the paths of its command below the source root or the build directory: its
script, or its program.
"""
import os
import subprocess
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = "tests/choice.toml"


def git(*args):
    """The lines of an answer of git whose ends are zeros; raises CalledProcessError."""
    done = subprocess.run(["git", "-C", ROOT, *args], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.split("\0") if line]


def changed_files(base):
    """Paths that differ between the revision `base` and the tree."""
    return set(git("diff", "--relative", "--name-only", "-z", base, "--")
               + git("ls-files", "--others", "--exclude-standard", "-z"))


def commit():
    """The commit that is checked out; "" without history."""
    try:
        return git("rev-parse", "HEAD")[0].strip()
    except subprocess.CalledProcessError:
        return ""


def paths_of(test, build):
    """The paths of the command of a test, a row of meson's introspection."""
    found = set()
    for arg in test["cmd"]:
        path = os.path.normpath(arg)
        for root in (os.path.abspath(build), ROOT):
            if path.startswith(root + os.sep):
                found.add(os.path.relpath(path, root))
                break
    return found - {"scripts/contain"}


def begin_so(paths, beginnings):
    """True when one of the paths begins with one of the beginnings."""
    return any(p.startswith(b) for p in paths for b in beginnings)


class Table:
    def __init__(self, root=ROOT):
        with open(os.path.join(root, TABLE), "rb") as f:
            rows = tomllib.load(f)
        self.always, self.rows = rows["always"], rows["changed"]

    def beginnings(self):
        """Of all tests that the table names."""
        return self.always + [t for tests in self.rows.values() for t in tests]

    def chosen(self, files):
        """The beginnings of the paths of the tests that a change of these files needs."""
        wanted = set(self.always)
        for file in files:
            for beginning, tests in self.rows.items():
                if file.startswith(beginning):
                    wanted.update(tests)
            if file.startswith("tests/"):  # a test, or what the tests of its folder share
                wanted.add(os.path.dirname(file) + "/")
        return wanted
