// SPDX-License-Identifier: Apache-2.0
// DPDK's environment and the frame pool of a fabric. Frames lie outside of DPDK's own heap, in
// memory that is taken when it is first touched, and the one used last is used next: one thread
// needs no ring.
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/lab/fabric.h"
#include "dataplane/base/units.h"
#include "dataplane/fifo.h"
#include "dataplane/policy.h"

enum {
	CM_ROOM = 384, // frames of connection management are stored whole
	LLDP_ROOM = 512,
	INOF_ROOM = 1536,
	WHOLE_ROOM = 9216 + 22, // of any MTU
	MIN_FRAME = 64 + 24, // bytes that the shortest frame takes on a line
	NIC_FRAMES = 64, // of one NIC: what it builds in a loop
	DEFAULT_RX_BUFFER = 256 << 10,
	FEW_FRAMES = 8,
	LEAST_MB = 256, // of the heap; it is taken when it is touched
	BASE_MB = 48,
	SWITCH_KB = 8 * 1024, // tables, rings and caches of a switch, with room to spare
	PORT_KB = 64,
	CHUNK_BYTES = 2 << 20,
};

// ---- last in, first out

// The pool grows when it is empty, up to its size: memory follows the frames that are alive at
// once.
struct lifo {
	char *next, *end; // address space that no frame lies in yet
	bool ran_out;
	uint32_t n, capacity;
	void *objs[];
};

// Address space: the kernel gives a page when it is first touched, and reserves none before.
static void *map_space(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static size_t lifo_bytes(uint32_t capacity)
{
	return sizeof(struct lifo) + (size_t)capacity * sizeof(void *);
}

static size_t object_bytes(const struct rte_mempool *mp)
{
	return mp->header_size + mp->elt_size + mp->trailer_size;
}

static struct lifo *lifo_create(const struct rte_mempool *mp)
{
	size_t len = (size_t)mp->size * object_bytes(mp);
	struct lifo *l = map_space(lifo_bytes(mp->size));
	void *mem;

	// A chunk ends with less than an object that is no more.
	len = (len / (CHUNK_BYTES - object_bytes(mp)) + 2) * CHUNK_BYTES;
	mem = l == NULL ? NULL : map_space(len);
	if (mem == NULL) {
		if (l != NULL)
			munmap(l, lifo_bytes(mp->size));
		return NULL;
	}
	(void)madvise(mem, len, MADV_HUGEPAGE); // a help, where there are any
	l->capacity = mp->size;
	l->next = mem;
	l->end = l->next + len;
	return l;
}

// No more growth: what was never used goes.
static void lifo_close(struct lifo *l)
{
	if (l->next != l->end)
		munmap(l->next, (size_t)(l->end - l->next));
	l->next = l->end;
}

static int lifo_alloc(struct rte_mempool *mp)
{
	mp->pool_data = mp->pool_config;
	return 0;
}

static void lifo_free(struct rte_mempool *mp)
{
	struct lifo *l = mp->pool_data; // NULL: the pool never grew

	if (l != NULL)
		munmap(l, lifo_bytes(l->capacity));
}

static void unmap(struct rte_mempool_memhdr *hdr, void *opaque)
{
	munmap(opaque, CHUNK_BYTES);
	(void)hdr;
}

// Frames of one more chunk, through lifo_enqueue.
static bool lifo_grow(struct rte_mempool *mp)
{
	struct lifo *l = mp->pool_config;
	uint32_t before = l->n;

	if (l->end - l->next < CHUNK_BYTES || mp->populated_size == mp->size ||
	    rte_mempool_populate_iova(mp, l->next, RTE_BAD_IOVA, CHUNK_BYTES, unmap, l->next) <= 0)
		return false;
	l->next += CHUNK_BYTES;
	for (uint32_t i = before; i < l->n; i++)
		rte_pktmbuf_init(mp, NULL, l->objs[i], i);
	return true;
}

static int lifo_enqueue(struct rte_mempool *mp, void *const *objs, unsigned n)
{
	struct lifo *l = mp->pool_data;

	if (l->capacity - l->n < n)
		return -ENOBUFS;
	for (unsigned i = 0; i < n; i++)
		l->objs[l->n++] = objs[i];
	return 0;
}

static int lifo_dequeue(struct rte_mempool *mp, void **objs, unsigned n)
{
	struct lifo *l = mp->pool_data;

	while (l->n < n)
		if (!lifo_grow(mp)) {
			l->ran_out = true;
			return -ENOENT;
		}
	for (unsigned i = 0; i < n; i++)
		objs[i] = l->objs[--l->n];
	return 0;
}

static unsigned lifo_count(const struct rte_mempool *mp)
{
	return ((const struct lifo *)mp->pool_data)->n;
}

static const struct rte_mempool_ops lifo_ops = {
	.name = "weir_lifo",
	.alloc = lifo_alloc,
	.free = lifo_free,
	.enqueue = lifo_enqueue,
	.dequeue = lifo_dequeue,
	.get_count = lifo_count,
};

static int use_lifo(struct rte_mempool *mp, struct lifo *l)
{
	// Registered once a process; the second pool finds it.
	if (rte_mempool_set_ops_byname(mp, lifo_ops.name, l) == 0)
		return 0;
	return rte_mempool_register_ops(&lifo_ops) < 0
		       ? -ENOMEM
		       : rte_mempool_set_ops_byname(mp, lifo_ops.name, l);
}

// ---- how many
static uint64_t count_frames(const struct fabric *f)
{
	const struct scenario *sc = f->sc;
	uint64_t n = 0;

	for (uint32_t i = 0; i < sc->n_switches; i++)
		n += switch_max_frames(f->switches[i].in.policy);
	for (uint32_t i = 0; i < sc->n_links; i++) {
		const struct sc_link *l = &sc->links[i];

		n += 2 * (l->speed_bps / 8 * l->delay_ns / SECOND_NS / MIN_FRAME + FEW_FRAMES);
	}
	// Any host may become a slow receiver.
	for (uint32_t i = 0; i < sc->n_hosts; i++) {
		uint32_t given = sc->hosts[i].nic.faults.rx_buffer_bytes;

		n += NIC_FRAMES + (given != 0 ? given : DEFAULT_RX_BUFFER) / MIN_FRAME;
	}
	return n;
}

// ---- DPDK

// Every worker has rings to all others, for all frames of the switch. The descriptors of queues are
// no part of the heap (fifo.c).
static uint64_t heap_mb(const struct fabric *f)
{
	uint64_t kb = BASE_MB * 1024;

	for (uint32_t i = 0; i < f->sc->n_switches; i++) {
		const struct policy *p = f->switches[i].in.policy;
		uint64_t ring =
			(uint64_t)rte_align32pow2(switch_max_frames(p) + 1) * sizeof(struct frame);

		kb += SWITCH_KB + p->n_ports * PORT_KB +
		      p->n_workers * (p->n_workers - 1) * ring / 1024 + config_flow_bytes(p) / 1024;
	}
	return kb / 1024 > LEAST_MB ? kb / 1024 : LEAST_MB;
}

// EAL would put the heap into a file of memory (memfd_create), which Linux maps by small pages.
// Without such files it takes anonymous memory, for which a program can ask for large pages.
int memfd_create(const char *name, unsigned flags)
{
	(void)name;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

static int use_large_pages(const struct rte_memseg_list *msl, void *arg)
{
	(void)arg;
	(void)madvise(msl->base_va, msl->len, MADV_HUGEPAGE); // a help, where there are any
	return 0;
}

// EAL binds the thread to one processor; where it may run is not the lab's business.
static int start_eal(uint64_t mb)
{
	char size[24], core[16];
	char *argv[] = {(char[]){"weir-lab"},
			(char[]){"--no-huge"},
			(char[]){"--no-shconf"},
			(char[]){"--no-pci"},
			(char[]){"--no-telemetry"},
			(char[]){"--log-level=critical"},
			(char[]){"-m"},
			size,
			(char[]){"--lcores"},
			core};
	cpu_set_t allowed;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return -ENOMEM;
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed))
		cpu++;
	snprintf(size, sizeof(size), "%" PRIu64, mb);
	snprintf(core, sizeof(core), "0@%zu", cpu);
	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0)
		return -ENOMEM;
	(void)rte_memseg_list_walk(use_large_pages, NULL);
	return sched_setaffinity(0, sizeof(allowed), &allowed) == 0 ? 0 : -errno;
}

// Of a frame. LLDP frames and notices are stored whole.
static unsigned data_room(const struct fabric *f)
{
	if (f->sc->whole_frames)
		return WHOLE_ROOM;
	if (f->has_inof)
		return INOF_ROOM;
	if (f->has_lldp)
		return LLDP_ROOM;
	return f->sc->connect_by_cm ? CM_ROOM : FABRIC_SNAP;
}

static int make_pool(struct fabric *f, uint32_t n)
{
	const uint16_t room = (uint16_t)(RTE_PKTMBUF_HEADROOM + data_room(f));
	struct rte_pktmbuf_pool_private priv = {.mbuf_data_room_size = room};
	struct lifo *l;

	f->pool = rte_mempool_create_empty("weir_lab", n, sizeof(struct rte_mbuf) + room, 0,
					   sizeof(priv), SOCKET_ID_ANY,
					   RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NO_SPREAD);
	if (f->pool == NULL)
		return -ENOMEM;
	rte_pktmbuf_pool_init(f->pool, &priv);
	l = lifo_create(f->pool);
	if (l == NULL)
		return -ENOMEM;
	// From the first chunk on the pool frees the list.
	if (use_lifo(f->pool, l) == 0 && lifo_grow(f->pool))
		return 0;
	lifo_close(l);
	munmap(l, lifo_bytes(n));
	return -ENOMEM;
}

int fabric_memory(struct fabric *f)
{
	uint64_t n = count_frames(f);

	if (n > UINT32_MAX / 2)
		return -ENOMEM;
	if (rte_lcore_count() == 0 && start_eal(heap_mb(f)) != 0)
		return -ENOMEM;
	return make_pool(f, (uint32_t)n);
}

bool fabric_memory_short(const struct fabric *f)
{
	return ((const struct lifo *)f->pool->pool_data)->ran_out;
}

void fabric_memory_free(struct fabric *f)
{
	if (f->pool != NULL && f->pool->pool_data != NULL)
		lifo_close(f->pool->pool_data);
	rte_mempool_free(f->pool);
}

// ---- ahead of the frames

// A fabric of many switches is larger than the caches. The lines that a frame needs at a port or
// NIC are prefetched when the event is known, before the actors of the same instant are stepped.
enum { FEW_SWITCHES = 4 }; // all of which the caches hold

static void fetch_port(const void *of, enum wire_event event)
{
	if (event == WIRE_ARRIVAL)
		port_memory_fetch_rx(of);
	else
		port_memory_fetch_tx(of);
}

void fabric_fetch_port(struct fabric_switch *s, uint32_t port, struct wire_end *end)
{
	if (s->fabric->sc->n_switches <= FEW_SWITCHES)
		return;
	s->memory[port] = switch_port_memory(s->in.sw, port);
	wire_end_fetch(end, fetch_port, &s->memory[port]);
}

static void fetch_nic(const void *of, enum wire_event event)
{
	(void)event;
	nic_memory_fetch(of);
}

void fabric_fetch_nic(struct fabric_host *h, struct wire_end *end)
{
	if (h->fabric->sc->n_switches <= FEW_SWITCHES)
		return;
	h->memory = nic_memory(h->nic);
	wire_end_fetch(end, fetch_nic, &h->memory);
}
