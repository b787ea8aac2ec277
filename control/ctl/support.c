// SPDX-License-Identifier: Apache-2.0
// The command `support`: becomes the program support.py, which collects an archive with this
// weirctl.
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/base/terminal.h"
#include "control/ctl/client.h"
#include "control/ctl/ctl.h"
#include "control/ctl/show.h"
#include "source_root.h"

static const char installed[] = "/../share/weir/ctl/support.py";
static const char source[] = SOURCE_ROOT "/control/ctl/support.py";

// The path of this program in self, and of the other one in script, which has the larger room.
static bool find_script(char self[PATH_MAX], char script[PATH_MAX + sizeof(installed)])
{
	ssize_t len = readlink("/proc/self/exe", self, PATH_MAX - 1);
	char *slash;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return false;
	snprintf(script, PATH_MAX + sizeof(installed), "%.*s%s", (int)(slash - self), self,
		 installed);
	if (access(script, R_OK) != 0)
		snprintf(script, PATH_MAX + sizeof(installed), "%s", source);
	return access(script, R_OK) == 0;
}

int cmd_support(const struct ctl *c, int argc, char **argv)
{
	char self[PATH_MAX], script[PATH_MAX + sizeof(installed)];
	char found[CLIENT_NAME_LEN], kinds[SHOW_KINDS_LEN];
	const char *name = c->name != NULL ? c->name : client_find(found);

	if (name == NULL)
		return CTL_FAILED;
	if (!find_script(self, script)) {
		terminal_printf(stderr, "weirctl: support.py is not installed beside %s\n", self);
		return CTL_FAILED;
	}
	// -EsB: neither the user's environment nor modules, and no cache is written.
	execlp("python3", "python3", "-EsB", "-Xutf8", script, self, name, show_kinds(kinds),
	       argc == 1 ? argv[0] : (char *)NULL, (char *)NULL);
	fprintf(stderr, "weirctl: cannot start python3, which collects the archive: %s%s\n",
		strerror(errno), errno == ENOENT ? "; install the package python3" : "");
	return CTL_FAILED;
}
