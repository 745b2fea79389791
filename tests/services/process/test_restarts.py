from services.process.restarts import RestartPolicy


def test_pauses_double_up_to_the_longest():
    policy = RestartPolicy(most=5, window_s=60.0, first_pause_s=0.5, last_pause_s=3.0)
    assert [policy.ended(0.0) for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_process_that_dies_too_often_is_given_up():
    policy = RestartPolicy(most=2, window_s=60.0)
    assert policy.ended(0.0) is not None
    assert policy.ended(59.0) is not None
    assert policy.ended(59.5) is None
    assert policy.limit == "3 ends within 60 s"


def test_old_deaths_are_forgiven():
    policy = RestartPolicy(most=1, window_s=60.0)
    assert policy.ended(0.0) == policy.ended(60.0)


def test_deaths_without_progress_are_not_forgiven():
    policy = RestartPolicy(most=2, window_s=60.0)
    assert policy.ended(0.0, "step 10") is not None
    assert policy.ended(100.0, "step 20") is not None
    assert policy.ended(200.0, "step 20") is not None
    assert policy.limit == ""
    assert policy.ended(300.0, "step 20") is None
    assert policy.limit == "3 ends without progress since step 20"


def test_the_window_is_the_limit_where_there_was_progress():
    policy = RestartPolicy(most=2, window_s=60.0)
    assert [policy.ended(float(step), f"step {step}") is None for step in range(3)] == [False, False, True]
    assert policy.limit == "3 ends within 60 s"
