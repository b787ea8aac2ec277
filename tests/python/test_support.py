# SPDX-License-Identifier: Apache-2.0
"""`weirctl support` on live switches: what is in the archive, what is missing and why, and that no
secret is in it."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time

import pytest
import schemas

import weir
from weir import live
from weir.programs import find

POLICY = live.POLICY.format(hosts=2) + "# bgp password: hunter2\n"
PARTS = ["README", "versions.txt", "policy.yaml", "process.txt", "machine.txt", "metrics.txt",
         "ports/all.txt", "ports/sw1.txt", "ports/sw2.txt"]


def members(path):
    """{name without the folder: text}."""
    with tarfile.open(path) as tar:
        infos = tar.getmembers()
        assert all(i.isfile() and i.mode == 0o600 for i in infos)
        assert len({i.name.split("/")[0] for i in infos}) == 1
        return {i.name.split("/", 1)[1]: tar.extractfile(i).read().decode() for i in infos}


@pytest.mark.weir_switch(policy=POLICY)
def test_an_archive_has_all_parts_and_no_secret(weir_switch, tmp_path):
    weir_switch.hosts[0].ping(weir_switch.hosts[1])
    path = str(tmp_path / "bug.tar.gz")
    said = weir_switch.weirctl("support", path).stdout
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    files = members(path)
    assert set(PARTS) <= set(files), sorted(files)
    kinds = schemas.load("show.json")["$defs"]
    for kind, schema in kinds.items():
        assert schemas.errors(schema, json.loads(files[f"show/{kind}.json"])) == [], kind
        assert files[f"show/{kind}.txt"].strip(), kind
    assert files["policy.yaml"] == POLICY.replace("hunter2", "<blanked>")
    assert not any("hunter2" in text for text in files.values())
    page = weir.metrics.parse(files["metrics.txt"])
    assert page.value("weir_port_rx_packets_total", port="p1") > 0
    assert "weir that runs: weir 0.1.0" in files["versions.txt"]
    assert re.search(r"library: \S*librte_eal\.so\.\d", files["versions.txt"])
    assert os.uname().release in files["versions.txt"]
    assert "driver: veth" in files["ports/sw1.txt"] and "sw2" in files["ports/all.txt"]
    assert f"process {weir_switch.process.pid}" in files["README"]
    assert re.search(r"that were blanked: 3\n", files["README"]), files["README"]
    for line in files["README"].splitlines()[2:5]:
        assert line in said
    assert "Look into it before you send it" in said


def test_a_switch_that_stands_still_gives_what_there_is(weir_switch, tmp_path):
    os.kill(weir_switch.process.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        said = weir_switch.weirctl("support", str(tmp_path / "bug.tar.gz")).stdout
        assert time.monotonic() - began < 25
    finally:
        os.kill(weir_switch.process.pid, signal.SIGCONT)
    files = members(tmp_path / "bug.tar.gz")
    assert not any(name.startswith("show/") for name in files) and "metrics.txt" not in files
    assert files["policy.yaml"] == weir_switch.text
    assert "==> limits" in files["process.txt"] and "driver: veth" in files["ports/sw2.txt"]
    assert "the switch does not answer" in said.splitlines()[0]
    assert re.search(r"shows, events and metrics: the switch did not answer", files["README"])
    assert "may run on another text" in files["README"]


def test_without_a_switch_the_archive_has_the_machine(tmp_path):
    done = subprocess.run([find("weirctl"), "-s", "away", "support"], cwd=tmp_path, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    path, = tmp_path.glob("weir-support-away-*Z.tar.gz")
    files = members(path)
    assert "machine.txt" in files and "policy.yaml" not in files
    assert "shows, events and metrics: no switch named away is running" in files["README"]
    assert "process: no process listens at /run/weir/away.sock" in files["README"]


def test_a_name_is_neither_a_path_nor_an_order_to_the_terminal(tmp_path):
    done = subprocess.run([find("weirctl"), "-s", "../a\x1b[31m\u202e", "support"], cwd=tmp_path,
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    path, = tmp_path.glob("weir-support-.._a_*Z.tar.gz")
    assert all(line.isprintable() for line in done.stdout.splitlines()), done.stdout
    assert all(line.isprintable() for line in members(path)["README"].splitlines())


def test_programs_that_are_missing_are_named(weir_switch, tmp_path):
    few = tmp_path / "bin"
    few.mkdir()
    (few / "python3").symlink_to(sys.executable)
    for program in ("ip", "nsenter"):
        (few / program).symlink_to(shutil.which(program))
    path = tmp_path / "bug.tar.gz"
    words = ["/usr/bin/env", f"PATH={few}", find("weirctl"), "-s", weir_switch.name, "support",
             str(path)]
    # In another network namespace than the switch.
    sees_the_socket = f"--mount=/proc/{weir_switch.process.pid}/ns/mnt"
    done = subprocess.run(["nsenter", sees_the_socket, *words], text=True, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    files = members(path)
    assert "journal: journalctl is not installed" in files["README"]
    assert "facts of ethtool: ethtool is not installed" in files["README"]
    assert " sw1@" in files["ports/all.txt"]
    assert "ethtool" not in files["ports/sw1.txt"]
    (few / "python3").unlink()
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "install the package python3" in done.stderr, done.stderr


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "there").write_text("mine")
    for path, why in ((tmp_path / "there", "File exists"),
                      (tmp_path / "no/file", "No such file or directory"), ("/dev/full", "exists")):
        done = subprocess.run([find("weirctl"), "-s", "away", "support", str(path)], text=True,
                              capture_output=True, check=False)
        assert done.returncode == 1 and f"cannot write {path}: " in done.stderr, done
        assert why in done.stderr and done.stdout == ""
    assert (tmp_path / "there").read_text() == "mine"


JOURNALD = "/lib/systemd/systemd-journald"
WITH_A_JOURNAL = f"""set -e
for folder in /run/systemd /run/log /run/weir /run/dpdk /var/log; do
	mkdir -p $folder
	mount -t tmpfs weir $folder
done
mkdir -p /run/systemd/journal /run/log/journal
ip link add sw1 type veth peer name e1
{JOURNALD} &
journald=$!
until [ -S /run/systemd/journal/stdout ]; do sleep 0.05; done
systemd-cat $WEIR -c $POLICY &
weir=$!
until [ -S /run/weir/weir.sock ] && $WEIRCTL -s weir show version; do
	kill -0 $weir
	sleep 0.1
done
journalctl --sync
$WEIRCTL -s weir support $ARCHIVE
kill $weir
wait $weir
kill $journald
"""


def test_the_journal_of_the_process_is_in_the_archive(tmp_path):
    if not os.path.exists(JOURNALD) or not shutil.which("systemd-cat"):
        pytest.skip("systemd is not installed")
    (tmp_path / "policy.yaml").write_text(live.POLICY.format(hosts=1))
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--propagation", "private", "bash", "-c", WITH_A_JOURNAL],
        env={**os.environ, "WEIR": find("weir"), "WEIRCTL": find("weirctl"),
             "POLICY": str(tmp_path / "policy.yaml"), "ARCHIVE": str(tmp_path / "bug.tar.gz")},
        text=True, capture_output=True, timeout=90, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    files = members(tmp_path / "bug.tar.gz")
    assert re.search(r"weir\S*\[\d+\]: p1 xdp:sw1 speed=1Gb/s", files["journal.txt"]), files.keys()
    assert "journal.txt: " in files["README"] and "journal: " not in files["README"]
