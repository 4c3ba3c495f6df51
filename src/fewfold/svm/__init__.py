"""The one kernel SVM, the folds that choose its settings, and its way to probabilities."""
