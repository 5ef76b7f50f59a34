"""The HTML page of `table`, in a real browser: it sorts, filters and opens, and what a device calls itself stays text."""

import base64
import html
import json
import os
import re
import shutil
import time

import pytest


from routerbench import Cell, Figure, Row, page

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:  # the plain suite runs without it; with --lab it has to be there
    webdriver = None

CHROMIUM, DRIVER = (shutil.which(name) for name in ('chromium', 'chromedriver'))
pytestmark = pytest.mark.lab


@pytest.fixture(scope='module', autouse=True)
def tools_are_there():
    if not (webdriver and CHROMIUM and DRIVER):
        (pytest.fail if os.environ.get('CI') == 'true' else pytest.skip)('selenium, chromium or its driver is missing')


COLUMNS = ('AES128', 'AES256', 'CHACHA20')
NOTES = {'estimated': 'from fewer runs', 'loopback': 'both ends on one machine'}
HOSTILE = ('<script>alert(1)</script>', '</script><img src=x onerror="alert(1)">', '"\' onmouseover=alert(1) x=\'', '<!--<script>', '@NOTES@ @DATA@',
           '\u202e\u05d0\u05d1\u05d2 router', '&lt;b&gt; &amp; \\u003c', '__proto__', '\u2028 line')


def figure(rate, spread=0.004, warnings=()):
    """A line of three runs."""
    seconds = 800 / rate
    return Figure('2024-05-01T10:00:00Z', '1a2b3c4d', rate, seconds, (seconds * (1 - spread / 2), seconds, seconds * (1 + spread / 2)), spread, warnings)


def cell(*figures):
    """The median of lines."""
    middle = sorted(figures, key=lambda one: one.mbit_s)[len(figures) // 2]
    return Cell(middle.mbit_s, middle.seconds, len(figures), figures)


def row(device, cpu='MIPS 24Kc', mhz=680.0, family='MIPS', source='', marks=(), **cells):
    """A row; without a source it was measured."""
    system, tool = ('', '') if source else ('OpenWrt 23.05.3', 'dropbear 2022.83')
    return Row(cpu, mhz, device, family, system, tool, '', source, marks, tuple(cells.items()))


WIKI = 'OpenWrt wiki, IPsec performance'
ROWS = [
    row('Netgear WNDR3700', AES128=cell(figure(28.5), figure(28.9, 0.08, ('unstable',))), AES256=cell(figure(24.6))),
    row('TP-Link TL-WDR4900', 'PPC e500v2', 800.0, 'PPC', WIKI, AES128=Cell(56.3, 14.2, 1, ()), AES256=Cell(49.4, 16.2, 1, ())),
    row('Asus WL-500g', 'MIPS R3000', 125.0, source=WIKI, AES128=Cell(4.8, 164.8, 1, ())),
    row('PC Engines APU2', 'AMD GX-412TC', None, 'x86', marks=('estimated',), AES128=cell(figure(712.0)), CHACHA20=cell(figure(1040.0, 0.02))),
    row('Linksys E8450', 'ARM Cortex-A53', 1350.0, 'ARM', AES256=cell(figure(344.0, 0.01)), CHACHA20=cell(figure(9.1, 0.03))),
]


def many(count):
    """Rows as of a table that has grown for years."""
    names = ('MIPS', 'PPC', 'ARM', 'x86', 'other')
    return [row('Router %d' % place, 'Core %d' % (place % 17), 200.0 + place % 900, names[place % 5], WIKI if place % 3 else '',
                AES128=cell(figure(5.0 + place * 7919 % 1500)), AES256=cell(figure(4.0 + place * 104729 % 1100)),
                CHACHA20=cell(figure(9.0 + place * 1299709 % 2000), figure(10.0 + place % 5))) for place in range(count)]


class Browser:
    """Chromium with one page in it."""

    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for switch in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'):
            options.add_argument(switch)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        self.driver.set_script_timeout(30)
        self.folder = folder

    def resize(self, width, height=900):
        """The window; of a phone's width, a phone's."""
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': width < 500})

    def media(self, media='', **features):
        """Print instead of the screen, the colour scheme, and the like."""
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'media': media, 'features': [
            {'name': name.replace('_', '-'), 'value': value} for name, value in features.items()]})

    def show(self, rows, address='', notes=NOTES, title='Routers', script=True, with_seconds=True):
        """Write a page, and go there anew."""
        self.driver.execute_cdp_cmd('Emulation.setScriptExecutionDisabled', {'value': not script})
        place = self.folder / 'page.html'
        place.write_text(page(title, COLUMNS, rows, notes, ['2 lines failed & were left out.'], with_seconds), encoding='utf-8')
        self.driver.get('about:blank')
        for kind in ('browser', 'performance'):
            self.driver.get_log(kind)
        self.driver.get(place.as_uri() + address)
        return self

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        """The first element."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def names(self):
        """The devices as they are seen, from above."""
        return self.run("return [...document.querySelectorAll('#rows tr:not([hidden]) bdi')].map(name => name.textContent)")

    def column(self, title):
        """What is seen in a column."""
        return self.run("""const place = [...document.querySelectorAll('#table thead button')].findIndex(button => button.textContent === arguments[0]);
                           return [...document.querySelectorAll('#rows tr:not([hidden])')].map(line => line.cells[place].textContent)""", title)

    def head(self, title):
        """The button in a column's head."""
        return next(button for button in self.driver.find_elements(By.CSS_SELECTOR, '#table thead button') if button.get_attribute('textContent') == title)

    def device(self, name):
        """A device's button."""
        return next(button for button in self.driver.find_elements(By.CSS_SELECTOR, '#rows button') if button.get_attribute('textContent') == name)

    def type(self, text):
        """Filter by these words instead."""
        field = self.find('[name=words]')
        field.clear()
        field.send_keys(text)

    def frame(self, script):
        """The milliseconds that a script takes until what it changed is laid out and painted."""
        return self.driver.execute_async_script('const done = arguments[0], start = performance.now(); %s; '
                                                'requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)))' % script)

    def until(self, script, expected, seconds=3.0):
        """Wait for a value, which some changes take a moment for."""
        end = time.monotonic() + seconds
        while self.run(script) != expected and time.monotonic() < end:
            time.sleep(0.02)
        assert self.run(script) == expected

    def faults(self):
        """What the console was told, and what was asked of any network."""
        asked = [json.loads(entry['message'])['message'] for entry in self.driver.get_log('performance')]
        urls = [one['params']['request']['url'] for one in asked if one['method'] == 'Network.requestWillBeSent']
        return [entry['message'] for entry in self.driver.get_log('browser')] + [url[:80] for url in urls if not url.startswith(('file:', 'data:', 'about:'))]


@pytest.fixture(scope='module')
def chromium(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp('page'))
    yield made
    made.driver.quit()


@pytest.fixture
def browser(chromium):
    """A desktop's window; afterwards nothing was complained about and no request has left."""
    chromium.resize(1280)
    chromium.media(prefers_color_scheme='light', prefers_reduced_motion='reduce')  # what slides in is not yet there to be read
    yield chromium
    assert chromium.faults() == []
    chromium.media()


FIT = 'return document.documentElement.scrollWidth - innerWidth'
TITLES = ['CPU', 'MHz', 'tested device', 'AES128 (s)', 'AES128 (MBit/s)', 'AES256 (s)', 'AES256 (MBit/s)', 'CHACHA20 (MBit/s)', 'system',
          'measured with', 'notes']


class TestStatic:
    def test_table_is_whole_without_a_script(self, browser):
        browser.show(ROWS, script=False)
        source = html.unescape(browser.driver.page_source)
        assert browser.find('#table').is_displayed() and not browser.find('#tools').is_displayed()
        heads = re.findall(r'<th scope="col"[^>]*>([^<]*)<', source)
        assert heads == TITLES
        assert [re.sub('<[^>]*>', '', one) for one in re.findall(r'<t[dh][ >].*?</t[dh]>', source[source.index('Netgear'):])[:8]] == [
            '27.7', '28.9', '32.5', '24.6', '-', 'OpenWrt 23.05.3', 'dropbear 2022.83', '2 lines, spread\u00a08.0\u00a0%']
        assert source.count('scope="row"') == len(ROWS) and source.count('class="badge">published') == 2
        assert '<a href="#note-1">1</a>' in source and 'id="note-1"' in source and 'failed & were' in source

    def test_seconds_only_where_asked_for(self):
        text = page('x', COLUMNS, ROWS, NOTES, [], False)
        assert 'AES128 (s)' not in text and 'AES128 (MBit/s)' in text

    @pytest.mark.parametrize('rows', [[], [row('bare')], [row('', '', None)], [row('still', AES128=Cell(0.0, None, 1, ()))]])
    def test_little_is_no_fault(self, browser, rows):
        browser.show(rows)
        assert len(browser.names()) == len(rows)
        assert browser.find('#count').text == ('0 rows' if not rows else '1 row')

    def test_no_code_in_attributes(self):
        text = page('x', COLUMNS, ROWS, NOTES, [], True)
        assert not re.search(r'<[^>]*\son\w+=', text) and 'innerHTML' not in text and 'http-equiv="Content-Security-Policy"' in text


class TestSort:
    @pytest.mark.parametrize('title', TITLES)
    def test_by_every_column_both_ways(self, browser, title):
        browser.show(ROWS)
        seen = {}
        for _ in range(2):
            browser.head(title).click()
            direction = browser.run("return document.querySelector('[aria-sort]').getAttribute('aria-sort')")
            assert browser.run("return [...document.querySelectorAll('[aria-sort] button')].map(button => button.textContent)") == [title]
            seen[direction] = browser.column(title)
        up, down = seen['ascending'], seen['descending']
        if title == 'notes':
            up, down = ([(re.findall(r'spread.([\d.]+)', text) or ['-'])[0] for text in cells] for cells in (up, down))
        known = [text for text in up if text != '-']
        key = float if title == 'MHz' or '(' in title or title == 'notes' else str.lower
        assert known == sorted(known, key=key) and [text for text in down if text != '-'] == sorted(known, key=key, reverse=True)
        assert up == known + ['-'] * (len(up) - len(known)) and down[len(known):] == up[len(known):]

    def test_by_keyboard(self, browser):
        browser.show(ROWS)
        browser.head('MHz').send_keys(Keys.ENTER)
        assert browser.column('MHz') == ['1350', '800', '680', '125', '-']
        browser.driver.switch_to.active_element.send_keys(Keys.SPACE)
        assert browser.column('MHz') == ['125', '680', '800', '1350', '-']
        browser.head('CPU').click()
        assert browser.run("return document.querySelectorAll('[aria-sort]').length") == 1

    def test_numbers_in_names_count(self, browser):
        browser.show([row('Archer C20'), row('Archer C7')])
        browser.head('tested device').click()
        assert browser.names() == ['Archer C7', 'Archer C20']


class TestFilter:
    @pytest.mark.parametrize('words, found', [
        ('mips 24k', ['Netgear WNDR3700']), ('WIKI', ['TP-Link TL-WDR4900', 'Asus WL-500g']), ('56.3', ['TP-Link TL-WDR4900']),
        ('dropbear x86', ['PC Engines APU2']), ('no such router', []), ('  ', [one.device for one in ROWS])])
    def test_every_word_anywhere(self, browser, words, found):
        browser.show(ROWS)
        browser.type(words)
        assert browser.names() == found
        assert browser.find('#count').text == ('5 rows' if len(found) == 5 else '%d of 5 rows' % len(found))
        assert browser.find('#count').get_attribute('aria-live') == 'polite'

    def test_chips_of_one_kind_add_up_and_kinds_narrow(self, browser):
        browser.show(ROWS)
        for value in ('PPC', 'MIPS'):
            browser.find('[value=%s]' % value).send_keys(Keys.SPACE)
        assert browser.names() == ['Netgear WNDR3700', 'TP-Link TL-WDR4900', 'Asus WL-500g']
        browser.find('[value=measured]').send_keys(Keys.SPACE)
        assert browser.names() == ['Netgear WNDR3700']
        browser.find('[type=reset]').click()
        assert len(browser.names()) == 5

    def test_enter_in_the_field_goes_nowhere(self, browser):
        browser.show(ROWS)
        browser.type('asus' + Keys.ENTER)
        assert browser.names() == ['Asus WL-500g']


class TestCharts:
    SHARES = "return [...document.querySelectorAll('td.chart')].map(cell => Number(cell.style.getPropertyValue('--share')))"

    def test_bars_are_of_the_chosen_algorithm_on_decades(self, browser):
        browser.show(ROWS)
        shares = browser.run(self.SHARES)
        assert shares[4] == 0 and shares[2] < shares[0] < shares[1] < shares[3] <= 1
        ticks = browser.run("return [...document.querySelectorAll('th.chart .axis span')].map(tick => [tick.textContent, parseFloat(tick.style.left)])")
        assert [text for text, _ in ticks] == ['1', '10', '100', '1000']
        steps = [after - before for (_, before), (_, after) in zip(ticks, ticks[1:])]
        assert max(steps) - min(steps) < 0.01
        assert abs(shares[0] * 100 - ticks[1][1] - steps[0] * 0.461) < 0.1  # log10(28.9) = 1.461
        browser.find('[name=chart]').send_keys('CHACHA20')
        assert [bool(share) for share in browser.run(self.SHARES)] == [False, False, False, True, True]

    def test_dots_by_family_with_the_numbers_as_text(self, browser):
        browser.show(ROWS)
        lines = browser.run("return [...document.querySelectorAll('#families tbody tr')].map(line => [...line.cells].slice(0, 4).map(one => one.textContent))")
        assert lines == [['MIPS', '2', '0.040', '0.038 to 0.042'], ['PPC', '1', '0.070', '0.070']]
        assert browser.run("return [...document.querySelectorAll('#families circle')].map(dot => dot.textContent)") == [
            'Netgear WNDR3700, MIPS 24Kc: 0.042 MBit/s per MHz', 'Asus WL-500g, MIPS R3000: 0.038 MBit/s per MHz',
            'TP-Link TL-WDR4900, PPC e500v2: 0.070 MBit/s per MHz']
        browser.type('asus')
        assert browser.run("return document.querySelectorAll('#families circle').length") == 1

    def test_a_dot_opens_its_device(self, browser):
        browser.show(ROWS)
        browser.run("document.querySelector('#families circle.published').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        assert browser.find('#device').text == 'Asus WL-500g'


class TestDetail:
    def test_has_every_run_and_what_speaks_against_it(self, browser):
        browser.show(ROWS)
        browser.device('Netgear WNDR3700').send_keys(Keys.ENTER)
        text = browser.find('#detail').text
        for part in ('OpenWrt 23.05.3', 'dropbear 2022.83', 'run 1a2b3c4d', '3 runs: 28.01, 28.07, 28.13 s; spread 0.4 %', 'spread 8.0 %', 'median of 2 lines',
                     'unstable: the runs lay over 5 % apart', '0.042 MBit/s per MHz'):
            assert part in text
        assert browser.run("return document.querySelectorAll('#detail circle').length") == 9
        assert browser.run("return document.querySelector('#detail').matches(':modal') && document.activeElement.id") == 'close'

    @pytest.mark.parametrize('close', [lambda browser: browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE),
                                       lambda browser: browser.find('#close').click()])
    def test_closes_and_the_focus_returns(self, browser, close):
        browser.show(ROWS)
        browser.device('PC Engines APU2').click()
        assert 'estimated: from fewer runs' in browser.find('#detail').text
        close(browser)
        assert not browser.find('#detail').is_displayed()
        assert browser.run('return document.activeElement.textContent') == 'PC Engines APU2'

    def test_of_what_was_published_says_where(self, browser):
        browser.show(ROWS)
        browser.device('Asus WL-500g').click()
        assert WIKI in browser.find('#detail').text and not browser.driver.find_elements(By.CSS_SELECTOR, '#detail figure')


class TestAddress:
    def test_keeps_what_is_seen(self, browser):
        browser.show(ROWS)
        browser.type('mips')
        browser.find('[value=MIPS]').send_keys(Keys.SPACE)
        browser.head('MHz').click()
        browser.head('MHz').click()
        browser.device('Netgear WNDR3700').click()
        browser.until("return location.hash.includes('open=Netgear')", True)
        address = browser.run('return location.hash')
        browser.show(ROWS, address)
        assert browser.names() == ['Asus WL-500g', 'Netgear WNDR3700']
        assert browser.find('#device').text == 'Netgear WNDR3700' and browser.find('[value=MIPS]').is_selected()
        assert browser.run("return document.querySelector('[aria-sort]').getAttribute('aria-sort')") == 'ascending'

    @pytest.mark.parametrize('address', ['#sort=nothing&chart=ROT13&open=nobody&family=Z80', '#%', '#note-1', '#=&&=', '#order=descending'])
    def test_nonsense_is_no_fault(self, browser, address):
        browser.show(ROWS, address)
        assert browser.names() == [one.device for one in ROWS]

    def test_a_footnote_does_not_undo_the_filter(self, browser):
        browser.show(ROWS)
        browser.type('apu2')
        browser.find('[href="#note-1"]').click()
        assert browser.names() == ['PC Engines APU2']


class TestHostile:
    @pytest.mark.parametrize('name', HOSTILE)
    def test_names_stay_text(self, browser, name):
        line = figure(5.0, warnings=(name,))._replace(run=name, time=name)
        rows = [row(name, name, 100.0, 'other', name, (name,), AES128=Cell(5.0, 160.0, 1, (line,))), row('other')]
        browser.show(rows, notes={name: name}, title=name)
        assert browser.names() == [name, 'other']
        assert browser.driver.title == ' '.join(name.split()) or name.startswith('\u2028')
        browser.device(name).click()
        assert browser.run("return document.getElementById('device').textContent") == name
        assert browser.run("return document.querySelectorAll('img, script:not([id])').length") == 2  # the page's own scripts
        assert name in browser.run("return document.getElementById('detail').textContent")

    def test_an_algorithm_may_have_any_name(self, browser, monkeypatch):
        monkeypatch.setitem(globals(), 'COLUMNS', ('AES128', '"><script>alert(1)</script>'))
        browser.show([row('one', **{COLUMNS[1]: cell(figure(5.0))})])
        browser.find('[name=chart]').send_keys('"')
        assert browser.names() == ['one']


CONTRAST = r"""
const channel = part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4;
const parse = text => { const parts = text.match(/[\d.]+/g).map(Number), unit = text.startsWith('rgb') ? 255 : 1;
                        return [...parts.slice(0, 3).map(part => part / unit), parts[3] ?? 1]; };
const luminance = colour => [.2126, .7152, .0722].reduce((sum, weight, i) => sum + weight * channel(colour[i]), 0);
function behind(node) {
  for (; node; node = node.parentElement) { const colour = parse(getComputedStyle(node).backgroundColor); if (colour[3] === 1) return colour; }
  return [1, 1, 1, 1];
}
const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || node.closest('script, svg, option') || !node.checkVisibility()) continue;
  const [light, dark] = [parse(getComputedStyle(node).color), behind(node)].map(luminance).sort((a, b) => b - a);
  found.push([(light + .05) / (dark + .05), walker.currentNode.data.trim().slice(0, 30)]);
}
return found;
"""


class TestLook:
    @pytest.mark.parametrize('scheme', ['light', 'dark'])
    @pytest.mark.parametrize('open_device', [False, True])
    def test_text_stands_out(self, browser, scheme, open_device):
        browser.media(prefers_color_scheme=scheme, prefers_reduced_motion='reduce')
        browser.show(ROWS)
        browser.find('[value=MIPS]').send_keys(Keys.SPACE)
        if open_device:
            browser.device('Netgear WNDR3700').click()
        found = browser.run(CONTRAST)
        assert len(found) > 60 and min(found)[0] >= 4.5, min(found)
        paper = browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert (max(paper) < 64) == (scheme == 'dark')

    @pytest.mark.parametrize('width', [320, 360, 768, 1024, 1280, 1920])
    @pytest.mark.parametrize('script', [True, False])
    def test_page_is_no_wider_than_the_window(self, browser, width, script):
        browser.resize(width)
        long = row('A-router-with-' + 'endless' * 12 + '-name', 'CPU' * 30, AES128=cell(figure(12345.6)))
        browser.show(ROWS + [long], script=script)
        browser.driver.execute_cdp_cmd('Emulation.setScriptExecutionDisabled', {'value': False})
        assert browser.run(FIT) <= 0
        if script:
            browser.device('Netgear WNDR3700').click()
            assert browser.run(FIT) <= 0
            assert browser.run('return document.activeElement.getBoundingClientRect().right <= innerWidth')

    def test_phone_has_cards_with_what_compares(self, browser):
        browser.resize(360)
        browser.show(ROWS)
        texts = browser.run("return [...document.querySelector('#rows tr').cells].filter(one => one.checkVisibility()).map(one => one.textContent)")
        assert texts == ['MIPS 24Kc', '680', 'Netgear WNDR3700', '28.9']
        assert browser.run("return document.querySelector('.frame').scrollWidth <= innerWidth")

    def test_heads_stay_in_sight(self, browser):
        browser.show(many(60))
        browser.run("document.querySelector('.frame').scrollTop = 600")
        frame, head = (browser.run("return document.querySelector('%s').getBoundingClientRect().top" % one) for one in ('.frame', '#table thead th'))
        assert abs(head - frame) <= 2

    def test_focus_is_seen(self, browser):
        browser.show(ROWS)
        for selector in ('[name=words]', '#table thead button', '#rows button'):
            browser.find('[name=words]').send_keys(Keys.TAB)
            browser.find(selector).send_keys(Keys.SHIFT)
            assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == 'solid'

    def test_motion_only_where_it_is_liked(self, browser):
        for liking, name in (('reduce', 'none'), ('no-preference', 'enter')):
            browser.media(prefers_reduced_motion=liking)
            browser.show(ROWS)
            browser.device('Netgear WNDR3700').click()
            assert browser.run("return getComputedStyle(document.querySelector('dialog')).animationName") == name

    def test_print_has_the_table_and_not_the_tools(self, browser):
        browser.show(many(60))
        browser.media('print')
        assert not browser.find('#tools').is_displayed()
        assert browser.run("const frame = document.querySelector('.frame'); return frame.scrollHeight <= frame.clientHeight + 1")
        assert browser.run("return getComputedStyle(document.querySelector('thead')).display") == 'table-header-group'
        printed = base64.b64decode(browser.driver.execute_cdp_cmd('Page.printToPDF', {'preferCSSPageSize': True})['data'])
        assert len(re.findall(rb'/Type\s*/Page\b', printed)) in (3, 4, 5)


class TestMany:
    LIMIT = 1000.0

    def test_two_thousand_rows_are_quick(self, browser):
        rows, took = many(2000), {}
        browser.show(rows)  # once before, so that it is not the disk that is timed
        browser.show(rows)
        took['load'] = browser.frame('') + browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        took['sort'] = browser.frame("document.querySelectorAll('#table thead button')[4].click()")
        change = "const field = document.querySelector('[name=words]'); field.value = '%s'; field.dispatchEvent(new Event('input', {bubbles: true}))"
        took['filter'] = browser.frame(change % 'core mips')
        assert len(browser.names()) == 400
        took['unfilter'] = browser.frame(change % '')
        took['open'] = browser.frame("document.querySelector('#rows button').click()")
        print(', '.join('%s %.0f ms' % pair for pair in took.items()))
        assert max(took.values()) < 2 * self.LIMIT, took  # a machine that tests share is slower than a reader's
        assert len(browser.names()) == 2000
        assert browser.run("return document.querySelectorAll('#families circle').length") < 2000
