#include "inspect/keys.h"

#include <ncurses.h>
#include <string.h>

static const struct { const char *name; struct key key; } named[] = {
	{ "down", { KEY_DOWN, true } }, { "up", { KEY_UP, true } }, { "left", { KEY_LEFT, true } },
	{ "right", { KEY_RIGHT, true } },
	{ "pgdn", { KEY_NPAGE, true } }, { "pgup", { KEY_PPAGE, true } }, { "home", { KEY_HOME, true } },
	{ "end", { KEY_END, true } }, { "backtab", { KEY_BTAB, true } }, { "f1", { KEY_F(1), true } },
	{ "backspace", { KEY_BACKSPACE, true } }, { "enter", { '\r', false } }, { "tab", { '\t', false } },
	{ "space", { ' ', false } }, { "esc", { 27, false } },
};

bool key_named(const char *name, size_t bytes, struct key *k)
{
	*k = (struct key){ 0 };
	if (bytes == 1)
		k->code = (unsigned char)*name;
	else if (bytes == 2 && *name == '^')
		k->code = name[1] & 0x1f;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strlen(named[i].name) == bytes && !memcmp(named[i].name, name, bytes))
			*k = named[i].key;
	return k->code != 0;
}

/* What terminals send for the same key in different moods. */
static struct key canonical(struct key k)
{
	if (k.special ? k.code == KEY_ENTER : k.code == '\n')
		return (struct key){ '\r', false };
	if (!k.special && (k.code == 127 || k.code == 8))
		return (struct key){ KEY_BACKSPACE, true };
	return k;
}

enum request key_request(struct key pressed)
{
	static const struct { enum request request; const char *keys; } bound[] = {
#define KEYS_GROUP(title)
#define KEYS_REQUEST(name, keys, help) { REQ_##name, keys },
		REQUESTS(KEYS_GROUP, KEYS_REQUEST)
#undef KEYS_REQUEST
#undef KEYS_GROUP
	};
	struct key k;

	pressed = canonical(pressed);
	for (size_t i = 0; i < sizeof bound / sizeof *bound; i++)
		for (const char *at = bound[i].keys; *at;) {
			size_t n = strcspn(at, " ");

			if (key_named(at, n, &k) && k.code == pressed.code && k.special == pressed.special)
				return bound[i].request;
			at += n;
			at += strspn(at, " ");
		}
	return REQ_NONE;
}
