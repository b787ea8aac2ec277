#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps on a Dask scheduler with two workers: the same bytes as on one machine; a worker, the
scheduler and a run that end in the middle.

usage: test_clusters.py WEIR_LAB ROOT

The sweep runs a script in place of weir-lab. The script writes its number and the process of its
worker into the pipe `started`, and waits for a line from the pipe `go`. So each test knows who runs
what when it ends something.
"""
import contextlib
import importlib.util
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LAB, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SWEEP = str(ROOT / "control/lab/sweep.py")
SCENARIO = str(ROOT / "conf/lab/first.yaml")
PORT = 8786
ON = f"dask://127.0.0.1:{PORT}"
SKIP, ENDS_S = 77, 300
PROGRAM = """#!/bin/sh
# {comment}
if [ "$1" = run ]; then
	echo $PPID > {folder}/started
	read line < {folder}/go
fi
exec {lab} "$@"
"""


class Cluster:
    """A scheduler, two workers of one process and one thread each, and the script."""

    def __init__(self, n_workers=2, **settings):
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.env = {**os.environ, **settings, "PYTHONWARNINGS": "ignore"}
        for name in "started", "go":
            os.mkfifo(self.folder / name)
        self.started = self.stack.enter_context(
            open(os.open(self.folder / "started", os.O_RDWR)))
        self.go = os.open(self.folder / "go", os.O_RDWR)
        self.program = self.script("program", "the build of both sides")
        self.scheduler = self.start("/usr/bin/dask-scheduler", "--host", "127.0.0.1", "--port",
                                    str(PORT), "--no-dashboard")
        self.workers = [self.worker() for _ in range(n_workers)]

    def script(self, name, comment):
        path = self.folder / name
        path.write_text(PROGRAM.format(comment=comment, folder=self.folder, lab=LAB))
        path.chmod(0o755)
        return str(path)

    def start(self, *command):
        log = self.stack.enter_context(open(self.folder / "log", "a"))
        child = subprocess.Popen(command, stdout=log, stderr=log, env=self.env)
        self.stack.callback(lambda: (child.kill(), child.wait()))
        return child

    def worker(self, *prefix):
        return self.start(*prefix, "/usr/bin/dask-worker", f"tcp://127.0.0.1:{PORT}", "--nthreads",
                          "1", "--no-nanny", "--no-dashboard", "--local-directory",
                          str(self.folder / "workers"))

    def kill(self, pid):
        """A worker; its run ends with it, and takes no line from the pipe any more."""
        runs = [run for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for run in (task / "children").read_text().split()]
        worker = next(w for w in self.workers if w.pid == pid)
        worker.kill()
        worker.wait()
        while any(os.path.exists(f"/proc/{run}") for run in runs):
            time.sleep(0.01)

    def let_go(self, n):
        os.write(self.go, b"\n" * n)

    def running(self, n):
        """The processes of the workers of the next n runs that begin."""
        return [int(self.started.readline()) for _ in range(n)]

    def sweep(self, *args, n=6, program=None, stderr=subprocess.PIPE):
        seeds = ",".join(str(s + 1) for s in range(n))
        return subprocess.Popen(["/usr/bin/python3", "-EsB", SWEEP, "--digits=4",
                                 f"--vary=seed={seeds}", *args, "--", program or self.program,
                                 SCENARIO], stdout=subprocess.PIPE, stderr=stderr,
                                text=True, env=self.env)

    def sweep_on_a_terminal(self, *args, **more):
        """The sweep, and the other end of its terminal."""
        ours, its = pty.openpty()
        self.stack.callback(os.close, ours)
        swept = self.sweep(*args, stderr=its, **more)
        os.close(its)
        return swept, ours

    def hangs(self, *_):
        left = subprocess.run(["ps", "-eo", "pid,ppid,stat,wchan:20,args"], capture_output=True,
                              text=True, check=False).stdout
        raise AssertionError(f"not over after {ENDS_S} s\n{left}"
                             f"{(self.folder / 'log').read_text()[-10000:]}")

    def __enter__(self):
        signal.signal(signal.SIGALRM, self.hangs)
        signal.alarm(ENDS_S)
        return self

    def __exit__(self, *_):
        signal.alarm(0)
        self.stack.close()


def read_until(terminal, text):
    said = ""
    while text not in said:
        said += os.read(terminal, 4096).decode()


def end(child, code):
    out, err = child.communicate(timeout=ENDS_S)
    if child.returncode != code:
        raise AssertionError(f"exit {child.returncode}, not {code}\n{out}{err}")
    return out, err


def files(folder):
    """Only the page differs: runs of one machine have pages of their own, to which it leads."""
    found = {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir() if p.is_file()}
    page = re.sub(rb'"report":("runs/[0-9a-f]+.html"|null)', b'"report":', found["sweep.html"])
    return {**found, "sweep.html": page}


class Clusters(unittest.TestCase):
    def test_a_worker_that_is_killed_loses_nothing_and_changes_no_byte(self):
        with Cluster() as c:
            there, here = str(c.folder / "there"), str(c.folder / "here")
            swept = c.sweep("--on", ON, "--out", there, "--json")
            first, second = c.running(2)
            self.assertNotEqual(first, second)
            c.kill(first)
            c.let_go(7)
            out, _ = end(swept, 0)
            # Five runs after the first two: one of the six began twice.
            self.assertEqual(c.running(5), [second] * 5)
            local = c.sweep("--out", here, "--json", "--jobs=2")
            c.let_go(6)
            self.assertEqual(end(local, 0)[0], out)
            self.assertEqual(files(here), files(there))

    def test_a_scheduler_that_is_gone_ends_the_sweep_and_the_next_one_goes_on(self):
        with Cluster() as c:
            there = str(c.folder / "there")
            c.let_go(2)
            end(c.sweep("--on", ON, "--out", there, n=2), 0)
            self.assertEqual(len(c.running(2)), 2)
            swept = c.sweep("--on", ON, "--out", there)
            c.running(2)
            c.scheduler.kill()
            c.scheduler.wait()
            out, err = end(swept, 1)
            self.assertIn("the Dask scheduler at tcp://127.0.0.1:8786 is gone", err)
            self.assertIn("the same command goes on with what is done", " ".join(err.split()))
            self.assertEqual((out.count("PASS"), out.count("not run")), (2, 4), out)
            for w in c.workers:
                w.kill()
                w.wait()
            c.let_go(6) # the runs that were killed may have taken two
            local = c.sweep("--out", there, "--jobs=1")
            out, _ = end(local, 0)
            self.assertEqual(out.count("PASS"), 6)
            self.assertEqual(c.running(4), [local.pid] * 4)

    def test_a_scheduler_that_does_not_answer_is_named_and_the_sweep_goes_on_with_it(self):
        with Cluster() as c:
            swept, terminal = c.sweep_on_a_terminal("--on", ON, n=2)
            c.running(2)
            c.scheduler.send_signal(signal.SIGSTOP)
            read_until(terminal, "has not answered for 10 s; the runs wait for it")
            c.scheduler.send_signal(signal.SIGCONT)
            c.let_go(2)
            out, _ = end(swept, 0)
            self.assertEqual(out.count("PASS"), 2, out)

    def test_a_kept_result_that_is_damaged_is_made_again(self):
        with Cluster(n_workers=0) as c:
            there = str(c.folder / "there")
            c.let_go(2)
            out, _ = end(c.sweep("--out", there, "--jobs=1", n=2), 0)
            good = sorted(pathlib.Path(there, "results").iterdir())
            for text in ('{"status":0,"out":"","err":""}', '{"status":"0","out":"{}","err":""}',
                         '{"status":0,"out":null,"err":""}', '{"status":0,"out":"[]","err":""}',
                         "[" * 100000, good[0].read_text().replace("1", "2"), ""):
                good[0].write_text(text)
                c.let_go(1)
                again, _ = end(c.sweep("--out", there, "--jobs=1", n=2), 0)
                self.assertEqual(again, out, text[:80])

    def test_a_run_that_ends_each_worker_is_shown_and_stops_no_other(self):
        with Cluster(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as c:
            swept = c.sweep("--on", ON, n=2)
            first, second = c.running(2)
            c.kill(first)
            c.let_go(1)
            self.assertEqual(c.running(1), [second])
            c.kill(second)
            out, err = end(swept, 1)
            self.assertEqual((out.count("PASS"), out.count("ERROR:")), (1, 1), out + err)
            self.assertIn("its worker died", out)

    def test_the_other_runs_of_a_worker_that_died_are_not_blamed(self):
        with Cluster(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as c:
            swept = c.sweep("--on", ON, n=8)
            first, _ = c.running(2)
            c.kill(first)
            c.let_go(9)
            out, err = end(swept, 0)
            self.assertEqual(out.count("PASS"), 8, out + err)

    def test_runs_without_a_worker_say_so_and_wait(self):
        with Cluster(0) as c:
            swept = c.sweep("--on", ON, n=1)
            self.assertEqual(swept.stderr.readline(),
                             f"no worker is at tcp://127.0.0.1:{PORT} yet: the runs wait for one\n")
            c.workers.append(c.worker())
            c.running(1)
            c.let_go(1)
            out, err = end(swept, 0)
            self.assertEqual(out.count("PASS"), 1, out + err)

    def test_a_worker_with_another_build_is_refused(self):
        with Cluster(n_workers=0) as c:
            other = c.script("other", "another build")
            c.worker("unshare", "-m", "sh", "-c", f'mount --bind {other} {c.program}; exec "$@"',
                     "sh")
            c.let_go(2)
            _, err = end(c.sweep("--on", ON, n=2), 1)
            self.assertIn(f"has another build of {c.program}", " ".join(err.split()))

    def test_no_scheduler_is_a_clear_error(self):
        with Cluster(n_workers=0) as c:
            c.scheduler.kill()
            c.scheduler.wait()
            _, err = end(c.sweep("--on", ON), 2)
            self.assertIn(f"no Dask scheduler answers at {ON}", " ".join(err.split()))

    def test_a_sweep_without_a_worker_says_so_and_goes_on_when_one_comes(self):
        with Cluster(n_workers=0) as c:
            swept, terminal = c.sweep_on_a_terminal("--on", ON, n=2)
            read_until(terminal, "sweep: 0 of 2 runs done, 0 failed, waiting for a worker")
            c.worker()
            read_until(terminal, "sweep: 0 of 2 runs done, 0 failed on 1 worker ")
            c.let_go(2)
            out, _ = end(swept, 0)
            self.assertEqual(out.count("PASS"), 2, out)

    def test_a_sweep_that_waits_for_a_worker_can_be_stopped(self):
        with Cluster(n_workers=0) as c:
            swept, terminal = c.sweep_on_a_terminal("--on", ON, n=2)
            read_until(terminal, "waiting for a worker")
            swept.send_signal(signal.SIGINT)
            out, _ = end(swept, 1)
            self.assertEqual(out.count("not run"), 2, out)
            read_until(terminal, "stopped")

    def test_a_tuner_finds_the_same_on_workers(self):
        with Cluster() as c:
            def tuned(*args):
                return subprocess.run([LAB, "tune", SCENARIO, "--vary", "kmin=5KB..100KB:log:3",
                                       "--objective", "queue(s1.p3.3, p99)", "--rounds", "2",
                                       *args], capture_output=True, text=True, env=c.env,
                                      timeout=ENDS_S, check=False)
            here, there = tuned(), tuned("--on", ON)
            self.assertEqual((there.returncode, there.stdout), (here.returncode, here.stdout))
            self.assertIn("round 2", here.stdout, here.stderr)

    def test_the_commands_of_the_page_do_what_it_says(self):
        page = (ROOT / "docs/clusters.md").read_text()
        commands = [shlex.split(c) for c in re.findall(r"(?m)^    (\S.*)$", page)]
        self.assertEqual([c[0] for c in commands], ["dask-scheduler", "dask-worker", "weir-lab",
                                                    "weir-lab", "scripts/seeds"])
        with Cluster(n_workers=0) as c:
            for name in "conf", "scripts", "control":
                (c.folder / name).symlink_to(ROOT / name)
            (c.folder / "build").symlink_to(pathlib.Path(LAB).parents[2])
            self.assertEqual(commands[0][1:], ["--host", "127.0.0.1", "--port", str(PORT)])
            c.start("/usr/bin/dask-worker", *commands[1][1:], "--no-dashboard",
                    "--local-directory", str(c.folder / "workers"))
            for program, *args in commands[2:]:
                program = LAB if program == "weir-lab" else str(ROOT / program)
                done = subprocess.run([program, *args], cwd=c.folder, capture_output=True,
                                      text=True, env=c.env, timeout=ENDS_S, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("20 seeds in 4 runs: 4 pass, 0 fail, 0 not run", done.stdout)
            kept = {p.parent.parent.name for p in c.folder.glob("runs/*/results/*.json")}
            self.assertEqual(kept, {"seeds", "tune", "random"})

    def test_a_stopped_sweep_ends_at_once_and_says_what_is_done(self):
        with Cluster() as c:
            swept = c.sweep("--on", ON, "--out", str(c.folder / "there"))
            c.running(2)
            swept.send_signal(signal.SIGINT)
            out, err = end(swept, 1)
            self.assertEqual(out.count("not run"), 6)
            self.assertIn("stopped", err)


def own_network():
    """Goes on in a network namespace of its own."""
    if os.geteuid() != 0 or importlib.util.find_spec("distributed") is None:
        print("needs root and python3-distributed")
        sys.exit(SKIP)
    if "WEIR_CLUSTERS" not in os.environ: # in a network namespace
        os.environ["WEIR_CLUSTERS"] = "1"
        os.execvp("unshare", ["unshare", "-n", "/usr/bin/python3", "-B", *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


if __name__ == "__main__":
    own_network()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
