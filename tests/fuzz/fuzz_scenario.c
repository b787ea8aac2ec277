// SPDX-License-Identifier: Apache-2.0
// Any text as a scenario file, with any --set edits: it is loaded, its fabric is laid out and its
// policies are compiled, or it is refused with messages that say why.
//
//   input: the file; then, each behind a NUL, path and value of edits
#include "source_root.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "control/lab/fabric.h"
#include "control/lab/scenario.h"

enum { MAX_SETS = 8, MOST_SWITCHES = 8 };

#define POLICY SOURCE_ROOT "/conf/roce.yaml"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void check_lines(const struct diags *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		const char *c = d->lines[i];

		FUZZ_CHECK(strstr(c, ": ") != NULL);
		for (; *c != '\0'; c++)
			FUZZ_CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
	FUZZ_CHECK(d->n <= d->n_messages && d->n_errors <= d->n_messages);
}

static void check_ends(const struct scenario *sc, uint32_t link)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct sc_end *e = &sc->links[link].end[side];

		if (!e->is_switch) {
			FUZZ_CHECK(e->node < sc->n_hosts && sc->hosts[e->node].link == link);
			continue;
		}
		FUZZ_CHECK(e->node < sc->n_switches &&
			   e->port < sc->switches[e->node].n_ports);
		FUZZ_CHECK(sc->switches[e->node].ports[e->port].link == link &&
			   sc->switches[e->node].ports[e->port].side == side);
	}
}

static void check_scenario(const struct scenario *sc)
{
	FUZZ_CHECK(sc->n_hosts > 0 && sc->n_hosts <= SC_MAX_HOSTS);
	FUZZ_CHECK(sc->duration_ns > 0 && sc->sample_ns > 0);
	for (uint32_t i = 0; i < sc->n_hosts; i++)
		FUZZ_CHECK(sc->hosts[i].link < sc->n_links);
	for (uint32_t i = 0; i < sc->n_links; i++) {
		FUZZ_CHECK(sc->links[i].speed_bps > 0);
		check_ends(sc, i);
	}
	for (uint32_t i = 0; i < sc->n_faults; i++) {
		FUZZ_CHECK(sc->faults[i].at_ns < sc->duration_ns);
		FUZZ_CHECK(sc->faults[i].kind < N_SC_FAULTS);
	}
}

static bool may_compile(const struct scenario *sc)
{
	for (uint32_t i = 0; i < sc->n_switches; i++)
		if (strcmp(sc->switches[i].policy_file, POLICY) != 0)
			return false;
	for (uint32_t i = 0; i < sc->n_faults; i++)
		if (sc->faults[i].policy_file != NULL)
			return false;
	return sc->n_switches <= MOST_SWITCHES;
}

static void load(const struct sc_input *in)
{
	struct scenario *sc = NULL;
	struct diags d = {0};
	int err = scenario_parse(in, &sc, &d);

	check_lines(&d);
	FUZZ_CHECK(err == 0 || err == -EINVAL);
	FUZZ_CHECK((err == 0) == (d.n_errors == 0) && (err == 0) == (sc != NULL));
	if (err == 0) {
		check_scenario(sc);
		if (may_compile(sc))
			(void)!fabric_check(sc, &d);
		check_lines(&d);
	}
	scenario_destroy(sc);
	diags_fini(&d);
}

// What lies between two NULs, or to the end; terminated in a copy of the input.
static char *word(char **at, const char *end)
{
	char *w = *at;

	if (w >= end)
		return NULL;
	*at += strlen(w) + 1;
	return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *copy = malloc(len + 1), *at = copy, *end = copy + len;
	struct sc_set sets[MAX_SETS];
	struct sc_input in = {.path = SOURCE_ROOT "/conf/f", .sets = sets};

	FUZZ_CHECK(copy != NULL);
	memcpy(copy, data, len);
	copy[len] = '\0';
	in.text = at;
	in.len = strlen(at);
	at += in.len + 1;
	while (in.n_sets < MAX_SETS) {
		const char *path = word(&at, end), *value = word(&at, end);

		if (path == NULL || value == NULL)
			break;
		sets[in.n_sets++] = (struct sc_set){path, value};
	}
	load(&in);
	free(copy);
	return 0;
}
