# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/automation.md, with the package as it is installed."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["WEIR_ROOT"])
PAGE = (ROOT / "docs/automation.md").read_text()
BUILD = os.environ["WEIR_BUILD"]


def examples(heading):
    part = next(p for p in re.split(r"(?m)^## ", PAGE) if p.startswith(heading + "\n"))
    return re.findall(r"(?ms)^```python\n(.*?)^```$", part)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a program that sees the installed package, and no checkout."""
    tree = tmp_path_factory.mktemp("tree")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--tags", "python-runtime"],
                   env={**os.environ, "DESTDIR": str(tree)}, check=True, stdout=subprocess.PIPE)
    package, = tree.glob("**/dist-packages")
    return {**os.environ, "PYTHONPATH": str(package)}


def test_all_parts_say_the_same_version(installed):
    said = subprocess.run([os.path.join(BUILD, "control/ctl/weirctl"), "--version"],
                          capture_output=True, text=True, check=True).stdout.split()[-1]
    code = "import importlib.metadata, weir; print(importlib.metadata.version('weir'), " \
           "weir.__version__)"
    done = subprocess.run([sys.executable, "-c", code], env=installed, capture_output=True,
                          text=True, check=True)
    assert done.stdout.split() == [said, said]
    assert f'version = "{said}"' in (ROOT / "python/pyproject.toml").read_text()


def test_the_test_of_ten_lines_passes_on_the_installed_package(installed, tmp_path):
    code, = examples("A test of ten lines")
    lines = [line for line in code.splitlines() if line and "import" not in line]
    assert len(lines) <= 10, f"{len(lines)} lines"
    (tmp_path / "test_fabric.py").write_text(code)
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
                           "test_fabric.py"], cwd=tmp_path, env=installed, capture_output=True,
                          text=True, check=False)
    assert "2 passed" in done.stdout and done.returncode == 0, done.stdout + done.stderr


def test_the_example_of_the_lab_runs(installed, tmp_path):
    code, = examples("The lab")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=installed,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'queue(s1.p17.3)': 'bytes'" in done.stdout, done.stdout


@pytest.mark.weir_switch(hosts=3, policy=str(ROOT / "conf/roce.yaml"))
def test_the_example_of_a_running_switch_runs(installed, weir_switch):
    code, = examples("A running switch")
    code = code.replace('weir.Switch("sw1")',
                        f'weir.Switch("sw1", directory="{os.path.dirname(weir_switch.path)}")')
    code = code.replace("for event", "import os, threading\nthreading.Timer(0.5, print, "
                        "['followed']).start()\nthreading.Timer(0.6, os._exit, [0]).start()\n"
                        "for event")
    done = subprocess.run([sys.executable, "-uc", code], cwd=ROOT, env=installed,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"p1 0\np2 0\np3 0\n\d+\.0\n(?s:.*)followed\n", done.stdout), done.stdout
    assert [e["event"] for e in weir_switch.events()].count("reload") == 1


@pytest.mark.weir_switch(hosts=3, policy=str(ROOT / "conf/roce.yaml"))
def test_the_example_of_the_schemas_runs(installed, weir_switch):
    code, = examples("JSON")
    code = code.replace('weir.Switch("sw1")',
                        f'weir.Switch("sw1", directory="{os.path.dirname(weir_switch.path)}")')
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=installed,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
