# SPDX-License-Identifier: Apache-2.0
"""One running `weir` with its `weirctl`, and `weir-host` endpoints around it."""
import json
import os
import re

from door import INSIDE
from world import Failed, run

PROGRAMS = {"weir": "control/daemon/weir", "weirctl": "control/ctl/weirctl",
            "weir-host": "control/host/weir-host"}


class Programs:
    """Where the programs are, in a build directory. door: to the page of the switch, or None."""

    def __init__(self, build, door=None):
        self.door, self.build = door, os.path.abspath(build)

    def __getattr__(self, name):
        """The path of programs.weir_host etc.; only one that is used must have been built."""
        path = PROGRAMS.get(name.replace("_", "-"))
        if path is None:
            raise AttributeError(name)
        return self.in_build(path)

    def in_build(self, path):
        full = os.path.join(self.build, path)
        if not os.access(full, os.X_OK):
            raise Failed(f"{full} is missing; run scripts/setup")
        return full


def quiet(policy):
    """The policy without the stand-in and without LLDP, unless the policy has a word about them.
    Programs of a lab share processors, so a worker stands still now and then. What is counted here
    is the PFC of the switch itself, and the frames of the hosts."""
    off = [text for key, text in (("stall:", "stall: {pause_after: off}"), ("lldp", "lldp: off"))
           if key not in policy]
    if not off:
        return policy
    return re.sub(r"^switch:( \{|\n)",
                  lambda m: (f"switch: {{{', '.join(off)}, " if m[1] == " {" else
                             "switch:\n" + "".join(f"  {line}\n" for line in off)),
                  policy, count=1, flags=re.M)


class Switch:
    """`weir` in the namespace of the switch, or in another; policy: its text; options: of weir."""

    def __init__(self, world, programs, name, policy, where="sw", options=()):
        self.world, self.programs, self.name = world, programs, name
        self.path = os.path.join(world.logs, f"{name}.yaml")
        with open(self.path, "w") as f:
            f.write(quiet(policy))
        web = self.open_page(where) if programs.door is not None and where == "sw" else []
        self.process = world.spawn(where, name, programs.weir, "-c", self.path, *web,
                                   *options)
        self.process.wait_line("ready")

    def open_page(self, where):
        self.world.run(where, "ip", "link", "set", "lo", "up")
        self.programs.door.lead(f"/run/netns/{self.world.ns(where)}")
        return ["--web", str(INSIDE)]

    def ctl(self, *args):
        return run(self.programs.weirctl, "-s", self.name, *args).stdout

    def show(self, what, *words):
        return json.loads(self.ctl("show", what, *words, "--json"))

    def quiesce(self):
        """Stops admission for good; the balance of all frames."""
        return json.loads(self.ctl("quiesce", "--hold", "--json"))["balance"]

    def stop(self, seconds=15):
        """Returns the exit status: 0 when every frame was accounted for."""
        return self.process.stop(seconds=seconds)


class Host:
    """`weir-host` on link i, address 10.0.0.i."""

    def __init__(self, world, programs, i, name, *args):
        self.name = name
        self.process = world.spawn(f"h{i}", name, programs.weir_host, "--device", f"xdp:e{i}",
                                   "--ip", f"10.0.0.{i}", "--json", *args)

    def ready(self):
        self.process.wait_line("ready")
        return self

    def inof_log(self):
        """What it did by iNOF (control/host/inof.h): {"t": seconds of CLOCK_MONOTONIC, "step", and
        the keys of the step}."""
        rows = [line.split() for line in self.process.err().splitlines()
                if line.startswith("inof: ")]
        return [{"t": float(r[1]), "step": r[2], **dict(w.split("=", 1) for w in r[3:])}
                for r in rows]

    def report(self):
        try:
            return json.loads(self.process.out())
        except ValueError:
            raise Failed(f"{self.name} ended with status {self.process.p.returncode} and no "
                         f"report\n{self.process.said()}") from None


def pick(rows, **match):
    """The row with these values; {} when there is none."""
    for row in rows:
        if all(row.get(k) == v for k, v in match.items()):
            return row
    return {}
