#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that a signal ends in the middle leave nothing behind: each phase, each signal.

usage: test_ended.py BUILD_DIR

The test has a process namespace of its own, so it sees every process of the runs that it starts.
"""
import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "live"))

import live # noqa: E402
from live import ROOT, want # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
PRIVATE = ("/run/netns", "/run/weir", "/run/dpdk", "/run/frr")
PLACES = (*PRIVATE, "/dev/hugepages")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
STARTS_S, ENDS_S = 300, 60
GRACE_S = 30 # of scripts/contain


def processes():
    """(pid, command line) of all processes but this one and those above it."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line and pid not in ABOVE:
            yield pid, line


def above():
    """This process and its parents."""
    pid, found = os.getpid(), set()
    while pid:
        found.add(pid)
        with open(f"/proc/{pid}/stat") as f:
            pid = int(f.read().rsplit(")", 1)[1].split()[1])
    return found


def files(tmp):
    return sorted(os.path.join(place, name) for place in (*PLACES, tmp) if os.path.isdir(place)
                  for name in os.listdir(place))


def everything(tmp):
    return files(tmp), [line for _, line in processes()]


def in_the_end(read, expected, what, seconds=ENDS_S):
    """The kernel takes a moment to free what a process held."""
    end = time.monotonic() + seconds
    while (found := read()) != expected and time.monotonic() < end:
        time.sleep(0.1)
    want(found == expected, f"{what}: {found}, not {expected}")


class Run:
    """A run of a script in its own containment, with its output in a file."""

    def __init__(self, tmp, log, *cmd):
        env = {k: v for k, v in os.environ.items() if k != "WEIR_CONTAINED"}
        self.log = log
        with open(log, "w") as out:
            self.p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=subprocess.STDOUT, env={**env, "TMPDIR": tmp})

    def said(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def wait_for(self, condition, what):
        end = time.monotonic() + STARTS_S
        while not condition(self):
            want(self.p.poll() is None and time.monotonic() < end,
                 f"{what} was not reached, status {self.p.poll()}\n{self.said()[-3000:]}")
            time.sleep(0.02)


def says(text):
    return lambda run: text in run.said()


def runs(program):
    return lambda run: any(program in line.split(" ")[0] for _, line in processes())


def phases(clone):
    lab = [f"{ROOT}/scripts/run", "--no-setup", "--build", BUILD, "--act"]
    return {
        "set-up": ([f"{clone}/scripts/run"], runs("cc1")),
        "first act": ([*lab, "1", "--seconds", "30"], says("in Gb/s")),
        "teardown": ([*lab, "3", "--seconds", "1"], says("at rest")),
        "a live test": ([f"{ROOT}/scripts/test", "--no-setup", "--suite", "perf"],
                        runs("control/daemon/weir")),
        "the peer of the benchmark": (
            [f"{ROOT}/scripts/bench", "--build", BUILD, "--only", "^1w/74B/16f$", "--rounds", "50"],
            runs("dpdk-testpmd")),
    }


def ended(folder, clone, phase, sig):
    """Starts a run, ends it in this phase by this signal, and looks at what stays."""
    tmp, log = f"{folder}/tmp", f"{folder}/log"
    before = everything(tmp)
    cmd, reached = phases(clone)[phase]
    run = Run(tmp, log, *cmd)
    run.wait_for(reached, phase)
    run.p.send_signal(sig)
    status = run.p.wait(ENDS_S)
    want(status != 0, f"exit status {status} after {sig.name}")
    if sig == signal.SIGKILL:
        in_the_end(lambda: everything(tmp)[1:], before[1:], f"{phase}, {sig.name}")
        left = files(tmp)
        want(left != before[0], "a killed run leaves its folder: has the test lost its point?")
        owner, other = (clone, ROOT) if clone in cmd[0] else (ROOT, clone)
        contain(other, tmp)
        want(files(tmp) == left, f"another checkout removed what it does not own: {files(tmp)}")
        contain(owner, tmp)
    in_the_end(lambda: everything(tmp), before, f"{phase}, {sig.name}")
    print(f"        {phase}, {sig.name}: status {status}")


def contain(checkout, tmp):
    """The start of the next run."""
    run = Run(tmp, os.devnull, f"{checkout}/scripts/contain", "true")
    want(run.p.wait(ENDS_S) == 0, f"{checkout}/scripts/contain ended with {run.p.returncode}")


def copy_of_the_tree(folder):
    """Another checkout, which has no build directory yet."""
    clone = os.path.join(folder, "clone")
    shutil.copytree(ROOT, clone, ignore=lambda at, names: [
        n for n in names if n == ".git" or (at == ROOT and n.startswith("build"))])
    return clone


def runs_that_are_ended_leave_nothing():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/tmp")
        clone = copy_of_the_tree(folder)
        for phase in phases(clone):
            for sig in SIGNALS:
                ended(folder, clone, phase, sig)


def a_run_sees_no_file_of_another():
    for place in PRIVATE:
        with tempfile.NamedTemporaryFile(dir=place):
            seen = subprocess.run([f"{ROOT}/scripts/contain", "ls", "-A", place], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
        want(seen == "", f"another run sees in {place}: {seen}")


def a_run_beside_is_untouched():
    with tempfile.TemporaryDirectory() as folder:
        clone = copy_of_the_tree(folder)
        beside = Run(folder, os.devnull, f"{clone}/scripts/contain", "sleep", "600")
        beside.wait_for(runs("sleep"), "the run beside")
        own = Run(folder, os.devnull, f"{ROOT}/scripts/contain", "sleep", "600")
        own.wait_for(lambda _: len([1 for _, line in processes() if line.startswith("sleep")]) == 2,
                     "a second run")
        there = files(folder)
        for checkout in (ROOT, clone):
            contain(checkout, folder)
        want(files(folder) == there, f"{files(folder)}, not {there}")
        want(beside.p.poll() is None and own.p.poll() is None, "a run beside was ended")
        for run in (beside, own):
            run.p.terminate()
            want(run.p.wait(ENDS_S) == 128 + signal.SIGTERM, f"exit status {run.p.returncode}")


def an_installation_ends_first():
    with tempfile.TemporaryDirectory() as folder:
        installer = shutil.copy("/bin/sleep", f"{folder}/dpkg")
        began = time.monotonic()
        run = Run(folder, os.devnull, f"{ROOT}/scripts/contain", "sh", "-c",
                  f"{installer} 2 & sleep 600")
        run.wait_for(runs(installer), "the installation")
        run.p.terminate()
        want(run.p.wait(ENDS_S) == 143, f"exit status {run.p.returncode}")
        took = time.monotonic() - began
        want(2 <= took < GRACE_S, f"it ended before the installation, or was killed: {took:.1f} s")


def folders_of_strangers_stay():
    """Everybody may make a folder in TMPDIR, with the name of a run that was killed."""
    checkout = hashlib.sha1(ROOT.encode()).hexdigest()[:8]
    switch = "/run/weir/prod.sock"
    with tempfile.TemporaryDirectory() as folder, open(switch, "w"):
        os.chmod(folder, 0o777)
        victim = os.path.join(folder, "victim")
        os.mkdir(victim)
        names = [f"weir-{checkout}-{tag}" for tag in ("*", "prod", "abcdefgh")]
        subprocess.run(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
                        "mkdir", *names], cwd=folder, check=True)
        os.symlink("victim", os.path.join(folder, f"weir-{checkout}-link0000"))
        there = sorted(os.listdir(folder))
        contain(ROOT, folder)
        want(sorted(os.listdir(folder)) == there, f"{sorted(os.listdir(folder))}, not {there}")
        want(os.path.exists(switch), "the socket of a switch is there")
    os.unlink(switch)


def what_a_command_leaves_is_named():
    for left in ("ip netns add forgotten", "sleep 600 &"):
        done = subprocess.run([f"{ROOT}/scripts/contain", "sh", "-c", left], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        name = left.split()[-1] if "netns" in left else "sleep"
        want(done.returncode == 1 and f"left behind: {name}" in done.stdout, done.stdout)


live.need_root("dpdk-testpmd")
ABOVE = above()
sys.exit(live.run_tests([a_run_sees_no_file_of_another, folders_of_strangers_stay,
                         what_a_command_leaves_is_named,
                         an_installation_ends_first, a_run_beside_is_untouched,
                         runs_that_are_ended_leave_nothing]))
