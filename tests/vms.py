"""Emulated machines: a Debian kernel of their own on another processor, and a real ssh server.

    with Vm('mipsel', modules=['algif_skcipher']) as vm:
        vm.copy('routerbench.py', '/tmp/routerbench.py')
        status, out, err = vm.call('python3 /tmp/routerbench.py info')

For what this machine's kernel or processor has not: AF_ALG, WireGuard, IPsec, a /proc/cpuinfo of
MIPS. Needs root and a Debian-like host; tests/lab has the scripts. All is emulated, so no rate says
anything about a real processor. Nothing of a machine is seen outside but a process of qemu's, its port
on 127.0.0.1 and a directory in TMPDIR. Should this process be killed, qemu ends too, and only the
directory stays."""

import contextlib
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time

from routers import LAB, MORTAL, Guest, prepare, ran, read, run, words, write

# qemu's name, its machine, the processor if none is asked for, and the console as Linux calls it.
MACHINES = {
    'amd64': ('qemu-system-x86_64', 'q35', 'max', 'ttyS0'),
    'mipsel': ('qemu-system-mipsel', 'malta', '24Kc', 'ttyS0'),
    'ppc64el': ('qemu-system-ppc64', 'pseries', 'power9', 'hvc0'),
}
BOOT_LIMIT = 180
LISTENING = b'Not backgrounding'  # dropbear's own words
FORWARDED = re.compile(r'HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s')


class Vm(Guest):
    """An emulated machine, and an ssh server in it that can be reached from here.

    arch      'amd64', 'mipsel' or 'ppc64el'
    cpu       as `qemu-system-... -cpu help` calls it: 'max' has AES instructions and 'Nehalem-v1' has
              none; '24Kc', '34Kf', '74Kf'; 'power9'
    memory    in MiB
    cores     of the processor
    modules   what modprobe loads before the login, in this order
    autoload  whether the kernel may load a module when a program asks for what is in it
    files     path: text, or (text, mode)
    """

    def __init__(self, arch='amd64', cpu=None, memory=512, cores=1, modules=(), autoload=True, files=None):
        self.qemu, self.machine, usual, self.terminal = MACHINES[arch]
        self.arch, self.cpu, self.memory, self.cores = arch, cpu or usual, memory, cores
        self.modules, self.autoload, self.files = modules, autoload, dict(files or {})
        self.tag = 'rb%d-%s' % (os.getpid(), os.urandom(3).hex())
        self.address, self.destination = '127.0.0.1', 'root@127.0.0.1'
        self.enter = []  # as a Router has it: what goes before a command that is to reach this machine

    # --- coming up and going down

    def _start(self, stack):
        prepare('setup-vm.sh', self.arch)
        base = prepare('make-vm.sh', self.arch)
        self.directory = tempfile.mkdtemp(prefix='routerbench-' + self.tag + '-')
        stack.callback(shutil.rmtree, self.directory)
        self.key, self.hostkey = self._key('id'), self._key('host')
        self._furnish()
        self._boot(stack, base)
        self.port = self._forwarded()
        write(self.known_hosts, '[%s]:%d %s' % (self.address, self.port, read(self.hostkey + '.pub').decode()))
        self._wait()

    def _key(self, name):
        path = self.directory + '/' + name
        run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'lab', '-f', path])
        return path

    def _furnish(self):
        """What makes this machine this one is a tar on its second disk."""
        run(['dropbearconvert', 'openssh', 'dropbear', self.hostkey, self.hostkey + '.db'])
        files = {
            '/lab/init.sh': (read(LAB + '/vm-init.sh'), 0o755),
            '/lab/host_key': (read(self.hostkey + '.db'), 0o600),
            '/lab/modules': ''.join(name + '\n' for name in self.modules),
            '/root/.ssh/authorized_keys': (read(self.key + '.pub'), 0o600),
        }
        if not self.autoload:
            files['/lab/no-autoload'] = ''
        files.update(self.files)
        with tarfile.open(self.directory + '/tar', 'w') as tar:
            for path, content in files.items():
                add(tar, path, *(content if isinstance(content, tuple) else (content,)))

    def _boot(self, stack, base):
        """Start qemu. What the machine writes to its disk goes to a file that has no name any more."""
        argv = [*MORTAL, self.qemu, '-accel', 'tcg', '-machine', self.machine, '-cpu', self.cpu, '-smp', str(self.cores),
                '-m', str(self.memory), '-nodefaults', '-no-reboot', '-display', 'none', '-monitor', 'stdio',
                '-serial', 'file:' + self.log, '-kernel', base + '/kernel', '-initrd', base + '/initrd',
                '-append', 'quiet panic=-1 console=' + self.terminal,
                '-nic', 'user,restrict=on,model=virtio-net-pci,hostfwd=tcp:%s:0-:22' % self.address,
                *drive(base + '/disk', 'snapshot=on'), *drive(self.directory + '/tar', 'readonly=on')]
        with open(self.directory + '/qemu', 'wb') as said:
            self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
                                             start_new_session=True, env=dict(os.environ, TMPDIR=self.directory))
        stack.callback(self._end)
        self.pid = self._process.pid

    def _end(self):
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()

    def _forwarded(self):
        """The port, as qemu's monitor says it: the kernel has chosen it, so nobody can have been faster."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b'info usernet\n')
            self._process.stdin.flush()
        for line in self._process.stdout:
            found = FORWARDED.search(line.decode('latin-1'))
            if found:
                return int(found.group(1))
        return self._fail('does not start')

    def _wait(self):
        """Until the server speaks. It is not asked before it says on the console that it is there: qemu
        takes every connection, and those of too early would reach it in the middle of a test."""
        deadline = time.monotonic() + BOOT_LIMIT
        while LISTENING not in read(self.log) or not speaks(self.address, self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._fail('does not answer')
            time.sleep(0.1)

    def _fail(self, what):
        said = (read(self.directory + '/qemu') + read(self.log)).decode('utf-8', 'replace')
        raise RuntimeError('machine %s %s %s: %s' % (self.arch, self.cpu, what, said[-4000:]))

    # --- what a test uses

    @property
    def log(self):
        """The file that has what the console shows."""
        return self.directory + '/console'

    @property
    def known_hosts(self):
        return self.directory + '/known_hosts'

    @property
    def ssh(self):
        """Words that start OpenSSH's client; the machine's host key is known to it."""
        return words('ssh', '-F', 'none', '-i', self.key, '-p', self.port, '-o', 'UserKnownHostsFile=' + self.known_hosts,
                     '-o', 'StrictHostKeyChecking=yes')

    def call(self, command, *options, limit=60):
        """Run a command in the machine, as a user would: (status, stdout, stderr)."""
        return ran([*shlex.split(self.ssh), *options, self.destination, command], limit=limit)

    def copy(self, path, to, limit=60):
        """Write a file of ours there, through ssh for want of sftp; its mode too."""
        mode = os.stat(path).st_mode & 0o777
        command = 'cat >%s && chmod %o %s' % (words(to), mode, words(to))
        with open(path, 'rb') as file:
            subprocess.run([*shlex.split(self.ssh), self.destination, command], stdin=file, check=True, timeout=limit)


def add(tar, path, content, mode=0o644):
    """One file more in a tar."""
    data = content.encode() if isinstance(content, str) else content
    info = tarfile.TarInfo(path.lstrip('/'))
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))


def drive(path, how):
    """Words for one of the machine's disks."""
    return ['-drive', 'if=virtio,format=raw,%s,file=%s' % (how, path.replace(',', ',,'))]


def speaks(address, port):
    """Whether a server for ssh says the first word."""
    try:
        with socket.create_connection((address, port), 2) as server:
            return server.recv(4) == b'SSH-'
    except OSError:
        return False
