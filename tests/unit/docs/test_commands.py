#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Commands and keys on the pages for people with a fault or with another switch: the programs know
each of them. The tables of those who come from elsewhere have each key once in full.

usage: test_commands.py ROOT WEIRCTL
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, WEIRCTL = pathlib.Path(sys.argv[1]), sys.argv[2]
PAGES = {name: (ROOT / 'docs' / name).read_text()
         for name in ('troubleshooting.md', 'coming-from.md', 'coming-from-sonic.md')}
KEYS = set(re.findall(r'(?m)^\| `([\w.\[\]-]+)` \|', (ROOT / 'docs/configuration.md').read_text()))


def weirctl(*words):
    return subprocess.run([WEIRCTL, *words], capture_output=True, text=True, check=False,
                          timeout=60)


def commands(text):
    """Each `weirctl ...` and each indented line of it, without comment."""
    found = re.findall(r'`(weirctl [^`\n]+)`', text) + re.findall(r'(?m)^    (weirctl .+)$', text)
    return [re.sub(r' +#.*', '', c).split() for c in found]


class Commands(unittest.TestCase):
    def test_weirctl_knows_each_command_kind_and_option(self):
        kinds = re.findall(r'(?m)^  ([a-z][a-z-]+) ', weirctl('show', '--help').stdout)
        kinds += re.findall(r'show ([a-z]+ ?[a-z-]*)\)', ' '.join(
            weirctl('show', '--help').stdout.split()))
        kinds += re.findall(r'(?m)^    show ([a-z_-]+) ', weirctl('show', '--help').stdout)
        verbs = re.findall(r'(?m)^  ([a-z]+) ', weirctl('--help').stdout)
        options = set(re.findall(r'--[a-z-]+', weirctl('--help').stdout))
        seen = 0
        for page, text in PAGES.items():
            for words in commands(text):
                with self.subTest(page=page, command=' '.join(words)):
                    seen += 1
                    self.assertIn(words[1], verbs)
                    plain = [w for w in words[2:] if not w.startswith('-')]
                    if words[1] == 'show' and plain[0] != '...':
                        self.assertTrue(plain[0] in kinds or '-'.join(plain[:2]) in kinds or
                                        ' '.join(plain[:2]) in kinds, f'no kind {plain}')
                    self.assertLessEqual({w for w in words if w.startswith('--')}, options)
        self.assertGreater(seen, 80)

    def test_the_policy_has_each_key(self):
        self.assertGreater(len(KEYS), 150)
        for page, text in PAGES.items():
            for key in re.findall(r'`((?:profiles\.P|ports\[\]|switch|vxlan)\.[\w.\[\]]+)`', text):
                self.assertIn(key, KEYS, page)

    def test_the_example_is_a_policy(self):
        pages = PAGES | {'configuration.md': (ROOT / 'docs/configuration.md').read_text()}
        self.assertIn('```yaml', pages['configuration.md'])
        for page, text in pages.items():
            for example in re.findall(r'(?s)```yaml\n(.*?)```', text):
                with tempfile.NamedTemporaryFile('w', suffix='.yaml') as f:
                    f.write(example)
                    f.flush()
                    done = weirctl('check', f.name, '--strict')
                self.assertEqual(done.returncode, 0, f'{page}: {done.stdout}{done.stderr}')

    def test_each_symptom_has_a_section_with_commands(self):
        text = PAGES['troubleshooting.md']
        sections = re.split(r'(?m)^## ', text)[1:]
        self.assertGreaterEqual(len(sections), 15)
        listed = re.findall(r'(?m)^\| "[^|]*\| \[[^\]]*\]\(#([^)]*)\) \|$', text)
        self.assertEqual(len(listed), len(sections))
        for section in sections:
            self.assertRegex(section, r'(?m)^    weir', section.split('\n')[0])
            self.assertRegex(section, r'(?m)^```', section.split('\n')[0])


unittest.main(argv=sys.argv[:1])
