#!/usr/bin/env python3
"""--quick against the full method: how far off, and how much shorter.

    python3 tests/bench/quick.py [--pairs 7] [--cipher aes-256-cbc] [--no-aes] [--root DIR] [--noise-floor]

The two are run in turn, full quick full quick …, by the agent itself. --no-aes masks the AES
instructions of x86 from OpenSSL; --root runs openvpn in an unpacked system (tests/lab), emulated if
need be. --noise-floor compares the full method with itself, which is what the machine's own unrest
makes of no difference at all.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))

import routerbench as rb  # noqa: E402

NO_AES = '~0x200000200000000'  # clears AES-NI and PCLMULQDQ in OPENSSL_ia32cap


class RootHost(rb.LocalHost):
    """This host with openvpn out of another root."""

    folder = ''

    def run_all(self, commands, limit, tick=rb.no_tick):
        if self.folder:
            commands = [('env', '-u', 'TMPDIR', 'chroot', self.folder) + tuple(argv) if argv[0] == 'openvpn' else argv for argv in commands]
        return super().run_all(commands, limit, tick)

    def private_path(self, name):
        path = super().private_path(name)
        return path[len(self.folder.rstrip('/')):] if self.folder else path

    def text(self, path):
        return super().text(self.folder + path if self.folder and os.path.exists(self.folder + path) else path)


def measure(arguments, quick):
    """(seconds it took, its line)."""
    environment = dict(os.environ)
    if arguments.no_aes:
        environment['OPENSSL_ia32cap'] = NO_AES
    if arguments.root:
        environment['TMPDIR'] = os.path.join(arguments.root, 'tmp')
    host = RootHost(environment=environment)
    host.folder = arguments.root
    options = rb.Options(ciphers=(arguments.cipher,), quick=quick, wait=0.0, budget=1e6)
    machine = rb.machine_of(host)
    lines = []
    try:
        started = host.clock()
        rb.Session(rb.Context(host, machine, options, rb.Listener()), rb.Facts(), lines.append).run(['openvpn'])
        return host.clock() - started, lines[-1]
    finally:
        host.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--pairs', type=int, default=7)
    parser.add_argument('--cipher', default='aes-256-cbc')
    parser.add_argument('--no-aes', action='store_true')
    parser.add_argument('--root', default='')
    parser.add_argument('--noise-floor', action='store_true')
    arguments = parser.parse_args()
    errors, shares, covered = [], [], 0
    for _ in range(arguments.pairs):
        took, full = measure(arguments, False)
        took_quick, quick = measure(arguments, not arguments.noise_floor)
        if 'ok' != full.status or 'ok' != quick.status:
            sys.exit('%s %s' % (full.detail, quick.detail))
        error = 100 * (quick.mbit_s / full.mbit_s - 1)
        errors.append(abs(error))
        shares.append(took / took_quick)
        covered += abs(error) <= quick.extra.get('error_pct', 0)
        print('full %9.2f Mbit/s in %6.1f s (spread %4.1f %%)   quick %9.2f in %5.1f s   error %+5.2f %% (said %s)' % (
            full.mbit_s, took, 100 * full.spread, quick.mbit_s, took_quick, error, quick.extra.get('error_pct')), flush=True)
    print('median |error| %.2f %%, %.1f times shorter, within its bound %d of %d' % (
        rb.median(errors), rb.median(shares), covered, len(errors)))


if __name__ == '__main__':
    main()
