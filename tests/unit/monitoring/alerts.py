# SPDX-License-Identifier: Apache-2.0
"""Series for `promtool test rules`: for each alert of weir.rules series with which it must fire,
after so many minutes, and series with which it must not. A value is promtool's: `0+1x20` grows by 1
at each of 20 steps of 15 s, `5x20` stays 5.
"""
P1 = 'instance="sw1",port="p1"'
C3 = P1 + ',class="3"'
G3 = P1 + ',pg="3",class="3"'

# alert: (minutes, series with which it fires, series with which it does not)
CASES = {
    "WeirLosslessDrop": (
        1, {'weir_drop_packets_total{%s,reason="pool",lossless="true"}' % C3: "0 0 1x40"},
        {'weir_drop_packets_total{%s,reason="pool",lossless="true"}' % C3: "7x40",
         'weir_drop_packets_total{%s,reason="wred",lossless="false"}' % C3: "0+9x40"}),
    "WeirRxMissed": (1, {"weir_port_rx_missed_total{%s}" % P1: "0 3x40"},
                     {"weir_port_rx_missed_total{%s}" % P1: "3x40"}),
    "WeirPfcStorm": (1, {"weir_watchdog_stormed{%s}" % C3: "1x40"},
                     {"weir_watchdog_stormed{%s}" % C3: "0x40",
                      "weir_watchdog_detected_total{%s}" % C3: "4x40"}),
    "WeirPfcStorm, over": (1, {"weir_watchdog_stormed{%s}" % C3: "0x40",
                               "weir_watchdog_detected_total{%s}" % C3: "4 5x40"}, {}),
    "WeirWatchdogEscalated": (1, {'weir_watchdog_info{%s,status="port-down"}' % C3: "1x40"},
                              {'weir_watchdog_info{%s,status="stormed"}' % C3: "1x40"}),
    "WeirHeadroomNearlyUsed": (
        1, {"weir_pg_headroom_bytes{%s}" % G3: "81x40",
            "weir_pg_config_headroom_bytes{%s}" % G3: "100x40"},
        {"weir_pg_headroom_bytes{%s}" % G3: "80x40",
         "weir_pg_config_headroom_bytes{%s}" % G3: "100x40",
         'weir_pg_headroom_bytes{instance="sw1",port="p1",pg="0",class="0"}': "0x40",
         'weir_pg_config_headroom_bytes{instance="sw1",port="p1",pg="0",class="0"}': "0x40"}),
    "WeirBufferNearHeadroom": (
        3, {"weir_pg_min_bytes{%s}" % G3: "20x40", "weir_pg_shared_bytes{%s}" % G3: "71x40",
            "weir_pg_xoff_at_bytes{%s}" % G3: "100x40", "weir_pg_lossless{%s}" % G3: "1x40"},
        {"weir_pg_min_bytes{%s}" % G3: "20x40", "weir_pg_shared_bytes{%s}" % G3: "71x40",
         "weir_pg_xoff_at_bytes{%s}" % G3: "100x40", "weir_pg_lossless{%s}" % G3: "0x40"}),
    "WeirPfcRateHigh": (3, {"weir_pfc_tx_pause_total{%s}" % C3: "0+15150x40"},
                        {"weir_pfc_tx_pause_total{%s}" % C3: "0+14850x40",
                         "weir_pfc_rx_pause_total{%s}" % C3: "0+14850x40"}),
    "WeirPausedMostOfTheTime": (
        8, {"weir_pfc_rx_pause_duration_seconds_total{%s}" % C3: "0+8x40"},
        {"weir_pfc_rx_pause_duration_seconds_total{%s}" % C3: "0+7x40",
         "weir_pfc_tx_pause_duration_seconds_total{%s}" % C3: "0+7x40"}),
    "WeirDcbxMismatch": (3, {"weir_dcbx_mismatch{%s}" % P1: "1x40"},
                         {"weir_dcbx_mismatch{%s}" % P1: "0x40"}),
    "WeirRoceInLossyClass": (
        9, {"weir_hint_roce_in_lossy_class_total{%s}" % P1: "0+1x40"},
        {"weir_hint_roce_in_lossy_class_total{%s}" % P1: "9x40"}),
    "WeirNotScraped": (3, {'up{instance="sw1",job="weir"}': "0x40"},
                       {'up{instance="sw1",job="weir"}': "1x40",
                        'up{instance="sw1",job="node"}': "0x40"}),
    "WeirWorkerStalled": (1, {'weir_worker_stalls_total{instance="sw1",worker="0"}': "0 1x40"},
                          {'weir_worker_stalls_total{instance="sw1",worker="0"}': "1x40"}),
    "WeirPortDown": (3, {"weir_port_up{%s}" % P1: "0x40", "weir_port_no_device{%s}" % P1: "0x40"},
                     {"weir_port_up{%s}" % P1: "0x40", "weir_port_no_device{%s}" % P1: "1x40"}),
}
