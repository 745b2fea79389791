"""French names of currencies and units, and their signs; without accents, as tokens are."""

from itertools import product

from sonorant.text.formatting.rules import Phrases

__all__ = ["CURRENCIES", "PER", "SUBUNITS", "UNITS"]

CURRENCIES: Phrases = {
    ("euro",): "€", ("euros",): "€", ("dollar",): "$", ("dollars",): "$", ("yen",): "¥", ("yens",): "¥",
    ("livres", "sterling"): "£", ("livre", "sterling"): "£",
}  # fmt: skip
"""Signs that stand after an amount. Livres alone may be books or a weight."""

SUBUNITS: Phrases = {("centime",): "centime", ("centimes",): "centimes"}

_PREFIXES = {"": "", "kilo": "k", "milli": "m", "centi": "c", "micro": "µ", "mega": "M", "giga": "G", "hecto": "h"}
_METRIC = {
    "metre": ("m", "kilo milli centi micro"),
    "gramme": ("g", "kilo milli micro"),
    "litre": ("L", "milli centi hecto"),
    "hertz": ("Hz", "kilo mega giga"),
    "watt": ("W", "kilo mega giga"),
    "volt": ("V", "kilo milli"),
    "octet": ("o", "kilo mega giga"),
}


def _metric() -> Phrases:
    names: Phrases = {}
    for word, (sign, prefixes) in _METRIC.items():
        for prefix, plural in product(["", *prefixes.split()], ["", "s"]):
            names[(f"{prefix}{word}{plural}",)] = f"{_PREFIXES[prefix]}{sign}"
    for (name,), sign in list(names.items()):
        if sign in ("m", "km", "cm"):
            for square, cube in (("carre", "cube"), ("carres", "cubes")):
                names[name, square], names[name, cube] = f"{sign}²", f"{sign}³"
    return names


UNITS: Phrases = {
    **_metric(),
    ("kilo",): "kg",
    ("kilos",): "kg",
    ("hectare",): "ha",
    ("hectares",): "ha",
    ("degre", "celsius"): "°C",
    ("degres", "celsius"): "°C",
    ("degres",): "°",
    ("kilometres", "heure"): "km/h",
    ("kilometre", "heure"): "km/h",
}
"""Units after an amount."""

PER: Phrases = {("par", "heure"): "/h", ("a", "l'heure"): "/h", ("par", "seconde"): "/s"}
