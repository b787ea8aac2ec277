// SPDX-License-Identifier: Apache-2.0
// ICMP of a routed port, so that ping and traceroute see the router: echo replies for its own
// addresses (RFC 792, RFC 4443 4.2), and Time Exceeded (RFC 1812 5.3.1, RFC 4443 3.3). The frame
// itself turns round: it leaves by the port where it came in, to the station that sent it, in the
// class in which it came. So an answer takes no memory, and is buffered as any frame is.
#pragma once

#include "dataplane/switch_impl.h"

// Makes the answer to an echo request of the frame itself: N_DROP_REASONS. Else the reason to drop
// the frame.
enum drop_reason icmp_answer(struct worker *w, struct port *p, struct frame *f,
			     const struct pkt_info *pkt);
// Makes a Time Exceeded message of the frame itself: N_DROP_REASONS. Else the reason to drop it.
enum drop_reason icmp_time_exceeded(struct worker *w, struct port *p, struct frame *f,
				    const struct pkt_info *pkt);
