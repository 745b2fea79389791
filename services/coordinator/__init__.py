"""Knows who is there, leases records, and tells how far the epoch is."""
