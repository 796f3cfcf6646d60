import { expect, it } from "vitest";
import { docCommentOf } from "./doc-comment.ts";

it.each([
  ["/** Tells it. */\nexport const a = 1", "a", "Tells it."],
  ["/**\n * Tells\n * it.\n *\n * @param x - no\n */\nexport const a = 1", "a", "Tells\nit."],
  ["/** Tells it. */\nexport default 1", "default", "Tells it."],
  ["/** Of another. */\nconst b = 1;\nexport const a = 1", "a", ""],
  ["/** Of another. */ const b = 1; /* no */\nexport const a = 1", "a", ""],
  ["/* no */\nexport const a = 1", "a", ""],
  ["/** Of ab. */\nexport const ab = 1", "a", ""],
  ["export const a = 1", "a", ""],
])("takes of %j for %s the text %j", (code, name, text) => {
  expect(docCommentOf(code, name)).toBe(text);
});
