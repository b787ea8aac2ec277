// SPDX-License-Identifier: Apache-2.0
// What `watch` shows, without terminal, clock or socket. top_data.c: a snapshot is the answers of
// the switch to the kinds of `show`. Two snapshots become a row for each port, with rates per
// second and the trouble that the port is in. top_screen.c: rows and the view of the user become a
// canvas, and keys change the view. watch.c sends the requests and has the terminal.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

#include "control/observe/fact.h"

// ---- a snapshot. Counters count since `clear counters`.

enum {
	TOP_CLASSES = 8,
	TOP_NO_GROUP = 255,
	TOP_POOLS = 3, // those with a limit
	TOP_WORKERS = 64,
	TOP_NAME_LEN = 33,
	TOP_WORD_LEN = 24,
	TOP_EVENTS = 64,
	TOP_TAIL_LEN = 160,
};

// Counters of a port; a class has those up to TOP_UNKNOWN.
enum top_count {
	TOP_TX_FRAMES,
	TOP_TX_BYTES,
	TOP_PAUSE_RX, // PFC frames that name the class
	TOP_PAUSE_TX,
	TOP_PAUSED_US, // by the peer; of a port: the class that was paused longest
	TOP_PAUSING_US, // the peer, by the switch; likewise
	TOP_MARKS,
	TOP_DROPS,
	TOP_LOSSLESS_DROPS, // frames that were wanted, of a lossless class
	TOP_RX_FRAMES, // of a class: of its priority group
	TOP_UNKNOWN, // frames dropped as lossless-unknown
	TOP_RX_BYTES,
	TOP_RX_MISSED,
	TOP_HINT, // the first of TOP_HINTS counters, in the order of top_hints
	TOP_HINTS = 13,
	N_TOP_COUNTS = TOP_HINT + TOP_HINTS,
};

struct top_hint {
	enum fact_id fact; // of `show hints`
	const char *sign, *cure;
};
extern const struct top_hint top_hints[TOP_HINTS];

struct top_class {
	uint64_t count[N_TOP_COUNTS];
	unsigned queue;
	unsigned group; // TOP_NO_GROUP: the switch does not say
	bool lossless, xoff;
	bool paused, tx_off; // the queue: by the peer, by an operator
	uint64_t length_bytes, max_bytes; // of the queue
	uint64_t used_bytes, xoff_at_bytes; // of the priority group, headroom not counted
	uint64_t storm_us;
	char status[TOP_WORD_LEN], action[TOP_WORD_LEN]; // of the watchdog; empty: none
};

struct top_port {
	char name[TOP_NAME_LEN], device[TOP_NAME_LEN];
	uint64_t speed_bps;
	bool up, no_device, looped, tx_off;
	uint64_t count[N_TOP_COUNTS];
	uint64_t buffer_bytes; // of frames that came in by the port
	struct top_class cls[TOP_CLASSES];
};

struct top_drop {
	char port[TOP_NAME_LEN], reason[TOP_WORD_LEN];
	unsigned cls;
	uint64_t packets;
};

// Events of one kind, port and class are one entry: the newest of them, and how many there were.
struct top_event {
	char time[TOP_WORD_LEN]; // UTC, as in `show events`
	char name[TOP_WORD_LEN + 8], port[TOP_NAME_LEN], tail[TOP_TAIL_LEN];
	int cls; // -1: none
	bool alarm; // else a warning
	unsigned n;
	uint64_t dscp; // of roce-in-lossy-class
};

struct top_snapshot {
	uint32_t time_scale; // rates and times are the model's
	bool drop_all, held; // all lossless frames are discarded; admission is stopped
	unsigned n_ports, n_workers, n_pools, n_drops, n_events;
	struct top_port *ports;
	struct {
		unsigned busy_percent;
		uint64_t loops;
	} workers[TOP_WORKERS];
	struct {
		char name[TOP_WORD_LEN];
		uint64_t size_bytes, used_bytes;
	} pools[TOP_POOLS];
	struct top_drop *drops;
	struct top_event events[TOP_EVENTS]; // the newest last
	uint64_t event_seq; // of the newest
	char *causes; // of the opened port, as `show pfc --why` prints them; NULL: not requested
};

// The kinds of `show` that a snapshot is made of, `ports` first; NULL behind the last.
const char *top_kind(unsigned i);

// Starts with the events of `before` (NULL: none). NULL: out of memory.
struct top_snapshot *top_snapshot_create(const struct top_snapshot *before);
void top_snapshot_destroy(struct top_snapshot *s); // NULL is fine

// Adds the answer to `show kind`, also of `causes`.
void top_snapshot_take(struct top_snapshot *s, const char *kind, struct json_object *data);

struct top_port *top_port_of(const struct top_snapshot *s, const char *name);

// ---- a row for each port

// The order is that of severity.
#define TOP_TROUBLES(X)                                                                            \
	X(DOWN, "down")                                                                            \
	X(NO_DEVICE, "no-dev") /* the interface does not exist */                                  \
	X(NONE, "up")                                                                              \
	X(MARKS, "marks")                                                                          \
	X(DROPS, "drops")                                                                          \
	X(TX_OFF, "tx-off")                                                                        \
	X(PAUSING, "pausing") /* the peer */                                                       \
	X(PAUSED, "paused") /* by the peer */                                                      \
	X(LOSS, "LOSS") /* lossless frames, or frames that the receive ring had no room for */     \
	X(LOOP, "LOOP")                                                                            \
	X(DROP_ALL, "DROPALL")                                                                     \
	X(PFC_OFF, "PFC-OFF")                                                                      \
	X(PORT_DOWN, "WD-DOWN")                                                                    \
	X(STORM, "STORM")

enum top_trouble {
#define X(id, word) TROUBLE_##id,
	TOP_TROUBLES(X)
#undef X
	N_TROUBLES,
};
extern const char *const top_trouble_word[N_TROUBLES];

enum top_sort {
	TOP_SORT_TROUBLE, TOP_SORT_THROUGHPUT, TOP_SORT_PAUSE, TOP_SORT_DROPS, TOP_SORT_MARKS,
	TOP_SORT_BUFFER, TOP_SORT_PORT, // the order of the policy file
	N_TOP_SORTS,
};

struct top_row {
	const struct top_port *port;
	bool known; // there is an earlier snapshot of the port; else all rates are 0
	double per_s[N_TOP_COUNTS];
	double cls_per_s[TOP_CLASSES][N_TOP_COUNTS];
	double rx_percent, tx_percent; // of the line, with preamble, gap and FCS
	double fill; // of the fullest priority group; 1 is its XOFF threshold
	uint64_t queue_bytes;
	enum top_trouble trouble;
	unsigned index; // in the policy file
};

// Whether frames of the class were dropped as lossless-unknown, and half of the frames of its
// priority group or more. False where the switch does not name the group.
bool top_unknown_class(const struct top_row *r, unsigned cls);

struct top_rows {
	unsigned n;
	struct top_row row[];
};

// Events per second between two readings of a counter. Counters that were cleared in between count
// from the clear. 0 where seconds is.
double top_per_s(uint64_t before, uint64_t now, double seconds);

// before: NULL where there is none. seconds: between both, of real time. filter: part of the name
// of the ports that are wanted. NULL: out of memory. The caller frees it; it points into `now`.
struct top_rows *top_rows_create(const struct top_snapshot *before, const struct top_snapshot *now,
				 double seconds, const char *filter, enum top_sort sort);

// ---- a canvas (top_canvas.c): lines of cells, each a character with an attribute. Text beyond an
// edge is cut.

enum top_attr {
	TOP_PLAIN,
	TOP_FAINT,
	TOP_STRONG,
	TOP_GOOD,
	TOP_WARNING,
	TOP_ALARM,
	N_TOP_ATTRS,
	TOP_REVERSE = 0x80, // may be added to each of these
};

struct top_cell {
	wchar_t ch;
	uint8_t attr;
};

struct top_canvas {
	unsigned lines, columns;
	bool ascii; // no other characters
	struct top_cell cell[];
};

// NULL: out of memory.
struct top_canvas *top_canvas_create(unsigned lines, unsigned columns, bool ascii);
static inline const struct top_cell *top_cell(const struct top_canvas *c, unsigned y, unsigned x)
{
	return &c->cell[(size_t)y * c->columns + x];
}

// Each returns the column behind what it has written.
unsigned top_put(struct top_canvas *c, unsigned y, unsigned x, unsigned attr, const char *text);
__attribute__((format(printf, 5, 6))) unsigned
top_printf(struct top_canvas *c, unsigned y, unsigned x, unsigned attr, const char *fmt, ...);
// [||||   label]; `width` holds the brackets. share: 0 to 1.
unsigned top_bar(struct top_canvas *c, unsigned y, unsigned x, unsigned width, double share,
		 unsigned attr, const char *label);

// Breaks the text between words; the lines after the first are indented. Returns the number of
// lines.
unsigned top_wrap(struct top_canvas *c, unsigned y, unsigned max_lines, unsigned attr,
		  const char *text);
// Adds the attribute to the whole line.
void top_mark_line(struct top_canvas *c, unsigned y, unsigned attr);

// The lines as UTF-8, without blanks at their ends; up to the last line that holds something.
void top_canvas_print(const struct top_canvas *c, FILE *out);

enum { TOP_NUMBER_LEN = 16 };

// At most five characters: 0, 0.3, 999, 1.23k, 12.3M, 123G.
const char *top_number(char out[TOP_NUMBER_LEN], double v);

// ---- the screen

enum { TOP_LINES_LEAST = 10, TOP_COLUMNS_LEAST = 40, TOP_PLAIN_COLUMNS = 80 };

// Keys that are no characters to type.
enum top_key {
	TOP_ESCAPE = 27,
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_BACKSPACE,
};

struct top_view {
	double interval_s;
	enum top_sort sort;
	char selected[TOP_NAME_LEN]; // port; empty: the first row
	char opened[TOP_NAME_LEN]; // port; empty: all ports are shown
	char filter[TOP_NAME_LEN]; // part of the names of ports
	bool typing; // the filter
	bool paused, help;
};

// The screen shows these and the view.
struct top_data {
	const char *name; // of the switch
	const char *clock; // time of day
	const char *trouble; // with the connection; NULL: none
	const struct top_snapshot *before, *now; // before: NULL where there is none
	double seconds; // of real time, between both
};

// NULL: out of memory.
struct top_canvas *top_draw(const struct top_data *d, const struct top_view *v, unsigned lines,
			    unsigned columns, bool ascii);
// The same as lines of at most 80 columns, without cursor movement: ports with traffic or trouble.
struct top_canvas *top_draw_plain(const struct top_data *d, const struct top_view *v);

// Changes the view. False: the user quits.
bool top_press(struct top_view *v, const struct top_data *d, int key);
