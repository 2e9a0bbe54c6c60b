"""A YAML file becomes an experiment, or one sentence."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sparsewise import ALGORITHMS
from sparsewise.errors import InputError
from sparsewise.experiments.conduct import adapted, conduct
from sparsewise.experiments.declaration import Contender, Experiment
from sparsewise.experiments.specification import FIELDS, read_specification

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
GOOD = {
    "n": 12,
    "m": 20,
    "k": [1, 2],
    "noise": 0.005,
    "realizations": 3,
    "algorithms": {"OMP": {"algorithm": "omp", "residual": "delta"}},
}


def read(folder, text, name="mine.yml"):
    path = folder / name
    path.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
    return read_specification(path)


def changed(**words):
    return {word: value for word, value in (GOOD | words).items() if value is not ...}


def omp(**words):
    return changed(algorithms={"OMP": {"algorithm": "omp", "residual": "delta"} | words})


# --- what can be used -----------------------------------------------------------------------------


def test_all_words(tmp_path):
    found = read(
        tmp_path,
        """
        name: mine
        title: How dense may it be?
        family: correlated
        signal: normal
        n: 64
        m: [128, 256]
        k: [8, 12, 16]
        noise: 5e-3
        delta: 1e-2
        realizations: 200
        algorithms:
          OMP: {algorithm: omp, residual: delta}
          BP: {algorithm: bpdn, residual: delta, threshold: 0.1*delta, solver: homotopy}
        """,
        "other.yml",
    )
    assert found == Experiment(
        "mine",
        "How dense may it be?",
        {"n": (64,), "m": (128, 256), "k": (8, 12, 16), "noise": (0.005,), "delta": (0.01,)},
        (
            Contender("OMP", "omp", {"residual": "delta"}),
            Contender("BP", "bpdn", {"residual": "delta", "solver": "homotopy"}, "0.1*delta"),
        ),
        200,
        family="correlated",
        signal="normal",
    )


def test_few_words(tmp_path):
    found = read(tmp_path, GOOD, "my experiment (2).yml")
    assert found.name == found.title == "my-experiment-2"
    assert (found.family, found.signal, found.task) == ("gaussian", "signs", "recovery")


def test_ratios_in_place_of_sizes(tmp_path):
    found = read(tmp_path, changed(n=..., k=..., sampling=[0.25, 0.5], sparsity=0.2))
    assert [(cell["n"], cell["k"]) for cell in found.cells()] == [(5, 1), (10, 2)]


def test_numbers_as_people_write_them(tmp_path):
    text = yaml.safe_dump(changed(noise="X")).replace("X", "[1e-3, 1E+1, 2.e-3, .5, 1.5e-3, 0]")
    assert read(tmp_path, text).grid["noise"] == (1e-3, 10.0, 2e-3, 0.5, 1.5e-3, 0)


def test_factors_as_people_write_them(tmp_path):
    [contender] = read(tmp_path, omp(residual="1e-1*delta", threshold="5E-3*delta")).contenders
    assert (contender.parameters["residual"], contender.threshold) == ("1e-1*delta", "5E-3*delta")


def test_lists_and_words_among_the_parameters(tmp_path):
    [contender] = read(tmp_path, omp(include=[0, 3], sparsity=None)).contenders
    assert contender.parameters == {"residual": "delta", "include": [0, 3], "sparsity": None}


def test_more_rows_than_columns_are_welcome(tmp_path):
    assert read(tmp_path, changed(n=40)).grid["n"] == (40,)


def test_a_byte_order_mark(tmp_path):
    assert read(tmp_path, "\ufeff" + yaml.safe_dump(GOOD)).realizations == 3


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yml")), ids=lambda path: path.name)
def test_the_examples_run(path, tmp_path):
    experiment = adapted(read_specification(path), realizations=2)
    results = conduct([experiment], tmp_path, jobs=1).results
    assert results.height == len(list(experiment.units())) > 1
    assert results["error_message"].null_count() == results.height


def test_there_is_an_example():
    assert [path.name for path in EXAMPLES.glob("*.yml")] == ["density.yml"]


# --- what can't -----------------------------------------------------------------------------------

BAD = {
    # what is not a declaration at all
    "": "must hold pairs of a word and a value, not None",
    "just words": "must hold pairs of a word and a value, not 'just words'",
    "- a\n- b": "must hold pairs of a word and a value, not ['a', 'b']",
    "a: b: c": "is not YAML that can be used: mapping values are not allowed here",
    "{": "is not YAML that can be used",
    "a: &x [*x]": "there is no word",
    "m: 2021-99-99": "is not YAML that can be used: month must be in 1..12",
    "m: !!int x": "is not YAML that can be used",
    "m: !!timestamp x": "is not YAML that can be used",
    "m: !!bool x": "is not YAML that can be used",
    "m: !!python/object/apply:os.getcwd []": "could not determine a constructor for the tag",
    "m: !!python/name:os.system": "could not determine a constructor for the tag",
    "m: 1\nm: 2": '"m" is there twice',
    "---\nm: 1\n---\nm: 2": "expected a single document",
    "? [a]\n: b": "is not YAML that can be used",
    "? [a, b]\n: c\nm: 3": "is not YAML that can be used",
    "[" * 1500: "is not YAML that can be used",
    "m: " + "9" * 5000: "is not YAML that can be used",
    "a\tb: \x07": "is not YAML that can be used",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: ascii(text[:30]))
def test_text_that_cannot_be_used(tmp_path, text):
    refused(tmp_path, text, BAD[text])


WRONG = {
    "unknown word": (changed(ks=3), "there is no word in", '"ks"; did you mean "k"'),
    "number for a word": ({1: 2}, "must hold pairs of a word and a value"),
    "no m": (changed(m=...), 'lacks "m"'),
    "no realizations": (changed(realizations=...), 'lacks "realizations"'),
    "no algorithms": (changed(algorithms=...), 'lacks "algorithms"'),
    "no n": (changed(n=...), 'must have one of "n" and "sampling"'),
    "n and sampling": (changed(sampling=0.5), 'must have one of "n" and "sampling"'),
    "no k": (changed(k=...), 'must have one of "k" and "sparsity"'),
    "k and sparsity": (changed(sparsity=0.5), 'must have one of "k" and "sparsity"'),
    "targets = 0": (changed(targets=[1, 0]), "targets must be a whole number of at least 1"),
    "targets of an l1 norm": (
        changed(targets=2, algorithms={"BP": {"algorithm": "bpdn", "residual": 1.0}}),
        '"BP" can\'t share targets: it takes one at a time',
    ),
    "k = 0": (changed(k=0), "k must be a whole number of at least 1, or a list of such, not 0"),
    "k > m": (changed(k=[2, 21]), "21 of 20 columns can't be chosen", "k=21"),
    "k of ratio 0": (changed(k=..., sparsity=0), "k must be at least 1"),
    "k of ratio > m/n": (changed(k=..., sparsity=2.0), "24 of 20 columns can't be chosen"),
    "half a row": (changed(n=12.5), "n must be a whole number of at least 1", "not 12.5"),
    "no rows": (changed(n=0), "n must be a whole number of at least 1"),
    "true rows": (changed(n=True), "n must be a whole number of at least 1", "not True"),
    "rows in words": (changed(n="many"), "n must be a whole number", "not 'many'"),
    "rows in rows": (changed(n=[[1, 2], [3]]), "n must be a whole number", "not [1, 2]"),
    "empty list": (changed(k=[]), "k is an empty list"),
    "twice": (changed(k=[1, 2, 1]), "k has 1 twice"),
    "negative noise": (changed(noise=-1), "noise must be a number of at least 0", "not -1"),
    "endless noise": (changed(noise=float("inf")), "noise is too large: inf"),
    "no number": (changed(noise=float("nan")), "noise must be a number of at least 0", "not nan"),
    "large ratio": (changed(n=..., sampling=1e300), "sampling is too large"),
    "large n": (changed(n=10**400), "n is too large"),
    "large matrix": (changed(n=10**6, m=10**6), "a matrix of 1,000,000 × 1,000,000 is too large"),
    "many cells": (
        changed(n=list(range(1, 1001)), noise=[i / 100 for i in range(200)]),
        'the lists of "n", "k", "noise" make 400,000 cells; there may be 10,000',
    ),
    "no draws": (changed(realizations=0), "realizations must be a whole number of at least 1"),
    "half a draw": (changed(realizations=1.5), "realizations must be a whole number of at least 1"),
    "several numbers of draws": (changed(realizations=[1, 2]), "realizations must be a whole"),
    "family": (changed(family="gausian"), 'there is no family "gausian"; did you mean "gaussian"'),
    "family list": (changed(family=["gaussian"]), "family must be a word, not ['gaussian']"),
    "signal": (changed(signal="ones"), 'there is no signal "ones"'),
    "title": (changed(title=3), "title must be a word, not 3"),
    "name with slash": (changed(name="../x"), "name must be of letters, digits"),
    "name number": (changed(name=3), "name must be of letters, digits"),
    "long name": (changed(name="x" * 81), "name must be of letters, digits"),
    "name of the paper's": (changed(name="table1"), '"table1" is an experiment of the paper'),
    "no algorithm": (changed(algorithms={}), "algorithms must hold pairs"),
    "list of algorithms": (changed(algorithms=["omp"]), "algorithms must hold pairs"),
    "bare algorithm": (changed(algorithms={"OMP": "omp"}), 'algorithm "OMP" must hold pairs'),
    "which": (changed(algorithms={"OMP": {"residual": 1}}), 'algorithm "OMP" lacks "algorithm"'),
    "misspelt": (omp(algorithm="opm"), 'there is no algorithm "opm"; did you mean "omp"'),
    "algorithm number": (omp(algorithm=3), '"algorithm" of "OMP" must be a word, not 3'),
    "parameter": (omp(residul=1), 'there is no parameter of "OMP" (omp): "residul"; did you mean'),
    "callback": (omp(callback="print"), 'there is no parameter of "OMP" (omp): "callback"'),
    "A": (omp(A=1), 'there is no parameter of "OMP" (omp): "A"'),
    "needed": (
        changed(algorithms={"BP": {"algorithm": "bpdn"}}),
        '"BP" lacks "residual", which bpdn needs',
    ),
    "quantity": (omp(residual="dleta"), '"residual" of "OMP" is "dleta", which is neither'),
    "product": (omp(residual="delta*2"), '"residual" of "OMP" is "delta*2", which is neither'),
    "no delta": (changed(noise=...), '"residual" of "OMP" is "delta"', '"n", "m", "k"'),
    "mapping": (omp(residual={"a": 1}), '"residual" of "OMP" must be a number, a word or a list'),
    "nan": (omp(residual=float("nan")), '"residual" of "OMP" must be a number, a word or a list'),
    "threshold": (omp(threshold=-1), '"threshold" of "OMP" must be a number of at least 0'),
    "threshold list": (omp(threshold=[1]), '"threshold" of "OMP" must be a number of at least 0'),
    "endless threshold": (omp(threshold=float("inf")), '"threshold" of "OMP" must be a number of'),
    "large factor": (omp(residual="1e400*delta"), '"residual" of "OMP" is "1e400*delta", which is'),
    "threshold word": (omp(threshold="small"), '"threshold" of "OMP" is "small"'),
}


@pytest.mark.parametrize("declared", WRONG.values(), ids=WRONG)
def test_declarations_that_cannot_be_used(tmp_path, declared):
    refused(tmp_path, *declared)


def refused(folder, text, *fragments):
    with pytest.raises(InputError) as caught:
        read(folder, text)
    message = str(caught.value)
    assert one_sentence(message), message
    for fragment in fragments:
        assert fragment in message, message


def one_sentence(message):
    return message.isprintable() and 10 < len(message) < 600


@pytest.mark.parametrize("word", ["name", "title", "n", "algorithms", "realizations", "family"])
def test_many_lists_within_lists_are_not_spelt_out(tmp_path, word):
    """Ten lists of nine times the one before: a few lines that stand for 10⁹ words."""
    lists = ["&a0 [x, x, x, x, x, x, x, x, x]"]
    lists += [f"&a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    rest = yaml.safe_dump(changed(**{word: ...}))
    refused(tmp_path, f"signal: [{', '.join(lists)}]\n{word}: *a9\n{rest}", f"{word} must", "not [")


# --- a little text that stands for much -----------------------------------------------------------


def merged(levels, fan=9):
    """Mappings of nine times the pairs of the one before."""
    lines = ["a0: &a0 {x: 1, y: 2}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * fan)}]}}" for i in range(1, levels)]
    return "\n".join(lines)


def numbers(many):
    return f"[{', '.join(map(str, range(1, many + 1)))}]"


ENTRIES, LEVELS = "it has more than 20,000 entries", "it is nested more than 20 levels deep"
TOO_MUCH = {
    "merged": (merged(6), ENTRIES),
    "merged over and over": (merged(12), ENTRIES),
    "merged widely": (
        f"a: &a {{{', '.join(f'k{i}: 1' for i in range(4000))}}}\nb: {{<<: [{'*a, ' * 4000}]}}",
        ENTRIES,
    ),
    "numbers": (f"k: [{'1,' * 60_000}]", ENTRIES),
    "large numbers": (f"k: {numbers(60_000)}", "is too large to declare an experiment"),
    "words": ("".join(f"w{i}: 1\n" for i in range(20_000)), ENTRIES),
    "aliases": (f"a: &a 1\nb: [{'*a, ' * 60_000}]", ENTRIES),
    "lists in lists": ("[" * 100_000, LEVELS),
    "mappings in mappings": ("{a: " * 50_000, LEVELS),
    "items in items": ("- " * 60_000, LEVELS),
    "keys of keys": ("? " * 60_000, LEVELS),
    "sixtieths": (f"n: {'1:' * 100_000}1", "a word has more than 5,000 letters"),
    "a long word": (f"n: '{'x' * 200_000}'", "a word has more than 5,000 letters"),
    "ten million letters": ("a" * 10**7, "is too large to declare an experiment"),
}


@pytest.mark.parametrize("case", TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_much_is_refused(tmp_path, case):
    """Read to their end, some of these would take years."""
    refused(tmp_path, *case)


def test_as_much_as_there_may_be(tmp_path):
    noise = [i / 100 for i in range(5_000)]
    assert len(read(tmp_path, changed(noise=noise)).cells()) == 10_000
    refused(tmp_path, changed(noise=[*noise, 50.0]), "make 10,002 cells")


def test_cells_and_algorithms_together(tmp_path):
    many = {f"{i}": {"algorithm": "omp", "residual": "delta"} for i in range(1001)}
    declared = changed(noise=[i / 100 for i in range(50)], algorithms=many)
    refused(tmp_path, declared, "100 cells with 1,001 algorithms each are too many", "100,000")


def test_mappings_are_merged(tmp_path):
    found = read(
        tmp_path,
        yaml.safe_dump(changed(algorithms=...))
        + """
algorithms:
  A: &a {algorithm: omp, residual: delta}
  B: &b {<<: *a, residual: 2*delta}
  C: {<<: [*b, *a], sparsity: 3}
""",
    )
    assert [one.parameters for one in found.contenders] == [
        {"residual": "delta"},
        {"residual": "2*delta"},
        {"residual": "2*delta", "sparsity": 3},
    ]


@pytest.mark.parametrize("text", ["0x" + "f" * 4000, ".inf", "-.inf", "[0x" + "f" * 4000 + "]"])
def test_parameters_that_are_no_finite_numbers(tmp_path, text):
    declared = yaml.safe_dump(omp(residual="X")).replace("X", text)
    refused(tmp_path, declared, '"residual" of "OMP" must be a number, a word or a list of such')


@pytest.mark.parametrize("value", ["0x" + "f" * 4900, "[[0x" + "f" * 4900 + "]]"])
def test_numbers_that_python_does_not_write(tmp_path, value):
    refused(tmp_path, yaml.safe_dump(changed(n="X")).replace("X", value), "n ", "very many digits")


def test_names_that_look_alike(tmp_path):
    one = {"algorithm": "omp", "residual": "delta"}
    declared = changed(algorithms={"a\x01": one, "a\x02": one})
    refused(tmp_path, declared, 'two algorithms are called "a?"')


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"^there is no file .*none\.yml$"):
        read_specification(tmp_path / "none.yml")
    with pytest.raises(InputError, match=r"^can't read .*: Is a directory$"):
        read_specification(tmp_path)
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"binary\.yml: it is not text in UTF-8$"):
        read_specification(tmp_path / "binary.yml")
    with pytest.raises(InputError, match=r"^can't read a\?b: embedded null byte$"):
        read_specification("a\0b")


# --- anything -------------------------------------------------------------------------------------

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 40),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["delta", "0.1*delta", "gaussian", "omp", "k", *ALGORITHMS]),
    st.dates(),
    st.binary(max_size=4),
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | st.dictionaries(st.sampled_from(["algorithm", "residual", "threshold"]), inner)
    ),
    max_leaves=8,
)


def survives(folder, text):
    """An experiment that has cells and contenders, or one sentence."""
    try:
        experiment = read(folder, text)
    except InputError as error:
        message = str(error)
    else:
        message = "an experiment with units"
        assert all(json.dumps(unit.settings(0)) for unit in experiment.units())
    assert one_sentence(message), message


@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), anything, max_size=4))
def test_any_change_of_a_declaration(tmp_path_factory, change):
    survives(tmp_path_factory.getbasetemp(), GOOD | change)


@given(st.data())
def test_any_damage_to_a_text(tmp_path_factory, data):
    text = (EXAMPLES / "density.yml").read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    more = data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
    survives(tmp_path_factory.getbasetemp(), text[:start] + more + text[end:])


@given(st.text(st.sampled_from("am:n[]{}&*!|>-?#,'\"%@` \n\t01.e~=<"), max_size=40))
def test_any_text(tmp_path_factory, text):
    survives(tmp_path_factory.getbasetemp(), text)
