#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the page for the build: `bundle.py OUT`. Without nodejs, or without the packages that
scripts/setup installs into web/node_modules, the page is one that says so."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>Weir</title>
<h1>No page</h1>
<p>This build has no page: install nodejs and npm, run scripts/setup, and build again.</p>
<script type="application/json" id="weir-data">@WEIR_DATA@</script>
</html>
"""


def main():
    out = sys.argv[1]
    node = shutil.which('node')
    if node and all(os.path.isdir(os.path.join(HERE, 'node_modules', package))
                    for package in ('uplot', 'esbuild')):
        return subprocess.run([node, os.path.join(HERE, 'build.mjs'), out]).returncode
    print('web: no node, or no web/node_modules: the page says so', file=sys.stderr)
    with open(out, 'w', encoding='utf-8') as f:
        f.write(MISSING)
    return 0


sys.exit(main())
