"""Compose Java methods into one, and let Java's threads call it on a whole batch.

Usage: `Workers(2).map(chain(method(...), static(...)), objects(values))`. Each call from Python is
slow, so whole batches cross at once. A handle (java.lang.invoke) is a Java method as a value, found
by its class, its name, its return type and its argument types. `bound` fixes arguments as
functools.partial does, `chain(f, g)` is g(f(x)), `nested(f, 1, g)` is f(x, g(y)). This module uses
nothing of Lucene.
"""

from collections.abc import Iterable
from typing import Any

from residuum.lucene.jvm import JavaObject, cast, java

PRIMITIVES = {"void": "V", "boolean": "Z", "byte": "B", "int": "I", "long": "J", "float": "F"}
METHODS, METHOD_TYPE = "java.lang.invoke.MethodHandles", "java.lang.invoke.MethodType"
ACCESSIBLE = "java.lang.reflect.AccessibleObject"
OBJECT, STRING = "java.lang.Object", "java.lang.String"
LIST, STREAM = "java.util.List", "java.util.stream.Stream"
BUFFER, BYTES = "java.nio.ByteBuffer", "java.io.ByteArrayOutputStream"


def _class(name: str) -> JavaObject:
    return java("java.lang.Class").forName(name)


def _types(returned: str, *taken: str) -> JavaObject:
    """Return the type of a method."""
    name, *names = map(_descriptor, (returned, *taken))
    return java(METHOD_TYPE).fromMethodDescriptorString(f"({''.join(names)}){name}", None)


def _descriptor(name: str) -> str:
    """Return how the JVM writes a type: int as I, int[] as [I, x.Y as Lx/Y;"""
    if name.endswith("[]"):
        return f"[{_descriptor(name.removesuffix('[]'))}"
    return PRIMITIVES.get(name) or f"L{name.replace('.', '/')};"


def method(owner: str, name: str, returned: str, *taken: str) -> JavaObject:
    """Return the handle of a public method; its first argument is the object itself."""
    return java(METHODS).publicLookup().findVirtual(_class(owner), name, _types(returned, *taken))


def static(owner: str, name: str, returned: str, *taken: str) -> JavaObject:
    """Return the handle of a public static method."""
    return java(METHODS).publicLookup().findStatic(_class(owner), name, _types(returned, *taken))


def constructor(owner: str, *taken: str) -> JavaObject:
    """Return the handle of a public constructor."""
    return java(METHODS).publicLookup().findConstructor(_class(owner), _types("void", *taken))


def private(owner: str, name: str) -> JavaObject:
    """Return the handle of a class's one private method of this name."""
    named = [m for m in _class(owner).getDeclaredMethods() if str(m.getName()) == name]
    cast(ACCESSIBLE, named[0]).setAccessible(True)
    return java(METHODS).publicLookup().unreflect(named[0])


def field(owner: str, name: str) -> JavaObject:
    """Return a handle from an object to its field, which may be private."""
    declared = _class(owner).getDeclaredField(name)
    cast(ACCESSIBLE, declared).setAccessible(True)
    return java(METHODS).publicLookup().unreflectGetter(declared)


def boxed(value: object) -> object:
    """Return a bool, int or float as Java's Boolean, Integer or Float; keep other values."""
    kind = {bool: "Boolean", int: "Integer", float: "Float"}.get(type(value))
    return java(f"java.lang.{kind}")(value) if kind else value


def bound(handle: JavaObject, position: int, *values: object) -> JavaObject:
    """Fix arguments of a handle, starting at `position`."""
    for value in values:
        handle = java(METHODS).insertArguments(handle, position, boxed(value))
    return handle


def constant(kind: str, value: object) -> JavaObject:
    """Return a handle that takes nothing and returns a value of this type."""
    return java(METHODS).constant(_type(kind), boxed(value))


def chain(first: JavaObject, *rest: JavaObject) -> JavaObject:
    """Return a handle that calls `first`, then each of `rest` on the previous result."""
    for handle in rest:
        first = nested(handle, 0, first)
    return first


def nested(outer: JavaObject, position: int, inner: JavaObject) -> JavaObject:
    """Pass `inner`'s result to `outer` at `position`; inner's arguments take that place."""
    form = cast(METHOD_TYPE, inner.type().changeReturnType(outer.type().parameterType(position)))
    return java(METHODS).collectArguments(outer, position, inner.asType(form))


def _type(name: str) -> JavaObject:
    """Return the class of a type, such as that of int."""
    return cast("java.lang.Class", cast(METHOD_TYPE, _types(name)).returnType())


def ignoring(handle: JavaObject, position: int, *kinds: str) -> JavaObject:
    """Return a handle that takes further arguments, of these types from `position` on."""
    for number, kind in enumerate(kinds):
        handle = java(METHODS).dropArguments(handle, position + number, _type(kind))
    return handle


def converted(handle: JavaObject, kind: str) -> JavaObject:
    """Return a handle whose result is cast to another primitive type."""
    form = cast(METHOD_TYPE, handle.type()).changeReturnType(_type(kind))
    return java(METHODS).explicitCastArguments(handle, cast(METHOD_TYPE, form))


def reordered(handle: JavaObject, *order: int) -> JavaObject:
    """Return a handle that passes its argument `order[i]` as argument i; one may go to several."""
    kinds = [_taken(handle, order.index(position)) for position in range(max(order) + 1)]
    form = java(METHOD_TYPE).methodType(_taken(handle, None), objects(kinds))
    return java(METHODS).permuteArguments(handle, form, *order)


def repeated(body: JavaObject, times: JavaObject) -> JavaObject:
    """Return a handle that calls `body(value, number, ...)` again and again on what it returned.

    It takes the first value and what else `body` takes; `times` of the same says how often.
    """
    value, first = _taken(body, 0), java(METHODS).identity(_taken(body, 0))
    for position in range(2, int(cast(METHOD_TYPE, body.type()).parameterCount())):
        first = java(METHODS).dropArguments(first, position - 1, _taken(body, position))
    return java(METHODS).countedLoop(times, first, java(METHODS).dropArguments(body, 2, value))


def _taken(handle: JavaObject, position: int | None) -> JavaObject:
    """Return the class of an argument of a handle, or of what it returns (None)."""
    form = cast(METHOD_TYPE, handle.type())
    found = form.returnType() if position is None else form.parameterType(position)
    return cast("java.lang.Class", found)


def length_of(owner: str) -> JavaObject:
    """Return a handle from an array of a class's objects to its length."""
    return java(METHODS).arrayLength(_type(f"{owner}[]"))


def element_of(owner: str) -> JavaObject:
    """Return a handle from an array of a class's objects and an index to the object there."""
    return java(METHODS).arrayElementGetter(_type(f"{owner}[]"))


def objects(values: Iterable[object]) -> JavaObject:
    """Return a Java list of Java objects or texts."""
    return java("java.util.Arrays").asList(*values)


def texts(strings: JavaObject) -> list[str]:
    """Return a Java list of strings without line ends as a Python list."""
    if strings.isEmpty():
        return []
    join = static(STRING, "join", STRING, "java.lang.CharSequence", "java.lang.Iterable")
    return str(function(bound(join, 0, "\n")).apply(strings)).split("\n")


def content(buffer: JavaObject) -> bytes:
    """Return the bytes of a Java ByteBuffer that `allocate` made."""
    return _bytes(cast(BUFFER, buffer).array())


def concatenated(arrays: JavaObject) -> bytes:
    """Return the bytes of a Java list of byte arrays, one after another."""
    stream = java(BYTES)()
    write = bound(method(BYTES, "writeBytes", "void", "byte[]"), 0, stream)
    arrays.forEach(function(write, "function.Consumer"))
    return _bytes(stream.toByteArray())


def _bytes(array: Any) -> bytes:
    """Return the bytes of a Java byte array, which pyjnius gives as an object of its own."""
    held: bytes = array.tostring()
    return held


def function(handle: JavaObject, interface: str = "function.Function") -> JavaObject:
    """Return a handle as an interface of java.util with one method, as Java's own methods need.

    Since Java 22 the object is of a hidden class, whose name pyjnius cannot look up. It is taken
    for an Object.
    """
    from jnius import reflect

    name = f"java.util.{interface}"
    owner, make = _class(name), java("java.lang.invoke.MethodHandleProxies").asInterfaceInstance
    by_name = reflect.autoclass
    reflect.autoclass = lambda *_, **__: reflect.Object
    try:
        made = make(owner, handle)
    finally:
        reflect.autoclass = by_name
    return cast(name, made)


def each(handle: JavaObject) -> JavaObject:
    """Return a handle from a text to Java's list of `handle`'s results for its lines."""
    each_line = method(STREAM, "map", STREAM, "java.util.function.Function")
    made = bound(each_line, 1, function(handle))
    return chain(method(STRING, "lines", STREAM), made, method(STREAM, "toList", LIST))


class Workers:
    """A pool of Java threads."""

    def __init__(self, threads: int) -> None:
        self._pool = java("java.util.concurrent.ForkJoinPool")(threads)

    def map(self, handle: JavaObject, *lists: JavaObject) -> JavaObject:
        """Call a handle with the first items of all lists, then the second; return Java's list."""
        for position, values in enumerate(lists):
            item = bound(method(LIST, "get", OBJECT, "int"), 0, values)
            handle = nested(handle, position, item)
        of_one = cast(METHOD_TYPE, handle.type().dropParameterTypes(1, len(lists)))
        of_number = java(METHODS).permuteArguments(handle, of_one, *[0] * len(lists))
        # A parallel stream that starts inside a pool runs on the pool's threads.
        numbers = java("java.util.stream.IntStream").range(0, lists[0].size()).parallel()
        stream = numbers.mapToObj(function(of_number, "function.IntFunction"))
        listed = bound(method(STREAM, "toList", LIST), 0, stream)
        return cast(LIST, self._pool.submit(function(listed, "concurrent.Callable")).get())
