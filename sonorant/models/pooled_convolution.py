"""A convolution along an axis with max-pooling, and a gradient of its own.

TensorFlow's own gradient of windows that overlap fills an array of zeros for each slice of them, and that of a batch of
products has one for each position, to add them up: more time than the products take. `sonorant bench train` has the
step beside its products alone: "lstm_ctc, convolution".
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
        strided = [values[first::pool] for first in range(pool)]  # once, as a slice with a stride is slow
        windows = [_windows(strided, width, first, count) for first in range(pool)]
        products = [tf.matmul(window, kernel) for window in windows]
        best = reduce(tf.maximum, products)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            shares = [tf.reshape(share, (-1, kernel.shape[1])) for share in _shares(products, best, upstream)]
            of_kernel = [
                tf.matmul(tf.reshape(window, (-1, window.shape[2])), share, transpose_a=True)
                for window, share in zip(windows, shares, strict=True)
            ]
            taps = tf.split(kernel, width)
            of_values = [
                _placed(tf.reshape(tf.matmul(share, tap, transpose_b=True), (count, -1, inputs)), first + i, pool, bins)
                for first, share in enumerate(shares)
                for i, tap in enumerate(taps)
            ]
            return tf.add_n(of_values), tf.add_n(of_kernel)

        return best, gradient

    return maxima(values, kernel)


def _windows(strided: list[tf.Tensor], width: int, first: int, count: int) -> tf.Tensor:
    """Return [count, N, width n]: the windows that begin at bin `first` and then at every `len(strided)`-th."""
    taps = [divmod(first + i, len(strided)) for i in range(width)]
    return tf.concat([strided[of][begin : begin + count] for begin, of in taps], 2)


def _placed(gradient: tf.Tensor, first: int, stride: int, bins: int) -> tf.Tensor:
    """Return [bins, N, n]: of bin `first` and then every `stride` bins the gradient [count, N, n], 0 elsewhere."""
    count, _, size = gradient.shape
    spaced = tf.reshape(
        tf.pad(gradient[:, None], ((0, 0), (0, stride - 1), (0, 0), (0, 0))), (count * stride, -1, size)
    )
    end = stride * (count - 1) + 1
    return tf.pad(spaced[:end], ((first, bins - first - end), (0, 0), (0, 0)))


def _shares(products: list[tf.Tensor], best: tf.Tensor, upstream: tf.Tensor) -> list[tf.Tensor]:
    """Return for each product the gradient of `best` where it is the first that is equal to it, 0 elsewhere."""
    if len(products) == 1:
        return [upstream]
    shares = []
    for product in products:
        shares.append(tf.where(product == best, upstream, tf.zeros((), upstream.dtype)))
        upstream = upstream - shares[-1]
    return shares
