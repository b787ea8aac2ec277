#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/testing.py on a toy project: lanes, times, second runs, and the choice by what changed.

    test_testing.py ROOT
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

ROOT = os.path.abspath(sys.argv[1])
SCRIPTS = 'scripts/testing.py', 'scripts/choice.py', 'scripts/timed'
MESON = '''project('toy')
python = find_program('/usr/bin/python3')
home = meson.current_build_dir()
test('busy', python, args: files('tests/busy.py'), suite: 'unit')
test('skipped', python, args: files('tests/skipped.py'), suite: 'unit')
foreach n : ['a', 'b']
  test('lane ' + n, python, args: [files('tests/lane.py'), home, n], suite: 'smoke')
endforeach
test('alone', python, args: [files('tests/alone.py'), home], suite: 'smoke',
  is_parallel: false)
test('far', python, args: files('tests/far/far.py'), suite: ['smoke', 'long'])
test('near', python, args: files('tests/near/near.py'), suite: ['smoke', 'long'])
foreach n : ['1', '2', '3']
  test('flaky ' + n, python, args: [files('tests/flaky.py'), home, n], suite: 'smoke')
endforeach
'''
FILES = {
    'meson.build': MESON,
    '.gitignore': 'build*/\n',
    'tests/choice.toml': 'always = ["tests/near/"]\n[changed]\n"code/" = ["tests/far/"]\n',
    'tests/busy.py': 'import time\nwhile time.process_time() < 0.3: pass\n',
    'tests/skipped.py': 'import sys\nprint("why", file=sys.stderr)\nsys.exit(77)\n',
    # Each lane goes on when the other one has begun.
    'tests/lane.py': '''import os, sys, time
home, me = sys.argv[1:]
open(f'{home}/runs-{me}', 'w')
end = time.monotonic() + 60
while len([f for f in os.listdir(home) if f.startswith('runs-')]) < 2:
    if time.monotonic() > end:
        sys.exit('the other lane did not run at the same time')
    time.sleep(0.01)
time.sleep(0.3)
os.rename(f'{home}/runs-{me}', f'{home}/ran-{me}')
if me == 'a':
    while not os.path.exists(f'{home}/ran-b'):
        time.sleep(0.01)
''',
    'tests/alone.py': '''import os, sys, time
for _ in range(30):
    if [f for f in os.listdir(sys.argv[1]) if f.startswith('runs-')]:
        sys.exit('another one runs')
    time.sleep(0.01)
''',
    'tests/far/far.py': '',
    'tests/near/near.py': '',
    # Red once where there is the file, and again while others run beside it.
    'tests/flaky.py': '''import os, sys
path = f'{sys.argv[1]}/red-{sys.argv[2]}'
was_red = f'{sys.argv[1]}/ran-red-{sys.argv[2]}'
if os.path.exists(path):
    os.rename(path, was_red)
    sys.exit('it is Monday')
alone = os.environ.get('WEIR_BESIDE_DONE')
if os.path.exists(was_red) and alone and not os.path.exists(alone):
    sys.exit('it is not alone')
''',
}


class Testing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = cls.folder.name
        for path, text in FILES.items():
            cls.put(path, text)
        for path in SCRIPTS:
            cls.put(path, '')
            shutil.copy(os.path.join(ROOT, path), os.path.join(cls.root, path))
        for args in (('init', '-q'), ('add', '.'), ('commit', '-q', '-m', 'x')):
            subprocess.run(['git', '-C', cls.root, '-c', 'user.name=x', '-c', 'user.email=x',
                            *args], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def put(cls, path, text):
        path = os.path.join(cls.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text)

    def run_it(self, *args, code=0, red=()):
        """Its output; the flaky tests in `red` fail once."""
        os.makedirs(f'{self.root}/build', exist_ok=True)
        for name in os.listdir(f'{self.root}/build'):
            if name.startswith(('runs-', 'ran-', 'red-')):
                os.unlink(f'{self.root}/build/{name}')
        for n in red:
            self.put(f'build/red-{n}', '')
        done = subprocess.run([sys.executable, '-B', f'{self.root}/scripts/testing.py',
                               '--no-setup', *args], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def ran(self, *args):
        path = f'{self.root}/build/times.json'
        self.run_it('--times', path, *args)
        with open(path) as f:
            return {row['test']: row for row in json.load(f)}

    def test_live_tests_share_the_machine_but_those_that_run_alone(self):
        rows = self.ran('--all')
        self.assertEqual(len(rows), 10)
        self.assertEqual([n for n, row in rows.items() if row['alone']], ['alone'])
        self.assertGreaterEqual(rows['busy']['processor_s'], 0.29)
        self.assertGreaterEqual(rows['busy']['wall_s'], 0.29)
        self.assertLess(rows['lane a']['processor_s'], rows['lane a']['wall_s'])
        self.assertEqual(rows['skipped']['result'], 'SKIP')

    def test_the_reason_of_a_skipped_test_is_not_its_time(self):
        self.assertIn('skipped: skipped: why', self.run_it())

    def test_a_second_run_is_shown_as_a_defect(self):
        self.assertIn('  failed: flaky 1', self.run_it(red='1', code=1))
        out = self.run_it('--again', red='12')
        self.assertIn('unsteady: a defect, of the test or of what it tests: flaky 1', out)
        self.assertIn('| it is Monday', out)
        self.assertIn('7 passed, 0 failed, 1 skipped', out)
        self.assertIn('4 passed, 3 failed, 1 skipped', self.run_it('--again', red='123', code=1))

    def test_a_second_run_waits_for_what_runs_beside(self):
        done = f'{self.root}/build/beside-done'
        self.run_it() # builds
        timer = threading.Timer(5, lambda: self.put('build/beside-done', ''))
        with unittest.mock.patch.dict(os.environ, WEIR_BESIDE_DONE=done):
            timer.start()
            self.assertIn('7 passed, 0 failed', self.run_it('--again', red='1'))
        timer.join()

    def test_a_change_chooses(self):
        self.assertNotIn('near', self.ran())
        self.assertTrue({'far', 'near'} <= set(self.ran('--all')))
        self.assertIn('test: --changed nothing: ', self.run_it('--changed', 'nothing', code=2))
        rows = self.ran('--changed', 'HEAD')
        self.assertIn('near', rows)
        self.assertNotIn('far', rows)
        self.put('code/x.c', '')
        self.assertIn('far', self.ran('--changed', 'HEAD'))
        self.assertIn('far', self.ran('--changed', 'HEAD', '--most', '1'))
        rows = self.ran('--changed', 'HEAD', '--most', '0')
        self.assertIn('near', rows) # the spine
        self.assertNotIn('far', rows)
        os.unlink(f'{self.root}/code/x.c')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
