"""The layer describes the operations that the adapters call, and no other."""

import importlib
import pkgutil

import proctor.adapters
from proctor.adapters import aws_clients
from scripts.lean_models import kept_operations
from tests.template.calls import operations_of
from tests.template.stack import ROOT

KEPT = kept_operations((ROOT / "layers/dependencies/botocore-operations.txt").read_text())


def test_the_layer_describes_what_is_called_and_nothing_else() -> None:
    names = [module.name for module in pkgutil.iter_modules(proctor.adapters.__path__, "proctor.adapters.")]
    called = {call for name in names for call in operations_of(importlib.import_module(name))}
    assert called == {(service, operation) for service, found in KEPT.items() for operation in found}


def test_every_service_there_has_a_client() -> None:
    assert sorted(aws_clients._SERVICES) == sorted(KEPT)
