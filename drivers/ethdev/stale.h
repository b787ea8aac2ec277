// SPDX-License-Identifier: Apache-2.0
// Files of sockets that a killed program left behind. No program can listen at such a path.
#pragma once

// Removes the file at path if it is a socket of this type (SOCK_STREAM, SOCK_SEQPACKET) at which no
// program listens. Else it stays, and listening there fails. Control calls it.
void stale_socket_remove(const char *path, int type);
