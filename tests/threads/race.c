// SPDX-License-Identifier: Apache-2.0
// Two threads that count in one plain variable. Built only with ThreadSanitizer, where this program
// must fail: if it does not, no other clean run means anything.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 1000 };

static void *count(void *arg)
{
	uint64_t *n = arg;

	for (unsigned i = 0; i < ROUNDS; i++)
		++*n;
	return NULL;
}

int main(void)
{
	uint64_t n = 0;
	pthread_t other;

	if (pthread_create(&other, NULL, count, &n) != 0)
		return 0; // and so passes, which is the failure here
	count(&n);
	pthread_join(other, NULL);
	printf("counted %lu\n", n);
	return 0;
}
