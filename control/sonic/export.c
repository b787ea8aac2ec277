// SPDX-License-Identifier: Apache-2.0
#include "control/sonic/export.h"

#include <errno.h>

int sonic_export(const char *name, const char *text, size_t len, struct sonic_config *out,
		 struct sonic_report *r)
{
	(void)name; (void)text; (void)len; (void)out; (void)r;
	return -EINVAL;
}
