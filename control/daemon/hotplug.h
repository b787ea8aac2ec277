// SPDX-License-Identifier: Apache-2.0
// Hot plug: a device disappears and comes back while the switch runs.
//
//   present      the device exists
//     | it is gone
//     v
//   leaving      the worker replaces the driver by live_absent()
//     | done: a thread closes the driver, and the frames of the driver go back to the pool.
//     |       A driver may wait for a minute for a card that does not exist any more.
//     v
//   closing      no other device is opened or closed
//     | done
//     v
//   absent       twice a second: does the device exist, and is it up?
//     | yes: control opens the device, and compiles the policy for its MAC address and speed
//     v
//   opened       the publication is under way
//     | done
//     v
//   arriving     the worker takes the driver over
//     | done: interface-back
//     v
//   present
//
// Control reports a device that cannot be used once per reason, after two equal looks: a program
// may set the MTU of a device some time after it made the device. Control thread only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct hotplug;

// The daemon must have its switch. 0 or -ENOMEM.
__attribute__((warn_unused_result)) int hotplug_create(struct daemon *d, struct hotplug **out);
// NULL is fine. False: the driver of a card that is gone is not closed yet, or after two seconds
// still being closed. Then DPDK may not be used any more, and the process ends without its
// destructors.
__attribute__((warn_unused_result)) bool hotplug_destroy(struct hotplug *h);
void hotplug_poll(struct hotplug *h, uint64_t now_ns);

// Before EAL starts: returns when all devices exist, or after --wait.
void hotplug_wait(const struct daemon *d);
