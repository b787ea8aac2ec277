#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of the tree: each relative link, anchor and picture exists, and the navigation of the
site has each page of docs/ once.

usage: test_links.py ROOT
"""
import functools
import pathlib
import re
import sys
import unittest

import yaml

ROOT = pathlib.Path(sys.argv[1]).resolve()
PAGES = sorted(p for p in [*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md'), *ROOT.glob('web/*.md')])
FENCED = re.compile(r'(?ms)^ *(```|~~~).*?^ *\1 *$')
INDENTED = re.compile(r'(?m)(?:(?<=\n\n)|\A)(?:(?: {4}|\t).*\n)+')
LINKS = re.compile(r'!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)')
SOURCES = re.compile(r'<(?:img|a)\b[^>]*\b(?:src|href)="([^"]+)"')


def prose(text):
    """Without code, comments and what is between backticks."""
    text = re.sub(r'(?s)<!--.*?-->', '', INDENTED.sub('', FENCED.sub('', text)))
    return re.sub(r'`[^`\n]*`', lambda m: re.sub(r'[\[\]()<>]', '', m.group(0)), text)


def slug(heading):
    """The anchor that GitHub and the site give to a heading."""
    text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', heading.strip())
    return re.sub(r'[^\w\- ]', '', text.lower()).replace(' ', '-')


@functools.cache
def anchors(path):
    text = FENCED.sub('', path.read_text())
    out, seen = set(re.findall(r'\b(?:id|name)="([^"]+)"', text)), {}
    for heading in re.findall(r'(?m)^#{1,6} (.*?)(?: #+)?$', text):
        name = slug(heading)
        out.add(f'{name}-{seen[name]}' if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return out


def wrong_links(page, text):
    text = prose(text)
    for link in [*LINKS.findall(text), *SOURCES.findall(text)]:
        if re.match(r'[a-z]+:', link):
            continue
        path, _, anchor = link.partition('#')
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f'{link}: there is no such file'
        elif anchor and target.suffix == '.md' and anchor not in anchors(target):
            yield f'{link}: that page has no such heading'


class Loader(yaml.SafeLoader):
    """Of mkdocs.yml, whose tags name functions."""


Loader.add_multi_constructor('!!python/', lambda loader, suffix, node: None)
Loader.add_multi_constructor('tag:yaml.org,2002:python/', lambda loader, suffix, node: None)


def leaves(entries):
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from leaves(value) if isinstance(value, list) else [value]


class Pages(unittest.TestCase):
    def test_there_are_pages_and_links(self):
        self.assertGreater(len(PAGES), 40)
        self.assertGreater(sum(len(LINKS.findall(prose(p.read_text()))) for p in PAGES), 400)

    def test_each_link_anchor_and_picture_exists(self):
        wrong = [f'{p.relative_to(ROOT)}: {w}' for p in PAGES
                 for w in wrong_links(p, p.read_text())]
        self.assertEqual(wrong, [], '\n' + '\n'.join(wrong))

    def test_the_navigation_of_the_site_has_each_page_once(self):
        nav = list(leaves(yaml.load((ROOT / 'mkdocs.yml').read_text(), Loader)['nav']))
        self.assertEqual(sorted(set(nav)), sorted(nav), 'a page has two places')
        docs = ROOT / 'docs'
        ours = {p.relative_to(docs).as_posix() for p in PAGES if p.is_relative_to(docs)}
        manuals = {f'man/{p.name}.md' for p in (ROOT / 'docs/man').iterdir()}
        lost = sorted((ours | manuals) - set(nav))
        self.assertEqual(lost, [], f'give {", ".join(lost)} a line in the nav of mkdocs.yml')
        root = {p.name for p in ROOT.glob('*.md')}
        more = sorted(set(nav) - ours - manuals - root)
        self.assertEqual(more, [], 'mkdocs.yml names pages that do not exist')

    def test_a_wrong_link_is_found(self):
        self.assertEqual(slug('What `show` does: a, b & c'), 'what-show-does-a-b--c')
        page = ROOT / 'docs/glossary.md'
        for text, good in (('[a](sight.md)', True), ('[a](absent.md)', False),
                           ('[a](sight.md#by-hand)', True), ('[a](sight.md#absent)', False),
                           ('![a](absent.png)', False), ('<img src="absent.png">', False),
                           ('`[a](absent.md)`', True), ('[`a[1]`](absent.md)', False)):
            self.assertEqual(list(wrong_links(page, text)) == [], good, text)


unittest.main(argv=sys.argv[:1])
