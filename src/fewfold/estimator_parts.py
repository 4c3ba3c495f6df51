"""What estimators have in common beyond scikit-learn's own mixins."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted


class VotingMixin:
    """Scores and labels of a classifier whose ``predict_proba`` gives shares of votes."""

    def decision_function(self, X) -> np.ndarray:
        """Return a score per class, or of the second class if there are two.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares

    def predict(self, X) -> np.ndarray:
        """Return the label of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
