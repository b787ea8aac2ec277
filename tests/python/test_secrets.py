# SPDX-License-Identifier: Apache-2.0
"""What `weirctl support` blanks, and what it leaves."""
import importlib.util
import os

import pytest

spec = importlib.util.spec_from_file_location(
    "support", os.path.join(os.environ["WEIR_ROOT"], "control/ctl/support.py"))
support = importlib.util.module_from_spec(spec)
spec.loader.exec_module(support)

BLANKED = [
    ("password: hunter2", "password: <blanked>"),
    ("  Password = hunter2 # of bgp", "  Password = <blanked>"),
    ("password: abc#hunter2", "password: <blanked>"),
    ("password: abc,hunter2", "password: <blanked>"),
    (r'password: "ab\"hunter2"', "password: <blanked>"),
    ("password: 'it''s-hunter2'", "password: <blanked>"),
    ("pass: hunter2", "pass: <blanked>"),
    ("Authorization: Bearer hunter2", "Authorization: <blanked>"),
    ('{"port": "p1", "api_key": "hunter2"}', '{"port": "p1", "api_key": <blanked>'),
    ("switch: {name: a, secret: hunter2, lldp: off}", "switch: {name: a, secret: <blanked>"),
    ("tokens: [a, hunter2]\nport: p1", "tokens: <blanked>\nport: p1"),
    ("tokens: [a,\n  hunter2]\nport: p1", "tokens: <blanked>\nport: p1"),
    ("password:\n- hunter2\n- hunter2\nport: p1", "password: <blanked>\nport: p1"),
    ("bgp_md5_passwd: 'hunter2'", "bgp_md5_passwd: <blanked>"),
    (" neighbor 10.0.1.1 password hunter2", " neighbor 10.0.1.1 password <blanked>"),
    ("enable secret 5 $1$hunter2", "enable secret <blanked>"),
    ("key-string 7 hunter2", "key-string <blanked>"),
    ('md5-password "hunter2 and more";', "md5-password <blanked>"),
    ("snmp-server community hunter2 ro", "snmp-server community <blanked>"),
    ("weir-inof -s sw1 --password hunter2", "weir-inof -s sw1 --password <blanked>"),
    ("weir-inof --auth-token=hunter2", "weir-inof --auth-token=<blanked>"),
    ("to https://ann:hunter2@example.org/x", "to https://ann:<blanked>@example.org/x"),
    ("to https://ann:a@hunter2@example.org/x", "to https://ann:<blanked>@example.org/x"),
    ("password: |\n  hunter2\n\n  more\nport: p1", "password: <blanked>\nport: p1"),
    ("a:\n  secret:\n    hunter2\n  b: 1", "a:\n  secret: <blanked>\n  b: 1"),
    ("x\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\ny",
     "x\n-----BEGIN RSA PRIVATE KEY-----\n<blanked>\n-----END RSA PRIVATE KEY-----\ny"),
]
KEPT = [
    '{"key": "profiles.roce.classes.3.wred.kmin", "old": "60KB"}',
    "weir-inof --password-file /etc/weir/password -s sw1",
    "password_file: /etc/weir/word",
    "the password of the reflector is wrong",
    "dscp_to_class: {default: 0, 24-31: 3}",
    "weir_port_rx_packets_total{port=\"p1\"} 5",
    "tokens of a shaper, ns",
    "link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff",
]


@pytest.mark.parametrize("before,after", BLANKED)
def test_a_secret_is_blanked_and_counted(before, after):
    secrets = support.Secrets()
    assert secrets.blank(before) == after
    assert secrets.n == 1


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays(text):
    secrets = support.Secrets()
    assert secrets.blank(text) == text and secrets.n == 0


def test_a_text_that_was_blanked_stays_as_it_is():
    for _, after in BLANKED:
        assert "hunter2" not in support.Secrets().blank(after)


def test_a_document_stays_one():
    assert support.Secrets().blank_json({"password": 12345, "tokens": ["hunter2"]}) == {
        "password": "<blanked>", "tokens": "<blanked>"}
    secrets = support.Secrets()
    before = {"text": "a: 1\n# password: hunter2\n", "api_key": "hunter2", "key": "a", "n": 1,
              "rows": [{"secret": None, "x": "md5-password hunter2"}]}
    assert secrets.blank_json(before) == {
        "text": "a: 1\n# password: <blanked>\n", "api_key": "<blanked>", "key": "a", "n": 1,
        "rows": [{"secret": None, "x": "md5-password <blanked>"}]}
    assert secrets.n == 3
