// SPDX-License-Identifier: Apache-2.0
// What the stand-in decides. Pure.
#include "dataplane/units.h"
#include "drivers/standin/standin.h"

enum { QUANTUM_BITS = 512, MAX_QUANTA = UINT16_MAX, REFRESHES = 4 };

__extension__ typedef unsigned __int128 wide;

static uint64_t model_bits(uint64_t real_ns, uint64_t speed_bps, uint32_t time_scale)
{
	uint32_t slower = time_scale > 1 ? time_scale : 1;

	return (uint64_t)((wide)real_ns * speed_bps / SECOND_NS / slower);
}

uint64_t standin_pause_ns(struct standin_order o, uint64_t speed_bps, uint32_t time_scale)
{
	wide model_ns = (wide)o.quanta * QUANTUM_BITS * SECOND_NS / speed_bps;

	return (uint64_t)(model_ns * (time_scale > 1 ? time_scale : 1));
}

struct standin_order standin_order(uint8_t classes, uint64_t speed_bps, uint64_t worker_refresh_ns,
				   uint32_t time_scale)
{
	uint64_t real_refresh_ns = worker_refresh_ns * (time_scale > 1 ? time_scale : 1);
	uint64_t least_ns = real_refresh_ns + STANDIN_REFRESH_NS;
	uint64_t pause_ns = least_ns > STANDIN_PAUSE_NS ? least_ns : STANDIN_PAUSE_NS;
	uint64_t quanta = model_bits(pause_ns, speed_bps, time_scale) / QUANTUM_BITS + 1;
	struct standin_order o = {.classes = classes};

	if (classes == 0)
		return o;
	o.quanta = (uint16_t)(quanta < MAX_QUANTA ? quanta : MAX_QUANTA);
	pause_ns = standin_pause_ns(o, speed_bps, time_scale) / REFRESHES;
	o.refresh_ns = (uint32_t)(pause_ns < STANDIN_REFRESH_NS ? pause_ns : STANDIN_REFRESH_NS);
	return o;
}

enum standin_verdict standin_look(struct standin_watch *w, uint64_t beats, uint64_t pause_after_ns,
				  uint64_t now_ns)
{
	if (beats != w->beats || beats == 0 || pause_after_ns == 0)
		*w = (struct standin_watch){.beats = beats, .since_ns = now_ns};
	if (now_ns - w->since_ns < pause_after_ns || pause_after_ns == 0 || beats == 0)
		return STANDIN_MOVES;
	if (now_ns - w->since_ns >= pause_after_ns + STANDIN_LIMIT_NS)
		return STANDIN_GIVE_UP;
	return STANDIN_SEND;
}
