#include "views/text.h"

#include "core/base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* UTF-8, RFC 3629: no overlong forms, no surrogates, at most U+10FFFF. */
uint32_t text_rune(const char *s, size_t *n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	size_t len = *u < 0x80 ? 1 : *u >= 0xf0 && *u < 0xf5 ? 4 : *u >= 0xe0 ? 3 : *u >= 0xc2 ? 2 : 0;
	uint32_t c;

	*n = *u != 0;
	if (len == 1)
		return *u;
	if (!len || *u >= 0xf5)
		return 0xfffd;
	c = *u & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0xfffd;
	*n = len;
	return c;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/* Marks that change the direction or the lines of what follows, and the byte order mark. */
static bool is_reordering(uint32_t c)
{
	return c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
		c == 0x61c || c == 0xfeff;
}

void text_clean(struct str *out, const char *s, bool lines)
{
	size_t n;
	uint32_t c;

	for (; *s; s += n) {
		for (n = 0; s[n] >= ' ' && s[n] < 0x7f; n++)	/* mostly all of it */
			;
		if (n) {
			str_addn(out, s, n);
			continue;
		}
		c = text_rune(s, &n);
		if (c == 0xfffd || (is_control(c) && !(lines && c == '\n')) || is_reordering(c))
			str_add(out, "?");
		else
			str_addn(out, s, n);
	}
}

void text_utf8(struct str *out, const char *s)
{
	size_t n;

	for (; *s; s += n) {
		uint32_t c = text_rune(s, &n);

		if (c == 0xfffd || c == 0x7f)	/* DEL is the one control character that JSON writers let through */
			str_add(out, "?");
		else
			str_addn(out, s, n);
	}
}

/* Only newlines that end the format are known to be ours. */
static void add_formatted(struct str *out, const char *fmt, va_list ap)
{
	size_t trailing = strlen(fmt);
	struct str line = { 0 };

	while (trailing && fmt[trailing - 1] == '\n')
		trailing--;
	assert(!memchr(fmt, '\n', trailing));	/* it would become '?' */
	str_addv(&line, fmt, ap);
	line.text[line.n - strlen(fmt + trailing)] = '\0';
	text_clean(out, line.text, false);
	str_add(out, fmt + trailing);
	str_free(&line);
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_formatted(&t->s, fmt, ap);
	va_end(ap);
}

void text_styled(struct text *t, enum style style, const char *fmt, ...)
{
	static const char *const sgr[STYLES] = { "", "\033[1m", "\033[32m", "\033[31m", "\033[33m", "\033[2m" };
	va_list ap;

	if (t->color && style)
		str_add(&t->s, sgr[style]);
	va_start(ap, fmt);
	add_formatted(&t->s, fmt, ap);
	va_end(ap);
	if (t->color && style)
		str_add(&t->s, "\033[0m");
}

int text_columns(const char *s)
{
	int columns = 0;
	size_t n;

	for (; *s; s += n) {
		int w = wcwidth((wchar_t)text_rune(s, &n));

		columns += w < 0 ? 1 : w;
	}
	return columns;
}

void text_fold(struct text *t, int at, int indent, const char *sentence)
{
	int width = t->width ? t->width : 80;
	struct str clean = { 0 }, word = { 0 };
	bool first = true;

	text_clean(&clean, sentence, false);
	for (const char *s = str_text(&clean); *s;) {
		size_t n = strcspn(s, " ");
		int w;

		if (!strncmp(s + n, " %", 2))	/* stays with its number */
			n += 1 + strcspn(s + n + 1, " ");
		str_clear(&word);
		str_addn(&word, s, n);
		w = text_columns(str_text(&word));
		if (!first && at + 1 + w > width) {
			str_addf(&t->s, "\n%*s", indent, "");
			at = indent;
		} else if (!first) {
			str_add(&t->s, " ");
			at++;
		}
		str_addn(&t->s, s, n);
		at += w;
		first = false;
		s += n;
		s += strspn(s, " ");
	}
	str_add(&t->s, "\n");
	str_free(&clean);
	str_free(&word);
}

void text_free(struct text *t)
{
	str_free(&t->s);
}

/* Three digits and a prefix of a thousand each. */
static const char *scaled(char *buf, double x, const char *const *unit)
{
	while (x >= 999.5 && unit[1]) {
		x /= 1000;
		unit++;
	}
	snprintf(buf, TEXT_NUMBER, "%.*f %s", x >= 99.95 || x == rint(x) ? 0 : x >= 9.995 ? 1 : 2, x, *unit);
	return buf;
}

const char *text_bytes(char *buf, uint64_t bytes)
{
	return scaled(buf, (double)bytes, (const char *const[]){ "B", "kB", "MB", "GB", "TB", "PB", NULL });
}

const char *text_flops(char *buf, double flops)
{
	if (!(flops > 0))
		return strcpy(buf, "");
	return scaled(buf, flops, (const char *const[]){ "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", NULL });
}

const char *text_ms(char *buf, double ms)
{
	if (!(ms >= 0))
		return strcpy(buf, "-");
	return scaled(buf, ms * 1e6, (const char *const[]){ "ns", "us", "ms", "s", NULL });
}

const char *text_percent(char *buf, double part)
{
	double p = part * 100;

	if (!(p >= 0))
		return strcpy(buf, "-");
	/* neither all nor nothing is said of what is only nearly so */
	if (p > 99 && p < 100)
		p = fmin(p, 99.9);
	if (p > 0 && p < 0.1)
		return strcpy(buf, "<0.1 %");
	snprintf(buf, TEXT_NUMBER, "%.*f %%", p == 0 || p == 100 || (p >= 10 && p <= 99) ? 0 : 1, p);
	return buf;
}

const char *text_exact(char *buf, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

void text_shell(struct str *out, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";

	if (*word && !word[strspn(word, safe)]) {
		str_add(out, word);
		return;
	}
	str_add(out, "'");
	for (; *word; word++) {
		if (*word == '\'')
			str_add(out, "'\\''");
		else
			str_addn(out, word, 1);
	}
	str_add(out, "'");
}
