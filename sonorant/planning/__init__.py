"""From rates to replicas: the capacity model that the autoscaler and `sonorant plan` will share."""
