"""Hosts and tools for the suite: a machine that is a directory, a clock that only moves when told,
and openvpn look-alikes that speak as the real versions do."""

import os
import stat
import sys
import textwrap

import routerbench as rb

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINES = os.path.join(HERE, 'machines')


def machine_names():
    """Every directory under tests/machines."""
    return sorted(name for name in os.listdir(MACHINES) if os.path.isdir(os.path.join(MACHINES, name)))


class FakeHost(rb.Host):
    """A host out of a directory (`root/` files, `commands/` outputs), a table of answers, or both.

    `answers` maps a command line, or its first word, to a Ran, a str (stdout, status 0), or a
    function of argv that returns one. The clock moves by each answer's seconds and by sleep().
    """

    def __init__(self, directory=None, files=None, answers=None, wall=1.8e9):
        self.directory = directory
        self.files = dict(files or {})
        self.answers = dict(answers or {})
        self.wall = wall
        self.elapsed = 0.0
        self.commands = []
        self.closed = False

    def read_bytes(self, path, limit=1 << 18):
        if path in self.files:
            content = self.files[path]
            return (content if isinstance(content, bytes) else content.encode())[:limit]
        try:
            with open(os.path.join(self.directory or '/nonexistent', 'root', path.lstrip('/')), 'rb') as file:
                return file.read(limit)
        except OSError as error:
            raise rb.Absent(path) from error

    def names(self, path):
        below = path.rstrip('/') + '/'
        found = {name[len(below):].split('/')[0] for name in self.files if name.startswith(below)}
        try:
            found.update(os.listdir(os.path.join(self.directory or '/nonexistent', 'root', path.lstrip('/'))))
        except OSError:
            pass
        return sorted(found)

    def _recorded(self):
        try:
            return os.listdir(os.path.join(self.directory or '/nonexistent', 'commands'))
        except OSError:
            return []

    def find(self, command):
        known = list(self.answers) + self._recorded()
        return '/usr/bin/' + command if any(name.split()[0] == command for name in known) else None

    def run_all(self, commands, limit, tick=rb.no_tick):
        rans = [self._answer(tuple(argv)) for argv in commands]
        self.elapsed += max(ran.seconds for ran in rans)
        return rans

    def _answer(self, argv):
        self.commands.append(argv)
        line = ' '.join(argv)
        answer = self.answers.get(line, self.answers.get(argv[0]))
        if callable(answer):
            answer = answer(argv)
        if answer is None:
            answer = self._from_directory(argv, line)
        if answer is None:
            return rb.Ran(argv, 127, err='%s: not found' % argv[0])
        return rb.Ran(argv, 0, answer) if isinstance(answer, str) else answer._replace(argv=argv)

    def _from_directory(self, argv, line):
        for name in (line, argv[0]):
            if name in self._recorded():
                with open(os.path.join(self.directory, 'commands', name), encoding='utf-8', errors='replace') as file:
                    return file.read()
        return None

    def now(self):
        return self.wall + self.elapsed

    def used(self):
        return 0.0

    def clock(self):
        return self.elapsed

    def sleep(self, seconds):
        self.elapsed += seconds

    def private_path(self, name):
        return '/tmp/private/' + name

    def close(self):
        self.closed = True


def machine_host(name, **more):
    """The FakeHost of a directory under tests/machines."""
    return FakeHost(os.path.join(MACHINES, name), **more)


def write_tool(directory, name, body):
    """An executable shell script; its path."""
    path = os.path.join(str(directory), name)
    with open(path, 'w') as file:
        file.write('#!/bin/sh\n' + textwrap.dedent(body))
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


AGENT = os.path.join(os.path.dirname(HERE), 'routerbench.py')


def agent(*arguments):
    """argv that runs the agent as a user would."""
    return [sys.executable, AGENT, *arguments]
