"""light.py SCRIPT [ARGUMENT...]: run a script as OpenWrt's python3-light would, without the modules
that OpenWrt puts into packages of their own. Start it with `python3 -S`, so that no site package has
loaded one of them before."""

import runpy
import sys

SPLIT_OFF = frozenset((
    '_asyncio', '_ctypes', '_curses', '_curses_panel', '_dbm', '_decimal', '_elementtree', '_gdbm', '_hashlib', '_lzma',
    '_multibytecodec', '_multiprocessing', '_posixshmem', '_pydecimal', '_sqlite3', '_ssl', '_tkinter', '_uuid', 'asyncio',
    'cgi', 'cgitb', 'ctypes', 'curses', 'dbm', 'decimal', 'distutils', 'doctest', 'email', 'encodings.idna', 'ensurepip',
    'idlelib', 'lib2to3', 'logging', 'lzma', 'multiprocessing', 'pydoc', 'pydoc_data', 'pyexpat', 'readline', 'sqlite3',
    'stringprep', 'tkinter', 'turtle', 'unicodedata', 'unittest', 'urllib', 'uuid', 'venv', 'webbrowser', 'xml'))


def split_off(name):
    """Whether a module, or a package that it is in, is not in python3-light."""
    words = name.split('.')
    return name.startswith('_codecs_') or any('.'.join(words[:count]) in SPLIT_OFF for count in range(1, len(words) + 1))


class Blocker:
    """The first finder to be asked: it knows no module, and does not let the others look."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """As importlib wants it."""
        if split_off(name):
            raise ModuleNotFoundError('No module named %r: it is not in python3-light' % name, name=name)


def block():
    """From now on they are not there; a check that this is so."""
    early = sorted(filter(split_off, sys.modules))
    if early:
        sys.exit('light.py: loaded already: %s' % ' '.join(early))
    sys.meta_path.insert(0, Blocker)
    for name in sorted(SPLIT_OFF):
        try:
            __import__(name)
        except ImportError:
            continue
        sys.exit('light.py: %s is not blocked' % name)


if __name__ == '__main__':
    block()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name='__main__')
