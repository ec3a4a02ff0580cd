"""Profiles: events within events, averages and their table, traces, and schedules."""

import json
import threading

import opgrid as og
import pytest
from opgrid.autograd import profiler as autograd_profiler
from opgrid.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def averages(measured):
    return {average.key: average for average in measured.key_averages()}


def test_a_profile_has_every_call_and_what_it_called():
    with profile(activities=[ProfilerActivity.CPU]) as measured:
        x = og.ones(3, 3)
        x @ x + x
    (product,) = [event for event in measured.events() if event.key == "aten::matmul"]
    children = product.cpu_children
    assert children[0].key == "aten::mm" and children[0].cpu_parent is product
    assert product.start_us <= children[0].start_us <= children[0].end_us <= product.end_us
    assert product.self_cpu_time_total == pytest.approx(product.cpu_time_total - sum(child.cpu_time_total for child in children))
    found = averages(measured)
    # What a call passes on to the kernels below is one call.
    assert found["aten::ones"].count == found["aten::mm"].count == found["aten::add"].count == 1
    total = measured.key_averages().total_average()
    outermost = [event for event in measured.events() if event.cpu_parent is None]
    assert total.self_cpu_time_total == pytest.approx(sum(event.cpu_time_total for event in outermost))


def test_parts_of_a_program_have_names():
    @record_function("function")
    def double(x):
        return x * 2

    with profile() as measured:
        with record_function("outer"):
            with record_function("inner"):
                double(og.ones(2))
        double(og.ones(2))
    outer, inner = (next(event for event in measured.events() if event.key == name) for name in ("outer", "inner"))
    assert outer.cpu_children == [inner] and [child.key for child in inner.cpu_children] == ["aten::ones", "function"]
    assert averages(measured)["function"].count == 2 and averages(measured)["function"].is_user_annotation
    # Without a profile, nothing is kept.
    double(og.ones(2))
    assert averages(measured)["function"].count == 2


def test_parts_on_other_threads():
    def work():
        with record_function("part"):
            og.ones(3)

    with profile() as measured:
        og.ones(2)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert averages(measured)["part"].count == 1 and averages(measured)["aten::ones"].count == 2


def test_a_table():
    with profile() as measured:
        og.ones(20, 20) @ og.ones(20, 20)
        og.ones(2)
    lines = measured.key_averages().table(sort_by="count", row_limit=2, header="HEAD").splitlines()
    assert lines[0] == "HEAD" and lines[2].split()[:4] == ["Name", "Self", "CPU", "%"]
    assert lines[4].split()[0] in ("aten::ones", "aten::empty", "aten::fill_") and lines[4].split()[-1] == "3"
    assert len(lines) == 8 and lines[-1].startswith("Self CPU time total: ")
    longest = measured.key_averages().table(sort_by="cuda_time_total")
    assert "aten::mm" in longest
    with pytest.raises(ValueError, match="expected one of count, cpu_time"):
        measured.key_averages().table(sort_by="size")
    assert "aten::mm" not in measured.events().table(top_level_events_only=True)


def test_a_trace(tmp_path):
    with profile() as measured, record_function("part"):
        og.ones(2)
    measured.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    part, ones = (next(event for event in events if event["name"] == name) for name in ("part", "aten::ones"))
    assert part["cat"] == "user_annotation" and part["tid"] == ones["tid"]
    assert part["ts"] <= ones["ts"] and ones["ts"] + ones["dur"] <= part["ts"] + part["dur"]
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "traces"), "worker")):
        og.ones(2)
    (written,) = (tmp_path / "traces").iterdir()
    assert written.name.startswith("worker.") and written.name.endswith(".pt.trace.json")


# By torch 2.15: N, W, R and S for the actions of 12 steps.
SCHEDULES = [
    ({"wait": 1, "warmup": 1, "active": 2}, "NWRSNWRSNWRS"),
    ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, "NWRSNWRSNNNN"),
    ({"wait": 0, "warmup": 0, "active": 1}, "SSSSSSSSSSSS"),
    ({"wait": 0, "warmup": 1, "active": 3, "skip_first": 2}, "NNWRRSWRRSWR"),
    ({"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 1}, "WSNNWSNNWSNN"),
]


@pytest.mark.parametrize("options, actions", SCHEDULES)
def test_a_schedule(options, actions):
    letters = {"NONE": "N", "WARMUP": "W", "RECORD": "R", "RECORD_AND_SAVE": "S"}
    action = schedule(**options)
    assert "".join(letters[action(step).name] for step in range(12)) == actions


def test_steps_are_recorded_by_a_schedule():
    seen = []

    def ready(measured):
        found = averages(measured)
        seen.append(([key for key in found if key.startswith("ProfilerStep")], found["aten::add"].count))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as measured:
        for _ in range(12):
            og.ones(2) + 1
            measured.step()
    assert seen == [(["ProfilerStep#2", "ProfilerStep#3"], 2), (["ProfilerStep#6", "ProfilerStep#7"], 2)]
    assert measured.current_action is ProfilerAction.NONE


def test_the_older_interface():
    with og.autograd.profiler.profile() as measured:
        og.ones(2).sum()
    assert "aten::sum" in str(measured) and measured.total_average().count == len(measured.function_events)
    assert measured.self_cpu_time_total > 0
    with autograd_profiler.profile(enabled=False) as nothing:
        og.ones(2)
    assert str(nothing) == "<profile that is not enabled>"
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        nothing.key_averages()


def test_what_is_not_recorded_is_said():
    with pytest.warns(UserWarning, match="record_shapes, with_stack have no effect"):
        profile(record_shapes=True, with_stack=True)
    with pytest.warns(UserWarning, match="ProfilerActivity.CUDA has no effect"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    assert supported_activities() == {ProfilerActivity.CPU}
    with pytest.raises(AssertionError, match="`active` above 0"):
        schedule(wait=1, warmup=1, active=0)
