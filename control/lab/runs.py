# SPDX-License-Identifier: Apache-2.0
"""Many independent runs of programs, on all processors of this machine or on a Dask scheduler, and
what each of them printed. `weir-lab sweep`, `weir-lab tune` and `scripts/seeds` start theirs here.

With a folder of results, each run that ended by itself is kept there under a key: a hash of its
command line and of the contents of the program and of all files that the run reads. A run whose key
is there is not started again. If one of its files changes during a run, the run is not kept.

On Dask, a task is a command line. Program and files are those of the same paths at the worker: a
shared file system or the same installation. A worker whose contents differ refuses the task.
Nothing else differs, so the results are the same bytes as on one machine. Dask gives the task of a
worker that died to another worker, a limited number of times (`allowed-failures`)."""
import contextlib
import ctypes
import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD}
PR_SET_PDEATHSIG = 1
SCHEME, CONNECT_SECONDS, LOOK_SECONDS, HUNG_SECONDS = 'dask://', 10, 0.2, 10
DEBIAN_PYTHON = '/usr/bin/python3'
APT = 'apt-get install python3-distributed'


class Refused(Exception):
    """Runs cannot begin, or end before all of them are done. The text says why and what to do."""


class Job:
    """A command line; and the command that prints the names of the files it reads, or None where it
    reads none but the program. pages: a folder for the page of the run, or None."""

    def __init__(self, command, lists_files=None, pages=None):
        self.command, self.lists_files, self.pages = command, lists_files, pages
        self.files = {} # path: (hash, state of the file when it was hashed)

    def key(self):
        hashes = {path: h for path, (h, _) in self.files.items()}
        return hashlib.sha256(json.dumps([self.command, hashes], sort_keys=True)
                              .encode()).hexdigest()

    def page(self):
        """The file of the run's page, named by the key; None: it has none."""
        return os.path.join(self.pages, self.key()[:16] + '.html') if self.pages and self.files \
            else None

    def started(self):
        """The command that also makes the page."""
        return [*self.command[:2], f'--page={self.page()}', *self.command[2:]] if self.page() \
            else self.command

    def unchanged(self):
        with contextlib.suppress(OSError):
            return all(state_of(path) == state for path, (_, state) in self.files.items())
        return False


def state_of(path):
    s = os.stat(path)
    return s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns


def hash_of(path):
    with open(path, 'rb') as f:
        return hashlib.file_digest(f, 'sha256').hexdigest()


# ---- on this machine

def memory_file():
    return open(os.memfd_create('output'), 'w+b')


def run_here(commands, jobs, ended, shown=lambda: None):
    """Runs each command, at most `jobs` at a time, and calls ended(index, status, out, err). SIGINT
    and SIGTERM end the runs: what runs is told to stop, and no other command starts. Returns
    whether that happened. Signals are waited for, not caught: none can come between a look and the
    wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    libc = ctypes.CDLL(None)
    running, waiting, stopped = [], list(enumerate(commands)), False

    def prepare():
        # Runs that are killed leave no process behind.
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
        signal.pthread_sigmask(signal.SIG_SETMASK, before - {signal.SIGCHLD})

    try:
        while True:
            while waiting and len(running) < jobs and not stopped:
                i, command = waiting.pop(0)
                # In memory: a disk that is full would cut what a run says.
                out, err = memory_file(), memory_file()
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


# ---- on Dask

def run_there(command, folder, hashes):
    """At a worker: (None, why it refuses, '') or (status, out, err)."""
    here = f'the worker at {os.uname().nodename}'
    for path, expected in hashes.items():
        try:
            own = hash_of(os.path.join(folder, path))
        except OSError as e:
            return None, f'{here} cannot read {path}: {e.strerror}', ''
        if own != expected:
            what = 'another build of' if path == command[0] else 'other contents of'
            return None, f'{here} has {what} {path}: give it the same file', ''
    libc = ctypes.CDLL(None)
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM)),
                          check=False)
    return done.returncode, *(text.decode('utf-8', 'surrogateescape')
                              for text in (done.stdout, done.stderr))


class Stopped(Exception):
    """By a signal."""


class Dask:
    def __init__(self, address):
        try:
            import cloudpickle
            import distributed
        except ImportError as e:
            # Another Python may come first in PATH than the one of Debian's packages.
            if sys.executable != DEBIAN_PYTHON and os.path.exists(DEBIAN_PYTHON):
                os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, *sys.orig_argv[1:]])
            raise Refused(f'--on needs Dask, and Python has no module {e.name}: {APT}') from e
        logging.getLogger('distributed').setLevel(logging.CRITICAL)
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        self.distributed, self.address = distributed, 'tcp://' + address.removeprefix(SCHEME)
        # The threads of the client must leave SIGCHLD to run_here.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            self.client = distributed.Client(self.address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as e:
            raise Refused(f'no Dask scheduler answers at {address}: start one with '
                          'dask-scheduler, or leave --on away') from e

    def run(self, jobs, ended, shown):
        """As run_here. Raises Refused where the scheduler is gone or a worker refuses."""
        def stop(*_):
            raise Stopped

        before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            killed = []
            self.take([(i, job) for i, job in enumerate(jobs)], killed.append, ended, shown)
            # Dask blames each task of a worker that died. Alone, a task can only blame itself.
            for i in sorted(killed):
                self.take([(i, jobs[i])], lambda i: ended(
                    i, 1, '', 'its worker died, also when it had no other run'), ended, shown)
            return False
        except Stopped:
            return True
        finally:
            for s, handler in before.items():
                signal.signal(s, handler)

    def take(self, numbered, killed, ended, shown):
        futures, over = {}, threading.Event()
        self.answered = time.monotonic()
        threading.Thread(target=self.watch_scheduler, args=[over], daemon=True).start()
        try:
            for i, job in numbered:
                hashes = {path: h for path, (h, _) in job.files.items()}
                futures[self.client.submit(run_there, job.command, os.getcwd(), hashes,
                                           pure=False)] = i
            shown()
            ready = self.distributed.as_completed(futures)
            while not ready.is_empty():
                # Workers come and go while no run ends.
                time.sleep(LOOK_SECONDS)
                for future in ready.next_batch(block=False):
                    self.finish(future, futures[future], killed, ended)
                self.workers() # waits until the scheduler answers
                self.answered = time.monotonic()
                shown()
        finally:
            over.set()
            with contextlib.suppress(Exception):
                self.client.cancel(list(futures))

    def finish(self, future, i, killed, ended):
        try:
            status, out, err = future.result()
        except self.distributed.CancelledError as e:
            raise self.gone() from e
        except self.distributed.KilledWorker:
            killed(i)
            return
        if status is None:
            raise Refused(out)
        ended(i, status, out, err)

    def watch_scheduler(self, over):
        """A thread. A scheduler that is stopped, or behind a cut cable, ends nothing: say so."""
        said = False
        while not over.wait(HUNG_SECONDS / 4):
            silent = time.monotonic() - self.answered > HUNG_SECONDS
            if silent and not said:
                print(f'\nthe Dask scheduler at {self.address} has not answered for '
                      f'{HUNG_SECONDS} s; the runs wait for it', file=sys.stderr, flush=True)
            said = silent

    def gone(self):
        return Refused(f'the Dask scheduler at {self.address} is gone')

    def workers(self):
        known = self.client.scheduler_info()
        if 'workers' not in known: # the client has given the scheduler up, and closed
            raise self.gone()
        return len(known['workers'])


# ---- results that are kept

def write_whole(path, text):
    """The file is whole or as it was, also if the disk is full. Raises OSError."""
    part = f'{path}.{os.getpid()}'
    try:
        with open(part, 'w', encoding='utf-8', errors='surrogateescape') as f:
            f.write(text)
        os.rename(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def checksum(status, out, err):
    return hashlib.sha256(json.dumps([status, out, err]).encode()).hexdigest()


class Results:
    def __init__(self, folder):
        self.folder, self.trouble = folder, None
        os.makedirs(folder, exist_ok=True)

    def path(self, key):
        return os.path.join(self.folder, key + '.json')

    def get(self, job):
        """(status, out, err), or None. A file that is not whole counts as none."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            with open(self.path(job.key()), encoding='ascii') as f:
                r = json.load(f)
            if r['sum'] == checksum(r['status'], r['out'], r['err']):
                return r['status'], r['out'], r['err']
        return None

    def put(self, job, status, out, err):
        """Of a run that ended by itself and had the files of its key."""
        whole = status == 0 or (status == 1 and '"complete":true' in out)
        if not whole or not job.unchanged():
            return
        kept = {'command': job.command, 'status': status, 'out': out, 'err': err,
                'sum': checksum(status, out, err)}
        try:
            write_whole(self.path(job.key()), json.dumps(kept))
        except OSError as e:
            self.trouble = f'{self.folder}: cannot keep results: {e.strerror}'


class Engine:
    """jobs: processes at a time on this machine. on: 'dask://HOST:PORT' or None. out: the folder
    whose `results` has the runs that are done, or None."""

    def __init__(self, jobs, on=None, out=None):
        self.jobs, self.dask, self.hashes = jobs, None, {}
        self.results = Results(os.path.join(out, 'results')) if out is not None else None
        if on is not None and (not on.startswith(SCHEME) or ':' not in on[len(SCHEME):]):
            raise Refused(f'--on needs {SCHEME}HOST:PORT, not {on}')
        if on is not None:
            self.dask = Dask(on)

    def waits(self):
        """Where no worker is yet, or None."""
        return self.dask.address if self.dask is not None and not self.dask.workers() else None

    def where(self):
        if self.dask is None:
            return ''
        n = self.dask.workers()
        return f' on {n} worker{"s" * (n > 1)}' if n else ', waiting for a worker'

    def look(self, jobs):
        """Which files each job reads, and their contents. A job whose list fails has none: its run
        says why."""
        texts, lists = {}, list({tuple(j.lists_files): None for j in jobs if j.lists_files})

        def listed(i, status, out, err):
            texts[lists[i]] = out if status == 0 else None

        if run_here(map(list, lists), self.jobs, listed):
            return True
        for j in jobs:
            text = texts[tuple(j.lists_files)] if j.lists_files else ''
            if text is not None:
                j.files = {path: self.hashed(path) for path in
                           [j.command[0], *text.splitlines()]}
        return False

    def hashed(self, path):
        """Contents are read again when the state of a file has changed."""
        state = state_of(path)
        if path not in self.hashes or self.hashes[path][1] != state:
            self.hashes[path] = hash_of(path), state
        return self.hashes[path]

    def run(self, jobs, ended, shown=lambda: None):
        """Calls ended(index, status, out, err) for each job; returns whether a signal stopped the
        runs. Raises Refused."""
        if (self.results or self.dask) and self.look(jobs):
            return True
        todo = []
        for i, job in enumerate(jobs):
            known = self.results.get(job) if self.results and job.files else None
            if known is None:
                todo.append(i)
            else:
                ended(i, *known)

        def end(n, *result):
            job = jobs[todo[n]]
            if self.results and job.files:
                self.results.put(job, *result)
            ended(todo[n], *result)

        if self.dask is not None and todo:
            return self.dask.run([jobs[i] for i in todo], end, shown)
        return run_here([jobs[i].started() for i in todo], self.jobs, end, shown)

    def trouble(self):
        return self.results.trouble if self.results else None
