"""Figures: groups of thousands, Roman numerals."""

__all__ = ["grouped", "roman"]


def grouped(value: int, separator: str, fewest: int = 5) -> str:
    """Return a number with a separator between groups of three digits, if it has at least `fewest` digits."""
    return f"{value:,}".replace(",", separator) if len(str(value)) >= fewest else str(value)


def roman(value: int) -> str:
    """Return a number from 1 to 39 in Roman numerals."""
    units = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    return "X" * (value // 10) + units[value % 10]
