#include "inspect/keys.h"

#include "views/text.h"

#include <ncurses.h>
#include <string.h>

static const struct { const char *name; struct key key; } named[] = {
	{ "down", { KEY_DOWN, true } }, { "up", { KEY_UP, true } }, { "left", { KEY_LEFT, true } },
	{ "right", { KEY_RIGHT, true } },
	{ "pgdn", { KEY_NPAGE, true } }, { "pgup", { KEY_PPAGE, true } }, { "home", { KEY_HOME, true } },
	{ "end", { KEY_END, true } }, { "backtab", { KEY_BTAB, true } }, { "insert", { KEY_IC, true } }, { "delete", { KEY_DC, true } },
	{ "backspace", { KEY_BACKSPACE, true } }, { "enter", { '\r', false } }, { "tab", { '\t', false } },
	{ "space", { ' ', false } }, { "esc", { 27, false } },
};

/* What terminals send for the same key in different moods. */
static struct key canonical(struct key k)
{
	if (k.special ? k.code == KEY_ENTER : k.code == '\n')
		return (struct key){ '\r', false };
	if (!k.special && (k.code == 127 || k.code == 8))
		return (struct key){ KEY_BACKSPACE, true };
	return k;
}

static int function_key(const char *name, size_t bytes)
{
	int n = bytes == 2 ? name[1] - '0' : bytes == 3 && name[1] == '1' ? 10 + name[2] - '0' : 0;

	return name[0] == 'f' && n >= 1 && n <= 12 ? n : 0;
}

bool key_named(const char *name, size_t bytes, struct key *k)
{
	size_t n = 0;
	uint32_t rune = text_rune(name, &n);

	*k = (struct key){ 0 };
	if (bytes == n && rune > ' ' && rune != 0xfffd)
		k->code = (int)rune;
	else if (bytes == 2 && *name == '^' && (name[1] & 0xc0) == 0x40 && name[1] != 0x7f)
		k->code = name[1] & 0x1f;
	else if (bytes > 1 && function_key(name, bytes))
		*k = (struct key){ KEY_F(function_key(name, bytes)), true };
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strlen(named[i].name) == bytes && !memcmp(named[i].name, name, bytes))
			*k = named[i].key;
	*k = canonical(*k);
	return k->code != 0;
}

bool key_is(struct key pressed, const char *names)
{
	struct key k;

	pressed = canonical(pressed);
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		if (key_named(at, n, &k) && k.code == pressed.code && k.special == pressed.special)
			return true;
		at += n;
	}
	return false;
}

enum request key_request(const struct keymap *map, struct key pressed)
{
	for (int r = REQ_NONE + 1; r < REQ_COUNT; r++)
		if (key_is(pressed, map->keys[r]))
			return (enum request)r;
	return REQ_NONE;
}
