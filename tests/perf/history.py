# SPDX-License-Identifier: Apache-2.0
"""The history of the headline figures: one entry a milestone in docs/history.json, and the page and
the picture that are made from it."""
import json
import os

import output
import report

MARKS = ("<!-- history: scripts/bench --history -->", "<!-- end of history -->")

# Key in history.json, head of the column, row and figure of a run, format.
HEADLINES = [
    ("shallow", "74 B", "1w/74B/16f/shallow", "cycles", "{:.0f}"),
    ("ovs", "OVS", "1w/74B/16f/shallow", "ovs", "{:.0f}"),
    ("to_ovs", "to OVS", "1w/74B/16f/shallow", "ratio_ovs", "{:.2f}"),
    ("to_macswap", "to macswap", "1w/74B/16f/shallow", "ratio_macswap", "{:.2f}"),
    ("standing", "standing", "1w/74B/16f/standing", "cycles", "{:.0f}"),
    ("macs", "1,024 MACs", "1w/74B/1Kf/1024m/shallow", "cycles", "{:.0f}"),
    ("long", "1024 B", "1w/1024B/16f/shallow", "switch_to_74B", "{:.2f}"),
    ("table", "flow table", "flows/64K", "table", "{:.0f}"),
    ("two", "2 workers", "2w/74B/16f/shallow", "speedup", "{:.2f}"),
    ("flood", "flood Mpps", "rfc2544/64/weir", "flood_mpps", "{:.1f}"),
    ("flood_ovs", "flood to OVS", "rfc2544/64/weir", "flood_ratio_ovs", "{:.2f}"),
    ("start", "32 ports s", "start/32 ports", "first_frame_s", "{:.2f}"),
    ("lab", "lab M hops/s", "lab/equilibrium", "mhops", "{:.2f}"),
]
PEER = "rfc2544/64/ovs" # measured for a ratio above
BAR, ROW, LEFT, WIDTH = 10, 34, 190, 640 # of the picture, in pixels
BARS = [("shallow", "#2f6fab"), ("standing", "#b8cde0"), ("ovs", "#e0a050")]


def entry(label, result):
    """The headline figures of a run; those that it has not are left out."""
    rows = {row["key"]: row for row in result["rows"]}
    machine = result["machine"]
    figures = {key: rows[row][figure] for key, _, row, figure, _ in HEADLINES
               if rows.get(row, {}).get(figure) is not None}
    return {"label": label, "date": machine.get("date", ""), "machine": machine["model"],
            "cpus": machine["cpus"], "figures": figures}


def is_headline(name):
    """Whether a job of this name measures one of the figures."""
    return any(row == name or row.startswith(name + "/")
               for row in [PEER, *(row for _, _, row, _, _ in HEADLINES)])


def files(docs):
    return [os.path.join(docs, name) for name in ("history.json", "history.md",
                                                  "plots/history.svg")]


def load(docs):
    path = files(docs)[0]
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return json.load(f)


def table(entries):
    columns = [(head, f"{key}", form) for key, head, _, _, form in HEADLINES
               if any(key in e["figures"] for e in entries)]
    heads = ["milestone", "date", "machine", *[head for head, _, _ in columns]]
    lines = [[e["label"], e["date"], f"{e['machine']}, {e['cpus']} CPUs",
              *[form.format(e["figures"][key]) if key in e["figures"] else ""
                for _, key, form in columns]] for e in entries]
    return "\n".join(report.markdown_table(heads, lines))


def text_at(x, y, text):
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.0f}" y="{y:.0f}">{escaped}</text>'


def picture(entries):
    """Bars of cycles per packet, one group a milestone."""
    values = [e["figures"][key] for e in entries for key, _ in BARS if key in e["figures"]]
    scale = (WIDTH - LEFT - 50) / max(values, default=1)
    height = 30 + ROW * len(entries)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="10">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    for i, ((_, colour), name) in enumerate(zip(BARS, ("shallow queue", "standing queue",
                                                       "Open vSwitch, shallow"))):
        out += [f'<rect x="{LEFT + 130 * i}" y="6" width="9" height="9" fill="{colour}"/>',
                text_at(LEFT + 130 * i + 13, 14, name)]
    for i, e in enumerate(entries):
        top = 24 + ROW * i
        out.append(text_at(4, top + 18, e["label"]))
        for k, (key, colour) in enumerate(BARS):
            if key in e["figures"]:
                long, y = e["figures"][key] * scale, top + BAR * k
                out += [f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="{BAR - 1}" '
                        f'fill="{colour}"/>',
                        text_at(LEFT + long + 4, y + BAR - 1, f"{e['figures'][key]:.0f}")]
    return "\n".join([*out, "</svg>\n"])


def generated(entries):
    """The part of the page that is made from the entries."""
    return ("![Cycles per packet of 74 B, by milestone](plots/history.svg)\n\n" + table(entries)
            if entries else "There is no milestone yet.")


def why_not(docs):
    """Why no milestone can be added there. None: it can."""
    page = files(docs)[1]
    return next(filter(None, map(output.why_not, files(docs))), None) or \
        output.why_no_marks(page, MARKS)


def add(docs, label, result):
    """Adds a milestone, or measures it anew if there is one of that label."""
    data, page, plot = files(docs)
    entries, new = load(docs), entry(label, result)
    at = next((i for i, e in enumerate(entries) if e["label"] == label), len(entries))
    entries[at:at + 1] = [new]
    with open(data, "w") as f:
        json.dump(entries, f, indent=1)
        f.write("\n")
    output.into_page(page, MARKS, generated(entries))
    with open(plot, "w") as f:
        f.write(picture(entries))
