# SPDX-License-Identifier: Apache-2.0
"""Rows and targets to a table for the terminal, and to Markdown for docs/performance.md."""
import operator
import re
import textwrap

MARKS = ("<!-- figures: scripts/bench --markdown -->", "<!-- end of figures -->")
AGAINST_MARKS = ("<!-- figures: scripts/bench --against-build -->", MARKS[1])
RFC2544_MARKS = ("<!-- figures: scripts/bench --rfc2544 -->", MARKS[1])

# Row, figure, limit, aim, how. All are ratios or cycles of one run. The limit must hold; the aim is
# where it should go.
TARGETS = [
    ("1w/74B/16f/shallow", "cycles", 90, 75, "<="),
    ("1w/74B/16f/shallow", "ratio_ovs", 0.85, None, "<="),
    ("1w/74B/16f/standing", "cycles", 200, 105, "<="),
    ("1w/74B/1Kf/1024m/shallow", "cycles", 140, 110, "<="),
    ("1w/1024B/16f/shallow", "switch_to_74B", 1.25, 1.15, "<="),
    ("2w/74B/16f/shallow", "speedup", 1.3, 1.6, ">="),
    ("2w/74B/16f/stays/shallow", "speedup", 1.9, 1.95, ">="),
    ("flows/64K", "table", 45, 35, "<="),
    ("flows/64K/read", "table", 60, 50, "<="),
    ("flows/1024K", "table", 100, None, "<="),
    ("flows/64K/elephants", "more", 5, None, "<="),
    ("xdp/veth", "ratio_io", 1.2, None, "<="),
    ("start/3 ports", "first_frame_s", 2, None, "<="),
    ("start/32 ports", "first_frame_s", 1.2, None, "<="),
    ("start/32 ports", "memory_mib", 1024, None, "<="),
    ("lab/equilibrium", "mhops", 5, 7.6, ">="),
]
HOW = {"<=": operator.le, ">=": operator.ge}
WORDS = {
    "cycles": "cycles/packet", "switch_to_74B": "switch cycles, to those at 74 B",
    "speedup": "rate, to that of one worker", "ratio_io": "busy cycles, to testpmd io",
    "table": "cycles/packet more with a flow table",
    "more": "cycles/packet more", "ratio_ovs": "cycles, to those of OVS",
    "mhops": "M packet-hops a second",
    "first_frame_s": "s to the first frame", "memory_mib": "MiB of memory",
}
PACKET_COLUMNS = [
    ("row", "key", "{}"), ("cycles", "cycles", "{:.0f}"), ("least", "least", "{:.0f}"),
    ("median", "median", "{:.0f}"), ("switch", "switch", "{:.0f}"),
    ("rx", "driver_rx", "{:.0f}"), ("tx", "driver_tx", "{:.0f}"),
    ("Mpps/worker", "mpps_per_worker", "{:.2f}"), ("Mpps", "mpps", "{:.2f}"),
    ("to 1w", "speedup", "{:.2f}"),
    ("macswap", "macswap", "{:.0f}"), ("io", "io", "{:.0f}"), ("OVS", "ovs", "{:.0f}"),
    ("to macswap", "ratio_macswap", "{:.2f}"), ("to OVS", "ratio_ovs", "{:.2f}"),
    ("marked", "marked_share", "{:.0%}"),
]
XDP_COLUMNS = [
    ("row", "key", "{}"), ("Weir", "cycles", "{:.0f}"), ("testpmd io", "io", "{:.0f}"),
    ("ratio", "ratio_io", "{:.2f}"), ("packets per busy loop", "per_loop", "{:.1f}"),
]
START_COLUMNS = [
    ("row", "key", "{}"), ("ready s", "ready_s", "{:.2f}"),
    ("first frame s", "first_frame_s", "{:.2f}"), ("resident MiB", "rss_mib", "{:.0f}"),
    ("hugepages MiB", "huge_mib", "{:.0f}"), ("in all MiB", "memory_mib", "{:.0f}"),
]
FLOWS_COLUMNS = [
    ("row", "key", "{}"), ("without", "off", "{:.0f}"), ("with", "on", "{:.0f}"),
    ("flow table", "table", "{:.0f}"),
]
ELEPHANTS_COLUMNS = [
    ("row", "key", "{}"), ("without", "off", "{:.0f}"), ("with", "on", "{:.0f}"),
    ("more", "more", "{:.1f}"), ("from", "low", "{:.1f}"), ("to", "high", "{:.1f}"),
]
WAY_COLUMNS = [
    ("row", "key", "{}"), ("bridged", "bridged", "{:.0f}"), ("this way", "cycles", "{:.0f}"),
    ("more", "more", "{:.0f}"),
]
AGAINST_COLUMNS = [
    ("row", "key", "{}"), ("this", "this", "{:.1f}"), ("other", "other", "{:.1f}"),
    ("this/other", "ratio", "{:.4f}"), ("from", "low", "{:.4f}"), ("to", "high", "{:.4f}"),
    ("turns", "turns", "{}"), ("verdict", "verdict", "{}"),
]
RFC2544_COLUMNS = [
    ("throughput", "name", "{}"), ("Mpps", "mpps", "{:.3f}"), ("from", "mpps_low", "{:.3f}"),
    ("to", "mpps_high", "{:.3f}"), ("Gb/s", "gbps", "{:.1f}"), ("to io", "ratio_io", "{:.2f}"),
    ("to OVS", "ratio_ovs", "{:.2f}"), ("flood", "flood_mpps", "{:.3f}"),
    ("limit", "limit_is", "{}"),
]
RFC2544_LATENCY = [("latency, us", "name", "{}")] + [
    (f"{load}% {what}", f"{what}_{load}_us", "{:.1f}") for load in (10, 50, 90)
    for what in ("p50", "p99")]
RFC2544_CURVE = [("loss, %", "name", "{}")] + [
    (f"{load}%", f"loss_{load}", "{:.2g}") for load in (120, 110, 100, 90, 80, 70, 60, 50)]
RFC2544_BURST = [
    ("back-to-back", "name", "{}"), ("frames", "burst", "{:.0f}"), ("from", "burst_low", "{:.0f}"),
    ("to", "burst_high", "{:.0f}"),
]
RFC2544_LOST = [
    ("lost frames", "name", "{}"), ("trials", "n_trials", "{}"), ("lossy", "lossy", "{}"),
    ("lost", "lost", "{}"), ("beside gaps", "lost_beside_gaps", "{}"),
    ("waited", "device_waited_us", "{:.0f}"), ("longest", "longest_gap_us", "{:.0f}"),
    ("own gaps", "generator_gaps", "{}"), ("PFC", "pauses", "{}"),
]
EARLIER_COLUMNS = [
    ("row", "key", "{}"), ("by", "by", "{}"), ("now", "this", "{:.4g}"),
    ("earlier", "other", "{:.4g}"), ("change", "change", "{:+.1%}"), ("verdict", "verdict", "{}"),
]
LAB_COLUMNS = [
    ("row", "key", "{}"), ("M hops/s", "mhops", "{:.2f}"), ("least", "least", "{:.2f}"),
]
STAGE_COLUMNS = [("stage", "stage", "{}"), ("cycles", "cycles", "{:.1f}")]
SECTIONS = [
    ("against", "this build against the other, cycles per packet", AGAINST_COLUMNS),
    ("packet", "Weir on two endless net_pcap ports, cycles per packet", PACKET_COLUMNS),
    ("flows", "a flow table, cycles per packet of 74 B", FLOWS_COLUMNS),
    ("elephants", "elephants in the flow table, cycles per packet of 74 B", ELEPHANTS_COLUMNS),
    ("way", "other ways than bridging, cycles per packet of 74 B", WAY_COLUMNS),
    ("xdp", "AF_XDP on veth, busy cycles per packet, medians", XDP_COLUMNS),
    ("start", "start and memory", START_COLUMNS),
    ("rfc2544", "RFC 2544 through two net_memif ports", RFC2544_COLUMNS),
    ("rfc2544", "latency at shares of the throughput", RFC2544_LATENCY),
    ("rfc2544", "loss at shares of the flood's rate", RFC2544_CURVE),
    ("rfc2544", "longest burst without loss", RFC2544_BURST),
    ("rfc2544", "lost frames, and gaps of the cores in us", RFC2544_LOST),
    ("lab", "the lab, packet-hops a second of processor time", LAB_COLUMNS),
    ("stage", "stages alone, cycles per packet at 74 B", STAGE_COLUMNS),
    ("earlier", "this run against the earlier one", EARLIER_COLUMNS),
]


def complete(rows):
    """Adds the figures that compare one row with another."""
    by_key = {row["key"]: row for row in rows}
    for row in rows:
        if row["kind"] != "packet":
            continue
        for peer in ("macswap", "ovs"):
            if row.get(peer):
                row[f"ratio_{peer}"] = row["cycles"] / row[peer]
        one = by_key.get(re.sub(r"^\d+w", "1w", row["key"]).replace("/stays", ""))
        if row["workers"] > 1 and one:
            row["speedup"] = row["mpps"] / one["mpps"]
        small = by_key.get(re.sub(r"/\d+B/", "/74B/", row["key"]), {})
        if row.get("switch") and small.get("switch"):
            row["switch_to_74B"] = row["switch"] / small["switch"]


def verdicts(rows):
    """One dict per target whose row was measured."""
    by_key = {row["key"]: row for row in rows}
    found = []
    for key, figure, limit, aim, how in TARGETS:
        value = by_key.get(key, {}).get(figure)
        if value is not None:
            found.append({"row": key, "figure": figure, "value": value, "limit": limit,
                          "aim": aim, "how": how, "ok": HOW[how](value, limit),
                          "reached": aim is not None and HOW[how](value, aim)})
    return found


def cells_of(rows, columns):
    """The columns that some row has a value for: heads and lines of text."""
    used = [c for c in columns if any(row.get(c[1]) is not None for row in rows)]
    lines = [[c[2].format(row[c[1]]) if row.get(c[1]) is not None else "" for c in used]
             for row in rows]
    return [c[0] for c in used], lines


def plain(heads, lines):
    widths = [max(map(len, column)) for column in zip(heads, *lines)]
    for line in [heads, *lines]:
        first, *rest = [(c, w) for c, w in zip(line, widths)]
        yield ("  " + first[0].ljust(first[1]) + "".join(f"  {c:>{w}}" for c, w in rest)).rstrip()


def markdown_table(heads, lines):
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    for line in lines:
        yield "| " + " | ".join(line) + " |"


def target_lines(rows):
    heads = ["target", "figure", "measured", "limit", "aim", ""]
    lines = [[v["row"], WORDS[v["figure"]], f"{v['value']:.4g}", f"{v['how']} {v['limit']}",
              "" if v["aim"] is None else str(v["aim"]),
              "missed" if not v["ok"] else "aim reached" if v["reached"] else "ok"]
             for v in verdicts(rows)]
    return heads, lines


def sections(result):
    rows = result["rows"] + result.get("compared", [])
    for kind, title, columns in SECTIONS:
        chosen = [row for row in rows if row["kind"] == kind]
        if chosen:
            yield title, cells_of(chosen, columns)
    heads, lines = target_lines(result["rows"])
    if lines:
        yield "targets", (heads, lines)


def text(result):
    out = [result["machine"]["summary"]]
    for title, (heads, lines) in sections(result):
        out += ["", title, *plain(heads, lines)]
    if result["skipped"]:
        out += ["", *[f"not measured: {line}" for line in result["skipped"]]]
    for note in result.get("notes", []):
        out += ["", textwrap.fill(note, 78, break_on_hyphens=False)]
    return "\n".join(out)


def markdown(result):
    out = [f"Machine: {result['machine']['summary']}."]
    for title, (heads, lines) in sections(result):
        out += ["", f"### {title[0].upper()}{title[1:]}", "", *markdown_table(heads, lines)]
    if result["skipped"]:
        out += ["", *[f"* Not measured: {line}." for line in result["skipped"]]]
    if result.get("notes"):
        out += ["", *[f"* {note[0].upper()}{note[1:]}." for note in result["notes"]]]
    return "\n".join(out)
