// SPDX-License-Identifier: Apache-2.0
// One end of a TCP connection (RFC 9293): NewReno (RFC 5681, RFC 6582, limited transmit of RFC
// 3042, initial window of RFC 6928), SACK (RFC 2018, RFC 6675), the retransmission timer (RFC
// 6298), ECN (RFC 3168) and DCTCP (RFC 8257). It decides which segment leaves next, with which
// flags and acknowledgement. Pure: segments are plain values, time is an argument. Called by the
// owner of the NIC.
//
// Not in it: timestamps, D-SACK, urgent data, FIN and RST (a connection of the lab ends out of
// band), window probes (the receiver takes data at once, so its window never closes), Nagle's
// algorithm.
//
//   pos  0 ........ una ............. nxt ............. max ............. end
//        SYN  acknowledged   in flight     to be sent again     not yet sent
//
// Positions count bytes of one direction in 64 bits: 0 is the SYN, 1 the first byte of payload. On
// the wire position p is the sequence number iss + p.
//
//   active:  CLOSED --SYN--> SYN_SENT --SYN+ACK--> OPEN
//   passive: LISTEN --SYN arrives--> SYN_RCVD --ACK of the SYN--> OPEN
//
// Congestion control of an open connection, per ACK of new data (n bytes):
//   slow start (cwnd < ssthresh)       cwnd += min(n, mss)
//   congestion avoidance               cwnd += mss for each cwnd bytes acknowledged
//   third duplicate ACK                ssthresh = max(flight / 2, 2 mss), send una again,
//                                      cwnd = ssthresh + 3 mss, recovery until max is acknowledged
//   the same with SACK                 cwnd = ssthresh; then what is lost, or new data, as long as
//                                      cwnd - pipe holds a segment (RFC 6675: pipe is the
//                                      bytes under way by the blocks that the receiver has sent)
//   timer                              ssthresh = max(flight / 2, 2 mss), cwnd = mss, nxt = una,
//                                      RTO doubles
//   ECE, once a window                 NewReno: cwnd = ssthresh = max(cwnd / 2, 2 mss)
//                                      DCTCP:   cwnd = ssthresh = max(cwnd (1 - alpha / 2), 2 mss)
//   DCTCP, once a window               alpha += g (marked bytes / acknowledged bytes - alpha)
//
// cwnd grows only while it is what limits the sender: when less than one segment of it was unused.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum tcp_cc { TCP_NEWRENO, TCP_DCTCP, N_TCP_CCS };

enum {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_PSH = 0x08,
	TCP_ACK = 0x10,
	TCP_ECE = 0x40,
	TCP_CWR = 0x80,
};

enum {
	TCP_MAX_RANGES = 256, // of data behind gaps that a receiver keeps, or a sender knows of
	TCP_MAX_SACKS = 3, // blocks in a segment: as many as fit beside a timestamp
	TCP_MAX_ACKS = 64, // that wait to be sent; further ones replace the last
	TCP_ALPHA_Q = 30, // alpha is a fraction of 2^30
	TCP_MAX_WINDOW = 1 << 30,
};

struct tcp_params {
	uint8_t cc; // enum tcp_cc
	bool ecn; // to be negotiated; DCTCP needs it
	bool sack; // to be negotiated
	bool stream; // payload without end: no segment pushes
	uint16_t mss; // payload bytes
	uint16_t ack_every; // segments per ACK
	uint16_t initial_segments; // of the congestion window
	uint32_t window_bytes; // receive window, mss..TCP_MAX_WINDOW
	uint32_t g_num, g_den; // DCTCP's gain
	uint64_t rto_min_ns, rto_initial_ns; // least RTO; RTO before the first sample
	uint64_t delayed_ack_ns;
};

// A segment. seq and ack are those of the wire.
struct tcp_seg {
	uint32_t seq, ack;
	uint16_t window; // as on the wire: scaled but in a SYN
	uint8_t flags; // TCP_SYN ...
	uint16_t mss; // option of a SYN; 0: absent
	int8_t scale; // option of a SYN; -1: absent
	bool sack_ok; // option of a SYN
	uint8_t n_sacks;
	struct tcp_block {
		uint32_t begin, end;
	} sacks[TCP_MAX_SACKS];
	bool ect; // to be sent with the connection's ECN codepoint, else Not-ECT
	uint32_t len; // payload
	uint64_t offset; // where the payload stands in the stream, of segments to be sent
};

enum tcp_phase { TCP_CLOSED, TCP_LISTEN, TCP_SYN_SENT, TCP_SYN_RCVD, TCP_OPEN };

struct tcp_range {
	uint64_t begin, end;
};

// Ascending, apart from each other.
struct tcp_ranges {
	uint32_t n;
	struct tcp_range at[TCP_MAX_RANGES];
};

struct tcp_ack {
	uint64_t pos;
	bool ece;
};

struct tcp_stats {
	uint64_t retransmissions, timeouts, fast_retransmits;
	uint64_t acks_sent, acks_received, duplicate_acks;
	uint64_t ece_received; // ACKs with ECE
	uint64_t ecn_cuts; // windows that an ECE reduced
	uint64_t out_of_order, duplicates; // segments
	uint64_t ignored; // segments outside of what may arrive
};

struct tcp {
	struct tcp_params p;
	uint8_t phase; // enum tcp_phase
	bool ecn, sack; // negotiated
	uint8_t own_scale, peer_scale;
	uint16_t mss; // the lesser of both ends
	uint32_t iss, irs;

	// The sender.
	uint64_t una, nxt, max, end;
	uint32_t cwnd, ssthresh, peer_window; // bytes
	uint32_t grown_bytes; // acknowledged since cwnd last grew in congestion avoidance
	uint32_t dup_acks, limited_bytes; // sent because of the first two duplicate ACKs
	uint64_t recover; // max when the last loss was found
	uint64_t cut_at; // max when cwnd was last reduced
	uint64_t backed_off_at; // una at the last timeout; 0: there was none
	bool in_recovery, first_partial, resend; // resend: una goes again
	bool syn_due, syn_lost, cwr_due;
	uint64_t rto_ns, srtt_ns, rttvar_ns, timer_ns; // timer: UINT64_MAX off; srtt 0: no sample
	struct tcp_ranges sacked; // above una
	uint64_t high_rxt; // SACK: what lies below has been sent again in this recovery
	bool timed; // a round trip is being measured
	uint64_t timed_pos, timed_ns, last_tx_ns;
	uint32_t alpha; // DCTCP
	uint64_t window_end, acked_bytes, marked_bytes;

	// The receiver.
	uint64_t rcv_nxt; // 0: no SYN yet
	bool ece; // RFC 3168: until CWR; DCTCP: the last segment was marked
	uint32_t unacked; // segments since the last ACK
	uint64_t delayed_ns; // when the delayed ACK is due; UINT64_MAX: none
	uint32_t n_acks, ack_head;
	struct tcp_ranges kept; // above rcv_nxt
	uint64_t last_kept; // where the last segment behind a gap began
	struct tcp_ack acks[TCP_MAX_ACKS];

	struct tcp_stats stats;
};

// active: this end sends the SYN, at once.
void tcp_init(struct tcp *t, const struct tcp_params *p, bool active, uint32_t iss);

// The owner has so many bytes of payload to send altogether, ever; never fewer than before.
void tcp_offer(struct tcp *t, uint64_t n_bytes, uint64_t now_ns);

// Whether a segment may leave now, and which; changes nothing.
bool tcp_next(const struct tcp *t, struct tcp_seg *s);
// That segment has left.
void tcp_sent(struct tcp *t, const struct tcp_seg *s, uint64_t now_ns);

// A segment arrived, with CE or not. Returns how many bytes of payload have come to be in order.
uint64_t tcp_on_segment(struct tcp *t, const struct tcp_seg *s, bool ce, uint64_t now_ns);

// When tcp_on_timer has something to do; UINT64_MAX: never.
uint64_t tcp_deadline(const struct tcp *t);
void tcp_on_timer(struct tcp *t, uint64_t now_ns);

// Payload bytes that the peer has acknowledged, and that were taken in order.
static inline uint64_t tcp_acked(const struct tcp *t)
{
	return t->una == 0 ? 0 : t->una - 1;
}
static inline uint64_t tcp_received(const struct tcp *t)
{
	return t->rcv_nxt == 0 ? 0 : t->rcv_nxt - 1;
}
