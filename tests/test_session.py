"""Sessions and what people read: the facts in each line, general warnings, exit statuses, the
summary, the notes of `info`."""

import json

import pytest

import routerbench as rb
from fakes import FakeHost, FakeOpenvpn, context_of, lines_of, machine_host, openvpn_host

GOOD = rb.Line(status='ok', test='openvpn', cipher='aes-256-cbc', auth='SHA1', seconds=47.46, mbit=3254.147, mbit_s=68.566,
               runs=(47.46, 47.6, 47.51), spread=0.003,
               extra={'mbit_s_3200': 67.43, 'net_mbit_s': 81.2, 'mbit_s_1420': 61.0, 'processes': 1})


class TestFacts:
    def test_stand_in_every_line(self):
        host = machine_host('mips-24kc-ar7161-1cpu-openwrt', answers={'openvpn': FakeOpenvpn('2.4m')},
                            files={'/tmp/private/key': 'a key'})
        _, lines = lines_of(host)
        assert len(lines) == 4
        for line in lines:
            assert (line.device, line.cpu, line.mhz, line.arch) == ('NETGEAR WNDR3700', 'MIPS 24Kc', 680, 'mips')
            assert line.cores == 1 and line.os.startswith('OpenWrt') and line.kernel

    def test_the_time_is_the_end_of_the_measurement(self):
        host = openvpn_host(FakeOpenvpn('2.6', {'AES-256-CBC': (0.0, 0.0, 47.46 / rb.total_bytes(20168))}))
        _, lines = lines_of(host, ciphers=('aes-256-cbc',))
        assert lines[0].time == rb.stamp(host.now())

    @pytest.mark.parametrize('wall,code', [(37.0, 'clock-unset'), (1.5e9, 'clock-unset'), (1.8e9, None)])
    def test_r59_no_time_without_a_clock(self, wall, code):
        host = openvpn_host(FakeOpenvpn('2.6'))
        host.wall = wall
        _, lines = lines_of(host, ciphers=('aes-256-cbc',))
        assert (lines[0].time is None) == (code is not None)
        assert ('clock-unset' in lines[0].warnings) == (code is not None)


class TestGeneralWarnings:
    def warnings(self, host):
        return lines_of(host, ciphers=('aes-256-cbc',))[1][0].warnings

    def test_a_plain_router_has_none(self):
        costs = {'AES-256-CBC': (0.0, 0.0, 47.46 / rb.total_bytes(20168))}
        assert self.warnings(openvpn_host(FakeOpenvpn('2.6', costs))) == ()

    def test_virtual(self):
        host = openvpn_host(FakeOpenvpn('2.6'), {'/proc/cpuinfo': 'cpu model : MIPS 24Kc V0.0  FPU V0.0\n'})
        assert 'virtual-machine' in self.warnings(host)

    def test_r50_mixed_cores(self):
        cpuinfo = ''.join('processor : %d\nCPU implementer : 0x41\nCPU part : %s\n' % core
                          for core in enumerate(['0xd03'] * 4 + ['0xd08'] * 2))
        host = openvpn_host(FakeOpenvpn('2.6'), {'/proc/cpuinfo': cpuinfo})
        assert 'mixed-cores' in self.warnings(host)

    def test_r10_cryptodev(self):
        kldstat = ' 5    1 0xffffffff82a21000     3f60 aesni.ko\n 6    1 0xffffffff82a25000     1b20 cryptodev.ko\n'
        host = FakeHost(files={'/tmp/private/key': 'a key'}, answers={
            'uname': 'FreeBSD 14.3-RELEASE amd64', 'openvpn': FakeOpenvpn('2.6'), 'kldstat': kldstat, 'kenv': '',
            'sysctl': 'hw.model=Intel(R) Atom(TM) CPU C3558 @ 2.20GHz\nhw.ncpu=4\n', 'dmesg': ''})
        assert 'cryptodev-loaded' in self.warnings(host)
        host.answers['kldstat'] = kldstat.splitlines()[0]
        assert 'cryptodev-loaded' not in self.warnings(host)


class TestExit:
    """The status says what happened to what was asked for."""

    @pytest.mark.parametrize('version,ciphers,status', [
        ('2.6', ('aes-256-cbc',), rb.EXIT_OK), ('2.6', ('aes-256-cbc', 'foo'), rb.EXIT_FAILED),
        ('2.6', ('foo',), rb.EXIT_NOTHING), ('2.3', (), rb.EXIT_OK)])
    def test_status(self, version, ciphers, status):
        assert lines_of(openvpn_host(FakeOpenvpn(version)), ciphers=ciphers)[0] == status

    def test_without_names_what_is_usual_here(self):
        status, lines = lines_of(openvpn_host(FakeOpenvpn('2.6')), tests=())
        assert status == rb.EXIT_OK and {line.test for line in lines} == {'openvpn'}


class TestJson:
    def test_keys_in_order(self):
        assert list(json.loads(rb.line_json(GOOD))) == list(rb.Line._fields)

    def test_no_nan(self):
        with pytest.raises(ValueError):
            rb.line_json(GOOD._replace(mbit_s=float('nan')))

    def test_one_line(self):
        assert '\n' not in rb.line_json(GOOD._replace(detail='two\nlines'))


class TestSummary:
    FACTS = rb.Facts(device='PF-1120A', cpu='Intel Atom D525', mhz=1800.0, cores=4, os='pfSense 2.7.2-RELEASE')

    def test_says_what_counts(self):
        text = rb.summary(self.FACTS, [GOOD])
        for words in ('PF-1120A (Intel Atom D525, 1800 MHz, 4 cores), pfSense 2.7.2-RELEASE', 'AES-256-CBC + SHA1', '68.57',
                      '67.43', '81.20', '61.00', '0.3 %', 'at most about 61.00 Mbit/s', 'one core'):
            assert words in text

    def test_columns_are_aligned(self):
        wide = GOOD._replace(cipher='chacha20-poly1305', auth=None, mbit_s=17011.996)
        rows = rb.result_table([GOOD, wide]).splitlines()
        assert len({len(row) for row in rows}) == 1

    def test_r12_processes_are_named(self):
        text = rb.summary(self.FACTS, [GOOD._replace(extra=dict(GOOD.extra, processes=4))])
        assert '4 OpenVPN processes together' in text and 'one core' not in text

    def test_what_failed_and_why(self):
        failed = GOOD._replace(status='failed', reason='killed', detail='openvpn was ended by signal 9', mbit_s=None)
        text = rb.summary(self.FACTS, [failed])
        assert 'AES-256-CBC + SHA1 failed: openvpn was ended by signal 9' in text and 'Mbit/s with it' not in text

    def test_each_warning_once_with_its_meaning(self):
        text = rb.summary(self.FACTS, [GOOD._replace(warnings=('unstable', 'estimated')), GOOD._replace(warnings=('unstable',))])
        assert text.count('  unstable: ' + rb.WARNINGS['unstable']) == 1 and text.count('  estimated: ') == 1

    def test_none_alone_gives_no_advice(self):
        assert 'Fastest' not in rb.summary(self.FACTS, [GOOD._replace(cipher='none', auth='none')])

    @pytest.mark.parametrize('value,text', [(None, '-'), (4.849, '4.85'), (67.43, '67.43'), (395.04, '395.0'), (8606.4, '8606')])
    def test_figures(self, value, text):
        assert rb.figure(value) == text

    def test_an_unknown_machine(self):
        assert rb.machine_title(rb.Facts()) == 'an unnamed device (unknown processor, clock unknown), unknown system'


class TestInfo:
    def test_r58_what_is_in_memory(self):
        for mounts in ('tmpfs on /tmp type tmpfs (rw,nosuid,nodev,noatime)\n', '/dev/md0 on /var/log (ufs, local, soft-updates)\n'):
            host = openvpn_host(FakeOpenvpn('2.6'), mount=mounts)
            assert any('lost at a reboot' in note for note in rb.notes_on(host, rb.Facts(device='x', mhz=1.0)))

    def test_r59_an_unset_clock(self):
        host = openvpn_host(FakeOpenvpn('2.6'))
        host.wall = 37.0
        assert any('1970-01-01' in note for note in rb.notes_on(host, rb.Facts()))

    def test_what_options_would_help(self):
        notes = ' '.join(rb.notes_on(openvpn_host(FakeOpenvpn('2.6')), rb.Facts(mixed_cores=True)))
        assert '--mhz' in notes and '--device' in notes and 'taskset' in notes

    def test_text(self):
        text = rb.info_text(rb.Facts(cpu='MIPS 24Kc', mhz=680.0, mhz_source='kernel log', arch='mips', byte_order='big'),
                            [{'test': 'openvpn', 'ready': False, 'with': None, 'detail': 'install it'}], ['A note.'])
        assert '680 MHz (kernel log)' in text and 'mips, big-endian' in text and 'openvpn: install it' in text and 'A note.' in text
        assert 'device            not known' in text and 'governor' not in text


class TestTerminal:
    """Off a terminal: a sentence now and then, so that nobody waits before a silent screen."""

    @pytest.fixture
    def said(self, monkeypatch):
        texts = []
        monkeypatch.setattr(rb, 'write_out', lambda stream, text: texts.append(text))
        monkeypatch.setattr(rb.os, 'isatty', lambda stream: False)
        return texts

    def test_long_waits_are_told(self, said):
        clock = [0.0]
        terminal = rb.Terminal({}, lambda: clock[0])
        for clock[0] in range(0, 300):
            terminal.progress('AES-256-CBC + SHA1', 600 - clock[0])
        assert said[0] == '  AES-256-CBC + SHA1: about 10 min left\n' and len(said) == 5
        assert not any('\x1b' in text or '\r' in text for text in said)

    def test_short_ones_are_not(self, said):
        terminal = rb.Terminal({}, lambda: 0.0)
        terminal.progress('AES-256-CBC + SHA1', 15)
        assert said == []
