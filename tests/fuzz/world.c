// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/world.h"

#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_malloc.h>
#include <rte_memzone.h>
#include <rte_tailq.h>

#include "tests/fuzz/fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif
#ifdef POISONS
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(at, len) ((void)(at), (void)(len))
#define __lsan_register_root_region(at, len) ((void)(at), (void)(len))
#endif

enum { MAX_BLOCKS = 4096, GAP = 64, LISTS = 2 };

struct block {
	char *at;
	size_t len;
	bool freed; // by the input
};

struct world {
	char *at, *next, *end;
	int fd;
	unsigned n;
	struct block blocks[MAX_BLOCKS];
	struct rte_tailq_entry_head lists[LISTS]; // DPDK's, of rings and hashes
};

static struct world *building, *entered;
static bool any_world;
static long n_dpdk; // blocks that the input has from DPDK's allocators

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *at, size_t len);
void __real_free(void *at);
char *__real_strdup(const char *text);
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t len);

// ---- blocks of a world

static void *block_new(size_t len, size_t align)
{
	struct world *w = building;
	char *at = w->next + GAP;

	align = align < 64 ? 64 : align;
	at = (char *)(((uintptr_t)at + align - 1) & ~(uintptr_t)(align - 1));
	FUZZ_CHECK(w->n < MAX_BLOCKS && len < (size_t)(w->end - at));
	w->next = at + len;
	w->blocks[w->n++] = (struct block){.at = at, .len = len};
	ASAN_UNPOISON_MEMORY_REGION(at, len);
	return at;
}

// Blocks lie in the order of their addresses.
static struct block *block_at(const void *at)
{
	struct world *w = building != NULL ? building : entered;
	unsigned from = 0, to = w == NULL ? 0 : w->n;

	if (w == NULL || (const char *)at < w->at || (const char *)at >= w->end)
		return NULL;
	while (to - from > 1) {
		unsigned middle = (from + to) / 2;

		if (w->blocks[middle].at <= (const char *)at)
			from = middle;
		else
			to = middle;
	}
	FUZZ_CHECK(w->n != 0 && w->blocks[from].at == at && !w->blocks[from].freed);
	return &w->blocks[from];
}

static void block_free(struct block *b)
{
	b->freed = true;
	ASAN_POISON_MEMORY_REGION(b->at, b->len);
}

// ---- the allocators of the objects that the linker wraps

void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *at, size_t len);
void __wrap_free(void *at);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t len)
{
	return building != NULL ? block_new(len, 0) : __real_malloc(len);
}

// The mapping holds zeros.
void *__wrap_calloc(size_t n, size_t len)
{
	return building != NULL ? block_new(n * len, 0) : __real_calloc(n, len);
}

void *__wrap_realloc(void *at, size_t len)
{
	struct block *b = block_at(at);
	void *grown;

	if (b == NULL && (at != NULL || building == NULL))
		return __real_realloc(at, len);
	grown = __wrap_malloc(len);
	if (b == NULL || grown == NULL)
		return grown;
	memcpy(grown, at, b->len < len ? b->len : len);
	block_free(b);
	return grown;
}

void __wrap_free(void *at)
{
	struct block *b = block_at(at);

	if (b != NULL)
		block_free(b);
	else
		__real_free(at);
}

char *__wrap_strdup(const char *text)
{
	return building != NULL ? memcpy(block_new(strlen(text) + 1, 0), text, strlen(text) + 1)
				: __real_strdup(text);
}

// Anonymous memory of a world lies in its mapping too.
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t from);
int __wrap_munmap(void *at, size_t len);

void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t from)
{
	return building != NULL && at == NULL && fd < 0
		       ? block_new(len, (size_t)sysconf(_SC_PAGESIZE))
		       : __real_mmap64(at, len, prot, flags, fd, from);
}

int __wrap_munmap(void *at, size_t len)
{
	struct block *b = block_at(at);

	if (b == NULL)
		return __real_munmap(at, len);
	block_free(b);
	return 0;
}

// ---- DPDK's allocators: before the first world they are DPDK's own

#define DPDK_OWN(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *rte_zmalloc_socket(const char *type, size_t len, unsigned align, int socket)
{
	size_t room = (len + 63) / 64 * 64;
	void *at;

	if (!any_world)
		return DPDK_OWN(rte_zmalloc_socket)(type, len, align, socket);
	if (building != NULL)
		return block_new(len, align);
	n_dpdk++;
	at = aligned_alloc(align < 64 ? 64 : align, room == 0 ? 64 : room);
	FUZZ_CHECK(at != NULL);
	return memset(at, 0, room);
}

void *rte_zmalloc(const char *type, size_t len, unsigned align)
{
	return rte_zmalloc_socket(type, len, align, SOCKET_ID_ANY);
}

void *rte_malloc(const char *type, size_t len, unsigned align)
{
	return rte_zmalloc_socket(type, len, align, SOCKET_ID_ANY);
}

void rte_free(void *at)
{
	struct block *b = block_at(at);

	if (!any_world) {
		DPDK_OWN(rte_free)(at);
	} else if (b != NULL) {
		block_free(b);
	} else if (at != NULL) {
		n_dpdk--;
		__real_free(at);
	}
}

const struct rte_memzone *rte_memzone_reserve_aligned(const char *name, size_t len, int socket,
						      unsigned flags, unsigned align)
{
	const size_t head = (sizeof(struct rte_memzone) + 127) / 128 * 128;
	struct rte_memzone *mz;

	if (!any_world)
		return DPDK_OWN(rte_memzone_reserve_aligned)(name, len, socket, flags, align);
	mz = rte_zmalloc(NULL, head + len, align < 128 ? 128 : align);
	snprintf(mz->name, sizeof(mz->name), "%s", name);
	mz->addr = (char *)mz + head;
	mz->len = len;
	return mz;
}

int rte_memzone_free(const struct rte_memzone *mz)
{
	if (!any_world)
		return DPDK_OWN(rte_memzone_free)(mz);
	rte_free((void *)(uintptr_t)mz);
	return 0;
}

// ---- DPDK's lists of rings and hashes: each world has its own

static struct rte_tailq_entry_head *list(unsigned i)
{
	static const char *const names[LISTS] = {"RTE_RING", "RTE_HASH"};

	return &rte_eal_tailq_lookup(names[i])->tailq_head;
}

// ---- worlds

struct world *world_begin(size_t bytes)
{
	struct world *w = __real_calloc(1, sizeof(*w));

	FUZZ_CHECK(w != NULL && building == NULL && entered == NULL);
	w->fd = memfd_create("world", MFD_CLOEXEC);
	FUZZ_CHECK(w->fd >= 0 && ftruncate(w->fd, (off_t)bytes) == 0);
	w->at = __real_mmap64(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	FUZZ_CHECK(w->at != MAP_FAILED);
	w->next = w->at;
	w->end = w->at + bytes;
	ASAN_POISON_MEMORY_REGION(w->at, bytes);
	for (unsigned i = 0; i < LISTS; i++)
		TAILQ_INIT(list(i));
	any_world = true;
	building = w;
	return w;
}

// The bytes as they are become what a page shows that nobody has written.
void world_seal(struct world *w)
{
	size_t bytes = (size_t)(w->end - w->at);
	unsigned n = 0;

	for (unsigned i = 0; i < w->n; i++)
		if (!w->blocks[i].freed)
			w->blocks[n++] = w->blocks[i];
	w->n = n;
	for (unsigned i = 0; i < LISTS; i++)
		w->lists[i] = *list(i);
	FUZZ_CHECK(__real_mmap64(w->at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
			       w->fd, 0) == w->at);
	__lsan_register_root_region(w->at, bytes);
	building = NULL;
}

void world_enter(struct world *w)
{
	for (unsigned i = 0; i < LISTS; i++)
		*list(i) = w->lists[i];
	n_dpdk = 0;
	entered = w;
}

void world_end(struct world *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		struct block *b = &w->blocks[i];

		FUZZ_CHECK(b->freed);
		b->freed = false;
		ASAN_UNPOISON_MEMORY_REGION(b->at, b->len);
	}
	FUZZ_CHECK(n_dpdk == 0);
	FUZZ_CHECK(madvise(w->at, (size_t)(w->next - w->at), MADV_DONTNEED) == 0);
	entered = NULL;
}
