// SPDX-License-Identifier: Apache-2.0
// `weir-lab fluid`: fluid.h's model of a scenario beside its packet run; the first step of tuning.
#pragma once

#include "control/lab/lab.h"

int lab_fluid(const struct lab_args *a);
