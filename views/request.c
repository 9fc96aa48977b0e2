#include "views/request.h"

#include <ctype.h>
#include <string.h>

const struct request_row request_table[] = {
#define ROW_GROUP(title) { REQ_NONE, NULL, NULL, "", title },
#define ROW_REQUEST(name, keys, pages, help) { REQ_##name, #name, keys, pages, help },
	REQUESTS(ROW_GROUP, ROW_REQUEST)
#undef ROW_REQUEST
#undef ROW_GROUP
};
const int request_rows = (int)(sizeof request_table / sizeof *request_table);

void request_name(const struct request_row *r, char *buf)
{
	size_t i = 0;

	for (; r->name[i] && i + 1 < REQUEST_NAME_BYTES; i++)
		buf[i] = r->name[i] == '_' ? '-' : (char)tolower((unsigned char)r->name[i]);
	buf[i] = '\0';
}

const struct request_row *request_find(const char *name, size_t n)
{
	char own[REQUEST_NAME_BYTES];

	for (int i = 0; i < request_rows; i++) {
		if (!request_table[i].name)
			continue;
		request_name(&request_table[i], own);
		if (strlen(own) == n && !memcmp(own, name, n))
			return &request_table[i];
	}
	return NULL;
}

void request_help(const struct request_row *r, struct str *s)
{
	for (const char *at = r->pages; *at;) {
		size_t n = strcspn(at, " ");

		str_addf(s, "%.*s%s", (int)n, at, at[n] ? ", " : ": ");
		at += n + (at[n] == ' ');
	}
	str_add(s, r->help);
}

bool request_is_for(const struct request_row *r, const char *page)
{
	size_t n = strlen(page);

	for (const char *at = strstr(r->pages, page); at; at = strstr(at + 1, page))
		if ((at == r->pages || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

void keymap_default(struct keymap *k)
{
	*k = (struct keymap){ 0 };
	for (int i = 0; i < request_rows; i++)
		k->keys[request_table[i].request] = request_table[i].keys;
	k->keys[REQ_NONE] = "";
}
