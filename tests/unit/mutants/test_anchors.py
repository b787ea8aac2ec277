#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Anchors of mutants: what breaks them, what does not, and what --check says.

    test_anchors.py ROOT
"""
import os
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, 'tests/mutants'))

import anchors # noqa: E402: the path is set above

QUEUE = '''\
#define LIMIT 7 // frames
#define BOTH(a, b) \\
	do_one(a); \\
	do_other(b)
#define OPEN {

enum kind { FIRST = 1, SECOND = 2 };

struct __attribute__((aligned(64))) queue {
	int length;
};

static const struct row {
	const char *name;
} rows[] = {
	{"length {", AT(queue, length)},
	{"drops", AT(queue, drops)},
};

/* take() gives back what room(q) has { */
static int take(struct queue *q, int n)
{
	int left = room(q);

	if (n <= left && !q->closed)
		q->length += n; // the others wait
	return left - n;
}

int give(struct queue *q, int n)
{
	int left = room(q);

	return left + n;
}
'''
TAKE = QUEUE[QUEUE.index('/* take'):QUEUE.index('int give')]


def mutant(find, inside=None, file='code/queue.c', **more):
    keys = {'name': 'a-mutant', 'breaks': 'something', 'replace': 'X', 'kills': 'a_test', **more}
    return anchors.Mutant(find=find, inside=inside, file=file, **keys)


class Anchors(unittest.TestCase):
    def place(self, find, inside, text=QUEUE):
        start, end, note = mutant(find, inside).place(text)
        return text[start:end], note

    def found(self, find, inside, text=QUEUE):
        got, note = self.place(find, inside, text)
        self.assertEqual(got.split(), find.split())
        self.assertEqual(note, '')

    def refused(self, find, inside, *parts, text=QUEUE):
        with self.assertRaises(anchors.Mistake) as e:
            mutant(find, inside).place(text)
        for part in ('a-mutant', 'code/queue.c', find, *parts):
            self.assertIn(part, str(e.exception))

    def test_functions_tables_types_and_macros_hold_their_text(self):
        for find, inside in (('n <= left', 'take'), ('left + n', 'give'), ('length', 'row'),
                             ('"drops"', 'rows'), ('SECOND = 2', 'kind'), ('7', 'LIMIT'),
                             ('do_other(b)', 'BOTH'), ('int length;', 'queue')):
            with self.subTest(inside):
                if find == 'length':
                    self.refused(find, inside)
                else:
                    self.found(find, inside)

    def test_a_text_is_replaced_and_nothing_else(self):
        got = mutant('n <= left &&', 'take', replace='').mutated(QUEUE)
        self.assertEqual(got, QUEUE.replace('n <= left && ', ' '))

    def test_a_text_that_is_gone_is_named(self):
        self.refused('n <= left', 'take', 'gone', 'take', text=QUEUE.replace('n <=', 'n <'))

    def test_a_text_that_is_there_twice_is_named(self):
        self.refused('left', 'take', 'several times', 'take', 'lines 23, 25, 27')
        self.refused('room(q)', None, 'several times', 'lines 23, 32')
        self.refused('room(q)', 'gone_function', 'several times')

    def test_parts_of_words_and_comments_do_not_count(self):
        self.refused('eft - n', 'take', 'gone')
        self.refused('the others wait', 'take', 'gone')
        self.found('room(q)', 'take')  # the comment above has it too

    def test_a_local_variable_outside_of_the_text_may_have_another_name(self):
        text = QUEUE.replace(TAKE, TAKE.replace('left', 'space'))
        self.found('!q->closed', 'take', text)
        self.found('q->length += n;', 'take', text)

    def test_functions_may_change_places(self):
        text = QUEUE.replace(TAKE, '') + '\n' + TAKE
        for find, inside in (('left - n', 'take'), ('room(q)', 'give'), ('room(q)', 'take')):
            self.found(find, inside, text)

    def test_lines_may_break_anywhere(self):
        text = QUEUE.replace('n <= left && !q', 'n\n\t\t<= left // why\n\t\t&&\n    !q')
        self.assertEqual(self.place('n <= left && !q->closed', 'take', text)[1], '')
        self.found('q->length += n;', 'take', QUEUE.replace('+= n', '+=\n\t\t\tn'))
        text = QUEUE.replace('room(q)', 'room(\n\tq)')
        self.assertEqual(self.place('room(q)', 'take', text)[1], '')
        self.assertEqual(self.place('do_one(a); do_other(b)', 'BOTH')[1], '')

    def test_a_block_that_moves_to_another_function_is_found_and_told(self):
        text = QUEUE.replace('static int take', 'static void grow()\n{\n\tq->length += n;\n}\n\n'
                             'static int take').replace('\t\tq->length += n; //', '\t\tgrow(); //')
        got, note = self.place('q->length += n;', 'take', text)
        self.assertEqual(got, 'q->length += n;')
        self.assertIn('has left take and is now in grow', note)
        text = QUEUE.replace('static int take', 'static int pull')
        self.assertIn('has left take and is now in pull', self.place('left - n', 'take', text)[1])

    def test_functions_of_python_hold_their_text(self):
        text = 'def one():\n    return 2\n\n\ndef two():\n    return 2\n'
        start, _, note = mutant('return 2', 'two', 'scripts/x.py').place(text)
        self.assertEqual((text[:start].count('\n'), note), (5, ''))


ENTRY = {'name': 'a-mutant', 'breaks': 'something', 'file': 'code/queue.c', 'in': 'take',
         'find': 'left - n', 'replace': 'left', 'kills': 'a_test', 'case': 'frames_are_taken'}


def entry(**changes):
    rows = {k: v for k, v in {**ENTRY, **changes}.items() if v is not None}
    return '[[mutant]]\n' + ''.join(f"{k} = '{v}'\n" for k, v in rows.items())


class Entries(unittest.TestCase):
    def said(self, files):
        """What the check says about a tree with these files of mutants."""
        with tempfile.TemporaryDirectory() as root:
            files = {'code/queue.c': QUEUE, 'tests/test.c': 'void frames_are_taken(void);\n',
                     'tests/smoke.py': 'def t_frames_leave():\n    pass\n',
                     **{f'tests/mutants/{path}': text for path, text in files.items()}}
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w') as f:
                    f.write(text)
            mutants, mistakes = anchors.read(root)
            wrong, notes = anchors.check(root, mutants, {'a_test'})
            return mistakes + wrong + notes

    def wrong(self, part, home='code/queue.toml', **changes):
        said = self.said({home: entry(**changes)})
        self.assertEqual(len(said), 1, said)
        for p in (part, changes.get('name', 'a-mutant')):
            self.assertIn(p, said[0])

    def test_a_whole_entry_is_fine(self):
        self.assertEqual(self.said({'code/queue.toml': entry()}), [])
        self.assertEqual(self.said({'code/queue.toml': entry(case='frames_leave')}), [])
        self.assertEqual(self.said({'code/queue.toml': entry(case=None)}), [])

    def test_every_mistake_is_named(self):
        self.wrong('the text is gone', find='left * n')
        self.wrong('several times', find='left', replace='X')
        self.wrong('now in give', find='left + n')
        self.wrong('there is no file code/other.c', 'code/other.toml', file='code/other.c')
        self.wrong('are in tests/mutants/code/queue.toml', 'code/other.toml')
        self.wrong('there is no test no_test', kills='no_test')
        self.wrong('no_case', case='no_case')
        self.wrong('the key kills is missing', kills=None)
        self.wrong('there is no key line', line='7')
        self.wrong('find is no text', find='')
        self.wrong('same as find', replace='left  - n')
        self.wrong('words of a-z', name='A mutant')
        self.wrong('double quotes', replace=r'left -\n\tn')

    def test_line_breaks_in_strings_are_none_of_the_entry(self):
        self.assertEqual(self.said({'code/queue.toml': entry(replace=r'put("\n")')}), [])

    def test_two_mutants_do_not_have_one_name(self):
        said = self.said({'code/queue.toml': entry() + entry()})
        self.assertEqual(len(said), 1, said)
        self.assertIn('a-mutant', said[0])

    def test_a_file_that_is_no_toml_is_named(self):
        said = self.said({'code/queue.toml': '[[mutant]\n'})
        self.assertIn('tests/mutants/code/queue.toml', said[0])
        self.assertIn('nothing else', self.said({'code/queue.toml': 'x = 1\n'})[0])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
