// SPDX-License-Identifier: Apache-2.0
// Congestion control on the command line of weir-host: --cc and --cc-set, by the presets and the
// table of keys of drivers/nic/dcqcn.h. Control thread only; pure.
#pragma once

#include <stddef.h>

#include "drivers/nic/dcqcn.h"

// --cc NAME. 0, or -EINVAL with one sentence in err.
__attribute__((warn_unused_result)) int cc_args_preset(const char *name, struct cc_config *c,
						       char *err, size_t err_len);

// --cc-set KEY=VALUE.
__attribute__((warn_unused_result)) int cc_args_set(const char *text, struct cc_config *c,
						    char *err, size_t err_len);
