"""What keeps a hold from being asked for: nobody may be told that work is held while nothing is written that would hold it."""

from budget_holds.assess import Assessment
from budget_holds.plan import OWNER
from budget_holds.policy import Rule
from budget_holds.snapshot import ClusterView, Snapshot
from budget_holds.states import Standing
from budget_holds.targets import Targets
from proctor.domain.agent_protocol import LimitAccount, Verb, intent_sk
from proctor.domain.decision import Mode


def obstacle(verb: Verb, view: ClusterView, snapshot: Snapshot) -> str:
    """Why nothing may be written about this subject; empty when it may."""
    sk = intent_sk(verb)
    stored = view.intents.get(sk)
    if stored is None and sk in view.intents:
        return "an intent stands there that this release can't read"
    if stored is not None and stored.owner != OWNER:
        return f"it belongs to {stored.owner}"
    name = type(verb).__name__
    if view.slurm.is_fresh(snapshot.now) and view.slurm.verbs and name not in view.slurm.verbs:
        return f"the agent does not know {name}; update it"
    return ""


def prevented(standing: Standing, assessment: Assessment, snapshot: Snapshot) -> str:
    """Why nothing at all of this budget's hold is in force or asked for; empty when any of it is."""
    view = assessment.view
    targets = assessment.targets.get(standing.situation.name, Targets())
    if any(_stands(verb, view) for verb in targets.verbs):
        return ""
    if why := snapshot.paused.get(view.cluster):
        return f"Proctor is paused in {view.cluster}: {why}"
    mode = assessment.mode_of(standing.situation, Rule.HOLD)
    if mode is not Mode.APPLY:
        return f"the rule hold is in {mode.value}"
    if not targets.verbs:
        return _nothing_to_write(targets)
    found = [_protected(verb, view) or obstacle(verb, view, snapshot) for verb in targets.verbs]
    if not all(found):
        return ""
    named = [f"{intent_sk(verb)}: {why}" for verb, why in zip(targets.verbs, found, strict=True)]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return "; ".join(named[:3]) + more


def _stands(verb: Verb, view: ClusterView) -> bool:
    stored = view.intents.get(intent_sk(verb))
    return stored is not None and stored.owner == OWNER and stored.is_held and stored.verb == verb


def _nothing_to_write(targets: Targets) -> str:
    if targets.problem:
        return targets.problem
    if not targets.is_complete:
        return "Slurm's state is unknown, since the controller's agent is silent"
    return "exemptions keep all of it open" if targets.opened else "Slurm shows nothing to hold"


def _protected(verb: Verb, view: ClusterView) -> str:
    names = view.policy.policy.guardrails.protected_accounts
    is_protected = isinstance(verb, LimitAccount) and verb.account in names
    return f"{verb.subject} is protected by the policy's guardrails" if is_protected else ""
