/* etinspect: what XNNPACK does not run in an ExecuTorch program, why, and a file where it is fixed. */
#include "core/xnn/live.h"
#include "inspect/batch.h"
#include "inspect/loading.h"
#include "inspect/manual.h"
#include "inspect/terminal.h"
#include "inspect/tui.h"
#include "views/report.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void out_of_memory(size_t bytes)
{
	terminal_close();
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
	int status = EXIT_FINE;

	batch_print(str_text(&t->s), &status);
	text_free(t);
	return status;
}

static void list_ops(const struct options *o, struct text *t)
{
	json_t *j = o->format == FORMAT_JSON ? list_ops_json() : NULL;
	char *s = j ? json_dumps(j, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;

	if (s)
		str_addf(&t->s, "%s\n", s);
	else
		list_ops_text(t);
	free(s);
	json_decref(j);
}

static int about(const struct options *o)
{
	struct text t = { 0 };

	if (o->help)
		options_help(&t.s);
	else if (o->manual)
		manual_print(&t.s);
	else if (o->version)
		text_add(&t, "etinspect %s, XNNPACK %s here, rules of %s\n", REPORT_VERSION, live_version(),
			 REPORT_RULES);
	else
		list_ops(o, &t);
	return print(&t);
}

static int pages(const struct options *o)
{
	struct error err = { 0 };
	int status;
	struct session *s = loading_run(o, &status, &err);

	if (!s)
		return err.text[0] ? fail(status, &err) : status;
	status = tui_run(s, o);
	session_close(s);
	return status;
}

/* Pages show one program, which must be a file: standard input is the keyboard. */
static bool is_one_file(const struct options *o)
{
	struct stat st;

	return !o->model.n || (strcmp(o->model.at[0].path, "-") &&
			       !(stat(o->model.at[0].path, &st) == 0 && S_ISDIR(st.st_mode)));
}

/* With a standard descriptor closed, the next file would take its place and get what is printed. */
static void hold_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct options o;
	struct error err = { 0 };
	int status;

	if (argc == 2 && !strcmp(argv[1], "--worker"))
		return worker_main();
	hold_standard_files();
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* a limit on file size is an error of writing */
	mem_on_failure(out_of_memory);
	if (!options_parse(&o, argc, argv, &err))
		status = fail(EXIT_USAGE, &err);
	else if (o.help || o.version || o.list_ops || o.manual)
		status = about(&o);
	else if (!options_batch(&o) && terminal_usable() && is_one_file(&o))
		status = pages(&o);
	else
		status = batch_run(&o);
	options_free(&o);
	return status;
}
