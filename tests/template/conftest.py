"""The stack as it is deployed, worked out once."""

import pytest

from tests.template.stack import Stack, build


@pytest.fixture(scope="session")
def stack() -> Stack:
    return build()
