/* tool_monkey - presses random keys in the terminal pages, and resizes the terminal in between.
 *
 *   tool_monkey SEED STEPS ETINSPECT [ARG]...
 *
 * The program runs in a terminal of its own, in the current folder, where it may write files. It is started again
 * whenever it quits. Every key is waited for until it was read. The monkey fails when the program ends by a signal,
 * with a status that says something failed, or without giving the screen back; when it does not read its keys any
 * more; and when it sends what a terminal takes for a command of a hostile file (tool_make hostile). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

enum { SHOWN = 4096, PATIENCE_S = 120, HISTORY = 60 };

struct monkey {
	uint64_t seed;
	char **argv;
	pid_t child;
	int terminal, keyboard;		/* both ends: the keyboard end tells what was not read yet */
	char shown[SHOWN];		/* the end of what came */
	size_t nshown;
	const char *pressed[HISTORY];
	int step, starts;
};

/* Rare ones stand once, usual ones more often. */
static const char *const keys[] = {
	"j", "j", "k", "\033[B", "\033[A", "\033[C", "\033[D", "\033[5~", "\033[6~", "g", "G", "\033[H", "\033[F", "<", ">",
	"J", "K", "/", "n", "N", "s", "S", "t", "\r", "\r", "\177", "]", "[", "z", "z", "c", "\t", "\t", "\033[Z",
	"o", "f", "l", "p", " ", " ", "a", "u", "u", "u", "r", "\022", "w", "b", "b", "\033", "\033", "\033",
	"1", "2", "3", "4", "5", "6", "7", "8", "?", "e", "\014", "q", "y", "n", ":", "x", "conv", "add", "\303\251",
	"\347\225\263", "\377", "\001", "m", "d", "F", "R", "M", "C", "|", "&", "@", "~", "\033OP", "\033[<0;10;5M",
	"\033[<0;10;5m", "\033[<64;10;9M", "\033[<65;10;9M", "\033[200~", "i", "v", "h", "=", "-", "+",
};

static uint32_t chance(struct monkey *m, uint32_t n)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(m->seed >> 33) % n;
}

static struct winsize any_size(struct monkey *m)
{
	struct winsize w = { .ws_row = 24, .ws_col = 80 };

	if (chance(m, 3)) {
		w.ws_row = (unsigned short)(1 + chance(m, 60));
		w.ws_col = (unsigned short)(1 + chance(m, 200));
	}
	return w;
}

static void start(struct monkey *m)
{
	struct winsize size = any_size(m);

	if (openpty(&m->terminal, &m->keyboard, NULL, NULL, &size))
		exit(2);
	m->child = fork();
	if (!m->child) {
		close(m->terminal);
		login_tty(m->keyboard);
		setenv("TERM", "xterm-256color", 1);
		unsetenv("LINES");
		unsetenv("COLUMNS");
		execv(m->argv[0], m->argv);
		_exit(127);
	}
	fcntl(m->terminal, F_SETFL, O_NONBLOCK);
	m->nshown = 0;
	m->starts++;
}

static int complain(const struct monkey *m, const char *what)
{
	fprintf(stderr, "step %d: %s\nlast keys:", m->step, what);
	for (int i = HISTORY; i > 0; i--) {
		const char *k = i <= m->step + 1 ? m->pressed[(m->step + 1 - i) % HISTORY] : NULL;

		fputs(" ", stderr);
		for (; k && *k; k++)
			fprintf(stderr, *k > ' ' && *k < 127 ? "%c" : "\\%03o", *k & 0xff);
	}
	fprintf(stderr, "\nwhat was shown last:\n");
	for (size_t i = 0; i < m->nshown; i++)
		fprintf(stderr, m->shown[i] == '\033' ? "\n^[" : (m->shown[i] & 0xe0) ? "%c" : "\\n", m->shown[i]);
	fprintf(stderr, "\n");
	kill(m->child, SIGKILL);
	return 1;
}

/* True while there is something; keeps its end. */
static bool drain(struct monkey *m)
{
	char buf[SHOWN / 2];
	ssize_t n = read(m->terminal, buf, sizeof buf);

	if (n <= 0)
		return false;
	if (m->nshown + (size_t)n > SHOWN) {
		size_t keep = SHOWN - (size_t)n < m->nshown ? SHOWN - (size_t)n : m->nshown;

		memmove(m->shown, m->shown + m->nshown - keep, keep);
		m->nshown = keep;
	}
	memcpy(m->shown + m->nshown, buf, (size_t)n);
	m->nshown += (size_t)n;
	return true;
}

static bool has(const struct monkey *m, const char *bytes)
{
	return memmem(m->shown, m->nshown, bytes, strlen(bytes)) != NULL;
}

/* 0: it goes on; 1: something is wrong. It is started anew when it has ended well. */
static int look(struct monkey *m, bool *ended)
{
	int status;

	while (drain(m))
		;
	if (has(m, "\033[31mred") || has(m, "\302\233.bytes") || has(m, "\342\200\256turned"))
		return complain(m, "a name of the file reached the terminal as it stands");
	*ended = waitpid(m->child, &status, WNOHANG) == m->child;
	if (!*ended)
		return 0;
	while (drain(m))
		;
	if (WIFSIGNALED(status))
		return complain(m, strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return complain(m, "it ended with a status that says something failed");
	if (!has(m, "\033[?1049l"))
		return complain(m, "it did not give the screen back");
	close(m->terminal);
	close(m->keyboard);
	start(m);
	return 0;
}

static int press(struct monkey *m, const char *key)
{
	time_t since = time(NULL);
	int unread = 1;
	bool ended = false;

	m->pressed[m->step % HISTORY] = key;
	if (write(m->terminal, key, strlen(key)) < 0)
		return complain(m, "its keyboard takes nothing");
	while (unread && !ended) {
		if (look(m, &ended))
			return 1;
		if (ended || ioctl(m->keyboard, FIONREAD, &unread))
			break;
		if (time(NULL) - since > PATIENCE_S)
			return complain(m, "it does not read its keys");
		if (unread)
			poll(&(struct pollfd){ .fd = m->terminal, .events = POLLIN }, 1, 2);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct monkey m = { .seed = argc > 3 ? strtoull(argv[1], NULL, 10) : 0, .argv = argv + 3 };
	int steps = argc > 3 ? atoi(argv[2]) : 0;

	if (steps <= 0) {
		fprintf(stderr, "usage: tool_monkey SEED STEPS ETINSPECT [ARG]...\n");
		return 2;
	}
	start(&m);
	for (; m.step < steps; m.step++) {
		const char *key = keys[chance(&m, sizeof keys / sizeof *keys)];

		if (!chance(&m, 25)) {
			struct winsize size = any_size(&m);

			ioctl(m.terminal, TIOCSWINSZ, &size);
		}
		if (press(&m, key))
			return 1;
		if (!chance(&m, 50))	/* time for what works in the background */
			usleep(1000 * chance(&m, 300));
	}
	kill(m.child, SIGKILL);
	printf("%d keys, %d starts\n", steps, m.starts);
	return 0;
}
