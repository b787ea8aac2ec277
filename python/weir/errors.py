# SPDX-License-Identifier: Apache-2.0
"""All exceptions of the package. The text is the message of the program that failed, if it has
one."""
from collections.abc import Sequence


class WeirError(Exception):
    """The base of all."""


class ProgramMissing(WeirError):
    """A program is not installed."""


class NoSwitch(WeirError):
    """No switch answers under this name, or none is named and several run."""


class NoAnswer(WeirError):
    """The switch closed the connection, or did not answer in time."""


class Refused(WeirError):
    """The switch answered with an error: its sentence."""


class PolicyError(Refused):
    """The switch did not take a policy. `mistakes` has a line for each mistake."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = list(mistakes)


class LabError(WeirError):
    """`weir-lab` did not run the scenario: its message, and its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ExpectationsFailed(WeirError, AssertionError):
    """A run ended, and an expectation does not hold."""


class Broken(WeirError):
    """A live switch, or a program beside it, did not start or did not end as it must."""
