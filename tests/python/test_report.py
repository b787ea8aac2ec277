# SPDX-License-Identifier: Apache-2.0
"""docs/schemas/report.json against reports of real runs, which together have each of its keys."""
import copy
import os

import pytest
import schemas

ROOT = os.environ["WEIR_ROOT"]
RECORDED = {
    "scenario": "recorded", "params": {"n": 3}, "duration": "2ms",
    "policy": f"{ROOT}/conf/roce.yaml",
    "topology": {"star": {"hosts": "$n", "speed": "40G", "length": "5m"}},
    "flows": [{"from": "h[1-2]", "to": "h3", "class": 3, "size": "50KB", "count": 2}],
    "record": {"every": "100us", "what": ["xoffs"], "histogram": ["s1.p3.3"],
               "capture": ["s1.p3"]},
    "expect": ["utilisation(s1.p$n) >= 0%"],
}
SCENARIOS = [RECORDED, "dcbx-auto", "storm-timing", "ring-deadlock", "slow-receiver",
             "tcp-beside-rdma", "ipcc-incast", "auto-incast"]
# A model that has a row for this traffic.
SETTINGS = {"auto-incast": {"policy.profiles.roce.classes.3.ecn":
                            f"{{mode: auto, model: {ROOT}/conf/models/lab.ecn}}"}}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    import weir
    return [weir.lab.run(s, out=tmp_path_factory.mktemp("run"), metrics=["xoffs"],
                         settings=SETTINGS.get(s) if isinstance(s, str) else None).report
            for s in SCENARIOS]


def test_reports_are_as_the_schema_says(reports):
    schema = schemas.load("report.json")
    for report in reports:
        assert schemas.errors(schema, report) == [], report["scenario"]
        assert schemas.errors(schemas.closed(schema), report) == [], report["scenario"]


def test_each_key_of_the_schema_is_in_a_report(reports):
    assert schemas.unseen(schemas.load("report.json"), reports) == []


def test_the_schema_refuses_a_report_that_is_wrong(reports):
    schema = schemas.load("report.json")
    wrong = copy.deepcopy(reports[0])
    wrong["hosts"][0]["rx_pause"] = "7"
    del wrong["seed"]
    assert len(schemas.errors(schema, wrong)) == 2
    assert schemas.errors(schema, {**reports[0], "new": 1}) == []
    assert len(schemas.errors(schemas.closed(schema), {**reports[0], "new": 1})) == 1
