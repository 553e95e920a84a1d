"""Function workers: shared unpacked code, the role's own unique id, and metrics that functions print.

MiniStack unpacks code and layers anew for every worker; a layer of tens of megabytes makes each cold start
slow and fills the disk. Here each archive is unpacked once and linked.
"""

# ruff: noqa: ARG002, FBT001, SLF001  (signatures of others; reaching private names is what this package is for)

import hashlib
import json
import shutil
import threading
import zipfile
from pathlib import Path
from typing import Any

from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.hooks import Hooks
from proctor_local.problems import Problems


class Workers:
    """Wraps how workers are made and what is done with their output."""

    def __init__(
        self, hooks: Hooks, authorisation: Authorisation, problems: Problems, workspace: Path
    ) -> None:
        self._stack, self._workspace = hooks.ministack, workspace
        self._authorisation, self._problems = authorisation, problems
        self._stack.lambda_runtime.zipfile = _SharedArchives(workspace / "unpacked")
        self._wrap_credentials()
        self._wrap_logs()

    def shown(self) -> dict[str, Any]:
        """The pids of the running workers, by function too, and the folder of all files of this local AWS."""
        running: dict[str, list[int]] = {}
        for key, pool in list(self._stack.lambda_runtime._workers.items()):
            processes = [worker._proc for worker in list(pool) if worker._proc is not None]
            function = str(key).split(":")[-2]
            running.setdefault(function, []).extend(p.pid for p in processes if p.poll() is None)
        return {
            "pids": [pid for pids in running.values() for pid in pids],
            "functions": running,
            "workspace": str(self._workspace),
        }

    def _wrap_credentials(self) -> None:
        """The session's UserId begins with the role's unique id (``AROA...``), as STS and SQS show it."""
        original = self._stack.lambda_runtime.execution_credentials

        def credentials(config: Any) -> Any:
            found = original(config)
            session = self._stack.sts._sessions.get(found["AWS_ACCESS_KEY_ID"])
            if session is not None:
                role = str(config.get("Role", ""))
                session["UserId"] = f"{self._stack.sts._role_id(role)}:{session['UserId'].partition(':')[2]}"
            return found

        self._stack.lambda_runtime.execution_credentials = credentials

    def _wrap_logs(self) -> None:
        original = self._stack.lambda_svc._emit_lambda_logs

        def emit(
            function: Any, request_id: str, text: str, error: bool, duration_ms: int, **keywords: Any
        ) -> None:
            if not self._may_log(function):
                return
            original(function, request_id, text, error, duration_ms, **keywords)
            for line in (text or "").splitlines():
                if '"_aws"' in line:
                    self._publish(line)

        self._stack.lambda_svc._emit_lambda_logs = emit

    def _may_log(self, function: Any) -> bool:
        """Lambda writes a function's lines, its embedded metrics included, under the function's role."""
        config = function.get("config") or function
        name = config.get("FunctionName", "")
        group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{name}"
        place = f"{self._stack.current_region()}:{self._stack.current_account()}"
        stream = f"arn:aws:logs:{place}:log-group:{group}:log-stream:{name}"
        for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
            if not self._authorisation.is_allowed(str(config.get("Role", "")), "logs", action, stream):
                self._problems.report("function log", group, f"{config.get('Role')} may not {action}")
                return False
        return True

    def _publish(self, line: str) -> None:
        """Take the metrics out of an embedded-metric-format line, as CloudWatch Logs does."""
        try:
            document = json.loads(line)
        except ValueError:
            return
        metadata = document.get("_aws") if isinstance(document, dict) else None
        for directive in (metadata or {}).get("CloudWatchMetrics") or ():
            for names in directive.get("Dimensions") or [[]]:
                dimensions = {name: str(document[name]) for name in names if name in document}
                for metric in directive.get("Metrics") or ():
                    values = document.get(metric.get("Name"))
                    for value in values if isinstance(values, list) else [values]:
                        self._record(directive.get("Namespace", ""), metric, dimensions, value)

    def _record(self, namespace: str, metric: Any, dimensions: dict[str, str], value: Any) -> None:
        if isinstance(value, int | float):
            self._stack.cloudwatch.record_metric(
                namespace, metric["Name"], value, metric.get("Unit", "None"), dimensions
            )


class _SharedArchives:
    """Stands in for the ``zipfile`` module.

    ``extractall`` links to one shared copy of the archive's content.
    """

    BadZipFile = zipfile.BadZipFile
    LargeZipFile = zipfile.LargeZipFile
    LargeFileError = zipfile.LargeZipFile

    def __init__(self, store: Path) -> None:
        self._store = store
        self._lock = threading.Lock()

    def ZipFile(self, path: str, *arguments: Any, **keywords: Any) -> "_LinkedArchive":  # noqa: N802
        """As ``zipfile.ZipFile``."""
        return _LinkedArchive(path, self._unpacked, *arguments, **keywords)

    def _unpacked(self, archive: zipfile.ZipFile, path: str) -> Path:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:32]
        target = self._store / digest
        with self._lock:
            if not target.is_dir():
                fresh = self._store / f"{digest}.new"
                shutil.rmtree(fresh, ignore_errors=True)
                zipfile.ZipFile.extractall(archive, fresh)
                fresh.rename(target)
        return target


class _LinkedArchive(zipfile.ZipFile):
    def __init__(self, path: str, unpacked: Any, *arguments: Any, **keywords: Any) -> None:
        super().__init__(path, *arguments, **keywords)
        self._path, self._unpacked = path, unpacked

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        target = self._unpacked(self, self._path)
        Path(path).rmdir()
        Path(path).symlink_to(target)
        if self.fp is not None and self._path.endswith(".zip"):
            Path(self._path).unlink(missing_ok=True)
