# SPDX-License-Identifier: Apache-2.0
"""The text format of Prometheus."""
import pytest

import weir

PAGE = r"""# HELP a_total things, with a # in it
# TYPE a_total counter
a_total{port="p1",class="3"} 5
a_total{port="p2",class="3"} 7 1700000000000
# TYPE b gauge
b -1.5e3
b_info{text="a \"quoted\", \\ and\nbroken",x=""} 1
h_bucket{le="+Inf"} +Inf
n NaN
"""


def test_samples_labels_and_families():
    page = weir.metrics.parse(PAGE)
    assert len(page) == 6
    assert page.value("a_total", port="p2") == 7 and page.sum("a_total", **{"class": 3}) == 12
    assert page.families["a_total"].type == "counter"
    assert page.families["a_total"].help == "things, with a # in it"
    assert page.value("b") == -1500
    assert page.select("b_info")[0].labels == {"text": 'a "quoted", \\ and\nbroken', "x": ""}
    assert page.value("h_bucket", le="+Inf") == float("inf")
    assert page.value("n") != page.value("n")
    assert page.sum("a_total", port="p9") == 0


def test_a_label_may_have_what_ends_lines_elsewhere():
    page = weir.metrics.parse('a{text="b\rc\x0bd\x85e\u2028f"} 1\n')
    assert page.select("a")[0].labels == {"text": "b\rc\x0bd\x85e\u2028f"}


def test_what_is_not_there_is_an_error():
    page = weir.metrics.parse(PAGE)
    with pytest.raises(KeyError, match="2 samples of a_total have the labels"):
        page.value("a_total")
    with pytest.raises(KeyError, match="no metric c"):
        page.sum("c")


@pytest.mark.parametrize("line", ["a{", 'a{b="c} 1', "a one", "a", '{b="c"} 1', 'a{b="c" d="e"} 1',
                                  "a 1 2 3"])
def test_a_line_that_is_none_is_named(line):
    with pytest.raises(weir.WeirError, match="no line of metrics: "):
        weir.metrics.parse(f"ok 1\n{line}\n")
