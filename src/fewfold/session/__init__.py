"""Interactive labeling, with an interval of the error that is valid after every answer."""
