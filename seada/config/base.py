"""What configuration models share: strictness, and fields that several kinds of file use."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Literal, ParamSpec, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from seada.errors import UserError
from seada.formats import parse_format

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ConfigModel(BaseModel):
    """Base of all configuration models: strict types, no unknown keys, no NaN, frozen.

    Use ``list[...]`` for sequences: strict mode takes no list for a tuple.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


def as_value_error(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make a validator of a function that raises `UserError`: pydantic collects only `ValueError`."""

    @wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise ValueError(error.message) from None

    return wrapped


@as_value_error
def _check_format(name: str) -> str:
    return parse_format(name).name


SchemaVersion = Annotated[Literal[1], Field(description="Version of the file format; 1.")]
FormatName = Annotated[
    str,
    AfterValidator(_check_format),
    Field(
        description="int1..int32, uint1..uint32, fp8_e4m3, fp8_e5m2, fp16, bf16, tf32, fp32 or eXmY; with "
        "scales: mxfp8_e4m3, mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4_e2m1, mxint8, NAME_channel or NAME_gN"
    ),
]


@as_value_error
def _check_plain(name: str) -> str:
    fmt = parse_format(name)
    if fmt.scale_bits:
        raise UserError(f"{name!r}: partial sums have no shared scales; use a plain format")
    return fmt.name


@as_value_error
def _check_in_pe(name: str) -> str:
    fmt = parse_format(name)
    if fmt.per_channel:
        raise UserError(
            f"{name!r}: a scale per channel is applied outside the PE and needs no mode of its own; "
            f"{fmt.in_pe} runs it"
        )
    return fmt.name


AccumulatorName = Annotated[str, AfterValidator(_check_plain), Field(description="A format without scales.")]
PeFormatName = Annotated[
    FormatName, AfterValidator(_check_in_pe), Field(description="A format without a scale per channel.")
]
