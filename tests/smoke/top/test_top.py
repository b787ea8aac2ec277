#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weirctl watch` of a live switch: in a terminal of tmux, by keys, and in a pipe.

usage: test_top.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Needs root; exits 77 without, and without tmux. Leaves nothing behind.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "daemon")]
from world import (ID, NAME, POLICY, WEIRCTL, Switch, World, blast, ctl, eventually,  # noqa: E402
                   ns, ping, sh, want, want_eq, write_policy)

BAR = "\u2588"


class Terminal:
    """A shell in a window of tmux."""
    count = 0

    def __init__(self, columns, lines, **env):
        Terminal.count += 1 # a server that was ended may still hold its socket
        self.socket = f"{ID}{Terminal.count}"
        words = [f"{k}={v}" for k, v in env.items()]
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                  "-y", str(lines), "env", "PS1=READY> ", *words, "sh", "-i")
        self.shows("READY>")

    def tmux(self, *words):
        return sh("tmux", "-L", self.socket, *words).stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p").split("\n")

    def shows(self, *texts):
        """Waits until all texts are on the screen."""
        try:
            eventually(lambda: all(t in "\n".join(self.screen()) for t in texts), f"{texts}")
        except AssertionError as e:
            raise AssertionError(f"{e} on\n" + "\n".join(self.screen())) from None

    def run(self, *words):
        self.press(" ".join([WEIRCTL, "-s", NAME, *words]), "Enter")

    def flags(self):
        """Is there another screen, and a cursor?"""
        return self.tmux("display", "-p", "#{alternate_on} #{cursor_flag}").split()

    def end(self, key="q"):
        self.press(key)
        eventually(lambda: self.flags() == ["0", "1"], "the first screen, a cursor")

    def modes(self):
        tty = self.tmux("display", "-p", "#{pane_tty}").strip()
        return sh("stty", "-F", tty, "-g").stdout

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.tmux("kill-server")


class Traffic:
    """Frames of class 3 from h1 to h2, some thousands a second."""

    def __enter__(self):
        code = "import socket, time\n" \
               "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n" \
               "s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x68)\n" \
               "while True:\n" \
               "    s.sendto(bytes(1000), ('10.77.0.2', 9)); time.sleep(0.0005)\n"
        self.p = subprocess.Popen([*ns("h1"), "/usr/bin/python3", "-c", code])
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.wait()


def port_line(lines, port):
    found = [l for l in lines if l.split()[:1] == [port]]
    want_eq(len(found), 1, f"lines of {port} in {lines}")
    return found[0].split()


def fits(lines, columns, count):
    want(len(lines) <= count + 1 and max(map(len, lines)) <= columns, f"fits: {lines}")


# ---- tests


def t_a_screen_of_80x24_shows_head_ports_and_keys(sw):
    with Traffic(), Terminal(80, 24, LC_ALL="C.UTF-8") as t:
        t.run("watch", "--interval", "0.2")
        t.shows("Workers", "ingress", "PFCtx", "h help")
        eventually(lambda: port_line(t.screen(), "p1")[2][-1] in "kM", "rates of p1")
        lines = t.screen()
        fits(lines, 80, 24)
        want(lines[0].startswith(NAME) and "3 up" in lines[0], lines[0])
        want(float(port_line(lines, "p2")[4][:-1]) > 0, "p2 sends what p1 receives")
        want_eq(port_line(lines, "p3")[2], "0", "p3 receives nothing")
        want_eq(t.flags(), ["1", "0"], "another screen, no cursor")
        t.end()


def t_keys_select_open_sort_filter_and_pause(sw):
    with Terminal(80, 24, LC_ALL="C.UTF-8") as t:
        t.run("top", "--interval", "0.2")
        t.shows("sort trouble")
        for _ in range(6):
            t.press("s")
        t.shows("sort port")
        t.press("Down")
        t.press("Enter")
        t.shows(f"p2 up  1.00Gb/s  xdp:{ID}s2", "Class Queue Tx b/s", "lossless")
        t.press("Escape")
        t.shows("sort port")
        t.press("/", "p", "3", "Enter")
        t.shows("filter p3")
        eventually(lambda: not any(l.startswith("p1") for l in t.screen()), "p1 is left out")
        t.press("Escape")
        t.shows("p1 ")
        t.press("h")
        t.shows("select a port")
        t.press("h")
        t.press("+")
        t.shows("every 0.5 s")
        t.press("p")
        t.shows("screen paused")
        t.end()


def t_a_queue_that_may_not_send_is_seen_at_its_senders_port(sw):
    ctl("set", "port", "p3", "tx", "off")
    blast(4000, 1400)
    with Terminal(80, 24, LC_ALL="C.UTF-8") as t:
        t.run("watch", "--interval", "0.2")
        t.shows("pausing", "tx-off", BAR)
        want(t.screen()[5].startswith("p1"), "the port that pauses is first")
        t.press("Enter")
        t.shows("p1 class 3 has paused its sender", "an operator has stopped p3")
        t.end()
    ctl("set", "port", "p3", "tx", "on")
    eventually(lambda: " pausing " not in ctl("watch", "--count", "1").stdout, "XON")


def t_trouble_has_a_colour_unless_no_color_is_set(sw):
    ctl("set", "port", "p3", "tx", "off")
    for env, want_colours in ({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True):
        with Terminal(80, 24, **env) as t:
            t.run("watch", "--interval", "0.2")
            t.shows("tx-off", "h help")
            coloured = t.tmux("capture-pane", "-e", "-p")
            want_eq(re.search(r"\033\[(\d+;)*3[1-7]m", coloured) is not None, want_colours,
                    f"colours with {env} in {coloured!r}")
            t.end()
    ctl("set", "port", "p3", "tx", "on")


def t_the_terminal_is_as_before_also_after_a_resize_and_a_signal(sw):
    with Terminal(80, 24, LC_ALL="C") as t:
        before = t.modes()
        for end in ("q", "C-c"):
            t.run("watch")
            t.shows("Workers", "[")
            want(BAR not in "".join(t.screen()), "no other characters without UTF-8")
            for columns, lines in (60, 15), (40, 10):
                t.tmux("resize-window", "-x", str(columns), "-y", str(lines))
                eventually(lambda: t.screen()[lines - 1].startswith("h help"), "drawn anew")
                t.shows("Port State", "p1 ")
                fits(t.screen(), columns, lines)
            t.tmux("resize-window", "-x", "30", "-y", "8")
            t.shows("30x8 is too small")
            t.end(end)
            t.tmux("resize-window", "-x", "80", "-y", "24")
            eventually(lambda: t.modes() == before, "the modes of the terminal")


def t_a_pipe_and_a_dumb_terminal_get_lines(sw):
    with Traffic():
        out = ctl("watch", "--interval", "0.3", "--count", "2").stdout
        want_eq(out.count("Port "), 2, "two blocks")
        want("\033" not in out and max(map(len, out.split("\n"))) <= 80, out)
        block = out.split("\n\n")[0].split("\n")
        want(float(port_line(block, "p1")[2][:-1]) > 0, out)
        want("Class Queue" in ctl("watch", "p1", "--count", "1").stdout, "watch PORT")
    want_eq(ctl("watch", "--json", check=False).returncode, 2, "watch --json")
    r = ctl("watch", "p9", check=False)
    want(r.returncode == 1 and "p1 p2 p3" in r.stderr, r.stderr)
    with Terminal(80, 24, TERM="dumb") as t:
        t.run("watch", "--count", "1")
        t.shows("Port State")
        want_eq(t.flags(), ["0", "1"], "no other screen")


def t_a_held_switch_says_so(sw):
    ctl("quiesce", "--hold")
    want("HELD" in ctl("watch", "--count", "1").stdout, "held")
    ctl("resume")
    want("HELD" not in ctl("watch", "--count", "1").stdout, "resumed")


def t_a_switch_that_goes_away_is_missed_and_found_again(sw, policy):
    with Terminal(80, 24) as t:
        t.run("watch", "--interval", "0.2")
        t.shows("Port ")
        sw.stop()
        t.shows(f"GONE  switch {NAME} does not answer since")
        again = Switch(policy).ready()
        eventually(lambda: "GONE" not in "\n".join(t.screen()), "it is back")
        want("p1 " in "\n".join(t.screen()), "ports")
        again.stop()


LIVE = [t_a_screen_of_80x24_shows_head_ports_and_keys,
        t_keys_select_open_sort_filter_and_pause,
        t_a_queue_that_may_not_send_is_seen_at_its_senders_port,
        t_trouble_has_a_colour_unless_no_color_is_set,
        t_the_terminal_is_as_before_also_after_a_resize_and_a_signal,
        t_a_pipe_and_a_dumb_terminal_get_lines,
        t_a_held_switch_says_so]


def run(failed, only, test, *args):
    name = test.__name__[2:]
    if only and name not in only:
        return
    try:
        test(*args)
        print(f"ok   {name.replace('_', ' ')}", flush=True)
    except (AssertionError, IndexError, ValueError, subprocess.SubprocessError) as e:
        print(f"FAIL {name.replace('_', ' ')}\n     {type(e).__name__}: {e}", flush=True)
        failed.append(name)


def main():
    if os.geteuid() != 0 or not shutil.which("tmux"):
        print("needs root and tmux")
        return 77
    failed, only = [], sys.argv[3:]
    policy = write_policy(POLICY)
    with World():
        sw = Switch(policy)
        try:
            sw.ready()
            want(ping(1, 2) and ping(1, 3), "hosts reach each other")
            for test in LIVE:
                run(failed, only, test, sw)
            run(failed, only, t_a_switch_that_goes_away_is_missed_and_found_again, sw, policy)
        finally:
            sw.p.kill()
            sw.p.wait()
            if failed:
                print(sw.text(sw.err)[-4000:])
    os.unlink(policy)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
