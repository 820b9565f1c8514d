"""Functions of the time loops as one module of LLVM's language, which depends on no processor and not on Numba.

What Numba makes of each is joined. Names are made short, and the same at each making. Numba's own memory management is
replaced by the few lines below; an error, of which want of memory is the only one, is a status without words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from whippletree.simulate.loop_compiler.numba_functions import library_of
from whippletree.simulate.native_functions import MarkedFunction

__all__ = ["linked_ir"]

# An array's memory begins with five words: how often it is referred to, two that are not used, where its numbers
# begin, and one more that is not used. Only the call that made it knows it, so counting needs no locks.
_MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %room = add i64 %size, 128
  %memory = call ptr @malloc(i64 %room)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %made
made:
  store i64 1, ptr %memory
  %first = ptrtoint ptr %memory to i64
  %behind = add i64 %first, 103
  %aligned = and i64 %behind, -64
  %place = getelementptr i64, ptr %memory, i64 3
  store i64 %aligned, ptr %place
  br label %done
done:
  ret ptr %memory
}

define void @NRT_incref(ptr %memory) noinline {
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %memory
  %after = add i64 %before, 1
  store i64 %after, ptr %memory
  br label %done
done:
  ret void
}

define void @NRT_decref(ptr %memory) noinline {
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %memory
  %after = sub i64 %before, 1
  store i64 %after, ptr %memory
  %unused = icmp eq i64 %after, 0
  br i1 %unused, label %give_back, label %done
give_back:
  call void @free(ptr %memory)
  br label %done
done:
  ret void
}
"""

_COUNTING = re.compile(r"^define [^@\n]*@(NRT_incref|NRT_decref)\(.*?^}$", re.MULTILINE | re.DOTALL)
_WORDS_OF_ERRORS = re.compile(r"(?<!^)@\.const\.picklebuf\.[\w.]+", re.MULTILINE)
_MANGLED = re.compile(r'"_Z[^"\n]*"|_Z[\w.$]+')


def linked_ir(functions: Iterable[MarkedFunction]) -> str:
    """Return functions by address and entries as one module; they are called as their symbols say."""
    functions = list(functions)
    whole = llvm.parse_assembly(_MEMORY)
    for marked in functions:
        text, name = library_of(marked)
        text = re.sub(rf"(?<![\w.$]){re.escape(name)}(?![\w.$:])", marked.symbol, text)
        text = _WORDS_OF_ERRORS.sub("null", _COUNTING.sub(r"declare void @\1(ptr)", text))
        whole.link_in(llvm.parse_assembly(text))
    _keep_only(whole, {marked.symbol for marked in functions})
    numbers: Any = itertools.count()
    short: dict[str, str] = {}

    def shortened(found: re.Match[str]) -> str:
        return short.setdefault(found[0].strip('"'), f'"part{next(numbers)}"')  # not empty: there is always another

    text = _MANGLED.sub(shortened, str(whole))
    return re.sub(r"^(; .*|target .*|source_filename .*)\n", "", text, flags=re.MULTILINE)


def _keep_only(module: Any, symbols: set[str]) -> None:
    """Hide all other functions, and drop those that are not called."""
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name not in symbols:
            one.linkage = llvm.Linkage.internal
    builder = llvm.create_pass_builder(_any_machine(), llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_constant_merge_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    module.verify()


def _any_machine() -> Any:
    return llvm.Target.from_default_triple().create_target_machine()
