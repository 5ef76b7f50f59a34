"""`import`: what somebody ran by hand becomes lines. The documents' figures, time, dd, openssl speed, iperf3 of several kinds."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

import routerbench as rb
from fakes import AGENT


@pytest.fixture
def imported(tmp_path, capfd):
    """The lines that the command makes of a text, as dictionaries."""
    def lines_of(text, *options, status=0):
        (tmp_path / 'text').write_bytes(text.encode())
        assert rb.main(['import', str(tmp_path / 'text'), *options]) == status
        lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert all(tuple(line) == rb.Line._fields and line['warnings'] == ['imported'] for line in lines)
        return lines
    return lines_of


def windows(rate, transfer, seconds, local, remote):
    """The end of what the Windows client 3.1.3 prints with -V, as the AWS guide has it."""
    return '''iperf 3.1.3
CYGWIN_NT-10.0 CLIENT 2.5.1(0.297/5/3) 2016-04-21 22:14 x86_64
Connecting to host 10.8.0.1, port 5201
Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, 60 second test
[ ID] Interval           Transfer     Bandwidth
[  4]   0.00-1.00   sec  39.5 MBytes   331 Mbits/sec
[  4]  59.00-60.00  sec  39.4 MBytes   330 Mbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
Test Complete. Summary Results:
[ ID] Interval           Transfer     Bandwidth
[  4]   0.00-%s  sec  %s  %s                  sender
[  4]   0.00-%s  sec  %s  %s                  receiver
CPU Utilization: local/sender %s%% (0.5%%u/4.9%%s), remote/receiver %s%% (4.9%%u/30.6%%s)
iperf Done.
''' % (seconds, transfer, rate, seconds, transfer, rate, local, remote)


GUIDE = (('6.97 Gbits/sec', '48.7 GBytes', '60.00', 19.5, 38.5, 6970), ('414 Mbits/sec', '2.89 GBytes', '60.00', 5.4, 35.4, 414),
         ('652 Mbits/sec', '4.56 GBytes', '60.00', 1.5, 37.4, 652))
MAIL = (('7.45 Gbits/sec', '8.67 GBytes', '10.00', 61.4, 33.9, 7450), ('339 Mbits/sec', '404 MBytes', '10.00', 4.6, 21.4, 339),
        ('449 Mbits/sec', '536 MBytes', '10.00', 2.9, 10.1, 449))


def as_mail(text):
    """As a mail program sends it: a <div> each line, and every second blank a hard one."""
    return ''.join('<div>%s</div>' % line.replace('  ', '\xa0 ') if line else '<div><br></div>' for line in text.split('\n'))


class TestDocuments:
    @pytest.mark.parametrize('rows', [GUIDE, MAIL], ids=['guide', 'mail'])
    @pytest.mark.parametrize('shape', [str, as_mail, lambda text: text.replace('\n', '\r\n')], ids=['text', 'mail', 'crlf'])
    def test_six_figures_with_their_processors(self, imported, rows, shape):
        lines = imported(shape('\nand then with the other driver:\n'.join(windows(*row[:-1]) for row in rows)))
        assert [line['mbit_s'] for line in lines] == [row[-1] for row in rows]
        assert [(line['extra']['local_cpu'], line['extra']['remote_cpu']) for line in lines] == [(round(row[3] / 100, 3), round(row[4] / 100, 3)) for row in rows]
        assert {line['test'] for line in lines} == {'iperf3'} and {line['tool'] for line in lines} == {'iperf 3.1.3'}

    def test_the_ratio_is_said(self):
        done = subprocess.run([sys.executable, AGENT, 'import'], input=''.join(windows(*row[:-1]) for row in MAIL).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert '1.32 x' in done.stderr.decode().splitlines()[-1]

    @pytest.mark.parametrize('text', ['47.46 real        47.33 user         0.06 sys', '\nreal\t0m47.460s\nuser\t0m47.330s\nsys\t0m0.060s\n', 'real    0m 47.46s\nuser    0m 47.33s\nsys     0m 0.06s'])
    def test_the_guides_example(self, imported, text):
        line, = imported(text, '--test', 'openvpn', '--cipher', 'aes-256-cbc')
        assert (line['mbit_s'], line['mbit'], line['seconds'], line['algorithm'], line['auth']) == (67.429, 3200.16, 47.46, 'AES256', 'SHA1')

    def test_newer_versions_do_more(self, imported):
        line, = imported('47.46 real 47.33 user 0.06 sys', '--test', 'openvpn', '--cipher', 'AES-256-CBC', '--tool', 'OpenVPN 2.6.14')
        assert (line['mbit'], line['extra']['packets'], line['extra']['mbit_s_3200']) == (3254.147, 20168, 67.429)

    @pytest.mark.parametrize('real,rate', [('14.2', 56.338), ('2m 44.80s', 4.854)])
    def test_the_tables_dd(self, imported, real, rate):
        line, = imported('200+0 records in\n200+0 records out\nreal\t0m %s\nuser\t0m 1.00s\nsys\t0m 1.00s\n' % real if 'm' not in real else
                         'real\t%s\nuser\t0m 1.00s\nsys\t0m 1.00s\n' % real, '--test', 'ssh', '--cipher', 'aes128-cbc')
        assert (line['mbit_s'], line['mbit'], line['cipher']) == (rate, 800.0, 'aes128-cbc')


class TestTimes:
    def test_r67_several_reports_are_runs(self, imported):
        text = ''.join('%s real 40.00 user 0.06 sys\n' % real for real in ('47.46', '47.60', '47.51'))
        line, = imported(text, '--test', 'openvpn', '--cipher', 'aes-256-cbc', '--tool', 'OpenVPN 2.4.12')
        assert (line['seconds'], line['runs'], line['spread']) == (47.51, [47.46, 47.60, 47.51], 0.0029)

    @pytest.mark.parametrize('text,bytes_,seconds', [
        ('200+0 records in\n200+0 records out\n100000000 bytes (100 MB, 95 MiB) copied, 14.2 s, 7.0 MB/s\n', 100000000, 14.2),
        ('400+0 records in\n400+0 records out\n200000000 bytes transferred in 28.4 secs (7042253 bytes/sec)\n', 200000000, 28.4)])
    def test_dds_own_figures(self, imported, text, bytes_, seconds):
        line, = imported(text, '--test', 'ssh', '--cipher', 'aes256-cbc')
        assert (line['extra']['bytes'], line['seconds'], line['mbit_s']) == (bytes_, seconds, pytest.approx(56.338, abs=0.001))

    @pytest.mark.parametrize('options', [(), ('--test', 'openvpn'), ('--test', 'ssh'), ('--test', 'iperf3'), ('--test', 'openssl')])
    @pytest.mark.parametrize('text', ['', 'hello\n', '14.2 real 1 user 1 sys\n', '{}', '[ ID] Interval', '\x00\xff', '{"end":' * 200])
    def test_nothing_is_made_of_nothing(self, imported, text, options):
        assert imported(text, *options, status=rb.EXIT_NOTHING) == []

    def test_the_machine_by_its_cpuinfo(self, imported, tmp_path):
        (tmp_path / 'cpuinfo').write_text('system type\t\t: Atheros AR7242 rev 1\nmachine\t\t\t: Example BHR-4\nprocessor\t\t: 0\ncpu model\t\t: MIPS 24Kc V7.4\nBogoMIPS\t\t: 265.42\n')
        line, = imported('14.2 real 1 user 1 sys', '--test', 'ssh', '--cipher', 'aes128-cbc', '--cpuinfo', str(tmp_path / 'cpuinfo'), '--device', 'Example BHR-4')
        assert (line['cpu'], line['mhz'], line['device']) == ('MIPS 24Kc', None, 'Example BHR-4')


SPEED = '''Doing aes-128 cbc for 3s on 16 size blocks: 3500000 aes-128 cbc's in 3.00s
OpenSSL 1.1.1w  11 Sep 2023
type             16 bytes     64 bytes    256 bytes   1024 bytes   8192 bytes  16384 bytes
aes-128 cbc      18666.67k    20512.34k    21034.56k    21200.00k    21250.00k    21250.00k
aes-256-cbc      14000.00k    15100.00k    15400.00k    15450.00k    15500.00k    15500.00k
ChaCha20-Poly1305    24000.00k    30000.00k    33000.00k    34000.00k    34500.00k    34500.00k
'''


class TestOpenssl:
    def test_the_table_for_people(self, imported):
        lines = imported(SPEED)
        assert [(line['cipher'], line['algorithm'], line['mbit_s'], line['extra']['block_bytes']) for line in lines] == [
            ('aes-128-cbc', 'AES128', 170.0, 16384), ('aes-256-cbc', 'AES256', 124.0, 16384), ('chacha20-poly1305', 'CHACHA20', 276.0, 16384)]
        assert lines[0]['extra']['mbit_s_16'] == pytest.approx(149.333, abs=0.001)

    @pytest.mark.skipif(not shutil.which('openssl'), reason='no openssl here')
    def test_a_real_one(self, imported):
        done = subprocess.run(['openssl', 'speed', '-seconds', '1', '-evp', 'aes-128-cbc'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        line, = imported(done.stdout.decode() + done.stderr.decode())
        last = float(done.stdout.decode().split()[-1].rstrip('k'))
        assert line['cipher'] == 'aes-128-cbc' and line['mbit_s'] == pytest.approx(8e-3 * last, rel=1e-4)


GOOD = {'start': {'version': 'iperf 3.12', 'test_start': {'protocol': 'TCP'}}, 'intervals': [], 'end': {
    'sum_sent': {'bytes': 118e6, 'seconds': 1.0, 'bits_per_second': 944e6, 'retransmits': 7}, 'sum_received': {'bytes': 117.5e6, 'seconds': 1.0, 'bits_per_second': 940e6},
    'cpu_utilization_percent': {'host_total': 12.5, 'remote_total': 99.4}}}


class TestIperfJson:
    def test_good(self, imported):
        line, = imported(json.dumps(GOOD))
        assert (line['mbit_s'], line['tool'], line['extra']) == (940.0, 'iperf 3.12', {'local_cpu': 0.125, 'remote_cpu': 0.994, 'retransmits': 7, 'protocol': 'TCP'})

    def test_r31_no_number(self, imported):
        text = json.dumps(GOOD).replace('"intervals": []', '"intervals": [{"sum": {"packets": 0, "lost_percent": -nan, "jitter_ms": inf}}]')
        assert imported(text)[0]['mbit_s'] == 940.0

    @pytest.mark.parametrize('error', ['unable to connect to server: Connection refused', 'error - the server is busy running a test. try again later'])
    def test_r32_r33_an_error_is_no_result(self, imported, error):
        assert imported(json.dumps({'start': {'connected': [], 'version': 'iperf 3.12'}, 'intervals': [], 'end': {}, 'error': error}), status=rb.EXIT_NOTHING) == []

    def test_r34_only_the_sum_is_needed(self, imported):
        line, = imported(json.dumps({'end': {'sum_received': {'seconds': 2.0, 'bits_per_second': 5e6}}}))
        assert (line['mbit_s'], line['seconds'], line['tool']) == (5.0, 2.0, None)

    def test_r35_nothing_received(self, imported):
        text = ('{"start":{},"intervals":[],"end":{"sum_sent":{"bytes":8750000000,"seconds":2.0,"bits_per_second":35000000000},'
                '"sum_received":{"bytes":0,"seconds":2.0,"bits_per_second":0}}}\niperf3: error - unable to send control message: Broken pipe\n')
        assert imported(text, status=rb.EXIT_NOTHING) == []

    def test_r36_udp_that_was_lost(self, imported):
        line, = imported('{"end":{"sum":{"seconds":5.0,"bytes":1500000000,"bits_per_second":2400000000,"lost_packets":600000,"packets":1000000,"lost_percent":60.0}}}')
        assert line['mbit_s'] == 960.0

    def test_twice_is_once_and_text_around_it_does_no_harm(self, imported):
        text = json.dumps(GOOD)
        assert len(imported('warning: this is no server\n' + text + '\n' + text + '\n')) == 1


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


@pytest.mark.skipif(not shutil.which('iperf3'), reason='no iperf3 here')
class TestRealIperf:
    @pytest.mark.parametrize('options', [('-J',), ('-V',), ('-P', '3'), ('-J', '-P', '2', '-R'), ('-V', '-R'), ('-J', '-u', '-b', '20M')], ids=' '.join)
    def test_what_it_prints(self, imported, options):
        port = str(free_port())
        server = subprocess.Popen(['iperf3', '-s', '-1', '-B', '127.0.0.1', '-p', port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(50):
                time.sleep(0.1)
                done = subprocess.run(['iperf3', '-c', '127.0.0.1', '-p', port, '-t', '1', *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
                if b'refused' not in done.stdout:
                    break
            text = done.stdout.decode()
            line, = imported(text)
            if '-J' in options:
                end = json.loads(text)['end']
                whole = end['sum_received'] if 'sum_received' in end and '-u' not in options else end['sum']
                assert line['mbit_s'] == pytest.approx(whole['bits_per_second'] / 1e6, rel=0.02)
            else:
                row = [one for one in text.splitlines() if one.rstrip().endswith('receiver')][-1]
                assert line['mbit_s'] == pytest.approx(rb.parse_rate(' '.join(row.split()[-3:-1])), rel=1e-3)
                assert ('[SUM]' in row) == ('-P' in options)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(10)
