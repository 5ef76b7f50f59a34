"""`validate`: every kind of fault is found where it was put, and sound lines and rows are left alone."""

import json
import os
import re
import time

import pytest

import routerbench as rb
from fakes import FakeOpenvpn, lines_of, machine_host, machine_names
from test_table import DOKUWIKI, EXTRAS, HUGE, NAMES, OPENWRT, WRONG, crypto, file_of, made, packed, peak_mib


def checked(*lines):
    """[(line number, code)] of a file of lines and bytes."""
    return [(number, finding.code) for number, finding in rb.Checker().check(file_of(*lines))]


def faults(*lines):
    """The codes that keep it from being merged, each once."""
    return sorted({code for _number, code in checked(*lines) if code in rb.FINDINGS})


@pytest.fixture
def validate(tmp_path, capfd):
    """`validate` as a function of contents and words: (exit status, stdout, stderr)."""
    def run(*given):
        words = []
        for i, one in enumerate(given):
            if isinstance(one, bytes):
                (tmp_path / ('%d.jsonl' % i)).write_bytes(one)
                one = str(tmp_path / ('%d.jsonl' % i))
            words.append(one)
        capfd.readouterr()
        status = rb.main(['validate', *words])
        out, err = capfd.readouterr()
        assert 'Traceback' not in err
        return status, out, err
    return run


# --- sound ones ---------------------------------------------------------------------------------

RATES = {'MIPS': 0.036, 'PPC': 0.06, 'ARM': 0.08, 'x86': 0.06, 'other': 0.05}  # Mbit/s per MHz, as the documents' machines have them


def by_the_agent(name, quick=False):
    """Lines that the agent itself gives on the facts of a real machine, with an openvpn as fast as such processors are."""
    facts = rb.machine_of(machine_host(name)).facts()
    per_byte = 3254.147 / (RATES[rb.cpu_family(facts.cpu, facts.arch)] * (facts.mhz or 700.0)) / rb.total_bytes(20168)
    if facts.aes not in (None, 'none'):
        per_byte /= 8
    costs = {'aes-128-cbc': 0.85, 'aes-256-cbc': 1.0, 'aes-128-gcm': 0.7, 'aes-256-gcm': 0.75, 'chacha20-poly1305': 0.6}
    costs = {cipher.upper(): (0.02, 2e4 * per_byte / 400, share * per_byte) for cipher, share in costs.items()}
    openvpn = FakeOpenvpn('2.6', {key: cost for name, cost in costs.items() for key in (name, name.lower())})
    host = machine_host(name, files={'/tmp/private/key': 'a key'}, answers={'openvpn': openvpn})
    return lines_of(host, quick=quick, wait=0.0)[1]


def is_stated(facts):
    """Whether a row can be made of these: not of every machine has everything been captured."""
    return facts.device and facts.cpu and facts.os


STATED = sorted(name for name in machine_names() if is_stated(rb.machine_of(machine_host(name)).facts()))
MEASURED = (  # what people have published or what was captured: device, cpu, mhz, arch, {algorithm: seconds of 800 Mbit, or the rate}
    ('TP-Link TL-WDR4900', 'PPC e500v2', 800.0, 'ppc', (14.2, 16.2)), ('NETGEAR WNDR3700', 'MIPS 24Kc', 680.0, 'mips', (28.2, 32.4)),
    ('TP-Link TL-WR703N v1', 'MIPS 24Kc', 400.0, 'mips', (47.7, 56.1)), ('Asus WL-500g', 'BCM4710', 125.0, 'mipsel', (164.8, 183.5)))
CRYPTO = (('PF-1120A', 'Intel Atom D525', 1800.0, 'amd64', 66.67), ('PF-3130', 'Intel Celeron G1620', 2700.0, 'amd64', 240.8), ('PF-5150i', 'Intel Core i7-4790', 3600.0, 'amd64', 395.0),
          ('PC Engines apu2', 'AMD GX-412TC SOC', 1000.0, 'x86_64', 75.0), ('PC Engines apu4', 'AMD GX-412TC SOC', 1000.0, 'amd64', 41.0),
          ('Protectli FW4B', 'Intel Celeron J3160', 1600.0, 'amd64', 126.0), ('VIA CV700A', 'VIA C7', 1000.0, 'i686', 116.0))


def sound_lines():
    """Lines with known figures, one list for each machine."""
    for device, cpu, mhz, arch, seconds in MEASURED:
        yield [made(800 / one, algorithm, device=device, cpu=cpu, mhz=mhz, arch=arch) for one, algorithm in zip(seconds, ('AES128', 'AES256'))]
    for device, cpu, mhz, arch, rate in CRYPTO:
        yield [crypto(round(3254.147 / rate, 6), device=device, cpu=cpu, mhz=mhz, arch=arch, os='pfSense 2.7.2-RELEASE', kernel='14.0-CURRENT')]
    arm = dict(device='Hardkernel Odroid', cpu='ARM Cortex-A15', mhz=2000.0, arch='armv7l', tool='OpenSSL 1.0.2g', auth=None, mbit=None)
    yield [crypto(cipher=cipher, test='openssl', **dict(arm, seconds=3.0, mbit=3 * rate, mbit_s=rate, runs=[3.0] * 3, extra={'block_bytes': 8192}))
           for cipher, rate in (('aes-128-cbc', 503.734), ('aes-256-cbc', 388.366))]
    kernel = dict(device='Linksys WRT3200ACM', cpu='Marvell PJ4B', mhz=1866.0, arch='armv7l', tool='Linux 6.6.93', auth=None, seconds=1.0, runs=[1.0] * 3)
    yield [crypto(test='kernel', **dict(kernel, driver=driver, mbit=rate, mbit_s=rate, extra={'name': 'cbc(aes)', 'kind': kind}))
           for driver, rate, kind in (('mv-cbc-aes', 736.0, 'engine'), ('cbc-aes-neonbs', 368.0, 'instructions'))]
    yield [crypto(test='kernel', device='Xiaomi AX3000T', cpu='ARM Cortex-A53', mhz=1300.0, arch='aarch64', tool='Linux 6.6.93', cipher='none', auth='SHA1', seconds=1.0, runs=[1.0] * 3,
                  mbit=4100.0, mbit_s=4100.0, algorithm='NONE', driver='sha1-ce', extra={'name': 'sha1', 'kind': 'instructions'})]


SOUND = list(sound_lines())


class TestSound:
    @pytest.mark.parametrize('lines', SOUND, ids=lambda lines: lines[0]['device'])
    def test_known_machines(self, lines):
        assert len(SOUND) >= 10 and checked(*lines) == []

    def test_all_together(self, validate):
        status, out, err = validate(packed(*[line for lines in SOUND for line in lines]))
        assert (status, out) == (0, '') and err == '%d figures or rows, 0 faults, 0 notes: fit to be merged.\n' % sum(map(len, SOUND))

    @pytest.mark.parametrize('name', STATED)
    def test_what_the_agent_gives_on_a_real_machines_facts(self, name):
        lines = [line._asdict() for line in by_the_agent(name)]
        assert len(STATED) >= 25 and len(lines) >= 4 and {line['status'] for line in lines} == {'ok'}
        assert faults(*lines) == []
        texts = [rb.line_json(rb.Line(**line)).encode() + b'\n' for line in lines]
        assert faults(*texts) == []

    def test_quick_is_only_not_to_be_merged(self):
        assert faults(*[line._asdict() for line in by_the_agent(STATED[0], quick=True)]) == ['not-merged']

    def test_skipped_and_failed_lines_beside_sound_ones(self):
        none = made(status='skipped', reason='tool-missing', detail='install it', seconds=None, mbit=None, mbit_s=None, runs=[])
        assert checked(made(), none) == [(2, 'no-result')] and faults(made(), none) == []

    def test_windows(self):
        text = b'\xef\xbb\xbf' + packed(made(), made(24.0, 'AES256')).replace(b'\n', b'\r\n')
        assert checked(text) == []

    @pytest.mark.parametrize('code', [code for code in rb.MARKS if code not in rb.NOT_MERGED])
    def test_a_mark_is_a_note(self, code):
        assert checked(made(warnings=[code])) == [(1, 'marked')]

    @pytest.mark.parametrize('code', sorted(rb.WARNINGS))
    def test_every_warning(self, code):
        expected = ['not-fit'] if code in rb.NOT_FIT else ['not-merged'] if code in rb.NOT_MERGED else []
        assert faults(made(warnings=[code])) == expected

    @pytest.mark.parametrize('text', [OPENWRT, DOKUWIKI])
    def test_the_documents_own_rows_but_for_their_two_slips(self, text):
        """The others are cut, not rounded, which `table` knows as well."""
        assert checked(text.encode()) == [(4 - ('^' in text), 'arithmetic'), (5 - ('^' in text), 'arithmetic')]

    @pytest.mark.parametrize('form', ['markdown', 'dokuwiki'])
    @pytest.mark.parametrize('make', [made, crypto])
    def test_what_table_prints(self, form, make):
        """A row that `table` made of sound lines is sound, pasted with the footnotes and whatever stands around it."""
        collector = rb.Collector()
        for line in [*(SOUND[0] + SOUND[1] if make is made else SOUND[4] + SOUND[5] + [crypto(40.0, 'aes-256-gcm', None)]), make(warnings=['single-run'], runs=[make()['seconds']])]:
            collector.add(line)
        test = 'ssh' if make is made else 'openvpn'
        text = rb.rendered(form, test, collector.rows(test), {})
        assert faults(text.encode()) == [] and faults(('A page.\n\n' + text + '\nSo it is.\n').encode()) == []

    @pytest.mark.parametrize('name', [name for name in NAMES if 'mail' not in name and '\ud800' not in name], ids=lambda name: '%.25r' % name)
    @pytest.mark.parametrize('form', ['markdown', 'dokuwiki'])
    def test_names_of_any_kind_survive_being_pasted(self, name, form):
        collector = rb.Collector(True)
        collector.add(made(28.0, device=name))
        collector.add(made(24.0, 'AES256', device=name))
        text = rb.rendered(form, 'ssh', collector.rows('ssh'), {})
        assert 'cells' not in faults(text.encode()) and 'arithmetic' not in faults(text.encode())

    @pytest.mark.parametrize('around', [3, 99, 400])
    def test_a_page_around_a_table(self, around):
        text = 'A line of a page, with a | in it.\n' * around + '\n' + DOKUWIKI.splitlines()[0] + '\n' + DOKUWIKI.splitlines()[1] + '\n' + '\nAnd more.\n' * around
        assert checked(text.encode()) == []


# --- a fault of each kind -----------------------------------------------------------------------

HEAD = OPENWRT.splitlines()[:2]


def pasted(*rows):
    """A Markdown table with these rows."""
    return '\n'.join([*HEAD, *rows, '']).encode()


ROW = 'PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |'
SLOW, FAST = crypto(50.0, 'aes-128-cbc'), crypto(40.0)

FAULTS = {
    'above-link': [packed(made(110.0, mhz=1000.0, extra={'link_mbit_s': 100.0}))],
    'aes256-faster': [packed(SLOW, FAST), packed(FAST, SLOW), packed(made(24.0), made(28.0, 'AES256')), pasted('PPC | 800 | TP-Link TL-WDR4900 | 16.2 | 49.4 | 14.2 | 56.3 |')],
    'arithmetic': [packed(made(28.0, mbit_s=30.0)), packed(made(28.0, mbit=400.0)), packed(made(28.0, seconds=20.0)), packed(made(runs=[14.0] * 3)), packed(made(spread=0.2)),
                   packed(crypto(extra={'packets': 20000})), packed(made(mbit=0.0)), packed(made(seconds=5e-324)), pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 65.3 | 16.2 | 49.4 |'),
                   pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 94.4 |')],
    'cells': [pasted(ROW + ' 5 |'), pasted('PPC | 800 | TP-Link | TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |'), pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 |'),
              DOKUWIKI.encode().replace(b'| TP-Link TL-WR703N ', b'| TP-Link | TL-WR703N ')],
    'duplicate': [packed(made(), made()), pasted(ROW, ROW), packed(crypto(), made(), crypto())],
    'foreign': [b'[1]\n', b'{"a": 1}\n', b'5\n', b'{"schema": "1", "test": "ssh"}\n', packed(made())[:-1] + b'{}\n'],
    'implausible': [packed(made(28.5 / 8, mhz=680.0)), packed(made(28.0, mhz=5600.0)), packed(made(2800.0)), packed(crypto(3254.147 / 66.67 * 8, cpu='Intel Atom D525', mhz=1800.0, arch='amd64')),
                    pasted('MIPS 24k | 680 | D-Link DIR-825 | - | 3.56 | - | - |'), packed(made(2e6, mhz=None))],
    'key-missing': [packed({key: value for key, value in made().items() if key != name}) for name in ('library', 'driver', 'extra', 'agent', 'warnings')],
    'key-type': [packed(made(device=5)), packed(made(mbit_s='28')), packed(made(warnings='unstable')), packed(made(seconds=HUGE)), packed(made(mhz=float('nan')))],
    'key-unknown': [packed(dict(made(), host='router.example')), packed(dict(made(), Device='x'))],
    'missing-detail': [packed(made(**{key: None})) for key in ('os', 'tool', 'cipher', 'method')],
    'missing-fact': [packed(made(device=None)), packed(made(cpu=None)), packed(made(device='')), pasted('? | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |'),
                     pasted('PPC | 800 | - | 14.2 | 56.3 | 16.2 | 49.4 |')],
    'not-fit': [packed(made(warnings=[code])) for code in rb.NOT_FIT],
    'not-merged': [packed(made(warnings=[code])) for code in rb.NOT_MERGED],
    'not-json': [packed(made())[:-20] + b'\n', b'routerbench 0.1.0 on a router\n', packed(made())[:300] + packed(made()), b'\x00\x00{\n', b'[' * 9999 + b'\n'],
    'not-utf8': [packed(made())[:-30] + b'\xff"}\n', 'Caf\u00e9\n'.encode('latin-1'), packed(made()).decode().encode('utf-16')],
    'placeholder': [packed(made(device='Default string')), packed(made(device='To be filled by O.E.M.')), packed(made(cpu='ENTER CPU MODEL')), packed(made(device='System Product Name')),
                    pasted('ENTER CPU MODEL | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |'), pasted('PPC | 800 | Default string | 14.2 | 56.3 | 16.2 | 49.4 |')],
    'private': [packed(made(device='router 192.168.1.1')), packed(made(device='00:11:22:aa:bb:cc')), pasted('PPC | 800 | 10.0.0.1 | 14.2 | 56.3 | 16.2 | 49.4 |')],
    'range': [packed(made(mhz=5.0)), packed(made(mhz=2.4e9)), packed(made(mhz=-560.0)), packed(made(mhz=0)), pasted('PPC | 800000 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |')],
    'schema': [packed(made(schema=2)), packed(made(schema=10 ** 30))],
    'too-long': [b'{"schema": 1, "x": "' + b'x' * 300000 + b'"}\n', b'x' * 400000],
    'unit': [pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 7.0 MByte/s | 16.2 | 49.4 |'), pasted('VIA C7 | 1000 | VIA CV700A | - | 14.5 MByte/s | - | - |'), pasted('VIA C7 | 1000 | VIA CV700A | - | 11.8MiB/s | - | - |'),
             pasted(ROW).replace(b'AES256 (MBit/s)', b'AES256 (MByte/s)'), DOKUWIKI.encode().replace(b'AES128 (MBit/s)', b'AES128 (MB/s)'), pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | fast | 16.2 | 49.4 |'),
             pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 3.4 Mb/s | 16.2 | 49.4 |')],
    'zero': [packed(made(mbit_s=0.0)), packed(made(mbit_s=None)), packed(made(mbit_s=-28.0)), packed(made(seconds=0.0)), packed(made(runs=[0.0, 28.0, 28.0])),
             pasted('PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 0 | 16.2 | 49.4 |')],
}
NOTES = {'marked': [packed(made(warnings=['single-run']))], 'no-result': [packed(made(status='failed')), packed(made(test='crypto', mbit_s=None))]}
EVERY = [(code, i) for code, texts in sorted({**FAULTS, **NOTES}.items()) for i in range(len(texts))]


class TestFaults:
    def test_every_code_has_an_input(self):
        assert set(FAULTS) == set(rb.FINDINGS) and set(NOTES) == set(rb.NOTES)

    @pytest.mark.parametrize('code,number', EVERY, ids=lambda one: str(one))
    def test_is_found(self, code, number):
        text = {**FAULTS, **NOTES}[code][number]
        assert code in [found for _line, found in checked(text)]

    @pytest.mark.parametrize('code,number', [one for one in EVERY if one[0] in FAULTS], ids=lambda one: str(one))
    def test_and_keeps_it_from_being_merged(self, code, number, validate):
        status, out, _ = validate(packed(made(28.0, run='0000ffff')) + FAULTS[code][number] if not FAULTS[code][number].startswith((b'\xff', b'CPU', b'^')) else FAULTS[code][number])
        assert status == rb.EXIT_UNSOUND
        found = [line for line in out.splitlines() if ': %s: ' % code in line]
        assert found and all(re.match(r'.*\.jsonl:\d+: %s: .+\. Why: .+\. To mend it: .+\.$' % code, line) for line in found)

    @pytest.mark.parametrize('code', [code for code in FAULTS if code not in ('arithmetic', 'zero', 'implausible', 'unit', 'range', 'cells', 'placeholder', 'missing-fact')])
    def test_one_fault_is_one_finding(self, code):
        """And none of another kind, where one fault does not bring others by its nature."""
        assert faults(FAULTS[code][0]) == [code]

    @pytest.mark.parametrize('fault', ['arithmetic', 'missing-fact', 'placeholder', 'cells', 'zero', 'range'])
    def test_nor_do_these_bring_much_else(self, fault):
        assert set(faults(FAULTS[fault][0])) <= {fault, 'implausible', 'arithmetic'}

    @pytest.mark.parametrize('words,rate', [('14.5 MByte/s', '116'), ('11.8MiB/s', '98.99'), ('3.4MB/s', '27.2'), ('6.97 Gbits/sec', '6970')])
    def test_r64_a_unit_slip_comes_with_what_it_is(self, validate, words, rate):
        _, out, _ = validate(pasted('PPC | 800 | TP-Link TL-WDR4900 | - | %s | - | - |' % words))
        assert '`%s` is %s' % (words, rate) in out and 'MBit/s' in out and ':3: unit:' in out

    @pytest.mark.parametrize('row', OPENWRT.splitlines()[2:])
    def test_r64_megabytes_taken_for_megabits_in_the_documents_rows(self, row):
        cells = row.split(' | ')
        cells[3:] = ['-', '%.2f' % (float(cells[4]) / 8), '-', '%.2f |' % (float(cells[6].strip(' |')) / 8)]
        assert 'implausible' in faults(pasted(' | '.join(cells)))

    @pytest.mark.parametrize('device,cpu,mhz,arch,seconds', MEASURED, ids=lambda one: str(one))
    def test_r64_the_same_in_lines(self, device, cpu, mhz, arch, seconds):
        assert faults(made(100 / seconds[0], device=device, cpu=cpu, mhz=mhz, arch=arch)) == ['implausible']

    def test_the_lines_are_named(self, validate):
        status, out, err = validate(packed(made(), b'\n', made(mbit_s=0.0, run='0000000b')) + b'torn\n', packed(made(24.0, 'AES256'), made(24.0, 'AES256')))
        places = [re.match(r'.*/(\d)\.jsonl:(\d+): ([a-z0-9-]+): ', line).groups() for line in out.splitlines()]
        assert status == rb.EXIT_UNSOUND and places == [('0', '3', 'zero'), ('0', '4', 'not-json'), ('1', '2', 'duplicate')]
        assert '4 figures or rows, 3 faults, 0 notes: not fit to be merged.' in err

    def test_a_duplicate_in_another_file(self, validate):
        status, out, _ = validate(packed(made()), packed(made()))
        assert status == rb.EXIT_UNSOUND and out.count(': duplicate: ') == 1 and '1.jsonl:1: duplicate: ' in out

    @pytest.mark.parametrize('between', [(), (made(device='Another'),)])
    def test_aes256_faster_in_either_order(self, between):
        for lines in ((SLOW, *between, FAST), (FAST, *between, SLOW)):
            assert faults(*lines) == ['aes256-faster']
        assert faults(dict(SLOW, run='0000000b'), FAST) == []  # of another run: another day, another clock

    def test_as_fast_as_the_runs_lie_apart(self):
        assert faults(crypto(40.8, 'aes-128-cbc'), crypto(40.0)) == [] and faults(crypto(42.0, 'aes-128-cbc'), crypto(40.0)) == ['aes256-faster']


# --- hostile ------------------------------------------------------------------------------------

class TestHostile:
    @pytest.mark.parametrize('key', rb.Line._fields)
    def test_wrong_types(self, key):
        for value in (value for name, value in WRONG if name == key):
            assert faults(made(**{key: value}), made(24.0, device='Another')) != [], value

    @pytest.mark.parametrize('extra', EXTRAS, ids=lambda extra: '%-.12r' % extra)
    def test_wrong_types_in_extra(self, extra):
        for line in (made(), crypto(), made(test='kernel', driver='x')):
            checked(dict(line, extra=dict(line['extra'], **extra)))
            checked(line, dict(line, run='0000000b', extra=dict(line['extra'], **extra)))

    @pytest.mark.parametrize('key', [key for key in rb.Line._fields if isinstance(made()[key], str) or key in ('driver', 'library', 'reason', 'detail')])
    def test_no_text_of_a_line_reaches_the_terminal_as_it_is(self, key, validate):
        hostile = 'A\x1b[31m\n\u202eb\x07' + 'z' * 3000
        for other in ({}, {'mbit_s': 9000.0}, {'mhz': 1.0}, {'mbit_s': 0.0}, {'status': 'failed'}, {'warnings': [hostile]}, {hostile: 1}):
            known = {name: value for name, value in other.items() if name in rb.Line._fields}
            text = packed(dict(made(**dict(known, **{key: hostile})), **{name: 1 for name in other if name not in known}))
            _, out, err = validate(text)
            assert not re.search(rb.CONTROL, (out + err).replace('\n', '')) and 'z' * 500 not in out
            assert all(re.match(r'\S+\.jsonl:1: ', line) for line in out.splitlines())

    def test_no_cell_of_a_row_either(self, validate):
        row = 'P\x1b[31mPC | 8\x1b00 | TP\u202e-Link | 1\x1b4.2 | 5\x076.3 | 16.2 MByte/\x1bs | 4\x1b9 |'
        _, out, _ = validate(pasted(row, row.replace('|', 'a |')))
        assert out and not re.search(rb.CONTROL, out.replace('\n', ''))

    def test_nor_a_files_name(self, validate):
        status, _, err = validate('no\x1b[31m\nsuch')
        assert status == rb.EXIT_FAILED and '\x1b' not in err

    @pytest.mark.parametrize('text', [b'|' * 200000, b'^ a ' * 50000, b'%%|' * 60000, b'<nowiki>|' * 8000, b'\\|' * 90000, b'| - ' * 50000, b'{|||||||' * 20000, b'{"schema"' * 5000, b'{}' * 40000])
    def test_no_line_takes_long(self, text):
        started = time.process_time()
        checked(text + b'\n')
        assert time.process_time() - started < 0.6

    def test_many_lines_take_memory_in_proportion(self, tmp_path, ):
        if not os.path.exists('/proc/self/status'):
            pytest.skip('needs /proc')
        (tmp_path / 'many').write_bytes(b''.join(packed(made(28.0 + i % 7 / 100, run='%08x' % i)) for i in range(8000)))
        assert peak_mib('validate', str(tmp_path / 'many'))[0] - peak_mib('validate', os.devnull)[0] < 25

    @pytest.mark.parametrize('text', [b'| a\n', b'|||\n', b'^^^^^^\n', b'| | | | |\n', b'---|---|---|---|\n', b'CPU | MHz\n', b'CPU | MHz | tested device | x |\n| a |\n', b'^ CPU ^ CPU ^ CPU ^ CPU ^\n| a | b | c | d |\n',
                                      b'\xff|\xff|\xff|\xff|\n', b'PPC | 800 | x | (mbit/s) | 5 |\n', b'CPU | MHz | tested device | AES128 (s) |\nPPC | 800 | R | 5 |\n', pasted('PPC | 1e3 | R1 | 1e400 | nan | inf | -5 |')])
    def test_odd_tables(self, text):
        checked(text)


class TestCommandLine:
    @pytest.mark.parametrize('text,status,words', [
        (packed(made()), 0, '1 figures or rows, 0 faults, 0 notes: fit to be merged.'), (packed(made(warnings=['single-run'])), 0, '1 notes: fit to be merged.'),
        (pasted(ROW), 0, '1 figures or rows, 0 faults, 0 notes: fit to be merged.'), (b'', rb.EXIT_UNSOUND, 'nothing to merge.'), (packed(made(status='failed')), rb.EXIT_UNSOUND, '1 notes: nothing to merge.'),
        (packed(made(mbit_s=0.0)), rb.EXIT_UNSOUND, '1 faults, 0 notes: not fit to be merged.'), (b'A page without a table.\n', rb.EXIT_UNSOUND, 'not fit to be merged.')])
    def test_exit_statuses(self, validate, text, status, words):
        found, _, err = validate(text)
        assert found == status and words in err

    def test_a_file_that_cannot_be_read(self, validate, tmp_path):
        status, out, err = validate(packed(made()), str(tmp_path / 'missing'))
        assert status == rb.EXIT_FAILED and 'missing: No such file' in err
        assert validate(str(tmp_path))[0] == rb.EXIT_FAILED

    def test_stdin(self, validate, tmp_path):
        (tmp_path / 'in').write_bytes(packed(made(mbit_s=0.0)))
        kept, given = os.dup(0), os.open(str(tmp_path / 'in'), os.O_RDONLY)
        os.dup2(given, 0)
        try:
            status, out, _ = validate()
        finally:
            os.dup2(kept, 0)
            os.close(kept)
            os.close(given)
        assert status == rb.EXIT_UNSOUND and out.startswith('-:1: zero: ')

    def test_quiet(self, validate):
        status, out, err = validate(packed(made(mbit_s=0.0)), '--quiet')
        assert status == rb.EXIT_UNSOUND and out and err == ''

    def test_a_note_is_no_fault(self, validate):
        status, out, _ = validate(packed(made(warnings=['single-run'])))
        assert status == 0 and re.match(r'.*:1: note: .*single-run.* \(marked: .*\)\n$', out)

    def test_a_contribution_of_real_size(self, validate):
        lines = [made(28.0 + i % 5 / 10, run='%08x' % i, device='Router %d' % (i % 50)) for i in range(500)]
        status, out, err = validate(packed(*lines))
        assert (status, out) == (0, '') and err.startswith('500 figures')

    def test_table_and_validate_agree(self):
        """What `validate` has no fault with gives a row, and what gives none has a fault or no result."""
        for texts in FAULTS.values():
            for text in texts:
                if text.startswith(b'{') and text.count(b'\n') == 1:
                    collector = rb.Collector()
                    collector.read(file_of(text))
                    if not any(collector.rows(test) for test in collector.tests()):
                        assert faults(text) != []
        for lines in SOUND:
            collector = rb.Collector()
            collector.read(file_of(*lines))
            assert json.loads(rb.as_json('x', collector.rows(lines[0]['test']), collector.counts()))['left_out'] == {}
            assert sum(cell.lines for row in collector.rows(lines[0]['test']) for _column, cell in row.cells) == len(lines)
