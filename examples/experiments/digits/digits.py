"""Pictures of handwritten digits, made by a program: strokes that are moved, turned, sheared and covered with noise."""
import numpy

SIZE = 12  # pixels in a row
POINTS = 32  # along the strokes of a digit


def arc(x, y, width, height, first, last):
    """Points of an ellipse from one angle to another, in degrees; 0 is on the right, 90 below."""
    angle = numpy.radians(numpy.linspace(first, last, 16))
    return [(x + width * numpy.cos(a), y + height * numpy.sin(a)) for a in angle]


# Lines of points (x, y) from (0, 0), above on the left, to (1, 1).
STROKES = [
    [arc(0.5, 0.5, 0.3, 0.4, 0, 360)],
    [[(0.35, 0.25), (0.55, 0.1), (0.55, 0.9)]],
    [arc(0.5, 0.35, 0.25, 0.25, 180, 400) + [(0.25, 0.9), (0.75, 0.9)]],
    [arc(0.45, 0.3, 0.25, 0.2, 200, 450), arc(0.45, 0.7, 0.28, 0.2, 270, 520)],
    [[(0.6, 0.9), (0.6, 0.1), (0.2, 0.6), (0.8, 0.6)]],
    [[(0.75, 0.1), (0.3, 0.1), (0.28, 0.45)] + arc(0.47, 0.65, 0.27, 0.25, 240, 510)],
    [[(0.65, 0.1), (0.35, 0.4)] + arc(0.5, 0.68, 0.25, 0.22, 200, 560)],
    [[(0.2, 0.1), (0.8, 0.1), (0.4, 0.9)]],
    [arc(0.5, 0.3, 0.2, 0.2, 0, 360), arc(0.5, 0.7, 0.25, 0.2, 0, 360)],
    [arc(0.5, 0.32, 0.25, 0.22, 0, 360), [(0.75, 0.32), (0.65, 0.9)]],
]


def points_of(lines):
    """Points at equal distances along all lines."""
    pairs = numpy.concatenate([numpy.stack([line[:-1], line[1:]], 1) for line in map(numpy.array, lines)])
    ends = numpy.cumsum(numpy.linalg.norm(pairs[:, 1] - pairs[:, 0], axis=1))
    at = numpy.linspace(0, ends[-1], POINTS, endpoint=False)
    piece = numpy.searchsorted(ends, at, side="right")
    begins = numpy.concatenate([[0], ends[:-1]])
    share = ((at - begins[piece]) / (ends - begins)[piece])[:, None]
    return pairs[piece, 0] * (1 - share) + pairs[piece, 1] * share


def draw(count, seed, noise=0.3):
    """Pictures, one in a row, with values of about 0 to 1, and the digits that they show."""
    random = numpy.random.default_rng(seed)
    digits = random.integers(10, size=count)
    points = numpy.stack([points_of(lines) for lines in STROKES])[digits] - 0.5
    angle, shear = random.normal(0, 0.2, count), random.normal(0, 0.2, count)
    width, height = random.uniform(0.65, 1, count), random.uniform(0.65, 1, count)
    x, y = points[..., 0] * width[:, None], points[..., 1] * height[:, None]
    x = x + shear[:, None] * y
    cosine, sine = numpy.cos(angle)[:, None], numpy.sin(angle)[:, None]
    x, y = x * cosine - y * sine, x * sine + y * cosine
    x = x + 0.5 + random.normal(0, 0.05, (count, 1))
    y = y + 0.5 + random.normal(0, 0.05, (count, 1))
    pixels = (numpy.arange(SIZE) + 0.5) / SIZE
    across = (x[:, :, None] - pixels) ** 2
    down = (y[:, :, None] - pixels) ** 2
    nearest = numpy.full((count, SIZE, SIZE), numpy.inf)
    for i in range(POINTS):
        numpy.minimum(nearest, down[:, i, :, None] + across[:, i, None, :], out=nearest)
    thickness = random.uniform(0.04, 0.08, (count, 1, 1))
    pictures = numpy.exp(-nearest / thickness**2) + random.normal(0, noise, nearest.shape)
    return pictures.reshape(count, -1).astype(numpy.float32), digits


if __name__ == "__main__":
    for picture, digit in zip(*draw(3, seed=1, noise=0.1)):
        print(f"{digit}:")
        for row in picture.reshape(SIZE, SIZE):
            print("".join(" .:*#"[min(4, max(0, int(value * 5)))] * 2 for value in row))
