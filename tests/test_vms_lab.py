"""The lab's emulated machines are what vms.py says they are, seen with plain ssh. `pytest --lab`."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from farside import until
from routers import HERE
from vms import Vm

pytestmark = pytest.mark.lab

MODULES = ('af_alg algif_skcipher algif_aead algif_hash esp4 xfrm_user authenc gcm ctr xts chacha20poly1305 '
           'wireguard tun veth').split()
COMMANDS = 'python3 openvpn openssl iperf3 wg cryptsetup ip modprobe busybox time'.split()

# The first vector of RFC 3602.
PROBE = '''
import binascii, socket
alg = socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)
alg.bind(('skcipher', 'cbc(aes)'))
alg.setsockopt(socket.SOL_ALG, socket.ALG_SET_KEY, binascii.unhexlify('06a9214036b8a15b512e03d534120006'))
work = alg.accept()[0]
iv = binascii.unhexlify('3dafba429d9eb430b422da802c9fac41')
work.sendmsg_afalg([b'Single block msg'], op=socket.ALG_OP_ENCRYPT, iv=iv)
print(work.recv(16).hex())
'''
CIPHERTEXT = 'e353779c1079aeb82708942dbe77181a\n'


def traces(text):
    """What this machine shows of the emulated ones whose tag begins so: directories and processes."""
    found = glob.glob(os.path.join(tempfile.gettempdir(), 'routerbench-%s*' % text))
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                found += [path] if text.encode() in file.read() else []
        except OSError:
            continue
    return found


def ok(vm, command, **more):
    """The stdout of a command in the machine."""
    status, out, err = vm.call(command, **more)
    assert status == 0, err
    return out


def loaded(vm):
    """The modules in its kernel."""
    return {line.split()[0] for line in ok(vm, 'cat /proc/modules').splitlines()}


def all_is_there(vm):
    """The commands, the modules, and interfaces and states that want the kernel's own crypto."""
    assert vm.call('for name in %s; do command -v $name >/dev/null || echo $name; done' % ' '.join(COMMANDS)) == (0, '', '')
    assert vm.call('modprobe -a ' + ' '.join(MODULES)) == (0, '', '')
    assert set(MODULES) - loaded(vm) <= {'gcm', 'ctr', 'xts'}  # which a kernel may have built in
    ok(vm, 'ip link add wg0 type wireguard && ip link add v0 type veth && openvpn --mktun --dev tun0')
    ok(vm, 'ip xfrm state add src 10.9.0.1 dst 10.9.0.2 proto esp spi 1 mode tunnel '
           'aead "rfc4106(gcm(aes))" 0x%s 128' % ('ab' * 20))


def benchmark(vm):
    """MiB/s as cryptsetup says them."""
    out = ok(vm, 'cryptsetup benchmark -c aes-cbc -s 128')
    line = re.search(r'^ +aes-cbc +128b +([\d.]+) MiB/s +([\d.]+) MiB/s$', out, re.MULTILINE)
    return [float(rate) for rate in line.groups()]


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert traces('rb%d-' % os.getpid()) == []


@pytest.mark.parametrize('arch, machine, cpuinfo', [
    ('amd64', 'x86_64', r'flags\t\t: .* aes '),
    ('mipsel', 'mips', r'cpu model\t\t: MIPS 24Kc V0\.0\n'),
    ('ppc64el', 'ppc64le', r'cpu\t\t: POWER9 ')], ids=['amd64', 'mipsel', 'ppc64el'])
def test_machine(arch, machine, cpuinfo):
    with Vm(arch, modules=['algif_hash', 'veth']) as vm:
        assert ok(vm, 'uname -m') == machine + '\n'
        assert re.search(cpuinfo, ok(vm, 'cat /proc/cpuinfo'))
        assert {'af_alg', 'algif_hash', 'veth'} <= loaded(vm) and 'algif_skcipher' not in loaded(vm)
        vm.copy(__file__, '/tmp/a copy')
        with open(__file__) as file:
            assert ok(vm, 'cat "/tmp/a copy"') == file.read()
        assert ok(vm, "python3 -c '%s'" % PROBE.replace("'", '"')) == CIPHERTEXT
        assert 'algif_skcipher' in loaded(vm)  # it came when it was asked for
        assert min(benchmark(vm)) > 0
        assert re.search('^name +: aes$', ok(vm, 'cat /proc/crypto'), re.MULTILINE)
        all_is_there(vm)
        if arch == 'amd64':
            assert 'cbc-aes-aesni' not in ok(vm, 'cat /proc/crypto')
            assert vm.call('modprobe aesni_intel') == (0, '', '')
            assert 'cbc-aes-aesni' in ok(vm, 'cat /proc/crypto')


def test_what_a_machine_has_not():
    """No instructions for AES, and no module that comes by itself."""
    with Vm('amd64', 'Nehalem-v1', autoload=False, files={'/tmp.py': PROBE}) as vm:
        assert not re.search(r'\baes\b', ok(vm, 'grep flags /proc/cpuinfo'))
        assert vm.call('modprobe aesni_intel')[2].endswith("could not insert 'aesni_intel': No such device\n")
        assert 'Address family not supported' in vm.call('python3 /tmp.py')[2]
        ok(vm, 'modprobe af_alg')
        assert 'FileNotFoundError' in vm.call('python3 /tmp.py')[2]
        ok(vm, 'modprobe algif_skcipher')
        assert ok(vm, 'python3 /tmp.py') == CIPHERTEXT


def test_a_machine_that_does_not_come_up_leaves_nothing():
    with pytest.raises(RuntimeError, match='(?s)amd64 max does not answer.*no-such-module not found'):
        Vm(modules=['no-such-module']).__enter__()
    with pytest.raises(RuntimeError, match='(?s)amd64 6502 does not start.*unable to find CPU model'):
        Vm(cpu='6502').__enter__()


CHILD = '''
import sys, time
sys.path.insert(0, %r)
from vms import Vm
Vm._wait = lambda vm: (print(vm.pid, vm.tag, flush=True), time.sleep(60))
with Vm(): pass
'''


def test_it_ends_with_a_killed_test():
    """No qemu outlives us; what stays is a directory, and here it is cleared away."""
    child = subprocess.Popen([sys.executable, '-c', CHILD % HERE], stdout=subprocess.PIPE, universal_newlines=True)
    pid, tag = child.stdout.readline().split()
    assert len(traces(tag)) == 2
    child.kill()
    child.communicate(timeout=10)
    assert until(lambda: not os.path.exists('/proc/' + pid))
    directory, = glob.glob(os.path.join(tempfile.gettempdir(), 'routerbench-%s-*' % tag))
    shutil.rmtree(directory)
    assert traces(tag) == []
