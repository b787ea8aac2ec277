#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a tuner decides without a run: ranges, grids, the places of each round, verdicts, snippets.

usage: test_tune.py ROOT
"""
import argparse
import math
import pathlib
import sys
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, str(pathlib.Path(ROOT, "control/lab")))
import tune # noqa: E402


def a_tuner(*vary, files=("x.yaml",), **others):
    o = {"files": list(files), "vary": list(vary), "queue": "roce.3", "objective": "slowdown(p99)",
         "throughput": "goodput", "pauses": "xoffs", "floor": "95%", "seeds": None, "set": [],
         "rounds": 8, "jobs": 1, "program": "weir-lab", "json": True}
    return tune.Tune(argparse.Namespace(**{**o, **others}))


def searched(t, measure):
    """All rounds of the search, with measure(texts) -> (objective, throughput, pauses)."""
    def run(places):
        for p in places:
            texts = () if p is None else t.search.texts(p)
            m = object.__new__(tune.Measured)
            m.failed, m.units = None, ["", "", ""]
            m.objective, m.throughput, m.pauses = measure(texts)
            t.trials.append(tune.Trial(p, texts, [m]))
        t.start = t.trials[0]
        t.n_runs += len(places)
        t.most = [max(x.measured[0].throughput for x in t.trials)]
        for x in t.trials:
            x.judge(t)
        return None

    t.run = run
    t.tune()
    return t.best()


def number(text):
    return tune.quantity(text)[0]


class Range(unittest.TestCase):
    def test_a_range_gives_its_ends_as_written_and_two_digits_between_them(self):
        for text, values in (("kmin=5KB..400KB:log", ["5KB", "22KB", "93KB", "400KB"]),
                             ("kmin=0..300KB", ["0", "100KB", "200KB", "300KB"]),
                             ("pmax=0.5%..50%:log:3", ["0.5%", "5%", "50%"]),
                             ("kmax=200KB..800KB:2", ["200KB", "800KB"]),
                             ("pmax=0.0001%..1%:log", ["0.0001%", "0.0022%", "0.046%", "1%"]),
                             ("pmax=0.0001%..0.01%:log:3", ["0.0001%", "0.001%", "0.01%"]),
                             ("pmax=0.0001%..0.0009%:3", ["0.0001%", "0.0005%", "0.0009%"]),
                             ("g=0.00001..0.00009:3", ["0.00001", "0.00005", "0.00009"]),
                             ("w=1..10:log", ["1", "2", "5", "10"]),
                             ("alpha=1/64,1/8,1", ["1/64", "1/8", "1"])):
            r = tune.Range(text, "policy.x.")
            self.assertEqual([r.text(at) for at in r.grid(1)], values)

    def test_kmin_kmax_and_pmax_are_those_of_the_class(self):
        r = a_tuner("kmin=5KB..9KB", "a.kmin=1KB..2KB", queue="storage.4").ranges
        self.assertEqual([x.path for x in r],
                         ["policy.profiles.storage.classes.4.wred.kmin", "a.kmin"])

    def test_a_wrong_range_ends_the_program(self):
        for text in ("kmin=5KB..5KB", "kmin=9KB..5KB", "kmin=5KB..9us", "kmin=0..5KB:log",
                     "kmin=a..b", "kmin=1KB..2KB:1", "kmin=1KB..2KB:65", "kmin", "kmin="):
            with self.assertRaises(SystemExit, msg=text):
                tune.Range(text, "")

    def test_wrong_options_end_the_program(self):
        for others in ({"floor": "195%"}, {"floor": "x"}, {"queue": "roce"}, {"queue": "roce.8"}):
            with self.assertRaises(SystemExit, msg=str(others)):
                a_tuner("kmin=5KB..9KB", **others)
        with self.assertRaises(SystemExit):
            a_tuner("kmin=5KB..9KB", "policy.profiles.roce.classes.3.wred.kmin=1KB..2KB")


class Search(unittest.TestCase):
    def test_the_least_of_a_valley_is_found_to_a_twelfth_of_the_range(self):
        for least in 7e3, 30e3, 120e3, 390e3:
            t = a_tuner("kmin=5KB..400KB:log")
            best = searched(t, lambda x: (abs(math.log(number(x[0]) / least)) + 1 if x else 9,
                                          1, 0))
            self.assertLess(abs(math.log(number(best.texts[0]) / least)), math.log(80) / 12)
            self.assertLessEqual(t.n_runs, 1 + 4 + 2 + 2)

    def test_a_limit_is_approached_from_one_side_to_a_48th_of_the_range(self):
        t = a_tuner("kmin=5KB..400KB:log", floor="100%")
        best = searched(t, lambda x: (number(x[0]) if x else 3e5,
                                      0.5 if x and number(x[0]) < 17.5e3 else 1, 0))
        self.assertEqual((best.texts, best.verdict), (("18KB",), "ok"))
        self.assertEqual([len(trials) for _, trials in t.rounds], [1, 4, 1, 1, 1, 1])

    def test_no_point_is_tried_twice_and_none_with_kmin_above_kmax(self):
        t = a_tuner("kmin=10KB..90KB", "kmax=10KB..90KB")
        searched(t, lambda x: (sum(map(number, x)) if x else 1e9, 1, 0))
        tried = [x.texts for x in t.trials]
        self.assertEqual(len(tried), len(set(tried)))
        self.assertTrue(all(number(a) <= number(b) for a, b in tried[1:]))

    def test_two_ranges_are_followed_to_the_least_of_both(self):
        t = a_tuner("a=1..1000:log", "b=1..1000:log")
        best = searched(t, lambda x: (1 + sum(math.log(number(v) / w) ** 2
                                              for v, w in zip(x, (30, 200))) if x else 99, 1, 0))
        a, b = map(number, best.texts)
        self.assertLess(abs(math.log(a / 30)), math.log(1000) / 12)
        self.assertLess(abs(math.log(b / 200)), math.log(1000) / 12)

    def test_a_list_is_tried_whole_and_no_step_is_taken(self):
        t = a_tuner("alpha=1/64,1/8,1")
        searched(t, lambda x: (1, 1, 0))
        self.assertEqual([x.texts for x in t.trials], [(), ("1/64",), ("1/8",), ("1",)])


class Verdict(unittest.TestCase):
    def test_a_point_with_more_pauses_or_less_throughput_is_not_allowed(self):
        measured = {(): (10, 100, 5), ("1KB",): (1, 94, 0), ("2KB",): (2, 100, 6),
                    ("3KB",): (3, 95, 5)}
        t = a_tuner("kmin=1KB,2KB,3KB")
        best = searched(t, measured.get)
        self.assertEqual([x.verdict for x in t.trials], ["ok", "throughput", "pauses", "ok"])
        self.assertEqual(best.texts, ("3KB",))

    def test_the_greatest_can_be_wanted(self):
        t = a_tuner("kmin=1KB,2KB,3KB", objective="max goodput")
        self.assertEqual(searched(t, lambda x: (number(x[0]) if x else 1, 1, 0)).texts, ("3KB",))

    def test_each_scenario_counts_alike(self):
        t = a_tuner("kmin=1KB,2KB", files=("a", "b"))
        trials = []
        for texts, of in (((), (1, 1000)), (("1KB",), (0.5, 1500)), (("2KB",), (2, 600))):
            measured = []
            for v in of:
                m = object.__new__(tune.Measured)
                m.failed, m.units, m.objective, m.throughput, m.pauses = None, [""] * 3, v, 1, 0
                measured.append(m)
            trials.append(tune.Trial(None if not texts else (0,), texts, measured))
        t.start, t.most = trials[0], [1, 1]
        for x in trials:
            x.judge(t)
        self.assertAlmostEqual(trials[1].score, math.sqrt(0.5 * 1.5))
        self.assertAlmostEqual(trials[2].score, math.sqrt(2 * 0.6))


class Picture(unittest.TestCase):
    def test_a_point_far_above_the_others_is_left_out_and_counted(self):
        t = a_tuner("kmin=10KB,20KB,30KB")
        searched(t, lambda texts: {"10KB": (9.0, 1, 5), "20KB": (0.5, 1, 0), "30KB": (1.5, 1, 5)}
                 [texts[0]] if texts else (1.0, 1, 0))
        plot = t.plot().data()
        names = [s["name"] for s in plot["series"]]
        self.assertEqual(names[1:3], ["not allowed, 1 above 200% left out", "allowed"])
        self.assertEqual(max(y for s in plot["series"] for y in s["y"] if y is not None), 1.5)


class Snippet(unittest.TestCase):
    def test_keys_of_the_policy_are_a_tree_and_others_comments(self):
        t = a_tuner("kmin=1KB,2KB", "pmax=1%,2%", "policy.switch.workers=1,2",
                    'hosts."h*".nic.cc.ai=1M,2M')
        t.trials = [tune.Trial((0, 0, 0, 0), ("1KB", "1%", "1", "1M"), [])]
        t.trials[0].excess = 0
        self.assertEqual(t.snippet(), '# of the scenario: --set hosts."h*".nic.cc.ai=1M\n'
                         "profiles:\n  roce:\n    classes:\n      3:\n"
                         "        wred: {kmin: 1KB, pmax: 1%}\nswitch: {workers: 1}\n")


if __name__ == "__main__":
    unittest.main()
