"""The packages for OpenWrt and for FreeBSD: what the builders make, what the Makefiles say, and a life of
install, upgrade and removal by the real scripts, in a root of their own under BusyBox's ash or dash, with
doubles for what of the systems is not here."""

import configparser
import glob
import gzip
import hashlib
import importlib.util
import io
import json
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zlib

import pytest

import routerbench as rb
from fakes import AGENT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEXT = '99.0.0'  # the version to which the packages are upgraded
MARK = '# routerbench selftest'

RULES_MK = '''
INCLUDE_DIR:=$(TOPDIR)/include
INSTALL_DIR:=install -d -m0755
INSTALL_BIN:=install -m0755
INSTALL_DATA:=install -m0644
INSTALL_CONF:=install -m0600
CP:=cp -fpR
'''

PACKAGE_MK = '''
PKG_BUILD_DIR:=$(TOPDIR)/build_dir/$(PKG_NAME)-$(PKG_VERSION)

define BuildPackage
$(eval $(Package/$(1)))
export CONFFILES:=$(Package/$(1)/conffiles)
stage:
	$(Build/Prepare)
	$(Build/Configure)
	$(Build/Compile)
	$(call Package/$(1)/install,$(STAGE))
show:
	@:$$(foreach name,$$(SHOW),$$(info $$(name)=$$($$(name))))
endef
'''

BSD_PORT_MK = r'''
PREFIX?=	/usr/local
FILESDIR?=	${.CURDIR}/files
WRKSRC?=	${WRKDIR}/${PORTNAME}-${DISTVERSION}
MKDIR=	mkdir -p
CP=	cp
INSTALL_SCRIPT=	install -m 555
INSTALL_DATA=	install -m 644

stage: do-extract fix-shebang sub-files make-stage do-install
fix-shebang:
.for old in ${python_OLD_CMD}
	cd ${WRKSRC} && sed -i -e '1s|^#!${old:S/"//g}$$|#!${PYTHON_CMD}|' ${SHEBANG_FILES}
.endfor
sub-files:
.for file in ${SUB_FILES}
	sed -e 's|%%PREFIX%%|${PREFIX}|g' ${FILESDIR}/${file}.in >${WRKDIR}/${file}
.endfor
make-stage:
	mkdir -p ${STAGEDIR}${PREFIX}/bin
'''


# --- shared ---------------------------------------------------------------------------------------

def run(arguments, code=0, **options):
    """Run a program; stdout, after a check of the exit status that shows what was said."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)
    out, err = done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')
    assert done.returncode == code, '%s: %d\n%s\n%s' % (arguments, done.returncode, out, err)
    return out


def missing(what):
    """Skip for want of something; in CI, where everything is to be there, fail."""
    if os.environ.get('CI') == 'true':
        pytest.fail('%s is missing, and this is CI' % what)
    pytest.skip('%s is missing' % what)


def tool(name):
    """The path of a tool."""
    return shutil.which(name) or missing(name)


def text_of(*names):
    with open(os.path.join(ROOT, *names), encoding='utf-8') as stream:
        return stream.read()


def builder(directory, top=ROOT):
    """The module `build.py` of a directory."""
    spec = importlib.util.spec_from_file_location('build_' + directory, os.path.join(top, directory, 'build.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copy_of_the_sources(place, version=None):
    """What the builders read, elsewhere; with another version, if one is given."""
    for name in ('opkg', 'freebsd'):
        shutil.copytree(os.path.join(ROOT, name), str(place / name), ignore=shutil.ignore_patterns('__pycache__'))
    for name in ('routerbench.py', 'LICENSE'):
        shutil.copy(os.path.join(ROOT, name), str(place / name))
    if version:
        agent = place / 'routerbench.py'
        text = agent.read_text(encoding='utf-8')
        agent.write_text(text.replace("__version__ = '%s'" % rb.__version__, "__version__ = '%s'" % version), encoding='utf-8')
    return str(place)


@pytest.fixture(scope='module')
def packages(tmp_path_factory):
    """The packages of the sources as they are, and of a later version: {version: {kind: bytes}}."""
    later = tmp_path_factory.mktemp('later')
    built = {}
    for version, top in [(rb.__version__, ROOT), (NEXT, copy_of_the_sources(later, NEXT))]:
        opkg, freebsd = builder('opkg', top), builder('freebsd', top)
        what = opkg.package()
        built[version] = {'ipk': opkg.ipk(what), 'apk': opkg.apk(what), 'pkg': freebsd.package()}
    return built


def members(data):
    """A tar archive: [(TarInfo, content)]"""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [(info, archive.extractfile(info).read() if info.isfile() else b'') for info in archive]


def contents(data):
    """A tar archive's files: {name: content}"""
    return {info.name: content for info, content in members(data) if info.isfile()}


def in_gzip(data):
    """The streams of a gzip file, unpacked: [(packed, unpacked)]"""
    streams = []
    while data:
        unpack = zlib.decompressobj(wbits=31)
        unpacked = unpack.decompress(data)
        streams.append((data[:len(data) - len(unpack.unused_data)], unpacked))
        data = unpack.unused_data
    return streams


def ipk_parts(package):
    """An .ipk: the tar archive of what it is, and that of its files."""
    outer = contents(gzip.decompress(package))
    return gzip.decompress(outer['./control.tar.gz']), gzip.decompress(outer['./data.tar.gz'])


def relative(name):
    """`./usr/bin/x` and `/usr/bin/x` as `usr/bin/x`"""
    return re.sub(r'^\.?/', '', name)


def tree(top):
    """{path: (mode, content)} of the files below a directory."""
    found = {}
    for place, _, names in os.walk(str(top)):
        for name in names:
            path = os.path.join(place, name)
            with open(path, 'rb') as stream:
                found[os.path.relpath(path, str(top))] = (stat.S_IMODE(os.stat(path).st_mode), stream.read())
    return found


# --- what the builders make -----------------------------------------------------------------------

class TestBuilders:
    @pytest.mark.parametrize('directory, names', [
        ('opkg', ['routerbench-%s-r1.apk', 'routerbench_%s-r1_all.ipk']), ('freebsd', ['routerbench-%s.pkg'])])
    def test_two_builds_are_the_same_to_the_byte(self, tmp_path, directory, names):
        """In another directory, from younger files, with another umask, time zone, language and order of files."""
        elsewhere = tmp_path / 'else where'
        elsewhere.mkdir()
        copy_of_the_sources(elsewhere)
        for place, _, files in os.walk(str(elsewhere)):
            for name in files:
                os.chmod(os.path.join(place, name), 0o600)
                os.utime(os.path.join(place, name), (86400, 86400))
        results = []
        for top, out, umask, more in [(ROOT, 'one', 0o022, {'TZ': 'UTC', 'LC_ALL': 'C'}),
                                      (str(elsewhere), 'two', 0o077, {'TZ': 'Asia/Tokyo', 'PYTHONHASHSEED': '7'})]:
            old = os.umask(umask)
            try:
                said = run([sys.executable, os.path.join(top, directory, 'build.py'), str(tmp_path / out)],
                           env=dict(os.environ, SOURCE_DATE_EPOCH='1700000000', **more), cwd=str(tmp_path))
            finally:
                os.umask(old)
            assert said.splitlines() == sorted(said.splitlines(), reverse=True)
            results.append({name: content for name, (_, content) in tree(tmp_path / out).items()})
        assert results[0] == results[1] and sorted(results[0]) == [name % rb.__version__ for name in names]

    @pytest.mark.parametrize('directory', ['opkg', 'freebsd'])
    def test_it_goes_to_dist_and_explains_itself(self, tmp_path, directory):
        copy_of_the_sources(tmp_path)
        script = str(tmp_path / directory / 'build.py')
        run([sys.executable, script, '--help'], 2)
        run([sys.executable, script])
        assert os.listdir(str(tmp_path / 'dist'))

    @pytest.mark.parametrize('directory', ['opkg', 'freebsd'])
    def test_the_time_is_the_given_one_or_always_the_same(self, directory, monkeypatch):
        build = builder(directory)
        monkeypatch.delenv('SOURCE_DATE_EPOCH', raising=False)
        assert build.epoch() == build.EPOCH
        monkeypatch.setenv('SOURCE_DATE_EPOCH', '1700000000')
        assert build.epoch() == 1700000000

    def test_a_line_that_the_builder_cannot_read_is_an_error(self):
        with pytest.raises(AssertionError):
            builder('opkg').installed(['$(CP) ./files/* $(1)/'])

    def test_a_plist_that_does_not_agree_is_an_error(self, tmp_path):
        top = copy_of_the_sources(tmp_path)
        with open(os.path.join(top, 'freebsd', 'pkg-plist'), 'a') as stream:
            stream.write('bin/other\n')
        with pytest.raises(AssertionError):
            builder('freebsd', top).package()


class TestIpk:
    def test_the_outer_archive_is_as_opkg_wants_it(self, packages):
        package = packages[rb.__version__]['ipk']
        assert package[:10] == b'\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff'  # no name and no time
        outer = members(gzip.decompress(package))
        assert [info.name for info, _ in outer] == ['./debian-binary', './data.tar.gz', './control.tar.gz']
        assert outer[0][1] == b'2.0\n'

    def test_no_archive_has_pax_headers(self, packages):
        outer = gzip.decompress(packages[rb.__version__]['ipk'])
        for archive in (outer,) + ipk_parts(packages[rb.__version__]['ipk']):
            assert b'PaxHeader' not in archive and archive[257:265] == b'ustar  \0'

    def test_every_directory_comes_before_what_is_in_it(self, packages):
        seen = {'.'}
        for info, _ in members(ipk_parts(packages[rb.__version__]['ipk'])[1]):
            assert os.path.dirname(info.name) in seen
            seen.add(info.name)

    def test_owners_and_modes(self, packages):
        about, data = ipk_parts(packages[rb.__version__]['ipk'])
        for info, _ in members(about) + members(data):
            assert (info.uid, info.gid, info.uname, info.gname, info.mtime) == (0, 0, 'root', 'root', builder('opkg').epoch())
        modes = {info.name[2:]: info.mode for info, _ in members(about) + members(data) if info.isfile()}
        assert modes == {'control': 0o644, 'conffiles': 0o644, 'postinst': 0o755, 'prerm': 0o755,
                         'usr/bin/routerbench': 0o755, 'etc/init.d/routerbench': 0o755, 'etc/config/routerbench': 0o600,
                         'lib/upgrade/keep.d/routerbench': 0o644}
        assert {info.mode for info, _ in members(data) if info.isdir()} == {0o755}

    def test_what_it_says_of_itself(self, packages):
        about, data = ipk_parts(packages[rb.__version__]['ipk'])
        files = contents(about)
        said = dict(line.split(': ', 1) for line in files['./control'].decode().splitlines() if not line.startswith(' '))
        assert (said['Package'], said['Version'], said['Architecture']) == ('routerbench', rb.__version__ + '-r1', 'all')
        assert said['Depends'] == 'python3-light'
        assert said['Installed-Size'] == str(len(data))
        assert files['./control'].endswith(b'\n') and b'\n\n' not in files['./control']
        for path in files['./conffiles'].decode().split():
            assert '.' + path in contents(data)

    def test_gnu_tar_can_open_it(self, packages, tmp_path):
        (tmp_path / 'x.ipk').write_bytes(packages[rb.__version__]['ipk'])
        run([tool('tar'), '-xzf', 'x.ipk'], cwd=str(tmp_path))
        listed = run([tool('tar'), '-tvzf', 'data.tar.gz'], cwd=str(tmp_path))
        assert re.search(r'^-rwxr-xr-x root/root .* \./usr/bin/routerbench$', listed, re.MULTILINE)


class TestApk:
    def parts(self, packages):
        """The two streams: [(packed, unpacked)]"""
        return in_gzip(packages[rb.__version__]['apk'])

    def test_two_streams_and_the_sum_of_the_second(self, packages):
        (_, about), (packed, _) = self.parts(packages)
        said = contents(about + bytes(1024))['.PKGINFO']
        assert ('datahash = %s\n' % hashlib.sha256(packed).hexdigest()).encode() in said

    def test_what_it_says_of_itself(self, packages):
        about = contents(self.parts(packages)[0][1] + bytes(1024))
        said = dict(line.split(' = ', 1) for line in about['.PKGINFO'].decode().splitlines())
        assert (said['pkgname'], said['pkgver'], said['arch'], said['depend']) == (
            'routerbench', rb.__version__ + '-r1', 'noarch', 'python3-light')
        assert set(about) == {'.PKGINFO', '.post-install', '.post-upgrade', '.pre-deinstall'}

    def test_only_the_second_stream_ends_as_an_archive(self, packages):
        (_, about), (_, data) = self.parts(packages)
        assert any(about[-512:]) and not any(data[-1024:])

    def test_each_file_has_its_sum(self, packages):
        for info, content in members(self.parts(packages)[1][1]):
            if info.isfile():
                assert info.pax_headers['APK-TOOLS.checksum.SHA1'] == hashlib.sha1(content).hexdigest()

    def test_it_has_the_files_of_the_ipk_and_the_lists(self, packages):
        data = contents(self.parts(packages)[1][1])
        ipk = {name[2:]: content for name, content in contents(ipk_parts(packages[rb.__version__]['ipk'])[1]).items()}
        lists = {name: data.pop(name).decode() for name in list(data) if name.startswith('lib/apk/')}
        assert data == ipk
        at = 'lib/apk/packages/routerbench.'
        assert set(lists) == {at + 'list', at + 'conffiles', at + 'conffiles_static'}
        assert lists[at + 'list'].split() == sorted('/' + path for path in ipk)
        assert lists[at + 'conffiles'] == '/etc/config/routerbench\n'
        assert lists[at + 'conffiles_static'].split()[1] == hashlib.sha256(ipk['etc/config/routerbench']).hexdigest()

    def test_owners_modes_and_directories(self, packages):
        seen = {''}
        for info, _ in members(self.parts(packages)[1][1]):
            assert (info.uid, info.gid, info.uname, info.gname, info.mtime) == (0, 0, 'root', 'root', builder('opkg').epoch())
            assert os.path.dirname(info.name) in seen
            seen.add(info.name)


class TestPkg:
    def archive(self, packages):
        return members(lzma.decompress(packages[rb.__version__]['pkg']))

    def test_the_manifests_come_first_and_the_names_are_absolute(self, packages):
        names = [info.name for info, _ in self.archive(packages)]
        assert names[:2] == ['+COMPACT_MANIFEST', '+MANIFEST']
        assert all(name.startswith('/usr/local/') for name in names[2:])

    def test_the_manifest_agrees_with_the_files(self, packages):
        files = {info.name: content for info, content in self.archive(packages)}
        compact, manifest = (json.loads(files.pop(name).decode()) for name in ('+COMPACT_MANIFEST', '+MANIFEST'))
        assert manifest['files'] == {name: '1$' + hashlib.sha256(content).hexdigest() for name, content in files.items()}
        assert set(manifest) - set(compact) == {'files', 'scripts'}
        assert all(manifest[key] == value for key, value in compact.items())
        assert manifest['flatsize'] == sum(len(content) for content in files.values())
        assert (manifest['name'], manifest['version'], manifest['prefix']) == ('routerbench', rb.__version__, '/usr/local')
        assert 'deps' not in manifest  # the Python's name differs from system to system
        assert set(manifest['scripts']) == {'install', 'deinstall'}
        assert {path[len('/usr/local/'):] for path in files} == set(text_of('freebsd', 'pkg-plist').split())

    def test_owners_and_modes(self, packages):
        for info, _ in self.archive(packages):
            assert (info.uid, info.gid, info.uname, info.gname, info.mtime) == (0, 0, 'root', 'wheel', builder('freebsd').epoch())
        modes = {os.path.basename(info.name): info.mode for info, _ in self.archive(packages)}
        assert modes == {'+COMPACT_MANIFEST': 0o644, '+MANIFEST': 0o644, 'routerbench': 0o555, 'routerbench.py': 0o555,
                         'actions_routerbench.conf': 0o644, 'cron.sample': 0o644}

    def test_nothing_is_left_to_be_put_in(self, packages):
        assert not any(b'%%' in content for info, content in self.archive(packages) if not info.name.endswith('.py'))

    def test_gnu_tar_can_open_it(self, packages, tmp_path):
        tool('xz')
        (tmp_path / 'x.pkg').write_bytes(packages[rb.__version__]['pkg'])
        listed = run([tool('tar'), '-tvJPf', 'x.pkg'], cwd=str(tmp_path))
        assert re.search(r'^-r-xr-xr-x root/wheel .* /usr/local/bin/routerbench$', listed, re.MULTILINE)


# --- the Makefiles --------------------------------------------------------------------------------

def path_with(*places):
    """An environment in which `python3` is the Python of this test."""
    return dict(os.environ, PATH=os.pathsep.join(places + (os.path.dirname(sys.executable), os.environ['PATH'])))


@pytest.fixture
def feed(tmp_path):
    """GNU make in the package's directory, reached by a link as in a feed, below a stub of the build system."""
    make = tool('make')
    (tmp_path / 'include').mkdir()
    (tmp_path / 'rules.mk').write_text(RULES_MK)
    (tmp_path / 'include' / 'package.mk').write_text(PACKAGE_MK)
    (tmp_path / 'feed').symlink_to(ROOT)
    return lambda *words: run([make, '-s', '-C', str(tmp_path / 'feed' / 'opkg' / 'routerbench'), 'TOPDIR=%s' % tmp_path] + list(words))


@pytest.fixture
def port(tmp_path):
    """BSD make in the port's directory, with a stub of the ports framework."""
    bmake = tool('bmake')
    (tmp_path / 'mk').mkdir()
    (tmp_path / 'mk' / 'bsd.port.mk').write_text(BSD_PORT_MK)
    return lambda *words: run([bmake, '-r', '-m', str(tmp_path / 'mk'), '-C', os.path.join(ROOT, 'freebsd')] + list(words))


class TestFeedMakefile:
    def test_what_the_package_says_of_itself(self, feed):
        said = dict(line.split('=', 1) for line in feed(
            'show', 'SHOW=PKG_NAME PKG_VERSION PKG_RELEASE PKG_LICENSE SECTION CATEGORY DEPENDS PKGARCH CONFFILES').splitlines())
        assert said == {'PKG_NAME': 'routerbench', 'PKG_VERSION': rb.__version__, 'PKG_RELEASE': said['PKG_RELEASE'],
                        'PKG_LICENSE': 'MIT', 'SECTION': 'utils', 'CATEGORY': 'Utilities',
                        'DEPENDS': '+python3-light', 'PKGARCH': 'all', 'CONFFILES': '/etc/config/routerbench'}
        assert int(said['PKG_RELEASE']) >= 1

    def test_its_directory_has_its_name(self, feed):
        """OpenWrt's scripts/feeds knows a source by its directory, and leaves one alone that it has itself, like `opkg`."""
        found = [os.path.dirname(path) for path in glob.glob(os.path.join(ROOT, '**', 'Makefile'), recursive=True)
                 if 'call BuildPackage,' in open(path, encoding='utf-8').read()]
        assert [os.path.basename(path) for path in found] == [feed('show', 'SHOW=PKG_NAME').strip().split('=')[1]]

    def test_the_builder_reads_the_same(self, feed):
        what = builder('opkg').package()
        names = ['PKG_NAME', 'PKG_VERSION', 'PKG_RELEASE', 'PKG_LICENSE', 'PKG_MAINTAINER', 'SECTION', 'DEPENDS', 'PKGARCH']
        said = dict(line.split('=', 1) for line in feed('show', 'SHOW=' + ' '.join(names)).splitlines())
        assert said == {name: what.variables[name] for name in names}

    def test_it_looks_for_changes_where_the_sources_are(self, feed):
        for path in feed('show', 'SHOW=PKG_FILE_DEPENDS').strip().split('=', 1)[1].split():
            assert os.path.samefile(os.path.dirname(path), ROOT) and os.path.isfile(path)

    def test_metadata_is_spaced_recipes_are_tabbed_and_lists_are_neither(self):
        for head, body in re.findall(r'^define (\S+)\n(.*?)^endef', text_of('opkg', 'routerbench', 'Makefile'), re.MULTILINE | re.DOTALL):
            recipe = head.startswith('Build/') or head.endswith('/install')
            start = '\t' if recipe else '/' if head.endswith('/conffiles') else '  '
            assert all(line.startswith(start) for line in body.splitlines()), head

    def test_the_sdk_installs_what_the_builder_packs(self, feed, tmp_path):
        before = tree(os.path.join(ROOT, 'opkg', 'routerbench'))
        stage = tmp_path / 'stage'
        feed('stage', 'STAGE=%s' % stage)
        what = builder('opkg').package()
        assert tree(stage) == {entry.path: (entry.mode, entry.content) for entry in what.entries if not entry.directory}
        directories = {os.path.relpath(place, str(stage)) + '/' for place, _, _ in os.walk(str(stage))} - {'./'}
        assert directories == {entry.path for entry in what.entries if entry.directory}
        assert set(tree(os.path.join(ROOT, 'opkg', 'routerbench'))) == set(before)
        assert (tmp_path / 'build_dir' / ('routerbench-' + rb.__version__) / 'LICENSE').exists()
        assert run([str(stage / 'usr' / 'bin' / 'routerbench'), '--version'], env=path_with()).strip() == 'routerbench ' + rb.__version__

    @pytest.mark.parametrize('package, version, code', [
        ('routerbench', rb.__version__, 0), ('routerbench', '99.0.0', 1), ('other', rb.__version__, 1)])
    def test_its_own_test(self, feed, tmp_path, package, version, code):
        stage = tmp_path / 'stage'
        feed('stage', 'STAGE=%s' % stage)
        run([tool('busybox'), 'ash', os.path.join(ROOT, 'opkg', 'routerbench', 'test.sh'), package, version], code,
            env=path_with(str(stage / 'usr' / 'bin')))

    def test_its_own_test_notices_an_agent_that_does_not_run(self, tmp_path):
        broken = tmp_path / 'routerbench'
        broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo routerbench %s\n' % rb.__version__)
        broken.chmod(0o755)
        run([tool('busybox'), 'ash', os.path.join(ROOT, 'opkg', 'routerbench', 'test.sh'), 'routerbench', rb.__version__], 1,
            env=path_with(str(tmp_path)))


class TestPort:
    def test_what_the_port_says_of_itself(self, port):
        names = ['PORTNAME', 'DISTVERSION', 'CATEGORIES', 'DISTFILES', 'LICENSE', 'USES', 'NO_ARCH', 'NO_BUILD']
        words = [word for name in names for word in ('-V', '${%s}' % name)]
        assert port(*words).splitlines() == ['routerbench', rb.__version__, 'benchmarks net', '', 'MIT',
                                             'python:run shebangfix', 'yes', 'yes']

    def test_the_builder_reads_the_same(self, port):
        said = builder('freebsd').variables()
        names = ['PORTNAME', 'DISTVERSION', 'CATEGORIES', 'COMMENT', 'MAINTAINER', 'LICENSE', 'SUB_FILES']
        words = [word for name in names for word in ('-V', '${%s}' % name)]
        assert port(*words).splitlines() == [said[name] for name in names]

    def test_every_file_that_is_to_be_filled_in_is_there_and_no_other(self, port):
        assert sorted(name + '.in' for name in port('-V', '${SUB_FILES}').split()) == sorted(
            os.listdir(os.path.join(ROOT, 'freebsd', 'files')))

    def test_the_comment_is_as_ports_want_it(self, port):
        comment = port('-V', '${COMMENT}').strip()
        assert 0 < len(comment) <= 70 and not comment.endswith('.') and comment[0].isupper()
        assert not re.match(r'(An?|The) ', comment) and 'routerbench' not in comment.lower()

    def test_the_description_is_wrapped(self):
        assert all(len(line) <= 79 for line in text_of('freebsd', 'pkg-descr').splitlines())

    def test_what_is_installed_is_what_is_listed_and_packed(self, port, tmp_path):
        work, stage = tmp_path / 'wrk', tmp_path / 'stage'
        port('stage', 'WRKDIR=%s' % work, 'STAGEDIR=%s' % stage, 'PYTHON_CMD=%s' % sys.executable)
        staged = tree(stage / 'usr' / 'local')
        assert sorted(staged) == text_of('freebsd', 'pkg-plist').split()
        packed = {entry.path[len('/usr/local/'):]: (entry.mode, entry.content) for entry in builder('freebsd').installed()}
        # stage-qa wants the Python of the port's dependency in the first line.
        agent = 'libexec/routerbench/routerbench.py'
        (mode, content), (packed_mode, packed_content) = staged.pop(agent), packed.pop(agent)
        assert (staged, mode) == (packed, packed_mode)
        assert content.split(b'\n', 1)[0] == b'#!' + sys.executable.encode()
        assert content.split(b'\n', 1)[1] == packed_content.split(b'\n', 1)[1]
        assert os.path.exists(port('-V', '${LICENSE_FILE}', 'WRKDIR=%s' % work).strip())

    def test_another_prefix(self, port, tmp_path):
        port('stage', 'WRKDIR=%s' % (tmp_path / 'wrk'), 'STAGEDIR=%s' % (tmp_path / 'stage'), 'PREFIX=/opt/x', 'PYTHON_CMD=/opt/x/bin/python3.11')
        assert b'/usr/local/bin' not in tree(tmp_path / 'stage' / 'opt' / 'x')['bin/routerbench'][1]


# --- the texts ------------------------------------------------------------------------------------

class TestTexts:
    @pytest.mark.parametrize('path, dialect', [
        ('opkg/routerbench/test.sh', 'dash'), ('opkg/routerbench/files/routerbench.init', 'dash'), ('freebsd/files/routerbench.in', 'sh'),
        ('freebsd/files/pkg-install.in', 'sh'), ('freebsd/files/pkg-deinstall.in', 'sh')])
    def test_shell_files_are_clean(self, path, dialect):
        # 0.9 does not know the name "busybox" in the feed's own directive, and dash is the nearest there.
        run([tool('shellcheck'), '-s', dialect, '-e', 'SC1103', os.path.join(ROOT, *path.split('/'))])

    def test_no_shell_file_is_forgotten(self):
        shells = set()
        for top in ('opkg', 'freebsd'):
            for path, (_, content) in tree(os.path.join(ROOT, top)).items():
                if content.startswith(b'#!/bin/sh'):
                    shells.add('%s/%s' % (top, path))
        mark = next(mark for mark in self.test_shell_files_are_clean.pytestmark if mark.name == 'parametrize')
        assert shells == {path for path, _ in mark.args[1]}

    @pytest.mark.parametrize('name', ['POSTINST', 'PRERM', 'POST_INSTALL', 'PRE_DEINSTALL'])
    def test_the_scripts_of_the_builder_are_clean(self, name, tmp_path):
        text = getattr(builder('opkg'), name)
        (tmp_path / 'script').write_text(text.replace('%s', 'export PKG_UPGRADE=1\n'))
        run([tool('shellcheck'), '-s', 'dash', '-e', 'SC1091', str(tmp_path / 'script')])

    @pytest.mark.parametrize('name', ['opkg/build.py', 'freebsd/build.py'])
    def test_a_builder_needs_only_what_every_python_has(self, name):
        text = text_of(*name.split('/'))
        assert set(re.findall(r'^(?:import|from) (\w+)', text, re.MULTILINE)) <= {
            'gzip', 'hashlib', 'io', 'json', 'lzma', 'os', 're', 'sys', 'tarfile', 'typing'}

    def test_the_sample_for_cron(self):
        sample = builder('freebsd').substituted('cron.sample').decode()
        lines = [line for line in sample.splitlines() if not line.startswith('#')]
        assert len(lines) == 1 and sample.endswith('\n') and '%' not in sample
        assert re.match(r'\d+\t\d+\t\*\t\*\t\*\troot\t\S.*/usr/local/bin/routerbench selftest %s$' % MARK, lines[0])

    def test_the_actions_of_configd(self):
        actions = configparser.ConfigParser(delimiters=(':',), interpolation=None)
        actions.read_string(builder('freebsd').substituted('actions_routerbench.conf').decode())
        assert actions.sections() == ['selftest', 'history']
        for name in actions.sections():
            assert actions[name]['command'].startswith('/usr/local/bin/routerbench selftest')
            assert actions[name]['type'] in ('script', 'script_output') and actions[name]['message']
        assert actions['selftest']['description'] and 'description' not in actions['history']  # one is offered for cron


# --- a life on a router ---------------------------------------------------------------------------

APPLETS = ('[ basename cat chmod chown cp cut date dirname echo env false grep head hostname id kill ln ls mkdir mktemp mv ps readlink rm '
           'rmdir sed sleep sort stat tail test touch tr true uname wc').split()

# What the host shares with every root: libraries, Python, the devices.
ENTER = r'''
root=$1 prefix=$2
shift 2
bind() { mkdir -p "$root$2" && mount --bind "$1" "$root$2"; }
for place in /lib/*-linux-* /lib64; do
	[ ! -d "$place" ] || bind "$place" "$place" || exit 99
done
bind "$prefix" /python && bind /dev /dev && bind /proc /proc || exit 99
exec chroot "$root" "$@"
'''

PYTHON = '''#!/bin/sh
PYTHONHOME=/python LD_LIBRARY_PATH=/python/lib PYTHONPATH=/site PYTHONDONTWRITEBYTECODE=1
export PYTHONHOME LD_LIBRARY_PATH PYTHONPATH PYTHONDONTWRITEBYTECODE
exec /python/bin/%s "$@"
''' % os.path.basename(os.path.realpath(sys.executable))

# The agent's `schedule`, as far as the packages need it; it writes down how it was called.
SCHEDULE = r'''#!/bin/sh
# a double of routerbench
tab=TAB
echo "$*" >>/tmp/calls
[ "$1" = schedule ] || exit 0
case "$2" in
show)
	grep '# routerbench selftest$' $tab
	;;
install)
	shift 2
	line="17 3 * * * USER/usr/bin/routerbench selftest $* # routerbench selftest"
	[ "$(grep '# routerbench selftest$' $tab 2>/dev/null)" != "$line" ] || exit 0
	{ grep -v '# routerbench selftest$' $tab 2>/dev/null; echo "$line"; } >/tmp/new
	cat /tmp/new >$tab
	[ ! -x /etc/init.d/cron ] || /etc/init.d/cron restart
	;;
remove)
	grep '# routerbench selftest$' $tab >/dev/null 2>&1 || exit 0
	grep -v '# routerbench selftest$' $tab >/tmp/new
	cat /tmp/new >$tab
	[ -s $tab ] || [ ! -x /usr/local/bin/routerbench ] || rm $tab
	;;
esac
'''

# OpenWrt's /lib/functions.sh, as far as packages and init scripts use it.
FUNCTIONS = r'''
config() { SECTION=$2; }
option() { eval "OPTION_${SECTION}_$1=\$2"; }
list() { eval "OPTION_${SECTION}_$1=\"\${OPTION_${SECTION}_$1:+\$OPTION_${SECTION}_$1 }\$2\""; }
config_load() { [ -n "$IPKG_INSTROOT" ] || [ ! -f "/etc/config/$1" ] || . "/etc/config/$1"; }
config_get() { eval "$1=\${OPTION_$2_$3:-\$4}"; }
config_get_bool() {
	config_get "$@"
	eval "case \$$1 in 1|on|true|yes|enabled) $1=1 ;; 0|off|false|no|disabled) $1=0 ;; *) $1=\$4 ;; esac"
}
list_of() { cat "$IPKG_INSTROOT/lib/apk/packages/$1.list" "$IPKG_INSTROOT/usr/lib/opkg/info/$1.list" 2>/dev/null | grep '^/etc/init.d/'; }
name_of() { pkgname=${pkgname:-$(basename "${1%.*}")}; }
default_postinst() {
	name_of "$1"
	for service in $(list_of "$pkgname"); do
		if [ -n "$IPKG_INSTROOT" ]; then
			sh "$IPKG_INSTROOT/etc/rc.common" "$IPKG_INSTROOT$service" enable
		else
			[ "$PKG_UPGRADE" = 1 ] || "$service" enable
			"$service" start
		fi
	done
}
default_prerm() {
	name_of "$1"
	for service in $(list_of "$pkgname"); do
		[ "$PKG_UPGRADE" = 1 ] || "$service" disable
		"$service" stop
	done
}
'''

# OpenWrt's /etc/rc.common with procd, which runs nothing here but writes down what is to be watched.
RC_COMMON = r'''#!/bin/sh
. "$IPKG_INSTROOT/lib/functions.sh"
initscript=$1
action=$2
shift 2
name=$(basename "$initscript")
link() { [ -z "$2" ] || ln -sf "../init.d/$name" "$IPKG_INSTROOT/etc/rc.d/$1$2$name"; }
enable() { link S "$START"; link K "$STOP"; }
disable() { rm -f "$IPKG_INSTROOT/etc/rc.d/S$START$name" "$IPKG_INSTROOT/etc/rc.d/K$STOP$name"; }
enabled() { [ -x "$IPKG_INSTROOT/etc/rc.d/S$START$name" ]; }
start_service() { :; }
stop_service() { :; }
service_triggers() { :; }
procd_add_reload_trigger() { echo "$*" >/tmp/triggers; }
. "$initscript"
start() { start_service "$@"; service_triggers; }
stop() { stop_service "$@"; rm -f /tmp/triggers; }
boot() { start "$@"; }
restart() { stop "$@"; start "$@"; }
reload() { start "$@"; }
"$action" "$@"
'''

CRON = '#!/bin/sh\necho "$1" >>/tmp/cron\n[ -n "$(ls /etc/crontabs)" ]\n'
CRONTAB = "# mine\n*/5 * * * * /root/mine.sh # routerbench selftest is not my line\n0 4 * * 0 sleep 70 && reboot\n"

# The agent asks Python for the system, and here that is to be FreeBSD.
FREEBSD = '''
import os, sys
sys.platform = 'freebsd14'
os.uname = lambda: os.uname_result(('FreeBSD', 'router', '14.3-RELEASE', 'FreeBSD 14.3-RELEASE', 'amd64'))
'''


def has_schedule():
    """Whether the agent has the command that the packages call."""
    return subprocess.call([sys.executable, AGENT, 'schedule', '--help'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


class System:
    """A root directory with a shell, BusyBox's commands and this Python, and programs that run in it."""

    def __init__(self, top, shell, real):
        if os.geteuid():
            missing('root')
        self.top, self.real = str(top), real
        for name in ('bin', 'tmp', 'root', 'site', 'usr/bin', 'etc'):
            os.makedirs(self.path(name))
        shutil.copy(tool('busybox'), self.path('bin/busybox'))
        shutil.copy(tool('dash'), self.path('bin/dash'))
        os.symlink(shell, self.path('bin/sh'))
        for name in APPLETS:
            os.symlink('busybox', self.path('bin/' + name))
        os.symlink('/bin/env', self.path('usr/bin/env'))
        self.write('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\n')
        self.write('etc/group', 'root:x:0:\n')

    def path(self, name):
        return os.path.join(self.top, name.lstrip('/'))

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), 'w', encoding='utf-8') as stream:
            stream.write(text)
        os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name), encoding='utf-8') as stream:
            return stream.read()

    def there(self, name):
        return os.path.lexists(self.path(name))

    def sum(self, name):
        return hashlib.sha256(self.read(name).encode('utf-8')).hexdigest()

    def run(self, *argv, code=0, **environment):
        """stdout and stderr of a program in the root, with cron's short PATH."""
        words = ['PATH=/usr/bin:/bin', 'HOME=/root'] + ['%s=%s' % pair for pair in sorted(environment.items())]
        done = subprocess.run([tool('unshare'), '--mount', 'sh', '-c', ENTER, 'enter', self.top, sys.base_prefix,
                               '/bin/env', '-i'] + words + list(argv),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        said = done.stdout.decode('utf-8', 'replace')
        assert done.returncode == code, '%s: %d\n%s' % (argv, done.returncode, said)
        return said

    def script(self, text, *arguments, code=0, **environment):
        """The same for a script of a package."""
        self.write('tmp/script', text, 0o755)
        return self.run('/tmp/script', *arguments, code=code, **environment)

    def unpack(self, entries, keep=()):
        """Lay files: [(TarInfo, content)]. Where one no longer has the sum in `keep`, the new one is laid beside it."""
        for info, content in entries:
            name = relative(info.name)
            if info.isdir():
                os.makedirs(self.path(name), exist_ok=True)
            elif info.isfile():
                if name in keep and self.there(name) and self.sum(name) != keep[name]:
                    name += '.new'
                os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                with open(self.path(name), 'wb') as stream:
                    stream.write(content)
                os.chmod(self.path(name), info.mode)


class Router(System):
    """OpenWrt, and a package manager that calls the scripts in the order of the real one."""

    CONFIG = 'etc/config/routerbench'

    def __init__(self, top, packages, kind, real, shell='busybox'):
        System.__init__(self, top, shell, real)
        self.packages, self.kind, self.version, self.sums, self.names = packages, kind, None, {}, []
        for name in ('etc/crontabs', 'etc/config', 'etc/init.d', 'etc/rc.d', 'lib', 'usr/lib/opkg/info'):
            os.makedirs(self.path(name), exist_ok=True)
        self.write('etc/openwrt_release', "DISTRIB_ID='OpenWrt'\nDISTRIB_RELEASE='24.10.0'\n")
        self.write('etc/os-release', 'NAME="OpenWrt"\nID="openwrt"\nPRETTY_NAME="OpenWrt 24.10.0"\n')
        self.write('lib/functions.sh', FUNCTIONS)
        self.write('etc/rc.common', RC_COMMON, 0o755)
        self.write('etc/init.d/cron', CRON, 0o755)
        self.write('usr/bin/python3', PYTHON, 0o755)
        self.write('etc/crontabs/root', CRONTAB)

    def lines(self):
        """The marked lines of the crontab, after a look at the others."""
        lines = self.read('etc/crontabs/root').splitlines(True)
        marked = [line for line in lines if line.endswith(MARK + '\n')]
        assert ''.join(line for line in lines if line not in marked) == CRONTAB
        assert len(marked) <= 1
        return marked

    def lay(self, version):
        """The files of a version, and opkg's own of it."""
        package = self.packages[version][self.kind]
        entries = members(ipk_parts(package)[1] if self.kind == 'ipk' else in_gzip(package)[1][1])
        self.unpack(entries, self.sums)
        files = {relative(info.name): content for info, content in entries if info.isfile()}
        self.sums = {self.CONFIG: hashlib.sha256(files[self.CONFIG]).hexdigest()}
        self.names, self.version = sorted(files), version
        if self.kind == 'ipk':
            self.write('usr/lib/opkg/info/routerbench.list', ''.join('/%s\n' % name for name in self.names))
            for name, content in contents(ipk_parts(package)[0]).items():
                self.write('usr/lib/opkg/info/routerbench.' + name[2:], content.decode(), 0o755)
        if not self.real:
            self.write('usr/bin/routerbench', SCHEDULE.replace('TAB', '/etc/crontabs/root').replace('USER', ''), 0o755)

    def apk_script(self, name, *arguments, **environment):
        about = contents(in_gzip(self.packages[self.version]['apk'])[0][1] + bytes(1024))
        self.script(about[name].decode(), *arguments, **environment)

    def install(self):
        self.lay(rb.__version__)
        if self.kind == 'ipk':
            self.run('/usr/lib/opkg/info/routerbench.postinst', 'configure')
        else:
            self.apk_script('.post-install', self.version)

    def upgrade(self):
        old = self.version
        if self.kind == 'ipk':
            self.run('/usr/lib/opkg/info/routerbench.prerm', 'upgrade', NEXT, PKG_UPGRADE='1')
        assert self.lines()  # also between the scripts
        self.lay(NEXT)
        if self.kind == 'ipk':
            self.run('/usr/lib/opkg/info/routerbench.postinst', 'configure', PKG_UPGRADE='1')
        else:
            self.apk_script('.post-upgrade', self.version, old)

    def remove(self):
        if self.kind == 'ipk':
            self.run('/usr/lib/opkg/info/routerbench.prerm', 'remove')
        else:
            self.apk_script('.pre-deinstall', self.version)
        for name in self.names:
            if name not in self.sums or self.sum(name) == self.sums[name]:
                os.remove(self.path(name))
        shutil.rmtree(self.path('usr/lib/opkg/info'))

    def service(self, action, **options):
        return self.run('/etc/init.d/routerbench', action, **options)

    def set(self, old, new):
        """Change the configuration, as uci and reload_config do."""
        config = self.read(self.CONFIG)
        assert old in config
        self.write(self.CONFIG, config.replace(old, new), 0o600)
        self.service('reload')


AGENTS = pytest.mark.parametrize('real', [False, True], ids=['double', 'agent'])


@pytest.fixture
def router(tmp_path, packages):
    def made(kind='ipk', real=False, **options):
        if real and not has_schedule():
            pytest.skip('the agent has no schedule')
        return Router(tmp_path / 'root', packages, kind, real, **options)
    return made


class TestLifeOnOpenwrt:
    @AGENTS
    @pytest.mark.parametrize('kind', ['ipk', 'apk'])
    def test_from_install_to_removal(self, router, kind, real):
        """One line from install to removal, never two; the user's lines and changes stay."""
        box = router(kind, real)
        box.install()
        first = box.lines()
        assert len(first) == 1 and 'openvpn' in first[0] and '--journal /tmp/routerbench/journal.jsonl' in first[0]
        assert '--baseline /etc/routerbench/baseline.json' in first[0] and box.there('etc/routerbench')
        assert os.readlink(box.path('etc/rc.d/S95routerbench')) == '../init.d/routerbench'
        assert not glob.glob(box.path('etc/rc.d/K*'))
        assert box.read('tmp/triggers') == 'routerbench\n'
        assert 'restart' in box.read('tmp/cron')

        before = os.stat(box.path('etc/crontabs/root'))
        for action in ('reload', 'start', 'boot'):
            box.service(action)
            assert box.lines() == first
        after = os.stat(box.path('etc/crontabs/root'))
        assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)  # flash wears out

        box.set("list test 'openvpn'", "list test 'openvpn'\n\tlist test 'openssl'")
        changed = box.lines()
        assert len(changed) == 1 and 'openvpn openssl' in changed[0]

        box.write('etc/routerbench/baseline.json', '{}\n')
        mine = box.read(box.CONFIG)
        box.upgrade()
        assert box.lines() == changed
        assert box.read(box.CONFIG) == mine and box.there(box.CONFIG + '.new')
        assert box.there('etc/rc.d/S95routerbench')

        box.remove()
        assert box.lines() == []
        assert box.read('etc/crontabs/root') == CRONTAB
        assert not box.there('etc/rc.d/S95routerbench') and not box.there('tmp/triggers')
        assert box.read(box.CONFIG) == mine and box.there('etc/routerbench/baseline.json')
        assert not box.there('usr/bin/routerbench')

    @AGENTS
    def test_switched_off_and_on(self, router, real):
        box = router(real=real)
        box.install()
        box.set("enabled '1'", "enabled '0'")
        assert box.lines() == []
        box.service('boot')
        assert box.lines() == []
        box.set("enabled '0'", "enabled 'on'")
        assert len(box.lines()) == 1
        box.service('stop')
        assert box.lines() == []
        box.service('restart')
        assert len(box.lines()) == 1
        box.service('disable')
        assert box.lines() == [] and not box.there('etc/rc.d/S95routerbench')

    @AGENTS
    def test_no_other_line_in_the_crontab(self, router, real):
        box = router(real=real)
        os.remove(box.path('etc/crontabs/root'))
        box.install()
        assert [line.endswith(MARK) for line in box.read('etc/crontabs/root').splitlines()] == [True]
        box.remove()
        assert not box.there('etc/crontabs/root') or box.read('etc/crontabs/root') == ''

    def test_what_of_the_configuration_reaches_the_agent(self, router):
        box = router()
        box.install()
        box.write(box.CONFIG, "config selftest 'nightly'\n\toption enabled 'yes'\n\toption at '04:05'\n\tlist test 'openvpn'\n\tlist test 'kernel'\n"
                  "\toption cipher 'aes-128-cbc,aes-256-gcm'\n\toption auth 'SHA1'\n\toption wait '10m'\n\toption budget '2m'\n"
                  "\toption journal '/mnt/my disk/j.jsonl'\n\toption baseline '/etc/b.json'\n\toption prometheus '/var/p.prom'\n")
        box.write('usr/bin/routerbench', '#!/bin/sh\nfor word; do echo "<$word>"; done >/tmp/words\n', 0o755)
        box.service('reload')
        assert box.read('tmp/words').splitlines() == ['<%s>' % word for word in [
            'schedule', 'install', 'openvpn', 'kernel', '--at', '04:05', '--cipher', 'aes-128-cbc,aes-256-gcm', '--auth', 'SHA1',
            '--wait', '10m', '--budget', '2m', '--journal', '/mnt/my disk/j.jsonl', '--baseline', '/etc/b.json',
            '--format', 'prometheus', '--output', '/var/p.prom']]

    @pytest.mark.parametrize('config', ['', "config selftest 'other'\n\toption enabled '1'\n", "config selftest 'nightly'\n"])
    def test_without_the_section_there_is_no_line(self, router, config):
        box = router()
        box.install()
        box.write(box.CONFIG, config)
        box.service('reload')
        assert box.lines() == []

    def test_the_line_goes_even_where_the_agent_cannot_run(self, router):
        box = router()
        box.install()
        box.write('usr/bin/routerbench', '#!/usr/bin/nothing\n', 0o755)
        box.remove()
        assert box.lines() == []

    @pytest.mark.parametrize('kind', ['ipk', 'apk'])
    def test_into_an_image(self, router, kind, tmp_path):
        """The image builder runs the scripts outside: the service is enabled, and its first start adds the line."""
        box = router(kind)
        box.lay(rb.__version__)
        os.remove(box.path('usr/bin/routerbench'))
        shutil.copytree(box.path('etc'), box.path('image/etc'), symlinks=True)
        shutil.copytree(box.path('usr/lib'), box.path('image/usr/lib'))
        os.makedirs(box.path('image/lib/apk/packages'))
        shutil.copy(box.path('lib/functions.sh'), box.path('image/lib'))
        for path in glob.glob(box.path('lib/apk/packages/*')):
            shutil.copy(path, box.path('image/lib/apk/packages'))
        if kind == 'ipk':
            box.run('/image/usr/lib/opkg/info/routerbench.postinst', 'configure', IPKG_INSTROOT='/image')
        else:
            box.apk_script('.post-install', IPKG_INSTROOT='/image')
        assert box.there('image/etc/rc.d/S95routerbench') and not box.there('etc/rc.d/S95routerbench')
        assert box.lines() == [] and box.read('image/etc/crontabs/root') == CRONTAB

    def test_it_is_kept_when_the_firmware_is_upgraded(self, packages):
        data = contents(ipk_parts(packages[rb.__version__]['ipk'])[1])
        assert data['./lib/upgrade/keep.d/routerbench'] == b'/etc/routerbench/\n'
        assert b"option baseline '/etc/routerbench/" in data['./etc/config/routerbench']


class Firewall(System):
    """FreeBSD, pfSense or OPNsense, with one versioned Python, and pkg with the order of the real one."""

    PLACES = ('usr/local/etc/cron.d/routerbench', 'etc/cron.d/routerbench')

    def __init__(self, top, packages, real, configd=False, python='python3.11'):
        System.__init__(self, top, 'dash', real)
        self.packages, self.manifest = packages, {}
        os.makedirs(self.path('usr/local/etc/cron.d'))
        os.makedirs(self.path('etc/cron.d'))
        self.write('usr/local/etc/cron.d/mine', '0 4 * * * root /root/mine.sh\n')
        self.write('site/sitecustomize.py', FREEBSD)
        self.write('usr/local/bin/' + python, PYTHON, 0o755)
        self.write('usr/bin/service', '#!/bin/sh\necho "$*" >>/tmp/service\n', 0o755)
        if configd:
            self.write('usr/local/etc/rc.d/configd', '#!/bin/sh\n', 0o755)

    def lines(self):
        """The marked lines of cron's files."""
        assert self.read('usr/local/etc/cron.d/mine') == '0 4 * * * root /root/mine.sh\n'
        return [line for name in self.PLACES if self.there(name)
                for line in self.read(name).splitlines() if line.endswith(MARK)]

    def lay(self, version):
        archive = members(lzma.decompress(self.packages[version]['pkg']))
        self.manifest = json.loads(archive[1][1].decode())
        self.unpack(archive[2:])
        if not self.real:
            self.write('usr/local/bin/routerbench', SCHEDULE.replace('TAB', '/usr/local/etc/cron.d/routerbench').replace('USER', 'root '), 0o755)

    def pkg_script(self, when, **environment):
        kind = 'deinstall' if when.endswith('DEINSTALL') else 'install'
        return self.script(self.manifest['scripts'][kind], 'routerbench-' + self.manifest['version'], when, PKG_PREFIX='/usr/local', **environment)

    def install(self):
        self.lay(rb.__version__)
        self.pkg_script('PRE-INSTALL')
        return self.pkg_script('POST-INSTALL')

    def upgrade(self):
        """The new one's pre-install, its files, the old one's deinstall, the new one's post-install."""
        old = self.manifest
        self.lay(NEXT)
        new, upgrade = self.manifest, {'PKG_UPGRADE': 'true'}
        said = self.pkg_script('PRE-INSTALL', **upgrade)
        self.manifest = old
        said += self.pkg_script('DEINSTALL', **upgrade) + self.pkg_script('POST-DEINSTALL', **upgrade)
        self.manifest = new
        return said + self.pkg_script('POST-INSTALL', **upgrade)

    def remove(self):
        said = self.pkg_script('DEINSTALL')
        for name in self.manifest['files']:
            os.remove(self.path(name))
        return said + self.pkg_script('POST-DEINSTALL')


@pytest.fixture
def firewall(tmp_path, packages):
    def made(real=False, **options):
        if real and not has_schedule():
            pytest.skip('the agent has no schedule')
        return Firewall(tmp_path / 'root', packages, real, **options)
    return made


class TestLifeOnFreebsd:
    @AGENTS
    def test_from_install_to_removal(self, firewall, real):
        """Nothing runs at night until that is asked for; then one line, which an upgrade leaves as it was changed."""
        box = firewall(real)
        assert 'routerbench schedule install' in box.install()
        assert box.lines() == []
        for _ in range(2):
            box.run('/usr/local/bin/routerbench', 'schedule', 'install', '--at', '03:17')
            assert len(box.lines()) == 1
        place = next(name for name in box.PLACES if box.there(name))
        mine = box.read(place).replace('17 3', '5 2')
        box.write(place, mine)
        assert 'schedule install' not in box.upgrade()
        assert 'schedule install' not in box.pkg_script('POST-INSTALL')  # `pkg add -f` of another version
        assert box.read(place) == mine and len(box.lines()) == 1
        box.remove()
        assert box.lines() == [] and not any(box.there(name) for name in box.PLACES)
        assert not box.there('tmp/service')

    def test_configd_learns_of_its_actions(self, firewall):
        box = firewall(configd=True)
        box.install()
        assert box.read('tmp/service') == 'configd restart\n'
        box.upgrade()
        assert box.read('tmp/service') == 'configd restart\n' * 2
        box.remove()
        assert box.read('tmp/service') == 'configd restart\n' * 3

    @pytest.mark.parametrize('place', Firewall.PLACES)
    def test_the_line_goes_even_where_python_is_gone(self, firewall, place):
        box = firewall(True) if has_schedule() else firewall()
        box.install()
        box.lay(rb.__version__)
        box.write('usr/local/bin/routerbench', '#!/bin/sh\nexit 127\n', 0o755)
        box.write(place, '# mine\n1 2 * * * root x %s\n' % MARK)
        box.remove()
        assert box.read(place) == '# mine\n'

    def test_in_a_mounted_image_nothing_runs(self, firewall):
        box = firewall()
        box.install()
        os.remove(box.path('usr/local/bin/routerbench'))
        box.write('mnt/usr/local/etc/cron.d/routerbench', '1 2 * * * root x %s\n' % MARK)
        box.write('usr/local/etc/cron.d/routerbench', '1 2 * * * root x %s\n' % MARK)
        assert box.pkg_script('POST-INSTALL', PKG_ROOTDIR='/mnt') == ''
        box.pkg_script('DEINSTALL', PKG_ROOTDIR='/mnt')
        assert not box.there('mnt/usr/local/etc/cron.d/routerbench') and len(box.lines()) == 1

    def test_the_agent_runs_where_only_a_versioned_python_is(self, packages, tmp_path):
        box = Firewall(tmp_path / 'root', packages, True)
        box.lay(rb.__version__)
        assert not box.there('usr/local/bin/python3')
        assert box.run('/usr/local/bin/routerbench', '--version') == 'routerbench %s\n' % rb.__version__
        assert box.run('/bin/sh', '-c', 'cd /tmp && routerbench --version', code=127)  # cron's PATH has no /usr/local/bin

    def test_the_newest_python_is_taken(self, packages, tmp_path):
        box = Firewall(tmp_path / 'root', packages, True, python='python3.6')
        box.lay(rb.__version__)
        said = box.run('/usr/local/bin/routerbench', code=127)
        assert 'no Python' in said and 'pkg install python3' in said
        for name in ('python3.9', 'python3.13', 'python3.11'):
            box.write('usr/local/bin/' + name, '#!/bin/sh\necho "${0##*/} $ROUTERBENCH_COMMAND"; for word; do echo "<$word>"; done\n', 0o755)
        assert box.run('/usr/local/bin/routerbench', 'a b', '').splitlines() == [
            'python3.13 /usr/local/bin/routerbench', '</usr/local/libexec/routerbench/routerbench.py>', '<a b>', '<>']
