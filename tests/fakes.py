"""Hosts and tools for the suite: a machine that is a directory, a clock that only moves when told,
and openvpn look-alikes that speak as the real versions do."""

import os
import stat
import sys
import textwrap

import routerbench as rb

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINES = os.path.join(HERE, 'machines')


def machine_names():
    """Every directory under tests/machines."""
    return sorted(name for name in os.listdir(MACHINES) if os.path.isdir(os.path.join(MACHINES, name)))


class FakeHost(rb.Host):
    """A host out of a directory (`root/` files, `commands/` outputs), a table of answers, or both.

    `answers` maps a command line, or its first word, to a Ran, a str (stdout, status 0), or a
    function of argv that returns one. The clock moves by each answer's seconds and by sleep().
    """

    def __init__(self, directory=None, files=None, answers=None, wall=1.8e9):
        self.directory = directory
        self.files = dict(files or {})
        self.answers = dict(answers or {})
        self.wall = wall
        self.elapsed = 0.0
        self.commands = []
        self.closed = False

    def read_bytes(self, path, limit=1 << 18):
        if path in self.files:
            content = self.files[path]
            return (content if isinstance(content, bytes) else content.encode())[:limit]
        try:
            with open(os.path.join(self.directory or '/nonexistent', 'root', path.lstrip('/')), 'rb') as file:
                return file.read(limit)
        except OSError as error:
            raise rb.Absent(path) from error

    def names(self, path):
        below = path.rstrip('/') + '/'
        found = {name[len(below):].split('/')[0] for name in self.files if name.startswith(below)}
        try:
            found.update(os.listdir(os.path.join(self.directory or '/nonexistent', 'root', path.lstrip('/'))))
        except OSError:
            pass
        return sorted(found)

    def _recorded(self):
        try:
            return os.listdir(os.path.join(self.directory or '/nonexistent', 'commands'))
        except OSError:
            return []

    def find(self, command):
        known = list(self.answers) + self._recorded()
        return '/usr/bin/' + command if any(name.split()[0] == command for name in known) else None

    def uname(self):
        words = self.output('uname', '-srm').split()
        return tuple(words) if len(words) == 3 else ('Linux', '', '')

    def run_all(self, commands, limit, tick=rb.no_tick):
        rans = [self._answer(tuple(argv)) for argv in commands]
        seconds = max(ran.seconds for ran in rans)
        ended = self.elapsed + seconds
        if seconds > rb.FIRST_TICK:
            self.elapsed += rb.FIRST_TICK
            tick(rb.FIRST_TICK)
        self.elapsed = ended
        return rans

    def _answer(self, argv):
        self.commands.append(argv)
        line = ' '.join(argv)
        answer = self.answers.get(line, self.answers.get(argv[0]))
        if callable(answer):
            answer = answer(argv)
        if answer is None:
            answer = self._from_directory(argv, line)
        if answer is None:
            return rb.Ran(argv, 127, err='%s: not found' % argv[0])
        return rb.Ran(argv, 0, answer) if isinstance(answer, str) else answer._replace(argv=argv)

    def _from_directory(self, argv, line):
        for name in (line, argv[0]):
            if name in self._recorded():
                with open(os.path.join(self.directory, 'commands', name), encoding='utf-8', errors='replace') as file:
                    return file.read()
        return None

    def now(self):
        return self.wall + self.elapsed

    def used(self):
        return 0.0

    def clock(self):
        return self.elapsed

    def sleep(self, seconds):
        self.elapsed += seconds

    def private_path(self, name):
        return '/tmp/private/' + name

    def close(self):
        self.closed = True


def machine_host(name, **more):
    """The FakeHost of a directory under tests/machines."""
    return FakeHost(os.path.join(MACHINES, name), **more)


def write_tool(directory, name, body):
    """An executable shell script; its path."""
    path = os.path.join(str(directory), name)
    with open(path, 'w') as file:
        file.write('#!/bin/sh\n' + textwrap.dedent(body))
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


AGENT = os.path.join(os.path.dirname(HERE), 'routerbench.py')


def agent(*arguments):
    """argv that runs the agent as a user would."""
    return [sys.executable, AGENT, *arguments]


class FakeOpenvpn:
    """Answers like a real openvpn: the spelling, the messages, the exit statuses and the packet
    bound of versions 2.3 to 2.7, as runs of the real ones showed them. A run takes start +
    packet * N + byte * N(N+1)/2 seconds, times `noise()`."""

    TITLES = {
        '2.3': 'OpenVPN 2.3.18 mips-openwrt-linux-gnu [SSL (OpenSSL)] [LZO] [EPOLL] [MH] [IPv6]\n'
               'library versions: OpenSSL 1.0.2u  20 Dec 2019, LZO 2.10\n',
        '2.4m': 'OpenVPN 2.4.12 mips-openwrt-linux-gnu [SSL (mbed TLS)] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD]\n'
                'library versions: mbed TLS 2.16.12, LZO 2.10\n',
        '2.5': 'OpenVPN 2.5.1 x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [PKCS11] [MH/PKTINFO] [AEAD]\n'
               'library versions: OpenSSL 1.1.1w  11 Sep 2023, LZO 2.10\n',
        '2.6': 'OpenVPN 2.6.14 x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD] [DCO]\n'
               'library versions: OpenSSL 3.0.19 27 Jan 2026, LZO 2.10\nDCO version: N/A\n',
        '2.6w': 'OpenVPN 2.6.14 aarch64-openwrt-linux-gnu [SSL (OpenSSL)] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD]\n'
                'library versions: wolfSSL 5.7.2, LZO 2.10\n',
        '2.7': 'OpenVPN 2.7.0 [git:HEAD/ee1577744fb09af7+] x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZ4] [AEAD] [DCO]\n'
               'library versions: OpenSSL 3.6.1 27 Jan 2026, LZO 2.10\n',
    }
    STAMP = '2026-01-02 03:04:05 '

    def __init__(self, version='2.6', costs=None, noise=lambda: 1.0, ciphers=None):
        self.version, self.costs, self.noise = version, costs or {}, noise
        self.ciphers = ciphers or {'AES-128-CBC', 'AES-256-CBC', 'AES-128-GCM', 'AES-256-GCM', 'CHACHA20-POLY1305',
                                   'AES-256-CTR', 'none'}
        self.timed = []

    def __call__(self, argv):
        words = argv[1:]
        if words == ('--version',):
            return rb.Ran(argv, 1 if self.version[:3] < '2.5' else 0, self.TITLES[self.version])
        if words[0] == '--genkey':
            old = words[1] == '--secret'
            return rb.Ran(argv, 0) if old or self.version >= '2.5' else self._fail(
                argv, 'Options error: Unrecognized option or missing or extra parameter(s) in [CMD-LINE]:1: genkey (2.4.9)')
        return self._test_crypto(argv, dict(zip(words[1::2], words[2::2])))

    def _fail(self, argv, *lines):
        return rb.Ran(argv, 1, ''.join(self.STAMP + line + '\n' for line in lines) + 'Use --help for more information.\n',
                      seconds=0.006)

    def _test_crypto(self, argv, given):
        if '--secret' not in given and self.version < '2.7':
            return self._fail(argv, 'Options error: You must define key file (--secret)')
        cipher, auth = given['--cipher'], given.get('--auth', 'SHA1')
        known = {name.upper() for name in self.ciphers} if self.version != '2.4m' else self.ciphers
        if (cipher if self.version == '2.4m' else cipher.upper()) not in known:
            return self._fail(argv, 'Cipher %s not supported' % cipher, 'Exiting due to fatal error')
        modes = ('CBC',) if self.version == '2.3' else ('CBC', 'GCM', 'POLY1305')
        if cipher != 'none' and not cipher.endswith(modes):
            return self._fail(argv, "Cipher '%s' mode not supported" % cipher, 'Exiting due to fatal error')
        if auth not in ('none', 'SHA1', 'SHA256'):
            return self._fail(argv, "Message hash algorithm '%s' not found" % auth, 'Exiting due to fatal error')
        if given.get('--engine') and self.version[:3] == '2.5':
            return self._fail(argv, "OpenSSL error: cannot load engine '%s'" % given['--engine'])
        return self._run(argv, given, cipher, auth)

    def _run(self, argv, given, cipher, auth):
        longest = int(given['--tun-mtu'])
        if self.version >= '2.6':
            longest = max(longest, 1600) + 168
        out = ''
        if '--secret' in given and self.version >= '2.6':
            out += self.STAMP + 'DEPRECATED OPTION: The option --secret is deprecated.\n'
        if int(given['--verb']) >= 1:
            if given.get('--engine'):
                out += self.STAMP + 'Note: OpenSSL hardware crypto engine functionality is not available\n'
            out += ''.join('%sTESTING ENCRYPT/DECRYPT of packet length=%d\n' % (self.STAMP, n) for n in (1, 2, longest))
        else:
            self.timed.append((cipher, auth, longest))
        start, packet, byte = self.costs.get(cipher, (0.01, 2e-6, 1e-9))
        seconds = (start + packet * longest + byte * longest * (longest + 1) / 2) * self.noise()
        return rb.Ran(argv, 0, out, seconds=seconds, user=0.99 * seconds, system=0.005 * seconds)


def openvpn_host(openvpn, files=None, **answers):
    """A small Linux router with that openvpn; its key file exists once it was made."""
    base = {'/tmp/private/key': 'a key', '/proc/cpuinfo': 'system type : Example\ncpu model : MIPS 24Kc V7.4\nprocessor : 0\n'}
    base.update(files or {})
    return FakeHost(files=base, answers=dict({'openvpn': openvpn, 'uname': 'Linux 5.15.150 mips\n'}, **answers))


def context_of(host, listener=None, **options):
    """What a test works with, on that host."""
    return rb.Context(host, rb.machine_of(host), rb.Options(**options), listener or rb.Listener())


def lines_of(host, listener=None, tests=('openvpn',), **options):
    """(exit status, lines) of a session on that host."""
    context = context_of(host, listener, **options)
    lines = []
    session = rb.Session(context, context.machine.facts(), lines.append)
    return session.run(list(tests)), lines
