"""The control plane: registry of replicas, leases of records, progress of the epoch.

`ControlPlane` (`control`) is the coordinator without its transport: `sonorant.fleet` and `sonorant.delivery` put
together, events in, time passed in. `CoordinatorServer` serves it over gRPC; `status` and `metrics` present its
state.
"""
