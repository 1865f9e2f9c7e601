"""A YAML document: its data, and the location of each value in the text.

`plain` reads nearly every document line by line. The YAML parser (`nodes`) reads the others, and
also a document for which a message or an edit needs a position that `plain` does not know.
"""

from __future__ import annotations

from postrender.errors import Location, UserError
from postrender.yaml.plain import PlainDocument, read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.yaml.nodes import DuplicateKey, NodeDocument
    from postrender.yaml.paths import Json, Path
    from postrender.yaml.stream import Stream

# This limit is far above 3 MiB, the maximum size of an object that an API server accepts.
MAX_CHARACTERS = 32 * 1024 * 1024


class ParsedDocument:
    """A document that `plain` or the YAML parser has read.

    location: the location of the text's first line.
    plain: None if `plain` cannot read the text.
    """

    __slots__ = ("_data", "_nodes", "location", "plain", "text")

    def __init__(self, text: str, location: Location, plain: PlainDocument | None) -> None:
        self.text = text
        self.location = location
        self.plain = plain
        self._data: Json = plain.data if plain else None
        self._nodes: NodeDocument | None = None

    @property
    def data(self) -> Json:
        """The document as dicts, lists, strings, numbers, booleans and None.

        The last value of a duplicate key wins. None for a document without content. UserError for a
        key that is not a scalar, and for an invalid merge key (`<<`).
        """
        if self._data is None:
            self._data = self.nodes.read()
        return self._data

    @property
    def nodes(self) -> NodeDocument:
        """The document as nodes of the YAML parser, which can refuse it with a UserError."""
        if self._nodes is None:
            from postrender.yaml.nodes import compose

            self._nodes = compose(self.text, self.location)
        return self._nodes

    def release(self) -> None:
        """Free the memory of lines and nodes. The next access reads the text again."""
        self._nodes = None
        if self.plain:
            self.plain.release()

    def duplicate_keys(self) -> list[DuplicateKey]:
        """The caller must read `data` first."""
        return [] if self.plain else self.nodes.duplicate_keys()

    def line_of(self, path: Path) -> int:
        """The line, from 0, on which the value at a path begins. The path must exist."""
        line = self.plain.line_of(path) if self.plain else None
        return self.nodes.line_of(path) if line is None else line

    def is_literal(self, path: Path) -> bool:
        """Whether the value at a path is a literal block scalar (`|`); False for a missing path."""
        is_literal = self.plain.is_literal(path) if self.plain else None
        return self.nodes.is_literal(path) if is_literal is None else is_literal

    def folded_scalars(self, path: Path) -> list[tuple[Path, str]]:
        """The path and value of each folded block scalar (`>`) in the object at a path."""
        if self.plain:
            return []
        from postrender.yaml.nodes import folded_scalars, node_at

        return list(folded_scalars(node_at(self.nodes.root, path), path))

    def location_of(self, path: Path, fallback: Path = ()) -> Location:
        """The location of the value at a path.

        fallback: the path of an existing value, whose line is used if `path` is missing.
        """
        from postrender.yaml.nodes import node_at

        root = self.nodes.root
        node = node_at(root, path) or node_at(root, fallback)
        return self.nodes.location_of(node, path)

    def location_of_key(self, path: Path) -> Location:
        """The location of the key at a path, or of its value if a merge key sets the key."""
        from postrender.yaml.nodes import key_node

        key = key_node(self.nodes.root, path)
        return self.location_of(path) if key is None else self.nodes.location_of(key, path)


def parse_document(text: str, location: Location) -> ParsedDocument:
    """Parse a text, whose first line is at `location`.

    UserError for text that is too long, is not YAML or is nested too deeply, and for aliases that
    expand to too many nodes.
    """
    if len(text) > MAX_CHARACTERS:
        raise UserError(
            f"the document has {len(text):,} characters, expected at most {MAX_CHARACTERS:,}",
            "Split the document into smaller documents",
            location,
        )
    document = ParsedDocument(text, location, read_plain(text))
    if document.plain is None:
        document.nodes  # noqa: B018 (parse now, so that this function raises the errors)
    return document


def parse_in(stream: Stream, index: int) -> ParsedDocument:
    """Parse a document of a stream; UserError as for parse_document()."""
    return parse_document(stream.texts[index], stream.location_of(index))
