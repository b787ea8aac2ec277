# SPDX-License-Identifier: Apache-2.0
"""What the stories on live ports share: acts in worlds of their own, judged by checks."""
import contextlib
import os

from table import show_checks


@contextlib.contextmanager
def staged(world, logs, act):
    """Opens the world of an act. The folder `logs`, if given, gets what its programs print."""
    with world:
        try:
            yield world
        finally:
            for name in os.listdir(world.logs) if logs else ():
                with open(os.path.join(world.logs, name), "rb") as f:
                    data = f.read()
                with open(os.path.join(logs, f"act{act}-{name}"), "wb") as f:
                    f.write(data)


class Story:
    def __init__(self, programs, screen, sample_policy, name, logs=None):
        self.programs, self.screen, self.name, self.logs = programs, screen, name, logs
        self.results = {} # what each act left, by its number
        with open(sample_policy) as f:
            self.policy = f.read()

    def judge(self, checks, *results):
        """Shows (name, function of the results: holds, figures). Returns them for the record."""
        judged = [{"check": name, "ok": bool(ok), "figures": figures}
                  for name, (ok, figures) in ((name, fn(*results)) for name, fn in checks)]
        show_checks(self.screen, judged)
        return judged

    def tell(self, switch, words, lines, indent=None):
        """Lines of what weirctl says."""
        self.screen.say(f"\n  $ weirctl -s {switch.name} {words}")
        for line in lines:
            self.screen.say(f"  {line}", indent=indent)
        self.screen.say()
