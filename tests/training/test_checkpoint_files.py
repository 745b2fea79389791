from sonorant.training.checkpoint_files import Progress, progress_of


def test_progress_of_before_dev_had_other_figures_is_read():
    then = {"progress": {"step": 8, "wer": 0.3, "wer_step": 6, "best_wer": 0.2}}
    found = Progress(**progress_of(then))
    assert (found.step, found.dev, found.dev_step, found.best_dev) == (8, 0.3, 6, 0.2)
    assert progress_of({}) == {}
