/* PoCL keeps some memory until the process ends. A program that runs PoCL under LeakSanitizer
 * includes this file once, so that its own leaks still show: only memory allocated by C++ code,
 * which is all PoCL's, is ignored. */
#ifndef TESTS_SUPPORT_KERNELS_POCL_LEAKS_H
#define TESTS_SUPPORT_KERNELS_POCL_LEAKS_H

/* LeakSanitizer calls this function by its name. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libpocl\nleak:libLLVM\nleak:libclang-cpp\nleak:libOpenCL\nleak:libstdc++";
}

#endif
