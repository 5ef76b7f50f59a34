"""The README tells the truth: its tables are the agent's, its commands run, its sample is the agent's output."""

import json
import os
import re
import subprocess
import sys

import pytest

import readme
import routerbench as rb
from fakes import AGENT
from test_cli import environment, openvpn, place  # noqa: F401

with open(readme.README, encoding='utf-8') as file:
    TEXT = file.read()

BLOCKS = re.findall(r'^```sh\n(.*?)^```$', TEXT, re.S | re.M)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line and not line.startswith('#')]
INLINE = re.findall(r'`((?:python3|/usr/local/bin/python3[.\d]*) [^`]*)`', TEXT)


SSH_DOUBLE = """
[ "$1" = -V ] && { echo OpenSSH_9.2p1 >&2; exit; }
[ "$1" != -T ] || {  # the agent's own: a shell, or a transfer
for last; do
[ "$was" = -c ] && for way in 'server->client' 'client->server'; do echo "debug1: kex: $way cipher: $last MAC: <implicit> compression: none" >&2; done
was=$last; done
exec sh -c "$last"; }
"""


class TestTables:
    @pytest.mark.parametrize('mark', sorted(readme.tables()))
    def test_are_the_agents(self, mark):
        found = readme.part(mark).findall(TEXT)
        assert len(found) == 1
        assert readme.renewed(TEXT) == TEXT, 'run python3 tests/readme.py'

    def test_say_all_that_there_is(self):
        assert tuple(rb.FIELDS) == rb.Line._fields
        with open(AGENT, encoding='utf-8') as file:
            strings = re.findall(r"'([a-z-]+)'", file.read())
        for words in (rb.REASONS, rb.WARNINGS):
            for code in words:
                assert strings.count(code) > 1, 'never used: %s' % code

    def test_every_exit_status_has_its_meaning(self):
        statuses = {value for name, value in vars(rb).items() if name.startswith('EXIT_')}
        assert statuses == set(rb.EXITS)
        for status in statuses:
            assert re.search(r'\b%d\b' % status, rb.__doc__)


IPERF_DOUBLE = '''
[ "$1" = --version ] && { echo "iperf 3.12 (cJSON 1.7.15)"; exit; }
echo '{"start": {"version": "iperf 3.12"}, "end": {"sum_sent": {"retransmits": 0}, "sum_received": {"seconds": 10.0, "bits_per_second": 9.4e8}}}'
'''

HASTY = '''
import os
import sys
sys.path.insert(0, %r)
import routerbench
routerbench.FULL_SECONDS, routerbench.LONG_ENOUGH = 0.1, 0.0  # the commands are tested here, not the figures
routerbench.wait_idle = lambda machine, limit, listener: True
routerbench.cron_place = lambda host: routerbench.CronPlace(os.path.abspath('crontab'), None)
routerbench.usual_places = lambda host: routerbench.Places(os.path.abspath('journal.jsonl'), os.path.abspath('baseline.json'))
routerbench.LocalHost.only_one = lambda self, name: True
routerbench.OpensslTest.NAMES = routerbench.OpensslTest.NAMES[:1]  # real openssl, seconds each
sys.exit(routerbench.main())
''' % os.path.dirname(AGENT)

# A line as somebody may have sent it, for the commands that read some.
SENT = rb.Line(time='2026-11-30T12:00:00Z', run='0badcafe', test='ssh', device='TP-Link TL-WDR4900 v1', cpu='PPC e500v2', mhz=800.0, cores=1, arch='ppc', os='OpenWrt 23.05.3',
               kernel='5.15.150', algorithm='AES128', cipher='aes128-cbc', auth='hmac-sha1', seconds=14.2, mbit=800.0, mbit_s=56.338, runs=(14.2, 14.2, 14.2), spread=0.0,
               tool='dropbear_2019.78', method='ssh -c aes128-cbc root@<router> time dd')


class TestCommands:
    def test_there_are_some(self):
        assert 'python3 routerbench.py' in COMMANDS and 'python3 -m pytest' in COMMANDS
        assert any(command.startswith('ssh -t root@192.168.1.1') for command in COMMANDS)

    @pytest.mark.parametrize('command', sorted(set(COMMANDS + INLINE) - {'python3 -m pytest', 'python3 tests/readme.py'}))
    def test_run(self, place, command, tmp_path):  # noqa: F811
        """As they stand, with doubles for the router: scp and ssh go to a directory here."""
        tools = place[0]
        openvpn(tools, 'sleep 0.00$((mtu / 2000))')
        router, hasty = tmp_path / 'router', tmp_path / 'hasty.py'
        router.mkdir()
        hasty.write_text(HASTY)
        self.double(tools, 'python3', 'shift; exec "%s" "%s" "$@"' % (sys.executable, hasty))
        self.double(tools, 'ssh', SSH_DOUBLE + '[ "$1" = -t ] && shift; shift; cd "%s"; exec sh -c "$(echo "$*" | sed "s,/tmp/,%s/,")"' % (router, router))
        self.double(tools, 'routerbench', 'exec "%s" "%s" "$@"' % (sys.executable, hasty))
        self.double(tools, 'iperf3', IPERF_DOUBLE)
        self.double(tools, 'ip', 'echo "Operation not permitted" >&2; exit 1')  # tests/test_tunnel_lab.py lets it
        for name in ('opkg', 'apk', 'pkg', 'uci', 'reload_config', 'scp', 'configctl'):  # tests/test_packages.py has what these do
            self.double(tools, name, ':')
        script = command.replace('/usr/local/bin/python3.11 /tmp/', 'python3 ')
        script = script.replace('/tmp/routerbench/', '').replace('python3 opkg', '%s opkg' % sys.executable).replace('python3 freebsd', '%s freebsd' % sys.executable)
        work = tmp_path / 'work'
        work.mkdir()
        for folder in (work, router):
            os.symlink(AGENT, str(folder / 'routerbench.py'))
            for name in ('opkg', 'freebsd'):
                os.symlink(os.path.join(os.path.dirname(AGENT), name), str(folder / name))
        reads = re.search('table|validate', command)
        if reads:
            (work / 'results.jsonl').write_text(rb.line_json(SENT) + '\n')
        if '--history' in command:
            (work / 'journal.jsonl').write_text(rb.line_json(SENT) + '\n')
        if 'schedule show' in command:
            (work / 'crontab').write_text('17 3 * * * routerbench selftest # routerbench selftest\n')
        if '< dist/' in command:
            (work / 'dist').mkdir()
            (work / command.split()[-1]).write_text('a package')
        if 'cat >' in command:
            os.unlink(str(router / 'routerbench.py'))
        done = subprocess.run(['sh', '-c', script], cwd=str(work), env=environment(place), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        # what the doubles lack is no matter here: the kernel's crypto, and a figure of the documents by a filter
        assert done.returncode in ((0, 4) if command.endswith('run kernel') or '--loopback' in command or '--format line' in command else (0, 1) if ' watch ' in command else (0,))  # lo may be silent, done.stderr.decode()
        if '.jsonl' in command and not reads and 'selftest' not in command and 'uci' not in command:
            kept = (work / command.split()[-1]).read_text().splitlines()
            assert len(kept) == 4 and all(json.loads(line)['status'] == 'ok' for line in kept)
        if 'cat >' in command and 'routerbench.py' in command:
            assert (router / 'routerbench.py').read_bytes() == open(AGENT, 'rb').read()

    @staticmethod
    def double(tools, name, body):
        path = tools / name
        path.write_text('#!/bin/sh\n%s\n' % body)
        path.chmod(0o755)

    def test_the_tests_command_is_this_suites(self):
        assert subprocess.run([sys.executable, '-m', 'pytest', '--collect-only', '-q', os.path.join(readme.HERE, 'test_readme.py')],
                              cwd=os.path.dirname(readme.HERE), stdout=subprocess.PIPE).returncode == 0

    def test_options_that_it_names_exist(self):
        text = ''.join(subprocess.run([sys.executable, AGENT, name, '--help'], stdout=subprocess.PIPE).stdout.decode() for name in rb.COMMANDS)
        for option in set(re.findall(r'routerbench\.py [^`\n]*?(--[a-z-]+)', TEXT)) - {'--help'}:
            assert option in text


class TestSample:
    """The sample was printed by the agent; these hold its shape to what it prints now."""

    SAMPLE = re.search(r'<!-- sample -->\n(.*?)<!-- /sample -->', TEXT, re.S).group(1)

    def test_has_what_a_run_has_now(self):
        heads = rb.result_table([rb.Line(cipher='x', extra={})]).splitlines()[0].split()
        for word in heads:
            assert word in self.SAMPLE
        json_line = [line for line in self.SAMPLE.splitlines() if line.startswith('{')][0]
        assert tuple(json.loads(json_line)) == rb.Line._fields

    def test_its_line_is_right(self):
        for text in self.SAMPLE.splitlines():
            if text.startswith('{'):
                line = json.loads(text)
                assert line['mbit_s'] == pytest.approx(line['mbit'] / line['seconds'], rel=1e-5)
                assert line['seconds'] == pytest.approx(rb.median(line['runs']), abs=1e-6)
                assert line['extra']['mbit_s_3200'] == pytest.approx(3200.16 / line['seconds'], rel=1e-5)
