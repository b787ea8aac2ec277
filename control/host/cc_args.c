// SPDX-License-Identifier: Apache-2.0
#include "control/host/cc_args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "control/config/units.h"

enum { NAMES_LEN = 512 };

static const uint8_t unit_of[] = {
	[CC_TIME] = UNIT_TIME,	 [CC_RATE] = UNIT_RATE,	  [CC_BYTES] = UNIT_BYTES,
	[CC_COUNT] = UNIT_COUNT, [CC_SWITCH] = UNIT_COUNT,
};

struct sink {
	char *err;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static int bad(const struct sink *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->err, s->len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int cc_args_preset(const char *name, struct cc_config *c, char *err, size_t err_len)
{
	const struct sink sink = {err, err_len};
	const struct cc_preset *p = cc_preset_find(name);
	char names[NAMES_LEN] = "dcqcn";

	if (p != NULL) {
		*c = p->config;
		return 0;
	}
	for (unsigned i = 0; i < N_CC_PRESETS; i++) {
		size_t n = strlen(names);

		snprintf(names + n, sizeof(names) - n, ", %s", cc_presets[i].name);
	}
	return bad(&sink, "--cc: \"%s\" is none of %s", name, names);
}

// "3", "3,5" or "" into a bitmap.
static bool parse_classes(const char *text, uint64_t *out)
{
	uint64_t v = 0;

	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '7' || (text[1] != ',' && text[1] != '\0'))
			return false;
		v |= 1ull << (*text - '0');
		if (text[1] == ',')
			text++;
	}
	*out = v;
	return true;
}

static int parse_number(const struct cc_key *key, const char *text, uint64_t *out,
			const struct sink *sink)
{
	enum unit_kind unit = unit_of[key->kind];
	char lo[32], hi[32];
	const char *why;
	int64_t v;

	if (!unit_parse(unit, text, &v, &why))
		return bad(sink, "--cc-set: %s=%s: %s", key->name, text, why);
	if (v < (int64_t)key->min || v > (int64_t)key->max) {
		unit_print(unit, (int64_t)key->min, lo, sizeof(lo));
		unit_print(unit, (int64_t)key->max, hi, sizeof(hi));
		return bad(sink, "--cc-set: %s=%s is outside %s .. %s", key->name, text, lo, hi);
	}
	*out = (uint64_t)v;
	return 0;
}

static int set_key(const struct cc_key *key, const char *text, struct cc_config *c,
		   const struct sink *sink)
{
	uint64_t v = 0;

	if (key->kind == CC_GAIN) {
		if (cc_set_gain(c, text))
			return 0;
		return bad(sink, "--cc-set: %s=%s is no fraction of at most 1 such as 1/256",
			   key->name, text);
	}
	if (key->kind == CC_CLASSES) {
		if (!parse_classes(text, &v))
			return bad(sink, "--cc-set: %s=%s is no list of classes such as 3,5",
				   key->name, text);
	} else if (parse_number(key, text, &v, sink) != 0) {
		return -EINVAL;
	}
	cc_set(c, key, v);
	return 0;
}

static int set_np(const char *text, struct cc_config *c, const struct sink *sink)
{
	static const char *const names[] = {
		[NP_NONE] = "none", [NP_WINDOW] = "window", [NP_GAP] = "gap"};

	for (uint8_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			c->np = i;
			return 0;
		}
	return bad(sink, "--cc-set: np=%s is none of none, window, gap", text);
}

int cc_args_set(const char *text, struct cc_config *c, char *err, size_t err_len)
{
	const struct sink sink = {err, err_len};
	const char *eq = strchr(text, '=');

	if (eq == NULL)
		return bad(&sink, "--cc-set: \"%s\" is not KEY=VALUE, such as g=1/256", text);
	if (strncmp(text, "np=", 3) == 0)
		return set_np(eq + 1, c, &sink);
	for (unsigned i = 0; i < N_CC_KEYS; i++)
		if (strlen(cc_keys[i].name) == (size_t)(eq - text) &&
		    strncmp(text, cc_keys[i].name, (size_t)(eq - text)) == 0)
			return set_key(&cc_keys[i], eq + 1, c, &sink);
	return bad(&sink, "--cc-set: \"%.*s\" is no key of congestion control; docs/dcqcn.md has "
		   "them all",
		   (int)(eq - text), text);
}
