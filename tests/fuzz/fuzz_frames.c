/* Any bytes in the agent's frame buffer: a frame that is accepted encodes to the same bytes
 * again. */
#include <stdlib.h>

#include "worker/eval/eval_request.h"
#include "worker/protocol/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode_again(const struct frame *frame)
{
    g_autoptr(GByteArray) buffer = g_byte_array_new();
    g_autoptr(GBytes) bytes = frame_encode(frame->head, frame->blob);
    struct frame back;
    bool complete;

    g_byte_array_append(buffer, g_bytes_get_data(bytes, NULL), (guint)g_bytes_get_size(bytes));
    if (!frame_take(buffer, &back, &complete, NULL) || !complete ||
        !json_equal(back.head, frame->head))
        abort();
    frame_clear(&back);
}

static void read_as_request(const json_t *head)
{
    struct eval_request request;

    (void)eval_request_read(head, &request, NULL);
    eval_request_clear(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GByteArray) buffer = g_byte_array_new();
    struct frame frame;
    bool complete = true;

    g_byte_array_append(buffer, data, (guint)size);
    while (complete && frame_take(buffer, &frame, &complete, NULL)) {
        if (complete) {
            encode_again(&frame);
            read_as_request(frame.head);
        }
        frame_clear(&frame);
    }
    return 0;
}
