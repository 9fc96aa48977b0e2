/* etinspect: what XNNPACK does not run in an ExecuTorch program, why, and a file where it is fixed. */
#include "core/xnn/live.h"
#include "inspect/options.h"
#include "views/report.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum exit_status { EXIT_FINE, EXIT_BUDGET, EXIT_USAGE, EXIT_READ, EXIT_RUN };

static void out_of_memory(size_t bytes)
{
	fprintf(stderr, "etinspect: out of memory, %zu bytes were asked for\n", bytes);
	_exit(EXIT_RUN);
}

static int fail(int status, const struct error *err)
{
	struct text t = { 0 };

	text_add(&t, "etinspect: %s%s\n", err->text, status == EXIT_USAGE ? "; see etinspect --help" : "");
	fputs(str_text(&t.s), stderr);
	text_free(&t);
	return status;
}

static int print(struct text *t)
{
	fputs(str_text(&t->s), stdout);
	text_free(t);
	return fflush(stdout) ? EXIT_RUN : EXIT_FINE;
}

static int about(const struct options *o)
{
	struct text t = { 0 };

	if (o->help)
		options_help(&t.s);
	else if (o->version)
		text_add(&t, "etinspect %s, XNNPACK %s here, rules of %s\n", REPORT_VERSION, live_version(), REPORT_RULES);
	else
		report_list_ops(&t);
	return print(&t);
}

int main(int argc, char **argv)
{
	struct options o;
	struct error err = { 0 };
	int status;

	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	mem_on_failure(out_of_memory);
	if (!options_parse(&o, argc, argv, &err))
		status = fail(EXIT_USAGE, &err);
	else if (o.help || o.version || o.list_ops)
		status = about(&o);
	else
		status = fail(EXIT_RUN, &(struct error){ ERROR_UNSUPPORTED, "reading programs is not connected yet" });
	options_free(&o);
	return status;
}
