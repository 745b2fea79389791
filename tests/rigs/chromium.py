"""Headless Chromium with a fake microphone, driven over its DevTools protocol."""

import asyncio
import base64
import json
import shutil
import subprocess
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rigs.waiting import PATIENCE_S, eventually
from websockets.asyncio.client import connect

_FLAGS = [
    "--headless=new",
    "--no-sandbox",  # Chromium refuses to run as root with one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--mute-audio",
    "--remote-debugging-port=0",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]
_KEYS = {"Tab": 9, "Enter": 13, " ": 32}
_PAUSE_S = 0.02


@contextmanager
def chromium(microphone):
    """Yield the DevTools address of a browser; skips the test where there is none.

    microphone: the file that it hears, over and over.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome") or pytest.skip("needs chromium")
    with TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as folder:
        flags = [*_FLAGS, f"--use-file-for-fake-audio-capture={microphone}", f"--user-data-dir={folder}"]
        with Path(folder, "output").open("w") as output:
            process = subprocess.Popen([program, *flags], stdout=output, stderr=output)
        try:
            address = Path(folder, "DevToolsActivePort")
            eventually(lambda: process.poll() is not None or _lines(address) == 2, "Chromium does not answer")
            assert process.poll() is None, Path(folder, "output").read_text()
            port, path = address.read_text().split()
            yield f"ws://127.0.0.1:{port}{path}"
        finally:
            process.terminate()
            process.wait()


def _lines(path):
    return len(path.read_text().split()) if path.exists() else 0


@asynccontextmanager
async def browser(address):
    """Yield the Browser at an address of `chromium`."""
    async with connect(address, max_size=None, ping_interval=None) as socket:
        yield Browser(socket)


class Browser:
    """The DevTools protocol: calls, and the events that come between."""

    def __init__(self, socket):
        self._socket = socket
        self._numbers = count(1)
        self._answers = {}
        self._readers = {}  # of events, by session
        self._task = asyncio.create_task(self._read())

    async def call(self, method, session=None, **params):
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params}
        await self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        return await self._answers[number]

    async def _read(self):
        async for text in self._socket:
            message = json.loads(text)
            if "id" not in message:
                self._readers.get(message.get("sessionId"), lambda *event: None)(message["method"], message["params"])
            elif not (answer := self._answers.pop(message["id"])).cancelled():
                if "error" in message:
                    answer.set_exception(AssertionError(message["error"]))
                else:
                    answer.set_result(message["result"])

    @asynccontextmanager
    async def page(self, url, width=1000):
        """Yield a page of its own profile, loaded; fails if it has logged an error."""
        context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        target = (await self.call("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = Page(self, session)
        self._readers[session] = page.read
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            await page.call(f"{domain}.enable")
        await page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
        )
        await page.call("Page.navigate", url=url)
        await page.until("document.readyState === 'complete'")
        yield page
        assert not page.faults, page.faults
        await self.call("Target.disposeBrowserContext", browserContextId=context)


class Page:
    """One page: its scripts, its keyboard, and what went over its WebSockets."""

    def __init__(self, browser, session):
        self._browser = browser
        self._session = session
        self.faults = []  # exceptions, and what the console calls errors
        self.audio = []  # binary messages by WebSocket, in order
        self.commands = []  # text messages that the page has sent
        self.choosers = asyncio.Queue()  # of files, that the page has opened
        self.urls = []  # of its WebSockets
        self.protocols = []  # that the page has offered with its WebSockets
        self._sockets = {}

    async def call(self, method, **params):
        return await self._browser.call(method, self._session, **params)

    def read(self, method, params):
        match method:
            case "Runtime.exceptionThrown":
                self.faults.append(params["exceptionDetails"])
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.faults.append(params["entry"])
            case "Network.webSocketCreated":
                self._sockets[params["requestId"]] = len(self.audio)
                self.audio.append([])
                self.urls.append(params["url"])
            case "Network.webSocketFrameSent" if params["response"]["opcode"] == 2:
                content = base64.b64decode(params["response"]["payloadData"])
                self.audio[self._sockets[params["requestId"]]].append(content)
            case "Network.webSocketFrameSent" if params["response"]["opcode"] == 1:
                self.commands.append(json.loads(params["response"]["payloadData"])["type"])
            case "Network.webSocketWillSendHandshakeRequest":
                self.protocols.append(params["request"]["headers"].get("Sec-WebSocket-Protocol", ""))
            case "Page.fileChooserOpened":
                self.choosers.put_nowait(params["backendNodeId"])

    async def run(self, script):
        """Return the value of an expression, or of what it promises."""
        done = await self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    async def until(self, script):
        """Wait until an expression is true, and return its value."""
        async with asyncio.timeout(PATIENCE_S):
            while not (found := await self.run(script)):
                await asyncio.sleep(_PAUSE_S)
        return found

    async def press(self, key):
        text = {"Enter": "\r", " ": " "}.get(key, "")
        named = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": _KEYS[key]}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    async def prefer(self, scheme):
        """Prefer the light or the dark colour scheme."""
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def roles(self):
        """Return the role and name of each node of the accessibility tree that has both."""
        nodes = (await self.call("Accessibility.getFullAXTree"))["nodes"]
        pairs = {(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes if not node["ignored"]}
        return {(role, name) for role, name in pairs if name}

    async def choose(self, path):
        """Choose a file, by mouse."""
        found = await self.call("Runtime.evaluate", expression="document.querySelector('input[type=file]')")
        await self.call("DOM.setFileInputFiles", objectId=found["result"]["objectId"], files=[str(path)])

    async def choose_by_key(self, key, path):
        """Choose a file in the dialog that `key` opens."""
        await self.call("Page.setInterceptFileChooserDialog", enabled=True)
        await self.press(key)
        async with asyncio.timeout(PATIENCE_S):
            node = await self.choosers.get()
        await self.call("DOM.setFileInputFiles", backendNodeId=node, files=[str(path)])
