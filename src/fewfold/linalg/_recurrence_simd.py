"""The recurrence of `fewfold.linalg._recurrence` in vector registers, as LLVM instructions."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from fewfold.system.compiled import numba

_INT = ir.IntType(64)
_FAST = ("fast",)


@numba.njit(nogil=True, fastmath=True, cache=True)
def recur(indptr, indices, data, Y, old, alpha, beta, gamma, start, stop):
    """Set rows start..stop of ``old`` to ``alpha A Y + beta Y - gamma old``.

    One pass over the memory instead of scipy's three, and no lock held, so that plain threads
    can share the rows. Results do not depend on how the rows are shared.
    """
    width = Y.shape[1]
    at_32, at_16 = width // 32 * 32, width // 16 * 16
    at_8 = width // 8 * 8
    factors = (alpha, beta, gamma)
    for i in range(start, stop):
        for c in range(0, at_32, 32):
            _strip(indptr, indices, data, Y, old, factors, i, c, 32)
        for c in range(at_32, at_16, 16):
            _strip(indptr, indices, data, Y, old, factors, i, c, 16)
        for c in range(at_16, at_8, 8):
            _strip(indptr, indices, data, Y, old, factors, i, c, 8)
        for c in range(at_8, width):
            total = data[0] - data[0]
            for e in range(indptr[i], indptr[i + 1]):
                total += data[e] * Y[indices[e], c]
            old[i, c] = alpha * total + beta * Y[i, c] - gamma * old[i, c]


@intrinsic
def _strip(typing_context, indptr, indices, data, Y, old, factors, i, c, lanes):
    """Do ``lanes`` columns of row i from column c on, with the sum in vector registers.

    Numba's own loop keeps the sum in memory, so each term waits for the one before to be stored:
    five times slower for a block of 8 columns.
    """
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    count = lanes.literal_value
    signature = types.void(indptr, indices, data, Y, old, factors, i, c, lanes)

    def codegen(context, builder, sig, args):
        row_ends, column_of, weight_of, source, target = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(sig.args[:5], args[:5])
        )
        row, column = args[6], args[7]
        number = context.get_data_type(sig.args[3].dtype)
        vector = ir.VectorType(number, count)
        width = builder.extract_value(source.shape, 1)

        def spread(value):
            first = builder.insert_element(
                ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
            return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)

        def place(array, at):
            offset = builder.add(builder.mul(at, width), column)
            return builder.bitcast(builder.gep(array.data, [offset]), vector.as_pointer())

        def strip(array, at):
            loaded = builder.load(place(array, at))
            loaded.align = context.get_abi_sizeof(number)
            return loaded

        def entry(array, at):
            value = builder.load(builder.gep(array.data, [at]))
            is_narrow = isinstance(value.type, ir.IntType) and value.type.width < 64
            return builder.sext(value, _INT) if is_narrow else value

        def plus_product(total, a, b):
            return builder.fadd(total, builder.fmul(a, b, flags=_FAST), flags=_FAST)

        one, zero = ir.Constant(_INT, 1), ir.Constant(vector, [0.0] * count)
        begin, end = entry(row_ends, row), entry(row_ends, builder.add(row, one))
        before = builder.block
        loop, done = (builder.append_basic_block(name) for name in ("edges", "sum"))
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, done)
        builder.position_at_end(loop)
        e, total = builder.phi(_INT), builder.phi(vector)
        neighbor, weight = entry(column_of, e), spread(entry(weight_of, e))
        longer, further = plus_product(total, weight, strip(source, neighbor)), builder.add(e, one)
        for phi, first, later in ((e, begin, further), (total, zero, longer)):
            phi.add_incoming(first, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed("<", further, end), loop, done)
        builder.position_at_end(done)
        total = builder.phi(vector)
        total.add_incoming(zero, before)
        total.add_incoming(longer, loop)
        alpha, beta, gamma = (spread(builder.extract_value(args[5], k)) for k in range(3))
        new = builder.fmul(alpha, total, flags=_FAST)
        new = plus_product(new, beta, strip(source, row))
        old_part = builder.fmul(gamma, strip(target, row), flags=_FAST)
        stored = builder.store(builder.fsub(new, old_part, flags=_FAST), place(target, row))
        stored.align = context.get_abi_sizeof(number)
        return context.get_dummy_value()

    return signature, codegen
