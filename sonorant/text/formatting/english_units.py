"""English names of currencies and units, and their signs."""

from itertools import product

from sonorant.text.formatting.rules import Phrases, listed

__all__ = ["CURRENCIES", "PER", "SUBUNITS", "UNITS"]

_PLURALS = {
    "$": "dollar dollars",
    "€": "euro euros",
    "¥": "yen",
    "₹": "rupee rupees",
}
CURRENCIES: Phrases = {(word,): sign for sign, words in _PLURALS.items() for word in words.split()}
CURRENCIES |= {
    ("us", "dollars"): "US$", ("u", "s", "dollars"): "US$", ("canadian", "dollars"): "C$",
    ("australian", "dollars"): "A$", ("pounds", "sterling"): "£", ("pound", "sterling"): "£",
    ("british", "pounds"): "£", ("korean", "won"): "₩", ("japanese", "yen"): "¥",
}  # fmt: skip
"""Signs that stand before an amount. Pounds alone may be a weight."""

SUBUNITS: Phrases = {(word,): word for word in ("cent", "cents", "penny", "pence")}

_PREFIXES = {"": "", "kilo": "k", "milli": "m", "centi": "c", "micro": "µ", "mega": "M", "giga": "G", "tera": "T"}
_METRIC = {
    "meter metre": ("m", "kilo milli centi micro"),
    "gram gramme": ("g", "kilo milli micro"),
    "liter litre": ("L", "milli centi"),
    "hertz": ("Hz", "kilo mega giga"),
    "watt": ("W", "kilo mega giga milli"),
    "volt": ("V", "kilo milli"),
    "byte": ("B", "kilo mega giga tera"),
}


def _metric() -> Phrases:
    names: Phrases = {}
    for words, (sign, prefixes) in _METRIC.items():
        for word, prefix, plural in product(words.split(), ["", *prefixes.split()], ["", "s"]):
            names[(f"{prefix}{word}{plural}",)] = f"{_PREFIXES[prefix]}{sign}"
    for (name,), sign in list(names.items()):
        if sign in ("m", "km", "cm"):
            names["square", name], names["cubic", name] = f"{sign}²", f"{sign}³"
    return {name: sign for name, sign in names.items() if sign != "B"}


UNITS: Phrases = {
    **_metric(),
    **{(word,): word for word in listed("mile miles feet inch inches yard yards acre acres hectare hectares")},
    **{(word,): word for word in listed("pound pounds ounce ounces gallon gallons ton tons tonne tonnes")},
    **{(kilo,): "kg" for kilo in ("kilo", "kilos")},
    ("miles", "per", "hour"): "mph",
    ("mile", "per", "hour"): "mph",
    ("degree", "celsius"): "°C",
    ("degrees", "celsius"): "°C",
    ("degrees", "centigrade"): "°C",
    ("degree", "fahrenheit"): "°F",
    ("degrees", "fahrenheit"): "°F",
    ("degrees",): "°",
}
"""Units after an amount; those without a sign that every reader knows keep their name."""

PER: Phrases = {
    ("per", "hour"): "/h",
    ("an", "hour"): " an hour",
    ("per", "second"): "/s",
    ("a", "second"): " a second",
}
