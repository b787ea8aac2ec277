# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the suites of meson. See `scripts/test --help`.

A live test mostly waits. So LIVE_AT_ONCE live tests run at the same time. A live test with
`is_parallel: false` judges a time or a rate. It runs first, alone. All other tests run beside the
live tests, at the lowest priority.
"""
import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import choice

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUITES = ["unit", "wire", "threads", "lab", "web", "smoke", "perf", "large"]
GATE = ["unit", "wire", "threads", "lab", "web", "smoke"]
LIVE = {"smoke", "perf"}
BEYOND = "long"  # the suite of tests that the gate leaves out
PASSED = {"OK", "EXPECTEDFAIL"}
TELL_EVERY_S = 10
SHOWN_FROM_S = 1  # shorter tests are in the sums
TAIL = 60  # lines that are shown of a test that failed
SHOWN_OF_A_BUILD = 60
# Live tests that may fail and are run again: so many, or one of so many. More is no disturbance.
AGAIN, AGAIN_OF = 2, 25
PATIENCE = "4"  # times the timeouts of the meson files, which end a test that hangs
LOWEST = ["nice", "-n", "19"]
ALONE_DONE = "WEIR_ALONE_DONE"  # a file that is made when the tests that run alone have ended
BESIDE_DONE = "WEIR_BESIDE_DONE"  # a file; once it is there, nothing else runs beside the tests
LIVE_AT_ONCE = (os.cpu_count() or 1) + 1
TIMED = os.path.join(ROOT, "scripts", "timed")
USED = re.compile(r"^used: (\d+\.\d+) (\d+\.\d+)\n?\Z", re.M)  # the last line of scripts/timed

# meson itself asks ccache only where it chooses the compiler.
CLANG = "ccache clang" if shutil.which("ccache") else "clang"
SANITIZERS = {
    "asan": {"ASAN_OPTIONS": "strict_string_checks=1",
             "LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp:print_suppressions=0",
             "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"},
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1"},
}
# With --all. It makes some tests twice as slow.
THOROUGH = ":detect_stack_use_after_return=1"


def say(text):
    print(f"test: {text}", flush=True)


# ---- builds

class Build:
    """A build directory. Sanitizers make gcc see warnings where there are none, so werror is not
    for them; with -O1 and -g1 they build in half the time and run as fast."""

    KINDS = {
        "gcc": ("build", {}, [], []),
        "clang": ("build-clang", {"CC": CLANG}, ["-Ddebug=false"], []),
        "asan": ("build-asan", {}, ["-Db_sanitize=address,undefined", "-Db_lundef=false",
                                    "-Doptimization=1", "-Dc_args=-g1"], []),
        # What runs in one thread cannot race, so only the suite with threads is built.
        "tsan": ("build-tsan", {}, ["-Db_sanitize=thread", "-Db_lundef=false",
                                    "-Doptimization=1", "-Dc_args=-g1"],
                 ["tests/threads/threads", "tests/threads/threads_together", "tests/threads/notes",
                  "tests/threads/race"]),
    }

    def __init__(self, kind, werror):
        self.kind = kind
        self.dir, self.env, self.options, self.targets = self.KINDS[kind]
        if werror and kind not in SANITIZERS:
            self.options = [*self.options, "-Dwerror=true"]

    def command(self, *cmd):
        """False, with the end of what was printed, when the command fails."""
        if not shutil.which(cmd[0]):
            say(f"cannot build: {cmd[0]} is missing; run scripts/setup as root")
            return False
        done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, env={**os.environ, **self.env})
        lines = [x for x in done.stdout.splitlines() if not x.startswith("[")]
        if done.returncode:
            print("\n".join(lines[-SHOWN_OF_A_BUILD:]))
            say(f"the build in {self.dir}/ failed")
        elif cmd[0] == "ninja" and self.kind not in SANITIZERS:
            for i, line in enumerate(lines):
                if "warning:" in line:
                    print("\n".join(lines[i:i + 3]))
        return done.returncode == 0

    def source(self):
        """The checkout that the folder was made for; "": it is not made."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            with open(f"{self.dir}/meson-info/meson-info.json") as f:
                return json.load(f)["directories"]["source"]
        return ""

    def make(self):
        say(f"building {self.dir}/")
        there = os.path.exists(f"{self.dir}/build.ninja")
        source = self.source()
        if source not in ("", os.getcwd()): # ninja would make the other folder anew without an end
            say(f"{self.dir}/ was made for {source}: rm -r {self.dir}")
            return False
        if not there or self.options:
            verb = "configure" if there else "setup"
            if not self.command("meson", verb, self.dir, *self.options):
                return False
        return self.command("ninja", "-C", self.dir, *self.targets)


# ---- tests

def tests_of(build):
    """(test, labels) of all."""
    out = subprocess.run(("meson", "introspect", "--tests", build.dir), text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    for test in json.loads(out):
        yield test, [s.rsplit(":", 1)[-1] for s in test["suite"]]


def draw(build, suites, beyond, most):
    """Tests beyond the gate that a change chose and that do not run now: all but `most`, which
    the commit draws, and the spine."""
    spine = choice.Table().always
    chosen = []
    for test, labels in tests_of(build):
        paths = choice.paths_of(test, build.dir)
        if BEYOND in labels and set(labels) & set(suites) and choice.begin_so(paths, beyond) and \
                not choice.begin_so(paths, spine):
            chosen.append(test["name"])
    commit = choice.commit()
    chosen.sort(key=lambda name: hashlib.sha256(f"{commit} {name}".encode()).digest())
    if chosen[most:]:
        say(f"of {len(chosen)} tests of the suite {BEYOND} beside the spine the commit has drawn "
            f"{most}; scripts/test --all runs the others too")
    return set(chosen[most:])


class Lane:
    """Runs of `meson test`, one after the other: each alone that wants to, then all others at once,
    and then, alone, what failed."""

    RUNS = "-alone", "", "-again"

    def __init__(self, build, suites, beyond, options=(), again=False, left_out=frozenset()):
        self.build, self.suites, self.beyond, self.options = build, suites, beyond, options
        self.left_out = left_out  # names of tests
        self.live = bool(LIVE & set(suites))
        self.again = again and self.live
        self.name = f"testlog-{'-'.join(suites)}"
        self.error = "meson test was not started"
        for run in self.RUNS:
            if os.path.exists(self.log(run)):
                os.unlink(self.log(run))
        self.wanted, self.alone = {}, set()
        for test, suite in self.select():
            self.wanted[test["name"]] = suite
            if not test["is_parallel"]:
                self.alone.add(test["name"])

    def log(self, run):
        return f"{self.build.dir}/meson-logs/{self.name}{run}-timed.json"  # meson names the wrapper

    def select(self):
        """(test, suite) of those that this lane runs."""
        for test, labels in tests_of(self.build):
            suite = next((s for s in labels if s in self.suites), None)
            if suite and self.takes(test, BEYOND in labels) and test["name"] not in self.left_out:
                yield test, suite

    def takes(self, test, is_beyond):
        if isinstance(self.beyond, set):
            return not is_beyond or choice.begin_so(choice.paths_of(test, self.build.dir),
                                                    self.beyond)
        return self.beyond in (None, is_beyond)

    def run_alone(self):
        self.meson("-alone", sorted(self.alone))

    def run(self):
        if not self.wanted:
            return
        self.meson("", [name for name in self.wanted if name not in self.alone])

    def run_again(self):
        wrong = [r["name"] for r in self.results() if failed(r)]
        if self.again and 0 < len(wrong) <= max(AGAIN, len(self.wanted) // AGAIN_OF):
            wait_for_file(os.environ.get(BESIDE_DONE))
            self.meson("-again", wrong, 1)

    def meson(self, run, names, at_once=LIVE_AT_ONCE):
        if not names:
            return
        prefix = [] if self.live else LOWEST
        if self.live and os.geteuid() and shutil.which("sudo") and not subprocess.run(
                ["sudo", "-n", "true"], capture_output=True).returncode:
            prefix = ["sudo", "-n"]
        if self.build.kind == "tsan" and not subprocess.run(["setarch", "-R", "true"]).returncode:
            prefix += ["setarch", "-R"]  # a kernel that spreads mappings far is in the way
        done = subprocess.run(
            [*prefix, "meson", "test", "-C", self.build.dir, "--no-rebuild", "--logbase",
             self.name + run,
             "--wrapper", TIMED, *(["--num-processes", str(at_once)] if self.live else []),
             *self.options, *names],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **self.sanitizer()})
        self.error = done.stdout[-3000:]

    def sanitizer(self):
        env = dict(SANITIZERS.get(self.build.kind, {}))
        if "ASAN_OPTIONS" in env and self.beyond is None:
            env["ASAN_OPTIONS"] += THOROUGH
        return env

    def results(self):
        """What has ended so far: of a test that ran again the second run, and `first`, the row of
        the first one."""
        rows = {}
        for run in self.RUNS:
            for row in self.rows(run):
                row["name"] = row["name"].split(" / ")[-1]
                take_times(row)
                if row["name"] in rows:
                    row["first"] = rows[row["name"]]
                rows[row["name"]] = row
        return list(rows.values())

    def rows(self, run):
        try:
            with open(self.log(run)) as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []


def wait_for_file(path):
    while path and not os.path.exists(path):
        time.sleep(0.5)


def take_times(row):
    """Sets `used` to the seconds of processor time, None for a test that was killed."""
    said = USED.search(row.get("stderr", ""))
    row["used"] = said and float(said[1]) + float(said[2])
    if said:
        row["stderr"] = row["stderr"][:said.start()]


def failed(row):
    return row["result"] not in PASSED and row["result"] != "SKIP"


class Progress:
    """One line that is drawn again on a terminal, one every ten seconds elsewhere."""

    def __init__(self, lanes):
        self.lanes, self.began, self.told, self.seen = lanes, time.monotonic(), 0, set()
        self.terminal = sys.stdout.isatty()

    def text(self, rows):
        of = sum(len(lane.wanted) for lane in self.lanes)
        bad = sum(map(failed, rows))
        return (f"test: {len(rows)} of {of} done, {bad} failed, "
                f"{time.monotonic() - self.began:.0f} s")

    def look(self):
        rows = [r for lane in self.lanes for r in lane.results()]
        for r in rows:
            if failed(r) and r["name"] not in self.seen:
                self.seen.add(r["name"])
                print(f"{self.clear()}test: FAILED: {r['name']}", flush=True)
        if self.terminal:
            print(f"{self.clear()}{self.text(rows)}", end="", flush=True)
        elif (now := time.monotonic()) - self.told >= TELL_EVERY_S:
            self.told = now
            print(self.text(rows), flush=True)

    def clear(self):
        return "\r\033[K" if self.terminal else ""


def run_all(lanes):
    """First the tests that run alone, at last those that failed, with nothing of this run beside
    them."""
    for lane in lanes:
        lane.run_alone()
    if ALONE_DONE in os.environ:
        with open(os.environ[ALONE_DONE], "w"):
            pass
    threads = [threading.Thread(target=lane.run) for lane in lanes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for lane in lanes:
        lane.run_again()


def run_lanes(lanes):
    all_lanes = threading.Thread(target=run_all, args=[lanes])
    all_lanes.start()
    progress = Progress(lanes)
    while all_lanes.is_alive():
        progress.look()
        time.sleep(0.5)
    print(progress.clear(), end="")


# ---- what is said at the end

def reason(row):
    """The last line that a skipped test printed."""
    lines = [x for x in (row.get("stdout", "") + row.get("stderr", "")).split("\n") if x.strip()]
    return lines[-1].strip() if lines else "it gave no reason"


def show_failure(row, word="failed"):
    print(f"  {word}: {row['name']} ({row['result'].lower()})")
    out = [x for key in ("stdout", "stderr") for x in row.get(key, "").split("\n") if x.strip()]
    for line in out[-TAIL:]:
        print(f"    | {line}")


def show_suite(label, rows):
    bad, skipped = [r for r in rows if failed(r)], [r for r in rows if r["result"] == "SKIP"]
    counts = len(rows) - len(bad) - len(skipped), len(bad), len(skipped)
    took = sum(r.get("duration", 0) for r in rows)
    print("{}: {} passed, {} failed, {} skipped, {:.1f} s".format(label, *counts, took))
    for r in skipped:
        print(f"  skipped: {r['name']}: {reason(r)}")
    for r in bad:
        show_failure(r)
    for r in rows:
        if "first" in r and not failed(r):
            show_failure(r["first"], "unsteady: a defect, of the test or of what it tests")
    return counts


def show(lanes):
    """A line for each suite, and the failures. Returns (passed, failed, skipped) of each."""
    counts = []
    for lane in lanes:
        rows = lane.results()
        for suite in lane.suites:
            mine = [r for r in rows if lane.wanted.get(r["name"]) == suite]
            if mine:
                counts.append(show_suite(f"{lane.build.kind} {suite}", mine))
        if len(rows) != len(lane.wanted):
            print(lane.error)
            say(f"only {len(rows)} of {len(lane.wanted)} tests of {lane.build.kind} ran")
            counts.append((0, len(lane.wanted) - len(rows), 0))
    return counts


def waiting(wall, used):
    """The share of a test's time in which it did not use one processor."""
    return f"{100 * max(0, 1 - used / wall):.0f} %" if wall else "-"


def show_times(lanes):
    """Each test of a second and more, and the sum of each suite: `waiting` is the share of the wall
    time in which no processor was used."""
    rows = sorted((r for lane in lanes for r in lane.results()), key=lambda r: -r["duration"])
    print(f"{'wall':>8} {'processor':>9} {'waiting':>7}")
    for r in rows:
        if r["duration"] >= SHOWN_FROM_S:
            used = "-" if r["used"] is None else f"{r['used']:.1f} s"
            print(f"{r['duration']:6.1f} s {used:>9} {waiting(r['duration'], r['used'] or 0):>7}  "
                  f"{r['name']}")
    for lane in lanes:
        for suite in lane.suites:
            mine = [r for r in lane.results() if lane.wanted.get(r["name"]) == suite]
            wall, used = (sum(r[key] or 0 for r in mine) for key in ("duration", "used"))
            if mine:
                print(f"{wall:6.1f} s {used:7.1f} s {waiting(wall, used):>7}  "
                      f"all {len(mine)} of {lane.build.kind} {suite}")


def keep_times(lanes, file):
    """JSON: a row for each test that ended."""
    rows = [{"build": lane.build.kind, "suite": lane.wanted.get(r["name"]), "test": r["name"],
             "result": r["result"], "wall_s": round(r["duration"], 2),
             "processor_s": r["used"] and round(r["used"], 2), "alone": r["name"] in lane.alone}
            for lane in lanes for r in lane.results()]
    with open(file, "w") as f:
        f.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


# ---- modes

def lanes_of(build, suites, beyond, options=(), again=False, left_out=frozenset()):
    """beyond: True only what the gate leaves out, False only the gate, None both; a set: the gate,
    and of the rest the tests that it names (choice.py)."""
    parts = [[s for s in suites if (s in LIVE) == live] for live in (False, True)]
    return [Lane(build, part, beyond, options, again, left_out) for part in parts if part]


def tests(build, suites, beyond, options=(), again=False, times=None, most=None):
    if not build.make():
        return [(0, 1, 0)]
    left_out = draw(build, suites, beyond, most) if most is not None and isinstance(beyond, set) \
        else frozenset()
    lanes = lanes_of(build, suites, beyond, options, again, left_out)
    run_lanes(lanes)
    show_times(lanes)
    if times:
        keep_times(lanes, times)
    return show(lanes)


def mutants(names):
    done = subprocess.run(["/usr/bin/python3", "-B", "scripts/mutants", *names])
    return [(int(done.returncode == 0), int(done.returncode != 0), 0)]


def options():
    p = argparse.ArgumentParser(
        prog="scripts/test", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Builds and runs tests. Without an option: the gate for every change.",
        epilog="Suites: " + ", ".join(SUITES) + ". Live tests (smoke, perf) want root.")
    p.add_argument("--all", action="store_true", help="the gate, and all that it leaves out")
    p.add_argument("--rest", action="store_true", help="only what the gate leaves out")
    p.add_argument("--changed", metavar="BASE",
                   help="the gate, and of the rest what tests/choice.toml names for the files that "
                   "differ between the revision BASE and the tree")
    p.add_argument("--most", type=int, metavar="N",
                   help="with --changed: if the table names more than N tests beyond the gate and "
                   "the spine, N of them, which the commit draws")
    p.add_argument("--suite", action="append", choices=SUITES, default=[], metavar="NAME",
                   help="the whole of this suite; may be given several times. perf compares rates "
                   "and wants a quiet machine, so only --suite perf runs it")
    p.add_argument("--clang", action="store_true",
                   help="the gate with clang, in build-clang/; all but live")
    p.add_argument("--asan", action="store_true",
                   help="the gate with AddressSanitizer and UBSan, in build-asan/; all but live")
    p.add_argument("--tsan", action="store_true", help="ThreadSanitizer, in build-tsan/; threads")
    p.add_argument("--mutants", nargs="*", metavar="NAME",
                   help="break the code on purpose; a test must go red each time")
    p.add_argument("--again", action="store_true",
                   help=f"run a live test that failed once more, alone, unless more than {AGAIN} "
                   f"and more than one of {AGAIN_OF} failed. For machines shared with others. Its "
                   "first failure is shown as that of an unsteady test, which is a defect")
    p.add_argument("--no-setup", action="store_true", help="the packages are installed")
    p.add_argument("--werror", action="store_true", help="compiler warnings are errors")
    p.add_argument("--times", metavar="FILE",
                   help="also write the times of each test to FILE, as JSON")
    p.add_argument("--tally", metavar="FILE", help='also append "passed failed skipped" to FILE')
    return p.parse_args()


def main():
    args = options()
    os.chdir(ROOT)
    counts = []
    others = [k for k in ("clang", "asan", "tsan") if getattr(args, k)]
    suites = args.suite or GATE
    if not others and args.mutants is None:
        beyond = None if args.all or args.suite else args.rest
        if args.changed:
            try:
                beyond = choice.Table().chosen(choice.changed_files(args.changed))
            except subprocess.CalledProcessError as e:
                say(f"--changed {args.changed}: {e.stderr.strip()}")
                return 2
        counts += tests(Build("gcc", args.werror), suites, beyond,
                        ["--timeout-multiplier", PATIENCE], args.again, args.times, args.most)
    for kind in others:
        # Threads have a sanitizer of their own; --all runs them with the others too.
        left_out = LIVE if kind != "asan" or args.all else LIVE | {"threads"}
        offered = ["threads"] if kind == "tsan" else [s for s in GATE if s not in left_out]
        slow = {"asan": "6", "tsan": "10"}.get(kind, "1")
        counts += tests(Build(kind, args.werror), [s for s in suites if s in offered],
                        None if args.all or args.suite else args.rest,
                        ["--timeout-multiplier", slow], times=args.times)
    if args.mutants is not None:
        counts += mutants(args.mutants)
    passed, bad, skipped = (sum(c[i] for c in counts) for i in range(3))
    if args.tally:
        with open(args.tally, "a") as f:
            f.write(f"{passed} {bad} {skipped}\n")
    print(f"{passed} passed, {bad} failed, {skipped} skipped")
    return 0 if passed and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
