#include "inspect/terminal.h"

#include <langinfo.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* What a signal handler needs to give the terminal back without ncurses; a handler has nowhere else to look. */
static struct {
	volatile sig_atomic_t open, came;
	struct termios modes;
	char leave[128];	/* cursor on, attributes off, main screen: what the terminal's description says */
	size_t bytes;
	bool mouse;		/* leave has what ends it */
} terminal;

bool terminal_usable(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

int terminal_signal(void)
{
	int came = terminal.came;

	terminal.came = 0;
	return came;
}

static void on_request(int sig)
{
	terminal.came = sig;
}

static void on_crash(int sig)
{
	if (terminal.open) {
		terminal.open = 0;
		if (write(STDOUT_FILENO, terminal.leave, terminal.bytes) < 0)
			_exit(128 + sig);
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.modes);
	}
	raise(sig);	/* the handler was for one shot: this ends us */
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };

	sigemptyset(&a.sa_mask);
	sigaction(sig, &a, NULL);
}

static void note(const char *capability)
{
	const char *s = tigetstr(capability);
	size_t n = s && s != (const char *)-1 ? strlen(s) : 0;

	if (terminal.bytes + n <= sizeof terminal.leave) {
		memcpy(terminal.leave + terminal.bytes, s ? s : "", n);
		terminal.bytes += n;
	}
}

bool terminal_open(struct error *err)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT },
		crashing[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

	if (terminal.open)
		return true;
	tcgetattr(STDIN_FILENO, &terminal.modes);
	if (!newterm(NULL, stdout, stdin))
		return error_set(err, ERROR_IO, "the terminal '%s' is not known here", getenv("TERM"));
	terminal.bytes = 0;
	note("cnorm");
	note("sgr0");
	note("rmkx");
	note("rmcup");
	terminal.open = 1;
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		handle(ending[i], on_request, 0);
	for (size_t i = 0; i < sizeof crashing / sizeof *crashing; i++)
		handle(crashing[i], on_crash, (int)SA_RESETHAND);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	return true;
}

void terminal_mouse(bool on)
{
	static const char off[] = "\033[?1006;1000l";	/* xterm's, and what ncurses falls back to */

	if (!mousemask(on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL) || terminal.mouse)
		return;
	terminal.mouse = true;
	mouseinterval(0);	/* a press counts at once, no click is waited for */
	if (terminal.bytes + sizeof off - 1 <= sizeof terminal.leave) {
		memcpy(terminal.leave + terminal.bytes, off, sizeof off - 1);
		terminal.bytes += sizeof off - 1;
	}
}

void terminal_close(void)
{
	if (!terminal.open)
		return;
	terminal.open = 0;
	endwin();
}
