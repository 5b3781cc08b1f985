-- Problems of all operators, and of tensors that are not packed. Programs that do not know these columns would take a
-- strided problem for a packed one, so older programs do not go on.

-- mode: the operator's own parameters as text ('max' of a pool), '' for none.
-- strides: in elements, of the axes N C D H W of x, w, y and the residual, one tensor behind another; all 0 for a
-- packed tensor. Empty if all tensors are packed.
ALTER TABLE problems
    ADD COLUMN mode text NOT NULL DEFAULT '',
    ADD COLUMN strides bigint[] NOT NULL DEFAULT '{}' CHECK (cardinality(strides) IN (0, 20)),
    DROP CONSTRAINT problems_once,
    ADD CONSTRAINT problems_once UNIQUE (kind, direction, spatial_dim, n, c, k, groups, in_size, fil,
        out_size, pad, stride, dilation, types, casts, layouts, bias, epilogue, mode, strides);
