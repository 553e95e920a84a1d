"""Makes the agent's one file: build/proctor-agent.pyz, its SHA-256 beside it, and a tarball with the installer.

Reproducible: names sorted, one fixed date, one fixed mode, no compression level that varies. Nothing is fetched: the
agent is standard library only.
"""

import argparse
import gzip
import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_DATE = (2020, 1, 1, 0, 0, 0)
_MTIME = 1_577_836_800
_SHEBANG = b"#!/usr/bin/env python3\n"
# Runs on any Python, so that an old one is told instead of failing on the first new word.
_MAIN = """import sys

if sys.version_info < (3, 10):
    sys.stderr.write("proctor-agent: Python 3.10 or later is needed, this is %s\\n" % sys.version.split()[0])
    sys.exit(78)
from proctor_agent.__main__ import main

sys.exit(main())
"""
_PARTS = {
    "proctor-agent.pyz": 0o755,
    "proctor-agent.pyz.sha256": 0o644,
    "proctor-agent.service": 0o644,
    "install-agent.sh": 0o755,
    "accounting.sh": 0o755,
    "rollout.sh": 0o755,
}


def sources() -> Iterator[tuple[str, bytes]]:
    """Every module of the bundle, by its name in it. The packages above the protocol are empty there."""
    yield "__main__.py", _MAIN.encode("ascii")
    yield "proctor/__init__.py", b""
    yield "proctor/domain/__init__.py", b""
    trees = (
        (_ROOT / "agent", _ROOT / "agent" / "proctor_agent"),
        (
            _ROOT / "layers" / "proctor",
            _ROOT / "layers" / "proctor" / "proctor" / "domain" / "agent_protocol",
        ),
    )
    for base, tree in trees:
        for path in sorted(tree.rglob("*.py")):
            yield path.relative_to(base).as_posix(), path.read_bytes()


def zipapp() -> bytes:
    """The bundle."""
    buffer = io.BytesIO()
    buffer.write(_SHEBANG)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(sources()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def tarball(folder: Path) -> bytes:
    """What goes into the lifecycle bucket: the bundle, its hash, the unit, the scripts."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, mode in sorted(_PARTS.items()):
            content = _part(folder, name)
            entry = tarfile.TarInfo(f"proctor-agent/{name}")
            entry.size, entry.mode, entry.mtime = len(content), mode, _MTIME
            archive.addfile(entry, io.BytesIO(content))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as stream:
        stream.write(plain.getvalue())
    return packed.getvalue()


def _part(folder: Path, name: str) -> bytes:
    for place in (folder, _ROOT / "agent", _ROOT / "lifecycle"):
        if (place / name).exists():
            return (place / name).read_bytes()
    raise FileNotFoundError(name)


def main() -> int:
    """Write the files and print the hash."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=_ROOT / "agent" / "build")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    bundle = zipapp()
    digest = hashlib.sha256(bundle).hexdigest()
    (folder / "proctor-agent.pyz").write_bytes(bundle)
    (folder / "proctor-agent.pyz").chmod(0o755)
    (folder / "proctor-agent.pyz.sha256").write_text(f"{digest}  proctor-agent.pyz\n", encoding="ascii")
    (folder / "proctor-agent.tar.gz").write_bytes(tarball(folder))
    sys.stdout.write(f"{folder / 'proctor-agent.pyz'} {len(bundle)} bytes sha256={digest}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
