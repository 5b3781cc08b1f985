/*
 * PoCL keeps some memory until the process ends. A program that runs PoCL
 * under LeakSanitizer includes this once, so that leaks of our own still show. All memory that C++ allocates is PoCL's.
 */
#ifndef TESTS_SUPPORT_POCL_LEAKS_H
#define TESTS_SUPPORT_POCL_LEAKS_H

/* LeakSanitizer asks for it by this name. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libpocl\nleak:libLLVM\nleak:libclang-cpp\nleak:libOpenCL\nleak:libstdc++";
}

#endif
