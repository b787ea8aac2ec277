// SPDX-License-Identifier: Apache-2.0
// report.html: one file without script or anything from elsewhere. Well-formed as XML, too.
#include <stdlib.h>

#include "control/lab/report_rows.h"

static const char style[] =
	"body{font:14px/1.45 sans-serif;color:#222;max-width:1100px;margin:2em auto;padding:0 1em}"
	"h1{font-size:22px}h2{font-size:16px;margin:1.6em 0 .4em}"
	"table{border-collapse:collapse}td,th{padding:2px 10px;border-bottom:1px solid #ddd;"
	"text-align:left;white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:"
	"tabular-nums}svg{max-width:100%;height:auto;margin:.6em "
	"0}pre{background:#f6f6f6;padding:8px;"
	"overflow:auto}";

static void html_head(const char *title, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>", out);
	svg_escape(title, out);
	fprintf(out, "</title>\n<style>%s</style></head><body>\n<h1>", style);
	svg_escape(title, out);
	fputs("</h1>\n", out);
}

static void html_foot(FILE *out)
{
	fputs("</body></html>\n", out);
}

// Text that is printed first and then becomes a block of the page.
struct html_text {
	char *text;
	size_t len;
	FILE *f; // to print to; NULL: no memory
};

static void html_text_open(struct html_text *t)
{
	*t = (struct html_text){.text = NULL};
	t->f = open_memstream(&t->text, &t->len);
}

static void html_text_close(struct html_text *t, FILE *out)
{
	if (t->f == NULL)
		return;
	fclose(t->f);
	if (t->len != 0) {
		fputs("<pre>", out);
		for (size_t i = 0; i < t->len; i++) {
			char one[2] = {t->text[i], '\0'};

			if (t->text[i] == '\n')
				fputc('\n', out);
			else
				svg_escape(one, out);
		}
		fputs("</pre>\n", out);
	}
	free(t->text);
}

static int plot(void *arg, const char *file, const struct svg_plot *p)
{
	(void)file;
	svg_write(p, arg);
	return 0;
}

static void block(const struct run *r, void (*fn)(const struct run *r, FILE *out), FILE *out)
{
	struct html_text t;

	html_text_open(&t);
	if (t.f != NULL)
		fn(r, t.f);
	html_text_close(&t, out);
}

void html_page(const struct run *r, FILE *out)
{
	html_head(r->sc->name, out);
	if (r->sc->description != NULL) {
		fputs("<p>", out);
		svg_escape(r->sc->description, out);
		fputs("</p>\n", out);
	}
	block(r, report_head, out);
	(void)report_plots(r, plot, out);
	report_grids(r, grid_html, out);
	block(r, report_foot, out);
	html_foot(out);
}
