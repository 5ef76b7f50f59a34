"""`run openvpn` against look-alikes of every version: what is run, what comes out, what is refused.
The real versions are in test_lab.py."""

import itertools
import random
import re

import pytest

import routerbench as rb
from fakes import FakeOpenvpn, context_of, lines_of, openvpn_host

VERSIONS = sorted(FakeOpenvpn.TITLES)
SLOW = {'AES-256-CBC': (0.05, 6e-5, 47.46 / rb.total_bytes(20168)), 'none': (0.05, 2e-5, 5 / rb.total_bytes(20168))}


def by_cipher(lines):
    return {line.cipher: line for line in lines}


class TestEveryVersion:
    @pytest.mark.parametrize('version', VERSIONS)
    def test_the_true_work(self, version):
        status, lines = lines_of(openvpn_host(FakeOpenvpn(version)), ciphers=('aes-256-cbc',))
        assert (status, [line.status for line in lines]) == (0, ['ok'])
        line = lines[0]
        assert line.mbit == pytest.approx(3254.147 if version >= '2.6' else 3200.16)
        assert line.extra['packets'] == (20168 if version >= '2.6' else 20000)
        assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-5)
        assert line.extra['mbit_s_3200'] == pytest.approx(3200.16 / line.seconds, rel=1e-4)

    @pytest.mark.parametrize('version,tun_mtu,packets', [
        ('2.5', 1500, 1500), ('2.5', 576, 576), ('2.6', 576, 1768), ('2.6', 1500, 1768), ('2.6', 1601, 1769),
        ('2.7', 9000, 9168), ('2.7', 65535, 65703), ('2.4m', 9000, 9000)])
    def test_other_packet_sizes(self, version, tun_mtu, packets):
        _, lines = lines_of(openvpn_host(FakeOpenvpn(version)), ciphers=('aes-128-cbc',), tun_mtu=tun_mtu)
        assert lines[0].extra['packets'] == packets
        assert lines[0].mbit == pytest.approx(8 * packets * (packets + 1) / 1e6, abs=0.001)

    @pytest.mark.parametrize('version,library', [
        ('2.4m', 'mbed TLS 2.16.12'), ('2.6w', 'wolfSSL 5.7.2'), ('2.5', 'OpenSSL 1.1.1w'), ('2.7', 'OpenSSL 3.6.1')])
    def test_names_itself(self, version, library):
        _, lines = lines_of(openvpn_host(FakeOpenvpn(version)), ciphers=('aes-128-cbc',))
        assert lines[0].library == library
        assert lines[0].tool == ' '.join(FakeOpenvpn.TITLES[version].split()[:2])

    def test_r01_key_by_the_old_spelling_where_the_new_one_is_unknown(self):
        host = openvpn_host(FakeOpenvpn('2.4m'))
        _, lines = lines_of(host, ciphers=('aes-128-cbc',))
        genkeys = [argv[2] for argv in host.commands if argv[:2] == ('openvpn', '--genkey')]
        assert genkeys == ['secret', '--secret']
        assert lines[0].method.startswith('openvpn --genkey --secret /tmp/secret; time openvpn --test-crypto --secret ')

    def test_r02_a_deprecation_is_no_failure(self):
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), ciphers=('aes-256-cbc',))
        assert status == 0 and lines[0].status == 'ok'

    def test_r03_no_key_where_none_is_needed(self):
        host = openvpn_host(FakeOpenvpn('2.7'))
        _, lines = lines_of(host, ciphers=('aes-256-cbc',))
        assert not [argv for argv in host.commands if '--genkey' in argv or '--secret' in argv]
        assert lines[0].method == 'time openvpn --test-crypto --verb 0 --tun-mtu 20000 --cipher AES-256-CBC --auth SHA1'

    def test_the_guides_command_is_what_runs(self):
        host = openvpn_host(FakeOpenvpn('2.6'))
        lines_of(host, ciphers=('aes-256-cbc',))
        assert ('openvpn', '--test-crypto', '--secret', '/tmp/private/key', '--verb', '0', '--tun-mtu', '20000',
                '--cipher', 'AES-256-CBC', '--auth', 'SHA1') in host.commands

    def test_r04_r09_nothing_is_timed_above_verb_0_or_without_a_cipher(self):
        openvpn = FakeOpenvpn('2.6')
        host = openvpn_host(openvpn)
        lines_of(host)
        runs = [argv for argv in host.commands if '--test-crypto' in argv]
        assert all('--cipher' in argv for argv in runs)
        logged = [argv for argv in runs if argv[argv.index('--verb') + 1] != '0']
        assert all(int(argv[argv.index('--tun-mtu') + 1]) <= 2000 for argv in logged)

    def test_capitals_for_mbed_tls(self):
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.4m')), ciphers=('aes-256-cbc',))
        assert status == 0 and lines[0].cipher == 'aes-256-cbc' and '--cipher AES-256-CBC' in lines[0].method


class TestCombinations:
    def test_defaults_are_the_documents_and_the_aeads(self):
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')))
        assert [(line.cipher, line.auth, line.algorithm) for line in lines] == [
            ('aes-128-cbc', 'SHA1', 'AES128'), ('aes-256-cbc', 'SHA1', 'AES256'),
            ('aes-256-gcm', None, 'AES256'), ('chacha20-poly1305', None, 'CHACHA20')]

    def test_rrzn(self):
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), ciphers=('none', 'aes-128-cbc', 'aes-256-cbc'), auths=('none', 'SHA1'))
        assert {(line.cipher, line.auth) for line in lines} == {
            (cipher, auth) for cipher in ('none', 'aes-128-cbc', 'aes-256-cbc') for auth in ('none', 'SHA1')}

    def test_an_aead_is_measured_once_whatever_the_digests(self):
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), ciphers=('aes-256-gcm',), auths=('SHA1', 'SHA256'))
        assert [(line.cipher, line.auth) for line in lines] == [('aes-256-gcm', None)]

    def test_auth_alone_goes_with_the_documents_ciphers(self):
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), auths=('SHA256',))
        assert [(line.cipher, line.auth) for line in lines] == [('aes-128-cbc', 'SHA256'), ('aes-256-cbc', 'SHA256')]

    def test_an_old_build_skips_the_aeads_and_that_is_no_failure(self):
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.3')))
        found = by_cipher(lines)
        assert status == 0
        assert found['aes-256-cbc'].status == 'ok'
        assert (found['aes-256-gcm'].status, found['aes-256-gcm'].reason) == ('skipped', 'mode-unsupported')
        assert 'aes-256-cbc works' in found['aes-256-gcm'].detail

    def test_processes(self):
        host = openvpn_host(FakeOpenvpn('2.6'))
        _, lines = lines_of(host, ciphers=('aes-256-cbc',), processes=4)
        assert lines[0].mbit == pytest.approx(4 * 3254.147, abs=0.01)
        assert lines[0].extra['processes'] == 4 and lines[0].cores == 1
        assert "for i in $(seq 4); do openvpn" in lines[0].method

    def test_engine(self):
        for version in ('2.5', '2.6', '2.7'):
            status, lines = lines_of(openvpn_host(FakeOpenvpn(version)), ciphers=('aes-256-cbc',), engine='nosuch')
            assert (status, lines[0].status, lines[0].reason) == (rb.EXIT_NOTHING, 'skipped', 'engine-unavailable')
            assert lines[0].driver == 'nosuch' and 'nosuch' in lines[0].detail


class TestWorth:
    def test_net_is_without_the_none_run(self):
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6', SLOW)), ciphers=('aes-256-cbc',))
        cbc, none = (rb.run_seconds(rb.Cost(*SLOW[cipher]), 20168) for cipher in ('AES-256-CBC', 'none'))
        assert lines[0].extra['net_mbit_s'] == pytest.approx(3254.147 / (cbc - none), rel=1e-3)

    def test_none_with_none_is_its_own_line_and_measured_once(self):
        openvpn = FakeOpenvpn('2.6', SLOW)
        _, lines = lines_of(openvpn_host(openvpn), ciphers=('none', 'aes-256-cbc'), auths=('none',))
        assert by_cipher(lines)['none'].extra['net_mbit_s'] is None
        assert openvpn.timed.count(('none', 'none', 20168)) == len(by_cipher(lines)['none'].runs)

    def test_no_net_where_the_build_has_no_none(self):
        openvpn = FakeOpenvpn('2.6', ciphers={'AES-256-CBC'})
        _, lines = lines_of(openvpn_host(openvpn), ciphers=('aes-256-cbc',))
        assert lines[0].status == 'ok' and lines[0].extra['net_mbit_s'] is None

    def test_cost_per_packet_and_per_byte(self):
        """AES-256-GCM on an x86 with AES instructions: 1.68 us and 0.676 ns."""
        costs = {'AES-256-GCM': (0.008, 1.68e-6, 0.676e-9)}
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6', costs)), ciphers=('aes-256-gcm',))
        extra = lines[0].extra
        assert extra['per_packet_us'] == pytest.approx(1.68, rel=0.01)
        assert extra['per_byte_ns'] == pytest.approx(0.676, rel=0.01)
        assert extra['start_ms'] == pytest.approx(8, abs=0.1)
        assert extra['mbit_s_1420'] == pytest.approx(8606, rel=0.01)
        assert lines[0].mbit_s > 1.9 * extra['mbit_s_1420']

    def test_at_least_three_runs_and_more_while_they_lie_apart(self):
        steady = lines_of(openvpn_host(FakeOpenvpn('2.6', SLOW)), ciphers=('aes-256-cbc',))[1][0]
        assert len(steady.runs) == 3 and steady.spread == 0
        up_and_down = itertools.cycle((0.94, 1.0, 1.06, 0.97, 1.03))
        restless = lines_of(openvpn_host(FakeOpenvpn('2.6', SLOW, lambda: next(up_and_down))), ciphers=('aes-256-cbc',))[1][0]
        assert len(restless.runs) == 6 and 'unstable' in restless.warnings
        assert restless.seconds == pytest.approx(rb.median(restless.runs), abs=1e-5)

    def test_r07_short_runs_are_repeated_and_marked(self):
        line = lines_of(openvpn_host(FakeOpenvpn('2.6', {'AES-256-CBC': (0.01, 2e-6, 0.54 / rb.total_bytes(20168))})),
                        ciphers=('aes-256-cbc',))[1][0]
        assert sum(line.runs) >= rb.FULL_SECONDS * 0.9 and 'short-run' in line.warnings

    def test_one_run_where_three_do_not_fit(self):
        line = lines_of(openvpn_host(FakeOpenvpn('2.6', SLOW)), ciphers=('aes-256-cbc',), budget=90.0)[1][0]
        assert len(line.runs) == 1 and 'single-run' in line.warnings and line.spread == 0

    def test_r12_the_figure_is_one_processs_whatever_the_cores(self):
        files = {'/sys/devices/system/cpu/online': '0-3'}
        line = lines_of(openvpn_host(FakeOpenvpn('2.6'), files), ciphers=('aes-256-cbc',))[1][0]
        assert line.cores == 4 and line.mbit == pytest.approx(3254.147) and line.extra['dco_build'] is True

    @pytest.mark.parametrize('user,system,code', [
        (0.85, 0.02, 'cpu-starved'), (0.019, 0.768, 'system-heavy'), (0.997, 0.003, None)])
    def test_r06_r11_wall_time_counts_and_odd_cpu_time_is_marked(self, user, system, code):
        openvpn = FakeOpenvpn('2.6', SLOW)

        def answer(argv):
            ran = openvpn(argv)
            return ran._replace(user=user * ran.seconds, system=system * ran.seconds)
        line = lines_of(openvpn_host(answer), ciphers=('aes-256-cbc',))[1][0]
        assert line.mbit_s == pytest.approx(3254.147 / line.seconds, rel=1e-5)
        assert {'cpu-starved', 'system-heavy'} & set(line.warnings) == ({code} if code else set())

    def test_the_guides_example(self):
        """47.46 s is 67.43 Mbit/s by the guide's formula, and 68.57 of true work from 2.6 on (R-08)."""
        exact = {'AES-256-CBC': (0.0, 0.0, 47.46 / rb.total_bytes(20168))}
        line = lines_of(openvpn_host(FakeOpenvpn('2.6', exact)), ciphers=('aes-256-cbc',))[1][0]
        assert round(line.extra['mbit_s_3200'], 2) == 67.43 and round(line.mbit_s, 2) == 68.57
        old = {'AES-256-CBC': (0.0, 0.0, 47.46 / rb.total_bytes(20000))}
        line = lines_of(openvpn_host(FakeOpenvpn('2.5', old)), ciphers=('aes-256-cbc',))[1][0]
        assert round(line.extra['mbit_s_3200'], 2) == round(line.mbit_s, 2) == 67.43


class TestQuick:
    @pytest.mark.parametrize('seconds', [0.1, 0.5, 1.5, 4, 7, 47.46, 300])
    def test_predicts_the_full_method_in_a_fraction_of_its_time(self, seconds):
        costs = {'AES-256-CBC': (0.05, 6e-6 * seconds / 10, seconds / rb.total_bytes(20168))}
        took, found = {}, {}
        for quick in (False, True):
            host = openvpn_host(FakeOpenvpn('2.6', costs, ciphers={'AES-256-CBC'}))
            _, lines = lines_of(host, ciphers=('aes-256-cbc',), quick=quick, budget=1e5)
            took[quick], found[quick] = host.elapsed, lines[0]
        assert found[True].mbit_s == pytest.approx(found[False].mbit_s, rel=1e-3)
        assert 'estimated' in found[True].warnings and 'estimated' not in found[False].warnings
        assert took[True] <= took[False] / (8 if seconds > 7 else 2) + 1.1  # a second for the look at idleness
        assert found[True].extra['error_pct'] > 0

    def test_the_error_bound_covers_the_error(self):
        costs = {'AES-256-CBC': (0.05, 6e-5, 47.46 / rb.total_bytes(20168))}
        truth = rb.run_seconds(rb.Cost(*costs['AES-256-CBC']), 20168)
        dice = random.Random(7)
        covered = 0
        for _ in range(60):
            openvpn = FakeOpenvpn('2.6', costs, lambda: dice.gauss(1, 0.01), ciphers={'AES-256-CBC'})
            line = lines_of(openvpn_host(openvpn), ciphers=('aes-256-cbc',), quick=True)[1][0]
            covered += abs(line.seconds / truth - 1) * 100 <= line.extra['error_pct']
        assert covered >= 54  # two standard errors: 57 of 60 on average

    def test_says_what_it_was_predicted_from(self):
        line = lines_of(openvpn_host(FakeOpenvpn('2.6', SLOW)), ciphers=('aes-256-cbc',), quick=True)[1][0]
        assert line.runs == () and line.spread is None
        assert max(longest for longest, _ in line.extra['samples']) < 20168
        assert set(line.extra) <= set(rb.EXTRA['openvpn'])


class TestRefusals:
    @pytest.mark.parametrize('cipher,reason', [('bf-cbc', 'cipher-unsupported'), ('foo-cbc', 'cipher-unsupported'),
                                               ('aes-256-ctr', 'mode-unsupported')])
    def test_r04_r05_a_failure_has_no_speed(self, cipher, reason):
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), ciphers=(cipher,))
        assert status == rb.EXIT_NOTHING
        assert (lines[0].status, lines[0].reason) == ('skipped', reason)
        assert lines[0].seconds is lines[0].mbit is lines[0].mbit_s is None

    def test_what_was_asked_for_and_is_missing_shows_in_the_status(self):
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), ciphers=('aes-256-cbc', 'bf-cbc'))
        assert status == rb.EXIT_FAILED and sorted(line.status for line in lines) == ['ok', 'skipped']

    def test_unknown_digest(self):
        _, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), ciphers=('aes-256-cbc',), auths=('NOSUCH',))
        assert (lines[0].status, lines[0].reason) == ('skipped', 'auth-unsupported') and 'NOSUCH' in lines[0].detail

    def test_r13_missing(self):
        host = openvpn_host(FakeOpenvpn('2.6'))
        del host.answers['openvpn']
        host.answers['opkg'] = ''
        status, lines = lines_of(host)
        assert status == rb.EXIT_NOTHING and len(lines) == 1
        assert (lines[0].status, lines[0].reason) == ('skipped', 'tool-missing')
        assert 'opkg update && opkg install openvpn-openssl' in lines[0].detail and '/usr/sbin' in lines[0].detail

    @pytest.mark.parametrize('ran,reason', [
        (rb.Ran((), 137), 'killed'), (rb.Ran((), 139), 'killed'), (rb.Ran((), 137, seconds=60, timed_out=True), 'timeout'),
        (rb.Ran((), 126, err='openvpn: Permission denied'), 'tool-broken'), (rb.Ran((), 0, 'rubbish\n'), 'output-unknown'),
        (rb.Ran((), 1, 'rubbish\n'), 'tool-failed'), (rb.Ran((), 0), 'output-unknown')])
    def test_a_broken_openvpn(self, ran, reason):
        def answer(argv):
            return '\x00\xff garbage' if argv[1] == '--version' else ran
        status, lines = lines_of(openvpn_host(answer), ciphers=('aes-256-cbc',))
        assert (status, lines[0].status, lines[0].reason) == (rb.EXIT_FAILED, 'failed', reason)
        assert lines[0].mbit_s is None and lines[0].detail

    def test_r61_killed_in_the_middle_says_where_to_look(self):
        openvpn = FakeOpenvpn('2.6')

        def answer(argv):
            return rb.Ran(argv, 137) if '20000' in argv else openvpn(argv)
        status, lines = lines_of(openvpn_host(answer), ciphers=('aes-256-cbc',))
        assert (status, lines[0].reason) == (1, 'killed') and 'dmesg' in lines[0].detail

    def test_r61_too_little_memory(self):
        files = {'/proc/meminfo': 'MemTotal:          28096 kB\nMemFree:            2132 kB\n'
                                  'Buffers:            1204 kB\nCached:             3880 kB\n'}
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.6'), files))
        assert (status, lines[0].status, lines[0].reason) == (rb.EXIT_NOTHING, 'skipped', 'low-memory')
        assert '7216 kB' in lines[0].detail

    def test_no_room_for_the_key(self):
        host = openvpn_host(FakeOpenvpn('2.6'))

        def no_space(_name):
            raise rb.NoSpace('no directory has room')
        host.private_path = no_space
        status, lines = lines_of(host)
        assert status == rb.EXIT_FAILED and {line.reason for line in lines} == {'no-space'}

    def test_a_key_that_cannot_be_written(self):
        openvpn = FakeOpenvpn('2.6')

        def answer(argv):
            full = 'Failed to write key file: No space left on device (errno=28)\n'
            return rb.Ran(argv, 1, full) if argv[1] == '--genkey' else openvpn(argv)
        _, lines = lines_of(openvpn_host(answer, {'/tmp/private/key': ''}), ciphers=('aes-256-cbc',))
        assert lines[0].reason == 'no-space' and 'TMPDIR' in lines[0].detail

    def test_details_carry_no_control_characters(self):
        def answer(argv):
            return rb.Ran(argv, 1, '\x1b[31mevil\x07 \u202e text\n')
        _, lines = lines_of(openvpn_host(answer), ciphers=('aes-256-cbc',))
        assert not re.search(rb.CONTROL, lines[0].detail)


class Log(rb.Listener):
    def __init__(self):
        self.notes, self.left = [], []

    def note(self, text):
        self.notes.append(text)

    def progress(self, text, left):
        self.left.append(left)


class TestAnnouncement:
    def test_the_estimate_holds(self):
        for quick in (False, True):
            log = Log()
            host = openvpn_host(FakeOpenvpn('2.6', SLOW))
            lines_of(host, log, ciphers=('aes-256-cbc',), quick=quick)
            assert '1 measurement, about' in log.notes[1]
            said = [left for left in log.left if left > 0]
            assert said[0] == pytest.approx(host.elapsed, rel=0.35)
            assert said[-1] < 0.5 * said[0]

    def test_quick_is_offered_where_it_helps(self):
        log = Log()
        lines_of(openvpn_host(FakeOpenvpn('2.6', SLOW)), log, ciphers=('aes-256-cbc',))
        assert '--quick' in log.notes[1]


class TestIdle:
    @staticmethod
    def busy_host(busy_until):
        """A host whose other programs keep one processor busy until that time."""
        host = openvpn_host(FakeOpenvpn('2.6'))
        read = host.read_bytes

        def read_bytes(path, limit=1 << 18):
            if path == '/proc/stat':
                busy = min(host.elapsed, busy_until) * 100
                return ('cpu  %d 0 0 %d 0 0 0 0 0 0\n' % (busy, host.elapsed * 100 - busy)).encode()
            return read(path, limit)
        host.read_bytes = read_bytes
        return host

    def test_waits_for_it(self):
        host = self.busy_host(7)
        assert rb.wait_idle(rb.machine_of(host), 30, rb.Listener()) and 7 <= host.elapsed < 10

    def test_not_for_ever(self):
        host = self.busy_host(1e9)
        assert not rb.wait_idle(rb.machine_of(host), 30, rb.Listener()) and 30 <= host.elapsed < 33

    def test_says_so(self):
        line = lines_of(self.busy_host(1e9), ciphers=('aes-256-cbc',), wait=2.0)[1][0]
        assert 'not-idle' in line.warnings

    def test_a_system_that_does_not_tell(self):
        assert rb.wait_idle(context_of(openvpn_host(FakeOpenvpn('2.6'))).machine, 30, rb.Listener())


class TestClock:
    @staticmethod
    def clocked(clock, highest=1400000):
        host = openvpn_host(FakeOpenvpn('2.6', SLOW), {
            '/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq': str(highest),
            '/sys/devices/system/cpu/cpufreq/policy0/scaling_governor': 'ondemand\n',
            '/sys/class/thermal/thermal_zone0/temp': '61500\n'})
        read = host.read_bytes
        host.read_bytes = lambda path, limit=1 << 18: (
            b'%d\n' % clock(host.elapsed) if path.endswith('scaling_cur_freq') else read(path, limit))
        return lines_of(host, ciphers=('aes-256-cbc',))[1][0]

    def test_steady(self):
        line = self.clocked(lambda _: 1400000)
        assert not {'low-clock', 'clock-varied'} & set(line.warnings)
        assert line.extra['clock_mhz'] == [1400, 1400] and line.extra['temperature_c'] == [61.5, 61.5]
        assert line.extra['governor'] == 'ondemand'

    def test_throttled(self):
        assert 'low-clock' in self.clocked(lambda _: 600000).warnings

    def test_varying(self):
        assert 'clock-varied' in self.clocked(lambda elapsed: 1400000 if elapsed < 60 else 900000).warnings
