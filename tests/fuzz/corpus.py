#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the inputs that libFuzzer found into one archive, and unpacks the archive.

The name of an input is the SHA-1 of its bytes; libFuzzer gives the same name. The same inputs give
the same archive, byte for byte: names are sorted, dates are fixed, nothing is compressed. `unpack`
refuses every archive that `pack` would write differently: one byte of damage is enough.
"""
import argparse
import hashlib
import io
import pathlib
import re
import sys
import zipfile

NAME = re.compile('[0-9a-f]{40}')


class Failed(Exception):
    pass


def packed(inputs):
    """The bytes of the archive of {name: bytes}."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_STORED) as archive:
        for name in sorted(inputs):
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.external_attr = 0o644 << 16
            archive.writestr(member, inputs[name])
    return out.getvalue()


def checked(inputs, source):
    for name, content in inputs.items():
        if hashlib.sha1(content).hexdigest() != name:
            raise Failed(f'{source}: {name} is not the SHA-1 of that input')
    return inputs


def read_archive(path):
    whole = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            inputs = {name: archive.read(name) for name in archive.namelist()}
    except Exception as e:  # zipfile has a dozen kinds for damage
        raise Failed(f'{path}: damaged archive: {e}') from e
    checked(inputs, path)
    if packed(inputs) != whole:
        raise Failed(f'{path}: damaged archive, or an archive of another tool')
    return inputs


def pack(archive, folder):
    inputs = checked({f.name: f.read_bytes() for f in folder.iterdir()}, folder)
    archive.write_bytes(packed(inputs))
    print(f'{len(inputs)} inputs, {sum(map(len, inputs.values()))} bytes')


def unpack(archive, folder):
    inputs = read_archive(archive)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if not NAME.fullmatch(old.name):
            raise Failed(f'{old} is no input: choose a folder for inputs alone')
        old.unlink()
    for name, content in inputs.items():
        (folder / name).write_bytes(content)
        print(folder / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    for command, text in ((pack, 'writes all inputs of FOLDER to ARCHIVE'),
                          (unpack, 'replaces the inputs of FOLDER by those of ARCHIVE, and prints '
                                   'their paths')):
        sub = commands.add_parser(command.__name__, help=text, description=text)
        sub.add_argument('archive', metavar='ARCHIVE', type=pathlib.Path)
        sub.add_argument('folder', metavar='FOLDER', type=pathlib.Path)
        sub.set_defaults(command=command)
    args = parser.parse_args()
    try:
        args.command(args.archive, args.folder)
    except (Failed, OSError) as e:
        print(f'corpus.py: {e}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
