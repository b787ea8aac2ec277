# SPDX-License-Identifier: Apache-2.0
"""The mutants of tests/mutants: reads the entries, finds the text of each, and replaces the text.

A text is a row of words and signs. White space and the comments of C do not count.
"""
import ast
import functools
import os
import re
import tomllib
from dataclasses import dataclass

FOLDER = 'tests/mutants'
KEYS = ('name', 'breaks', 'file', 'in', 'find', 'replace', 'kills', 'case')
OPTIONAL = ('in', 'case')
NAME = re.compile(r'[a-z0-9]+(-[a-z0-9]+)*')

NOISE = re.compile(r'(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)|'
                   r'(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
DEFINE = re.compile(r'[ \t]*#[ \t]*define[ \t]+(\w+)')
# A declaration at the top level of a file of C, without what its brackets hold.
FUNCTION = re.compile(r'(\w+)\s*\(\)\s*\{\}$')
TABLE_OR_TYPE = re.compile(r'\b(?:struct|union|enum)\s+(?:__\w+\s*(?:\(\))?\s*)?(\w+)\s*\{|'
                           r'(\w+)\s*(?:\[\]\s*)*=|\}\s*(\w+)')


class Mistake(Exception):
    """An entry is wrong, or the file no longer has the text of the entry."""


@dataclass(frozen=True)
class Mutant:
    name: str
    breaks: str
    file: str
    find: str
    replace: str
    kills: str
    inside: str | None = None
    case: str | None = None

    def mutated(self, text):
        start, end, _ = self.place(text)
        return text[:start] + self.replace + text[end:]

    def place(self, text):
        """(start, end, note) of the text to replace. The note is empty while `in` is right."""
        hits = [m.span() for m in pattern(self.find).finditer(searched(self.file, text))]
        where = f'{self.name}: {self.file}'
        there = [h for h in hits if not self.inside or self.inside in holders(self.file, text, h)]
        if len(there) == 1:
            return *there[0], ''
        if not there and len(hits) == 1:
            now = (holders(self.file, text, hits[0]) or ['no function'])[-1]
            return *hits[0], f'{where}: the text has left {self.inside} and is now in {now}'
        if self.inside and (there or not hits):
            where += f': {self.inside}'
        if not hits:
            raise Mistake(f'{where}: the text is gone: {self.find}')
        lines = ', '.join(str(text.count('\n', 0, start) + 1) for start, _ in there or hits)
        raise Mistake(f'{where}: the text is there several times, in lines {lines}: {self.find}')


# ---- the text

@functools.cache
def pattern(find):
    """Matches the same words and signs, whatever white space is between them."""
    parts = re.findall(r'\w+|[^\w\s]', find)
    words = [re.match(r'\w', part) is not None for part in parts]
    out = r'(?<!\w)' if words[0] else ''
    for i, part in enumerate(parts):
        if i > 0:
            out += r'\s+' if words[i - 1] and words[i] else r'\s*'
        out += re.escape(part)
    return re.compile(out + (r'(?!\w)' if words[-1] else ''))


def spaces(m):
    return re.sub(r'[^\n]', ' ', m[0])


def without(kinds, text):
    """The text with spaces in place of its comments and strings."""
    return NOISE.sub(lambda m: spaces(m) if m.lastgroup in kinds else m[0], text)


@functools.cache
def searched(path, text):
    if not path.endswith(('.c', '.h')):
        return text
    return without(('comment',), text).replace('\\\n', '  ')  # by which a macro continues


# ---- functions, tables, types and macros

@functools.cache
def blocks(path, text):
    """[(name, start, end)], the outer before the inner."""
    if path.endswith(('.c', '.h')):
        return list(blocks_of_c(without(('comment', 'string'), text)))
    if path.endswith('.py') or re.match('#!.*python', text):
        return list(blocks_of_python(text))
    return []


def holders(path, text, hit):
    return [name for name, start, end in blocks(path, text) if start <= hit[0] and hit[1] <= end]


def blocks_of_c(code):
    for m in DIRECTIVE.finditer(code):
        if macro := DEFINE.match(m[0]):
            yield macro[1], *m.span()
    code = DIRECTIVE.sub(spaces, code)
    start = at = depth = 0
    head = ''  # the code since start, without what its brackets hold
    for m in re.finditer(r'[][(){};]', code):
        head += code[at:m.start()] if depth == 0 else ''
        was, depth, at = depth, depth + (m[0] in '([{') - (m[0] in ')]}'), m.end()
        head += m[0] if 0 in (was, depth) else ''
        if depth > 0 or m[0] not in ';}':
            continue
        function = FUNCTION.search(head)
        if m[0] == '}' and not function:
            continue  # a table or a type ends with a semicolon
        found = [function.groups()] if function else TABLE_OR_TYPE.findall(head)
        for name in (name for names in found for name in names if name):
            yield name, at - len(code[start:at].lstrip()), at
        start, depth, head = at, 0, ''


def blocks_of_python(text):
    lines = [0]
    for line in text.split('\n'):
        lines.append(lines[-1] + len(line) + 1)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, lines[node.lineno - 1], lines[node.end_lineno]


# ---- the entries

def home(file):
    """Where the mutants of a source file are."""
    return f'{FOLDER}/{os.path.splitext(file)[0]}.toml'


def read(root):
    """(mutants in the order of their names, mistakes)."""
    mutants, mistakes = {}, []
    for base, _, files in sorted(os.walk(os.path.join(root, FOLDER))):
        for path in (os.path.join(base, f) for f in sorted(files) if f.endswith('.toml')):
            here = os.path.relpath(path, root)
            try:
                with open(path, 'rb') as f:
                    rows = tomllib.load(f)
            except ValueError as e:
                mistakes.append(f'{here}: {e}')
                continue
            for row in entries(here, rows, mistakes):
                if row.name in mutants:
                    mistakes.append(f'{here}: {row.name}: {home(mutants[row.name].file)} has a '
                                    'mutant of this name')
                mutants.setdefault(row.name, row)
    return [mutants[name] for name in sorted(mutants)], mistakes


def entries(here, rows, mistakes):
    if list(rows) != ['mutant'] or not isinstance(rows['mutant'], list):
        mistakes.append(f'{here}: a file holds [[mutant]] and nothing else')
        return
    for row in rows['mutant']:
        wrong = mistake_of(here, row)
        if wrong:
            mistakes.append(f'{here}: {row.get("name", "a mutant")}: {wrong}')
        else:
            yield Mutant(**{'inside' if k == 'in' else k: v for k, v in row.items()})


def mistake_of(here, row):
    missing = [k for k in KEYS if k not in row and k not in OPTIONAL]
    unknown = [k for k in row if k not in KEYS]
    if missing or unknown:
        return f'the key {missing[0]} is missing' if missing else f'there is no key {unknown[0]}'
    odd = [k for k, v in row.items() if not isinstance(v, str) or not (v.strip() or k == 'replace')]
    if odd:
        return f'{odd[0]} is no text'
    if not NAME.fullmatch(row['name']):
        return 'a name is words of a-z and 0-9 with hyphens between them'
    if home(row['file']) != here:
        return f'mutants of {row["file"]} are in {home(row["file"])}'
    if row['find'].split() == row['replace'].split():
        return 'replace is the same as find'
    if row['file'].endswith(('.c', '.h')) and re.search(
            r'\\[nt]', without(('comment', 'string'), row['replace'])):
        return 'replace has a \\n or \\t that is no line break: double quotes make one of it'
    return None


# ---- the check

def check(root, mutants, tests=None):
    """(mistakes, notes) about the mutants. `tests`: the names of the tests, if they are known."""
    mistakes, notes, words = [], [], None
    for m in mutants:
        try:
            with open(os.path.join(root, m.file)) as f:
                note = m.place(f.read())[2]
            notes += [note] if note else []
        except FileNotFoundError:
            mistakes.append(f'{m.name}: there is no file {m.file}')
        except Mistake as e:
            mistakes.append(str(e))
        if tests is not None and m.kills not in tests:
            mistakes.append(f'{m.name}: there is no test {m.kills}')
        if m.case and words is None:
            words = words_of(os.path.join(root, 'tests'))
        if m.case and not {m.case, f't_{m.case}'} & words:
            mistakes.append(f'{m.name}: nothing in tests/ has the name of its case, {m.case}')
    return mistakes, notes


def words_of(folder):
    found = set()
    for base, dirs, files in os.walk(folder):
        dirs[:] = [d for d in dirs if os.path.join(base, d) != os.path.join(folder, 'mutants')]
        for path in (os.path.join(base, f) for f in files if f.endswith(('.c', '.h', '.py'))):
            with open(path, errors='replace') as f:
                found.update(re.findall(r'\w{2,}', f.read()))
    return found
