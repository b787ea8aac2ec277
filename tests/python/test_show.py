# SPDX-License-Identifier: Apache-2.0
"""docs/schemas/show.json against answers of switches that run the policies of conf/: each kind, in
each policy. A key that the schema does not have is an error."""
import collections
import json
import os
import re

import pytest
import schemas
from weir.programs import find

ROOT = os.environ["WEIR_ROOT"]
# Rows that need more than is here, or another timing.
NOT_HERE = {"causes": [".causes[]", ".peers[]"], "cnps": [".cnps[]"],
            "dcbx": [".dcbx[].cure", ".classes[]"], "inof-hosts": [".hosts[]"],
            "inof-log": [".notices[]"], "inof-peers": [".reflectors[]"], "lldp": [".lldp[]"],
            "microbursts": [".bursts[]"],
            "routes": [".routes[].mac"], "vlan": [".vlan[].mac"]}
# An event has keys of its own beside those of all events.
OPEN = {"events"}
SEEN = collections.defaultdict(list)


def policy(name, **replaced):
    with open(f"{ROOT}/conf/{name}.yaml") as f:
        text = f.read()
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def case(name, hosts, mtu=1500, **replaced):
    mark = pytest.mark.weir_switch(hosts=hosts, mtu=mtu, policy=policy(name, **replaced))
    return pytest.param(name, marks=mark)


def show_schema():
    return schemas.load("show.json")["$defs"]


@pytest.mark.parametrize("name", [
    case("roce", 3), case("ipcc", 3, **{"  name: sw1\n": "  name: sw1\n  microbursts: on\n"}),
    case("storm", 3), case("auto-ecn", 9), case("inof", 3),
    case("vxlan", 4, 1600), case("linux", 2, **{", netns: router": ""}),
    case("guard", 6, leaf1h="sw", **{'"xdp:leaf1up[1-2]"': '"xdp:sw[5-6]"'})])
def test_answers_are_as_the_schema_says(weir_switch, name):
    h1, h2, *_ = weir_switch.hosts
    h1.ping(h2, dscp=26)
    if name == "roce":
        weir_switch.weirctl("impair", "p1", "--match", "nak", "--action", "drop", "--count", "1")
        weir_switch.weirctl("impair", "p1", "--match", "nak", "--action", "drop")
        weir_switch.weirctl("impair", "stop", "2")
    if name == "guard": # routes
        h1.run("ip", "addr", "add", "10.1.1.2/24", "dev", h1.device)
        assert h1.ping("10.1.1.1") == 3
    if name == "ipcc":
        h2.endpoint("--listen").wait_line("ready")
        h1.endpoint("--to", h2.ip, "--count", "20", "--class", "3").report()
    for kind, schema in show_schema().items():
        answer = weir_switch.show(kind, all=True)
        assert schemas.errors(schema, answer) == [], kind
        if kind not in OPEN:
            assert schemas.errors(schemas.closed(schema), answer) == [], kind
        SEEN[kind].append(answer)


@pytest.mark.weir_switch(hosts=2)
def test_weirctl_prints_the_answer_of_the_switch(weir_switch):
    kinds = re.findall(r"(?m)^  ([a-z-]+) +\S", weir_switch.weirctl("show", "--help").stdout)
    assert sorted(kinds) == sorted(show_schema())
    for kind in kinds:
        printed = json.loads(weir_switch.weirctl("show", kind, "--all", "--json").stdout)
        assert schemas.errors(show_schema()[kind], printed) == [], kind
        assert printed.keys() == weir_switch.show(kind, all=True).keys(), kind


def test_each_key_of_the_schema_is_in_an_answer():
    assert len(SEEN) == len(show_schema())
    found = {k: missing for k, schema in show_schema().items()
             if (missing := set(schemas.unseen(schema, SEEN[k])) - set(NOT_HERE.get(k, [])))}
    assert found == {}


def test_the_schema_refuses_an_answer_that_is_wrong():
    answer = json.loads(json.dumps(SEEN["ports"][0]))
    answer["ports"][0]["rx_packets"] = None
    del answer["ports"][1]["up"]
    assert len(schemas.errors(show_schema()["ports"], answer)) == 2


def test_reports_of_hosts_are_as_their_schema_says(weir_switch):
    h1, h2 = weir_switch.hosts
    listener = h2.endpoint("--listen")
    listener.wait_line("ready")
    sender = h1.endpoint("--to", h2.ip, "--class", "3", "--count", "20").report()
    assert listener.stop() == 0
    storm = h1.endpoint("--storm", "--class", "3", "--storm-rate", "1000", "--for", "100ms",
                        "--vlan", "100", "--ip6", "fd00::1")
    schema = schemas.load("host.json")
    reports = [sender, listener.report(), storm.report()]
    for r in reports:
        assert schemas.errors(schemas.closed(schema), r) == [], r["role"]
    assert schemas.unseen(schema, reports) == [".inof"]


@pytest.mark.weir_switch(hosts=1)
def test_the_report_of_weir_hostd_is_as_its_schema_says(weir_switch):
    hostd = weir_switch.hosts[0].spawn(find("weir-hostd"), "--device", "e1", "--speed", "1G",
                                       "--class", "3", "--json")
    hostd.wait_line("ready")
    assert hostd.stop() == 0
    schema, report = schemas.load("hostd.json"), json.loads(hostd.out())
    assert schemas.errors(schemas.closed(schema), report) == []
    assert schemas.unseen(schema, [report]) == []
