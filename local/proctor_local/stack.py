"""The local AWS put together: MiniStack, the added services, the settings and the timers."""

from pathlib import Path
from typing import Any

from proctor_local.clock import Clock
from proctor_local.emulator import selftest
from proctor_local.emulator.alarms import Alarms
from proctor_local.emulator.authorisation import Authorisation
from proctor_local.emulator.batches import authorise_batches_as_single
from proctor_local.emulator.cloudformation import Provisioners
from proctor_local.emulator.denials import Denials
from proctor_local.emulator.encryption import Encryption
from proctor_local.emulator.events import EventDelivery, put_events_context
from proctor_local.emulator.hooks import Hooks
from proctor_local.emulator.mappings import Mappings
from proctor_local.emulator.ministack import MiniStack
from proctor_local.emulator.queues import Queues
from proctor_local.emulator.transport import assume_secure_transport
from proctor_local.emulator.workers import Workers
from proctor_local.problems import Problems
from proctor_local.services.budgets import Budgets
from proctor_local.services.cloudtrail import Trail
from proctor_local.services.hyperpod import HyperPod
from proctor_local.services.hyperpod_store import ClusterStore
from proctor_local.services.ses_suppression import Mail
from proctor_local.services.session_store import SessionStore
from proctor_local.services.ssm_parameters import ParameterEvents
from proctor_local.services.ssm_sessions import SessionManager
from proctor_local.settings import Settings
from proctor_local.throttle import Throttle
from proctor_local.timers import Timers


class LocalAws:
    """Everything that runs in the launcher's process. ``app`` is what the web server serves."""

    def __init__(self, account: str, region: str, workspace: Path) -> None:
        self.ministack = MiniStack(account, region)
        selftest.check(self.ministack)
        self.settings, self.clock, self.timers = Settings(), Clock(), Timers()
        self.problems = Problems()
        self.hooks = Hooks(self.ministack)
        assume_secure_transport(self.hooks)
        authorise_batches_as_single(self.hooks)
        self.denials = Denials(self.hooks)
        self.authorisation = Authorisation(self.hooks)
        self.authorisation.add_context("events", put_events_context)
        self.throttle = Throttle(self.settings)
        self._fix_ministack(workspace)
        self._add_services()
        for reset in (
            self.timers.clear,
            self.settings.reset,
            self.clock.reset,
            self.throttle.reset,
            self.problems.clear,
        ):
            self.hooks.on_reset(reset)
        self.hooks.on_reset(self.alarms.start)
        self.alarms.start()
        self.timers.start()

    @property
    def app(self) -> Any:
        """MiniStack's ASGI application."""
        return self.ministack.app.app

    def _fix_ministack(self, workspace: Path) -> None:
        hooks = self.hooks
        self.queues = Queues(hooks)
        self.events = EventDelivery(hooks, self.settings, self.problems)
        self.mappings = Mappings(hooks, self.authorisation, self.problems)
        self.encryption = Encryption(hooks, self.authorisation)
        self.workers = Workers(hooks, self.authorisation, self.problems, workspace)
        self.provisioners = Provisioners(hooks)
        self.alarms = Alarms(hooks, self.problems, self.timers)

    def _add_services(self) -> None:
        hooks = self.hooks
        self.clusters = ClusterStore(self.clock)
        hooks.on_reset(self.clusters.reset)
        hyperpod = HyperPod(self.clusters, self.timers)
        hooks.add_service("sagemaker", "SageMaker", "sagemaker", self.throttle.limited(hyperpod.actions()))
        self.sessions = SessionStore(self.settings, self.clock, self.timers)
        hooks.on_reset(self.sessions.reset)
        self.session_manager = SessionManager(
            self.sessions, self.settings, self.clock, self.clusters.is_connected
        )
        hooks.add_actions("ssm", self.throttle.limited(self.session_manager.actions()))
        self.trail = Trail(hooks, self.settings, self.clock, self.timers)
        self.parameters = ParameterEvents(hooks, self.authorisation, self.settings, self.timers)
        self.mail = Mail(hooks, self.authorisation, self.clock)
        self.budgets = Budgets(
            hooks, self.authorisation, self.settings, self.clock, self.timers, self.problems
        )
