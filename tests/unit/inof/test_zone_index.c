// SPDX-License-Identifier: Apache-2.0
// The index of zones finds what a look at each member finds.
#include "tests/unit/lldp/test.h"

#include <stdio.h>

#include "control/inof/zone_index.h"
#include "dataplane/base/rng.h"

static int port_of(const void *arg, const char *name)
{
	unsigned port;

	(void)arg;
	return sscanf(name, "p%u", &port) == 1 ? (int)port : -1;
}

static void add(struct inof_zone *z, const char *text)
{
	struct inof_member m;

	assert_null(inof_member_parse(text, port_of, NULL, &m));
	assert_int_equal(inof_zone_add(z, text, &m), 0);
}

// What the index says, by a look at each member.
static bool has(const struct inof_zone *z, struct ip_key ip, const struct inof_nqn *nqn, int port)
{
	for (unsigned i = 0; i < z->n; i++) {
		const struct inof_member *m = &z->members[i];

		if ((m->kind == INOF_MEMBER_IP &&
		     inof_ip_is_v6(ip) == inof_ip_is_v6(m->first) &&
		     !inof_ip_is_above(m->first, ip) && !inof_ip_is_above(ip, m->last)) ||
		    (m->kind == INOF_MEMBER_NQN && nqn->len > 0 &&
		     inof_name_matches(m->text, nqn)) ||
		    (m->kind == INOF_MEMBER_PORT && port == m->port))
			return true;
	}
	return false;
}

static struct inof_nqn name(const char *text)
{
	struct inof_nqn n = {.len = (uint8_t)strlen(text)};

	memcpy(n.text, text, n.len);
	return n;
}

static struct ip_key v6(uint8_t last)
{
	const uint8_t ip[16] = {0xfd, [15] = last};

	return ip_key_v6(ip);
}

static void each_kind_of_member_is_found(void **state)
{
	static const char *const members[] = {
		"10.0.0.1", "10.0.1.0/24", "10.0.2.1-10.0.2.9", "fd00::/120", "p3", "nqn.exact",
		"nqn.head*", "*tail", "nqn.both*ends", "*middle*",
		"*a*b*", "p300"};
	static const struct {
		struct ip_key ip;
		const char *nqn;
		int port;
		unsigned zone; // of members; 99: none
	} rows[] = {
		{{0, 0xffff0a000001}, "", -1, 0}, {{0, 0xffff0a000002}, "", -1, 99},
		{{0, 0xffff0a0001ff}, "", -1, 1}, {{0, 0xffff0a000209}, "", -1, 2},
		{{0, 0xffff0a00020a}, "", -1, 99}, {{0xfd00000000000000, 7}, "", -1, 3},
		{{0, 0xffff0b000001}, "", 3, 4}, {{0, 0xffff0b000001}, "", 4, 99},
		{{0, 0xffff0b000001}, "", 300, 11}, {{0, 0xffff0b000001}, "", 44, 99},
		{{0, 0xffff0b000001}, "nqn.exact", -1, 5},
		{{0, 0xffff0b000001}, "nqn.exac", -1, 99},
		{{0, 0xffff0b000001}, "nqn.head", -1, 6}, {{0, 0xffff0b000001}, "nqn.heads", -1, 6},
		{{0, 0xffff0b000001}, "nqn.x-tail", -1, 7}, {{0, 0xffff0b000001}, "tail", -1, 7},
		{{0, 0xffff0b000001}, "nqn.both-ends", -1, 8},
		{{0, 0xffff0b000001}, "nqn.bothends", -1, 8},
		{{0, 0xffff0b000001}, "nqn.bothend", -1, 99},
		{{0, 0xffff0b000001}, "iqn.middle.x", -1, 9},
		{{0, 0xffff0b000001}, "iqn.ab", -1, 10}, {{0, 0xffff0b000001}, "iqn.ba", -1, 99},
	};
	const struct inof_zone *zones[ZONE_SLOTS] = {NULL};
	struct inof_zone z[N(members)] = {0};
	struct zone_index *x;

	(void)state;
	for (unsigned i = 0; i < N(members); i++) {
		add(&z[i], members[i]);
		zones[1 + i] = &z[i];
	}
	x = zone_index_create(zones);
	assert_non_null(x);
	for (unsigned i = 0; i < N(rows); i++) {
		const struct inof_nqn nqn = name(rows[i].nqn);
		uint64_t set[ZONE_WORDS] = {0}, want[ZONE_WORDS] = {0};

		if (rows[i].zone != 99)
			want[0] = 1ull << (1 + rows[i].zone);
		zone_index_find(x, rows[i].ip, &nqn, rows[i].port, set);
		assert_memory_equal(set, want, sizeof(set));
	}
	zone_index_destroy(x);
	for (unsigned i = 0; i < N(members); i++)
		inof_zone_fini(&z[i]);
}

// A small alphabet, so that most members meet some hosts.
static void random_text(struct rng *rng, char *out, unsigned most, const char *letters)
{
	unsigned n = rng_next(rng) % (most + 1);

	for (unsigned i = 0; i < n; i++)
		*out++ = letters[rng_next(rng) % strlen(letters)];
	*out = '\0';
}

static void random_member(struct rng *rng, char out[64])
{
	unsigned a = rng_next(rng) % 64, b = a + rng_next(rng) % 8;

	switch (rng_next(rng) % 8) {
	case 0: sprintf(out, "10.0.0.%u", a); break;
	case 1: sprintf(out, "10.0.0.%u/%u", a & ~3u, 30 + rng_next(rng) % 3); break;
	case 2: sprintf(out, "10.0.0.%u-10.0.0.%u", a, b); break;
	case 3: sprintf(out, rng_next(rng) % 8 ? "fd00::%x-fd00::%x" : "::/0", a, b); break;
	case 4: sprintf(out, "p%u", a % 4); break;
	case 5:
		strcpy(out, "nqn.");
		random_text(rng, out + 4, 5, "ab*");
		break;
	default:
		strcpy(out, "*");
		random_text(rng, out + 1, rng_next(rng) % 2 ? 4 : 12, "aab*");
		break;
	}
}

static void random_members_are_found_as_by_a_look_at_each(void **state)
{
	enum { ROUNDS = 300, ZONES = 40, HOSTS = 50 };
	struct rng rng;
	unsigned found = 0;

	(void)state;
	rng_init(&rng, 5);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const struct inof_zone *zones[ZONE_SLOTS] = {NULL};
		struct inof_zone z[ZONES] = {0};
		struct zone_index *x;

		for (unsigned i = 0; i < ZONES; i++) {
			for (unsigned k = rng_next(&rng) % 6; k > 0; k--) {
				char text[64];

				random_member(&rng, text);
				add(&z[i], text);
			}
			zones[1 + i * 7 % INOF_ZONES] = rng_next(&rng) % 5 ? &z[i] : NULL;
		}
		x = zone_index_create(zones);
		assert_non_null(x);
		for (unsigned i = 0; i < HOSTS; i++) {
			struct ip_key ip = i % 2 ? ip_key_v4(0x0a000000 + rng_next(&rng) % 72)
						 : v6((uint8_t)(rng_next(&rng) % 72));
			uint64_t set[ZONE_WORDS] = {0};
			int port = (int)(rng_next(&rng) % 5) - 1;
			struct inof_nqn nqn;
			char text[64];

			strcpy(text, rng_next(&rng) % 2 ? "nqn." : "");
			random_text(&rng, text + strlen(text), 14, "ab");
			nqn = name(text);
			zone_index_find(x, ip, &nqn, port, set);
			for (unsigned k = 0; k < ZONE_SLOTS; k++) {
				bool in = zones[k] != NULL && has(zones[k], ip, &nqn, port);

				assert_int_equal(set[k / 64] >> k % 64 & 1, in);
				found += in;
			}
		}
		zone_index_destroy(x);
		for (unsigned i = 0; i < ZONES; i++)
			inof_zone_fini(&z[i]);
	}
	assert_in_range(found, ROUNDS * HOSTS, ROUNDS * HOSTS * ZONES / 4);
}

// 999 zones of 256 members each, of one kind: a host costs no more than a small part of them.
static void a_host_costs_no_look_at_each_member(void **state)
{
	enum { ZONES = 999, MOST = 1000 };
	// Before three numbers, between them, behind them.
	static const char *const forms[][3] = {
		{"10.", ".", ""},	 {"nqn.2014-08.org.nvmexpress:host-", "-", ""},
		{"*:host-", "-", ""},	 {"nqn.2014-08.org.nvmexpress:host-", "-", "*"},
		{"*t-", "-", "*"},	 {"nqn.2014-08.org.nvmexpress:*-", "-", ""},
	};

	(void)state;
	for (unsigned f = 0; f < N(forms); f++) {
		const struct inof_zone *zones[ZONE_SLOTS] = {NULL};
		struct inof_zone *z = calloc(ZONES, sizeof(*z));
		const struct inof_nqn nqn = name("nqn.2014-08.org.nvmexpress:host-3-7-42");
		uint64_t set[ZONE_WORDS] = {0};
		struct zone_index *x;
		char text[64];

		assert_non_null(z);
		for (unsigned i = 0; i < ZONES; i++) {
			for (unsigned k = 0; k < INOF_MEMBERS; k++) {
				snprintf(text, sizeof(text), "%s%u%c%u%c%u%s", forms[f][0], i / 256,
					 forms[f][1][0], i % 256, forms[f][1][0], k, forms[f][2]);
				add(&z[i], text);
			}
			zones[1 + i] = &z[i];
		}
		x = zone_index_create(zones);
		assert_non_null(x);
		assert_in_range(zone_index_find(x, ip_key_v4(0x0a03072a), &nqn, -1, set), 1, MOST);
		assert_int_equal(set[(1 + 3 * 256 + 7) / 64] >> (1 + 3 * 256 + 7) % 64 & 1, 1);
		zone_index_destroy(x);
		for (unsigned i = 0; i < ZONES; i++)
			inof_zone_fini(&z[i]);
		free(z);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_member_is_found),
		cmocka_unit_test(random_members_are_found_as_by_a_look_at_each),
		cmocka_unit_test(a_host_costs_no_look_at_each_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
