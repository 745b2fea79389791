"""Korean counters, the signs of units, and the particles that may follow them."""

from sonorant.text.formatting.rules import listed

__all__ = ["EXACT", "NATIVE_COUNTERS", "PARTICLES", "SIGNS", "SINO_COUNTERS", "counter"]

EXACT = {"년": "년", "월": "월", "일": "일", "시": "시", "분": "분", "초": "초"}
SIGNS = {"퍼센트": "%", "그램": "g", "킬로그램": "kg", "밀리그램": "mg", "리터": "L", "밀리리터": "mL", "헤르츠": "Hz"}
SIGNS |= {"미터": "m", "킬로미터": "km", "센티미터": "cm", "밀리미터": "mm"}
_COUNTERS = {
    word: word
    for word in listed("원 달러 유로 명 개 살 세 번 층 도 권 마리 대 시간 개월 주년 주 호 점 배 인 장 위 세기 년대")
}
SINO_COUNTERS = dict(
    sorted((EXACT | SIGNS | _COUNTERS | {"킬로": "kg"}).items(), key=lambda item: -len(item[0]))
)  # the longest first: 시간 before 시
NATIVE_COUNTERS = sorted(listed("시간 시 명 개 살 번 마리 대 권 장 달 사람 배 잔 병 가지"), key=len, reverse=True)
PARTICLES = set(
    listed("은 는 이 가 을 를 에 의 도 로 으로 과 와 만 부터 까지 에서 에는 이나 이다 입니다 이고 에게 반 쯤 정도 짜리")
) | {""}


def counter(word: str) -> tuple[str, str] | None:
    """Return the counter of Sino-Korean numbers that a word begins with, and the particle after it."""
    for name in SINO_COUNTERS:
        if word.startswith(name) and word[len(name) :] in PARTICLES:
            return name, word[len(name) :]
    return None
