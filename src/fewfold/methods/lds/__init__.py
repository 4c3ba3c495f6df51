"""Low-density separation: transductive SVMs on geodesic, Gaussian or linear features."""
