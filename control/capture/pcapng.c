// SPDX-License-Identifier: Apache-2.0
#include "control/capture/pcapng.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "dataplane/drop.h"
#include "dataplane/packet/classify.h"

// A block while it is put together: type, length, body, and the length again.
enum { BLOCK_ROOM = PCAPNG_MAX_FRAME + 4 * PCAPNG_MAX_TEXT, BLOCK_LEN_AT = 4 };

enum block_type {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_FRAME = 6,
};

enum { OPT_END = 0, OPT_COMMENT = 1 };
enum { SHB_USERAPPL = 4 };
enum { IF_NAME = 2, IF_DESCRIPTION = 3, IF_SPEED = 8, IF_TSRESOL = 9, IF_FILTER = 11 };
enum { EPB_FLAGS = 2, EPB_QUEUE = 6 };
enum {
	ISB_STARTTIME = 2,
	ISB_ENDTIME = 3,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
	ISB_FILTERACCEPT = 6,
	ISB_USRDELIV = 8,
};
enum { BYTE_ORDER_MAGIC = 0x1a2b3c4d, LINKTYPE_ETHERNET = 1, TSRESOL_NS = 9, FILTER_IS_TEXT = 0 };

struct block {
	size_t len;
	uint8_t bytes[BLOCK_ROOM];
};

// Every field is bounded (PCAPNG_MAX_FRAME, PCAPNG_MAX_TEXT, three texts at most), so that there is
// always room.
static void put_block_bytes(struct block *b, const void *data, size_t len)
{
	memcpy(b->bytes + b->len, data, len);
	b->len += len;
}

static void put_uint(struct block *b, uint64_t v, unsigned n_bytes)
{
	for (unsigned i = 0; i < n_bytes; i++)
		b->bytes[b->len++] = (uint8_t)(v >> (8 * i));
}

static void pad(struct block *b)
{
	while (b->len % 4 != 0)
		b->bytes[b->len++] = 0;
}

static void begin_block(struct block *b, enum block_type type)
{
	b->len = 0;
	put_uint(b, type, 4);
	put_uint(b, 0, 4); // the length, once it is known
}

static bool end_block(struct block *b, FILE *out)
{
	size_t total = b->len + 4;

	put_uint(b, total, 4);
	b->len = BLOCK_LEN_AT;
	put_uint(b, total, 4);
	return fwrite(b->bytes, 1, total, out) == total;
}

static void option_uint(struct block *b, unsigned code, uint64_t v, unsigned n_bytes)
{
	put_uint(b, code, 2);
	put_uint(b, n_bytes, 2);
	put_uint(b, v, n_bytes);
	pad(b);
}

// lead: a byte before the text, -1 for none.
static void option_text(struct block *b, unsigned code, int lead, const char *text)
{
	size_t len;

	if (text == NULL || text[0] == '\0')
		return;
	len = strnlen(text, PCAPNG_MAX_TEXT - 8);
	put_uint(b, code, 2);
	put_uint(b, len + (lead >= 0), 2);
	if (lead >= 0)
		put_uint(b, (uint64_t)lead, 1);
	put_block_bytes(b, text, len);
	pad(b);
}

// 64-bit times are written as two words, the high one first.
static void put_time(struct block *b, uint64_t t_ns)
{
	put_uint(b, t_ns >> 32, 4);
	put_uint(b, t_ns & 0xffffffff, 4);
}

static void option_time(struct block *b, unsigned code, uint64_t t_ns)
{
	put_uint(b, code, 2);
	put_uint(b, 8, 2);
	put_time(b, t_ns);
}

static void option_end(struct block *b)
{
	put_uint(b, OPT_END, 4);
}

bool pcapng_section(FILE *out, const char *application)
{
	struct block b;

	begin_block(&b, BLOCK_SECTION);
	put_uint(&b, BYTE_ORDER_MAGIC, 4);
	put_uint(&b, 1, 2); // version 1.0
	put_uint(&b, 0, 2);
	put_uint(&b, UINT64_MAX, 8); // length of the section: not known yet
	option_text(&b, SHB_USERAPPL, -1, application);
	option_end(&b);
	return end_block(&b, out);
}

bool pcapng_interface(FILE *out, const struct pcapng_interface *i)
{
	struct block b;

	begin_block(&b, BLOCK_INTERFACE);
	put_uint(&b, LINKTYPE_ETHERNET, 2);
	put_uint(&b, 0, 2);
	put_uint(&b, i->snaplen, 4);
	option_text(&b, IF_NAME, -1, i->name);
	option_text(&b, IF_DESCRIPTION, -1, i->description);
	if (i->speed_bps != 0)
		option_uint(&b, IF_SPEED, i->speed_bps, 8);
	option_uint(&b, IF_TSRESOL, TSRESOL_NS, 1);
	option_text(&b, IF_FILTER, FILTER_IS_TEXT, i->filter);
	option_end(&b);
	return end_block(&b, out);
}

bool pcapng_frame(FILE *out, const struct pcapng_frame *f)
{
	uint32_t captured = f->captured < PCAPNG_MAX_FRAME ? f->captured : PCAPNG_MAX_FRAME;
	struct block b;

	begin_block(&b, BLOCK_FRAME);
	put_uint(&b, f->interface, 4);
	put_time(&b, f->t_ns);
	put_uint(&b, captured, 4);
	put_uint(&b, f->len, 4);
	put_block_bytes(&b, f->data, captured);
	pad(&b);
	option_text(&b, OPT_COMMENT, -1, f->comment);
	if (f->direction != PCAPNG_NO_DIRECTION)
		option_uint(&b, EPB_FLAGS, f->direction, 4);
	if (f->queue != PCAPNG_NO_QUEUE)
		option_uint(&b, EPB_QUEUE, (uint64_t)f->queue, 4);
	option_end(&b);
	return end_block(&b, out);
}

bool pcapng_statistics(FILE *out, const struct pcapng_statistics *s)
{
	struct block b;

	begin_block(&b, BLOCK_STATISTICS);
	put_uint(&b, s->interface, 4);
	put_time(&b, s->t_ns);
	option_time(&b, ISB_STARTTIME, s->begin_ns);
	option_time(&b, ISB_ENDTIME, s->end_ns);
	option_uint(&b, ISB_IFRECV, s->received, 8);
	option_uint(&b, ISB_IFDROP, s->dropped, 8);
	option_uint(&b, ISB_FILTERACCEPT, s->accepted, 8);
	option_uint(&b, ISB_USRDELIV, s->delivered, 8);
	option_end(&b);
	return end_block(&b, out);
}

// ---- frames of a tap

__attribute__((format(printf, 3, 4))) static void append_comment(char *out, size_t *at,
								 const char *fmt, ...)
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

	append_comment(out, &at, "dir=%s",
		       r->direction <= TAP_DROP ? dir[r->direction] : "unknown");
	if (r->cls != CLASS_NONE)
		append_comment(out, &at, " class=%u", r->cls);
	else if (r->direction == TAP_OUT)
		append_comment(out, &at, " origin=switch");
	if (r->flags & CAPTURE_HAS_QUEUE)
		append_comment(out, &at, " queue=%u queue_bytes=%" PRIu32, r->queue,
			       r->queue_bytes);
	if (r->flags & CAPTURE_MARKED)
		append_comment(out, &at, " mark=ce");
	if (r->flags & CAPTURE_TRIMMED)
		append_comment(out, &at, " trim=%u", r->trim_queue);
	if (r->direction == TAP_DROP)
		append_comment(out, &at, " reason=%s",
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
