"""`run openssl` with the real OpenSSL 1.1.1, 3.0 and 3.5 or later, beside the same command by hand; and `crypto` there.
`pytest --lab`; the roots are those of test_lab.py."""

import re

import pytest

import paired
import routerbench as rb
from fakes import FakeHost, context_of, lines_of
from test_lab import lab, place  # noqa: F401

pytestmark = pytest.mark.lab

ROOTS = {'bullseye-amd64': r'OpenSSL 1\.1\.1', 'host': r'OpenSSL (?:1\.1\.1|[3-9]\.)', 'forky-amd64': r'OpenSSL (?:3\.[5-9]|[4-9]\.)'}
CIPHERS = ('aes-128-cbc', 'aes-256-gcm')
EVERY_ROOT = pytest.mark.parametrize('root', list(ROOTS))


class Entered(rb.LocalHost):
    """This machine's Host, with its commands run in a root."""

    def __init__(self, enter):
        super().__init__()
        self.enter = enter

    def run_all(self, commands, limit, tick=rb.no_tick):
        return super().run_all([(*self.enter, *command) for command in commands], limit, tick)


def own_figure(out):
    """Mbit/s by what openssl itself makes of a run: bytes a second behind the last colon."""
    return 8e-6 * float(re.search(r'^\+F:\d+:[^:]*:([\d.]+)$', out, re.M).group(1))


def by_hand(there, command):
    """Mbit/s of a command that we run ourselves."""
    status, out, err = there.call(*command)
    assert status == 0, err
    return own_figure(out)


def by_agent(host, command):
    """Mbit/s of a command that the agent runs and reads."""
    ran = host.run(*command, limit=30)
    count, seconds = rb.parse_speed(ran.out + ran.err)[16384]
    return 8e-6 * 16384 * count / seconds


@EVERY_ROOT
def test_every_release_is_measured(place, root):  # noqa: F811
    status, lines = place(root).agent('run', 'openssl', '--cipher', ','.join(CIPHERS), '--quiet', '--wait', '0')
    assert (status, [line.cipher for line in lines], {line.status for line in lines}) == (0, list(CIPHERS), {'ok'})
    for line in lines:
        assert re.match(ROOTS[root], line.library)
        assert line.extra['block_bytes'] == 16384 and len(line.runs) == 3
        assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-3)
        assert line.extra['mbit_s_16'] < line.extra['mbit_s_1424'] < 2 * line.mbit_s   # slips of unit, not the neighbours' load


@EVERY_ROOT
def test_what_it_lacks(place, root):  # noqa: F811
    status, lines = place(root).agent('run', 'openssl', '--cipher', 'aes-512-cbc', '--quiet', '--wait', '0')
    assert (status, [(line.status, line.reason, line.mbit_s) for line in lines]) == (rb.EXIT_NOTHING, [('skipped', 'cipher-unsupported', None)])


@EVERY_ROOT
def test_an_engine_that_is_not_there_has_no_speed(place, root):  # noqa: F811
    status, lines = place(root).agent('run', 'openssl', '--cipher', 'aes-128-cbc', '--engine', 'nosuch', '--quick', '--quiet', '--wait', '0')
    assert (status, [(line.status, line.reason, line.mbit_s) for line in lines]) == (rb.EXIT_NOTHING, [('skipped', 'engine-unavailable', None)])


@EVERY_ROOT
def test_its_providers(place, root):  # noqa: F811
    status, lines = place(root).agent('crypto', '--quiet')
    assert status == 0 and re.match(ROOTS[root], lines[-1].library)
    assert lines[-1].extra['providers'] == ([] if 'OpenSSL 1' in lines[-1].library else ['default'])


@EVERY_ROOT
@pytest.mark.parametrize('cipher', CIPHERS)
def test_the_figure_is_that_of_openssl_for_the_same_run(place, root, cipher):  # noqa: F811
    there = place(root)
    command = rb.OpensslTest(context_of(FakeHost())).command(cipher, 16384, 1)
    status, out, err = there.call(*command)
    answers = {'openssl version': there.call('openssl', 'version')[1], 'openssl': rb.Ran((), status, out, err, seconds=1.0)}
    _, lines = lines_of(FakeHost(answers=answers), tests=('openssl',), ciphers=(cipher,))
    assert lines[0].mbit_s == pytest.approx(own_figure(out), rel=1e-3)
    assert lines[0].method == ' '.join(command)


@EVERY_ROOT
@pytest.mark.parametrize('cipher', CIPHERS)
def test_paired_with_the_same_command_by_hand(place, root, cipher):  # noqa: F811
    there, command = place(root), rb.OpensslTest(context_of(FakeHost())).command(cipher, 16384, 1)
    host = Entered(there.enter)
    try:
        paired.check(paired.turns(lambda: by_agent(host, command), lambda: by_hand(there, command)), 0.02, 9)
    finally:
        host.close()
