#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An interface that the host uses is refused as a port, unless the policy says otherwise.

The same holds for a reload.

usage: test_take_over.py [-h] WEIR

Needs root; exits 77 without. Each case has a network namespace of its own.
"""
import signal
import subprocess
import sys
import tempfile

from harness import Failed, programs, want

SPACE = "take"
POLICY = """\
switch: {name: take, buffer: {size: 1MB}}
ports:
  - {name: p1, device: "xdp:%s", speed: 1G, mtu: 1500%s}
  - {name: p2, device: "xdp:tkc", speed: 1G, mtu: 1500}
"""
WORDS = ("`keep`", "`take_over: on`")


def ip(*words):
    subprocess.run(["ip", "-n", SPACE, *words], check=True)


def begin(weir, policy):
    return subprocess.Popen(["nsenter", f"--net=/run/netns/{SPACE}", weir, "-c", policy.name],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def rewrite(policy, more, device="tka"):
    policy.seek(0)
    policy.truncate()
    policy.write(POLICY % (device, more))
    policy.flush()


def start(weir, more="", device="tka"):
    """Exit status and output of a switch that is stopped as soon as it is ready."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        rewrite(policy, more, device)
        p = begin(weir, policy)
        lines = []
        for line in p.stdout:
            lines.append(line)
            if line == "ready\n":
                p.terminate()
        return p.wait(20), "".join(lines)


def next_line(p, *words):
    """The next line that holds one of the words."""
    lines = []
    for line in p.stdout:
        lines.append(line)
        if any(word in line for word in words):
            return line
    raise Failed(f"weir ended without {' or '.join(words)}: {''.join(lines)}")


def reload(p, policy, more):
    """What the switch writes about a reload: that it is accepted, or the mistake."""
    rewrite(policy, more)
    p.send_signal(signal.SIGHUP)
    line = next_line(p, " info reload: all workers", "reload-failed")
    return next_line(p, " error reload: ") if "reload-failed" in line else line


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


def an_alternative_name_is_the_interface_too(weir):
    ip("link", "property", "add", "dev", "tka", "altname", "tkalt")
    ip("addr", "add", "192.0.2.1/24", "dev", "tka")
    status, text = start(weir, device="tkalt")
    want(status == 1 and "192.0.2.1" in text, f"an alternative name: exit {status}: {text}")


def an_address_with_a_label_counts(weir):
    ip("addr", "add", "192.0.2.3/24", "dev", "tka", "label", "tka:1")
    status, text = start(weir)
    want(status == 1 and "192.0.2.3" in text, f"an address with a label: exit {status}: {text}")


def reloads(p, policy, keep):
    next_line(p, "ready\n")
    line = reload(p, policy, "")
    want("error reload:" in line, f"a reload without keep is accepted: {line}")
    for word in ("port p1: ", "tka", "192.0.2.1", *WORDS):
        want(word in line, f"a reload without keep: no {word}: {line}")
    for more in (", take_over: on", keep):
        line = reload(p, policy, more)
        want("error reload:" not in line, f"a reload with {more}: {line}")


def a_reload_that_cuts_the_host_off_is_refused(weir):
    keep = ", keep: [arp, icmp, tcp/22]"
    ip("addr", "add", "192.0.2.1/24", "dev", "tka")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        rewrite(policy, keep)
        p = begin(weir, policy)
        try:
            reloads(p, policy, keep)
        finally:
            p.terminate()
            p.communicate(timeout=20)


def an_interface_that_the_host_uses_is_refused(weir):
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


TESTS = [an_interface_that_the_host_uses_is_refused, an_alternative_name_is_the_interface_too,
         an_address_with_a_label_counts, a_reload_that_cuts_the_host_off_is_refused]


def run(test, weir):
    """Whether the test holds, in a network namespace of its own."""
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        for a, b in (("tka", "tkb"), ("tkc", "tkd")):
            ip("link", "add", a, "type", "veth", "peer", "name", b)
            ip("link", "set", a, "up")
            ip("link", "set", b, "up")
        test(weir)
        print(f"ok   {test.__name__}", flush=True)
        return True
    except Failed as e:
        print(f"FAIL {test.__name__}\n{e}", flush=True)
        return False
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


def main():
    args = programs(__doc__, "weir")
    if args is None:
        return 77
    failed = [test for test in TESTS if not run(test, args.weir)]
    return len(failed) > 0


sys.exit(main())
