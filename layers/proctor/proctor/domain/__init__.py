"""Values and rules of Proctor. Standard library only: no clock, no network, no logging."""
