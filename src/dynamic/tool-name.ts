import { createHash } from "node:crypto";

const NAME_MAX = 40;
const HASH_CHARACTERS = 6;
/** Prefixes of tools that Belljar brings, or may bring one day. */
const RESERVED = ["mcp_", "sandbox_", "browser_", "git_", "npm_"];
/** Letters that no decomposition gives. */
const LETTERS: Readonly<Record<string, string>> = { ß: "ss", æ: "ae", Æ: "AE", ø: "o", Ø: "O", œ: "oe", Œ: "OE", ł: "l", Ł: "L", đ: "d", Đ: "D", þ: "th", Þ: "Th", ð: "d", ı: "i" }; // prettier-ignore

/**
 * The name under which callers see a tool: 1 to 40 of `A-Za-z0-9_-`. A `.` is `_`. Of other letters what can be told in ASCII is, and a
 * hash of the whole name keeps apart what would otherwise be the same.
 */
export function toToolName(given: string): string {
  const dotted = given.replaceAll(".", "_");
  if (/^[A-Za-z0-9_-]{1,40}$/.test(dotted)) return dotted;
  const plain = Array.from(dotted.normalize("NFKD"), (letter) => LETTERS[letter] ?? letter).join("");
  const kept = plain.replaceAll(/\p{M}/gu, "").replaceAll(/[^A-Za-z0-9_-]+/g, "_");
  const hash = createHash("sha256").update(given).digest("hex").slice(0, HASH_CHARACTERS);
  return `${kept.slice(0, NAME_MAX - HASH_CHARACTERS - 1)}_${hash}`;
}

export function isReservedName(name: string): boolean {
  return RESERVED.some((prefix) => name.startsWith(prefix));
}
