"""Memory, caches, signals, output paths and text: what every room uses."""
