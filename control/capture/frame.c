// SPDX-License-Identifier: Apache-2.0
#include "control/capture/frame.h"

#include <inttypes.h>
#include <stdarg.h>

#include "control/capture/pcapng.h"
#include "dataplane/drop.h"

__attribute__((format(printf, 3, 4))) static void add(char *out, size_t *at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out + *at, CAPTURE_COMMENT_LEN - *at, fmt, ap);
	va_end(ap);
	if (n > 0)
		*at += (size_t)n;
	if (*at > CAPTURE_COMMENT_LEN - 1)
		*at = CAPTURE_COMMENT_LEN - 1;
}

void capture_comment(char out[CAPTURE_COMMENT_LEN], const struct capture_record *r)
{
	static const char *const dir[] = {[TAP_IN] = "in", [TAP_OUT] = "out", [TAP_DROP] = "drop"};
	size_t at = 0;

	add(out, &at, "dir=%s", r->direction <= TAP_DROP ? dir[r->direction] : "unknown");
	if (r->cls != CLASS_NONE)
		add(out, &at, " class=%u", r->cls);
	else if (r->direction == TAP_OUT)
		add(out, &at, " origin=switch");
	if (r->flags & CAPTURE_HAS_QUEUE)
		add(out, &at, " queue=%u queue_bytes=%" PRIu32, r->queue, r->queue_bytes);
	if (r->flags & CAPTURE_MARKED)
		add(out, &at, " mark=ce");
	if (r->direction == TAP_DROP)
		add(out, &at, " reason=%s",
		    r->reason < N_DROP_REASONS ? drop_info[r->reason].name : "unknown");
}

static enum pcapng_direction direction_of(const struct capture_record *r)
{
	if (r->direction == TAP_IN)
		return PCAPNG_INBOUND;
	return r->direction == TAP_OUT ? PCAPNG_OUTBOUND : PCAPNG_NO_DIRECTION;
}

bool capture_frame_write(FILE *out, uint32_t interface, const struct capture_record *r,
			 const uint8_t *data)
{
	char comment[CAPTURE_COMMENT_LEN];
	struct pcapng_frame frame = {
		.interface = interface,
		.t_ns = r->t_ns,
		.data = data,
		.captured = r->captured,
		.len = r->len,
		.direction = direction_of(r),
		.queue = r->flags & CAPTURE_HAS_QUEUE ? r->queue : PCAPNG_NO_QUEUE,
		.comment = comment,
	};

	capture_comment(comment, r);
	return pcapng_frame(out, &frame);
}
