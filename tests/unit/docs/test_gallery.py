#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The gallery of experiments: each experiment has a claim, a source and a verdict, and the overview
agrees with the pages.

usage: test_gallery.py ROOT
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / 'scripts')]
import gallery  # noqa: E402

ALL = gallery.Gallery()
PAGES = ALL.pages(ALL.read_text())
RUN = ['Eight senders.', '', '    weir-lab run conf/lab/x.yaml', '', '![x](plots/x.png)', '',
       '| expectation | expected | tolerance | measured | |', '| --- | --- | --- | --- | --- |',
       '| `a == 0` | 0 |  | 0 | holds |', '| `b == 0` | 0 |  | 1 | **does not hold** |', '',
       '12 packet-hops; every frame is accounted for.']


class Gallery(unittest.TestCase):
    def test_each_experiment_has_claim_source_and_verdict(self):
        seen = set()
        for name, text in PAGES.items():
            for key, claim, source, _, verdict in gallery.entries(text):
                with self.subTest(page=name, experiment=key):
                    self.assertRegex(claim, r'^[A-Z0-9].*\.$')
                    self.assertRegex(source, r'^(Published: |Arithmetic|Own simulator|Chosen)')
                    self.assertTrue(verdict or 'weir-lab sweep' in text)
                    seen.add(key)
            marked = re.findall(r'<!-- begin (\S+) -->', text)
            headed = {key for key, *_ in gallery.entries(text)}
            self.assertEqual([m for m in marked if m not in headed and
                              re.sub('-(sweep|seeds)$', '', m) not in headed], [], name)
        self.assertGreater(len(seen), 100)

    def test_a_verdict_that_does_not_hold_is_seen_in_the_overview(self):
        page = ['# X', '', '### x', '', '**It is.** *Chosen.*', '', *gallery.arrange(RUN)]
        text = '\n'.join(page)
        self.assertEqual(list(gallery.entries(text)),
                         [('x', 'It is.', 'Chosen.', 'plots/x.png', '1 of 2')])
        self.assertIn('| It is. [x](experiments/x.md#x) | Chosen. | 1 of 2 |',
                      '\n'.join(gallery.overview({'x.md': text})))

    def test_details_are_folded_and_nothing_is_lost(self):
        lines = gallery.arrange(RUN)
        self.assertLess(lines.index('![x](../plots/x.png)'), lines.index(RUN[2]))
        folded = '\n'.join(lines).split('<summary>Details</summary>')[1]
        for part in (RUN[0], RUN[6], RUN[8], RUN[9], RUN[11]):
            self.assertIn(part, folded)
        self.assertIn('Verdict: 1 of 2 expectations hold.', lines)

    def test_the_overview_agrees_with_the_pages(self):
        self.assertFalse(ALL.overview_is_stale(ALL.read_text()),
                         'docs/experiments.md is stale: scripts/experiments --overview')
        text = ALL.read_text().replace('Verdict: 5 of 5', 'Verdict: 4 of 5', 1)
        self.assertTrue(ALL.overview_is_stale(text))


unittest.main(argv=sys.argv[:1])
