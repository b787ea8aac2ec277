#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps and tuners whose folder is on a file system that becomes full.

usage: test_full_disk.py WEIR_LAB ROOT
"""
import contextlib
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LAB, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
SCENARIO = str(ROOT / "conf/lab/first.yaml")
TUNED = ("tune", SCENARIO, "--vary", "kmin=5KB..100KB:log:3", "--rounds", "1", "--objective",
         "queue(s1.p3.3, p99)")
PAGE = re.compile(rb'"report":("runs/[0-9a-f]+.html"|null)')
SWEPT = ("sweep", SCENARIO, "--vary", "seed=1,2,3,4,5,6")


@contextlib.contextmanager
def disk(pages):
    """A folder with room for so many pages."""
    with tempfile.TemporaryDirectory() as folder:
        options = f"size={4096 * pages}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
        try:
            yield pathlib.Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def more_room(folder):
    subprocess.run(["mount", "-o", "remount,size=16M", str(folder)], check=True)


def lab(*args):
    done = subprocess.run([LAB, *map(str, args)], capture_output=True, text=True, timeout=120,
                          check=False)
    return done.returncode, done.stdout, " ".join(done.stderr.split())


def files(folder):
    """Sums of what the command leaves. A run whose page found no room has none, and is not run
    again for it."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: hashlib.sha256(PAGE.sub(b"", text)).hexdigest() for name, text in found.items()
            if not name.startswith("runs/")}


class FullDisk(unittest.TestCase):
    def full_and_then_not(self, command, *args):
        with disk(4) as small, disk(4096) as large:
            code, out, err = lab(*args, "--out", small)
            self.assertEqual((code, out), (1, lab(*args, "--out", large)[1]))
            self.assertIn(f"{small}/results: cannot keep results: No space left on device", err)
            self.assertIn(f"weir-lab {command}: {small}: cannot write the results: No space left "
                          "on device", err)
            # What is there is whole.
            whole, kept = files(large), files(small)
            self.assertGreater(len(kept), 0)
            self.assertEqual(kept, {name: whole[name] for name in kept})
            more_room(small)
            self.assertEqual(lab(*args, "--out", small)[:2], (0, out))
            self.assertEqual(files(small), whole)

    def test_a_sweep_loses_no_result_to_a_full_disk_and_goes_on_with_more_room(self):
        self.full_and_then_not("sweep", *SWEPT)

    def test_a_tuner_loses_no_result_to_a_full_disk_and_goes_on_with_more_room(self):
        self.full_and_then_not("tune", *TUNED)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
