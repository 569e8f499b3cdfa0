"""Logging, with the names of pylance's module."""

from lance_core.log.logger import get_log_level, get_python_log_level, set_logger

__all__ = ["get_log_level", "get_python_log_level", "set_logger"]
