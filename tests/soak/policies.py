# SPDX-License-Identifier: Apache-2.0
"""The policies that the soak goes through: one text, and what each of them changes in it.

Classes 3 and 5 carry RoCEv2 and are lossless in all of them, since PFC tells their senders to stop.
Class 2 carries numbered datagrams of a kernel host and turns lossless and lossy; class 1 carries
TCP and is lossy. All of these frames have addresses from the file, so none is flooded. Behind p6 is
a hostile neighbour, which sends whatever it likes.
"""

TEXT = """\
switch: {name: %(name)s, mac_age: %(mac_age)s, buffer: {size: 1500KB, cell: %(cell)s, \
headroom_pool: auto, oversubscription: %(oversubscription)s, egress_lossy: %(egress_lossy)s}}
ports:
  - {name: "p[1-2]", device: "xdp:sw[1-2]", speed: %(speed12)s, mtu: %(mtu12)s, cable: %(cable)s, \
rx_guard: %(rx_guard)s, profile: soak}
  - {name: p3, device: "xdp:sw3", speed: %(speed3)s, profile: soak}
  - {name: "p[4-5]", device: "xdp:sw[4-5]", speed: %(speed45)s, profile: soak}
  - {name: p6, device: "xdp:sw6", speed: 40M, profile: soak}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
  - {mac: "02:00:00:00:00:04", port: p4}
  - {mac: "02:00:00:00:00:05", port: p5}
%(fdb)s%(vlans)sprofiles:
  soak:
    trust: dscp
    pfc: {rx: on, tx: on, quanta: %(quanta)s}
    dscp_to_class: {default: 0, %(tcp_dscp)s, 16-23: 2, 24-31: 3, 40-47: 5, 48-55: 6}
    class_to_queue: {1: %(tcp_queue)s}
    classes:
      0: {schedule: {dwrr: 5}}
      1: {schedule: {dwrr: 30}, egress: {%(tcp_limit)s}}
      2: {schedule: {dwrr: 10}, lossless: %(lossless2)s}
      3:
        lossless: true
        schedule: {dwrr: %(weight3)s}
        ingress: {min: 6KB, %(limit3)s, xon_offset: %(xon_offset)s, headroom: %(headroom3)s}
        %(wred)s
      5:
        lossless: true
        schedule: {dwrr: %(weight5)s}
        ingress: {min: 6KB, alpha: %(alpha5)s, xon_offset: %(xon_offset)s, headroom: auto}
        %(wred)s
      6: {schedule: strict}
"""

PLAIN = {
    "mac_age": "300s", "cell": "256B", "oversubscription": "1", "egress_lossy": "100%",
    "speed12": "40M", "mtu12": "1500", "cable": "5m", "rx_guard": "50%", "speed3": "40M",
    "speed45": "40M", "fdb": "", "vlans": "", "quanta": "65535", "tcp_dscp": "8-15: 1",
    "tcp_queue": "1", "tcp_limit": "alpha: 1", "lossless2": "off", "weight3": "60", "weight5": "30",
    "limit3": "alpha: 1", "alpha5": "1", "xon_offset": "18KB", "headroom3": "auto",
    "wred": "wred: {ecn: on, kmin: 50KB, kmax: 400KB, pmax: 100%}",
}

# What a switch takes live. Times that a PAUSE lasts are only ever announced shorter than its
# receiver takes them, since hosts keep their own idea of the speed.
LIVE = [
    {},
    {"limit3": "alpha: 1/4", "alpha5": "2", "xon_offset": "30KB"},
    {"lossless2": "on"},
    {"weight3": "20", "weight5": "70", "lossless2": "on"},
    {"speed3": "32M"},
    {"wred": "wred: {ecn: on, kmin: 10KB, kmax: 40KB, pmax: 50%, mark_at: enqueue, weight: 2}"},
    {"wred": ""},
    {"tcp_dscp": "8-15: 0"},
    {"tcp_queue": "7", "tcp_limit": "static: 30KB"},
    {"speed12": "60M", "speed3": "48M", "speed45": "20M"},
    {"headroom3": "60KB", "oversubscription": "2", "egress_lossy": "40%", "lossless2": "on"},
    {"limit3": "static: 40KB", "alpha5": "1/8"},
    {"quanta": "32768", "cable": "100m", "rx_guard": "30%"},
    {"mtu12": "1200", "mac_age": "10s"},
    {"fdb": '  - {mac: "02:00:00:00:00:99", port: p1}\n'},
    {"fdb": '  - {mac: "02:00:00:00:00:99", port: p2}\n', "vlans": "vlans: [{id: 1}]\n"},
    {"vlans": "vlans: [{id: 1, flood: off}]\n", "lossless2": "on"},
]

# What it must refuse, and whose name it must say.
REFUSED = [
    ({"cell": "128B"}, "switch.buffer.cell: changes only by a restart"),
    ({"mtu12": "3000"}, "is the largest MTU until a restart"),
    ({"weight3": "0"}, "profiles.soak.classes.3.schedule.dwrr"),
    ({"headroom3": "2MB"}, "headroom"),
]


def text_of(name, changes):
    return TEXT % {"name": name, **PLAIN, **changes}
