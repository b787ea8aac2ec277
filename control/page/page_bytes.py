# SPDX-License-Identifier: Apache-2.0
"""Makes page_bytes.c of the page: what is before the mark for data, and what is behind it.

    page_bytes.py PAGE.html OUT.c
"""
import sys

MARK = b'@WEIR_DATA@'

page, out = sys.argv[1:]
with open(page, 'rb') as file:
    parts = file.read().split(MARK)
if len(parts) != 2:
    sys.exit(f'{page}: the mark for data must be there once, and is there {len(parts) - 1} times')
with open(out, 'w', encoding='ascii') as file:
    file.write('// Made by page_bytes.py.\n#include <stdint.h>\n')
    for name, part in zip(('before', 'behind'), parts):
        file.write(f'extern const unsigned char page_{name}[];\n'
                   f'extern const uint32_t page_n_{name};\n'
                   f'const uint32_t page_n_{name} = {len(part)};\n'
                   f'const unsigned char page_{name}[] = {{')
        file.writelines(('\n' if i % 20 == 0 else '') + f'{b},' for i, b in enumerate(part))
        file.write('0};\n')
