// SPDX-License-Identifier: Apache-2.0
#include "control/lab/bundle.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/config/model.h"
#include "control/config/node.h"
#include "control/config/schema.h"
#include "control/config/terminal.h"
#include "control/lab/params.h"

enum { COLUMNS = 80, MAX_SCENARIOS = 1024 };

struct bundle {
	struct arena arena;
	const char *names[MAX_SCENARIOS];
	unsigned n;
};

// `installed` beside the folder of this program, or `source` where that is not there.
static const char *beside(const char *installed, const char *source)
{
	static char path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return source;
	strcpy(slash, installed);
	return access(path, R_OK) == 0 ? path : source;
}

const char *bundle_dir(void)
{
	return beside("/../share/weir/conf/lab", LAB_SOURCE_ROOT "/conf/lab");
}

const char *bundle_sweep(void)
{
	return beside("/../share/weir/lab/sweep.py", LAB_SOURCE_ROOT "/control/lab/sweep.py");
}

static void read_names(struct bundle *b)
{
	char *pattern = arena_printf(&b->arena, "%s/*.yaml", bundle_dir());
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && b->n < MAX_SCENARIOS; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;

		b->names[b->n++] = arena_text(&b->arena, name, strlen(name) - strlen(".yaml"));
	}
	globfree(&found);
}

static const char *name_at(const void *bundle, unsigned i)
{
	return ((const struct bundle *)bundle)->names[i];
}

static char *path_of(struct arena *a, const char *name)
{
	return arena_printf(a, "%s/%s.yaml", bundle_dir(), name);
}

// ---- a scenario by its name

bool bundle_resolve(struct lab_args *a)
{
	for (unsigned i = 0; i < a->n_files; i++) {
		const char *name = a->files[i];
		char *path;

		// A name with a dot or a slash is a file's.
		if (strpbrk(name, "./") != NULL || access(name, F_OK) == 0)
			continue;
		path = path_of(&a->arena, name);
		if (access(path, R_OK) != 0) {
			struct bundle b = {0};
			const char *near;

			read_names(&b);
			near = schema_closest(name, b.n, name_at, &b);
			if (near != NULL)
				usage_printf("weir-lab: there is no file and no scenario %s: did "
					     "you mean %s?\n",
					     name, near);
			else
				usage_printf("weir-lab: there is no file and no scenario %s; "
					     "weir-lab list prints the scenarios\n",
					     name);
			arena_fini(&b.arena);
			return false;
		}
		a->files[i] = path;
	}
	return true;
}

// ---- the list

// The title of a scenario. Without a title: the first sentence of its description.
static const char *summary(struct arena *a, const char *name)
{
	const char *path = path_of(a, name), *title = NULL, *description = "";
	struct diag_sink sink = {.file = path, .document = "scenario"};
	struct diags ignored = {0};
	const struct node *child;
	struct node *root;
	char *text, *end;
	size_t len;

	if (config_read_file(path, &text, &len) != 0)
		return "";
	root = node_parse(a, text, len, &sink);
	if (root != NULL)
		(void)params_apply(a, &sink, root);
	for (child = root != NULL ? root->first : NULL; child != NULL; child = child->next) {
		if (strcmp(child->key->text, "title") == 0 && child->text != NULL)
			title = arena_text(a, child->text, strlen(child->text));
		if (strcmp(child->key->text, "description") == 0 && child->text != NULL)
			description = arena_text(a, child->text, strlen(child->text));
	}
	free(text);
	diag_finish(&sink, &ignored);
	diags_fini(&ignored);
	if (title != NULL)
		return title;
	end = strstr(description, ". ");
	return end == NULL ? description
			   : arena_text(a, description, (size_t)(end + 1 - description));
}

int lab_list(const struct lab_args *a)
{
	const char *word = a->n_files > 0 ? a->files[0] : "";
	struct bundle b = {0};
	size_t width = 0, room;
	unsigned n_shown = 0;

	if (a->n_files > 1) {
		fputs("usage: weir-lab list [WORD]\n", stderr);
		return LAB_MISUSED;
	}
	read_names(&b);
	for (unsigned i = 0; i < b.n; i++)
		if (strlen(b.names[i]) > width)
			width = strlen(b.names[i]);
	room = COLUMNS - 2 - width;
	for (unsigned i = 0; i < b.n; i++) {
		const char *text = summary(&b.arena, b.names[i]);
		size_t len = strcspn(text, "\n");
		bool cut = len > room;

		if (strcasestr(b.names[i], word) == NULL && strcasestr(text, word) == NULL)
			continue;
		// A long text is cut between two words.
		for (len = cut ? room - strlen(" ...") : len; cut && len > 0 && text[len] != ' ';)
			len--;
		printf("%-*s  %.*s%s\n", (int)width, b.names[i], (int)len, text, cut ? " ..." : "");
		n_shown++;
	}
	arena_fini(&b.arena);
	if (n_shown > 0)
		return LAB_DONE;
	usage_printf("weir-lab: no scenario of %s has \"%s\" in its name or title\n", bundle_dir(),
		     word);
	return LAB_FAILED;
}
