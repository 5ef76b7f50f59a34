"""The agent against the real things: OpenVPN 2.5, 2.6 and 2.7, the oldest and newest Python, foreign
architectures, and a stopwatch. `pytest --lab`; root and a Debian-like host; the roots are made by
tests/lab."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import paired
import routerbench as rb
from fakes import AGENT, HERE

pytestmark = pytest.mark.lab

LAB = os.path.join(HERE, 'lab')
LIGHT = os.path.join(LAB, 'light.py')
TAG = 'routerbench-lab-' + os.urandom(4).hex()  # names all that this session makes

# OpenVPN: the root that has it, the longest packet of --tun-mtu 20000, and of 1500
RELEASES = {'2.5': ('bullseye-amd64', 20000, 1500), '2.6': ('bookworm-amd64', 20168, 1768),
            '2.7': ('forky-amd64', 20168, 1768)}
FOREIGN = {'bookworm-mipsel': ('mipsel', 'little'), 'bookworm-ppc64el': ('ppc64le', 'little'),
           'bookworm-s390x': ('s390x', 'big')}
EVERY_RELEASE = pytest.mark.parametrize('release', sorted(RELEASES))


# --- places to run the agent in -----------------------------------------------------------------

def call(argv, limit=120, environment=None):
    """Run a command: (status, stdout, stderr). One that does not end in time is asked to end, so
    that it can clean up, and fails the test."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               universal_newlines=True, env=environment)
    try:
        out, err = process.communicate(timeout=limit)
    except BaseException:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return process.returncode, out, err


def script(name, *arguments, **more):
    """Run one of the lab's scripts; its stdout."""
    status, out, err = call([os.path.join(LAB, name), *arguments], **more)
    assert status == 0, '%s %s: %s' % (name, ' '.join(arguments), err)
    return out.strip()


class Place:
    """Where the agent runs: this machine or a root. `outside` and `inside` are the same directory as
    seen from here and from there; it holds the agent and is its TMPDIR."""

    def __init__(self, outside, root=None):
        self.root, self.outside = root, outside
        self.inside = '/tmp/' + os.path.basename(outside) if root else outside
        self.enter = [os.path.join(LAB, 'enter.sh'), root] if root else []
        self.python = 'python3' if root else sys.executable
        os.mkdir(outside)
        for path in (AGENT, LIGHT):
            shutil.copy(path, outside)

    def call(self, *argv, **more):
        """Run a command there, with this place's TMPDIR."""
        return call([*self.enter, 'env', 'TMPDIR=' + self.inside, *argv], **more)

    def agent(self, *words, **more):
        """Run the agent there; (exit status, its Lines)."""
        status, out, err = self.call(self.python, self.inside + '/routerbench.py', *words, **more)
        return status, read_lines(out, err)

    def info(self):
        """What `info` there prints."""
        status, out, err = self.call(self.python, self.inside + '/routerbench.py', 'info')
        assert status == 0, err
        return json.loads(out)


def read_lines(out, err=''):
    """stdout as Lines: every line strict JSON with the documented keys in their order."""
    lines = []
    for text in out.splitlines():
        found = json.loads(text, parse_constant=lambda name: pytest.fail('%s in %s' % (name, text)))
        assert list(found) == list(rb.Line._fields)
        lines.append(rb.Line(**found))
    assert lines, 'nothing on stdout; stderr: %s' % err
    assert 'Traceback' not in err
    return lines


@pytest.fixture(scope='session')
def lab():
    """The packages that the lab needs on this machine. Without root or apt it is skipped, but in CI."""
    why = 'needs root' if os.geteuid() else None if shutil.which('apt-get') else 'needs apt'
    if why:
        (pytest.fail if os.environ.get('CI') == 'true' else pytest.skip)('the lab ' + why)
    script('setup.sh', limit=300)


@pytest.fixture(scope='session')
def place(lab, tmp_path_factory):
    """Places by name, made when first asked for: `host`, a SUITE-ARCH, or a release of OpenVPN."""
    made = {}

    def named(name):
        if name in RELEASES:
            name = 'host' if host_has(name) else RELEASES[name][0]
        if name not in made:
            made[name] = make_place(name, tmp_path_factory)
        return made[name]

    named.made = made
    yield named
    for one in made.values():
        shutil.rmtree(one.outside)


def host_has(release):
    """Whether this machine's own openvpn is of that release."""
    return call(['openvpn', '--version'])[1].startswith('OpenVPN %s.' % release)


def make_place(name, tmp_path_factory):
    if name == 'host':
        return Place(str(tmp_path_factory.mktemp('host') / TAG))
    if name in FOREIGN:
        script('binfmt.sh')
    root = script('make-root.sh', name, limit=300)
    return Place(os.path.join(root, 'tmp', '%s-%s' % (TAG, os.urandom(2).hex())), root)  # a root may have several


def left_processes():
    """Numbers of the processes that this session started and that still run."""
    found = []
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            with open(path, 'rb') as file:
                if TAG.encode() in file.read():
                    found.append(int(path.split('/')[2]))
        except OSError:
            continue
    return found


def left_mounts(places):
    """Mount points inside the roots of these places."""
    roots = [one.root for one in places if one.root]
    with open('/proc/self/mounts') as file:
        return [line for line in file if any(line.split()[1].startswith(root) for root in roots)]


@pytest.fixture(autouse=True)
def nothing_left(place):
    """After every check: no process, no mount, no file."""
    yield
    deadline = time.monotonic() + 3
    while left_processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_processes() == []
    assert left_mounts(place.made.values()) == []
    for one in place.made.values():
        assert sorted(set(os.listdir(one.outside)) - {'__pycache__'}) == ['light.py', 'routerbench.py']


# --- the lab itself -----------------------------------------------------------------------------

def test_entering_twice_and_being_killed(place):
    """Who is in a root does not lose /proc when another leaves, and leaves no mount when killed."""
    one = place('2.5' if not host_has('2.5') else '2.7')
    patient = subprocess.Popen([*one.enter, 'env', 'TMPDIR=' + one.inside, 'sh', '-c', 'echo in; read _; cat /proc/self/comm'],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
    assert patient.stdout.readline() == 'in\n'
    assert one.call('true')[0] == 0
    killed = [subprocess.Popen([*one.enter, 'env', 'TMPDIR=' + one.inside, 'sh', '-c', 'echo in; exec sleep 60'],
                               stdout=subprocess.PIPE, universal_newlines=True) for _ in range(2)]
    for process, number in zip(killed, (signal.SIGTERM, signal.SIGKILL)):
        assert process.stdout.readline() == 'in\n'
        process.send_signal(number)
        assert process.wait(10) == -number
        process.stdout.close()
    assert patient.communicate('\n', timeout=10)[0] == 'cat\n'
    assert patient.returncode == 0
    assert script('make-root.sh', os.path.basename(one.root)) == one.root


# --- what openvpn does, release by release ------------------------------------------------------

@pytest.fixture(scope='session')
def defaults(place):
    """A run with the defaults on OpenVPN 2.6: (exit status, lines)."""
    return place('2.6').agent('run', '--budget', '60', '--wait', '1s', limit=150)


def test_defaults(defaults):
    status, lines = defaults
    assert status == 0
    assert [line.cipher for line in lines] == [cipher for cipher, _ in rb.OpenvpnTest.DEFAULTS]
    assert len(lines) >= 4
    for line in lines:
        assert line.status == 'ok' and line.tool.startswith('OpenVPN 2.6.')
        assert line.mbit == pytest.approx(3254.147, abs=0.001)
        assert line.extra['packets'] == 20168
        assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-4)
        assert line.extra['mbit_s_3200'] == pytest.approx(3200.16 / line.seconds, rel=1e-4)
        assert line.seconds == pytest.approx(rb.median(line.runs), abs=1e-6)


def test_method_can_be_typed(place, defaults, tmp_path):
    """The method of a line, as it stands there, is a command that works."""
    one = place('2.6')
    line = next(line for line in defaults[1] if line.cipher == 'aes-256-cbc')
    assert line.method.count('/tmp/secret') == 2
    scratch = os.path.join(one.outside, 'scratch')
    os.mkdir(scratch)
    try:
        method = line.method.replace('/tmp/secret', one.inside + '/scratch/secret')
        status, out, err = one.call('bash', '-c', method)
        assert status == 0, out + err
        assert rb.parse_time(err).real > 0
        assert os.listdir(scratch) == ['secret']
    finally:
        shutil.rmtree(scratch)


@EVERY_RELEASE
def test_work_is_counted(place, release):
    """3200.16 Mbit up to 2.5, 3254.147 from 2.6."""
    packets = RELEASES[release][1]
    status, lines = place(release).agent('run', 'openvpn', '--cipher', 'aes-256-cbc', '--budget', '10', '--wait', '1s')
    assert status == 0 and len(lines) == 1
    line = lines[0]
    assert line.status == 'ok' and line.tool.startswith('OpenVPN %s.' % release)
    assert line.extra['packets'] == packets
    assert line.mbit == pytest.approx({20000: 3200.16, 20168: 3254.147}[packets], abs=0.001)
    assert (line.extra['mbit_s_3200'] == line.mbit_s) is (packets == 20000)
    assert ('--secret' in line.method) is (release != '2.7')  # 2.7 makes a key by itself
    assert line.method.startswith('time openvpn ' if release == '2.7' else 'openvpn --genkey secret /tmp/secret; ')
    assert line.extra['user_s'] + line.extra['system_s'] < 1.1 * line.seconds


@EVERY_RELEASE
@pytest.mark.parametrize('wish, reason', [
    (['--cipher', 'nosuch-cbc'], 'cipher-unsupported'), (['--cipher', 'aes-256-ctr'], 'mode-unsupported'),
    (['--cipher', 'aes-256-cbc', '--auth', 'nosuch'], 'auth-unsupported'),
    (['--cipher', 'aes-256-cbc', '--engine', 'nosuch'], 'engine-unavailable')])
def test_refusal(place, release, wish, reason):
    status, lines = place(release).agent('run', 'openvpn', *wish)
    assert (status, len(lines)) == (4, 1)
    line = lines[0]
    assert (line.status, line.reason) == ('skipped', reason)
    assert line.detail and line.mbit_s is None and line.seconds is None and line.runs == []


@EVERY_RELEASE
def test_none_and_sha1_combined(place, release):
    """The RRZN's four rows."""
    status, lines = place(release).agent('run', 'openvpn', '--cipher', 'none,aes-128-cbc', '--auth', 'none,SHA1',
                                         '--tun-mtu', '5000', '--budget', '5', '--wait', '1s')
    assert status == 0
    assert [(line.cipher, line.auth, line.status) for line in lines] == [
        ('none', 'none', 'ok'), ('none', 'SHA1', 'ok'), ('aes-128-cbc', 'none', 'ok'), ('aes-128-cbc', 'SHA1', 'ok')]


@EVERY_RELEASE
def test_small_packets(place, release):
    """2.6 puts a floor under the packet length; processor time is that of the counted runs."""
    status, lines = place(release).agent('run', 'openvpn', '--cipher', 'aes-256-cbc', '--tun-mtu', '1500',
                                         '--budget', '3', '--wait', '1s')
    line = lines[0]
    assert (status, line.status, line.extra['tun_mtu']) == (0, 'ok', 1500)
    assert line.extra['packets'] == RELEASES[release][2]
    assert line.mbit == pytest.approx(rb.work_mbit(line.extra['packets']), abs=0.001)
    assert line.extra['user_s'] + line.extra['system_s'] < 1.5 * line.seconds + 0.01


@EVERY_RELEASE
def test_two_processes(place, release):
    status, lines = place(release).agent('run', 'openvpn', '--cipher', 'aes-256-cbc', '--tun-mtu', '6000',
                                         '--processes', '2', '--budget', '5', '--wait', '1s')
    line = lines[0]
    assert (status, line.status, line.extra['processes']) == (0, 'ok', 2)
    packets = 6000 + RELEASES[release][1] - 20000
    assert line.extra['packets'] == packets
    assert line.mbit == pytest.approx(2 * rb.work_mbit(packets), abs=0.001)


# --- other Pythons, other processors ------------------------------------------------------------

def pyenv_pythons():
    """Every Python 3.7 to 3.13 that pyenv has here, else the one that runs the suite."""
    base = os.environ.get('PYENV_ROOT') or os.path.expanduser('~/.pyenv')
    found = {}
    for path in glob.glob(os.path.join(base, 'versions', '3.*', 'bin', 'python3')):
        version = re.search(r'/versions/3\.(\d+)\.\d+/', path)
        if version and 7 <= int(version.group(1)) <= 13:
            found[int(version.group(1))] = path
    return [found[minor] for minor in sorted(found)] or [sys.executable]


def check_light(one, python):
    status, out, err = one.call(python, '-S', one.inside + '/light.py', one.inside + '/routerbench.py', 'run', 'openvpn',
                                '--cipher', 'aes-256-gcm', '--quick', '--budget', '20', '--wait', '1s')
    assert status == 0, err
    line, = read_lines(out, err)
    assert (line.status, line.cipher, line.auth) == ('ok', 'aes-256-gcm', None)
    assert 'estimated' in line.warnings


@pytest.mark.parametrize('python', pyenv_pythons(), ids=lambda path: (re.findall(r'3\.\d+\.\d+', path) or ['own'])[0])
def test_python_light(place, python):
    """What OpenWrt's python3-light lacks is not needed."""
    check_light(place('host'), python)


@pytest.mark.parametrize('name, version', [('bullseye-amd64', '3.9'), ('forky-amd64', '3.14')])
def test_python_light_in_a_root(place, name, version):
    one = place(name)
    assert one.call('python3', '-c', 'import sys; print("%d.%d" % sys.version_info[:2])')[1] == version + '\n'
    check_light(one, 'python3')


def test_info_in_bullseye(place):
    report = place('bullseye-amd64').info()
    assert (report['arch'], report['byte_order'], report['os']) == ('x86_64', 'little', 'Debian GNU/Linux 11')
    test = report['tests'][0]
    assert (test['test'], test['ready'], test['with']) == ('openvpn', True, 'OpenVPN 2.5.1, OpenSSL 1.1.1w')


@pytest.mark.parametrize('name', sorted(FOREIGN))
def test_foreign_info(place, name):
    """Under qemu-user; mipsel calls itself `mips` there, and an ELF header knows better."""
    report = place(name).info()
    assert (report['arch'], report['byte_order']) == FOREIGN[name]
    assert report['tests'][0]['ready']
    assert 'OpenVPN 2.6.' in report['tests'][0]['with']


def test_foreign_prediction(place):
    """A slow processor: --quick predicts the full run."""
    status, lines = place('bookworm-mipsel').agent('run', 'openvpn', '--cipher', 'aes-256-cbc', '--quick', '--budget', '60',
                                                   '--wait', '1s', limit=180)
    line = lines[0]
    assert (status, line.status, line.arch) == (0, 'ok', 'mipsel')
    assert 'estimated' in line.warnings
    assert line.mbit == pytest.approx(3254.147, abs=0.001)
    assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-4)
    if not line.runs:
        assert max(seconds for _, seconds in line.extra['samples']) < line.seconds


@pytest.mark.parametrize('name', ['bookworm-s390x', 'bookworm-ppc64el'])
def test_foreign_run(place, name):
    status, lines = place(name).agent('run', 'openvpn', '--cipher', 'aes-256-cbc', '--tun-mtu', '5000', '--budget', '5',
                                      '--wait', '1s', limit=180)
    line = lines[0]
    assert (status, line.status, line.arch) == (0, 'ok', FOREIGN[name][0])
    assert line.extra['packets'] == 5168
    assert line.mbit == pytest.approx(rb.work_mbit(5168), abs=0.001)


def test_suite_on_the_newest_python(place):
    """The plain suite inside forky, whose Python is 3.14."""
    one = place('forky-amd64')
    work = os.path.join(one.outside, 'suite')
    try:
        shutil.copytree(os.path.dirname(AGENT), work + '/tree', symlinks=True,
                        ignore=shutil.ignore_patterns('.git', '.*_cache', '__pycache__', '.venv', 'venv', 'node_modules'))
        os.mkdir(work + '/tmp')
        status, out, err = call([sys.executable, '-m', 'pip', 'install', '--quiet', '--no-compile', '--disable-pip-version-check',
                                 '--root-user-action=ignore', '--target', work + '/site', 'pytest'])
        assert status == 0, err
        inside = one.inside + '/suite'
        status, out, err = one.call('env', 'PYTHONPATH=%s/site' % inside, 'PYTHONDONTWRITEBYTECODE=1', 'TMPDIR=%s/tmp' % inside,
                                    'python3', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--tb=short', '-o', 'faulthandler_timeout=60',
                                    inside + '/tree/tests', limit=480)
        assert status == 0, out[-8000:] + err[-2000:]
    finally:
        shutil.rmtree(work)


# --- what the agent adds to a measurement -------------------------------------------------------

def by_hand(command):
    """Seconds that a command takes by our own stopwatch."""
    started = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def test_paired_with_a_stopwatch(place, monkeypatch):
    """What the agent measures is within 1 % of the same command timed by hand."""
    monkeypatch.setenv('TMPDIR', place('host').outside)
    host = rb.LocalHost()
    try:
        openvpn = rb.Openvpn(host, rb.machine_of(host), rb.Options())
        openvpn.check()
        combination = rb.Combination('aes-256-cbc', 'SHA1')
        mtu = next(size for size in (20000, 28000, 36000, 48000, 65000)
                   if openvpn.timed(combination, size, 5)[0].seconds > 0.9 or size == 65000)
        command = openvpn.command(combination, mtu, openvpn.key)
        ratio = paired.turns(lambda: openvpn.timed(combination, mtu, 5)[0].seconds, lambda: by_hand(command))
        paired.check(ratio, 0.01, 15)
    finally:
        host.close()
