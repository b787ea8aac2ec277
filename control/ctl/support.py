# SPDX-License-Identifier: Apache-2.0
"""`weirctl support`: one archive for a bug report. weirctl starts this program with its own path,
the name of the switch, the kinds of `show`, and the file to write, if one is named.

Each part that cannot be collected is named with the reason, and stops no other part. A switch that
once did not answer is not asked again. Values of passwords and the like are blanked in every
text."""
import glob
import io
import json
import os
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import time

DONE, FAILED = range(2) # exit codes
COMMAND_SECONDS, JOURNAL_LINES = 20, 5000
SOCKETS = '/run/weir'
BLANK = '<blanked>'
WORD = (r'(?:[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|psk|credential|community|'
        r'(?:private|auth|api|shared)[-_ ]?key)[\w.-]*|pass|pwd|authorization)')
NAME = re.compile(f'(?i){WORD}')
# A secret may have any character, so nothing of its line is kept.
KEYED = re.compile(rf"""(?i)(["']?\b{WORD}["']?\s*[:=]\s*)(\S.*)""")
# As in the configurations of routers. Not in a sentence, nor before an option.
BARE = re.compile(r"""(?i)(\b(?:md5-)?(?:password|secret|community|key-string)\s+)"""
                  r"""(?![:=]|--|-[a-z]\b|(?:of|is|for|in|and|or|the|to|at|was)\b)(\S.*)""")
OPTION = re.compile(rf'(?i)(--{WORD}\s+)(\S.*)')
IN_URL = re.compile(r'(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)([^\s/]+)(?=@)')
BELOW = re.compile(rf"""(?i)^\s*(?:-\s+)?["']?{WORD}["']?\s*:""") # its value may have more lines
PEM = re.compile(r'(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----)', re.S)
TAKES_A_FILE = re.compile(r'(?i)[-_]file\b')


def masked(text):
    """As control/base/terminal.c masks lines for people."""
    return ''.join(c if c.isprintable() or c == '\n' else '?' for c in text)


class Secrets:
    """Blanks what looks like a secret. n: how many values."""

    def __init__(self):
        self.n = 0

    def value(self, m):
        if m[2] == BLANK or TAKES_A_FILE.search(m[1]): # done, or names where the secret is
            return m[0]
        self.n += 1
        return m[1] + BLANK

    def block(self, m):
        self.n += 1
        return f'{m[1]}\n{BLANK}\n{m[2]}'

    def blank(self, text):
        out, inside = [], None # the indent of a key whose value may be on the lines below
        for line in PEM.sub(self.block, text).split('\n'):
            indent = len(line) - len(line.lstrip())
            if inside is not None and (indent > inside or not line.strip() or
                                       (indent == inside and line.lstrip().startswith('- '))):
                if line.strip() and BLANK not in out[-1]: # the first of them
                    out[-1] += f' {BLANK}'
                    self.n += 1
                continue
            inside = indent if BELOW.match(line) and not TAKES_A_FILE.search(line) else None
            for pattern in (KEYED, OPTION, BARE, IN_URL):
                line = pattern.sub(self.value, line)
            out.append(line)
        return '\n'.join(out)

    def blank_json(self, value):
        """Of a document: the texts in it, and what has the name of a secret."""
        if isinstance(value, str):
            return self.blank(value)
        if isinstance(value, list):
            return [self.blank_json(v) for v in value]
        if not isinstance(value, dict):
            return value
        named = {k for k, v in value.items() if v is not None and not isinstance(v, bool) and
                 NAME.fullmatch(k) and not TAKES_A_FILE.search(k)}
        self.n += len(named)
        return {k: BLANK if k in named else self.blank_json(v) for k, v in value.items()}


class Archive:
    """Files in memory, what they are, and what is missing."""

    def __init__(self):
        self.files, self.parts, self.missing = {}, [], []
        self.answers = {} # of the switch, by kind
        self.secrets = Secrets()

    def add(self, name, text):
        self.files[name] = self.secrets.blank(text)

    def add_answer(self, kind, text):
        self.answers[kind] = json.loads(text)
        shown = self.secrets.blank_json(self.answers[kind])
        self.files[f'show/{kind}.json'] = json.dumps(shown, indent=2) + '\n'

    def part(self, what):
        self.parts.append(what)

    def lacks(self, what, why):
        self.missing.append(f'{what}: {why}')

    def about(self, title):
        lines = [title, '', *self.parts, '']
        lines += ['Not collected:', *[f'  {line}' for line in self.missing], '']
        lines.append(f'Values of passwords and the like that were blanked: {self.secrets.n}')
        return masked('\n'.join(lines) + '\n')

    def write(self, out, folder, title):
        with tarfile.open(fileobj=out, mode='w:gz') as tar:
            for name, text in {'README': self.about(title), **self.files}.items():
                data = text.encode('utf-8', 'surrogateescape')
                info = tarfile.TarInfo(f'{folder}/{name}')
                info.size, info.mtime, info.mode = len(data), int(time.time()), 0o600
                tar.addfile(info, io.BytesIO(data))


def run(*command):
    """(status, output, why it did not run). Without a status there is no output."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=COMMAND_SECONDS, check=False)
    except FileNotFoundError:
        return None, '', f'{command[0]} is not installed'
    except subprocess.TimeoutExpired:
        return None, '', f'{command[0]} did not end within {COMMAND_SECONDS} s'
    except OSError as e:
        return None, '', f'{command[0]}: {e.strerror}'
    out, err = (t.decode('utf-8', 'surrogateescape') for t in (done.stdout, done.stderr))
    return done.returncode, out, err.strip()


def read(path):
    """The text, or None."""
    try:
        with open(path, encoding='utf-8', errors='surrogateescape') as f:
            return f.read()
    except OSError:
        return None


# ---- the switch

class Switch:
    def __init__(self, weirctl, name, kinds):
        self.weirctl, self.name, self.kinds = weirctl, name, kinds
        self.pid = self.find_pid()

    def ctl(self, *words):
        """(output, None) or (None, why)."""
        status, out, why = run(self.weirctl, '-s', self.name, *words)
        return (out, None) if status == 0 else (None, why or f'exit status {status}')

    def find_pid(self):
        """Of the process that listens on the socket, also if it does not answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(1)
            try:
                s.connect(f'{SOCKETS}/{self.name}.sock')
                pid = struct.unpack('3i', s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED,
                                                       12))[0]
            except OSError:
                return None
        return pid if pid > 0 else None

    def command_line(self):
        text = read(f'/proc/{self.pid}/cmdline') if self.pid else None
        return text.rstrip('\0').split('\0') if text else []

    def inside(self):
        """Words before a command that runs it where the ports are."""
        with_ports = f'/proc/{self.pid}/ns/net'
        try:
            if self.pid and os.readlink(with_ports) != os.readlink('/proc/self/ns/net'):
                return ['nsenter', f'--net={with_ports}']
        except OSError:
            pass
        return []


def shows(archive, switch):
    kinds = switch.kinds
    why = switch.ctl('show', 'version', '--json')[1]
    n = 0
    for kind in kinds if why is None else []:
        text, why = switch.ctl('show', kind, '--all', '--json')
        if text is not None:
            archive.add_answer(kind, text)
            text, why = switch.ctl('show', kind, '--wide')
        if text is None:
            break
        archive.add(f'show/{kind}.txt', text)
        n += 1
    if why is None:
        text, why = switch.ctl('metrics')
        if text is not None:
            archive.add('metrics.txt', text)
            archive.part('metrics.txt: the page for Prometheus')
    if n > 0:
        archive.part(f'show/: {n} of {len(kinds)} kinds, as JSON and as tables; events among them')
    if why is not None:
        archive.lacks('shows, events and metrics' if n == 0 else 'further shows and metrics', why)


def policy(archive, switch):
    """As it runs; else the file that the process was started with, or that of the service."""
    if 'config' in archive.answers:
        archive.add('policy.yaml', archive.answers['config']['config']['text'])
        archive.part('policy.yaml: the policy as it was loaded')
        return
    words = switch.command_line()
    candidates = [words[i + 1] for i, w in enumerate(words[:-1]) if w in ('-c', '--config')]
    folder = f'/proc/{switch.pid}/cwd' if switch.pid else '/'
    for path in [*(os.path.join(folder, c) for c in candidates), f'/etc/weir/{switch.name}.yaml']:
        if (text := read(path)) is not None:
            archive.add('policy.yaml', text)
            archive.part(f'policy.yaml: the file {path}; the switch may run on another text')
            return
    archive.lacks('policy', 'the switch does not answer, and its file is not known')


def process(archive, switch):
    if switch.pid is None:
        archive.lacks('process', f'no process listens at {SOCKETS}/{switch.name}.sock')
        return
    parts = [f'command line: {" ".join(switch.command_line())}']
    for name in ('status', 'limits', 'cgroup', 'sched', 'wchan'):
        text = read(f'/proc/{switch.pid}/{name}')
        parts.append(f'\n==> {name}\n{text if text is not None else "cannot be read"}')
    for task in sorted(glob.glob(f'/proc/{switch.pid}/task/*/stat')):
        parts.append(f'==> {task}\n{read(task)}')
    archive.add('process.txt', '\n'.join(parts))
    archive.part(f'process.txt: command line, limits and threads of process {switch.pid}')


# ---- the machine

def versions(archive, switch):
    lines = [f'weirctl: {run(switch.weirctl, "--version")[1].strip()}']
    if switch.pid:
        exe = f'/proc/{switch.pid}/exe'
        lines.append(f'weir that runs: {run(exe, "--version")[1].strip()}')
        maps = read(f'/proc/{switch.pid}/maps') or ''
        libraries = set(re.findall(r'\S*/(?:librte_eal|libxdp|libbpf)\.so\S*', maps))
        lines += [f'library: {path}' for path in sorted(libraries)]
    for package in ('weir', 'dpdk', 'librte-eal*', 'libxdp1', 'libbpf1'):
        status, out, _ = run('dpkg-query', '-W', '-f=${Package} ${Version} ${db:Status-Status}\n',
                             package)
        lines += [f'package: {line.removesuffix(" installed")}' for line in out.splitlines()
                  if status == 0 and line.endswith(' installed')]
    lines.append(f'kernel: {platform.release()} {platform.version()} {platform.machine()}')
    system = re.search(r'PRETTY_NAME="?([^"\n]*)', read('/etc/os-release') or '')
    lines.append(f'system: {system[1] if system else "unknown"}')
    lines.append(f'python: {platform.python_version()}')
    archive.add('versions.txt', '\n'.join(lines) + '\n')
    archive.part('versions.txt: weir, DPDK, kernel, system')


def machine(archive, _):
    parts = []
    for path in ('/proc/cmdline', '/proc/meminfo', '/proc/loadavg', '/proc/interrupts',
                 '/proc/pressure/cpu'):
        parts.append(f'==> {path}\n{read(path) or "cannot be read"}')
    for command in (['lscpu'], ['lspci', '-nnk', '-d', '::0200'], ['uptime']):
        status, out, why = run(*command)
        parts.append(f'==> {" ".join(command)}\n{out if status is not None else why}')
    archive.add('machine.txt', '\n'.join(parts))
    archive.part('machine.txt: processors, memory, hugepages, load, network cards')


def devices(archive):
    """The kernel's interfaces among the ports."""
    if 'ports' in archive.answers:
        names = [p['device'] or '' for p in archive.answers['ports']['ports']]
    else:
        names = re.findall(r'xdp:[\w.@\[\]-]+', archive.files.get('policy.yaml', ''))
    out = []
    for name in names:
        kind, _, device = name.partition(':')
        m = re.fullmatch(r'(.*)\[(\d+)-(\d+)\](.*)', device)
        if kind == 'xdp' and m:
            out += [f'{m[1]}{i}{m[4]}' for i in range(int(m[2]), int(m[3]) + 1)]
        elif kind == 'xdp':
            out.append(device)
    return list(dict.fromkeys(out))


def ports(archive, switch):
    before, asked = switch.inside(), devices(archive)
    status, out, why = run(*before, 'ip', '-d', '-s', 'link', 'show')
    if status is None:
        archive.lacks('interfaces', why)
        return
    archive.add('ports/all.txt', out)
    has_ethtool = shutil.which('ethtool') is not None
    for device in asked:
        parts, commands = [], [['ip', '-d', '-s', '-s', 'link', 'show', 'dev', device]]
        if has_ethtool:
            commands += [['ethtool', device], *(['ethtool', option, device] for option in
                                                ('-i', '-k', '-a', '-g', '-l', '-S'))]
        for command in commands:
            status, out, why = run(*before, *command)
            parts.append(f'==> {" ".join(command)}\n{out}{why}\n')
        archive.add(f'ports/{device.replace("/", "_")}.txt', '\n'.join(parts))
    archive.part(f'ports/: what ip{" and ethtool say" if has_ethtool else " says"} of '
                 f'{len(asked)} ports, and all interfaces there')
    if not has_ethtool:
        archive.lacks('facts of ethtool', 'ethtool is not installed')


def journal(archive, switch):
    which = [f'--unit=weir@{switch.name}', f'--unit=weir-inof@{switch.name}']
    status, out, why = run('journalctl', '--no-pager', '--quiet', '--output=short-iso',
                           f'--lines={JOURNAL_LINES}', *which)
    if status == 0 and not out.strip() and switch.pid:
        status, out, why = run('journalctl', '--no-pager', '--quiet', '--output=short-iso',
                               f'--lines={JOURNAL_LINES}', f'_PID={switch.pid}')
    if status != 0:
        archive.lacks('journal', why or f'journalctl ended with status {status}')
    elif not out.strip():
        archive.lacks('journal', f'it has no line of weir@{switch.name}')
    else:
        archive.add('journal.txt', out)
        archive.part(f'journal.txt: {len(out.splitlines())} lines of weir@{switch.name}')


# ---- the program

def create(path):
    """A new file that only its owner reads."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb')


def main():
    weirctl, name, kinds, *named = sys.argv[1:]
    folder = f'weir-support-{re.sub(r"[^A-Za-z0-9._-]", "_", name)}-' + \
        time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
    path = named[0] if named else f'{folder}.tar.gz'
    try:
        out = create(path)
    except OSError as e:
        print(masked(f'weirctl: cannot write {path}: {e.strerror}'), file=sys.stderr)
        return FAILED
    archive, switch = Archive(), Switch(weirctl, name, kinds.split())
    try:
        for part in (shows, policy, process, versions, journal, ports, machine):
            try:
                part(archive, switch)
            except Exception as e: # a part that fails stops no other part
                archive.lacks(part.__name__, f'support.py failed: {e!r}')
        with out:
            archive.write(out, folder, f'Collected by weirctl support of the switch {name}')
    except BaseException as e:
        os.unlink(path)
        if not isinstance(e, OSError):
            raise
        print(masked(f'weirctl: cannot write {path}: {e.strerror}'), file=sys.stderr)
        return FAILED
    lines = [f'{path}: {os.path.getsize(path) / 1000:.0f} KB, {len(archive.files) + 1} files'
             f'{"" if archive.answers else "; the switch does not answer"}',
             *(f'  {line}' for line in archive.parts)]
    if archive.missing:
        lines += ['not collected', *(f'  {line}' for line in archive.missing)]
    lines += [f'Blanked values of passwords and the like: {archive.secrets.n}. Names of hosts and '
              'interfaces,\naddresses and paths are in it. Look into it before you send it:',
              f'  tar -xzf {path}']
    print(masked('\n'.join(lines)))
    return DONE


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(FAILED)
