"""`run tunnel` between two machines, with an iperf3 and an `ip` that are small scripts: what reaches iperf3, what its answers
become, and what is never believed. tests/test_tunnel_lab.py makes real tunnels."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import routerbench as rb
from fakes import FakeHost, agent, lines_of, write_tool
from test_host import gone

SECRET = re.compile(r'192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|2001:db8|marked|example')
DIRECT, THROUGH = '192.0.2.5', '203.0.113.5'

# `grow FILE N` makes a counter grow, `work NAME N` a process's hundredths of a second, `busy N` the machine's. A file that is
# not there counts nothing, as on a real one.
IPERF = r'''
[ "$1" = --version ] && { echo 'iperf 3.12 (cJSON 1.7.15)'; exit 0; }
cd "%s" || exit 1
echo "$*" >> log
grow() { [ ! -f "$1" ] || { read -r n < "$1"; echo $((n + $2)) > "$1"; }; }
work() { read -r _ _ _ n _ < "root/proc/$1/stat"; process "$1" $((n + $2)); }
process() { echo "$1 (openvpn) S $2" 0 0 0 0 0 0 0 0 0 "$2" 0 0 0 20 0 1 0 > "root/proc/$1/stat"; }
busy() { read -r _ n _ < root/proc/stat; echo "cpu $((n + $1)) 0 0 0 0 0 0 0" > root/proc/stat; }
read -r n < "said/$2/count"
n=$((n + 1))
echo $n > "said/$2/count"
[ -f "said/$2/$n" ] || n=rest
. "./said/$2/$n"
'''
IP = r'''
cd "%s" || exit 1
echo "$*" >> iplog
case "$*" in
    '-o route get '*) cat "routes/$4" 2>/dev/null ;;
    '-d link show dev '*) cat "links/$5" 2>/dev/null ;;
    '-s xfrm state') [ ! -f esp ] || { read -r n < esp; sed "s/BYTES/$n/" xfrm; } ;;
    *) echo 'RTNETLINK answers: Operation not permitted' >&2; exit 2 ;;
esac
'''
WIREGUARD = ('7: %s: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1420 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n'
             '    link/none  promiscuity 0 minmtu 0 maxmtu 2147483552 \n    wireguard addrgenmode none numtxqueues 1 numrxqueues 1 \n')
TUN = ('5: %s: <POINTOPOINT,MULTICAST,NOARP,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UNKNOWN mode DEFAULT group default qlen 500\n'
       '    link/none  promiscuity 0 minmtu 68 maxmtu 65535 \n    tun type tun pi off vnet_hdr off persist off addrgenmode random\n')
XFRM = '''src 192.0.2.7 dst 192.0.2.1
\tproto esp spi 0x00001000(4096) reqid 1(0x00000001) mode tunnel
\treplay-window 0 seq 0x00000000 flag  (0x00000000)
\tauth-trunc hmac(sha1) 0x0011223344556677889900112233445566778899 (160 bits) 96
\tenc cbc(aes) 0x00112233445566778899aabbccddeeff (128 bits)
\tanti-replay context: seq 0x0, oseq 0x2f, bitmap 0x00000000
\tlifetime config:
\t  limit: soft (INF)(bytes), hard (INF)(bytes)
\t  limit: soft (INF)(packets), hard (INF)(packets)
\t  expire add: soft 0(sec), hard 0(sec)
\t  expire use: soft 0(sec), hard 0(sec)
\tlifetime current:
\t  BYTES(bytes), 47(packets)
\t  add 2026-12-01 10:00:00 use 2026-12-01 10:00:05
\tstats:
\t  replay-window 0 replay 0 failed 0
src 192.0.2.1 dst 192.0.2.7
\tproto esp spi 0x00001001(4097) reqid 1(0x00000001) mode tunnel
\treplay-window 32 seq 0x00000000 flag af-unspec (0x00100000)
\taead rfc4106(gcm(aes)) 0x00112233445566778899aabbccddeeff00112233 (160 bits) 128
\tencap type espinudp sport 4500 dport 4500 addr 0.0.0.0
\tlifetime config:
\t  limit: soft 4000000000(bytes), hard 5000000000(bytes)
\t  limit: soft 1000000(packets), hard 2000000(packets)
\t  expire add: soft 3060(sec), hard 3600(sec)
\t  expire use: soft 0(sec), hard 0(sec)
\tlifetime current:
\t  1200(bytes), 9(packets)
\t  add 2026-12-01 10:00:00 use -
\tstats:
\t  replay-window 0 replay 0 failed 0
'''


def report(mbit_s, seconds=10.0, cpu=(12.5, 30.0), **start):
    """What a healthy iperf3 3.12 prints after a test over TCP, with the addresses that it prints."""
    connected = [{'socket': 5, 'local_host': '198.51.100.7', 'local_port': 40000, 'remote_host': start.pop('remote', DIRECT), 'remote_port': 5201}]
    moved = {'start': 0, 'end': seconds, 'seconds': seconds, 'bytes': int(mbit_s * seconds * 125000), 'bits_per_second': mbit_s * 1e6}
    return json.dumps({'start': dict({'connected': connected, 'version': 'iperf 3.12', 'system_info': 'Linux marked-box 5.10', 'connecting_to': {'host': 'marked-host', 'port': 5201},
                                      'timestamp': {'time': 'x', 'timesecs': 1}, 'test_start': {'protocol': 'TCP', 'num_streams': 1}}, **start), 'intervals': [],
                       'end': {'streams': [], 'sum_sent': dict(moved, retransmits=7), 'sum_received': moved,
                               'cpu_utilization_percent': {'host_total': cpu[0], 'host_user': 1.0, 'remote_total': cpu[1]}}}, indent=1)


def refusal(error, **more):
    """What iperf3 -J prints, with exit status 0, of a test that came to nothing."""
    return json.dumps(dict({'start': {'connected': [], 'version': 'iperf 3.12', 'system_info': 'x'}, 'intervals': [], 'end': {}, 'error': error}, **more))


REFUSED = refusal('unable to connect to server: Connection refused')
BUSY = 'the server is busy running a test. try again later'


def answer(text, status=0, err='', then=()):
    """One answer of the fake as the shell commands that give it; `then` are words for its functions."""
    return ''.join(line + '\n' for line in then) + "cat <<'END'\n%s\nEND\n" % text + ('echo %s >&2\n' % rb.quoted(err) if err else '') + 'exit %d\n' % status


class Site:
    """A router that is a directory, with an iperf3 and an `ip` that say what they are told to."""

    def __init__(self, place):
        self.place = place
        self.root, self.tools = place / 'root', place / 'tools'
        for name in ('root/proc', 'root/sys/class/net', 'tools', 'routes', 'links', 'said'):
            (place / name).mkdir(parents=True)
        mirrored = os.path.join(str(self.root), str(self.tools).lstrip('/'))  # what a host finds below its root, it starts by the same path
        os.makedirs(os.path.dirname(mirrored))
        os.symlink(str(self.tools), mirrored)
        self.tool('iperf3', IPERF % place)
        self.tool('ip', IP % place)
        self.file('/proc/cpuinfo', 'system type : Example\ncpu model : MIPS 24Kc V7.4\nprocessor : 0\n')
        self.file('/proc/stat', 'cpu 100 0 0 0 0 0 0 0\n')
        self.interface('eth0', DIRECT)
        self.interface('tun0', THROUGH)
        self.link('tun0', TUN)
        self.says(DIRECT, self.moved(200, 'eth0'))
        self.says(THROUGH, self.moved(100, 'tun0'))

    def tool(self, name, body):
        write_tool(self.tools, name, body)

    def file(self, path, text):
        path = self.root / path.lstrip('/')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def interface(self, name, *addresses, speed=None):
        """An interface that leads to these addresses."""
        for counter in ('rx_bytes', 'tx_bytes'):
            self.file('/sys/class/net/%s/statistics/%s' % (name, counter), '1000\n')
        self.file('/sys/class/net/%s/ifindex' % name, '2\n')
        if speed:
            self.file('/sys/class/net/%s/speed' % name, '%d\n' % speed)
        for address in addresses:
            (self.place / 'routes' / address).write_text('%s via 192.0.2.1 dev %s src 198.51.100.7 uid 0 \\    cache \n' % (address, name))

    def link(self, name, text):
        (self.place / 'links' / name).write_text(text % name)

    def process(self, pid, name, *words):
        """A process that runs there."""
        self.file('/proc/%d/comm' % pid, name + '\n')
        self.file('/proc/%d/cmdline' % pid, '\0'.join((name,) + words) + '\0')
        self.file('/proc/%d/stat' % pid, '%d (%s) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0\n' % (pid, name))

    def says(self, address, *answers):
        """What iperf3 says when it is asked for that address; the last one again and again."""
        folder = self.place / 'said' / address
        if folder.exists():
            for old in folder.iterdir():
                old.unlink()
        folder.mkdir(exist_ok=True)
        (folder / 'count').write_text('0\n')
        for number, one in enumerate(answers[:-1], 1):
            (folder / str(number)).write_text(one)
        (folder / 'rest').write_text(answers[-1])

    def moved(self, mbit_s, name, share=1.0, then=(), **more):
        """A good test whose bytes an interface has counted."""
        remote = DIRECT if name == 'eth0' else THROUGH
        return answer(report(mbit_s, remote=more.pop('remote', remote), **more), then=['grow root/sys/class/net/%s/statistics/tx_bytes %d' % (name, mbit_s * 1.25e6 * share), *then])

    def asked(self):
        """The command lines of iperf3 so far."""
        path = self.place / 'log'
        return path.read_text().splitlines() if path.exists() else []

    def order(self):
        return ''.join('D' if '-c %s ' % DIRECT in line else 'T' for line in self.asked())

    def host(self):
        return Clocked(self)


class Clocked(rb.LocalHost):
    """A host whose clock is moved on by pauses, and by the seconds that iperf3 was told to take."""

    def __init__(self, site):
        self.passed, self.slept = 0.0, []
        super().__init__(root=str(site.root), environment={'PATH': '%s:/usr/bin:/bin' % site.tools, 'TMPDIR': str(site.place)})

    def now(self):
        return 1.8e9

    def clock(self):
        return time.monotonic() + self.passed

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.passed += seconds

    def run_all(self, commands, limit, tick=rb.no_tick, silence=0.0):
        rans = super().run_all(commands, limit, tick, silence)
        told = [float(ran.argv[ran.argv.index('-t') + 1]) for ran in rans if '-t' in ran.argv and '"error"' not in ran.out]
        self.passed += max(told, default=0.0)
        return rans


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


@pytest.fixture
def tunnel(site):
    """The lines of a whole TunnelTest in a session, each of which was looked at for what no line may have."""
    hosts = []

    def run(status=rb.EXIT_OK, **options):
        host = site.host()
        hosts.append(host)
        got, lines = lines_of(host, tests=('tunnel',), **dict({'direct': DIRECT, 'through': THROUGH, 'wait': 0.0}, **options))
        assert got == status, [line.detail for line in lines]
        assert all(sound(line) for line in lines)
        run.slept = host.slept
        return lines
    yield run
    for host in hosts:
        host.close()


def sound(line):
    """Whether a line says nothing that nobody could read up, names nobody, and agrees with itself."""
    text = rb.line_json(line)
    again, wrong = rb.line_of(json.loads(text))
    assert again == line and wrong == [] and not SECRET.search(text), text
    assert set(line.extra) <= set(rb.EXTRA['iperf3']) and set(line.warnings) <= set(rb.WARNINGS) and line.reason in (*rb.REASONS, None)
    if line.status == 'ok':
        assert line.test == 'iperf3' and {'arithmetic', 'zero', 'above-link'}.isdisjoint(finding.code for finding in rb.judge(line)), rb.judge(line)
        assert line.mbit / line.seconds == pytest.approx(line.mbit_s, rel=1e-3, abs=1e-3) and line.seconds == pytest.approx(rb.median(line.runs), abs=1e-6)
    else:
        assert line.detail and line.seconds is line.mbit is line.mbit_s is None and line.runs == () and line.warnings == ()
        assert 'efficiency' not in line.extra
    return True


class TestPure:
    @pytest.mark.parametrize('changed,limit', [
        ({}, 'other'), ({'busy': None}, None), ({'link': 111.0}, 'link'), ({'link': 112.0}, 'other'), ({'direct': 105.0}, 'link'), ({'direct': 106.0}, 'other'),
        ({'ceiling': 111.0}, 'crypto'), ({'ceiling': 112.0}, 'other'), ({'vpn': 0.9}, 'VPN process'), ({'vpn': 0.89}, 'other'),
        ({'vpn': 0.95, 'ceiling': 199.0}, 'crypto'), ({'vpn': 0.95, 'ceiling': 201.0}, 'packet path'), ({'there': 0.994}, 'other end'), ({'here': 0.994}, 'this end'),
        ({'here': 0.994, 'there': 0.994}, 'other end'), ({'here': 0.5, 'there': 0.89}, 'other'), ({'busy': 3.7}, 'processor'), ({'busy': 3.7, 'cores': 8}, 'other'),
        ({'core': 0.95}, 'processor'), ({'core': 0.89}, 'other'), ({'core': 0.95, 'here': 0.95}, 'this end'), ({'in_kernel': True}, 'other'),
        ({'in_kernel': True, 'core': 0.95}, 'processor'), ({'in_kernel': True, 'core': 0.95, 'ceiling': 199.0}, 'crypto'), ({'in_kernel': True, 'core': 0.5, 'there': 0.95}, 'other end'),
        ({'in_kernel': True, 'here': 0.95, 'ceiling': 201.0}, 'packet path'), ({'vpn': 0.95, 'there': 0.994}, 'VPN process'), ({'link': 100.0, 'vpn': 1.0, 'ceiling': 100.0}, 'link')])
    def test_limit_of(self, changed, limit):
        load = rb.Load(rate=100.0, direct=None, link=None, here=None, there=None, vpn=None, busy=1.0, cores=4, ceiling=None)
        assert rb.limit_of(load._replace(**changed)) == limit

    def test_every_limit_is_explained(self):
        for limit in ('crypto', 'packet path', 'VPN process', 'link', 'this end', 'other end', 'processor', 'other'):
            assert '`%s`' % limit in rb.EXTRA['iperf3']['limit']

    @pytest.mark.parametrize('rates,index', [([5.0], 1), ([2.0, 2.0, 2.0], 1), ([3.0, 0.0, 0.0], 1 / 3), ([1.0, 3.0], 0.8), ([9.0] * 11, 1), ([10.0] + [0.0] * 9, 0.1)])
    def test_fairness(self, rates, index):
        assert rb.fairness(rates) == pytest.approx(index) == rb.fairness([7 * rate for rate in rates])

    TIMES = ' S 1 77 77 0 -1 4194560 100 6 0 0 250 50 9 9 20 0 1 0 3521 10485760 900 18446744073709551615'

    @pytest.mark.parametrize('line,seconds', [
        ('77 (openvpn)' + TIMES, 3.0), ('77 (a b)' + TIMES, 3.0), ('77 (:-) x (y) 1 2 3)' + TIMES, 3.0), ('77 ()' + TIMES, 3.0), ('77 (tail) R 9 9 9 9)' + TIMES, 3.0),
        ('77 (openvpn) S 1 77', None), ('', None), ('77 openvpn', None)])
    def test_process_time(self, line, seconds):
        assert rb.process_time(line, 100.0) == seconds

    @pytest.mark.parametrize('text,sum_', [
        (XFRM.replace('BYTES', '3400'), 4600), (XFRM.partition('src 192.0.2.1 ')[0].replace('BYTES', '123456789012'), 123456789012),
        (XFRM.replace('BYTES', '0').replace('1200(bytes)', '0(bytes)'), 0), ('', None), ('RTNETLINK answers: Operation not permitted\n', None),
        ('\n'.join(line for line in XFRM.splitlines() if 'packets' not in line), None), ('\t  limit: soft 5(bytes), hard 6(bytes)\n', None)])
    def test_parse_xfrm(self, text, sum_):
        """Limits are printed in the same words, and are no traffic; without -s nothing is counted, which is not none."""
        assert rb.parse_xfrm(text) == sum_

    @pytest.mark.parametrize('cipher,auth,words', [
        ('aes-128-cbc', 'SHA1', 'enc cbc(aes) K16 auth-trunc hmac(sha1) K20 96'), ('aes-192-cbc', 'SHA256', 'enc cbc(aes) K24 auth-trunc hmac(sha256) K32 128'),
        ('aes-256-cbc', 'SHA512', 'enc cbc(aes) K32 auth-trunc hmac(sha512) K64 256'), ('aes-128-cbc', 'MD5', 'enc cbc(aes) K16 auth-trunc hmac(md5) K16 96'),
        ('aes-256-cbc', 'none', 'enc cbc(aes) K32 auth digest_null ""'), ('aes-128-ctr', 'SHA1', 'enc rfc3686(ctr(aes)) K20 auth-trunc hmac(sha1) K20 96'),
        ('aes-256-ctr', 'none', 'enc rfc3686(ctr(aes)) K36 auth digest_null ""'), ('aes-128-gcm', None, 'aead rfc4106(gcm(aes)) K20 128'),
        ('aes-192-gcm', None, 'aead rfc4106(gcm(aes)) K28 128'), ('aes-256-gcm', None, 'aead rfc4106(gcm(aes)) K36 128'),
        ('chacha20-poly1305', None, 'aead rfc7539esp(chacha20,poly1305) K36 128'), ('none', 'none', 'enc ecb(cipher_null) "" auth digest_null ""'),
        ('none', 'SHA1', 'enc ecb(cipher_null) "" auth-trunc hmac(sha1) K20 96'), ('bf-cbc', 'SHA1', None), ('aes-128-cfb', 'SHA1', None), ('aes-512-cbc', 'SHA1', None),
        ('aes-128-cbc', 'MD4', None), ('none', 'BLAKE2B512', None), ('aes-128-ccm', None, None), ('camellia-128-cbc', 'SHA1', None), ('xaes-128-cbc', 'SHA1', None)])
    def test_esp_algorithm(self, cipher, auth, words):
        """By RFC 3602, 2404, 4868, 3686 (4 bytes of nonce), 4106 and 7634 (4 bytes of salt)."""
        assert rb.esp_algorithm(rb.Combination(cipher, auth), lambda size: 'K%d' % size) == words

    def test_esp_has_every_default(self):
        for cipher, auth in rb.IpsecVpn.defaults:
            assert rb.esp_algorithm(rb.Combination(cipher, auth), str)

    @pytest.mark.parametrize('text', ['192.0.2.1', '2001:db8::1', 'fe80::1%eth0', '::1', 'router', 'a-b.example.net', 'my_box', 'x' * 253])
    def test_host_name(self, text):
        assert rb.host_name(text) == text

    @pytest.mark.parametrize('text', ['', '-c', '--version', '-', ' router', 'router ', 'a b', 'a/b', 'router\n', '192.0.2.1;reboot', '$(reboot)', 'k\xfcche', '.', '%eth0', '[::1]',
                                      'root@router', 'x' * 254, '\x1b[31m'])
    def test_no_host_name(self, text):
        with pytest.raises(ValueError) as error:
            rb.host_name(text)
        assert '\x1b' not in str(error.value) and len(str(error.value)) < 200

    @pytest.mark.parametrize('text,words', [('udp', ('udp',)), ('tcp,udp', ('tcp', 'udp')), ('UDP tcp', ('udp', 'tcp')), ('udp,udp,', ('udp',)), (' tcp ', ('tcp',))])
    def test_one_of(self, text, words):
        assert rb.one_of('udp', 'tcp')(text) == words

    @pytest.mark.parametrize('text', ['', ',', 'sctp', 'udp,sctp', '-udp', 'udp;tcp'])
    def test_none_of(self, text):
        with pytest.raises(ValueError):
            rb.one_of('udp', 'tcp')(text)

    @pytest.mark.parametrize('text,name', [
        ('203.0.113.5 via 192.0.2.1 dev eth0 src 198.51.100.7 uid 0 \\    cache \n', 'eth0'), ('203.0.113.5 dev tun0 src 10.8.0.2 uid 0 \\    cache \n', 'tun0'),
        ('2001:db8::5 from :: via fe80::1 dev eth0.2 proto ra src 2001:db8::7 metric 1024 pref medium\n', 'eth0.2'),
        ('local 127.0.0.1 dev lo table local src 127.0.0.1 uid 0 \\    cache <local> \n', 'lo'), ('203.0.113.5 dev br-lan  src 198.51.100.7\n', 'br-lan'),
        ('203.0.113.5 dev veth1@if7 src 198.51.100.7\n', 'veth1@if7'), ('', None), ('RTNETLINK answers: Network is unreachable\n', None)])
    def test_interface_towards(self, text, name):
        assert rb.interface_towards(FakeHost(answers={'ip': text}), '203.0.113.5') == name

    def test_interface_towards_on_freebsd(self):
        text = '   route to: 203.0.113.5\ndestination: default\n       mask: default\n    gateway: 192.0.2.1\n        fib: 0\n  interface: igc0\n      flags: <UP,GATEWAY,DONE,STATIC>\n'
        assert rb.interface_towards(FakeHost(answers={'route': text, 'uname': 'FreeBSD 14.1-RELEASE amd64\n'}), '203.0.113.5') == 'igc0'
        assert rb.interface_towards(FakeHost(answers={'route': text, 'uname': 'Linux 6.1.0 x86_64\n'}), '203.0.113.5') is None

    def test_processes(self, site):
        for pid, name in ((77, 'openvpn'), (78, 'openvpn-plugin'), (79, 'wireguard-go'), (80, 'openvpn')):
            site.process(pid, name)
        site.file('/proc/77/stat', '77 (openvpn)' + self.TIMES + '\n')
        (site.root / 'proc/80/stat').unlink()  # it ended between two looks
        host = site.host()
        try:
            assert rb.LinuxMachine(host, '6.1.0', 'mips').processes(('openvpn', 'wireguard-go')) == {77: 3.0, 79: 0.0}
        finally:
            host.close()

    @pytest.mark.parametrize('text,reason', [
        ('unable to connect to server: Connection refused', 'connection-refused'),
        ('unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: Connection refused', 'connection-refused'),
        ('unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.: No route to host', 'no-answer'),
        ('unable to connect to server: Network is unreachable', 'no-answer'), ('unable to connect to server: Connection timed out', 'no-answer'),
        ('unable to connect to server: Operation now in progress', 'no-answer'), ('unable to connect to server: Name or service not known', 'host-unknown'),
        ('unable to connect to server: Temporary failure in name resolution', 'host-unknown'), ('unable to connect to server: Name does not resolve', 'host-unknown'),
        ('error - ' + BUSY, 'server-busy'), (BUSY, 'server-busy'), ('control socket has closed unexpectedly', 'connection-lost'), ('the server has terminated', 'connection-lost'),
        ('unable to send control message - port may not be available, the other side may have stopped running, etc.: Broken pipe', 'connection-lost'),
        ('unable to receive control message: Connection reset by peer', 'connection-lost'), ('unable to create a new stream: Cannot assign requested address', 'tool-failed'), ('', 'tool-failed')])
    def test_iperf_refusal(self, text, reason):
        assert rb.iperf_refusal(text) == reason and reason in rb.REASONS


SAMPLE = '''# Enable compression on the VPN link and push the
# option to the client (v2.4+ only, for earlier
# versions see below)
;compress lz4-v2
;push "compress lz4-v2"
# For compression compatible with older clients use comp-lzo
;comp-lzo
port 1194
proto udp
dev tun
cipher AES-256-CBC
%s
verb 3
'''


class TestCompresses:
    """Each was shown to OpenVPN 2.6.14, which says whether it compresses; but what is pushed it only hands on."""

    @pytest.mark.parametrize('line', ['comp-lzo', 'comp-lzo yes', 'comp-lzo adaptive', '\tcomp-lzo\tyes', 'comp-lzo yes # as ever', 'comp-lzo ; adaptive', 'compress lz4', 'compress lz4-v2',
                                      'compress lzo', 'push "compress lz4-v2"', 'push "comp-lzo yes"', 'comp-lzo no\npush "comp-lzo adaptive"', 'allow-compression yes\ncompress lzo',
                                      'compress migrate\ncomp-lzo', 'comp-lzo\r', 'comp-lzo yes\ncomp-noadapt'])
    def test_it_does(self, line):
        assert rb.compresses(SAMPLE % line)

    @pytest.mark.parametrize('line', ['--comp-lzo yes', 'compress "lz4"', "push 'compress lz4'", '"comp-lzo" "yes"', 'setenv opt comp-lzo'])
    def test_it_does_in_rarer_words(self, line):
        assert rb.compresses(SAMPLE % line)

    @pytest.mark.parametrize('line', ['', 'comp-lzo no', 'compress', 'compress stub', 'compress stub-v2', 'compress migrate', 'push "comp-lzo no"', 'push "compress"', 'push "compress stub-v2"',
                                      '#comp-lzo', '; compress lz4', 'compress # the framing only', 'compress stub-v2 ; lz4', 'allow-compression no', 'allow-compression asym', 'comp-noadapt',
                                      'comp-lzo no\r', 'compress\r', 'setenv X "comp-lzo yes"', '# push "compress lz4"', 'compression lz4'])
    def test_it_does_not(self, line):
        assert not rb.compresses(SAMPLE % line)

    @pytest.mark.parametrize('line', ['comp-lzo "no"', 'compress "stub-v2"'])
    def test_quotes_make_no_difference(self, line):
        assert not rb.compresses(SAMPLE % line)


class TestReports:
    """R-31 to R-40, each by its own input, from the tool to the line."""

    NAN = '{"start":{},"intervals":[{"sum":{"packets":0,"lost_percent":-nan}}],"end":{"sum":{"bits_per_second":9.9e5,"lost_percent":nan}}}'

    def test_r31_nothing_can_be_made_of_no_number(self, site, tunnel):
        site.says(DIRECT, answer(self.NAN))
        lines = tunnel(rb.EXIT_FAILED, udp=True)
        assert [(line.status, line.reason) for line in lines] == [('failed', 'incomplete'), ('ok', None)]

    def test_r31_but_it_spoils_nothing_else(self, site, tunnel):
        whole = report(200).replace('"intervals": []', '"intervals": [{"sum": {"packets": 0, "lost_percent": -nan, "jitter_ms": nan}}, {"sum": {"bits_per_second": inf}}]')
        assert '-nan' in whole
        site.says(DIRECT, answer(whole))
        lines = tunnel()
        assert [line.mbit_s for line in lines] == [200, 100] and 'NaN' not in ''.join(map(rb.line_json, lines))

    @pytest.mark.parametrize('status', [0, 1])
    def test_r32_exit_0_with_an_error(self, site, tunnel, status):
        site.says(DIRECT, answer(REFUSED, status))
        direct, through = tunnel(rb.EXIT_FAILED)
        assert (direct.status, direct.reason, direct.tool) == ('failed', 'connection-refused', rb.NO_VPN)
        assert (through.status, through.mbit_s, through.extra['efficiency'], through.extra['direct_mbit_s']) == ('ok', 100, None, None)

    @pytest.mark.parametrize('end', [{}, None, {'streams': []}, {'sum_received': {}}, {'sum_received': {'bits_per_second': 0, 'seconds': 10.0, 'bytes': 0}}])
    def test_r32_exit_0_with_nothing(self, site, tunnel, end):
        site.says(THROUGH, answer(json.dumps({'start': {'connected': []}, 'intervals': [], 'end': end})))
        direct, through = sorted(tunnel(rb.EXIT_FAILED), key=lambda line: line.status, reverse=True)
        assert direct.status == 'ok' and through.status == 'failed' and through.reason in ('incomplete', 'tool-failed')

    @pytest.mark.parametrize('error', ['error - ' + BUSY, BUSY])
    def test_r33_busy_twice_and_then_fine(self, site, tunnel, error):
        good = site.moved(200, 'eth0')
        site.says(DIRECT, answer(refusal(error)), answer(refusal(error)), good)
        assert [line.mbit_s for line in tunnel()] == [200, 100]
        assert tunnel.slept == [2.0, 4.0] and site.order() == 'DDDT' + 'DTTDDT'

    def test_r33_waiting_for_the_server_is_no_work(self, site, tunnel):
        """What a machine did in the 10 s of the test is not spread over the 6 s before it."""
        good = site.moved(200, 'eth0', then=['busy 800'])
        site.says(DIRECT, good, answer(refusal(BUSY)), answer(refusal(BUSY)), good)
        line, = tunnel(through=None, quick=True, time=10.0)
        assert tunnel.slept == [2.0, 4.0] and line.extra['router_cpu'] == pytest.approx(0.8, abs=0.03)

    def test_r33_always_busy(self, site, tunnel):
        site.says(DIRECT, answer(refusal('error - ' + BUSY)))
        line, = tunnel(rb.EXIT_FAILED, through=None)
        assert (line.status, line.reason) == ('failed', 'server-busy') and tunnel.slept == list(rb.BUSY_PAUSES) and len(site.asked()) == 1 + len(rb.BUSY_PAUSES)

    @pytest.mark.parametrize('drop', ['cpu_utilization_percent', 'timestamp', 'retransmits', 'connected', 'version', 'test_start', 'sum_sent', 'all'])
    def test_r34_missing_keys(self, site, tunnel, drop):
        def without(value):
            return {key: without(one) for key, one in value.items() if key != drop} if isinstance(value, dict) else value
        end = {'sum_received': {'seconds': 10.0, 'bits_per_second': 2e8}}
        site.says(DIRECT, answer(json.dumps({'end': end} if drop == 'all' else without(json.loads(report(200))))))
        direct, through = tunnel()
        assert (direct.mbit_s, through.mbit_s, through.extra['efficiency']) == (200, 100, 0.5) and tuple(direct.extra) == tuple(rb.line_of(json.loads(rb.line_json(direct)))[0].extra)
        lost = {'cpu_utilization_percent': ('local_cpu', 'remote_cpu'), 'retransmits': ('retransmits',), 'test_start': ('protocol',), 'sum_sent': ('retransmits',),
                'all': ('local_cpu', 'remote_cpu', 'retransmits', 'protocol')}.get(drop, ())
        assert {key for key in ('local_cpu', 'remote_cpu', 'retransmits', 'protocol') if direct.extra[key] is None} == set(lost)

    R35 = ('{"start":{},"intervals":[],"end":{"sum_sent":{"bytes":8750000000,"seconds":2.0,"bits_per_second":35000000000},'
           '"sum_received":{"bytes":0,"seconds":2.0,"bits_per_second":0}}}\niperf3: error - unable to send control message: Broken pipe')

    @pytest.mark.parametrize('said,reason', [
        (answer(R35), 'connection-lost'), (answer(R35.partition('\n')[0]), 'incomplete'), (answer(R35.partition('\n')[0], err='iperf3: error - unable to send control message: Broken pipe'), 'connection-lost'),
        (answer(report(35000) + '\niperf3: error - unable to send control message: Broken pipe'), 'connection-lost'),
        (answer(report(35000)[:-2] + ', "error": "interrupt - the client has terminated"}'), 'connection-lost'), (answer(report(35000)[:-40]), 'output-unknown'),
        (answer('iperf3: parameter error - you must specify', 1), 'tool-failed'), (answer('', 139), 'tool-failed')])
    def test_r35_an_interrupted_test_is_no_result(self, site, tunnel, said, reason):
        site.says(DIRECT, said)
        direct, through = tunnel(rb.EXIT_FAILED)
        assert (direct.status, direct.reason) == ('failed', reason) and through.status == 'ok'

    @pytest.mark.parametrize('shape', ['%s\n%s', 'warning: no CPU affinity\n%s', '%s\n\niperf Done.', '%s'])
    def test_r35_text_around_a_good_one(self, site, tunnel, shape):
        text = report(200)
        site.says(DIRECT, answer(shape % ((text,) * shape.count('%s'))))
        assert [line.mbit_s for line in tunnel()] == [200, 100]

    R36 = '{"end":{"sum":{"seconds":5.0,"bytes":1500000000,"bits_per_second":2400000000,"lost_packets":600000,"packets":1000000,"lost_percent":60.0}}}'

    def test_r36_what_was_lost_did_not_arrive(self, site, tunnel):
        site.says(DIRECT, answer(self.R36))
        line, = tunnel(through=None, udp=True, time=5.0)
        assert (line.mbit_s, line.mbit, line.seconds) == (960, 4800, 5)

    @pytest.mark.parametrize('old,new', [('60.0', 'null'), ('60.0', '-nan'), (',"lost_percent":60.0', ''), ('60.0', '100.0')])
    def test_r36_without_the_loss_it_is_no_figure(self, site, tunnel, old, new):
        site.says(DIRECT, answer(self.R36.replace(old, new)))
        line, = tunnel(rb.EXIT_FAILED, through=None, udp=True)
        assert (line.status, line.reason) == ('failed', 'incomplete')

    HANGS = 'echo \'{"start":{"connected":[\'\nsleep 600 &\necho $! $$ >> pids\nwait\n'

    def test_r37_a_client_that_hangs(self, site, tunnel):
        site.says(DIRECT, self.HANGS)
        site.says(THROUGH, self.HANGS)
        started = time.monotonic()
        lines = tunnel(rb.EXIT_FAILED, limit=0.3)
        assert [(line.status, line.reason) for line in lines] == [('failed', 'timeout')] * 2 and time.monotonic() - started < 5
        pids = (site.place / 'pids').read_text().split()
        assert len(pids) == 4 and all(gone(int(pid)) for pid in pids)

    def test_r37_in_the_middle(self, site, tunnel):
        """The way that hung is left alone from then on, and the other one has its result."""
        site.says(DIRECT, site.moved(200, 'eth0'), site.moved(200, 'eth0'), self.HANGS)
        direct, through = tunnel(rb.EXIT_FAILED, limit=0.3)
        assert (direct.status, direct.reason) == ('failed', 'timeout') and (through.status, through.mbit_s, len(through.runs)) == ('ok', 100, 3)
        assert through.extra['efficiency'] is None and site.order() == 'DT' + 'DT' + 'TD' + 'T'
        assert all(gone(int(pid)) for pid in (site.place / 'pids').read_text().split())

    def test_r38_the_test_took_the_other_way(self, site, tunnel):
        site.says(DIRECT, site.moved(941, 'eth0'))
        site.says(THROUGH, answer(report(940, remote=THROUGH), then=['grow root/sys/class/net/tun0/statistics/tx_bytes 4312']))
        direct, through = tunnel(rb.EXIT_FAILED)
        assert direct.status == 'ok' and (through.status, through.reason) == ('failed', 'tunnel-unused')
        assert through.extra == {} and 'efficiency' not in rb.line_json(through)

    @pytest.mark.parametrize('share,used', [(0.88, False), (0.92, True), (1.06, True)])
    def test_r38_nine_tenths(self, site, tunnel, share, used):
        site.says(THROUGH, site.moved(100, 'tun0', share))
        through = tunnel(rb.EXIT_OK if used else rb.EXIT_FAILED)[1]
        assert through.reason == (None if used else 'tunnel-unused') and (not used or through.extra['carried'] == pytest.approx(share, abs=0.001))

    def test_r38_both_leave_by_the_same_interface(self, site, tunnel):
        site.interface('eth0', DIRECT, THROUGH)
        through, direct = tunnel(rb.EXIT_FAILED)
        assert direct.status == 'ok' and (through.status, through.reason) == ('failed', 'tunnel-unused') and site.order() == 'DT' + 'DDD'

    @pytest.mark.parametrize('share,used', [(0.05, False), (1.04, True)])
    def test_r38_ipsec_is_counted_by_its_states(self, site, tunnel, share, used):
        site.interface('eth0', DIRECT, THROUGH)
        (site.place / 'esp').write_text('3400\n')
        (site.place / 'xfrm').write_text(XFRM)
        site.says(THROUGH, site.moved(100, 'eth0', remote=THROUGH, then=['grow esp %d' % (1.25e8 * share)]))
        direct, through = tunnel(rb.EXIT_OK if used else rb.EXIT_FAILED)
        assert through.tool == 'IPsec (ESP)' and through.reason == (None if used else 'tunnel-unused')
        assert not used or (through.extra['carried'], through.extra['efficiency']) == (pytest.approx(1.04, abs=0.001), 0.5)

    def test_r38_who_may_not_ask_for_the_states_knows_nothing(self, site, tunnel):
        """`ip xfrm state` is root's: that it says nothing to others does not show that there is no IPsec."""
        site.interface('eth0', DIRECT, THROUGH)
        site.tool('ip', IP.replace("'-s xfrm state')", "'-s xfrm never')") % site.place)
        host = site.host()
        try:
            _, lines = lines_of(host, tests=('tunnel',), direct=DIRECT, through=THROUGH, wait=0.0)
        finally:
            host.close()
        through, = [line for line in lines if line.tool != rb.NO_VPN]
        assert through.reason == 'needs-root' or 'tunnel-unproven' in through.warnings, (through.reason, through.detail)

    def test_r38_a_tunnel_whose_counters_cannot_be_read(self, site, tunnel):
        for name in (DIRECT, THROUGH):
            (site.place / 'routes' / name).unlink()
        direct, through = tunnel()
        assert 'tunnel-unproven' in through.warnings and 'tunnel-unproven' not in direct.warnings
        assert through.extra['carried'] is through.extra['interface'] is None and any(finding.code == 'not-fit' for finding in rb.judge(through))

    @pytest.mark.parametrize('cpu,limit', [((12.5, 99.4), 'other end'), ((99.4, 12.5), 'this end')])
    def test_r39_iperf3_was_the_limit(self, site, tunnel, cpu, limit):
        site.says(DIRECT, site.moved(200, 'eth0', cpu=cpu))
        site.says(THROUGH, site.moved(100, 'tun0', cpu=cpu))
        lines = tunnel()
        assert [line.extra['limit'] for line in lines] == [limit] * 2 and all('endpoint-bound' in line.warnings for line in lines)
        assert sorted((lines[0].extra['local_cpu'], lines[0].extra['remote_cpu'])) == [0.125, 0.994]

    def test_r39_but_not_where_it_had_time_left(self, tunnel):
        assert all('endpoint-bound' not in line.warnings for line in tunnel())

    @pytest.mark.parametrize('words,path,config', [
        (('--config', '/etc/openvpn/server.conf'), '/etc/openvpn/server.conf', 'comp-lzo yes'), (('/etc/openvpn/server.conf',), '/etc/openvpn/server.conf', 'compress lz4'),
        (('--daemon', 'ovpn-x', '--cd', '/etc/openvpn', '--config', 'server.conf'), '/etc/openvpn/server.conf', 'comp-lzo\n'),
        (('--dev', 'tun0', '--comp-lzo', '--verb', '3'), None, ''), (('--dev', 'tun0', '--compress', 'lz4'), None, ''), (('--push', 'compress lz4-v2', '--dev', 'tun0'), None, '')])
    def test_r40_a_tunnel_that_compresses(self, site, tunnel, words, path, config):
        site.process(77, 'openvpn', *words)
        if path:
            site.file(path, SAMPLE % config)
        direct, through = tunnel()
        assert 'compressed' in through.warnings and 'compressed' not in direct.warnings and any(finding.code == 'not-fit' for finding in rb.judge(through))

    def test_r40_as_systemd_starts_it(self, site, tunnel):
        """openvpn-server@.service has WorkingDirectory=/etc/openvpn/server, and names the file from there."""
        site.process(77, 'openvpn', '--status', '/run/openvpn-server/status-server.log', '--status-version', '2', '--suppress-timestamps', '--config', 'server.conf')
        site.file('/etc/openvpn/server/server.conf', SAMPLE % 'comp-lzo yes')
        os.symlink('../../etc/openvpn/server', str(site.root / 'proc/77/cwd'))
        assert 'compressed' in tunnel()[1].warnings

    @pytest.mark.parametrize('words,config', [(('--config', '/etc/openvpn/server.conf'), 'comp-lzo no'), (('--config', '/etc/openvpn/server.conf'), 'compress'),
                                              (('--dev', 'tun0', '--comp-lzo', 'no', '--verb', '3'), ''), (('--dev', 'tun0', '--compress', 'stub-v2'), ''), (('--config', '/none'), '')])
    def test_r40_one_that_does_not(self, site, tunnel, words, config):
        site.process(77, 'openvpn', *words)
        site.file('/etc/openvpn/server.conf', SAMPLE % config)
        assert all('compressed' not in line.warnings for line in tunnel())

    def test_r40_framing_alone_on_the_command_line(self, site, tunnel):
        """`--compress` without an algorithm compresses nothing, whatever option comes next."""
        site.process(77, 'openvpn', '--dev', 'tun0', '--compress', '--verb', '3')
        assert all('compressed' not in line.warnings for line in tunnel())

    def test_r40_another_vpns_compression_is_not_this_ones(self, site, tunnel):
        site.process(77, 'openvpn', '--dev', 'tun9', '--comp-lzo', 'yes')
        site.link('tun0', WIREGUARD)
        through = tunnel()[1]
        assert through.tool == 'WireGuard' and 'compressed' not in through.warnings


class TestLines:
    """What else a line says."""

    def test_the_ratio(self, tunnel):
        direct, through = tunnel()
        assert (direct.tool, direct.mbit_s, direct.seconds, direct.mbit, direct.runs, direct.spread) == (rb.NO_VPN, 200, 10, 2000, (10, 10, 10), 0)
        assert (through.tool, through.mbit_s, through.extra['direct_mbit_s'], through.extra['efficiency'], through.extra['carried']) == (None, 100, 200, 0.5, 1.0)
        assert [(line.extra['way'], line.extra['interface'], line.extra['streams'], line.extra['direction'], line.extra['iperf'], line.extra['retransmits']) for line in (direct, through)] == [
            ('direct', 'eth0', 1, 'up', 'iperf 3.12', 21), ('tunnel', 'tun0', 1, 'up', 'iperf 3.12', 21)]
        assert 'efficiency' not in direct.extra and direct.warnings == through.warnings == ()
        assert (direct.method, through.method) == ('iperf3 -c <direct> -t 10', 'iperf3 -c <through the tunnel> -t 10')

    @pytest.mark.parametrize('rates', [(100, 90, 100, 110, 101), (33.3333, 33.1, 33.2), (99.9996, 100.0004), (7.7, 7.65, 7.7, 7.61, 7.7), (0.5, 0.501), (0.1234, 0.1235), (0.0333, 0.0331)])
    @pytest.mark.parametrize('quick', [False, True])
    def test_arithmetic(self, site, tunnel, rates, quick):
        """What the validator recomputes has to come out, whatever the rates are; sound() looks."""
        site.says(THROUGH, *[site.moved(rate, 'tun0') for rate in (50,) + rates])
        through = tunnel(quick=quick)[1]
        counted = (rates[:1] if quick else rates + rates[-1:] * 6)[:len(through.runs)]
        assert through.mbit_s == pytest.approx(rb.median(counted), rel=0.001, abs=0.0006) and through.spread == pytest.approx(rb.relative_spread([1 / rate for rate in counted]), abs=0.0002)

    def test_rates_that_lie_apart_are_measured_again(self, site, tunnel):
        site.says(THROUGH, *[site.moved(rate, 'tun0') for rate in (100, 100, 90, 100, 90, 100, 90, 100)])
        direct, through = tunnel()
        assert len(direct.runs) == len(through.runs) == rb.MOST_ROUNDS and 'unstable' in through.warnings and 'unstable' not in direct.warnings
        assert site.order() == 'DT' + 'DTTD' * 3

    def test_quick_and_a_small_budget_are_one_round(self, site, tunnel):
        lines = tunnel(quick=True)
        assert all({'estimated', 'single-run'} <= set(line.warnings) for line in lines) and site.order() == 'DT' + 'DT' and '-t 3 ' in site.asked()[-1]
        assert all('single-run' in line.warnings and 'estimated' not in line.warnings for line in tunnel(budget=5.0))

    def test_openvpn_and_its_process(self, site, tunnel):
        site.tool('openvpn', "echo 'OpenVPN 2.4.7 x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [AEAD]'; echo 'library versions: OpenSSL 1.1.1d'; exit 1\n")
        site.process(77, 'openvpn', '--dev', 'tun0')
        site.process(78, 'openvpn', '--dev', 'tun1')
        site.says(THROUGH, site.moved(100, 'tun0', then=['work 77 960', 'work 78 20', 'busy 1100']))
        direct, through = tunnel()
        assert (through.tool, through.extra['vpn_cpu'], through.extra['limit']) == ('OpenVPN 2.4.7', 0.96, 'VPN process') and direct.extra.get('vpn_cpu') is None
        assert through.extra['router_cpu'] == pytest.approx(1.1, abs=0.02) and direct.extra['router_cpu'] == pytest.approx(0.0, abs=0.02)

    @pytest.mark.parametrize('rate,limit,share', [(40, 'packet path', 0.417), (60, 'crypto', 0.625), (95, 'crypto', 0.99)])
    def test_crypto_or_packets(self, site, rate, limit, share):
        """The cipher that the user says the tunnel has, as an openvpn line of the same run knows it."""
        site.process(77, 'openvpn', '--dev', 'tun0')
        site.says(THROUGH, site.moved(rate, 'tun0', then=['work 77 960']))
        host = site.host()
        try:
            known = rb.Line(test='openvpn', cipher='aes-256-gcm', extra={'mbit_s_1420': 100.0})
            context = rb.Context(host, rb.machine_of(host), rb.Options(direct=DIRECT, through=THROUGH, wait=0.0, ciphers=('aes-256-gcm',)), rb.Listener(), [known])
            direct, through = [result.values['extra'] for result in rb.TunnelTest(context).measure()]
        finally:
            host.close()
        assert (through['ceiling_mbit_s'], through['limit'], through['crypto_share']) == (100, limit, pytest.approx(share, abs=0.001)) and 'ceiling_mbit_s' not in direct

    def test_a_kernels_wireguard(self, site, tunnel):
        site.link('tun0', WIREGUARD)
        through = tunnel()[1]
        assert (through.tool, through.extra['vpn_cpu']) == ('WireGuard', None)

    @pytest.mark.parametrize('tool', ['WireGuard', 'IPsec (ESP)'])
    def test_a_vpn_in_the_kernel_has_no_process(self, site, tunnel, tool):
        """Though one of another VPN, or the one that negotiates the keys, runs as well."""
        site.process(77, 'charon' if tool == 'IPsec (ESP)' else 'openvpn')
        site.link('tun0', WIREGUARD)
        then = ['work 77 990']
        if tool == 'IPsec (ESP)':
            site.interface('eth0', DIRECT, THROUGH)
            (site.place / 'esp').write_text('3400\n')
            (site.place / 'xfrm').write_text(XFRM)
            then.append('grow esp 125000000')
        site.says(THROUGH, site.moved(100, 'tun0', then=then))
        through = tunnel()[1]
        assert through.tool == tool and through.extra['vpn_cpu'] is None and through.extra['limit'] != 'VPN process'

    def test_a_full_link(self, site, tunnel):
        site.interface('eth0', DIRECT, speed=1000)
        site.says(DIRECT, site.moved(941, 'eth0'))
        site.says(THROUGH, site.moved(905, 'tun0', 1.03))
        direct, through = tunnel()
        assert (direct.extra['link_mbit_s'], direct.extra['limit'], through.extra['limit']) == (1000, 'link', 'link')
        assert 'link-bound' in through.warnings and 'link-bound' not in direct.warnings

    def test_a_virtual_link_states_any_rate(self, site, tunnel):
        site.interface('eth0', DIRECT, speed=10)
        assert tunnel()[0].extra['link_mbit_s'] is None

    def test_packets_that_the_hardware_forwards(self, site, tunnel):
        site.says(DIRECT, site.moved(200, 'eth0', 0.01))
        direct, through = tunnel()
        assert 'hw-offload' in direct.warnings and 'hw-offload' not in through.warnings and direct.extra['carried'] == pytest.approx(0.01, abs=0.001)

    def test_a_counter_of_32_bits_wraps(self, site, tunnel):
        site.file('/sys/class/net/tun0/statistics/rx_bytes', '4294960000\n')
        wraps = 'read -r n < root/sys/class/net/tun0/statistics/rx_bytes; echo $(( (n + 130000000) % 4294967296 )) > root/sys/class/net/tun0/statistics/rx_bytes'
        site.says(THROUGH, answer(report(100, remote=THROUGH), then=[wraps]))
        through = tunnel(reverse=True)[1]
        assert through.status == 'ok' and through.extra['carried'] == pytest.approx(1.04, abs=0.001)

    def test_a_tunnel_that_is_made_anew_meanwhile(self, site, tunnel):
        """Its counters begin at nothing, which proves neither the one nor the other."""
        site.says(THROUGH, site.moved(100, 'tun0'), site.moved(100, 'tun0', then=['echo 9 > root/sys/class/net/tun0/ifindex', 'echo 0 > root/sys/class/net/tun0/statistics/tx_bytes']), site.moved(100, 'tun0'))
        through = tunnel()[1]
        assert through.extra['carried'] is None and 'tunnel-unproven' in through.warnings

    def test_the_table_for_people(self, site, tunnel):
        lines = tunnel(both=True)
        text = rb.tunnel_table(lines)
        head, *rows = [row for row in text.splitlines() if '%' in row or 'of direct' in row]
        assert 'of direct' in head and len(rows) == 4 and [row.split()[0] for row in rows] == ['no', 'tunnel', 'no', 'tunnel']
        assert ['50 %' in row for row in rows] == [False, True] * 2 and ['received' in row for row in rows] == [False, False, True, True]
        assert 'Both ends shared' not in text and 'fairness' not in text

    def test_the_table_with_clients(self, tunnel):
        line = tunnel()[1]
        several = line._replace(tool='OpenVPN 2.6.14', cipher='aes-256-cbc', auth='SHA1', driver='tun, UDP', warnings=('loopback',),
                                extra=dict(line.extra, client_mbit_s=[40.0, 60.0], fairness=0.962, clients=2, one_end_mbit_s=151.0))
        text = rb.tunnel_table([several])
        assert 'OpenVPN 2.6.14, AES-256-CBC + SHA1, tun, UDP: 2 clients got 40.00 to 60.00 Mbit/s each (fairness 0.96).' in text
        assert 'Both ends shared' in text and '151.0' in text and 'tun, UDP, sent' in text


@pytest.fixture
def main(site, monkeypatch, capfd):
    """The command line as a function: (exit status, lines, stderr)."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)}

    class Ours(Clocked):
        def __init__(self):
            super().__init__(site)
    monkeypatch.setattr(rb, 'LocalHost', Ours)
    monkeypatch.chdir(site.place)

    def run(*arguments):
        try:
            status = rb.main(list(arguments))
        except SystemExit as left:
            status = left.code
        out, err = capfd.readouterr()
        lines = [json.loads(line) for line in out.splitlines()]
        assert all(tuple(line) == rb.Line._fields for line in lines) and not SECRET.search(out), out
        for line in lines:
            if line['test'] == 'iperf3':
                assert sound(rb.line_of(line)[0])
        return status, lines, err
    yield run
    for number, handler in kept.items():
        signal.signal(number, handler)


TWO = ('--direct', DIRECT, '--through', THROUGH, '--wait', '0')


class TestCommand:
    def test_whole(self, site, main):
        status, lines, err = main('run', 'tunnel', *TWO)
        assert status == rb.EXIT_OK and [line['mbit_s'] for line in lines] == [200, 100] and lines[1]['extra']['efficiency'] == 0.5
        assert 'Traceback' not in err and 'of direct' in err and '50 %' in err and len({line['run'] for line in lines}) == 1
        assert {line['cpu'] for line in lines} == {'MIPS 24Kc'} and {line['algorithm'] for line in lines} == {None}

    @pytest.mark.parametrize('words,order', [((), 'DT' + 'DT' + 'TD' + 'DT'), (('-R',), 'DT' + 'DT' + 'TD' + 'DT'), (('--both',), 'DT' + 'DTTDDT' * 2), (('--quick',), 'DT' + 'DT'),
                                             (('--budget', '30s'), 'DT' + 'DT'), (('--budget', '45s'), 'DT' + 'DTTD')])
    def test_in_turns(self, site, main, words, order):
        assert main('run', 'tunnel', '--quiet', *TWO, *words)[0] == rb.EXIT_OK
        assert site.order() == order

    @pytest.mark.parametrize('words,wanted', [
        ((), '-c %s -p 5201 -t 10 -i 0 -J'), (('-P', '4'), '-c %s -p 5201 -t 10 -P 4 -i 0 -J'), (('-R',), '-c %s -p 5201 -t 10 -R -i 0 -J'), (('-p', '5999'), '-c %s -p 5999 -t 10 -i 0 -J'),
        (('-B', '198.51.100.7'), '-c %s -p 5201 -t 10 -i 0 -J -B 198.51.100.7'), (('-u',), '-c %s -p 5201 -t 10 -u -b 0 -i 0 -J'), (('-t', '20'), '-c %s -p 5201 -t 20 -i 0 -J'),
        (('--quick',), '-c %s -p 5201 -t 3 -i 0 -J'), (('--time', '1m'), '-c %s -p 5201 -t 60 -i 0 -J'),
        (('--reverse', '--parallel', '2', '--udp', '--port', '80', '--bind', 'fe80::1%eth0', '--time', '7s'), '-c %s -p 80 -t 7 -P 2 -R -u -b 0 -i 0 -J -B fe80::1%%eth0')])
    def test_what_reaches_iperf3(self, site, main, words, wanted):
        status, lines, _ = main('run', 'tunnel', '--quiet', *TWO, *words)
        assert status == rb.EXIT_OK and set(site.asked()[2:]) == {wanted % DIRECT, wanted % THROUGH}
        probes = [re.sub(' -R', '', re.sub('-t [0-9]+', '-t 1', wanted)) % address for address in (DIRECT, THROUGH)]
        assert site.asked()[:2] == probes  # a look at each way, over before it is felt
        shown = re.sub(r' -p \d+| -i 0 -J| -B \S+', '', wanted).replace('%%', '%')
        assert [line['method'] for line in lines] == ['iperf3 ' + shown % '<direct>', 'iperf3 ' + shown % '<through the tunnel>']
        assert {(line['extra']['streams'], line['extra']['direction']) for line in lines} == {(int((re.search('-P ([0-9]+)', wanted) or ['', '1'])[1]), 'down' if '-R' in wanted else 'up')}

    def test_both_are_two_lines_a_way(self, site, main):
        status, lines, _ = main('run', 'tunnel', '--quiet', *TWO, '--both')
        assert status == rb.EXIT_OK and [(line['extra']['way'], line['extra']['direction']) for line in lines] == [('direct', 'up'), ('tunnel', 'up'), ('direct', 'down'), ('tunnel', 'down')]
        assert [' -R ' in line for line in site.asked()] == [False] * 8 + [True] * 6 and [' -R' in line['method'] for line in lines] == [False, False, True, True]

    @pytest.mark.parametrize('text', ['0.4', '0.9', '1.4'])
    def test_a_part_of_a_second_is_not_for_ever(self, site, main, text):
        """`iperf3 -t 0` goes on until somebody stops it."""
        status, _, _ = main('run', 'tunnel', '--quiet', *TWO, '-t', text)
        assert status == rb.EXIT_USAGE or site.asked() and not any('-t 0 ' in line for line in site.asked())

    @pytest.mark.parametrize('missing', ['--direct', '--through'])
    def test_one_way_alone(self, site, main, missing):
        words = [word for i, word in enumerate(TWO) if missing not in (word, TWO[i - 1])]
        status, (line,), _ = main('run', 'tunnel', '--quiet', *words)
        assert status == rb.EXIT_OK and line['extra'].get('efficiency') is line['extra'].get('direct_mbit_s') is None and len(site.asked()) == 1 + 3

    def test_named_ends_are_a_wish_for_it(self, site, main):
        """Without the word `tunnel` as well, next to what is usual."""
        site.tool('openvpn', 'exit 1\n')
        _, lines, _ = main('run', '--quiet', *TWO)
        assert [line['mbit_s'] for line in lines if line['test'] == 'iperf3'] == [200, 100]

    @pytest.mark.parametrize('unreachable,error,reason', [
        ('direct', 'unable to connect to server: Connection refused', 'connection-refused'), ('direct', 'unable to connect to server - firewall issue, etc.: No route to host', 'no-answer'),
        ('through', 'unable to connect to server: Connection timed out', 'no-answer'), ('through', 'unable to connect to server: Name or service not known', 'host-unknown')])
    def test_one_end_is_out_of_reach(self, site, main, unreachable, error, reason):
        site.says(DIRECT if unreachable == 'direct' else THROUGH, answer(refusal(error)))
        status, lines, err = main('run', 'tunnel', *TWO)
        failed, = [line for line in lines if line['status'] == 'failed']
        good, = [line for line in lines if line['status'] == 'ok']
        assert status == rb.EXIT_FAILED and failed['reason'] == reason and error.rpartition(': ')[2] in failed['detail'] and 'Traceback' not in err
        assert (failed['tool'] == rb.NO_VPN) == (unreachable == 'direct') and failed['extra'] == {} and good['extra'].get('efficiency') is None

    def test_both_are_out_of_reach(self, site, main):
        for address in (DIRECT, THROUGH):
            site.says(address, answer(REFUSED, 1))
        status, lines, _ = main('run', 'tunnel', *TWO)
        assert status == rb.EXIT_FAILED and [line['reason'] for line in lines] == ['connection-refused'] * 2 and site.order() == 'DT'

    def test_iperf3_is_missing(self, site, main):
        os.unlink(str(site.tools / 'iperf3'))
        site.tool('opkg', 'exit 0\n')
        status, (line,), _ = main('run', 'tunnel', *TWO)
        assert status == rb.EXIT_NOTHING and (line['status'], line['reason'], line['test']) == ('skipped', 'tool-missing', 'tunnel')
        assert 'opkg update && opkg install iperf3' in line['detail']

    @pytest.mark.parametrize('body', ['echo "iperf3: error while loading shared libraries: libiperf.so.0" >&2; exit 127\n', 'exit 0\n'])
    def test_iperf3_is_broken(self, site, main, body):
        site.tool('iperf3', body)
        status, (line,), _ = main('run', 'tunnel', *TWO)
        assert status == rb.EXIT_FAILED and (line['status'], line['reason']) == ('failed', 'tool-broken')

    def test_nobody_is_named(self, site, main):
        """Names and addresses, given and told by iperf3, in its answers as in its errors."""
        name, address = 'marked-host.example.net', '2001:db8::77'
        for one in (name, address):
            site.interface('eth0' if one == name else 'tun0', one)
        site.says(name, site.moved(200, 'eth0', remote=name))
        site.says(address, site.moved(100, 'tun0', remote=address))
        words = ('run', 'tunnel', '--direct', name, '--through', address, '--wait', '0', '-B', '198.51.100.7', '--output', 'kept.jsonl')
        status, lines, _ = main(*words)
        assert status == rb.EXIT_OK and [line['mbit_s'] for line in lines] == [200, 100]
        for one in (name, address):
            site.says(one, answer(refusal('unable to connect to server %s [198.51.100.7]:5201 as marked@192.0.2.9: Connection refused' % one)))
        status, lines, _ = main(*words)
        assert status == rb.EXIT_FAILED and all(line['reason'] == 'connection-refused' for line in lines)
        kept = (site.root / str(site.place).lstrip('/') / 'kept.jsonl').read_text()
        assert len(kept.splitlines()) == 4 and not SECRET.search(kept)

    @pytest.mark.parametrize('words', [
        ('tunnel',), ('tunnel', '-R'), ('tunnel', '--loopback', '--direct', DIRECT), ('tunnel', '--loopback', '--through', THROUGH), ('tunnel', *TWO, '--both', '-R'), ('--loopback', '--direct', DIRECT),
        ('tunnel', '--through', ''), ('tunnel', '--through', '-R'), ('tunnel', '--through', 'a b'), ('tunnel', '--through=-c'), ('tunnel', *TWO, '-p', '0'), ('tunnel', *TWO, '-p', '65536'),
        ('tunnel', *TWO, '-P', '0'), ('tunnel', *TWO, '-P', '33'), ('tunnel', *TWO, '-t', '0'), ('tunnel', *TWO, '-t', 'x'), ('tunnel', *TWO, '-B', '--x'), ('tunnel', '--loopback', '--vpn', 'pptp'),
        ('tunnel', '--loopback', '--dev', 'tun,x'), ('tunnel', '--loopback', '--proto', 'sctp'), ('tunnel', '--loopback', '--clients', '0'), ('tunnel', '--loopback', '--clients', '65')])
    def test_wrong_usage(self, site, main, words):
        status, lines, err = main('run', *words)
        assert (status, lines, site.asked()) == (rb.EXIT_USAGE, [], []) and 'usage:' in err and 'Traceback' not in err

    def test_no_self_test_makes_tunnels(self, site, main):
        assert main('selftest', 'tunnel')[0] == rb.EXIT_USAGE and site.asked() == []

    def test_as_a_process(self, site):
        """A whole one, on this machine's own root: the doubles say no interface, so nothing is proven."""
        for address in (DIRECT, THROUGH):
            (site.place / 'routes' / address).unlink()
        environment = dict(os.environ, PATH='%s:%s' % (site.tools, os.environ['PATH']), TMPDIR=str(site.place))
        done = subprocess.run(agent('tunnel', 'run', *TWO, '--both', '-t', '2', '--quiet'), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        assert (done.returncode, done.stderr) == (rb.EXIT_OK, b'') and [line['mbit_s'] for line in lines] == [200, 100, 200, 100]
        assert all(sound(rb.line_of(line)[0]) and set(line['extra']) <= set(rb.EXTRA['iperf3']) for line in lines) and not SECRET.search(done.stdout.decode())
        assert all('tunnel-unproven' in line['warnings'] for line in lines[1::2]) and len(site.asked()) == 2 + 12

    def test_ctrl_c_leaves_nothing(self, site):
        site.says(DIRECT, TestReports.HANGS)
        environment = dict(os.environ, PATH='%s:%s' % (site.tools, os.environ['PATH']), TMPDIR=str(site.place))
        run = subprocess.Popen(agent('run', 'tunnel', *TWO), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            for _ in range(200):
                if (site.place / 'pids').exists() and (site.place / 'pids').read_text().endswith('\n'):
                    break
                time.sleep(0.05)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=20)
        finally:
            run.kill()
        assert (run.returncode, out) == (rb.EXIT_INTERRUPTED, b'') and b'Traceback' not in err
        pids = (site.place / 'pids').read_text().split()
        assert len(pids) == 2 and all(gone(int(pid)) for pid in pids)


class TestBed:
    """The namespaces of --loopback, as far as that goes without any."""

    def test_names_are_recognised_as_ours(self, site):
        host = site.host()
        try:
            bed = rb.Testbed(host, 64)
        finally:
            host.close()
        names = (bed.server,) + bed.clients
        assert len(set(names)) == 65 and all(re.match(rb.BED_NAME, name).group(1) == str(os.getpid()) for name in names)

    @pytest.mark.parametrize('name', ['blue', 'rb-', 'rb-12', 'rb-12-abcd', 'rb-12-abcd-', 'rb-x-abcd-s', 'rb-12-ABCD-s', 'rb-12-abcg-s', 'rb-12-abcd-s\n', 'rb-12-abcd-client', 'my-rb-12-abcd-s', 'rb--1-abcd-s',
                                      'rb-1234567890-abcd-s', 'rb-12-abcd-s;x', 'rb-\u0661-abcd-s', 'rb-12-abcde-s', 'rb-12-abc-s', ' rb-12-abcd-s'])
    def test_others_are_not(self, name):
        assert not re.match(rb.BED_NAME, name)

    @pytest.fixture
    def gone_pid(self):
        done = subprocess.Popen(['true'])
        done.wait()
        return done.pid

    def test_only_what_a_dead_one_left_is_removed(self, site, gone_pid):
        dead, alive = 'rb-%d-abcd-s' % gone_pid, 'rb-%d-abcd-c0' % os.getpid()
        for name in (dead, alive, 'blue', 'rb-old'):
            site.file('/run/netns/' + name, '')
        host = site.host()
        bed = rb.Testbed(host, 2)
        try:
            with pytest.raises(rb.Unmeasurable) as error:
                bed.open()
        finally:
            bed.close()
            host.close()
        assert (error.value.reason, error.value.status) == ('needs-root', 'skipped') and 'sudo' in error.value.detail
        asked = (site.place / 'iplog').read_text().splitlines()
        assert {line.split()[-1] for line in asked if 'del' in line} == {dead, bed.server, *bed.clients}

    @pytest.mark.parametrize('said,reason', [
        ('mount --make-shared /run/netns failed: Operation not permitted', 'needs-root'), ('mkdir /run/netns failed: Permission denied', 'needs-root'),
        ('Object "netns" is unknown, try "ip help".', 'tool-missing'), ("ip: invalid argument 'netns' to 'ip'", 'tool-missing'),
        ('Failed to create a new network namespace "x": Invalid argument', 'kernel-unsupported')])
    def test_what_is_lacking_is_said(self, site, main, said, reason):
        site.tool('ip', 'echo %s >&2; exit 1\n' % rb.quoted(said))
        site.tool('opkg', 'exit 0\n')
        status, (line,), _ = main('run', 'tunnel', '--loopback', '--wait', '0', '--vpn', 'wireguard')
        assert status == rb.EXIT_NOTHING and (line['status'], line['reason']) == ('skipped', reason) and (reason != 'tool-missing' or 'opkg install ip-full' in line['detail'])
        assert site.asked() == []

    def test_ip_is_missing(self, site, main):
        os.unlink(str(site.tools / 'ip'))
        site.tool('opkg', 'exit 0\n')
        status, (line,), _ = main('run', 'tunnel', '--loopback', '--wait', '0')
        assert status == rb.EXIT_NOTHING and line['reason'] == 'tool-missing' and 'opkg install ip-full' in line['detail']

    def test_it_cannot_be_made_from_afar(self):
        host = FakeHost(answers={'iperf3': 'iperf 3.12\n', 'ip': '', 'uname': 'Linux 6.1.0 mips\n'})
        status, (line,) = lines_of(host, tests=('tunnel',), loopback=True, wait=0.0)
        assert (status, line.status, line.reason) == (rb.EXIT_NOTHING, 'skipped', 'needs-python') and all(argv[0] != 'ip' for argv in host.commands)
