# SPDX-License-Identifier: Apache-2.0
"""A bare Debian system of its own: packages from the sources of this machine's apt, systemd as its
first process, and a network without any interface of this machine.

The system has namespaces of its own for mounts, processes, network, names and control groups, and a
/dev with the harmless devices alone. The network of this machine is used for apt-get only."""
import contextlib
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import live # noqa: E402

PACKAGES = ["systemd-sysv", "iproute2"]
# $1: the folder.
BOOT = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for d in null:3 zero:5 full:7 random:8 urandom:9; do
	mknod -m 666 "dev/${d%:*}" c 1 "${d#*:}"
done
mkdir dev/shm dev/pts dev/net
mknod -m 666 dev/net/tun c 10 200
mount -t cgroup2 cgroup2 sys/fs/cgroup
ip link set lo up
hostname bare
mkdir -p .old
pivot_root . .old
umount -l .old
rmdir .old
exec env -i container=weir-test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
"""


def out_of(*cmd, **more):
    return subprocess.run(cmd, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def base(folder):
    """The tar of a bare system, made again when a version of its packages changes."""
    if not shutil.which("mmdebstrap"):
        live.skip("mmdebstrap is not installed; scripts/setup --package installs it")
    path, stamp = os.path.join(folder, "base.tar"), os.path.join(folder, "base.packages")
    versions = out_of("apt-cache", "policy", "apt", "dpkg", "libc6", *PACKAGES)
    if os.path.exists(path) and os.path.exists(stamp):
        with open(stamp) as f:
            if f.read() == versions:
                return path
    found = [f for f in sorted(glob.glob("/etc/apt/sources.list") +
                               glob.glob("/etc/apt/sources.list.d/*"))
             if f.endswith((".list", ".sources")) and " bookworm" in open(f).read()]
    if not found:
        live.skip("apt has no source for bookworm")
    done = subprocess.run(["mmdebstrap", "--variant=apt", "--quiet", "--format=tar",
                           "--include=" + ",".join(PACKAGES), "bookworm", path + ".new", *found],
                          capture_output=True, text=True)
    if done.returncode != 0:
        live.skip(f"mmdebstrap cannot make a system here: {done.stderr.strip()[-300:]}")
    os.rename(path + ".new", path)
    with open(stamp, "w") as f:
        f.write(versions)
    return path


def remove_group(path):
    """True once a control group without a process is gone, with all below it."""
    for folder, _, _ in os.walk(path, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not os.path.exists(path)


def is_empty(group):
    with open(f"{group}/cgroup.events") as f:
        return "populated 0" in f.read()


class Bare:
    def __init__(self, cache, root):
        self.root = root
        os.makedirs(root)
        out_of("tar", "-C", root, "--numeric-owner", "-xpf", base(cache))
        with open(f"{root}/etc/apt/apt.conf.d/90host", "w") as f:
            f.writelines(line + "\n" for line in out_of("apt-config", "dump").splitlines()
                         if line.startswith("Acquire::") and not line.endswith('"";'))
        if os.path.exists("/etc/resolv.conf"):
            shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
        self.group = self.process = None

    def boot(self):
        with open("/proc/mounts") as f:
            tops = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
        if not tops:
            live.skip("no control groups of version 2, so systemd cannot run here")
        self.group = f"{tops[0]}/weir-test-{os.environ.get('WEIR_CONTAINED', os.getpid())}"
        for left in glob.glob(f"{tops[0]}/weir-test-*"):  # by a run that was killed
            if is_empty(left):
                remove_group(left)
        os.makedirs(self.group, exist_ok=True)

        def enter():
            with open(f"{self.group}/cgroup.procs", "w") as f:
                f.write("0")

        with open(self.root + ".log", "w") as log:
            self.process = subprocess.Popen(
                ["unshare", "-m", "-p", "-f", "-n", "-u", "-i", "-C", "--kill-child",
                 "sh", "-c", BOOT, "sh", self.root], preexec_fn=enter,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            live.eventually(lambda: self.run("systemctl is-system-running", check=False)
                            .stdout.strip() in ("running", "degraded"), "systemd runs", 30)
        except Exception as e:
            with open(self.root + ".log") as f:
                live.skip(f"systemd cannot run here: {e}: {f.read().strip()[-300:]}")

    def first(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            return f.read().split()[0]

    def run(self, script, check=True, network=False, timeout=300):
        """A script of sh inside. network: that of this machine."""
        try:
            inside = ["nsenter", "-t", self.first(), "-m", "-p", "-u", "-i", "-C",
                      *([] if network else ["-n"])]
        except (OSError, IndexError):
            inside = ["false"]
        done = subprocess.run([*inside, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                               "DEBIAN_FRONTEND=noninteractive", "sh", "-c", script],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{script}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def out(self, script, **more):
        return self.run(script, **more).stdout.strip()

    def files(self):
        """All paths, but for what apt, dpkg and systemd keep for themselves."""
        own = ("proc", "sys", "dev", "run", "tmp", "var/cache", "var/lib/apt", "var/lib/dpkg",
               "var/log", "var/lib/systemd", "var/tmp", "root")
        found = set()
        for folder, folders, names in os.walk(self.root):
            at = os.path.relpath(folder, self.root)
            folders[:] = [d for d in folders if os.path.normpath(f"{at}/{d}") not in own]
            found.update(os.path.normpath(f"{at}/{n}") for n in [*names, *folders])
        return found

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.group is None:
            return

        live.eventually(lambda: remove_group(self.group), f"{self.group} is empty", 10)
