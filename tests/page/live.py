#!/usr/bin/env python3
"""The live page of a fleet in a real browser, while its rounds run.

    tests/page/live.py BUILD [--pictures DIR]

At 390 and 1280 pixels, light and dark: the page renews itself without being
loaded again, nothing is wider than the window, text stands out from what is
behind it (tests/page/look.js), no error is on the console, and nothing but the
server is asked for anything. The browser is steered over a pipe, so that the
page's own policy stands. --pictures keeps what was seen. 77: no chromium.
"""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.path.abspath(sys.argv[1])
PICTURES = sys.argv[3] if sys.argv[2:3] == ['--pictures'] else None


def expect(condition, words):
    if not condition:
        sys.exit(f'FAILED: {words}')


class Browser:
    """Chromium, by its DevTools protocol over file descriptors 3 and 4."""

    def __init__(self, program, folder):
        there, self.out = os.pipe()
        self.into, back = os.pipe()

        def descriptors():      # high first: 3 and 4 may be among the four
            one, two = os.dup2(there, 40), os.dup2(back, 41)
            os.dup2(one, 3)
            os.dup2(two, 4)

        self.process = subprocess.Popen(
            [program, '--headless', '--no-sandbox', '--disable-gpu',
             '--hide-scrollbars', '--remote-debugging-pipe',
             f'--user-data-dir={folder}/profile', 'about:blank'],
            preexec_fn=descriptors, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.number, self.rest, self.events = 0, b'', []
        target = self.ask('Target.createTarget', url='about:blank')['targetId']
        self.session = None
        self.session = self.ask('Target.attachToTarget', targetId=target,
                                flatten=True)['sessionId']
        for name in 'Page', 'Runtime', 'Log', 'Network':
            self.ask(name + '.enable')

    def read(self):
        while b'\0' not in self.rest:
            more = os.read(self.into, 1 << 16)
            expect(more, 'the browser is gone')
            self.rest += more
        line, self.rest = self.rest.split(b'\0', 1)
        return json.loads(line)

    def ask(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if getattr(self, 'session', None):
            message['sessionId'] = self.session
        os.write(self.out, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.read()
            if answer.get('id') == self.number:
                expect('error' not in answer, f'{method}: {answer}')
                return answer['result']
            self.events.append(answer)

    def value(self, script):
        answer = self.ask('Runtime.evaluate', expression=script,
                          awaitPromise=True, returnByValue=True)
        expect('exceptionDetails' not in answer, f'{script[:60]}: {answer}')
        return answer['result'].get('value')

    def complaints(self):
        """What was said on the console, and who else was asked."""
        self.value('0')
        found = []
        for event in self.events:
            name, about = event.get('method'), event.get('params', {})
            if name in ('Runtime.exceptionThrown', 'Runtime.consoleAPICalled'):
                found.append(json.dumps(about)[:300])
            elif name == 'Log.entryAdded':
                found.append(about['entry']['text'])
            elif name == 'Network.requestWillBeSent':
                address = about['request']['url']
                if not address.startswith(('http://127.0.0.1:', 'about:')):
                    found.append('asks ' + address)
        self.events = []
        return found

    def close(self):
        self.process.kill()
        self.process.wait()


def look(browser, address, width, scheme):
    """One way of looking at the page, until it has renewed itself."""
    what = f'{width} pixels, {scheme}'
    browser.ask('Emulation.setDeviceMetricsOverride', width=width, height=900,
                deviceScaleFactor=1, mobile=width < 500)
    browser.ask('Emulation.setEmulatedMedia', features=[
        {'name': 'prefers-color-scheme', 'value': scheme}])
    browser.ask('Page.navigate', url=address)
    ready = '''(async () => {
        for (let k = 0; k < 100 && (document.readyState !== 'complete' ||
                !document.querySelector('svg.small')); k++)
            await new Promise(go => setTimeout(go, 50));
        window.loaded = true;
        return document.querySelectorAll('svg.small').length; })()'''
    charts = browser.value(ready)
    expect(charts == 4, f'{what}: {charts} charts')
    number = "Number(/last one number (\\d+)/.exec(document.body.innerText)[1])"
    before = browser.value(number)
    with open(os.path.join(ROOT, 'tests/page/look.js'), encoding='utf-8') as file:
        script = file.read()
    browser.value("for (const box of document.querySelectorAll('details')) "
                  "box.open = true; 0")
    seen = browser.value(f'''(() => {{
        const told = new Promise(go => addEventListener('message',
            event => go(event.data)));
        {script}
        return told; }})()''').strip().split('\n')
    expect(seen == [f'looked at {width}'], f'{what}: {seen}')
    dashes = browser.value("[...document.querySelectorAll('td')].filter("
                           "cell => /^[\\u2013-]?$/.test(cell.textContent) && "
                           "!cell.querySelector('svg')).length")
    expect(dashes == 0, f'{what}: {dashes} cells say nothing')
    later = browser.value(f'''(async () => {{
        for (let k = 0; k < 160 && {number} === {before}; k++)
            await new Promise(go => setTimeout(go, 50));
        return [{number}, window.loaded]; }})()''')
    expect(later[0] > before and later[1] is True,
           f'{what}: round {before}, later {later}')
    if PICTURES:
        picture = browser.ask('Page.captureScreenshot', captureBeyondViewport=True,
                              format='png')
        with open(f'{PICTURES}/live-{width}-{scheme}.png', 'wb') as file:
            file.write(base64.b64decode(picture['data']))
    faults = browser.complaints()
    expect(not faults, f'{what}: ' + '; '.join(faults))


def policy(address):
    """What the page allows itself."""
    with urllib.request.urlopen(address, timeout=10) as answer:
        allowed = answer.headers['Content-Security-Policy']
        text = answer.read().decode()
    expect("default-src 'none'" in allowed and 'unsafe' not in allowed, allowed)
    expect('<style' not in text and ' style=' not in text and
           ' on' not in text.split('<body>')[0], 'what the policy forbids')


def main():
    program = shutil.which('chromium')
    if program is None:
        print('skipped: chromium is not there')
        return 77
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    address = f'http://127.0.0.1:{port}/'
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        demo = subprocess.Popen(
            [os.path.join(BUILD, 'pricer'), 'demo', '--rounds', '20000',
             '--port', str(port)], cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        browser = None
        try:
            for _ in range(300):
                try:
                    with urllib.request.urlopen(address, timeout=5) as answer:
                        if b'svg class="small"' in answer.read():
                            break
                except OSError:
                    pass
                expect(demo.poll() is None, 'the demo has ended')
                time.sleep(.1)
            policy(address)
            browser = Browser(program, folder)
            for width in 390, 1280:
                for scheme in 'light', 'dark':
                    look(browser, address, width, scheme)
        finally:
            if browser is not None:
                browser.close()
            demo.send_signal(signal.SIGINT)
            demo.wait(60)
    return 0


sys.exit(main())
