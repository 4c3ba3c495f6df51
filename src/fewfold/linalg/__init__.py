"""Linear algebra that several rooms share: distances, principal axes, signs, eigenvectors."""
