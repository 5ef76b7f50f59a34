"""Every machine under tests/machines, and the sensors of made-up ones."""

import json
import os
import re

import pytest

import fakes
import routerbench as rb
from fakes import FakeHost, machine_host
from routerbench import Ran, Ticks

KEYS = ['device', 'cpu', 'mhz', 'cores', 'arch', 'byte_order', 'os', 'kernel', 'aes', 'virtual']
NAMES = fakes.machine_names()
CPU = '/sys/devices/system/cpu'


def path_of(name, *parts):
    """A path inside the directory of a machine."""
    return os.path.join(fakes.MACHINES, name, *parts)


def expected_of(name):
    """expected.json with its keys in their order."""
    with open(path_of(name, 'expected.json'), encoding='utf-8') as file:
        return json.load(file)


def linux(files, answers=None, machine='x86_64'):
    """A Linux machine out of a table of files."""
    table = {'uname -srm': 'Linux 6.1.0 %s\n' % machine}
    table.update(answers or {})
    return rb.machine_of(FakeHost(files=files, answers=table))


def sysctl(values):
    """An answer of FreeBSD's sysctl: what was asked for and is there; status 1 if something is not."""
    def answer(argv):
        asked = [name for name in argv[1:] if not name.startswith('-')]
        lines = ['%s=%s\n' % (name, values[name]) for name in asked if name in values]
        return Ran(argv, int(len(lines) < len(asked)), ''.join(lines), '' if len(lines) == len(asked) else 'sysctl: unknown oid\n')
    return answer


def freebsd(values, answers=None, files=None):
    """A FreeBSD machine out of a table of sysctl values."""
    table = {'uname -srm': 'FreeBSD 14.3-RELEASE amd64\n', 'sysctl': sysctl(values)}
    table.update(answers or {})
    return rb.machine_of(FakeHost(files=files, answers=table))


# --- the directories ----------------------------------------------------------------------------

class TestMachines:
    @pytest.mark.parametrize('name', NAMES)
    def test_facts(self, name):
        facts = rb.machine_of(machine_host(name)).facts()
        assert {key: getattr(facts, key) for key in KEYS} == expected_of(name)

    @pytest.mark.parametrize('name', NAMES)
    def test_only_reads(self, name):
        host = machine_host(name)
        machine = rb.machine_of(host)
        machine.facts()
        machine.ticks(), machine.sense()[0], machine.sense()[1], machine.available_kb(), machine.slow_crypto(), machine.highest_clock()
        assert {argv[0] for argv in host.commands} <= {'uname', 'dmesg', 'sysctl', 'kenv', 'kldstat'}
        assert host.elapsed == 0

    @pytest.mark.parametrize('name', NAMES)
    def test_nothing_but_plain_text(self, name):
        for value in rb.machine_of(machine_host(name)).facts():
            assert not isinstance(value, str) or value == rb.plain(value) != ''

    def test_there_are_many(self):
        assert len(NAMES) >= 80
        assert {expected_of(name)['arch'] for name in NAMES} >= {
            'mips', 'mipsel', 'mips64', 'mips64el', 'ppc', 'ppc64', 'ppc64le', 'aarch64', 'armv7l', 'x86_64', 'amd64', 'riscv64'}


PARTS = {'README', 'expected.json', 'root', 'commands'}
ROOT_FILES = re.compile(
    r'proc/(?:cpuinfo|meminfo|device-tree/model|device-tree/cpus/[^/]+/[\w,-]+-frequency)$'
    r'|tmp/sysinfo/(?:model|board_name)$|etc/(?:openwrt_release|os-release|platform|version)$'
    r'|sys/devices/system/cpu/(?:online$|(?:cpufreq/policy\d+|cpu\d+/cpufreq)/(?:(?:cpuinfo|scaling)_\w+|related_cpus|base_frequency)$)'
    r'|sys/class/dmi/id/(?:sys_vendor|product_name|product_version|board_vendor|board_name)$'
    r'|bin/busybox$|usr/local/opnsense/version/core$|var/run/dmesg\.boot$')
COMMANDS = ('uname -srm', 'dmesg', 'sysctl', 'kenv', 'kldstat', 'opnsense-version', 'ubus call system board')
PRIVATE = re.compile(
    r'\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b|\b(?!127\.|0\.|192\.0\.2\.)(?:\d{1,3}\.){3}\d{1,3}(?:/|;|"|$)'
    r'|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}(?!0{12})[0-9a-f]{12}\b|^Serial\s*: (?!0*$).+', re.I | re.M)


def files_of(name, part):
    """The paths of all files below root/ or commands/, relative to it."""
    top = path_of(name, part)
    return sorted(os.path.relpath(os.path.join(folder, file), top) for folder, _, files in os.walk(top) for file in files)


class TestLayout:
    @pytest.mark.parametrize('name', NAMES)
    def test_parts(self, name):
        found = set(os.listdir(path_of(name)))
        assert {'README', 'expected.json'} <= found <= PARTS
        assert 'uname -srm' in files_of(name, 'commands')
        assert set(files_of(name, 'commands')) <= set(COMMANDS)
        assert [file for file in files_of(name, 'root') if not ROOT_FILES.match(file)] == []

    @pytest.mark.parametrize('name', NAMES)
    def test_name(self, name):
        assert re.match(r'[a-z0-9_]+(?:-[a-z0-9]+)+-\d+cpu(?:-[a-z0-9.]+)+$', name)
        cores = expected_of(name)['cores']
        assert cores is None or int(re.search(r'-(\d+)cpu', name).group(1)) == cores
        arch = expected_of(name)['arch']
        assert name.split('-')[0] == (arch[:5] if arch.startswith('armv') else arch)

    @pytest.mark.parametrize('name', NAMES)
    def test_expected(self, name):
        expected = expected_of(name)
        assert list(expected) == KEYS
        assert expected['byte_order'] in ('big', 'little', None)
        assert expected['mhz'] is None or isinstance(expected['mhz'], int) and 10 < expected['mhz'] < 10000
        assert expected['cores'] is None or isinstance(expected['cores'], int)
        assert expected['virtual'] is None or expected['device'] is None
        for key in set(KEYS) - {'mhz', 'cores'}:
            assert expected[key] is None or expected[key] == rb.plain(expected[key]) != ''

    @pytest.mark.parametrize('name', NAMES)
    def test_readme(self, name):
        with open(path_of(name, 'README'), encoding='utf-8') as file:
            assert 1 <= len(file.read().splitlines()) <= 3

    @pytest.mark.parametrize('name', NAMES)
    def test_the_device_tree_ends_in_nul(self, name):
        for file in files_of(name, 'root'):
            if file.startswith('proc/device-tree/'):
                with open(path_of(name, 'root', file), 'rb') as tree:
                    content = tree.read()
                assert content.endswith(b'\0') if file.endswith('model') else len(content) in (4, 8)

    @pytest.mark.parametrize('name', NAMES)
    def test_nothing_private(self, name):
        for part in ('root', 'commands'):
            for file in files_of(name, part):
                with open(path_of(name, part, file), encoding='utf-8', errors='replace') as opened:
                    assert not PRIVATE.search(opened.read()), file


# --- what must not be believed ------------------------------------------------------------------

PLACEHOLDERS = [
    'Default string', 'To Be Filled By O.E.M.', 'System Product Name', 'Not Specified', 'Not Applicable', 'Unknown', 'None', 'N/A',
    'OEM', 'Type1ProductConfigId', 'Generic', '0123456789', '0000000000', '1.0', '', ' ', '---', 'xxxxxxxx', 'INVALID', 'Super Server']


class TestPlaceholders:
    @pytest.mark.parametrize('text', PLACEHOLDERS)
    def test_firmware_of_linux(self, text):
        files = {'/sys/class/dmi/id/' + name: text + '\n' for name in (
            'sys_vendor', 'product_name', 'product_version', 'board_vendor', 'board_name', 'board_version')}
        assert linux(files).facts().device is None
        files['/sys/class/dmi/id/sys_vendor'] = 'Acme Inc.\n'
        assert linux(files).facts().device is None
        files.update({'/sys/class/dmi/id/board_vendor': 'Protectli\n', '/sys/class/dmi/id/board_name': 'FW4B\n'})
        assert linux(files).facts().device == 'Protectli FW4B'

    @pytest.mark.parametrize('text', PLACEHOLDERS)
    def test_firmware_of_freebsd(self, text):
        kenv = ''.join('smbios.%s.%s="%s"\n' % (part, key, text)
                       for part in ('system', 'planar') for key in ('maker', 'product', 'version'))
        assert freebsd({}, {'kenv': kenv}).facts().device is None
        kenv += 'smbios.planar.maker="Protectli"\nsmbios.planar.product="FW4B"\n'
        assert freebsd({}, {'kenv': kenv}).facts().device == 'Protectli FW4B'

    @pytest.mark.parametrize('text', ['Generic DT based system', 'Qualcomm Technologies, Inc. IPQ5332/AP-MI01.2', 'linux,generic',
                                      'Atheros DB120 reference board', 'Default string'])
    def test_device_tree(self, text):
        files = {'/proc/device-tree/model': text + '\0', '/tmp/sysinfo/model': text + '\n'}
        assert linux(files, machine='aarch64').facts().device is None

    def test_a_placeholder_hides_no_name(self):
        files = {'/tmp/sysinfo/model': 'Generic\n', '/proc/device-tree/model': 'Turris\0', '/proc/cpuinfo': 'machine : Unknown\n'}
        assert linux(files).facts().device == 'Turris'

    @pytest.mark.parametrize('vendor, product, virtual', [
        ('innotek GmbH', 'VirtualBox', 'virtualbox'), ('QEMU', 'Standard PC (Q35 + ICH9, 2009)', 'qemu'), ('Xen', 'HVM domU', 'xen'),
        ('VMware, Inc.', 'VMware Virtual Platform', 'vmware'), ('Microsoft Corporation', 'Virtual Machine', 'hyper-v')])
    def test_a_virtual_machine_is_no_device(self, vendor, product, virtual):
        facts = linux({'/sys/class/dmi/id/sys_vendor': vendor, '/sys/class/dmi/id/product_name': product}).facts()
        assert (facts.device, facts.virtual) == (None, virtual)
        kenv = 'smbios.system.maker="%s"\nsmbios.system.product="%s"\n' % (vendor, product)
        facts = freebsd({'kern.vm_guest': 'none'}, {'kenv': kenv}).facts()
        assert (facts.device, facts.virtual) == (None, virtual)

    def test_bogomips_is_no_clock(self):
        for text in ('cpu model : MIPS 24Kc V7.4\nBogoMIPS : 265.42\n', 'CPU part : 0xc09\nBogoMIPS : 1600.00\n'):
            assert linux({'/proc/cpuinfo': text}).facts().mhz is None

    def test_turbo_is_no_nominal_clock(self):
        policy = CPU + '/cpufreq/policy0/'
        files = {'/proc/cpuinfo': 'vendor_id : GenuineIntel\nmodel name : Intel(R) N100\nflags : fpu aes\n',
                 policy + 'cpuinfo_max_freq': '3400000\n', policy + 'scaling_driver': 'intel_cpufreq\n'}
        assert linux(files).facts().mhz is None
        files[policy + 'base_frequency'] = '800000\n'
        assert linux(files).facts().mhz == 800

    def test_nor_where_acpi_calls_it_the_maximum(self):
        # since Linux 5.11 acpi-cpufreq puts the boost clock into cpuinfo_max_freq; the levels are the nominal ones
        policy = CPU + '/cpufreq/policy0/'
        files = {'/proc/cpuinfo': 'vendor_id : AuthenticAMD\nmodel name : AMD Ryzen Embedded V1500B\nflags : fpu aes\n',
                 policy + 'cpuinfo_max_freq': '2987000\n', policy + 'scaling_driver': 'acpi-cpufreq\n',
                 policy + 'scaling_available_frequencies': '2200000 1800000 1600000 \n'}
        assert linux(files).facts().mhz in (2200, None)

    def test_padlock_and_aesni_that_are_not_there(self):
        boot = ('CPU: AMD G-T40E Processor (1000.02-MHz K8-class CPU)\n  Features2=0x802209<SSE3,MON,SSSE3,CX16,POPCNT>\n'
                'aesni0: No AES or SHA support.\npadlock0: No ACE support.\n')
        assert freebsd({}, files={'/var/run/dmesg.boot': boot}).facts().aes == 'none'


# --- Linux --------------------------------------------------------------------------------------

class TestLinuxSensors:
    def test_ticks(self):
        machine = linux({'/proc/stat': 'cpu  4705 150 1120 16250 520 0 30 200 900 0\ncpu0 1 2 3 4\n'})
        assert machine.ticks() == Ticks(pytest.approx(62.05), pytest.approx(167.7))

    def test_clocks_of_every_group(self):
        files = {CPU + '/cpufreq/policy0/scaling_cur_freq': '1416000\n', CPU + '/cpufreq/policy4/scaling_cur_freq': '408000\n',
                 CPU + '/cpufreq/policy0/cpuinfo_max_freq': '1512000\n', CPU + '/cpufreq/policy4/cpuinfo_max_freq': '2016000\n',
                 CPU + '/cpufreq/policy4/scaling_max_freq': '1008000\n'}
        machine = linux(files)
        assert machine.sense()[0] == [1416, 408]
        assert machine.highest_clock() == 2016

    def test_clocks_of_old_kernels(self):
        files = {CPU + '/cpu%d/cpufreq/scaling_cur_freq' % number: '800000\n' for number in (0, 1)}
        files[CPU + '/cpuidle/current_driver'] = 'none\n'
        assert linux(files).sense()[0] == [800, 800]

    @pytest.mark.parametrize('text', ['', '0\n', '<unknown>\n', 'fast', '-1\n', '\u00b2\n'])
    def test_clocks_that_are_none(self, text):
        files = {CPU + '/cpufreq/policy0/' + name: text for name in ('scaling_cur_freq', 'cpuinfo_max_freq', 'base_frequency')}
        machine = linux(files)
        assert machine.sense()[0] == [] and machine.highest_clock() is None and machine.facts().mhz is None

    @pytest.mark.parametrize('texts, expected', [
        (['45123\n'], 45.123), (['45000\n', '61500\n', '0\n'], 61.5), (['-273000\n'], None), (['255000\n'], None), (['hot\n'], None), ([], None),
        (['45\n'], None), (['0\n'], None)])  # neither a thousandth nor a degree can be told apart from 45
    def test_degrees(self, texts, expected):
        files = {'/sys/class/thermal/thermal_zone%d/temp' % number: text for number, text in enumerate(texts)}
        files['/sys/class/thermal/cooling_device0/temp'] = '99000\n'
        assert linux(files).sense()[1] == expected

    @pytest.mark.parametrize('text, expected', [
        ('MemTotal: 28096 kB\nMemFree: 2132 kB\nBuffers: 1204 kB\nCached: 3880 kB\n', 7216),
        ('MemTotal: 996356 kB\nMemFree: 951756 kB\nMemAvailable: 960000 kB\n', 960000), ('', None)])
    def test_available_kb(self, text, expected):
        machine = linux({'/proc/meminfo': text})
        assert machine.available_kb() == expected
        assert machine.facts().memory_mb in (27, 973, None)

    def test_governor_that_keeps_the_clock_low(self):
        policy = CPU + '/cpufreq/policy0/'
        files = {policy + 'scaling_governor': 'ondemand\n', policy + 'scaling_cur_freq': '48000\n', policy + 'cpuinfo_max_freq': '717000\n'}
        machine = linux(files, machine='armv7l')
        assert machine.facts().governor == 'ondemand'
        assert machine.sense()[0] == [48]
        assert machine.highest_clock() == 717
        machine.host.files[policy + 'scaling_cur_freq'] = '717000\n'
        assert machine.sense()[0] == [717]

    def test_no_governor(self):
        assert linux({}).facts().governor is None

    def test_mixed_cores_by_part(self):
        text = ''.join('processor : %d\nCPU implementer : 0x41\nCPU part : %s\n\n' % (number, part)
                       for number, part in enumerate(['0xd03'] * 4 + ['0xd08'] * 2))
        files = {'/proc/cpuinfo': text, CPU + '/cpufreq/policy0/cpuinfo_max_freq': '1512000\n',
                 CPU + '/cpufreq/policy4/cpuinfo_max_freq': '2016000\n'}
        facts = linux(files, machine='aarch64').facts()
        assert facts.mixed_cores and facts.cores == 6 and facts.mhz == 2016
        assert facts.cpu == 'ARM Cortex-A53 + Cortex-A72'

    def test_mixed_cores_by_clock(self):
        files = {CPU + '/cpufreq/policy0/cpuinfo_max_freq': '1512000\n', CPU + '/cpufreq/policy4/cpuinfo_max_freq': '2016000\n'}
        assert linux(files).facts().mixed_cores

    def test_no_mixed_cores(self):
        text = 'processor : 0\nCPU implementer : 0x41\nCPU part : 0xd03\n\nprocessor : 1\nCPU implementer : 0x41\nCPU part : 0xd03\n'
        assert not linux({'/proc/cpuinfo': text}).facts().mixed_cores

    def test_clock_of_the_device_tree(self):
        tree = '/proc/device-tree/cpus/'
        files = {tree + 'PowerPC,POWER7@0/clock-frequency': b'\xe6\x4f\xf6\x00', tree + 'name': b'cpus\0'}
        facts = linux(files, machine='ppc64').facts()
        assert (facts.mhz, facts.mhz_source) == (3864, 'device tree')
        files = {tree + 'cpu@0/clock-frequency': b'\0\0\0\0\x3b\x9a\xca\x00', tree + 'cpu@1/clock-frequency': b'xyz'}
        assert linux(files, machine='ppc64').facts().mhz == 1000

    def test_clock_of_the_faster_cores_in_the_device_tree(self):
        tree = '/proc/device-tree/cpus/'
        files = {tree + 'cpu@0/clock-frequency': b'\x3b\x9a\xca\x00', tree + 'cpu@100/clock-frequency': b'\x6b\x49\xd2\x00'}
        assert linux(files, machine='armv7l').facts().mhz == 1800

    def test_clock_of_the_kernel_log(self):
        facts = linux({}, {'dmesg': '[    0.000000] Clocks: CPU:680.000MHz, DDR:340.000MHz\n'}, 'mips').facts()
        assert (facts.mhz, facts.mhz_source) == (680, 'kernel log')

    def test_nothing_at_all(self):
        machine = linux({})
        assert machine.facts() == rb.Facts(arch='x86_64', byte_order='little', kernel='6.1.0')
        assert (machine.ticks(), machine.sense()[0], machine.sense()[1], machine.available_kb()) == (None, [], None, None)
        assert not machine.slow_crypto()


class TestLinuxByteOrder:
    @pytest.mark.parametrize('files, machine, arch, order', [
        ({'/etc/openwrt_release': "DISTRIB_ARCH='mips_24kc'\n"}, 'mips', 'mips', 'big'),
        ({'/etc/openwrt_release': "DISTRIB_ARCH='mipsel_24kc'\n"}, 'mips', 'mipsel', 'little'),
        ({'/etc/os-release': 'OPENWRT_ARCH="mipsel_24kc"\n'}, 'mips', 'mipsel', 'little'),
        ({'/bin/busybox': b'\x7fELF\x01\x01\x01'}, 'mips', 'mipsel', 'little'),
        ({'/bin/sh': b'#!/x', '/usr/bin/env': b'\x7fELF\x01\x02\x01'}, 'mips', 'mips', 'big'),
        ({}, 'mips', 'mips', None), ({}, 'mips64', 'mips64', None), ({}, 'ppc', 'ppc', 'big'), ({}, 'armv7l', 'armv7l', 'little'),
        ({}, 'armv5teb', 'armv5teb', 'big'), ({'/bin/busybox': b'\x7fELF\x02\x02'}, 'aarch64', 'aarch64_be', 'big')])
    def test_order(self, files, machine, arch, order):
        facts = linux(files, machine=machine).facts()
        assert (facts.arch, facts.byte_order) == (arch, order)


class TestLinuxOs:
    @pytest.mark.parametrize('files, expected', [
        ({'/etc/openwrt_release': "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='18.06.1'\nDISTRIB_REVISION='r7258-5eb055306f'\n"}, 'OpenWrt 18.06.1'),
        ({'/etc/openwrt_release': "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='SNAPSHOT'\nDISTRIB_REVISION='r9867-43e8c37'\n"},
         'OpenWrt SNAPSHOT r9867-43e8c37'),
        ({'/etc/os-release': 'NAME="OpenWrt"\nVERSION="22.03-SNAPSHOT"\n'}, 'OpenWrt 22.03-SNAPSHOT'),
        ({'/etc/os-release': 'NAME="Debian GNU/Linux"\nVERSION="12 (bookworm)"\nVERSION_ID="12"\n'}, 'Debian GNU/Linux 12'),
        ({'/etc/os-release': 'NAME="Alpine Linux"\nVERSION_ID=3.20.1\n'}, 'Alpine Linux 3.20.1'), ({}, None)])
    def test_name_and_release(self, files, expected):
        assert linux(files).facts().os == expected


# --- FreeBSD ------------------------------------------------------------------------------------

class TestFreeBsdSensors:
    APU = {'dev.cpu.0.temperature': '57.0C', 'dev.cpu.0.freq': '1000', 'hw.pagesize': '4096',
           'dev.cpu.0.freq_levels': '1000/-1 875/-1 750/-1 625/-1 500/-1 375/-1 250/-1 125/-1',
           'kern.cp_time': '12700 1270 6350 2540 1270000', 'kern.clockrate': '{ hz = 1000, tick = 1000, profhz = 8126, stathz = 127 }',
           'vm.stats.vm.v_free_count': '100000', 'vm.stats.vm.v_inactive_count': '20000', 'hw.ncpu': '2', 'hw.physmem': '4261675008',
           'hw.model': 'AMD G-T40E Processor', 'hw.machine_arch': 'amd64', 'hw.clockrate': '1000', 'kern.vm_guest': 'none'}

    def test_ticks(self):
        assert freebsd(self.APU).ticks() == Ticks(180.0, 10000.0)
        each = {**self.APU, 'kern.cp_times': '12700 0 6350 1270 635000 0 1270 0 1270 635000'}
        assert freebsd(each).ticks() == Ticks(180.0, 10000.0, (160.0, 20.0))

    @pytest.mark.parametrize('change', [
        {'kern.cp_time': '1 2 3'}, {'kern.cp_time': ''}, {'kern.clockrate': '{ hz = 1000 }'}, {'kern.clockrate': ''},
        {'kern.clockrate': '{ hz = 1000, tick = 1000, profhz = 8126, stathz = 0 }'}])
    def test_no_ticks(self, change):
        assert freebsd(dict(self.APU, **change)).ticks() is None

    def test_clock_and_heat(self):
        machine = freebsd(self.APU)
        assert machine.sense()[0] == [1000]
        assert machine.highest_clock() == 1000
        assert machine.sense()[1] == 57.0

    def test_turbo_is_no_highest_clock(self):
        machine = freebsd({'dev.cpu.0.freq_levels': '2501/35000 2500/35000 2200/29755 800/9140', 'dev.cpu.0.freq': '800'})
        assert machine.highest_clock() == 2500 == machine.facts().mhz
        assert machine.sense()[0] == [800]

    def test_available_kb(self):
        assert freebsd(self.APU).available_kb() == 480000

    def test_facts(self):
        facts = freebsd(self.APU).facts()
        assert facts[1:6] == ('AMD G-T40E', 1000.0, 'dev.cpu.0.freq_levels', 2, 'amd64')
        assert facts.memory_mb == 4064 and facts.virtual is None and facts.byte_order == 'little'
        assert facts.os == 'FreeBSD 14.3-RELEASE'

    def test_nothing_at_all(self):
        machine = freebsd({})
        assert (machine.ticks(), machine.sense()[0], machine.sense()[1], machine.available_kb(), machine.highest_clock()) == (
            None, [], None, None, None)
        assert machine.facts() == rb.Facts(arch='amd64', byte_order='little', os='FreeBSD 14.3-RELEASE', kernel='14.3-RELEASE')
        assert not machine.slow_crypto()

    @pytest.mark.parametrize('value', ['', 'x', '-1', '1.2.3', '\u00b2', pytest.param('9' * 400, id='endless'), '{ }', '0'])
    def test_values_that_make_no_sense(self, value):
        machine = freebsd({key: value for key in self.APU}, files={'/var/run/dmesg.boot': 'CPU: x (1.2.3-MHz K8-class CPU)\n'})
        facts = machine.facts()
        assert facts.mhz is None or facts.mhz < 1e6
        assert machine.ticks() is None and machine.sense()[1] is None
        machine.sense()[0], machine.available_kb(), machine.highest_clock()


KLDSTAT = ('Id Refs Address                Size Name\n 1   29 0xffffffff80200000  1f3c500 kernel\n'
           ' 5    1 0xffffffff82a21000     3f60 aesni.ko\n')


class TestFreeBsdSlowCrypto:
    @pytest.mark.parametrize('text, expected', [
        (KLDSTAT + ' 6    1 0xffffffff82a25000     1b20 cryptodev.ko\n', True), (KLDSTAT, False), ('', False),
        (KLDSTAT + '20    1 0xffffffff82f88000     4390 qat.ko\n', False)])
    def test_cryptodev(self, text, expected):
        assert freebsd({}, {'kldstat': text}).slow_crypto() is expected


class TestFreeBsdOs:
    @pytest.mark.parametrize('files, expected', [
        ({'/etc/platform': 'pfSense\n', '/etc/version': '2.7.2-RELEASE\n'}, 'pfSense 2.7.2-RELEASE'),
        ({'/etc/platform': 'nanobsd\n', '/etc/version': '2.3.2-RELEASE\n'}, 'pfSense 2.3.2-RELEASE'),
        ({'/usr/local/opnsense/version/core': '{"product_name": "OPNsense", "product_version": "26.7.4"}'}, 'OPNsense 26.7.4'),
        ({'/usr/local/opnsense/version/core': '{"product_name"'}, 'FreeBSD 14.3-RELEASE'),
        ({'/usr/local/opnsense/version/core': '[1]'}, 'FreeBSD 14.3-RELEASE'), ({}, 'FreeBSD 14.3-RELEASE')])
    def test_name_and_release(self, files, expected):
        assert freebsd({}, files=files).facts().os == expected


# --- both ---------------------------------------------------------------------------------------

class TestMachineOf:
    def test_platform(self):
        assert isinstance(freebsd({}), rb.FreeBsdMachine)
        assert isinstance(linux({}), rb.LinuxMachine)

    def test_without_uname(self):
        facts = rb.machine_of(FakeHost(files={'/proc/cpuinfo': 'cpu model : MIPS 24Kc V7.4\n'})).facts()
        assert facts.cpu == 'MIPS 24Kc'
        assert (facts.kernel, facts.arch, facts.byte_order) == (None, None, None)

    @pytest.mark.parametrize('text', ['', '\n', 'Linux', 'uname: illegal option -- s\n', '\x1b[2J\x07 x', 'a b c d e f g\n' * 3])
    def test_garbage(self, text):
        facts = rb.machine_of(FakeHost(answers={'uname': text})).facts()
        assert facts == rb.Facts()

    @pytest.mark.parametrize('ran', [Ran((), 1, 'Linux 6.1 mips\n'), Ran((), 139, ''), Ran((), 126, '', 'permission denied')])
    def test_uname_that_fails(self, ran):
        assert rb.machine_of(FakeHost(answers={'uname': ran})).facts() == rb.Facts()

    def test_another_system(self):
        assert rb.machine_of(FakeHost(answers={'uname': 'Haiku 1 x86_64\n'})).facts().arch == 'x86_64'

    HOSTILE = '\x1b[2J\x07a\u202eb\x9b1m\x00 192 "x"\n'

    @pytest.mark.parametrize('system', ['Linux', 'FreeBSD'])
    def test_hostile_text_everywhere(self, system):
        names = ['/proc/cpuinfo', '/proc/meminfo', '/proc/stat', '/etc/os-release', '/etc/openwrt_release', '/etc/platform', '/etc/version',
                 '/tmp/sysinfo/model', '/proc/device-tree/model', CPU + '/online', '/var/run/dmesg.boot', '/sys/hypervisor/type',
                 CPU + '/cpufreq/policy0/scaling_governor', CPU + '/cpufreq/policy0/cpuinfo_max_freq', '/sys/class/dmi/id/sys_vendor']
        keys = ('cpu model', 'model name', 'machine', 'system type', 'cpu', 'model', 'clock', 'flags')
        files = {name: self.HOSTILE for name in names}
        files['/proc/cpuinfo'] = ''.join('%s : %s' % (key, self.HOSTILE) for key in keys)
        files['/etc/os-release'] = ''.join('%s=%s' % (key, self.HOSTILE) for key in ('NAME', 'VERSION', 'OPENWRT_DEVICE_PRODUCT'))
        asked = ('hw.model', 'hw.machine_arch', 'hw.ncpu', 'hw.physmem', 'hw.clockrate', 'kern.vm_guest', 'dev.cpu.0.freq_levels')
        answers = {'uname': system + ' \x1b[1m6.1 x86\x07_64\n', 'dmesg': 'MIPS: machine is ' + self.HOSTILE,
                   'sysctl': ''.join('%s=%s' % (key, self.HOSTILE) for key in asked),
                   'kenv': ''.join('smbios.system.%s="%s"\n' % (key, self.HOSTILE[:-1]) for key in ('maker', 'product', 'version'))}
        machine = rb.machine_of(FakeHost(files=files, answers=answers))
        for value in machine.facts():
            assert not isinstance(value, str) or value == rb.plain(value) != ''
        assert machine.ticks() is None and machine.sense()[0] == [] and machine.available_kb() in (None, 192)


class TestInstallHint:
    @pytest.mark.parametrize('answers, files, expected', [
        ({'opkg': ''}, {'/etc/openwrt_release': "DISTRIB_ID='OpenWrt'\n"}, 'opkg update && opkg install openvpn-openssl'),
        ({'apk': ''}, {'/etc/openwrt_release': "DISTRIB_ID='OpenWrt'\n"}, 'apk update && apk add openvpn-openssl'),
        ({'apk': ''}, {}, 'apk update && apk add openvpn'), ({'pkg': ''}, {}, 'pkg install openvpn'), ({'apt-get': ''}, {}, 'apt-get install openvpn'),
        ({'dnf': ''}, {}, 'dnf install openvpn'), ({'pacman': ''}, {}, 'pacman -S openvpn'), ({}, {}, 'install the package `openvpn`')])
    def test_openvpn(self, answers, files, expected):
        assert rb.install_hint(FakeHost(files=files, answers=answers), 'openvpn') == expected

    def test_another_tool(self):
        assert rb.install_hint(FakeHost(answers={'opkg': ''}), 'iperf3') == 'opkg update && opkg install iperf3'


class TestClockIsSet:
    @pytest.mark.parametrize('wall, expected', [
        (37, False), (0, False), (1609459200, False), (1767225599, False), (1767225600, True), (1767322800, True), (1.9e9, True)])
    def test_year(self, wall, expected):
        assert rb.clock_is_set(FakeHost(wall=wall)) is expected

    def test_ntp_during_the_run(self):
        host = FakeHost(wall=37)
        assert not rb.clock_is_set(host)
        host.wall = 1767322800
        assert rb.clock_is_set(host)


class TestMemoryDisksOfAHost:
    def test_through_mount(self):
        host = FakeHost(answers={'mount': 'tmpfs on /tmp type tmpfs (rw,nosuid,nodev,noatime)\n'})
        assert rb.memory_disks(host.output('mount')) == ['/tmp']


class TestForeign:
    """A foreign root under qemu-user sees the /proc of the machine around it."""

    def test_the_processor_is_not_the_hosts(self):
        cpuinfo = 'processor : 0\nvendor_id : GenuineIntel\nmodel name : Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz\nflags : fpu aes\n'
        host = FakeHost(files={'/proc/cpuinfo': cpuinfo, '/bin/sh': b'\x7fELF\x01\x01' + bytes(14)},
                        answers={'uname': 'Linux 6.1.0 mips', 'dmesg': 'tsc: Detected 3600.0 MHz processor'})
        facts = rb.machine_of(host).facts()
        assert (facts.cpu, facts.mhz, facts.aes, facts.arch, facts.virtual) == (None, None, None, 'mipsel', 'qemu')

    def test_a_release_without_a_number_has_a_name(self):
        host = FakeHost(files={'/etc/os-release': 'NAME="Debian GNU/Linux"\nVERSION_CODENAME=forky\n'},
                        answers={'uname': 'Linux 6.1.0 x86_64'})
        assert rb.machine_of(host).facts().os == 'Debian GNU/Linux forky'
