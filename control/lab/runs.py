# SPDX-License-Identifier: Apache-2.0
"""Many independent runs of programs: several processes at a time, and what each of them printed.

`weir-lab sweep`, `weir-lab tune` and `scripts/seeds` start their runs here."""
import ctypes
import signal
import subprocess
import tempfile

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD}
PR_SET_PDEATHSIG = 1


def run_all(commands, jobs, ended, shown=lambda: None):
    """Runs each command, at most `jobs` at a time, and calls ended(index, status, out, err). SIGINT
    and SIGTERM end the sweep: what runs is told to stop, and no other command starts. Returns
    whether that happened. Signals are waited for, not caught: none can come between a look and the
    wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    libc = ctypes.CDLL(None)
    running, waiting, stopped = [], list(enumerate(commands)), False

    def prepare():
        # A sweep that is killed leaves no process behind.
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        while True:
            while waiting and len(running) < jobs and not stopped:
                i, command = waiting.pop(0)
                out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
                child = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=prepare)
                running.append((i, child, out, err))
            shown()
            if not running:
                return stopped
            if signal.sigwaitinfo(SIGNALS).si_signo != signal.SIGCHLD:
                stopped = True
                for _, child, _, _ in running:
                    child.terminate()
            for i, child, *files in list(running):
                if child.poll() is None:
                    continue
                running = [r for r in running if r[1] is not child]
                texts = []
                for f in files:
                    f.seek(0)
                    texts.append(f.read().decode('utf-8', 'surrogateescape'))
                    f.close()
                ended(i, child.returncode, *texts)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
