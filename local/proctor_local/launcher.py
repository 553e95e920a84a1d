"""Starts the local AWS: ``.emulator/bin/python -m proctor_local.launcher [--port N]``.

Prints one JSON line when it is ready. Ends on Ctrl-C, SIGTERM, or (with ``--lifeline``) when its standard
input closes, which is how it follows a parent that crashed. Whatever ends it, no process and no file stays:
see ``janitor``.
"""

import argparse
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor_local.server import Server

ACCOUNT, REGION = "123456789012", "eu-west-1"
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TERM")


def main(arguments: list[str] | None = None) -> int:
    """Run until told to end; 0 after an orderly end."""
    options = _parse(arguments)
    began = time.monotonic()
    sys.dont_write_bytecode = False  # compiled once, MiniStack starts in a third of the time
    try:
        listener = socket.create_server(("127.0.0.1", options.port), backlog=256)
    except OSError as error:
        print(
            f"port {options.port} on 127.0.0.1 can't be used ({error.strerror}): give another, or 0 for a free one",
            file=sys.stderr,
        )
        return 1
    port = listener.getsockname()[1]
    workspace = Path(tempfile.mkdtemp(prefix="proctor-local-aws-")).resolve()
    janitor = _start_janitor(workspace)
    try:
        _set_environment(os.environ, port, workspace, options)
        _serve(listener, workspace, options, began)
    finally:
        listener.close()
        if janitor.stdin is not None:
            janitor.stdin.close()
        janitor.wait(timeout=10)
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proctor_local.launcher", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 (default) takes a free one")
    parser.add_argument("--account", default=ACCOUNT)
    parser.add_argument("--region", default=REGION)
    parser.add_argument("--log-level", default="WARNING", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    parser.add_argument("--lifeline", action="store_true", help="end when standard input closes")
    return parser.parse_args(arguments)


def _start_janitor(workspace: Path) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("janitor.py")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(script), str(workspace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )


def _set_environment(
    environ: "os._Environ[str]", port: int, workspace: Path, options: argparse.Namespace
) -> None:
    """Leave only what MiniStack and the functions may see.

    No proxy, no credentials, no Python path of ours.
    """
    kept = {name: environ[name] for name in _KEPT if name in environ}
    environ.clear()
    environ.update(kept)
    environ.update(_settings(port, workspace, options))
    tempfile.tempdir = str(workspace)


def _settings(port: int, workspace: Path, options: argparse.Namespace) -> Mapping[str, str]:
    return {
        "TMPDIR": str(workspace),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "localhost",
        "MINISTACK_ACCOUNT_ID": options.account,
        "MINISTACK_REGION": options.region,
        "AUTH": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "PERSIST_STATE": "0",
        "S3_DATA_DIR": str(workspace / "s3"),
        "STATE_DIR": str(workspace / "state"),
        "DOCKER_HOST": f"unix://{workspace}/no-docker.sock",
        "LOG_LEVEL": options.log_level,
    }


def _serve(listener: socket.socket, workspace: Path, options: argparse.Namespace, began: float) -> None:
    # Only now: MiniStack reads the environment when it is imported.
    aws = import_module("proctor_local.stack").LocalAws(options.account, options.region, workspace)
    server = import_module("proctor_local.server").Server(
        aws, listener, lambda: _announce(listener, options, began)
    )
    if options.lifeline:
        threading.Thread(target=_follow_parent, args=(server,), name="proctor-lifeline", daemon=True).start()
    threading.Thread(target=_warm_translator, name="proctor-warm-up", daemon=True).start()
    try:
        server.run()
    finally:
        aws.timers.stop()
        aws.hooks.reset()
        shutil.rmtree(workspace, ignore_errors=True)


def _announce(listener: socket.socket, options: argparse.Namespace, began: float) -> None:
    endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
    line = {
        "ready": True,
        "endpoint": endpoint,
        "control": f"{endpoint}/_proctor/",
        "account": options.account,
        "region": options.region,
        "pid": os.getpid(),
        "startup_seconds": round(time.monotonic() - began, 2),
    }
    print(json.dumps(line), flush=True)


def _follow_parent(server: "Server") -> None:
    while os.read(0, 4096):
        pass
    server.stop()


def _warm_translator() -> None:
    """Import the SAM translator ahead of the first deployment, which would otherwise wait seconds for it."""
    time.sleep(0.2)
    logging.getLogger("samtranslator").setLevel(logging.ERROR)
    try:
        import_module("samtranslator.translator.translator")
    except ImportError:
        logging.getLogger("proctor.launcher").warning(
            "aws-sam-translator is not installed: templates with a SAM transform can't be deployed"
        )


if __name__ == "__main__":
    sys.exit(main())
