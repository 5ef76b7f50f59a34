"""The README's reference tables, made from the agent: `python3 tests/readme.py` writes them anew."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import routerbench as rb  # noqa: E402

README = os.path.join(os.path.dirname(HERE), 'README.md')


def table(head, rows):
    """A Markdown table of two columns."""
    cells = ['| %s | %s |' % (left, right.replace('|', '\\|')) for left, right in rows]
    return '\n'.join(['| %s | %s |' % head, '| --- | --- |'] + cells)


def code(words):
    """Rows with the first column in code."""
    return [('`%s`' % key, text) for key, text in words.items()]


def tables():
    """Every generated part by its mark."""
    return {
        'fields': table(('key', 'meaning'), code(rb.FIELDS)),
        **{'extra-' + test: table(('key', 'meaning'), code(keys)) for test, keys in rb.EXTRA.items()},
        'warnings': table(('code', 'meaning'), code(rb.WARNINGS)),
        'reasons': table(('code', 'meaning'), code(rb.REASONS)),
        'exits': table(('status', 'meaning'), code({str(status): text for status, text in rb.EXITS.items()})),
    }


def part(mark):
    """Matches the text between a mark's two comments."""
    return re.compile(r'(<!-- %s -->\n).*?(<!-- /%s -->)' % (mark, mark), re.S)


def renewed(text):
    """The README with every table as the agent has it now."""
    for mark, made in tables().items():
        text = part(mark).sub(lambda match: match.group(1) + made + '\n' + match.group(2), text)
    return text


if __name__ == '__main__':
    with open(README, encoding='utf-8') as file:
        old = file.read()
    with open(README, 'w', encoding='utf-8') as file:
        file.write(renewed(old))
