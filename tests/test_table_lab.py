"""Lines of real runs, on this system and on emulated ones, beside the documents' rows. `pytest --lab`; the roots are those
of test_lab.py, the routers those of routers.py."""

import csv
import io
import json

import pytest

import routerbench as rb
from routers import Router
from test_far_lab import agent as agent_on
from test_lab import call, lab, nothing_left, place  # noqa: F401
from test_table import DOKUWIKI, FORMATS, OPENWRT, markdown_cells, wiki_cells
from fakes import agent

pytestmark = pytest.mark.lab

NAMED = {'host': ('This machine', 'x86 of the lab', 2000), 'bookworm-mipsel': ('Emulated | MIPS', 'MIPS 24Kc', 680), 'bookworm-ppc64el': ('Emulated POWER ^ 9', 'POWER9', 1000)}
WORDS = {name: ['--device', device, '--cpu', cpu, '--mhz', str(mhz)] for name, (device, cpu, mhz) in NAMED.items()}
QUICK = ['--quick', '--wait', '0']


@pytest.fixture(scope='module')
def results(place, tmp_path_factory):  # noqa: F811
    """A file of lines: dd over ssh and openvpn --test-crypto on each of the three."""
    folder = tmp_path_factory.mktemp('results')
    path = folder / 'results.jsonl'
    with open(str(path), 'w', encoding='utf-8') as file:
        for name, named in WORDS.items():
            options = {'server': 'openssh'} if name == 'host' else {}
            with Router(*([] if name == 'host' else [name]), **options) as router:
                ended = agent_on(router, 'run', 'ssh', *QUICK, '--budget', '20', *named, limit=180)
            status, lines = place(name).agent('run', 'openvpn', '--cipher', 'aes-128-cbc,aes-256-cbc', *QUICK, '--budget', '60', *named, limit=300)
            assert (ended.status, status) == (0, 0), ended.err
            for line in [*ended.lines, *lines]:
                assert line.status == 'ok' and (line.device, line.cpu, line.mhz) == NAMED[name]
                file.write(rb.line_json(line) + '\n')
    return str(path)


def table(*words):
    """(stdout, stderr) of the command, as a process."""
    status, out, err = call(agent('table', *words))
    assert status == 0 and 'Traceback' not in err, err
    return out, err


def cells_of(form, out):
    """The rows of a table, their head first."""
    if form == 'csv':
        return list(csv.reader(io.StringIO(out, newline='')))
    text = out.split('\n\n')[0]
    return markdown_cells(text) if form == 'markdown' else [[shown for shown, _bare in wiki_cells(line)] for line in text.splitlines()]


@pytest.mark.parametrize('test,documents', [('ssh', [line.split(' | ')[2] for line in OPENWRT.splitlines()[2:]]), ('openvpn', [device for _cpu, _mhz, device, _rate in rb.PFSENSE_ROWS])])
@pytest.mark.parametrize('form', FORMATS)
def test_beside_the_documents_rows(results, test, documents, form):
    out, _ = table(results, '--published', '--all', '--test', test, '--format', form)
    if form == 'json':
        devices = [row['device'] for row in json.loads(out)['rows']]
    elif form == 'text':
        devices = [device for device in [*documents, *(named[0] for named in NAMED.values())] if device in out]
    else:
        head, *rows = cells_of(form, out)
        assert {len(row) for row in rows} == {len(head)}
        devices = [row[2] for row in rows]
    assert set(devices) == {*documents, *(named[0] for named in NAMED.values())}


@pytest.mark.parametrize('form,document', [('markdown', OPENWRT), ('dokuwiki', DOKUWIKI)])
def test_the_four_rows_stay_as_they_are_but_for_the_notes(results, form, document):
    rows = cells_of(form, table(results, '--published', '--all', '--test', 'ssh', '--format', form)[0])
    shown = dict(zip(rows[0], range(len(rows[0]))))
    for row in cells_of(form, document):
        assert row in [[other[shown[title]] for title in cells_of(form, document)[0]] for other in rows]


def test_the_figures_are_the_lines(results):
    with open(results, encoding='utf-8') as file:
        lines = [json.loads(line) for line in file]
    assert {(line['test'], line['device']) for line in lines} == {(test, named[0]) for test in ('ssh', 'openvpn') for named in NAMED.values()}
    for test in ('ssh', 'openvpn'):
        rows = json.loads(table(results, '--all', '--test', test, '--format', 'json')[0])['rows']
        found = [cell['mbit_s'] for row in rows for cell in row['cells'].values()]
        assert sorted(found) == pytest.approx(sorted(line['mbit_s'] for line in lines if line['test'] == test))
        assert all('estimated' in row['marks'] for row in rows)


def test_ctr_of_the_emulated_routers_is_not_beside_cbc(results):
    """dropbear has no CBC: the line says so, and so does its row."""
    rows = json.loads(table(results, '--all', '--test', 'ssh', '--format', 'json')[0])['rows']
    for row in rows:
        ctr = any('CTR' in mark for mark in row['marks'])
        assert ctr == ('substituted-cipher' in row['marks']) and (ctr or not row['device'].startswith('Emulated') or 'AES128' not in row['cells'])


def test_how_they_compare(results):
    out, _ = table(results, '--published', '--all', '--test', 'ssh')
    for device, _cpu, _mhz in NAMED.values():
        assert '%s: ' % device in out and ' x a ' in out


def test_validate_has_no_fault_but_those_of_the_place(results):
    """A quick run on an emulated or shared machine is nothing to contribute, and all else of it is sound."""
    status, out, err = call(agent('validate', results))
    assert status == rb.EXIT_UNSOUND and 'Traceback' not in err
    codes = {line.split(': ')[1] for line in out.splitlines()}
    assert codes <= {'not-merged', 'not-fit', 'note', 'implausible', 'aes256-faster'} and 'not-merged' in codes


def test_a_full_run_appended(place, tmp_path):  # noqa: F811
    """--output on this system: what is in the file is what came on stdout, and `table` has it."""
    one = place('host')
    status, out, err = one.call(one.python, one.inside + '/routerbench.py', 'run', 'openvpn', '--cipher', 'aes-256-gcm', '--budget', '10', '--wait', '1s', '--output', str(tmp_path / 'out'), *WORDS['host'])
    assert status == 0, err
    assert (tmp_path / 'out').read_text() == out and 'This machine' in table(str(tmp_path / 'out'), '--all')[0]
