# SPDX-License-Identifier: Apache-2.0
"""Plays one act: on live ports with the switch, a listener and two senders, or on virtual wires."""
import json
import os
import subprocess
import tempfile
import time

import acts
from acts import (ACTS, RECEIVER_PORT, SPEED, Result, lossless_weights, plan_of, policy_of, record,
                  speeds_of, time_scale_of)
from story import Story, staged
from switch import Host, Switch
from table import at_rest, live_table, scene, show_checks
from world import Failed, QuickWorld

SAMPLE_EVERY_S = 0.5
DRAIN_S = 15 # for what is outstanding when posting ends
RX_RING = "4096" # frames of a host's receive ring
RECEIVER = "10.0.0.3"
SCENARIO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "virtual.yaml")
FLOWS = 2 # of the scenario


def sample(switch):
    """All that the table shows; t: seconds of the switch's own time."""
    out, now = {}, time.monotonic()
    for what in ("ports", "queues", "pfc", "buffers", "drops"):
        out.update(switch.show(what))
    return {"t": now / out["clock"]["time_scale"], **out}


def progress(act, real_s, seconds, model_s):
    ends = f"{min(real_s, seconds):.0f} of {seconds} s" if real_s <= seconds else "the rest arrives"
    return (f"act {act} of {len(ACTS)}, {ends}: {model_s * 1e3:.1f} ms of model time; "
            "Gb/s are the model's")


def draw(screen, result, text, at=-1, sending=True, last=False):
    """The table of one sample, and of what has happened since the sample before."""
    now, before = result.samples[at], result.samples[at - 1]
    screen.draw(live_table(text, now, before, sorted(result.weights), RECEIVER_PORT, sending), last)


def happened(samples, i):
    """Drops, PFC frames and bytes between a sample and the one before."""
    then, now = ([sum(d["packets"] for d in s["drops"]), sum(p["tx_pause"] for p in s["pfc"]),
                  sum(q["tx_bytes"] for q in s["queues"])] for s in (samples[i - 1], samples[i]))
    return [b - a for a, b in zip(then, now)]


def busiest(samples):
    """The sample before which most was dropped; without drops paused; without PFC sent."""
    return max(range(1, len(samples)), key=lambda i: happened(samples, i))


class Acts:
    """What the acts on live ports and those on virtual wires share."""

    def begin(self, number):
        act = ACTS[number]
        scene(self.screen, number, len(ACTS), act["title"], act["picture"], act["text"])

    def show_busiest(self, number, result):
        """The table that stays on the screen. None of an act that was over before it was seen."""
        if len(result.samples) < 2:
            return
        at = busiest(result.samples)
        model_s = result.samples[at]["t"] - result.samples[0]["t"]
        text = (f"act {number} of {len(ACTS)}, its busiest moment: before {model_s * 1e3:.1f} ms "
                "of model time")
        draw(self.screen, result, text, at, last=True)

    def end(self, number, world, result):
        """The record of the act, its checks included."""
        act = record(number, world, result)
        show_checks(self.screen, act["checks"])
        return act

    @staticmethod
    def seen(played):
        return acts.seen(played)


def model_time(real_s, scale):
    """What an endpoint is told, so that it takes this long on the wall."""
    return f"{round(real_s * 1e9 / scale)}ns"


def scenario_of(policy, plan):
    """What is different in the scenario of an act: KEY=VALUE."""
    scale = time_scale_of(policy)
    nic = 'hosts."h[1-3]".nic'
    values = {"sample": model_time(SAMPLE_EVERY_S, scale),
              "duration": model_time(plan["seconds"] + DRAIN_S, scale),
              f"{nic}.window": plan["window"],
              f"{nic}.rto": model_time(plan["rto_ms"] / 1e3, scale)}
    for i, speed in enumerate(speeds_of(policy)):
        values[f"links[{i}].speed"] = speed
    for i in range(FLOWS):
        values.update({f"flows[{i}].{k}": plan[k] for k in ("depth", "size")})
        values[f"flows[{i}].qps"] = plan["qps"] // FLOWS
        values[f"flows[{i}].stop"] = model_time(plan["seconds"], scale)
    return [f"{k}={v}" for k, v in values.items()]


class Virtual(Acts):
    """Acts on virtual wires: one program plays all of it, at its own speed.

    The scenario has a flow for each lossless class, and a link for each entry of the ports.
    """

    def __init__(self, story, screen, sample_policy):
        self.story, self.screen = story, screen
        with open(sample_policy) as f:
            self.policy = f.read()

    def act(self, number, seconds=None):
        """Returns the record of the act, its checks included."""
        self.begin(number)
        result = self.play(number, seconds)
        self.show_busiest(number, result)
        at_rest(self.screen, result.balance)
        return self.end(number, "virtual", result)

    def play(self, number, seconds=None):
        policy = policy_of(number, self.policy, "lab")
        told = self.tell(policy, plan_of(number, seconds))
        result = Result(lossless_weights(policy))
        result.samples, result.final = told["samples"], told["samples"][-1]
        result.balance, result.switch_status = told["balance"], 0
        result.senders, result.receiver = told["senders"], told["receiver"]
        return result

    def tell(self, policy, plan):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(policy)
            f.flush()
            sets = [f"policy={f.name}", *scenario_of(policy, plan)]
            done = subprocess.run([self.story, SCENARIO, *sets], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Failed(f"{self.story} ended with status {done.returncode}\n{done.stderr.strip()}")
        return json.loads(done.stdout)


class Play(Acts, Story):
    def act(self, number, seconds=None):
        """Returns the record of the act, its checks included."""
        self.begin(number)
        with staged(QuickWorld(3), self.logs, number) as world:
            result = self.run(world, number, plan_of(number, seconds))
        return self.end(number, "live", result)

    def run(self, world, number, plan):
        policy = policy_of(number, self.policy, self.name)
        result = Result(lossless_weights(policy))
        switch = Switch(world, self.programs, self.name, policy)
        scale = time_scale_of(policy)
        options = ["--speed", SPEED, "--rx-ring", RX_RING, "--time-scale", str(scale)]
        receiver = Host(world, self.programs, 3, "receiver", "--listen", *options).ready()
        classes = ",".join(str(c) for c in sorted(result.weights))
        senders = [Host(world, self.programs, i, f"sender{i}", "--to", RECEIVER, "--class", classes,
                        "--time", model_time(plan["seconds"], scale),
                        "--rto", model_time(plan["rto_ms"] / 1e3, scale),
                        "--drain", f"{DRAIN_S}s", *options,
                        *(w for k in ("qps", "depth", "window", "size")
                          for w in (f"--{k}", str(plan[k])))) for i in (1, 2)]
        for s in senders:
            s.ready()
        self.watch(switch, senders, result, number, plan["seconds"])
        self.finish(switch, receiver, senders, result)
        return result

    def watch(self, switch, senders, result, number, seconds):
        """Samples until the senders have ended, which they do by themselves."""
        start = time.monotonic()
        limit = start + seconds + DRAIN_S + 15
        result.samples.append(sample(switch))
        while any(s.process.running() for s in senders) and time.monotonic() < limit:
            time.sleep(SAMPLE_EVERY_S)
            result.samples.append(sample(switch))
            t, model_s = time.monotonic() - start, result.samples[-1]["t"] - result.samples[0]["t"]
            if t < seconds or any(happened(result.samples, -1)):
                draw(self.screen, result, progress(number, t, seconds, model_s),
                     sending=t < seconds)
        self.show_busiest(number, result)
        for s in senders:
            s.process.wait(1)

    def finish(self, switch, receiver, senders, result):
        """Lets everything come to rest, then reads all counters once."""
        self.at_rest(switch)
        result.balance = switch.quiesce()
        result.final = sample(switch)
        result.samples.append(result.final)
        at_rest(self.screen, result.balance)
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
