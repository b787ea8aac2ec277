#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what the emulated NIC sends: tshark finds nothing to object to and reads connection
management as it was meant, scapy agrees with every iCRC. Exit 77: a judge is not installed.

usage: judge_frames.py DUMP_FRAMES"""
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import ARP, Dot1Q
    from scapy.utils import rdpcap
except ImportError:
    print("scapy is not installed")
    sys.exit(77)

# Every opcode that must have been seen: Send, Write, Read request and responses, ACK, UD, CNP.
OPCODES = {0x00, 0x01, 0x02, 0x06, 0x07, 0x08, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x64, 0x81}
CM = {"REQ": 0x10, "REJ": 0x12, "REP": 0x13, "RTU": 0x14, "DREQ": 0x15, "DREP": 0x16}


def tshark(pcap, *args):
    options = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
               "--disable-protocol", "thrift"]
    run = subprocess.run(["tshark", "-n", *options, "-r", str(pcap), *args], check=True,
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [line for line in run.stdout.splitlines() if line]


def need(ok, text):
    if not ok:
        sys.exit(f"FAIL: {text}")


def judge_by_tshark(pcap):
    # 0x600000 is the severity of a warning; notes and chats are opinions. So is a segment out of
    # order, where every frame is seen in the order in which it leaves: it is one sent again. The
    # payload of TCP is nobody's protocol, which Thrift is too ready to deny.
    bad = tshark(pcap, "-Y", "_ws.malformed || (_ws.expert.severity >= 0x600000 && "
                 "!tcp.analysis.out_of_order) || "
                 "ip.checksum.status == 0 || tcp.checksum.status == 0")
    need(not bad, "tshark objects to:\n" + "\n".join(bad[:10]))
    need(tshark(pcap, "-Y", "arp.opcode == 1"), "no ARP request")
    need(tshark(pcap, "-Y", "arp.opcode == 2"), "no ARP reply")
    need(len(tshark(pcap, "-Y", "macc.opcode == 0x0101")) == 4, "three PAUSE and one XON")
    need(tshark(pcap, "-Y", "infiniband.aeth.syndrome == 0x60"), "no NAK")
    for name, attr in CM.items():
        need(tshark(pcap, "-Y", f"infiniband.mad.attributeid == {attr}"), f"no {name}")


def judge_tcp(pcap):
    """Three connections: ECN is asked for and agreed to by two, and spoken there alone."""
    names = ("tcp.stream", "tcp.flags", "ip.dsfield.ecn", "tcp.len", "tcp.options.mss_val",
             "tcp.options.wscale.shift", "tcp.seq_raw", "tcp.options.sack_perm",
             "tcp.options.sack.count")
    rows = tshark(pcap, "-Y", "tcp", "-T", "fields", "-E", "separator=,",
                  *(word for name in names for word in ("-e", name)))
    frames = [row.split(",") for row in rows]
    for stream in ("0", "1", "2"):
        mine = [(int(f[1], 0), f[2], int(f[3]), *f[4:]) for f in frames if f[0] == stream]
        ecn = stream != "0"
        syns = {f[0] & 0xfff for f in mine if f[0] & 2}
        need(syns == ({0x0c2, 0x052} if ecn else {0x002, 0x012}), f"stream {stream}: SYNs {syns}")
        need(all(f[3:5] == ("1460", "5") for f in mine if f[0] & 2), "options of a SYN")
        data = [f for f in mine if f[2]]
        need(all((f[6] != "") == (stream == "2") for f in mine if f[0] & 2), "SACK permitted")
        need(any(f[7] for f in mine) == (stream == "2"), f"stream {stream}: SACK")
        need(any(f[0] & 0x40 for f in mine if not f[0] & 2) == ecn, f"stream {stream}: ECE")
        need(any(f[0] & 0x80 for f in data) == ecn, f"stream {stream}: CWR")
        need({f[1] for f in data} >= ({"2"} if ecn else {"0"}), f"stream {stream}: ECT")
        need(len({f[5] for f in data}) < len(data), f"stream {stream}: nothing was sent again")


def judge_connections(pcap):
    """REQ and REP name the queue pairs that the data uses; REP states the requester's first PSN."""
    def field(attr, name):
        rows = tshark(pcap, "-Y", f"infiniband.mad.attributeid == {attr}",
                      "-T", "fields", "-e", name)
        return {int(row, 0) for row in rows}

    asked = field(CM["REQ"], "infiniband.cm.req.localqpn")
    psns = field(CM["REP"], "infiniband.cm.rep.startpsn")
    given = field(CM["REP"], "infiniband.cm.rep.localqpn")
    used = {int(row, 0) for row in tshark(
        pcap, "-Y", "infiniband.bth.destqp != 1", "-T", "fields", "-e", "infiniband.bth.destqp")}
    first = {}
    for row in tshark(pcap, "-Y", "infiniband.bth.destqp != 1", "-T", "fields",
                      "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn"):
        qpn, psn = row.split()
        first.setdefault(int(qpn, 0), int(psn, 0))
    starts = {first[qpn] for qpn in given}
    need(psns == starts == {0xfffff0}, f"REP states {psns}, requesters start at {starts}")
    need(len(given) == 3 and given <= used, f"REP gave {given}, data went to {used}")
    need(used - given <= asked, f"answers went to {used - given}, REQ gave {asked}")


def judge_cnp(packet, raw):
    """74 bytes, class 6, ECT(0), BECN alone, no PSN, sixteen zeros."""
    need(len(packet) == 74 and packet[IP].tos == 0xc2, "length or ToS of a CNP")
    need(raw[1] == 0 and raw[4] == 0x40 and raw[8:28] == bytes(20), f"a CNP reads {raw.hex()}")


def judge_by_scapy(pcap):
    seen = set()
    for packet in rdpcap(str(pcap)):
        if UDP not in packet:
            continue
        raw = bytes(packet[UDP].payload)
        need(BTH in packet, "scapy sees no BTH")
        want = packet[BTH].compute_icrc(raw[:-4])
        need(want == raw[-4:], f"iCRC {raw[-4:].hex()}, scapy computes {want.hex()}")
        seen.add(packet[BTH].opcode)
        if packet[BTH].opcode == 0x81:
            judge_cnp(packet, raw)
    need(OPCODES <= seen, f"opcodes missing: {sorted(OPCODES - seen)}")


def masked(packet):
    """What the iCRC of annex A17.3.3 covers, and the iCRC itself."""
    v6 = IPv6 in packet
    raw = bytearray(bytes(packet[IPv6] if v6 else packet[IP]))
    l4 = 40 if v6 else 20
    for at in ([1, 2, 3, 7] if v6 else [1, 8, 10, 11]) + [l4 + 6, l4 + 7, l4 + 12]:
        raw[at] = 0xff
    raw[0] |= 0x0f if v6 else 0
    return bytes(8 * [0xff]) + bytes(raw)


def judge_tagged(pcap):
    """All frames in VLAN 100: PCP of the data at data and ACKs, of class 6 at CNPs, 0 at ARP."""
    # RoCEv2 has no UDP checksum over IPv6 either.
    bad = tshark(pcap, "-Y", "_ws.malformed || (_ws.expert.severity >= 0x600000 && "
                 "!tcp.analysis.out_of_order && !udp.checksum.zero) || ip.checksum.status == 0 || "
                 "tcp.checksum.status == 0 || icmpv6.checksum.status == 0")
    need(not bad, "tshark objects to:\n" + "\n".join(bad[:10]))
    seen = {}
    for packet in rdpcap(str(pcap)):
        need(Dot1Q in packet and packet[Dot1Q].vlan == 100, f"no tag: {packet.summary()}")
        version, pcp = 6 if IPv6 in packet else 4, packet[Dot1Q].prio
        if BTH not in packet:
            kind = "tcp" if TCP in packet else "address"
            need(TCP in packet or ARP in packet or "ICMPv6ND" in packet.summary(), packet.summary())
            need(pcp == 0, f"PCP {pcp} of {packet.summary()}")
        else:
            kind = packet[BTH].opcode
            raw = masked(packet)
            crc = zlib.crc32(raw[:-4]).to_bytes(4, "little")
            need(crc == raw[-4:], f"iCRC {raw[-4:].hex()} of IPv{version}, it is {crc.hex()}")
            need(pcp == (6 if kind == 0x81 else 5), f"PCP {pcp} of opcode {kind:#x}")
            need(kind != 0x81 or len(packet) == (98 if version == 6 else 78), "length of a CNP")
        seen.setdefault(version, set()).add(kind)
    for version in (4, 6):
        missing = (OPCODES | {"tcp"}) - seen[version]
        need(not missing, f"IPv{version} lacks {missing}")


def spoil(pcap, to):
    """One payload byte of the last RoCE frame changed."""
    data = bytearray(pcap.read_bytes())
    data[-10] ^= 1
    to.write_bytes(data)


def main():
    if shutil.which("tshark") is None:
        print("tshark is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        pcap, spoilt = Path(folder) / "nic.pcap", Path(folder) / "spoilt.pcap"
        tagged = Path(folder) / "tagged.pcap"
        subprocess.run([sys.argv[1], str(pcap), str(tagged)], check=True,
                       stdout=subprocess.DEVNULL)
        judge_tagged(tagged)
        judge_by_tshark(pcap)
        judge_connections(pcap)
        judge_tcp(pcap)
        judge_by_scapy(pcap)
        spoil(pcap, spoilt)
        try:
            judge_by_scapy(spoilt)
        except SystemExit:
            return
        sys.exit("FAIL: the judge accepts a spoilt frame")


main()
