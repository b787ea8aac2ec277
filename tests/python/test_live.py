# SPDX-License-Identifier: Apache-2.0
"""The client and the live switch of the package, on a real switch with real frames."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import weir
from weir import live

ROOT = os.environ["WEIR_ROOT"]
HERE = pathlib.Path(__file__).parent
POLICY = live.POLICY.format(hosts=2)
LOOP = """
import sys, time
from weir import live
with live.LiveSwitch(hosts=1) as switch:
    print(switch.process.pid, *[h.namespace.pid for h in switch.hosts], flush=True)
    time.sleep(60)
"""


@pytest.mark.weir_switch(hosts=3)
def test_frames_are_counted_where_they_go(weir_switch):
    h1, h2, _ = weir_switch.hosts
    assert h1.ping(h2, count=5, dscp=26) == 5
    queue = weir_switch.row("queues", port="p2", queue=3)
    assert queue["tx_packets"] == 5 and queue["class"] == 3
    page = weir_switch.metrics()
    assert page.value("weir_queue_tx_packets_total", port="p2", queue=3) == 5
    assert page.families["weir_port_rx_packets_total"].type == "counter"
    balance = weir_switch.quiesce()["balance"]
    assert balance["balanced"] and balance["transmitted"] >= 10


@pytest.mark.weir_switch(words=("--metrics", "9120"))
def test_metrics_are_read_over_http(weir_switch):
    code = ("import weir; page = weir.metrics.fetch('http://127.0.0.1:9120/metrics'); "
            "print(page.value('weir_port_mtu', port='p1'), len(page))")
    inside = ["nsenter", f"--net=/proc/{weir_switch.process.pid}/ns/net", sys.executable, "-c"]
    done = subprocess.run([*inside, code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    mtu, n = map(float, done.stdout.split())
    assert mtu == 1500 and n == len(weir_switch.metrics())


def test_rdma_hosts_send_and_report(weir_switch):
    h1, h2 = weir_switch.hosts
    listener = h2.endpoint("--listen")
    listener.wait_line("ready")
    sender = h1.endpoint("--to", h2.ip, "--class", "3", "--count", "20", "--size", "5000")
    report = sender.report()
    assert report["messages_completed"] == 20 and report["retransmissions"] == 0
    assert listener.stop() == 0
    with pytest.raises(weir.Broken, match="ended with status 2\n.*did you mean --class"):
        h1.endpoint("--classs", "3").report()


def test_a_reload_says_what_changed(weir_switch, tmp_path):
    new = tmp_path / "new.yaml"
    new.write_text(POLICY.replace("kmin: 60KB", "kmin: 80KB"))
    assert weir_switch.reload(new, check=True).changes == [
        {"key": "profiles.roce.classes.3.wred.kmin", "old": "60KB", "new": "80KB"}]
    assert weir_switch.row("ecn", port="p1", queue=3)["kmin_bytes"] == 60000
    assert weir_switch.reload(new, confirm_within=60).file == str(new)
    assert weir_switch.row("ecn", port="p1", queue=3)["kmin_bytes"] == 80000
    weir_switch.rollback()
    assert weir_switch.row("ecn", port="p1", queue=3)["kmin_bytes"] == 60000
    new.write_text(POLICY.replace("kmin: 60KB", "kmin: 600KB").replace("alpha: 1", "alpha: x"))
    with pytest.raises(weir.PolicyError) as e:
        weir_switch.reload(new)
    assert len(e.value.mistakes) == 2 and all(str(new) in m for m in e.value.mistakes)


def test_orders_of_an_operator(weir_switch):
    h1, h2 = weir_switch.hosts
    assert h1.ping(h2) == 3
    weir_switch.set_tx("p2", False)
    assert h1.ping(h2, count=1) == 0
    weir_switch.set_tx("p2", True, queue=None)
    weir_switch.clear()
    assert weir_switch.row("ports", name="p1")["rx_packets"] == 0
    assert weir_switch.metrics().value("weir_port_rx_packets_total", port="p1") > 0
    assert weir_switch.quiesce(hold=True)["held"]
    assert h1.ping(h2, count=1) == 0
    weir_switch.resume()
    assert h1.ping(h2) == 3
    with pytest.raises(weir.Refused, match="class 0 of p1 is lossy; its lossless classes are: 3"):
        weir_switch.watchdog_recover("p1", 0)
    weir_switch.watchdog_drop_all(True)
    assert weir_switch.show("version")["version"]["drop_all"]
    weir_switch.watchdog_drop_all(False)


def test_frames_are_impaired_by_a_rule_until_it_is_stopped(weir_switch):
    h1, h2 = weir_switch.hosts
    assert h1.ping(h2) == 3
    rule = weir_switch.impair("p1", "drop", "ip.dst == 10.0.0.2", seconds=50, seed=7)
    assert h1.ping(h2, count=2) == 0
    row = weir_switch.row("impairments", rule=rule)
    assert (row["impaired"], row["rule_seed"], row["for_us"]) == (2, 7, 50_000_000)
    assert weir_switch.impair_stop(rule) == 1 and h1.ping(h2) == 3
    out = weir_switch.impair("p2", "drop", way="out", count=1)
    assert h1.ping(h2, count=3) == 2
    assert weir_switch.row("impairments", rule=out)["state"] == "count"
    assert weir_switch.impair_stop() == 0
    with pytest.raises(weir.Refused, match="drp"):
        weir_switch.impair("p1", "drp")


def test_events_are_followed(weir_switch):
    events = weir_switch.follow(interval=0.01)
    weir_switch.hosts[0].run("ip", "link", "set", "e1", "down")
    event = next(e for e in events if e["event"] == "link-down")
    assert (event["port"], event["severity"]) == ("p1", "warning")
    assert weir_switch.events("p2", severity="warning") == []
    weir_switch.hosts[0].run("ip", "link", "set", "e1", "up")
    assert weir_switch.wait(lambda s: s.row("ports", name="p1")["up"], "p1 is up")


def test_errors_are_the_sentences_of_the_switch(weir_switch):
    for kind, port, text in (("port", None, 'cannot show "port"'),
                             ("queues", "p9", "no port named p9; the ports are: p1 p2")):
        with pytest.raises(weir.Refused, match=text):
            weir_switch.show(kind, port)
    with pytest.raises(weir.Refused, match='no command "shw"'):
        weir_switch.request("shw")
    with pytest.raises(KeyError, match="0 rows of show queues have"):
        weir_switch.row("queues", port="p9")
    with pytest.raises(weir.WeirError, match="show version has no list"):
        weir_switch.rows("version")
    folder = os.path.dirname(weir_switch.path)
    assert weir.running(folder) == ["weir"]
    found = weir.Switch(directory=folder)
    assert found.show("version")["version"]["name"] == "weir"
    with pytest.raises(weir.WeirError, match='resume changes a switch: name it, as Switch."weir"'):
        found.resume()
    with pytest.raises(weir.NoSwitch, match="no switch named sw9 is running"):
        weir.Switch("sw9", directory=folder).show("ports")


def test_a_switch_that_stands_still_is_no_answer(weir_switch):
    pid = weir_switch.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        weir_switch.timeout = 0.2
        with pytest.raises(weir.NoAnswer, match="did not answer within 0.2 s"):
            weir_switch.show("ports")
    finally:
        os.kill(pid, signal.SIGCONT)
        weir_switch.timeout = 10


@pytest.mark.weir_switch(hosts=3, policy=f"{ROOT}/conf/roce.yaml")
def test_a_policy_file_runs_as_it_is(weir_switch):
    assert weir_switch.name == "sw1" and weir_switch.row("ports", name="p3")["up"]
    assert "sw1" in weir_switch.weirctl("show", "version").stdout


def test_a_policy_with_mistakes_is_an_error_with_the_message_of_weir(tmp_path):
    with pytest.raises(weir.Broken, match=r"policy.yaml:1:\d+: switch.buffr: .* buffer"):
        with live.LiveSwitch(policy=POLICY.replace("buffer", "buffr"), folder=tmp_path):
            pass


def test_a_switch_that_does_not_end_well_is_an_error(tmp_path):
    with pytest.raises(weir.Broken, match="weir ended with status -9\n"):
        with live.LiveSwitch(folder=tmp_path) as switch:
            os.kill(switch.process.pid, signal.SIGKILL)


def test_a_program_that_is_killed_leaves_nothing():
    program = subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, text=True)
    pids = program.stdout.readline().split()
    assert len(pids) == 2 and all(os.path.exists(f"/proc/{pid}") for pid in pids)
    program.kill()
    program.wait()
    program.stdout.close()
    end = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < end, "processes of a killed program go on"
        time.sleep(0.05)


def test_without_root_the_test_is_skipped(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(weir_switch):\n    pass\n")
    done = subprocess.run(["unshare", "--user", sys.executable, "-m", "pytest", "-p",
                           "weir.pytest_plugin", "-p", "no:cacheprovider", "-rs",
                           str(tmp_path / "test_it.py"), f"--basetemp={tmp_path / 'base'}"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 skipped" in done.stdout and "needs root" in done.stdout, done.stdout + done.stderr


def test_a_test_that_fails_shows_what_the_switch_said(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_it(weir_switch, weir_lab):\n"
        "    weir_lab.run('first', settings={'expect': '[xoffs == 9]'})\n"
        "    assert 0\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "weir.pytest_plugin", "-p",
                           "no:cacheprovider", str(tmp_path / "test_it.py")], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "p1 xdp:sw1 speed=1Gb/s" in done.stdout, done.stdout
    assert "FAIL  xoffs == 9: measured 0, expected 9" in done.stdout, done.stdout
