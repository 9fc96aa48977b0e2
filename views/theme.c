#include "views/theme.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *const theme_names[THEME_ITEMS] = {
	[STYLE_PLAIN] = "plain", [STYLE_TITLE] = "title", [STYLE_GOOD] = "good", [STYLE_BAD] = "bad", [STYLE_WARN] = "warn",
	[STYLE_DIM] = "dim", [THEME_CURSOR] = "cursor", [THEME_MATCH] = "match",
};

static const char *const color_names[] = { "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white" };
static const char *const attribute_names[] = { "bold", "dim", "underline", "reverse" };

void theme_default(struct theme *t)
{
	static const struct theme_item items[THEME_ITEMS] = {
		[STYLE_PLAIN] = { -1, -1, 0 }, [STYLE_TITLE] = { -1, -1, THEME_BOLD }, [STYLE_GOOD] = { 2, -1, 0 },
		[STYLE_BAD] = { 1, -1, 0 }, [STYLE_WARN] = { 3, -1, 0 }, [STYLE_DIM] = { -1, -1, THEME_DIM },
		[THEME_CURSOR] = { -1, -1, THEME_REVERSE }, [THEME_MATCH] = { 0, 3, THEME_UNDERLINE },
	};

	memcpy(t->item, items, sizeof items);
}

static int find(const char *const *names, int n, const char *word, size_t bytes)
{
	for (int i = 0; i < n; i++)
		if (strlen(names[i]) == bytes && !memcmp(names[i], word, bytes))
			return i;
	return -1;
}

int theme_find(const char *name, size_t n)
{
	return find(theme_names, THEME_ITEMS, name, n);
}

static bool color_of(const char *word, size_t n, short *color)
{
	bool bright = n > 7 && !memcmp(word, "bright-", 7);
	int i = bright ? find(color_names, 8, word + 7, n - 7) : find(color_names, 8, word, n), number = 0;

	if (i >= 0) {
		*color = (short)(i + (bright ? 8 : 0));
		return true;
	}
	if (n == 7 && !memcmp(word, "default", 7)) {
		*color = -1;
		return true;
	}
	for (size_t k = 0; k < n; k++) {
		if (word[k] < '0' || word[k] > '9' || number > 255)
			return false;
		number = number * 10 + word[k] - '0';
	}
	*color = (short)number;
	return n > 0 && number < 256;
}

bool theme_set(struct theme_item *item, const char *words, struct str *word)
{
	struct theme_item new = { -1, -1, 0 };
	bool behind = false, fine = true;

	for (const char *at = words + strspn(words, " \t"); fine && *at; at += strspn(at, " \t")) {
		size_t n = strcspn(at, " \t");
		int attribute = find(attribute_names, 4, at, n);

		if (n == 2 && !memcmp(at, "on", 2))
			behind = true;
		else if (attribute >= 0)
			new.attributes |= 1u << attribute;
		else if (!color_of(at, n, behind ? &new.bg : &new.fg))
			str_addn(word, at, n), fine = false;
		at += n;
	}
	if (fine)
		*item = new;
	return fine;
}

/* Red, green and blue, 0 to 255, of xterm's 256 colours: 16 named, a cube of 6, and 24 greys. */
static void rgb_of(short color, int rgb[3])
{
	static const int level[] = { 0, 95, 135, 175, 215, 255 };

	if (color < 16) {
		for (int i = 0; i < 3; i++)
			rgb[i] = color >> i & 1 ? color < 8 ? 205 : 255 : color == 8 ? 127 : 0;
	} else if (color < 232) {
		for (int i = 0; i < 3; i++)
			rgb[i] = level[(color - 16) / (i == 0 ? 36 : i == 1 ? 6 : 1) % 6];
	} else {
		for (int i = 0; i < 3; i++)
			rgb[i] = 8 + (color - 232) * 10;
	}
}

short theme_nearest(short color, int colors)
{
	int want[3], have[3], best = INT_MAX;
	short nearest = -1;

	if (color < 0 || color < colors)
		return color;
	if (color < 16)		/* bright ones keep their hue */
		return (short)(color - 8);
	rgb_of(color, want);
	for (short c = 0; c < (colors < 16 ? 8 : 16); c++) {
		int distance = 0;

		rgb_of(c, have);
		for (int i = 0; i < 3; i++)
			distance += (want[i] - have[i]) * (want[i] - have[i]);
		if (distance < best)
			best = distance, nearest = c;
	}
	return nearest;
}
