# SPDX-License-Identifier: Apache-2.0
"""What the parts of scripts/bench share: weir-bench, hugepages, and programs that are watched."""
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts", "netlab"))

from world import Failed, run # noqa: E402: the path is set above

HUGE_MB = 2


def say(text):
    """A line of progress. A terminal that is gone ends no measurement."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        pass


def meminfo(key):
    with open("/proc/meminfo") as f:
        return next((int(line.split()[1]) for line in f if line.startswith(f"{key}:")), 0)


def eal_memory(mb):
    """Hugepages where enough are free, as weir-bench itself takes them."""
    huge = meminfo("HugePages_Free") * HUGE_MB >= mb
    return ["--in-memory" if huge else "--no-huge", "-m", str(mb)]


class Bench:
    """weir-bench of one build directory, on these CPUs."""

    def __init__(self, build, cpus, rounds):
        self.path = os.path.join(build, "tests", "perf", "weir-bench")
        self.cpus, self.rounds = cpus, rounds
        if not os.access(self.path, os.X_OK):
            raise Failed(f"{self.path} is missing; run scripts/setup")

    def command(self, *args):
        cpus = ",".join(map(str, self.cpus))
        return [self.path, "--cpus", cpus, "--rounds", str(self.rounds), *map(str, args)]

    def run(self, *args, prefix=()):
        done = run(*prefix, *self.command("--json", *args), timeout=300)
        text = done.stdout[done.stdout.find("{"):]
        try:
            return json.loads(text)
        except ValueError:
            raise Failed(f"weir-bench printed no figures\n{done.stdout}{done.stderr}") from None

    def traffic(self, folder, frame, flows, macs):
        os.makedirs(folder, exist_ok=True)
        run(*self.command("--only-traffic", "--traffic", folder, "--frame", frame, "--flows",
                          flows, "--macs", macs))
        return folder


class Program:
    """A program in the background with its output in a file; gone at the end of the `with`."""

    def __init__(self, log, cmd, cwd=None, env=None):
        self.log = log
        with open(log, "w") as out:
            self.p = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=out, text=True, cwd=cwd,
                                      stderr=subprocess.STDOUT,
                                      env={**os.environ, **(env or {})})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(10)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
        self.p.stdin.close()

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def say(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()

    def wait_for(self, condition, what, seconds=30):
        """condition: a function, or a text that it must have printed."""
        end = time.monotonic() + seconds
        done = condition if callable(condition) else lambda: condition in self.said()
        while not done():
            if self.p.poll() is not None or time.monotonic() > end:
                last = "\n".join(self.said().strip().splitlines()[-8:])
                raise Failed(f"{what} did not happen\n{last}")
            time.sleep(0.01)


def per_packet(samples):
    """Cycles per packet between readings of (cycles, packets): the best tenth, and the median.

    A reading from outside is not one moment: where the reader is taken off its core in the middle,
    one window looks cheaper than it was and the next dearer. The tenth percentile passes those by.
    """
    pairs = zip(samples, samples[1:])
    figures = sorted((b[0] - a[0]) / (b[1] - a[1]) for a, b in pairs
                     if b[1] > a[1] and b[0] > a[0])
    if not figures:
        raise Failed("nothing was forwarded")
    return {"cycles": figures[len(figures) // 10], "median": statistics.median(figures),
            "windows": len(figures)}
