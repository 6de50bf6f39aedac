"""The package: modules, devices, tools, and what it says about itself."""

import importlib.metadata
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import code_object

import wavemill


def test_modules_from_paths_and_bytes():
    path = code_object("vector_add")
    for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
        module = wavemill.Module.load(source)
        assert [kernel.name for kernel in module.kernels] == ["vector_add"]
        assert list(module) == ["vector_add"] and len(module) == 1
        assert "vector_add" in module and "nothing" not in module
    assert "vector_add" in repr(module) and "gfx942" in repr(module)
    for device in ("mi300x", "gfx942", wavemill.Device("gfx942")):
        assert wavemill.Module.load(path, device).device.target == "gfx942"
    parameters = module["vector_add"].parameters
    assert [(p.name, p.kind, p.size) for p in parameters] == [
        ("a", "buffer", 8),
        ("b", "buffer", 8),
        ("c", "buffer", 8),
        ("n", "value", 4),
    ]
    assert parameters[3].type_name == "uint" and parameters[3].offset == 24
    assert repr(module["vector_add"]) == "<Kernel vector_add(a, b, c, n)>"
    assert repr(module["vector_add"][(2, 3), 64]) == "<Kernel vector_add[(2, 3, 1), (64, 1, 1)]>"


def test_what_cannot_be_loaded():
    path = code_object("vector_add")
    with pytest.raises(FileNotFoundError, match="nowhere.co"):
        wavemill.Module.load("nowhere.co")
    with pytest.raises(wavemill.Error):
        wavemill.Module.load(b"not a code object")
    with pytest.raises(TypeError, match="path of a code object or its bytes, found an object of type int"):
        wavemill.Module.load(5)
    with pytest.raises(wavemill.Error, match="gfx942.*gfx906"):
        wavemill.Module.load(path, "gfx906")
    with pytest.raises(TypeError, match="device is an object of type int"):
        wavemill.Module.load(path, 5)
    with pytest.raises(KeyError, match="did you mean `vector_add`"):
        wavemill.Module.load(path)["vector_ad"]


def test_devices():
    device = wavemill.Device("gfx906:xnack-")
    assert (device.target, device.host_memory, device.threads) == ("gfx906:xnack-", "arguments", None)
    assert wavemill.Device("mi355x").target == "gfx950"
    assert wavemill.Device("mi210").compute_units == 104
    assert [wavemill.Device(name).lds_size >> 10 for name in ("mi50", "mi300x", "mi355x")] == [64, 64, 160]
    assert repr(wavemill.Device("mi300x", threads=3)) == "<Device gfx942 (mi300x), threads=3>"
    for target, text in [
        ("gfx1234", "gfx1234"),
        ("pocket calculator", "no target or product"),
        ("cayman", "32 bits.*wavemill run"),
    ]:
        with pytest.raises(wavemill.Error, match=text):
            wavemill.Device(target)
    for options in ({"host_memory": "all"}, {"threads": 0}, {"matrix_rule": "random"}):
        with pytest.raises(wavemill.ArgumentError, match="expected"):
            wavemill.Device("gfx942", **options)


def test_the_assembler_and_the_disassembler():
    path = code_object("vector_add")
    text = wavemill.dis(path)
    assert "s_endpgm" in text and ".amdhsa_kernel vector_add" in text
    again = wavemill.asm(text)
    assert again[:4] == b"\x7fELF" and wavemill.dis(again) == text
    assert "v_mov_b32_e32 v1, v2" in wavemill.dis(bytes.fromhex("0203027e"), "gfx90a")
    with pytest.raises(wavemill.Error, match="not for gfx906"):
        wavemill.dis(path, "gfx906")
    with pytest.raises(wavemill.AssemblyError) as caught:
        wavemill.asm("s_nop 0\n v_add_f32 v0, v1\nbad\n", "gfx942")
    assert [(line, text[:6]) for line, _, text in caught.value.reports] == [(2, "line 2"), (3, "line 3")]


def test_explanations_and_contents():
    assert "v_add_f32" in wavemill.explain("v_add_f32 v0, v1, v2", "gfx942")
    assert "v_add_f32" in wavemill.explain("v_add_f32")
    with pytest.raises(wavemill.Error, match="no instruction `v_magic`"):
        wavemill.explain("v_magic")
    assert "vector_add" in str(wavemill.info(code_object("vector_add")))


def test_the_command_comes_along():
    command = Path(sys.executable).with_name("wavemill")
    command = command if command.exists() else shutil.which("wavemill")
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == wavemill.__version__ == importlib.metadata.version("wavemill")


def test_everything_public_has_a_description():
    for name in wavemill.__all__:
        thing = getattr(wavemill, name)
        if inspect.isclass(thing) or callable(thing) and not isinstance(thing, wavemill.ScalarType):
            assert inspect.getdoc(thing), name
    stubs = (Path(wavemill.__file__).parent / "__init__.pyi").read_text()
    for name in wavemill.__all__:
        assert name in stubs, f"{name} is not in the type stubs"


def test_nothing_else_is_imported():
    """The import is quick: it needs neither numpy nor large parts of the standard library, nor the native module."""
    code = "import sys; before = set(sys.modules); import wavemill; print(*(set(sys.modules) - before))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(said.split()) == {"wavemill", "wavemill.errors"}


def test_names_come_with_the_native_module():
    code = (
        "import wavemill; assert set(wavemill.__all__) <= set(dir(wavemill)); "
        "assert not hasattr(wavemill, 'nothing'); from wavemill import *; print(Device('mi355x'), f32(2) is not None)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "gfx950" in said


def test_free_threaded_python_is_refused():
    code = "import sys; sys.abiflags = 't'; import wavemill; wavemill.Device"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.returncode == 1 and "ImportError: wavemill does not support free-threaded" in said.stderr


@pytest.mark.parametrize("hook", ["get_requires_for_build_wheel", "get_requires_for_build_editable"])
@pytest.mark.parametrize("disabled", [0, 1])
def test_free_threaded_python_builds_no_wheel(tmp_path, hook, disabled):
    """Pip finds no wheel for it, and builds the source distribution: the first question to the back end is its answer."""
    (tmp_path / "maturin.py").write_text(f"def {hook}(): return ['asked maturin']\n")
    code = (
        f"import sys, sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = {disabled}; "
        f"sys.path[:0] = sys.argv[1:]; import build_backend; print(build_backend.{hook}())"
    )
    crate = Path(__file__).resolve().parents[1]
    said = subprocess.run([sys.executable, "-c", code, tmp_path, crate], capture_output=True, text=True)
    if disabled:
        assert said.returncode == 1 and said.stderr.startswith("error: wavemill does not support free-threaded Python")
    else:
        assert said.stdout == "['asked maturin']\n", said.stderr


def test_the_stubs_are_as_the_package():
    """Classes, properties, methods and parameters of the stubs are those of the package."""
    import ast

    tree = ast.parse((Path(wavemill.__file__).parent / "__init__.pyi").read_text())
    # Methods of every class, and constructors that only the module calls.
    common = {*dir(object), "__module__", "__copy__", "__deepcopy__", "_repr_html_"}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            same_parameters(node, getattr(wavemill, node.name), skip=0)
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        of = getattr(wavemill, node.name)
        members = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        assert set(members) - {"__new__"} == set(vars(of)) - common, node.name
        for name, member in members.items():
            is_property = any(isinstance(one, ast.Name) and one.id == "property" for one in member.decorator_list)
            assert is_property == inspect.isgetsetdescriptor(vars(of).get(name)), f"{node.name}.{name}"
            if not is_property and not (name.startswith("__") and name not in ("__new__", "__call__")):
                is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in member.decorator_list)
                function = of if name == "__new__" else getattr(of, name)
                same_parameters(member, function, skip=0 if is_static else 1)


def same_parameters(stub, function, skip):
    if stub.name == "__call__":
        # Python does not know its parameters; the next test has those of kernels.
        return
    arguments = [*stub.args.posonlyargs, *stub.args.args][skip:]
    names = [one.arg for one in arguments]
    names += ["*" + stub.args.vararg.arg] if stub.args.vararg else []
    names += [one.arg for one in stub.args.kwonlyargs]
    found = inspect.signature(function).parameters.values()
    found = ["*" * (one.kind is inspect.Parameter.VAR_POSITIONAL) + one.name for one in found if one.name != "self"]
    assert names == found, stub.name


def test_the_stubs_have_the_options_of_calls(vector_add):
    """Each option of the stub has the default that it says, and there are no others."""
    import ast

    tree = ast.parse((Path(wavemill.__file__).parent / "__init__.pyi").read_text())
    [kernel] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "BoundKernel"]
    [call] = [node for node in kernel.body if isinstance(node, ast.FunctionDef) and node.name == "__call__"]
    names = [one.arg for one in call.args.kwonlyargs]
    options = dict(zip(names, map(ast.literal_eval, call.args.kw_defaults), strict=True))
    a = bytearray(4)
    expected = vector_add[1, 1](a, a, a, 1).to_dict()
    found = vector_add[1, 1](a, a, a, 1, **options).to_dict()
    assert found["instructions"] == expected["instructions"] and found.keys() == expected.keys()
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        vector_add[1, 1](a, a, a, 1, bogus=1)
    assert {"signature", "kernarg", "memory", "trace", "poison"} <= options.keys()
