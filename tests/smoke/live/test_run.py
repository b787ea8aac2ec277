#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/run` itself: it holds all its checks, may be stopped, and leaves nothing.

usage: test_run.py BUILD_DIR
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import live
from live import want

BUILD = os.path.abspath(sys.argv[1])
STALL_S = 0.12
RUN = os.path.join(live.ROOT, "scripts", "run")


def command(*args):
    return [RUN, "--no-setup", "--build", BUILD, *args]


def left_behind():
    """Namespaces, files and processes of the lab that exist now."""
    names = live.left_behind(live.RUNTIMES, tempfile.gettempdir())
    return names + [text for _, text in programs()]


def programs():
    """(pid, command line) of programs of this build."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().decode().split("\0")
        except OSError:
            continue
        if words[0].startswith(BUILD + "/control/"):
            yield int(pid), " ".join(words)


def is_stand_in(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip() == "weir-stand-in"


def start_and_signal(sig, *args, meanwhile=lambda: None):
    """Sends the signal once the senders run. Returns the exit status."""
    env = {k: v for k, v in os.environ.items() if k != "WEIR_CONTAINED"} # it contains itself
    p = subprocess.Popen(command("--act", "1", "--seconds", "30", *args), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        for line in p.stdout:
            if "in Gb/s" in line: # the first live table
                break
        meanwhile()
    finally:
        p.send_signal(sig)
    p.stdout.read()
    return p.wait(30)


def the_page_of_the_switch_is_at_a_port_of_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]

    def look():
        def get(path):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as r:
                return r.read().decode()

        want("weir-data" in get("/"), "the page")
        shown = json.loads(get("/show/version"))["version"]
        want(shown["ports"] == 3, f"the switch of the act: {shown}")

    want(start_and_signal(signal.SIGTERM, "--web", str(port), meanwhile=look) == 130, "the end")
    with socket.socket() as s:
        want(s.connect_ex(("127.0.0.1", port)) != 0, "the port is closed")


def all_acts_hold_and_nothing_is_left_behind():
    with tempfile.TemporaryDirectory() as tmp:
        out, logs = os.path.join(tmp, "out.json"), os.path.join(tmp, "logs")
        began = time.monotonic()
        done = subprocess.run(command("--seconds", "5", "--json", out, "--keep-logs", logs),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        print(f"        {time.monotonic() - began:.0f} s")
        want(done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}")
        with open(out) as f:
            record = json.load(f)
        want(record["ok"] is True and [a["act"] for a in record["acts"]] == [1, 2, 3], "three acts")
        want(all(c["ok"] for a in record["acts"] for c in a["checks"]), "all checks")
        want("✗" not in done.stdout and "checks hold" in done.stdout, done.stdout)
        want({"act1-receiver.out", "act2-sender1.err"} <= set(os.listdir(logs)), "logs are kept")
    want(left_behind() == [], f"left behind: {left_behind()}")


def a_stall_of_any_program_loses_nothing():
    """The receive rings hold 200 ms at the rate shown; the machine adds stalls of its own."""
    for which in ("control/daemon/weir ", "--listen", "xdp:e1"):
        p = subprocess.Popen(command("--act", "1", "--seconds", "16"), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in p.stdout:
            if "in Gb/s" in line:
                break
        pids = [pid for pid, text in programs() if which in text and not is_stand_in(pid)]
        want(len(pids) == 1, f"one program is {which}: {pids}")
        for _ in range(3):
            os.kill(pids[0], signal.SIGSTOP)
            time.sleep(STALL_S)
            os.kill(pids[0], signal.SIGCONT)
            time.sleep(0.8) # what the stall left in the skid drains
        text = p.stdout.read()
        want(p.wait() == 0, f"{which} stalled\n{text}")


def an_interrupted_run_removes_what_it_made():
    for sig in (signal.SIGINT, signal.SIGTERM):
        status = start_and_signal(sig)
        want(status == 130, f"exit status {status} after {sig.name}")
        want(left_behind() == [], f"left behind after {sig.name}: {left_behind()}")


def bad_options_are_refused():
    for args in (["--act", "4"], ["--seconds", "0"], ["--frobnicate"], ["--web", "0"],
                 ["--web", "8080", "--virtual"]):
        done = subprocess.run(command(*args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")


live.need_root()
sys.exit(live.run_tests([
    bad_options_are_refused,
    all_acts_hold_and_nothing_is_left_behind,
    the_page_of_the_switch_is_at_a_port_of_this_machine,
    a_stall_of_any_program_loses_nothing,
    an_interrupted_run_removes_what_it_made,
]))
