// SPDX-License-Identifier: Apache-2.0
// A trace of flows, replayed by an item of `flows:`. Its first line selects one of three formats.
// Hosts are numbers from 0 in the order of the flow's hosts; in CSV names, too. Blank lines and
// lines that begin with # are skipped. Control thread only; pure but for the reading of the file.
//
//   HPCC, flow.txt           htsim, connection matrix             CSV, columns by their names
//   2                        Nodes 4                              start_us,from,to,bytes,class
//   0 1 3 100 20000 2.00     Connections 2                        0,h1,h2,20000,3
//   2 1 3 100 5000 2.01      0->1 id 1 start 0 size 20000         20.5,h3,h2,5000,3
//                            2->1 id 2 start 20000000 size 5000
//
//   HPCC: source, destination, class, port (not used), bytes, seconds. htsim: picoseconds, bytes.
//   CSV: a column start has times such as 20us; start_ns, start_us, start_ms and start_s have
//   numbers. posted_ns is a name of start_ns, so that flows.csv of a report is a trace. Other
//   columns are not used.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/base/arena.h"
#include "control/base/diag.h"

enum { TRACE_MAX_FLOWS = 1000000, TRACE_MAX_FILE = 128 << 20 };

struct trace_flow {
	uint64_t start_ns; // after the earliest flow of the file
	uint32_t src, dst; // indexes of the hosts given to trace_parse
	uint32_t n_bytes;
	uint32_t line : 24, cls : 8;
};
static_assert(sizeof(struct trace_flow) == 24, "a million of them are kept");

struct trace {
	const struct trace_flow *flows; // by start, then by line
	uint32_t n;
	bool has_class; // else cls is 0
};

struct trace_hosts {
	const char *const *names;
	uint32_t n;
};

// The whole text of a file, with a NUL behind its last character. -EINVAL with the sink filled.
__attribute__((warn_unused_result)) int trace_parse(const char *file, const char *text, size_t len,
						    const struct trace_hosts *hosts,
						    struct arena *a, struct trace *out,
						    struct diag_sink *s);

// Reads the file: -ENOENT, -EFBIG and the like if it cannot be read; nothing is reported then.
__attribute__((warn_unused_result)) int trace_load(const char *path,
						   const struct trace_hosts *hosts, struct arena *a,
						   struct trace *out, struct diag_sink *s);
