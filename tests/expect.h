/* expect.h - texts that a person can read, kept in tests/expected. */
#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

/* Fails the running test at the first line that differs from the file. With EXPECT_UPDATE set in the
 * environment the file is written instead: look at the difference before it is committed. */
void expect_file(const char *path, const char *text);

#endif
