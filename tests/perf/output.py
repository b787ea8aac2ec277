# SPDX-License-Identifier: Apache-2.0
"""The files that a benchmark writes: checked before it measures, written after it."""
import os
import tempfile


def why_not(path):
    """Why a file cannot be written there. None: it can. The check leaves no file behind."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return f"{path} is a directory; name a file in it"
    if not os.path.isdir(folder):
        return f"{folder} does not exist; `mkdir -p {folder}` makes it"
    try:
        if os.path.exists(path):
            open(path, "ab").close()
        else:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as e:
        return f"{path} cannot be written: {e.strerror}"
    return None


def parts(path, marks):
    """The text of a page before and after the part between the marks, the marks included. A new or
    empty file has no other text. None: the page has text, and not both marks in their order."""
    text = ""
    if os.path.isfile(path):
        with open(path) as f:
            text = f.read()
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if begin and end:
        return before + begin, end + after
    return None if text.strip() else (marks[0], marks[1] + "\n")


def why_no_marks(path, marks):
    """Why the page has no place for tables. None: it has one."""
    if parts(path, marks):
        return None
    return (f"{path} has no part between the lines {marks[0]} and {marks[1]}; add both lines, "
            "or name a new file")


def into_page(path, marks, text):
    """Puts the text between the marks of a page."""
    before, after = parts(path, marks)
    with open(path, "w") as f:
        f.write(f"{before}\n{text}\n{after}")
