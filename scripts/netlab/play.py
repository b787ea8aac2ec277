# SPDX-License-Identifier: Apache-2.0
"""Plays one act on live ports: the switch, a listener, two senders; samples while they run."""
import os
import time

from acts import ACTS, SPEED, Result, judge, lossless_weights, policy_of
from switch import Host, Switch
from table import live_table
from world import World, switch_name

SAMPLE_EVERY_S = 0.5
DRAIN_S = 15 # for what is outstanding when posting ends
RX_RING = "4096" # frames of a host's receive ring
RECEIVER = "10.0.0.3"


def sample(switch):
    out = {"t": time.monotonic()}
    for what in ("ports", "queues", "pfc", "buffers", "drops"):
        out.update(switch.show(what))
    return out


def keep(logs, world, act):
    """Copies what the programs printed."""
    for name in os.listdir(world.logs):
        with open(os.path.join(world.logs, name), "rb") as f:
            data = f.read()
        with open(os.path.join(logs, f"act{act}-{name}"), "wb") as f:
            f.write(data)


class Play:
    def __init__(self, programs, screen, sample_policy, logs=None):
        self.programs, self.screen, self.logs = programs, screen, logs
        with open(sample_policy) as f:
            self.policy = f.read()

    def act(self, number, seconds=None):
        """Returns the record of the act, its checks included."""
        plan = ACTS[number]
        seconds = seconds or plan["seconds"]
        self.screen.say(f"act {number}: {plan['title']}")
        with World(3) as world:
            try:
                result = self.run(world, number, seconds)
            finally:
                if self.logs:
                    keep(self.logs, world, number)
        return {"act": number, "title": plan["title"], "world": "live",
                "checks": judge(number, result), "balance": result.balance,
                "switch": result.final, "senders": result.senders, "receiver": result.receiver}

    def run(self, world, number, seconds):
        policy = policy_of(number, self.policy, switch_name())
        result = Result(lossless_weights(policy))
        switch = Switch(world, self.programs, switch_name(), policy)
        options = ["--speed", SPEED, "--rx-ring", RX_RING]
        receiver = Host(world, self.programs, 3, "receiver", "--listen", *options).ready()
        classes = ",".join(str(c) for c in sorted(result.weights))
        senders = [Host(world, self.programs, i, f"sender{i}", "--to", RECEIVER, "--class", classes,
                        "--time", f"{seconds}s", "--drain", f"{DRAIN_S}s", *options,
                        *ACTS[number]["senders"]) for i in (1, 2)]
        for s in senders:
            s.ready()
        self.watch(switch, senders, result, seconds)
        self.finish(switch, receiver, senders, result)
        return result

    def watch(self, switch, senders, result, seconds):
        """Samples until the senders have ended, which they do by themselves."""
        start = time.monotonic()
        limit = start + seconds + DRAIN_S + 15
        result.samples.append(sample(switch))
        while any(s.process.running() for s in senders) and time.monotonic() < limit:
            time.sleep(SAMPLE_EVERY_S)
            result.samples.append(sample(switch))
            self.draw(result, f"{time.monotonic() - start:4.1f} s")
        for s in senders:
            s.process.wait(1)

    def draw(self, result, text, last=False):
        now, before = result.samples[-1], result.samples[-2]
        self.screen.draw(live_table(self.screen, text, now, before, sorted(result.weights)), last)

    def finish(self, switch, receiver, senders, result):
        """Lets everything come to rest, then reads all counters once."""
        self.at_rest(switch)
        result.balance = switch.quiesce()
        result.final = sample(switch)
        result.samples.append(result.final)
        self.draw(result, "at rest", last=True)
        receiver.process.stop()
        result.senders = [s.report() for s in senders]
        result.receiver = receiver.report()
        result.switch_status = switch.stop()

    @staticmethod
    def at_rest(switch, seconds=10):
        """Until no queue holds a frame and no port moved one for a while."""
        end = time.monotonic() + seconds
        before = None
        while time.monotonic() < end:
            time.sleep(0.3)
            now = [(p["rx_packets"], p["tx_packets"]) for p in switch.show("ports")["ports"]]
            queued = sum(q["length_packets"] for q in switch.show("queues")["queues"])
            if now == before and queued == 0:
                return
            before = now
