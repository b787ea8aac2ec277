// SPDX-License-Identifier: Apache-2.0
// Bytes that entered a switch in flows whose sender's queue pair was known meanwhile, and in the
// others. The switch counts bytes of a flow and knows its pair now; the book looks at all flows at
// each sample and adds up what they have grown by. Control thread only; it is kept from when
// somebody first asks.
//
//   at both looks     the pair that it had at both, of the same source
//   first seen        static, cm, read: known before its data came. Others: as none
//   anything else     none
//
// So the share that is paired is never more than true, and less by what flows carried between two
// looks while they were paired.
#pragma once

#include <stdint.h>

#include "dataplane/switch_flows.h"

struct flow_seen {
	struct flow_key key;
	uint64_t first_ns, bytes;
	uint8_t source; // enum pair_source
};

struct flow_book {
	struct flow_seen *seen; // by place
	uint32_t n_places;
	uint64_t bytes[N_PAIR_SOURCES];
	uint64_t looked_ns;
	bool short_of_memory;
};

// At now_ns; a second look at the same instant changes nothing.
void flow_book_look(struct flow_book *b, struct weir_switch *sw, uint64_t now_ns);
void flow_book_fini(struct flow_book *b);
