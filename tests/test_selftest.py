"""The self-test of every night: what it calls slower, what it says and when, what it keeps, and what is left of that
after power cuts, full disks and others at the same files."""

import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

import nightly
import routerbench as rb
from fakes import HERE, write_tool
from nightly import CIPHER, KEY, Router, openvpn, process

sys.path.insert(0, os.path.join(HERE, 'bench'))
import nights  # noqa: E402

FLAT = rb.Nights((100.0,) * rb.BASELINE_NIGHTS, about={'kernel': '5.15.150'})
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason='needs root')


@pytest.fixture(autouse=True)
def no_locale(monkeypatch):
    for name in ('LC_ALL', 'LC_CTYPE', 'LANG'):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def router(tmp_path):
    made = Router(tmp_path)
    yield made
    made.close()


@pytest.fixture
def known(router, capfd):
    """A router whose usual speed is known."""
    router.learned()
    capfd.readouterr()
    return router


def after(series, *rates):
    for rate in rates:
        series = rb.after_night(series, rate)
    return series


def grown(*rates):
    return after(rb.Nights(), *rates)


class TestUsual:
    @pytest.mark.parametrize('rates,usual,limit', [
        ((100.0,) * 30, 100, rb.FLOOR), ((100.0, 99.0) * 15, 99.5, rb.FLOOR), ((100.0, 90.0) * 15, 95, rb.NOISE_FACTOR * 10 / 95),
        ((100.0, 50.0) * 15, 75, rb.CEILING), ((100.0,) * 28 + (20.0,) * 2, 100, rb.FLOOR), ((100.0,) * 26 + (20.0,) * 4, 100, rb.CEILING)])
    def test_the_limit_is_the_routers_own_noise(self, rates, usual, limit):
        assert rb.usual_rate(rb.Nights(rates)) == (pytest.approx(usual), pytest.approx(limit))

    def test_order_does_not_matter(self):
        assert rb.usual_rate(rb.Nights((1.0, 3.0, 2.0))) == rb.usual_rate(rb.Nights((3.0, 2.0, 1.0)))

    def test_nothing_is_slow_before_enough_nights(self):
        assert not rb.looks_slow(rb.Nights((100.0,) * (rb.LEARNING - 1)), 1.0)
        assert rb.looks_slow(rb.Nights((100.0,) * rb.LEARNING), 1.0)
        assert not rb.looks_slow(rb.Nights(), 1.0)

    @pytest.mark.parametrize('rate,slow', [(94.9, True), (95.1, False), (100.0, False), (200.0, False)])
    def test_the_bound(self, rate, slow):
        assert rb.looks_slow(FLAT, rate) is slow


class TestNights:
    def test_two_slow_nights_are_a_loss(self):
        once = after(FLAT, 90.0)
        assert once.reported is None and once.streak == (90.0,) and once.rates == FLAT.rates
        assert after(once, 90.0).reported == pytest.approx(0.10)

    def test_it_stays_reported_until_it_is_over(self):
        series = after(FLAT, 90.0, 90.0, 70.0, 89.0)
        assert series.reported == pytest.approx(0.10)
        series = after(series, 100.0)
        assert series.reported is None and series.streak == () and series.blips == 0
        assert after(series, 80.0, 80.0).reported == pytest.approx(0.20)

    def test_an_exception_makes_it_wait_longer(self):
        series = after(FLAT, 60.0, 100.0)
        assert series.blips == 1 and rb.nights_wanted(series) == 3
        assert after(series, 90.0, 90.0).reported is None
        assert after(series, 90.0, 90.0, 90.0).reported == pytest.approx(0.10)

    def test_but_not_for_ever(self):
        series = after(FLAT, *(60.0, 100.0) * 50)
        assert rb.nights_wanted(series) == 2 + rb.MOST_BLIPS
        assert after(series, *(90.0,) * (2 + rb.MOST_BLIPS)).reported == pytest.approx(0.10)

    def test_nights_that_disagree_are_waited_for(self):
        assert after(FLAT, 40.0, 90.0).reported is None
        assert after(FLAT, 40.0, 90.0, 90.0).reported == pytest.approx(0.10)
        wild = after(FLAT, *(40.0, 90.0) * 10)
        assert wild.reported and wild.reported >= 0.10

    def test_a_slow_decay_is_found(self):
        """A half per cent a night: the baseline does not creep along with it."""
        series = FLAT
        for night in range(1, 40):
            series = rb.after_night(series, 100 * 0.995 ** night)
            if series.reported:
                break
        assert series.reported and night <= 20 and series.rates == FLAT.rates

    def test_the_baseline_is_made_once(self):
        assert len(grown(*[100.0] * 200).rates) == rb.BASELINE_NIGHTS
        assert grown(*[100.0] * 14, 50.0, 100.0).rates == (100.0,) * 15

    def test_exceptions_while_it_learns_are_counted(self):
        assert grown(*[100.0] * 7, 50.0, *[100.0] * 6).blips == 1
        assert grown(*[100.0] * 14).blips == 0

    def test_memory_is_bounded(self):
        assert len(after(FLAT, *[50.0 - night / 1000 for night in range(1000)]).streak) < 20

    def test_confirmed_loss_wants_as_many_nights_as_it_says(self):
        for blips in range(9):
            series = FLAT._replace(blips=blips)
            wanted = rb.nights_wanted(series)
            assert rb.confirmed_loss(series._replace(streak=(90.0,) * (wanted - 1))) is None
            assert rb.confirmed_loss(series._replace(streak=(90.0,) * wanted)) == pytest.approx(0.1)


class TestChanges:
    def test_named(self):
        assert rb.changes({'kernel': '5', 'tool': 'a', 'cores': '2'}, {'kernel': '6', 'tool': 'a', 'cores': '1'}) == ['kernel 5 -> 6', 'cores 2 -> 1']

    def test_what_is_not_known_on_both_sides_is_no_change(self):
        assert rb.changes({'kernel': '5'}, {'tool': 'x'}) == [] and rb.changes({}, {'tool': 'x'}) == []

    @pytest.mark.parametrize('now,changed', [('1000 MHz', []), ('960 MHz', []), ('1040 MHz', []), ('800 MHz', ['clock 1000 MHz -> 800 MHz'])])
    def test_a_clock_wavers(self, now, changed):
        assert rb.changes({'clock': '1000 MHz'}, {'clock': now}) == changed


class TestAccepted:
    STATE = rb.State({'openvpn aes-256-cbc SHA1': FLAT, 'openssl aes-256-cbc': FLAT, 'openssl sha1': FLAT}, {'openvpn': 3, 'openssl': 2})

    def test_all(self):
        assert rb.accepted(self.STATE, ()) == rb.State({}, {})

    def test_one(self):
        kept = rb.accepted(self.STATE, ('openssl',))
        assert list(kept.series) == ['openvpn aes-256-cbc SHA1'] and kept.struck == {'openvpn': 3}


GOOD = rb.State({KEY: rb.Nights((1.5,) * 30, 1, (0.5,), 0.2, {'kernel': '5.15', 'clock': '680 MHz'}), 'x': rb.Nights()}, {'openssl': 3})
HUGE = '1' + '0' * 400


def changed(place, text):
    """The good file with another value (JSON text) in one place."""
    content = json.loads(rb.state_text(GOOD))
    spot = content
    for name in place[:-1]:
        spot = spot[name]
    spot[place[-1]] = '@'
    return json.dumps(content).replace('"@"', text)


class TestState:
    def test_there_and_back(self):
        assert rb.parse_state(rb.state_text(GOOD)) == GOOD
        assert rb.parse_state(rb.state_text(rb.State({}, {}))) == rb.State({}, {})

    def test_a_torn_file(self):
        text = rb.state_text(GOOD).rstrip('\n')
        assert [size for size in range(len(text)) if rb.parse_state(text[:size])] == []

    @pytest.mark.parametrize('text', ['{}', '[]', 'null', '1', '"x"', 'NaN', '\0' * 500, '[' * 100000, '{"series":' * 20000, 'routerbench', '\ufffd{}',
                                      rb.state_text(GOOD) * 2, '{"series": {}}', '{"struck": {}}', '{"series": [], "struck": {}}'])
    def test_no_such_file(self, text):
        assert rb.parse_state(text) is None

    @pytest.mark.parametrize('place,text', [
        *((('series', KEY, 'rates', 3), value) for value in ('0', '-1', 'null', '"x"', '[]', 'NaN', 'Infinity', '1e999', HUGE)),
        *((('series', KEY, 'streak', 0), value) for value in ('0', '-1', 'null', 'Infinity', HUGE)),
        *((('series', KEY, 'blips'), value) for value in ('-9', 'null', '"x"', 'NaN', '1e999')),
        *((('series', KEY, 'reported'), value) for value in ('"x"', '[]', 'NaN', HUGE)),
        *((('series', KEY, 'about'), value) for value in ('null', '3', '"kernel"', '[1]', '{"kernel": 3}', '{"kernel": null}')),
        *((('series', KEY), value) for value in ('null', '[]', '3', '{}')),
        *((('struck', 'openssl'), value) for value in ('null', '"x"', '1e999', 'NaN')),
        *((('struck',), value) for value in ('null', '[]', '3')), (('series',), 'null')])
    def test_a_wrong_value(self, place, text):
        assert rb.parse_state(changed(place, text)) is None

    @pytest.mark.parametrize('place', [('series', KEY, name) for name in rb.Nights._fields] + [
        ('series', KEY, 'about', 'clock'), ('series', KEY, 'rates', 0), ('struck', 'openssl'), ('schema',), ('agent',)])
    @pytest.mark.parametrize('text', ['3', '-3', '0', '"fast"', '""', 'true', '[1]', '{}', '"680"', '99999', '1e-320', '1e308'])
    def test_what_is_taken_can_be_worked_with(self, place, text):
        state = rb.parse_state(changed(place, text))
        for series in state.series.values() if state else ():
            for rate in (0.1, 1.5):
                after(series, rate, rate, rate)
            rb.changes(series.about, {'clock': '340 MHz', 'kernel': '6'})
            line = rb.Line(test='openvpn', cipher='aes-256-cbc', auth='SHA1', mbit_s=1.5)
            assert rb.history_text([line], state) and prometheus(rb.prometheus_text([line], state, 0))
            rb.parse_state(rb.state_text(state))

    @pytest.mark.parametrize('content', [b'{"schema": 1, "ser', b'\0' * 512, b'\xff\xfe\x00', b'[' * 50000, changed(('series', KEY, 'blips'), '1e999').encode()])
    def test_a_damaged_file_is_said_and_learned_anew(self, router, capfd, content):
        router.lay(router.usual_places().baseline, content)
        assert router.night() == rb.EXIT_OK
        err = capfd.readouterr().err
        assert err.count('\n') == 1 and 'was damaged; what is usual here is learned anew' in err
        assert len(router.state().series[KEY].rates) == 1
        assert router.night() == rb.EXIT_OK and capfd.readouterr().err == ''


class TestSimulation:
    """A small version of tests/bench/nights.py."""

    @pytest.mark.parametrize('kind,years,most', [('noise 1 %', 120, 0), ('noise 3 %', 60, 0), ('heavy tails 1 %', 60, 1), ('5 % of nights slow', 60, 2)])
    def test_no_false_alarm(self, kind, years, most):
        chance = random.Random(7)
        assert sum(nights.false_alarm(nights.KINDS[kind], chance) for _ in range(years)) <= most

    @pytest.mark.parametrize('kind,share', [('noise 0.3 %', 1.0), ('noise 1 %', 0.9)])
    def test_a_tenth_lost_is_found_by_the_second_night(self, kind, share):
        chance = random.Random(7)
        waits = [nights.nights_to_alarm(nights.KINDS[kind], chance, 0.10) for _ in range(300)]
        assert min(waits) == 2 and sum(wait <= 2 for wait in waits) >= share * len(waits)

    def test_it_can_tell_the_difference(self):
        """What this would show if routers were worse than they are called."""
        chance = random.Random(7)
        assert sum(nights.nights_to_alarm(nights.KINDS['noise 10 %'], chance, 0.10) <= 2 for _ in range(50)) < 25

    def test_every_kind_is_printed(self, capsys, monkeypatch):
        monkeypatch.setattr(sys, 'argv', ['nights.py', '--years', '17'])
        monkeypatch.setattr(nights, 'KINDS', dict(list(nights.KINDS.items())[:2]))
        nights.main()
        out = capsys.readouterr().out
        assert re.search(r'noise 0\.3 % +0 of 9 ', out) and out.count('\n') == 4


def slow_at_first(router):
    """An openvpn that is slow until the journal has a line of it."""
    return openvpn(lambda: 1.0 if router.exists(router.usual_places().journal) else 3.0)


class TestSilence:
    def test_a_month_of_good_nights(self, router, capfd):
        chance = random.Random(1)
        router.tool = openvpn(lambda: chance.gauss(1, 0.005))
        assert [router.night() for _ in range(35)] == [0] * 35
        assert capfd.readouterr() == ('', '') and router.logged == []
        assert len(router.journal()) == 35 and router.leftovers() == []
        assert len(router.state().series[KEY].rates) == rb.BASELINE_NIGHTS and router.yielded

    def test_flash_is_not_written_every_night(self, known):
        path = known.here(known.usual_places().baseline)
        before = os.stat(path)
        assert known.night() == known.night() == 0
        assert (os.stat(path).st_ino, os.stat(path).st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    def test_a_machine_that_tells_its_clock(self, router, capfd):
        """As every one with cpufreq does."""
        sensor(router, 1200000, 'ondemand')
        assert router.night() == 0 and capfd.readouterr() == ('', '')
        about = router.state().series[KEY].about
        assert about['clock'] == '1200 MHz' and about['governor'] == 'ondemand'

    def test_a_disturbed_night_does_not_count(self, known, capfd):
        known.others = 1.9
        for _ in range(3):
            known.tool = openvpn(2)
            assert known.night(*CIPHER, '--wait', '0') == 0
        assert known.state().series[KEY].streak == () and capfd.readouterr().err == ''
        assert ['disturbed' in line.warnings for line in known.journal()] == [True] * 3

    def test_as_a_process(self, tmp_path):
        assert process(tmp_path, 'selftest', *CIPHER) == (0, '', '')
        assert len(Router(tmp_path).journal()) == 1


def sensor(router, khz, governor):
    for name, text in (('scaling_cur_freq', khz), ('cpuinfo_max_freq', 1200000), ('scaling_governor', governor)):
        router.lay('sys/devices/system/cpu/cpufreq/policy0/' + name, '%s\n' % text)


class TestSlower:
    def test_said_once_then_silence_then_its_end(self, known, capfd):
        known.tool = openvpn(1.25)
        seen = [(known.night(), capfd.readouterr().err) for _ in range(4)]
        assert [status for status, _ in seen] == [0, rb.EXIT_UNSOUND, 0, 0]
        assert [err.count('\n') for _, err in seen] == [0, 1, 0, 0]
        for words in ('routerbench: ' + KEY, '20 % slower', '650.8 instead of 813.5 Mbit/s', 'nothing that routerbench knows of has changed'):
            assert words in seen[1][1]
        known.tool = openvpn()
        seen = [(known.night(), capfd.readouterr().err) for _ in range(3)]
        assert [status for status, _ in seen] == [0, 0, 0] and [err.count('\n') for _, err in seen] == [1, 0, 0]
        assert KEY + ': as fast as usual again, 813.5 Mbit/s' in seen[0][1]

    def test_a_second_loss_is_said_again(self, known, capfd):
        statuses = []
        for slow in (1.25, 1.25, 1, 1.25, 1.25, 1.25, 1.25):
            known.tool = openvpn(slow)
            statuses.append(known.night())
        assert statuses == [0, 3, 0, 0, 3, 0, 0]

    @pytest.mark.parametrize('name,before', [('system', 'OpenWrt 22.03.6'), ('kernel', '5.10.221'), ('tool', 'OpenVPN 2.5.8'), ('library', 'OpenSSL 1.1.1w'),
                                             ('clock', '1800 MHz'), ('governor', 'performance'), ('routerbench', '0.0.9'), ('cores', '4')])
    def test_what_changed_is_named(self, router, capfd, name, before):
        sensor(router, 1200000, 'powersave')
        router.learned(**{name: before})
        router.tool = openvpn(1.25)
        router.night()
        capfd.readouterr()
        assert router.night() == rb.EXIT_UNSOUND
        err = capfd.readouterr().err
        assert re.search(r'; since then: %s %s -> [^,;]+\n$' % (name, re.escape(before)), err)

    def test_a_single_slow_look_is_repeated_the_same_night(self, known, capfd):
        known.tool = slow_at_first(known)
        assert known.night() == 0 and capfd.readouterr() == ('', '')
        rates = [line.mbit_s for line in known.journal()]
        assert len(rates) == 2 and rates[0] < 0.5 * rates[1]
        assert known.state().series[KEY].streak == () and known.state().series[KEY].blips == 0

    def test_a_single_slow_night_is_not_said(self, known, capfd):
        for slow in (1.5, 1, 1):
            known.tool = openvpn(slow)
            assert known.night() == 0
        assert capfd.readouterr().err == '' and known.state().series[KEY].blips == 1

    def test_only_what_got_slower_is_named(self, router, capfd):
        both = ('openvpn', '--cipher', 'aes-256-cbc,aes-128-cbc')
        for _ in range(rb.LEARNING):
            router.night(*both)
        costs = dict(router.tool.costs)
        router.tool.costs['AES-128-CBC'] = (0.0, 0.0, 1.3 * costs['AES-128-CBC'][2])
        assert [router.night(*both), router.night(*both)] == [0, 3]
        err = capfd.readouterr().err
        assert 'openvpn aes-128-cbc SHA1: 23 %' in err and 'aes-256-cbc' not in err

    def test_one_message_for_syslog(self, known):
        del known.answers['logger']
        log = known.here('log')
        known.lay('usr/bin/logger', '#!/bin/sh\nprintf "%%s\\n" "$#" "$@" >> %s\n' % log, 0o755)
        known.tool = openvpn(1.25)
        for _ in range(4):
            known.night()
        with open(log) as file:
            words = file.read().splitlines()
        assert words[:6] == ['6', '-t', 'routerbench', '-p', 'user.warning', '--'] and len(words) == 7
        assert words[6].startswith(KEY + ': 20 % slower')

    def test_no_syslog(self, known, capfd):
        del known.answers['logger']
        known.tool = openvpn(1.25)
        assert (known.night(), known.night()) == (0, 3)
        assert capfd.readouterr().err.count('20 % slower') == 1

    def test_a_syslog_that_fails(self, known, capfd):
        known.answers['logger'] = lambda argv: rb.Ran(argv, 1, err='logger: socket /dev/log: No such file or directory')
        known.tool = openvpn(1.25)
        assert (known.night(), known.night()) == (0, 3)
        err = capfd.readouterr().err
        assert err.count('\n') == 1 and 'socket' not in err

    def test_quiet_silences_no_alarm(self, known, capfd):
        known.tool = openvpn(1.25)
        assert (known.night(*CIPHER, '--quiet'), known.night(*CIPHER, '--quiet')) == (0, 3)
        assert '20 % slower' in capfd.readouterr().err

    def test_what_cannot_be_measured_is_said(self, known, capfd):
        known.tool = None
        assert known.night() == rb.EXIT_NOTHING
        err = capfd.readouterr().err
        assert err.count('\n') == 1 and 'openvpn could not be measured' in err
        assert known.journal()[-1].reason == 'tool-missing'

    @pytest.mark.parametrize('form', ['line', 'prometheus'])
    @pytest.mark.parametrize('place', ['/no/dir', '/etc/os-release/x'])
    def test_an_output_that_cannot_be_written_hides_no_alarm(self, known, capfd, form, place):
        known.lay('/no', 'a file')
        known.tool = openvpn(1.25)
        known.night()
        capfd.readouterr()
        try:
            status = known.night(*CIPHER, '--format', form, '--output', place)
        except OSError:  # which main() says
            status = rb.EXIT_FAILED
        err = capfd.readouterr().err
        assert status in (rb.EXIT_FAILED, rb.EXIT_UNSOUND) and '20 % slower' in err

    def test_a_full_stdout_hides_no_alarm(self, known, tmp_path):
        known.tool = openvpn(1.25)
        known.night()
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([sys.executable, nightly.__file__, 'selftest', *CIPHER, '--format', 'line'], stdout=full, stderr=subprocess.PIPE,
                                  env={'PATH': '/usr/bin:/bin', 'ROUTER': str(tmp_path), 'SLOW': '1.25'}, timeout=30)
        assert b'20 % slower' in done.stderr and done.returncode in (rb.EXIT_FAILED, rb.EXIT_UNSOUND)


class TestAccept:
    def test_a_new_usual(self, known, capfd):
        known.tool = openvpn(1.25)
        assert (known.night(), known.night()) == (0, 3)
        capfd.readouterr()
        assert known.call('selftest', '--accept') == 0 and capfd.readouterr() == ('', '')
        assert known.state() == rb.State({}, {})
        assert [known.night() for _ in range(16)] == [0] * 16 and capfd.readouterr().err == ''

    def test_of_one_test(self, known):
        known.keep(rb.State(dict(known.state().series, **{'openssl aes-256-cbc': FLAT}), {'openssl': 3, 'openvpn': 2}))
        assert known.call('selftest', '--accept', 'openssl') == 0
        assert list(known.state().series) == [KEY] and known.state().struck == {'openvpn': 2}

    def test_the_word_may_stand_anywhere(self, known):
        assert known.call('selftest', 'openssl', '--accept') == 0 and KEY in known.state().series

    @pytest.mark.parametrize('content', [None, b'', b'rubbish'])
    def test_without_a_sound_baseline(self, router, content):
        if content is not None:
            router.lay(router.usual_places().baseline, content)
        assert router.call('selftest', '--accept') == 0 and router.state() == rb.State({}, {})

    def test_it_measures_nothing(self, known):
        known.ran.clear()
        assert known.call('selftest', '--accept') == 0 and known.ran == [] and known.journal() == []


def record(mbit_s=813.5, when='2026-11-30T03:17:00Z', **more):
    return rb.Line(time=when, run='00000000', test='openvpn', cipher='aes-256-cbc', auth='SHA1', mbit_s=mbit_s)._replace(**more)


def written(router, *lines, part=''):
    router.lay(router.usual_places().journal + part, b''.join(line if isinstance(line, bytes) else rb.line_json(line).encode() + b'\n' for line in lines))


class TestHistory:
    def history(self, router, capfd, status=0):
        assert router.call('selftest', '--history') == status
        out, err = capfd.readouterr()
        assert err == ''
        return out

    def test_a_chart(self, router, capfd, monkeypatch):
        monkeypatch.setenv('LANG', 'de_DE.UTF-8')
        router.environment['LANG'] = 'de_DE.UTF-8'
        written(router, record(1000.0), record(900.0, '2026-12-01T03:17:00Z'), record(800.0, '2026-12-02T03:17:00Z'))
        title, bars, text = self.history(router, capfd).splitlines()
        assert title == KEY and bars == '  \u2588\u2585\u2581'
        assert text == '  3 runs, 2026-11-30 to 2026-12-02; latest 800.0, lowest 800.0, highest 1000 Mbit/s; still learning (0 of 14 nights)'

    def test_plain(self, router, capfd):
        written(router, record(1000.0), record(800.0))
        assert self.history(router, capfd).isascii() and '\n  #_\n' in self.history(router, capfd)

    @pytest.mark.parametrize('environment,wide', [
        ({'LANG': 'C.UTF-8'}, True), ({'LC_ALL': 'C.UTF-8'}, True), ({'LC_ALL': 'en_US.utf8', 'LANG': 'C'}, True), ({'LC_ALL': '', 'LANG': 'C.UTF-8'}, True),
        ({'LC_ALL': 'C', 'LANG': 'C.UTF-8'}, False), ({'LC_ALL': 'POSIX'}, False), ({'LANG': 'C'}, False), ({}, False)])
    def test_the_locale_decides_as_everywhere(self, router, tmp_path, environment, wide):
        """LC_ALL before LANG; an empty one is none. Where there is no locale, Python itself sets LC_CTYPE=C.UTF-8 (PEP 538), which says nothing of
        the terminal."""
        written(router, record(1000.0), record(800.0))
        status, out, _ = process(tmp_path, 'selftest', '--history', **environment)
        assert status == 0 and out.isascii() is not wide

    def test_the_part_before_comes_first(self, router, capfd):
        written(router, record(1000.0), part='.1')
        written(router, record(800.0))
        assert '\n  #_\n  2 runs' in self.history(router, capfd)

    def test_only_the_part_before(self, router, capfd):
        written(router, record(1000.0), part='.1')
        assert '\n  1 runs' in self.history(router, capfd)

    def test_r62_r63_what_crashes_and_writers_left(self, router, capfd):
        one = rb.line_json(record(800.0)).encode()
        written(router, record(1000.0), one[:100], b'\n', one + one + b'\n', b'\0' * 300 + one + b'\n', b'\xff\xfe rubbish\n', b'[1]\n{}\nnull\n', b'\n\n', one, b'\n', one[:-1])
        assert '  5 runs' in self.history(router, capfd)

    def test_changes_are_named_where_they_came(self, router, capfd):
        written(router, record(kernel='5.15', tool='a'), record(when='2026-12-01T03:17:00Z', kernel='6.6', tool='a'), record(when=None, kernel='6.6', tool='b'))
        text = self.history(router, capfd)
        assert '  2026-12-01T03:17:00Z: kernel 5.15 -> 6.6\n' in text and '  clock not set: tool a -> b\n' in text and text.count('->') == 2

    @pytest.mark.parametrize('key', ['time', 'cipher', 'auth', 'driver', 'test', 'os', 'kernel', 'tool', 'library', 'agent'])
    def test_control_characters_are_harmless(self, router, capfd, key):
        for bad in ('\x1b[2J\x1b[H\x07', '\x9b31m', 'a\nb', '\u202egnp'):
            written(router, record(), record()._replace(**{key: bad}), record(), record()._replace(**{key: bad}))
            assert not re.search(rb.CONTROL, self.history(router, capfd).replace('\n', ''))

    def test_figures_that_no_router_has(self, router, capfd):
        odd = b''.join(rb.line_json(record()).replace('813.5', value).encode() + b'\n' for value in ('NaN', 'Infinity', '-1', '0', '1e999', 'null', '"x"', '5e-324', '1e14'))
        written(router, record(), odd, record())
        assert KEY in self.history(router, capfd)

    def test_an_empty_one(self, router, capfd):
        assert 'no result yet' in self.history(router, capfd, rb.EXIT_NOTHING)
        written(router)
        assert 'no result yet' in self.history(router, capfd, rb.EXIT_NOTHING)

    def test_what_is_usual(self, known, capfd):
        known.night()
        assert '; usual 813.5 Mbit/s\n' in self.history(known, capfd)

    def test_it_is_bounded(self, router, capfd):
        written(router, *[record(1000.0 - n % 7) for n in range(500)])
        lines = self.history(router, capfd).splitlines()
        assert len(lines) == 3 and len(lines[1]) == 62

    @pytest.mark.parametrize('rates', [[5.0], [5.0, 5.0], [1e-9, 1e9], [0.001] * 3])
    def test_charts(self, rates):
        assert len(rb.chart(rates)) == len(rates) and set(rb.chart(rates)) <= set(rb.BARS)
        assert rb.chart(rates)[rates.index(max(rates))] == rb.BARS[-1]


def prometheus(text):
    """The samples of a textfile, as strictly as node_exporter takes them: {(name, labels): value}."""
    assert text.endswith('\n') and '\n\n' not in text
    samples, types, helped, last = {}, {}, set(), None
    for line in text.splitlines():
        if line.startswith('#'):
            word, name, rest = re.match(r'# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$', line).groups()
            assert name not in (helped if word == 'HELP' else types) and name not in {one for one, _ in samples}
            helped.add(name) if word == 'HELP' else types.update({name: rest})
            continue
        name, labels, value = re.match(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$', line).groups()
        pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)', labels or '')
        assert ','.join('%s="%s"' % pair for pair in pairs) == (labels or '') and len(dict(pairs)) == len(pairs)
        assert types[name] == 'gauge' and name in helped
        assert name == last or name not in {one for one, _ in samples}, 'the samples of %s are not together' % name
        assert (name, tuple(sorted(pairs))) not in samples, 'twice: ' + line
        samples[name, tuple(sorted(pairs))] = float(value)
        last = name
    return samples


class TestPrometheus:
    LABELS = (('auth', 'SHA1'), ('cipher', 'aes-256-cbc'), ('driver', ''), ('test', 'openvpn'))
    FORM = ('--format', 'prometheus')

    def samples(self, router, capfd, *words):
        capfd.readouterr()
        status = router.night(*CIPHER, *self.FORM, *words)
        return status, prometheus(capfd.readouterr().out)

    def test_a_good_night(self, known, capfd):
        status, found = self.samples(known, capfd)
        assert status == 0 and found == {
            ('routerbench_mbit_s', self.LABELS): pytest.approx(813.537), ('routerbench_usual_mbit_s', self.LABELS): pytest.approx(813.537),
            ('routerbench_slower', self.LABELS): 0, ('routerbench_last_run_seconds', ()): pytest.approx(known.now(), abs=1)}

    def test_while_it_learns_nothing_is_usual(self, router, capfd):
        assert {name for name, _ in self.samples(router, capfd)[1]} == {'routerbench_mbit_s', 'routerbench_slower', 'routerbench_last_run_seconds'}

    def test_slower_stays_set(self, known, capfd):
        known.tool = openvpn(1.25)
        assert [self.samples(known, capfd)[1]['routerbench_slower', self.LABELS] for _ in range(4)] == [0, 1, 1, 1]

    def test_a_night_with_a_second_look_has_each_series_once(self, known, capfd):
        known.tool = slow_at_first(known)
        _, found = self.samples(known, capfd)
        assert len(known.journal()) == 2 and found['routerbench_mbit_s', self.LABELS] == pytest.approx(813.537)

    def test_names_that_need_escapes(self):
        line = record()._replace(driver='a"b\\c\nd\x1b')
        [labels] = [dict(labels) for name, labels in prometheus(rb.prometheus_text([line], rb.State({}, {}), 1.8e9)) if name == 'routerbench_mbit_s']
        assert labels['driver'] == 'a\\"b\\\\c d'

    def test_a_night_that_gave_up_is_no_run(self, known, capfd):
        """Whoever watches the age of the last run has to see that there was none."""
        path = known.here('/textfile/routerbench.prom')
        self.night_to(known, '/textfile/routerbench.prom')
        with open(path) as file:
            before = prometheus(file.read())
        known.others = 0.9
        assert known.night(*CIPHER, *self.FORM, '--output', '/textfile/routerbench.prom', '--wait', '5') == rb.EXIT_NOTHING
        with open(path) as file:
            now = prometheus(file.read())
        assert now.get(('routerbench_last_run_seconds', ()), 0) <= before['routerbench_last_run_seconds', ()]

    def night_to(self, router, path):
        assert router.night(*CIPHER, *self.FORM, '--output', path) == 0

    def test_a_reader_never_sees_half_a_file(self, known, capfd):
        path = known.here('/textfile/routerbench.prom')
        self.night_to(known, '/textfile/routerbench.prom')
        seen, over = [], threading.Event()

        def read():
            while not over.is_set():
                with open(path) as file:
                    seen.append(file.read())
        reader = threading.Thread(target=read)
        reader.start()
        try:
            for _ in range(30):
                self.night_to(known, '/textfile/routerbench.prom')
        finally:
            over.set()
            reader.join()
        texts = set(seen)
        assert len(texts) > 5 and {len(prometheus(text)) for text in texts} == {4}
        assert capfd.readouterr() == ('', '') and os.listdir(os.path.dirname(path)) == ['routerbench.prom']
        assert nightly.mode_of(path) == 0o644  # node_exporter is another user


class TestOneLine:
    def line(self, router, capfd, *words):
        capfd.readouterr()
        status = router.night(*CIPHER, '--format', 'line', *words)
        out = capfd.readouterr().out
        assert out.count('\n') == 1 and out.count('|') == 1
        return status, out.rstrip('\n')

    def test_good(self, known, capfd):
        assert self.line(known, capfd) == (0, "routerbench OK: as fast as usual | 'openvpn_aes-256-cbc_SHA1'=813.537")

    def test_slower(self, known, capfd):
        known.tool = openvpn(1.25)
        self.line(known, capfd)
        status, text = self.line(known, capfd)
        assert status == 3 and text.startswith('routerbench SLOWER: %s: 20 %% slower' % KEY) and text.endswith("'=650.829")

    def test_it_does_not_call_a_reported_loss_as_fast_as_usual(self, known, capfd):
        known.tool = openvpn(1.25)
        texts = [self.line(known, capfd)[1] for _ in range(3)]
        assert 'as fast as usual' not in texts[2]

    def test_a_figure_once(self, known, capfd):
        known.tool = slow_at_first(known)
        assert self.line(known, capfd)[1].endswith(" | 'openvpn_aes-256-cbc_SHA1'=813.537")

    def test_nothing_measured(self, known, capfd):
        known.others = 0.9
        status, text = self.line(known, capfd, '--wait', '5')
        assert status == 4 and text.startswith('routerbench NOT MEASURED: nothing was measured: the machine was still busy') and text.endswith('| ')

    def test_left_out(self, known, capfd):
        known.keep(known.state()._replace(struck={'openvpn': 5}))
        status, text = self.line(known, capfd)
        assert 'as fast as usual' not in text and status == 4

    def test_words_cannot_look_like_figures(self):
        assert rb.one_line(3, ["a | 'x'=3"], []) == "routerbench SLOWER: a / 'x'=3 | "


def measured(router):
    return any('--test-crypto' in argv for argv in router.ran)


class TestHindrances:
    def test_not_idle(self, router, capfd):
        router.others = 0.5
        began = router.elapsed + 86400
        assert router.night() == rb.EXIT_NOTHING
        assert 600 <= router.elapsed - began < 610 and not measured(router)
        [line] = router.journal()
        assert (line.status, line.reason, line.test) == ('skipped', 'not-idle', 'selftest') and line.reason in rb.REASONS and line.time
        out, err = capfd.readouterr()
        assert out == '' and err == 'routerbench: nothing was measured: ' + line.detail + '\n' and '10 min' in err
        assert router.state() is None and router.leftovers() == []

    @pytest.mark.parametrize('wait,seconds', [('5', 5), ('2m', 120)])
    def test_within_wait(self, router, wait, seconds):
        router.others = 0.5
        began = router.elapsed + 86400
        assert router.night(*CIPHER, '--wait', wait) == rb.EXIT_NOTHING
        assert seconds <= router.elapsed - began < seconds + 3

    def test_idle_in_time(self, router, capfd):
        class Calming(Router):
            def read_bytes(self, path, limit=1 << 18):
                self.others = 0.5 if self.elapsed < 86400 + 300 else 0.0
                return super().read_bytes(path, limit)
        calming = Calming(router.root)
        assert calming.night() == 0 and calming.elapsed > 86400 + 300 and capfd.readouterr() == ('', '')

    def test_r61_a_router_with_32_mb(self, tmp_path, capfd):
        router = Router(tmp_path)
        router.lay('proc/meminfo', 'MemTotal:          28096 kB\nMemFree:            2132 kB\nBuffers:            1204 kB\nCached:             3880 kB\n')
        assert router.night() == rb.EXIT_NOTHING and not measured(router)
        [line] = router.journal()
        assert (line.status, line.reason) == ('skipped', 'low-memory') and '7216 kB' in line.detail
        assert capfd.readouterr().err.count('\n') == 1

    def test_r61_enough(self, tmp_path):
        router = Router(tmp_path)
        router.lay('proc/meminfo', 'MemTotal:          28096 kB\nMemFree:            2132 kB\nMemAvailable:      12300 kB\n')
        assert router.night() == 0

    def test_r60_twenty_at_once(self, tmp_path):
        hold = str(tmp_path / 'hold')
        running = [process(tmp_path, 'selftest', *CIPHER, wait=False, HOLD=hold) for _ in range(20)]
        try:
            deadline = time.monotonic() + 20
            while sum(one.poll() is None for one in running) > 1 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert sum(one.poll() is None for one in running) == 1
        finally:
            open(hold, 'w').close()
            ended = [(one.communicate(timeout=20), one.returncode) for one in running]
        assert sorted(status for _, status in ended) == [0] + [4] * 19
        assert len(glob.glob(hold + '.*')) == 1
        for (out, err), status in ended:
            assert out == b'' and err == (b'routerbench: nothing was measured: another self-test is running\n' if status else b'')
        lines = Router(tmp_path).journal()
        assert sorted((line.status, line.reason) for line in lines if line.reason) == [('skipped', 'overlap')] * 19
        assert [line.test for line in lines if line.status == 'ok'] == ['openvpn']

    def test_r60_a_stale_lock(self, tmp_path):
        Router(tmp_path).lay('run/lock/routerbench-%d.lock' % os.geteuid(), '99999\n')
        assert process(tmp_path, 'selftest', *CIPHER) == (0, '', '')

    def test_r60_a_lock_without_its_holder(self, tmp_path):
        """Killed in the middle: the lock went with it."""
        hold = str(tmp_path / 'hold')
        first = process(tmp_path, 'selftest', *CIPHER, wait=False, HOLD=hold)
        wait_for(hold + '.*')
        assert process(tmp_path, 'selftest', *CIPHER)[0] == rb.EXIT_NOTHING
        first.kill()
        first.communicate()
        os.unlink(Router(tmp_path).usual_places().baseline.replace('/', str(tmp_path) + '/', 1) + '.running')
        assert process(tmp_path, 'selftest', *CIPHER) == (0, '', '')

    def test_a_lock_that_is_a_link(self, tmp_path):
        """Nobody can make root write elsewhere."""
        router = Router(tmp_path)
        os.symlink(router.lay('secret', 'kept'), router.here('run/lock/routerbench-%d.lock' % os.geteuid()))
        assert process(tmp_path, 'selftest', *CIPHER)[0] == 0
        assert open(router.here('secret')).read() == 'kept'


def wait_for(pattern, seconds=10):
    deadline = time.monotonic() + seconds
    while not glob.glob(pattern):
        assert time.monotonic() < deadline, 'no ' + pattern
        time.sleep(0.01)


# --- power cuts ---------------------------------------------------------------------------------

BOUNDARIES = ('open', 'write', 'pread', 'fsync', 'replace', 'rename', 'ftruncate', 'fchmod', 'unlink', 'mkdir', 'close')


def cut(work, number, names=BOUNDARIES, half=False):
    """Run `work` in a process that is killed at its N-th call of one of these, before the call, or in the middle of a
    write. (whether it was killed, its stderr)."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.dup2(writing, 2)
            os.close(reading)
            arm(number, names, half)
            work()
            os._exit(0)
        except BaseException as error:  # pylint: disable=broad-except
            os.write(2, b'Traceback: %r' % error)
            os._exit(99)
    os.close(writing)
    with open(reading, 'rb') as file:
        err = file.read().decode()
    _, status = os.waitpid(pid, 0)
    assert 'Traceback' not in err, err
    return os.WIFSIGNALED(status), err


def arm(number, names, half):
    count = [0]

    def deadly(name, real):
        def call(*arguments, **more):
            count[0] += 1
            if count[0] == number:
                if half and name == 'write':
                    real(arguments[0], arguments[1][:len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)
        return call
    for name in names:
        setattr(os, name, deadly(name, getattr(os, name)))


class TestPowerCuts:
    """Every write boundary of a night, one after the other."""

    def walk(self, root, prepare, check, names=BOUNDARIES, half=False, slow=1.25):
        """For each boundary: a fresh copy, a night that is cut there, the check of what is left, and of the next night."""
        model = str(root / 'model')
        prepare(Router(model, openvpn(slow)))
        for number in range(1, 400):
            place = str(root / 'place')
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(model, place)
            router = Router(place, openvpn(slow))
            killed, err = cut(router.night, number, names, half)
            check(router, err, killed)
            router.close()
            if not killed:
                assert number > 1
                return number - 1
        raise AssertionError('it never ends')

    @staticmethod
    def readable(router):
        """What the reader makes of the journal and the part before it: the rates."""
        found = []
        for path in (router.usual_places().journal + '.1', router.usual_places().journal):
            if router.exists(path):
                found += [value for _, value, _ in rb.read_objects(router.lines(path)) if type(value) is dict]
        return found

    def prepared(self, router):
        """One slow night has been; the next is the one that is reported."""
        router.tool = openvpn()
        router.learned()
        router.tool = openvpn(1.25)
        for run in range(3):
            router.append(router.usual_places().journal, rb.line_json(record(1000.0 + run)) + '\n', rb.JOURNAL_BYTES)
        router.night()

    def earlier(self, found):
        return [one['mbit_s'] for one in found[:4]] == [1000.0, 1001.0, 1002.0, found[3]['mbit_s']] and found[3]['status'] == 'ok'

    @pytest.mark.parametrize('names,half', [(BOUNDARIES, False), (('write',), True)])
    def test_nothing_earlier_is_lost(self, tmp_path, capfd, names, half):
        def check(router, _err, _killed):
            found = self.readable(router)
            assert self.earlier(found) and len(found) <= 7
            assert router.state() is not None and len(router.state().series[KEY].streak) in (1, 2)
            assert router.night() in (0, rb.EXIT_UNSOUND, rb.EXIT_NOTHING)
            router.keep(router.state()._replace(struck={}))
            assert router.night() in (0, rb.EXIT_UNSOUND)
            again = self.readable(router)
            assert self.earlier(again) and again[:len(found)] == found
            data = router.read_bytes(router.usual_places().journal)
            assert data.endswith(b'\n') and sum(not line.startswith(b'{') or not line.endswith(b'}') for line in data.splitlines()) <= 1
            assert 'damaged' not in capfd.readouterr().err
        boundaries = self.walk(tmp_path, self.prepared, check, names, half)
        assert boundaries >= (2 if half else 12)

    def test_no_temporary_file_stays_for_ever(self, tmp_path, capfd):
        left = []

        def check(router, _err, killed):
            router.night()
            router.night()
            left.extend(os.path.basename(path) for path in router.leftovers())
        self.walk(tmp_path, self.prepared, check, ('fchmod', 'fsync', 'replace'))
        assert left == []

    def test_a_loss_is_said_all_the_same(self, tmp_path, capfd):
        """Once, or twice where it was cut just then, but never not at all."""
        silent = []

        def check(router, err, killed):
            said = '20 % slower' in err
            for _ in range(3):
                capfd.readouterr()
                router.night()
                said |= '20 % slower' in capfd.readouterr().err
                router.keep(router.state()._replace(struck={}))
            silent.append(not said)
        self.walk(tmp_path, self.prepared, check, ('write', 'fsync', 'replace', 'unlink'))
        assert not any(silent), 'said by nobody after a cut at boundaries %s of %d' % ([n + 1 for n, one in enumerate(silent) if one], len(silent))

    def test_while_the_journal_is_rotated(self, tmp_path, capfd, monkeypatch):
        monkeypatch.setattr(rb, 'JOURNAL_BYTES', 5000)

        def prepare(router):
            self.prepared(router)
            written(router, *[record(1000.0 + run) for run in range(12)])
            assert os.stat(router.here(router.usual_places().journal)).st_size > 5000

        def check(router, _err, _killed):
            found = [one['mbit_s'] for one in self.readable(router)]
            assert found[:4] == [1000.0, 1001.0, 1002.0, 1003.0]
            router.night()
            router.keep(router.state()._replace(struck={}))
            router.night()
            assert [one['mbit_s'] for one in self.readable(router)][:4] == found[:4]
            assert router.exists(router.usual_places().journal + '.1')
        self.walk(tmp_path, prepare, check)

    def test_a_struck_test_stays_struck(self, tmp_path, capfd):
        """The night after the router went down is itself cut: openvpn is not tried again after that."""
        def prepare(router):
            router.lay(router.usual_places().baseline + '.running', 'openvpn\n')

        def check(router, _err, killed):
            router.ran.clear()
            router.night()
            assert not measured(router)
        self.walk(tmp_path, prepare, check)

    def test_the_new_file_is_on_the_disk_before_it_has_the_name(self, router, monkeypatch):
        order = []
        for name in ('fsync', 'replace'):
            def noted(*arguments, name=name, real=getattr(os, name)):
                order.append(name)
                return real(*arguments)
            monkeypatch.setattr(os, name, noted)
        router.replace('/x', 'text')
        assert order == ['fsync', 'replace']

    def test_a_half_written_file_at_every_byte(self, tmp_path):
        """The process dies of the signal that a file beyond its limit sends, so no clean-up happens."""
        router = Router(tmp_path)
        old, new = 'old' * 20, 'new' * 20
        router.replace('/place/file', old)

        def work(size):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            router.replace('/place/file', new)
        for size in range(0, len(new), 3):
            killed, _ = cut(lambda size=size: work(size), 0, ())
            assert killed and router.text('/place/file') == old
        router.replace('/place/file', new)
        assert router.text('/place/file') == new


class Limited:
    """No file may grow beyond that: like a disk that is full just there."""

    def __init__(self, size):
        self.size = size

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


class TestFullDisk:
    LINE = rb.line_json(record()) + '\n'

    @pytest.mark.parametrize('torn', [b'', b'{"schema": 1, "mbit'])
    def test_at_every_byte_of_an_append(self, router, torn):
        before = self.LINE.encode() * 2 + torn
        path = router.lay('/journal', before)
        whole = len(self.LINE.encode()) + bool(torn)
        for room in range(whole):
            with Limited(len(before) + room):
                with pytest.raises(OSError):
                    router.append('/journal', self.LINE, rb.JOURNAL_BYTES)
            with open(path, 'rb') as file:
                assert file.read() == before
        with Limited(len(before) + whole):
            router.append('/journal', self.LINE, rb.JOURNAL_BYTES)
        with open(path, 'rb') as file:
            assert file.read() == before + b'\n' * bool(torn) + self.LINE.encode()

    def test_at_every_byte_of_a_replace(self, router):
        path = router.lay('/dir/baseline', 'old')
        new = rb.state_text(GOOD)
        for room in range(len(new.encode())):
            with Limited(room):
                with pytest.raises(OSError):
                    router.replace('/dir/baseline', new)
            assert os.listdir(os.path.dirname(path)) == ['baseline'] and router.text('/dir/baseline') == 'old'
        router.replace('/dir/baseline', new)
        assert rb.parse_state(router.text('/dir/baseline')) == GOOD

    def test_where_nothing_fits_it_is_measured_all_the_same(self, known, capfd):
        written(known, *[record()] * 3)
        with open(known.here(known.usual_places().journal), 'rb') as file:
            before = file.read()
        known.ran.clear()
        with Limited(len(before)):
            status = known.night()
        out, err = capfd.readouterr()
        assert status == rb.EXIT_FAILED and measured(known) and out == ''
        assert err.count('\n') in (1, 2) and err.count('journal.jsonl') == 1
        with open(known.here(known.usual_places().journal), 'rb') as file:
            assert file.read() == before
        assert known.night() == 0 and len(known.journal()) == 4


class TestWriters:
    def test_several_and_rotation(self, router):
        """No line of the newest is lost, none torn, whoever rotates."""
        most, each, writers = 20000, 150, 5
        path = '/journal/lines'

        def write(name):
            for number in range(each):
                router.append(path, json.dumps({'writer': name, 'number': number, 'text': 'x' * (number % 90)}) + '\n', most)
        children = []
        for name in range(writers):
            pid = os.fork()
            if not pid:
                try:
                    write(name)
                    os._exit(0)
                except BaseException:  # pylint: disable=broad-except
                    os._exit(1)
            children.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * writers
        data = router.read_bytes(path + '.1') + router.read_bytes(path)
        found = [json.loads(line) for line in data.decode().splitlines()]
        assert data.endswith(b'\n') and most <= len(data) < 2.2 * most
        for name in range(writers):
            numbers = [one['number'] for one in found if one['writer'] == name]
            assert numbers == list(range(each - len(numbers), each))

    def test_it_stays_small(self, router):
        for number in range(400):
            router.append('/journal/lines', 'x' * 99 + '\n', 1000)
        sizes = {name: os.stat(router.here('/journal/' + name)).st_size for name in router.names('/journal')}
        assert sorted(sizes) == ['lines', 'lines.1'] and max(sizes.values()) <= 1100

    def test_r62_a_torn_line_is_ended_first(self, router):
        router.lay('/journal', '{"ts":1767322800,"test":"openvpn","mbit":67.4')
        router.append('/journal', '{"a": 1}\n')
        found = list(rb.read_objects(router.lines('/journal')))
        assert [value for _, value, _ in found] == ['not-json', {'a': 1}]


def in_namespace(commands, root, *words, **environment):
    """The agent as a process, with mounts that only it sees: (status, stdout, stderr)."""
    if not shutil.which('unshare'):
        pytest.skip('no unshare here')
    script = 'mount --make-rprivate / 2>/dev/null; %s\n"$@"\nstatus=$?\n[ ! -e "$STATE/journal.jsonl" ] || cp "$STATE/journal.jsonl" "$ROUTER/kept"\nexit $status' % commands
    state = os.path.join(str(root), Router(root).usual_places().journal.lstrip('/'))
    done = subprocess.run(['unshare', '-m', 'sh', '-ec', script.replace('\n"$@"', '\nset +e\n"$@"'), 'sh', sys.executable, nightly.__file__, *words],
                          env=dict({'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'ROUTER': str(root), 'STATE': os.path.dirname(state)}, **environment),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    if b'unshare' in done.stderr or b'mount:' in done.stderr:
        pytest.skip('no namespaces here: %s' % done.stderr.decode())
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class TestUnwritable:
    def check(self, result, words):
        status, out, err = result
        assert status == rb.EXIT_FAILED and err.count('\n') in (1, 2) and words in err and 'Traceback' not in err
        assert err.count('/journal.jsonl: ') == 1 and err.count('/baseline.json: ') <= 1
        assert "'openvpn_aes-256-cbc_SHA1'=813.537" in out  # it was measured

    @ROOT_ONLY
    def test_r57_a_read_only_root(self, tmp_path):
        Router(tmp_path).learned()
        result = in_namespace('mount --bind "$STATE" "$STATE"; mount -o remount,ro,bind "$STATE"', tmp_path, 'selftest', *CIPHER, '--format', 'line')
        self.check(result, 'Read-only file system')

    @ROOT_ONLY
    def test_r57_read_only_and_no_directory_yet(self, tmp_path):
        router = Router(tmp_path)
        os.makedirs(router.here('/var/lib'))
        result = in_namespace('mount --bind "$ROUTER/var" "$ROUTER/var"; mount -o remount,ro,bind "$ROUTER/var"', tmp_path, 'selftest', *CIPHER, '--format', 'line')
        self.check(result, 'Read-only file system')

    @ROOT_ONLY
    def test_r57_a_full_tmpfs(self, tmp_path):
        router = Router(tmp_path)
        os.makedirs(router.here('/var/lib/routerbench'))
        line = rb.line_json(record())
        router.lay('/old', line + '\n')
        result = in_namespace('mount -t tmpfs -o size=64k none "$STATE"; cat "$ROUTER/old" > "$STATE/journal.jsonl"; cat /dev/zero >> "$STATE/ballast" 2>/dev/null || :; '
                              'while echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >> "$STATE/journal.jsonl"; do :; done 2>/dev/null',
                              tmp_path, 'selftest', *CIPHER, '--format', 'line')
        self.check(result, 'No space left on device')
        with open(router.here('/kept')) as file:
            assert file.readline() == line + '\n'

    def test_a_file_where_the_directory_should_be(self, router, capfd):
        router.lay(os.path.dirname(router.usual_places().journal), 'a file')
        status = router.night(*CIPHER, '--format', 'line')
        self.check((status, *capfd.readouterr()), 'File exists')

    def test_accept(self, tmp_path):
        router = Router(tmp_path)
        router.lay(os.path.dirname(router.usual_places().journal), 'a file')
        status, _, err = process(tmp_path, 'selftest', '--accept')
        assert status == rb.EXIT_FAILED and 'Traceback' not in err and err.count('\n') == 1


class TestStruck:
    """A test that took the router down."""

    def test_left_out_for_seven_nights(self, known, capfd):
        known.lay(known.usual_places().baseline + '.running', 'openvpn\n')
        seen = []
        for _ in range(9):
            known.ran.clear()
            status = known.night()
            seen.append((status, measured(known), capfd.readouterr().err))
        assert [found for _, found, _ in seen] == [False] * 7 + [True] * 2
        assert seen[0][0] == rb.EXIT_UNSOUND and [status for status, _, _ in seen[7:]] == [0, 0]
        assert 'did not come back from `openvpn`' in seen[0][2] and 'left out for 7 nights' in seen[0][2]
        assert [err for _, _, err in seen[1:]] == [''] * 8
        assert known.leftovers() == [] and len(known.logged) == 1

    def test_the_others_go_on(self, known, capfd):
        known.lay(known.usual_places().baseline + '.running', 'openssl\n')
        assert known.night('openvpn', 'openssl', *CIPHER[1:]) == rb.EXIT_UNSOUND
        assert measured(known) and known.state().struck == {'openssl': 6} and {line.test for line in known.journal()} == {'openvpn'}

    def test_accept_ends_it(self, known):
        known.lay(known.usual_places().baseline + '.running', 'openvpn\n')
        known.night()
        assert known.call('selftest', '--accept', 'openvpn') == 0
        known.ran.clear()
        assert known.night() == 0 and measured(known)

    @pytest.mark.parametrize('content', [b'', b'nonsense\n', b'\0\0\0', b'\xff', b'openvpn and more', b'x' * 5000])
    def test_a_damaged_marker(self, known, content):
        known.lay(known.usual_places().baseline + '.running', content)
        assert known.night() == 0 and known.leftovers() == []

    def test_two_that_take_it_down_do_so_once_each(self, tmp_path, capfd):
        router = Router(tmp_path)

        def deadly(name):
            def tool(argv):
                if argv[1] == 'version' or argv[1] == '--version' or argv[1] == '--genkey':
                    return openvpn()(argv) if argv[0] == 'openvpn' else rb.Ran(argv, 0, 'OpenSSL 3.0.19 27 Jan 2026\n')
                with open(router.here('begun'), 'a') as file:
                    file.write(name + '\n')
                os.kill(os.getpid(), signal.SIGKILL)
                return None
            return tool
        router.tool, router.answers['openssl'] = deadly('openvpn'), deadly('openssl')
        fates = [cut(lambda: router.night('openvpn', 'openssl', *CIPHER[1:]), 0, ())[0] for _ in range(7)]
        with open(router.here('begun')) as file:
            begun = file.read().split()
        assert begun == ['openvpn', 'openssl'] and fates == [True, True] + [False] * 5

    @pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_who_is_asked_to_end_leaves_no_marker(self, tmp_path, number):
        hold = str(tmp_path / 'hold')
        running = process(tmp_path, 'selftest', *CIPHER, wait=False, HOLD=hold)
        wait_for(hold + '.*')
        assert [os.path.basename(path) for path in Router(tmp_path).leftovers()] == ['baseline.json.running']
        running.send_signal(number)
        out, err = running.communicate(timeout=10)
        assert running.returncode == rb.EXIT_INTERRUPTED and out == b'' and b'Traceback' not in err
        assert Router(tmp_path).leftovers() == []
        assert process(tmp_path, 'selftest', *CIPHER) == (0, '', '')

    def test_who_is_killed_does(self, tmp_path):
        hold = str(tmp_path / 'hold')
        running = process(tmp_path, 'selftest', *CIPHER, wait=False, HOLD=hold)
        wait_for(hold + '.*')
        running.kill()
        running.communicate()
        status, out, err = process(tmp_path, 'selftest', *CIPHER)
        assert status == rb.EXIT_UNSOUND and out == '' and err.count('\n') == 1 and '`openvpn`' in err
        assert process(tmp_path, 'selftest', *CIPHER)[1:] == ('', '')


class TestClock:
    def test_r59_back_and_forth(self, known, capfd):
        walls = [37.0, 1.8e9, 1.5e9, 2.1e9, 0.0, 1.8e9, 4.2e9]
        for wall in walls:
            known.wall, known.elapsed = wall, known.elapsed
            assert known.night() == 0
        assert capfd.readouterr() == ('', '')
        lines = known.journal()
        assert len(lines) == len(walls)
        years = [int(line.time[:4]) if line.time else None for line in lines]
        assert [year is None for year in years] == [True, False, True, False, True, False, False] and years[3] > years[5] < years[6]
        assert all(('clock-unset' in line.warnings) == (line.time is None) for line in lines)
        assert known.call('selftest', '--history') == 0
        assert '  7 runs' in capfd.readouterr().out

    def test_r59_the_order_is_that_of_the_runs(self, router, capfd):
        written(router, record(1000.0, '2036-01-01T00:00:00Z'), record(900.0, None), record(800.0, '2026-01-01T00:00:00Z'))
        router.call('selftest', '--history')
        assert '\n  #=_\n' in capfd.readouterr().out

    def test_r59_nothing_is_deleted_by_age(self, router):
        written(router, record(1000.0, '1999-01-01T00:00:00Z'), record(900.0, '2099-01-01T00:00:00Z'))
        router.night()
        assert [line.mbit_s for line in router.journal()[:2]] == [1000.0, 900.0]

    def test_a_loss_is_found_without_a_clock(self, known, capfd):
        known.wall, known.tool = -known.elapsed, openvpn(1.25)
        assert (known.call('selftest', *CIPHER), known.call('selftest', *CIPHER)) == (0, 3)

    def test_a_skipped_night_without_a_clock(self, router):
        router.wall, router.others = -86400.0, 0.9
        assert router.night() == rb.EXIT_NOTHING and router.journal()[0].time is None


REAL = '''
import os, sys
sys.path.insert(0, %r)
import routerbench as rb
class Host(rb.LocalHost):
    def only_one(self, name):
        return super().only_one(name + '-%%d' %% os.getppid())
rb.LocalHost = Host
sys.exit(rb.main())
''' % os.path.dirname(HERE)

SCRIPT = r'''
echo "$1 $(cut -d' ' -f19 /proc/$$/stat) $(cut -d' ' -f19 /proc/$PPID/stat)" >> %s
case "$1" in
--version) echo 'OpenVPN 2.6.14 x86_64-pc-linux-gnu [SSL (OpenSSL)] [AEAD] [DCO]'; echo 'library versions: OpenSSL 3.0.19 27 Jan 2026, LZO 2.10'; exit 0;;
--genkey) echo key > "$3"; exit 0;;
esac
mtu=1500 verb=1
while [ $# -gt 0 ]; do case "$1" in --tun-mtu) mtu=$2; shift;; --verb) verb=$2; shift;; esac; shift; done
[ "$mtu" -lt 1600 ] && mtu=1600
[ "$verb" -gt 0 ] && echo "TESTING ENCRYPT/DECRYPT of packet length=$((mtu + 168))"
sleep 0.0$((mtu / 400))
'''


class TestForReal:
    """Real processes, and a real openvpn as far as that is a shell script."""

    @pytest.fixture
    def place(self, tmp_path):
        for name in ('bin', 'tmp', 'state'):
            (tmp_path / name).mkdir()
        write_tool(tmp_path / 'bin', 'openvpn', SCRIPT % (tmp_path / 'niceness'))
        yield tmp_path
        for lock in glob.glob('/run/lock/routerbench-%d-*.lock' % os.getpid()) + glob.glob('/tmp/routerbench-%d-*.lock' % os.getpid()):
            os.unlink(lock)

    def run(self, place, *words):
        return subprocess.run([sys.executable, '-c', REAL, 'selftest', *CIPHER, '--wait', '0', '--budget', '1', '--journal', str(place / 'state/journal'),
                               '--baseline', str(place / 'state/baseline'), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env={'PATH': '%s:/usr/bin:/bin' % (place / 'bin'), 'TMPDIR': str(place / 'tmp'), 'HOME': '/'})

    def test_silent_and_at_low_priority(self, place):
        done = self.run(place)
        assert (done.returncode, done.stdout, done.stderr) == (0, b'', b'')
        assert sorted(os.listdir(str(place / 'state')))[-1] == 'journal' and os.listdir(str(place / 'tmp')) == []
        own = os.getpriority(os.PRIO_PROCESS, 0)
        rows = [row.split() for row in (place / 'niceness').read_text().splitlines()]
        measured_at = {int(nice) for what, nice, _ in rows if what == '--test-crypto'}
        assert len([row for row in rows if row[0] == '--test-crypto']) >= 3 and {int(parent) for *_, parent in rows} == {min(own + 10, 19) if os.geteuid() == 0 else own}
        assert measured_at == {own}
