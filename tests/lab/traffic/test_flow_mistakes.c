// SPDX-License-Identifier: Apache-2.0
// What is wrong with `flows:` is told in one pass, at its place, before anything runs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/temporary.h"
#include "world.h"

static const char *root;

// The item of the list stands in line 6, its first key in column 5.
static const struct {
	const char *flow, *says;
} rows[] = {
	{"{from: h1, to: h9}",
	 "6:20: flows[0].to: there is no host h9: did you mean h1?\n"},
	{"{from: \"x*\", to: h2}",
	 "6:12: flows[0].from: no host is named x*: there are h1, h2, h3, h4\n"},
	{"{from: h1}",
	 "6:5: flows[0]: h1 would send to itself only: name another host in `to`\n"},
	{"{to: h1}",
	 "6:5: flows[0].from: is required\n"},
	{"{from: h1, to: h1}",
	 "6:5: flows[0].to: h1 would send to itself only: name another host in `to`\n"},
	{"{from: \"h[1-2]\", to: \"h[1-2]\"}",
	 "(runs)\n"},
	{"{from: \"h[1-2]\", to: h3, pairs: on}",
	 "6:37: flows[0].pairs: pairs need as many hosts in `to` as in `from`, but `from` "
	 "has 2 and `to` has 1\n"},
	{"{from: \"h[1-3]\", to: \"h[2-3,1]\", pairs: on}",
	 "(runs)\n"},
	{"{from: \"h[1-3]\", to: \"h[2,1,3]\", pairs: on}",
	 "6:45: flows[0].pairs: h3 is paired with itself: a range keeps the order in which it is "
	 "written, such as h[2-8,1]\n"},
	{"{from: h1, to: h2, start: 1s}",
	 "6:31: flows[0].start: the run ends at 1s, before this flow begins\n"},
	{"{from: h1, to: h2, clas: 3}",
	 "6:24: flows[0].clas: unknown key: did you mean class?\n"},
	{"{from: h1, to: h2, class: 8}",
	 "6:31: flows[0].class: 8 is above the maximum 7\n"},
	{"{from: h1, to: h2, class: 5}",
	 "(runs)\n"
	 "test:6:31: warning: flows[0].class: its frames carry DSCP 40, which s1 "
	 "takes for class 0: give the flow a `dscp` of class 5\n"},
	{"{from: h1, to: h2, class: 3, dscp: 26}",
	 "(runs)\n"},
	{"{from: h1, to: h2, class: 3, dscp: 64}",
	 "6:40: flows[0].dscp: 64 is above the maximum 63\n"},
	{"{from: h1, to: h2, class: 3, dscp: 26}\n  - {from: h2, to: h1, class: 4, dscp: 26}",
	 "7:40: flows[1].dscp: DSCP 26 is class 3 in flow f1: give this flow another\n"},
	{"{from: h1, to: h2, class: 3, pcp: 3}",
	 "6:39: flows[0].pcp: needs a tag: give a `vlan`, 0 for one with a priority only\n"},
	{"{from: h1, to: h2, vlan: 4095}",
	 "6:30: flows[0].vlan: 4095 is above the maximum 4094\n"},
	{"{from: h1, to: h2, class: 3, vlan: 0, pcp: 2}\n"
	 "  - {from: h2, to: h1, class: 4, vlan: 9, pcp: 2}",
	 "7:48: flows[1].pcp: PCP 2 is class 3 in flow f1: give this flow another\n"},
	{"{from: h1, to: h2, class: 3, vlan: 9, pcp: 6}",
	 "(runs)\n"},
	{"{from: h1, to: h2, class: 3, vlan: 9, pcp: 6}\n"
	 "hosts: {\"h*\": {nic: {cc: paper}}}",
	 "6:48: flows[0].pcp: PCP 6 is class 3, and CNPs of h1 are class 6, for which no PCP is "
	 "left: give this flow another\n"},
	{"{from: h1, to: h2, class: 3, vlan: 9, pcp: 6}\n"
	 "  - {from: h2, to: h1, class: 6, vlan: 9, pcp: 3}\n"
	 "hosts: {\"h*\": {nic: {cc: paper}}}",
	 "(runs)\n"},
	{"{from: h1, to: h2, class: 3, vlan: 9, pcp: 6, tcp: newreno}\n"
	 "hosts: {\"h*\": {nic: {cc: paper}}}",
	 "(runs)\n"},
	// With a tag the NICs have no use for the DSCP.
	{"{from: h1, to: h2, class: 3, vlan: 9, dscp: 26}\n"
	 "  - {from: h2, to: h1, class: 0, vlan: 9, dscp: 26}",
	 "(runs)\n"
	 "test:7:31: warning: flows[1].class: its frames carry DSCP 26, which s1 "
	 "takes for class 3: give the flow a `dscp` of class 0\n"},
	{"{from: h1, to: h2, class: 5, vlan: 9}\n"
	 "override: {profiles: {roce: {trust: pcp}}}",
	 "(runs)\n"
	 "test:6:31: warning: flows[0].class: its frames carry PCP 5, which s1 "
	 "takes for class 0: give the flow a `pcp` of class 5\n"},
	{"{from: h1, to: h2, ip6: on, mtu: 4096}\n"
	 "override: {ports: [{name: p1, mtu: 4170, profile: roce}]}",
	 "test:6:38: flows[0].mtu: packets of 4096 B need an IP MTU of 4176, and s1.p1 has 4170: "
	 "at most 4090 B fit\n"},
	{"{from: h1, to: h2, class: 0, ecn: not-ect}",
	 "(runs)\n"},
	{"{from: h1, to: h2, ecn: ect2}",
	 "6:29: flows[0].ecn: \"ect2\": did you mean ect0?\n"},
	{"{from: h1, to: h2, class: 0, tcp: newreno}",
	 "(runs)\n"},
	{"{from: h1, to: h2, class: 0, tcp: {cc: dctcp, g: 1/8, window: 1MB}, ecn: ect1}",
	 "(runs)\n"},
	{"{from: h1, to: h2, class: 0, tcp: dctpc}",
	 "6:39: flows[0].tcp: \"dctpc\": did you mean dctcp?\n"},
	{"{from: h1, to: h2, class: 0, tcp: {cc: cubic}}",
	 "6:44: flows[0].tcp.cc: \"cubic\": expected one of newreno, dctcp\n"},
	{"{from: h1, to: h2, tcp: dctcp, op: read, cc: off, first_psn: 5}",
	 "6:40: flows[0].op: is of RDMA: leave it out beside `tcp`\n"
	 "6:50: flows[0].cc: is of RDMA: leave it out beside `tcp`\n"
	 "6:66: flows[0].first_psn: is of RDMA: leave it out beside `tcp`\n"},
	{"{from: h1, to: h2, tcp: dctcp, size: 64KB, reuse: 5}",
	 "6:55: flows[0].reuse: is of RDMA: leave it out beside `tcp`\n"},
	{"{from: h1, to: h2, tcp: newreno, size: 64KB, pattern: storage}",
	 "6:59: flows[0].pattern: storage moves data by RDMA READ and WRITE: leave out `tcp`\n"},
	{"{from: h1, to: h2, tcp: dctcp, ecn: not-ect}",
	 "6:41: flows[0].ecn: dctcp needs ECN: give ect0 or ect1, or leave it out\n"},
	{"{from: h1, to: h2, tcp: {g: 1/8}}",
	 "6:33: flows[0].tcp.g: is of dctcp: give `cc: dctcp`, or leave it out\n"},
	{"{from: h1, to: h2, tcp: {cc: dctcp, g: 9/8}}",
	 "6:44: flows[0].tcp.g: \"9/8\" is no fraction of at most 1 such as 1/16, with a "
	 "denominator of at most 65536\n"},
	{"{from: h1, to: h2, tcp: {window: 1KB, np: gap}}",
	 "6:38: flows[0].tcp.window: 1KB is below the minimum 16KB\n"
	 "6:43: flows[0].tcp.np: unknown key: known here are cc, sack, window, initial_window, "
	 "rto_min, rto_initial, delayed_ack, g\n"},
	{"{from: h1, to: h2, tcp: {rto_min: 1ms}}",
	 "(runs)\n"},
	{"{from: h1, to: h2, tcp: {rto_min: 500us}}",
	 "(runs)\n"
	 "6:39: warning: flows[0].tcp.rto_min: delayed_ack 1ms is above rto_min 500us, so a "
	 "sender may send a segment again while its ACK waits: raise rto_min, or set ack_every: "
	 "1\n"},
	{"{from: h1, to: h2, tcp: {delayed_ack: 11ms}}",
	 "(runs)\n"
	 "6:43: warning: flows[0].tcp.delayed_ack: delayed_ack 11ms is above rto_min 10ms, so "
	 "a sender may send a segment again while its ACK waits: raise rto_min, or set ack_every: "
	 "1\n"},
	{"{from: h1, to: h2, ack_every: 1, tcp: {delayed_ack: 11ms}}",
	 "(runs)\n"},
	{"{from: h1, to: h2, first_psn: 16777216}",
	 "6:35: flows[0].first_psn: 16777216 is above the maximum 16777215\n"},
	{"{from: h1, to: h2, first_psn: 16777215, ack_every: 256}",
	 "(runs)\n"},
	{"{from: h1, to: h2, ack_every: 0}",
	 "6:35: flows[0].ack_every: 0 is below the minimum 1\n"},
	{"{from: h1, to: h2, ack_every: 257}",
	 "6:35: flows[0].ack_every: 257 is above the maximum 256\n"},
	{"{from: h1, to: h2, size: 64KB, reuse: 5}",
	 "(runs)\n"},
	{"{from: h1, to: h2, reuse: 5}",
	 "6:31: flows[0].reuse: has no effect on an endless stream: give a size\n"},
	{"{from: h1, to: h2, size: 64KB, reuse: {crossed: on, after: 3}}",
	 "6:53: flows[0].reuse.crossed: two connections can change places: give `qps` of 2 at "
	 "least\n"},
	{"{from: h1, to: h2, size: 64KB, reuse: {pause: 1us}}",
	 "6:43: flows[0].reuse.after: is required\n"},
	{"{from: h1, to: h2, size: 64KB, pattern: incast, reuse: 5}",
	 "6:60: flows[0].reuse: is for each: leave it out of pattern incast\n"},
	{"{from: h1, to: h2, depth: 129, size: 64KB}",
	 "6:31: flows[0].depth: 129 is above the maximum 128\n"},
	{"{from: h1, to: h2, size: 0}",
	 "6:30: flows[0].size: 0: a message has 1 B to 1 GiB\n"},
	{"{from: h1, to: h2, size: 2GB}",
	 "6:30: flows[0].size: 2GB: a message has 1 B to 1 GiB\n"},
	{"{from: h1, to: h2, size: 64XB}",
	 "6:30: flows[0].size: \"64XB\": expected a size such as 150KB (B KB MB GB "
	 "KiB MiB GiB)\n"},
	{"{from: h1, to: h2, size: websurch}",
	 "6:30: flows[0].size: \"websurch\" is neither a size such as 64KB, nor "
	 "unlimited, nor a distribution: there is no ./sizes/websurch.cdf\n"},
	{"{from: h1, to: h2, size: missing.cdf}",
	 "6:30: flows[0].size: ./missing.cdf: cannot read: No such file or "
	 "directory\n"},
	{"{from: h1, to: h2, size: /proc/self/mem/x.cdf}",
	 "6:30: flows[0].size: /proc/self/mem/x.cdf: cannot read: Not a directory\n"},
	{"{from: h1, to: h2, size: ./}",
	 "6:30: flows[0].size: ././: cannot read: Is a directory\n"},
	{"{from: h1, to: h2, count: 5, depth: 2, interval: 1us}",
	 "6:31: flows[0].count: has no effect on an endless stream: give a size\n"
	 "6:41: flows[0].depth: has no effect on an endless stream: give a size\n"
	 "6:54: flows[0].interval: has no effect on an endless stream: give a size\n"},
	{"{from: h1, to: h2, size: 1KB, load: 30%, fan: 2, request: 5, think: 1us, "
	 "idle: 2}",
	 "6:41: flows[0].load: is for poisson, request and storage: leave it out of "
	 "pattern each\n"
	 "6:51: flows[0].fan: is for incast: leave it out of pattern each\n"
	 "6:63: flows[0].request: is for request: leave it out of pattern each\n"
	 "6:73: flows[0].think: is for request and storage: leave it out of pattern "
	 "each\n"
	 "6:84: flows[0].idle: is for poisson, request, storage and trace: leave it out of "
	 "pattern each\n"},
	{"{from: h1, to: h2, start: 5us, stop: 5us}",
	 "6:42: flows[0].stop: is not after start\n"},
	{"{from: h1, to: h2, mtu: 1441}",
	 "test:6:29: flows[0].mtu: packets of 1441 B need an IP MTU of 1501, and "
	 "s1.p1 has 1500: at most 1440 B fit\n"},
	{"{from: h1, to: h2, mtu: 5000}",
	 "6:29: flows[0].mtu: 5000 is above the maximum 4096B\n"},
	{"{from: h1, to: h2, rate: 5%}",
	 "6:30: flows[0].rate: \"5%\": expected a rate such as 40G (bps K M G), or "
	 "line\n"},
	{"{pattern: poisson, from: h1, to: h2}",
	 "6:5: flows[0].size: pattern poisson needs a size, or a distribution such as "
	 "websearch\n"
	 "6:5: flows[0].load: pattern poisson needs a load such as 30%\n"},
	{"{pattern: poisson, from: h1, to: h2, size: 1KB, load: 101%}",
	 "6:59: flows[0].load: 101% is above the maximum 100%\n"},
	{"{pattern: poisson, from: h1, to: h2, size: 1KB, load: 0%}",
	 "6:59: flows[0].load: 0% is below the minimum 0.0001%\n"},
	{"{pattern: poisson, from: h1, to: h2, size: 1KB, load: 10%, depth: 3, qps: "
	 "2, interval: 1us}",
	 "6:71: flows[0].depth: is for each, request and storage: leave it out of "
	 "pattern poisson\n"
	 "6:79: flows[0].qps: is as many as there are messages under way: leave it "
	 "out of pattern poisson\n"
	 "6:92: flows[0].interval: is for each, incast and all-to-all: leave it out "
	 "of pattern poisson\n"},
	{"{pattern: request, from: h1, to: h2, size: 1KB, op: read}",
	 "6:57: flows[0].op: an answer is a send or a write\n"},
	{"{pattern: request, from: h1, to: h2, size: 1KB, load: 10%, depth: 3}",
	 "6:71: flows[0].depth: is of a closed loop: leave out `load` or `depth`\n"},
	{"{pattern: storage, from: h1, to: h2, op: send}",
	 "6:5: flows[0].size: pattern storage needs a size, or a distribution such as "
	 "websearch\n"
	 "6:46: flows[0].op: is chosen by size: leave it out of pattern storage\n"},
	{"{pattern: storage, from: h1, to: h2, size: 1KB, storage: {small: 64KB, "
	 "large: 4KB, credits: 0}}",
	 "6:62: flows[0].storage: small is above large\n"
	 "6:97: flows[0].storage.credits: 0 is below the minimum 1\n"},
	{"{from: h1, to: h2, storage: {reads: 5%}}",
	 "6:33: flows[0].storage: is for storage: leave it out of pattern each\n"},
	{"{pattern: incast, from: \"h[1-2]\", to: h3, size: 1KB, fan: 3}",
	 "6:63: flows[0].fan: 3 of 2 hosts cannot be drawn\n"},
	{"{pattern: incats, from: h1, to: h2}",
	 "6:15: flows[0].pattern: \"incats\": did you mean incast?\n"},
	{"{name: a, from: h1, to: h2}\n"
	 "  - {name: a, from: h1, to: h2}",
	 "7:12: flows[1] (a).name: two flows are called a\n"},
	{"{name: f2, from: h1, to: h2}\n"
	 "  - {from: h1, to: h2}",
	 "6:12: flows[0] (f2).name: two flows are called f2\n"},
	{"{from: h1, to: [h2, h3], qps: 1024}\n"
	 "  - {from: h1, to: [h2, h4], qps: 1024}\n"
	 "  - {from: h3, to: h1}",
	 "4:18: h1: its flows need 4097 connections, and a NIC has at most 4096\n"},
	{"{pattern: poisson, from: h1, to: h2, size: 1KB, load: 10%, qps: 2}",
	 "6:69: flows[0].qps: is as many as there are messages under way: leave it "
	 "out of pattern poisson\n"},
	{"{pattern: all-to-all, from: \"h*\", pairs: on, storage: off}",
	 "6:46: flows[0].pairs: is for each: leave it out of pattern all-to-all\n"
	 "6:59: flows[0].storage: expected a map of reads, small, large, chunk, "
	 "credits, request, reply, found a single value\n"
	 "6:59: flows[0].storage: is for storage: leave it out of pattern all-to-all\n"},
	{"{trace: /nowhere/flows.txt, to: h2, size: 1KB, count: 3, jitter: 1us, load: 5%}",
	 "6:13: flows[0].trace: /nowhere/flows.txt: cannot read: No such file or directory\n"
	 "6:37: flows[0].to: is in the file: leave it out of pattern trace\n"
	 "6:47: flows[0].size: is in the file: leave it out of pattern trace\n"
	 "6:59: flows[0].count: is in the file: leave it out of pattern trace\n"
	 "6:70: flows[0].jitter: is in the file: leave it out of pattern trace\n"
	 "6:81: flows[0].load: is for poisson, request and storage: leave it out of pattern "
	 "trace\n"},
	{"{pattern: trace, from: \"h*\"}",
	 "6:15: flows[0].trace: pattern trace needs a file\n"},
	{"{pattern: incast, from: h1, to: h2, trace: /nowhere}",
	 "6:48: flows[0].trace: has its own pattern: leave it out of pattern incast\n"},
	{"{from: h1, to: h2, size: [1, 2]}",
	 "6:30: flows[0].size: expected a single value, found a list\n"},
};

// Of `inof`; the hosts are below the flows.
static const char inof_hosts[] = "\nhosts: {h1: {inof: initiator}, h2: {inof: target}}\n";
static const struct {
	const char *flow, *says;
} inof_rows[] = {
	{"{from: h1, to: h2, size: 1KB, inof: on}",
	 "(runs)\n"
	 "test:6:41: warning: flows[0].inof: h1 sends nothing, because the policy of its switch s1 "
	 "has no iNOF: add inof: on and switch: {lldp: on} to the policy, or give the hosts "
	 "notices: off\n"},
	{"{from: [h1, h3], to: [h2, h4], size: 1KB, inof: on}",
	 "6:12: flows[0].from: h3 is no initiator: give it `inof: initiator`\n"
	 "6:26: flows[0].to: h4 is no target: give it `inof: target`\n"},
	{"{from: h1, to: h2, inof: on}",
	 "6:30: flows[0].inof: has no effect on an endless stream: give a size\n"},
	{"{pattern: incast, from: h1, to: h2, size: 1KB, inof: on}",
	 "6:58: flows[0].inof: is for each: leave it out of pattern incast\n"},
	{"{from: h1, to: h2, size: 1KB, inof: on, pairs: on, count: 3, interval: 1ms, reuse: 2}",
	 "6:52: flows[0].pairs: does not go with `inof`: leave one of them out\n"
	 "6:63: flows[0].count: does not go with `inof`: leave one of them out\n"
	 "6:76: flows[0].interval: does not go with `inof`: leave one of them out\n"
	 "6:88: flows[0].reuse: does not go with `inof`: leave one of them out\n"},
	{"{from: h1, to: h2, size: 1KB, inof: on, tcp: dctcp}",
	 "6:50: flows[0].tcp: does not go with `inof`: leave one of them out\n"},
};

static void mistakes_of_flows_by_inof_are_told_at_their_place(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(inof_rows) / sizeof(inof_rows[0]); i++) {
		char yaml[1024], *got;

		snprintf(yaml, sizeof(yaml),
			 "topology: {star: {hosts: 4, speed: 10G}}\nflows:\n  - %s%s",
			 inof_rows[i].flow, inof_hosts);
		got = world_mistakes(root, yaml);
		assert_string_equal(got, inof_rows[i].says);
		free(got);
	}
}

static void mistakes_of_flows_are_told_at_their_place(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char yaml[1024], *got;

		snprintf(yaml, sizeof(yaml),
			 "topology: {star: {hosts: 4, speed: 10G}}\nflows:\n  - %s\n",
			 rows[i].flow);
		got = world_mistakes(root, yaml);
		assert_string_equal(got, rows[i].says);
		free(got);
	}
}

static void a_distribution_that_is_wrong_is_told_with_its_own_line(void **state)
{
	char path[PATH_MAX], *got;

	(void)state;
	temporary_file(path, "sizes.cdf", "# sizes\n1000 0.5\n900 1\n");
	got = world_mistakes(
		root, "topology: {star: {hosts: 4, speed: 10G}}\nflows:\n"
		      "  - {pattern: poisson, from: h1, to: h2, load: 1%, size: sizes.cdf}\n");
	assert_string_equal(got, "3:1: sizes must rise from line to line\n");
	free(got);
}

static void flows_of_a_trace_that_begin_too_late_are_told(void **state)
{
	static const struct {
		const char *keys, *says;
	} late[] = {
		{"start: 1us", "flows[0].trace: the run ends at 1s, before 1 of 3 flows begin\n"},
		{"stop: 7us", "flows[0].trace: it stops at 7us, before 2 of 3 flows begin\n"},
		{"stop: 2s", "flows[0].trace: the run ends at 1s, before 1 of 3 flows begin\n"},
	};
	char path[PATH_MAX];

	(void)state;
	temporary_file(path, "trace", "start,from,to,bytes\n0,0,1,9\n7us,0,1,9\n1s,0,1,9\n");
	for (unsigned i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		char yaml[PATH_MAX + 256], *got;

		snprintf(yaml, sizeof(yaml),
			 "topology: {star: {hosts: 4, speed: 10G}}\nflows:\n"
			 "  - {trace: %s, %s}\n",
			 path, late[i].keys);
		got = world_mistakes(root, yaml);
		assert_non_null(strstr(got, late[i].says));
		free(got);
	}
}

static void hosts_without_a_way_between_them_cannot_talk(void **state)
{
	char *got = world_mistakes(
		root, "switches: {s1: {ports: 2}, s2: {ports: 2}}\n"
		      "hosts: {\"h[1-4]\": {}}\n"
		      "links:\n"
		      "  - {between: [\"h[1-2]\", \"s1.p[1-2]\"], speed: 10G}\n"
		      "  - {between: [\"h[3-4]\", \"s2.p[1-2]\"], speed: 10G}\n"
		      "flows:\n  - {from: h1, to: h2}\n  - {from: h1, to: [h2, h3]}\n");

	(void)state;
	assert_string_equal(got,
			    "11:5: flows[1]: h1 cannot reach h3: no way of links joins them\n");
	free(got);
}

static void some_things_cannot_be_had_on_the_wire(void **state)
{
	char *got = world_mistakes(root, "connect: cm\ntopology: {star: {hosts: 4, speed: 10G}}\n"
					 "flows:\n"
					 "  - {from: h1, to: h2, mtu: 1000}\n"
					 "  - {pattern: request, from: h1, to: h2, size: 5}\n");

	(void)state;
	assert_string_equal(got,
			    "7:29: flows[0].mtu: on the wire a path MTU is 256, 512, 1024, 2048 "
			    "or 4096: leave out `connect: cm` for others\n"
			    "8:15: flows[1].pattern: request needs connections out of band: leave "
			    "out `connect: cm`\n");
	free(got);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_of_flows_are_told_at_their_place),
		cmocka_unit_test(mistakes_of_flows_by_inof_are_told_at_their_place),
		cmocka_unit_test(a_distribution_that_is_wrong_is_told_with_its_own_line),
		cmocka_unit_test(flows_of_a_trace_that_begin_too_late_are_told),
		cmocka_unit_test(hosts_without_a_way_between_them_cannot_talk),
		cmocka_unit_test(some_things_cannot_be_had_on_the_wire),
	};

	root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
