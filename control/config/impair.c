// SPDX-License-Identifier: Apache-2.0
#include "control/config/impair.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "control/base/schema.h"
#include "control/base/units.h"
#include "control/config/addr.h"
#include "dataplane/packet/wire.h"
#include "dataplane/policy.h"

enum { MAX_DEPTH = 16, MAX_BRANCHES = 4 * IMPAIR_MAX_TESTS, WORD_LEN = 64 };

enum op { TERM, AND, OR, NOT };

// The tree of a match, before its tests have places.
struct branch {
	enum op op;
	unsigned size; // tests
	const struct branch *a, *b;
	struct impair_test test; // TERM
};

struct parser {
	const char *text, *p;
	struct impair_mistake *why;
	unsigned depth, n_branches;
	bool failed;
	struct branch branches[MAX_BRANCHES];
};

// The first mistake is kept; others would follow from it. NULL.
__attribute__((format(printf, 3, 4))) static void *note_first_mistake(struct parser *ps,
								      const char *where,
								      const char *fmt, ...)
{
	va_list ap;

	if (ps->failed)
		return NULL;
	ps->failed = true;
	ps->why->column = (unsigned)(where - ps->text) + 1;
	va_start(ap, fmt);
	vsnprintf(ps->why->text, sizeof(ps->why->text), fmt, ap);
	va_end(ap);
	return NULL;
}

static void skip_space(struct parser *ps)
{
	while (isspace((unsigned char)*ps->p))
		ps->p++;
}

static bool take_sign(struct parser *ps, const char *sign)
{
	skip_space(ps);
	if (strncmp(ps->p, sign, strlen(sign)) != 0)
		return false;
	ps->p += strlen(sign);
	return true;
}

static bool of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

// The next word, which may be empty. A long one is cut; no name is as long.
static const char *read_rule_word(struct parser *ps, char out[WORD_LEN])
{
	const char *begin;
	unsigned n = 0;

	skip_space(ps);
	for (begin = ps->p; of_word(*ps->p); ps->p++)
		if (n < WORD_LEN - 1)
			out[n++] = *ps->p;
	out[n] = '\0';
	return begin;
}

// Text of the user that is safe and short enough for a message.
static const char *shown(const char *text, char out[WORD_LEN])
{
	unsigned n = 0;

	for (; *text != '\0' && n < 24; text++)
		out[n++] = isprint((unsigned char)*text) ? *text : '?';
	out[n] = '\0';
	return n != 0 ? out : "the end";
}
#define SHOWN(text) shown(text, (char[WORD_LEN]){""})

// ---- names

static const struct {
	const char *name;
	uint32_t max;
} fields[] = {
#define X(id, name, max, help) [IMPAIR_##id] = {name, max},
	IMPAIR_FIELDS(X)
#undef X
};

static const struct {
	const char *name;
	uint8_t field;
} words[] = {
#define X(id, name, help) {name, IMPAIR_##id},
	IMPAIR_WORDS(X)
#undef X
	{"random", IMPAIR_RANDOM}, {"every", IMPAIR_EVERY}};

static const struct named {
	const char *name;
	uint32_t value;
} ecns[] = {{"not_ect", ECN_NOT_ECT}, {"ect0", ECN_ECT0}, {"ect1", ECN_ECT1}, {"ce", ECN_CE},
	    {NULL, 0}},
  opcodes[] = {{"RC_SEND_FIRST", RC_SEND_FIRST},
	       {"RC_SEND_MIDDLE", RC_SEND_MIDDLE},
	       {"RC_SEND_LAST", RC_SEND_LAST},
	       {"RC_SEND_LAST_IMM", RC_SEND_LAST_IMM},
	       {"RC_SEND_ONLY", RC_SEND_ONLY},
	       {"RC_SEND_ONLY_IMM", RC_SEND_ONLY_IMM},
	       {"RC_WRITE_FIRST", RC_WRITE_FIRST},
	       {"RC_WRITE_MIDDLE", RC_WRITE_MIDDLE},
	       {"RC_WRITE_LAST", RC_WRITE_LAST},
	       {"RC_WRITE_LAST_IMM", RC_WRITE_LAST_IMM},
	       {"RC_WRITE_ONLY", RC_WRITE_ONLY},
	       {"RC_WRITE_ONLY_IMM", RC_WRITE_ONLY_IMM},
	       {"RC_READ_REQUEST", RC_READ_REQUEST},
	       {"RC_READ_RESPONSE_FIRST", RC_READ_RESPONSE_FIRST},
	       {"RC_READ_RESPONSE_MIDDLE", RC_READ_RESPONSE_MIDDLE},
	       {"RC_READ_RESPONSE_LAST", RC_READ_RESPONSE_LAST},
	       {"RC_READ_RESPONSE_ONLY", RC_READ_RESPONSE_ONLY},
	       {"RC_ACK", RC_ACK},
	       {"RC_ATOMIC_ACK", RC_ATOMIC_ACK},
	       {"RC_COMPARE_SWAP", RC_COMPARE_SWAP},
	       {"RC_FETCH_ADD", RC_FETCH_ADD},
	       {"UD_SEND_ONLY", UD_SEND_ONLY},
	       {"UD_SEND_ONLY_IMM", UD_SEND_ONLY_IMM},
	       {"CNP", ROCE_CNP},
	       {NULL, 0}};

enum { N_WORDS = sizeof(words) / sizeof(words[0]),
       N_TERMS = N_WORDS + sizeof(fields) / sizeof(fields[0]) };

static const char roce_prefix[] = "roce.";
enum { PREFIX_LEN = sizeof(roce_prefix) - 1 };

// Words, fields, and fields again without the prefix that may be left out.
static const char *term_name(const void *ctx, unsigned i)
{
	const char *name = i < N_WORDS ? words[i].name
				       : fields[(i - N_WORDS) % IMPAIR_N_FIELDS].name;

	(void)ctx;
	return i >= N_TERMS && strncmp(name, roce_prefix, PREFIX_LEN) == 0 ? name + PREFIX_LEN
									   : name;
}

static const char *value_name(const void *ctx, unsigned i)
{
	return ((const struct named *)ctx)[i].name;
}

// "roce.psn", and "psn" where no other field has that name.
static bool is_field(const char *text, const char *name)
{
	return strcmp(text, name) == 0 ||
	       (strncmp(name, roce_prefix, PREFIX_LEN) == 0 &&
		strcmp(text, name + PREFIX_LEN) == 0);
}

// ---- values

static bool number_text(const char *text, uint64_t *out)
{
	bool hex = strncasecmp(text, "0x", 2) == 0;
	char *end;

	if (!isxdigit((unsigned char)text[hex ? 2 : 0]) || strlen(text) > 12)
		return false;
	*out = strtoull(text, &end, hex ? 16 : 10);
	return *end == '\0';
}

// A name of a value is at its place in the table; case does not count, nor whether - or _ stands
// between words.
static bool named_value(struct parser *ps, const struct named *names, const char *what,
			uint32_t *out)
{
	char text[WORD_LEN];
	const char *where, *closest, *begin;
	unsigned n = 0;
	uint64_t v;

	skip_space(ps);
	where = begin = ps->p;
	for (; of_word(*ps->p) || (*ps->p == '-' && isalpha((unsigned char)*begin)); ps->p++)
		if (n < WORD_LEN - 1)
			text[n++] = *ps->p == '-' ? '_' : *ps->p;
	text[n] = '\0';
	for (n = 0; names[n].name != NULL; n++)
		if (strcasecmp(names[n].name, text) == 0) {
			*out = names[n].value;
			return true;
		}
	if (number_text(text, &v) && v <= UINT32_MAX) {
		*out = (uint32_t)v;
		return true;
	}
	closest = schema_closest(text, n, value_name, names);
	return note_first_mistake(ps, where, "%s is no %s%s%s", SHOWN(text), what,
				  closest != NULL ? ": did you mean " : " and no number",
				  closest != NULL ? closest : "") != NULL;
}

// False with the mistake.
static bool value(struct parser *ps, const struct impair_test *t, uint32_t *out)
{
	uint32_t most = t->divisor != 0 ? t->divisor - 1 : fields[t->field].max;
	const char *where;
	char text[WORD_LEN];
	uint64_t v;

	skip_space(ps);
	where = ps->p;
	if (t->divisor == 0 && (t->field == IMPAIR_OPCODE || t->field == IMPAIR_ECN)) {
		if (!named_value(ps, t->field == IMPAIR_OPCODE ? opcodes : ecns,
				 t->field == IMPAIR_OPCODE ? "opcode" : "ECN", out))
			return false;
		v = *out;
	} else {
		read_rule_word(ps, text);
		if (!number_text(text, &v))
			return note_first_mistake(ps, where, "expected a number, not %s",
						  SHOWN(where)) != NULL;
	}
	if (v > most && t->divisor != 0)
		return note_first_mistake(ps, where, "a remainder of %u is at most %u", t->divisor,
					  most) != NULL;
	if (v > most)
		return note_first_mistake(ps, where, "%s is at most %u", fields[t->field].name,
					  most) != NULL;
	*out = (uint32_t)v;
	return true;
}

static bool parse_address_test(struct parser *ps, struct impair_test *t)
{
	struct policy_addr a;
	char text[WORD_LEN];
	const char *where;
	unsigned n = 0;

	skip_space(ps);
	where = ps->p;
	for (; isxdigit((unsigned char)*ps->p) || (*ps->p != '\0' && strchr(".:/", *ps->p));
	     ps->p++)
		if (n < WORD_LEN - 1)
			text[n++] = *ps->p;
	text[n] = '\0';
	if (!addr_parse(text, &a))
		return note_first_mistake(ps, where, "expected an address or a prefix, not %s",
					  SHOWN(where)) != NULL;
	t->family = a.family == FAMILY_V4 ? 4 : 6;
	t->prefix = a.len;
	memcpy(t->addr, a.ip, sizeof(t->addr));
	return true;
}

// ---- terms

static struct branch *new_branch(struct parser *ps, const char *where)
{
	if (ps->n_branches == MAX_BRANCHES)
		return note_first_mistake(ps, where, "has too many terms");
	return memset(&ps->branches[ps->n_branches++], 0, sizeof(struct branch));
}

static bool divisor(struct parser *ps, struct impair_test *t)
{
	char text[WORD_LEN];
	const char *where;
	uint64_t v;

	where = read_rule_word(ps, text);
	if (!number_text(text, &v) || v < 2 || v > UINT32_MAX)
		return note_first_mistake(ps, where, "expected a divisor from 2 on, not %s",
					  SHOWN(where)) != NULL;
	t->divisor = (uint32_t)v;
	t->inverse = impair_inverse(t->divisor);
	return true;
}

// `in A - B`, of which A is not above B.
static bool range(struct parser *ps, struct impair_test *t)
{
	const char *where;

	skip_space(ps);
	where = ps->p;
	if (!value(ps, t, &t->low))
		return false;
	if (!take_sign(ps, "-"))
		return note_first_mistake(ps, ps->p, "expected - and the end of the range") != NULL;
	if (!value(ps, t, &t->high))
		return false;
	return t->low <= t->high || note_first_mistake(ps, where, "the range is empty") != NULL;
}

// == < and the others, and what is behind them.
static bool comparison(struct parser *ps, struct impair_test *t)
{
	enum { EQ, NE, LE, GE, LT, GT, N_OPS };
	static const char *const signs[N_OPS] = {"==", "!=", "<=", ">=", "<", ">"};
	bool ip = t->field == IMPAIR_SRC || t->field == IMPAIR_DST;
	const char *where;
	unsigned op = 0;
	uint32_t v;

	skip_space(ps);
	where = ps->p;
	while (op < N_OPS && !take_sign(ps, signs[op]))
		op++;
	if (op == N_OPS && *where == '=')
		return note_first_mistake(ps, where, "write == to compare: = is no comparison") !=
		       NULL;
	if (op == N_OPS)
		return note_first_mistake(ps, where, "expected a comparison, ==, != or in, not %s",
					  SHOWN(where)) != NULL;
	t->differs = op == NE;
	if (ip && op != EQ && op != NE)
		return note_first_mistake(ps, where, "an address is compared with == or !=") !=
		       NULL;
	if (ip)
		return parse_address_test(ps, t);
	skip_space(ps);
	where = ps->p;
	if (!value(ps, t, &v))
		return false;
	if (op == LT && v == 0)
		return note_first_mistake(ps, where, "nothing is below 0") != NULL;
	t->low = op == LE || op == LT ? 0 : op == GT ? v + 1 : v;
	t->high = op == GE || op == GT ? UINT32_MAX : op == LT ? v - 1 : v;
	return true;
}

// P% as a share of 2^32.
static bool chance(struct parser *ps, uint64_t *out)
{
	const char *where, *why;
	char text[WORD_LEN];
	int64_t ppm;

	where = read_rule_word(ps, text);
	if (!take_sign(ps, "%") || text[0] == '\0')
		return note_first_mistake(ps, where, "expected a share, as 1%% or 0.01%%") != NULL;
	strncat(text, "%", WORD_LEN - 1 - strlen(text));
	if (!unit_parse(UNIT_PERCENT, text, &ppm, &why) || ppm <= 0 || ppm > 1000000)
		return note_first_mistake(ps, where,
					  "expected a share above 0%% and up to 100%%") != NULL;
	*out = (((uint64_t)ppm << 32) + 999999) / 1000000;
	return true;
}

static bool finish_term(struct parser *ps, struct impair_test *t)
{
	char text[WORD_LEN];
	const char *where;
	uint64_t v;

	if (t->field == IMPAIR_RANDOM)
		return chance(ps, &t->inverse);
	if (t->field == IMPAIR_EVERY) {
		where = read_rule_word(ps, text);
		if (!number_text(text, &v) || v < 1 || v > UINT32_MAX)
			return note_first_mistake(ps, where, "expected a number of frames, not %s",
						  SHOWN(where)) != NULL;
		t->high = (uint32_t)v;
		return true;
	}
	if (t->field > IMPAIR_BEFORE_WORDS)
		return true;
	if (t->field == IMPAIR_SRC || t->field == IMPAIR_DST)
		return comparison(ps, t);
	if (take_sign(ps, "%") && !divisor(ps, t))
		return false;
	skip_space(ps);
	if (strncmp(ps->p, "in", 2) == 0 && !of_word(ps->p[2])) {
		ps->p += 2;
		return range(ps, t);
	}
	return comparison(ps, t);
}

static const struct branch *term(struct parser *ps)
{
	char text[WORD_LEN];
	const char *where = read_rule_word(ps, text), *closest;
	struct branch *n = new_branch(ps, where);
	unsigned i = 0;

	if (n == NULL)
		return NULL;
	if (text[0] == '\0')
		return note_first_mistake(ps, where, "expected a field, a word, ! or (, not %s",
					  SHOWN(where));
	while (i < N_TERMS &&
	       (i < N_WORDS ? strcmp(text, words[i].name) != 0
			    : !is_field(text, fields[i - N_WORDS].name)))
		i++;
	if (i == N_TERMS) {
		closest = schema_closest(text, N_TERMS + IMPAIR_N_FIELDS, term_name, NULL);
		return note_first_mistake(ps, where, "there is no field %s%s%s", SHOWN(text),
					  closest != NULL ? ": did you mean " : "",
					  closest != NULL ? closest : "");
	}
	n->size = 1;
	n->test.field = i < N_WORDS ? words[i].field : (uint8_t)(i - N_WORDS);
	return finish_term(ps, &n->test) ? n : NULL;
}

// ---- the tree

static const struct branch *match(struct parser *ps);

static const struct branch *join_branches(struct parser *ps, enum op op, const struct branch *a,
					  const struct branch *b)
{
	struct branch *n = a == NULL || (op != NOT && b == NULL) ? NULL : new_branch(ps, ps->p);

	if (n == NULL)
		return NULL;
	n->op = op;
	n->a = a;
	n->b = b;
	n->size = a->size + (op == NOT ? 0 : b->size);
	if (n->size > IMPAIR_MAX_TESTS)
		return note_first_mistake(ps, ps->p, "has more than %d terms", IMPAIR_MAX_TESTS);
	return n;
}

static const struct branch *not(struct parser *ps)
{
	const struct branch *n = NULL;

	skip_space(ps);
	if (++ps->depth > MAX_DEPTH) {
		note_first_mistake(ps, ps->p, "is nested more than %d deep", MAX_DEPTH);
	} else if (take_sign(ps, "!")) {
		n = join_branches(ps, NOT, not(ps), NULL);
	} else if (take_sign(ps, "(")) {
		n = match(ps);
		if (n != NULL && !take_sign(ps, ")"))
			n = note_first_mistake(ps, ps->p, "expected ), not %s", SHOWN(ps->p));
	} else {
		n = term(ps);
	}
	ps->depth--;
	return n;
}

static const struct branch *and(struct parser *ps)
{
	const struct branch *n = not(ps);

	while (n != NULL && take_sign(ps, "&&"))
		n = join_branches(ps, AND, n, not(ps));
	return n;
}

static const struct branch *match(struct parser *ps)
{
	const struct branch *n = and(ps);

	while (n != NULL && take_sign(ps, "||"))
		n = join_branches(ps, OR, n, and(ps));
	return n;
}

// Writes the tests of the tree from place `at` on. hit, miss: where to go with each result.
static void place_branch_tests(struct impair_match *m, const struct branch *n, unsigned at,
			       unsigned hit, unsigned miss)
{
	if (n->op == NOT) {
		place_branch_tests(m, n->a, at, miss, hit);
	} else if (n->op == TERM) {
		m->test[at] = n->test;
		m->test[at].hit = (uint8_t)hit;
		m->test[at].miss = (uint8_t)miss;
	} else {
		unsigned b = at + n->a->size;

		place_branch_tests(m, n->a, at, n->op == AND ? b : hit, n->op == AND ? miss : b);
		place_branch_tests(m, n->b, b, hit, miss);
	}
}

static bool keep_text(struct parser *ps, char *out, size_t len)
{
	if (strlen(ps->text) >= len)
		return note_first_mistake(ps, ps->text + len - 1, "is longer than %zu characters",
					  len - 1) != NULL;
	memcpy(out, ps->text, strlen(ps->text) + 1);
	return true;
}

bool impair_parse_match(const char *text, struct impair_rule *rule, struct impair_mistake *why)
{
	struct parser ps = {.text = text, .p = text, .why = why};
	const struct branch *n;

	memset(&rule->match, 0, sizeof(rule->match));
	if (!keep_text(&ps, rule->match_text, sizeof(rule->match_text)))
		return false;
	skip_space(&ps);
	if (*ps.p == '\0')
		return true;
	n = match(&ps);
	skip_space(&ps);
	if (n != NULL && *ps.p != '\0')
		n = note_first_mistake(&ps, ps.p, "expected && or ||, not %s", SHOWN(ps.p));
	if (n == NULL)
		return false;
	rule->match.n = (uint8_t)n->size;
	place_branch_tests(&rule->match, n, 0, IMPAIR_HIT, IMPAIR_MISS);
	return true;
}

// ---- help

void impair_help(FILE *out)
{
	static const struct {
		const char *name, *help;
	} rows[] = {
#define X(id, name, max, help) {name, help},
		IMPAIR_FIELDS(X)
#undef X
#define X(id, name, help) {name, help},
		IMPAIR_WORDS(X)
#undef X
		{"random P%", "in P of 100 frames, by chance"},
		{"every N", "each Nth frame that comes here"},
	}, actions[] = {
#define X(id, name, args, help) {name args, help},
		IMPAIR_ACTIONS(X)
#undef X
	};

	fputs("EXPRESSION joins terms with && || ! ( ). A term is a word, or a field with ==,\n"
	      "!=, <, <=, >, >= or `in A - B`. A field may be a remainder: psn%1000. Fields and\n"
	      "words:\n", out);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "  %-12s %s\n", rows[i].name, rows[i].help);
	fputs("Actions:\n", out);
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		fprintf(out, "  %-20s %s\n", actions[i].name, actions[i].help);
}

// ---- actions

static bool delay(struct parser *ps, struct impair_rule *r)
{
	char text[WORD_LEN];
	const char *where = read_rule_word(ps, text), *why = "";
	int64_t ns = 0;

	if (!unit_parse(UNIT_TIME, text, &ns, &why) || ns <= 0 || ns > IMPAIR_DELAY_MAX_NS)
		return note_first_mistake(ps, where, "expected a time up to 1s, as 10us, not %s",
					  SHOWN(where)) != NULL;
	r->delay_ns = (uint64_t)ns;
	return true;
}

static bool gap(struct parser *ps, struct impair_rule *r)
{
	char text[WORD_LEN];
	const char *where = read_rule_word(ps, text);
	uint64_t v;

	if (!number_text(text, &v) || v < 1 || v > IMPAIR_GAP_MAX)
		return note_first_mistake(ps, where,
					  "expected a number of frames from 1 to %d, not %s",
					  IMPAIR_GAP_MAX, SHOWN(where)) != NULL;
	r->gap = (uint16_t)v;
	return true;
}

static bool parse_corrupt_part(struct parser *ps, struct impair_rule *r)
{
	char text[WORD_LEN];
	const char *where = read_rule_word(ps, text);

	r->part = strcmp(text, "payload") == 0 ? IMPAIR_PAYLOAD : IMPAIR_ICRC;
	if (r->part == IMPAIR_ICRC && strcmp(text, "icrc") != 0)
		return note_first_mistake(ps, where, "expected icrc or payload, not %s",
					  SHOWN(where)) != NULL;
	return true;
}

bool impair_parse_action(const char *text, struct impair_rule *rule, struct impair_mistake *why)
{
	struct parser ps = {.text = text, .p = text, .why = why};
	char name[WORD_LEN];
	const char *where;
	bool good = true;

	if (!keep_text(&ps, rule->action_text, sizeof(rule->action_text)))
		return false;
	where = read_rule_word(&ps, name);
	rule->chance = 1ull << 32;
	rule->action = 0;
	while (rule->action < N_IMPAIR_ACTIONS &&
	       strcmp(name, impair_action_name[rule->action]) != 0)
		rule->action++;
	skip_space(&ps);
	switch ((enum impair_action)rule->action) {
	case IMPAIR_ACT_DELAY: good = delay(&ps, rule); break;
	case IMPAIR_ACT_REORDER: good = gap(&ps, rule); break;
	case IMPAIR_ACT_CORRUPT: good = parse_corrupt_part(&ps, rule); break;
	case IMPAIR_ACT_CE: good = *ps.p == '\0' || chance(&ps, &rule->chance); break;
	case IMPAIR_ACT_DROP:
	case IMPAIR_ACT_DUPLICATE: break;
	case N_IMPAIR_ACTIONS:
		return note_first_mistake(
			&ps, where,
			"%s is no action: give drop, delay TIME, duplicate, reorder N, "
			"ce [P%%], corrupt icrc or corrupt payload", SHOWN(where)) != NULL;
	}
	skip_space(&ps);
	if (good && *ps.p != '\0')
		return note_first_mistake(&ps, ps.p, "expected the end, not %s", SHOWN(ps.p)) !=
		       NULL;
	return good;
}
