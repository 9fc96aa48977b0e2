#include "tests/expect.h"

#include "core/format/file.h"
#include "tests/tap.h"

#include <stdlib.h>

void expect_file(const char *path, const char *text)
{
	struct file f;
	struct error err = { 0 };
	size_t n = strlen(text), line = 1, at = 0;
	bool same;

	if (getenv("EXPECT_UPDATE"))
		assert_true(file_write(path, text, n, true, &err));
	if (!file_open(&f, path, &err))
		fail_msg("%s", err.text);
	while (at < n && at < f.bytes && text[at] == (char)f.data[at])
		line += text[at++] == '\n';
	same = at == n && at == f.bytes;
	file_close(&f);
	while (!same && at && text[at - 1] != '\n')
		at--;
	if (!same)
		fail_msg("%s:%zu: got '%.*s'", path, line, (int)strcspn(text + at, "\n"), text + at);
}
