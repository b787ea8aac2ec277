#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two versions of the Debian packages, and the bare system they are for.

usage: packages.py BUILD_DIR    builds them and lets lintian judge them

The test of the packages takes what was built, if the tree is the same."""
import fcntl
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys

import bare
import live
from live import want

NEXT = "0.1.0-1+next1"


def tree():
    """A name of the tracked files as they are; None where there is no git."""
    said = [subprocess.run(["git", "-C", live.ROOT, *words], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
            for words in (("rev-parse", "HEAD"), ("diff", "HEAD"))]
    if any(s.returncode != 0 for s in said):
        return None
    return hashlib.sha256(b"\n".join(s.stdout for s in said)).hexdigest()


def package(folder, *options):
    done = subprocess.run([os.path.join(live.ROOT, "scripts", "package"), *options, folder],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    want(done.returncode == 0, done.stdout)
    return sorted(glob.glob(f"{folder}/*weir*.deb"))


def keep(paths, into):
    shutil.rmtree(into, ignore_errors=True)
    os.makedirs(into)
    return [shutil.move(p, into) for p in paths]


def build(folder):
    first = keep(package(folder), os.path.join(folder, "first"))
    second = package(folder, "--version", NEXT)
    return first, keep([*second, f"{folder}/Packages"], os.path.join(folder, "second"))


def built(build_dir, again=False):
    """The folder of the packages, and the paths of both versions; of the second with its index.
    Others that build in the folder wait (scripts/image)."""
    folder = os.path.join(build_dir, "package")
    os.makedirs(folder, exist_ok=True)
    stamp = os.path.join(folder, "built.json")
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = {}
        if os.path.exists(stamp):
            with open(stamp) as f:
                before = json.load(f)
            os.unlink(stamp)
        name = tree()
        if again or name is None or before.get("tree") != name:
            before = {"tree": name, "paths": build(folder)}
        with open(stamp, "w") as f:
            json.dump(before, f)
    return folder, *before["paths"]


def two_versions_are_built_and_lintian_finds_nothing():
    folder, *both = built(os.path.abspath(sys.argv[1]), again=True)
    for paths in both:
        want({os.path.basename(p).split("_")[0] for p in paths if p.endswith(".deb")} ==
             {"python3-weir", "weir-doc", "weir-lab", "weir"}, f"{paths}")
    bare.base(folder)


if __name__ == "__main__":
    sys.exit(live.run_tests([two_versions_are_built_and_lintian_finds_nothing]))
