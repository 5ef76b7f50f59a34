"""`run kernel` and `crypto` inside emulated machines, whose Debian kernels have AF_ALG: generic drivers and AES-NI side by
side, beside `cryptsetup benchmark`, on MIPS and on POWER, and what is not loaded. `pytest --lab`.

No rate here says anything about a real processor; the ratios between two tools on the same machine do."""

import os
import re
import shlex
import sys

import pytest

import paired
import routerbench as rb
from fakes import AGENT
from test_lab import call, read_lines
from test_vms_lab import loaded, ok, traces
from vms import Vm

pytestmark = pytest.mark.lab

API = ['af_alg', 'algif_skcipher', 'algif_aead', 'algif_hash']
GENERIC = ['ctr', 'gcm', 'ghash_generic', 'authenc', 'chacha_generic', 'poly1305_generic', 'chacha20poly1305']
BUILT_IN = ['cbc', 'hmac', 'aes_generic', 'sha1_generic', 'sha256_generic']  # in Debian's kernels; asking for them is no error
ALL = API + ['aesni_intel'] + BUILT_IN + GENERIC + ['xts', 'ecb']
QUICK = ['run', 'kernel', '--quick', '--wait', '0']
GCM = 'gcm_base(ctr(aes-generic),ghash-generic)'
ESP_SHA1 = 'authenc(hmac(sha1-generic),%s)'


def agent(vm, *words, **more):
    """Run the agent in the machine; (exit status, its Lines, stderr). It is compiled only once: on MIPS that takes 15 s."""
    more.setdefault('limit', 240)
    status, out, err = vm.call('cd /tmp && python3 -m routerbench ' + ' '.join(map(shlex.quote, words)), **more)
    return status, read_lines(out, err), err


def machine(arch='amd64', cpu=None, **more):
    """A Vm that has the agent in its /tmp, as a generator."""
    with Vm(arch, cpu, **more) as vm:
        vm.copy(AGENT, '/tmp/routerbench.py')
        yield vm


def by_driver(lines, name):
    """The lines of one of the kernel's algorithms, by their drivers."""
    return {line.driver: line for line in lines if line.extra.get('name') == name}


def units(lines, name):
    """Driver, kind, unit and whether it is in use of each line of an algorithm, in their order."""
    return [(line.driver, line.extra['kind'], line.extra['unit'], line.extra['in_use']) for line in by_driver(lines, name).values()]


def in_use(lines):
    """For each algorithm of `crypto` its driver."""
    return {line.algorithm: line.driver for line in lines}


def advice(lines):
    """What `crypto` advises."""
    return ' '.join(lines[-1].extra['advice'])


# Every algorithm by its own name and by that of the generic driver, right answers and a wrong one.
CHECK = '''
import sys
sys.path.insert(0, '/tmp')
import routerbench as rb
host = rb.LocalHost()
def state(one, name):
    try:
        run = rb.KernelRun(host, one, name)
        run.check()
        run.driver.close()
        return 'ok'
    except rb.Unmeasurable as error:
        return error.reason
for one in rb.kernel_algorithms():
    wrong = one.vector._replace(result=one.vector.result[:-1] + bytes([one.vector.result[-1] ^ 1]))
    print(one.name, state(one, one.name), state(one, one.generic[0]), state(one._replace(vector=wrong), one.name), state(one, one.name + 'x'))
'''


def answers(vm):
    """What CHECK prints, by algorithm."""
    return [line.split() for line in ok(vm, "python3 -c '%s'" % CHECK.replace("'", '"')).splitlines()]


RIGHT = [[one.name, 'ok', 'ok', 'wrong-result', 'not-loaded'] for one in rb.kernel_algorithms()]


@pytest.fixture(scope='module', autouse=True)
def nothing_left():
    yield
    assert traces('rb%d-' % os.getpid()) == []


# --- amd64, with AES-NI ---------------------------------------------------------------------------

@pytest.fixture(scope='module')
def aesni():
    """A machine with AES instructions, where `--load` has loaded everything and all was measured; and what came of it."""
    for vm in machine():
        status, lines, _ = agent(vm, *QUICK, '--quiet', '--load', ','.join(ALL))
        xts_status, xts, _ = agent(vm, *QUICK, '--quiet', '--cipher', 'aes-128-xts')
        yield vm, status + xts_status, lines + xts


def test_everything_is_measured(aesni):
    _, status, lines = aesni
    assert status == 0 and {(line.status, line.reason, line.detail) for line in lines} == {('ok', None, None)}
    assert {(line.cipher, line.auth, line.extra['name']) for line in lines} == {(one.cipher, one.auth, one.name) for one in rb.kernel_algorithms()}
    assert set(ALL) - set(BUILT_IN) <= loaded(aesni[0])


def test_side_by_side_with_aesni(aesni):
    _, _, lines = aesni
    native, generic = ('instructions', 'AES-NI', True), ('generic', 'C', False)
    assert units(lines, 'cbc(aes)') == [('cbc-aes-aesni', *native), ('cbc(aes-generic)', *generic)]
    assert units(lines, 'ctr(aes)') == [('ctr-aes-aesni', *native), ('ctr(aes-generic)', *generic)]
    assert units(lines, 'gcm(aes)') == [('generic-gcm-aesni', *native), (GCM, *generic)]
    assert units(lines, 'rfc4106(gcm(aes))') == [('rfc4106-gcm-aesni', *native), ('rfc4106(%s)' % GCM, *generic)]
    assert units(lines, 'xts(aes)')[0] == ('xts-aes-aesni', *native) and ('xts(ecb(aes-generic))', *generic) in units(lines, 'xts(aes)')
    assert units(lines, 'authenc(hmac(sha1),cbc(aes))') == [
        (ESP_SHA1 % 'cbc-aes-aesni', 'mixed', 'C + AES-NI', True), (ESP_SHA1 % 'cbc(aes-generic)', *generic)]
    assert units(lines, 'hmac(sha1)') == [('hmac(sha1-generic)', 'generic', 'C', True)]


def test_the_list_agrees(aesni):
    """in_use, module and priority are those of /proc/crypto."""
    vm, _, lines = aesni
    listed = rb.parse_crypto(ok(vm, 'cat /proc/crypto'))
    for line in lines:
        driver = next(one for one in listed if one.driver == line.driver)
        assert (driver.module, driver.priority) == (line.extra['module'], line.extra['priority'])
        assert line.extra['in_use'] == (rb.picked(listed, line.extra['name']) == driver)


def test_known_answers_on_amd64(aesni):
    assert answers(aesni[0]) == RIGHT


def test_figures_belong_together(aesni):
    for line in aesni[2]:
        extra = line.extra
        assert extra['request_bytes'] == 65536 and line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-3)
        assert (extra['decrypt_mbit_s'] is None) == (line.cipher == 'none')
        assert 0 < extra['mbit_s_16'] < extra['mbit_s_1424'] < 1.5 * line.mbit_s and extra['per_request_us'] >= 0
        assert extra['net_mbit_s'] == pytest.approx(8e3 / extra['per_byte_ns'], rel=1e-2)


def test_where_aesni_pays(aesni):
    fast, slow = by_driver(aesni[2], 'cbc(aes)').values()
    assert isinstance(fast.extra['faster_from'], int) and 0 <= fast.extra['faster_from'] < 65536
    assert slow.extra['faster_from'] is None and fast.mbit_s > slow.mbit_s


def test_a_packets_bytes_cost_what_those_of_large_requests_cost(aesni):
    """Within 10 % in the median over all drivers; one by one they scatter by a third and more where every time is a
    disturbed one."""
    vm, _, lines = aesni
    seen = []
    while len(seen) < 3 and not any(abs(ratio - 1) < 0.1 for ratio in seen):
        lines = lines if not seen else lines + agent(vm, *QUICK, '--quiet', '--cipher', 'aes-128-ctr,aes-128-gcm,none')[1]
        pairs = [(line.extra['net_mbit_s_1424'], line.extra['net_mbit_s']) for line in lines]
        found = [packet / large for packet, large in pairs if packet and large]
        assert len(found) > 0.8 * len(pairs)
        seen.append(rb.median(found))
        print(seen, sorted(round(ratio, 2) for ratio in found))
    assert any(abs(ratio - 1) < 0.1 for ratio in seen), seen


def test_from_outside(aesni):
    """Over ssh nothing can be timed, and the drivers are the same."""
    vm, on = aesni[0], ['--quiet', '--on', aesni[0].destination, '--ssh', aesni[0].ssh]
    status, out, err = call([sys.executable, AGENT, 'run', 'kernel', '--wait', '0', *on])
    line, = read_lines(out, err)
    assert (status, line.status, line.reason) == (rb.EXIT_NOTHING, 'skipped', 'needs-python')
    status, out, err = call([sys.executable, AGENT, 'crypto', *on])
    outside, (_, inside, _) = read_lines(out, err), agent(vm, 'crypto', '--quiet')
    assert status == 0 and [(line.algorithm, line.driver, line.library, line.extra) for line in outside] == [
        (line.algorithm, line.driver, line.library, line.extra) for line in inside]


# Starts the agent, interrupts it once it has printed two lines, and says how it ended and after how long.
INTERRUPT = '''
import os, signal, subprocess, time
before = set(os.listdir('/tmp'))
process = subprocess.Popen(['python3', '/tmp/routerbench.py', 'run', 'kernel', '--quick', '--wait', '0'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
for _ in range(2): process.stdout.readline()
time.sleep(1)
process.send_signal(signal.SIGINT)
began = time.monotonic()
process.stdout.read()
print(process.wait(), time.monotonic() - began < 5, set(os.listdir('/tmp')) - before)
'''


def test_ctrl_c(aesni):
    vm = aesni[0]
    users = 'grep -E "^(af_alg|algif_)" /proc/modules; grep -E "^(driver|refcnt)" /proc/crypto'
    before = ok(vm, users)
    assert ok(vm, "python3 -c '%s'" % INTERRUPT.replace("'", '"')) == '130 True set()\n'
    assert ok(vm, users) == before
    assert '/tmp/routerbench.py' not in ok(vm, 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "').replace('cat /proc', '')


# --- nothing is loaded that nobody named ----------------------------------------------------------

# What the kernel asks modprobe for is noted.
ASKED = '''printf '#!/bin/sh\\necho "$@" >>/run/asked\\nexec /sbin/modprobe "$@"\\n' >/sbin/noted && chmod +x /sbin/noted && echo /sbin/noted >/proc/sys/kernel/modprobe'''


@pytest.fixture()
def bare():
    """A machine with AES instructions in which nothing of the kernel's crypto is loaded, though its kernel would."""
    for vm in machine():
        ok(vm, ASKED)
        yield vm


def loads_nothing(vm, *words):
    """Run the agent there; nothing is loaded meanwhile. Its exit status and Lines."""
    modules, drivers = loaded(vm), ok(vm, 'cat /proc/crypto')
    status, lines, _ = agent(vm, *QUICK, *words)
    came = loaded(vm) - modules
    assert not came, 'loaded although nobody named it: %s; the kernel asked for: %s; /proc/crypto before: %s' % (
        came, ok(vm, 'cat /run/asked'), re.findall('^driver +: (.*)$', drivers, re.M))
    return status, lines


def test_without_the_api(bare):
    status, (line,) = loads_nothing(bare)
    assert (status, line.status, line.reason) == (rb.EXIT_NOTHING, 'skipped', 'kernel-api-missing')
    assert '--load ' + ','.join(API) in line.detail
    assert bare.call('test -e /run/asked')[0] == 1  # the kernel was not even tempted


def test_with_the_api_alone(bare):
    """What is in the kernel is measured; of the rest each line names what it is made of."""
    ok(bare, 'modprobe -a ' + ' '.join(API))
    status, lines = loads_nothing(bare)
    good = {line.extra['name'] for line in lines if line.status == 'ok'}
    assert status == 0 and good == {'cbc(aes)', 'hmac(sha1)', 'hmac(sha256)'}
    assert {line.reason for line in lines} == {None, 'not-loaded'}
    assert all('ctr' in line.detail and '--load' in line.detail for line in lines if line.extra['name'] == 'ctr(aes)')


def test_with_a_part_of_the_api(bare):
    ok(bare, 'modprobe algif_hash')
    status, lines = loads_nothing(bare)
    assert status == 0 and [line.auth for line in lines if line.status == 'ok'] == ['SHA1', 'SHA256']
    assert {(line.extra['name'], line.reason) for line in lines if line.status != 'ok'} == {
        (one.name, 'kernel-api-missing') for one in rb.kernel_algorithms() if one.kind != 'hash' and one.name != 'xts(aes)'}


def test_with_every_combination_but_no_aesni(bare):
    """The kernel would look for a better driver when it is asked for a combination that it has not made yet."""
    ok(bare, 'modprobe -a ' + ' '.join(API + GENERIC + ['xts', 'ecb']))
    status, lines = loads_nothing(bare, '--cipher', 'aes-128-ctr,aes-128-xts')
    assert status == 0 and [line.driver for line in lines] == ['ctr(aes-generic)', 'xts(ecb(aes-generic))']


# --- beside cryptsetup ----------------------------------------------------------------------------

def by_cryptsetup(vm, cipher, bits):
    """Mbit/s, encrypting and decrypting."""
    out = ok(vm, 'cryptsetup benchmark -c %s -s %d' % (cipher, bits))
    found = re.search(r'^ +%s +%db +([\d.]+) MiB/s +([\d.]+) MiB/s$' % (cipher, bits), out, re.M)
    return [8 * 1.048576 * float(rate) for rate in found.groups()]


def by_agent(vm, cipher):
    """The same of the driver that the kernel picks, which is the one that cryptsetup gets."""
    status, lines, _ = agent(vm, *QUICK, '--quiet', '--cipher', cipher)
    line, = [line for line in lines if line.extra.get('in_use')]
    assert status == 0 and line.extra['unit'] == 'AES-NI'
    return [line.extra['encrypt_mbit_s'], line.extra['decrypt_mbit_s']]


@pytest.fixture(scope='module')
def quiet_aesni():
    """A machine with AES-NI and no more than cryptsetup needs."""
    yield from machine(modules=API[:2] + ['aesni_intel'])


@pytest.mark.parametrize('theirs,bits,ours', [('aes-cbc', 128, 'aes-128-cbc'), ('aes-xts', 256, 'aes-128-xts')])
def test_as_fast_as_cryptsetup(quiet_aesni, theirs, bits, ours):
    """At least 0.95 of it, at the size of its requests."""
    seen = []

    def both():
        """One turn: the worse of the two directions is what counts."""
        seen.append((by_agent(quiet_aesni, ours), by_cryptsetup(quiet_aesni, theirs, bits)))
        return min(rb.median([mine[way] for mine, _ in seen[-5:]]) / rb.median([other[way] for _, other in seen[-5:]]) for way in (0, 1))
    both()
    paired.check(both, 0.05, 5, lowest=True)


# --- advice ---------------------------------------------------------------------------------------

def test_advice_to_load_aesni(bare):
    _, lines, err = agent(bare, 'crypto')
    assert in_use(lines)['cbc(aes)'] == 'cbc(aes-generic)'
    assert 'AES-NI' in advice(lines) and '`aesni_intel`' in advice(lines) and '`aesni_intel`' in err
    ok(bare, 'modprobe aesni_intel')
    _, lines, err = agent(bare, 'crypto')
    assert in_use(lines)['cbc(aes)'] == 'cbc-aes-aesni'
    assert 'aesni_intel`' not in advice(lines) + err and 'AES-NI' not in advice(lines)


@pytest.fixture(scope='module')
def nehalem():
    """A machine without AES instructions."""
    yield from machine(cpu='Nehalem-v1')


def test_no_advice_where_there_are_no_instructions(nehalem):
    _, lines, err = agent(nehalem, 'crypto')
    assert in_use(lines)['cbc(aes)'] == 'cbc(aes-generic)'
    assert 'aesni' not in advice(lines) + err and 'AES-NI' not in advice(lines)


def test_a_module_that_cannot_be_loaded(nehalem):
    status, (line,), _ = agent(nehalem, *QUICK, '--quiet', '--load', ','.join(API + ['aesni_intel']))
    assert (status, line.status, line.reason, line.mbit_s) == (rb.EXIT_FAILED, 'failed', 'not-loaded', None)
    assert 'aesni_intel' in line.detail and 'No such device' in line.detail


# --- MIPS and POWER -------------------------------------------------------------------------------

# What is said where there is no AF_ALG, and where the kernel has no such algorithm: the numbers of errors are MIPS's own.
REFUSED = '''
import sys
sys.path.insert(0, '/tmp')
import routerbench as rb
try:
    rb.LocalHost().kernel_cipher('skcipher', 'cbc(aes)', b'', 0)
except rb.Unmeasurable as error:
    print(error.status, error.reason)
'''


@pytest.fixture(scope='module')
def mips():
    """A machine like most routers, whose kernel loads nothing by itself; and what is said before anything was loaded."""
    for vm in machine('mipsel', '24Kc', autoload=False):
        refused = [ok(vm, "python3 -c '%s'" % REFUSED.replace("'", '"'))]
        ok(vm, 'modprobe af_alg')
        refused.append(ok(vm, "python3 -c '%s'" % REFUSED.replace("'", '"')))
        status, lines, _ = agent(vm, *QUICK, '--quiet', '--cipher', 'aes-128-cbc,none', '--load', ','.join(API + BUILT_IN + GENERIC))
        yield vm, refused, status, lines


def test_errors_are_known_by_name_on_mips(mips):
    assert mips[1] == ['skipped kernel-api-missing\n', 'skipped not-loaded\n']


def test_generic_drivers_on_mips(mips):
    _, _, status, lines = mips
    assert status == 0 and [(line.status, line.driver) for line in lines] == [
        ('ok', name) for name in ('cbc(aes-generic)', 'hmac(sha1-generic)', 'hmac(sha256-generic)', ESP_SHA1 % 'cbc(aes-generic)')]
    assert {(line.arch, line.cpu, line.extra['kind'], line.extra['unit']) for line in lines} == {('mipsel', 'MIPS 24Kc', 'generic', 'C')}


def test_known_answers_on_mips(mips):
    ok(mips[0], 'modprobe -a xts ecb')
    assert answers(mips[0]) == RIGHT


@pytest.fixture(scope='module')
def power():
    """POWER9, with its instructions for AES."""
    yield from machine('ppc64el', 'power9', modules=API + ['vmx_crypto'] + GENERIC)


def test_vmx_crypto_on_power(power):
    status, lines, _ = agent(power, *QUICK, '--quiet', '--cipher', 'aes-128-cbc')
    assert status == 0 and {line.status for line in lines} == {'ok'}
    assert units(lines, 'cbc(aes)') == [('p8_aes_cbc', 'instructions', 'POWER', True), ('cbc(aes-generic)', 'generic', 'C', False)]
    assert units(lines, 'authenc(hmac(sha1),cbc(aes))') == [
        (ESP_SHA1 % 'p8_aes_cbc', 'mixed', 'C + POWER', True), (ESP_SHA1 % 'cbc(aes-generic)', 'generic', 'C', False)]


def test_known_answers_on_power(power):
    ok(power, 'modprobe -a ' + ' '.join(BUILT_IN + ['xts', 'ecb']))
    assert answers(power) == RIGHT


# --- this machine ---------------------------------------------------------------------------------

def test_this_machine():
    """Where its kernel has no AF_ALG, the line says which modules that takes."""
    status, out, err = call([sys.executable, AGENT, *QUICK, '--quiet', '--cipher', 'aes-128-cbc'])
    lines = read_lines(out, err)
    if status == 0:
        pytest.skip('this kernel has it')
    assert (status, [(line.status, line.reason) for line in lines]) == (rb.EXIT_NOTHING, [('skipped', 'kernel-api-missing')])
    assert all(word in lines[0].detail for word in API)
