// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of folders, without libFuzzer: the corpus as a test of any
// compiler, and a way to repeat a finding under a debugger.
//
//   replay_TARGET FOLDER|FILE...
//
// With WEIR_FUZZ_S=4 in the environment it goes on for four seconds of processor time with inputs
// that are made of these by chance: pieces left out, put in and changed. It prints the seed, and
// WEIR_FUZZ_SEED=SEED makes the same inputs again. The input that runs is in replay_TARGET.input.
//
// Exit 1 when an input cannot be read, or when no input ran.
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dataplane/base/rng.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BYTES = 1 << 21, MOST_CHANGES = 8, SHORT_PIECE = 8, LEAST_ROOM = 160 };

static struct input {
	uint8_t *bytes;
	size_t len;
} *inputs; // n_run of them

static unsigned n_run;

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *text = malloc(MAX_BYTES), *exact;
	size_t len;

	if (f == NULL || text == NULL) {
		fprintf(stderr, "%s: cannot be read\n", path);
		free(text);
		return 1;
	}
	len = fread(text, 1, MAX_BYTES, f);
	fclose(f);
	exact = fuzz_exact(text, len);
	free(text);
	LLVMFuzzerTestOneInput(exact, len);
	inputs = realloc(inputs, (n_run + 1) * sizeof(*inputs));
	FUZZ_CHECK(inputs != NULL);
	inputs[n_run++] = (struct input){exact, len};
	return 0;
}

static int is_input(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int run_folder(const char *path)
{
	struct dirent **list;
	int n = scandir(path, &list, is_input, alphasort), rc = n < 0;

	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
		free(list[i]);
		// Whose turn it was when the process stopped.
		fprintf(stderr, "%s\n", file);
		rc |= run_file(file);
	}
	if (n >= 0)
		free(list);
	return rc;
}

// ---- inputs by chance

static size_t below(struct rng *r, size_t n)
{
	return n == 0 ? 0 : rng_next64(r) % n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

// Changes a few places of an input. The new length.
static size_t mutate(struct rng *r, uint8_t *at, size_t len, size_t room)
{
	static const uint8_t odd[] = {0, 1, ' ', '\n', 0x7f, 0x80, 0xff};

	for (size_t n = 1 + below(r, MOST_CHANGES); n > 0; n--) {
		const struct input *other = &inputs[below(r, n_run)];
		size_t i = below(r, len), from = below(r, other->len);
		size_t piece = 1 + below(r, below(r, 2) == 0 ? SHORT_PIECE : other->len);

		switch (below(r, len == 0 ? 1 : 5)) {
		case 0: // a piece of another input, or of this one
			piece = least(least(piece, other->len - from), room - len);
			memmove(at + i + piece, at + i, len - i);
			memcpy(at + i, other->bytes + from, piece);
			len += piece;
			break;
		case 1: memcpy(at + i, other->bytes + from, least(least(piece, other->len - from),
								  len - i)); break;
		case 2:
			piece = least(piece, len - i);
			memmove(at + i, at + i + piece, len - i - piece);
			len -= piece;
			break;
		case 3: at[i] = odd[below(r, sizeof(odd))]; break;
		default: at[i] ^= (uint8_t)(1 << below(r, 8)); break;
		}
	}
	return len;
}

static double processor_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_random(const char *program, double seconds)
{
	const char *given = getenv("WEIR_FUZZ_SEED");
	uint64_t seed = ((uint64_t)time(NULL) << 20) ^ (uint64_t)getpid();
	double end = processor_s() + seconds;
	size_t room = LEAST_ROOM;
	char file[4096];
	unsigned n = 0;
	uint8_t *bytes;
	struct rng r;
	int fd;

	if (given != NULL)
		seed = strtoul(given, NULL, 0);
	for (unsigned i = 0; i < n_run; i++)
		room = inputs[i].len > room ? inputs[i].len : room;
	bytes = malloc(room);
	snprintf(file, sizeof(file), "%s.input", program);
	fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FUZZ_CHECK(bytes != NULL && fd >= 0);
	printf("WEIR_FUZZ_SEED=%" PRIu64 "; if an input fails: %s %s\n", seed, program, file);
	fflush(stdout);
	for (rng_init(&r, seed); processor_s() < end; n++) {
		const struct input *in = &inputs[below(&r, n_run)];
		uint8_t *exact;
		size_t len;

		memcpy(bytes, in->bytes, in->len);
		len = mutate(&r, bytes, in->len, room);
		FUZZ_CHECK(pwrite(fd, bytes, len, 0) == (ssize_t)len &&
			   ftruncate(fd, (off_t)len) == 0);
		exact = fuzz_exact(bytes, len);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	printf("%u inputs by chance\n", n);
	close(fd);
	unlink(file);
	free(bytes);
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("WEIR_FUZZ_S");
	int rc = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER|FILE...\n", argv[0]);
		return 2;
	}
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		unsigned before = n_run;
		struct stat st;

		if (stat(argv[i], &st) != 0) {
			fprintf(stderr, "%s: no such file\n", argv[i]);
			rc = 1;
		} else {
			rc |= S_ISDIR(st.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
		}
		printf("%u inputs of %s\n", n_run - before, argv[i]);
	}
	printf("%u inputs ran\n", n_run);
	if (seconds != NULL && n_run != 0)
		run_random(argv[0], strtod(seconds, NULL));
	for (unsigned i = 0; i < n_run; i++)
		free(inputs[i].bytes);
	free(inputs);
	return rc != 0 || n_run == 0;
}
