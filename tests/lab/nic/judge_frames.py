#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what the emulated NIC sends: tshark finds nothing to object to and reads connection
management as it was meant, scapy agrees with every iCRC. Exit 77: a judge is not installed.

usage: judge_frames.py DUMP_FRAMES"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
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
        subprocess.run([sys.argv[1], str(pcap)], check=True, stdout=subprocess.DEVNULL)
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
