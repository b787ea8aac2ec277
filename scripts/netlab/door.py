# SPDX-License-Identifier: Apache-2.0
"""The page of a switch in a network namespace, at a port of this machine: passes connections on."""
import ctypes
import socket
import threading

from world import Failed

INSIDE = 9480 # the port of `weir --web` in the namespace
TIMEOUT_S = 5


class Door:
    """Listens on 127.0.0.1 from the start. Where it leads to may change."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/"
        self.namespace = None # a path
        try:
            self.listener = socket.create_server(("127.0.0.1", port))
        except OSError as e:
            raise Failed(f"--web: cannot listen on 127.0.0.1:{port}: {e.strerror}") from e
        threading.Thread(target=self.serve, daemon=True).start()

    def lead(self, namespace):
        self.namespace = namespace

    def serve(self):
        while True:
            outside, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=(outside,), daemon=True).start()

    def pass_on(self, outside):
        try:
            inside = self.enter()
        except OSError: # no switch runs now
            outside.close()
            return
        back = threading.Thread(target=copy, args=(inside, outside), daemon=True)
        back.start()
        copy(outside, inside)
        back.join()
        inside.close()
        outside.close()

    def enter(self):
        """A connection to the page. Only this thread moves into the namespace."""
        if self.namespace is None:
            raise OSError("no switch yet")
        with open(self.namespace, encoding="ascii") as f:
            if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        inside = socket.create_connection(("127.0.0.1", INSIDE), timeout=TIMEOUT_S)
        inside.settimeout(None)
        return inside


def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
