// SPDX-License-Identifier: Apache-2.0
// The words of weirctl that change a running switch, as the request that the switch gets
// (control/daemon/requests.h). weirctl has them from its command line, the lab from the key
// `weirctl` of a scenario.
#pragma once

struct json_object;

enum { WORDS_WHY_LEN = 256 };
enum { WORDS_QP_LEAST = 2, WORDS_QP_MOST = 0xffffff }; // 0 and 1 are management's

// The forms of each command, a line each.
#define WORDS_SET "set port PORT tx on|off\nset queue PORT QUEUE tx on|off"
#define WORDS_WATCHDOG "watchdog recover PORT CLASS\nwatchdog drop-all on|off"
#define WORDS_FLOW "flow add FROM TO QP SENDER_QP\nflow del FROM TO QP"
#define WORDS_INOF "inof zone add ZONE MEMBER...\ninof zone remove ZONE [MEMBER...]"

// {"cmd": cmd, key: value}; key NULL: the command alone.
struct json_object *request_of(const char *cmd, const char *key, const char *value);

// words[0]: the command. Of `show` the kind, and a port. NULL: `why` has the mistake as a sentence,
// or is empty if the words have none of the forms.
struct json_object *request_of_words(int n, const char *const *words, char why[WORDS_WHY_LEN]);
// The same of one text, with blanks between the words; `weirctl` may stand before them. `why` is
// never empty.
struct json_object *request_of_text(const char *text, char why[WORDS_WHY_LEN]);
