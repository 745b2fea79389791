"""The data plane without sockets: credit-based flow control and the bytes of a link.

`life` is the state machine of a consumer's link (connecting, open, draining, back-off, closed). `credit` is the
consumer's side of flow control: it grants, and recalls what lies idle. `outbox` is the producer's: parcels wait there
in lanes, so that those without credit hold up no others (head-of-line blocking), and leave in bundles, never more than
were granted. `wire` is the format of messages, a parcel the message of one example; `payload` has the representations
of samples.
"""
