#!/usr/bin/env python3
"""Build OpenWrt's packages of routerbench without OpenWrt's SDK.

    python3 opkg/build.py [DIRECTORY]

writes routerbench_VERSION_all.ipk, for opkg (OpenWrt up to 24.10), and routerbench-VERSION.apk, for apk
(from 25.12 on), into DIRECTORY, or into dist/ beside opkg/.

What is in them stands in routerbench/Makefile, which is also what the SDK reads; the version is the
agent's. Neither package is signed. The .apk has the format of apk-tools 2, which apk-tools 3 reads as well:
two gzip streams after one another, the first with what the package is, the second with its files.

The same sources give the same bytes, whatever the day, the directory, the umask and the time zone are;
SOURCE_DATE_EPOCH is the time that the packages state. (A Python before 3.9, or another zlib, writes others.)
"""

import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
from typing import Dict, List, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
NAME = 'routerbench'
EPOCH = 315532800  # 1980-01-01, where SOURCE_DATE_EPOCH says nothing

MODES = {'DIR': 0o755, 'BIN': 0o755, 'DATA': 0o644, 'CONF': 0o600}  # rules.mk: INSTALL_*
SOURCES = {'$(PKG_BUILD_DIR)': TOP, '.': os.path.join(HERE, NAME)}

# What the SDK wraps around every package's scripts. The functions enable, start, disable and stop the
# package's init scripts.
POSTINST = '''\
#!/bin/sh
[ "${IPKG_NO_SCRIPT}" = "1" ] && exit 0
[ -s "${IPKG_INSTROOT}/lib/functions.sh" ] || exit 0
. "${IPKG_INSTROOT}/lib/functions.sh"
default_postinst "$0" "$@"
'''
PRERM = '''\
#!/bin/sh
[ -s "${IPKG_INSTROOT}/lib/functions.sh" ] || exit 0
. "${IPKG_INSTROOT}/lib/functions.sh"
default_prerm "$0" "$@"
'''
# apk gives its scripts no name from which the functions could tell the package's.
POST_INSTALL = '''\
#!/bin/sh
%s[ "${IPKG_NO_SCRIPT}" = "1" ] && exit 0
[ -s "${IPKG_INSTROOT}/lib/functions.sh" ] || exit 0
. "${IPKG_INSTROOT}/lib/functions.sh"
export root="${IPKG_INSTROOT}"
export pkgname="routerbench"
default_postinst
'''
UPGRADE = 'export PKG_UPGRADE=1\n'
PRE_DEINSTALL = '''\
#!/bin/sh
[ -s "${IPKG_INSTROOT}/lib/functions.sh" ] || exit 0
. "${IPKG_INSTROOT}/lib/functions.sh"
export root="${IPKG_INSTROOT}"
export pkgname="routerbench"
default_prerm
'''


class Entry(NamedTuple):
    """A file of an archive, or a directory where there is no content."""
    path: str
    mode: int
    content: bytes = b''

    @property
    def directory(self) -> bool:
        """Whether it is one."""
        return self.path.endswith('/')


class Package(NamedTuple):
    """What the Makefile says: its variables, the lines of `define`d texts, and the files."""
    version: str
    variables: Dict[str, str]
    description: List[str]
    conffiles: List[str]
    entries: List[Entry]


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


def block(makefile: str, name: str) -> List[str]:
    """The lines of a `define`, without their indentation."""
    found = re.search(r'^define %s\n(.*?)^endef' % re.escape(name), makefile, re.MULTILINE | re.DOTALL)
    assert found, 'the Makefile does not define ' + name
    return [line.strip() for line in found.group(1).splitlines()]


def with_parents(path: str) -> List[str]:
    """`usr/bin/` -> `usr/`, `usr/bin/`"""
    parts = path.rstrip('/').split('/')
    return ['/'.join(parts[:count]) + '/' for count in range(1, len(parts) + 1)]


def installed(recipe: List[str]) -> List[Entry]:
    """What the lines of Package/routerbench/install install, sorted, directories before what is in them.

    opkg drops a file without a word where the package has no entry for its directory.
    """
    entries: Dict[str, Entry] = {}
    for line in recipe:
        found = re.match(r'\$\(INSTALL_(DIR|BIN|DATA|CONF)\) (?:(\S+)/(\S+) )?\$\(1\)/(\S+)$', line)
        assert found, 'cannot read: ' + line
        kind, where, source, target = found.groups()
        if kind == 'DIR':
            entries.update((path, Entry(path, MODES[kind])) for path in with_parents(target))
        else:
            place = os.path.join(SOURCES[where.split('/')[0]], *where.split('/')[1:])
            entries[target] = Entry(target, MODES[kind], read(place, source))
    return [entries[path] for path in sorted(entries)]


def package() -> Package:
    """Read the Makefile."""
    makefile = read(HERE, NAME, 'Makefile').decode('utf-8')
    variables = dict(re.findall(r'^ *(\w+):=(.*)$', makefile, re.MULTILINE))
    part = 'Package/%s' % NAME
    return Package('%s-r%s' % (agent_version(), variables['PKG_RELEASE']), variables,
                   block(makefile, part + '/description'), block(makefile, part + '/conffiles'),
                   installed(block(makefile, part + '/install')))


def dependencies(variables: Dict[str, str]) -> List[str]:
    """`+python3-light` -> `python3-light`"""
    return [word.lstrip('+') for word in variables['DEPENDS'].split()]


# --- archives -------------------------------------------------------------------------------------

def epoch() -> int:
    """The time that the packages state."""
    return int(os.environ.get('SOURCE_DATE_EPOCH') or EPOCH)


def member(entry: Entry, prefix: str = '') -> tarfile.TarInfo:
    """The head of an entry, owned by root."""
    info = tarfile.TarInfo(prefix + entry.path.rstrip('/'))
    info.type = tarfile.DIRTYPE if entry.directory else tarfile.REGTYPE
    info.size, info.mode, info.mtime = len(entry.content), entry.mode, epoch()
    info.uname = info.gname = 'root'
    return info


def tar(entries: List[Entry], prefix: str = './') -> bytes:
    """A tar archive of the kind that opkg reads: it knows no pax headers."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode='w', format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            archive.addfile(member(entry, prefix), io.BytesIO(entry.content))
    return stream.getvalue()


def gzipped(data: bytes) -> bytes:
    """One gzip stream, which names no file and no time."""
    stream = io.BytesIO()
    with gzip.GzipFile(filename='', mode='wb', compresslevel=9, fileobj=stream, mtime=0) as compressed:
        compressed.write(data)
    return stream.getvalue()


# --- .ipk -----------------------------------------------------------------------------------------

def control(what: Package, size: int) -> bytes:
    """What opkg shows of the package; `size` is that of its files."""
    variables = what.variables
    lines = ['Package: ' + NAME, 'Version: ' + what.version, 'Depends: ' + ', '.join(dependencies(variables)),
             'License: ' + variables['PKG_LICENSE'], 'Section: ' + variables['SECTION'],
             'SourceDateEpoch: %d' % epoch(), 'Maintainer: ' + variables['PKG_MAINTAINER'],
             'Architecture: ' + variables['PKGARCH'], 'Installed-Size: %d' % size,
             'Description:  ' + '\n '.join(what.description)]
    return ('\n'.join(lines) + '\n').encode('utf-8')


def ipk(what: Package) -> bytes:
    """A package for opkg: an archive of a format's number and two archives."""
    data = tar(what.entries)
    about = tar([Entry('control', 0o644, control(what, len(data))),
                 Entry('conffiles', 0o644, ''.join(path + '\n' for path in what.conffiles).encode('utf-8')),
                 Entry('postinst', 0o755, POSTINST.encode('utf-8')), Entry('prerm', 0o755, PRERM.encode('utf-8'))])
    return gzipped(tar([Entry('debian-binary', 0o644, b'2.0\n'), Entry('data.tar.gz', 0o644, gzipped(data)),
                        Entry('control.tar.gz', 0o644, gzipped(about))]))


# --- .apk -----------------------------------------------------------------------------------------

def apk_lists(what: Package) -> List[Entry]:
    """What OpenWrt keeps beside apk's own data: its default scripts read the first, sysupgrade the others."""
    files = {'/' + entry.path: entry for entry in what.entries if not entry.directory}
    sums = ['%s %s' % (path, hashlib.sha256(files[path].content).hexdigest()) for path in what.conffiles]
    lists = {'list': sorted(files), 'conffiles': what.conffiles, 'conffiles_static': sums}
    return [Entry('lib/apk/packages/%s.%s' % (NAME, kind), 0o644, ''.join(line + '\n' for line in lines).encode('utf-8'))
            for kind, lines in lists.items()]


def apk_tar(entries: List[Entry], checksums: bool) -> bytes:
    """A tar archive for apk: with its `checksums` of the files, and with the end of an archive only then."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode='w', format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            info = member(entry)
            if checksums and not entry.directory:
                info.pax_headers = {'APK-TOOLS.checksum.SHA1': hashlib.sha1(entry.content).hexdigest()}
            archive.addfile(info, io.BytesIO(entry.content))
        end = archive.offset
    return stream.getvalue() if checksums else stream.getvalue()[:end]


def pkginfo(what: Package, data: bytes, size: int) -> bytes:
    """What apk shows of the package, and the sum of its second stream."""
    variables = what.variables
    lines = [('pkgname', NAME), ('pkgver', what.version), ('pkgdesc', ' '.join(what.description)),
             ('builddate', str(epoch())), ('packager', variables['PKG_MAINTAINER']), ('size', str(size)),
             ('arch', 'noarch'), ('origin', NAME), ('maintainer', variables['PKG_MAINTAINER']),
             ('license', variables['PKG_LICENSE'])]
    lines += [('depend', name) for name in dependencies(variables)]
    lines += [('datahash', hashlib.sha256(data).hexdigest())]
    return ''.join('%s = %s\n' % line for line in lines).encode('utf-8')


def apk(what: Package) -> bytes:
    """A package for apk."""
    entries = {entry.path: entry for entry in what.entries + apk_lists(what)}
    for path in with_parents('lib/apk/packages'):
        entries.setdefault(path, Entry(path, MODES['DIR']))
    data = gzipped(apk_tar([entries[path] for path in sorted(entries)], checksums=True))
    scripts = [('.post-install', POST_INSTALL % ''), ('.post-upgrade', POST_INSTALL % UPGRADE),
               ('.pre-deinstall', PRE_DEINSTALL)]
    about = [Entry('.PKGINFO', 0o644, pkginfo(what, data, sum(len(entry.content) for entry in entries.values())))]
    about += [Entry(name, 0o755, text.encode('utf-8')) for name, text in scripts]
    return gzipped(apk_tar(about, checksums=False)) + data


# --- command line ---------------------------------------------------------------------------------

def main(arguments: List[str]) -> int:
    """Write both packages."""
    if arguments and arguments[0].startswith('-') or len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    place = arguments[0] if arguments else os.path.join(TOP, 'dist')
    os.makedirs(place, exist_ok=True)
    what = package()
    for name, content in [('%s_%s_%s.ipk' % (NAME, what.version, what.variables['PKGARCH']), ipk(what)),
                          ('%s-%s.apk' % (NAME, what.version), apk(what))]:
        path = os.path.join(place, name)
        with open(path, 'wb') as stream:
            stream.write(content)
        print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
