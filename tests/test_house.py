"""The house around the agent: what is in the repository, the build, the CI script, and
that the agent runs with what OpenWrt's python3-light has."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

import routerbench as rb

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = {'.ci', '.gitignore', 'LICENSE', 'README.md', 'freebsd', 'opkg', 'routerbench.py', 'setup.py', 'tests'}
BESIDE = ('.ci', 'freebsd', 'opkg', 'tests')  # what an sdist holds besides the module
MODULE_BUDGET = 85

# Put together here, or this file would be the one that has them. A system's own home page, which
# stands in its os-release, is no registry.
NOT_FOR_THE_PUBLIC = [
    r'py' r'pi\.org', r'py' r'pi\.python' r'\.org', r'python' r'hosted\.org', r'npm' r'js\.(org|com)',
    r'\b(?!www\.)[a-z0-9-]+\.debian' r'\.org', r'\b(archive|ports|security)\.ubuntu' r'\.com',
    r'(?<![\w.])/' r'work\b', r'\bshared' r'/(captures|design|documents|facts|lab|packaging|reports|style)\b']

LIGHT = '''
import sys
sys.dont_write_bytecode = True
sys.path[:0] = %r
import light
light.block()
''' % [ROOT, os.path.join(ROOT, 'tests', 'lab')]


def run(arguments, code=0, **options):
    """Run a program; stdout, after a check of the exit status that shows what was said."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=600, **options)
    out, err = done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')
    assert done.returncode == code, '%s\n%s\n%s' % (arguments, out, err)
    return out


def in_light(code):
    """Run code in a Python that has what python3-light has, and nothing that is installed besides."""
    return run([sys.executable, '-S', '-E', '-I', '-c', LIGHT + code])


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


def setuptools_or_skip():
    if subprocess.call([sys.executable, '-c', 'import setuptools'], stderr=subprocess.DEVNULL):
        pytest.skip('setuptools is missing')


def git_files(*options):
    """The names in git's index, or with `--others` those that could go there."""
    if not os.path.exists(os.path.join(ROOT, '.git')):
        pytest.skip('not a git checkout')
    git = [tool('git'), '-c', 'safe.directory=*', '-C', ROOT]  # root may test what someone else has checked out
    return [name for name in run(git + ['ls-files', '-z'] + list(options)).split('\0') if name]


def sources():
    """The files of the repository that are there, new ones too."""
    names = git_files() + git_files('--others', '--exclude-standard')
    return [name for name in names if os.path.isfile(os.path.join(ROOT, name))]


def files_below(top):
    """The files below a directory, relative to it; caches are left out."""
    found = set()
    for path, directories, names in os.walk(top):
        directories[:] = [name for name in directories if name != '__pycache__' and not name.endswith('_cache')]
        found.update(os.path.relpath(os.path.join(path, name), top) for name in names if not name.endswith('.pyc'))
    return found


@pytest.fixture
def copy(tmp_path):
    """A copy of the repository in which may be built."""
    place = tmp_path / 'copy'
    place.mkdir()
    for name in TOP:
        path = os.path.join(ROOT, name)
        if os.path.isdir(path):
            shutil.copytree(path, str(place / name), ignore=shutil.ignore_patterns('__pycache__', '*.pyc', '*_cache'))
        elif os.path.exists(path):
            shutil.copy2(path, str(place / name))
    return place


class TestRepository:
    def test_only_the_agreed_entries_are_at_the_top(self):
        assert {name.split('/')[0] for name in git_files()} <= TOP

    def test_nothing_points_to_a_registry_or_into_the_workshop(self):
        pattern = re.compile('|'.join(NOT_FOR_THE_PUBLIC).encode(), re.IGNORECASE)
        hits = []
        for name in sources():
            with open(os.path.join(ROOT, name), 'rb') as stream:
                hits += ['%s: %s' % (name, line) for line in stream.read().splitlines() if pattern.search(line)]
        assert not hits

    @pytest.mark.parametrize('hidden', [
        'https://py' 'pi.org/simple', 'deb.deb' 'ian.org', 'cd /' 'work/main', 'see shar' 'ed/design.md'])
    def test_what_is_not_for_the_public_is_recognised(self, hidden):
        assert re.search('|'.join(NOT_FOR_THE_PUBLIC), hidden)

    @pytest.mark.parametrize('harmless', ['https://www.deb' 'ian.org/', 'a framework/x', '/home/workshop', '/workspace'])
    def test_what_only_looks_like_it_is_not(self, harmless):
        assert not re.search('|'.join(NOT_FOR_THE_PUBLIC), harmless)

    def test_every_shell_script_can_be_parsed(self):
        seen = []
        for name in sources():
            path = os.path.join(ROOT, name)
            with open(path, 'rb') as stream:
                head = stream.read(200).decode('latin-1')
            if name.endswith('.sh') or re.match(r'#!\s*\S*[/ ](ba|da|a)?sh\b', head):
                bash = re.match('#!.*bash', head) or 'shell=bash' in head
                run([tool('bash' if bash else 'dash'), '-n', path])
                seen.append(name)
        assert '.ci/run' in seen and 'opkg/routerbench/test.sh' in seen

    @pytest.mark.parametrize('name', ['.ci/run', 'opkg/routerbench/test.sh'])
    def test_scripts_can_be_run_and_are_clean(self, name):
        path = os.path.join(ROOT, name)
        assert os.access(path, os.X_OK)
        dialect = 'bash' if name == '.ci/run' else 'dash'
        # 0.9 does not know the name "busybox" in the feed's own directive, and dash is the nearest there.
        run([tool('shellcheck'), '-s', dialect, '-e', 'SC1103', path])

    def test_the_readme_says_how_to_run_the_suite(self):
        fenced = ''.join(re.findall(r'^ *```.*?\n(.*?)^ *```', text_of('README.md'), re.MULTILINE | re.DOTALL))
        lines = re.findall(r'^ *python3 -m pytest.*', fenced, re.MULTILINE)
        assert lines and '#' not in lines[0]  # .ci/run appends an option to the first one


class TestVersion:
    def test_setup(self):
        setuptools_or_skip()
        assert run([sys.executable, 'setup.py', '--version'], cwd=ROOT).split()[-1] == rb.__version__

    def test_opkg(self):
        assert re.findall(r'^PKG_VERSION:=(.*)$', text_of('opkg', 'routerbench', 'Makefile'), re.MULTILINE) == [rb.__version__]

    def test_freebsd(self):
        assert re.findall(r'^DISTVERSION=\s*(.*)$', text_of('freebsd', 'Makefile'), re.MULTILINE) == [rb.__version__]

    def test_it_is_one_that_all_packages_order_alike(self):
        assert re.match(r'\d+\.\d+\.\d+$', rb.__version__)


class TestPython3Light:
    """OpenWrt's smallest Python that can run the agent."""

    def test_the_budget_of_modules(self):
        code = 'import sys; sys.dont_write_bytecode = True; sys.path.insert(0, %r); import routerbench; ' \
               'print(" ".join(sorted(sys.modules)))' % ROOT
        modules = run([sys.executable, '-S', '-E', '-I', '-c', code]).split()
        assert len(modules) <= MODULE_BUDGET, modules

    def test_everything_that_is_imported_anywhere_is_there(self):
        names = set()
        for node in ast.walk(ast.parse(text_of('routerbench.py'))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module)
        assert {'json', 'argparse'} <= names
        in_light('for name in %r: __import__(name)' % sorted(names))

    @pytest.mark.parametrize('words', [['--version'], ['--help'], ['info'], ['run', '--help']])
    def test_it_runs(self, words):
        out = in_light('import routerbench\nsys.exit(routerbench.main(%r))' % words)
        assert out.startswith({'--version': 'routerbench ' + rb.__version__, 'info': '{'}.get(words[0], 'usage:'))

    @pytest.mark.parametrize('name', ['statistics', 'logging', 'urllib.parse', 'ctypes', 'decimal', 'concurrent.futures'])
    def test_what_is_not_there_is_really_blocked(self, name):
        in_light('try: import %s\nexcept ImportError: pass\nelse: sys.exit("it can be imported")' % name)


class TestBuild:
    def test_an_sdist_holds_the_whole_house(self, copy):
        setuptools_or_skip()
        wanted = {'setup.py', 'README.md', 'LICENSE', 'routerbench.py'}
        for top in BESIDE:
            wanted.update(os.path.join(top, path) for path in files_below(str(copy / top)))
        run([sys.executable, 'setup.py', '-q', 'sdist', '--formats=gztar'], cwd=str(copy))
        name = 'routerbench-' + rb.__version__
        with tarfile.open(str(copy / 'dist' / (name + '.tar.gz'))) as archive:
            held = {member.name[len(name) + 1:] for member in archive if member.isfile()}
        assert wanted <= held
        assert {path for path in held - wanted if not path.startswith('routerbench.egg-info/')} <= {'PKG-INFO', 'setup.cfg'}

    @pytest.mark.lab
    def test_pip_installs_the_module_and_the_command_and_nothing_else(self, copy, tmp_path):
        place = tmp_path / 'venv'
        run([sys.executable, '-m', 'venv', str(place)])
        python = str(place / 'bin' / 'python3')
        run([python, '-m', 'pip', 'install', '-q', str(copy)])
        command = place / 'bin' / 'routerbench'
        assert run([str(command), '--version']).strip() == 'routerbench ' + rb.__version__
        assert run([str(command), 'info', '--quiet']).startswith('{')
        run([str(command), 'no-such-test'], rb.EXIT_USAGE)
        listed = run([python, '-m', 'pip', 'show', '-f', 'routerbench'])
        files = [line.strip() for line in listed.split('Files:\n')[1].splitlines()]
        assert {path for path in files if '-info/' not in path and '__pycache__' not in path} == {
            'routerbench.py', '../../../bin/routerbench'}


FAKE_PYTHON = '''#!/bin/sh
case "$*" in
--version) echo "Python 3.99.0" ;;
-c*) echo "$0" ;;
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python3" ;;
"-m pip "*) exit "$PIP" ;;
"-m mypy "*) exit "$MYPY" ;;
"-m pytest -q tests"*--last-failed*) echo "$AGAIN"; exit "$AGAIN_STATUS" ;;
"-m pytest -q tests"*) echo "asked: $*"; echo "$CLOSING"; exit "$PYTEST" ;;
esac
'''


class TestCi:
    """`.ci/run` with a Python that only speaks: whether it adds up, and fails when it has to."""

    @pytest.fixture
    def ci(self, tmp_path):
        (tmp_path / 'bin').mkdir()
        (tmp_path / 'tmp').mkdir()
        for name, text in [('python3', FAKE_PYTHON), ('apt-get', '#!/bin/sh\nexit 0\n')]:
            (tmp_path / 'bin' / name).write_text(text)
            (tmp_path / 'bin' / name).chmod(0o755)
        (tmp_path / '.ci').mkdir()
        shutil.copy(os.path.join(ROOT, '.ci', 'run'), str(tmp_path / '.ci' / 'run'))
        (tmp_path / 'README.md').write_text('python3 -m pytest is in prose here\n\n```sh\npython3 -m pytest -q tests\n```\n')

        def result(code=0, **settings):
            environment = dict(os.environ, PIP='0', MYPY='0', PYTEST='0', CLOSING='3 passed, 1 skipped in 0.12s', PYTHONS='', AGAIN='1 failed in 0.12s', AGAIN_STATUS='1',
                               TMPDIR=str(tmp_path / 'tmp'), PATH='%s:%s' % (tmp_path / 'bin', os.environ['PATH']))
            out = run([tool('bash'), str(tmp_path / '.ci' / 'run')], code, env=dict(environment, **settings))
            assert not os.listdir(str(tmp_path / 'tmp'))
            return out
        return result

    def test_green(self, ci):
        out = ci()
        assert out.endswith('\n3 passed, 0 failed\n')
        assert re.search(r'asked: -m pytest -q tests --lab -o cache_dir=\S+\n', out)

    def test_it_sums_over_all_pythons(self, ci, tmp_path):
        out = ci(PYTHONS='%s %s' % ((tmp_path / 'bin' / 'python3',) * 2))
        assert out.endswith('\n9 passed, 0 failed\n')
        assert len(re.findall(r'asked: -m pytest -q tests -o cache_dir=\S+\n', out)) == 2

    @pytest.mark.parametrize('closing, status, last', [
        ('==== 1 failed, 2 passed in 61.00s (0:01:01) ====', '1', '2 passed, 1 failed'),
        ('1 failed, 2 passed, 1 xfailed, 2 errors in 0.12s', '1', '2 passed, 1 failed'),
        ('\033[32m\033[1m4 passed\033[0m\033[32m in 0.12s\033[0m', '3', '4 passed, 1 failed'),
        ('no tests ran in 0.00s', '5', '0 passed, 1 failed'),
        ('9 skipped in 0.10s', '0', '0 passed, 1 failed'),
        ('Segmentation fault', '139', '0 passed, 1 failed'),
        ('', '0', '0 passed, 1 failed')])
    def test_pytest_is_not_content(self, ci, closing, status, last):
        assert ci(1, CLOSING=closing, PYTEST=status).splitlines()[-1] == last

    def test_what_failed_runs_once_more(self, ci):
        out = ci(CLOSING='1 failed, 2 passed in 0.12s', PYTEST='1', AGAIN='1 passed, 2 deselected in 0.12s', AGAIN_STATUS='0')
        assert out.endswith('\n3 passed, 0 failed\n') and '1 failed, 2 passed in 0.12s; what failed, again: 1 passed' in out

    @pytest.mark.parametrize('settings', [{'CLOSING': '6 failed, 2 passed in 0.12s', 'PYTEST': '1'}, {'AGAIN': '', 'AGAIN_STATUS': '0'}, {'AGAIN': 'no tests ran in 0.1s', 'AGAIN_STATUS': '5'}])
    def test_but_not_many_and_not_in_silence(self, ci, settings):
        assert not ci(1, **dict(dict(CLOSING='1 failed, 2 passed in 0.12s', PYTEST='1'), **settings)).endswith(' 0 failed\n')

    @pytest.mark.parametrize('settings, last', [
        ({'MYPY': '1'}, '3 passed, 1 failed'),
        ({'PIP': '1'}, '0 passed, 1 failed'),
        ({'PYTHONS': '/nonexistent/python3.9'}, '3 passed, 1 failed')])
    def test_another_part_fails(self, ci, settings, last):
        assert ci(1, **settings).splitlines()[-1] == last

    def test_a_readme_without_the_command(self, ci, tmp_path):
        (tmp_path / 'README.md').write_text('python3 -m pytest\n')
        assert ci(1).splitlines()[-1] == '0 passed, 1 failed'
