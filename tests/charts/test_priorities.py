"""Serving preempts training where nodes have no capacity for both."""

from rigs.helm import digits_values, pods

SERVING = {"recognizer", "test"}


def classes_of(manifests):
    return {name: template["spec"].get("priorityClassName") for name, template in pods(manifests).items()}


def test_the_recognizer_s_class_is_above_that_of_all_others_who_take_nobody_s_place(manifests):
    classes = classes_of(manifests)
    serving, training = (manifests["PriorityClass", f"speech-words-{kind}"] for kind in ("serving", "training"))
    assert {name for name, used in classes.items() if used == serving["metadata"]["name"]} == SERVING
    assert {used for name, used in classes.items() if name not in SERVING} == {training["metadata"]["name"]}
    assert serving["value"] > training["value"] > 0
    assert serving.get("preemptionPolicy", "PreemptLowerPriority") == "PreemptLowerPriority"
    assert training["preemptionPolicy"] == "Never"
    assert not any(document.get("globalDefault") for document in (serving, training))


def test_classes_that_exist_are_used_if_none_are_to_be_made(helm):
    named = {"create": False, "serving": "urgent", "training": "spare"}
    manifests = helm.render(digits_values(priorities=named))
    assert not [name for kind, name in manifests if kind == "PriorityClass"]
    for name, used in classes_of(manifests).items():
        assert used == ("urgent" if name in SERVING else "spare"), name
