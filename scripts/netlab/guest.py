# SPDX-License-Identifier: Apache-2.0
"""Guests of QEMU: Debian's kernel, and an initrd of this machine's own programs.

The kernel comes out of the package file and is installed nowhere. The initrd has busybox, the
programs of the guest with their libraries, and the kernel's modules that the guest loads. Both stay
in a folder until one of them is another version.

A guest listens on its serial line. A command is one line for the guest's shell. The answer is the
output, and a last line with the status.
"""
import dataclasses
import hashlib
import os
import re
import shutil
import socket
import time

from world import Failed, run

QEMU = "/usr/bin/qemu-system-x86_64"
KERNEL = "linux-image-amd64" # the kernel of linux-image-cloud-amd64 has no rdma_rxe
APPEND = "console=ttyS0 quiet panic=-1 mitigations=off rcupdate.rcu_expedited=1"
INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mkdir /run
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in $(cat /modules/order); do insmod /modules/$module.ko; done
ip link set lo up
exec <>/dev/ttyS0 >&0 2>&0
stty -echo -onlcr
echo @ready
while read -r line; do
	eval "$line" </dev/null
	echo "@ended $?"
done
poweroff -f
"""


@dataclasses.dataclass
class Contents:
    """What a guest has besides busybox: the kernel's modules, and programs and libraries of this
    machine with the libraries that they need, and further files."""

    modules: tuple
    programs: tuple # names, or paths
    files: tuple = ()

    def paths(self):
        """Fails where a program is not installed."""
        programs = [shutil.which(p) or os.path.exists(p) and p for p in self.programs]
        for name, path in zip((*self.programs, "qemu-system-x86_64", "busybox"),
                              (*programs, shutil.which(QEMU), shutil.which("busybox"))):
            if not path:
                raise Failed(f"{name} is not installed; run as root: scripts/setup --rdma")
        return [*programs, *self.files,
                *(library for path in programs for library in libraries(path))]


def kernel_package():
    depends = run("apt-cache", "depends", KERNEL, check=False).stdout
    found = re.search(r"Depends: (linux-image-\S+)", depends)
    if not found:
        raise Failed(f"apt knows no package {KERNEL}; run: apt-get update")
    return found[1]


class Cpio:
    """An archive of the format `newc`, which Linux unpacks at its start."""

    def __init__(self):
        self.parts, self.names = [], set()

    def entry(self, name, mode, data=b""):
        if name in self.names:
            return
        if os.path.dirname(name):
            self.entry(os.path.dirname(name), 0o040755)
        self.names.add(name)
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def file(self, path, name=None):
        """Links stay links: DPDK must not load a library under two names."""
        name = name or os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if os.path.islink(path):
            self.entry(name.lstrip("/"), 0o120777, os.readlink(path).encode())
            self.file(os.path.join(os.path.dirname(path), os.readlink(path)))
            return
        with open(path, "rb") as f:
            self.entry(name.lstrip("/"), 0o100755, f.read())

    def bytes(self):
        self.entry("TRAILER!!!", 0)
        return b"".join(self.parts)


def libraries(path):
    return re.findall(r"(/\S+) \(0x", run("ldd", path).stdout)


def modules(folder, wanted):
    """(name, path) of the modules that a guest loads, each behind those that it needs."""
    paths, builtin = {}, ""
    for where, _, files in os.walk(os.path.join(folder, "lib", "modules")):
        paths.update((f[:-3].replace("-", "_"), os.path.join(where, f))
                     for f in files if f.endswith(".ko"))
        if "modules.builtin" in files:
            with open(os.path.join(where, "modules.builtin")) as f:
                builtin = f.read().replace("-", "_")
    order = {}

    def add(name):
        if name in order or name not in paths: # what is no file is built in
            return
        with open(paths[name], "rb") as f:
            needs = re.search(rb"\0depends=([^\0]*)\0", f.read())
        for need in needs[1].decode().split(",") if needs else ():
            add(need.replace("-", "_"))
        order[name] = paths[name]

    for name in wanted:
        add(name)
    missing = [name for name in wanted if name not in order and f"/{name}.ko" not in builtin]
    if missing:
        raise Failed(f"the kernel's package has no module {missing[0]}")
    return order.items()


def initrd(unpacked, contents):
    archive = Cpio()
    archive.entry("init", 0o100755, INIT.encode())
    archive.file(os.path.realpath(shutil.which("busybox")), "bin/busybox")
    for folder in ("dev", "proc", "sys", "tmp"):
        archive.entry(folder, 0o040755)
    for folder in ("lib", "lib64"):
        archive.entry(folder, 0o120777, f"usr/{folder}".encode())
    archive.entry("dev/console", 0o020600)
    for path in contents.paths():
        archive.file(path)
    loaded = modules(unpacked, contents.modules)
    for name, path in loaded:
        archive.file(path, f"modules/{name}.ko")
    archive.entry("modules/order", 0o100644, "\n".join(name for name, _ in loaded).encode())
    return archive.bytes()


def prepare(folder, contents):
    """Paths of (kernel, initrd), made where they are missing or of other versions."""
    package = kernel_package()
    versions = [(path, os.stat(path).st_mtime) for path in contents.paths()]
    tag = hashlib.sha1(f"{package} {versions} {contents.modules} {INIT}".encode()).hexdigest()[:12]
    ready = os.path.join(folder, tag)
    paths = os.path.join(ready, "kernel"), os.path.join(ready, "initrd")
    if os.path.isdir(ready):
        return paths
    shutil.rmtree(folder, ignore_errors=True)
    work = os.path.join(folder, "work")
    unpacked = os.path.join(work, "unpacked")
    os.makedirs(unpacked)
    run("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package, cwd=work,
        timeout=600)
    deb = next(f for f in os.listdir(work) if f.endswith(".deb"))
    run("dpkg-deb", "-x", deb, unpacked, cwd=work, timeout=600)
    boot = os.path.join(unpacked, "boot")
    os.rename(os.path.join(boot, next(f for f in os.listdir(boot) if f.startswith("vmlinuz"))),
              os.path.join(work, "kernel"))
    with open(os.path.join(work, "initrd"), "wb") as f:
        f.write(initrd(unpacked, contents))
    shutil.rmtree(unpacked)
    os.unlink(os.path.join(work, deb))
    os.rename(work, ready)
    return paths


class Guest:
    """A guest in the namespace of the switch. machine: QEMU's options for it, but for its kernel
    and its serial line."""

    def __init__(self, world, name, images, machine, append=APPEND):
        self.name = name
        self.path = os.path.join(world.logs, f"{name}.console")
        self.rest = b""
        self.process = world.spawn(
            "sw", name, QEMU, "-accel", "tcg", "-cpu", "max", "-nodefaults", "-display", "none",
            "-no-reboot", "-kernel", images[0], "-initrd", images[1], "-append", append,
            "-serial", f"unix:{self.path},server=on", *machine)

    def start(self):
        """QEMU waits for the connection before the guest runs, so nothing of its output is lost."""
        self.line = socket.socket(socket.AF_UNIX)
        while self.process.running():
            try:
                self.line.connect(self.path)
                return self
            except OSError:
                time.sleep(0.05)
        raise Failed(f"{self.name} did not start\n{self.process.said()}")

    def ready(self, seconds=300):
        """Waits until the guest listens."""
        if self.read_until(b"@ready\n", seconds)[1] is None:
            raise self.late("its start", seconds)

    def read_until(self, pattern, seconds):
        """What came before the pattern, and its match; None while it has not come."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.rest)):
            self.line.settimeout(max(end - time.monotonic(), 0.01))
            try:
                more = self.line.recv(65536)
            except TimeoutError:
                return "", None
            if not more:
                raise Failed(f"{self.name} ended\n{self.rest.decode(errors='replace')}")
            self.rest += more
        before, self.rest = self.rest[:found.start()], self.rest[found.end():]
        return before.decode(errors="replace"), found

    def late(self, what, seconds):
        return Failed(f"{self.name}: {what}: not within {seconds} s\n"
                      + self.rest.decode(errors="replace"))

    def send(self, command):
        self.sent_at = time.monotonic()
        self.line.sendall(command.encode() + b"\n")

    def answer(self, command, every, seconds=300):
        """(output, status) of the command that was sent; the status is None while it runs."""
        out, found = self.read_until(rb"@ended (\d+)\n", every)
        if found is None and time.monotonic() > self.sent_at + seconds:
            raise self.late(command, seconds)
        return out, int(found[1]) if found else None

    def run(self, command, seconds=120, check=True):
        """What the command printed."""
        self.send(command)
        out, status = self.answer(command, seconds, seconds)
        if status is None:
            raise self.late(command, seconds)
        if check and status != 0:
            raise Failed(f"{self.name}: {command}: status {status}\n{out}")
        return out
