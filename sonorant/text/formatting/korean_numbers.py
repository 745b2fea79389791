"""Korean number words: Sino-Korean (이십오) and native ones (스물다섯), within a word, whose spacing varies."""

import re

from sonorant.text.formatting.figures import grouped
from sonorant.text.formatting.rules import listed

__all__ = ["DIGIT", "LARGE", "SINO", "digits", "figures", "native", "sino", "sino_prefix"]

_DIGITS = {word: i for i, word in enumerate(listed("영 일 이 삼 사 오 육 칠 팔 구"))} | {"공": 0, "륙": 6}
_SMALL = {"십": 10, "백": 100, "천": 1000}
LARGE = {"만": 10**4, "억": 10**8, "조": 10**12}
_NATIVE_ONES = dict(zip(listed("하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉"), range(1, 10), strict=True))
_NATIVE_ONES |= {"한": 1, "두": 2, "세": 3, "네": 4}
_NATIVE_TENS = dict(zip(listed("열 스물 서른 마흔 쉰 예순 일흔 여든 아흔"), range(10, 100, 10), strict=True)) | {
    "스무": 20
}
_NATIVE = re.compile(f"({'|'.join(_NATIVE_TENS)})?({'|'.join(_NATIVE_ONES)})?")
DIGIT = f"[{''.join(_DIGITS)}]"
SINO = f"[{''.join(_DIGITS)}{''.join(_SMALL)}{''.join(LARGE)}]"
_LONGEST = 40  # syllables: the longest number below 10**16 has 31
_SINO = re.compile(f"{SINO}{{1,{_LONGEST}}}")


def sino_prefix(word: str) -> str:
    """Return the syllables at the beginning of a word that may be a Sino-Korean number."""
    match = _SINO.match(word)
    return match[0] if match else ""


def sino(word: str) -> int | None:
    """Return the value of a Sino-Korean number, "이천이십오"; None if the syllables make none."""
    if word in ("영", "공"):
        return 0
    total, below = 0, 10**16
    for part, scale in _parts(word):
        value = _below_ten_thousand(part) if part else 1
        if value is None or scale >= below or (not part and scale != 10**4):
            return None
        total, below = total + value * scale, scale
    return total or None


def _parts(word: str) -> list[tuple[str, int]]:
    """Return the parts of a number by powers of 10,000: ("이십", 10000) and ("사천", 1) of "이십만사천"."""
    parts, part = [], ""
    for char in word:
        if char in LARGE:
            parts.append((part, LARGE[char]))
            part = ""
        else:
            part += char
    return [*parts, (part, 1)] if part else parts


def _below_ten_thousand(word: str) -> int | None:
    total, digit, below = 0, None, 10**4
    for char in word:
        if char in _DIGITS:
            if digit is not None or not _DIGITS[char] or below == 1:
                return None
            digit = _DIGITS[char]
        else:
            scale = _SMALL.get(char, below)
            if scale >= below:
                return None
            total, digit, below = total + (digit or 1) * scale, None, scale
    return total + (digit or 0)


def figures(value: int, number: str) -> str:
    """Return figures, of round numbers with 만, 억 and 조, "1억 2,000만"; of others in groups of three."""
    if not number.endswith(tuple(LARGE)):
        return grouped(value, ",", 4)
    parts = [(value // scale % 10**4, name) for name, scale in reversed(LARGE.items())]
    return " ".join(f"{grouped(part, ',', 4)}{name}" for part, name in parts if part)


def digits(word: str) -> str | None:
    """Return the digits that a word says one by one, "공일공"; None if it says something else."""
    return "".join(str(_DIGITS[char]) for char in word) if word and all(char in _DIGITS for char in word) else None


def native(word: str) -> tuple[int, int] | None:
    """Return the value and length of the native number that a word begins with: (25, 4) of "스물다섯살"."""
    match = _NATIVE.match(word)
    if not match or not match[0]:
        return None
    return _NATIVE_TENS.get(match[1], 0) + _NATIVE_ONES.get(match[2], 0), match.end()
