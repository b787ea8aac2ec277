#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""DCBX between the switch and stock lldpad: the tables of both ends, who follows whom, events, and
an agent that ends. A shim (lldpad_shim.c) stands for the network card that veth is not.

usage: test_lldpad.py BUILD_DIR SHIM [CASE...]
"""
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

CONFIG, SHM = "/var/lib/lldpad", "/dev/shm"
FOUR = "      4: {lossless: on, schedule: {dwrr: 2}}\n"
WILLING = ", lldp: {willing: on}"
MAC = "02:00:00:00:00:01" # the host's
# The host's shares, and those of the policy as lldpad shows them.
SHARES = ["up2tc=0:0,1:0,2:0,3:1,4:1,5:0,6:2,7:0", "tsa=0:ets,1:ets,2:strict", "tcbw=40,60"]
ETS = ["PRIO_MAP: 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7",
       "TC Bandwidth: 10% 10% 10% 30% 20% 10% 0% 10%",
       "TSA_MAP: 0:ets 1:ets 2:ets 3:ets 4:ets 5:ets 6:strict 7:ets"]


class Lldpad:
    """Stock lldpad on link 1. Its configuration stays when it ends."""

    def __init__(self, world, speaks="rxtx"):
        self.world, self.speaks = world, speaks
        self.log = os.path.join(world.logs, "shim")
        self.starts = 0
        for name in os.listdir(CONFIG):
            os.unlink(os.path.join(CONFIG, name))
        self.start()

    def start(self):
        self.starts += 1
        self.process = self.world.spawn("h1", f"lldpad{self.starts}", "env", f"LD_PRELOAD={SHIM}",
                                        f"LLDPAD_SHIM_LOG={self.log}", "lldpad", "-p", "-t")
        eventually(lambda: self.speak(self.speaks).returncode == 0, "lldpad knows the link")

    def speak(self, how):
        return self.tool("-L", f"adminStatus={how}", check=False)

    def tool(self, command, *words, **kw):
        return self.world.run("h1", "lldptool", command, "-i", "e1", *words, **kw)

    def set(self, tlv, *words):
        self.tool("-T", "-V", tlv, *words)

    def pfc(self, willing, enabled):
        self.set("PFC", f"willing={willing}", f"enabled={enabled}", "enableTx=yes")

    def peer(self):
        """The switch as lldpad sees it: the TLVs of the neighbour by name."""
        found = {}
        for line in self.tool("-t", "-n", check=False).stdout.splitlines():
            if line.startswith("\t"):
                found[name].append(" ".join(line.split()))
            else:
                name = line.removeprefix("IEEE 8021QAZ ").removesuffix(" TLV")
                found[name] = []
        return found

    def settings(self, what):
        """All that lldpad has set in its network card, the latest last."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as f:
            return [line.strip() for line in f if line.startswith(what)]

    def card(self, what, wanted):
        eventually(lambda: self.settings(what)[-1:] == [wanted], f"lldpad sets {wanted}")

    def stop(self, sig=signal.SIGTERM):
        self.process.stop(sig)


def switch_of(world, *args, **kw):
    return Switch(world, PROGRAMS, switch_name(), policy(*args, more=FOUR, **kw))


def state(switch, wanted):
    eventually(lambda: dcbx(switch)["state"] == wanted, f"the state is {wanted}")


def ended(switch):
    want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


# ---- cases

def each_end_shows_the_tables_of_the_other():
    with World(3) as world:
        switch = switch_of(world, "auto")
        want(dcbx(switch)["active"] == [], "no host has spoken")
        host = Lldpad(world)
        host.pfc("no", "3,4")
        host.set("ETS-CFG", "willing=no", "enableTx=yes", *SHARES)
        host.set("ETS-REC", "enableTx=yes", *SHARES)
        host.set("APP", "enableTx=yes", "app=3,4,4791")
        eventually(lambda: dcbx(switch)["active"] == [3, 4], "PFC is active in both classes")
        eventually(lambda: dcbx(switch)["host_roce"] == 3, "the host's class of RoCEv2")
        row = dcbx(switch)
        want(row["state"] == "agreed" and row["mode"] == "auto" and not row["host_willing"] and
             row["host_pfc"] == [3, 4] and row["peer"] == MAC, f"{row}")
        shown = [r for r in switch.show("dcbx", "p1")["classes"] if r["port"] == "p1"]
        want([r["host_tc"] for r in shown] == [0, 0, 0, 1, 1, 0, 2, 0], f"{shown}")
        want([r["host_share"] for r in shown] == [40, 40, 40, 60, 60, 40, 0, 40], f"{shown}")
        want([r["host_tsa"] for r in shown] == ["ets"] * 6 + ["strict", "ets"], f"{shown}")
        peer = host.peer()
        want(peer["Port ID"] == ["Ifname: p1"] and peer["System Name"] == [switch.name], f"{peer}")
        want(peer["ETS Configuration"] == ["Willing: no", "CBS: not supported", "MAX_TCS: 8", *ETS],
             f"{peer}")
        want(peer["ETS Recommendation"] == ETS, f"{peer}")
        want(peer["PFC"] == ["Willing: no", "MACsec Bypass Capable: no",
                             "PFC capable traffic classes: 8", "PFC enabled: 3 4"], f"{peer}")
        want(peer["APP"] == ["App# 0 Prio 3 Sel 4 P-ID TCP/STCP/UDP/DCCP Port: 4791"], f"{peer}")
        want(host.settings("pfc")[-1] == "pfc 18", f"it keeps its own: {host.settings('pfc')}")
        host.stop()
        ended(switch)


def a_willing_host_takes_pfc_and_shares_of_the_switch():
    with World(3) as world:
        switch = switch_of(world)
        host = Lldpad(world)
        host.pfc("yes", "none")
        host.set("ETS-CFG", "willing=yes", "enableTx=yes", *SHARES)
        host.card("pfc", "pfc 18")
        host.card("ets", "ets 0 1 2 3 4 5 6 7 10 10 10 30 20 10 0 10 2 2 2 2 2 2 0 2")
        state(switch, "agreed")
        want(dcbx(switch)["host_willing"] and dcbx(switch)["host_pfc"] == [3, 4],
             f"{dcbx(switch)}")
        host.stop()
        ended(switch)


def a_willing_switch_takes_pfc_of_the_host():
    with World(3) as world:
        switch = switch_of(world, port=WILLING)
        host = Lldpad(world)
        host.pfc("no", "4")
        eventually(lambda: dcbx(switch)["active"] == [4], "PFC of the host")
        state(switch, "agreed")
        eventually(lambda: events(switch, "dcbx-pfc"), "the event")
        got = events(switch, "dcbx-pfc")[-1]
        want(got["active"] == [4] and got["because"] == "lldp.willing", f"{got}")
        want(host.peer()["PFC"][-1] == "PFC enabled: 4", f"{host.peer()}")
        host.stop()
        ended(switch)


def both_willing(world, mac, speaks):
    """A switch with this address and a host, both willing: 3 and 4 against 4."""
    world.run("sw", "ip", "link", "set", "sw1", "address", mac)
    host = Lldpad(world, speaks)
    host.pfc("yes", "4")
    return switch_of(world, port=WILLING), host


def a_switch_with_the_lower_address_keeps_its_pfc_and_lldpad_does_so_too():
    with World(3) as world:
        switch, host = both_willing(world, "02:00:00:00:00:00", "rxtx")
        eventually(lambda: host.peer().get("PFC", [""])[-1] == "PFC enabled: 3 4",
                   "lldpad knows the switch")
        eventually(lambda: events(switch, "dcbx-mismatch"), "the event")
        row = dcbx(switch)
        want(row["active"] == [3, 4] and row["host_pfc"] == [4] and row["host_willing"], f"{row}")
        want(host.settings("pfc")[-1] == "pfc 10", f"{host.settings('pfc')}")
        host.stop()
        ended(switch)


def a_switch_with_the_higher_address_follows_and_both_agree():
    with World(3) as world:
        switch, host = both_willing(world, "02:00:00:00:00:99", "tx") # it hears nothing yet
        eventually(lambda: dcbx(switch)["active"] == [4], "PFC of the host")
        host.speak("rxtx")
        eventually(lambda: host.peer().get("PFC", [""])[-1] == "PFC enabled: 4",
                   "lldpad knows the switch")
        want(dcbx(switch)["state"] == "agreed" and dcbx(switch)["active"] == [4],
             f"{dcbx(switch)}")
        want(host.settings("pfc")[-1] == "pfc 10", f"{host.settings('pfc')}")
        host.stop()
        ended(switch)


def a_difference_is_an_event_with_its_cure_and_so_is_its_end():
    with World(3) as world:
        switch = switch_of(world)
        host = Lldpad(world)
        host.pfc("no", "4")
        eventually(lambda: events(switch, "dcbx-mismatch"), "the event")
        got = events(switch, "dcbx-mismatch")[-1]
        want(got["host_pfc"] == [4] and got["switch_pfc"] == [3, 4], f"{got}")
        want("--pfc 0,0,0,1,1,0,0,0" in dcbx(switch)["cure"], f"{dcbx(switch)}")
        host.pfc("no", "3,4")
        eventually(lambda: events(switch, "dcbx-agreed"), "the host has PFC on 3 and 4")
        want("cure" not in dcbx(switch), f"{dcbx(switch)}")
        host.stop()
        ended(switch)


def pfc_follows_an_lldpad_that_stops_restarts_and_dies():
    with World(3) as world:
        switch = switch_of(world, "auto")
        host = Lldpad(world)
        host.pfc("no", "3,4")

        def active(classes, text):
            eventually(lambda: dcbx(switch)["active"] == classes, text)

        def neighbours():
            return switch.show("lldp")["lldp"]

        def gone():
            return len(events(switch, "lldp-neighbour-gone"))

        active([3, 4], "the host has PFC on 3 and 4")
        host.stop()
        eventually(lambda: not neighbours() and gone() == 1, "lldpad has said goodbye")
        active([], "the host is gone")
        host.start()
        active([3, 4], "lldpad has kept its configuration")
        host.stop(signal.SIGKILL)
        received = switch.show("lldp")["lldp_ports"][0]["received"]
        host.start()
        eventually(lambda: switch.show("lldp")["lldp_ports"][0]["received"] > received, "a frame")
        want(len(neighbours()) == 1 and gone() == 1, f"the same neighbour: {neighbours()}")
        want(dcbx(switch)["active"] == [3, 4], f"{dcbx(switch)}")
        host.set("TTL", "value=3")
        host.set("APP", "enableTx=yes", "app=3,4,4791") # a frame with the new time
        eventually(lambda: dcbx(switch)["host_roce"] == 3 or gone() == 2, "the frame")
        host.stop(signal.SIGKILL)
        eventually(lambda: not neighbours() and gone() >= 2, "its time has run out")
        want(switch.show("lldp")["lldp_ports"][0]["aged"] >= 1, f"{switch.show('lldp')}")
        active([], "the host is gone")
        ended(switch)


live.need_root()
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402
from agents import dcbx, events, need, policy, private # noqa: E402

need("lldpad", "lldptool")
private(CONFIG, SHM)
PROGRAMS = Programs(sys.argv[1])
SHIM = sys.argv.pop(2)
sys.exit(live.run_tests([each_end_shows_the_tables_of_the_other,
                         a_willing_host_takes_pfc_and_shares_of_the_switch,
                         a_willing_switch_takes_pfc_of_the_host,
                         a_switch_with_the_lower_address_keeps_its_pfc_and_lldpad_does_so_too,
                         a_switch_with_the_higher_address_follows_and_both_agree,
                         a_difference_is_an_event_with_its_cure_and_so_is_its_end,
                         pfc_follows_an_lldpad_that_stops_restarts_and_dies]))
