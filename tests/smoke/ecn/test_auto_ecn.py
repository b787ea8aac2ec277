#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Auto ECN of the live switch: the commands of docs/auto-ecn.md, the event of a reload with other
rails, and static thresholds in place of it.

usage: test_auto_ecn.py BUILD_DIR
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
import page # noqa: E402
from live import want # noqa: E402

POLICY = """\
switch: {name: %(name)s, stall: {pause_after: off}, lldp: off}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: 10G, profile: roce}
profiles:
  roce:
    dscp_to_class: {default: 0, 26: 3}
    classes:
      0: {schedule: {dwrr: 1}}
      3: {lossless: on, %(ecn)s}
      6: {schedule: strict}
"""


def auto_ecn_is_shown_and_follows_a_reload():
    with World(2) as world:
        name = switch_name()

        def policy(ecn):
            return POLICY % {"name": name, "ecn": ecn}
        switch = Switch(world, PROGRAMS, name, policy("ecn: auto"))
        rows = switch.show("ecn-auto")["ecn_auto"]
        want([(r["port"], r["queue"], r["mode"], r["action"], r["model"]) for r in rows] ==
             [("p1", 3, "start", "on", None), ("p2", 3, "start", "on", None)], f"{rows}")
        # Two frames of full size; 5 KB at 40 Gb/s are 1250 B here.
        want(rows[0]["kmin_bytes"] == rows[0]["floor_bytes"] == 3044, f"{rows}")
        want(rows[0]["kmax_bytes"] == 50000 and rows[0]["pmax_percent"] == 1, f"{rows}")
        want(rows[0]["ceiling_bytes"] > 50000, f"{rows}")
        heads = switch.ctl("show", "ecn", "auto").split("\n")[0].split()
        want({"MODE", "USE", "MARKED", "P99", "WHY"} <= set(heads), f"the table has {heads}")

        path = os.path.join(world.logs, "next.yaml")

        def reload(ecn):
            with open(path, "w", encoding="utf-8") as f:
                f.write(policy(ecn))
            return switch.ctl("reload", path)
        reload("ecn: {mode: auto, floor: 20KB}")
        rows = switch.show("ecn-auto")["ecn_auto"]
        want([r["kmin_bytes"] for r in rows] == [20000, 20000], f"{rows}")
        in_force = [r for r in switch.show("ecn")["ecn"] if r["queue"] == 3]
        want([r["kmin_bytes"] for r in in_force] == [20000, 20000], f"{in_force}")
        events = [e for e in switch.show("events")["events"] if e["event"] == "ecn-auto"]
        want([(e["port"], e["class"], e["kmin_before_bytes"], e["kmin_bytes"], e["reason"])
              for e in events] ==
             [(p, 3, 3044, 20000, "a new policy has other limits") for p in ("p1", "p2")],
             f"{events}")
        want("p99" in events[0]["features"], f"{events}")

        reload("wred: {ecn: on, kmin: 7KB, kmax: 70KB, pmax: 7%}")
        want(switch.show("ecn-auto")["ecn_auto"] == [], "static thresholds")
        in_force = [r for r in switch.show("ecn")["ecn"] if r["queue"] == 3]
        want([r["kmin_bytes"] for r in in_force] == [7000, 7000], f"{in_force}")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


# Each command of docs/auto-ecn.md stands here; other tests run those of None.
COMMANDS = {
    "weir-lab run conf/lab/auto-incast.yaml": "8 of 8 expectations hold",
    "weir-lab run conf/lab/auto-change.yaml --out runs/auto": "the search tries other thresholds",
    "weirctl check conf/auto-ecn.yaml": "ok (9 ports, 9 lossless groups",
    "weir -c conf/auto-ecn.yaml": None, # started before the others
    "weirctl show ecn auto": "the thresholds of the start",
    "weirctl show ecn auto --json": '"threshold_changes": 0',
    "weirctl show events": "", # none, or those of a machine that stood still
    "weirctl show ecn": "p1-p8",
    "weirctl reload conf/auto-ecn.yaml": "reloaded",
    "scripts/run --auto": None, # test_auto_story.py
}


def every_command_of_the_page_works():
    found = [" ".join(words) for part in PARTS for words in page.commands("auto-ecn.md", part)]
    want(set(found) == set(COMMANDS), f"the commands are {found}")
    with open(os.path.join(live.ROOT, "conf/auto-ecn.yaml"), encoding="utf-8") as f:
        policy = f.read()
    with World(9) as world:
        name = switch_name()
        switch = Switch(world, PROGRAMS, name, policy.replace("name: sw1", f"name: {name}"))
        for text in found:
            if COMMANDS[text] is None:
                continue
            program, *words = text.replace("runs/auto", os.path.join(world.logs, "runs")).split()
            if program == "weirctl" and words[0] == "reload":
                words[1] = switch.path # its name, and without LLDP
            where = {"weir-lab": [os.path.join(sys.argv[1], "control/lab/weir-lab")],
                     "weirctl": [PROGRAMS.weirctl, *([] if words[0] == "check" else ["-s", name])]}
            done = subprocess.run([*where[program], *words], cwd=live.ROOT, capture_output=True,
                                  text=True, check=False)
            want(done.returncode == 0 and COMMANDS[text] in done.stdout,
                 f"{text}: {done.returncode}\n{done.stdout}{done.stderr}")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


live.need_root()
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
PARTS = ("# ECN", *page.headings("auto-ecn.md"))
sys.exit(live.run_tests([every_command_of_the_page_works,
                         auto_ecn_is_shown_and_follows_a_reload]))
