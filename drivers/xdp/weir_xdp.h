// SPDX-License-Identifier: Apache-2.0
// What the XDP program and its loader must agree on: names and counter slots. Read by the BPF
// compiler too, so it includes nothing and holds nothing but preprocessor constants. The names of
// program and maps are also how a later start knows a program left behind by an earlier one.
#pragma once

#define WEIR_XDP_PROG "weir_xdp"
#define WEIR_XDP_XSKS "weir_xsks"
#define WEIR_XDP_COUNTS "weir_counts"

#define WEIR_XDP_TO_KERNEL 0 // frames steered to the host's stack
#define WEIR_XDP_OTHER_QUEUE 1 // frames on a receive queue that nobody polls: lost
#define WEIR_XDP_N_COUNTS 2
