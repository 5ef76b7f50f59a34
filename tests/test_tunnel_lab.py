"""`run tunnel --loopback` with real OpenVPN processes, iperf3 and namespaces, and what is left of it. `pytest --lab`; root."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import routerbench as rb
from fakes import AGENT

pytestmark = pytest.mark.lab
RUN = [sys.executable, AGENT, 'run', 'tunnel', '--loopback', '--quick', '--wait', '0', '--time', '1']


@pytest.fixture(autouse=True)
def possible():
    why = 'needs root' if os.geteuid() else next(('needs ' + tool for tool in ('openvpn', 'iperf3', 'ip', 'openssl') if not shutil.which(tool)), None)
    if why:
        (pytest.fail if os.environ.get('CI') == 'true' else pytest.skip)('the lab ' + why)


def lines(*words):
    done = subprocess.run([*RUN, '--quiet', *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
    return done.returncode, [json.loads(line) for line in done.stdout.decode().splitlines()]


def namespaces(pid):
    """Those of a run that are there."""
    return [name for name in (os.listdir('/run/netns') if os.path.isdir('/run/netns') else []) if name.startswith('rb-%d-' % pid)]


def running(pid):
    """Processes that a run has started and that are no zombies: their command line names its namespaces or its private directory."""
    found = []
    for number in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % number, 'rb') as file:
                words = file.read().decode('utf-8', 'replace')
        except OSError:
            continue
        if int(number) not in (pid, os.getpid()) and ('rb-%d-' % pid in words or 'routerbench-%d-' % pid in words):
            found.append(words)
    return found


def check(line, keys, dev, proto):
    assert (line['status'], line['test'], line['extra']['way']) == ('ok', 'iperf3', 'tunnel'), line['detail']
    assert (line['extra']['keys'], line['extra']['dev'], line['extra']['proto']) == (keys, dev, proto)
    assert 'loopback' in line['warnings'] and 'tunnel-unproven' not in line['warnings'] and line['extra']['carried'] >= rb.USED_SHARE
    assert line['extra']['vpn_cpu'] > 0 and 0 < line['extra']['efficiency'] and line['extra']['one_end_mbit_s'] > 0
    assert line['mbit_s'] == pytest.approx(line['mbit'] / line['seconds'], rel=1e-3)


def test_static_keys_and_tls():
    status, found = lines('--vpn', 'openvpn', '--cipher', 'none,aes-256-cbc,aes-256-gcm,chacha20-poly1305', '--auth', 'SHA1')
    assert status == 0 and [line['tool'] for line in found][0] == 'no VPN'
    assert [line['cipher'] for line in found[1:]] == ['none', 'aes-256-cbc', 'aes-256-gcm', 'chacha20-poly1305']
    for line in found[1:]:
        check(line, 'tls' if rb.is_aead(line['cipher']) else 'static', 'tun', 'udp')


def test_tcp_and_a_bridge():
    status, found = lines('--vpn', 'openvpn', '--cipher', 'aes-256-gcm', '--proto', 'udp,tcp', '--dev', 'tap', '--reverse')
    assert status == 0 and len(found) == 3 and all(line['extra']['direction'] == 'down' for line in found)
    for line, proto in zip(found[1:], ('udp', 'tcp')):
        check(line, 'tls', 'tap', proto)


def test_rrzn_with_eleven_clients():
    status, found = lines('--vpn', 'openvpn', '--cipher', 'none,aes-128-cbc,aes-256-cbc', '--auth', 'none,SHA1', '--dev', 'tap', '--clients', '11', '--reverse')
    assert status == 0
    by_name = {(line['cipher'], line['auth']): line for line in found}
    for cipher, auth in rb.RRZN_CIPHERS:
        line = by_name[cipher, auth]
        check(line, 'tls', 'tap', 'udp')
        each = line['extra']['client_mbit_s']
        assert len(each) == line['extra']['clients'] == 11 and sum(each) == pytest.approx(line['mbit_s'], rel=0.01) and 0 < line['extra']['fairness'] <= 1


def test_what_the_kernel_lacks_is_said():
    status, found = lines('--vpn', 'wireguard,ipsec', '--cipher', 'chacha20-poly1305,aes-256-gcm')
    assert found and {line['status'] for line in found} <= {'ok', 'skipped'}
    for line in found:
        assert line['status'] == 'ok' or line['reason'] in ('kernel-unsupported', 'tool-missing') and line['detail']
    assert status == (rb.EXIT_NOTHING if all(line['status'] == 'skipped' for line in found) else rb.EXIT_FAILED if any(line['status'] == 'skipped' for line in found) else 0)


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize('moment', [0.4, 0.8, 1.5, 2.5, 4])
def test_nothing_is_left(moment, number):
    process = subprocess.Popen([*RUN, '--vpn', 'openvpn', '--cipher', 'none,aes-256-gcm', '--auth', 'none', '--time', '2'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(moment)
    process.send_signal(number)
    status = process.wait(30)
    assert status == (-number if number == signal.SIGKILL else rb.EXIT_INTERRUPTED)
    deadline = time.monotonic() + (10 if number == signal.SIGKILL else 0)
    while (namespaces(process.pid) or running(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert namespaces(process.pid) == [] and running(process.pid) == []
    if number == signal.SIGKILL:
        assert lines('--vpn', 'openvpn', '--cipher', 'aes-256-gcm')[0] == 0
        assert not [name for name in os.listdir('/tmp') if name.startswith('routerbench-%d-' % process.pid)]


def test_two_at_once_do_not_meet():
    both = [subprocess.Popen([*RUN, '--quiet', '--vpn', 'openvpn', '--cipher', 'aes-256-gcm'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(2)]
    for process in both:
        out = process.communicate(timeout=120)[0].decode().splitlines()
        assert process.returncode == 0 and [json.loads(line)['status'] for line in out] == ['ok', 'ok']
    assert not any(namespaces(process.pid) for process in both)
