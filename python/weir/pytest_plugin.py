# SPDX-License-Identifier: Apache-2.0
"""Fixtures for pytest. `weir_switch` is a live switch on veth links, `weir_lab` runs scenarios.

    @pytest.mark.weir_switch(hosts=3, policy=..., mtu=..., words=...)

gives the arguments of weir.live.LiveSwitch. Where no live switch can run, the test is skipped and
says why. At the end of the test the switch must account for every frame."""
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from weir import lab, live


class Lab:
    """weir.lab.run, with reports in the folder of the test."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.results: list[lab.Result] = []

    def run(self, scenario: lab.Scenario, **keys: Any) -> lab.Result:
        """As weir.lab.run."""
        keys.setdefault("out", self.folder / f"run{len(self.results) + 1}")
        self.results.append(lab.run(scenario, **keys))
        return self.results[-1]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "weir_switch(hosts=2, policy=None, mtu=1500, words=()): "
                            "arguments of the live switch of the fixture weir_switch")


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """What the programs said goes into the report of a test that failed."""
    if call.excinfo is None:
        return
    used = getattr(item, "funcargs", {})
    if isinstance(switch := used.get("weir_switch"), live.LiveSwitch):
        item.add_report_section(call.when, f"weir, in {switch.folder}", switch.log())
    if isinstance(runs := used.get("weir_lab"), Lab):
        text = "\n".join("\n  ".join([f"{r!r} in {r.folder}", *r.failures()])
                         for r in runs.results)
        item.add_report_section(call.when, "weir-lab", text)


@pytest.fixture
def weir_switch(request: pytest.FixtureRequest,
                tmp_path: pathlib.Path) -> Iterator[live.LiveSwitch]:
    """A live switch on veth links, with hosts; needs root. The marker weir_switch has its
    arguments."""
    why = live.missing()
    if why is not None:
        pytest.skip(why)
    marker = request.node.get_closest_marker("weir_switch")
    keys: dict[str, Any] = {"folder": tmp_path / "weir", **(marker.kwargs if marker else {})}
    with live.LiveSwitch(**keys) as switch:
        yield switch


@pytest.fixture
def weir_lab(tmp_path: pathlib.Path) -> Lab:
    """Runs scenarios of weir-lab: weir_lab.run("incast", params={"n": 8})."""
    return Lab(tmp_path / "weir-lab")
