// SPDX-License-Identifier: Apache-2.0
// The control protocol: one JSON object per line in, one per line out, over server.h.
//
//   {"cmd": "show", "what": "ports", "port": "p1"}         port may be absent or null: all
//      with drops also "all": true, with events also "since": number of the last one known, and
//      "severity": the least, info, warning or alarm,
//      with flows also "limit": 50, "unpaired": true, "elephants": true,
//      with cnps also "count": the last so many
//   {"cmd": "metrics"}                                     data: {"text": page for Prometheus}
//   {"cmd": "set_tx", "port": "p1", "queue": 3, "on": false}   queue absent: the whole port
//   {"cmd": "clear", "what": "counters"}                   or "watermarks"
//   {"cmd": "watchdog_recover", "port": "p1", "class": 3}, {"cmd": "watchdog_drop_all", "on": true}
//   {"cmd": "flow_add", "from": "10.0.0.1", "to": "10.0.0.2", "qp": 18, "sender_qp": 52}, and
//   {"cmd": "flow_del", ...}: the same without sender_qp
//   {"cmd": "inof_local", "digest": "0123456789abcdef"}, {"cmd": "inof_peer", ...},
//   {"cmd": "inof_reflectors", ...}: inof_peers.h; {"cmd": "inof_zones", ...}: peer_zones.h
//   {"cmd": "quiesce", "hold": false}, {"cmd": "resume"}
//   {"cmd": "reload", "file": "/etc/weir.yaml"}   file absent: the one that runs; an absolute path
//      -> data {"reloaded": true, "file", "changed": [keys], "changes": [{"key", "old", "new"}],
//               "warnings": [lines]}
//         or   {"reloaded": false, "file", "mistakes": [lines]}: nothing has changed
//      with "check": true nothing changes, and the answer has "possible": would it be taken?
//      with "confirm_within_ms": 60000 the policy before comes back, unless {"cmd": "confirm"}
//      comes in that time; {"cmd": "rollback"}, answered like a reload, puts it back at once
//   {"cmd": "capture", "port": "p1", ...}, {"cmd": "capture-read"}, {"cmd": "capture-stop"}: their
//      keys and answers are in docs/capture.md
//   -> {"ok": true, "data": {...}} or {"ok": false, "error": "one sentence"}
//
// What a worker must act upon first (TX-enable, quiesce, watermarks, watchdog, reload) is answered
// once it has. All writes to a running switch pass here. Called by the control thread only; now_ns
// is real time.
#pragma once

#include <stdint.h>

struct daemon;
struct requests;

// Serves on listen_fd, which it takes over, also on failure. The switch, its log and views must be
// there. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int requests_create(struct daemon *d, int listen_fd,
							struct requests **out);
void requests_destroy(struct requests *r); // NULL is fine

// Serves clients for up to timeout_ms and answers what has come to its end.
void requests_poll(struct requests *r, int timeout_ms, uint64_t now_ns);
