# SPDX-License-Identifier: Apache-2.0
"""What mkdocs does not know about this tree (mkdocs.yml): pages that stand outside docs/, files to
which pages link, manual pages, and lists as GitHub reads them.
"""
import pathlib
import posixpath
import re
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE = ('CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md')
LINK = re.compile(r'(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))')
FENCED = re.compile(r'(?ms)^ *(```|~~~).*?^ *\1')
CODE = re.compile(r'(?s)(```.*?```|`[^`\n]*`)')
ITEM = re.compile(r'^(?:[*-]|\d+\.) ')


def manual(path):
    """docs/man/NAME.N as a page, from its file without .md."""
    done = subprocess.run(['groff', '-man', '-Tutf8', '-P-c', '-rLL=92n', '-rLT=92n', path],
                          capture_output=True, text=True, check=True)
    plain = re.sub(r'.\x08', '', done.stdout).strip('\n')
    name, number = pathlib.Path(path).name.rsplit('.', 1)
    return f'# {name}({number})\n\n```text\n{plain}\n```\n'


def on_files(files, config):
    def add(path, where):
        files.append(File(path, str(where), config['site_dir'], config['use_directory_urls']))

    for name in OUTSIDE:
        add(name, ROOT)
    for path in sorted((ROOT / 'docs/man').glob('*.[1-8]')):
        add(f'man/{path.name}.md', ROOT / 'docs')
    for page in (ROOT / 'docs').rglob('*.md'):
        for _, target, _ in LINK.findall(page.read_text()):
            inside = place_of(page, target)
            if inside and not inside.endswith('.md') and files.get_file_from_path(inside) is None:
                add(inside, ROOT)
    return files


def place_of(page, target):
    """Where the site has a file of the tree to which a page links; None: as the link says."""
    path = posixpath.normpath(posixpath.join(page.parent.relative_to(ROOT).as_posix(), target))
    if path == 'README.md':
        return 'index.md'
    if re.fullmatch(r'docs/man/[\w-]+\.\d', path):
        return path.removeprefix('docs/') + '.md'
    if path.startswith('docs/'):
        return None if page.is_relative_to(ROOT / 'docs') else path.removeprefix('docs/')
    return path if (ROOT / path).is_file() else None


def on_page_read_source(page, config):
    source = page.file.src_uri
    if source.startswith('man/'):
        return manual(str(ROOT / 'docs' / source.removesuffix('.md')))
    return None


def lists(text):
    """An empty line before a list that follows a paragraph: GitHub needs none, this parser does."""
    out = []
    for line in text.split('\n'):
        if ITEM.match(line) and out and out[-1] and not ITEM.match(out[-1]) and \
                not out[-1].startswith(' '):
            out.append('')
        out.append(line)
    return '\n'.join(out)


def on_page_markdown(markdown, page, config, files):
    source = pathlib.Path(page.file.abs_src_path)
    here = posixpath.dirname(page.file.src_uri)

    def link(found):
        inside = place_of(source, found.group(2))
        if inside is None:
            return found.group(0)
        return found.group(1) + posixpath.relpath(inside, here or '.') + found.group(3)

    parts = CODE.split(markdown)  # code at odd places
    return ''.join(p if i % 2 else lists(LINK.sub(link, p)) for i, p in enumerate(parts))
