# SPDX-License-Identifier: Apache-2.0
"""The text format of Prometheus, version 0.0.4: what `weirctl metrics` prints and
`weir --metrics PORT` serves."""
import dataclasses
import re
import urllib.request
from collections.abc import Iterator, Mapping

from weir.errors import WeirError

SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$")
LABEL = re.compile(r'\s*([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*(?:,|$)')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
FETCH_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Sample:
    """One line. A histogram has lines named NAME_bucket and NAME_count."""
    name: str
    labels: Mapping[str, str]
    value: float


@dataclasses.dataclass(frozen=True)
class Family:
    """The type (counter, gauge, histogram or untyped) and the help of a metric."""
    name: str
    type: str
    help: str


class Metrics:
    """All samples of a page, in their order."""

    def __init__(self, samples: list[Sample], families: dict[str, Family]) -> None:
        self.samples, self.families = samples, families

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __len__(self) -> int:
        return len(self.samples)

    def select(self, name: str, /, **labels: object) -> list[Sample]:
        """The samples of this name with these values of labels."""
        want = {k: str(v) for k, v in labels.items()}
        return [s for s in self.samples
                if s.name == name and all(s.labels.get(k) == v for k, v in want.items())]

    def value(self, name: str, /, **labels: object) -> float:
        """Of the one sample that is meant. KeyError: there is none, or there are several."""
        found = self.select(name, **labels)
        if len(found) != 1:
            raise KeyError(f"{len(found)} samples of {name} have the labels {labels}")
        return found[0].value

    def sum(self, name: str, /, **labels: object) -> float:
        """Over all samples of this name with these values of labels. KeyError: the page has no
        such name."""
        if not self.select(name):
            raise KeyError(f"no metric {name}")
        return sum(s.value for s in self.select(name, **labels))


def _labels(text: str, line: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        m = LABEL.match(text, at)
        if m is None:
            raise WeirError(f"no line of metrics: {line}")
        labels[m[1]] = re.sub(r"\\.", lambda e: ESCAPES.get(str(e[0]), str(e[0])), m[2])
        at = m.end()
    return labels


def parse(text: str) -> Metrics:
    """Of a page. WeirError names a line that is none."""
    samples: list[Sample] = []
    kinds: dict[str, str] = {}
    helps: dict[str, str] = {}
    for line in text.split("\n"): # a label may have other characters that end a line
        if line.startswith("#"):
            words = line.split(None, 3)
            if len(words) > 2 and words[1] in ("TYPE", "HELP"):
                (kinds if words[1] == "TYPE" else helps)[words[2]] = (words + [""])[3]
            continue
        if not line.strip():
            continue
        m = SAMPLE.match(line)
        try:
            value = float(m[3]) if m else None
        except ValueError:
            value = None
        if m is None or value is None:
            raise WeirError(f"no line of metrics: {line}")
        samples.append(Sample(m[1], _labels(m[2] or "", line), value))
    return Metrics(samples, {n: Family(n, kinds.get(n, "untyped"), helps.get(n, ""))
                             for n in {**kinds, **helps}})


def fetch(url: str) -> Metrics:
    """From `weir --metrics PORT`: fetch("http://127.0.0.1:9120/metrics")."""
    with urllib.request.urlopen(url, timeout=FETCH_SECONDS) as page:
        return parse(page.read().decode())
