import pytest

from sonorant.text.formatting import formatter


@pytest.mark.parametrize(
    "text",
    [
        "이사 갔어요",  # moved house; 24
        "일이 많다",  # work; 1
        "천만에",  # not at all; 10,000,000
        "만일 그렇다면",  # if; 10,001
        "사이가 좋다",  # relation; 42
        "이 사람",  # this; 2
        "이만 가자",  # now; 20,000
        "구사일생",
        "조사 결과",
        "사원이",
        "오이 하나",
        "한 명",
        "세 번",
        "일일",
        "이도",
    ],
)
def test_what_has_several_readings_stays_as_it_was_said(text):
    assert formatter("ko").text(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("이천이십오 년 삼 월 오 일", "2025년 3월 5일"),
        ("이천이십오년 삼월 오일에", "2025년 3월 5일에"),
        ("유월 십오일", "6월 15일"),
        ("시월에", "10월에"),
        ("세 시 삼십 분에 만나요", "3시 30분에 만나요"),
        ("세시 삼십분", "3시 30분"),
        ("열두 시 반", "12시 반"),
        ("두 시간 삼십 분", "2시간 30분"),
        ("오천 원입니다", "5,000원입니다"),
        ("만 이천 원", "12,000원"),
        ("이십삼만 원", "23만 원"),
        ("이십삼만 사천오백육십칠", "234,567"),
        ("백이십삼", "123"),
        ("오 퍼센트", "5%"),
        ("십 킬로미터", "10km"),
        ("이십 명이", "20명이"),
        ("스물다섯살이", "25살이"),
        ("공일공 일이삼사 오육칠팔", "01012345678"),
    ],
)
def test_numbers_are_figures(said, written):
    assert formatter("ko").text(said) == written
