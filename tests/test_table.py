"""`table`: rows from lines, the documents' own rows, files of any kind, names of any kind; and `run --output`."""

import csv
import html
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

import routerbench as rb
from fakes import AGENT, HERE, agent
from test_cli import FAST, environment, openvpn, place  # noqa: F401

FORMATS = ('text', 'markdown', 'dokuwiki', 'csv', 'json')
TEXT_KEYS = ('time', 'run', 'agent', 'status', 'reason', 'detail', 'test', 'device', 'cpu', 'arch', 'os', 'kernel', 'algorithm', 'cipher', 'auth', 'tool',
             'library', 'driver', 'method')
NUMBER_KEYS = ('mhz', 'seconds', 'mbit', 'mbit_s', 'spread')
ROW_KEYS = ('schema', 'time', 'run', 'status', 'test', 'device', 'cpu', 'mhz', 'os', 'algorithm', 'cipher', 'auth', 'seconds', 'mbit', 'mbit_s', 'tool', 'driver',
            'warnings', 'extra')  # of which something stands in a row


def made(rate=28.5, algorithm='AES128', **more):
    """A line of `run ssh --on` whose figures agree, as a dict; `more` replaces keys as they are."""
    seconds = round(800 / rate, 6)
    known = dict(time='2026-05-01T10:00:00Z', run='0000000a', test='ssh', device='TP-Link TL-WDR3600', cpu='MIPS 74Kc', mhz=560.0, cores=1, arch='mips',
                 os='OpenWrt 23.05.5', kernel='5.15.167', algorithm=algorithm, cipher=str(algorithm)[:6].lower() + '-cbc', auth='hmac-sha1', seconds=seconds, mbit=800.0,
                 mbit_s=round(800 / seconds, 3), runs=[seconds] * 3, spread=0.0, tool='dropbear_2019.78', warnings=[],
                 method='ssh -c %s-cbc root@<router> "time dd if=/dev/zero bs=500000 count=200" >/dev/null' % str(algorithm)[:6].lower(), extra={'clock': 'time', 'limit': 'router'})
    unknown = set(more) - set(rb.Line._fields)
    assert not unknown, unknown
    found = dict(rb.Line()._asdict(), **known)
    found.update(more)
    return found


def crypto(seconds=47.46, cipher='aes-256-cbc', auth='SHA1', **more):
    """A line of `run openvpn`."""
    mbit = 3254.147
    return made(**dict(dict(test='openvpn', algorithm=rb.table_column(cipher), cipher=cipher, auth=auth, seconds=seconds, mbit=mbit, mbit_s=round(mbit / seconds, 3),
                            runs=[seconds] * 3, spread=0.0, tool='OpenVPN 2.6.14', library='OpenSSL 3.0.16', method='time openvpn --test-crypto',
                            extra={'tun_mtu': 20000, 'packets': 20168, 'processes': 1}), **more))


def packed(*lines):
    """The bytes of a file of lines; bytes stay what they are."""
    return b''.join(one if isinstance(one, bytes) else json.dumps(one, ensure_ascii='\\ud' in json.dumps(one)).encode() + b'\n' for one in lines)


def file_of(*lines):
    """The lines of a file as LocalHost gives them."""
    return [line[:rb.LONGEST_LINE] for line in io.BytesIO(packed(*lines))]


def collected(*lines, **options):
    """A Collector that has read these."""
    collector = rb.Collector(options.get('everything', False))
    collector.read(file_of(*lines))
    return collector


PUBLISHED = {test: rb.published_rows(test) for test in ('ssh', 'openvpn', 'interface', 'iperf3')}


def everything_of(collector):
    """All that can be asked of a Collector, in every format, beside the documents."""
    texts = []
    for test in collector.tests() or ['ssh']:
        rows = collector.rows(test)
        rb.newest(rows)
        for key in ('cpu', '-mhz', 'device', 'aes128', '-aes256'):
            rb.sort_rows(rows, key)
        [rb.keeps(row, 'cpu=mips openwrt') for row in rows]
        for form in FORMATS:
            if rows:
                texts.append(rb.rendered(form, test, rows + PUBLISHED.get(test, []), collector.counts()))
    return texts


def figures(collector, test='ssh'):
    """{(device, column): (figure, lines)}."""
    return {(row.device, column): (round(cell.mbit_s, 1), cell.lines) for row in collector.rows(test) for column, cell in row.cells}


@pytest.fixture
def table(tmp_path, capfd):
    """`table` as a function of lines (which go to a file) and words: (exit status, stdout, stderr)."""
    def run(*given):
        words = []
        for i, one in enumerate(given):
            if isinstance(one, (list, bytes)):
                path = tmp_path / ('%d.jsonl' % i)
                path.write_bytes(one if isinstance(one, bytes) else packed(*one))
                words.append(str(path))
            else:
                words.append(one)
        capfd.readouterr()
        status = rb.main(['table', *words])
        out, err = capfd.readouterr()
        assert 'Traceback' not in err
        return status, out, err
    return run


def rows_of(out):
    """The rows of --format json."""
    return json.loads(out)['rows']


# --- the documents ------------------------------------------------------------------------------

OPENWRT = '''\
CPU | MHz | tested device | AES128 (s) | AES128 (MBit/s) | AES256 (s) | AES256 (MBit/s) |
---|---|---|---|---|---|---|
PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |
MIPS 24k | 680 | D-Link DIR-825 Netgear WNDR3700 | 28.2 | 28.5 | 32.4 | 24.6 |
MIPS 24k | 400 | TP-Link TL-WR703N | 47.7 | 16.5 | 56.1 | 14.2 |
MIPS R3000 | 125 | Asus WL-500g | 164.8 | 4.8 | 183.5 | 4.3 |
'''
DOKUWIKI = '''\
^ CPU ^ MHz ^ tested device ^ AES128 (s) ^ AES128 (MBit/s) ^ AES256 (s) ^ AES256 (MBit/s) ^
| PPC | 800 | TP-Link TL-WDR4900 | 14.2 | 56.3 | 16.2 | 49.4 |
| MIPS 24k | 680 | D-Link DIR-825 Netgear WNDR3700 | 28.2 | 28.5 | 32.4 | 24.6 |
| MIPS 24k | 400 | TP-Link TL-WR703N | 47.7 | 16.5 | 56.1 | 14.2 |
| MIPS R3000 | 125 | Asus WL-500g | 164.8 | 4.8 | 183.5 | 4.3 |
'''
PFSENSE = {('Intel Atom D525', 1800, 'PF-1120A'): 66.67, ('Intel Celeron G1620', 2700, 'PF-3130'): 240.8, ('Intel Core i7-4790', 3600, 'PF-5150i'): 395.0}
COLUMNS = ('NONE', 'AES-128-CBC + none', 'AES128', 'AES256')
RRZN = {('VIA C7', 'OpenBSD 4.2', 'padlock', 'OpenVPN 2.0.9'): (8.0, 6.8, 5.4, 5.4), ('VIA C7', 'Debian 4.0', 'padlock', 'OpenVPN 2.0.9'): (21.2, 18.6, 14.5, 14.3),
        ('Intel Xeon 5300', 'Debian 4.0', '', 'OpenVPN 2.0.9'): (91, 50, 37, 30)}
TUNNELS = {('AWS', 'no VPN', ''): 6970, ('AWS', 'OpenVPN 2.4', 'tap-windows6'): 414, ('AWS', 'OpenVPN 3', 'tap-windows6'): 652,
           ('mail', 'no VPN', ''): 7450, ('mail', 'OpenVPN 3', 'tap-windows6'): 339, ('mail', 'OpenVPN 3', 'wintun'): 449}


class TestPublished:
    @pytest.mark.parametrize('form,text', [('markdown', OPENWRT), ('dokuwiki', DOKUWIKI)])
    def test_the_four_rows_are_the_documents(self, table, form, text):
        status, out, _ = table('--published', '--format', form)
        assert status == 0 and out.startswith(text + '\n')

    def test_openwrts_eight_figures(self, table):
        rows = rows_of(table('--published', '--format', 'json')[1])
        found = [[row['cpu'], row['mhz'], row['device'], *(row['cells'][column][key] for column in ('AES128', 'AES256') for key in ('seconds', 'mbit_s'))] for row in rows]
        assert found == [[cells[0], int(cells[1]), cells[2], *map(float, cells[3:])] for cells in (line[:-2].split(' | ') for line in OPENWRT.splitlines()[2:])]
        assert {row['source'] for row in rows} == {'OpenWrt wiki, IPsec Performance'}

    def test_pfsenses_three(self, table):
        rows = rows_of(table('--published', '--test', 'openvpn', '--format', 'json')[1])
        assert {(row['cpu'], row['mhz'], row['device']): row['cells']['AES256']['mbit_s'] for row in rows} == PFSENSE
        assert all(list(row['cells']) == ['AES256'] and row['system'] == 'pfSense' and 'pfSense' in row['source'] for row in rows)

    def test_rrzns_fifteen_are_megabytes(self, table):
        rows = rows_of(table('--published', '--test', 'interface', '--format', 'json')[1])
        found = {(row['cpu'], row['system'], row['driver'], row['tool']): row['cells'] for row in rows}
        for machine, rates in RRZN.items():
            cells = found.pop(machine)
            assert {column: cell['mbit_s'] for column, cell in cells.items()} == pytest.approx(dict(zip(COLUMNS, [8 * rate for rate in rates])))
        (cisco,) = found.values()
        assert {column: cell['mbit_s'] for column, cell in cisco.items()} == pytest.approx({'3DES + SHA1': 88.8, 'AES128': 88.8, 'AES256': 83.2})
        assert all('RRZN' in row['source'] and 'MByte/s' in row['source'] for row in rows)
        lines = [line for line in rb.published() if line.test == 'interface']
        assert len(lines) == 15 and all(line.mbit_s == 8 * line.extra['mbyte_s'] for line in lines)

    def test_the_guides_and_the_mails_six(self, table):
        rows = rows_of(table('--published', '--test', 'iperf3', '--format', 'json')[1])
        assert {('AWS' if 'PerformanceTesting' in row['source'] else 'mail', row['tool'], row['driver']): cell['mbit_s'] for row in rows for cell in row['cells'].values()} == TUNNELS
        busy = {line.mbit_s: (line.extra['local_cpu'], line.extra['remote_cpu']) for line in rb.published() if line.test == 'iperf3'}
        assert busy[6970.0] == (0.195, 0.385) and busy[449.0] == (0.029, 0.101) and busy[339.0] == (0.046, 0.214)

    def test_there_are_no_others(self):
        assert len(list(rb.published())) == 8 + 3 + 15 + 6

    @pytest.mark.parametrize('form', ['text', 'markdown', 'dokuwiki'])
    @pytest.mark.parametrize('test', ['ssh', 'openvpn', 'interface', 'iperf3'])
    def test_the_source_is_said(self, table, form, test):
        status, out, _ = table('--published', '--test', test, '--format', form)
        for source in {line.extra['source'] for line in rb.published() if line.test == test}:
            assert status == 0 and html.unescape(source).split(' (')[0] in out.replace('\\', '')

    def test_seconds_and_rates_that_disagree_are_both_kept_and_said(self, table):
        _, out, _ = table('--published')
        said = [line for line in out.splitlines() if '800 / seconds' in line]
        assert len(said) == 2
        assert any('WNDR3700, AES128: 28.2 s are 28.4 MBit/s' in line and 'prints 28.5' in line for line in said)
        assert any('TL-WR703N, AES128: 47.7 s are 16.8 MBit/s' in line and 'prints 16.5' in line for line in said)
        marks = {row['device']: row['marks'] for row in rows_of(table('--published', '--format', 'json')[1])}
        assert [bool(marks[device]) for device in ('TP-Link TL-WDR4900', 'Asus WL-500g')] == [False, False]

    @pytest.mark.parametrize('rate,words', [(96.0, '1.7 x a TP-Link TL-WDR4900 (AES128)'), (28.5, '1.0 x a D-Link DIR-825 Netgear WNDR3700 (AES128)'),
                                            (5600.0, '99.5 x a TP-Link TL-WDR4900 (AES128)'), (6000.0, '107 x a TP-Link TL-WDR4900 (AES128)'), (2.4, '0.5 x a Asus WL-500g (AES128)')])
    def test_ones_own_router_beside_them(self, table, rate, words):
        own = made(rate, device='My router', cpu='AMD EPYC' if rate > 1000 else 'MIPS 74Kc', mhz=2445.0 if rate > 1000 else 560.0 if rate > 3 else 100.0, arch=None)
        status, out, _ = table([own], '--published')
        assert status == 0 and 'My router: ' + words in out
        devices = [row['device'] for row in rows_of(table([own], '--published', '--format', 'json')[1])]
        assert len(devices) == 5 and (devices[0] == 'My router') == (rate > 56.3) and (devices[-1] == 'My router') == (rate < 4.8)

    def test_no_comparison_without_them(self, table):
        assert ' x a ' not in table([made(96.0)])[1]

    def test_stdin_is_not_waited_for(self, table):
        assert table('--published')[0] == 0


# --- merging ------------------------------------------------------------------------------------

def numbered(rates, **more):
    return [made(rate, run='%08x' % i, time='2026-05-01T10:%02d:00Z' % i, **more) for i, rate in enumerate(rates)]


class TestMerging:
    def test_the_median_of_several_lines_and_how_many(self, table):
        _, out, _ = table(numbered([28.0, 30.0, 29.0]))
        assert '29.0' in out and 'median of 3 lines, 6.9 % apart' in out
        assert len([line for line in out.splitlines() if 'TL-WDR3600' in line]) == 1

    def test_the_seconds_are_the_medians_as_well(self, table):
        cell = rows_of(table(numbered([20.0, 25.0, 40.0]), '--format', 'json')[1])[0]['cells']['AES128']
        assert cell['mbit_s'] == pytest.approx(25.0) and cell['seconds'] == pytest.approx(32.0) and cell['lines'] == 3

    def test_r67_a_median_of_runs_and_how_far_they_lay_apart(self, table):
        seconds = [47.46, 47.60, 47.51]
        line = crypto(47.51, runs=seconds, spread=round(rb.relative_spread(seconds), 4))
        _, out, _ = table([line])
        assert 'median of 3 runs, 0.3 % apart' in out and '47.5' in out and '68.5' in out

    def test_a_single_run_says_so(self, table):
        _, out, _ = table([made(runs=[28.070175], warnings=['single-run'])])
        assert '1 run' in out and 'single-run: ' + rb.WARNINGS['single-run'] in out

    @pytest.mark.parametrize('key,values', [('device', ['Router A', 'Router B']), ('cpu', ['MIPS 74Kc', 'MIPS 24Kc']), ('mhz', [560.0, 680.0]), ('mhz', [560.0, None]),
                                            ('os', ['OpenWrt 22.03.7', 'OpenWrt 23.05.5']), ('tool', ['dropbear_2019.78', 'OpenSSH_9.2p1'])])
    def test_a_row_for_each(self, table, key, values):
        lines = [made(28.0 + i, **{key: value}) for i, value in enumerate(values)]
        rows = rows_of(table(lines + lines[:1], '--format', 'json')[1])
        assert len(rows) == 2 and sorted(round(row['cells']['AES128']['mbit_s'], 1) for row in rows) == [28.0, 29.0]

    def test_both_algorithms_stand_in_one_row(self, table):
        rows = rows_of(table([made(28.5), made(24.6, 'AES256')], '--format', 'json')[1])
        assert [list(row['cells']) for row in rows] == [['AES128', 'AES256']]

    def test_further_algorithms_are_further_columns(self, table):
        lines = [crypto(47.46), crypto(40.0, 'aes-128-cbc'), crypto(30.0, 'aes-256-gcm', None), crypto(20.0, 'chacha20-poly1305', None), crypto(35.0, 'aes-256-cbc', 'SHA256'),
                 crypto(10.0, 'none', 'none')]
        _, out, _ = table(lines, '--format', 'csv')
        head, row = csv.reader(io.StringIO(out))
        assert head[3:-1] == ['AES128 (s)', 'AES128 (MBit/s)', 'AES256 (s)', 'AES256 (MBit/s)', 'AES-256-CBC + SHA256 (MBit/s)', 'AES-256-GCM (MBit/s)',
                              'CHACHA20-POLY1305 (MBit/s)', 'NONE (MBit/s)']
        assert row[3:-1] == ['40.0', '81.4', '47.5', '68.6', '93.0', '108.5', '162.7', '325.4']

    def test_lines_that_disagree_are_marked(self, table):
        _, out, _ = table(numbered([20.0, 25.0]))
        assert 'lines-disagree: its lines lie over 10 % apart' in out and 'lines-disagree' not in table(numbered([24.0, 25.0]))[1]

    @pytest.mark.parametrize('count', [2, 12, 30, 200])
    def test_every_line_is_counted_once(self, count):
        lines = numbered([28.0 + i / 1000 for i in range(count)])
        assert figures(collected(*lines))['TP-Link TL-WDR3600', 'AES128'][1] == count
        collector = collected(*lines, *lines)
        assert figures(collector)['TP-Link TL-WDR3600', 'AES128'][1] == count and collector.counts() == {'duplicate': count}

    def test_the_newest_lines_count(self):
        lines = numbered([20.0] * 30 + [30.0] * 30)
        assert figures(collected(*lines))['TP-Link TL-WDR3600', 'AES128'] == (30.0, 60)

    def test_latest(self, table):
        old = [made(20.0, os='OpenWrt 22.03.7', time='2025-01-01T00:00:00Z'), made(19.0, 'AES256', os='OpenWrt 22.03.7', time='2025-01-01T00:00:00Z')]
        new = made(28.0, os='OpenWrt 24.10.2', time='2026-01-01T00:00:00Z')
        other = made(9.0, device='Another', time='2020-01-01T00:00:00Z')
        for lines in ([*old, new, other], [new, other, *old]):
            assert len(rows_of(table(lines, '--format', 'json')[1])) == 3
            rows = rows_of(table(lines, '--latest', '--format', 'json')[1])
            assert [(row['device'], row['system']) for row in rows] == [('TP-Link TL-WDR3600', 'OpenWrt 24.10.2'), ('Another', 'OpenWrt 23.05.5')]

    def test_latest_keeps_what_was_measured_in_another_way(self, table):
        lines = [made(28.0), made(31.0, warnings=['estimated'], time='2026-09-01T00:00:00Z'), made(40.0, cipher='aes128-ctr', warnings=['substituted-cipher'])]
        assert len(rows_of(table(lines, '--latest', '--format', 'json')[1])) == 3

    def test_latest_without_a_time_is_where_it_stood(self, table):
        lines = [made(20.0, os='A 1', time=None), made(28.0, os='A 2', time=None)]
        assert [row['system'] for row in rows_of(table(lines, '--latest', '--format', 'json')[1])] == ['A 2']

    SORTED = [made(28.0, device='b', mhz=None, cpu='MIPS 74Kc'), made(100.0, device='C', mhz=1000.0, cpu='ARM Cortex-A9', arch='armv7l'),
              made(9.0, device='a', mhz=400.0, cpu='MIPS 24Kc'), made(24.0, 'AES256', device='d', mhz=680.0, cpu='MIPS 24Kc')]

    @pytest.mark.parametrize('key,order', [('device', 'abCd'), ('-device', 'dCba'), ('mhz', 'adCb'), ('-mhz', 'Cdab'), ('aes128', 'abCd'), ('-aes128', 'Cbad'), ('AES256', 'dbCa'),
                                           ('cpu', 'Cadb'), (None, 'Cbad')])
    def test_sort_by_numbers_with_the_missing_last(self, table, key, order):
        rows = rows_of(table(self.SORTED, '--format', 'json', *(['--sort=' + key] if key else []))[1])
        assert ''.join(row['device'] for row in rows) == order

    @pytest.mark.parametrize('words,kept', [('mips', 'abd'), ('MIPS 24Kc', 'ad'), ('cpu=mips', 'abd'), ('cpu=arm', 'C'), ('cpu=24kc device=a', 'a'), ('mhz=680', 'd'), ('family=arm', 'C'),
                                            ('openwrt', 'abCd'), ('device=openwrt', ''), ('nosuch', ''), ('', 'abCd'), ('tool=dropbear cpu=mips', 'abd')])
    def test_filter(self, table, words, kept):
        status, out, err = table(self.SORTED, '--filter', words, '--sort', 'device', '--format', 'json')
        assert status == (0 if kept else rb.EXIT_NOTHING)
        assert (''.join(row['device'] for row in rows_of(out)) if kept else out) == kept and ('No row.' in err) == (not kept)

    def test_several_tests_in_one_file(self, table):
        lines = [crypto(47.46), made(28.5)]
        status, out, err = table(lines)
        assert status == 0 and '28.5' in out and '68.6' not in out and 'Lines of other tests: openvpn (--test NAME).' in err
        status, out, err = table(lines, '--test', 'openvpn')
        assert status == 0 and '28.5' not in out and '68.6' in out and 'other tests' not in err
        assert table(lines, '--test', 'nosuch')[0] == rb.EXIT_NOTHING
        assert '68.6' in table([crypto(47.46)])[1]

    def test_the_same_file_twice_is_read_once(self, table, tmp_path):
        os.symlink(str(tmp_path / '0.jsonl'), str(tmp_path / 'link'))
        assert 'median of 3 runs' in table([made()], str(tmp_path / 'link'), str(tmp_path / '0.jsonl'))[1]

    def test_a_file_and_its_copy(self, table):
        status, out, err = table([made(28.0)], [made(28.0), made(29.0, run='0000000b')])
        assert status == 0 and 'median of 2 lines' in out and 'Left out: 1 line that stand' in err.replace('stands', 'stand')

    def test_quiet(self, table):
        assert table([made(28.0)] * 2 + [crypto()], '--quiet')[2] == ''


class TestMarks:
    """What sets a figure apart stands beside it, and never in one figure with others."""

    @pytest.mark.parametrize('code', ['estimated', 'imported', 'loopback', 'virtual-machine'])
    def test_a_row_of_its_own_with_a_footnote(self, table, code):
        status, out, _ = table([made(28.0), made(56.0, run='0000000b', warnings=[code])])
        assert status == 0
        lines = [line for line in out.splitlines() if 'TL-WDR3600' in line]
        assert len(lines) == 2 and [line.rstrip().endswith('[1]') for line in lines] == [True, False] and '42.0' not in out
        note = [line for line in out.splitlines() if line.startswith('[1] ')]
        assert len(note) == 1 and re.match(r'\[1\] %s: \w+' % code, note[0])

    @pytest.mark.parametrize('code', sorted(set(rb.MARKS)))
    @pytest.mark.parametrize('form', ['text', 'markdown', 'dokuwiki', 'json'])
    def test_every_mark_is_said(self, table, code, form):
        line = made(28.0, warnings=[code], cipher='aes128-ctr' if code == 'substituted-cipher' else 'aes128-cbc')
        status, out, _ = table([line], '--format', form)
        assert status == 0 and code in out.replace('\\', '')
        assert form == 'json' or re.search(r'\[1\]', out.replace('\\', ''))

    def test_ctr_beside_cbc_is_a_row_of_its_own(self, table):
        lines = [made(28.0), made(24.0, 'AES256'), made(40.0, cipher='aes128-ctr', warnings=['substituted-cipher']), made(35.0, 'AES256', cipher='aes256-ctr', warnings=['substituted-cipher'])]
        _, out, _ = table(lines)
        rows = [line for line in out.splitlines() if 'TL-WDR3600' in line]
        assert len(rows) == 2 and '40.0' in rows[0] and '35.0' in rows[0] and '28.0' in rows[1] and '24.0' in rows[1]
        assert rows[0].rstrip().endswith('[1] [2]') and not rows[1].rstrip().endswith(']')
        assert 'substituted-cipher: ' in out and 'CTR, not CBC' in out

    def test_ctr_that_was_asked_for_as_well(self, table):
        _, out, _ = table([made(40.0, cipher='aes128-ctr'), made(24.0, 'AES256')])
        assert len([line for line in out.splitlines() if 'TL-WDR3600' in line]) == 2 and 'CTR, not CBC' in out

    @pytest.mark.parametrize('extra,words', [({'processes': 2}, '2 processes'), ({'tun_mtu': 1500}, '--tun-mtu 1500')])
    def test_other_work_is_a_row_of_its_own(self, table, extra, words):
        line = crypto(47.46)
        other = crypto(20.0, run='0000000b', extra=dict(line['extra'], packets=None, **extra), mbit=line['mbit'])
        _, out, _ = table([line, other])
        assert len([text for text in out.splitlines() if 'TL-WDR3600' in text]) == 2 and words in out

    def test_no_csv_without_marks(self, table):
        """CSV has no footnotes: what the numbers mean has to stand in it all the same."""
        _, out, _ = table([made(28.0, warnings=['estimated'])], '--format', 'csv')
        assert len({len(row) for row in csv.reader(io.StringIO(out))}) == 1
        assert 'estimated' in out


class TestUnsound:
    BAD = {'arithmetic': made(28.0, mbit_s=56.0), 'implausible': made(28.0 * 20, mhz=560.0), 'zero': made(mbit_s=0.0), 'range': made(mhz=5.0, cpu='Unheard', arch=None),
           'missing-fact': made(device=None), 'placeholder': made(device='Default string'), 'private': made(device='192.168.1.1'),
           'not-fit': made(warnings=['unstable']), 'above-link': made(extra={'link_mbit_s': 10.0})}

    @pytest.mark.parametrize('code', sorted(BAD))
    def test_left_out_and_counted(self, table, code):
        status, out, err = table([self.BAD[code], made(25.0, device='Sound')])
        assert status == 0 and [row['device'] for row in rows_of(table([self.BAD[code], made(25.0, device='Sound')], '--format', 'json')[1])] == ['Sound']
        assert 'Left out: 1 line ' in err and 'Left out: 2' not in err and '25.0' in out
        assert json.loads(table([self.BAD[code], made(25.0)], '--format', 'json')[1])['left_out'] == {code: 1}

    @pytest.mark.parametrize('code', sorted(BAD))
    def test_all_shows_them_marked(self, table, code):
        status, out, _ = table([self.BAD[code], made(25.0, device='Sound')], '--all')
        if code == 'zero':
            assert status == 0
        else:
            assert status == 0 and 'unsound: ' + code in out and len([line for line in out.splitlines() if line.rstrip().endswith('[1]')]) == 1

    @pytest.mark.parametrize('code', sorted(BAD))
    def test_after_sound_lines_of_the_same_machine(self, code):
        """What has been seen before is looked at less closely; a figure that is unsound stays so."""
        bad = dict(self.BAD[code], run='0000000b')
        sound = made(28.0), made(28.0, extra={'link_mbit_s': 100.0}, run='0000000c')
        collector = collected(*sound, bad)
        assert sum(lines for _rate, lines in figures(collector).values()) == 2 and collector.counts() == {code: 1}

    @pytest.mark.parametrize('bad', [made(28.0, runs=[14.0, 14.0, 14.0], run='0000000b'), made(28.0, spread=0.5, run='0000000b'),
                                     crypto(47.46, extra={'tun_mtu': 20000, 'packets': 14000, 'processes': 1}, run='0000000b'),
                                     crypto(47.46, mbit=2 * 3254.147, mbit_s=round(2 * 3254.147 / 47.46, 3), run='0000000b')], ids=['runs', 'spread', 'packets', 'mbit'])
    @pytest.mark.parametrize('before', [0, 1, 3])
    def test_arithmetic_whatever_stood_before(self, bad, before):
        sound = [(made if bad['test'] == 'ssh' else crypto)(run='000000c%d' % i, time='2026-04-0%dT00:00:00Z' % (i + 1)) for i in range(before)]
        collector = collected(*sound, bad)
        assert collector.counts() == {'arithmetic': 1} and sum(lines for _rate, lines in figures(collector, bad['test']).values()) == before

    def test_an_implausible_figure_after_one_of_a_virtual_machine(self):
        """For which no rate is implausible."""
        fast = made(28.0 * 20, run='0000000b')
        collector = collected(made(28.0, warnings=['virtual-machine']), made(28.0), fast)
        assert collector.counts() == {'implausible': 1}

    def test_an_implausible_figure_after_one_of_many_processes(self):
        many = crypto(47.46, extra={'tun_mtu': 20000, 'packets': 20168, 'processes': 250})
        fast = crypto(3254.147 / 1000, run='0000000b')
        assert collected(many, crypto(47.46), fast).counts() == {'implausible': 1}

    @pytest.mark.parametrize('missing', ['device', 'cpu'])
    @pytest.mark.parametrize('value', [None, '', '-', '?', 'Default string', 'To be filled by O.E.M.', 'ENTER CPU MODEL'])
    def test_r66_no_row_without_a_device_and_its_processor(self, table, missing, value):
        if (missing, value) == ('device', 'ENTER CPU MODEL'):
            pytest.skip('a strange name, but one')
        status, out, err = table([made(**{missing: value})])
        assert (status, out) == (rb.EXIT_NOTHING, '') and 'Left out: 1 line' in err and 'No row.' in err

    @pytest.mark.parametrize('status', ['skipped', 'failed', 'OK', ''])
    def test_no_row_without_a_result(self, table, status):
        assert table([made(status=status)])[0] == rb.EXIT_NOTHING and table([made(status=status)], '--all')[0] == rb.EXIT_NOTHING

    def test_unsound_numbers_of_every_size_with_all(self):
        tiny, lines = (-5.0, -5e-324, 5e-324, 1e-320, 1e-300, 5.0, 9e14), []
        for rate in tiny:
            for seconds in (None, *tiny, 0.0):
                lines.append(made(mbit_s=rate, seconds=seconds, mbit=None, runs=[], spread=None))
        for line in lines:
            everything_of(collected(line, everything=True))
        everything_of(collected(*lines, everything=True))


# --- files --------------------------------------------------------------------------------------

GOOD = made(28.0)
AFTER = made(24.0, 'AES256')
BOTH = {('TP-Link TL-WDR3600', 'AES128'): (28.0, 1), ('TP-Link TL-WDR3600', 'AES256'): (24.0, 1)}
TEXT = packed(GOOD)


class TestFiles:
    @pytest.mark.parametrize('between,left_out', [
        (b'', {}), (b'\n', {}), (b'\r\n \t\n', {}), (b'\x00\x00\x00\x00\n', {}), (TEXT[:100] + b'\n', {'not-json': 1}), (TEXT[:-2] + b'\n', {'not-json': 1}), (TEXT[1:], None),
        (TEXT, {'duplicate': 1}), (TEXT[:-1] + b'\r\n', {'duplicate': 1}), (b'\x00' * 5000 + TEXT, {'duplicate': 1}), (b'\xff\xfe{\x00"\x00\n', {'not-utf8': 1}),
        (TEXT[:300] + b'caf\xc3\n', {'not-utf8': 1}), (b'[1, 2]\n', {'foreign': 1}), (b'{}\n', {'foreign': 1}), (b'5\nnull\n"x"\ntrue\n', {'foreign': 4}), (b'{"a":1}{"a":2}\n\n{"a":3}\n', {'foreign': 3}),
        (b'[' * 100000 + b'\n', {'not-json': 1}), (b'{"a":' * 20000 + b'\n', {'not-json': 1}), (b'{"schema": 1, "test": "ssh", "x": ' + b'[' * 5000 + b']' * 5000 + b'}\n', None),
        (packed(dict(GOOD, schema=2)), {'schema': 1}), (packed(dict(GOOD, schema=10 ** 30)), {'schema': 1}), (packed({'schema': 1, 'agent': '0.1.0', 'tests': []}), {'foreign': 1}),
        (b'routerbench 0.1.0 on a virtual machine\n', {'not-json': 1}), (b'9' * 100000 + b'\n', None), (b'NaN\n-Infinity\n', None), (b'{"schema": 1, "schema": 7, "test": "ssh"}\n', {'schema': 1}),
        (b'\xef\xbb\xbf' + TEXT, None), (b'"' * 9999 + b'\n', None), (TEXT.replace(b'28.0', b'1e999'), None), (TEXT.replace(b'"mbit": 800.0', b'"mbit": 1' + b'0' * 400), {'key-type': 1}),
        (TEXT.replace(b'"seconds": 28.571429', b'"seconds": 1' + b'0' * 400), {'key-type': 1})])
    def test_what_stands_between_sound_lines(self, between, left_out):
        assert between is None or TEXT != between or left_out
        collector = collected(GOOD, between, AFTER)
        everything_of(collector)
        assert figures(collector) == BOTH
        assert left_out is None or collector.counts() == left_out
        assert left_out is not None or sum(collector.counts().values()) > 0

    def test_windows(self):
        assert figures(collected(b'\xef\xbb\xbf' + packed(GOOD)[:-1] + b'\r\n' + packed(AFTER)[:-1] + b'\r\n')) == BOTH
        collector = collected((packed(GOOD).decode() + packed(AFTER).decode()).encode('utf-16'))
        assert figures(collector) == {} and set(collector.counts()) <= {'not-utf8', 'not-json'}

    def test_no_newline_at_the_end(self):
        assert figures(collected(packed(GOOD) + packed(AFTER)[:-1])) == BOTH

    def test_r63_two_objects_on_a_line(self):
        for between in (b'', b' ', b'\x00', b'\t'):
            assert figures(collected(packed(GOOD)[:-1] + between + packed(AFTER))) == BOTH

    @pytest.mark.parametrize('cut', list(range(1, len(TEXT) - 1, 41)))
    def test_r62_torn_anywhere_and_appended_to(self, cut):
        """A power cut tears a line; the next writer may or may not begin a new one."""
        for newline in (b'\n', b''):
            collector = collected(TEXT[:cut] + newline, AFTER)
            assert figures(collector) == {('TP-Link TL-WDR3600', 'AES256'): (24.0, 1)} and sum(collector.counts().values()) == 1

    def test_torn_within_a_letter_and_appended_to(self):
        torn = packed(made(device='Caf\u00e9')).partition(b'\xc3')
        assert figures(collected(torn[0] + torn[1] + packed(AFTER))) == {('TP-Link TL-WDR3600', 'AES256'): (24.0, 1)}

    def test_an_older_line_without_some_keys(self):
        old = {key: value for key, value in GOOD.items() if key not in ('library', 'driver', 'extra', 'agent')}
        assert figures(collected(old, AFTER)) == BOTH
        assert figures(collected(GOOD, dict(old, run='0000000b'))) == {('TP-Link TL-WDR3600', 'AES128'): (28.0, 2)}

    @pytest.mark.parametrize('foreign', [{'schema': 1, 'test': 'ssh'}, {'schema': 1, 'test': 'ssh', 'mbit_s': 28.0}, {'schema': True, 'test': 'ssh', 'device': 'a', 'cpu': 'b', 'mbit_s': 28.0},
                                         {'test': 'ssh', 'device': 'Router', 'cpu': 'MIPS 24Kc', 'mbit_s': 28.0}, {'schema': 'http://json-schema.org/draft-07/schema#', 'test': 'ssh'}])
    def test_other_peoples_json(self, foreign):
        collector = collected(foreign, GOOD)
        assert list(figures(collector)) == [('TP-Link TL-WDR3600', 'AES128')] and sum(collector.counts().values()) == 1

    @pytest.mark.parametrize('hostile', [b'{}', b'{"schema"', b'{"schema":', b'{"schema":[', b'[],', b'{"schema": 1, "test": "a"', b'"'])
    def test_no_line_takes_more_than_its_share_of_time(self, hostile):
        """Four times the bytes, about four times the work; a second would be a thousand times that of a real line."""
        text = hostile * (80000 // len(hostile)) + b'\n'
        started = time.process_time()
        collected(text)
        assert time.process_time() - started < 0.6

    def test_nested_lists_are_not_read_again_from_every_depth(self):
        started = time.process_time()
        collected(b'{"schema":' * 900 + b'[' + b'1,' * 40000 + b'\n')
        assert time.process_time() - started < 0.6

    @pytest.mark.parametrize('what', ['directory', 'zero', 'null', 'missing', 'loop', 'nul'])
    def test_what_is_no_file(self, table, tmp_path, what):
        for name, target in (('zero', '/dev/zero'), ('null', '/dev/null'), ('loop', str(tmp_path / 'loop'))):
            os.symlink(target, str(tmp_path / name))
        path = {'directory': str(tmp_path), 'nul': 'a\0b'}.get(what, str(tmp_path / what))
        status, out, err = table(path)
        assert (status, out) == (rb.EXIT_FAILED, '') and rb.plain(path) in err
        status, out, err = table([GOOD], path)
        assert status == rb.EXIT_FAILED and '28.0' in out and err.count('routerbench: ') == 1

    def test_a_name_that_would_speak_to_the_terminal(self, table):
        _, _, err = table('no\x1b[31m\nsuch')
        assert '\x1b' not in err and err.count('\n') == 2

    @pytest.mark.skipif(os.geteuid() == 0, reason='root may read all')
    def test_an_unreadable_file(self, table, tmp_path):
        (tmp_path / 'secret').write_bytes(TEXT)
        (tmp_path / 'secret').chmod(0)
        assert table(str(tmp_path / 'secret'))[0] == rb.EXIT_FAILED

    def test_a_fifo(self, table, tmp_path):
        path = str(tmp_path / 'fifo')
        os.mkfifo(path)

        def write():
            with open(path, 'wb') as file:
                file.write(TEXT)
        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(0.1)
        status, out, _ = table(path)
        writer.join(5)
        assert status == 0 and '28.0' in out and not writer.is_alive()

    def test_process_substitution(self, table):
        reading, writing = os.pipe()
        os.write(writing, TEXT)
        os.close(writing)
        status, out, _ = table('/dev/fd/%d' % reading)
        os.close(reading)
        assert status == 0 and '28.0' in out

    @pytest.mark.parametrize('words', [[], ['-'], ['-', '-'], ['/dev/stdin']])
    def test_stdin(self, table, tmp_path, words):
        if words == ['/dev/stdin'] and not os.path.exists('/dev/stdin'):
            pytest.skip('no /dev/stdin here')
        (tmp_path / 'in').write_bytes(TEXT)
        kept, given = os.dup(0), os.open(str(tmp_path / 'in'), os.O_RDONLY)
        os.dup2(given, 0)
        try:
            status, out, _ = table(*words)
        finally:
            os.dup2(kept, 0)
            os.close(kept)
            os.close(given)
        assert status == 0 and '28.0' in out and 'median of 3 runs' in out

    @pytest.mark.parametrize('nothing', [b'', b'\n\n', b'\x00' * 100])
    def test_empty(self, table, nothing):
        assert table(nothing) == (rb.EXIT_NOTHING, '', 'No row.\n')

    def test_without_a_stdin(self):
        done = subprocess.run(['sh', '-c', 'exec "$@" <&-', 'sh', *agent('table')], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        assert (done.returncode, done.stdout, done.stderr) == (rb.EXIT_NOTHING, b'', b'No row.\n')

    def test_a_reader_that_goes_away(self, tmp_path):
        path = tmp_path / 'many'
        path.write_bytes(packed(*[made(28.0, device='Router %d' % i) for i in range(3000)]))
        process = subprocess.Popen(agent('table', str(path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(30) == rb.EXIT_FAILED and err == b''


PEAK = ('import atexit, runpy, sys; atexit.register(lambda: sys.stderr.write([l for l in open("/proc/self/status") if "VmHWM" in l][0])); '
        'sys.argv = sys.argv[1:]; sys.path.insert(0, %r); import routerbench; sys.exit(routerbench.main())' % os.path.dirname(AGENT))


def peak_mib(*words):
    """(peak memory, stdout, stderr) of the agent. What the kernel notes as a child's peak starts at that of whoever started it, so it says its own."""
    done = subprocess.run([sys.executable, '-c', PEAK, 'routerbench.py', *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return int(done.stderr.split()[-2]) / 1024, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope='module')
def least():
    return peak_mib('table', '--published')[0]


@pytest.mark.skipif(not os.path.exists('/proc/self/status'), reason='needs /proc')
class TestMemory:
    @pytest.mark.parametrize('begin', [b'{"schema": 1, "device": "', b'', b'{"schema": 1, "x": ['])
    @pytest.mark.parametrize('command', ['table', 'validate'])
    def test_fifty_megabytes_without_a_newline(self, tmp_path, least, command, begin):
        path = tmp_path / 'long'
        with open(str(path), 'wb') as file:
            file.write(TEXT + begin)
            for _ in range(50):
                file.write((b'1,' if begin.endswith(b'[') else b'xy') * (1 << 19))
            file.write(b'\n' + packed(AFTER))
        peak, out, err = peak_mib(command, str(path))
        path.unlink()
        assert peak < least + 25
        assert ('28.0' in out and '24.0' in out and 'that never end' in err) if command == 'table' else ('too-long' in out and out.count('\n') == 1)

    def test_many_lines(self, tmp_path, least):
        path = tmp_path / 'many'
        path.write_bytes(b''.join(packed(made(28.0 + i % 7, run='%08x' % i, device='Router %d' % (i % 20))) for i in range(20000)))
        peak, out, _ = peak_mib('table', str(path))
        assert peak < least + 12 and out.count('Router') == 20

    def test_lines_with_much_in_them(self, tmp_path, least):
        path = tmp_path / 'fat'
        with open(str(path), 'wb') as file:
            for i in range(150):
                file.write(packed(made(28.0, device='Router %d' % i, extra={'samples': [[n, n / 7] for n in range(8000)]})))
        peak, out, _ = peak_mib('table', str(path))
        assert peak < least + 40 and out.count('Router') == 150

    def test_more_machines_than_fit(self, monkeypatch):
        monkeypatch.setattr(rb, 'MOST_ROWS', 20)
        collector = collected(*[made(28.0, device='Router %d' % i) for i in range(50)])
        assert len(collector.rows('ssh')) == 20 and collector.counts() == {'too-many': 30}
        assert 'Left out: 30 lines of more machines than fit.' in rb.left_out_text(collector.counts())

    def test_a_column_for_each_line(self, tmp_path, least):
        """Every line another device and another cipher: the table is no larger than its file many times over."""
        path = tmp_path / 'wide'
        path.write_bytes(packed(*[crypto(47.46, 'cipher-%d' % i, device='Router %d' % i) for i in range(1000)]))
        before = os.times()
        peak, _, err = peak_mib('table', '--format', 'markdown', str(path))
        assert 'Traceback' not in err and peak < least + 60 and os.times().children_user - before.children_user < 3


# --- wrong types --------------------------------------------------------------------------------

HUGE = 10 ** 400
NAN, INFINITY = float('nan'), float('inf')


def wrong_values():
    """(key, what a line cannot hold there) for every key."""
    for key in rb.Line._fields:
        if key in TEXT_KEYS:
            yield from ((key, value) for value in (5, 0, True, 1.5, [], {}, ['a'], {'a': 1}, HUGE, NAN))
            if rb.Line._field_defaults[key] is not None:
                yield key, None
        elif key in NUMBER_KEYS:
            yield from ((key, value) for value in ('5', '', True, [], {}, [5], NAN, INFINITY, -INFINITY, 1e300, HUGE, -HUGE))
        elif key == 'cores':
            yield from ((key, value) for value in ('1', '', True, 1.5, [], {}, -1, HUGE, NAN))
        elif key == 'schema':
            yield from ((key, value) for value in ('1', True, None, 1.0, [], {}, -1, 2, HUGE, NAN))
        elif key == 'runs':
            yield from ((key, value) for value in ('5', '', 5, None, {}, {'a': 1}, [None], ['5'], [NAN], [True], [[]], [HUGE], [{}]))
        elif key == 'warnings':
            yield from ((key, value) for value in ('', 'estimated', 5, None, {}, {'estimated': 1}, [5], [None], [[]], [{}], [True]))
        else:
            assert key == 'extra'
            yield from ((key, value) for value in ('', 'x', 5, None, [], [1], True))


WRONG = list(wrong_values())
EXTRAS = [{key: value} for key in ('processes', 'tun_mtu', 'packets', 'link_mbit_s', 'name', 'source', 'error_pct', 'samples', 'mbyte_s', 'local_cpu')
          for value in (None, True, 0, -1, 1.5, HUGE, -HUGE, NAN, INFINITY, '', 'x', '\x1b[31m|^\n', [], [1], {}, {'a': 1}, 10 ** 18)]


class TestWrongTypes:
    def test_every_key_is_tried(self):
        assert {key for key, _value in WRONG} == set(rb.Line._fields)

    @pytest.mark.parametrize('key', rb.Line._fields)
    def test_alone(self, key):
        for value in (value for name, value in WRONG if name == key):
            for everything in (False, True):
                collector = collected(made(28.0, **{key: value}), made(24.0, device='Another'), everything=everything)
                everything_of(collector)
                assert figures(collector) == {('Another', 'AES128'): (24.0, 1)}, value
                assert sum(collector.counts().values()) == 1, value

    @pytest.mark.parametrize('key', rb.Line._fields)
    def test_after_sound_lines_of_the_same_machine(self, key):
        """Nothing of what stands in a row comes from a line that holds something else there."""
        for value in (value for name, value in WRONG if name == key):
            for everything in (False, True):
                collector = collected(made(28.0), made(28.0, run='0000000c'), made(28.0, **dict({'run': '0000000b'}, **{key: value})), everything=everything)
                texts = everything_of(collector)
                assert figures(collector)['TP-Link TL-WDR3600', 'AES128'][0] == 28.0
                if key in ROW_KEYS:
                    assert figures(collector) == {('TP-Link TL-WDR3600', 'AES128'): (28.0, 2)}, value
                    assert sum(collector.counts().values()) == 1, value
                assert not any('nan' in text or 'inf ' in text for text in texts)

    @pytest.mark.parametrize('extra', EXTRAS, ids=lambda extra: '%s-%.12r' % next(iter(extra.items())))
    def test_in_extra(self, extra):
        for line in (made(), crypto(), made(test='kernel', driver='cbc-aes-generic')):
            odd = dict(line, run='0000000b', extra=dict(line['extra'], **extra))
            for lines, everything in (([odd], False), ([odd], True), ([line, odd], False), ([odd, line], False)):
                collector = collected(*lines, everything=everything)
                rows = [row for test in collector.tests() for row in collector.rows(test)]
                for form in ('text', 'json') if rows else ():
                    assert not re.search('[\x00-\x09\x0b\x0c\x0e-\x1f]', rb.rendered(form, line['test'], rows, collector.counts()))

    def test_a_source_of_somebody_elses_changes_nothing(self):
        """The seconds of the document are those of 800 Mbit, whoever wrote `source`."""
        quick = made(28.0, mbit=160.0, seconds=round(160 / 28.0, 6), runs=[round(160 / 28.0, 6)], extra={'source': 'my page'})
        (row,) = collected(quick).rows('ssh')
        assert row.cell('AES128').seconds == pytest.approx(28.571, abs=0.01) and row.source == ''

    @pytest.mark.parametrize('number', ['1e400', '-1e400', 'NaN', 'Infinity', '-Infinity', '1' + '0' * 400, '1' + '0' * 5000, '1e308', '5e-324', '-0.0', '-1', '0'])
    @pytest.mark.parametrize('key', ['mbit_s', 'seconds', 'mbit', 'mhz', 'spread'])
    def test_numbers_that_no_line_has(self, key, number):
        """A spread apart, which the table only shows where it is one."""
        text = re.sub(r'"%s": [^,]*' % key, '"%s": %s' % (key, number), packed(made(28.0, run='0000000b')).decode()).encode()
        assert number.encode() in text
        for everything in (False, True):
            everything_of(collected(text, everything=everything))
            everything_of(collected(GOOD, text, everything=everything))
        collector = collected(GOOD, text)
        assert figures(collector)['TP-Link TL-WDR3600', 'AES128'] in ((28.0, 1), *[(28.0, 2)] * (key == 'spread'))


# --- names --------------------------------------------------------------------------------------

NAMES = ['a|b', '||a||', 'a^b ^ c', '**bold** router', '//slanted// router', "it's \"quoted\", too", '<script>alert(1)</script>', "=cmd|' /C calc'!A0", '=1+1 router', '+1 router', '@SUM(A1)', '-1 router',
         'router;=cmd()', 'abc\u202edef\u200f', '\u061cALM router', '\x1b[31mred\x1b]0;title\x07', 'two\nlines', 'two\r\n| lines', 'tab\tbed', '[[link|text]]', '{{image.png}}', '((foot))', '~~NOTOC~~', '100%% router',
         'a %% b % c', '%|% router', 'a%|b', '</nowiki> router', '%%</nowiki>|x router', '<nowiki>a|b', 'http://evil.example/x', 'https://evil.example', 'www.evil.example', 'WWW.evil.example', 'ftp.evil.example',
         'mail@evil.example', '`code`', '```', '# head', '1. list', '> quote', '- list', '* list', '_a_ __b__', 'ends with a \\', '\\|', '\\\\a|b\\', '&lt;b&gt; &amp; c', '![a](javascript:alert)', '[a](http://b)',
         '$(reboot) `reboot`', 'a ::: b', ':::', '<<a>>', '\\\\server\\share', "''mono''", 'D-Link DIR-825 B1', 'TP-Link TL-WR841N/ND v9 | rev\n2', '\u8def\u7531\u5668 router', 'Caf\u00e9 \U0001f4e1',
         '\ufeffBOM', '\ud800 half', 'a\x00b', '\u2028separated', '---|---', 'long ' + 'r' * 10000, 'a' * 79 + '|||||', '"', '\'=a"', 'a,b;c\td', '<!-- a -->', '&#60;b&#62;', '<http://evil.example>', 'a~~b~~', '$$a$$', ':smile: a']
SYNTAX = re.compile(r"\*\*|//|__|''|\[\[|\]\]|\{\{|\}\}|\(\(|\)\)|~~|\\\\|:::|<|%%|\bwww?\.|\bftp\.|@", re.IGNORECASE)


BIDI = '[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]'


def wiki_cells(row):
    """The cells of a DokuWiki row as (what a reader sees, what DokuWiki would look at)."""
    assert row[0] in '|^' and row[-1] in '|^'
    cells, shown, bare = [], '', ''
    for nothing, tag, end, rest in re.findall(r'%%(.*?)%%|<nowiki>(.*?)</nowiki>|([|^])|(.)', row[1:]):
        if end:
            cells.append((shown.strip(), bare))
            shown = bare = ''
        shown += nothing or tag or rest
        bare += rest
    return cells


def markdown_cells(text):
    """The cells of the rows of a Markdown table by a parser of its own."""
    rows = []
    for line in text.split('\n\n')[0].splitlines():
        shown = re.split(r'(?<!\\)(?:\\\\)*\|', line)
        rows.append([html.unescape(re.sub(r'\\([^\sa-zA-Z0-9])', r'\1', cell)).strip() for cell in shown][:-1])
    return rows[:1] + rows[2:]


def names_as_shown(name):
    return rb.plain(name, 80).encode('utf-8', 'replace').decode()


def hostile_rows(name, key='device'):
    """The rows of a table with such a name, and of one without."""
    collector = collected(made(28.0, **{key: name}), made(24.0, **{key: 'Another one'}), everything=True)
    return collector, [row for test in collector.tests() for row in collector.rows(test)]


def shapes(form, name, key='device'):
    """The text of a table with such a name, as it is written."""
    collector, rows = hostile_rows(name, key)
    return rb.rendered(form, 'ssh', rows, collector.counts()).encode('utf-8', 'replace').decode()


class TestNames:
    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_text(self, name):
        text = shapes('text', name)
        lines = text.splitlines()
        assert names_as_shown(name) in text and not re.search(rb.CONTROL, text.replace('\n', '')) and not re.search(BIDI, text)
        assert len([line for line in lines if 'OpenWrt 23.05.5' in line]) == 2 and max(map(len, lines[:3])) < 300

    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_dokuwiki(self, name):
        lines = shapes('dokuwiki', name).split('\n')
        rows = [wiki_cells(line) for line in lines[:3]]
        assert [len(row) for row in rows] == [len(rows[0])] * 3 and lines[3] == '' and rows[0][2][0] == 'tested device'
        assert names_as_shown(name) in [row[2][0] for row in rows]
        for row in rows[1:]:
            for _shown, bare in row:
                assert not SYNTAX.search(bare), bare

    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_markdown(self, name):
        text = shapes('markdown', name)
        rows = markdown_cells(text)
        assert [len(row) for row in rows] == [len(rows[0])] * 3 and names_as_shown(name) in [row[2] for row in rows]
        assert not re.search('[<>]', text.replace('<br>', ''))

    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_markdown_as_a_real_parser_reads_it(self, name):
        parser = pytest.importorskip('markdown_it').MarkdownIt('commonmark').enable('table')
        self.check(parser.parse(shapes('markdown', name)), name)

    @staticmethod
    def check(tokens, name):
        kinds = [token.type for token in tokens]
        assert kinds[0] == 'table_open' and kinds.count('table_open') == 1 and kinds.count('tr_open') == 3
        first_after = kinds[kinds.index('table_close') + 1:]
        assert set(first_after) <= {'paragraph_open', 'inline', 'paragraph_close'}
        cells = []
        for before, token in zip(tokens, tokens[1:]):
            if before.type in ('td_open', 'th_open'):
                assert {child.type for child in token.children} <= {'text', 'text_special'}, token.content
                cells.append(''.join(child.content for child in token.children))
        assert len(cells) % 3 == 0 and names_as_shown(name) in cells

    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_markdown_as_github_reads_it(self, name):
        made_html = pytest.importorskip('cmarkgfm').github_flavored_markdown_to_html(shapes('markdown', name))
        assert made_html.count('<table>') == 1 and made_html.count('<tr>') == 3
        made_html = re.sub('</?a(?: href="mailto:[^"]*")?>', '', made_html)  # GitHub links an address whatever is done
        cells = [html.unescape(cell) for cell in re.findall(r'<td>(.*?)</td>', made_html)]
        assert len(cells) == 2 * made_html.count('<th>') and names_as_shown(name) in cells
        assert not re.search(r'<(?!/?(?:table|thead|tbody|tr|th|td|p|br)\b)', made_html), made_html

    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_csv(self, name):
        text = shapes('csv', name)
        rows = list(csv.reader(io.StringIO(text, newline='')))
        assert [len(row) for row in rows] == [len(rows[0])] * 3
        assert names_as_shown(name).replace("'", '') in [row[2].replace("'", '') for row in rows]
        for row in rows:
            for cell in row:
                assert cell == '-' or not re.match(r'[\s"]*[=+@\-\uff1d\uff0b\uff0d\uff20\t\r]', cell), cell
                assert not re.search(r'[;|\t]\s*[=+@-]', cell), cell

    @pytest.mark.parametrize('name', NAMES, ids=lambda name: '%.25r' % name)
    def test_json(self, name):
        text = shapes('json', name)
        found = json.loads(text)
        assert names_as_shown(name) in [row['device'] for row in found['rows']] and text.count('\n') == 1
        assert not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f]', text)

    @pytest.mark.parametrize('cpu', ['-', '+', '*', '#', '1.', '1)', '- x', '+ y', '# a', '>', '---', ':-', ':--:', '```', '~~~', '<a>', '| a', '\\', '    a', '[a]: b', '===', '___', '***', '-----|-----'])
    def test_a_processor_that_would_begin_another_block(self, cpu):
        """The first cell of a row begins its line."""
        text = shapes('markdown', cpu, 'cpu')
        rows = markdown_cells(text)
        assert [len(row) for row in rows] == [len(rows[0])] * 3
        first = [line for line in text.splitlines()[2:4]]
        assert not any(re.match(r'\s*(?:[-+*#>]|\d+[.)]|```|~~~|<)(?:\s|$|[-=*`~#])', line) for line in first), first
        parser = pytest.importorskip('markdown_it').MarkdownIt('commonmark').enable('table')
        kinds = [token.type for token in parser.parse(text)]
        assert kinds.count('tr_open') == 3 and not {'bullet_list_open', 'ordered_list_open', 'heading_open', 'fence', 'hr', 'blockquote_open', 'html_block'} & set(kinds)

    @pytest.mark.parametrize('key', ['cpu', 'os', 'tool', 'driver', 'algorithm', 'cipher', 'auth', 'test'])
    @pytest.mark.parametrize('form', FORMATS)
    @pytest.mark.parametrize('base', ['ssh', 'openvpn'])
    def test_every_other_text_of_a_row(self, key, form, base):
        """A column's title comes from a line as well."""
        hostile = 'Abc|d^e\n\x1b[31m<script>**[[x]]\u202e\x07=@' + 'z' * 3000
        make = made if base == 'ssh' else crypto
        collector = collected(make(**{key: hostile}), make(device='Another'), everything=True)
        for test in collector.tests():
            rows = collector.rows(test)
            text = rb.rendered(form, test, rows, collector.counts())
            assert not re.search(rb.CONTROL, text.replace('\r\n', '').replace('\n', '')), text
            assert 'z' * 300 not in text
            if form in ('markdown', 'dokuwiki'):
                found = [len(row) for row in (markdown_cells(text) if form == 'markdown' else [wiki_cells(line) for line in text.split('\n\n')[0].splitlines()])]
                assert found == [found[0]] * (1 + len(rows)) and '<script' not in text.replace('%%<%%script', '')
            elif form == 'csv':
                found = [len(row) for row in csv.reader(io.StringIO(text, newline=''))]
                assert found == [found[0]] * (1 + len(rows))
            elif form == 'text':
                assert len(text.split('\n\n')[0].splitlines()) == 1 + len(rows)

    def test_on_the_way_to_a_person(self, table):
        _, _, err = table([made(test='a\x1b[31m\nb'), GOOD], '--all')
        assert '\x1b' not in err and 'a [31m b' in err

    def test_utf8_whatever_the_locale(self, tmp_path):
        (tmp_path / 'in').write_bytes(packed(made(device='Caf\u00e9 \u8def\u7531\u5668')))
        done = subprocess.run(agent('table', str(tmp_path / 'in')), env={'LC_ALL': 'C', 'PYTHONIOENCODING': 'ascii', 'PATH': '/usr/bin:/bin'}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        assert done.returncode == 0 and 'Caf\u00e9 \u8def\u7531\u5668' in done.stdout.decode('utf-8')


# --- run --output -------------------------------------------------------------------------------

def appended(path, text):
    rb.LocalHost().append(str(path), text)


APPENDING = '''
import os, resource, sys
sys.path.insert(0, %r)
import routerbench as rb
''' % os.path.dirname(AGENT)
EVERY_BYTE = APPENDING + '''
path, line = sys.argv[1], 'x' * 197 + '\\n'
for base, start in ((b'', 0), (b'one line\\n', 9), (b'one line\\ntorn', 13)):
    for room in range(len(line) + 3):
        with open(path, 'wb') as file:
            file.write(base)
        resource.setrlimit(resource.RLIMIT_FSIZE, (start + room, resource.RLIM_INFINITY))
        whole = room >= len(line) + base.endswith(b'torn')
        try:
            rb.LocalHost().append(path, line)
            assert whole, room
        except OSError:
            assert not whole, room
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open(path, 'rb') as file:
            found = file.read()
        assert found == (base + b'\\n' * base.endswith(b'torn') + line.encode() if whole else base), (room, found)
'''
MANY = APPENDING + '''
for i in range(40):
    rb.LocalHost().append(sys.argv[1], '{"writer": %s, "number": %d, "text": "%s"}\\n' % (sys.argv[2], i, 'x' * (37 * i * int(sys.argv[2]))))
'''


class TestOutput:
    def test_r62_a_torn_tail_is_ended(self, tmp_path):
        path = tmp_path / 'out'
        path.write_bytes(b'{"ts":1767322800,"test":"openvpn","mbit":67.4')
        appended(path, packed(GOOD).decode())
        collector = collected(path.read_bytes())
        assert collector.counts() == {'not-json': 1} and len(figures(collector)) == 1

    @pytest.mark.parametrize('before,after', [(b'', b'a\n'), (b'x\n', b'x\na\n'), (b'x', b'x\na\n'), (b'x\r\n', b'x\r\na\n'), (b'\n', b'\na\n'), (b'x\0\0', b'x\0\0\na\n')])
    def test_what_stood_there_stays(self, tmp_path, before, after):
        path = tmp_path / 'out'
        path.write_bytes(before)
        appended(path, 'a\n')
        assert path.read_bytes() == after

    def test_a_new_file_is_the_users_own(self, tmp_path):
        appended(tmp_path / 'out', 'a\n')
        assert (tmp_path / 'out').stat().st_mode & 0o7133 == 0

    def test_eight_writers_at_once(self, tmp_path):
        path = tmp_path / 'out'
        path.write_bytes(b'torn')
        writers = [subprocess.Popen([sys.executable, '-c', MANY, str(path), str(i)]) for i in range(8)]
        assert [writer.wait(60) for writer in writers] == [0] * 8
        first, *lines = path.read_bytes().decode().split('\n')
        assert first == 'torn' and lines.pop() == ''
        found = [json.loads(line) for line in lines]
        assert sorted((one['writer'], one['number']) for one in found) == [(i, n) for i in range(8) for n in range(40)]
        for i in range(8):
            assert [one['number'] for one in found if one['writer'] == i] == list(range(40))

    def test_a_disk_that_is_full_at_every_byte(self, tmp_path):
        done = subprocess.run([sys.executable, '-c', EVERY_BYTE, str(tmp_path / 'out')], stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 0, done.stderr.decode()

    @pytest.mark.skipif(os.geteuid() != 0, reason='needs root')
    def test_a_real_full_disk(self, tmp_path):
        disk = tmp_path / 'disk'
        disk.mkdir()
        if subprocess.call(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', str(disk)], stderr=subprocess.DEVNULL):
            pytest.skip('may not mount')
        try:
            line, written = 'x' * 900 + '\n', 0
            with pytest.raises(OSError) as error:
                for _ in range(100):
                    appended(disk / 'out', line)
                    written += 1
            assert error.value.errno == 28 and written > 5 and (disk / 'out').read_text() == written * line
            with pytest.raises(OSError):
                appended(disk / 'out', line)
            assert (disk / 'out').read_text() == written * line
        finally:
            subprocess.check_call(['umount', str(disk)])

    def test_through_a_symbolic_link(self, tmp_path):
        (tmp_path / 'real').write_bytes(b'x\n')
        os.symlink('real', str(tmp_path / 'link'))
        appended(tmp_path / 'link', 'a\n')
        assert (tmp_path / 'real').read_bytes() == b'x\na\n'

    # through the command

    def run(self, place, *words, **more):  # noqa: F811
        return subprocess.run(agent('run', 'openvpn', *FAST, *words), env=environment(place), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, **more)

    def test_the_lines_stand_there_as_well(self, place, tmp_path):  # noqa: F811
        openvpn(place[0])
        path = tmp_path / 'results.jsonl'
        path.write_bytes(b'torn')
        done = self.run(place, '--output', 'results.jsonl', cwd=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert path.read_bytes() == b'torn\n' + done.stdout and json.loads(done.stdout)['status'] == 'ok'

    @pytest.mark.parametrize('where', ['', 'missing/results', 'file/results'])
    def test_what_cannot_be_written_is_said_before_anything_is_measured(self, place, tmp_path, where):  # noqa: F811
        openvpn(place[0], 'touch "%s"' % (tmp_path / 'measured'))
        (tmp_path / 'file').write_bytes(b'')
        path = os.path.join(str(tmp_path), where)
        done = self.run(place, '--output', path)
        assert done.returncode == rb.EXIT_FAILED and done.stdout == b'' and b'Traceback' not in done.stderr
        assert path.encode() in done.stderr and not (tmp_path / 'measured').exists()

    def test_a_disk_that_is_full_when_the_result_is_there(self, place, tmp_path):  # noqa: F811
        openvpn(place[0])
        path = tmp_path / 'results.jsonl'
        path.write_bytes(20 * TEXT)  # more than the run's own small files
        done = self.run(place, '--output', str(path), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20 * len(TEXT) + 100,) * 2))
        assert done.returncode == rb.EXIT_FAILED and path.read_bytes() == 20 * TEXT
        assert json.loads(done.stdout)['status'] == 'ok' and str(path).encode() in done.stderr and b'only on stdout' in done.stderr

    def test_interrupted_while_it_measures(self, place, tmp_path):  # noqa: F811
        """What was measured before is in the file, whole."""
        openvpn(place[0], 'case "$cipher" in *256*) touch "%s"; exec sleep 30;; esac; sleep 0.01' % (tmp_path / 'there'))
        path = tmp_path / 'results.jsonl'
        process = subprocess.Popen(agent('run', 'openvpn', '--cipher', 'aes-128-cbc,aes-256-cbc', *FAST[2:], '--output', str(path)), env=environment(place),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while not ((tmp_path / 'there').exists()) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == rb.EXIT_INTERRUPTED and path.read_bytes() == out and b'Traceback' not in err

    def test_a_run_says_how_to_contribute(self, place):  # noqa: F811
        openvpn(place[0])
        done = self.run(place, '--device', 'My router', '--cpu', 'MIPS 24Kc', '--mhz', '680')
        assert b'As a row of the table:' in done.stderr and b'My router' in done.stderr


class TestCommandLine:
    @pytest.mark.parametrize('words', [['--format', 'nosuch'], ['--nosuch'], ['--sort'], ['--test']])
    def test_wrong_usage(self, words):
        with pytest.raises(SystemExit) as error:
            rb.main(['table', *words])
        assert error.value.code == rb.EXIT_USAGE

    def test_the_command_may_stand_behind_its_options(self, table, tmp_path, capfd):
        (tmp_path / 'in').write_bytes(TEXT)
        assert rb.main(['--latest', '--all', 'table', '--format', 'csv', str(tmp_path / 'in')]) == 0
        assert '28.0' in capfd.readouterr()[0]

    def test_the_row_that_a_run_prints_is_the_tables(self, table):
        lines = [made(28.0), made(24.0, 'AES256')]
        row = rb.contribution([rb.Line(**dict(line, runs=tuple(line['runs']), warnings=())) for line in lines]).splitlines()[2]
        printed = table(lines, '--format', 'markdown')[1].splitlines()[2]
        assert printed.startswith(row[:-1]) and 'MIPS 74Kc | 560 | TP-Link TL-WDR3600 | 28.6 | 28.0 | 33.3 | 24.0 |' == row

    def test_the_exit_statuses_are_explained(self):
        assert 'no row' in rb.EXITS[rb.EXIT_NOTHING] and HERE
