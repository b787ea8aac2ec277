// SPDX-License-Identifier: Apache-2.0
// The page of `weir --web` and of reports: one file of HTML, built from web/, that this program has
// in itself. Constant; any thread may read it.
#pragma once

#include <stddef.h>
#include <stdio.h>

// Writes the page with the data in it: a text of JSON, or "" for none. In JSON `<` stands in texts
// only, so it is written \u003c, and nothing in the data can end its element.
void page_write(const char *json, FILE *out);

// The page without data, for the caller to free. NULL: no memory.
char *page_empty(size_t *len);
