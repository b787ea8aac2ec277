#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""weir-sonic beside a server that is no Redis: it neither waits for ever, nor grows, nor lets the
server's texts reach a terminal.

usage: test_hostile.py WEIR_SONIC
"""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "live"))

import live # noqa: E402
from live import eventually, want # noqa: E402

WEIR_SONIC = sys.argv[1]
MOST_RSS_KB = 250000
SO_SNDBUFFORCE = 32 # socket(7)
CONFIGURED = b"+OK\r\n*2\r\n$22\r\nnotify-keyspace-events\r\n$3\r\nAKE\r\n" # to SELECT, CONFIG GET
SUBSCRIBED = [b"*3\r\n$10\r\npsubscribe\r\n$16\r\n__keyspace@4__:*\r\n:1\r\n",
              b"*3\r\n$9\r\nsubscribe\r\n$23\r\nWATERMARK_CLEAR_REQUEST\r\n:2\r\n"]
MESSAGE = (b"*4\r\n$8\r\npmessage\r\n$16\r\n__keyspace@4__:*\r\n"
           b"$16\r\n__keyspace@4__:a\r\n$4\r\nhset\r\n")


def byte_by_byte(client, stop, request):
    """Each byte comes before a read has waited too long, and the answer never ends."""
    client.sendall(b"$100000\r\n")
    while not stop.wait(0.3):
        client.sendall(b"a")


def send_at_once(client, parts):
    """The kernel holds all of it, so the two programs need not run by turns."""
    client.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 256 << 20)
    for part in parts:
        client.sendall(part)


def without_an_end(client, stop, request):
    send_at_once(client, [b"$2000000000\r\n", *[b"a" * 1000000] * 80])
    stop.wait(60)


def of_too_many_parts(client, stop, request):
    client.sendall(b"*2147483647\r\n")
    stop.wait(60)


def of_long_parts(client, stop, request):
    """No part is too long, and each is whole soon."""
    send_at_once(client, [b"*200\r\n", *[b"$1000000\r\n" + b"a" * 1000000 + b"\r\n"] * 80])
    stop.wait(60)


def of_nested_parts(client, stop, request):
    client.sendall(b"*1\r\n" * 100000)
    stop.wait(60)


def that_moves_the_terminal(client, stop, request):
    client.sendall(b"-ERR \x1b]0;title\x07\x1b[31m \xc2\x9b\xe2\x80\xae\r\n" * 3)
    stop.wait(60)


def no_subscription(client, stop, request):
    """What comes before the subscription is answered as Redis does."""
    if b"CONFIG" in request:
        client.sendall(CONFIGURED)
        stop.wait(60)
    else:
        byte_by_byte(client, stop, request)


def a_late_refusal(client, stop, request):
    """The second subscription is refused, behind a message of the first."""
    if b"CONFIG" in request:
        client.sendall(CONFIGURED)
    else:
        client.sendall(SUBSCRIBED[0])
        client.recv(65536)
        client.sendall(MESSAGE)
        stop.wait(0.5) # the message is read alone
        client.sendall(b"-NOPERM no such channel\r\n")
    stop.wait(60)


def messages_without_end(client, stop, request):
    """Messages of the first subscription, and no answer to the second."""
    if b"CONFIG" in request:
        client.sendall(CONFIGURED)
    else:
        client.sendall(SUBSCRIBED[0])
        while not stop.wait(0.01):
            client.sendall(MESSAGE)
    stop.wait(60)


def an_early_end(client, stop, request):
    """The subscriptions hold, and the connection ends at the next command."""
    if b"CONFIG" in request:
        client.sendall(CONFIGURED)
        client.recv(65536)
        client.shutdown(socket.SHUT_RDWR)
    else:
        client.sendall(SUBSCRIBED[0])
        client.recv(65536)
        client.sendall(SUBSCRIBED[1])
        stop.wait(60)


@contextlib.contextmanager
def beside(answer):
    """weir-sonic and a server whose every connection gets this answer to its first command."""
    stop, clients = threading.Event(), []

    def serve(client):
        with contextlib.suppress(OSError):
            request = client.recv(65536)
            answer(client, stop, request)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                clients.append(server.accept()[0])
                threading.Thread(target=serve, args=(clients[-1],), daemon=True).start()

    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/redis.sock")
        server.listen()
        threading.Thread(target=accept, daemon=True).start()
        with open(f"{folder}/log", "w+") as log:
            bridge = subprocess.Popen([WEIR_SONIC, "-s", "none", "--redis", f"{folder}/redis.sock",
                                       "--policy", f"{folder}/policy.yaml"], stderr=log)
            try:
                yield bridge, lambda: open(log.name, errors="surrogateescape").read() # noqa: SIM115
            finally:
                bridge.kill()
                bridge.wait()
                stop.set()
                for s in (server, *clients):
                    with contextlib.suppress(OSError):
                        s.shutdown(socket.SHUT_RDWR)


def rss_kb(bridge):
    with open(f"/proc/{bridge.pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmHWM")).split()[1])


def ends_at_once(bridge):
    began = time.monotonic()
    bridge.send_signal(signal.SIGTERM)
    want(bridge.wait(60) == 0, f"exit status {bridge.returncode}")
    return time.monotonic() - began


def run_before_others(bridge):
    """On a busy machine an answer that is too long would take longer than an answer may."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(bridge.pid, os.SCHED_RR, os.sched_param(1))


def an_answer_has_a_time():
    with beside(byte_by_byte) as (bridge, log):
        eventually(lambda: "no answer in time" in log(), "the answer is late", 60)
        want(bridge.poll() is None, log())


def a_subscription_has_a_time():
    with beside(no_subscription) as (bridge, log):
        eventually(lambda: "no answer in time" in log(), "the subscription is late", 60)
        want(bridge.poll() is None, log())


def log_of_four_attempts(behaviour):
    """The bridge waits longer from one attempt to the next."""
    tries = []

    def answer(client, stop, request):
        if b"CONFIG" in request:
            tries.append(time.monotonic())
        behaviour(client, stop, request)

    with beside(answer) as (bridge, log):
        eventually(lambda: len(tries) >= 4, "it tries again", 60)
        want(bridge.poll() is None, log())
        # 1, 2 and 4 seconds and what a busy machine adds; without a longer wait, 1 each time and
        # the half second before a refusal.
        want(tries[3] - tries[0] > 6, f"the attempts: {[t - tries[0] for t in tries]}")
        return log()


def a_refusal_behind_a_message_is_seen():
    said = log_of_four_attempts(a_late_refusal)
    want(said.count("SUBSCRIBE: NOPERM no such channel") == 1, said)
    want("answers again" not in said, said)


def a_connection_that_ends_soon_is_tried_less_often():
    said = log_of_four_attempts(an_early_end)
    want("answers again" in said, said)


def messages_are_no_answer():
    with beside(messages_without_end) as (bridge, log):
        eventually(lambda: "no answer in time" in log(), "the second subscription is late", 60)
        want(bridge.poll() is None, log())


def a_signal_ends_it_in_the_middle_of_an_answer():
    for answer in byte_by_byte, no_subscription:
        with beside(answer) as (bridge, log):
            time.sleep(1)
            took = ends_at_once(bridge)
            # One second for each of the two last answers, and what a busy machine adds.
            want(took < 20, f"{answer.__name__}: it took {took:.1f} s: {log()}")


def an_answer_has_a_size():
    for answer, why in ((without_an_end, "an answer is too long"),
                        (of_long_parts, "an answer is too long"),
                        (of_too_many_parts, "an answer has too many parts"),
                        (of_nested_parts, "")):
        with beside(answer) as (bridge, log):
            run_before_others(bridge)
            eventually(lambda: log() != "" and why in log(), # noqa: B023
                       f"{answer.__name__}: {why}", 60)
            want(rss_kb(bridge) < MOST_RSS_KB, f"{answer.__name__}: {rss_kb(bridge)} KB")
            want(bridge.poll() is None, log())
            want(ends_at_once(bridge) < 20, log())


def a_text_of_the_server_moves_no_terminal():
    with beside(that_moves_the_terminal) as (bridge, log):
        eventually(lambda: "title" in log(), "the error of the server is said", 60)
        obeyed = [c for c in log() if (c < " " and c != "\n") or c in "\x7f\x9b\u202e"]
        want(not obeyed, repr(log()))
        want(bridge.poll() is None, log())


sys.exit(live.run_tests([an_answer_has_a_time, a_subscription_has_a_time,
                         a_refusal_behind_a_message_is_seen,
                         a_connection_that_ends_soon_is_tried_less_often, messages_are_no_answer,
                         a_signal_ends_it_in_the_middle_of_an_answer,
                         an_answer_has_a_size, a_text_of_the_server_moves_no_terminal]))
