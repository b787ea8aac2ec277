#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The second implementation of iNOF against frames that were written by hand, octet by octet, from
the description of the wire format. Needs no root.

usage: test_snsd.py [--write]

tests/data/inof_vectors.pcap has these frames, for test_wire.c and tshark; --write makes it.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import snsd # noqa: E402

MAC = bytes.fromhex("020000000001")
NQN = "nqn.a"


def octets(*words):
    return bytes.fromhex("".join(words))


def want(condition, text):
    if not condition:
        raise AssertionError(text)


def same(got, wanted):
    want(got == wanted, f"\n  got    {got.hex(' ')}\n  wanted {wanted.hex(' ')}")


REGISTRATION = octets(
    "0180c200000e 020000000001 88cc",
    "0207 04 020000000001",             # chassis ID: a MAC address
    "040b 05 736e73645f65315f3030",     # port ID: snsd_e1_00
    "0602 0078",                        # TTL 120
    "fe24 001882 65 01 81 0000",        # 31 octets and the NQN: version 1, IPv4, subscribed
    "0a000001 000000000000000000000000",
    "01 01 0101 1144 05 6e716e2e61",    # target, RoCE, version 0x0101, port 4420, nqn.a
    "0000")
REGISTRATION6 = octets(
    "0180c200000e 020000000001 88cc",
    "0207 04 020000000001",
    "040b 05 736e73645f65315f3031",
    "0602 0003",
    "fe24 001882 65 01 02 0000",        # IPv6, not subscribed
    "fd000000000000000000000000000001",
    "02 02 0101 1f49 05 6e716e2e61",    # initiator, TCP, port 8009
    "0000")
HEAD = "0180c200000d 020000000001 88a7"
QUERY = octets(HEAD, "01 00 000a 00000000", "23 0007", "02 0004 0a000001", "00" * 28)
QUERY6 = octets(HEAD, "00 00 0016 00000000", "23 0013",
                "04 0010 fd000000000000000000000000000001", "00" * 16)
ACK = octets(HEAD, "01 00 0018 00000000", "22 0015", "01 0004 0a000002", "02 0004 0a000001",
             "05 0004 00000102", "00" * 14)
MORE = "08 000c 01 01 0000 1144 05 6e716e2e61"
NOTICE = octets(HEAD, "01 00 0035 00000000", "21 0032", "01 0004 0a000002", "02 0004 0a000001",
                "05 0004 00000102", "06 0004 00000000", "07 0004 00000002", MORE)
NOTICE0 = octets(HEAD, "00 00 002f 00000000", "21 002c", "01 0004 0a000002", "02 0004 0a000001",
                 "05 0004 00000102", "06 0001 01", "07 0001 00", MORE)
NOTICE6 = octets(HEAD, "01 00 004d 00000000", "21 004a",
                 "03 0010 fd000000000000000000000000000002",
                 "04 0010 fd000000000000000000000000000001",
                 "05 0004 00000102", "06 0004 00000001", "07 0004 00000000", MORE)
NOTICES = octets(HEAD, "01 00 007d 00000000", "21 0032", "01 0004 0a000002", "02 0004 0a000001",
                 "05 0004 00000102", "06 0004 00000001", "07 0004 00000000", MORE,
                 "21 0045", "03 0010 fd000000000000000000000000000002",
                 "04 0010 fd000000000000000000000000000001",
                 "05 0004 00000103", "06 0004 00000000", "07 0004 00000007",
                 "08 0007 01 01 0000 1144 00")
ACKS = octets(HEAD, "01 00 0030 00000000", "22 0015", "01 0004 0a000002", "02 0004 0a000001",
              "05 0004 00000102", "22 0015", "01 0004 0a000003", "02 0004 0a000001",
              "05 0004 00000103")
VECTORS = [REGISTRATION, REGISTRATION6, QUERY, QUERY6, ACK, NOTICE, NOTICE0, NOTICE6, NOTICES, ACKS]
VECTORS_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data",
                            "inof_vectors.pcap")
PEER = {"seq": 0x102, "role": 1, "proto": 1, "port": 4420, "nqn": NQN}


def notices(data):
    version, roots = snsd.roots_of(data)
    return [snsd.notice_of(version, value) for kind, value in roots if kind == snsd.NOTICE]


def refused(data):
    try:
        notices(data)
    except snsd.Malformed as e:
        return str(e)
    raise AssertionError(f"accepted: {data.hex(' ')}")


def a_registration_has_the_octets_of_the_description():
    same(snsd.registration(MAC, "snsd_e1_00", "10.0.0.1", 1, 1, 4420, NQN), REGISTRATION)
    same(snsd.registration(MAC, "snsd_e1_01", "fd00::1", 2, 2, 8009, NQN, 3, False),
         REGISTRATION6)


def a_query_names_the_own_address():
    same(snsd.frame(MAC, 1, snsd.query("10.0.0.1")), QUERY)
    same(snsd.frame(MAC, 0, snsd.query("fd00::1")), QUERY6)


def an_ack_repeats_addresses_and_sequence():
    same(snsd.frame(MAC, 1, snsd.ack("10.0.0.2", "10.0.0.1", 0x102)), ACK)


def a_notice_is_read_in_both_versions_and_families():
    v4 = {"src": "10.0.0.2", "dst": "10.0.0.1", **PEER}
    for data, wanted in ((NOTICE, {**v4, "online": False, "reason": 2}),
                         (NOTICE0, {**v4, "online": True, "reason": 0}),
                         (NOTICE6, {**PEER, "src": "fd00::2", "dst": "fd00::1", "online": True,
                                    "reason": 0})):
        want(notices(data) == [wanted], f"{notices(data)}")
        want(notices(data + bytes(9)) == [wanted], "octets behind the TLVs do not count")


def a_notice_without_a_required_part_is_refused():
    version, [(_, value)] = snsd.roots_of(NOTICE)
    subs = list(snsd.tlvs_of(value))
    for gone in range(len(subs)):
        rest = b"".join(snsd.tlv(*sub) for i, sub in enumerate(subs) if i != gone)
        mask = 0xf3 & ~(1 << subs[gone][0] - 1)
        text = refused(snsd.frame(MAC, version, snsd.tlv(snsd.NOTICE, rest)))
        want(text == f"mask 0x{mask:02x}", text)
    more = snsd.tlv(snsd.NOTICE, value + snsd.tlv(snsd.SRC6, bytes(16)))
    want(refused(snsd.frame(MAC, version, more)) == "mask 0xf7", "an address of the other family")


def a_frame_that_is_cut_is_refused_at_each_octet():
    for n in range(22, len(NOTICE)):
        refused(NOTICE[:n])
    refused(NOTICE[:14] + b"\2" + NOTICE[15:])
    want(refused(NOTICE0[:14] + b"\1" + NOTICE0[15:]) == "sub-TLV 6 has 1 bytes",
         "version 1 has states of four octets")


def the_guard_closes_at_frame_500_of_a_window_for_ten_seconds():
    guard, ms = snsd.FloodGuard(), 1_000_000
    want(all(guard.admit(0) for _ in range(499)), "499 frames at once")
    want(all(guard.admit(500 * ms) for _ in range(499)), "499 more in the next window")
    want(not guard.admit(999 * ms), "frame 500 of the window")
    want(not guard.admit(10_998 * ms) and guard.admit(10_999 * ms), "open after ten seconds")


def reasons_4_5_and_6_force_the_end_and_others_end_a_path():
    for reason, how in ((1, "path"), (2, "path"), (3, "path"), (4, "forced"), (5, "forced"),
                        (6, "forced"), (7, "path")):
        peers = snsd.Peers(["10.0.0.1"])
        notice = {"src": "10.0.0.2", "dst": "10.0.0.1", **PEER, "reason": 0, "online": True}
        want(peers.take(notice)["event"] == "connect", "a new peer")
        want(peers.take(notice) is None, "the peer is known")
        notice = {**notice, "online": False, "reason": reason}
        got = peers.take(notice)
        want(got["event"] == "disconnect" and got["how"] == how, f"{reason}: {got}")
        want(got["reason"] == snsd.REASONS[reason], f"{got}")
        want(peers.take(notice) is None, "the peer is gone")


def capture(frames):
    """A pcap file, one frame a second."""
    return struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(
        struct.pack("<IIII", i, 0, len(data), len(data)) + data for i, data in enumerate(frames))


def several_messages_share_a_frame():
    first, second = notices(NOTICES)
    want(first["online"] and first["src"] == "10.0.0.2", f"{first}")
    want(not second["online"] and second["src"] == "fd00::2" and second["reason"] == 7 and
         second["nqn"] == "", f"{second}")
    same(snsd.frame(MAC, 1, snsd.ack("10.0.0.2", "10.0.0.1", 0x102),
                    snsd.ack("10.0.0.3", "10.0.0.1", 0x103)), ACKS)


def the_capture_for_other_tests_has_these_frames():
    with open(VECTORS_PATH, "rb") as f:
        want(f.read() == capture(VECTORS), "run test_snsd.py --write")


if "--write" in sys.argv:
    with open(VECTORS_PATH, "wb") as out:
        out.write(capture(VECTORS))
TESTS = [several_messages_share_a_frame, the_capture_for_other_tests_has_these_frames,
         a_registration_has_the_octets_of_the_description, a_query_names_the_own_address,
         an_ack_repeats_addresses_and_sequence, a_notice_is_read_in_both_versions_and_families,
         a_notice_without_a_required_part_is_refused, a_frame_that_is_cut_is_refused_at_each_octet,
         the_guard_closes_at_frame_500_of_a_window_for_ten_seconds,
         reasons_4_5_and_6_force_the_end_and_others_end_a_path]

for test in TESTS:
    test()
    print(f"ok   {test.__name__.replace('_', ' ')}")
