"""Repetition and definition levels: conversion from and to arrays, and control words."""
