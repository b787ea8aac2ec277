# SPDX-License-Identifier: Apache-2.0
"""A CONFIG_DB after SONiC's schema, for three slow ports: TABLE -> key -> field -> text."""

PORTS = ("Ethernet0", "Ethernet4", "Ethernet8")
LOSSLESS = (3, 4)


def of_ports(key, row):
    return {f"{port}{key}": dict(row) for port in PORTS}


def tables(speed_mbps=40):
    lossless, lossy = "pg_lossless_profile", "ingress_lossy_profile"
    queue = {i: {"scheduler": "scheduler.1" if i in LOSSLESS else "scheduler.0"} for i in range(7)}
    for i in LOSSLESS:
        queue[i]["wred_profile"] = "AZURE_LOSSLESS"
    dscp = {str(d): "1" for d in range(64)}
    dscp.update({"3": "3", "4": "4", "26": "3", "28": "4", "46": "5", "48": "6", "8": "0"})
    identity = {str(i): str(i) for i in range(8)}
    groups = {str(i): str(i) if i in LOSSLESS else "0" for i in range(8)}
    db = {
        "DEVICE_METADATA": {"localhost": {"hostname": "weir", "hwsku": "Force10-S6000",
                                          "platform": "x86_64-kvm_x86_64-r0", "type": "ToRRouter"}},
        "PORT": {port: {"alias": f"fortyGigE0/{i}", "lanes": str(i), "speed": str(speed_mbps),
                        "mtu": "1500", "admin_status": "up"} for i, port in enumerate(PORTS)},
        "CABLE_LENGTH": {"AZURE": {port: "5m" for port in PORTS}},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"size": "1500000", "type": "ingress", "mode": "dynamic",
                                      "xoff": "600000"},
            "egress_lossless_pool": {"size": "2100000", "type": "egress", "mode": "static"},
            "egress_lossy_pool": {"size": "1000000", "type": "egress", "mode": "dynamic"},
        },
        "BUFFER_PROFILE": {
            lossless: {"pool": "ingress_lossless_pool", "size": "20480", "xon": "18432",
                       "xoff": "96256", "dynamic_th": "-3"},
            lossy: {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0",
                                        "static_th": "2100000"},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1664",
                                     "dynamic_th": "3"},
        },
        "BUFFER_PG": of_ports("|3-4", {"profile": lossless}) | of_ports("|0", {"profile": lossy}),
        "BUFFER_QUEUE": (of_ports("|3-4", {"profile": "egress_lossless_profile"}) |
                         of_ports("|0-2", {"profile": "egress_lossy_profile"}) |
                         of_ports("|5-6", {"profile": "egress_lossy_profile"})),
        "DSCP_TO_TC_MAP": {"AZURE": dscp},
        "TC_TO_QUEUE_MAP": {"AZURE": identity},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": groups},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": identity},
        "PORT_QOS_MAP": of_ports("", {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE",
                                      "tc_to_pg_map": "AZURE", "pfc_to_queue_map": "AZURE",
                                      "pfc_enable": "3,4"}),
        "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"},
                      "scheduler.1": {"type": "DWRR", "weight": "15"}},
        "WRED_PROFILE": {"AZURE_LOSSLESS": {
            "wred_green_enable": "true", "green_min_threshold": "30000",
            "green_max_threshold": "120000", "green_drop_probability": "5", "ecn": "ecn_all"}},
        "QUEUE": {f"{port}|{i}": dict(row) for port in PORTS for i, row in queue.items()},
        "PFC_WD": of_ports("", {"action": "drop", "detection_time": "400",
                                "restoration_time": "400"}) |
                  {"GLOBAL": {"POLL_INTERVAL": "400"}},
    }
    return db


def commands(db):
    """Lines for redis-cli that write the tables."""
    for table, rows in db.items():
        for key, fields in rows.items():
            words = " ".join(f'"{f}" "{v}"' for f, v in fields.items()) or '"NULL" "NULL"'
            yield f'HSET "{table}|{key}" {words}'
