#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real ports in namespaces: what goes into one must come out of the other, to the byte.

usage: drivers.py PORTLOOP FOREIGN_OBJ WEIR_XDP_OBJ [TEST...]

    ns sw:  swa [portloop] swb
             |              |
    ns a:   ea         ns b: eb

Needs root; exit 77 without it. Makes namespaces of its own, named after its process, and removes
them. Each test is a function whose name says what must hold.
"""
import struct
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from harness import Wire, equal, inside, ip, remake, until  # noqa: E402
from loop import APART, LLDP, LLDP_DST, PFC_DST, Loop, frame, pfc, refused, run_tests  # noqa: E402

from memif_peer import SLOTS, MemifPeer  # noqa: E402
from vhost_guest import VhostGuest  # noqa: E402

FOREIGN_OBJ, WEIR_OBJ = sys.argv[2:4]
PEERS, BUSY_PEERS = 200, 2000


def xdp_name(ifname):
    lines = [part for part in ip("sw", "-d", "link", "show", ifname).splitlines()
             if "prog/xdp" in part]
    return lines[0].split("name ")[1].split()[0] if lines and "name " in lines[0] else \
        "?" if lines else None


def cross(sizes, *args):
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop(*args, "xdp:swa", "xdp:swb") as loop:
        for seq, size in enumerate(sizes):
            for source, target in ((a, b), (b, a)):
                for extra in ({}, {"dst": PFC_DST}, {"tag": b"\x81\x00\x60\x05"}):
                    if "tag" in extra and size < 34:
                        continue  # the receiving kernel discards it
                    sent = frame(size, seq, **extra)
                    source.send(sent)
                    got = target.recv()
                    if got != sent:
                        raise AssertionError(
                            f"size {size} {extra}: got {got and (len(got), got[:24].hex())}, "
                            f"sent {sent[:24].hex()}")
        return loop.facts


TESTS = []


def test(fn):
    TESTS.append(fn)
    return fn


# ---- forwarding

@test
def frames_of_every_size_cross_unchanged():
    facts = cross([18, 34, 59, 60, 61, 64, 128, 255, 256, 1000, 1499, 1513, 1514])
    equal([f["speed"] for f in facts], ["0", "0"], "a veth has no line rate")
    equal([f["pfc"] for f in facts], ["11", "11"], "PFC passes a veth both ways")
    equal([f["depth"] for f in facts], ["1", "1"], "the receive depth can be read")


@test
def the_largest_frame_of_a_native_veth_crosses_unchanged():
    remake(mtu=3506)
    cross([34, 1514, 3000, 3516, 3520], "-f", "3528")
    remake()


@test
def generic_mode_takes_over_with_a_note_and_carries_the_largest_frame():
    remake(mtu=3554)
    with Loop("-f", "3576", "xdp:swa", "xdp:swb") as loop:
        with Wire("a", "ea") as a, Wire("b", "eb") as b:
            for size in (34, 1514, 3568):
                sent = frame(size)
                a.send(sent)
                equal(b.recv(), sent, f"frame of {size}")
    notes = [line for line in loop.err.splitlines() if "generic hook" in line]
    equal(len(notes), 2, "a note for each port")
    remake()


# Of a frame of one buffer the kernel's pages leave 3648 bytes, and a descriptor sends 4096.
LONG = [34, 64, 1514, 3576, 3577, 3648, 3649, 4095, 4096, 4097, 4170, 7296, 7297, 8192, 8193, 9018,
        9230]


@test
def frames_of_several_buffers_cross_unchanged():
    remake(mtu=9216)
    cross(LONG, "-f", "9238")
    cross(LONG, "-f", "9238", "-r", "64")
    remake()


@test
def frames_of_several_buffers_cross_unchanged_on_normal_pages():
    remake(mtu=9216)
    with Wire("a", "ea") as a, Wire("b", "eb") as b, \
            Loop("-f", "9238", "-r", "256", "xdp:swa", "xdp:swb", "--", "--no-huge"):
        for size in LONG:
            sent = frame(size)
            a.send(sent)
            equal(b.recv(), sent, f"frame of {size}")
    remake()


@test
def frames_of_several_buffers_cross_unchanged_in_generic_mode():
    remake(mtu=9216, peer_queues=2)
    with Loop("-f", "9238", "xdp:swa", "xdp:swb") as loop, \
            Wire("a", "ea") as a, Wire("b", "eb") as b:
        for source, target in ((a, b), (b, a)):
            for size in LONG:
                sent = frame(size)
                source.send(sent)
                equal(target.recv(), sent, f"frame of {size}")
    notes = [line for line in loop.err.splitlines() if "generic hook" in line]
    equal(len(notes), 2, "a note for each port")
    remake()


@test
def long_frames_beside_short_ones_keep_their_order_and_their_bytes():
    remake(mtu=9216)
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("-f", "9238", "xdp:swa", "xdp:swb"):
        for turn in range(20):
            sent = [frame((64, 9018, 1514, 4170, 128)[i % 5], 100 * turn + i) for i in range(40)]
            for f in sent:
                a.send(f)
            equal([b.recv() for _ in sent], sent, f"turn {turn}")
    remake()


@test
def a_frame_longer_than_a_buffer_is_dropped_and_leaves_the_next_ones_whole():
    remake(mtu=3000)
    with Loop("xdp:swa", "xdp:swb"), Wire("a", "ea") as a, Wire("b", "eb") as b:
        for seq in range(100):
            a.send(frame(2800, seq))
            sent = frame(1514, seq)
            a.send(sent)
            equal(b.recv(), sent, "the next frame")
    remake()


@test
def a_frame_whose_front_was_cut_leaves_from_its_new_start():
    with Loop("xdp:swa", "xdp:swb") as loop, Wire("a", "ea") as a, Wire("b", "eb") as b:
        for cut in (1, 3, 14, 50):
            loop.ask(f"move 0 {cut}")
            sent = frame(cut) + frame(200, cut)
            a.send(sent)
            equal(b.recv(), sent[cut:], f"frame less {cut} bytes")


@test
def a_pfc_frame_keeps_its_34_bytes():
    sent = pfc({3: 0xFFFF})
    equal(len(sent), 34, "length")
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("xdp:swa", "xdp:swb"):
        a.send(sent)
        equal(b.recv(), sent, "PFC frame")


@test
def normal_pages_carry_frames_too():
    cross([34, 1514], "-r", "256")
    with Wire("a", "ea") as a, Wire("b", "eb") as b, \
            Loop("xdp:swa", "xdp:swb", "--", "--no-huge"):
        for size in (34, 700, 1514):
            sent = frame(size)
            a.send(sent)
            equal(b.recv(), sent, f"frame of {size}")


@test
def large_pools_fit_into_normal_pages():
    with Loop("-r", "32768", "vdev:net_null0", "vdev:net_null1", "--", "--no-huge"):
        pass
    with Loop("-r", "8192", "xdp:swa", "xdp:swb", "--", "--no-huge"):
        pass


@test
def lldp_goes_to_the_kernel_and_nowhere_else():
    tagged = {"tag": b"\x81\x00\x00\x05"}
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("xdp:swa", "xdp:swb") as loop, \
            Wire("sw", "swa") as host:
        for extra in ({}, tagged):
            sent = frame(80, dst=LLDP_DST, ethertype=LLDP, **extra)
            a.send(sent)
            equal(host.recv(), sent, "LLDP at the host's stack")
        after = frame(60, 7)
        a.send(after)
        equal(b.recv(), after, "first frame at the other port")
        equal(host.recv(0.1), None, "the host's stack")
        equal(loop.ask("stats 0")["to_kernel"], 2, "to_kernel")


# ---- the receive ring

@test
def frames_wait_in_the_receive_ring_and_leave_in_order():
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("xdp:swa", "xdp:swb") as loop:
        loop.ask("hold 0")
        sent = [frame(64 + i, i) for i in range(500)]
        for f in sent:
            a.send(f)
        until(lambda: loop.ask("depth 0")["depth"] == len(sent), "depth is what was sent")
        equal(b.recv(0), None, "held")
        loop.ask("go 0")
        equal(b.recv_n(len(sent)), sent, "frames")
        equal(loop.ask("depth 0")["depth"], 0, "depth")
        equal(loop.ask("stats 0")["missed"], 0, "missed")


@test
def a_full_receive_ring_loses_the_rest_and_counts_each_once():
    with Wire("a", "ea") as a, Wire("b", "eb") as b, \
            Loop("-r", "64", "xdp:swa", "xdp:swb") as loop:
        equal(loop.facts[0]["rx_ring"], "64", "ring")
        for _ in range(3):
            before = loop.ask("stats 0")["missed"]
            loop.ask("hold 0")
            sent = [frame(100, i) for i in range(200)]
            for f in sent:
                a.send(f)
            until(lambda: loop.ask("stats 0")["missed"] - before == 136, "136 of 200 missed")
            equal(loop.ask("depth 0")["depth"], 64, "depth")
            loop.ask("go 0")
            equal(b.recv_n(64), sent[:64], "frames that had room")
            equal(b.recv(0.1), None, "no more")


def pool_runs_dry(size, *args):
    """The frames wait for the link of the other port until they are all that the pool has."""
    with Wire("a", "ea") as a, Wire("b", "eb") as b, \
            Loop("-r", "512", *args, "xdp:swa", "xdp:swb") as loop:
        ip("sw", "link", "set", "swb", "down")
        until(lambda: loop.ask("stats 1")["up"] == 0, "link down is seen")
        sent = 0
        while loop.ask("stats 0")["missed"] == 0 and sent < 20000:
            for _ in range(50):
                a.send(frame(size, sent))
                sent += 1
            time.sleep(0.02)
        if APART:
            equal(loop.ask("depth 0")["depth"], 512, "buffers that wait in the ring")
        missed = loop.ask("stats 0")["missed"]
        ip("sw", "link", "set", "swb", "up")
        got = b.recv_n(sent - missed)
        numbers = [struct.unpack("!H", f[14:16])[0] for f in got]
        equal(numbers, sorted(numbers), "order")
        equal(got, [frame(size, n) for n in numbers], "bytes")
        equal(b.recv(0.1), None, "no more")
        if not 1000 < len(got) < 10000:
            raise AssertionError(f"{len(got)} frames of the pool")
        a.send(frame(size))
        equal(b.recv(), frame(size), "the next frame")


@test
def a_port_receives_again_once_the_pool_has_frames():
    pool_runs_dry(100)


@test
def a_port_of_long_frames_receives_again_once_the_pool_has_frames():
    remake(mtu=9216)
    pool_runs_dry(9000, "-f", "9238")
    remake()


@test
def a_frame_above_the_limit_is_lost_and_counted():
    remake(mtu=3000)
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("xdp:swa", "xdp:swb") as loop:
        a.send(frame(3000))
        until(lambda: loop.ask("stats 0")["missed"] == 1, "missed")
        sent = frame(1514)
        a.send(sent)
        equal(b.recv(), sent, "the next frame")
    remake()


# ---- the transmit ring

@test
def a_stuck_transmit_ring_takes_its_limit_and_pfc_and_leaves_by_itself():
    with Loop("-t", "4000", "xdp:swa", "xdp:swb") as loop, Wire("b", "eb") as b:
        ip("sw", "link", "set", "swb", "down")
        until(lambda: loop.ask("stats 1")["up"] == 0, "link down is seen")
        got = loop.ask("send 1 100 1000")
        equal((got["taken"], got["room"], got["pending"]), (4, 0, 4000), "data taken")
        got = loop.ask("send 1 8 60 pfc")
        equal((got["taken"], got["room"], got["pending"]), (8, 0, 4480), "PFC taken")
        ip("sw", "link", "set", "swb", "up")
        until(lambda: loop.ask("stats 1")["up"] == 1, "link up is seen")
        until(lambda: loop.ask("stats 1")["pending"] == 0, "the ring drains without a new frame")
        equal(sorted(len(f) for f in b.recv_n(12)), [60] * 8 + [1000] * 4, "all frames arrive")
        equal(loop.ask("stats 1")["room"], 32 * 1522, "room for what the kernel sends per call")


@test
def short_frames_leave_descriptors_for_pfc():
    with Loop("-t", "1000000", "xdp:swa", "xdp:swb") as loop:
        ip("sw", "link", "set", "swb", "down")
        until(lambda: loop.ask("stats 1")["up"] == 0, "link down is seen")
        got = loop.ask("send 1 60000 14")
        if not 1000 < got["taken"] < 60000 or got["room"] != 0:
            raise AssertionError(f"descriptors do not bound the ring: {got}")
        equal(loop.ask("send 1 8 60 pfc")["taken"], 8, "PFC taken")
        ip("sw", "link", "set", "swb", "up")
        until(lambda: loop.ask("stats 1")["pending"] == 0, "the ring drains")


@test
def an_empty_ring_takes_a_frame_longer_than_its_limit():
    with Loop("-t", "100", "xdp:swa", "xdp:swb") as loop, Wire("b", "eb") as b:
        equal(loop.ask("send 1 1 1500")["taken"], 1, "taken")
        equal(len(b.recv()), 1500, "length")


@test
def frames_that_cannot_be_sent_are_counted_and_freed():
    with Loop("xdp:swa", "xdp:swb") as loop, Wire("b", "eb") as b:
        equal(loop.ask("bad 1")["taken"], 3, "taken")
        equal(loop.ask("stats 1")["tx_errors"], 3, "tx_errors")
        equal(b.recv(0.1), None, "nothing is sent")


@test
def frames_sent_into_a_dead_link_are_counted():
    with Loop("xdp:swa", "xdp:swb") as loop:
        ip("b", "link", "set", "eb", "down")
        until(lambda: loop.ask("stats 1")["up"] == 0, "link down is seen")
        equal(loop.ask("send 1 5 100")["taken"], 5, "taken")
        got = loop.ask("stats 1")
        equal((got["tx_errors"], got["pending"]), (5, 0), "tx_errors, pending")
        ip("b", "link", "set", "eb", "up")
        until(lambda: loop.ask("stats 1")["up"] == 1, "link up is seen")


@test
def a_port_closed_with_frames_in_every_ring_returns_them_all():
    with Wire("a", "ea") as a, Loop("xdp:swa", "xdp:swb") as loop:
        loop.ask("hold 0")
        for i in range(100):
            a.send(frame(100, i))
        until(lambda: loop.ask("depth 0")["depth"] == 100, "depth")
        ip("sw", "link", "set", "swb", "down")
        equal(loop.ask("send 1 100 1000")["taken"], 8, "taken")
    ip("sw", "link", "set", "swb", "up")


# ---- who owns the interface

@test
def a_clean_exit_leaves_no_program_behind():
    with Loop("xdp:swa", "xdp:swb"):
        equal(xdp_name("swa"), "weir_xdp", "while running")
    equal((xdp_name("swa"), xdp_name("swb")), (None, None), "after the exit")


@test
def a_killed_switch_can_be_started_again_at_once():
    for _ in range(3):
        loop = Loop("xdp:swa", "xdp:swb")
        loop.kill()
    cross([60])
    loop = Loop("xdp:swa", "xdp:swb")
    loop.kill()
    until(lambda: xdp_name("swa") is None, "the kernel takes the program off")


@test
def a_stale_program_of_ours_is_replaced():
    ip("sw", "link", "set", "dev", "swa", "xdp", "obj", WEIR_OBJ, "sec", "xdp")
    ip("sw", "link", "set", "dev", "swb", "xdpgeneric", "obj", WEIR_OBJ, "sec", "xdp")
    equal((xdp_name("swa"), xdp_name("swb")), ("weir_xdp", "weir_xdp"), "left behind")
    cross([60])
    equal(xdp_name("swa"), None, "afterwards")


@test
def a_foreign_program_stays_and_the_port_is_refused():
    for mode in ("xdp", "xdpgeneric"):
        ip("sw", "link", "set", "dev", "swa", mode, "obj", FOREIGN_OBJ, "sec", "xdp")
        number = ip("sw", "link", "show", "swa").split("id ")[1].split()[0]
        refused(f"swa: another XDP program (id {number}) is attached and stays; remove it with "
                "`ip link set dev swa xdp off` if it is not needed", "xdp:swa")
        equal(xdp_name("swa"), "foreign", "still there")
        ip("sw", "link", "set", "dev", "swa", mode, "off")


@test
def a_second_switch_on_a_port_is_refused_and_the_first_goes_on():
    with Wire("a", "ea") as a, Wire("b", "eb") as b, Loop("xdp:swa", "xdp:swb"):
        refused("swa: port already in use by another weir or weir-host", "xdp:swa")
        sent = frame(60)
        a.send(sent)
        equal(b.recv(), sent, "frame through the first")


# ---- what is refused

@test
def what_cannot_work_is_refused_in_one_sentence():
    refused("none0: no such interface in this network namespace; `ip link` lists them",
            "xdp:none0")
    refused("a-name-that-no-interface-can-have: no such interface in this network namespace; "
            "`ip link` lists them", "xdp:a-name-that-no-interface-can-have")
    refused("swa: its MTU is 1500 and the port needs 3000; `ip link set dev swa mtu 3000`",
            "-f", "3022", "xdp:swa")
    refused("swa: the largest MTU is 9216, not 9300", "-f", "9322", "xdp:swa")
    refused("eth:swa: not a device; write xdp:INTERFACE, pci:ADDRESS or vdev:NAME", "eth:swa")
    refused("xdp:: not a device; write xdp:INTERFACE, pci:ADDRESS or vdev:NAME", "xdp:")


@test
def several_receive_queues_are_refused_with_the_remedy():
    remake(queues=4)
    inside("sw", "ethtool", "-L", "swa", "rx", "4")
    refused("swa: it spreads frames over 4 receive queues and one is polled; `ethtool -L swa rx 1`"
            " leaves one", "xdp:swa")
    inside("sw", "ethtool", "-L", "swa", "rx", "1")
    cross([60])
    remake()


@test
def without_root_the_refusal_says_so():
    ip("sw", "link", "set", "swa", "up")
    refused("swa: making it promiscuous is not permitted; run as root", "xdp:swa", "--",
            "--no-huge", "--no-shconf", "-m", "64",
            prefix=("setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all"))


# ---- DPDK's own devices

@test
def a_tap_and_an_xdp_port_forward_to_each_other():
    with Loop("vdev:net_tap0,iface=wtap0", "xdp:swb") as loop:
        equal((loop.facts[0]["speed"], loop.facts[0]["pfc"]), ("0", "11"), "facts of a tap")
        inside("sw", "sysctl", "-qw", "net.ipv6.conf.wtap0.disable_ipv6=1")
        with Wire("sw", "wtap0") as tap, Wire("b", "eb") as b:
            for size in (34, 60, 1000, 1514):
                sent = frame(size, size)
                tap.send(sent)
                equal(b.recv(), sent, f"{size} bytes from the tap")
                b.send(sent)
                equal(tap.recv(), sent, f"{size} bytes to the tap")


@test
def af_packet_carries_frames_and_refuses_to_truncate():
    device = "vdev:net_af_packet0,iface=swa"
    inside("sw", "ip", "link", "set", "swa", "up")
    with Loop(device, "xdp:swb"), Wire("a", "ea") as a, Wire("b", "eb") as b:
        for size in (34, 1514):
            sent = frame(size, size)
            a.send(sent)
            equal(b.recv(), sent, f"{size} bytes")
            b.send(sent)
            equal(a.recv(), sent, f"{size} bytes back")
    refused("framesz=1024 would truncate frames of 1522 bytes; write framesz=1664,blocksz=53248 "
            "or leave it out", device + ",framesz=1024")
    refused("swa: its MTU is 1500 and the port needs 4096; `ip link set dev swa mtu 4096`",
            "-f", "4118", device)
    refused("none0: no such interface in this network namespace; `ip link` lists them",
            "vdev:net_af_packet0,iface=none0")


@test
def af_packet_carries_a_roce_mtu_with_slots_of_its_own_or_the_users():
    remake(mtu=4096)
    inside("sw", "ip", "link", "set", "swa", "up")
    inside("sw", "ip", "link", "set", "swb", "up")
    with Loop("-f", "4118", "vdev:net_af_packet0,iface=swa",
              "vdev:net_af_packet1,iface=swb,blocksz=8192,framesz=8192"), \
            Wire("a", "ea") as a, Wire("b", "eb") as b:
        for source, target in ((a, b), (b, a)):
            sent = frame(4110)
            source.send(sent)
            equal(target.recv(), sent, "4110 bytes")
    remake()


@test
def null_and_ring_devices_open_and_close():
    with Loop("vdev:net_null0", "vdev:net_ring0") as loop:
        until(lambda: loop.ask("stats 0")["rx"] > 1000, "net_null delivers")
        equal(loop.ask("stats 0")["room"], 2**31 - 1, "room")


@test
def a_frame_in_two_buffers_is_received_as_one():
    with Loop("vdev:net_ring0", "vdev:net_null0,no-rx=1") as loop:
        for length, received, too_long in ((200, 1, 0), (1522, 2, 0), (1523, 2, 1)):
            equal(loop.ask(f"chain 0 {length}")["taken"], 1, "chain")
            until(lambda: loop.ask("stats 0")["rx"] == received and
                  loop.ask("reasons 0")["too_long"] == too_long, f"a chain of {length} bytes")


@test
def a_device_that_the_bus_reports_as_removed_is_gone():
    with Loop("vdev:net_ring0", "vdev:net_ring1") as loop:
        equal(loop.ask("stats 0")["up"], 1, "the link")
        equal(loop.ask("take 0")["gone"], 1, "the device is gone")
        equal(loop.ask("stats 0")["up"], 0, "the link")
        equal(loop.ask("stats 1")["up"], 1, "the other link")


@test
def a_vhost_port_without_a_guest_is_empty_and_silent():
    with tempfile.TemporaryDirectory() as folder:
        with Loop(f"vdev:net_vhost0,iface={folder}/v.sock", "vdev:net_ring0") as loop:
            equal(loop.facts[0]["depth"], "1", "the receive depth can be read")
            equal(loop.ask("depth 0")["depth"], 0, "receive depth")
    if "device not found" in loop.err:
        raise AssertionError(loop.err)


@test
def a_vhost_guest_leaves_while_its_ring_is_looked_at():
    with tempfile.TemporaryDirectory() as folder, \
            Loop(f"vdev:net_vhost0,iface={folder}/v", "xdp:swb",
                 prefix=("taskset", "-c", "0")) as loop:
        loop.ask("watch 0")
        for _ in range(PEERS):
            guest = VhostGuest(f"{folder}/v")
            until(lambda: loop.ask("stats 0")["up"] == 1, "a guest brings the link up")
            guest.leave()
            until(lambda: loop.ask("stats 0")["up"] == 0, "the link goes down")


@test
def a_socket_that_a_killed_switch_left_behind_is_used_again():
    with tempfile.TemporaryDirectory() as folder:
        for device in (f"vdev:net_vhost0,iface={folder}/v", memif_server(folder)):
            Loop(device, "xdp:swb").kill()
            with Loop(device, "xdp:swb"):
                pass


@test
def a_guest_is_not_offered_to_send_frames_that_no_port_receives():
    refused("tso=1 lets the guest send frames that are longer than the port receives; leave it out",
            "vdev:net_vhost0,iface=/run/v,tso=1")


def memif_server(folder):
    return f"vdev:net_memif0,role=server,socket-abstract=no,socket={folder}/m"


@test
def a_memif_peer_leaves_while_its_frames_are_read():
    """On one processor the thread that unmaps the rings stops the reader in the middle."""
    with tempfile.TemporaryDirectory() as folder, \
            Loop(memif_server(folder), "xdp:swb", prefix=("taskset", "-c", "0")) as loop:
        left_early = 0
        for _ in range(BUSY_PEERS):
            peer = MemifPeer(f"{folder}/m").connect()
            peer.post_all()
            peer.leave()
            if peer.taken() < SLOTS:
                left_early += 1
        equal(left_early > BUSY_PEERS / 2, True, f"{left_early} peers left before the last frame")
        until(lambda: loop.ask("stats 0")["up"] == 0, "the link goes down")
        peer = MemifPeer(f"{folder}/m").connect()
        until(lambda: loop.ask("stats 0")["up"] == 1, "another peer brings the link up")
        peer.leave()


@test
def a_memif_peer_leaves_before_it_is_greeted():
    with tempfile.TemporaryDirectory() as folder, \
            Loop(memif_server(folder), "xdp:swb") as loop:
        for _ in range(PEERS):
            MemifPeer(f"{folder}/m").leave()
        peer = MemifPeer(f"{folder}/m").connect()
        until(lambda: loop.ask("stats 0")["up"] == 1, "the next peer brings the link up")
        peer.leave()


@test
def two_memif_ports_at_one_socket_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        device = memif_server(folder)
        refused(f"{folder}/m: another program or port listens at this socket; each port needs its "
                "own", device, device.replace("memif0", "memif1"))


@test
def a_memif_client_without_its_server_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        refused("net_memif0: the port does not start: the driver says no more than its own lines "
                "above", f"vdev:net_memif0,role=client,socket-abstract=no,socket={folder}/m")


@test
def an_unknown_virtual_device_is_refused():
    loop = Loop("vdev:net_nothing0", expect_ready=False)
    equal(loop.code, 1, "exit status")
    if "net_nothing0: DPDK finds no such device or no driver for it" not in loop.err:
        raise AssertionError(loop.err)


sys.exit(run_tests(TESTS, sys.argv[4:]))
