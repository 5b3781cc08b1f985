/* Compares CUDA's numbers and symbols with cuda.h, if it is installed. HIP's come from its own headers. */
#include "worker/device/gpu_api.h"

#if defined(__has_include)
#if __has_include(<cuda.h>)
#define HAS_CUDA_H
#elif __has_include("/usr/local/cuda/include/cuda.h")
#define HAS_CUDA_H
#define CUDA_H "/usr/local/cuda/include/cuda.h"
#endif
#endif

#ifdef HAS_CUDA_H
#ifdef CUDA_H
#include CUDA_H
#else
#include <cuda.h>
#endif

#define SAME_SIZE(hip, cuda) g_assert_cmpuint(sizeof(hip), ==, sizeof(cuda))
#define SAME_CODE(hip, cuda) g_assert_cmpint((int)(hip), ==, (int)(cuda))

static void test_numbers_are_cudas(void)
{
    const int *numbers = gpu_vendor_cuda.attributes;
    g_assert_cmpint(numbers[GPU_UNITS], ==, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    g_assert_cmpint(numbers[GPU_ITEMS_MAX], ==, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    g_assert_cmpint(numbers[GPU_WAVE], ==, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    g_assert_cmpint(numbers[GPU_LOCAL_BYTES], ==, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    g_assert_cmpint(numbers[GPU_CACHE_BYTES], ==, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
}

static void test_codes_and_handles_are_alike(void)
{
    SAME_CODE(hipSuccess, CUDA_SUCCESS);
    SAME_CODE(hipErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
    SAME_CODE(hipErrorDeinitialized, CUDA_ERROR_DEINITIALIZED);
    SAME_CODE(hipErrorNoDevice, CUDA_ERROR_NO_DEVICE);
    SAME_CODE(hipErrorECCNotCorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
    SAME_CODE(hipErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
    SAME_CODE(hipErrorLaunchTimeOut, CUDA_ERROR_LAUNCH_TIMEOUT);
    SAME_CODE(hipErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    SAME_CODE(hipErrorAssert, CUDA_ERROR_ASSERT);
    SAME_CODE(hipErrorLaunchFailure, CUDA_ERROR_LAUNCH_FAILED);
    SAME_CODE(hipErrorUnknown, CUDA_ERROR_UNKNOWN);
    SAME_CODE(hipStreamNonBlocking, CU_STREAM_NON_BLOCKING);
    SAME_SIZE(hipDevice_t, CUdevice);
    SAME_SIZE(hipDeviceptr_t, CUdeviceptr);
    SAME_SIZE(hipStream_t, CUstream);
    SAME_SIZE(hipEvent_t, CUevent);
    SAME_SIZE(hipModule_t, CUmodule);
    SAME_SIZE(hipFunction_t, CUfunction);
}
#else
static void test_numbers_are_cudas(void)
{
    g_test_skip("there is no cuda.h here");
}

static void test_codes_and_handles_are_alike(void)
{
    g_test_skip("there is no cuda.h here");
}
#endif

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/gpu_api/attribute_numbers_are_cudas", test_numbers_are_cudas);
    g_test_add_func("/gpu_api/status_codes_and_handles_equal_cudas",
                    test_codes_and_handles_are_alike);
    return g_test_run();
}
