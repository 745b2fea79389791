"""From rates to replicas: the capacity model and the simulation that the autoscaler and `sonorant plan` share."""
