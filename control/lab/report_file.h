// SPDX-License-Identifier: Apache-2.0
// Files of a report in one folder, with the errors of writing them. Control thread only.
#pragma once

#include <stdio.h>

// 0 when it is there, or was made, and files can be put into it; -errno.
__attribute__((warn_unused_result)) int report_folder(const char *dir);
// NULL with errno.
FILE *report_create(const char *dir, const char *file);
// Says on standard error where a file of a report is; "": the folder.
void report_say(const char *dir, const char *file);
// Closes it. 0, -errno: something of it could not be written.
__attribute__((warn_unused_result)) int report_finish(FILE *out);
