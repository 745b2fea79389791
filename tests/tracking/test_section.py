import pytest

from sonorant.errors import BadRecipe
from sonorant.recipe.loading import load_recipe
from sonorant.training.identity import identity

RECIPE = "version: 1\nname: tiny\ncorpus: {reader: fsdd, path: digits}\ntracking:\n  mlflow: "
SECRET = "hunter2"


@pytest.mark.parametrize(
    "uri",
    [
        f"https://somebody:{SECRET}@mlflow.example",
        f"postgresql://me:{SECRET}/@db/mlflow",
        f"postgresql://db/mlflow?password={SECRET}",
    ],
)
def test_credentials_are_refused_and_not_said(tmp_path, uri):
    (tmp_path / "recipe.yaml").write_text(f"{RECIPE}{uri!r}\n")
    with pytest.raises(BadRecipe, match=r"recipe\.yaml:4: tracking.*MLFLOW_TRACKING_PASSWORD") as error:
        load_recipe(tmp_path / "recipe.yaml")
    assert SECRET not in str(error.value)


def test_a_run_may_be_tracked_elsewhere_when_it_goes_on(tmp_path):
    recipes = []
    for uri in ("", "runs/mlflow", "http://127.0.0.1:5000"):
        (tmp_path / "recipe.yaml").write_text(f"{RECIPE}{uri!r}\n")
        recipes.append(load_recipe(tmp_path / "recipe.yaml"))
    assert [recipe.tracking.mlflow for recipe in recipes] == ["", "runs/mlflow", "http://127.0.0.1:5000"]
    assert identity(recipes[0]) == identity(recipes[1]) == identity(recipes[2])
