"""The lab's routers are what routers.py says they are, seen with plain ssh. `pytest --lab`."""

import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from farside import until
from routers import HERE, Router, ran, words

pytestmark = pytest.mark.lab

MACHINES = {'bookworm-amd64': 'x86_64', 'trixie-amd64': 'x86_64', 'forky-amd64': 'x86_64', 'bookworm-mipsel': 'mips',
            'bookworm-ppc64el': 'ppc64le'}
DROPBEARS = {'bookworm': '2022.83', 'trixie': '2025.', 'forky': '2026.'}
CBC = ('-c', 'aes128-cbc')


def traces(text):
    """What this machine shows of the routers whose tag begins so: namespaces, directories, mounts, processes."""
    with open('/proc/self/mounts') as file:
        found = [line for line in file if text in line and not line.startswith('nsfs ')]  # that is a name's own
    found += [name for name in os.listdir('/run/netns') if name.startswith(text)] if os.path.isdir('/run/netns') else []
    found += glob.glob(os.path.join(tempfile.gettempdir(), 'routerbench-%s*' % text))
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                found += [path] if text.encode() in file.read() else []
        except OSError:
            continue
    return found


def inhabitants(namespaces):
    """The processes that are in one of these namespaces."""
    found = []
    for path in glob.glob('/proc/[0-9]*/ns/*'):
        try:
            found += [path] if os.readlink(path) in namespaces else []
        except OSError:
            continue
    return found


def namespaces_of(router):
    """The names of the kernel's for all that a router has of its own."""
    found = {os.readlink('/proc/%d/ns/%s' % (router.pid, kind)) for kind in ('mnt', 'net', 'pid')}
    return found | {ran([*router.enter, 'readlink', '/proc/self/ns/net'])[1].strip()}


def ok(router, command, *options, **more):
    """The stdout of a command in the router."""
    status, out, err = router.call(command, *options, **more)
    assert status == 0, err
    return out


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert traces('rb%d-' % os.getpid()) == []


@pytest.mark.parametrize('name', sorted(MACHINES))
def test_root(name):
    """A small router: no Python, no bash, no coreutils, but openvpn and a busybox that has `time`."""
    with Router(name) as router:
        assert ok(router, 'true') == ''
        assert ok(router, 'uname -m') == MACHINES[name] + '\n'
        assert ok(router, 'uname -m', client='dbclient') == MACHINES[name] + '\n'
        assert router.call('command -v python3 || command -v perl || command -v bash')[0] == 127
        assert ok(router, 'readlink -f "$(command -v dd)"').endswith('/busybox\n')
        assert ok(router, 'openvpn --version').startswith('OpenVPN 2.')
        assert re.search(r'^real\t0m', router.call('time true')[2], re.MULTILINE)
        assert DROPBEARS[name.split('-')[0]] in router.call('dropbear -V')[2]
        assert float(ok(router, 'cat /proc/uptime').split()[0]) > 0


@pytest.mark.parametrize('name', sorted(MACHINES))
def test_dropbear_offers_no_cbc(name):
    with Router(name) as router:
        status, out, err = router.call('true', *CBC)
        assert (status, out) == (255, '')
        offer = re.search(r'no matching cipher found. Their offer: (\S+)', err).group(1).split(',')
        assert sorted(offer) == ['aes128-ctr', 'aes256-ctr', 'chacha20-poly1305@openssh.com']
        for cipher in offer:
            assert ok(router, 'echo in', '-c', cipher) == 'in\n'


def test_openssh_takes_cbc():
    with Router(server='openssh') as router:
        argv = [*router.enter, *shlex.split(router.ssh), *CBC, router.destination, 'dd if=/dev/zero bs=500000 count=200']
        assert ran(['sh', '-c', words(*argv) + ' | wc -c'])[1] == '100000000\n'
        assert ok(router, 'echo in', '-c', 'aes256-cbc') == 'in\n'
        assert ok(router, 'echo $0 $BASH_VERSION').startswith('bash 5.')
        assert re.search(r'^real\t0m0', router.call('time true')[2], re.MULTILINE)
        assert router.call('/usr/bin/time true')[2].startswith('0.00user')
        assert router.call('command -v python3')[0] == 1


@pytest.mark.parametrize('server', ['dropbear', 'openssh'])
def test_tcsh_is_the_login_shell(server):
    with Router(server=server, shell='/bin/tcsh') as router:
        assert ok(router, 'echo $version').startswith('tcsh ')
        assert re.match(r'0\.\d+u 0\.\d+s 0:0', ok(router, 'time dd if=/dev/zero of=/dev/null bs=1000 count=1'))


def test_old_server():
    """As today's ssh refuses it, and as it is told to take it."""
    with Router(server='openssh', config=['HostKeyAlgorithms ssh-rsa', 'KexAlgorithms diffie-hellman-group14-sha1',
                                          'Ciphers aes128-cbc,3des-cbc']) as router:
        assert 'no matching key exchange method found' in router.call('true')[2]
        new_kex = ['-o', 'KexAlgorithms=+diffie-hellman-group14-sha1']
        assert 'no matching host key type found. Their offer: ssh-rsa' in router.call('true', *new_kex)[2]
        old = new_kex + ['-o', 'HostKeyAlgorithms=+ssh-rsa']
        assert 'no matching cipher found. Their offer: aes128-cbc,3des-cbc' in router.call('true', *old)[2]
        assert ok(router, 'echo in', *old, '-c', '3des-cbc') == 'in\n'


@pytest.mark.parametrize('kind', ['ed25519', 'rsa', 'ecdsa'])
@pytest.mark.parametrize('server', ['dropbear', 'openssh'])
def test_host_key(server, kind):
    with Router(server=server, hostkeys=[kind], port=2222) as router:
        assert ok(router, 'echo in') == 'in\n'
        assert ok(router, 'echo in', client='dbclient') == 'in\n'


@pytest.mark.parametrize('server', ['dropbear', 'openssh'])
def test_password(server, monkeypatch):
    """No key will do; the password does, which dropbear's client takes from the environment."""
    with Router(server=server, password='open sesame') as router:
        assert 'Permission denied (publickey,password)' in router.call('true', '-o', 'BatchMode=yes')[2]
        monkeypatch.setenv('DROPBEAR_PASSWORD', 'open sesame')
        assert ok(router, 'echo in', client='dbclient') == 'in\n'


@pytest.mark.parametrize('options', [{}, {'server': 'openssh'}, {'shell': '/bin/tcsh'}, {'name': 'bookworm-mipsel'}])
def test_what_is_said_besides(options):
    """The banner comes on stderr, the greeting on stdout, and the message of the day only to people."""
    with Router(banner='* keep out *\n', motd='Have a lot of fun\n', greeting='*** real hardware lab 47.5 ***', **options) as router:
        status, out, err = router.call('echo in')
        assert (status, out) == (0, '*** real hardware lab 47.5 ***\nin\n')
        assert '* keep out *' in err
        argv = [*router.enter, *shlex.split(router.ssh), '-tt', router.destination]
        person = subprocess.run(argv, input=b'exit\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
        assert (b'Have a lot of fun' in person.stdout) or router.server == 'openssh'  # there PAM would print it


@pytest.mark.parametrize('options', [{}, {'shell': '/bin/tcsh'}, {'name': 'bookworm-mipsel'}])
def test_what_is_not_there(options):
    with Router(without=['time', 'hexdump'], hide=['/proc/uptime'], **options) as router:
        seen = ran(['sh', '-c', 'ls -d %s/usr/bin/time %s/usr/bin/env' % (router.root, router.root)])
        assert seen[1] == router.root + '/usr/bin/env\n'
        assert router.call('cat /proc/uptime')[:2] == (1, '')
        assert ok(router, 'cat /proc/loadavg')
        if 'shell' not in options:
            assert router.call('command -v time')[:2] == (127, '')
            assert router.call('time true')[0] == 127
        router.remove('od')
        assert router.call('od /dev/null')[0] in (1, 127)
    with Router(**options) as router:
        assert router.call('od /dev/null')[0] == 0
        assert ok(router, 'cat /proc/uptime')


@pytest.mark.parametrize('options', [{}, {'server': 'openssh'}, {'name': 'bookworm-mipsel'}, {'name': 'bookworm-ppc64el'}])
def test_processes(options):
    """They are found by name, and only those of this router."""
    with Router(**options) as router, Router() as other:
        assert router.processes('dd') == []
        argv = [*router.enter, *shlex.split(router.ssh), router.destination, 'echo in; exec dd if=/dev/zero of=/dev/null']
        client = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert client.stdout.readline() == b'in\n'
        assert until(lambda: len(router.processes('dd')) == 1)
        pid, = router.processes('dd')
        assert other.processes('dd') == []
        assert router.processes('sshd' if options.get('server') else 'dropbear')
        os.kill(pid, signal.SIGKILL)
        client.communicate(timeout=10)
        assert client.returncode != 0
        assert until(lambda: router.processes('dd') == [])


@pytest.mark.parametrize('name', ['bookworm-amd64', 'bookworm-mipsel'])
def test_delay(name):
    """An answer takes that much longer; a login takes several."""
    with Router(name, delay_ms=100) as router:
        started = time.monotonic()
        assert ok(router, 'echo in') == 'in\n'
        assert 0.5 < time.monotonic() - started < 10
        pipe = subprocess.Popen([*router.enter, *shlex.split(router.ssh), router.destination, 'cat'], bufsize=0,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        seen = [echo(pipe) for _ in range(6)]
        assert pipe.communicate(timeout=20) == (b'', None)
        assert 0.1 <= min(seen) < 0.2


def echo(pipe):
    """Seconds until a byte comes back."""
    started = time.monotonic()
    pipe.stdin.write(b'.')
    assert pipe.stdout.read(1) == b'.'
    return time.monotonic() - started


@pytest.mark.parametrize('options', [{}, {'server': 'openssh'}, {'name': 'bookworm-mipsel', 'delay_ms': 1}])
def test_nothing_is_left(options):
    """Not even what a test has left behind, in the router or beside it, when it fails."""
    with pytest.raises(ZeroDivisionError):
        with Router(**options) as router:
            assert router.call('sleep 60 >/dev/null 2>&1 </dev/null &')[0] == 0
            assert until(lambda: len(router.processes('sleep')) == 1)
            left = subprocess.Popen([*router.enter, 'sleep', '60'])
            seen = namespaces_of(router)
            assert len(seen) == 4 and inhabitants(seen)
            raise ZeroDivisionError
    assert left.wait(10) == -signal.SIGKILL
    assert inhabitants(seen) == []
    assert traces(router.tag) == []


def test_a_router_that_does_not_come_up_leaves_nothing():
    with pytest.raises(RuntimeError, match='(?s)does not answer.*Bad configuration option: NoSuchThing'):
        Router(server='openssh', config=['NoSuchThing yes']).__enter__()
    with pytest.raises(RuntimeError, match='not a SUITE-ARCH'):
        Router('bookworm').__enter__()


CHILD = '''
import sys, time
sys.path.insert(0, %r)
from routers import Router
with Router() as router:
    print(router.pid, router.tag, flush=True)
    time.sleep(60)
'''


def test_its_processes_end_with_a_killed_test():
    """No process outlives us; of the rest the names stay, and here they are cleared away."""
    child = subprocess.Popen([sys.executable, '-c', CHILD % HERE], stdout=subprocess.PIPE, universal_newlines=True)
    pid, tag = child.stdout.readline().split()
    child.kill()
    child.communicate(timeout=10)
    assert until(lambda: not os.path.exists('/proc/' + pid))
    directory, = glob.glob(os.path.join(tempfile.gettempdir(), 'routerbench-%s-*' % tag))
    names = {tag + '-client', tag + '-router'}
    found = set(traces(tag))
    shutil.rmtree(directory)
    for name in names:
        subprocess.check_call(['ip', 'netns', 'delete', name])
    assert found == names | {directory}
