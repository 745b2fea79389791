"""The load tool: streams in real time against a recognizer, open-loop, and their latencies.

`schedule` sets the times at which streams begin, `stream` sends one and notes what comes back, `clients` runs many in a
process of its own, `step` measures one number of streams: latencies from when audio was due (`latency`), words that
change (`flicker`), CPU time of both sides apart (`usage`). `server` starts a recognizer on a core of its own. Presets,
a file each, are experiments made of steps; `page` writes the report.
"""
