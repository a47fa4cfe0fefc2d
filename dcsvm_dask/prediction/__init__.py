"""Predictions of trained models, their export and compression."""
