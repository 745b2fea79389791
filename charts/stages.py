"""Print the chart's stages.yaml: what templates must know of the library's stages. `make verify` compares."""

from services.stage.wiring import SERVICES
from sonorant.augment.table import STAGES


def _main() -> None:
    print("# Printed by charts/stages.py from the library's tables; `make verify` compares.")
    print("# Stages that work on features, hence behind the featurizer.")
    print(f"features: [{', '.join(name for name, stage in STAGES.items() if stage.section.works_on == 'features')}]")
    print("# Services of the stages that have one of their own; services.augmenter runs all others by their names.")
    print("services:")
    for stage, service in SERVICES.items():
        print(f"  {stage}: {service}")


if __name__ == "__main__":
    _main()
