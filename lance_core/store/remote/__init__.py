"""Stores on the other side of a network: what all of them need, over the requests of a service."""
