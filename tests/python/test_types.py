# SPDX-License-Identifier: Apache-2.0
"""mypy accepts the package, and sees a wrong use of it."""
import os

import pytest

api = pytest.importorskip("mypy.api", reason="mypy is not installed")
ROOT = os.environ["WEIR_ROOT"]


def mypy(tmp_path, *words):
    out, err, status = api.run(["--strict", "--cache-dir", str(tmp_path), *words])
    return status, out + err


def test_the_package_is_typed(tmp_path):
    status, text = mypy(tmp_path, f"{ROOT}/python/weir")
    assert status == 0, text


def test_a_wrong_use_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", f"{ROOT}/python")
    use = tmp_path / "use.py"
    use.write_text("import weir\n"
                   "n: int = weir.lab.run('first').hosts['h1'].rx_pause\n"
                   "s: str = weir.lab.run('first').hosts['h1'].rx_pause\n"
                   "weir.lab.run('first', sed=1)\n")
    status, text = mypy(tmp_path, str(use))
    assert status == 1 and "use.py:3" in text and 'argument "sed"' in text, text
    assert "use.py:2" not in text, text
