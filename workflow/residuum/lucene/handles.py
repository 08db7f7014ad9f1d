"""Compose Java methods into handles, and let Java's threads call one on a whole batch.

Usage: `Workers(threads).map(chain(virtual(...), static(...)), objects(values))`. A call that
crosses from Python to Java costs as much as a short search, so that whole batches cross at once.
Must not know Lucene.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from residuum.lucene.jvm import start

LINE = "\n"
METHOD_TYPE = "java.lang.invoke.MethodType"
ENTRY = "java.util.Map$Entry"
PAIR = "java.util.AbstractMap$SimpleImmutableEntry"
OBJECT = "Ljava/lang/Object;"


def cast(name: str, value: Any) -> Any:
    """Let pyjnius take a Java object for one of the class or interface `name`."""
    import jnius

    return jnius.cast(name, value)


@cache
def named(name: str) -> Any:
    """Return the Java Class object of a name."""
    return start()("java.lang.Class").forName(name)


def method_type(descriptor: str) -> Any:
    """Read a method descriptor as the JVM writes it: `(I)V` takes an int and returns nothing."""
    return start()("java.lang.invoke.MethodType").fromMethodDescriptorString(descriptor, None)


@cache
def _methods() -> Any:
    return start()("java.lang.invoke.MethodHandles")


@cache
def _lookup() -> Any:
    return _methods().publicLookup()


def virtual(owner: str, method: str, descriptor: str) -> Any:
    """Return the handle of a public method; the object itself is its first argument."""
    return _lookup().findVirtual(named(owner), method, method_type(descriptor))


def static(owner: str, method: str, descriptor: str) -> Any:
    """Return the handle of a public static method."""
    return _lookup().findStatic(named(owner), method, method_type(descriptor))


def constructor(owner: str, descriptor: str) -> Any:
    """Return the handle of a public constructor; its descriptor returns V."""
    return _lookup().findConstructor(named(owner), method_type(descriptor))


def hidden(owner: str, method: str) -> Any:
    """Return the handle of the one method of that name that a class keeps to itself."""
    found = [m for m in named(owner).getDeclaredMethods() if m.getName() == method]
    cast("java.lang.reflect.AccessibleObject", found[0]).setAccessible(True)
    return _lookup().unreflect(found[0])


def bound(handle: Any, position: int, *values: Any) -> Any:
    """Fix arguments of a handle, from `position` on; numbers come boxed."""
    return _methods().insertArguments(handle, position, *values)


def integer(value: int) -> Any:
    """Box an int for `bound`."""
    return start()("java.lang.Integer")(value)


def chain(first: Any, *rest: Any) -> Any:
    """Call `first`, then each of `rest` with what the one before it returned."""
    for handle in rest:
        first = _methods().filterReturnValue(first, _taking(handle, _returned(first)))
    return first


def _as_type(handle: Any, form: Any) -> Any:
    """Convert a handle; MethodType's own methods are declared to return less than MethodType."""
    return handle.asType(cast(METHOD_TYPE, form))


def _returned(handle: Any) -> Any:
    return handle.type().returnType()


def _taking(handle: Any, given: Any) -> Any:
    """Let a handle of one argument take a value of a wider or narrower class."""
    return _as_type(handle, handle.type().changeParameterType(0, given))


def nested(outer: Any, position: int, inner: Any) -> Any:
    """Give what `inner` returns to `outer` at `position`, with inner's arguments in its place."""
    wanted = outer.type().parameterType(position)
    fitting = _as_type(inner, inner.type().changeReturnType(wanted))
    return _methods().collectArguments(outer, position, fitting)


def reordered(handle: Any, descriptor: str, *order: int) -> Any:
    """Take the arguments of `descriptor` and pass those of `order`, one of them twice perhaps."""
    form = method_type(descriptor)
    returned = cast(METHOD_TYPE, form.changeReturnType(_returned(handle)))
    return _methods().permuteArguments(handle, returned, *order)


def each(iterator: Any, init: Any, body: Any) -> Any:
    """Loop in Java: `body` takes what it returned before, the item, and the loop's arguments."""
    return _methods().iteratedLoop(iterator, init, body)


def where(test: Any, then: Any, otherwise: Any) -> Any:
    """Call `then` where `test` holds and `otherwise` where it does not."""
    return _methods().guardWithTest(test, then, otherwise)


def array_of(owner: str) -> Any:
    """Return a handle from a length to a new array of objects of a class."""
    return _methods().arrayConstructor(named(f"[L{owner};"))


def ignoring_argument(handle: Any, name: Any) -> Any:
    """Put an argument of a Java class, which is not used, before a handle's own."""
    return _methods().dropArguments(handle, 0, name)


def of_pair(handle: Any) -> Any:
    """Let a handle of two arguments take one pair, as `pair` or `pairing` make it."""
    for place, part in enumerate(("getKey", "getValue")):
        handle = nested(handle, place, virtual(ENTRY, part, f"(){OBJECT}"))
    return reordered(handle, f"(L{ENTRY.replace('.', '/')};){OBJECT}", 0, 0)


def pairing(left: Any, right: Any) -> Any:
    """Return a handle from two arguments to the pair of left(first) and right(second)."""
    return nested(nested(_new_pair(), 1, right), 0, left)


def second_of_pair(handle: Any) -> Any:
    """Return a handle from a pair to the pair of its first and handle(second)."""
    return of_pair(nested(_new_pair(), 1, handle))


def _new_pair() -> Any:
    return constructor(PAIR, f"({OBJECT}{OBJECT})V")


def pair(left: Any, right: Any) -> Any:
    """Return two Java objects as one."""
    return start()(PAIR)(left, right)


def objects(values: Iterable[Any]) -> Any:
    """Return a Java collection of Java objects or texts."""
    made = start()("java.util.ArrayList")()
    for value in values:
        made.add(value)
    return cast("java.util.Collection", made)


def words(text: str) -> Any:
    """Return a Java stream of the words of a text that single spaces separate."""
    return start()("java.util.regex.Pattern").compile(" ").splitAsStream(text)


def texts(strings: Any) -> list[str]:
    """Bring a Java collection of strings without line ends over; an empty one has none."""
    if strings.isEmpty():
        return []
    form = "(Ljava/lang/CharSequence;Ljava/lang/Iterable;)Ljava/lang/String;"
    joined = function(bound(static("java.lang.String", "join", form), 0, LINE)).apply(strings)
    return str(joined).split(LINE)


def implementation(interface: str, handle: Any) -> Any:
    """Return a handle as the interface of one method that Java's own methods ask for."""
    make, owner = (
        start()("java.lang.invoke.MethodHandleProxies").asInterfaceInstance,
        named(interface),
    )
    with _nameless_classes():
        made = make(owner, handle)
    return cast(interface, made)


def function(handle: Any) -> Any:
    """Return a handle of one argument as a java.util.function.Function."""
    return implementation("java.util.function.Function", handle)


@contextmanager
def _nameless_classes() -> Iterator[None]:
    """Let a call return an object of a hidden class, as proxies are since Java 22.

    pyjnius looks the class of what it got up by name, and such a class has none to be found by.
    """
    from jnius import reflect

    by_name = reflect.autoclass
    reflect.autoclass = lambda *_, **__: reflect.Object
    try:
        yield
    finally:
        reflect.autoclass = by_name


class Workers:
    """A pool of Java threads."""

    def __init__(self, threads: int) -> None:
        self._pool = start()("java.util.concurrent.ForkJoinPool")(threads)

    def map(self, handle: Any, values: Any) -> Any:
        """Call a handle with each object of a Java collection; return the results in order.

        A parallel stream that starts inside a pool works on that pool's threads.
        """
        stream = values.parallelStream().map(function(handle))
        listed = virtual("java.util.stream.Stream", "toList", "()Ljava/util/List;").bindTo(stream)
        task = implementation("java.util.concurrent.Callable", listed)
        return cast("java.util.Collection", self._pool.submit(task).get())
