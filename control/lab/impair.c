// SPDX-License-Identifier: Apache-2.0
// Rules of impairment in a scenario: the keys of a fault, read by the code of `weirctl impair`.
#include "control/config/impair.h"

#include "control/lab/scenario_int.h"
#include "dataplane/base/units.h"

enum { MOST_S = 3600 }; // no scenario is longer

// A mistake is shown at its place in the text.
static void refuse_text(struct sc_builder *b, const struct cfg_val *v,
			const struct impair_mistake *why)
{
	struct cfg_pos at = v->at;

	if (at.line != 0 && at.origin == NULL)
		at.column += why->column - 1;
	diag_add(b->r.sink, DIAG_ERROR, at, v->path, "%s", why->text);
}

void sc_build_impair(struct sc_builder *b, const struct sc_impair_keys *k, struct sc_fault *f)
{
	struct impair_rule *rule = arena_alloc(b->r.arena, sizeof(*rule));
	struct impair_mistake why;

	rule->direction = (uint8_t)k->way.n;
	rule->count = (uint64_t)k->count.n;
	rule->seed = k->seed.given ? (uint64_t)k->seed.n
				   : scenario_seed(b->sc, "impair", b->sc->n_faults);
	rule->for_ns = f->for_ns != UINT64_MAX ? f->for_ns : MOST_S * (uint64_t)SECOND_NS;
	if (k->match.text != NULL && !impair_parse_match(k->match.text, rule, &why))
		refuse_text(b, &k->match, &why);
	if (k->action.text != NULL && !impair_parse_action(k->action.text, rule, &why))
		refuse_text(b, &k->action, &why);
	f->impair = rule;
}
