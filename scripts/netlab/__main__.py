# SPDX-License-Identifier: Apache-2.0
"""The main job of scripts/run, once everything is built. See `scripts/run --help`."""
import argparse
import json
import os
import signal
import sys

from acts import ACTS
from auto import TITLES as AUTO_TITLES, AutoPlay
from bgp import TITLES as BGP_TITLES, BgpPlay
from door import Door
from inof import TITLES as INOF_TITLES, InofPlay
from iperf import TITLES as IPERF_TITLES, IperfPlay
from ipcc import TITLES as IPCC_TITLES, IpccPlay
from play import Play, Virtual
from screen import Screen
from storm import TITLES, StormPlay
from switch import PROGRAMS, Programs
from table import report, second_window
from world import PREFIX, Failed, StoryName, run, sockets_are_private

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORY = "tests/lab/weir-story"
INTERRUPTED = 130


def options():
    p = argparse.ArgumentParser(
        prog="scripts/run",
        description="Shows the switch at work: two senders and a receiver around it, with PFC, "
        "without, and without a bottleneck; checks every figure. As root on live AF_XDP ports in "
        "network namespaces of its own, else on virtual wires.")
    p.add_argument("--seconds", type=int, metavar="N", help="how long the senders post in each act")
    p.add_argument("--act", type=int, action="append", choices=sorted(ACTS),
                   help="only this act (with --storm 1 or 2, with --ipcc none); may be given "
                   "several times")
    p.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    p.add_argument("--keep-logs", metavar="DIR", help="keep what each program printed")
    p.add_argument("--storm", action="store_true",
                   help="another story, in two acts: a receiver pauses for ever, without a PFC "
                   "watchdog and with one; live only")
    p.add_argument("--ipcc", action="store_true",
                   help="another story, in two acts: senders crowd a receiver, and are told by ECN "
                   "alone, or by the switch; live only")
    p.add_argument("--bgp", action="store_true",
                   help="another story, in one act: FRR gives the switch its routes, a link is "
                   "cut, and a lossless class moves to another one; live only")
    p.add_argument("--auto", action="store_true",
                   help="another story, in one act: the ECN thresholds of a queue follow incasts, "
                   "long flows and incasts again; live only, some 45 s")
    p.add_argument("--inof", action="store_true",
                   help="another story, in one act: two switches tell NVMe-oF initiators of a cut "
                   "cable, a zone and a storm; live only")
    p.add_argument("--iperf", action="store_true",
                   help="another story, in four acts: iperf3 of Linux hosts loses frames, and none "
                   "when weir-hostd makes their kernels obey PFC; live only")
    p.add_argument("--web", metavar="PORT", type=int, nargs="?", const=8080,
                   help="serve the page of the switch at 127.0.0.1:PORT (8080) meanwhile; live "
                   "only")
    p.add_argument("--virtual", action="store_true", help="virtual wires, even as root")
    p.add_argument("--no-setup", action="store_true", help="the machine and build/ are ready")
    p.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build"),
                   help="where the programs are built (default build/)")
    args = p.parse_args()
    if args.seconds is not None and not 1 <= args.seconds <= 3600:
        p.error("--seconds is from 1 to 3600")
    if args.web is not None and (args.virtual or not 1 <= args.web <= 65535):
        p.error("--web takes a port from 1 to 65535, and live ports")
    if args.storm and (args.seconds or args.virtual or 3 in (args.act or [])):
        p.error("--storm has acts 1 and 2, of a fixed length, on live ports")
    if args.ipcc and (args.seconds or args.virtual or args.act or args.storm):
        p.error("--ipcc has two acts, of a fixed length, on live ports")
    if args.bgp and (args.seconds or args.virtual or args.act or args.storm or args.ipcc):
        p.error("--bgp has one act, of a fixed length, on live ports")
    if args.auto and (args.seconds or args.virtual or args.act or args.storm or args.ipcc or
                      args.bgp):
        p.error("--auto has one act, on live ports")
    if args.inof and (args.seconds or args.virtual or args.act or args.storm or args.ipcc or
                      args.bgp or args.auto):
        p.error("--inof has one act, of a fixed length, on live ports")
    if args.iperf and (args.seconds or args.virtual or args.act or args.storm or args.ipcc or
                       args.bgp or args.auto or args.inof):
        p.error("--iperf has four acts, of a fixed length, on live ports")
    return args


def why_not_live():
    """A reason why live ports are out of reach; empty when they are not."""
    if os.geteuid() != 0:
        return "this user is not root"
    probe = f"{PREFIX}-probe"
    made = run("ip", "netns", "add", probe, check=False)
    run("ip", "netns", "del", probe, check=False)
    return f"no network namespace can be made: {made.stderr.strip()}" if made.returncode else ""


STORIES = { # option: player, policy, acts, what else there is to read and to run
    "main": (Play, "conf/lab.yaml", ACTS,
             ["docs/first-light.md explains each column and each check.",
              "scripts/run --storm: a receiver pauses for ever (as root).",
              "scripts/run --ipcc: the switch itself slows the senders down (as root)."]),
    "storm": (StormPlay, "conf/storm.yaml", TITLES,
              ["docs/storms.md explains storms, deadlocks and the watchdog.",
               "conf/storm.yaml is the policy; its key `watchdog` is what act 2 adds.",
               "scripts/run --ipcc: the switch itself slows the senders down."]),
    "bgp": (BgpPlay, "conf/frr/policy.yaml", BGP_TITLES,
            ["docs/bgp.md explains the network, and what FRR needs.",
             "conf/frr has the policy and the four files."]),
    "auto": (AutoPlay, "conf/auto-ecn.yaml", AUTO_TITLES,
             ["docs/auto-ecn.md explains modes, reasons and limits.",
              "conf/auto-ecn.yaml is the policy; its key `ecn` is all that it takes.",
              "weir-lab run conf/lab/auto-change.yaml: the same in the lab, with plots."]),
    "inof": (InofPlay, "conf/inof-fabric.yaml", INOF_TITLES,
             ["docs/inof.md explains zones, reasons and what the switch promises.",
              "conf/inof-fabric.yaml is the policy; its key `inof` is all that it takes.",
              "weir-lab run conf/lab/inof-cut.yaml: 90 initiators in the lab."]),
    "iperf": (IperfPlay, "conf/iperf.yaml", IPERF_TITLES,
              ["docs/kernel-hosts.md explains weir-hostd, its queues and its limits.",
               "conf/iperf.yaml is the policy.",
               "weir-lab run two-senders-pfc: the article's own rates in the lab."]),
    "ipcc": (IpccPlay, "conf/compare-equilibrium.yaml", IPCC_TITLES,
             ["On your own switch: weirctl show flows, then weirctl show cnps.",
              "docs/ipcc.md explains when the switch notifies which sender.",
              "conf/ipcc.yaml is a policy with `ipcc: on`.",
              "scripts/run --storm: a receiver pauses for ever."]),
}


SHOWN = {"ipcc": ["flows", "cnps"], "auto": ["ecn auto"],
         "inof": ["inof hosts", "inof log"]} # in a second window


def announce(args, screen, name, kinds):
    weirctl = os.path.join(args.build, PROGRAMS["weirctl"])
    inside = os.path.relpath(weirctl, ROOT)
    second_window(screen, weirctl if inside.startswith("..") else inside, name, kinds,
                  sockets_are_private())


def tell(args, screen):
    """Plays a story, live where that can be. Returns whether all checks hold, and the records."""
    story = next((s for s in STORIES if s != "main" and getattr(args, s)), "main")
    policy = os.path.join(ROOT, STORIES[story][1])
    why = "asked for by --virtual" if args.virtual else why_not_live()
    if why and story != "main":
        raise Failed(f"--{story} runs on live ports only, and {why}; conf/lab has scenarios for "
                     "weir-lab")
    if why:
        screen.say(f"On virtual wires, not on live ports: {why}.")
        return played(args, screen, story, Virtual(os.path.join(args.build, STORY), screen, policy))
    with StoryName() as name:
        announce(args, screen, name, SHOWN.get(story, ["pfc"]))
        door = Door(args.web) if args.web is not None else None
        if door is not None:
            screen.say(f"The page of the switch: {door.url}")
        play = STORIES[story][0](Programs(args.build, door), screen, policy, name, args.keep_logs)
        return played(args, screen, story, play)


def played(args, screen, story, play):
    _, _, acts, read_on = STORIES[story]
    words = [args.seconds] if story == "main" else []
    records = [play.act(n, *words) for n in args.act or sorted(acts)]
    return report(screen, records, play.seen(records), read_on), records


STOPPERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def on_signal(*_):
    for s in STOPPERS:  # what is cleaned up now is cleaned up once, and wholly
        signal.signal(s, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    args = options()
    screen = Screen()
    for s in STOPPERS:
        signal.signal(s, on_signal)
    try:
        if args.keep_logs:
            os.makedirs(args.keep_logs, exist_ok=True)
        ok, acts = tell(args, screen)
        if args.json:
            with open(args.json, "w") as f:
                json.dump({"ok": ok, "acts": acts}, f, indent=1)
    except (Failed, OSError) as e:
        screen.clear_status()
        print(f"run: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        screen.clear_status()
        print("run: stopped; everything it made is removed", file=sys.stderr)
        return INTERRUPTED
    return 0 if ok else 1


sys.exit(main())
