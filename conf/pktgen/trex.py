# SPDX-License-Identifier: Apache-2.0
"""A stateless profile of TRex: frames of one size or an IMIX, and a stream for latency.

    trex> start -f conf/pktgen/trex.py -m 5mpps -p 0 -t --size 64
    trex> start -f conf/pktgen/trex.py -m 50% -p 0 -t --size imix
    trex> stats --latency

--size is the length with FCS. Streams share the rate; the stream for latency sends 1,000 frames a
second beside it, with any rate. All frames have the DSCP of the lossless class of memif.yaml.

TRex's own Python library (v3.0.8) built these streams. UNTESTED: no TRex has sent them.
"""
import argparse

from trex_stl_lib.api import (IP, UDP, Ether, STLFlowLatencyStats, STLPktBuilder, STLScVmRaw,
                              STLStream, STLTXCont, STLVmFixIpv4, STLVmFlowVar, STLVmWrFlowVar)

FCS = 4
DSCP = 26
FLOWS = 16
SIZES = {"imix": [(64, 7), (594, 4), (1518, 1)]} # length and weight
LATENCY_ID, LATENCY_PPS = 7, 1000
MACS = ["02:00:01:00:00:00", "02:00:02:00:00:00"]
NETWORKS = ["198.18.0", "198.19.0"] # RFC 2544, C.2.2


class Profile:
    def packet(self, size, direction):
        source, target = NETWORKS[direction], NETWORKS[1 - direction]
        base = (Ether(src=MACS[direction], dst=MACS[1 - direction]) /
                IP(src=f"{source}.1", dst=f"{target}.1", tos=DSCP << 2) /
                UDP(sport=4096, dport=4096, chksum=0))
        pad = bytes(max(0, size - FCS - len(base)))
        return STLPktBuilder(pkt=base / pad, vm=STLScVmRaw([
            STLVmFlowVar(name="src", min_value=f"{source}.1", max_value=f"{source}.{FLOWS}",
                         size=4, op="inc"),
            STLVmWrFlowVar(fv_name="src", pkt_offset="IP.src"),
            STLVmFixIpv4(offset="IP")]))

    def get_streams(self, direction=0, tunables=(), **_):
        p = argparse.ArgumentParser()
        p.add_argument("--size", default="64")
        size = p.parse_args(tunables).size
        mix = SIZES.get(size) or [(int(size), 1)]
        streams = [STLStream(packet=self.packet(length, direction), mode=STLTXCont(pps=weight))
                   for length, weight in mix]
        streams.append(STLStream(packet=self.packet(mix[0][0], direction),
                                 mode=STLTXCont(pps=LATENCY_PPS),
                                 flow_stats=STLFlowLatencyStats(pg_id=LATENCY_ID + direction)))
        return streams


def register():
    return Profile()
