"""scikit-learn's SVC (LIBSVM) and LinearSVC (LIBLINEAR), to compare with."""
