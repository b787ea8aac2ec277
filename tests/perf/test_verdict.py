#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on made-up figures, and the linker scripts of layouts. No program is run.

usage: test_verdict.py
"""
import os
import random
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import layouts # noqa: E402: the path is set above
import verdict # noqa: E402


def pairs(ratio, noise, n_layouts, turns=1, of_layout=lambda layout: 1.0, seed=1):
    """Pairs around 120 cycles; `noise` is the standard deviation of each figure."""
    luck = random.Random(seed)
    return [(layout, 120 * ratio * of_layout(layout) * luck.gauss(1, noise),
             120 * luck.gauss(1, noise)) for _ in range(turns) for layout in range(n_layouts)]


class Verdicts(unittest.TestCase):
    def test_known_ratios_with_little_noise(self):
        for ratio, expected in ((0.97, "faster"), (0.985, "faster"), (0.996, "same"), (1, "same"),
                                (1.004, "same"), (1.015, "slower"), (1.03, "slower")):
            found = verdict.judge(pairs(ratio, 0.002, 30))
            self.assertEqual(found["verdict"], expected, ratio)
            self.assertAlmostEqual(found["ratio"], ratio, delta=0.002)
            self.assertAlmostEqual(found["other"], 120, delta=1)
            self.assertAlmostEqual(found["this"], 120 * ratio, delta=1)

    def test_wide_noise_is_undecided(self):
        for ratio in (0.97, 1, 1.03):
            self.assertEqual(verdict.judge(pairs(ratio, 0.05, 30))["verdict"], "undecided")

    def test_more_pairs_decide_through_wide_noise(self):
        self.assertEqual(verdict.judge(pairs(1.03, 0.03, 1000))["verdict"], "slower")

    def test_a_disturbed_pair_in_four_changes_nothing(self):
        disturbed = pairs(1, 0.002, 40)
        for i in range(0, 40, 4):
            layout, this, other = disturbed[i]
            disturbed[i] = (layout, 2 * this, other) if i % 8 else (layout, this, 2 * other)
        self.assertEqual(verdict.judge(disturbed)["verdict"], "same")

    def test_layouts_that_disagree_stay_undecided_whatever_the_turns(self):
        apart = (0.985, 1.0, 1.015)
        for turns in (1, 4, 60):
            found = verdict.judge(pairs(1, 0.0005, 9, turns, lambda layout: apart[layout % 3]))
            self.assertEqual(found["verdict"], "undecided", turns)
            self.assertGreater(found["high"] - found["low"], 0.025)

    def test_few_layouts_have_no_interval(self):
        found = verdict.judge(pairs(1, 0.0001, 5, turns=50))
        self.assertEqual((found["low"], found["high"], found["verdict"]),
                         (None, None, "undecided"))

    def test_nothing_wider_than_one_per_cent_is_decided(self):
        for low, high, expected in ((0.9950, 1.0049, "same"), (0.9949, 1.0051, "undecided"),
                                    (0.9700, 0.9799, "faster"), (0.9700, 0.9801, "undecided"),
                                    (1.0200, 1.0299, "slower"), (1.0200, 1.0301, "undecided"),
                                    (0.9885, 0.9980, "undecided"), (1.0020, 1.0115, "undecided")):
            self.assertEqual(verdict.decide((low + high) / 2, low, high), expected, (low, high))

    def test_equal_builds_are_neither_faster_nor_slower(self):
        for seed in range(300):
            turn, found = 4, {"verdict": "undecided"}
            all_pairs = pairs(1, 0.01, 180, seed=seed)
            while found["verdict"] == "undecided" and turn <= 60:
                found = verdict.judge(all_pairs[:3 * turn])
                turn += 1
            self.assertIn(found["verdict"], ("same", "undecided"), seed)


class Intervals(unittest.TestCase):
    def test_ranks_are_those_of_the_binomial_table(self):
        for n, ends in ((5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (12, (3, 10)),
                        (20, (6, 15)), (100, (40, 61))):
            self.assertEqual(verdict.interval(random.Random(n).sample(range(1, n + 1), n)), ends)

    def test_it_holds_the_true_median_in_95_of_100_cases(self):
        luck = random.Random(7)
        held = 0
        for _ in range(2000):
            low, high = verdict.interval([luck.expovariate(1) for _ in range(30)])
            held += low <= 0.693147 <= high
        self.assertTrue(0.94 < held / 2000 < 0.975, held)


class Turns(unittest.TestCase):
    def test_orders_alternate_and_no_layout_comes_twice(self):
        for n in (3, 4):
            runs = [run for turn in range(4) for run in verdict.schedule(turn, n)]
            self.assertEqual([layout for layout, _ in runs], list(range(4 * n)))
            self.assertEqual([swapped for _, swapped in runs], [False, True] * (2 * n))


class Scripts(unittest.TestCase):
    OBJECTS = [f"dataplane/lib.a.p/{name}.c.o" for name in "abcdefghij"]

    def order(self, objects, number):
        return re.findall(r"\+ (\d+); \*(\w)\.c\.o\(\.text\)", layouts.script(objects, number))

    def test_every_object_is_named_once(self):
        self.assertEqual(sorted(name for _, name in self.order(self.OBJECTS, 5)),
                         list("abcdefghij"))

    def test_each_number_has_an_order_of_its_own(self):
        orders = {tuple(self.order(self.OBJECTS, number)) for number in range(20)}
        self.assertEqual(len(orders), 20)
        self.assertEqual({pad for order in orders for pad, _ in order}, {"0", "16", "32", "48"})

    def test_shared_objects_keep_order_and_place_when_one_is_new(self):
        fewer = [o for o in self.OBJECTS if not o.endswith("/d.c.o")]
        for number in range(20):
            self.assertEqual([o for o in self.order(self.OBJECTS, number) if o[1] != "d"],
                             self.order(fewer, number))


if __name__ == "__main__":
    unittest.main()
