#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The searches of scripts/bench --rfc2544, on devices that are formulas. No program is run.

usage: test_rfc2544.py [CASE...]
"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import report # noqa: E402: the path is set above
import rfc2544 # noqa: E402

SECONDS = 0.1


class Device:
    """Forwards at most so many frames a second, and keeps a burst of `ring` frames. share: what it
    loses always. fastest: of the generator."""

    def __init__(self, capacity, ring=1000, share=0.0, fastest=50e6, gaps=()):
        self.capacity, self.ring, self.share, self.fastest = capacity, ring, share, fastest
        self.gaps, self.rates = list(gaps), []

    def result(self, offered, lost):
        gap_ns = self.gaps.pop(0) if self.gaps else 0
        if gap_ns:
            lost += int(offered * gap_ns / (SECONDS * 1e9))
        return {"offered": offered, "received": offered - lost, "lost": lost, "pauses": 0,
                "ns": int(SECONDS * 1e9) + gap_ns, "gap_ns": gap_ns, "gap_max_ns": gap_ns,
                "gaps": int(gap_ns > 0), "device_waited_ns": 0, "reordered": 0, "duplicates": 0,
                "latency_ns": {"min": 900, "p50": 1000, "p99": 2000, "p999": 3000, "max": 4000}}

    def rate(self, rate):
        self.rates.append(rate)
        offered = round(min(rate, self.fastest) * SECONDS)
        over = max(offered - round(self.capacity * SECONDS), 0)
        return self.result(offered, max(over, round(offered * self.share)))

    def burst(self, frames):
        forwarded = frames * self.capacity / self.fastest
        return self.result(frames, max(round(frames - forwarded - self.ring), 0))


class Searches(unittest.TestCase):
    def test_the_throughput_is_found_to_a_128th(self):
        for capacity in (1e5, 1e6, 4.9e6, 7.5e6):
            best, limited = rfc2544.throughput(Device(capacity).rate, 7.5e6, 0)
            self.assertFalse(limited)
            self.assertLessEqual(rfc2544.received_fps(best), capacity + 10)
            self.assertGreater(rfc2544.received_fps(best), capacity - 7.5e6 / 127)

    def test_a_loss_threshold_takes_a_loss_as_none(self):
        dropper = Device(4e6, share=0.01)
        self.assertEqual(rfc2544.throughput(dropper.rate, 8e6, 0), (None, False))
        best, _ = rfc2544.throughput(dropper.rate, 8e6, 1)
        self.assertAlmostEqual(rfc2544.offered_fps(best), 4e6, delta=8e6 / 64)
        self.assertEqual(rfc2544.loss_percent(best), 1)

    def test_a_generator_that_is_too_slow_is_named(self):
        best, limited = rfc2544.throughput(Device(4e6, fastest=2e6).rate, 6e6, 0)
        self.assertTrue(limited)
        self.assertEqual(rfc2544.received_fps(best), 2e6)

    def test_loss_that_gaps_explain_is_tried_again_and_other_loss_is_not(self):
        device = Device(4e6, gaps=[2000000, 2000000])
        self.assertEqual(rfc2544.undisturbed(lambda: device.rate(1e6), 0)["lost"], 0)
        self.assertEqual(len(device.rates), 3)
        device = Device(4e6, gaps=[2000000] * 9)
        self.assertGreater(rfc2544.undisturbed(lambda: device.rate(1e6), 0)["lost"], 0)
        self.assertEqual(len(device.rates), 3)
        device = Device(4e6, gaps=[2000000] * 9)
        self.assertGreater(rfc2544.undisturbed(lambda: device.rate(8e6), 0)["lost"], 0)
        self.assertEqual(len(device.rates), 1)

    def test_the_longest_burst_is_found_to_a_sixteenth(self):
        for ring in (100, 1000, 30000):
            longest = 2 * ring # half of the frames leave while the burst arrives
            found = rfc2544.back_to_back(Device(25e6, ring).burst, 1000000)
            self.assertLessEqual(found, longest + 1)
            self.assertGreater(found, longest * 15 / 17)
        self.assertEqual(rfc2544.back_to_back(Device(25e6, ring=10).burst, 1000000), 0)
        self.assertEqual(rfc2544.back_to_back(Device(50e6).burst, 12345), 12345)

    def test_the_loss_curve_ends_after_two_loads_without_loss(self):
        found = rfc2544.loss_curve(Device(0.85e6).rate, 1e6)
        self.assertEqual(list(found), [120, 110, 100, 90, 80, 70])
        for load in (120, 110, 100, 90):
            self.assertAlmostEqual(found[load], 100 * (1 - 85 / load), delta=0.01)
        self.assertEqual((found[80], found[70]), (0, 0))

    def test_a_load_that_the_generator_cannot_offer_has_no_loss(self):
        self.assertEqual(list(rfc2544.loss_curve(Device(2e6, fastest=1e6).rate, 1e6)), [100, 90])


class Rows(unittest.TestCase):
    def row(self, device, fps):
        class Generator:
            made = Device(fps)

            def trial(self, size, rate, frames, seconds):
                if frames:
                    return self.made.burst(frames)
                return self.made.rate(self.made.fastest if rate == "flood" else float(rate))

        counted = rfc2544.Counted(Generator(), "64", SECONDS)
        runs = [rfc2544.once(counted, 0) for _ in range(3)]
        return rfc2544.row_of("64", device, runs, counted, 5000)

    def test_rows_have_all_figures_and_their_peers(self):
        rows = [self.row("weir", 6e6), self.row("io", 12e6), self.row("ovs", 4e6)]
        rfc2544.complete(rows)
        self.assertAlmostEqual(rows[0]["ratio_io"], 0.5, delta=0.01)
        self.assertAlmostEqual(rows[0]["ratio_ovs"], 1.5, delta=0.02)
        self.assertAlmostEqual(rows[0]["gbps"], rows[0]["fps"] * 84 * 8 / 1e9)
        self.assertEqual([row.get("trend") for row in rows], [rows[0]["flood_mpps"], None, None])
        self.assertEqual(rows[0]["flood_ratio_ovs"], 1.5)
        lost = rows[0]["lost"], rows[0]["lost_beside_gaps"]
        self.assertTrue(lost[0] > 0 and lost[1] == 0, lost)
        result = {"machine": {"summary": "x"}, "rows": rows, "skipped": []}
        for line in report.text(result).splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("64/weir", report.markdown(result))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + [f"-k{name}" for name in sys.argv[1:]], verbosity=2)
