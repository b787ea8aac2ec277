// SPDX-License-Identifier: Apache-2.0
// Command lines as rows: parsing, --help, the nearest option for a wrong one, completion and the
// manual pages come from the same table. getopt_long reads the words, so a long option may be
// shortened, and may be written --name=value. Control thread only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct opt;

// Puts a value into the struct of the program. False: the value is wrong, and the complaint is
// printed.
typedef bool opt_take_fn(const struct opt *row, char *text, void *out);

struct opt {
	const char *name; // without the dashes
	char letter; // '\0': none
	const char *value; // what stands for the value in --help; NULL: takes none
	const char *help;
	size_t off; // without `take`: of a const char *, or of a bool where the row takes no value
	opt_take_fn *take;
	unsigned commands; // bits of the commands that know it; 0: all
	bool last; // the words behind it are not read
	// For `take`.
	uint8_t unit; // enum unit_kind
	int64_t min, max, dflt;
	const char *const *words;
};

enum { OPTS_MAX_ROWS = 64, OPT_TERM_LEN = 64 };

enum opts_wrong {
	OPTS_UNKNOWN, // name: the nearest option, or NULL
	OPTS_NO_VALUE, // name: the option that takes none
	OPTS_VALUE_MISSING, // name: the option
};

struct opts {
	const char *program;
	const struct opt *rows;
	unsigned n;
	unsigned command; // the bit of the command that is given; 0: none
	bool stops; // at a word that is no option; else such words are moved to the end
	// Complains of a word. NULL: getopt does, and the nearest option is named in a second line.
	void (*wrong)(const struct opts *o, enum opts_wrong what, const char *word,
		      const char *name);
};

enum opts_end {
	OPTS_END, // no word or only words that are no options are left
	OPTS_DASHES, // behind `--`
	OPTS_WRONG, // the complaint is printed
};

// Reads options from argv[optind] on. Then optind is the next word.
__attribute__((warn_unused_result)) enum opts_end opts_parse(const struct opts *o, int argc,
							     char **argv, void *out);

// For `wrong`: one line with the name of the program.
void opts_say_wrong(const struct opts *o, enum opts_wrong what, const char *word, const char *name);

// The rows that the command knows, in order. row NULL: the first one. NULL: no further one.
const struct opt *opts_next(const struct opts *o, const struct opt *row);

// The option with the nearest name, or NULL. word: may have dashes and a value.
const char *opts_nearest(const struct opts *o, const char *word);

// "-c, --config FILE". blank: stands in place of a letter that the row does not have.
void opt_term(const struct opt *row, const char *blank, char term[OPT_TERM_LEN]);

// The options of --help, explained from the column on.
void opts_help(const struct opts *o, int column, FILE *out);

// ---- a script that completes a program in bash, from its rows

// `usage` is one line per form, and the grammar of completion: words stand for themselves, `a|b`
// for one of several, WORDS for values (KIND, PORT, QUEUE, CLASS, FILE, and NAME, FILE, DIR of an
// option are known by completion), [..] for what may be left out, `...` for what may be repeated.
// Options may stand anywhere.
struct completion_command {
	const char *name, *usage; // usage: with or without the name of the program
	unsigned bit; // of enum lab_command_bit; 0: the options are those of its usage
};

struct completion {
	const struct opts *opts;
	const char *kinds; // what KIND stands for
	const char *options; // before a command; NULL: all
	bool (*command)(unsigned i, struct completion_command *out); // false: there is none
};

void completion_script(const struct completion *c, FILE *out);
// `PROGRAM completion bash` of a program without commands: prints the script. False: other words.
bool opts_completion(const struct opts *o, int argc, char **argv);
