"""The distance of two points on the earth by the haversine formula."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.sql_functions import Datum, Node, as_number, call, converted

EARTH_KM = 6371.0
"""The mean radius of the earth."""


def haversine(*degrees: Node) -> Node:
    """The distance in kilometres, as float64; each point has a latitude and a longitude."""
    numbers = [converted(as_number("haversine", node), pa.float64()) for node in degrees]
    return call("haversine", _distances, *numbers, kind=pa.float64())


def _distances(*degrees: Datum) -> Datum:
    lat, lon, other_lat, other_lon = (pc.multiply(value, np.pi / 180) for value in degrees)
    north = _half_squared_sine(pc.subtract(other_lat, lat))
    east = _half_squared_sine(pc.subtract(other_lon, lon))
    east = pc.multiply(east, pc.multiply(pc.cos(lat), pc.cos(other_lat)))
    return pc.multiply(pc.asin(pc.sqrt(pc.add(north, east))), 2 * EARTH_KM)


def _half_squared_sine(angle: Datum) -> Datum:
    return pc.power(pc.sin(pc.divide(angle, 2.0)), 2.0)
