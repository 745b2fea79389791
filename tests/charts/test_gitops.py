"""What applies the chart again and again, without a cluster to look at: each rendering must be the one before."""

import pytest
from rigs.helm import container, digits_values

GIVEN = {
    "redis": {"passwordSecret": "ledger-password"},
    "keys": {"secrets": {"links": "l", "coordinator": "c", "recognizer": "r", "client": "s"}},
}


@pytest.mark.parametrize("outside", [{}, {"redis": {"secret": "ledger"}}, {"keys": {"enabled": False}}])
def test_with_all_secrets_given_two_renderings_are_equal_and_hold_none(helm, outside):
    values = digits_values(**GIVEN | outside)
    first, second = (helm.template(values) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert not any(kind == "Secret" for kind, _ in helm.render(values))


def test_a_password_that_is_given_reaches_redis_and_who_asks_it(helm):
    manifests = helm.render(digits_values(**GIVEN))
    reference = {"secretKeyRef": {"name": "ledger-password", "key": "password"}}
    served = container(manifests, "redis")
    assert {"name": "REDISCLI_AUTH", "valueFrom": reference} in served["env"]
    assert served["args"][:2] == ["--requirepass", "$(REDISCLI_AUTH)"]
    for component in ("coordinator", "trainer"):
        names = [entry["name"] for entry in container(manifests, component)["env"]]
        entries = {entry["name"]: entry for entry in container(manifests, component)["env"]}
        assert entries["REDIS_PASSWORD"]["valueFrom"] == reference
        assert entries["SONORANT_REDIS"]["value"] == "redis://:$(REDIS_PASSWORD)@words-redis:6379/0"
        assert names.index("REDIS_PASSWORD") < names.index("SONORANT_REDIS")  # Kubernetes looks back only


def test_a_password_for_a_redis_outside_is_refused(helm):
    assert "redis.passwordSecret" in helm.refusal(digits_values(redis={"passwordSecret": "a", "secret": "b"}))
