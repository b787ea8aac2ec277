// SPDX-License-Identifier: Apache-2.0
#include "control/lab/workload.h"

#include "dataplane/packet/wire.h"
#include "dataplane/qos/shaper.h"
#include "drivers/nic/requester.h"

#define LN2_Q64 0xb17217f7d1cf79abu
#define NANOS 1000000000u
#define MILLION 1000000u
#define FOR_EVER (UINT64_MAX >> 1)

uint64_t workload_neg_ln(uint64_t u)
{
	unsigned zeros;
	uint64_t m, fraction = 0, log2_q32;

	if (u == 0)
		u = 1;
	zeros = (unsigned)__builtin_clzll(u);
	m = u << zeros; // 1 <= m / 2^63 < 2
	for (unsigned i = 0; i < 32; i++) {
		m = (uint64_t)((unsigned __int128)m * m >> 64); // the square, halved
		fraction <<= 1;
		if (m >> 63)
			fraction |= 1;
		else
			m <<= 1;
	}
	// -log2(u / 2^64) = zeros + 1 - log2(m)
	log2_q32 = ((uint64_t)(zeros + 1) << 32) - fraction;
	return (uint64_t)((unsigned __int128)log2_q32 * LN2_Q64 >> 64);
}

struct arrivals arrivals_of(uint64_t bytes_q16, uint64_t load, uint64_t speed_bps,
			    uint64_t start_ns)
{
	unsigned __int128 gap = (unsigned __int128)bytes_q16 * 8 * NANOS;
	unsigned __int128 rate = (unsigned __int128)speed_bps * load;
	struct arrivals a = {.mean_q16 = FOR_EVER, .next_q16 = start_ns << 16};

	// The rate in bits per second is speed * load / 10^6.
	if (rate != 0 && gap / rate < FOR_EVER / MILLION)
		a.mean_q16 = (uint64_t)(gap * MILLION / rate);
	return a;
}

uint64_t arrivals_next(struct arrivals *a, struct rng *r)
{
	unsigned __int128 gap =
		(unsigned __int128)a->mean_q16 * workload_neg_ln(rng_next64(r)) >> 32;

	a->next_q16 = gap > FOR_EVER - a->next_q16 ? FOR_EVER : a->next_q16 + (uint64_t)gap;
	return a->next_q16 >> 16;
}

static uint64_t frame_bytes(uint8_t opcode, uint32_t payload)
{
	struct roce_pkt p = {.opcode = opcode, .payload_len = payload};

	return roce_frame_len(&p) + (uint64_t)LINK_OVERHEAD_BYTES;
}

const uint8_t *workload_opcodes(uint8_t op)
{
	static const uint8_t opcodes[][4] = {
		[REQ_WRITE] = {RC_WRITE_ONLY, RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST},
		[REQ_SEND] = {RC_SEND_ONLY, RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST},
		[REQ_READ] = {RC_READ_RESPONSE_ONLY, RC_READ_RESPONSE_FIRST,
			      RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_LAST},
	};

	return opcodes[op];
}

uint64_t workload_wire_bytes(uint8_t op, uint32_t mtu, uint32_t n_bytes, uint32_t extra)
{
	const uint8_t *code = workload_opcodes(op);
	uint32_t n = n_bytes == 0 ? 1 : (n_bytes + mtu - 1) / mtu;

	if (n == 1)
		return frame_bytes(code[0], n_bytes) + extra;
	return n * (uint64_t)extra + frame_bytes(code[1], mtu) +
	       (n - 2) * frame_bytes(code[2], mtu) +
	       frame_bytes(code[3], n_bytes - (n - 1) * mtu);
}

enum storage_mode storage_mode_of(const struct storage_params *p, uint32_t n_bytes)
{
	if (n_bytes <= p->small_bytes)
		return STORAGE_SMALL;
	return n_bytes <= p->large_bytes ? STORAGE_DIRECT : STORAGE_CHUNKED;
}

uint32_t storage_request_bytes(const struct storage_params *p, bool is_read, uint32_t n_bytes)
{
	bool carries = !is_read && storage_mode_of(p, n_bytes) == STORAGE_SMALL;

	return p->request_bytes + (carries ? n_bytes : 0);
}

uint32_t storage_reply_bytes(const struct storage_params *p, bool is_read, uint32_t n_bytes)
{
	bool carries = is_read && storage_mode_of(p, n_bytes) == STORAGE_SMALL;

	return p->reply_bytes + (carries ? n_bytes : 0);
}

uint32_t storage_next_bytes(const struct storage_params *p, uint32_t n_bytes, uint32_t moved)
{
	uint32_t left = n_bytes - moved;

	switch (storage_mode_of(p, n_bytes)) {
	case STORAGE_DIRECT:
		return left;
	case STORAGE_CHUNKED:
		return left < p->chunk_bytes ? left : p->chunk_bytes;
	default:
		return 0;
	}
}
