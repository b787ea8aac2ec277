#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of sweeps and tuners: results that are kept, runs that are not started again, clear
errors.

usage: test_runs.py ROOT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = sys.argv.pop(1)
sys.path.insert(0, str(pathlib.Path(ROOT, "control/lab")))
import runs # noqa: E402

# Prints its arguments, and appends a letter to the file `log`; `list` prints what it reads.
PROGRAM = """#!/bin/sh
[ "$1" = list ] && { echo $0.input; exit 0; }
echo x >> $(dirname $0)/log
cat $0.input
[ "$1" = edits ] && echo more >> $0.input
[ "$1" = dies ] && kill -9 $$
[ "$1" = fails ] && { echo '{"complete":true}'; exit 1; }
[ "$1" = broken ] && { echo '{"complete":false}'; exit 1; }
echo "$@"
"""


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = str(self.folder / "program")
        pathlib.Path(self.program).write_text(PROGRAM)
        os.chmod(self.program, 0o755)
        self.input = pathlib.Path(self.program + ".input")
        self.input.write_text("")
        self.engine = runs.Engine(2, out=str(self.folder))

    def run_all(self, *words, engine=None):
        """What each of the runs gave, by word; how many were started."""
        jobs = [runs.Job([self.program, w], [self.program, "list"]) for w in words]
        ended, log = {}, self.folder / "log"
        log.write_text("")

        def end(i, *result):
            self.assertNotIn(words[i], ended)
            ended[words[i]] = result

        self.assertFalse((engine or self.engine).run(jobs, end))
        return ended, len(log.read_text().split())

    def test_a_run_that_is_done_is_not_started_again(self):
        first, n = self.run_all("a", "b", "fails")
        self.assertEqual(n, 3)
        again, n = self.run_all("a", "b", "fails", engine=runs.Engine(2, out=str(self.folder)))
        self.assertEqual((again, n), (first, 0))
        self.assertEqual(self.run_all("a", "c")[1], 1)

    def test_another_content_of_a_file_or_of_the_program_is_another_run(self):
        self.run_all("a")
        self.input.write_text("new\n")
        ended, n = self.run_all("a")
        self.assertEqual((ended["a"], n), ((0, "new\na\n", ""), 1))
        pathlib.Path(self.program).write_text(PROGRAM + "# another build\n")
        self.assertEqual(self.run_all("a")[1], 1)
        self.assertEqual(self.run_all("a")[1], 0)

    def test_a_run_that_crashed_or_was_broken_off_is_shown_and_not_kept(self):
        for _ in range(2):
            ended, n = self.run_all("dies", "broken", "a")
            self.assertEqual((ended["dies"][0], ended["broken"][0], ended["a"][0]), (-9, 1, 0))
        self.assertEqual(n, 2)

    def test_a_run_whose_file_changed_meanwhile_is_not_kept(self):
        self.run_all("edits")
        self.assertEqual(list((self.folder / "results").iterdir()), [])

    def test_a_result_that_is_not_whole_counts_as_none(self):
        self.run_all("a")
        kept, = (self.folder / "results").iterdir()
        for text in "", kept.read_text()[:-5], "{}", "[]", "\xff":
            kept.write_text(text)
            self.assertEqual(self.run_all("a")[1], 1, text)
            self.assertEqual(self.run_all("a")[1], 0, text)

    def test_a_full_disk_loses_no_result_and_leaves_no_part(self):
        self.run_all("a")
        with mock.patch.object(runs.os, "rename", side_effect=OSError(28, "No space left")):
            ended, _ = self.run_all("a", "b")
        self.assertEqual(ended["b"], (0, "b\n", ""))
        self.assertEqual(self.engine.trouble(), f"{self.folder}/results: cannot keep results: "
                         "No space left")
        self.assertEqual(len(list((self.folder / "results").iterdir())), 1)
        self.assertEqual(self.run_all("a", "b")[1], 1)

    def test_many_seeds_name_the_piece_that_crashes_and_run_the_others(self):
        program = self.folder / "seeds"
        program.write_text('#!/bin/sh\necho "with $2"; [ "$2" = 3-4 ] && kill -9 $$; exit 0\n')
        program.chmod(0o755)
        done = subprocess.run([pathlib.Path(ROOT, "scripts/seeds"), program, "--seeds", "1-6",
                               "--chunk", "2"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout),
                         (1, "seeds 3-4: exit -9\nwith 3-4\n"
                          "6 seeds in 3 runs: 2 pass, 1 fail, 0 not run\n"))

    def test_a_sweep_names_the_run_that_crashes_and_runs_the_others(self):
        pathlib.Path(self.program).write_text(
            "#!/bin/sh\ncase \"$*\" in *seed=2*) kill -9 $$; esac\n"
            "echo '{\"passed\":true,\"metrics\":[]}'\n")
        done = subprocess.run([sys.executable, "-B", pathlib.Path(ROOT, "control/lab/sweep.py"),
                               "--digits=4", "--vary=seed=1,2,3", "--", self.program, "a.yaml"],
                              capture_output=True, text=True, check=False)
        rows = [line.split() for line in done.stdout.splitlines() if line.strip()[:1] in "123"]
        self.assertEqual((done.returncode, [r[:2] for r in rows if len(r) > 1]),
                         (1, [["1", "PASS"], ["2", "ERROR"], ["3", "PASS"]]), done.stdout)
        self.assertIn("ERROR: ended by signal 9 (Killed)", done.stdout)

    def test_on_needs_a_dask_address(self):
        for on in "dask", "tcp://h:1", "dask://host", "dask://":
            with self.assertRaisesRegex(runs.Refused, "--on needs dask://HOST:PORT"):
                runs.Engine(1, on)

    def test_without_dask_the_error_names_the_package(self):
        with mock.patch.dict(sys.modules, {"distributed": None}), \
                mock.patch.object(runs, "DEBIAN_PYTHON", sys.executable), \
                self.assertRaisesRegex(runs.Refused, "apt-get install python3-distributed"):
            runs.Engine(1, "dask://h:1")

    def test_a_worker_with_other_contents_refuses(self):
        hashes = {self.program: runs.hash_of(self.program), "program.input": "0"}
        status, why, _ = runs.run_there([self.program, "a"], str(self.folder), hashes)
        self.assertIsNone(status)
        self.assertIn("has other contents of program.input", why)
        hashes = {self.program: "0"}
        self.assertIn(f"has another build of {self.program}",
                      runs.run_there([self.program, "a"], str(self.folder), hashes)[1])
        hashes = {"none": "0"}
        self.assertIn("cannot read none",
                      runs.run_there([self.program, "a"], str(self.folder), hashes)[1])
        self.assertEqual(runs.run_there([self.program, "a"], str(self.folder), {}), (0, "a\n", ""))


if __name__ == "__main__":
    unittest.main()
