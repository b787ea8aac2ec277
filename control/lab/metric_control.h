// SPDX-License-Identifier: Apache-2.0
// Getters of functions of the lab (metric.h) about control: DCBX, iNOF and its paths, bursts, and
// thresholds of ECN.
#pragma once

#include "control/lab/metric.h"

double metric_dcbx_agreed(const struct metric_part *at);
double metric_dcbx_mismatches(const struct metric_part *at);
double metric_dcbx_events(const struct metric_part *at);
double metric_bursts(const struct metric_part *at); // of the queue
double metric_ecn_changes(const struct metric_part *at);
double metric_kmin(const struct metric_part *at); // in force, as the next
double metric_kmax(const struct metric_part *at);
double metric_notices(const struct metric_part *at);
double metric_notices_repeated(const struct metric_part *at);
double metric_notice_acks(const struct metric_part *at);
double metric_inof_hosts(const struct metric_part *at);
double metric_inof_peer_hosts(const struct metric_part *at);
double metric_outage(const struct metric_world *w, uint32_t flow);
double metric_path_moves(const struct metric_world *w, uint32_t flow);
double metric_failed(const struct metric_world *w, uint32_t flow);
