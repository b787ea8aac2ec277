# SPDX-License-Identifier: Apache-2.0
"""Plays one act: on live ports with the switch, a listener and two senders, or on virtual wires."""
import json
import os
import subprocess
import tempfile
import time

from acts import (ACTS, SPEED, Result, lossless_weights, plan_of, policy_of, record, speeds_of,
                  time_scale_of)
from switch import Host, Switch
from table import live_table
from world import Failed, QuickWorld, switch_name

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


def times(model_s, real_s=None):
    model = f"{model_s * 1e3:4.1f} ms of model time"
    return model if real_s is None else f"{real_s:4.1f} s, {model}"


def keep(logs, world, act):
    """Copies what the programs printed."""
    for name in os.listdir(world.logs):
        with open(os.path.join(world.logs, name), "rb") as f:
            data = f.read()
        with open(os.path.join(logs, f"act{act}-{name}"), "wb") as f:
            f.write(data)


def draw(screen, result, text, last=False):
    now, before = result.samples[-1], result.samples[-2]
    screen.draw(live_table(screen, text, now, before, sorted(result.weights)), last)


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


class Virtual:
    """Acts on virtual wires: one program plays all of it, at its own speed.

    The scenario has a flow for each lossless class, and a link for each entry of the ports.
    """

    def __init__(self, story, screen, sample_policy):
        self.story, self.screen = story, screen
        with open(sample_policy) as f:
            self.policy = f.read()

    def act(self, number, seconds=None):
        """Returns the record of the act, its checks included."""
        self.screen.say(f"act {number}: {ACTS[number]['title']}")
        result = self.play(number, seconds)
        self.show(result)
        return record(number, "virtual", result)

    def play(self, number, seconds=None):
        policy = policy_of(number, self.policy, switch_name())
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

    def show(self, result):
        """The table as it stood in the middle, while all were sending, and at rest."""
        samples = result.samples
        middle = len(samples) // 3
        for i, last in ((max(middle, 1), False), (len(samples) - 1, True)):
            text = times(samples[i]["t"]) + ", at rest" * last
            self.screen.draw(live_table(self.screen, text, samples[i], samples[i - 1],
                                        sorted(result.weights)), last=True)


class Play:
    def __init__(self, programs, screen, sample_policy, logs=None):
        self.programs, self.screen, self.logs = programs, screen, logs
        with open(sample_policy) as f:
            self.policy = f.read()

    def act(self, number, seconds=None):
        """Returns the record of the act, its checks included."""
        self.screen.say(f"act {number}: {ACTS[number]['title']}")
        with QuickWorld(3) as world:
            try:
                result = self.run(world, number, plan_of(number, seconds))
            finally:
                if self.logs:
                    keep(self.logs, world, number)
        return record(number, "live", result)

    def run(self, world, number, plan):
        policy = policy_of(number, self.policy, switch_name())
        result = Result(lossless_weights(policy))
        switch = Switch(world, self.programs, switch_name(), policy)
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
        self.watch(switch, senders, result, plan["seconds"])
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
            t = result.samples[-1]["t"] - result.samples[0]["t"]
            draw(self.screen, result, times(t, time.monotonic() - start))
        for s in senders:
            s.process.wait(1)

    def finish(self, switch, receiver, senders, result):
        """Lets everything come to rest, then reads all counters once."""
        self.at_rest(switch)
        result.balance = switch.quiesce()
        result.final = sample(switch)
        result.samples.append(result.final)
        draw(self.screen, result, "at rest", last=True)
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
