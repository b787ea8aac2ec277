# SPDX-License-Identifier: Apache-2.0
"""The expressions of conf/grafana and conf/prometheus, and the parts that tests ask for."""
import json
import os
import re

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DASHBOARD = os.path.join(ROOT, "conf/grafana/weir.json")
CONFIG = os.path.join(ROOT, "conf/prometheus/prometheus.yml")
RULES = os.path.join(ROOT, "conf/prometheus/weir.rules")
SELECTOR = re.compile(r"\b(weir_\w+|up)\b(?:\{([^}]*)\})?")
# Of Grafana: what it writes in their places.
GRAFANA = {"$__rate_interval": "5s", "$__range": "1m"}


def dashboard():
    with open(DASHBOARD) as f:
        return json.load(f)


def panels(board):
    return [p for p in board["panels"] if p["type"] != "row"]


def alerts():
    with open(RULES) as f:
        return [r for g in yaml.safe_load(f)["groups"] for r in g["rules"]]


def as_sent(expr, variables):
    """The expression that Grafana sends when each variable is All."""
    for name, text in [*GRAFANA.items(), *((f"${v}", ".+") for v in variables)]:
        expr = expr.replace(name, text)
    return expr


def selectors(expr):
    """[(the selector, its metric, names of the labels in it)]"""
    return [(m[0], m[1], re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", m[2] or ""))
            for m in SELECTOR.finditer(expr)]
