"""`run openssl` with the real OpenSSL 1.1.1, 3.0 and 3.5 or later, beside the same command by hand; and `crypto` there.
`pytest --lab`; the roots are those of test_lab.py."""

import re
import shlex

import pytest

import routerbench as rb
from test_lab import lab, place  # noqa: F401

pytestmark = pytest.mark.lab

ROOTS = {'bullseye-amd64': r'OpenSSL 1\.1\.1', 'host': r'OpenSSL (?:1\.1\.1|[3-9]\.)', 'forky-amd64': r'OpenSSL (?:3\.[5-9]|[4-9]\.)'}
CIPHERS = ('aes-128-cbc', 'aes-256-gcm')
EVERY_ROOT = pytest.mark.parametrize('root', list(ROOTS))


def by_hand(there, line):
    """Mbit/s of the command that the line names, run once, from what openssl itself makes of it: bytes a second."""
    status, out, err = there.call(*shlex.split(line.method))
    assert status == 0, err
    return 8e-6 * float(re.search(r'^\+F:\d+:[^:]*:([\d.]+)$', out, re.M).group(1))


def paired_ratio(there, cipher, pairs):
    """The median of the agent's rate by ours, over pairs. Each of the agent's is between two of ours, so that a slow drift
    strikes both alike."""
    ratios = []
    line = there.agent('run', 'openssl', '--cipher', cipher, '--quick', '--quiet', '--wait', '0')[1][0]
    for _ in range(pairs):
        before = by_hand(there, line)
        line = there.agent('run', 'openssl', '--cipher', cipher, '--quick', '--quiet', '--wait', '0')[1][0]
        ratios.append(line.mbit_s / ((before + by_hand(there, line)) / 2))
    return rb.median(ratios)


@EVERY_ROOT
def test_every_release_is_measured(place, root):  # noqa: F811
    status, lines = place(root).agent('run', 'openssl', '--cipher', ','.join(CIPHERS), '--quiet', '--wait', '0')
    assert (status, [line.cipher for line in lines], {line.status for line in lines}) == (0, list(CIPHERS), {'ok'})
    for line in lines:
        assert re.match(ROOTS[root], line.library)
        assert line.extra['block_bytes'] == 16384 and len(line.runs) == 3
        assert line.mbit_s == pytest.approx(line.mbit / line.seconds, rel=1e-3)
        assert line.extra['mbit_s_16'] < line.extra['mbit_s_1424'] < 1.2 * line.mbit_s


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
def test_paired_with_the_same_command_by_hand(place, root, cipher):  # noqa: F811
    """Within 2 %."""
    seen = []
    while len(seen) < 3 and not any(abs(ratio - 1) < 0.02 for ratio in seen):
        seen.append(paired_ratio(place(root), cipher, 5))
    print(seen)
    assert any(abs(ratio - 1) < 0.02 for ratio in seen), seen
