"""Recipe: the experiment tracker."""

import re
from typing import Self

from pydantic import Field, model_validator

from sonorant.section import Section

__all__ = ["TrackingRecipe"]

_CREDENTIALS = re.compile(r"://\S*@|(password|passwd|pwd|secret|token|key)=", re.IGNORECASE)


class TrackingRecipe(Section):
    """Experiment tracker that the run's settings and figures are sent to, beside the files in its folder."""

    mlflow: str = Field(
        "",
        description="MLflow's tracking URI: a server, http://HOST:PORT, or a folder, such as runs/mlflow, without a "
        "network; empty: none. Credentials: MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
        "MLFLOW_TRACKING_TOKEN, in the trainer's environment.",
    )
    experiment: str = Field("sonorant", min_length=1, description="MLflow's experiment, made if there is none.")

    @model_validator(mode="after")
    def _no_credentials(self) -> Self:
        if _CREDENTIALS.search(self.mlflow):  # unsaid, as the error is shown
            raise ValueError(
                "mlflow: found credentials in the URI, which files and logs would show; expected http://HOST:PORT, "
                "and MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD in the environment"
            )
        return self
