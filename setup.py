"""Build and install routerbench: one module, and the command `routerbench`."""

import os
import re

from setuptools import setup
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
BESIDE = ('opkg', 'freebsd', 'tests', '.ci')  # what a source release holds besides the module


def text_of(name):
    """A file that lies beside this one, or nothing where it is missing."""
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return ''
    with open(path, encoding='utf-8') as stream:
        return stream.read()


def version():
    """The version that the agent states, read and not imported."""
    return re.search(r"^__version__ = '([^']+)'$", text_of('routerbench.py'), re.MULTILINE).group(1)


def files_below(top):
    """Every file under a directory of this one, without what Python leaves there."""
    for path, directories, names in os.walk(top):
        directories[:] = sorted(name for name in directories if name != '__pycache__' and not name.endswith('_cache'))
        for name in sorted(names):
            if not name.endswith('.pyc'):
                yield os.path.join(path, name)


class SourceRelease(sdist):
    """An sdist that also holds the packaging, the suite and the licence, without a MANIFEST.in."""

    def make_release_tree(self, base_dir, files):
        """Copy `files`, and everything below `BESIDE`."""
        whole = set(files) | {'LICENSE'}
        for top in BESIDE:
            whole.update(files_below(top))
        sdist.make_release_tree(self, base_dir, sorted(whole))


setup(
    name='routerbench',
    version=version(),
    description='Measures what a router\'s processor can encrypt, and how far that number can be trusted',
    long_description=text_of('README.md'),
    long_description_content_type='text/markdown',
    author='routerbench contributors',
    license='MIT',
    py_modules=['routerbench'],
    python_requires='>=3.7',
    entry_points={'console_scripts': ['routerbench=routerbench:main']},
    cmdclass={'sdist': SourceRelease},
    keywords='router benchmark vpn openvpn aes openwrt pfsense opnsense',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Environment :: Console',
        'Intended Audience :: System Administrators',
        'Operating System :: POSIX :: BSD :: FreeBSD',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3 :: Only',
        'Topic :: System :: Benchmark',
        'Topic :: System :: Networking',
        'Topic :: Security :: Cryptography',
    ],
)
