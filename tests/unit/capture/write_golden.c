// SPDX-License-Identifier: Apache-2.0
// Writes the capture file of golden.h to standard output.
#include "golden.h"

int main(void)
{
	return golden_write(stdout) && fflush(stdout) == 0 ? 0 : 1;
}
