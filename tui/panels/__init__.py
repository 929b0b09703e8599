"""Panels: pure functions from a View to rows of text, tested without an app; screens stack them."""
