"""The data plane without sockets: credit-based flow control and the bytes of a link.

`life` is the state machine of a consumer's link (connecting, open, draining, back-off, closed); `credit` says who may
send how many examples to whom (a consumer grants, a producer never exceeds it); `lanes` keep examples that only some
consumers may have from blocking the others (head-of-line blocking); `wire` is the format of messages; `payload` says
how samples are carried.
"""
