"""The local AWS of Proctor: MiniStack in one process, with the services and habits that Proctor depends on.

May import the standard library and what the emulator's own environment holds (MiniStack, botocore, PyYAML).
Nothing here is deployed, and nothing in ``functions/``, ``layers/`` or ``agent/`` may import it.
"""
