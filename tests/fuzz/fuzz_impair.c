// SPDX-License-Identifier: Apache-2.0
// Any text as a match and as an action of an impairment, and any frame under it: refused with one
// message at its place, or a program whose tests lead forwards and that gives an answer for each
// frame. The text with ! in front of it gives the other answer, unless chance or memory decides.
//
//   input: the length of the text, the text, and the frame
#include "tests/fuzz/fuzz.h"

#include "control/config/impair.h"

enum { LONGEST = 512 };

static struct impair_memory memory;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void check_mistake(const char *text, const struct impair_mistake *why)
{
	FUZZ_CHECK(why->column >= 1 && why->column <= strlen(text) + 1);
	FUZZ_CHECK(memchr(why->text, '\0', sizeof(why->text)) != NULL && why->text[0] != '\0');
	for (const char *p = why->text; *p != '\0'; p++)
		FUZZ_CHECK((unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f);
}

// Whether a frame alone decides.
static bool check_program(const struct impair_match *m)
{
	bool plain = true;

	FUZZ_CHECK(m->n <= IMPAIR_MAX_TESTS);
	for (unsigned i = 0; i < m->n; i++) {
		const struct impair_test *t = &m->test[i];

		FUZZ_CHECK(t->hit == IMPAIR_HIT || t->hit == IMPAIR_MISS ||
			   (t->hit > i && t->hit < m->n));
		FUZZ_CHECK(t->miss == IMPAIR_HIT || t->miss == IMPAIR_MISS ||
			   (t->miss > i && t->miss < m->n));
		FUZZ_CHECK(t->prefix <= 128);
		plain &= t->field < IMPAIR_ONCE;
	}
	return plain;
}

static bool matches(const struct impair_rule *r, const struct impair_frame *f)
{
	impair_memory_init(&memory, 1);
	return impair_matches(&r->match, &memory, f);
}

static void try_match(const char *text, const struct impair_frame *f)
{
	char other[LONGEST + 4];
	struct impair_rule r, not;
	struct impair_mistake why;
	bool plain;

	if (!impair_parse_match(text, &r, &why)) {
		check_mistake(text, &why);
		return;
	}
	FUZZ_CHECK(strcmp(r.match_text, text) == 0);
	plain = check_program(&r.match);
	(void)matches(&r, f);
	snprintf(other, sizeof(other), "!(%s)", text);
	if (!plain || r.match.n == 0 || !impair_parse_match(other, &not, &why))
		return;
	FUZZ_CHECK(check_program(&not.match) && not.match.n == r.match.n);
	FUZZ_CHECK(matches(&r, f) != matches(&not, f));
}

static void try_action(const char *text)
{
	struct impair_mistake why;
	struct impair_rule r;

	if (!impair_parse_action(text, &r, &why)) {
		check_mistake(text, &why);
		return;
	}
	FUZZ_CHECK(r.action < N_IMPAIR_ACTIONS && r.chance >= 1 && r.chance <= 1ull << 32);
	FUZZ_CHECK(r.action != IMPAIR_ACT_DELAY ||
		   (r.delay_ns >= 1 && r.delay_ns <= IMPAIR_DELAY_MAX_NS));
	FUZZ_CHECK(r.action != IMPAIR_ACT_REORDER || (r.gap >= 1 && r.gap <= IMPAIR_GAP_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = {data, len};
	size_t n = fuzz_u16(&in) % LONGEST;
	const uint8_t *text = fuzz_take(&in, &n);
	uint32_t icrc, payload, left = (uint32_t)in.left;
	char copy[LONGEST];
	struct pkt_info pkt;
	uint8_t *frame;

	memcpy(copy, text, n);
	copy[n] = '\0';
	try_action(copy);
	frame = malloc(left + 1); // ends where the frame ends, so that a read behind it is found
	FUZZ_CHECK(frame != NULL);
	memcpy(frame, in.at, left);
	if (parse(frame, left, &pkt)) {
		struct impair_frame f = {.eth = frame, .pkt = &pkt, .stored = left, .len = left,
					 .cls = left & 7};

		try_match(copy, &f);
		if (impair_icrc(&f, &icrc, &payload))
			FUZZ_CHECK(payload <= icrc && icrc + 4 <= left);
	}
	free(frame);
	return 0;
}
