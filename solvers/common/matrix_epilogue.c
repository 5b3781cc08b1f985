#include "solvers/common/matrix_epilogue.h"

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"

static int64_t output_plane(const struct problem *p)
{
    int64_t sizes[5];

    problem_operand_sizes(p, problem_output_role(p), sizes);
    return sizes[2] * sizes[3] * sizes[4];
}

int64_t matrix_output_positions(const struct problem *p)
{
    return p->n * output_plane(p);
}

int64_t matrix_output_channels(const struct problem *p)
{
    return (p->direction == DIRECTION_B ? p->c : p->k) / p->groups;
}

void matrix_add_epilogue_options(const struct problem *p, struct launch *launch)
{
    enum tensor_role output = problem_output_role(p);
    bool is_last = conv_is_channels_last(p->layout[output]);

    if (p->epilogue[0] == '\0')
        return;
    launch_option_int(launch, "OUTPUT_LAST", is_last);
    launch_option_int(launch, "OUTPUT_PAIRS", is_last && matrix_output_channels(p) % 2 == 0);
    if (conv_is_int8(p))
        launch_option_text(launch, "TYPE_Y", data_type_name(p->type[output]));
    conv_add_epilogue_options(p, launch);
}

void matrix_add_epilogue_args(const struct problem *p, struct launch *launch)
{
    if (p->epilogue[0] == '\0')
        return;
    launch_arg_int32(launch, matrix_output_channels(p));
    launch_arg_int32(launch, output_plane(p));
    conv_add_epilogue_args(p, launch);
}
