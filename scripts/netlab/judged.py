# SPDX-License-Identifier: Apache-2.0
"""What the scripts with guests share: their checks, one after the other, and how they end."""
import json
import os
import signal
import sys

from screen import ALARM, GREEN, Screen
from world import Failed, StoryName, World

INTERRUPTED = 130


class Checks:
    def __init__(self, screen):
        self.screen, self.rows = screen, []

    def check(self, holds, text, figures):
        self.rows.append({"ok": bool(holds), "text": text, "figures": figures})
        self.screen.say(f"  {'✓' if holds else '✗'} {text}", GREEN if holds else ALARM)
        self.screen.say(f"      {figures}")

    def verdict(self, path=None):
        """Whether all checks hold; path: where to write them, as JSON."""
        bad = [c for c in self.rows if not c["ok"]]
        if path:
            with open(path, "w") as f:
                json.dump({"ok": not bad, "checks": self.rows}, f, indent=1)
        self.screen.say(f"{len(self.rows) - len(bad)} of {len(self.rows)} checks hold")
        return not bad


def on_signal(*_):
    raise KeyboardInterrupt


def run(name, play):
    """play(screen, world, name of the switch): whether all checks hold. Returns the exit status."""
    screen = Screen()
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, on_signal)
    try:
        if os.geteuid() != 0:
            raise Failed("it needs root, for network namespaces and tap devices")
        with StoryName() as switch, World(0) as world:
            return 0 if play(screen, world, switch) else 1
    except (Failed, OSError) as e:
        print(f"{name}: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: stopped; everything it made is removed", file=sys.stderr)
        return INTERRUPTED
