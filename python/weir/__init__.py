# SPDX-License-Identifier: Apache-2.0
"""Weir for scripts and tests: `weir.Switch` talks to a running switch, `weir.lab.run` runs a
scenario, `weir.live.LiveSwitch` starts a switch on links of its own, `weir.metrics` reads the
Prometheus page. `weir.pytest_plugin` has the fixtures. docs/automation.md has examples."""
from weir import lab, metrics
from weir.control import Reload, Switch, running
from weir.errors import (Broken, ExpectationsFailed, LabError, NoAnswer, NoSwitch, PolicyError,
                         ProgramMissing, Refused, WeirError)

__version__ = "0.1.0"
__all__ = ["Broken", "ExpectationsFailed", "LabError", "NoAnswer", "NoSwitch", "PolicyError",
           "ProgramMissing", "Refused", "Reload", "Switch", "WeirError", "lab", "metrics",
           "running"]
