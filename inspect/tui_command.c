/* The `:` line: commands, and the options of the command line as far as they make sense here. */
#include "inspect/tui_parts.h"

#include "core/op/op.h"
#include "core/xnn/live.h"
#include "inspect/batch.h"
#include "inspect/budget.h"
#include "inspect/command.h"
#include "inspect/manual.h"
#include "inspect/terminal.h"
#include "inspect/trace.h"
#include "views/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Going to a node. */

/* What a person calls it: an id, the part behind the method's name, an operator, or a constant. */
static bool is_called(const struct node_row *r, const char *name)
{
	const char *slash = strchr(r->id, '/');
	char op[64];

	return !strcmp(r->id, name) || (slash && !strcmp(slash + 1, name)) ||
		!strcmp(look_op(r->node->op, op, sizeof op), name) || !strcmp(r->node->op->name, name);
}

/* The next one behind the row that is shown, if that is one of several. */
static const struct node_row *find_node(const struct method_facts *f, const char *name, const char *here)
{
	const struct node_row *first = NULL;
	bool behind = false;

	for (int i = 0; i < f->nrows; i++) {
		if (is_called(&f->row[i], name) && behind)
			return &f->row[i];
		if (is_called(&f->row[i], name) && !first)
			first = &f->row[i];
		behind = behind || (here && !strcmp(f->row[i].id, here));
	}
	return first;
}

static void go_to(struct tui *t, const char *name)
{
	struct page *p = tui_here(t);
	const char *here = t->at == PAGE_GRAPH && page_row(p) >= 0 ? p->ops->node(p, &t->ui, page_row(p)) : NULL;
	const struct version *v = ui_version(&t->ui);
	char leaf[260];

	for (int i = 0; i < t->s->program->nmethods; i++) {	/* this method first */
		int m = (t->ui.method + i) % t->s->program->nmethods;
		const struct node_row *r = find_node(&v->facts[m], name, here);

		if (r) {
			tui_go(t, PAGE_GRAPH, m, r->id);
			return;
		}
		for (int k = 0; k < v->method[m]->nvalues; k++)
			if (v->method[m]->value[k]->kind != VALUE_NODE && !strcmp(v->method[m]->value[k]->name, name)) {
				snprintf(leaf, sizeof leaf, "%%%s", name);
				tui_go(t, PAGE_GRAPH, m, leaf);
				return;
			}
	}
	tui_say(t, false, "no node, operator or constant is called '%s'", name);
}

static void go_to_method(struct tui *t, const char *name)
{
	int m = 0;

	while (strcmp(t->s->program->method[m]->method, name))
		m++;
	tui_go(t, t->at, m, "");
}

/* Texts. */

static void show(struct tui *t, struct text *text)
{
	str_free(&t->text);
	t->text = text->s;
	t->ui.text = str_text(&t->text);
	page_forget(&t->page[PAGE_TEXT], &t->ui);
	t->page[PAGE_TEXT].cursor = 0;
	if (t->at == PAGE_TEXT)
		tui_rebuild(t);
	else
		tui_go(t, PAGE_TEXT, t->ui.method, "");
}

static void print_json(struct text *text, json_t *j)
{
	char *s = json_dumps(j, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));

	str_add(&text->s, s ? s : "null");
	str_add(&text->s, "\n");
	free(s);
	json_decref(j);
}

static void print_explained(struct text *text, const struct options *o, const struct report *r)
{
	json_t *array;
	int n;

	if (o->format == FORMAT_JSON) {
		array = json_array();
		n = explain_json(array, r);
		print_json(text, array);
	} else {
		n = explain_text(text, r);
	}
	if (!n)
		text_add(text, "no node, operator or constant is called '%s'\n", o->explain);
}

static void print_report(struct text *text, const struct options *o, const struct report *r)
{
	if (o->explain) {
		print_explained(text, o, r);
		return;
	}
	switch (o->format) {
	case FORMAT_JSON: print_json(text, report_json(r)); break;
	case FORMAT_MARKDOWN: report_markdown(text, r); break;
	case FORMAT_CSV: report_csv(text, r); break;
	case FORMAT_DOT: report_dot(text, r); break;
	default: report_text(text, r);
	}
}

static void show_report(struct tui *t, const struct options *o)
{
	struct report r = { .s = t->s, .xnnpack = live_version(), .method = o->method.at, .nmethods = o->method.n, .table = o->table,
			    .by = o->by, .explain = o->explain, .hash = o->hash, .applied = t->s->current > 0 };
	struct text text = { 0 };
	struct arena mem = { 0 };
	struct error err = { 0 };
	bool kept = true;

	if (o->baseline && !baseline_read(&r, o->baseline, &mem, &err)) {
		tui_say(t, true, "%s", err.text);
		arena_free(&mem);
		return;
	}
	if (o->fail_on.n)
		kept = budget_check(&r, o->fail_on.at, o->fail_on.n, &mem);
	print_report(&text, o, &r);
	arena_free(&mem);
	show(t, &text);
	if (o->fail_on.n)
		tui_say(t, !kept, kept ? "all of the budget is kept" : "a budget is broken, or its value is not known");
}

static bool show_about(struct tui *t, const struct options *o)
{
	struct text text = { 0 };

	if (o->help)
		options_help(&text.s);
	else if (o->manual)
		manual_print(&text.s);
	else if (o->version)
		text_add(&text, "etinspect %s, XNNPACK %s here, rules of %s\n", REPORT_VERSION, live_version(), REPORT_RULES);
	else if (o->list_ops && o->format == FORMAT_JSON)
		print_json(&text, list_ops_json());
	else if (o->list_ops)
		list_ops_text(&text);
	else
		return false;
	show(t, &text);
	return true;
}

/* Work. */

static void write_to(struct tui *t, const struct options *o)
{
	if (!o->force || !o->allow_worse) {
		tui_write(t, o->output);
		return;
	}
	snprintf(t->write_to, sizeof t->write_to, "%s", o->output);
	tui_write_now(t, "");
}

static void verify(struct tui *t)
{
	if (!t->s->current)
		tui_say(t, false, "nothing was changed: there is nothing to compare");
	else if (tui_may_edit(t))
		tui_compare(t);
}

static void trace(struct tui *t, const struct options *o)
{
	struct error err = { 0 };

	if (trace_write(t->s, o->trace, o->force, &err))
		tui_say(t, false, "written to %s", o->trace);
	else
		tui_say(t, true, "%s", err.text);
}

static bool same_run(const struct run_options *a, const struct run_options *b)
{
	return a->threads == b->threads && a->warmup == b->warmup && a->runs == b->runs && a->max_seconds == b->max_seconds &&
		a->tolerance == b->tolerance && a->seed == b->seed && a->input == b->input && a->shape == b->shape;
}

/* Options of the runs to come; what is not on the line stays. False: they cannot be set now. */
static bool set_run(struct tui *t, struct options *o)
{
	struct run_options *run = &t->s->run, before = *run;

	if (!o->run.ninputs) {
		o->run.input = before.input;
		o->run.ninputs = before.ninputs;
	}
	if (!o->run.nshapes) {
		o->run.shape = before.shape;
		o->run.nshapes = before.nshapes;
	}
	if (same_run(&o->run, &before))
		return true;
	if (!tui_may_edit(t))
		return false;
	*run = o->run;
	tui_say(t, false, "set for the runs to come");
	return true;
}

/* One thing at a time: what works goes on in the background. */
static void run_options(struct tui *t, struct options *o)
{
	int jobs = (o->apply.n > 0) + (o->output != NULL) + (o->bench || o->verify) + (o->trace != NULL);
	struct error err = { 0 };
	bool report = o->format != FORMAT_AUTO || o->explain || o->fail_on.n || o->baseline || o->hash;

	if (jobs > 1) {
		tui_say(t, true, "one thing a line: apply, write, run or trace");
		return;
	}
	if (o->apply.n > DRAFT_STEPS) {
		tui_say(t, true, "at most %d steps at once", DRAFT_STEPS);
		return;
	}
	if (!batch_has_methods(o, t->s, &err)) {
		tui_say(t, true, "%s", err.text);
		return;
	}
	if (show_about(t, o) || !set_run(t, o))
		return;
	if (report)
		show_report(t, o);
	else if (o->method.n)
		go_to_method(t, o->method.at[0]);
	if (o->apply.n)
		tui_apply(t, o->apply.at, o->apply.n, "nothing came of it; pages 3 to 5 say why");
	else if (o->output)
		write_to(t, o);
	else if (o->bench)
		tui_bench(t);
	else if (o->verify)
		verify(t);
	else if (o->trace)
		trace(t, o);
	else if (!report && !o->method.n && !*t->message)
		tui_say(t, false, "nothing to do: that goes with another option, or with the start of the program");
}

static void set(struct tui *t, const char *line)
{
	struct error err = { 0 };
	unsigned before[PAGES];

	memcpy(before, t->config.hidden, sizeof before);
	if (!config_line(&t->config, line, &err)) {
		tui_say(t, true, "%s", err.text);
		return;
	}
	if (t->ui.theme)
		screen_colors(&t->config.theme);
	terminal_mouse(t->config.mouse);
	for (int i = 0; i < PAGES; i++)
		if (t->config.hidden[i] != before[i])
			t->page[i].hidden = t->config.hidden[i];
	tui_rebuild(t);
	tui_say(t, false, "set, until the program ends");
}

static void run(void *ctx, const char *line)
{
	struct tui *t = ctx;
	struct command c;
	struct error err = { 0 };
	bool fine = command_parse(&c, line, &t->config.keys, &t->s->run, &t->command_mem, &err);

	*t->message = '\0';
	history_add(&t->commands, &t->command_mem, line);
	if (!fine)
		tui_say(t, true, "%s", err.text);
	else if (c.kind == COMMAND_REQUEST)
		tui_handle(t, c.request);
	else if (c.kind == COMMAND_GOTO)
		go_to(t, c.rest);
	else if (c.kind == COMMAND_SET)
		set(t, c.rest);
	else if (c.kind == COMMAND_WRITE)
		tui_write(t, c.rest);
	else if (c.kind == COMMAND_EXPORT)
		tui_export(t, c.rest);
	else if (c.kind == COMMAND_SEARCH)
		tui_search(t, c.rest);
	else if (c.kind == COMMAND_FILTER)
		tui_filter(t, c.rest);
	else if (c.kind == COMMAND_OPTIONS)
		run_options(t, &c.options);
	arena_join(&t->command_mem, &c.options.mem);	/* the session may point into it */
}

static void typed(void *ctx, const char *line)
{
	struct prompt *p = &((struct tui *)ctx)->prompt;
	struct str hint = { 0 };

	command_hint(line, &hint);
	snprintf(p->note, sizeof p->note, "%s", str_text(&hint));
	str_free(&hint);
}

/* Completes up to the cursor; what is behind it stays there. */
static void complete(void *ctx, struct prompt *p)
{
	struct str before = { 0 }, completed = { 0 }, note = { 0 };
	size_t at;

	str_addn(&before, p->answer, p->at);
	command_complete(str_text(&before), &completed, &note);
	at = completed.n;
	str_add(&completed, p->answer + p->at);
	if (completed.n < sizeof p->answer) {
		prompt_set(p, str_text(&completed));
		p->at = at;
	}
	if (note.n)
		snprintf(p->note, sizeof p->note, "%s", str_text(&note));
	str_free(&before);
	str_free(&completed);
	str_free(&note);
}

void tui_ask_command(struct tui *t)
{
	prompt_ask(&t->prompt, ":", "", run, t);
	prompt_remember(&t->commands, &t->prompt);
	t->prompt.typed = typed;
	t->prompt.complete = complete;
}
