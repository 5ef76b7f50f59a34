"""Real routers to log in to: a small system's root in namespaces of its own, with a real ssh server.

    with Router('bookworm-amd64') as router:
        status, out, err = router.call('uname -m')
        subprocess.run(router.enter + shlex.split(router.ssh) + [router.destination, 'true'])

Needs root and a Debian-like host; tests/lab has the scripts. Nothing of a router is seen outside but
two network namespaces and a directory in TMPDIR: its mounts and processes are in namespaces of its
own, which end with it. Should this process be killed, they end too, and only those names stay."""

import contextlib
import functools
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.join(HERE, 'lab')
COMMANDS = ('bin', 'sbin', 'usr/bin', 'usr/sbin')
MORTAL = ['setpriv', '--pdeathsig', 'KILL']  # ends with the thread that starts it
ANSWERS = '''
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as server:
    server.settimeout(10)
    sys.exit(server.recv(4) != b'SSH-')
'''


def need_lab():
    """The packages that the lab needs on this machine. Without root or apt the test is skipped, but in CI."""
    why = 'needs root' if os.geteuid() else None if shutil.which('apt-get') else 'needs apt'
    if why:
        import pytest
        (pytest.fail if os.environ.get('CI') == 'true' else pytest.skip)('the lab ' + why)
    prepare('setup.sh')


@functools.lru_cache(None)
def prepare(script, *arguments):
    """Run one of the lab's scripts, once; its stdout."""
    return run([os.path.join(LAB, script), *arguments], limit=300).strip()


def ran(argv, limit=60, **options):
    """Run a command: (status, stdout, stderr)."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit,
                          universal_newlines=True, **options)
    return done.returncode, done.stdout, done.stderr


def run(argv, **options):
    """The stdout of a command that must not fail."""
    status, out, err = ran(argv, **options)
    if status:
        raise RuntimeError('%s: status %d: %s' % (' '.join(argv), status, err or out))
    return out


def words(*parts):
    """Words for a shell, or for shlex.split."""
    return ' '.join(shlex.quote(str(part)) for part in parts)


def write(path, text, mode=0o644):
    """A file of its own, and the directories above it. A link there is replaced and not followed:
    busybox's would lead out of a router's root."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, 'w' if isinstance(text, str) else 'wb') as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)


def read(path):
    """The bytes of a file, or none if there is none."""
    try:
        with open(path, 'rb') as file:
            return file.read()
    except OSError:
        return b''


def is_in(pid, root):
    """Whether a process has that directory for its root. A dead one has none."""
    try:
        return os.path.samefile('/proc/%s/root' % pid, root)
    except OSError:
        return False


def names_of(pid):
    """What a process may be called: its comm, its argv[0], and behind qemu-user or busybox what they run."""
    argv = read('/proc/%s/cmdline' % pid).decode('utf-8', 'replace').split('\0')
    names = [os.path.basename(word).lstrip('-') for word in argv[:4]]
    shown = 3 if names[0].startswith('qemu-') else 1
    if 'busybox' in names[:shown]:
        shown += 1
    return {read('/proc/%s/comm' % pid).decode().rstrip('\n'), *names[:shown]}


class Guest:
    """What comes up with _start(stack), which leaves on the stack how everything goes down again."""

    def __enter__(self):
        need_lab()
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _start(self, stack):
        raise NotImplementedError


class Router(Guest):
    """A router's root, and an ssh server that can be reached from a network namespace beside it.

    name      SUITE-ARCH, as make-router.sh takes it
    server    'dropbear', or 'openssh' on a bigger system, which still takes aes128-cbc and aes256-cbc
    shell     root's login shell: /bin/sh, with openssh /bin/bash; '/bin/tcsh' brings a tcsh along
    delay_ms  by how much each answer comes later
    hostkeys  any of ed25519, rsa, ecdsa
    config    lines of sshd_config, which go before ours and so win; options, if the server is dropbear
    password  if given, root needs it, and no key will do
    banner    shown before the login; motd: shown when a person logs in
    greeting  printed by root's shell before it runs a command, on stdout
    files     path: text, or (text, mode)
    without   names of commands that are not there
    hide      files that cannot be opened, such as /proc/uptime
    """

    def __init__(self, name='bookworm-amd64', server='dropbear', shell=None, delay_ms=0, port=22, hostkeys=('ed25519', 'rsa'),
                 config=(), password=None, banner=None, motd=None, greeting=None, files=None, without=(), hide=()):
        self.name, self.server, self.port = name, server, port
        self.shell = shell or ('/bin/bash' if server == 'openssh' else '/bin/sh')
        self.delay_ms, self.hostkeys, self.config, self.password = delay_ms, hostkeys, list(config), password
        self.banner, self.motd, self.greeting = banner, motd, greeting
        self.files, self.without, self.hide = dict(files or {}), without, hide
        self.tag = 'rb%d-%s' % (os.getpid(), os.urandom(3).hex())
        self.address = '10.%d.%d.2' % (random.randrange(256), random.randrange(256))
        self.destination = 'root@' + self.address
        self.client, self.network = self.tag + '-client', self.tag + '-router'
        self.enter = ['ip', 'netns', 'exec', self.client]

    @property
    def variant(self):
        """The name of the root."""
        return self.name + '-openssh' * (self.server == 'openssh') + '-tcsh' * self.shell.endswith('tcsh')

    @property
    def foreign(self):
        """Whether qemu-user runs it."""
        return self.name.split('-')[1] != run(['dpkg', '--print-architecture']).strip()

    # --- coming up and going down

    def _start(self, stack):
        self.directory = tempfile.mkdtemp(prefix='routerbench-' + self.tag + '-')
        stack.callback(shutil.rmtree, self.directory)
        self.log = os.path.join(self.directory, 'log')
        lower = prepare('make-router.sh', self.variant)
        if self.foreign:
            prepare('binfmt.sh')
        self._make_network(stack)
        self._delay(stack)
        self._make_keys()
        self._boot(stack, lower)
        self._furnish()
        self._serve()

    def _make_network(self, stack):
        """Two namespaces, each with one end of a cable."""
        for name in (self.network, self.client):
            run(['ip', 'netns', 'add', name])
            stack.callback(self._end_network, name)
        ends = ['rb' + os.urandom(4).hex() for _ in range(2)]
        self.interface = ends[1]
        run(['ip', 'link', 'add', ends[0], 'netns', self.client, 'type', 'veth', 'peer', 'name', ends[1], 'netns', self.network])
        for name, end, last in ((self.client, ends[0], '1'), (self.network, ends[1], '2')):
            run(['ip', '-n', name, 'address', 'add', self.address[:-1] + last + '/24', 'dev', end])
            for interface in ('lo', end):
                run(['ip', '-n', name, 'link', 'set', interface, 'up'])

    def _delay(self, stack):
        """By the kernel if it can, else by a program that stands before the server."""
        self.listens = self.address
        netem = ['tc', '-n', self.network, 'qdisc', 'add', 'dev', self.interface, 'root', 'netem', 'delay', '%gms' % self.delay_ms]
        if not self.delay_ms or not ran(netem)[0]:
            return
        self.listens = '127.0.0.1'
        argv = [sys.executable, os.path.join(LAB, 'delay.py'), self.address, str(self.port), self.listens, str(self.delay_ms)]
        process = subprocess.Popen(MORTAL + ['ip', 'netns', 'exec', self.network] + argv, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        stack.callback(process.wait)
        stack.callback(process.kill)

    @staticmethod
    def _end_network(name):
        """Who is still in it is a client that a test has left."""
        for pid in ran(['ip', 'netns', 'pids', name])[1].split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        run(['ip', 'netns', 'delete', name])

    def _make_keys(self):
        """The user's key and the server's, in both formats, and who may trust whom."""
        self.key = self._key('id', 'ed25519')
        publics = [read(self._key('host_' + kind, kind) + '.pub').decode().split()[:2] for kind in self.hostkeys]
        self.known_hosts = self.home + '/.ssh/known_hosts'
        places = {self.address, '[%s]:%d' % (self.address, self.port)}  # dbclient knows no ports in this file
        write(self.known_hosts, ''.join('%s %s %s\n' % (place, *public) for place in sorted(places) for public in publics))
        write(self.directory + '/dbclient', '#!/bin/sh\nexec env %s dbclient "$@"\n' % words('HOME=' + self.home), 0o755)

    def _key(self, name, kind):
        path = os.path.join(self.directory, name)
        bits = ['-b', '2048'] if kind == 'rsa' else []
        run(['ssh-keygen', '-q', '-t', kind, *bits, '-N', '', '-C', 'lab', '-f', path])
        run(['dropbearconvert', 'openssh', 'dropbear', path, path + '.db'])
        return path

    def _boot(self, stack, lower):
        """The router's first process, which waits until its root is furnished."""
        scratch = os.path.join(self.directory, 'scratch')
        os.mkdir(scratch)
        argv = [*MORTAL, 'ip', 'netns', 'exec', self.network,
                'unshare', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child',
                os.path.join(LAB, 'boot.sh'), lower, scratch, sys.executable, os.path.join(LAB, 'serve.py'), scratch + '/root']
        with open(self.log, 'wb') as log:
            self._process = subprocess.Popen(argv + self._server(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                             start_new_session=True, env=dict(os.environ, HIDE=' '.join(self.hide)))
        stack.callback(self._end)
        self.pid = int(self._process.stdout.readline() or self._fail('does not boot'))
        self.root = '/proc/%d/root' % self.pid

    def _fail(self, what):
        raise RuntimeError('router %s %s: %s' % (self.variant, what, read(self.log).decode('utf-8', 'replace')))

    def _end(self):
        """With the first process the kernel ends all others of its namespace."""
        with contextlib.suppress(AttributeError, ProcessLookupError):
            os.kill(self.pid, 9)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _serve(self):
        self._process.stdin.write(b'\n')
        self._process.stdin.flush()
        deadline = time.monotonic() + 30
        while ran([*self.enter, sys.executable, '-c', ANSWERS, self.address, str(self.port)])[0]:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._fail('does not answer')
            time.sleep(0.1)

    # --- what is in its root

    def _server(self):
        """argv behind serve.py's root."""
        if self.server == 'openssh':
            return ['/usr/sbin/sshd', '-D', '-e', '-f', '/etc/ssh/lab_config']
        options = [word for kind in self.hostkeys for word in ('-r', '/etc/dropbear/' + kind)] + self.config
        options += [] if self.password else ['-s']
        options += ['-b', '/etc/banner'] if self.banner else []
        if self.foreign:
            return ['--accept', self.listens, str(self.port), '/usr/sbin/dropbear', '-i', *options]
        return ['/usr/sbin/dropbear', '-F', '-E', '-p', '%s:%d' % (self.listens, self.port), *options]

    def _sshd_config(self):
        lines = self.config + ['HostKey /etc/ssh/lab_' + kind for kind in self.hostkeys]
        lines += ['Port %d' % self.port, 'ListenAddress ' + self.listens, 'UsePAM no', 'PidFile none', 'PermitRootLogin yes',
                  'PasswordAuthentication ' + ('yes' if self.password else 'no'), 'KbdInteractiveAuthentication no',
                  'Ciphers +aes128-cbc,aes256-cbc', 'Banner ' + ('/etc/banner' if self.banner else 'none')]
        return ''.join(line + '\n' for line in lines)

    def _furnish(self):
        """Write what makes this root this router's."""
        for name in self.without:
            self.remove(name)
        for kind in self.hostkeys:
            self.write('/etc/dropbear/' + kind, read(self.directory + '/host_%s.db' % kind), 0o600)
            self.write('/etc/ssh/lab_' + kind, read(self.directory + '/host_' + kind), 0o600)
        self.write('/etc/ssh/lab_config', self._sshd_config())
        self.write('/etc/banner', self.banner or '')
        self.write('/etc/motd', self.motd or '')
        self._admit()
        for path, content in self.files.items():
            self.write(path, *(content if isinstance(content, tuple) else (content,)))

    def _admit(self):
        """Root's account, with a key or a password, and the shell."""
        shell, secret = self.shell, 'x'
        if self.greeting is not None:
            shell = self._greet()
        if self.password is None:
            self.write('/root/.ssh/authorized_keys', read(self.key + '.pub'), 0o600)
        else:
            secret = run(['openssl', 'passwd', '-6', self.password]).strip()
        self.write('/etc/passwd', 'root:%s:0:0:root:/root:%s\nsshd:x:100:65534::/run/sshd:/bin/false\n' % (secret, shell))
        self.write('/etc/shells', '%s\n' % shell)

    def _greet(self):
        """A login shell that says something first. bash and tcsh read a file before any command; sh
        reads none, so that another program has to stand before it."""
        self.write('/root/.greeting', self.greeting + '\n')
        for name in ('.bashrc', '.tcshrc'):
            self.write('/root/' + name, 'cat /root/.greeting\n')
        if not self.shell.endswith('/sh'):
            return self.shell
        self.write('/bin/greeter', '#!/bin/sh\ncat /root/.greeting\nexec /bin/sh "$@"\n', 0o755)
        return '/bin/greeter'

    def write(self, path, text, mode=0o644):
        """Write a file in its root, also while it runs."""
        write(self.root + path, text, mode)

    def remove(self, name):
        """Take a command away, also while it runs."""
        for directory in COMMANDS:
            path = os.path.join(self.root, directory, name)
            if os.path.lexists(path):
                os.unlink(path)

    # --- what a test uses

    @property
    def home(self):
        """A HOME whose .ssh/known_hosts has the router's keys, as dropbear's client wants it."""
        return os.path.join(self.directory, 'home')

    @property
    def ssh(self):
        """Words that start OpenSSH's client; the router's host keys are known to it."""
        return words('ssh', '-F', 'none', '-i', self.key, '-p', self.port, '-o', 'UserKnownHostsFile=' + self.known_hosts,
                     '-o', 'StrictHostKeyChecking=yes')

    @property
    def dbclient(self):
        """Words that start dropbear's client, through a script of that name which sets HOME."""
        return words(self.directory + '/dbclient', '-i', self.key + '.db', '-p', self.port)

    def call(self, command, *options, client='ssh', limit=60):
        """Run a command in the router, as a user would: (status, stdout, stderr)."""
        argv = shlex.split(getattr(self, client))
        return ran([*self.enter, *argv, *options, self.destination, command], limit=limit)

    def processes(self, name):
        """Numbers of the processes of that name that run in the router."""
        return [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and is_in(pid, self.root) and name in names_of(pid)]
