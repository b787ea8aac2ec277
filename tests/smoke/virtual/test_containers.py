#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The container image, and the topologies of conf/containerlab in namespaces: the commands of
docs/virtual.md. Where the kernel lets podman start the image, podman does so, too.

usage: test_containers.py BUILD_DIR [TEST...]
"""
import functools
import json
import os
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402
import page # noqa: E402
from live import want # noqa: E402

BGP = "timeout 60 sh -c 'until [ $(ip route show {} | grep -c via) = 2 ]; do sleep 0.1; done'"
ENTRY = f"{live.ROOT}/scripts/image-entry:/usr/sbin/weir-entry" # of this checkout
CAP_SYS_MODULE = 16
IMAGE = "build/weir-image.tar"
commands = functools.partial(page.commands, "virtual.md")


def run(words, lines="", timeout=3600):
    return subprocess.run(words, cwd=live.ROOT, input=lines, capture_output=True, text=True,
                          timeout=timeout)


def typed(name):
    """What the page types at the prompt of a topology."""
    with open(os.path.join(live.ROOT, "docs", "virtual.md")) as f:
        return re.findall(rf"(?m)^{name}> (.*)$", f.read())


def play(command, lines):
    done = run(command, "\n".join(lines) + "\n")
    want(done.returncode == 0, f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def the_image_is_an_archive_with_the_programs():
    build = commands("Containers")[0]
    done = run(build)
    want(done.returncode == 0, done.stdout + done.stderr)
    with tarfile.open(os.path.join(live.ROOT, IMAGE)) as tar:
        manifest = json.load(tar.extractfile("manifest.json"))[0]
        config = json.load(tar.extractfile(manifest["Config"]))
        with tarfile.open(fileobj=tar.extractfile(manifest["Layers"][1])) as layer:
            names = layer.getnames()
    want(manifest["RepoTags"] == ["weir:latest"], f"{manifest}")
    for program in ("weir", "weirctl", "weir-host", "weir-lab"):
        want(f"usr/bin/{program}" in names, f"{program} is in {names}")
    want("/" + names[0] == config["config"]["Entrypoint"][0], f"{config} {names}")
    for path in ("etc/weir/sw1.yaml", "var/lib/dpkg/status", "var/lib/dpkg/info/weir.list"):
        want(path in names, f"{path} of an installed package is in {names}")


def podman_starts_the_image_where_the_kernel_lets_it():
    _, load, start = commands("Containers")
    done = run(load)
    want(done.returncode == 0, done.stderr)
    done = run(start)
    if done.returncode:
        print(f"        skipped: podman cannot start a container: {done.stderr.strip()}")
        run(["podman", "rm", "-f", "sw1"])
        return
    try:
        pid = run(["podman", "inspect", "-f", "{{.State.Pid}}", "sw1"]).stdout.strip()
        for i in (1, 2):
            run(["ip", "link", "add", f"sw1p{i}", "type", "veth", "peer", "name", f"eth{i}",
                 "netns", pid])
        log = run(["timeout", "30", "sh", "-c",
                   "until podman logs sw1 | grep -qx ready; do sleep 0.1; done; podman logs sw1"])
        want("ready" in log.stdout, log.stdout + log.stderr)
    finally:
        run(["podman", "rm", "-f", "sw1"])


def one_switch_and_three_hosts():
    command, _ = commands("Topologies")
    said = play(command, [*typed("one-switch"), "h3 ping -c 1 10.0.0.1",
                          "sw weirctl -s sw show pfc --all"])
    want(said.count(" 0% packet loss") == 2, said)
    want("xdp:eth3" in said, said)


def two_leaves_route_by_bgp_over_both_spines():
    _, command = commands("Topologies")
    paths = "nexthop via 10.0.1.2 dev eth1", "nexthop via 10.0.2.2 dev eth2"
    said = play(command, ["leaf1 " + BGP.format("10.1.2.0/24"),
                          "leaf2 " + BGP.format("10.1.1.0/24"), *typed("leaf-spine"),
                          "spine1 ip link set eth1 down",
                          "leaf1 timeout 30 sh -c 'while ip route show 10.1.2.0/24 | "
                          "grep -q eth1; do sleep 0.1; done'",
                          "leaf1 ip route show 10.1.2.0/24"])
    want(all(said.count(p) == 1 for p in paths), f"both spines: {said}")
    want(said.count(" 0% packet loss") == 1, said)
    last = said.strip().splitlines()[-1]
    want("via 10.0.2.2 dev eth2" in last, f"the other spine remains: {said}")


def a_key_that_is_not_played_is_refused_by_name():
    path = os.path.join(os.environ["TMPDIR"], "bad.clab.yml")
    for node, text in (("{kind: srl}", "node a: kind srl is not played here; linux is"),
                       ("{ports: [80]}", "node a: key ports is not played here; binds, cmd, env, "
                                         "exec, image, kind are")):
        with open(path, "w") as f:
            f.write(f"name: bad\ntopology: {{nodes: {{a: {node}}}}}\n")
        done = run(["scripts/clab-netns", path])
        want((done.returncode, done.stderr) == (2, f"clab-netns: {text}\n"), f"{done}")


def names_that_become_paths_and_words_are_names():
    path = os.path.join(os.environ["TMPDIR"], "names.clab.yml")
    topology = "topology: {nodes: {a: {}, b: {}}, links: [{endpoints: ["
    for text, name in (('name: "a\\e[31m"\ntopology: {nodes: {a: {}}}',
                        "the topology's name 'a\\x1b[31m'"),
                       ('name: a\ntopology: {nodes: {"-F": {}}}', "node '-F'"),
                       ("name: a\ntopology: {nodes: {..: {}}}", "node '..'"),
                       ("name: a\ntopology: {nodes: {1: {}}}", "node 1"),
                       (f'name: a\n{topology}"a:e 1", "b:e1"]}}]}}', "interface 'e 1'"),
                       (f'name: a\n{topology}a, "b:e1"]}}]}}', "interface ''")):
        with open(path, "w") as f:
            f.write(text + "\n")
        done = run(["scripts/clab-netns", path])
        want(done.returncode == 2 and done.stderr.startswith(f"clab-netns: {name}") and
             done.stderr.count("\n") == 1, f"{done}")


def a_node_changes_nothing_outside_of_it():
    """Its environment is of its own programs alone, not of those that start it as root. A path of
    `binds` is one in the node, also with `..`, or behind a link such as /var/run."""
    folder = os.path.join(os.environ["TMPDIR"], "outside")
    os.makedirs(os.path.join(folder, "bin"))
    nsenter = os.path.join(folder, "bin", "nsenter")
    with open(nsenter, "w") as f:
        f.write(f"#!/bin/sh\ntouch {folder}/started\n")
    os.chmod(nsenter, 0o755)
    env = {"PATH": f"{folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "CAPABILITIES": "+all", "-S": "x"}
    up = "/.." * 20
    node = {"cmd": "host", "env": env,
            "binds": [f"out.clab.yml:{up}{folder}/made/file", "out.clab.yml:/var/run/made/file"]}
    path = os.path.join(folder, "out.clab.yml")
    with open(path, "w") as f: # JSON is YAML, too
        json.dump({"name": "out", "topology": {"nodes": {"a": node}}}, f)
    said = play(["scripts/clab-netns", path],
                ["a cat /proc/1/environ", f"a cat {folder}/made/file /run/made/file",
                 "a grep CapBnd /proc/1/status", "a grep CapBnd /proc/self/status",
                 "a sh -c 'mktemp || echo no file can be made'"])
    want("no file can be made" not in said, said)
    want(sorted(os.listdir(folder)) == ["bin", "out.clab.yml"], f"{os.listdir(folder)}")
    want(not os.path.exists("/run/made"), "no folder in /run of the machine")
    want(f"PATH={env['PATH']}\0" in said and "CAPABILITIES=+all\0" in said, said)
    want(said.count('"name": "out"') == 2, said)
    bounds = re.findall(r"CapBnd:\s*(\w+)", said)
    want(len(bounds) == 2 and bounds[0] == bounds[1], f"{bounds}")
    want(int(bounds[0], 16) & 1 << CAP_SYS_MODULE == 0, f"{bounds}")


def the_environment_of_a_node_is_no_policy():
    path = os.path.join(os.environ["TMPDIR"], "env.clab.yml")
    for variable, value, said in (
            ("WEIR_NAME", 'sw", lldp: off, workers: "1', "WEIR_NAME or the host name has a char"),
            ("WEIR_NAME", "a\nb", "WEIR_NAME or the host name has a char"),
            ("WEIR_SPEED", '10G, device: "xdp:eth0"', "WEIR_SPEED has a character"),
            ("WEIR_MTU", "1500, lldp: off", "WEIR_MTU is no number"),
            ("WEIR_LOSSLESS", "3: {}\n      4", "WEIR_LOSSLESS has a character"),
            ("WEIR_PORTS", "1 ]", "WEIR_PORTS is no number"),
            ("WEIR_WAIT", "a[$(id)]", "WEIR_WAIT is no number")):
        nodes = {"a": {"env": {variable: value}, "binds": [ENTRY]}, "b": {"cmd": "host"}}
        links = [{"endpoints": ["a:eth1", "b:eth1"]}]
        with open(path, "w") as f: # JSON is YAML, too
            json.dump({"name": "env", "topology": {"nodes": nodes, "links": links}}, f)
        done = run(["scripts/clab-netns", path])
        want(done.returncode == 2 and said in done.stderr, f"{variable}: {done}")


live.need_root("mmdebstrap", "podman")
sys.exit(live.run_tests([
    the_image_is_an_archive_with_the_programs,
    podman_starts_the_image_where_the_kernel_lets_it,
    one_switch_and_three_hosts,
    two_leaves_route_by_bgp_over_both_spines,
    a_key_that_is_not_played_is_refused_by_name,
    names_that_become_paths_and_words_are_names,
    a_node_changes_nothing_outside_of_it,
    the_environment_of_a_node_is_no_policy,
]))
