// SPDX-License-Identifier: Apache-2.0
// The page docs/configuration.md, from the rows of the schema of a policy file.
#include "control/config/model.h"
#include "control/config/schema_doc.h"
#include "control/manual/pages.h"

static const char head[] =
	"# Policy file\n"
	"\n"
	"Generated from the schema by `scripts/docs`; do not edit. A policy is one YAML document:\n"
	"`weirctl check FILE` reports every mistake in one pass as `file:line:column: key: text`,\n"
	"`weirctl plan FILE` prints every number derived from it.\n"
	"\n"
	"* Sizes: `B KB MB GB` (1000) and `KiB MiB GiB` (1024), a bare number is bytes. Rates: "
	"`bps K M G`.\n"
	"  Times: `ns us ms s`. Lengths: `m km`. Where the table says *% of*, a percentage is a "
	"share of that.\n"
	"* Switches are `on` or `off` (`true`, `false`).\n"
	"* Ranges in port names and devices expand together: `p[1-3]` on `xdp:sw[1-3]` makes three "
	"ports.\n"
	"* Maps from numbers take numbers and ranges as keys: `{default: 0, 24-31: 3, \"40,46\": "
	"5}`.\n"
	"* Limits round down to cells; headroom, `min` and `xon_offset` round up.\n"
	"* `min` and `headroom` in % are shares of `switch.buffer.size`, because the ingress pool "
	"is what they\n"
	"  leave. `kmin` and `kmax` in % are shares of the queue's own limit: of a static limit, "
	"of what one\n"
	"  queue alone reaches with its alpha, and in a lossless queue, which has no limit, of the "
	"ingress pool.\n"
	"* A profile named `default` serves ports without `profile`; without one, every class is "
	"lossy with DWRR\n"
	"  weight 1. Classes that a profile does not name stay so.\n"
	"* Where several classes share a queue or a priority group, one of them gives its "
	"settings.\n"
	"* VLANs named by a port exist even if `vlans` does not list them; `check` warns of them.\n"
	"* Anchors, aliases and tags of YAML are refused. A file has at most 1 MiB.\n"
	"* *live*: a reload applies it. *restart*: a reload that changes it is refused.\n"
	"\n"
	"Refused across keys: kmin above kmax; lossless and lossy classes in one queue or group; "
	"a\n"
	"lossless class without headroom, with egress limits, or carrying CNPs (DSCP 48) while "
	"another lossless class\n"
	"marks ECN; PFC keys in a lossy class; alpha together with static; reserves beyond the "
	"buffer or the\n"
	"headroom pool. Warned: ECN that marks only after PFC has paused; WRED without effect.\n"
	"\n"
	"| key | value | default | applies | meaning |\n"
	"| --- | --- | --- | --- | --- |\n";

int page_configuration(FILE *out, const char *docs)
{
	(void)docs;
	fputs(head, out);
	schema_print(&cfg_root_schema, "", true, out);
	return 0;
}
