# SPDX-License-Identifier: Apache-2.0
"""Each exit status of docs/automation.md, caused on purpose; and where the sentence about it
goes."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from weir import live
from weir.programs import IN_BUILD, find

ROOT = os.environ["WEIR_ROOT"]
POLICY = live.POLICY.format(hosts=2)
CAUSED = set() # of (program, status)


def ends(status, *command, says="", **keys):
    done = subprocess.run([find(command[0]), *command[1:]], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False, **keys)
    assert done.returncode == status, (command, done.stdout + done.stderr)
    assert re.search(says, done.stderr), (command, done.stderr)
    assert status != 2 or done.stdout == "", (command, done.stdout)
    CAUSED.add((command[0], status))


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)
    return write


def test_help_and_version_are_done_and_unknown_words_are_misused():
    for program in IN_BUILD:
        ends(0, program, "--help")
        ends(0, program, "--version")
        ends(2, program, "--no-such-option", says="no-such-option")


def test_weir(write):
    ends(2, "weir", says="no policy file")
    ends(2, "weir", "-c", "no-such-file", says="no-such-file")
    ends(2, "weir", "-c", write("bad.yaml", POLICY.replace("alpha", "alfa")),
         says="bad.yaml:.*alpha")
    ends(1, "weir", "-c", write("away.yaml", POLICY.replace("xdp:sw", "xdp:away")), says="away1")
    with live.LiveSwitch() as switch:
        switch.process.popen.terminate()
        assert switch.process.wait(20) == 0
        CAUSED.add(("weir", 0))


@pytest.mark.weir_switch(hosts=2)
def test_weirctl(weir_switch, write):
    def ctl(status, *words, says=""):
        done = weir_switch.weirctl(*words, check=False)
        assert (done.returncode, status != 2 or done.stdout == "") == (status, True), (words, done)
        assert re.search(says, done.stderr), (words, done.stderr)
        CAUSED.add(("weirctl", status))

    good, bad = write("good.yaml", POLICY), write("bad.yaml", POLICY.replace("alpha", "alfa"))
    restart = write("restart.yaml", POLICY.replace("12MB", "13MB"))
    ctl(0, "show", "ports")
    for words in (["check", good], ["plan", good], ["diff", good], ["reload", good]):
        ctl(0, *words)
        ctl(2, *words[:1], bad, says="bad.yaml:.*alfa")
    done = weir_switch.weirctl("reload", restart, check=False)
    assert done.returncode == 2 and "buffer.size: changes only by a restart" in done.stderr
    ctl(1, "show", "ports", "p9", says="no port named p9")
    ctl(1, "capture", "p1", "/no/such/folder/file", says="/no/such/folder/file")
    ctl(1, "confirm", says="no policy waits")
    ctl(2, "show", "prts", says="did you mean ports")
    ctl(2, "show", "ports", "--interval", "0", says="--interval")
    ctl(1, "watchdog", "recover", "p1", "0", says=r"is lossy;.*\nMore about it: docs/storms.md$")
    ctl(2, "show", "inof", "zones", "--why", says=r"\nMore about it: docs/inof.md$")
    ends(1, "weirctl", "-s", "none", "show", "ports",
         says=r"no switch named none is running .*-c FILE$")
    ends(2, "weirctl", "resume", says="name it with -s", env={**os.environ, "WEIR_SWITCH": ""})


@pytest.mark.weir_switch(hosts=2)
def test_weir_host(weir_switch):
    h1, h2 = weir_switch.hosts
    ends(2, "weir-host", says="say what to do|--device")
    alone = h1.endpoint("--to", h2.ip, "--count", "1", "--drain", "200ms", "--class", "3")
    assert alone.wait(60) == 1, alone.said()
    CAUSED.add(("weir-host", 1))
    h2.endpoint("--listen").wait_line("ready")
    sender = h1.endpoint("--to", h2.ip, "--count", "1", "--class", "3")
    assert sender.wait(60) == 0, sender.said()
    CAUSED.add(("weir-host", 0))


@pytest.mark.weir_switch(hosts=1)
def test_weir_hostd(weir_switch):
    words = ["weir-hostd", "--speed", "1G", "--class", "3", "--device"]
    ends(1, *words, "none0", says="none0: there is no such interface")
    ends(2, *words, "e1", "--class", "5:26", says="class 3 has one of these DSCPs")
    hostd = weir_switch.hosts[0].spawn(find("weir-hostd"), *words[1:], "e1")
    hostd.wait_line("ready")
    assert hostd.stop() == 0
    CAUSED.add(("weir-hostd", 0))


def test_weir_lab(tmp_path):
    ends(0, "weir-lab", "run", "first", "--quiet")
    ends(1, "weir-lab", "run", "first", "--quiet", "--set", "expect=[xoffs == 9]")
    ends(2, "weir-lab", "run", "first", "--quiet", "--set", "dration=1ms", says="duration")
    ends(2, "weir-lab", "rn", "first", says="did you mean run")
    run = subprocess.Popen([find("weir-lab"), "run", "clos-320", "--quiet"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 1


def test_weir_probe(write):
    quick = write("quick.yaml", POLICY)
    ends(0, "weir-probe", "--lab", quick, "--quiet", "cell")
    ends(1, "weir-probe", "--lab", quick, "--quiet", "--class", "0", "xoff")
    ends(2, "weir-probe", "--lab", quick, "xof", says="xof")


def test_weir_sonic(tmp_path):
    database, policy = str(tmp_path / "redis.sock"), str(tmp_path / "policy.yaml")
    once = ["weir-sonic", "--once", "--policy", policy, "--redis", database]
    ends(1, *once, says="redis.sock")
    with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", database, "--save", "",
                           "--dir", str(tmp_path)], stdout=subprocess.DEVNULL) as redis:
        def put(*words):
            subprocess.run(["redis-cli", "-s", database, "-n", "4", *words], check=True,
                           stdout=subprocess.DEVNULL, timeout=20)
        try:
            while not os.path.exists(database) and redis.poll() is None:
                time.sleep(0.05)
            put("hset", "PORT|Ethernet0", "lanes", "1", "speed", "100000")
            ends(0, *once, "--ports", "Ethernet0=xdp:eth1")
            put("hset", "PORT|Ethernet0", "speed", "fast")
            ends(2, *once, "--ports", "Ethernet0=xdp:eth1", says="PORT.*speed")
        finally:
            redis.terminate()


def test_each_page_that_an_error_names_exists():
    pages = set()
    for file in ("commands.c", "show_cmd.c"):
        with open(f"{ROOT}/control/ctl/{file}") as f:
            pages |= set(re.findall(r'"([a-z-]+\.md)"', f.read()))
    assert len(pages) >= 10 and all(os.path.exists(f"{ROOT}/docs/{p}") for p in pages), pages


def test_each_status_of_the_page_was_caused():
    with open(f"{ROOT}/docs/automation.md") as f:
        part = re.search(r"(?s)begin exits(.*)<!-- end exits", f.read())[1]
    rows = re.findall(r"(?m)^\| `(\S+)` \| (.*) \|$", part)
    told = {(program, int(n)) for program, text in rows
            for n in re.findall(r"(?:^|[,;] )(\d) ", text)}
    assert len(told) == 21 and CAUSED == told


def test_pytest_runs_no_test_of_weir_in_its_checkout():
    done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "--collect-only", "-q", "-p",
                           "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 5, done.stdout + done.stderr  # of pytest: no tests
    assert "no tests collected" in done.stdout


def test_a_copied_checkout_is_told_to_forget_its_build(tmp_path):
    info = tmp_path / "build/meson-info"
    info.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    for name in "setup", "test", "testing.py", "contained", "choice.py", "contain":
        shutil.copy(f"{ROOT}/scripts/{name}", tmp_path / "scripts")
    (info / "meson-info.json").write_text(json.dumps({"directories": {"source": "/elsewhere"}}))
    for command in ("scripts/setup",), ("scripts/test", "--no-setup"):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 1, (command, done.stdout + done.stderr)
        assert re.search("build/? was made for /elsewhere: rm -r ", done.stdout), done.stdout
