#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weir --web`: what the page is given, and what strangers may do to its server.

usage: test_web.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

The numbers must be those of weirctl. Needs root; exits 77 without. Leaves nothing behind.
"""
import ctypes
import http.client
import json
import os
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "daemon")]
from world import (ID, POLICY, TOS_CLASS3, WEIR, Switch, World, blast, ctl,  # noqa: E402
                   eventually, ns, ping, run, sh, show, want, want_eq, write_policy)

PORT = 9480
STREAMS, CLIENTS = 8, 16
HOST = f"127.0.0.1:{PORT}"


def ask(path, host=HOST, method="GET", **headers):
    """(status, headers, body) of a request."""
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    if host is not None:
        c.putheader("Host", host)
    for name, value in headers.items():
        c.putheader(name, value)
    c.endheaders()
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, r.headers, body.decode()


class Stream:
    """A reader of /live."""

    def __init__(self, path="/live"):
        self.s = socket.create_connection(("127.0.0.1", PORT), timeout=10)
        self.s.sendall(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        self.f = self.s.makefile("rb")
        self.status = int(self.f.readline().split()[1])
        self.columns, self.values, self.t_ns = [], {}, 0
        while self.f.readline().strip():
            pass

    def event(self):
        """The next one: its name and data."""
        name = self.f.readline().decode().strip()
        data = self.f.readline().decode().strip()
        want(name.startswith("event: ") and data.startswith("data: "), f"{name!r} {data[:80]!r}")
        want_eq(self.f.readline(), b"\n", "the end of an event")
        name, data = name[7:], json.loads(data[6:])
        if name == "columns":
            if data["first"] == 0:
                self.columns, self.values = [], {}
            want_eq(data["first"], len(self.columns), "the first new column")
            self.columns += [tuple(c) for c in data["columns"]]
        elif name == "frame":
            want(data[0] > self.t_ns, "time of a frame")
            self.t_ns = data[0]
            self.values.update({self.columns[i]: v for i, v in zip(data[1::2], data[2::2])})
        return name, data

    def frames(self, n):
        while n > 0:
            n -= self.event()[0] == "frame"

    def close(self):
        self.f.close()
        self.s.close()


def t_the_page_is_served_and_nobody_else_may_show_it(sw):
    status, headers, body = ask("/")
    want_eq((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "the page")
    want("<!doctype html>" in body[:200].lower() and "@WEIR_DATA@" not in body, body[:200])
    want_eq(int(headers["Content-Length"]), len(body.encode()), "its length")
    for name, value in (("X-Frame-Options", "DENY"), ("X-Content-Type-Options", "nosniff"),
                        ("Cross-Origin-Resource-Policy", "same-origin"),
                        ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store")):
        want_eq(headers[name], value, name)
    want_eq(ask("/", method="HEAD")[::2], (200, ""), "HEAD")
    want_eq(ask("/", method="POST")[0], 405, "POST")
    want_eq(ask("/other")[0], 404, "another path")


def t_the_stream_has_the_numbers_of_weirctl(sw):
    stream = Stream()
    want_eq(stream.status, 200, "the stream")
    name, hello = stream.event()
    want_eq((name, hello["name"], hello["time_scale"]), ("hello", show("version")["version"]
                                                         ["name"], 1), "hello")
    began = time.monotonic()
    stream.frames(6)
    want(0.7 < time.monotonic() - began < 3, "five frames a second")
    want(ping(1, 2, count=10, tos=str(TOS_CLASS3)), "a ping")
    blast(1, 1000)
    # The socket holds older frames of the stream. One that comes a second later has all counters.
    end = time.monotonic() + 1
    while time.monotonic() < end:
        stream.frames(1)
    columns = {(c[1], c[2], c[3], c[4]): v for c, v in stream.values.items()}
    want({c[0] for c in stream.values} == {hello["name"]}, "the name of the switch")
    for p in show("ports")["ports"]:
        for fact in ("up", "speed_bps", "rx_packets", "rx_bytes", "tx_packets", "tx_bytes"):
            want_eq(columns.get(("ports", p["name"], None, fact), 0), p[fact],
                    f"{p['name']} {fact}")
    for q in show("queues")["queues"]:
        for fact in ("tx_bytes", "ecn_marked", "dropped_packets", "length_bytes"):
            want_eq(columns.get(("queues", q["port"], q["queue"], fact), 0), q[fact],
                    f"{q['port']}.{q['queue']} {fact}")
    want(any(v > 0 for (kind, _, _, fact), v in columns.items()
             if (kind, fact) == ("queues", "tx_bytes")), "a queue has sent")
    for pool in show("buffers")["pools"]:
        want_eq(columns[("pools", pool["name"], None, "size_bytes")], pool["size_bytes"],
                pool["name"])
    want(("ecn", "p1", 3, "kmin_bytes") not in columns or
         columns[("ecn", "p1", 3, "kmin_bytes")] > 0, "kmin")
    # A second reader begins with all columns.
    other = Stream()
    other.event()
    other.frames(1)
    want_eq(other.columns, stream.columns, "columns of a later reader")
    for s in (stream, other):
        s.close()


def t_show_is_what_weirctl_prints(sw):
    for what in ("ports", "queues", "pfc", "buffers", "qos", "ecn", "buffers-config", "watchdog",
                 "version", "fdb", "cnps", "lldp"):
        status, headers, body = ask(f"/show/{what}")
        want_eq((status, headers["Content-Type"]), (200, "application/json"), what)
        want_eq(set(json.loads(body)), set(show(what)), f"keys of {what}")
    want_eq(json.loads(ask("/show/buffers-config")[2]), show("buffers-config"), "thresholds")
    rows = json.loads(ask("/show/queues?port=p2")[2])["queues"]
    want_eq({r["port"] for r in rows}, {"p2"}, "the queues of one port")
    events = json.loads(ask("/show/events")[2])["events"]
    later = json.loads(ask(f"/show/events?since={events[0]['seq']}")[2])["events"]
    want_eq(later, events[1:], "later events")
    want("flows" in json.loads(ask("/show/flows?limit=5")[2]), "flows")
    status, _, body = ask("/show/nothing")
    want_eq((status, body), (404, 'cannot show "nothing"'), "an unknown kind")
    want_eq(ask("/show/queues?port=p9")[0], 404, "an unknown port")
    status, _, body = ask("/show/config")
    want(status == 403 and "--web-token" in body, f"the policy without a token: {status} {body}")
    want_eq(ask("/show/events?since=x")[0], 400, "no number")
    want_eq(ask("/show/" + "x" * 500)[0], 404, "a long name")
    want_eq(ask('/show/%22,%22cmd%22:%22quiesce')[0], 404, "a name with quotes")


def t_other_names_and_other_pages_are_refused(sw):
    for host in ("evil.example", f"evil.example:{PORT}", None, "", "127.0.0.1.evil.example",
                 "127.1", "[::1", "x" * 300):
        status, _, body = ask("/show/ports", host=host)
        want_eq(status, 403, f"host {host}")
        want("127.0.0.1:8080" in body, body)
    for host in (f"localhost:{PORT}", f"127.0.0.1:{PORT}", f"[::1]:{PORT}", "10.1.2.3"):
        want_eq(ask("/show/ports", host=host)[0], 200, f"host {host}")
    want_eq(ask("/show/ports", Origin="http://evil.example")[0], 403, "another origin")
    want_eq(ask("/live", Origin="null")[0], 403, "no origin")
    want_eq(ask("/show/ports", Origin=f"https://{HOST}")[0], 403, "another scheme")
    want_eq(ask("/show/ports", Origin=f"http://{HOST}")[0], 200, "its own origin")
    # What an image or a script of another page asks for has no Origin.
    other = {"Sec-Fetch-Site": "cross-site"}
    for path, status in (("/show/ports", 403), ("/live", 403), ("/", 200)):
        want_eq(ask(path, **other)[0], status, f"{path} for another page")
    want_eq(ask("/show/ports", **{"Sec-Fetch-Site": "same-origin"})[0], 200, "for this page")


def t_answers_have_a_rate(sw):
    """A second has 50 answers; later there are some again."""
    statuses, began = [], time.monotonic()
    while statuses[-1:] != [503] and len(statuses) < 300:
        statuses.append(ask("/show/version")[0])
    seconds = time.monotonic() - began
    n = statuses.index(503) if 503 in statuses else len(statuses)
    want(set(statuses[:n]) == {200} and n <= 50 * (2 + seconds), f"{n} answers in {seconds:.1f} s")
    want(n < len(statuses) or n < 50 * seconds, f"{n} in {seconds:.1f} s, and none was refused")
    eventually(lambda: ask("/show/version")[0] == 200, "a second later")


def t_as_many_streams_as_it_says_and_no_more(sw):
    readers = [Stream() for _ in range(STREAMS)]
    want_eq([r.status for r in readers], [200] * STREAMS, "streams")
    for _ in range(100):
        status, _, body = ask("/live")
        want_eq(status, 503, "one more")
    want("Close one" in body, body)
    for r in readers:
        r.frames(2)
    want_eq(ask("/show/version")[0], 200, "others are served")
    readers.pop().close()
    eventually(lambda: not refused(), "the place of a reader that has gone is free")
    for r in readers:
        r.close()


def refused():
    s = Stream()
    s.close()
    return s.status != 200


def t_a_thousand_strangers_harm_nobody(sw):
    reader = Stream()
    sockets, lost = [], []
    stop = threading.Event()

    def pings():
        while not stop.is_set():
            lost.append(not ping(1, 2, count=10))

    t = threading.Thread(target=pings)
    t.start()
    try:
        for i in range(1000):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", PORT))
            sockets.append(s)
            try:  # silent, half a head, a head that never ends, a stream that nobody reads
                s.send((b"", b"GET / HT", b"GET / HTTP/1.1\r\nX: " + b"y" * 8000,
                        b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")[i % 4])
            except OSError:
                pass
        for _ in range(20):
            began = time.monotonic()
            show("ports")
            want(time.monotonic() - began < 2, "weirctl is answered")
        reader.frames(10)
    finally:
        stop.set()
        t.join()
        for s in sockets:
            s.close()
    want(lost and not any(lost), "no ping is lost")
    reader.close()
    eventually(lambda: ask("/")[0] == 200, "the page is served again")


def t_a_reload_with_the_same_ports_changes_nothing(sw):
    stream = Stream()
    stream.frames(2)
    before = list(stream.columns)
    want_eq(ctl("reload", POLICY_FILE).returncode, 0, "a reload")
    stream.frames(3)
    want_eq(stream.columns[:len(before)], before, "columns after a reload")
    stream.close()


def t_a_token_is_asked_for(_):
    with open(f"/tmp/{ID}token", "w", encoding="ascii") as f:
        f.write("0123456789abcdef-._~\n")
    address = f"0.0.0.0:{PORT}"
    p = sh(*ns("s"), WEIR, "-c", POLICY_FILE, "--web", address, check=False)
    want_eq(p.returncode, 2, "without a token")
    want("--web-token" in p.stderr and "openssl rand -hex 16" in p.stderr, p.stderr)
    for text in ("short\n", "x" * 127 + "\n", "x" * 200, "with blanks in it\n", ""):
        with open(f"/tmp/{ID}short", "w", encoding="ascii") as f:
            f.write(text)
        p = sh(*ns("s"), WEIR, "-c", POLICY_FILE, "--web", address, "--web-token",
               f"/tmp/{ID}short", check=False)
        want(p.returncode == 1 and "16 to 126" in p.stderr, f"{text!r}: {p.stderr}")
    for mode in (0o644, 0o660, 0o640): # the last one is not open to others
        os.chmod(f"/tmp/{ID}token", mode)
        sw = Switch(POLICY_FILE, "--web", address, "--web-token", f"/tmp/{ID}token").ready()
        want_eq("warning --web-token" in sw.text(sw.err), mode != 0o640, sw.text(sw.err))
        if mode != 0o640:
            want_eq(sw.stop(), 0, "exit")
    try:
        for path in ("/", "/live", "/show/ports", "/?token=", "/?token=0123456789abcdef-._",
                     "/?token=0123456789abcdef-._~x", "/?tokens=0123456789abcdef-._~"):
            status, _, body = ask(path)
            want_eq(status, 401, path)
            want("--web-token" in body and "0123456789" not in body, body)
        want_eq(ask("/?token=0123456789abcdef-._~")[0], 200, "with it")
        want_eq(ask("/show/ports?x=1&token=0123456789abcdef-._%7e")[0], 200, "escaped")
        want("switch:" in ask("/show/config?token=0123456789abcdef-._~")[2], "the policy")
        want("0123456789" not in sw.text(sw.out) + sw.text(sw.err), "the token is printed")
    finally:
        want_eq(sw.stop(), 0, "exit")
        for name in ("token", "short"):
            os.unlink(f"/tmp/{ID}{name}")


def t_a_port_in_use_is_one_sentence(_):
    first = Switch(POLICY_FILE, "--web", str(PORT)).ready()
    other = write_policy(POLICY.replace("name: ", "name: other", 1))
    p = sh(*ns("s"), WEIR, "-c", other, "--web", str(PORT), check=False)
    os.unlink(other)
    want(p.returncode == 1, p.stderr)
    want_eq(first.stop(), 0, "exit")


LIVE = [t_the_page_is_served_and_nobody_else_may_show_it,
        t_the_stream_has_the_numbers_of_weirctl, t_show_is_what_weirctl_prints,
        t_other_names_and_other_pages_are_refused, t_answers_have_a_rate,
        t_as_many_streams_as_it_says_and_no_more,
        t_a_thousand_strangers_harm_nobody, t_a_reload_with_the_same_ports_changes_nothing]
ALONE = [t_a_token_is_asked_for, t_a_port_in_use_is_one_sentence]


def enter(name):
    """This process moves into the network namespace, from which it asks."""
    fd = os.open(f"/run/netns/{name}", os.O_RDONLY)
    want_eq(ctypes.CDLL(None).setns(fd, 0), 0, "setns")
    os.close(fd)


def main():
    global POLICY_FILE
    if os.geteuid() != 0:
        print("needs root")
        return 77
    failed, only = [], sys.argv[3:]
    with World():
        sh(*ns("s"), "ip", "link", "set", "lo", "up")
        enter(f"{ID}s")
        POLICY_FILE = write_policy(POLICY)
        sw = Switch(POLICY_FILE, "--web", str(PORT))
        try:
            sw.ready()
            for test in LIVE:
                run(failed, only, test, sw)
        finally:
            sw.stop()
            if failed:
                print(sw.text(sw.out) + sw.text(sw.err)[-4000:])
        for test in ALONE:
            run(failed, only, test, None)
        os.unlink(POLICY_FILE)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
