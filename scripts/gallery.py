# SPDX-License-Identifier: Apache-2.0
"""The gallery of experiments: docs/experiments/*.md, a page for each theme, and the overview
docs/experiments.md. scripts/experiments fills it.

An experiment is a heading with its name, a line `**What one sees.** *Who says so.*` written by
hand, and what its runs say between <!-- begin NAME --> and <!-- end NAME -->: picture, command,
verdict, details. The overview is made from the pages alone, so it agrees with them.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
OVERVIEW, FOLDER = ROOT / 'docs/experiments.md', ROOT / 'docs/experiments'
BREAK = '\x00{}\x00\n'
NEXT = re.compile(r'\x00(.*?)\x00\n')
ENTRY = re.compile(r'(?m)^### (\S+)\n\n\*\*(.+?)\*\* \*(.+?)\*\n')
BEGIN, END = '<!-- begin gallery -->', '<!-- end gallery -->'
THUMBNAIL = 150  # pixels


def arrange(lines):
    """What a run says, with its details folded: the details are all but picture and commands."""
    pictures = [n.replace('](', '](../') for n in lines if n.startswith('![')]
    commands = [n for n in lines if n.startswith('    weir-lab ')]
    details = [n for n in lines if n not in commands and not n.startswith('![')]
    held = sum(n.endswith('| holds |') for n in lines)
    missed = sum(n.endswith('| **does not hold** |') for n in lines)
    out = [*(part for p in pictures for part in (p, '')), *commands, '']
    if held + missed:
        out += [f'Verdict: {held} of {held + missed} expectations hold.', '']
    text = re.sub(r'\n{3,}', '\n\n', '\n'.join(details)).strip('\n')
    return [*out, '<details markdown="1"><summary>Details</summary>', '', text, '', '</details>']


def entries(page):
    """Of each experiment of a page: its name, claim, source, picture and verdict."""
    found = list(ENTRY.finditer(page))
    for here, following in zip(found, [*found[1:], None]):
        body = page[here.end():following.start() if following else len(page)]
        picture = re.search(r'!\[[^\]]*\]\(\.\./(\S+?)\)', body)
        verdict = re.search(r'(?m)^Verdict: (\d+ of \d+) ', body)
        yield (*here.groups(), picture and picture.group(1), verdict and verdict.group(1))


def overview(pages):
    """The lines of the overview, of {file name: text of a page} in the order of the navigation."""
    for name, text in pages.items():
        title = re.match(r'# (.*)\n', text).group(1)
        yield from ('', f'## {title}', '', f'[All details](experiments/{name})', '',
                    '| | what one sees | who says so | holds |', '| --- | --- | --- | --- |')
        for key, claim, source, picture, verdict in entries(text):
            link = f'experiments/{name}#{key}'
            shown = f'[<img src="{picture}" width="{THUMBNAIL}" alt="{key}">]({link})' \
                if picture else ''
            yield f'| <a id="{key}"></a>{shown} | {claim} [{key}]({link}) | {source} | ' \
                  f'{verdict or "sweep"} |'
    yield ''


class Gallery:
    """All pages as one text, as if they were one file."""

    def read_text(self):
        order = re.findall(r'experiments/([\w-]+\.md)', (ROOT / 'mkdocs.yml').read_text())
        there = sorted(p.name for p in FOLDER.glob('*.md'))
        names = [n for n in order if n in there] + [n for n in there if n not in order]
        return ''.join(BREAK.format(n) + (FOLDER / n).read_text() for n in names)

    def pages(self, text):
        parts = NEXT.split(text)[1:]
        return dict(zip(parts[::2], parts[1::2]))

    def with_overview(self, text):
        """What docs/experiments.md must say."""
        before, rest = OVERVIEW.read_text().split(BEGIN)
        lines = '\n'.join(overview(self.pages(text)))
        return f'{before}{BEGIN}\n{lines}\n{END}{rest.split(END)[1]}'

    def overview_is_stale(self, text):
        return self.with_overview(text) != OVERVIEW.read_text()

    def write_text(self, text):
        for name, page in self.pages(text).items():
            (FOLDER / name).write_text(page)
        OVERVIEW.write_text(self.with_overview(text))
