"""Who this agent is: its key, made once and readable by root alone, and the number of this start."""

import os
import secrets

from proctor.domain.agent_protocol import Header
from proctor.domain.agent_protocol.names import KEY_HEX
from proctor_agent.clock import Clock
from proctor_agent.errors import AgentError
from proctor_agent.settings import AgentSettings
from proctor_agent.state.files import StateFiles


class Identity:
    """Key, boot id and message numbers of one run of the agent."""

    def __init__(self, settings: AgentSettings, files: StateFiles, clock: Clock) -> None:
        """Load or make the key; choose a boot id later than the last one, also when the clock went back."""
        self._settings = settings
        self._files = files
        stored = files.read("identity.json") or {}
        key_hex = stored.get("key_hex")
        self._is_enrolled = bool(stored.get("is_enrolled"))
        if not isinstance(key_hex, str) or not KEY_HEX.fullmatch(key_hex):
            key_hex, self._is_enrolled = secrets.token_hex(32), False
        started_ms = int(clock.now().timestamp() * 1000)
        last_ms = stored.get("boot_ms")
        if isinstance(last_ms, int):
            started_ms = max(started_ms, last_ms + 1)
        self._boot_ms = started_ms
        self._key_hex = key_hex
        self.boot_id = f"{started_ms:013d}-{os.urandom(4).hex()}"
        self._sequence = 0
        if not self._save() and not stored:
            raise AgentError(f"{files.directory}: the new key can't be stored; make room and start again")

    @property
    def key(self) -> bytes:
        """The secret of the HMAC."""
        return bytes.fromhex(self._key_hex)

    @property
    def is_enrolled(self) -> bool:
        """Whether the enrolment was handed to the queue."""
        return self._is_enrolled

    def mark_enrolled(self) -> None:
        """Remember that the enrolment was sent."""
        self._is_enrolled = True
        self._save()

    def next_header(self) -> Header:
        """Header of the next message."""
        self._sequence += 1
        chosen = self._settings
        return Header(
            cluster=chosen.cluster,
            role=chosen.role,
            node=chosen.node,
            instance_id=chosen.instance_id,
            boot_id=self.boot_id,
            sequence=self._sequence,
        )

    def _save(self) -> bool:
        value = {"key_hex": self._key_hex, "is_enrolled": self._is_enrolled, "boot_ms": self._boot_ms}
        return self._files.write("identity.json", value)
