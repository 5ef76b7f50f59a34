"""The agent and routers without Python: real dropbear and OpenSSH servers, old and new, native and
emulated, in namespaces of their own. `pytest --lab`; root and a Debian-like host."""

import contextlib
import fcntl
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
from typing import Any, List, NamedTuple

import pytest

import paired
import routerbench as rb
from fakes import AGENT
from farside import until
from routers import Router, run, words, write

pytestmark = pytest.mark.lab

TAG = 'routerbench-far-' + os.urandom(4).hex()  # in the environment of all that this session starts
DROPBEARS = {'bookworm-amd64': 'dropbear_2022.83', 'trixie-amd64': 'dropbear_2025.', 'forky-amd64': 'dropbear_2026.'}
FOREIGN = {'bookworm-mipsel': 'mipsel', 'bookworm-ppc64el': 'ppc64le'}
SHORT = ['--quick', '--budget', '5', '--wait', '0']
OPENVPN = ['run', 'openvpn', *SHORT, '--cipher', 'aes-256-gcm', '--tun-mtu', '2000']
CTR = ['run', 'ssh', *SHORT, '--cipher', 'aes-128-ctr']
CBC = ['run', 'ssh', *SHORT, '--cipher', 'aes-128-cbc']
ENDLESS = ['run', 'openvpn', '--wait', '0', '--cipher', 'aes-256-cbc', '--tun-mtu', '65535']
TRANSFERS = ['run', 'ssh', '--wait', '0', '--cipher', 'aes-128-ctr']


# --- the agent, and what it leaves ---------------------------------------------------------------

class Ended(NamedTuple):
    """How a run of the agent ended."""

    status: int
    lines: List[Any]  # rb.Line, or what `info` printed
    err: str
    seconds: float


def argv_of(router, wish, ssh=None, on=None):
    """The agent with such a wish, beside the router."""
    places = [word for one in on or [router.destination] for word in ('--on', one)]
    return [*router.enter, sys.executable, AGENT, *wish, *places, '--ssh', ssh or router.ssh]


def started(argv, **streams):
    """A process that carries the session's tag."""
    streams = dict({'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}, **streams)
    return subprocess.Popen(argv, universal_newlines=True, env=dict(os.environ, TAG=TAG, PYTHONDONTWRITEBYTECODE='1'), **streams)


def finished(process, limit=90):
    """Its end, as Ended. What does not end in time is asked to, so that it can tidy up."""
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=limit)
    except BaseException:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.communicate()
        raise
    assert 'Traceback' not in (err or ''), err
    return Ended(process.returncode, [read_line(line) for line in out.splitlines()], err or '', time.monotonic() - began)


def read_line(text):
    """One line of stdout: strict JSON with the documented keys in their order."""
    found = json.loads(text, parse_constant=lambda name: pytest.fail('%s in %s' % (name, text)))
    if 'status' not in found:
        return found
    assert list(found) == list(rb.Line._fields)
    return rb.Line(**found)


def agent(router, *wish, ssh=None, on=None, limit=90):
    """Run the agent beside the router, with --on it."""
    return finished(started(argv_of(router, wish, ssh, on)), limit)


def info(router, **more):
    """What `info` says about it."""
    ended = agent(router, 'info', **more)
    assert ended.status == 0, ended.err
    report, = ended.lines
    for name in ('openvpn', 'ssh'):
        assert of_test(report, name)['ready']
    return report


def of_test(report, name):
    return next(test for test in report['tests'] if test['test'] == name)


def good(ended, *ciphers):
    """Its lines, which are all there is to measure; one of them if it is one."""
    assert ended.status == 0, (ended.err, ended.lines)
    assert [line.status for line in ended.lines] == ['ok'] * len(ended.lines)
    assert not ciphers or [line.cipher for line in ended.lines] == list(ciphers)
    for line in ended.lines:
        assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-3)
        assert line.seconds == pytest.approx(rb.median(line.runs), abs=1e-6) or not line.runs
    return ended.lines[0] if len(ended.lines) == 1 else ended.lines


def bad(ended, reason, status='failed'):
    """Its only line, which says why there is no figure."""
    line, = ended.lines
    assert (line.status, line.reason) == (status, reason), line
    assert ended.status in (1, 4)
    assert line.mbit_s is None and line.seconds is None and line.runs in ([], None)
    return line


def left_here():
    """Numbers of the processes that this session started and that still run, but for sleepers in routers."""
    found = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        with contextlib.suppress(OSError), open(path, 'rb') as file:
            if b'TAG=' + TAG.encode() in file.read().split(b'\0'):
                found.append(int(path.split('/')[2]))
    return found


def left_there(router):
    """Our commands and directories that are still on the router."""
    files = [name for name in os.listdir(router.root + '/tmp') if name.startswith('routerbench')]
    return router.processes('openvpn') + router.processes('dd') + files


class Lab:
    """Routers by their options, made when first asked for; those that `own` makes are for one test."""

    def __init__(self, stack):
        self.stack, self.made, self.others = stack, {}, []

    def __call__(self, name='bookworm-amd64', **options):
        key = name + repr(sorted(options.items()))
        if key not in self.made:
            self.made[key] = self.stack.enter_context(Router(name, **options))
        return self.made[key]

    @contextlib.contextmanager
    def own(self, name='bookworm-amd64', **options):
        """A router that the test changes."""
        with Router(name, **options) as router:
            yield router
            assert until(lambda: left_there(router) == []), left_there(router)


@pytest.fixture(scope='module')
def lab():
    with contextlib.ExitStack() as stack:
        yield Lab(stack)


@pytest.fixture(autouse=True)
def nothing_left(lab):
    """After every check: no process and no file, here or there. What is found is ended, so that no other check meets it."""
    before = set(glob.glob('/tmp/routerbench-[0-9]*'))
    yield
    until(lambda: not left_here() and not any(left_there(router) for router in lab.made.values()))
    found = [left_here(), *(left_there(router) for router in lab.made.values())]
    for pid in (one for some in found for one in some if isinstance(one, int)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not any(found), found
    assert set(glob.glob('/tmp/routerbench-[0-9]*')) <= before
    assert not os.path.exists('/tmp/PWNED')


# --- every kind of router ------------------------------------------------------------------------

EVERY_DROPBEAR = pytest.mark.parametrize('name', sorted(DROPBEARS))
EVERY_FOREIGN = pytest.mark.parametrize('name', sorted(FOREIGN))
TCSH = pytest.mark.parametrize('server', ['dropbear', 'openssh'])


@EVERY_DROPBEAR
def test_info(lab, name):
    report = info(lab(name))
    assert (report['arch'], report['byte_order'], report['virtual']) == ('x86_64', 'little', 'hypervisor')
    assert report['os'].startswith('Debian GNU/Linux ')
    assert report['cores'] == os.cpu_count()
    assert re.match(r'OpenVPN 2\.\d+\.\d+, OpenSSL 3\.', of_test(report, 'openvpn')['with'])
    assert re.match(r'OpenSSH_\S+ here and the ssh server there', of_test(report, 'ssh')['with'])


@EVERY_DROPBEAR
def test_openvpn(lab, name):
    line = good(agent(lab(name), *OPENVPN), 'aes-256-gcm')
    assert line.mbit == pytest.approx(rb.work_mbit(2168), abs=0.001)
    assert (line.extra['packets'], line.extra['clock']) == (2168, 'time')
    assert ('--secret' in line.method) is (name != 'forky-amd64')
    # A run of 10 ms shows no processor time in a `time` that knows no less: that accuses nobody.
    assert 'cpu-starved' not in line.warnings or line.extra['user_s'] + line.extra['system_s'] > 0.015


@EVERY_DROPBEAR
def test_ssh(lab, name):
    """A dropbear of today has no CBC, which the lines say."""
    lines = good(agent(lab(name), 'run', 'ssh', *SHORT), 'aes128-ctr', 'aes256-ctr', 'chacha20-poly1305@openssh.com')
    assert [line.algorithm for line in lines] == ['AES128', 'AES256', 'CHACHA20']
    assert ['substituted-cipher' in line.warnings for line in lines] == [True, True, False]
    assert [line.auth for line in lines] == ['hmac-sha2-256', 'hmac-sha2-256', None]
    for line in lines:
        assert line.tool.startswith(DROPBEARS[name])
        assert line.extra['clock'] == 'time'
        assert line.mbit == line.extra['bytes'] * 8 / 1e6 <= 800
        assert 'loopback' not in line.warnings


def test_the_documents_test(lab):
    """In full, on a server that takes CBC: the two columns of the table."""
    line = good(agent(lab(server='openssh'), 'run', 'ssh', '--wait', '0', '--cipher', 'aes-256-cbc', '--budget', '5'), 'aes256-cbc')
    check_row(line, '256')
    assert line.mbit == 800 and len(line.runs) >= 3
    assert not {'estimated', 'legacy-ssh', 'single-run'} & set(line.warnings)
    assert line.seconds > rb.LONG_ENOUGH or line.extra['mbit_s_long'] > 0


def check_row(line, bits):
    assert line.method == 'ssh -c aes%s-cbc root@<router> time dd if=/dev/zero bs=500000 count=%d > /dev/null' % (
        bits, line.mbit / 4)
    assert (line.algorithm, line.extra['bytes'] * 8 / 1e6) == ('AES' + bits, line.mbit)
    assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-4)
    assert line.tool.startswith('OpenSSH_9.2p1') and line.extra['clock'] == 'time'
    assert line.auth and 'substituted-cipher' not in line.warnings


def test_what_a_bigger_server_has(lab):
    """By default CBC is measured where it is there; dd's own seconds agree."""
    lines = good(agent(lab(server='openssh'), 'run', 'ssh', *SHORT), 'aes128-cbc', 'aes256-cbc', 'chacha20-poly1305@openssh.com')
    check_row(lines[0], '128')
    check_row(lines[1], '256')
    for line in lines:
        assert line.extra['dd_s'] == pytest.approx(line.runs[-1], rel=0.2, abs=0.05)


@EVERY_FOREIGN
def test_foreign_info(lab, name):
    report = info(lab(name))
    assert (report['arch'], report['byte_order'], report['virtual']) == (FOREIGN[name], 'little', 'qemu')


@pytest.mark.parametrize('name, wish, cipher', [
    ('bookworm-mipsel', OPENVPN, 'aes-256-gcm'), ('bookworm-mipsel', CTR, 'aes128-ctr'),
    ('bookworm-ppc64el', [*OPENVPN, '--cipher', 'none', '--auth', 'none'], 'none'), ('bookworm-ppc64el', CTR, 'aes128-ctr')],
    ids=['mipsel-openvpn', 'mipsel-ssh', 'ppc64el-openvpn', 'ppc64el-ssh'])
def test_foreign(lab, name, wish, cipher):
    line = good(agent(lab(name), *wish, '--budget', '1'), cipher)
    assert line.arch == FOREIGN[name]
    assert {'estimated', 'virtual-machine'} <= set(line.warnings)


@TCSH
def test_tcsh_is_the_login_shell(lab, server):
    """Whose syntax is another one, and whose `time` speaks on stdout."""
    router = lab(server=server, shell='/bin/tcsh')
    assert info(router)['arch'] == 'x86_64'
    assert good(agent(router, *OPENVPN)).extra['clock'] == 'time'
    line = good(agent(router, *(CTR if server == 'dropbear' else CBC)))
    assert line.extra['clock'] == 'time'
    assert line.mbit == line.extra['bytes'] * 8 / 1e6


# --- clocks --------------------------------------------------------------------------------------

CLOCKS = {'time': {}, 'uptime': {'without': ('time',)}, 'local': {'without': ('time',), 'hide': ('/proc/uptime',)}}
BIGGER = ['run', 'openvpn', '--quick', '--budget', '5', '--wait', '0', '--cipher', 'aes-256-cbc', '--tun-mtu', '12000']


@pytest.fixture(scope='module')
def rates(lab):
    """Mbit/s by the router's `time`, of openvpn and ssh, with which those by another clock are compared."""
    return [good(agent(lab(), *wish)).mbit_s for wish in (BIGGER, CTR)]


@pytest.mark.parametrize('shell', ['/bin/sh', '/bin/tcsh'])
@pytest.mark.parametrize('clock', ['uptime', 'local'])
def test_clock(lab, rates, clock, shell):
    """A router without `time`, or without any clock."""
    router = lab(shell=shell, **CLOCKS[clock])
    for wish, rate in zip((BIGGER, CTR), rates):
        line = good(agent(router, *wish))
        assert line.extra['clock'] == clock
        assert rate / 2.5 < line.mbit_s < rate * 2.5


# --- what the agent adds to a measurement --------------------------------------------------------

def typed(router, command, *options):
    """Seconds by the router's own `time` of a command that is typed by hand; what it prints goes nowhere."""
    argv = [*router.enter, *shlex.split(router.ssh), *options, router.destination, 'time ' + command]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                          universal_newlines=True, check=True)
    return rb.parse_time(done.stderr).real


@contextlib.contextmanager
def reached(router):
    """The router as the agent sees it, from within this process."""
    command = router.directory + '/ssh'
    write(command, '#!/bin/sh\nexec %s "$@"\n' % words(*router.enter, 'ssh'), 0o755)
    near = rb.LocalHost()
    far = rb.SshHost(near, rb.SshClient(near, [command, *shlex.split(router.ssh)[1:]]), rb.Destination(router.destination), print)
    try:
        far.survey(rb.SURVEY)
        far.calibrate()
        yield far
    finally:
        far.close()
        near.close()


@pytest.mark.parametrize('options, cipher, blocks, within', [
    ({'name': 'bookworm-mipsel'}, 'aes128-ctr', 50, 0.01), ({'server': 'openssh'}, 'aes256-cbc', 200, 0.1)], ids=['slow', 'fast'])
def test_dd_typed_by_hand(lab, options, cipher, blocks, within):
    """The agent's seconds of dd over ssh and those of the same command in a terminal, within 1 %; within 10 % where
    the router is as fast as this machine: it is this machine, and whatever is done with the data here slows it."""
    router = lab(**options)
    command = 'dd if=/dev/zero bs=500000 count=%d' % blocks
    with reached(router) as far:
        route = rb.Download(far)
        paired.check(paired.turns(lambda: route.transfer(cipher, blocks, 60).seconds, lambda: typed(router, command, '-c', cipher)), within, 9)


def test_openvpn_typed_by_hand(lab):
    """The same for a command that the agent starts through its shell on the router."""
    router = lab('forky-amd64')  # whose openvpn needs no key
    with reached(router) as far:
        openvpn = rb.Openvpn(far, rb.machine_of(far), rb.Options())
        combination = rb.Combination('aes-256-cbc', 'SHA1')
        command = ' '.join(openvpn.command(combination, 16000, ''))
        paired.check(paired.turns(lambda: openvpn.timed(combination, 16000, 5)[0].seconds, lambda: typed(router, command)), 0.01, 9)


# --- what can go wrong with a login --------------------------------------------------------------

def key_of(router):
    """Another key, in both formats, that the router does not know."""
    return router.directory + '/other' if os.path.exists(router.directory + '/other') else router._key('other', 'ed25519')


def stranger(router):
    """A known_hosts with another key for this router."""
    public = ' '.join(open(key_of(router) + '.pub').read().split()[:2])
    path = router.directory + '/changed/.ssh/known_hosts'
    write(path, ''.join('%s %s\n' % (place, public) for place in (router.address, '[%s]:%d' % (router.address, router.port))))
    return path


def ssh_with(router, key=None, known=None):
    """router.ssh with another key or known_hosts."""
    return router.ssh.replace(router.key, key or router.key).replace(router.known_hosts, known or router.known_hosts)


def dbclient_with(router, key=None, home=None):
    """router.dbclient with another key or HOME."""
    if home:
        text = open(router.directory + '/dbclient').read().replace(router.home, home)
        write(router.directory + '/elsewhere/dbclient', text, 0o755)
    client = router.dbclient.replace(router.directory + '/dbclient', router.directory + '/elsewhere/dbclient') if home else router.dbclient
    return client.replace(router.key + '.db', key or router.key + '.db')


CLIENTS = {
    'hostkey-changed': (lambda r: ssh_with(r, known=stranger(r)), 'not the one that is known.*ssh-keygen -R'),
    'hostkey-unknown': (lambda r: ssh_with(r, known='/dev/null'), 'log in once by hand'),
    'auth-required': (lambda r: ssh_with(r, key=key_of(r)), 'ssh-copy-id'),
    'dbclient hostkey-changed': (lambda r: dbclient_with(r, home=os.path.dirname(os.path.dirname(stranger(r)))), 'not the one that is known'),
    'dbclient hostkey-unknown': (lambda r: dbclient_with(r, home=r.directory + '/nobody'), 'log in once by hand'),
    'dbclient auth-required': (lambda r: dbclient_with(r, key=key_of(r) + '.db'), 'public key'),
    'dbclient key-format': (lambda r: dbclient_with(r, key=r.key), 'dropbearconvert openssh dropbear'),
}


def on_a_terminal(router, ssh, *wish, on=None):
    """Run the agent as a person does, on a terminal where a client could ask something: (Ended, what was shown)."""
    master, slave = os.openpty()
    process = started(argv_of(router, wish, ssh, on), stdin=slave, stderr=slave, start_new_session=True,
                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    ended = finished(process, 20)
    shown = b''
    with contextlib.suppress(OSError):
        while True:
            shown += os.read(master, 65536)
    os.close(master)
    return ended, shown.decode('utf-8', 'replace')


def check_failure(ended, shown, reason, detail):
    """An instructive line, soon, and nobody is asked anything."""
    line = bad(ended, reason)
    assert re.search(detail, line.detail, re.S), line.detail
    assert re.match(r'\S+@\S+: %s\r\n$' % re.escape(line.detail), shown), shown
    assert ended.seconds < 8
    assert not re.search(r'10\.\d+\.\d+\.\d+|routerbench-rb|nosuch', line.detail)


@pytest.mark.parametrize('case', sorted(CLIENTS))
def test_login_fails(lab, case):
    router = lab()
    client, detail = CLIENTS[case]
    check_failure(*on_a_terminal(router, client(router), 'run', 'ssh'), case.split()[-1], detail)


@pytest.mark.parametrize('server', ['dropbear', 'openssh'])
@pytest.mark.parametrize('client', ['ssh', 'dbclient'])
def test_password_is_wanted(lab, server, client):
    router = lab(server=server, password='open sesame')
    check_failure(*on_a_terminal(router, getattr(router, client), 'run', 'ssh'), 'auth-required', 'public key')


def test_passphrase_is_wanted(lab):
    """Of the key; an agent that holds it would do."""
    router = lab()
    path = router.directory + '/locked'
    run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', 'open sesame', '-f', path])
    check_failure(*on_a_terminal(router, ssh_with(router, key=path), 'run', 'ssh'), 'auth-required', 'ssh-add')


@pytest.mark.parametrize('client', ['ssh', 'dbclient'])
@pytest.mark.parametrize('place, reason, detail', [
    ('ssh://root@%s:2', 'connection-refused', 'nothing listens on its ssh port'), ('root@%s77', 'no-answer', 'switched on'),
    ('root@nosuch-router.invalid', 'host-unknown', 'no such host')], ids=['refused', 'nobody', 'unknown'])
def test_nobody_is_there(lab, client, place, reason, detail):
    router = lab()
    place = place.replace('%s77', router.address[:-1] + '77').replace('%s', router.address)
    ssh = getattr(router, client).replace(' -p 22', '')
    ended, shown = on_a_terminal(router, ssh, 'run', 'ssh', on=[place])
    check_failure(ended, shown, reason, detail)


SILENT = """
import socket, sys, time
listener = socket.socket()
listener.bind((sys.argv[1], 2222))
listener.listen(5)
print('listens', flush=True)
time.sleep(300)
"""


def test_silence(lab):
    """Something listens and never speaks."""
    router = lab()
    silent = started(['ip', 'netns', 'exec', router.network, sys.executable, '-c', SILENT, router.address])
    try:
        assert silent.stdout.readline() == 'listens\n'
        ended = agent(router, 'run', 'ssh', ssh=router.ssh.replace(' -p 22', ''), on=['ssh://root@%s:2222' % router.address])
    finally:
        silent.kill()
        silent.communicate()
    bad(ended, 'no-answer')
    assert ended.seconds < 30


# --- old servers ---------------------------------------------------------------------------------

OLD = {  # lines of sshd_config, keys; the reason; what would help; the cipher to ask for
    'hostkey': (['HostKeyAlgorithms ssh-rsa'], 'hostkey-algorithm', ['HostKeyAlgorithms=+ssh-rsa', 'PubkeyAcceptedAlgorithms=+ssh-rsa'], 'aes128-ctr'),
    'kex': (['KexAlgorithms diffie-hellman-group14-sha1'], 'kex-algorithm', ['KexAlgorithms=+diffie-hellman-group14-sha1'], 'aes128-ctr'),
    'older kex': (['KexAlgorithms diffie-hellman-group1-sha1'], 'kex-algorithm', ['KexAlgorithms=+diffie-hellman-group1-sha1'], 'aes128-ctr'),
    'mac': (['Ciphers aes128-ctr', 'MACs hmac-md5,hmac-sha1-96'], 'mac-algorithm', ['MACs=+hmac-sha1-96'], 'aes128-ctr'),
    'cipher': (['Ciphers aes128-cbc,3des-cbc'], 'cipher-unavailable', ['Ciphers=+aes128-cbc'], 'aes128-cbc'),
    'older cipher': (['Ciphers 3des-cbc'], 'cipher-unavailable', ['Ciphers=+3des-cbc'], '3des-cbc'),
}


def wish_for(cipher):
    return ['run', 'ssh', *SHORT, '--cipher', cipher]


@pytest.mark.parametrize('case', sorted(OLD))
def test_old_server(lab, case):
    """Without --legacy-ssh the line names the exact options; with it they are used, no more, and the line says so."""
    config, reason, options, cipher = OLD[case]
    with lab.own(server='openssh', config=config) as router:
        exact = ' '.join('-o ' + option for option in options)
        line = bad(agent(router, *wish_for(cipher)), reason)
        assert line.detail.endswith('--legacy-ssh, which adds ' + exact)
        refused = agent(router, 'info')
        assert (refused.status, refused.lines) == (4, []) and exact in refused.err
        line = good(agent(router, *wish_for(cipher), '--legacy-ssh'), cipher)
    assert line.extra['legacy'] == options
    assert 'legacy-ssh' in line.warnings


def test_very_old_server(lab):
    """Several things at once, one after the other; and openvpn, whose figure has nothing to do with it."""
    config = ['HostKeyAlgorithms ssh-rsa', 'KexAlgorithms diffie-hellman-group14-sha1', 'Ciphers aes256-cbc', 'MACs hmac-sha1-96']
    with lab.own(server='openssh', config=config) as router:
        line = good(agent(router, *wish_for('aes256-cbc'), '--legacy-ssh'), 'aes256-cbc')
        assert sorted(line.extra['legacy']) == [
            'Ciphers=+aes256-cbc', 'HostKeyAlgorithms=+ssh-rsa', 'KexAlgorithms=+diffie-hellman-group14-sha1',
            'MACs=+hmac-sha1-96', 'PubkeyAcceptedAlgorithms=+ssh-rsa']
        assert good(agent(router, *OPENVPN, '--legacy-ssh'))


def test_old_mac_of_one_cipher(lab):
    """The login takes chacha20, which needs none; only the transfer meets the old one."""
    with lab.own(server='openssh', config=['MACs hmac-md5,hmac-sha1-96']) as router:
        line = bad(agent(router, *CTR), 'mac-algorithm')
        assert line.detail.endswith('--legacy-ssh, which adds -o MACs=+hmac-sha1-96')
        line = good(agent(router, *CTR, '--legacy-ssh'), 'aes128-ctr')
    assert line.extra['legacy'] == ['MACs=+hmac-sha1-96'] and 'legacy-ssh' in line.warnings


def test_legacy_is_not_advised_where_it_is_no_help(lab):
    """The cipher was asked for by name, and the server has others."""
    with lab.own(server='openssh', config=['Ciphers aes256-cbc,aes128-ctr']) as router:
        for more in ([], ['--legacy-ssh']):
            line = bad(agent(router, *CBC, *more), 'cipher-unavailable', 'skipped')
            assert 'aes256-cbc, aes128-ctr' in line.detail and 'legacy' not in line.detail


def test_legacy_is_not_used_where_it_is_not_needed(lab):
    line = good(agent(lab(), *CTR, '--legacy-ssh'))
    assert line.extra['legacy'] is None and 'legacy-ssh' not in line.warnings


# --- clients -------------------------------------------------------------------------------------

@pytest.mark.parametrize('name', ['bookworm-amd64', 'forky-amd64'])
def test_dbclient(lab, name):
    """dropbear's client, as on OpenWrt."""
    router = lab(name)
    assert 'Dropbear' in of_test(info(router, ssh=router.dbclient), 'ssh')['with']
    assert good(agent(router, *OPENVPN, ssh=router.dbclient), 'aes-256-gcm')
    line = good(agent(router, *CTR, ssh=router.dbclient), 'aes128-ctr')
    assert line.extra['client'].startswith('Dropbear ')
    assert line.extra['bytes'] * 8 / 1e6 == line.mbit


def test_dbclient_substitutes(lab):
    """It has no CBC itself, nor has the server."""
    router = lab()
    lines = good(agent(router, 'run', 'ssh', *SHORT, ssh=router.dbclient), 'aes128-ctr', 'aes256-ctr', 'chacha20-poly1305@openssh.com')
    assert ['substituted-cipher' in line.warnings for line in lines] == [True, True, False]
    line = bad(agent(router, *CBC, ssh=router.dbclient), 'cipher-unavailable', 'skipped')
    assert 'no cipher in common' in line.detail


def test_a_shared_connection_does_not_matter(lab):
    """R: a master ignores -c, even for a cipher that the server lacks; ours are no part of it."""
    router = lab()
    path = router.directory + '/master'
    master = started([*router.enter, *shlex.split(router.ssh), '-N', '-o', 'ControlMaster=yes', '-o', 'ControlPath=' + path, router.destination])
    shared = ['-o', 'ControlPath=' + path]
    try:
        assert until(lambda: os.path.exists(path))
        assert router.call('echo in', *shared, '-c', '3des-cbc')[:2] == (0, 'in\n')
        ssh = router.ssh + ' ' + words(*shared)
        line = good(agent(router, 'run', 'ssh', *SHORT, '--cipher', 'aes-256-ctr', ssh=ssh), 'aes256-ctr')
        assert line.auth == 'hmac-sha2-256'
        bad(agent(router, 'run', 'ssh', *SHORT, '--cipher', '3des-cbc', ssh=ssh), 'cipher-unavailable', 'skipped')
        assert master.poll() is None
    finally:
        master.terminate()
        master.communicate()


# --- noise ---------------------------------------------------------------------------------------

GREETING = """*** real hardware lab 47.5 ***
__RB_BEGIN_7f3a__
real\t0m 0.01s
user\t0m 0.01s
sys\t0m 0.01s
00112233445566778899aabbccddeeff b 1
200+0 records out
__RB_END_7f3a__ 100% $(touch /tmp/PWNED) `touch /tmp/PWNED` \\x1b[2J \x1b]0;title\x07"""
BANNER = """47.5 users, real 0m0.001s
debug1: kex: server->client cipher: 3des-cbc MAC: none compression: zlib
debug1: Remote protocol version 2.0, remote software version evil_1.0
real    0m0.001s
"""


@pytest.mark.parametrize('options', [{}, {'shell': '/bin/tcsh'}, {'server': 'openssh'}], ids=['sh', 'tcsh', 'bash'])
def test_noise(lab, options):
    """What is said besides changes nothing."""
    router = lab(greeting=GREETING, banner=BANNER, motd='real\t0m 0.02s\n', **options)
    assert info(router)['arch'] == 'x86_64'
    assert good(agent(router, *OPENVPN), 'aes-256-gcm').seconds > 0.002
    line = good(agent(router, *CTR), 'aes128-ctr')
    assert line.mbit == line.extra['bytes'] * 8 / 1e6
    assert line.seconds > 0.015 and not line.tool.startswith('evil')
    assert line.extra['dd_s'] is None or line.extra['dd_s'] > 0.015


def test_a_profile_that_stumbles(lab):
    """Its complaint on stderr is not dd's."""
    profile = 'cat /etc/nosuch\nnosuchcommand\ncd /nosuch\n'
    with lab.own(server='openssh', files={'/root/.bashrc': profile}) as router:
        assert 'No such file' in router.call('true')[2]
        assert info(router)['arch'] == 'x86_64'
        assert good(agent(router, *OPENVPN), 'aes-256-gcm')
        assert good(agent(router, *CBC), 'aes128-cbc')


# --- every way to end ----------------------------------------------------------------------------

def runs_there(router, name, seconds=0.3):
    """A process of that name that has run for a moment, not a short one before the long one."""
    seen = []

    def lasts():
        now = router.processes(name)
        seen.append((time.monotonic(), now))
        return any(pid in then for pid in now for at, then in seen if at < time.monotonic() - seconds)
    assert until(lasts, 30)


def clients_of(process):
    """The ssh clients of an agent."""
    found = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        with contextlib.suppress(OSError), open(path) as file:
            number, name, _, parent = re.match(r'(\d+) \((.*)\) (\S) (\d+)', file.read()).groups()
            found += [int(number)] if name == 'ssh' and int(parent) == process.pid else []
    return sorted(found)


def disturbed(router, wish, name, disturb):
    """Start the agent, wait until the router is at work, disturb one of them; how the agent ends."""
    process = started(argv_of(router, wish))
    try:
        runs_there(router, name)
        disturb(process)
    except BaseException:
        process.terminate()
        process.communicate(timeout=10)
        raise
    return finished(process, 15)


WORK = pytest.mark.parametrize('wish, name', [(ENDLESS, 'openvpn'), (TRANSFERS, 'dd')], ids=['openvpn', 'ssh'])


@WORK
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal(lab, wish, name, number):
    """Ctrl-C, `kill` and a hang-up: out at once, and the router is as it was."""
    router = lab()
    ended = disturbed(router, wish, name, lambda process: process.send_signal(number))
    assert (ended.status, ended.lines) == (130, [])
    assert 'nothing is left behind' in ended.err
    assert ended.seconds < 3
    assert until(lambda: left_there(router) == [] and left_here() == [])


@WORK
@pytest.mark.parametrize('options', [{}, {'server': 'openssh'}, {'shell': '/bin/tcsh'}], ids=['dropbear', 'openssh', 'tcsh'])
def test_kill_9(lab, wish, name, options):
    """The shell on the router tidies up by itself."""
    router = lab(**options)
    ended = disturbed(router, wish, name, lambda process: process.kill())
    assert ended.status == -signal.SIGKILL
    assert until(lambda: left_there(router) == [] and left_here() == []), (left_there(router), left_here())


@WORK
def test_the_connection_is_lost(lab, wish, name):
    """The local ssh that does the work dies: a line says so, and the router is clean."""
    router = lab()
    ended = disturbed(router, wish, name, lambda process: os.kill(clients_of(process)[-1], signal.SIGKILL))
    line = bad(ended, 'connection-lost' if name == 'openvpn' else 'incomplete')
    assert 'lost' in line.detail or re.search(r'only \d+ of \d+ bytes', line.detail)
    assert until(lambda: left_there(router) == [])


@WORK
def test_the_servers_end_is_lost(lab, wish, name):
    """As when a router reboots."""
    with lab.own() as router:
        def reboot(_process):
            for pid in set(router.processes('dropbear') + router.processes(name)) - {router.pid}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        ended = disturbed(router, wish, name, reboot)
        assert bad(ended, ended.lines[0].reason).reason in ('connection-lost', 'incomplete', 'killed')
        for file in left_there(router):
            run(['rm', '-rf', '%s/tmp/%s' % (router.root, file)])  # a reboot would have


@pytest.mark.parametrize('shell', ['/bin/sh', '/bin/tcsh'])
def test_openvpn_is_killed(lab, shell):
    """As by a kernel that has no memory left, whenever it has run for a moment."""
    router = lab(shell=shell)

    def starve(process):
        while process.poll() is None and router.processes('openvpn'):
            for pid in router.processes('openvpn'):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.3)
    line = bad(disturbed(router, [*ENDLESS, '--quick'], 'openvpn', starve), 'killed')
    assert 'signal 9' in line.detail and 'dmesg' in line.detail


@pytest.mark.parametrize('options', [{}, {'server': 'openssh'}, {'without': ('time',)}], ids=['dropbear', 'openssh', 'uptime'])
def test_limit(lab, options):
    """What takes too long is ended there."""
    router = lab(**options)
    ended = agent(router, *ENDLESS, '--limit', '1s')
    line = bad(ended, 'timeout')
    assert '--limit' in line.detail
    assert ended.seconds < 12
    assert router.processes('openvpn') == []
    line = bad(agent(router, 'run', 'ssh', '--wait', '0', '--cipher', 'chacha20-poly1305', '--limit', '0.05s'), 'timeout')
    assert '--limit' in line.detail


# --- what cannot be trusted ----------------------------------------------------------------------

MODELS = ['Bad "Router" | x\' ; touch /tmp/PWNED; $(touch /tmp/PWNED) `touch /tmp/PWNED`', 'One\x1b[2J\x1b]0;title\x07\nTwo | Three\r\n',
          "'\n$(touch /tmp/PWNED)\n' \u202eevil\u2028|| true", '%s %d {} \\n \\x1b[31m -n']


@pytest.mark.parametrize('model', MODELS, ids=['shell', 'escapes', 'lines', 'formats'])
def test_hostile_name(lab, model):
    """A name is data wherever it goes. (Without its cpuinfo this router is not seen to be a virtual one, which has no name.)"""
    with lab.own(hide=['/proc/cpuinfo']) as router:
        router.write('/tmp/sysinfo/model', model)
        router.write('/etc/os-release', 'NAME="%s"\nVERSION_ID=1\n' % model.replace('"', ''))
        report = info(router)
        ended = agent(router, *CTR)
        assert not os.path.exists(router.root + '/tmp/PWNED')
    line = good(ended)
    assert report['device'] == rb.plain(model)
    assert report['os'] == rb.plain(report['os'])
    assert (line.device, line.os) == (report['device'], report['os'])
    assert not re.search(r'[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2028]', ended.err)
    row = ended.err.split(rb.ROW_HEAD + '\n')[1].splitlines()[0]
    assert len(re.findall(r'(?<!\\)\|', row)) == rb.ROW_HEAD.count('|')


REAL = '/bin/busybox dd'
DDS = {  # what `dd` is; the reason and what the detail says, or none if the figure is good
    'too little': ('/usr/bin/head -c 1000 /dev/zero', 'incomplete', 'only 1000 of 1000000 bytes'),
    'nothing': ('exit 0', 'incomplete', 'only 0 of 1000000 bytes'),
    'too much': (REAL + ' "$@"; /usr/bin/head -c 1000 /dev/zero', 'incomplete', '1001000 .*1000000 bytes'),
    'fails in the end': (REAL + ' "$@"; echo "dd: no, not so" >&2; exit 1', 'incomplete', 'no, not so'),
    'is killed': ('/usr/bin/head -c 1000 /dev/zero; kill -9 $$', 'incomplete', 'only 1000 of'),
    'stops': ('case $* in *zero*count=2) /usr/bin/head -c 1000 /dev/zero; exec sleep 6; esac; exec %s "$@"' % REAL, 'timeout',
              'the transfer did not end within 3 s'),
    'floods': ('yes "0+0 records out real 0m0.001s" | head -c 4000000 >&2; exec %s "$@"' % REAL, None, None),
    'lies': ('echo "real 0m0.001s" >&2; %s "$@"; echo "real\t0m 0.001s" >&2' % REAL, None, None),
    'is no dd': ('echo "no such thing as dd" >&2; exit 127', 'incomplete', 'only 0 of'),
}


@pytest.mark.parametrize('case', sorted(DDS))
def test_hostile_dd(lab, case):
    """Not all that was asked for came: no figure."""
    script, reason, detail = DDS[case]
    with lab.own() as router:
        router.remove('dd')
        router.write('/usr/bin/dd', '#!/bin/sh\n%s\n' % script, 0o755)
        ended = agent(router, *CTR, *(['--limit', '3s'] if case == 'stops' else []))
        if reason:
            line = bad(ended, reason)
            assert re.search(detail, line.detail), line.detail
        else:
            assert good(ended).seconds > 0.01
        assert ended.seconds < 20


def test_no_dd(lab):
    with lab.own() as router:
        router.remove('dd')
        line = bad(agent(router, *CTR), 'tool-missing', 'skipped')
        assert 'no dd' in line.detail


def test_no_openvpn(lab):
    """The remedy is that of the router's system, not of this one."""
    with lab.own() as router:
        router.remove('openvpn')
        router.write('/usr/bin/opkg', '#!/bin/sh\n', 0o755)
        line = bad(agent(router, *OPENVPN), 'tool-missing', 'skipped')
        assert 'opkg install openvpn-openssl' in line.detail
        assert good(agent(router, *CTR))


# --- far away, and several -----------------------------------------------------------------------

def true_seconds(router):
    """Seconds of `ssh router true`, the least of three."""
    def once():
        began = time.monotonic()
        assert router.call('true', '-o', 'ControlPath=none')[0] == 0
        return time.monotonic() - began
    return min(once() for _ in range(3))


def test_round_trips(lab):
    """`info` costs two more than `ssh router true`. What it takes here is seen beside a router that is near."""
    near, far = lab(), lab(delay_ms=200)
    beyond = [min(agent(router, 'info').seconds for _ in range(2)) - true_seconds(router) for router in (near, far)]
    trips = (beyond[1] - beyond[0]) / 0.2
    print('round trips beyond `ssh router true`: %.2f' % trips)
    assert trips <= 2.5


@contextlib.contextmanager
def joined(one, other):
    """A second router within reach of the first one's client."""
    ends = ['rb' + os.urandom(4).hex() for _ in range(2)]
    run(['ip', 'link', 'add', ends[0], 'netns', one.client, 'type', 'veth', 'peer', 'name', ends[1], 'netns', other.network])
    try:
        for name, end, address in ((one.client, ends[0], '192.168.77.1/30'), (other.network, ends[1], '192.168.77.2/30')):
            run(['ip', '-n', name, 'address', 'add', address, 'dev', end])
            run(['ip', '-n', name, 'link', 'set', end, 'up'])
        run(['ip', '-n', one.client, 'route', 'add', other.address, 'via', '192.168.77.2'])
        yield
    finally:
        run(['ip', '-n', one.client, 'link', 'delete', ends[0]])


def test_two_routers(lab):
    """One after the other, in the order given; one that is not there does not stop the next."""
    one, other = lab(), lab('trixie-amd64')
    known = words('-o', 'UserKnownHostsFile=%s %s' % (one.known_hosts, other.known_hosts))
    ssh = one.ssh.replace(words('-o', 'UserKnownHostsFile=' + one.known_hosts), known + ' ' + words('-i', other.key))
    places = [one.destination, one.destination[:-1] + '77', other.destination]
    with joined(one, other):
        ended = agent(one, 'run', *SHORT[:3], '--wait', '0', '--cipher', 'aes-128-ctr', 'ssh', ssh=ssh, on=places)
        reports = agent(one, 'info', ssh=ssh, on=places[::2])
    assert ended.status == 1
    assert [(line.status, line.reason) for line in ended.lines] == [('ok', None), ('failed', 'no-answer'), ('ok', None)]
    assert [line.os for line in ended.lines] == ['Debian GNU/Linux 12', None, 'Debian GNU/Linux 13']
    assert len({line.run for line in ended.lines}) == 3
    assert (reports.status, [report['os'] for report in reports.lines]) == (0, ['Debian GNU/Linux 12', 'Debian GNU/Linux 13'])


# --- on the router itself ------------------------------------------------------------------------

@pytest.mark.parametrize('client', ['ssh', 'dbclient'])
def test_peer(lab, client):
    """The router sends to a fast machine."""
    other = lab(server='openssh')
    argv = [*other.enter, sys.executable, AGENT, *CTR, '--peer', other.destination, '--ssh', getattr(other, client)]
    line = good(finished(started(argv)), 'aes128-ctr')
    assert line.mbit == line.extra['bytes'] * 8 / 1e6
    assert 'loopback' not in line.warnings and line.extra['clock'] == 'monotonic'
    assert line.tool.startswith('OpenSSH_' if client == 'ssh' else 'Dropbear ')
    assert line.method.startswith('dd if=/dev/zero bs=500000 count=%d | ssh -c aes128-ctr ' % (line.mbit / 4))


@pytest.mark.parametrize('server, config', [('openssh', ['ListenAddress 127.0.0.1']), ('dropbear', ['-p', '127.0.0.1:22'])],
                         ids=['openssh', 'dropbear'])
def test_loopback(lab, server, config):
    """Through its own server, in whose network the agent runs."""
    router = lab(server=server, config=config)
    ssh = router.ssh + ' ' + words('-o', 'HostKeyAlias=' + router.address)
    argv = ['ip', 'netns', 'exec', router.network, sys.executable, AGENT, *CTR, '--ssh', ssh]
    ended = finished(started(argv))
    line = good(ended, 'aes128-ctr')
    assert 'loopback' in line.warnings and line.extra['limit'] == 'both ends'
    assert rb.ROW_HEAD not in ended.err
    line = bad(finished(started([*argv[:3], router.client, *argv[4:]])), 'connection-refused', 'skipped')
    assert '--peer' in line.detail
