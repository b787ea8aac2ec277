// SPDX-License-Identifier: Apache-2.0
// Stream sockets made of memory, for targets that speak to a server of the daemon. A real socket
// costs more time than the server that is tried. The target defines accept4, bind, close, listen,
// poll, recv, send, setsockopt, shutdown and socket, so the server calls these instead of the
// kernel's. The semantics are those of a UNIX stream socket. One listener, one thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { NET_CONNS = 32, NET_BYTES = 1 << 18 }; // bytes on the way, each direction

struct net_conn;

// How many bytes one send or recv of the server moves at most. 0: none, as if it must wait.
void net_set_width(size_t bytes);

int net_listener(void); // a descriptor for the server
// The client's end. NULL: the queue of connections is full.
struct net_conn *net_connect(void);
// Bytes that found room.
size_t net_write(struct net_conn *c, const void *data, size_t len);
// Bytes, 0 at the end of the stream, -1: none has come.
long net_read(struct net_conn *c, void *data, size_t len);
size_t net_waiting(const struct net_conn *c); // bytes for the client
void net_shut_write(struct net_conn *c);
void net_shut_read(struct net_conn *c);
void net_close(struct net_conn *c);

// Descriptors that the server has not closed.
unsigned net_n_open(void);
