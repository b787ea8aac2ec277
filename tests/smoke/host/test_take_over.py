#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An interface that the host uses is refused as a port, unless the policy says otherwise.

usage: test_take_over.py [-h] WEIR

Needs root; exits 77 without. The interfaces are in a network namespace of the test.
"""
import argparse
import os
import subprocess
import sys
import tempfile

SPACE = "take"
POLICY = """\
switch: {name: take, buffer: {size: 1MB}}
ports:
  - {name: p1, device: "xdp:tka", speed: 1G, mtu: 1500%s}
  - {name: p2, device: "xdp:tkc", speed: 1G, mtu: 1500}
"""
WORDS = ("`keep`", "`take_over: on`")


class Failed(Exception):
    """An expectation does not hold."""


def want(condition, text):
    if not condition:
        raise Failed(text)


def ip(*words):
    subprocess.run(["ip", "-n", SPACE, *words], check=True)


def start(weir, more=""):
    """Exit status and output of a switch that is stopped as soon as it is ready."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        policy.write(POLICY % more)
        policy.flush()
        p = subprocess.Popen(["nsenter", f"--net=/run/netns/{SPACE}", weir, "-c", policy.name],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        for line in p.stdout:
            lines.append(line)
            if line == "ready\n":
                p.terminate()
        return p.wait(20), "".join(lines)


def refused(weir, name, *reasons):
    status, text = start(weir)
    want(status == 1 and "ready" not in text, f"{name}: exit {status}: {text}")
    for word in (*reasons, *WORDS):
        want(word in text, f"{name}: no {word}: {text}")
    for word in (", take_over: on", ", keep: [arp, icmp, tcp/22]"):
        status, text = start(weir, word)
        want(status == 0 and "\nready\n" in text, f"{name} with {word}: {text}")
    status, text = start(weir, ", keep: [lldp]")
    want(status == 1, f"{name}: LLDP carries no IP, exit {status}: {text}")


def test(weir):
    for a, b in (("tka", "tkb"), ("tkc", "tkd")):
        ip("link", "add", a, "type", "veth", "peer", "name", b)
        ip("link", "set", a, "up")
        ip("link", "set", b, "up")
    status, text = start(weir)
    want(status == 0, f"a link-local address is no use of the host: {text}")
    ip("addr", "add", "192.0.2.1/24", "dev", "tka")
    refused(weir, "an IPv4 address", "192.0.2.1")
    ip("route", "add", "default", "via", "192.0.2.2", "dev", "tka")
    refused(weir, "a default route", "192.0.2.1 and the default route")
    ip("addr", "flush", "dev", "tka", "scope", "global")
    ip("addr", "add", "2001:db8::1/64", "dev", "tka", "nodad")
    refused(weir, "an IPv6 address", "2001:db8::1")
    ip("route", "add", "default", "via", "2001:db8::2", "dev", "tka")
    refused(weir, "an IPv6 default route", "2001:db8::1 and the default route")
    ip("addr", "flush", "dev", "tka", "scope", "global")
    ip("route", "add", "default", "dev", "tka")
    refused(weir, "a default route without an address", "(the default route)")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("weir")
    args = p.parse_args()
    if os.geteuid() != 0:
        print("needs root for namespaces and AF_XDP")
        return 77
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        test(args.weir)
        print("ok   an interface of the host is refused")
        return 0
    except Failed as e:
        print(f"FAIL {e}")
        return 1
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


sys.exit(main())
