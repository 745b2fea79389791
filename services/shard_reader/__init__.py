"""Reads the records that the coordinator leases."""
