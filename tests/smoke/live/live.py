# SPDX-License-Identifier: Apache-2.0
"""What the live smoke tests share: the lab's own modules, skipping, and one way to run tests."""
import os
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "scripts", "netlab"))
from world import eventually, run # noqa: E402, F401: the path is set here; for the tests

RUNTIMES = "/var/run/dpdk"
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def need_root(*programs):
    """Live tests need root, network namespaces, and the real tools they talk to."""
    import shutil
    if os.geteuid() != 0:
        skip("needs root")
    for program in ("ip", "ethtool", "nsenter", *programs):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    probe = "weirlab-probe"
    if run("ip", "netns", "add", probe, check=False).returncode != 0:
        skip("no network namespace can be made here")
    run("ip", "netns", "del", probe)


def go_first(children=False):
    """From now on this thread goes before whatever else the machine does, where that is allowed;
    children: so do the processes that it starts. For what sleeps most of the time."""
    policy = os.SCHED_RR | (0 if children else os.SCHED_RESET_ON_FORK)
    try:
        os.sched_setscheduler(0, policy, os.sched_param(1))
    except OSError:
        pass


def kept_waiting(pid="self"):
    """Seconds in which the main thread of a process was ready and had no processor. Of what it
    takes for something, these are the machine's share."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[1]) / 1e9


def stop_time(process, seconds=60):
    """Sends SIGTERM; the seconds until the process has ended, without the machine's share. The
    caller waits for it."""
    began, without = time.monotonic(), kept_waiting(process.pid)
    process.send_signal(signal.SIGTERM)
    while True:
        late = kept_waiting()
        time.sleep(0.002)
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        took = time.monotonic() - began
        if ended:
            return took - (kept_waiting(process.pid) - without) - (kept_waiting() - late)
        want(took < seconds, f"it still runs {seconds} s after SIGTERM")


def left_behind(*also):
    """What programs of the lab have made in this containment; also: more folders."""
    return [n for folder in ("/run/netns", "/run/weir", *also) if os.path.isdir(folder)
            for n in os.listdir(folder) if "weirlab" in n or n.startswith("story.")]


def want(condition, text):
    if not condition:
        raise AssertionError(text)


def run_tests(tests):
    """Runs all, or those that the second and later arguments name. The exit status."""
    failed = 0
    for test in [t for t in tests if t.__name__ in sys.argv[2:]] or tests:
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"ok      {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0
