#include "inspect/manual.h"

#include "inspect/options.h"
#include "views/report.h"
#include "views/request.h"
#include "views/theme.h"

#include <string.h>

/* Text that roff must not take for its own. */
static void escaped(struct str *s, const char *text)
{
	if (*text == '.' || *text == '\'')
		str_add(s, "\\&");
	for (; *text; text++) {
		if (*text == '\\')
			str_add(s, "\\e");
		else if (*text == '-')
			str_add(s, "\\-");
		else if (*text == '^')
			str_add(s, "\\(ha");
		else if (*text == '~')
			str_add(s, "\\(ti");
		else if (*text == '\'')
			str_add(s, "\\(aq");
		else if (*text == '`')
			str_add(s, "\\(ga");
		else
			str_addn(s, text, 1);
	}
}

static void tagged(struct str *s, const char *tag, const char *text)
{
	str_add(s, ".TP\n.B ");
	escaped(s, tag);
	str_add(s, "\n");
	escaped(s, text);
	str_add(s, "\n");
}

static void section(struct str *s, const char *title, const char *text)
{
	str_addf(s, ".SH %s\n%s%s", title, text, *text ? "\n" : "");
}

static void options(struct str *s)
{
	for (const struct option_row *r = option_table; r->help; r++) {
		struct str tag = { 0 };

		if (!r->name) {
			str_addf(s, ".SS %s\n", r->help);
			continue;
		}
		if (r->letter)
			str_addf(&tag, "-%c, ", r->letter);
		str_addf(&tag, "--%s%s%s", r->name, r->value && strncmp(r->value, "[=", 2) ? " " : "", r->value ? r->value : "");
		tagged(s, str_text(&tag), r->help);
		str_free(&tag);
	}
}

static void requests(struct str *s)
{
	for (int i = 0; i < request_rows; i++) {
		const struct request_row *r = &request_table[i];
		struct str tag = { 0 }, help = { 0 };
		char name[REQUEST_NAME_BYTES];

		if (!r->name) {
			str_addf(s, ".SS %s\n", r->help);
			continue;
		}
		request_name(r, name);
		request_help(r, &help);
		str_addf(&tag, "%s  (%s)", r->keys, name);
		tagged(s, str_text(&tag), str_text(&help));
		str_free(&tag);
		str_free(&help);
	}
}

static void finding(struct str *s)
{
	section(s, "SEARCH AND FILTER",
		"Both take POSIX extended regular expressions, work as one types, and look at the cells of each line.\n"
		"Capitals count only where the expression has one; \\(ha and $ are the ends of a cell.\n"
		".PP\nA filter is one or more words, all of which must hold; ! before a word turns it round:");
	tagged(s, "conv", "A cell matches.");
	tagged(s, "op:mm|bmm", "The operator matches.");
	tagged(s, "reason:rank", "The reason why it is not in a delegate, or why a candidate stays, matches: its code or its sentence.");
	tagged(s, "module:layer.3", "The module matches.");
	tagged(s, "delegate:0", "It runs in that delegate; delegate:none, in none.");
}

static void configuration(struct str *s)
{
	section(s, "CONFIGURATION",
		"The pages read \\fI$XDG_CONFIG_HOME/etinspect/config\\fR, or else \\fI\\(ti/.config/etinspect/config\\fR.\n"
		"Each line sets one thing; empty lines and those that begin with # say nothing.\n"
		"A bad line is told on the last line of the screen; the others count.");
	tagged(s, "key REQUEST [KEY]...", "The keys of a request instead of its default ones; without keys it has none. A key is taken "
	       "from the request that had it. Keys are characters, ^ and a letter for Ctrl, f1 to f12, and down, up, left, right, "
	       "pgdn, pgup, home, end, insert, delete, tab, backtab, backspace, enter, space and esc.");
	tagged(s, "color STYLE [COLOR] [on COLOR] [ATTRIBUTE]...", "How a style looks. Colours are default, black, red, green, yellow, "
	       "blue, magenta, cyan, white, the same with bright- before them, and numbers up to 255; a terminal with fewer shows the "
	       "nearest. Attributes are bold, dim, underline and reverse. The styles:");
	for (int i = 0; i < THEME_ITEMS; i++)
		str_addf(s, "%s%s\n", theme_names[i], i + 1 < THEME_ITEMS ? "," : ".");
	tagged(s, "columns PAGE [NAME]...", "The columns of a page that are shown; without names all are. Pages and columns are written as "
	       "they are titled, with - for a blank: columns Graph node operator runs-on fix. | chooses them for the time being.");
	tagged(s, "mouse on|off", "Whether the mouse is ours (on). With Shift most terminals keep it for themselves.");
	str_add(s, ".PP\nFor example:\n.PP\n.nf\n.RS\nkey quit Q\nkey page\\-down pgdn space\ncolor bad bright\\-red bold\n"
		"color cursor white on 24\n.RE\n.fi\n");
}

void manual_print(struct str *s)
{
	str_add(s, ".TH ETINSPECT 1 \"\" \"etinspect " REPORT_VERSION "\" \"User Commands\"\n");
	section(s, "NAME", "etinspect \\- says what XNNPACK does not run in an ExecuTorch program, why, and fixes it");
	section(s, "SYNOPSIS", ".B etinspect\n[\\fIOPTION\\fR]... [\\fIMODEL.pte\\fR [\\fIDATA.ptd\\fR]...]");
	section(s, "DESCRIPTION",
		"Says for every node of an ExecuTorch program whether XNNPACK runs it and, if not, why and what would fix it;\n"
		"fixes it, proves the fix by running both, and writes a new program.\n"
		"Without options it opens the terminal pages; without a file, on a small program of its own.\n"
		"\\fIMODEL\\fR may be a folder, or \\- for standard input.\n"
		".PP\nVerdicts are those of the partitioner of " REPORT_RULES ", whatever XNNPACK is installed.");
	section(s, "OPTIONS", "");
	options(s);
	section(s, "KEYS", "In the terminal pages. The name in parentheses is that of the request, for the configuration.");
	requests(s);
	finding(s);
	configuration(s);
	section(s, "EXIT STATUS", "0 fine; 1 a \\-\\-fail\\-on budget is broken; 2 bad usage; 3 a file cannot be read; 4 a run or a "
		"write failed.");
	section(s, "ENVIRONMENT", "");
	tagged(s, "NO_COLOR", "If it is set and not empty there are no colours, unless --color=always.");
	tagged(s, "XDG_CONFIG_HOME", "The folder of the configuration.");
	section(s, "EXAMPLES", ".nf\netinspect model.pte\netinspect \\-\\-report model.pte\n"
		"etinspect \\-\\-optimize \\-o fast.pte \\-\\-bench model.pte\n.fi");
}
