// SPDX-License-Identifier: Apache-2.0
#include "drivers/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int live_refuse(struct live_text *text, int rc, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text->err, sizeof(text->err), fmt, args);
	va_end(args);
	return rc;
}

void live_note(struct live_text *text, const char *fmt, ...)
{
	size_t len = strlen(text->note);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text->note + len, sizeof(text->note) - len, fmt, args);
	va_end(args);
}
