"""Input fields that take one type and nothing that could be read as it. Each says what would be right; ranges are those of the domain.

The same serializer reads a JSON body and a query string: there, numbers and switches are texts, and an empty text is no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from django.http import QueryDict
from rest_framework import serializers

from frontend.api.errors import FieldError, Invalid, shown

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,12})?")
_SWITCHES = {"true": True, "false": False, "on": True, "off": False}


class WholeNumber(serializers.IntegerField):
    """A whole number, never a text, a fraction or a truth value."""

    def __init__(self, low: int, high: int, **options: Any) -> None:
        message = f"give a whole number from {low} to {high}"
        super().__init__(min_value=low, max_value=high, error_messages=_say(message), **options)

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, float) and data.is_integer():  # to JSON, 5.0 is a whole number too
            data = int(data)
        if _is_text(self) and isinstance(data, str) and _NUMBER.fullmatch(data):
            return int(data)
        if type(data) is not int:
            self.fail("invalid")
        return int(data)


class Number(serializers.FloatField):
    """A number, never a text or a truth value, and never without an end."""

    def __init__(self, low: float, high: float, **options: Any) -> None:
        message = f"give a number from {low:g} to {high:g}"
        super().__init__(min_value=low, max_value=high, error_messages=_say(message), **options)

    def to_internal_value(self, data: Any) -> float:
        if _is_text(self) and isinstance(data, str) and _DECIMAL.fullmatch(data):
            return float(data)
        if type(data) not in (int, float):
            self.fail("invalid")
        return float(data)


#: How the schema describes texts. It can only say what they may not have, and leaves out that Unicode knows more that cannot be printed.
_PRINTED = r"[^\x00-\x1f\x7f-\xa0\xad\u2028\u2029]"
_SEEN = r"[^\x00-\x20\x7f-\xa0\xad\u2028\u2029]"
ANY_TEXT = f"^{_PRINTED}*$"
SOME_TEXT = f"^{_PRINTED}*{_SEEN}{_PRINTED}*$"


class Text(serializers.CharField):
    """One line of printable characters; the schema shows a narrower pattern where whoever reads the text asks for one."""

    def __init__(self, most: int | None, *, least: int = 0, pattern: str = "", **options: Any) -> None:
        self.pattern = pattern or (SOME_TEXT if least else ANY_TEXT)
        message = f"give {least} to {most} printable characters"
        super().__init__(
            min_length=least or None,
            max_length=most,
            allow_blank=least == 0,
            trim_whitespace=False,
            error_messages=_say(message),
            **options,
        )

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or not (data.isprintable() or not data):
            self.fail("invalid")
        return str(data)


class Shaped(Text):
    """A text of one shape; or none, unless it is needed."""

    def __init__(self, shape: str, expected: str, *, needed: bool = False, **options: Any) -> None:
        if needed:
            super().__init__(None, least=1, pattern=f"^({shape})$", **options)
        else:
            super().__init__(None, pattern=f"^({shape})?$", default="", **options)
        self._shape = re.compile(shape)
        self.error_messages.update(_say(expected))

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or not self._shape.fullmatch(data):
            self.fail("invalid")
        return data


class OneOf(serializers.ChoiceField):
    """One of a few words."""

    def __init__(self, words: Iterable[str], **options: Any) -> None:
        listed = [str(word) for word in words]
        message = f"give one of: {', '.join(listed)}"
        super().__init__(choices=listed, allow_blank=options.get("default") == "", error_messages=_say(message), **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return str(super().to_internal_value(data))


class Switch(serializers.BooleanField):
    """True or false."""

    def __init__(self, **options: Any) -> None:
        super().__init__(error_messages=_say("give true or false"), **options)

    def to_internal_value(self, data: Any) -> bool:
        if _is_text(self) and isinstance(data, str) and data in _SWITCHES:
            return _SWITCHES[data]
        if type(data) is not bool:
            self.fail("invalid")
        return bool(data)


class Input(serializers.Serializer[Any]):
    """An object with these fields and no others."""

    default_error_messages = {"invalid": "give an object"}

    def to_internal_value(self, data: Any) -> Any:
        known = ", ".join(self.fields)
        wrong: dict[str, Any] = {}
        if isinstance(data, Mapping):
            wrong = {name: [f"there is no such field; give any of: {known}"] for name in data if name not in self.fields}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**cast(dict[str, Any], error.detail), **wrong}) from error
        if wrong:
            raise serializers.ValidationError(wrong)
        return values


class SeveralInputs(serializers.ListSerializer[Any]):
    """A list of objects, within limits."""

    def __init__(self, child: serializers.Serializer[Any], least: int, most: int, **options: Any) -> None:
        super().__init__(child=child, min_length=least or None, max_length=most, **options)
        message = f"give a list of {least} to {most} objects"
        self.error_messages = {**self.error_messages, **_say(message), "not_a_list": message}


class Several(serializers.ListField):
    """A list of values, within limits."""

    def __init__(self, child: serializers.Field[Any, Any, Any, Any], most: int, **options: Any) -> None:
        super().__init__(child=child, max_length=most, **options)
        message = f"give a list of at most {most} values"
        self.error_messages = {**self.error_messages, **_say(message), "not_a_list": message}


def checked(kind: Callable[..., Input], data: Any) -> dict[str, Any]:
    """The values of an input; raises Invalid, which names every one that is wrong."""
    serializer = kind(data=data)
    if not serializer.is_valid():
        raise Invalid(list(_errors(serializer.errors, data)))
    values: dict[str, Any] = serializer.validated_data
    return values


def _errors(errors: Mapping[str, Any], data: Any, within: str = "") -> Iterator[FieldError]:
    for name, messages in errors.items():
        whole = name == "non_field_errors"
        value = data if whole else data.get(name) if isinstance(data, Mapping) else None
        path = within[:-1] if whole else within + shown_name(name)
        if isinstance(messages, Mapping):
            yield from _list_errors(messages, value, path) if isinstance(value, list) else _errors(messages, value, f"{path}.")
        else:
            yield FieldError(path, shown(value), str(messages[0]))


def _list_errors(errors: Mapping[Any, Any], data: list[Any], path: str) -> Iterator[FieldError]:
    """Those of a list's items, by their places, or of the list itself."""
    for place, messages in errors.items():
        if isinstance(messages, Mapping):
            yield from _errors(messages, data[place], f"{path}[{place}].")
        elif isinstance(place, int):
            yield FieldError(f"{path}[{place}]", shown(data[place]), str(messages[0]))
        else:
            yield FieldError(path, shown(data), str(messages[0]))


def shown_name(name: str) -> str:
    """A field's name as the answer repeats it; unknown ones may be anything."""
    return str(shown(name))


def _is_text(field: serializers.Field[Any, Any, Any, Any]) -> bool:
    """Whether the input is a query string."""
    return isinstance(getattr(field.parent, "initial_data", None), QueryDict)


def _say(message: str) -> dict[str, Any]:
    """The same message whatever is wrong with the value."""
    return dict.fromkeys(_COMPLAINTS, message)


_COMPLAINTS = (
    "invalid", "required", "null", "blank", "min_value", "max_value", "min_length", "max_length", "max_string_length", "invalid_choice",
)  # fmt: skip
