// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forward/neighbours.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_jhash.h>

struct ip_key ip_key_of(const struct policy_addr *a)
{
	return a->family == FAMILY_V4 ? ip_key_v4(be32_get(a->ip)) : ip_key_v6(a->ip);
}

int neighbours_init(struct neighbours *n, const char *name, uint32_t max, uint32_t seed,
		    struct rte_rcu_qsbr *qsbr)
{
	struct rte_hash_parameters hp = {
		.name = name,
		.entries = max,
		.key_len = sizeof(struct neighbour_key),
		.hash_func = rte_jhash,
		.hash_func_init_val = seed,
		.socket_id = SOCKET_ID_ANY,
		.extra_flag = RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF |
			      RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
	};
	struct rte_hash_rcu_config rcu = {.v = qsbr, .mode = RTE_HASH_QSBR_MODE_DQ};

	n->hash = rte_hash_create(&hp);
	if (n->hash == NULL)
		return -rte_errno;
	if (rte_hash_rcu_qsbr_add(n->hash, &rcu) != 0) {
		neighbours_fini(n);
		return -ENOMEM;
	}
	return 0;
}

void neighbours_fini(struct neighbours *n)
{
	rte_hash_free(n->hash);
	n->hash = NULL;
}

void neighbours_changed(struct neighbours *n)
{
	atomic_fetch_add_explicit(&n->version, 1, memory_order_release);
}

int neighbours_set(struct neighbours *n, uint8_t port, const struct policy_addr *a,
		   const uint8_t *mac)
{
	const struct neighbour_key key = {ip_key_of(a), port};
	int err = 0;

	if (mac == NULL)
		rte_hash_del_key(n->hash, &key);
	else
		err = rte_hash_add_key_data(n->hash, &key,
					    (void *)(uintptr_t)adj_of(ADJ_KNOWN, port, mac));
	return err == 0 ? 0 : -ENOSPC;
}

uint64_t neighbours_lookup(const struct neighbours *n, uint8_t port, struct ip_key ip)
{
	const struct neighbour_key key = {ip, port};
	void *data;

	if (rte_hash_lookup_data(n->hash, &key, &data) < 0)
		return adj_of(ADJ_UNKNOWN, port, NULL);
	return (uint64_t)(uintptr_t)data;
}
