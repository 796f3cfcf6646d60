"""Pictures, sounds and resources that a tool returns: the classes of FastMCP and of MCP's types, as far as tools need them."""

MIME_OF_SUFFIX = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
}
BEGINNINGS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"OggS": "audio/ogg", b"fLaC": "audio/flac"}
LARGEST_FILE = 8 << 20


class Medium:
    """Bytes with a type. One of `path` and `data` is given."""

    kind = ""
    fallback = ""

    def __init__(self, path=None, data=None, format=None):
        if (path is None) == (data is None):
            raise ValueError("%s needs either path or data" % type(self).__name__)
        self.path = path
        self.data = data
        self._format = format

    def to_block(self):
        from binascii import b2a_base64

        data = self.read()
        if len(data) > LARGEST_FILE:
            raise ValueError("result too large: a file of %d bytes" % len(data))
        return {"type": self.kind, "data": b2a_base64(data, newline=False).decode("ascii"), "mimeType": self.mime_type(data)}

    def read(self):
        if self.path is None:
            if not isinstance(self.data, (bytes, bytearray, memoryview)):
                raise TypeError("%s(data=) takes bytes, not %s" % (type(self).__name__, type(self.data).__name__))
            return bytes(self.data)
        with open(self.path, "rb") as file:
            return file.read(LARGEST_FILE + 1)

    def mime_type(self, data):
        format = self._format or str(self.path or "").rpartition(".")[2]
        if self._format and "/" in self._format:
            return self._format
        named = MIME_OF_SUFFIX.get(format.lower()) or (self._format and "%s/%s" % (self.kind, self._format.lower()))
        if named:
            return named
        if data[:4] == b"RIFF":
            return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12], self.fallback)
        return next((mime for start, mime in BEGINNINGS.items() if data.startswith(start)), self.fallback)


class Image(Medium):
    kind = "image"
    fallback = "image/png"


class Audio(Medium):
    kind = "audio"
    fallback = "audio/wav"


class Record:
    """Takes the fields of a type of MCP by name."""

    type = None

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def to_block(self):
        fields = {name: value for name, value in self.__dict__.items() if value is not None}
        return dict(fields, type=self.type) if self.type else fields


class TextContent(Record):
    type = "text"


class ImageContent(Record):
    type = "image"


class AudioContent(Record):
    type = "audio"


class EmbeddedResource(Record):
    type = "resource"


class ResourceLink(Record):
    type = "resource_link"


class TextResourceContents(Record):
    pass


class BlobResourceContents(Record):
    pass


class ToolAnnotations(Record):
    pass
