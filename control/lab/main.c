// SPDX-License-Identifier: Apache-2.0
// The program weir-lab. Everything else is in the library, where tests reach it.
#include "control/lab/lab.h"

int main(int argc, char **argv)
{
	return lab_main(argc, argv, WEIR_VERSION);
}
