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
        "이 분은 제 선생님입니다",  # this person
        "혹시 이 분이 오셨나요",
        "삼천 만 원",  # no 10,000 won
        "오 억 삼천 만 원",
        "이 원은",  # this circle
        "이 세기",  # this century
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
        ("공일공 이삼사오 육칠팔구입니다", "01023456789입니다"),
        ("공일공 이사는", "010 이사는"),
        ("이십일 세기", "21세기"),
        ("십구세기에", "19세기에"),
        ("천구백팔십 년대", "1980년대"),
        ("구십년대에는", "90년대에는"),
        ("이 분 동안", "2분 동안"),
        ("세 시 이 분", "3시 2분"),
        ("열네시 이 분", "14시 2분"),
        ("두 시간 이 분", "2시간 2분"),
        ("그때 만 원", "그때 1만 원"),
        ("열두 시 삼십 분", "12시 30분"),
        ("십이 시 삼십 분", "12시 30분"),
        ("열네 시 오십오 분", "14시 55분"),
    ],
)
def test_numbers_are_figures(said, written):
    assert formatter("ko").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("이십오 점 오 도", "25.5도"),
        ("이십오 점 오도", "25.5도"),
        ("영 점 오 퍼센트", "0.5%"),
        ("영점오 퍼센트", "0.5%"),
        ("삼 점 일 사", "3.14"),
        ("이십일 점 오", "21.5"),
        ("이십일 점 일입니다", "21.1입니다"),
        ("이십일점오", "21.5"),
        ("삼 점 일 사입니다", "3.14입니다"),
        ("일점오억 원", "1.5억 원"),
        ("삼 분의 이", "3분의 2"),
        ("십 분의 일", "10분의 1"),
        ("삼분의 이가", "3분의 2가"),
        ("백만 분의 일", "100만분의 1"),
    ],
)
def test_decimals_and_fractions(said, written):
    assert formatter("ko").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("옷 이 점 오만 원", "옷 이 점 5만 원"),  # two garments
        ("일 점 오 억 원", "일 점 오 억 원"),  # 1.5억, or one painting
        ("이 점 오 퍼센트", "이 점 5%"),  # this point
        ("이점 오 퍼센트", "이점 5%"),  # advantage
        ("구 점 오도", "구 점 오도"),  # nine points, five too
        ("오점이 배로 늘었다", "오점이 배로 늘었다"),  # stains
        ("이십 점 공일공 일이삼사 오육칠팔", "20점 01012345678"),
        ("구 점 팔 점", "구 점 팔 점"),
        ("이십 점 이 사람", "20점 이 사람"),  # this person
        ("이십점이", "20점이"),  # twenty points
        ("삼 점 일 사는", "삼 점 일 사는"),  # living
        ("구십 점 이상", "90점 이상"),
        ("오 분의 일은 힘들다", "5분의 일은 힘들다"),  # five minutes' work
        ("이 분의 일", "이 분의 일"),  # a half, or this person's work
        ("한 시간 십 분의 일", "1시간 10분의 일"),
        ("삼 분의 휴식", "3분의 휴식"),
    ],
)
def test_points_and_minutes_that_may_be_counted_are_no_decimals_or_fractions(said, written):
    assert formatter("ko").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("일억 이천만 원", "1억 2,000만 원"),
        ("일조 이천억 원", "1조 2,000억 원"),
        ("이십억 삼천만", "20억 3,000만"),
        ("일억 이천삼백사십오만 육천칠백팔십구 원", "123,456,789원"),
        ("오 조 이천억 원", "5조 2,000억 원"),
        ("삼 조 오 명", "삼 조 오 명"),  # group three
        ("이 조 이천억 원", "이 조 2,000억 원"),  # this group
        ("삼 조 오천 원", "삼 조 5,000원"),
    ],
)
def test_round_numbers_have_each_power_of_ten_thousand(said, written):
    assert formatter("ko").text(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("이천 이십 오 년 십 이 월 이십 오 일", "2025년 12월 25일"),
        ("천 구백 팔십 년대", "1980년대"),
        ("삼 월 이십 일 일", "3월 21일"),
        ("삼 월 이십 일 세 시", "3월 20일 3시"),
        ("이십 일 동안", "20일 동안"),
        ("이십 일에 만나요", "20일에 만나요"),
        ("이십 일 만에", "20일 만에"),
        ("이십 일 세기", "21세기"),
        ("이십 오 분", "25분"),
        ("만 오 천 원", "15,000원"),
        ("백 이십 삼", "123"),
        ("삼십 육 점 오 도", "36.5도"),
        ("백 이십 분의 일", "120분의 1"),
        ("스물 네 시간", "24시간"),
        ("스물 네시간", "24시간"),
        ("열 두 시 삼십 오 분", "12시 35분"),
        ("한 세 시간", "한 3시간"),  # about three hours
        ("공 일 공 일 이 삼 사 오 육 칠 팔입니다", "01012345678입니다"),
    ],
)
def test_a_number_whose_parts_stand_apart_is_one(said, written):
    assert formatter("ko").text(said) == written


@pytest.mark.parametrize(
    "text",
    [
        "배송은 삼사 일 걸립니다",  # three or four days
        "이 삼 일",
        "이십 삼십 명",
        "이십 이삼 명",
        "삼 사백 명",
        "칠 팔 십 명",
        "일 이 삼 명",
        "두 세 시간",
        "열 스무 명",
        "이백 스물 네 시간",
        "삼십 이 만 원",
        "이 천 원",  # or these 1,000 won
        "오 천 원",  # oh, 1,000 won
        "이십 이 사람",  # this person
        "이십 일",  # 21, or 20 days
        "이십 일입니다",
        "이십 일 일",  # 21 days, or the work of 20
        "이십 일 만 원",
        "육십일",  # 61, or 60 days
        "사십 팔 만 천 원",
        "이십 사이",  # between
        "사이 오 명",
        "일 이 삼 사",  # who counts
        "공일공 일이삼사 오육칠팔 일 때문에",  # work
        "열 세대",  # households
    ],
)
def test_a_run_of_several_numbers_or_readings_stays_as_it_was_said(text):
    assert formatter("ko").text(text) == text
