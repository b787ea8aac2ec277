#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench measures what it says, in a few tiny rounds. No time is judged.

usage: test_bench.py BUILD_DIR
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "smoke", "live"))
sys.path.insert(1, HERE)

import live # noqa: E402: the path is set above
from live import want # noqa: E402

BENCH = os.path.join(ROOT, "scripts", "bench")
CPUS = "0,1" if os.cpu_count() > 1 else "0"


def bench(*args, status=0):
    with tempfile.NamedTemporaryFile() as f:
        done = run(BENCH, "--build", sys.argv[1], "--rounds", "5", "--cpus", CPUS, "--json", f.name,
                   *args, check=False, timeout=100)
        want(done.returncode == status, f"exit {done.returncode}\n{done.stdout}{done.stderr}")
        text = f.read()
    return done, json.loads(text) if text else None


def rows_of(pattern):
    return {row["key"]: row for row in bench("--only", pattern)[1]["rows"]}


def one_worker_is_measured_with_shallow_and_with_standing_queues():
    rows = rows_of("^1w/74B/16f$")
    shallow, standing = rows["1w/74B/16f/shallow"], rows["1w/74B/16f/standing"]
    for row in (shallow, standing):
        want(row["cycles"] > 0 and row["mpps"] > 0 and row["rounds"] == 5, f"no figures: {row}")
        want(row["dropped"] == 0 and row["pauses_sent"] == 0, f"overloaded: {row}")
        want(min(row["driver_rx"], row["driver_tx"], row["switch"]) > 1, f"no split: {row}")
    want(shallow["queued"] <= 128, f"{shallow['queued']} frames stand in a shallow queue")
    want(32768 <= standing["queued"] < 34000, f"{standing['queued']} frames stand in two queues")
    want(shallow["marked_share"] == 0 and standing["marked_share"] > 0.5, "ECN marks at kmin")
    want("stage/parse" in rows and rows["stage/parse"]["cycles"] > 0, "no stages")
    if shutil.which("dpdk-testpmd"):
        want(shallow["macswap"] > 0 and shallow["io"] > 0, "no testpmd beside")


def two_workers_lose_nothing_though_all_traffic_crosses():
    if CPUS == "0":
        return
    row = rows_of("^2w/74B/16f$")["2w/74B/16f/shallow"]
    want(row["mpps"] > 0 and row["dropped"] == 0, f"{row}")


def traffic_that_stays_with_its_worker_is_compared_with_one_worker():
    if CPUS == "0":
        return
    row = rows_of("^[12]w/74B/16f(/stays)?$")["2w/74B/16f/stays/shallow"]
    want(row["speedup"] > 0 and row["dropped"] == 0 and row["pauses_sent"] == 0, f"{row}")


def a_daemon_of_three_ports_starts_and_its_memory_is_read():
    row = rows_of("^start/3 ports$")["start/3 ports"]
    want(0 < row["first_frame_s"] < 60 and row["memory_mib"] > 10, f"{row}")


def a_name_that_no_row_has_is_a_mistake():
    done, _ = bench("--only", "no such row", status=2)
    want("--list" in done.stderr, done.stderr)


# ---- --rfc2544

FRAMES = 4800 # whole rounds of the flows and of the IMIX


@contextlib.contextmanager
def connected(more=""):
    """weir with two net_memif ports, and a generator at both."""
    cpus = [int(cpu) for cpu in CPUS.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        device = rfc2544.Weir(folder, sys.argv[1], cpus, more)
        with device.running(), rfc2544.Generator(device, cpus[-1]) as generator:
            yield device, generator


def what_was_sent_has_come_back_frame_by_frame():
    with connected() as (_, generator):
        for size in ("64", "1518", "imix"):
            found = generator.trial(size, "wait", FRAMES, 50)
            want([found[k] for k in ("offered", "received", "lost", "refused", "duplicates",
                                     "reordered")] == [FRAMES, FRAMES, 0, 0, 0, 0], f"{found}")
            times = found["latency_ns"]
            want(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"], f"{times}")


def a_device_that_drops_one_flow_of_sixteen_is_seen():
    hairpin = 'fdb:\n  - {mac: "02:00:02:00:00:05", port: p0}\n'
    with connected(hairpin) as (_, generator):
        found = generator.trial("64", "wait", FRAMES, 50)
    want([found[k] for k in ("offered", "received", "lost", "longest_loss", "refused")] ==
         [FRAMES, FRAMES - FRAMES // 16, FRAMES // 16, 1, 0], f"{found}")


def a_frame_that_the_ring_refuses_is_lost_and_a_late_one_belongs_to_no_trial():
    with connected() as (device, generator):
        device.program.p.send_signal(signal.SIGSTOP)
        found = generator.trial("64", "flood", FRAMES, 2)
        device.program.p.send_signal(signal.SIGCONT)
        want([found[k] for k in ("offered", "received", "lost", "longest_loss")] ==
             [FRAMES, 0, FRAMES, FRAMES] and 0 < found["refused"] < FRAMES, f"{found}")
        later = generator.trial("64", "wait", FRAMES, 50)
        want([later[k] for k in ("received", "lost", "duplicates")] == [FRAMES, 0, 0], f"{later}")


def the_policies_for_packet_generators_are_valid():
    for name in ("memif", "vhost"):
        done = run(os.path.join(sys.argv[1], "control", "ctl", "weirctl"), "check",
                   os.path.join(ROOT, "conf", "pktgen", f"{name}.yaml"))
        want("ok (2 ports, 2 lossless groups" in done.stdout, done.stdout)


def rfc2544_needs_two_cpus():
    done = run(BENCH, "--rfc2544", "--cpus", "0", check=False)
    want(done.returncode == 2 and "--rfc2544 needs two CPUs" in done.stderr, done.stderr)


def a_row_of_rfc2544_has_throughput_latency_loss_and_bursts():
    if CPUS == "0":
        return
    done, found = bench("--rfc2544", "--only", "^rfc2544/64/", "--seconds", "0.005",
                        "--trials", "1", "--loss", "99")
    rows = {row["device"]: row for row in found["rows"]}
    want("weir" in rows and "io" in rows, f"{list(rows)}")
    for row in rows.values():
        want(row["fps"] > 0 and len(row["runs"]) == 1, f"{row}")
        want(row["n_trials"] > 10 and row["lost"] >= row["lost_beside_gaps"], f"{row}")
        want(all(row[f"p50_{load}_us"] > 0 for load in (10, 50, 90)), f"{row}")
        want(row["runs"][0]["curve"] and row["burst"] >= 0, f"{row}")
    want(rows["weir"]["ratio_io"] == rows["weir"]["fps"] / rows["io"]["fps"], f"{rows['weir']}")
    want("64/weir" in done.stdout, done.stdout)


# ---- files of reports

MARKS = ["<!-- figures: scripts/bench --markdown -->", "<!-- end of figures -->"]
QUICKEST = ["--only", "^start/3 ports$"]


def a_file_that_cannot_be_written_is_refused_before_anything_is_measured():
    with tempfile.TemporaryDirectory() as folder:
        page = f"{folder}/page.md"
        with open(page, "w") as f:
            f.write(f"A page.\n{MARKS[1]}\n{MARKS[0]}\n")
        for option, path, why in (
                ("--json", f"{folder}/no/x.json", f"{folder}/no does not exist; `mkdir -p "),
                ("--json", folder, f"{folder} is a directory; name a file in it"),
                ("--json", "/proc/new", "/proc/new cannot be written: "),
                ("--markdown", f"{folder}/no/x.md", f"{folder}/no does not exist; `mkdir -p "),
                ("--markdown", folder, f"{folder} is a directory; name a file in it"),
                ("--markdown", page, f"{page} has no part between the lines {MARKS[0]} and ")):
            done = run(BENCH, *QUICKEST, option, path, check=False, timeout=100)
            want(done.returncode == 2 and why in done.stderr, f"{option} {path}: {done.stderr}")
            want("[1/1]" not in done.stderr, f"{option} {path}: it measured first")
        want(os.listdir(folder) == ["page.md"], f"{os.listdir(folder)}")


def tables_go_into_a_new_page_and_again_into_the_same_page():
    with tempfile.TemporaryDirectory() as folder:
        page = f"{folder}/new.md"
        for text in ("", "Above.\n\n"):
            bench(*QUICKEST, "--markdown", page)
            with open(page) as f:
                found = f.read()
            for part in (*MARKS, "### Start and memory"):
                want(found.count(part) == 1, f"{part} in {found}")
            want(found.startswith(text + MARKS[0]) and found.endswith(MARKS[1] + "\n"), found)
            with open(page, "w") as f:
                f.write("Above.\n\n" + found)


def a_report_that_cannot_be_written_at_the_end_is_printed():
    done = run(BENCH, "--build", sys.argv[1], *QUICKEST, "--json", "/dev/full", check=False,
               timeout=100)
    want(done.returncode == 1 and "No space left on device" in done.stderr, done.stderr)
    want(re.search(r"start/3 ports +\d", done.stdout), done.stdout)


def started(*args, **streams):
    """In a containment of its own, which ends with it also when a signal comes."""
    env = {k: v for k, v in os.environ.items() if k != "WEIR_CONTAINED"}
    return subprocess.Popen([BENCH, "--build", sys.argv[1], *args], stdin=subprocess.DEVNULL,
                            text=True, env=env, **streams)


def a_terminal_that_is_gone_loses_no_report():
    with tempfile.NamedTemporaryFile() as f:
        end, gone = os.pipe()
        os.close(end)
        with started(*QUICKEST, "--json", f.name, stdout=gone, stderr=gone) as program:
            os.close(gone)
            program.wait(100)
        want([row["key"] for row in json.load(f)["rows"]] == ["start/3 ports"], "no report")


def a_signal_keeps_the_rows_that_were_measured():
    with tempfile.NamedTemporaryFile() as f:
        with started("--only", "^start/", "--json", f.name, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as program:
            while "[2/2]" not in program.stderr.readline():
                want(program.poll() is None, "it ended before the second row")
            program.terminate()
            said, _ = program.communicate(timeout=100)
        found = json.load(f)
        want([row["key"] for row in found["rows"]] == ["start/3 ports"], f"{found}")
        want("start/32 ports and the rows after it: stopped by a signal" in said, said)
        want(program.returncode != 0, "exit 0")


# ---- --against-build

FAKE_NINJA = """\
rule link
  command = sh link.sh $out
build tests/perf/weir-bench: link
"""
FAKE_LINK = """\
cat >$1 <<'end'
%s
end
chmod +x $1
"""


def fake_build(folder, program, link=FAKE_LINK):
    """A build directory whose weir-bench is a shell script."""
    os.makedirs(os.path.join(folder, "tests", "perf"))
    for name, text in (("build.ninja", FAKE_NINJA), ("link.sh", link % program)):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    run("sh", "link.sh", "tests/perf/weir-bench", cwd=folder)
    return folder


def files_in(folder):
    return {os.path.join(base, name): os.stat(os.path.join(base, name)).st_mtime_ns
            for base, _, names in os.walk(folder) for name in names}


def two_builds_run_in_turns_and_stay_as_they_are():
    with tempfile.TemporaryDirectory() as folder:
        other = shutil.copytree(sys.argv[1], os.path.join(folder, "other"), symlinks=True,
                                ignore=lambda path, names: [n for n in names if n == "meson-logs"])
        before = files_in(sys.argv[1]), files_in(other)
        done, found = bench("--against-build", other, "--only", "^1w/74B/16f$|^flows/32$",
                            "--turns", "4")
        want((files_in(sys.argv[1]), files_in(other)) == before, "a build directory was changed")
    rows = {row["key"]: row for row in found["rows"]}
    want(list(rows) == ["1w/74B/16f/shallow", "1w/74B/16f/standing", "flows/32"], f"{list(rows)}")
    for row in rows.values():
        want(row["turns"] == 4 and row["layouts"] == 12, f"{row}")
        want([layout for layout, _, _ in row["runs"]] == list(range(12)), f"{row['runs']}")
        want(20 < row["low"] / row["high"] * min(row["this"], row["other"]), f"{row}")
        want(row["verdict"] in ("faster", "slower", "same", "undecided"), f"{row}")
        want(re.search(rf"{row['key']} .* {row['verdict']}$", done.stdout, re.M), done.stdout)


def each_layout_has_the_same_functions_in_another_order():
    import layouts
    with tempfile.TemporaryDirectory() as folder:
        it = layouts.Layouts("this build", sys.argv[1], os.path.join(folder, "A"))
        it.command.remove("-s")
        found = [[line.split()[-1] for line in run("nm", "-n", path).stdout.splitlines()
                  if " t " in line.lower()]
                 for path in (f"{sys.argv[1]}/tests/perf/weir-bench", it.path(0), it.path(1))]
    ours = [[n for n in names if n.startswith(("fdb_", "wred_", "pg_", "worker_"))]
            for names in found]
    want(len(ours[0]) > 20 and sorted(ours[0]) == sorted(ours[1]) == sorted(ours[2]), f"{ours}")
    want(ours[0] != ours[1] != ours[2] != ours[0], "two layouts have the same order")


def rows_that_an_older_build_does_not_know_are_skipped_by_name():
    with tempfile.TemporaryDirectory() as folder:
        older = fake_build(f"{folder}/older",
                           "echo \"$0: unrecognized option '--spread'\" >&2; exit 2")
        done, found = bench("--against-build", older, "--only", "^flows/32$", status=1)
    want(found["rows"] == [], f"{found['rows']}")
    want("bench: no row was compared" in done.stderr, done.stderr)
    want("flows/32: weir-bench of the other build says: unrecognized option '--spread'" in
         done.stdout, done.stdout)


def a_build_that_cannot_be_linked_anew_is_an_error():
    with tempfile.TemporaryDirectory() as folder:
        broken = fake_build(f"{folder}/broken", "exit 0")
        with open(f"{broken}/link.sh", "w") as f:
            f.write("echo no such object >&2; exit 1")
        done, _ = bench("--against-build", broken, "--only", "^flows/32$", status=1)
    want("other build cannot be linked anew: no such object" in done.stderr, done.stderr)


def a_wrong_directory_to_compare_with_is_a_mistake():
    for wrong in ("/nonexistent", HERE):
        done, _ = bench("--against-build", wrong, status=2)
        want(f"{wrong} is no build directory" in done.stderr, done.stderr)
    for few in (["--layouts", "2"], ["--turns", "1"]):
        bench("--against-build", sys.argv[1], *few, status=2)


live.need_root()
import rfc2544 # noqa: E402: the path is set by live
from world import run # noqa: E402

sys.exit(live.run_tests([
    one_worker_is_measured_with_shallow_and_with_standing_queues,
    two_workers_lose_nothing_though_all_traffic_crosses,
    traffic_that_stays_with_its_worker_is_compared_with_one_worker,
    a_daemon_of_three_ports_starts_and_its_memory_is_read,
    a_name_that_no_row_has_is_a_mistake,
    what_was_sent_has_come_back_frame_by_frame,
    a_device_that_drops_one_flow_of_sixteen_is_seen,
    a_frame_that_the_ring_refuses_is_lost_and_a_late_one_belongs_to_no_trial,
    the_policies_for_packet_generators_are_valid,
    rfc2544_needs_two_cpus,
    a_row_of_rfc2544_has_throughput_latency_loss_and_bursts,
    a_file_that_cannot_be_written_is_refused_before_anything_is_measured,
    tables_go_into_a_new_page_and_again_into_the_same_page,
    a_report_that_cannot_be_written_at_the_end_is_printed,
    a_terminal_that_is_gone_loses_no_report,
    a_signal_keeps_the_rows_that_were_measured,
    two_builds_run_in_turns_and_stay_as_they_are,
    each_layout_has_the_same_functions_in_another_order,
    rows_that_an_older_build_does_not_know_are_skipped_by_name,
    a_build_that_cannot_be_linked_anew_is_an_error,
    a_wrong_directory_to_compare_with_is_a_mistake,
]))
