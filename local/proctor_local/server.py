"""The web server of the local AWS: MiniStack and the control calls on one loopback socket."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any

from proctor_local.control_api import PREFIX, ControlApi
from proctor_local.stack import LocalAws

_END_SECONDS = 2.0


class Server:
    """Serves until a signal comes or ``stop`` is called."""

    def __init__(self, aws: LocalAws, listener: socket.socket, on_ready: Callable[[], None]) -> None:
        self._aws, self._listener, self._on_ready = aws, listener, on_ready
        self._control = ControlApi(aws)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._is_unwanted = False

    def run(self) -> None:
        """Serve. Returns after a stop, when the last answers are out (at most two seconds)."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Ask the server to end; safe from any thread, and before it serves."""
        self._is_unwanted = True
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self) -> None:
        serve = import_module("hypercorn.asyncio").serve
        config = import_module("hypercorn.config").Config()
        config.bind = [f"fd://{os.dup(self._listener.fileno())}"]
        config.keep_alive_timeout = 75
        config.graceful_timeout = 1.0
        config.shutdown_timeout = 3.0
        config.errorlog = logging.getLogger("proctor.server")
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._stopping.set)
        if self._is_unwanted:
            return
        serving = asyncio.ensure_future(serve(self._app, config, shutdown_trigger=self._stopping.wait))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        # A receiver that waits for a message would hold the end up for as long as it waits: 20 s.
        await asyncio.wait({serving}, timeout=_END_SECONDS)
        for task in (stopping, serving):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving

    async def _app(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            await self._answer_control(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._aws.app(scope, receive, self._noting_start(send))
        else:
            await self._aws.app(scope, receive, send)

    def _noting_start(self, send: Any) -> Any:
        async def note(message: dict[str, Any]) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                self._tell_ready()

        return note

    def _tell_ready(self) -> None:
        try:
            self._on_ready()
        except OSError:  # nobody is there any more to be told
            self.stop()

    async def _answer_control(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        status, answer = await asyncio.to_thread(self._control.handle, scope["method"], scope["path"], body)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
