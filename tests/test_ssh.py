"""`run ssh` through ssh clients that are small scripts: what is measured, what is refused, what stands in for
what, and the row of OpenWrt's table."""

import json
import os
import re
import shutil
import signal
import time

import pytest

import routerbench as rb
from fakes import FakeHost, context_of, lines_of, machine_host, write_tool
from farside import DBCLIENT, OLD_DBCLIENT, OPENSSH, FarSide, has, slow_time, transfers_of
from test_far import use_shell

NO_CBC = '''case "$FAKE_CIPHER" in *-cbc) [ -n "$talk" ] ||
    refuse 'Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: chacha20-poly1305@openssh.com,aes128-ctr,aes256-ctr';; esac
    '''
SECRET = re.compile(r'192\.0\.2\.|2001:db8|example|root@(?!<router>|router:2222)|/home/|jane')


@pytest.fixture
def side(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rb, 'BLOCK', 1000)  # a five-hundredth of the real data
    monkeypatch.setattr(rb, 'LONG_ENOUGH', 0.0)
    monkeypatch.setattr(rb, 'full_plan', lambda seconds, small, share, real=rb.full_plan: real(max(seconds, 1.5), small, share))
    made = FarSide(tmp_path)
    yield made
    made.close()


@pytest.fixture
def main(side, monkeypatch, capfd):
    """The command line as a function: (exit status, lines, stderr)."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD)}
    for key, value in side.near.environment.items():
        monkeypatch.setenv(key, value)

    def run(*arguments):
        status = rb.main(list(arguments))
        out, err = capfd.readouterr()
        return status, [json.loads(line) for line in out.splitlines()], err
    yield run
    for number, handler in kept.items():
        signal.signal(number, handler)


def only(side, cipher='aes-128-cbc', **more):
    """The single line of one cipher."""
    status, lines = transfers_of(side.host(legacy=more.get('legacy', False)), ciphers=(cipher,), **more)
    assert len(lines) == 1 and (status == 0) == (lines[0].status == 'ok')
    return lines[0]


def refused(line, reason, status='failed'):
    """Whether a line says why, says no number, and names nobody."""
    text = rb.line_json(line)
    assert (line.status, line.reason) == (status, reason), line.detail
    assert line.seconds is line.mbit is line.mbit_s is None and line.runs == () and line.detail
    assert not SECRET.search(text), text
    return True


class TestWords:
    """The pure parts."""

    @pytest.mark.parametrize('text,reason', [
        ('Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: aes128-ctr', 'cipher-unavailable'),
        ("Unknown cipher type 'aes128-cbc'", 'cipher-unavailable'),
        ("dbclient: This Dropbear program does not support 'aes128-cbc' cipher algorithm\n\n"
         "dbclient: Exited: No valid ciphers specified for '-c'", 'cipher-unavailable'),
        ('dbclient: Connection to root@192.0.2.1:22 exited: No matching algo enc c->s', 'cipher-unavailable'),
        ('Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-rsa', 'hostkey-algorithm'),
        ('Unable to negotiate with 192.0.2.1 port 22: no matching key exchange method found. Their offer: diffie-hellman-group1-sha1', 'kex-algorithm'),
        ('Unable to negotiate with 192.0.2.1 port 22: no matching MAC found. Their offer: hmac-md5', 'mac-algorithm'),
        ('\ndbclient: Exited: String too long\n', 'key-format'), ('Load key "/home/jane/k": error in libcrypto', 'key-format'),
        ('Host key verification failed.', 'hostkey-unknown'),
        ('@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.', 'hostkey-changed'),
        ('root@192.0.2.1: Permission denied (publickey,password).', 'auth-required'),
        ('dbclient: Connection to root@192.0.2.1:22 exited: No auth methods could be used.', 'auth-required'),
        ("dbclient: Ignoring unknown configuration option 'BatchMode=yes'\nroot@192.0.2.1's password: ", 'auth-required'),
        ('ssh: Could not resolve hostname r.example.net: Name or service not known', 'host-unknown'),
        ('ssh: connect to host 192.0.2.1 port 22: Connection refused', 'connection-refused'),
        ('ssh: connect to host 192.0.2.1 port 22: Connection timed out', 'no-answer'),
        ('ssh: connect to host 192.0.2.1 port 22: No route to host', 'no-answer'),
        ('kex_exchange_identification: read: Connection reset by peer\nConnection reset by 192.0.2.1 port 22', 'connection-lost'),
        ('Connection to 192.0.2.1 closed by remote host.', 'connection-lost'), ('Timeout, server 192.0.2.1 not responding.', 'no-answer'),
        ('Ambiguous output redirect.', None), ('WARNING: Ignoring unknown option -2', None), ('200+0 records out', None),
        ('/bin/sh: 1: time: not found', None), ('Killed', None), ('', None)])
    def test_ssh_refusal(self, text, reason):
        assert rb.ssh_refusal(text) == reason
        assert rb.ssh_refusal('*** router 47.5 ***\n' + text + '\n') == reason or 'password' in text
        assert reason is None or reason in rb.REASONS and reason in rb.SSH_REMEDIES

    @pytest.mark.parametrize('text,offer', [
        ('Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: chacha20-poly1305@openssh.com,aes128-ctr,aes256-ctr',
         ('chacha20-poly1305@openssh.com', 'aes128-ctr', 'aes256-ctr')),
        ('no matching host key type found. Their offer: ssh-rsa\r\n', ('ssh-rsa',)), ("Unknown cipher type 'aes128-cbc'", ()), ('', ()),
        ('no matching MAC found. Their offer: \x1b[31m', ()), ('Their offer: ssh-rsa', ())])
    def test_ssh_offer(self, text, offer):
        assert rb.ssh_offer(text) == offer

    KEX = 'debug1: kex: %s cipher: %s MAC: %s compression: %s\n'

    @pytest.mark.parametrize('log,found', [
        (KEX % ('server->client', 'aes128-ctr', 'hmac-sha1', 'none'), ('aes128-ctr', 'hmac-sha1', 'none', None)),
        (KEX % ('server->client', 'chacha20-poly1305@openssh.com', '<implicit>', 'none'), ('chacha20-poly1305@openssh.com', None, 'none', None)),
        ('debug1: Remote protocol version 2.0, remote software version dropbear_2022.83\n' + KEX % ('server->client', 'aes128-cbc', 'hmac-sha2-256', 'zlib@openssh.com'),
         ('aes128-cbc', 'hmac-sha2-256', 'zlib@openssh.com', 'dropbear_2022.83')),
        (KEX % ('server->client', 'aes128-cbc', 'hmac-sha1', 'none') + KEX % ('server->client', 'aes256-cbc', 'hmac-md5', 'none'),
         ('aes128-cbc', 'hmac-sha1', 'none', None)),
        (KEX % ('client->server', 'aes128-cbc', 'hmac-sha1', 'none'), None), ('debug1: mux_client_request_session: master session id: 2\n', None),
        ('banner: ' + KEX % ('server->client', 'aes128-cbc', 'hmac-sha1', 'none'), None), ('', None)])
    def test_negotiated(self, log, found):
        assert rb.negotiated(log) == (rb.Negotiated(*found) if found else None)

    def test_negotiated_towards_the_server(self):
        log = self.KEX % ('server->client', 'aes128-ctr', 'hmac-sha1', 'none') + self.KEX % ('client->server', 'aes256-ctr', 'hmac-md5', 'none')
        assert rb.negotiated(log, 'client->server').cipher == 'aes256-ctr'

    def test_without_debug(self):
        log = ('OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.11 19 Sep 2023\r\ndebug1: Connecting to 192.0.2.1 [192.0.2.1] port 22.\r\n'
               'Authenticated to 192.0.2.1 ([192.0.2.1]:22) using "publickey".\r\n*** hello ***\ndebug2: real 3\n200+0 records in\n'
               'Transferred: sent 2000, received 100000 bytes, in 14.2 seconds\r\nBytes per second: sent 1.0, received 2.0\r\nreal\t0m 14.20s\n')
        assert rb.without_debug(log) == '*** hello ***\n200+0 records in\nreal\t0m 14.20s\n'

    @pytest.mark.parametrize('text,left', [
        ('dd: error\nreal\t0m 14.20s\nuser\t0m 0.05s\nsys\t0m 2.90s\n', 'dd: error\n'), ('no time\n', 'no time\n'), ('', ''),
        ('Command exited with non-zero status 1\n0.00user 0.00system 0:00.20elapsed 0%CPU (0avgtext)k\n0inputs\n', ''),
        ('Killed\n       14.20 real         0.05 user         2.90 sys\n', 'Killed\n')])
    def test_without_time(self, text, left):
        assert rb.without_time(text) == left

    @pytest.mark.parametrize('text,copied', [
        ('200+0 records in\n200+0 records out\n', (100000000, None)),
        ('200+0 records in\n200+0 records out\n100000000 bytes (95.4MB) copied, 28.201934 seconds, 3.4MB/s\n', (100000000, 28.201934)),
        ('200+0 records in\n200+0 records out\n100000000 bytes transferred in 14.203311 secs (7040612 bytes/sec)\n', (100000000, 14.203311)),
        ('200+0 records in\n200+0 records out\n100000000 bytes (100 MB, 95 MiB) copied, 14.2 s, 7.0 MB/s\n', (100000000, 14.2)),
        ('200+0 records in\n200+0 records out\n100000000 bytes (100 MB, 95 MiB) copied, 1e-05 s, 7.0 GB/s\n', (100000000, 1e-05)),
        ('200+0 records in\n200+0 records out\n100000000 bytes (100 MB, 95 MiB) copied, 14,2 s, 7,0 MB/s\n', (100000000, 14.2)),
        ('199+1 records in\n199+1 records out\n', None), ("dd: invalid argument 'status=none'\n", None), ('ash: timeout: not found\n', None), ('', None)])
    def test_r26_every_dd(self, text, copied):
        found = rb.parse_dd('*** 12+0 of 47.5 ***\n' + text, 500000)
        assert found == (rb.Copied(*copied) if copied else None)

    @pytest.mark.parametrize('text', [
        'ssh: connect to host r.example.net port 22: Connection refused', 'ssh: connect to host 192.0.2.1 port 22: Connection refused',
        'ssh: connect to host 2001:db8::1 port 22: No route to host', 'ssh: Could not resolve hostname r.example.net: Name or service not known',
        'dbclient: Connection to root@r.example.net:22 exited: Connect failed', 'Connection to 192.0.2.1 closed by remote host.',
        'Connection to r.example.net closed by remote host.', 'Timeout, server r.example.net not responding.', 'Timeout, server 2001:db8::1 not responding.',
        "Connect failed: Error resolving 'r.example.net' port '22'. Name or service not known", 'jane@192.0.2.1: Permission denied (publickey).',
        'Connection closed by fe80::1%eth0 port 22', 'Connection reset by 192.0.2.1 port 22',
        'ssh_dispatch_run_fatal: Connection to 192.0.2.1 port 22: message authentication code incorrect'])
    def test_without_addresses(self, text):
        left = rb.without_addresses(text)
        assert not SECRET.search(left) and 'fe80' not in left and len(left) > 10

    @pytest.mark.parametrize('text', ['200+0 records out', 'dd: not found', 'real 0m 14.20s', 'Killed'])
    def test_what_is_no_address_stays(self, text):
        assert rb.without_addresses(text) == text

    @pytest.mark.parametrize('name,expected', [
        ('aes-128-cbc', 'aes128-cbc'), ('aes256-ctr', 'aes256-ctr'), ('aes-256-gcm', 'aes256-gcm@openssh.com'), ('3des-cbc', '3des-cbc'),
        ('chacha20-poly1305', 'chacha20-poly1305@openssh.com'), ('chacha20-poly1305@openssh.com', 'chacha20-poly1305@openssh.com')])
    def test_ssh_cipher(self, name, expected):
        assert rb.ssh_cipher(name) == expected

    @pytest.mark.parametrize('text,where,port', [
        ('root@192.0.2.1', 'root@192.0.2.1', None), ('router', 'router', None), ('ssh://root@router:2222', 'root@router', 2222),
        ('ssh://router', 'router', None), ('2001:db8::1', '2001:db8::1', None), ('root@2001:db8::22', 'root@2001:db8::22', None),
        ('root@[2001:db8::1]', 'root@2001:db8::1', None), ('ssh://root@[2001:db8::1]:2222', 'root@2001:db8::1', 2222),
        ('root@[fe80::1%eth0]', 'root@fe80::1%eth0', None), ('a.b-c_d@r-1.example.net', 'a.b-c_d@r-1.example.net', None)])
    def test_destination(self, text, where, port):
        assert rb.ssh_destination(text) == rb.Destination(where, port)

    @pytest.mark.parametrize('text', [
        '', ' ', '-oProxyCommand=x', 'root@-oProxyCommand=x', '-r@router', 'a b', 'a;b', '$(touch x)', '`x`', "r'", 'r"', 'a|b', 'a&b', 'a\nb', 'router\n',
        'root@router:2222', 'root@192.0.2.1:2222', 'ssh://', 'ssh://router:port', 'http://router', 'a@b@c', 'router/path', '~', '*', '@router', 'root@',
        'ssh://-oProxyCommand=x', '\u00e9', '!x'])
    def test_no_destination(self, text):
        with pytest.raises(ValueError):
            rb.ssh_destination(text)

    @pytest.mark.parametrize('text,words', [
        ('ssh', ('ssh',)), ('ssh -i KEY', ('ssh', '-i', 'KEY')), ("ssh -i 'my key'", ('ssh', '-i', 'my key')), ('/usr/bin/dbclient -y', ('/usr/bin/dbclient', '-y'))])
    def test_ssh_words(self, text, words):
        assert rb.ssh_words(text) == words

    @pytest.mark.parametrize('text', ['', ' ', '-i KEY', "ssh -i 'KEY"])
    def test_no_ssh_words(self, text):
        with pytest.raises(ValueError):
            rb.ssh_words(text)


class TestMeasured:
    """Lines with a number."""

    def test_a_line(self, side, monkeypatch):
        monkeypatch.setattr(rb, 'BLOCK', 500000)
        slow_time(side, 14.2)
        side.client()
        line = only(side)
        assert (line.algorithm, line.cipher, line.auth, line.mbit, line.tool) == ('AES128', 'aes128-cbc', 'hmac-sha1', 800, 'dropbear_2022.83')
        assert line.seconds == pytest.approx(14.2, abs=0.011) and line.mbit_s == pytest.approx(800 / line.seconds, abs=0.001)
        assert len(line.runs) == 3 and line.spread == 0 and line.extra['bytes'] == 100000000 and line.extra['clock'] == 'time'
        assert line.method == 'ssh -c aes128-cbc root@<router> time dd if=/dev/zero bs=500000 count=200 > /dev/null'
        assert line.extra['client'] == 'OpenSSH_9.2p1' and line.extra['dd_s'] > 0 and 0 <= line.extra['rtt_ms'] < 1000
        assert set(line.extra) <= set(rb.EXTRA['ssh']) and set(line.warnings) <= set(rb.WARNINGS) and not SECRET.search(rb.line_json(line))

    def test_what_is_measured_by_default(self, side):
        slow_time(side, 14.2, 16.2, 9.0)
        side.client()
        status, lines = transfers_of(side.host())
        assert status == 0 and [(line.cipher, line.algorithm) for line in lines] == [
            ('aes128-cbc', 'AES128'), ('aes256-cbc', 'AES256'), ('chacha20-poly1305@openssh.com', 'CHACHA20')]
        assert [line.seconds for line in lines] == pytest.approx([14.2, 16.2, 9.0], abs=0.011)
        assert not any('substituted-cipher' in line.warnings for line in lines)

    def test_r21_no_command_shares_a_connection(self, side):
        slow_time(side, 14.2)
        side.client()
        only(side)
        assert len(side.commands()) > 4
        for command in side.commands():
            for option in ('BatchMode=yes', 'ControlMaster=no', 'ControlPath=none', 'Compression=no'):
                assert '-o %s ' % option in command
            assert not re.search(r' -[2yC] ', command) and (' -c aes128-cbc ' in command) == ('dd if=' in command)

    @pytest.mark.parametrize('after', [
        'echo "*** real hardware lab 47.5 ***"; echo "*** real 47.5 ***" >&2', 'printf "caf\\351 no end"; printf "caf\\351" >&2',
        'printf "real\\t0m 47.50s\\nuser\\t0m 1.00s\\nsys\\t0m 1.00s\\n"; printf "real\\t0m 47.50s\\n" >&2', 'seq 2000; seq 2000 >&2',
        'printf "debug1: kex: server->client cipher: aes256-cbc MAC: x compression: zlib\\n" >&2'])
    def test_r22_a_profile_that_prints(self, side, after):
        slow_time(side, 14.2)
        side.client(after=after)
        line = only(side)
        assert line.status == 'ok', line.detail
        assert line.seconds == pytest.approx(14.2, abs=0.011) and line.extra['bytes'] == 200000 and line.cipher == 'aes128-cbc'

    @pytest.mark.parametrize('shell', ['dash', 'bash', 'busybox sh', 'tcsh', 'zsh', 'mksh'])
    def test_r23_login_shells(self, side, shell):
        if not has(shell.split()[0]):
            pytest.skip('no such shell here')
        side.client(shell=shell.replace(shell.split()[0], shutil.which(shell.split()[0]), 1))
        line = only(side, quick=True)
        assert line.status == 'ok', line.detail
        assert line.mbit_s > 0
        own = 'bash' in shell or 'tcsh' in shell or 'zsh' in shell or 'mksh' in shell or 'busybox' in shell   # has `time` built in
        assert line.extra['clock'] in (('time', 'local') if own or has('time') else ('uptime', 'local'))

    @pytest.mark.parametrize('name', ['dash', 'bash', 'busybox'])
    def test_shells_that_are_bin_sh(self, side, monkeypatch, name):
        if not has(name):
            pytest.skip('no such shell here')
        far = use_shell(side, monkeypatch, name)
        assert transfers_of(far, ciphers=('aes128-cbc',), quick=True)[0] == 0

    @pytest.mark.parametrize('uptime', [True, False])
    def test_r25_no_time_there(self, side, monkeypatch, uptime):
        monkeypatch.setattr(rb, 'SYSTEM_PATH', (side.bin,))
        if not uptime:
            monkeypatch.setattr(rb, 'SURVEY', rb.SURVEY._replace(files=tuple(name for name in rb.SURVEY.files if name != '/proc/uptime')))
        for tool in ('sh', 'cat', 'dd', 'uname', 'sleep', 'true'):
            os.symlink('/bin/' + tool, os.path.join(side.bin, tool))
        os.unlink(side.bin + '/dd')
        write_tool(side.bin, 'dd', 'sleep 0.1; exec /bin/dd "$@"')
        side.client(before='PATH=%s' % side.bin)
        line = only(side, quick=True)
        assert line.status == 'ok', line.detail
        assert line.extra['clock'] == ('uptime' if uptime else 'local') and (0.08 if uptime else 0) < line.seconds < 2
        assert not any('time dd' in command for command in side.commands())

    @pytest.mark.parametrize('report,seconds', [
        ('real\\t0m14.203s\\nuser\\t0m0.050s\\nsys\\t0m2.900s', 14.203), ('real\\t2m 44.80s\\nuser\\t0m 0.05s\\nsys\\t0m 2.90s', 164.8),
        ('WARNING: Ignoring unknown option -2\\nreal\\t0m 28.20s\\nuser\\t0m 0.05s\\nsys\\t0m 2.90s', 28.2),
        ('0.05user 2.90system 2:44.80elapsed 1%%CPU (0avgtext+0avgdata 0maxresident)k\\n0inputs+0outputs (0major+0minor)pagefaults 0swaps', 164.8),
        ('      164.80 real         0.05 user         2.90 sys', 164.8), ('real 164.80\\nuser 0.05\\nsys 2.90', 164.8),
        ('0.050u 2.900s 2:44.80 1.8%%\\t0+0k 0+0io 0pf+0w', 164.8), ('real\\t0m14,203s\\nuser\\t0m0,050s\\nsys\\t0m2,900s', 14.203)])
    @pytest.mark.parametrize('stream', ['>&2', ''])
    def test_r19_r27_whatever_time_prints_and_where(self, side, report, seconds, stream):
        """csh has a `time` of its own, which prints on stdout."""
        write_tool(side.bin, 'time', 'case "$*" in *count=*) ;; *) exec "$@";; esac\n"$@"; status=$?; printf \'%s\\n\' %s; exit $status' % (report, stream))
        side.client()
        far = side.host()
        rb.machine_of(far)
        transfer = rb.Download(far).transfer('aes128-cbc', 200, 20.0)
        assert (transfer.seconds, transfer.clock, transfer.mbit) == (pytest.approx(seconds), 'time', 1.6)

    def test_r28_a_time_of_nothing_is_no_time(self, side):
        slow_time(side, 0.0)
        side.client()
        line = only(side, quick=True)
        assert line.status == 'failed' or (line.extra['clock'] == 'local' and 0 < line.mbit_s < 1e5)

    @pytest.mark.parametrize('version', [OLD_DBCLIENT, DBCLIENT])
    def test_dbclient(self, side, version):
        slow_time(side, 14.2)
        side.client(version=version)
        line = only(side)
        assert (line.status, line.cipher, line.tool) == ('ok', 'aes128-cbc', None) and line.extra['client'].startswith('Dropbear 202')
        assert ('BatchMode' in ' '.join(side.commands())) == (version == DBCLIENT)

    def test_a_longer_transfer_where_one_is_short(self, side, monkeypatch):
        monkeypatch.setattr(rb, 'LONG_ENOUGH', 3.0)
        slow_time(side, 1.5)
        side.client()
        line = only(side)
        assert line.extra['mbit_long'] == pytest.approx(3 * 1.6) and line.extra['mbit_s_long'] == pytest.approx(1.6 / 1.5, rel=0.01) and line.mbit == 1.6
        assert only(side, quick=True).extra['mbit_long'] is None

    def test_quick_sends_less(self, side):
        slow_time(side, 47.7)
        side.client()
        full, quick = only(side), only(side, quick=True)
        assert quick.mbit < full.mbit == 1.6 and quick.mbit_s == pytest.approx(full.mbit_s, rel=0.02)
        assert {'estimated', 'single-run'} <= set(quick.warnings) and quick.extra['error_pct'] is not None and quick.extra['bytes'] < 200000
        assert 'error_pct' not in full.extra and 'count=200' in full.method and 'count=200' not in quick.method
        counts = [int(count) for count in re.findall(r'count=(\d+)', ' '.join(side.commands()))]
        assert counts.count(200) == len(full.runs)

    def test_the_budget_leaves_one_run_at_least(self, side):
        slow_time(side, 164.8)
        side.client()
        line = only(side, budget=60.0)
        assert len(line.runs) == 1 and line.seconds == pytest.approx(164.8, abs=0.01) and 'single-run' in line.warnings

    def test_a_legacy_connection_is_marked(self, side):
        slow_time(side, 14.2)
        side.client(before='''case "$*" in *HostKeyAlgorithms=+ssh-rsa*) ;; *)
            refuse 'Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-rsa';; esac''')
        line = only(side, legacy=True)
        assert 'legacy-ssh' in line.warnings
        assert line.extra['legacy'] == ['HostKeyAlgorithms=+ssh-rsa', 'PubkeyAcceptedAlgorithms=+ssh-rsa']
        assert all('HostKeyAlgorithms=+ssh-rsa' in command for command in side.commands() if 'dd if=' in command)


class TestSubstituted:
    """R-14, R-15, R-16: no cipher is measured for another unsaid."""

    WORDINGS = [
        ('OpenSSH', OPENSSH, NO_CBC),
        ('the client', OPENSSH, '''case "$FAKE_CIPHER" in *-cbc) [ -n "$talk" ] || refuse "Unknown cipher type '$FAKE_CIPHER'";; esac'''),
        ('dbclient', OLD_DBCLIENT, '''case "$FAKE_CIPHER" in *-cbc) [ -n "$talk" ] || { refuse "dbclient: This Dropbear program does not support '$FAKE_CIPHER' cipher algorithm
dbclient: Exited: No valid ciphers specified for '-c'" 1; };; esac'''),
        ('dbclient and server', DBCLIENT, '''case "$FAKE_CIPHER" in *-cbc) [ -n "$talk" ] ||
            refuse "dbclient: Connection to root@192.0.2.1:22 exited: No matching algo enc c->s" 1;; esac''')]

    @pytest.mark.parametrize('version,before', [words[1:] for words in WORDINGS], ids=[words[0] for words in WORDINGS])
    def test_r14_r15_ctr_of_the_same_key_size(self, side, version, before):
        slow_time(side, 14.2, 16.2, 9.0)
        side.client(version=version, before=before)
        status, lines = transfers_of(side.host())
        assert status == 0 and sorted((line.cipher, line.algorithm, 'substituted-cipher' in line.warnings) for line in lines) == [
            ('aes128-ctr', 'AES128', True), ('aes256-ctr', 'AES256', True), ('chacha20-poly1305@openssh.com', 'CHACHA20', False)]
        assert 'aes128-ctr' in lines[0].method and 'CBC' in rb.contribution(lines) and 'aes128-ctr' in rb.contribution(lines)

    def test_r14_what_was_asked_for_by_name_is_not_replaced(self, side):
        slow_time(side, 14.2)
        side.client(before=NO_CBC)
        line = only(side)
        assert refused(line, 'cipher-unavailable', 'skipped') and line.cipher == 'aes128-cbc' and 'aes128-ctr' in line.detail

    def test_r14_no_aes_at_all(self, side):
        slow_time(side, 14.2)
        side.client(before='''case "$FAKE_CIPHER" in aes*) [ -n "$talk" ] ||
            refuse 'Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: chacha20-poly1305@openssh.com';; esac''')
        status, lines = transfers_of(side.host())
        assert status == rb.EXIT_FAILED and [(line.algorithm, line.status) for line in sorted(lines, key=lambda line: line.algorithm)] == [
            ('AES128', 'skipped'), ('AES256', 'skipped'), ('CHACHA20', 'ok')]
        assert all(refused(line, 'cipher-unavailable', 'skipped') for line in lines if line.status != 'ok')
        assert rb.contribution([line for line in lines if line.status == 'ok']) == ''

    def test_chacha_is_only_measured_where_it_is(self, side):
        slow_time(side, 14.2)
        side.client(before='''case "$FAKE_CIPHER" in chacha*) [ -n "$talk" ] ||
            refuse 'Unable to negotiate with 192.0.2.1 port 22: no matching cipher found. Their offer: aes128-cbc,aes256-cbc';; esac''')
        status, lines = transfers_of(side.host())
        assert status == 0 and {line.algorithm: line.status for line in lines} == {'AES128': 'ok', 'AES256': 'ok', 'CHACHA20': 'skipped'}

    @pytest.mark.parametrize('agree', [
        'agree chacha20-poly1305@openssh.com "<implicit>"', 'agree aes256-cbc hmac-sha1', 'agree "$FAKE_CIPHER" hmac-sha1 zlib@openssh.com',
        'echo "debug1: mux_client_request_session: master session id: 2" >&2', ':'])
    def test_r16_r21_another_cipher_than_asked_is_no_result(self, side, agree):
        slow_time(side, 14.2)
        side.client(agree=agree)
        assert refused(only(side), 'output-unknown')

    def test_r16_c_is_never_dropped(self, side):
        slow_time(side, 14.2)
        side.client(before=NO_CBC)
        transfers_of(side.host())
        assert all(re.search(r' -c \S+ ', command) for command in side.commands() if 'dd if=' in command)


class TestRefused:
    """No number, a reason, a remedy, nobody's name."""

    @pytest.mark.parametrize('said,status,reason,word', [
        ('root@192.0.2.1: Permission denied (publickey,password).', 255, 'auth-required', 'authorized_keys'),
        ('Host key verification failed.', 255, 'hostkey-unknown', 'log in once by hand'),
        ('REMOTE HOST IDENTIFICATION HAS CHANGED!', 255, 'hostkey-changed', 'ssh-keygen -R'),
        ('ssh: connect to host 192.0.2.1 port 22: Connection refused', 255, 'connection-refused', 'ssh://root@router:2222'),
        ('ssh: Could not resolve hostname r.example.net: Name or service not known', 255, 'host-unknown', 'no such host'),
        ("dbclient: Connection to root@r.example.net:22 exited: Error resolving 'r.example.net' port '22'. Name does not resolve", 1, 'host-unknown', 'no such host'),
        ('ssh: connect to host r.example.net port 22: Connection timed out', 255, 'no-answer', 'switched on'),
        ('dbclient: Exited: String too long', 1, 'key-format', 'dropbearconvert openssh dropbear'),
        ('Unable to negotiate with 192.0.2.1 port 22: no matching host key type found. Their offer: ssh-rsa', 255, 'hostkey-algorithm',
         '-o HostKeyAlgorithms=+ssh-rsa -o PubkeyAcceptedAlgorithms=+ssh-rsa'),
        ('Connection to r.example.net closed by remote host.', 255, 'connection-lost', 'closed'),
        ('Timeout, server r.example.net not responding.', 255, 'no-answer', 'switched on'),
        ('Ambiguous output redirect.', 1, 'remote-shell', 'login shell'),
        ('/home/jane/.profile: line 3: exec: no: not found', 127, 'no-shell', 'not found')])
    def test_a_login_that_fails(self, side, main, said, status, reason, word):
        side.client(before='refuse "%s" %d' % (said, status))
        code, lines, err = main('run', 'ssh', '--on', 'root@r.example.net')
        assert (code, len(lines)) == (rb.EXIT_FAILED, 1) and (lines[0]['status'], lines[0]['reason']) == ('failed', reason)
        assert tuple(lines[0]) == rb.Line._fields and lines[0]['mbit_s'] is None and word in lines[0]['detail']
        assert not SECRET.search(json.dumps(lines[0])), lines[0]['detail']
        assert 'Traceback' not in err and len(side.commands()) == 1

    @pytest.mark.parametrize('dd,reason', [
        ('head -c 100000 /dev/zero; echo Killed >&2; exit 137', 'incomplete'), ('exec /bin/dd if=/dev/zero bs=1000 count=199', 'incomplete'),
        ('/bin/dd "$@"; head -c 1 /dev/zero', 'incomplete'), ('/bin/dd "$@"; exit 1', 'incomplete'), ('exit 0', 'incomplete'),
        ('head -c 100000 /dev/zero; sleep 600', 'timeout'), ('sleep 600', 'timeout'), ('echo "dd: invalid number" >&2; exit 1', 'incomplete')])
    def test_r61_transfers_that_stop_or_send_something_else(self, side, monkeypatch, dd, reason):
        monkeypatch.setattr(rb, 'SILENCE_SECONDS', 0.25)
        slow_time(side, 14.2)
        write_tool(side.bin, 'dd', 'case "$*" in *bs=1000\\ count=200*) ;; *) exec /bin/dd "$@";; esac\n%s' % dd)
        side.client()
        started = time.monotonic()
        line = only(side)
        assert refused(line, reason) and time.monotonic() - started < 4
        assert 'Killed' not in dd or ('Killed' in line.detail and 'dmesg' in line.detail)

    def test_a_transfer_that_crawls_is_limited(self, side):
        slow_time(side, 14.2)
        write_tool(side.bin, 'dd', 'case "$*" in *count=200*) while :; do printf "\\0"; sleep 0.05; done;; esac\nexec /bin/dd "$@"')
        side.client()
        started = time.monotonic()
        assert refused(only(side, limit=0.6), 'timeout') and time.monotonic() - started < 4

    def test_a_connection_that_breaks_in_between(self, side):
        slow_time(side, 14.2)
        side.client(run='''case "$word" in *count=200*) head -c 50000 /dev/zero; refuse 'client_loop: send disconnect: Broken pipe';; esac
            exec SHELL -c "$word"''')
        line = only(side)
        assert line.reason in ('incomplete', 'connection-lost') and refused(line, line.reason)

    def test_no_dd_there(self, side):
        slow_time(side, 14.2)
        side.client(run='[ -n "$talk" ] || refuse "sh: dd: not found" 127; exec SHELL -c "$word"')
        assert refused(only(side), 'tool-missing', 'skipped')

    def test_r25_the_words_of_a_shell_without_time_are_no_number(self, side):
        slow_time(side, 14.2)
        side.client(run='[ -n "$talk" ] || refuse "/bin/sh: 1: time: not found" 127; exec SHELL -c "$word"')
        line = only(side)
        assert line.status == 'failed' and refused(line, line.reason) and 'time: not found' in line.detail

    def test_one_cipher_does_not_stop_the_others(self, side):
        slow_time(side, 14.2)
        side.client(run='''case "$FAKE_CIPHER" in aes256*) [ -n "$talk" ] || exit 1;; esac; exec SHELL -c "$word"''')
        status, lines = transfers_of(side.host())
        assert status == rb.EXIT_FAILED and {line.algorithm: line.status for line in lines} == {'AES128': 'ok', 'AES256': 'failed', 'CHACHA20': 'ok'}


def series(*seconds, **more):
    """A Series of transfers of 800 Mbit."""
    client, longer, busy = more.get('client', 0.1), more.get('longer', ()), more.get('busy', 1.0)
    agreed = rb.Negotiated('aes128-cbc', 'hmac-sha1', 'none')
    made = [rb.Transfer(one, 'time', 800.0, 0.1, None, agreed, client) for one in seconds]
    return rb.Series('aes128-cbc', tuple(made), tuple(longer), rb.Watched(busy, more.get('clocks', ()), ()))


class TestLimits:
    """Who was the bottleneck."""

    @pytest.fixture
    def test(self, side):
        side.client()
        host = side.host()
        return rb.SshTest(context_of(host))

    @pytest.mark.parametrize('seconds,client,busy,link,limit,warnings', [
        (49.0, 0.1, 0.0, None, 'other', ('not-cpu-bound',)), (14.2, 0.1, 0.99, None, 'router', ()), (14.2, 0.1, 1.9, 1000.0, 'router', ()), (14.2, 0.1, 0.80, None, 'router', ()),
        (49.0, 0.1, 0.38, None, 'other', ('not-cpu-bound',)), (14.2, 0.1, 0.79, None, 'other', ('not-cpu-bound',)),
        (8.4, 0.1, 0.5, 100.0, 'link', ('link-bound', 'not-cpu-bound')), (8.4, 0.1, 0.99, 100.0, 'link', ('link-bound',)),
        (9.0, 0.1, 0.99, 100.0, 'router', ()), (1.5, 0.95, 0.5, 1000.0, 'client', ('client-bound', 'not-cpu-bound')),
        (1.5, 0.95, 0.99, None, 'client', ('client-bound',)), (14.2, 0.1, None, None, None, ())])
    def test_r24_limits(self, test, seconds, client, busy, link, limit, warnings):
        some = series(seconds, seconds, seconds, client=client, busy=busy)
        assert test._limit(some, client, link) == limit
        bound = {'client-bound', 'link-bound', 'not-cpu-bound'}
        assert bound & set(test._warnings(some, {'limit': limit}, True, False)) == set(warnings)

    @pytest.mark.parametrize('idle,warned', [(0.62, True), (0.30, True), (0.02, False)])
    def test_r24_from_the_routers_proc_stat(self, side, monkeypatch, idle, warned):
        slow_time(side, 14.2)
        side.client()
        host = side.host()
        real = host.look

        def look(*paths):
            now = 1e4 * (host.clock() % 1e5)  # a hundred times as fine as the real ones, or short transfers show nothing
            return ['cpu  %d 0 0 %d 0 0 0 0' % (now * (1 - idle), now * idle) if path == '/proc/stat' else real(path)[0] for path in paths]
        monkeypatch.setattr(host, 'look', look)
        monkeypatch.setattr(rb.LinuxMachine, 'ticks', lambda self: rb.parse_ticks(self.host.look('/proc/stat')[0], 1e4))
        _, lines = transfers_of(host, ciphers=('aes-128-cbc',))
        assert ('not-cpu-bound' in lines[0].warnings) == warned and lines[0].extra['router_cpu'] == pytest.approx(1 - idle, abs=0.05)
        assert ('not-cpu-bound' in rb.contribution(lines)) == warned

    @pytest.mark.parametrize('runs,there,not_there', [
        ((14.2, 14.2, 14.3), (), ('unstable', 'single-run', 'short-run')), ((14.2, 15.0, 14.2), ('unstable',), ()), ((14.2,), ('single-run',), ('unstable',)),
        ((0.5, 0.5, 0.5), ('short-run',), ())])
    def test_runs(self, test, runs, there, not_there):
        warnings = test._warnings(series(*runs), {'limit': 'router'}, True, False)
        assert set(there) <= set(warnings) and not set(not_there) & set(warnings)

    def test_not_idle_and_substituted(self, test):
        assert {'not-idle', 'substituted-cipher'} <= set(test._warnings(series(14.2), {'limit': None}, False, True))

    @pytest.mark.parametrize('route,speed,expected', [
        ('192.0.2.1 dev eth0 src 192.0.2.9 uid 0 \\    cache\n', '1000\n', 1000.0), ('192.0.2.1 dev eth0 src 192.0.2.9\n', '-1\n', None),
        ('192.0.2.1 via 198.51.100.1 dev wlan0 src 198.51.100.2\n', '', None), ('', '1000\n', None), ('RTNETLINK answers: Network is unreachable\n', '1000\n', None)])
    def test_the_links_rate(self, side, route, speed, expected):
        side.client(after='export SSH_CONNECTION="192.0.2.9 51000 192.0.2.1 22"')
        far = side.host()
        far.near = FakeHost(files={'/sys/class/net/eth0/speed': speed}, answers={'ip': route})
        far.ask = lambda script: b'192.0.2.9 51000 192.0.2.1 22'
        assert rb.link_mbit_s(rb.Download(far)) == expected

    @pytest.mark.parametrize('told,address', [
        ('192.0.2.9 51000 192.0.2.1 22', '192.0.2.1'), ('2001:db8::9 51000 2001:db8::1 22', '2001:db8::1'), ('fe80::9%eth0 51000 fe80::1%eth0 22', 'fe80::1%eth0'),
        ('', ''), ('1 2 3', ''), ('1 2 -x 22', ''), ('1 2 $(x) 22', ''), ('1 2 3;x 22', '')])
    def test_the_address_is_the_routers_word_and_so_checked(self, side, told, address):
        side.client(after="SSH_CONNECTION='%s'; export SSH_CONNECTION" % told)
        assert side.host().address() == address


def test_r25_a_login_shell_without_time(side):
    """/bin/sh knows `time` and the login shell does not: the router's uptime is next."""
    side.client(run='case $word in time*) refuse "-ash: time: not found" 127;; esac; exec SHELL -c "$word"')
    host = side.host()
    host.survey(rb.SURVEY)
    host.timer = 'time'
    route = rb.Download(host)
    transfer = route.transfer('aes128-cbc', 400, 20)
    assert transfer.clock in ('uptime', 'local') and route.timer == 'uptime' and host.timer == 'time' and transfer.seconds > 0


class TestOtherWays:
    """From the router itself: to a fast machine, or through its own server."""

    def upload(self, side, **more):
        return lines_of(side.near, tests=('ssh',), ciphers=('aes-128-cbc',), wait=0.0, peer=rb.Destination('user@192.0.2.7'), **more)

    def test_peer(self, side):
        side.client(after='sleep 0.05')
        status, lines = self.upload(side, quick=True)
        assert status == 0, lines[0].detail
        assert (lines[0].tool, lines[0].extra['clock'], lines[0].cipher) == ('OpenSSH_9.2p1', 'monotonic', 'aes128-cbc')
        assert lines[0].method.startswith('dd if=/dev/zero') and 'loopback' not in lines[0].warnings and not SECRET.search(rb.line_json(lines[0]))

    def test_r22_a_profile_of_the_peer_that_prints(self, side):
        side.client(after='echo "*** real hardware lab 47.5 ***"; echo "*** 1000 ***" >&2')
        status, lines = self.upload(side, quick=True)
        assert status == 0, lines[0].detail

    @pytest.mark.parametrize('run', ['head -c 100 >/dev/null; exit 1', 'echo; head -c 1000 | wc -c; exit 0', 'exit 255'])
    def test_a_peer_that_takes_too_little(self, side, run):
        side.client(run='[ -n "$talk" ] || { %s; }; exec SHELL -c "$word"' % run)
        status, lines = self.upload(side, quick=True)
        assert status == rb.EXIT_FAILED and refused(lines[0], 'incomplete')

    def test_r16_the_ciphers_of_the_other_direction_count(self, side):
        side.client(agree='agree "$FAKE_CIPHER" hmac-sha1 2>&1 | sed "s/client->server cipher: [^ ]*/client->server cipher: aes256-ctr/" >&2')
        status, lines = self.upload(side, quick=True)
        assert status == rb.EXIT_FAILED and refused(lines[0], 'output-unknown')

    def test_a_loopback_gives_no_row(self, side):
        side.client()
        _, lines = lines_of(side.near, tests=('ssh',), ciphers=('aes-128-cbc', 'aes-256-cbc'), wait=0.0, quick=True)
        assert all(line.status == 'ok' and 'loopback' in line.warnings for line in lines) and rb.contribution(lines) == ''

    def test_without_a_server_of_its_own(self, side):
        side.client(before='refuse "ssh: connect to host localhost port 22: Connection refused"')
        status, lines = lines_of(side.near, tests=('ssh',), wait=0.0)
        assert status == rb.EXIT_NOTHING and refused(lines[0], 'connection-refused', 'skipped') and '--peer' in lines[0].detail


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def client(self, side):
        slow_time(side, 14.2, 16.2, 9.0)
        side.client(before='''case "$destination" in *192.0.2.2|*2001:db8::2) refuse "ssh: connect to host ${destination#*@} port 22: Connection refused";; esac''')

    FAST = ('--wait', '0', '--cipher', 'aes-128-cbc', 'ssh')

    def test_on_one(self, main):
        status, lines, err = main('--on', 'root@192.0.2.1', *self.FAST)
        assert (status, [line['status'] for line in lines]) == (0, ['ok']) and not SECRET.search(json.dumps(lines))
        assert 'AES128-CBC' in err and 'CPU | MHz | tested device' in err and 'Traceback' not in err

    @pytest.mark.parametrize('order,states', [
        (('192.0.2.1', '192.0.2.2'), ['ok', 'failed']), (('192.0.2.2', '192.0.2.1'), ['failed', 'ok']), (('2001:db8::2', '192.0.2.1', '192.0.2.2'), ['failed', 'ok', 'failed'])])
    def test_on_several(self, main, order, states):
        status, lines, _ = main('--quiet', *[word for host in order for word in ('--on', 'root@' + host)], *self.FAST)
        assert status == rb.EXIT_FAILED and [line['status'] for line in lines] == states and not SECRET.search(json.dumps(lines))

    def test_on_several_that_are_all_good(self, main):
        status, lines, _ = main('--quiet', '--on', 'root@192.0.2.1', '--on', 'ssh://root@192.0.2.3:2222', *self.FAST)
        assert status == 0 and [line['status'] for line in lines] == ['ok', 'ok'] and lines[0]['run'] != lines[1]['run']

    def test_quiet(self, main):
        assert main('--quiet', '--on', 'root@192.0.2.1', *self.FAST)[2] == ''

    @pytest.mark.parametrize('arguments', [
        ('--on', 'root@192.0.2.1', '--peer', 'user@192.0.2.7'), ('--on', 'a', '--on', 'b', '--device', 'X'), ('--on', 'a', '--on', 'b', '--mhz', '680'),
        ('--on', 'a', '--on', 'b', '--cpu', 'X'), ('--on', '-oProxyCommand=x'), ('--on', ''), ('--peer', 'a;b'), ('--ssh', '-i KEY', '--on', 'a'), ('--ssh', "ssh '")])
    def test_wrong_usage(self, main, side, arguments):
        with pytest.raises(SystemExit) as error:
            main(*arguments)
        assert error.value.code == rb.EXIT_USAGE and side.commands() == []

    def test_ssh_with_options(self, main, side):
        key = os.path.join(side.folder, 'my key')
        status, lines, _ = main('--quiet', '--ssh', "ssh -i '%s'" % key, '--on', 'root@192.0.2.1', *self.FAST)
        assert status == 0 and all('-i %s ' % key in command for command in side.commands()) and key not in json.dumps(lines)

    def test_all_tests_of_a_router_that_does_not_answer(self, main):
        status, lines, _ = main('--quiet', '--on', 'root@192.0.2.2')
        assert status == rb.EXIT_FAILED and [line['test'] for line in lines] == ['openvpn', 'ssh']
        assert {line['reason'] for line in lines} == {'connection-refused'} and len({line['run'] for line in lines}) == 1

    def test_without_an_ssh_client_nothing_can_be_measured(self, main, tmp_path):
        status, lines, _ = main('--quiet', '--on', 'root@192.0.2.2', '--ssh', str(tmp_path / 'nosuch'))
        assert (status, [line['reason'] for line in lines]) == (rb.EXIT_NOTHING, ['tool-missing'] * 2)

    def test_info(self, main, side):
        status, reports, err = main('info', '--on', 'root@192.0.2.1')
        states = {state['test']: state for state in reports[0]['tests']}
        assert status == 0 and states['ssh']['ready'] and 'OpenSSH_9.2p1' in states['ssh']['with'] and len(side.commands()) == 1
        assert main('info', '--on', 'root@192.0.2.2')[0] == rb.EXIT_NOTHING
        assert main('info', '--on', 'root@192.0.2.2', '--on', 'root@192.0.2.1')[0] == rb.EXIT_FAILED

    def test_nothing_is_left(self, main, side):
        main('--quiet', '--on', 'root@192.0.2.1', *self.FAST)
        assert side.left() == []


# CPU, MHz, device, seconds and MBit/s of AES128, of AES256, as the table of OpenWrt's page has them.
TABLE = [('PPC', 800, 'TP-Link TL-WDR4900', 14.2, 56.3, 16.2, 49.4), ('MIPS 24k', 680, 'D-Link DIR-825 Netgear WNDR3700', 28.2, 28.5, 32.4, 24.6),
         ('MIPS 24k', 400, 'TP-Link TL-WR703N', 47.7, 16.5, 56.1, 14.2), ('MIPS R3000', 125, 'Asus WL-500g', 164.8, 4.8, 183.5, 4.3)]


def result(seconds, **more):
    """A good line of `run ssh`."""
    some = dict(status='ok', test='ssh', device='TP-Link TL-WDR4900', cpu='PPC e500v2', mhz=800.0, algorithm='AES128', cipher='aes128-cbc',
                seconds=seconds, mbit=800.0, mbit_s=round(800 / seconds, 3), runs=(seconds,) * 3, spread=0.0)
    return rb.Line(**dict(some, **more))


def row_cells(lines):
    """The cells of the row that a run prints of these lines."""
    return rb.document_row(*rb.own_rows(lines, 'ssh'))[:-2].split(' | ')


class TestRow:
    @pytest.mark.parametrize('cpu,mhz,device,short,fast,long,slow', TABLE)
    def test_the_rows_of_the_table(self, side, main, monkeypatch, cpu, mhz, device, short, fast, long, slow):
        monkeypatch.setattr(rb, 'BLOCK', 500000)
        monkeypatch.setattr(rb, 'DOCUMENT_BLOCKS', 200)
        slow_time(side, short, long)
        side.client()
        _, lines, err = main('--on', 'root@192.0.2.1', '--cpu', cpu, '--mhz', str(mhz), '--device', device, '--wait', '0', '--budget', '1',
                             '--cipher', 'aes-128-cbc,aes-256-cbc', 'ssh')
        cells = row_cells([rb.line_of(line)[0] for line in lines])
        assert cells == [cpu, str(mhz), device, '%.1f' % short, '%.1f' % (800 / short), '%.1f' % long, '%.1f' % (800 / long)]
        assert ' | '.join(cells) + ' |' in err
        for line, documented in zip(lines, (fast, slow)):
            assert line['mbit_s'] == pytest.approx(documented, rel=0.02)
        assert cpu != 'PPC' or cells[4::2] == ['%.1f' % fast, '%.1f' % slow]

    @pytest.mark.parametrize('machine,known,cpu,row', [
        ('ppc-e500v2-p1014-1cpu-openwrt', {}, 'PPC e500v2', TABLE[0]),
        ('mips-24kc-ar7161-1cpu-openwrt', {}, 'MIPS 24Kc', TABLE[1]),
        ('mips-24kc-ar9331-1cpu-openwrt', {}, 'MIPS 24Kc', TABLE[2]),
        ('mipsel-bcm4710-1cpu-openwrt-2.4', {'device': 'Asus WL-500g', 'mhz': 125.0}, 'BCM4710', TABLE[3])])
    def test_a_row_from_a_machines_own_facts(self, machine, known, cpu, row):
        """As far as it states them: the last one's clock and name stand nowhere in it and are the user's."""
        facts = rb.machine_of(machine_host(machine)).facts()._replace(**known)
        _, mhz, device, short, fast, long, slow = row
        about = {'cpu': facts.cpu, 'mhz': facts.mhz, 'device': facts.device}
        cells = row_cells([result(short, **about), result(long, algorithm='AES256', **about)])
        assert cells[:2] == [cpu, str(mhz)] and re.sub(r' v\d$', '', cells[2]).split()[-1] in device and cells[2].split()[0].lower() in device.lower()
        assert cells[3::2] == [str(short), str(long)]
        for cell, seconds, documented in zip(cells[4::2], (short, long), (fast, slow)):
            assert cell == str(documented) or abs(800 / seconds - documented) < 0.02 * documented

    @pytest.mark.parametrize('text', ['TP-Link TL-WR841N/ND v9 | rev\n2', '|', 'a\x1b[31mb\r\x07', 'a\u2028b\u202ec', '||\t||'])
    def test_r65_no_text_breaks_the_row(self, text):
        lines = [result(14.2, device=text, cpu=text), result(16.2, device=text, cpu=text, algorithm='AES256')]
        row = rb.contribution(lines).splitlines()[2]
        assert len(re.findall(r'(?<!\\)\|', row)) == rb.ROW_HEAD.count('|') and row.endswith('| 14.2 | 56.3 | 16.2 | 49.4 |')
        assert not re.search(r'[\x00-\x1f\x7f\u2028\u202e]', row)

    def test_what_is_not_known_or_not_measured(self):
        assert row_cells([result(14.2, device=None, cpu=None, mhz=None)]) == ['?', '?', '?', '14.2', '56.3', '-', '-']
        assert row_cells([result(16.2, algorithm='AES256')])[3:] == ['-', '-', '16.2', '49.4']

    @pytest.mark.parametrize('code', rb.NOT_FIT + ('estimated',))
    def test_what_speaks_against_it_is_said(self, code):
        assert code in rb.contribution([result(14.2, warnings=(code,))]) and 'Not fit' not in rb.contribution([result(14.2)])

    @pytest.mark.parametrize('lines', [[result(14.2, warnings=('loopback',))], [result(9.0, algorithm='CHACHA20')], []])
    def test_no_row(self, lines):
        assert rb.contribution(lines) == ''

    def test_quick_seconds_are_those_of_the_whole(self):
        """--quick sends less, the row is about 800 Mbit."""
        assert row_cells([result(2.84, mbit=160.0, mbit_s=56.338)])[3:5] == ['14.2', '56.3']

    def test_the_table_for_people(self):
        extra = {'router_cpu': 0.99, 'mbit_s_long': None, 'limit': 'router'}
        text = rb.transfer_table([result(14.2, extra=extra), result(16.2, extra=dict(extra, router_cpu=None, limit=None))])
        assert '56.34' in text and '99 %' in text and len(text.splitlines()) == 3
