#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: installed in a bare system, run by systemd, upgraded, purged. The tests
follow each other; all run, in this order.

usage: test_package.py BUILD_DIR
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

import bare
import live
import packages
from live import want

BUILD = os.path.abspath(sys.argv[1])
WATCHDOG_S = 8 # a busy machine stops a switch for shorter
CAPABILITIES = 1 << 12 | 1 << 13 | 1 << 14 | 1 << 39 # NET_ADMIN, NET_RAW, IPC_LOCK, BPF
# Sends a frame by one end and waits for it at the other: argv: sender, receiver.
ONE_FRAME = """
import socket, sys, time
tx, rx = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5)) for _ in '12')
tx.bind((sys.argv[1], 0x88b5)); rx.bind((sys.argv[2], 0x88b5)); rx.settimeout(0.2)
frame = b'\\xff' * 6 + b'\\2\\0\\0\\0\\0\\1' + b'\\x88\\xb5' + bytes(range(100))
end = time.monotonic() + 60
while time.monotonic() < end:
    tx.send(frame)
    try:
        if rx.recv(2000) == frame:
            sys.exit(0)
    except TimeoutError:
        pass
sys.exit('no frame in 60 s')
"""
# Stops one thread, as a debugger does, until its process has ended: argv: its id.
STOP_THREAD = """
import ctypes, os, sys, time
libc, tid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
for request in (0x4206, 0x4207): # PTRACE_SEIZE, PTRACE_INTERRUPT
    if libc.ptrace(request, tid, None, None) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
print('stopped', flush=True)
while os.path.exists(f'/proc/{sys.argv[2]}'):
    try:
        os.waitpid(tid, 0x40000000 | os.WNOHANG) # __WALL
    except ChildProcessError:
        break
    time.sleep(0.05)
"""
system = None
before = set()


def installed():
    return set(system.out("dpkg-query -W -f '${Package}\\n'").split())


def put(paths):
    """Copies files into a folder of the system; what apt-get is given."""
    folder = f"{system.root}/var/tmp/weir"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for path in paths:
        shutil.copy(path, folder)
    return " ".join(f"/var/tmp/weir/{os.path.basename(p)}" for p in paths)


def write(path, text):
    path = f"{system.root}/{path}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def unit(*names):
    text = system.out(f"systemctl show weir@sw1 -p {','.join(names)}")
    found = dict(line.split("=", 1) for line in text.splitlines())
    return [found[n] for n in names]


def entries(match):
    """Entries of the journal that match."""
    text = system.out(f"journalctl -o json _SYSTEMD_UNIT=weir@sw1.service {match}", check=False)
    return [json.loads(line) for line in text.splitlines()]


def forwards():
    system.run("python3 /var/tmp/one_frame.py h1 h2")
    system.run("python3 /var/tmp/one_frame.py h2 h1")


def they_install_in_a_bare_system():
    global before, packages_before
    before = system.files()
    packages_before = installed()
    system.run("apt-get -qq update", network=True)
    system.run(f"apt-get -qq install --no-install-recommends {put(first)}", network=True)
    want(system.out("dpkg --verify weir weir-lab weir-doc python3-weir") == "",
         "files as in the packages")
    want(system.out("weir --version") == "weir 0.1.0", system.out("weir --version"))
    done = system.run("cd /tmp && weir-lab run first --out /tmp/first && "
                      "for f in /usr/share/weir/conf/*.yaml; do weirctl check $f; done && "
                      "weirctl --help && weir-host --help && weir-hostd --help && "
                      "weir-inof --help && weir-sonic --help")
    want("weir-inof" in done.stdout, done.stdout)
    # What a release must not lack: the page, and the Python package.
    want("This build has no page" not in system.out("weir-lab page </dev/null || cat "
                                                    "/tmp/first/report.html"), "the page")
    system.run("python3 -c 'import weir; weir.Switch'")
    for name in ("weir@sw1", "weir-inof@sw1", "weir-inof-zones", "weir-sonic@sw1"):
        done = system.run(f"systemd-analyze verify --man=no {name}.service")
        want(done.stdout + done.stderr == "", f"{name}: {done.stdout}{done.stderr}")
    want(unit("ActiveState", "UnitFileState") == ["inactive", "disabled"],
         "nothing starts by itself")


def one_file_is_edited_and_the_unit_forwards():
    system.run("sed -i 's/p\\[1-3\\]/p[1-2]/; s/xdp:sw\\[1-3\\]/xdp:eth[1-2]/' /etc/weir/sw1.yaml")
    write("var/tmp/one_frame.py", ONE_FRAME)
    write("var/tmp/stop_thread.py", STOP_THREAD)
    system.run("for i in 1 2; do ip link add h$i type veth peer name eth$i && "
               "ip link set h$i up && ip link set eth$i up; done")
    system.run("systemctl start weir@sw1")  # ends when READY=1 came
    forwards()
    live.eventually(lambda: unit("StatusText") == ["sw1: 2 of 2 ports up, policy 1"],
                    f"{unit('StatusText')}", 5)
    want("sw1" in system.out("weirctl show version"), system.out("weirctl show version"))


def the_process_has_no_more_than_it_needs():
    pid, = unit("MainPID")
    status = dict(line.split(":\t", 1) for line in
                  system.out(f"cat /proc/{pid}/status").splitlines() if ":\t" in line)
    for name in ("CapPrm", "CapEff", "CapBnd"):
        want(int(status[name], 16) == CAPABILITIES, f"{name} {status[name]}")
    want(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", f"{status}")
    mounts = [line.split()[4:6] for line in
              system.out(f"cat /proc/{pid}/mountinfo").splitlines()]
    writable = {at for at, options in mounts if "rw" in options.split(",")} - {"/dev"}
    writable = {at for at in writable if not at.startswith(("/dev/", "/proc", "/sys"))}
    want({"/run/weir", "/run/dpdk"} <= writable <= {"/run/weir", "/run/dpdk", "/tmp", "/var/tmp"},
         f"{writable}")


def events_are_in_the_journal_with_fields():
    system.run("ip link set h1 down")
    live.eventually(lambda: entries("WEIR_EVENT=link-down WEIR_PORT=p1"), "link-down of p1")
    found = entries("WEIR_EVENT=link-down WEIR_PORT=p1")[0]
    want(found["PRIORITY"] == "4" and found["WEIR_SWITCH"] == "sw1" and
         found["SYSLOG_IDENTIFIER"] == "weir", f"{found}")
    live.eventually(lambda: unit("StatusText") == ["sw1: 1 of 2 ports up, policy 1"],
                    f"{unit('StatusText')}", 5)
    system.run("ip link set h1 up")
    want([e for e in entries("") if e["MESSAGE"] == "ready"], "standard output is there, too")


def a_reload_takes_the_file_and_a_mistake_is_said():
    system.run("sed -i 's/kmin: 150KB/kmin: 200KB/' /etc/weir/sw1.yaml && "
               "systemctl reload weir@sw1")
    live.eventually(lambda: entries("WEIR_EVENT=reload"), "the event reload")
    system.run("cp /etc/weir/sw1.yaml /var/tmp/good.yaml && "
               "echo 'no_such_key: 1' >>/etc/weir/sw1.yaml && systemctl reload weir@sw1")
    live.eventually(lambda: entries("WEIR_EVENT=reload-failed"), "the event reload-failed")
    forwards()
    want(system.run("systemctl restart weir@sw1", check=False).returncode != 0, "a refused policy")
    want(unit("ExecMainStatus", "NRestarts") == ["2", "0"],
         f"{unit('ExecMainStatus', 'NRestarts')}")
    want([e for e in entries("") if "no_such_key" in e["MESSAGE"]], "the mistake in the journal")
    system.run("cp /var/tmp/good.yaml /etc/weir/sw1.yaml && systemctl restart weir@sw1")


def stopped(tid, pid):
    """Runs while the thread is stopped."""
    inside = ["nsenter", "-t", system.first(), "-a", "python3", "/var/tmp/stop_thread.py"]
    p = subprocess.Popen([*inside, str(tid), str(pid)], stdout=subprocess.PIPE, text=True)
    want(p.stdout.readline() == "stopped\n", "the thread is stopped")
    return p


def a_thread_that_stands_still_starts_the_switch_again():
    write("etc/systemd/system/weir@sw1.service.d/watchdog.conf",
          f"[Service]\nWatchdogSec={WATCHDOG_S}\n")
    system.run("systemctl daemon-reload && systemctl restart weir@sw1")
    # Two watchdogs long nothing happens to a switch that moves.
    time.sleep(2 * WATCHDOG_S)
    pid, restarts = unit("MainPID", "NRestarts")
    want(restarts == "0", f"{restarts} restarts of a healthy switch")
    names = system.out(f"for t in /proc/{pid}/task/*; do echo ${{t##*/}} $(cat $t/comm); done")
    names = {name: tid for tid, name in (line.split() for line in names.splitlines())}
    worker = next(tid for name, tid in names.items()
                  if name.startswith(("lcore-worker", "rte-work")))
    for n, which in enumerate((worker, None), 1):
        pid, = unit("MainPID")
        tid = which or pid  # the control thread is the first
        began = time.monotonic()
        helper = stopped(tid, pid)
        live.eventually(lambda: unit("NRestarts") == [str(n)], f"restart {n}")
        took = time.monotonic() - began
        helper.wait(60)
        want(0.7 * WATCHDOG_S < took, f"restarted after {took:.1f} s")
        live.eventually(lambda: unit("ActiveState") == ["active"], "active again")
        forwards()
        print(f"        thread {n} stopped: started again after {took:.1f} s")
    want("watchdog" in system.out("journalctl -u weir@sw1").lower(), "systemd names its watchdog")


def taps_work_under_the_unit():
    system.run("ip netns add router && sed 's/xdp:sw/xdp:eth/' /usr/share/weir/conf/linux.yaml "
               ">/etc/weir/router.yaml && systemctl stop weir@sw1 && systemctl start weir@router")
    want("10.0.1.254/24" in system.out("ip netns exec router ip -br addr show p1"), "the tap p1")
    system.run("ip addr add 10.0.1.1/24 dev h1")
    # The server may listen later than the first client comes.
    listen = "s = socket.create_server((\"10.0.1.1\", 5000)); s.accept()"
    connect = "socket.create_connection((\"10.0.1.1\", 5000), 5)"
    system.run(f"timeout 60 python3 -c 'import socket; {listen}' & for i in 1 2 3 4 5 6 7 8; do "
               f"ip netns exec router python3 -c 'import socket; {connect}' && break; sleep 1; "
               "done; wait $!")
    system.run("systemctl stop weir@router && ip netns del router && rm /etc/weir/router.yaml && "
               "ip addr del 10.0.1.1/24 dev h1 && systemctl start weir@sw1")


def an_upgrade_keeps_the_file_and_the_frames():
    pid, = unit("MainPID")
    edited = system.out("cat /etc/weir/sw1.yaml")
    # From the folder as a repository, as the page has it for many machines.
    put(second)
    write("etc/apt/sources.list.d/weir.list", "deb [trusted=yes] file:/var/tmp/weir ./\n")
    system.run("apt-get -qq update && apt-get -qq upgrade", network=True)
    want(system.out("dpkg-query -W -f '${Version}' weir") == packages.NEXT, "the version")
    want(system.out("cat /etc/weir/sw1.yaml") == edited, "the edited policy")
    want(unit("MainPID", "ActiveState") == [pid, "active"], "the switch was not interrupted")
    forwards()
    system.run("systemctl restart weir@sw1")
    forwards()


def purge_leaves_nothing():
    system.run("systemctl stop weir@sw1")
    want(unit("Result") == ["success"], f"{unit('Result')}")
    system.run("rm -r /etc/systemd/system/weir@sw1.service.d /etc/apt/sources.list.d/weir.list "
               "/var/tmp/*")
    system.run("apt-get -qq remove weir weir-lab weir-doc python3-weir")
    want("/etc/weir/sw1.yaml" in system.out("find /etc/weir"), "a removal keeps the policy")
    system.run("apt-get -qq purge weir weir-lab weir-doc")
    # autoremove would keep those that other packages suggest.
    system.run("apt-get -qq purge " + " ".join(sorted(installed() - packages_before)))
    left = sorted(system.files() - before)
    weir = [f for f in left if "weir" in f] + system.out("find /run /tmp -name '*weir*'").split()
    want(weir == [], f"{weir}")
    want(left == [], f"{left[:20]}")
    want(before <= system.files(), f"gone: {sorted(before - system.files())[:20]}")
    want(system.out("dpkg -l | grep weir", check=False) == "", "dpkg knows them")


TESTS = [
    they_install_in_a_bare_system,
    one_file_is_edited_and_the_unit_forwards,
    the_process_has_no_more_than_it_needs,
    events_are_in_the_journal_with_fields,
    a_reload_takes_the_file_and_a_mistake_is_said,
    a_thread_that_stands_still_starts_the_switch_again,
    taps_work_under_the_unit,
    an_upgrade_keeps_the_file_and_the_frames,
    purge_leaves_nothing,
]


def main():
    global system, folder, first, second
    live.need_root("unshare", "apt-get")
    folder, first, second = packages.built(BUILD)
    system = bare.Bare(folder, os.path.join(os.environ.get("TMPDIR", "/tmp"), "bare"))
    with contextlib.ExitStack() as stack:
        stack.callback(system.end)
        system.boot()
        return live.run_tests(TESTS)


if __name__ == "__main__":
    sys.exit(main())
