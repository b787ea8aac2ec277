// SPDX-License-Identifier: Apache-2.0
// Where a server listens, as written on a command line: "9410", "127.0.0.1:9410", "[::1]:9410".
// Pure: opens nothing, asks no name service. Without an address it is this machine only.
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

enum { ENDPOINT_TEXT_LEN = 64 };

struct endpoint {
	struct sockaddr_storage addr;
	socklen_t len;
	char text[ENDPOINT_TEXT_LEN]; // "127.0.0.1:9410", for people
};

// False when the text is none; *out is untouched then.
bool endpoint_parse(const char *text, struct endpoint *out);
