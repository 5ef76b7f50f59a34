"""What the whole suite shares: the agent without an install, and the marks of slow checks."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def pytest_configure(config):
    config.addinivalue_line('markers', 'lab: runs older, newer or foreign systems for real; slow, needs root and apt')


def pytest_addoption(parser):
    parser.addoption('--lab', action='store_true', help='run the slow checks on real and emulated systems as well')


def pytest_collection_modifyitems(config, items):
    import pytest
    if not config.getoption('--lab'):
        for item in items:
            if 'lab' in item.keywords:
                item.add_marker(pytest.mark.skip(reason='a lab check: run pytest --lab'))
