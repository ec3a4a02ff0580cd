"""scikit-learn with array API dispatch: estimators, preprocessing and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn import metrics, preprocessing
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.metrics import pairwise
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from steps import Make, step

sklearn.set_config(array_api_dispatch=True)

RANDOM = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], 20)
X = RANDOM.normal(size=(60, 5)) + 3.0 * LABELS[:, None] * np.array([1.0, -0.5, 0.25, 0.0, 2.0])
TARGETS = X @ np.array([0.5, -1.0, 2.0, 0.0, 0.25]) + 0.1 * RANDOM.normal(size=60)
TWO_TARGETS = np.stack([TARGETS, X[:, 0] ** 2], axis=1)
BINARY = (LABELS > 0).astype("int64")
GUESSES = np.where(RANDOM.random(60) < 0.2, (LABELS + 1) % 3, LABELS)
BINARY_GUESSES = np.where(RANDOM.random(60) < 0.3, 1 - BINARY, BINARY)
SCORES = np.clip(0.6 * BINARY + 0.4 * RANDOM.random(60), 0.01, 0.99)
PROBABILITIES = RANDOM.dirichlet(np.ones(3), size=60)
WEIGHTS = RANDOM.random(60) + 0.5
COUNTS = np.floor(np.exp(0.2 * X[:, 0])) + 1.0


@step
def pca(array: Make) -> Any:
    model = PCA(n_components=3).fit(array(X))
    back = model.inverse_transform(model.transform(array(X)))
    return model.transform(array(X)), model.explained_variance_ratio_, model.components_, back


@step
def pca_with_covariance_eigh(array: Make) -> Any:
    model = PCA(n_components=2, svd_solver="covariance_eigh", whiten=True).fit(array(X))
    return model.transform(array(X)), model.noise_variance_, model.get_covariance()


@step
def pca_with_randomized_svd(array: Make) -> Any:
    model = PCA(n_components=2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0).fit(array(X))
    return model.explained_variance_, model.score(array(X))


@step
def ridge(array: Make) -> Any:
    model = Ridge(alpha=0.5, solver="svd").fit(array(X), array(TARGETS))
    return model.coef_, model.intercept_, model.predict(array(X)), model.score(array(X), array(TARGETS))


@step
def ridge_of_two_targets(array: Make) -> Any:
    model = Ridge(alpha=0.5, solver="svd").fit(array(X), array(TWO_TARGETS), sample_weight=array(WEIGHTS))
    return model.coef_, model.predict(array(X))


@step
def ridge_cv(array: Make) -> Any:
    model = RidgeCV(alphas=(0.1, 1.0, 10.0)).fit(array(X), array(TARGETS))
    return model.coef_, model.alpha_, model.predict(array(X))


@step
def ridge_classifier(array: Make) -> Any:
    model = RidgeClassifier(solver="svd").fit(array(X), array(LABELS))
    return model.coef_, model.predict(array(X)), model.decision_function(array(X))


@step
def ridge_classifier_cv(array: Make) -> Any:
    model = RidgeClassifierCV(alphas=(0.1, 1.0)).fit(array(X), array(BINARY))
    return model.coef_, model.predict(array(X))


@step
def logistic_regression(array: Make) -> Any:
    model = LogisticRegression(solver="lbfgs", tol=1e-10, max_iter=500).fit(array(X), array(LABELS))
    return model.predict(array(X)), model.score(array(X), array(LABELS))


@step
def poisson_regressor(array: Make) -> Any:
    model = PoissonRegressor(solver="lbfgs", tol=1e-10, max_iter=500).fit(array(X), array(COUNTS))
    return model.coef_, model.predict(array(X))


@step
def linear_discriminant_analysis(array: Make) -> Any:
    model = LinearDiscriminantAnalysis(solver="svd").fit(array(X), array(LABELS))
    # The signs of axes are open.
    return model.transform(array(X)) ** 2, model.predict(array(X)), model.predict_proba(array(X)), model.explained_variance_ratio_


@step
def gaussian_mixture(array: Make) -> Any:
    means = np.stack([X[LABELS == label].mean(axis=0) for label in range(3)])
    model = GaussianMixture(3, init_params="random", means_init=array(means), random_state=0, reg_covar=1e-3).fit(array(X))
    return model.means_, model.weights_, model.covariances_, model.predict(array(X)), model.score_samples(array(X))


@step
def gaussian_mixture_of_diagonals(array: Make) -> Any:
    model = GaussianMixture(2, covariance_type="diag", init_params="random_from_data", random_state=0).fit(array(X))
    return model.means_, model.predict_proba(array(X)), model.aic(array(X)), model.bic(array(X))


@step
def nystroem(array: Make) -> Any:
    model = Nystroem(kernel="rbf", gamma=0.1, n_components=10, random_state=0).fit(array(X))
    return model.transform(array(X))


@step
def gaussian_naive_bayes(array: Make) -> Any:
    model = GaussianNB().fit(array(X), array(LABELS), sample_weight=array(WEIGHTS))
    return model.theta_, model.var_, model.predict(array(X)), model.predict_log_proba(array(X))


@step
def calibrated_classifier(array: Make) -> Any:
    model = CalibratedClassifierCV(GaussianNB(), method="temperature", cv=3).fit(array(X), array(LABELS))
    return model.predict(array(X)), model.predict_proba(array(X))


@step
def pipeline(array: Make) -> Any:
    model = make_pipeline(preprocessing.StandardScaler(), PCA(n_components=3), Ridge(solver="svd")).fit(array(X), array(TARGETS))
    return model.predict(array(X)), model.score(array(X), array(TARGETS))


@step
def grid_search(array: Make) -> Any:
    search = GridSearchCV(Ridge(solver="svd"), {"alpha": [0.1, 1.0, 10.0]}, cv=3).fit(array(X), array(TARGETS))
    return search.best_params_["alpha"], search.best_score_, search.predict(array(X))


@step
def cross_validation(array: Make) -> Any:
    return cross_val_score(LinearDiscriminantAnalysis(), array(X), array(LABELS), cv=3)


@step
def train_and_test_split(array: Make) -> Any:
    return train_test_split(array(X), array(LABELS), random_state=0, stratify=array(LABELS))


def _transformed(model: Any, array: Make) -> Any:
    return model.fit(array(X)).transform(array(X))


@step
def standard_scaler(array: Make) -> Any:
    model = preprocessing.StandardScaler().fit(array(X), sample_weight=array(WEIGHTS))
    scaled = model.transform(array(X))
    return model.mean_, model.scale_, scaled, model.inverse_transform(scaled)


@step
def min_max_scaler(array: Make) -> Any:
    model = preprocessing.MinMaxScaler(feature_range=(-1, 1), clip=True).fit(array(X[:40]))
    return model.data_min_, model.transform(array(X)), model.inverse_transform(array(X))


@step
def max_abs_scaler(array: Make) -> Any:
    return _transformed(preprocessing.MaxAbsScaler(), array)


@step
def normalizer(array: Make) -> Any:
    return [_transformed(preprocessing.Normalizer(norm=norm), array) for norm in ("l1", "l2", "max")]


@step
def binarizer(array: Make) -> Any:
    return _transformed(preprocessing.Binarizer(threshold=0.5), array)


@step
def kernel_centerer(array: Make) -> Any:
    kernel = array(X @ X.T)
    return preprocessing.KernelCenterer().fit(kernel).transform(kernel)


@step
def polynomial_features(array: Make) -> Any:
    return _transformed(preprocessing.PolynomialFeatures(degree=3, interaction_only=False), array)


@step
def label_encoder(array: Make) -> Any:
    model = preprocessing.LabelEncoder().fit(array(LABELS * 7 + 3))
    codes = model.transform(array(LABELS * 7 + 3))
    return model.classes_, codes, model.inverse_transform(codes)


@step
def label_binarizer(array: Make) -> Any:
    model = preprocessing.LabelBinarizer().fit(array(LABELS))
    codes = model.transform(array(LABELS))
    return codes, model.inverse_transform(codes)


@step
def of_labels(array: Make) -> Any:
    """Metrics of two lists of labels."""
    truth, guesses = array(LABELS), array(GUESSES)
    results = {"accuracy": metrics.accuracy_score(truth, guesses, sample_weight=array(WEIGHTS))}
    for name in ("f1_score", "precision_score", "recall_score", "jaccard_score"):
        results[name] = getattr(metrics, name)(truth, guesses, average=None), getattr(metrics, name)(truth, guesses, average="macro")
    results["fbeta"] = metrics.fbeta_score(truth, guesses, beta=0.5, average="micro")
    results["balanced"] = metrics.balanced_accuracy_score(truth, guesses)
    results["kappa"] = metrics.cohen_kappa_score(truth, guesses)
    results["confusion"] = metrics.confusion_matrix(truth, guesses), metrics.multilabel_confusion_matrix(truth, guesses)
    results["losses"] = metrics.zero_one_loss(truth, guesses), metrics.hamming_loss(truth, guesses)
    results["report"] = metrics.classification_report(truth, guesses, target_names=["a", "b", "c"])
    return results


@step
def of_binary_labels(array: Make) -> Any:
    truth, guesses = array(BINARY), array(BINARY_GUESSES)
    return metrics.f1_score(truth, guesses), metrics.precision_recall_fscore_support(truth, guesses)


@step(cannot="it looks labels up with numpy's dtypes, as it is not among the metrics with array API support")
def matthews_correlation(array: Make) -> Any:
    return metrics.matthews_corrcoef(array(BINARY), array(BINARY_GUESSES))


@step
def of_probabilities(array: Make) -> Any:
    truth = array(LABELS)
    return metrics.log_loss(truth, array(PROBABILITIES)), metrics.brier_score_loss(truth, array(PROBABILITIES)), metrics.d2_log_loss_score(
        truth, array(PROBABILITIES)
    )


@step
def of_scores(array: Make) -> Any:
    truth, scores = array(BINARY), array(SCORES)
    return {
        "roc_curve": metrics.roc_curve(truth, scores),
        "precision_recall_curve": metrics.precision_recall_curve(truth, scores),
        "det_curve": metrics.det_curve(truth, scores),
        "average_precision": metrics.average_precision_score(truth, scores),
        "log_loss": metrics.log_loss(truth, scores),
        "brier": metrics.brier_score_loss(truth, scores),
    }


@step
def area_under_roc(array: Make) -> Any:
    return metrics.roc_auc_score(array(BINARY), array(SCORES)), metrics.roc_auc_score(array(LABELS), array(PROBABILITIES), multi_class="ovr")


@step
def of_targets(array: Make) -> Any:
    """Metrics of two lists of numbers."""
    truth, guesses = array(COUNTS), array(COUNTS * (1.0 + 0.1 * SCORES))
    names = (
        "r2_score explained_variance_score mean_absolute_error mean_squared_error mean_squared_log_error median_absolute_error"
        " max_error mean_absolute_percentage_error mean_pinball_loss mean_tweedie_deviance mean_poisson_deviance"
        " mean_gamma_deviance d2_absolute_error_score d2_pinball_score d2_tweedie_score root_mean_squared_error"
        " root_mean_squared_log_error"
    ).split()
    return {name: getattr(metrics, name)(truth, guesses) for name in names}


@step
def of_two_targets(array: Make) -> Any:
    truth, guesses = array(TWO_TARGETS), array(TWO_TARGETS + 0.1)
    return metrics.r2_score(truth, guesses, multioutput="raw_values"), metrics.mean_squared_error(truth, guesses, sample_weight=array(WEIGHTS))


@step
def distances_and_kernels(array: Make) -> Any:
    x, y = array(np.abs(X)), array(np.abs(X[:7]))
    names = (
        "euclidean_distances manhattan_distances cosine_distances cosine_similarity linear_kernel polynomial_kernel rbf_kernel"
        " sigmoid_kernel laplacian_kernel chi2_kernel additive_chi2_kernel"
    ).split()
    results = {name: getattr(pairwise, name)(x, y) for name in names}
    for name in ("euclidean", "manhattan", "cosine"):
        results[f"paired {name}"] = getattr(pairwise, f"paired_{name}_distances")(x, x[::-1, ...])
    return results
