#!/usr/bin/env python3
"""Build FreeBSD's package of routerbench without a ports tree.

    python3 freebsd/build.py [DIRECTORY]

writes routerbench-VERSION.pkg, for FreeBSD, pfSense and OPNsense of every version and processor, into
DIRECTORY, or into dist/ beside freebsd/.

What is in it stands in the Makefile and the pkg-plist beside this file, which make a port; the version
is the agent's. Unlike a package built from the port it depends on no particular Python: bin/routerbench takes the one
that is there.

The same sources give the same bytes, whatever the day, the directory, the umask and the time zone are;
SOURCE_DATE_EPOCH is the time that the package states. (A Python before 3.9, or another liblzma, writes others.)
"""

import hashlib
import io
import json
import lzma
import os
import re
import sys
import tarfile
from typing import Any, Dict, List, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
PREFIX = '/usr/local'
EPOCH = 315532800  # 1980-01-01, where SOURCE_DATE_EPOCH says nothing

MODES = {'SCRIPT': 0o555, 'DATA': 0o644}  # bsd.port.mk: INSTALL_*


class Entry(NamedTuple):
    """A file of the package."""
    path: str
    mode: int
    content: bytes


# --- what is to be packed -------------------------------------------------------------------------

def read(*names: str) -> bytes:
    """A file's content."""
    with open(os.path.join(*names), 'rb') as stream:
        return stream.read()


def agent_version() -> str:
    """The version that the agent states, read and not imported."""
    found = re.search(r"^__version__ = '([^']+)'$", read(TOP, 'routerbench.py').decode('utf-8'), re.MULTILINE)
    assert found, 'routerbench.py states no version'
    return found.group(1)


def makefile() -> str:
    """The port's Makefile."""
    return read(HERE, 'Makefile').decode('utf-8')


def variables() -> Dict[str, str]:
    """The variables of the Makefile, without the comments behind them."""
    return {name: value.split('#')[0].strip() for name, value in re.findall(r'^(\w+)=(.*)$', makefile(), re.MULTILINE)}


def substituted(name: str) -> bytes:
    """A file of SUB_FILES, as the ports framework makes it from files/."""
    return read(HERE, 'files', name + '.in').replace(b'%%PREFIX%%', PREFIX.encode('ascii'))


def installed() -> List[Entry]:
    """What do-install installs, sorted; pkg-plist has to list the same."""
    lines = re.findall(r'^\t\$\{INSTALL_(\w+)\} \$\{(\w+)\}/(\S+) \$\{STAGEDIR\}\$\{PREFIX\}/(\S+)$', makefile(), re.MULTILINE)
    entries = [Entry('%s/%s' % (PREFIX, target), MODES[kind], read(TOP, name) if where == 'WRKSRC' else substituted(name))
               for kind, where, name, target in lines]
    listed = ['%s/%s' % (PREFIX, path) for path in read(HERE, 'pkg-plist').decode('ascii').split()]
    assert sorted(entry.path for entry in entries) == sorted(listed), 'Makefile and pkg-plist do not agree'
    return sorted(entries)


# --- the package ----------------------------------------------------------------------------------

def epoch() -> int:
    """The time that the package states."""
    return int(os.environ.get('SOURCE_DATE_EPOCH') or EPOCH)


def compact_manifest(entries: List[Entry]) -> Dict[str, Any]:
    """What pkg shows of the package."""
    said = variables()
    categories = said['CATEGORIES'].split()
    return {'name': said['PORTNAME'], 'origin': '%s/%s' % (categories[0], said['PORTNAME']), 'version': agent_version(),
            'comment': said['COMMENT'], 'maintainer': said['MAINTAINER'], 'www': said.get('WWW', 'UNKNOWN'),
            'abi': 'FreeBSD:*:*', 'arch': 'freebsd:*:*', 'prefix': PREFIX, 'flatsize': sum(len(entry.content) for entry in entries), 'licenselogic': 'single',
            'licenses': [said['LICENSE']], 'desc': read(HERE, 'pkg-descr').decode('utf-8').rstrip(), 'categories': categories}


def manifest(entries: List[Entry]) -> Dict[str, Any]:
    """The same with the files, each with the kind and value of its checksum, and the scripts."""
    return dict(compact_manifest(entries),
                files={entry.path: '1$' + hashlib.sha256(entry.content).hexdigest() for entry in entries},
                scripts={'install': substituted('pkg-install').decode('utf-8'),
                         'deinstall': substituted('pkg-deinstall').decode('utf-8')})


def as_json(value: Dict[str, Any]) -> bytes:
    """A manifest's text."""
    return json.dumps(value, separators=(',', ':')).encode('utf-8')


def member(entry: Entry) -> tarfile.TarInfo:
    """The head of a file, owned by root and wheel."""
    info = tarfile.TarInfo(entry.path)
    info.size, info.mode, info.mtime = len(entry.content), entry.mode, epoch()
    info.uname, info.gname = 'root', 'wheel'
    return info


def package() -> bytes:
    """A compressed tar archive: the manifests, then the files with their absolute names."""
    entries = installed()
    manifests = [Entry('+COMPACT_MANIFEST', 0o644, as_json(compact_manifest(entries))),
                 Entry('+MANIFEST', 0o644, as_json(manifest(entries)))]
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode='w', format=tarfile.USTAR_FORMAT) as archive:
        for entry in manifests + entries:
            archive.addfile(member(entry), io.BytesIO(entry.content))
    return lzma.compress(stream.getvalue(), preset=9)


# --- command line ---------------------------------------------------------------------------------

def main(arguments: List[str]) -> int:
    """Write the package."""
    if arguments and arguments[0].startswith('-') or len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    place = arguments[0] if arguments else os.path.join(TOP, 'dist')
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, 'routerbench-%s.pkg' % agent_version())
    with open(path, 'wb') as stream:
        stream.write(package())
    print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
