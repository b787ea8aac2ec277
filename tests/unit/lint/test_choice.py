#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/choice.toml chooses each test beyond the gate for some change, and for each mutant the test
that kills it.

    test_choice.py SOURCE_ROOT BUILD
"""
import json
import os
import subprocess
import sys
import unittest

ROOT, BUILD = map(os.path.abspath, sys.argv[1:3])
sys.path[:0] = [os.path.join(ROOT, 'scripts'), os.path.join(ROOT, 'tests/mutants')]

import anchors # noqa: E402: the path is set above
import choice # noqa: E402

GATE = {'unit', 'wire', 'threads', 'lab', 'web', 'smoke'}


def labels(test):
    return {suite.rsplit(':', 1)[-1] for suite in test['suite']}


class Choice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table = choice.Table()
        out = subprocess.run(['meson', 'introspect', '--tests', BUILD], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
        cls.tests = {t['name']: t for t in json.loads(out)}
        cls.paths = {name: choice.paths_of(t, BUILD) for name, t in cls.tests.items()}

    def test_each_test_beyond_the_gate_is_named(self):
        names = self.table.beginnings()
        self.assertEqual([], [n for n, t in self.tests.items() if 'long' in labels(t)
                              and not choice.begin_so(self.paths[n], names)])

    def test_each_name_of_the_table_is_a_test(self):
        paths = {p for found in self.paths.values() for p in found}
        self.assertEqual([], [b for b in self.table.beginnings()
                              if not choice.begin_so(paths, [b])])

    def test_each_beginning_of_a_changed_file_is_one(self):
        files = choice.git('ls-files', '-z')
        self.assertEqual([], [b for b in self.table.rows if not choice.begin_so(files, [b])])

    def test_the_killer_of_each_mutant_is_chosen(self):
        every, mistakes = anchors.read(ROOT)
        self.assertEqual([], mistakes)
        self.assertGreater(len(every), 1000)
        missed = []
        for m in every:
            killer = self.tests[m.kills]
            if 'long' in labels(killer) and not choice.begin_so(self.paths[m.kills],
                                                                self.table.chosen([m.file])):
                missed.append(f'{m.file} -> {m.kills}')
        self.assertEqual([], missed)

    def test_a_change_below_tests_chooses_its_folder(self):
        chosen = self.table.chosen(['tests/smoke/bgp/test_bgp.py'])
        self.assertIn('tests/smoke/bgp/', chosen)
        self.assertNotIn('tests/smoke/bgp/', self.table.chosen(['README.md']))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
