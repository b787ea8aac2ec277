#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/mutants: what counts as killed, and whole runs on a tree of a few lines.

    test_runner.py ROOT
"""
import glob
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(sys.argv[1])


def load():
    loader = importlib.machinery.SourceFileLoader('mutants', os.path.join(ROOT, 'scripts/mutants'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('mutants', loader))
    loader.exec_module(module)
    return module


mutants = load()

CMOCKA = '''[==========] Running 4 test(s).
[ RUN      ] frames_are_counted
[       OK ] frames_are_counted
[ RUN      ] frames_leave
[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- test.c:8: error: Failure!
[  FAILED  ] frames_leave
[ RUN      ] frames_wait
Could not run test: Test setup failed
[  ERROR   ] frames_wait
[ RUN      ] frames_come
'''
SCRIPT = '''ok   frames are counted
FAIL frames leave
     AssertionError: 3
FAILED  frames wait
frames_come (1.5 s): FAILED
Traceback
2 failed
'''
CASES = {'frames_are_counted', 'frames_leave', 'frames_wait', 'frames_come'}


def said(code, output, case=None, cases=CASES):
    m = mutants.anchors.Mutant(name='a-mutant', breaks='this', file='f.c', find='x', replace='y',
                               kills='a_test', case=case)
    return mutants.verdict(m, mutants.Result(code, output), cases)


class Verdicts(unittest.TestCase):
    def test_cases_that_fail_or_die_are_red(self):
        for output in (CMOCKA, SCRIPT):
            result = mutants.Result(1, output)
            self.assertEqual(result.red, ['frames_leave', 'frames_wait', 'frames_come'])
            self.assertEqual(result.cases, CASES)

    def test_only_the_named_case_counts(self):
        for case in ('frames_leave', 'frames_wait', 'frames_come'):
            self.assertIsNone(said(1, CMOCKA, case))
        for case in ('frames_are_counted', 'frames_are_gone'):
            wrong = said(1, CMOCKA, case)
            self.assertIn('WRONG CASE', wrong)
            self.assertIn(f'not in {case}; red: frames_leave, frames_wait, frames_come', wrong)
        self.assertIn('no end in sight', said(1, 'no end in sight', 'frames_leave'))

    def test_a_program_that_hangs_or_dies_is_red_in_its_last_case(self):
        self.assertIsNone(said(None, '[ RUN      ] frames_come\n', 'frames_come'))
        self.assertIsNone(said(-6, '[ RUN      ] frames_come\n', 'frames_come'))

    def test_a_test_with_cases_needs_one(self):
        self.assertIn('NO CASE', said(1, CMOCKA))
        self.assertIsNone(said(1, 'no cases', cases=set()))

    def test_green_and_skipped_are_wrong(self):
        self.assertIn('SURVIVED', said(0, '[       OK ] frames_leave\n', 'frames_leave'))
        self.assertIn('SURVIVED', said(0, '', cases=set()))
        self.assertIn('skipped', said(77, '', 'frames_leave'))

    def test_a_process_that_hangs_is_ended_with_all_that_it_started(self):
        with tempfile.NamedTemporaryFile() as f:
            code, output = mutants.run(
                ['sh', '-c', f'sleep 60 & echo $! >{f.name}; echo begun; wait'], 1)
            self.assertEqual((code, output), (None, 'begun\n'))
            child = int(f.read())
        self.assertTrue(gone(child))


def gone(pid):
    for _ in range(100):
        try:
            with open(f'/proc/{pid}/stat') as f:
                if f.read().split()[2] == 'Z':
                    return True
        except (FileNotFoundError, ProcessLookupError): # it may also go while it is read
            return True
        time.sleep(0.05)
    return False


MESON = '''project('toy')
python = find_program('/usr/bin/python3')
test('whole', python, args: files('tests/whole.py'))
test('alone', python, args: files('tests/alone.py'))
test('quiet', python, args: files('tests/quiet.py'))
test('bare', python, args: files('tests/bare.py'), suite: 'smoke')
'''
ADDER = '''def add(a, b):
    return a + b


def double(a):
    total = a * 2
    return total
'''
# `whole` runs all of its cases, `alone` only the one that it is given, `bare` has none. `quiet`
# names a case when it has ended, and may not come to that.
WHOLE = '''import os, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../code'))
import adder
def sums_are_right(): return adder.add(2, 3) == 5
def doubles_are_right(): return adder.double(4) == 8
bad = False
for case in (sums_are_right, doubles_are_right):
    if sys.argv[1:] and case.__name__ not in sys.argv[1:]: continue
    print('[ RUN      ] ' + case.__name__, flush=True)
    if not case():
        print('[  FAILED  ] ' + case.__name__)
        bad = True
    else:
        print('[       OK ] ' + case.__name__)
sys.exit(bad)
'''
QUIET = '''import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../code'))
import adder
for case in sys.argv[1:] or ['sums_are_right', 'doubles_are_right']:
    if adder.add(2, 3) == 77: os._exit(3)
    print('ok      ' + case.replace('_', ' '))
'''
BARE = '''import os, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../code'))
import adder
if adder.add(1, 1) == 77:
    with open(os.path.join(os.path.dirname(__file__), '../../../../hung'), 'w') as f:
        f.write(str(os.getpid()))
    time.sleep(600)
sys.exit(adder.add(1, 1) != 2)
'''


def row(name, find, replace, kills, case=None, inside='add'):
    return (f"[[mutant]]\nname = '{name}'\nbreaks = 'sums'\nfile = 'code/adder.py'\n"
            f"in = '{inside}'\nfind = '{find}'\nreplace = '{replace}'\nkills = '{kills}'\n" +
            (f"case = '{case}'\n" if case else ''))


@unittest.skipUnless(shutil.which('meson') and shutil.which('ninja'), 'needs meson')
class Runs(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        for path, text in (('meson.build', MESON), ('code/adder.py', ADDER),
                           ('tests/bare.py', BARE), ('tests/quiet.py', QUIET),
                           ('tests/alone.py', 'import sys\nsys.argv[1:] or sys.exit(1)\n' + WHOLE),
                           ('tests/whole.py', WHOLE.replace('if sys.argv[1:]', 'if False'))):
            self.put(path, text)
        for path in ('scripts/mutants', 'scripts/choice.py', 'scripts/contain',
                     'tests/mutants/anchors.py'):
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, path), os.path.join(self.root, path))

    def put(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)

    def rows(self, *rows):
        self.put('tests/mutants/code/adder.toml', ''.join(rows))

    def command(self, *args):
        return [sys.executable, os.path.join(self.root, 'scripts/mutants'), *args]

    def run_it(self, *args, code=0):
        done = subprocess.run(self.command(*args), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_run_tells_the_killed_from_the_rest(self):
        self.rows(row('killed', 'a + b', 'a - b', 'whole', 'sums_are_right'),
                  row('killed-alone', 'a + b', 'a - b', 'alone', 'sums_are_right'),
                  row('killed-bare', 'a + b', 'a - b', 'bare'),
                  row('killed-quiet', 'a + b', '77', 'quiet', 'sums_are_right'),
                  row('moved', 'a * 2', 'a * 3', 'whole', 'doubles_are_right'),
                  row('survives', 'a + b', 'b + a', 'whole', 'sums_are_right'),
                  row('wrong', 'a + b', 'a - b', 'whole', 'doubles_are_right'),
                  row('unknown', 'a + b', 'a - b', 'alone', 'no_case'),
                  row('caseless', 'a + b', 'a - b', 'alone'),
                  row('gone', 'a / b', 'a - b', 'whole', 'sums_are_right'))
        tally = os.path.join(self.root, 'tally')
        out = self.run_it('--tally', tally, code=1)
        for line in ('killed killed by whole, sums_are_right', 'killed-bare killed by bare',
                     'killed-alone killed by alone, sums_are_right', 'moved killed by whole',
                     'killed-quiet killed by quiet, sums_are_right',
                     'moved: code/adder.py: the text has left add and is now in double',
                     'survives: SURVIVED: sums_are_right stays green',
                     'wrong: WRONG CASE: whole goes red, but not in doubles_are_right; '
                     'red: sums_are_right',
                     'unknown: WRONG CASE: alone has no case no_case', 'caseless: NO CASE',
                     'gone: NOT RUN: gone: code/adder.py: add: the text is gone: a / b',
                     '[10/10]', '5 killed, 5 wrong: caseless, gone, survives, unknown, wrong'):
            self.assertIn(line, out)
        with open(tally) as f:
            self.assertEqual(f.read(), '5 5 0\n')
        out = self.run_it('--live', 'code/')
        self.assertIn('1 killed, 0 wrong', out)
        self.assertNotIn('whole', out.replace('whole code', ''))

    def test_a_test_that_fails_on_the_whole_code_is_told(self):
        self.rows(row('killed', 'a + b', 'a - b', 'whole', 'sums_are_right'))
        self.put('code/adder.py', ADDER.replace('a * 2', 'a * 3'))
        out = self.run_it(code=1)
        self.assertIn('whole: FAILS on the whole code: doubles_are_right', out)
        self.assertIn('0 killed, 2 wrong: killed, whole', out)

    def test_a_signal_ends_the_children(self):
        self.rows(row('hangs', 'a + b', '77 if a == b == 1 else a + b', 'bare'))
        hung = os.path.join(self.root, 'hung')
        env = {k: v for k, v in os.environ.items() if k != 'WEIR_CONTAINED'}
        with subprocess.Popen(self.command(), stdout=subprocess.PIPE, text=True, env=env) as p:
            until = time.monotonic() + 60
            while not (os.path.exists(hung) and os.path.getsize(hung)):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            self.assertNotEqual(self.processes(), [])
            p.send_signal(signal.SIGTERM)
            out = p.communicate(timeout=30)[0]
        self.assertEqual(p.returncode, 128 + signal.SIGTERM)
        self.assertNotIn('hangs killed', out)
        self.assertEqual(self.processes(), [])

    def processes(self):
        """Command lines of what runs in the tree of this test."""
        found = []
        for path in glob.glob('/proc/[0-9]*/cmdline'):
            try:
                with open(path) as f:
                    found += [line for line in [f.read()] if self.root in line]
            except OSError:
                continue
        return found

    def test_names_paths_and_tenths_choose(self):
        self.rows(*(row(f'm{i:02}', 'a + b', 'a - b', 'bare') for i in range(25)))
        self.assertEqual(self.listed('m03', 'm07'), ['m03', 'm07'])
        self.assertEqual(len(self.listed('code/a')), 25)
        self.assertEqual(self.listed('--tenth', '3'), ['m03', 'm13', 'm23'])
        self.assertEqual(self.listed('--tenth', '27'), ['m07', 'm17'])
        self.assertEqual(self.listed('--most', '3'), ['m00', 'm08', 'm16'])
        self.assertEqual(len(self.listed('--most', '99')), 25)
        self.assertIn('no mutant m99', self.run_it('m99', code=2))
        self.run_it('--check', 'm03', code=2)

    @unittest.skipUnless(shutil.which('git'), 'needs git')
    def test_changed_files_choose(self):
        self.rows(*(row(f'm{i:02}', 'a + b', 'a - b', 'bare') for i in range(12)))
        self.put('.gitignore', 'build*/\n')
        for args in (('init', '-q'), ('add', '.'), ('commit', '-q', '-m', 'x')):
            subprocess.run(['git', '-C', self.root, '-c', 'user.name=x', '-c', 'user.email=x',
                            *args], check=True)
        self.assertEqual(self.listed('--changed', 'HEAD'), [])
        self.assertEqual(self.listed('--changed', 'HEAD', '--tenth', '1'), ['m01', 'm11'])
        self.assertIn('0 killed, 0 wrong', self.run_it('--changed', 'HEAD'))
        self.put('code/adder.py', ADDER + '\n')
        self.assertEqual(len(self.listed('--changed', 'HEAD', '--tenth', '1')), 12)
        self.assertIn('nothing', self.run_it('--changed', 'nothing', code=2))

    def listed(self, *args):
        return [line.split('\t')[0] for line in self.run_it('--list', *args).split('\n') if line]


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
