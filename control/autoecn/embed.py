# SPDX-License-Identifier: Apache-2.0
"""embed.py FILE OUT: the text of a file as the C constant ecn_model_builtin_text."""
import sys

with open(sys.argv[1], encoding='utf-8') as f, open(sys.argv[2], 'w', encoding='utf-8') as out:
    lines = [line.rstrip('\n').replace('\\', '\\\\').replace('"', '\\"') for line in f]
    print('#include "control/autoecn/model.h"', file=out)
    print('const char ecn_model_builtin_text[] =', file=out)
    print('\n'.join(f'\t"{line}\\n"' for line in lines) + ';', file=out)
