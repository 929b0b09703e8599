"""A model's own forward, rebuilt from its syntax tree so that it also returns the captured hidden states."""

import ast
import inspect
import textwrap


def with_aux_hidden_states(forward):
    """(new forward, "") or (None, why not).

    Works only on the one shape that vLLM 0.8.5-0.17.1 have (read by syntax tree in each):
        for layer in <layers>:
            hidden_states, residual = layer(...)
        ...
        return hidden_states
    The residual stream entering each layer of `self.aux_hidden_state_layers` is kept and returned beside it. Names,
    signature, file and line numbers stay the original's: torch.compile reads the signature, tracebacks stay right.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(forward)))
    function = tree.body[0]
    loop, why = _layer_loop(function)
    if loop is None:
        return None, why
    _capture(function, loop)
    function.returns = None
    for argument in function.args.args + function.args.kwonlyargs:
        argument.annotation = None
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, forward.__code__.co_firstlineno - 1)
    made = {}
    exec(compile(tree, forward.__code__.co_filename, "exec"), forward.__globals__, made)
    new = made[function.name]
    new.__qualname__, new.__module__, new.__doc__ = forward.__qualname__, forward.__module__, forward.__doc__
    new.__annotations__ = dict(forward.__annotations__)
    new.__defaults__, new.__kwdefaults__ = forward.__defaults__, forward.__kwdefaults__
    if list(inspect.signature(new).parameters) != list(inspect.signature(forward).parameters):
        return None, "another signature"
    return new, ""


def _layer_loop(function):
    if function.decorator_list:
        return None, "a decorated forward"
    loops = [n for n in function.body if isinstance(n, ast.For) and _mentions(n.iter, "layers")]
    if len(loops) != 1:
        return None, f"{len(loops)} loops over layers"
    loop, last = loops[0], function.body[-1]
    known = (
        isinstance(loop.target, ast.Name)
        and len(loop.body) == 1
        and isinstance(loop.body[0], ast.Assign)
        and ast.unparse(loop.body[0].targets[0]).strip("()") == "hidden_states, residual"
    )
    if not known:
        return None, "a layer loop of unknown form"
    if not isinstance(last, ast.Return) or ast.unparse(last) != "return hidden_states":
        return None, "a return of unknown form"
    return loop, ""


def _mentions(tree, attribute):
    return any(isinstance(n, ast.Attribute) and n.attr == attribute for n in ast.walk(tree))


def _capture(function, loop):
    first = "self.start_layer" if _mentions(loop.iter, "start_layer") else "0"
    head = ast.parse(f"for _index, {loop.target.id} in enumerate(x, {first}): pass").body[0]
    head.iter.args[0] = loop.iter
    loop.target, loop.iter = head.target, head.iter
    keep = """if _index in self.aux_hidden_state_layers:
    _aux.append(hidden_states if residual is None else hidden_states + residual)"""
    loop.body.insert(0, ast.parse(keep).body[0])
    function.body.insert(function.body.index(loop), ast.parse("_aux = []").body[0])
    function.body.insert(-1, ast.parse("if len(_aux) > 0:\n    return hidden_states, _aux").body[0])
