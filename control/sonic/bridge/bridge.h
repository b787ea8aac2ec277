// SPDX-License-Identifier: Apache-2.0
// The bridge between the Redis of SONiC and a switch: when CONFIG_DB is read, when the policy is
// applied, when counters are written, and what happens when Redis or the switch is gone.
//
//	                connect                          a change           still for --settle
//	Redis is gone ----------> CONFIG_DB is current ----------> changed ----------------+
//	      ^                            ^                          ^                    |
//	      | error, no answer           | applied, or refused      | a change, the      |
//	      +----- from each state       +--------- read <----------+ switch is back     |
//	                                               ^----------------------------------+
//
// Everything is read again after a reconnection, and now and then, so a lost notification delays a
// change and does not lose it. One thread.
#pragma once

struct bridge_args;

// Runs until a signal. Returns the exit status.
int bridge_run(const struct bridge_args *args);

// Writes the policy file once.
int bridge_once(const struct bridge_args *args);
