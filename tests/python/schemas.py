# SPDX-License-Identifier: Apache-2.0
"""Documents against the schemas of docs/schemas, both ways: a key that the schema does not have is
an error, and so is a key of the schema that no document has."""
import json
import os

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")


def load(name):
    with open(os.path.join(os.environ["WEIR_ROOT"], "docs/schemas", name)) as f:
        return json.load(f)


def closed(schema):
    """The schema without room for other keys."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {k: closed(v) for k, v in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        out["additionalProperties"] = False
    return out


def errors(schema, document):
    """A line for each, with its place."""
    jsonschema.Draft202012Validator.check_schema(schema)
    found = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in found]


def unseen(schema, documents, path=""):
    """Keys of the schema that none of the documents has."""
    here = [d for d in documents if d is not None]
    out = []
    for key, part in schema.get("properties", {}).items():
        parts = [d[key] for d in here if key in d]
        out += unseen(part, parts, f"{path}.{key}") if parts else [f"{path}.{key}"]
    if isinstance(schema.get("items"), dict) and "properties" in schema["items"]:
        rows = [r for d in here for r in d]
        out += unseen(schema["items"], rows, f"{path}[]") if rows else [f"{path}[]"]
    return out
