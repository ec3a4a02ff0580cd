"""Dimensions by names, and modules that normalize by the batch alone."""

import opgrid as og
import pytest
from opgrid.func import rearrange, replace_all_batch_norm_modules_, vmap

x = og.arange(24).reshape(2, 3, 4)

PATTERNS = {
    "a b c -> c a b": x.permute(2, 0, 1),
    "a b c -> (a b) c": x.reshape(6, 4),
    "a b c -> a (c b)": x.permute(0, 2, 1).reshape(2, 12),
    "a ... -> ... a": x.permute(1, 2, 0),
    "a ... -> (... a)": x.permute(1, 2, 0).reshape(24),
    "a b c -> a 1 b () c": x.reshape(2, 1, 3, 1, 4),
    "... -> ...": x,
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern(pattern):
    found = rearrange(x, pattern)
    assert found.tolist() == PATTERNS[pattern].tolist() and found.shape == PATTERNS[pattern].shape


def test_lengths_of_parts():
    images = og.arange(2 * 6 * 4 * 3).reshape(2, 6, 4, 3)
    tiles = rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2)
    assert tuple(tiles.shape) == (8, 3, 2, 3) and tiles[0].tolist() == images[0, :3, :2].tolist()
    assert rearrange(tiles, "(b h1 w1) h w c -> b (h1 h) (w1 w) c", h1=2, w1=2).tolist() == images.tolist()
    assert tuple(rearrange([og.ones(3), og.zeros(3)], "n d -> d n").shape) == (3, 2)
    assert tuple(vmap(lambda y: rearrange(y, "a b -> b a"))(x).shape) == (2, 4, 3)


MISTAKES = {
    "0 times '->'": ("a b c", {}),
    "are only on one side": ("a b c -> a b d", {}),
    "are twice on one side": ("a a c -> a c", {}),
    "which are not in": ("a b c -> c b a", {"d": 2}),
    "has 3 dimensions": ("a b -> b a", {}),
    "give lengths for all but one": ("a (b d) c -> a b c d", {}),
    "dimension 1 has size 3": ("a (b d) c -> a b c d", {"b": 2}),
    "dimension 0 has size 2": ("1 b c -> b c", {}),
    "brackets": ("(a b c -> a b c", {}),
    "is no name": ("a b c ? -> a b c", {}),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named(text):
    pattern, lengths = MISTAKES[text]
    with pytest.raises(ValueError, match=text):
        rearrange(x, pattern, **lengths)


def test_batch_normalization_without_running_statistics():
    model = og.nn.Sequential(og.nn.BatchNorm1d(2), og.nn.Linear(2, 2))
    assert replace_all_batch_norm_modules_(model) is model
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    y = model.eval()[0](og.tensor([[1.0, 2.0], [3.0, 6.0]]))
    assert og.allclose(y.mean(0), og.zeros(2), atol=1e-6)
