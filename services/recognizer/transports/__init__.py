"""Protocols over the engine, a file each: parse, call, format."""
