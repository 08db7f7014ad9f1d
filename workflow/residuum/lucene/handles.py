"""Compose Java methods into one, and let Java's threads call it on a whole batch.

Usage: `Workers(2).map(chain(virtual(...), static(...)), objects(values))`. Calls from Python to
Java are slow and must not come from several threads, so that whole batches cross at once.
A handle (java.lang.invoke) is a Java method as a value, found by its class, its name and its types
as the JVM writes them: `(ILjava/lang/String;)V` takes an int and a String and returns nothing.
`bound` fixes arguments as functools.partial does, `chain(f, g)` is g(f(x)) and `nested(f, 1, g)` is
f(x, g(y)). Must not know Lucene.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from residuum.lucene.jvm import JavaObject, java

LINE = "\n"
METHOD_TYPE = "java.lang.invoke.MethodType"


def cast(name: str, value: JavaObject) -> JavaObject:
    """Let pyjnius take a Java object for one of the class or interface `name`."""
    import jnius

    return jnius.cast(name, value)  # type: ignore[no-any-return]


def _methods() -> JavaObject:
    return java("java.lang.invoke.MethodHandles")


def _class(name: str) -> JavaObject:
    return java("java.lang.Class").forName(name)


def _types(descriptor: str) -> JavaObject:
    return java(METHOD_TYPE).fromMethodDescriptorString(descriptor, None)


def virtual(owner: str, method: str, descriptor: str) -> JavaObject:
    """Return the handle of a public method; the object itself is its first argument."""
    return _methods().publicLookup().findVirtual(_class(owner), method, _types(descriptor))


def static(owner: str, method: str, descriptor: str) -> JavaObject:
    """Return the handle of a public static method."""
    return _methods().publicLookup().findStatic(_class(owner), method, _types(descriptor))


def constructor(owner: str, descriptor: str) -> JavaObject:
    """Return the handle of a public constructor; its descriptor returns V."""
    return _methods().publicLookup().findConstructor(_class(owner), _types(descriptor))


def field(owner: str, name: str) -> JavaObject:
    """Return a handle from an object to its field, which may be private."""
    return _methods().publicLookup().unreflectGetter(_opened(_class(owner).getDeclaredField(name)))


def private(owner: str, method: str) -> JavaObject:
    """Return the handle of a class's one private method of that name."""
    named = [m for m in _class(owner).getDeclaredMethods() if str(m.getName()) == method]
    return _methods().publicLookup().unreflect(_opened(named[0]))


def _opened(member: JavaObject) -> JavaObject:
    cast("java.lang.reflect.AccessibleObject", member).setAccessible(True)
    return member


def bound(handle: JavaObject, position: int, *values: object) -> JavaObject:
    """Fix arguments of a handle, from `position` on; numbers come boxed."""
    return _methods().insertArguments(handle, position, *values)


def boxed(kind: str, value: float) -> JavaObject:
    """Return a Java number or truth value for `bound`: Integer, Double, Float, Boolean."""
    return java(f"java.lang.{kind}")(value)


def chain(first: JavaObject, *rest: JavaObject) -> JavaObject:
    """Call `first`, then each of `rest` with what the one before it returned."""
    for handle in rest:
        first = nested(handle, 0, first)
    return first


def nested(outer: JavaObject, position: int, inner: JavaObject) -> JavaObject:
    """Give what `inner` returns to `outer` at `position`, with inner's arguments in its place."""
    taken = cast(METHOD_TYPE, inner.type().changeReturnType(outer.type().parameterType(position)))
    return _methods().collectArguments(outer, position, inner.asType(taken))


def without_argument(handle: JavaObject, kind: str) -> JavaObject:
    """Let a handle without arguments follow one that returns a `kind`, such as Boolean."""
    return _methods().dropArguments(handle, 0, java(f"java.lang.{kind}").TYPE)


def array_of(owner: str) -> JavaObject:
    """Return a handle from a length to a new array of objects of a class."""
    return _methods().arrayConstructor(_class(f"[L{owner};"))


def objects(values: Iterable[object]) -> JavaObject:
    """Return a Java list of Java objects or texts."""
    made = java("java.util.ArrayList")()
    for value in values:
        made.add(value)
    return cast("java.util.List", made)


def words(text: str) -> JavaObject:
    """Return a Java stream of the words of a text that single spaces separate."""
    return java("java.util.regex.Pattern").compile(" ").splitAsStream(text)


def texts(strings: JavaObject) -> list[str]:
    """Bring a Java list of strings without line ends over; an empty one has none."""
    if strings.isEmpty():
        return []
    form = "(Ljava/lang/CharSequence;Ljava/lang/Iterable;)Ljava/lang/String;"
    joined = function(bound(static("java.lang.String", "join", form), 0, LINE)).apply(strings)
    return str(joined).split(LINE)


def function(handle: JavaObject, interface: str = "function.Function") -> JavaObject:
    """Return a handle as an interface of java.util with one method, which Java's own ask for."""
    name = f"java.util.{interface}"
    owner, make = _class(name), java("java.lang.invoke.MethodHandleProxies").asInterfaceInstance
    with _nameless_classes():
        made = make(owner, handle)
    return cast(name, made)


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
        self._pool = java("java.util.concurrent.ForkJoinPool")(threads)

    def map(self, handle: JavaObject, *lists: JavaObject) -> JavaObject:
        """Call a handle with the first of each Java list, then the second; return Java's list.

        A parallel stream that starts inside a pool works on that pool's threads.
        """
        for position, values in enumerate(lists):
            handle = nested(handle, position, _item(values))
        of_number = _methods().permuteArguments(
            handle.asType(_types(f"({'I' * len(lists)})Ljava/lang/Object;")),
            _types("(I)Ljava/lang/Object;"),
            *([0] * len(lists)),
        )
        numbers = java("java.util.stream.IntStream").range(0, lists[0].size()).parallel()
        stream = numbers.mapToObj(function(of_number, "function.IntFunction"))
        listed = virtual("java.util.stream.Stream", "toList", "()Ljava/util/List;").bindTo(stream)
        task = function(listed, "concurrent.Callable")
        return cast("java.util.List", self._pool.submit(task).get())


def _item(values: JavaObject) -> JavaObject:
    """Return a handle from a number to that object of a Java list."""
    return virtual("java.util.List", "get", "(I)Ljava/lang/Object;").bindTo(values)
