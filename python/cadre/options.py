"""Validation of options: an invalid value raises at once, with the name of the option."""
import collections.abc
import numbers
from typing import Any, Callable, Mapping, NamedTuple, Tuple


class Option(NamedTuple):
    """Allowed types and values of an option."""

    kinds: Tuple[type, ...]
    expected: str
    is_good: Callable[[Any], bool] = lambda value: True

    def takes(self, value: Any) -> bool:
        """Whether the value has an allowed type. A bool is not accepted as a number, although Python allows it."""
        return isinstance(value, self.kinds) and (not isinstance(value, bool) or bool in self.kinds)


text_option = Option((str,), "a str")
flag_option = Option((bool,), "True or False")


def number_option(least: float, most: float = float("inf")) -> Option:
    """An option that is a number, such as seconds or cpus."""
    expected = f"a number from {least} to {most}" if most < float("inf") else f"a number of at least {least}"
    return Option((numbers.Real,), expected, lambda value: least <= value <= most)


def count_option(least: int, most: int = 2**31 - 1) -> Option:
    """An option that is an integer."""
    return Option((numbers.Integral,), f"an integer from {least} to {most}", lambda value: least <= value <= most)


def dict_option(of: Option) -> Option:
    """An option that is a dict from str to the given option."""
    return Option((collections.abc.Mapping,), f"a dict with str keys, each value {of.expected}", lambda value: all(
        isinstance(key, str) and of.takes(one) and of.is_good(one) for key, one in value.items()))


def check_options(options: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Raises TypeError or ValueError for the first invalid option."""
    for name, value in given.items():
        option = options[name]
        is_of_kind = option.takes(value)
        if not is_of_kind or not option.is_good(value):
            raise (ValueError if is_of_kind else TypeError)(f"{name} is {value!r}, but must be {option.expected}")
