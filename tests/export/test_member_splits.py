import pytest
from training.tiny import tiny_recipe

from sonorant.export.member_splits import other_splits
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe

BY_SPEAKER = {"splits": {"by": "speaker", "test_fraction": 0.1}}


def recipe_of(seed=1, **corpus):
    values = tiny_recipe().model_dump(mode="json", exclude_defaults=True)
    corpus = {"reader": "word_folders", "path": "words"} | corpus
    return Recipe.model_validate(values | {"seed": seed, "corpus": corpus})


@pytest.mark.parametrize(
    ("own", "member", "said"),
    [
        (recipe_of(1, **BY_SPEAKER), recipe_of(2, **BY_SPEAKER), "(seed 2, here 1), so perhaps on some"),
        (recipe_of(1, **BY_SPEAKER), recipe_of(1, **BY_SPEAKER), ""),
        (recipe_of(1, **BY_SPEAKER), recipe_of(3, path="other", **BY_SPEAKER), ""),
        (
            recipe_of(1, **BY_SPEAKER),
            recipe_of(1, splits=BY_SPEAKER["splits"] | {"train_fraction": 0.5}),
            "",
        ),  # whose test sets are the same
        (recipe_of(1), recipe_of(2), "(seed 2, here 1)"),
        (recipe_of(1, splits={"by": "corpus"}), recipe_of(2, splits={"by": "corpus"}), ""),
        (recipe_of(1, splits={"by": "corpus"}), recipe_of(1), "(by utterance, here corpus; seed 1, here not used; "),
        (recipe_of(1), recipe_of(1, splits={"by": "utterance"}), ""),
        (recipe_of(1), recipe_of(2, path="./words"), "(seed 2, here 1)"),
        (recipe_of(1), recipe_of(1, splits={"test_fraction": 0.2}), "(test_fraction 0.2, here 0.05)"),
        (recipe_of(1, splits={"unseen_speakers": ["ann"]}), recipe_of(1), "(unseen_speakers [], here ['ann'])"),
        (
            recipe_of(1, splits={"unseen_speakers": ["ann", "bo"]}),
            recipe_of(1, splits={"unseen_speakers": ["bo", "ann"]}),
            "",
        ),
    ],
)
def test_members_of_other_random_splits_are_told(tmp_path, own, member, said):
    (tmp_path / "recipe.yaml").write_text(dump_recipe(member))
    found = list(other_splits(own, [tmp_path]))
    assert len(found) == bool(said)
    assert not said or said in found[0]


def test_runs_of_other_seeds_with_one_corpus_seed_are_members_of_one_ensemble(tmp_path):
    own, member = (recipe.model_copy(update={"seed": n}) for n, recipe in enumerate([recipe_of(**BY_SPEAKER)] * 2))
    own, member = (
        one.model_copy(update={"corpus": one.corpus.model_copy(update={"seed": 7})}) for one in (own, member)
    )
    (tmp_path / "recipe.yaml").write_text(dump_recipe(member))
    assert list(other_splits(own, [tmp_path])) == []
