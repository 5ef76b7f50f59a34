"""The crypto drivers of kernel and library: what the lists of real machines say, which advice follows, and `run kernel`
and `run openssl` against look-alikes whose costs are known. The real ones are in test_crypto_lab.py."""

import errno
import hashlib
import hmac
import json
import os
import shutil
import socket
import struct
import subprocess

import pytest

import fakes
import routerbench as rb
from fakes import FakeHost, FakeOpenvpn, agent, context_of, lines_of, machine_host

LISTS = os.path.join(fakes.HERE, 'crypto')
with open(os.path.join(LISTS, 'expected.json'), encoding='utf-8') as expected_file:
    EXPECTED = json.load(expected_file)
NAMES = sorted(EXPECTED)


def listed(name):
    """The text of tests/crypto/NAME.txt."""
    with open(os.path.join(LISTS, name + '.txt'), encoding='utf-8') as file:
        return file.read()


def drivers_of(name):
    """The drivers in it."""
    text = listed(name)
    return rb.parse_attached(text, text) if 'freebsd' in name or 'pfsense' in name else rb.parse_crypto(text)


def entry(name, driver, module='kernel', priority=100, selftest='passed'):
    """One entry of /proc/crypto."""
    return 'name         : %s\ndriver       : %s\nmodule       : %s\npriority     : %d\nselftest     : %s\ninternal     : no\n\n' % (
        name, driver, module, priority, selftest)


# --- lists of drivers ---------------------------------------------------------------------------

class TestLists:
    @pytest.mark.parametrize('name', NAMES)
    def test_who_is_picked(self, name):
        drivers = drivers_of(name)
        found = {algorithm: rb.picked(drivers, algorithm) for algorithm in EXPECTED[name]}
        assert {algorithm: best and [best.driver, best.kind, best.unit] for algorithm, best in found.items()} == EXPECTED[name]

    def test_every_list_has_its_answers(self):
        assert NAMES == sorted(file[:-4] for file in os.listdir(LISTS) if file.endswith('.txt'))

    @pytest.mark.parametrize('name', NAMES)
    def test_internal_ones_are_nobodys(self, name):
        assert not [driver for driver in drivers_of(name) if driver.driver.startswith('__') and rb.usable(driver)]

    def test_r51_skips_internal_and_untested_ones(self):
        best = rb.picked(drivers_of('untested-engine-made-up'), 'cbc(aes)')
        assert (best.driver, best.priority, best.selftest) == ('cbc-aes-ce', 300, 'passed')
        assert [driver.selftest for driver in drivers_of('untested-engine-made-up')] == ['passed', None, 'passed', 'unknown']

    def test_r51_without_blank_lines(self):
        text = listed('untested-engine-made-up')
        assert rb.parse_crypto(text.replace('\n\n', '\n')) == rb.parse_crypto(text) == rb.parse_crypto(text.replace('\n\n', '\n--\n\n'))

    def test_windows_line_ends(self):
        assert rb.parse_crypto(listed('x86_64-aesni-5.4').replace('\n', '\r\n')) == drivers_of('x86_64-aesni-5.4')

    def test_among_equals_the_first(self):
        drivers = rb.parse_crypto(entry('sha1', 'one') + entry('sha1', 'two'))
        assert rb.picked(drivers, 'sha1').driver == 'one'

    def test_priority_0_is_usable_where_nothing_else_is(self):
        assert rb.picked(rb.parse_crypto(entry('md5', 'md5-generic', priority=0)), 'md5').driver == 'md5-generic'

    @pytest.mark.parametrize('text', ['', '\n\n', 'cat: /proc/crypto: No such file or directory\n', 'driver : x\n', 'name', ':::\n', '\x00\x01'])
    def test_nothing_to_read(self, text):
        assert rb.parse_crypto(text) == []

    def test_a_priority_that_is_none(self):
        assert rb.parse_crypto('name : sha1\ndriver : sha1-x\npriority : high\n')[0].priority == 0

    def test_text_for_a_terminal(self):
        driver = rb.parse_crypto('name : a\x1b[2Jb\ndriver : c\x07d\nmodule : e\x9bf\n')[0]
        assert [driver.name, driver.driver, driver.module] == ['a [2Jb', 'c d', 'e f']


class TestKinds:
    @pytest.mark.parametrize('driver,module,kind,unit', [
        ('aes-generic', 'aes_generic', 'generic', 'C'), ('cbc(aes-generic)', 'cbc', 'generic', 'C'),
        ('gcm_base(ctr(aes-generic),ghash-generic)', 'gcm', 'generic', 'C'), ('cbc(ecb(aes-fixed-time))', 'kernel', 'generic', 'C'),
        ('sha256-lib', 'kernel', 'library', 'kernel library'),
        ('cbc-aes-aesni', 'aesni_intel', 'instructions', 'AES-NI'), ('xts-aes-vaes-avx512', 'aesni_intel', 'instructions', 'AES-NI'),
        ('cryptd(__ecb-aes-aesni)', 'cryptd', 'instructions', 'AES-NI'), ('generic-gcm-aesni', 'aesni_intel', 'instructions', 'AES-NI'),
        ('cbc-aes-ce', 'aes_ce_blk', 'instructions', 'ARM CE'), ('sha1-ce', 'kernel', 'instructions', 'ARM CE'),
        ('cbc-aes-neonbs', 'aes_neon_bs', 'instructions', 'NEON'), ('sha256-arm64-neon', 'sha256_arm64', 'instructions', 'NEON'),
        ('cbc-ppc-spe', 'aes_ppc_spe', 'instructions', 'SPE'), ('sha256-ppc-spe', 'sha256_ppc_spe', 'instructions', 'SPE'),
        ('md5-ppc', 'md5_ppc', 'instructions', 'assembler'), ('chacha20-mips', 'chacha_mips', 'instructions', 'assembler'),
        ('aes-arm', 'aes_arm', 'instructions', 'assembler'), ('octeon-sha256', 'octeon_sha256', 'instructions', 'Octeon'),
        ('cbc-aes-padlock', 'padlock_aes', 'instructions', 'PadLock'), ('sha256-padlock-nano', 'padlock_sha', 'instructions', 'PadLock'),
        ('p8_aes_cbc', 'vmx_crypto', 'instructions', 'POWER'), ('sha256-ssse3', 'sha256_ssse3', 'instructions', 'x86 SIMD'),
        ('cbc-aes-riscv64-zvkned', 'aes_riscv64', 'instructions', 'RISC-V'),
        ('mv-cbc-aes', 'kernel', 'engine', 'CESA'), ('safexcel-authenc-hmac-sha1-cbc-aes', 'crypto_safexcel', 'engine', 'SafeXcel'),
        ('hmac(sha256-eip93)', 'crypto_hw_eip93', 'engine', 'EIP93'), ('authenc(hmac(sha1-eip93),cbc(aes-eip93))', 'crypto_hw_eip93', 'engine', 'EIP93'),
        ('cbc-aes-qce', 'qcrypto', 'engine', 'QCE'), ('cbc-aes-caam', 'kernel', 'engine', 'CAAM'), ('cbc-aes-caam-qi2', 'dpaa2_caam', 'engine', 'CAAM'),
        ('authenc-hmac-sha1-cbc-aes-talitos-hsna', 'talitos', 'engine', 'talitos'), ('cbc(aes)-ixp4xx', 'ixp4xx_crypto', 'engine', 'IXP4xx'),
        ('cbc-aes-ccp', 'ccp_crypto', 'engine', 'CCP'), ('qat_aes_cbc_hmac_sha256', 'intel_qat', 'engine', 'QAT'),
        ('ss-cbc-aes', 'kernel', 'engine', 'Allwinner CE'), ('cbc-aes-sun8i-ce', 'sun8i_ce', 'engine', 'Allwinner CE'),
        ('cbc-aes-geode', 'geode_aes', 'engine', 'Geode'), ('omap-sha256', 'omap_sham', 'engine', 'OMAP'), ('cbc-aes-omap', 'omap_aes_driver', 'engine', 'OMAP'),
        ('cbc-aes-rk', 'rk_crypto', 'engine', 'Rockchip'), ('rk-sha256', 'rk_crypto', 'engine', 'Rockchip'),
        ('cbc-aes-iproc', 'bcm_crypto_spu', 'engine', 'Broadcom SPU'), ('cbc-aes-nx', 'nx_crypto', 'engine', 'POWER NX'),
        ('authenc(hmac(sha1-generic),cbc-aes-aesni)', 'authenc', 'mixed', 'C + AES-NI'),
        ('jitterentropy_rng', 'jitterentropy_rng', None, None), ('ecb-cipher_null', 'kernel', None, None)])
    def test_by_name(self, driver, module, kind, unit):
        assert rb.driver_kind(driver, module) == (kind, unit)

    @pytest.mark.parametrize('driver,module', [('ecb-aes-sl3516', 'sl3516_ce'), ('cbc-aes-dcp', 'mxs_dcp'), ('starfive-cbc-aes', 'jh7110_crypto')])
    def test_an_engine_is_never_taken_for_the_processor(self, driver, module):
        assert rb.driver_kind(driver, module)[0] in ('engine', None)

    def test_the_module_is_asked_where_the_driver_does_not_tell(self):
        assert rb.driver_kind('aes', 'padlock_aes') == ('instructions', 'PadLock')


class TestFreeBsd:
    @pytest.mark.parametrize('line', [
        'padlock0: No ACE support.', 'aesni0: No AES or SHA support.', 'aesni0: No AESNI support.', 'armv8crypto0: CPU lacks AES instructions'])
    def test_looks_like_a_hit_and_is_none(self, line):
        assert rb.parse_attached(line + '\n', '') == []

    @pytest.mark.parametrize('line,algorithms', [
        ('aesni0: <AES-CBC,AES-XTS> on motherboard', ['cbc(aes)', 'xts(aes)']),
        ('aesni0: <AES-CBC,AES-CCM,AES-GCM,AES-ICM,AES-XTS>', ['cbc(aes)', 'ctr(aes)', 'gcm(aes)', 'xts(aes)']),
        ('aesni0: <AES-CBC,AES-CCM,AES-GCM,AES-ICM,AES-XTS,SHA1,SHA256>', ['cbc(aes)', 'ctr(aes)', 'gcm(aes)', 'sha1', 'sha256', 'xts(aes)'])])
    def test_what_the_driver_says_it_can(self, line, algorithms):
        assert sorted(driver.name for driver in rb.parse_attached(line + '\n', '')) == algorithms

    def test_an_engine_goes_before_instructions_and_these_before_software(self):
        boot = 'cryptosoft0: <software crypto>\naesni0: <AES-CBC,AES-XTS>\nqat0: <Intel c3xxx QuickAssist> mem 0xdf000000-0xdf03ffff\n'
        drivers = sorted((driver for driver in rb.parse_attached(boot, '') if driver.name == 'cbc(aes)'), key=lambda driver: -driver.priority)
        assert [driver.unit for driver in drivers] == ['QAT', 'AES-NI', 'C']

    def test_words_elsewhere_in_the_log(self):
        assert rb.parse_attached('uhub0: <x aesni0: y>\n    device     = \'Atom processor C2000 QAT\'\nnone0@pci0: qat0: no\n', 'a qat_c3xxx_fw.ko\n') == []


# --- what OpenSSL prints ------------------------------------------------------------------------

DEVCRYPTO = '''(devcrypto) /dev/crypto engine
 [DES-CBC, DES-EDE3-CBC, BF-CBC, AES-128-CBC, AES-192-CBC, AES-256-CBC, AES-128-CTR, AES-192-CTR, AES-256-CTR, AES-128-ECB, CAMELLIA-128-CBC,
CAMELLIA-192-CBC, CAMELLIA-256-CBC,MD5, SHA1, RIPEMD160, SHA224, SHA256, SHA384, SHA512]
     [ available ]
(rdrand) Intel RDRAND engine
 [RAND]
     [ available ]
(dynamic) Dynamic engine loading support
     [ unavailable ]
'''
PADLOCK = '''(padlock) VIA PadLock (no-RNG, no-ACE)
     [ unavailable ]
(gost) Reference implementation of GOST engine
     [ available ]
'''
LEGACY = '''Providers:
  default
    name: OpenSSL Default Provider
    version: 3.0.13
    status: active
  legacy
    name: OpenSSL Legacy Provider
    version: 3.0.13
    status: inactive
  qatprovider
    name: QAT Provider
    version: 1.6.0
    status: active
'''


class TestOpensslsWords:
    @pytest.mark.parametrize('text,engines', [
        (DEVCRYPTO, ['devcrypto']), (PADLOCK, ['gost']), ('', []), ('(dynamic) Dynamic engine loading support\n     [ unavailable ]\n', []),
        ('(afalg) AFALG engine support\n [AES-128-CBC, AES-192-CBC, AES-256-CBC]\n     [ available ]\n', ['afalg']),
        ('(rdrand) Intel RDRAND engine\n(dynamic) Dynamic engine loading support\n', [])])
    def test_engines(self, text, engines):
        assert rb.parse_engines(text) == engines

    @pytest.mark.parametrize('text,providers', [
        ('Providers:\n  default\n    name: OpenSSL Default Provider\n    version: 3.0.22\n    status: active\n', ['default']),
        (LEGACY, ['default', 'qatprovider']), ('', []), ('list: Option -providers needs a value\n', [])])
    def test_providers(self, text, providers):
        assert rb.parse_providers(text) == providers

    def test_speed_of_10(self):
        text = ('+DT:aes-128-cbc:3:64\n+R:36835089:aes-128-cbc:3.000000\n+DT:aes-128-cbc:3:1024\n+R:2355683:aes-128-cbc:2.990000\n'
                '+DT:aes-128-cbc:3:8192\n+R:294508:aes-128-cbc:2.990000\n+H:16:64:256:1024:8192\n'
                '+F:22:aes-128-cbc:728616225.50:785815232.00:802015232.00:806762338.46:806892821.40\n')
        assert rb.parse_speed(text) == {64: (36835089, 3.0), 1024: (2355683, 2.99), 8192: (294508, 2.99)}

    @pytest.mark.parametrize('name', ['aes-256-gcm', 'AES-256-GCM', 'ChaCha20-Poly1305', 'id-aes256-GCM', 'sha256'])
    def test_speed_of_one_size(self, name):
        text = '+DT:%s:1:1024\r\n+R:1880095:%s:0.990000\r\n+H:1024\r\n+F:25:%s:1944663919.19\r\n' % (name, name, name)
        assert rb.parse_speed(text) == {1024: (1880095, 0.99)}

    def test_speed_between_other_words(self):
        text = 'You have chosen to measure elapsed time instead of user CPU time.\n+DT:aes-128-cbc:1:16\nDoing nothing\n+R:5:aes-128-cbc:1.000000\n'
        assert rb.parse_speed(text) == {16: (5, 1.0)}

    def test_speed_of_several_processes_is_of_one_or_of_all(self):
        text = ('Forked child 0\n+DT:AES-128-CBC:1:1024\n+DT:AES-128-CBC:1:1024\n+R:1443634:AES-128-CBC:1.000000\n+R:1450418:AES-128-CBC:1.000000\n'
                'Forked child 1\nGot: +H:1024 from 0\nGot: +F:25:AES-128-CBC:1478281216.00 from 0\nGot: +H:1024 from 1\n'
                'Got: +F:25:AES-128-CBC:1485228032.00 from 1\n+F:25:AES-128-CBC:2963509248.00\n')
        assert rb.parse_speed(text)[1024] in ((1443634, 1.0), (1450418, 1.0), (1443634 + 1450418, 1.0))

    @pytest.mark.parametrize('text', [
        '', 'speed: nosuch is an unknown cipher or digest\n', '+DT:aes-128-cbc:1:16\n', '+R:1:aes-128-cbc:1.0\n', '+DT:a:1:16\n+R:7:a:0.000000\n',
        '+DT:a:1:16\n+DT:a:1:64\n', 'type           8192 bytes\nChaCha20-Poly1305  4855646.64k\n'])
    def test_no_speed(self, text):
        assert rb.parse_speed(text) == {}


# --- advice -------------------------------------------------------------------------------------

N100, APU2 = 'x86_64-n100-2cpu-openwrt', 'amd64-gx412tc-2cpu-pfsense-xen'
MT7621, WDR4900 = 'mipsel-1004kc-mt7621-2cpu-openwrt', 'ppc-e500v2-p1014-1cpu-openwrt'
A53, ARMADA = 'aarch64-cortexa53-mt7622-2cpu-openwrt', 'armv7-cortexa9-armada388-2cpu-linux'
GENERIC = 'mipsel-24kc-generic-unused-emulated'
KLDSTAT = 'Id Refs Address                Size Name\n 1   29 0xffffffff80200000  1f3c500 kernel\n'
AESNI_KO = ' 5    1 0xffffffff82a21000     3f60 aesni.ko\n'
CRYPTODEV_KO = ' 6    1 0xffffffff82a25000     1b20 cryptodev.ko\n'


def on(machine, crypto=None, modules='', **answers):
    """A machine of tests/machines with that list of drivers (its name in tests/crypto, or its text) and those modules."""
    files = {'/proc/modules': modules}
    if crypto:
        files['/proc/crypto'] = listed(crypto) if crypto in EXPECTED else crypto
    return machine_host(machine, files=files, answers=answers)


def advice_on(host):
    """What routerbench advises there."""
    machine = rb.machine_of(host)
    return rb.crypto_advice(machine.facts(), rb.providers_of(machine))


ADVICE = {  # the machine: for each piece of advice words that are in it
    'AES-NI on the generic driver': (lambda: on(N100, 'x86_64-fixed-time-6.18'), [('AES-NI', 'cbc(ecb(aes-fixed-time))', '`aesni_intel`')]),
    'AES-NI in use': (lambda: on(N100, 'x86_64-aesni-5.4'), []),
    'ARM CE on the generic driver': (lambda: on(A53, GENERIC), [('ARMv8 AES', 'cbc(aes-generic)', '`aes_ce_blk`')]),
    'ARM CE in use': (lambda: on(A53, 'aarch64-ce-modules'), []),
    'H616, the engine outranked': (lambda: on(A53, 'aarch64-h616-ce-engine'), [
        ('Allwinner CE', 'outranked', 'ARM CE', 'cbc(aes)', 'ctr(aes)', 'ecb(aes)', 'xts(aes)')]),
    'CESA': (lambda: on(ARMADA, 'armv7-armada388-cesa-neonbs'), []),
    'CESA, its digest demoted': (lambda: on(ARMADA, 'armv7-armada385-cesa-6.15'), [('CESA', 'outranked', 'hmac(sha256)')]),
    'an engine that was never tested': (lambda: on(ARMADA, entry('cbc(aes)', 'mv-cbc-aes', 'marvell_cesa', 300, 'unknown') + entry('cbc(aes)', 'cbc-aes-neonbs', priority=250)),
                                        [('CESA', 'self-test', '`unknown`', 'cbc(aes)')]),
    'an untested driver that is no engine': (lambda: on(N100, listed('x86_64-aesni-5.4') + listed('x86_64-fips')), []),
    'MT7621 with EIP93': (lambda: on(MT7621, 'mipsel-mt7621-eip93'), []),
    'MT7621 without': (lambda: on(MT7621, GENERIC), [('EIP93', 'kmod-crypto-hw-eip93')]),
    'MIPS 24Kc': (lambda: on('mips-24kc-ar7161-1cpu-openwrt', GENERIC), [('MIPS', 'ChaCha20')]),
    'WDR4900 without SPE': (lambda: on(WDR4900, GENERIC), [('SPE', '`aes_ppc_spe`', '`sha1_ppc_spe`')]),
    'WDR4900 with SPE': (lambda: on(WDR4900, 'ppc-e500v2-spe-made-up'), []),
    'PadLock in use': (lambda: on('i686-via-esther-1cpu-linux', 'i686-esther-padlock-2.6.20'), []),
    'PadLock on the generic driver': (lambda: on('i686-via-esther-1cpu-linux', GENERIC), [('PadLock', '`padlock_aes`')]),
    'POWER9 on the generic driver': (lambda: on('ppc64le-power9-1cpu-rhel', GENERIC), [('AES instructions', '`vmx_crypto`')]),
    'no list at all': (lambda: on(N100), []),
    'APU2, PadLock is not meant': (lambda: on(APU2), [('AES-NI', 'cryptosoft0', '`aesni`', 'kldload')]),
    'APU2, aesni loaded after the boot messages were kept': (lambda: on(APU2, kldstat=KLDSTAT + AESNI_KO), []),
    'FreeBSD with AES-NI': (lambda: on('amd64-atom-c2758-8cpu-freebsd16', kldstat=KLDSTAT + AESNI_KO), []),
    'FreeBSD with AES-NI and cryptodev': (lambda: on('amd64-atom-c2758-8cpu-freebsd16', kldstat=KLDSTAT + AESNI_KO + CRYPTODEV_KO), [('cryptodev', 'slower')]),
    'FreeBSD with cryptodev and no AES-NI': (lambda: on('amd64-g-t40e-2cpu-pfsense-nanobsd', kldstat=KLDSTAT + CRYPTODEV_KO), []),
    'DCO build without its module': (lambda: on(N100, 'x86_64-aesni-5.4', openvpn=FakeOpenvpn('2.6')), [('DCO', '`ovpn`', '`ovpn-dco-v2`')]),
    'DCO build with its module': (lambda: on(N100, 'x86_64-aesni-5.4', 'ovpn_dco_v2 65536 0 - Live 0x0\n', openvpn=FakeOpenvpn('2.6')), []),
    'DCO build with the module of 6.16': (lambda: on(N100, 'x86_64-aesni-5.4', 'ovpn 65536 0 - Live 0x0\n', openvpn=FakeOpenvpn('2.7')), []),
    'FreeBSD, DCO build without its module': (lambda: on('amd64-atom-c2758-8cpu-freebsd16', openvpn=FakeOpenvpn('2.6'), kldstat=KLDSTAT + AESNI_KO), [
        ('DCO', '`if_ovpn`')]),
    'FreeBSD, DCO build with its module': (lambda: on('amd64-atom-c2758-8cpu-freebsd16', openvpn=FakeOpenvpn('2.6'), kldstat=KLDSTAT + AESNI_KO
                                                      + ' 7    1 0xffffffff82a29000     b308 if_ovpn.ko\n'), []),
    'no DCO build': (lambda: on(N100, 'x86_64-aesni-5.4', openvpn=FakeOpenvpn('2.5')), [])}


@pytest.mark.parametrize('case', list(ADVICE))
def test_the_right_advice_and_no_other(case):
    host, wanted = ADVICE[case]
    advice = advice_on(host())
    assert len(advice) == len(wanted), advice
    assert all(any(all(word in text for word in words) for text in advice) for words in wanted), advice


def test_no_padlock_for_an_apu2():
    assert 'PadLock' not in ' '.join(advice_on(on(APU2)))


# --- crypto -------------------------------------------------------------------------------------

def report_on(host):
    """The Lines of `crypto` there."""
    context = context_of(host)
    session = rb.Session(context, context.machine.facts(), lambda line: None)
    session.measure(rb.CryptoReport(context), False)
    return session.lines


class TestReport:
    def test_a_line_for_each_algorithm_and_one_for_the_user_space(self):
        lines = report_on(on(N100, 'x86_64-aesni-5.4'))
        assert [line.algorithm for line in lines] == [*rb.VPN_ALGORITHMS, 'user space']
        assert {line.test for line in lines} == {'crypto'}
        for line in lines:
            assert json.loads(rb.line_json(line))['mbit_s'] is None

    def test_the_one_in_use_and_all_others(self):
        line = next(line for line in report_on(on(A53, 'aarch64-ce-modules')) if line.algorithm == 'sha256')
        assert (line.status, line.driver, line.extra['kind'], line.extra['unit']) == ('ok', 'sha256-ce', 'instructions', 'ARM CE')
        assert (line.extra['module'], line.extra['priority']) == ('sha2_ce', 200)
        assert [one['driver'] for one in line.extra['drivers']] == ['sha256-ce', 'sha256-arm64-neon', 'sha256-arm64', 'sha256-generic']

    def test_r52_what_is_not_listed_may_only_not_have_been_used(self):
        host = on('mips-24kc-ar7161-1cpu-openwrt', GENERIC)
        context = context_of(host)
        before = next(result.values for result in rb.CryptoReport(context).measure() if result.values['algorithm'] == 'gcm(aes)')
        assert (before['status'], before['reason'], before['driver']) == ('skipped', 'not-loaded', None)
        assert 'nobody has used it' in before['detail']
        host.files['/proc/crypto'] = listed('mipsel-24kc-generic-esp-emulated')
        after = next(result.values for result in rb.CryptoReport(context).measure() if result.values['algorithm'] == 'gcm(aes)')
        assert after['driver'] == 'gcm_base(ctr(aes-generic),ghash-generic)' and 'status' not in after

    def test_untested_ones_alone_are_not_in_use(self):
        line = next(line for line in report_on(on(ARMADA, entry('cbc(aes)', 'mv-cbc-aes', 'marvell_cesa', 300, 'unknown'))) if line.algorithm == 'cbc(aes)')
        assert (line.status, line.reason, line.driver) == ('skipped', 'not-loaded', None)
        assert 'self-test' in line.detail and line.extra['drivers'][0]['selftest'] == 'unknown'

    def test_the_user_space(self):
        host = on(N100, 'x86_64-fixed-time-6.18', **{
            'openssl version': 'OpenSSL 3.0.13 30 Jan 2024 (Library: OpenSSL 3.0.13 30 Jan 2024)\n', 'openssl engine -t -c': DEVCRYPTO,
            'openssl list -providers': LEGACY, 'openvpn': FakeOpenvpn('2.6')})
        last = report_on(host)[-1]
        assert last.library == 'OpenSSL 3.0.13'
        assert (last.extra['engines'], last.extra['providers'], last.extra['dco_build']) == (['devcrypto'], ['default', 'qatprovider'], True)
        assert 'OpenVPN' in last.extra['note'] and 'not with the kernel\'s drivers' in last.extra['note']
        assert len(last.extra['advice']) == 2 and 'aesni_intel' in last.extra['advice'][0] and 'DCO' in last.extra['advice'][1]

    def test_old_openssl_is_not_asked_for_providers(self):
        host = on(N100, **{'openssl version': 'OpenSSL 1.1.1w  11 Sep 2023\n', 'openssl engine -t -c': DEVCRYPTO})
        assert report_on(host)[-1].extra['providers'] == []
        assert ('openssl', 'list', '-providers') not in host.commands

    def test_nothing_is_loaded(self):
        host = on(N100, 'x86_64-fixed-time-6.18')
        report_on(host)
        assert not {argv[0] for argv in host.commands} & {'modprobe', 'insmod', 'rmmod', 'kldload', 'kldunload'}

    def test_freebsd(self):
        lines = report_on(on('amd64-atom-c2758-8cpu-freebsd16', kldstat=KLDSTAT + AESNI_KO + CRYPTODEV_KO))
        assert lines[0].driver == 'aesni0' and lines[0].extra['unit'] == 'AES-NI'
        assert not [line.method for line in lines if '/proc/crypto' in (line.method or '')]
        assert len(lines[-1].extra['advice']) == 1 and 'cryptodev-loaded' in lines[-1].warnings

    def test_for_people(self):
        text = rb.crypto_text(report_on(on(A53, 'aarch64-h616-ce-engine')))
        row = next(row for row in text.splitlines() if row.split()[:1] == ['cbc(aes)'])
        assert row.split()[1] == 'cbc-aes-ce' and 'ss-cbc-aes' in row and 'cbc-aes-neon' in row and '__driver' not in row
        assert 'Advice:\n  - The engine Allwinner CE' in text and 'not loaded' in text

    def test_for_people_without_advice(self):
        assert 'Advice' not in rb.crypto_text(report_on(on(N100, 'x86_64-aesni-5.4')))

    def test_as_a_process(self):
        ran = subprocess.run(agent('crypto'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
        lines = [json.loads(text) for text in ran.stdout.splitlines()]
        assert ran.returncode == 0 and 'Traceback' not in ran.stderr
        assert [line['algorithm'] for line in lines] == [*rb.VPN_ALGORITHMS, 'user space']
        assert all(list(line) == list(rb.Line._fields) for line in lines)
        assert 'driver in use' in ran.stderr and 'In user space:' in ran.stderr

    def test_as_a_quiet_process(self):
        ran = subprocess.run(agent('crypto', '--quiet'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
        assert ran.returncode == 0 and ran.stderr == '' and len(ran.stdout.splitlines()) == len(rb.VPN_ALGORITHMS) + 1


# --- run kernel ---------------------------------------------------------------------------------

ALGORITHMS = rb.kernel_algorithms()
INTO = {(one.vector.key, one.vector.iv, one.vector.associated, one.vector.plain): one.vector.result for one in ALGORITHMS}
BACK = {(one.vector.key, one.vector.iv, one.vector.associated, one.vector.result): one.vector.plain for one in ALGORITHMS}
MIRROR = bytes(range(255, -1, -1))  # what the look-alike does to data that it has no answer for: its own inverse
API = ('af_alg', 'algif_skcipher', 'algif_aead', 'algif_hash')
ALL = [(one.name, one.generic[0], 'kernel', 100) for one in ALGORITHMS]
CBC = [('cbc(aes)', 'cbc-aes-aesni', 'aesni_intel', 400), ('cbc(aes)', 'cbc(aes-generic)', 'kernel', 100)]
CESA = [('cbc(aes)', 'mv-cbc-aes', 'marvell_cesa', 300), ('cbc(aes)', 'cbc(aes-generic)', 'kernel', 100)]


class FakeCipher:
    """One opened driver of a FakeKernel."""

    def __init__(self, host, name, key, tag):
        self.host, self.name, self.key, self.tag, self.closed = host, name, key, tag, False

    def _spend(self, encrypt, size):
        if size > self.host.longest:
            raise OSError(errno.EINVAL, 'Invalid argument')
        call, byte = self.host.costs.get((self.name, encrypt), self.host.costs.get(self.name, (1e-3, 1e-7)))
        self.host.elapsed += call + byte * size

    def _spoiled(self, result, encrypt, size):
        flip = self.name in self.host.wrong and self.host.wrong[self.name](encrypt, size)
        return bytes([result[0] ^ (1 if encrypt else 2)]) + result[1:] if flip else result

    def cipher(self, data, out, encrypt, iv, associated=0):
        before, data = data[:associated], data[associated:]
        size = len(data) if encrypt else len(data) - self.tag
        self._spend(encrypt, size)
        known = (INTO if encrypt else BACK).get((self.key, iv, before, data))
        if known is None and not encrypt and data[size:] != b'T' * self.tag:
            raise OSError(errno.EBADMSG, 'Bad message')
        if known is None:
            known = data[:size].translate(MIRROR) + (b'T' * self.tag if encrypt else b'')
        result = before + self._spoiled(known, encrypt, size)
        assert len(out) == len(result), 'this would wait for ever'
        out[:] = result

    def digest(self, data, out):
        self._spend(True, len(data))
        code = hmac.new(self.key, data, 'sha1' if self.tag == 20 else 'sha256').digest()
        out[:] = self._spoiled(code, True, len(data))

    def close(self):
        self.closed = True


class FakeKernel(FakeHost):
    """A machine whose kernel lets programs use its crypto. A request of `size` bytes takes call + byte * size seconds on the
    host's own clock; `costs` has (call, byte) by driver or (driver, encrypt). `wrong` tells by driver for which
    (encrypt, size) one bit of the answer is false."""

    def __init__(self, drivers=(), modules=API, costs=None, wrong=None, longest=1 << 20, **more):
        files = {'/proc/modules': ''.join('%s 16384 0 - Live 0x0\n' % module for module in modules),
                 '/proc/crypto': ''.join(entry(*driver) for driver in drivers)}
        super().__init__(files=files, answers={'uname': 'Linux 6.1.0-21 x86_64\n', 'modprobe': '', **more})
        self.costs, self.wrong, self.longest = costs or {}, wrong or {}, longest
        self.opened = []

    def kernel_cipher(self, kind, name, key, tag):
        cipher = FakeCipher(self, name, key, tag)
        self.opened.append(cipher)
        return cipher

    def loaded(self):
        return [argv for argv in self.commands if argv[0] in ('modprobe', 'insmod', 'rmmod')]


def kernel_lines(host, *ciphers, **options):
    """(exit status, lines by driver) of `run kernel`."""
    status, lines = lines_of(host, tests=('kernel',), ciphers=ciphers, **options)
    return status, {line.driver: line for line in lines}


class TestKernel:
    def test_per_request_and_per_byte(self):
        costs = {'cbc-aes-aesni': (2e-4, 1.5e-8), 'cbc(aes-generic)': (5e-4, 1.2e-7)}
        _, lines = kernel_lines(FakeKernel(CBC, costs=costs), 'aes-128-cbc')
        for driver, (call, byte) in costs.items():
            extra = lines[driver].extra
            assert extra['per_request_us'] == pytest.approx(1e6 * call, rel=1e-3)
            assert extra['per_byte_ns'] == pytest.approx(1e9 * byte, rel=1e-3)
            assert extra['net_mbit_s'] == pytest.approx(8e-6 / byte, rel=1e-3) == pytest.approx(extra['net_mbit_s_1424'], rel=1e-3)
            for size in (16, 1424, 16384):
                assert extra['mbit_s_%d' % size] == pytest.approx(8e-6 * size / (call + byte * size), rel=1e-3)
            assert lines[driver].mbit_s == pytest.approx(8e-6 * 65536 / (call + byte * 65536), rel=1e-4)
            assert lines[driver].mbit_s == pytest.approx(lines[driver].mbit / lines[driver].seconds, rel=1e-3)

    def test_encrypting_and_decrypting(self):
        costs = {('cbc(aes-generic)', True): (1e-4, 2e-7), ('cbc(aes-generic)', False): (1e-4, 1e-7)}
        _, lines = kernel_lines(FakeKernel(CBC[1:], costs=costs), 'aes-128-cbc')
        line = lines['cbc(aes-generic)']
        into, back = (1e-4 + 65536 * byte for byte in (2e-7, 1e-7))
        assert line.extra['encrypt_mbit_s'] == pytest.approx(8e-6 * 65536 / into, rel=1e-3)
        assert line.extra['decrypt_mbit_s'] == pytest.approx(8e-6 * 65536 / back, rel=1e-3)
        assert line.mbit_s == pytest.approx(2 * 8e-6 * 65536 / (into + back), rel=1e-3)
        assert line.extra['per_byte_ns'] == pytest.approx(150, rel=1e-3)

    def test_a_digest_goes_one_way(self):
        _, lines = lines_of(FakeKernel(ALL), tests=('kernel',), ciphers=('none',))
        assert [(line.algorithm, line.cipher, line.auth) for line in lines] == [('SHA1', 'none', 'SHA1'), ('SHA256', 'none', 'SHA256')]
        assert all(line.status == 'ok' and line.extra['decrypt_mbit_s'] is None and line.mbit == pytest.approx(8e-6 * 65536, abs=1e-3) for line in lines)

    def test_side_by_side_by_their_own_names(self):
        status, lines = lines_of(FakeKernel(CBC), tests=('kernel',), ciphers=('aes-256-cbc',))
        assert status == 0
        assert [(line.driver, line.extra['kind'], line.extra['in_use'], line.extra['priority']) for line in lines if line.status == 'ok'] == [
            ('cbc-aes-aesni', 'instructions', True, 400), ('cbc(aes-generic)', 'generic', False, 100)]
        assert [line.method for line in lines][:1] == ['AF_ALG skcipher cbc-aes-aesni']

    @pytest.mark.parametrize('engine,generic,least', [((5e-4, 5e-9), (2e-5, 1e-7), 5053), ((2e-5, 5e-9), (2e-5, 1e-7), 0), ((1e-5, 5e-9), (2e-5, 1e-7), 0),
                                                      ((5e-4, 2e-7), (2e-5, 1e-7), None)])
    def test_from_which_size_an_engine_is_faster(self, engine, generic, least):
        _, lines = kernel_lines(FakeKernel(CESA, costs={'mv-cbc-aes': engine, 'cbc(aes-generic)': generic}), 'aes-128-cbc')
        found = lines['mv-cbc-aes'].extra['faster_from']
        assert found == least or abs(found - least) < 0.01 * least
        assert lines['cbc(aes-generic)'].extra['faster_from'] is None

    def test_no_comparison_without_a_generic_driver(self):
        _, lines = kernel_lines(FakeKernel(CBC[:1]), 'aes-128-cbc')
        assert lines['cbc-aes-aesni'].extra['faster_from'] is None

    def test_everything_that_ipsec_and_openvpn_use(self):
        status, lines = lines_of(FakeKernel(ALL), tests=('kernel',))
        assert (status, {line.status for line in lines}) == (0, {'ok'})
        assert {line.extra['name'] for line in lines} == {one.name for one in ALGORITHMS} - {'xts(aes)'}
        found = {(line.cipher, line.auth) for line in lines}
        assert found >= {(cipher, None) for cipher in ('aes-128-cbc', 'aes-256-cbc', 'aes-128-ctr', 'aes-256-ctr', 'aes-128-gcm', 'aes-256-gcm', 'chacha20-poly1305')}
        assert found >= {('aes-128-cbc', 'SHA1'), ('aes-256-cbc', 'SHA256'), ('none', 'SHA1'), ('none', 'SHA256')}

    def test_the_ceiling_of_ipsec_is_that_of_the_drivers_in_use(self):
        drivers = ALL + [('rfc4106(gcm(aes))', 'rfc4106-gcm-aesni', 'aesni_intel', 400)]
        status, lines = lines_of(FakeKernel(drivers, costs={'rfc4106-gcm-aesni': (1e-3, 8e-9)}), tests=('kernel',))
        text = rb.ipsec_ceiling([line for line in lines if line.status == 'ok'])
        assert 'AES-128-CBC + SHA1: about 80.00 Mbit/s' in text and 'AES-256-CBC + SHA256: about 80.00 Mbit/s' in text
        assert text.count('GCM') == 1 and '1000 Mbit/s' in text
        assert text in rb.summary(rb.Facts(), lines)

    def test_the_table_marks_the_one_in_use(self):
        _, lines = lines_of(FakeKernel(CBC), tests=('kernel',), ciphers=('aes-128-cbc',))
        rows = rb.driver_table([line for line in lines if line.status == 'ok']).splitlines()
        assert 'cbc-aes-aesni *' in rows[1] and 'cbc(aes-generic) ' in rows[2] and '*' not in rows[2]

    def test_quick_is_shorter_and_says_so(self):
        quick, full = FakeKernel(CBC), FakeKernel(CBC)
        _, lines = kernel_lines(quick, 'aes-128-cbc', quick=True)
        kernel_lines(full, 'aes-128-cbc')
        assert 'estimated' in lines['cbc-aes-aesni'].warnings and quick.elapsed < full.elapsed / 2

    def test_a_driver_that_is_listed_twice_is_measured_once(self):
        twice = [('ctr(aes)', 'ctr-aes-ce', 'aes_ce_blk', 300), ('ctr(aes)', 'ctr-aes-ce', 'aes_ce_blk', 299)]
        _, lines = lines_of(FakeKernel(twice), tests=('kernel',), ciphers=('aes-128-ctr',))
        assert [(line.driver, line.extra['in_use'], line.extra['priority']) for line in lines] == [('ctr-aes-ce', True, 300)]

    def test_what_was_opened_is_closed(self):
        host = FakeKernel(CBC, wrong={'cbc-aes-aesni': lambda encrypt, size: True})
        kernel_lines(host, 'aes-128-cbc')
        assert host.opened and all(cipher.closed for cipher in host.opened if cipher.name)


WRONG = {
    'always': lambda encrypt, size: True, 'only when decrypting': lambda encrypt, size: not encrypt,
    'only when encrypting': lambda encrypt, size: encrypt, 'only more than a block': lambda encrypt, size: size > 128,
    'only short data, decrypting': lambda encrypt, size: not encrypt and size <= 128}
LONG = {'encrypting': lambda encrypt, size: encrypt and size > 4096, 'decrypting': lambda encrypt, size: not encrypt and size > 4096}
CIPHERS = [one for one in ALGORITHMS if one.kind != 'hash']
DIGESTS = [one for one in ALGORITHMS if one.kind == 'hash']


def label(one):
    """For pytest."""
    return '%s of %s' % (one.cipher, one.name)


class TestWrongAnswers:
    @pytest.mark.parametrize('when', list(WRONG))
    @pytest.mark.parametrize('one', CIPHERS, ids=label)
    def test_a_driver_that_computes_wrongly_has_no_speed(self, one, when):
        self.check(one, WRONG[when])

    @pytest.mark.parametrize('when', list(LONG))
    @pytest.mark.parametrize('one', [one for one in CIPHERS if one.name in ('cbc(aes)', 'gcm(aes)')], ids=label)
    def test_wrong_only_for_the_long_requests_that_are_timed(self, one, when):
        self.check(one, LONG[when])

    @pytest.mark.parametrize('when', ['always', 'only more than a block'])
    @pytest.mark.parametrize('one', DIGESTS, ids=label)
    def test_a_wrong_digest_has_no_speed(self, one, when):
        self.check(one, WRONG[when])

    @staticmethod
    def check(one, wrong):
        drivers = [(one.name, 'the-engine', 'engine', 300), (one.name, one.generic[0], 'kernel', 100)]
        status, lines = lines_of(FakeKernel(drivers, wrong={'the-engine': wrong}), tests=('kernel',), ciphers=(one.cipher,), quick=True)
        found = [(line.status, line.reason, line.mbit_s, line.seconds, line.runs) for line in lines if line.driver == 'the-engine']
        assert (status, found) == (rb.EXIT_FAILED, [('failed', 'wrong-result', None, None, ())])

    def test_the_others_are_measured_all_the_same(self):
        status, lines = kernel_lines(FakeKernel(CBC, wrong={'cbc-aes-aesni': WRONG['always']}), 'aes-128-cbc')
        assert (status, lines['cbc-aes-aesni'].status, lines['cbc(aes-generic)'].status) == (rb.EXIT_FAILED, 'failed', 'ok')
        assert lines['cbc(aes-generic)'].extra['in_use'] is False

    @pytest.mark.parametrize('longest', [8, 1000, 8192, 20000])
    def test_a_driver_that_refuses_requests(self, longest):
        status, lines = kernel_lines(FakeKernel(CBC[1:], longest=longest), 'aes-128-cbc')
        line = lines['cbc(aes-generic)']
        assert (status, line.status, line.reason, line.mbit_s) == (rb.EXIT_FAILED, 'failed', 'tool-failed', None)


class TestRefusedMeanwhile:
    def test_a_driver_that_gives_up_costs_its_algorithm_only(self, monkeypatch):
        seconds = rb.KernelRun.seconds

        def tired(self, size, requests, encrypt):
            if self.algorithm.cipher == 'aes-128-ctr':
                raise OSError(5, 'Input/output error')
            return seconds(self, size, requests, encrypt)
        monkeypatch.setattr(rb.KernelRun, 'seconds', tired)
        status, lines = lines_of(FakeKernel(ALL), tests=('kernel',), ciphers=('aes-128-ctr', 'aes-256-ctr'))
        assert (status, [(line.cipher, line.status, line.mbit_s is None) for line in lines]) == (
            rb.EXIT_FAILED, [('aes-128-ctr', 'failed', True), ('aes-256-ctr', 'ok', False)])


def test_a_speed_of_nothing_is_none():
    assert rb.parse_speed('+DT:aes-128-cbc:1:16384\n+R:0:aes-128-cbc:1.000000\n') == {}


def test_a_librarys_name_cannot_reach_a_terminal_raw():
    host = FakeHost(answers={'openssl version': 'OpenSSL \x1b[31m3.0\n', 'openssl': '', 'uname': 'Linux 6.1 x86_64\n'})
    assert '\x1b' not in rb.providers_of(rb.machine_of(host)).openssl


class TestNotThere:
    def test_no_api(self):
        status, lines = lines_of(FakeKernel(CBC, modules=('ext4',)), tests=('kernel',))
        assert (status, [(line.status, line.reason) for line in lines]) == (rb.EXIT_NOTHING, [('skipped', 'kernel-api-missing')])
        assert 'af_alg' in lines[0].detail and '--load' in lines[0].detail

    def test_no_modules_at_all(self):
        _, lines = lines_of(FakeKernel(CBC, modules=()), tests=('kernel',))
        assert lines[0].reason == 'kernel-api-missing' and 'CONFIG_CRYPTO_USER_API_SKCIPHER' in lines[0].detail and '--load' not in lines[0].detail

    @pytest.mark.parametrize('missing,cipher', [('algif_skcipher', 'aes-128-ctr'), ('algif_aead', 'aes-256-gcm'), ('algif_hash', 'none')])
    def test_a_part_of_the_api(self, missing, cipher):
        host = FakeKernel(ALL, modules=[module for module in API if module != missing])
        _, lines = lines_of(host, tests=('kernel',), ciphers=(cipher,))
        assert {(line.status, line.reason) for line in lines} == {('skipped', 'kernel-api-missing')}
        assert all(missing in line.detail for line in lines)

    def test_an_algorithm_says_which_modules_it_needs(self):
        _, lines = lines_of(FakeKernel(CBC), tests=('kernel',), ciphers=('aes-256-gcm',))
        assert [(line.status, line.reason) for line in lines] == [('skipped', 'not-loaded')]
        assert all(word in lines[0].detail for word in ('gcm(aes)', 'gcm', 'ctr', 'aes_generic', 'ghash_generic', '--load'))

    def test_nothing_is_opened_that_would_be_loaded_by_it(self):
        host = FakeKernel(CBC)
        lines_of(host, tests=('kernel',))
        assert {cipher.name for cipher in host.opened} - {''} == {'cbc-aes-aesni', 'cbc(aes-generic)'}

    def test_without_load_nothing_is_loaded(self):
        for host in (FakeKernel(ALL), FakeKernel(ALL, modules=()), FakeKernel()):
            lines_of(host, tests=('kernel',), quick=True)
            assert host.loaded() == []

    def test_load_loads_exactly_what_it_names(self):
        host = FakeKernel(CBC, modules=())
        _, lines = kernel_lines(host, 'aes-256-ctr', 'aes-128-cbc', load=('af_alg', 'algif_skcipher'), quick=True)
        assert host.loaded() == [('modprobe', 'af_alg'), ('modprobe', 'algif_skcipher')]
        assert lines['cbc-aes-aesni'].status == 'ok'

    def test_a_module_that_cannot_be_loaded(self):
        failed = rb.Ran((), 1, err='modprobe: FATAL: Module af_alg not found in directory /lib/modules/6.1.0-21\n')
        status, lines = lines_of(FakeKernel(CBC, modules=(), modprobe=failed), tests=('kernel',), load=('af_alg',))
        assert status == rb.EXIT_FAILED and [(line.status, line.reason) for line in lines] == [('failed', 'not-loaded')]
        assert 'af_alg' in lines[0].detail and 'not found' in lines[0].detail

    def test_far_away(self):
        host = FakeHost(files={'/proc/modules': 'af_alg 1 0 - Live 0x0\n'}, answers={'uname': 'Linux 6.1.0 mips\n'})
        status, lines = lines_of(host, tests=('kernel',))
        assert (status, [(line.status, line.reason) for line in lines]) == (rb.EXIT_NOTHING, [('skipped', 'needs-python')])

    def test_freebsd_is_not_told_to_load_modules_of_linux(self):
        host = machine_host('amd64-atom-c2758-8cpu-freebsd16')
        host.kernel_cipher = lambda *_: None
        _, lines = lines_of(host, tests=('kernel',))
        assert [line.status for line in lines] == ['skipped'] and '--load' not in lines[0].detail

    def test_not_by_default(self):
        assert not rb.KernelTest(context_of(FakeKernel(ALL))).by_default()


class FakeSocket:
    """An AF_ALG socket whose bind() fails."""

    error = errno.ENOENT
    closed = 0

    def __init__(self, *_):
        pass

    def bind(self, _):
        raise OSError(self.error, os.strerror(self.error))

    def close(self):
        FakeSocket.closed += 1


class TestSocket:
    def test_a_kernel_without_the_family(self, monkeypatch):
        def refuse(*_):
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        monkeypatch.setattr(socket, 'socket', refuse)
        with pytest.raises(rb.Unmeasurable) as caught:
            rb.KernelCipher('skcipher', 'cbc(aes)', bytes(16), 0)
        assert (caught.value.reason, caught.value.status) == ('kernel-api-missing', 'skipped')
        assert all(word in caught.value.detail for word in ('af_alg', 'algif_skcipher', 'CONFIG_CRYPTO_USER_API', 'kmod-crypto-user'))

    @pytest.mark.parametrize('number,reason,status', [
        (errno.ENOENT, 'not-loaded', 'skipped'), (errno.EAFNOSUPPORT, 'not-loaded', 'skipped'), (errno.EINVAL, 'tool-failed', 'failed')])
    def test_a_driver_that_is_not_there(self, monkeypatch, number, reason, status):
        monkeypatch.setattr(socket, 'socket', FakeSocket)
        monkeypatch.setattr(socket, 'AF_ALG', 38, raising=False)
        monkeypatch.setattr(FakeSocket, 'error', number)
        closed = FakeSocket.closed
        with pytest.raises(rb.Unmeasurable) as caught:
            rb.KernelCipher('skcipher', 'cbc-aes-nosuch', bytes(16), 0)
        assert (caught.value.reason, caught.value.status) == (reason, status) and 'cbc-aes-nosuch' in caught.value.detail
        assert FakeSocket.closed == closed + 1


class TestKnownAnswers:
    def test_sizes(self):
        for one in ALGORITHMS:
            vector = one.vector
            assert len(vector.result) == (one.tag if one.kind == 'hash' else len(vector.plain) + one.tag)
            assert one.kind in rb.KernelTest.MODULES and one.generic

    @pytest.mark.parametrize('one', DIGESTS, ids=label)
    def test_digests_by_python(self, one):
        assert hmac.new(one.vector.key, one.vector.plain, getattr(hashlib, one.auth.lower())).digest() == one.vector.result

    @pytest.mark.skipif(not shutil.which('openssl'), reason='no openssl command here')
    @pytest.mark.parametrize('one', [one for one in ALGORITHMS if one.name in ('cbc(aes)', 'ctr(aes)') or one.name.startswith('authenc')],
                             ids=label)
    def test_ciphers_by_openssl(self, one):
        vector, key, secret = one.vector, one.vector.key, b''
        if one.auth:
            attribute, kind, length = struct.unpack('=HH', key[:4]) + struct.unpack('>I', key[4:8])
            assert (attribute, kind) == (8, 1) and vector.associated[-16:] == vector.iv
            secret, key = key[8:-length], key[-length:]
        ran = subprocess.run(['openssl', 'enc', '-' + one.cipher, '-nopad', '-K', key.hex(), '-iv', vector.iv.hex()], input=vector.plain,
                             stdout=subprocess.PIPE, check=True)
        code = hmac.new(secret, vector.associated + ran.stdout, one.auth.lower()).digest()[:one.tag] if one.auth else b''
        assert ran.stdout + code == vector.result


# --- run openssl --------------------------------------------------------------------------------

class FakeOpenssl:
    """Answers like a real openssl: the options, sizes, messages and exit statuses of 1.0.2 to 3.x and of LibreSSL. A block
    takes call + byte * size seconds. 4.0 has no engines any more."""

    TITLES = {'1.0.2': 'OpenSSL 1.0.2u  20 Dec 2019\n', '1.1.1': 'OpenSSL 1.1.1w  11 Sep 2023\n',
              '3.0': 'OpenSSL 3.0.13 30 Jan 2024 (Library: OpenSSL 3.0.13 30 Jan 2024)\n',
              '3.5': 'OpenSSL 3.5.4 30 Sep 2025 (Library: OpenSSL 3.5.4 30 Sep 2025)\n', 'libre': 'LibreSSL 3.8.2\n',
              '4.0': 'OpenSSL 4.0.0 14 Apr 2026 (Library: OpenSSL 4.0.0 14 Apr 2026)\n'}
    QUEUE = ('401794FC617F0000:error:13000084:engine routines:dynamic_load:dso not found:../crypto/engine/eng_dyn.c:433:\n'
             '401794FC617F0000:error:13000074:engine routines:ENGINE_by_id:no such engine:../crypto/engine/eng_list.c:428:id=nosuch\n')

    def __init__(self, version='3.0', call=1e-7, byte=1e-9, lacks=(), engines=('devcrypto',)):
        self.version, self.call, self.byte, self.lacks, self.engines = version, call, byte, lacks, engines
        self.old = version in ('1.0.2', 'libre')
        self.said = []  # (name, size, count, seconds) of every block size that was timed

    def __call__(self, argv):
        if argv[1] == 'version':
            return rb.Ran(argv, 0, self.TITLES[self.version])
        assert argv[1:4] == ('speed', '-elapsed', '-mr') and argv[-2] == '-evp'
        given = dict(zip(argv[4::2], argv[5::2]))
        if self.old and {'-bytes', '-seconds'} & set(given):
            refusal = 'speed: unknown option \'-seconds\'\nusage: speed ...\n' if self.version == 'libre' else 'Error: bad option or value\n\nAvailable values:\nmd2      md4\n'
            return rb.Ran(argv, 1, err=refusal, seconds=0.005)
        err = ''
        if self.version == '4.0' and '-engine' in given:
            return rb.Ran(argv, 1, err='speed: Unknown option: -engine\nspeed: Use -help for summary.\n', seconds=0.005)
        if given.get('-engine') not in (None, *self.engines):
            err = '%s engine "nosuch"\n%s' % ('Invalid' if self.version.startswith('3') else 'invalid', self.QUEUE)
        if given['-evp'] in self.lacks:
            return rb.Ran(argv, 1, err=err + ('' if self.old else 'speed: ') + '%s is an unknown cipher or digest\n' % given['-evp'], seconds=0.005)
        sizes = [16, 64, 256, 1024, 8192] if self.old else [int(given['-bytes'])]
        return self._timed(argv, given['-evp'], sizes, 3 if self.old else int(given['-seconds']), err)

    def _timed(self, argv, name, sizes, seconds, err):
        shown = name.upper() if self.version >= '3' and not self.old else name
        for size in sizes:
            took = 0.99 * seconds
            count = int(took / (self.call + self.byte * size))
            self.said.append((name, size, count, took))
            err += '+DT:%s:%d:%d\n+R:%d:%s:%f\n' % (shown, seconds, size, count, shown, took)
        return rb.Ran(argv, 0, '+H:%s\n+F:25:%s:1.00\n' % (':'.join(map(str, sizes)), shown), err, seconds=seconds * len(sizes) + 0.01)


def openssl_lines(openssl, *ciphers, **options):
    """(exit status, lines) of `run openssl`."""
    host = FakeHost(answers={'openssl': openssl, 'uname': 'Linux 6.1.0 x86_64\n'})
    return lines_of(host, tests=('openssl',), ciphers=ciphers, **options)


def rate(said):
    """Mbit/s of what was timed."""
    _, size, count, seconds = said
    return count * size * 8 / seconds / 1e6


class TestOpenssl:
    @pytest.mark.parametrize('version', ['1.1.1', '3.0', '3.5'])
    def test_the_sizes_of_the_kernel_test(self, version):
        openssl = FakeOpenssl(version)
        status, lines = openssl_lines(openssl, 'aes-256-gcm')
        line = lines[0]
        assert (status, line.status, line.algorithm, line.cipher) == (0, 'ok', 'AES256', 'aes-256-gcm')
        by_size = {said[1]: said for said in openssl.said if said[0] == 'aes-256-gcm'}
        assert sorted(by_size) == [16, 1424, 16384]
        assert line.mbit_s == pytest.approx(rate(by_size[16384]), rel=1e-4) == pytest.approx(line.mbit / line.seconds, rel=1e-4)
        assert [line.extra['mbit_s_%d' % size] for size in (16, 1424)] == [pytest.approx(rate(by_size[size]), rel=1e-3) for size in (16, 1424)]
        assert line.mbit == pytest.approx(by_size[16384][2] * 16384 * 8 / 1e6, abs=1e-3)
        assert line.extra['per_call_us'] == pytest.approx(0.1, rel=0.02) and line.extra['per_byte_ns'] == pytest.approx(1, rel=0.02)
        assert line.method == 'openssl speed -elapsed -mr -seconds 1 -bytes 16384 -evp aes-256-gcm'

    @pytest.mark.parametrize('version', ['1.0.2', 'libre'])
    def test_builds_that_choose_the_sizes_themselves(self, version):
        openssl = FakeOpenssl(version)
        status, lines = openssl_lines(openssl, 'aes-128-cbc')
        line = lines[0]
        assert (status, line.status, line.extra['block_bytes']) == (0, 'ok', 8192)
        assert line.mbit_s == pytest.approx(rate(openssl.said[-1]), rel=1e-4) and 'single-run' in line.warnings
        assert line.extra['mbit_s_16'] == pytest.approx(rate(openssl.said[0]), rel=1e-3)
        assert line.method == 'openssl speed -elapsed -mr -evp aes-128-cbc'

    @pytest.mark.parametrize('version,title', [('1.0.2', 'OpenSSL 1.0.2u'), ('1.1.1', 'OpenSSL 1.1.1w'), ('3.5', 'OpenSSL 3.5.4'), ('libre', 'LibreSSL 3.8.2')])
    def test_names_itself(self, version, title):
        _, lines = openssl_lines(FakeOpenssl(version), 'aes-128-cbc')
        assert (lines[0].library, lines[0].driver) == (title, None)

    def test_the_median_of_three(self):
        openssl = FakeOpenssl()
        _, lines = openssl_lines(openssl, 'aes-128-cbc')
        assert len(lines[0].runs) == 3 == len([said for said in openssl.said if said[1] == 16384])

    def test_quick(self):
        _, lines = openssl_lines(FakeOpenssl(), 'aes-128-cbc', quick=True)
        assert len(lines[0].runs) == 1 and {'estimated', 'single-run'} <= set(lines[0].warnings)

    def test_all_of_them(self):
        status, lines = openssl_lines(FakeOpenssl())
        assert status == 0 and {line.status for line in lines} == {'ok'}
        assert [(line.algorithm, line.cipher, line.auth) for line in lines][-3:] == [
            ('CHACHA20', 'chacha20-poly1305', None), ('SHA1', 'none', 'SHA1'), ('SHA256', 'none', 'SHA256')]

    @pytest.mark.parametrize('version', sorted(FakeOpenssl.TITLES))
    def test_what_the_library_lacks_is_no_failure(self, version):
        status, lines = openssl_lines(FakeOpenssl(version, lacks=('chacha20-poly1305',)))
        found = {line.cipher: line for line in lines}
        assert (status, found['chacha20-poly1305'].status, found['chacha20-poly1305'].reason) == (0, 'skipped', 'cipher-unsupported')
        assert found['chacha20-poly1305'].mbit_s is None and found['aes-128-cbc'].status == 'ok'

    def test_what_was_asked_for_and_is_not_there(self):
        status, lines = openssl_lines(FakeOpenssl(lacks=('aes-256-ccm',)), 'aes-256-ccm', 'aes-128-cbc')
        assert status == rb.EXIT_FAILED and [line.status for line in lines] == ['skipped', 'ok']

    def test_an_engine_by_name(self):
        _, lines = openssl_lines(FakeOpenssl('1.1.1'), 'aes-128-cbc', engine='devcrypto')
        assert (lines[0].status, lines[0].driver) == ('ok', 'devcrypto') and ' -engine devcrypto ' in lines[0].method

    @pytest.mark.parametrize('version', sorted(FakeOpenssl.TITLES))
    def test_an_engine_that_is_not_there_has_no_speed(self, version):
        """openssl complains and measures without it."""
        status, lines = openssl_lines(FakeOpenssl(version), 'aes-128-cbc', engine='nosuch')
        assert (status, lines[0].status, lines[0].reason, lines[0].mbit_s) == (rb.EXIT_NOTHING, 'skipped', 'engine-unavailable', None)

    def test_an_end_by_force(self):
        def slow(argv):
            timed = rb.Ran(argv, 143, err='+DT:aes-256-cbc:1:16\n', seconds=120.0, timed_out=True)
            return timed if argv[-1] == 'aes-256-cbc' else FakeOpenssl()(argv)
        status, lines = openssl_lines(slow, 'aes-256-cbc', 'aes-128-cbc')
        assert (status, [(line.status, line.reason) for line in lines]) == (rb.EXIT_FAILED, [('failed', 'timeout'), ('ok', None)])
        assert '--limit' in lines[0].detail

    def test_ended_by_a_signal(self):
        def killed(argv):
            return rb.Ran(argv, 137) if argv[-1] == 'aes-256-cbc' else FakeOpenssl()(argv)
        _, lines = openssl_lines(killed, 'aes-256-cbc')
        assert [(line.status, line.reason, line.mbit_s) for line in lines] == [('failed', 'killed', None)]

    def test_half_an_answer_is_no_speed(self):
        def broken(argv):
            return rb.Ran(argv, 0, err='+DT:aes-128-cbc:1:16384\n') if '-seconds' in argv else FakeOpenssl()(argv)
        _, lines = openssl_lines(broken, 'aes-128-cbc')
        assert [(line.status, line.reason, line.mbit_s) for line in lines] == [('failed', 'tool-failed', None)]

    def test_no_openssl(self):
        host = FakeHost(answers={'uname': 'Linux 6.1.0 mips\n', 'opkg': ''})
        status, lines = lines_of(host, tests=('openssl',))
        assert (status, [(line.status, line.reason) for line in lines]) == (rb.EXIT_NOTHING, [('skipped', 'tool-missing')])
        assert 'opkg install openssl-util' in lines[0].detail

    def test_the_table(self):
        _, lines = openssl_lines(FakeOpenssl(), 'aes-128-cbc')
        assert 'openssl speed, Mbit/s' in rb.summary(rb.Facts(), lines) and 'AES-128-CBC' in rb.library_table(lines)

    def test_not_by_default(self):
        assert not rb.OpensslTest(context_of(FakeHost())).by_default()
