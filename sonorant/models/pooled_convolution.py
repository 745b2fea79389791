"""A convolution along an axis with max-pooling, and a gradient of its own.

TensorFlow's own gradient of windows that overlap fills an array of zeros for each slice of them, and that of a batch of
products has one for each position, to add them up: more time than the products take. A training on a CPU has
`compiled_filters.py` in its place.
"""

from functools import reduce

from sonorant.tensorflow import custom_gradient, tf

__all__ = ["pooled_convolution"]


def pooled_convolution(values: tf.Tensor, kernel: tf.Tensor, pool: int, count: int) -> tf.Tensor:
    """Return [count, N, filters]: for each filter the maxima of its products with windows, over `pool` positions each.

    values: [bins, N, n] with at least pool count + width - 1 bins; kernel: [width n, filters], as a window has the
    values of its bins one after another. Of equal products the first has the gradient.

    Each position has a product of its own, with a row for each n values. So for a vector of each stream a product has
    as many rows as there are streams, which batch-invariance asks of all products of a call (`fixed_batch.py`).
    """
    bins, inputs = values.shape[0], values.shape[2]
    width = kernel.shape[0] // inputs
    assert bins >= pool * count + width - 1

    @custom_gradient
    def maxima(values: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, object]:
        # Gathered, and once: a slice with a stride copies value by value.
        strided = [tf.gather(values, range(first, bins, pool)) for first in range(pool)] if pool > 1 else [values]
        windows = [_windows(strided, width, first, count) for first in range(pool)]
        products = [tf.matmul(window, kernel) for window in windows]
        best = reduce(tf.maximum, products)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            shares = _shares(products, best, upstream)
            # Transposed, as windows are mostly wider than filters are many: the narrower operand belongs on the left.
            of_kernel = [
                tf.matmul(*(tf.reshape(one, (-1, one.shape[2])) for one in (share, window)), transpose_a=True)
                for window, share in zip(windows, shares, strict=True)
            ]
            return _of_values(shares, kernel, bins, inputs), tf.transpose(tf.add_n(of_kernel))

        return best, gradient

    return maxima(values, kernel)


def _windows(strided: list[tf.Tensor], width: int, first: int, count: int) -> tf.Tensor:
    """Return [count, N, width n]: the windows that begin at bin `first` and then at every `len(strided)`-th."""
    taps = [divmod(first + i, len(strided)) for i in range(width)]
    return tf.concat([strided[of][begin : begin + count] for begin, of in taps], 2)


def _of_values(shares: list[tf.Tensor], kernel: tf.Tensor, bins: int, inputs: int) -> tf.Tensor:
    """Return the gradient [bins, N, inputs] of the values: a convolution of the products' with the kernel reversed.

    shares: [count, N, filters], the gradient of the products of each position in a pool.
    """
    count, filters = shares[0].shape[0], kernel.shape[1]
    positions, width = count * len(shares), kernel.shape[0] // inputs
    products = tf.reshape(tf.stack(shares, 1), (positions, -1, filters))
    padded = tf.pad(products, ((width - 1, bins - positions), (0, 0), (0, 0)))
    windows = tf.concat([padded[first : first + bins] for first in range(width)], 2)
    taps = tf.transpose(tf.reshape(kernel, (width, inputs, filters)), (0, 2, 1))
    return tf.matmul(windows, tf.reshape(taps[::-1], (width * filters, inputs)))


def _shares(products: list[tf.Tensor], best: tf.Tensor, upstream: tf.Tensor) -> list[tf.Tensor]:
    """Return for each product the gradient of `best` where it is the first that is equal to it, 0 elsewhere."""
    if len(products) == 1:
        return [upstream]
    shares = []
    for product in products:
        shares.append(tf.where(product == best, upstream, tf.zeros((), upstream.dtype)))
        upstream = upstream - shares[-1]
    return shares
