#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/virtual.md: virtual machines, DPDK programs, the host's stack and a
namespace at one switch. The commands are those of the page. It runs in a network namespace of its
own (`unshare --net`).

usage: test_ports.py BUILD_DIR [TEST...]
"""
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
import page # noqa: E402
from live import eventually, want # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TITLE = "# Virtual machines"
commands = functools.partial(page.commands, "virtual.md")
RIGHT = ["ip", "netns", "exec", "right"]
LEAST_BPS = 20e6 # a link that works moves far more; a broken one moves nothing
os.environ["PATH"] = os.pathsep.join(
    [os.path.join(BUILD, "control", d) for d in ("daemon", "ctl", "host")] + [os.environ["PATH"]])


def run(words):
    done = subprocess.run(words, cwd=live.ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    want(done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


class Program:
    """A command of the page that goes on. Its standard input stays open: Enter ends testpmd."""

    def __init__(self, words):
        self.log = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen(words, cwd=live.ROOT, stdin=subprocess.PIPE, stdout=self.log,
                                  stderr=subprocess.STDOUT, text=True)

    def said(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()
        self.p.stdin.close()

    def wait_for(self, text):
        eventually(lambda: text in self.said() or self.p.poll() is not None, text)
        want(text in self.said(), self.said())
        return self

    def stop(self, sig=signal.SIGTERM):
        self.p.send_signal(sig)
        return self.p.wait(30)

    def report(self):
        want(self.p.wait(60) == 0, self.said())
        out = self.said()
        return json.loads(out[out.index("{"):])


class Switch(Program):
    def __init__(self):
        start, self.show_ports = commands(TITLE)
        super().__init__(start)
        self.wait_for("\nready\n")
        run(self.show_ports)

    def show(self, what):
        return json.loads(run(["weirctl", "-s", "virtual", "show", what, "--json"]))[what]

    def port(self, name):
        return next(p for p in self.show("ports") if p["name"] == name)

    def up(self, *names):
        return all(self.port(n)["up"] for n in names)


def guests_exchange_rdma_over_a_lossless_class():
    listen, send, pfc = commands("Virtual machines")
    with Switch() as switch:
        want(not switch.up("vm1") and not switch.up("vm2"), "no link without a guest")
        for again in (False, True):
            with Program(listen) as receiver:
                eventually(lambda: switch.up("vm1"), f"the guest brings the link up, again={again}")
                with Program(send) as sender:
                    if again:
                        eventually(lambda: switch.up("vm2"), "the sender connects")
                        want(sender.stop(signal.SIGKILL) != 0, "a guest is killed as it sends")
                    else:
                        sent = sender.report()
                        want(sent["messages_completed"] > 10, f"what was sent: {sent}")
                eventually(lambda: not switch.up("vm2"), "the link goes down with the guest")
                receiver.stop(signal.SIGKILL)
            eventually(lambda: not switch.up("vm1"), "the link goes down with the guest")
        run(pfc)
        lost = [d for d in switch.show("drops") if d["class"] == 3 and d["reason"] != "port-down"]
        want(not lost, f"losses in class 3: {lost}")
        want(switch.stop() == 0, switch.said())


def dpdk_programs_exchange_frames_by_memif():
    generate, count, drops = commands("DPDK programs")
    with Switch() as switch:
        for _ in range(3):
            with Program(count) as sink, Program(generate):
                before = switch.port("app2")["tx_packets"]
                eventually(lambda: switch.up("app1", "app2"), "both peers are connected")
                eventually(lambda: switch.port("app2")["tx_packets"] > before + 1000, "frames pass")
                sink.stop(signal.SIGKILL)
            eventually(lambda: not switch.up("app1") and not switch.up("app2"), "peers left")
        run(drops)
        want(switch.stop() == 0, switch.said())


def the_hosts_stack_talks_to_a_namespace():
    *make, ping = commands("The host's own stack")
    with Switch() as switch:
        for words in make:
            run(words)
        eventually(lambda: switch.up("tap1", "ns1"), "the veth that came late is used")
        want("3 received" in run(ping), "three pings")
        with Program(["iperf3", "-s", "-1", "--forceflush"]) as server:
            server.wait_for("listening")
            done = run([*RIGHT, "iperf3", "-J", "-c", "10.1.0.1", "-t", "1"])
        bps = json.loads(done)["end"]["sum_received"]["bits_per_second"]
        want(bps > LEAST_BPS, f"TCP through a tap: {bps / 1e6:.1f} Mb/s")
        run(["ip", "netns", "del", "right"])
        want(switch.stop() == 0, switch.said())


live.need_root("iperf3", "ping", "dpdk-testpmd")
sys.exit(live.run_tests([
    guests_exchange_rdma_over_a_lossless_class,
    dpdk_programs_exchange_frames_by_memif,
    the_hosts_stack_talks_to_a_namespace,
]))
