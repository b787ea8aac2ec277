# SPDX-License-Identifier: Apache-2.0
"""The lab runner on real runs of weir-lab."""
import os

import pytest

import weir

ROOT = os.environ["WEIR_ROOT"]
TWO_HOSTS = {
    "scenario": "two-hosts", "duration": "2ms", "policy": f"{ROOT}/conf/roce.yaml",
    "topology": {"star": {"hosts": 2, "speed": "40G", "length": "5m"}},
    "flows": [{"name": "f", "from": "h1", "to": "h2", "class": 3, "size": "10KB", "count": 5}],
    "record": {"every": "100us", "what": ["rate(h1)", "xoffs"]},
    "expect": ["lossless_drops == 0"],
}


def test_a_bundled_scenario_has_typed_results(weir_lab):
    result = weir_lab.run("first", seed=3, metrics=["xoffs(s1) + 1"])
    assert (result.passed, result.seed, result.end_ns) == (True, 3, 60_000_000)
    assert result.check() is result and result.failures() == []
    assert [e.expectation for e in result.expectations][0] == "lossless_drops == 0"
    assert all(e.passed and e.known for e in result.expectations)
    h1, flow, s1 = result.hosts["h1"], result.flows["f1"], result.switches["s1"]
    assert h1.speed_bps == 40_000_000_000 and h1.cnps_received > 0
    assert flow.connections == 2 and flow.fct_ns.p50 is None
    assert s1.balance["balanced"] and {p["name"] for p in s1.ports} == {"p1", "p2", "p3"}
    assert result.metrics["xoffs(s1) + 1"].value == 1


def test_series_and_operations_are_those_of_the_files(weir_lab):
    result = weir_lab.run(TWO_HOSTS)
    series, operations = result.series, result.operations
    assert list(series) == ["rate(h1)", "xoffs"] and series.units == {"rate(h1)": "bps",
                                                                      "xoffs": ""}
    assert len(series) == 20 and series.time_ns[0] == 100_000
    assert series["rate(h1)"][0] > 0 and series.between("rate(h1)", 1e6, 2e6)[-1] == 0
    assert len(operations) == result.flows["f"].operations == 5
    assert all(o.bytes == 10_000 and o.fct_ns >= o.ideal_ns > 0 for o in operations)
    with pytest.raises(KeyError, match="no series rate.h9.; there are: rate"):
        series["rate(h9)"]


def test_params_settings_and_until_reach_the_run(weir_lab):
    result = weir_lab.run("incast", params={"n": 2})
    assert result.params["n"] == "2" and len(result.hosts) == 3
    result = weir_lab.run(TWO_HOSTS, until="1ms", settings={"policy.switch.buffer.size": "4MB"})
    assert result.end_ns == 1_000_000
    assert sum(p["size_bytes"] for p in result.switches["s1"].pools
               if p["name"] == "ingress") < 4_000_000


def test_the_same_seed_gives_the_same_report(weir_lab):
    assert weir_lab.run("first", seed=5).report == weir_lab.run("first", seed=5).report
    assert weir_lab.run("first", seed=6).report != weir_lab.run("first", seed=5).report


def test_an_expectation_that_fails_is_a_result_and_an_exception_of_check(weir_lab):
    result = weir_lab.run({**TWO_HOSTS, "expect": ["xoffs == 7", "lossless_drops == 0"]})
    assert not result.passed and [e.passed for e in result.expectations] == [False, True]
    with pytest.raises(weir.ExpectationsFailed, match=r"1 of 2 .*\n"
                       r"FAIL  xoffs == 7: measured 0, expected 7 \(line 1\)"):
        result.check()


def test_errors_carry_the_message_of_weir_lab(tmp_path):
    with pytest.raises(weir.LabError, match="there is no param m: known are n, ports, to") as e:
        weir.lab.run("incast", params={"m": 2})
    assert e.value.status == 2
    with pytest.raises(weir.LabError, match="did you mean incast"):
        weir.lab.run("incest")
    file = tmp_path / "bad.yaml"
    file.write_text("scenario: x\nduration: 1\n")
    with pytest.raises(weir.LabError, match=rf"{file}:2:11: duration: "):
        weir.lab.run(file)
    (tmp_path / "out").write_text("a file")
    with pytest.raises(weir.LabError, match="--out .*: cannot write there: Not a directory"):
        weir.lab.run("first", out=tmp_path / "out")
    (tmp_path / "full" / "report.html").mkdir(parents=True)
    with pytest.raises(weir.LabError, match="full: cannot write the report: Is a directory"):
        weir.lab.run("first", out=tmp_path / "full")
    with pytest.raises(weir.LabError, match="did not end within 0.01 s"):
        weir.lab.run("incast", timeout=0.01)


def test_a_program_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("WEIR_BUILD", str(tmp_path))
    with pytest.raises(weir.ProgramMissing, match="control/lab/weir-lab is no program; build it"):
        weir.lab.run("first")
    monkeypatch.delenv("WEIR_BUILD")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(weir.ProgramMissing, match="weir-lab is not on PATH"):
        weir.lab.run("first")


def test_a_scenario_of_the_current_folder_leaves_no_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert weir.lab.run(TWO_HOSTS).passed
    assert list(tmp_path.iterdir()) == []


def test_a_text_of_a_mapping_has_any_character(weir_lab):
    text = 'é\U0001f600\u2028\x85\x7f"\\ud83d\t'
    result = weir_lab.run({**TWO_HOSTS, "title": "\U0001f600", "params": {"unused": text}})
    assert result.passed and result.params["unused"] == text
