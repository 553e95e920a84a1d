"""The path of every reaction. Knows ports and domain; knows no adapter, no wire format and no function."""
