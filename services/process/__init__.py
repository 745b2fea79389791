"""What each process is made of: options, logging, signals, health, metrics, keys, and the rules for its restart.

No speech here, no links. A process reads its `options`, configures `logging`, serves `health` and `metrics`, works
until `signals.Shutdown` is requested, and ends with the exit code of its error. A thread or task without which it is
of no use is a vital task (`vital_tasks`): its error ends the process. A main loop that stands still is ended by the
`watchdog`.
"""
