"""What options may be: one that cannot be meant is refused at once, by its name."""
import collections.abc
import numbers
from typing import Any, Callable, Mapping, NamedTuple, Tuple


class Option(NamedTuple):
    """What an option may be."""

    kinds: Tuple[type, ...]
    expected: str
    is_good: Callable[[Any], bool] = lambda value: True

    def takes(self, value: Any) -> bool:
        """Whether it is of the right kind. True is no number here, though Python takes it for one."""
        return isinstance(value, self.kinds) and (not isinstance(value, bool) or bool in self.kinds)


text_option = Option((str,), "a str")
flag_option = Option((bool,), "True or False")


def number_option(least: float, most: float = float("inf")) -> Option:
    """Seconds, cpus."""
    expected = f"a number from {least}" + (f" to {most}" if most < float("inf") else " up")
    return Option((numbers.Real,), expected, lambda value: least <= value <= most)


def count_option(least: int, most: int = 2**31 - 1) -> Option:
    """How many of something."""
    return Option((numbers.Integral,), f"a whole number from {least} to {most}", lambda value: least <= value <= most)


def dict_option(of: Option) -> Option:
    """Something for each of some names."""
    return Option((collections.abc.Mapping,), f"a dict whose keys are str, each value {of.expected}", lambda value: all(
        isinstance(key, str) and of.takes(one) and of.is_good(one) for key, one in value.items()))


def check_options(options: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Raises TypeError or ValueError for the first that cannot be meant."""
    for name, value in given.items():
        option = options[name]
        is_of_kind = option.takes(value)
        if not is_of_kind or not option.is_good(value):
            raise (ValueError if is_of_kind else TypeError)(f"{name} is {value!r}, but must be {option.expected}")
