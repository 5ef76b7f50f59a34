"""`run tunnel --loopback` with the kernel's WireGuard and IPsec, in an emulated machine whose kernel has them, and what a
capture on the link between its namespaces shows of it. `pytest --lab`.

No rate here says anything about a real processor."""

import json
import os
import shlex

import pytest

import routerbench as rb
from fakes import AGENT
from test_lab import read_lines
from test_vms_lab import ok, traces
from vms import Vm

pytestmark = pytest.mark.lab

MODULES = 'veth tun wireguard esp4 xfrm_user authenc gcm ctr ghash_generic chacha20poly1305 chacha_generic poly1305_generic af_alg algif_aead algif_skcipher'.split()
RUN = ['run', 'tunnel', '--loopback', '--quick', '--wait', '0', '--time', '1', '--vpn']

# Runs a command and, in every namespace that a run makes meanwhile, counts what leaves by the links: frames, and those in
# which iperf3's own words can be read. Frames that arrive are not looked at: of ESP they are seen again after decryption.
CAPTURE = '''
import collections, ctypes, json, os, socket, struct, subprocess, sys, threading, time

IPERF, INNER = (b'"client_version"', b'"cpu_util_total"'), b'\\x0a\\x5b'   # what its control connection says; 10.91.0.0/16
libc = ctypes.CDLL(None, use_errno=True)
seen, started = collections.defaultdict(lambda: [0, 0]), set()

def kind(frame):
    if frame[12:14] != b'\\x08\\x00':
        return 'not IPv4'
    protocol, udp = frame[23], frame[14 + 4 * (frame[14] & 15):][:4]
    if INNER in (frame[26:28], frame[30:32]):
        return 'inner'
    return 'esp' if protocol == 50 else 'wireguard' if protocol == 17 and struct.pack('!H', 51820) in (udp[:2], udp[2:]) else 'outer'

def capture(name):
    for _ in range(500):                                                                    # its name is there before it is
        with open('/run/netns/' + name) as space:
            if not libc.setns(space.fileno(), 0x40000000):
                break
        time.sleep(0.01)
    else:
        raise OSError(ctypes.get_errno(), 'setns')
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    head = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 400))    # of each frame the first 400 bytes
    link.setsockopt(socket.SOL_SOCKET, 26, struct.pack('HP', 1, ctypes.addressof(head)))
    link.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)
    while True:
        frame, (device, _, way, _, _) = link.recvfrom(400)
        if way == socket.PACKET_OUTGOING and device[:1] in ('c', 's'):             # the links' two ends: c0, c1..., s0
            count = seen[kind(frame)]
            count[0] += 1
            count[1] += any(word in frame for word in IPERF)

run = subprocess.Popen(sys.argv[1:])
while run.poll() is None:
    for name in set(os.listdir('/run/netns') if os.path.isdir('/run/netns') else []) - started:
        started.add(name)
        threading.Thread(target=capture, args=(name,), daemon=True).start()
    time.sleep(0.02)
print(json.dumps(seen), file=sys.stderr)
sys.stderr.flush()
os._exit(run.returncode)
'''


@pytest.fixture(scope='module')
def vm():
    with Vm('amd64', memory=1024, cores=2, modules=MODULES, files={'/capture.py': CAPTURE}) as vm:
        vm.copy(AGENT, '/tmp/routerbench.py')
        yield vm
    assert traces('rb%d-' % os.getpid()) == []


@pytest.fixture
def run(vm):
    """Run `run tunnel` beside the capture: (its Lines, {kind: (frames, frames that show iperf3's words)})."""
    def run(*words, begin=RUN):
        status, out, err = vm.call('cd /tmp && python3 /capture.py python3 -m routerbench --quiet ' + ' '.join(map(shlex.quote, (*begin, *words))), limit=240)
        assert status == 0, out + err
        assert ok(vm, 'ip netns list') == '' and ok(vm, 'ls /tmp').split() == ['__pycache__', 'routerbench.py']
        return read_lines(out, err), {name: tuple(count) for name, count in json.loads(err.splitlines()[-1]).items()}
    return run


def check(line, tool):
    assert (line.status, line.test, line.tool) == ('ok', 'iperf3', tool), line.detail
    assert 'loopback' in line.warnings and not {'tunnel-unproven', 'tunnel-unused'} & set(line.warnings)
    assert rb.USED_SHARE <= line.extra['carried'] < 1.5 and 0 < line.extra['efficiency'] < 1 and line.extra['one_end_mbit_s'] > line.mbit_s


def test_wireguard_encrypts(run):
    (direct, through), seen = run('wireguard')
    check(through, 'WireGuard')
    assert (through.cipher, through.auth, through.extra['vpn_cpu']) == ('chacha20-poly1305', None, None)
    assert direct.status == 'ok' and direct.extra['way'] == 'direct'
    assert seen['outer'][1] > 0 and seen['wireguard'][0] > 100 and seen['wireguard'][1] == 0 and 'inner' not in seen and 'esp' not in seen


def test_ipsec_encrypts(run):
    (_, *through), seen = run('ipsec', '--cipher', 'aes-256-gcm,aes-128-cbc', '--auth', 'SHA1')
    for line in through:
        check(line, 'IPsec (ESP)')
    assert [(line.cipher, line.auth) for line in through] == [('aes-256-gcm', None), ('aes-128-cbc', 'SHA1')]
    assert seen['outer'][1] > 0 and seen['esp'][0] > 100 and seen['esp'][1] == 0 and 'inner' not in seen and 'wireguard' not in seen


def test_ipsec_without_a_cipher_shows_what_it_carries(run):
    """So the capture would have seen it."""
    (_, through), seen = run('ipsec', '--cipher', 'none', '--auth', 'SHA1')
    check(through, 'IPsec (ESP)')
    assert seen['esp'][0] > 100 and seen['esp'][1] > 0 and 'inner' not in seen


def test_each_vpn_with_three_clients_and_both_directions(run):
    lines, _ = run('openvpn,wireguard,ipsec', '--cipher', 'chacha20-poly1305', '--clients', '3', '--both')
    assert {line.status for line in lines} == {'ok'}, [line.detail for line in lines]
    tools = [line.tool for line in lines if line.extra['way'] == 'tunnel']
    assert {'WireGuard', 'IPsec (ESP)'} <= set(tools) and any(tool.startswith('OpenVPN 2.6') for tool in tools)
    for line in lines:
        assert len(line.extra['client_mbit_s']) == 3 and 0 < line.extra['fairness'] <= 1


def test_the_kernels_own_ceiling(run):
    """The kernel's lines of the same run say what encryption alone would allow."""
    lines, _ = run('wireguard,ipsec', '--cipher', 'aes-256-gcm,chacha20-poly1305', begin=['run', 'kernel', 'tunnel', *RUN[2:]])
    through = [line for line in lines if line.extra.get('way') == 'tunnel']
    assert [(line.tool, line.cipher) for line in through] == [('WireGuard', 'chacha20-poly1305'), ('IPsec (ESP)', 'aes-256-gcm'), ('IPsec (ESP)', 'chacha20-poly1305')]
    for line in through:
        check(line, line.tool)
        assert line.extra['ceiling_mbit_s'] > line.mbit_s and 0 < line.extra['crypto_share'] <= 1 and line.extra['limit'] in ('crypto', 'packet path', 'other')
