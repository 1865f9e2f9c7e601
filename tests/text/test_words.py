"""The search for names as whole words."""

from __future__ import annotations

import pytest

from postrender.text import (
    HOST,
    PATH,
    WHOLE,
    WORD,
    WordSet,
    forms_of,
    replace_words,
    words_of,
)

MANY = [f"web-{number}" for number in range(20)]


@pytest.mark.parametrize("others", [[], MANY], ids=["few names", "many names"])
@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("", False),
        ("name: app-config", False),
        ("other: [my.app, app_1]", True),
        ("app app-config app-config", True),
        ("äappä", True),
        ('NAME="${NAME:-app}"', True),
    ],
)
def test_words_are_found(text: str, is_found: bool, others: list[str]) -> None:
    names = WordSet(["app", *others])
    assert names.is_in(text) == is_found
    assert WordSet(names.possible_in(text)).is_in(text) == is_found
    assert names.possible_in(text).isdisjoint(others)


@pytest.mark.parametrize(
    ("text", "words", "replaced"),
    [
        ("${NAME:-app}", ["NAME", "app"], "${NAME:-app-1}"),
        ("cm/${NAME-app}", ["cm", "NAME", "app"], "cm/${NAME-app-1}"),
        # The text in front of a variable and its default value form one name.
        ("my-${NAME:-app}", ["my-", "NAME", "-app"], "my-${NAME:-app}"),
        ("--app app-x :-app", ["--app", "app-x", "-app"], "--app app-x :-app"),
    ],
)
def test_the_default_value_of_a_variable_is_a_word(
    text: str, words: list[str], replaced: str
) -> None:
    assert words_of(text) == words
    assert replace_words(text, {"app": "app-1"}) == replaced


FORMS = {
    WHOLE: [
        *("app", "app?", "'app'", "--name=app", "--name app", "NAME=app", "-n app"),
        *("configmap/app", "web,app", "[app]", "${NAME:-app}"),
    ],
    WORD: [
        *("use app now", "NAME=x OTHER=app", "app=web", "app:http", "app@x", "name: app"),
        *("--web app\n--db", "two\n  app", "$(get app)"),
    ],
    HOST: [
        *("http://app/x", "//app/x", "app:8080", "app:8080/x", "user:secret@app", "root@app"),
        "URL=amqp://me@app:5672",
    ],
    PATH: ["/etc/app", "./app", "~/app", "etc/app/x", "app/x.yaml", "web/app:80"],
}


@pytest.mark.parametrize(
    ("text", "form"), [(text, form) for form, texts in FORMS.items() for text in texts]
)
def test_the_form_of_a_name_in_a_text(text: str, form: str) -> None:
    """Only a whole value may mean the object; a host or a path means something else."""
    assert forms_of(text, WordSet(["app"])) == {"app": {form}}


def test_a_text_can_have_a_name_in_several_forms() -> None:
    assert forms_of("app http://app /etc/app", WordSet(["app"])) == {"app": {WORD, HOST, PATH}}
    assert forms_of("app-2 my-app x.app", WordSet(["app"])) == {}


def test_a_text_can_have_several_names() -> None:
    forms = forms_of("--map=a http://b/a", WordSet(["a", "b", "c"]))
    assert forms == {"a": {WHOLE, HOST}, "b": {HOST}}
