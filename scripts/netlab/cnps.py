# SPDX-License-Identifier: Apache-2.0
"""The CNPs of a tapped world: captured on the links of hosts, and judged by programs that are not
ours. scapy computes every iCRC again, tshark says what it has against any frame.
"""
import os
import struct
import time

from world import Failed, run

FILTER = "udp port 4791 and udp[8] = 0x81" # the opcode of a CNP
PCAP_HEADER, RECORD_HEADER = 24, 16
CNP_LEN = 74
WARNINGS = '_ws.malformed || _ws.expert.severity >= "Warning" || ip.checksum.status == 0'
LISTENING_S = 10


class Capture:
    """tcpdump on the link of each of these hosts."""

    def __init__(self, world, hosts):
        self.paths, self.dumps = {}, {}
        for i in hosts:
            self.paths[i] = os.path.join(world.logs, f"link{i}.pcap")
            self.dumps[i] = world.spawn("tap", f"tcpdump{i}", "tcpdump", "-i", f"t{i}", "-w",
                                        self.paths[i], "-s", "0", "-B", "8192", "-U", "-Z", "root",
                                        FILTER)
        end = time.monotonic() + LISTENING_S
        for d in self.dumps.values():
            while "listening on" not in d.err():
                if not d.running() or time.monotonic() > end:
                    raise Failed(f"tcpdump does not listen\n{d.said()}")
                time.sleep(0.02)

    def stop(self):
        """Host -> its frames."""
        for d in self.dumps.values():
            d.stop()
            if " 0 packets dropped by kernel" not in " " + " ".join(d.err().split("\n")):
                raise Failed(f"tcpdump came late\n{d.said()}")
        return {i: list(frames(path)) for i, path in self.paths.items()}


def frames(path):
    with open(path, "rb") as f:
        pcap = f.read()
    at = PCAP_HEADER
    while at + RECORD_HEADER <= len(pcap):
        size = struct.unpack_from("<I", pcap, at + 8)[0]
        yield pcap[at + RECORD_HEADER:at + RECORD_HEADER + size]
        at += RECORD_HEADER + size


def wrong_with(frame, host, pairs):
    """What is wrong with a CNP on the link of this host, whose queue pairs these are; or None."""
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether

    packet = Ether(frame)
    bth, ip = packet[BTH], packet["IP"]
    again = ip.copy()
    again[BTH].icrc = None
    checks = (("iCRC", bytes(again)[-4:] == frame[-4:]),
              ("length", len(frame) == CNP_LEN), ("DSCP", ip.tos >> 2 == 48),
              ("ECT(0)", ip.tos & 3 == 2), ("BECN", bth.becn == 1 and bth.fecn == 0),
              ("destination", ip.dst == f"10.0.0.{host}" and packet.dst.endswith(f":{host:02x}")),
              ("queue pair", bth.dqpn in pairs), ("PSN", bth.psn == 0))
    bad = [name for name, ok in checks if not ok]
    return f"{', '.join(bad)} of {frame.hex()}" if bad else None


def tshark_against(path):
    """What tshark has against any frame of a capture; empty: nothing."""
    done = run("tshark", "-n", "-o", "ip.check_checksum:TRUE", "-r", path, "-Y", WARNINGS,
               check=False)
    return (done.stdout + done.stderr * (done.returncode != 0)).strip()


def need_judges():
    try:
        import scapy.contrib.roce  # noqa: F401
    except ImportError:
        raise Failed("python3-scapy is not installed; run scripts/setup as root") from None
    for program in ("tshark", "tcpdump", "tc"):
        if run("sh", "-c", f"command -v {program}", check=False).returncode != 0:
            raise Failed(f"{program} is not installed; run scripts/setup as root")
