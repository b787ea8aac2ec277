# SPDX-License-Identifier: Apache-2.0
"""Reads a running switch many times a second over its control socket.

Queue lengths are sampled at random moments, whatever the switch does, so that their mean is that of
the time and no pattern of the traffic can hide between the samples. Counters are read at the two
ends of a window, with the moment at which the switch was asked.
"""
import json
import os
import random
import socket
import time

from world import SOCKETS, Failed

ANSWER_S = 10


class Meter:
    """A connection to the control socket of a switch; its model time is `scale` times slower."""

    def __init__(self, name, scale, seed=1):
        self.scale = scale
        self.rng = random.Random(seed)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(ANSWER_S)
        self.socket.connect(os.path.join(SOCKETS, f"{name}.sock"))
        self.lines = self.socket.makefile("r")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.lines.close()
        self.socket.close()

    def show(self, what):
        self.socket.sendall(json.dumps({"cmd": "show", "what": what}).encode() + b"\n")
        line = self.lines.readline()
        answer = json.loads(line) if line else {"ok": False, "error": "the switch is gone"}
        if not answer["ok"]:
            raise Failed(f"show {what}: {answer['error']}")
        return answer["data"]

    def model_s(self):
        return time.monotonic() / self.scale

    def counters(self):
        """All that is counted, and when, in seconds of model time."""
        before = self.model_s()
        out = self.show("queues")
        out["t"] = (before + self.model_s()) / 2
        for what in ("pfc", "buffers", "drops", "ports"):
            out.update(self.show(what))
        return out

    def wait_for_data(self, ports, seconds=30):
        """Until data has come in at each of the ports."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rows = {p["name"]: p["rx_packets"] for p in self.show("ports")["ports"]}
            if all(rows[p] > 20 for p in ports):
                return self.model_s()
            time.sleep(0.01)
        raise Failed(f"no data came in at {' and '.join(ports)} within {seconds} s")

    def window(self, start, end, every_s, tick):
        """(counters at its beginning, at its end, samples of queue lengths meanwhile)."""
        samples = []
        self.sleep_until(start)
        first = self.counters()
        while self.model_s() < end:
            samples.append({(q["port"], q["queue"]): q["length_bytes"]
                            for q in self.show("queues")["queues"]})
            tick(self.model_s())
            time.sleep(self.rng.uniform(0, 2 * every_s))
        return first, self.counters(), samples

    def sleep_until(self, model_s):
        left = (model_s - self.model_s()) * self.scale
        if left > 0:
            time.sleep(left)
