"""The command line: `sonorant …`, one file a command, loaded when it is called."""
