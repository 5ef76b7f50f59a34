"""Every parser, fed with what machines and tools really print, and with what none should."""

import random
import time

import pytest

import routerbench as rb
from routerbench import CpuInfo, Ticks, Times


def cpuinfo(**keys):
    """A parsed /proc/cpuinfo of one processor; blanks in a key are written as underscores."""
    return rb.parse_cpuinfo('processor\t: 0\n' + ''.join(
        '%s\t: %s\n' % (key if key == 'vendor_id' else key.replace('_', ' '), value) for key, value in keys.items()))


def arm(implementer, part, **keys):
    """The same of an ARM core."""
    keys.update(CPU_implementer=implementer, CPU_part=part)
    return cpuinfo(**keys)


# --- text ---------------------------------------------------------------------------------------

class TestPlain:
    @pytest.mark.parametrize('text, expected', [
        ('TP-Link TL-WDR4900 v1', 'TP-Link TL-WDR4900 v1'),
        ('  a \t b\r\n', 'a b'),
        ('rev\n2', 'rev 2'),
        ('Raspberry Pi 5 Model B Rev 1.0\0', 'Raspberry Pi 5 Model B Rev 1.0'),
        ('a\x1b[31mred\x1b[0m', 'a [31mred [0m'),
        ('\x1b]0;title\x07x', ']0;title x'),
        ('a\x9b2Jb\x85c', 'a 2Jb c'),
        ('a\u202egnp.exe\u202c', 'a gnp.exe'),
        ('a\u2066b\u2069\u200bc\ufeff', 'a b c'),
        ('a\u2028b\u2029c', 'a b c'),
        ('\ufffd\ufffdname', 'name'),
        ('Zürich 路由器', 'Zürich 路由器'),
        ('\x00\x01\x02', ''), ('', '')])
    def test_one_harmless_line(self, text, expected):
        assert rb.plain(text) == expected

    def test_length(self):
        assert rb.plain('x' * 10000) == 'x' * 120
        assert rb.plain('ab ' * 10000, 6) == 'ab ab'
        assert len(rb.plain('\x1b[1m' * 10000)) <= 120


class TestSpoken:
    @pytest.mark.parametrize('seconds, expected', [
        (0, 'a second'), (0.4, 'a second'), (1, '1 s'), (45.2, '45 s'), (60, '1 min 00 s'), (66, '1 min 10 s'),
        (200, '3 min 20 s'), (570, '10 min'), (1200, '20 min'), (3569, '59 min'), (3600, '1 h 00 min'),
        (7500, '2 h 05 min'), (86400, '24 h 00 min')])
    def test_as_one_would_say_it(self, seconds, expected):
        assert rb.spoken(seconds) == expected


class TestTellingLine:
    @pytest.mark.parametrize('text, expected', [
        ('2026-01-02 03:04:05 DEPRECATED OPTION: The option --secret is deprecated.\n'
         '2026-01-02 03:04:05 Cipher BF-CBC not supported\n'
         '2026-01-02 03:04:05 Exiting due to fatal error\n', 'Cipher BF-CBC not supported'),
        ("Sun Jan  4 10:00:00 2026 Cipher 'AES-256-GCM' mode not supported\n", "Cipher 'AES-256-GCM' mode not supported"),
        ('Options error: You must define key file (--secret)\nUse --help for more information.\n',
         'Options error: You must define key file (--secret)'),
        ('2026-01-02 03:04:05 DEPRECATED OPTION: The option --secret is deprecated.\n'
         "2026-01-02 03:04:05 WARNING: cannot stat file 'none': No such file or directory (errno=2)\n"
         "Options error: --secret fails with 'none': No such file or directory (errno=2)\n"
         'Options error: Please correct these errors.\nUse --help for more information.\n',
         "Options error: --secret fails with 'none': No such file or directory (errno=2)"),
        ('DEPRECATED OPTION: The option --secret is deprecated.\n'
         'DEPRECATION: No tls-client or tls-server option in configuration detected.\n'
         'Use --help for more information.\n',
         'DEPRECATION: No tls-client or tls-server option in configuration detected.'),
        ('Use --help for more information.\n', 'Use --help for more information.'),
        ('ash: openvpn: not found\n', 'ash: openvpn: not found'),
        ('\x1b[31mboom\x1b[0m\x07\n\n', '[31mboom [0m'),
        ('', 'it said nothing'), ('\n \n', 'it said nothing')])
    def test_says_most(self, text, expected):
        assert rb.telling_line(text) == expected

    def test_is_short(self):
        assert len(rb.telling_line('y' * 10000)) <= 160


# --- time ---------------------------------------------------------------------------------------

class TestParseClock:
    @pytest.mark.parametrize('text, seconds', [
        ('47.46', 47.46), ('47,46', 47.46), ('0m14.20s', 14.2), ('0m 14.20s', 14.2), ('2m44.800s', 164.8),
        ('2m 44.80s', 164.8), ('1h2m3s', 3723), ('1h 2m 44s', 3764), ('2:44.80', 164.8), ('1:02:44.8', 3764.8),
        ('1:02:03', 3723), ('0:47.46', 47.46), ('90s', 90), ('5m', 300), ('2h', 7200), ('3min', 180), ('0', 0),
        (' 57m45s ', 3465), ('00m00.56s', 0.56)])
    def test_amounts(self, text, seconds):
        assert rb.parse_clock(text) == pytest.approx(seconds)

    @pytest.mark.parametrize('text', [
        '', ' ', 's', 'm', ':', '1:', ':1', '1::2', '-5', '+5', '1e3', 'nan', 'inf', '1.2.3', '1,2,3', '0x10', '5 apples',
        '1d', '47.46.', '2026-01-02 03:04:05', '5s 3m', '.5'])
    def test_anything_else_is_an_error(self, text):
        with pytest.raises(ValueError):
            rb.parse_clock(text)

    def test_the_message_is_harmless(self):
        with pytest.raises(ValueError) as caught:
            rb.parse_clock('\x1b[2J' + 'z' * 5000)
        assert len(str(caught.value)) < 80 and '\x1b' not in str(caught.value)


DEPRECATED = '2026-01-02 03:04:05 DEPRECATED OPTION: The option --secret is deprecated.\n'
CAPTURED_TIMES = {
    'bash': (DEPRECATED + '\nreal\t0m0.605s\nuser\t0m0.548s\nsys\t0m0.008s\n', (0.605, 0.548, 0.008)),
    'bash -p': (DEPRECATED + 'real 0.50\nuser 0.48\nsys 0.01\n', (0.5, 0.48, 0.01)),
    'busybox': (DEPRECATED + 'real\t0m 0.55s\nuser\t0m 0.55s\nsys\t0m 0.00s\n', (0.55, 0.55, 0.0)),
    'busybox with dd': ('200+0 records in\n200+0 records out\nreal\t0m 14.20s\nuser\t0m 0.05s\nsys\t0m 13.90s\n',
                        (14.2, 0.05, 13.9)),
    'busybox -p': (DEPRECATED + 'real 0.55\nuser 0.54\nsys 0.00\n', (0.55, 0.54, 0.0)),
    'GNU': (DEPRECATED + '0.54user 0.00system 0:00.55elapsed 99%CPU (0avgtext+0avgdata 8304maxresident)k\n'
            '0inputs+0outputs (0major+509minor)pagefaults 0swaps\n', (0.55, 0.54, 0.0)),
    'GNU -p': ('real 0.30\nuser 0.00\nsys 0.00\n', (0.3, 0.0, 0.0)),
    'mksh': (DEPRECATED + '    0m00.56s real     0m00.55s user     0m00.00s system\n', (0.56, 0.55, 0.0)),
    'tcsh': (DEPRECATED + '0.551u 0.000s 0:00.56 98.2%\t0+0k 0+0io 0pf+0w\n', (0.56, 0.551, 0.0)),
    'csh of FreeBSD': ('47.33u 0.06s 0:47.46 99.8%\t5+167k 0+0io 0pf+0w\n', (47.46, 47.33, 0.06)),
    'zsh': (DEPRECATED + 'openvpn --test-crypto --secret /tmp/secret --verb 0 --tun-mtu 20000 --cipher   '
            '0.54s user 0.01s system 96% cpu 0.573 total\n', (0.573, 0.54, 0.01)),
    'FreeBSD': ('       47.46 real        47.33 user         0.06 sys\n', (47.46, 47.33, 0.06)),
}
REPORTED_TIMES = {
    # minutes and hours that were dropped
    'bash, minutes': ('real\t2m44.800s\nuser\t2m41.200s\nsys\t0m1.300s\n', (164.8, 161.2, 1.3)),
    'busybox, minutes': ('real\t2m 44.80s\nuser\t2m 41.20s\nsys\t0m 1.30s\n', (164.8, 161.2, 1.3)),
    'busybox, hours': ('real\t1h 2m 44s\nuser\t1h 2m 40s\nsys\t0m 1.30s\n', (3764, 3760, 1.3)),
    'FreeBSD, minutes': ('      164.80 real       161.20 user         1.30 sys\n', (164.8, 161.2, 1.3)),
    'FreeBSD -h': ('\t2m44.80s real\t\t2m41.20s user\t\t1.30s sys\n', (164.8, 161.2, 1.3)),
    'FreeBSD -l': ('      164.80 real       161.20 user         1.30 sys\n      8304  maximum resident set size\n'
                   '         4  average shared memory size\n', (164.8, 161.2, 1.3)),
    '-p, minutes': ('real 164.80\nuser 161.20\nsys 1.30\n', (164.8, 161.2, 1.3)),
    'GNU, minutes': ('161.20user 1.30system 2:44.80elapsed 98%CPU (0avgtext+0avgdata 0maxresident)k\n', (164.8, 161.2, 1.3)),
    'GNU, hours': ('3700.10user 1.30system 1:02:44elapsed 98%CPU (0avgtext+0avgdata 0maxresident)k\n', (3764, 3700.1, 1.3)),
    'tcsh, minutes': ('161.2u 1.3s 2:44.80 98.6% 0+0k 0+0io 0pf+0w\n', (164.8, 161.2, 1.3)),
    'tcsh, hours': ('3700.1u 1.3s 1:02:03 98.6% 0+0k 0+0io 0pf+0w\n', (3723, 3700.1, 1.3)),
    'tcsh, hours and tenths': ('3700.1u 1.3s 1:02:44.8 98.6% 0+0k 0+0io 0pf+0w\n', (3764.8, 3700.1, 1.3)),
    'zsh, minutes': ('dd  161.20s user 1.30s system 98% cpu 2:44.80 total\n', (164.8, 161.2, 1.3)),
    'zsh, hours': ('dd  3700.10s user 1.30s system 98% cpu 1:02:44.80 total\n', (3764.8, 3700.1, 1.3)),
    'mksh, minutes': ('    2m44.80s real     2m41.20s user     0m01.30s system\n', (164.8, 161.2, 1.3)),
    'nearly an hour': ('real\t57m45.000s\nuser\t57m0.000s\nsys\t0m1.000s\n', (3465, 3420, 1.0)),
    # decimal commas
    'FreeBSD, comma': ('47,46 real        47,33 user         0,06 sys\n', (47.46, 47.33, 0.06)),
    'bash, comma': ('real\t0m47,460s\nuser\t0m47,330s\nsys\t0m0,060s\n', (47.46, 47.33, 0.06)),
    'GNU, comma': ('47,33user 0,06system 0:47,46elapsed 99%CPU\n', (47.46, 47.33, 0.06)),
    'zsh, comma': ('openvpn  47,33s user 0,06s system 99% cpu 47,460 total\n', (47.46, 47.33, 0.06)),
    # as they stand in forums and posts
    'a capital': ('Real 0m19.924s\nuser 0m19.858s\nsys 0m0.062s\n', (19.924, 19.858, 0.062)),
    'blanks for tabs': ('real    0m24.000s\nuser    0m23.910s\nsys     0m0.016s\n', (24.0, 23.91, 0.016)),
    'line ends of Windows': ('real\t0m 14.20s\r\nuser\t0m 0.05s\r\nsys\t0m 13.90s\r\n', (14.2, 0.05, 13.9)),
    'the first line only': ('real\t0m 14.20s\n', (14.2, None, None)),
    'an offload engine': ('real\t0m 58.20s\nuser\t0m 1.10s\nsys\t0m 44.70s', (58.2, 1.1, 44.7)),
    'a fast machine': ('        0.59 real         0.53 user         0.01 sys', (0.59, 0.53, 0.01)),
    # among other output
    'a log line of 2.4': ('Sat Jan  3 04:05:06 2026 disabling NCP mode (--ncp-disable) because not in P2MP client or server mode\n'
                          '\nreal    0m24.000s\nuser    0m23.910s\nsys     0m0.016s\n', (24.0, 23.91, 0.016)),
    'a warning of dbclient': ('WARNING: Ignoring unknown option -2\nreal\t0m 28.20s\nuser\t0m 0.05s\nsys\t0m 2.90s', (28.2, 0.05, 2.9)),
    'a banner': ('*** real hardware lab 47.5 ***\n__BEGIN__\nreal\t0m 14.20s\n__END__\n', (14.2, None, None)),
    'the last of two': ('real\t0m 9.00s\nuser\t0m 8.00s\nsys\t0m 1.00s\n'
                        '       47.46 real        47.33 user         0.06 sys\n', (47.46, 47.33, 0.06)),
}
NO_TIMES = {
    'nothing': '',
    'zero': 'real    0m 0.00s\nuser    0m 0.00s\nsys     0m 0.00s',
    'zero of FreeBSD': '        0.00 real         0.00 user         0.00 sys\n',
    'no time at all': '/bin/sh: 1: time: not found\n',
    'the builtin times': '0m0.000000s 0m0.000000s\n0m0.010000s 0m0.020000s\n',
    'log stamps': DEPRECATED + '2026-01-02 03:04:05 Cipher BF-CBC not supported\nSat Jan  3 04:05:06 2026 real work\n',
    'a stamp in machine format': '1796032962.075503 1 OpenVPN crypto self-test mode SUCCEEDED.\n',
    'a banner': '*** real hardware lab 47.5 ***\n',
    'dd': '200+0 records in\n200+0 records out\n100000000 bytes (100 MB, 95 MiB) copied, 14.2 s, 7.0 MB/s\n',
    'dd of FreeBSD': '100000000 bytes transferred in 14.203311 secs (7040612 bytes/sec)\n',
    'a failed command': "bash: openvpn: command not found\n",
    'words': 'real\tsoon\nuser\tunknown\nsys\tnone\n',
    'a date': 'real 2026-01-02 03:04:05\n',
    'half a line': '47.46 real        47.33 us',
    'user and sys alone': 'user\t0m 0.05s\nsys\t0m 13.90s\n',
}


class TestParseTime:
    @pytest.mark.parametrize('name', sorted(CAPTURED_TIMES))
    def test_captured(self, name):
        text, expected = CAPTURED_TIMES[name]
        assert rb.parse_time(text) == Times(*expected)

    @pytest.mark.parametrize('name', sorted(REPORTED_TIMES))
    def test_reported(self, name):
        text, expected = REPORTED_TIMES[name]
        assert tuple(rb.parse_time(text)) == pytest.approx(expected)

    @pytest.mark.parametrize('name', sorted(NO_TIMES))
    def test_no_time(self, name):
        assert rb.parse_time(NO_TIMES[name]) is None

    @pytest.mark.parametrize('name', sorted(CAPTURED_TIMES))
    def test_stamps_and_banners_around_it_change_nothing(self, name):
        text, expected = CAPTURED_TIMES[name]
        noise = ('Sat Jan  3 04:05:06 2026 disabling NCP mode\n2026-01-02 03:04:05 23.5 done\nuptime 3:04, load 0.10 0.20\n'
                 '*** 12.5 real men 100% ***\n')
        assert rb.parse_time(noise + text + noise) == Times(*expected)


# --- files of settings --------------------------------------------------------------------------

class TestParseAssignments:
    def test_openwrt_release(self):
        found = rb.parse_assignments("DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='18.06.1'\nDISTRIB_REVISION='r7258-5eb055306f'\n"
                                     "DISTRIB_ARCH='mips_24kc'\nDISTRIB_TAINTS=''\n")
        assert found == {'DISTRIB_ID': 'OpenWrt', 'DISTRIB_RELEASE': '18.06.1', 'DISTRIB_REVISION': 'r7258-5eb055306f',
                         'DISTRIB_ARCH': 'mips_24kc', 'DISTRIB_TAINTS': ''}

    def test_os_release(self):
        found = rb.parse_assignments('# a comment=1\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n\n')
        assert found == {'NAME': 'Debian GNU/Linux', 'VERSION_ID': '12', 'ID': 'debian'}

    def test_sysctl(self):
        found = rb.parse_assignments('hw.model=Intel(R) Xeon(R) CPU           X5675  @ 3.07GHz\n'
                                     'kern.clockrate={ hz = 1000, tick = 1000, profhz = 8126, stathz = 127 }\n')
        assert found['hw.model'].endswith('X5675  @ 3.07GHz')
        assert found['kern.clockrate'] == '{ hz = 1000, tick = 1000, profhz = 8126, stathz = 127 }'

    def test_kenv(self):
        found = rb.parse_assignments('smbios.bios.vendor="Bochs"\nsmbios.system.product="ipaddr=192.0.2.11/24;gateway=192.0.2.1"\n')
        assert found['smbios.system.product'] == 'ipaddr=192.0.2.11/24;gateway=192.0.2.1'

    @pytest.mark.parametrize('text', ['', 'no equals sign', '=value', '#KEY=value', '\n\n'])
    def test_no_assignment(self, text):
        assert rb.parse_assignments(text) == {}

    @pytest.mark.parametrize('value, expected', [('"', '"'), ("'a", "'a"), ('"a\'', '"a\''), ('"a"b"', 'a"b'), ('""', '')])
    def test_quotes(self, value, expected):
        assert rb.parse_assignments('K=' + value) == {'K': expected}


class TestParseMeminfo:
    OLD = 'MemTotal:          28096 kB\nMemFree:            2132 kB\nBuffers:            1204 kB\nCached:             3880 kB\n'

    def test_kilobytes(self):
        assert rb.parse_meminfo(self.OLD) == {'MemTotal': 28096, 'MemFree': 2132, 'Buffers': 1204, 'Cached': 3880}

    def test_other_lines(self):
        text = 'MemTotal:         996356 kB\nActive(anon):        512 kB\nHugePages_Total:       0\nnonsense\nMem: x kB\n'
        assert rb.parse_meminfo(text) == {'MemTotal': 996356, 'HugePages_Total': 0}

    def test_nothing(self):
        assert rb.parse_meminfo('') == {}


class TestAvailableKb:
    @pytest.mark.parametrize('memory, expected', [
        (rb.parse_meminfo(TestParseMeminfo.OLD), 7216),  # no MemAvailable before Linux 3.14
        ({'MemFree': 10, 'MemAvailable': 5, 'Cached': 7}, 5), ({'MemAvailable': 0, 'MemFree': 9}, 0),
        ({'MemFree': 10}, 10), ({'MemTotal': 28096}, None), ({}, None)])
    def test_what_a_program_can_get(self, memory, expected):
        assert rb.available_kb(memory) == expected


class TestParseTicks:
    def test_linux(self):
        text = 'cpu  4705 150 1120 16250 520 0 30 200 900 0\ncpu0 4000 150 1120 250 520 0 30 200 900 0\ncpu1 705 0 0 16000 0 0 0 0 0 0\nintr 114930\n'
        assert rb.parse_ticks(text, 100.0) == Ticks(pytest.approx(62.05), pytest.approx(167.7), (pytest.approx(55.0), pytest.approx(7.05)))

    def test_four_numbers_of_linux_24(self):
        assert rb.parse_ticks('cpu  100 0 50 850\n', 100.0) == Ticks(1.5, 8.5)

    def test_the_line_stands_anywhere(self):
        assert rb.parse_ticks('page 1 2\ncpu  100 0 50 850\n', 100.0) == Ticks(1.5, 8.5)

    @pytest.mark.parametrize('text', [
        '', 'cpu\n', 'cpu  1 2 3\n', 'cpu0 1 2 3 4\n', 'intr 5\n', 'cpu  a b c d e\n', 'cpu\ncpu0 1 2 3 4 5\n',
        'cpu  1 2 3 -4 x\n'])
    def test_no_ticks(self, text):
        assert rb.parse_ticks(text, 100.0) is None


class TestParseCpuList:
    @pytest.mark.parametrize('text, expected', [
        ('0', 1), ('0-3\n', 4), ('0-3,5', 5), ('0,2-3,8-11', 7), ('', None), ('\n', None), ('none', None), ('3-1', None)])
    def test_processors(self, text, expected):
        assert rb.parse_cpu_list(text) == expected


class TestMemoryDisks:
    @pytest.mark.parametrize('mounts, expected', [
        ('/dev/root on /rom type squashfs (ro,relatime)\ntmpfs on /tmp type tmpfs (rw,nosuid,nodev,noatime)\n', ['/tmp']),
        ('/dev/md0 on /var/log (ufs, local, soft-updates)\n', ['/var/log']),
        ('/dev/ada0p3 on / (ufs, local)\n/dev/md43 on /tmp (ufs, local)\ntmpfs on /var (tmpfs, local)\n', ['/tmp', '/var']),
        ('none on /var type ramfs (rw)\nproc on /proc type proc (rw)\n', ['/var']),
        ('/dev/sda1 on / type ext4 (rw)\n', []), ('', []), ('tmpfs\ntmpfs on\n', [])])
    def test_mount_points_in_memory(self, mounts, expected):
        assert rb.memory_disks(mounts) == expected


# --- processors ---------------------------------------------------------------------------------

class TestParseCpuinfo:
    def test_mips(self):
        info = rb.parse_cpuinfo(
            'system type\t\t: Atheros AR7242 rev 1\nmachine\t\t\t: Example BHR-4\nprocessor\t\t: 0\n'
            'cpu model\t\t: MIPS 24Kc V7.4\nBogoMIPS\t\t: 265.42\n')
        assert info == CpuInfo(1, {'system type': 'Atheros AR7242 rev 1', 'machine': 'Example BHR-4',
                                   'cpu model': 'MIPS 24Kc V7.4', 'bogomips': '265.42'})

    def test_columns_made_of_blanks_and_a_wrapped_line(self):
        info = rb.parse_cpuinfo(
            'system type             : Qualcomm Atheros QCA9558 rev 0\nprocessor               : 0\n'
            'hardware watchpoint     : yes, count: 4, address/irw mask: [0x0000, 0x0ff8, 0x0f\nf8, 0x0ff8]\n')
        assert info.processors == 1
        assert info.first['hardware watchpoint'] == 'yes, count: 4, address/irw mask: [0x0000, 0x0ff8, 0x0f'

    def test_the_name_where_the_number_belongs(self):
        info = rb.parse_cpuinfo('Processor       : ARMv6-compatible processor rev 5 (v6l)\nprocessor       : 0\nBogoMIPS        : 279.34\n'
                                '\nprocessor       : 1\nBogoMIPS        : 279.34\n\nCPU implementer : 0x41\nCPU part        : 0xb02\n')
        assert info.processors == 2
        assert info.first['processor name'] == 'ARMv6-compatible processor rev 5 (v6l)'
        assert info.parts == (('0x41', '0xb02'),)

    def test_no_number_at_all(self):
        info = rb.parse_cpuinfo('Processor   : Feroceon 88FR131 rev 1 (v5l)\nCPU implementer : 0x56\nCPU part        : 0x131\n')
        assert info.processors == 0 and info.parts == (('0x56', '0x131'),)

    def test_kinds_of_cores_in_their_order(self):
        text = ''.join('processor\t: %d\nCPU implementer\t: 0x41\nCPU part\t: %s\n\n' % (number, part)
                       for number, part in enumerate(['0xd03'] * 4 + ['0xd08'] * 2))
        info = rb.parse_cpuinfo(text)
        assert info.processors == 6
        assert info.parts == (('0x41', '0xd03'), ('0x41', '0xd08'))

    def test_the_first_value_counts(self):
        assert rb.parse_cpuinfo('cpu MHz : 1\ncpu MHz : 2\n').first == {'cpu mhz': '1'}

    @pytest.mark.parametrize('text', ['', '\n\n', 'no colon here'])
    def test_nothing(self, text):
        assert rb.parse_cpuinfo(text) == CpuInfo(0, {})


class TestCpuLabel:
    @pytest.mark.parametrize('info, expected', [
        (arm('0x41', '0xc07', model_name='ARMv7 Processor rev 5 (v7l)'), 'ARM Cortex-A7'),
        (arm('0x41', '0xd03', model_name='ARMv8 Processor rev 4 (v8l)'), 'ARM Cortex-A53'),
        (arm('0x41', '0xd09'), 'ARM Cortex-A73'),
        (arm('0x42', '0x100'), 'Broadcom B53'),
        (arm('0x51', '0x04d', Processor='ARMv7 Processor rev 0 (v7l)'), 'Qualcomm Krait'),
        (arm('0x56', '0x581', Processor='Marvell PJ4Bv7 Processor rev 1 (v7l)'), 'Marvell PJ4B'),
        (arm('0x56', '0x131', Processor='Feroceon 88FR131 rev 1 (v5l)'), 'Marvell Feroceon 88FR131'),
        (arm('0x70', '0x663', model_name='Phytium,D2000/8'), 'Phytium D2000/8'),
        (arm('0x41', '0xfff'), None), (arm('0x99', '0xd03'), None)])
    def test_arm(self, info, expected):
        assert rb.cpu_label(info) == expected

    @pytest.mark.parametrize('info, core', [  # since Linux 3.8 the same names stand in `model name`
        (arm('0x56', '0x131', model_name='Feroceon 88FR131 rev 1 (v5l)'), 'Feroceon 88FR131'),
        (arm('0x56', '0x581', model_name='Marvell PJ4Bv7 Processor rev 1 (v7l)'), 'Marvell PJ4B'),
        (arm('0x41', '0x926', model_name='ARM926EJ-S rev 5 (v5l)'), 'ARM926EJ-S'),
        (arm('0x69', '0x41f', model_name='XScale-IXP42x Family rev 1 (v5b)'), 'XScale-IXP42x')])
    def test_arm_without_its_revision(self, info, core):
        label = rb.cpu_label(info)
        assert core in label
        assert ' rev ' not in label and 'Processor' not in label and '(v' not in label

    def test_arm_of_two_kinds(self):
        info = rb.parse_cpuinfo('CPU implementer : 0x41\nCPU part : 0xd03\n\nCPU implementer : 0x41\nCPU part : 0xd08\n')
        assert rb.cpu_label(info) == 'ARM Cortex-A53 + Cortex-A72'

    @pytest.mark.parametrize('name, expected', [
        ('MIPS 24Kc V7.4', 'MIPS 24Kc'), ('MIPS 74Kc V4.12', 'MIPS 74Kc'), ('MIPS 1004Kc V2.15', 'MIPS 1004Kc'),
        ('MIPS 34Kc V0.0  FPU V0.0', 'MIPS 34Kc'), ('MIPS P5600 V3.0  FPU V2.0', 'MIPS P5600'),
        ('Broadcom BCM3302 V0.6', 'Broadcom BCM3302'), ('BCM4710 V0.0', 'BCM4710'),
        ('Broadcom BMIPS3300 V3.3', 'Broadcom BMIPS3300'), ('Cavium Octeon+ V0.1', 'Cavium Octeon+'),
        ('Cavium Octeon III V0.2  FPU V0.0', 'Cavium Octeon III'),
        ('R3000 V0.0', None)])  # Realtek's Lexra says so
    def test_mips(self, name, expected):
        assert rb.cpu_label(cpuinfo(cpu_model=name)) == expected

    @pytest.mark.parametrize('model, name, expected', [
        ('Loongson-3 V0.5  FPU V0.1', 'Loongson-3A R1 (Loongson-3A1000) @ 900MHz', 'Loongson-3A1000'),
        ('ICT Loongson-3 V0.13  FPU V0.1', 'ICT Loongson-3A R3 (Loongson-3A3000) @ 1449MHz', 'Loongson-3A3000')])
    def test_loongson(self, model, name, expected):
        assert rb.cpu_label(cpuinfo(cpu_model=model, model_name=name)) == expected

    @pytest.mark.parametrize('name, revision, expected', [
        ('e500v2', '5.1 (pvr 8021 1051)', 'PPC e500v2'), ('740/750', '3.1 (pvr 0008 0301)', 'PPC 740/750'),
        ('POWER7 (architected), altivec supported', '2.1 (pvr 003f 0201)', 'POWER7'),
        ('POWER8NVL (raw), altivec supported', '1.0 (pvr 004c 0100)', 'POWER8NVL'),
        ('POWER9, altivec supported', '2.2 (pvr 004e 1202)', 'POWER9')])
    def test_ppc(self, name, revision, expected):
        assert rb.cpu_label(cpuinfo(cpu=name, revision=revision)) == expected

    def test_sparc(self):
        info = rb.parse_cpuinfo('cpu\t\t: TI UltraSparc II  (BlackBird)\nfpu\t\t: UltraSparc II integrated FPU\n')
        assert rb.cpu_label(info) == 'TI UltraSparc II (BlackBird)'

    @pytest.mark.parametrize('info, expected', [
        (cpuinfo(uarch='sifive,u74-mc'), 'SiFive U74-MC'), (cpuinfo(uarch='thead,c906'), 'T-Head C906'),
        (cpuinfo(uarch='spacemit,x60', model_name='Spacemit(R) X60'), 'Spacemit X60')])
    def test_riscv(self, info, expected):
        assert rb.cpu_label(info) == expected

    @pytest.mark.parametrize('name, expected', [
        ('Intel(R) Atom(TM) CPU D525   @ 1.80GHz', 'Intel Atom D525'),
        ('Intel(R) Atom(TM) CPU  C2758  @ 2.40GHz', 'Intel Atom C2758'),
        ('Intel(R) Celeron(R) CPU G1620 @ 2.70GHz', 'Intel Celeron G1620'),
        ('      Intel(R) Celeron(R) CPU  J3160  @ 1.60GHz', 'Intel Celeron J3160'),
        ('Intel(R) Xeon(R) CPU           X5675  @ 3.07GHz', 'Intel Xeon X5675'),
        ('13th Gen Intel(R) Core(TM) i3-13100T', 'Intel Core i3-13100T'),
        ('Intel(R) N100', 'Intel N100'),
        ('AMD GX-412TC SOC                               ', 'AMD GX-412TC SOC'),
        ('AMD G-T40E Processor', 'AMD G-T40E'),
        ('AMD Ryzen 7 2700X Eight-Core Processor         ', 'AMD Ryzen 7 2700X'),
        ('AMD EPYC 3201 8-Core Processor                 ', 'AMD EPYC 3201'),
        ('VIA Esther processor 1000MHz', 'VIA Esther'), ('VIA Nano U3500@1000MHz', 'VIA Nano U3500'),
        ('Intel(R) Pentium(R) 4 CPU 3.00GHz', 'Intel Pentium 4'),
        ('Intel(R) Celeron(R) M processor         1.00GHz', 'Intel Celeron M')])
    def test_x86(self, name, expected):
        assert rb.cpu_label(cpuinfo(vendor_id='x', model_name=name)) == expected

    def test_loongarch(self):
        assert rb.cpu_label(rb.parse_cpuinfo('Model Name\t\t: Loongson-3A5000-HV\n')) == 'Loongson-3A5000-HV'

    @pytest.mark.parametrize('info', [
        CpuInfo(0, {}), cpuinfo(bogomips='1'), cpuinfo(cpu_model='\x07'), cpuinfo(cpu='(raw)'), cpuinfo(model_name='@ 2 GHz'),
        cpuinfo(model_name='')])
    def test_unknown_is_none(self, info):
        assert rb.cpu_label(info) is None

    def test_harmless(self):
        for key in ('cpu model', 'cpu', 'uarch', 'model name'):
            label = rb.cpu_label(CpuInfo(1, {key: 'a\x1b[2J\u202eb' + 'c' * 10000}))
            assert len(label) <= 60 and '\x1b' not in label and '\u202e' not in label


class TestNameMhz:
    @pytest.mark.parametrize('name, expected', [
        ('Intel(R) Atom(TM) CPU D525   @ 1.80GHz', 1800), ('VIA Nano U3500@1000MHz', 1000),
        ('VIA Esther processor 1000MHz', 1000), ('ICT Loongson-3A R3 (Loongson-3A3000) @ 1449MHz', 1449),
        ('Feroceon 88F6281 rev 1 (v5l) @ 1.2 GHz', 1200), ('Intel(R) Pentium(R) 4 CPU 3.00GHz', 3000),
        ('AMD GX-412TC SOC', None), ('Intel(R) N100', None), ('', None), ('ARMv7 Processor rev 5 (v7l)', None),
        ('MHz', None), ('GHz 3', None)])
    def test_clock(self, name, expected):
        found = rb.name_mhz(name)
        assert found is None if expected is None else found == pytest.approx(expected)


class TestCpuinfoMhz:
    @pytest.mark.parametrize('info, expected', [
        (cpuinfo(cpu='e500v2', clock='799.999992MHz'), 799.999992),
        (cpuinfo(cpu='e500v2', clock='666.666660MHz'), 666.66666),
        (cpuinfo(cpu='POWER9', clock='3666.000000MHz'), 3666),
        (cpuinfo(cpu_model='MIPS 74Kc V4.12', BogoMIPS='278.93', CPUClock='560'), 560),
        (rb.parse_cpuinfo('Model Name\t: Loongson-3A5000-HV\nCPU MHz\t\t: 2500.00\nBogoMIPS\t: 5000.00\n'), 2500),
        (cpuinfo(cpu_model='Loongson-3 V0.5', model_name='Loongson-3A R1 (Loongson-3A1000) @ 900MHz', CPU_MHz='900.00'), 900),
        (cpuinfo(system_type='UBNT_E100 (CN5020p1.1-500-SCP)', cpu_model='Cavium Octeon+ V0.1', BogoMIPS='1000.00'), 500),
        (arm('0x56', '0x131', Processor_name='Feroceon 88F6281 rev 1 (v5l) @ 1.2 GHz', BogoMIPS='1196.85'), 1200),
        (cpuinfo(vendor_id='GenuineIntel', model_name='Intel(R) Atom(TM) CPU D525   @ 1.80GHz', flags='fpu'), 1800),
        (cpuinfo(vendor_id='CentaurHauls', model_name='VIA Esther processor 1000MHz', cpu_MHz='800.000', flags='fpu'), 1000)])
    def test_stated(self, info, expected):
        assert rb.cpuinfo_mhz(info) == pytest.approx(expected)

    @pytest.mark.parametrize('info', [
        cpuinfo(cpu_model='MIPS 24Kc V7.4', BogoMIPS='265.42'),
        cpuinfo(cpu_model='Cavium Octeon III V0.2  FPU V0.0', system_type='UBNT_E300', BogoMIPS='2000.00'),
        arm('0x41', '0xc09', model_name='ARMv7 Processor rev 1 (v7l)', BogoMIPS='1600.00'),
        cpuinfo(vendor_id='AuthenticAMD', model_name='AMD GX-412TC SOC', cpu_MHz='598.589', flags='fpu aes'),  # momentary
        cpuinfo(vendor_id='GenuineIntel', model_name='Intel(R) N100', cpu_MHz='2925.072'),
        rb.parse_cpuinfo('Cpu6ClkTck\t: 000000000ec82e00\ncpu\t: TI UltraSparc II\n'),
        cpuinfo(cpu='e500v2', clock='fast'), cpuinfo(cpu='e500v2', clock='-1MHz'), CpuInfo(0, {})])
    def test_not_stated(self, info):
        assert rb.cpuinfo_mhz(info) is None

    def test_no_clock_without_end(self):
        assert rb.cpuinfo_mhz(cpuinfo(cpu='e500v2', clock='9' * 400 + 'MHz')) is None


class TestLogMhz:
    @pytest.mark.parametrize('log, expected', [
        ('[    0.000000] SoC: Atheros AR9330 rev 1\n[    0.000000] Clocks: CPU:400.000MHz, DDR:400.000MHz, AHB:200.000MHz, '
         'Ref:25.000MHz\n[    0.000000] Calibrating delay loop... 265.42 BogoMIPS (lpj=1327104)\n', 400),
        ('SoC: Atheros AR7240 rev 2\nClocks: CPU:400.000MHz, DDR:400.000MHz, AHB:200.000MHz, Ref:5.000MHz\n', 400),
        ('U-Boot\n\nClocks: CPU:560MHz, DDR:450MHz, AHB:225MHz, Ref:40MHz\n', 560),
        ('[    0.000000] tsc: Detected 2400.123 MHz processor\n', 2400.123),
        ('MT7621   stage1 code done\n CPU=500000000 HZ BUS=125000000 HZ\n', None),  # not the clock it runs at
        ('[    0.000000] SoC Type: MediaTek MT7621 ver:1 eco:3\n[    0.000000] CPU0 revision is: 0001992f (MIPS 1004Kc)\n', None),
        ('Calibrating delay loop... 265.42 BogoMIPS (lpj=1327104)\n', None),
        ('Timecounter "TSC-low" frequency 1199999760 Hz quality 1000\n', None), ('', None)])
    def test_clock(self, log, expected):
        assert rb.log_mhz(log) == expected


class TestLevelsMhz:
    @pytest.mark.parametrize('levels, expected', [
        ('1000/-1 875/-1 750/-1 625/-1 500/-1 375/-1 250/-1 125/-1', 1000),
        ('2501/35000 2500/35000 2200/29755 2000/26426 1800/23233 800/9140', 2500),  # 2501 stands for turbo
        ('800/9140', 800), ('', None), ('none', None), ('1000', None)])
    def test_nominal(self, levels, expected):
        assert rb.levels_mhz(levels) == expected


class TestAesInstructions:
    @pytest.mark.parametrize('info, expected', [
        (cpuinfo(flags='fpu sse2 aes avx'), 'AES-NI'), (cpuinfo(flags='fpu sse2 ss'), 'none'),
        (cpuinfo(flags='fpu vaes'), 'none'),
        (cpuinfo(flags='fpu rng rng_en ace ace_en ace2 ace2_en phe phe_en'), 'PadLock'),
        (cpuinfo(flags='fpu rng rng_en ace ace_en ace2 phe phe_en'), 'PadLock'),
        (cpuinfo(flags='fpu rng ace ace2'), 'none'),  # there, but not enabled
        (arm('0x41', '0xd03', Features='fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid'), 'ARMv8 AES'),
        (arm('0x41', '0xd03', Features='fp asimd evtstrm crc32 cpuid'), 'none'),  # Raspberry Pi 3
        (arm('0x41', '0xc09', Features='half thumb fastmult vfp edsp neon'), 'none'),
        (cpuinfo(cpu='POWER9, altivec supported', revision='2.2 (pvr 004e 1202)'), 'POWER'),
        (cpuinfo(cpu='POWER8NVL (raw), altivec supported', revision='1.0 (pvr 004c 0100)'), 'POWER'),
        (cpuinfo(cpu='POWER10, altivec supported', revision='2.0 (pvr 0080 0200)'), 'POWER'),
        (cpuinfo(cpu='POWER7 (architected), altivec supported', revision='2.1 (pvr 003f 0201)'), 'none'),
        (cpuinfo(cpu='e500v2', revision='5.1 (pvr 8021 1051)'), 'none'),
        (cpuinfo(cpu_model='MIPS 24Kc V7.4'), 'none'),
        (cpuinfo(cpu_model='Cavium Octeon III V0.2  FPU V0.0'), None),  # a coprocessor that isn't listed
        (cpuinfo(hart='1', isa='rv64imafdc_zicntr_zicsr_zba_zbb', uarch='sifive,u74-mc'), 'none'),
        (cpuinfo(hart='0', isa='rv64imafdcv_zbs_zkt_zve32f_zvfh'), 'none'),
        (cpuinfo(hart='0', isa='rv64imafdcv_zbs_zkne_zknd'), 'RISC-V Zk'),
        (cpuinfo(hart='0', isa='rv64imafdcv_zvkned_zvknhb'), 'RISC-V Zk'),
        (cpuinfo(hart='0', isa='rv64imafdcv_zvknha_zvknhb'), 'none'),  # SHA-2 only
        (rb.parse_cpuinfo('Model Name : Loongson-3A5000-HV\nFeatures : cpucfg lam ual fpu lsx lasx complex crypto lvz\n'), None),
        (rb.parse_cpuinfo('cpu : TI UltraSparc II  (BlackBird)\n'), None), (CpuInfo(0, {}), None)])
    def test_the_features_decide(self, info, expected):
        assert rb.aes_instructions(info) == expected


# --- devices ------------------------------------------------------------------------------------

PLACEHOLDERS = [
    '', ' ', 'Default string', 'Default string Default string', 'To Be Filled By O.E.M.', 'To be filled by O.E.M.',
    'System Product Name', 'System manufacturer', 'System Version', 'Not Specified', 'Not Applicable', 'Not Available',
    'Unknown', 'None', 'N/A', 'NA', 'OEM', 'O.E.M.', 'Type1Family', 'Type1ProductConfigId', 'Product Name', 'Undefined', 'Empty',
    'xxxxxxxx', '----', '.', '0', '1.0', '0123456789', '123456789', '0000000000', 'Generic', 'Generic DT based system',
    'Flattened Device Tree', 'Marvell Armada 380/385 (Device Tree)', 'generic-loongson-machine', 'loongson,generic',
    'fsl,P1024', 'mti,malta', 'raspberrypi,3-model-b', 'Standard PC (Q35 + ICH9, 2009)', 'Bochs',
    'Type2 - Board Product Name1', 'INVALID', '$(DEFAULT_STRING)', 'Base Board Product Name', '(null)', 'null', 'Unknow',
    'All Series', 'Super Server', 'SKU Number', '\x00\x00', '\x1b\x07', '\u202e']
REFERENCE_BOARDS = [
    'Atheros AP135 reference board', 'Atheros DB120 reference board', 'Qualcomm Atheros AP148 reference board', 'P1024 RDB',
    'Freescale P2020 RDB', 'MediaTek MT7986a RFB', 'Baikal-T1 BFK3 evaluation board', 'Northstar Prototype', 'Comcerto 2000 EVM',
    'Qualcomm Technologies, Inc. IPQ5332/AP-MI01.2', 'Qualcomm Technologies, Inc. IPQ8074/AP-HK01-C1',
    'Marvell Armada 385 Development Board']


class TestDeviceName:
    @pytest.mark.parametrize('text, expected', [
        ('TP-Link TL-WDR4900 v1', 'TP-Link TL-WDR4900 v1'), ('NETGEAR WNDR3700/WNDR3800/WNDRMAC',) * 2,
        ('TP-LINK TL-WR703N v1',) * 2, ('MerCury MW4530R',) * 2, ('Turris',) * 2, ('TP-Link Archer C5 v4',) * 2,
        ('Raspberry Pi 5 Model B Rev 1.0\0', 'Raspberry Pi 5 Model B Rev 1.0'), ('Power Macintosh',) * 2,
        ('Western Digital My Net N750',) * 2, ('Confiabits MT7621 v1',) * 2, ('IBM,8233-E8B', 'IBM 8233-E8B'),
        ('FriendlyElec NanoPi R4S',) * 2, ('GL.iNet GL-BE6500',) * 2, ('AVM FRITZ!Box 7530',) * 2, ('OneHub Xero 11',) * 2,
        ('  Zyxel  \t EX5601-T1\n', 'Zyxel EX5601-T1'), ('Example\x1b[31m R1', 'Example [31m R1')])
    def test_as_in_a_table(self, text, expected):
        assert rb.device_name(text) == expected

    @pytest.mark.parametrize('text', PLACEHOLDERS)
    def test_placeholder(self, text):
        assert rb.device_name(text) is None

    @pytest.mark.parametrize('text', REFERENCE_BOARDS)
    def test_reference_board(self, text):
        assert rb.device_name(text) is None

    @pytest.mark.parametrize('text', [
        'ipaddr=192.0.2.11/24;gateway=192.0.2.1', 'router at 192.0.2.1', 'box 00:00:5e:00:53:01', 'box 00-00-5E-00-53-01', 'serial=17'])
    def test_private(self, text):
        assert rb.device_name(text) is None

    @pytest.mark.parametrize('text', ['0' * 20 + ' foo', 'x' * 20 + 'y', '-.' * 10 + '!', 'none' * 12 + '!', 'a,' * 19 + ' Zed',
                                      'device tree ' * 9 + 'z', 'type1' * 17 + ' z'])
    def test_takes_no_time(self, text):
        started = time.perf_counter()
        rb.device_name(text)
        assert time.perf_counter() - started < 0.5

    def test_length(self):
        assert len(rb.device_name('Router ' + 'y' * 10000)) <= 120


class TestMakerProduct:
    @pytest.mark.parametrize('words, expected', [
        (('Netgate', '6100', 'R306'), 'Netgate 6100'), (('Netgate', 'SG-5100', '1'), 'Netgate SG-5100'),
        (('PC Engines', 'apu4', '1.0'), 'PC Engines apu4'), (('Protectli', 'FW4B', '1.0'), 'Protectli FW4B'),
        (('Deciso B.V.', 'NetBoard-A20', 'R1.2.1'), 'Deciso NetBoard-A20'), (('Sophos', 'XG', '330r2'), 'Sophos XG 330r2'),
        (('Dell Inc.', 'OptiPlex 9020', '00'), 'Dell OptiPlex 9020'), (('TP-Link', 'TP-Link Archer C6U v1'), 'TP-Link Archer C6U v1'),
        (('Default string', 'J4125-4L'), 'J4125-4L'), (('', 'apu2'), 'apu2'),
        (('LENOVO', '20AN', ''), 'LENOVO 20AN'), (('Silicom', '80300-0214-G01', 'R306'), 'Silicom 80300-0214-G01'),
        (('\x1b[1mAcme\x07', 'R\n1'), '[1mAcme R 1')])
    def test_named(self, words, expected):
        assert rb.maker_product(*words) == expected

    @pytest.mark.parametrize('product', PLACEHOLDERS)
    def test_placeholder(self, product):
        assert rb.maker_product('Acme Inc.', product) is None
        assert rb.maker_product(product, product, product) is None

    @pytest.mark.parametrize('words', [
        ('Netgate', '', 'R306'), ('OpenWrt', 'Generic', 'v0'), ('Default string', '6100', ''), ('', '6100', ''),
        ('Bochs', 'ipaddr=192.0.2.11/24;gateway=192.0.2.1', ''), ('System manufacturer', 'System Product Name', 'System Version')])
    def test_nothing_that_names_it(self, words):
        assert rb.maker_product(*words) is None

    def test_a_version_that_is_a_placeholder_is_left_out(self):
        assert rb.maker_product('Sophos', 'XG', 'Default string') == 'Sophos XG'


class TestHypervisor:
    @pytest.mark.parametrize('texts, expected', [
        (('QEMU', 'Standard PC (Q35 + ICH9, 2009)'), 'qemu'), (('Bochs', 'x'), 'qemu'), (('innotek GmbH', 'VirtualBox'), 'virtualbox'),
        (('VMware, Inc.', 'VMware Virtual Platform'), 'vmware'), (('Microsoft Corporation', 'Virtual Machine'), 'hyper-v'),
        (('Xen', 'HVM domU'), 'xen'), (('', '', 'linux,dummy-virt'), 'qemu'), (('', '', 'IBM pSeries (emulated by qemu)'), 'qemu'),
        (('Red Hat', 'KVM'), 'kvm'), (('FreeBSD', 'BHYVE'), 'bhyve'), (('PC Engines', 'apu4'), None), ((), None), (('', ''), None)])
    def test_given_away(self, texts, expected):
        assert rb.hypervisor(*texts) == expected

    @pytest.mark.parametrize('text', ['Axentia TSE-850-3', 'PiKVM V3', 'Sipeed NanoKVM'])
    def test_inside_a_word_it_means_nothing(self, text):
        assert rb.hypervisor(text) is None


# --- byte order ---------------------------------------------------------------------------------

class TestElfByteOrder:
    @pytest.mark.parametrize('header, expected', [
        (b'\x7fELF\x01\x01\x01' + b'\0' * 13, 'little'), (b'\x7fELF\x01\x02\x01' + b'\0' * 13, 'big'), (b'\x7fELF\x02\x01', 'little'),
        (b'\x7fELF\x01\x03', None), (b'\x7fELF\x01', None), (b'#!/bin/sh\n', None), (b'', None)])
    def test_header(self, header, expected):
        assert rb.elf_byte_order(header) == expected


class TestFullArch:
    @pytest.mark.parametrize('machine, order, expected', [
        ('mips', 'little', 'mipsel'), ('mips', 'big', 'mips'), ('mips', None, 'mips'), ('mips64', 'little', 'mips64el'),
        ('aarch64', 'little', 'aarch64'), ('aarch64', 'big', 'aarch64_be'), ('ppc64', 'little', 'ppc64le'), ('x86_64', 'little', 'x86_64')])
    def test_with_the_order_where_it_is_open(self, machine, order, expected):
        assert rb.full_arch(machine, order) == expected


class TestArchByteOrder:
    @pytest.mark.parametrize('arch, expected', [
        ('mipsel', 'little'), ('mips64el', 'little'), ('mips', 'big'), ('mips64', 'big'), ('ppc', 'big'), ('ppc64', 'big'),
        ('ppc64le', 'little'), ('powerpc', 'big'), ('powerpc64le', 'little'), ('x86_64', 'little'), ('amd64', 'little'),
        ('i686', 'little'), ('i386', 'little'), ('armv5tel', 'little'), ('armv6l', 'little'), ('armv7l', 'little'), ('armv7', 'little'),
        ('armv5teb', 'big'), ('armv7b', 'big'), ('armeb', 'big'), ('aarch64', 'little'), ('arm64', 'little'), ('aarch64_be', 'big'),
        ('riscv64', 'little'), ('loongarch64', 'little'), ('sparc64', 'big'), ('s390x', 'big'), ('', None), ('pdp11', None)])
    def test_settled_by_the_name(self, arch, expected):
        assert rb.arch_byte_order(arch) == expected


# --- openvpn ------------------------------------------------------------------------------------

TITLE_26 = 'OpenVPN 2.6.14 x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [PKCS11] [MH/PKTINFO] [AEAD] [DCO]\n'


class TestParseOpenvpnVersion:
    @pytest.mark.parametrize('text, expected', [
        ('OpenVPN 2.4.12 x86_64-pc-linux-gnu [SSL (mbed TLS)] [EPOLL] [MH/PKTINFO] [AEAD] built on Nov 30 2026\n'
         'library versions: mbed TLS 2.28.3\n', ('OpenVPN 2.4.12', 'mbed TLS 2.28.3', False)),
        ('OpenVPN 2.5.1 x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [PKCS11] [MH/PKTINFO] [AEAD] built on May 14 2021\n'
         'library versions: OpenSSL 1.1.1w  11 Sep 2023, LZO 2.10\n', ('OpenVPN 2.5.1', 'OpenSSL 1.1.1w', False)),
        (TITLE_26 + 'library versions: OpenSSL 3.0.22 25 Aug 2026, LZO 2.10\nDCO version: N/A\nOriginally developed by James Yonan\n',
         ('OpenVPN 2.6.14', 'OpenSSL 3.0.22', True)),
        ('OpenVPN 2.6.9 aarch64-openwrt-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD]\n'
         'library versions: OpenSSL 3.0.13 30 Jan 2024, LZO 2.10\n', ('OpenVPN 2.6.9', 'OpenSSL 3.0.13', False)),
        ('OpenVPN 2.6.10 aarch64-openwrt-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD] [DCO]\n',
         ('OpenVPN 2.6.10', 'OpenSSL', True)),
        ('OpenVPN 2.7.0 [git:HEAD/ee1577744fb09af7+] x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD] [DCO]'
         ' built on Mar 11 2026\nlibrary versions: OpenSSL 3.5.5 27 Jan 2026, LZO 2.10\nDCO version: N/A\n',
         ('OpenVPN 2.7.0', 'OpenSSL 3.5.5', True)),
        ('OpenVPN 2.7.8 x86_64-pc-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [PKCS11] [MH/PKTINFO] [AEAD] [DCO]\n'
         'library versions: OpenSSL 3.6.5 29 Sep 2026, LZO 2.10\n', ('OpenVPN 2.7.8', 'OpenSSL 3.6.5', True)),
        ('OpenVPN 2.5.2 mips-openwrt-linux-gnu [SSL (mbed TLS)] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD]\n'
         'library versions: mbed TLS 2.16.10, LZO 2.10\n', ('OpenVPN 2.5.2', 'mbed TLS 2.16.10', False)),
        ('OpenVPN 2.4.9 mips-openwrt-linux-gnu [SSL (mbed TLS)]\n', ('OpenVPN 2.4.9', 'mbed TLS', False)),
        ('OpenVPN 2.5.7 mipsel-openwrt-linux-gnu [SSL (OpenSSL)] [LZO] [LZ4] [EPOLL] [MH/PKTINFO] [AEAD]\n'
         'library versions: wolfSSL 5.5.4, LZO 2.10\n', ('OpenVPN 2.5.7', 'wolfSSL 5.5.4', False)),
        ('2026-01-02 03:04:05 DEPRECATED OPTION: The option --secret is deprecated.\n2026-01-02 03:04:05 ' + TITLE_26 +
         '2026-01-02 03:04:05 library versions: OpenSSL 3.0.22 25 Aug 2026, LZO 2.10\n', ('OpenVPN 2.6.14', 'OpenSSL 3.0.22', True)),
        ('OpenVPN 2.3.18\n', ('OpenVPN 2.3.18', None, False))])
    def test_versions(self, text, expected):
        assert rb.parse_openvpn_version(text) == rb.Build(*expected)

    @pytest.mark.parametrize('text', ['', 'ash: openvpn: not found\n', 'OpenVPN\n', 'OpenVPN GUI 11\n', 'library versions: OpenSSL 3.0.22\n'])
    def test_something_else(self, text):
        assert rb.parse_openvpn_version(text) is None

    def test_harmless(self):
        build = rb.parse_openvpn_version('OpenVPN 2.6\x1b[2J\u202e%s [SSL (x\x07)]\n' % ('9' * 5000))
        assert len(build.tool) <= 40 and '\x1b' not in build.tool and build.library == 'x'


class TestLastPacketLength:
    @pytest.mark.parametrize('text, expected', [
        ('2026-01-02 03:04:05 TESTING ENCRYPT/DECRYPT of packet length=1\n[...]\n'
         '2026-01-02 03:04:05 TESTING ENCRYPT/DECRYPT of packet length=1767\n'
         '2026-01-02 03:04:05 TESTING ENCRYPT/DECRYPT of packet length=1768\n'
         '2026-01-02 03:04:05 OpenVPN crypto self-test mode SUCCEEDED.\n', 1768),
        ('Mon Nov 30 10:00:15 2026 TESTING ENCRYPT/DECRYPT of packet length=100\n', 100),
        ('2026-01-02 03:04:05 OpenVPN crypto self-test mode SUCCEEDED.\n', None), ('packet length=5', None), ('', None)])
    def test_of_the_log(self, text, expected):
        assert rb.last_packet_length(text) == expected


STAMPS = ['', '2026-11-30 10:02:42 ', 'Mon Nov 30 10:00:15 2026 ']
REFUSALS = [
    # 2.4.12 with mbed TLS, 2.5.1, 2.6.14 and 2.7.8 with OpenSSL, as they were seen
    ('Cipher BF-CBC not supported', 'cipher-unsupported'),
    ('Cipher nosuch-cipher not supported', 'cipher-unsupported'),
    ('Cipher aes-256-cbc not supported', 'cipher-unsupported'),
    ('Cipher AES-256-CFB not supported', 'cipher-unsupported'),
    ("Cipher algorithm 'nosuch' not found", 'cipher-unsupported'),  # 2.3
    ("Cipher 'AES-256-CTR' mode not supported", 'mode-unsupported'),
    ("Cipher 'AES-256-GCM' mode not supported", 'mode-unsupported'),
    ("Cipher 'CHACHA20-POLY1305' mode not supported", 'mode-unsupported'),
    ("Message hash algorithm 'nosuch-digest' not found", 'auth-unsupported'),
    ("OpenSSL error: cannot load engine 'nosuch'", 'engine-unavailable'),
    ('Note: OpenSSL hardware crypto engine functionality is not available', 'engine-unavailable'),
    ('Options error: Unrecognized option or missing or extra parameter(s) in [CMD-LINE]:1: engine (2.4.12)', 'engine-unavailable'),
    ('TUN MTU value (99) must be at least 100', 'bad-mtu'),
    ('Options error: tun-mtu: Must be an integer between 100 and 65536, not 99', 'bad-mtu'),
    ("Cannot write to file '/tmp/k': No space left on device (errno=28)", 'no-space')]
NO_REFUSALS = [
    'DEPRECATED OPTION: The option --secret is deprecated.',
    'DEPRECATION: No tls-client or tls-server option in configuration detected. OpenVPN 2.8 will remove the functionality to run a VPN '
    'without TLS. See the examples section in the manual page for examples of a similar quick setup with peer-fingerprint.',
    'WARNING: Using --genkey --secret filename is DEPRECATED.  Use --genkey secret filename instead.',
    'WARNING: INSECURE cipher (BF-CBC) with block size less than 128 bit (64 bit).  This allows attacks like SWEET32.  Mitigate by using a '
    '--cipher with a larger block size (e.g. AES-256-CBC). Support for these insecure ciphers will be removed in OpenVPN 2.6.',
    'WARNING: INSECURE cipher with block size less than 128 bit (64 bit).  This allows attacks like SWEET32.',
    "******* WARNING *******: '--cipher none' was specified. This means NO encryption will be performed and tunnelled data WILL be "
    'transmitted in clear text over the network! PLEASE DO RECONSIDER THIS SETTING!',
    'Cipher negotiation is disabled since neither P2MP client nor server mode is enabled',
    'disabling NCP mode (--ncp-disable) because not in P2MP client or server mode',
    'OpenVPN crypto self-test mode SUCCEEDED.', 'Entering OpenVPN crypto self-test mode.', 'Exiting due to fatal error',
    'Options error: You must define key file (--secret)', 'Use --help for more information.', '',
    'Options error: Unrecognized option or missing or extra parameter(s) in [CMD-LINE]:1: genkey (2.4.12)',
    'Options error: Unrecognized option or missing or extra parameter(s) in [CMD-LINE]:1: allow-deprecated-insecure-static-crypto (2.6.14)',
    TITLE_26]


class TestOpenvpnRefusal:
    @pytest.mark.parametrize('stamp', STAMPS)
    @pytest.mark.parametrize('message, reason', REFUSALS)
    def test_refusal(self, message, reason, stamp):
        log = stamp + NO_REFUSALS[0] + '\n' + stamp + message + '\n' + stamp + 'Exiting due to fatal error\n'
        assert rb.openvpn_refusal(log) == reason
        assert reason in rb.REASONS

    @pytest.mark.parametrize('message', NO_REFUSALS)
    def test_no_refusal(self, message):
        for stamp in STAMPS:
            assert rb.openvpn_refusal(stamp + message + '\n') is None

    def test_a_whole_good_run(self):
        assert rb.openvpn_refusal('\n'.join(NO_REFUSALS)) is None

    def test_a_missing_library_is_not_a_missing_mode(self):
        log = ('OpenSSL: error:0308010C:digital envelope routines::unsupported:Global default library context, Algorithm (nosuch : 0), '
               "Properties (<null>)\nMessage hash algorithm 'nosuch' not found\nExiting due to fatal error\n")
        assert rb.openvpn_refusal(log) == 'auth-unsupported'


# --- anything else ------------------------------------------------------------------------------

PIECES = (
    'processor', 'model name', 'cpu model', 'cpu', 'CPU part', 'CPU implementer', 'Features', 'flags', 'isa', 'uarch', 'clock',
    'system type', 'MIPS 24Kc V7.4', 'Loongson (', ')', '0x41', '0xd03', 'aes', ':', ' : ', '\t: ', '=', '"', "'", '#', '/', '-', ',', '.',
    '@', '1.80GHz', 'MHz', 'real', 'user', 'sys', 'elapsed', 'total', '%', '0m14.20s', '2:44.80', '1h ', 's', 'u ', 'm', '47,46', '99%',
    'OpenVPN 2.', '[SSL (', '[DCO]', 'library versions: ', 'TESTING ENCRYPT/DECRYPT of packet length=', 'Cipher ', ' not supported',
    'tmpfs on /tmp type tmpfs (', 'MemTotal:', 'MemAvailable:', 'cpu  ', 'cpu0 1 2', '0-3', '2501/35000', 'Clocks: CPU:', 'device tree',
    'generic', 'Default string', 'xx', '6100', 'Inc.', '192.0.2.1', '\x7fELF', 'V0.0', 'CN5020p1.1-500-SCP', 'POWER8', '²', '٣', '½', '\u202e',
    '\x1b[2J', '\0', '\ufffd', '\u2028', '\x85', '\x1c', '\r', '\r\n', '\n', '\n', '\n', ' ', ' ', '\t', '0', '17', '-1', '1e9', 'nan', '\U0001f4a9')


def mixture(chance):
    """Lines made of pieces that the parsers look for, and of bytes."""
    pieces = []
    for _ in range(chance.randint(0, 60)):
        if chance.random() < 0.15:
            pieces.append(bytes(bytearray(chance.randrange(256) for _ in range(chance.randint(1, 12)))).decode('utf-8', 'replace'))
        else:
            pieces.append(chance.choice(PIECES))
    return ''.join(pieces)


def of_info(parser):
    """A parser of CpuInfo as one of text."""
    return lambda text: parser(rb.parse_cpuinfo(text))


PARSERS = {
    'plain': rb.plain, 'parse_clock': rb.parse_clock, 'parse_time': rb.parse_time, 'parse_assignments': rb.parse_assignments,
    'parse_cpuinfo': rb.parse_cpuinfo, 'cpu_label': of_info(rb.cpu_label), 'name_mhz': rb.name_mhz, 'cpuinfo_mhz': of_info(rb.cpuinfo_mhz),
    'log_mhz': rb.log_mhz, 'levels_mhz': rb.levels_mhz, 'aes_instructions': of_info(rb.aes_instructions),
    'device_name': rb.device_name, 'maker_product': lambda text: rb.maker_product(text[:40], text[40:80], text[80:]),
    'hypervisor': rb.hypervisor, 'parse_cpu_list': rb.parse_cpu_list, 'parse_meminfo': rb.parse_meminfo,
    'available_kb': lambda text: rb.available_kb(rb.parse_meminfo(text)), 'parse_ticks': lambda text: rb.parse_ticks(text, 100.0),
    'elf_byte_order': lambda text: rb.elf_byte_order(text.encode('utf-8', 'replace')),
    'full_arch': lambda text: rb.full_arch(text, rb.arch_byte_order(text)), 'arch_byte_order': rb.arch_byte_order,
    'parse_openvpn_version': rb.parse_openvpn_version, 'last_packet_length': rb.last_packet_length,
    'openvpn_refusal': rb.openvpn_refusal, 'telling_line': rb.telling_line, 'memory_disks': rb.memory_disks,
}
RAISES = ('parse_clock',)  # a ValueError, as its docstring says
STARTS = {
    'parse_cpuinfo': 'processor : ', 'parse_ticks': 'cpu ', 'parse_time': 'real\t', 'parse_meminfo': 'MemTotal: ', 'available_kb': 'MemFree: ',
    'parse_openvpn_version': 'OpenVPN 2.', 'last_packet_length': 'ENCRYPT/DECRYPT of packet length=', 'log_mhz': 'Clocks: CPU:',
    'cpu_label': 'cpu model : ', 'cpuinfo_mhz': 'clock : ', 'aes_instructions': 'isa : ', 'parse_cpu_list': '0-', 'elf_byte_order': '\x7fELF'}


class TestHostileText:
    @pytest.mark.parametrize('name', sorted(PARSERS))
    def test_raises_nothing_else(self, name):
        chance = random.Random(name)
        for _ in range(300):
            text = chance.choice(('', STARTS.get(name, ''))) + mixture(chance)
            try:
                found = PARSERS[name](text)
            except ValueError:
                assert name in RAISES, text
            else:
                assert found != '' or name in ('plain', 'full_arch'), text

    @pytest.mark.parametrize('name', sorted(set(PARSERS) - {'plain', 'parse_cpuinfo', 'parse_assignments', 'full_arch'}))
    def test_what_comes_out_is_harmless(self, name):
        chance = random.Random(name)
        for _ in range(300):
            try:
                found = PARSERS[name](chance.choice(('', STARTS.get(name, ''))) + mixture(chance))
            except ValueError:
                continue
            for text in found if isinstance(found, tuple) else (found,):
                assert not isinstance(text, str) or text == rb.plain(text, 160)

    @pytest.mark.parametrize('name', sorted(set(PARSERS) - {'device_name', 'maker_product', 'parse_clock'}))
    def test_endless_numbers_and_lines(self, name):
        for text in ('9' * 5000, '1' * 5000 + '/1', '9' * 5000 + 'MHz', '1 ' * 5000, 'a' * 5000, ':' * 5000, '\n' * 5000,
                     ' ' * 5000 + 'x', '9' * 5000 + ' 1 1 1', '9' * 5000 + 'h 1s\n', '1h ' * 2000):
            started = time.perf_counter()
            PARSERS[name](STARTS.get(name, '') + text)
            assert time.perf_counter() - started < 5
