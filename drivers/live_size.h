// SPDX-License-Identifier: Apache-2.0
// Numbers of DPDK that sizes depend on, for code that is built without DPDK. live.c asserts them.
#pragma once

enum {
	LIVE_MBUF_BYTES = 128, // sizeof(struct rte_mbuf)
	LIVE_DATA_ROOM_MIN = 2048 + 128, // RTE_MBUF_DEFAULT_BUF_SIZE
	LIVE_CACHE_FRAMES = 256, // per lcore; the mempool lets a cache grow to one and a half of it
	LIVE_CACHE_HELD = LIVE_CACHE_FRAMES + LIVE_CACHE_FRAMES / 2,
	LIVE_MEMZONES = 2560, // RTE_MAX_MEMZONE
	LIVE_NORMAL_PAGES = 2, // an element crosses no page: up to twice the memory
	// What live_eal_init adds to the memory that it is asked for.
	LIVE_EAL_MB = 24, // what EAL and its libraries take for themselves
	LIVE_WORKER_MB = 2, // what a worker's cache of frames may hold
};
